/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chaos: real processes on a real store, with faults, and a checker of what they saw.
 *
 *   main.c      arguments                       round.c     one round: start, faults, end, check
 *   scenario.c  what is run, and what must have happened
 *   fault.c     what is done to processes, server and network, and when
 *   crew.c      the worker processes: starting, killing, stopping them
 *   noise.c     how well this machine runs what wants to run
 *   worker.c    a worker process and its threads
 *   deed.c      what they do, one call each, written down in the history
 *   block.c     threads that call and wait      event.c     one that works by events
 *   odd.c       cancelled threads, and fork
 *
 * The runner and its workers share one mapping: the log of the history, and struct chaos_shared.
 */
#ifndef TEST_CHAOS_CHAOS_H
#define TEST_CHAOS_CHAOS_H

#include "history/record.h"
#include "holdfast/holdfast.h"
#include "lib/wait.h"

#define CHAOS_LOCKS 24
#define CHAOS_HOT   4 /* the first ones: many want them, and keep them for a short time */
#define CHAOS_SLOTS 5 /* worker processes at a time */

/* What workers do, beyond acquiring without a limit, trying once, holding for a moment, and releasing. */
enum {
    CHAOS_BOUNDED = 1, /* wait for a limited time */
    CHAOS_EXPIRE = 2,  /* fixed leases, ceilings, and holds that are kept until they are over */
    CHAOS_LONG = 4,    /* holds that need renewal */
    CHAOS_NAMED = 8,   /* owners that threads share */
    CHAOS_CANCEL = 16, /* hf_cancel() and pthread_cancel() */
    CHAOS_FORK = 32,
    CHAOS_PASS = 64,   /* holds are passed on inside the process */
    CHAOS_LEAVE = 128, /* some holds are left to hf_close() */
    CHAOS_ALL = 255
};

struct chaos_shared {
    /* set before workers start */
    uint64_t seed;
    unsigned deeds; /* CHAOS_ flags */
    int64_t op_timeout_ms, connect_timeout_ms, poll_ms;
    char uri[CHAOS_SLOTS][128];
    char traces[64]; /* a folder; "": none */

    atomic_int stop;                    /* no new holds: everything comes to its end */
    atomic_uint process[CHAOS_SLOTS];   /* who works there */
    atomic_ullong written[CHAOS_LOCKS]; /* the fenced registers: the highest token */
    atomic_uint fouls;                  /* what must not be, and no rule of the history is about */
};

/* ------------------------------------------------------------------------------------------------
 * In a worker
 */

struct worker {
    struct hist_log *log;
    struct chaos_shared *shared;
    int slot;
    uint32_t process;
    hf_client *client[2];
    atomic_uint threads, fresh;
};

#define CHAOS_WHO 16

/* What was given. */
struct prize {
    hf_hold *hold;
    int lock;
    uint64_t token;
    char who[CHAOS_WHO];
};

/* A thread of it. */
struct actor {
    struct worker *worker;
    struct hist_thread history;
    hf_client *client;
    char letter; /* of the client: owners belong to one */
    uint32_t random;
    struct prize left; /* a hold that is left to hf_close() */
};

/* What is asked for. */
struct wish {
    int lock;
    struct hf_acquire_options options;
    char who[CHAOS_WHO];
    bool keeps; /* until it is over */
};

int worker_main(const char *log_path, int slot);
/* An orderly end was asked for, by the runner or by a signal. */
bool worker_is_to_stop(const struct worker *worker);
/* Something that must not be. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void foul(struct worker *worker, const char *format, ...);

uint32_t actor_pick(struct actor *actor, uint32_t below);
bool actor_may(const struct actor *actor, unsigned deed);

/* deed.c */
const char *lock_name(int lock, char *to);
void wish_for(struct actor *actor, struct wish *wish);
/* The operation is written down and about to be invoked. */
struct hist_record *acquire_begin(struct actor *actor, const struct wish *wish);
/* It returned at `when`; fills the prize when there is one. */
void acquire_end(struct actor *actor, struct hist_record *record, uint64_t when,
                 const struct wish *wish, int error, hf_hold *hold, struct prize *prize);
/* All in one; true: here is the prize. */
bool acquire(struct actor *actor, const struct wish *wish, struct prize *prize);
bool look(struct actor *actor, const struct prize *prize); /* is it held? */
void verify(struct actor *actor, const struct prize *prize);
void write_token(struct actor *actor, const struct prize *prize);
struct hist_record *release_begin(struct actor *actor, const struct prize *prize);
void release_end(struct actor *actor, struct hist_record *record, int error);
void release(struct actor *actor, const struct prize *prize);

/* Threads */
void *block_run(void *actor);
void *event_run(void *actor);
void *odd_run(void *actor);

/* ------------------------------------------------------------------------------------------------
 * In the runner
 */

struct scenario {
    const char *name;
    const char *server; /* NULL: the embedded store */
    bool forgets;       /* the server loses its data now and then */
    bool is_calm;       /* no faults but kills (and those only where death frees) */
    bool busy_strict;
    unsigned deeds;
    int64_t poll_ms, wake_ms;
    int seconds;
    /* what must have happened at least, in so many seconds */
    size_t operations, handoffs, expired, lost, faults;
};

extern const struct scenario SCENARIOS[];
extern const size_t SCENARIO_COUNT;

struct round_options {
    const struct scenario *scenario;
    uint64_t seed;
    int seconds; /* 0: the scenario's */
    bool keep;   /* the history, also if it is good */
    bool trace;
};

/* 0: good; 1: bad; 2: it was not run; 77: there is no such server. */
int round_run(const struct round_options *options);

#endif
