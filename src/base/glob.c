/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"

#include <stddef.h>
#include <string.h>

#include "base/name.h"

/* Linear in practice and never exponential: only the last * is ever tried again. */
bool hfi_glob_match(const char *pattern, const char *text)
{
    const char *star = NULL, *retry = NULL;

    while (*text) {
        size_t step = hfi_utf8_length(text, strlen(text));

        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (*pattern == '?') {
            pattern++;
            text += step ? step : 1;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            size_t wide = hfi_utf8_length(retry, strlen(retry));

            pattern = star;
            retry += wide ? wide : 1;
            text = retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
