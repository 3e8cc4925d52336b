/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast sem`: a number of permits that belong to nobody. */
#include <stdio.h>

#include "cli/message.h"
#include "cli/verbs.h"

static const char usage[] =
    "Usage: holdfast sem set [--store URI] NAME COUNT\n"
    "       holdfast sem acquire [--store URI] [--wait DURATION | -n] [-E CODE] [-v] NAME [N]\n"
    "       holdfast sem release [--store URI] NAME [N]\n"
    "       holdfast sem available [--store URI] [--json] NAME\n"
    "       holdfast sem drain [--store URI] [--json] NAME\n"
    "       holdfast sem delete [--store URI] NAME\n"
    "A semaphore is a number of permits that belong to nobody: nobody's death gives them back, "
    "anybody\n"
    "can release them, and 'ls' cannot say who has them. It counts what is used up and made again. "
    "To\n"
    "let so many run at once, use 'holdfast run --permits': its permits come back by themselves.\n"
    "\n"
    "  set        makes the semaphore with so many permits, 0 to 1000000000, if there is none\n"
    "  acquire    takes one permit, or N (to 1000) at once, or waits\n"
    "  release    gives one permit, or N\n"
    "  available  prints how many are there now; 0 also when there is no semaphore\n"
    "  drain      takes all that are there, and prints how many\n"
    "  delete     removes it\n"
    "\n"
    "  --store URI            the store; else HOLDFAST_STORE; else the embedded store\n"
    "  --wait DURATION        how long to wait (default: for ever; 0: try once)\n"
    "  -n, --try              the same as --wait 0\n"
    "  -E, --busy-code CODE   exit code when they were not to be had in that time (default 75)\n"
    "  -v, --verbose          say when we wait\n"
    "  --json                 as JSON: docs/command.md, holdfast(1)\n"
    "  -h, --help             this text\n"
    "\n"
    "Exit: 0; 1 when there is none (release, delete); 75 when there is one already (set), or the "
    "permits\n"
    "were not to be had in time (acquire); 69 store; 64 usage.\n";

static int set(struct cli_call *call)
{
    int result = hf_semaphore_set(call->store.client, call->name, call->number, 0);

    return result == HF_OK ? CLI_EXIT_OK : hfi_cli_call_failed(call, result);
}

static int start(struct cli_wait *wait, int64_t wait_ms)
{
    const struct cli_call *call = wait->arg;

    return hf_semaphore_acquire_start(wait->store->client, wait->name, call->number,
                                      HF_WAIT(.wait_ms = wait_ms), wait);
}

static int look(struct cli_wait *wait)
{
    int64_t permits = 0;
    int result = hf_semaphore_available(wait->store->client, wait->name, &permits);

    if (result == HF_OK)
        snprintf(wait->who, sizeof wait->who, "%lld permit%s available", (long long)permits,
                 permits == 1 ? "" : "s");
    return result;
}

/* What was granted although a signal came goes back: nobody would know that we have it. */
static int acquire(struct cli_call *call)
{
    int code = hfi_cli_call_wait(call, "acquired", start, look);

    if (code != CLI_EXIT_OK && call->wait.done_first &&
        hf_semaphore_release(call->store.client, call->name, call->number) != HF_OK)
        hfi_cli_say("%lld permits of '%s' were taken and not given back", (long long)call->number,
                    call->name);
    return code;
}

/* A semaphore that is not there is not made: it may be a name mistyped. */
static int release(struct cli_call *call)
{
    int result = hf_semaphore_release_if_exists(call->store.client, call->name, call->number);

    return result == HF_OK ? CLI_EXIT_OK : hfi_cli_call_failed(call, result);
}

static int available(struct cli_call *call)
{
    int64_t permits = 0;
    int result = hf_semaphore_available(call->store.client, call->name, &permits);

    if (result != HF_OK)
        return hfi_cli_call_failed(call, result);
    return hfi_cli_call_print(call, "available", permits);
}

static int drain(struct cli_call *call)
{
    int64_t permits = 0;
    int result = hf_semaphore_drain(call->store.client, call->name, &permits);

    if (result != HF_OK)
        return hfi_cli_call_failed(call, result);
    return hfi_cli_call_print(call, "taken", permits);
}

static int remove_it(struct cli_call *call)
{
    int result = hf_semaphore_delete(call->store.client, call->name);

    return result == HF_OK ? CLI_EXIT_OK : hfi_cli_call_failed(call, result);
}

static const struct cli_verb verb[] = {
    { "set", CLI_NUMBER_MUST, 0, HF_COUNT_MAX, false, false, set },
    { "acquire", CLI_NUMBER_MAY, 1, HF_PERMITS_MAX, true, false, acquire },
    { "release", CLI_NUMBER_MAY, 1, HF_COUNT_MAX, false, false, release },
    { "available", CLI_NUMBER_NONE, 0, 0, false, true, available },
    { "drain", CLI_NUMBER_NONE, 0, 0, false, true, drain },
    { "delete", CLI_NUMBER_NONE, 0, 0, false, false, remove_it },
};

static int sem_main(int argc, char **argv)
{
    static const struct cli_verbs verbs = { &hfi_cli_sem, "semaphore", verb,
                                            sizeof verb / sizeof verb[0] };

    return hfi_cli_verbs_main(&verbs, argc, argv);
}

const struct cli_command hfi_cli_sem = {
    .name = "sem",
    .summary = "take and give permits that belong to nobody",
    .usage = usage,
    .main = sem_main,
};
