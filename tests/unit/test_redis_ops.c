/* SPDX-License-Identifier: Apache-2.0 */
/* The Redis store: requests as commands, replies as answers. Nothing in a reply is trusted. */
#include "wire.h"

static struct wire w;

static int setup(void **state)
{
    static struct hfi_request check;

    (void)state;
    wire_open(&w, "redis://h");
    wire_submit(&w, &check, HFI_OP_CHECK);
    wire_up(&w, COMMANDS);
    wire_expect(&w, COMMANDS, "PING\n");
    wire_say(&w, COMMANDS, "+PONG\r\n");
    wire_finished(&w, &check, HFI_DONE, HF_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wire_close(&w);
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Commands
 */

static void try_as_a_command(void **state)
{
    struct hfi_lease *lease = wire_lease(&w, "job:1", 42);

    (void)state;
    lease->tokens = 1001;
    wire_submit(&w, &lease->request, HFI_OP_TRY);
    wire_expect(&w, COMMANDS,
                "EVALSHA acquire 2 job:1 holdfast:token:{lllhjh} " OWNER(42) " 30000 1001\n");
    assert_int_equal(lease->request.sent_ns, w.now);
    assert_true(w.class_->expects(w.store, COMMANDS));
}

/* The counter lies in the lock's slot, by its tag. */
static void try_of_a_tagged_name(void **state)
{
    struct hfi_lease *one = wire_lease(&w, "a{foo}", 1), *two = wire_lease(&w, "foo", 2);

    (void)state;
    wire_submit(&w, &one->request, HFI_OP_TRY);
    wire_submit(&w, &two->request, HFI_OP_TRY);
    wire_expect(&w, COMMANDS,
                "EVALSHA acquire 2 a{foo} holdfast:token:{hlnolh} " OWNER(
                    1) " 30000 1\n"
                       "EVALSHA acquire 2 foo holdfast:token:{hlnolh} " OWNER(2) " 30000 1\n");
}

static void release_as_a_command(void **state)
{
    struct hfi_lease *lease = wire_lease(&w, "L", 42),
                     *tagged = wire_lease(&w, "x{L}", 18446744073709551615u);

    (void)state;
    wire_submit(&w, &lease->request, HFI_OP_RELEASE);
    wire_submit(&w, &tagged->request, HFI_OP_RELEASE);
    wire_expect(&w, COMMANDS,
                "EVALSHA release 2 L redisson_lock__channel:{L} " OWNER(
                    42) " 0\n"
                        "EVALSHA release 2 x{L} redisson_lock__channel:x{L} " OWNER(
                            18446744073709551615) " 0\n");
}

static void renewal_as_a_command(void **state)
{
    struct hfi_lease *one = wire_lease(&w, "L", 1), *two = wire_lease(&w, "M", 2);
    static struct hfi_renewal_item items[2];
    static struct hfi_renewal renewal;
    struct hfi_renewal_item wanted[] = { { .lease = one, .ttl_ms = 30000 }, { .lease = two } };

    (void)state;
    memcpy(items, wanted, sizeof items);
    renewal = (struct hfi_renewal){ .count = 2, .items = items };
    wire_submit(&w, &renewal.request, HFI_OP_RENEW);
    wire_expect(&w, COMMANDS, "EVALSHA renew 2 L M 30000 " OWNER(1) " 0 " OWNER(2) "\n");
}

static void announcement_as_a_command(void **state)
{
    static struct hfi_announcement announcement;

    (void)state;
    w.now += 5 * HFI_SEC;
    announcement.ttl_ns = 35 * HFI_SEC;
    announcement.count = 2;
    announcement.items[0] =
        (struct hfi_announcement_item){ .name = "L",
                                        .name_len = 1,
                                        .held = true,
                                        .owner = 3,
                                        .token = 77,
                                        .held_since_ns = w.now - 1500 * HFI_MSEC,
                                        .waiters = 2,
                                        .waiting_since_ns = w.now - HFI_SEC,
                                        .label = "why it is",
                                        .watching = true };
    announcement.items[1] = (struct hfi_announcement_item){ .name = "M", .name_len = 1 };
    wire_submit(&w, &announcement.request, HFI_OP_ANNOUNCE);
    wire_expect(&w, COMMANDS,
                "EVALSHA announce 1 holdfast:client:" WIRE_ID
                " 35000 host user prog 4711 " HF_VERSION
                " 5000  L 1 3 77 1500 why it is 2 1000 1  M 0 0 0 1005000  0 1005000 0 \n");
}

/* Farewell is only said where something was announced; leaving a queue that there is not is done at once. */
static void farewell_and_leave(void **state)
{
    static struct hfi_request farewell;
    struct hfi_watch *watch = wire_watch(&w, "L");
    static struct hfi_announcement announcement;

    (void)state;
    wire_submit(&w, &farewell, HFI_OP_FAREWELL);
    wire_finished(&w, &farewell, HFI_DONE, HF_OK);
    wire_submit(&w, &watch->request, HFI_OP_LEAVE);
    wire_finished(&w, &watch->request, HFI_DONE, HF_OK);
    wire_expect(&w, COMMANDS, "");
    wire_submit(&w, &announcement.request, HFI_OP_ANNOUNCE);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, ":0\r\n");
    wire_finished(&w, &announcement.request, HFI_DONE, HF_OK);
    wire_submit(&w, &farewell, HFI_OP_FAREWELL);
    wire_expect(&w, COMMANDS, "DEL holdfast:client:" WIRE_ID "\n");
    wire_say(&w, COMMANDS, ":1\r\n");
    wire_finished(&w, &farewell, HFI_DONE, HF_OK);
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 */

struct try_case {
    const char *reply;
    enum hfi_outcome outcome;
    int error;
    enum hfi_verdict verdict;
    uint64_t token;
    uint32_t tokens;
    hfi_time hint_ms;
    enum hfi_topic kind;
};

static const struct try_case TRIES[] = {
    { "*3\r\n:1\r\n:1700000000000000\r\n:1\r\n", HFI_DONE, HF_OK, HFI_GRANTED, 1700000000000000, 1,
      0, 0 },
    { "*3\r\n:1\r\n:7\r\n:8\r\n", HFI_DONE, HF_OK, HFI_GRANTED, 7, 8, 0, 0 },
    { "*3\r\n:1\r\n:9007199254740991\r\n:1\r\n", HFI_DONE, HF_OK, HFI_GRANTED, 9007199254740991, 1,
      0, 0 },
    { "*3\r\n:0\r\n:29500\r\n:0\r\n", HFI_DONE, HF_OK, HFI_BUSY, 0, 0, 29500, HFI_TOPIC_LOCK },
    { "*3\r\n:0\r\n:29500\r\n:1\r\n", HFI_DONE, HF_OK, HFI_BUSY, 0, 0, 29500,
      HFI_TOPIC_READ_WRITE },
    { "*1\r\n:2\r\n", HFI_DONE, HF_OK, HFI_ALREADY, 0, 0, 0, 0 },
    { "-OOM command not allowed when used memory > 'maxmemory'.\r\n", HFI_NOT_DONE,
      HF_ERR_STORE_FULL, 0, 0, 0, 0, 0 },
    { "-ERR Error running script (call to f_0): @user_script:12: @user_script: 12: -OOM command "
      "not "
      "allowed when used memory > 'maxmemory'.\r\n",
      HFI_NOT_DONE, HF_ERR_STORE_FULL, 0, 0, 0, 0, 0 },
    { "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n", HFI_NOT_DONE,
      HF_ERR_WRONG_TYPE, 0, 0, 0, 0, 0 },
    { "-ERR Error running script (call to f_0): @user_script:3: WRONGTYPE Operation against a "
      "key\r\n",
      HFI_NOT_DONE, HF_ERR_WRONG_TYPE, 0, 0, 0, 0, 0 },
    { "-READONLY You can't write against a read only replica.\r\n", HFI_NOT_DONE, HF_ERR_READ_ONLY,
      0, 0, 0, 0, 0 },
    { "-MOVED 3999 127.0.0.1:6381\r\n", HFI_NOT_DONE, HF_ERR_CLUSTER, 0, 0, 0, 0, 0 },
    { "-CLUSTERDOWN The cluster is down\r\n", HFI_NOT_DONE, HF_ERR_CLUSTER, 0, 0, 0, 0, 0 },
    { "-NOPERM this user has no permissions to run the 'evalsha' command\r\n", HFI_NOT_DONE,
      HF_ERR_PERMISSION, 0, 0, 0, 0, 0 },
    { "-ERR The user executing the script can't run this command or subcommand script: a5e8e5, on "
      "@user_script:26.\r\n",
      HFI_NOT_DONE, HF_ERR_PERMISSION, 0, 0, 0, 0, 0 },
    { "-NOAUTH Authentication required.\r\n", HFI_NOT_DONE, HF_ERR_AUTH, 0, 0, 0, 0, 0 },
    { "-BUSY Redis is busy running a script.\r\n", HFI_NOT_DONE, HF_ERR_UNAVAILABLE, 0, 0, 0, 0,
      0 },
    { "-MISCONF Redis is configured to save RDB snapshots\r\n", HFI_NOT_DONE, HF_ERR_UNAVAILABLE, 0,
      0, 0, 0, 0 },
    { "-NOREPLICAS Not enough good replicas to write.\r\n", HFI_NOT_DONE, HF_ERR_UNAVAILABLE, 0, 0,
      0, 0, 0 },
    { "-LOADING\r\n", HFI_NOT_DONE, HF_ERR_UNAVAILABLE, 0, 0, 0, 0, 0 },
    { "-ERR something else\r\n", HFI_NOT_DONE, HF_ERR_PROTOCOL, 0, 0, 0, 0, 0 },
    { "-\r\n", HFI_NOT_DONE, HF_ERR_PROTOCOL, 0, 0, 0, 0, 0 },
    { "-OOMPH\r\n", HFI_NOT_DONE, HF_ERR_PROTOCOL, 0, 0, 0, 0, 0 },
};

/* Replies that make no sense: it may have been done, or not; it was certainly not granted. */
static const char *const NONSENSE[] = {
    "+OK\r\n",
    ":1\r\n",
    "$1\r\n1\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "*0\r\n",
    "*1\r\n:1\r\n",
    "*1\r\n:0\r\n",
    "*2\r\n:1\r\n:5\r\n",
    "*4\r\n:1\r\n:5\r\n:1\r\n:0\r\n",
    "*3\r\n+1\r\n:5\r\n:1\r\n",
    "*3\r\n:1\r\n$1\r\n5\r\n:1\r\n",
    "*3\r\n:1\r\n:5\r\n$1\r\n1\r\n",
    "*3\r\n:1\r\n:5\r\n$-1\r\n",
    "*3\r\n*1\r\n:1\r\n:5\r\n:1\r\n",
    "*3\r\n:1\r\n:0\r\n:1\r\n",                   /* no token is 0, */
    "*3\r\n:1\r\n:-5\r\n:1\r\n",                  /* or negative, */
    "*3\r\n:1\r\n:9007199254740992\r\n:1\r\n",    /* or past 2^53 */
    "*3\r\n:1\r\n:9223372036854775807\r\n:1\r\n", /* by far */
    "*3\r\n:1\r\n:5\r\n:0\r\n",                   /* at least one, */
    "*3\r\n:1\r\n:5\r\n:-1\r\n",                  /* and */
    "*3\r\n:1\r\n:5\r\n:9\r\n",                   /* no more than asked for */
    "*3\r\n:1\r\n:5\r\n:4294967297\r\n",
    "*3\r\n:3\r\n:5\r\n:1\r\n",
    "*3\r\n:-1\r\n:5\r\n:1\r\n",
    "*3\r\n:4294967297\r\n:5\r\n:1\r\n",
};

static void check_try(const struct try_case *expected, size_t cut)
{
    struct hfi_lease *lease = wire_lease(&w, "L", 1);
    size_t length = strlen(expected->reply);

    lease->tokens = 8;
    lease->verdict = 99;
    lease->ticket = true; /* of some other time */
    wire_submit(&w, &lease->request, HFI_OP_TRY);
    wire_commands(&w, COMMANDS);
    wire_say_bytes(&w, COMMANDS, expected->reply, cut);
    if (cut < length) {
        wire_nothing_finished(&w);
        wire_say_bytes(&w, COMMANDS, expected->reply + cut, length - cut);
    }
    wire_finished(&w, &lease->request, expected->outcome, expected->error);
    if (expected->outcome != HFI_DONE) {
        assert_int_not_equal(lease->verdict, HFI_GRANTED);
        assert_true(w.store->detail[0] != '\0');
        return;
    }
    assert_int_equal(lease->verdict, expected->verdict);
    if (expected->verdict == HFI_GRANTED) {
        assert_int_equal(lease->token, expected->token);
        assert_int_equal(lease->tokens, expected->tokens);
    } else if (expected->verdict == HFI_BUSY) {
        assert_int_equal(lease->hint_ns, expected->hint_ms * HFI_MSEC);
        assert_int_equal(lease->topic, expected->kind);
        assert_false(lease->ticket);
    }
}

/* Each reply, cut in two at every byte, means the same. */
static void try_answered(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(TRIES); i++)
        for (size_t cut = 1; cut <= strlen(TRIES[i].reply); cut++)
            check_try(&TRIES[i], cut);
}

static void try_answered_with_nonsense(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(NONSENSE); i++) {
        struct try_case expected = { .reply = NONSENSE[i],
                                     .outcome = HFI_UNKNOWN,
                                     .error = HF_ERR_UNSURE };

        check_try(&expected, strlen(NONSENSE[i]));
    }
}

/* How long a key lives may be anything: the hint is never less than that, whatever the number. */
static void hints_of_every_size(void **state)
{
    static const struct {
        const char *ttl;
        hfi_time least_ms;
    } CASES[] = {
        { "0", 0 },
        { "-1", 365ull * 24 * 3600 * 1000 }, /* no ttl */
        { "922337203685477", 365ull * 24 * 3600 * 1000 },
        { "18446744073710", 365ull * 24 * 3600 * 1000 }, /* × 10^6 is 2^64 and a little */
        { "9223372036854775807", 365ull * 24 * 3600 * 1000 },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(CASES); i++) {
        struct hfi_lease *lease = wire_lease(&w, "L", 1);
        char reply[64];

        wire_submit(&w, &lease->request, HFI_OP_TRY);
        wire_commands(&w, COMMANDS);
        snprintf(reply, sizeof reply, "*3\r\n:0\r\n:%s\r\n:0\r\n", CASES[i].ttl);
        wire_say(&w, COMMANDS, reply);
        wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
        assert_int_equal(lease->verdict, HFI_BUSY);
        assert_true(lease->hint_ns >= CASES[i].least_ms * HFI_MSEC);
    }
}

static void check_release(const char *reply, enum hfi_outcome outcome, enum hfi_verdict verdict,
                          uint32_t others)
{
    struct hfi_lease *lease = wire_lease(&w, "L", 1);

    wire_submit(&w, &lease->request, HFI_OP_RELEASE);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, reply);
    assert_ptr_equal(w.class_->finished(w.store), &lease->request);
    assert_int_equal(lease->request.outcome, outcome);
    if (outcome != HFI_DONE)
        return;
    assert_int_equal(lease->verdict, verdict);
    assert_int_equal(lease->others, others);
}

static void release_answered(void **state)
{
    (void)state;
    check_release(":0\r\n", HFI_DONE, HFI_RELEASED, 0);
    check_release(":3\r\n", HFI_DONE, HFI_RELEASED, 3);
    check_release(":-1\r\n", HFI_DONE, HFI_GONE, 0);
    check_release("+OK\r\n", HFI_UNKNOWN, 0, 0);
    check_release("$1\r\n1\r\n", HFI_UNKNOWN, 0, 0);
    check_release("$-1\r\n", HFI_UNKNOWN, 0, 0);
    check_release("*1\r\n:1\r\n", HFI_UNKNOWN, 0, 0);
    check_release("-WRONGTYPE Operation\r\n", HFI_NOT_DONE, 0, 0);
}

/* Kept only what is said to be kept, of exactly as many as were asked for. */
static void renewal_answered(void **state)
{
    static const struct {
        const char *reply;
        enum hfi_outcome outcome;
        bool kept[3];
    } CASES[] = {
        { "*3\r\n:1\r\n:0\r\n:1\r\n", HFI_DONE, { true, false, true } },
        { "*3\r\n:2\r\n:-1\r\n:1\r\n", HFI_DONE, { false, false, true } },
        { "*2\r\n:1\r\n:1\r\n", HFI_UNKNOWN, { false } },
        { "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n", HFI_UNKNOWN, { false } },
        { "*3\r\n:1\r\n$1\r\n1\r\n:1\r\n", HFI_UNKNOWN, { false } },
        { "*3\r\n:1\r\n$-1\r\n:1\r\n", HFI_UNKNOWN, { false } },
        { ":1\r\n", HFI_UNKNOWN, { false } },
        { "*0\r\n", HFI_UNKNOWN, { false } },
        { "-BUSY x\r\n", HFI_NOT_DONE, { false } },
    };
    struct hfi_lease *lease = wire_lease(&w, "L", 1);

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(CASES); i++) {
        struct hfi_renewal_item items[3] = { { .lease = lease },
                                             { .lease = lease },
                                             { .lease = lease } };
        struct hfi_renewal renewal = { .count = 3, .items = items };

        wire_submit(&w, &renewal.request, HFI_OP_RENEW);
        wire_commands(&w, COMMANDS);
        wire_say(&w, COMMANDS, CASES[i].reply);
        assert_ptr_equal(w.class_->finished(w.store), &renewal.request);
        assert_int_equal(renewal.request.outcome, CASES[i].outcome);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(items[k].kept, CASES[i].kept[k]);
    }
}

static void announcement_answered(void **state)
{
    static struct hfi_announcement announcement;

    (void)state;
    for (int known = 0; known < 2; known++) {
        wire_submit(&w, &announcement.request, HFI_OP_ANNOUNCE);
        wire_commands(&w, COMMANDS);
        wire_say(&w, COMMANDS, known ? ":1\r\n" : ":0\r\n");
        wire_finished(&w, &announcement.request, HFI_DONE, HF_OK);
        assert_int_equal(announcement.forgotten, !known);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Scripts that the server does not know
 */

static void noscript(void **state)
{
    struct hfi_lease *lease = wire_lease(&w, "L", 42);

    (void)state;
    wire_submit(&w, &lease->request, HFI_OP_TRY);
    wire_commands(&w, COMMANDS);
    w.now += HFI_MSEC;
    wire_say(&w, COMMANDS, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    wire_nothing_finished(&w);
    wire_expect(&w, COMMANDS, /* the same, by its text, and with the same owner id */
                "EVAL acquire 2 L holdfast:token:{ohholh} " OWNER(42) " 30000 1\n");
    assert_int_equal(lease->request.sent_ns,
                     w.now); /* the lease counts from the one that is answered */
    wire_say(&w, COMMANDS, "*3\r\n:1\r\n:5\r\n:1\r\n");
    wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
    assert_int_equal(lease->verdict, HFI_GRANTED);
    wire_submit(&w, &lease->request, HFI_OP_TRY); /* known by now */
    assert_non_null(strstr(wire_commands(&w, COMMANDS), "EVALSHA acquire"));
}

/* It says so again: that is no server that we know. */
static void noscript_twice(void **state)
{
    struct hfi_lease *lease = wire_lease(&w, "L", 42);

    (void)state;
    wire_submit(&w, &lease->request, HFI_OP_TRY);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "-NOSCRIPT\r\n");
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "-NOSCRIPT\r\n");
    wire_finished(&w, &lease->request, HFI_NOT_DONE, HF_ERR_PROTOCOL);
}

/* Several were on their way: they are sent again in their order, before anything new, and together, however their
 * answers come. */
static void noscript_keeps_the_order(void **state)
{
    struct hfi_lease *a = wire_lease(&w, "A", 1), *b = wire_lease(&w, "B", 2),
                     *c = wire_lease(&w, "C", 3), *d = wire_lease(&w, "D", 4);

    (void)state;
    wire_submit(&w, &a->request, HFI_OP_RELEASE);
    wire_submit(&w, &b->request, HFI_OP_TRY);
    wire_submit(&w, &c->request, HFI_OP_RELEASE);
    wire_commands(&w, COMMANDS);
    wire_submit(&w, &d->request, HFI_OP_TRY);
    wire_say(&w, COMMANDS, "-NOSCRIPT x\r\n");
    assert_false(w.class_->has_output(w.store, COMMANDS));
    wire_expect(&w, COMMANDS, ""); /* else A's text makes D known before B and C are sent again */
    wire_say(&w, COMMANDS, "-NOSCRIPT x\r\n");
    wire_expect(&w, COMMANDS, "");
    wire_say(&w, COMMANDS, "-NOSCRIPT x\r\n");
    assert_true(w.class_->has_output(w.store, COMMANDS));
    wire_expect(
        &w, COMMANDS,
        "EVAL release 2 A redisson_lock__channel:{A} " OWNER(
            1) " 0\n"
               "EVAL acquire 2 B holdfast:token:{nljolh} " OWNER(
                   2) " 30000 1\n"
                      "EVAL release 2 C redisson_lock__channel:{C} " OWNER(
                          3) " 0\n"
                             "EVALSHA acquire 2 D holdfast:token:{iloinh} " OWNER(4) " 30000 1\n");
    wire_say(&w, COMMANDS, ":0\r\n*1\r\n:2\r\n:-1\r\n*1\r\n:2\r\n");
    wire_finished(&w, &a->request, HFI_DONE, HF_OK);
    wire_finished(&w, &b->request, HFI_DONE, HF_OK);
    wire_finished(&w, &c->request, HFI_DONE, HF_OK);
    wire_finished(&w, &d->request, HFI_DONE, HF_OK);
}

/* ------------------------------------------------------------------------------------------------
 * Pipelines
 */

/* Replies belong to requests in order, in whatever pieces they come. */
static void replies_in_order(void **state)
{
    enum { COUNT = 100 };
    static struct hfi_lease leases[COUNT];
    static char replies[COUNT * 32];
    struct hfi_random random;
    size_t length = 0, at = 0;

    (void)state;
    hfi_random_init(&random, 1);
    for (size_t i = 0; i < COUNT; i++) {
        leases[i] = *wire_lease(&w, "L", i);
        wire_submit(&w, &leases[i].request, HFI_OP_TRY);
        length += (size_t)snprintf(replies + length, sizeof replies - length,
                                   "*3\r\n:1\r\n:%zu\r\n:1\r\n", i + 1);
    }
    wire_commands(&w, COMMANDS);
    while (at < length) {
        size_t n = 1 + (size_t)hfi_random_below(&random, 40);

        n = n < length - at ? n : length - at;
        wire_say_bytes(&w, COMMANDS, replies + at, n);
        at += n;
    }
    for (size_t i = 0; i < COUNT; i++) {
        wire_finished(&w, &leases[i].request, HFI_DONE, HF_OK);
        assert_int_equal(leases[i].token, i + 1);
    }
}

/* No more than so many are unanswered at once; the others follow as replies come. */
static void the_pipeline_has_an_end(void **state)
{
    enum { COUNT = HFI_REDIS_SENT_MAX + 10 };
    static struct hfi_request checks[COUNT];
    struct command command;
    size_t sent = 0;

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        wire_submit(&w, &checks[i], HFI_OP_CHECK);
    while (wire_read(&w, COMMANDS, &command))
        sent++;
    assert_int_equal(sent, HFI_REDIS_SENT_MAX);
    assert_false(w.class_->has_output(w.store, COMMANDS));
    wire_say(&w, COMMANDS, "+PONG\r\n+PONG\r\n");
    assert_true(w.class_->has_output(w.store, COMMANDS));
    wire_expect(&w, COMMANDS, "PING\nPING\n");
}

/* More than the buffer holds: whole commands go in, the others wait for room. */
static void the_buffer_has_an_end(void **state)
{
    enum { COUNT = 300 };
    static struct hfi_lease leases[COUNT];
    static char name[HF_NAME_MAX + 1];
    struct command command;
    const char *bytes;
    size_t count, sent = 0;

    (void)state;
    memset(name, 'n', HF_NAME_MAX);
    for (size_t i = 0; i < COUNT; i++) {
        leases[i] = *wire_lease(&w, name, i);
        wire_submit(&w, &leases[i].request, HFI_OP_TRY);
    }
    count = w.class_->produce(w.store, COMMANDS, w.now, &bytes);
    assert_in_range(count, HFI_REDIS_OUT_SIZE - 1300, HFI_REDIS_OUT_SIZE);
    for (size_t part = 1; (count = w.class_->produce(w.store, COMMANDS, w.now, &bytes)) > 0;
         part = part * 7 % 1009 + 1) { /* the socket takes some of it, now and then */
        count = count < part ? count : part;
        assert_true(w.length[COMMANDS] + count < 1024 * 1024);
        memcpy(w.bytes[COMMANDS] + w.length[COMMANDS], bytes, count);
        w.length[COMMANDS] += count;
        w.class_->produced(w.store, COMMANDS, count);
    }
    while (wire_read(&w, COMMANDS, &command)) {
        assert_int_equal(command.argc, 8);
        assert_int_equal(command.len[3], HF_NAME_MAX);
        assert_int_equal(strtoull(command.argv[5] + sizeof WIRE_ID, NULL, 10), sent);
        sent++;
    }
    assert_int_equal(sent, COUNT);
}

/* What is to be sent again does not fit at once: what would fit, but was asked for later, waits behind it. */
static void again_goes_first(void **state)
{
    enum { COUNT = 200 }; /* more than the buffer holds, with their texts */
    struct command command;
    size_t sent = 0, unanswered = 0, rounds = 0;
    bool last = false;

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        wire_submit(&w, &wire_lease(&w, "L", i)->request, HFI_OP_TRY);
    wire_commands(&w, COMMANDS);
    wire_submit(&w, &wire_lease(&w, "last", 2000)->request, HFI_OP_TRY);
    for (size_t i = 0; i < COUNT; i++)
        wire_say(&w, COMMANDS, "-NOSCRIPT x\r\n");
    for (; !last; rounds++) {
        for (; wire_read(&w, COMMANDS, &command); unanswered++) {
            last = strcmp(command.argv[0], "EVALSHA") == 0;
            if (!last)
                assert_int_equal(strtoull(command.argv[5] + sizeof WIRE_ID, NULL, 10), sent++);
        }
        assert_int_not_equal(unanswered, 0);
        for (; unanswered > 0; unanswered--)
            wire_say(&w, COMMANDS, "*3\r\n:1\r\n:5\r\n:1\r\n");
    }
    assert_int_equal(sent, COUNT);
    assert_true(rounds > 1);
}

/* A reply that nobody asked for: the connection is of no use any more. */
static void an_extra_reply(void **state)
{
    struct hfi_lease *lease = wire_lease(&w, "L", 1);

    (void)state;
    wire_submit(&w, &lease->request, HFI_OP_TRY);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "*1\r\n:2\r\n*3\r\n:1\r\n:5\r\n:1\r\n");
    wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
    assert_int_equal(lease->verdict, HFI_ALREADY);
    assert_true(wire_drops(&w, COMMANDS));
    assert_non_null(strstr(w.store->detail, "sent what was not asked for"));
}

/* Not even RESP: what was asked is unknown. */
static void garbage(void **state)
{
    struct hfi_lease *lease = wire_lease(&w, "L", 1);

    (void)state;
    wire_submit(&w, &lease->request, HFI_OP_TRY);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "HTTP/1.1 400 Bad Request\r\n");
    wire_nothing_finished(&w);
    assert_true(wire_drops(&w, COMMANDS));
    wire_finished(&w, &lease->request, HFI_UNKNOWN, HF_ERR_UNSURE);
}

/* Random bytes and random replies: no crash, nothing is granted out of nonsense, all are finished. */
static void random_replies(void **state)
{
    static const char *const PIECES[] = {
        "*3\r\n",      ":1\r\n",  ":0\r\n",     ":-1\r\n",
        "$1\r\n1\r\n", "+OK\r\n", "-ERR x\r\n", "-NOSCRIPT x\r\n",
        "*0\r\n",      "$-1\r\n", "*2\r\n",     ":99999999999999999999\r\n",
        "*1\r\n",      ":5\r\n",  "\r\n",       "$5\r\nab"
    };
    struct hfi_random random;

    (void)state;
    for (uint64_t seed = unit_first_seed(), end = seed + unit_seeds(3000); seed < end; seed++) {
        const struct hfi_request *finished = NULL;
        struct hfi_lease *lease;

        setup(NULL);
        lease = wire_lease(&w, "L", 1);
        hfi_random_init(&random, seed);
        wire_submit(&w, &lease->request, HFI_OP_TRY);
        while (!finished && !wire_drops(&w, COMMANDS)) {
            wire_commands(&w, COMMANDS);
            wire_say(&w, COMMANDS, PIECES[hfi_random_below(&random, UNIT_COUNT(PIECES))]);
            finished = w.class_->finished(w.store);
        }
        if (!finished)
            finished = w.class_->finished(w.store);
        assert_ptr_equal(finished, &lease->request);
        if (finished->outcome == HFI_DONE && lease->verdict == HFI_GRANTED)
            assert_true(lease->token > 0 && lease->tokens == 1);
        wire_close(&w);
    }
    setup(NULL);
}

#define UP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UP(try_as_a_command),
        UP(try_of_a_tagged_name),
        UP(release_as_a_command),
        UP(renewal_as_a_command),
        UP(announcement_as_a_command),
        UP(farewell_and_leave),
        UP(try_answered),
        UP(try_answered_with_nonsense),
        UP(hints_of_every_size),
        UP(release_answered),
        UP(renewal_answered),
        UP(announcement_answered),
        UP(noscript),
        UP(noscript_twice),
        UP(noscript_keeps_the_order),
        UP(replies_in_order),
        UP(the_pipeline_has_an_end),
        UP(the_buffer_has_an_end),
        UP(again_goes_first),
        UP(an_extra_reply),
        UP(garbage),
        cmocka_unit_test_teardown(random_replies, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
