/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names under a prefix: what goes to the server is made of prefix + name, as by Redisson's name mapper, and what
 * people see has no prefix. Channels and slots follow the rule for { of the whole.
 */
#include "wire.h"

static struct wire w;
static struct hfi_query query;

#define CLIENT_1 "11111111-1111-4111-8111-111111111111"

static void open_with(const char *uri)
{
    static struct hfi_request check;

    wire_open(&w, uri);
    wire_submit(&w, &check, HFI_OP_CHECK);
    wire_up(&w, COMMANDS);
    wire_expect(&w, COMMANDS, "PING\n");
    wire_say(&w, COMMANDS, "+PONG\r\n");
    wire_finished(&w, &check, HFI_DONE, HF_OK);
}

static int teardown(void **state)
{
    (void)state;
    wire_close(&w);
    query.list = hf_list_free(query.list);
    return 0;
}

static void ask(enum hfi_op op, const char *text, const char *owner)
{
    hf_list_free(query.list);
    query = (struct hfi_query){ .text = text, .owner = owner, .list = hfi_list_new() };
    wire_submit(&w, &query.request, op);
}

static void bulk(const char *text)
{
    char bytes[256];

    snprintf(bytes, sizeof bytes, "$%zu\r\n%s\r\n", strlen(text), text);
    wire_say(&w, COMMANDS, bytes);
}

/* An array of texts; one that begins with a colon is an integer, and "[n]" the head of an inner array. */
static void array(size_t count, const char *const *texts, size_t pieces)
{
    char bytes[32];

    snprintf(bytes, sizeof bytes, "*%zu\r\n", count);
    wire_say(&w, COMMANDS, bytes);
    for (size_t i = 0; i < pieces; i++) {
        if (texts[i][0] == ':')
            snprintf(bytes, sizeof bytes, "%s\r\n", texts[i]);
        else if (texts[i][0] == '[')
            snprintf(bytes, sizeof bytes, "*%c\r\n", texts[i][1]);
        else
            bulk(texts[i]);
        if (strchr(":[", texts[i][0]))
            wire_say(&w, COMMANDS, bytes);
    }
}

#define ARRAY(count, ...)                                                                          \
    array(count, (const char *const[]){ __VA_ARGS__ },                                             \
          sizeof(const char *[]){ __VA_ARGS__ } / sizeof(const char *))

/* ------------------------------------------------------------------------------------------------
 * Commands
 */

static void expect_pair(const char *name, const char *mapped, const char *channel)
{
    struct hfi_lease *lease = wire_lease(&w, name, 42);
    char text[512], key[HFI_TOKEN_KEY_MAX];

    hfi_token_key(&wire_redis(&w)->tags, key, hfi_slot(mapped, strlen(mapped)));
    wire_submit(&w, &lease->request, HFI_OP_TRY);
    snprintf(text, sizeof text, "EVALSHA acquire 2 %s %s " OWNER(42) " 30000 1\n", mapped, key);
    wire_expect(&w, COMMANDS, text);
    wire_say(&w, COMMANDS, "*3\r\n:1\r\n:77\r\n:1\r\n");
    wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
    assert_int_equal(lease->token, 77);
    wire_submit(&w, &lease->request, HFI_OP_RELEASE);
    snprintf(text, sizeof text, "EVALSHA release 2 %s %s " OWNER(42) " 0\n", mapped, channel);
    wire_expect(&w, COMMANDS, text);
    wire_say(&w, COMMANDS, ":0\r\n");
    wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
}

/* The test for { looks at the mapped name; the slot is that of its tag. */
static void leases(void **state)
{
    (void)state;
    open_with("redis://h?prefix=app:");
    expect_pair("L", "app:L", "redisson_lock__channel:{app:L}");
    expect_pair("a{t}", "app:a{t}", "redisson_lock__channel:app:a{t}");
}

static void leases_with_a_tag(void **state)
{
    (void)state;
    open_with("redis://h?prefix={app}:");
    expect_pair("L", "{app}:L", "redisson_lock__channel:{app}:L");
    expect_pair("x{t}", "{app}:x{t}", "redisson_lock__channel:{app}:x{t}");
}

static void leases_with_half_a_tag(void **state)
{
    (void)state;
    open_with("redis://h?prefix=a{");
    expect_pair("L", "a{L", "redisson_lock__channel:a{L");
    expect_pair("b}c", "a{b}c", "redisson_lock__channel:a{b}c");
}

static void renewal(void **state)
{
    struct hfi_renewal_item items[2] = { { .ttl_ms = 30000 }, { .ttl_ms = 0 } };
    struct hfi_renewal request = { .count = 2, .items = items };

    (void)state;
    open_with("redis://h?prefix=app:");
    items[0].lease = wire_lease(&w, "L", 1);
    items[1].lease = wire_lease(&w, "M", 2);
    wire_submit(&w, &request.request, HFI_OP_RENEW);
    wire_expect(&w, COMMANDS, "EVALSHA renew 2 app:L app:M 30000 " OWNER(1) " 0 " OWNER(2) "\n");
    wire_say(&w, COMMANDS, "*2\r\n:1\r\n:0\r\n");
    wire_finished(&w, &request.request, HFI_DONE, HF_OK);
    assert_true(items[0].kept && !items[1].kept);
}

static void watches(void **state)
{
    struct hfi_watch *watch;

    (void)state;
    open_with("redis://h?prefix=app:");
    watch = wire_watch(&w, "L");
    wire_submit(&w, &watch->request, HFI_OP_WATCH);
    wire_up(&w, WAKEUPS);
    wire_expect(&w, WAKEUPS, "SUBSCRIBE redisson_lock__channel:{app:L}\n");
    wire_say(&w, WAKEUPS,
             "*3\r\n$9\r\nsubscribe\r\n$30\r\nredisson_lock__channel:{app:L}\r\n:1\r\n");
    wire_finished(&w, &watch->request, HFI_DONE, HF_OK);
    watch->topic = HFI_TOPIC_READ_WRITE;
    wire_submit(&w, &watch->request, HFI_OP_WATCH);
    wire_expect(&w, WAKEUPS,
                "UNSUBSCRIBE redisson_lock__channel:{app:L}\n"
                "SUBSCRIBE redisson_rwlock:{app:L}\n");
}

/* The registry is read by clients with other prefixes: it has the names that the server knows. */
static void announcement(void **state)
{
    static struct hfi_announcement announcement;

    (void)state;
    open_with("redis://h?prefix=app:");
    announcement = (struct hfi_announcement){ .ttl_ns = 35 * HFI_SEC, .count = 1 };
    announcement.items[0] =
        (struct hfi_announcement_item){ .name = "L", .name_len = 1, .held = true, .owner = 3 };
    wire_submit(&w, &announcement.request, HFI_OP_ANNOUNCE);
    assert_non_null(strstr(wire_commands(&w, COMMANDS), " app:L 1 3 0 "));
}

/* The longest prefix and the longest name together: every command takes them. */
static void the_longest(void **state)
{
    static struct hfi_renewal_item items[HFI_RENEWAL_MAX];
    static char name[HF_NAME_MAX + 1], uri[64 + HFI_PREFIX_MAX];
    struct hfi_renewal renewal = { .count = HFI_RENEWAL_MAX, .items = items };
    struct command command;

    (void)state;
    memset(name, 'n', HF_NAME_MAX);
    memset(uri, 'p', sizeof uri - 1);
    memcpy(uri, "redis://h?prefix=", 17);
    uri[17 + HFI_PREFIX_MAX] = '\0';
    open_with(uri);
    for (size_t i = 0; i < HFI_RENEWAL_MAX; i++)
        items[i] =
            (struct hfi_renewal_item){ .lease = wire_lease(&w, name, UINT64_MAX - i), .ttl_ms = 1 };
    wire_submit(&w, &renewal.request, HFI_OP_RENEW);
    assert_true(wire_read(&w, COMMANDS, &command));
    assert_int_equal(command.argc, 3 + 3 * HFI_RENEWAL_MAX);
    for (size_t i = 0; i < HFI_RENEWAL_MAX; i++) {
        assert_int_equal(command.len[3 + i], HFI_MAPPED_MAX);
        assert_memory_equal(command.argv[3 + i], uri + 17, HFI_PREFIX_MAX);
        assert_memory_equal(command.argv[3 + i] + HFI_PREFIX_MAX, name, HF_NAME_MAX);
    }
    wire_submit(&w, &items[0].lease->request, HFI_OP_RELEASE);
    assert_true(wire_read(&w, COMMANDS, &command));
    assert_int_equal(command.len[4], sizeof "redisson_lock__channel:{}" - 1 + HFI_MAPPED_MAX);
    wire_say(&w, COMMANDS, "*0\r\n:1\r\n");
    wire_finished(&w, &renewal.request, HFI_UNKNOWN, HF_ERR_UNSURE);
    wire_finished(&w, &items[0].lease->request, HFI_DONE, HF_OK);
    ask(HFI_OP_LIST, name, NULL);
    wire_expect(&w, COMMANDS, "PUBSUB CHANNELS holdfast:client:*\n");
    wire_say(&w, COMMANDS, "*0\r\n");
    assert_true(wire_read(&w, COMMANDS, &command));
    assert_int_equal(command.len[3], HFI_MAPPED_MAX); /* SCAN 0 MATCH pattern */
}

/* ------------------------------------------------------------------------------------------------
 * For people
 */

static void inspect(void **state)
{
    struct hf_lock lock = { .size = sizeof lock };

    (void)state;
    open_with("redis://h?prefix=app:");
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_expect(&w, COMMANDS, "PUBSUB CHANNELS holdfast:client:*\n");
    ARRAY(1, "holdfast:client:" CLIENT_1);
    wire_expect(&w, COMMANDS, "HGETALL holdfast:client:" CLIENT_1 "\n");
    ARRAY(4, "hold:L", "7 999 1690000000000 not that one", "hold:app:L",
          "7 1000 1690000000000 why");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 app:L 4096\n");
    ARRAY(2, "[3]", ":29000", CLIENT_1 ":7", "1", ":1690000005000");
    wire_expect(&w, COMMANDS, "PUBSUB NUMSUB redisson_lock__channel:{app:L}\n");
    ARRAY(2, "x", ":0");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_int_equal(hf_list_count(query.list), 1);
    assert_int_equal(hf_list_get(query.list, 0, &lock), HF_OK);
    assert_string_equal(lock.name, "L");
    assert_int_equal(lock.holder.token, 1000);
    assert_string_equal(lock.holder.label, "why");
}

/* Only names under the prefix, whatever the server finds and others announce; letters that a pattern would
 * take for its own are escaped. */
static void list(void **state)
{
    struct hf_lock lock = { .size = sizeof lock };

    (void)state;
    open_with("redis://h?prefix=p[*]%3F:");
    ask(HFI_OP_LIST, "?*x", NULL);
    wire_commands(&w, COMMANDS);
    ARRAY(1, "holdfast:client:" CLIENT_1);
    wire_commands(&w, COMMANDS);
    ARRAY(8, "wait:p[*]?:wx", "1 1690000000000", "wait:wx", "1 1690000000000",
          "wait:p[*]?:", "1 1690000000000", "wait:p[*]?:w", "1 1690000000000");
    wire_expect(&w, COMMANDS, "SCAN 0 MATCH p\\[\\*\\]\\?:**x COUNT 1000 TYPE hash\n");
    ARRAY(2, "0", "[5]", "p[*]?:ax", "p[*]?:x", "p[*]?:", "ax", "abc?:ax");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 p[*]?:ax 64\n");
    ARRAY(2, "[3]", ":29000", CLIENT_1 ":7", "1", ":1690000005000");
    wire_commands(&w, COMMANDS);
    ARRAY(2, "x", ":0");
    wire_expect(&w, COMMANDS, "SCAN 0 MATCH *:timeout COUNT 1000 TYPE zset\n");
    ARRAY(2, "0", "[2]", "{p[*]?:yx}:timeout", "{yx}:timeout");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 p[*]?:yx 64\n");
    ARRAY(2, ":0", ":1690000005000");
    wire_expect(&w, COMMANDS, "PUBSUB CHANNELS redisson_*\n");
    wire_say(&w, COMMANDS, "*0\r\n");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_int_equal(hf_list_count(query.list), 2);
    assert_int_equal(hf_list_get(query.list, 0, &lock), HF_OK);
    assert_string_equal(lock.name, "ax");
    assert_int_equal(hf_list_get(query.list, 1, &lock), HF_OK);
    assert_string_equal(lock.name, "wx");
    assert_string_equal(lock.state, "free");
}

static void break_it(void **state)
{
    (void)state;
    open_with("redis://h?prefix=app:");
    ask(HFI_OP_BREAK, "L", CLIENT_1 ":7");
    wire_expect(&w, COMMANDS,
                "EVALSHA break 8 app:L redisson_lock_queue:{app:L} redisson_lock_timeout:{app:L} "
                "holdfast_fair:{app:L} redisson_lock__channel:{app:L} redisson_rwlock:{app:L} "
                "{app:L}:timeout redisson_sc:{app:L} " CLIENT_1
                ":7 0 1 {app:L} \021\021\021\021\021\021A\021 1000\n");
    wire_say(&w, COMMANDS, ":1\r\n");
    wire_expect(&w, COMMANDS, "PUBLISH holdfast:client:" CLIENT_1 " app:L\n");
    wire_say(&w, COMMANDS, ":1\r\n");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
}

/* Without a prefix the longest names of others' prefixes are no names of ours. */
static void others_are_too_long(void **state)
{
    struct hfi_redis *redis;
    static char text[HFI_MAPPED_MAX];

    (void)state;
    memset(text, 'p', sizeof text);
    open_with("redis://h?prefix=pp");
    redis = wire_redis(&w);
    assert_ptr_equal(hfi_redis_unmap(redis, text, HF_NAME_MAX + 2), text + 2);
    assert_null(hfi_redis_unmap(redis, text, HF_NAME_MAX + 3));
    assert_ptr_equal(hfi_redis_unmap(redis, text, 3), text + 2);
    assert_null(hfi_redis_unmap(redis, text, 2));
    assert_null(hfi_redis_unmap(redis, text, 0));
    assert_null(hfi_redis_unmap(redis, "pq?", 3));
}

#define TEST(f) cmocka_unit_test_teardown(f, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(leases),
        TEST(leases_with_a_tag),
        TEST(leases_with_half_a_tag),
        TEST(renewal),
        TEST(watches),
        TEST(announcement),
        TEST(inspect),
        TEST(list),
        TEST(break_it),
        TEST(the_longest),
        TEST(others_are_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
