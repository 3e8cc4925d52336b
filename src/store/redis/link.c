/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection, as far as its bytes and its life go.
 *
 *   DOWN -> DIALING (the host connects) -> GREETING (what must be said first) -> READY
 *     ^________________________________________________________________________|
 *          lost: an error, a refusal, or no answer in time
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis/redis.h"

static struct hfi_redis *redis_of(struct hfi_store *store)
{
    return (struct hfi_redis *)store;
}

static bool is_needed(const struct hfi_redis *redis, unsigned number)
{
    if (number == HFI_REDIS_WAKEUPS)
        return redis->subscriptions != NULL;
    return redis->pending || redis->again;
}

enum hfi_link_want hfi_redis_want(struct hfi_store *store, unsigned number, hfi_time now)
{
    struct hfi_redis *redis = redis_of(store);
    struct hfi_redis_link *link = &redis->link[number];

    if (link->drop)
        return HFI_LINK_DROP;
    if (link->state != HFI_LINK_DOWN)
        return HFI_LINK_KEEP;
    if (redis->abandoned || !is_needed(redis, number) || now < link->retry_ns)
        return HFI_LINK_NONE;
    link->state = HFI_LINK_DIALING;
    link->ready_by = now + redis->connect_timeout_ns;
    return HFI_LINK_DIAL;
}

/* What a connection needs; kept from one to the next. */
static bool equip(struct hfi_redis_link *link)
{
    if (!link->reader)
        link->reader = redisReaderCreate();
    if (!link->out)
        link->out = malloc(HFI_REDIS_OUT_SIZE);
    return link->reader && link->out;
}

void hfi_redis_connected(struct hfi_store *store, unsigned number, hfi_time now)
{
    struct hfi_redis *redis = redis_of(store);
    struct hfi_redis_link *link = &redis->link[number];
    struct hfi_resp resp;

    if (!equip(link)) {
        hfi_redis_say(redis, "no memory for a connection to %s", redis->uri.shown);
        hfi_redis_drop(redis, number);
        return;
    }
    link->state = HFI_LINK_GREETING;
    link->ready_by = now + redis->op_timeout_ns;
    resp = (struct hfi_resp){ .at = link->out, .end = link->out + HFI_REDIS_OUT_SIZE };
    hfi_redis_greet(redis, number, &resp);
    link->out_start = 0;
    link->out_end = (size_t)(resp.at - link->out);
}

void hfi_redis_drop(struct hfi_redis *redis, unsigned number)
{
    redis->link[number].drop = true;
}

/* At once after a connection that was of use. One that was made and then answered nothing is tried again at
 * once a single time: a server that ends it whenever it is asked is not to be asked in a circle. */
static hfi_time pause_before_next(struct hfi_redis *redis, struct hfi_redis_link *link,
                                  bool was_ready)
{
    bool first = was_ready && link->backoff.failures == 0;
    hfi_time pause;

    if (link->served) {
        hfi_backoff_reset(&link->backoff);
        return 0;
    }
    pause = hfi_backoff_next(&link->backoff, &redis->random, HFI_REDIS_RETRY_FIRST,
                             HFI_REDIS_RETRY_MOST);
    return first ? 0 : pause;
}

void hfi_redis_lost(struct hfi_store *store, unsigned number, hfi_time now, const char *why)
{
    struct hfi_redis *redis = redis_of(store);
    struct hfi_redis_link *link = &redis->link[number];
    bool was_ready = link->state == HFI_LINK_READY, dropped = link->drop;

    hfi_trace(&redis->store.trace, HF_TRACE_INFO, "%s: %s connection: %s", redis->uri.shown,
              number == HFI_REDIS_COMMANDS ? "command" : "wake-up", why);
    link->state = HFI_LINK_DOWN;
    link->drop = false;
    link->out_start = link->out_end = 0;
    if (link->reader)
        redisReaderFree(link->reader);
    link->reader = NULL;
    link->retry_ns = now + pause_before_next(redis, link, was_ready);
    link->served = false;
    if (number == HFI_REDIS_WAKEUPS) {
        hfi_redis_unsubscribed(redis);
        return;
    }
    if (redis->refusal || dropped) /* we know better than the host */
        snprintf(redis->why_down, sizeof redis->why_down, "%s", redis->store.detail);
    else
        snprintf(redis->why_down, sizeof redis->why_down, "%.*s: %.80s", HFI_SHOWN_MAX,
                 redis->uri.shown, why);
    hfi_redis_say_why_down(redis);
    hfi_redis_forsake(redis);
    if (was_ready)
        return; /* what was not sent yet waits for the next connection */
    hfi_redis_refuse_pending(redis, redis->refusal ? redis->refusal : HF_ERR_UNREACHABLE);
    redis->refusal = HF_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Bytes out
 */

/* Moves what is left to the front, so that there is room for whole commands. */
static void compact(struct hfi_redis_link *link)
{
    if (link->out_start == 0)
        return;
    memmove(link->out, link->out + link->out_start, link->out_end - link->out_start);
    link->out_end -= link->out_start;
    link->out_start = 0;
}

static bool encode_one(struct hfi_redis *redis, hfi_time now, struct hfi_request **list,
                       struct hfi_resp *resp)
{
    struct hfi_request *request = *list;

    if (!request || redis->sent_count >= HFI_REDIS_SENT_MAX)
        return false;
    if (!hfi_redis_encode(redis, now, request, resp))
        return false;
    DL_DELETE(*list, request);
    request->sent_ns = now;
    DL_APPEND(redis->sent, request);
    redis->sent_count++;
    redis->answer_by = hfi_time_min(redis->answer_by, request->deadline_ns);
    return true;
}

/* What is to be sent again goes first, and not before all that was sent has been answered: among it may be more of
 * the kind, asked for earlier than anything that is pending. */
static bool may_send(const struct hfi_redis *redis)
{
    if (redis->again)
        return !redis->sent;
    return redis->pending && redis->sent_count < HFI_REDIS_SENT_MAX;
}

static void encode_requests(struct hfi_redis *redis, hfi_time now, struct hfi_resp *resp)
{
    if (!may_send(redis))
        return;
    while (encode_one(redis, now, &redis->again, resp))
        ;
    if (redis->again)
        return; /* in order */
    while (encode_one(redis, now, &redis->pending, resp))
        ;
    if (!redis->pending)
        redis->pending_by = HF_TIME_NEVER;
}

bool hfi_redis_has_output(struct hfi_store *store, unsigned number)
{
    struct hfi_redis *redis = redis_of(store);
    const struct hfi_redis_link *link = &redis->link[number];

    if (link->drop || link->state == HFI_LINK_DOWN || link->state == HFI_LINK_DIALING)
        return false;
    if (link->out_end > link->out_start)
        return true;
    if (link->state != HFI_LINK_READY)
        return false;
    if (number == HFI_REDIS_WAKEUPS)
        return redis->to_send != NULL;
    return may_send(redis);
}

size_t hfi_redis_produce(struct hfi_store *store, unsigned number, hfi_time now,
                         const char **ret_bytes)
{
    struct hfi_redis *redis = redis_of(store);
    struct hfi_redis_link *link = &redis->link[number];

    if (link->drop)
        return 0;
    if (link->state == HFI_LINK_READY) {
        struct hfi_resp resp;

        compact(link);
        resp = (struct hfi_resp){ .at = link->out + link->out_end,
                                  .end = link->out + HFI_REDIS_OUT_SIZE };
        if (number == HFI_REDIS_COMMANDS)
            encode_requests(redis, now, &resp);
        else
            hfi_redis_encode_subscriptions(redis, &resp);
        link->out_end = (size_t)(resp.at - link->out);
    }
    *ret_bytes = link->out + link->out_start;
    return link->out_end - link->out_start;
}

void hfi_redis_produced(struct hfi_store *store, unsigned number, size_t count)
{
    struct hfi_redis_link *link = &redis_of(store)->link[number];

    link->out_start += count;
    if (link->out_start == link->out_end)
        link->out_start = link->out_end = 0;
}

/* ------------------------------------------------------------------------------------------------
 * Bytes in
 */

static void become_ready(struct hfi_redis *redis, unsigned number, hfi_time now)
{
    struct hfi_redis_link *link = &redis->link[number];

    link->state = HFI_LINK_READY;
    if (number == HFI_REDIS_WAKEUPS) {
        redis->heard_ns = now;
        redis->pinged = false;
        return;
    }
    redis->why_down[0] = '\0';
    redis->restored |= redis->was_up;
    redis->was_up = true;
}

/* The end of an old connection, if there is one to be ended. */
static bool greets_again(struct hfi_redis *redis, unsigned number)
{
    struct hfi_redis_link *link = &redis->link[number];
    struct hfi_resp resp;

    if (number != HFI_REDIS_COMMANDS)
        return false;
    resp.at = link->out + link->out_end;
    resp.end = link->out + HFI_REDIS_OUT_SIZE;
    resp.full = false;
    if (!hfi_redis_greet_again(redis, &resp))
        return false;
    link->out_end = (size_t)(resp.at - link->out);
    return true;
}

static void greeted(struct hfi_redis *redis, unsigned number, hfi_time now, const redisReply *reply)
{
    struct hfi_redis_link *link = &redis->link[number];
    int refusal = hfi_redis_greeted(redis, number, reply);

    if (refusal) {
        if (number == HFI_REDIS_COMMANDS)
            redis->refusal = refusal;
        hfi_redis_drop(redis, number);
    } else if (link->greeted == link->greetings && !greets_again(redis, number)) {
        become_ready(redis, number, now);
    }
}

static void answered(struct hfi_redis *redis, hfi_time now, const redisReply *reply)
{
    struct hfi_request *request = redis->sent;

    if (!request) {
        hfi_redis_say(redis, "%s sent what was not asked for", redis->uri.shown);
        hfi_redis_drop(redis, HFI_REDIS_COMMANDS);
        return;
    }
    DL_DELETE(redis->sent, request);
    redis->sent_count--;
    if (!redis->sent)
        redis->answer_by = HF_TIME_NEVER;
    hfi_redis_answer(redis, now, request, reply);
}

static void take_reply(struct hfi_redis *redis, unsigned number, hfi_time now,
                       const redisReply *reply)
{
    struct hfi_redis_link *link = &redis->link[number];

    if (link->state == HFI_LINK_GREETING) {
        greeted(redis, number, now, reply);
        return;
    }
    link->served = true;
    if (number == HFI_REDIS_COMMANDS)
        answered(redis, now, reply);
    else
        hfi_redis_hear(redis, reply);
}

static void garbled(struct hfi_redis *redis, unsigned number)
{
    hfi_redis_say(redis, "%s gave an answer that is no answer of Redis", redis->uri.shown);
    hfi_redis_drop(redis, number);
}

void hfi_redis_consume(struct hfi_store *store, unsigned number, hfi_time now, const char *bytes,
                       size_t count)
{
    struct hfi_redis *redis = redis_of(store);
    struct hfi_redis_link *link = &redis->link[number];
    void *reply = NULL;

    if (number == HFI_REDIS_WAKEUPS) {
        redis->heard_ns = now;
        redis->pinged = false;
    }
    if (link->drop)
        return;
    if (redisReaderFeed(link->reader, bytes, count) != REDIS_OK)
        garbled(redis, number);
    while (!link->drop && redisReaderGetReply(link->reader, &reply) == REDIS_OK && reply) {
        take_reply(redis, number, now, reply);
        freeReplyObject(reply);
        reply = NULL;
    }
    if (link->reader->err)
        garbled(redis, number);
}

bool hfi_redis_expects(struct hfi_store *store, unsigned number)
{
    struct hfi_redis *redis = redis_of(store);

    return redis->link[number].state == HFI_LINK_GREETING ||
           (number == HFI_REDIS_COMMANDS ? redis->sent != NULL : redis->unconfirmed != NULL);
}

/* ------------------------------------------------------------------------------------------------
 * Time
 */

hfi_time hfi_redis_link_deadline(struct hfi_redis *redis, unsigned number)
{
    struct hfi_redis_link *link = &redis->link[number];

    if (link->drop)
        return HF_TIME_NEVER;
    switch (link->state) {
    case HFI_LINK_DOWN:
        return is_needed(redis, number) && !redis->abandoned ? link->retry_ns : HF_TIME_NEVER;
    case HFI_LINK_DIALING:
    case HFI_LINK_GREETING:
        return link->ready_by;
    case HFI_LINK_READY:
        break;
    }
    if (number == HFI_REDIS_COMMANDS)
        return redis->answer_by;
    /* With only our own channel to listen to it is left alone: whoever holds something asks by renewing. */
    if (redis->watch_count == 0)
        return HF_TIME_NEVER;
    return redis->heard_ns + (redis->pinged ? redis->op_timeout_ns : HFI_REDIS_QUIET);
}

static void say_hello(struct hfi_redis *redis, hfi_time now)
{
    static const char PING[] = "*1\r\n$4\r\nPING\r\n";
    struct hfi_redis_link *link = &redis->link[HFI_REDIS_WAKEUPS];

    redis->pinged = true;
    redis->heard_ns = now; /* it may have been long ago, when nobody listened */
    if (HFI_REDIS_OUT_SIZE - link->out_end < sizeof PING)
        return;
    memcpy(link->out + link->out_end, PING, sizeof PING - 1);
    link->out_end += sizeof PING - 1;
}

void hfi_redis_link_tick(struct hfi_redis *redis, unsigned number, hfi_time now)
{
    struct hfi_redis_link *link = &redis->link[number];

    if (link->drop || link->state == HFI_LINK_DOWN || now < hfi_redis_link_deadline(redis, number))
        return;
    if (link->state == HFI_LINK_READY && number == HFI_REDIS_COMMANDS) {
        redis->answer_by = hfi_redis_soonest(redis->sent);
        if (now < redis->answer_by)
            return;
    }
    if (link->state == HFI_LINK_READY && number == HFI_REDIS_WAKEUPS && !redis->pinged) {
        say_hello(redis, now);
        return;
    }
    hfi_redis_say(redis, "%s does not answer", redis->uri.shown);
    hfi_redis_drop(redis, number);
}
