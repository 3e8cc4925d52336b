/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controlling terminal: whose keyboard it is.
 *
 * The command has a process group of its own, so it must be made the terminal's foreground group to read
 * from it. That is done at the start when our group is the foreground and we write to no pipe; behind a pipe
 * somebody else of our job may want the keyboard (`holdfast run x -- cmd | less`), so there it is done only
 * when the command asks, by being stopped for TTIN or TTOU.
 */
#ifndef HFI_CLI_TERMINAL_H
#define HFI_CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct cli_terminal {
    int fd;      /* -1: no controlling terminal */
    bool wanted; /* the command should have it whenever it is ours to give */
    bool given;  /* the command has it */
    bool saved;  /* modes: as they were when it was first given */
    struct termios modes;
};

void hfi_cli_terminal_open(struct cli_terminal *terminal);
/* Is our own group in the foreground? */
bool hfi_cli_terminal_ours(const struct cli_terminal *terminal);
/* Makes `group` the foreground group, if ours is it now. True if it was done. */
bool hfi_cli_terminal_give(struct cli_terminal *terminal, pid_t group);
/* Takes it back, if it was given. `restore` the modes too: the command was killed with its own set. */
void hfi_cli_terminal_take(struct cli_terminal *terminal, bool restore);
/* We were continued, in the foreground or not: is what we believe still so? */
void hfi_cli_terminal_check(struct cli_terminal *terminal, pid_t group);

#endif
