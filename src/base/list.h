/* SPDX-License-Identifier: Apache-2.0 */
/* hf_list: what LIST and INSPECT found. Stores append to it; the public accessors read it. */
#ifndef HFI_BASE_LIST_H
#define HFI_BASE_LIST_H

#include "holdfast/holdfast.h"

enum hfi_lock_state { HFI_LOCK_FREE, HFI_LOCK_HELD, HFI_LOCK_FOREIGN };

struct hfi_list_lock {
    char *name;
    enum hfi_lock_state state;
    const char *kind; /* as in struct hf_lock; static */
    struct hf_holder holder;
    int64_t holders, available; /* as in struct hf_lock */
    struct hf_holder *other;    /* holders but the first */
    size_t other_count, other_room;
    int64_t waiters; /* how many there are; those known one by one are in the array */
    struct hf_holder *waiter;
    size_t waiter_count, waiter_room;
};

struct hf_list {
    struct hfi_list_lock *lock;
    size_t count, room;
};

hf_list *hfi_list_new(void); /* NULL: out of memory */
/* Appends a lock, all unknown, or NULL: out of memory. Valid until the next append. */
struct hfi_list_lock *hfi_list_add(hf_list *list, const char *name, size_t name_len);
/* Appends a further holder, all unknown, or NULL: out of memory. Valid until the next append. Does not count in
 * `holders`. */
struct hf_holder *hfi_list_add_holder(struct hfi_list_lock *lock);
/* Appends a waiter, all unknown, or NULL: out of memory. Valid until the next append. */
struct hf_holder *hfi_list_add_waiter(struct hfi_list_lock *lock);
/* "Nothing known" for every member but size. */
void hfi_holder_init(struct hf_holder *holder);
/* Copies what fits into a text member of a holder, cut at a character's boundary; control characters and
 * what is not UTF-8 become '?'. */
void hfi_holder_text(char *to, size_t room, const char *from, size_t len);

#endif
