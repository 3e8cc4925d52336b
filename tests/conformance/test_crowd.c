/* SPDX-License-Identifier: Apache-2.0 */
/* Many processes with many threads; and processes that die, stop, or give up. */
#include "conformance/store.h"

#include <signal.h>
#include <sched.h>
#include <sys/mman.h>

/* Looks are far apart where only wake-ups may serve. */
#define RARELY HF_CLIENT(.poll_ms = 60000)

/* ------------------------------------------------------------------------------------------------
 * A resource that others protect: it counts without any care, and refuses older tokens than it has seen.
 */

struct resource {
    volatile long counter; /* unprotected on purpose */
    atomic_uint_least64_t token;
    atomic_int inside, violations, served;
    atomic_int stop;
};

static struct resource *resource;

static void make_resource(void)
{
    resource =
        mmap(NULL, sizeof *resource, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(resource != MAP_FAILED);
}

static void use_resource(uint64_t token)
{
    long before = resource->counter;

    if (atomic_fetch_add(&resource->inside, 1) != 0)
        atomic_fetch_add(&resource->violations, 1);
    if (atomic_exchange(&resource->token, token) >= token)
        atomic_fetch_add(&resource->violations, 1);
    sched_yield();
    resource->counter = before + 1;
    atomic_fetch_sub(&resource->inside, 1);
}

struct visitor {
    hf_client *client;
    int rounds, wrong;
};

static void *visit(void *arg)
{
    struct visitor *visitor = arg;

    for (int i = 0; i < visitor->rounds; i++) {
        hf_hold *hold = NULL;

        if (hf_acquire(visitor->client, "lock", NULL, &hold) != HF_OK) {
            visitor->wrong++;
            break;
        }
        use_resource(hf_hold_token(hold));
        atomic_fetch_add(&resource->served, 1);
        if (hf_release(hold) != HF_OK)
            visitor->wrong++;
    }
    return NULL;
}

struct crowd {
    int threads, rounds;
};

static int bring_a_crowd(const struct parent *parent, void *arg)
{
    const struct crowd *crowd = arg;
    struct visitor visitor[32];
    pthread_t thread[32];
    hf_client *client = child_client();

    parent_tell(parent, 'r');
    parent_hear(parent);
    for (int i = 0; i < crowd->threads; i++) {
        visitor[i] = (struct visitor){ .client = client, .rounds = crowd->rounds };
        CHECK_EQUAL(pthread_create(&thread[i], NULL, visit, &visitor[i]), 0);
    }
    for (int i = 0; i < crowd->threads; i++) {
        pthread_join(thread[i], NULL);
        CHECK_EQUAL(visitor[i].wrong, 0);
    }
    hf_close(client);
    return 0;
}

static void let_in(int processes, int threads, int rounds)
{
    struct crowd crowd = { .threads = threads, .rounds = rounds };
    struct child child[64];

    make_resource();
    for (int i = 0; i < processes; i++)
        child_start(&child[i], bring_a_crowd, &crowd);
    for (int i = 0; i < processes; i++)
        child_expect(&child[i], 'r');
    for (int i = 0; i < processes; i++)
        child_tell(&child[i], 'g');
    for (int i = 0; i < processes; i++)
        assert_int_equal(child_join(&child[i]), 0);
    assert_int_equal(atomic_load(&resource->violations), 0);
    assert_int_equal(resource->counter, processes * threads * rounds);
    munmap(resource, sizeof *resource);
}

static void one_at_a_time(void **state)
{
    (void)state;
    let_in(4, 4, TEST_SANITIZED ? 20 : 60);
}

static void one_thread_each(void **state)
{
    (void)state;
    let_in(6, 1, TEST_SANITIZED ? 20 : 60);
}

/* All of them wait before the first is served. */
static int wait_in_crowd(const struct parent *parent, void *arg)
{
    return bring_a_crowd(parent, arg);
}

static void a_thousand_waiters(void **state)
{
    enum { PROCESSES = TEST_SANITIZED ? 12 : 50, THREADS = 20 };
    struct crowd crowd = { .threads = THREADS, .rounds = 1 };
    struct child child[PROCESSES];
    hf_client *a;
    hf_hold *hold;

    (void)state;
    make_resource();
    for (int i = 0; i < PROCESSES; i++)
        child_start(&child[i], wait_in_crowd, &crowd);
    a = client_open();
    hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 60000));
    for (int i = 0; i < PROCESSES; i++)
        child_expect(&child[i], 'r');
    for (int i = 0; i < PROCESSES; i++)
        child_tell(&child[i], 'g');
    AWAIT_MS(count_waiters(a, "lock") == PROCESSES, 60000);
    assert_int_equal(atomic_load(&resource->served), 0);
    give(hold);
    AWAIT_MS(atomic_load(&resource->served) == PROCESSES * THREADS, 60000);
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(child_join(&child[i]), 0);
    assert_int_equal(atomic_load(&resource->violations), 0);
    assert_int_equal(resource->counter, PROCESSES * THREADS);
    munmap(resource, sizeof *resource);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Death
 */

/* What the dead have left, where it is not found out at once: somebody comes for their locks. */
static void after_deaths(hf_client *client)
{
    give(take(client, "lock", HF_ACQUIRE(.ttl_ms = 5000)));
    store->bury();
}

static int hold_until_killed(const struct parent *parent, void *arg)
{
    const struct hf_acquire_options *options = arg;
    hf_client *client = child_client();
    hf_hold *hold = NULL;

    CHECK_EQUAL(hf_acquire(client, "lock", options, &hold), HF_OK);
    parent_tell(parent, 'h');
    parent_hear(parent);
    return 0;
}

static void a_holder_that_is_killed(void **state)
{
    struct hf_acquire_options options = { .size = sizeof options,
                                          .ttl_ms = store->death_at_once ? 60000 : 1000 };
    struct child child;
    struct taker taker;
    hf_client *a;
    int64_t start;

    (void)state;
    child_start(&child, hold_until_killed, &options);
    child_expect(&child, 'h');
    a = client_open_with(RARELY);
    taker_start(&taker, a, "lock", HF_ACQUIRE(.ttl_ms = 5000));
    AWAIT(count_waiters(a, "lock") == 1);
    start = now_ms();
    child_kill(&child);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_true(now_ms() - start < (store->death_at_once ? 1000 : 2500));
    give(taker.hold);
    after_deaths(a);
    hf_close(a);
}

static int wait_until_killed(const struct parent *parent, void *arg)
{
    hf_hold *hold = NULL;
    hf_client *client;

    CHECK_EQUAL(parent_hear(parent), 'w');
    client = child_client();
    CHECK_EQUAL(hf_acquire(client, "lock", arg, &hold), HF_OK);
    parent_tell(parent, 'h');
    parent_hear(parent);
    CHECK_EQUAL(hf_release(hold), HF_OK);
    hf_close(client);
    return 0;
}

/* Also the first and the middle of the line. */
static void waiters_that_are_killed(void **state)
{
    struct child child[3];
    struct taker taker;
    hf_client *a;
    hf_hold *hold;
    int64_t start;

    (void)state;
    for (int i = 0; i < 3; i++) /* before there are threads */
        child_start(&child[i], wait_until_killed, NULL);
    a = client_open();
    hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 60000));
    for (int i = 0; i < 3; i++) {
        child_tell(&child[i], 'w');
        AWAIT(count_waiters(a, "lock") == i + 1);
    }
    taker_start(&taker, a, "lock", HF_ACQUIRE(.ttl_ms = 5000));
    child_kill(&child[0]);
    child_kill(&child[1]);
    start = now_ms();
    give(hold);
    if (store->fifo) { /* the one that lives goes first; our thread stands in no line yet */
        child_expect(&child[2], 'h');
        assert_true(now_ms() - start < 1000);
    }
    child_tell(&child[2], 'g'); /* to give it back when it has it */
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    assert_int_equal(child_join(&child[2]), 0);
    after_deaths(a);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Stopped
 */

static int hold_while_stopped(const struct parent *parent, void *arg)
{
    hf_client *client = child_client();
    struct hf_event event = { .size = sizeof event };
    hf_hold *hold = NULL;

    CHECK_EQUAL(hf_acquire(client, "lock", arg, &hold), HF_OK);
    CHECK(hf_fd(client) >= 0);
    parent_tell(parent, 'h');
    CHECK_EQUAL(parent_hear(parent), 'g'); /* after it was stopped, and continued */
    CHECK_EQUAL(hf_hold_state(hold), HF_LOST);
    CHECK_EQUAL(hf_hold_remaining_ms(hold), 0);
    for (int64_t until = now_ms() + PATIENCE_MS; hf_next(client, &event) == 0;)
        CHECK(now_ms() < until);
    if (event.type == HF_EVENT_AT_RISK)
        for (int64_t until = now_ms() + PATIENCE_MS; hf_next(client, &event) == 0;)
            CHECK(now_ms() < until);
    CHECK_EQUAL(event.type, HF_EVENT_LOST);
    CHECK_EQUAL(hf_hold_state(hold), HF_LOST);
    CHECK_EQUAL(hf_hold_verify(hold), HF_ERR_LOST);
    CHECK_EQUAL(hf_release(hold), HF_ERR_LOST);
    hf_close(client);
    parent_tell(parent, 'd');
    return 0;
}

static void a_holder_that_is_stopped(void **state)
{
    struct hf_acquire_options options = { .size = sizeof options, .ttl_ms = 600 };
    struct child child;
    struct taker taker;
    hf_client *a;

    (void)state;
    child_start(&child, hold_while_stopped, &options);
    child_expect(&child, 'h');
    a = client_open();
    taker_start(&taker, a, "lock", HF_ACQUIRE(.ttl_ms = 5000));
    AWAIT(count_waiters(a, "lock") == 1);
    kill(child.pid, SIGSTOP);
    assert_int_equal(taker_join(&taker), HF_OK);
    child_tell(&child, 'g');
    kill(child.pid, SIGCONT);
    child_expect(&child, 'd');
    assert_int_equal(child_join(&child), 0);
    assert_int_equal(hf_hold_verify(taker.hold), HF_OK); /* the loser took nothing from us */
    give(taker.hold);
    hf_close(a);
}

/* A waiter that does not come when it is called does not keep others waiting for long. */
static void a_waiter_that_is_stopped(void **state)
{
    struct child child;
    struct taker taker;
    hf_client *a, *b;
    hf_hold *hold;
    int64_t start;

    (void)state;
    child_start(&child, wait_until_killed, NULL);
    a = client_open();
    hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 60000));
    child_tell(&child, 'w');
    AWAIT(count_waiters(a, "lock") == 1);
    b = client_open();
    taker_start(&taker, b, "lock", HF_ACQUIRE(.ttl_ms = 5000));
    AWAIT(count_waiters(a, "lock") == 2);
    kill(child.pid, SIGSTOP);
    start = now_ms();
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_true(now_ms() - start < 4000);
    kill(child.pid, SIGCONT);
    give(taker.hold);
    child_expect(&child, 'h');
    child_tell(&child, 'g');
    assert_int_equal(child_join(&child), 0);
    hf_close(a);
    hf_close(b);
}

/* ------------------------------------------------------------------------------------------------
 * Giving up
 */

/* A waiter gives up at the very moment at which it is woken: the wake-up goes to the next one. */
static void giving_up_while_woken(void **state)
{
    hf_client *a = client_open(), *b = client_open(), *c = client_open_with(RARELY);
    uint32_t seed = 11;
    int got = 0, gave_up = 0;

    (void)state;
    for (int i = 0; i < (TEST_SANITIZED ? 30 : 100); i++) {
        hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 60000));
        struct taker fickle, steady;
        int64_t wait_ms = 15 + (int64_t)(random_next(&seed) % 4), start = now_us();

        taker_start(&fickle, b, "lock", HF_ACQUIRE(.ttl_ms = 60000, .wait_ms = wait_ms));
        AWAIT(taker_done(&fickle) || count_waiters(a, "lock") >= 1);
        taker_start(&steady, c, "lock", HF_ACQUIRE(.ttl_ms = 60000));
        AWAIT(taker_done(&fickle) || count_waiters(a, "lock") >= 2);
        while (now_us() - start < wait_ms * 1000 - (long)(random_next(&seed) % 1500))
            ;
        give(hold);
        if (taker_join(&fickle) == HF_OK) {
            got++;
            give(fickle.hold);
        } else {
            gave_up++;
        }
        assert_int_equal(taker_join(&steady), HF_OK);
        assert_true(now_us() - start < 10000000);
        give(steady.hold);
    }
    assert_true(got + gave_up > 0);
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

static const struct CMUnitTest TESTS[] = {
    TEST(one_at_a_time),
    TEST(one_thread_each),
    TEST(a_thousand_waiters),
    TEST(a_holder_that_is_killed),
    TEST(waiters_that_are_killed),
    TEST(a_holder_that_is_stopped),
    TEST(a_waiter_that_is_stopped),
    TEST(giving_up_while_woken),
};

SUITE_MAIN("crowd", TESTS)
