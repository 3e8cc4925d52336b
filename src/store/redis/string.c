/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout=string: a lock is a string key whose value is its owner, set if absent, with a ttl; as redis-py's
 * Lock, python-redis-lock, redlock and redsync keep theirs. We all refuse each other's locks, and delete and
 * prolong only our own.
 *
 * The others poll, but for python-redis-lock: its locks are called lock:NAME, and its waiters block on the
 * list lock-signal:NAME, so releases of such names put an element there. Nobody else tells us of a release:
 * who waits for an owner of another make looks again ten times a second.
 *
 * Acquiring is a script, for the token. Releasing and renewing are scripts, too, but where the server has
 * commands of its own for them (compare.c).
 */
#include <string.h>

#include "store/redis/string.h"

#define SIGNALLED "lock:"
#define SIGNAL    "lock-signal:"

/* When to look again at others' locks: at most so long, and at least three quarters of it. */
#define POLL_MS 100

/* One owner, whoever asks; none of the kinds that need more, nor the numbers that belong to them. */
void hfi_string_limit(struct hfi_store *store)
{
    store->kinds = HFI_KIND_BIT(HFI_KIND_MUTEX) | HFI_KIND_BIT(HFI_KIND_SPIN);
    store->verbs &= ~(HFI_VERB_BIT(HFI_BUCKET_GET) - 1);
}

bool hfi_string_is_signalled(struct hfi_mapped lock)
{
    size_t head = sizeof SIGNALLED - 1;

    return lock.len > head && memcmp(lock.name, SIGNALLED, head) == 0;
}

static void put_signal(struct hfi_resp *resp, struct hfi_mapped lock)
{
    size_t head = sizeof SIGNALLED - 1;

    if (hfi_string_is_signalled(lock))
        hfi_resp_joined(resp, SIGNAL, lock.name + head, lock.len - head);
    else
        hfi_resp_text(resp, "");
}

void hfi_string_put_channel(struct hfi_resp *resp, struct hfi_mapped lock)
{
    char text[HFI_CHANNEL_MAX];

    hfi_resp_bytes(resp, text, hfi_channel_name(text, lock.name, lock.len, HFI_TOPIC_LOCK));
}

void hfi_string_put_name(struct hfi_redis *redis, struct hfi_resp *resp,
                         const struct hfi_lease *lease)
{
    struct hfi_mapped lock = hfi_redis_map(redis, lease->name, lease->name_len);

    hfi_resp_bytes(resp, lock.name, lock.len);
}

void hfi_string_put_owner(struct hfi_redis *redis, struct hfi_resp *resp,
                          const struct hfi_lease *lease)
{
    hfi_resp_owner(resp, redis->identity->id, lease->owner);
}

static void encode_try(struct hfi_redis *redis, struct hfi_resp *resp,
                       const struct hfi_lease *lease)
{
    struct hfi_mapped lock = hfi_redis_map(redis, lease->name, lease->name_len);
    char key[HFI_TOKEN_KEY_MAX];
    size_t len = hfi_token_key(&redis->tags, key, hfi_slot(lock.name, lock.len));

    hfi_redis_call(resp, &lease->request, HFI_SCRIPT_acquire_string, 2, 6);
    hfi_resp_bytes(resp, lock.name, lock.len);
    hfi_resp_bytes(resp, key, len);
    hfi_string_put_owner(redis, resp, lease);
    hfi_resp_number(resp, lease->ttl_ms);
    hfi_resp_number(resp, lease->tokens);
    hfi_resp_number(resp, POLL_MS - hfi_random_below(&redis->random, POLL_MS / 4 + 1));
}

static void encode_release(struct hfi_redis *redis, struct hfi_resp *resp,
                           const struct hfi_lease *lease)
{
    struct hfi_mapped lock = hfi_redis_map(redis, lease->name, lease->name_len);

    hfi_redis_call(resp, &lease->request, HFI_SCRIPT_release_string, 2, 5);
    hfi_resp_bytes(resp, lock.name, lock.len);
    hfi_string_put_channel(resp, lock);
    hfi_string_put_owner(redis, resp, lease);
    hfi_resp_text(resp, HFI_STRING_UNLOCKED);
    put_signal(resp, lock);
}

static void encode_renewal(struct hfi_redis *redis, struct hfi_resp *resp,
                           const struct hfi_renewal *renewal)
{
    hfi_redis_call(resp, &renewal->request, HFI_SCRIPT_renew_string, renewal->count,
                   3 * renewal->count);
    for (size_t i = 0; i < renewal->count; i++)
        hfi_string_put_name(redis, resp, renewal->items[i].lease);
    for (size_t i = 0; i < renewal->count; i++) {
        hfi_resp_number(resp, renewal->items[i].ttl_ms);
        hfi_string_put_owner(redis, resp, renewal->items[i].lease);
    }
}

bool hfi_string_encode(struct hfi_redis *redis, struct hfi_resp *resp, struct hfi_request *request)
{
    if (hfi_compare_encode(redis, resp, request))
        return true;
    switch ((enum hfi_op)request->op) {
    case HFI_OP_TRY:
        encode_try(redis, resp, hfi_request_lease(request));
        break;
    case HFI_OP_RELEASE:
        encode_release(redis, resp, hfi_request_lease(request));
        break;
    case HFI_OP_RENEW:
        encode_renewal(redis, resp, hfi_request_renewal(request));
        break;
    default:
        return false;
    }
    return true;
}

void hfi_string_encode_inspect(struct hfi_resp *resp, const struct hfi_request *request,
                               struct hfi_text *const *names, size_t count)
{
    hfi_redis_call(resp, request, HFI_SCRIPT_inspect_string, count, count + 1);
    for (size_t i = 0; i < count; i++)
        hfi_resp_bytes(resp, names[i]->bytes, names[i]->len);
    hfi_resp_text(resp, request->op == HFI_OP_INSPECT ? "1" : "");
}

void hfi_string_encode_break(struct hfi_redis *redis, struct hfi_resp *resp,
                             const struct hfi_request *request, const struct hfi_query *query)
{
    struct hfi_mapped lock = hfi_redis_map(redis, query->text, strlen(query->text));

    hfi_redis_call(resp, request, HFI_SCRIPT_break_string, 2, 5);
    hfi_resp_bytes(resp, lock.name, lock.len);
    hfi_string_put_channel(resp, lock);
    hfi_resp_text(resp, query->owner);
    hfi_resp_text(resp, HFI_STRING_UNLOCKED);
    put_signal(resp, lock);
}
