/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which a store that keeps one serves those who wait, as it sees who asks.
 *
 *   order   a fair lock is given to whoever waited longest; one that does not look again for a while is passed
 *           over, and nobody else is. In a store that blocks all kinds are served so: nobody is given so much that
 *           those before it could not have theirs; and who was called and does not come is passed over
 */
#include "checks.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#define ALIVE_NS                                                                                   \
    (4900 * HFI_MSEC) /* a little less than the time after which a waiter counts as dead */
#define COMES_NS (95 * HFI_MSEC) /* likewise, after which one that was called does not come */

/* One that waits. */
struct sim_turn {
    struct sim_turn *prev, *next;
    hfi_time tried, called; /* true time; 0: it was not */
    int64_t units;          /* of a store that blocks: what it waits for */
    bool vague;             /* it was away for so long that it may have been passed over */
    size_t len;
    char owner[80];
};

static struct sim_turn *find(const struct sim_lock *lock, const struct sim_arg *owner)
{
    struct sim_turn *turn;

    DL_FOREACH (lock->turns, turn) {
        if (turn->len == owner->len && memcmp(turn->owner, owner->at, owner->len) == 0)
            return turn;
    }
    return NULL;
}

static void take_out(struct sim_lock *lock, struct sim_turn *turn)
{
    if (!turn)
        return;
    DL_DELETE(lock->turns, turn);
    free(turn);
}

void sim_check_turn_left(struct sim_lock *lock, const struct sim_arg *owner)
{
    take_out(lock, find(lock, owner));
}

void sim_check_turns_forget(struct sim_lock *lock)
{
    while (lock->turns)
        take_out(lock, lock->turns);
}

void sim_check_turns_end(struct sim_lock *lock, const struct sim_arg *owners)
{
    struct sim_turn *turn, *next;

    DL_FOREACH_SAFE (lock->turns, turn, next) {
        if (turn->len >= owners->len && memcmp(turn->owner, owners->at, owners->len) == 0)
            take_out(lock, turn);
    }
}

void sim_check_turn_called(struct sim_lock *lock, const struct sim_arg *owner)
{
    struct sim_turn *turn = find(lock, owner);

    if (turn)
        turn->called = lock->sim->world.now;
}

/* Is it away for so long that it may be passed over? */
static bool is_away(const struct sim_lock *lock, const struct sim_turn *turn)
{
    hfi_time now = lock->sim->world.now;

    if (lock->sim->plan.library)
        return turn->called && now - turn->called >= COMES_NS;
    return now - turn->tried >= ALIVE_NS;
}

/* The queue may have been lost, or time passes otherwise there. */
static bool is_excused(const struct sim_lock *lock)
{
    return lock->uncounted || sim_service_server(lock->sim, lock->service)->lost_data ||
           lock->sim->plan.drift_ppm > SIM_DRIFT_INSIDE;
}

void sim_check_turn_granted(struct sim_lock *lock, const struct sim_arg *owner, int64_t units,
                            int64_t left)
{
    struct sim_turn *mine = find(lock, owner), *turn;

    left -= units;
    DL_FOREACH (lock->turns, turn) {
        if (turn == mine || (mine && mine->vague) || is_excused(lock))
            break;
        if (turn->vague || is_away(lock, turn))
            continue;
        left -= turn->units;
        if (left < 0)
            sim_violated(&lock->sim->world, "order",
                         "%s is given to %.*s, and %.*s came before (%.3f ms ago)", lock->name,
                         (int)owner->len, owner->at, (int)turn->len, turn->owner,
                         (double)(lock->sim->world.now - turn->tried) / 1e6);
    }
    take_out(lock, mine);
}

void sim_check_turn_waits(struct sim_lock *lock, const struct sim_arg *owner, int64_t units)
{
    struct sim_turn *turn = find(lock, owner);

    if (owner->len >= sizeof turn->owner)
        return;
    if (turn)
        turn->vague |= is_away(lock, turn);
    if (!turn) {
        turn = sim_alloc(sizeof *turn);
        turn->len = owner->len;
        memcpy(turn->owner, owner->at, owner->len);
        DL_APPEND(lock->turns, turn);
    }
    turn->units = units;
    turn->tried = lock->sim->world.now;
}
