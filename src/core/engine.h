/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: all decisions of a client, and none of its I/O.
 *
 * One step function takes the time and one input, and changes state. What it wants done comes out in lists
 * that the host empties after each step: requests for the store, waiters that are done, waiters to wake,
 * releases that are done, holds with news. When it wants the time is a query. The host calls it under one
 * lock; it never blocks, reads no clock and draws no random numbers but from its seed. The runtime and the
 * simulator are hosts.
 */
#ifndef HFI_CORE_ENGINE_H
#define HFI_CORE_ENGINE_H

#include "base/trace.h"
#include "core/gate.h"
#include "core/limits.h"
#include "core/watchdog.h"

struct hfi_engine_config {
    hfi_time poll_ns;       /* a waiter looks again after so long, wake-ups or not */
    hfi_time pass_ns;       /* passing of one hold lasts so long; 0: there is none */
    uint32_t pass_count;    /* and at most so many times; 0: there is none */
    hfi_time op_timeout_ns; /* an answer is waited for so long */
    bool announces;         /* the store shows people what is announced */
    uint64_t seed;
    struct hfi_trace trace;
};

enum hfi_input_kind {
    HFI_INPUT_ACQUIRE, /* waiter */
    HFI_INPUT_TAKE,    /* waiter: it was woken, and is here */
    HFI_INPUT_CANCEL,  /* waiter, error */
    HFI_INPUT_RELEASE, /* handle: its releaser is listed when done, except at once for an inner handle */
    HFI_INPUT_FORGET,   /* handle: what a semaphore granted is its waiter's business from now on */
    HFI_INPUT_VERIFY,   /* renewal: of one hold, made by the host */
    HFI_INPUT_ANSWER,   /* request: finished by the store */
    HFI_INPUT_WAKE,     /* watch */
    HFI_INPUT_RESTORED, /* the store works again, or may have taken a hold away */
    HFI_INPUT_TICK,     /* only time has passed */
    HFI_INPUT_CLOSE     /* give everything back */
};

struct hfi_input {
    enum hfi_input_kind kind;
    int error;
    union {
        struct hfi_waiter *waiter;
        struct hfi_handle *handle;
        struct hfi_renewal *renewal;
        struct hfi_request *request;
        struct hfi_watch *watch;
    } u;
};

struct hfi_engine {
    struct hfi_engine_config config;
    struct hfi_random random;
    hfi_time now; /* the latest time that a step was given: it never goes back */
    struct hfi_wheel wheel;
    struct hfi_gate *gates; /* by name */
    struct hfi_hold *holds; /* all, in the order they were made */
    size_t hold_count;
    size_t active;       /* of these: those of which the store may have something */
    size_t other_gates;  /* those of other kinds than mutexes */
    size_t watched;      /* gates whose wake-ups the store reports */
    size_t leaving;      /* gates whose place in the store's queue is being given up */
    uint64_t last_owner; /* the number of the newest owner id */

    struct hfi_request *requests;  /* out: for the store */
    struct hfi_waiter *done;       /* out */
    struct hfi_waiter *woken;      /* out: threads to wake, by next_woken */
    struct hfi_releaser *released; /* out, by next */
    struct hfi_request *news;      /* out: of holds with news (hold.h) */

    struct hfi_watchdog watchdog;
    struct hfi_presence *presence; /* NULL: the store does not announce */
    hfi_time round_trip_ns;        /* the shortest seen; 0: none yet */
    hfi_time warned_ttl_ns;        /* the longest ttl that was warned about */
    bool closing;
    bool broken; /* an invariant did not hold: nothing is renewed or granted any more */
    bool shut;   /* and everybody has been told */
};

/* HF_OK or HF_ERR_NO_MEMORY. */
int hfi_engine_init(struct hfi_engine *engine, hfi_time now,
                    const struct hfi_engine_config *config);
/* Frees what the engine allocated, whatever it is at. Handles may live on: their holds are marked
 * RELEASED and freed with the last of them by hfi_engine_drop_handle(). */
void hfi_engine_fini(struct hfi_engine *engine);
void hfi_engine_step(struct hfi_engine *engine, hfi_time now, const struct hfi_input *input);
/* When a TICK is due at the latest, if no other input comes; HF_TIME_NEVER: not. */
hfi_time hfi_engine_deadline(struct hfi_engine *engine);
/* After CLOSE: is everything given back? */
bool hfi_engine_quiet(const struct hfi_engine *engine);

/* The lists: each returns the next and takes it out, or NULL. */
struct hfi_request *hfi_engine_next_request(struct hfi_engine *engine);
struct hfi_waiter *hfi_engine_next_done(struct hfi_engine *engine);
struct hfi_waiter *hfi_engine_next_woken(struct hfi_engine *engine);
struct hfi_releaser *hfi_engine_next_released(struct hfi_engine *engine);
/* The next hold with news, what it is, and the handle to name; NULL: none. */
struct hfi_handle *hfi_engine_next_news(struct hfi_engine *engine, enum hfi_news *ret_news);
bool hfi_engine_has_news(const struct hfi_engine *engine);

/* Frees a hold's last reference after hfi_engine_fini(): nothing is sent. */
void hfi_engine_drop_handle(struct hfi_handle *handle);

/* Internal to the core. */

/* A broken invariant: stops renewing, tells every hold LOST and fails every waiter; asserts in debug
 * builds. Never takes the program down in release builds. */
void hfi_engine_break(struct hfi_engine *engine, const char *what);
/* Hands a request to the store. */
void hfi_engine_submit(struct hfi_engine *engine, hfi_time now, struct hfi_request *request,
                       enum hfi_op op, hfi_time ttl_ns);

enum hfi_timer_kind { HFI_TIMER_HOLD = 1, HFI_TIMER_WAITER, HFI_TIMER_GATE, HFI_TIMER_PRESENCE };

#endif
