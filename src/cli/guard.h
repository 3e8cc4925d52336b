/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard: a small process that ends the command's group when holdfast cannot.
 *
 *   holdfast dies        the guard's pipe ends: KILL to the group, until nobody of it is left
 *   holdfast is stopped  or hangs: at the hold's deadline, which it keeps in memory that both see, KILL
 *
 * It is forked after the command's process and before the command: that one waits on a pipe (the gate) until
 * the guard stands, so no command ever runs unguarded. On the embedded store it keeps a copy of the
 * descriptor that says that the holder lives, so the lock is given to nobody while the group is there (or
 * until the ttl is over).
 *
 * From fork() on it uses async-signal-safe functions only: the library's threads may have held any lock.
 */
#ifndef HFI_CLI_GUARD_H
#define HFI_CLI_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One page that holdfast and its guard share. */
struct cli_board {
    _Atomic uint64_t limit_ns; /* KILL the group from then on; CLI_NEVER: not for time's sake */
    _Atomic uint64_t ttl_ns;   /* after our death: how long the group's end is waited for */
    atomic_bool killed;        /* the guard had to do it */
};

struct cli_guard {
    struct cli_board *board;
    pid_t pid; /* 0: none runs */
    int alive; /* the write end that only we have: it closes with us */
    uint64_t started_ns;
    unsigned short_lives; /* guards in a row that ended at once */
    bool said;
};

/* Maps the board. False: no memory. */
bool hfi_cli_guard_init(struct cli_guard *guard);
/*
 * Forks a guard for `group`. It opens the gate (-1: open already), and keeps `keep` (-1: nothing) until the
 * group is gone; both stay ours. False: it cannot be had, errno says why.
 */
bool hfi_cli_guard_start(struct cli_guard *guard, pid_t group, int gate, int keep);
/* Its death, by waitid(): true if it was alive until now. Continues one that was stopped. */
bool hfi_cli_guard_died(struct cli_guard *guard);
/* From then on it KILLs the group without asking. */
void hfi_cli_guard_limit(struct cli_guard *guard, uint64_t limit_ns);
/* Ends and reaps it: nothing is left to guard. */
void hfi_cli_guard_dismiss(struct cli_guard *guard);
void hfi_cli_guard_fini(struct cli_guard *guard);

#endif
