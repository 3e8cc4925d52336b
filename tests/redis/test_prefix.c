/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients with a prefix on a real server: what lies there has the mapped name, as with Redisson's name mapper;
 * the same mapped name is the same lock, whatever prefix it was made with; and nobody sees others' names.
 */
#include "redis/support.h"

#define LONG HF_ACQUIRE(.ttl_ms = 30000)

static hf_client *client_with(const char *prefix, const struct hf_client_options *options)
{
    char uri[512];
    size_t n;

    server_uri(&server, uri, sizeof uri);
    n = strlen(uri);
    snprintf(uri + n, sizeof uri - n, "/0?prefix=%s", prefix);
    return client_of(uri, options);
}

static void expect_key(const char *prefix, const char *name, const char *key)
{
    hf_client *a = client_with(prefix, TRACED(.program = "test"));
    hf_hold *hold = take(a, name, LONG);
    char owner[HF_OWNER_MAX + 1];

    hf_hold_owner(hold, owner, sizeof owner);
    assert_string_equal(hf_hold_name(hold), name);
    assert_int_equal(server_count_keys(&server), 1);
    assert_string_equal(raw_text(&server, "HGET %s %s", key, owner), "1");
    give(hold);
    assert_int_equal(raw_integer(&server, "EXISTS %s", key), 0);
    hf_close(a);
}

static void keys(void **state)
{
    (void)state;
    expect_key("app:", "lock", "app:lock");
    expect_key("app:", "a{b}c", "app:a{b}c");
    expect_key("%7Bapp%7D:", "lock", "{app}:lock");
    expect_key("{", "}", "{}");
    expect_key("", "lock", "lock");
    expect_key("%2A%3F[%5C", "lock", "*?[\\lock");
}

/* A Java owner of the mapped name is waited for on the channel of the mapped name, and is woken there. */
static void beside_a_foreign_owner(void **state)
{
    static const char *const PREFIXES[] = { "app:", "{app}", "a{" };
    char name[64], channel[128];

    (void)state;
    for (int i = 0; i < 3; i++) {
        hf_client *a = client_with(PREFIXES[i], TRACED(.poll_ms = 60000));
        redisContext *raw = raw_open(&server);
        redisReply *reply;
        struct taker taker;
        int64_t start;

        snprintf(name, sizeof name, "%slock", PREFIXES[i]);
        snprintf(channel, sizeof channel, "redisson_lock__channel:%s%s%s", i ? "" : "{", name,
                 i ? "" : "}");
        foreign_take(name, 30000);
        assert_int_equal(try_once(a, "lock"), HF_ERR_BUSY);
        taker_start(&taker, a, "lock", LONG);
        AWAIT(raw_integer(&server, "PUBSUB CHANNELS %s", channel) == 1);
        nap_ms(20);
        assert_false(taker_done(&taker));
        start = now_ms();
        assert_int_equal(foreign_give(name), 1);
        assert_int_equal(taker_join(&taker), HF_OK);
        assert_true(now_ms() - start < 5000);
        raw_send(raw, "SUBSCRIBE %s", channel);
        freeReplyObject(raw_next(raw, PATIENCE_MS));
        give(taker.hold);
        reply = raw_next(raw, PATIENCE_MS);
        assert_non_null(reply);
        assert_string_equal(reply->element[1]->str, channel);
        freeReplyObject(reply);
        redisFree(raw);
        hf_close(a);
    }
}

/* "a" + "bc" is "ab" + "c", and "abc" without a prefix; "b" + "c" is not. */
static void one_lock_by_many_prefixes(void **state)
{
    hf_client *a = client_with("a", TRACED(.poll_ms = 60000)), *ab = client_with("ab", TRACED()),
              *b = client_with("b", TRACED()), *none = client_open();
    hf_hold *hold = take(ab, "c", LONG);
    struct taker taker;
    uint64_t token = hf_hold_token(hold);

    (void)state;
    assert_int_equal(try_once(a, "bc"), HF_ERR_BUSY);
    assert_int_equal(try_once(none, "abc"), HF_ERR_BUSY);
    assert_int_equal(try_once(b, "c"), HF_OK);
    assert_int_equal(try_once(none, "c"), HF_OK);
    taker_start(&taker, a, "bc", LONG);
    AWAIT(raw_integer(&server, "PUBSUB CHANNELS redisson_lock__channel:{abc}") == 1);
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_true(hf_hold_token(taker.hold) > token);
    give(taker.hold);
    hf_close(a);
    hf_close(ab);
    hf_close(b);
    hf_close(none);
}

/* The names of a list, in order, with spaces between. */
static const char *names(hf_client *client, const char *pattern)
{
    static char text[2 * HF_NAME_MAX];
    struct hf_lock lock = { .size = sizeof lock };
    hf_list *list = NULL;
    size_t n = 0;

    text[0] = '\0';
    assert_int_equal(hf_list_locks(client, pattern, &list), HF_OK);
    for (size_t i = 0; hf_list_get(list, i, &lock) == HF_OK; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s ", lock.name,
                              strcmp(lock.state, "held") == 0 ? "" : "?");
    hf_list_free(list);
    return text;
}

/* What is announced by one client is told to those of the same mapped name only, whatever their prefixes. */
static void people(void **state)
{
    hf_client *a = client_with("a:", TRACED(.program = "one")),
              *b = client_with("b:", TRACED(.program = "two")), *none = client_open();
    hf_hold *one = take(a, "lock", HF_ACQUIRE(.label = "of a")),
            *two = take(b, "lock", HF_ACQUIRE(.label = "of b"));
    struct taker taker;
    hf_list *list = NULL;

    (void)state;
    taker_start(&taker, b, "wanted", HF_ACQUIRE(.wait_ms = 60000));
    assert_int_equal(taker_join(&taker), HF_OK);
    AWAIT(strcmp(holder_of(a, "lock")->label, "of a") == 0);
    AWAIT(strcmp(holder_of(b, "lock")->label, "of b") == 0);
    AWAIT(strcmp(holder_of(none, "a:lock")->label, "of a") == 0);
    assert_string_equal(holder_of(a, "lock")->program, "one");
    assert_string_equal(names(a, NULL), "lock ");
    assert_string_equal(names(a, "l?c*"), "lock ");
    assert_string_equal(names(a, "a:*"), "");
    assert_true(strcmp(names(b, NULL), "lock wanted ") == 0 ||
                strcmp(names(b, NULL), "wanted lock ") == 0);
    assert_string_equal(names(b, "wan*"), "wanted ");
    assert_string_equal(names(none, "a:*"), "a:lock ");
    assert_string_equal(names(none, "lock"), "");
    assert_int_equal(hf_inspect(a, "wanted", &list), HF_ERR_NOT_FOUND);
    assert_int_equal(hf_inspect(none, "lock", &list), HF_ERR_NOT_FOUND);
    give(taker.hold);
    give(one);
    give(two);
    hf_close(a);
    hf_close(b);
    hf_close(none);
}

static void broken(void **state)
{
    hf_client *a = client_with("a:", TRACED()), *b = client_with("b:", TRACED()),
              *c = client_with("a:", TRACED());
    hf_hold *one = take(a, "lock", LONG), *two = take(b, "lock", LONG);
    char owner[HF_OWNER_MAX + 1];

    (void)state;
    AWAIT(raw_integer(&server, "PUBSUB CHANNELS holdfast:client:*") >= 1);
    hf_hold_owner(one, owner, sizeof owner);
    assert_int_equal(hf_break(b, "lock", owner), HF_ERR_CHANGED);
    assert_int_equal(hf_break(c, "lock", owner), HF_OK);
    AWAIT(hf_hold_state(one) == HF_LOST);
    assert_int_equal(hf_hold_state(two), HF_HELD);
    assert_int_equal(hf_release(one), HF_ERR_LOST);
    give(two);
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

/* The longest prefix and the longest name: taken, renewed, seen, waited for, and given back. */
static void the_longest(void **state)
{
    char prefix[257], name[HF_NAME_MAX + 1];
    hf_client *a, *b;
    hf_hold *hold;
    struct taker taker;

    (void)state;
    memset(prefix, 'p', sizeof prefix - 1);
    prefix[sizeof prefix - 1] = '\0';
    memset(name, 'n', HF_NAME_MAX);
    name[HF_NAME_MAX] = '\0';
    a = client_with(prefix, TRACED());
    b = client_with(prefix, TRACED());
    hold = take(a, name, HF_ACQUIRE(.ttl_ms = 2400));
    nap_ms(1200); /* a renewal */
    assert_int_equal(hf_hold_verify(hold), HF_OK);
    assert_int_equal(raw_integer(&server, "EXISTS %s%s", prefix, name), 1);
    assert_int_equal(strlen(names(b, "nn*")), HF_NAME_MAX + 1);
    taker_start(&taker, b, name, LONG);
    nap_ms(50);
    assert_false(taker_done(&taker));
    give(hold);
    assert_int_equal(taker_join(&taker), HF_OK);
    give(taker.hold);
    hf_close(a);
    hf_close(b);
}

/* One byte more is refused before anything is sent. */
static void too_long(void **state)
{
    char uri[600] = "redis://h?prefix=";
    hf_client *none = NULL;

    (void)state;
    memset(uri + strlen(uri), 'p', 257);
    assert_int_equal(hf_open(uri, NULL, &none), HF_ERR_URI);
    assert_non_null(strstr(hf_last_error(), "256 bytes"));
    assert_int_equal(hf_open("redis://h?prefix=a&layuot=string", NULL, &none), HF_ERR_URI);
    assert_non_null(strstr(hf_last_error(), "not known \"layuot\"; options are prefix=TEXT, "));
    assert_null(none);
}

static const struct CMUnitTest TESTS[] = {
    TEST(keys),
    TEST(beside_a_foreign_owner),
    TEST(one_lock_by_many_prefixes),
    TEST(people),
    TEST(broken),
    TEST(the_longest),
    TEST(too_long),
};

TESTS_MAIN("prefix", TESTS)
