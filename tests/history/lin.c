/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search. Depth first: at each step some operation takes effect that is invoked before the first return of
 * those that have not. First of all the one that returns first (it must come soon, and mostly it is next);
 * then the other ones in the order of their calls; the optional ones last.
 *
 * Three lists of operations that have not taken effect: `calls` (required, by call), `returns` (the same, by
 * return), `maybes` (optional, by call). Taking out and putting back in is O(1), since it is undone in reverse.
 */
#include "history/lin.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS, RETURNS, MAYBES, LISTS };

#define NONE UINT32_MAX

struct link {
    uint32_t prev, next;
};

struct frame {
    uint32_t op;
    uint64_t now;
    uint64_t set[2];
    struct lin_state state;
};

struct memo {
    uint64_t (*key)[2];
    size_t count, room; /* a power of 2 */
};

struct search {
    const struct lin_model *model;
    const struct lin_op *ops;
    uint32_t count; /* the links' number for the lists' heads */
    struct link *list[LISTS];
    struct frame *stack;
    size_t depth;
    /* the configuration */
    struct lin_state state;
    uint64_t set[2]; /* hash of what has taken effect */
    uint64_t now;    /* the latest call of these: time is not before that */
    struct memo memo;
};

static void *need(void *memory)
{
    if (!memory) {
        fputs("history: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

/* ------------------------------------------------------------------------------------------------
 * What was seen
 */

/* Source: Steele, Lea and Flood, splitmix64. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static void toggle(uint64_t *set, uint32_t op)
{
    set[0] ^= mix(2 * (uint64_t)op);
    set[1] ^= mix(2 * (uint64_t)op + 1);
}

static void key_of(const uint64_t *set, const struct lin_state *state, uint64_t *ret_key)
{
    uint64_t a = set[0], b = set[1];

    for (size_t i = 0; i < sizeof state->word / sizeof state->word[0]; i++) {
        a = mix(a ^ state->word[i]);
        b = mix(b + state->word[i] + i);
    }
    ret_key[0] = a | 1; /* 0: an empty place */
    ret_key[1] = b;
}

static bool insert(struct memo *memo, const uint64_t *key)
{
    size_t i = (size_t)key[0] & (memo->room - 1);

    while (memo->key[i][0]) {
        if (memo->key[i][0] == key[0] && memo->key[i][1] == key[1])
            return false;
        i = (i + 1) & (memo->room - 1);
    }
    memo->key[i][0] = key[0];
    memo->key[i][1] = key[1];
    memo->count++;
    return true;
}

static void grow(struct memo *memo)
{
    struct memo bigger = { .room = memo->room ? 2 * memo->room : 1024 };

    bigger.key = need(calloc(bigger.room, sizeof *bigger.key));
    for (size_t i = 0; i < memo->room; i++)
        if (memo->key[i][0])
            insert(&bigger, memo->key[i]);
    free(memo->key);
    *memo = bigger;
}

/* False: it was there before. */
static bool remember(struct memo *memo, const uint64_t *set, const struct lin_state *state)
{
    uint64_t key[2];

    if (2 * memo->count >= memo->room)
        grow(memo);
    key_of(set, state, key);
    return insert(memo, key);
}

/* ------------------------------------------------------------------------------------------------
 * Lists
 */

static const struct lin_op *sorted; /* for qsort(), which hands nothing on */

static int by_call(const void *a, const void *b)
{
    const struct lin_op *x = &sorted[*(const uint32_t *)a], *y = &sorted[*(const uint32_t *)b];

    return x->call != y->call ? (x->call < y->call ? -1 : 1) : x < y ? -1 : x > y;
}

static int by_return(const void *a, const void *b)
{
    const struct lin_op *x = &sorted[*(const uint32_t *)a], *y = &sorted[*(const uint32_t *)b];

    return x->ret != y->ret ? (x->ret < y->ret ? -1 : 1) : x < y ? -1 : x > y;
}

static void make_list(struct search *s, int which, uint32_t *order,
                      int (*compare)(const void *, const void *))
{
    struct link *list = need(malloc((s->count + 1) * sizeof *list));
    uint32_t n = 0, last = s->count;

    for (uint32_t i = 0; i < s->count; i++)
        if (s->ops[i].optional == (which == MAYBES))
            order[n++] = i;
    sorted = s->ops;
    if (n)
        qsort(order, n, sizeof *order, compare);
    list[last].next = list[last].prev = last;
    for (uint32_t i = 0; i < n; i++) {
        list[order[i]] = (struct link){ .prev = last, .next = s->count };
        list[last].next = order[i];
        last = order[i];
    }
    list[s->count].prev = last;
    s->list[which] = list;
}

static void take_out(struct link *list, uint32_t op)
{
    list[list[op].prev].next = list[op].next;
    list[list[op].next].prev = list[op].prev;
}

static void put_back(struct link *list, uint32_t op)
{
    list[list[op].prev].next = op;
    list[list[op].next].prev = op;
}

static void begin(struct search *s, const struct lin_model *model, const struct lin_op *ops,
                  size_t count)
{
    uint32_t *order = need(malloc((count + 1) * sizeof *order));

    memset(s, 0, sizeof *s);
    s->model = model;
    s->ops = ops;
    s->count = (uint32_t)count;
    make_list(s, CALLS, order, by_call);
    make_list(s, RETURNS, order, by_return);
    make_list(s, MAYBES, order, by_call);
    free(order);
    s->stack = need(malloc((count + 1) * sizeof *s->stack));
}

static void end(struct search *s)
{
    for (int i = 0; i < LISTS; i++)
        free(s->list[i]);
    free(s->stack);
    free(s->memo.key);
}

/* ------------------------------------------------------------------------------------------------
 * Steps
 */

/* Who must take effect before anything that is called after its return. */
static uint32_t first_return(const struct search *s)
{
    return s->list[RETURNS][s->count].next;
}

/* The candidate after `after` (NONE: the first); NONE: there are no more. */
static uint32_t next_candidate(const struct search *s, uint32_t after)
{
    uint32_t first = first_return(s), i;
    uint64_t by = s->ops[first].ret;
    const struct link *calls = s->list[CALLS], *maybes = s->list[MAYBES];

    if (after == NONE)
        return first;
    if (after == first || !s->ops[after].optional) {
        i = after == first ? calls[s->count].next : calls[after].next;
        for (; i != s->count && s->ops[i].call <= by; i = calls[i].next)
            if (i != first)
                return i;
        i = maybes[s->count].next;
    } else {
        i = maybes[after].next;
    }
    for (; i != s->count && s->ops[i].call <= by; i = maybes[i].next)
        if (s->ops[i].last >= s->now)
            return i;
    return NONE;
}

static void relink(struct search *s, uint32_t op, void (*change)(struct link *, uint32_t))
{
    if (s->ops[op].optional) {
        change(s->list[MAYBES], op);
    } else {
        change(s->list[CALLS], op);
        change(s->list[RETURNS], op);
    }
}

/* False: it makes no sense now, or leads to where we have been. */
static bool take_effect(struct search *s, uint32_t op)
{
    struct lin_state state = s->state;
    uint64_t set[2] = { s->set[0], s->set[1] };

    if (!s->model->step(&state, &s->ops[op]))
        return false;
    toggle(set, op);
    if (!remember(&s->memo, set, &state))
        return false;
    s->stack[s->depth++] = (struct frame){
        .op = op, .now = s->now, .set = { s->set[0], s->set[1] }, .state = s->state
    };
    s->state = state;
    s->set[0] = set[0];
    s->set[1] = set[1];
    if (s->ops[op].call > s->now)
        s->now = s->ops[op].call;
    relink(s, op, take_out);
    return true;
}

/* The last one did not, after all. */
static uint32_t undo(struct search *s)
{
    const struct frame *frame = &s->stack[--s->depth];

    s->state = frame->state;
    s->set[0] = frame->set[0];
    s->set[1] = frame->set[1];
    s->now = frame->now;
    relink(s, frame->op, put_back);
    return frame->op;
}

/* Keeps the dead end that explains most. */
static void note_dead_end(const struct search *s, struct lin_result *result, bool *any)
{
    uint32_t first = first_return(s);

    if (*any && s->ops[first].ret <= s->ops[result->stuck].ret)
        return;
    *any = true;
    result->stuck = first;
    result->state = s->state;
}

void lin_check(const struct lin_model *model, const struct lin_op *ops, size_t count, size_t budget,
               struct lin_result *ret_result)
{
    struct search s;
    uint32_t after = NONE;
    bool any = false;

    begin(&s, model, ops, count);
    *ret_result = (struct lin_result){ .verdict = LIN_YES };
    while (first_return(&s) != s.count) {
        uint32_t op = next_candidate(&s, after);

        if (op == NONE) {
            note_dead_end(&s, ret_result, &any);
            if (s.depth == 0) {
                ret_result->verdict = LIN_NO;
                break;
            }
            after = undo(&s);
        } else {
            after = take_effect(&s, op) ? NONE : op;
        }
        if (s.memo.count > budget) {
            ret_result->verdict = LIN_GAVE_UP;
            break;
        }
    }
    ret_result->configurations = s.memo.count;
    end(&s);
}
