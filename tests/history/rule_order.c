/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must grow: tokens, and what the fenced register takes.
 *
 * Tokens are drawn where the store grants. A hold that is passed on inside a process stays one tenure in the
 * store (it keeps its owner id), with tokens of one block; so the blocks of tenures grow, in every run. What
 * one claim's token is to the next one's is only promised while the store keeps its data: else the former
 * holder may pass on, with its own tokens, what it does not know to be lost.
 */
#include <stdlib.h>

#include "history/check.h"

static int by_invocation(const void *a, const void *b)
{
    const struct check_item *x = a, *y = b;

    return x->invoked != y->invoked ? (x->invoked < y->invoked ? -1 : 1) : 0;
}

static int by_return(const void *a, const void *b)
{
    const struct check_item *x = a, *y = b;

    return x->returned != y->returned ? (x->returned < y->returned ? -1 : 1) : 0;
}

static struct check_item *make_items(size_t count)
{
    struct check_item *items = malloc((count + 1) * sizeof *items);

    if (!items) {
        fputs("history: out of memory\n", stderr);
        exit(2);
    }
    return items;
}

void check_order(struct check *check, enum check_rule rule, struct check_item *items, size_t count,
                 bool strict, const char *what)
{
    struct check_item *done = make_items(count);
    const struct check_item *highest = NULL; /* of those that had returned */
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        done[i] = items[i];
    if (count) {
        qsort(items, count, sizeof *items, by_invocation);
        qsort(done, count, sizeof *done, by_return);
    }
    for (size_t i = 0; i < count; i++) {
        for (; n < count && done[n].returned < items[i].invoked; n++)
            if (!highest || done[n].high > highest->high)
                highest = &done[n];
        if (!highest || items[i].low > highest->high || (items[i].low == highest->high && !strict))
            continue;
        check_found(check, rule, (const struct hist_op *[]){ highest->op, items[i].op }, 2,
                    "%s: %s with token %llu after token %llu",
                    hist_text(check->history, items[i].op->lock), what,
                    (unsigned long long)items[i].low, (unsigned long long)highest->high);
    }
    free(done);
}

/* ------------------------------------------------------------------------------------------------
 * Tokens
 */

/* Holds of one lock, from check->holds[first]. Returns the first of the next lock. */
static size_t next_lock(const struct check *check, size_t first)
{
    size_t i = first;

    while (i < check->hold_count && check->holds[i].lock == check->holds[first].lock)
        i++;
    return i;
}

static struct check_item item_of(const struct check_hold *hold)
{
    return (struct check_item){ .invoked = hold->asked,
                                .returned = hold->start,
                                .low = hold->token,
                                .high = hold->token,
                                .op = hold->grant };
}

/* Who has the lock at the moment when the acquire returns got it after all whose acquires had returned then,
 * however early it asked: as long as only one has it at a time. */
static struct check_item claim_of(const struct check_hold *hold)
{
    struct check_item item = item_of(hold);

    if (hold->end > hold->start)
        item.invoked = hold->start;
    return item;
}

static int by_owner(const void *a, const void *b)
{
    const struct check_hold *x = *(const struct check_hold *const *)a;
    const struct check_hold *y = *(const struct check_hold *const *)b;

    return x->owner != y->owner ? (x->owner < y->owner ? -1 : 1) : 0;
}

/* One item a tenure. Holds without an owner id are tenures of their own. */
static size_t make_tenures(const struct check *check, size_t first, size_t end,
                           struct check_item *items)
{
    size_t n = 0, count = end - first;
    const struct check_hold **by = malloc((count + 1) * sizeof(const struct check_hold *));

    for (size_t i = 0; by && i < count; i++)
        by[i] = &check->holds[first + i];
    if (by && count)
        qsort(by, count, sizeof(const struct check_hold *), by_owner);
    for (size_t i = 0; by && i < count; i++) {
        struct check_item item = item_of(by[i]), *last = n ? &items[n - 1] : NULL;

        if (!last || !by[i]->owner || by[i]->owner != by[i - 1]->owner) {
            items[n++] = item;
            continue;
        }
        last->low = item.low < last->low ? item.low : last->low;
        last->high = item.high > last->high ? item.high : last->high;
        last->invoked = item.invoked < last->invoked ? item.invoked : last->invoked;
        last->returned = item.returned < last->returned ? item.returned : last->returned;
    }
    free(by);
    return n;
}

/* A token names one hold: it is never given to somebody else. */
static void check_unique(struct check *check)
{
    for (size_t i = 0; i < check->hold_count; i++) {
        const struct check_hold *hold = &check->holds[i];

        for (size_t j = 0; j < hold->op_count; j++) {
            const struct hist_op *op = hold->ops[j];

            if (!hist_is_granted(op))
                continue;
            if (op->who == hold->who && op->owner == hold->owner && op->process == hold->process)
                continue;
            check_found(check, CHECK_TOKEN, (const struct hist_op *[]){ hold->grant, op }, 2,
                        "%s: token %llu was given to two owners",
                        hist_text(check->history, hold->lock), (unsigned long long)hold->token);
        }
    }
}

void check_tokens(struct check *check)
{
    struct check_item *items = make_items(check->hold_count);
    size_t end;

    check_unique(check);
    for (size_t first = 0; first < check->hold_count; first = end) {
        end = next_lock(check, first);
        check_order(check, CHECK_TOKEN, items, make_tenures(check, first, end, items), true,
                    "the store granted it");
        if (check->settings->contract_broken)
            continue;
        for (size_t i = first; i < end; i++)
            items[i - first] = claim_of(&check->holds[i]);
        check_order(check, CHECK_TOKEN, items, end - first, true, "it was acquired");
    }
    free(items);
}

/* ------------------------------------------------------------------------------------------------
 * The register
 */

/* Who has the lock is never refused: nobody can have written with a newer token. */
static void check_refused(struct check *check, const struct hist_op *op)
{
    const struct check_hold *hold = check_hold_of(check, op);

    if (check->settings->contract_broken || !hold)
        return;
    if (op->invoked < hold->start || op->returned >= hold->end)
        return;
    check_found(check, CHECK_REGISTER, (const struct hist_op *[]){ hold->grant, op }, 2,
                "%s: the holder was refused: token %llu was there already",
                hist_text(check->history, op->lock), (unsigned long long)op->seen);
}

void check_register(struct check *check)
{
    const struct history *history = check->history;
    struct check_item *items = make_items(history->count);
    uint32_t locks = hist_name_count(history);
    size_t n = 0, *writes = calloc(locks + 1, sizeof *writes);

    for (size_t i = 0; i < history->count && writes; i++) {
        const struct hist_op *op = &history->ops[i];

        if (op->kind == HIST_WRITE && op->outcome == HIST_FAIL)
            check_refused(check, op);
        writes[op->lock] += op->kind == HIST_WRITE && op->outcome == HIST_OK;
    }
    for (uint32_t lock = 0; lock < locks && writes; lock++, n = 0) {
        for (size_t i = 0; i < history->count && writes[lock]; i++) {
            const struct hist_op *op = &history->ops[i];

            if (op->lock == lock && op->kind == HIST_WRITE && op->outcome == HIST_OK)
                items[n++] =
                    (struct check_item){ op->invoked, op->returned, op->token, op->token, op };
        }
        check_order(check, CHECK_REGISTER, items, n, false, "a write was taken");
    }
    free(writes);
    free(items);
}
