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

struct local {
    hf_client *client;
    hf_hold *outer;
    double enter, leave, state, mutex, clock; /* ns each */
};

static double per(uint64_t ns, size_t count)
{
    return (double)ns / (double)count;
}

static void enter_and_leave(struct local *local, size_t times)
{
    hf_hold *holds[DEPTH];
    uint64_t entering = 0, leaving = 0;

    for (size_t n = 0; n < times; n++) {
        uint64_t start = bench_now(), middle;

        for (size_t i = 0; i < DEPTH; i++)
            bench_must(hf_acquire(local->client, NAME, NULL, &holds[i]), "hf_acquire");
        middle = bench_now();
        for (size_t i = DEPTH; i > 0; i--)
            bench_must(hf_release(holds[i - 1]), "hf_release");
        entering += middle - start;
        leaving += bench_now() - middle;
    }
    local->enter = per(entering, times * DEPTH);
    local->leave = per(leaving, times * DEPTH);
}

static void ask_state(struct local *local, size_t times)
{
    uint64_t start = bench_now();
    size_t held = 0;

    for (size_t i = 0; i < times; i++)
        held += hf_hold_state(local->outer) == HF_HELD;
    local->state = per(bench_now() - start, times);
    if (held != times)
        bench_die("the hold was lost");
}

static void look_at_clock(struct local *local, size_t times)
{
    uint64_t start = bench_now();
    struct timespec t;

    for (size_t i = 0; i < times; i++)
        clock_gettime(CLOCK_BOOTTIME, &t);
    local->clock = per(bench_now() - start, times);
}

static void lock_mutex(struct local *local, size_t times)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    uint64_t start = bench_now();

    for (size_t i = 0; i < times; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    local->mutex = per(bench_now() - start, times);
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
    size_t rounds = bench->quick ? 7 : 21, times = bench->quick ? 2000 : 10000;
    struct bench_rounds enter = { 0 }, leave = { 0 }, state = { 0 };
    struct local local = { 0 };
    struct bench_server server;

    bench_server_start(bench, &server);
    local.client = bench_open(server.uri);
    bench_must(hf_acquire(local.client, NAME, NULL, &local.outer), "hf_acquire");
    enter_and_leave(&local, times);
    for (size_t i = 0; i < rounds; i++) {
        enter_and_leave(&local, times / 4);
        lock_mutex(&local, times * 10);
        ask_state(&local, times * 10);
        look_at_clock(&local, times * 10);
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
