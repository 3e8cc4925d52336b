/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program is told: each end once, each loss once and for good, none before its time, and never "busy"
 * to the one who has it.
 */
#include "history/check.h"

static const char *lock_of(const struct check *check, const struct hist_op *op)
{
    return hist_text(check->history, op->lock);
}

/* ------------------------------------------------------------------------------------------------
 * Results
 */

void check_results(struct check *check)
{
    for (size_t i = 0; i < check->history->count; i++) {
        const struct hist_op *op = &check->history->ops[i];
        unsigned due = op->returned != HIST_NEVER;

        if (!hist_is_operation(op))
            continue;
        if (op->results != due)
            check_found(check, CHECK_RESULT, &op, 1, "%s: the end was told %u times, not %u",
                        lock_of(check, op), (unsigned)op->results, due);
        else if (!due && check->process[op->process].ended != HIST_NEVER)
            check_found(check, CHECK_RESULT, &op, 1,
                        "%s: it never returned, and its process ended in order",
                        lock_of(check, op));
    }
}

/* ------------------------------------------------------------------------------------------------
 * Losses
 */

static bool says_held(const struct hist_op *op)
{
    return op->outcome == HIST_OK &&
           (hist_is_acquire(op) || op->kind == HIST_LOOK || op->kind == HIST_VERIFY);
}

/* The first operation that told the loss, by its return. */
static const struct hist_op *told_by(const struct check_hold *hold)
{
    for (size_t i = 0; i < hold->op_count; i++)
        if (hold->ops[i]->returned == hold->told)
            return hold->ops[i];
    return NULL;
}

static void check_for_good(struct check *check, const struct check_hold *hold)
{
    for (size_t i = 0; i < hold->op_count; i++)
        if (says_held(hold->ops[i]) && hold->ops[i]->invoked > hold->told)
            check_found(
                check, CHECK_TOLD, (const struct hist_op *[]){ told_by(hold), hold->ops[i] }, 2,
                "%s: it was lost, and then said to be held", hist_text(check->history, hold->lock));
}

static void check_events(struct check *check, const struct check_hold *hold)
{
    const struct hist_op *first = NULL;
    uint64_t given_back = 0;

    for (size_t i = 0; i < hold->op_count; i++)
        if (hold->ops[i]->kind == HIST_RELEASE && hold->released != HIST_NEVER &&
            hold->ops[i]->returned > given_back)
            given_back = hold->ops[i]->returned;
    for (size_t i = 0; i < hold->op_count; i++) {
        const struct hist_op *op = hold->ops[i];

        if (op->kind != HIST_LOST)
            continue;
        if (first)
            check_found(check, CHECK_TOLD, (const struct hist_op *[]){ first, op }, 2,
                        "%s: one loss, two events", hist_text(check->history, hold->lock));
        else if (given_back && op->invoked > given_back)
            check_found(check, CHECK_TOLD, (const struct hist_op *[]){ hold->ended_by, op }, 2,
                        "%s: the event came after the release",
                        hist_text(check->history, hold->lock));
        first = op;
    }
}

/* As long as the store keeps its data only time takes a hold away. */
static void check_early(struct check *check, const struct check_hold *hold)
{
    if (check->settings->contract_broken || hold->told >= hold->until)
        return;
    check_found(check, CHECK_EARLY,
                (const struct hist_op *[]){ hold->grant, hold->last_held, told_by(hold) }, 3,
                "%s: lost %.3f ms before its deadline", hist_text(check->history, hold->lock),
                check_ms(hold->until - hold->told));
}

void check_told(struct check *check)
{
    for (size_t i = 0; i < check->hold_count; i++) {
        check_events(check, &check->holds[i]);
        if (check->holds[i].told == HIST_NEVER)
            continue;
        check_for_good(check, &check->holds[i]);
        check_early(check, &check->holds[i]);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Busy
 */

/* Who had the lock then, the claims being in order; NULL: nobody that is known of. */
static const struct check_hold *holder_at(const struct check *check, uint32_t lock, uint64_t when)
{
    size_t low = 0, high = check->hold_count;

    while (low < high) { /* the first that begins later */
        size_t middle = (low + high) / 2;
        const struct check_hold *hold = &check->holds[middle];

        if (hold->lock < lock || (hold->lock == lock && hold->start <= when))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && check->holds[low - 1].lock == lock ? &check->holds[low - 1] : NULL;
}

void check_busy(struct check *check)
{
    for (size_t i = 0; i < check->history->count; i++) {
        const struct hist_op *op = &check->history->ops[i];
        const struct check_hold *hold;

        if (!hist_is_acquire(op) || op->outcome != HIST_FAIL || !op->who)
            continue;
        hold = holder_at(check, op->lock, op->invoked);
        if (!hold || hold->who != op->who || hold->process != op->process ||
            op->returned > hold->end)
            continue;
        check_found(check, CHECK_BUSY, (const struct hist_op *[]){ hold->grant, op }, 2,
                    "%s: its own holder could not enter it again", lock_of(check, op));
    }
}
