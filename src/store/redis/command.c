/* SPDX-License-Identifier: Apache-2.0 */
/* A request as a command. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis/objects.h"
#include "store/redis/people.h"
#include "store/redis/redis.h"
#include "store/redis/script.h"
#include "store/redis/string.h"

/* What Redisson publishes for "unlocked". */
#define UNLOCKED "0"
/* What makes all of its waiters look. */
#define WAKE_ALL "1"

static void prefixed(struct hfi_resp *resp, const char *prefix, struct hfi_mapped lock)
{
    char key[HFI_KEY_MAX];

    hfi_resp_bytes(resp, key, hfi_prefix_name(key, prefix, lock.name, lock.len));
}

static void suffixed(struct hfi_resp *resp, struct hfi_mapped lock, const char *suffix, size_t cut)
{
    char key[HFI_KEY_MAX];

    hfi_resp_bytes(resp, key, hfi_suffix_name(key, lock.name, lock.len, suffix) - cut);
}

static void topic(struct hfi_resp *resp, struct hfi_mapped lock, enum hfi_topic which)
{
    char key[HFI_CHANNEL_MAX];

    hfi_resp_bytes(resp, key, hfi_channel_name(key, lock.name, lock.len, which));
}

static void name(struct hfi_redis *redis, struct hfi_resp *resp, const char *text, size_t len)
{
    struct hfi_mapped mapped = hfi_redis_map(redis, text, len);

    hfi_resp_bytes(resp, mapped.name, mapped.len);
}

static void encode_try(struct hfi_redis *redis, struct hfi_resp *resp,
                       const struct hfi_lease *lease)
{
    struct hfi_mapped lock = hfi_redis_map(redis, lease->name, lease->name_len);
    char key[HFI_TOKEN_KEY_MAX];
    size_t len = hfi_token_key(&redis->tags, key, hfi_slot(lock.name, lock.len));

    hfi_redis_call(resp, &lease->request, HFI_SCRIPT_acquire, 2, 5);
    hfi_resp_bytes(resp, lock.name, lock.len);
    hfi_resp_bytes(resp, key, len);
    hfi_resp_owner(resp, redis->identity->id, lease->owner);
    hfi_resp_number(resp, lease->ttl_ms);
    hfi_resp_number(resp, lease->tokens);
}

static void encode_release(struct hfi_redis *redis, struct hfi_resp *resp,
                           const struct hfi_lease *lease)
{
    struct hfi_mapped lock = hfi_redis_map(redis, lease->name, lease->name_len);

    hfi_redis_call(resp, &lease->request, HFI_SCRIPT_release, 2, 4);
    hfi_resp_bytes(resp, lock.name, lock.len);
    topic(resp, lock, HFI_TOPIC_LOCK);
    hfi_resp_owner(resp, redis->identity->id, lease->owner);
    hfi_resp_text(resp, UNLOCKED);
}

static void encode_renewal(struct hfi_redis *redis, struct hfi_resp *resp,
                           const struct hfi_renewal *renewal)
{
    hfi_redis_call(resp, &renewal->request, HFI_SCRIPT_renew, renewal->count, 3 * renewal->count);
    for (size_t i = 0; i < renewal->count; i++)
        name(redis, resp, renewal->items[i].lease->name, renewal->items[i].lease->name_len);
    for (size_t i = 0; i < renewal->count; i++) {
        hfi_resp_number(resp, renewal->items[i].ttl_ms);
        hfi_resp_owner(resp, redis->identity->id, renewal->items[i].lease->owner);
    }
}

static uint64_t age_ms(hfi_time now, hfi_time since)
{
    return now > since ? (now - since) / HFI_MSEC : 0;
}

/* '' for a mutex, "/read", "/permits/3" */
static void announced_kind(struct hfi_resp *resp, const struct hfi_announcement_item *item)
{
    char text[40];

    if (item->permits)
        snprintf(text, sizeof text, "/%s/%" PRIu32, hfi_redis_kind_word((enum hfi_kind)item->kind),
                 item->permits);
    else
        snprintf(text, sizeof text, "/%s", hfi_redis_kind_word((enum hfi_kind)item->kind));
    hfi_resp_text(resp, item->kind == HFI_KIND_MUTEX ? "" : text);
}

static void encode_announced(struct hfi_redis *redis, hfi_time now, struct hfi_resp *resp,
                             const struct hfi_announcement_item *item)
{
    name(redis, resp, item->name, item->name_len);
    hfi_resp_text(resp, item->held ? "1" : "0");
    hfi_resp_number(resp, item->owner);
    hfi_resp_number(resp, item->token);
    hfi_resp_number(resp, age_ms(now, item->held_since_ns));
    hfi_resp_text(resp, item->label);
    hfi_resp_number(resp, item->waiters);
    hfi_resp_number(resp, age_ms(now, item->waiting_since_ns));
    hfi_resp_text(resp, item->watching ? "1" : "0");
    announced_kind(resp, item);
}

static void encode_announcement(struct hfi_redis *redis, hfi_time now, struct hfi_resp *resp,
                                const struct hfi_announcement *announcement)
{
    const struct hfi_identity *who = redis->identity;

    redis->registered = true;
    hfi_redis_call(resp, &announcement->request, HFI_SCRIPT_announce, 1,
                   9 + 10 * announcement->count);
    hfi_resp_joined(resp, HFI_CLIENT_PREFIX, who->id, strlen(who->id));
    hfi_resp_number(resp, announcement->ttl_ns / HFI_MSEC);
    hfi_resp_text(resp, who->host);
    hfi_resp_text(resp, who->user);
    hfi_resp_text(resp, who->program);
    hfi_resp_number(resp, (uint64_t)who->pid);
    hfi_resp_text(resp, HF_VERSION);
    hfi_resp_number(resp, age_ms(now, redis->opened_ns));
    hfi_resp_text(resp, redis->uri.layout == HFI_LAYOUT_STRING ? HFI_STRING_FIELDS : "");
    for (size_t i = 0; i < announcement->count; i++)
        encode_announced(redis, now, resp, &announcement->items[i]);
}

static void encode_farewell(struct hfi_redis *redis, struct hfi_resp *resp)
{
    hfi_resp_command(resp, 2);
    hfi_resp_text(resp, "DEL");
    hfi_resp_joined(resp, HFI_CLIENT_PREFIX, redis->identity->id, strlen(redis->identity->id));
}

static void encode_check(struct hfi_resp *resp)
{
    hfi_resp_command(resp, 1);
    hfi_resp_text(resp, "PING");
}

void hfi_redis_encode_inspect(struct hfi_redis *redis, struct hfi_resp *resp,
                              const struct hfi_request *request, struct hfi_text *const *names,
                              size_t count)
{
    if (redis->uri.layout == HFI_LAYOUT_STRING) {
        hfi_string_encode_inspect(resp, request, names, count);
        return;
    }
    hfi_redis_call(resp, request, HFI_SCRIPT_inspect, count, count + 1);
    for (size_t i = 0; i < count; i++)
        hfi_resp_bytes(resp, names[i]->bytes, names[i]->len);
    hfi_resp_number(resp, request->op == HFI_OP_INSPECT ? HFI_TOLD_OF_ONE : HFI_TOLD_OF_MANY);
}

/* What the ids of an owner's permits begin with; 32 hexadecimal digits are a whole id. */
static void permit_id(struct hfi_resp *resp, const char *owner)
{
    static const char HEX[] = "0123456789abcdef";
    char id[HFI_PERMIT_ID], client[HFI_PERMIT_ID_CLIENT + 1];
    const char *colon = strchr(owner, ':');
    size_t len;

    if (!colon && strlen(owner) == 2 * HFI_PERMIT_ID && strspn(owner, HEX) == 2 * HFI_PERMIT_ID) {
        for (size_t i = 0; i < HFI_PERMIT_ID; i++)
            id[i] = (char)((strchr(HEX, owner[2 * i]) - HEX) << 4 |
                           (strchr(HEX, owner[2 * i + 1]) - HEX));
        hfi_resp_bytes(resp, id, HFI_PERMIT_ID);
        return;
    }
    len = strnlen(owner, HFI_PERMIT_ID_CLIENT);
    memcpy(client, owner, len);
    client[len] = '\0';
    if (!colon || strspn(client, "0123456789abcdef-") != HFI_PERMIT_ID_CLIENT) {
        hfi_resp_text(resp, "");
        return;
    }
    hfi_permit_id(id, client, strtoull(colon + 1, NULL, 10), 0);
    hfi_resp_bytes(resp, id, HFI_PERMIT_ID_OWNER);
}

void hfi_redis_encode_break(struct hfi_redis *redis, struct hfi_resp *resp,
                            const struct hfi_request *request, const struct hfi_query *query)
{
    struct hfi_mapped lock = hfi_redis_map(redis, query->text, strlen(query->text));

    if (redis->uri.layout == HFI_LAYOUT_STRING) {
        hfi_string_encode_break(redis, resp, request, query);
        return;
    }
    hfi_redis_call(resp, request, HFI_SCRIPT_break, 8, 14);
    hfi_resp_bytes(resp, lock.name, lock.len);
    prefixed(resp, "redisson_lock_queue", lock);
    prefixed(resp, "redisson_lock_timeout", lock);
    prefixed(resp, HFI_FAIR_PREFIX, lock);
    topic(resp, lock, HFI_TOPIC_LOCK);
    topic(resp, lock, HFI_TOPIC_READ_WRITE);
    suffixed(resp, lock, "timeout", 0);
    topic(resp, lock, HFI_TOPIC_PERMITS);
    hfi_resp_text(resp, query->owner);
    hfi_resp_text(resp, UNLOCKED);
    hfi_resp_text(resp, WAKE_ALL);
    suffixed(resp, lock, "", 1); /* without its colon */
    permit_id(resp, query->owner);
    hfi_resp_number(resp, HF_PERMITS_MAX);
}

static void encode(struct hfi_redis *redis, hfi_time now, struct hfi_request *request,
                   struct hfi_resp *resp)
{
    if (redis->uri.layout == HFI_LAYOUT_STRING && hfi_string_encode(redis, resp, request))
        return;
    switch ((enum hfi_op)request->op) {
    case HFI_OP_TRY:
        if (!hfi_redis_encode_kind(redis, resp, hfi_request_lease(request)))
            encode_try(redis, resp, hfi_request_lease(request));
        break;
    case HFI_OP_RELEASE:
        if (!hfi_redis_encode_kind(redis, resp, hfi_request_lease(request)))
            encode_release(redis, resp, hfi_request_lease(request));
        break;
    case HFI_OP_RENEW:
        if (!hfi_redis_encode_kind_renewal(redis, resp, hfi_request_renewal(request)))
            encode_renewal(redis, resp, hfi_request_renewal(request));
        break;
    case HFI_OP_LEAVE:
        hfi_redis_encode_leave(redis, resp, hfi_request_watch(request));
        break;
    case HFI_OP_ANNOUNCE:
        encode_announcement(redis, now, resp, hfi_request_announcement(request));
        break;
    case HFI_OP_FAREWELL:
        encode_farewell(redis, resp);
        break;
    case HFI_OP_CHECK:
        encode_check(resp);
        break;
    case HFI_OP_OBJECT:
        hfi_redis_encode_object(redis, resp, hfi_request_object(request));
        break;
    default:
        hfi_redis_encode_job(redis, request, resp);
    }
}

bool hfi_redis_encode(struct hfi_redis *redis, hfi_time now, struct hfi_request *request,
                      struct hfi_resp *resp)
{
    char *start = resp->at;

    encode(redis, now, request, resp);
    if (!resp->full)
        return true;
    resp->at = start;
    resp->full = false;
    return false;
}
