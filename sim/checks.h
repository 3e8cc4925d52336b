/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold, whatever happens. The hosts tell what they do, the servers what they execute; each part keeps
 * what it needs to judge, and says what does not hold by sim_violated(). Nothing here changes what happens, so a
 * run with checks is the run without them.
 *
 *   check_claim.c    claims: that they do not overlap, that the store backs them, that they end, tokens
 *   check_owner.c    owner ids: what is sent for them, and what that comes to at the server
 *   check_script.c   what scripts do: replayed, they change nothing
 *   check_count.c    semaphores, permits, latches: that nothing is lost of what is counted
 *   check_turn.c     the order in which those who wait are served
 *   check_several.c  several locks as one (workload.h)
 *   check_wait.c     waiting: bounded, woken, truthful about why it failed
 *   check_end.c      what is left when all is quiet
 *
 * A claim is a handle that a program could have been given: from the moment the engine says so to its release.
 * Its owner id can be *excused*: a fault outside the contract has taken away what the store knew of it. Pairs
 * with an excused claim may overlap; nothing else is excused.
 */
#ifndef SIM_CHECKS_H
#define SIM_CHECKS_H

#include "coverage.h"
#include "sim.h"

/* An owner id in the store: "<client id>:<number>". As a reader it is another one, since a reader may use that of
 * its own write hold. Of a request with an object: its serial number. */
struct sim_owner {
    uint8_t kind; /* enum hfi_kind */
    uint64_t token_first, token_last;
    uint32_t passes;
    hfi_time passed_ns; /* the first of them */
    hfi_time
        bound_ns; /* no claim of it may last longer, by the process' clock: from answered requests */
    uint32_t ttl_ms;
    uint32_t in_flight;   /* tries */
    bool tried, granted;  /* as the answers said */
    bool retired;         /* a try went unanswered: only its release may be sent */
    bool released;        /* its release was sent: likewise */
    bool answered;        /* and answered */
    bool doubt;           /* some request of it was not */
    hfi_time released_ns; /* by the process' clock: since when it is to be released */
    bool fixed;
    bool excused;
    bool replayed;            /* a fault has sent one of its tries again */
    bool granted_there;       /* the server gave it the lock */
    bool released_there;      /* the server has executed a release of it, */
    hfi_time released_at;     /* at first then (true time), */
    uint64_t released_by;     /* on this connection, */
    uint64_t released_starts; /* and at this start of the server */
    unsigned lock;
    /* Of a semaphore */
    uint32_t taken;      /* permits that the store gave it */
    bool undone, kept;   /* which came back; which the caller has */
    hfi_time granted_at; /* true time */
    bool counted;        /* object: it was executed */
};

struct sim_owners {
    struct sim_owner *at; /* by number, 0 is not used; two each: as a reader, and else */
    uint64_t room, highest;
};

struct sim_claim {
    struct sim_claim *prev, *next;           /* of the process */
    struct sim_claim *lock_prev, *lock_next; /* of the lock */
    struct sim_process *process;
    struct sim_lock *lock;
    struct sim_handle *handle;
    struct hfi_hold *hold;
    uint64_t number, owner, token;
    uint8_t kind;        /* enum hfi_kind */
    uint32_t permits;    /* of a number of permits */
    uint64_t entered_by; /* who asked for it in the process, */
    uint8_t entered_kind;
    hfi_time since;      /* true time */
    hfi_time ceiling_ns; /* by the process' clock: the most that was asked for */
    hfi_time deadline_ns;
    bool inner; /* a further handle of its owner */
    bool over;  /* seen past its deadline, or lost: it may never be valid again */
    bool lost;
    bool told; /* of the loss */
    bool excused;
    bool out; /* it has ended: in no list any more */
};

/* A lock as one process waits for it. */
struct sim_gauge {
    unsigned waiters; /* calls in progress */
    unsigned pending; /* requests at the store that have to do with it */
    hfi_time
        active_ns; /* by its clock: when something was last asked, or answered, or waiting began */
    hfi_time stopped_ns; /* of the process, then */
    hfi_time tried_ns;   /* by its clock: when it last tried, */
    hfi_time listens_ns; /* and since when it hears of releases */
};

struct sim_checks {
    struct sim_timer sweep;
};

#define SIM_DRIFT_INSIDE 5000 /* ppm, each of two clocks: together one in a hundred */

/* Parsed from "<client id>:<number>"; NULL: not of a process that lives. */
struct sim_process *sim_owner_process(struct sim *sim, const char *text, size_t len,
                                      uint64_t *ret_number);
struct sim_owner *sim_owner_find(struct sim_process *process, uint64_t number, enum hfi_kind kind);
/* Of the serial number of a request with an object. */
struct sim_owner *sim_owner_make(struct sim_process *process, uint64_t number);
/* The store has executed a release of it. */
static inline void sim_check_released_there(const struct sim *sim, struct sim_owner *owner)
{
    if (!owner->released_there)
        owner->released_at = sim->world.now;
    owner->released_there = true;
}

struct sim_lock *sim_lock_find(struct sim *sim, unsigned service, const char *name, size_t len);
/* The process that permits are of, as their ids say. */
struct sim_process *sim_owner_of_permits(struct sim *sim, const char *id, size_t len,
                                         uint64_t *ret_number);
/* Does the store have it for this owner id? *ret_until is true time. */
bool sim_store_has(struct sim *sim, const struct sim_lock *lock, struct sim_process *process,
                   uint64_t number, enum hfi_kind kind, hfi_time *ret_until);
/* The store's word on a lock: false: nobody has it. *ret_until is true time. */
bool sim_store_holder(struct sim *sim, const struct sim_lock *lock,
                      struct sim_process **ret_process, uint64_t *ret_owner, hfi_time *ret_until);

/* checks.c */
void sim_check_init(struct sim_process *process);
void sim_check_fini(struct sim_process *process);
void sim_check_started(struct sim_process *process);
void sim_check_closing(struct sim_process *process);
void sim_check_ended(struct sim_process *process, bool crashed);
void sim_check_step(struct sim_process *process);
void sim_check_ticked(struct sim_process *process, hfi_time now);
void sim_check_trace(void *process, enum hf_trace_level level, const char *text);
void sim_check_drained(struct sim_process *process);

/* check_claim.c */
void sim_check_granted(struct sim_process *process, struct sim_ask *ask);
void sim_check_told(struct sim_process *process, struct sim_handle *handle, enum hfi_news news);
void sim_check_releasing(struct sim_handle *handle);
void sim_check_released(struct sim_process *process, struct sim_handle *handle, int result);
void sim_check_discarded(struct sim_handle *handle);
void sim_check_handle_freed(struct sim_handle *handle);
void sim_check_claims(struct sim_process *process);
void sim_check_drop_claims(struct sim_process *process);
void sim_check_write(struct sim *sim, struct sim_lock *lock, uint64_t token, uint64_t claim);
uint64_t sim_check_claim_of(const struct sim_handle *handle);
void sim_check_excuse(struct sim_process *process, uint64_t owner);
bool sim_claim_is_valid(const struct sim_claim *claim);

/* check_owner.c */
void sim_check_moved(struct sim_process *process, const struct sim_move *move);
void sim_check_submitted(struct sim_process *process, hfi_time now, struct hfi_request *request);
void sim_check_finished(struct sim_process *process, hfi_time now, struct hfi_request *request);
void sim_check_changed(struct sim_server *server, struct sim_conn *conn, unsigned db,
                       const struct sim_key *before, const struct sim_key *after);
/* `by` was told to end `conn`. */
void sim_check_killed(struct sim_server *server, struct sim_conn *by, struct sim_conn *conn);
/* Before and after a server loses data: those whose hold is gone are excused. */
void sim_check_losing(struct sim_server *server);
void sim_check_lost(struct sim_server *server);
/* Whoever has a lock there is excused. */
void sim_check_excuse_all(struct sim_server *server);

/* check_count.c */
/* What a semaphore gave: the caller has it, or it came too late. */
void sim_check_kept(struct sim_process *process, const struct hfi_hold *hold, bool kept);
/* A semaphore has given an owner id permits (NULL: its process is no more), and has taken them back. */
void sim_check_gave(struct sim_lock *lock, struct sim_owner *owner, uint32_t permits);
void sim_check_took_back(struct sim_lock *lock, struct sim_owner *owner);
/* A step was executed; each counts once, by its serial number. */
void sim_check_stepped(struct sim_lock *lock, struct sim_process *process, uint64_t serial,
                       enum hfi_verb verb, int64_t number);
/* What there is now: of permits those that are held, too. */
void sim_check_counted(const struct sim_lock *lock, int64_t there);
/* The count of a latch is another one (true time). */
void sim_check_latch(struct sim_lock *lock, bool open);
void sim_check_awaited(const struct sim_ask *ask);
void sim_check_counts_end(struct sim *sim);

/* check_turn.c */
/* It waits, and has a place; for so much, where several can be served at once. */
void sim_check_turn_waits(struct sim_lock *lock, const struct sim_arg *owner, int64_t units);
/* It is given so much of what is left. */
void sim_check_turn_granted(struct sim_lock *lock, const struct sim_arg *owner, int64_t units,
                            int64_t left);
void sim_check_turn_called(struct sim_lock *lock, const struct sim_arg *owner);
/* All whose texts begin so are no more. */
void sim_check_turns_end(struct sim_lock *lock, const struct sim_arg *owners);
void sim_check_turn_left(struct sim_lock *lock, const struct sim_arg *owner);
void sim_check_turns_forget(struct sim_lock *lock);

/* check_script.c */
void sim_check_ran(struct sim_server *server, const struct sim_call *call, const char *sha,
                   size_t reply_at);
/* A fault has the try of an owner id executed once more. */
void sim_check_replayed(struct sim_server *server, struct sim_lock *lock,
                        struct sim_process *process, uint64_t number);

/* check_wait.c */
void sim_check_subscribed(struct sim_server *server, struct sim_conn *conn,
                          const struct sim_arg *channel);
/* All gates of a lock: the next after `gate`, NULL: the first. */
const struct hfi_gate *sim_next_gate(const struct sim_process *process, const struct sim_lock *lock,
                                     const struct hfi_gate *gate);
/* Does it stand in the store's queue without wanting the lock? (Stores that keep one.) */
void sim_check_queued(struct sim_process *process);
void sim_check_returned(struct sim_ask *ask);
void sim_check_sent(struct sim_process *process);
void sim_check_waits(struct sim_process *process);
void sim_check_asked(struct sim_process *process, hfi_time now, struct hfi_request *request,
                     int by);
void sim_check_sweep_start(struct sim *sim);
/* The store has given the lock to someone until then (true time), or to nobody (0). */
void sim_check_lock_changed(struct sim_lock *lock, hfi_time until);

/* check_end.c */
void sim_check_quiet(struct sim *sim);

#endif
