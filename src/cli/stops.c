/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job control of `holdfast run`. The command has a process group of its own, so what a shell does to ours,
 * and what a terminal does to its, must be passed across:
 *
 *   the command's group stops      (^Z, TTIN) → we take the terminal back and stop as it did: the shell sees it
 *   we are asked to stop           → the command's group first; when it has stopped, we do
 *   we are continued               → is the hold still ours? then the terminal, and CONT to the group;
 *                                    else the group is ended, never simply resumed
 *
 * While we are stopped nothing renews the hold. The guard ends the group at the hold's deadline.
 */
#include "cli/cli.h"
#include "cli/message.h"
#include "cli/run.h"

/* Stopped from outside by STOP, where no shell would see us stop, and continue us: keep the lock, say so. */
static bool is_for_a_shell(const struct cli_job *job, int number)
{
    if (job->stop_asked)
        return true;
    return job->terminal.fd >= 0 && (number != SIGSTOP || job->terminal.given);
}

void hfi_cli_job_stopped(struct cli_job *job, int number)
{
    bool stopped;

    if (hfi_cli_job_ending(job)) {
        hfi_cli_child_signal(&job->child, SIGCONT); /* a TERM may wait to be acted on */
        return;
    }
    if ((number == SIGTTIN || number == SIGTTOU) &&
        hfi_cli_terminal_give(&job->terminal, job->child.pid)) {
        hfi_cli_child_signal(&job->child, SIGCONT);
        return;
    }
    if (!is_for_a_shell(job, number)) {
        hfi_cli_say("the command was stopped by signal %d; the lock is kept", number);
        return;
    }
    hfi_cli_terminal_take(&job->terminal, false);
    /* What the terminal did to the command's group it would have done to all of our job. STOP would stop us
     * even where nobody can continue us. */
    stopped = hfi_cli_stop_self(number == SIGSTOP ? SIGTSTP : number, !job->stop_asked);
    job->stop_asked = false;
    if (!stopped)
        hfi_cli_job_continue(job);
}

void hfi_cli_job_stop(struct cli_job *job)
{
    if (hfi_cli_job_ending(job))
        return;
    job->stop_asked = true;
    hfi_cli_child_signal(&job->child, SIGTSTP);
}

void hfi_cli_job_continue(struct cli_job *job)
{
    struct cli_terminal *terminal = &job->terminal;

    job->stop_asked = false;
    if (!hfi_cli_job_ending(job))
        hfi_cli_holds_verify(&job->run->holds); /* the state below says what came of it */
    hfi_cli_job_lease(job);
    if (hfi_cli_job_ending(job))
        return;
    hfi_cli_terminal_check(terminal, job->child.pid);
    if (terminal->wanted)
        hfi_cli_terminal_give(terminal, job->child.pid);
    hfi_cli_child_signal(&job->child, SIGCONT);
}
