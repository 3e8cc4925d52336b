/* SPDX-License-Identifier: Apache-2.0 */
/* Bad networks: answers that end in the middle, come late or never; connections that are half there. */
#include "redis/support.h"

#include <pthread.h>

/* What an attempt that was not answered may have left is released, long before its ttl. */
static void no_orphan(const char *name)
{
    AWAIT_MS(raw_integer(&server, "EXISTS %s", name) == 0, 10000);
}

/* ------------------------------------------------------------------------------------------------
 * Cut in the middle
 */

/* Acquire, verify, release, with the connection cut after so many bytes of answers. True when it was. */
static bool work_with_cut(hf_client *client, long bytes)
{
    hf_hold *hold = NULL;
    int error, cuts = atomic_load(&proxy.cuts);

    atomic_store(&proxy.cut_after, bytes);
    proxy_apply(&proxy);
    error = hf_acquire(client, "lock", HF_ACQUIRE(.ttl_ms = 30000, .wait_ms = 10000), &hold);
    if (error)
        fail_msg("cut after %ld: %s: %s", bytes, hf_strerror(error), hf_last_error());
    assert_int_equal(raw_integer(&server, "HLEN lock"), 1);
    error = hf_hold_verify(hold);
    if (error != HF_OK && error != HF_ERR_UNSURE)
        fail_msg("cut after %ld: verify: %s", bytes, hf_strerror(error));
    assert_int_not_equal(hf_hold_state(hold), HF_LOST);
    error = hf_release(hold);
    if (error != HF_OK && error != HF_ERR_UNSURE)
        fail_msg("cut after %ld: release: %s", bytes, hf_strerror(error));
    no_orphan("lock");
    atomic_store(&proxy.cut_after, -1);
    return atomic_load(&proxy.cuts) > cuts;
}

/* The answers of a connection that is up: at every byte. */
static void cut_at_every_byte(void **state)
{
    hf_client *a;
    long bytes = 0;

    (void)state;
    a = client_behind(TRACED());
    for (int reset = 0; reset < 2; reset++) {
        atomic_store(&proxy.reset, reset != 0);
        give(take(a, "lock", NULL));
        for (bytes = 0; work_with_cut(a, bytes); bytes++)
            assert_true(bytes < 1000);
        assert_true(bytes > 30); /* there was something to cut */
    }
    hf_close(a);
}

/* And those of the greeting, of a new client each time. */
static void cut_in_the_greeting(void **state)
{
    long bytes = 0;
    bool cut = true;

    (void)state;
    while (cut) {
        hf_client *a = client_behind(TRACED());

        cut = work_with_cut(a, bytes);
        hf_close(a);
        bytes += bytes < 64 ? 3 : 67;
        assert_true(bytes < 100000);
    }
    assert_true(bytes > 1000);
}

/* ------------------------------------------------------------------------------------------------
 * Late
 */

/* The answer comes after we have given up: the attempt counts as not done, and is cleaned up. */
static void an_answer_that_is_late(void **state)
{
    hf_client *a = client_behind(TRACED(.op_timeout_ms = 200)), *b = client_open();
    hf_hold *none = NULL;
    int64_t start;

    (void)state;
    give(take(a, "lock", NULL));
    for (int i = 0; i < 5; i++) {
        raw_do(&server, "CONFIG RESETSTAT");
        atomic_store(&proxy.kinds, PROXY_COMMANDS);
        atomic_store(&proxy.delay_ms, 400);
        start = now_ms();
        assert_int_equal(
            hf_acquire(a, "lock", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE, .ttl_ms = 30000), &none),
            HF_ERR_UNSURE);
        assert_in_range(now_ms() - start, 190, 1200);
        assert_int_equal(hf_classify(HF_ERR_UNSURE), HF_CLASS_UNSURE);
        proxy_clear(&proxy);
        no_orphan("lock");
        AWAIT(raw_calls(&server, "client|kill") >= 1); /* the old connection's server side */
        assert_int_equal(try_once(b, "lock"), HF_OK);
    }
    hf_close(a);
    hf_close(b);
}

/* With time left it goes on, under a new owner id, and holds once. */
static void going_on_after_a_late_answer(void **state)
{
    hf_client *a = client_behind(TRACED(.op_timeout_ms = 200));
    struct taker taker;

    (void)state;
    give(take(a, "lock", NULL));
    atomic_store(&proxy.delay_ms, 500);
    taker_start(&taker, a, "lock", HF_ACQUIRE(.ttl_ms = 30000));
    AWAIT(raw_integer(&server, "EXISTS lock") == 1); /* granted, and nobody knows */
    nap_ms(250);
    proxy_clear(&proxy);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_int_equal(raw_integer(&server, "HLEN lock"), 1);
    assert_int_equal(hf_hold_verify(taker.hold), HF_OK);
    give(taker.hold);
    no_orphan("lock");
    hf_close(a);
}

/* The request itself comes late, when its owner id is retired: what it does is undone. */
static void a_request_that_is_late(void **state)
{
    hf_client *a = client_behind(TRACED(.op_timeout_ms = 200)), *b = client_open();
    hf_hold *none = NULL;

    (void)state;
    give(take(a, "lock", NULL));
    for (int i = 0; i < 5; i++) {
        atomic_store(&proxy.stall, true);
        proxy_apply(&proxy);
        assert_int_equal(
            hf_acquire(a, "lock", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE, .ttl_ms = 30000), &none),
            HF_ERR_UNSURE);
        proxy_clear(&proxy);
        nap_ms(100);
        no_orphan("lock");
        assert_int_equal(try_once(a, "lock"), HF_OK);
        assert_int_equal(try_once(b, "lock"), HF_OK);
    }
    hf_close(a);
    hf_close(b);
}

/* A wait that is over before the answer can come: unknown, but nobody says that the server is silent. */
static void a_wait_that_is_short(void **state)
{
    hf_client *a = client_behind(TRACED(.op_timeout_ms = 100));
    hf_hold *none = NULL;

    (void)state;
    assert_int_equal(hf_check(a), HF_OK);
    nap_ms(150); /* its time limit passes, long answered */
    atomic_store(&proxy.delay_ms, 40);
    assert_int_equal(hf_acquire(a, "lock", HF_ACQUIRE(.wait_ms = 10), &none), HF_ERR_UNSURE);
    assert_null(strstr(hf_last_error(), "does not answer"));
    proxy_clear(&proxy);
    no_orphan("lock");
    assert_int_equal(try_once(a, "lock"), HF_OK);
    hf_close(a);
}

/* A slow network is no bad one. */
static void slow_but_sure(void **state)
{
    hf_client *a = client_behind(TRACED());
    hf_hold *hold;
    int64_t until;

    (void)state;
    atomic_store(&proxy.delay_ms, 40);
    hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 700));
    AWAIT(traced("round trips")); /* a ttl so short is warned about */
    for (until = now_ms() + 1500; now_ms() < until; nap_ms(5))
        assert_int_not_equal(hf_hold_state(hold), HF_LOST);
    give(hold);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Half there
 */

/* Everything we send arrives, nothing comes back: the store is told to renew, and we cannot know. */
static void no_answers(void **state)
{
    const int64_t ttl = 1500;
    hf_client *a = client_behind(TRACED(.op_timeout_ms = 300)), *b = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = ttl));
    int64_t start = now_ms();
    struct taker taker;

    (void)state;
    assert_true(hf_fd(a) >= 0);
    atomic_store(&proxy.swallow_down, true);
    taker_start(&taker, b, "lock", NULL);
    AWAIT_MS(hf_hold_state(hold) == HF_AT_RISK, ttl + 500);
    AWAIT_MS(hf_hold_state(hold) == HF_LOST, 2 * ttl);
    assert_true(now_ms() - start < 2 * ttl);
    proxy_clear(&proxy);
    assert_int_not_equal(hf_release(hold), HF_OK);
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
}

/* A short while of it is survived. */
static void no_answers_for_a_moment(void **state)
{
    hf_client *a = client_behind(TRACED(.op_timeout_ms = 200));
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 3000));
    int64_t until;

    (void)state;
    for (int i = 0; i < 3; i++) {
        atomic_store(&proxy.swallow_down, true);
        nap_ms(700);
        proxy_clear(&proxy);
        for (until = now_ms() + 700; now_ms() < until; nap_ms(5))
            assert_int_not_equal(hf_hold_state(hold), HF_LOST);
    }
    AWAIT(hf_hold_verify(hold) == HF_OK);
    assert_int_equal(hf_hold_state(hold), HF_HELD);
    give(hold);
    hf_close(a);
}

/* The server's side says that it has no more to say. */
static void half_closed(void **state)
{
    hf_client *a = client_behind(TRACED());
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 3000));

    (void)state;
    for (int i = 0; i < 5; i++) {
        atomic_store(&proxy.half_close, true);
        proxy_apply(&proxy);
        nap_ms(20);
        proxy_clear(&proxy);
        AWAIT(hf_hold_verify(hold) == HF_OK);
    }
    give(hold);
    hf_close(a);
}

/* No new connections for a while. */
static void refused_for_a_while(void **state)
{
    hf_client *a = client_behind(TRACED());
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 5000)), *none = NULL;
    struct taker taker;

    (void)state;
    atomic_store(&proxy.refuse, true);
    proxy_cut_all(&proxy);
    assert_int_not_equal(hf_acquire(a, "other", HF_ACQUIRE(.wait_ms = 300), &none), HF_OK);
    taker_start(&taker, a, "other", HF_ACQUIRE(.ttl_ms = 5000));
    nap_ms(500);
    assert_false(taker_done(&taker));
    proxy_clear(&proxy);
    assert_int_equal(taker_join(&taker), HF_OK);
    AWAIT(hf_hold_verify(hold) == HF_OK);
    assert_int_equal(hf_hold_state(hold), HF_HELD);
    give(hold);
    give(taker.hold);
    hf_close(a);
}

/* Wake-ups get lost: the poll serves. */
static void lost_wake_ups(void **state)
{
    hf_client *a = client_open(), *b = client_behind(TRACED(.poll_ms = 400));
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 30000));
    struct taker taker;
    int64_t start;

    (void)state;
    taker_start(&taker, b, "lock", HF_ACQUIRE(.ttl_ms = 30000));
    AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_lock__channel:*") == 1);
    nap_ms(50);
    atomic_store(&proxy.kinds, PROXY_WAKEUPS);
    atomic_store(&proxy.swallow_down, true);
    start = now_ms();
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_true(now_ms() - start < 1500);
    give(taker.hold);
    proxy_clear(&proxy);
    hf_close(a);
    hf_close(b);
}

/* Nor can the connection for them be made: waiters look once in a while. */
static void no_wake_ups_at_all(void **state)
{
    hf_client *a = client_open(), *b = client_behind(TRACED(.poll_ms = 200, .op_timeout_ms = 300));
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 30000));
    struct taker taker;

    (void)state;
    atomic_store(&proxy.kinds, PROXY_WAKEUPS);
    atomic_store(&proxy.swallow_up, true);
    taker_start(&taker, b, "lock", HF_ACQUIRE(.ttl_ms = 30000));
    nap_ms(600);
    assert_false(taker_done(&taker));
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    proxy_clear(&proxy);
    hf_close(a);
    hf_close(b);
}

/* Our own channel cannot be heard when somebody breaks the lock: as soon as it can, the loss is told. */
static void broken_unheard(void **state)
{
    hf_client *a = client_behind(TRACED(.op_timeout_ms = 300)), *b = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 60000));
    char owner[HF_OWNER_MAX + 1];

    (void)state;
    hf_hold_owner(hold, owner, sizeof owner);
    AWAIT(raw_integer(&server, "PUBSUB CHANNELS holdfast:client:*") == 1);
    atomic_store(&proxy.kinds, PROXY_WAKEUPS);
    atomic_store(&proxy.swallow_down, true);
    assert_int_equal(hf_break(b, "lock", owner), HF_OK);
    nap_ms(50);
    assert_int_equal(hf_hold_state(hold), HF_HELD);
    proxy_clear(&proxy);
    raw_do(&server, "CLIENT KILL TYPE pubsub");
    AWAIT_MS(hf_hold_state(hold) == HF_LOST, 5000);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    hf_close(a);
    hf_close(b);
}

/* What people may see is told, and never confirmed: it is taken back all the same. */
static void announced_unheard(void **state)
{
    hf_client *a = client_behind(TRACED(.op_timeout_ms = 5000)), *first = client_behind(TRACED());
    hf_hold *hold = take(first, "lock", HF_ACQUIRE(.ttl_ms = 60000));
    int error;

    (void)state;
    /* Once heard, so that the server knows the script. */
    AWAIT(raw_integer(&server, "KEYS holdfast:client:*") == 1);
    give(hold);
    hf_close(first);
    hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 60000));
    atomic_store(&proxy.kinds, PROXY_COMMANDS);
    atomic_store(&proxy.swallow_down, true);
    AWAIT(raw_integer(&server, "KEYS holdfast:client:*") == 1);
    proxy_clear(&proxy);
    proxy_cut_all(&proxy);
    error = hf_release(hold); /* it may be on the way when the connection is cut */
    assert_true(error == HF_OK || error == HF_ERR_UNSURE);
    hf_close(a); /* before it is told again */
    assert_int_equal(server_count_keys(&server), 0);
}

/* ------------------------------------------------------------------------------------------------
 * Everything at once
 */

struct worker {
    hf_client *client;
    atomic_int *inside, *overlaps, *rounds;
    atomic_uint_least64_t *token;
    atomic_bool *stop;
    int wrong;
};

static void *work(void *arg)
{
    struct worker *w = arg;

    while (!atomic_load(w->stop)) {
        hf_hold *hold = NULL;
        int error =
            hf_acquire(w->client, "lock", HF_ACQUIRE(.ttl_ms = 20000, .wait_ms = 500), &hold);

        if (error) {
            enum hf_class class_ = hf_classify(error);

            w->wrong +=
                class_ != HF_CLASS_BUSY && class_ != HF_CLASS_UNSURE && class_ != HF_CLASS_RETRY;
            continue;
        }
        if (atomic_fetch_add(w->inside, 1) != 0 ||
            atomic_exchange(w->token, hf_hold_token(hold)) >= hf_hold_token(hold))
            atomic_fetch_add(w->overlaps, 1);
        nap_us(200);
        atomic_fetch_sub(w->inside, 1);
        atomic_fetch_add(w->rounds, 1);
        error = hf_release(hold);
        w->wrong += error != HF_OK && error != HF_ERR_UNSURE;
    }
    return NULL;
}

static void chaos(void **state)
{
    enum { N = 6 };
    hf_client *client[3];
    struct worker worker[N];
    pthread_t thread[N];
    atomic_int inside = 0, overlaps = 0, rounds = 0;
    atomic_uint_least64_t token = 0;
    atomic_bool stop = false;
    uint32_t seed = 17;
    int64_t until;

    (void)state;
    for (int i = 0; i < 3; i++)
        client[i] = client_behind(TRACED(.op_timeout_ms = 150));
    for (int i = 0; i < N; i++) {
        worker[i] = (struct worker){ .client = client[i % 3],
                                     .inside = &inside,
                                     .overlaps = &overlaps,
                                     .rounds = &rounds,
                                     .token = &token,
                                     .stop = &stop };
        assert_int_equal(pthread_create(&thread[i], NULL, work, &worker[i]), 0);
    }
    for (until = now_ms() + 5000; now_ms() < until;) {
        atomic_store(&proxy.kinds, 1 + (int)(random_next(&seed) % 3));
        switch (random_next(&seed) % 6) {
        case 0:
            atomic_store(&proxy.delay_ms, (long)(random_next(&seed) % 300));
            break;
        case 1:
            atomic_store(&proxy.cut_after, (long)(random_next(&seed) % 500));
            break;
        case 2:
            atomic_store(&proxy.swallow_down, true);
            break;
        case 3:
            atomic_store(&proxy.stall, true);
            break;
        case 4:
            raw_do(&server, "SCRIPT FLUSH");
            break;
        default:
            proxy_cut_all(&proxy);
        }
        proxy_apply(&proxy);
        nap_ms((long)(random_next(&seed) % 200));
        proxy_clear(&proxy);
        nap_ms((long)(random_next(&seed) % 100));
    }
    atomic_store(&stop, true);
    for (int i = 0; i < N; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(worker[i].wrong, 0);
    }
    assert_int_equal(atomic_load(&overlaps), 0);
    assert_true(atomic_load(&rounds) > 20);
    no_orphan("lock");
    for (int i = 0; i < 3; i++)
        hf_close(client[i]);
}

struct sender {
    hf_client *client;
    atomic_bool *stop;
    char name[16];
    int taken, wrong;
};

static void *keep_sending(void *arg)
{
    struct sender *s = arg;

    while (!atomic_load(s->stop)) {
        hf_hold *hold = NULL;
        int error = hf_acquire(s->client, s->name, HF_ACQUIRE(.ttl_ms = 20000), &hold);

        s->wrong += error != HF_OK;
        if (error)
            continue;
        s->taken++;
        error = hf_release(hold);
        s->wrong += error != HF_OK && error != HF_ERR_UNSURE;
    }
    return NULL;
}

/* The connection ends, and others make the next, while a thread is still sending (the thread sanitizer looks
 * at whose bytes those are). */
static void cut_while_sending(void **state)
{
    enum { N = 8 };
    hf_client *client = client_behind(TRACED());
    struct sender sender[N];
    pthread_t thread[N];
    atomic_bool stop = false;

    (void)state;
    for (int i = 0; i < N; i++) {
        sender[i] = (struct sender){ .client = client, .stop = &stop };
        snprintf(sender[i].name, sizeof sender[i].name, "lock-%d", i);
        assert_int_equal(pthread_create(&thread[i], NULL, keep_sending, &sender[i]), 0);
    }
    for (int i = 0; i < 200; i++) {
        int made = atomic_load(&proxy.accepted);

        proxy_cut_all(&proxy);
        AWAIT(atomic_load(&proxy.accepted) > made);
        nap_us(500 * (i % 8));
    }
    atomic_store(&stop, true);
    for (int i = 0; i < N; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(sender[i].wrong, 0);
        assert_true(sender[i].taken > 0);
        no_orphan(sender[i].name);
    }
    hf_close(client);
}

static const struct CMUnitTest TESTS[] = {
    NET(cut_at_every_byte),       NET(cut_in_the_greeting),
    NET(an_answer_that_is_late),  NET(going_on_after_a_late_answer),
    NET(a_request_that_is_late),  NET(a_wait_that_is_short),
    NET(slow_but_sure),           NET(no_answers),
    NET(no_answers_for_a_moment), NET(half_closed),
    NET(refused_for_a_while),     NET(lost_wake_ups),
    NET(no_wake_ups_at_all),      NET(broken_unheard),
    NET(announced_unheard),       NET(chaos),
    NET(cut_while_sending),
};

TESTS_MAIN("network", TESTS)
