/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that their owner cannot take again, beside RNonReentrantLock and its fair form: the data are those of the
 * locks that can be. Before 4.4 Redisson has none.
 */
#include "interop/lock.h"

#define WHY "it has no such lock before 4.4"

/* It is refused at once, in whatever form, and counts once. */
static void expect_no_more(struct stage *stage, const char *kind, const char *owner)
{
    static const char *const verbs[] = { "lock job", "try job", "timed job 1000" };
    char what[64];

    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        snprintf(what, sizeof what, "%s %s", kind, verbs[i]);
        expect_refused(stage->a, "t", what);
        expect_hash(stage, "job", TTL_MS - WOKEN_MS, TTL_MS, owner, "1", NULL);
    }
    expect_keys(stage, "job", NULL); /* no place in a queue either */
}

/* What others are with it: the same kind, and the reentrant one, which is the same lock. */
static void check(struct stage *stage, const char *kind, const char *plain, enum topic topic)
{
    char owner[OWNER_ROOM];
    long long from, at;

    lock(stage->a, kind, "job", owner);
    expect_hash(stage, "job", TTL_MS - WOKEN_MS, TTL_MS, owner, "1", NULL);
    expect_keys(stage, "job", NULL);
    expect_no_more(stage, kind, owner);
    assert_false(can_take(stage->b, kind, "job"));
    assert_false(can_take(stage->b, plain, "job"));
    begin_wait(stage, kind, topic, "job", "job");
    from = answer_number(side_do(stage->a, "t", "%s unlock job", kind), "from");
    at = answer_number(side_hear_well(stage->b, "w"), "at");
    took_us(from, at);
    assert_false(can_take(stage->a, plain, "job"));
    side_do(stage->b, "w", "%s unlock job", kind);
    assert_true(can_take(stage->a, plain, "job"));
    expect_keys(stage, NULL);
}

static void play_mutex(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    skip_if_old(stage->a, WHY);
    skip_if_old(stage->b, WHY);
    check(stage, "once", "mutex", TOPIC_LOCK);
}

static void play_fair(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    skip_if_old(stage->a, WHY);
    skip_if_old(stage->b, WHY);
    check(stage, "fair-once", "fair", TOPIC_TURN);
}

static const struct scenario scenarios[] = {
    { "mutex", PAIRS_BOTH, play_mutex },
    { "fair", PAIRS_BOTH, play_fair },
};

const struct kind kind_once = { "once", TOPIC_LOCK, "job",
                                "job",  scenarios,  sizeof scenarios / sizeof scenarios[0] };
