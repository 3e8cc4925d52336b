/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 64 threads of one client, each on a lock of its own. Baseline: one thread that keeps 64 such pairs in flight
 * on one connection, in whichever of two ways is the faster one.
 */
#include <stdio.h>

#include <hiredis/hiredis.h>

#include "bench.h"

#define THREADS 64
#define MSEC    UINT64_C(1000000)

struct parallel {
    hf_client *client;
    char names[THREADS][BENCH_NAME_MAX];
};

static void once(void *arg, size_t number)
{
    struct parallel *parallel = arg;
    hf_hold *hold = NULL;

    bench_must(hf_acquire(parallel->client, parallel->names[number], NULL, &hold), "hf_acquire");
    bench_must(hf_release(hold), "hf_release");
}

/* Rounds against both baselines; then only the faster one counts. */
static void measure(const struct bench *bench, struct bench_crew *crew, redisContext *redis,
                    const struct bench_commands *commands)
{
    size_t rounds = bench->quick ? 5 : 21;
    uint64_t ns = (bench->quick ? 150 : 200) * MSEC;
    struct bench_rounds batches = { 0 }, window = { 0 };
    struct bench_result result = { .row = "parallel",
                                   .what = "64 threads, 64 locks, one client, Redis: pairs per s",
                                   .sense = BENCH_AT_LEAST,
                                   .target = 0.85 };
    double rate_batches, rate_window;
    bool rolling;

    bench_crew_run(crew, ns, NULL);
    bench_bare_batches(redis, commands, THREADS, ns);
    bench_bare_window(redis, commands, THREADS, ns);
    for (size_t i = 0; i < rounds; i++) {
        double first = bench_bare_batches(redis, commands, THREADS, ns);
        double mine = bench_crew_run(crew, ns, NULL);
        double second = bench_bare_window(redis, commands, THREADS, ns);

        bench_rounds_add(&batches, mine, first);
        bench_rounds_add(&window, mine, second);
    }
    rate_batches = bench_median_of(batches.baseline, rounds);
    rate_window = bench_median_of(window.baseline, rounds);
    rolling = rate_window > rate_batches;
    bench_report_ratio(
        bench, &result, rolling ? &window : &batches, "pairs/s",
        rolling ? "64 pairs in flight by hiredis, rolling window"
                : "64 pairs in flight by hiredis, in batches",
        json_pack("{sfsf}", "baseline_batches", rate_batches, "baseline_window", rate_window));
}

void bench_parallel(const struct bench *bench)
{
    static struct bench_commands commands[THREADS];
    static struct parallel parallel;
    struct bench_server server;
    struct bench_crew *crew;
    redisContext *redis;

    bench_server_start(bench, &server);
    redis = bench_connect(&server);
    bench_load_scripts(redis);
    for (int i = 0; i < THREADS; i++) {
        char name[BENCH_NAME_MAX];

        snprintf(name, sizeof name, "bench:para:1%06d", i);
        bench_commands_init(&commands[i], name);
        snprintf(parallel.names[i], sizeof parallel.names[i], "bench:para:2%06d", i);
    }
    parallel.client = bench_open(server.uri);
    crew = bench_crew_new(THREADS, once, &parallel);
    measure(bench, crew, redis, commands);
    bench_crew_free(crew);
    hf_close(parallel.client);
    redisFree(redis);
    bench_server_stop(&server);
}
