/* SPDX-License-Identifier: Apache-2.0 */
/* Locks and holders as JSON. The form is stable: docs/command.md, holdfast(1). */
#ifndef HFI_CLI_JSON_H
#define HFI_CLI_JSON_H

#include <jansson.h>

#include "holdfast/holdfast.h"

/* Text as a string, what is not UTF-8 replaced by U+FFFD. */
json_t *hfi_cli_json_text(const char *text);
/* An object, or null when there is no holder. */
json_t *hfi_cli_json_holder(const struct hf_holder *holder);
/* An array of those of the i-th lock that are known. */
json_t *hfi_cli_json_holders(const hf_list *list, size_t i);
/* The i-th lock: name, kind, state, holder, holders, holder_count, available, waiter_count. NULL: no memory. */
json_t *hfi_cli_json_lock(const hf_list *list, size_t i);
/* Prints and frees it: an exit code. NULL (no memory) is an error. */
int hfi_cli_json_print(json_t *json);

#endif
