/* SPDX-License-Identifier: Apache-2.0 */
/* The Redis store: list, inspect and break, for people. Several commands one after the other; whatever the
 * server says, they come to an end. */
#include "wire.h"

static struct wire w;
static struct hfi_query query;

#define CLIENT_1 "11111111-1111-4111-8111-111111111111"
#define CLIENT_2 "22222222-2222-4222-8222-222222222222"

static int setup(void **state)
{
    (void)state;
    wire_open(&w, "redis://h");
    return 0;
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
    if (wire_redis(&w)->link[COMMANDS].state == HFI_LINK_DOWN)
        wire_up(&w, COMMANDS);
}

/* A reply out of pieces: "[" n "]" is an array's head, a number an integer, "nil"; all else a bulk string. */
static void reply(const char *const *pieces, size_t count)
{
    static char bytes[64 * 1024];
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        const char *piece = pieces[i];

        if (piece[0] == '[')
            n += (size_t)snprintf(bytes + n, sizeof bytes - n, "*%.*s\r\n",
                                  (int)strcspn(piece + 1, "]"), piece + 1);
        else if (piece[0] == ':')
            n += (size_t)snprintf(bytes + n, sizeof bytes - n, "%s\r\n", piece);
        else if (strcmp(piece, "nil") == 0)
            n += (size_t)snprintf(bytes + n, sizeof bytes - n, "$-1\r\n");
        else
            n += (size_t)snprintf(bytes + n, sizeof bytes - n, "$%zu\r\n%s\r\n", strlen(piece),
                                  piece);
    }
    wire_say_bytes(&w, COMMANDS, bytes, n);
}

#define REPLY(...)                                                                                 \
    reply((const char *const[]){ __VA_ARGS__ },                                                    \
          sizeof(const char *[]){ __VA_ARGS__ } / sizeof(const char *))

static struct hf_lock lock_at(size_t i)
{
    struct hf_lock lock = { .size = sizeof lock };

    assert_int_equal(hf_list_get(query.list, i, &lock), HF_OK);
    return lock;
}

static struct hf_holder waiter_at(size_t i, size_t j)
{
    struct hf_holder waiter = { .size = sizeof waiter };

    assert_int_equal(hf_list_waiter(query.list, i, j, &waiter), HF_OK);
    return waiter;
}

/* ------------------------------------------------------------------------------------------------
 * Inspect
 */

/* Everything there is to be told: the holder, its registry, its waiters. */
static void inspect_held(void **state)
{
    struct hf_lock lock;
    struct hf_holder waiter;

    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_expect(&w, COMMANDS, "PUBSUB CHANNELS holdfast:client:*\n");
    REPLY("[2]", "holdfast:client:" CLIENT_1, "holdfast:client:" CLIENT_2);
    wire_expect(&w, COMMANDS, "HGETALL holdfast:client:" CLIENT_1 "\n");
    REPLY("[16]", "host", "alpha", "user", "root", "program", "cron", "pid", "123", "started", "5",
          "wait:L", "0 1690000000000", /* it listens still, but waits no longer */
          "hold:L", "7 1000 1690000000000 why not", "wait:M", "1 1690000000000");
    wire_expect(&w, COMMANDS, "HGETALL holdfast:client:" CLIENT_2 "\n");
    REPLY("[6]", "wait:L", "3 1690000004000", "host", "beta", "pid", "77");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 L\n");
    REPLY("[2]", "[3]", ":29000", CLIENT_1 ":7", "1", ":1690000005000");
    wire_expect(&w, COMMANDS, "PUBSUB NUMSUB redisson_lock__channel:{L}\n");
    REPLY("[2]", "redisson_lock__channel:{L}", ":2");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);

    assert_int_equal(hf_list_count(query.list), 1);
    lock = lock_at(0);
    assert_string_equal(lock.name, "L");
    assert_string_equal(lock.state, "held");
    assert_string_equal(lock.holder.owner, CLIENT_1 ":7");
    assert_string_equal(lock.holder.host, "alpha");
    assert_string_equal(lock.holder.user, "root");
    assert_string_equal(lock.holder.program, "cron");
    assert_string_equal(lock.holder.label, "why not");
    assert_int_equal(lock.holder.pid, 123);
    assert_int_equal(lock.holder.token, 1000);
    assert_int_equal(lock.holder.age_ms, 5000);
    assert_int_equal(lock.holder.remaining_ms, 29000);
    assert_int_equal(lock.holder.count, 1);
    assert_int_equal(lock.waiters, 1);
    waiter = waiter_at(0, 0);
    assert_string_equal(waiter.owner, CLIENT_2);
    assert_string_equal(waiter.host, "beta");
    assert_int_equal(waiter.pid, 77);
    assert_int_equal(waiter.age_ms, 1000);
    assert_int_equal(waiter.count, 3);
}

/* What a client announced of an earlier hold is not this one's; and who listens may have gone since. */
static void inspect_stale(void **state)
{
    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[1]", "holdfast:client:" CLIENT_1);
    wire_commands(&w, COMMANDS);
    REPLY("[6]", "hold:L", "6 1000 1690000000000 old", "wait:L", "0 1690000000000", "pid", "5");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "[3]", ":29000", CLIENT_1 ":7", "1", ":1690000005000");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "x", ":0");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_int_equal(lock_at(0).holder.pid, 5); /* it is that client's all the same */
    assert_int_equal(lock_at(0).holder.token, 0);
    assert_string_equal(lock_at(0).holder.label, "");
    assert_int_equal(lock_at(0).holder.age_ms, -1);
    assert_int_equal(lock_at(0).waiters, 0);
}

/* A lock of Redisson's: its uuid and thread, and how often it was entered; its waiters are only counted. */
static void inspect_redissons(void **state)
{
    struct hf_lock lock;

    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[0]");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 L\n");
    REPLY("[2]", "[3]", ":-1", CLIENT_1 ":55", "3", ":1690000005000");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "x", ":4");
    wire_expect(&w, COMMANDS,
                "HGETALL holdfast:client:" CLIENT_1 "\n"); /* perhaps it is one of ours */
    REPLY("[0]");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    lock = lock_at(0);
    assert_string_equal(lock.holder.owner, CLIENT_1 ":55");
    assert_string_equal(lock.holder.host, "");
    assert_int_equal(lock.holder.pid, -1);
    assert_int_equal(lock.holder.age_ms, -1);
    assert_int_equal(lock.holder.remaining_ms, -1);
    assert_int_equal(lock.holder.count, 3);
    assert_int_equal(lock.waiters, 4);
    assert_int_equal(query.list->lock[0].waiter_count, 0);
}

static void inspect_nothing(void **state)
{
    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[0]");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", ":0", ":1690000005000");
    wire_finished(&w, &query.request, HFI_NOT_DONE, HF_ERR_NOT_FOUND);
    assert_int_equal(hf_list_count(query.list), 0);
}

/* Nobody holds it, but somebody waits: free. One that only listens is no waiter. */
static void inspect_free(void **state)
{
    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[1]", "holdfast:client:" CLIENT_1);
    wire_commands(&w, COMMANDS);
    REPLY("[4]", "wait:L", "2 1690000000000", "wait:M", "0 1690000000000");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", ":0", ":1690000005000");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_int_equal(hf_list_count(query.list), 1);
    assert_string_equal(lock_at(0).state, "free");
    assert_string_equal(lock_at(0).holder.owner, "");
    assert_int_equal(lock_at(0).holder.remaining_ms, -1);
    assert_int_equal(lock_at(0).holder.count, -1);
    assert_int_equal(lock_at(0).waiters, 1);
    assert_int_equal(waiter_at(0, 0).count, 2);
}

static void inspect_foreign(void **state)
{
    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[0]");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "[3]", ":1000", "mode", "write", ":1690000005000");
    wire_expect(&w, COMMANDS, "PUBSUB NUMSUB redisson_rwlock:{L}\n");
    REPLY("[2]", "x", ":2");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_string_equal(lock_at(0).state, "foreign");
    assert_int_equal(lock_at(0).waiters, 2);
    assert_int_equal(lock_at(0).holder.count, -1);
}

/* Who began first is first; of two at once, the smaller id. */
static void waiters_in_order(void **state)
{
    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[3]", "holdfast:client:" CLIENT_2, "holdfast:client:" CLIENT_1, "holdfast:client:x");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "wait:L", "1 5000");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "wait:L", "1 5000");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "wait:L", "1 4000");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", ":0", ":9000");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_string_equal(waiter_at(0, 0).owner, "x");
    assert_string_equal(waiter_at(0, 1).owner, CLIENT_1);
    assert_string_equal(waiter_at(0, 2).owner, CLIENT_2);
}

/* ------------------------------------------------------------------------------------------------
 * List
 */

/* Key by key, in steps, until the server says that there are no more. */
static void list_all(void **state)
{
    (void)state;
    ask(HFI_OP_LIST, NULL, NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[1]", "holdfast:client:" CLIENT_2);
    wire_pass(&w, 1900); /* each step has its own time */
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "wait:Z", "0 1690000000000"); /* who only listens makes no lock */
    wire_expect(&w, COMMANDS, "SCAN 0 MATCH * COUNT 1000 TYPE hash\n");
    wire_pass(&w, 1900);
    assert_false(wire_drops(&w, COMMANDS));
    REPLY("[2]", "17", "[3]", "A", "holdfast:client:" CLIENT_1, "B");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 2 A B\n"); /* our registries are no locks */
    REPLY("[3]", ":0", "[3]", ":1000", CLIENT_1 ":1", "1", ":5000");
    wire_expect(&w, COMMANDS, "PUBSUB NUMSUB redisson_lock__channel:{B}\n");
    REPLY("[2]", "x", ":0");
    wire_expect(&w, COMMANDS, "HGETALL holdfast:client:" CLIENT_1 "\n");
    REPLY("[0]");
    wire_expect(&w, COMMANDS, "SCAN 17 MATCH * COUNT 1000 TYPE hash\n");
    REPLY("[2]", "0", "[1]", "C");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 C\n");
    REPLY("[2]", "[3]", ":1000", CLIENT_1 ":2", "1", ":5000");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "x", ":0");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_int_equal(hf_list_count(query.list), 2);
    assert_string_equal(lock_at(0).name, "B");
    assert_string_equal(lock_at(1).name, "C");
}

static void list_nothing(void **state)
{
    (void)state;
    ask(HFI_OP_LIST, "x*", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[0]");
    wire_expect(&w, COMMANDS, "SCAN 0 MATCH x* COUNT 1000 TYPE hash\n");
    REPLY("[2]", "0", "[0]");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_int_equal(hf_list_count(query.list), 0);
}

/* Many keys: at most 64 in one script, so that the server is not held up. */
static void list_many(void **state)
{
    static char names[150][8];
    const char *pieces[155] = { "[2]", "0", "[150]" };
    struct command command;
    size_t asked = 0;

    (void)state;
    for (size_t i = 0; i < 150; i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        pieces[3 + i] = names[i];
    }
    ask(HFI_OP_LIST, "n*", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[0]");
    wire_commands(&w, COMMANDS);
    reply(pieces, 153);
    while (wire_read(&w, COMMANDS, &command)) {
        size_t count = strtoull(command.argv[2], NULL, 10);
        const char *zeros[66] = { "[0]" };
        char head[8];

        assert_in_range(count, 1, 64);
        asked += count;
        snprintf(head, sizeof head, "[%zu]", count + 1);
        zeros[0] = head;
        for (size_t i = 0; i <= count; i++)
            zeros[i + 1] = ":0";
        reply(zeros, count + 2);
    }
    assert_int_equal(asked, 150);
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
}

/* A scan may see a key twice; people see it once. */
static void list_has_no_doubles(void **state)
{
    (void)state;
    ask(HFI_OP_LIST, NULL, NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[1]", "holdfast:client:" CLIENT_1);
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "hold:A", "1 9 4000 why");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "0", "[2]", "A", "A");
    wire_commands(&w, COMMANDS);
    REPLY("[3]", "[3]", ":1000", CLIENT_1 ":1", "1", "[3]", ":999", CLIENT_1 ":1", "1", ":5000");
    wire_commands(&w, COMMANDS);
    REPLY("[4]", "x", ":0", "x", ":0");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_int_equal(hf_list_count(query.list), 1);
    assert_string_equal(lock_at(0).holder.label, "why");
}

/* The server's patterns know more than ours, and count bytes where we count characters. */
static void list_with_a_pattern(void **state)
{
    (void)state;
    ask(HFI_OP_LIST, "a[b]^\\-?*", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[0]");
    wire_expect(&w, COMMANDS, "SCAN 0 MATCH a\\[b\\]\\^\\\\-** COUNT 1000 TYPE hash\n");
    REPLY("[2]", "0", "[3]", "a[b]^\\-\xc3\xa9", "a[b]^\\-", "a[b]^\\-xy");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 2 a[b]^\\-\xc3\xa9 a[b]^\\-xy\n");
}

/* A long one, of characters that are all escaped: it is not cut into another one. */
static void list_with_a_long_pattern(void **state)
{
    static char pattern[2000 + 1];
    struct command command;

    (void)state;
    memset(pattern, '[', 2000);
    ask(HFI_OP_LIST, pattern, NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[0]");
    assert_true(wire_read(&w, COMMANDS, &command));
    assert_true(command.len[3] == 4000 || strcmp(command.argv[3], "*") == 0);
    REPLY("[2]", "0", "[1]", "A");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK); /* it does not match */
}

/* ------------------------------------------------------------------------------------------------
 * Break
 */

static void break_it(const char *said, enum hfi_outcome outcome, int error)
{
    ask(HFI_OP_BREAK, "L", CLIENT_1 ":7");
    wire_expect(&w, COMMANDS, "EVALSHA break 2 L redisson_lock__channel:{L} " CLIENT_1 ":7 0\n");
    wire_say(&w, COMMANDS, said);
    if (strcmp(said, ":1\r\n") == 0) {
        wire_nothing_finished(&w);
        wire_expect(&w, COMMANDS,
                    "PUBLISH holdfast:client:" CLIENT_1 " L\n"); /* its client is told */
        wire_say(&w, COMMANDS, ":1\r\n");
    }
    wire_finished(&w, &query.request, outcome, error);
}

static void break_answered(void **state)
{
    (void)state;
    break_it(":1\r\n", HFI_DONE, HF_OK);
    break_it(":0\r\n", HFI_NOT_DONE, HF_ERR_CHANGED);
    break_it(":-1\r\n", HFI_NOT_DONE, HF_ERR_NOT_FOUND);
    break_it(":-2\r\n", HFI_NOT_DONE, HF_ERR_UNSUPPORTED);
    break_it(":-3\r\n", HFI_UNKNOWN, HF_ERR_UNSURE);
    break_it(":2\r\n", HFI_UNKNOWN, HF_ERR_UNSURE);
    break_it(":9223372036854775807\r\n", HFI_UNKNOWN, HF_ERR_UNSURE);
    break_it(":-9223372036854775808\r\n", HFI_UNKNOWN, HF_ERR_UNSURE);
    break_it("+OK\r\n", HFI_UNKNOWN, HF_ERR_UNSURE);
    break_it("*0\r\n", HFI_UNKNOWN, HF_ERR_UNSURE);
    break_it("-NOPERM no\r\n", HFI_NOT_DONE, HF_ERR_PERMISSION);
}

/* It was removed; that its client could not be told directly changes nothing about that. */
static void break_told_to_nobody(void **state)
{
    (void)state;
    ask(HFI_OP_BREAK, "L", CLIENT_1 ":7");
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, ":1\r\n");
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "-NOPERM no\r\n");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);

    ask(HFI_OP_BREAK, "L", CLIENT_1 ":7");
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, ":1\r\n");
    wire_commands(&w, COMMANDS);
    wire_lose(&w, COMMANDS);
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);

    ask(HFI_OP_BREAK, "L", CLIENT_1 ":7");
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, ":1\r\n");
    wire_lose(&w, COMMANDS); /* before it could be sent */
    w.class_->abandon(w.store);
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
}

static void break_lost(void **state)
{
    (void)state;
    ask(HFI_OP_BREAK, "L", CLIENT_1 ":7");
    wire_commands(&w, COMMANDS);
    wire_lose(&w, COMMANDS);
    wire_finished(&w, &query.request, HFI_UNKNOWN, HF_ERR_UNSURE);
}

static void noscript(void **state)
{
    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[0]");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 L\n");
    wire_say(&w, COMMANDS, "-NOSCRIPT x\r\n");
    wire_expect(&w, COMMANDS, "EVAL inspect 1 L\n");
    REPLY("[2]", ":0", ":1");
    wire_finished(&w, &query.request, HFI_NOT_DONE, HF_ERR_NOT_FOUND);

    /* The next script of the same query is called by its hash again. */
    ask(HFI_OP_LIST, NULL, NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[0]");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "1", "[1]", "A");
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "-NOSCRIPT x\r\n");
    wire_expect(&w, COMMANDS, "EVAL inspect 1 A\n");
    REPLY("[2]", ":0", ":1");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "0", "[1]", "B");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 B\n");
}

/* ------------------------------------------------------------------------------------------------
 * What a server could say
 */

/* Each step refused, or lost: that is the query's end. */
static void refused_at_each_step(void **state)
{
    static const char *const STEPS[] = { "*1\r\n$17\r\nholdfast:client:x\r\n", "*0\r\n",
                                         "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nA\r\n",
                                         "*2\r\n*3\r\n:1\r\n$3\r\nx:1\r\n$1\r\n1\r\n:5\r\n" };

    (void)state;
    for (size_t fails = 0; fails <= UNIT_COUNT(STEPS); fails++) {
        ask(HFI_OP_LIST, NULL, NULL);
        for (size_t step = 0; step < fails; step++) {
            wire_commands(&w, COMMANDS);
            wire_say(&w, COMMANDS, STEPS[step]);
        }
        wire_nothing_finished(&w);
        wire_commands(&w, COMMANDS);
        wire_say(&w, COMMANDS, "-NOPERM no\r\n");
        wire_finished(&w, &query.request, HFI_NOT_DONE, HF_ERR_PERMISSION);

        ask(HFI_OP_LIST, NULL, NULL);
        for (size_t step = 0; step < fails; step++) {
            wire_commands(&w, COMMANDS);
            wire_say(&w, COMMANDS, STEPS[step]);
        }
        wire_commands(&w, COMMANDS);
        wire_lose(&w, COMMANDS);
        wire_finished(&w, &query.request, HFI_UNKNOWN, HF_ERR_UNSURE);
    }
}

/* Somebody listens on a channel with a name like ours that is too long for any command. */
static void absurd_ids(void **state)
{
    static char id[200 * 1024], channel[sizeof id + 32], bytes[sizeof channel + 64];

    (void)state;
    memset(id, 'f', sizeof id - 1);
    snprintf(channel, sizeof channel, "holdfast:client:%s", id);
    ask(HFI_OP_LIST, NULL, NULL);
    wire_commands(&w, COMMANDS);
    snprintf(bytes, sizeof bytes, "*1\r\n$%zu\r\n%s\r\n", strlen(channel), channel);
    wire_say(&w, COMMANDS, bytes);
    wire_expect(&w, COMMANDS, "SCAN 0 MATCH * COUNT 1000 TYPE hash\n"); /* no client of ours */
    REPLY("[2]", "0", "[1]", "A");
    wire_commands(&w, COMMANDS);
    snprintf(bytes, sizeof bytes, "*2\r\n*3\r\n:1\r\n$%zu\r\n%s:1\r\n$1\r\n1\r\n:5\r\n",
             strlen(id) + 2, id);
    wire_say(&w, COMMANDS, bytes);
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "x", ":0");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_int_equal(strlen(lock_at(0).holder.owner), HF_OWNER_MAX);
}

static void strange_registries(void **state)
{
    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "holdfast:client:" CLIENT_1, "holdfast:client:");
    wire_commands(&w, COMMANDS);
    REPLY("[21]", "hold:", "1 2 3 x", "hold:L", "", "wait:", "1 5", "wait:L",
          "99999999999999999999 -5", "pid", "many", "host", "a\x1b[2Jb", "hold:L", "7 x y z", ":5",
          ":6", "hold:L", "nil", "odd", "x", "one");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "[3]", ":1", CLIENT_1 ":7", "99999999999999999999999", ":5000");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "x", ":-5");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_int_equal(hf_list_count(query.list), 1); /* no lock without a name */
    assert_string_equal(lock_at(0).holder.host, "a?[2Jb");
    assert_true(lock_at(0).waiters >= 0);
}

/* Pieces of replies in any order, right and wrong: it comes to an end, and all memory is freed. */
static void random_replies(void **state)
{
    static const char *const PIECES[] = {
        "*0\r\n",
        "*-1\r\n",
        "$-1\r\n",
        ":0\r\n",
        ":1\r\n",
        "+OK\r\n",
        ":-9223372036854775808\r\n",
        "*1\r\n$52\r\nholdfast:client:" CLIENT_1 "\r\n",
        "*1\r\n$16\r\nholdfast:client:\r\n",
        "*2\r\n$1\r\n0\r\n*2\r\n$1\r\nA\r\n$1\r\nB\r\n",
        "*2\r\n$1\r\n7\r\n*1\r\n$1\r\nA\r\n",
        "*2\r\n$30\r\n999999999999999999999999999999\r\n*0\r\n",
        "*2\r\n$1\r\nx\r\n*1\r\n:5\r\n",
        "*2\r\n:0\r\n*0\r\n",
        "*2\r\n$1\r\n0\r\n$1\r\nA\r\n",
        "*1\r\n:0\r\n",
        "*2\r\n:0\r\n:0\r\n",
        "*2\r\n*3\r\n:1\r\n$38\r\n" CLIENT_1 ":1\r\n$1\r\n1\r\n:5\r\n",
        "*3\r\n:0\r\n:0\r\n:7\r\n",
        "*2\r\n*3\r\n:1\r\n$4\r\nmode\r\n$4\r\nread\r\n:5\r\n",
        "*2\r\n*3\r\n:1\r\n$-1\r\n$1\r\n1\r\n:5\r\n",
        "*2\r\n$1\r\nx\r\n:3\r\n",
        "*2\r\n$6\r\nwait:A\r\n$3\r\n1 5\r\n",
        "*2\r\n$6\r\nhold:A\r\n$7\r\n1 2 3 x\r\n",
        "*4\r\n$4\r\nhost\r\n$-1\r\n$6\r\nwait:L\r\n:5\r\n",
        "-NOSCRIPT x\r\n",
        "-ERR x\r\n",
    };
    static const enum hfi_op OPS[] = { HFI_OP_LIST, HFI_OP_INSPECT, HFI_OP_BREAK };

    (void)state;
    for (uint64_t seed = unit_first_seed(), end = seed + unit_seeds(3000); seed < end; seed++) {
        struct hfi_random random;
        const struct hfi_request *finished = NULL;
        unsigned replies = 0;

        hfi_random_init(&random, seed);
        ask(OPS[hfi_random_below(&random, 3)], "A", CLIENT_1 ":1");
        while (!finished) {
            struct command command;

            assert_true(wire_read(&w, COMMANDS, &command)); /* one question at a time, always */
            assert_false(wire_read(&w, COMMANDS, &command));
            wire_say(&w, COMMANDS, PIECES[hfi_random_below(&random, UNIT_COUNT(PIECES))]);
            assert_true(++replies < 2000);
            finished = w.class_->finished(w.store);
        }
        assert_ptr_equal(finished, &query.request);
    }
}

#define OPEN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN(inspect_held),
        OPEN(inspect_stale),
        OPEN(inspect_redissons),
        OPEN(inspect_nothing),
        OPEN(inspect_free),
        OPEN(inspect_foreign),
        OPEN(waiters_in_order),
        OPEN(list_all),
        OPEN(list_nothing),
        OPEN(list_many),
        OPEN(list_has_no_doubles),
        OPEN(list_with_a_pattern),
        OPEN(list_with_a_long_pattern),
        OPEN(break_answered),
        OPEN(break_told_to_nobody),
        OPEN(break_lost),
        OPEN(noscript),
        OPEN(refused_at_each_step),
        OPEN(absurd_ids),
        OPEN(strange_registries),
        OPEN(random_replies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
