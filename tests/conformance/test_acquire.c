/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking acquires: how long they wait, who enters again, how long a hold lasts, tokens, arguments. */
#include "conformance/store.h"

#define LONG HF_ACQUIRE(.ttl_ms = 30000)
#define TRY  HF_ACQUIRE(.wait_ms = HF_TRY_ONCE)

static void one_attempt(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", TRY), *none = NULL;

    (void)state;
    assert_int_equal(hf_hold_state(hold), HF_HELD);
    assert_string_equal(hf_hold_name(hold), "lock");
    assert_int_equal(hf_acquire(b, "lock", TRY, &none), HF_ERR_BUSY);
    assert_null(none);
    assert_int_equal(hf_classify(HF_ERR_BUSY), HF_CLASS_BUSY);
    assert_string_equal(hf_last_error(), hf_strerror(HF_ERR_BUSY));
    give(hold);
    hold = take(b, "lock", TRY);
    give(hold);
    hf_close(a);
    hf_close(b);
}

static void bounded_wait(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", LONG), *none = NULL;
    int64_t start = now_ms(), took;
    struct taker taker;

    (void)state;
    assert_int_equal(hf_acquire(b, "lock", HF_ACQUIRE(.wait_ms = 500), &none), HF_ERR_BUSY);
    took = now_ms() - start;
    assert_in_range(took, 500, 500 + (TEST_SANITIZED ? 3000 : 1000));
    taker_start(&taker, b, "lock", HF_ACQUIRE(.wait_ms = PATIENCE_MS));
    AWAIT(count_waiters(a, "lock") == 1);
    start = now_ms();
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_true(now_ms() - start < 900); /* woken, and not by the poll */
    give(taker.hold);
    hf_close(a);
    hf_close(b);
}

static void for_ever(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", LONG);
    struct taker taker;

    (void)state;
    taker_start(&taker, b, "lock", NULL);
    AWAIT(count_waiters(a, "lock") == 1);
    assert_false(taker_done(&taker));
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_int_equal(hf_hold_state(taker.hold), HF_HELD);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
}

/* A waiter that gives up leaves nothing that keeps others waiting. */
static void giving_up(void **state)
{
    hf_client *a = client_open(), *b = client_open(), *c = client_open();
    hf_hold *hold = take(a, "lock", LONG), *none = NULL;
    struct taker taker;

    (void)state;
    assert_int_equal(hf_acquire(b, "lock", HF_ACQUIRE(.wait_ms = 300), &none), HF_ERR_BUSY);
    taker_start(&taker, c, "lock", NULL);
    AWAIT(count_waiters(a, "lock") == 1);
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_int_equal(try_once(b, "lock"), HF_ERR_BUSY);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

static int first_done(struct taker *taker, int count)
{
    for (int i = 0; i < count; i++)
        if (taker[i].client && taker_done(&taker[i]))
            return i;
    return -1;
}

/* Waiting processes are served in order where the store says so. */
static void in_order(void **state)
{
    enum { N = 5 };
    hf_client *a = client_open(), *client[N];
    hf_hold *hold = take(a, "lock", LONG);
    struct taker taker[N];
    uint64_t last = hf_hold_token(hold);

    (void)state;
    for (int i = 0; i < N; i++) {
        client[i] = client_open();
        taker_start(&taker[i], client[i], "lock", NULL);
        AWAIT(count_waiters(a, "lock") == i + 1);
    }
    give(hold);
    for (int served = 0; served < N; served++) {
        int who = -1;

        AWAIT((who = first_done(taker, N)) >= 0);
        if (store->fifo)
            assert_int_equal(who, served);
        assert_int_equal(taker_join(&taker[who]), HF_OK);
        assert_true(hf_hold_token(taker[who].hold) > last);
        last = hf_hold_token(taker[who].hold);
        taker[who].client = NULL;
        give(taker[who].hold);
    }
    for (int i = 0; i < N; i++)
        hf_close(client[i]);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Owners
 */

static void entering_again(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *outer = take(a, "lock", LONG), *inner = take(a, "lock", TRY);
    char owner[2][HF_OWNER_MAX + 1];

    (void)state;
    assert_ptr_not_equal(outer, inner);
    assert_int_equal(hf_hold_token(outer), hf_hold_token(inner));
    hf_hold_owner(outer, owner[0], sizeof owner[0]);
    hf_hold_owner(inner, owner[1], sizeof owner[1]);
    assert_string_equal(owner[0], owner[1]);
    give(outer); /* in any order */
    assert_int_equal(hf_hold_state(inner), HF_HELD);
    assert_int_equal(try_once(b, "lock"), HF_ERR_BUSY);
    give(inner);
    assert_int_equal(try_once(b, "lock"), HF_OK);
    hf_close(a);
    hf_close(b);
}

/* Another thread is another owner. */
static void threads_are_owners(void **state)
{
    hf_client *a = client_open();
    hf_hold *hold = take(a, "lock", LONG);
    struct taker taker;

    (void)state;
    taker_start(&taker, a, "lock", TRY);
    assert_int_equal(taker_join(&taker), HF_ERR_BUSY);
    taker_start(&taker, a, "lock", NULL);
    nap_ms(20); /* nothing tells that it waits */
    assert_false(taker_done(&taker));
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold); /* by another thread than the one that took it */
    hf_close(a);
}

static void named_owners(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.owner = 7));
    struct taker taker;

    (void)state;
    taker_start(&taker, a, "lock", HF_ACQUIRE(.owner = 7, .wait_ms = HF_TRY_ONCE));
    assert_int_equal(taker_join(&taker), HF_OK); /* from any thread */
    give(taker.hold);
    for (uint64_t other = 1; other < 7; other++) {
        hf_hold *none = NULL;

        assert_int_equal(
            hf_acquire(a, "lock", HF_ACQUIRE(.owner = other, .wait_ms = HF_TRY_ONCE), &none),
            HF_ERR_BUSY);
    }
    assert_int_equal(try_once(a, "lock"), HF_ERR_BUSY); /* a thread is no named owner */
    taker_start(&taker, b, "lock", HF_ACQUIRE(.owner = 7, .wait_ms = HF_TRY_ONCE));
    assert_int_equal(taker_join(&taker), HF_ERR_BUSY); /* of this client only */
    give(hold);
    hf_close(a);
    hf_close(b);
}

/* Waiters with the owner that gets it enter with it. */
static void waiters_of_one_owner(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", LONG);
    struct taker taker[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        taker_start(&taker[i], b, "lock", HF_ACQUIRE(.owner = 9));
    AWAIT(count_waiters(a, "lock") > 0);
    give(hold);
    for (int i = 0; i < 3; i++)
        assert_int_equal(taker_join(&taker[i]), HF_OK);
    assert_int_equal(hf_hold_token(taker[0].hold), hf_hold_token(taker[1].hold));
    assert_int_equal(hf_hold_token(taker[0].hold), hf_hold_token(taker[2].hold));
    for (int i = 0; i < 3; i++)
        give(taker[i].hold);
    hf_close(a);
    hf_close(b);
}

/* ------------------------------------------------------------------------------------------------
 * How long
 */

static void fixed_lease(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    int64_t start = now_ms(), lost;
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.lease_ms = 500));
    struct hf_event event;
    struct taker taker;

    (void)state;
    assert_in_range(hf_hold_remaining_ms(hold), 100, 500);
    taker_start(&taker, b, "lock", NULL);
    AWAIT_MS(hf_hold_state(hold) == HF_LOST, 5000);
    lost = now_ms();
    assert_in_range(lost - start, 450, 500 + 100); /* told by time, before a rival can be let in */
    assert_int_equal(hf_hold_remaining_ms(hold), 0);
    event = next_event(a);
    assert_int_equal(event.type, HF_EVENT_LOST);
    assert_int_equal(event.error, HF_ERR_LOST);
    assert_ptr_equal(event.hold, hold);
    assert_null(event.cookie);
    no_event(a);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_true(now_ms() - start >= 498); /* the store kept it for the whole lease */
    assert_int_equal(hf_hold_verify(hold), HF_ERR_LOST);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_int_equal(hf_hold_state(taker.hold), HF_HELD); /* which took nothing from the rival */
    assert_int_equal(hf_hold_verify(taker.hold), HF_OK);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
}

static void renewed(void **state)
{
    const int64_t ttl = TEST_SANITIZED ? 1500 : 400;
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = ttl));
    int64_t until = now_ms() + 4 * ttl;

    (void)state;
    while (now_ms() < until) {
        assert_int_not_equal(hf_hold_state(hold), HF_LOST);
        assert_int_equal(try_once(b, "lock"), HF_ERR_BUSY);
        nap_ms(10);
    }
    assert_int_equal(hf_hold_verify(hold), HF_OK);
    give(hold);
    hf_close(a);
    hf_close(b);
}

static void ceiling(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    int64_t start = now_ms();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 400, .max_hold_ms = 1000));

    (void)state;
    AWAIT_MS(hf_hold_state(hold) == HF_LOST, 5000);
    assert_in_range(now_ms() - start, 950, 1400);
    assert_int_equal(next_event(a).type, HF_EVENT_LOST);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_int_equal(try_once(b, "lock"), HF_OK);
    hf_close(a);
    hf_close(b);
}

static void verifying(void **state)
{
    hf_client *a = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 10000));
    hf_hold *fixed = take(a, "fixed", HF_ACQUIRE(.lease_ms = 10000));
    int64_t before;

    (void)state;
    AWAIT(hf_hold_remaining_ms(hold) < 9800);
    assert_int_equal(hf_hold_verify(hold), HF_OK);
    assert_true(hf_hold_remaining_ms(hold) > 9600); /* renewed */
    AWAIT(hf_hold_remaining_ms(fixed) < 9700);
    before = hf_hold_remaining_ms(fixed);
    assert_int_equal(hf_hold_verify(fixed), HF_OK);
    assert_true(hf_hold_remaining_ms(fixed) <= before); /* only asked */
    give(hold);
    give(fixed);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Tokens
 */

static void tokens_grow(void **state)
{
    hf_client *client[3] = { client_open(), client_open(), client_open() };
    uint64_t last = 0;

    (void)state;
    for (int i = 0; i < 60; i++) {
        hf_hold *hold = take(client[i % 3], "lock", NULL);

        assert_true(hf_hold_token(hold) > last);
        last = hf_hold_token(hold);
        assert_true(last < UINT64_C(1) << 53);
        give(hold);
        if (i % 7 == 6) { /* a new client goes on where the old one was */
            hf_close(client[i % 3]);
            client[i % 3] = client_open();
        }
    }
    for (int i = 0; i < 3; i++)
        hf_close(client[i]);
}

/* Passed on inside the process: each pass has a larger token. */
struct passing {
    hf_client *client;
    atomic_uint_least64_t last;
    atomic_int wrong, inside;
};

static void *pass(void *arg)
{
    struct passing *passing = arg;

    for (int i = 0; i < 200; i++) {
        hf_hold *hold = NULL;
        uint64_t token;

        if (hf_acquire(passing->client, "lock", NULL, &hold) != HF_OK) {
            atomic_fetch_add(&passing->wrong, 1);
            return NULL;
        }
        token = hf_hold_token(hold);
        if (atomic_fetch_add(&passing->inside, 1) != 0 ||
            atomic_exchange(&passing->last, token) >= token)
            atomic_fetch_add(&passing->wrong, 1);
        atomic_fetch_sub(&passing->inside, 1);
        if (hf_release(hold) != HF_OK)
            atomic_fetch_add(&passing->wrong, 1);
    }
    return NULL;
}

static void tokens_grow_in_passes(void **state)
{
    struct passing passing = { .client = client_open() };
    pthread_t thread[8];

    (void)state;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, pass, &passing), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(atomic_load(&passing.wrong), 0);
    hf_close(passing.client);
}

/* ------------------------------------------------------------------------------------------------
 * Arguments
 */

static int acquire_named(hf_client *client, const char *name)
{
    return try_once(client, name);
}

static void names(void **state)
{
    hf_client *a = client_open();
    char name[HF_NAME_MAX + 2];

    (void)state;
    memset(name, 'n', sizeof name);
    name[HF_NAME_MAX + 1] = '\0';
    assert_int_equal(acquire_named(a, name), HF_ERR_NAME);
    name[HF_NAME_MAX] = '\0';
    assert_int_equal(acquire_named(a, name), HF_OK);
    assert_int_equal(acquire_named(a, ""), HF_ERR_NAME);
    assert_int_equal(acquire_named(a, NULL), HF_ERR_NAME);
    assert_int_equal(acquire_named(a, "a\nb"), HF_ERR_NAME);
    assert_int_equal(acquire_named(a, "a\x7f"), HF_ERR_NAME);
    assert_int_equal(acquire_named(a, "\xc3("), HF_ERR_NAME);
    assert_int_equal(acquire_named(a, "\xed\xa0\x80"), HF_ERR_NAME);
    assert_int_equal(acquire_named(a, "\xc2\x85"), HF_ERR_NAME); /* a control character, too */
    assert_int_equal(acquire_named(a, "x"), HF_OK);
    assert_int_equal(acquire_named(a, " {a}b'\"%\\*?[ "), HF_OK);
    assert_int_equal(acquire_named(a, "\xe2\x82\xac \xf0\x9f\x94\x92"), HF_OK);
    hf_close(a);
}

static int acquire_with(hf_client *client, const struct hf_acquire_options *options)
{
    hf_hold *hold = NULL;
    int error = hf_acquire(client, "lock", options, &hold);

    if (error == HF_OK)
        give(hold);
    else
        assert_null(hold);
    return error;
}

static void times(void **state)
{
    hf_client *a = client_open();

    (void)state;
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.ttl_ms = HF_TTL_MIN_MS - 1)), HF_ERR_TTL);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.ttl_ms = HF_TTL_MAX_MS + 1)), HF_ERR_TTL);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.ttl_ms = -1)), HF_ERR_TTL);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.ttl_ms = HF_TTL_MAX_MS)), HF_OK);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.lease_ms = HF_TTL_MIN_MS - 1)), HF_ERR_TTL);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.lease_ms = HF_TTL_MAX_MS + 1)), HF_ERR_TTL);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.lease_ms = HF_TTL_MAX_MS)), HF_OK);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.lease_ms = 1000, .ttl_ms = 1000)), HF_ERR_INVALID);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.max_hold_ms = HF_TTL_MIN_MS - 1)), HF_ERR_TTL);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.max_hold_ms = INT64_MAX / 1000000)), HF_OK);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.wait_ms = -2)), HF_ERR_INVALID);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.wait_ms = HF_WAIT_MAX_MS + 1)), HF_ERR_INVALID);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.wait_ms = HF_WAIT_MAX_MS)), HF_OK);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.mode = (enum hf_mode)99)), HF_ERR_UNSUPPORTED);
    if (!TEST_SANITIZED)
        assert_int_equal(acquire_with(a, HF_ACQUIRE(.ttl_ms = HF_TTL_MIN_MS)), HF_OK);
    hf_close(a);
}

/* A number of milliseconds that would not fit into nanoseconds is no reason to misbehave. */
static void huge_max_hold(void **state)
{
    hf_client *a = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.max_hold_ms = INT64_C(18446744073710)));

    (void)state;
    assert_int_equal(hf_hold_state(hold), HF_HELD);
    assert_true(hf_hold_remaining_ms(hold) > 1000);
    give(hold);
    hf_close(a);
}

static void labels(void **state)
{
    hf_client *a = client_open();
    char label[HF_LABEL_MAX + 2];

    (void)state;
    memset(label, 'l', sizeof label);
    label[HF_LABEL_MAX + 1] = '\0';
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.label = label)), HF_ERR_LABEL);
    label[HF_LABEL_MAX] = '\0';
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.label = label)), HF_OK);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.label = "a\tb")), HF_ERR_LABEL);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.label = "\xff")), HF_ERR_LABEL);
    assert_int_equal(acquire_with(a, HF_ACQUIRE(.label = "")), HF_OK);
    hf_close(a);
}

/* Programs built against older and newer headers. */
static void option_sizes(void **state)
{
    struct {
        struct hf_acquire_options options;
        char more[64];
    } newer = { .options = { .size = sizeof newer, .wait_ms = HF_TRY_ONCE } };
    struct hf_acquire_options old = { .size = offsetof(struct hf_acquire_options, lease_ms),
                                      .ttl_ms = 5000,
                                      .lease_ms = 1 /* not read */ };
    hf_client *a = client_open();

    (void)state;
    memset(newer.more, 0x55, sizeof newer.more);
    assert_int_equal(acquire_with(a, &newer.options), HF_OK);
    assert_int_equal(acquire_with(a, &old), HF_OK);
    old.size = sizeof(size_t);
    assert_int_equal(acquire_with(a, &old), HF_OK);
    old.size = sizeof(size_t) - 1;
    assert_int_equal(acquire_with(a, &old), HF_ERR_INVALID);
    old.size = 0;
    assert_int_equal(acquire_with(a, &old), HF_ERR_INVALID);
    hf_close(a);
}

/* Many names at once, and both kinds of lease on one name. */
static void many_names(void **state)
{
    enum { N = 300 };
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold[N];
    char name[32];

    (void)state;
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "lock:%d", i);
        hold[i] = take(a, name, HF_ACQUIRE(.ttl_ms = 3000));
    }
    nap_ms(1500); /* at least one renewal of each */
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "lock:%d", i);
        assert_int_not_equal(hf_hold_state(hold[i]), HF_LOST);
        assert_true(hf_hold_remaining_ms(hold[i]) > 1500);
        if (i % 10 == 0)
            assert_int_equal(try_once(b, name), HF_ERR_BUSY);
    }
    for (int i = 0; i < N; i++)
        give(hold[i]);
    hf_close(a);
    hf_close(b);
}

static void check(void **state)
{
    hf_client *a = client_open();

    (void)state;
    assert_int_equal(hf_check(a), HF_OK);
    assert_int_equal(strlen(hf_client_id(a)), 36);
    assert_int_equal(strncmp(hf_client_store(a), store->uri(), strlen(store->uri())), 0);
    hf_close(a);
}

static const struct CMUnitTest TESTS[] = {
    TEST(one_attempt),
    TEST(bounded_wait),
    TEST(for_ever),
    TEST(giving_up),
    TEST(in_order),
    TEST(entering_again),
    TEST(threads_are_owners),
    TEST(named_owners),
    TEST(waiters_of_one_owner),
    TEST(fixed_lease),
    TEST(renewed),
    TEST(ceiling),
    TEST(verifying),
    TEST(tokens_grow),
    TEST(tokens_grow_in_passes),
    TEST(names),
    TEST(times),
    TEST(huge_max_hold),
    TEST(labels),
    TEST(option_sizes),
    TEST(many_names),
    TEST(check),
};

SUITE_MAIN("acquire", TESTS)
