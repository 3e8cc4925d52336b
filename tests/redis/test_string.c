/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that are strings, on a real server, beside owners of another make that set, compare and delete by hand as
 * redis-py and its like do. Everything holds by scripts (redis-server 7) and by the server's own commands (Valkey 9).
 */
#include "redis/support.h"

#define LONG HF_ACQUIRE(.ttl_ms = 30000)

/* What redis-py, and others, draw for an owner. */
#define OTHER "0123456789abcdef0123456789abcdef"

static const char COMPARE_AND_DELETE[] = "if redis.call('get', KEYS[1]) == ARGV[1] then return "
                                         "redis.call('del', KEYS[1]) else return 0 end";

static hf_client *string_client(const struct hf_client_options *options)
{
    char uri[128];
    size_t n;

    server_uri(&server, uri, sizeof uri);
    n = strlen(uri);
    snprintf(uri + n, sizeof uri - n, "?layout=string");
    return client_of(uri, options ? options : TRACED(.program = "test"));
}

static void other_takes(const char *name, long ttl_ms)
{
    redisReply *reply = raw_reply(&server, "SET %s " OTHER " NX PX %ld", name, ttl_ms);

    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
}

static long long other_gives(const char *name)
{
    return raw_integer(&server, "EVAL %s 1 %s " OTHER, COMPARE_AND_DELETE, name);
}

/* Has the server commands that compare and delete? */
static bool compares(void)
{
    redisReply *reply = raw_reply(&server, "COMMAND INFO DELIFEQ DELEX");
    bool has = false;

    for (size_t i = 0; i < reply->elements; i++)
        has |= reply->element[i]->type == REDIS_REPLY_ARRAY;
    freeReplyObject(reply);
    return has;
}

/* ------------------------------------------------------------------------------------------------
 * What lies there
 */

static void a_key(const char *name)
{
    hf_client *a = string_client(NULL);
    hf_hold *hold = take(a, name, HF_ACQUIRE(.ttl_ms = 20000));
    char owner[HF_OWNER_MAX + 1];

    hf_hold_owner(hold, owner, sizeof owner);
    assert_string_equal(raw_text(&server, "GET %s", name), owner);
    assert_in_range(raw_integer(&server, "PTTL %s", name), 19000, 20000);
    assert_int_equal(server_count_keys(&server), 1);
    assert_int_equal(hf_hold_verify(hold), HF_OK);
    give(hold);
    assert_int_equal(raw_integer(&server, "EXISTS %s", name), 0);
    hf_close(a);
}

static void keys(void **state)
{
    (void)state;
    a_key("lock");
    a_key("order:{42}:x");
    a_key("a{b");
    a_key("a b\"'\\*?[]");
}

/* A pair: a script to acquire, and to release a script or the server's own command and a message. */
static void cost_of_a_pair(void **state)
{
    hf_client *a = string_client(TRACED(.pass_ms = HF_OFF));
    bool own = compares();

    (void)state;
    give(take(a, "lock", LONG));
    nap_ms(300);
    raw_do(&server, "CONFIG RESETSTAT");
    for (int i = 0; i < 100; i++)
        give(take(a, "lock", LONG));
    assert_int_equal(raw_calls(&server, "evalsha"), own ? 100 : 200);
    assert_int_equal(raw_calls(&server, "delifeq") + raw_calls(&server, "delex"), own ? 100 : 0);
    assert_int_equal(raw_calls(&server, "publish"), 100);
    assert_int_equal(raw_calls(&server, "del"), own ? 0 : 100);
    hf_close(a);
}

/* Renewed for as long as it is held, by the server's own command where it has one. */
static void renewed(void **state)
{
    hf_client *a = string_client(NULL);
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 1500));
    bool own = compares();

    (void)state;
    raw_do(&server, "CONFIG RESETSTAT");
    for (int i = 0; i < 30; i++) {
        nap_ms(100);
        assert_in_range(raw_integer(&server, "PTTL lock"), 50, 1500);
        assert_int_equal(hf_hold_state(hold), HF_HELD);
    }
    assert_int_equal(raw_calls(&server, "set") > 0, own);
    assert_int_equal(raw_calls(&server, "pexpire") > 3, !own); /* and of the registry */
    give(hold);
    hf_close(a);
}

static void tokens_grow(void **state)
{
    hf_client *a = string_client(NULL), *b = string_client(NULL), *c = client_open();
    uint64_t last = 0;

    (void)state;
    for (int i = 0; i < 30; i++) {
        hf_hold *hold;

        if (i % 3 == 0) {
            other_takes("lock", 30000);
            assert_int_equal(try_once(a, "lock"), HF_ERR_BUSY);
            assert_int_equal(other_gives("lock"), 1);
        }
        hold = take(i % 3 == 1   ? a
                    : i % 3 == 2 ? b
                                 : c,
                    "lock", LONG); /* c's has the other layout */
        assert_true(hf_hold_token(hold) > last);
        last = hf_hold_token(hold);
        give(hold);
    }
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

/* ------------------------------------------------------------------------------------------------
 * Beside owners of another make
 */

/* They publish nothing: we look again, ten times a second. */
static void waits_for_another_make(void **state)
{
    hf_client *a = string_client(TRACED(.poll_ms = 60000));
    struct taker taker;
    int64_t start;

    (void)state;
    for (int i = 0; i < 2; i++) { /* with a ttl, and without */
        other_takes("lock", 30000);
        if (i)
            raw_do(&server, "PERSIST lock");
        assert_int_equal(try_once(a, "lock"), HF_ERR_BUSY);
        taker_start(&taker, a, "lock", LONG);
        nap_ms(350);
        assert_false(taker_done(&taker));
        start = now_ms();
        assert_int_equal(other_gives("lock"), 1);
        assert_int_equal(taker_join(&taker), HF_OK);
        assert_true(now_ms() - start < 2000); /* 100 ms, and what a busy machine adds */
        give(taker.hold);
    }
    hf_close(a);
}

/* About ten times a second, not more, however many threads wait. */
static void looks_again_seldom(void **state)
{
    hf_client *a = string_client(TRACED(.poll_ms = 60000));
    struct taker taker[4];
    long long calls;

    (void)state;
    other_takes("lock", 30000);
    for (int i = 0; i < 4; i++)
        taker_start(&taker[i], a, "lock", LONG);
    nap_ms(300);
    raw_do(&server, "CONFIG RESETSTAT");
    nap_ms(2000);
    calls = raw_calls(&server, "evalsha");
    assert_in_range(calls, 5, 30);
    assert_int_equal(other_gives("lock"), 1);
    for (int left = 4; left > 0; nap_ms(1)) {
        for (int i = 0; i < 4; i++) {
            if (!taker[i].client || !taker_done(&taker[i]))
                continue;
            assert_int_equal(taker_join(&taker[i]), HF_OK);
            give(taker[i].hold);
            taker[i].client = NULL;
            left--;
        }
    }
    hf_close(a);
}

static void outlives_another_make(void **state)
{
    hf_client *a = string_client(TRACED(.poll_ms = 60000));
    struct taker taker;
    int64_t start = now_ms();

    (void)state;
    other_takes("lock", 700);
    taker_start(&taker, a, "lock", LONG);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_in_range(now_ms() - start, 690, 3000);
    give(taker.hold);
    hf_close(a);
}

/* Among ourselves nobody polls: a release is told. */
static void waits_for_one_of_ours(void **state)
{
    hf_client *a = string_client(TRACED(.poll_ms = 60000)),
              *b = string_client(TRACED(.poll_ms = 60000));
    struct taker taker;

    (void)state;
    for (int i = 0; i < 5; i++) {
        hf_hold *hold = take(a, "lock", LONG);
        int64_t start;

        taker_start(&taker, b, "lock", LONG);
        AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_lock__channel:{lock}") == 1);
        nap_ms(i == 0 ? 700 : 20); /* what is announced is announced by then */
        raw_do(&server, "CONFIG RESETSTAT");
        nap_ms(i == 0 ? 700 : 0);
        assert_true(raw_calls(&server, "evalsha") <= 2);
        start = now_ms();
        give(hold);
        assert_int_equal(taker_join(&taker), HF_OK);
        assert_true(now_ms() - start < 5000);
        give(taker.hold);
    }
    hf_close(a);
    hf_close(b);
}

/* Neither takes away what is the other's. */
static void each_its_own(void **state)
{
    hf_client *a = string_client(NULL);
    hf_hold *hold = take(a, "lock", LONG);
    char owner[HF_OWNER_MAX + 1];

    (void)state;
    hf_hold_owner(hold, owner, sizeof owner);
    assert_int_equal(other_gives("lock"), 0);
    assert_string_equal(raw_text(&server, "GET lock"), owner);
    raw_do(&server, "SET lock " OTHER " PX 30000"); /* as if ours had run out meanwhile */
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_string_equal(raw_text(&server, "GET lock"), OTHER);
    assert_in_range(raw_integer(&server, "PTTL lock"), 20000, 30000);
    assert_int_equal(other_gives("lock"), 1);
    hf_close(a);
}

/* A renewal, too, finds out, and prolongs nothing. */
static void renewal_of_what_was_lost(void **state)
{
    hf_client *a = string_client(NULL);
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 2400)),
            *other = take(a, "other", HF_ACQUIRE(.ttl_ms = 2400)),
            *third = take(a, "third", HF_ACQUIRE(.ttl_ms = 2400));

    (void)state;
    raw_do(&server, "SET lock " OTHER " PX 20000");
    raw_do(&server, "DEL third");
    raw_do(&server, "RPUSH third x");
    AWAIT(hf_hold_state(hold) == HF_LOST && hf_hold_state(third) == HF_LOST);
    assert_int_equal(hf_hold_verify(hold), HF_ERR_LOST);
    nap_ms(1000);
    assert_in_range(raw_integer(&server, "PTTL lock"), 15000, 19999);
    assert_int_equal(hf_hold_verify(other), HF_OK); /* one bad key does not spoil the others */
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_int_equal(hf_release(third), HF_ERR_LOST);
    assert_string_equal(raw_text(&server, "GET lock"), OTHER);
    assert_string_equal(raw_text(&server, "TYPE third"), "list");
    raw_do(&server, "DEL lock third");
    give(other);
    hf_close(a);
}

/* Waiters of python-redis-lock block on a list. One that is late finds no old news for long. */
static void wakes_python_redis_lock(void **state)
{
    hf_client *a = string_client(NULL), *b = string_client(NULL);
    redisContext *raw = raw_open(&server);
    hf_hold *hold = take(a, "lock:job", LONG);
    char owner[HF_OWNER_MAX + 1];
    redisReply *reply;

    (void)state;
    raw_send(raw, "BLPOP lock-signal:job 30");
    nap_ms(50);
    give(hold);
    reply = raw_next(raw, PATIENCE_MS);
    assert_non_null(reply);
    assert_string_equal(reply->element[0]->str, "lock-signal:job");
    freeReplyObject(reply);
    give(take(a, "lock:job", LONG)); /* nobody takes this one */
    assert_int_equal(raw_integer(&server, "LLEN lock-signal:job"), 1);
    assert_in_range(raw_integer(&server, "PTTL lock-signal:job"), 1, 1000);
    give(take(a, "lock:job", LONG));
    assert_int_equal(raw_integer(&server, "LLEN lock-signal:job"), 1);
    raw_send(raw, "BLPOP lock-signal:job 1");
    freeReplyObject(raw_next(raw, PATIENCE_MS));
    hold = take(a, "lock:job", LONG);
    hf_hold_owner(hold, owner, sizeof owner);
    raw_send(raw, "BLPOP lock-signal:job 30");
    nap_ms(50);
    assert_int_equal(hf_break(b, "lock:job", owner), HF_OK);
    reply = raw_next(raw, PATIENCE_MS);
    assert_non_null(reply);
    freeReplyObject(reply);
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_int_equal(raw_integer(&server, "EXISTS lock-signal:job"), 0); /* not by what is lost */
    redisFree(raw);
    hf_close(a);
    hf_close(b);
}

/* ------------------------------------------------------------------------------------------------
 * Something else in its place
 */

/* A lock of Redisson's is waited for, and tells of its release. */
static void a_lock_of_redissons(void **state)
{
    hf_client *a = string_client(TRACED(.poll_ms = 60000));
    struct taker taker;
    struct hf_lock lock = { .size = sizeof lock };
    hf_list *list = NULL;
    int64_t start;

    (void)state;
    foreign_take("lock", 30000);
    assert_int_equal(try_once(a, "lock"), HF_ERR_BUSY);
    assert_int_equal(hf_inspect(a, "lock", &list), HF_OK);
    assert_int_equal(hf_list_get(list, 0, &lock), HF_OK);
    assert_string_equal(lock.holder.owner, FOREIGN);
    hf_list_free(list);
    assert_int_equal(hf_break(a, "lock", FOREIGN), HF_ERR_UNSUPPORTED);
    taker_start(&taker, a, "lock", LONG);
    AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_lock__channel:{lock}") == 1);
    nap_ms(20);
    assert_false(taker_done(&taker));
    start = now_ms();
    assert_int_equal(foreign_give("lock"), 1);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_true(now_ms() - start < 5000);
    assert_string_equal(raw_text(&server, "TYPE lock"), "string");
    give(taker.hold);
    hf_close(a);
}

static void another_type(void **state)
{
    hf_client *a = string_client(NULL), *b = client_open();
    hf_hold *none = NULL, *hold;
    hf_list *list = NULL;

    (void)state;
    raw_do(&server, "RPUSH lock a");
    assert_int_equal(hf_acquire(a, "lock", NULL, &none), HF_ERR_WRONG_TYPE); /* at once */
    assert_non_null(strstr(hf_last_error(), "WRONGTYPE"));
    assert_int_equal(hf_inspect(a, "lock", &list), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_break(a, "lock", OTHER), HF_ERR_UNSUPPORTED);
    assert_int_equal(raw_integer(&server, "LLEN lock"), 1); /* left alone */
    raw_do(&server, "DEL lock");
    hold = take(a, "lock", LONG);
    assert_int_equal(hf_acquire(b, "lock", NULL, &none), HF_ERR_WRONG_TYPE);
    assert_non_null(strstr(hf_last_error(), "layout=string"));
    give(hold);
    hf_close(a);
    hf_close(b);
}

static void other_kinds(void **state)
{
    hf_client *a = string_client(NULL);
    hf_hold *hold = NULL;

    (void)state;
    assert_int_equal(hf_fair_acquire(a, "lock", NULL, &hold), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_shared_acquire(a, "lock", NULL, &hold), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_fenced_acquire(a, "lock", NULL, &hold), HF_ERR_UNSUPPORTED);
    assert_int_equal(hf_spin_acquire(a, "lock", LONG, &hold), HF_OK);
    assert_string_equal(raw_text(&server, "TYPE lock"), "string");
    give(hold);
    hf_close(a);
}

/* ------------------------------------------------------------------------------------------------
 * A server that refuses
 */

/* SET is refused without memory; what is held is renewed all the same, and given back. */
static void out_of_memory(void **state)
{
    hf_client *a = string_client(NULL);
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 1800)),
            *signalled = take(a, "lock:x", HF_ACQUIRE(.ttl_ms = 1800));
    int64_t until;

    (void)state;
    raw_do(&server, "CONFIG SET maxmemory 1");
    assert_int_equal(try_once(a, "other"), HF_ERR_STORE_FULL);
    for (until = now_ms() + 2500; now_ms() < until; nap_ms(10)) {
        assert_int_not_equal(hf_hold_state(hold), HF_LOST);
        assert_int_not_equal(hf_hold_state(signalled), HF_LOST);
    }
    assert_int_equal(hf_hold_verify(hold), HF_OK);
    give(hold);
    give(signalled);
    assert_int_equal(raw_integer(&server, "EXISTS lock"), 0);
    assert_int_equal(raw_integer(&server, "EXISTS lock:x"), 0);
    raw_do(&server, "CONFIG SET maxmemory 0");
    raw_do(&server, "DEL lock-signal:x");
    hf_close(a);
}

#define RIGHTS                                                                                     \
    " resetkeys resetchannels ~job:* ~redisson_lock__channel:* ~holdfast:* &redisson_*"            \
    " &holdfast:client:* -@all +@connection +evalsha +eval +info +command|info +subscribe"         \
    " +unsubscribe +publish +exists +del +type +ping +time +pttl +pexpire +get +set +hexists"      \
    " +hget +hset +hdel +hlen +hgetall +client|kill"

static void few_rights(const char *more)
{
    char uri[128];
    hf_client *a, *b;
    hf_hold *hold;
    struct taker taker;

    raw_do(&server, "ACL SETUSER few reset on >s3cret" RIGHTS);
    for (; *more; more += strcspn(more, " "), more += *more == ' ') {
        char word[32];

        snprintf(word, sizeof word, "%.*s", (int)strcspn(more, " "), more);
        freeReplyObject(raw_reply(&server, "ACL SETUSER few %s", word)); /* not all know all */
    }
    snprintf(uri, sizeof uri, "redis://few:s3cret@127.0.0.1:%d?layout=string", server.port);
    a = client_of(uri, TRACED());
    b = client_of(uri, TRACED());
    hold = take(a, "job:1", HF_ACQUIRE(.ttl_ms = 1800));
    taker_start(&taker, b, "job:1", LONG);
    nap_ms(900); /* a renewal */
    assert_int_equal(hf_hold_verify(hold), HF_OK);
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
}

/* How many elements a release of a name of python-redis-lock's leaves behind. */
static long long signals_of_few(void)
{
    char uri[128];
    hf_client *a;

    snprintf(uri, sizeof uri, "redis://few:s3cret@127.0.0.1:%d?layout=string", server.port);
    a = client_of(uri, TRACED());
    give(take(a, "lock:1", LONG));
    hf_close(a);
    assert_int_equal(raw_integer(&server, "EXISTS lock:1"), 0);
    return raw_integer(&server, "LLEN lock-signal:1");
}

/* The rights that docs/strings.md names do, whether or not the server's own commands are among them. */
static void a_user_of_few_rights(void **state)
{
    (void)state;
    few_rights("");
    few_rights("-command|info");
    few_rights("+delifeq +delex");
    few_rights("~lock:*");
    assert_int_equal(signals_of_few(), 0); /* the list is denied: it goes without */
    few_rights("~lock:* ~lock-signal:* +lpush");
    assert_int_equal(signals_of_few(), 1);
    raw_do(&server, "DEL lock-signal:1");
    raw_do(&server, "ACL DELUSER few");
}

/* ------------------------------------------------------------------------------------------------
 * For people
 */

static bool lists(hf_client *client, const char *name)
{
    struct hf_lock lock = { .size = sizeof lock };
    hf_list *list = NULL;
    bool found = false;

    assert_int_equal(hf_list_locks(client, NULL, &list), HF_OK);
    for (size_t i = 0; hf_list_get(list, i, &lock) == HF_OK; i++)
        found |= strcmp(lock.name, name) == 0;
    hf_list_free(list);
    return found;
}

/* Strings that hold tokens are listed as locks; others only when they are asked for by name. */
static void people(void **state)
{
    static const char *const TOKENS[] = {
        OTHER,                                      /* redis-py, redlock */
        "0123456789abcdef0123456789abcdef01234567", /* 20 bytes of it */
        "01234567-89ab-4cde-8f01-23456789abcd",
        FOREIGN,
        "n9B4zW8yB2n2kqsQ6sB8AbCd", /* python-redis-lock */
        "n9B4zW8yB2n2kqsQ6sB8Aw==", /* redsync */
    };
    static const char *const TEXTS[] = { "1",
                                         "text",
                                         "1796097170934907",
                                         "{\"a\":1}",
                                         "0123456789abcdef",
                                         "a longer text of a few words",
                                         "" };
    hf_client *a = string_client(NULL), *b = client_open();
    hf_hold *hold = take(a, "ours", HF_ACQUIRE(.label = "why"));
    char owner[HF_OWNER_MAX + 1];

    (void)state;
    for (size_t i = 0; i < sizeof TOKENS / sizeof TOKENS[0]; i++) {
        raw_do(&server, "SET other %s PX 20000", TOKENS[i]);
        assert_true(lists(a, "other"));
        assert_string_equal(holder_of(a, "other")->owner, TOKENS[i]);
        assert_in_range(holder_of(a, "other")->remaining_ms, 10000, 20000);
    }
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        raw_do(&server, "SET other %s", TEXTS[i]);
        assert_false(lists(a, "other"));
        assert_string_equal(holder_of(a, "other")->owner, TEXTS[i]);
    }
    raw_do(&server, "DEL other");
    AWAIT(strcmp(holder_of(a, "ours")->label, "why") == 0);
    assert_string_equal(holder_of(a, "ours")->program, "test");
    hf_hold_owner(hold, owner, sizeof owner);
    assert_string_equal(holder_of(a, "ours")->owner, owner);
    assert_true(lists(a, "ours"));
    assert_false(lists(b, "ours")); /* it is no lock of Redisson's */
    give(hold);
    hf_close(a);
    hf_close(b);
}

static void broken(void **state)
{
    hf_client *a = string_client(NULL), *b = string_client(NULL);
    hf_hold *hold = take(a, "lock", LONG);
    char owner[HF_OWNER_MAX + 1];

    (void)state;
    AWAIT(raw_integer(&server, "PUBSUB CHANNELS holdfast:client:*") >= 1);
    hf_hold_owner(hold, owner, sizeof owner);
    assert_int_equal(hf_break(b, "lock", OTHER), HF_ERR_CHANGED);
    assert_int_equal(hf_break(b, "lock", owner), HF_OK);
    AWAIT(hf_hold_state(hold) == HF_LOST); /* it is told at once */
    assert_int_equal(hf_release(hold), HF_ERR_LOST);
    assert_int_equal(hf_break(b, "lock", owner), HF_ERR_NOT_FOUND);
    other_takes("lock", 30000);
    assert_int_equal(hf_break(b, "lock", owner), HF_ERR_CHANGED);
    assert_int_equal(hf_break(b, "lock", OTHER), HF_OK);
    assert_int_equal(raw_integer(&server, "EXISTS lock"), 0);
    hf_close(a);
    hf_close(b);
}

static const struct CMUnitTest TESTS[] = {
    TEST(keys),
    TEST(cost_of_a_pair),
    TEST(renewed),
    TEST(tokens_grow),
    TEST(waits_for_another_make),
    TEST(looks_again_seldom),
    TEST(outlives_another_make),
    TEST(waits_for_one_of_ours),
    TEST(each_its_own),
    TEST(renewal_of_what_was_lost),
    TEST(wakes_python_redis_lock),
    TEST(a_lock_of_redissons),
    TEST(another_type),
    TEST(other_kinds),
    TEST(out_of_memory),
    TEST(a_user_of_few_rights),
    TEST(people),
    TEST(broken),
};

TESTS_MAIN("string", TESTS)
