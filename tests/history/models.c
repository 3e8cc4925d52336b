/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a lock is, one operation after the other. A model is a step and a description: see
 * docs/internals/histories.md for how to add one.
 */
#include <inttypes.h>
#include <string.h>

#include "history/lin.h"

/* Words of the state. The token names the hold. */
enum { HOLDER, WHO, ENTERED, LAST_TOKEN, REGISTER };

static bool is_held_by(const struct lin_state *state, const struct lin_op *op)
{
    return state->word[HOLDER] != 0 && state->word[HOLDER] == op->token;
}

static bool give(struct lin_state *state, const struct lin_op *op)
{
    if (state->word[HOLDER] != 0)
        return false;
    state->word[HOLDER] = op->token;
    state->word[WHO] = op->who;
    state->word[ENTERED] = 1;
    return true;
}

static bool set_free(struct lin_state *state, const struct lin_op *op)
{
    if (!is_held_by(state, op))
        return false;
    state->word[HOLDER] = state->word[WHO] = state->word[ENTERED] = 0;
    return true;
}

/* What all locks have in common. */
static bool step_any(struct lin_state *state, const struct lin_op *op)
{
    switch ((enum lin_kind)op->kind) {
    case LIN_ACQUIRE:
        return give(state, op);
    case LIN_RELEASE:
    case LIN_EXPIRE:
        return set_free(state, op);
    case LIN_HELD:
        return is_held_by(state, op);
    case LIN_GONE:
        return !is_held_by(state, op);
    case LIN_BUSY:
        return state->word[HOLDER] != 0 && state->word[WHO] != op->who;
    default:
        return true; /* the register is somebody else's */
    }
}

static bool step_mutex(struct lin_state *state, const struct lin_op *op)
{
    return step_any(state, op);
}

static bool step_reentrant(struct lin_state *state, const struct lin_op *op)
{
    if (op->kind == LIN_ACQUIRE && is_held_by(state, op) && state->word[WHO] == op->who) {
        state->word[ENTERED]++;
        return true;
    }
    if (op->kind == LIN_RELEASE && is_held_by(state, op) && state->word[ENTERED] > 1) {
        state->word[ENTERED]--;
        return true;
    }
    return step_any(state, op);
}

static bool step_fenced(struct lin_state *state, const struct lin_op *op)
{
    switch ((enum lin_kind)op->kind) {
    case LIN_ACQUIRE:
        if (!op->ghost && !is_held_by(state, op) && op->token <= state->word[LAST_TOKEN])
            return false;
        if (!step_reentrant(state, op))
            return false;
        if (!op->ghost)
            state->word[LAST_TOKEN] = op->token;
        return true;
    case LIN_WRITE:
        if (op->token < state->word[REGISTER])
            return false;
        state->word[REGISTER] = op->token;
        return true;
    case LIN_REFUSED:
        return op->seen == state->word[REGISTER] && op->token < op->seen;
    default:
        return step_reentrant(state, op);
    }
}

static void describe(const struct lin_state *state, char *to, size_t room)
{
    if (state->word[HOLDER])
        snprintf(to, room, "held with token %" PRIu64 ", entered %" PRIu64 " times",
                 state->word[HOLDER], state->word[ENTERED]);
    else
        snprintf(to, room, "free; the last token was %" PRIu64, state->word[LAST_TOKEN]);
}

const struct lin_model LIN_MUTEX = { "mutex", step_mutex, describe };
const struct lin_model LIN_REENTRANT = { "reentrant", step_reentrant, describe };
const struct lin_model LIN_FENCED = { "fenced", step_fenced, describe };

static const struct lin_model *const MODEL[] = { &LIN_MUTEX, &LIN_REENTRANT, &LIN_FENCED };

const struct lin_model *lin_model_of(const char *name)
{
    for (size_t i = 0; i < sizeof MODEL / sizeof MODEL[0]; i++)
        if (strcmp(MODEL[i]->name, name) == 0)
            return MODEL[i];
    return NULL;
}
