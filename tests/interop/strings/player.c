/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interop_string_player PORT OPTIONS: our side of tests/interop/strings, in the words of drive.py. OPTIONS are
 * those of the URI. A line on standard input is a command, and its answer a line on standard output. It ends,
 * and leaves its locks to their ttl, when its input does.
 *
 *   take NAME TTL_MS WAIT_MS    renewed; WAIT_MS 0: one attempt     -> ok | busy
 *   lease NAME TTL_MS WAIT_MS   not renewed                         -> ok | busy
 *   give NAME                                                       -> ok | lost
 *   check NAME                  asks the server                     -> ok | lost
 *   owner NAME                                                      -> ok OWNER
 *   count NAME KEY TTL_MS THREADS MS                                -> ok HOW MANY
 *       Each thread, for so long: take the lock, read the number in KEY, write the next one, give it back, rest a
 *       little. (Others find the lock free only when they happen to look.)
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "holdfast/holdfast.h"

#define HOLDS   16
#define THREADS 16
#define WORDS   6
#define REST_US 3000
#define POLL_MS (10 * 60 * 1000) /* who is not told by the store does not look */

static int port;
static hf_client *client;

static struct {
    char name[128];
    hf_hold *hold;
} holds[HOLDS];

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "interop_string_player: %s: %s\n", what, hf_last_error());
    exit(1);
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void say(int error)
{
    if (error == HF_OK)
        puts("ok");
    else if (error == HF_ERR_BUSY)
        puts("busy");
    else if (error == HF_ERR_LOST)
        puts("lost");
    else
        printf("error %s: %s\n", hf_strerror(error), hf_last_error());
}

/* The hold of a name; by NULL: a free place. */
static size_t find(const char *name)
{
    for (size_t i = 0; i < HOLDS; i++)
        if (name ? holds[i].hold && strcmp(holds[i].name, name) == 0 : !holds[i].hold)
            return i;
    die("there is no such hold, or there are too many");
}

static void take(const char *name, int64_t ttl_ms, int64_t lease_ms, int64_t wait_ms)
{
    size_t i = find(NULL);
    int error = hf_acquire(client, name,
                           HF_ACQUIRE(.ttl_ms = ttl_ms, .lease_ms = lease_ms,
                                      .wait_ms = wait_ms ? wait_ms : HF_TRY_ONCE),
                           &holds[i].hold);

    snprintf(holds[i].name, sizeof holds[i].name, "%s", name);
    say(error);
}

static void give(const char *name)
{
    size_t i = find(name);
    int error = hf_release(holds[i].hold);

    holds[i].hold = NULL;
    say(error);
}

static void tell_owner(const char *name)
{
    char owner[HF_OWNER_MAX + 1];

    hf_hold_owner(holds[find(name)].hold, owner, sizeof owner);
    printf("ok %s\n", owner);
}

struct counter {
    pthread_t thread;
    const char *name, *key;
    int64_t ttl_ms, until_ms;
    long count;
};

static long read_number(redisContext *raw, const char *key)
{
    redisReply *reply = redisCommand(raw, "GET %s", key);
    long number;

    if (!reply || reply->type == REDIS_REPLY_ERROR)
        die("GET");
    number = reply->str ? strtol(reply->str, NULL, 10) : 0;
    freeReplyObject(reply);
    return number;
}

static void *count_up(void *arg)
{
    struct counter *self = arg;
    redisContext *raw = redisConnect("127.0.0.1", port);

    if (!raw || raw->err)
        die("connect");
    while (now_ms() < self->until_ms) {
        hf_hold *hold = NULL;
        redisReply *reply;

        if (hf_acquire(client, self->name, HF_ACQUIRE(.ttl_ms = self->ttl_ms), &hold) != HF_OK)
            die("hf_acquire");
        reply = redisCommand(raw, "SET %s %ld", self->key, read_number(raw, self->key) + 1);
        if (!reply || reply->type == REDIS_REPLY_ERROR)
            die("SET");
        freeReplyObject(reply);
        self->count++;
        if (hf_release(hold) != HF_OK)
            die("hf_release");
        usleep(REST_US);
    }
    redisFree(raw);
    return NULL;
}

static void count(const char *name, const char *key, int64_t ttl_ms, size_t threads, int64_t ms)
{
    struct counter counter[THREADS];
    long sum = 0;

    if (threads > THREADS)
        die("too many threads");
    for (size_t i = 0; i < threads; i++) {
        counter[i] = (struct counter){
            .name = name, .key = key, .ttl_ms = ttl_ms, .until_ms = now_ms() + ms
        };
        if (pthread_create(&counter[i].thread, NULL, count_up, &counter[i]) != 0)
            die("no thread");
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(counter[i].thread, NULL);
        sum += counter[i].count;
    }
    printf("ok %ld\n", sum);
}

static void act(char *const *word)
{
    const char *verb = word[0], *name = word[1];

    if (strcmp(verb, "take") == 0)
        take(name, atoll(word[2]), 0, atoll(word[3]));
    else if (strcmp(verb, "lease") == 0)
        take(name, 0, atoll(word[2]), atoll(word[3]));
    else if (strcmp(verb, "give") == 0)
        give(name);
    else if (strcmp(verb, "check") == 0)
        say(hf_hold_verify(holds[find(name)].hold));
    else if (strcmp(verb, "owner") == 0)
        tell_owner(name);
    else if (strcmp(verb, "count") == 0)
        count(name, word[2], atoll(word[3]), (size_t)atoll(word[4]), atoll(word[5]));
    else
        die(verb);
}

int main(int argc, char **argv)
{
    char uri[512], line[1024], *word[WORDS];

    if (argc != 3)
        return 64;
    port = atoi(argv[1]);
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?%s", port, argv[2]);
    if (hf_open(uri, HF_CLIENT(.poll_ms = POLL_MS), &client) != HF_OK)
        die(uri);
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ok");
    while (fgets(line, sizeof line, stdin)) {
        char *rest = line;

        for (size_t i = 0; i < WORDS; i++) {
            word[i] = strtok_r(rest, " \n", &rest);
            if (!word[i])
                word[i] = rest = "";
        }
        act(word);
    }
    _exit(0);
}
