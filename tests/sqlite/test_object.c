/* SPDX-License-Identifier: Apache-2.0 */
/* Steps with numbers: answers, limits, repetitions; stamps, ends, and what a reboot leaves. */
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "store/sqlite/sqlite.h"

static void refused(struct client *client, enum hfi_verb verb, int64_t number, int error)
{
    struct hfi_object object = step(client, verb, "name", number, 9000);

    assert_int_equal(object.request.outcome, HFI_NOT_DONE);
    assert_int_equal(object.request.error, error);
}

static void is(struct client *client, enum hfi_verb verb, int64_t number, int64_t answer)
{
    assert_int_equal(step_ok(client, verb, "name", number).number, answer);
}

static void semaphores(void **state)
{
    struct client a;

    (void)state;
    client_open(&a);
    is(&a, HFI_SEMAPHORE_AVAILABLE, 0, 0);
    is(&a, HFI_SEMAPHORE_DRAIN, 0, 0);
    refused(&a, HFI_SEMAPHORE_RETURN, 1, HF_ERR_NOT_FOUND);
    refused(&a, HFI_SEMAPHORE_DELETE, 0, HF_ERR_NOT_FOUND);
    is(&a, HFI_SEMAPHORE_RELEASE, 2, 2);
    refused(&a, HFI_SEMAPHORE_SET, 1, HF_ERR_EXISTS);
    is(&a, HFI_SEMAPHORE_RETURN, 1, 3);
    is(&a, HFI_SEMAPHORE_ADD, -5, -2);
    is(&a, HFI_SEMAPHORE_AVAILABLE, 0, -2);
    is(&a, HFI_SEMAPHORE_DRAIN, 0, 0); /* fewer than none stay so */
    is(&a, HFI_SEMAPHORE_AVAILABLE, 0, -2);
    is(&a, HFI_SEMAPHORE_ADD, 6, 4);
    is(&a, HFI_SEMAPHORE_DRAIN, 0, 4);
    is(&a, HFI_SEMAPHORE_AVAILABLE, 0, 0);
    is(&a, HFI_SEMAPHORE_ADD, HF_COUNT_MAX, HF_COUNT_MAX);
    refused(&a, HFI_SEMAPHORE_RELEASE, 1, HF_ERR_INVALID);
    assert_non_null(strstr(a.store->detail, "at most"));
    is(&a, HFI_SEMAPHORE_ADD, -HF_COUNT_MAX, 0);
    is(&a, HFI_SEMAPHORE_ADD, -HF_COUNT_MAX, -HF_COUNT_MAX);
    refused(&a, HFI_SEMAPHORE_ADD, -1, HF_ERR_INVALID);
    step_ok(&a, HFI_SEMAPHORE_DELETE, "name", 0);
    is(&a, HFI_SEMAPHORE_ADD, -1, -1);
    client_close(&a);
}

static void unsupported(void **state)
{
    struct client a;

    (void)state;
    client_open(&a);
    for (int verb = HFI_BUCKET_GET; verb <= HFI_MAP_SIZE; verb++) {
        assert_int_equal(a.store->verbs & HFI_VERB_BIT(verb), 0);
        refused(&a, (enum hfi_verb)verb, 0, HF_ERR_UNSUPPORTED);
    }
    refused(&a, HFI_VERB_COUNT, 0, HF_ERR_UNSUPPORTED);
    for (int verb = 0; verb < HFI_BUCKET_GET; verb++)
        assert_int_not_equal(a.store->verbs & HFI_VERB_BIT(verb), 0);
    client_close(&a);
}

/* Each change is made once, however often it is sent, and answered alike; other clients' serials are others. */
static void repeated(void **state)
{
    static const struct {
        enum hfi_verb verb;
        int64_t number, answer;
    } steps[] = {
        { HFI_SEMAPHORE_SET, 5, 5 },    { HFI_SEMAPHORE_RELEASE, 2, 7 },
        { HFI_SEMAPHORE_RETURN, 1, 8 }, { HFI_SEMAPHORE_ADD, -3, 5 },
        { HFI_LATCH_SET, 3, 3 },        { HFI_LATCH_DOWN, 0, 2 },
        { HFI_LATCH_DOWN, 0, 1 },       { HFI_LATCH_DOWN, 0, 0 },
        { HFI_LATCH_SET, 9, 9 },        { HFI_PERMITS_SET, 3, 3 },
        { HFI_PERMITS_ADD, 3, 6 },      { HFI_PERMITS_RESIZE, 4, 4 },
        { HFI_SEMAPHORE_DRAIN, 0, 5 },  { HFI_SEMAPHORE_DELETE, 0, 0 },
        { HFI_LATCH_DELETE, 0, 0 },     { HFI_PERMITS_DELETE, 0, 0 },
        { HFI_STAMP_SET, 60000, 0 },    { HFI_STAMP_DELETE, 0, 0 },
    };
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    for (uint64_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        for (int times = 0; times < 3; times++) {
            struct hfi_object object = step(&a, steps[i].verb, "name", steps[i].number, i + 1);

            assert_int_equal(object.request.outcome, HFI_DONE);
            assert_int_equal(object.number, steps[i].answer);
        }
    }
    assert_int_equal(step(&b, HFI_SEMAPHORE_RELEASE, "name", 2, 2).number, 2);
    client_close(&a);
    client_close(&b);
    assert_int_equal(sql_number("SELECT count(*) FROM done"), 0); /* they go with their clients */
}

/* What was refused was not done, and may be done later under the same serial. */
static void refused_then_done(void **state)
{
    struct client a;

    (void)state;
    client_open(&a);
    assert_int_equal(step(&a, HFI_SEMAPHORE_RETURN, "name", 2, 1).request.error, HF_ERR_NOT_FOUND);
    step_ok(&a, HFI_SEMAPHORE_SET, "name", 1);
    assert_int_equal(step(&a, HFI_SEMAPHORE_RETURN, "name", 2, 1).number, 3);
    client_close(&a);
}

/* Notes do not pile up: each sees to the oldest, by their age or by their number. */
static void notes_are_trimmed(void **state)
{
    struct client a;

    (void)state;
    client_open(&a);
    for (uint64_t serial = 1; serial <= 10; serial++)
        step(&a, HFI_SEMAPHORE_RELEASE, "name", 1, serial);
    assert_int_equal(sql_number("SELECT count(*) FROM done"), 10);
    sql_number("UPDATE done SET until_ns = 1");
    for (uint64_t serial = 11; serial <= 15; serial++)
        step(&a, HFI_SEMAPHORE_RELEASE, "name", 1, serial);
    assert_int_equal(sql_number("SELECT count(*) FROM done"), 5);
    assert_int_equal(sql_number("SELECT min(serial) FROM done"), 11);
    step(&a, HFI_SEMAPHORE_RELEASE, "name", 1, HFI_SQLITE_NOTES_MAX + 13);
    assert_int_equal(sql_number("SELECT min(serial) FROM done"), 13);
    assert_int_equal(step(&a, HFI_SEMAPHORE_RELEASE, "name", 1, 13).number, 13);
    client_close(&a);
}

/* ------------------------------------------------------------------------------------------------
 * Time
 */

static void nap_ms(long ms)
{
    struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&nap, NULL);
}

static void ends(void **state)
{
    struct hfi_object object = { .request.op = HFI_OP_OBJECT,
                                 .name = "name",
                                 .name_len = 4,
                                 .verb = HFI_SEMAPHORE_SET,
                                 .number = 5,
                                 .ttl_ms = 1000 };
    struct client a;

    (void)state;
    client_open(&a);
    run(&a, &object.request);
    is(&a, HFI_SEMAPHORE_ADD, 1, 6); /* does not make it stay */
    assert_int_equal(take_some(&a, HFI_KIND_SEMAPHORE, "name", 1, 2).verdict, HFI_GRANTED);
    nap_ms(1020);
    is(&a, HFI_SEMAPHORE_AVAILABLE, 0, 0);
    refused(&a, HFI_SEMAPHORE_DELETE, 0, HF_ERR_NOT_FOUND);
    is(&a, HFI_SEMAPHORE_RELEASE, 3, 3); /* a new one, for ever */
    assert_int_equal(sql_number("SELECT count(*) FROM tally WHERE until_ns IS NULL"), 1);
    client_close(&a);
}

static void stamps(void **state)
{
    struct client a;
    struct hfi_object object;

    (void)state;
    client_open(&a);
    refused(&a, HFI_STAMP_GET, 0, HF_ERR_NOT_FOUND);
    refused(&a, HFI_STAMP_DELETE, 0, HF_ERR_NOT_FOUND);
    step_ok(&a, HFI_STAMP_SET, "name", 60000);
    nap_ms(20);
    object = step_ok(&a, HFI_STAMP_GET, "name", 0);
    assert_true(object.number >= 20 && object.number < 20000);
    assert_true(object.number2 > 40000 && object.number2 <= 60000 - 20);
    step_ok(&a, HFI_STAMP_SET, "name", 50);
    step_ok(&a, HFI_STAMP_SET, "other", 10);
    nap_ms(60);
    refused(&a, HFI_STAMP_GET, 0, HF_ERR_NOT_FOUND);
    step_ok(&a, HFI_STAMP_SET, "third", HF_WAIT_MAX_MS);
    assert_int_equal(sql_number("SELECT count(*) FROM tally"), 1); /* the others are swept out */
    assert_true(step_ok(&a, HFI_STAMP_GET, "third", 0).number2 > HF_WAIT_MAX_MS - 20000);
    client_close(&a);
}

static void write_boot(const char *name, char digit)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    fprintf(file, "%c0000000-0000-0000-0000-000000000000\n", digit);
    fclose(file);
}

/* Holds end, numbers stay; stamps are as old as the wall clock says, whatever it says. */
static void reboot(void **state)
{
    const char *real = hfi_sqlite_boot_file;
    char boot[160];
    struct client a, b;
    struct hfi_object object;

    (void)state;
    snprintf(boot, sizeof boot, "%s/boot", folder);
    write_boot(boot, '1');
    hfi_sqlite_boot_file = boot;
    client_open(&a);
    step_ok(&a, HFI_SEMAPHORE_SET, "name", 3);
    step_ok(&a, HFI_PERMITS_SET, "name", 3);
    step_ok(&a, HFI_LATCH_SET, "name", 3);
    assert_int_equal(take_some(&a, HFI_KIND_PERMITS, "name", 1, 2).verdict, HFI_GRANTED);
    assert_int_equal(take_some(&a, HFI_KIND_SEMAPHORE, "name", 2, 2).verdict, HFI_GRANTED);
    assert_int_equal(take(&a, HFI_KIND_LATCH, "name", 3).verdict, HFI_BUSY);
    step_ok(&a, HFI_STAMP_SET, "soon over", 3600 * 1000);
    step_ok(&a, HFI_STAMP_SET, "of the future", 3600 * 1000);
    step_ok(&a, HFI_STAMP_SET, "old", 3600 * 1000);
    /* The clock of the new boot begins at nothing; an hour has passed, or, by a clock set back, none. */
    sql_number("UPDATE tally SET made_ms = made_ms - 3500000, made_ns = made_ns + 1000000000000000,"
               " until_ns = until_ns + 1000000000000000 WHERE name = 'soon over'");
    sql_number("UPDATE tally SET made_ms = made_ms + 900000000 WHERE name = 'of the future'");
    sql_number("UPDATE tally SET made_ms = made_ms - 3600001 WHERE name = 'old'");
    write_boot(boot, '2');
    client_open(&b);
    object = step_ok(&b, HFI_STAMP_GET, "soon over", 0);
    assert_true(object.number >= 3500000 && object.number < 3520000);
    assert_true(object.number2 > 80000 && object.number2 <= 100000);
    object = step_ok(&b, HFI_STAMP_GET, "of the future", 0);
    assert_true(object.number < 20000);
    assert_true(object.number2 > 3580000 && object.number2 <= 3600000);
    assert_int_equal(step(&b, HFI_STAMP_GET, "old", 0, 1).request.error, HF_ERR_NOT_FOUND);
    is(&b, HFI_SEMAPHORE_AVAILABLE, 0, 1);
    is(&b, HFI_LATCH_GET, 0, 3);
    object = step_ok(&b, HFI_PERMITS_COUNT, "name", 0);
    assert_int_equal(object.number, 3);
    assert_int_equal(object.number2, 0);
    assert_int_equal(sql_number("SELECT (SELECT count(*) FROM done) + (SELECT count(*) FROM waiter)"
                                " + (SELECT count(*) FROM hold)"),
                     0);
    hfi_sqlite_boot_file = real;
    client_close(&b);
    client_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(semaphores),        T(unsupported), T(repeated), T(refused_then_done),
        T(notes_are_trimmed), T(ends),        T(stamps),   T(reboot),
#undef T
    };

    return cmocka_run_group_tests_name("sqlite object", tests, NULL, NULL);
}
