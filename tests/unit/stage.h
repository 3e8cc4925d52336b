/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage for the engine: a clock that is moved by hand, and a store that answers what the test says. All that
 * comes out of the engine is written down, a line each, and compared with what the test expects:
 *
 *   L#1 IDLE -> TRYING          a move of the hold of lock L under owner id 1
 *   try L#1 30000               a request: ttl in ms, and "x1001" when so many tokens are wanted
 *   release L#1                 watch L    unwatch L    leave L    farewell
 *   watch L turn #1             leave L#1 of a fair lock
 *   renew L#1 30000, M#2 look   ttl in ms, or only a look
 *   announce L held #1 token 7 waiters 2 watching, M nothing
 *   A: OK #1 token 7            an acquire is done: A has the hold of owner id 1
 *   A: BUSY                     … or why not
 *   wake A                      its thread is to come and take the hold
 *   A released: OK              a release is done
 *   A: LOST                     news of a hold
 *   warning: …
 *
 * Actors are letters. Each is a thread that can have one acquire at a time and one handle.
 */
#ifndef HFT_STAGE_H
#define HFT_STAGE_H

#include "unit.h"

#include "core/engine.h"

#define STAGE_LOG     (16 * 1024)
#define STAGE_PENDING 128

enum { OWNER_THREAD, OWNER_NAMED, OWNER_FRESH };

struct actor {
    struct hfi_waiter waiter;
    struct hfi_handle handle;
    bool waiting, holding;
};

struct stage {
    struct hfi_engine_config config;
    struct hfi_engine engine;
    hfi_time start, now;
    struct actor actor[26];
    struct hfi_request *pending[STAGE_PENDING]; /* those that the store has, in order */
    size_t pending_count;
    struct hfi_watch *watch; /* the last one that was submitted */
    struct hfi_renewal verification;
    struct hfi_renewal_item verified;
    bool offline;         /* requests are taken, but cannot be sent */
    bool quiet;           /* moves are not written down, */
    bool deaf;            /* nor are warnings */
    void (*arm)(bool on); /* around each step of the engine; NULL: nothing */
    char log[STAGE_LOG];
    size_t length;
};

/* How to acquire; zero is for ever, 30 s, the letter's own thread. */
struct how {
    char plain;      /* of no meaning */
    int64_t wait_ms; /* -1: try once */
    uint32_t ttl_ms;
    uint64_t owner; /* a named one */
    char thread;    /* the letter's whose thread it is, if not its own */
    bool fixed, fresh, no_reentry, prefer;
    enum hfi_kind kind;
    uint32_t permits;
    uint32_t max_hold_ms;
    const char *label;
};

#define HOW(...) ((struct how){ .plain = 0, __VA_ARGS__ })

void stage_init(struct stage *stage); /* may change stage->config before stage_open() */
void stage_open(struct stage *stage);
/* CLOSE, all answers, and the end: nothing may be left. Handles that are still out are dropped. */
void stage_close(struct stage *stage);

/* Inputs */
void acquire(struct stage *stage, char who, const char *name, struct how how);
void take(struct stage *stage, char who);
void cancel(struct stage *stage, char who);
void release(struct stage *stage, char who);
void forget(struct stage *stage, char who); /* what a semaphore granted */
void verify(struct stage *stage, char who);
void wake(struct stage *stage, const char *name);
void restored(struct stage *stage);
/* So much time passes at once; then a tick. */
void leap(struct stage *stage, hfi_time ms);
/* So much time passes, with a tick whenever the engine wants one. */
void pass(struct stage *stage, hfi_time ms);
void step(struct stage *stage, const struct hfi_input *input);

/* Answers. A request is named as it was written down, up to the owner id or name: "try L#1", "watch L". */
void granted(struct stage *stage, const char *which, uint64_t token, uint32_t tokens);
void busy(struct stage *stage, const char *which, hfi_time hint_ms);
void busy_with_ticket(struct stage *stage, const char *which, hfi_time hint_ms);
void busy_kind(struct stage *stage, const char *which, enum hfi_topic kind);
void busy_turn(struct stage *stage, const char *which); /* with a ticket of its own */
void already(struct stage *stage, const char *which);
void released(struct stage *stage, const char *which, uint32_t others);
void gone(struct stage *stage, const char *which);
/* All items kept, but the one of `lost` (may be NULL), such as "L#1". */
void renewed(struct stage *stage, const char *which, const char *lost);
void done(struct stage *stage, const char *which);
void forgotten(struct stage *stage, const char *which); /* done, but the store knew nothing of us */
void refused(struct stage *stage, const char *which, int error);
void unknown(struct stage *stage, const char *which);
bool is_pending(struct stage *stage, const char *which);

/* Many holds, of names of their own; nothing of theirs is written down. */
struct crowd {
    struct hfi_waiter waiter;
    struct hfi_handle handle;
    char name[8];
};

void crowd_acquire(struct stage *stage, struct crowd *crowd, size_t count);
void crowd_release(struct stage *stage, struct crowd *crowd, size_t count);

/* What came out since the last time. */
void expect(struct stage *stage, const char *text);
/* When the engine wants its next tick, in ms from the start: between these. */
void expect_tick(struct stage *stage, hfi_time from_ms, hfi_time to_ms);
/* Forgets what came out. */
void hush(struct stage *stage);
/* Milliseconds since the start. */
hfi_time elapsed_ms(const struct stage *stage);

static inline struct actor *actor(struct stage *stage, char who)
{
    return &stage->actor[who - 'A'];
}

const char *unit_error_name(int error);

#endif
