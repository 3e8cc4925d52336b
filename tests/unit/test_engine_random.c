/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine in a world where everything happens (world.h): random acquires, releases, cancels, answers, late
 * ones, lost ones, wake-ups, time. What must always hold is checked after every step; at the end the world
 * becomes calm, and everybody must get what he waits for, and nothing may be left.
 *
 *   HF_TEST_SEEDS, HF_TEST_SEED   unit.h        HF_TEST_TRACE=1   tells everything
 */
#include "world.h"

#define STEPS 600 /* of a seed */
#define SEEDS 1500

static struct world world;
static struct statistics statistics;

static void run_seed(uint64_t seed)
{
    world_open(&world, seed, &statistics);
    world_run(&world, STEPS);
    world_end(&world);
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
