/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `holdfast run` and `holdfast once`, their parts and what they share.
 *
 *   run.c        the phases: open, wait, supervise, give back
 *   take.c       until all that was asked for is ours
 *   once.c       what `once` does besides
 *   supervise.c  while the command runs: one loop over descriptors, single-threaded
 *   job.c        what it does for the hold, the guard and the command's group
 *   stops.c      job control: the command stops, we stop, we are continued
 */
#ifndef HFI_CLI_RUN_H
#define HFI_CLI_RUN_H

#include "cli/child.h"
#include "cli/guard.h"
#include "cli/holds.h"
#include "cli/lease.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/terminal.h"
#include "cli/wait.h"
#include "holdfast/holdfast.h"

struct cli_run {
    struct cli_run_options options;
    struct cli_store store;
    struct cli_wait wait;   /* its signals and alarm serve the supervisor, too */
    struct cli_holds holds; /* in the order in which they were taken */
    bool started;           /* the command was executed */
    int key; /* INT or QUIT from the terminal ended the command, or the waiting: we end by it too */
};

/* The command and what watches it. */
struct cli_job {
    struct cli_run *run;
    struct cli_child child;
    struct cli_guard guard;
    struct cli_lease lease;
    struct cli_terminal terminal;
    uint64_t look_ns;   /* when to look whether the group is gone; CLI_NEVER: no need */
    uint64_t step_ns;   /* how long until the next look after that */
    uint64_t linger_ns; /* the command has ended; the rest of its group is waited for until then */
    uint64_t nag_ns;    /* when to say that the group does not end */
    int key;            /* INT or QUIT came to us from the terminal, and was passed on */
    bool told;          /* a signal that asked us to end was passed on */
    bool stop_asked;    /* TSTP was sent to us and passed on */
    bool unguarded;     /* no guard could be had: the command is being ended */
    bool killed;        /* KILL was sent, and is repeated */
    bool gone;          /* nobody of the group is left */
};

/* All of run.c, as `command`: an exit code. `argv` as its main's. */
int hfi_cli_run_as(const struct cli_command *command, int argc, char **argv);

#define CLI_TITLE_ROOM (2 * HF_NAME_MAX + 64)
/* What is held, for messages: "the lock 'x'", "the locks 'x' and 'y'", "the locks 'x' and 2 others". Returns `to`. */
const char *hfi_cli_run_title(char to[CLI_TITLE_ROOM], const struct cli_run *run);

/* take.c: the number of permits, where there is to be one. An exit code, after a message. */
int hfi_cli_take_prepare(struct cli_run *run);
/* Waits for all names, with run->wait open. Either run->holds has all, or the exit code is returned after a
 * message. */
int hfi_cli_take(struct cli_run *run);

/* Runs the command under run->holds. Returns the exit code; the group is over, the holds still to be released. */
int hfi_cli_supervise(struct cli_run *run);

/* stops.c: the command was stopped by `number`; SIGTSTP came to us; SIGCONT came to us. */
void hfi_cli_job_stopped(struct cli_job *job, int number);
void hfi_cli_job_stop(struct cli_job *job);
void hfi_cli_job_continue(struct cli_job *job);

/* job.c: does what the hold's state asks for now. */
void hfi_cli_job_lease(struct cli_job *job);
/* Starts a guard, with a few tries. */
bool hfi_cli_job_guard(struct cli_job *job);
/* The guard ended without being told to: another one, or the end of the command. */
void hfi_cli_job_replace_guard(struct cli_job *job);
/* The command has ended; are others of its group to be waited for? */
void hfi_cli_job_ended(struct cli_job *job, uint64_t now);
/* Looks for what is left of the group, when it is time to. */
void hfi_cli_job_look(struct cli_job *job, uint64_t now);
/* Is there nothing left to wait for? */
bool hfi_cli_job_is_over(struct cli_job *job, uint64_t now);
/* Is the command's group being ended, for its hold's sake or for want of a guard? */
bool hfi_cli_job_ending(const struct cli_job *job);

#endif
