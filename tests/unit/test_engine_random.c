/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine in a world where everything happens (world.h): random acquires, releases, cancels, answers, late
 * ones, lost ones, wake-ups, time. What must always hold is checked after every step; at the end the world
 * becomes calm, and everybody must get what he waits for, and nothing may be left.
 *
 *   HF_TEST_SEEDS, HF_TEST_SEED   unit.h        HF_TEST_TRACE=1   tells everything
 */
#include "world.h"

#include <utlist.h>

#define STEPS 600 /* of a seed */
#define SEEDS 3000

static struct world world;
static struct statistics statistics;

static struct process *some_process(void)
{
    return &world.process[draw(&world, (uint64_t)world.nature.processes)];
}

static struct held *some_held(struct process *process)
{
    struct held *held;
    int count = 0;

    DL_COUNT(process->helds, held, count);
    if (count == 0)
        return NULL;
    held = process->helds;
    for (uint64_t i = draw(&world, (uint64_t)count); i > 0; i--)
        held = held->next;
    return held;
}

static struct call *some_call(struct process *process, bool called)
{
    struct call *call, *found = NULL;
    uint64_t seen = 0;

    DL_FOREACH (process->calls, call) {
        if ((!called || call->called) && draw(&world, ++seen) == 0)
            found = call;
    }
    return found;
}

/* ------------------------------------------------------------------------------------------------
 * Strangers
 */

static void stranger(void)
{
    int name = (int)draw(&world, (uint64_t)world.nature.names);
    struct truth *truth = &world.truth[name];

    store_expire(&world);
    if (truth->holder == STRANGER) {
        store_free(&world, name);
        for (int i = 0; i < world.nature.processes; i++)
            world.process[i].woken[name] |= world.process[i].active[name];
    } else if (truth->holder == NOBODY && truth->line_length == 0) {
        truth->holder = STRANGER;
        truth->expires_ns = world.now + 1 + draw(&world, 3 * HFI_SEC);
    } else if (truth->holder != NOBODY && world.nature.tampering) {
        tell(&world, "%s is taken away by hand", WORLD_NAMES[name]);
        store_free(&world, name);
        truth->tampered = true;
    }
}

/* ------------------------------------------------------------------------------------------------
 * One step
 */

static hfi_time some_time(void)
{
    switch (draw(&world, 12)) {
    case 0: /* a process sleeps, or is stopped */
        return draw(&world, 4 * HFI_SEC);
    case 1:
        return draw(&world, 400 * HFI_MSEC);
    case 2:
    case 3:
        return draw(&world, 30 * HFI_MSEC);
    default:
        return draw(&world, 2 * HFI_MSEC);
    }
}

/* To the next time that an engine asked for, exactly; or a little less, or more. */
static hfi_time to_the_next_tick(void)
{
    hfi_time next = HF_TIME_NEVER;

    for (int i = 0; i < world.nature.processes; i++)
        next = hfi_time_min(next, hfi_engine_deadline(&world.process[i].engine));
    next = hfi_time_until(world.now, next);
    return hfi_time_min(next + draw(&world, 3), 20 * HFI_SEC);
}

static void act(struct process *process)
{
    struct held *held = some_held(process);
    struct call *call = some_call(process, false);

    switch (draw(&world, 8)) {
    case 0:
    case 1:
    case 2:
        if (!process->engine.closing || chance(&world, 100))
            world_acquire(&world, process);
        break;
    case 3:
    case 4:
    case 5:
        if (held)
            world_release(&world, process, held);
        break;
    case 6:
        if (call && chance(&world, 300))
            world_cancel(&world, process, call);
        break;
    default:
        if (held && !process->engine.closing && chance(&world, 500))
            world_verify(&world, process, held);
    }
}

static void trouble(struct process *process)
{
    if (chance(&world, world.nature.trouble))
        net_break(&world, process, (int)draw(&world, 2));
    if (chance(&world, world.nature.trouble))
        net_refuse(&world, process);
    if (chance(&world, 50))
        net_ghosts(&world, process, false);
    if (world.nature.strangers && chance(&world, 30))
        stranger();
    if (chance(&world, world.nature.trouble / 4))
        process->known = false, memset(process->registry, 0, sizeof process->registry);
}

static void serve(struct process *process)
{
    struct call *call = some_call(process, true);

    switch (draw(&world, 6)) {
    case 0:
        if (call)
            world_take(&world, process, call);
        break;
    case 1:
        net_wake(&world, process);
        break;
    case 2:
        net_resubscribe(&world, process);
        break;
    case 3:
        if (process->restored) {
            process->restored = false;
            world_input(&world, process, &(struct hfi_input){ .kind = HFI_INPUT_RESTORED });
        }
        break;
    default:
        net_move(&world, process, (int)draw(&world, 2));
        net_move(&world, process, 0);
    }
}

static void random_step(void)
{
    struct process *process = some_process();

    switch (draw(&world, 10)) {
    case 0:
        world_pass(&world, some_time(), true);
        break;
    case 1:
        world_pass(&world, to_the_next_tick(), false);
        break;
    case 2:
    case 3:
        act(process);
        break;
    case 4:
        trouble(process);
        break;
    default:
        serve(process);
    }
    check_world(&world);
}

/* ------------------------------------------------------------------------------------------------
 * Calm
 */

/* All requests are answered at once, all wake-ups arrive, all threads run. */
static void serve_all(struct process *process)
{
    bool any = true;

    while (any) {
        struct call *call;

        any = net_move(&world, process, 0) || net_move(&world, process, 1);
        net_resubscribe(&world, process);
        net_wake(&world, process);
        if (process->restored) {
            process->restored = false;
            world_input(&world, process, &(struct hfi_input){ .kind = HFI_INPUT_RESTORED });
        }
        while ((call = some_call(process, true)))
            world_take(&world, process, call);
        check_world(&world);
    }
}

static void calm_for(hfi_time ns)
{
    hfi_time end = world.now + ns;

    while (world.now < end) {
        for (int i = 0; i < world.nature.processes; i++)
            serve_all(&world.process[i]);
        world_pass(&world, hfi_time_min(1 + to_the_next_tick(), end - world.now), false);
        check_world(&world);
    }
}

static bool is_anybody_waiting(void)
{
    for (int i = 0; i < world.nature.processes; i++)
        if (world.process[i].calls || world.process[i].helds)
            return true;
    return false;
}

/* Holders let go after a moment; nobody comes anew: all are served, in time. */
static void become_calm(void)
{
    hfi_time latest = world.now + 120 * HFI_SEC;

    for (int i = 0; i < NAMES; i++)
        if (world.truth[i].holder == STRANGER)
            store_free(&world, i);
    while (is_anybody_waiting()) {
        MUST(&world, world.now < latest);
        calm_for(50 * HFI_MSEC);
        for (int i = 0; i < world.nature.processes; i++)
            while (world.process[i].helds)
                world_release(&world, &world.process[i], world.process[i].helds);
    }
}

static void run_seed(uint64_t seed)
{
    bool early;

    world_open(&world, seed, &statistics);
    early = chance(&world, 250); /* some end while everything is going on */
    for (int i = 0; i < STEPS; i++) {
        random_step();
        if (early && chance(&world, 3))
            world_shut(&world, some_process());
    }
    if (!early) {
        become_calm();
        calm_for(60 * HFI_SEC); /* orphans die, tickets and watches go, people are told */
        for (int i = 0; i < world.nature.processes; i++)
            check_rest(&world, &world.process[i]);
    }
    for (int i = 0; i < world.nature.processes; i++)
        world_shut(&world, &world.process[i]);
    calm_for(60 * HFI_SEC);
    world_close(&world);
}

static void anything_can_happen(void **state)
{
    uint64_t first = unit_first_seed(), count = unit_seeds(SEEDS);

    (void)state;
    for (uint64_t seed = first; seed < first + count; seed++)
        run_seed(seed);
}

/* The test has seen what it is about. */
static void and_it_did_happen(void **state)
{
    (void)state;
    print_message("acquired %llu reentered %llu passed %llu busy %llu unsure %llu refused %llu "
                  "lost %llu at risk %llu unknown %llu late %llu verified %llu\n",
                  (unsigned long long)statistics.acquired, (unsigned long long)statistics.reentered,
                  (unsigned long long)statistics.passed, (unsigned long long)statistics.busy,
                  (unsigned long long)statistics.unsure, (unsigned long long)statistics.refused,
                  (unsigned long long)statistics.lost, (unsigned long long)statistics.at_risk,
                  (unsigned long long)statistics.unknown, (unsigned long long)statistics.ghosts,
                  (unsigned long long)statistics.verified);
    if (unit_seeds(SEEDS) < SEEDS)
        return;
    assert_true(statistics.acquired > 1000 && statistics.reentered > 100);
    assert_true(statistics.passed > 100 && statistics.busy > 100 && statistics.unsure > 100);
    assert_true(statistics.refused > 100 && statistics.lost > 100 && statistics.at_risk > 100);
    assert_true(statistics.unknown > 100 && statistics.ghosts > 100 && statistics.verified > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anything_can_happen),
        cmocka_unit_test(and_it_did_happen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
