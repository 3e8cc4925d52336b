/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search against brute force: all histories of a few operations, in all ways in which they can overlap. What
 * brute force says is what the definition says: some order of the operations, the optional ones at will, in
 * which no operation comes after one that was called after its end, makes sense to a lock. The lock is written
 * down here once more, in other words than the models have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "history/lin.h"

#define MAX_OPS 6

/* ------------------------------------------------------------------------------------------------
 * A lock, plainly
 */

enum rules { PLAIN, AGAIN, FENCED };

struct lock {
    bool held;
    unsigned times;
    uint64_t token, who, highest, written;
};

static bool try_acquire(struct lock *lock, const struct lin_op *op, enum rules rules)
{
    if (lock->held) {
        if (rules == PLAIN || lock->token != op->token || lock->who != op->who)
            return false;
        lock->times++;
        return true;
    }
    if (rules == FENCED && !op->ghost && op->token <= lock->highest)
        return false;
    lock->held = true;
    lock->times = 1;
    lock->token = op->token;
    lock->who = op->who;
    if (!op->ghost)
        lock->highest = op->token;
    return true;
}

static bool happen(struct lock *lock, const struct lin_op *op, enum rules rules)
{
    bool mine = lock->held && lock->token == op->token;

    if (op->kind == LIN_ACQUIRE)
        return try_acquire(lock, op, rules);
    if (op->kind == LIN_HELD)
        return mine;
    if (op->kind == LIN_GONE)
        return !mine;
    if (op->kind == LIN_BUSY)
        return lock->held && lock->who != op->who;
    if (op->kind == LIN_WRITE || op->kind == LIN_REFUSED) {
        if (rules != FENCED)
            return true;
        if (op->kind == LIN_REFUSED)
            return lock->written == op->seen && lock->written > op->token;
        if (lock->written > op->token)
            return false;
        lock->written = op->token;
        return true;
    }
    if (!mine)
        return false;
    lock->times--;
    if (lock->times == 0 || op->kind == LIN_EXPIRE)
        lock->held = false;
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * All orders
 */

static bool comes_too_soon(const struct lin_op *ops, int count, unsigned done, int next)
{
    for (int i = 0; i < count; i++)
        if (!(done >> i & 1) && i != next && !ops[i].optional && ops[i].ret < ops[next].call)
            return true;
    return false;
}

static bool comes_too_late(const struct lin_op *ops, int count, unsigned done, int next)
{
    for (int i = 0; i < count; i++)
        if ((done >> i & 1) && ops[i].call > (ops[next].optional ? ops[next].last : ops[next].ret))
            return true;
    return false;
}

static bool exists_order(const struct lin_op *ops, int count, unsigned done,
                         const struct lock *lock, enum rules rules)
{
    bool complete = true;

    for (int i = 0; i < count; i++)
        complete = complete && (ops[i].optional || (done >> i & 1));
    if (complete)
        return true;
    for (int i = 0; i < count; i++) {
        struct lock then = *lock;

        if ((done >> i & 1) || comes_too_soon(ops, count, done, i) ||
            comes_too_late(ops, count, done, i) || !happen(&then, &ops[i], rules))
            continue;
        if (exists_order(ops, count, done | 1u << i, &then, rules))
            return true;
    }
    return false;
}

static bool brute_force(const struct lin_op *ops, int count, enum rules rules)
{
    struct lock lock = { 0 };

    return exists_order(ops, count, 0, &lock, rules);
}

/* ------------------------------------------------------------------------------------------------
 * All histories: which operations, and how they overlap
 */

/* The letters that histories are made of. */
static const struct lin_op A1 = { .kind = LIN_ACQUIRE, .token = 1, .who = 1 };
static const struct lin_op A2 = { .kind = LIN_ACQUIRE, .token = 2, .who = 2 };
static const struct lin_op A2_BY_1 = { .kind = LIN_ACQUIRE, .token = 2, .who = 1 };
static const struct lin_op A3 = { .kind = LIN_ACQUIRE, .token = 3, .who = 3 };
static const struct lin_op GHOST = {
    .kind = LIN_ACQUIRE, .token = 9, .who = 3, .optional = true, .ghost = true
};
static const struct lin_op GHOST_GOES = { .kind = LIN_RELEASE, .token = 9, .optional = true };
static const struct lin_op R1 = { .kind = LIN_RELEASE, .token = 1, .who = 1 };
static const struct lin_op R2 = { .kind = LIN_RELEASE, .token = 2, .who = 2 };
static const struct lin_op R1_MAYBE = { .kind = LIN_RELEASE, .token = 1, .optional = true };
static const struct lin_op X1 = { .kind = LIN_EXPIRE, .token = 1, .optional = true };
static const struct lin_op X2 = { .kind = LIN_EXPIRE, .token = 2, .optional = true };
static const struct lin_op H1 = { .kind = LIN_HELD, .token = 1, .who = 1 };
static const struct lin_op H2 = { .kind = LIN_HELD, .token = 2, .who = 2 };
static const struct lin_op G1 = { .kind = LIN_GONE, .token = 1, .who = 1 };
static const struct lin_op B1 = { .kind = LIN_BUSY, .who = 1 };
static const struct lin_op B2 = { .kind = LIN_BUSY, .who = 2 };
static const struct lin_op B3 = { .kind = LIN_BUSY, .who = 3 };
static const struct lin_op W1 = { .kind = LIN_WRITE, .token = 1 };
static const struct lin_op W2 = { .kind = LIN_WRITE, .token = 2 };
static const struct lin_op REFUSED1 = { .kind = LIN_REFUSED, .token = 1, .seen = 2 };

static const struct {
    const struct lin_model *model;
    enum rules rules;
} MODELS[] = { { &LIN_MUTEX, PLAIN }, { &LIN_REENTRANT, AGAIN }, { &LIN_FENCED, FENCED } };

struct tally {
    long histories, good;
};

static void describe_ops(const struct lin_op *ops, int count)
{
    for (int i = 0; i < count; i++)
        print_message("  kind %d token %d who %d: %d to %d%s, last %d\n", ops[i].kind,
                      (int)ops[i].token, (int)ops[i].who, (int)ops[i].call, (int)ops[i].ret,
                      ops[i].optional ? " optional" : "", (int)ops[i].last);
}

/* All that is before the return at which the search was stuck can be explained, and with it nothing. */
static bool is_stuck_at(const struct lin_op *ops, int count, size_t stuck, enum rules rules)
{
    struct lin_op before[MAX_OPS], with[MAX_OPS];
    uint64_t end = ops[stuck].ret;
    int n = 0, m = 0;

    for (int i = 0; i < count; i++) {
        struct lin_op op = ops[i];

        if (op.call > end)
            continue;
        if (!op.optional && op.ret > end) {
            op.optional = true;
            op.last = HIST_NEVER;
        }
        with[m++] = op;
        if (i == (int)stuck) {
            op.optional = true;
            op.last = HIST_NEVER;
        }
        before[n++] = op;
    }
    return brute_force(before, n, rules) && !brute_force(with, m, rules);
}

static void compare(const struct lin_op *ops, int count, struct tally *tally)
{
    for (size_t i = 0; i < sizeof MODELS / sizeof MODELS[0]; i++) {
        bool good = brute_force(ops, count, MODELS[i].rules);
        struct lin_result result;

        lin_check(MODELS[i].model, ops, (size_t)count, 1000000, &result);
        tally->histories++;
        tally->good += good;
        if (result.verdict == (good ? LIN_YES : LIN_NO) &&
            (good || is_stuck_at(ops, count, result.stuck, MODELS[i].rules)))
            continue;
        describe_ops(ops, count);
        fail_msg("%s: %d, stuck at %zu, but brute force says %d", MODELS[i].model->name,
                 (int)result.verdict, result.stuck, good);
    }
}

/* The ends of the operations: `slot` is where the next call or return goes. Calls are in the order of the
 * operations, so that each way of overlapping comes once. */
static void each_overlap(struct lin_op *ops, int count, int called, unsigned returned, int slot,
                         struct tally *tally)
{
    if (slot == 2 * count) {
        struct lin_op copy[MAX_OPS];

        memcpy(copy, ops, (size_t)count * sizeof *ops);
        for (int i = 0; i < count; i++) {
            copy[i].last = copy[i].ret; /* of those that are optional; the others do not look */
            if (copy[i].optional)
                copy[i].ret = HIST_NEVER;
            if (copy[i].optional && copy[i].kind != LIN_ACQUIRE)
                copy[i].last = HIST_NEVER;
        }
        compare(copy, count, tally);
        return;
    }
    if (called < count) {
        ops[called].call = (uint64_t)slot;
        each_overlap(ops, count, called + 1, returned, slot + 1, tally);
    }
    for (int i = 0; i < called; i++)
        if (!(returned >> i & 1)) {
            ops[i].ret = (uint64_t)slot;
            each_overlap(ops, count, called, returned | 1u << i, slot + 1, tally);
        }
}

static void each_word(const struct lin_op *const *letters, int letter_count, struct lin_op *ops,
                      int count, int at, struct tally *tally)
{
    if (at == count) {
        each_overlap(ops, count, 0, 0, 0, tally);
        return;
    }
    for (int i = 0; i < letter_count; i++) {
        ops[at] = *letters[i];
        each_word(letters, letter_count, ops, count, at + 1, tally);
    }
}

static void all_histories(const struct lin_op *const *letters, int letter_count, int count)
{
    struct lin_op ops[MAX_OPS];
    struct tally tally = { 0 };

    each_word(letters, letter_count, ops, count, 0, &tally);
    print_message("%ld histories of %d operations, %ld of them good\n", tally.histories, count,
                  tally.good);
    assert_true(tally.good > tally.histories / 100);
    assert_true(tally.good < tally.histories);
}

#define ALL(count, ...)                                                                            \
    do {                                                                                           \
        static const struct lin_op *const LETTERS[] = { __VA_ARGS__ };                             \
        all_histories(LETTERS, (int)(sizeof LETTERS / sizeof LETTERS[0]), count);                  \
    } while (0)

static void up_to_three_of_everything(void **state)
{
    (void)state;
    for (int count = 1; count <= 3; count++)
        ALL(count, &A1, &A2, &A2_BY_1, &A3, &GHOST, &GHOST_GOES, &R1, &R2, &R1_MAYBE, &X1, &X2, &H1,
            &H2, &G1, &B1, &B2, &B3, &W1, &W2, &REFUSED1);
}

static void four_of_a_mutex(void **state)
{
    (void)state;
    ALL(4, &A1, &A2, &A3, &R1, &R2, &X1, &H1, &H2);
}

static void four_with_unknown_outcomes(void **state)
{
    (void)state;
    ALL(4, &A1, &A2, &GHOST, &GHOST_GOES, &R1_MAYBE, &B2, &G1);
}

static void four_of_a_register(void **state)
{
    (void)state;
    ALL(4, &A1, &A2, &W1, &W2, &REFUSED1);
}

static void five_of_two_owners(void **state)
{
    (void)state;
    ALL(5, &A1, &A2, &R1);
    ALL(5, &A1, &A2_BY_1, &X1);
}

/* ------------------------------------------------------------------------------------------------
 * Longer ones, and what is left of them
 */

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* A good history of so many holds of a busy lock: each waits for a while, holds, and lets go. */
static int make_good(struct lin_op *ops, int holds, uint32_t seed)
{
    uint64_t now = 1000;
    int n = 0;

    for (int i = 0; i < holds; i++) {
        uint64_t token = (uint64_t)i + 1, granted = now + next_random(&seed) % 10;
        uint64_t looked = granted + 1 + next_random(&seed) % 20;
        uint64_t freed = looked + 1 + next_random(&seed) % 10;
        uint64_t back = granted > 300 ? next_random(&seed) % 300 : 0;
        struct lin_op op = { .token = token, .who = (uint32_t)i, .last = HIST_NEVER };

        op.kind = LIN_ACQUIRE;
        op.call = granted - back;
        op.ret = granted + next_random(&seed) % 3;
        ops[n++] = op;
        op.kind = LIN_HELD;
        op.call = looked;
        op.ret = looked + next_random(&seed) % 5;
        ops[n++] = op;
        op.kind = LIN_RELEASE;
        op.call = looked;
        op.ret = freed + next_random(&seed) % 50;
        ops[n++] = op;
        now = freed + 1;
    }
    return n;
}

enum { HOLDS = 400 };

static void long_histories(void **state)
{
    static struct lin_op ops[3 * HOLDS];
    struct lin_result result;

    (void)state;
    for (uint32_t seed = 1; seed <= 50; seed++) {
        int n = make_good(ops, HOLDS, seed);

        lin_check(&LIN_FENCED, ops, (size_t)n, 1000000, &result);
        assert_int_equal(result.verdict, LIN_YES);
        assert_true(result.configurations < 20u * 3 * HOLDS);
    }
}

/* One look is moved to where the lock was somebody else's: what is left is that look and what it needs. */
static void shrinking(void **state)
{
    static struct lin_op ops[3 * HOLDS];

    (void)state;
    for (uint32_t seed = 1; seed <= 50; seed++) {
        int n = make_good(ops, HOLDS, seed), which = 40 + (int)seed;
        struct lin_op *look = &ops[3 * which + 1];
        const struct lin_op *later = &ops[3 * (which + 3) + 1]; /* a look of somebody else */
        struct lin_result result;
        size_t stuck, left;

        look->call = later->call;
        look->ret = later->call;
        lin_check(&LIN_FENCED, ops, (size_t)n, 1000000, &result);
        assert_int_equal(result.verdict, LIN_NO);
        stuck = result.stuck;
        left = lin_shrink(&LIN_FENCED, ops, (size_t)n, &stuck);
        assert_true(left >= 2 && left <= 8);
        lin_check(&LIN_FENCED, ops, left, 1000000, &result);
        assert_int_equal(result.verdict, LIN_NO);
    }
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(up_to_three_of_everything),
        cmocka_unit_test(four_of_a_mutex),
        cmocka_unit_test(four_with_unknown_outcomes),
        cmocka_unit_test(four_of_a_register),
        cmocka_unit_test(five_of_two_owners),
        cmocka_unit_test(long_histories),
        cmocka_unit_test(shrinking),
    };

    return cmocka_run_group_tests_name("orders", TESTS, NULL, NULL);
}
