/* SPDX-License-Identifier: Apache-2.0 */
/* Fenced locks beside RFencedLock: the lock's data are a mutex's, and tokens come from one counter. */
#include "interop/lock.h"

/* Takes it, checks what is stored, and returns the token. */
static long long take(struct stage *stage, struct side *side)
{
    char owner[OWNER_ROOM];
    const char *answer = side_do(side, "t", "fenced token job");
    long long token = answer_number(answer, "token");

    snprintf(owner, sizeof owner, "%s", answer_text(answer, "owner"));
    expect_hash(stage, "job", TTL_MS - WOKEN_MS, TTL_MS, owner, "1", NULL);
    expect_keys(stage, "job", "redisson_lock_token:{job}", NULL);
    assert_int_equal(atoll(raw_text(&stage->server, "GET redisson_lock_token:{job}")), token);
    assert_int_equal(raw_integer(&stage->server, "PTTL redisson_lock_token:{job}"), -1);
    return token;
}

static void play_data(struct stage *stage)
{
    long long last = 0;

    stage_sides(stage, TTL_MS, TTL_MS);
    listen_all(stage);
    for (int i = 0; i < 6; i++) {
        struct side *side = i % 2 ? stage->b : stage->a;
        struct side *other = i % 2 ? stage->a : stage->b;
        long long token = take(stage, side);

        assert_true(token > last);
        last = token;
        assert_false(can_take(other, "fenced", "job"));
        unlock(side, "fenced", "job");
        expect_message(stage, channel_of(TOPIC_LOCK, "job"), "0");
        expect_no_message(stage);
        expect_keys(stage, "redisson_lock_token:{job}", NULL);
    }
    side_do(stage->a, "t", "fenced token job{tag}x");
    expect_keys(stage, "job{tag}x", "redisson_lock_token:job{tag}x", "redisson_lock_token:{job}",
                NULL);
    unlock(stage->a, "fenced", "job{tag}x");
}

static const struct scenario scenarios[] = {
    { "seen", PAIRS_BOTH, play_seen },
    { "data and tokens", PAIRS_BOTH, play_data },
    { "hand-off", PAIRS_ALL, play_handoff },
    { "counter", PAIRS_ONE, play_storm },
    { "killed holder", PAIRS_BOTH_ASLEEP, play_killed },
    { "renewal", PAIRS_BOTH_ASLEEP, play_renewed },
    { "forced unlock", PAIRS_BOTH, play_forced },
};

const struct kind kind_fenced = { "fenced", TOPIC_LOCK, "job",
                                  "job",    scenarios,  sizeof scenarios / sizeof scenarios[0] };
