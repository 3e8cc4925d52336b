/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores, permits, latches, stamps; and where the store has them, buckets and maps. */
#include "conformance/store.h"

#include "holdfast/objects.h"

#define RARELY HF_CLIENT(.poll_ms = 60000)
#define ONCE   HF_WAIT(.wait_ms = HF_TRY_ONCE)
#define LONG   HF_WAIT(.wait_ms = PATIENCE_MS)

static int64_t available(hf_client *client, const char *name)
{
    int64_t n = -1;

    assert_int_equal(hf_semaphore_available(client, name, &n), HF_OK);
    return n;
}

/* A thread that waits for a semaphore, a latch, or permits. */
struct waiter {
    pthread_t thread;
    hf_client *client;
    const char *name;
    int64_t permits;
    bool latch;
    atomic_bool done;
    int error;
};

static void *wait_there(void *arg)
{
    struct waiter *waiter = arg;

    waiter->error = waiter->latch
                        ? hf_latch_await(waiter->client, waiter->name, LONG)
                        : hf_semaphore_acquire(waiter->client, waiter->name, waiter->permits, LONG);
    atomic_store(&waiter->done, true);
    return NULL;
}

static void waiter_start(struct waiter *waiter)
{
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_there, waiter), 0);
}

static int waiter_join(struct waiter *waiter)
{
    pthread_join(waiter->thread, NULL);
    return waiter->error;
}

/* ------------------------------------------------------------------------------------------------
 * Semaphores
 */

static void semaphore_counts(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    int64_t n = 0;

    (void)state;
    assert_int_equal(available(a, "s"), 0);
    assert_int_equal(hf_semaphore_acquire(a, "s", 1, ONCE), HF_ERR_BUSY); /* there is none */
    assert_int_equal(hf_semaphore_release_if_exists(a, "s", 1), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_semaphore_set(a, "s", 3, 0), HF_OK);
    assert_int_equal(hf_semaphore_set(b, "s", 9, 0), HF_ERR_EXISTS);
    assert_int_equal(hf_semaphore_acquire(b, "s", 2, ONCE), HF_OK);
    assert_int_equal(available(a, "s"), 1);
    assert_int_equal(hf_semaphore_acquire(a, "s", 2, ONCE), HF_ERR_BUSY);
    assert_int_equal(hf_semaphore_acquire(a, "s", 2, HF_WAIT(.wait_ms = 100)), HF_ERR_BUSY);
    assert_int_equal(hf_semaphore_release_if_exists(a, "s", 1), HF_OK); /* whoever took them */
    assert_int_equal(hf_semaphore_acquire(a, "s", 2, ONCE), HF_OK);
    assert_int_equal(hf_semaphore_add(a, "s", -3), HF_OK);
    assert_int_equal(available(b, "s"), -3);
    assert_int_equal(hf_semaphore_release(b, "s", 5), HF_OK);
    assert_int_equal(hf_semaphore_drain(b, "s", &n), HF_OK);
    assert_int_equal(n, 2);
    assert_int_equal(available(b, "s"), 0);
    assert_int_equal(hf_semaphore_delete(a, "s"), HF_OK);
    assert_int_equal(hf_semaphore_delete(a, "s"), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_semaphore_release(a, "s", 2), HF_OK); /* makes it */
    assert_int_equal(available(b, "s"), 2);
    assert_int_equal(hf_semaphore_delete(a, "s"), HF_OK);
    hf_close(a);
    hf_close(b);
}

static void semaphore_wakes(void **state)
{
    hf_client *a = client_open(), *b = client_open_with(RARELY);
    struct waiter two = { .client = b, .name = "s", .permits = 2 };
    struct waiter one = { .client = b, .name = "s", .permits = 1 };

    (void)state;
    assert_int_equal(hf_semaphore_set(a, "s", 0, 0), HF_OK);
    waiter_start(&two);
    AWAIT(count_waiters(a, "s") >= 1);
    assert_int_equal(hf_semaphore_release(a, "s", 1), HF_OK);
    AWAIT(!atomic_load(&two.done) && available(a, "s") == 1);
    assert_int_equal(hf_semaphore_release(a, "s", 1), HF_OK);
    assert_int_equal(waiter_join(&two), HF_OK);
    waiter_start(&one);
    AWAIT(count_waiters(a, "s") >= 1);
    assert_int_equal(hf_semaphore_add(a, "s", 1), HF_OK);
    assert_int_equal(waiter_join(&one), HF_OK);
    assert_int_equal(available(a, "s"), 0);
    assert_int_equal(hf_semaphore_delete(a, "s"), HF_OK);
    hf_close(a);
    hf_close(b);
}

enum { THREADS = 8, ROUNDS = 60, PERMITS = 3 };
static atomic_int inside, most;

static void *use_permits(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        int now, seen;

        if (hf_semaphore_acquire(arg, "s", 1, LONG) != HF_OK)
            return arg;
        now = atomic_fetch_add(&inside, 1) + 1;
        for (seen = atomic_load(&most);
             now > seen && !atomic_compare_exchange_weak(&most, &seen, now);)
            ;
        atomic_fetch_sub(&inside, 1);
        if (hf_semaphore_release(arg, "s", 1) != HF_OK)
            return arg;
    }
    return NULL;
}

/* None appears, none is lost. */
static void permits_are_conserved(void **state)
{
    hf_client *client[2] = { client_open(), client_open() };
    pthread_t thread[THREADS];
    void *failed;

    (void)state;
    atomic_store(&most, 0);
    assert_int_equal(hf_semaphore_set(client[0], "s", PERMITS, 0), HF_OK);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, use_permits, client[i % 2]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
    assert_in_range(atomic_load(&most), 1, PERMITS);
    assert_int_equal(available(client[0], "s"), PERMITS);
    assert_int_equal(hf_semaphore_delete(client[0], "s"), HF_OK);
    hf_close(client[0]);
    hf_close(client[1]);
}

static void semaphore_events(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    struct hf_event event;
    int cookie;

    (void)state;
    assert_int_equal(hf_semaphore_set(a, "s", 1, 0), HF_OK);
    assert_int_equal(hf_semaphore_acquire_start(a, "s", 1, NULL, &cookie), HF_OK);
    event = next_event(a);
    assert_int_equal(event.type, HF_EVENT_DONE);
    assert_ptr_equal(event.cookie, &cookie);
    assert_null(event.hold);
    assert_int_equal(hf_semaphore_acquire_start(b, "s", 1, NULL, &cookie), HF_OK);
    AWAIT(count_waiters(a, "s") >= 1);
    assert_int_equal(hf_cancel(b, &cookie), HF_OK);
    event = next_event(b);
    assert_int_equal(event.type, HF_EVENT_FAILED);
    assert_int_equal(event.error, HF_ERR_CANCELLED);
    assert_int_equal(hf_semaphore_release(a, "s", 1), HF_OK);
    assert_int_equal(hf_semaphore_acquire_start(b, "s", 1, NULL, &cookie), HF_OK);
    AWAIT(available(a, "s") == 0);
    hf_close(b); /* nobody took the event: nobody has the permit */
    AWAIT(available(a, "s") == 1);
    assert_int_equal(hf_semaphore_delete(a, "s"), HF_OK);
    hf_close(a);
}

static void semaphore_with_a_ttl(void **state)
{
    hf_client *a = client_open();

    (void)state;
    assert_int_equal(hf_semaphore_set(a, "s", 1, 300), HF_OK);
    assert_int_equal(hf_semaphore_acquire(a, "s", 1, ONCE), HF_OK);
    assert_int_equal(hf_semaphore_add(a, "s", 5), HF_OK); /* does not make it stay */
    AWAIT(hf_semaphore_delete(a, "s") == HF_ERR_NOT_FOUND || available(a, "s") != 5);
    AWAIT(available(a, "s") == 0);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Permits
 */

static void counts_are(hf_client *client, const char *name, int64_t free_, int64_t taken)
{
    int64_t a = -1, t = -1;

    assert_int_equal(hf_permits_count(client, name, &a, &t), HF_OK);
    assert_int_equal(a, free_);
    assert_int_equal(t, taken);
}

static void permits_as_holds(void **state)
{
    hf_client *a = client_open(), *b = client_open_with(RARELY);
    hf_hold *two = NULL, *one = NULL, *none = NULL;
    struct taker taker;

    (void)state;
    counts_are(a, "p", 0, 0);
    assert_int_equal(hf_permits_acquire(a, "p", 1, HF_ACQUIRE(.wait_ms = HF_TRY_ONCE), &none),
                     HF_ERR_BUSY);
    assert_int_equal(hf_permits_set(a, "p", 3), HF_OK);
    assert_int_equal(hf_permits_set(b, "p", 4), HF_ERR_EXISTS);
    assert_int_equal(hf_permits_acquire(a, "p", 2, NULL, &two), HF_OK);
    assert_int_equal(hf_permits_acquire(a, "p", 1, NULL, &one), HF_OK); /* no re-entry */
    counts_are(b, "p", 0, 3);
    assert_int_equal(hf_hold_verify(two), HF_OK);
    assert_int_equal(hf_permits_acquire(b, "p", 1, HF_ACQUIRE(.wait_ms = 100), &none), HF_ERR_BUSY);
    taker_start(&taker, b, "p", HF_ACQUIRE(.mode = HF_PERMITS, .permits = 2));
    AWAIT(count_waiters(a, "p") == 1);
    give(two);
    assert_int_equal(taker_join(&taker), HF_OK);
    counts_are(a, "p", 0, 3);
    assert_int_equal(hf_permits_resize(a, "p", 2), HF_OK);
    counts_are(a, "p", -1, 3);
    assert_int_equal(hf_permits_add(a, "p", 2), HF_OK);
    counts_are(a, "p", 1, 3);
    give(taker.hold);
    counts_are(a, "p", 3, 1);
    assert_int_equal(hf_permits_delete(a, "p"), HF_OK);
    assert_int_equal(hf_hold_verify(one), HF_ERR_LOST);
    assert_int_equal(hf_release(one), HF_ERR_LOST);
    assert_int_equal(hf_permits_delete(a, "p"), HF_ERR_NOT_FOUND);
    hf_close(a);
    hf_close(b);
}

static void permits_expire(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *fixed = NULL, *renewed = NULL, *next = NULL;
    int64_t until;

    (void)state;
    assert_int_equal(hf_permits_set(a, "p", 2), HF_OK);
    assert_int_equal(hf_permits_acquire(a, "p", 1, HF_ACQUIRE(.lease_ms = 300), &fixed), HF_OK);
    assert_int_equal(hf_permits_acquire(a, "p", 1, HF_ACQUIRE(.ttl_ms = 600), &renewed), HF_OK);
    assert_int_equal(hf_permits_acquire(b, "p", 1, NULL, &next), HF_OK); /* the fixed one's */
    assert_int_equal(hf_release(fixed), HF_ERR_LOST);
    until = now_ms() + 1500;
    AWAIT(now_ms() > until); /* past two ttls */
    counts_are(b, "p", 0, 2);
    give(renewed);
    give(next);
    counts_are(b, "p", 2, 0);
    assert_int_equal(hf_permits_delete(a, "p"), HF_OK);
    hf_close(a);
    hf_close(b);
}

static int die_with_permits(const struct parent *parent, void *arg)
{
    hf_client *client = child_client();
    hf_hold *hold;

    (void)arg;
    CHECK_EQUAL(hf_permits_acquire(client, "p", 2, HF_ACQUIRE(.ttl_ms = 1000), &hold), HF_OK);
    parent_tell(parent, 'h');
    parent_hear(parent);
    return 0;
}

static void permits_of_the_dead_come_back(void **state)
{
    hf_client *a = client_open();
    struct child child;
    hf_hold *hold;

    (void)state;
    assert_int_equal(hf_permits_set(a, "p", 2), HF_OK);
    child_start(&child, die_with_permits, NULL);
    child_expect(&child, 'h');
    child_kill(&child);
    assert_int_equal(hf_permits_acquire(a, "p", 2, NULL, &hold), HF_OK);
    give(hold);
    assert_int_equal(hf_permits_delete(a, "p"), HF_OK);
    hf_close(a);
    store->bury();
}

/* ------------------------------------------------------------------------------------------------
 * Latches
 */

static void latch_opens(void **state)
{
    enum { N = 4 };
    hf_client *a = client_open(), *b = client_open_with(RARELY);
    struct waiter waiter[N];
    int64_t left = -1;

    (void)state;
    assert_int_equal(hf_latch_await(a, "l", ONCE), HF_OK); /* there is none: as good as open */
    assert_int_equal(hf_latch_set(a, "l", 2), HF_OK);
    assert_int_equal(hf_latch_set(a, "l", 3), HF_ERR_EXISTS);
    assert_int_equal(hf_latch_await(a, "l", ONCE), HF_ERR_BUSY);
    assert_int_equal(hf_latch_await(a, "l", HF_WAIT(.wait_ms = 100)), HF_ERR_BUSY);
    for (int i = 0; i < N; i++) {
        waiter[i] = (struct waiter){ .client = i % 2 ? a : b, .name = "l", .latch = true };
        waiter_start(&waiter[i]);
    }
    AWAIT(count_waiters(a, "l") >= 2);
    assert_int_equal(hf_latch_down(b, "l", &left), HF_OK);
    assert_int_equal(left, 1);
    assert_int_equal(hf_latch_count(b, "l", &left), HF_OK);
    assert_int_equal(left, 1);
    assert_int_equal(hf_latch_down(b, "l", &left), HF_OK);
    assert_int_equal(left, 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(waiter_join(&waiter[i]), HF_OK);
    assert_int_equal(hf_latch_down(a, "l", &left), HF_OK); /* there is none: no harm */
    assert_int_equal(left, 0);
    assert_int_equal(hf_latch_set(a, "l", 1), HF_OK); /* once more */
    assert_int_equal(hf_latch_await(a, "l", ONCE), HF_ERR_BUSY);
    assert_int_equal(hf_latch_delete(a, "l"), HF_OK);
    hf_close(a);
    hf_close(b);
}

static void latch_is_deleted(void **state)
{
    hf_client *a = client_open(), *b = client_open_with(RARELY);
    struct waiter waiter = { .client = b, .name = "l", .latch = true };

    (void)state;
    assert_int_equal(hf_latch_delete(a, "l"), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_latch_set(a, "l", 1), HF_OK);
    waiter_start(&waiter);
    AWAIT(count_waiters(a, "l") >= 1);
    assert_int_equal(hf_latch_delete(a, "l"), HF_OK);
    assert_int_equal(waiter_join(&waiter), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_latch_await(b, "l", ONCE), HF_OK);
    assert_int_equal(hf_latch_set(a, "l", 1), HF_OK);
    waiter = (struct waiter){ .client = b, .name = "l", .latch = true };
    waiter_start(&waiter);
    AWAIT(count_waiters(a, "l") >= 1);
    assert_int_equal(hf_latch_down(a, "l", NULL), HF_OK);
    assert_int_equal(waiter_join(&waiter), HF_OK); /* the old deletion is forgotten */
    hf_close(a);
    hf_close(b);
}

static void latch_events(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    struct hf_event event;
    int cookie;

    (void)state;
    assert_int_equal(hf_latch_set(a, "l", 1), HF_OK);
    assert_int_equal(hf_latch_await_start(b, "l", NULL, &cookie), HF_OK);
    AWAIT(count_waiters(a, "l") >= 1);
    no_event(b);
    assert_int_equal(hf_latch_down(a, "l", NULL), HF_OK);
    event = next_event(b);
    assert_int_equal(event.type, HF_EVENT_DONE);
    assert_ptr_equal(event.cookie, &cookie);
    assert_int_equal(hf_latch_set(a, "l", 1), HF_OK);
    assert_int_equal(hf_latch_await_start(b, "l", HF_WAIT(.wait_ms = 100), &cookie), HF_OK);
    assert_int_equal(next_event(b).error, HF_ERR_BUSY);
    assert_int_equal(hf_latch_await_start(b, "l", NULL, &cookie), HF_OK);
    assert_int_equal(hf_latch_delete(a, "l"), HF_OK);
    hf_close(b);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Stamps
 */

static void stamps(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    int64_t age = -1, left = -1;

    (void)state;
    assert_int_equal(hf_stamp_get(a, "t", &age, &left), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_stamp_set(a, "t", 60000), HF_OK);
    hf_close(a); /* it stays when its writer goes */
    assert_int_equal(hf_stamp_get(b, "t", &age, &left), HF_OK);
    assert_in_range(age, 0, 30000);
    assert_in_range(left, 20000, 60000);
    assert_int_equal(hf_stamp_set(b, "t", 200), HF_OK);
    AWAIT(hf_stamp_get(b, "t", NULL, NULL) == HF_ERR_NOT_FOUND);
    assert_int_equal(hf_stamp_set(b, "t", 60000), HF_OK);
    assert_int_equal(hf_stamp_delete(b, "t"), HF_OK);
    assert_int_equal(hf_stamp_delete(b, "t"), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_stamp_set(b, "t", 0), HF_ERR_INVALID);
    hf_close(b);
}

/* ------------------------------------------------------------------------------------------------
 * Buckets and maps
 */

#define BYTES(text) ((struct hf_value){ text, sizeof(text) - 1 })

static bool has_values(hf_client *client)
{
    struct hf_value value = { 0 };
    int error = hf_bucket_get(client, "b", &value);

    hf_value_free(&value);
    return error != HF_ERR_UNSUPPORTED;
}

static void is_value(struct hf_value *value, const char *bytes, size_t len)
{
    assert_int_equal(value->len, len);
    assert_memory_equal(value->bytes, bytes, len);
    assert_int_equal(((const char *)value->bytes)[len], '\0');
    hf_value_free(value);
    assert_null(value->bytes);
}

static void buckets(void **state)
{
    hf_client *a = client_open();
    struct hf_value value = { 0 };
    int64_t ttl = 0;

    (void)state;
    if (!has_values(a)) {
        hf_close(a);
        return;
    }
    assert_int_equal(hf_bucket_get(a, "b", &value), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_bucket_set(a, "b", BYTES("one\0\xff two"), NULL), HF_OK);
    assert_int_equal(hf_bucket_get(a, "b", &value), HF_OK);
    is_value(&value, "one\0\xff two", 9);
    assert_int_equal(hf_bucket_ttl(a, "b", &ttl), HF_OK);
    assert_int_equal(ttl, -1);
    assert_int_equal(hf_bucket_set_if_absent(a, "b", BYTES("no"), NULL), HF_ERR_EXISTS);
    assert_int_equal(hf_bucket_compare_and_set(a, "b", BYTES("x"), BYTES("y"), NULL),
                     HF_ERR_CHANGED);
    assert_int_equal(
        hf_bucket_compare_and_set(a, "b", BYTES("one\0\xff two"), BYTES("three"), NULL), HF_OK);
    assert_int_equal(hf_bucket_compare_and_set(a, "b", (struct hf_value){ 0 }, BYTES("y"), NULL),
                     HF_ERR_CHANGED);
    assert_int_equal(hf_bucket_get_and_set(a, "b", BYTES(""), HF_VALUE(.ttl_ms = 60000), &value),
                     HF_OK);
    is_value(&value, "three", 5);
    assert_int_equal(hf_bucket_ttl(a, "b", &ttl), HF_OK);
    assert_in_range(ttl, 20000, 60000);
    assert_int_equal(hf_bucket_get(a, "b", &value), HF_OK);
    is_value(&value, "", 0);
    assert_int_equal(hf_bucket_delete(a, "b", NULL), HF_OK);
    assert_int_equal(hf_bucket_delete(a, "b", NULL), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_bucket_ttl(a, "b", &ttl), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_bucket_compare_and_set(a, "b", (struct hf_value){ 0 }, BYTES("y"), NULL),
                     HF_OK);
    assert_int_equal(hf_bucket_delete(a, "b", NULL), HF_OK);
    assert_int_equal(hf_bucket_get_and_set(a, "b", BYTES("z"), NULL, &value), HF_OK);
    assert_null(value.bytes);
    assert_int_equal(hf_bucket_delete(a, "b", NULL), HF_OK);
    hf_close(a);
}

/* The largest that is allowed comes back as it went. */
static void large_values(void **state)
{
    static char bytes[HF_VALUE_MAX + 1];
    hf_client *a = client_open();
    struct hf_value value = { 0 };

    (void)state;
    if (!has_values(a)) {
        hf_close(a);
        return;
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + i / 256);
    assert_int_equal(hf_bucket_set(a, "b", (struct hf_value){ bytes, HF_VALUE_MAX + 1 }, NULL),
                     HF_ERR_INVALID);
    assert_int_equal(hf_bucket_set(a, "b", (struct hf_value){ bytes, HF_VALUE_MAX }, NULL), HF_OK);
    assert_int_equal(hf_bucket_get(a, "b", &value), HF_OK);
    is_value(&value, bytes, HF_VALUE_MAX);
    assert_int_equal(hf_bucket_delete(a, "b", NULL), HF_OK);
    hf_close(a);
}

static void maps(void **state)
{
    hf_client *a = client_open();
    struct hf_value value = { 0 };
    int64_t size = -1;

    (void)state;
    if (!has_values(a)) {
        hf_close(a);
        return;
    }
    assert_int_equal(hf_map_size(a, "m", &size), HF_OK);
    assert_int_equal(size, 0);
    assert_int_equal(hf_map_get(a, "m", BYTES("k"), &value), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_map_put(a, "m", BYTES("k"), BYTES("1"), NULL, &value), HF_OK);
    assert_null(value.bytes);
    assert_int_equal(hf_map_put(a, "m", BYTES("k"), BYTES("2"), NULL, &value), HF_OK);
    is_value(&value, "1", 1);
    assert_int_equal(hf_map_put_if_absent(a, "m", BYTES("k"), BYTES("3"), NULL), HF_ERR_EXISTS);
    assert_int_equal(hf_map_put_if_absent(a, "m", BYTES("\0l"), BYTES("4"), NULL), HF_OK);
    assert_int_equal(hf_map_get(a, "m", BYTES("\0l"), &value), HF_OK);
    is_value(&value, "4", 1);
    assert_int_equal(hf_map_size(a, "m", &size), HF_OK);
    assert_int_equal(size, 2);
    assert_int_equal(hf_map_remove(a, "m", BYTES("k"), NULL, &value), HF_OK);
    is_value(&value, "2", 1);
    assert_int_equal(hf_map_remove(a, "m", BYTES("k"), NULL, NULL), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_map_remove(a, "m", BYTES("\0l"), NULL, NULL), HF_OK);
    hf_close(a);
}

/* A holder that was paused has an older token: it changes nothing. */
static void guarded(void **state)
{
    hf_client *a = client_open();
    struct hf_value value = { 0 };

    (void)state;
    if (!has_values(a)) {
        hf_close(a);
        return;
    }
    assert_int_equal(hf_bucket_set(a, "b", BYTES("new"), HF_VALUE(.token = 20)), HF_OK);
    assert_int_equal(hf_bucket_set(a, "b", BYTES("old"), HF_VALUE(.token = 19)), HF_ERR_STALE);
    assert_int_equal(
        hf_bucket_compare_and_set(a, "b", BYTES("new"), BYTES("old"), HF_VALUE(.token = 19)),
        HF_ERR_STALE);
    assert_int_equal(hf_bucket_delete(a, "b", HF_VALUE(.token = 19)), HF_ERR_STALE);
    assert_int_equal(hf_bucket_get(a, "b", &value), HF_OK);
    is_value(&value, "new", 3);
    assert_int_equal(hf_bucket_set(a, "b", BYTES("newer"), HF_VALUE(.token = 20)), HF_OK);
    assert_int_equal(hf_bucket_delete(a, "b", HF_VALUE(.token = 21)), HF_OK);
    assert_int_equal(hf_map_put(a, "m", BYTES("k"), BYTES("1"), HF_VALUE(.token = 5), NULL), HF_OK);
    assert_int_equal(hf_map_put(a, "m", BYTES("k"), BYTES("0"), HF_VALUE(.token = 4), NULL),
                     HF_ERR_STALE);
    assert_int_equal(hf_map_remove(a, "m", BYTES("k"), HF_VALUE(.token = 4), NULL), HF_ERR_STALE);
    assert_int_equal(hf_map_remove(a, "m", BYTES("k"), HF_VALUE(.token = 6), NULL), HF_OK);
    hf_close(a);
}

static void arguments(void **state)
{
    hf_client *a = client_open();

    (void)state;
    assert_int_equal(hf_semaphore_acquire(a, "s", 0, NULL), HF_ERR_INVALID);
    assert_int_equal(hf_semaphore_acquire(a, "s", HF_PERMITS_MAX + 1, NULL), HF_ERR_INVALID);
    assert_int_equal(hf_semaphore_acquire(a, "", 1, NULL), HF_ERR_NAME);
    assert_int_equal(hf_semaphore_acquire(a, "s", 1, HF_WAIT(.wait_ms = -7)), HF_ERR_INVALID);
    assert_int_equal(hf_semaphore_release(a, "s", 0), HF_ERR_INVALID);
    assert_int_equal(hf_semaphore_set(a, "s", -1, 0), HF_ERR_INVALID);
    assert_int_equal(hf_semaphore_set(a, "s", 1, -1), HF_ERR_INVALID);
    assert_int_equal(hf_latch_set(a, "l", 0), HF_ERR_INVALID);
    assert_int_equal(hf_latch_await(a, NULL, NULL), HF_ERR_NAME);
    assert_int_equal(hf_latch_await(NULL, "l", NULL), HF_ERR_INVALID);
    assert_int_equal(hf_permits_set(a, "p", HF_COUNT_MAX + 1), HF_ERR_INVALID);
    assert_int_equal(hf_permits_acquire(a, "p", 0, NULL, &(hf_hold *){ NULL }), HF_ERR_INVALID);
    hf_close(a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(semaphore_counts),
        TEST(semaphore_wakes),
        TEST(permits_are_conserved),
        TEST(semaphore_events),
        TEST(semaphore_with_a_ttl),
        TEST(permits_as_holds),
        TEST(permits_expire),
        TEST(permits_of_the_dead_come_back),
        TEST(latch_opens),
        TEST(latch_is_deleted),
        TEST(latch_events),
        TEST(stamps),
        TEST(buckets),
        TEST(large_values),
        TEST(maps),
        TEST(guarded),
        TEST(arguments),
    };

    return suite_main(argc, argv, "objects", tests, sizeof tests / sizeof tests[0]);
}
