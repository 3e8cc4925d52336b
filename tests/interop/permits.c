/* SPDX-License-Identifier: Apache-2.0 */
/* Holds of permits beside RPermitExpirableSemaphore: a number, and a sorted set of ids with when they end. */
#include "interop/lock.h"

#define CHANNEL "redisson_sc:{job}"
#define SET     "{job}:timeout"
#define NEVER   922337203685477LL /* of Redisson's permits without a lease */

static void expect_set(struct side *side, int permits)
{
    assert_int_equal(answer_number(side_do(side, "t", "permits set job %d", permits), "done"), 1);
}

static void expect_count(struct side *side, int available, int taken)
{
    const char *answer = side_do(side, "t", "permits count job");

    assert_int_equal(answer_number(answer, "count"), available);
    assert_int_equal(answer_number(answer, "taken"), taken);
}

/* The permit at this place, from the one that ends first: 16 bytes. Returns when it ends. */
static long long expect_permit(struct stage *stage, int at)
{
    redisReply *reply = raw_reply(&stage->server, "ZRANGE " SET " %d %d WITHSCORES", at, at);
    long long end;

    assert_int_equal(reply->elements, 2);
    assert_int_equal(reply->element[0]->len, 16);
    end = atoll(reply->element[1]->str);
    freeReplyObject(reply);
    return end;
}

static void expect_end(long long end, enum make make)
{
    long long left = end - wall_ms();

    if (make == MAKE_JAVA)
        assert_true(end == NEVER);
    else if (left > TTL_MS || left < TTL_MS - WOKEN_MS)
        fail_msg("the permit ends in %lld ms, not in %d", left, TTL_MS);
}

static void play_data(struct stage *stage)
{
    bool is_first_c = stage->make_a == MAKE_C;

    stage_sides(stage, TTL_MS, TTL_MS);
    listen_all(stage);
    expect_set(stage->a, 2);
    expect_message(stage, CHANNEL, "2");
    lock(stage->a, "permits", "job 1", NULL);
    expect_text(stage, "job", "1");
    expect_end(expect_permit(stage, 0), stage->make_a);
    lock(stage->b, "permits", "job 1", NULL);
    expect_text(stage, "job", "0");
    expect_end(expect_permit(stage, is_first_c ? 0 : 1), stage->make_a);
    expect_end(expect_permit(stage, is_first_c ? 1 : 0), stage->make_b);
    expect_keys(stage, "job", SET, NULL);
    expect_ttl(stage, "job", -1, -1);
    assert_int_equal(answer_number(side_do(stage->a, "t", "permits try job 1"), "got"), 0);
    assert_int_equal(answer_number(side_do(stage->b, "t", "permits try job 1"), "got"), 0);
    expect_count(stage->a, 0, 2);
    expect_count(stage->b, 0, 2);
    expect_no_message(stage);
    unlock(stage->a, "permits", "job");
    expect_text(stage, "job", "1");
    expect_message(stage, CHANNEL, "1");
    unlock(stage->b, "permits", "job");
    expect_text(stage, "job", "2");
    expect_message(stage, CHANNEL, "2");
    expect_no_message(stage);
    expect_keys(stage, "job", NULL);
}

/* Several at once. */
static void play_two(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    expect_set(stage->a, 2);
    lock(stage->a, "permits", "job 2", NULL);
    expect_text(stage, "job", "0");
    assert_int_equal(raw_integer(&stage->server, "ZCARD " SET), 2);
    begin_wait(stage, "permits", TOPIC_PERMITS, "job 2", "job");
    unlock(stage->a, "permits", "job");
    assert_int_equal(answer_number(side_hear_well(stage->b, "w"), "got"), 1);
    expect_text(stage, "job", "0");
    assert_int_equal(raw_integer(&stage->server, "ZCARD " SET), 2);
    side_do(stage->b, "w", "permits unlock job");
    expect_text(stage, "job", "2");
    expect_keys(stage, "job", NULL);
}

static void play_handoffs(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    expect_set(stage->a, 1);
    measure_handoffs(stage, "permits", "permits");
    expect_text(stage, "job", "1");
}

/* A permit whose holder is dead comes back when its lease ends: to a waiter who looks at that moment. */
static void play_permit_killed(struct stage *stage)
{
    long long left, took;
    int64_t from;

    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    expect_set(stage->a, 1);
    if (stage->make_a == MAKE_JAVA)
        side_do(stage->a, "t", "permits lease job %d", TTL_SOON_MS);
    else
        lock(stage->a, "permits", "job 1", NULL);
    begin_wait(stage, "permits", TOPIC_PERMITS, "job 1", "job");
    side_kill(stage->a);
    from = now_ms();
    left = expect_permit(stage, 0) - wall_ms();
    assert_int_equal(answer_number(side_hear_well(stage->b, "w"), "got"), 1);
    took = now_ms() - from;
    if (took < left - 5 || took > left + WOKEN_MS)
        fail_msg("its lease had %lld ms left, and the waiter took %lld", left, took);
    assert_int_equal(raw_integer(&stage->server, "ZCARD " SET), 1);
    side_do(stage->b, "w", "permits unlock job");
    expect_text(stage, "job", "1");
}

/* Ours are renewed; Redisson's are not. */
static void play_permit_renewed(struct stage *stage)
{
    long long last, end;
    int64_t until;
    int rises = 0;

    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    expect_set(stage->a, 1);
    lock(stage->a, "permits", "job 1", NULL);
    last = expect_permit(stage, 0);
    until = now_ms() + TTL_SOON_MS * 3 / 2;
    for (; now_ms() < until || (rises < 2 && now_ms() < until + PATIENCE_MS); last = end) {
        assert_int_equal(answer_number(side_do(stage->b, "t", "permits try job 1"), "got"), 0);
        end = expect_permit(stage, 0);
        rises += end > last + TTL_SOON_MS / 10;
        nap_ms(20);
    }
    assert_true(rises >= 2);
    expect_held(stage->a, "permits", "job", true);
    unlock(stage->a, "permits", "job");
    expect_text(stage, "job", "1");
}

/* With the semaphore go its permits, and who has one is told. */
static void play_permits_deleted(struct stage *stage)
{
    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    expect_set(stage->a, 2);
    lock(stage->a, "permits", "job 1", NULL);
    assert_int_equal(answer_number(side_do(stage->b, "t", "permits delete job"), "done"), 1);
    expect_keys(stage, NULL);
    expect_count(stage->b, 0, 0);
    if (stage->make_a == MAKE_C)
        AWAIT(answer_number(side_do(stage->a, "t", "permits held job"), "held") == 0);
    expect_refused(stage->a, "t", "permits unlock job");
    expect_keys(stage, NULL); /* and nothing comes of what was given back too late */
}

/* A new total; holds stay, so that there can be less than none. */
static void play_resized(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    side_do(stage->b, "t", "permits resize job 1");
    expect_count(stage->a, 1, 0);
    side_do(stage->a, "t", "permits resize job 3");
    lock(stage->a, "permits", "job 3", NULL);
    side_do(stage->b, "t", "permits resize job 2");
    expect_text(stage, "job", "-1");
    expect_count(stage->a, -1, 3);
    assert_int_equal(answer_number(side_do(stage->b, "t", "permits try job 1"), "got"), 0);
    side_do(stage->b, "t", "permits add job 2");
    expect_count(stage->b, 1, 3);
    unlock(stage->a, "permits", "job");
    expect_count(stage->a, 4, 0);
    expect_count(stage->b, 4, 0);
    expect_keys(stage, "job", NULL);
}

/* A permit's lease is over: another gets it then, and it cannot be given back twice. */
static void play_expired(struct stage *stage)
{
    int64_t from;

    stage_sides(stage, TTL_MS, TTL_MS);
    expect_set(stage->a, 1);
    from = now_ms();
    side_do(stage->a, "t", "permits lease job %d", stage->make_a == MAKE_JAVA ? 300 : 1000);
    if (stage->make_a == MAKE_JAVA) /* ours are renewed instead */
        side_do(stage->a, "t", "permits prolong job 1000");
    expect_count(stage->b, 0, 1);
    assert_int_equal(answer_number(side_do(stage->b, "t", "permits timed job 50"), "got"), 0);
    side_tell(stage->b, "w", "permits lock job 1");
    assert_int_equal(answer_number(side_hear_well(stage->b, "w"), "got"), 1);
    assert_true(now_ms() - from >= 990);
    expect_refused(stage->a, "t", "permits unlock job");
    expect_count(stage->a, 0, 1);
    side_do(stage->b, "w", "permits unlock job");
    expect_count(stage->b, 1, 0);
}

static void play_conserved(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    expect_set(stage->a, 3);
    side_tell(stage->a, "t", "permits storm job 1 inside 3 4 %d", stage->storm_ms);
    side_tell(stage->b, "t", "permits storm job 1 inside 3 4 %d", stage->storm_ms);
    check_storm(stage, NULL);
    expect_text(stage, "job", "3");
    expect_text(stage, "inside", "0");
    expect_keys(stage, "job", "inside", NULL);
}

static const struct scenario scenarios[] = {
    { "data", PAIRS_BOTH, play_data },
    { "two at a time", PAIRS_BOTH, play_two },
    { "hand-off", PAIRS_ALL, play_handoffs },
    { "killed holder", PAIRS_BOTH_ASLEEP, play_permit_killed },
    { "renewal", PAIRS_OURS_ASLEEP, play_permit_renewed },
    { "taken away", PAIRS_BOTH, play_forced_permit },
    { "deleted", PAIRS_BOTH, play_permits_deleted },
    { "resized", PAIRS_BOTH, play_resized },
    { "expired", PAIRS_BOTH, play_expired },
    { "permits conserved", PAIRS_ONE, play_conserved },
};

const struct kind kind_permits = {
    "permits", TOPIC_PERMITS, "job 1", "job", scenarios, sizeof scenarios / sizeof scenarios[0]
};
