/* SPDX-License-Identifier: Apache-2.0 */
/* The server's patterns: * ? [set] [^set] [a-z] and \ before what is meant as it is. */
#include "redis.h"

/* A set, from behind its bracket: moves *at to its closing bracket. */
static bool in_set(const char *pattern, size_t len, size_t *at, char c)
{
    bool negated = *at < len && pattern[*at] == '^', found = false;

    *at += negated;
    for (; *at < len && pattern[*at] != ']'; (*at)++) {
        if (pattern[*at] == '\\' && *at + 1 < len) {
            (*at)++;
            found |= pattern[*at] == c;
        } else if (*at + 2 < len && pattern[*at + 1] == '-') {
            char low = pattern[*at], high = pattern[*at + 2];

            found |= low <= high ? low <= c && c <= high : high <= c && c <= low;
            *at += 2;
        } else {
            found |= pattern[*at] == c;
        }
    }
    return found != negated;
}

bool sim_glob(const char *pattern, size_t pattern_len, const char *text, size_t len)
{
    size_t at = 0;

    for (; at < pattern_len; at++) {
        if (pattern[at] == '*') {
            for (size_t skip = 0; skip <= len; skip++)
                if (sim_glob(pattern + at + 1, pattern_len - at - 1, text + skip, len - skip))
                    return true;
            return false;
        }
        if (len == 0)
            return false;
        if (pattern[at] == '[') {
            at++;
            if (!in_set(pattern, pattern_len, &at, *text))
                return false;
        } else if (pattern[at] != '?') {
            if (pattern[at] == '\\' && at + 1 < pattern_len)
                at++;
            if (pattern[at] != *text)
                return false;
        }
        text++;
        len--;
    }
    return len == 0;
}
