/* SPDX-License-Identifier: Apache-2.0 */
/* Options as programs give them: of any size, with 0 for the defaults. */
#ifndef HFI_API_OPTIONS_H
#define HFI_API_OPTIONS_H

#include "runtime/client.h"

/* Copies what an older or newer program has filled; what it does not know is 0. HF_OK or INVALID. */
int hfi_options_copy(void *to, size_t to_size, const void *from, const char *what);

struct hfi_client_config hfi_client_defaults(void);
/* HF_OK or INVALID. */
int hfi_client_options(const struct hf_client_options *options, struct hfi_client_config *config);
/* Fills the waiter's part that options tell; the label is allocated. `fresh_owner` is used when no owner is
 * named and not `by_thread`. HF_OK, or INVALID, NAME, TTL, LABEL, UNSUPPORTED, NO_MEMORY. */
int hfi_acquire_options(const char *name, const struct hf_acquire_options *options,
                        struct hfi_waiter *waiter);

#endif
