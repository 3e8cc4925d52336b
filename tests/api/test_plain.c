/* SPDX-License-Identifier: Apache-2.0 */
/* Errors and their classes, NULL arguments, options of a client: what needs no store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "holdfast/holdfast.h"

struct known {
    int error;
    enum hf_class class_;
    const char *text;
};

static const struct known KNOWN[] = {
#define X(name, value, class_, text) { name, HF_CLASS_##class_, text },
    HF_ERRORS(X)
#undef X
};

#define COUNT (sizeof KNOWN / sizeof KNOWN[0])

static void errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(KNOWN[i].error, -1 - (int)i); /* values never change */
        assert_string_equal(hf_strerror(KNOWN[i].error), KNOWN[i].text);
        assert_int_equal(hf_classify(KNOWN[i].error), KNOWN[i].class_);
        assert_null(strchr(KNOWN[i].text, '\n'));
    }
    assert_int_equal(HF_ERR_BUSY, -1);
    assert_int_equal(HF_ERR_NOT_FOUND, -29);
    assert_int_equal(HF_ERR_STALE, -33);
    assert_int_equal(COUNT, 33);
    assert_int_equal(hf_classify(HF_OK), HF_CLASS_OK);
    assert_true(hf_strerror(HF_OK)[0] != '\0');
    assert_string_equal(hf_strerror(1), "unknown error");
    assert_string_equal(hf_strerror(-1000), "unknown error");
    assert_int_equal(hf_classify(1), HF_CLASS_FATAL);
    assert_int_equal(hf_classify(-1000), HF_CLASS_FATAL);
    assert_string_equal(hf_strerror(INT32_MIN), "unknown error");
}

static void version(void **state)
{
    (void)state;
    assert_string_equal(hf_version(), HF_VERSION);
}

static void details(void **state)
{
    (void)state;
    assert_non_null(hf_last_error());
    assert_int_equal(hf_check(NULL), HF_ERR_INVALID);
    assert_true(hf_last_error()[0] != '\0');
    assert_null(strchr(hf_last_error(), '\n'));
}

static void nothing(void **state)
{
    struct hf_event event = { .size = sizeof event };
    hf_client *client = NULL;
    hf_hold *hold = NULL;
    hf_list *list = NULL;

    (void)state;
    assert_null(hf_close(NULL));
    assert_int_equal(hf_release(NULL), HF_OK);
    assert_int_equal(hf_release_start(NULL, NULL), HF_ERR_INVALID);
    assert_int_equal(hf_hold_verify(NULL), HF_ERR_INVALID);
    assert_int_equal(hf_acquire(NULL, "lock", NULL, &hold), HF_ERR_INVALID);
    assert_int_equal(hf_acquire_start(NULL, "lock", NULL, NULL), HF_ERR_INVALID);
    assert_int_equal(hf_cancel(NULL, NULL), HF_ERR_INVALID);
    assert_int_equal(hf_next(NULL, &event), HF_ERR_INVALID);
    assert_int_equal(hf_check(NULL), HF_ERR_INVALID);
    assert_int_equal(hf_inspect(NULL, "lock", &list), HF_ERR_INVALID);
    assert_int_equal(hf_list_locks(NULL, NULL, &list), HF_ERR_INVALID);
    assert_int_equal(hf_break(NULL, "lock", "owner"), HF_ERR_INVALID);
    assert_int_equal(hf_open("redis://h", NULL, NULL), HF_ERR_INVALID);
    assert_int_equal(hf_fd(NULL), HF_ERR_INVALID);
    assert_int_equal(hf_guard_fd(NULL), HF_ERR_INVALID);
    assert_null(hf_list_free(NULL));
    assert_int_equal(hf_list_count(NULL), 0);
    assert_null(client);
    assert_null(hold);
    assert_null(list);
}

static int open_with(const struct hf_client_options *options)
{
    hf_client *client = NULL;
    int error = hf_open("redis://127.0.0.1:1", options, &client); /* sends nothing */

    assert_int_equal(error != HF_OK, client == NULL);
    hf_close(client);
    return error;
}

static void client_options(void **state)
{
    struct {
        struct hf_client_options options;
        char more[64];
    } newer = { .options = { .size = sizeof newer } };
    struct hf_client_options old = { .size = sizeof(size_t), .op_timeout_ms = -5 };

    (void)state;
    assert_int_equal(open_with(NULL), HF_OK);
    assert_int_equal(open_with(&newer.options), HF_OK);
    assert_int_equal(open_with(&old), HF_OK); /* the rest is not read */
    old.size = 0;
    assert_int_equal(open_with(&old), HF_ERR_INVALID);
    assert_int_equal(open_with(HF_CLIENT(.op_timeout_ms = -1)), HF_ERR_INVALID);
    assert_int_equal(open_with(HF_CLIENT(.connect_timeout_ms = INT64_MAX)), HF_ERR_INVALID);
    assert_int_equal(open_with(HF_CLIENT(.close_timeout_ms = -1)), HF_ERR_INVALID);
    assert_int_equal(open_with(HF_CLIENT(.poll_ms = -1)), HF_ERR_INVALID);
    assert_int_equal(open_with(HF_CLIENT(.pass_ms = -2)), HF_ERR_INVALID);
    assert_int_equal(open_with(HF_CLIENT(.pass_count = -2)), HF_ERR_INVALID);
    assert_int_equal(open_with(HF_CLIENT(.pass_ms = HF_OFF)), HF_OK);
    assert_int_equal(open_with(HF_CLIENT(.pass_count = HF_OFF)), HF_OK);
    assert_int_equal(open_with(HF_CLIENT(.poll_ms = 1, .op_timeout_ms = 1)), HF_OK);
}

static void uris(void **state)
{
    hf_client *client = NULL;

    (void)state;
    assert_int_equal(hf_open("nosuch:thing", NULL, &client), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_open("thing", NULL, &client), HF_ERR_URI);
    assert_int_equal(hf_open(":thing", NULL, &client), HF_ERR_URI);
    assert_int_equal(hf_open("redi://h", NULL, &client),
                     HF_ERR_UNSUPPORTED); /* no part of a word */
    assert_int_equal(hf_open("unix://h", NULL, &client), HF_ERR_UNSUPPORTED);
    assert_null(client);
    assert_int_equal(hf_open("redis://me:s3cret@h:7/5", NULL, &client), HF_OK);
    assert_string_equal(hf_client_store(client), "redis://me@h:7/5");
    hf_close(client);
    assert_int_equal(hf_open("redis://[::1]:7", NULL, &client), HF_OK);
    assert_string_equal(hf_client_store(client), "redis://[::1]:7/0");
    hf_close(client);
}

/* Each client has an id of its own. */
static void ids(void **state)
{
    hf_client *a = NULL, *b = NULL;

    (void)state;
    assert_int_equal(hf_open("redis://h", NULL, &a), HF_OK);
    assert_int_equal(hf_open("redis://h", NULL, &b), HF_OK);
    assert_string_not_equal(hf_client_id(a), hf_client_id(b));
    assert_int_equal(hf_client_id(a)[14], '4'); /* version 4 */
    hf_close(a);
    hf_close(b);
}

static const struct CMUnitTest TESTS[] = {
    cmocka_unit_test(errors),         cmocka_unit_test(version), cmocka_unit_test(details),
    cmocka_unit_test(nothing),        cmocka_unit_test(uris),    cmocka_unit_test(ids),
    cmocka_unit_test(client_options),
};

int main(void)
{
    return cmocka_run_group_tests_name("plain", TESTS, NULL, NULL);
}
