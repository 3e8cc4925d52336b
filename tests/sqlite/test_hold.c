/* SPDX-License-Identifier: Apache-2.0 */
/* TRY, RELEASE, RENEW and tokens. */
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "store/sqlite/sqlite.h"

static void nap_ms(long ms)
{
    struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&nap, NULL);
}

static void grant_busy_release(void **state)
{
    struct client a, b;
    struct hfi_lease lease;

    (void)state;
    client_open(&a);
    client_open(&b);
    lease = do_try(&a, "lock", 1, 30000, false);
    assert_int_equal(lease.verdict, HFI_GRANTED);
    assert_true(lease.token > 0 && lease.token < UINT64_C(1) << 53);
    assert_int_equal(lease.tokens, 1);
    lease = do_try(&b, "lock", 1, 30000, false);
    assert_int_equal(lease.verdict, HFI_BUSY);
    assert_false(lease.ticket);
    assert_true(lease.hint_ns > 29 * HFI_SEC && lease.hint_ns <= 30 * HFI_SEC);
    assert_int_equal(do_try(&a, "lock", 2, 30000, false).verdict, HFI_BUSY);
    assert_int_equal(do_release(&b, "lock", 1).verdict, HFI_GONE);
    assert_int_equal(do_release(&a, "lock", 2).verdict, HFI_GONE);
    assert_int_equal(do_release(&a, "lock", 1).verdict, HFI_RELEASED);
    assert_int_equal(do_try(&b, "lock", 1, 30000, false).verdict, HFI_GRANTED);
    assert_int_equal(do_release(&b, "lock", 1).verdict, HFI_RELEASED);
    client_close(&a);
    client_close(&b);
}

static void repeated(void **state)
{
    struct client a;
    struct hfi_lease first, again;

    (void)state;
    client_open(&a);
    first = do_try(&a, "lock", 7, 30000, false);
    again = do_try(&a, "lock", 7, 30000, true);
    assert_int_equal(again.verdict, HFI_ALREADY);
    assert_int_equal(again.token, first.token);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 0);
    assert_int_equal(do_release(&a, "lock", 7).verdict, HFI_RELEASED);
    assert_int_equal(do_release(&a, "lock", 7).verdict, HFI_GONE);
    client_close(&a);
}

/* Before a client has tried anything it is nobody in the file. */
static void nobody_before_the_first_try(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    assert_int_equal(a.store->class_->library->liveness_fd(a.store), -1);
    assert_int_equal(do_release(&a, "lock", 1).verdict, HFI_GONE);
    assert_false(do_renew(&a, "lock", 1, 1000));
    do_leave(&a, "lock");
    do_farewell(&a);
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 0);
    assert_int_equal(life_files(), 0);
    do_try(&a, "lock", 1, 30000, false);
    assert_true(a.store->class_->library->liveness_fd(a.store) >= 0);
    do_try(&b, "lock", 1, 30000, false); /* busy, and leaves no ticket: still nobody */
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 1);
    assert_int_equal(life_files(), 1);
    client_close(&a);
    client_close(&b);
    assert_int_equal(life_files(), 0);
    assert_int_equal(
        sql_number("SELECT (SELECT count(*) FROM client) + (SELECT count(*) FROM hold)"), 0);
}

static void tokens_grow(void **state)
{
    struct client a, b;
    struct hfi_lease lease;
    uint64_t last = 0;

    (void)state;
    client_open(&a);
    client_open(&b);
    for (int i = 0; i < 10; i++) {
        struct client *client = i % 2 ? &a : &b;

        lease = lease_of("lock", (uint64_t)i, 30000);
        lease.request.op = HFI_OP_TRY;
        lease.tokens = i % 3 ? 1 : 50;
        run(client, &lease.request);
        assert_int_equal(lease.verdict, HFI_GRANTED);
        assert_int_equal(lease.tokens, i % 3 ? 1 : 50);
        assert_true(lease.token > last);
        last = lease.token + lease.tokens - 1;
        do_release(client, "lock", (uint64_t)i);
    }
    lease = lease_of("lock", 99, 30000);
    lease.request.op = HFI_OP_TRY;
    lease.tokens = UINT32_MAX;
    run(&a, &lease.request);
    assert_int_equal(lease.tokens, HFI_SQLITE_TOKENS_MAX);
    do_release(&a, "lock", 99);
    client_close(&a);
    client_close(&b);
}

/* The 32 bits of an epoch are used up: the next epoch begins, nothing else happens. */
static void epoch_is_used_up(void **state)
{
    struct client a;
    struct hfi_lease before, after;

    (void)state;
    client_open(&a);
    before = do_try(&a, "other", 1, 30000, false);
    sql_number("UPDATE meta SET tokens = 4294967294");
    assert_int_equal(do_try(&a, "x", 1, 30000, false).token, (before.token | UINT64_C(0xffffffff)));
    after = do_try(&a, "lock", 1, 30000, false);
    assert_int_equal(after.token, ((before.token >> 32) + 1) << 32 | 1);
    assert_true(do_renew(&a, "other", 1, 30000));
    sql_number("UPDATE meta SET epoch = 2097151, tokens = 4294967295");
    after = lease_of("y", 1, 30000);
    after.request.op = HFI_OP_TRY;
    run(&a, &after.request);
    assert_int_equal(after.request.outcome, HFI_NOT_DONE);
    assert_non_null(strstr(a.store->detail, "no tokens left"));
    client_close(&a);
}

static void write_boot(const char *name, char digit)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    fprintf(file, "%c0000000-0000-0000-0000-000000000000\n", digit);
    fclose(file);
}

/* A reboot frees everything, and tokens go on growing. */
static void new_boot(void **state)
{
    const char *real = hfi_sqlite_boot_file;
    char boot[160], later[160];
    struct client a, b;
    struct hfi_lease first, second;
    struct hfi_query query = { .request.op = HFI_OP_LIST };

    (void)state;
    snprintf(boot, sizeof boot, "%s/boot-1", folder);
    write_boot(boot, '1');
    snprintf(later, sizeof later, "%s/boot-2", folder);
    write_boot(later, '2');
    hfi_sqlite_boot_file = boot;
    client_open(&a);
    first = do_try(&a, "lock", 1, 30000, false);
    assert_int_equal(do_try(&a, "lock", 2, 30000, true).ticket, true);
    hfi_sqlite_boot_file = later;
    client_open(&b);
    query.list = hfi_list_new();
    run(&b, &query.request);
    assert_int_equal(query.request.outcome, HFI_DONE);
    assert_int_equal(hf_list_count(query.list), 0); /* seen without writing */
    hf_list_free(query.list);
    second = do_try(&b, "lock", 1, 30000, false);
    assert_int_equal(second.verdict, HFI_GRANTED);
    assert_true(second.token >> 32 > first.token >> 32);
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 1);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 0);
    hfi_sqlite_boot_file = real;
    client_close(&b);
    client_close(&a);
}

static void no_boot_id(void **state)
{
    const char *real = hfi_sqlite_boot_file;
    char detail[HFI_DETAIL_MAX] = "";
    struct client a;

    (void)state;
    hfi_sqlite_boot_file = "/nowhere/boot_id";
    assert_int_equal(client_open_at(&a, path, detail), HF_ERR_SYSTEM);
    assert_non_null(strstr(detail, "/nowhere/boot_id"));
    hfi_sqlite_boot_file = real;
}

/* A client lives on, its lease does not. */
static void expiry(void **state)
{
    struct client a, b;
    struct hfi_lease mine, theirs;

    (void)state;
    client_open(&a);
    client_open(&b);
    mine = do_try(&a, "lock", 1, 100, false);
    assert_int_equal(mine.verdict, HFI_GRANTED);
    assert_true(do_renew(&a, "lock", 1, 100));
    nap_ms(120);
    assert_false(do_renew(&a, "lock", 1, 30000)); /* the row is there still: it stays over */
    assert_false(do_renew(&a, "lock", 1, 0));
    assert_int_equal(sql_number("SELECT count(*) FROM hold"), 1);
    theirs = do_try(&b, "lock", 1, 30000, false);
    assert_int_equal(theirs.verdict, HFI_GRANTED);
    assert_true(theirs.token > mine.token);
    assert_false(do_renew(&a, "lock", 1, 30000));
    assert_int_equal(do_release(&a, "lock", 1).verdict, HFI_GONE);
    assert_true(do_renew(&b, "lock", 1, 30000));
    client_close(&a);
    client_close(&b);
}

static void renewal_extends(void **state)
{
    struct client a, b;
    struct hfi_lease leases[3] = { lease_of("one", 1, 30000), lease_of("two", 2, 30000),
                                   lease_of("none", 3, 30000) };
    struct hfi_renewal_item items[3];
    struct hfi_renewal renewal = { .request.op = HFI_OP_RENEW, .count = 3, .items = items };

    (void)state;
    client_open(&a);
    client_open(&b);
    do_try(&a, "one", 1, 1000, false);
    do_try(&a, "two", 2, 1000, false);
    for (int i = 0; i < 3; i++)
        items[i] = (struct hfi_renewal_item){ .lease = &leases[i],
                                              .ttl_ms = i == 1 ? 0 : 50000,
                                              .kept = i == 2 };
    run(&a, &renewal.request);
    assert_int_equal(renewal.request.outcome, HFI_DONE);
    assert_true(items[0].kept && items[1].kept);
    assert_false(items[2].kept);
    assert_true(do_try(&b, "one", 1, 1000, false).hint_ns > 49 * HFI_SEC);
    assert_true(do_try(&b, "two", 1, 1000, false).hint_ns <= HFI_SEC); /* only looked at */
    client_close(&a);
    client_close(&b);
}

/* Names and labels are text of any length that they may have; names differ by every byte. */
static void long_names(void **state)
{
    char name[HF_NAME_MAX + 1], label[HF_LABEL_MAX + 1];
    struct client a;
    struct hfi_lease lease;

    (void)state;
    memset(name, 'n', sizeof name);
    memset(label, 'l', sizeof label - 1);
    label[sizeof label - 1] = '\0';
    name[HF_NAME_MAX] = '\0';
    client_open(&a);
    lease = lease_of(name, 1, 30000);
    lease.request.op = HFI_OP_TRY;
    lease.label = label;
    run(&a, &lease.request);
    assert_int_equal(lease.verdict, HFI_GRANTED);
    name[HF_NAME_MAX - 1] = 'N';
    assert_int_equal(do_try(&a, name, 1, 30000, false).verdict, HFI_GRANTED);
    assert_int_equal(do_release(&a, name, 1).verdict, HFI_RELEASED);
    assert_int_equal(sql_number("SELECT length(label) FROM hold"), HF_LABEL_MAX);
    client_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(grant_busy_release), T(repeated), T(nobody_before_the_first_try),
        T(tokens_grow),        T(new_boot), T(epoch_is_used_up),
        T(no_boot_id),         T(expiry),   T(renewal_extends),
        T(long_names),
#undef T
    };

    return cmocka_run_group_tests_name("sqlite hold", tests, NULL, NULL);
}
