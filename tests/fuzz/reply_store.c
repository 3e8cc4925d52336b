/* SPDX-License-Identifier: Apache-2.0 */
/* What the heads of the Redis store's files say of it, always. */
#include "fuzz/reply_store.h"

#include "fuzz/fuzz.h"

static size_t count_requests(const struct hfi_request *list)
{
    const struct hfi_request *request;
    size_t count = 0;

    DL_FOREACH (list, request) {
        count++;
    }
    return count;
}

static size_t count_watches(const struct hfi_subscription *sub)
{
    const struct hfi_watch *watch;
    size_t count = 0;

    DL_FOREACH (sub->watches, watch) {
        MUST(watch->store_data == sub);
        count++;
    }
    return count;
}

static bool is_in(const struct hfi_subscription *list, const struct hfi_subscription *wanted)
{
    const struct hfi_subscription *sub;

    DL_FOREACH (list, sub) {
        if (sub == wanted)
            return true;
    }
    return false;
}

/* watch.c, 1 and 2 */
static void check_subscription(const struct hfi_redis *redis, const struct hfi_subscription *sub)
{
    const struct hfi_redis_link *link = &redis->link[HFI_REDIS_WAKEUPS];

    MUST(is_in(redis->to_send, sub) == sub->to_send);
    switch (sub->stage) {
    case HFI_SUB_WANTED:
        MUST(sub->to_send && (sub->watches || sub->control));
        break;
    case HFI_SUB_SENT:
        MUST(!sub->to_send && is_in(redis->unconfirmed, sub));
        break;
    case HFI_SUB_ACTIVE:
    case HFI_SUB_DENIED:
        MUST(!sub->to_send && (sub->watches || sub->control));
        break;
    case HFI_SUB_LEAVING:
        MUST(sub->to_send && !sub->watches && !sub->control);
        break;
    }
    if (link->state != HFI_LINK_READY)
        MUST(sub->stage == HFI_SUB_WANTED || link->drop);
}

static void check_subscriptions(const struct hfi_redis *redis)
{
    const struct hfi_subscription *sub;
    size_t watches = 0, unconfirmed = 0, sent = 0;

    for (sub = redis->subscriptions; sub; sub = sub->hh.next) {
        check_subscription(redis, sub);
        watches += count_watches(sub);
        unconfirmed += sub->stage == HFI_SUB_SENT;
    }
    DL_COUNT(redis->unconfirmed, sub, sent);
    MUST(watches == redis->watch_count && unconfirmed == sent);
}

static void check_link(const struct hfi_redis_link *link)
{
    MUST(link->out_start <= link->out_end && link->out_end <= HFI_REDIS_OUT_SIZE);
    MUST(link->greeted <= link->greetings && link->greetings <= HFI_REDIS_GREETING_MAX);
    if (link->state == HFI_LINK_GREETING || link->state == HFI_LINK_READY)
        MUST((link->reader && link->out) || link->drop);
}

/* compare.c, 1 */
static void check_head(const struct hfi_redis *redis)
{
    const struct hfi_redis_head *head = &redis->head;

    MUST(head->replies > 0 || (!head->refused && !head->garbled));
    if (head->replies == 0)
        return;
    MUST(redis->sent && redis->sent->stage == HFI_STAGE_OWN);
    MUST(redis->sent->op == HFI_OP_RELEASE
             ? head->replies == 1
             : head->replies < ((struct hfi_renewal *)redis->sent)->count);
}

void reply_check_store(const struct hfi_redis *redis)
{
    const struct hfi_request *request;

    check_head(redis);
    check_link(&redis->link[HFI_REDIS_COMMANDS]);
    check_link(&redis->link[HFI_REDIS_WAKEUPS]);
    check_subscriptions(redis);
    MUST(count_requests(redis->sent) == redis->sent_count);
    MUST(redis->sent_count <= HFI_REDIS_SENT_MAX);
    if (redis->link[HFI_REDIS_COMMANDS].state != HFI_LINK_READY)
        MUST(!redis->sent);
    DL_FOREACH (redis->sent, request) {
        MUST(request->outcome == HFI_PENDING && request->sent_ns > 0);
    }
    MUST(redis->answer_by <= hfi_redis_soonest(redis->sent));
    MUST(redis->pending_by <= hfi_redis_soonest(redis->pending));
    MUST(redis->pending_by <= hfi_redis_soonest(redis->again));
    MUST(strlen(redis->store.detail) < HFI_DETAIL_MAX);
    MUST(!strpbrk(redis->store.detail, "\r\n") && !strpbrk(redis->why_down, "\r\n"));
    MUST(!redis->uri.password[0] || (!strstr(redis->store.detail, redis->uri.password) &&
                                     !strstr(redis->why_down, redis->uri.password)));
}
