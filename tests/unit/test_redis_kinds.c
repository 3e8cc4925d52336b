/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the kinds that are more than a mutex as commands, and what their replies mean. */
#include "wire.h"

#define TOKENS "holdfast:token:{hlnolh}" /* of the slot of "foo" */

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

static struct hfi_lease *lease_of(enum hfi_kind kind)
{
    struct hfi_lease *lease = wire_lease(&w, "foo", 42);

    lease->kind = (uint8_t)kind;
    lease->permits = 3;
    return lease;
}

static void expect(struct hfi_request *request, enum hfi_op op, const char *text)
{
    wire_submit(&w, request, op);
    wire_expect(&w, COMMANDS, text);
}

static void expect_renewal(enum hfi_kind kind, const char *text)
{
    static struct hfi_renewal_item items[2];
    static struct hfi_renewal renewal;

    items[0] = (struct hfi_renewal_item){ .lease = lease_of(kind), .ttl_ms = 30000 };
    items[1] = (struct hfi_renewal_item){ .lease = lease_of(kind) };
    items[1].lease->name = "x{y}";
    items[1].lease->name_len = 4;
    items[1].lease->owner = 7;
    renewal = (struct hfi_renewal){ .count = 2, .items = items };
    expect(&renewal.request, HFI_OP_RENEW, text);
}

/* ------------------------------------------------------------------------------------------------
 * Commands
 */

static void almost_mutexes(void **state)
{
    struct hfi_lease *spin = lease_of(HFI_KIND_SPIN), *fenced = lease_of(HFI_KIND_FENCED);

    (void)state;
    expect(&spin->request, HFI_OP_TRY, "EVALSHA acquire 2 foo " TOKENS " " OWNER(42) " 30000 1\n");
    spin = lease_of(HFI_KIND_SPIN);
    expect(&spin->request, HFI_OP_RELEASE,
           "EVALSHA release 2 foo redisson_lock__channel:{foo} " OWNER(42) " 0\n");
    expect(&fenced->request, HFI_OP_TRY,
           "EVALSHA acquire_fenced 2 foo redisson_lock_token:{foo} " OWNER(42) " 30000\n");
    fenced = lease_of(HFI_KIND_FENCED);
    expect(&fenced->request, HFI_OP_RELEASE,
           "EVALSHA release 2 foo redisson_lock__channel:{foo} " OWNER(42) " 0\n");
    expect_renewal(HFI_KIND_FENCED,
                   "EVALSHA renew 2 foo x{y} 30000 " OWNER(42) " 0 " OWNER(7) "\n");
    expect_renewal(HFI_KIND_FAIR, "EVALSHA renew 2 foo x{y} 30000 " OWNER(42) " 0 " OWNER(7) "\n");
}

#define QUEUE                                                                                      \
    "foo redisson_lock_queue:{foo} redisson_lock_timeout:{foo} holdfast_fair:{foo} "               \
    "redisson_lock__channel:{foo} "

static void fair(void **state)
{
    struct hfi_lease *lease = lease_of(HFI_KIND_FAIR), *once = lease_of(HFI_KIND_FAIR);
    struct hfi_watch *watch = wire_watch(&w, "foo");

    (void)state;
    lease->queue = true;
    expect(&lease->request, HFI_OP_TRY,
           "EVALSHA acquire_fair 6 " QUEUE TOKENS " " OWNER(42) " 30000 1 300000 1 0\n");
    once->wait_ms = 1500;
    expect(&once->request, HFI_OP_TRY,
           "EVALSHA acquire_fair 6 " QUEUE TOKENS " " OWNER(42) " 30000 1 1500 0 0\n");
    once = lease_of(HFI_KIND_FAIR);
    once->wait_ms = 1500;
    once->ticket = true;
    expect(&once->request, HFI_OP_RELEASE, "EVALSHA release_fair 5 " QUEUE OWNER(42) " 1500 0\n");
    once = lease_of(HFI_KIND_FAIR);
    expect(&once->request, HFI_OP_RELEASE, "EVALSHA release_fair 5 " QUEUE OWNER(42) "  0\n");
    watch->kind = HFI_KIND_FAIR;
    watch->owner = 9;
    expect(&watch->request, HFI_OP_LEAVE, "EVALSHA leave_fair 5 " QUEUE OWNER(9) " 300000 0\n");
}

static void read_write(void **state)
{
    struct hfi_lease *lease = lease_of(HFI_KIND_WRITE);
    struct hfi_watch *watch = wire_watch(&w, "foo");

    (void)state;
    lease->tokens = 1001;
    expect(&lease->request, HFI_OP_TRY,
           "EVALSHA acquire_write 3 foo " TOKENS
           " holdfast_writer:{foo} " OWNER(42) " 30000 1001 {foo} 0\n");
    lease = lease_of(HFI_KIND_WRITE);
    lease->prefer = true;
    expect(&lease->request, HFI_OP_TRY,
           "EVALSHA acquire_write 3 foo " TOKENS
           " holdfast_writer:{foo} " OWNER(42) " 30000 1 {foo} 3000\n");
    lease = lease_of(HFI_KIND_WRITE);
    expect(&lease->request, HFI_OP_RELEASE,
           "EVALSHA release_write 3 foo redisson_rwlock:{foo} holdfast_writer:{foo} " OWNER(
               42) " {foo} 1\n");
    lease = lease_of(HFI_KIND_READ);
    expect(&lease->request, HFI_OP_TRY,
           "EVALSHA acquire_read 3 foo {foo}:" OWNER(42) ":rwlock_timeout:1 "
                                                         "holdfast_writer:{foo} " OWNER(
                                                             42) " 30000\n");
    lease = lease_of(HFI_KIND_READ);
    expect(&lease->request, HFI_OP_RELEASE,
           "EVALSHA release_read 3 foo redisson_rwlock:{foo} {foo}:" OWNER(
               42) ":rwlock_timeout:1 " OWNER(42) " {foo} 0\n");
    watch->kind = HFI_KIND_WRITE;
    watch->owner = 42;
    expect(&watch->request, HFI_OP_LEAVE,
           "EVALSHA leave_write 2 holdfast_writer:{foo} redisson_rwlock:{foo} " OWNER(42) " 1\n");
    expect_renewal(HFI_KIND_WRITE,
                   "EVALSHA renew_write 2 foo x{y} 30000 " OWNER(42) " 0 " OWNER(7) "\n");
    expect_renewal(HFI_KIND_READ,
                   "EVALSHA renew_read 4 foo {foo}:" OWNER(42) ":rwlock_timeout:1 x{y} x{y}:" OWNER(
                       7) ":rwlock_timeout:1 30000 " OWNER(42) " 0 " OWNER(7) "\n");
}

/* An owner's number of such bytes that the text of an id ends nowhere inside. */
#define VISIBLE UINT64_C(0x414243444546)
#define IDS                                                                                        \
    "\x0f\x8f\xad\x5b\xd9\xcb\x46\x9f"                                                             \
    "ABCDEF"

static void counts(void **state)
{
    struct hfi_lease *lease = lease_of(HFI_KIND_PERMITS);

    (void)state;
    lease->owner = VISIBLE;
    expect(&lease->request, HFI_OP_TRY,
           "EVALSHA acquire_permits 3 foo {foo}:timeout redisson_sc:{foo} " IDS " 3 30000\n");
    lease = lease_of(HFI_KIND_PERMITS);
    lease->owner = VISIBLE;
    expect(&lease->request, HFI_OP_RELEASE,
           "EVALSHA release_permits 3 foo {foo}:timeout redisson_sc:{foo} " IDS " 3\n");
    lease = lease_of(HFI_KIND_SEMAPHORE);
    expect(&lease->request, HFI_OP_TRY,
           "EVALSHA acquire_semaphore 2 foo holdfast_semaphore:{foo}:" OWNER(42) " 3 60000\n");
    lease = lease_of(HFI_KIND_SEMAPHORE);
    lease->ttl_ms = 90000;
    expect(&lease->request, HFI_OP_TRY,
           "EVALSHA acquire_semaphore 2 foo holdfast_semaphore:{foo}:" OWNER(42) " 3 90000\n");
    lease = lease_of(HFI_KIND_SEMAPHORE);
    expect(&lease->request, HFI_OP_RELEASE,
           "EVALSHA release_semaphore 3 foo redisson_sc:{foo} holdfast_semaphore:{foo}:" OWNER(
               42) "\n");
    lease = lease_of(HFI_KIND_LATCH);
    expect(&lease->request, HFI_OP_TRY, "EVALSHA acquire_latch 2 foo holdfast_deleted:{foo}\n");
}

static void permits_renewed(void **state)
{
    static struct hfi_renewal_item item;
    static struct hfi_renewal renewal;

    (void)state;
    item = (struct hfi_renewal_item){ .lease = lease_of(HFI_KIND_PERMITS), .ttl_ms = 30000 };
    item.lease->owner = VISIBLE;
    renewal = (struct hfi_renewal){ .count = 1, .items = &item };
    expect(&renewal.request, HFI_OP_RENEW,
           "EVALSHA renew_permits 1 {foo}:timeout 30000 " IDS " 3\n");
    wire_say(&w, COMMANDS, "*1\r\n:1\r\n");
    wire_finished(&w, &renewal.request, HFI_DONE, HF_OK);
    assert_true(item.kept);
}

/* There and back; the text of another client's id never gets into it. */
static void ids_of_permits(void **state)
{
    static const struct {
        uint64_t owner;
        unsigned which;
    } IDS_OF[] = { { 0, 0 }, { 1, 999 }, { (UINT64_C(1) << 48) - 1, 65535 }, { 256, 256 } };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(IDS_OF); i++) {
        char id[HFI_PERMIT_ID], client[HFI_PERMIT_ID_CLIENT + 1];
        uint64_t owner;
        unsigned which;

        hfi_permit_id(id, WIRE_ID, IDS_OF[i].owner, IDS_OF[i].which);
        hfi_permit_id_parse(id, client, &owner, &which);
        assert_memory_equal(id, IDS, 8);
        assert_int_equal(strlen(client), HFI_PERMIT_ID_CLIENT);
        assert_memory_equal(client, WIRE_ID, HFI_PERMIT_ID_CLIENT);
        assert_int_equal(owner, IDS_OF[i].owner);
        assert_int_equal(which, IDS_OF[i].which);
    }
}

/* The largest renewal of all: two keys an item, of names as long as they may be. */
static void the_largest_renewal(void **state)
{
    static struct hfi_renewal_item items[HFI_RENEWAL_MAX];
    static char name[HF_NAME_MAX];
    struct hfi_renewal renewal = { .count = HFI_RENEWAL_MAX, .items = items };
    struct command command;

    (void)state;
    memset(name, 'n', sizeof name);
    for (size_t i = 0; i < HFI_RENEWAL_MAX; i++) {
        items[i] = (struct hfi_renewal_item){ .lease = lease_of(HFI_KIND_READ), .ttl_ms = 30000 };
        items[i].lease->name = name;
        items[i].lease->name_len = sizeof name;
        items[i].lease->owner = UINT64_MAX;
    }
    wire_submit(&w, &renewal.request, HFI_OP_RENEW);
    assert_true(wire_read(&w, COMMANDS, &command));
    assert_int_equal(command.argc, 3 + 4 * HFI_RENEWAL_MAX);
    wire_lose(&w, COMMANDS);
    wire_finished(&w, &renewal.request, HFI_UNKNOWN, HF_ERR_UNSURE);
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 */

static struct hfi_lease *answered(enum hfi_kind kind, const char *reply, enum hfi_outcome outcome,
                                  int error)
{
    struct hfi_lease *lease = lease_of(kind);

    lease->verdict = 99;
    lease->ticket = true; /* of some other time */
    lease->tokens = 8;
    wire_submit(&w, &lease->request, HFI_OP_TRY);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, reply);
    wire_finished(&w, &lease->request, outcome, error);
    return lease;
}

static void busy(void **state)
{
    static const struct {
        enum hfi_kind kind;
        const char *reply;
        enum hfi_topic topic;
        bool ticket;
    } CASES[] = {
        { HFI_KIND_FENCED, "*3\r\n:0\r\n:7\r\n:1\r\n", HFI_TOPIC_READ_WRITE, false },
        { HFI_KIND_SPIN, "*3\r\n:0\r\n:7\r\n:0\r\n", HFI_TOPIC_LOCK, false },
        { HFI_KIND_FAIR, "*4\r\n:0\r\n:7\r\n:2\r\n:1\r\n", HFI_TOPIC_TURN, true },
        { HFI_KIND_FAIR, "*4\r\n:0\r\n:7\r\n:1\r\n:0\r\n", HFI_TOPIC_READ_WRITE, false },
        { HFI_KIND_WRITE, "*4\r\n:0\r\n:7\r\n:1\r\n:1\r\n", HFI_TOPIC_READ_WRITE, true },
        { HFI_KIND_READ, "*4\r\n:0\r\n:7\r\n:0\r\n:0\r\n", HFI_TOPIC_LOCK, false },
        { HFI_KIND_PERMITS, "*4\r\n:0\r\n:7\r\n:3\r\n:0\r\n", HFI_TOPIC_PERMITS, false },
        { HFI_KIND_SEMAPHORE, "*4\r\n:0\r\n:7\r\n:3\r\n:0\r\n", HFI_TOPIC_PERMITS, false },
        { HFI_KIND_LATCH, "*4\r\n:0\r\n:7\r\n:4\r\n:0\r\n", HFI_TOPIC_LATCH, false },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(CASES); i++) {
        struct hfi_lease *lease = answered(CASES[i].kind, CASES[i].reply, HFI_DONE, HF_OK);

        assert_int_equal(lease->verdict, HFI_BUSY);
        assert_int_equal(lease->topic, CASES[i].topic);
        assert_int_equal(lease->ticket, CASES[i].ticket);
        assert_int_equal(lease->hint_ns, 7 * HFI_MSEC);
    }
}

static void other_verdicts(void **state)
{
    struct hfi_lease *lease;

    (void)state;
    lease = answered(HFI_KIND_LATCH, "*1\r\n:3\r\n", HFI_DONE, HF_OK);
    assert_int_equal(lease->verdict, HFI_GONE);
    lease = answered(HFI_KIND_LATCH, "*3\r\n:1\r\n:1\r\n:1\r\n", HFI_DONE, HF_OK);
    assert_int_equal(lease->verdict, HFI_GRANTED);
    lease = answered(HFI_KIND_FAIR, "*1\r\n:2\r\n", HFI_DONE, HF_OK);
    assert_int_equal(lease->verdict, HFI_ALREADY);
    assert_false(lease->ticket);
    lease = answered(HFI_KIND_WRITE, "*3\r\n:1\r\n:1700000000000000\r\n:8\r\n", HFI_DONE, HF_OK);
    assert_int_equal(lease->verdict, HFI_GRANTED);
    assert_int_equal(lease->token, 1700000000000000);
    assert_int_equal(lease->tokens, 8);
    assert_false(lease->ticket);
}

static void nonsense(void **state)
{
    static const char *const REPLIES[] = {
        "*1\r\n:3\r\n",
        "*3\r\n:0\r\n:7\r\n:1\r\n",
        "*4\r\n:0\r\n:7\r\n:5\r\n:0\r\n",
        "*4\r\n:0\r\n:7\r\n:-1\r\n:0\r\n",
        "*4\r\n:0\r\n:7\r\n$1\r\n1\r\n:0\r\n",
        "*4\r\n:0\r\n:7\r\n:1\r\n$1\r\n1\r\n",
        "*4\r\n:1\r\n:7\r\n:1\r\n:0\r\n",
        "*5\r\n:0\r\n:7\r\n:1\r\n:0\r\n:0\r\n",
        "*1\r\n:4\r\n",
        "*1\r\n:-1\r\n",
        ":2\r\n",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(REPLIES); i++) {
        struct hfi_lease *lease = answered(HFI_KIND_FAIR, REPLIES[i], HFI_UNKNOWN, HF_ERR_UNSURE);

        assert_int_equal(lease->verdict, 99);
        assert_false(lease->ticket);
    }
}

static void leaving(void **state)
{
    struct hfi_watch *watch = wire_watch(&w, "foo");

    (void)state;
    watch->kind = HFI_KIND_FAIR;
    wire_submit(&w, &watch->request, HFI_OP_LEAVE);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "-NOSCRIPT x\r\n");
    wire_nothing_finished(&w);
    assert_memory_equal(wire_commands(&w, COMMANDS), "EVAL leave_fair ", 16);
    wire_say(&w, COMMANDS, ":1\r\n");
    wire_finished(&w, &watch->request, HFI_DONE, HF_OK);
    wire_submit(&w, &watch->request, HFI_OP_LEAVE);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "-READONLY x\r\n");
    wire_finished(&w, &watch->request, HFI_NOT_DONE, HF_ERR_READ_ONLY);
    wire_submit(&w, &watch->request, HFI_OP_LEAVE);
    wire_commands(&w, COMMANDS);
    wire_lose(&w, COMMANDS);
    wire_finished(&w, &watch->request, HFI_UNKNOWN, HF_ERR_UNSURE);
    for (int kind = 0; kind < HFI_KIND_COUNT; kind++) { /* the others leave nothing there */
        if (kind == HFI_KIND_FAIR || kind == HFI_KIND_WRITE)
            continue;
        watch->kind = (uint8_t)kind;
        wire_submit(&w, &watch->request, HFI_OP_LEAVE);
        wire_finished(&w, &watch->request, HFI_DONE, HF_OK);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Watching
 */

static void say_message(const char *channel, const char *payload)
{
    char text[512];

    snprintf(text, sizeof text, "*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
             strlen(channel), channel, strlen(payload), payload);
    wire_say(&w, WAKEUPS, text);
}

static void confirm(const char *channel)
{
    char text[512];

    snprintf(text, sizeof text, "*3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:1\r\n", strlen(channel),
             channel);
    wire_say(&w, WAKEUPS, text);
}

static void channels(void **state)
{
    static const char *const CHANNELS[HFI_TOPIC_COUNT] = {
        [HFI_TOPIC_LOCK] = "redisson_lock__channel:{foo}",
        [HFI_TOPIC_READ_WRITE] = "redisson_rwlock:{foo}",
        [HFI_TOPIC_TURN] = "redisson_lock__channel:{foo}:" OWNER(42),
        [HFI_TOPIC_PERMITS] = "redisson_sc:{foo}",
        [HFI_TOPIC_LATCH] = "redisson_countdownlatch__channel__{foo}",
    };
    struct hfi_watch *watch = wire_watch(&w, "foo");
    bool up = false;

    (void)state;
    watch->owner = 42;
    for (int topic = 0; topic < HFI_TOPIC_COUNT; topic++) {
        char expected[256];

        watch->topic = (uint8_t)topic;
        wire_submit(&w, &watch->request, HFI_OP_WATCH);
        if (!up)
            wire_up(&w, WAKEUPS);
        up = true;
        snprintf(expected, sizeof expected, "SUBSCRIBE %s\n", CHANNELS[topic]);
        assert_non_null(strstr(wire_commands(&w, WAKEUPS), expected));
        wire_nothing_finished(&w);
        confirm(CHANNELS[topic]);
        wire_finished(&w, &watch->request, HFI_DONE, HF_OK);
        for (int other = 0; other < HFI_TOPIC_COUNT; other++) {
            say_message(CHANNELS[other], "0");
            assert_ptr_equal(w.class_->woken(w.store), other == topic ? watch : NULL);
        }
        assert_false(watch->deleted);
    }
    say_message(CHANNELS[HFI_TOPIC_LATCH], "1");
    assert_ptr_equal(w.class_->woken(w.store), watch);
    assert_true(watch->deleted);
    say_message(CHANNELS[HFI_TOPIC_LATCH], "0");
    assert_false(watch->deleted);
    say_message(CHANNELS[HFI_TOPIC_LATCH], "1");
    assert_ptr_equal(w.class_->woken(w.store), watch);
    wire_lose(&w, WAKEUPS);
    assert_false(watch->deleted); /* the next one may be missed */
    wire_submit(&w, &watch->request, HFI_OP_UNWATCH);
    wire_finished(&w, &watch->request, HFI_DONE, HF_OK);
}

/* What leaves the queue while the channel is confirmed, or its time is over, is answered once, by the server. */
static void leaving_while_watching(void **state)
{
    static const char CHANNEL[] = "redisson_lock__channel:{foo}:" OWNER(42);
    struct hfi_watch *watch = wire_watch(&w, "foo");

    (void)state;
    watch->owner = 42;
    watch->kind = HFI_KIND_FAIR;
    watch->topic = HFI_TOPIC_TURN;
    wire_submit(&w, &watch->request, HFI_OP_WATCH);
    wire_up(&w, WAKEUPS);
    wire_commands(&w, WAKEUPS);
    w.now += 2 * HFI_SEC; /* not confirmed in time */
    w.class_->tick(w.store, w.now);
    wire_finished(&w, &watch->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
    wire_submit(&w, &watch->request, HFI_OP_LEAVE);
    wire_commands(&w, COMMANDS);
    confirm(CHANNEL);
    wire_nothing_finished(&w);
    assert_ptr_equal(w.class_->woken(w.store), watch);
    wire_say(&w, COMMANDS, ":1\r\n");
    wire_finished(&w, &watch->request, HFI_DONE, HF_OK);
    wire_submit(&w, &watch->request, HFI_OP_UNWATCH);
    wire_finished(&w, &watch->request, HFI_DONE, HF_OK);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(almost_mutexes),
        TEST(fair),
        TEST(read_write),
        TEST(counts),
        TEST(permits_renewed),
        TEST(ids_of_permits),
        TEST(the_largest_renewal),
        TEST(busy),
        TEST(other_verdicts),
        TEST(nonsense),
        TEST(leaving),
        TEST(channels),
        TEST(leaving_while_watching),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
