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
static struct statistics statistics, of_kinds;

static void run_seeds(bool kinds, struct statistics *into)
{
    uint64_t first = unit_first_seed(), count = unit_seeds(SEEDS);

    for (uint64_t seed = first; seed < first + count; seed++) {
        world_open(&world, seed, kinds, into);
        world_run(&world, STEPS);
        world_end(&world);
    }
}

static void anything_can_happen(void **state)
{
    (void)state;
    run_seeds(false, &statistics);
}

static void anything_can_happen_to_any_kind(void **state)
{
    (void)state;
    run_seeds(true, &of_kinds);
}

static void print(const char *what, const struct statistics *s)
{
    print_message("%s: acquired %llu reentered %llu passed %llu busy %llu unsure %llu refused %llu "
                  "lost %llu at risk %llu unknown %llu late %llu verified %llu\n",
                  what, (unsigned long long)s->acquired, (unsigned long long)s->reentered,
                  (unsigned long long)s->passed, (unsigned long long)s->busy,
                  (unsigned long long)s->unsure, (unsigned long long)s->refused,
                  (unsigned long long)s->lost, (unsigned long long)s->at_risk,
                  (unsigned long long)s->unknown, (unsigned long long)s->ghosts,
                  (unsigned long long)s->verified);
}

static void saw(const struct statistics *s)
{
    assert_true(s->acquired > 1000 && s->reentered > 100);
    assert_true(s->passed > 100 && s->busy > 100 && s->unsure > 100);
    assert_true(s->refused > 100 && s->lost > 100 && s->at_risk > 100);
    assert_true(s->unknown > 100 && s->ghosts > 100 && s->verified > 100);
}

/* The test has seen what it is about. */
static void and_it_did_happen(void **state)
{
    const struct statistics *s = &of_kinds;

    (void)state;
    print("mutexes", &statistics);
    print("all kinds", s);
    for (int kind = 0; kind < HFI_KIND_LATCH; kind++)
        print_message("  kind %d: %llu\n", kind, (unsigned long long)s->of_kind[kind]);
    print_message("  shared %llu borrowed %llu reused %llu upgrades %llu reentries %llu undone "
                  "%llu opened %llu "
                  "deleted %llu\n",
                  (unsigned long long)s->shared, (unsigned long long)s->borrowed,
                  (unsigned long long)s->reused, (unsigned long long)s->upgrades,
                  (unsigned long long)s->reentries, (unsigned long long)s->undone,
                  (unsigned long long)s->opened, (unsigned long long)s->deleted);
    if (unit_seeds(SEEDS) < SEEDS)
        return;
    saw(&statistics);
    saw(s);
    for (int kind = 0; kind < HFI_KIND_LATCH; kind++)
        assert_true(s->of_kind[kind] > 100);
    assert_true(s->shared > 100 && s->borrowed > 100 && s->reused > 3 && s->upgrades > 100 &&
                s->reentries > 100);
    assert_true(s->undone > 100 && s->opened > 100 && s->deleted > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anything_can_happen),
        cmocka_unit_test(anything_can_happen_to_any_kind),
        cmocka_unit_test(and_it_did_happen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
