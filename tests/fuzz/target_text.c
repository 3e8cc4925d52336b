/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, labels, and other people's text: what is accepted, what is shown, what a pattern finds, which keys and
 * channels come of a name. Each against a second opinion that is written for plainness and not for speed.
 */
#include "fuzz/fuzz.h"

#include "base/glob.h"
#include "base/list.h"
#include "base/name.h"
#include "cli/text.h"
#include "store/redis/names.h"

#define TEXT_MAX    1100 /* more than a name may have */
#define PATTERN_MAX 48
#define SUBJECT_MAX 160

/* ------------------------------------------------------------------------------------------------
 * UTF-8, by encoding what was decoded
 */

static size_t encode(uint32_t code, unsigned char *to)
{
    if (code < 0x80) {
        to[0] = (unsigned char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (unsigned char)(0xc0 | code >> 6);
        to[1] = (unsigned char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (unsigned char)(0xe0 | code >> 12);
        to[1] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (unsigned char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (unsigned char)(0xf0 | code >> 18);
    to[1] = (unsigned char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (unsigned char)(0x80 | (code & 0x3f));
    return 4;
}

/* The first character; 0: the text does not begin with one. */
static size_t decode(const char *s, size_t len, uint32_t *ret_code)
{
    static const unsigned char MASK[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    const unsigned char *u = (const unsigned char *)s;

    for (size_t n = 1; n <= 4 && n <= len; n++) {
        uint32_t code = u[0] & MASK[n];
        unsigned char back[4];

        for (size_t i = 1; i < n; i++)
            code = code << 6 | (u[i] & 0x3f);
        if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
            continue;
        if (encode(code, back) == n && memcmp(back, u, n) == 0) {
            *ret_code = code;
            return n;
        }
    }
    return 0;
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

static bool is_text(const char *s, size_t len)
{
    for (size_t i = 0; i < len;) {
        uint32_t code = 0;
        size_t n = decode(s + i, len - i, &code);

        if (n == 0 || is_control(code))
            return false;
        i += n;
    }
    return true;
}

static bool is_utf8(const char *s)
{
    uint32_t code;
    size_t n = 1;

    for (; *s && n > 0; s += n)
        n = decode(s, strlen(s), &code);
    return n > 0;
}

static void check_utf8(const char *text, size_t len)
{
    for (size_t i = 0; i <= len; i++) {
        uint32_t code;

        MUST(hfi_utf8_length(text + i, len - i) == decode(text + i, len - i, &code));
    }
}

/* ------------------------------------------------------------------------------------------------
 * What is accepted, and what is shown
 */

static void check_accepted(const char *text, size_t len)
{
    bool ok = is_text(text, len);

    MUST(hfi_text_ok(text, len) == ok);
    MUST((hfi_name_check(text, len) == HF_OK) == (ok && len >= 1 && len <= HF_NAME_MAX));
    MUST((hfi_label_check(text, len) == HF_OK) == (ok && len <= HF_LABEL_MAX));
}

static bool is_shown_as_it_is(uint32_t code)
{
    return !is_control(code) && !(code >= 0x2028 && code <= 0x202e) &&
           !(code >= 0x2066 && code <= 0x2069);
}

/* Nothing of it does anything to a terminal. */
static bool is_clean(const char *s)
{
    uint32_t code = 0;
    size_t n;

    for (; *s; s += n) {
        n = decode(s, strlen(s), &code);
        if (n == 0 || !is_shown_as_it_is(code))
            return false;
    }
    return true;
}

static bool is_no_control(uint32_t code)
{
    return !is_control(code);
}

static bool is_anything(uint32_t code)
{
    (void)code;
    return true;
}

/* What a filter makes of a text: characters that it does not keep, and bytes that are none, are replaced. */
static char *filtered(const char *text, size_t len, size_t room, bool (*keeps)(uint32_t code),
                      const char *replacement)
{
    char *to = fuzz_alloc(room);
    size_t used = 0;

    for (size_t i = 0; i < len;) {
        uint32_t code = 0;
        size_t n = decode(text + i, len - i, &code);
        bool kept = n > 0 && keeps(code);
        size_t add = kept ? n : strlen(replacement);

        if (used + add >= room)
            break;
        memcpy(to + used, kept ? text + i : replacement, add);
        used += add;
        i += n ? n : 1;
    }
    return to;
}

static void check_filters(const char *text, size_t len, size_t room)
{
    char *to = fuzz_alloc(room), *expected;

    expected = filtered(text, len, room, is_no_control, "?");
    hfi_holder_text(to, room, text, len);
    MUST(strcmp(to, expected) == 0 && hfi_text_ok(to, strlen(to)));
    free(expected);

    expected = filtered(text, len, room, is_shown_as_it_is, "?");
    MUST(hfi_cli_clean(to, room, text) == strlen(to));
    MUST(strcmp(to, expected) == 0 && is_clean(to));
    free(expected);

    expected = filtered(text, len, room, is_anything, "\xef\xbf\xbd");
    MUST(hfi_cli_utf8(to, room, text) == strlen(to));
    MUST(strcmp(to, expected) == 0 && is_utf8(to));
    free(expected);
    free(to);
}

/* The longest beginning that fits, of whole characters. */
static void check_fit(const char *text, size_t columns)
{
    char clean[TEXT_MAX + 1], head[TEXT_MAX + 1];
    size_t fit, next;
    uint32_t code;

    hfi_cli_clean(clean, sizeof clean, text);
    fit = hfi_cli_fit(clean, columns);
    MUST(fit <= strlen(clean));
    snprintf(head, sizeof head, "%.*s", (int)fit, clean);
    MUST(is_utf8(head) && hfi_cli_width(head) <= columns);
    next = decode(clean + fit, strlen(clean + fit), &code);
    if (next == 0)
        return; /* all of it */
    snprintf(head, sizeof head, "%.*s", (int)(fit + next), clean);
    MUST(hfi_cli_width(head) > columns);
}

/* Who holds a lock, in one line; whatever the store has put there. */
static void check_holder_line(struct input *input)
{
    char line[CLI_HOLDER_ROOM], since[CLI_SINCE_ROOM], age[CLI_AGE_ROOM];
    struct hf_holder holder;
    char *members[] = { holder.owner, holder.host, holder.user, holder.program, holder.label };
    const size_t rooms[] = { sizeof holder.owner, sizeof holder.host, sizeof holder.user,
                             sizeof holder.program, sizeof holder.label };

    hfi_holder_init(&holder);
    holder.pid = (int64_t)input_number(input, 8);
    holder.age_ms = (int64_t)input_number(input, 8);
    for (unsigned i = 0; i < 5; i++) {
        char *text = input_string(input, '\n', rooms[i] - 1);

        strcpy(members[i], text);
        free(text);
    }
    MUST(strlen(hfi_cli_age(age, holder.age_ms)) < CLI_AGE_ROOM);
    MUST(strlen(hfi_cli_holder(line, &holder)) < CLI_HOLDER_ROOM && is_clean(line));
    MUST(strlen(hfi_cli_holder_since(since, &holder)) < CLI_SINCE_ROOM && is_clean(since));
}

/* ------------------------------------------------------------------------------------------------
 * Patterns
 */

static size_t step(const char *text)
{
    uint32_t code;
    size_t n = decode(text, strlen(text), &code);

    return n ? n : 1;
}

/* matches[i][j]: the pattern from i on matches the text from j on. */
static bool matches_slowly(const char *pattern, const char *text)
{
    static bool matches[PATTERN_MAX + 1][SUBJECT_MAX + 1];
    size_t p = strlen(pattern), t = strlen(text);

    for (size_t i = p + 1; i-- > 0;)
        for (size_t j = t + 1; j-- > 0;) {
            bool end = j == t;
            size_t next = end ? j : j + step(text + j);

            if (i == p)
                matches[i][j] = end;
            else if (pattern[i] == '*')
                matches[i][j] = matches[i + 1][j] || (!end && matches[i][next]);
            else if (pattern[i] == '?')
                matches[i][j] = !end && matches[i + 1][next];
            else
                matches[i][j] = !end && pattern[i] == text[j] && matches[i + 1][j + 1];
        }
    return matches[0][0];
}

static void check_pattern(const char *pattern, const char *text)
{
    bool found = hfi_glob_match(pattern, text);

    if (strlen(pattern) > PATTERN_MAX || strlen(text) > SUBJECT_MAX)
        return;
    /* A pattern that ends within a character means nothing in particular. */
    if (is_utf8(pattern) && is_utf8(text))
        MUST(found == matches_slowly(pattern, text));
    MUST(hfi_glob_match("*", text));
    MUST(strpbrk(text, "*?") || hfi_glob_match(text, text));
}

/* ------------------------------------------------------------------------------------------------
 * Keys and channels
 */

static void check_keys(const char *name, size_t len)
{
    static struct hfi_tags tags;
    char channel[HFI_CHANNEL_MAX], key[HFI_TOKEN_KEY_MAX];
    uint16_t slot;

    if (hfi_name_check(name, len) != HF_OK)
        return;
    for (int kind = 0; kind < HFI_TOPIC_COUNT; kind++)
        MUST(hfi_channel_name(channel, name, len, (enum hfi_topic)kind) <= sizeof channel);
    if (tags.origin == 0)
        hfi_tags_init(&tags);
    slot = hfi_slot(name, len);
    MUST(slot < 1 << HFI_SLOT_BITS);
    MUST(hfi_token_key(&tags, key, slot) < sizeof key && strlen(key) < sizeof key);
    MUST(hfi_slot(key, strlen(key)) == slot); /* the counter is where the lock is */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t ROOMS[] = { 1, 2, 3, 4, 5, 33, 65, HF_LABEL_MAX + 1, HF_NAME_MAX + 1 };
    struct input input = { data, data + size };
    uint32_t room = (uint32_t)ROOMS[input_below(&input, 9)], columns = input_below(&input, 256);
    struct input line = input;
    char *pattern = input_string(&input, '\n', TEXT_MAX);
    char *text = input_string(&input, 0, TEXT_MAX);
    size_t len = strlen(text);

    check_utf8(text, len);
    check_accepted(text, len);
    check_filters(text, len, room);
    check_fit(text, columns);
    check_pattern(pattern, text);
    check_keys(text, len);
    check_holder_line(&line);
    free(pattern);
    free(text);
    return 0;
}
