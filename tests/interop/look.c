/* SPDX-License-Identifier: Apache-2.0 */
/* The data as they are, seen by neither side: keys, fields, ttls, channels, payloads. */
#include <string.h>

#include "interop/stage.h"

void expect_hash(struct stage *stage, const char *name, const char *field, const char *value,
                 long long least_ttl_ms, long long most_ttl_ms)
{
    redisReply *hash = raw_reply(&stage->server, "HGETALL %s", name);
    long long ttl = raw_integer(&stage->server, "PTTL %s", name);

    assert_int_equal(hash->type, REDIS_REPLY_ARRAY);
    assert_int_equal(hash->elements, 2);
    assert_string_equal(hash->element[0]->str, field);
    assert_string_equal(hash->element[1]->str, value);
    freeReplyObject(hash);
    if (ttl < least_ttl_ms || ttl > most_ttl_ms)
        fail_msg("%s lives for %lld ms, not %lld to %lld", name, ttl, least_ttl_ms, most_ttl_ms);
}

void expect_none(struct stage *stage, const char *name)
{
    assert_int_equal(raw_integer(&stage->server, "EXISTS %s", name), 0);
}

static bool begins(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

void expect_no_other_keys(struct stage *stage, const char *name)
{
    redisReply *keys = raw_reply(&stage->server, "KEYS *");

    for (size_t i = 0; i < keys->elements; i++) {
        const char *key = keys->element[i]->str;

        if (strcmp(key, name) != 0 && !begins(key, "holdfast:token:{") &&
            !begins(key, "holdfast:client:") && !begins(key, "redisson_unlock_latch:"))
            fail_msg("a key that nobody should have made: %s", key);
    }
    freeReplyObject(keys);
}

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

long long count_subscribers(struct stage *stage, const char *channel)
{
    redisReply *reply = raw_reply(&stage->server, "PUBSUB NUMSUB %s", channel);
    long long count;

    assert_int_equal(reply->elements, 2);
    count = reply->element[1]->integer;
    freeReplyObject(reply);
    return count;
}

long long count_scripts(struct server *server)
{
    return raw_calls(server, "eval") + raw_calls(server, "evalsha");
}
