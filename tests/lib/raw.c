/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/raw.h"

#include <stdarg.h>
#include <string.h>
#include <sys/time.h>

static void log_in(redisContext *raw, const struct server *server)
{
    redisReply *reply;

    if (!server->password)
        return;
    reply = server->user ? redisCommand(raw, "AUTH %s %s", server->user, server->password)
                         : redisCommand(raw, "AUTH %s", server->password);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

redisContext *raw_open(const struct server *server)
{
    struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
    redisContext *raw = redisConnectWithTimeout("127.0.0.1", server->port, patience);

    assert_non_null(raw);
    if (raw->err)
        fail_msg("the server cannot be reached: %s", raw->errstr);
    redisSetTimeout(raw, patience);
    log_in(raw, server);
    return raw;
}

void raw_close(struct server *server)
{
    if (server->own)
        redisFree(server->own);
    server->own = NULL;
}

static redisReply *ask(struct server *server, const char *format, va_list args)
{
    redisReply *reply;
    va_list again;

    if (!server->own)
        server->own = raw_open(server);
    va_copy(again, args);
    reply = redisvCommand(server->own, format, args);
    if (!reply) { /* it was killed together with all others: once more */
        raw_close(server);
        server->own = raw_open(server);
        reply = redisvCommand(server->own, format, again);
    }
    va_end(again);
    if (!reply)
        fail_msg("no answer to %s: %s", format, server->own->errstr);
    return reply;
}

static redisReply *ask_well(struct server *server, const char *format, va_list args)
{
    redisReply *reply = ask(server, format, args);

    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", format, reply->str);
    return reply;
}

redisReply *raw_reply(struct server *server, const char *format, ...)
{
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = ask(server, format, args);
    va_end(args);
    return reply;
}

void raw_do(struct server *server, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    freeReplyObject(ask_well(server, format, args));
    va_end(args);
}

long long raw_integer(struct server *server, const char *format, ...)
{
    redisReply *reply;
    long long number;
    va_list args;

    va_start(args, format);
    reply = ask_well(server, format, args);
    va_end(args);
    number = reply->type == REDIS_REPLY_ARRAY ? (long long)reply->elements : reply->integer;
    freeReplyObject(reply);
    return number;
}

const char *raw_text(struct server *server, const char *format, ...)
{
    static char text[1 << 16];
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = ask_well(server, format, args);
    va_end(args);
    snprintf(text, sizeof text, "%s", reply->str ? reply->str : "");
    freeReplyObject(reply);
    return text;
}

const char *raw_info(struct server *server, const char *section, const char *key)
{
    static char value[256];
    const char *at = raw_text(server, "INFO %s", section);
    char head[128];

    snprintf(head, sizeof head, "\n%s:", key);
    at = strstr(at, head);
    at = at ? at + strlen(head) : "";
    snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\r\n"), at);
    return value;
}

void raw_send(redisContext *raw, const char *format, ...)
{
    va_list args;
    int done = 0;

    va_start(args, format);
    assert_int_equal(redisvAppendCommand(raw, format, args), REDIS_OK);
    va_end(args);
    while (!done)
        assert_int_equal(redisBufferWrite(raw, &done), REDIS_OK);
}

redisReply *raw_next(redisContext *raw, int ms)
{
    struct timeval patience = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
    void *reply = NULL;

    redisSetTimeout(raw, patience);
    if (redisGetReply(raw, &reply) != REDIS_OK) {
        raw->err = 0; /* a time-out: nothing was read in part, replies here are small */
        raw->errstr[0] = '\0';
        return NULL;
    }
    return reply;
}

int raw_count_clients(struct server *server, const char *name)
{
    const char *at = raw_text(server, "CLIENT LIST");
    char head[128];
    int count = 0;

    snprintf(head, sizeof head, " name=%s", name);
    for (; (at = strstr(at, head)); at++)
        count++;
    return count;
}

long long raw_calls(struct server *server, const char *command)
{
    char key[64];
    const char *value;

    snprintf(key, sizeof key, "cmdstat_%s", command);
    value = raw_info(server, "commandstats", key);
    return strncmp(value, "calls=", 6) == 0 ? atoll(value + 6) : 0;
}
