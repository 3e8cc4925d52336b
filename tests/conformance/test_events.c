/* SPDX-License-Identifier: Apache-2.0 */
/* The form for event loops: exactly one event an acquire, at most one pending a hold. */
#include "conformance/store.h"

#include <poll.h>

#define LONG HF_ACQUIRE(.ttl_ms = 30000)

static void acquired_and_released(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    struct hf_event event;
    int one, two;

    (void)state;
    assert_int_equal(hf_acquire_start(a, "lock", LONG, &one), HF_OK);
    event = next_event(a);
    assert_int_equal(event.type, HF_EVENT_ACQUIRED);
    assert_int_equal(event.error, HF_OK);
    assert_ptr_equal(event.cookie, &one);
    assert_int_equal(hf_hold_state(event.hold), HF_HELD);
    assert_true(hf_hold_token(event.hold) > 0);
    assert_int_equal(try_once(b, "lock"), HF_ERR_BUSY);
    no_event(a);
    assert_int_equal(hf_release_start(event.hold, &two), HF_OK);
    event = next_event(a);
    assert_int_equal(event.type, HF_EVENT_RELEASED);
    assert_int_equal(event.error, HF_OK);
    assert_ptr_equal(event.cookie, &two);
    assert_null(event.hold);
    no_event(a);
    assert_int_equal(try_once(b, "lock"), HF_OK);
    hf_close(a);
    hf_close(b);
}

/* The descriptor may be asked for late. */
static void events_before_the_descriptor(void **state)
{
    hf_client *a = client_open();
    struct hf_event event = { .size = sizeof event };
    struct pollfd p = { .events = POLLIN };

    (void)state;
    assert_int_equal(hf_acquire_start(a, "lock", LONG, NULL), HF_OK);
    AWAIT(hf_next(a, &event) == 1);
    assert_int_equal(hf_release_start(event.hold, NULL), HF_OK);
    AWAIT(count_waiters(a, "lock") == -1);
    p.fd = hf_fd(a);
    assert_true(p.fd >= 0);
    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    assert_int_equal(hf_next(a, &event), 1);
    assert_int_equal(event.type, HF_EVENT_RELEASED);
    no_event(a);
    assert_int_equal(hf_fd(a), p.fd);
    hf_close(a);
}

/* A program that takes one event and leaves the others keeps nobody waiting with what it has started. */
static void events_left_untaken(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    struct hf_event event[2] = { { .size = sizeof event[0] }, { .size = sizeof event[0] } };
    struct pollfd p = { .events = POLLIN };
    int one, two;

    (void)state;
    for (int round = 0; round < 5; round++) {
        hf_hold *hold;

        assert_int_equal(hf_acquire_start(a, "one", LONG, &one), HF_OK);
        assert_int_equal(hf_acquire_start(a, "two", LONG, &two), HF_OK);
        AWAIT(try_once(b, "one") == HF_ERR_BUSY && try_once(b, "two") == HF_ERR_BUSY);
        p.fd = hf_fd(a);
        assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
        assert_int_equal(hf_next(a, &event[0]), 1);
        assert_int_equal(hf_release_start(event[0].hold, &one), HF_OK);
        hold = take(b, event[0].cookie == &one ? "one" : "two",
                    HF_ACQUIRE(.wait_ms = PATIENCE_MS)); /* though the other event is there */
        give(hold);
        AWAIT(hf_next(a, &event[1]) == 1 && event[1].type == HF_EVENT_ACQUIRED);
        assert_int_equal(hf_release_start(event[1].hold, &two), HF_OK);
        for (int i = 0; i < 2; i++)
            assert_int_equal(next_event(a).type, HF_EVENT_RELEASED);
        no_event(a);
    }
    hf_close(a);
    hf_close(b);
}

static void failing(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", LONG);
    struct hf_event event;
    int cookie;

    (void)state;
    assert_int_equal(hf_acquire_start(b, "lock", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE), &cookie),
                     HF_OK);
    event = next_event(b);
    assert_int_equal(event.type, HF_EVENT_FAILED);
    assert_int_equal(event.error, HF_ERR_BUSY);
    assert_ptr_equal(event.cookie, &cookie);
    assert_null(event.hold);
    assert_int_equal(hf_acquire_start(b, "lock", HF_ACQUIRE(.wait_ms = 500), &cookie), HF_OK);
    assert_int_equal(next_event(b).error, HF_ERR_BUSY);
    no_event(b);
    assert_int_equal(hf_acquire_start(b, "", NULL, &cookie), HF_ERR_NAME);
    assert_int_equal(hf_acquire_start(b, "lock", HF_ACQUIRE(.ttl_ms = 1), &cookie), HF_ERR_TTL);
    no_event(b);
    give(hold);
    hf_close(a);
    hf_close(b);
}

/* No time-out of the library's own is to find what was forgotten. */
#define PATIENT HF_CLIENT(.op_timeout_ms = 10 * PATIENCE_MS, .connect_timeout_ms = 10 * PATIENCE_MS)

/* What a new client is asked first, nobody waits for in a call: the background thread takes the channel from
 * the caller who has just written to it. A connection's greeting may be answered while the caller still sends. */
static void first_requests(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        hf_client *client = client_open_with(PATIENT);
        struct hf_event event;

        assert_int_equal(hf_acquire_start(client, "lock", HF_ACQUIRE(.ttl_ms = 3600000), NULL),
                         HF_OK);
        event = next_event(client);
        assert_int_equal(event.type, HF_EVENT_ACQUIRED);
        assert_int_equal(hf_release_start(event.hold, NULL), HF_OK);
        assert_int_equal(next_event(client).type, HF_EVENT_RELEASED);
        hf_close(client);
    }
}

/* Without a named owner each acquire is a new one, also of one thread. */
static void fresh_owners(void **state)
{
    hf_client *a = client_open();
    struct hf_event first, second, event;
    int one, two;

    (void)state;
    assert_int_equal(hf_acquire_start(a, "lock", LONG, &one), HF_OK);
    first = next_event(a);
    assert_int_equal(hf_acquire_start(a, "lock", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE), &two), HF_OK);
    assert_int_equal(next_event(a).error, HF_ERR_BUSY);
    assert_int_equal(hf_acquire_start(a, "lock", HF_ACQUIRE(.owner = 3, .ttl_ms = 30000), &two),
                     HF_OK);
    no_event(a);
    assert_int_equal(hf_release_start(first.hold, NULL), HF_OK);
    second = next_event(a);
    event = next_event(a);
    if (second.type == HF_EVENT_RELEASED) {
        struct hf_event swap = second;

        second = event;
        event = swap;
    }
    assert_int_equal(event.type, HF_EVENT_RELEASED);
    assert_int_equal(second.type, HF_EVENT_ACQUIRED);
    assert_ptr_equal(second.cookie, &two);
    assert_int_equal(hf_acquire_start(a, "lock", HF_ACQUIRE(.owner = 3), &one), HF_OK);
    event = next_event(a); /* the named one enters again */
    assert_int_equal(event.type, HF_EVENT_ACQUIRED);
    assert_true(hf_hold_token(event.hold) == hf_hold_token(second.hold));
    give(event.hold);
    give(second.hold);
    hf_close(a);
}

static void cancelling(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", LONG);
    struct hf_event event;
    int one, two, count = 0;

    (void)state;
    assert_int_equal(hf_cancel(b, &one), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_acquire_start(b, "lock", LONG, &one), HF_OK);
    assert_int_equal(hf_acquire_start(b, "lock", LONG, &two), HF_OK);
    assert_int_equal(hf_acquire_start(b, "lock", LONG, &one), HF_OK);
    AWAIT(count_waiters(a, "lock") >= 1);
    assert_int_equal(hf_cancel(b, &one), HF_OK);
    for (int i = 0; i < 2; i++) {
        event = next_event(b);
        assert_int_equal(event.type, HF_EVENT_FAILED);
        assert_int_equal(event.error, HF_ERR_CANCELLED);
        assert_ptr_equal(event.cookie, &one);
        count++;
    }
    assert_int_equal(count, 2);
    no_event(b);
    assert_int_equal(hf_cancel(b, &one), HF_ERR_NOT_FOUND);
    give(hold);
    event = next_event(b);
    assert_int_equal(event.type, HF_EVENT_ACQUIRED);
    assert_ptr_equal(event.cookie, &two);
    give(event.hold);
    hf_close(a);
    hf_close(b);
}

/* Cancelled at any moment of its life, an acquire yields exactly one event, and leaves nothing. */
static void cancelling_at_any_time(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    int got = 0, cancelled = 0;
    uint32_t seed = 1;

    (void)state;
    for (int i = 0; i < 300; i++) {
        hf_hold *hold = i % 3 == 0 ? take(b, "lock", LONG) : NULL;
        struct hf_event event;
        int cookie, result;

        assert_int_equal(hf_acquire_start(a, "lock", LONG, &cookie), HF_OK);
        nap_us((long)(random_next(&seed) % 400));
        if (hold && i % 2)
            give(hold);
        result = hf_cancel(a, &cookie);
        event = next_event(a);
        assert_ptr_equal(event.cookie, &cookie);
        no_event(a);
        if (event.type == HF_EVENT_ACQUIRED) {
            got++;
            assert_int_equal(result, HF_ERR_NOT_FOUND);
            give(event.hold);
        } else {
            cancelled++;
            assert_int_equal(event.error, HF_ERR_CANCELLED);
            assert_int_equal(result, HF_OK);
        }
        if (hold && i % 2 == 0)
            give(hold);
    }
    assert_true(cancelled > 0);
    hf_close(a);
    hf_close(b);
}

/* Two threads that cancel different cookies do not disturb each other. */
struct canceller {
    hf_client *client;
    void *cookie;
    int error;
};

static void *cancel(void *arg)
{
    struct canceller *canceller = arg;

    canceller->error = hf_cancel(canceller->client, canceller->cookie);
    return NULL;
}

static void cancelling_at_once(void **state)
{
    enum { ROUNDS = 30, EACH = 20 };
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", LONG);

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct canceller canceller[2];
        pthread_t thread[2];
        int cookie[2], count[2] = { 0, 0 };

        for (int i = 0; i < 2 * EACH; i++)
            assert_int_equal(hf_acquire_start(b, "lock", LONG, &cookie[i % 2]), HF_OK);
        for (int i = 0; i < 2; i++) {
            canceller[i] = (struct canceller){ .client = b, .cookie = &cookie[i] };
            assert_int_equal(pthread_create(&thread[i], NULL, cancel, &canceller[i]), 0);
        }
        for (int i = 0; i < 2; i++) {
            pthread_join(thread[i], NULL);
            assert_int_equal(canceller[i].error, HF_OK);
        }
        for (int i = 0; i < 2 * EACH; i++) {
            struct hf_event event = next_event(b);

            assert_int_equal(event.error, HF_ERR_CANCELLED);
            count[event.cookie == &cookie[1]]++;
        }
        assert_int_equal(count[0], EACH);
        assert_int_equal(count[1], EACH);
        no_event(b);
    }
    give(hold);
    hf_close(a);
    hf_close(b);
}

/* A pending LOST is taken away by the release, and by nothing else. */
static void release_takes_news_away(void **state)
{
    hf_client *a = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.lease_ms = 150));
    struct pollfd p = { .fd = hf_fd(a), .events = POLLIN };

    (void)state;
    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1); /* LOST is there */
    assert_int_equal(hf_hold_state(hold), HF_LOST);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    no_event(a);
    hf_close(a);
}

/* A loop as programs write it: many locks, one descriptor. */
static void a_loop(void **state)
{
    enum { N = 50, ROUNDS = 10 };
    hf_client *a = client_open();
    char name[N][32];
    int started = N, acquired = 0, released = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        snprintf(name[i], sizeof name[i], "lock:%d", i % 10);
        assert_int_equal(hf_acquire_start(a, name[i], LONG, name[i]), HF_OK);
    }
    while (released < N * ROUNDS) {
        struct hf_event event = next_event(a);

        if (event.type == HF_EVENT_ACQUIRED) {
            acquired++;
            assert_string_equal(hf_hold_name(event.hold), event.cookie);
            assert_int_equal(hf_release_start(event.hold, event.cookie), HF_OK);
        } else {
            assert_int_equal(event.type, HF_EVENT_RELEASED);
            assert_int_equal(event.error, HF_OK);
            released++;
            if (started++ < N * ROUNDS)
                assert_int_equal(hf_acquire_start(a, event.cookie, LONG, event.cookie), HF_OK);
        }
    }
    assert_int_equal(acquired, N * ROUNDS);
    no_event(a);
    hf_close(a);
}

static void event_sizes(void **state)
{
    hf_client *a = client_open();
    struct {
        size_t size;
        enum hf_event_type type;
        int error;
        hf_hold *hold;
        char guard[64];
    } old = { .size = offsetof(struct hf_event, cookie) };
    struct hf_event bad = { 0 };

    (void)state;
    memset(old.guard, 'g', sizeof old.guard);
    assert_int_equal(hf_next(a, &bad), HF_ERR_INVALID);
    assert_int_equal(hf_next(a, NULL), HF_ERR_INVALID);
    assert_int_equal(hf_acquire_start(a, "lock", HF_ACQUIRE(.lease_ms = 150), NULL), HF_OK);
    AWAIT(hf_next(a, (struct hf_event *)(void *)&old) == 1);
    assert_int_equal(old.type, HF_EVENT_ACQUIRED);
    assert_int_equal(old.guard[0], 'g');
    give(old.hold);
    hf_close(a);
}

static const struct CMUnitTest TESTS[] = {
    TEST(acquired_and_released),
    TEST(events_before_the_descriptor),
    TEST(events_left_untaken),
    TEST(failing),
    TEST(first_requests),
    TEST(fresh_owners),
    TEST(cancelling),
    TEST(cancelling_at_any_time),
    TEST(cancelling_at_once),
    TEST(release_takes_news_away),
    TEST(a_loop),
    TEST(event_sizes),
};

SUITE_MAIN("events", TESTS)
