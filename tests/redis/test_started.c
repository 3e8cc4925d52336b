/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of objects.h that were started, over bad networks: each has its one event, and counts once or not at all. */
#include "redis/support.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "holdfast/objects.h"

/* A client whose connection is up. */
static hf_client *connected(const struct hf_client_options *options)
{
    hf_client *a = client_behind(options);

    assert_int_equal(hf_check(a), HF_OK);
    return a;
}

static struct hf_event end_of(hf_client *a, enum hf_event_type type, int error)
{
    struct hf_event event = next_event(a);

    if (event.error != error)
        fail_msg("%s: %s", hf_strerror(event.error), hf_last_error());
    assert_int_equal(event.type, type);
    assert_ptr_equal(event.cookie, a);
    return event;
}

/* What the server has: the semaphore is 0 when it is not there. */
static long long permits(void)
{
    return atoll(raw_text(&server, "GET s"));
}

/* Nothing more comes of it, and nothing is left of the semaphore but what was counted. */
static void counted(hf_client *a, long long expected)
{
    assert_int_equal(permits(), expected);
    assert_int_equal(hf_next(a, &(struct hf_event){ .size = sizeof(struct hf_event) }), 0);
    raw_do(&server, "DEL s");
}

/* ------------------------------------------------------------------------------------------------
 * Answers that are lost
 */

enum { CALLS = 6 };

/* Some at once, with the connection cut after so many bytes of answers. True when it was. */
static bool release_with_cut(hf_client *a, long bytes)
{
    int cuts = atomic_load(&proxy.cuts);

    AWAIT(hf_check(a) == HF_OK); /* a greeting that is cut is another story */
    atomic_store(&proxy.cut_after, bytes);
    proxy_apply(&proxy);
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(hf_semaphore_release_start(a, "s", 1, a), HF_OK);
    for (int i = 0; i < CALLS; i++) {
        struct hf_event event = next_event(a);

        if (event.type != HF_EVENT_DONE)
            fail_msg("cut after %ld: %s: %s", bytes, hf_strerror(event.error), hf_last_error());
    }
    counted(a, CALLS);
    atomic_store(&proxy.cut_after, -1);
    return atomic_load(&proxy.cuts) > cuts;
}

/* At every byte: what was executed is not executed again, and its answer comes all the same. */
static void cut_at_every_byte(void **state)
{
    long bytes = 0;

    (void)state;
    for (int reset = 0; reset < 2; reset++) {
        hf_client *a = connected(TRACED());

        atomic_store(&proxy.reset, reset != 0);
        while (release_with_cut(a, bytes))
            bytes++;
        assert_in_range(bytes, 30, 1000);
        bytes = 0;
        hf_close(a);
    }
    raw_do(&server, "FLUSHDB"); /* notes of what was cut stay for a minute */
}

/* A value that was read twice is handed over once. */
static void values_after_a_cut(void **state)
{
    hf_client *a = connected(TRACED());

    (void)state;
    raw_do(&server, "SET b first");
    for (long bytes = 0; bytes < 30; bytes++) {
        struct hf_event event;

        AWAIT(hf_check(a) == HF_OK);
        atomic_store(&proxy.cut_after, bytes);
        proxy_apply(&proxy);
        assert_int_equal(
            hf_bucket_get_and_set_start(a, "b", (struct hf_value){ "second", 6 }, NULL, a), HF_OK);
        event = end_of(a, HF_EVENT_DONE, HF_OK);
        assert_int_equal(event.value.len, 5);
        assert_memory_equal(event.value.bytes, "first", 5);
        hf_value_free(&event.value);
        atomic_store(&proxy.cut_after, -1);
        raw_do(&server, "SET b first");
    }
    hf_close(a);
    raw_do(&server, "FLUSHDB");
}

/* None comes, ever: three tries, and then it is said so. */
static void no_answer_at_all(void **state)
{
    hf_client *a = connected(TRACED(.op_timeout_ms = 200));
    int64_t start = now_ms();

    (void)state;
    atomic_store(&proxy.swallow_down, true);
    assert_int_equal(hf_semaphore_release_start(a, "s", 1, a), HF_OK);
    end_of(a, HF_EVENT_FAILED, HF_ERR_UNSURE);
    assert_true(now_ms() - start >= 190);
    assert_non_null(strstr(hf_last_error(), "does not answer"));
    proxy_clear(&proxy);
    assert_int_equal(hf_check(a), HF_OK);
    counted(a, 1); /* once, however often it came */
    hf_close(a);
    raw_do(&server, "FLUSHDB");
}

static void no_server(void **state)
{
    hf_client *a = client_behind(TRACED(.op_timeout_ms = 300));

    (void)state;
    atomic_store(&proxy.refuse, true);
    assert_int_equal(hf_semaphore_release_start(a, "s", 1, a), HF_OK);
    end_of(a, HF_EVENT_FAILED, HF_ERR_UNREACHABLE);
    assert_int_equal(raw_integer(&server, "EXISTS s"), 0);
    proxy_clear(&proxy);
    AWAIT(hf_check(a) == HF_OK);
    assert_int_equal(raw_integer(&server, "EXISTS s"), 0);
    hf_close(a);
}

/* The connection is lost, with everything under way. */
static void cut_with_many_under_way(void **state)
{
    enum { N = 200, ROUNDS = 5 };
    hf_client *a = connected(TRACED());

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        AWAIT(hf_check(a) == HF_OK);
        atomic_store(&proxy.delay_ms, 30);
        for (int i = 0; i < N; i++)
            assert_int_equal(hf_semaphore_release_start(a, "s", 1, a), HF_OK);
        nap_us(5000 * round);
        proxy_cut_all(&proxy);
        proxy_clear(&proxy);
        for (int i = 0; i < N; i++)
            end_of(a, HF_EVENT_DONE, HF_OK);
        counted(a, N);
    }
    hf_close(a);
    raw_do(&server, "FLUSHDB");
}

/* ------------------------------------------------------------------------------------------------
 * Cancelled
 */

/* Before it could be sent: nothing was done, nor will be. */
static void cancelled_unsent(void **state)
{
    hf_client *a = client_behind(TRACED(.op_timeout_ms = 60000, .connect_timeout_ms = 60000));
    int64_t start = now_ms();
    int other;

    (void)state;
    atomic_store(&proxy.swallow_up, true); /* a connection that is never greeted */
    assert_int_equal(hf_semaphore_release_start(a, "s", 1, a), HF_OK);
    assert_int_equal(hf_semaphore_release_start(a, "s", 10, &other), HF_OK);
    assert_int_equal(hf_semaphore_release_start(a, "s", 100, a), HF_OK);
    AWAIT(atomic_load(&proxy.accepted) > 0);
    assert_int_equal(hf_cancel(a, a), HF_OK);
    end_of(a, HF_EVENT_FAILED, HF_ERR_CANCELLED);
    end_of(a, HF_EVENT_FAILED, HF_ERR_CANCELLED);
    assert_int_equal(hf_cancel(a, a), HF_ERR_NOT_FOUND);
    assert_true(now_ms() - start < 10000);
    proxy_clear(&proxy);
    proxy_cut_all(&proxy);
    for (struct hf_event event = next_event(a);; event = next_event(a)) {
        assert_ptr_equal(event.cookie, &other); /* the greeting was lost: it is told or done */
        if (event.type == HF_EVENT_DONE)
            break;
        assert_int_equal(event.error, HF_ERR_UNREACHABLE);
        assert_int_equal(hf_semaphore_release_start(a, "s", 10, &other), HF_OK);
    }
    counted(a, 10);
    hf_close(a);
    raw_do(&server, "FLUSHDB");
}

/* When it was sent: it goes on to its outcome. */
static void cancelled_and_answered(void **state)
{
    hf_client *a = connected(TRACED());

    (void)state;
    atomic_store(&proxy.delay_ms, 100);
    assert_int_equal(hf_semaphore_release_start(a, "s", 3, a), HF_OK);
    AWAIT(raw_integer(&server, "EXISTS s") == 1);
    assert_int_equal(hf_cancel(a, a), HF_OK);
    end_of(a, HF_EVENT_DONE, HF_OK);
    counted(a, 3);
    hf_close(a);
    raw_do(&server, "FLUSHDB");
}

/* And is not tried again. */
static void cancelled_and_lost(void **state)
{
    hf_client *a = connected(TRACED(.op_timeout_ms = 60000));

    (void)state;
    atomic_store(&proxy.swallow_down, true);
    assert_int_equal(hf_semaphore_release_start(a, "s", 3, a), HF_OK);
    AWAIT(raw_integer(&server, "EXISTS s") == 1);
    assert_int_equal(hf_cancel(a, a), HF_OK);
    raw_do(&server, "CONFIG RESETSTAT");
    proxy_cut_all(&proxy); /* the answer is still to come, or was swallowed */
    end_of(a, HF_EVENT_FAILED, HF_ERR_UNSURE);
    proxy_clear(&proxy);
    assert_int_equal(hf_check(a), HF_OK);
    assert_int_equal(raw_calls(&server, "evalsha"), 0);
    counted(a, 3);
    hf_close(a);
    raw_do(&server, "FLUSHDB");
}

/* A further try that was not sent yet is called back, but not the first one. */
static void cancelled_between_tries(void **state)
{
    hf_client *a = connected(TRACED(.op_timeout_ms = 60000, .connect_timeout_ms = 60000));
    int accepted = atomic_load(&proxy.accepted);

    (void)state;
    atomic_store(&proxy.swallow_down, true);
    assert_int_equal(hf_semaphore_release_start(a, "s", 3, a), HF_OK);
    AWAIT(raw_integer(&server, "EXISTS s") == 1);
    proxy_cut_all(&proxy);
    AWAIT(atomic_load(&proxy.accepted) > accepted); /* and not greeted */
    assert_int_equal(hf_cancel(a, a), HF_OK);
    end_of(a, HF_EVENT_FAILED, HF_ERR_UNSURE);
    counted(a, 3);
    proxy_clear(&proxy);
    proxy_cut_all(&proxy);
    hf_close(a);
    raw_do(&server, "FLUSHDB");
}

/* ------------------------------------------------------------------------------------------------
 * The end of the client
 */

/* hf_close() waits for calls, but not for longer than was agreed. */
static void closed_without_answers(void **state)
{
    hf_client *a = connected(TRACED(.op_timeout_ms = 60000, .close_timeout_ms = 300));
    int64_t start;

    (void)state;
    atomic_store(&proxy.swallow_down, true);
    for (int i = 0; i < 10; i++)
        assert_int_equal(hf_semaphore_release_start(a, "s", 1, a), HF_OK);
    start = now_ms();
    hf_close(a);
    assert_in_range(now_ms() - start, 290, 5000);
    AWAIT(permits() == 10);
    raw_do(&server, "FLUSHDB");
}

static void closed_while_connecting(void **state)
{
    hf_client *a = client_behind(TRACED(.close_timeout_ms = PATIENCE_MS));

    (void)state;
    atomic_store(&proxy.delay_ms, 30);
    for (int i = 0; i < 10; i++)
        assert_int_equal(hf_semaphore_release_start(a, "s", 1, a), HF_OK);
    hf_close(a); /* at once, and yet they are done */
    assert_int_equal(permits(), 10);
    raw_do(&server, "FLUSHDB");
}

/* ------------------------------------------------------------------------------------------------
 * Together
 */

static atomic_long sends;

#if !TEST_SANITIZED
/* This program stands in for send(), for the library too. */
__attribute__((visibility("default"))) ssize_t send(int fd, const void *bytes, size_t count,
                                                    int flags)
{
    atomic_fetch_add(&sends, 1);
    return sendto(fd, bytes, count, flags, NULL, 0);
}
#endif

/* What is started while events are taken is sent together: in far fewer pieces than there are calls. */
static void sent_together(void **state)
{
    enum { N = 64, ROUNDS = 20 };
    hf_client *a = client_open();

    (void)state;
    for (int i = 0; i < N; i++)
        assert_int_equal(hf_semaphore_release_start(a, "s", 1, a), HF_OK);
    AWAIT(permits() == N);
    atomic_store(&sends, 0);
    for (int i = 0; i < N * ROUNDS; i++) {
        end_of(a, HF_EVENT_DONE, HF_OK);
        if (i < N * (ROUNDS - 1))
            assert_int_equal(hf_semaphore_release_start(a, "s", 1, a), HF_OK);
    }
    print_message("%d calls were sent in %ld pieces\n", N * (ROUNDS - 1), atomic_load(&sends));
    assert_true(atomic_load(&sends) < N * ROUNDS / 4);
    assert_true(atomic_load(&sends) > 0 || TEST_SANITIZED);
    counted(a, N * ROUNDS);
    hf_close(a);
    raw_do(&server, "FLUSHDB");
}

static const struct CMUnitTest TESTS[] = {
    NET(cut_at_every_byte),       NET(values_after_a_cut),
    NET(no_answer_at_all),        NET(no_server),
    NET(cut_with_many_under_way), NET(cancelled_unsent),
    NET(cancelled_and_answered),  NET(cancelled_and_lost),
    NET(cancelled_between_tries), NET(closed_without_answers),
    NET(closed_while_connecting), TEST(sent_together),
};

TESTS_MAIN("started", TESTS)
