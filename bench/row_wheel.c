/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timing wheel with 1,000,000 timers in it. Two questions: what a timer costs that comes and
 * goes (a hold that is taken and given back), and what it costs to move one of the million (a
 * renewal), whose memory, and its neighbours', is in no cache. Beside the second, what the same
 * costs in a bare list: the price of memory.
 */
#include <stdlib.h>

#include <utlist.h>

#include "bench.h"
#include "core/wheel.h"

#define TIMERS     1000000
#define FRESH      1024 /* timers that come and go, in turn */
#define BLOCK      500  /* steps between two looks at the clock */
#define BLOCKS_MAX 2000

#define SPAN (30 * HFI_SEC)

struct yard {
    struct hfi_wheel wheel;
    struct hfi_timer *timers, *fresh;
    struct hfi_timer *list, *listed;
    uint32_t *order; /* which of the million is next */
    size_t step;
    uint64_t random;
    hfi_time now;
};

static hfi_time some_time(struct yard *yard)
{
    return yard->now + bench_random(&yard->random) % SPAN;
}

/* Each is added, and taken out again FRESH steps later. After each step the next time is asked for,
 * as the runtime does. */
static void come_and_go(struct yard *yard)
{
    struct hfi_timer *timer = &yard->fresh[yard->step++ % FRESH];

    if (hfi_timer_is_set(timer))
        hfi_wheel_remove(&yard->wheel, timer);
    hfi_wheel_set(&yard->wheel, timer, some_time(yard));
    if (hfi_wheel_next(&yard->wheel) < yard->now)
        bench_die("the wheel has a time that was never set");
}

static void move(struct yard *yard)
{
    struct hfi_timer *timer = &yard->timers[yard->order[yard->step++ % TIMERS]];

    hfi_wheel_remove(&yard->wheel, timer);
    hfi_wheel_set(&yard->wheel, timer, some_time(yard));
}

static void move_listed(struct yard *yard)
{
    struct hfi_timer *timer = &yard->listed[yard->order[yard->step++ % TIMERS]];

    DL_DELETE(yard->list, timer);
    timer->expires_ns = some_time(yard);
    DL_APPEND(yard->list, timer);
}

/* ns a step: the median of blocks, which does not see those that something else interrupted. */
static inline __attribute__((always_inline)) double time_steps(struct yard *yard, size_t blocks,
                                                               void (*step)(struct yard *yard))
{
    static double each[BLOCKS_MAX];

    for (size_t n = 0; n < blocks; n++) {
        uint64_t start = bench_now();

        for (size_t i = 0; i < BLOCK; i++)
            step(yard);
        each[n] = (double)(bench_now() - start) / BLOCK;
    }
    return bench_median(each, blocks);
}

static void *some(size_t count, size_t size)
{
    void *at = calloc(count, size);

    if (!at)
        bench_die("out of memory");
    return at;
}

static void shuffle(struct yard *yard)
{
    for (uint32_t i = 0; i < TIMERS; i++)
        yard->order[i] = i;
    for (uint32_t i = TIMERS - 1; i > 0; i--) {
        uint32_t other = (uint32_t)(bench_random(&yard->random) % (i + 1)), was = yard->order[i];

        yard->order[i] = yard->order[other];
        yard->order[other] = was;
    }
}

static void fill(struct yard *yard)
{
    yard->random = 88172645463325252;
    yard->now = 1000 * HFI_SEC;
    yard->timers = some(TIMERS, sizeof *yard->timers);
    yard->listed = some(TIMERS, sizeof *yard->listed);
    yard->fresh = some(FRESH, sizeof *yard->fresh);
    yard->order = some(TIMERS, sizeof *yard->order);
    shuffle(yard);
    hfi_wheel_init(&yard->wheel, yard->now);
    for (size_t i = 0; i < TIMERS; i++) {
        hfi_wheel_set(&yard->wheel, &yard->timers[i], some_time(yard));
        DL_APPEND(yard->list, &yard->listed[yard->order[i]]);
    }
    shuffle(yard);
}

static void report(const struct bench *bench, const struct bench_result *head, double *values,
                   size_t count)
{
    struct bench_result result = *head;

    result.row = "wheel";
    result.unit = "ns";
    result.value = bench_median(values, count);
    result.low = values[0];
    result.high = values[count - 1];
    bench_report(bench, &result, NULL);
}

void bench_wheel(const struct bench *bench)
{
    size_t rounds = bench->quick ? 5 : 11, blocks = bench->quick ? 600 : BLOCKS_MAX;
    double fresh[BENCH_ROUNDS_MAX], moved[BENCH_ROUNDS_MAX], listed[BENCH_ROUNDS_MAX];
    struct yard *yard = some(1, sizeof *yard);

    fill(yard);
    time_steps(yard, blocks, come_and_go);
    for (size_t i = 0; i < rounds; i++) {
        fresh[i] = time_steps(yard, blocks, come_and_go);
        moved[i] = time_steps(yard, blocks, move);
        listed[i] = time_steps(yard, blocks, move_listed);
    }
    report(bench,
           &(struct bench_result){ .what = "add + remove of one more among 1,000,000 timers",
                                   .sense = BENCH_AT_MOST,
                                   .target = 100 },
           fresh, rounds);
    report(bench,
           &(struct bench_result){
               .what = "remove + add of any of 1,000,000 timers",
               .note = "in random order: its memory and its neighbours' must be fetched" },
           moved, rounds);
    report(bench,
           &(struct bench_result){ .what = "the same in a bare list: what memory costs here" },
           listed, rounds);
    free(yard->timers);
    free(yard->listed);
    free(yard->fresh);
    free(yard->order);
    free(yard);
}
