/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of objects.h that were started, while they are under way: many, among others, cancelled, at the end of
 * their client, in a child of fork(). Each has exactly one event. */
#include "conformance/started.h"

#include <sys/wait.h>

static int64_t available(hf_client *client, const char *name)
{
    int64_t n = -1;

    assert_int_equal(hf_semaphore_available(client, name, &n), HF_OK);
    return n;
}

static bool has_values(hf_client *client)
{
    struct hf_value value = { 0 };

    return hf_bucket_get(client, "b", &value) == HF_ERR_NOT_FOUND;
}

/* ------------------------------------------------------------------------------------------------
 * Many
 */

/* Calls take effect in the order in which they were started, and each event is its own call's. */
static void many_in_order(void **state)
{
    enum { N = 300 };
    hf_client *a = client_open();
    int told[N] = { 0 };

    (void)state;
    assert_int_equal(hf_latch_set_start(a, "l", N, &told[N - 1] + 1), HF_OK);
    for (int i = 0; i < N; i++)
        assert_int_equal(hf_latch_down_start(a, "l", &told[i]), HF_OK);
    for (int i = 0; i <= N; i++) {
        struct hf_event event = next_event(a);
        int *which = event.cookie;

        assert_int_equal(event.type, HF_EVENT_DONE);
        if (which == told + N)
            continue;
        assert_int_equal(event.number[0], N - 1 - (which - told));
        assert_int_equal((*which)++, 0);
    }
    no_event(a);
    assert_int_equal(hf_latch_delete(a, "l"), HF_ERR_NOT_FOUND);
    hf_close(a);
}

/* Calls, acquires, waits and releases at once, each event starting what comes next. */
struct chain {
    int step, name;
};

static void next_step(hf_client *a, struct chain *chain, const struct hf_event *event)
{
    static const char *const LOCKS[] = { "lock 0", "lock 1", "lock 2" };
    const char *lock = LOCKS[chain->name];

    switch (chain->step++ % 5) {
    case 0:
        assert_int_equal(hf_acquire_start(a, lock, HF_ACQUIRE(.ttl_ms = 30000), chain), HF_OK);
        break;
    case 1:
        assert_int_equal(event->type, HF_EVENT_ACQUIRED);
        assert_int_equal(hf_release_start(event->hold, chain), HF_OK);
        break;
    case 2:
        assert_int_equal(event->type, HF_EVENT_RELEASED);
        assert_int_equal(hf_semaphore_release_start(a, "s", 1, chain), HF_OK);
        break;
    case 3:
        assert_int_equal(event->type, HF_EVENT_DONE);
        assert_int_equal(hf_semaphore_acquire_start(a, "s", 1, NULL, chain), HF_OK);
        break;
    default:
        assert_int_equal(event->type, HF_EVENT_DONE);
        assert_int_equal(hf_semaphore_add_start(a, "sum", 1, chain), HF_OK);
    }
}

static void among_others(void **state)
{
    enum { CHAINS = 12, STEPS = 100 };
    hf_client *a = client_open();
    struct chain chain[CHAINS];

    (void)state;
    assert_int_equal(hf_semaphore_set(a, "s", 0, 0), HF_OK);
    assert_int_equal(hf_semaphore_set(a, "sum", 0, 0), HF_OK);
    for (int i = 0; i < CHAINS; i++) {
        chain[i] = (struct chain){ .name = i % 3 };
        next_step(a, &chain[i], NULL);
    }
    for (int left = CHAINS; left > 0;) {
        struct hf_event event = next_event(a);
        struct chain *which = event.cookie;

        assert_int_equal(event.error, HF_OK);
        if (which->step == STEPS)
            left--;
        else
            next_step(a, which, &event);
    }
    no_event(a);
    assert_int_equal(available(a, "s"), 0);
    assert_int_equal(available(a, "sum"), CHAINS * STEPS / 5);
    assert_int_equal(hf_semaphore_delete(a, "s"), HF_OK);
    assert_int_equal(hf_semaphore_delete(a, "sum"), HF_OK);
    hf_close(a);
}

/* Threads that start, threads that block, and one that takes the events. */
struct starter {
    pthread_t thread;
    hf_client *client;
    int wrong;
};

enum { STARTERS = 4, CALLS = 150 };

static void *start_calls(void *arg)
{
    struct starter *starter = arg;

    for (int i = 0; i < CALLS; i++) {
        starter->wrong += hf_semaphore_release_start(starter->client, "s", 1, starter) != HF_OK;
        if (i % 10 == 0)
            starter->wrong += hf_semaphore_add(starter->client, "s", 1) != HF_OK;
    }
    return NULL;
}

static void from_any_thread(void **state)
{
    hf_client *a = client_open();
    struct starter starter[STARTERS];

    (void)state;
    for (int i = 0; i < STARTERS; i++) {
        starter[i] = (struct starter){ .client = a };
        assert_int_equal(pthread_create(&starter[i].thread, NULL, start_calls, &starter[i]), 0);
    }
    for (int i = 0; i < STARTERS * CALLS; i++)
        assert_int_equal(next_event(a).type, HF_EVENT_DONE);
    for (int i = 0; i < STARTERS; i++) {
        pthread_join(starter[i].thread, NULL);
        assert_int_equal(starter[i].wrong, 0);
    }
    no_event(a);
    assert_int_equal(available(a, "s"), STARTERS * (CALLS + CALLS / 10));
    assert_int_equal(hf_semaphore_delete(a, "s"), HF_OK);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Cancelled
 */

/* Whenever it comes: what the event says is what was done. */
static void cancelled_at_any_time(void **state)
{
    enum { ROUNDS = 300 };
    hf_client *a = client_open();
    int done = 0;

    (void)state;
    assert_int_equal(hf_cancel(a, a), HF_ERR_NOT_FOUND);
    for (int i = 0; i < ROUNDS; i++) {
        struct hf_event event;

        assert_int_equal(hf_semaphore_release_start(a, "s", 1, a), HF_OK);
        nap_us(i % 7 * 20);
        if (hf_cancel(a, a) == HF_ERR_NOT_FOUND) /* it is over */
            assert_int_equal(hf_cancel(a, a), HF_ERR_NOT_FOUND);
        event = event_of(a, a);
        done += event.type == HF_EVENT_DONE;
        if (event.type == HF_EVENT_FAILED)
            assert_int_equal(event.error, HF_ERR_CANCELLED);
        no_event(a);
    }
    assert_int_equal(available(a, "s"), done);
    if (done > 0)
        assert_int_equal(hf_semaphore_delete(a, "s"), HF_OK);
    hf_close(a);
}

/* All with the cookie, of whatever sort, and no others. */
static void cancelled_together(void **state)
{
    enum { N = 50 };
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(b, "lock", HF_ACQUIRE(.ttl_ms = 30000));
    int mine, others, told = 0, done = 0, told_others = 0;

    (void)state;
    assert_int_equal(hf_acquire_start(a, "lock", NULL, &mine), HF_OK);
    assert_int_equal(hf_semaphore_acquire_start(a, "none", 1, NULL, &mine), HF_OK);
    for (int i = 0; i < N; i++) {
        assert_int_equal(hf_semaphore_release_start(a, "s", 1, &mine), HF_OK);
        assert_int_equal(hf_semaphore_release_start(a, "s", 1000, &others), HF_OK);
    }
    assert_int_equal(hf_cancel(a, &mine), HF_OK);
    for (int i = 0; i < 2 * N + 2; i++) {
        struct hf_event event = next_event(a);

        if (event.cookie == &others) {
            assert_int_equal(event.type, HF_EVENT_DONE);
            told_others++;
            continue;
        }
        told++;
        done += event.type == HF_EVENT_DONE;
        if (event.type != HF_EVENT_DONE)
            assert_int_equal(event.error, HF_ERR_CANCELLED);
    }
    no_event(a);
    assert_int_equal(told, N + 2);
    assert_int_equal(told_others, N);
    assert_int_equal(available(b, "s"), done + 1000 * N);
    assert_int_equal(hf_semaphore_delete(b, "s"), HF_OK);
    give(hold);
    hf_close(a);
    hf_close(b);
}

/* While the store stands still: what it was not given yet is called back at once, the rest goes on. */
static void cancelled_meanwhile(void **state)
{
    enum { N = 10 };
    hf_client *a = client_open_with(HF_CLIENT(.op_timeout_ms = 60000)), *b = client_open();
    struct hf_event event = { .size = sizeof event };
    int done = 0, called_back = 0;

    (void)state;
    assert_int_equal(hf_semaphore_set(a, "s", 0, 0), HF_OK);
    store->freeze();
    for (int i = 0; i < N; i++)
        assert_int_equal(hf_semaphore_release_start(a, "s", 1, a), HF_OK);
    nap_us(50000); /* the first is in its hands */
    assert_int_equal(hf_cancel(a, a), HF_OK);
    while (hf_next(a, &event) == 1) {
        assert_int_equal(event.error, HF_ERR_CANCELLED);
        called_back++;
    }
    if (store->one_by_one)
        assert_in_range(called_back, N - 1, N); /* unless it has not even begun */
    else
        assert_int_equal(called_back, 0);
    store->thaw();
    for (; done < N - called_back; done++)
        assert_int_equal(event_of(a, a).type, HF_EVENT_DONE);
    no_event(a);
    assert_int_equal(available(b, "s"), done);
    assert_int_equal(hf_semaphore_delete(b, "s"), HF_OK);
    hf_close(a);
    hf_close(b);
}

/* ------------------------------------------------------------------------------------------------
 * The end of the client
 */

/* What was started is done, though nobody will take its event. */
static void closed_meanwhile(void **state)
{
    enum { N = 100 };
    hf_client *b = client_open();

    (void)state;
    for (int round = 0; round < 5; round++) {
        hf_client *a = client_open();
        bool values = has_values(a);

        for (int i = 0; i < N; i++)
            assert_int_equal(hf_semaphore_release_start(a, "s", 1, NULL), HF_OK);
        if (values) { /* an event with a value that nobody takes */
            assert_int_equal(hf_bucket_set_start(a, "b", BYTES("value"), NULL, NULL), HF_OK);
            assert_int_equal(hf_bucket_get_start(a, "b", NULL), HF_OK);
            assert_int_equal(hf_bucket_delete_start(a, "b", NULL, NULL), HF_OK);
        }
        nap_us(round * 300);
        hf_close(a);
        assert_int_equal(available(b, "s"), N);
        assert_int_equal(hf_semaphore_delete(b, "s"), HF_OK);
    }
    hf_close(b);
}

/* Events that are there, and are not taken. */
static void closed_with_events(void **state)
{
    hf_client *a = client_open();

    (void)state;
    if (has_values(a)) {
        assert_int_equal(hf_bucket_set(a, "b", BYTES("value"), NULL), HF_OK);
        for (int i = 0; i < 3; i++)
            assert_int_equal(hf_bucket_get_start(a, "b", NULL), HF_OK);
        assert_int_equal(hf_bucket_delete(a, "b", NULL), HF_OK); /* behind them */
    }
    hf_close(a);
}

static void in_a_child(void **state)
{
    hf_client *a = client_open();

    (void)state;
    assert_int_equal(hf_semaphore_set(a, "s", 0, 0), HF_OK);
    for (int i = 0; i < 10; i++) {
        int status;
        pid_t pid;

        assert_int_equal(hf_semaphore_release_start(a, "s", 1, a), HF_OK);
        pid = fork();
        if (pid == 0) {
            struct hf_event event = { .size = sizeof event };

            CHECK_EQUAL(hf_semaphore_release_start(a, "s", 100, a), HF_ERR_FORKED);
            CHECK_EQUAL(hf_cancel(a, a), HF_ERR_FORKED);
            CHECK_EQUAL(hf_next(a, &event), HF_ERR_FORKED);
            hf_close(a);
            _exit(0);
        }
        assert_true(pid > 0);
        AWAIT(waitpid(pid, &status, WNOHANG) == pid);
        assert_int_equal(status, 0);
        DONE(a, HF_OK);
    }
    assert_int_equal(available(a, "s"), 10);
    assert_int_equal(hf_semaphore_delete(a, "s"), HF_OK);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Events
 */

/* A program that was built when events were smaller: it gets what it knows, and nothing leaks. */
static void small_events(void **state)
{
    static const size_t SIZES[] = { offsetof(struct hf_event, number),
                                    offsetof(struct hf_event, value),
                                    offsetof(struct hf_event, value) + sizeof(void *) };
    hf_client *a = client_open();
    union {
        struct hf_event event;
        char bytes[sizeof(struct hf_event) + 8];
    } old;

    (void)state;
    if (!has_values(a)) {
        hf_close(a);
        return;
    }
    assert_int_equal(hf_bucket_set(a, "b", BYTES("value"), NULL), HF_OK);
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        memset(&old, 'g', sizeof old);
        old.event.size = SIZES[i];
        assert_int_equal(hf_bucket_get_start(a, "b", a), HF_OK);
        AWAIT(hf_next(a, &old.event) == 1);
        assert_int_equal(old.event.size, SIZES[i]);
        assert_int_equal(old.event.type, HF_EVENT_DONE);
        assert_ptr_equal(old.event.cookie, a);
        for (size_t at = SIZES[i]; at < sizeof old; at++)
            assert_int_equal(old.bytes[at], 'g');
    }
    memset(&old, 'g', sizeof old); /* and one that is newer than the library */
    old.event.size = sizeof old;
    assert_int_equal(hf_bucket_get_start(a, "b", a), HF_OK);
    AWAIT(hf_next(a, &old.event) == 1);
    assert_int_equal(old.event.value.len, 5);
    assert_int_equal(old.bytes[sizeof(struct hf_event)], 'g');
    hf_value_free(&old.event.value);
    assert_int_equal(hf_bucket_delete(a, "b", NULL), HF_OK);
    hf_close(a);
}

/* Others' events have no numbers and no value. */
static void other_events(void **state)
{
    hf_client *a = client_open();
    struct hf_event event;

    (void)state;
    assert_int_equal(hf_acquire_start(a, "lock", NULL, a), HF_OK);
    event = next_event(a);
    assert_int_equal(event.type, HF_EVENT_ACQUIRED);
    assert_int_equal(event.number[0], 0);
    assert_int_equal(event.number[1], 0);
    assert_null(event.value.bytes);
    give(event.hold);
    hf_value_free(&event.value);
    hf_value_free(NULL);
    hf_close(a);
}

static const struct CMUnitTest TESTS[] = {
    TEST(many_in_order),         TEST(among_others),       TEST(from_any_thread),
    TEST(cancelled_at_any_time), TEST(cancelled_together), TEST(cancelled_meanwhile),
    TEST(closed_meanwhile),      TEST(closed_with_events), TEST(in_a_child),
    TEST(small_events),          TEST(other_events),
};

SUITE_MAIN("under_way", TESTS)
