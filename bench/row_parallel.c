/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 64 threads of one client, each on a lock of its own. Baseline: one thread that keeps 64 such
 * pairs in flight on one connection, in whichever of two ways is the faster one.
 *
 * That thread never sleeps while there is an answer to be read; 64 threads that call something that
 * blocks do, twice a pair. So beside it, for the record, 64 threads that share one bare connection
 * (relay.c): what is left of the baseline when nothing is done but that.
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

struct teams {
    struct bench_crew *mine, *bare;
    redisContext *redis;
    const struct bench_commands *commands;
    struct bench_rounds batches, window, relay; /* subject against each */
};

static void play_round(struct teams *teams, uint64_t ns)
{
    double batches = bench_bare_batches(teams->redis, teams->commands, THREADS, ns);
    double mine = bench_crew_run(teams->mine, ns, NULL);
    double window = bench_bare_window(teams->redis, teams->commands, THREADS, ns);

    bench_rounds_add(&teams->batches, mine, batches);
    bench_rounds_add(&teams->window, mine, window);
    bench_rounds_add(&teams->relay, mine, bench_crew_run(teams->bare, ns, NULL));
}

static void report(const struct bench *bench, const struct teams *teams)
{
    struct bench_result result = { .row = "parallel",
                                   .what = "64 threads, 64 locks, one client, Redis: pairs per s",
                                   .sense = BENCH_AT_LEAST,
                                   .target = 0.85 };
    double batches = bench_median_of(teams->batches.baseline, teams->batches.count);
    double window = bench_median_of(teams->window.baseline, teams->window.count);
    double relay = bench_median_of(teams->relay.baseline, teams->relay.count);
    bool rolling = window > batches;
    char note[100];

    bench_report_ratio(bench, &result, rolling ? &teams->window : &teams->batches, "pairs/s",
                       rolling ? "64 pairs in flight by hiredis, rolling window"
                               : "64 pairs in flight by hiredis, in batches",
                       json_pack("{sfsf}", "baseline_batches", batches, "baseline_window", window));
    snprintf(note, sizeof note, "they reach %.2f x of that baseline",
             relay / (rolling ? window : batches));
    result = (struct bench_result){ .row = "parallel",
                                    .what = "the same against threads that block",
                                    .note = note };
    bench_report_ratio(bench, &result, &teams->relay, "pairs/s",
                       "64 threads that block, sharing one bare connection", NULL);
}

static void measure(const struct bench *bench, struct teams *teams)
{
    size_t rounds = bench->quick ? 5 : 15;
    uint64_t ns = (bench->quick ? 150 : 200) * MSEC;

    play_round(teams, ns);
    teams->batches.count = teams->window.count = teams->relay.count = 0;
    for (size_t i = 0; i < rounds; i++)
        play_round(teams, ns);
    report(bench, teams);
}

void bench_parallel(const struct bench *bench)
{
    static struct bench_commands commands[THREADS];
    static struct parallel parallel;
    struct teams teams = { .commands = commands };
    struct bench_server server;
    struct bench_relay *relay;
    redisContext *shared;

    bench_server_start(bench, &server);
    teams.redis = bench_connect(&server);
    shared = bench_connect(&server);
    bench_load_scripts(teams.redis);
    for (int i = 0; i < THREADS; i++) {
        char name[BENCH_NAME_MAX];

        snprintf(name, sizeof name, "bench:para:1%06d", i);
        bench_commands_init(&commands[i], name);
        snprintf(parallel.names[i], sizeof parallel.names[i], "bench:para:2%06d", i);
    }
    parallel.client = bench_open(server.uri);
    relay = bench_relay_new(shared, commands, THREADS);
    teams.mine = bench_crew_new(THREADS, once, &parallel);
    teams.bare = bench_crew_new(THREADS, bench_relay_pair, relay);
    measure(bench, &teams);
    bench_crew_free(teams.mine);
    bench_crew_free(teams.bare);
    bench_relay_free(relay);
    hf_close(parallel.client);
    redisFree(shared);
    redisFree(teams.redis);
    bench_server_stop(&server);
}
