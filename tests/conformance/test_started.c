/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of objects.h in their form for event loops: each function, its answers and its errors. */
#include "conformance/started.h"

static void semaphores(void **state)
{
    hf_client *a = client_open();

    (void)state;
    NUMBER(a, hf_semaphore_available_start(a, "s", a), 0);
    FAILS(a, hf_semaphore_release_if_exists_start(a, "s", 1, a), HF_ERR_NOT_FOUND);
    FAILS(a, hf_semaphore_delete_start(a, "s", a), HF_ERR_NOT_FOUND);
    DONE(a, hf_semaphore_set_start(a, "s", 3, 0, a));
    FAILS(a, hf_semaphore_set_start(a, "s", 9, 0, a), HF_ERR_EXISTS);
    DONE(a, hf_semaphore_release_start(a, "s", 4, a));
    DONE(a, hf_semaphore_release_if_exists_start(a, "s", 1, a));
    DONE(a, hf_semaphore_add_start(a, "s", -2, a));
    NUMBER(a, hf_semaphore_available_start(a, "s", a), 6);
    NUMBER(a, hf_semaphore_drain_start(a, "s", a), 6);
    NUMBER(a, hf_semaphore_drain_start(a, "s", a), 0);
    DONE(a, hf_semaphore_add_start(a, "s", -2, a));
    NUMBER(a, hf_semaphore_available_start(a, "s", a), -2);
    DONE(a, hf_semaphore_add_start(a, "s", HF_COUNT_MAX, a));
    FAILS(a, hf_semaphore_add_start(a, "s", HF_COUNT_MAX, a), HF_ERR_INVALID); /* too many */
    DONE(a, hf_semaphore_delete_start(a, "s", a));
    DONE(a, hf_semaphore_set_start(a, "s", 1, 200, a));
    AWAIT(hf_semaphore_delete(a, "s") == HF_ERR_NOT_FOUND);
    hf_close(a);
}

static void permits(void **state)
{
    hf_client *a = client_open();
    hf_hold *two = NULL;

    (void)state;
    ends(a, hf_permits_count_start(a, "p", a), HF_OK, 0, 0);
    FAILS(a, hf_permits_delete_start(a, "p", a), HF_ERR_NOT_FOUND);
    DONE(a, hf_permits_set_start(a, "p", 3, a));
    FAILS(a, hf_permits_set_start(a, "p", 3, a), HF_ERR_EXISTS);
    assert_int_equal(hf_permits_acquire(a, "p", 2, NULL, &two), HF_OK);
    ends(a, hf_permits_count_start(a, "p", a), HF_OK, 1, 2);
    DONE(a, hf_permits_resize_start(a, "p", 7, a));
    DONE(a, hf_permits_add_start(a, "p", -1, a));
    ends(a, hf_permits_count_start(a, "p", a), HF_OK, 4, 2);
    give(two);
    DONE(a, hf_permits_delete_start(a, "p", a));
    hf_close(a);
}

static void latches(void **state)
{
    hf_client *a = client_open();

    (void)state;
    NUMBER(a, hf_latch_count_start(a, "l", a), 0);
    NUMBER(a, hf_latch_down_start(a, "l", a), 0);
    FAILS(a, hf_latch_delete_start(a, "l", a), HF_ERR_NOT_FOUND);
    DONE(a, hf_latch_set_start(a, "l", 5, a));
    FAILS(a, hf_latch_set_start(a, "l", 5, a), HF_ERR_EXISTS);
    NUMBER(a, hf_latch_down_start(a, "l", a), 4);
    NUMBER(a, hf_latch_count_start(a, "l", a), 4);
    DONE(a, hf_latch_delete_start(a, "l", a));
    hf_close(a);
}

static void stamps(void **state)
{
    hf_client *a = client_open();
    struct hf_event event;

    (void)state;
    FAILS(a, hf_stamp_get_start(a, "t", a), HF_ERR_NOT_FOUND);
    FAILS(a, hf_stamp_delete_start(a, "t", a), HF_ERR_NOT_FOUND);
    DONE(a, hf_stamp_set_start(a, "t", 60000, a));
    assert_int_equal(hf_stamp_get_start(a, "t", a), HF_OK);
    event = event_of(a, a);
    assert_int_equal(event.type, HF_EVENT_DONE);
    assert_in_range(event.number[0], 0, 30000);
    assert_in_range(event.number[1], 20000, 60000);
    DONE(a, hf_stamp_delete_start(a, "t", a));
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Values
 */

static bool has_values(hf_client *client)
{
    struct hf_value value = { 0 };

    return hf_bucket_get(client, "b", &value) == HF_ERR_NOT_FOUND;
}

/* Each is refused at once, and no event follows. */
static void has_none(hf_client *a)
{
    struct hf_value v = BYTES("v");

    assert_int_equal(hf_bucket_get_start(a, "b", a), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_bucket_set_start(a, "b", v, NULL, a), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_bucket_set_if_absent_start(a, "b", v, NULL, a), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_bucket_compare_and_set_start(a, "b", v, v, NULL, a), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_bucket_get_and_set_start(a, "b", v, NULL, a), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_bucket_ttl_start(a, "b", a), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_bucket_delete_start(a, "b", NULL, a), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_map_put_start(a, "m", v, v, NULL, a), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_map_put_if_absent_start(a, "m", v, v, NULL, a), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_map_get_start(a, "m", v, a), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_map_remove_start(a, "m", v, NULL, a), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_map_size_start(a, "m", a), HF_ERR_UNSUPPORTED);
    assert_non_null(strstr(hf_last_error(), "maps"));
    no_event(a);
    hf_close(a);
}

static void buckets(void **state)
{
    hf_client *a = client_open();
    struct hf_event event;

    (void)state;
    if (!has_values(a)) {
        has_none(a);
        return;
    }
    FAILS(a, hf_bucket_get_start(a, "b", a), HF_ERR_NOT_FOUND);
    FAILS(a, hf_bucket_ttl_start(a, "b", a), HF_ERR_NOT_FOUND);
    FAILS(a, hf_bucket_delete_start(a, "b", NULL, a), HF_ERR_NOT_FOUND);
    DONE(a, hf_bucket_get_and_set_start(a, "b", BYTES("one"), NULL, a)); /* nothing was there */
    GIVES(a, hf_bucket_get_and_set_start(a, "b", BYTES("t\0o"), NULL, a), "one");
    GIVES(a, hf_bucket_get_start(a, "b", a), "t\0o");
    FAILS(a, hf_bucket_set_if_absent_start(a, "b", BYTES("x"), NULL, a), HF_ERR_EXISTS);
    FAILS(a, hf_bucket_compare_and_set_start(a, "b", BYTES("x"), BYTES("y"), NULL, a),
          HF_ERR_CHANGED);
    FAILS(a, hf_bucket_compare_and_set_start(a, "b", NOTHING, BYTES("y"), NULL, a), HF_ERR_CHANGED);
    DONE(a, hf_bucket_compare_and_set_start(a, "b", BYTES("t\0o"), BYTES("y"), NULL, a));
    NUMBER(a, hf_bucket_ttl_start(a, "b", a), -1);
    DONE(a, hf_bucket_set_start(a, "b", BYTES(""), HF_VALUE(.ttl_ms = 60000), a));
    GIVES(a, hf_bucket_get_start(a, "b", a), ""); /* empty is not absent */
    assert_int_equal(hf_bucket_ttl_start(a, "b", a), HF_OK);
    event = event_of(a, a);
    assert_in_range(event.number[0], 20000, 60000);
    DONE(a, hf_bucket_delete_start(a, "b", NULL, a));
    DONE(a, hf_bucket_set_if_absent_start(a, "b", BYTES("z"), NULL, a));
    DONE(a, hf_bucket_delete_start(a, "b", NULL, a));
    DONE(a, hf_bucket_compare_and_set_start(a, "b", NOTHING, BYTES("z"), NULL, a));
    DONE(a, hf_bucket_delete_start(a, "b", NULL, a));
    hf_close(a);
}

static void maps(void **state)
{
    hf_client *a = client_open();
    struct hf_value key = BYTES("k\0y");

    (void)state;
    if (!has_values(a)) {
        hf_close(a);
        return;
    }
    FAILS(a, hf_map_get_start(a, "m", key, a), HF_ERR_NOT_FOUND);
    NUMBER(a, hf_map_size_start(a, "m", a), 0);
    DONE(a, hf_map_put_start(a, "m", key, BYTES("one"), NULL, a));
    GIVES(a, hf_map_put_start(a, "m", key, BYTES("two"), NULL, a), "one");
    FAILS(a, hf_map_put_if_absent_start(a, "m", key, BYTES("x"), NULL, a), HF_ERR_EXISTS);
    DONE(a, hf_map_put_if_absent_start(a, "m", BYTES("j"), BYTES("x"), NULL, a));
    NUMBER(a, hf_map_size_start(a, "m", a), 2);
    GIVES(a, hf_map_get_start(a, "m", key, a), "two");
    GIVES(a, hf_map_remove_start(a, "m", key, NULL, a), "two");
    FAILS(a, hf_map_remove_start(a, "m", key, NULL, a), HF_ERR_NOT_FOUND);
    GIVES(a, hf_map_remove_start(a, "m", BYTES("j"), NULL, a), "x");
    hf_close(a);
}

static void guarded(void **state)
{
    hf_client *a = client_open();

    (void)state;
    if (!has_values(a)) {
        hf_close(a);
        return;
    }
    DONE(a, hf_bucket_set_start(a, "b", BYTES("1"), HF_VALUE(.token = 20), a));
    FAILS(a, hf_bucket_set_start(a, "b", BYTES("0"), HF_VALUE(.token = 19), a), HF_ERR_STALE);
    FAILS(a, hf_bucket_get_and_set_start(a, "b", BYTES("0"), HF_VALUE(.token = 19), a),
          HF_ERR_STALE);
    FAILS(a, hf_bucket_delete_start(a, "b", HF_VALUE(.token = 19), a), HF_ERR_STALE);
    DONE(a, hf_bucket_delete_start(a, "b", HF_VALUE(.token = 21), a));
    DONE(a, hf_map_put_start(a, "m", BYTES("k"), BYTES("1"), HF_VALUE(.token = 5), a));
    FAILS(a, hf_map_put_start(a, "m", BYTES("k"), BYTES("0"), HF_VALUE(.token = 4), a),
          HF_ERR_STALE);
    FAILS(a, hf_map_remove_start(a, "m", BYTES("k"), HF_VALUE(.token = 4), a), HF_ERR_STALE);
    GIVES(a, hf_map_remove_start(a, "m", BYTES("k"), HF_VALUE(.token = 5), a), "1");
    hf_close(a);
}

/* Something else is stored under the name. */
static void wrong_types(void **state)
{
    hf_client *a = client_open();

    (void)state;
    if (!has_values(a)) {
        hf_close(a); /* there, kinds do not share names */
        return;
    }
    DONE(a, hf_map_put_start(a, "x", BYTES("k"), BYTES("1"), NULL, a));
    FAILS(a, hf_bucket_get_start(a, "x", a), HF_ERR_WRONG_TYPE);
    FAILS(a, hf_semaphore_release_start(a, "x", 1, a), HF_ERR_WRONG_TYPE);
    GIVES(a, hf_map_remove_start(a, "x", BYTES("k"), NULL, a), "1");
    DONE(a, hf_bucket_set_start(a, "x", BYTES("v"), NULL, a));
    FAILS(a, hf_map_size_start(a, "x", a), HF_ERR_WRONG_TYPE);
    DONE(a, hf_bucket_delete_start(a, "x", NULL, a));
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Arguments
 */

/* What is wrong with them is said at once, and no event follows. */
static void bad_arguments(void **state)
{
    hf_client *a = client_open();
    char big[HF_NAME_MAX + 2];

    (void)state;
    memset(big, 'n', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    assert_int_equal(hf_semaphore_release_start(NULL, "s", 1, a), HF_ERR_INVALID);
    assert_int_equal(hf_semaphore_release_start(a, "s", 0, a), HF_ERR_INVALID);
    assert_int_equal(hf_semaphore_release_start(a, "", 1, a), HF_ERR_NAME);
    assert_int_equal(hf_semaphore_release_start(a, NULL, 1, a), HF_ERR_NAME);
    assert_int_equal(hf_semaphore_delete_start(a, big, a), HF_ERR_NAME);
    assert_int_equal(hf_semaphore_set_start(a, "s", -1, 0, a), HF_ERR_INVALID);
    assert_int_equal(hf_semaphore_set_start(a, "s", 1, -1, a), HF_ERR_INVALID);
    assert_int_equal(hf_semaphore_add_start(a, "s", HF_COUNT_MAX + 1, a), HF_ERR_INVALID);
    assert_int_equal(hf_permits_set_start(a, "p", HF_COUNT_MAX + 1, a), HF_ERR_INVALID);
    assert_int_equal(hf_permits_resize_start(a, "p", -1, a), HF_ERR_INVALID);
    assert_int_equal(hf_latch_set_start(a, "l", 0, a), HF_ERR_INVALID);
    assert_int_equal(hf_stamp_set_start(a, "t", 0, a), HF_ERR_INVALID);
    assert_int_equal(hf_bucket_set_start(a, "b", NOTHING, NULL, a), HF_ERR_INVALID);
    assert_int_equal(hf_bucket_set_start(a, "b", BYTES("v"), HF_VALUE(.ttl_ms = -1), a),
                     HF_ERR_INVALID);
    assert_int_equal(hf_map_put_start(a, "m", NOTHING, BYTES("v"), NULL, a), HF_ERR_INVALID);
    assert_int_equal(hf_map_put_start(a, "m", BYTES("k"), BYTES("v"), HF_VALUE(.ttl_ms = 5), a),
                     HF_ERR_INVALID);
    no_event(a);
    hf_close(a);
}

/* They may be overwritten as soon as the call is back: by clients that have yet to connect, and so keep them. */
static void names_are_copied(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    char name[] = "first";

    (void)state;
    assert_int_equal(hf_semaphore_release_start(a, name, 5, a), HF_OK);
    memset(name, 'x', 5);
    DONE(a, HF_OK);
    assert_int_equal(hf_semaphore_delete(b, "first"), HF_OK);
    hf_close(a);
    hf_close(b);
}

static void bytes_are_copied(void **state)
{
    hf_client *a = client_open(), *b = client_open(), *c = client_open();
    char key[] = "key", value[] = "value", expected[] = "expected";
    struct hf_value k = { key, 3 }, v = { value, 5 }, e = { expected, 8 };
    struct hf_value_options options = { .size = sizeof options, .token = 7 };

    (void)state;
    if (has_values(a)) {
        assert_int_equal(hf_bucket_set(a, "c", BYTES("expected"), NULL), HF_OK);
        assert_int_equal(hf_bucket_compare_and_set_start(b, "c", e, v, &options, b), HF_OK);
        assert_int_equal(hf_map_put_start(c, "n", k, v, NULL, c), HF_OK);
        memset(key, 'x', 3);
        memset(value, 'x', 5);
        memset(expected, 'x', 8);
        memset(&options, 'x', sizeof options);
        DONE(b, HF_OK);
        DONE(c, HF_OK);
        GIVES(a, hf_bucket_get_start(a, "c", a), "value");
        GIVES(a, hf_map_remove_start(a, "n", BYTES("key"), NULL, a), "value");
        DONE(a, hf_bucket_delete_start(a, "c", HF_VALUE(.token = 7), a));
    }
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

static void large_values(void **state)
{
    enum { N = 12 };
    hf_client *a = client_open();
    char *big = calloc(1, HF_VALUE_MAX + 1);

    (void)state;
    assert_non_null(big);
    if (has_values(a)) {
        struct hf_value value = { big, HF_VALUE_MAX }, key = { big, HF_VALUE_MAX };

        value.len++;
        assert_int_equal(hf_bucket_set_start(a, "b", value, NULL, a), HF_ERR_INVALID);
        value.len--;
        for (int i = 0; i < N; i++) { /* more than a connection takes at once */
            big[0] = (char)i;
            assert_int_equal(hf_map_put_start(a, "m", key, value, NULL, a), HF_OK);
        }
        for (int i = 0; i < N; i++)
            assert_int_equal(event_of(a, a).type, HF_EVENT_DONE);
        NUMBER(a, hf_map_size_start(a, "m", a), N);
        for (int i = 0; i < N; i++) {
            big[0] = (char)i;
            gives(a, hf_map_remove_start(a, "m", key, NULL, a), big, HF_VALUE_MAX);
        }
    }
    free(big);
    hf_close(a);
}

static const struct CMUnitTest TESTS[] = {
    TEST(semaphores),       TEST(permits),          TEST(latches),
    TEST(stamps),           TEST(buckets),          TEST(maps),
    TEST(guarded),          TEST(wrong_types),      TEST(bad_arguments),
    TEST(names_are_copied), TEST(bytes_are_copied), TEST(large_values),
};

SUITE_MAIN("started", TESTS)
