/* SPDX-License-Identifier: Apache-2.0 */
/* Several locks as one hold. */
#include "conformance/store.h"

#include <poll.h>

#define TRY HF_ACQUIRE(.wait_ms = HF_TRY_ONCE)

#define MEMBER(client, name, mode)                                                                 \
    {                                                                                              \
        sizeof(struct hf_member), client, name, mode, 0                                            \
    }

static void all_or_none(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    const struct hf_member members[] = { MEMBER(a, "three", HF_EXCLUSIVE),
                                         MEMBER(a, "one", HF_SHARED), MEMBER(a, "two", HF_FAIR) };
    hf_hold *hold = NULL, *rival = take(b, "two", TRY);

    (void)state;
    assert_int_equal(hf_multi_acquire(members, 3, TRY, &hold), HF_ERR_BUSY);
    assert_int_equal(hf_multi_acquire(members, 3, HF_ACQUIRE(.wait_ms = 200), &hold), HF_ERR_BUSY);
    assert_null(hold);
    AWAIT(try_once(b, "one") == HF_OK); /* what was taken goes back in the background */
    AWAIT(try_once(b, "three") == HF_OK);
    give(rival);
    assert_int_equal(hf_multi_acquire(members, 3, NULL, &hold), HF_OK);
    assert_int_equal(hf_hold_state(hold), HF_HELD);
    assert_int_equal(hf_hold_token(hold), 0);
    assert_true(hf_hold_token(hf_multi_hold(hold, 0)) > 0);
    assert_string_equal(hf_hold_name(hf_multi_hold(hold, 1)), "one");
    assert_null(hf_multi_hold(hold, 3));
    assert_true(hf_hold_remaining_ms(hold) > 0);
    assert_int_equal(hf_hold_verify(hold), HF_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(try_once(b, members[i].name), HF_ERR_BUSY);
    give(hold);
    for (int i = 0; i < 3; i++)
        assert_int_equal(try_once(b, members[i].name), HF_OK);
    hf_close(a);
    hf_close(b);
}

static void arguments(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    struct hf_member members[2] = { MEMBER(a, "one", HF_EXCLUSIVE), MEMBER(b, "one", HF_SHARED) };
    hf_hold *none = NULL, *alone = take(a, "alone", TRY);

    (void)state;
    assert_int_equal(hf_multi_acquire(members, 2, TRY, &none), HF_ERR_INVALID);
    assert_int_equal(hf_multi_acquire(members, 0, TRY, &none), HF_ERR_INVALID);
    assert_int_equal(hf_multi_acquire(members, HF_MEMBERS_MAX + 1, TRY, &none), HF_ERR_INVALID);
    members[1].name = "";
    assert_int_equal(hf_multi_acquire(members, 2, TRY, &none), HF_ERR_NAME);
    members[1].name = "two";
    members[1].mode = HF_PERMITS;
    members[1].permits = HF_PERMITS_MAX + 1;
    assert_int_equal(hf_multi_acquire(members, 2, TRY, &none), HF_ERR_INVALID);
    members[1].size = 0;
    assert_int_equal(hf_multi_acquire(members, 2, TRY, &none), HF_ERR_INVALID);
    assert_null(none);
    assert_ptr_equal(hf_multi_hold(alone, 0), alone);
    assert_null(hf_multi_hold(alone, 1));
    give(alone);
    AWAIT(try_once(b, "one") == HF_OK);
    hf_close(a);
    hf_close(b);
}

struct crosser {
    pthread_t thread;
    hf_client *client;
    bool reverse;
    int failed;
};

static int inside, together;

static void *cross(void *arg)
{
    struct crosser *crosser = arg;
    struct hf_member members[2] = { MEMBER(crosser->client, "one", HF_EXCLUSIVE),
                                    MEMBER(crosser->client, "two", HF_EXCLUSIVE) };

    if (crosser->reverse)
        members[0].name = "two", members[1].name = "one";
    for (int i = 0; i < 40; i++) {
        hf_hold *hold = NULL;

        if (hf_multi_acquire(members, 2, HF_ACQUIRE(.wait_ms = PATIENCE_MS), &hold) != HF_OK) {
            crosser->failed++;
            continue;
        }
        if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) != 1)
            __atomic_store_n(&together, 1, __ATOMIC_SEQ_CST);
        __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        if (hf_release(hold) != HF_OK)
            crosser->failed++;
    }
    return NULL;
}

/* Named in opposite orders, by threads of two clients: nobody waits in a circle. */
static void no_circle(void **state)
{
    struct crosser crosser[4];
    hf_client *a = client_open(), *b = client_open();

    (void)state;
    inside = together = 0;
    for (int i = 0; i < 4; i++) {
        crosser[i] = (struct crosser){ .client = i % 2 ? a : b, .reverse = i >= 2 };
        assert_int_equal(pthread_create(&crosser[i].thread, NULL, cross, &crosser[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(crosser[i].thread, NULL);
        assert_int_equal(crosser[i].failed, 0);
    }
    assert_int_equal(together, 0);
    hf_close(a);
    hf_close(b);
}

/* The loss of one is the loss of all, told once. */
static void one_is_lost(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    const struct hf_member members[] = { MEMBER(a, "one", HF_EXCLUSIVE),
                                         MEMBER(a, "two", HF_EXCLUSIVE) };
    char owner[HF_OWNER_MAX + 1];
    struct hf_event event;
    hf_hold *hold;

    (void)state;
    assert_int_equal(hf_multi_acquire(members, 2, NULL, &hold), HF_OK);
    AWAIT(holder_of(b, "two")->pid ==
          getpid()); /* announced: then a client is told when it is broken */
    hf_hold_owner(hf_multi_hold(hold, 1), owner, sizeof owner);
    assert_int_equal(hf_break(b, "two", owner), HF_OK);
    assert_true(hf_hold_verify(hold) == HF_ERR_LOST || hf_hold_state(hold) == HF_LOST);
    assert_int_equal(hf_hold_state(hold), HF_LOST);
    assert_int_equal(hf_hold_remaining_ms(hold), 0);
    event = next_event(a);
    assert_int_equal(event.type, HF_EVENT_LOST);
    assert_ptr_equal(event.hold, hold);
    no_event(a);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_int_equal(try_once(b, "one"), HF_OK);
    hf_close(a);
    hf_close(b);
}

/* The next event of either client. */
static struct hf_event next_of(hf_client *a, hf_client *b, hf_client **ret_from)
{
    struct hf_event event = { .size = sizeof event };
    int any = 0;

    AWAIT((any = hf_next(*ret_from = a, &event)) != 0 ||
          (any = hf_next(*ret_from = b, &event)) != 0);
    assert_int_equal(any, 1);
    return event;
}

static void with_events(void **state)
{
    hf_client *a = client_open(), *b = client_open(), *c = client_open(), *from;
    const struct hf_member members[] = { MEMBER(a, "one", HF_EXCLUSIVE), MEMBER(b, "two", HF_WRITE),
                                         MEMBER(a, "three", HF_FAIR) };
    hf_hold *rival = take(c, "two", TRY);
    struct hf_event event;
    int cookie, other;

    (void)state;
    assert_int_equal(hf_multi_acquire_start(members, 3, NULL, &cookie), HF_OK);
    AWAIT(hf_next(a, &(struct hf_event){ .size = sizeof event }) == 0 &&
          count_waiters(c, "two") == 1);
    give(rival);
    event = next_of(a, b, &from);
    assert_int_equal(event.type, HF_EVENT_ACQUIRED);
    assert_ptr_equal(event.cookie, &cookie);
    assert_int_equal(hf_hold_state(event.hold), HF_HELD);
    assert_int_equal(hf_release_start(event.hold, &other), HF_OK);
    event = next_of(a, b, &from);
    assert_int_equal(event.type, HF_EVENT_RELEASED);
    assert_int_equal(event.error, HF_OK);
    assert_ptr_equal(event.cookie, &other);
    no_event(a);
    no_event(b);
    for (int i = 0; i < 3; i++)
        assert_int_equal(try_once(c, members[i].name), HF_OK);
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

static void events_of_failure(void **state)
{
    hf_client *a = client_open(), *b = client_open(), *c = client_open(), *from;
    const struct hf_member members[] = { MEMBER(a, "one", HF_EXCLUSIVE),
                                         MEMBER(b, "two", HF_WRITE) };
    hf_hold *rival = take(c, "two", TRY);
    struct hf_event event;
    int cookie;

    (void)state;
    assert_int_equal(hf_multi_acquire_start(members, 2, HF_ACQUIRE(.wait_ms = 300), &cookie),
                     HF_OK);
    event = next_of(a, b, &from);
    assert_int_equal(event.type, HF_EVENT_FAILED);
    assert_int_equal(event.error, HF_ERR_BUSY);
    assert_ptr_equal(event.cookie, &cookie);
    AWAIT(try_once(c, "one") == HF_OK);
    assert_int_equal(hf_multi_acquire_start(members, 2, NULL, &cookie), HF_OK);
    AWAIT(hf_next(a, &(struct hf_event){ .size = sizeof event }) == 0 &&
          hf_cancel(b, &cookie) == HF_OK);
    event = next_of(a, b, &from);
    assert_int_equal(event.error, HF_ERR_CANCELLED);
    AWAIT(try_once(c, "one") == HF_OK);
    give(rival);
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

/* One member is there, and nobody has taken its event: the next is not asked for any more. */
static void cancelled_between(void **state)
{
    hf_client *a = client_open(), *b = client_open(), *c = client_open(), *from;
    const struct hf_member members[] = { MEMBER(a, "one", HF_EXCLUSIVE),
                                         MEMBER(b, "two", HF_WRITE) };
    hf_hold *rival = take(c, "two", TRY);
    struct pollfd p = { .fd = hf_fd(a), .events = POLLIN };
    struct hf_event event;
    int cookie;

    (void)state;
    assert_int_equal(hf_multi_acquire_start(members, 2, NULL, &cookie), HF_OK);
    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    assert_int_equal(hf_cancel(b, &cookie), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_cancel(a, &cookie), HF_OK);
    assert_int_equal(hf_cancel(a, &cookie), HF_ERR_NOT_FOUND);
    event = next_of(a, b, &from);
    assert_int_equal(event.type, HF_EVENT_FAILED);
    assert_int_equal(event.error, HF_ERR_CANCELLED);
    assert_ptr_equal(event.cookie, &cookie);
    no_event(a);
    no_event(b);
    AWAIT(try_once(c, "one") == HF_OK);
    give(rival);
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

/* Who asks each client in turn finds it, also when it comes to one that was asked already. */
static void cancelled_behind(void **state)
{
    hf_client *a = client_open(), *b = client_open(), *c = client_open(), *from;
    const struct hf_member members[] = { MEMBER(a, "one", HF_EXCLUSIVE),
                                         MEMBER(b, "two", HF_WRITE) };
    hf_hold *rival = take(c, "two", TRY);
    struct pollfd p = { .fd = hf_fd(a), .events = POLLIN };
    struct hf_event event = { .size = sizeof event };
    int cookie;

    (void)state;
    assert_int_equal(hf_multi_acquire_start(members, 2, NULL, &cookie), HF_OK);
    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    assert_int_equal(hf_cancel(b, &cookie), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_next(a, &event), 0);
    AWAIT(count_waiters(c, "two") == 1);
    assert_int_equal(hf_cancel(a, &cookie), HF_OK);
    event = next_of(a, b, &from);
    assert_int_equal(event.type, HF_EVENT_FAILED);
    assert_int_equal(event.error, HF_ERR_CANCELLED);
    assert_ptr_equal(from, b);
    assert_int_equal(hf_cancel(a, &cookie), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_cancel(b, &cookie), HF_ERR_NOT_FOUND);
    AWAIT(try_once(c, "one") == HF_OK);
    give(rival);
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

struct canceller {
    pthread_t thread;
    hf_client *client[2];
    int *cookie;
    unsigned after_us;
    bool found;
};

/* It asks each client once. */
static void *cancel_soon(void *arg)
{
    struct canceller *canceller = arg;

    usleep(canceller->after_us);
    for (int i = 0; i < 2; i++)
        if (hf_cancel(canceller->client[i], canceller->cookie) == HF_OK)
            canceller->found = true;
    return NULL;
}

/* By another thread, at any moment, in either order: it is never missed, and the last member is never free. */
static void cancelled_at_any_moment(void **state)
{
    hf_client *a = client_open(), *b = client_open(), *c = client_open(), *from;
    const struct hf_member members[] = { MEMBER(a, "one", HF_EXCLUSIVE),
                                         MEMBER(b, "three", HF_WRITE),
                                         MEMBER(a, "two", HF_EXCLUSIVE) };
    hf_hold *rival = take(c, "two", TRY);
    int cookie;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        struct canceller canceller = { .client = { i % 2 ? a : b, i % 2 ? b : a },
                                       .cookie = &cookie,
                                       .after_us = i * 7 % 600 };
        struct hf_event event;

        assert_int_equal(hf_multi_acquire_start(members, 3, NULL, &cookie), HF_OK);
        assert_int_equal(pthread_create(&canceller.thread, NULL, cancel_soon, &canceller), 0);
        event = next_of(a, b, &from);
        assert_int_equal(event.type, HF_EVENT_FAILED);
        assert_int_equal(event.error, HF_ERR_CANCELLED);
        pthread_join(canceller.thread, NULL);
        assert_true(canceller.found);
    }
    AWAIT(try_once(c, "one") == HF_OK);
    give(rival);
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

/* Clients end while a multi acquire is under way, or is done and nobody has taken its event. */
static void closing_under_way(void **state)
{
    hf_client *c = client_open();

    (void)state;
    for (int round = 0; round < 4; round++) {
        hf_client *a = client_open(), *b = client_open();
        const struct hf_member members[] = { MEMBER(a, "one", HF_EXCLUSIVE),
                                             MEMBER(b, "two", HF_WRITE) };
        hf_hold *rival = round % 2 ? take(c, "two", TRY) : NULL;
        struct pollfd p = { .fd = hf_fd(a), .events = POLLIN };
        int cookie;

        assert_int_equal(hf_multi_acquire_start(members, 2, NULL, &cookie), HF_OK);
        assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
        if (round >= 2)
            assert_int_equal(hf_next(a, &(struct hf_event){ .size = sizeof(struct hf_event) }), 0);
        hf_close(a);
        hf_close(b);
        if (rival)
            give(rival);
        AWAIT(try_once(c, "one") == HF_OK && try_once(c, "two") == HF_OK);
    }
    hf_close(c);
}

/* The first is lost while the second is waited for, and there is no time to begin anew. */
static void lost_under_way(void **state)
{
    hf_client *a = client_open(), *c = client_open(), *from;
    const struct hf_member members[] = { MEMBER(a, "one", HF_EXCLUSIVE),
                                         MEMBER(a, "two", HF_EXCLUSIVE) };
    struct pollfd p = { .fd = hf_fd(a), .events = POLLIN };
    struct hf_event event = { .size = sizeof event };
    int cookie;

    (void)state;
    assert_int_equal(hf_multi_acquire_start(
                         members, 2, HF_ACQUIRE(.wait_ms = HF_TRY_ONCE, .lease_ms = 100), &cookie),
                     HF_OK);
    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    usleep(150 * 1000);
    if (hf_next(a, &event) == 0) /* else the second was there before it looked for more */
        event = next_of(a, c, &from);
    assert_int_equal(event.type, HF_EVENT_FAILED); /* of the first nobody knows */
    assert_int_equal(event.error, HF_ERR_UNSURE);
    assert_non_null(strstr(hf_last_error(), "lost while others were waited for"));
    no_event(a);
    AWAIT(try_once(c, "two") == HF_OK);
    hf_close(a);
    hf_close(c);
}

static void *multi_for_ever(void *arg)
{
    hf_hold *hold;

    hf_multi_acquire(arg, 2, NULL, &hold);
    return NULL;
}

/* A thread that is cancelled while it waits for the second has given the first back. */
static void cancelled_thread(void **state)
{
    hf_client *a = client_open(), *c = client_open();
    struct hf_member members[] = { MEMBER(a, "one", HF_EXCLUSIVE), MEMBER(a, "two", HF_WRITE) };
    hf_hold *rival = take(c, "two", TRY);
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, multi_for_ever, members), 0);
    AWAIT(count_waiters(c, "two") == 1);
    assert_int_equal(try_once(c, "one"), HF_ERR_BUSY);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    AWAIT(try_once(c, "one") == HF_OK);
    give(rival);
    hf_close(a);
    hf_close(c);
}

/* ThreadSanitizer does not see what a cancelled thread lets go of. */
#ifdef __SANITIZE_THREAD__
static void not_here(void **state)
{
    (void)state;
    (void)cancelled_thread;
    skip();
}
#define CANCELLED_THREAD not_here
#else
#define CANCELLED_THREAD cancelled_thread
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(all_or_none),       TEST(arguments),         TEST(no_circle),
        TEST(one_is_lost),       TEST(with_events),       TEST(events_of_failure),
        TEST(cancelled_between), TEST(cancelled_behind),  TEST(cancelled_at_any_moment),
        TEST(lost_under_way),    TEST(closing_under_way), TEST(CANCELLED_THREAD),
    };

    return suite_main(argc, argv, "multi", tests, sizeof tests / sizeof tests[0]);
}
