/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a fair lock, as its server sees who asks.
 *
 *   order   a fair lock is given to whoever waited longest; one that does not look again for a while is passed
 *           over, and nobody else is
 */
#include "checks.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#define ALIVE_NS                                                                                   \
    (4900 * HFI_MSEC) /* a little less than the time after which a waiter counts as dead */

/* One that waits. */
struct sim_turn {
    struct sim_turn *prev, *next;
    hfi_time tried; /* true time */
    bool vague;     /* it did not look again for so long that it may have been passed over */
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

static void check_order(struct sim_server *server, struct sim_lock *lock,
                        const struct sim_arg *owner)
{
    const struct sim_turn *mine = find(lock, owner), *turn;
    hfi_time now = server->sim->world.now;

    if (lock->uncounted || server->lost_data || server->sim->plan.drift_ppm > SIM_DRIFT_INSIDE)
        return; /* the queue may have been lost, or time passes otherwise there */
    DL_FOREACH (lock->turns, turn) {
        if (turn == mine || (mine && mine->vague))
            return;
        if (!turn->vague && now - turn->tried < ALIVE_NS)
            sim_violated(&server->sim->world, "order",
                         "s%u gives %s to %.*s, and %.*s came before (%.3f ms ago)", server->index,
                         lock->name, (int)owner->len, owner->at, (int)turn->len, turn->owner,
                         (double)(now - turn->tried) / 1e6);
    }
}

void sim_check_turn(struct sim_server *server, struct sim_lock *lock, const struct sim_arg *owner,
                    bool queues, bool granted)
{
    struct sim_turn *turn = find(lock, owner);

    if (granted) {
        check_order(server, lock, owner);
        take_out(lock, turn);
        return;
    }
    if (!queues || owner->len >= sizeof turn->owner)
        return;
    if (turn)
        turn->vague |= server->sim->world.now - turn->tried >= ALIVE_NS;
    if (!turn) {
        turn = sim_alloc(sizeof *turn);
        turn->len = owner->len;
        memcpy(turn->owner, owner->at, owner->len);
        DL_APPEND(lock->turns, turn);
    }
    turn->tried = server->sim->world.now;
}
