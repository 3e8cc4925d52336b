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

/* What the command may know of its lock. */
static bool set_environment(const struct cli_run *run)
{
    char token[24], owner[HF_OWNER_MAX + 1];

    snprintf(token, sizeof token, "%llu", (unsigned long long)hf_hold_token(run->hold));
    hf_hold_owner(run->hold, owner, sizeof owner);
    return setenv("HOLDFAST_NAME", run->options.name, 1) == 0 &&
           setenv("HOLDFAST_TOKEN", token, 1) == 0 && setenv("HOLDFAST_OWNER", owner, 1) == 0 &&
           setenv(CLI_STORE_VARIABLE, hf_client_store(run->store.client), 1) == 0;
}

/* Gives the lock back. A loss that shows only now was one while the command ran. */
static int give_back(struct cli_run *run, int code)
{
    int result = hf_release(run->hold);

    run->hold = NULL;
    hfi_cli_store_warnings(&run->store);
    if (result == HF_ERR_LOST && code != CLI_EXIT_LOST) {
        hfi_cli_say("the lock '%s' was lost while the command ran", run->options.name);
        return CLI_EXIT_LOST;
    }
    if (result != HF_OK && result != HF_ERR_LOST)
        hfi_cli_say(
            "whether the lock '%s' was given back is not known; it ends by its ttl at the latest",
            run->options.name);
    return code;
}

static int run_with_hold(struct cli_run *run)
{
    int code;

    if (!set_environment(run)) {
        hfi_cli_say("cannot start: %s", strerror(errno));
        code = CLI_EXIT_SYSTEM;
    } else {
        code = hfi_cli_supervise(run);
    }
    return give_back(run, code);
}

static int run_with_store(struct cli_run *run)
{
    int code;

    if (!hfi_cli_signals_init(&run->signals) || (run->alarm = hfi_cli_alarm_open()) < 0) {
        hfi_cli_say("cannot start: %s", strerror(errno));
        return CLI_EXIT_SYSTEM;
    }
    code = hf_fd(run->store.client);
    if (code < 0)
        return hfi_cli_store_failed(code);
    run->began_ns = cli_now();
    code = hfi_cli_wait(run);
    return run->hold ? run_with_hold(run) : code; /* code may be 0: -E 0 */
}

static int run_main(int argc, char **argv)
{
    struct cli_run run = { .alarm = -1 };
    int code = hfi_cli_run_parse(&run.options, argc, argv);

    if (code < 0)
        return hfi_cli_print_usage(&hfi_cli_run);
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

const struct cli_command hfi_cli_run = {
    .name = "run",
    .summary = "take a lock, run a command, give the lock back",
    .usage = hfi_cli_run_usage,
    .main = run_main,
};
