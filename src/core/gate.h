/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gate: one name and kind as this process sees it. All acquires of both meet here; at most one of them
 * talks to the store, and a hold can be passed on without it. gate.c: who waits; front.c: what is asked of
 * the store, and when; answer.c: what a try came to; pass.c: who is next inside the process; kind.c: what
 * gates of one name, and the kinds, have to do with each other.
 *
 * Of kinds with one owner a gate has one hold at a time, and of the others (kind.c) one that is tried for,
 * and any number that it has got. A fair lock has a gate for each owner that asks, since each has a place of
 * its own in the store's queue; permits have one for each number that is asked for at once.
 */
#ifndef HFI_CORE_GATE_H
#define HFI_CORE_GATE_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "core/backoff.h"
#include "core/hold.h"

/* One acquire call in progress. Memory of the host; it fills the first part, and has it back when the
 * engine lists it as done. */
struct hfi_waiter {
    struct hfi_waiter *prev, *next; /* the gate's queue, then the engine's list of done ones */
    const char *name;               /* only read by the input that starts it */
    size_t name_len;
    uint64_t owner;     /* who asks, in this process */
    uint8_t owner_kind; /* numbers of different kinds are different owners */
    uint8_t kind;       /* enum hfi_kind */
    uint32_t permits;   /* PERMITS, SEMAPHORE */
    uint32_t ttl_ms;
    bool fixed;                /* ttl_ms is a fixed lease */
    bool once;                 /* one attempt */
    bool named;                /* the program chose the owner: others may ask for the same */
    bool direct;               /* no thread to wake: a free hold is handed over as it is */
    bool no_reentry;           /* an owner that has it is refused */
    bool prefer;               /* WRITE: new readers are to wait for it */
    hfi_time max_hold_ns;      /* 0: none */
    hfi_time wait_ns;          /* HF_TIME_NEVER: for ever */
    char *label;               /* allocated; taken over by the hold on success, else the host's */
    struct hfi_handle *handle; /* LATCH: NULL */
    void *cookie;              /* the host's, to find it by */

    struct hfi_gate *gate;
    struct hfi_hold *hold; /* its owner id in the store, when it has one and no try is in flight */
    struct hfi_hold
        *lender; /* READ: the write hold of the same owner, whose owner id it uses; pinned */
    struct hfi_timer timer;
    hfi_time queued_ns;
    uint64_t tries_before; /* gate->tries when it came: answers to later tries concern it too */
    int result;
    bool done;
    bool woken;  /* in the engine's list of waiters to wake */
    bool closed; /* LATCH: there was a count since it came */
    struct hfi_waiter *next_woken;
};

enum hfi_phase {
    HFI_PHASE_IDLE,     /* the next thing to do is to try */
    HFI_PHASE_WATCHING, /* WATCH is in flight; then, or when the timer says so, try */
    HFI_PHASE_SLEEPING, /* until a wake-up or the timer; then try */
    HFI_PHASE_PAUSED,   /* the store cannot be used: until the timer or until it can; then try */
    HFI_PHASE_YIELDING, /* RELEASE is in flight whose answer says whether others wait; then try or sleep */
    HFI_PHASE_LINGERING /* nobody waits: until the timer; then UNWATCH */
};

/* The part of a gate that only waiting needs. */
struct hfi_wait {
    struct hfi_watch watch; /* first member */
    struct hfi_watch leave; /* LEAVE */
    struct hfi_timer timer;
    struct hfi_gate *gate;
    struct hfi_backoff backoff;
    hfi_time yield_until_ns; /* wake-ups before are ignored: others go first */
    hfi_time doubt_until_ns; /* LATCH: gone, but it is not known how; 0: no doubt */
    uint64_t ticket_owner;   /* whose owner id the ticket came with, */
    uint32_t ticket_wait_ms; /* and for how long it was wanted */
    uint8_t phase;           /* enum hfi_phase */
    bool watched;            /* the store has our WATCH */
    bool watch_in_flight, leave_in_flight;
    bool wake_pending; /* news came while a try was in flight: its answer may be older */
    bool ticket;       /* the store has a ticket of ours */
};

struct hfi_gate {
    UT_hash_handle hh;
    struct hfi_hold *hold;     /* TRYING, HELD or AT_RISK; others are detached */
    struct hfi_waiter *queue;  /* in order */
    struct hfi_waiter *called; /* was woken to take a parked hold, and has not come yet */
    struct hfi_wait *wait;     /* NULL until someone waits */
    struct hfi_gate *dirty_prev, *dirty_next; /* presence.c */
    hfi_time pass_until_ns;
    /* By hfi_kind_has_many(); there are as many gates as names, so they share their place. */
    union {
        struct {
            struct hfi_many_hold *got; /* HELD or AT_RISK, in the order of the grants */
            uint32_t got_len;
        } many;
        struct {
            hfi_time turn_until_ns; /* who else waits for the name goes first after that */
            uint64_t reuse;         /* FAIR: the owner's number whose hold was given back without a
                                       doubt; 0: none */
        } one;
    };
    uint64_t tries;    /* started */
    uint64_t answered; /* the last of them that had a definite answer */
    uint64_t shown;    /* presence.c: the owner's number that people see */
    int answer;        /* what the last definite one was, if it was no grant */
    uint32_t queue_len;
    uint32_t once_len;  /* of these: that make only one attempt */
    uint32_t named_len; /* of these: with owners that the program chose */
    uint32_t passes;    /* of the present hold */
    uint32_t refs;      /* holds and announcements that need the name */
    uint16_t permits;   /* PERMITS, SEMAPHORE */
    uint16_t name_len;
    uint8_t kind;      /* enum hfi_kind */
    bool fleeting : 1; /* FAIR: of an owner that was made for one acquire: it does not come again */
    bool unsure : 1;   /* the outcome of the last try is not known */
    bool dirty : 1;    /* presence.c: changed since it was last announced */
    bool announced : 1; /* presence.c: people see something */
    char name[];        /* and its NUL; behind that what else there is in the key (kind.c) */
};

_Static_assert(HF_PERMITS_MAX <= UINT16_MAX, "a gate's permits are 16 bits");

/* gate.c */
void hfi_gate_enter(struct hfi_engine *engine, hfi_time now, struct hfi_waiter *waiter);
/* Takes a waiter out with this result, whatever it is at. */
void hfi_gate_expel(struct hfi_engine *engine, hfi_time now, struct hfi_waiter *waiter, int result);
/* The waiter is done: out of the queue, into the engine's list. */
void hfi_gate_finish(struct hfi_engine *engine, struct hfi_waiter *waiter, int result);
/* A further handle for an owner that has the hold already. */
void hfi_gate_reenter(struct hfi_engine *engine, struct hfi_hold *hold, struct hfi_waiter *waiter);
void hfi_gate_waiter_timer(struct hfi_engine *engine, hfi_time now, struct hfi_waiter *waiter);
/* The part that waiting needs: made before the first wait, so that later steps cannot fail for it. HF_OK or
 * HF_ERR_NO_MEMORY. */
int hfi_gate_make_wait(struct hfi_gate *gate);
/* Frees a gate that nothing needs. */
void hfi_gate_settle(struct hfi_engine *engine, struct hfi_gate *gate);

/* front.c */
/* Does what is next at the store. To be called after anything that may have changed that. */
void hfi_gate_drive(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate);
/* The last try was busy: watch, try again, sleep. */
void hfi_gate_wait_more(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                        const struct hfi_lease *answer);
/* A latch is gone, and how is to be seen by then. */
void hfi_gate_doubt(struct hfi_engine *engine, struct hfi_gate *gate);
/* The store has a place of ours that came with this owner id. */
void hfi_gate_ticket(struct hfi_wait *wait, uint64_t owner, uint32_t wait_ms);
/* The store cannot be used: it is left alone for a while. */
void hfi_gate_pause(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate);
void hfi_gate_watch_answered(struct hfi_engine *engine, hfi_time now, struct hfi_watch *watch);
void hfi_gate_woken(struct hfi_engine *engine, hfi_time now, struct hfi_watch *watch);
void hfi_gate_timer(struct hfi_engine *engine, hfi_time now, struct hfi_wait *wait);
/* The store works again. */
void hfi_gate_restored(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate);
/* After a release at the store that was to let others go first. */
void hfi_gate_yielded(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                      uint32_t others);

/* answer.c */
void hfi_gate_try_answered(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold);

static inline bool hfi_gate_is_owner(const struct hfi_hold *hold, const struct hfi_waiter *waiter)
{
    return hold->owner == waiter->owner && hold->owner_kind == waiter->owner_kind;
}

/* kind.c */

/* What a gate is found by: the name, and for others than mutexes a NUL, the kind, and its part. */
#define HFI_GATE_KEY_TAIL 11
struct hfi_gate_key {
    const char *at;
    size_t len;
    char room[HF_NAME_MAX + HFI_GATE_KEY_TAIL];
};
void hfi_kind_key(const struct hfi_waiter *waiter, enum hfi_kind kind, struct hfi_gate_key *key);
/* What an owner has of the name already settles it: HF_OK: it does not; a negative error. May note whose owner
 * id a reader is to use. */
int hfi_kind_admit(struct hfi_engine *engine, hfi_time now, struct hfi_waiter *waiter);
/* The valid hold of the gate that the waiter may enter again; NULL: none. */
struct hfi_hold *hfi_kind_entered(const struct hfi_gate *gate, hfi_time now,
                                  const struct hfi_waiter *waiter);
/* A hold that was granted moves over to those that the gate has got, where there can be many. */
void hfi_kind_keep(struct hfi_gate *gate, struct hfi_hold *hold);
/* The hold is no longer one of the gate's. */
void hfi_kind_drop(struct hfi_gate *gate, struct hfi_hold *hold);
/* The waiter no longer needs what it was to borrow. */
void hfi_kind_return(struct hfi_engine *engine, struct hfi_hold **lender);
/* A latch has no count: that is told to everybody who came before that try, as `error` to those for whom there
 * was one. */
void hfi_kind_open(struct hfi_engine *engine, struct hfi_gate *gate, int error);

/* Is the name waited for in this process, in another kind than this gate's? */
bool hfi_kind_is_rivalled(struct hfi_engine *engine, const struct hfi_gate *gate);

static inline bool hfi_kind_has_many(enum hfi_kind kind)
{
    return kind == HFI_KIND_READ || kind == HFI_KIND_PERMITS || kind == HFI_KIND_SEMAPHORE ||
           kind == HFI_KIND_LATCH;
}

/* Does whoever comes first get it, when its only owner lets go? */
static inline bool hfi_kind_is_raced_for(enum hfi_kind kind)
{
    return kind != HFI_KIND_FAIR && !hfi_kind_has_many(kind);
}

/* The first of those that a gate has got; NULL: none, or it is of a kind that has one at a time. */
static inline struct hfi_many_hold *hfi_gate_got(const struct hfi_gate *gate)
{
    return hfi_kind_has_many((enum hfi_kind)gate->kind) ? gate->many.got : NULL;
}

/* May its holds be passed on inside the process? */
static inline bool hfi_kind_passes(enum hfi_kind kind)
{
    return kind == HFI_KIND_MUTEX || kind == HFI_KIND_SPIN;
}

/* pass.c */
/* Gives a valid hold without claim to a waiter, with its next token. */
void hfi_pass_claim(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold,
                    struct hfi_waiter *waiter);
/* May this waiter have this hold, as far as ttl and mode go? */
bool hfi_pass_fits(const struct hfi_hold *hold, const struct hfi_waiter *waiter);
/* The claim ended: passes the hold on inside the process; false: it must go back to the store, and the
 * gate lets other processes go first if it had its share. */
bool hfi_pass_on(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold);
/* A newcomer takes a parked hold; false: it may not. */
bool hfi_pass_barge(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                    struct hfi_waiter *waiter);
/* A woken waiter has come: gives it the parked hold if that is still there. */
void hfi_pass_take(struct hfi_engine *engine, hfi_time now, struct hfi_waiter *waiter);
/* A hold of the process that nobody has at the moment. */
bool hfi_pass_parked(const struct hfi_hold *hold);
/* The called waiter, or the time of a parked hold, is gone: the next one, or back to the store. */
void hfi_pass_again(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold);

#endif
