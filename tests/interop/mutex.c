/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes beside RLock. */
#include <string.h>

#include "interop/lock.h"

static void expect_count(struct side *side, const char *name, int count)
{
    assert_int_equal(answer_number(side_do(side, "t", "mutex count %s", name), "count"), count);
}

static void check_data(struct stage *stage, const char *name)
{
    const char *channel = channel_of(TOPIC_LOCK, name);
    bool is_java = stage->make_a == MAKE_JAVA;
    char owner[OWNER_ROOM];

    lock(stage->a, "mutex", name, owner);
    expect_hash(stage, name, TTL_MS - WOKEN_MS, TTL_MS, owner, "1", NULL);
    assert_false(can_take(stage->b, "mutex", name));
    lock(stage->a, "mutex", name, owner); /* Redisson counts in the hash, the library in itself */
    expect_hash(stage, name, TTL_MS - WOKEN_MS, TTL_MS, owner, is_java ? "2" : "1", NULL);
    expect_count(stage->a, name, 2);
    expect_count(stage->b, name, 0);
    unlock(stage->a, "mutex", name);
    expect_count(stage->a, name, 1);
    expect_hash(stage, name, TTL_MS - WOKEN_MS, TTL_MS, owner, "1", NULL);
    assert_false(can_take(stage->b, "mutex", name));
    expect_keys(stage, name, NULL);
    expect_no_message(stage);
    unlock(stage->a, "mutex", name);
    expect_count(stage->a, name, 0);
    expect_keys(stage, NULL);
    expect_message(stage, channel, "0");
    expect_no_message(stage);
    assert_true(can_take(stage->b, "mutex", name));
    expect_message(stage, channel, "0");
    expect_keys(stage, NULL);
}

static void play_data(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    listen_all(stage);
    check_data(stage, "job");
    check_data(stage, "job{tag}x");
    check_data(stage, "a{b");
}

/* A fixed lease is Redisson's leaseTime: set, and never renewed. */
static void play_lease(struct stage *stage)
{
    char owner[OWNER_ROOM];

    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    snprintf(owner, sizeof owner, "%s",
             answer_text(side_do(stage->a, "t", "mutex lease job 3000"), "owner"));
    expect_hash(stage, "job", 1, 3000, owner, "1", NULL);
    begin_wait(stage, "mutex", TOPIC_LOCK, "job", "job");
    nap_ms(1500); /* a third of the ttl is long over */
    expect_hash(stage, "job", 1, 1600, owner, "1", NULL);
    end_wait(stage->b, "mutex", "job", NULL);
    expect_held(stage->a, "mutex", "job", false);
    assert_int_equal(strncmp(side_ask(stage->a, "t", "mutex unlock job"), "error", 5), 0);
}

static const struct scenario scenarios[] = {
    { "seen", PAIRS_BOTH, play_seen },
    { "data", PAIRS_BOTH, play_data },
    { "hand-off", PAIRS_ALL, play_handoff },
    { "counter", PAIRS_ONE, play_storm },
    { "lease", PAIRS_BOTH_ASLEEP, play_lease },
    { "killed holder", PAIRS_BOTH_ASLEEP, play_killed },
    { "renewal", PAIRS_BOTH_ASLEEP, play_renewed },
    { "forced unlock", PAIRS_BOTH, play_forced },
};

const struct kind kind_mutex = { "mutex", TOPIC_LOCK, "job",
                                 "job",   scenarios,  sizeof scenarios / sizeof scenarios[0] };
