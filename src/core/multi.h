/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several locks as one hold: what is to be done next until all are there or none is, and what they are worth
 * together. The host does it: it acquires one member after another as it always does, and gives back.
 *
 *     hfi_taking_init()   the members, put in order
 *     hfi_taking_begin()  the time that there is
 *     hfi_taking_next()   TAKE: the host acquires that member, and says by hfi_taking_taken() what came of it
 *                         GIVE_BACK: the handle goes back, behind the scenes
 *                         HELD, FAILED: the end
 */
#ifndef HFI_CORE_MULTI_H
#define HFI_CORE_MULTI_H

#include "core/hold.h"

/* What a member's place in the order depends on. */
struct hfi_member {
    const char *store, *name;
};

enum hfi_taking_act { HFI_TAKE, HFI_GIVE_BACK, HFI_TAKING_HELD, HFI_TAKING_FAILED };

struct hfi_taking_step {
    enum hfi_taking_act act;
    size_t place;              /* TAKE: which member, as the program named them */
    bool once;                 /* TAKE: one attempt; else */
    hfi_time wait_ns;          /* for so long; HF_TIME_NEVER: for ever */
    struct hfi_handle *handle; /* GIVE_BACK */
    int error;                 /* FAILED */
    bool lost;                 /* FAILED: a member was lost while others were waited for */
};

/* An acquire of several, in progress. No handle is the host's before HELD. */
struct hfi_taking {
    size_t count;
    size_t next; /* so many are there: the first of the order */
    hfi_time until;
    int error;      /* it has failed: what is there goes back */
    bool once;      /* one attempt each */
    bool anew;      /* something was lost: what is there goes back, and all are taken again */
    bool lost;      /* and there was no time for that */
    bool cancelled; /* nothing more is taken */
    uint8_t order[HF_MEMBERS_MAX];             /* places, in the order in which they are taken */
    struct hfi_handle *handle[HF_MEMBERS_MAX]; /* by place; NULL: not there */
};

/* False: two members are the same lock; *ret_place is that of one of them. The members are not kept. */
bool hfi_taking_init(struct hfi_taking *taking, const struct hfi_member *members, size_t count,
                     size_t *ret_place);
void hfi_taking_begin(struct hfi_taking *taking, hfi_time now, bool once, hfi_time wait_ns);
void hfi_taking_next(struct hfi_taking *taking, hfi_time now, struct hfi_taking_step *ret_step);
/* What came of the TAKE before: HF_OK, and the handle; or an error. */
void hfi_taking_taken(struct hfi_taking *taking, int error, struct hfi_handle *handle);
/* From now on nothing more is taken: it ends in HF_ERR_CANCELLED, unless it has ended. */
void hfi_taking_cancel(struct hfi_taking *taking);

/* Of handles with a hold each, as they are at `now`: HF_HELD, HF_AT_RISK, HF_LOST or HF_RELEASED, the worst. */
int hfi_multi_state_of(struct hfi_handle *const *handles, size_t count, hfi_time now);
/* The earliest of their deadlines; 0: one is over. */
hfi_time hfi_multi_deadline_of(struct hfi_handle *const *handles, size_t count, hfi_time now);

#endif
