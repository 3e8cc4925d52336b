/* SPDX-License-Identifier: Apache-2.0 */
/* Latches beside RCountDownLatch. */
#include <string.h>

#include "interop/lock.h"

static void set(struct side *side, const char *what, bool is)
{
    assert_int_equal(answer_number(side_do(side, "t", "latch set %s", what), "done"), is);
}

static void expect_count(struct stage *stage, int count)
{
    assert_int_equal(answer_number(side_do(stage->a, "t", "latch count job"), "count"), count);
    assert_int_equal(answer_number(side_do(stage->b, "t", "latch count job"), "count"), count);
}

static void check_data(struct stage *stage, const char *name)
{
    char channel[256];

    snprintf(channel, sizeof channel, "redisson_countdownlatch__channel__{%s}", name);
    side_do(stage->b, "t", "latch lock %s", name); /* there is nothing to wait for */
    assert_int_equal(answer_number(side_do(stage->a, "t", "latch set %s 2", name), "done"), 1);
    expect_message(stage, channel, "1");
    expect_text(stage, name, "2");
    assert_int_equal(answer_number(side_do(stage->b, "t", "latch set %s 5", name), "done"), 0);
    assert_int_equal(answer_number(side_do(stage->b, "t", "latch timed %s 50", name), "got"), 0);
    begin_wait(stage, "latch", TOPIC_LATCH, name, name);
    unlock(stage->a, "latch", name);
    expect_text(stage, name, "1");
    expect_keys(stage, name, NULL);
    expect_no_message(stage);
    assert_false(side_has(stage->b, "w"));
    unlock(stage->b, "latch", name);
    expect_keys(stage, NULL);
    expect_message(stage, channel, "0");
    assert_int_equal(answer_number(side_hear_well(stage->b, "w"), "got"), 1);
    expect_no_message(stage);
    unlock(stage->a, "latch", name); /* below zero there is nothing */
    expect_keys(stage, NULL);
    expect_no_message(stage);
}

static void play_data(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    listen_all(stage);
    check_data(stage, "job");
    check_data(stage, "a{x}b"); /* the channel has braces of its own all the same */
    expect_count(stage, 0);
}

static void play_handoffs(struct stage *stage)
{
    long long took[HANDOFFS], from, at;

    stage_sides(stage, TTL_MS, TTL_MS);
    for (int i = 0; i < WARM + HANDOFFS; i++) {
        set(stage->a, "job 1", true);
        begin_wait(stage, "latch", TOPIC_LATCH, "job", "job");
        from = answer_number(side_do(stage->a, "t", "latch unlock job"), "from");
        at = answer_number(side_hear_well(stage->b, "w"), "at");
        took[i < WARM ? 0 : i - WARM] = took_us(from, at);
    }
    print_figures(stage, "latch", took);
}

/* All who wait are let through, of both sides. */
static void play_all(struct stage *stage)
{
    struct side *sides[2];
    char name[8];

    stage_sides(stage, TTL_MS, TTL_MS);
    sides[0] = stage->a;
    sides[1] = stage->b;
    set(stage->a, "job 2", true);
    for (int i = 0; i < 6; i++) {
        long long looks = count_looks(&stage->server);

        snprintf(name, sizeof name, "w%d", i / 2);
        side_tell(sides[i % 2], name, "latch lock job");
        AWAIT(count_looks(&stage->server) >= looks + 2);
    }
    AWAIT(count_subscribers(stage, TOPIC_LATCH, "job") >= 2);
    unlock(stage->a, "latch", "job");
    expect_count(stage, 1);
    unlock(stage->b, "latch", "job");
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "w%d", i / 2);
        assert_int_equal(answer_number(side_hear_well(sides[i % 2], name), "got"), 1);
    }
    expect_keys(stage, NULL);
}

/* Our waiters are told of a deletion; Redisson's wait on, as long as they were going to. */
static void play_deleted(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    listen_all(stage);
    set(stage->a, "job 1", true);
    expect_message(stage, channel_of(TOPIC_LATCH, "job"), "1");
    if (stage->make_b == MAKE_C) {
        begin_wait(stage, "latch", TOPIC_LATCH, "job", "job");
    } else {
        side_tell(stage->b, "w", "latch timed job 1000");
        AWAIT(count_subscribers(stage, TOPIC_LATCH, "job") >= 1);
    }
    assert_int_equal(answer_number(side_do(stage->a, "t", "latch delete job"), "done"), 1);
    expect_message(stage, channel_of(TOPIC_LATCH, "job"), "1");
    expect_keys(stage, NULL);
    if (stage->make_b == MAKE_C)
        assert_int_equal(strncmp(side_hear(stage->b, "w"), "error", 5), 0);
    else
        side_hear_well(stage->b, "w");
    assert_int_equal(answer_number(side_do(stage->b, "t", "latch delete job"), "done"), 0);
    expect_no_message(stage);
}

static const struct scenario scenarios[] = {
    { "data", PAIRS_BOTH, play_data },
    { "hand-off", PAIRS_ALL, play_handoffs },
    { "all", PAIRS_BOTH, play_all },
    { "deleted", PAIRS_BOTH, play_deleted },
};

const struct kind kind_latch = { "latch", TOPIC_LATCH, "job",
                                 "job",   scenarios,   sizeof scenarios / sizeof scenarios[0] };
