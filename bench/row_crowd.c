/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 101 processes want one lock: one has it, 100 wait. What do they send when it goes from one to the
 * next?
 *
 * The server counts commands within scripts too, which tells the calls of the scripts apart: only a
 * try that is granted calls SET, only one that is busy calls PTTL, only a release that found its
 * hold calls PUBLISH.
 */
#include <stdatomic.h>
#include <stdio.h>

#include <hiredis/hiredis.h>

#include "bench.h"

#define NAME    "bench:crowd"
#define CHANNEL "redisson_lock__channel:{" NAME "}"
#define WAITING 100
#define HOLD_NS UINT64_C(20000000) /* every other waiter is asleep again by then */
#define SEC     UINT64_C(1000000000)

struct square {
    atomic_bool frozen; /* who has it keeps it */
};

struct counts {
    double granted, busy, released, other;
};

static void live(struct square *square, const char *uri)
{
    hf_client *client = bench_open(uri);

    for (;;) {
        hf_hold *hold = NULL;

        bench_must(hf_acquire(client, NAME, NULL, &hold), "hf_acquire");
        while (atomic_load(&square->frozen))
            bench_nap(HOLD_NS);
        bench_nap(HOLD_NS);
        bench_must(hf_release(hold), "hf_release");
    }
}

static int64_t subscribers(redisContext *redis)
{
    redisReply *reply = redisCommand(redis, "PUBSUB NUMSUB " CHANNEL);
    int64_t count;

    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2)
        bench_die("PUBSUB NUMSUB failed");
    count = reply->element[1]->integer;
    freeReplyObject(reply);
    return count;
}

static struct counts read_counts(redisContext *redis)
{
    struct counts c = { .granted = (double)bench_calls(redis, "set"),
                        .busy = (double)bench_calls(redis, "pttl"),
                        .released = (double)bench_calls(redis, "publish") };
    static const char *const SENT[] = { "evalsha", "eval", "subscribe", "unsubscribe", "ping" };

    for (size_t i = 0; i < sizeof SENT / sizeof SENT[0]; i++)
        c.other += (double)bench_calls(redis, SENT[i]);
    c.other -= c.granted + c.busy + c.released;
    return c;
}

static struct counts counted(redisContext *redis, uint64_t ns)
{
    struct counts before = read_counts(redis), after;

    bench_nap(ns);
    after = read_counts(redis);
    return (struct counts){ .granted = after.granted - before.granted,
                            .busy = after.busy - before.busy,
                            .released = after.released - before.released,
                            .other = after.other - before.other };
}

static void report(const struct bench *bench, const struct counts *still, double still_s,
                   const struct counts *busy, double busy_s, double woken)
{
    double all = busy->granted + busy->busy + busy->released + busy->other;
    double handoffs = busy->released, others = busy->other / handoffs;
    struct bench_result result = {
        .row = "crowd",
        .what = "100 waiting: commands a hand-off, less a try per woken",
        .unit = "",
        .sense = BENCH_AT_MOST,
        .target = 6,
        .value = all / handoffs - woken,
    };
    char note[300];

    snprintf(note, sizeof note,
             "%.1f a hand-off: %.2f granted and %.1f busy tries, %.2f releases, %.2f others "
             "(announcements); %.0f processes woken; %.0f hand-offs/s. Nothing moves: %.0f polls/s",
             all / handoffs, busy->granted / handoffs, busy->busy / handoffs,
             busy->released / handoffs, others, woken, handoffs / busy_s, still->busy / still_s);
    result.note = note;
    bench_report(bench, &result,
                 json_pack("{sf sf sf sf sf sf sf sf}", "commands", all / handoffs, "tries_granted",
                           busy->granted / handoffs, "tries_busy", busy->busy / handoffs,
                           "releases", busy->released / handoffs, "others", others, "woken", woken,
                           "handoffs_per_s", handoffs / busy_s, "polls_per_s",
                           still->busy / still_s));
}

static void await_crowd(redisContext *redis)
{
    uint64_t until = bench_now() + 30 * SEC;

    while (subscribers(redis) < WAITING) {
        if (bench_now() > until)
            bench_die("only %d of %d processes wait", (int)subscribers(redis), WAITING);
        bench_nap(SEC / 20);
    }
}

void bench_crowd(const struct bench *bench)
{
    struct square *square = bench_share(sizeof *square);
    uint64_t still_ns = (bench->quick ? 1 : 4) * SEC, busy_ns = (bench->quick ? 3 : 10) * SEC;
    struct counts still, busy;
    pid_t pids[WAITING + 1];
    struct bench_server server;
    redisContext *redis;

    bench_server_start(bench, &server);
    redis = bench_connect(&server);
    atomic_store(&square->frozen, true);
    for (int i = 0; i <= WAITING; i++) {
        pids[i] = bench_fork();
        if (pids[i] == 0)
            live(square, server.uri);
    }
    await_crowd(redis);
    bench_nap(2 * SEC); /* first announcements */
    still = counted(redis, still_ns);
    atomic_store(&square->frozen, false);
    bench_nap(SEC);
    busy = counted(redis, busy_ns);
    report(bench, &still, (double)still_ns / 1e9, &busy, (double)busy_ns / 1e9,
           (double)subscribers(redis));
    for (int i = 0; i <= WAITING; i++)
        bench_kill(pids[i]);
    redisFree(redis);
    bench_server_stop(&server);
}
