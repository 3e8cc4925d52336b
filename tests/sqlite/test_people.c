/* SPDX-License-Identifier: Apache-2.0 */
/* LIST, INSPECT, BREAK, ANNOUNCE, CHECK. */
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"

static int query(struct client *client, int op, const char *text, const char *owner,
                 struct hf_list *list)
{
    struct hfi_query query = {
        .request.op = (uint8_t)op, .text = text, .owner = owner, .list = list
    };

    run(client, &query.request);
    assert_int_equal(query.cursor, 0);
    assert_int_equal(query.request.outcome, query.request.error ? HFI_NOT_DONE : HFI_DONE);
    return query.request.error;
}

static void get(const struct hf_list *list, size_t i, struct hf_lock *ret_lock)
{
    ret_lock->size = sizeof *ret_lock;
    assert_int_equal(hf_list_get(list, i, ret_lock), HF_OK);
}

static void looking_at_nothing(void **state)
{
    struct hf_list *list = hfi_list_new();
    struct hfi_request check = { .op = HFI_OP_CHECK };
    struct client client;

    (void)state;
    client_open(&client);
    run(&client, &check);
    assert_int_equal(check.outcome, HFI_DONE);
    assert_int_equal(query(&client, HFI_OP_LIST, NULL, NULL, list), HF_OK);
    assert_int_equal(hf_list_count(list), 0);
    assert_int_equal(query(&client, HFI_OP_INSPECT, "lock", NULL, list), HF_ERR_NOT_FOUND);
    assert_int_equal(query(&client, HFI_OP_BREAK, "lock", "x:1", NULL), HF_ERR_NOT_FOUND);
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 0);
    hf_list_free(list);
    client_close(&client);
}

static void list_shows(void **state)
{
    struct client a, b, reader;
    struct hfi_lease lease = lease_of("job:two", 7, 30000);
    struct hf_list *list = hfi_list_new();
    char owner[64];
    struct hf_lock lock;

    (void)state;
    client_open(&a);
    client_open(&b);
    client_open(&reader);
    do_try(&a, "job:one", 1, 30000, false);
    lease.request.op = HFI_OP_TRY;
    lease.label = "nightly";
    run(&b, &lease.request);
    do_try(&a, "job:two", 1, 30000, true);
    do_try(&a, "other", 1, 30000, false);
    assert_int_equal(query(&reader, HFI_OP_LIST, NULL, NULL, list), HF_OK);
    assert_int_equal(hf_list_count(list), 3);
    get(list, 1, &lock);
    assert_string_equal(lock.name, "job:two");
    assert_string_equal(lock.state, "held");
    snprintf(owner, sizeof owner, "%s:7", b.identity.id);
    assert_string_equal(lock.holder.owner, owner);
    assert_string_equal(lock.holder.host, "host");
    assert_string_equal(lock.holder.user, "user");
    assert_string_equal(lock.holder.program, "program");
    assert_string_equal(lock.holder.label, "nightly");
    assert_int_equal(lock.holder.pid, getpid());
    assert_int_equal(lock.holder.token, lease.token);
    assert_int_equal(lock.holder.count, 1);
    assert_true(lock.holder.age_ms >= 0 && lock.holder.age_ms < 20000);
    assert_true(lock.holder.remaining_ms > 10000 && lock.holder.remaining_ms <= 30000);
    assert_int_equal(lock.waiters, 1);
    assert_int_equal(hf_list_waiter(list, 1, 0, &lock.holder), HF_ERR_INVALID);
    hf_list_free(list);
    list = hfi_list_new();
    assert_int_equal(query(&reader, HFI_OP_LIST, "job:*", NULL, list), HF_OK);
    assert_int_equal(hf_list_count(list), 2);
    assert_int_equal(query(&reader, HFI_OP_LIST, "o?her", NULL, list), HF_OK);
    assert_int_equal(hf_list_count(list), 3);
    get(list, 2, &lock);
    assert_string_equal(lock.name, "other");
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 2);
    hf_list_free(list);
    client_close(&a);
    client_close(&b);
    client_close(&reader);
}

/* What is over is not shown, though its rows are there; and nothing is written. */
static void the_dead_are_not_shown(void **state)
{
    struct remote dead = remote_start();
    struct hf_list *list = hfi_list_new();
    struct timespec nap = { .tv_nsec = 120000000 };
    struct client a, reader;
    struct hf_lock lock;

    (void)state;
    client_open(&a);
    client_open(&reader);
    do_try(&a, "expired", 1, 100, false);
    do_try(&a, "waited for", 1, 30000, false);
    remote_do(&dead, ORDER_TRY, "dead", 1);
    remote_do(&dead, ORDER_TRY, "waited for", 1);
    do_try(&a, "dead", 1, 30000, true);
    remote_kill(&dead);
    nanosleep(&nap, NULL);
    assert_int_equal(query(&reader, HFI_OP_LIST, NULL, NULL, list), HF_OK);
    assert_int_equal(hf_list_count(list), 2);
    get(list, 0, &lock);
    assert_string_equal(lock.name, "dead");
    assert_string_equal(lock.state, "free");
    assert_string_equal(lock.holder.owner, "");
    assert_int_equal(lock.waiters, 1);
    get(list, 1, &lock);
    assert_string_equal(lock.name, "waited for");
    assert_string_equal(lock.state, "held");
    assert_int_equal(lock.waiters, 0);
    assert_int_equal(query(&reader, HFI_OP_INSPECT, "expired", NULL, list), HF_ERR_NOT_FOUND);
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 2);
    assert_int_equal(sql_number("SELECT count(*) FROM hold"), 3);
    hf_list_free(list);
    client_close(&a);
    client_close(&reader);
}

static void inspect_shows_the_line(void **state)
{
    struct client holder, waiters[3];
    struct hf_list *list = hfi_list_new();
    struct hf_holder waiter = { .size = sizeof waiter };
    struct hf_lock lock;

    (void)state;
    client_open(&holder);
    do_try(&holder, "lock", 1, 30000, false);
    for (int i = 0; i < 3; i++) {
        client_open(&waiters[i]);
        do_try(&waiters[i], "lock", 1, 30000, true);
    }
    assert_int_equal(query(&holder, HFI_OP_INSPECT, "lock", NULL, list), HF_OK);
    assert_int_equal(hf_list_count(list), 1);
    get(list, 0, &lock);
    assert_int_equal(lock.waiters, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(hf_list_waiter(list, 0, i, &waiter), HF_OK);
        assert_string_equal(waiter.owner, waiters[i].identity.id);
        assert_int_equal(waiter.count, 1);
        assert_int_equal(waiter.remaining_ms, -1);
        assert_true(waiter.age_ms >= 0);
    }
    hf_list_free(list);
    for (int i = 0; i < 3; i++)
        client_close(&waiters[i]);
    client_close(&holder);
}

static void break_takes_away(void **state)
{
    struct client holder, waiter, other;
    char owner[64];

    (void)state;
    client_open(&holder);
    client_open(&waiter);
    client_open(&other);
    do_try(&holder, "lock", UINT64_MAX, 30000, false);
    do_try(&waiter, "lock", 1, 30000, true);
    do_watch(&waiter, "lock");
    assert_false(wait_restored(&holder, 200)); /* begins to listen */
    assert_int_equal(query(&other, HFI_OP_BREAK, "lock", "nobody:1", NULL), HF_ERR_CHANGED);
    snprintf(owner, sizeof owner, "%s:1", holder.identity.id);
    assert_int_equal(query(&other, HFI_OP_BREAK, "lock", owner, NULL), HF_ERR_CHANGED);
    assert_true(do_renew(&holder, "lock", UINT64_MAX, 30000));
    snprintf(owner, sizeof owner, "%s:18446744073709551615", holder.identity.id);
    assert_int_equal(query(&other, HFI_OP_BREAK, "lock", owner, NULL), HF_OK);
    assert_true(wait_restored(&holder, LONG_WAIT_MS));
    assert_false(do_renew(&holder, "lock", UINT64_MAX, 30000));
    assert_true(wait_woken(&waiter, LONG_WAIT_MS));
    assert_int_equal(query(&other, HFI_OP_BREAK, "lock", owner, NULL), HF_ERR_NOT_FOUND);
    assert_int_equal(do_try(&waiter, "lock", 1, 30000, true).verdict, HFI_GRANTED);
    assert_int_equal(query(&other, HFI_OP_BREAK, "lock", owner, NULL), HF_ERR_CHANGED);
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 2); /* the breaker is nobody */
    client_close(&holder);
    client_close(&waiter);
    client_close(&other);
}

/* A stopped holder that was broken learns of it when it goes on. */
static void break_of_a_dead_holder(void **state)
{
    struct remote dead = remote_start();
    struct client other;
    char owner[64];

    (void)state;
    client_open(&other);
    remote_do(&dead, ORDER_TRY, "lock", 1);
    snprintf(owner, sizeof owner, "%08x-0000-4000-8000-", (unsigned)dead.pid);
    remote_kill(&dead);
    assert_int_equal(query(&other, HFI_OP_BREAK, "lock", "x:1", NULL), HF_ERR_NOT_FOUND);
    client_close(&other);
}

static void announce(struct client *client, const struct hfi_announcement_item *item)
{
    struct hfi_announcement announcement = { .request.op = HFI_OP_ANNOUNCE, .count = 1 };

    announcement.items[0] = *item;
    run(client, &announcement.request);
    assert_int_equal(announcement.request.outcome, HFI_DONE);
}

static size_t read_log(char *bytes, size_t room)
{
    char name[192];
    FILE *file;
    size_t count;

    snprintf(name, sizeof name, "%s-wal", path);
    file = fopen(name, "r");
    assert_non_null(file);
    count = fread(bytes, 1, room, file);
    fclose(file);
    return count;
}

static void announcements(void **state)
{
    struct client a, b;
    struct hfi_lease lease = lease_of("lock", 1, 30000);
    struct hfi_announcement_item item = { .name = "lock", .name_len = 4, .held = true, .owner = 1 };
    struct hfi_announcement nothing = { .request.op = HFI_OP_ANNOUNCE };
    struct hf_list *list = hfi_list_new();
    struct hf_holder waiter = { .size = sizeof waiter };
    struct hf_lock lock;
    static char before[1 << 20], after[1 << 20];
    size_t count;

    (void)state;
    client_open(&a);
    client_open(&b);
    run(&a, (nothing.request.outcome = 0, &nothing.request));
    lease.request.op = HFI_OP_TRY;
    lease.tokens = 10;
    run(&a, &lease.request);
    do_try(&b, "lock", 1, 30000, true);
    item.token = lease.token + 3;
    item.held_since_ns = clock_now() - 5 * HFI_SEC;
    snprintf(item.label, sizeof item.label, "passed on");
    announce(&a, &item);
    announce(&b, &item); /* not its hold */
    item.held = false;
    item.waiters = 12;
    announce(&b, &item);
    assert_int_equal(query(&b, HFI_OP_INSPECT, "lock", NULL, list), HF_OK);
    get(list, 0, &lock);
    assert_int_equal(lock.holder.token, lease.token + 3);
    assert_string_equal(lock.holder.label, "passed on");
    assert_true(lock.holder.age_ms >= 5000);
    assert_int_equal(hf_list_waiter(list, 0, 0, &waiter), HF_OK);
    assert_int_equal(waiter.count, 12);
    count = read_log(before, sizeof before);
    announce(&b, &item); /* says the same again: nothing is written */
    assert_int_equal(read_log(after, sizeof after), count);
    assert_memory_equal(before, after, count);
    item.waiters = 13;
    announce(&b, &item);
    assert_true(read_log(after, sizeof after) > count);
    hf_list_free(list);
    client_close(&a);
    client_close(&b);
}

static void owner_id(const struct client *client, int owner, char *text)
{
    snprintf(text, 64, "%s:%d", client->identity.id, owner);
}

static void shown(const struct hf_list *list, size_t i, const char *name, const char *kind,
                  const char *state, int64_t holders, int64_t available, int64_t waiters)
{
    struct hf_lock lock;

    get(list, i, &lock);
    assert_string_equal(lock.name, name);
    assert_string_equal(lock.kind, kind);
    assert_string_equal(lock.state, state);
    assert_int_equal(lock.holders, holders);
    assert_int_equal(lock.available, available);
    assert_int_equal(lock.waiters, waiters);
}

/* Every kind under its name; what is under one name is shown as so many locks. */
static void kinds(void **state)
{
    static const char *const names[] = { "mutex", "mutex", "mutex", "fair", "write", "read" };
    struct hf_list *list = hfi_list_new();
    struct client a, b;
    char name[32];

    (void)state;
    client_open(&a);
    client_open(&b);
    for (int kind = HFI_KIND_MUTEX; kind <= HFI_KIND_READ; kind++) {
        snprintf(name, sizeof name, "a%d", kind);
        take(&a, kind, name, 1);
    }
    take(&b, HFI_KIND_WRITE, "a5", 1); /* waits */
    take(&a, HFI_KIND_READ, "a4", 1);  /* the writer's own */
    step_ok(&a, HFI_PERMITS_SET, "b", 5);
    take_some(&a, HFI_KIND_PERMITS, "b", 1, 2);
    take_some(&b, HFI_KIND_PERMITS, "b", 1, 1);
    step_ok(&a, HFI_SEMAPHORE_SET, "b", 7);
    step_ok(&a, HFI_LATCH_SET, "b", 9);
    take(&b, HFI_KIND_LATCH, "b", 1);
    step_ok(&a, HFI_LATCH_SET, "gone", 1);
    step_ok(&a, HFI_LATCH_DELETE, "gone", 0);
    step_ok(&a, HFI_STAMP_SET, "stamp", 60000);
    take_some(&b, HFI_KIND_SEMAPHORE, "c", 2, 1); /* waits for one that is not there */
    assert_int_equal(query(&b, HFI_OP_LIST, NULL, NULL, list), HF_OK);
    assert_int_equal(hf_list_count(list), 10);
    for (size_t i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "a%d", (int)i);
        shown(list, i, name, names[i], "held", 1, -1, i == 5);
    }
    shown(list, 6, "b", "permits", "held", 2, 2, 0);
    shown(list, 7, "b", "semaphore", "free", 0, 7, 0);
    shown(list, 8, "b", "latch", "free", 0, 9, 1);
    shown(list, 9, "c", "semaphore", "free", 0, -1, 1);
    hf_list_free(list);
    client_close(&a);
    client_close(&b);
}

/* Holders in the order of their coming, waiters of all kinds in the order of the line. */
static void inspect_shows_all(void **state)
{
    static const int waiting[] = { HFI_KIND_MUTEX, HFI_KIND_READ, HFI_KIND_FAIR, HFI_KIND_FAIR };
    struct hf_list *list = hfi_list_new();
    struct hf_holder person = { .size = sizeof person };
    struct client reader[3], waiter;
    char owner[64];

    (void)state;
    client_open(&waiter);
    for (int i = 2; i >= 0; i--) {
        client_open(&reader[i]);
        take(&reader[i], HFI_KIND_READ, "lock", 7);
    }
    for (uint64_t i = 0; i < 4; i++)
        take(&waiter, waiting[i], "lock", i + 1);
    assert_int_equal(query(&waiter, HFI_OP_INSPECT, "lock", NULL, list), HF_OK);
    shown(list, 0, "lock", "read", "held", 3, -1, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(hf_list_holder(list, 0, i, &person), HF_OK);
        owner_id(&reader[2 - i], 7, owner);
        assert_string_equal(person.owner, owner);
        assert_int_equal(person.token, 0);
        assert_int_equal(person.count, 1);
    }
    assert_int_equal(hf_list_holder(list, 0, 3, &person), HF_ERR_INVALID);
    hf_list_free(list);
    step_ok(&waiter, HFI_PERMITS_SET, "p", 9);
    take_some(&reader[0], HFI_KIND_PERMITS, "p", 1, 4);
    list = hfi_list_new();
    assert_int_equal(query(&waiter, HFI_OP_INSPECT, "p", NULL, list), HF_OK);
    assert_int_equal(hf_list_holder(list, 0, 0, &person), HF_OK);
    assert_int_equal(person.count, 4); /* permits */
    hf_list_free(list);
    for (int i = 0; i < 3; i++)
        client_close(&reader[i]);
    client_close(&waiter);
}

/* One of many is taken away; who writes and reads loses both. */
static void break_one_of_many(void **state)
{
    struct client a, b, writer;
    char owner[64];

    (void)state;
    client_open(&a);
    client_open(&b);
    client_open(&writer);
    take(&a, HFI_KIND_READ, "lock", 1);
    take(&a, HFI_KIND_READ, "lock", 2);
    take(&b, HFI_KIND_READ, "lock", 1);
    take(&writer, HFI_KIND_WRITE, "lock", 1);
    watch_line(&writer, HFI_KIND_WRITE, "lock", 1);
    owner_id(&a, 3, owner);
    assert_int_equal(query(&b, HFI_OP_BREAK, "lock", owner, NULL), HF_ERR_CHANGED);
    owner_id(&a, 2, owner);
    assert_int_equal(query(&b, HFI_OP_BREAK, "lock", owner, NULL), HF_OK);
    assert_true(keep(&a, HFI_KIND_READ, "lock", 1, 30000));
    assert_false(keep(&a, HFI_KIND_READ, "lock", 2, 30000));
    give(&b, HFI_KIND_READ, "lock", 1);
    assert_false(wait_woken(&writer, 20));
    owner_id(&a, 1, owner);
    assert_int_equal(query(&b, HFI_OP_BREAK, "lock", owner, NULL), HF_OK);
    assert_true(wait_woken(&writer, LONG_WAIT_MS));
    assert_int_equal(take(&writer, HFI_KIND_WRITE, "lock", 1).verdict, HFI_GRANTED);
    assert_int_equal(take(&writer, HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    owner_id(&writer, 1, owner);
    assert_int_equal(query(&b, HFI_OP_BREAK, "lock", owner, NULL), HF_OK);
    assert_false(keep(&writer, HFI_KIND_READ, "lock", 1, 30000));
    assert_false(keep(&writer, HFI_KIND_WRITE, "lock", 1, 30000));
    step_ok(&a, HFI_PERMITS_SET, "lock", 1);
    take_some(&writer, HFI_KIND_PERMITS, "lock", 1, 1);
    assert_int_equal(query(&b, HFI_OP_BREAK, "lock", owner, NULL), HF_OK);
    assert_int_equal(step_ok(&a, HFI_PERMITS_COUNT, "lock", 0).number, 1);
    client_close(&a);
    client_close(&b);
    client_close(&writer);
}

/* How many wait in each place; of a reader what is announced is the oldest hold's. */
static void announcements_of_kinds(void **state)
{
    struct hfi_announcement_item item = {
        .name = "lock", .name_len = 4, .kind = HFI_KIND_READ, .held = true, .owner = 1, .holds = 2
    };
    struct hf_list *list = hfi_list_new();
    struct hf_holder person = { .size = sizeof person };
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    take(&a, HFI_KIND_READ, "lock", 1);
    take(&a, HFI_KIND_READ, "lock", 2);
    item.held_since_ns = clock_now() - 5 * HFI_SEC;
    snprintf(item.label, sizeof item.label, "why");
    announce(&a, &item);
    take_some(&b, HFI_KIND_PERMITS, "lock", 1, 2);
    take_some(&b, HFI_KIND_PERMITS, "lock", 2, 3);
    item.kind = HFI_KIND_PERMITS;
    item.held = false;
    item.permits = 3;
    item.waiters = 6;
    announce(&b, &item);
    assert_int_equal(query(&b, HFI_OP_INSPECT, "lock", NULL, list), HF_OK);
    assert_int_equal(hf_list_holder(list, 0, 0, &person), HF_OK);
    assert_string_equal(person.label, "why");
    assert_true(person.age_ms >= 5000);
    assert_int_equal(hf_list_holder(list, 0, 1, &person), HF_OK);
    assert_string_equal(person.label, "");
    assert_int_equal(hf_list_waiter(list, 1, 0, &person), HF_OK);
    assert_int_equal(person.count, 1);
    assert_int_equal(hf_list_waiter(list, 1, 1, &person), HF_OK);
    assert_int_equal(person.count, 6);
    hf_list_free(list);
    client_close(&a);
    client_close(&b);
}

/* Many clients, many locks: found by name, each once. */
static void many(void **state)
{
    struct client clients[40];
    struct hf_list *list = hfi_list_new();
    struct hf_lock lock, before = { .name = "" };
    char name[32];

    (void)state;
    for (int i = 0; i < 40; i++)
        client_open(&clients[i]);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "lock-%03d", i);
        do_try(&clients[i % 40], name, 1, 30000, false);
        do_try(&clients[(i + 1) % 40], name, 1, 30000, i % 2);
    }
    assert_int_equal(query(&clients[0], HFI_OP_LIST, "*", NULL, list), HF_OK);
    assert_int_equal(hf_list_count(list), 200);
    for (size_t i = 0; i < 200; i++) {
        get(list, i, &lock);
        assert_true(strcmp(before.name, lock.name) < 0);
        assert_int_equal(lock.waiters, i % 2);
        assert_memory_equal(lock.holder.owner, clients[i % 40].identity.id, 36);
        before = lock;
    }
    hf_list_free(list);
    for (int i = 0; i < 40; i++)
        client_close(&clients[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(looking_at_nothing),
        T(list_shows),
        T(the_dead_are_not_shown),
        T(inspect_shows_the_line),
        T(break_takes_away),
        T(break_of_a_dead_holder),
        T(announcements),
        T(many),
        T(kinds),
        T(inspect_shows_all),
        T(break_one_of_many),
        T(announcements_of_kinds),
#undef T
    };

    return cmocka_run_group_tests_name("sqlite people", tests, NULL, NULL);
}
