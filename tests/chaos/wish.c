/* SPDX-License-Identifier: Apache-2.0 */
/* What threads ask for: which lock, as whom, for how long. Drawn from the worker's seed. */
#include "chaos/chaos.h"

const char *lock_name(int lock, char *to)
{
    snprintf(to, 16, "chaos:%d", lock);
    return to;
}

uint32_t actor_pick(struct actor *actor, uint32_t below)
{
    return random_next(&actor->random) % below;
}

bool actor_may(const struct actor *actor, unsigned deed)
{
    return (actor->worker->shared->deeds & deed) != 0;
}

/* Lasts that are not the usual of the lock keep it from being passed on, so most are. */
static void choose_ttl(struct actor *actor, struct wish *wish)
{
    static const int64_t TTLS[] = { 1000, 1500, 2000, 3000 };
    struct hf_acquire_options *options = &wish->options;
    bool is_hot = wish->lock < CHAOS_HOT;

    options->ttl_ms = TTLS[wish->lock % 4];
    if (actor_pick(actor, 8) == 0)
        options->ttl_ms = TTLS[actor_pick(actor, 4)];
    if (!actor_may(actor, CHAOS_EXPIRE))
        return;
    switch (actor_pick(actor, is_hot ? 16 : 5)) {
    case 0:
        options->ttl_ms = 0;
        options->lease_ms = 1000 + (int64_t)actor_pick(actor, 500);
        break;
    case 1:
        options->max_hold_ms = 1000 + (int64_t)actor_pick(actor, 800);
        break;
    default:
        return;
    }
    wish->keeps = actor_pick(actor, is_hot ? 12 : 2) == 0;
}

static void choose_wait(struct actor *actor, struct wish *wish)
{
    uint32_t choice = actor_pick(actor, 10);

    wish->options.wait_ms = HF_WAIT_FOREVER;
    if (choice < 3)
        wish->options.wait_ms = HF_TRY_ONCE;
    else if (choice < 7 && actor_may(actor, CHAOS_BOUNDED))
        wish->options.wait_ms = 1 + (int64_t)actor_pick(actor, choice < 4 ? 10 : 1500);
}

static void choose_owner(struct actor *actor, struct wish *wish)
{
    struct worker *worker = actor->worker;

    snprintf(wish->who, sizeof wish->who, "%u/t%u", (unsigned)worker->process,
             (unsigned)actor->history.thread);
    if (!actor_may(actor, CHAOS_NAMED) || actor_pick(actor, 8) != 0)
        return;
    wish->options.owner = 1 + actor_pick(actor, 2);
    snprintf(wish->who, sizeof wish->who, "%u/%c%u", (unsigned)worker->process, actor->letter,
             (unsigned)wish->options.owner);
}

void wish_for(struct actor *actor, struct wish *wish)
{
    *wish = (struct wish){ .options = { .size = sizeof wish->options } };
    wish->lock = (int)actor_pick(actor, actor_pick(actor, 2) ? CHAOS_HOT : CHAOS_LOCKS);
    choose_ttl(actor, wish);
    choose_wait(actor, wish);
    choose_owner(actor, wish);
    if (actor_pick(actor, 4) == 0)
        wish->options.label = "chaos";
}
