/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies on the server and what is said there, byte for byte: Redisson's RLock (the fields, the ttl, the
 * channel, the payload), waiting for its owners, being waited for by them; and what is ours alone.
 */
#include "redis/support.h"

#include <pthread.h>
#include <sys/socket.h>

#define LONG HF_ACQUIRE(.ttl_ms = 30000)

/* Wake-ups, not polls, must do it. */
#define RARELY TRACED(.poll_ms = 60000)

static bool is_uuid(const char *text)
{
    for (int i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? text[i] != '-' : !strchr("0123456789abcdef", text[i]))
            return false;
    }
    return true;
}

static void a_key(const char *name)
{
    hf_client *a = client_open();
    hf_hold *hold = take(a, name, HF_ACQUIRE(.ttl_ms = 20000));
    redisReply *reply;
    const char *owner;
    char ours[HF_OWNER_MAX + 1];

    assert_string_equal(raw_text(&server, "TYPE %s", name), "hash");
    reply = raw_reply(&server, "HGETALL %s", name);
    assert_int_equal(reply->elements, 2);
    owner = reply->element[0]->str;
    assert_true(is_uuid(owner));
    assert_int_equal(owner[36], ':');
    assert_int_equal(strspn(owner + 37, "0123456789"), strlen(owner) - 37);
    assert_in_range(strlen(owner) - 37, 1, 20);
    hf_hold_owner(hold, ours, sizeof ours);
    assert_string_equal(owner, ours);
    assert_string_equal(reply->element[1]->str, "1");
    freeReplyObject(reply);
    assert_in_range(raw_integer(&server, "PTTL %s", name), 19000, 20000);
    assert_int_equal(server_count_keys(&server), 1);
    give(hold);
    assert_int_equal(raw_integer(&server, "EXISTS %s", name), 0);
    hf_close(a);
}

static void keys(void **state)
{
    (void)state;
    a_key("lock");
    a_key("order:{42}:x");
    a_key("{}");
    a_key("a{b");
    a_key("a b\"'\\*?[]");
}

static void expect_message(redisContext *raw, const char *channel, const char *payload)
{
    redisReply *reply = raw_next(raw, PATIENCE_MS);

    assert_non_null(reply);
    assert_int_equal(reply->elements, 3);
    assert_string_equal(reply->element[0]->str, "message");
    assert_string_equal(reply->element[1]->str, channel);
    assert_string_equal(reply->element[2]->str, payload);
    freeReplyObject(reply);
}

static void listen_to(redisContext *raw, const char *channel)
{
    raw_send(raw, "SUBSCRIBE %s", channel);
    freeReplyObject(raw_next(raw, PATIENCE_MS));
}

static void messages(void **state)
{
    hf_client *a = client_open();
    redisContext *raw = raw_open(&server);

    (void)state;
    listen_to(raw, "redisson_lock__channel:{lock}");
    listen_to(raw, "redisson_lock__channel:a{b}c");
    give(take(a, "lock", LONG));
    expect_message(raw, "redisson_lock__channel:{lock}", "0");
    give(take(a, "a{b}c", LONG));
    expect_message(raw, "redisson_lock__channel:a{b}c", "0");
    assert_null(raw_next(raw, 1));
    redisFree(raw);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Beside owners of another make
 */

static void waits_for_a_foreign_owner(void **state)
{
    static const char *const NAMES[] = { "lock", "a{b}c" };
    hf_client *a = client_open_with(RARELY);
    hf_hold *none = NULL;
    struct taker taker;

    (void)state;
    for (int i = 0; i < 2; i++) {
        int64_t start;

        foreign_take(NAMES[i], 30000);
        assert_int_equal(hf_acquire(a, NAMES[i], HF_ACQUIRE(.wait_ms = HF_TRY_ONCE), &none),
                         HF_ERR_BUSY);
        taker_start(&taker, a, NAMES[i], LONG);
        AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_lock__channel:*") == 1);
        nap_ms(20);
        assert_false(taker_done(&taker));
        start = now_ms();
        assert_int_equal(foreign_give(NAMES[i]), 1);
        assert_int_equal(taker_join(&taker), HF_OK);
        assert_true(now_ms() - start < 5000);
        give(taker.hold);
        AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_lock__channel:*") == 0);
    }
    hf_close(a);
}

static atomic_long tarry_ms;
static pthread_t main_thread;

#if !TEST_SANITIZED
/* This program stands in for send(), for the library too: other threads come back late from it. */
__attribute__((visibility("default"))) ssize_t send(int fd, const void *bytes, size_t count,
                                                    int flags)
{
    ssize_t sent = sendto(fd, bytes, count, flags, NULL, 0);

    if (!pthread_equal(pthread_self(), main_thread))
        nap_ms(atomic_load(&tarry_ms));
    return sent;
}
#endif

/* The last that a client sends has arrived before the thread that sent it goes on: the end comes in between. */
static void ends_as_it_sends(void **state)
{
    hf_client *a = client_open_with(RARELY);
    struct taker taker;

    (void)state;
    main_thread = pthread_self();
    foreign_take("lock", 30000);
    taker_start(&taker, a, "lock", LONG);
    AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_lock__channel:*") == 1);
    assert_int_equal(foreign_give("lock"), 1);
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    atomic_store(&tarry_ms, 200);
    AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_lock__channel:*") == 0);
    hf_close(a);
    atomic_store(&tarry_ms, 0);
}

/* The owner dies: nobody says anything, and the key runs out. */
static void outlives_a_foreign_owner(void **state)
{
    hf_client *a = client_open_with(RARELY);
    struct taker taker;
    int64_t start = now_ms();

    (void)state;
    foreign_take("lock", 700);
    taker_start(&taker, a, "lock", LONG);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_in_range(now_ms() - start, 690, 3000);
    give(taker.hold);
    hf_close(a);
}

/* Entered several times there: it is theirs until the count is gone. */
static void a_foreign_count(void **state)
{
    hf_client *a = client_open();
    const struct hf_holder *holder;

    (void)state;
    foreign_take("lock", 30000);
    raw_do(&server, "HINCRBY lock " FOREIGN " 2");
    assert_int_equal(try_once(a, "lock"), HF_ERR_BUSY);
    holder = holder_of(a, "lock");
    assert_string_equal(holder->owner, FOREIGN);
    assert_int_equal(holder->count, 3);
    assert_int_equal(holder->pid, -1);
    assert_int_equal(holder->age_ms, -1);
    assert_string_equal(holder->host, "");
    assert_int_equal(holder->token, 0);
    assert_in_range(holder->remaining_ms, 1, 30000);
    assert_int_equal(hf_break(a, "lock", FOREIGN), HF_OK);
    assert_int_equal(try_once(a, "lock"), HF_OK);
    hf_close(a);
}

/* A lock without a ttl (PERSIST by hand) is busy, and is looked at again once in a while. */
static void without_a_ttl(void **state)
{
    hf_client *a = client_open_with(TRACED(.poll_ms = 100));
    struct taker taker;

    (void)state;
    raw_do(&server, "HSET lock " FOREIGN " 1");
    assert_int_equal(try_once(a, "lock"), HF_ERR_BUSY);
    assert_int_equal(holder_of(a, "lock")->remaining_ms, -1);
    taker_start(&taker, a, "lock", LONG);
    AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_lock__channel:*") == 1);
    raw_do(&server, "DEL lock"); /* and says nothing */
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    hf_close(a);
}

/* One that waits as Redisson does: by its script, a subscription, and the script again when told. */
static void is_waited_for(void **state)
{
    static const char TRY[] =
        "if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 "
        "then "
        "redis.call('hincrby', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1]) "
        "return nil end return redis.call('pttl', KEYS[1])";
    hf_client *a = client_open();
    hf_hold *hold = take(a, "lock", LONG);
    redisContext *raw = raw_open(&server);
    redisReply *reply;

    (void)state;
    reply = raw_reply(&server, "EVAL %s 1 lock 30000 " FOREIGN, TRY);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    assert_in_range(reply->integer, 1, 30000);
    freeReplyObject(reply);
    listen_to(raw, "redisson_lock__channel:{lock}");
    give(hold);
    expect_message(raw, "redisson_lock__channel:{lock}", "0");
    reply = raw_reply(&server, "EVAL %s 1 lock 30000 " FOREIGN, TRY);
    assert_int_equal(reply->type, REDIS_REPLY_NIL);
    freeReplyObject(reply);
    assert_int_equal(try_once(a, "lock"), HF_ERR_BUSY);
    assert_int_equal(foreign_give("lock"), 1);
    assert_int_equal(try_once(a, "lock"), HF_OK);
    redisFree(raw);
    hf_close(a);
}

/* A read-write lock of that name: busy, and its own channel tells. */
static void a_read_write_lock(void **state)
{
    hf_client *a = client_open_with(RARELY);
    hf_hold *none = NULL;
    struct hf_lock lock = { .size = sizeof lock };
    hf_list *list = NULL;
    struct taker taker;
    int64_t start;

    (void)state;
    raw_do(&server, "HSET lock mode write " FOREIGN ":write 1");
    raw_do(&server, "PEXPIRE lock 30000");
    assert_int_equal(hf_acquire(a, "lock", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE), &none), HF_ERR_BUSY);
    assert_int_equal(hf_inspect(a, "lock", &list), HF_OK);
    assert_int_equal(hf_list_get(list, 0, &lock), HF_OK);
    assert_string_equal(lock.state, "held");
    assert_string_equal(lock.kind, "write");
    assert_string_equal(lock.holder.owner, FOREIGN);
    hf_list_free(list);
    taker_start(&taker, a, "lock", LONG);
    AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_rwlock:{lock}") == 1);
    nap_ms(20);
    assert_false(taker_done(&taker));
    start = now_ms();
    raw_do(&server, "DEL lock");
    raw_do(&server, "PUBLISH redisson_rwlock:{lock} 1");
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_true(now_ms() - start < 5000);
    give(taker.hold);
    hf_close(a);
}

static void another_type(void **state)
{
    hf_client *a = client_open();
    hf_hold *none = NULL;
    hf_list *list = NULL;

    (void)state;
    raw_do(&server, "SET lock text");
    assert_int_equal(hf_acquire(a, "lock", NULL, &none), HF_ERR_WRONG_TYPE); /* at once */
    assert_int_equal(hf_classify(HF_ERR_WRONG_TYPE), HF_CLASS_FATAL);
    assert_int_equal(hf_inspect(a, "lock", &list), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_list_locks(a, NULL, &list), HF_OK);
    assert_int_equal(hf_list_count(list), 0);
    hf_list_free(list);
    assert_string_equal(raw_text(&server, "GET lock"), "text"); /* left alone */
    raw_do(&server, "DEL lock");
    raw_do(&server, "RPUSH lock a");
    assert_int_equal(try_once(a, "lock"), HF_ERR_WRONG_TYPE);
    raw_do(&server, "DEL lock");
    assert_int_equal(try_once(a, "lock"), HF_OK);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * Ours alone
 */

static const char *registry_key(const hf_client *client)
{
    static char key[80];

    snprintf(key, sizeof key, "holdfast:client:%s", hf_client_id(client));
    return key;
}

static void a_registry(void **state)
{
    hf_client *a = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 30000, .label = "why not"));
    char expected[512], value[512];
    const char *key = registry_key(a);
    struct taker taker;
    char owner[HF_OWNER_MAX + 1];

    (void)state;
    AWAIT(raw_integer(&server, "EXISTS %s", key) == 1);
    assert_in_range(raw_integer(&server, "PTTL %s", key), 20000, 35000);
    assert_string_equal(raw_text(&server, "HGET %s program", key), "test");
    assert_int_equal(atoi(raw_text(&server, "HGET %s pid", key)), getpid());
    assert_string_equal(raw_text(&server, "HGET %s version", key), HF_VERSION);
    hf_hold_owner(hold, owner, sizeof owner);
    snprintf(expected, sizeof expected, "%s %llu ", owner + 37,
             (unsigned long long)hf_hold_token(hold));
    snprintf(value, sizeof value, "%s", raw_text(&server, "HGET %s hold:lock", key));
    assert_int_equal(strncmp(value, expected, strlen(expected)), 0);
    assert_non_null(strstr(value, " why not"));
    foreign_take("other", 30000);
    taker_start(&taker, a, "other", LONG);
    AWAIT(raw_integer(&server, "HEXISTS %s wait:other", key) == 1);
    assert_int_equal(strncmp(raw_text(&server, "HGET %s wait:other", key), "1 ", 2), 0);
    foreign_give("other");
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    give(hold);
    AWAIT(raw_integer(&server, "HEXISTS %s hold:lock", key) == 0);
    AWAIT(raw_integer(&server, "HEXISTS %s wait:other", key) == 0);
    hf_close(a);
    assert_int_equal(raw_integer(&server, "EXISTS %s", key), 0);
}

/* What lasts only for a moment is never written. */
static void registry_of_short_holds(void **state)
{
    hf_client *a = client_open();

    (void)state;
    for (int i = 0; i < 20; i++)
        give(take(a, "lock", LONG));
    assert_int_equal(raw_integer(&server, "EXISTS %s", registry_key(a)), 0);
    hf_close(a);
}

/* Removed by hand, it comes back with the next heartbeat, and complete. */
static void a_registry_that_is_removed(void **state)
{
    hf_client *a = client_open();
    hf_hold *one = take(a, "one", LONG), *two = take(a, "two", LONG);
    const char *key = registry_key(a);

    (void)state;
    AWAIT(raw_integer(&server, "HEXISTS %s hold:two", key) == 1);
    raw_do(&server, "DEL %s", key);
    AWAIT_MS(raw_integer(&server, "HEXISTS %s hold:one", key) == 1 &&
                 raw_integer(&server, "HEXISTS %s hold:two", key) == 1,
             15000);
    assert_in_range(raw_integer(&server, "PTTL %s", key), 20000, 35000);
    give(one);
    give(two);
    hf_close(a);
}

static void tokens(void **state)
{
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", LONG);
    uint64_t first = hf_hold_token(hold), second;
    redisReply *keys;

    (void)state;
    give(hold);
    keys = raw_reply(&server, "KEYS holdfast:token:*");
    assert_true(keys->elements >= 1);
    assert_int_equal(raw_integer(&server, "PTTL %s", keys->element[0]->str), -1);
    freeReplyObject(keys);
    raw_do(&server, "FLUSHALL"); /* the counter is lost: the clock takes over */
    hold = take(b, "lock", LONG);
    second = hf_hold_token(hold);
    assert_true(second > first);
    give(hold);
    hf_close(a);
    hf_close(b);
}

/* Uncontended, a pair is two commands, and nothing else is sent. */
static void cost_of_a_pair(void **state)
{
    hf_client *a = client_open_with(TRACED(.pass_ms = HF_OFF));
    long long commands;

    (void)state;
    give(take(a, "lock", LONG)); /* connects, and teaches the scripts */
    nap_ms(300);
    raw_do(&server, "CONFIG RESETSTAT");
    for (int i = 0; i < 100; i++)
        give(take(a, "lock", LONG));
    assert_int_equal(raw_calls(&server, "evalsha"), 200);
    assert_int_equal(raw_calls(&server, "eval"), 0);
    commands = atoll(raw_info(&server, "stats", "total_commands_processed"));
    /* each script's own commands count, too: 7 to acquire, 2 to release */
    assert_in_range(commands, 200, 200 + 100 * 9 + 20);
    assert_int_equal(raw_calls(&server, "ping"), 0);
    assert_int_equal(raw_calls(&server, "subscribe"), 0);
    hf_close(a);
}

/* Entering again costs nothing at the server. */
static void cost_of_entering_again(void **state)
{
    hf_client *a = client_open();
    hf_hold *hold = take(a, "lock", LONG);

    (void)state;
    raw_do(&server, "CONFIG RESETSTAT");
    for (int i = 0; i < 100; i++)
        give(take(a, "lock", LONG));
    assert_true(raw_calls(&server, "evalsha") <= 1); /* an announcement, perhaps */
    give(hold);
    hf_close(a);
}

static const struct CMUnitTest TESTS[] = {
    TEST(keys),
    TEST(messages),
    TEST(waits_for_a_foreign_owner),
    TEST(ends_as_it_sends),
    TEST(outlives_a_foreign_owner),
    TEST(a_foreign_count),
    TEST(without_a_ttl),
    TEST(is_waited_for),
    TEST(a_read_write_lock),
    TEST(another_type),
    TEST(a_registry),
    TEST(registry_of_short_holds),
    TEST(a_registry_that_is_removed),
    TEST(tokens),
    TEST(cost_of_a_pair),
    TEST(cost_of_entering_again),
};

TESTS_MAIN("data", TESTS)
