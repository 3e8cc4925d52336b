/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of the command when its hold is at risk or lost. Decides only: reads no clock and sends no
 * signal, so its rules can be tested one by one.
 *
 *   held, deadline − K reached      TERM         (on-lost term; K: kill-after, at most a third of the ttl)
 *   held, deadline reached          KILL
 *   lost before its deadline        TERM, K later KILL     (someone removed it)
 *   lost at its deadline            KILL
 *   on-lost kill                    no TERM; KILL when lost, or at the deadline
 *   on-lost ignore                  a message, nothing else
 *
 * `--max-hold` is a deadline that no renewal moves. Once a TERM went out for one of these reasons the command
 * is being ended: a renewal that succeeds after all moves only the KILL.
 */
#ifndef HFI_CLI_LEASE_H
#define HFI_CLI_LEASE_H

#include <stdbool.h>
#include <stdint.h>

enum cli_on_lost { CLI_ON_LOST_TERM, CLI_ON_LOST_KILL, CLI_ON_LOST_IGNORE };

/* Why the command is being ended, or should be. */
enum cli_ending {
    CLI_ENDING_NONE,
    CLI_ENDING_AT_RISK,  /* not renewed, and the deadline is near */
    CLI_ENDING_MAX_HOLD, /* --max-hold is over, or nearly */
    CLI_ENDING_EXPIRED,  /* the deadline has passed */
    CLI_ENDING_REMOVED   /* lost before the deadline */
};

struct cli_lease {
    enum cli_on_lost on_lost;
    uint64_t kill_after_ns;
    uint64_t look_ns; /* look at the hold at least so often: the guard wants to know the deadline */
    uint64_t max_until_ns;
    uint64_t deadline_ns; /* as last seen, and never later than max_until_ns */
    uint64_t kill_ns;     /* the hold is lost: KILL then; before that CLI_NEVER */
    enum cli_ending ending;
    bool lost;
    bool termed; /* TERM went out */
};

enum { CLI_DO_NOTHING = 0, CLI_DO_SAY = 1, CLI_DO_TERM = 2, CLI_DO_KILL = 4 };

/* Starts with a hold that is valid now. ttl_ms > 0; max_hold_ms 0: no maximum. */
void hfi_cli_lease_init(struct cli_lease *lease, enum cli_on_lost on_lost, int64_t kill_after_ms,
                        int64_t ttl_ms, int64_t max_hold_ms, uint64_t now);
/*
 * What to do now: CLI_DO_ bits. `held`: the library says HELD or AT_RISK, with remaining_ms to the deadline.
 * `reap`: only stragglers of the command's group are left; they get no longer than K, renewals or not.
 */
unsigned hfi_cli_lease_step(struct cli_lease *lease, uint64_t now, bool held, int64_t remaining_ms,
                            bool reap);
/* The command is to be ended for another reason: KILL after K at the latest. The TERM is the caller's. */
void hfi_cli_lease_end(struct cli_lease *lease, uint64_t now);
/* When to step next at the latest. */
uint64_t hfi_cli_lease_next(const struct cli_lease *lease, uint64_t now);
/* From when on the guard shall KILL without asking; CLI_NEVER: only when we die. */
uint64_t hfi_cli_lease_limit(const struct cli_lease *lease);

#endif
