/* SPDX-License-Identifier: Apache-2.0 */
/* What people see, and what they can take away. */
#include "conformance/store.h"

#define LONG HF_ACQUIRE(.ttl_ms = 30000)

static struct hf_lock lock_at(const hf_list *list, size_t i)
{
    struct hf_lock lock = { .size = sizeof lock, .holder.size = sizeof lock.holder };

    assert_int_equal(hf_list_get(list, i, &lock), HF_OK);
    return lock;
}

/* The label is told last: what was announced is there then. */
static bool shows_label(hf_client *client, const char *name, const char *label)
{
    return strcmp(holder_of(client, name)->label, label) == 0;
}

static void a_holder(void **state)
{
    hf_client *a = client_open_with(HF_CLIENT(.program = "tester")), *b = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 20000, .label = "nightly \xe2\x82\xac"));
    char owner[HF_OWNER_MAX + 1], host[256] = "";
    hf_list *list = NULL;
    struct hf_holder waiter = { .size = sizeof waiter };
    struct hf_lock lock;

    (void)state;
    AWAIT(shows_label(b, "lock", "nightly \xe2\x82\xac"));
    assert_int_equal(hf_inspect(b, "lock", &list), HF_OK);
    assert_int_equal(hf_list_count(list), 1);
    lock = lock_at(list, 0);
    gethostname(host, sizeof host - 1);
    hf_hold_owner(hold, owner, sizeof owner);
    assert_string_equal(lock.name, "lock");
    assert_string_equal(lock.state, "held");
    assert_string_equal(lock.holder.owner, owner);
    assert_int_equal(strncmp(owner, hf_client_id(a), 36), 0);
    assert_string_equal(lock.holder.host, host);
    assert_string_equal(lock.holder.program, "tester");
    assert_true(lock.holder.user[0] != '\0');
    assert_int_equal(lock.holder.pid, getpid());
    assert_in_range(lock.holder.age_ms, 0, 20000);
    assert_in_range(lock.holder.remaining_ms, 1, 20000);
    assert_true(lock.holder.token == hf_hold_token(hold));
    assert_int_equal(lock.waiters, 0);
    assert_int_equal(hf_list_waiter(list, 0, 0, &waiter), HF_ERR_INVALID);
    assert_int_equal(hf_list_get(list, 1, &lock), HF_ERR_INVALID);
    list = hf_list_free(list);
    assert_null(list);
    give(hold);
    assert_int_equal(hf_inspect(b, "lock", &list), HF_ERR_NOT_FOUND);
    assert_null(list);
    hf_close(a);
    hf_close(b);
}

static int wait_in_child(const struct parent *parent, void *arg)
{
    hf_hold *hold = NULL;
    hf_client *client;

    (void)arg;
    CHECK_EQUAL(parent_hear(parent), 'g');
    client = child_client();
    CHECK_EQUAL(hf_acquire(client, "lock", NULL, &hold), HF_OK);
    CHECK_EQUAL(hf_release(hold), HF_OK);
    hf_close(client);
    return 0;
}

static bool sees_pid(hf_client *client, pid_t pid)
{
    struct hf_holder waiter = { .size = sizeof waiter };
    hf_list *list = NULL;
    bool found = false;

    if (hf_inspect(client, "lock", &list) == HF_OK)
        for (size_t i = 0; hf_list_waiter(list, 0, i, &waiter) == HF_OK; i++)
            found |= waiter.pid == pid;
    hf_list_free(list);
    return found;
}

static void waiters(void **state)
{
    hf_client *a, *b;
    struct child child[3];
    hf_list *list = NULL;
    hf_hold *hold;
    struct hf_holder waiter = { .size = sizeof waiter };
    int64_t age = INT64_MAX;

    (void)state;
    for (int i = 0; i < 3; i++) /* before there are threads */
        child_start(&child[i], wait_in_child, NULL);
    a = client_open();
    hold = take(a, "lock", LONG);
    for (int i = 0; i < 3; i++) {
        child_tell(&child[i], 'g');
        AWAIT(count_waiters(a, "lock") == i + 1);
        AWAIT(sees_pid(a, child[i].pid));
    }
    b = client_open();
    assert_int_equal(hf_inspect(b, "lock", &list), HF_OK);
    assert_int_equal(lock_at(list, 0).waiters, 3);
    for (int i = 0; i < 3; i++) { /* in order */
        assert_int_equal(hf_list_waiter(list, 0, (size_t)i, &waiter), HF_OK);
        assert_int_equal(waiter.pid, child[i].pid);
        assert_true(waiter.age_ms >= 0 && waiter.age_ms <= age);
        assert_int_equal(waiter.remaining_ms, -1);
        assert_int_equal(waiter.count, 1);
        age = waiter.age_ms;
    }
    assert_int_equal(hf_list_waiter(list, 0, 3, &waiter), HF_ERR_INVALID);
    hf_list_free(list);
    give(hold);
    for (int i = 0; i < 3; i++)
        assert_int_equal(child_join(&child[i]), 0);
    hf_close(a);
    hf_close(b);
}

/* How many threads of one client wait for "lock", as another client sees it; -1: not one client waits. */
static int64_t threads_waiting(hf_client *client)
{
    struct hf_holder waiter = { .size = sizeof waiter };
    hf_list *list = NULL;
    int64_t count = -1;

    if (hf_inspect(client, "lock", &list) == HF_OK && lock_at(list, 0).waiters == 1 &&
        hf_list_waiter(list, 0, 0, &waiter) == HF_OK)
        count = waiter.count;
    hf_list_free(list);
    return count;
}

/* Those who wait for a lock of their own process need not ask the store, but are shown. */
static void waiters_inside(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", LONG);
    struct taker taker[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        taker_start(&taker[i], a, "lock", LONG);
        AWAIT(threads_waiting(b) == i + 1);
    }
    give(hold);
    AWAIT(threads_waiting(b) == 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(taker_join(&taker[i]), HF_OK);
        give(taker[i].hold);
    }
    hf_close(a);
    hf_close(b);
}

static void a_list(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold[4] = { take(a, "job:1", LONG), take(a, "job:2", LONG), take(a, "order:1", LONG),
                         take(a, "j[o]b:1", LONG) };
    hf_list *list = NULL;

    (void)state;
    assert_int_equal(hf_list_locks(b, NULL, &list), HF_OK);
    assert_int_equal(hf_list_count(list), 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(lock_at(list, i).state, "held");
    hf_list_free(list);
    assert_int_equal(hf_list_locks(b, "job:*", &list), HF_OK);
    assert_int_equal(hf_list_count(list), 2);
    hf_list_free(list);
    assert_int_equal(hf_list_locks(b, "*:1", &list), HF_OK);
    assert_int_equal(hf_list_count(list), 3);
    hf_list_free(list);
    assert_int_equal(hf_list_locks(b, "j[o]b:?", &list), HF_OK); /* no other wildcards than these */
    assert_int_equal(hf_list_count(list), 1);
    assert_string_equal(lock_at(list, 0).name, "j[o]b:1");
    hf_list_free(list);
    assert_int_equal(hf_list_locks(b, "nothing", &list), HF_OK);
    assert_int_equal(hf_list_count(list), 0);
    hf_list_free(list);
    for (int i = 0; i < 4; i++)
        give(hold[i]);
    assert_int_equal(hf_list_locks(b, NULL, &list), HF_OK);
    assert_int_equal(hf_list_count(list), 0);
    hf_list_free(list);
    hf_close(a);
    hf_close(b);
}

static void busy_names_the_holder(void **state)
{
    hf_client *a = client_open_with(HF_CLIENT(.program = "first")), *b = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 30000, .label = "why")), *none = NULL;
    struct hf_holder busy = { .size = sizeof busy };
    struct {
        size_t size;
        char owner[8]; /* an older, smaller struct: not written past its end */
        char guard[64];
    } small = { .size = sizeof small.size + sizeof small.owner };
    char owner[HF_OWNER_MAX + 1];

    (void)state;
    memset(small.guard, 'g', sizeof small.guard);
    AWAIT(shows_label(b, "lock", "why"));
    assert_int_equal(
        hf_acquire(b, "lock", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE, .busy = &busy), &none),
        HF_ERR_BUSY);
    hf_hold_owner(hold, owner, sizeof owner);
    assert_string_equal(busy.owner, owner);
    assert_string_equal(busy.program, "first");
    assert_string_equal(busy.label, "why");
    assert_int_equal(busy.pid, getpid());
    assert_in_range(busy.age_ms, 0, 30000);
    assert_int_equal(busy.size, sizeof busy);
    assert_int_equal(
        hf_acquire(b, "lock",
                   HF_ACQUIRE(.wait_ms = HF_TRY_ONCE, .busy = (struct hf_holder *)(void *)&small),
                   &none),
        HF_ERR_BUSY);
    assert_memory_equal(small.owner, owner, sizeof small.owner);
    for (size_t i = 0; i < sizeof small.guard; i++)
        assert_int_equal(small.guard[i], 'g');
    give(hold);
    hf_close(a);
    hf_close(b);
}

/* ------------------------------------------------------------------------------------------------
 * Break
 */

static void breaking(void **state)
{
    hf_client *a = client_open(), *b = client_open(), *c = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 60000, .label = "stuck"));
    char owner[HF_OWNER_MAX + 1];
    struct taker taker;
    int64_t start;

    (void)state;
    hf_hold_owner(hold, owner, sizeof owner);
    assert_int_equal(hf_break(b, "lock", "00000000-0000-4000-8000-000000000000:1"), HF_ERR_CHANGED);
    assert_int_equal(hf_hold_verify(hold), HF_OK);
    AWAIT(shows_label(b, "lock", "stuck"));
    taker_start(&taker, c, "lock", NULL);
    AWAIT(count_waiters(b, "lock") == 1);
    start = now_ms();
    assert_int_equal(hf_break(b, "lock", owner), HF_OK);
    assert_int_equal(taker_join(&taker), HF_OK); /* woken */
    AWAIT(hf_hold_state(hold) == HF_LOST);       /* told */
    assert_true(now_ms() - start < 5000);        /* and not by the next renewal, after 20 s */
    assert_int_equal(next_event(a).type, HF_EVENT_LOST);
    assert_int_equal(hf_break(b, "lock", owner), HF_ERR_CHANGED);
    assert_int_equal(hf_hold_verify(taker.hold), HF_OK);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_int_equal(hf_hold_verify(taker.hold), HF_OK);
    give(taker.hold);
    assert_int_equal(hf_break(b, "lock", owner), HF_ERR_NOT_FOUND);
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

/* However soon after the acquire, and whatever had been announced by then. */
static void breaking_at_once(void **state)
{
    for (int delay = 0; delay < 600; delay += 60) {
        hf_client *a = client_open(), *b = client_open();
        hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 60000));
        char owner[HF_OWNER_MAX + 1];
        int64_t start;

        (void)state;
        hf_hold_owner(hold, owner, sizeof owner);
        nap_ms(delay);
        start = now_ms();
        assert_int_equal(hf_break(b, "lock", owner), HF_OK);
        AWAIT(hf_hold_state(hold) == HF_LOST);
        assert_true(now_ms() - start < 5000);
        assert_int_equal(hf_release(hold), HF_ERR_LOST);
        hf_close(a);
        hf_close(b);
    }
}

static void arguments(void **state)
{
    hf_client *a = client_open();
    char owner[HF_OWNER_MAX + 3];
    hf_list *list = NULL;

    (void)state;
    memset(owner, 'o', sizeof owner - 1);
    owner[sizeof owner - 1] = '\0';
    assert_int_equal(hf_break(a, "lock", NULL), HF_ERR_INVALID);
    assert_int_equal(hf_break(a, "lock", ""), HF_ERR_INVALID);
    assert_int_equal(hf_break(a, "lock", owner), HF_ERR_INVALID);
    assert_int_equal(hf_break(a, "", "a:1"), HF_ERR_NAME);
    assert_int_equal(hf_break(a, "lock", "a:1"), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_inspect(a, "", &list), HF_ERR_NAME);
    assert_int_equal(hf_inspect(a, "lock", NULL), HF_ERR_INVALID);
    assert_int_equal(hf_inspect(a, "lock", &list), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_list_locks(a, "*", NULL), HF_ERR_INVALID);
    assert_null(list);
    hf_close(a);
}

static const struct CMUnitTest TESTS[] = {
    TEST(a_holder),
    TEST(waiters),
    TEST(waiters_inside),
    TEST(a_list),
    TEST(busy_names_the_holder),
    TEST(breaking),
    TEST(breaking_at_once),
    TEST(arguments),
};

SUITE_MAIN("people", TESTS)
