/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For people: what list, inspect and break make of locks of every kind on a real server, ours and those of
 * Redisson's, which lie there as its clients write them.
 */
#include "redis/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "holdfast/objects.h"

#define JAVA  "01234567-89ab-4cde-8f01-23456789abcd"
#define OTHER "fedcba98-7654-4321-8fed-cba987654321"

/* Wake-ups, not polls, must do it. */
#define RARELY  TRACED(.poll_ms = 60000, .program = "test")
#define MODE(m) HF_ACQUIRE(.ttl_ms = 30000, .mode = m)

/* ------------------------------------------------------------------------------------------------
 * Looking
 */

static hf_list *list;

/* The only lock of that name. */
static struct hf_lock inspect(hf_client *client, const char *name)
{
    struct hf_lock lock = { .size = sizeof lock };
    int error;

    hf_list_free(list);
    list = NULL;
    error = hf_inspect(client, name, &list);
    if (error)
        fail_msg("hf_inspect %s: %s: %s", name, hf_strerror(error), hf_last_error());
    assert_int_equal(hf_list_count(list), 1);
    assert_int_equal(hf_list_get(list, 0, &lock), HF_OK);
    assert_string_equal(lock.name, name);
    return lock;
}

static int end(void **state)
{
    hf_list_free(list);
    list = NULL;
    raw_do(&server, "FLUSHALL");
    return test_end(state);
}

static struct hf_holder holder(size_t i)
{
    struct hf_holder who = { .size = sizeof who };

    assert_int_equal(hf_list_holder(list, 0, i, &who), HF_OK);
    return who;
}

static bool is_holder(const char *owner)
{
    struct hf_holder who = { .size = sizeof who };

    for (size_t i = 0; hf_list_holder(list, 0, i, &who) == HF_OK; i++)
        if (strcmp(who.owner, owner) == 0)
            return true;
    return false;
}

static struct hf_holder waiter(size_t i)
{
    struct hf_holder who = { .size = sizeof who };

    assert_int_equal(hf_list_waiter(list, 0, i, &who), HF_OK);
    return who;
}

static bool has_waiter(size_t i)
{
    struct hf_holder who = { .size = sizeof who };

    return hf_list_waiter(list, 0, i, &who) == HF_OK && who.pid == getpid();
}

static const char *owner_of(const hf_hold *hold)
{
    static char text[4][HF_OWNER_MAX + 1];
    static int turn;

    turn = (turn + 1) % 4;
    hf_hold_owner(hold, text[turn], sizeof text[turn]);
    return text[turn];
}

/* All that a list shows, as "name:kind:state " and so on, in the order of names. */
static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static const char *listed(hf_client *client, const char *pattern)
{
    static char text[4096];
    char row[64][64];
    size_t count, n = 0;
    hf_list *all = NULL;

    assert_int_equal(hf_list_locks(client, pattern, &all), HF_OK);
    count = hf_list_count(all);
    assert_true(count <= 64);
    for (size_t i = 0; i < count; i++) {
        struct hf_lock lock = { .size = sizeof lock };

        assert_int_equal(hf_list_get(all, i, &lock), HF_OK);
        snprintf(row[i], sizeof row[i], "%.20s:%s:%s", lock.name, lock.kind, lock.state);
    }
    hf_list_free(all);
    qsort(row, count, sizeof row[0], by_text);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? " " : "", row[i]);
    return text;
}

static bool is_lost(hf_hold *hold)
{
    return hf_hold_state(hold) == HF_LOST;
}

/* ------------------------------------------------------------------------------------------------
 * Read-write locks
 */

static void java_reads(const char *owner, long ttl_ms)
{
    raw_do(&server, "HSET L mode read %s 1", owner);
    raw_do(&server, "SET {L}:%s:rwlock_timeout:1 1 PX %ld", owner, ttl_ms);
    if (raw_integer(&server, "PTTL L") < ttl_ms)
        raw_do(&server, "PEXPIRE L %ld", ttl_ms);
}

static void readers(void **state)
{
    hf_client *a = client_open_with(RARELY), *b = client_open_with(RARELY), *c = client_open();
    hf_hold *one = take(a, "L", HF_ACQUIRE(.mode = HF_SHARED, .ttl_ms = 20000, .label = "why"));
    hf_hold *two = take(b, "L", MODE(HF_SHARED));
    struct taker writer;
    struct hf_lock lock;

    (void)state;
    java_reads(JAVA ":1", 25000);
    raw_do(&server, "HSET L %s 1", JAVA ":2"); /* dead: it has no key of its own */
    taker_start(&writer, c, "L", MODE(HF_WRITE));
    AWAIT((lock = inspect(a, "L")).waiters == 1 && has_waiter(0) &&
          strcmp(lock.holder.label, "why") == 0);
    assert_string_equal(lock.kind, "read");
    assert_string_equal(lock.state, "held");
    assert_int_equal(lock.holders, 3);
    assert_int_equal(lock.available, -1);
    assert_true(is_holder(owner_of(one)) && is_holder(owner_of(two)) && is_holder(JAVA ":1"));
    assert_int_equal(holder(0).pid, getpid());
    assert_in_range(holder(0).remaining_ms, 1, 20000);
    assert_in_range(holder(0).age_ms, 0, PATIENCE_MS);
    assert_int_equal(holder(0).token, 0);
    assert_int_equal(waiter(0).pid, getpid());
    assert_string_equal(listed(a, NULL), "L:read:held");

    assert_int_equal(hf_break(c, "L", JAVA ":77"), HF_ERR_CHANGED);
    assert_int_equal(hf_break(c, "L", owner_of(one)), HF_OK); /* that one, and no other */
    AWAIT(is_lost(one));
    assert_int_equal(hf_hold_state(two), HF_HELD);
    assert_int_equal(raw_integer(&server, "HEXISTS L %s", owner_of(one)), 0);
    assert_int_equal(raw_integer(&server, "EXISTS {L}:%s:rwlock_timeout:1", owner_of(one)), 0);
    assert_int_equal(raw_integer(&server, "EXISTS {L}:%s:rwlock_timeout:1", owner_of(two)), 1);
    assert_int_equal(raw_integer(&server, "HEXISTS L %s", JAVA ":2"),
                     0); /* the dead one went, too */
    assert_int_equal(inspect(a, "L").holders, 2);
    assert_false(taker_done(&writer));
    assert_int_equal(hf_break(c, "L", JAVA ":1"), HF_OK);
    assert_int_equal(raw_integer(&server, "EXISTS {L}:%s:rwlock_timeout:1", JAVA ":1"), 0);
    assert_int_equal(hf_break(c, "L", owner_of(two)), HF_OK);
    assert_int_equal(taker_join(&writer), HF_OK); /* nobody reads any more */
    assert_int_equal(hf_break(c, "none", JAVA ":1"), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_release(one), HF_ERR_LOST);
    assert_int_equal(hf_release(two), HF_ERR_LOST);
    give(writer.hold);
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

/* Of very many some are told, and all are counted. */
static void many_readers(void **state)
{
    hf_client *a = client_open();
    struct hf_holder who = { .size = sizeof who };
    struct hf_lock lock = { .size = sizeof lock };
    size_t told = 0;
    hf_list *all = NULL;

    (void)state;
    for (int i = 0; i < 100; i++) {
        char owner[64];

        snprintf(owner, sizeof owner, JAVA ":%d", i);
        java_reads(owner, 25000);
    }
    assert_int_equal(inspect(a, "L").holders, 100);
    assert_int_equal(hf_list_holder(list, 0, 99, &who), HF_OK);
    assert_int_equal(hf_list_holder(list, 0, 100, &who), HF_ERR_INVALID);
    assert_int_equal(hf_list_locks(a, NULL, &all), HF_OK);
    assert_int_equal(hf_list_get(all, 0, &lock), HF_OK);
    assert_int_equal(lock.holders, 100);
    while (hf_list_holder(all, 0, told, &who) == HF_OK)
        told++;
    assert_int_equal(told, 64);
    hf_list_free(all);
    hf_close(a);
}

/* Whoever writes and reads is one owner; what is broken is that it writes. */
static void a_writer(void **state)
{
    hf_client *a = client_open_with(RARELY), *b = client_open_with(RARELY);
    hf_hold *write = take(a, "L", HF_ACQUIRE(.mode = HF_WRITE, .ttl_ms = 30000, .label = "why"));
    hf_hold *read = take(a, "L", MODE(HF_SHARED));
    struct taker reader;
    struct hf_lock lock;

    (void)state;
    assert_string_equal(owner_of(read), owner_of(write));
    taker_start(&reader, b, "L", MODE(HF_SHARED));
    AWAIT((lock = inspect(b, "L")).waiters == 1 && lock.holder.token == hf_hold_token(write));
    assert_string_equal(lock.kind, "write");
    assert_int_equal(lock.holders, 1);
    assert_int_equal(lock.holder.count, 2);
    assert_string_equal(lock.holder.owner, owner_of(write));
    assert_string_equal(lock.holder.label, "why");
    assert_int_equal(hf_break(b, "L", JAVA ":1"), HF_ERR_CHANGED);
    assert_int_equal(hf_break(b, "L", owner_of(write)), HF_OK);
    assert_int_equal(taker_join(&reader), HF_OK); /* it was told */
    AWAIT(is_lost(write));
    assert_int_equal(hf_hold_state(read), HF_HELD);
    lock = inspect(b, "L");
    assert_string_equal(lock.kind, "read");
    assert_int_equal(lock.holders, 2);
    give(read);
    give(reader.hold);
    assert_int_equal(hf_release(write), HF_ERR_LOST);
    hf_close(a);
    hf_close(b);
}

static void javas_writer(void **state)
{
    hf_client *a = client_open_with(RARELY);
    struct taker reader;
    struct hf_lock lock;

    (void)state;
    raw_do(&server, "HSET L mode write %s 1 %s 2", JAVA ":1:write", JAVA ":1");
    raw_do(&server, "PEXPIRE L 30000");
    lock = inspect(a, "L");
    assert_string_equal(lock.kind, "write");
    assert_string_equal(lock.holder.owner, JAVA ":1");
    assert_int_equal(lock.holder.count, 3);
    assert_int_equal(lock.holder.pid, -1);
    taker_start(&reader, a, "L", MODE(HF_SHARED));
    AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_rwlock:*") == 1);
    nap_ms(20);
    assert_int_equal(hf_break(a, "L", JAVA ":1"), HF_OK);
    assert_int_equal(taker_join(&reader), HF_OK);
    give(reader.hold);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Fair locks
 */

static void java_queues(const char *owner, long long till_ms)
{
    raw_do(&server, "RPUSH redisson_lock_queue:{L} %s", owner);
    raw_do(&server, "ZADD redisson_lock_timeout:{L} %lld %s", till_ms, owner);
}

static long long server_ms(void)
{
    redisReply *reply = raw_reply(&server, "TIME");
    long long ms = atoll(reply->element[0]->str) * 1000 + atoll(reply->element[1]->str) / 1000;

    freeReplyObject(reply);
    return ms;
}

static void a_fair_lock(void **state)
{
    hf_client *a = client_open(), *b = client_open(), *c = client_open();
    hf_hold *hold = take(a, "L", HF_ACQUIRE(.mode = HF_FAIR, .ttl_ms = 30000, .label = "why"));
    struct taker one, two;
    struct hf_lock lock;
    long long now = server_ms();

    (void)state;
    AWAIT((lock = inspect(c, "L")).holder.token == hf_hold_token(hold)); /* it says what it is */
    assert_string_equal(lock.kind, "fair");
    assert_int_equal(lock.waiters, 0);
    taker_start(&one, b, "L", MODE(HF_FAIR));
    AWAIT(inspect(c, "L").waiters == 1);
    java_queues(JAVA ":9", now + 900000); /* behind ours */
    java_queues(OTHER ":8", now - 1);     /* dead */
    taker_start(&two, c, "L", MODE(HF_FAIR));
    AWAIT((lock = inspect(c, "L")).waiters == 3 && has_waiter(0) && has_waiter(2) &&
          waiter(0).age_ms >= 0 && waiter(2).age_ms >= 0);
    assert_string_equal(lock.kind, "fair");
    assert_string_equal(lock.state, "held");
    assert_string_equal(lock.holder.owner, owner_of(hold));
    assert_string_equal(lock.holder.label, "why");
    assert_int_equal(lock.holders, 1);
    assert_int_equal(strncmp(waiter(0).owner, hf_client_id(b), 36), 0);
    assert_int_equal(waiter(0).pid, getpid());
    assert_string_equal(waiter(1).owner, JAVA ":9");
    assert_int_equal(waiter(1).pid, -1);
    assert_int_equal(strncmp(waiter(2).owner, hf_client_id(c), 36), 0);
    assert_int_equal(strlen(waiter(2).owner) > 37, 1); /* an owner, not only a client */

    assert_int_equal(hf_break(c, "L", JAVA ":9"), HF_ERR_CHANGED); /* it only waits */
    assert_int_equal(hf_break(c, "L", owner_of(hold)), HF_OK);
    assert_int_equal(taker_join(&one), HF_OK); /* the head is told */
    AWAIT(is_lost(hold));
    assert_false(taker_done(&two));
    assert_int_equal(inspect(c, "L").waiters, 2);
    raw_do(&server, "LREM redisson_lock_queue:{L} 0 %s", JAVA ":9"); /* it gives up */
    raw_do(&server, "ZREM redisson_lock_timeout:{L} %s", JAVA ":9");
    give(one.hold);
    assert_int_equal(taker_join(&two), HF_OK);
    give(two.hold);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

/* Nobody holds it, and somebody of another make has a place: it is found by what that one listens to. */
static void a_free_queue(void **state)
{
    hf_client *a = client_open();
    redisContext *raw = raw_open(&server);
    struct hf_lock lock;

    (void)state;
    java_queues(JAVA ":9", server_ms() + 100000);
    assert_string_equal(listed(a, NULL), "");
    raw_send(raw, "SUBSCRIBE redisson_lock__channel:{L}:%s", JAVA ":9");
    freeReplyObject(raw_next(raw, PATIENCE_MS));
    assert_string_equal(listed(a, NULL), "L:fair:free");
    lock = inspect(a, "L");
    assert_int_equal(lock.waiters, 1);
    assert_int_equal(lock.holders, 0);
    assert_string_equal(lock.holder.owner, "");
    assert_string_equal(waiter(0).owner, JAVA ":9");
    assert_int_equal(hf_break(a, "L", JAVA ":9"), HF_ERR_NOT_FOUND);
    redisFree(raw);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Permits
 */

static void permits(void **state)
{
    static const char ID[16] = { 1, 0, 2, '\r', '\n', (char)0xff, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    static const char HEX[] = "0100020d0aff00000102030405060708";
    hf_client *a = client_open_with(RARELY), *b = client_open_with(RARELY);
    hf_hold *two = NULL, *one = NULL;
    struct taker taker;
    struct hf_lock lock;

    (void)state;
    raw_do(&server, "SET L 5");
    assert_int_equal(
        hf_permits_acquire(a, "L", 2, HF_ACQUIRE(.ttl_ms = 30000, .label = "why"), &two), HF_OK);
    assert_int_equal(hf_permits_acquire(b, "L", 1, HF_ACQUIRE(.ttl_ms = 30000), &one), HF_OK);
    raw_do(&server, "DECR L");
    raw_do(&server, "ZADD {L}:timeout 922337203685477 %b", ID, sizeof ID);
    taker_start(&taker, b, "L", HF_ACQUIRE(.mode = HF_PERMITS, .permits = 3, .ttl_ms = 30000));
    /* Each client tells of its own, a while later. */
    AWAIT((lock = inspect(b, "L")).waiters == 1 && strcmp(lock.holder.label, "why") == 0 &&
          strcmp(holder(1).owner, owner_of(one)) == 0);
    assert_string_equal(lock.kind, "permits");
    assert_string_equal(lock.state, "held");
    assert_int_equal(lock.holders, 3);
    assert_int_equal(lock.available, 1);
    assert_string_equal(lock.holder.owner, owner_of(two));
    assert_int_equal(lock.holder.count, 2);
    assert_int_equal(lock.holder.pid, getpid());
    assert_in_range(lock.holder.remaining_ms, 1, 30000);
    assert_string_equal(holder(1).owner, owner_of(one));
    assert_int_equal(holder(1).count, 1);
    assert_string_equal(holder(2).owner, HEX);
    assert_int_equal(holder(2).remaining_ms, -1); /* for ever */
    assert_string_equal(listed(a, "*"), "L:permits:held");

    assert_int_equal(hf_break(b, "L", JAVA ":7"), HF_ERR_CHANGED);
    assert_int_equal(hf_break(b, "L", HEX), HF_OK);
    assert_string_equal(raw_text(&server, "GET L"), "2");
    assert_false(taker_done(&taker));
    assert_int_equal(hf_break(b, "L", owner_of(two)), HF_OK); /* both of them come back */
    assert_int_equal(taker_join(&taker), HF_OK);
    AWAIT(is_lost(two));
    assert_int_equal(hf_hold_state(one), HF_HELD);
    assert_string_equal(raw_text(&server, "GET L"), "1");
    assert_int_equal(hf_release(two), HF_ERR_LOST);
    assert_string_equal(raw_text(&server, "GET L"), "1"); /* not given back a second time */
    give(one);
    give(taker.hold);
    assert_int_equal(hf_break(b, "L", HEX), HF_ERR_NOT_FOUND);
    hf_close(a);
    hf_close(b);
}

/* What has run out is nobody's, and available. */
static void expired_permits(void **state)
{
    hf_client *a = client_open();
    struct hf_lock lock;

    (void)state;
    raw_do(&server, "SET L 2");
    raw_do(&server, "ZADD {L}:timeout %lld aaaaaaaaaaaaaaaa %lld bbbbbbbbbbbbbbbb", server_ms() - 1,
           server_ms() + 100000);
    lock = inspect(a, "L");
    assert_int_equal(lock.holders, 1);
    assert_int_equal(lock.available, 3);
    raw_do(&server, "ZADD {L}:timeout 1 bbbbbbbbbbbbbbbb");
    lock = inspect(a, "L");
    assert_string_equal(lock.state, "free");
    assert_string_equal(lock.kind, "permits");
    assert_int_equal(lock.available, 4);
    assert_string_equal(listed(a, NULL), "L:permits:free");
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Numbers
 */

static void *wait_for_semaphore(void *arg)
{
    return (void *)(intptr_t)hf_semaphore_acquire(arg, "s", 2, NULL);
}

static void *wait_for_more(void *arg)
{
    return (void *)(intptr_t)hf_semaphore_acquire(arg, "s", 5, NULL);
}

static void *wait_for_latch(void *arg)
{
    return (void *)(intptr_t)hf_latch_await(arg, "l", NULL);
}

/* A number is in a list when somebody waits for it; asked for by name it may be a semaphore. */
static void numbers(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    pthread_t thread[3];
    struct hf_lock lock;
    void *error;

    (void)state;
    raw_do(&server, "SET s 1");
    raw_do(&server, "SET l 1");
    raw_do(&server, "SET visits 77");
    raw_do(&server, "SET text 7a");
    raw_do(&server, "SET large 123456789012345678901234567890");
    assert_string_equal(listed(a, NULL), "");
    lock = inspect(a, "visits");
    assert_string_equal(lock.kind, "semaphore");
    assert_string_equal(lock.state, "free");
    assert_int_equal(lock.available, 77);
    assert_int_equal(lock.waiters, 0);
    assert_int_equal(hf_inspect(a, "text", &(hf_list *){ NULL }), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_inspect(a, "large", &(hf_list *){ NULL }), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_break(a, "visits", JAVA ":1"), HF_ERR_NOT_FOUND);

    pthread_create(&thread[0], NULL, wait_for_semaphore, b);
    pthread_create(&thread[1], NULL, wait_for_latch, b);
    pthread_create(&thread[2], NULL, wait_for_more, b);
    AWAIT(strcmp(listed(a, NULL), "l:latch:free s:semaphore:free") == 0);
    AWAIT((lock = inspect(a, "l")).waiters == 1 && has_waiter(0) &&
          strcmp(lock.kind, "latch") == 0);
    assert_int_equal(lock.available, 1);
    assert_int_equal(waiter(0).pid, getpid());
    AWAIT((lock = inspect(a, "s")).waiters == 1 && has_waiter(1));
    assert_string_equal(lock.kind, "semaphore"); /* one process, and two numbers of permits */
    assert_int_equal(lock.available, 1);
    assert_string_equal(listed(a, "l*"), "l:latch:free");
    assert_int_equal(hf_semaphore_release(a, "s", 9), HF_OK);
    assert_int_equal(hf_latch_down(a, "l", NULL), HF_OK);
    for (int i = 0; i < 3; i++) {
        pthread_join(thread[i], &error);
        assert_int_equal((int)(intptr_t)error, HF_OK);
    }
    hf_close(a);
    hf_close(b);
}

/* Redisson's waiters say by their channel what a number is. */
static void numbers_that_others_wait_for(void **state)
{
    static const char *const CHANNELS[] = { "redisson_sc:{s}", "redisson_sc:x{t}",
                                            "redisson_countdownlatch__channel__{l}",
                                            "redisson_countdownlatch__channel__{y{t}}",
                                            "redisson_sc:{no}" };
    hf_client *a = client_open();
    redisContext *raw = raw_open(&server);

    (void)state;
    raw_do(&server, "MSET s 1 x{t} 2 l 3 y{t} 4 other 5");
    for (size_t i = 0; i < sizeof CHANNELS / sizeof CHANNELS[0]; i++) {
        raw_send(raw, "SUBSCRIBE %s", CHANNELS[i]);
        freeReplyObject(raw_next(raw, PATIENCE_MS));
    }
    assert_string_equal(listed(a, NULL),
                        "l:latch:free s:semaphore:free x{t}:semaphore:free y{t}:latch:free");
    assert_int_equal(inspect(a, "y{t}").available, 4);
    assert_int_equal(inspect(a, "y{t}").waiters, 1);
    redisFree(raw);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * One name in several ways
 */

/* A process that holds a name in one way and waits for it in another says both. */
static void several_ways(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "L", HF_ACQUIRE(.ttl_ms = 30000, .label = "first"));
    struct taker reader, writer, fenced;
    struct hf_lock lock;

    (void)state;
    taker_start(&reader, a, "L", MODE(HF_SHARED));
    taker_start(&writer, b, "L", MODE(HF_WRITE));
    taker_start(&fenced, b, "L", MODE(HF_FENCED));
    AWAIT(raw_integer(&server, "HEXISTS holdfast:client:%s wait/read:L", hf_client_id(a)) == 1 &&
          raw_integer(&server, "HEXISTS holdfast:client:%s hold:L", hf_client_id(a)) == 1 &&
          raw_integer(&server, "HEXISTS holdfast:client:%s wait/write:L", hf_client_id(b)) == 1 &&
          raw_integer(&server, "HEXISTS holdfast:client:%s wait/fenced:L", hf_client_id(b)) == 1);
    lock = inspect(b, "L");
    assert_string_equal(lock.kind, "mutex");
    assert_string_equal(lock.holder.label, "first");
    assert_int_equal(lock.waiters, 2); /* processes */
    give(hold);
    AWAIT(taker_done(&reader) || taker_done(&writer) || taker_done(&fenced));
    while (!taker_done(&reader) || !taker_done(&writer) || !taker_done(&fenced)) {
        struct taker *const all[] = { &reader, &writer, &fenced };

        for (int i = 0; i < 3; i++) {
            if (!taker_done(all[i]) || !all[i]->hold)
                continue;
            give(all[i]->hold);
            all[i]->hold = NULL;
        }
        nap_ms(1);
    }
    assert_int_equal(taker_join(&reader), HF_OK);
    assert_int_equal(taker_join(&writer), HF_OK);
    assert_int_equal(taker_join(&fenced), HF_OK);
    hf_release(reader.hold);
    hf_release(writer.hold);
    hf_release(fenced.hold);
    hf_close(a);
    hf_close(b);
}

static void a_list_of_all(void **state)
{
    hf_client *a = client_open();
    hf_hold *hold[6];
    hf_hold *taken = NULL;

    (void)state;
    raw_do(&server, "SET permits 3");
    hold[0] = take(a, "mutex", MODE(HF_EXCLUSIVE));
    hold[1] = take(a, "fenced", MODE(HF_FENCED));
    hold[2] = take(a, "fair", MODE(HF_FAIR));
    hold[3] = take(a, "read{x}", MODE(HF_SHARED));
    hold[4] = take(a, "write", MODE(HF_WRITE));
    hold[5] = take(a, "spin", MODE(HF_SPIN));
    assert_int_equal(hf_permits_acquire(a, "permits", 1, NULL, &taken), HF_OK);
    AWAIT(strcmp(listed(a, NULL), "fair:fair:held fenced:mutex:held mutex:mutex:held "
                                  "permits:permits:held read{x}:read:held spin:mutex:held "
                                  "write:write:held") == 0);
    assert_string_equal(listed(a, "p*"), "permits:permits:held");
    for (int i = 0; i < 6; i++)
        give(hold[i]);
    give(taken);
    AWAIT(strcmp(listed(a, NULL), "") == 0);
    hf_close(a);
}

/* What belongs to a lock may be something else: it is looked at all the same, and nobody is told of an error. */
static void what_lies_beside(void **state)
{
    hf_client *a = client_open();

    (void)state;
    raw_do(&server, "HSET L " FOREIGN " 1");
    raw_do(&server, "SET redisson_lock_queue:{L} text");
    raw_do(&server, "SET n 5");
    raw_do(&server, "SET {n}:timeout text");
    raw_do(&server, "RPUSH redisson_lock_queue:{M} " FOREIGN);
    raw_do(&server, "SET redisson_lock_timeout:{M} text");
    raw_do(&server, "HSET R mode read " FOREIGN " 1");
    raw_do(&server, "HSET {R}:" FOREIGN ":rwlock_timeout:1 a b");
    raw_do(&server, "HSET W mode write");
    raw_do(&server, "HSET own mode read size 1000000000 {own}:size:rwlock_timeout:1 1");
    raw_do(
        &server, "EVAL %s 0",
        "redis.call('HSET', 'big', 'mode', 'read') for i = 1, 20000 do redis.call('HSET', 'big', "
        "'" FOREIGN "' .. i, 1000000000) end");
    assert_string_equal(listed(a, NULL), "L:mutex:held");
    assert_string_equal(inspect(a, "L").kind, "mutex");
    assert_string_equal(inspect(a, "n").kind, "semaphore");
    assert_int_equal(hf_inspect(a, "M", &(hf_list *){ NULL }), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_inspect(a, "R", &(hf_list *){ NULL }), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_inspect(a, "W", &(hf_list *){ NULL }), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_inspect(a, "own", &(hf_list *){ NULL }), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_inspect(a, "big", &(hf_list *){ NULL }), HF_ERR_NOT_FOUND);
    hf_close(a);
}

/* The rights that docs/stores/redis.md names for it are enough. */
static void rights(void **state)
{
    hf_client *a = client_open(), *b;
    hf_hold *held[3], *taken = NULL;
    char uri[64];

    (void)state;
    raw_do(&server,
           "ACL SETUSER people on >secret ~* resetchannels &redisson_* "
           "&holdfast:client:* -@all +@connection +evalsha +eval +info +publish +type +time "
           "+pttl +get +strlen +hget +hlen +hgetall +hdel +hset +del +exists +pexpire "
           "+lindex +lrange +llen +lpos +lrem +zscore +zcard +zcount +zrangebyscore +zrem "
           "+zadd +zincrby +incrby +scan +pubsub");
    snprintf(uri, sizeof uri, "redis://people:secret@127.0.0.1:%d/", server.port);
    b = client_of(uri, NULL);
    raw_do(&server, "SET permits 3");
    held[0] = take(a, "L", MODE(HF_FAIR));
    held[1] = take(a, "R", MODE(HF_SHARED));
    held[2] = take(a, "W", MODE(HF_WRITE));
    assert_int_equal(hf_permits_acquire(a, "permits", 2, NULL, &taken), HF_OK);
    AWAIT(strcmp(listed(b, NULL), "L:fair:held R:read:held W:write:held permits:permits:held") ==
          0);
    assert_int_equal(inspect(b, "permits").available, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hf_break(b, hf_hold_name(held[i]), owner_of(held[i])), HF_OK);
        AWAIT(is_lost(held[i]));
        hf_release(held[i]);
    }
    assert_int_equal(hf_break(b, "permits", owner_of(taken)), HF_OK);
    AWAIT(is_lost(taken));
    hf_release(taken);
    hf_close(a);
    hf_close(b);
    raw_do(&server, "ACL DELUSER people");
}

#define PEOPLE(f) cmocka_unit_test_setup_teardown(f, test_begin, end)

static const struct CMUnitTest TESTS[] = {
    PEOPLE(readers),          PEOPLE(many_readers),
    PEOPLE(a_writer),         PEOPLE(javas_writer),
    PEOPLE(a_fair_lock),      PEOPLE(a_free_queue),
    PEOPLE(permits),          PEOPLE(expired_permits),
    PEOPLE(numbers),          PEOPLE(numbers_that_others_wait_for),
    PEOPLE(several_ways),     PEOPLE(a_list_of_all),
    PEOPLE(what_lies_beside), PEOPLE(rights),
};

TESTS_MAIN("redis people", TESTS)
