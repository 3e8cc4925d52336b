/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names with a prefix: Redisson's by a NameMapper, ours by ?prefix=. Both sides say "job"; every key and channel is
 * that of "app:job", as it is written here.
 */
#include <string.h>

#include "interop/lock.h"

/* What they say, the key of it, and what the names of the keys and channels beside it are made of. */
struct mapping {
    const char *name, *key, *tag;
};

static const struct mapping mappings[] = {
    { "job", "app:job", "{app:job}" },
    { "a{b}c", "app:a{b}c", "app:a{b}c" }, /* which has braces of its own */
};

#define MAPPINGS (sizeof mappings / sizeof mappings[0])

/* "HEAD:TAG"; in one of some static buffers. */
static const char *beside(const struct mapping *mapping, const char *head)
{
    static char text[4][256];
    static size_t at;

    at = (at + 1) % 4;
    snprintf(text[at], sizeof text[at], "%s:%s", head, mapping->tag);
    return text[at];
}

/* Who waits is told on the channel of the mapped name, and has the mapped key then. */
static void hand_over(struct stage *stage, const char *kind, enum topic topic,
                      const struct mapping *mapping)
{
    long long from, at;

    begin_wait(stage, kind, topic, mapping->name, mapping->key);
    from = answer_number(side_do(stage->a, "t", "%s unlock %s", kind, mapping->name), "from");
    at = answer_number(side_hear_well(stage->b, "w"), "at");
    took_us(from, at);
}

static void expect_seen(struct stage *stage, const char *kind, const struct mapping *mapping)
{
    const char *answer = side_do(stage->b, "t", "%s look %s", kind, mapping->name);

    assert_int_equal(answer_number(answer, "locked"), 1);
    assert_false(can_take(stage->b, kind, mapping->name));
}

/* Those that are a hash with one owner. token: there is a counter beside it. */
static void check_lock(struct stage *stage, const char *kind, enum topic topic, bool has_token,
                       const struct mapping *mapping)
{
    const char *token = has_token ? beside(mapping, "redisson_lock_token") : NULL;
    const char *channel = beside(mapping, "redisson_lock__channel");
    bool is_silent = strcmp(kind, "spin") == 0;
    char owner[OWNER_ROOM];

    lock(stage->a, kind, mapping->name, owner);
    expect_hash(stage, mapping->key, TTL_MS - WOKEN_MS, TTL_MS, owner, "1", NULL);
    expect_keys(stage, mapping->key, token, NULL);
    expect_seen(stage, kind, mapping);
    expect_no_message(stage);
    hand_over(stage, kind, topic, mapping);
    if (!is_silent || stage->make_a == MAKE_C)
        expect_message(stage, channel, "0");
    expect_keys(stage, mapping->key, token, NULL);
    side_do(stage->b, "w", "%s unlock %s", kind, mapping->name);
    if (!is_silent || stage->make_b == MAKE_C)
        expect_message(stage, channel, "0");
    expect_no_message(stage);
    expect_keys(stage, token, NULL);
}

static void check_locks(struct stage *stage, const char *kind, enum topic topic, bool has_token)
{
    stage_mapped_sides(stage);
    listen_all(stage);
    for (size_t i = 0; i < MAPPINGS; i++) {
        check_lock(stage, kind, topic, has_token, &mappings[i]);
        raw_do(&stage->server, "FLUSHALL");
    }
}

static void play_mutex(struct stage *stage)
{
    check_locks(stage, "mutex", TOPIC_LOCK, false);
}

static void play_fenced(struct stage *stage)
{
    check_locks(stage, "fenced", TOPIC_LOCK, true);
}

static void play_spin(struct stage *stage)
{
    check_locks(stage, "spin", TOPIC_NONE, false);
}

static void play_multi(struct stage *stage)
{
    stage_mapped_sides(stage);
    lock(stage->a, "multi", "job+a{b}c", NULL);
    expect_keys(stage, mappings[0].key, mappings[1].key, NULL);
    assert_false(can_take(stage->b, "mutex", "a{b}c"));
    unlock(stage->a, "multi", "job+a{b}c");
    expect_keys(stage, NULL);
    assert_true(can_take(stage->b, "multi", "job+a{b}c"));
}

/* With a queue and its deadlines; the waiter's channel has its owner behind it. */
static void check_fair(struct stage *stage, const struct mapping *mapping)
{
    const char *queue = beside(mapping, "redisson_lock_queue");
    const char *deadlines = beside(mapping, "redisson_lock_timeout");
    char waiter[OWNER_ROOM], channel[2 * OWNER_ROOM];

    lock(stage->a, "fair", mapping->name, NULL);
    expect_seen(stage, "fair", mapping);
    expect_keys(stage, mapping->key, NULL);
    begin_wait(stage, "fair", TOPIC_TURN, mapping->name, mapping->key);
    expect_keys(stage, mapping->key, queue, deadlines, NULL);
    snprintf(waiter, sizeof waiter, "%s", raw_text(&stage->server, "LINDEX %s 0", queue));
    snprintf(channel, sizeof channel, "%s:%s", beside(mapping, "redisson_lock__channel"), waiter);
    expect_no_message(stage);
    unlock(stage->a, "fair", mapping->name);
    expect_message(stage, channel, "0");
    assert_string_equal(answer_text(side_hear_well(stage->b, "w"), "owner"), waiter);
    expect_hash(stage, mapping->key, TTL_MS - WOKEN_MS, TTL_MS, waiter, "1", NULL);
    expect_keys(stage, mapping->key, NULL);
    side_do(stage->b, "w", "fair unlock %s", mapping->name);
    if (stage->make_b == MAKE_C)
        expect_message(stage, beside(mapping, "redisson_lock__channel"), "0");
    expect_keys(stage, NULL);
}

static void play_fair(struct stage *stage)
{
    stage_mapped_sides(stage);
    skip_if_old(stage->a, "its name mapper leaves out a fair lock's queue before 3.52");
    skip_if_old(stage->b, "its name mapper leaves out a fair lock's queue before 3.52");
    listen_all(stage);
    for (size_t i = 0; i < MAPPINGS; i++)
        check_fair(stage, &mappings[i]);
}

static void check_read_write(struct stage *stage, const struct mapping *mapping)
{
    const char *channel = beside(mapping, "redisson_rwlock");
    char owner[OWNER_ROOM], hold[2 * OWNER_ROOM], writer[OWNER_ROOM + 8];

    lock(stage->a, "read", mapping->name, owner);
    snprintf(hold, sizeof hold, "%s:%s:rwlock_timeout:1", mapping->tag, owner);
    expect_hash(stage, mapping->key, TTL_MS - WOKEN_MS, TTL_MS, "mode", "read", owner, "1", NULL);
    expect_keys(stage, mapping->key, hold, NULL);
    assert_true(can_take(stage->b, "read", mapping->name));
    assert_false(can_take(stage->b, "write", mapping->name));
    begin_wait(stage, "write", TOPIC_READ_WRITE, mapping->name, mapping->key);
    expect_no_message(stage);
    unlock(stage->a, "read", mapping->name);
    expect_message(stage, channel, "0");
    snprintf(writer, sizeof writer, "%s:write",
             answer_text(side_hear_well(stage->b, "w"), "owner"));
    expect_hash(stage, mapping->key, TTL_MS - WOKEN_MS, TTL_MS, "mode", "write", writer, "1", NULL);
    expect_keys(stage, mapping->key, NULL);
    assert_false(can_take(stage->a, "read", mapping->name));
    side_do(stage->b, "w", "write unlock %s", mapping->name);
    expect_message(stage, channel, "1");
    if (stage->make_b == MAKE_C)
        expect_message(stage, channel, "0");
    expect_keys(stage, NULL);
}

static void play_read_write(struct stage *stage)
{
    stage_mapped_sides(stage);
    listen_all(stage);
    for (size_t i = 0; i < MAPPINGS; i++)
        check_read_write(stage, &mappings[i]);
}

/* Of both kinds of semaphores. set: the key of permits that are taken, if they are kept. */
static void check_permits(struct stage *stage, const char *kind, const struct mapping *mapping,
                          const char *set)
{
    const char *channel = beside(mapping, "redisson_sc");
    char what[64];

    snprintf(what, sizeof what, "%s 1", mapping->name);
    side_do(stage->a, "t", "%s set %s", kind, what);
    expect_message(stage, channel, "1");
    side_do(stage->a, "t", "%s lock %s", kind, what);
    expect_text(stage, mapping->key, "0");
    expect_keys(stage, mapping->key, set, NULL);
    begin_wait(stage, kind, TOPIC_PERMITS, what, mapping->key);
    side_do(stage->a, "t", "%s unlock %s", kind, what);
    expect_message(stage, channel, "1");
    assert_int_equal(answer_number(side_hear_well(stage->b, "w"), "got"), 1);
    expect_text(stage, mapping->key, "0");
    side_do(stage->b, "w", "%s unlock %s", kind, what);
    expect_message(stage, channel, "1");
    assert_int_equal(
        answer_number(side_do(stage->b, "t", "%s count %s", kind, mapping->name), "count"), 1);
    expect_keys(stage, mapping->key, NULL);
    raw_do(&stage->server, "FLUSHALL");
}

static void play_semaphore(struct stage *stage)
{
    stage_mapped_sides(stage);
    listen_all(stage);
    for (size_t i = 0; i < MAPPINGS; i++)
        check_permits(stage, "semaphore", &mappings[i], NULL);
}

static void play_permits(struct stage *stage)
{
    stage_mapped_sides(stage);
    listen_all(stage);
    check_permits(stage, "permits", &mappings[0], "{app:job}:timeout");
    check_permits(stage, "permits", &mappings[1], "app:a{b}c:timeout");
}

static void check_latch(struct stage *stage, const struct mapping *mapping, const char *channel)
{
    side_do(stage->a, "t", "latch set %s 1", mapping->name);
    expect_message(stage, channel, "1");
    expect_text(stage, mapping->key, "1");
    expect_keys(stage, mapping->key, NULL);
    begin_wait(stage, "latch", TOPIC_LATCH, mapping->name, mapping->key);
    unlock(stage->a, "latch", mapping->name);
    expect_message(stage, channel, "0");
    assert_int_equal(answer_number(side_hear_well(stage->b, "w"), "got"), 1);
    expect_keys(stage, NULL);
}

static void play_latch(struct stage *stage)
{
    stage_mapped_sides(stage);
    listen_all(stage);
    check_latch(stage, &mappings[0], "redisson_countdownlatch__channel__{app:job}");
    check_latch(stage, &mappings[1], "redisson_countdownlatch__channel__{app:a{b}c}");
}

static void play_values(struct stage *stage)
{
    stage_mapped_sides(stage);
    for (size_t i = 0; i < MAPPINGS; i++) {
        const struct mapping *mapping = &mappings[i];

        side_do(stage->a, "t", "bucket set %s one", mapping->name);
        expect_text(stage, mapping->key, "one");
        assert_string_equal(
            answer_text(side_do(stage->b, "t", "bucket get %s", mapping->name), "value"), "one");
        side_do(stage->b, "t", "bucket delete %s", mapping->name);
        expect_keys(stage, NULL);
        side_do(stage->a, "t", "map put %s k two", mapping->name);
        assert_string_equal(raw_text(&stage->server, "HGET %s k", mapping->key), "two");
        expect_keys(stage, mapping->key, NULL);
        assert_string_equal(
            answer_text(side_do(stage->b, "t", "map remove %s k", mapping->name), "value"), "two");
        expect_keys(stage, NULL);
    }
}

static const struct scenario scenarios[] = {
    { "mutex", PAIRS_BOTH, play_mutex },
    { "fair", PAIRS_BOTH, play_fair },
    { "read-write", PAIRS_BOTH, play_read_write },
    { "fenced", PAIRS_BOTH, play_fenced },
    { "spin", PAIRS_BOTH, play_spin },
    { "multi", PAIRS_BOTH, play_multi },
    { "semaphore", PAIRS_BOTH, play_semaphore },
    { "permits", PAIRS_BOTH, play_permits },
    { "latch", PAIRS_BOTH, play_latch },
    { "bucket and map", PAIRS_BOTH, play_values },
};

const struct kind kind_mapped = { "mapped",  TOPIC_NONE, "job",
                                  "app:job", scenarios,  sizeof scenarios / sizeof scenarios[0] };
