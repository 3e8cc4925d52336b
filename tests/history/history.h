/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories: what processes did to locks, and when. One line an operation:
 *
 *     INVOKED RETURNED pPROCESS tTHREAD LOCK WHO OPERATION OUTCOME [KEY=VALUE]...
 *
 * Times are nanoseconds of CLOCK_BOOTTIME, the clock that leases are counted by: all processes of a host
 * see the same, nobody sets it, and it goes on while the host sleeps. RETURNED is "-" for what never did:
 * its outcome is unknown for ever. docs/internals/histories.md has the whole format.
 */
#ifndef TEST_HISTORY_HISTORY_H
#define TEST_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HIST_NEVER UINT64_MAX
#define HIST_MSEC  UINT64_C(1000000)

#define HIST_TEXT_MAX 63 /* bytes of a lock's name, and of who and owner */
#define HIST_LINE_MAX 1024

/* X(name, word): the operations. The last ones are about processes and the world, not about locks. */
#define HIST_KINDS(X)                                                                              \
    X(ACQUIRE, "acquire") /* waits; ok: token, until */                                            \
    X(TRY, "try")         /* one attempt */                                                        \
    X(RELEASE, "release") /* ok, fail (it was lost), unknown; token says of what */                \
    X(VERIFY, "verify")   /* ok: the store has it; fail: it has not; unknown: no answer */         \
    X(LOOK, "look")       /* ok: held, until; fail: lost */                                        \
    X(WRITE, "write")     /* to the fenced register of that name; fail: refused, seen */           \
    X(LOST, "lost")       /* the event */                                                          \
    X(KILL, "kill")       /* of the process, as kill -9 */                                         \
    X(STOP, "stop")       /* of the process, until it returned */                                  \
    X(END, "end")         /* the process ended in order: all that it started has returned */       \
    X(FAULT, "fault")     /* of the store or the way to it, from invoked to returned */            \
    X(STALL, "stall")     /* of the machine: a thread that wanted to run did not */

enum hist_kind {
#define HIST_X(name, word) HIST_##name,
    HIST_KINDS(HIST_X)
#undef HIST_X
        HIST_KIND_COUNT
};

enum hist_outcome { HIST_UNKNOWN, HIST_OK, HIST_FAIL };

struct hist_op {
    uint64_t invoked, returned; /* HIST_NEVER */
    uint32_t process, thread;
    uint32_t lock, who, owner; /* names; 0: none */
    uint8_t kind, outcome;
    uint16_t results; /* how many times its end was told: once, when it returned */
    int error;        /* as the library said */
    uint32_t ttl_ms;
    int64_t wait_ms; /* -1: one attempt; 0: for ever */
    uint64_t token;  /* 0: none */
    uint64_t until;  /* held at least until then, if nothing more happens; 0: not held */
    uint64_t seen;   /* a refused write: the token that was there */
    uint32_t line;
};

/* Texts that occur often, by number. 0 is "". */
struct hist_names;

/* What the store and the program promise. Lines "set NAME VALUE" in the file. */
struct hist_settings {
    bool death_frees;     /* set death frees: a process that dies loses its locks at once */
    bool contract_broken; /* set contract broken: the store has lost data; overlaps are counted */
    bool busy_strict;     /* set busy strict: "busy" is only said while someone holds it */
    uint64_t wake_ms;     /* a waiter of a free lock sleeps no longer: the poll cap, or less */
    uint64_t op_timeout_ms, connect_timeout_ms;
    uint64_t ttl_ms;       /* the longest */
    uint64_t allowance_ms; /* for what the machine does, wherever a bound on time is checked */
};

struct history {
    struct hist_op *ops;
    size_t count, room;
    struct hist_names *names;
    struct hist_settings settings;
};

void hist_init(struct history *history);
void hist_free(struct history *history);
/* The number of a text; makes one. */
uint32_t hist_name(struct history *history, const char *text);
const char *hist_text(const struct history *history, uint32_t name);
/* How many names there are; numbers are below. */
uint32_t hist_name_count(const struct history *history);
struct hist_op *hist_add(struct history *history, const struct hist_op *op);
/* Sorts by the time of invocation. */
void hist_sort(struct history *history);

/* A line, without its end. False: it is none; says why. */
bool hist_read_line(struct history *history, const char *line, char *ret_why, size_t room);
/* A file, to its end. */
bool hist_read(struct history *history, FILE *file, char *ret_why, size_t room);
void hist_write_line(const struct history *history, const struct hist_op *op, FILE *file);
void hist_write_settings(const struct history *history, FILE *file);
const char *hist_kind_word(enum hist_kind kind);
const char *hist_outcome_word(enum hist_outcome outcome);
/* "BUSY" for HF_ERR_BUSY; "-" for none. */
const char *hist_error_word(int error);

/* About a lock, by whoever works with it. */
static inline bool hist_is_operation(const struct hist_op *op)
{
    return op->kind < HIST_KILL;
}

static inline bool hist_is_acquire(const struct hist_op *op)
{
    return op->kind == HIST_ACQUIRE || op->kind == HIST_TRY;
}

static inline bool hist_is_granted(const struct hist_op *op)
{
    return hist_is_acquire(op) && op->outcome == HIST_OK;
}

#endif
