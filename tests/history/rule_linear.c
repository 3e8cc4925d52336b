/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a history to what the models understand, a lock at a time; and from what the search says to lines.
 *
 *   acquire, try     ok: acquire. No outcome: optional, within one ttl (only where "busy" is strict: else
 *                    nothing can depend on it). fail with BUSY, where strict: busy
 *   release          ok: release. fail: gone. No outcome: optional release
 *   look, verify     ok: held. fail: gone
 *   lost             gone
 *   write            ok: write. fail: refused
 *   each hold        may end by time, from its deadline on; where death frees, from the death on
 */
#include <stdlib.h>
#include <string.h>

#include "holdfast/holdfast.h"
#include "history/check.h"

#define GHOST (UINT64_C(1) << 63) /* no token is so large */

struct ops {
    struct lin_op *at;
    size_t count, room;
};

static void add(struct ops *ops, const struct lin_op *op)
{
    if (ops->count == ops->room) {
        ops->room = ops->room ? 2 * ops->room : 1024;
        ops->at = realloc(ops->at, ops->room * sizeof *ops->at);
        if (!ops->at) {
            fputs("history: out of memory\n", stderr);
            exit(2);
        }
    }
    ops->at[ops->count++] = *op;
}

static struct lin_op must(const struct hist_op *op, enum lin_kind kind)
{
    return (struct lin_op){ .call = op->invoked,
                            .ret = op->returned,
                            .last = HIST_NEVER,
                            .token = op->token,
                            .seen = op->seen,
                            .who = op->who,
                            .kind = (uint8_t)kind,
                            .source = op };
}

static struct lin_op may(const struct hist_op *op, enum lin_kind kind, uint64_t last)
{
    struct lin_op maybe = must(op, kind);

    maybe.optional = true;
    maybe.ret = HIST_NEVER;
    maybe.last = last;
    return maybe;
}

/* An attempt without a result: it may have had the lock for a while. */
static void add_ghost(const struct check *check, const struct hist_op *op, struct ops *ops)
{
    uint64_t ttl = check->settings->ttl_ms * HIST_MSEC, last = op->returned;
    struct lin_op maybe;

    if (last == HIST_NEVER)
        last = check->process[op->process].killed_by;
    maybe = may(op, LIN_ACQUIRE, last > HIST_NEVER - ttl ? HIST_NEVER : last + ttl);
    maybe.ghost = true;
    maybe.token = GHOST | (uint64_t)(op - check->history->ops);
    add(ops, &maybe);
    maybe.kind = LIN_RELEASE;
    maybe.last = HIST_NEVER;
    add(ops, &maybe);
}

static void add_acquire(const struct check *check, const struct hist_op *op, struct ops *ops)
{
    struct lin_op lin = must(op, LIN_ACQUIRE);

    if (op->outcome == HIST_OK) {
        add(ops, &lin);
    } else if (check->settings->busy_strict && op->outcome == HIST_UNKNOWN) {
        add_ghost(check, op, ops);
    } else if (check->settings->busy_strict && op->error == HF_ERR_BUSY) {
        lin.kind = LIN_BUSY;
        add(ops, &lin);
    }
}

static void add_seen(const struct hist_op *op, enum lin_kind ok, enum lin_kind fail,
                     struct ops *ops)
{
    struct lin_op lin;

    if (op->outcome == HIST_UNKNOWN)
        return;
    lin = must(op, op->outcome == HIST_OK ? ok : fail);
    add(ops, &lin);
}

static void add_op(const struct check *check, const struct hist_op *op, struct ops *ops)
{
    struct lin_op maybe;

    switch ((enum hist_kind)op->kind) {
    case HIST_ACQUIRE:
    case HIST_TRY:
        add_acquire(check, op, ops);
        break;
    case HIST_RELEASE:
        maybe = may(op, LIN_RELEASE, HIST_NEVER);
        if (op->outcome == HIST_UNKNOWN)
            add(ops, &maybe);
        add_seen(op, LIN_RELEASE, LIN_GONE, ops);
        break;
    case HIST_LOOK:
    case HIST_VERIFY:
    case HIST_LOST:
        add_seen(op, op->kind == HIST_LOST ? LIN_GONE : LIN_HELD, LIN_GONE, ops);
        break;
    case HIST_WRITE:
        add_seen(op, LIN_WRITE, LIN_REFUSED, ops);
        break;
    default:
        break;
    }
}

static void add_expiry(const struct check *check, const struct check_hold *hold, struct ops *ops)
{
    uint64_t killed = check_killed(check, hold->process), from = hold->until;
    const struct hist_op *op = hold->last_held ? hold->last_held : hold->grant;
    struct lin_op maybe = may(op, LIN_EXPIRE, HIST_NEVER);

    if (check->settings->death_frees && killed < from)
        from = killed;
    if (from < hold->asked)
        from = hold->asked;
    maybe.call = from;
    maybe.token = hold->token;
    add(ops, &maybe);
}

/* ------------------------------------------------------------------------------------------------
 * Reporting
 */

static int by_line(const void *a, const void *b)
{
    const struct hist_op *x = *(const struct hist_op *const *)a;
    const struct hist_op *y = *(const struct hist_op *const *)b;

    return x->invoked != y->invoked ? (x->invoked < y->invoked ? -1 : 1) : x < y ? -1 : x > y;
}

/* The lines of the operations, each once, in order. */
static size_t lines_of(const struct ops *ops, const struct hist_op **lines)
{
    size_t n = 0, last = 0;

    for (size_t i = 0; i < ops->count; i++)
        lines[n++] = ops->at[i].source;
    if (n == 0)
        return 0;
    qsort(lines, n, sizeof(const struct hist_op *), by_line);
    for (size_t i = 1; i < n; i++)
        if (lines[i] != lines[last])
            lines[++last] = lines[i];
    return last + 1;
}

static void explain(struct check *check, uint32_t lock, struct ops *ops,
                    const struct lin_result *result)
{
    const struct lin_model *model = check->options->model;
    size_t stuck = result->stuck;
    const struct hist_op *what = ops->at[stuck].source, **lines;
    char state[128];

    model->describe(&result->state, state, sizeof state);
    ops->count = lin_shrink(model, ops->at, ops->count, &stuck);
    lines = malloc((ops->count + 1) * sizeof(const struct hist_op *));
    if (!lines)
        return;
    check_found(
        check, CHECK_LINEAR, lines, lines_of(ops, lines),
        "%s: no order of these explains the %s of p%u that returned at %llu (%s): before it "
        "the lock was %s",
        hist_text(check->history, lock), hist_kind_word(what->kind), (unsigned)what->process,
        (unsigned long long)what->returned, model->name, state);
    free(lines);
}

static void search(struct check *check, uint32_t lock, struct ops *ops)
{
    struct lin_result result;

    lin_check(check->options->model, ops->at, ops->count, check->options->budget, &result);
    check->counts->configurations += result.configurations;
    if (result.verdict == LIN_GAVE_UP)
        check_found(check, CHECK_LINEAR, NULL, 0,
                    "%s: not decided after %zu configurations of %zu operations",
                    hist_text(check->history, lock), result.configurations, ops->count);
    else if (result.verdict == LIN_NO)
        explain(check, lock, ops, &result);
}

void check_linear(struct check *check)
{
    const struct history *history = check->history;
    uint32_t locks = hist_name_count(history);
    struct ops *ops = calloc(locks, sizeof *ops);

    if (check->settings->contract_broken || !ops) {
        free(ops);
        return; /* there is no lock any more that it could be like */
    }
    for (size_t i = 0; i < history->count; i++)
        if (hist_is_operation(&history->ops[i]))
            add_op(check, &history->ops[i], &ops[history->ops[i].lock]);
    for (size_t i = 0; i < check->hold_count; i++)
        add_expiry(check, &check->holds[i], &ops[check->holds[i].lock]);
    for (uint32_t lock = 0; lock < locks; lock++) {
        if (ops[lock].count)
            search(check, lock, &ops[lock]);
        free(ops[lock].at);
    }
    free(ops);
}
