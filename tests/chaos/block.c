/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that call and wait: acquire, work for a while, look whether it is still ours, release. */
#include <string.h>

#include "chaos/chaos.h"

/* Naps at most so long, and not past the end. */
static void rest(const struct actor *actor, long us)
{
    for (; us > 0 && !worker_is_to_stop(actor->worker); us -= 20000)
        nap_us(us < 20000 ? us : 20000);
}

/* Enters again what it has. When it was lost meanwhile, this is a new acquire, with its own hold. */
static void enter_again(struct actor *actor, const struct wish *wish)
{
    struct wish again = *wish;
    struct prize prize;

    if (!actor_may(actor, CHAOS_AGAIN))
        return;
    again.options.wait_ms = actor_pick(actor, 2) ? HF_TRY_ONCE : 50;
    if (!actor_may(actor, CHAOS_BOUNDED))
        again.options.wait_ms = HF_TRY_ONCE;
    if (!acquire(actor, &again, &prize))
        return;
    write_token(actor, &prize);
    release(actor, &prize);
}

static void touch(struct actor *actor, const struct wish *wish, const struct prize *prize)
{
    switch (actor_pick(actor, 6)) {
    case 0:
        verify(actor, prize);
        break;
    case 1:
        enter_again(actor, wish);
        break;
    case 2:
    case 3:
        write_token(actor, prize);
        break;
    default:
        break;
    }
}

/* Until it is over, and a little longer: as one who was not told would. */
static void keep(struct actor *actor, const struct prize *prize)
{
    while (look(actor, prize) && !worker_is_to_stop(actor->worker))
        rest(actor, 20000 + (long)actor_pick(actor, 100000));
    rest(actor, (long)actor_pick(actor, 40000));
    write_token(actor, prize);
}

/* Long enough to need renewal. */
static void work_long(struct actor *actor, const struct wish *wish, const struct prize *prize)
{
    int looks = 3 + (int)actor_pick(actor, 15);

    while (looks-- > 0 && look(actor, prize) && !worker_is_to_stop(actor->worker)) {
        touch(actor, wish, prize);
        rest(actor, 20000 + (long)actor_pick(actor, 150000));
    }
}

static void work(struct actor *actor, const struct wish *wish, const struct prize *prize)
{
    uint32_t choice = actor_pick(actor, wish->lock < CHAOS_HOT ? 200 : 30);

    write_token(actor, prize);
    if (wish->keeps) {
        keep(actor, prize);
        return;
    }
    if (choice == 0 && actor_may(actor, CHAOS_LONG)) {
        work_long(actor, wish, prize);
        return;
    }
    touch(actor, wish, prize);
    if (choice % 4 == 0)
        rest(actor, (long)actor_pick(actor, choice == 4 ? 60000 : 3000));
    look(actor, prize);
    if (choice % 3 == 0)
        write_token(actor, prize);
}

static void turn(struct actor *actor)
{
    struct wish wish;
    struct prize prize;

    wish_for(actor, &wish);
    if (!acquire(actor, &wish, &prize))
        return;
    work(actor, &wish, &prize);
    release(actor, &prize);
}

void *block_run(void *arg)
{
    struct actor *actor = arg;

    while (!worker_is_to_stop(actor->worker)) {
        turn(actor);
        rest(actor, (long)actor_pick(actor, 3000));
    }
    return NULL;
}
