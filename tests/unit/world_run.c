/* SPDX-License-Identifier: Apache-2.0 */
/* What happens in the world, at random; and how it becomes calm. */
#include "world.h"

#include <utlist.h>

static struct process *some_process(struct world *world)
{
    return &world->process[draw(world, (uint64_t)world->nature.processes)];
}

static struct held *some_held(struct world *world, struct process *process)
{
    struct held *held;
    int count = 0;

    DL_COUNT(process->helds, held, count);
    if (count == 0)
        return NULL;
    held = process->helds;
    for (uint64_t i = draw(world, (uint64_t)count); i > 0; i--)
        held = held->next;
    return held;
}

static struct call *some_call(struct world *world, struct process *process, bool called)
{
    struct call *call, *found = NULL;
    uint64_t seen = 0;

    DL_FOREACH (process->calls, call) {
        if ((!called || call->called) && draw(world, ++seen) == 0)
            found = call;
    }
    return found;
}

/* ------------------------------------------------------------------------------------------------
 * Strangers
 */

static void stranger(struct world *world)
{
    int name = (int)draw(world, (uint64_t)world->nature.names);
    struct truth *truth = &world->truth[name];

    store_expire(world);
    if (truth->holder == STRANGER) {
        store_free(world, name);
        for (int i = 0; i < world->nature.processes; i++)
            world->process[i].woken[name] |= world->process[i].active[name];
    } else if (truth->holder == NOBODY && truth->line_length == 0) {
        truth->holder = STRANGER;
        truth->expires_ns = world->now + 1 + draw(world, 3 * HFI_SEC);
    } else if (truth->holder != NOBODY && world->nature.tampering) {
        tell(world, "%s is taken away by hand", WORLD_NAMES[name]);
        store_free(world, name);
        truth->tampered = true;
    }
}

/* ------------------------------------------------------------------------------------------------
 * One step
 */

static hfi_time some_time(struct world *world)
{
    switch (draw(world, 12)) {
    case 0: /* a process sleeps, or is stopped */
        return draw(world, 4 * HFI_SEC);
    case 1:
        return draw(world, 400 * HFI_MSEC);
    case 2:
    case 3:
        return draw(world, 30 * HFI_MSEC);
    default:
        return draw(world, 2 * HFI_MSEC);
    }
}

/* To the next time that an engine asked for, exactly; or a little less, or more. */
static hfi_time to_the_next_tick(struct world *world)
{
    hfi_time next = HF_TIME_NEVER;

    for (int i = 0; i < world->nature.processes; i++)
        next = hfi_time_min(next, hfi_engine_deadline(&world->process[i].engine));
    next = hfi_time_until(world->now, next);
    return hfi_time_min(next + draw(world, 3), 20 * HFI_SEC);
}

static void act(struct world *world, struct process *process)
{
    struct held *held = some_held(world, process);
    struct call *call = some_call(world, process, false);

    switch (draw(world, 8)) {
    case 0:
    case 1:
    case 2:
        if (!process->engine.closing || chance(world, 100))
            world_acquire(world, process);
        break;
    case 3:
    case 4:
    case 5:
        if (held)
            world_release(world, process, held);
        break;
    case 6:
        if (call && chance(world, 300))
            world_cancel(world, process, call);
        break;
    default:
        if (held && !process->engine.closing && chance(world, 500))
            world_verify(world, process, held);
    }
}

static void trouble(struct world *world, struct process *process)
{
    if (chance(world, world->nature.trouble))
        net_break(world, process, (int)draw(world, 2));
    if (chance(world, world->nature.trouble))
        net_refuse(world, process);
    if (chance(world, 50))
        net_ghosts(world, process, false);
    if (world->nature.strangers && chance(world, 30))
        stranger(world);
    if (chance(world, world->nature.trouble / 4))
        process->known = false, memset(process->registry, 0, sizeof process->registry);
}

static void serve(struct world *world, struct process *process)
{
    struct call *call = some_call(world, process, true);

    switch (draw(world, 6)) {
    case 0:
        if (call)
            world_take(world, process, call);
        break;
    case 1:
        net_wake(world, process);
        break;
    case 2:
        net_resubscribe(world, process);
        break;
    case 3:
        if (process->restored) {
            process->restored = false;
            world_input(world, process, &(struct hfi_input){ .kind = HFI_INPUT_RESTORED });
        }
        break;
    default:
        net_move(world, process, (int)draw(world, 2));
        net_move(world, process, 0);
    }
}

static void random_step(struct world *world)
{
    struct process *process = some_process(world);

    switch (draw(world, 10)) {
    case 0:
        world_pass(world, some_time(world), true);
        break;
    case 1:
        world_pass(world, to_the_next_tick(world), false);
        break;
    case 2:
    case 3:
        act(world, process);
        break;
    case 4:
        trouble(world, process);
        break;
    default:
        serve(world, process);
    }
    check_world(world);
}

/* ------------------------------------------------------------------------------------------------
 * Calm
 */

/* All requests are answered at once, all wake-ups arrive, all threads run. */
static void serve_all(struct world *world, struct process *process)
{
    bool any = true;

    while (any) {
        struct call *call;

        any = net_move(world, process, 0) || net_move(world, process, 1);
        net_resubscribe(world, process);
        net_wake(world, process);
        if (process->restored) {
            process->restored = false;
            world_input(world, process, &(struct hfi_input){ .kind = HFI_INPUT_RESTORED });
        }
        while ((call = some_call(world, process, true)))
            world_take(world, process, call);
        check_world(world);
    }
}

static void calm_for(struct world *world, hfi_time ns)
{
    hfi_time end = world->now + ns;

    while (world->now < end) {
        for (int i = 0; i < world->nature.processes; i++)
            serve_all(world, &world->process[i]);
        world_pass(world, hfi_time_min(1 + to_the_next_tick(world), end - world->now), false);
        check_world(world);
    }
}

static bool is_anybody_waiting(struct world *world)
{
    for (int i = 0; i < world->nature.processes; i++)
        if (world->process[i].calls || world->process[i].helds)
            return true;
    return false;
}

/* Holders let go after a moment; nobody comes anew: all are served, in time. */
static void become_calm(struct world *world)
{
    hfi_time latest = world->now + 120 * HFI_SEC;

    for (int i = 0; i < NAMES; i++)
        if (world->truth[i].holder == STRANGER)
            store_free(world, i);
    while (is_anybody_waiting(world)) {
        MUST(world, world->now < latest);
        calm_for(world, 50 * HFI_MSEC);
        for (int i = 0; i < world->nature.processes; i++)
            while (world->process[i].helds)
                world_release(world, &world->process[i], world->process[i].helds);
    }
}

void world_run(struct world *world, int steps)
{
    bool early = chance(world, 250); /* some end while everything is going on */

    for (int i = 0; i < steps; i++) {
        random_step(world);
        if (early && chance(world, 3))
            world_shut(world, some_process(world));
    }
    world->early = early;
}

void world_end(struct world *world)
{
    if (!world->early) {
        calm_for(world, 25 * HFI_SEC); /* two heartbeats */
        for (int i = 0; i < world->nature.processes; i++)
            check_seen(world, &world->process[i]);
        become_calm(world);
        calm_for(world, 60 * HFI_SEC); /* orphans die, tickets and watches go, people are told */
        for (int i = 0; i < world->nature.processes; i++)
            check_rest(world, &world->process[i]);
    }
    for (int i = 0; i < world->nature.processes; i++)
        world_shut(world, &world->process[i]);
    calm_for(world, 60 * HFI_SEC);
    world_close(world);
}
