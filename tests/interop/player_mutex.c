/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes: the verbs lock, lease, try, timed, unlock, held, storm, as redisson/'s Mutex has them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interop/player.h"

#define STORM_MAX 16

static void fail(char *answer, size_t room, int error)
{
    snprintf(answer, room, "error %d %s", error, hf_last_error());
}

static void take(struct player_thread *self, const char *name,
                 const struct hf_acquire_options *options, char *answer, size_t room)
{
    char owner[HF_OWNER_MAX + 1];
    hf_hold *hold = NULL;
    int error;

    if (self->holds == PLAYER_HOLDS) {
        snprintf(answer, room, "error too many holds");
        return;
    }
    error = hf_acquire(self->player->client, name, options, &hold);
    if (error == HF_ERR_BUSY) {
        snprintf(answer, room, "ok got=0 at=%llu", (unsigned long long)player_now());
        return;
    }
    if (error) {
        fail(answer, room, error);
        return;
    }
    self->hold[self->holds++] = hold;
    snprintf(answer, room, "ok got=1 at=%llu", (unsigned long long)player_now());
    hf_hold_owner(hold, owner, sizeof owner);
    snprintf(answer + strlen(answer), room - strlen(answer), " owner=%s", owner);
}

/* The last hold of that name; PLAYER_HOLDS: there is none. */
static size_t find(const struct player_thread *self, const char *name)
{
    for (size_t i = self->holds; i > 0; i--)
        if (strcmp(hf_hold_name(self->hold[i - 1]), name) == 0)
            return i - 1;
    return PLAYER_HOLDS;
}

static void give(struct player_thread *self, size_t at, char *answer, size_t room)
{
    unsigned long long from = player_now();
    int error = hf_release(self->hold[at]);

    memmove(&self->hold[at], &self->hold[at + 1], (self->holds - at - 1) * sizeof self->hold[0]);
    self->holds--;
    if (error)
        fail(answer, room, error);
    else
        snprintf(answer, room, "ok from=%llu at=%llu", from, (unsigned long long)player_now());
}

static void is_held(const struct player_thread *self, size_t at, char *answer, size_t room)
{
    int state = at == PLAYER_HOLDS ? HF_RELEASED : hf_hold_state(self->hold[at]);

    snprintf(answer, room, "ok held=%d", state == HF_HELD || state == HF_AT_RISK);
}

/* ------------------------------------------------------------------------------------------------
 * A counter that only the lock protects
 */

struct storm {
    const struct player *player;
    const char *name, *counter;
    uint64_t until;
    long long done;
    int error;
};

/* Reads the number and writes the next. */
static bool step(redisContext *raw, const char *counter)
{
    redisReply *reply = redisCommand(raw, "GET %s", counter);
    long long now = reply && reply->str ? atoll(reply->str) : 0;
    bool is_read = reply && reply->type != REDIS_REPLY_ERROR;

    if (reply)
        freeReplyObject(reply);
    if (!is_read)
        return false;
    reply = redisCommand(raw, "SET %s %lld", counter, now + 1);
    if (reply)
        freeReplyObject(reply);
    return reply != NULL;
}

static int count_once(struct storm *storm, redisContext *raw)
{
    hf_hold *hold;
    bool is_written;
    int error = hf_acquire(storm->player->client, storm->name,
                           HF_ACQUIRE(.ttl_ms = storm->player->ttl_ms), &hold);

    if (error)
        return error;
    is_written = step(raw, storm->counter);
    error = hf_release(hold);
    if (!is_written)
        return HF_ERR_UNREACHABLE;
    storm->done++;
    return error;
}

static void *count(void *arg)
{
    struct storm *storm = arg;
    redisContext *raw = redisConnect("127.0.0.1", storm->player->port);

    storm->error = raw && !raw->err ? HF_OK : HF_ERR_UNREACHABLE;
    while (storm->error == HF_OK && player_now() < storm->until)
        storm->error = count_once(storm, raw);
    if (raw)
        redisFree(raw);
    return NULL;
}

static void run_storm(const struct player *player, char *const *word, char *answer, size_t room)
{
    uint64_t until = player_now() + (uint64_t)atoll(word[4]) * 1000000u;
    struct storm storm[STORM_MAX];
    pthread_t thread[STORM_MAX];
    int threads = atoi(word[3]), started = 0, error = HF_OK;
    long long done = 0;

    for (; started < threads && started < STORM_MAX; started++) {
        storm[started] = (struct storm){ player, word[1], word[2], until, 0, HF_OK };
        if (pthread_create(&thread[started], NULL, count, &storm[started]) != 0)
            break;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(thread[i], NULL);
        done += storm[i].done;
        error = storm[i].error ? storm[i].error : error;
    }
    if (error || started < threads)
        snprintf(answer, room, "error %s", hf_strerror(error));
    else
        snprintf(answer, room, "ok done=%lld", done);
}

void player_mutex(struct player_thread *self, char *const *word, size_t words, char *answer,
                  size_t room)
{
    struct hf_acquire_options options = { .size = sizeof options, .ttl_ms = self->player->ttl_ms };
    const char *verb = word[0], *name = word[1];
    size_t at = find(self, name);

    if (strcmp(verb, "lock") == 0) {
        take(self, name, &options, answer, room);
    } else if (strcmp(verb, "lease") == 0 && words == 3) {
        options.ttl_ms = 0;
        options.lease_ms = atoll(word[2]);
        take(self, name, &options, answer, room);
    } else if (strcmp(verb, "try") == 0 || (strcmp(verb, "timed") == 0 && words == 3)) {
        options.wait_ms = words == 3 ? atoll(word[2]) : HF_TRY_ONCE;
        take(self, name, &options, answer, room);
    } else if (strcmp(verb, "unlock") == 0 && at < PLAYER_HOLDS) {
        give(self, at, answer, room);
    } else if (strcmp(verb, "held") == 0) {
        is_held(self, at, answer, room);
    } else if (strcmp(verb, "storm") == 0 && words == 5) {
        run_storm(self->player, word, answer, room);
    } else {
        snprintf(answer, room, "error no such verb, or nothing to do it with: %s", verb);
    }
}
