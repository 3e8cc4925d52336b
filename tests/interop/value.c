/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets and maps beside RBucket and RMap with StringCodec: a string, and a hash. */
#include "interop/lock.h"

static void expect_done(struct side *side, const char *what, bool is)
{
    assert_int_equal(answer_number(side_do(side, "t", "%s", what), "done"), is);
}

static void expect_answer(struct side *side, const char *what, const char *value)
{
    assert_string_equal(answer_text(side_do(side, "t", "%s", what), "value"), value);
}

static void play_bucket(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    expect_answer(stage->a, "bucket get job", "-");
    expect_done(stage->a, "bucket compare job one two", false);
    expect_done(stage->a, "bucket set job one", true);
    expect_text(stage, "job", "one");
    expect_ttl(stage, "job", -1, -1);
    expect_answer(stage->b, "bucket get job", "one");
    expect_done(stage->b, "bucket absent job two", false);
    expect_done(stage->b, "bucket compare job other two", false);
    expect_done(stage->b, "bucket compare job one two", true);
    expect_text(stage, "job", "two");
    expect_answer(stage->a, "bucket swap job three", "two");
    expect_answer(stage->b, "bucket get job", "three");
    assert_int_equal(answer_number(side_do(stage->b, "t", "bucket ttl job"), "left"), -1);
    expect_keys(stage, "job", NULL);
    expect_done(stage->b, "bucket delete job", true);
    expect_done(stage->a, "bucket delete job", false);
    expect_keys(stage, NULL);
    expect_done(stage->b, "bucket compare job - four", true); /* if there is none */
    expect_done(stage->a, "bucket compare job - five", false);
    expect_done(stage->a, "bucket delete job", true);
    expect_done(stage->a, "bucket absent job six", true);
    expect_answer(stage->b, "bucket get job", "six");
}

static void play_bucket_ttl(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    expect_done(stage->a, "bucket set job one 2000", true);
    expect_ttl(stage, "job", 1, 2000);
    assert_in_range(answer_number(side_do(stage->b, "t", "bucket ttl job"), "left"), 1, 2000);
    AWAIT(raw_integer(&stage->server, "EXISTS job") == 0);
    expect_answer(stage->b, "bucket get job", "-");
    expect_done(stage->a, "bucket set job one 2000", true);
    expect_done(stage->b, "bucket set job two", true); /* which has no end */
    expect_ttl(stage, "job", -1, -1);
}

static void play_map(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    expect_answer(stage->a, "map get job k", "-");
    expect_answer(stage->a, "map put job k one", "-");
    expect_answer(stage->b, "map get job k", "one");
    expect_answer(stage->b, "map put job k two", "one");
    expect_done(stage->a, "map absent job k three", false);
    expect_done(stage->b, "map absent job m four", true);
    assert_string_equal(raw_text(&stage->server, "HGET job k"), "two");
    assert_string_equal(raw_text(&stage->server, "HGET job m"), "four");
    assert_int_equal(answer_number(side_do(stage->a, "t", "map size job"), "count"), 2);
    assert_int_equal(answer_number(side_do(stage->b, "t", "map size job"), "count"), 2);
    expect_keys(stage, "job", NULL);
    expect_answer(stage->a, "map remove job k", "two");
    expect_answer(stage->b, "map get job k", "-");
    expect_answer(stage->b, "map remove job m", "four");
    expect_answer(stage->a, "map remove job m", "-");
    expect_keys(stage, NULL);
}

static const struct scenario scenarios[] = {
    { "bucket", PAIRS_BOTH, play_bucket },
    { "bucket with a ttl", PAIRS_BOTH_ASLEEP, play_bucket_ttl },
    { "map", PAIRS_BOTH, play_map },
};

const struct kind kind_value = { "value", TOPIC_NONE, "job",
                                 "job",   scenarios,  sizeof scenarios / sizeof scenarios[0] };
