/* SPDX-License-Identifier: Apache-2.0 */
/* Durations: against the grammar, and a computation of its own. */
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

#define BILLION UINT64_C(1000000000)

/* Digits as a number; of more than fit into 10^11, a number that is too long a time by far. */
static uint64_t number_of(const char *digits, size_t len)
{
    uint64_t number = 0;

    for (size_t i = 0; i < len && number < 100 * BILLION; i++)
        number = number * 10 + (uint64_t)(digits[i] - '0');
    return number;
}

static struct expected expect(const char *text)
{
    static const struct expected MALFORMED = { CLI_DURATION_MALFORMED, 0 };
    size_t whole_len = count_digits(text), part_len = 0;
    const char *rest = text + whole_len;
    uint64_t ms, billionths = 0;
    int64_t unit;

    if (whole_len == 0)
        return MALFORMED;
    if (*rest == '.') {
        part_len = count_digits(rest + 1);
        if (part_len == 0 || part_len > CLI_DURATION_DIGITS)
            return MALFORMED;
        billionths = number_of(rest + 1, part_len);
        for (size_t i = part_len; i < 9; i++)
            billionths *= 10;
        rest += 1 + part_len;
    }
    unit = unit_ms(rest);
    if (unit == 0)
        return MALFORMED;
    ms = number_of(text, whole_len) * (uint64_t)unit;
    ms += (billionths * (uint64_t)unit + BILLION - 1) / BILLION; /* a part of one counts */
    if (ms > CLI_DURATION_MAX_MS)
        return (struct expected){ CLI_DURATION_TOO_LONG, 0 };
    return (struct expected){ CLI_DURATION_OK, (int64_t)ms };
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
