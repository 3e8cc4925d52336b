/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Redis store with layout=string: what is sent, by scripts and by the server's own commands, and what is made
 * of the answers. Several replies answer one request there; nothing in a reply is trusted.
 */
#include "wire.h"

#define ENTRY   "*2\r\n$1\r\nx\r\n:3\r\n"
#define DELIFEQ "*2\r\n" ENTRY "*-1\r\n"
#define DELEX   "*2\r\n*-1\r\n" ENTRY
#define BOTH    "*2\r\n" ENTRY ENTRY

static struct wire w;
static struct hfi_query query;

static void open_on(const char *uri, const char *commands)
{
    static struct hfi_request check;

    wire_open(&w, uri);
    w.commands = commands;
    wire_submit(&w, &check, HFI_OP_CHECK);
    wire_up(&w, COMMANDS);
    wire_expect(&w, COMMANDS, "PING\n");
    wire_say(&w, COMMANDS, "+PONG\r\n");
    wire_finished(&w, &check, HFI_DONE, HF_OK);
}

static int on_a_plain_server(void **state)
{
    (void)state;
    open_on("redis://h?layout=string", NULL);
    return 0;
}

static int on_valkey(void **state)
{
    (void)state;
    open_on("redis://h?layout=string", DELIFEQ);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wire_close(&w);
    query.list = hf_list_free(query.list);
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * By scripts
 */

/* When to look again at others' locks differs from try to try, so that processes do not march in step. */
static void try_as_a_command(void **state)
{
    unsigned seen[101] = { 0 }, different = 0;
    struct command command;

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct hfi_lease *lease = wire_lease(&w, "job:1", 42);
        unsigned long ms;

        wire_submit(&w, &lease->request, HFI_OP_TRY);
        assert_true(wire_read(&w, COMMANDS, &command));
        assert_int_equal(command.argc, 9);
        assert_string_equal(command.argv[3], "job:1");
        assert_string_equal(command.argv[4], "holdfast:token:{lllhjh}");
        assert_string_equal(command.argv[5], OWNER(42));
        assert_string_equal(command.argv[6], "30000");
        assert_string_equal(command.argv[7], "1");
        ms = strtoul(command.argv[8], NULL, 10);
        assert_in_range(ms, 75, 100);
        different += seen[ms]++ == 0;
        wire_say(&w, COMMANDS, "*3\r\n:0\r\n:90\r\n:0\r\n");
        wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
        assert_int_equal(lease->verdict, HFI_BUSY);
        assert_int_equal(lease->hint_ns, 90 * HFI_MSEC);
        assert_int_equal(lease->topic, HFI_TOPIC_LOCK);
    }
    assert_true(different > 10);
}

static void scripts(void **state)
{
    struct hfi_lease *one = wire_lease(&w, "L", 1), *two = wire_lease(&w, "x{M}", 2);
    struct hfi_renewal_item items[] = { { .lease = one, .ttl_ms = 30000 }, { .lease = two } };
    struct hfi_renewal renewal = { .count = 2, .items = items };

    (void)state;
    wire_submit(&w, &one->request, HFI_OP_RELEASE);
    wire_submit(&w, &two->request, HFI_OP_RELEASE);
    wire_submit(&w, &renewal.request, HFI_OP_RENEW);
    wire_expect(&w, COMMANDS,
                "EVALSHA release_string 2 L redisson_lock__channel:{L} " OWNER(
                    1) " 0 \n"
                       "EVALSHA release_string 2 x{M} redisson_lock__channel:x{M} " OWNER(
                           2) " 0 \n"
                              "EVALSHA renew_string 2 L x{M} 30000 " OWNER(1) " 0 " OWNER(2) "\n");
    wire_say(&w, COMMANDS, ":2\r\n:-1\r\n*2\r\n:1\r\n:0\r\n");
    wire_finished(&w, &one->request, HFI_DONE, HF_OK);
    wire_finished(&w, &two->request, HFI_DONE, HF_OK);
    wire_finished(&w, &renewal.request, HFI_DONE, HF_OK);
    assert_int_equal(one->verdict, HFI_RELEASED);
    assert_int_equal(one->others, 2);
    assert_int_equal(two->verdict, HFI_GONE);
    assert_true(items[0].kept && !items[1].kept);
}

/* A server that does not know a script is sent its text. */
static void a_script_that_is_not_known(void **state)
{
    struct hfi_lease *lease = wire_lease(&w, "L", 1);

    (void)state;
    wire_submit(&w, &lease->request, HFI_OP_RELEASE);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "-NOSCRIPT No matching script.\r\n");
    wire_nothing_finished(&w);
    wire_expect(&w, COMMANDS,
                "EVAL release_string 2 L redisson_lock__channel:{L} " OWNER(1) " 0 \n");
    wire_say(&w, COMMANDS, ":0\r\n");
    wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
}

/* Waiters of python-redis-lock block on a list, so that is told too, and never without the lock's end. */
static void names_of_python_redis_lock(void **state)
{
    static const struct {
        const char *name, *signal;
    } NAMES[] = { { "lock:job", "lock-signal:job" },
                  { "lock:{a}b", "lock-signal:{a}b" },
                  { "lock:lock:", "lock-signal:lock:" },
                  { "lock:", "" },
                  { "lock", "" },
                  { "Lock:job", "" },
                  { "a:lock:job", "" } };
    struct command command;

    (void)state;
    for (int by = 0; by < 2; by++) {
        wire_redis(&w)->compare = by ? HFI_COMPARE_DELIFEQ : HFI_COMPARE_NONE;
        for (size_t i = 0; i < UNIT_COUNT(NAMES); i++) {
            struct hfi_lease *lease = wire_lease(&w, NAMES[i].name, 1);

            wire_submit(&w, &lease->request, HFI_OP_RELEASE);
            assert_true(wire_read(&w, COMMANDS, &command));
            if (by && !NAMES[i].signal[0]) {
                assert_string_equal(command.argv[0], "DELIFEQ");
                assert_true(wire_read(&w, COMMANDS, &command));
                wire_say(&w, COMMANDS, ":1\r\n:0\r\n");
            } else {
                assert_string_equal(command.argv[0], "EVALSHA");
                assert_int_equal(command.argc, 8);
                assert_string_equal(command.argv[7], NAMES[i].signal);
                wire_say(&w, COMMANDS, ":0\r\n");
            }
            wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
            assert_int_equal(lease->verdict, HFI_RELEASED);
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Which commands the server has
 */

static void greeting(void **state)
{
    static const struct {
        const char *reply;
        enum hfi_compare compare;
    } REPLIES[] = {
        { DELIFEQ, HFI_COMPARE_DELIFEQ },
        { DELEX, HFI_COMPARE_DELEX },
        { BOTH, HFI_COMPARE_DELIFEQ },
        { "*2\r\n*-1\r\n*-1\r\n", HFI_COMPARE_NONE },
        { "*2\r\n$-1\r\n$-1\r\n", HFI_COMPARE_NONE },
        { "*2\r\n*0\r\n*0\r\n", HFI_COMPARE_NONE },
        { "*0\r\n", HFI_COMPARE_NONE },
        { "*1\r\n" ENTRY, HFI_COMPARE_DELIFEQ },
        { ":1\r\n", HFI_COMPARE_NONE },
        { "+OK\r\n", HFI_COMPARE_NONE },
        { "-NOPERM no permission\r\n", HFI_COMPARE_NONE },
        { "-ERR unknown command\r\n", HFI_COMPARE_NONE },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(REPLIES); i++) {
        open_on("redis://h?layout=string", REPLIES[i].reply);
        assert_int_equal(wire_redis(&w)->compare, REPLIES[i].compare);
        wire_close(&w);
    }
    wire_open(&w, "redis://h");
    wire_submit(&w, &wire_lease(&w, "L", 1)->request, HFI_OP_TRY);
    wire_connect(&w, COMMANDS);
    assert_null(strstr(wire_commands(&w, COMMANDS), "COMMAND"));
}

/* Only what one owner needs, and what has nothing to do with locks. */
static void kinds(void **state)
{
    (void)state;
    assert_int_equal(w.store->kinds, HFI_KIND_BIT(HFI_KIND_MUTEX) | HFI_KIND_BIT(HFI_KIND_SPIN));
    assert_true(w.store->verbs & HFI_VERB_BIT(HFI_BUCKET_GET));
    assert_true(w.store->verbs & HFI_VERB_BIT(HFI_STAMP_SET));
    assert_false(w.store->verbs & HFI_VERB_BIT(HFI_SEMAPHORE_SET));
    assert_false(w.store->verbs & HFI_VERB_BIT(HFI_LATCH_DELETE));
}

/* ------------------------------------------------------------------------------------------------
 * Releases by the server's own command
 */

static struct hfi_lease *release(const char *name)
{
    struct hfi_lease *lease = wire_lease(&w, name, 7);

    wire_submit(&w, &lease->request, HFI_OP_RELEASE);
    return lease;
}

static void delifeq(void **state)
{
    struct hfi_lease *lease = release("L");

    (void)state;
    wire_expect(&w, COMMANDS, "DELIFEQ L " OWNER(7) "\nPUBLISH redisson_lock__channel:{L} 0\n");
    wire_say(&w, COMMANDS, ":1\r\n");
    wire_nothing_finished(&w);
    assert_true(w.class_->expects(w.store, COMMANDS));
    wire_say(&w, COMMANDS, ":3\r\n");
    wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
    assert_false(w.class_->expects(w.store, COMMANDS));
    assert_int_equal(lease->verdict, HFI_RELEASED);
    assert_int_equal(lease->others, 3);
}

static void delex(void **state)
{
    struct hfi_lease *lease;

    (void)state;
    open_on("redis://h?layout=string&prefix=app:", DELEX);
    lease = release("L");
    wire_expect(&w, COMMANDS,
                "DELEX app:L IFEQ " OWNER(7) "\nPUBLISH redisson_lock__channel:{app:L} 0\n");
    wire_say(&w, COMMANDS, ":1\r\n:0\r\n");
    wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
    assert_int_equal(lease->verdict, HFI_RELEASED);
}

static void answers_to_a_release(void **state)
{
    static const struct {
        const char *replies;
        enum hfi_outcome outcome;
        enum hfi_verdict verdict;
        uint32_t others;
    } ANSWERS[] = {
        { ":1\r\n:0\r\n", HFI_DONE, HFI_RELEASED, 0 },
        { ":0\r\n:5\r\n", HFI_DONE, HFI_GONE, 5 },
        { ":1\r\n:-1\r\n", HFI_DONE, HFI_RELEASED, 0 },
        { ":1\r\n-NOPERM no channel\r\n", HFI_DONE, HFI_RELEASED, 0 },
        { ":1\r\n+QUEUED\r\n", HFI_DONE, HFI_RELEASED, 0 },
        { "-WRONGTYPE Operation against\r\n:0\r\n", HFI_DONE, HFI_GONE, 0 },
        { ":2\r\n:0\r\n", HFI_UNKNOWN, HFI_GONE, 0 },
        { ":-1\r\n:0\r\n", HFI_UNKNOWN, HFI_GONE, 0 },
        { "+OK\r\n:0\r\n", HFI_UNKNOWN, HFI_GONE, 0 },
        { "$-1\r\n:0\r\n", HFI_UNKNOWN, HFI_GONE, 0 },
        { "*1\r\n:1\r\n:0\r\n", HFI_UNKNOWN, HFI_GONE, 0 },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(ANSWERS); i++) {
        struct hfi_lease *lease = release("L"), *next = release("M");

        wire_commands(&w, COMMANDS);
        wire_say(&w, COMMANDS, ANSWERS[i].replies);
        wire_finished(&w, &lease->request, ANSWERS[i].outcome,
                      ANSWERS[i].outcome == HFI_DONE ? HF_OK : HF_ERR_UNSURE);
        if (ANSWERS[i].outcome == HFI_DONE) {
            assert_int_equal(lease->verdict, ANSWERS[i].verdict);
            assert_int_equal(lease->others, ANSWERS[i].others);
        }
        wire_say(&w, COMMANDS, ":1\r\n:1\r\n"); /* and the next is answered by its own */
        wire_finished(&w, &next->request, HFI_DONE, HF_OK);
        assert_int_equal(next->verdict, HFI_RELEASED);
        assert_int_equal(next->others, 1);
    }
}

/* Refused for whatever other reason: the script has the last word, and does it from then on. */
static void a_release_that_is_refused(void **state)
{
    static const char *const ERRORS[] = {
        "-NOPERM no permission to run DELIFEQ\r\n",
        "-ERR unknown command 'DELIFEQ'\r\n",
        "-OOM command not allowed\r\n",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(ERRORS); i++) {
        struct hfi_lease *lease, *second, *third;

        wire_redis(&w)->compare = HFI_COMPARE_DELIFEQ;
        lease = release("L");
        second = release("M");
        wire_commands(&w, COMMANDS);
        wire_say(&w, COMMANDS, ERRORS[i]);
        wire_say(&w, COMMANDS, ":0\r\n");
        wire_nothing_finished(&w);
        wire_expect(&w, COMMANDS, "");
        wire_say(&w, COMMANDS, ":1\r\n:1\r\n"); /* of the second, which was sent before */
        wire_finished(&w, &second->request, HFI_DONE, HF_OK);
        wire_expect(&w, COMMANDS,
                    "EVALSHA release_string 2 L redisson_lock__channel:{L} " OWNER(7) " 0 \n");
        wire_say(&w, COMMANDS, ":4\r\n");
        wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
        assert_int_equal(lease->verdict, HFI_RELEASED);
        assert_int_equal(lease->others, 4);
        third = release("L");
        wire_expect(&w, COMMANDS,
                    "EVALSHA release_string 2 L redisson_lock__channel:{L} " OWNER(7) " 0 \n");
        wire_say(&w, COMMANDS, "-NOPERM no permission to run EVALSHA\r\n");
        wire_finished(&w, &third->request, HFI_NOT_DONE, HF_ERR_PERMISSION);
    }
}

/* Between the two replies the connection ends: whether it was done is known, but not told, and the next
 * connection begins with nothing left of it. */
static void half_an_answer(void **state)
{
    struct hfi_lease *lease = release("L"), *again;

    (void)state;
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, ":1\r\n");
    wire_lose(&w, COMMANDS);
    wire_finished(&w, &lease->request, HFI_UNKNOWN, HF_ERR_UNSURE);
    again = release("L");
    wire_up(&w, COMMANDS);
    wire_expect(&w, COMMANDS, "DELIFEQ L " OWNER(7) "\nPUBLISH redisson_lock__channel:{L} 0\n");
    wire_say(&w, COMMANDS, ":0\r\n");
    wire_nothing_finished(&w);
    wire_say(&w, COMMANDS, ":0\r\n");
    wire_finished(&w, &again->request, HFI_DONE, HF_OK);
    assert_int_equal(again->verdict, HFI_GONE);
}

/* Unanswered, whole or in half, it is unknown in time. */
static void no_answer_in_time(void **state)
{
    struct hfi_lease *lease = release("L");

    (void)state;
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, ":1\r\n");
    wire_pass(&w, 3000);
    assert_true(wire_drops(&w, COMMANDS));
    wire_finished(&w, &lease->request, HFI_UNKNOWN, HF_ERR_UNSURE);
}

/* ------------------------------------------------------------------------------------------------
 * Renewals by the server's own command
 */

static struct hfi_renewal_item items[3];
static struct hfi_renewal renewal;

static void renew(void)
{
    for (size_t i = 0; i < 3; i++)
        items[i] =
            (struct hfi_renewal_item){ .lease = wire_lease(&w, i ? i == 1 ? "M" : "N" : "L", i + 1),
                                       .ttl_ms = i == 1 ? 0 : 5000,
                                       .kept = true };
    renewal = (struct hfi_renewal){ .count = 3, .items = items };
    wire_submit(&w, &renewal.request, HFI_OP_RENEW);
}

static void renewal_as_commands(void **state)
{
    (void)state;
    renew();
    wire_expect(
        &w, COMMANDS,
        "SET L " OWNER(1) " IFEQ " OWNER(1) " PX 5000\n"
                                            "GET M\n"
                                            "SET N " OWNER(3) " IFEQ " OWNER(3) " PX 5000\n");
    wire_say(&w, COMMANDS, "+OK\r\n$38\r\n" OWNER(2) "\r\n");
    wire_nothing_finished(&w);
    wire_say(&w, COMMANDS, "$-1\r\n");
    wire_finished(&w, &renewal.request, HFI_DONE, HF_OK);
    assert_true(items[0].kept && items[1].kept && !items[2].kept);
}

static void answers_to_a_renewal(void **state)
{
    static const struct {
        const char *replies;
        bool kept[3];
    } ANSWERS[] = {
        { "+OK\r\n$-1\r\n+OK\r\n", { true, false, true } },
        { "-WRONGTYPE x\r\n-WRONGTYPE x\r\n+OK\r\n", { false, false, true } },
        { "*-1\r\n$38\r\n" OWNER(1) "\r\n+OK\r\n", { false, false, true } },
        { "+OK\r\n$39\r\n" OWNER(22) "\r\n+OK\r\n", { true, false, true } },
        { "+OK\r\n$37\r\n" WIRE_ID ":\r\n+OK\r\n", { true, false, true } },
        { "+OK\r\n$0\r\n\r\n+OK\r\n", { true, false, true } },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(ANSWERS); i++) {
        renew();
        wire_commands(&w, COMMANDS);
        wire_say(&w, COMMANDS, ANSWERS[i].replies);
        wire_finished(&w, &renewal.request, HFI_DONE, HF_OK);
        for (int k = 0; k < 3; k++)
            assert_int_equal(items[k].kept, ANSWERS[i].kept[k]);
    }
}

static void a_renewal_that_makes_no_sense(void **state)
{
    static const char *const REPLIES[] = {
        ":1\r\n$-1\r\n+OK\r\n",       "+OK\r\n:1\r\n+OK\r\n", "+OK\r\n+OK\r\n+OK\r\n",
        "$2\r\nOK\r\n$-1\r\n+OK\r\n", "+OK\r\n$-1\r\n*0\r\n",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(REPLIES); i++) {
        renew();
        wire_commands(&w, COMMANDS);
        wire_say(&w, COMMANDS, REPLIES[i]);
        wire_finished(&w, &renewal.request, HFI_UNKNOWN, HF_ERR_UNSURE);
    }
}

/* A server without memory refuses SET, and does not refuse the script's PEXPIRE. */
static void a_renewal_without_memory(void **state)
{
    (void)state;
    renew();
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "+OK\r\n$-1\r\n-OOM command not allowed\r\n");
    wire_nothing_finished(&w);
    wire_expect(
        &w, COMMANDS,
        "EVALSHA renew_string 3 L M N 5000 " OWNER(1) " 0 " OWNER(2) " 5000 " OWNER(3) "\n");
    wire_say(&w, COMMANDS, "*3\r\n:1\r\n:0\r\n:1\r\n");
    wire_finished(&w, &renewal.request, HFI_DONE, HF_OK);
    assert_true(items[0].kept && !items[1].kept && items[2].kept);
}

/* As many of the longest names as there may be fit into what is sent in one go. */
static void the_largest_renewal(void **state)
{
    static struct hfi_renewal_item many[HFI_RENEWAL_MAX];
    static char name[HF_NAME_MAX + 1], uri[64 + HFI_PREFIX_MAX];
    struct command command;

    (void)state;
    memset(name, 'n', HF_NAME_MAX);
    snprintf(uri, sizeof uri, "redis://h?layout=string&prefix=%0*d", HFI_PREFIX_MAX, 0);
    open_on(uri, DELIFEQ);
    for (size_t i = 0; i < HFI_RENEWAL_MAX; i++)
        many[i] = (struct hfi_renewal_item){ .lease = wire_lease(&w, name, UINT64_MAX - i),
                                             .ttl_ms = HF_TTL_MAX_MS };
    renewal = (struct hfi_renewal){ .count = HFI_RENEWAL_MAX, .items = many };
    wire_submit(&w, &renewal.request, HFI_OP_RENEW);
    for (size_t i = 0; i < HFI_RENEWAL_MAX; i++) {
        assert_true(wire_read(&w, COMMANDS, &command));
        assert_int_equal(command.len[1], HFI_MAPPED_MAX);
        wire_say(&w, COMMANDS, "+OK\r\n");
    }
    wire_finished(&w, &renewal.request, HFI_DONE, HF_OK);
}

/* ------------------------------------------------------------------------------------------------
 * For people
 */

static void ask(enum hfi_op op, const char *text, const char *owner)
{
    query = (struct hfi_query){ .text = text, .owner = owner, .list = hfi_list_new() };
    wire_submit(&w, &query.request, op);
}

#define TOKEN "0123456789abcdef0123456789abcdef"

static void inspect(void **state)
{
    struct hf_lock lock = { .size = sizeof lock };

    (void)state;
    ask(HFI_OP_INSPECT, "L", NULL);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "*1\r\n$20\r\nholdfast:client:who1\r\n");
    wire_expect(&w, COMMANDS, "HGETALL holdfast:client:who1\n");
    wire_say(&w, COMMANDS,
             "*6\r\n$13\r\nstring-hold:L\r\n$7\r\n7 5 0 x\r\n$6\r\nhold:L\r\n$7\r\n7 9 0 y\r\n"
             "$3\r\npid\r\n$2\r\n77\r\n");
    wire_expect(&w, COMMANDS, "EVALSHA inspect_string 1 L 1\n");
    wire_say(&w, COMMANDS, "*2\r\n*3\r\n:29000\r\n$6\r\nwho1:7\r\n$1\r\n1\r\n:1000\r\n");
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "*2\r\n$1\r\nx\r\n:0\r\n");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_int_equal(hf_list_get(query.list, 0, &lock), HF_OK);
    assert_string_equal(lock.holder.owner, "who1:7");
    assert_int_equal(lock.holder.token, 5); /* of this layout, not of the other */
    assert_string_equal(lock.holder.label, "x");
    assert_int_equal(lock.holder.pid, 77);
}

static void list(void **state)
{
    struct hf_lock lock = { .size = sizeof lock };

    (void)state;
    ask(HFI_OP_LIST, "L*", NULL);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "*0\r\n");
    wire_expect(&w, COMMANDS, "SCAN 0 MATCH L* COUNT 1000 TYPE string\n");
    wire_say(&w, COMMANDS, "*2\r\n$1\r\n0\r\n*2\r\n$1\r\nL\r\n$2\r\nLx\r\n");
    wire_expect(&w, COMMANDS, "EVALSHA inspect_string 2 L Lx \n");
    wire_say(&w, COMMANDS, "*3\r\n*3\r\n:-1\r\n$32\r\n" TOKEN "\r\n$1\r\n1\r\n:0\r\n:1000\r\n");
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "*2\r\n$1\r\nx\r\n:0\r\n");
    wire_expect(&w, COMMANDS, "HGETALL holdfast:client:" TOKEN "\n");
    wire_say(&w, COMMANDS, "*0\r\n");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
    assert_int_equal(hf_list_count(query.list), 1);
    assert_int_equal(hf_list_get(query.list, 0, &lock), HF_OK);
    assert_string_equal(lock.name, "L");
    assert_string_equal(lock.state, "held");
    assert_string_equal(lock.holder.owner, TOKEN);
    assert_int_equal(lock.holder.remaining_ms, -1);
}

static void break_it(void **state)
{
    (void)state;
    ask(HFI_OP_BREAK, "lock:L", TOKEN);
    wire_expect(&w, COMMANDS,
                "EVALSHA break_string 2 lock:L redisson_lock__channel:{lock:L} " TOKEN
                " 0 lock-signal:L\n");
    wire_say(&w, COMMANDS, ":1\r\n");
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, ":0\r\n");
    wire_finished(&w, &query.request, HFI_DONE, HF_OK);
}

static void announcement(void **state)
{
    static struct hfi_announcement said;

    (void)state;
    said = (struct hfi_announcement){ .ttl_ns = 35 * HFI_SEC, .count = 1 };
    said.items[0] =
        (struct hfi_announcement_item){ .name = "L", .name_len = 1, .held = true, .owner = 3 };
    wire_submit(&w, &said.request, HFI_OP_ANNOUNCE);
    assert_non_null(strstr(wire_commands(&w, COMMANDS), " string- L 1 3 0 "));
}

#define PLAIN(f)  cmocka_unit_test_setup_teardown(f, on_a_plain_server, teardown)
#define VALKEY(f) cmocka_unit_test_setup_teardown(f, on_valkey, teardown)
#define ALONE(f)  cmocka_unit_test_teardown(f, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN(try_as_a_command),
        PLAIN(scripts),
        PLAIN(a_script_that_is_not_known),
        PLAIN(names_of_python_redis_lock),
        ALONE(greeting),
        PLAIN(kinds),
        VALKEY(delifeq),
        ALONE(delex),
        VALKEY(answers_to_a_release),
        VALKEY(a_release_that_is_refused),
        VALKEY(half_an_answer),
        VALKEY(no_answer_in_time),
        VALKEY(renewal_as_commands),
        VALKEY(answers_to_a_renewal),
        VALKEY(a_renewal_that_makes_no_sense),
        VALKEY(a_renewal_without_memory),
        ALONE(the_largest_renewal),
        PLAIN(inspect),
        PLAIN(list),
        PLAIN(break_it),
        PLAIN(announcement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
