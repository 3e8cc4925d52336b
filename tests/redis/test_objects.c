/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semaphores, permits, latches, buckets, maps and stamps on a real server: what lies there after each step, and
 * what is said, is Redisson's, byte for byte; and what is ours alone. Steps are the store's: the same one can
 * be taken twice.
 */
#include "holdfast/objects.h"
#include "redis/direct.h"

#include <string.h>

static struct direct host;
static uint64_t serial;
static struct hfi_object object; /* the last step, with its answer */

#define ID "0f8fad5b-d9cb-469f-a165-70867728950e"
#define B(s)                                                                                       \
    {                                                                                              \
        s, sizeof(s) - 1                                                                           \
    }
#define MANY  65536
#define RANGE HF_ERR_INVALID

static int step(struct hfi_object wanted)
{
    free(object.data);
    object = wanted;
    object.name_len = (uint16_t)strlen(object.name);
    if (!object.serial)
        object.serial = ++serial;
    return direct_ask(&host, &object.request, HFI_OP_OBJECT);
}

/* STEP(verb, name, members…) */
#define STEP(verb_, ...) step((struct hfi_object){ .verb = (uint8_t)(verb_), .name = __VA_ARGS__ })

static int begin(void **state)
{
    test_begin(state);
    direct_open(&host, 'e', "", "");
    return 0;
}

static int end(void **state)
{
    direct_close(&host);
    free(object.data);
    object.data = NULL;
    raw_do(&server, "FLUSHALL");
    return test_end(state);
}

static void check_text(const char *key, const char *expected)
{
    assert_string_equal(raw_text(&server, "GET %s", key), expected);
}

static long long exists(const char *key)
{
    return raw_integer(&server, "EXISTS %s", key);
}

static long long ttl_of(const char *key)
{
    return raw_integer(&server, "PTTL %s", key);
}

/* Who listens on one channel. */
static redisContext *listen_to(const char *channel)
{
    redisContext *raw = raw_open(&server);

    raw_send(raw, "SUBSCRIBE %s", channel);
    freeReplyObject(raw_next(raw, PATIENCE_MS));
    return raw;
}

static void said(redisContext *raw, const char *payload)
{
    redisReply *reply = raw_next(raw, PATIENCE_MS);

    assert_non_null(reply);
    assert_string_equal(reply->element[0]->str, "message");
    assert_string_equal(reply->element[2]->str, payload);
    freeReplyObject(reply);
}

static void silent(redisContext *raw)
{
    raw_do(&server, "PING"); /* what was published before has been sent */
    assert_null(raw_next(raw, 1));
}

static void answers(int64_t number)
{
    assert_int_equal(object.number, number);
}

/* ------------------------------------------------------------------------------------------------
 * Semaphores
 */

static void semaphores(void **state)
{
    redisContext *raw = listen_to("redisson_sc:{s}");

    (void)state;
    assert_int_equal(STEP(HFI_SEMAPHORE_AVAILABLE, "s"), HF_OK);
    answers(0);
    assert_int_equal(STEP(HFI_SEMAPHORE_SET, "s", .number = 5), HF_OK);
    check_text("s", "5");
    assert_string_equal(raw_text(&server, "TYPE s"), "string");
    assert_int_equal(ttl_of("s"), -1);
    said(raw, "5");
    assert_int_equal(STEP(HFI_SEMAPHORE_SET, "s", .number = 7), HF_ERR_EXISTS);
    check_text("s", "5");
    assert_int_equal(STEP(HFI_SEMAPHORE_RELEASE, "s", .number = 2), HF_OK);
    check_text("s", "7");
    said(raw, "7");
    assert_int_equal(STEP(HFI_SEMAPHORE_RETURN, "s", .number = 1), HF_OK);
    check_text("s", "8");
    said(raw, "8");
    assert_int_equal(STEP(HFI_SEMAPHORE_ADD, "s", .number = 2), HF_OK);
    check_text("s", "10");
    said(raw, "10");
    assert_int_equal(STEP(HFI_SEMAPHORE_AVAILABLE, "s"), HF_OK);
    answers(10);
    assert_int_equal(STEP(HFI_SEMAPHORE_DRAIN, "s"), HF_OK);
    answers(10);
    check_text("s", "0");
    assert_int_equal(STEP(HFI_SEMAPHORE_DELETE, "s"), HF_OK);
    assert_int_equal(exists("s"), 0);
    assert_int_equal(STEP(HFI_SEMAPHORE_DELETE, "s"), HF_ERR_NOT_FOUND);
    assert_int_equal(STEP(HFI_SEMAPHORE_RETURN, "s", .number = 1), HF_ERR_NOT_FOUND);
    assert_int_equal(exists("s"), 0);
    assert_int_equal(STEP(HFI_SEMAPHORE_RELEASE, "s", .number = 3), HF_OK); /* it makes one */
    check_text("s", "3");
    said(raw, "3");
    silent(raw);
    redisFree(raw);
}

/* Fewer than none: never published, not forgiven by a drain, and told as it is. */
static void semaphores_below_zero(void **state)
{
    redisContext *raw = listen_to("redisson_sc:{s}");

    (void)state;
    raw_do(&server, "SET s 2");
    assert_int_equal(STEP(HFI_SEMAPHORE_ADD, "s", .number = -5), HF_OK);
    answers(-3);
    check_text("s", "-3");
    assert_int_equal(STEP(HFI_SEMAPHORE_AVAILABLE, "s"), HF_OK);
    answers(-3);
    assert_int_equal(STEP(HFI_SEMAPHORE_DRAIN, "s"), HF_OK);
    answers(0);
    check_text("s", "-3");
    assert_int_equal(STEP(HFI_SEMAPHORE_RELEASE, "s", .number = 3), HF_OK);
    check_text("s", "0");
    silent(raw);
    assert_int_equal(STEP(HFI_SEMAPHORE_ADD, "s", .number = -1), HF_OK);
    assert_int_equal(STEP(HFI_SEMAPHORE_RELEASE, "s", .number = 2), HF_OK);
    said(raw, "1");
    assert_int_equal(STEP(HFI_SEMAPHORE_DRAIN, "none"), HF_OK);
    answers(0);
    assert_int_equal(exists("none"), 0);
    redisFree(raw);
}

/* Where Redisson drops a ttl, it stays. */
static void semaphores_with_a_ttl(void **state)
{
    (void)state;
    assert_int_equal(STEP(HFI_SEMAPHORE_SET, "s", .number = 5, .ttl_ms = 50000), HF_OK);
    assert_in_range(ttl_of("s"), 40000, 50000);
    assert_int_equal(STEP(HFI_SEMAPHORE_ADD, "s", .number = 1), HF_OK);
    assert_in_range(ttl_of("s"), 40000, 50000);
    assert_int_equal(STEP(HFI_SEMAPHORE_RELEASE, "s", .number = 1), HF_OK);
    assert_in_range(ttl_of("s"), 40000, 50000);
    assert_int_equal(STEP(HFI_SEMAPHORE_DRAIN, "s"), HF_OK);
    answers(7);
    assert_in_range(ttl_of("s"), 40000, 50000);
}

static void counts_out_of_range(void **state)
{
    static const enum hfi_verb VERBS[] = { HFI_SEMAPHORE_ADD, HFI_PERMITS_ADD };

    (void)state;
    for (int i = 0; i < 2; i++) {
        raw_do(&server, "SET s 999999999");
        assert_int_equal(STEP(VERBS[i], "s", .number = 2), RANGE);
        assert_non_null(strstr(host.store->detail, "1000000001"));
        check_text("s", "999999999");
        assert_int_equal(STEP(VERBS[i], "s", .number = 1), HF_OK);
        check_text("s", "1000000000");
        raw_do(&server, "SET s -999999999");
        assert_int_equal(STEP(VERBS[i], "s", .number = -2), RANGE);
        check_text("s", "-999999999");
    }
    assert_int_equal(STEP(HFI_SEMAPHORE_RELEASE, "t", .number = HF_COUNT_MAX), HF_OK);
    assert_int_equal(STEP(HFI_SEMAPHORE_RELEASE, "t", .number = 1), RANGE);
}

/* ------------------------------------------------------------------------------------------------
 * Permits
 */

#define PERMIT "ZADD {p}:timeout %lld %b"

static void take_permit(char number, long long until_ms)
{
    char id[16] = { 0, 1, 2, (char)0xff };

    id[15] = number;
    raw_do(&server, PERMIT, until_ms, id, sizeof id);
    raw_do(&server, "DECR p");
}

static long long server_ms(void)
{
    redisReply *reply = raw_reply(&server, "TIME");
    long long ms = atoll(reply->element[0]->str) * 1000 + atoll(reply->element[1]->str) / 1000;

    freeReplyObject(reply);
    return ms;
}

static void counts(int64_t available, int64_t taken)
{
    assert_int_equal(STEP(HFI_PERMITS_COUNT, "p"), HF_OK);
    assert_int_equal(object.number, available);
    assert_int_equal(object.number2, taken);
}

static void permits(void **state)
{
    redisContext *raw = listen_to("redisson_sc:{p}");
    long long now = server_ms();

    (void)state;
    counts(0, 0);
    assert_int_equal(STEP(HFI_PERMITS_SET, "p", .number = 5), HF_OK);
    check_text("p", "5");
    said(raw, "5");
    assert_int_equal(STEP(HFI_PERMITS_SET, "p", .number = 6), HF_ERR_EXISTS);
    take_permit(1, now + 100000);
    take_permit(2, 922337203685477); /* for ever */
    take_permit(3, now - 1);         /* expired */
    check_text("p", "2");
    counts(3, 2);
    check_text("p", "2"); /* counting changes nothing */
    assert_int_equal(raw_integer(&server, "ZCARD {p}:timeout"), 3);
    assert_int_equal(STEP(HFI_PERMITS_ADD, "p", .number = 4), HF_OK);
    check_text("p", "6");
    said(raw, "4");
    assert_int_equal(STEP(HFI_PERMITS_ADD, "p", .number = -1), HF_OK);
    check_text("p", "5");
    silent(raw);
    assert_int_equal(STEP(HFI_PERMITS_DELETE, "p"), HF_OK);
    assert_int_equal(exists("p") + exists("{p}:timeout"), 0);
    assert_int_equal(STEP(HFI_PERMITS_DELETE, "p"), HF_ERR_NOT_FOUND);
    redisFree(raw);
}

/* The total is what is available and what is taken; expired ones come back. */
static void permits_resized(void **state)
{
    redisContext *raw = listen_to("redisson_sc:{p}");
    long long now = server_ms();

    (void)state;
    assert_int_equal(STEP(HFI_PERMITS_RESIZE, "p", .number = 3), HF_OK); /* there was none */
    check_text("p", "3");
    said(raw, "3");
    take_permit(1, now + 100000);
    take_permit(2, now + 100000);
    take_permit(3, now - 1);
    assert_int_equal(STEP(HFI_PERMITS_RESIZE, "p", .number = 10), HF_OK);
    check_text("p", "8");
    said(raw, "10"); /* as Redisson says it */
    assert_int_equal(object.number, 8);
    assert_int_equal(object.number2, 2);
    assert_int_equal(raw_integer(&server, "ZCARD {p}:timeout"), 2);
    counts(8, 2);
    assert_int_equal(STEP(HFI_PERMITS_RESIZE, "p", .number = 1), HF_OK);
    check_text("p", "-1");
    counts(-1, 2);
    silent(raw);
    take_permit(4, now - 1); /* it comes back: one more is available than before */
    check_text("p", "-2");
    assert_int_equal(STEP(HFI_PERMITS_RESIZE, "p", .number = 3), HF_OK);
    check_text("p", "1");
    said(raw, "3");
    raw_do(&server, "PEXPIRE p 50000");
    assert_int_equal(STEP(HFI_PERMITS_RESIZE, "p", .number = 4), HF_OK);
    assert_in_range(ttl_of("p"), 40000, 50000);
    redisFree(raw);
}

/* ------------------------------------------------------------------------------------------------
 * Latches
 */

static void latches(void **state)
{
    redisContext *raw = listen_to("redisson_countdownlatch__channel__{l}");

    (void)state;
    assert_int_equal(STEP(HFI_LATCH_GET, "l"), HF_OK);
    answers(0);
    assert_int_equal(STEP(HFI_LATCH_DOWN, "l"), HF_OK); /* nothing to count down */
    answers(0);
    assert_int_equal(exists("l"), 0);
    silent(raw);
    assert_int_equal(STEP(HFI_LATCH_SET, "l", .number = 2), HF_OK);
    check_text("l", "2");
    said(raw, "1");
    assert_int_equal(STEP(HFI_LATCH_SET, "l", .number = 3), HF_ERR_EXISTS);
    assert_int_equal(STEP(HFI_LATCH_DOWN, "l"), HF_OK);
    answers(1);
    check_text("l", "1");
    silent(raw);
    assert_int_equal(STEP(HFI_LATCH_GET, "l"), HF_OK);
    answers(1);
    assert_int_equal(STEP(HFI_LATCH_DOWN, "l"), HF_OK);
    answers(0);
    assert_int_equal(exists("l"), 0);
    said(raw, "0");
    assert_int_equal(exists("holdfast_deleted:{l}"), 0);
    redisFree(raw);
}

static void latches_deleted(void **state)
{
    redisContext *raw = listen_to("redisson_countdownlatch__channel__{x{l}}");

    (void)state;
    assert_int_equal(STEP(HFI_LATCH_DELETE, "x{l}"), HF_ERR_NOT_FOUND);
    assert_int_equal(exists("holdfast_deleted:x{l}"), 0);
    assert_int_equal(STEP(HFI_LATCH_SET, "x{l}", .number = 2), HF_OK);
    said(raw, "1");
    assert_int_equal(STEP(HFI_LATCH_DELETE, "x{l}"), HF_OK);
    said(raw, "1");
    assert_int_equal(exists("x{l}"), 0);
    check_text("holdfast_deleted:x{l}", "1");
    assert_in_range(ttl_of("holdfast_deleted:x{l}"), 50000, 60000);
    assert_int_equal(STEP(HFI_LATCH_SET, "x{l}", .number = 1), HF_OK); /* a new one */
    assert_int_equal(exists("holdfast_deleted:x{l}"), 0);
    raw_do(&server, "SET x{l} 0"); /* Redisson's trySetCount(0) */
    assert_int_equal(STEP(HFI_LATCH_DELETE, "x{l}"), HF_OK);
    assert_int_equal(exists("holdfast_deleted:x{l}"), 0); /* nobody waited */
    redisFree(raw);
}

/* ------------------------------------------------------------------------------------------------
 * Buckets and maps
 */

static void holds_bytes(const char *bytes, size_t len)
{
    assert_true(object.found);
    assert_int_equal(object.data_len, len);
    assert_memory_equal(object.data, bytes, len);
    assert_int_equal(object.data[len], '\0');
}

static void buckets(void **state)
{
    static const char BYTES[] = "a\0b\r\n\xff ok 0 0";

    (void)state;
    assert_int_equal(STEP(HFI_BUCKET_GET, "b"), HF_ERR_NOT_FOUND);
    assert_int_equal(STEP(HFI_BUCKET_TTL, "b"), HF_ERR_NOT_FOUND);
    assert_int_equal(STEP(HFI_BUCKET_SET, "b", .value = B(BYTES)), HF_OK);
    assert_int_equal(raw_integer(&server, "STRLEN b"), sizeof BYTES - 1);
    assert_int_equal(ttl_of("b"), -1);
    assert_int_equal(STEP(HFI_BUCKET_GET, "b"), HF_OK);
    holds_bytes(BYTES, sizeof BYTES - 1);
    assert_int_equal(STEP(HFI_BUCKET_TTL, "b"), HF_OK);
    answers(-1);
    assert_int_equal(STEP(HFI_BUCKET_SET, "b", .value = B("v"), .ttl_ms = 50000), HF_OK);
    check_text("b", "v");
    assert_int_equal(STEP(HFI_BUCKET_TTL, "b"), HF_OK);
    assert_in_range(object.number, 40000, 50000);
    assert_int_equal(STEP(HFI_BUCKET_SET_ABSENT, "b", .value = B("w")), HF_ERR_EXISTS);
    assert_int_equal(STEP(HFI_BUCKET_SWAP, "b", .value = B("w")), HF_OK);
    holds_bytes("v", 1);
    check_text("b", "w");
    assert_int_equal(ttl_of("b"), -1); /* as a set */
    assert_int_equal(STEP(HFI_BUCKET_DELETE, "b"), HF_OK);
    assert_int_equal(exists("b"), 0);
    assert_int_equal(STEP(HFI_BUCKET_DELETE, "b"), HF_ERR_NOT_FOUND);
    assert_int_equal(STEP(HFI_BUCKET_SWAP, "b", .value = B("w")), HF_OK);
    assert_false(object.found);
    assert_null(object.data);
    assert_int_equal(STEP(HFI_BUCKET_DELETE, "b"), HF_OK);
    assert_int_equal(STEP(HFI_BUCKET_SET_ABSENT, "b", .value = B(""), .ttl_ms = 50000), HF_OK);
    assert_in_range(ttl_of("b"), 40000, 50000);
    assert_int_equal(STEP(HFI_BUCKET_GET, "b"), HF_OK);
    holds_bytes("", 0);
}

static void buckets_compared(void **state)
{
    (void)state;
    assert_int_equal(STEP(HFI_BUCKET_COMPARE_SET, "b", .expected = B("x"), .value = B("y")),
                     HF_ERR_CHANGED);
    assert_int_equal(exists("b"), 0);
    assert_int_equal(STEP(HFI_BUCKET_COMPARE_SET, "b", .expected = B(""), .value = B("y")),
                     HF_ERR_CHANGED); /* none is not an empty one */
    assert_int_equal(STEP(HFI_BUCKET_COMPARE_SET, "b", .value = B("")), HF_OK);
    assert_int_equal(STEP(HFI_BUCKET_COMPARE_SET, "b", .value = B("y")), HF_ERR_CHANGED);
    assert_int_equal(STEP(HFI_BUCKET_COMPARE_SET, "b", .expected = B(""), .value = B("x\0y")),
                     HF_OK);
    assert_int_equal(STEP(HFI_BUCKET_COMPARE_SET, "b", .expected = B("x\0z"), .value = B("z")),
                     HF_ERR_CHANGED);
    assert_int_equal(
        STEP(HFI_BUCKET_COMPARE_SET, "b", .expected = B("x\0y"), .value = B("z"), .ttl_ms = 50000),
        HF_OK);
    check_text("b", "z");
    assert_in_range(ttl_of("b"), 40000, 50000);
}

static void maps(void **state)
{
    static const char KEY[] = "k\0\xfe", VALUE[] = "v \0 1";
    redisReply *reply;

    (void)state;
    assert_int_equal(STEP(HFI_MAP_SIZE, "m"), HF_OK);
    answers(0);
    assert_int_equal(STEP(HFI_MAP_GET, "m", .key = B(KEY)), HF_ERR_NOT_FOUND);
    assert_int_equal(STEP(HFI_MAP_PUT, "m", .key = B(KEY), .value = B(VALUE)), HF_OK);
    assert_false(object.found);
    reply = raw_reply(&server, "HGETALL m");
    assert_int_equal(reply->elements, 2);
    assert_int_equal(reply->element[0]->len, sizeof KEY - 1);
    assert_memory_equal(reply->element[0]->str, KEY, sizeof KEY - 1);
    assert_int_equal(reply->element[1]->len, sizeof VALUE - 1);
    assert_memory_equal(reply->element[1]->str, VALUE, sizeof VALUE - 1);
    freeReplyObject(reply);
    assert_int_equal(STEP(HFI_MAP_GET, "m", .key = B(KEY)), HF_OK);
    holds_bytes(VALUE, sizeof VALUE - 1);
    assert_int_equal(STEP(HFI_MAP_PUT, "m", .key = B(KEY), .value = B("w")), HF_OK);
    holds_bytes(VALUE, sizeof VALUE - 1);
    assert_int_equal(STEP(HFI_MAP_PUT_ABSENT, "m", .key = B(KEY), .value = B("x")), HF_ERR_EXISTS);
    assert_int_equal(STEP(HFI_MAP_PUT_ABSENT, "m", .key = B(""), .value = B("")), HF_OK);
    assert_int_equal(STEP(HFI_MAP_SIZE, "m"), HF_OK);
    answers(2);
    assert_int_equal(STEP(HFI_MAP_REMOVE, "m", .key = B(KEY)), HF_OK);
    holds_bytes("w", 1);
    assert_int_equal(STEP(HFI_MAP_REMOVE, "m", .key = B(KEY)), HF_ERR_NOT_FOUND);
    assert_int_equal(STEP(HFI_MAP_REMOVE, "m", .key = B("")), HF_OK);
    holds_bytes("", 0);
    assert_int_equal(exists("m"), 0);
}

/* The largest values there and back; larger ones are refused, on the way out and on the way in. */
static void large_values(void **state)
{
    static char a[MANY + 1], b[MANY], name[HF_NAME_MAX + 1];

    (void)state;
    memset(a, 'a', sizeof a);
    memset(b, 'b', sizeof b);
    memset(name, 'n', HF_NAME_MAX);
    assert_int_equal(MANY, HF_VALUE_MAX);
    assert_int_equal(STEP(HFI_BUCKET_SET, name, .value = { a, MANY }), HF_OK);
    raw_do(&server, "SCRIPT FLUSH"); /* the text comes along */
    assert_int_equal(STEP(HFI_BUCKET_COMPARE_SET, name, .expected = { a, MANY },
                          .value = { b, MANY }, .token = UINT64_MAX),
                     HF_OK);
    assert_int_equal(STEP(HFI_BUCKET_GET, name), HF_OK);
    holds_bytes(b, MANY);
    assert_int_equal(STEP(HFI_MAP_PUT, "m", .key = { a, MANY }, .value = { b, MANY }), HF_OK);
    assert_int_equal(STEP(HFI_MAP_REMOVE, "m", .key = { a, MANY }), HF_OK);
    holds_bytes(b, MANY);

    assert_int_equal(STEP(HFI_BUCKET_SET, "b", .value = { a, MANY + 1 }), HF_ERR_INVALID);
    assert_non_null(strstr(host.store->detail, "65537"));
    assert_int_equal(exists("b"), 0);
    raw_do(&server, "SET b %b", a, sizeof a);
    raw_do(&server, "HSET m k %b", a, sizeof a);
    assert_int_equal(STEP(HFI_BUCKET_GET, "b"), HF_ERR_UNSUPPORTED);
    assert_non_null(strstr(host.store->detail, "65537"));
    assert_int_equal(STEP(HFI_BUCKET_SWAP, "b", .value = B("x")), HF_ERR_UNSUPPORTED);
    assert_int_equal(raw_integer(&server, "STRLEN b"), sizeof a);
    assert_int_equal(STEP(HFI_MAP_GET, "m", .key = B("k")), HF_ERR_UNSUPPORTED);
    assert_int_equal(STEP(HFI_MAP_PUT, "m", .key = B("k"), .value = B("x")), HF_ERR_UNSUPPORTED);
    assert_int_equal(raw_integer(&server, "HSTRLEN m k"), sizeof a);
    assert_int_equal(STEP(HFI_BUCKET_SET, "b", .value = B("x")), HF_OK); /* it can be replaced */
}

/* ------------------------------------------------------------------------------------------------
 * Guards
 */

static void guards(void **state)
{
    (void)state;
    assert_int_equal(STEP(HFI_BUCKET_SET, "b", .value = B("1"), .token = 100), HF_OK);
    check_text("holdfast_guard:{b}", "100");
    assert_in_range(ttl_of("holdfast_guard:{b}"), 29LL * 24 * 3600 * 1000, 30LL * 24 * 3600 * 1000);
    assert_int_equal(STEP(HFI_BUCKET_SET, "b", .value = B("2"), .token = 99), HF_ERR_STALE);
    assert_int_equal(STEP(HFI_BUCKET_SWAP, "b", .value = B("2"), .token = 9), HF_ERR_STALE);
    assert_int_equal(STEP(HFI_BUCKET_DELETE, "b", .token = 99), HF_ERR_STALE);
    assert_int_equal(
        STEP(HFI_BUCKET_COMPARE_SET, "b", .expected = B("1"), .value = B("2"), .token = 99),
        HF_ERR_STALE);
    check_text("b", "1");
    check_text("holdfast_guard:{b}", "100");
    assert_int_equal(STEP(HFI_BUCKET_SET, "b", .value = B("2"), .token = 100), HF_OK);
    assert_int_equal(STEP(HFI_BUCKET_SET, "b", .value = B("3")), HF_OK); /* not guarded */
    check_text("holdfast_guard:{b}", "100");
    assert_int_equal(STEP(HFI_BUCKET_SET, "b", .value = B("4"), .token = 1000), HF_OK);
    assert_int_equal(STEP(HFI_BUCKET_SET, "b", .value = B("5"), .token = 999), HF_ERR_STALE);
    /* What does not change anything leaves no trace of its token. */
    assert_int_equal(STEP(HFI_BUCKET_SET_ABSENT, "b", .value = B("5"), .token = 5000),
                     HF_ERR_EXISTS);
    check_text("holdfast_guard:{b}", "1000");
    /* It outlives the value. */
    assert_int_equal(STEP(HFI_BUCKET_DELETE, "b", .token = 1001), HF_OK);
    assert_int_equal(STEP(HFI_BUCKET_SET_ABSENT, "b", .value = B("5"), .token = 1000),
                     HF_ERR_STALE);
    assert_int_equal(exists("b"), 0);
    /* Numbers that a script's own numbers could not tell apart. */
    assert_int_equal(STEP(HFI_BUCKET_SET, "b", .value = B("6"), .token = UINT64_MAX), HF_OK);
    assert_int_equal(STEP(HFI_BUCKET_SET, "b", .value = B("7"), .token = UINT64_MAX - 1),
                     HF_ERR_STALE);

    assert_int_equal(STEP(HFI_MAP_PUT, "m{t}", .key = B("k"), .value = B("1"), .token = 7), HF_OK);
    check_text("holdfast_guard:m{t}", "7");
    assert_int_equal(STEP(HFI_MAP_PUT, "m{t}", .key = B("other"), .value = B("1"), .token = 6),
                     HF_ERR_STALE);
    assert_int_equal(STEP(HFI_MAP_REMOVE, "m{t}", .key = B("k"), .token = 6), HF_ERR_STALE);
    assert_int_equal(STEP(HFI_MAP_PUT_ABSENT, "m{t}", .key = B("z"), .value = B("1"), .token = 6),
                     HF_ERR_STALE);
    assert_int_equal(STEP(HFI_MAP_REMOVE, "m{t}", .key = B("k"), .token = 8), HF_OK);
}

/* ------------------------------------------------------------------------------------------------
 * Stamps
 */

static void stamps(void **state)
{
    long long now = server_ms();

    (void)state;
    assert_int_equal(STEP(HFI_STAMP_GET, "job"), HF_ERR_NOT_FOUND);
    assert_int_equal(STEP(HFI_STAMP_SET, "job", .ttl_ms = 50000), HF_OK);
    assert_in_range(atoll(raw_text(&server, "GET holdfast:stamp:{job}")), now, now + PATIENCE_MS);
    assert_in_range(ttl_of("holdfast:stamp:{job}"), 40000, 50000);
    nap_ms(20);
    assert_int_equal(STEP(HFI_STAMP_GET, "job"), HF_OK);
    assert_in_range(object.number, 19, PATIENCE_MS);
    assert_in_range(object.number2, 40000, 50000);
    assert_int_equal(STEP(HFI_STAMP_DELETE, "job"), HF_OK);
    assert_int_equal(exists("holdfast:stamp:{job}"), 0);
    assert_int_equal(STEP(HFI_STAMP_DELETE, "job"), HF_ERR_NOT_FOUND);
    raw_do(&server, "SET holdfast:stamp:{job} %lld PX 50000",
           now + 1000000); /* the clock went back */
    assert_int_equal(STEP(HFI_STAMP_GET, "job"), HF_OK);
    answers(0);
    assert_int_equal(STEP(HFI_STAMP_SET, "x{t}", .ttl_ms = HF_WAIT_MAX_MS), HF_OK);
    assert_int_equal(exists("holdfast:stamp:x{t}"), 1);
}

/* ------------------------------------------------------------------------------------------------
 * Repetitions
 */

/* All that is on the server but our notes, as one text. */
static const char *everything(void)
{
    static const char SCRIPT[] =
        "local all = {} "
        "for _, key in ipairs(redis.call('KEYS', '*')) do "
        "  if not string.find(key, '^holdfast_done:') then "
        "    local kind, value = redis.call('TYPE', key).ok "
        "    if kind == 'string' then value = redis.call('GET', key) "
        "    elseif kind == 'hash' then value = table.concat(redis.call('HGETALL', key), ',') "
        "    else value = table.concat(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), ',') end "
        "    all[#all + 1] = key .. '=' .. value "
        "  end "
        "end "
        "table.sort(all) "
        "return table.concat(all, ' ')";

    return raw_text(&server, "EVAL %s 0", SCRIPT);
}

struct repeated {
    const char *before; /* a command */
    struct hfi_object step;
};

/* Each one changes something, and is executed; its answer is lost, and it is repeated: the answer is that of the
 * first time, and nothing is changed again. */
static void executed_once(void **state)
{
    static const struct repeated STEPS[] = {
        { "PING", { .verb = HFI_SEMAPHORE_SET, .number = 5 } },
        { "SET x 5", { .verb = HFI_SEMAPHORE_RELEASE, .number = 2 } },
        { "SET x 5", { .verb = HFI_SEMAPHORE_RETURN, .number = 2 } },
        { "SET x 5", { .verb = HFI_SEMAPHORE_ADD, .number = -2 } },
        { "SET x 5", { .verb = HFI_SEMAPHORE_DRAIN } },
        { "SET x 5", { .verb = HFI_SEMAPHORE_DELETE } },
        { "PING", { .verb = HFI_PERMITS_SET, .number = 5 } },
        { "SET x 5", { .verb = HFI_PERMITS_RESIZE, .number = 3 } },
        { "SET x 5", { .verb = HFI_PERMITS_ADD, .number = 3 } },
        { "SET x 5", { .verb = HFI_PERMITS_DELETE } },
        { "PING", { .verb = HFI_LATCH_SET, .number = 3 } },
        { "SET x 3", { .verb = HFI_LATCH_DOWN } },
        { "SET x 1", { .verb = HFI_LATCH_DOWN } },
        { "SET x 3", { .verb = HFI_LATCH_DELETE } },
        { "SET x v", { .verb = HFI_BUCKET_SET, .value = B("w") } },
        { "PING", { .verb = HFI_BUCKET_SET_ABSENT, .value = B("w") } },
        { "SET x v", { .verb = HFI_BUCKET_COMPARE_SET, .expected = B("v"), .value = B("w") } },
        { "SET x v", { .verb = HFI_BUCKET_SWAP, .value = B("w"), .token = 5 } },
        { "SET x v", { .verb = HFI_BUCKET_DELETE } },
        { "HSET x k v", { .verb = HFI_MAP_PUT, .key = B("k"), .value = B("w"), .token = 5 } },
        { "PING", { .verb = HFI_MAP_PUT_ABSENT, .key = B("k"), .value = B("w") } },
        { "HSET x k v", { .verb = HFI_MAP_REMOVE, .key = B("k") } },
        { "PING", { .verb = HFI_STAMP_SET, .ttl_ms = 50000 } },
        { "SET holdfast:stamp:{x} 1 PX 50000", { .verb = HFI_STAMP_DELETE } },
    };
    char after[4096];

    (void)state;
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) {
        struct hfi_object lost = STEPS[i].step, first;

        lost.name = "y";
        step(lost); /* there is a connection, and the server knows the script */
        raw_do(&server, "FLUSHALL");
        raw_do(&server, STEPS[i].before);
        lost.name = "x";
        lost.name_len = 1;
        lost.serial = ++serial;
        direct_ask_in_vain(&host, &lost.request, HFI_OP_OBJECT);
        AWAIT(raw_integer(&server, "EXISTS holdfast_done:{x}:" ID ":%llu",
                          (unsigned long long)lost.serial) == 1);
        assert_in_range(raw_integer(&server, "PTTL holdfast_done:{x}:" ID ":%llu",
                                    (unsigned long long)lost.serial),
                        HFI_SERIAL_MS - PATIENCE_MS, HFI_SERIAL_MS);
        snprintf(after, sizeof after, "%s", everything());
        assert_int_equal(step(lost), HF_OK);
        assert_string_equal(everything(), after);
        first = object;
        object.data = NULL;
        assert_int_equal(step(lost), HF_OK); /* and once more */
        assert_string_equal(everything(), after);
        assert_int_equal(object.number, first.number);
        assert_int_equal(object.number2, first.number2);
        assert_int_equal(object.found, first.found);
        assert_int_equal(object.data_len, first.data_len);
        if (first.found)
            assert_memory_equal(object.data, first.data, first.data_len);
        free(first.data);
    }
}

/* The rights that docs/stores/redis.md names are enough for each step. */
static void rights(void **state)
{
    static const char *const BEFORE[] = { "DEL x", "SET x 5", "DEL x {x}:timeout", "SET x v" };

    (void)state;
    raw_do(&server,
           "ACL SETUSER locks on >secret resetkeys resetchannels ~x* ~{x* ~redisson_* "
           "~holdfast* &redisson_* &holdfast:client:* -@all +@connection +evalsha +eval "
           "+info +publish +exists +del +type +ping +time +pttl +pexpire +get +set +strlen "
           "+incr +incrby +decr +decrby +hexists +hget +hset +hdel +hlen +hstrlen +hgetall "
           "+zcard +zcount +zremrangebyscore +client|kill");
    direct_close(&host);
    direct_open(&host, 'e', "locks:secret@", "");
    for (unsigned verb = 0; verb < HFI_VERB_COUNT; verb++) {
        for (size_t i = 0; i < sizeof BEFORE / sizeof BEFORE[0]; i++) {
            int error;

            raw_do(&server, BEFORE[i]);
            error = STEP((uint8_t)verb, "x", .number = 1, .ttl_ms = 1000, .key = B("k"),
                         .value = B("v"), .token = 1);
            if (error == HF_ERR_PERMISSION || error == HF_ERR_PROTOCOL)
                fail_msg("verb %u: %s", verb, host.store->detail);
        }
    }
    raw_do(&server, "ACL DELUSER locks");
}

/* What somebody else has done in between is not undone by a repetition. */
static void repeated_behind_others(void **state)
{
    struct hfi_object lost = {
        .verb = HFI_BUCKET_SET, .name = "b", .name_len = 1, .value = B("old")
    };

    (void)state;
    assert_int_equal(STEP(HFI_BUCKET_SET, "a", .value = B("")), HF_OK);
    lost.serial = ++serial;
    direct_ask_in_vain(&host, &lost.request, HFI_OP_OBJECT);
    AWAIT(exists("b") == 1);
    raw_do(&server, "SET b newer");
    assert_int_equal(step(lost), HF_OK);
    check_text("b", "newer");
}

static long long notes(void)
{
    redisReply *reply = raw_reply(&server, "KEYS holdfast_done:*");
    long long count = (long long)reply->elements;

    freeReplyObject(reply);
    return count;
}

/* A note goes with the next request for the name. One that may be needed yet stays. */
static void notes_do_not_pile_up(void **state)
{
    struct hfi_object lost = {
        .verb = HFI_SEMAPHORE_RELEASE, .name = "s", .name_len = 1, .number = 1
    };

    (void)state;
    for (int i = 0; i < 50; i++) {
        assert_int_equal(STEP(HFI_SEMAPHORE_RELEASE, "s", .number = 1), HF_OK);
        assert_int_equal(STEP(HFI_SEMAPHORE_RELEASE, "t", .number = 1), HF_OK);
        assert_int_equal(STEP(HFI_SEMAPHORE_AVAILABLE, "s"), HF_OK);
    }
    assert_int_equal(notes(), 2);
    lost.serial = ++serial;
    direct_ask_in_vain(&host, &lost.request, HFI_OP_OBJECT);
    AWAIT(strcmp(raw_text(&server, "GET s"), "51") == 0);
    assert_int_equal(step(lost), HF_OK);
    assert_int_equal(STEP(HFI_SEMAPHORE_RELEASE, "s", .number = 1), HF_OK);
    assert_int_equal(STEP(HFI_SEMAPHORE_RELEASE, "s", .number = 1), HF_OK);
    assert_int_equal(step(lost), HF_OK); /* as a copy that was late: it is still known */
    check_text("s", "53");
}

/* ------------------------------------------------------------------------------------------------
 * Refusals
 */

static void wrong_types(void **state)
{
    static const enum hfi_verb STRINGS[] = {
        HFI_SEMAPHORE_SET,   HFI_SEMAPHORE_RELEASE,   HFI_SEMAPHORE_RETURN,  HFI_SEMAPHORE_ADD,
        HFI_SEMAPHORE_DRAIN, HFI_SEMAPHORE_AVAILABLE, HFI_SEMAPHORE_DELETE,  HFI_PERMITS_SET,
        HFI_PERMITS_RESIZE,  HFI_PERMITS_ADD,         HFI_PERMITS_COUNT,     HFI_PERMITS_DELETE,
        HFI_LATCH_SET,       HFI_LATCH_DOWN,          HFI_LATCH_GET,         HFI_LATCH_DELETE,
        HFI_BUCKET_GET,      HFI_BUCKET_SET,          HFI_BUCKET_SET_ABSENT, HFI_BUCKET_COMPARE_SET,
        HFI_BUCKET_SWAP,     HFI_BUCKET_TTL,          HFI_BUCKET_DELETE
    };
    static const enum hfi_verb HASHES[] = { HFI_MAP_PUT, HFI_MAP_PUT_ABSENT, HFI_MAP_GET,
                                            HFI_MAP_REMOVE, HFI_MAP_SIZE };
    static const char *const TEXTS[] = {
        "text", "", "1.5", "007", "12345678901234567", "-0", " 1"
    };

    (void)state;
    foreign_take("lock", 30000); /* a lock */
    raw_do(&server, "SET text text");
    for (size_t i = 0; i < sizeof STRINGS / sizeof STRINGS[0]; i++)
        assert_int_equal(STEP(STRINGS[i], "lock", .number = 1, .value = B("v")), HF_ERR_WRONG_TYPE);
    for (size_t i = 0; i < sizeof HASHES / sizeof HASHES[0]; i++)
        assert_int_equal(STEP(HASHES[i], "text", .key = B("k"), .value = B("v")),
                         HF_ERR_WRONG_TYPE);
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) { /* no count */
        raw_do(&server, "SET n %b", TEXTS[i], strlen(TEXTS[i]));
        for (unsigned verb = HFI_SEMAPHORE_SET; verb <= HFI_LATCH_DELETE; verb++)
            assert_int_equal(STEP((uint8_t)verb, "n", .number = 1), HF_ERR_WRONG_TYPE);
        assert_string_equal(raw_text(&server, "GET n"), TEXTS[i]);
    }
    assert_int_equal(notes(), 0);
}

/* Without memory nothing is done, rather than half of it. */
static void out_of_memory(void **state)
{
    (void)state;
    raw_do(&server, "SET x 5");
    assert_int_equal(STEP(HFI_LATCH_GET, "x"), HF_OK);
    raw_do(&server, "CONFIG SET maxmemory 1");
    assert_int_equal(STEP(HFI_SEMAPHORE_RELEASE, "x", .number = 1), HF_ERR_STORE_FULL);
    assert_int_equal(STEP(HFI_BUCKET_SET, "x", .value = B("v")), HF_ERR_STORE_FULL);
    assert_int_equal(STEP(HFI_MAP_PUT, "m", .key = B("k"), .value = B("v")), HF_ERR_STORE_FULL);
    assert_int_equal(STEP(HFI_STAMP_SET, "x", .ttl_ms = 1000), HF_ERR_STORE_FULL);
    check_text("x", "5");
    assert_int_equal(STEP(HFI_SEMAPHORE_AVAILABLE, "x"), HF_OK);
    assert_int_equal(STEP(HFI_LATCH_DELETE, "x"), HF_OK); /* what frees memory is done */
    assert_int_equal(exists("x"), 0);
    raw_do(&server, "CONFIG SET maxmemory 0");
    assert_int_equal(notes(), 1);
}

/* Who may not publish has done it all the same. */
static void silent_users(void **state)
{
    (void)state;
    raw_do(&server, "ACL SETUSER dumb on >word ~* resetchannels +@all");
    direct_close(&host);
    direct_open(&host, 'e', "dumb:word@", "");
    raw_do(&server, "SET s 1");
    assert_int_equal(STEP(HFI_SEMAPHORE_RELEASE, "s", .number = 1), HF_OK);
    check_text("s", "2");
    raw_do(&server, "ACL DELUSER dumb");
}

/* Under a prefix everything is. */
static void under_a_prefix(void **state)
{
    (void)state;
    direct_close(&host);
    direct_open(&host, 'e', "", "?prefix=app:");
    assert_int_equal(STEP(HFI_LATCH_SET, "l", .number = 1), HF_OK);
    check_text("app:l", "1");
    assert_int_equal(STEP(HFI_LATCH_DELETE, "l"), HF_OK);
    assert_int_equal(exists("holdfast_deleted:{app:l}"), 1);
    assert_int_equal(STEP(HFI_STAMP_SET, "l", .ttl_ms = 1000), HF_OK);
    assert_int_equal(exists("holdfast:stamp:{app:l}"), 1);
    assert_int_equal(raw_integer(&server, "EXISTS holdfast_done:{app:l}:" ID ":%llu",
                                 (unsigned long long)serial),
                     1);
}

#define OBJECTS(f) cmocka_unit_test_setup_teardown(f, begin, end)

static const struct CMUnitTest TESTS[] = {
    OBJECTS(semaphores),
    OBJECTS(semaphores_below_zero),
    OBJECTS(semaphores_with_a_ttl),
    OBJECTS(counts_out_of_range),
    OBJECTS(permits),
    OBJECTS(permits_resized),
    OBJECTS(latches),
    OBJECTS(latches_deleted),
    OBJECTS(buckets),
    OBJECTS(buckets_compared),
    OBJECTS(maps),
    OBJECTS(large_values),
    OBJECTS(guards),
    OBJECTS(stamps),
    OBJECTS(executed_once),
    OBJECTS(repeated_behind_others),
    OBJECTS(notes_do_not_pile_up),
    OBJECTS(wrong_types),
    OBJECTS(out_of_memory),
    OBJECTS(silent_users),
    OBJECTS(rights),
    OBJECTS(under_a_prefix),
};

TESTS_MAIN("redis objects", TESTS)
