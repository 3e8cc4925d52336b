/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All scenarios, one after the other, and then the first one again until all of them together have come to what is
 * wanted. A slow machine takes longer; it does not check less.
 */
#include <inttypes.h>
#include <string.h>

#include "chaos/chaos.h"
#include "history/check.h"

#define LIMIT_MS        (8 * 60 * 1000)
#define WANT_OPERATIONS 100000
#define WANT_EXPIRED    500
#define WANT_LOST       300
#define WANT_HANDOFFS   1000

struct campaign {
    uint64_t seed;
    unsigned rounds, bad, skipped;
    int64_t begin_ms;
    size_t faults;
    struct check_counts sum;
};

static void add(struct check_counts *sum, const struct check_counts *counts)
{
    sum->operations += counts->operations;
    sum->lines += counts->lines;
    sum->acquired += counts->acquired;
    sum->holds += counts->holds;
    sum->handoffs += counts->handoffs;
    sum->woken += counts->woken;
    sum->expired += counts->expired;
    sum->lost += counts->lost;
    sum->unknown += counts->unknown;
    sum->refused += counts->refused;
    sum->overlaps += counts->overlaps;
    sum->wake_ns = counts->wake_ns > sum->wake_ns ? counts->wake_ns : sum->wake_ns;
    for (int i = 0; i < CHECK_RULE_COUNT; i++)
        sum->found[i] += counts->found[i];
}

static void run_one(struct campaign *campaign, const struct scenario *scenario)
{
    struct round_options options = { .scenario = scenario,
                                     .seed = campaign->seed + campaign->rounds };
    struct check_counts counts = { 0 };
    size_t faults = 0;

    switch (round_run(&options, &counts, &faults)) {
    case ROUND_NO_SERVER:
        campaign->skipped++;
        return;
    case ROUND_GOOD:
        break;
    case ROUND_BAD:
    case ROUND_NOT_RUN:
        campaign->bad++;
        break;
    }
    campaign->rounds++;
    campaign->faults += faults;
    add(&campaign->sum, &counts);
}

static bool is_enough(const struct campaign *campaign)
{
    const struct check_counts *sum = &campaign->sum;

    return sum->operations >= WANT_OPERATIONS && sum->expired >= WANT_EXPIRED &&
           sum->lost >= WANT_LOST && sum->handoffs >= WANT_HANDOFFS;
}

static bool has_time(const struct campaign *campaign, const struct scenario *scenario)
{
    return now_ms() - campaign->begin_ms + 1000 * (int64_t)scenario->seconds < LIMIT_MS;
}

static size_t violations(const struct check_counts *sum)
{
    size_t found = 0;

    for (int i = 0; i < CHECK_RULE_COUNT; i++)
        found += sum->found[i];
    return found;
}

static void print_summary(const struct campaign *campaign, bool good)
{
    const struct check_counts *sum = &campaign->sum;

    printf("chaos: %u rounds (seeds from %" PRIu64 "), %u skipped, %d s\n"
           "  operations checked       %zu\n"
           "  acquires granted         %zu\n"
           "  losses told              %zu\n"
           "  expiries                 %zu\n"
           "  contended hand-offs      %zu\n"
           "  unknown outcomes         %zu\n"
           "  older tokens refused     %zu\n"
           "  faults                   %zu\n"
           "  waiters woken            %zu\n"
           "  longest wait while free  %.0f ms\n"
           "  violations               %zu\n"
           "chaos: %s\n",
           campaign->rounds, campaign->seed, campaign->skipped,
           (int)((now_ms() - campaign->begin_ms) / 1000), sum->operations, sum->acquired, sum->lost,
           sum->expired, sum->handoffs, sum->unknown, sum->refused, campaign->faults, sum->woken,
           check_ms(sum->wake_ns), violations(sum), good ? "good" : "BAD");
}

int campaign_run(uint64_t seed)
{
    struct campaign campaign = { .seed = seed, .begin_ms = now_ms() };
    const struct scenario *more = &SCENARIOS[0];
    bool good;

    for (size_t i = 0; i < SCENARIO_COUNT && !round_is_interrupted(); i++)
        run_one(&campaign, &SCENARIOS[i]);
    while (!is_enough(&campaign) && !campaign.bad && campaign.rounds && has_time(&campaign, more) &&
           !round_is_interrupted())
        run_one(&campaign, more);
    good = !campaign.bad && is_enough(&campaign) && !round_is_interrupted();
    if (!is_enough(&campaign))
        printf("too little happened: %d operations, %d expiries, %d losses and %d hand-offs are "
               "wanted\n",
               WANT_OPERATIONS, WANT_EXPIRED, WANT_LOST, WANT_HANDOFFS);
    print_summary(&campaign, good);
    return good ? 0 : 1;
}
