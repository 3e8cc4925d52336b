/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that are cancelled while they wait, and calls under a storm of signals. */
#include "conformance/store.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#define LONG HF_ACQUIRE(.ttl_ms = 60000)

/* Wake-ups, not polls, must do it: looks are far apart. */
#define RARELY HF_CLIENT(.poll_ms = 60000)

/* The lock is free, and soon so: nobody that was cancelled has it, or stands in the line for it. */
static void is_free(const char *name)
{
    hf_client *client = client_open_with(RARELY);
    hf_hold *hold = take(client, name, HF_ACQUIRE(.wait_ms = 10000));

    give(hold);
    hf_close(client);
}

static void cancel_taker(struct taker *taker)
{
    void *result = NULL;

    assert_int_equal(pthread_cancel(taker->thread), 0);
    assert_int_equal(pthread_join(taker->thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_null(taker->hold);
}

static void waiting_for_another_process(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", LONG);
    struct taker taker;

    (void)state;
    for (int i = 0; i < 10; i++) {
        taker_start(&taker, b, "lock", HF_ACQUIRE(.label = "cancelled", .ttl_ms = 60000));
        AWAIT(count_waiters(a, "lock") == 1);
        cancel_taker(&taker);
    }
    give(hold);
    is_free("lock");
    assert_int_equal(try_once(b, "lock"), HF_OK);
    hf_close(a);
    hf_close(b);
}

static void waiting_for_a_thread(void **state)
{
    hf_client *a = client_open();
    hf_hold *hold = take(a, "lock", LONG);
    struct taker taker[3];
    int first;

    (void)state;
    for (int i = 0; i < 3; i++)
        taker_start(&taker[i], a, "lock", LONG);
    nap_ms(10); /* nothing tells that they wait */
    cancel_taker(&taker[1]);
    give(hold);
    AWAIT(taker_done(&taker[0]) || taker_done(&taker[2])); /* they came in whatever order */
    first = taker_done(&taker[0]) ? 0 : 2;
    assert_int_equal(taker_join(&taker[first]), HF_OK);
    give(taker[first].hold);
    assert_int_equal(taker_join(&taker[2 - first]), HF_OK);
    give(taker[2 - first].hold);
    is_free("lock");
    hf_close(a);
}

/* The one that reads the sockets for all is cancelled: another one goes on. */
static void the_one_that_reads(void **state)
{
    hf_client *a = client_open(), *b = client_open_with(RARELY);
    hf_hold *hold = take(a, "lock", LONG);
    struct taker taker[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        taker_start(&taker[i], b, "lock", LONG);
        AWAIT(count_waiters(a, "lock") == 1);
        nap_ms(5);
    }
    for (int i = 0; i < 3; i++)
        cancel_taker(&taker[i]);
    give(hold);
    assert_int_equal(taker_join(&taker[3]), HF_OK);
    give(taker[3].hold);
    hf_close(a);
    hf_close(b);
}

/* Cancelled at random moments, also in the middle of talking to the store. */
static void *come_and_go(void *arg)
{
    hf_client *client = arg;

    for (;;) {
        hf_hold *hold = NULL;

        if (hf_acquire(client, "lock", LONG, &hold) != HF_OK)
            return "hf_acquire";
        if (hf_release(hold) != HF_OK)
            return "hf_release";
        pthread_testcancel();
    }
}

static void at_random_times(void **state)
{
    enum { ROUNDS = TEST_SANITIZED ? 60 : 200, N = 3 };
    hf_client *a = client_open(), *b = client_open();
    uint32_t seed = 5;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread[N];

        for (int i = 0; i < N; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, i % 2 ? a : b), 0);
        for (int i = 0; i < N; i++) {
            void *result = NULL;

            nap_us((long)(random_next(&seed) % 1500));
            assert_int_equal(pthread_cancel(thread[i]), 0);
            assert_int_equal(pthread_join(thread[i], &result), 0);
            if (result != PTHREAD_CANCELED)
                fail_msg("%s failed", (const char *)result);
        }
    }
    is_free("lock");
    hf_close(a);
    hf_close(b);
}

/* A thread with cancellation turned off by the program stays so. */
static void *has_it_off(void *arg)
{
    int state = 0, error;
    hf_hold *hold = NULL;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    error = hf_acquire(arg, "lock", HF_ACQUIRE(.wait_ms = 1000), &hold);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    if (error != HF_ERR_BUSY || state != PTHREAD_CANCEL_DISABLE)
        return "changed";
    return "as it was";
}

static void turned_off(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", LONG);
    void *result = NULL;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, has_it_off, b), 0);
    AWAIT(count_waiters(a, "lock") == 1);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    assert_string_equal(result, "as it was");
    give(hold);
    hf_close(a);
    hf_close(b);
}

/* No other call is a cancellation point: each returns, and the thread ends after it. */
static void *calls_all(void *arg)
{
    hf_client *client = arg;
    static _Atomic int calls;
    hf_hold *hold = NULL, *again = NULL;
    hf_list *list = NULL;
    struct hf_event event = { .size = sizeof event };

    atomic_store(&calls, 0);
    pthread_cancel(pthread_self()); /* pending from here on */
    calls += hf_check(client) == HF_OK;
    calls += hf_list_locks(client, NULL, &list) == HF_OK;
    hf_list_free(list);
    calls += hf_fd(client) >= 0;
    calls += hf_next(client, &event) == 0;
    calls += hf_acquire_start(client, "async", NULL, NULL) == HF_OK;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    calls += hf_acquire(client, "lock", NULL, &hold) == HF_OK;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    calls += hf_acquire(client, "lock", NULL, &again) == HF_OK; /* needs not wait */
    calls += hf_hold_verify(hold) == HF_OK;
    calls += hf_release(again) == HF_OK;
    calls += hf_release(hold) == HF_OK;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return (void *)&calls;
}

static void only_one_call_is_a_point(void **state)
{
    hf_client *a = client_open();
    pthread_t thread;
    void *result = NULL;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, calls_all, a), 0);
    pthread_join(thread, &result);
    assert_ptr_not_equal(result, PTHREAD_CANCELED);
    assert_int_equal(*(_Atomic int *)result, 10);
    give(next_event(a).hold);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Signals
 */

static atomic_int signals;

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals, 1);
}

struct worker {
    hf_client *client;
    int rounds, wrong;
    atomic_int *inside;
};

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };
    struct itimerspec often = { .it_interval.tv_nsec = TEST_SANITIZED ? 1000000 : 100000,
                                .it_value.tv_nsec = 100000 };
    timer_t timer;

    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        return NULL;
    timer_settime(timer, 0, &often, NULL);
    for (int i = 0; i < worker->rounds; i++) {
        hf_hold *hold = NULL;

        if (hf_acquire(worker->client, "lock", HF_ACQUIRE(.wait_ms = 2 * PATIENCE_MS), &hold)) {
            worker->wrong++;
            continue;
        }
        worker->wrong += atomic_fetch_add(worker->inside, 1) != 0;
        worker->wrong += hf_hold_verify(hold) != HF_OK;
        atomic_fetch_sub(worker->inside, 1);
        worker->wrong += hf_release(hold) != HF_OK;
    }
    timer_delete(timer);
    return NULL;
}

static void a_storm_of_signals(void **state)
{
    enum { N = 4 };
    struct sigaction action = { .sa_handler = on_signal }, before; /* without SA_RESTART */
    hf_client *a = client_open(), *b = client_open();
    struct worker worker[N];
    pthread_t thread[N];
    atomic_int inside = 0;

    (void)state;
    sigaction(SIGALRM, &action, &before);
    for (int i = 0; i < N; i++) {
        worker[i] = (struct worker){ .client = i % 2 ? a : b, .rounds = 50, .inside = &inside };
        assert_int_equal(pthread_create(&thread[i], NULL, work, &worker[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(worker[i].wrong, 0);
    }
    assert_true(atomic_load(&signals) > 10);
    hf_close(a);
    hf_close(b);
    sigaction(SIGALRM, &before, NULL);
}

static void not_here(void **state)
{
    (void)state;
    skip();
}

#define CANCEL_TEST(f)                                                                             \
    {                                                                                              \
#f, TEST_CAN_CANCEL ? f : not_here, test_begin, test_end, NULL                             \
    }

static const struct CMUnitTest TESTS[] = {
    CANCEL_TEST(waiting_for_another_process),
    CANCEL_TEST(waiting_for_a_thread),
    CANCEL_TEST(the_one_that_reads),
    CANCEL_TEST(at_random_times),
    TEST(turned_off),
    TEST(only_one_call_is_a_point),
    TEST(a_storm_of_signals),
};

SUITE_MAIN("cancel", TESTS)
