/* SPDX-License-Identifier: Apache-2.0 */
/* What a lock's name and a label may be: the same rule on every store. */
#ifndef HFI_BASE_NAME_H
#define HFI_BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the first character of well-formed UTF-8 (RFC 3629) in s, 0 when it is not. */
size_t hfi_utf8_length(const char *s, size_t len);
/* UTF-8 without control characters (C0, DEL, C1)? Empty text passes. */
bool hfi_text_ok(const char *s, size_t len);
/* HF_OK, or HF_ERR_NAME. */
int hfi_name_check(const char *name, size_t len);
/* HF_OK, or HF_ERR_LABEL. */
int hfi_label_check(const char *label, size_t len);

#endif
