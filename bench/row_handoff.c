/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes hand one lock to and fro. The giver lets go only when the taker has been waiting
 * for a while, and asks for the lock again only after the taker has it, so every hand-off is from a
 * holder to a sleeper. Baseline, between the same two processes and at the same pace: one publishes
 * on a channel that the other listens to, and the other then sends one acquire script, as it has to
 * after any wake-up.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "bench.h"

#define NAME      "bench:handoff:0000001"
#define TURN      20 /* hand-offs */
#define TURNS_MAX 8
#define PAUSE_NS  UINT64_C(2000000) /* so long the taker has been waiting */

enum order { ORDER_SUBJECT, ORDER_BASELINE, ORDER_END };

/* Memory of both. */
struct stage {
    sem_t order_given, order_done;
    enum order order;
    size_t count;
    sem_t waiting, got;
    atomic_uint_least64_t from_ns;
    double took[BENCH_DUET_MAX], delivery[BENCH_DUET_MAX];
};

struct player {
    unsigned number;
    struct stage *stage;
    hf_client *client;
    enum hf_mode mode;
    hf_hold *hold;
    redisContext *commands, *ear; /* NULL: no baseline */
    struct bench_commands lock;
    char channel[2][32];
};

struct bench_duet {
    struct player self;
    pid_t other;
};

static void await(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        ;
}

/* ------------------------------------------------------------------------------------------------
 * Subject
 */

static int acquire(struct player *self)
{
    return hf_acquire(self->client, NAME, HF_ACQUIRE(.mode = self->mode), &self->hold);
}

static void give(struct player *self)
{
    await(&self->stage->waiting);
    bench_nap(PAUSE_NS);
    atomic_store(&self->stage->from_ns, bench_now());
    bench_must(hf_release(self->hold), "hf_release");
    await(&self->stage->got);
}

static void take(struct player *self, size_t i)
{
    struct stage *stage = self->stage;

    sem_post(&stage->waiting);
    bench_must(acquire(self), "hf_acquire");
    stage->took[i] = (double)(bench_now() - atomic_load(&stage->from_ns)) / 1e3;
    sem_post(&stage->got);
}

/* An even number of times, so that the lock, which number 0 has, comes back to it. */
static void play_subject(struct player *self)
{
    for (size_t i = 0; i < self->stage->count; i++) {
        if (i % 2 == self->number)
            give(self);
        else
            take(self, i);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Baseline
 */

static void publish(struct player *self)
{
    redisReply *reply;

    await(&self->stage->waiting);
    bench_nap(PAUSE_NS);
    atomic_store(&self->stage->from_ns, bench_now());
    reply = redisCommand(self->commands, "PUBLISH %s 0", self->channel[1 - self->number]);
    if (!reply || reply->type != REDIS_REPLY_INTEGER || reply->integer != 1)
        bench_die("the baseline's message reached nobody");
    freeReplyObject(reply);
    await(&self->stage->got);
}

static void hear(struct player *self, size_t i)
{
    struct stage *stage = self->stage;
    redisReply *reply = NULL;
    uint64_t heard, from;
    bool granted;

    sem_post(&stage->waiting);
    if (redisGetReply(self->ear, (void **)&reply) != REDIS_OK)
        bench_die("the baseline's subscription failed");
    freeReplyObject(reply);
    heard = bench_now();
    granted = bench_bare_acquire(self->commands, &self->lock);
    from = atomic_load(&stage->from_ns);
    stage->took[i] = (double)(bench_now() - from) / 1e3;
    stage->delivery[i] = (double)(heard - from) / 1e3;
    if (!granted || !bench_bare_release(self->commands, &self->lock))
        bench_die("the baseline got an answer that it did not expect");
    sem_post(&stage->got);
}

static void play_baseline(struct player *self)
{
    for (size_t i = 0; i < self->stage->count; i++) {
        if (i % 2 == self->number)
            publish(self);
        else
            hear(self, i);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The two of them
 */

static void listen_to(redisContext *ear, const char *channel)
{
    redisReply *reply = redisCommand(ear, "SUBSCRIBE %s", channel);

    if (!reply || reply->type != REDIS_REPLY_ARRAY)
        bench_die("SUBSCRIBE failed");
    freeReplyObject(reply);
}

static void prepare(struct player *self, const char *uri, const struct bench_server *server)
{
    char name[BENCH_NAME_MAX];

    self->client = bench_open(uri);
    if (!server)
        return;
    snprintf(name, sizeof name, "bench:handoff:100000%u", self->number);
    bench_commands_init(&self->lock, name);
    for (unsigned i = 0; i < 2; i++)
        snprintf(self->channel[i], sizeof self->channel[i], "bench:handoff:channel:%u", i);
    self->commands = bench_connect(server);
    self->ear = bench_connect(server);
    bench_load_scripts(self->commands);
    listen_to(self->ear, self->channel[self->number]);
}

static void finish(struct player *self)
{
    hf_close(self->client);
    if (self->commands)
        redisFree(self->commands);
    if (self->ear)
        redisFree(self->ear);
}

static void obey(struct player *self)
{
    struct stage *stage = self->stage;

    for (;;) {
        await(&stage->order_given);
        if (stage->order == ORDER_END)
            return;
        if (stage->order == ORDER_SUBJECT)
            play_subject(self);
        else
            play_baseline(self);
        sem_post(&stage->order_done);
    }
}

struct bench_duet *bench_duet_new(const char *uri, const struct bench_server *server,
                                  enum hf_mode mode)
{
    struct bench_duet *duet = calloc(1, sizeof *duet);
    struct stage *stage = bench_share(sizeof *stage);

    if (!duet)
        bench_die("out of memory");
    sem_init(&stage->order_given, 1, 0);
    sem_init(&stage->order_done, 1, 0);
    sem_init(&stage->waiting, 1, 0);
    sem_init(&stage->got, 1, 0);
    duet->self.stage = stage;
    duet->self.mode = mode;
    duet->other = bench_fork();
    if (duet->other == 0) {
        duet->self.number = 1;
        prepare(&duet->self, uri, server);
        obey(&duet->self);
        finish(&duet->self);
        exit(EXIT_SUCCESS);
    }
    prepare(&duet->self, uri, server);
    return duet;
}

static void order(struct bench_duet *duet, enum order what, size_t count)
{
    struct stage *stage = duet->self.stage;

    if (what == ORDER_SUBJECT) /* before the other can */
        bench_must(acquire(&duet->self), "hf_acquire");
    stage->order = what;
    stage->count = count;
    sem_post(&stage->order_given);
    if (what == ORDER_SUBJECT)
        play_subject(&duet->self);
    else if (what == ORDER_BASELINE)
        play_baseline(&duet->self);
    if (what != ORDER_END)
        await(&stage->order_done);
    if (what == ORDER_SUBJECT)
        bench_must(hf_release(duet->self.hold), "hf_release");
}

void bench_duet_subject(struct bench_duet *duet, size_t count, double *took)
{
    order(duet, ORDER_SUBJECT, count);
    memcpy(took, duet->self.stage->took, count * sizeof *took);
}

void bench_duet_baseline(struct bench_duet *duet, size_t count, double *took, double *delivery)
{
    order(duet, ORDER_BASELINE, count);
    memcpy(took, duet->self.stage->took, count * sizeof *took);
    memcpy(delivery, duet->self.stage->delivery, count * sizeof *delivery);
}

void bench_duet_free(struct bench_duet *duet)
{
    order(duet, ORDER_END, 0);
    if (bench_wait(duet->other) != 0)
        bench_die("the other process failed");
    finish(&duet->self);
    free(duet);
}

/* In short turns, so that both see the same of whatever else the machine does. Returns the p50 of
 * the deliveries. */
static double play_round(struct bench_duet *duet, size_t turns, struct bench_rounds *rounds)
{
    static double mine[TURN * TURNS_MAX], bare[TURN * TURNS_MAX], delivery[TURN * TURNS_MAX];

    for (size_t i = 0; i < turns; i++) {
        bench_duet_subject(duet, TURN, mine + i * TURN);
        bench_duet_baseline(duet, TURN, bare + i * TURN, delivery + i * TURN);
    }
    bench_rounds_add(rounds, bench_median(mine, turns * TURN), bench_median(bare, turns * TURN));
    return bench_median(delivery, turns * TURN);
}

static void play(const struct bench *bench, const struct bench_server *server, enum hf_mode mode,
                 const struct bench_result *result)
{
    size_t rounds = bench->quick ? 5 : 13, turns = bench->quick ? 2 : TURNS_MAX;
    struct bench_rounds measured = { 0 }, warm_up = { 0 };
    struct bench_duet *duet = bench_duet_new(server->uri, server, mode);
    double delivery[BENCH_ROUNDS_MAX];

    play_round(duet, turns, &warm_up);
    for (size_t i = 0; i < rounds; i++)
        delivery[i] = play_round(duet, turns, &measured);
    bench_report_ratio(bench, result, &measured, "us",
                       "PUBLISH to its delivery, plus one acquire script",
                       json_pack("{sf}", "baseline_delivery", bench_median(delivery, rounds)));
    bench_duet_free(duet);
}

void bench_handoff(const struct bench *bench)
{
    static const struct bench_result PLAIN = {
        .row = "handoff",
        .what = "two processes, one lock, Redis: hand-off p50",
        .sense = BENCH_AT_MOST,
        .target = 1.3,
    };
    static const struct bench_result FAIR = {
        .row = "fairhand",
        .what = "two processes, one fair lock, Redis: hand-off p50",
        .sense = BENCH_AT_MOST,
        .target = 1.2,
    };
    struct bench_server server;

    bench_server_start(bench, &server);
    play(bench, &server, HF_EXCLUSIVE, &PLAIN);
    play(bench, &server, HF_FAIR, &FAIR);
    bench_server_stop(&server);
}
