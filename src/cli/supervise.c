/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While the command runs: one loop, one thread, everything it waits for is a descriptor.
 *
 * Invariants
 *   - The command's process starts before its guard, and executes nothing before the guard stands.
 *   - Whatever ends the loop: the guard is dismissed first, then the leader is reaped, and only then does
 *     the caller release the hold.
 *   - When the hold was lost, the loop ends only when nobody of the group is left (on-lost ignore: when the
 *     command has ended).
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/message.h"
#include "cli/run.h"

static void pass_on(struct cli_job *job, const struct cli_signal *signal)
{
    int number = signal->number;

    hfi_cli_child_signal(&job->child, number);
    if (hfi_cli_signal_is_key(signal))
        job->key = number;
    if (!hfi_cli_signal_ends(number))
        return;
    job->told = true;
    if (job->child.stopped)
        hfi_cli_child_signal(&job->child, SIGCONT);
}

static void handle_signals(struct cli_job *job)
{
    struct cli_signal signal;

    while (hfi_cli_signals_next(&job->run->wait.signals, &signal)) {
        if (signal.number == SIGCONT)
            hfi_cli_job_continue(job);
        else if (signal.number == SIGTSTP)
            hfi_cli_job_stop(job);
        else if (signal.number != SIGCHLD)
            pass_on(job, &signal);
    }
}

static void handle_children(struct cli_job *job)
{
    bool exited = job->child.exited;
    int stopped;

    hfi_cli_child_look(&job->child);
    if (job->child.exited && !exited)
        hfi_cli_job_ended(job, cli_now());
    stopped = hfi_cli_child_stopped(&job->child);
    if (stopped)
        hfi_cli_job_stopped(job, stopped);
    if (hfi_cli_guard_died(&job->guard) && !job->unguarded)
        hfi_cli_job_replace_guard(job);
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
                               { .fd = run->wait.signals.fd, .events = POLLIN },
                               { .fd = run->store.warnings, .events = POLLIN },
                               { .fd = run->wait.alarm, .events = POLLIN },
                               { .fd = job->child.report, .events = POLLIN } };
    uint64_t wake = job->look_ns;

    if (!job->killed)
        wake = cli_earlier(wake, hfi_cli_lease_next(&job->lease, cli_now()));
    if (job->linger_ns)
        wake = cli_earlier(wake, job->linger_ns);
    hfi_cli_alarm_set(run->wait.alarm, wake);
    if (poll(polled, sizeof polled / sizeof polled[0], -1) <= 0)
        return;
    if (polled[3].revents)
        hfi_cli_alarm_clear(run->wait.alarm);
    if (polled[4].revents)
        hfi_cli_child_report(&job->child);
}

static void loop(struct cli_job *job)
{
    uint64_t now = cli_now();

    while (!hfi_cli_job_is_over(job, now)) {
        sleep_until_something(job);
        handle_signals(job);
        handle_children(job);
        drain_events(job);
        hfi_cli_store_warnings(&job->run->store);
        hfi_cli_job_lease(job);
        now = cli_now();
        hfi_cli_job_look(job, now);
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
    if (!hfi_cli_child_start(&job->child, &job->run->wait.signals, options->command))
        return cannot_start();
    if (job->terminal.wanted)
        hfi_cli_terminal_give(&job->terminal, job->child.pid);
    if (hfi_cli_job_guard(job))
        return CLI_EXIT_OK;
    code = cannot_start();
    hfi_cli_child_signal(&job->child, SIGKILL);
    return code;
}

/*
 * A key on the terminal ended the command. A shell goes on with its loop or script when a child has merely
 * exited after ^C, so we end by the signal, once all is given back; and whoever else is of our job would have
 * had it too, had the command not been in front of us.
 */
static void heed_key(struct cli_job *job)
{
    int number = job->child.signal;

    if ((number != SIGINT && number != SIGQUIT) || job->lease.ending != CLI_ENDING_NONE ||
        !(job->terminal.given || job->key == number))
        return;
    job->run->key = number;
    if (job->terminal.given)
        kill(0, number);
}

static void finish(struct cli_job *job)
{
    heed_key(job);
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
    job->run->started = true;
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
