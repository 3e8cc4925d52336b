/* SPDX-License-Identifier: Apache-2.0 */
/* Options as programs give them: of any size, with 0 for the defaults. */
#ifndef HFI_API_OPTIONS_H
#define HFI_API_OPTIONS_H

#include "holdfast/objects.h"
#include "runtime/client.h"

/* HF_OK, with the name's length; or NAME. `what` begins the message. */
int hfi_check_name(const char *name, const char *what, size_t *ret_len);
/* Says so, and returns it. */
int hfi_no_memory(void);

/* Copies what an older or newer program has filled; what it does not know is 0. HF_OK or INVALID. */
int hfi_options_copy(void *to, size_t to_size, const void *from, const char *what);

struct hfi_client_config hfi_client_defaults(void);
/* HF_OK or INVALID. */
int hfi_client_options(const struct hf_client_options *options, struct hfi_client_config *config);
/* Fills the waiter's part that options tell; the label is allocated. `fresh_owner` is used when no owner is
 * named and not `by_thread`. HF_OK, or INVALID, NAME, TTL, LABEL, UNSUPPORTED, NO_MEMORY. */
int hfi_acquire_options(const char *name, const struct hf_acquire_options *options,
                        struct hfi_waiter *waiter);
/* Name and wait of what yields no hold. HF_OK, or INVALID, NAME. */
int hfi_wait_options(const char *name, const struct hf_wait_options *options,
                     struct hfi_waiter *waiter);

/* acquire.c: the kinds of waits, from beginning to end. The label is taken over, whatever is returned. */

/* hf_acquire() with options of our own size; `multi`: what the hold is to be a part of, or NULL. */
int hfi_acquire(hf_client *client, const char *name, const struct hf_acquire_options *options,
                struct hfi_multi *multi, hf_hold **ret_hold);
/* A semaphore's or latch's wait; as hf_semaphore_acquire(). */
int hfi_wait_for(hf_client *client, struct hfi_waiter *waiter);
/* Starts an acquire, or a wait for a semaphore or latch, whose waiter is filled; `whole` may be NULL, and else
 * may have been cancelled: HF_ERR_CANCELLED. */
int hfi_start(hf_client *client, const struct hfi_waiter *waiter, struct hfi_whole *whole,
              void *cookie);

/* multi.c: the calls on a handle, for one that stands for several. */
int hfi_multi_state(const struct hfi_multi *multi);
int64_t hfi_multi_remaining_ms(const struct hfi_multi *multi);
int hfi_multi_verify(struct hfi_multi *multi);
int hfi_multi_release(struct hf_hold *whole);
int hfi_multi_release_start(struct hf_hold *whole, void *cookie);

/* hold.c */

/* Gives a hold back in the background: nobody is told. */
void hfi_hold_discard(struct hf_hold *hold);
/* A handle without a hold of its own: NULL: out of memory; freed; or an event RELEASED is made of it (HF_OK). */
struct hf_hold *hfi_handle_new(hf_client *client);
void hfi_handle_free(struct hf_hold *hold);
int hfi_handle_tell(struct hf_hold *hold, void *cookie, int result);
/* hf_release_start() for a part of a multi hold. HF_OK: it will be told; else it was freed. */
int hfi_part_release_start(struct hf_hold *hold, void *cookie);

#endif
