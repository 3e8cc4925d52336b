/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read-write locks on a real server, step by step: fields, keys, ttls and messages as Redisson's RReadWriteLock has
 * them, alone, among ourselves, and with owners of another make.
 */
#include "redis/direct.h"
#include "redis/java.h"

static struct direct a, b;

static int begin(void **state)
{
    test_begin(state);
    direct_open(&a, 'a', "", "");
    direct_open(&b, 'b', "", "");
    return 0;
}

static int end(void **state)
{
    direct_close(&a);
    direct_close(&b);
    return test_end(state);
}

/* "field=value field=value", sorted; the owner of A's n-th is "a:n", of Java's "j:n". */
static const char *hash(const char *key)
{
    return raw_text(
        &server, "EVAL %s 1 %s",
        "local all, lines = redis.call('HGETALL', KEYS[1]), {} "
        "for i = 1, #all, 2 do lines[#lines + 1] = string.gsub(string.gsub(all[i], "
        "'^%x+%-%x+%-%x+%-%x+%-%x+(%x):', '%1:'), '^d:', 'j:') .. '=' .. all[i + 1] end "
        "table.sort(lines) return table.concat(lines, ' ')",
        key);
}

static long long pttl(const char *key)
{
    return raw_integer(&server, "PTTL %s", key);
}

static long long reader_pttl(const char *name, const char *owner)
{
    return raw_integer(&server, "PTTL {%s}:%s:rwlock_timeout:1", name, owner);
}

static redisContext *listen_to(const char *channel)
{
    redisContext *raw = raw_open(&server);

    raw_send(raw, "SUBSCRIBE %s", channel);
    freeReplyObject(raw_next(raw, PATIENCE_MS));
    return raw;
}

/* The next message; NULL: that there is none. */
static void expect(redisContext *raw, const char *payload)
{
    redisReply *reply = raw_next(raw, payload ? PATIENCE_MS : 20);

    if (!payload) {
        assert_null(reply);
        /* hiredis ends a context that was waited for in vain */
        return;
    }
    assert_non_null(reply);
    assert_string_equal(reply->element[2]->str, payload);
    freeReplyObject(reply);
}

/* What a writer's release says: the second is for Redisson's threads that do not sleep yet. */
static void expect_written(redisContext *raw)
{
    expect(raw, "1");
    expect(raw, "0");
}

static void busy(struct direct *direct, struct hfi_lease *lease, enum hfi_topic topic)
{
    assert_int_equal(direct_try(direct, lease), HFI_BUSY);
    assert_int_equal(lease->topic, topic);
    assert_in_range(lease->hint_ns, 1, 60000 * HFI_MSEC);
    assert_false(lease->ticket);
}

static void writing(void **state)
{
    struct hfi_lease lease = direct_lease(HFI_KIND_WRITE, "L", 1),
                     other = direct_lease(HFI_KIND_WRITE, "L", 1),
                     reader = direct_lease(HFI_KIND_READ, "L", 2);
    redisContext *raw = listen_to("redisson_rwlock:{L}");
    uint64_t first;

    (void)state;
    assert_int_equal(direct_try(&a, &lease), HFI_GRANTED);
    first = lease.token;
    assert_true(first > UINT64_C(1700000000000000));
    assert_int_equal(lease.tokens, 1);
    assert_string_equal(hash("L"), "a:1:write=1 mode=write");
    assert_in_range(pttl("L"), 29000, 30000);
    assert_int_equal(server_count_keys(&server), 1);
    assert_int_equal(direct_try(&a, &lease), HFI_ALREADY);
    busy(&b, &other, HFI_TOPIC_READ_WRITE);
    busy(&b, &reader, HFI_TOPIC_READ_WRITE);
    assert_int_equal(direct_release(&b, &other), HFI_GONE);
    assert_string_equal(hash("L"), "a:1:write=1 mode=write");
    assert_int_equal(direct_release(&a, &lease), HFI_RELEASED);
    assert_int_equal(lease.others, 1);
    expect_written(raw);
    assert_int_equal(raw_integer(&server, "EXISTS L"), 0);
    assert_int_equal(direct_release(&a, &lease), HFI_GONE);
    lease.owner = 2;
    assert_int_equal(direct_try(&a, &lease), HFI_GRANTED);
    assert_true(lease.token > first);
    assert_int_equal(direct_release(&a, &lease), HFI_RELEASED);
    expect_written(raw);
    expect(raw, NULL);
    redisFree(raw);
}

static void reading(void **state)
{
    struct hfi_lease one = direct_lease(HFI_KIND_READ, "L", 1),
                     two = direct_lease(HFI_KIND_READ, "L", 1),
                     writer = direct_lease(HFI_KIND_WRITE, "L", 2);
    redisContext *raw = listen_to("redisson_rwlock:{L}");

    (void)state;
    two.ttl_ms = 60000;
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    assert_string_equal(hash("L"), "a:1=1 mode=read");
    assert_int_equal(direct_try(&b, &two), HFI_GRANTED);
    assert_string_equal(hash("L"), "a:1=1 b:1=1 mode=read");
    assert_int_equal(direct_try(&a, &one), HFI_ALREADY);
    assert_string_equal(hash("L"), "a:1=1 b:1=1 mode=read");
    assert_in_range(pttl("L"), 59000, 60000);
    assert_in_range(reader_pttl("L", direct_owner(&a, 1)), 29000, 30000);
    assert_in_range(reader_pttl("L", direct_owner(&b, 1)), 59000, 60000);
    assert_string_equal(raw_text(&server, "GET {L}:%s:rwlock_timeout:1", direct_owner(&a, 1)), "1");
    assert_int_equal(server_count_keys(&server), 3);
    assert_int_equal(direct_try(&a, &writer), HFI_BUSY);
    assert_int_equal(writer.topic, HFI_TOPIC_READ_WRITE);
    assert_in_range(writer.hint_ns, 59000 * HFI_MSEC, 60000 * HFI_MSEC);
    assert_int_equal(direct_release(&b, &two), HFI_RELEASED);
    assert_int_equal(two.others, 0);
    assert_in_range(pttl("L"), 29000, 30000); /* as long as the last of the others */
    assert_string_equal(hash("L"), "a:1=1 mode=read");
    assert_int_equal(server_count_keys(&server), 2);
    assert_int_equal(direct_release(&b, &two), HFI_GONE);
    assert_int_equal(direct_release(&a, &one), HFI_RELEASED);
    assert_int_equal(one.others, 1);
    expect(raw, "0");
    expect(raw, NULL);
    assert_int_equal(server_count_keys(&server), 0);
    redisFree(raw);
}

static void names(void **state)
{
    static const struct {
        const char *name, *prefix, *channel;
    } NAMES[] = {
        { "order", "{order}", "redisson_rwlock:{order}" },
        { "{test}:abc:key", "{test}:abc:key", "redisson_rwlock:{test}:abc:key" },
        { "a{b", "a{b", "redisson_rwlock:a{b" },
        { "a b", "{a b}", "redisson_rwlock:{a b}" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        struct hfi_lease lease = direct_lease(HFI_KIND_READ, NAMES[i].name, 7);
        redisContext *raw = listen_to(NAMES[i].channel);

        assert_int_equal(direct_try(&a, &lease), HFI_GRANTED);
        assert_int_equal(raw_integer(&server, "EXISTS %s:%s:rwlock_timeout:1", NAMES[i].prefix,
                                     direct_owner(&a, 7)),
                         1);
        assert_int_equal(direct_release(&a, &lease), HFI_RELEASED);
        expect(raw, "0");
        redisFree(raw);
    }
}

/* Exclusive and shared kinds keep each other out, whichever kind took the name. */
static void kinds_exclude_each_other(void **state)
{
    static const enum hfi_kind PLAIN[] = { HFI_KIND_MUTEX, HFI_KIND_SPIN, HFI_KIND_FENCED,
                                           HFI_KIND_FAIR };
    static const enum hfi_kind SHARED[] = { HFI_KIND_WRITE, HFI_KIND_READ };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 2; k++) {
            struct hfi_lease plain = direct_lease(PLAIN[i], "L", 1),
                             shared = direct_lease(SHARED[k], "L", 2);

            plain.queue = false;
            assert_int_equal(direct_try(&a, &plain), HFI_GRANTED);
            busy(&b, &shared, HFI_TOPIC_LOCK);
            assert_int_equal(direct_release(&b, &shared), HFI_GONE);
            assert_int_equal(direct_release(&a, &plain), HFI_RELEASED);
            assert_int_equal(direct_try(&b, &shared), HFI_GRANTED);
            busy(&a, &plain, HFI_TOPIC_READ_WRITE);
            assert_int_equal(direct_release(&a, &plain), HFI_GONE);
            assert_int_equal(direct_release(&b, &shared), HFI_RELEASED);
        }
    }
    raw_do(&server, "DEL redisson_lock_token:{L}");
}

/* ------------------------------------------------------------------------------------------------
 * One owner in both ways
 */

static void write_then_read(void **state)
{
    struct hfi_lease writer = direct_lease(HFI_KIND_WRITE, "L", 1),
                     reader = direct_lease(HFI_KIND_READ, "L", 1),
                     other = direct_lease(HFI_KIND_READ, "L", 2);
    redisContext *raw = listen_to("redisson_rwlock:{L}");

    (void)state;
    reader.ttl_ms = 20000;
    assert_int_equal(direct_try(&a, &writer), HFI_GRANTED);
    assert_int_equal(direct_try(&a, &reader), HFI_GRANTED);
    assert_string_equal(hash("L"), "a:1:write=1 a:1=1 mode=write");
    assert_in_range(pttl("L"), 29000, 30000);
    assert_int_equal(direct_try(&a, &reader), HFI_ALREADY);
    assert_int_equal(direct_try(&a, &writer), HFI_ALREADY);
    busy(&b, &other, HFI_TOPIC_READ_WRITE);
    assert_int_equal(direct_release(&a, &writer), HFI_RELEASED); /* now others may read */
    expect_written(raw);
    assert_string_equal(hash("L"), "a:1=1 mode=read");
    assert_in_range(pttl("L"), 19000, 20000);
    assert_int_equal(direct_try(&b, &other), HFI_GRANTED);
    busy(&a, &writer, HFI_TOPIC_READ_WRITE);
    assert_int_equal(direct_release(&a, &reader), HFI_RELEASED);
    assert_int_equal(direct_release(&b, &other), HFI_RELEASED);
    expect(raw, "0");
    redisFree(raw);
}

static void write_then_read_released_in_order(void **state)
{
    struct hfi_lease writer = direct_lease(HFI_KIND_WRITE, "L", 1),
                     reader = direct_lease(HFI_KIND_READ, "L", 1);
    redisContext *raw = listen_to("redisson_rwlock:{L}");

    (void)state;
    assert_int_equal(direct_try(&a, &writer), HFI_GRANTED);
    assert_int_equal(direct_try(&a, &reader), HFI_GRANTED);
    assert_int_equal(direct_release(&a, &reader), HFI_RELEASED);
    assert_string_equal(hash("L"), "a:1:write=1 mode=write");
    assert_int_equal(server_count_keys(&server), 1);
    assert_true(direct_renew(&a, &writer, 30000));
    assert_false(direct_renew(&a, &reader, 30000));
    assert_int_equal(direct_release(&a, &writer), HFI_RELEASED);
    expect_written(raw); /* and nothing before */
    redisFree(raw);
}

/* A reader does not become a writer: it waits for itself. */
static void read_then_write(void **state)
{
    struct hfi_lease writer = direct_lease(HFI_KIND_WRITE, "L", 1),
                     reader = direct_lease(HFI_KIND_READ, "L", 1);

    (void)state;
    assert_int_equal(direct_try(&a, &reader), HFI_GRANTED);
    busy(&a, &writer, HFI_TOPIC_READ_WRITE);
    assert_int_equal(direct_release(&a, &reader), HFI_RELEASED);
}

/* ------------------------------------------------------------------------------------------------
 * The dead
 */

static void die(const struct direct *direct, uint64_t owner)
{
    raw_do(&server, "DEL {L}:%s:rwlock_timeout:1", direct_owner(direct, owner));
}

static void dead_readers_do_not_stop_a_writer(void **state)
{
    struct hfi_lease one = direct_lease(HFI_KIND_READ, "L", 1),
                     two = direct_lease(HFI_KIND_READ, "L", 2),
                     writer = direct_lease(HFI_KIND_WRITE, "L", 3);

    (void)state;
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    assert_int_equal(direct_try(&a, &two), HFI_GRANTED);
    die(&a, 1);
    busy(&b, &writer, HFI_TOPIC_READ_WRITE);
    die(&a, 2);
    assert_int_equal(direct_try(&b, &writer), HFI_GRANTED);
    assert_string_equal(hash("L"), "b:3:write=1 mode=write");
    assert_false(direct_renew(&a, &one, 30000));
    assert_int_equal(direct_release(&a, &one), HFI_GONE);
    assert_int_equal(direct_release(&b, &writer), HFI_RELEASED);
}

static void a_release_removes_the_dead(void **state)
{
    struct hfi_lease one = direct_lease(HFI_KIND_READ, "L", 1),
                     two = direct_lease(HFI_KIND_READ, "L", 2),
                     three = direct_lease(HFI_KIND_READ, "L", 3);
    redisContext *raw = listen_to("redisson_rwlock:{L}");

    (void)state;
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    assert_int_equal(direct_try(&a, &two), HFI_GRANTED);
    assert_int_equal(direct_try(&b, &three), HFI_GRANTED);
    die(&a, 1);
    assert_int_equal(direct_release(&b, &three), HFI_RELEASED);
    assert_string_equal(hash("L"), "a:2=1 mode=read");
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED); /* it comes back */
    die(&a, 1);
    assert_int_equal(direct_release(&a, &one), HFI_GONE); /* it was over */
    assert_string_equal(hash("L"), "a:2=1 mode=read");
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    die(&a, 1);
    assert_int_equal(direct_release(&a, &two), HFI_RELEASED); /* nobody is left who lives */
    expect(raw, "0");
    assert_int_equal(server_count_keys(&server), 0);
    redisFree(raw);
}

/* The one that lets go is dead itself, and was the last: the lock is free, and waiters are told. */
static void a_late_release_tells(void **state)
{
    struct hfi_lease one = direct_lease(HFI_KIND_READ, "L", 1);
    redisContext *raw = listen_to("redisson_rwlock:{L}");

    (void)state;
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    die(&a, 1);
    assert_int_equal(direct_release(&a, &one), HFI_GONE);
    expect(raw, "0");
    redisFree(raw);
}

static void a_count_that_nobody_has(void **state)
{
    struct hfi_lease writer = direct_lease(HFI_KIND_WRITE, "L", 1);

    (void)state;
    raw_do(&server, "HSET L mode read %s 1000000000000", java_owner(1));
    assert_int_equal(direct_try(&a, &writer), HFI_GRANTED); /* and soon */
    assert_int_equal(direct_release(&a, &writer), HFI_RELEASED);
}

/* ------------------------------------------------------------------------------------------------
 * Renewals
 */

static void renewals(void **state)
{
    struct hfi_lease one = direct_lease(HFI_KIND_READ, "L", 1),
                     two = direct_lease(HFI_KIND_READ, "L", 2),
                     writer = direct_lease(HFI_KIND_WRITE, "M", 1);

    (void)state;
    two.ttl_ms = 90000;
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    assert_int_equal(direct_try(&b, &two), HFI_GRANTED);
    assert_true(direct_renew(&a, &one, 40000));
    assert_in_range(reader_pttl("L", direct_owner(&a, 1)), 39000, 40000);
    assert_in_range(pttl("L"), 89000, 90000); /* another's longer lease is not cut */
    assert_true(direct_renew(&a, &one, 100000));
    assert_in_range(pttl("L"), 99000, 100000);
    assert_true(direct_renew(&a, &one, 0)); /* only looks */
    assert_in_range(reader_pttl("L", direct_owner(&a, 1)), 98000, 100000);
    assert_false(direct_renew(&b, &one, 40000));
    raw_do(&server, "DEL {L}:%s:rwlock_timeout:1", direct_owner(&a, 1));
    assert_false(direct_renew(&a, &one, 40000));
    assert_int_equal(direct_release(&a, &one), HFI_GONE);
    assert_int_equal(direct_release(&b, &two), HFI_RELEASED);

    assert_int_equal(direct_try(&a, &writer), HFI_GRANTED);
    assert_true(direct_renew(&a, &writer, 60000));
    assert_in_range(pttl("M"), 59000, 60000);
    assert_false(direct_renew(&b, &writer, 60000));
    raw_do(&server, "DEL M");
    assert_false(direct_renew(&a, &writer, 60000));
    assert_int_equal(raw_integer(&server, "EXISTS M"), 0);
}

/* A key of another type among them does not spoil the others. */
static void renewals_beside_a_bad_key(void **state)
{
    static const enum hfi_kind KINDS[] = { HFI_KIND_READ, HFI_KIND_WRITE };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct hfi_lease good = direct_lease(KINDS[i], "L", 1),
                         bad = direct_lease(KINDS[i], "B", 1);
        struct hfi_renewal_item items[] = { { .lease = &bad, .ttl_ms = 50000 },
                                            { .lease = &good, .ttl_ms = 50000 } };
        struct hfi_renewal renewal = { .count = 2, .items = items };

        raw_do(&server, "SET B text");
        assert_int_equal(direct_ask(&a, &bad.request, HFI_OP_TRY), HF_ERR_WRONG_TYPE);
        assert_int_equal(direct_ask(&a, &bad.request, HFI_OP_RELEASE), HF_ERR_WRONG_TYPE);
        assert_int_equal(direct_try(&a, &good), HFI_GRANTED);
        assert_int_equal(direct_ask(&a, &renewal.request, HFI_OP_RENEW), HF_OK);
        assert_false(items[0].kept);
        assert_true(items[1].kept);
        assert_in_range(pttl("L"), 49000, 50000);
        assert_int_equal(direct_release(&a, &good), HFI_RELEASED);
        raw_do(&server, "DEL B");
    }
}

/* ------------------------------------------------------------------------------------------------
 * Preferred writers
 */

static void preferred(struct direct *direct, struct hfi_lease *lease)
{
    lease->prefer = true;
    assert_int_equal(direct_try(direct, lease), HFI_BUSY);
    assert_true(lease->ticket);
    assert_int_equal(lease->hint_ns, 1500 * HFI_MSEC); /* it is to be heard of again in time */
}

/* They wait for a writer, but no longer than it is heard of. */
static void held_back(struct direct *direct, struct hfi_lease *lease)
{
    assert_int_equal(direct_try(direct, lease), HFI_BUSY);
    assert_int_equal(lease->topic, HFI_TOPIC_READ_WRITE);
    assert_in_range(lease->hint_ns, 1, 3000 * HFI_MSEC);
}

static void readers_wait_for_a_preferred_writer(void **state)
{
    struct hfi_lease reader = direct_lease(HFI_KIND_READ, "L", 1),
                     late = direct_lease(HFI_KIND_READ, "L", 2),
                     writer = direct_lease(HFI_KIND_WRITE, "L", 3);

    (void)state;
    assert_int_equal(direct_try(&a, &reader), HFI_GRANTED);
    preferred(&b, &writer);
    assert_in_range(pttl("holdfast_writer:{L}"), 2000, 3000);
    held_back(&a, &late);
    assert_int_equal(direct_try(&a, &reader), HFI_ALREADY);
    assert_true(direct_renew(&a, &reader, 30000));
    assert_int_equal(direct_release(&a, &reader), HFI_RELEASED);
    held_back(&a, &late); /* the lock is free, and the writer is about to come */
    assert_int_equal(direct_try(&b, &writer), HFI_GRANTED);
    assert_int_equal(raw_integer(&server, "EXISTS holdfast_writer:{L}"), 0);
    busy(&a, &late, HFI_TOPIC_READ_WRITE);
    assert_int_equal(direct_release(&b, &writer), HFI_RELEASED);
    assert_int_equal(direct_try(&a, &late), HFI_GRANTED);
    assert_int_equal(direct_release(&a, &late), HFI_RELEASED);
}

static void a_preferred_writer_leaves(void **state)
{
    struct hfi_lease reader = direct_lease(HFI_KIND_READ, "L", 1),
                     late = direct_lease(HFI_KIND_READ, "L", 2),
                     one = direct_lease(HFI_KIND_WRITE, "L", 3),
                     two = direct_lease(HFI_KIND_WRITE, "L", 4);
    redisContext *raw = listen_to("redisson_rwlock:{L}");

    (void)state;
    assert_int_equal(direct_try(&a, &reader), HFI_GRANTED);
    preferred(&b, &one);
    preferred(&a, &two);
    direct_leave(&b, &one);
    expect(raw, "1");
    held_back(&a, &late);   /* for the other one */
    direct_leave(&b, &one); /* again: nothing is said */
    direct_leave(&a, &two);
    expect(raw, "1");
    assert_int_equal(direct_try(&a, &late), HFI_GRANTED);
    preferred(&b, &one);
    assert_int_equal(direct_release(&b, &one), HFI_GONE); /* as after a try that nobody knows of */
    expect(raw, "1");
    expect(raw, NULL);
    assert_int_equal(raw_integer(&server, "EXISTS holdfast_writer:{L}"), 0);
    assert_int_equal(direct_release(&a, &late), HFI_RELEASED);
    assert_int_equal(direct_release(&a, &reader), HFI_RELEASED);
    redisFree(raw);
}

/* A writer that is heard of no more holds nobody back: not even beside one that still is, once that one has gone. */
static void a_preferred_writer_dies(void **state)
{
    struct hfi_lease late = direct_lease(HFI_KIND_READ, "L", 2),
                     writer = direct_lease(HFI_KIND_WRITE, "L", 3);

    (void)state;
    raw_do(&server, "ZADD holdfast_writer:{L} 1700000000000 %s", direct_owner(&b, 9));
    assert_int_equal(direct_try(&a, &late), HFI_GRANTED);
    preferred(&b, &writer);
    assert_int_equal(direct_release(&a, &late), HFI_RELEASED);
    held_back(&a, &late);
    assert_int_equal(direct_try(&b, &writer), HFI_GRANTED);
    assert_int_equal(direct_release(&b, &writer), HFI_RELEASED);
    assert_int_equal(direct_try(&a, &late), HFI_GRANTED);
    assert_int_equal(direct_release(&a, &late), HFI_RELEASED);
}

/* Whoever writes may read, whoever waits. */
static void a_writer_reads_before_a_preferred_one(void **state)
{
    struct hfi_lease writer = direct_lease(HFI_KIND_WRITE, "L", 1),
                     reader = direct_lease(HFI_KIND_READ, "L", 1),
                     waiting = direct_lease(HFI_KIND_WRITE, "L", 2);

    (void)state;
    assert_int_equal(direct_try(&a, &writer), HFI_GRANTED);
    preferred(&b, &waiting);
    assert_int_equal(direct_try(&a, &reader), HFI_GRANTED);
    assert_int_equal(direct_release(&a, &writer), HFI_RELEASED);
    assert_int_equal(direct_release(&a, &reader), HFI_RELEASED);
    direct_leave(&b, &waiting);
}

/* ------------------------------------------------------------------------------------------------
 * Beside owners of another make
 */

static void beside_foreign_readers(void **state)
{
    struct hfi_lease reader = direct_lease(HFI_KIND_READ, "L", 1),
                     writer = direct_lease(HFI_KIND_WRITE, "L", 2);
    redisContext *raw = listen_to("redisson_rwlock:{L}");

    (void)state;
    assert_int_equal(java_read_try("L", 5, 60000), JAVA_TAKEN);
    assert_int_equal(java_read_try("L", 5, 20000), JAVA_TAKEN); /* entered again */
    assert_int_equal(direct_try(&a, &reader), HFI_GRANTED);
    assert_string_equal(hash("L"), "a:1=1 j:5=2 mode=read");
    assert_in_range(pttl("L"), 59000, 60000);
    busy(&b, &writer, HFI_TOPIC_READ_WRITE);
    assert_int_equal(direct_release(&a, &reader), HFI_RELEASED);
    assert_in_range(pttl("L"), 59000, 60000);
    assert_true(java_read_unlock("L", 5));
    busy(&b, &writer, HFI_TOPIC_READ_WRITE);
    assert_int_equal(direct_try(&a, &reader), HFI_GRANTED);
    assert_true(java_read_unlock("L", 5)); /* it finds our key and leaves the lock to us */
    assert_string_equal(hash("L"), "a:1=1 mode=read");
    assert_in_range(pttl("L"), 29000, 30000);
    assert_in_range(java_write_try("L", 6, 30000), 29000, 30000);
    assert_int_equal(direct_release(&a, &reader), HFI_RELEASED);
    expect(raw, "0");
    assert_int_equal(java_write_try("L", 6, 30000), JAVA_TAKEN);
    busy(&b, &writer, HFI_TOPIC_READ_WRITE);
    busy(&a, &reader, HFI_TOPIC_READ_WRITE);
    assert_true(java_write_unlock("L", 6));
    expect(raw, "1");
    assert_int_equal(direct_try(&b, &writer), HFI_GRANTED);
    assert_in_range(java_read_try("L", 5, 30000), 29000, 30000);
    assert_in_range(java_write_try("L", 5, 30000), 29000, 30000);
    assert_int_equal(direct_release(&b, &writer), HFI_RELEASED);
    expect_written(raw);
    redisFree(raw);
}

/* A foreign writer that reads, too, lets go of writing: its readers' lock is one that ours may join. */
static void a_foreign_downgrade(void **state)
{
    struct hfi_lease reader = direct_lease(HFI_KIND_READ, "L", 1),
                     writer = direct_lease(HFI_KIND_WRITE, "L", 2);

    (void)state;
    assert_int_equal(java_write_try("L", 5, 30000), JAVA_TAKEN);
    assert_int_equal(java_read_try("L", 5, 30000), JAVA_TAKEN);
    busy(&a, &reader, HFI_TOPIC_READ_WRITE);
    assert_true(java_write_unlock("L", 5));
    assert_int_equal(direct_try(&a, &reader), HFI_GRANTED);
    busy(&b, &writer, HFI_TOPIC_READ_WRITE);
    assert_true(java_read_unlock("L", 5));
    assert_string_equal(hash("L"), "a:1=1 mode=read");
    assert_int_equal(direct_release(&a, &reader), HFI_RELEASED);
    assert_int_equal(direct_try(&b, &writer), HFI_GRANTED);
    assert_int_equal(direct_release(&b, &writer), HFI_RELEASED);
}

/* Dead readers of theirs, of which the hash still knows. */
static void dead_foreign_readers(void **state)
{
    struct hfi_lease writer = direct_lease(HFI_KIND_WRITE, "L", 2);

    (void)state;
    assert_int_equal(java_read_try("L", 5, 60000), JAVA_TAKEN);
    assert_int_equal(java_read_try("L", 5, 60000), JAVA_TAKEN);
    raw_do(&server, "DEL {L}:%s:rwlock_timeout:1", java_owner(5));
    busy(&a, &writer, HFI_TOPIC_READ_WRITE);
    raw_do(&server, "DEL {L}:%s:rwlock_timeout:2", java_owner(5));
    assert_int_equal(direct_try(&a, &writer), HFI_GRANTED);
    assert_int_equal(direct_release(&a, &writer), HFI_RELEASED);
}

/* ------------------------------------------------------------------------------------------------
 * Waking, memory, chance
 */

static void waiters_are_woken(void **state)
{
    struct hfi_lease writer = direct_lease(HFI_KIND_WRITE, "L", 1),
                     reader = direct_lease(HFI_KIND_READ, "L", 2);
    struct hfi_watch watch = direct_watch_of(&reader, HFI_TOPIC_READ_WRITE);

    (void)state;
    assert_int_equal(direct_try(&a, &writer), HFI_GRANTED);
    direct_watch(&b, &watch);
    assert_false(direct_woken(&b, &watch, 10));
    assert_int_equal(direct_release(&a, &writer), HFI_RELEASED);
    assert_int_equal(writer.others, 1);
    assert_true(direct_woken(&b, &watch, PATIENCE_MS));
    assert_int_equal(direct_try(&a, &reader), HFI_GRANTED);
    assert_int_equal(direct_release(&a, &reader), HFI_RELEASED);
    assert_true(direct_woken(&b, &watch, PATIENCE_MS));
    direct_unwatch(&b, &watch);
}

/* A server without memory takes nothing new, keeps what there is, and lets go of it. */
static void without_memory(void **state)
{
    struct hfi_lease writer = direct_lease(HFI_KIND_WRITE, "L", 1),
                     reader = direct_lease(HFI_KIND_READ, "L", 1),
                     other = direct_lease(HFI_KIND_READ, "M", 2),
                     waiting = direct_lease(HFI_KIND_WRITE, "M", 3);

    (void)state;
    assert_int_equal(direct_try(&a, &writer), HFI_GRANTED);
    assert_int_equal(direct_try(&a, &reader), HFI_GRANTED);
    assert_int_equal(direct_try(&b, &other), HFI_GRANTED);
    raw_do(&server, "CONFIG SET maxmemory 1");
    waiting.prefer = true;
    assert_int_equal(direct_try(&a, &waiting), HFI_BUSY);
    assert_false(waiting.ticket);
    assert_true(direct_renew(&a, &writer, 30000));
    assert_true(direct_renew(&a, &reader, 30000));
    assert_int_equal(direct_release(&a, &writer), HFI_RELEASED); /* goes on reading */
    assert_string_equal(hash("L"), "a:1=1 mode=read");
    other.owner = 3;
    assert_int_equal(direct_ask(&b, &other.request, HFI_OP_TRY), HF_ERR_STORE_FULL);
    assert_int_equal(direct_release(&b, &other), HFI_GONE);
    other.owner = 2;
    assert_int_equal(direct_release(&a, &reader), HFI_RELEASED);
    assert_int_equal(direct_release(&b, &other), HFI_RELEASED);
    assert_int_equal(direct_ask(&a, &writer.request, HFI_OP_TRY), HF_ERR_STORE_FULL);
    raw_do(&server, "CONFIG SET maxmemory 0");
    assert_int_equal(server_count_keys(&server), 0);
}

/* ---- Many owners of both makes, at random, against what must be ---- */

#define OWNERS 5 /* 0 to 2: ours; 3, 4: of another make */

static struct {
    int reads, writes;
} has[OWNERS];

static bool others_have(int owner, bool writes_only)
{
    for (int i = 0; i < OWNERS; i++)
        if (i != owner && (has[i].writes || (!writes_only && has[i].reads)))
            return true;
    return false;
}

static bool take_one(int owner, bool write)
{
    struct direct *direct = owner % 2 ? &a : &b;
    struct hfi_lease lease =
        direct_lease(write ? HFI_KIND_WRITE : HFI_KIND_READ, "L", (uint64_t)owner);

    if (owner > 2)
        return (write ? java_write_try("L", owner, 30000) : java_read_try("L", owner, 30000)) ==
               JAVA_TAKEN;
    return direct_try(direct, &lease) == HFI_GRANTED;
}

static bool give_one(int owner, bool write)
{
    struct direct *direct = owner % 2 ? &a : &b;
    struct hfi_lease lease =
        direct_lease(write ? HFI_KIND_WRITE : HFI_KIND_READ, "L", (uint64_t)owner);

    if (owner > 2)
        return write ? java_write_unlock("L", owner) : java_read_unlock("L", owner);
    return direct_release(direct, &lease) == HFI_RELEASED;
}

/* May it take the lock? Ours are not asked for what they have: the core enters again by itself. */
static bool may_take(int owner, bool write)
{
    if (write)
        return !others_have(owner, false) && (has[owner].writes || !has[owner].reads);
    return !others_have(owner, true);
}

static void one_step(uint32_t *random)
{
    int owner = (int)(random_next(random) % OWNERS);
    bool write = random_next(random) % 2, take = random_next(random) % 5 < 3;
    int *count = write ? &has[owner].writes : &has[owner].reads;

    if (take && owner < 3 && *count)
        return;
    if (take) {
        bool may = may_take(owner, write);

        assert_int_equal(take_one(owner, write), may);
        *count += may;
        return;
    }
    if (owner > 2 && write && *count == 0 && has[owner].writes == 0 && !*count)
        assert_false(give_one(owner, write));
    else {
        assert_int_equal(give_one(owner, write), *count > 0);
        *count -= *count > 0;
    }
}

static void at_random(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 60; seed++) {
        uint32_t random = seed;

        memset(has, 0, sizeof has);
        for (int i = 0; i < 60; i++) {
            one_step(&random);
            if (others_have(-1, false) != (raw_integer(&server, "EXISTS L") == 1))
                fail_msg("seed %u, step %d: %s", seed, i, hash("L"));
        }
        for (int owner = 0; owner < OWNERS; owner++) {
            while (has[owner].writes && has[owner].writes--)
                assert_true(give_one(owner, true));
            while (has[owner].reads && has[owner].reads--)
                assert_true(give_one(owner, false));
        }
        assert_int_equal(server_count_keys(&server), 0);
    }
}

#define STEP(f) cmocka_unit_test_setup_teardown(f, begin, end)

static const struct CMUnitTest TESTS[] = {
    STEP(writing),
    STEP(reading),
    STEP(names),
    STEP(kinds_exclude_each_other),
    STEP(write_then_read),
    STEP(write_then_read_released_in_order),
    STEP(read_then_write),
    STEP(dead_readers_do_not_stop_a_writer),
    STEP(a_release_removes_the_dead),
    STEP(a_late_release_tells),
    STEP(a_count_that_nobody_has),
    STEP(renewals),
    STEP(renewals_beside_a_bad_key),
    STEP(readers_wait_for_a_preferred_writer),
    STEP(a_preferred_writer_leaves),
    STEP(a_preferred_writer_dies),
    STEP(a_writer_reads_before_a_preferred_one),
    STEP(beside_foreign_readers),
    STEP(a_foreign_downgrade),
    STEP(dead_foreign_readers),
    STEP(waiters_are_woken),
    STEP(without_memory),
    STEP(at_random),
};

TESTS_MAIN("read-write locks", TESTS)
