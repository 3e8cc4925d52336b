/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast run`: open the store, wait for the lock, run the command, give the lock back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/message.h"
#include "cli/once.h"
#include "cli/run.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* One round trip: a store that cannot be used is said at once, and not waited for. */
static int open_store(struct cli_run *run)
{
    int result =
        hfi_cli_store_open(&run->store, run->options.store, base_name(run->options.command[0]));

    if (result != CLI_EXIT_OK)
        return result;
    result = hf_check(run->store.client);
    hfi_cli_store_warnings(&run->store);
    return result == HF_OK ? CLI_EXIT_OK : hfi_cli_store_failed(result);
}

const char *hfi_cli_run_title(char to[CLI_TITLE_ROOM], const struct cli_run *run)
{
    const char *const *name = run->options.name;
    size_t count = run->options.name_count;

    if (count == 1)
        snprintf(to, CLI_TITLE_ROOM, "the lock '%s'", name[0]);
    else if (count == 2)
        snprintf(to, CLI_TITLE_ROOM, "the locks '%s' and '%s'", name[0], name[1]);
    else
        snprintf(to, CLI_TITLE_ROOM, "the locks '%s' and %zu others", name[0], count - 1);
    return to;
}

static const char *were(const struct cli_run *run)
{
    return run->options.name_count == 1 ? "was" : "were";
}

/* ------------------------------------------------------------------------------------------------
 * What the command may know of its locks
 */

enum what { NAME, TOKEN, OWNER };

static bool print_what(FILE *to, enum what what, const hf_hold *hold)
{
    char owner[HF_OWNER_MAX + 1];

    if (what == NAME)
        return fputs(hf_hold_name(hold), to) >= 0;
    if (what == TOKEN)
        return fprintf(to, "%llu", (unsigned long long)hf_hold_token(hold)) > 0;
    hf_hold_owner(hold, owner, sizeof owner);
    return fputs(owner, to) >= 0;
}

/* Of the first name, or of all as they were given: one a line, as no name has a line's end in it. */
static bool set_variable(const struct cli_run *run, const char *variable, enum what what, bool all)
{
    char *text = NULL;
    size_t size = 0, count = all ? run->options.name_count : 1;
    FILE *to = open_memstream(&text, &size);
    bool ok = to != NULL;

    for (size_t i = 0; ok && i < count; i++)
        ok = (i == 0 || fputc('\n', to) != EOF) &&
             print_what(to, what, hfi_cli_holds_find(&run->holds, run->options.name[i]));
    if (to && fclose(to) != 0)
        ok = false;
    ok = ok && setenv(variable, text, 1) == 0;
    free(text);
    return ok;
}

/* What several may hold at once has no token: a variable of the world around us must not look like one. */
static bool set_environment(const struct cli_run *run)
{
    bool tokens = hf_hold_token(run->holds.hold[0]) != 0;

    unsetenv("HOLDFAST_TOKEN");
    unsetenv("HOLDFAST_TOKENS");
    return set_variable(run, "HOLDFAST_NAME", NAME, false) &&
           set_variable(run, "HOLDFAST_NAMES", NAME, true) &&
           set_variable(run, "HOLDFAST_OWNER", OWNER, false) &&
           set_variable(run, "HOLDFAST_OWNERS", OWNER, true) &&
           (!tokens || (set_variable(run, "HOLDFAST_TOKEN", TOKEN, false) &&
                        set_variable(run, "HOLDFAST_TOKENS", TOKEN, true))) &&
           setenv(CLI_STORE_VARIABLE, hf_client_store(run->store.client), 1) == 0;
}

/* ------------------------------------------------------------------------------------------------
 * The phases
 */

/* Gives the lock back. A loss that shows only now was one while the command ran. */
static int give_back(struct cli_run *run, int code)
{
    int result = hfi_cli_holds_release(&run->holds, run->store.client);
    char title[CLI_TITLE_ROOM];

    hfi_cli_store_warnings(&run->store);
    if (result == HF_ERR_LOST && code != CLI_EXIT_LOST) {
        hfi_cli_say("%s %s lost while the command ran", hfi_cli_run_title(title, run), were(run));
        return CLI_EXIT_LOST;
    }
    if (result != HF_OK && result != HF_ERR_LOST)
        hfi_cli_say("whether %s %s given back is not known; the ttl ends that at the latest",
                    hfi_cli_run_title(title, run), were(run));
    return code;
}

static int run_command(struct cli_run *run)
{
    if (set_environment(run))
        return hfi_cli_supervise(run);
    hfi_cli_say("cannot start: %s", strerror(errno));
    return CLI_EXIT_SYSTEM;
}

static int run_with_holds(struct cli_run *run)
{
    bool once = run->options.for_ms > 0;
    int code = once ? hfi_cli_once_begin(run) : CLI_ONCE_DUE;

    if (code == CLI_ONCE_DUE) {
        code = run_command(run);
        if (once)
            hfi_cli_once_end(run, code);
    }
    return give_back(run, code);
}

static int run_with_store(struct cli_run *run)
{
    int code = hfi_cli_take_prepare(run);

    if (code == CLI_EXIT_OK && run->options.for_ms > 0) {
        code = hfi_cli_once_look(run);
        if (code != CLI_ONCE_DUE)
            return code;
        code = CLI_EXIT_OK;
    }
    if (code == CLI_EXIT_OK)
        code = hfi_cli_wait_open(&run->wait, &run->store);
    if (code != CLI_EXIT_OK)
        return code;
    code = hfi_cli_take(run);
    return run->holds.count > 0 ? run_with_holds(run) : code; /* code may be 0: -E 0 */
}

int hfi_cli_run_as(const struct cli_command *command, int argc, char **argv)
{
    struct cli_run run = { .key = 0 };
    int code = hfi_cli_run_parse(&run.options, command->name, argc, argv);

    if (code < 0)
        return hfi_cli_print_usage(command);
    if (code != CLI_EXIT_OK)
        return code;
    code = open_store(&run);
    if (code == CLI_EXIT_OK)
        code = run_with_store(&run);
    hfi_cli_store_close(&run.store);
    if (run.key && code == CLI_EXIT_SIGNAL + run.key)
        hfi_cli_die_of(run.key);
    return code;
}

static int run_main(int argc, char **argv)
{
    return hfi_cli_run_as(&hfi_cli_run, argc, argv);
}

const struct cli_command hfi_cli_run = {
    .name = "run",
    .summary = "take a lock, run a command, give the lock back",
    .usage = hfi_cli_run_usage,
    .main = run_main,
};
