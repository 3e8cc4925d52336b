/* SPDX-License-Identifier: Apache-2.0 */
/* What can happen to a server, and to what lies on it, while locks are held and waited for. */
#include "redis/support.h"

#include <poll.h>

#define LONG HF_ACQUIRE(.ttl_ms = 30000)

/* Wake-ups, not polls, must do it. */
#define RARELY TRACED(.poll_ms = 60000)

#define DURABLE "appendonly yes\nappendfsync always\n"

static hf_client *client_at(const struct server *at, const struct hf_client_options *options)
{
    char uri[256];

    return client_of(server_uri(at, uri, sizeof uri), options ? options : TRACED());
}

/* LOST is told once, at the deadline at the latest; after it nothing says "held". */
static void is_lost_in_time(hf_client *client, hf_hold *hold, int64_t taken_ms, int64_t ttl_ms)
{
    struct hf_event event;

    AWAIT_MS(hf_hold_state(hold) == HF_LOST, ttl_ms + 1000);
    assert_true(now_ms() - taken_ms <= ttl_ms + (TEST_SANITIZED ? 300 : 100));
    do
        event = next_event(client);
    while (event.type == HF_EVENT_AT_RISK);
    assert_int_equal(event.type, HF_EVENT_LOST);
    assert_ptr_equal(event.hold, hold);
    assert_int_equal(hf_hold_state(hold), HF_LOST);
    assert_int_equal(hf_hold_remaining_ms(hold), 0);
    assert_int_equal(hf_hold_verify(hold), HF_ERR_LOST);
}

/* ------------------------------------------------------------------------------------------------
 * The server ends
 */

/* Back within the ttl, with its data: the hold goes on, and so do waiters. */
static void restarted_with_data(void **state)
{
    struct server own = { .config = DURABLE };
    hf_client *a, *b;
    hf_hold *hold;
    struct taker taker;
    uint64_t token;

    (void)state;
    server_start(&own);
    a = client_at(&own, NULL);
    b = client_at(&own, NULL);
    hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 6000));
    token = hf_hold_token(hold);
    taker_start(&taker, b, "lock", LONG);
    AWAIT(count_waiters(a, "lock") == 1);
    server_restart(&own, true);
    AWAIT(hf_hold_verify(hold) == HF_OK);
    assert_int_equal(hf_hold_state(hold), HF_HELD);
    assert_false(taker_done(&taker));
    AWAIT(raw_integer(&own, "PUBSUB CHANNELS redisson_lock__channel:*") == 1); /* again */
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_true(hf_hold_token(taker.hold) > token);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
    server_check_clean(&own);
    server_stop(&own);
}

/* Without its data nobody holds anything: the holder is told, a waiter gets it with a larger token. */
static void restarted_without_data(void **state)
{
    struct server own = { .config = DURABLE };
    hf_client *a, *b;
    hf_hold *hold;
    struct taker taker;
    uint64_t token;

    (void)state;
    server_start(&own);
    a = client_at(&own, NULL);
    b = client_at(&own, NULL);
    hold = take(a, "lock", LONG);
    token = hf_hold_token(hold);
    taker_start(&taker, b, "lock", LONG);
    AWAIT(count_waiters(a, "lock") == 1);
    server_restart(&own, false);
    AWAIT_MS(hf_hold_state(hold) == HF_LOST, 5000); /* when it is back, not by the next renewal */
    assert_int_equal(next_event(a).type, HF_EVENT_LOST);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_true(hf_hold_token(taker.hold) > token);
    assert_int_equal(hf_hold_verify(taker.hold), HF_OK);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
    server_check_clean(&own);
    server_stop(&own);
}

/* In one process: its own waiter is served after its holder was told. */
static void restarted_without_data_in_one_process(void **state)
{
    struct server own = { .config = DURABLE };
    hf_client *a;
    hf_hold *hold;
    struct taker taker;

    (void)state;
    server_start(&own);
    a = client_at(&own, NULL);
    hold = take(a, "lock", LONG);
    taker_start(&taker, a, "lock", LONG);
    nap_ms(20);
    server_restart(&own, false);
    AWAIT(taker_done(&taker));
    assert_int_equal(hf_hold_state(hold), HF_LOST);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_int_equal(hf_hold_verify(taker.hold), HF_OK);
    give(taker.hold);
    hf_close(a);
    server_check_clean(&own);
    server_stop(&own);
}

/* Gone for longer than the ttl: at risk, then lost by time; waiters stay. */
static void gone_for_long(void **state)
{
    const int64_t ttl = 1200;
    struct server own = { .config = DURABLE };
    hf_client *a, *b;
    hf_hold *hold;
    struct taker taker;
    int64_t killed;

    (void)state;
    server_start(&own);
    a = client_at(&own, NULL);
    b = client_at(&own, NULL);
    hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = ttl));
    assert_true(hf_fd(a) >= 0);
    taker_start(&taker, b, "lock", LONG);
    AWAIT(count_waiters(a, "lock") == 1);
    server_kill(&own);
    killed = now_ms();
    AWAIT_MS(hf_hold_state(hold) == HF_AT_RISK, ttl);
    assert_int_equal(next_event(a).type, HF_EVENT_AT_RISK);
    is_lost_in_time(a, hold, killed, ttl);
    assert_false(taker_done(&taker));
    server_restart(&own, true); /* the key's ttl went on meanwhile */
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_int_equal(hf_hold_verify(taker.hold), HF_OK);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
    server_check_clean(&own);
    server_stop(&own);
}

/* ------------------------------------------------------------------------------------------------
 * The server stops
 */

static void stopped_for_longer_than_the_ttl(void **state)
{
    const int64_t ttl = 1200;
    hf_client *a = client_open_with(TRACED(.op_timeout_ms = 500)),
              *b = client_open_with(TRACED(.op_timeout_ms = 500));
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = ttl)), *none = NULL;
    struct taker taker;
    int64_t stopped;
    int error;

    (void)state;
    assert_true(hf_fd(a) >= 0);
    taker_start(&taker, b, "lock", LONG);
    AWAIT(count_waiters(a, "lock") == 1);
    server_pause(&server);
    stopped = now_ms();
    is_lost_in_time(a, hold, stopped, ttl);
    assert_false(taker_done(&taker));
    stopped = now_ms();
    error = hf_acquire(a, "other", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE), &none);
    assert_true(error == HF_ERR_UNSURE || error == HF_ERR_UNREACHABLE);
    assert_true(now_ms() - stopped < 2000);
    server_continue(&server);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_int_equal(hf_hold_verify(taker.hold), HF_OK);
    give(taker.hold);
    AWAIT_MS(try_once(b, "other") == HF_OK, 5000); /* no orphan is left */
    hf_close(a);
    hf_close(b);
}

/* Stopped for less than the ttl: nothing is lost. */
static void stopped_for_less(void **state)
{
    hf_client *a = client_open_with(TRACED(.op_timeout_ms = 300));
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 4000));
    int64_t until;

    (void)state;
    server_pause(&server);
    nap_ms(1900); /* a renewal falls into it, goes unanswered, and is repeated */
    assert_int_not_equal(hf_hold_state(hold), HF_LOST);
    server_continue(&server);
    for (until = now_ms() + 3000; now_ms() < until; nap_ms(10))
        assert_int_not_equal(hf_hold_state(hold), HF_LOST);
    assert_int_equal(hf_hold_state(hold), HF_HELD);
    assert_int_equal(hf_hold_verify(hold), HF_OK);
    give(hold);
    hf_close(a);
}

/* A release that is not answered goes on behind the scenes. */
static void release_while_stopped(void **state)
{
    hf_client *a = client_open_with(TRACED(.op_timeout_ms = 200)), *b = client_open();
    hf_hold *hold = take(a, "lock", LONG);
    int64_t start;

    (void)state;
    server_pause(&server);
    start = now_ms();
    assert_int_equal(hf_release(hold), HF_ERR_UNSURE);
    assert_true(now_ms() - start < 1500);
    server_continue(&server);
    AWAIT_MS(try_once(b, "lock") == HF_OK, 5000); /* long before its ttl */
    hf_close(a);
    hf_close(b);
}

/* hf_close() is bounded, whatever the server does. */
static void close_while_stopped(void **state)
{
    hf_client *a = client_open_with(TRACED(.op_timeout_ms = 300, .close_timeout_ms = 500));
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 1500));
    int64_t start;

    (void)state;
    server_pause(&server);
    start = now_ms();
    hf_close(a);
    assert_in_range(now_ms() - start, 0, 1500);
    assert_int_equal(hf_release(hold), HF_ERR_CLOSED);
    server_continue(&server);
    AWAIT(raw_integer(&server, "EXISTS lock") == 0); /* by its ttl at the latest */
}

/* ------------------------------------------------------------------------------------------------
 * Connections are killed
 */

static void all_connections(void **state)
{
    hf_client *a = client_open(), *b = client_open_with(RARELY);
    hf_hold *hold = take(a, "lock", LONG);
    struct taker taker;

    (void)state;
    taker_start(&taker, b, "lock", LONG);
    AWAIT(count_waiters(a, "lock") == 1);
    for (int i = 0; i < 5; i++) {
        raw_do(&server, "CLIENT KILL TYPE normal SKIPME yes");
        raw_do(&server, "CLIENT KILL TYPE pubsub");
        AWAIT(hf_hold_verify(hold) == HF_OK);
        assert_int_equal(hf_hold_state(hold), HF_HELD);
        AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_lock__channel:*") == 1);
    }
    assert_false(taker_done(&taker));
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
}

/* Idle connections that the server has closed are no reason for anything to fail. */
static void idle_connections(void **state)
{
    hf_client *a = client_open();

    (void)state;
    for (int i = 0; i < 3; i++) {
        give(take(a, "lock", LONG));
        nap_ms(1100); /* longer than it goes unlooked at */
        raw_do(&server, "CLIENT KILL TYPE normal SKIPME yes");
        assert_int_equal(try_once(a, "lock"), HF_OK);
    }
    hf_close(a);
}

/* The one that listens, alone: what was said meanwhile is made up for by looking once. */
static void the_one_that_listens(void **state)
{
    hf_client *a = client_open(), *b = client_open_with(RARELY);
    struct taker taker;

    (void)state;
    for (int i = 0; i < 5; i++) {
        hf_hold *hold = take(a, "lock", LONG);
        int64_t start;

        taker_start(&taker, b, "lock", LONG);
        AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_lock__channel:*") == 1);
        nap_ms(5);
        raw_do(&server, "CLIENT KILL TYPE pubsub");
        start = now_ms();
        give(hold);
        assert_int_equal(taker_join(&taker), HF_OK);
        assert_true(now_ms() - start < 5000);
        give(taker.hold);
    }
    hf_close(a);
    hf_close(b);
}

/* ------------------------------------------------------------------------------------------------
 * Scripts, memory
 */

static void scripts_are_flushed(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 600));
    struct taker taker;
    int64_t until;

    (void)state;
    taker_start(&taker, b, "lock", LONG);
    for (until = now_ms() + 1500; now_ms() < until; nap_ms(2)) {
        raw_do(&server, "SCRIPT FLUSH");
        assert_int_not_equal(hf_hold_state(hold), HF_LOST);
    }
    assert_int_equal(hf_hold_verify(hold), HF_OK);
    raw_do(&server, "SCRIPT FLUSH");
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    raw_do(&server, "SCRIPT FLUSH");
    give(taker.hold);
    for (int i = 0; i < 50; i++) {
        hold = take(a, "lock", LONG);
        raw_do(&server, "SCRIPT FLUSH");
        give(hold);
        raw_do(&server, "SCRIPT FLUSH");
    }
    hf_close(a);
    hf_close(b);
}

/* Out of memory: no new hold; those that are there are renewed and given back, waiters go on. */
static void out_of_memory(void **state)
{
    struct server own = { .config = "maxmemory-policy noeviction" };
    hf_client *a, *b;
    hf_hold *hold, *none = NULL;
    struct taker taker;
    int64_t until;

    (void)state;
    server_start(&own);
    a = client_at(&own, NULL);
    b = client_at(&own, NULL);
    hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 900));
    taker_start(&taker, b, "lock", LONG);
    AWAIT(count_waiters(a, "lock") == 1);
    raw_do(&own, "CONFIG SET maxmemory 1");
    assert_int_equal(hf_acquire(b, "other", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE), &none),
                     HF_ERR_STORE_FULL);
    assert_int_equal(hf_classify(HF_ERR_STORE_FULL), HF_CLASS_RETRY);
    assert_int_equal(hf_acquire(b, "other", HF_ACQUIRE(.wait_ms = 300), &none), HF_ERR_STORE_FULL);
    for (until = now_ms() + 1500; now_ms() < until; nap_ms(10))
        assert_int_not_equal(hf_hold_state(hold), HF_LOST);
    assert_int_equal(hf_hold_verify(hold), HF_OK);
    give(hold);
    assert_int_equal(raw_integer(&own, "EXISTS lock"), 0);
    assert_false(taker_done(&taker)); /* it waits this out */
    raw_do(&own, "CONFIG SET maxmemory 0");
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
    server_check_clean(&own);
    server_stop(&own);
}

/* ------------------------------------------------------------------------------------------------
 * Keys are changed by hand
 */

static void a_key_that_is_deleted(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 900)), *rival;

    (void)state;
    raw_do(&server, "DEL lock");
    AWAIT_MS(hf_hold_state(hold) == HF_LOST, 900); /* by the next renewal, a third of the ttl */
    assert_int_equal(next_event(a).type, HF_EVENT_LOST);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    hold = take(a, "lock", LONG);
    raw_do(&server, "DEL lock");
    rival = take(b, "lock", LONG);
    assert_int_equal(hf_hold_verify(hold), HF_ERR_LOST); /* at once */
    assert_int_equal(hf_hold_state(hold), HF_LOST);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_int_equal(hf_hold_verify(rival), HF_OK);
    give(rival);
    hold = take(a, "lock", LONG);
    raw_do(&server, "DEL lock");
    assert_int_equal(hf_release(hold),
                     HF_ERR_LOST); /* nobody had it, but it was not ours any more */
    hf_close(a);
    hf_close(b);
}

static void a_key_that_is_overwritten(void **state)
{
    hf_client *a = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 900)), *other;

    (void)state;
    other = take(a, "other", HF_ACQUIRE(.ttl_ms = 900)); /* renewed by the same request */
    raw_do(&server, "SET lock text");
    AWAIT_MS(hf_hold_state(hold) == HF_LOST, 900);
    assert_int_equal(hf_hold_verify(other), HF_OK);
    assert_int_not_equal(hf_release(hold), HF_OK);
    assert_string_equal(raw_text(&server, "GET lock"), "text");
    raw_do(&server, "DEL lock");
    hold = take(a, "lock", LONG);
    raw_do(&server, "SET lock text");
    assert_int_equal(hf_hold_verify(hold), HF_ERR_LOST);
    hf_release(hold);
    raw_do(&server, "DEL lock");
    hold = take(a, "lock", LONG);
    raw_do(&server, "SET lock text");
    assert_int_not_equal(hf_release(hold), HF_OK);
    raw_do(&server, "DEL lock");
    give(other);
    hf_close(a);
}

/* Redisson's forceUnlock, and another takes it: the waiter that was told, too. */
static void a_key_that_is_taken_away(void **state)
{
    hf_client *a = client_open(), *b = client_open_with(RARELY);
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 900));
    struct taker taker;

    (void)state;
    taker_start(&taker, b, "lock", LONG);
    AWAIT(count_waiters(a, "lock") == 1);
    raw_do(&server, "DEL lock");
    raw_do(&server, "PUBLISH redisson_lock__channel:{lock} 0");
    assert_int_equal(taker_join(&taker), HF_OK);
    AWAIT_MS(hf_hold_state(hold) == HF_LOST, 900);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_int_equal(hf_hold_verify(taker.hold), HF_OK);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
}

/* A ttl that was shortened by hand is lengthened again by the next renewal. */
static void a_ttl_that_is_changed(void **state)
{
    hf_client *a = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 900));

    (void)state;
    raw_do(&server, "PERSIST lock");
    AWAIT_MS(raw_integer(&server, "PTTL lock") > 0, 2000);
    assert_int_equal(hf_hold_state(hold), HF_HELD);
    give(hold);
    hf_close(a);
}

static const struct CMUnitTest TESTS[] = {
    TEST(restarted_with_data),
    TEST(restarted_without_data),
    TEST(restarted_without_data_in_one_process),
    TEST(gone_for_long),
    TEST(stopped_for_longer_than_the_ttl),
    TEST(stopped_for_less),
    TEST(release_while_stopped),
    TEST(close_while_stopped),
    TEST(all_connections),
    TEST(idle_connections),
    TEST(the_one_that_listens),
    TEST(scripts_are_flushed),
    TEST(out_of_memory),
    TEST(a_key_that_is_deleted),
    TEST(a_key_that_is_overwritten),
    TEST(a_key_that_is_taken_away),
    TEST(a_ttl_that_is_changed),
};

TESTS_MAIN("fault", TESTS)
