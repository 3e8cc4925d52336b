/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and watches the command. See child.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/message.h"

struct start {
    const struct cli_signals *signals;
    char **argv;
    pid_t parent;
    int gate[2], report[2];
};

/*
 * In the child: async-signal-safe only. The death signal is an extra that spares the leader's own last
 * moments; the guard does not depend on it. execvp() of glibc and musl allocates nothing.
 */
static void child_main(const struct start *start)
{
    char byte;
    int error;
    ssize_t count;

    close(start->gate[1]); /* else the gate would never end if holdfast and guard die now */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != start->parent)
        _exit(CLI_EXIT_SYSTEM);
    do
        count = read(start->gate[0], &byte, 1);
    while (count < 0 && errno == EINTR);
    if (count != 1)
        _exit(CLI_EXIT_SYSTEM);
    hfi_cli_signals_restore(start->signals);
    execvp(start->argv[0], start->argv);
    error = errno;
    count = write(start->report[1], &error, sizeof error);
    (void)count;
    _exit(CLI_EXIT_NOT_FOUND);
}

static void close_pair(int ends[2])
{
    int saved = errno;

    close(ends[0]);
    close(ends[1]);
    errno = saved;
}

bool hfi_cli_child_start(struct cli_child *child, const struct cli_signals *signals, char **argv)
{
    struct start start = { .signals = signals, .argv = argv, .parent = getpid() };

    memset(child, 0, sizeof *child);
    child->gate = child->report = -1;
    if (pipe2(start.gate, O_CLOEXEC) < 0)
        return false;
    if (pipe2(start.report, O_CLOEXEC) < 0) {
        close_pair(start.gate);
        return false;
    }
    child->pid = fork();
    if (child->pid == 0)
        child_main(&start);
    if (child->pid < 0) {
        child->pid = 0;
        close_pair(start.gate);
        close_pair(start.report);
        return false;
    }
    setpgid(child->pid, child->pid); /* whoever is first: the child does it too */
    close(start.gate[0]);
    close(start.report[1]);
    child->gate = start.gate[1];
    child->report = start.report[0];
    return true;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void hfi_cli_child_report(struct cli_child *child)
{
    int error = 0;
    ssize_t count = read(child->report, &error, sizeof error);

    if (count < 0 && errno == EINTR)
        return;
    if (count == (ssize_t)sizeof error)
        child->exec_error = error;
    close_one(&child->report);
    close_one(&child->gate);
}

void hfi_cli_child_look(struct cli_child *child)
{
    siginfo_t info = { .si_pid = 0 };

    if (child->pid <= 0 || child->exited)
        return;
    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
        return;
    child->exited = true;
    child->stopped = false;
    child->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
    child->exit_code =
        info.si_code == CLD_EXITED ? info.si_status : CLI_EXIT_SIGNAL + info.si_status;
    if (child->report >= 0) /* it wrote there before it exited */
        hfi_cli_child_report(child);
}

int hfi_cli_child_stopped(struct cli_child *child)
{
    siginfo_t info = { .si_pid = 0 };

    if (child->pid <= 0 || child->exited)
        return 0;
    if (waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WCONTINUED | WNOHANG) < 0 ||
        info.si_pid == 0)
        return 0;
    child->stopped = info.si_code == CLD_STOPPED;
    return child->stopped ? info.si_status : 0;
}

void hfi_cli_child_signal(const struct cli_child *child, int number)
{
    if (child->pid > 0 && !child->reaped)
        kill(-child->pid, number);
}

void hfi_cli_child_reap(struct cli_child *child)
{
    siginfo_t info;

    close_one(&child->gate);
    close_one(&child->report);
    if (child->pid <= 0 || child->reaped)
        return;
    while (waitid(P_PID, (id_t)child->pid, &info, WEXITED) < 0 && errno == EINTR)
        ;
    child->reaped = true;
}

int hfi_cli_child_exec_failed(const struct cli_child *child, const char *command)
{
    if (child->exec_error == ENOENT || child->exec_error == ENOTDIR) {
        hfi_cli_say("'%s': command not found", command);
        return CLI_EXIT_NOT_FOUND;
    }
    hfi_cli_say("'%s' cannot be executed: %s", command, strerror(child->exec_error));
    return CLI_EXIT_NOT_EXECUTABLE;
}
