/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permits, semaphores, latches, and locks that are mutexes but for one thing, on a real server, step by step: the
 * data and the messages of Redisson's RPermitExpirableSemaphore, RSemaphore, RCountDownLatch, RFencedLock, RSpinLock.
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
    raw_do(&server, "DEL S {S}:timeout redisson_lock_token:{L}");
    return test_end(state);
}

static redisContext *listen_to(const char *channel)
{
    redisContext *raw = raw_open(&server);

    raw_send(raw, "SUBSCRIBE %s", channel);
    freeReplyObject(raw_next(raw, PATIENCE_MS));
    return raw;
}

static void told(redisContext *raw, const char *payload)
{
    redisReply *reply = raw_next(raw, PATIENCE_MS);

    assert_non_null(reply);
    assert_string_equal(reply->element[2]->str, payload);
    freeReplyObject(reply);
}

static void told_no_more(redisContext *raw)
{
    assert_null(raw_next(raw, 20));
    redisFree(raw);
}

static long long available(void)
{
    return atoll(raw_text(&server, "GET S"));
}

static long long taken(void)
{
    return raw_integer(&server, "ZCARD {S}:timeout");
}

static struct hfi_lease permits(uint64_t owner, uint32_t count)
{
    struct hfi_lease lease = direct_lease(HFI_KIND_PERMITS, "S", owner);

    lease.permits = count;
    return lease;
}

static struct hfi_lease semaphore(uint64_t owner, uint32_t count)
{
    struct hfi_lease lease = direct_lease(HFI_KIND_SEMAPHORE, "S", owner);

    lease.permits = count;
    return lease;
}

static void too_few(struct direct *direct, struct hfi_lease *lease, hfi_time least, hfi_time most)
{
    assert_int_equal(direct_try(direct, lease), HFI_BUSY);
    assert_int_equal(lease->topic, HFI_TOPIC_PERMITS);
    assert_false(lease->ticket);
    assert_true(lease->hint_ns >= least && lease->hint_ns <= most);
}

/* ------------------------------------------------------------------------------------------------
 * Permits
 */

/* ms until the permit with this index of this owner runs out; -1: it is not there. */
static long long permit_ms(const struct direct *direct, uint64_t owner, int which)
{
    unsigned char id[16] = { 0x0f, 0x8f, 0xad, 0x5b, 0xd9, 0xcb, 0x46, 0x9f };

    (void)
        direct; /* ids are told apart by half of the client's id: those of a and b are alike in it */
    for (int i = 0; i < 6; i++)
        id[8 + i] = (unsigned char)(owner >> 8 * (5 - i));
    id[14] = (unsigned char)(which >> 8);
    id[15] = (unsigned char)which;
    return raw_integer(
        &server, "EVAL %s 1 {S}:timeout %b",
        "local s = redis.call('ZSCORE', KEYS[1], ARGV[1]) if not s then return -1 end "
        "local t = redis.call('TIME') return s - t[1] * 1000 - math.floor(t[2] / 1000)",
        id, sizeof id);
}

static void taking_permits(void **state)
{
    struct hfi_lease one = permits(1, 2), two = permits(UINT64_C(0x0123456789ab), 3),
                     three = permits(3, 2);
    redisContext *raw = listen_to("redisson_sc:{S}");

    (void)state;
    too_few(&a, &one, HF_TIME_NEVER, HF_TIME_NEVER); /* there is no such semaphore */
    assert_int_equal(raw_integer(&server, "EXISTS S"), 0);
    raw_do(&server, "SET S 6");
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    assert_int_equal(available(), 4);
    assert_int_equal(taken(), 2);
    assert_in_range(permit_ms(&a, 1, 0), 29000, 30000);
    assert_in_range(permit_ms(&a, 1, 1), 29000, 30000);
    assert_int_equal(raw_integer(&server, "PTTL {S}:timeout"), -1);
    assert_int_equal(direct_try(&a, &one), HFI_ALREADY);
    assert_int_equal(available(), 4);
    two.ttl_ms = 10000;
    assert_int_equal(direct_try(&a, &two), HFI_GRANTED);
    assert_int_equal(available(), 1);
    assert_in_range(permit_ms(&a, UINT64_C(0x0123456789ab), 2), 9000, 10000);
    too_few(&a, &three, 9000 * HFI_MSEC, 10000 * HFI_MSEC); /* when the next one runs out */
    assert_int_equal(direct_release(&a, &three), HFI_GONE);
    assert_int_equal(direct_release(&a, &two), HFI_RELEASED);
    assert_int_equal(two.others, 1);
    told(raw, "4"); /* what is there now */
    assert_int_equal(taken(), 2);
    assert_int_equal(direct_release(&a, &two), HFI_GONE);
    assert_int_equal(direct_try(&a, &three), HFI_GRANTED);
    assert_int_equal(direct_release(&a, &three), HFI_RELEASED);
    told(raw, "4");
    assert_int_equal(direct_release(&a, &one), HFI_RELEASED);
    told(raw, "6");
    told_no_more(raw);
}

static void permits_run_out(void **state)
{
    struct hfi_lease one = permits(1, 2), two = permits(2, 2), three = permits(3, 3);
    redisContext *raw = listen_to("redisson_sc:{S}");

    (void)state;
    raw_do(&server, "SET S 2");
    one.ttl_ms = 100;
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    too_few(&b, &two, 1, 100 * HFI_MSEC);
    nap_ms(120);
    assert_false(direct_renew(&a, &one, 30000)); /* it does not come back to life */
    too_few(&b, &three, HF_TIME_NEVER, HF_TIME_NEVER);
    told(raw, "2"); /* it did for others */
    assert_int_equal(taken(), 0);
    assert_int_equal(available(), 2);
    one.ttl_ms = 50;
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    nap_ms(70);
    assert_int_equal(direct_try(&a, &two),
                     HFI_GRANTED); /* with those that ran out, and nothing is left */
    assert_int_equal(available(), 0);
    assert_int_equal(direct_release(&a, &one), HFI_GONE);
    assert_int_equal(direct_release(&a, &two), HFI_RELEASED);
    told(raw, "2");
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    nap_ms(70);
    assert_int_equal(direct_release(&a, &one), HFI_GONE); /* too late, and yet given back */
    told(raw, "2");
    assert_int_equal(available(), 2);
    told_no_more(raw);
}

static void permits_are_renewed(void **state)
{
    struct hfi_lease one = permits(1, 3), two = permits(2, 1);

    (void)state;
    raw_do(&server, "SET S 4");
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    assert_int_equal(direct_try(&a, &two), HFI_GRANTED);
    assert_true(direct_renew(&a, &one, 60000));
    for (int i = 0; i < 3; i++)
        assert_in_range(permit_ms(&a, 1, i), 59000, 60000);
    assert_in_range(permit_ms(&a, 2, 0), 29000, 30000);
    assert_true(direct_renew(&a, &one, 0));
    assert_in_range(permit_ms(&a, 1, 0), 58000, 60000);
    raw_do(&server, "CONFIG SET maxmemory 1");
    assert_true(direct_renew(&a, &one, 90000)); /* a server without memory keeps what there is */
    assert_in_range(permit_ms(&a, 1, 2), 89000, 90000);
    assert_int_equal(direct_release(&a, &two), HFI_RELEASED);
    assert_int_equal(direct_ask(&a, &two.request, HFI_OP_TRY), HF_ERR_STORE_FULL);
    raw_do(&server, "CONFIG SET maxmemory 0");
    assert_int_equal(taken(), 3);
    raw_do(&server, "ZPOPMIN {S}:timeout"); /* one of them is taken away */
    assert_false(direct_renew(&a, &one, 60000));
    assert_in_range(raw_integer(&server, "ZCOUNT {S}:timeout -inf +inf"), 2, 2);
    assert_int_equal(direct_release(&a, &one), HFI_GONE); /* the rest comes back */
    assert_int_equal(taken(), 0);
    assert_int_equal(available(), 3);
    raw_do(&server, "SET {S}:timeout text");
    assert_false(direct_renew(&a, &one, 60000));
    raw_do(&server, "DEL {S}:timeout");
}

/* Shrunk below what is taken: nothing is said of a negative number, which Redisson's listeners cannot read. */
static void fewer_than_none(void **state)
{
    struct hfi_lease one = permits(1, 1), two = permits(2, 1);
    redisContext *raw = listen_to("redisson_sc:{S}");

    (void)state;
    raw_do(&server, "SET S 2");
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    assert_int_equal(direct_try(&a, &two), HFI_GRANTED);
    raw_do(&server, "SET S -1");
    assert_int_equal(direct_release(&a, &one), HFI_RELEASED);
    assert_int_equal(available(), 0);
    assert_int_equal(one.others, 0);
    assert_int_equal(direct_release(&a, &two), HFI_RELEASED);
    told(raw, "1");
    told_no_more(raw);
}

static void permits_beside_foreign_ones(void **state)
{
    struct hfi_lease one = permits(1, 1), two = permits(2, 2);
    redisContext *raw = listen_to("redisson_sc:{S}");

    (void)state;
    raw_do(&server, "SET S 2 PX 60000");
    assert_true(java_permit_try("S", "0123456789abcdef", 20000));
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    assert_in_range(raw_integer(&server, "PTTL {S}:timeout"), 59000,
                    60000); /* it ends with the number */
    assert_false(java_permit_try("S", "0123456789abcdeg", 20000));
    too_few(&b, &two, 19000 * HFI_MSEC, 20000 * HFI_MSEC);
    assert_true(java_permit_release("S", "0123456789abcdef"));
    told(raw, "1");
    assert_int_equal(direct_release(&a, &one), HFI_RELEASED);
    told(raw, "2");
    assert_int_equal(direct_try(&b, &two), HFI_GRANTED);
    raw_do(&server, "ZADD {S}:timeout 922337203685477 0123456789abcdef"); /* for ever */
    raw_do(&server, "ZREM {S}:timeout none");
    assert_int_equal(direct_release(&b, &two), HFI_RELEASED);
    told(raw, "2");
    raw_do(&server, "DECRBY S 2");
    too_few(&b, &two, HF_TIME_NEVER, HF_TIME_NEVER);
    told_no_more(raw);
}

static void no_number(void **state)
{
    static const char *const VALUES[] = { "text", "1.5", "" };
    struct hfi_lease leases[] = { permits(1, 1), semaphore(1, 1),
                                  direct_lease(HFI_KIND_LATCH, "S", 1) };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 3; k++) {
            raw_do(&server, "SET S %s", VALUES[k]);
            if (i < 2 || k != 1)
                assert_int_equal(direct_ask(&a, &leases[i].request, HFI_OP_TRY), HF_ERR_WRONG_TYPE);
        }
        raw_do(&server, "DEL S");
        raw_do(&server, "RPUSH S x");
        assert_int_equal(direct_ask(&a, &leases[i].request, HFI_OP_TRY), HF_ERR_WRONG_TYPE);
        raw_do(&server, "DEL S");
    }
    assert_int_equal(server_count_keys(&server), 0);
}

/* As many as there may be, in one go. */
static void many_permits(void **state)
{
    struct hfi_lease lease = permits(1, HF_PERMITS_MAX);

    (void)state;
    raw_do(&server, "SET S %d", HF_PERMITS_MAX);
    assert_int_equal(direct_try(&a, &lease), HFI_GRANTED);
    assert_int_equal(taken(), HF_PERMITS_MAX);
    assert_true(direct_renew(&a, &lease, 30000));
    assert_int_equal(direct_release(&a, &lease), HFI_RELEASED);
    assert_int_equal(available(), HF_PERMITS_MAX);
    lease.ttl_ms = 100;
    assert_int_equal(direct_try(&a, &lease), HFI_GRANTED);
    nap_ms(120);
    lease.owner = 2;
    assert_int_equal(direct_try(&a, &lease), HFI_GRANTED); /* and as many have run out */
    assert_int_equal(taken(), HF_PERMITS_MAX);
    assert_int_equal(direct_release(&a, &lease), HFI_RELEASED);
}

/* ------------------------------------------------------------------------------------------------
 * Semaphores
 */

static const char *note(const struct direct *direct, uint64_t owner)
{
    static char key[160];

    snprintf(key, sizeof key, "holdfast_semaphore:{S}:%s", direct_owner(direct, owner));
    return key;
}

static void taking_of_a_semaphore(void **state)
{
    struct hfi_lease one = semaphore(1, 2), two = semaphore(2, 3);
    redisContext *raw = listen_to("redisson_sc:{S}");

    (void)state;
    too_few(&a, &one, HF_TIME_NEVER, HF_TIME_NEVER);
    raw_do(&server, "SET S 4");
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    assert_int_equal(available(), 2);
    assert_in_range(raw_integer(&server, "PTTL %s", note(&a, 1)), 59000, 60000);
    assert_int_equal(direct_try(&a, &one), HFI_ALREADY); /* a repetition takes nothing */
    assert_int_equal(available(), 2);
    too_few(&a, &two, HF_TIME_NEVER, HF_TIME_NEVER);
    assert_int_equal(direct_release(&a, &two), HFI_GONE); /* it was not executed */
    assert_int_equal(available(), 2);
    assert_int_equal(direct_release(&a, &one), HFI_RELEASED); /* taken back */
    assert_int_equal(one.others, 1);
    told(raw, "4");
    assert_int_equal(direct_release(&a, &one), HFI_GONE);
    assert_int_equal(available(), 4);
    one.ttl_ms = 120000;
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    assert_in_range(raw_integer(&server, "PTTL %s", note(&a, 1)), 119000, 120000);
    raw_do(&server, "DEL S"); /* deleted: it is not made again */
    assert_int_equal(direct_release(&a, &one), HFI_RELEASED);
    assert_int_equal(raw_integer(&server, "EXISTS S"), 0);
    told_no_more(raw);
}

static void a_semaphore_below_zero(void **state)
{
    struct hfi_lease one = semaphore(1, 2);
    redisContext *raw = listen_to("redisson_sc:{S}");

    (void)state;
    raw_do(&server, "SET S 2");
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    raw_do(&server, "SET S -2");
    assert_int_equal(direct_release(&a, &one), HFI_RELEASED);
    assert_int_equal(available(), 0);
    raw_do(&server, "SET S -7");
    too_few(&a, &one, HF_TIME_NEVER, HF_TIME_NEVER);
    raw_do(&server, "SET S 2");
    assert_int_equal(direct_try(&a, &one), HFI_GRANTED);
    raw_do(&server, "CONFIG SET maxmemory 1");
    one.owner = 1;
    assert_int_equal(direct_release(&a, &one), HFI_RELEASED);
    one.owner = 3;
    assert_int_equal(direct_ask(&a, &one.request, HFI_OP_TRY), HF_ERR_STORE_FULL);
    raw_do(&server, "CONFIG SET maxmemory 0");
    told(raw, "2");
    told_no_more(raw);
}

/* ------------------------------------------------------------------------------------------------
 * Latches
 */

static void latches(void **state)
{
    struct hfi_lease lease = direct_lease(HFI_KIND_LATCH, "C", 1);

    (void)state;
    assert_int_equal(direct_try(&a, &lease), HFI_GRANTED); /* there is none */
    raw_do(&server, "SET C 2");
    assert_int_equal(direct_try(&a, &lease), HFI_BUSY);
    assert_int_equal(lease.topic, HFI_TOPIC_LATCH);
    assert_true(lease.hint_ns == HF_TIME_NEVER);
    raw_do(&server, "SET C 0");
    assert_int_equal(direct_try(&a, &lease), HFI_GRANTED);
    raw_do(&server, "DEL C");
    raw_do(&server, "SET holdfast_deleted:{C} 1 PX 60000");
    assert_int_equal(direct_try(&a, &lease), HFI_GONE);
    raw_do(&server, "SET C 1"); /* set again */
    assert_int_equal(direct_try(&a, &lease), HFI_BUSY);
    raw_do(&server, "DEL C holdfast_deleted:{C}");
    assert_int_equal(direct_try(&a, &lease), HFI_GRANTED);
}

/* "1": it was set, or deleted, by those who leave no note; "0": it is open. */
static void a_latch_is_told_of(void **state)
{
    struct hfi_lease lease = direct_lease(HFI_KIND_LATCH, "a{x}b", 1);
    struct hfi_watch watch = direct_watch_of(&lease, HFI_TOPIC_LATCH);

    (void)state;
    direct_watch(&a, &watch);
    raw_do(&server, "PUBLISH redisson_countdownlatch__channel__{a{x}b} 1");
    assert_true(direct_woken(&a, &watch, PATIENCE_MS));
    assert_true(watch.deleted);
    raw_do(&server, "PUBLISH redisson_countdownlatch__channel__{a{x}b} 0");
    assert_true(direct_woken(&a, &watch, PATIENCE_MS));
    assert_false(watch.deleted);
    direct_unwatch(&a, &watch);
}

/* ------------------------------------------------------------------------------------------------
 * Almost mutexes
 */

static void fenced(void **state)
{
    struct hfi_lease lease = direct_lease(HFI_KIND_FENCED, "L", 1);

    (void)state;
    for (uint64_t i = 1; i <= 5; i++) {
        lease.owner = i;
        lease.tokens = 100; /* and yet there is one a grant */
        assert_int_equal(direct_try(&a, &lease), HFI_GRANTED);
        assert_int_equal(lease.token, i);
        assert_int_equal(lease.tokens, 1);
        assert_int_equal(direct_try(&a, &lease), HFI_ALREADY);
        assert_string_equal(raw_text(&server, "HGET L %s", direct_owner(&a, i)), "1");
        assert_true(direct_renew(&a, &lease, 30000));
        assert_int_equal(direct_release(&a, &lease), HFI_RELEASED);
    }
    assert_string_equal(raw_text(&server, "GET redisson_lock_token:{L}"), "5");
    assert_int_equal(raw_integer(&server, "PTTL redisson_lock_token:{L}"), -1);
    assert_int_equal(raw_integer(&server, "EXISTS L"), 0);
    raw_do(&server, "SET redisson_lock_token:{L} text");
    assert_int_equal(direct_ask(&a, &lease.request, HFI_OP_TRY), HF_ERR_PROTOCOL);
    assert_int_equal(raw_integer(&server, "EXISTS L"), 0);
}

static void spin(void **state)
{
    struct hfi_lease lease = direct_lease(HFI_KIND_SPIN, "L", 1),
                     other = direct_lease(HFI_KIND_MUTEX, "L", 2);
    redisContext *raw = listen_to("redisson_lock__channel:{L}");

    (void)state;
    assert_int_equal(direct_try(&a, &lease), HFI_GRANTED);
    assert_int_equal(direct_try(&b, &other), HFI_BUSY);
    assert_int_equal(direct_release(&a, &lease), HFI_RELEASED);
    told(raw, "0"); /* a plain lock's waiters are woken */
    assert_int_equal(direct_try(&b, &other), HFI_GRANTED);
    assert_int_equal(direct_try(&a, &lease), HFI_BUSY);
    assert_int_equal(direct_release(&b, &other), HFI_RELEASED);
    told(raw, "0");
    told_no_more(raw);
}

/* Every key and channel of every kind lies under the prefix. */
static void under_a_prefix(void **state)
{
    struct direct mapped;

    (void)state;
    direct_open(&mapped, 'c', "", "?prefix=app:");
    raw_do(&server, "SET app:S 5");
    for (int kind = HFI_KIND_MUTEX; kind <= HFI_KIND_SEMAPHORE; kind++) {
        bool count = kind == HFI_KIND_PERMITS || kind == HFI_KIND_SEMAPHORE;
        struct hfi_lease lease = direct_lease((enum hfi_kind)kind, count ? "S" : "L", 1);

        assert_int_equal(direct_try(&mapped, &lease), HFI_GRANTED);
        assert_int_equal(raw_integer(&server, "EXISTS L {S}:timeout"), 0);
        if (!count)
            assert_int_equal(raw_integer(&server, "EXISTS app:L"), 1);
        assert_int_equal(direct_release(&mapped, &lease), HFI_RELEASED);
    }
    assert_int_equal(raw_integer(&server, "DEL app:S redisson_lock_token:{app:L}"), 2);
    direct_close(&mapped);
}

/* What the documentation says a user needs. */
#define RIGHTS                                                                                     \
    "resetkeys resetchannels ~job:* ~{job:* ~redisson_* ~holdfast* &redisson_* "                   \
    "&holdfast:client:* -@all +@connection +evalsha +eval +info +subscribe +unsubscribe "          \
    "+publish +exists +del +type +ping +time +pttl +pexpire +get +set +incr +incrby +decrby "      \
    "+hexists +hget +hset +hdel +hlen +hgetall +lindex +lpos +lrange +lrem +rpush +zadd +zrem "    \
    "+zscore +zincrby +zrange +zcount +zremrangebyscore +client|kill"

static void all_steps(struct direct *few, struct hfi_lease *lease, struct hfi_lease *waiting)
{
    struct hfi_watch watch;

    waiting->prefer = true;
    assert_int_equal(direct_try(few, lease), HFI_GRANTED);
    assert_int_equal(direct_try(few, waiting),
                     lease->kind == HFI_KIND_READ ? HFI_GRANTED : HFI_BUSY);
    assert_int_equal(waiting->ticket,
                     lease->kind == HFI_KIND_FAIR || lease->kind == HFI_KIND_WRITE);
    watch = direct_watch_of(waiting, (enum hfi_topic)waiting->topic);
    direct_watch(few, &watch);
    if (lease->kind != HFI_KIND_SEMAPHORE)
        assert_true(direct_renew(few, lease, 30000));
    assert_int_equal(direct_release(few, lease), HFI_RELEASED);
    if (waiting->verdict == HFI_BUSY)
        assert_int_equal(lease->others, 1);
    direct_leave(few, waiting);
    direct_release(few, waiting);
    direct_unwatch(few, &watch);
}

static void with_few_rights(void **state)
{
    struct direct few;

    (void)state;
    raw_do(&server, "ACL SETUSER few on >s3cret " RIGHTS);
    raw_do(&server, "SET job:S 1");
    direct_open(&few, 'c', "few:s3cret@", "");
    for (int kind = HFI_KIND_MUTEX; kind <= HFI_KIND_SEMAPHORE; kind++) {
        const char *name = kind < HFI_KIND_PERMITS ? "job:L" : "job:S";
        struct hfi_lease lease = direct_lease((enum hfi_kind)kind, name, 1),
                         waiting = direct_lease((enum hfi_kind)kind, name, 2);

        all_steps(&few, &lease, &waiting);
    }
    direct_close(&few);
    raw_do(&server, "ACL DELUSER few");
    raw_do(&server, "DEL job:S redisson_lock_token:{job:L}");
}

#define STEP(f) cmocka_unit_test_setup_teardown(f, begin, end)

static const struct CMUnitTest TESTS[] = {
    STEP(taking_permits),
    STEP(permits_run_out),
    STEP(permits_are_renewed),
    STEP(fewer_than_none),
    STEP(permits_beside_foreign_ones),
    STEP(no_number),
    STEP(many_permits),
    STEP(taking_of_a_semaphore),
    STEP(a_semaphore_below_zero),
    STEP(latches),
    STEP(a_latch_is_told_of),
    STEP(fenced),
    STEP(spin),
    STEP(under_a_prefix),
    STEP(with_few_rights),
};

TESTS_MAIN("counts", TESTS)
