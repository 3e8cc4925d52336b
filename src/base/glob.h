/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns for people: * is any text, ? is one character (of UTF-8), everything else is itself. */
#ifndef HFI_BASE_GLOB_H
#define HFI_BASE_GLOB_H

#include <stdbool.h>

bool hfi_glob_match(const char *pattern, const char *text);

#endif
