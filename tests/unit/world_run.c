/* SPDX-License-Identifier: Apache-2.0 */
/* What happens in the world, at random; and how it becomes calm. */
#include "world.h"

#include <utlist.h>

static struct process *some_process(struct world *world)
{
    return &world->process[draw(world, (uint64_t)world->nature.processes)];
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

static struct stored *of_strangers(const struct truth *truth)
{
    struct stored *stored;

    DL_FOREACH (truth->held, stored) {
        if (stored->process == STRANGER)
            return stored;
    }
    return NULL;
}

static void count(struct world *world, int name)
{
    struct truth *truth = &world->truth[name];

    if (truth->available == 0)
        store_count(world, name, 1 + (int64_t)draw(world, 2), false);
    else if (chance(world, 400))
        store_count(world, name, 0, true);
    else
        store_count(world, name, truth->available - 1, false);
}

static void take_some(struct world *world, int name)
{
    static const enum hfi_kind KINDS[] = { HFI_KIND_MUTEX, HFI_KIND_READ, HFI_KIND_WRITE };
    struct truth *truth = &world->truth[name];
    bool lock = world->nature.theme[name] == LOCKS;
    enum hfi_kind kind = lock ? HFI_KIND_MUTEX : HFI_KIND_PERMITS;

    if (lock && world->nature.kinds)
        kind = KINDS[draw(world, UNIT_COUNT(KINDS))];
    if (lock ? truth->held != NULL || truth->line_length > 0 : truth->available == 0)
        return;
    store_put(world, name, STRANGER, kind, ++world->calls, !lock,
              world->now + 1 + draw(world, 3 * HFI_SEC));
}

static void stranger(struct world *world)
{
    int name = (int)draw(world, (uint64_t)world->nature.names);
    struct truth *truth = &world->truth[name];
    struct stored *stored = of_strangers(truth);

    store_expire(world);
    if (world->nature.theme[name] == LATCH) {
        count(world, name);
    } else if (world->nature.theme[name] == SEMAPHORE) {
        return; /* it has what it has; who gives back, gives back */
    } else if (stored) {
        store_remove(world, name, stored);
    } else if (truth->held && world->nature.tampering) {
        tell(world, "%s is taken away by hand", WORLD_NAMES[name]);
        store_remove(world, name, truth->held);
        truth->tampered = true;
    } else {
        take_some(world, name);
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

/* Whom a semaphore gave something has it, or does not want it any more. */
static void end_held(struct world *world, struct process *process, struct held *held)
{
    if (held->kind == HFI_KIND_SEMAPHORE && !process->engine.closing && chance(world, 700))
        world_keep(world, process, held);
    else
        world_release(world, process, held);
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
            end_held(world, process, held);
        break;
    case 6:
        if (call && chance(world, 300))
            world_cancel(world, process, call);
        break;
    default:
        if (held && held->kind != HFI_KIND_SEMAPHORE && !process->engine.closing &&
            chance(world, 500))
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

/* Strangers let go, and all that is counted is enough. */
static void make_room(struct world *world, int name)
{
    struct truth *truth = &world->truth[name];
    struct stored *stored;

    while ((stored = of_strangers(truth)))
        store_remove(world, name, stored);
    if (world->nature.theme[name] == LATCH)
        store_count(world, name, 0, false);
    if (world->nature.theme[name] == SEMAPHORE && truth->available < truth->total)
        store_give(world, name, (uint32_t)(truth->total - truth->available));
}

/* Holders let go after a moment; nobody comes anew: all are served, in time. */
static void become_calm(struct world *world)
{
    hfi_time latest = world->now + 120 * HFI_SEC;

    for (int i = 0; i < NAMES; i++)
        make_room(world, i);
    while (is_anybody_waiting(world)) {
        MUST(world, world->now < latest);
        calm_for(world, 50 * HFI_MSEC);
        for (int i = 0; i < world->nature.processes; i++)
            while (world->process[i].helds)
                end_held(world, &world->process[i], world->process[i].helds);
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
