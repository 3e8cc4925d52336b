/* SPDX-License-Identifier: Apache-2.0 */
/* Signals through a descriptor. See signals.h. */
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/signals.h"

/* Linux keeps a blocked signal even where its disposition is to ignore it, so the ignored are left alone. */
static bool is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool hfi_cli_signals_init(struct cli_signals *signals)
{
    static const int wanted[] = { SIGTERM, SIGINT,  SIGHUP,   SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP };
    struct sigaction action;
    sigset_t taken, blocked;

    sigemptyset(&taken);
    sigaddset(&taken, SIGCHLD);
    sigaddset(&taken, SIGCONT);
    for (unsigned i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (!is_ignored(wanted[i]))
            sigaddset(&taken, wanted[i]);
    blocked = taken;
    sigaddset(&blocked, SIGTTOU); /* while the command has the terminal we may still write to it */
    sigprocmask(SIG_BLOCK, &blocked, &signals->original_mask);

    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL; /* an ignored SIGCHLD would reap our children for us */
    sigaction(SIGCHLD, &action, &signals->original_chld);
    action.sa_handler = SIG_IGN; /* a closed standard error must not end us */
    sigaction(SIGPIPE, &action, &signals->original_pipe);
    signals->fd = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd >= 0;
}

bool hfi_cli_signals_next(const struct cli_signals *signals, struct cli_signal *ret_signal)
{
    struct signalfd_siginfo info;

    if (read(signals->fd, &info, sizeof info) != (ssize_t)sizeof info)
        return false;
    ret_signal->number = (int)info.ssi_signo;
    ret_signal->from_kernel = info.ssi_code == SI_KERNEL;
    return true;
}

void hfi_cli_signals_restore(const struct cli_signals *signals)
{
    sigaction(SIGCHLD, &signals->original_chld, NULL);
    sigaction(SIGPIPE, &signals->original_pipe, NULL);
    sigprocmask(SIG_SETMASK, &signals->original_mask, NULL);
}

bool hfi_cli_signal_ends(int number)
{
    return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
}

bool hfi_cli_signal_is_key(const struct cli_signal *signal)
{
    return signal->from_kernel && (signal->number == SIGINT || signal->number == SIGQUIT);
}

void hfi_cli_die_of(int number)
{
    static const struct rlimit none = { 0, 0 };
    sigset_t one;

    setrlimit(RLIMIT_CORE, &none);
    sigemptyset(&one);
    sigaddset(&one, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    _exit(CLI_EXIT_SIGNAL +
          number); /* not reached: its disposition is the default, or it had not come */
}

bool hfi_cli_stop_self(int number, bool everyone)
{
    sigset_t one, before, pending;

    hfi_cli_clear();
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_BLOCK, &one, &before); /* TTIN is not blocked otherwise */
    kill(everyone ? 0 : getpid(), number);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* we stop here */
    sigprocmask(SIG_SETMASK, &before, NULL);
    return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}
