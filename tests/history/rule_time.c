/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds on time: calls that must be over, and waiters that must not sleep.
 *
 * These are the only rules that depend on how busy the machine is. So each bound has the allowance of the
 * settings on top, and all the time that a thread that wanted to run was seen not to (STALL). Nothing is
 * expected of a process that is stopped, nor of waiters while the way to the store is bad and until its
 * consequences must be over: a late request may hold the lock for one ttl, for nobody.
 */
#include <stdlib.h>

#include "history/check.h"

#define OFTEN    20
#define OFTEN_IN 40

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* How long the machine did not run, or the process was stopped, between two times. What overlaps counts once. */
static uint64_t excused(const struct check *check, uint64_t from, uint64_t to, uint32_t process)
{
    uint64_t sum = 0, done = from;

    for (size_t i = 0; i < check->trouble_count; i++) {
        const struct hist_op *op = check->troubles[i];
        uint64_t begin = later(op->invoked, done), end = earlier(op->returned, to);

        if (op->invoked >= to)
            break;
        if (op->kind != HIST_STALL && (op->kind != HIST_STOP || op->process != process))
            continue;
        if (end <= begin)
            continue;
        sum += end - begin;
        done = end;
    }
    return sum;
}

/* ------------------------------------------------------------------------------------------------
 * Late
 */

/* How long it may take by what was asked; 0: there is no bound. */
static uint64_t bound_of(const struct check *check, const struct hist_op *op)
{
    uint64_t trip = check->settings->op_timeout_ms + check->settings->connect_timeout_ms;

    switch ((enum hist_kind)op->kind) {
    case HIST_ACQUIRE:
        return op->wait_ms > 0 ? (uint64_t)op->wait_ms + trip : 0;
    case HIST_TRY:
    case HIST_RELEASE:
    case HIST_VERIFY:
        return trip;
    default:
        return 0;
    }
}

void check_late(struct check *check)
{
    for (size_t i = 0; i < check->history->count; i++) {
        const struct hist_op *op = &check->history->ops[i];
        uint64_t bound = bound_of(check, op) * HIST_MSEC, took;

        if (!bound || op->returned == HIST_NEVER)
            continue;
        bound += check->settings->allowance_ms * HIST_MSEC;
        took = op->returned - op->invoked;
        if (took <= bound)
            continue;
        took -= excused(check, op->invoked, op->returned, op->process);
        if (took > bound)
            check_found(check, CHECK_LATE, &op, 1, "%s: it took %.0f ms, %.0f too many",
                        hist_text(check->history, op->lock), check_ms(took),
                        check_ms(took - bound));
    }
}

/* ------------------------------------------------------------------------------------------------
 * Free times of a lock
 */

struct span {
    uint64_t from, to;
    uint64_t slept; /* the longest time that somebody waited in it */
};

struct spans {
    struct span *at;
    size_t count, room;
};

static void add(struct spans *spans, uint64_t from, uint64_t to)
{
    if (to <= from)
        return;
    if (spans->count == spans->room) {
        spans->room = spans->room ? 2 * spans->room : 256;
        spans->at = realloc(spans->at, spans->room * sizeof *spans->at);
        if (!spans->at) {
            fputs("history: out of memory\n", stderr);
            exit(2);
        }
    }
    spans->at[spans->count++] = (struct span){ .from = from, .to = to };
}

static int by_from(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return x->from != y->from ? (x->from < y->from ? -1 : 1) : 0;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > HIST_NEVER - b ? HIST_NEVER : a + b;
}

static uint64_t lease_of(const struct check *check)
{
    return (check->settings->ttl_ms + check->settings->op_timeout_ms) * HIST_MSEC;
}

/* An attempt that got nothing may have had the lock for a while, unless it was told that it is busy. */
static void add_attempt(const struct check *check, const struct hist_op *op, struct spans *taken)
{
    uint64_t killed_by = check->process[op->process].killed_by;

    if (op->outcome == HIST_OK || (op->kind == HIST_TRY && op->outcome == HIST_FAIL))
        return;
    if (op->returned != HIST_NEVER)
        add(taken, op->invoked, plus(op->returned, lease_of(check)));
    else if (killed_by != HIST_NEVER)
        add(taken, check->process[op->process].killed,
            check->settings->death_frees ? killed_by : plus(killed_by, lease_of(check)));
}

/* A process that is stopped may have been given the lock. */
static void add_troubles(const struct check *check, struct spans *taken)
{
    uint64_t grace = lease_of(check) + check->settings->wake_ms * HIST_MSEC;

    for (size_t i = 0; i < check->trouble_count; i++) {
        const struct hist_op *op = check->troubles[i];

        if (op->kind != HIST_STALL)
            add(taken, op->invoked, plus(op->returned, grace));
    }
}

/* The times at which nobody can have had the lock, in order. */
static void find_free(const struct check *check, uint32_t lock, struct spans *free_)
{
    struct spans taken = { 0 };
    uint64_t end = check->first;

    for (size_t i = 0; i < check->hold_count; i++)
        if (check->holds[i].lock == lock)
            add(&taken, check->holds[i].start, check->holds[i].gone);
    for (size_t i = 0; i < check->history->count; i++)
        if (check->history->ops[i].lock == lock && hist_is_acquire(&check->history->ops[i]))
            add_attempt(check, &check->history->ops[i], &taken);
    add_troubles(check, &taken);
    if (taken.count)
        qsort(taken.at, taken.count, sizeof *taken.at, by_from);
    for (size_t i = 0; i < taken.count; i++) {
        add(free_, end, taken.at[i].from);
        end = later(end, taken.at[i].to);
    }
    add(free_, end, check->last);
    free(taken.at);
}

/* ------------------------------------------------------------------------------------------------
 * Asleep
 */

static void check_waiter(struct check *check, const struct hist_op *op, struct span *span)
{
    uint64_t end = earlier(op->returned, check_killed(check, op->process));
    uint64_t from = later(op->invoked, span->from), to = earlier(end, span->to);
    uint64_t bound = (check->settings->wake_ms + check->settings->allowance_ms) * HIST_MSEC;
    uint64_t slept;

    if (to <= from)
        return;
    slept = to - from;
    if (slept <= bound && slept <= span->slept)
        return;
    slept -= excused(check, from, to, op->process);
    span->slept = later(span->slept, slept);
    if (slept > bound)
        check_found(check, CHECK_WAKE, &op, 1,
                    "%s: free from %llu to %llu, and for %.0f ms of that it slept",
                    hist_text(check->history, op->lock), (unsigned long long)span->from,
                    (unsigned long long)span->to, check_ms(slept));
}

static void count_spans(struct check *check, const struct spans *spans)
{
    struct check_counts *counts = check->counts;

    for (size_t i = 0; i < spans->count; i++) {
        counts->freed += spans->at[i].slept > 0;
        counts->freed_long += spans->at[i].slept > check->settings->wake_ms * HIST_MSEC;
        counts->wake_ns = later(counts->wake_ns, spans->at[i].slept);
    }
}

/* The first that ends after `when`; they are in order, and apart. */
static size_t first_span(const struct spans *spans, uint64_t when)
{
    size_t low = 0, high = spans->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (spans->at[middle].to <= when)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void check_lock(struct check *check, uint32_t lock)
{
    struct spans spans = { 0 };

    find_free(check, lock, &spans);
    for (size_t j = 0; j < check->history->count && spans.count; j++) {
        const struct hist_op *op = &check->history->ops[j];
        size_t first, i;

        if (op->lock != lock || op->kind != HIST_ACQUIRE)
            continue;
        first = first_span(&spans, op->invoked);
        for (i = first; i < spans.count && spans.at[i].from < op->returned; i++)
            check_waiter(check, op, &spans.at[i]);
        check->counts->woken += i > first && op->outcome == HIST_OK;
    }
    count_spans(check, &spans);
    free(spans.at);
}

static void check_often(struct check *check)
{
    const struct check_counts *counts = check->counts;

    if (counts->freed_long >= OFTEN && counts->freed_long > counts->freed / OFTEN_IN)
        check_found(
            check, CHECK_WAKE, NULL, 0,
            "%zu times of %zu a lock was free for longer than %llu ms while somebody waited",
            counts->freed_long, counts->freed, (unsigned long long)check->settings->wake_ms);
}

void check_wake(struct check *check)
{
    const struct history *history = check->history;
    bool *seen = calloc(hist_name_count(history) + 1, sizeof *seen);

    for (size_t i = 0; i < history->count && seen; i++)
        if (history->ops[i].kind == HIST_ACQUIRE && !seen[history->ops[i].lock]) {
            seen[history->ops[i].lock] = true;
            check_lock(check, history->ops[i].lock);
        }
    check_often(check);
    free(seen);
}
