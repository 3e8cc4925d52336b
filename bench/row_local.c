/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What needs no store: to enter a lock that one holds, and to ask for a hold's state. Beside them
 * what the machine charges for less: a mutex that nobody else wants, and one look at the clock.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "bench.h"

#define NAME  "bench:local:0000001"
#define DEPTH 32 /* entered so often, then left */

#define BLOCK      500 /* calls of the others between two looks at the clock */
#define BLOCKS_MAX 10000

struct local {
    hf_client *client;
    hf_hold *outer;
    double enter, leave, state, mutex, clock; /* ns each */
};

/* Times of blocks, in ns a call: the median does not see those that something else interrupted. */
struct blocks {
    size_t count;
    double each[BLOCKS_MAX];
};

static void add(struct blocks *blocks, uint64_t ns, size_t calls)
{
    if (blocks->count < BLOCKS_MAX)
        blocks->each[blocks->count++] = (double)ns / (double)calls;
}

static double finish(struct blocks *blocks)
{
    double median = bench_median(blocks->each, blocks->count);

    blocks->count = 0;
    return median;
}

static void enter_and_leave(struct local *local, size_t times)
{
    static struct blocks entering, leaving;
    hf_hold *holds[DEPTH];

    for (size_t n = 0; n < times; n++) {
        uint64_t start = bench_now(), middle, end;

        for (size_t i = 0; i < DEPTH; i++)
            bench_must(hf_acquire(local->client, NAME, NULL, &holds[i]), "hf_acquire");
        middle = bench_now();
        for (size_t i = DEPTH; i > 0; i--)
            bench_must(hf_release(holds[i - 1]), "hf_release");
        end = bench_now();
        add(&entering, middle - start, DEPTH);
        add(&leaving, end - middle, DEPTH);
    }
    local->enter = finish(&entering);
    local->leave = finish(&leaving);
}

static void ask_state(struct local *local, size_t times)
{
    static struct blocks blocks;

    for (size_t n = 0; n < times; n++) {
        uint64_t start = bench_now();
        size_t held = 0;

        for (size_t i = 0; i < BLOCK; i++)
            held += hf_hold_state(local->outer) == HF_HELD;
        add(&blocks, bench_now() - start, BLOCK);
        if (held != BLOCK)
            bench_die("the hold was lost");
    }
    local->state = finish(&blocks);
}

static void look_at_clock(struct local *local, size_t times)
{
    static struct blocks blocks;
    struct timespec t;

    for (size_t n = 0; n < times; n++) {
        uint64_t start = bench_now();

        for (size_t i = 0; i < BLOCK; i++)
            clock_gettime(CLOCK_BOOTTIME, &t);
        add(&blocks, bench_now() - start, BLOCK);
    }
    local->clock = finish(&blocks);
}

static void lock_mutex(struct local *local, size_t times)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct blocks blocks;

    for (size_t n = 0; n < times; n++) {
        uint64_t start = bench_now();

        for (size_t i = 0; i < BLOCK; i++) {
            pthread_mutex_lock(&mutex);
            pthread_mutex_unlock(&mutex);
        }
        add(&blocks, bench_now() - start, BLOCK);
    }
    local->mutex = finish(&blocks);
}

static void report(const struct bench *bench, const char *what, double target,
                   const struct bench_rounds *rounds, const char *baseline)
{
    struct bench_result result = {
        .row = "local", .what = what, .unit = "ns", .sense = BENCH_AT_MOST, .target = target
    };
    double values[BENCH_ROUNDS_MAX];
    char note[100];

    for (size_t i = 0; i < rounds->count; i++)
        values[i] = rounds->subject[i];
    result.value = bench_median(values, rounds->count);
    result.low = values[0];
    result.high = values[rounds->count - 1];
    snprintf(note, sizeof note, "%s: %.1f ns", baseline,
             bench_median_of(rounds->baseline, rounds->count));
    result.note = note;
    bench_report(bench, &result,
                 json_pack("{sf}", "beside", bench_median_of(rounds->baseline, rounds->count)));
}

void bench_local(const struct bench *bench)
{
    size_t rounds = bench->quick ? 7 : 21, times = bench->quick ? 1000 : 4000;
    struct bench_rounds enter = { 0 }, leave = { 0 }, state = { 0 };
    struct local local = { 0 };
    struct bench_server server;

    bench_server_start(bench, &server);
    local.client = bench_open(server.uri);
    bench_must(hf_acquire(local.client, NAME, NULL, &local.outer), "hf_acquire");
    enter_and_leave(&local, times);
    for (size_t i = 0; i < rounds; i++) {
        enter_and_leave(&local, times);
        lock_mutex(&local, times / 4);
        ask_state(&local, times / 4);
        look_at_clock(&local, times / 4);
        bench_rounds_add(&enter, local.enter, local.mutex);
        bench_rounds_add(&leave, local.leave, local.mutex);
        bench_rounds_add(&state, local.state, local.clock);
    }
    report(bench, "re-entry: hf_acquire() by the owner", 100, &enter,
           "a mutex locked and unlocked");
    report(bench, "re-entry: hf_release() of the inner handle", 100, &leave,
           "a mutex locked and unlocked");
    report(bench, "hf_hold_state()", 50, &state, "a look at the clock");
    bench_must(hf_release(local.outer), "hf_release");
    hf_close(local.client);
    bench_server_stop(&server);
}
