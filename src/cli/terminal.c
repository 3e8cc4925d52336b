/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controlling terminal. See terminal.h.
 *
 * SIGTTOU is blocked all the time (signals.c), so that a background process, which we are while the command
 * has the terminal, may take it back.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/terminal.h"

void hfi_cli_terminal_open(struct cli_terminal *terminal)
{
    struct stat out;

    terminal->given = terminal->saved = terminal->wanted = false;
    terminal->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal->fd >= 0)
        terminal->wanted =
            fstat(STDOUT_FILENO, &out) != 0 || !(S_ISFIFO(out.st_mode) || S_ISSOCK(out.st_mode));
}

bool hfi_cli_terminal_ours(const struct cli_terminal *terminal)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == getpgrp();
}

bool hfi_cli_terminal_give(struct cli_terminal *terminal, pid_t group)
{
    if (!hfi_cli_terminal_ours(terminal))
        return false;
    if (!terminal->saved)
        terminal->saved = tcgetattr(terminal->fd, &terminal->modes) == 0;
    if (tcsetpgrp(terminal->fd, group) != 0)
        return false;
    terminal->given = terminal->wanted = true;
    return true;
}

void hfi_cli_terminal_take(struct cli_terminal *terminal, bool restore)
{
    if (!terminal->given)
        return;
    terminal->given = false;
    if (tcsetpgrp(terminal->fd, getpgrp()) == 0 && restore && terminal->saved)
        tcsetattr(terminal->fd, TCSADRAIN, &terminal->modes);
}

void hfi_cli_terminal_check(struct cli_terminal *terminal, pid_t group)
{
    pid_t now = terminal->fd >= 0 ? tcgetpgrp(terminal->fd) : -1;

    if (terminal->given && now != group)
        terminal->given = false;
}
