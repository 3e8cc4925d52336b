/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subscriptions: which channels the wake-up connection listens to, and which watches a message wakes.
 *
 * Invariants
 *   1. a watch that was submitted is in the list of exactly one subscription until its UNWATCH;
 *   2. a subscription without watches is LEAVING, or SENT and will leave when it is answered, or the
 *      control channel's; so at most one SUBSCRIBE of a channel is unconfirmed;
 *   3. a WATCH is finished as DONE only when the server has confirmed its channel on this connection; after
 *      a new connection every watch is woken when its channel is confirmed again.
 */
#include <stdlib.h>
#include <string.h>

#include "store/redis/redis.h"

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(sub) ((sub)->channel_len = 0) /* a mark: it is not in the map */

static struct hfi_subscription *find(struct hfi_redis *redis, const char *channel, size_t len)
{
    struct hfi_subscription *sub;

    HASH_FIND(hh, redis->subscriptions, channel, len, sub);
    return sub;
}

static void set_to_send(struct hfi_redis *redis, struct hfi_subscription *sub, bool to_send)
{
    if (to_send && !sub->to_send)
        DL_APPEND(redis->to_send, sub);
    if (!to_send && sub->to_send)
        DL_DELETE(redis->to_send, sub);
    sub->to_send = to_send;
}

static struct hfi_subscription *make(struct hfi_redis *redis, const char *channel, size_t len)
{
    struct hfi_subscription *sub = calloc(1, sizeof *sub + len);

    if (!sub)
        return NULL;
    memcpy(sub->channel, channel, len);
    sub->channel_len = len;
    HASH_ADD_KEYPTR(hh, redis->subscriptions, sub->channel, len, sub);
    if (sub->channel_len == 0) {
        free(sub);
        return NULL;
    }
    set_to_send(redis, sub, true);
    return sub;
}

static void discard(struct hfi_redis *redis, struct hfi_subscription *sub)
{
    set_to_send(redis, sub, false);
    HASH_DEL(redis->subscriptions, sub);
    free(sub);
}

/* Nobody needs the channel any more. */
static void leave(struct hfi_redis *redis, struct hfi_subscription *sub)
{
    if (sub->watches || sub->control || sub->stage == HFI_SUB_SENT)
        return; /* one SUBSCRIBE at a time: its confirmation comes first */
    if (sub->stage == HFI_SUB_WANTED || sub->stage == HFI_SUB_DENIED) {
        discard(redis, sub); /* the server knows nothing of it */
        return;
    }
    sub->stage = HFI_SUB_LEAVING;
    set_to_send(redis, sub, true);
}

static void join(struct hfi_redis *redis, struct hfi_subscription *sub)
{
    if (sub->stage != HFI_SUB_LEAVING)
        return;
    sub->stage = HFI_SUB_ACTIVE; /* the UNSUBSCRIBE is not sent yet */
    set_to_send(redis, sub, false);
}

static void wake(struct hfi_redis *redis, struct hfi_watch *watch)
{
    if (watch->woken)
        return;
    watch->woken = true;
    LL_APPEND2(redis->woken, watch, next_woken);
}

struct hfi_watch *hfi_redis_woken(struct hfi_store *store)
{
    struct hfi_redis *redis = (struct hfi_redis *)store;
    struct hfi_watch *watch = redis->woken;

    if (!watch)
        return NULL;
    redis->woken = watch->next_woken;
    watch->next_woken = NULL;
    watch->woken = false;
    return watch;
}

static void take_out(struct hfi_redis *redis, struct hfi_watch *watch)
{
    struct hfi_subscription *sub = watch->store_data;

    if (watch->woken)
        LL_DELETE2(redis->woken, watch, next_woken);
    watch->woken = false;
    watch->next_woken = NULL;
    if (!sub)
        return;
    DL_DELETE(sub->watches, watch);
    redis->watch_count--;
    watch->store_data = NULL;
    leave(redis, sub);
}

/* Only the WATCH itself: what is asked for by the same memory otherwise is answered on the command link. */
static bool is_unconfirmed(const struct hfi_watch *watch)
{
    return watch->request.op == HFI_OP_WATCH && watch->request.outcome == HFI_PENDING;
}

void hfi_redis_watch(struct hfi_redis *redis, struct hfi_watch *watch)
{
    char channel[HFI_CHANNEL_MAX];
    struct hfi_mapped lock = hfi_redis_map(redis, watch->name, watch->name_len);
    size_t len =
        watch->topic == HFI_TOPIC_TURN
            ? hfi_turn_channel_name(channel, lock.name, lock.len, redis->identity->id, watch->owner)
            : hfi_channel_name(channel, lock.name, lock.len, watch->topic);
    struct hfi_subscription *sub = find(redis, channel, len);

    if (watch->store_data && watch->store_data != sub)
        take_out(redis, watch); /* it listened to another kind's channel */
    if (!sub)
        sub = make(redis, channel, len);
    if (!sub) {
        hfi_redis_finish(redis, &watch->request, HFI_NOT_DONE, HF_ERR_NO_MEMORY);
        return;
    }
    join(redis, sub);
    if (!watch->store_data) {
        watch->deleted = false;
        DL_APPEND(sub->watches, watch);
        redis->watch_count++;
    }
    watch->store_data = sub;
    if (sub->stage == HFI_SUB_ACTIVE)
        hfi_redis_finish(redis, &watch->request, HFI_DONE, HF_OK);
    else if (sub->stage == HFI_SUB_DENIED)
        hfi_redis_finish(redis, &watch->request, HFI_NOT_DONE, HF_ERR_PERMISSION);
    else
        redis->confirm_by = hfi_time_min(redis->confirm_by, watch->request.deadline_ns);
}

void hfi_redis_unwatch(struct hfi_redis *redis, struct hfi_watch *watch)
{
    take_out(redis, watch);
    hfi_redis_finish(redis, &watch->request, HFI_DONE, HF_OK);
}

void hfi_redis_watch_control(struct hfi_redis *redis)
{
    char channel[sizeof HFI_CLIENT_PREFIX + sizeof redis->identity->id];
    size_t head = sizeof HFI_CLIENT_PREFIX - 1, tail = strlen(redis->identity->id);
    struct hfi_subscription *sub;

    if (redis->announced)
        return;
    memcpy(channel, HFI_CLIENT_PREFIX, head);
    memcpy(channel + head, redis->identity->id, tail);
    sub = make(redis, channel, head + tail);
    if (!sub)
        return; /* the next announcement tries again */
    sub->control = true;
    sub->missed = true; /* nobody could tell us of what was taken away so far */
    redis->announced = true;
}

void hfi_redis_encode_subscriptions(struct hfi_redis *redis, struct hfi_resp *resp)
{
    struct hfi_subscription *sub, *tmp;

    DL_FOREACH_SAFE (redis->to_send, sub, tmp) {
        char *start = resp->at;
        bool leaving = sub->stage == HFI_SUB_LEAVING;

        hfi_resp_command(resp, 2);
        hfi_resp_text(resp, leaving ? "UNSUBSCRIBE" : "SUBSCRIBE");
        hfi_resp_bytes(resp, sub->channel, sub->channel_len);
        if (resp->full) {
            resp->at = start;
            resp->full = false;
            return;
        }
        if (leaving) {
            discard(redis, sub);
            continue;
        }
        set_to_send(redis, sub, false);
        sub->stage = HFI_SUB_SENT;
        DL_APPEND(redis->unconfirmed, sub);
    }
}

static void confirmed(struct hfi_redis *redis, struct hfi_subscription *sub)
{
    struct hfi_watch *watch;

    if (sub->stage != HFI_SUB_SENT && sub->stage != HFI_SUB_DENIED)
        return;
    if (sub->stage == HFI_SUB_SENT)
        DL_DELETE(redis->unconfirmed, sub);
    sub->stage = HFI_SUB_ACTIVE;
    DL_FOREACH (sub->watches, watch) {
        watch->deleted = false; /* another message may have been missed since that one */
        if (is_unconfirmed(watch))
            hfi_redis_finish(redis, &watch->request, HFI_DONE, HF_OK);
        else
            wake(redis, watch);
    }
    if (sub->control && sub->missed)
        redis->restored = true; /* someone may have told us meanwhile */
    sub->missed = false;
    leave(redis, sub);
}

/* An error: the oldest SUBSCRIBE was refused. Its waiters look again by themselves. */
static void denied(struct hfi_redis *redis, const redisReply *reply)
{
    struct hfi_subscription *sub = redis->unconfirmed;
    struct hfi_watch *watch;

    if (!sub)
        return;
    if (!redis->denial_told)
        hfi_trace(
            &redis->store.trace, HF_TRACE_WARNING,
            "%s does not let us listen for releases (%s): waiters only look again from time to "
            "time; allow SUBSCRIBE and the channels redisson_* and holdfast:client:*",
            redis->uri.shown, reply->str);
    redis->denial_told = true;
    DL_DELETE(redis->unconfirmed, sub);
    sub->stage = HFI_SUB_DENIED;
    DL_FOREACH (sub->watches, watch) {
        if (is_unconfirmed(watch))
            hfi_redis_finish(redis, &watch->request, HFI_NOT_DONE, HF_ERR_PERMISSION);
    }
    leave(redis, sub);
}

static void message(struct hfi_redis *redis, struct hfi_subscription *sub, const redisReply *text)
{
    /* On a latch's channel: it was set or deleted; "0" is: it is open. */
    bool set = text->type == REDIS_REPLY_STRING && strcmp(text->str, "1") == 0;
    struct hfi_watch *watch;

    DL_FOREACH (sub->watches, watch) {
        watch->deleted = set && watch->topic == HFI_TOPIC_LATCH;
        wake(redis, watch);
    }
    if (sub->control)
        redis->restored = true; /* one of our holds was taken away */
}

void hfi_redis_hear(struct hfi_redis *redis, const redisReply *reply)
{
    struct hfi_subscription *sub;
    const char *kind;

    if (reply->type == REDIS_REPLY_ERROR)
        denied(redis, reply);
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[1]->type != REDIS_REPLY_STRING)
        return; /* PING's, or an UNSUBSCRIBE's of the last channel */
    kind = reply->element[0]->str;
    sub = find(redis, reply->element[1]->str, (size_t)reply->element[1]->len);
    if (!sub)
        return; /* it was left in between */
    if (strcmp(kind, "message") == 0)
        message(redis, sub, reply->element[2]);
    else if (strcmp(kind, "subscribe") == 0)
        confirmed(redis, sub);
}

void hfi_redis_unsubscribed(struct hfi_redis *redis)
{
    struct hfi_subscription *sub, *tmp;
    struct hfi_watch *watch;

    DL_FOREACH_SAFE (redis->unconfirmed, sub, tmp) {
        DL_DELETE(redis->unconfirmed, sub);
        sub->stage = HFI_SUB_WANTED;
    }
    HASH_ITER (hh, redis->subscriptions, sub, tmp) {
        if (!sub->watches && !sub->control) {
            discard(redis, sub);
            continue;
        }
        sub->stage = HFI_SUB_WANTED;
        sub->missed = true;
        DL_FOREACH (sub->watches, watch) {
            watch->deleted = false; /* from now on another message is missed */
        }
        set_to_send(redis, sub, true);
    }
}

/* Unconfirmed for too long: the waiters go on without, and are woken when it is confirmed after all. */
void hfi_redis_watch_tick(struct hfi_redis *redis, hfi_time now)
{
    struct hfi_subscription *sub, *tmp;
    struct hfi_watch *watch;

    if (now < redis->confirm_by)
        return;
    redis->confirm_by = HF_TIME_NEVER;
    HASH_ITER (hh, redis->subscriptions, sub, tmp) {
        DL_FOREACH (sub->watches, watch) {
            if (!is_unconfirmed(watch))
                continue;
            if (watch->request.deadline_ns <= now)
                hfi_redis_finish(redis, &watch->request, HFI_NOT_DONE,
                                 redis->abandoned ? HF_ERR_CLOSED : HF_ERR_UNREACHABLE);
            else
                redis->confirm_by = hfi_time_min(redis->confirm_by, watch->request.deadline_ns);
        }
    }
}

void hfi_redis_watch_free(struct hfi_redis *redis)
{
    struct hfi_subscription *sub, *tmp;

    HASH_ITER (hh, redis->subscriptions, sub, tmp) {
        HASH_DEL(redis->subscriptions, sub);
        free(sub);
    }
    redis->to_send = redis->unconfirmed = NULL;
}
