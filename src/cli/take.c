/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `holdfast run` until all that was asked for is ours.
 *
 * Several names are taken one after another, in the order of hf_multi_acquire(): by name, byte by byte. So two
 * that want the same names never wait for each other in a circle, and what was taken is kept while the next one
 * is waited for.
 *
 * Invariant: on return either all names are held, or none is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/message.h"
#include "cli/once.h"
#include "cli/run.h"
#include "holdfast/objects.h"

/* ------------------------------------------------------------------------------------------------
 * The number of permits
 */

static int permits_of(struct cli_run *run, const char *name)
{
    const struct cli_run_options *options = &run->options;
    hf_client *client = run->store.client;
    int64_t available = 0, taken = 0, all;
    int result = hf_permits_set(client, name, options->total);

    if (result == HF_ERR_EXISTS)
        result = hf_permits_count(client, name, &available, &taken);
    else
        available = options->total;
    if (result != HF_OK)
        return hfi_cli_store_failed_at(name, result);
    all = available + taken;
    if (all == options->total)
        return CLI_EXIT_OK;
    hfi_cli_say(
        "'%s' has %lld permits in all, not %lld: say --permits %lld/%lld, or change that by "
        "'holdfast permits resize %s %lld'",
        name, (long long)all, (long long)options->total, (long long)options->permits,
        (long long)all, name, (long long)options->total);
    return CLI_EXIT_USAGE;
}

int hfi_cli_take_prepare(struct cli_run *run)
{
    for (size_t i = 0; run->options.mode == HF_PERMITS && i < run->options.name_count; i++) {
        int code = permits_of(run, run->options.name[i]);

        if (code != CLI_EXIT_OK)
            return code;
    }
    return CLI_EXIT_OK;
}

/* ------------------------------------------------------------------------------------------------
 * One name
 */

/* The time of --max-hold begins when all is held. */
static int start(struct cli_wait *wait, int64_t wait_ms)
{
    const struct cli_run *run = wait->arg;
    const struct cli_run_options *options = &run->options;
    bool last = run->holds.count + 1 == options->name_count;

    return hf_acquire_start(run->store.client, wait->name,
                            HF_ACQUIRE(.wait_ms = wait_ms, .ttl_ms = options->ttl_ms,
                                       .max_hold_ms = last ? options->max_hold_ms : 0,
                                       .label = options->label, .mode = options->mode,
                                       .permits = options->permits),
                            wait);
}

static int not_taken(struct cli_run *run, enum cli_waited waited)
{
    struct cli_wait *wait = &run->wait;

    hfi_cli_holds_release(&run->holds, run->store.client);
    if (waited == CLI_WAITED_SIGNAL) {
        run->key = wait->key;
        return CLI_EXIT_SIGNAL + wait->ended_by;
    }
    if (wait->error == HF_ERR_BUSY && !wait->unstarted && run->options.for_ms > 0)
        return hfi_cli_once_busy(run);
    return hfi_cli_wait_failed(wait, run->options.busy_code);
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void say_held(const struct cli_run *run)
{
    char title[CLI_TITLE_ROOM], token[48] = "", age[CLI_AGE_ROOM];
    uint64_t number = hf_hold_token(run->holds.hold[0]);

    hfi_cli_age(age, (int64_t)((cli_now() - run->wait.began_ns) / CLI_MS));
    if (run->holds.count > 1) {
        hfi_cli_say("holding %s, after %s", hfi_cli_run_title(title, run), age);
        return;
    }
    if (number > 0)
        snprintf(token, sizeof token, ", token %llu", (unsigned long long)number);
    hfi_cli_say("holding '%s'%s, after %s", run->options.name[0], token, age);
}

/* CLI_EXIT_OK, or an exit code with nothing held. */
static int take_each(struct cli_run *run, const char *const *names)
{
    for (size_t i = 0; i < run->options.name_count; i++) {
        enum cli_waited waited;

        run->wait.name = names[i];
        waited = hfi_cli_wait(&run->wait);
        if (waited != CLI_WAITED_DONE)
            return not_taken(run, waited);
        run->holds.hold[run->holds.count++] = run->wait.hold;
    }
    return CLI_EXIT_OK;
}

/* One that was taken first may be lost while the others are waited for, and we be told of it later: the store is
 * asked. */
static bool are_all_ours(struct cli_run *run)
{
    if (run->holds.count > 1)
        hfi_cli_holds_verify(&run->holds);
    return hfi_cli_holds_are_valid(&run->holds);
}

int hfi_cli_take(struct cli_run *run)
{
    const char *names[HF_MEMBERS_MAX];
    size_t count = run->options.name_count;
    int code;

    memcpy(names, run->options.name, count * sizeof names[0]);
    qsort(names, count, sizeof names[0], by_name);
    run->wait.wait_ms = run->options.wait_ms;
    run->wait.verbose = run->options.verbose;
    run->wait.fair = run->options.mode == HF_FAIR;
    run->wait.done = "acquired";
    run->wait.unknown =
        run->options.mode == HF_PERMITS ? "too few permits available" : "held by someone else";
    run->wait.start = start;
    run->wait.arg = run;
    for (;;) {
        code = take_each(run, names);
        if (run->holds.count == 0)
            return code;
        if (are_all_ours(run))
            break;
        hfi_cli_holds_release(&run->holds, run->store.client);
    }
    if (run->options.verbose)
        say_held(run);
    return CLI_EXIT_OK;
}
