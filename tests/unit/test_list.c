/* SPDX-License-Identifier: Apache-2.0 */
/* hf_list: what people are shown. */
#include "unit.h"

#include "base/list.h"

static void assert_unknown(const struct hf_holder *holder)
{
    assert_string_equal(holder->owner, "");
    assert_string_equal(holder->host, "");
    assert_string_equal(holder->user, "");
    assert_string_equal(holder->program, "");
    assert_string_equal(holder->label, "");
    assert_int_equal(holder->pid, -1);
    assert_int_equal(holder->age_ms, -1);
    assert_int_equal(holder->remaining_ms, -1);
    assert_int_equal(holder->count, -1);
    assert_int_equal(holder->token, 0);
}

static void appends_and_grows(void **state)
{
    enum { LOCKS = 100, WAITERS = 50 };
    hf_list *list = hfi_list_new();
    struct hf_lock lock = { .size = sizeof lock };
    struct hf_holder waiter = { .size = sizeof waiter };

    (void)state;
    assert_int_equal(hf_list_count(list), 0);
    for (int i = 0; i < LOCKS; i++) {
        char name[32];
        struct hfi_list_lock *added;

        snprintf(name, sizeof name, "lock-%03d-more", i);
        added = hfi_list_add(list, name, 8); /* not NUL-terminated by itself */
        assert_non_null(added);
        added->waiters = i;
        added->state = i % 2 ? HFI_LOCK_HELD : HFI_LOCK_FREE;
        for (int k = 0; k < i % WAITERS; k++)
            hfi_list_add_waiter(added)->pid = i * 1000 + k;
    }
    assert_int_equal(hf_list_count(list), LOCKS);
    for (size_t i = 0; i < LOCKS; i++) {
        char name[16];

        snprintf(name, sizeof name, "lock-%03zu", i);
        assert_int_equal(hf_list_get(list, i, &lock), HF_OK);
        assert_string_equal(lock.name, name);
        assert_string_equal(lock.state, i % 2 ? "held" : "free");
        assert_int_equal(lock.waiters, i);
        assert_unknown(&lock.holder);
        for (size_t k = 0; k < i % WAITERS; k++) {
            assert_int_equal(hf_list_waiter(list, i, k, &waiter), HF_OK);
            assert_int_equal(waiter.pid, i * 1000 + k);
            waiter.pid = -1;
            assert_unknown(&waiter);
        }
        assert_int_equal(hf_list_waiter(list, i, i % WAITERS, &waiter), HF_ERR_INVALID);
    }
    assert_null(hf_list_free(list));
}

static void refuses_what_is_not_there(void **state)
{
    hf_list *list = hfi_list_new();
    struct hf_lock lock = { .size = sizeof lock };
    struct hf_holder waiter = { .size = sizeof waiter };

    (void)state;
    assert_int_equal(hf_list_count(NULL), 0);
    assert_int_equal(hf_list_get(NULL, 0, &lock), HF_ERR_INVALID);
    assert_int_equal(hf_list_get(list, 0, &lock), HF_ERR_INVALID);
    assert_int_equal(hf_list_waiter(NULL, 0, 0, &waiter), HF_ERR_INVALID);
    assert_int_equal(hf_list_waiter(list, 0, 0, &waiter), HF_ERR_INVALID);
    hfi_list_add(list, "a", 1);
    assert_int_equal(hf_list_get(list, 0, NULL), HF_ERR_INVALID);
    assert_int_equal(hf_list_get(list, 1, &lock), HF_ERR_INVALID);
    assert_int_equal(hf_list_waiter(list, 0, 0, NULL), HF_ERR_INVALID);
    assert_int_equal(hf_list_waiter(list, 1, 0, &waiter), HF_ERR_INVALID);
    hf_list_free(list);
    assert_null(hf_list_free(NULL));
}

/* A program built against an older header has a shorter struct, one built against a newer header a longer. */
static void structs_of_other_sizes(void **state)
{
    hf_list *list = hfi_list_new();
    struct hfi_list_lock *added = hfi_list_add(list, "name", 4);
    struct {
        struct hf_lock lock;
        unsigned char more[32];
    } newer;
    struct hf_lock older;
    struct hf_holder holder;

    (void)state;
    added->state = HFI_LOCK_FOREIGN;
    added->waiters = 3;
    strcpy(hfi_list_add_waiter(added)->host, "h");

    memset(&newer, 0xaa, sizeof newer);
    newer.lock.size = sizeof newer;
    assert_int_equal(hf_list_get(list, 0, &newer.lock), HF_OK);
    assert_int_equal(newer.lock.size, sizeof newer); /* the program's, not ours */
    assert_string_equal(newer.lock.state, "foreign");
    assert_int_equal(newer.lock.waiters, 3);
    for (size_t i = 0; i < sizeof newer.more; i++)
        assert_int_equal(newer.more[i], 0xaa);

    memset(&older, 0xaa, sizeof older);
    older.size = offsetof(struct hf_lock, holder);
    assert_int_equal(hf_list_get(list, 0, &older), HF_OK);
    assert_string_equal(older.name, "name");
    assert_int_equal(older.size, offsetof(struct hf_lock, holder));
    for (size_t i = offsetof(struct hf_lock, holder); i < sizeof older; i++)
        assert_int_equal(((unsigned char *)&older)[i], 0xaa);

    memset(&holder, 0xaa, sizeof holder);
    holder.size = offsetof(struct hf_holder, user);
    assert_int_equal(hf_list_waiter(list, 0, 0, &holder), HF_OK);
    assert_string_equal(holder.host, "h");
    assert_int_equal((unsigned char)holder.user[0], 0xaa);

    holder.size = 0; /* forgotten: even `size` itself does not fit */
    assert_int_equal(hf_list_waiter(list, 0, 0, &holder), HF_ERR_INVALID);
    older.size = sizeof(size_t) - 1;
    assert_int_equal(hf_list_get(list, 0, &older), HF_ERR_INVALID);
    hf_list_free(list);
}

/* ------------------------------------------------------------------------------------------------
 * Text of holders
 */

static void check_text(size_t room, const char *from, const char *expected)
{
    char *to = malloc(room); /* exactly: the address sanitizer watches its end */

    hfi_holder_text(to, room, from, strlen(from));
    assert_string_equal(to, expected);
    free(to);
}

static void text_is_cut_between_characters(void **state)
{
    (void)state;
    check_text(1, "abc", "");
    check_text(4, "abc", "abc");
    check_text(3, "abc", "ab");
    check_text(16, "h\xc3\xa9llo", "h\xc3\xa9llo");
    check_text(3, "h\xc3\xa9llo", "h"); /* no half of it */
    check_text(4, "h\xc3\xa9llo", "h\xc3\xa9");
    check_text(4, "\xf0\x9f\x94\x92", "");
    check_text(5, "\xf0\x9f\x94\x92", "\xf0\x9f\x94\x92");
    check_text(5, "a\xe9\x94\x81z", "a\xe9\x94\x81");
}

static void text_is_made_harmless(void **state)
{
    char to[16];

    (void)state;
    check_text(16, "a\x1b[2Jb\nc\x7f", "a?[2Jb?c?");
    check_text(16,
               "\xc2\x9b"
               "m",
               "?m"); /* CSI as one character of C1 */
    check_text(16, "\xff\xfe x", "?? x");
    check_text(16, "\xc3", "?");
    check_text(16, "\xe2\x82", "??");
    check_text(16, "\xed\xa0\x80", "???"); /* a surrogate */
    check_text(3, "\x01\x02\x03", "??");
    hfi_holder_text(to, sizeof to, "a\0b", 3);
    assert_string_equal(to, "a?b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_and_grows),      cmocka_unit_test(refuses_what_is_not_there),
        cmocka_unit_test(structs_of_other_sizes), cmocka_unit_test(text_is_cut_between_characters),
        cmocka_unit_test(text_is_made_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
