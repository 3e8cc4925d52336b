/* SPDX-License-Identifier: Apache-2.0 */
/* Read-write locks beside RReadWriteLock: one hash, and a key for each reader's hold. */
#include "interop/lock.h"

/* The key of a reader's first hold. */
static const char *hold_key(const char *owner)
{
    static char key[2 * OWNER_ROOM];

    snprintf(key, sizeof key, "{job}:%s:rwlock_timeout:1", owner);
    return key;
}

static void expect_reader_key(struct stage *stage, const char *owner)
{
    expect_text(stage, hold_key(owner), "1");
    expect_ttl(stage, hold_key(owner), TTL_MS - WOKEN_MS, TTL_MS);
}

/* Readers of both sides together; writers of neither. */
static void play_readers(struct stage *stage)
{
    const char *channel = channel_of(TOPIC_READ_WRITE, "job");
    char a[OWNER_ROOM], b[OWNER_ROOM], key[2 * OWNER_ROOM];

    stage_sides(stage, TTL_MS, TTL_MS);
    listen_all(stage);
    lock(stage->a, "read", "job", a);
    expect_hash(stage, "job", TTL_MS - WOKEN_MS, TTL_MS, "mode", "read", a, "1", NULL);
    expect_reader_key(stage, a);
    expect_keys(stage, "job", hold_key(a), NULL);
    lock(stage->b, "read", "job", b);
    expect_hash(stage, "job", TTL_MS - WOKEN_MS, TTL_MS, "mode", "read", a, "1", b, "1", NULL);
    expect_reader_key(stage, b);
    snprintf(key, sizeof key, "%s", hold_key(a));
    expect_keys(stage, "job", key, hold_key(b), NULL);
    assert_int_equal(answer_number(side_do(stage->a, "v", "write try job"), "got"), 0);
    assert_int_equal(answer_number(side_do(stage->b, "v", "write try job"), "got"), 0);
    expect_no_message(stage);
    unlock(stage->a, "read", "job");
    expect_hash(stage, "job", TTL_MS - WOKEN_MS, TTL_MS, "mode", "read", b, "1", NULL);
    expect_keys(stage, "job", hold_key(b), NULL);
    assert_int_equal(answer_number(side_do(stage->a, "v", "write try job"), "got"), 0);
    unlock(stage->b, "read", "job");
    expect_keys(stage, NULL);
    expect_message(stage, channel, "0");
    expect_no_message(stage);
    assert_true(can_take(stage->a, "write", "job"));
}

/* A writer of one side, nobody of the other. */
static void play_writer(struct stage *stage)
{
    const char *channel = channel_of(TOPIC_READ_WRITE, "job");
    char owner[OWNER_ROOM], writer[OWNER_ROOM + 8];

    stage_sides(stage, TTL_MS, TTL_MS);
    listen_all(stage);
    lock(stage->a, "write", "job", owner);
    snprintf(writer, sizeof writer, "%s:write", owner);
    expect_hash(stage, "job", TTL_MS - WOKEN_MS, TTL_MS, "mode", "write", writer, "1", NULL);
    expect_keys(stage, "job", NULL);
    assert_false(can_take(stage->b, "write", "job"));
    assert_false(can_take(stage->b, "read", "job"));
    expect_no_message(stage);
    unlock(stage->a, "write", "job");
    expect_keys(stage, NULL);
    expect_message(stage, channel, "1");
    if (stage->make_a ==
        MAKE_C) /* Redisson's threads that have looked and do not sleep yet need it */
        expect_message(stage, channel, "0");
    expect_no_message(stage);
    assert_true(can_take(stage->b, "read", "job"));
    assert_true(can_take(stage->b, "write", "job"));
}

static void expect_locked(struct side *side, const char *mode, bool is)
{
    assert_int_equal(answer_number(side_do(side, "t", "%s look job", mode), "locked"), is);
}

/* A writer reads, and then goes on as a reader: others may read, none may write. */
static void play_downgrade(struct stage *stage)
{
    char owner[OWNER_ROOM], reader[OWNER_ROOM], writer[OWNER_ROOM + 8];

    stage_sides(stage, TTL_MS, TTL_MS);
    lock(stage->a, "write", "job", owner);
    snprintf(writer, sizeof writer, "%s:write", owner);
    if (stage->make_b == MAKE_JAVA) /* it asks for either mode; ours tells which it is */
        expect_locked(stage->b, "read", false);
    lock(stage->a, "read", "job", reader);
    assert_string_equal(reader, owner);
    expect_hash(stage, "job", TTL_MS - WOKEN_MS, TTL_MS, "mode", "write", writer, "1", owner, "1",
                NULL);
    expect_reader_key(stage, owner);
    expect_keys(stage, "job", hold_key(owner), NULL);
    assert_false(can_take(stage->b, "read", "job"));
    if (stage->make_b == MAKE_JAVA)
        expect_locked(stage->b, "read", true);
    unlock(stage->a, "write", "job");
    if (stage->make_b == MAKE_JAVA)
        expect_locked(stage->b, "write", false);
    expect_hash(stage, "job", TTL_MS - WOKEN_MS, TTL_MS, "mode", "read", owner, "1", NULL);
    expect_keys(stage, "job", hold_key(owner), NULL);
    assert_true(can_take(stage->b, "read", "job"));
    assert_false(can_take(stage->b, "write", "job"));
    unlock(stage->a, "read", "job");
    expect_keys(stage, NULL);
    assert_true(can_take(stage->b, "write", "job"));
}

/* The write hold is given back last: others stay out until then. */
static void play_read_inside(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    lock(stage->a, "write", "job", NULL);
    lock(stage->a, "read", "job", NULL);
    unlock(stage->a, "read", "job");
    assert_false(can_take(stage->b, "read", "job"));
    expect_keys(stage, "job", NULL);
    unlock(stage->a, "write", "job");
    expect_keys(stage, NULL);
    assert_true(can_take(stage->b, "write", "job"));
}

static void play_write_to_read(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    measure_handoffs(stage, "write", "read");
}

static void play_read_to_write(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    measure_handoffs(stage, "read", "write");
}

/* Writers change two numbers; readers see them equal. */
static void play_storm_of_both(struct stage *stage)
{
    int ms = stage->storm_ms;

    stage_sides(stage, TTL_MS, TTL_MS);
    side_tell(stage->a, "r", "read look-storm job counter 2 %d", ms);
    side_tell(stage->b, "r", "read look-storm job counter 2 %d", ms);
    side_tell(stage->a, "t", "write write-storm job counter 2 %d", ms);
    side_tell(stage->b, "t", "write write-storm job counter 2 %d", ms);
    check_storm(stage, "counter");
    printf("readers: %s %lld,", side_name(stage->make_a),
           answer_number(side_hear_well(stage->a, "r"), "done"));
    printf(" %s %lld\n", side_name(stage->make_b),
           answer_number(side_hear_well(stage->b, "r"), "done"));
    expect_keys(stage, "counter", "counter-copy", NULL);
}

static void play_reader_killed(struct stage *stage)
{
    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    kill_holder(stage, "read", "write", "job");
}

static void play_reader_renewed(struct stage *stage)
{
    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    watch_renewal(stage, "read", "write", "job");
    expect_keys(stage, NULL);
}

/* Two readers whose leases end at different times: the writer waits for the longer one, which the shorter one does
 * not cut off, whichever came first. */
static void play_reader_leases(struct stage *stage)
{
    struct side *sides[2];

    stage_sides(stage, TTL_MS, TTL_MS);
    sides[0] = stage->a;
    sides[1] = stage->b;
    for (int i = 0; i < 2; i++) {
        int64_t from = now_ms();

        side_do(sides[i], "t", "read lease job 1800");
        side_do(sides[!i], "t", "read lease job 600");
        side_do(stage->b, "w", "write lock job");
        if (now_ms() - from < 1795)
            fail_msg("the writer came after %lld ms", (long long)(now_ms() - from));
        expect_refused(sides[i], "t", "read unlock job");
        expect_refused(sides[!i], "t", "read unlock job");
        side_do(stage->b, "w", "write unlock job");
        expect_keys(stage, NULL);
    }
}

#define READERS 4 /* of each side */

static bool are_waiting(struct side *side)
{
    for (int i = 0; i < READERS && side->make == MAKE_JAVA; i++)
        if (answer_number(side_do(side, "x", "thread asleep r%d", i), "asleep") != 1)
            return false;
    return true;
}

/* The readers of both sides that wait for a writer come in together. */
static void play_readers_together(struct stage *stage)
{
    struct side *sides[2];
    char name[8];
    int64_t from;

    stage_sides(stage, TTL_MS, TTL_MS);
    sides[0] = stage->a;
    sides[1] = stage->b;
    lock(stage->a, "write", "job", NULL);
    for (int i = 0; i < 2 * READERS; i++) {
        long long looks = count_looks(&stage->server);

        snprintf(name, sizeof name, "r%d", i / 2);
        side_tell(sides[i % 2], name, "read lock job");
        AWAIT(count_looks(&stage->server) > looks);
    }
    AWAIT(count_subscribers(stage, TOPIC_READ_WRITE, "job") >= 2);
    AWAIT(are_waiting(stage->a) && are_waiting(stage->b));
    from = now_ms();
    unlock(stage->a, "write", "job");
    for (int i = 0; i < 2 * READERS; i++) {
        snprintf(name, sizeof name, "r%d", i / 2);
        side_hear_well(sides[i % 2], name);
    }
    assert_true(now_ms() - from < WOKEN_MS);
    assert_int_equal(raw_integer(&stage->server, "HLEN job"), 1 + 2 * READERS);
    for (int i = 0; i < 2 * READERS; i++) {
        snprintf(name, sizeof name, "r%d", i / 2);
        side_do(sides[i % 2], name, "read unlock job");
    }
    expect_keys(stage, NULL);
}

/* A reader that was killed keeps nobody out behind the back of one that lives. */
static void play_dead_reader(struct stage *stage)
{
    long long from, at;
    char dead[OWNER_ROOM];

    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    skip_if_old(stage->b, "its readers renew those of dead processes, too, before 4.4");
    lock(stage->a, "read", "job", dead);
    side_do(stage->b, "t", "read lock job");
    side_kill(stage->a);
    AWAIT(raw_integer(&stage->server, "EXISTS %s", hold_key(dead)) == 0);
    begin_wait(stage, "write", TOPIC_READ_WRITE, "job", "job");
    from = answer_number(side_do(stage->b, "t", "read unlock job"), "from");
    at = answer_number(side_hear_well(stage->b, "w"), "at");
    took_us(from, at);
    side_do(stage->b, "w", "write unlock job");
    expect_keys(stage, NULL);
}

static void play_seen_both(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    look_at_holder(stage, "write", "write");
    look_at_holder(stage, "read", "read");
}

static const struct scenario scenarios[] = {
    { "seen", PAIRS_BOTH, play_seen_both },
    { "readers, data", PAIRS_BOTH, play_readers },
    { "writer, data", PAIRS_BOTH, play_writer },
    { "downgrade", PAIRS_BOTH, play_downgrade },
    { "reading while writing", PAIRS_BOTH, play_read_inside },
    { "readers together", PAIRS_BOTH, play_readers_together },
    { "leases of readers", PAIRS_BOTH_ASLEEP, play_reader_leases },
    { "dead reader", PAIRS_BOTH_ASLEEP, play_dead_reader },
    { "hand-off", PAIRS_ALL, play_handoff },
    { "writer to reader", PAIRS_BOTH, play_write_to_read },
    { "reader to writer", PAIRS_BOTH, play_read_to_write },
    { "counter", PAIRS_ONE, play_storm_of_both },
    { "killed writer", PAIRS_BOTH_ASLEEP, play_killed },
    { "killed reader", PAIRS_BOTH_ASLEEP, play_reader_killed },
    { "renewal, writer", PAIRS_BOTH_ASLEEP, play_renewed },
    { "renewal, reader", PAIRS_BOTH_ASLEEP, play_reader_renewed },
    { "forced unlock", PAIRS_BOTH, play_forced },
    { "forced unlock, readers", PAIRS_BOTH, play_forced_readers },
    { "forced unlock, the other mode", PAIRS_OURS, play_forced_mode },
};

const struct kind kind_write = {
    "write", TOPIC_READ_WRITE, "job", "job", scenarios, sizeof scenarios / sizeof scenarios[0]
};
