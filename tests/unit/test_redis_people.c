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

/* A list looks for what is no hash, too; here there is none. */
static void nothing_else(void)
{
    wire_expect(&w, COMMANDS, "SCAN 0 MATCH *:timeout COUNT 1000 TYPE zset\n");
    REPLY("[2]", "0", "[0]");
    wire_expect(&w, COMMANDS, "PUBSUB CHANNELS redisson_*\n");
    REPLY("[0]");
}

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
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 L 4096\n");
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
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 L 4096\n");
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
    wire_expect(&w, COMMANDS, "EVALSHA inspect 2 A B 64\n"); /* our registries are no locks */
    REPLY("[3]", ":0", "[3]", ":1000", CLIENT_1 ":1", "1", ":5000");
    wire_expect(&w, COMMANDS, "PUBSUB NUMSUB redisson_lock__channel:{B}\n");
    REPLY("[2]", "x", ":0");
    wire_expect(&w, COMMANDS, "HGETALL holdfast:client:" CLIENT_1 "\n");
    REPLY("[0]");
    wire_expect(&w, COMMANDS, "SCAN 17 MATCH * COUNT 1000 TYPE hash\n");
    REPLY("[2]", "0", "[1]", "C");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 C 64\n");
    REPLY("[2]", "[3]", ":1000", CLIENT_1 ":2", "1", ":5000");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "x", ":0");
    nothing_else();
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
    nothing_else();
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

        if (strcmp(command.argv[0], "EVALSHA") != 0) {
            if (strcmp(command.argv[0], "SCAN") == 0)
                REPLY("[2]", "0", "[0]");
            else
                REPLY("[0]");
            continue;
        }

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
    nothing_else();
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
    wire_expect(&w, COMMANDS, "EVALSHA inspect 2 a[b]^\\-\xc3\xa9 a[b]^\\-xy 64\n");
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
    nothing_else();
    wire_finished(&w, &query.request, HFI_DONE, HF_OK); /* it does not match */
}

/* ------------------------------------------------------------------------------------------------
 * Break
 */

static void break_it(const char *said, enum hfi_outcome outcome, int error)
{
    ask(HFI_OP_BREAK, "L", CLIENT_1 ":7");
    wire_expect(&w, COMMANDS,
                "EVALSHA break 8 L redisson_lock_queue:{L} redisson_lock_timeout:{L} "
                "holdfast_fair:{L} redisson_lock__channel:{L} redisson_rwlock:{L} {L}:timeout "
                "redisson_sc:{L} " CLIENT_1 ":7 0 1 {L} \021\021\021\021\021\021A\021 1000\n");
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
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 L 4096\n");
    wire_say(&w, COMMANDS, "-NOSCRIPT x\r\n");
    wire_expect(&w, COMMANDS, "EVAL inspect 1 L 4096\n");
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
    wire_expect(&w, COMMANDS, "EVAL inspect 1 A 64\n");
    REPLY("[2]", ":0", ":1");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "0", "[1]", "B");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 B 64\n");
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
    nothing_else();
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

/* ------------------------------------------------------------------------------------------------
 * Other kinds
 */

static struct hf_holder holder_at(size_t i, size_t j)
{
    struct hf_holder holder = { .size = sizeof holder };

    assert_int_equal(hf_list_holder(query.list, i, j, &holder), HF_OK);
    return holder;
}

/* The queue in its order, whoever is in it; behind it those that wait without a place. */
static void inspect_fair(void **state)
{
    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "holdfast:client:" CLIENT_1, "holdfast:client:" CLIENT_2);
    wire_commands(&w, COMMANDS);
    REPLY("[4]", "pid", "11", "hold/fair:L", "7 1000 1690000000000 why");
    wire_commands(&w, COMMANDS);
    REPLY("[6]", "pid", "22", "wait:L", "3 1690000004000", "hold/fair:M", "9 9 9 no");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "[7]", "fair", ":29000", ":-1", ":1", "[3]", CLIENT_1 ":7", ":29000", ":1", ":3",
          "[3]", "other:5", CLIENT_1 ":8", CLIENT_2 ":9", ":1690000005000");
    wire_expect(&w, COMMANDS, "PUBSUB NUMSUB redisson_lock__channel:{L}\n");
    REPLY("[2]", "x", ":1");
    wire_expect(&w, COMMANDS, "HGETALL holdfast:client:other\n");
    REPLY("[0]");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_string_equal(lock_at(0).state, "held");
    assert_string_equal(lock_at(0).kind, "fair");
    assert_int_equal(lock_at(0).holders, 1);
    assert_int_equal(lock_at(0).available, -1);
    assert_int_equal(lock_at(0).waiters, 4);
    assert_string_equal(lock_at(0).holder.label, "why");
    assert_int_equal(lock_at(0).holder.pid, 11);
    assert_int_equal(lock_at(0).holder.token, 1000);
    assert_string_equal(waiter_at(0, 0).owner, "other:5");
    assert_int_equal(waiter_at(0, 0).pid, -1);
    assert_string_equal(waiter_at(0, 1).owner, CLIENT_1 ":8");
    assert_int_equal(waiter_at(0, 1).pid, 11);
    assert_string_equal(waiter_at(0, 2).owner, CLIENT_2 ":9");
    assert_int_equal(waiter_at(0, 2).pid, 22);
    assert_string_equal(waiter_at(0, 3).owner, CLIENT_2);
    assert_int_equal(waiter_at(0, 3).count, 3);
}

/* Nobody queues for it: only its holder says that it is one. */
static void inspect_fair_alone(void **state)
{
    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[1]", "holdfast:client:" CLIENT_1);
    wire_commands(&w, COMMANDS);
    REPLY("[4]", "hold/fair:L", "7 1000 1690000000000 why", "hold/fenced:L", "8 1 1 x");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "[3]", ":29000", CLIENT_1 ":7", "1", ":1690000005000");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "x", ":0");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_string_equal(lock_at(0).kind, "fair");
    assert_string_equal(lock_at(0).holder.label, "why");
}

static void inspect_readers(void **state)
{
    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[1]", "holdfast:client:" CLIENT_1);
    wire_commands(&w, COMMANDS);
    REPLY("[8]", "pid", "11", "hold/read:L", "8 0 1690000000000 why", "hold:L", "7 5 5 mutex",
          "wait/write:L", "1 1690000000000");
    wire_commands(&w, COMMANDS);
    REPLY("[2]", "[7]", "read", ":29000", ":-1", ":900", "[6]", "other:5", ":29000", ":2",
          CLIENT_1 ":8", ":-5", ":1", ":0", "[0]", ":1690000005000");
    wire_expect(&w, COMMANDS, "PUBSUB NUMSUB redisson_rwlock:{L}\n");
    REPLY("[2]", "x", ":1");
    wire_commands(&w, COMMANDS);
    REPLY("[0]");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_string_equal(lock_at(0).state, "held");
    assert_string_equal(lock_at(0).kind, "read");
    assert_int_equal(lock_at(0).holders, 900); /* of all these, two are told */
    assert_int_equal(lock_at(0).waiters, 1);
    assert_string_equal(lock_at(0).holder.owner, "other:5");
    assert_int_equal(lock_at(0).holder.count, 2);
    assert_int_equal(lock_at(0).holder.remaining_ms, 29000);
    assert_string_equal(holder_at(0, 0).owner, "other:5");
    assert_string_equal(holder_at(0, 1).owner, CLIENT_1 ":8");
    assert_string_equal(holder_at(0, 1).label, "why");
    assert_int_equal(holder_at(0, 1).pid, 11);
    assert_int_equal(holder_at(0, 1).age_ms, 5000);
    assert_int_equal(holder_at(0, 1).remaining_ms, -1);
    assert_int_equal(waiter_at(0, 0).pid, 11);
}

static void say_permits(const char *const *ids, const long long *ms, size_t count)
{
    char bytes[1024];
    size_t n = (size_t)snprintf(bytes, sizeof bytes,
                                "*2\r\n*7\r\n$7\r\npermits\r\n:-1\r\n:-2\r\n:%zu\r\n*%zu\r\n",
                                count, 3 * count);

    for (size_t i = 0; i < count; i++) {
        n += (size_t)snprintf(bytes + n, sizeof bytes - n, "$16\r\n");
        memcpy(bytes + n, ids[i], 16);
        n += 16;
        n += (size_t)snprintf(bytes + n, sizeof bytes - n, "\r\n:%lld\r\n:1\r\n", ms[i]);
    }
    n += (size_t)snprintf(bytes + n, sizeof bytes - n, ":0\r\n*0\r\n:1690000005000\r\n");
    wire_say_bytes(&w, COMMANDS, bytes, n);
}

/* An owner's permits are one hold, where its client is known; others are shown by their ids. */
static void inspect_permits(void **state)
{
    static const char *const IDS[] = {
        "\x11\x11\x11\x11\x11\x11\x41\x11\0\0\0\0\0\7\0\0",
        "\x11\x11\x11\x11\x11\x11\x41\x11\0\0\0\0\0\7\0\1",
        "\x11\x11\x11\x11\x11\x11\x41\x11\0\0\0\0\1\0\0\0",     /* another owner */
        "\x22\x22\x22\x22\x22\x22\x42\x22\0\0\0\0\0\7\0\0",     /* a client that is gone */
        "\x11\x11\x11\x11\x11\x11\x41\x11\0\0\0\0\0\1\xff\xff", /* no number of ours */
        "\xff\xfe\0\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c\x0d",
    };
    static const long long MS[] = { 5, 5, 6, 7, 8, -1 };

    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[1]", "holdfast:client:" CLIENT_1);
    wire_commands(&w, COMMANDS);
    REPLY("[6]", "pid", "11", "hold/permits/2:L", "7 0 1690000000000 why", "wait/permits/9:L",
          "2 1690000000000");
    wire_commands(&w, COMMANDS);
    say_permits(IDS, MS, 6);
    wire_expect(&w, COMMANDS, "PUBSUB NUMSUB redisson_sc:{L}\n");
    REPLY("[2]", "x", ":1");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_string_equal(lock_at(0).state, "held");
    assert_string_equal(lock_at(0).kind, "permits");
    assert_int_equal(lock_at(0).holders, 5);
    assert_int_equal(lock_at(0).available, -2);
    assert_int_equal(lock_at(0).waiters, 1);
    assert_string_equal(lock_at(0).holder.owner, CLIENT_1 ":7");
    assert_string_equal(lock_at(0).holder.label, "why");
    assert_int_equal(lock_at(0).holder.count, 2);
    assert_int_equal(lock_at(0).holder.pid, 11);
    assert_int_equal(lock_at(0).holder.remaining_ms, 5);
    assert_string_equal(holder_at(0, 1).owner, CLIENT_1 ":256");
    assert_int_equal(holder_at(0, 1).pid, 11);
    assert_string_equal(holder_at(0, 2).owner, "22222222222242220000000000070000");
    assert_int_equal(holder_at(0, 2).pid, -1);
    assert_int_equal(holder_at(0, 2).count, 1);
    assert_string_equal(holder_at(0, 3).owner, "1111111111114111000000000001ffff");
    assert_string_equal(holder_at(0, 4).owner, "fffe000102030405060708090a0b0c0d");
    assert_int_equal(holder_at(0, 4).remaining_ms, -1);
}

/* A number is what somebody says it is, or what is listened for; else perhaps a semaphore. */
static void inspect_numbers(void **state)
{
    static const struct {
        const char *field, *semaphore, *latch, *kind;
        int64_t waiters;
    } CASES[] = {
        { "x", ":0", ":0", "semaphore", 0 },
        { "wait/latch:L", ":0", ":1", "latch", 1 },
        { "wait/latch:L", ":3", ":1", "latch", 1 },
        { "wait/semaphore/1:L", ":2", ":0", "semaphore", 2 },
        { "wait/permits/1:L", ":2", ":0", "permits", 2 },
        { "hold/permits/1:L", ":0", ":0", "permits", 0 },
        { "x", ":0", ":2", "latch", 2 },
        { "x", ":1", ":0", "semaphore", 1 },
        { "x", ":1", ":1", "semaphore", 1 },
        { "wait/permits/1:L", ":0", ":0", "permits", 1 },
        { "wait/what:L", ":0", ":0", "semaphore", 0 },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(CASES); i++) {
        ask(HFI_OP_INSPECT, "L", NULL);
        wire_commands(&w, COMMANDS);
        REPLY("[1]", "holdfast:client:" CLIENT_1);
        wire_commands(&w, COMMANDS);
        REPLY("[2]", CASES[i].field, "1 1690000000000");
        wire_commands(&w, COMMANDS);
        REPLY("[2]", "[7]", "number", ":-1", ":5", ":0", "[0]", ":0", "[0]", ":1690000005000");
        wire_expect(&w, COMMANDS,
                    "PUBSUB NUMSUB redisson_sc:{L} redisson_countdownlatch__channel__{L}\n");
        REPLY("[4]", "x", CASES[i].semaphore, "y", CASES[i].latch);
        wire_finished(&w, &query.request, HFI_DONE, HF_OK);
        assert_string_equal(lock_at(0).kind, CASES[i].kind);
        assert_string_equal(lock_at(0).state, "free");
        assert_int_equal(lock_at(0).available, 5);
        assert_int_equal(lock_at(0).holders, 0);
        assert_int_equal(lock_at(0).waiters, CASES[i].waiters);
        assert_string_equal(lock_at(0).holder.owner, "");
    }
}

/* Only waited for: of what kind is what they say. */
static void inspect_free_kinds(void **state)
{
    static const struct {
        const char *field, *kind;
        int64_t available;
    } CASES[] = { { "wait:L", "mutex", -1 },        { "wait/spin:L", "mutex", -1 },
                  { "wait/fenced:L", "mutex", -1 }, { "wait/write:L", "write", -1 },
                  { "wait/read:L", "read", -1 },    { "wait/permits/3:L", "permits", 0 },
                  { "wait/latch:L", "latch", 0 },   { "wait/semaphore/2:L", "semaphore", 0 } };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(CASES); i++) {
        ask(HFI_OP_INSPECT, "L", NULL);
        wire_commands(&w, COMMANDS);
        REPLY("[1]", "holdfast:client:" CLIENT_1);
        wire_commands(&w, COMMANDS);
        REPLY("[2]", CASES[i].field, "1 1690000000000");
        wire_commands(&w, COMMANDS);
        REPLY("[2]", ":0", ":1690000005000");
        wire_finished(&w, &query.request, HFI_DONE, HF_OK);
        assert_string_equal(lock_at(0).kind, CASES[i].kind);
        assert_string_equal(lock_at(0).state, "free");
        assert_int_equal(lock_at(0).available, CASES[i].available);
        assert_int_equal(lock_at(0).waiters, 1);
    }
}

/* Names come from what lies there and from what is listened for; a number alone is not shown. */
static void list_of_every_kind(void **state)
{
    (void)state;
    ask(HFI_OP_LIST, NULL, NULL);
    wire_commands(&w, COMMANDS);
    REPLY("[1]", "holdfast:client:" CLIENT_1);
    wire_commands(&w, COMMANDS);
    REPLY("[4]", "wait/latch:l", "1 1690000000000", "wait/latch:", "1 1");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 1 l 64\n");
    REPLY("[2]", "[7]", "number", ":-1", ":5", ":0", "[0]", ":0", "[0]", ":1690000005000");
    wire_commands(&w, COMMANDS);
    REPLY("[4]", "x", ":0", "y", ":1");
    wire_expect(&w, COMMANDS, "SCAN 0 MATCH * COUNT 1000 TYPE hash\n");
    REPLY("[2]", "0", "[0]");
    wire_expect(&w, COMMANDS, "SCAN 0 MATCH *:timeout COUNT 1000 TYPE zset\n");
    REPLY("[2]", "5", "[3]", "{p}:timeout", "q{t}:timeout", "timeout");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 3 p {p} q{t} 64\n"); /* {p} is a name, too */
    REPLY("[4]", ":0", ":0", ":0", ":1690000005000");
    wire_expect(&w, COMMANDS, "SCAN 5 MATCH *:timeout COUNT 1000 TYPE zset\n");
    REPLY("[2]", "0", "[1]", "{p}:timeout");
    wire_expect(&w, COMMANDS, "PUBSUB CHANNELS redisson_*\n");
    REPLY("[10]", "redisson_sc:{s}", "redisson_sc:t{x}", "redisson_countdownlatch__channel__{l}",
          "redisson_countdownlatch__channel__{a{b}c}", "redisson_lock__channel:{L}",
          "redisson_lock__channel:{F}:" CLIENT_2 ":77", "redisson_rwlock:{R}",
          "redisson_lock__channel:{F}:" CLIENT_2 ":78", "redisson_sc:", "redisson_lock__channel:x");
    wire_expect(&w, COMMANDS, "EVALSHA inspect 6 s {s} t{x} a{b}c F {F} 64\n");
    REPLY("[7]", "[7]", "number", ":-1", ":4", ":0", "[0]", ":0", "[0]", ":0", "[7]", "number",
          ":-1", ":9", ":0", "[0]", ":0", "[0]", ":0", "[7]", "fair", ":-1", ":-1", ":0", "[0]",
          ":2", "[2]", CLIENT_2 ":77", CLIENT_2 ":78", ":0", ":1690000005000");
    wire_commands(&w, COMMANDS);
    REPLY("[10]", "x", ":1", "y", ":0", "x", ":0", "y", ":0", "z", ":0");
    wire_commands(&w, COMMANDS);
    REPLY("[0]"); /* the registry of those who queue */
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_int_equal(hf_list_count(query.list), 3);
    assert_string_equal(lock_at(0).name, "l");
    assert_string_equal(lock_at(0).kind, "latch");
    assert_string_equal(lock_at(1).name, "s");
    assert_string_equal(lock_at(1).kind, "semaphore");
    assert_int_equal(lock_at(1).available, 4);
    assert_string_equal(lock_at(2).name, "F");
    assert_string_equal(lock_at(2).state, "free");
    assert_int_equal(lock_at(2).waiters, 2);
}

/* Rows that have not the shape of one are no locks. */
static void strange_rows(void **state)
{
    static const char *const ROWS[] = {
        "*7\r\n$4\r\nwhat\r\n:1\r\n:1\r\n:0\r\n*0\r\n:0\r\n*0\r\n",
        "*7\r\n:1\r\n:1\r\n:1\r\n:0\r\n*0\r\n:0\r\n*0\r\n",
        "*7\r\n$4\r\nread\r\n$1\r\n1\r\n:1\r\n:0\r\n*0\r\n:0\r\n*0\r\n",
        "*7\r\n$4\r\nread\r\n:1\r\n:1\r\n:1\r\n*0\r\n:0\r\n*0\r\n",
        "*7\r\n$4\r\nread\r\n:1\r\n:1\r\n:0\r\n*3\r\n$1\r\na\r\n:1\r\n:1\r\n:0\r\n*0\r\n",
        "*7\r\n$4\r\nread\r\n:1\r\n:1\r\n:5\r\n*2\r\n$1\r\na\r\n:1\r\n:0\r\n*0\r\n",
        "*7\r\n$4\r\nread\r\n:1\r\n:1\r\n:5\r\n*3\r\n:1\r\n:1\r\n:1\r\n:0\r\n*0\r\n",
        "*7\r\n$4\r\nread\r\n:1\r\n:1\r\n:-5\r\n*0\r\n:0\r\n*0\r\n",
        "*7\r\n$4\r\nfair\r\n:1\r\n:1\r\n:0\r\n*0\r\n:0\r\n*1\r\n$1\r\na\r\n",
        "*7\r\n$4\r\nfair\r\n:1\r\n:1\r\n:0\r\n*0\r\n:1\r\n*1\r\n:1\r\n",
        "*7\r\n$4\r\nfair\r\n:1\r\n:1\r\n:0\r\n$-1\r\n:1\r\n*0\r\n",
        "*6\r\n$4\r\nfair\r\n:1\r\n:1\r\n:0\r\n*0\r\n:1\r\n",
        "$4\r\nfair\r\n",
    };
    char bytes[256];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(ROWS); i++) {
        ask(HFI_OP_INSPECT, "L", NULL);
        wire_commands(&w, COMMANDS);
        REPLY("[0]");
        wire_commands(&w, COMMANDS);
        snprintf(bytes, sizeof bytes, "*2\r\n%s:5\r\n", ROWS[i]);
        wire_say(&w, COMMANDS, bytes);
        wire_finished(&w, &query.request, HFI_NOT_DONE, HF_ERR_NOT_FOUND);
    }
}

/* Whose permits: an owner's all, or one by its id; and nobody's where it is neither. */
static void break_permits(void **state)
{
    static const struct {
        const char *owner, *id;
        size_t len;
    } CASES[] = {
        { CLIENT_1 ":7", "\x11\x11\x11\x11\x11\x11\x41\x11\0\0\0\0\0\7", 14 },
        { "fffe000102030405060708090a0b0c0d", "\xff\xfe\0\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c\x0d",
          16 },
        { "fffe000102030405060708090a0b0c0", "", 0 },
        { "fffe000102030405060708090a0b0c0x", "", 0 },
        { "someone:7", "", 0 },
        { "", "", 0 },
    };
    struct command command;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(CASES); i++) {
        ask(HFI_OP_BREAK, "L", CASES[i].owner);
        assert_true(wire_read(&w, COMMANDS, &command));
        assert_int_equal(command.argc, 3 + 14);
        for (size_t k = 3; k < 11; k++) /* all keys */
            assert_int_equal(hfi_slot(command.argv[k], command.len[k]), hfi_slot("L", 1));
        assert_string_equal(command.argv[11], CASES[i].owner);
        assert_int_equal(command.len[15], CASES[i].len);
        assert_memory_equal(command.argv[15], CASES[i].id, CASES[i].len);
        wire_say(&w, COMMANDS, ":0\r\n");
        wire_finished(&w, &query.request, HFI_NOT_DONE, HF_ERR_CHANGED);
    }
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
        "*4\r\n$1\r\nx\r\n:3\r\n$1\r\ny\r\n:1\r\n",
        "*2\r\n*7\r\n$6\r\nnumber\r\n:1\r\n:5\r\n:0\r\n*0\r\n:0\r\n*0\r\n:5\r\n",
        ("*2\r\n*7\r\n$7\r\npermits\r\n:1\r\n:5\r\n:2\r\n*3\r\n$2\r\nxy\r\n:1\r\n:1\r\n:0\r\n*"
         "0\r\n:"
         "5\r\n"),
        "*2\r\n*7\r\n$4\r\nfair\r\n:1\r\n:-1\r\n:0\r\n*0\r\n:1\r\n*1\r\n$3\r\na:1\r\n:5\r\n",
        "*2\r\n$15\r\nredisson_sc:{A}\r\n$9\r\nA:timeout\r\n",
        "*2\r\n$14\r\nwait/permits:A\r\n$3\r\n1 5\r\n",
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
        OPEN(inspect_fair),
        OPEN(inspect_fair_alone),
        OPEN(inspect_readers),
        OPEN(inspect_permits),
        OPEN(inspect_numbers),
        OPEN(inspect_free_kinds),
        OPEN(list_of_every_kind),
        OPEN(strange_rows),
        OPEN(break_permits),
        OPEN(random_replies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
