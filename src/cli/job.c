/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor does for the hold, the guard and the command's group; supervise.c says when.
 *
 * Invariants
 *   - The guard's limit is the hold's deadline as last seen, or earlier: never later than the truth.
 *   - The leader is reaped only when the guard has been dismissed: until then the group's number is ours.
 *   - `gone` is set only when nobody of the group was seen, after a KILL if the hold was lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/group.h"
#include "cli/message.h"
#include "cli/run.h"
#include "cli/text.h"

#define LOOK_FIRST_MS     2
#define LOOK_MAX_MS       100
#define NAG_MS            10000
#define GUARD_TRIES       3
#define GUARD_TRY_MS      20
#define GUARD_SHORT_MS    1000
#define GUARD_SHORT_LIVES 5

bool hfi_cli_job_ending(const struct cli_job *job)
{
    return job->unguarded ||
           (job->lease.ending != CLI_ENDING_NONE && job->lease.on_lost != CLI_ON_LOST_IGNORE);
}

/* ------------------------------------------------------------------------------------------------
 * The hold
 */

static void say_ending(const struct cli_job *job)
{
    const struct cli_run_options *options = &job->run->options;
    const char *name = hf_hold_name(hfi_cli_holds_worst(&job->run->holds));
    const char *then = options->on_lost == CLI_ON_LOST_IGNORE
                           ? "the command runs on without it (--on-lost ignore)"
                       : job->lease.kill_ns <= cli_now() ? "killing the command"
                                                         : "ending the command";
    char span[CLI_SPAN_ROOM], title[CLI_TITLE_ROOM];

    switch (job->lease.ending) {
    case CLI_ENDING_NONE:
        return;
    case CLI_ENDING_AT_RISK:
        hfi_cli_say("the lock '%s' could not be renewed and would soon be lost; %s", name, then);
        return;
    case CLI_ENDING_MAX_HOLD:
        hfi_cli_say("%s may be held for %s and no longer (--max-hold); %s",
                    hfi_cli_run_title(title, job->run), hfi_cli_span(span, options->max_hold_ms),
                    then);
        return;
    case CLI_ENDING_EXPIRED:
        hfi_cli_say("the lock '%s' was lost, its lease is over; %s", name, then);
        return;
    case CLI_ENDING_REMOVED:
        hfi_cli_say("the lock '%s' was lost, it was taken away; %s", name, then);
        return;
    }
}

static void kill_group(struct cli_job *job, uint64_t now)
{
    hfi_cli_child_signal(&job->child, SIGKILL);
    if (job->killed)
        return;
    job->killed = true;
    job->step_ns = LOOK_FIRST_MS * CLI_MS;
    job->look_ns = now + job->step_ns;
    job->nag_ns = now + NAG_MS * CLI_MS;
}

static void term_group(struct cli_job *job)
{
    hfi_cli_child_signal(&job->child, SIGTERM);
    hfi_cli_child_signal(&job->child, SIGCONT); /* the stopped act on TERM only then */
}

void hfi_cli_job_lease(struct cli_job *job)
{
    uint64_t now =
        cli_now(); /* before the deadline is read: so ours is never later than the library's */
    bool held = hfi_cli_holds_are_valid(&job->run->holds);
    int64_t remaining_ms = hfi_cli_holds_remaining_ms(&job->run->holds);
    unsigned what;

    if (atomic_load(&job->guard.board->killed)) { /* we were stopped at the deadline that it knew */
        held = false;
        job->lease.deadline_ns = cli_earlier(job->lease.deadline_ns, now);
    }
    what = hfi_cli_lease_step(&job->lease, now, held, remaining_ms, job->child.exited);
    hfi_cli_guard_limit(&job->guard, hfi_cli_lease_limit(&job->lease));
    if (what & CLI_DO_KILL)
        kill_group(job, now);
    if (what & CLI_DO_TERM)
        term_group(job);
    if (what & CLI_DO_SAY)
        say_ending(job);
}

/* ------------------------------------------------------------------------------------------------
 * The guard
 */

static bool start_guard(struct cli_job *job)
{
    int liveness = hf_guard_fd(job->run->store.client), keep = -1, saved;
    bool started;

    if (liveness >= 0) {
        keep = fcntl(liveness, F_DUPFD_CLOEXEC, 3);
        if (keep < 0)
            return false;
    }
    started = hfi_cli_guard_start(&job->guard, job->child.pid, job->child.gate, keep);
    saved = errno;
    if (keep >= 0)
        close(keep);
    errno = saved;
    return started;
}

bool hfi_cli_job_guard(struct cli_job *job)
{
    static const struct timespec pause = { 0, GUARD_TRY_MS * 1000000 };

    for (int i = 0; i < GUARD_TRIES; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        if (start_guard(job))
            return true;
    }
    return false;
}

/* The guard ended without being told to. Nothing runs unguarded for long. */
void hfi_cli_job_replace_guard(struct cli_job *job)
{
    struct cli_guard *guard = &job->guard;
    uint64_t now = cli_now();
    bool lived = now - guard->started_ns >= GUARD_SHORT_MS * CLI_MS;

    guard->short_lives = lived ? 0 : guard->short_lives + 1;
    if (!guard->said)
        hfi_cli_say("the guard process was killed; starting another");
    guard->said = true;
    if (guard->short_lives < GUARD_SHORT_LIVES && hfi_cli_job_guard(job))
        return;
    hfi_cli_say("no guard process can be had; ending the command");
    job->unguarded = true;
    hfi_cli_lease_end(&job->lease, now);
    term_group(job);
}

/* ------------------------------------------------------------------------------------------------
 * The group
 */

/* A process that forks and exits all the time can escape one look: only after a KILL is nobody left for sure. */
static bool group_is_gone(struct cli_job *job)
{
    enum cli_group group = hfi_cli_group_look(job->child.pid);

    if (group == CLI_GROUP_UNKNOWN && job->child.exited) {
        hfi_cli_guard_dismiss(&job->guard); /* before the number is given up */
        hfi_cli_child_reap(&job->child);
        group = hfi_cli_group_look(job->child.pid);
    }
    if (group == CLI_GROUP_GONE && hfi_cli_job_ending(job) && !job->child.reaped) {
        hfi_cli_child_signal(&job->child, SIGKILL);
        group = hfi_cli_group_look(job->child.pid);
    }
    return group == CLI_GROUP_GONE;
}

void hfi_cli_job_look(struct cli_job *job, uint64_t now)
{
    if (now < job->look_ns)
        return;
    if (job->killed)
        hfi_cli_child_signal(&job->child, SIGKILL);
    if (job->child.exited && group_is_gone(job)) {
        job->gone = true;
        job->look_ns = CLI_NEVER;
        return;
    }
    if (job->killed && now >= job->nag_ns) {
        hfi_cli_say("processes of the command cannot be killed now; waiting for them");
        job->nag_ns = CLI_NEVER;
    }
    job->look_ns = now + job->step_ns;
    job->step_ns = cli_earlier(job->step_ns * 2, LOOK_MAX_MS * CLI_MS);
}

/* The command has ended; are others of its group to be waited for? */
void hfi_cli_job_ended(struct cli_job *job, uint64_t now)
{
    bool told = job->told || hfi_cli_signal_ends(job->child.signal);

    if (told && !hfi_cli_job_ending(job))
        job->linger_ns = now + job->lease.kill_after_ns;
    if (told || hfi_cli_job_ending(job)) {
        job->step_ns = LOOK_FIRST_MS * CLI_MS;
        job->look_ns = now;
    }
}

bool hfi_cli_job_is_over(struct cli_job *job, uint64_t now)
{
    char title[CLI_TITLE_ROOM];

    if (!job->child.exited)
        return false;
    if (hfi_cli_job_ending(job)) {
        if (job->look_ns == CLI_NEVER && !job->gone)
            job->look_ns = now;
        return job->gone;
    }
    if (job->gone || job->linger_ns == 0)
        return true;
    if (now < job->linger_ns)
        return false;
    hfi_cli_say("processes that the command started are left; giving %s back all the same",
                hfi_cli_run_title(title, job->run));
    return true;
}
