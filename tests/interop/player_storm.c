/* SPDX-License-Identifier: Apache-2.0 */
/* Storms. What a lock protects is read and written in two commands, over hiredis' own sockets. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interop/player.h"

#define STORM_MAX 16

struct storm_thread {
    struct storm storm;
    storm_step *step;
    uint64_t until;
    long long done;
    int error;
};

static void *repeat(void *arg)
{
    struct storm_thread *self = arg;
    redisContext *raw = redisConnect("127.0.0.1", self->storm.player->port);

    self->storm.raw = raw;
    self->error = raw && !raw->err ? HF_OK : HF_ERR_UNREACHABLE;
    while (self->error == HF_OK && player_now() < self->until) {
        self->error = self->step(&self->storm);
        self->done += self->error == HF_OK;
    }
    if (raw)
        redisFree(raw);
    return NULL;
}

void player_storm(const struct player *player, const struct player_command *command, size_t at,
                  storm_step *step, char *answer)
{
    uint64_t until = player_now() + (uint64_t)player_number(command, at + 1) * 1000000u;
    struct storm_thread storm[STORM_MAX];
    pthread_t thread[STORM_MAX];
    int threads = (int)player_number(command, at), started = 0, error = HF_OK;
    long long done = 0;

    for (; started < threads && started < STORM_MAX; started++) {
        storm[started] = (struct storm_thread){ .storm = { .player = player, .command = command },
                                                .step = step,
                                                .until = until };
        if (pthread_create(&thread[started], NULL, repeat, &storm[started]) != 0)
            break;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(thread[i], NULL);
        done += storm[i].done;
        error = storm[i].error ? storm[i].error : error;
    }
    if (error || started < threads)
        player_fail(answer, error);
    else
        player_ok(answer, "done=%lld", done);
}

/* ------------------------------------------------------------------------------------------------
 * Numbers on the server
 */

static int64_t number_of(redisReply *reply)
{
    int64_t number = INT64_MIN;

    if (!reply)
        return number;
    if (reply->type == REDIS_REPLY_INTEGER)
        number = reply->integer;
    else if (reply->type != REDIS_REPLY_ERROR)
        number = reply->str ? atoll(reply->str) : 0;
    freeReplyObject(reply);
    return number;
}

int64_t storm_add(struct storm *storm, const char *counter, int64_t change)
{
    return number_of(redisCommand(storm->raw, "INCRBY %s %lld", counter, (long long)change));
}

static int64_t get(struct storm *storm, const char *counter)
{
    return number_of(redisCommand(storm->raw, "GET %s", counter));
}

/* Reads, and writes the next. */
static bool increment(struct storm *storm, const char *counter)
{
    int64_t now = get(storm, counter);

    return now != INT64_MIN && number_of(redisCommand(storm->raw, "SET %s %lld", counter,
                                                      (long long)now + 1)) != INT64_MIN;
}

/* ------------------------------------------------------------------------------------------------
 * Steps
 */

static int hold_and(struct storm *storm, bool (*work)(struct storm *storm))
{
    hf_hold *hold;
    bool is_done;
    int error = player_acquire(storm->player, storm->command, HF_WAIT_FOREVER, 0, 0, &hold);

    if (error)
        return error;
    is_done = work(storm);
    error = hf_release(hold);
    return is_done ? error : HF_ERR_INTERNAL;
}

static bool count(struct storm *storm)
{
    return increment(storm, storm->command->word[2]);
}

int storm_count(struct storm *storm)
{
    return hold_and(storm, count);
}

static void name_copy(const struct storm *storm, char *to, size_t room)
{
    snprintf(to, room, "%s-copy", storm->command->word[2]);
}

static bool write_both(struct storm *storm)
{
    char copy[128];

    name_copy(storm, copy, sizeof copy);
    return increment(storm, storm->command->word[2]) && increment(storm, copy);
}

int storm_write(struct storm *storm)
{
    return hold_and(storm, write_both);
}

static bool look_at_both(struct storm *storm)
{
    char copy[128];
    int64_t one = get(storm, storm->command->word[2]);

    name_copy(storm, copy, sizeof copy);
    return one != INT64_MIN && one == get(storm, copy);
}

int storm_look(struct storm *storm)
{
    return hold_and(storm, look_at_both);
}
