/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds and their claims, out of operations.
 *
 * A claim is what the program was told: it begins when the acquire has returned, and ends with the first of
 *   - the release's invocation (of the last handle);
 *   - the deadline, as far as it was seen: each look that says "held" says for how much longer;
 *   - the loss, when it was told;
 *   - the process's death, where that frees its locks.
 * All of this is known without knowing how long anything took, so claims do not depend on a busy machine.
 */
#include <stdlib.h>
#include <string.h>

#include "history/check.h"

static void *need(void *memory)
{
    if (!memory) {
        fputs("history: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > HIST_NEVER - b ? HIST_NEVER : a + b;
}

uint64_t check_killed(const struct check *check, uint32_t process)
{
    return process < check->process_count ? check->process[process].killed : HIST_NEVER;
}

/* ------------------------------------------------------------------------------------------------
 * Processes and troubles
 */

static void make_processes(struct check *check)
{
    const struct history *history = check->history;

    for (size_t i = 0; i < history->count; i++)
        if (history->ops[i].process >= check->process_count)
            check->process_count = history->ops[i].process + 1;
    check->process = need(malloc((check->process_count + 1) * sizeof *check->process));
    for (uint32_t i = 0; i < check->process_count; i++)
        check->process[i] = (struct check_process){ HIST_NEVER, HIST_NEVER, HIST_NEVER };
    for (size_t i = 0; i < history->count; i++) {
        const struct hist_op *op = &history->ops[i];
        struct check_process *process = &check->process[op->process];

        if (op->kind == HIST_KILL) {
            process->killed = earlier(process->killed, op->invoked);
            process->killed_by = op->returned;
        }
        if (op->kind == HIST_END)
            process->ended = op->invoked;
    }
}

static void make_troubles(struct check *check)
{
    const struct history *history = check->history;

    check->troubles = need(malloc((history->count + 1) * sizeof *check->troubles));
    for (size_t i = 0; i < history->count; i++) {
        const struct hist_op *op = &history->ops[i];

        if (op->kind == HIST_FAULT || op->kind == HIST_STOP || op->kind == HIST_STALL)
            check->troubles[check->trouble_count++] = op;
        check->first = i ? check->first : op->invoked;
        check->last = later(check->last, op->returned == HIST_NEVER ? op->invoked : op->returned);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Holds
 */

static int by_token(const void *a, const void *b)
{
    const struct hist_op *x = *(const struct hist_op *const *)a;
    const struct hist_op *y = *(const struct hist_op *const *)b;

    if (x->lock != y->lock)
        return x->lock < y->lock ? -1 : 1;
    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    if (x->invoked != y->invoked)
        return x->invoked < y->invoked ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int by_start(const void *a, const void *b)
{
    const struct check_hold *x = a, *y = b;

    if (x->lock != y->lock)
        return x->lock < y->lock ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

static void add_grant(struct check_hold *hold, const struct hist_op *op)
{
    hold->grants++;
    hold->asked = earlier(hold->asked, op->invoked);
    if (op->returned >= hold->start)
        return;
    hold->start = op->returned;
    hold->grant = op;
    hold->who = op->who;
    hold->owner = op->owner;
    hold->process = op->process;
}

static bool says_lost(const struct hist_op *op)
{
    if (op->kind == HIST_LOST)
        return true;
    return op->outcome == HIST_FAIL &&
           (op->kind == HIST_LOOK || op->kind == HIST_RELEASE || op->kind == HIST_VERIFY);
}

static void add_op(struct check_hold *hold, const struct hist_op *op)
{
    if (hist_is_granted(op))
        add_grant(hold, op);
    if (op->outcome == HIST_OK && op->until > hold->until && op->kind != HIST_RELEASE) {
        hold->until = op->until;
        hold->last_held = op;
    }
    if (says_lost(op))
        hold->told = earlier(hold->told, op->returned);
    if (op->kind == HIST_RELEASE) {
        hold->releases++;
        hold->releases_done += op->outcome == HIST_OK;
        hold->released = op->invoked; /* they come in this order: the last one counts */
        hold->ended_by = op;
    }
}

/* When the store has nothing of it any more, at the latest: for those who want to know that it is free. */
static uint64_t gone_by(const struct check *check, const struct check_hold *hold)
{
    const struct hist_settings *settings = check->settings;
    const struct check_process *process = &check->process[hold->process];
    uint64_t lease = (settings->ttl_ms + settings->op_timeout_ms) * HIST_MSEC, last = 0;

    for (size_t i = 0; i < hold->op_count; i++)
        last = later(last, hold->ops[i]->returned);
    if (hold->released != HIST_NEVER && hold->releases_done == hold->releases)
        return last;
    if (hold->released != HIST_NEVER && last != HIST_NEVER)
        return plus(last, lease);
    if (process->killed != HIST_NEVER)
        return check->settings->death_frees ? process->killed_by : plus(process->killed_by, lease);
    return hold->told == HIST_NEVER ? HIST_NEVER : plus(hold->told, lease);
}

static void close_hold(struct check *check, struct check_hold *hold)
{
    uint64_t killed = check_killed(check, hold->process);

    if (hold->releases < hold->grants)
        hold->released = HIST_NEVER;
    hold->end = earlier(hold->until, earlier(hold->released, hold->told));
    if (check->settings->death_frees)
        hold->end = earlier(hold->end, killed);
    hold->end = later(hold->end, hold->start);
    if (hold->end == hold->until || hold->end == hold->told)
        hold->ended_by = NULL;
    hold->gone = gone_by(check, hold);
}

static size_t note_ops(struct check *check)
{
    const struct history *history = check->history;
    size_t n = 0;

    check->by_token = need(malloc((history->count + 1) * sizeof(const struct hist_op *)));
    for (size_t i = 0; i < history->count; i++)
        if (hist_is_operation(&history->ops[i]) && history->ops[i].token)
            check->by_token[n++] = &history->ops[i];
    if (n)
        qsort(check->by_token, n, sizeof(const struct hist_op *), by_token);
    return n;
}

static void make_index(struct check *check)
{
    check->hold_of = need(calloc(check->history->count + 1, sizeof(const struct check_hold *)));
    for (size_t i = 0; i < check->hold_count; i++)
        for (size_t j = 0; j < check->holds[i].op_count; j++)
            check->hold_of[check->holds[i].ops[j] - check->history->ops] = &check->holds[i];
}

void check_make_holds(struct check *check)
{
    size_t count, end;

    make_processes(check);
    make_troubles(check);
    count = note_ops(check);
    check->holds = need(calloc(count + 1, sizeof *check->holds));
    for (size_t i = 0; i < count; i = end) {
        const struct hist_op *first = check->by_token[i];
        struct check_hold hold = { .lock = first->lock,
                                   .token = first->token,
                                   .asked = HIST_NEVER,
                                   .start = HIST_NEVER,
                                   .released = HIST_NEVER,
                                   .told = HIST_NEVER,
                                   .ops = check->by_token + i };

        for (end = i; end < count && check->by_token[end]->token == first->token &&
                      check->by_token[end]->lock == first->lock;
             end++)
            add_op(&hold, check->by_token[end]);
        hold.op_count = end - i;
        if (!hold.grants)
            continue; /* linear says what is wrong with it */
        close_hold(check, &hold);
        check->holds[check->hold_count++] = hold;
    }
    if (check->hold_count)
        qsort(check->holds, check->hold_count, sizeof *check->holds, by_start);
    make_index(check);
}

void check_free_holds(struct check *check)
{
    free(check->holds);
    free(check->hold_of);
    free(check->by_token);
    free(check->process);
    free(check->troubles);
}

const struct check_hold *check_hold_of(const struct check *check, const struct hist_op *op)
{
    return check->hold_of[op - check->history->ops];
}

size_t check_lines_of(const struct check_hold *hold, const struct hist_op **to)
{
    size_t n = 0;

    to[n++] = hold->grant;
    if (hold->last_held && hold->last_held != hold->grant)
        to[n++] = hold->last_held;
    if (hold->ended_by)
        to[n++] = hold->ended_by;
    return n;
}
