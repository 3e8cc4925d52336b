/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog: renews holds before their time, many in one request, and says when that fails.
 * Memory for the renewals is taken when holds are made, never when they are renewed.
 */
#ifndef HFI_CORE_WATCHDOG_H
#define HFI_CORE_WATCHDOG_H

#include "core/request.h"

struct hfi_engine;
struct hfi_hold;

struct hfi_batch {
    struct hfi_renewal renewal; /* first member */
    struct hfi_batch *next;     /* the free ones */
    struct hfi_batch *next_all;
    struct hfi_renewal_item items[HFI_RENEWAL_MAX];
};

/* The items of a renewal are of one class: locks with one owner, writers, readers, permits. */
#define HFI_RENEWAL_CLASSES 4

struct hfi_watchdog {
    struct hfi_batch *all;
    struct hfi_batch *free_;
    struct hfi_batch *open[HFI_RENEWAL_CLASSES]; /* being filled in this step */
    size_t batch_count;                          /* all */
};

/* Makes sure that so many holds can be renewed. HF_OK or HF_ERR_NO_MEMORY. */
int hfi_watchdog_reserve(struct hfi_engine *engine, size_t holds);
/* Sets a hold's timer to what comes next: renewal, risk, deadline. */
void hfi_watchdog_set(struct hfi_engine *engine, struct hfi_hold *hold);
/* The timer of a hold that is HELD or AT_RISK. */
void hfi_watchdog_timer(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold);
/* A hold was granted, or renewed, by a request sent then. */
void hfi_watchdog_confirmed(struct hfi_engine *engine, struct hfi_hold *hold, hfi_time sent_ns,
                            hfi_time ttl_ns);
/* Renews every hold now, to see whether the store still has it. */
void hfi_watchdog_verify_all(struct hfi_engine *engine, hfi_time now);
void hfi_watchdog_answered(struct hfi_engine *engine, hfi_time now, struct hfi_renewal *renewal);
/* What a request of one hold's renewal would ask for now: ttl in ms, 0: only look. */
uint32_t hfi_watchdog_ttl_ms(const struct hfi_hold *hold);
/* Sends what is being filled. Called at the end of each step. */
void hfi_watchdog_flush(struct hfi_engine *engine, hfi_time now);
void hfi_watchdog_fini(struct hfi_engine *engine);

#endif
