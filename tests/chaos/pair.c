/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads, each in a process of its own, that hand a lock to each other, and nobody else wants it. Whose turn
 * it is not lets go at about the time at which the other one begins to wait, and then does nothing: a wake-up that
 * is lost there is made good by nobody, and the other one sleeps on beside a free lock.
 *
 * The turn is in the shared mapping and belongs to a slot, not to a process: who comes after one that was
 * killed takes it up.
 */
#include <string.h>

#include "chaos/chaos.h"

/* The turn: the lock, and whether the second one of the pair has it. */
static uint32_t turn_of(struct actor *actor, uint32_t side)
{
    return actor_pick(actor, CHAOS_PAIR_LOCKS) << 1 | side;
}

static void pass_turn(struct actor *actor, atomic_uint *turn, uint32_t now, uint32_t side)
{
    int lock = CHAOS_LOCKS + (actor->worker->slot / 2) * CHAOS_PAIR_LOCKS + (int)(now >> 1);
    struct wish wish = { .lock = lock, .options = { .size = sizeof wish.options, .ttl_ms = 2000 } };
    struct prize prize;

    snprintf(wish.who, sizeof wish.who, "%u/t%u", (unsigned)actor->worker->process,
             (unsigned)actor->history.thread);
    if (!acquire(actor, &wish, &prize))
        return;
    write_token(actor, &prize);
    /* mostly the same lock again; another one is not yet watched by the other process */
    atomic_store(turn, actor_pick(actor, 3) ? now ^ 1 : turn_of(actor, side ^ 1));
    if (actor_pick(actor, 4))
        nap_us((long)actor_pick(actor, 1500));
    release(actor, &prize);
}

void *pair_run(void *arg)
{
    struct actor *actor = arg;
    uint32_t side = (uint32_t)actor->worker->slot % 2;
    int pair = actor->worker->slot / 2;
    atomic_uint *turn;

    if (!actor_may(actor, CHAOS_PAIR) || pair >= CHAOS_PAIRS)
        return NULL;
    turn = &actor->worker->shared->turn[pair];
    while (!worker_is_to_stop(actor->worker)) {
        uint32_t now = atomic_load(turn);

        if ((now & 1) == side)
            pass_turn(actor, turn, now, side);
        else
            nap_us(100);
    }
    return NULL;
}
