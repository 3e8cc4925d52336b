/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world for the engine: a few processes, each with an engine, and one store that keeps the true state
 * of a few locks. Connections lose requests before or after they were executed, delay them, break, and come
 * back; the store refuses, forgets, and sometimes executes late what nobody waits for any more. Everything is
 * drawn from a seed.
 *
 *   world.c         time, processes, what comes out of engines    world_store.c   the truth
 *   world_net.c     what happens to requests on their way         world_check.c   what must always hold
 *   world_run.c     what happens at all, and how it ends
 *
 * One clock for all: what is checked is that valid claims never overlap while clocks agree.
 */
#ifndef HFT_WORLD_H
#define HFT_WORLD_H

#include "unit.h"

#include "core/engine.h"
#include "core/presence.h"
#include "store/store.h"

enum {
    NAMES = 3,
    PROCESSES = 3,
    STRANGER = PROCESSES, /* a holder that is no process of ours */
    NOBODY = -1,
    THREADS = 3,   /* of a process: each has one blocking acquire at a time */
    OWNERS = 8192, /* owner ids of one process */
    LINE = 512,    /* places in a queue */
    LOG_LINES = 120
};

/* What is under a name. */
enum theme { LOCKS, PERMITS, SEMAPHORE, LATCH, THEMES };

enum { KIND_THREAD, KIND_NAMED, KIND_FRESH };

/* What a request does at the store; a copy, since a late one may be executed when its memory is long gone. */
struct deed {
    uint8_t op;
    int process, name;
    uint8_t kind; /* enum hfi_kind */
    uint64_t owner;
    uint32_t ttl_ms, tokens, permits;
    bool queue, prefer;
    size_t count;
    struct {
        int name;
        uint8_t kind;
        uint64_t owner, token;
        uint32_t ttl_ms, waiters;
        bool held, watching;
    } item[HFI_RENEWAL_MAX];
};

struct verdict {
    uint8_t said; /* enum hfi_verdict */
    uint8_t topic;
    bool ticket, forgotten;
    hfi_time hint_ns;
    uint64_t token;
    uint32_t tokens, others;
    bool kept[HFI_RENEWAL_MAX];
};

enum parcel_stage { QUEUED, SENT, EXECUTED };

/* A request on its way. */
struct parcel {
    struct parcel *prev, *next;
    struct hfi_request *request;
    enum parcel_stage stage;
    struct deed deed;
    struct verdict verdict;
};

/* A deed of a broken connection that may still be done. */
struct ghost {
    struct ghost *prev, *next;
    struct deed deed;
};

/* A hold in the store. Of a semaphore: the note of what an owner has taken, for the case that it is undone. */
struct stored {
    struct stored *prev, *next;
    int process; /* or STRANGER */
    uint8_t kind;
    uint64_t owner;
    uint32_t permits;
    hfi_time expires_ns;
};

/* A place in the store's queue: of a process, or (fair) of one of its owners. A writer's where there is no queue:
 * new readers wait for it. */
struct ticket {
    int process;
    uint8_t kind;
    uint64_t owner;
    hfi_time called_ns; /* when it was seen to be its turn; 0: not yet */
    hfi_time tried_ns;  /* when it tried last */
};

struct truth {
    struct stored *held;
    hfi_time held_ns;     /* when it was last seen held, or not free for a newcomer */
    uint64_t token[2];    /* the last one given out; [1]: of the fenced kind */
    uint64_t promised[2]; /* the largest one that an acquire returned */
    bool tampered;        /* somebody took a hold away by hand: claims may overlap */
    struct ticket line[LINE];
    int line_length;
    int64_t total, available; /* permits; semaphore: what is there; latch: the count */
    hfi_time open_ns;         /* latch: when it was last seen open, */
    hfi_time deleted_ns;      /* and deleted */
};

struct registered { /* what people see of a process, a name and a kind */
    bool held, field;
    uint64_t owner, token;
    uint32_t waiters;
};

/* A watch that the store has: it hears of wake-ups, one of which is on its way. */
struct listener {
    struct listener *prev, *next;
    struct hfi_watch *watch;
    int name;
    uint8_t topic;
    uint64_t owner;
    bool active, woken;
};

/* What is known of an owner id. A reader's that it borrowed from its own write hold is another. */
struct record {
    uint64_t caller;      /* number of the call that it was first tried for */
    hfi_time confirmed;   /* the latest sent_ns of a confirmed request */
    hfi_time deadline;    /* as it was seen last */
    uint64_t first_token; /* of its grant */
    uint8_t told_lost;    /* how often */
    bool ended;           /* a release was sent, or its outcome is unknown */
    bool answered;        /* and that was answered */
    bool doubt;           /* some request of it was not */
};

/* What a semaphore has given to an owner id. */
struct given {
    uint32_t permits; /* by the store: so many, */
    bool undone, forgotten,
        kept;            /* which came back; which it no longer knows; which a caller has */
    bool released, late; /* the try was executed after it was taken back */
};

/* One acquire. */
struct call {
    struct call *prev, *next;
    struct hfi_waiter waiter;
    struct held *held;
    int process, name;
    uint64_t number;
    hfi_time start_ns;
    bool done, called, cancelled;
};

/* One handle. */
struct held {
    struct held *prev, *next;
    struct hfi_handle handle; /* its releaser ends it */
    int name;
    uint8_t kind;
    bool told_lost, releasing;
    hfi_time deadline_ns; /* when it was released */
};

/* hf_hold_verify(). */
struct check {
    struct check *prev, *next;
    struct hfi_renewal renewal;
    struct hfi_renewal_item item;
    struct held *held; /* NULL: released since */
};

struct process {
    int number;
    bool open;
    struct hfi_engine engine;
    struct parcel *lane[2]; /* commands; watches, where they go by themselves */
    bool up, restored;
    struct listener *listeners;
    struct ghost *ghosts;
    struct call *calls;
    struct held *helds;
    struct check *checks;
    uint64_t fresh;
    bool known; /* the store has its registry */
    struct registered registry[NAMES][HFI_KIND_COUNT];

    hfi_time refused_ns[NAMES], unsure_ns[NAMES], busy_ns[NAMES]; /* when the store last said so */
    int refusal[NAMES];
    uint64_t refusals[NAMES];        /* all that there were, a bit each */
    struct record record[2][OWNERS]; /* [1]: as readers */
    struct given given[OWNERS];
};

struct statistics {
    uint64_t acquired, reentered, passed, busy, unsure, refused, lost, at_risk, unknown, ghosts,
        verified, no_memory;
    uint64_t of_kind[HFI_KIND_COUNT]; /* acquired */
    uint64_t shared, borrowed, reused, upgrades, reentries, undone, opened, deleted;
};

/* What kind of world, drawn once a seed. */
struct nature {
    int processes, names;
    bool two_lanes; /* watches go by a connection of their own */
    bool lines;     /* the store keeps a queue of tickets */
    bool announces;
    bool killing; /* what was left unanswered cannot be executed once something later was */
    bool strangers, tampering;
    uint32_t ttl_ms[3]; /* those in use */
    unsigned trouble;   /* how often connections break, in a thousand */
    bool kinds;         /* of all kinds; else mutexes alone */
    enum theme theme[NAMES];
    uint32_t kinds_of[NAMES]; /* a bit each */
};

struct world {
    uint64_t seed;
    struct hfi_random random;
    struct nature nature;
    hfi_time now, start;
    struct truth truth[NAMES];
    struct process process[PROCESSES];
    uint64_t calls;
    struct statistics *statistics;
    char line[LOG_LINES][160];
    size_t lines;
    bool loud, early, short_of_memory;
    void (*arm)(bool on); /* around each step of an engine; NULL: nothing */
};

extern const char *const WORLD_NAMES[NAMES];

/* world.c */
void world_open(struct world *world, uint64_t seed, bool kinds, struct statistics *statistics);
void world_close(struct world *world);
uint64_t draw(struct world *world, uint64_t below);
bool chance(struct world *world, unsigned in_a_thousand);
struct held *some_held(struct world *world,
                       const struct process *process); /* NULL: there is none */
__attribute__((format(printf, 2, 3))) void tell(struct world *world, const char *format, ...);
void world_acquire(struct world *world, struct process *process);
void world_release(struct world *world, struct process *process, struct held *held);
void world_cancel(struct world *world, struct process *process, struct call *call);
void world_take(struct world *world, struct process *process, struct call *call);
void world_verify(struct world *world, struct process *process, struct held *held);
/* What a semaphore gave is the caller's; it gives it back in its own way. */
void world_keep(struct world *world, struct process *process, struct held *held);
void world_shut(struct world *world, struct process *process);
void world_input(struct world *world, struct process *process, const struct hfi_input *input);
/* Time passes; then a tick for each process, unless it is a lazy one. */
void world_pass(struct world *world, hfi_time ns, bool lazy);

/* world_run.c */
void world_run(struct world *world, int steps);
/* Calm, rest, close: all are served, and nothing is left. Frees the world. */
void world_end(struct world *world);

/* world_store.c */
void store_execute(struct world *world, const struct deed *deed, struct verdict *verdict);
void store_expire(struct world *world);
/* By hand, or by others: a hold; permits of a semaphore come back; a latch has another count. */
struct stored *store_put(struct world *world, int name, int process, enum hfi_kind kind,
                         uint64_t owner, uint32_t permits, hfi_time expires_ns);
void store_remove(struct world *world, int name, struct stored *stored);
void store_give(struct world *world, int name, uint32_t permits);
void store_count(struct world *world, int name, int64_t count, bool deleted);
struct stored *store_find(const struct truth *truth, int process, uint64_t owner,
                          enum hfi_kind kind);
bool store_is_open(const struct world *world, int name);
void store_close(struct world *world);

/* world_net.c */
void net_submit(struct world *world, struct process *process, struct hfi_request *request);
/* Moves one request a step further: sent, executed or answered. False: there is none. */
bool net_move(struct world *world, struct process *process, int lane);
void net_break(struct world *world, struct process *process, int lane);
void net_refuse(struct world *world, struct process *process);
void net_connect(struct world *world, struct process *process);
void net_ghosts(struct world *world, struct process *process, bool all);
/* Ends what is past its deadline. */
void net_tick(struct world *world, struct process *process);
void net_wake(struct world *world, struct process *process);
void net_resubscribe(struct world *world, struct process *process);
/* Requests on their way: of a name; of a gate. */
size_t net_count(const struct process *process, enum hfi_op op, int name);
size_t net_count_of(const struct process *process, enum hfi_op op, const struct hfi_gate *gate);
struct listener *net_listener(const struct process *process, const struct hfi_watch *watch);

/* world_check.c */
void check_world(struct world *world);
void check_request(struct world *world, struct process *process, struct hfi_request *request);
void check_result(struct world *world, struct process *process, struct call *call);
/* For a while there was no trouble: what people see is how it is. */
void check_seen(struct world *world, const struct process *process);
/* Nothing happens any more: what people see is the truth, and nothing is left over. */
void check_rest(struct world *world, struct process *process);

static inline struct record *record_of(struct process *process, enum hfi_kind kind, uint64_t owner)
{
    return &process->record[kind == HFI_KIND_READ][owner];
}

_Noreturn void world_fail(struct world *world, const char *what, const char *file, int line);

#define MUST(world, what)                                                                          \
    do {                                                                                           \
        if (!(what))                                                                               \
            world_fail(world, #what, __FILE__, __LINE__);                                          \
    } while (0)

#endif
