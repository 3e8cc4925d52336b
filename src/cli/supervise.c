/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While the command runs: one loop, one thread, everything it waits for is a descriptor.
 *
 * Invariants
 *   - The command's process starts before its guard, and executes nothing before the guard stands.
 *   - The guard's limit is the hold's deadline as last seen, or earlier: never later than the truth.
 *   - Whatever ends the loop: the guard is dismissed first, then the leader is reaped, and only then does
 *     the caller release the hold.
 *   - When the hold was lost, the loop ends only when nobody of the group is left (on-lost ignore: when the
 *     command has ended).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
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
    const char *then = options->on_lost == CLI_ON_LOST_IGNORE
                           ? "the command runs on without it (--on-lost ignore)"
                       : job->lease.kill_ns <= cli_now() ? "killing the command"
                                                         : "ending the command";
    char age[CLI_AGE_ROOM];

    switch (job->lease.ending) {
    case CLI_ENDING_NONE:
        return;
    case CLI_ENDING_AT_RISK:
        hfi_cli_say("the lock '%s' could not be renewed and would soon be lost; %s", options->name,
                    then);
        return;
    case CLI_ENDING_MAX_HOLD:
        hfi_cli_say("the lock '%s' was held for the %s that --max-hold allows; %s", options->name,
                    hfi_cli_age(age, options->max_hold_ms), then);
        return;
    case CLI_ENDING_EXPIRED:
        hfi_cli_say("the lock '%s' was lost, its lease is over; %s", options->name, then);
        return;
    case CLI_ENDING_REMOVED:
        hfi_cli_say("the lock '%s' was lost, it was taken away; %s", options->name, then);
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
    int state = hf_hold_state(job->run->hold);
    bool held = state == HF_HELD || state == HF_AT_RISK;
    int64_t remaining_ms = hf_hold_remaining_ms(job->run->hold);
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

static bool try_guard(struct cli_job *job)
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
static void replace_guard(struct cli_job *job)
{
    struct cli_guard *guard = &job->guard;
    uint64_t now = cli_now();
    bool lived = now - guard->started_ns >= GUARD_SHORT_MS * CLI_MS;

    guard->short_lives = lived ? 0 : guard->short_lives + 1;
    if (!guard->said)
        hfi_cli_say("the guard process was killed; starting another");
    guard->said = true;
    if (guard->short_lives < GUARD_SHORT_LIVES && try_guard(job))
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

static void look_at_group(struct cli_job *job, uint64_t now)
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
static void command_ended(struct cli_job *job, uint64_t now)
{
    bool told = job->told || hfi_cli_signal_ends(job->child.signal);

    if (told && !hfi_cli_job_ending(job))
        job->linger_ns = now + job->lease.kill_after_ns;
    if (told || hfi_cli_job_ending(job)) {
        job->step_ns = LOOK_FIRST_MS * CLI_MS;
        job->look_ns = now;
    }
}

static bool is_over(struct cli_job *job, uint64_t now)
{
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
    hfi_cli_say("processes that the command started are left; giving '%s' back all the same",
                job->run->options.name);
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * The loop
 */

static void pass_on(struct cli_job *job, int number)
{
    hfi_cli_child_signal(&job->child, number);
    if (!hfi_cli_signal_ends(number))
        return;
    job->told = true;
    if (job->child.stopped)
        hfi_cli_child_signal(&job->child, SIGCONT);
}

static void handle_signals(struct cli_job *job)
{
    struct cli_signal signal;

    while (hfi_cli_signals_next(&job->run->signals, &signal)) {
        if (signal.number == SIGCONT)
            hfi_cli_job_continue(job);
        else if (signal.number == SIGTSTP)
            hfi_cli_job_stop(job);
        else if (signal.number != SIGCHLD)
            pass_on(job, signal.number);
    }
}

static void handle_children(struct cli_job *job)
{
    bool exited = job->child.exited;
    int stopped;

    hfi_cli_child_look(&job->child);
    if (job->child.exited && !exited)
        command_ended(job, cli_now());
    stopped = hfi_cli_child_stopped(&job->child);
    if (stopped)
        hfi_cli_job_stopped(job, stopped);
    if (hfi_cli_guard_died(&job->guard) && !job->unguarded)
        replace_guard(job);
}

/* What they say is read from the hold itself. */
static void drain_events(const struct cli_job *job)
{
    struct hf_event event = { .size = sizeof event };

    while (hf_next(job->run->store.client, &event) == 1)
        ;
}

static void sleep_until_something(struct cli_job *job)
{
    struct cli_run *run = job->run;
    struct pollfd polled[] = { { .fd = hf_fd(run->store.client), .events = POLLIN },
                               { .fd = run->signals.fd, .events = POLLIN },
                               { .fd = run->store.warnings, .events = POLLIN },
                               { .fd = run->alarm, .events = POLLIN },
                               { .fd = job->child.report, .events = POLLIN } };
    uint64_t wake = job->look_ns;

    if (!job->killed)
        wake = cli_earlier(wake, hfi_cli_lease_next(&job->lease, cli_now()));
    if (job->linger_ns)
        wake = cli_earlier(wake, job->linger_ns);
    hfi_cli_alarm_set(run->alarm, wake);
    if (poll(polled, sizeof polled / sizeof polled[0], -1) <= 0)
        return;
    if (polled[3].revents)
        hfi_cli_alarm_clear(run->alarm);
    if (polled[4].revents)
        hfi_cli_child_report(&job->child);
}

static void loop(struct cli_job *job)
{
    uint64_t now = cli_now();

    while (!is_over(job, now)) {
        sleep_until_something(job);
        handle_signals(job);
        handle_children(job);
        drain_events(job);
        hfi_cli_store_warnings(&job->run->store);
        hfi_cli_job_lease(job);
        now = cli_now();
        look_at_group(job, now);
    }
}

static int cannot_start(void)
{
    hfi_cli_say("the command cannot be started: %s", strerror(errno));
    return CLI_EXIT_SYSTEM;
}

static int begin(struct cli_job *job)
{
    struct cli_run_options *options = &job->run->options;
    int code;

    hfi_cli_lease_init(&job->lease, options->on_lost, options->kill_after_ms, options->ttl_ms,
                       options->max_hold_ms, cli_now());
    hfi_cli_terminal_open(&job->terminal);
    if (!hfi_cli_guard_init(&job->guard))
        return cannot_start();
    atomic_store(&job->guard.board->ttl_ns, (uint64_t)options->ttl_ms * CLI_MS);
    hfi_cli_job_lease(job);
    if (hfi_cli_job_ending(job))
        return CLI_EXIT_LOST; /* before it began */
    if (!hfi_cli_child_start(&job->child, &job->run->signals, options->command))
        return cannot_start();
    if (job->terminal.wanted)
        hfi_cli_terminal_give(&job->terminal, job->child.pid);
    if (try_guard(job))
        return CLI_EXIT_OK;
    code = cannot_start();
    hfi_cli_child_signal(&job->child, SIGKILL);
    return code;
}

static void finish(struct cli_job *job)
{
    hfi_cli_terminal_take(&job->terminal, job->child.signal != 0);
    hfi_cli_guard_dismiss(&job->guard);
    hfi_cli_child_reap(&job->child);
    if (job->guard.board)
        hfi_cli_guard_fini(&job->guard);
    if (job->terminal.fd >= 0)
        close(job->terminal.fd);
}

static int exit_code(const struct cli_job *job)
{
    if (job->child.exec_error)
        return hfi_cli_child_exec_failed(&job->child, job->run->options.command[0]);
    if (job->lease.ending != CLI_ENDING_NONE)
        return CLI_EXIT_LOST;
    return job->unguarded ? CLI_EXIT_SYSTEM : job->child.exit_code;
}

int hfi_cli_supervise(struct cli_run *run)
{
    struct cli_job job = { .run = run, .look_ns = CLI_NEVER, .nag_ns = CLI_NEVER };
    int code = begin(&job);

    if (code == CLI_EXIT_OK) {
        loop(&job);
        code = exit_code(&job);
    }
    finish(&job);
    return code;
}
