/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chaos: real processes on a real store, with faults, and a checker of what they saw.
 *
 *   main.c      arguments                       campaign.c  rounds until there was enough; the summary
 *   round.c     one round: start, faults, end    stage.c     what it needs, set up and taken down
 *   judge.c     its history: written, checked, counted
 *   scenario.c  what is run, and what must have happened
 *   prove.c     workers that are broken on purpose: the checker must find each
 *   fault.c     what can be done to processes, server and network
 *   storm.c     and when it is
 *   crew.c      the worker processes: starting, killing, stopping them
 *   noise.c     how well this machine runs what wants to run
 *   worker.c    a worker process and its threads
 *   wish.c      what they ask for                deed.c      each call, written down in the history
 *   broken.c    what broken ones do
 *   block.c     threads that call and wait      event.c     one that works by events
 *   odd.c       cancelled threads, and fork      pair.c      two that hand a lock to and fro
 *
 * The runner and its workers share one mapping: the log of the history, and struct chaos_shared.
 */
#ifndef TEST_CHAOS_CHAOS_H
#define TEST_CHAOS_CHAOS_H

#include <sys/types.h>

#include "history/record.h"
#include "holdfast/holdfast.h"
#include "lib/wait.h"

#define CHAOS_LOCKS 24
#define CHAOS_HOT   4 /* the first ones: many want them, and keep them for a short time */
#define CHAOS_SLOTS 5 /* worker processes at a time */

#define CHAOS_PAIRS      (CHAOS_SLOTS / 2)
#define CHAOS_PAIR_LOCKS 4 /* of each; their numbers follow the others' */

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
    CHAOS_AGAIN = 256, /* what is held is entered again */
    CHAOS_PAIR = 512,  /* some locks are handed to and fro between two processes */
    CHAOS_ALL = 511    /* but the last one: it needs calm */
};

/* Ways in which workers can be broken on purpose: X(name, word). What must find each is in prove.c. */
#define CHAOS_BROKEN(X)                                                                            \
    X(SOUND, "sound")                                                                              \
    X(IGNORE_LOSS, "ignore-loss")     /* goes on as a holder after the loss */                     \
    X(DEL, "release-by-del")          /* removes whatever lock is in its way */                    \
    X(LATE_WAKE, "late-wake")         /* sleeps on when it is woken */                             \
    X(OPEN_REGISTER, "open-register") /* writes without comparing tokens */                        \
    X(LOSS_TWICE, "loss-twice")       /* tells a loss twice */                                     \
    X(LIE_GRANT, "lie-grant")         /* writes down a grant where it was busy */                  \
    X(LIE_TOKEN, "lie-token")         /* writes down a smaller token */                            \
    X(LIE_BUSY, "lie-busy")           /* writes down busy where it was granted */

enum chaos_broken {
#define CHAOS_X(name, word) CHAOS_##name,
    CHAOS_BROKEN(CHAOS_X)
#undef CHAOS_X
        CHAOS_BROKEN_COUNT
};

struct chaos_shared {
    /* set before workers start */
    uint64_t seed;
    unsigned deeds; /* CHAOS_ flags */
    enum chaos_broken broken;
    pid_t runner;
    int server_port; /* 0: the embedded store */
    int64_t op_timeout_ms, connect_timeout_ms, poll_ms;
    char uri[CHAOS_SLOTS][128];
    char traces[64]; /* a folder; "": none */

    atomic_int stop;                  /* no new holds: everything comes to its end */
    atomic_uint process[CHAOS_SLOTS]; /* who works there */
    /* the fenced registers: the highest token */
    atomic_ullong written[CHAOS_LOCKS + CHAOS_PAIRS * CHAOS_PAIR_LOCKS];
    atomic_uint turn[CHAOS_PAIRS];   /* pair.c */
    atomic_uint fouls;               /* what must not be, and no rule of the history is about */
    atomic_ulong operations, losses; /* so far, about */
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

const char *lock_name(int lock, char *to);
void wish_for(struct actor *actor, struct wish *wish);

/* broken.c: is this worker broken in that way, and does it show this time, once in so many? */
bool is_broken(struct actor *actor, enum chaos_broken how, uint32_t once_in);
/* Ends somebody's hold, as redis-cli would. */
void remove_by_hand(const struct actor *actor, int lock);

/* deed.c */
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
void *pair_run(void *actor);

/* ------------------------------------------------------------------------------------------------
 * In the runner
 */

struct check_counts;
struct lin_model;

struct scenario {
    const char *name;
    const char *server;  /* NULL: the embedded store */
    const char *options; /* of the server's URI; NULL: none */
    bool forgets;        /* the server loses its data now and then */
    bool is_calm;        /* no faults but kills (and those only where death frees) */
    bool busy_strict;
    unsigned deeds;
    const struct lin_model *model; /* what its locks must be like */
    int64_t poll_ms, wake_ms;
    int seconds; /* at least, and three times as long at most if it does not come to so many: */
    size_t operations, losses, faults;
    /* and these must have been in it, which only the checker knows */
    size_t handoffs, woken, expired;
};

extern const struct scenario SCENARIOS[];
extern const size_t SCENARIO_COUNT;
const struct scenario *scenario_of(const char *name); /* NULL: there is none */

struct round_options {
    const struct scenario *scenario;
    uint64_t seed;
    int seconds; /* 0: the scenario's */
    bool keep;   /* the history, also if it is good */
    bool trace;
    enum chaos_broken
        broken; /* not CHAOS_SOUND: nothing is printed but a summary, and nothing kept */
};

enum round_verdict {
    ROUND_GOOD = 0,
    ROUND_BAD = 1,
    ROUND_NOT_RUN = 2,
    ROUND_NO_SERVER = 77, /* as CTest wants it */
};

/* Fills the counts where there was a round. */
enum round_verdict round_run(const struct round_options *options, struct check_counts *ret_counts,
                             size_t *ret_faults);
/* Somebody wants us to end. */
bool round_is_interrupted(void);

/* All scenarios, and more of the first, until there was enough; 8 minutes at most. */
int campaign_run(uint64_t seed);
/* All ways to be broken, or some that take little time; 0: each was found. */
int prove_run(uint64_t seed, bool quick);

#endif
