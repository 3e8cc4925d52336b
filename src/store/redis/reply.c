/* SPDX-License-Identifier: Apache-2.0 */
/* A reply as an answer. Nothing in a reply is trusted: what does not have the expected shape is unknown. */
#include "store/redis/objects.h"
#include "store/redis/redis.h"
#include "store/redis/string.h"

void hfi_redis_unintelligible(struct hfi_redis *redis, struct hfi_request *request)
{
    hfi_redis_say(redis, "%s gave an answer that makes no sense", redis->uri.shown);
    hfi_redis_finish(redis, request, HFI_UNKNOWN, HF_ERR_UNSURE);
}

/* What is no lock to us may be one to others. */
static const char *advice(const struct hfi_redis *redis, const struct hfi_request *request,
                          const redisReply *reply)
{
    return request->op == HFI_OP_TRY && redis->uri.layout == HFI_LAYOUT_HASH &&
                   hfi_redis_error(reply) == HF_ERR_WRONG_TYPE
               ? " (for locks that are plain strings say ?layout=string)"
               : "";
}

/* Error replies are definite: every script checks before it writes. */
static void refused(struct hfi_redis *redis, struct hfi_request *request, const redisReply *reply)
{
    if (strncmp(reply->str, "NOSCRIPT", 8) == 0 && request->stage == HFI_STAGE_SHA) {
        request->stage = HFI_STAGE_TEXT;
        hfi_redis_queue_again(redis, request);
        return;
    }
    hfi_redis_say(redis, "%s: %s%s", redis->uri.shown, reply->str, advice(redis, request, reply));
    hfi_redis_finish(redis, request, HFI_NOT_DONE, hfi_redis_error(reply));
}

static bool is_integers(const redisReply *reply, size_t count)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (reply->element[i]->type != REDIS_REPLY_INTEGER)
            return false;
    return true;
}

static void done(struct hfi_redis *redis, struct hfi_request *request)
{
    hfi_redis_finish(redis, request, HFI_DONE, HF_OK);
}

/* A time in ms from now; what is negative, or too large to be counted, is never. */
static hfi_time hint(long long ms)
{
    return ms >= 0 && (hfi_time)ms < HF_TIME_NEVER / HFI_MSEC ? (hfi_time)ms * HFI_MSEC
                                                              : HF_TIME_NEVER;
}

/* Granted, by a first token and a number of them. */
static bool take_grant(struct hfi_lease *lease, const redisReply *reply)
{
    long long first, count;

    if (!is_integers(reply, 3))
        return false;
    first = reply->element[1]->integer;
    count = reply->element[2]->integer;
    if (first <= 0 || first >= HFI_TOKEN_LIMIT || count < 1 || count > (long long)lease->tokens)
        return false;
    lease->token = (uint64_t)first;
    lease->tokens = (uint32_t)count;
    return true;
}

/* Busy, by when to look again, what tells of it, and for kinds that have them whether there is a ticket. */
static bool take_hint(struct hfi_lease *lease, const redisReply *reply)
{
    bool plain = lease->kind <= HFI_KIND_FENCED;
    long long last = plain ? HFI_TOPIC_READ_WRITE : HFI_TOPIC_COUNT - 1;

    if (!is_integers(reply, plain ? 3 : 4) || reply->element[2]->integer < 0 ||
        reply->element[2]->integer > last)
        return false;
    lease->hint_ns = hint(reply->element[1]->integer);
    lease->topic = (uint8_t)reply->element[2]->integer;
    lease->ticket = !plain && reply->element[3]->integer == 1;
    return true;
}

/* {verdict, …}: see the scripts' heads. False: it makes no sense. */
static bool take_verdict(struct hfi_lease *lease, const redisReply *reply)
{
    static const enum hfi_verdict VERDICTS[] = { HFI_BUSY, HFI_GRANTED, HFI_ALREADY, HFI_GONE };
    long long said;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0 ||
        reply->element[0]->type != REDIS_REPLY_INTEGER)
        return false;
    said = reply->element[0]->integer;
    if (said < 0 || said > 3 || (said == 0 && !take_hint(lease, reply)) ||
        (said == 1 && !take_grant(lease, reply)) || (said == 3 && lease->kind != HFI_KIND_LATCH))
        return false;
    lease->verdict = (uint8_t)VERDICTS[said];
    return true;
}

static void answer_try(struct hfi_redis *redis, struct hfi_lease *lease, const redisReply *reply)
{
    lease->ticket = false;
    if (take_verdict(lease, reply))
        done(redis, &lease->request);
    else
        hfi_redis_unintelligible(redis, &lease->request);
}

static void answer_release(struct hfi_redis *redis, struct hfi_lease *lease,
                           const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_INTEGER) {
        hfi_redis_unintelligible(redis, &lease->request);
        return;
    }
    lease->verdict = reply->integer >= 0 ? HFI_RELEASED : HFI_GONE;
    lease->others = reply->integer > 0 ? (uint32_t)reply->integer : 0;
    done(redis, &lease->request);
}

static void answer_renewal(struct hfi_redis *redis, struct hfi_renewal *renewal,
                           const redisReply *reply)
{
    if (!is_integers(reply, renewal->count)) {
        hfi_redis_unintelligible(redis, &renewal->request);
        return;
    }
    for (size_t i = 0; i < renewal->count; i++)
        renewal->items[i].kept = reply->element[i]->integer == 1;
    done(redis, &renewal->request);
}

static void answer_announcement(struct hfi_redis *redis, struct hfi_announcement *announcement,
                                const redisReply *reply)
{
    announcement->forgotten = reply->type == REDIS_REPLY_INTEGER && reply->integer == 0;
    hfi_redis_watch_control(redis);
    done(redis, &announcement->request);
}

void hfi_redis_answer(struct hfi_redis *redis, hfi_time now, struct hfi_request *request,
                      const redisReply *reply)
{
    bool job =
        request->op == HFI_OP_LIST || request->op == HFI_OP_INSPECT || request->op == HFI_OP_BREAK;

    if (request->stage == HFI_STAGE_OWN) {
        hfi_compare_answer(redis, request, reply);
        return;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        refused(redis, request, reply);
        return;
    }
    if (job) {
        hfi_redis_job_answered(redis, now, request, reply);
        return;
    }
    switch ((enum hfi_op)request->op) {
    case HFI_OP_TRY:
        answer_try(redis, hfi_request_lease(request), reply);
        break;
    case HFI_OP_RELEASE:
        answer_release(redis, hfi_request_lease(request), reply);
        break;
    case HFI_OP_RENEW:
        answer_renewal(redis, hfi_request_renewal(request), reply);
        break;
    case HFI_OP_ANNOUNCE:
        answer_announcement(redis, hfi_request_announcement(request), reply);
        break;
    case HFI_OP_OBJECT:
        hfi_redis_answer_object(redis, hfi_request_object(request), reply);
        break;
    default:
        done(redis, request); /* CHECK, FAREWELL, LEAVE */
    }
}
