/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers. See number.h. */
#include "cli/number.h"

bool hfi_cli_number(const char *text, size_t length, int64_t least, int64_t most,
                    int64_t *ret_number)
{
    int64_t number = 0;

    if (length == 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        int digit = text[i] - '0';

        if (digit < 0 || digit > 9 || number > (INT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    if (number < least || number > most)
        return false;
    *ret_number = number;
    return true;
}
