/* SPDX-License-Identifier: Apache-2.0 */
/* A step that is made more than once: when, and what is said of all its tries. */
#include "unit.h"

#include "core/tries.h"

/* What the tries end with, one after another, and what is to be said; HF_OK (0) ends the list. */
struct story {
    int ends[HFI_TRIES_MAX + 1];
    unsigned made;
    int result;
};

#define U HF_ERR_UNSURE
#define R HF_ERR_UNREACHABLE

static const struct story STORIES[] = {
    { { HF_OK }, 1, HF_OK },
    { { R }, 1, R }, /* nothing was sent: the caller may try again */
    { { HF_ERR_EXISTS }, 1, HF_ERR_EXISTS },
    { { HF_ERR_UNAVAILABLE }, 1, HF_ERR_UNAVAILABLE },
    { { HF_ERR_AUTH }, 1, HF_ERR_AUTH },
    { { HF_ERR_CANCELLED }, 1, HF_ERR_CANCELLED },
    { { HF_ERR_CLOSED }, 1, HF_ERR_CLOSED },
    { { U, HF_OK }, 2, HF_OK },
    { { U, U, HF_OK }, 3, HF_OK },
    { { U, U, U, HF_OK }, 3, U },
    { { U, R, HF_OK }, 3, HF_OK },
    { { U, R, R }, 3, U },
    /* The store has looked for the serial number: the first try was not executed. */
    { { U, HF_ERR_EXISTS }, 2, HF_ERR_EXISTS },
    { { U, HF_ERR_NOT_FOUND }, 2, HF_ERR_NOT_FOUND },
    { { U, HF_ERR_CHANGED }, 2, HF_ERR_CHANGED },
    { { U, HF_ERR_STALE }, 2, HF_ERR_STALE },
    { { U, HF_ERR_INVALID }, 2, HF_ERR_INVALID },
    { { U, HF_ERR_WRONG_TYPE }, 2, HF_ERR_WRONG_TYPE },
    /* It has not: the first try may have been executed all the same. */
    { { U, HF_ERR_UNAVAILABLE }, 2, U },
    { { U, HF_ERR_STORE_FULL }, 2, U },
    { { U, HF_ERR_NO_MEMORY }, 2, U },
    { { U, HF_ERR_AUTH }, 2, U },
    { { U, HF_ERR_READ_ONLY }, 2, U },
    { { U, HF_ERR_PERMISSION }, 2, U },
    { { U, HF_ERR_PROTOCOL }, 2, U },
    { { U, HF_ERR_CANCELLED }, 2, U },
    { { U, HF_ERR_CLOSED }, 2, U },
};

static void all_stories(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(STORIES); i++) {
        const struct story *story = &STORIES[i];
        struct hfi_tries tries = { 0 };
        unsigned made = 0;

        while (hfi_tries_again(&tries, story->ends[made++]))
            assert_true(made < HFI_TRIES_MAX);
        assert_int_equal(made, story->made);
        assert_int_equal(tries.made, story->made);
        assert_int_equal(hfi_tries_result(&tries, story->ends[made - 1]), story->result);
    }
}

/* Cancelled: no further try, whatever came of this one. */
static void not_wanted_any_more(void **state)
{
    struct hfi_tries tries = { .last = true };

    (void)state;
    assert_false(hfi_tries_again(&tries, U));
    assert_int_equal(hfi_tries_result(&tries, U), U);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_stories),
        cmocka_unit_test(not_wanted_any_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
