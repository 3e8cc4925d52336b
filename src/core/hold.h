/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hold: one owner id in the store, from its first try to its last trace, and the claim on it that
 * someone in this process has. hold.c has the state machine.
 */
#ifndef HFI_CORE_HOLD_H
#define HFI_CORE_HOLD_H

#include <stdatomic.h>

#include "core/request.h"
#include "core/wheel.h"

struct hfi_engine;
struct hfi_gate;
struct hfi_waiter;
struct hfi_hold;

enum hfi_hold_state {
    HFI_HOLD_IDLE,
    HFI_HOLD_TRYING,
    HFI_HOLD_HELD,
    HFI_HOLD_AT_RISK,
    HFI_HOLD_LOST,
    HFI_HOLD_RELEASING,
    HFI_HOLD_GONE,
    HFI_HOLD_STATES
};

/* What a release came to; part of a handle, so that releasing allocates nothing. */
struct hfi_releaser {
    struct hfi_releaser *next; /* the engine's list of finished ones */
    int result;
    bool lost;      /* the hold was lost before it was released */
    bool discarded; /* the host's own: nobody is to be told */
};

/* One successful acquire call. Memory of the host; the engine links it to its hold. */
struct hfi_handle {
    struct hfi_handle *next; /* of the same hold: re-entry */
    struct hfi_hold *hold;
    uint64_t token;
    void *cookie;
    struct hfi_releaser releaser;
};

enum hfi_news { HFI_NEWS_NONE, HFI_NEWS_AT_RISK, HFI_NEWS_LOST };

/*
 * There can be 100,000 of them, so what is never there together shares its place. From the grant to the
 * release no request of the lease is in flight, and of its members
 *   token, tokens              are the next token to give and how many there are left;
 *   request.sent_ns            is that of the last confirmed request, renewals included;
 *   request.prev, request.next are for the engine's list of holds with news.
 */
struct hfi_hold {
    struct hfi_lease lease;       /* first member; owns its label */
    struct hfi_hold *prev, *next; /* the engine's list of all holds */
    struct hfi_gate *gate;        /* counted in gate->refs */
    struct hfi_hold
        *lender; /* READ: the write hold whose owner id this is; pinned until we are freed */
    struct hfi_timer timer;
    _Atomic(hfi_time) deadline_ns; /* read by any thread without the lock, as is `state` */

    hfi_time renew_ns; /* when to renew; HF_TIME_NEVER: not any more */
    hfi_time look_ns;  /* when to ask, besides; HF_TIME_NEVER: no need */

    union {
        struct hfi_waiter *waiter;     /* TRYING: on whose behalf; NULL when that one has left */
        struct hfi_releaser *releaser; /* RELEASING: who is to be told; NULL: nobody */
    };
    union {
        hfi_time ceiling_ns; /* HELD, AT_RISK: the deadline never goes past this */
        hfi_time expiry_ns;  /* RELEASING: when the store has forgotten it by itself */
    };

    /* The claim. No handles in HELD: the hold is free inside this process (parked). */
    struct hfi_handle *handles;
    uint64_t owner;    /* who, in this process */
    hfi_time since_ns; /* when the claim began */

    uint32_t pins; /* renewals in flight that point here: any number of threads can verify it */
    _Atomic(uint8_t) state; /* enum hfi_hold_state; a byte of its own: read without the lock */
    uint8_t owner_kind;
    uint8_t news; /* enum hfi_news: not yet told */
    /* Bits of one byte: only with the lock. */
    bool fixed : 1;       /* a fixed lease: never renewed */
    bool got : 1;         /* is in the gate's list */
    bool lent : 1;        /* WRITE: a read hold uses its owner id */
    bool renewing : 1;    /* in a batch of the watchdog */
    bool doubtful : 1;    /* a try or renewal was not answered */
    bool repeated : 1;    /* a release went out before and its outcome is unknown */
    bool store_knows : 1; /* RELEASING: the store may still have it */
};

/* glibc's malloc gives 8 bytes less than a multiple of 16 where pointers have 64 bits: one byte more
 * would cost 16 for each hold. */
_Static_assert(sizeof(void *) != 8 || sizeof(struct hfi_hold) <= 248, "a hold has grown");

/* Every hold of a kind with many owners (hfi_kind_has_many()) is one of these. */
struct hfi_many_hold {
    struct hfi_hold hold;                      /* first member */
    struct hfi_many_hold *got_prev, *got_next; /* the gate's list of those it has got */
};

/* A new one in IDLE with an owner id of its own; NULL: out of memory. */
struct hfi_hold *hfi_hold_new(struct hfi_engine *engine, struct hfi_gate *gate);
/* The one way to change a state: checks that the move is permitted. */
void hfi_hold_move(struct hfi_engine *engine, struct hfi_hold *hold, enum hfi_hold_state to);
/* Frees a hold that is IDLE or GONE and that nothing points to any more; else does nothing. */
void hfi_hold_settle(struct hfi_engine *engine, struct hfi_hold *hold);
/* HELD or AT_RISK, and before its deadline? */
bool hfi_hold_valid(const struct hfi_hold *hold, hfi_time now);
/* As programs are told: HF_HELD, HF_AT_RISK, HF_LOST or HF_RELEASED. */
int hfi_hold_state_at(const struct hfi_hold *hold, hfi_time now);
/* HELD or AT_RISK to LOST: tells, and opens the gate for others. */
void hfi_hold_lose(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold,
                   bool store_knows);
void hfi_hold_set_news(struct hfi_engine *engine, struct hfi_hold *hold, enum hfi_news news);
/* Anything to RELEASING, or to GONE where the store has nothing of it. */
void hfi_hold_end(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold,
                  struct hfi_releaser *releaser);
/* HELD, AT_RISK or LOST to GONE: what was granted is kept for good, and is no lease (semaphores). */
void hfi_hold_forget(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold);
void hfi_hold_release_answered(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold);
/* The store answers again: what waits to be released does so no longer. */
void hfi_hold_restored(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold);
void hfi_hold_timer(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold);

const char *hfi_hold_state_name(enum hfi_hold_state state);

static inline enum hfi_hold_state hfi_hold_state_of(const struct hfi_hold *hold)
{
    return (enum hfi_hold_state)atomic_load_explicit(&hold->state, memory_order_relaxed);
}

static inline hfi_time hfi_hold_deadline(const struct hfi_hold *hold)
{
    return atomic_load_explicit(&hold->deadline_ns, memory_order_relaxed);
}

static inline void hfi_hold_set_deadline(struct hfi_hold *hold, hfi_time deadline_ns)
{
    atomic_store_explicit(&hold->deadline_ns, deadline_ns, memory_order_relaxed);
}

static inline hfi_time hfi_hold_ttl(const struct hfi_hold *hold)
{
    return hold->lease.ttl_ms * HFI_MSEC;
}

#endif
