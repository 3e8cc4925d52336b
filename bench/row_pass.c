/* SPDX-License-Identifier: Apache-2.0 */
/* 16 threads of one process want one lock. Baseline: one thread that takes a free lock, the same
 * client. */
#include <stdio.h>

#include <hiredis/hiredis.h>

#include "bench.h"

#define THREADS 16
#define MSEC    UINT64_C(1000000)

struct pass {
    hf_client *client;
    const char *name;
};

static void once(void *arg, size_t number)
{
    struct pass *pass = arg;
    hf_hold *hold = NULL;

    (void)number;
    bench_must(hf_acquire(pass->client, pass->name, NULL, &hold), "hf_acquire");
    bench_must(hf_release(hold), "hf_release");
}

/* How much more the thread with the most passes had than the one with the least. */
static double unfairness(const uint64_t *counts)
{
    uint64_t least = counts[0], most = counts[0];

    for (size_t i = 1; i < THREADS; i++) {
        least = counts[i] < least ? counts[i] : least;
        most = counts[i] > most ? counts[i] : most;
    }
    return least ? (double)most / (double)least : 0;
}

static void measure(const struct bench *bench, struct bench_crew *many, struct bench_crew *one,
                    redisContext *redis)
{
    size_t rounds = bench->quick ? 5 : 21;
    uint64_t ns = (bench->quick ? 150 : 200) * MSEC, counts[THREADS];
    struct bench_result result = { .row = "pass",
                                   .what = "16 threads, one lock, one client, Redis: passes per s",
                                   .sense = BENCH_AT_LEAST,
                                   .target = 20 };
    struct bench_rounds measured = { 0 };
    double commands[BENCH_ROUNDS_MAX], unfair[BENCH_ROUNDS_MAX];

    bench_crew_run(many, ns, NULL);
    bench_crew_run(one, ns, NULL);
    for (size_t i = 0; i < rounds; i++) {
        int64_t before = bench_calls(redis, "evalsha");
        double mine = bench_crew_run(many, ns, counts), sum = 0;

        for (size_t k = 0; k < THREADS; k++)
            sum += (double)counts[k];
        commands[i] = (double)(bench_calls(redis, "evalsha") - before) / sum;
        unfair[i] = unfairness(counts);
        bench_rounds_add(&measured, mine, bench_crew_run(one, ns, NULL));
    }
    bench_report_ratio(bench, &result, &measured, "passes/s", "pairs of one thread, uncontended",
                       json_pack("{sfsf}", "commands_per_pass", bench_median(commands, rounds),
                                 "most_passes_by_least_passes", bench_median(unfair, rounds)));
}

void bench_pass(const struct bench *bench)
{
    struct bench_server server;
    struct bench_crew *many, *one;
    struct pass crowded = { .name = "bench:pass:crowded" },
                free_ = { .name = "bench:pass:free000" };
    redisContext *redis;

    bench_server_start(bench, &server);
    redis = bench_connect(&server);
    crowded.client = free_.client = bench_open(server.uri);
    many = bench_crew_new(THREADS, once, &crowded);
    one = bench_crew_new(1, once, &free_);
    measure(bench, many, one, redis);
    bench_crew_free(many);
    bench_crew_free(one);
    hf_close(crowded.client);
    redisFree(redis);
    bench_server_stop(&server);
}
