/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker: what must be true of every history of locks, whatever else happened. A rule a file; the rules
 * are in docs/internals/histories.md.
 */
#ifndef TEST_HISTORY_CHECK_H
#define TEST_HISTORY_CHECK_H

#include "history/lin.h"

/* X(name, word) */
#define CHECK_RULES(X)                                                                             \
    X(OVERLAP, "overlap")   /* two claims of a lock that are valid at the same time */             \
    X(TOKEN, "token")       /* a token that is not larger than one that was given before */        \
    X(REGISTER, "register") /* an older token's write after a newer one's; a holder refused */     \
    X(WAKE, "wake")         /* a waiter that slept although the lock was free */                   \
    X(RESULT, "result")     /* an operation whose end was told not once */                         \
    X(TOLD, "told")         /* a loss told twice, or taken back */                                 \
    X(EARLY, "early")       /* a loss told although the lease was not over */                      \
    X(BUSY, "busy")         /* "busy" to the one who had it */                                     \
    X(LATE, "late")         /* a call that took longer than it may */                              \
    X(LINEAR, "linear")     /* no order explains it */

enum check_rule {
#define CHECK_X(name, word) CHECK_##name,
    CHECK_RULES(CHECK_X)
#undef CHECK_X
        CHECK_RULE_COUNT
};

const char *check_rule_word(enum check_rule rule);

/* What there was in a history, for those who want to know that there was enough. */
struct check_counts {
    size_t operations; /* on locks, looks apart */
    size_t lines;
    size_t acquired; /* granted, re-entry included */
    size_t holds;
    size_t handoffs;   /* to a process that waited, from another one */
    size_t expired;    /* holds whose lease ended by time */
    size_t lost;       /* of these: told to the holder */
    size_t unknown;    /* operations that had no outcome */
    size_t refused;    /* writes with an older token */
    size_t overlaps;   /* where the contract was broken, and they are allowed */
    size_t woken;      /* waits that were granted, having seen the lock free for a time */
    size_t freed;      /* times that a lock was free and somebody waited for it */
    size_t freed_long; /* of these: for longer than wake_ms */
    uint64_t wake_ns;  /* the longest of them */
    size_t found[CHECK_RULE_COUNT];
    size_t configurations;
};

struct check_options {
    FILE *out;                     /* findings; NULL: none are written */
    unsigned show;                 /* how many of each rule; 0: 3 */
    const struct lin_model *model; /* NULL: no search for an order */
    size_t budget;                 /* configurations a lock; 0: 5 million */
};

/* True: no rule was broken. */
bool check_history(const struct history *history, const struct check_options *options,
                   struct check_counts *ret_counts);
void check_print_counts(const struct check_counts *counts, FILE *file);

/* ------------------------------------------------------------------------------------------------
 * What the rules work with
 */

/* A hold: one token of one lock, from its grant to its end. Re-entry is more handles of the same. */
struct check_hold {
    uint32_t lock, who, owner, process;
    uint64_t token;
    uint64_t asked, start; /* the first grant's invocation and return */
    uint64_t until;        /* held at least until then, had nothing more happened */
    uint64_t released;     /* the invocation of the release that ended it; or HIST_NEVER */
    uint64_t told;         /* a loss was known then; or HIST_NEVER */
    uint64_t end;          /* of the claim: nobody counts it as held from then on */
    uint64_t gone;         /* at the latest then the store has nothing of it; or HIST_NEVER */
    const struct hist_op *grant, *last_held, *ended_by;
    const struct hist_op *const *ops; /* all that concern it, by invocation */
    size_t op_count;
    unsigned grants, releases, releases_done;
};

struct check_process {
    uint64_t killed, killed_by; /* between these; HIST_NEVER: not */
    uint64_t ended;             /* in order */
};

struct check {
    const struct history *history;
    const struct hist_settings *settings;
    const struct check_options *options;
    struct check_counts *counts;
    struct check_hold *holds; /* by lock, then start */
    size_t hold_count;
    const struct hist_op **by_token;   /* operations on holds, by lock, token, invocation */
    const struct check_hold **hold_of; /* for each operation of the history */
    struct check_process *process;
    uint32_t process_count;
    /* intervals in which nothing can be expected of time: faults, stops, stalls */
    const struct hist_op **troubles;
    size_t trouble_count;
    uint64_t first, last; /* the history's */
};

/* Notes a finding, with the lines concerned. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
void check_found(struct check *check, enum check_rule rule, const struct hist_op *const *lines,
                 size_t line_count, const char *format, ...);
/* A hold's own lines: its grant, what showed that it was held, and its end. Returns how many. */
size_t check_lines_of(const struct check_hold *hold, const struct hist_op **to);
double check_ms(uint64_t ns);
/* The hold of an operation; NULL: none. */
const struct check_hold *check_hold_of(const struct check *check, const struct hist_op *op);
/* When a process was killed, by what is known; HIST_NEVER. */
uint64_t check_killed(const struct check *check, uint32_t process);

/* Things that were done one after the other must come in the order of their values. */
struct check_item {
    uint64_t invoked, returned;
    uint64_t low, high; /* of its values */
    const struct hist_op *op;
};

/* Reports an item whose low is below (or, if `strict`, not above) the high of one that had returned before it
 * was invoked. Sorts the items. */
void check_order(struct check *check, enum check_rule rule, struct check_item *items, size_t count,
                 bool strict, const char *what);

void check_make_holds(struct check *check);
void check_free_holds(struct check *check);

void check_overlap(struct check *check);
void check_tokens(struct check *check);
void check_register(struct check *check);
void check_wake(struct check *check);
void check_results(struct check *check);
void check_told(struct check *check);
void check_busy(struct check *check);
void check_late(struct check *check);
void check_linear(struct check *check);

#endif
