/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of `holdfast run`: blocked, and read from a descriptor.
 *
 * A signal that was ignored when we were started (nohup's HUP, a background job's INT) stays ignored, by us
 * and by the command. The command starts with the mask and the dispositions that we were started with.
 */
#ifndef HFI_CLI_SIGNALS_H
#define HFI_CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct cli_signals {
    int fd; /* readable when there is a signal */
    sigset_t original_mask;
    struct sigaction original_chld, original_pipe;
};

struct cli_signal {
    int number;
    bool from_kernel; /* a key on the terminal, say, and not kill() */
};

/* Blocks them, for this thread and those it starts. False: no descriptor to be had. */
bool hfi_cli_signals_init(struct cli_signals *signals);
/* The next signal; false when there is none. */
bool hfi_cli_signals_next(const struct cli_signals *signals, struct cli_signal *ret_signal);
/* In a forked child, just before exec: as we were started. Async-signal-safe. */
void hfi_cli_signals_restore(const struct cli_signals *signals);
/* A key that ends: INT or QUIT, from the terminal. */
bool hfi_cli_signal_is_key(const struct cli_signal *signal);
/* Ends this process by the signal itself, without a core. Does not return. */
void hfi_cli_die_of(int number);
/* Does it ask us to end: TERM, INT, HUP, QUIT? */
bool hfi_cli_signal_ends(int number);
/*
 * Stops this process by `number` (TSTP, TTIN, TTOU), and our whole process group where `everyone`, until
 * SIGCONT. False when the kernel did not stop us: nobody could continue us, our group being orphaned.
 */
bool hfi_cli_stop_self(int number, bool everyone);

#endif
