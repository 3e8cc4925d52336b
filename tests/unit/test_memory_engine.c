/* SPDX-License-Identifier: Apache-2.0 */
/* The engine without memory: an acquire fails and says so, a hold is renewed, lost and released all the same. */
#include "memory.h"
#include "stage.h"
#include "world.h"

static struct stage s;

/* ------------------------------------------------------------------------------------------------
 * Nothing is allocated where a hold is at stake
 */

static void in_peace(const char *what)
{
    if (memory_rest() != 0)
        fail_msg("%s: something is allocated", what);
    hush(&s);
    memory_watch(1, true);
}

/* A hold's life from the grant on, good and bad, with waiters and without, and what people are told of it. */
static void renewing_losing_and_releasing(void **state)
{
    (void)state;
    stage_init(&s);
    s.config.announces = true;
    stage_open(&s);
    acquire(&s, 'A', "L", HOW(.owner = 7, .ttl_ms = 3000, .label = "why"));
    granted(&s, "try L#1", 5, 1);
    acquire(&s, 'B', "L", HOW(.owner = 7));
    acquire(&s, 'C', "M", HOW(.ttl_ms = 3000));
    granted(&s, "try M#2", 5, 1);
    acquire(&s, 'D', "N", HOW(.fixed = true));
    granted(&s, "try N#3", 5, 1);

    memory_watch(1, true);
    pass(&s, 1000);
    renewed(&s, "renew", NULL);
    in_peace("renewal");
    done(&s, "announce");
    in_peace("announcement");
    pass(&s, 1000);
    unknown(&s, "renew");
    in_peace("a renewal that was not answered");
    pass(&s, 110);
    refused(&s, "renew", HF_ERR_UNREACHABLE);
    in_peace("a renewal that was refused");
    restored(&s);
    in_peace("verification");
    verify(&s, 'D');
    renewed(&s, "renew", "M#2");
    in_peace("a loss at the store");
    release(&s, 'C');
    in_peace("the release of what was lost");
    release(&s, 'B');
    release(&s, 'A');
    in_peace("release");
    unknown(&s, "release L#1");
    refused(&s, "release L#1", HF_ERR_UNREACHABLE);
    pass(&s, 1100);
    in_peace("a release that fails");
    leap(&s, 60000);
    in_peace("a loss by time, and a release that is given up");
    release(&s, 'D');
    in_peace("a late release");
    memory_rest();
    stage_close(&s);
}

/* Passing inside the process neither, and a re-entry only what the host brings. */
static void passing_and_entering(void **state)
{
    (void)state;
    stage_init(&s);
    stage_open(&s);
    acquire(&s, 'A', "L", HOW(.owner = 7));
    acquire(&s, 'B', "L", HOW(.fresh = true));
    acquire(&s, 'C', "L", HOW());
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    memory_watch(1, true);
    acquire(&s, 'D', "L", HOW(.owner = 7));
    in_peace("re-entry");
    release(&s, 'D');
    release(&s, 'A');
    release(&s, 'B');
    take(&s, 'C');
    in_peace("passing");
    memory_rest();
    stage_close(&s);
}

/* ------------------------------------------------------------------------------------------------
 * Each allocation of an acquire fails in turn
 */

static bool result_is(char who, const char *result)
{
    char line[32];

    snprintf(line, sizeof line, "%c: %s", who, result);
    return strstr(s.log, line) != NULL;
}

/* A acquires and is granted, B waits and is passed the hold; every failure is one result, and no more. */
static void acquire_twice(void)
{
    acquire(&s, 'A', "L", HOW(.label = "a"));
    if (!result_is('A', "NO_MEMORY"))
        granted(&s, "try L#1", 100, 1);
    assert_true(result_is('A', "OK") || result_is('A', "NO_MEMORY"));
    acquire(&s, 'B', "L", HOW(.label = "b"));
    if (s.actor[1].waiting && s.actor[0].holding) {
        release(&s, 'A');
        if (is_pending(&s, "release L#1"))
            released(&s, "release L#1", 0);
    }
    for (uint64_t owner = 1; owner < 4 && s.actor[1].waiting; owner++) {
        char label[32];

        snprintf(label, sizeof label, "try L#%u", (unsigned)owner);
        if (is_pending(&s, label))
            busy(&s, label, 30000);
        if (is_pending(&s, "watch L"))
            done(&s, "watch L");
        if (is_pending(&s, label))
            granted(&s, label, 200, 1);
    }
    assert_true(result_is('B', "OK") || result_is('B', "NO_MEMORY"));
}

static void every_allocation_of_an_acquire(void **state)
{
    size_t allocations = 0;

    (void)state;
    for (size_t nth = 1; nth <= allocations + 1; nth++) {
        size_t before = memory_blocks();
        bool failed;

        stage_init(&s);
        s.config.announces = true;
        s.quiet = true;
        stage_open(&s);
        memory_watch(nth, nth % 2);
        memory_arm(false);
        s.arm = memory_arm;
        acquire_twice();
        s.arm = NULL;
        failed = memory_failed();
        if (memory_rest() > allocations)
            allocations = nth;
        assert_int_equal(failed, result_is('A', "NO_MEMORY") || result_is('B', "NO_MEMORY"));
        stage_close(&s);
        assert_int_equal(memory_blocks(), before);
        if (!failed)
            break;
    }
    assert_in_range(allocations, 5, 100);
}

static void no_memory_for_an_engine(void **state)
{
    (void)state;
    stage_init(&s);
    s.config.announces = true;
    memory_watch(1, true);
    assert_int_equal(hfi_engine_init(&s.engine, s.now, &s.config), HF_ERR_NO_MEMORY);
    memory_rest();
    hfi_engine_fini(&s.engine);
}

/* ------------------------------------------------------------------------------------------------
 * In the world
 */

static struct world world;
static struct statistics statistics;

static void arm(bool on)
{
    if (on)
        memory_watch_random(30);
    else
        memory_rest();
}

static void run_seeds(bool kinds)
{
    for (uint64_t seed = unit_first_seed(), end = seed + unit_seeds(500); seed < end; seed++) {
        world_open(&world, seed, kinds, &statistics);
        world.arm = arm;
        world_run(&world, 600);
        world.arm = NULL; /* to the end with memory */
        world_end(&world);
    }
}

/* The random world, where memory is short now and then: all that must hold, holds. */
static void anything_can_happen_without_memory(void **state)
{
    (void)state;
    run_seeds(false);
    assert_true(statistics.no_memory > 100);
}

static void anything_can_happen_to_any_kind_without_memory(void **state)
{
    (void)state;
    statistics.no_memory = 0;
    run_seeds(true);
    assert_true(statistics.no_memory > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renewing_losing_and_releasing),
        cmocka_unit_test(passing_and_entering),
        cmocka_unit_test(every_allocation_of_an_acquire),
        cmocka_unit_test(no_memory_for_an_engine),
        cmocka_unit_test(anything_can_happen_without_memory),
        cmocka_unit_test(anything_can_happen_to_any_kind_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
