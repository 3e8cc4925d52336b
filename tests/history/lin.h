/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linearizability: is there an order of the operations on one lock that a lock could have gone through, with
 * each operation taking effect at one moment between its invocation and its return?
 *
 * Source of the search: Wing and Gong, "Testing and Verifying Concurrent Objects" (1993), with the
 * improvements of Lowe, "Testing for Linearizability" (2017): one lock at a time, and no configuration (which
 * operations have taken effect, and the state of the lock) twice. A configuration is known by 128 bits of
 * hash; two different ones are taken for the same with a chance below 2^-80 in the largest run.
 *
 * An operation whose outcome is unknown is optional: it takes effect at some moment from its invocation to
 * `last`, or never. So are the ends of leases by time.
 */
#ifndef TEST_HISTORY_LIN_H
#define TEST_HISTORY_LIN_H

#include "history/history.h"

enum lin_kind {
    LIN_ACQUIRE,
    LIN_RELEASE,
    LIN_EXPIRE,  /* the lease of `token` ends by time */
    LIN_HELD,    /* who asked saw that `token` has the lock */
    LIN_GONE,    /* who asked saw that it has not */
    LIN_BUSY,    /* who asked was told that somebody else has it */
    LIN_WRITE,   /* the register took a write with `token` */
    LIN_REFUSED, /* it did not, since it had seen `seen` */
    LIN_KIND_COUNT
};

struct lin_op {
    uint64_t call, ret; /* optional: ret is HIST_NEVER */
    uint64_t last;      /* optional: it does not take effect after that */
    uint64_t token, seen;
    uint32_t who;
    uint8_t kind; /* enum lin_kind */
    bool optional;
    bool ghost; /* an attempt without a result: its token is not known, and `token` only a name */
    const struct hist_op *source;
};

/* What a model keeps; all zero is the state of a lock that nobody ever had. */
struct lin_state {
    uint64_t word[8];
};

struct lin_model {
    const char *name;
    /* Does the operation make sense now? If so, changes the state. */
    bool (*step)(struct lin_state *state, const struct lin_op *op);
    /* The state in words, for people. */
    void (*describe)(const struct lin_state *state, char *to, size_t room);
};

/* mutex: one owner at a time. reentrant: the same may enter again. fenced: likewise, and tokens grow, and
 * the register takes no smaller one. */
extern const struct lin_model LIN_MUTEX, LIN_REENTRANT, LIN_FENCED;
/* By name; NULL: there is none. */
const struct lin_model *lin_model_of(const char *name);

enum lin_verdict { LIN_YES, LIN_NO, LIN_GAVE_UP };

struct lin_result {
    enum lin_verdict verdict;
    /* If not: all before this operation's return can be explained, and with it nothing. */
    size_t stuck;
    struct lin_state state; /* in the last explanation that was left */
    size_t configurations;
};

/* Looks at no more than `budget` configurations. */
void lin_check(const struct lin_model *model, const struct lin_op *ops, size_t count, size_t budget,
               struct lin_result *ret_result);

/*
 * Leaves of a history that cannot be explained the least that cannot be explained either: moves what is
 * kept to the front, and returns how many. `*stuck` is moved along.
 */
size_t lin_shrink(const struct lin_model *model, struct lin_op *ops, size_t count, size_t *stuck);

#endif
