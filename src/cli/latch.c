/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast latch`: a count that goes down to zero, and those who wait for it. */
#include <stdio.h>

#include "cli/message.h"
#include "cli/verbs.h"

#define DOWN_MAX 1000 /* one request each */

static const char usage[] =
    "Usage: holdfast latch set [--store URI] NAME COUNT\n"
    "       holdfast latch down [--store URI] NAME [N]\n"
    "       holdfast latch wait [--store URI] [--wait DURATION | -n] [-E CODE] [-v] NAME\n"
    "       holdfast latch show [--store URI] [--json] NAME\n"
    "       holdfast latch delete [--store URI] NAME\n"
    "A latch is a count that goes down to zero, and is gone then; who waits for it goes on. A "
    "name\n"
    "without a count is at zero: 'wait' does not wait for one that is still to be set.\n"
    "\n"
    "  set     gives NAME a count, 1 to 1000000000, if it has none\n"
    "  down    counts down by one, or by N (to 1000), and prints what is left\n"
    "  wait    waits until the count is zero\n"
    "  show    prints the count; 0: there is none\n"
    "  delete  removes the count; who waits for it fails (1)\n"
    "\n"
    "  --store URI            the store; else HOLDFAST_STORE; else the embedded store\n"
    "  --wait DURATION        how long to wait (default: for ever; 0: only look)\n"
    "  -n, --try              the same as --wait 0\n"
    "  -E, --busy-code CODE   exit code when it was not zero in that time (default 75)\n"
    "  -v, --verbose          say when we wait\n"
    "  --json                 as JSON: docs/command.md, holdfast(1)\n"
    "  -h, --help             this text\n"
    "\n"
    "Exit: 0; 1 when there is none (delete), or it was deleted meanwhile (wait); 75 when there is "
    "one\n"
    "already (set), or it was not zero in time (wait); 69 store; 64 usage.\n";

static int set(struct cli_call *call)
{
    int result = hf_latch_set(call->store.client, call->name, call->number);

    return result == HF_OK ? CLI_EXIT_OK : hfi_cli_call_failed(call, result);
}

static int down(struct cli_call *call)
{
    int64_t left = 0;

    for (int64_t i = 0; i < call->number; i++) {
        int result = hf_latch_down(call->store.client, call->name, &left);

        if (result != HF_OK) {
            if (i > 0)
                hfi_cli_say("'%s' was counted down %lld times, not %lld", call->name, (long long)i,
                            (long long)call->number);
            return hfi_cli_call_failed(call, result);
        }
        if (left == 0)
            break;
    }
    return hfi_cli_call_print(call, "count", left);
}

static int start(struct cli_wait *wait, int64_t wait_ms)
{
    return hf_latch_await_start(wait->store->client, wait->name, HF_WAIT(.wait_ms = wait_ms), wait);
}

static int look(struct cli_wait *wait)
{
    int64_t count = 0;
    int result = hf_latch_count(wait->store->client, wait->name, &count);

    if (result == HF_OK)
        snprintf(wait->who, sizeof wait->who, "count %lld", (long long)count);
    return result;
}

static int wait_for_zero(struct cli_call *call)
{
    return hfi_cli_call_wait(call, "waited for", start, look);
}

static int show(struct cli_call *call)
{
    int64_t count = 0;
    int result = hf_latch_count(call->store.client, call->name, &count);

    if (result != HF_OK)
        return hfi_cli_call_failed(call, result);
    return hfi_cli_call_print(call, "count", count);
}

static int remove_it(struct cli_call *call)
{
    int result = hf_latch_delete(call->store.client, call->name);

    return result == HF_OK ? CLI_EXIT_OK : hfi_cli_call_failed(call, result);
}

static const struct cli_verb verb[] = {
    { "set", CLI_NUMBER_MUST, 1, HF_COUNT_MAX, false, false, set },
    { "down", CLI_NUMBER_MAY, 1, DOWN_MAX, false, false, down },
    { "wait", CLI_NUMBER_NONE, 0, 0, true, false, wait_for_zero },
    { "show", CLI_NUMBER_NONE, 0, 0, false, true, show },
    { "delete", CLI_NUMBER_NONE, 0, 0, false, false, remove_it },
};

static int latch_main(int argc, char **argv)
{
    static const struct cli_verbs verbs = { &hfi_cli_latch, "latch", verb,
                                            sizeof verb / sizeof verb[0] };

    return hfi_cli_verbs_main(&verbs, argc, argv);
}

const struct cli_command hfi_cli_latch = {
    .name = "latch",
    .summary = "wait until a count is down to zero; set it, count down",
    .usage = usage,
    .main = latch_main,
};
