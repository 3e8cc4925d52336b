/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command: a process group of its own, started behind a gate.
 *
 * Life: forked → (the guard opens the gate) → exec, or its error → … → exited → reaped. Until it is reaped
 * its process id, which is the group's number, is nobody else's.
 */
#ifndef HFI_CLI_CHILD_H
#define HFI_CLI_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/signals.h"

struct cli_child {
    pid_t pid;  /* and group; 0: none */
    int gate;   /* write end; whoever writes to it lets the command start; -1 once it has */
    int report; /* read end: errno of exec, or its end when exec worked; -1 afterwards */
    int exec_error;
    bool exited; /* what it ended with is known; it is a zombie until it is reaped */
    bool reaped;
    bool stopped;
    int exit_code; /* 0 to 255, or 128 + signal */
    int signal;    /* that ended it; 0: none */
};

/* Forks. False: no process or descriptor to be had, errno says which. */
bool hfi_cli_child_start(struct cli_child *child, const struct cli_signals *signals, char **argv);
/* `report` is readable. */
void hfi_cli_child_report(struct cli_child *child);
/* Its exit, if it has; it stays a zombie. */
void hfi_cli_child_look(struct cli_child *child);
/* It was stopped just now: by which signal; 0: it was not. */
int hfi_cli_child_stopped(struct cli_child *child);
/* To the whole group. */
void hfi_cli_child_signal(const struct cli_child *child, int number);
void hfi_cli_child_reap(struct cli_child *child);
/* The command could not be executed: says so, and returns 126 or 127. */
int hfi_cli_child_exec_failed(const struct cli_child *child, const char *command);

#endif
