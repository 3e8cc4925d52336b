/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interop_player PORT TTL_MS [PREFIX]: does what it is told on its standard input, one line a command ("THREAD KIND
 * VERB NAME ARGUMENT..."), each on a thread of that name, and says on its standard output what came of it
 * ("THREAD ok KEY=VALUE..." or "THREAD error WHAT"). It first says "- ok client=ID version=VERSION". It ends at once, and
 * leaves its locks to their ttl, when its input does.
 *
 * Invariant: a thread has at most one command at a time; the next one waits until it is done.
 */
#include "interop/player.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A waiter is woken or it sleeps until the holder's lease ends: it does not look in between. */
#define POLL_MS (10 * 60 * 1000)
#define THREADS 16 /* of one player */

static const struct {
    const char *name;
    player_act *act;
    enum hf_mode mode;
    bool is_multi, is_once;
} kinds[] = {
    { "mutex", player_lock, HF_EXCLUSIVE, false, false },
    { "once", player_lock, HF_EXCLUSIVE, false, true },
    { "fair", player_lock, HF_FAIR, false, false },
    { "fair-once", player_lock, HF_FAIR, false, true },
    { "read", player_lock, HF_SHARED, false, false },
    { "write", player_lock, HF_WRITE, false, false },
    { "fenced", player_lock, HF_FENCED, false, false },
    { "spin", player_lock, HF_SPIN, false, false },
    { "multi", player_lock, HF_EXCLUSIVE, true, false },
    { "permits", player_permits, HF_PERMITS, false, false },
    { "semaphore", player_semaphore, HF_EXCLUSIVE, false, false },
    { "latch", player_latch, HF_EXCLUSIVE, false, false },
    { "bucket", player_bucket, HF_EXCLUSIVE, false, false },
    { "map", player_map, HF_EXCLUSIVE, false, false },
};

struct actor {
    char name[32];
    struct player_thread self;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool has_line;
    char line[PLAYER_LINE];
};

static struct player player;
static struct actor actors[THREADS];
static size_t actor_count;

uint64_t player_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool player_is(const struct player_command *command, const char *verb)
{
    return strcmp(command->word[0], verb) == 0;
}

int64_t player_number(const struct player_command *command, size_t word)
{
    return atoll(command->word[word]);
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 */

void player_ok(char *answer, const char *format, ...)
{
    va_list args;
    int len = snprintf(answer, PLAYER_LINE, "ok ");

    va_start(args, format);
    vsnprintf(answer + len, PLAYER_LINE - (size_t)len, format, args);
    va_end(args);
}

void player_more(char *answer, const char *format, ...)
{
    va_list args;
    size_t len = strlen(answer);

    va_start(args, format);
    vsnprintf(answer + len, PLAYER_LINE - len, format, args);
    va_end(args);
}

void player_fail(char *answer, int error)
{
    snprintf(answer, PLAYER_LINE, "error %d %s", error, hf_last_error());
}

bool player_got(char *answer, int error)
{
    if (error && error != HF_ERR_BUSY)
        player_fail(answer, error);
    else
        player_ok(answer, "got=%d at=%llu", error == HF_OK, (unsigned long long)player_now());
    return error == HF_OK;
}

/* One write for one line: threads do not mix theirs. */
static void say(const char *name, const char *what)
{
    char line[PLAYER_LINE + 64];
    int len = snprintf(line, sizeof line, "%s %s\n", name, what);

    if (write(STDOUT_FILENO, line, (size_t)len) != len)
        _exit(1);
}

/* ------------------------------------------------------------------------------------------------
 * Threads
 */

/* line: "KIND VERB NAME ARGUMENT..." */
static void act(struct actor *actor, char *line)
{
    struct player_command command = { .word = { "", "", "", "", "", "", "", "", "", "" } };
    char answer[PLAYER_LINE] = "error no such kind", *rest = NULL;
    const char *kind = strtok_r(line, " ", &rest);

    for (size_t i = 0; i < PLAYER_WORDS; i++) {
        const char *word = kind ? strtok_r(NULL, " ", &rest) : NULL;

        if (!word)
            break;
        command.word[i] = word;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && kind; i++) {
        if (strcmp(kind, kinds[i].name) != 0)
            continue;
        command.mode = kinds[i].mode;
        command.is_multi = kinds[i].is_multi;
        command.is_once = kinds[i].is_once;
        if (!kinds[i].act(&actor->self, &command, answer))
            snprintf(answer, sizeof answer, "error no verb %s", command.word[0]);
    }
    say(actor->name, answer);
}

static void *play(void *arg)
{
    struct actor *actor = arg;
    char line[PLAYER_LINE];

    for (;;) {
        pthread_mutex_lock(&actor->mutex);
        while (!actor->has_line)
            pthread_cond_wait(&actor->changed, &actor->mutex);
        memcpy(line, actor->line, sizeof line);
        actor->has_line = false;
        pthread_cond_broadcast(&actor->changed);
        pthread_mutex_unlock(&actor->mutex);
        act(actor, line);
    }
    return NULL;
}

static struct actor *actor_of(const char *name)
{
    struct actor *actor;

    for (size_t i = 0; i < actor_count; i++)
        if (strcmp(actors[i].name, name) == 0)
            return &actors[i];
    if (actor_count == THREADS)
        return NULL;
    actor = &actors[actor_count++];
    snprintf(actor->name, sizeof actor->name, "%s", name);
    actor->self.player = &player;
    pthread_mutex_init(&actor->mutex, NULL);
    pthread_cond_init(&actor->changed, NULL);
    return pthread_create(&actor->thread, NULL, play, actor) == 0 ? actor : NULL;
}

static void hand_over(struct actor *actor, const char *line)
{
    pthread_mutex_lock(&actor->mutex);
    while (actor->has_line)
        pthread_cond_wait(&actor->changed, &actor->mutex);
    snprintf(actor->line, sizeof actor->line, "%s", line);
    actor->has_line = true;
    pthread_cond_broadcast(&actor->changed);
    pthread_mutex_unlock(&actor->mutex);
}

static int read_commands(void)
{
    char line[PLAYER_LINE], name[32];

    while (fgets(line, sizeof line, stdin)) {
        struct actor *actor;
        int after = 0;

        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%31s %n", name, &after) != 1)
            continue;
        actor = actor_of(name);
        if (!actor)
            return 1;
        hand_over(actor, line + after);
    }
    return 0;
}

int main(int argc, char **argv)
{
    char uri[128], hello[128];

    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: interop_player PORT TTL_MS [PREFIX]\n");
        return 64;
    }
    player.port = atoi(argv[1]);
    player.ttl_ms = atoll(argv[2]);
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d%s%s", player.port, argc > 3 ? "?prefix=" : "",
             argc > 3 ? argv[3] : "");
    if (hf_open(uri, HF_CLIENT(.poll_ms = POLL_MS), &player.client) != HF_OK) {
        fprintf(stderr, "interop_player: %s\n", hf_last_error());
        return 1;
    }
    snprintf(hello, sizeof hello, "ok client=%s version=%s", hf_client_id(player.client),
             hf_version());
    say("-", hello);
    _exit(read_commands());
}
