/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of lease.h.
 *
 * Invariants: `lost` is final. kill_ns is finite only once `lost` or stragglers are left, and then only
 * moves earlier. SAY is given once when the ending begins, and once more when a hold at risk is then lost.
 */
#include "cli/clock.h"
#include "cli/lease.h"

#define LOOKS_PER_TTL 16
#define LOOK_MIN_MS   10
#define SLACK_MS      500 /* the library counts --max-hold from a little earlier than we */

static uint64_t ns_of(int64_t ms)
{
    return ms > 0 ? (uint64_t)ms * CLI_MS : 0;
}

void hfi_cli_lease_init(struct cli_lease *lease, enum cli_on_lost on_lost, int64_t kill_after_ms,
                        int64_t ttl_ms, int64_t max_hold_ms, uint64_t now)
{
    int64_t look_ms = ttl_ms / LOOKS_PER_TTL;

    lease->on_lost = on_lost;
    lease->kill_after_ns = cli_earlier(ns_of(kill_after_ms), ns_of(ttl_ms) / 3);
    lease->look_ns = ns_of(look_ms > LOOK_MIN_MS ? look_ms : LOOK_MIN_MS);
    lease->max_until_ns = CLI_NEVER;
    if (max_hold_ms > 0) {
        lease->max_until_ns = cli_later(now, ns_of(max_hold_ms));
        lease->kill_after_ns = cli_earlier(lease->kill_after_ns, ns_of(max_hold_ms) / 3);
    }
    lease->deadline_ns = now;
    lease->kill_ns = CLI_NEVER;
    lease->ending = CLI_ENDING_NONE;
    lease->lost = false;
    lease->termed = false;
}

/* Is the deadline where it is because of --max-hold? For the message only. */
static bool is_max_hold(const struct cli_lease *lease)
{
    return cli_later(lease->deadline_ns, SLACK_MS * CLI_MS) >= lease->max_until_ns &&
           lease->max_until_ns != CLI_NEVER;
}

static unsigned end(struct cli_lease *lease, enum cli_ending ending, unsigned what)
{
    lease->ending = ending;
    if (lease->on_lost == CLI_ON_LOST_IGNORE)
        what = 0;
    if (lease->termed)
        what &= ~(unsigned)CLI_DO_TERM;
    if (what & CLI_DO_TERM)
        lease->termed = true;
    return what | CLI_DO_SAY;
}

/* The library says that it is gone, or its deadline is past. */
static unsigned lose(struct cli_lease *lease, uint64_t now)
{
    bool late = now >= lease->deadline_ns;
    enum cli_ending ending = !late                ? CLI_ENDING_REMOVED
                             : is_max_hold(lease) ? CLI_ENDING_MAX_HOLD
                                                  : CLI_ENDING_EXPIRED;
    bool at_once = late || lease->on_lost == CLI_ON_LOST_KILL;
    bool said = lease->ending == CLI_ENDING_MAX_HOLD && ending == CLI_ENDING_MAX_HOLD;
    unsigned what;

    lease->lost = true;
    if (lease->on_lost != CLI_ON_LOST_IGNORE)
        lease->kill_ns =
            cli_earlier(lease->kill_ns, at_once ? now : cli_later(now, lease->kill_after_ns));
    what = end(lease, ending, at_once ? CLI_DO_KILL : CLI_DO_TERM);
    return said ? what & ~(unsigned)CLI_DO_SAY : what;
}

unsigned hfi_cli_lease_step(struct cli_lease *lease, uint64_t now, bool held, int64_t remaining_ms,
                            bool reap)
{
    if (lease->lost)
        return now >= lease->kill_ns ? CLI_DO_KILL : CLI_DO_NOTHING;
    if (held)
        lease->deadline_ns = cli_earlier(cli_later(now, ns_of(remaining_ms)), lease->max_until_ns);
    if (!held || now >= lease->deadline_ns)
        return lose(lease, now);
    if (reap && lease->ending != CLI_ENDING_NONE && lease->on_lost != CLI_ON_LOST_IGNORE)
        lease->kill_ns = cli_earlier(lease->kill_ns, cli_later(now, lease->kill_after_ns));
    if (now >= lease->kill_ns)
        return CLI_DO_KILL;
    if (lease->on_lost == CLI_ON_LOST_TERM && !lease->termed &&
        cli_later(now, lease->kill_after_ns) >= lease->deadline_ns)
        return end(lease, is_max_hold(lease) ? CLI_ENDING_MAX_HOLD : CLI_ENDING_AT_RISK,
                   CLI_DO_TERM);
    return CLI_DO_NOTHING;
}

void hfi_cli_lease_end(struct cli_lease *lease, uint64_t now)
{
    lease->termed = true;
    lease->kill_ns = cli_earlier(lease->kill_ns, cli_later(now, lease->kill_after_ns));
}

uint64_t hfi_cli_lease_next(const struct cli_lease *lease, uint64_t now)
{
    uint64_t next = cli_earlier(lease->kill_ns, lease->deadline_ns);

    if (lease->lost)
        return lease->kill_ns;
    if (lease->on_lost == CLI_ON_LOST_TERM && !lease->termed)
        next = cli_earlier(next, lease->deadline_ns > lease->kill_after_ns
                                     ? lease->deadline_ns - lease->kill_after_ns
                                     : 0);
    return cli_earlier(next, cli_later(now, lease->look_ns));
}

uint64_t hfi_cli_lease_limit(const struct cli_lease *lease)
{
    if (lease->on_lost == CLI_ON_LOST_IGNORE)
        return CLI_NEVER;
    return lease->lost ? lease->kill_ns : cli_earlier(lease->kill_ns, lease->deadline_ns);
}
