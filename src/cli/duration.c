/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a duration in integers only, so that 0.1s is 100 ms and not a float near it.
 *
 * Invariant: no intermediate value overflows. The whole part stops growing past the maximum, and the
 * fraction is below 10^9, which times 3,600,000 (the largest unit) is below 2^63.
 */
#include <string.h>

#include "cli/duration.h"

static int64_t unit_ms(const char *unit)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = { { "", 1000 }, { "s", 1000 }, { "ms", 1 }, { "m", 60000 }, { "h", 3600000 } };

    for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ms;
    return 0;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

enum cli_duration hfi_cli_duration(const char *text, int64_t *ret_ms)
{
    int64_t whole = 0, fraction = 0, scale = 1, unit, ms;
    const char *s = text;

    if (!is_digit(*s))
        return CLI_DURATION_MALFORMED;
    for (; is_digit(*s); s++)
        if (whole <= CLI_DURATION_MAX_MS)
            whole = whole * 10 + (*s - '0');
    if (*s == '.') {
        const char *first = ++s;

        for (; is_digit(*s); s++) {
            if (s - first >= CLI_DURATION_DIGITS)
                return CLI_DURATION_MALFORMED;
            fraction = fraction * 10 + (*s - '0');
            scale *= 10;
        }
        if (s == first)
            return CLI_DURATION_MALFORMED;
    }
    unit = unit_ms(s);
    if (unit == 0)
        return CLI_DURATION_MALFORMED;
    if (whole > CLI_DURATION_MAX_MS / unit)
        return CLI_DURATION_TOO_LONG;
    ms = whole * unit + (fraction * unit + scale - 1) / scale;
    if (ms > CLI_DURATION_MAX_MS)
        return CLI_DURATION_TOO_LONG;
    *ret_ms = ms;
    return CLI_DURATION_OK;
}
