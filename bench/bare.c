/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The baseline: Holdfast's own scripts with arguments of the same sizes, on one connection, by
 * hiredis and nothing else: no lease, no deadline, no other thread, no second connection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "bench.h"
#include "store/redis/names.h"

#define HFI_SCRIPT_TEXTS
#include "redis_scripts.inc"
#undef HFI_SCRIPT_TEXTS

struct script {
    const char *name, *sha, *text;
};

static const struct script SCRIPTS[] = {
#define HFI_SCRIPT(name, sha, text, length) { #name, sha, text },
#include "redis_scripts.inc"
#undef HFI_SCRIPT
};

#define SCRIPT_COUNT (sizeof SCRIPTS / sizeof SCRIPTS[0])
#define CLIENT_ID    "01234567-89ab-4cde-8f01-23456789abcd"

static const char *sha_of(const char *name)
{
    for (size_t i = 0; i < SCRIPT_COUNT; i++)
        if (strcmp(SCRIPTS[i].name, name) == 0)
            return SCRIPTS[i].sha;
    bench_die("there is no script called %s", name);
}

static void measure(size_t *len, const char *const *argv, size_t argc)
{
    for (size_t i = 0; i < argc; i++)
        len[i] = strlen(argv[i]);
}

void bench_commands_init(struct bench_commands *c, const char *name)
{
    struct hfi_tags tags;
    size_t len = strlen(name);

    hfi_tags_init(&tags);
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    hfi_token_key(&tags, c->token_key, hfi_slot(name, len));
    c->channel[hfi_channel_name(c->channel, name, len, HFI_TOPIC_LOCK)] = '\0';
    snprintf(c->owner, sizeof c->owner, CLIENT_ID ":12345");
    memcpy(c->acquire,
           (const char *[]){ "EVALSHA", sha_of("acquire"), "2", c->name, c->token_key, c->owner,
                             "30000", "1" },
           sizeof c->acquire);
    memcpy(
        c->release,
        (const char *[]){ "EVALSHA", sha_of("release"), "2", c->name, c->channel, c->owner, "0" },
        sizeof c->release);
    measure(c->acquire_len, c->acquire, 8);
    measure(c->release_len, c->release, 7);
}

void bench_load_scripts(redisContext *redis)
{
    for (size_t i = 0; i < SCRIPT_COUNT; i++) {
        redisReply *reply = redisCommand(redis, "SCRIPT LOAD %s", SCRIPTS[i].text);

        if (!reply || reply->type != REDIS_REPLY_STRING || strcmp(reply->str, SCRIPTS[i].sha) != 0)
            bench_die("SCRIPT LOAD of %s failed", SCRIPTS[i].name);
        freeReplyObject(reply);
    }
}

/* ------------------------------------------------------------------------------------------------
 * One at a time
 */

static bool is_granted(const redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
           reply->element[0]->integer == 1;
}

static bool is_released(const redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0;
}

bool bench_bare_acquire(redisContext *redis, const struct bench_commands *c)
{
    redisReply *reply =
        redisCommandArgv(redis, 8, (const char **)c->acquire, (const size_t *)c->acquire_len);
    bool good = is_granted(reply);

    freeReplyObject(reply);
    return good;
}

bool bench_bare_release(redisContext *redis, const struct bench_commands *c)
{
    redisReply *reply =
        redisCommandArgv(redis, 7, (const char **)c->release, (const size_t *)c->release_len);
    bool good = is_released(reply);

    freeReplyObject(reply);
    return good;
}

/* ------------------------------------------------------------------------------------------------
 * Many in flight
 */

static void append_acquire(redisContext *redis, const struct bench_commands *c)
{
    redisAppendCommandArgv(redis, 8, (const char **)c->acquire, (const size_t *)c->acquire_len);
}

static void append_release(redisContext *redis, const struct bench_commands *c)
{
    redisAppendCommandArgv(redis, 7, (const char **)c->release, (const size_t *)c->release_len);
}

/* Sends what was appended, if nothing that came is left, and takes one reply. */
static void take(redisContext *redis, bool acquire)
{
    redisReply *reply = NULL;

    if (redisGetReply(redis, (void **)&reply) != REDIS_OK ||
        !(acquire ? is_granted(reply) : is_released(reply)))
        bench_die("the baseline got an answer that it did not expect");
    freeReplyObject(reply);
}

double bench_bare_batches(redisContext *redis, const struct bench_commands *commands, size_t count,
                          uint64_t ns)
{
    uint64_t start = bench_now(), now;
    size_t pairs = 0;

    do {
        for (size_t i = 0; i < count; i++)
            append_acquire(redis, &commands[i]);
        for (size_t i = 0; i < count; i++)
            take(redis, true);
        for (size_t i = 0; i < count; i++)
            append_release(redis, &commands[i]);
        for (size_t i = 0; i < count; i++)
            take(redis, false);
        pairs += count;
        now = bench_now();
    } while (now - start < ns);
    return (double)pairs * 1e9 / (double)(now - start);
}

/* Replies come in the order of the commands, so the locks take turns. */
double bench_bare_window(redisContext *redis, const struct bench_commands *commands, size_t count,
                         uint64_t ns)
{
    uint64_t start = bench_now(), now;
    size_t pairs = 0;

    for (size_t i = 0; i < count; i++)
        append_acquire(redis, &commands[i]);
    do {
        for (size_t i = 0; i < count; i++) {
            take(redis, true);
            append_release(redis, &commands[i]);
        }
        now = bench_now();
        for (size_t i = 0; i < count; i++) {
            take(redis, false);
            if (now - start < ns)
                append_acquire(redis, &commands[i]);
        }
        pairs += count;
    } while (now - start < ns);
    now = bench_now();
    return (double)pairs * 1e9 / (double)(now - start);
}

/* ------------------------------------------------------------------------------------------------
 * Renewals
 */

struct bench_renewal {
    size_t argc;
    const char **argv;
    size_t *len;
};

static const char *text_of(const char *format, size_t number)
{
    char *text = malloc(BENCH_NAME_MAX + sizeof CLIENT_ID);

    if (!text)
        bench_die("out of memory");
    snprintf(text, BENCH_NAME_MAX + sizeof CLIENT_ID, "%s%zu", format, number);
    return text;
}

struct bench_renewal *bench_bare_renewal_new(size_t count)
{
    struct bench_renewal *r = calloc(1, sizeof *r);
    size_t n = 0;

    if (r)
        r->argv = calloc(3 + 3 * count, sizeof *r->argv);
    if (r)
        r->len = calloc(3 + 3 * count, sizeof *r->len);
    if (!r || !r->argv || !r->len)
        bench_die("out of memory");
    r->argc = 3 + 3 * count;
    r->argv[n++] = text_of("EVALSHA", 0);
    r->argv[n++] = sha_of("renew");
    r->argv[n++] = text_of("", count);
    for (size_t i = 0; i < count; i++)
        r->argv[n++] = text_of("bench:many:", 100000 + i);
    for (size_t i = 0; i < count; i++) {
        r->argv[n++] = text_of("", BENCH_TTL_MS);
        r->argv[n++] = text_of(CLIENT_ID ":", 100000 + i);
    }
    measure(r->len, r->argv, r->argc);
    r->len[0] = strlen("EVALSHA"); /* without the number */
    return r;
}

void bench_bare_renew(redisContext *redis, const struct bench_renewal *r)
{
    redisReply *reply = redisCommandArgv(redis, (int)r->argc, r->argv, r->len);

    if (!reply || reply->type != REDIS_REPLY_ARRAY)
        bench_die("the baseline's renewal failed: %s", reply && reply->str ? reply->str : "");
    freeReplyObject(reply);
}

void bench_bare_renewal_free(struct bench_renewal *r)
{
    for (size_t i = 0; i < r->argc; i++)
        if (i != 1)
            free((void *)(uintptr_t)r->argv[i]);
    free(r->argv);
    free(r->len);
    free(r);
}
