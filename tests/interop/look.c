/* SPDX-License-Identifier: Apache-2.0 */
/* The data as they are, seen by neither side: keys, fields, ttls, channels, payloads. */
#include <string.h>
#include <time.h>

#include "interop/stage.h"

const char *channel_of(enum topic topic, const char *name)
{
    static const char *const prefix[] = {
        [TOPIC_LOCK] = "redisson_lock__channel",
        [TOPIC_TURN] = "redisson_lock__channel",
        [TOPIC_READ_WRITE] = "redisson_rwlock",
        [TOPIC_PERMITS] = "redisson_sc",
    };
    static char channel[256];

    if (topic == TOPIC_LATCH)
        snprintf(channel, sizeof channel, "redisson_countdownlatch__channel__{%s}", name);
    else
        snprintf(channel, sizeof channel, strchr(name, '{') ? "%s:%s" : "%s:{%s}", prefix[topic],
                 name);
    return channel;
}

long long wall_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------------------------------------
 * Keys
 */

void expect_ttl(struct stage *stage, const char *name, long long least_ms, long long most_ms)
{
    long long ttl = raw_integer(&stage->server, "PTTL %s", name);

    if (ttl < least_ms || ttl > most_ms)
        fail_msg("%s lives for %lld ms, not %lld to %lld", name, ttl, least_ms, most_ms);
}

static void expect_field(struct stage *stage, const char *name, const char *field,
                         const char *value)
{
    redisReply *reply = raw_reply(&stage->server, "HGET %s %s", name, field);

    if (reply->type != REDIS_REPLY_STRING || strcmp(reply->str, value) != 0)
        fail_msg("field %s of %s is %s, not %s", field, name,
                 reply->type == REDIS_REPLY_STRING ? reply->str : "missing", value);
    freeReplyObject(reply);
}

void expect_hash(struct stage *stage, const char *name, long long least_ttl_ms,
                 long long most_ttl_ms, const char *field, ...)
{
    long long count = 0, fields;
    va_list args;

    va_start(args, field);
    for (; field; field = va_arg(args, const char *), count++)
        expect_field(stage, name, field, va_arg(args, const char *));
    va_end(args);
    fields = raw_integer(&stage->server, "HLEN %s", name);
    if (fields != count)
        fail_msg("%s has %lld fields, not %lld", name, fields, count);
    expect_ttl(stage, name, least_ttl_ms, most_ttl_ms);
}

void expect_text(struct stage *stage, const char *name, const char *value)
{
    const char *now = raw_text(&stage->server, "GET %s", name);

    if (strcmp(now, value) != 0)
        fail_msg("%s is %s, not %s", name, now, value);
}

static bool begins(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

static bool is_among(const char *key, const char *name, va_list names)
{
    for (; name; name = va_arg(names, const char *))
        if (strcmp(key, name) == 0)
            return true;
    return false;
}

static bool is_own(const char *key)
{
    return begins(key, "holdfast") || begins(key, "redisson_unlock_latch:");
}

void expect_keys(struct stage *stage, const char *name, ...)
{
    redisReply *keys = raw_reply(&stage->server, "KEYS *");
    size_t count = 0, wanted = 0;
    va_list args, copy;

    va_start(args, name);
    for (size_t i = 0; i < keys->elements; i++) {
        const char *key = keys->element[i]->str;

        if (is_own(key))
            continue;
        va_copy(copy, args);
        if (!is_among(key, name, copy))
            fail_msg("a key that nobody should have made: %s", key);
        va_end(copy);
        count++;
    }
    for (; name; name = va_arg(args, const char *))
        wanted++;
    va_end(args);
    freeReplyObject(keys);
    if (count != wanted)
        fail_msg("there are %zu keys, not %zu", count, wanted);
}

/* ------------------------------------------------------------------------------------------------
 * Messages
 */

void listen_all(struct stage *stage)
{
    redisReply *reply;

    stage->ear = raw_open(&stage->server);
    reply = redisCommand(stage->ear, "PSUBSCRIBE redisson*");
    assert_non_null(reply);
    freeReplyObject(reply);
}

void expect_message(struct stage *stage, const char *channel, const char *payload)
{
    redisReply *message = raw_next(stage->ear, PATIENCE_MS);

    assert_non_null(message);
    assert_int_equal(message->elements, 4); /* pmessage, pattern, channel, payload */
    assert_string_equal(message->element[2]->str, channel);
    assert_string_equal(message->element[3]->str, payload);
    freeReplyObject(message);
}

/* All that was published before this PUBLISH would have come before it. */
void expect_no_message(struct stage *stage)
{
    raw_do(&stage->server, "PUBLISH redisson_interop_end end");
    expect_message(stage, "redisson_interop_end", "end");
}

long long count_subscribers(struct stage *stage, enum topic topic, const char *name)
{
    const char *channel = channel_of(topic, name);
    redisReply *reply;
    long long count;

    if (topic == TOPIC_TURN) {
        reply = raw_reply(&stage->server, "PUBSUB CHANNELS %s:*", channel);
        count = (long long)reply->elements;
    } else {
        reply = raw_reply(&stage->server, "PUBSUB NUMSUB %s", channel);
        assert_int_equal(reply->elements, 2);
        count = reply->element[1]->integer;
    }
    freeReplyObject(reply);
    return count;
}

/* A latch is looked at by GET. */
long long count_looks(struct server *server)
{
    return raw_calls(server, "eval") + raw_calls(server, "evalsha") + raw_calls(server, "get");
}
