/* SPDX-License-Identifier: Apache-2.0 */
/* Fair locks beside RFairLock: a queue in a list, and deadlines in a sorted set; one waiter is told. */
#include <string.h>

#include "interop/lock.h"

#define QUEUE    "redisson_lock_queue:{job}"
#define DEADLINE "redisson_lock_timeout:{job}"
/* How long a place in the queue is kept for who waits without an end: Redisson's fairLockWaitTimeout. */
#define PLACE_MS 300000

#define OLD_WAITERS "a waiter can sleep for ever when a lease ends without a release"

static long long queue_length(struct stage *stage)
{
    return raw_integer(&stage->server, "LLEN " QUEUE);
}

/* Tells a thread to wait, and waits until it has a place, and listens. */
static void queue_up(struct stage *stage, struct side *side, const char *thread, const char *verb,
                     long long place)
{
    side_tell(side, thread, "fair %s", verb);
    AWAIT(queue_length(stage) >= place);
    AWAIT(count_subscribers(stage, TOPIC_TURN, "job") >= place);
}

/* The place at the end of the queue is this client's, and its deadline is about so far away. */
static void expect_place(struct stage *stage, const struct side *side, long long far_ms,
                         char *owner)
{
    long long score, now = wall_ms();

    snprintf(owner, OWNER_ROOM, "%s", raw_text(&stage->server, "LINDEX " QUEUE " -1"));
    if (strncmp(owner, side->client, strlen(side->client)) != 0)
        fail_msg("%s has the last place, not one of client %s", owner, side->client);
    score = atoll(raw_text(&stage->server, "ZSCORE " DEADLINE " %s", owner));
    if (score - now > far_ms || score - now < far_ms - WOKEN_MS)
        fail_msg("its deadline is in %lld ms, not about %lld", score - now, far_ms);
    assert_int_equal(raw_integer(&stage->server, "ZCARD " DEADLINE), queue_length(stage));
}

static void play_data(struct stage *stage)
{
    char owner[OWNER_ROOM], waiter[OWNER_ROOM], channel[2 * OWNER_ROOM];

    stage_sides(stage, TTL_MS, TTL_MS);
    listen_all(stage);
    lock(stage->a, "fair", "job", owner);
    expect_hash(stage, "job", TTL_MS - WOKEN_MS, TTL_MS, owner, "1", NULL);
    assert_false(can_take(stage->b, "fair", "job"));
    expect_keys(stage, "job", NULL); /* who only tries has no place */
    queue_up(stage, stage->b, "w", "lock job", 1);
    expect_place(stage, stage->b, TTL_MS + PLACE_MS, waiter);
    expect_keys(stage, "job", QUEUE, DEADLINE, NULL);
    assert_int_equal(raw_integer(&stage->server, "PTTL " QUEUE), -1);
    expect_no_message(stage);
    unlock(stage->a, "fair", "job");
    snprintf(channel, sizeof channel, "%s:%s", channel_of(TOPIC_TURN, "job"), waiter);
    expect_message(stage, channel, "0");
    assert_string_equal(answer_text(side_hear_well(stage->b, "w"), "owner"), waiter);
    expect_hash(stage, "job", TTL_MS - WOKEN_MS, TTL_MS, waiter, "1", NULL);
    expect_keys(stage, "job", NULL);
    side_do(stage->b, "w", "fair unlock job");
    expect_keys(stage, NULL);
    if (stage->make_b ==
        MAKE_C) /* in the queue there is nobody to tell, but others may wait for it */
        expect_message(stage, channel_of(TOPIC_LOCK, "job"), "0");
    expect_no_message(stage);
}

/* Until when the last one's place is kept. */
static long long last_deadline(struct stage *stage)
{
    char owner[OWNER_ROOM];

    snprintf(owner, sizeof owner, "%s", raw_text(&stage->server, "LINDEX " QUEUE " -1"));
    return atoll(raw_text(&stage->server, "ZSCORE " DEADLINE " %s", owner));
}

/* Who gives up leaves nothing behind, and keeps nobody waiting. */
static void play_give_up(struct stage *stage)
{
    long long from, at, before;

    stage_sides(stage, TTL_MS, TTL_MS);
    lock(stage->a, "fair", "job", NULL);
    queue_up(stage, stage->b, "w", "timed job 1500", 1);
    queue_up(stage, stage->a, "w", "lock job", 2);
    before = last_deadline(stage);
    assert_int_equal(answer_number(side_hear_well(stage->b, "w"), "got"), 0);
    AWAIT(queue_length(stage) == 1);
    assert_int_equal(before - last_deadline(stage), 1500); /* it counted on that time */
    assert_int_equal(raw_integer(&stage->server, "ZCARD " DEADLINE), 1);
    from = answer_number(side_do(stage->a, "t", "fair unlock job"), "from");
    at = answer_number(side_hear_well(stage->a, "w"), "at");
    took_us(from, at);
    side_do(stage->a, "w", "fair unlock job");
    expect_keys(stage, NULL);
}

static void play_fair_killed(struct stage *stage)
{
    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    skip_if_old(stage->b, OLD_WAITERS);
    kill_holder(stage, "fair", "fair", "job");
}

#define WAITERS 6 /* of both sides, by turns */

static struct side *side_of(struct stage *stage, int waiter)
{
    return waiter % 2 ? stage->a : stage->b;
}

/* Nobody but this one has been let in. */
static void expect_only(struct stage *stage, char name[][8], int waiter)
{
    for (int i = waiter + 1; i < WAITERS; i++)
        if (side_has(side_of(stage, i), name[i]))
            fail_msg("waiter %d came before waiter %d", i, waiter);
}

static void play_order(struct stage *stage)
{
    char name[WAITERS][8];
    long long before;

    stage_sides(stage, TTL_MS, TTL_MS);
    lock(stage->a, "fair", "job", NULL);
    for (int i = 0; i < WAITERS; i++) {
        snprintf(name[i], sizeof name[i], "w%d", i);
        queue_up(stage, side_of(stage, i), name[i], "lock job", i + 1);
    }
    assert_int_equal(raw_integer(&stage->server, "ZCARD " DEADLINE), WAITERS);
    before = last_deadline(stage);
    unlock(stage->a, "fair", "job");
    for (int i = 0; i < WAITERS; i++) {
        side_hear_well(side_of(stage, i), name[i]);
        if (i == 0) /* the time that the first could have waited */
            assert_int_equal(before - last_deadline(stage), PLACE_MS);
        nap_ms(20);
        expect_only(stage, name, i);
        side_do(side_of(stage, i), name[i], "fair unlock job");
    }
    expect_keys(stage, NULL);
}

/* Nobody gives it back: each gets it when the lease of the one before is over, in order. */
static void play_leases(struct stage *stage)
{
    char name[WAITERS][8];
    long long at, last = 0;

    stage_sides(stage, TTL_MS, TTL_MS);
    skip_if_old(stage->a, OLD_WAITERS);
    skip_if_old(stage->b, OLD_WAITERS);
    side_do(stage->a, "t", "fair lease job 3000");
    for (int i = 0; i < WAITERS; i++) {
        snprintf(name[i], sizeof name[i], "w%d", i);
        side_tell(side_of(stage, i), name[i], "fair lease job 600");
        AWAIT(queue_length(stage) > i);
    }
    for (int i = 0; i < WAITERS; i++, last = at) {
        at = answer_number(side_hear_well(side_of(stage, i), name[i]), "at");
        if (at < last)
            fail_msg("waiter %d came before waiter %d", i, i - 1);
    }
    for (int i = 0; i < WAITERS - 1; i++)
        expect_refused(side_of(stage, i), name[i], "fair unlock job");
    AWAIT(raw_integer(&stage->server, "EXISTS job") == 0);
    expect_keys(stage, NULL);
}

/* As if the time had come at which the first one's place runs out. */
static void end_first_place(struct stage *stage)
{
    char owner[OWNER_ROOM];

    snprintf(owner, sizeof owner, "%s", raw_text(&stage->server, "LINDEX " QUEUE " 0"));
    raw_do(&stage->server, "ZADD " DEADLINE " %lld %s", wall_ms() - 1, owner);
}

/* The first in the queue is killed: its place is passed over when its time is over. That of ours is kept by us for a
 * while longer, of which only our own waiters know better. */
static void play_dead_waiter(struct stage *stage)
{
    int64_t from;

    stage_sides(stage, TTL_MS, TTL_MS);
    if (stage->make_b == MAKE_C)
        skip_if_old(stage->a, "its waiter does not look when the lock is free");
    side_do(stage->a, "t", "fair lease job 3000");
    from = now_ms();
    queue_up(stage, stage->b, "w", "timed job 3000", 1);
    queue_up(stage, stage->a, "w", "lock job", 2);
    side_kill(stage->b);
    AWAIT(raw_integer(&stage->server, "EXISTS job") == 0);
    if (stage->make_b == MAKE_C)
        end_first_place(stage);
    side_hear_well(stage->a, "w");
    assert_true(now_ms() - from < 6000 + WOKEN_MS);
    side_do(stage->a, "w", "fair unlock job");
    expect_keys(stage, NULL);
}

/* A fair lock that nobody waits for looks like a mutex. */
static void play_fair_seen(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    look_at_holder(stage, "fair", "mutex");
}

static const struct scenario scenarios[] = {
    { "seen", PAIRS_BOTH, play_fair_seen },
    { "data", PAIRS_BOTH, play_data },
    { "order", PAIRS_BOTH, play_order },
    { "giving up", PAIRS_BOTH_ASLEEP, play_give_up },
    { "leases, in order", PAIRS_BOTH_ASLEEP, play_leases },
    { "dead waiter", PAIRS_BOTH_ASLEEP, play_dead_waiter },
    { "hand-off", PAIRS_ALL, play_handoff },
    { "counter", PAIRS_ONE, play_storm },
    { "killed holder", PAIRS_BOTH_ASLEEP, play_fair_killed },
    { "renewal", PAIRS_BOTH_ASLEEP, play_renewed },
    { "forced unlock", PAIRS_BOTH, play_forced },
};

const struct kind kind_fair = { "fair", TOPIC_TURN, "job",
                                "job",  scenarios,  sizeof scenarios / sizeof scenarios[0] };
