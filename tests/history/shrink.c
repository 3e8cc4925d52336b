/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shortest bad window. What was called after the return where the search was stuck is of no concern. Of
 * the rest whole holds are left out, as long as what remains cannot be explained: first all but the latest
 * ones, then one by one. A lock that could have gone through the whole could have gone through it without some
 * hold, so what remains shows a fault of the whole. That is not so for those who were refused or found the
 * lock busy, for they need somebody else: they stay only if the fault is with them.
 */
#include <stdlib.h>
#include <string.h>

#include "history/lin.h"

#define BUDGET 200000 /* configurations a trial: a trial that is not decided changes nothing */
#define MANY   2000   /* operations */

struct trial {
    const struct lin_model *model;
    const struct lin_op *ops;
    size_t count, stuck;
    bool *keep;
    struct lin_op *kept;
};

static bool needs_others(const struct lin_op *op)
{
    return op->kind == LIN_REFUSED || op->kind == LIN_BUSY;
}

/* Moves what is kept to `kept`. */
static size_t gather(struct trial *trial)
{
    size_t n = 0;

    for (size_t i = 0; i < trial->count; i++)
        if (trial->keep[i])
            trial->kept[n++] = trial->ops[i];
    return n;
}

static bool is_bad(struct trial *trial)
{
    size_t n = gather(trial);
    struct lin_result result;

    lin_check(trial->model, trial->kept, n, BUDGET, &result);
    return result.verdict == LIN_NO;
}

static bool is_of(const struct trial *trial, size_t i, uint64_t token)
{
    return trial->ops[i].token == token;
}

/* Leaves a hold out; puts it back if that explains everything. */
static void try_without(struct trial *trial, uint64_t token, bool *was)
{
    memcpy(was, trial->keep, trial->count * sizeof *was);
    for (size_t i = 0; i < trial->count; i++)
        if (is_of(trial, i, token))
            trial->keep[i] = false;
    if (!is_bad(trial))
        memcpy(trial->keep, was, trial->count * sizeof *was);
}

/* Only what happened from `since` on, and what the search was stuck at; true if that is bad. */
static bool try_since(struct trial *trial, uint64_t since)
{
    uint64_t token = trial->ops[trial->stuck].token;
    uint64_t *late = malloc((trial->count + 1) * sizeof *late);
    size_t n = 0;

    for (size_t i = 0; late && i < trial->count; i++)
        if (trial->ops[i].kind == LIN_ACQUIRE && trial->ops[i].call >= since)
            late[n++] = trial->ops[i].token;
    for (size_t i = 0; i < trial->count; i++) {
        trial->keep[i] = is_of(trial, i, token) && !needs_others(&trial->ops[i]);
        for (size_t j = 0; j < n && !trial->keep[i]; j++)
            trial->keep[i] = is_of(trial, i, late[j]) && !needs_others(&trial->ops[i]);
    }
    free(late);
    trial->keep[trial->stuck] = true;
    return is_bad(trial);
}

/* Ever further back, until it is bad. */
static bool cut_front(struct trial *trial)
{
    uint64_t end = trial->ops[trial->stuck].ret, back = HIST_MSEC;

    for (; back < end; back *= 2)
        if (try_since(trial, end - back))
            return true;
    return try_since(trial, 0);
}

static void leave_out_holds(struct trial *trial)
{
    bool *was = malloc((trial->count + 1) * sizeof *was);

    if (gather(trial) > MANY) { /* it is not about a window: they are shown as they are */
        free(was);
        return;
    }
    for (size_t i = 0; was && i < trial->count; i++)
        if (trial->keep[i] && trial->ops[i].kind == LIN_ACQUIRE &&
            trial->ops[i].token != trial->ops[trial->stuck].token)
            try_without(trial, trial->ops[i].token, was);
    free(was);
}

/* Looks and writes that add nothing. */
static void leave_out_looks(struct trial *trial)
{
    for (size_t i = 0; i < trial->count; i++) {
        uint8_t kind = trial->ops[i].kind;

        if (!trial->keep[i] || i == trial->stuck)
            continue;
        if (kind != LIN_HELD && kind != LIN_GONE && kind != LIN_WRITE)
            continue;
        trial->keep[i] = false;
        if (!is_bad(trial))
            trial->keep[i] = true;
    }
}

/* Those that have not returned where the search was stuck need not have taken effect. */
static size_t cut_end(struct lin_op *ops, size_t count, size_t *stuck)
{
    uint64_t end = ops[*stuck].ret;
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        struct lin_op op = ops[i];

        if (op.call > end)
            continue;
        if (!op.optional && op.ret > end) {
            op.optional = true;
            op.ret = op.last = HIST_NEVER;
        }
        if (i == *stuck)
            *stuck = n;
        ops[n++] = op;
    }
    return n;
}

/* What is kept goes to the front. */
static size_t settle(const struct trial *trial, struct lin_op *ops, size_t *stuck)
{
    size_t n = 0, at = trial->stuck;

    for (size_t i = 0; i < trial->count; i++) {
        if (!trial->keep[i])
            continue;
        if (i == at)
            *stuck = n;
        ops[n++] = ops[i];
    }
    return n;
}

/* Who needs somebody else is shown with everybody who was there. */
static void keep_company(struct trial *trial)
{
    const struct lin_op *stuck = &trial->ops[trial->stuck];

    for (size_t i = 0; i < trial->count; i++) {
        const struct lin_op *op = &trial->ops[i];
        bool meets = op->ret >= stuck->call && op->call <= stuck->ret && !op->optional;

        trial->keep[i] = meets || is_of(trial, i, stuck->seen ? stuck->seen : stuck->token);
    }
    trial->keep[trial->stuck] = true;
}

size_t lin_shrink(const struct lin_model *model, struct lin_op *ops, size_t count, size_t *stuck)
{
    struct trial trial = { .model = model, .ops = ops };

    trial.count = count = cut_end(ops, count, stuck);
    trial.stuck = *stuck;
    trial.keep = calloc(count + 1, sizeof *trial.keep);
    trial.kept = malloc((count + 1) * sizeof *trial.kept);
    if (trial.keep && trial.kept && needs_others(&ops[*stuck])) {
        keep_company(&trial);
        count = settle(&trial, ops, stuck);
    } else if (trial.keep && trial.kept && cut_front(&trial)) {
        leave_out_holds(&trial);
        leave_out_looks(&trial);
        count = settle(&trial, ops, stuck);
    }
    free(trial.keep);
    free(trial.kept);
    return count;
}
