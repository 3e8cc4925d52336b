/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores beside RSemaphore: a number, and messages with what is there now. */
#include "interop/lock.h"

#define CHANNEL "redisson_sc:{job}"

static void expect_done(struct side *side, const char *what, bool is)
{
    assert_int_equal(answer_number(side_do(side, "t", "semaphore %s", what), "done"), is);
}

static void play_data(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    listen_all(stage);
    expect_done(stage->a, "set job 3", true);
    expect_message(stage, CHANNEL, "3");
    expect_done(stage->b, "set job 5", false);
    side_do(stage->a, "t", "semaphore lock job 2");
    expect_text(stage, "job", "1");
    side_do(stage->b, "t", "semaphore lock job 1");
    expect_text(stage, "job", "0");
    assert_int_equal(answer_number(side_do(stage->b, "t", "semaphore try job 1"), "got"), 0);
    assert_int_equal(answer_number(side_do(stage->a, "t", "semaphore timed job 1 50"), "got"), 0);
    expect_no_message(stage);
    side_do(stage->a, "t", "semaphore unlock job 2");
    expect_text(stage, "job", "2");
    expect_message(stage, CHANNEL, "2");
    side_do(stage->b, "t", "semaphore unlock job 1");
    expect_text(stage, "job", "3");
    expect_message(stage, CHANNEL, "3");
    expect_done(stage->a, "add job 2", true);
    expect_text(stage, "job", "5");
    expect_message(stage, CHANNEL, "5");
    assert_int_equal(answer_number(side_do(stage->b, "t", "semaphore count job"), "count"), 5);
    assert_int_equal(answer_number(side_do(stage->a, "t", "semaphore drain job"), "count"), 5);
    expect_text(stage, "job", "0");
    expect_keys(stage, "job", NULL);
    expect_ttl(stage, "job", -1, -1);
    expect_no_message(stage);
}

/* Less than none. Redisson's own message of it breaks its listeners; ours are never negative. */
static void play_negative(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    listen_all(stage);
    expect_done(stage->a, "set job 1", true);
    expect_message(stage, CHANNEL, "1");
    expect_done(stage->a, "add job -3", true);
    expect_text(stage, "job", "-2");
    expect_no_message(stage);
    assert_int_equal(answer_number(side_do(stage->b, "t", "semaphore count job"), "count"), -2);
    begin_wait(stage, "semaphore", TOPIC_PERMITS, "job 1", "job");
    side_do(stage->a, "t", "semaphore unlock job 1"); /* there is still less than none */
    expect_text(stage, "job", "-1");
    expect_no_message(stage);
    side_do(stage->a, "t", "semaphore unlock job 3");
    expect_message(stage, CHANNEL, "2");
    assert_int_equal(answer_number(side_hear_well(stage->b, "w"), "got"), 1);
    expect_text(stage, "job", "1");
}

static void play_handoffs(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    expect_done(stage->a, "set job 1", true);
    measure_handoffs(stage, "semaphore", "semaphore");
    expect_text(stage, "job", "1");
}

/* Who wants two is let in when two are there. */
static void play_two(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    expect_done(stage->b, "set job 0", true);
    begin_wait(stage, "semaphore", TOPIC_PERMITS, "job 2", "job");
    side_do(stage->a, "t", "semaphore unlock job 1");
    nap_ms(100);
    assert_false(side_has(stage->b, "w"));
    expect_text(stage, "job", "1");
    side_do(stage->a, "t", "semaphore unlock job 1");
    assert_int_equal(answer_number(side_hear_well(stage->b, "w"), "got"), 1);
    expect_text(stage, "job", "0");
}

/* There is none yet: no permits, and only a release makes one. Fewer of them is less than none. */
static void play_missing(struct stage *stage)
{
    bool has_return = stage->make_a == MAKE_C;

    stage_sides(stage, TTL_MS, TTL_MS);
    has_return |= stage->a->version[0] != '3';
    assert_int_equal(answer_number(side_do(stage->b, "t", "semaphore try job 1"), "got"), 0);
    assert_int_equal(answer_number(side_do(stage->a, "t", "semaphore count job"), "count"), 0);
    assert_int_equal(answer_number(side_do(stage->a, "t", "semaphore drain job"), "count"), 0);
    if (has_return)
        expect_done(stage->a, "return job 2", false);
    expect_keys(stage, NULL);
    begin_wait(stage, "semaphore", TOPIC_PERMITS, "job 1", "job");
    side_do(stage->a, "t", "semaphore unlock job 2");
    assert_int_equal(answer_number(side_hear_well(stage->b, "w"), "got"), 1);
    expect_text(stage, "job", "1");
    if (has_return)
        expect_done(stage->a, "return job 1", true);
    expect_text(stage, "job", has_return ? "2" : "1");
    expect_done(stage->b, "delete job", true);
    expect_done(stage->a, "delete job", false);
    expect_keys(stage, NULL);
}

/* A semaphore that vanishes: takers and givers leave its end where it is. */
static void play_ttl(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    skip_if_old(stage->a, "its semaphores have no ttl before 3.29");
    listen_all(stage);
    expect_done(stage->a, "set job 3 3000", true);
    expect_message(stage, CHANNEL, "3");
    expect_ttl(stage, "job", 1, 3000);
    side_do(stage->b, "t", "semaphore lock job 2");
    side_do(stage->a, "t", "semaphore lock job 1");
    assert_int_equal(answer_number(side_do(stage->b, "t", "semaphore try job 1"), "got"), 0);
    side_do(stage->b, "t", "semaphore unlock job 1");
    expect_message(stage, CHANNEL, "1");
    expect_text(stage, "job", "1");
    expect_ttl(stage, "job", 1, 3000);
    AWAIT(raw_integer(&stage->server, "EXISTS job") == 0);
    assert_int_equal(answer_number(side_do(stage->b, "t", "semaphore count job"), "count"), 0);
    assert_int_equal(answer_number(side_do(stage->b, "t", "semaphore try job 1"), "got"), 0);
    expect_done(stage->b, "set job 1", true);
    expect_message(stage, CHANNEL, "1");
    expect_ttl(stage, "job", -1, -1);
}

/* a takes all that there are, again and again, and gives them back; b takes one: none is lost, none made. */
static void play_drained(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    stage->storm_ms /= 2;
    expect_done(stage->a, "set job 5", true);
    side_tell(stage->a, "t", "semaphore drain-storm job 0 inside 5 3 %d", stage->storm_ms);
    side_tell(stage->b, "t", "semaphore storm job 1 inside 5 4 %d", stage->storm_ms);
    check_storm(stage, NULL);
    expect_text(stage, "job", "5");
    expect_text(stage, "inside", "0");
    expect_keys(stage, "job", "inside", NULL);
}

static void play_conserved(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    expect_done(stage->a, "set job 3", true);
    side_tell(stage->a, "t", "semaphore storm job 1 inside 3 4 %d", stage->storm_ms);
    side_tell(stage->b, "t", "semaphore storm job 1 inside 3 4 %d", stage->storm_ms);
    check_storm(stage, NULL);
    expect_text(stage, "job", "3");
    expect_text(stage, "inside", "0");
}

static const struct scenario scenarios[] = {
    { "data", PAIRS_BOTH, play_data },
    { "less than none", PAIRS_OURS, play_negative },
    { "two at a time", PAIRS_BOTH, play_two },
    { "hand-off", PAIRS_ALL, play_handoffs },
    { "permits conserved", PAIRS_ONE, play_conserved },
    { "there is none", PAIRS_BOTH, play_missing },
    { "ttl", PAIRS_BOTH_ASLEEP, play_ttl },
    { "drained", PAIRS_BOTH, play_drained },
};

const struct kind kind_semaphore = { "semaphore", TOPIC_PERMITS,
                                     "job 1",     "job",
                                     scenarios,   sizeof scenarios / sizeof scenarios[0] };
