/* SPDX-License-Identifier: Apache-2.0 */
/* Text, names, patterns, random numbers, errors, time and traces. */
#include "unit.h"

#include "base/glob.h"
#include "base/name.h"
#include "base/time.h"
#include "base/trace.h"
#include "holdfast/holdfast.h"

/* ------------------------------------------------------------------------------------------------
 * UTF-8
 */

/* By the table of RFC 3629, section 4: the ranges of each byte of a character. */
static size_t rfc_length(const unsigned char *u, size_t len)
{
    static const struct {
        unsigned char low[4], high[4];
        size_t length;
    } ROWS[] = {
        { { 0x00 }, { 0x7f }, 1 },
        { { 0xc2, 0x80 }, { 0xdf, 0xbf }, 2 },
        { { 0xe0, 0xa0, 0x80 }, { 0xe0, 0xbf, 0xbf }, 3 },
        { { 0xe1, 0x80, 0x80 }, { 0xec, 0xbf, 0xbf }, 3 },
        { { 0xed, 0x80, 0x80 }, { 0xed, 0x9f, 0xbf }, 3 },
        { { 0xee, 0x80, 0x80 }, { 0xef, 0xbf, 0xbf }, 3 },
        { { 0xf0, 0x90, 0x80, 0x80 }, { 0xf0, 0xbf, 0xbf, 0xbf }, 4 },
        { { 0xf1, 0x80, 0x80, 0x80 }, { 0xf3, 0xbf, 0xbf, 0xbf }, 4 },
        { { 0xf4, 0x80, 0x80, 0x80 }, { 0xf4, 0x8f, 0xbf, 0xbf }, 4 },
    };

    for (size_t row = 0; row < UNIT_COUNT(ROWS); row++) {
        size_t i = 0;

        while (i < ROWS[row].length && i < len && u[i] >= ROWS[row].low[i] &&
               u[i] <= ROWS[row].high[i])
            i++;
        if (i == ROWS[row].length)
            return i;
    }
    return 0;
}

/* Every two bytes, and every kind of byte in the third and fourth place; in every length. */
static void utf8_as_the_standard_says(void **state)
{
    static const unsigned char EDGES[] = { 0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f,
                                           0xa0, 0xbf, 0xc0, 0xc2, 0xed, 0xff };

    (void)state;
    assert_int_equal(hfi_utf8_length("", 0), 0);
    for (unsigned first = 0; first < 0x10000; first++) {
        for (size_t i = 0; i < UNIT_COUNT(EDGES) * UNIT_COUNT(EDGES); i++) {
            unsigned char u[4] = { (unsigned char)(first >> 8), (unsigned char)first,
                                   EDGES[i / UNIT_COUNT(EDGES)], EDGES[i % UNIT_COUNT(EDGES)] };

            for (size_t len = 1; len <= 4; len++)
                if (hfi_utf8_length((const char *)u, len) != rfc_length(u, len))
                    fail_msg("%02x %02x %02x %02x, %zu bytes", u[0], u[1], u[2], u[3], len);
        }
    }
}

/* Bytes past the given length are not looked at (the address sanitizer watches). */
static void utf8_looks_no_further(void **state)
{
    static const unsigned char FIRST[] = { 0xc3, 0xe2, 0xf0 };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(FIRST); i++) {
        char *s = malloc(1);

        s[0] = (char)FIRST[i];
        assert_int_equal(hfi_utf8_length(s, 1), 0);
        assert_false(hfi_text_ok(s, 1));
        free(s);
    }
}

static void controls_are_refused(void **state)
{
    char s[8];

    (void)state;
    for (unsigned c = 0; c < 0x100; c++) {
        bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
        size_t len = c < 0x80 ? 1 : 2;

        if (c < 0x80)
            s[0] = (char)c;
        else
            memcpy(s, (char[]){ (char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f)) }, 2);
        assert_int_equal(hfi_text_ok(s, len), !control);
        s[len] = 'x';
        assert_int_equal(hfi_text_ok(s, len + 1), !control); /* at the beginning */
        memmove(s + 1, s, len);
        s[0] = 'x';
        assert_int_equal(hfi_text_ok(s, len + 1), !control); /* at the end */
    }
    assert_true(hfi_text_ok("", 0));
    assert_true(hfi_text_ok("\xf0\x9f\x94\x92 \xe9\x94\x81 \xc3\xa9", 11));
}

/* ------------------------------------------------------------------------------------------------
 * Names and labels
 */

typedef int checker(const char *text, size_t len);

static void check_limit(checker *check, size_t most, int error)
{
    char *text = malloc(most + 1);

    memset(text, 'a', most + 1);
    assert_int_equal(check(text, 1), HF_OK);
    assert_int_equal(check(text, most), HF_OK);
    assert_int_equal(check(text, most + 1), error);
    memcpy(text + most - 1, "\xc3\xa9", 2); /* a character half inside */
    assert_int_equal(check(text, most), error);
    memcpy(text + most - 2, "\xc3\xa9", 2);
    assert_int_equal(check(text, most), HF_OK);
    for (size_t at = 0; at < most; at += 101) { /* NUL, wherever it is */
        memset(text, 'a', most);
        text[at] = '\0';
        assert_int_equal(check(text, most), error);
    }
    free(text);
}

static void limits_of_names_and_labels(void **state)
{
    (void)state;
    assert_int_equal(HF_NAME_MAX, 1024);
    assert_int_equal(HF_LABEL_MAX, 256);
    check_limit(hfi_name_check, HF_NAME_MAX, HF_ERR_NAME);
    check_limit(hfi_label_check, HF_LABEL_MAX, HF_ERR_LABEL);
    assert_int_equal(hfi_name_check("", 0), HF_ERR_NAME);
    assert_int_equal(hfi_label_check("", 0), HF_OK);
    assert_int_equal(hfi_name_check("a\nb", 3), HF_ERR_NAME);
    assert_int_equal(hfi_name_check(" ", 1), HF_OK);
}

/* ------------------------------------------------------------------------------------------------
 * Patterns
 */

static void glob_cases(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool match;
    } CASES[] = {
        { "", "", true },
        { "", "a", false },
        { "a", "", false },
        { "*", "", true },
        { "**", "", true },
        { "?", "", false },
        { "*", "anything at all", true },
        { "job:*", "job:", true },
        { "job:*", "job:1", true },
        { "job:*", "jobs:1", false },
        { "*:1", "job:1", true },
        { "*:1", "job:11", false },
        { "*:1", "a:11:1", true },
        { "a*b*c", "abc", true },
        { "a*b*c", "aXbYbZc", true },
        { "a*b*c", "aXcYb", false },
        { "a?c", "abc", true },
        { "a?c", "ac", false },
        { "?*?", "a", false },
        { "?*?", "ab", true },
        { "*ab", "aab", true },
        { "*aab", "aaaab", true },
        { "a*a", "a", false },
        { "[a]", "a", false }, /* everything else is itself */
        { "[a]", "[a]", true },
        { "\\*", "*", false },
        { "\\*", "\\x", true },
        { "?", "\xc3\xa9", true }, /* one character, not one byte */
        { "??", "\xc3\xa9", false },
        { "?", "\xf0\x9f\x94\x92", true },
        { "\xc3\xa9*", "\xc3\xa9tat", true },
        { "*?", "\xe9\x94\x81", true },
        { "*\xa9", "\xc3\xa9", false }, /* half a character is none */
        { "?", "\xa9", true },          /* what is not UTF-8 goes byte by byte */
        { "?\xa9?", "\xe9\xa9\xe9", true },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(CASES); i++)
        if (hfi_glob_match(CASES[i].pattern, CASES[i].text) != CASES[i].match)
            fail_msg("\"%s\" on \"%s\"", CASES[i].pattern, CASES[i].text);
}

/* The meaning, straightforward and slow. For one-byte characters. */
static bool slow_match(const char *pattern, const char *text)
{
    if (!*pattern)
        return !*text;
    if (*pattern == '*')
        return slow_match(pattern + 1, text) || (*text && slow_match(pattern, text + 1));
    return *text && (*pattern == '?' || *pattern == *text) && slow_match(pattern + 1, text + 1);
}

static void glob_against_a_slow_one(void **state)
{
    struct hfi_random random;

    (void)state;
    hfi_random_init(&random, unit_first_seed());
    for (int i = 0; i < 200000; i++) {
        char pattern[9], text[9];
        size_t m = (size_t)hfi_random_below(&random, 9), n = (size_t)hfi_random_below(&random, 9);

        for (size_t k = 0; k < m; k++)
            pattern[k] = "ab*?"[hfi_random_below(&random, 4)];
        for (size_t k = 0; k < n; k++)
            text[k] = "ab"[hfi_random_below(&random, 2)];
        pattern[m] = text[n] = '\0';
        if (hfi_glob_match(pattern, text) != slow_match(pattern, text))
            fail_msg("\"%s\" on \"%s\"", pattern, text);
    }
}

/* Patterns on which matchers that try every star again take longer than the universe lasts. */
static void glob_is_not_exponential(void **state)
{
    enum { LENGTH = 1024 };
    static char pattern[2 * LENGTH + 2], text[LENGTH + 1];

    (void)state;
    memset(text, 'a', LENGTH);
    for (size_t i = 0; i < LENGTH; i++)
        memcpy(pattern + 2 * i, "*a", 2);
    assert_true(hfi_glob_match(pattern, text));
    pattern[2 * LENGTH] = 'b';
    assert_false(hfi_glob_match(pattern, text));
    memset(pattern, '*', 2 * LENGTH);
    assert_false(hfi_glob_match(pattern, text));
    pattern[2 * LENGTH] = '\0';
    assert_true(hfi_glob_match(pattern, text));
}

/* ------------------------------------------------------------------------------------------------
 * Random numbers
 */

static void random_repeats(void **state)
{
    struct hfi_random a, b, c;
    unsigned same = 0;

    (void)state;
    hfi_random_init(&a, 5);
    hfi_random_init(&b, 5);
    hfi_random_init(&c, 6);
    for (int i = 0; i < 1000; i++) {
        uint64_t x = hfi_random_next(&a);

        assert_int_equal(x, hfi_random_next(&b));
        same += x == hfi_random_next(&c);
    }
    assert_int_equal(same, 0);
}

/* xoshiro256** from the state 1, 2, 3, 4: the first numbers of the authors' own program. */
static void random_is_the_published_one(void **state)
{
    static const uint64_t EXPECTED[] = { UINT64_C(11520), UINT64_C(0), UINT64_C(1509978240),
                                         UINT64_C(1215971899390074240) };
    struct hfi_random random = { .s = { 1, 2, 3, 4 } };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(EXPECTED); i++)
        assert_int_equal(hfi_random_next(&random), EXPECTED[i]);
}

static void random_is_in_range(void **state)
{
    static const uint64_t LIMITS[] = {
        1, 2, 3, 1000, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1, UINT64_MAX
    };
    struct hfi_random random;

    (void)state;
    hfi_random_init(&random, 1);
    assert_int_equal(hfi_random_below(&random, 0), 0);
    for (size_t i = 0; i < UNIT_COUNT(LIMITS); i++)
        for (int n = 0; n < 1000; n++)
            assert_true(hfi_random_below(&random, LIMITS[i]) < LIMITS[i]);
}

/* 96,000 throws of a die with 12 faces: chi squared with 11 degrees of freedom is above 40 once in 30,000.
 * And a limit that does not divide 2^64 by far is not bent: the lower half comes as often as the upper. */
static void random_is_even(void **state)
{
    enum { FACES = 12, THROWS = 96000, EACH = THROWS / FACES };
    const uint64_t big = UINT64_C(3) << 62;
    struct hfi_random random;
    long count[FACES] = { 0 }, low = 0, chi = 0;

    (void)state;
    hfi_random_init(&random, 2);
    for (int i = 0; i < THROWS; i++) {
        count[hfi_random_below(&random, FACES)]++;
        low += hfi_random_below(&random, big) < big / 2;
    }
    for (int i = 0; i < FACES; i++)
        chi += (count[i] - EACH) * (count[i] - EACH);
    assert_in_range(chi / EACH, 1, 40);
    assert_in_range(low, THROWS / 2 - 800, THROWS / 2 + 800);
}

/* ------------------------------------------------------------------------------------------------
 * Errors
 */

struct row {
    int value;
    enum hf_class class_;
    const char *name, *text;
};

static const struct row ROWS[] = {
#define X(name, value, class_, text) { value, HF_CLASS_##class_, #name, text },
    HF_ERRORS(X)
#undef X
};

static void errors_are_a_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(ROWS); i++) {
        assert_true(ROWS[i].value < 0);
        assert_string_equal(hf_strerror(ROWS[i].value), ROWS[i].text);
        assert_int_equal(hf_classify(ROWS[i].value), ROWS[i].class_);
        assert_null(strchr(ROWS[i].text, '\n'));
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(ROWS[i].value, ROWS[k].value);
            assert_string_not_equal(ROWS[i].text, ROWS[k].text);
        }
    }
}

/* Values are part of the ABI: a few of them, as they were first released. */
static void errors_keep_their_values(void **state)
{
    (void)state;
    assert_int_equal(HF_ERR_BUSY, -1);
    assert_int_equal(HF_ERR_UNSURE, -2);
    assert_int_equal(HF_ERR_LOST, -8);
    assert_int_equal(HF_ERR_CANCELLED, -10);
    assert_int_equal(HF_ERR_FORKED, -12);
    assert_int_equal(HF_ERR_INTERNAL, -28);
    assert_int_equal(HF_ERR_NOT_FOUND, -29);
    assert_true(UNIT_COUNT(ROWS) >= 29);
}

static void errors_unknown(void **state)
{
    static const int NUMBERS[] = { 1, 2, -1000, INT32_MAX, INT32_MIN, HF_OFF - 100 };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(NUMBERS); i++) {
        assert_string_equal(hf_strerror(NUMBERS[i]), "unknown error");
        assert_int_equal(hf_classify(NUMBERS[i]), HF_CLASS_FATAL);
    }
    assert_int_equal(hf_classify(HF_OK), HF_CLASS_OK);
    assert_string_equal(hf_strerror(HF_OK), "no error");
    assert_string_equal(hf_version(), HF_VERSION);
}

/* ------------------------------------------------------------------------------------------------
 * Time and traces
 */

static void time_ends(void **state)
{
    (void)state;
    assert_int_equal(hfi_time_add(1, 2), 3);
    assert_int_equal(hfi_time_add(HF_TIME_NEVER, 0), HF_TIME_NEVER);
    assert_int_equal(hfi_time_add(HF_TIME_NEVER, 5), HF_TIME_NEVER);
    assert_int_equal(hfi_time_add(5, HF_TIME_NEVER), HF_TIME_NEVER);
    assert_int_equal(hfi_time_add(HF_TIME_NEVER - 5, 5), HF_TIME_NEVER);
    assert_int_equal(hfi_time_add(HF_TIME_NEVER - 5, 4), HF_TIME_NEVER - 1);
    assert_int_equal(hfi_time_until(10, 9), 0);
    assert_int_equal(hfi_time_until(10, 10), 0);
    assert_int_equal(hfi_time_until(10, 12), 2);
    assert_int_equal(hfi_time_min(3, 4), 3);
    assert_int_equal(hfi_time_max(3, 4), 4);
}

struct heard {
    char text[2 * HFI_TRACE_MAX];
    enum hf_trace_level level;
    unsigned times;
};

static void hear(void *arg, enum hf_trace_level level, const char *text)
{
    struct heard *heard = arg;

    snprintf(heard->text, sizeof heard->text, "%s", text);
    heard->level = level;
    heard->times++;
}

static void traces_are_cut(void **state)
{
    struct heard heard = { .times = 0 };
    struct hfi_trace trace = { .hook = hear, .arg = &heard }, silent = { .hook = NULL };
    char big[2 * HFI_TRACE_MAX];

    (void)state;
    memset(big, 'x', sizeof big);
    big[sizeof big - 1] = '\0';
    hfi_trace(&trace, HF_TRACE_INFO, "%s %d", "a", 7);
    assert_string_equal(heard.text, "a 7");
    assert_int_equal(heard.level, HF_TRACE_INFO);
    hfi_trace(&trace, HF_TRACE_DEBUG, "%s", big);
    assert_int_equal(strlen(heard.text), HFI_TRACE_MAX - 1);
    hfi_trace(&trace, HF_TRACE_DEBUG, "%.*s", HFI_TRACE_MAX - 1, big);
    assert_int_equal(strlen(heard.text), HFI_TRACE_MAX - 1);
    assert_int_equal(heard.times, 3);
    hfi_trace(&silent, HF_TRACE_WARNING, "%s", big);
    assert_int_equal(heard.times, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_as_the_standard_says),
        cmocka_unit_test(utf8_looks_no_further),
        cmocka_unit_test(controls_are_refused),
        cmocka_unit_test(limits_of_names_and_labels),
        cmocka_unit_test(glob_cases),
        cmocka_unit_test(glob_against_a_slow_one),
        cmocka_unit_test(glob_is_not_exponential),
        cmocka_unit_test(random_repeats),
        cmocka_unit_test(random_is_the_published_one),
        cmocka_unit_test(random_is_in_range),
        cmocka_unit_test(random_is_even),
        cmocka_unit_test(errors_are_a_table),
        cmocka_unit_test(errors_keep_their_values),
        cmocka_unit_test(errors_unknown),
        cmocka_unit_test(time_ends),
        cmocka_unit_test(traces_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
