/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that are broken on purpose. A checker that finds nothing wrong with one of them is itself broken. */
#include <inttypes.h>
#include <string.h>

#include "chaos/chaos.h"
#include "history/check.h"
#include "lib/server.h"

#define RULE(name) (1u << CHECK_##name)

static const struct proof {
    enum chaos_broken broken;
    const char *scenario;
    int seconds;
    bool quick;
    unsigned rules; /* all of which must find it */
} PROOFS[] = {
    { CHAOS_IGNORE_LOSS, "redis", 7, true, RULE(OVERLAP) | RULE(TOLD) | RULE(LINEAR) },
    { CHAOS_DEL, "busy-redis", 3, true, RULE(OVERLAP) | RULE(EARLY) | RULE(LINEAR) },
    { CHAOS_LIE_GRANT, "busy-redis", 2, true, RULE(OVERLAP) | RULE(LINEAR) },
    { CHAOS_LIE_TOKEN, "busy-redis", 3, false, RULE(TOKEN) | RULE(REGISTER) },
    { CHAOS_LIE_BUSY, "busy-redis", 4, false, RULE(LINEAR) },
    { CHAOS_OPEN_REGISTER, "redis", 10, false, RULE(REGISTER) | RULE(LINEAR) },
    { CHAOS_LOSS_TWICE, "sqlite", 10, false, RULE(TOLD) },
    { CHAOS_LATE_WAKE, "wake-redis", 8, false, RULE(WAKE) },
};

#define PROOF_COUNT (sizeof PROOFS / sizeof PROOFS[0])

static const char *word_of(enum chaos_broken broken)
{
    static const char *const WORD[CHAOS_BROKEN_COUNT] = {
#define CHAOS_X(name, word) word,
        CHAOS_BROKEN(CHAOS_X)
#undef CHAOS_X
    };

    return WORD[broken];
}

static void print_rules(const char *before, unsigned rules)
{
    fputs(before, stdout);
    for (int i = 0; i < CHECK_RULE_COUNT; i++)
        if (rules & (1u << i))
            printf(" %s", check_rule_word((enum check_rule)i));
}

/* False: it was not found as it must. */
static bool prove(const struct proof *proof, uint64_t seed)
{
    struct round_options options = { .scenario = scenario_of(proof->scenario),
                                     .seed = seed,
                                     .seconds = proof->seconds,
                                     .broken = proof->broken };
    struct check_counts counts = { 0 };
    size_t faults;
    unsigned found = 0;

    if (round_run(&options, &counts, &faults) == ROUND_NOT_RUN)
        return false;
    for (int i = 0; i < CHECK_RULE_COUNT; i++)
        found |= counts.found[i] ? 1u << i : 0;
    printf("broken: %-14s in %-10s of %zu operations, found by", word_of(proof->broken),
           proof->scenario, counts.operations);
    print_rules("", found);
    if (proof->rules & ~found)
        print_rules("; NOT FOUND by", proof->rules & ~found);
    putchar('\n');
    fflush(stdout);
    return !(proof->rules & ~found);
}

int prove_run(uint64_t seed, bool quick)
{
    unsigned missed = 0, count = 0;

    if (!server_exists("redis-server")) {
        puts("chaos: skipped, there is no redis-server");
        return ROUND_NO_SERVER;
    }
    for (size_t i = 0; i < PROOF_COUNT && !round_is_interrupted(); i++) {
        if (quick && !PROOFS[i].quick)
            continue;
        count++;
        missed += !prove(&PROOFS[i], seed + i);
    }
    printf("broken: %u of %u ways to be broken were found (seed %" PRIu64 ")\n", count - missed,
           count, seed);
    return missed || round_is_interrupted() ? 1 : 0;
}
