/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers as people write them. */
#ifndef HFI_CLI_NUMBER_H
#define HFI_CLI_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The `length` bytes at `text` are decimal digits, and nothing else, of a number from `least` to `most`. */
bool hfi_cli_number(const char *text, size_t length, int64_t least, int64_t most,
                    int64_t *ret_number);

#endif
