/* SPDX-License-Identifier: Apache-2.0 */
/* Several mutexes as one, beside RedissonMultiLock: nothing of its own is stored. */
#include "interop/lock.h"

#define NAMES "job:1+job:2"

static void play_data(struct stage *stage)
{
    char one[OWNER_ROOM], two[OWNER_ROOM];
    const char *answer;

    stage_sides(stage, TTL_MS, TTL_MS);
    answer = side_do(stage->a, "t", "multi lock %s", NAMES);
    snprintf(one, sizeof one, "%s", answer_text(answer, "owner"));
    snprintf(two, sizeof two, "%s",
             stage->make_a == MAKE_JAVA ? one : answer_text(answer, "owner2"));
    expect_hash(stage, "job:1", TTL_MS - WOKEN_MS, TTL_MS, one, "1", NULL);
    expect_hash(stage, "job:2", TTL_MS - WOKEN_MS, TTL_MS, two, "1", NULL);
    expect_keys(stage, "job:1", "job:2", NULL);
    assert_false(can_take(stage->b, "mutex", "job:1"));
    assert_false(can_take(stage->b, "mutex", "job:2"));
    assert_false(can_take(stage->b, "multi", "job:2+job:3"));
    expect_keys(stage, "job:1", "job:2", NULL); /* nothing is left of the third */
    unlock(stage->a, "multi", NAMES);
    expect_keys(stage, NULL);
}

/* All or nothing: a part that is held keeps the others out, and is let in at once when it comes free. */
static void play_part(struct stage *stage)
{
    long long from, at;

    stage_sides(stage, TTL_MS, TTL_MS);
    lock(stage->a, "mutex", "job:2", NULL);
    begin_wait(stage, "multi", TOPIC_LOCK, NAMES, "job:2");
    from = answer_number(side_do(stage->a, "t", "mutex unlock job:2"), "from");
    at = answer_number(side_hear_well(stage->b, "w"), "at");
    took_us(from, at);
    side_do(stage->b, "w", "multi unlock %s", NAMES);
    expect_keys(stage, NULL);
}

static const struct scenario scenarios[] = {
    { "data", PAIRS_BOTH, play_data },
    { "one part", PAIRS_BOTH, play_part },
    { "hand-off", PAIRS_ALL, play_handoff },
    { "counter", PAIRS_ONE, play_storm },
    { "renewal", PAIRS_BOTH_ASLEEP, play_renewed },
    { "killed holder", PAIRS_BOTH_ASLEEP, play_killed },
    { "forced unlock", PAIRS_BOTH, play_forced_member },
};

const struct kind kind_multi = { "multi", TOPIC_LOCK, NAMES,
                                 "job:1", scenarios,  sizeof scenarios / sizeof scenarios[0] };
