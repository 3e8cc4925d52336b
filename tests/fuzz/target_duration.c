/* SPDX-License-Identifier: Apache-2.0 */
/* Durations: against the grammar, and arithmetic that cannot overflow. */
#include "fuzz/fuzz.h"

#include "cli/duration.h"

#define TEXT_MAX 64

struct expected {
    enum cli_duration result;
    int64_t ms;
};

static size_t count_digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* The unit's length in ms; 0: it is none. */
static int64_t unit_ms(const char *s)
{
    if (strcmp(s, "ms") == 0)
        return 1;
    if (strcmp(s, "s") == 0 || *s == '\0')
        return 1000;
    if (strcmp(s, "m") == 0)
        return 60 * 1000;
    return strcmp(s, "h") == 0 ? 3600 * 1000 : 0;
}

/* The number in units of 1 / 10^9: with at most 64 characters, 30 digits decide what is too long. */
static __int128 billionths(const char *whole, size_t whole_len, const char *part, size_t part_len)
{
    __int128 value = 0;

    while (whole_len > 0 && *whole == '0') {
        whole++;
        whole_len--;
    }
    if (whole_len > 20)
        whole_len = 20; /* 10^20 of the smallest unit is too long by far */
    for (size_t i = 0; i < whole_len; i++)
        value = value * 10 + (whole[i] - '0');
    for (size_t i = 0; i < 9; i++)
        value = value * 10 + (i < part_len ? part[i] - '0' : 0);
    return value;
}

static struct expected expect(const char *text)
{
    static const struct expected MALFORMED = { CLI_DURATION_MALFORMED, 0 };
    const __int128 billion = 1000 * 1000 * 1000;
    size_t whole_len = count_digits(text), part_len = 0;
    const char *rest = text + whole_len, *part = NULL;
    __int128 total;
    int64_t unit;

    if (whole_len == 0)
        return MALFORMED;
    if (*rest == '.') {
        part = rest + 1;
        part_len = count_digits(part);
        rest = part + part_len;
        if (part_len == 0 || part_len > CLI_DURATION_DIGITS)
            return MALFORMED;
    }
    unit = unit_ms(rest);
    if (unit == 0)
        return MALFORMED;
    total = billionths(text, whole_len, part, part_len) * unit;
    total = (total + billion - 1) / billion; /* a fraction of a millisecond counts */
    if (total > CLI_DURATION_MAX_MS)
        return (struct expected){ CLI_DURATION_TOO_LONG, 0 };
    return (struct expected){ CLI_DURATION_OK, (int64_t)total };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, data + size };
    char *text = input_string(&input, 0, TEXT_MAX);
    struct expected expected = expect(text);
    int64_t ms = -1;
    enum cli_duration result = hfi_cli_duration(text, &ms);

    MUST(result == expected.result);
    MUST(ms == (result == CLI_DURATION_OK ? expected.ms : -1)); /* only written on success */
    free(text);
    return 0;
}
