/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that are strings (string.c), given back and renewed by the server's own commands where it has them:
 * DELIFEQ (Valkey 9) or DELEX … IFEQ (Redis 8.4), and SET … IFEQ. A request is then several commands in a row,
 * with a reply each, which need not be done at the same moment:
 *   RELEASE  compare and delete, PUBLISH
 *   RENEW    for each item SET … IFEQ … PX, or GET where it is only looked at
 *
 * Invariants
 *   1. only the head of `sent` has had some of its replies and not yet all (redis->head);
 *   2. when the server refuses such a command for any reason but the type of the key (memory, rights), the
 *      request goes again, by its script, whose answer is the one that counts; repeating does no harm.
 */
#include <string.h>

#include "store/redis/string.h"

static void encode_release(struct hfi_redis *redis, struct hfi_resp *resp,
                           const struct hfi_lease *lease)
{
    struct hfi_mapped lock = hfi_redis_map(redis, lease->name, lease->name_len);
    bool delex = redis->compare == HFI_COMPARE_DELEX;

    hfi_resp_command(resp, delex ? 4 : 3);
    hfi_resp_text(resp, delex ? "DELEX" : "DELIFEQ");
    hfi_resp_bytes(resp, lock.name, lock.len);
    if (delex)
        hfi_resp_text(resp, "IFEQ");
    hfi_string_put_owner(redis, resp, lease);
    hfi_resp_command(resp, 3);
    hfi_resp_text(resp, "PUBLISH");
    hfi_string_put_channel(resp, lock);
    hfi_resp_text(resp, HFI_STRING_UNLOCKED);
}

static void encode_renewal(struct hfi_redis *redis, struct hfi_resp *resp,
                           const struct hfi_renewal *renewal)
{
    for (size_t i = 0; i < renewal->count; i++) {
        const struct hfi_renewal_item *item = &renewal->items[i];

        hfi_resp_command(resp, item->ttl_ms ? 7 : 2);
        hfi_resp_text(resp, item->ttl_ms ? "SET" : "GET");
        hfi_string_put_name(redis, resp, item->lease);
        if (!item->ttl_ms)
            continue;
        hfi_string_put_owner(redis, resp, item->lease);
        hfi_resp_text(resp, "IFEQ");
        hfi_string_put_owner(redis, resp, item->lease);
        hfi_resp_text(resp, "PX");
        hfi_resp_number(resp, item->ttl_ms);
    }
}

/* Is it to be done so? Not when it was refused before, nor what wakes others by more than a message. */
static bool compares(struct hfi_redis *redis, const struct hfi_request *request)
{
    const struct hfi_lease *lease = (const struct hfi_lease *)request;

    if (redis->compare == HFI_COMPARE_NONE || request->stage != HFI_STAGE_SHA)
        return false;
    return request->op == HFI_OP_RENEW ||
           (request->op == HFI_OP_RELEASE &&
            !hfi_string_is_signalled(hfi_redis_map(redis, lease->name, lease->name_len)));
}

bool hfi_compare_encode(struct hfi_redis *redis, struct hfi_resp *resp, struct hfi_request *request)
{
    if (!compares(redis, request))
        return false;
    if (request->op == HFI_OP_RELEASE)
        encode_release(redis, resp, hfi_request_lease(request));
    else
        encode_renewal(redis, resp, hfi_request_renewal(request));
    if (!resp->full)
        request->stage = HFI_STAGE_OWN;
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 */

static void refused(struct hfi_redis *redis, const redisReply *reply)
{
    if (redis->compare != HFI_COMPARE_NONE)
        hfi_trace(&redis->store.trace, HF_TRACE_INFO, "%s: locks are compared by scripts now: %s",
                  redis->uri.shown, reply->str);
    redis->compare = HFI_COMPARE_NONE; /* until there is a new connection */
    redis->head.refused = true;
}

/* The type of a key is an answer; everything else that is wrong is none. False: no answer. */
static bool is_answer(struct hfi_redis *redis, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ERROR)
        return true;
    if (hfi_redis_error(reply) == HF_ERR_WRONG_TYPE)
        return true;
    refused(redis, reply);
    return false;
}

static void take_release(struct hfi_redis *redis, struct hfi_lease *lease, const redisReply *reply)
{
    bool is_integer = reply->type == REDIS_REPLY_INTEGER;

    if (redis->head.replies == 1) { /* PUBLISH's; what is done is done, also when it is denied */
        lease->others = is_integer && reply->integer > 0 ? (uint32_t)reply->integer : 0;
        return;
    }
    lease->verdict = HFI_GONE;
    if (!is_answer(redis, reply) || reply->type == REDIS_REPLY_ERROR)
        return;
    if (is_integer && reply->integer == 1)
        lease->verdict = HFI_RELEASED;
    else if (!is_integer || reply->integer != 0)
        redis->head.garbled = true;
}

static bool is_owner(struct hfi_redis *redis, const struct hfi_lease *lease,
                     const redisReply *reply)
{
    char text[sizeof redis->identity->id + 1 + 20];
    size_t n = strlen(redis->identity->id);

    memcpy(text, redis->identity->id, n);
    text[n++] = ':';
    n += hfi_decimal(text + n, lease->owner);
    return (size_t)reply->len == n && memcmp(reply->str, text, n) == 0;
}

static void take_renewal(struct hfi_redis *redis, struct hfi_renewal *renewal,
                         const redisReply *reply)
{
    struct hfi_renewal_item *item = &renewal->items[redis->head.replies];

    item->kept = false;
    if (!is_answer(redis, reply) || reply->type == REDIS_REPLY_ERROR ||
        reply->type == REDIS_REPLY_NIL)
        return;
    if (item->ttl_ms == 0 && reply->type == REDIS_REPLY_STRING)
        item->kept = is_owner(redis, item->lease, reply);
    else if (item->ttl_ms != 0 && reply->type == REDIS_REPLY_STATUS)
        item->kept = true;
    else
        redis->head.garbled = true;
}

static void over(struct hfi_redis *redis, struct hfi_request *request)
{
    struct hfi_redis_head head = redis->head;

    memset(&redis->head, 0, sizeof redis->head);
    if (head.garbled) {
        hfi_redis_say(redis, "%s gave an answer that makes no sense", redis->uri.shown);
        hfi_redis_finish(redis, request, HFI_UNKNOWN, HF_ERR_UNSURE);
    } else if (head.refused) {
        request->stage = HFI_STAGE_SHA;
        hfi_redis_queue_again(redis, request);
    } else {
        hfi_redis_finish(redis, request, HFI_DONE, HF_OK);
    }
}

void hfi_compare_answer(struct hfi_redis *redis, struct hfi_request *request,
                        const redisReply *reply)
{
    size_t wanted = 2;

    if (request->op == HFI_OP_RELEASE) {
        take_release(redis, hfi_request_lease(request), reply);
    } else {
        take_renewal(redis, hfi_request_renewal(request), reply);
        wanted = hfi_request_renewal(request)->count;
    }
    if (++redis->head.replies < wanted) {
        DL_PREPEND(redis->sent, request);
        redis->sent_count++;
        redis->answer_by = hfi_time_min(redis->answer_by, request->deadline_ns);
    } else {
        over(redis, request);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The greeting
 */

static bool has(const redisReply *reply, size_t i)
{
    return reply->type == REDIS_REPLY_ARRAY && i < reply->elements &&
           reply->element[i]->type == REDIS_REPLY_ARRAY && reply->element[i]->elements > 0;
}

/* Denied, or empty where there is none: scripts do as well. */
int hfi_compare_judge(struct hfi_redis *redis, const redisReply *reply)
{
    redis->compare = has(reply, 0)   ? HFI_COMPARE_DELIFEQ
                     : has(reply, 1) ? HFI_COMPARE_DELEX
                                     : HFI_COMPARE_NONE;
    return HF_OK;
}
