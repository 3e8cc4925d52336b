/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded store, for the record: a free lock, a hand-off between two processes, the cost of
 * opening. */
#include <stdio.h>

#include "bench.h"

#define NAME      "bench:sqlite:0000001"
#define PAIRS_MAX 4000
#define TURNS_MAX 4

static double pair(hf_client *client, size_t pairs)
{
    static double took[PAIRS_MAX];

    for (size_t i = 0; i < pairs; i++) {
        uint64_t start = bench_now();
        hf_hold *hold = NULL;

        bench_must(hf_acquire(client, NAME, NULL, &hold), "hf_acquire");
        bench_must(hf_release(hold), "hf_release");
        took[i] = (double)(bench_now() - start) / 1e3;
    }
    return bench_median(took, pairs);
}

/* To open a client, take a lock, give it back and close; in ms. */
static double visit(const char *uri)
{
    uint64_t start = bench_now();
    hf_client *client = bench_open(uri);
    hf_hold *hold = NULL;

    bench_must(hf_acquire(client, NAME, NULL, &hold), "hf_acquire");
    bench_must(hf_release(hold), "hf_release");
    hf_close(client);
    return (double)(bench_now() - start) / 1e6;
}

static double open_and_close(const char *uri)
{
    uint64_t start = bench_now();

    hf_close(bench_open(uri));
    return (double)(bench_now() - start) / 1e6;
}

static void report(const struct bench *bench, const char *what, const char *unit, double *values,
                   size_t count)
{
    struct bench_result result = { .row = "sqlite", .what = what, .unit = unit };

    result.value = bench_median(values, count);
    result.low = values[0];
    result.high = values[count - 1];
    bench_report(bench, &result, NULL);
}

static void measure_pair(const struct bench *bench, const char *uri, size_t rounds)
{
    size_t pairs = bench->quick ? 500 : 2000;
    double values[BENCH_ROUNDS_MAX];
    hf_client *client = bench_open(uri);

    pair(client, pairs);
    for (size_t i = 0; i < rounds; i++)
        values[i] = pair(client, pairs);
    report(bench, "embedded store: uncontended acquire + release: p50", "us", values, rounds);
    hf_close(client);
}

static double handoff(struct bench_duet *duet, size_t turns)
{
    static double took[BENCH_DUET_MAX * TURNS_MAX];

    for (size_t i = 0; i < turns; i++)
        bench_duet_subject(duet, BENCH_DUET_MAX, took + i * BENCH_DUET_MAX);
    return bench_median(took, turns * BENCH_DUET_MAX);
}

static void measure_handoff(const struct bench *bench, const char *uri, size_t rounds)
{
    size_t turns = bench->quick ? 1 : TURNS_MAX;
    struct bench_duet *duet = bench_duet_new(uri, NULL, HF_EXCLUSIVE);
    double values[BENCH_ROUNDS_MAX];

    handoff(duet, turns);
    for (size_t i = 0; i < rounds; i++)
        values[i] = handoff(duet, turns);
    report(bench, "embedded store: two processes, hand-off p50", "us", values, rounds);
    bench_duet_free(duet);
}

static void measure_opening(const struct bench *bench, size_t rounds)
{
    double fresh[BENCH_ROUNDS_MAX], known[BENCH_ROUNDS_MAX];
    double first[BENCH_ROUNDS_MAX], later[BENCH_ROUNDS_MAX];

    for (size_t i = 0; i < rounds; i++) {
        char uri[512];

        snprintf(uri, sizeof uri, "sqlite:%s/open%zu.db", bench->folder, i);
        fresh[i] = open_and_close(uri);
        known[i] = open_and_close(uri);
        first[i] = visit(uri);
        later[i] = visit(uri);
    }
    report(bench, "embedded store: open and close, a new file", "ms", fresh, rounds);
    report(bench, "embedded store: open and close, a known file", "ms", known, rounds);
    report(bench, "embedded store: open, the first pair ever, close", "ms", first, rounds);
    report(bench, "embedded store: open, a pair, close", "ms", later, rounds);
}

void bench_sqlite(const struct bench *bench)
{
    size_t rounds = bench->quick ? 5 : 11;
    char uri[512];

    snprintf(uri, sizeof uri, "sqlite:%s/pair.db", bench->folder);
    measure_opening(bench, rounds);
    measure_pair(bench, uri, rounds);
    measure_handoff(bench, uri, rounds);
}
