/* SPDX-License-Identifier: Apache-2.0 */
/* One thread takes a free lock and gives it back. Baseline: the same two scripts as two bare round
 * trips. */
#include <stdio.h>

#include <hiredis/hiredis.h>

#include "bench.h"

#define NAME      "bench:pair:0000001"
#define BARE_NAME "bench:pair:0000002"
#define TURN      50 /* pairs */
#define TURNS_MAX 40

static void subject(hf_client *client, double *took, size_t pairs)
{
    for (size_t i = 0; i < pairs; i++) {
        uint64_t start = bench_now();
        hf_hold *hold = NULL;

        bench_must(hf_acquire(client, NAME, NULL, &hold), "hf_acquire");
        bench_must(hf_release(hold), "hf_release");
        took[i] = (double)(bench_now() - start) / 1e3;
    }
}

static void baseline(redisContext *redis, const struct bench_commands *commands, double *took,
                     size_t pairs)
{
    for (size_t i = 0; i < pairs; i++) {
        uint64_t start = bench_now();

        if (!bench_bare_acquire(redis, commands) || !bench_bare_release(redis, commands))
            bench_die("the baseline got an answer that it did not expect");
        took[i] = (double)(bench_now() - start) / 1e3;
    }
}

/* In short turns, so that both see the same of whatever else the machine does. */
static void play_round(hf_client *client, redisContext *redis,
                       const struct bench_commands *commands, size_t turns,
                       struct bench_rounds *rounds)
{
    static double mine[TURN * TURNS_MAX], bare[TURN * TURNS_MAX];

    for (size_t i = 0; i < turns; i++) {
        subject(client, mine + i * TURN, TURN);
        baseline(redis, commands, bare + i * TURN, TURN);
    }
    bench_rounds_add(rounds, bench_median(mine, turns * TURN), bench_median(bare, turns * TURN));
}

/* Bytes that the server gets for a pair: both must send the same. */
static double bytes(redisContext *redis, int64_t before, size_t pairs)
{
    return (double)(bench_info(redis, "stats", "total_net_input_bytes") - before) / (double)pairs;
}

static json_t *compare_bytes(hf_client *client, redisContext *redis, redisContext *other,
                             const struct bench_commands *commands)
{
    static double took[1000];
    int64_t before = bench_info(other, "stats", "total_net_input_bytes");
    double mine, bare;

    subject(client, took, 1000);
    mine = bytes(other, before, 1000);
    before = bench_info(other, "stats", "total_net_input_bytes");
    baseline(redis, commands, took, 1000);
    bare = bytes(other, before, 1000);
    return json_pack("{sfsf}", "bytes_sent_per_pair", mine, "bytes_sent_per_pair_baseline", bare);
}

void bench_pair(const struct bench *bench)
{
    size_t rounds = bench->quick ? 9 : 25, turns = bench->quick ? 10 : TURNS_MAX;
    struct bench_result result = { .row = "pair",
                                   .what = "uncontended acquire + release, Redis: p50",
                                   .sense = BENCH_AT_MOST,
                                   .target = 1.10 };
    struct bench_rounds measured = { 0 }, warm_up = { 0 };
    struct bench_commands commands;
    struct bench_server server;
    redisContext *redis, *other;
    hf_client *client;

    bench_server_start(bench, &server);
    redis = bench_connect(&server);
    other = bench_connect(&server);
    bench_load_scripts(redis);
    bench_commands_init(&commands, BARE_NAME);
    client = bench_open(server.uri);
    play_round(client, redis, &commands, turns, &warm_up);
    for (size_t i = 0; i < rounds; i++)
        play_round(client, redis, &commands, turns, &measured);
    bench_report_ratio(bench, &result, &measured, "us", "two bare round trips of hiredis",
                       compare_bytes(client, redis, other, &commands));
    hf_close(client);
    redisFree(other);
    redisFree(redis);
    bench_server_stop(&server);
}
