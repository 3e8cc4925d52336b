/* SPDX-License-Identifier: Apache-2.0 */
/* Spin locks beside RSpinLock: a mutex's data; waiters listen to nothing; only ours tells of its release. */
#include "interop/lock.h"

static void play_data(struct stage *stage)
{
    bool is_java = stage->make_a == MAKE_JAVA;
    char owner[OWNER_ROOM];
    long long listeners;

    stage_sides(stage, TTL_MS, TTL_MS);
    listen_all(stage);
    lock(stage->a, "spin", "job", owner);
    expect_hash(stage, "job", TTL_MS - WOKEN_MS, TTL_MS, owner, "1", NULL);
    expect_keys(stage, "job", NULL);
    assert_false(can_take(stage->b, "spin", "job"));
    assert_false(can_take(stage->b, "mutex", "job")); /* it is the same lock */
    listeners = count_subscribers(stage, TOPIC_LOCK, "job");
    begin_wait(stage, "spin", TOPIC_NONE, "job", "job");
    assert_int_equal(count_subscribers(stage, TOPIC_LOCK, "job"), listeners);
    unlock(stage->a, "spin", "job");
    if (!is_java)
        expect_message(stage, channel_of(TOPIC_LOCK, "job"), "0");
    end_wait(stage->b, "spin", "job", NULL);
    expect_keys(stage, NULL);
}

/* A mutex waits for a spin lock of ours, and is told. Redisson's tells nobody: its waiters wait for the ttl. */
static void play_mutex_waits(struct stage *stage)
{
    long long from, at;

    stage_sides(stage, TTL_MS, TTL_MS);
    lock(stage->a, "spin", "job", NULL);
    begin_wait(stage, "mutex", TOPIC_LOCK, "job", "job");
    from = answer_number(side_do(stage->a, "t", "spin unlock job"), "from");
    at = answer_number(side_hear_well(stage->b, "w"), "at");
    took_us(from, at);
    side_do(stage->b, "w", "mutex unlock job");
}

/* The reverse: whoever looks again and again needs no message. */
static void play_spin_waits(struct stage *stage)
{
    long long from, at;

    stage_sides(stage, TTL_MS, TTL_MS);
    lock(stage->a, "mutex", "job", NULL);
    begin_wait(stage, "spin", TOPIC_NONE, "job", "job");
    from = answer_number(side_do(stage->a, "t", "mutex unlock job"), "from");
    at = answer_number(side_hear_well(stage->b, "w"), "at");
    took_us(from, at);
    side_do(stage->b, "w", "spin unlock job");
}

static const struct scenario scenarios[] = {
    { "seen", PAIRS_BOTH, play_seen },
    { "data", PAIRS_BOTH, play_data },
    { "hand-off", PAIRS_ALL, play_handoff },
    { "a mutex waits", PAIRS_OURS, play_mutex_waits },
    { "waits for a mutex", PAIRS_BOTH, play_spin_waits },
    { "counter", PAIRS_ONE, play_storm },
    { "killed holder", PAIRS_BOTH_ASLEEP, play_killed },
    { "renewal", PAIRS_BOTH_ASLEEP, play_renewed },
    { "forced unlock", PAIRS_BOTH, play_forced },
};

const struct kind kind_spin = { "spin", TOPIC_NONE, "job",
                                "job",  scenarios,  sizeof scenarios / sizeof scenarios[0] };
