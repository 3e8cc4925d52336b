/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `holdfast once`: `run`, but not if it was run within --for, on any host. See once.h.
 *
 * The stamp is set under the lock, just before the command starts: whoever gets the lock next finds it. It is
 * forgotten under the lock too, so nobody's stamp but our own can be: when the lock was lost, it stays.
 */
#include <holdfast/objects.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/once.h"
#include "cli/run.h"

/* ShedLock's lockAtLeastFor is --for, its lockAtMostFor is --max-hold. */
static const char usage[] =
    "Usage: holdfast once --for DURATION [options] NAME [--] COMMAND [ARG...]\n"
    "Takes the lock NAME and runs the command, unless it was run within DURATION, or runs now, on "
    "any\n"
    "host. The time counts from the start of the command, which the lock is kept for as long as it "
    "runs.\n"
    "\n"
    "  --for DURATION         not again for so long (1ms to 365 days)\n"
    "  -E, --skip-code CODE   exit code when it is skipped (default 0)\n"
    "  -q, --quiet            say nothing then\n"
    "  --retry-failed         a run that fails (a code other than 0) does not count; else it does\n"
    "  --wait DURATION        how long to wait for a run elsewhere to end (default: not at all)\n"
    "  --max-hold DURATION    run for at most so long: TERM to the command --kill-after before,\n"
    "                         KILL then\n"
    "  --store, --ttl, --label, --on-lost, --kill-after, -v\n"
    "                         as for run: holdfast help run\n"
    "  -h, --help             this text\n"
    "\n"
    "A command that could not be executed does not count. When the lock was lost the run counts, "
    "whatever\n"
    "--retry-failed says.\n"
    "Exit: the command's own code, 128+N if signal N ended it; 0, or CODE, when skipped; 76 the "
    "lock\n"
    "was lost; 69 store; 64 usage; 126 not executable; 127 not found. More in holdfast(1).\n";

static int skipped(const struct cli_run *run, const char *why)
{
    if (!run->options.quiet)
        hfi_cli_say("skipped: '%s' %s", run->options.name[0], why);
    return run->options.busy_code;
}

int hfi_cli_once_look(struct cli_run *run)
{
    const struct cli_run_options *options = &run->options;
    int64_t age_ms = 0, left_ms = 0;
    int result = hf_stamp_get(run->store.client, options->name[0], &age_ms, &left_ms);
    char why[128], age[CLI_AGE_ROOM], left[CLI_AGE_ROOM];

    if (result == HF_ERR_NOT_FOUND)
        return CLI_ONCE_DUE;
    if (result != HF_OK)
        return hfi_cli_store_failed_at(options->name[0], result);
    if (age_ms >= options->for_ms) /* it was stamped for longer than we ask for */
        return CLI_ONCE_DUE;
    if (left_ms > options->for_ms - age_ms)
        left_ms = options->for_ms - age_ms;
    snprintf(why, sizeof why, "was run %s ago, and is due in %s", hfi_cli_age(age, age_ms),
             hfi_cli_age(left, left_ms));
    return skipped(run, why);
}

int hfi_cli_once_busy(struct cli_run *run)
{
    char why[CLI_WHO_ROOM + 32];
    int away;

    hfi_cli_wait_look(&run->wait);
    away = hfi_cli_wait_away(&run->wait);
    if (away)
        return away;
    snprintf(why, sizeof why, "is running, %s", run->wait.who);
    return skipped(run, why);
}

/* An answer that did not come may leave a stamp behind, for a run that was none. */
static int not_stamped(struct cli_run *run, int error)
{
    const char *name = run->options.name[0];
    int code = hfi_cli_store_failed_at(name, error);

    if (hf_classify(error) != HF_CLASS_UNSURE)
        return code;
    error = hf_stamp_delete(run->store.client, name);
    if (error != HF_OK && error != HF_ERR_NOT_FOUND)
        hfi_cli_say("'%s' was not run, but may count as run", name);
    return code;
}

int hfi_cli_once_begin(struct cli_run *run)
{
    int code = hfi_cli_once_look(run), result;

    if (code != CLI_ONCE_DUE)
        return code;
    result = hf_stamp_set(run->store.client, run->options.name[0], run->options.for_ms);
    return result == HF_OK ? CLI_ONCE_DUE : not_stamped(run, result);
}

void hfi_cli_once_end(struct cli_run *run, int code)
{
    const char *name = run->options.name[0];
    int result;

    if (run->started && (code == 0 || !run->options.retry_failed))
        return;
    if (!hfi_cli_holds_are_valid(&run->holds)) {
        hfi_cli_say("'%s' counts as run all the same, as the lock was lost", name);
        return;
    }
    result = hf_stamp_delete(run->store.client, name);
    if (result != HF_OK && result != HF_ERR_NOT_FOUND)
        hfi_cli_say("'%s' may count as run all the same: %s", name, hf_strerror(result));
}

static int once_main(int argc, char **argv)
{
    return hfi_cli_run_as(&hfi_cli_once, argc, argv);
}

const struct cli_command hfi_cli_once = {
    .name = "once",
    .summary = "run a command unless it was run not long ago, on any host",
    .usage = usage,
    .main = once_main,
};
