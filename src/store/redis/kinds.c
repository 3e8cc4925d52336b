/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of the kinds that are more than one owner in a hash, as commands. What the keys and arguments mean
 * is said in the scripts' heads; all keys of a call lie in its name's slot.
 */
#include <string.h>

#include "store/redis/objects.h"
#include "store/redis/redis.h"
#include "store/redis/script.h"

/* What Redisson publishes: wake one of a process' waiters, wake all of them. */
#define WAKE_ONE "0"
#define WAKE_ALL "1"

#define FAIR_WAIT_MS 300000 /* Redisson's fairLockWaitTimeout, for a wait without end */
#define PREFERRED_MS 3000   /* how long readers wait for a writer that was seen: a few poll caps */
#define TAKEN_MS     60000  /* how long it is remembered what a semaphore has given, at least */

struct call {
    struct hfi_redis *redis;
    struct hfi_resp *resp;
    struct hfi_mapped lock;
    uint64_t owner;
};

static struct call begin(struct hfi_redis *redis, struct hfi_resp *resp, const char *name,
                         size_t len, uint64_t owner)
{
    return (struct call){ redis, resp, hfi_redis_map(redis, name, len), owner };
}

static struct call begin_lease(struct hfi_redis *redis, struct hfi_resp *resp,
                               const struct hfi_lease *lease)
{
    return begin(redis, resp, lease->name, lease->name_len, lease->owner);
}

static void put_lock(const struct call *call)
{
    hfi_resp_bytes(call->resp, call->lock.name, call->lock.len);
}

static void put_owner(const struct call *call)
{
    hfi_resp_owner(call->resp, call->redis->identity->id, call->owner);
}

static void put_prefixed(const struct call *call, const char *prefix)
{
    char key[HFI_KEY_MAX];

    hfi_resp_bytes(call->resp, key, hfi_prefix_name(key, prefix, call->lock.name, call->lock.len));
}

static void put_channel(const struct call *call, enum hfi_topic topic)
{
    char channel[HFI_CHANNEL_MAX];

    hfi_resp_bytes(call->resp, channel,
                   hfi_channel_name(channel, call->lock.name, call->lock.len, topic));
}

static void put_counter(const struct call *call)
{
    char key[HFI_TOKEN_KEY_MAX];

    hfi_resp_bytes(
        call->resp, key,
        hfi_token_key(&call->redis->tags, key, hfi_slot(call->lock.name, call->lock.len)));
}

/* ------------------------------------------------------------------------------------------------
 * Read-write locks
 */

/* What the names of the readers' keys begin with. */
static void put_readers(const struct call *call)
{
    char key[HFI_KEY_MAX];

    hfi_resp_bytes(call->resp, key, hfi_suffix_name(key, call->lock.name, call->lock.len, "") - 1);
}

/* The key that lives as long as the hold. */
static void put_reader(const struct call *call)
{
    char key[HFI_KEY_MAX];

    hfi_resp_bytes(call->resp, key,
                   hfi_reader_key(key, call->lock.name, call->lock.len, call->redis->identity->id,
                                  call->owner));
}

static void try_write(const struct call *call, const struct hfi_lease *lease)
{
    hfi_redis_call(call->resp, &lease->request, HFI_SCRIPT_acquire_write, 3, 8);
    put_lock(call);
    put_counter(call);
    put_prefixed(call, HFI_WRITERS_PREFIX);
    put_owner(call);
    hfi_resp_number(call->resp, lease->ttl_ms);
    hfi_resp_number(call->resp, lease->tokens);
    put_readers(call);
    hfi_resp_number(call->resp, lease->prefer ? PREFERRED_MS : 0);
}

static void release_write(const struct call *call, const struct hfi_lease *lease)
{
    hfi_redis_call(call->resp, &lease->request, HFI_SCRIPT_release_write, 3, 6);
    put_lock(call);
    put_channel(call, HFI_TOPIC_READ_WRITE);
    put_prefixed(call, HFI_WRITERS_PREFIX);
    put_owner(call);
    put_readers(call);
    hfi_resp_text(call->resp, WAKE_ALL);
}

static void leave_write(const struct call *call, const struct hfi_watch *watch)
{
    hfi_redis_call(call->resp, &watch->request, HFI_SCRIPT_leave_write, 2, 4);
    put_prefixed(call, HFI_WRITERS_PREFIX);
    put_channel(call, HFI_TOPIC_READ_WRITE);
    put_owner(call);
    hfi_resp_text(call->resp, WAKE_ALL);
}

static void try_read(const struct call *call, const struct hfi_lease *lease)
{
    hfi_redis_call(call->resp, &lease->request, HFI_SCRIPT_acquire_read, 3, 5);
    put_lock(call);
    put_reader(call);
    put_prefixed(call, HFI_WRITERS_PREFIX);
    put_owner(call);
    hfi_resp_number(call->resp, lease->ttl_ms);
}

static void release_read(const struct call *call, const struct hfi_lease *lease)
{
    hfi_redis_call(call->resp, &lease->request, HFI_SCRIPT_release_read, 3, 6);
    put_lock(call);
    put_channel(call, HFI_TOPIC_READ_WRITE);
    put_reader(call);
    put_owner(call);
    put_readers(call);
    hfi_resp_text(call->resp, WAKE_ONE);
}

/* ------------------------------------------------------------------------------------------------
 * Fair and fenced locks
 */

static void put_queue(const struct call *call)
{
    put_lock(call);
    put_prefixed(call, "redisson_lock_queue");
    put_prefixed(call, "redisson_lock_timeout");
    put_prefixed(call, HFI_FAIR_PREFIX);
    put_channel(call, HFI_TOPIC_LOCK);
}

static void put_wait(const struct call *call, uint32_t wait_ms)
{
    hfi_resp_number(call->resp, wait_ms > 0 ? wait_ms : FAIR_WAIT_MS);
}

static void try_fair(const struct call *call, const struct hfi_lease *lease)
{
    hfi_redis_call(call->resp, &lease->request, HFI_SCRIPT_acquire_fair, 6, 12);
    put_queue(call);
    put_counter(call);
    put_owner(call);
    hfi_resp_number(call->resp, lease->ttl_ms);
    hfi_resp_number(call->resp, lease->tokens);
    put_wait(call, lease->wait_ms);
    hfi_resp_number(call->resp, lease->queue);
    hfi_resp_text(call->resp, WAKE_ONE);
}

static void release_fair(const struct call *call, const struct hfi_lease *lease)
{
    hfi_redis_call(call->resp, &lease->request, HFI_SCRIPT_release_fair, 5, 8);
    put_queue(call);
    put_owner(call);
    if (lease->ticket)
        put_wait(call, lease->wait_ms);
    else
        hfi_resp_text(call->resp, "");
    hfi_resp_text(call->resp, WAKE_ONE);
}

static void leave_fair(const struct call *call, const struct hfi_watch *watch)
{
    hfi_redis_call(call->resp, &watch->request, HFI_SCRIPT_leave_fair, 5, 8);
    put_queue(call);
    put_owner(call);
    put_wait(call, watch->wait_ms);
    hfi_resp_text(call->resp, WAKE_ONE);
}

static void try_fenced(const struct call *call, const struct hfi_lease *lease)
{
    hfi_redis_call(call->resp, &lease->request, HFI_SCRIPT_acquire_fenced, 2, 4);
    put_lock(call);
    put_prefixed(call, "redisson_lock_token");
    put_owner(call);
    hfi_resp_number(call->resp, lease->ttl_ms);
}

/* ------------------------------------------------------------------------------------------------
 * Counts
 */

static void put_permits_taken(const struct call *call)
{
    char key[HFI_KEY_MAX];

    hfi_resp_bytes(call->resp, key,
                   hfi_suffix_name(key, call->lock.name, call->lock.len, "timeout"));
}

static void put_permit_ids(const struct call *call, uint32_t permits)
{
    char id[HFI_PERMIT_ID];

    hfi_permit_id(id, call->redis->identity->id, call->owner, 0);
    hfi_resp_bytes(call->resp, id, HFI_PERMIT_ID_OWNER);
    hfi_resp_number(call->resp, permits);
}

static void try_permits(const struct call *call, const struct hfi_lease *lease)
{
    hfi_redis_call(call->resp, &lease->request, HFI_SCRIPT_acquire_permits, 3, 6);
    put_lock(call);
    put_permits_taken(call);
    put_channel(call, HFI_TOPIC_PERMITS);
    put_permit_ids(call, lease->permits);
    hfi_resp_number(call->resp, lease->ttl_ms);
}

static void release_permits(const struct call *call, const struct hfi_lease *lease)
{
    hfi_redis_call(call->resp, &lease->request, HFI_SCRIPT_release_permits, 3, 5);
    put_lock(call);
    put_permits_taken(call);
    put_channel(call, HFI_TOPIC_PERMITS);
    put_permit_ids(call, lease->permits);
}

/* What an owner has taken from a semaphore. */
static void put_taken(const struct call *call)
{
    char key[HFI_KEY_MAX];
    size_t len = hfi_prefix_name(key, HFI_TAKEN_PREFIX, call->lock.name, call->lock.len);

    key[len++] = ':';
    len += hfi_owner_text(key + len, call->redis->identity->id, call->owner);
    hfi_resp_bytes(call->resp, key, len);
}

static void try_semaphore(const struct call *call, const struct hfi_lease *lease)
{
    hfi_redis_call(call->resp, &lease->request, HFI_SCRIPT_acquire_semaphore, 2, 4);
    put_lock(call);
    put_taken(call);
    hfi_resp_number(call->resp, lease->permits);
    hfi_resp_number(call->resp, lease->ttl_ms > TAKEN_MS ? lease->ttl_ms : TAKEN_MS);
}

static void release_semaphore(const struct call *call, const struct hfi_lease *lease)
{
    hfi_redis_call(call->resp, &lease->request, HFI_SCRIPT_release_semaphore, 3, 3);
    put_lock(call);
    put_channel(call, HFI_TOPIC_PERMITS);
    put_taken(call);
}

static void try_latch(const struct call *call, const struct hfi_lease *lease)
{
    hfi_redis_call(call->resp, &lease->request, HFI_SCRIPT_acquire_latch, 2, 2);
    put_lock(call);
    put_prefixed(call, HFI_DELETED_PREFIX);
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

struct kind {
    void (*take)(const struct call *call, const struct hfi_lease *lease);
    void (*release)(const struct call *call, const struct hfi_lease *lease);
    void (*leave)(const struct call *call, const struct hfi_watch *watch);
};

/* A mutex, and what has the same data, is command.c's. */
static const struct kind KINDS[HFI_KIND_COUNT] = {
    [HFI_KIND_FENCED] = { try_fenced, NULL, NULL },
    [HFI_KIND_FAIR] = { try_fair, release_fair, leave_fair },
    [HFI_KIND_WRITE] = { try_write, release_write, leave_write },
    [HFI_KIND_READ] = { try_read, release_read, NULL },
    [HFI_KIND_PERMITS] = { try_permits, release_permits, NULL },
    [HFI_KIND_SEMAPHORE] = { try_semaphore, release_semaphore, NULL },
    [HFI_KIND_LATCH] = { try_latch, NULL, NULL },
};

bool hfi_redis_encode_kind(struct hfi_redis *redis, struct hfi_resp *resp,
                           const struct hfi_lease *lease)
{
    const struct kind *kind = &KINDS[lease->kind];
    bool release = lease->request.op == HFI_OP_RELEASE;
    struct call call;

    if (!(release ? kind->release : kind->take))
        return false;
    call = begin_lease(redis, resp, lease);
    (release ? kind->release : kind->take)(&call, lease);
    return true;
}

bool hfi_redis_has_tickets(enum hfi_kind kind)
{
    return KINDS[kind].leave != NULL;
}

void hfi_redis_encode_leave(struct hfi_redis *redis, struct hfi_resp *resp,
                            const struct hfi_watch *watch)
{
    struct call call = begin(redis, resp, watch->name, watch->name_len, watch->owner);

    KINDS[watch->kind].leave(&call, watch);
}

/* ------------------------------------------------------------------------------------------------
 * Renewals: all items are of one kind
 */

static void renew_write(struct hfi_redis *redis, struct hfi_resp *resp,
                        const struct hfi_renewal *renewal)
{
    size_t count = renewal->count;

    hfi_redis_call(resp, &renewal->request, HFI_SCRIPT_renew_write, count, 3 * count);
    for (size_t i = 0; i < count; i++) {
        struct call call = begin_lease(redis, resp, renewal->items[i].lease);

        put_lock(&call);
    }
    for (size_t i = 0; i < count; i++) {
        hfi_resp_number(resp, renewal->items[i].ttl_ms);
        hfi_resp_owner(resp, redis->identity->id, renewal->items[i].lease->owner);
    }
}

static void renew_read(struct hfi_redis *redis, struct hfi_resp *resp,
                       const struct hfi_renewal *renewal)
{
    size_t count = renewal->count;

    hfi_redis_call(resp, &renewal->request, HFI_SCRIPT_renew_read, 2 * count, 4 * count);
    for (size_t i = 0; i < count; i++) {
        struct call call = begin_lease(redis, resp, renewal->items[i].lease);

        put_lock(&call);
        put_reader(&call);
    }
    for (size_t i = 0; i < count; i++) {
        hfi_resp_number(resp, renewal->items[i].ttl_ms);
        hfi_resp_owner(resp, redis->identity->id, renewal->items[i].lease->owner);
    }
}

static void renew_permits(struct hfi_redis *redis, struct hfi_resp *resp,
                          const struct hfi_renewal *renewal)
{
    size_t count = renewal->count;

    hfi_redis_call(resp, &renewal->request, HFI_SCRIPT_renew_permits, count, 4 * count);
    for (size_t i = 0; i < count; i++) {
        struct call call = begin_lease(redis, resp, renewal->items[i].lease);

        put_permits_taken(&call);
    }
    for (size_t i = 0; i < count; i++) {
        struct call call = begin_lease(redis, resp, renewal->items[i].lease);

        hfi_resp_number(resp, renewal->items[i].ttl_ms);
        put_permit_ids(&call, renewal->items[i].lease->permits);
    }
}

bool hfi_redis_encode_kind_renewal(struct hfi_redis *redis, struct hfi_resp *resp,
                                   const struct hfi_renewal *renewal)
{
    switch (renewal->count > 0 ? renewal->items[0].lease->kind : HFI_KIND_MUTEX) {
    case HFI_KIND_WRITE:
        renew_write(redis, resp, renewal);
        return true;
    case HFI_KIND_READ:
        renew_read(redis, resp, renewal);
        return true;
    case HFI_KIND_PERMITS:
        renew_permits(redis, resp, renewal);
        return true;
    default:
        return false;
    }
}
