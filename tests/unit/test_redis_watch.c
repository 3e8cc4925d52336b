/* SPDX-License-Identifier: Apache-2.0 */
/* The Redis store: subscriptions, and the wake-ups that come of them. */
#include "wire.h"

static struct wire w;

#define CHANNEL(name)     "redisson_lock__channel:{" name "}"
#define SUBSCRIBE(name)   "SUBSCRIBE " CHANNEL(name) "\n"
#define UNSUBSCRIBE(name) "UNSUBSCRIBE " CHANNEL(name) "\n"

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
    return 0;
}

/* What the server says of a channel: "subscribe", "unsubscribe" with a count, "message" with a payload. */
static void push(const char *kind, const char *channel, const char *last)
{
    char bytes[4096];

    snprintf(bytes, sizeof bytes, "*3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n%s", strlen(kind), kind,
             strlen(channel), channel, last);
    wire_say(&w, WAKEUPS, bytes);
}

static void confirm(const char *channel)
{
    push("subscribe", channel, ":1\r\n");
}

static void message(const char *channel)
{
    push("message", channel, "$1\r\n0\r\n");
}

static struct hfi_watch *watch(const char *name)
{
    struct hfi_watch *new_watch = wire_watch(&w, name);

    wire_submit(&w, &new_watch->request, HFI_OP_WATCH);
    return new_watch;
}

/* A watch in force on a new connection. */
static struct hfi_watch *watching(const char *name, const char *channel)
{
    struct hfi_watch *new_watch = watch(name);

    if (wire_redis(&w)->link[WAKEUPS].state == HFI_LINK_DOWN)
        wire_up(&w, WAKEUPS);
    wire_commands(&w, WAKEUPS);
    confirm(channel);
    wire_finished(&w, &new_watch->request, HFI_DONE, HF_OK);
    return new_watch;
}

static void expect_woken(struct hfi_watch *expected)
{
    assert_ptr_equal(w.class_->woken(w.store), expected);
}

/* ------------------------------------------------------------------------------------------------
 * One watch
 */

static void confirmed_and_woken(void **state)
{
    struct hfi_watch *l = watch("L");

    (void)state;
    assert_int_equal(w.class_->want(w.store, COMMANDS, w.now), HFI_LINK_NONE);
    wire_up(&w, WAKEUPS);
    wire_expect(&w, WAKEUPS, SUBSCRIBE("L"));
    assert_true(w.class_->expects(w.store, WAKEUPS));
    wire_nothing_finished(&w);
    confirm(CHANNEL("L"));
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
    assert_false(w.class_->expects(w.store, WAKEUPS)); /* wake-ups do not count */
    expect_woken(NULL);
    message(CHANNEL("L"));
    expect_woken(l);
    expect_woken(NULL);
    message(CHANNEL("L"));
    message(CHANNEL("L")); /* news is news */
    expect_woken(l);
    expect_woken(NULL);
    wire_submit(&w, &l->request, HFI_OP_UNWATCH);
    wire_finished(&w, &l->request, HFI_DONE, HF_OK); /* at once: no wake-up comes any more */
    message(CHANNEL("L"));
    expect_woken(NULL);
    wire_expect(&w, WAKEUPS, UNSUBSCRIBE("L"));
    push("unsubscribe", CHANNEL("L"), ":0\r\n");
    message(CHANNEL("L")); /* late */
    expect_woken(NULL);
    wire_pass(&w, 2000);
    assert_int_equal(w.class_->deadline(w.store), HF_TIME_NEVER);
}

/* A wake-up that nobody has taken yet goes with the watch. */
static void unwatched_while_woken(void **state)
{
    struct hfi_watch *l = watching("L", CHANNEL("L")), *m = watching("M", CHANNEL("M"));

    (void)state;
    message(CHANNEL("L"));
    message(CHANNEL("M"));
    wire_submit(&w, &l->request, HFI_OP_UNWATCH);
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
    expect_woken(m);
    expect_woken(NULL);
}

/* Given up before it was ever sent: the server hears nothing of it. */
static void unwatched_before_it_was_sent(void **state)
{
    struct hfi_watch *l = watch("L");

    (void)state;
    w.now += 2 * HFI_SEC;
    w.class_->tick(w.store, w.now);
    wire_finished(&w, &l->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
    wire_submit(&w, &l->request, HFI_OP_UNWATCH);
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
    assert_int_equal(w.class_->want(w.store, WAKEUPS, w.now), HFI_LINK_NONE);
}

/* Given up while its SUBSCRIBE is on its way: the UNSUBSCRIBE waits for the confirmation. */
static void unwatched_while_unconfirmed(void **state)
{
    struct hfi_watch *l = watch("L");

    (void)state;
    wire_up(&w, WAKEUPS);
    wire_expect(&w, WAKEUPS, SUBSCRIBE("L"));
    w.now += 2 * HFI_SEC;
    w.class_->tick(w.store, w.now);
    wire_finished(&w, &l->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
    wire_submit(&w, &l->request, HFI_OP_UNWATCH);
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
    wire_expect(&w, WAKEUPS, "");
    confirm(CHANNEL("L"));
    wire_expect(&w, WAKEUPS, UNSUBSCRIBE("L"));
    expect_woken(NULL);
}

/* … unless somebody watches again by then: the one SUBSCRIBE serves. */
static void watched_again_while_unconfirmed(void **state)
{
    struct hfi_watch *l = watch("L");

    (void)state;
    wire_up(&w, WAKEUPS);
    wire_expect(&w, WAKEUPS, SUBSCRIBE("L"));
    w.now += 2 * HFI_SEC;
    w.class_->tick(w.store, w.now);
    wire_finished(&w, &l->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
    wire_submit(&w, &l->request, HFI_OP_UNWATCH);
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
    wire_submit(&w, &l->request, HFI_OP_WATCH);
    wire_expect(&w, WAKEUPS, "");
    wire_nothing_finished(&w);
    confirm(CHANNEL("L"));
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
    wire_expect(&w, WAKEUPS, "");
    message(CHANNEL("L"));
    expect_woken(l);
}

/* Watched again before the UNSUBSCRIBE was sent: nothing is sent, and it is in force. */
static void watched_again_at_once(void **state)
{
    struct hfi_watch *l = watching("L", CHANNEL("L"));

    (void)state;
    wire_submit(&w, &l->request, HFI_OP_UNWATCH);
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
    wire_submit(&w, &l->request, HFI_OP_WATCH);
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
    wire_expect(&w, WAKEUPS, "");
    message(CHANNEL("L"));
    expect_woken(l);
}

/* Watched again after it was sent: a new SUBSCRIBE, and only its own confirmation counts. */
static void watched_again_after_unsubscribe(void **state)
{
    struct hfi_watch *l = watching("L", CHANNEL("L"));

    (void)state;
    wire_submit(&w, &l->request, HFI_OP_UNWATCH);
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
    wire_expect(&w, WAKEUPS, UNSUBSCRIBE("L"));
    wire_submit(&w, &l->request, HFI_OP_WATCH);
    wire_expect(&w, WAKEUPS, SUBSCRIBE("L"));
    message(CHANNEL("L"));
    push("unsubscribe", CHANNEL("L"), ":0\r\n");
    wire_nothing_finished(&w);
    confirm(CHANNEL("L"));
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
}

/* The time of the WATCH is over: the waiter goes on without, and is woken when it works after all. */
static void confirmed_too_late(void **state)
{
    struct hfi_watch *l = watch("L");

    (void)state;
    wire_up(&w, WAKEUPS);
    wire_commands(&w, WAKEUPS);
    assert_int_equal(w.class_->deadline(w.store), w.now + 2 * HFI_SEC);
    wire_pass(&w, 2000);
    wire_finished(&w, &l->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
    expect_woken(NULL);
    confirm(CHANNEL("L"));
    wire_nothing_finished(&w);
    expect_woken(l);
}

/* ------------------------------------------------------------------------------------------------
 * Several
 */

/* Names that differ only in braces share a channel. */
static void twin_names(void **state)
{
    struct hfi_watch *a = watch("a"), *twin = watch("{a}");

    (void)state;
    wire_up(&w, WAKEUPS);
    wire_expect(&w, WAKEUPS, SUBSCRIBE("a"));
    confirm(CHANNEL("a"));
    wire_finished(&w, &a->request, HFI_DONE, HF_OK);
    wire_finished(&w, &twin->request, HFI_DONE, HF_OK);
    message(CHANNEL("a"));
    expect_woken(a);
    expect_woken(twin);
    wire_submit(&w, &a->request, HFI_OP_UNWATCH);
    wire_finished(&w, &a->request, HFI_DONE, HF_OK);
    wire_expect(&w, WAKEUPS, ""); /* the twin is still there */
    message(CHANNEL("a"));
    expect_woken(twin);
    expect_woken(NULL);
    wire_submit(&w, &a->request, HFI_OP_WATCH); /* and in force at once */
    wire_finished(&w, &a->request, HFI_DONE, HF_OK);
}

/* Many names in one go. */
static void many(void **state)
{
    enum { COUNT = 500 };
    static char names[COUNT][16];
    static struct hfi_watch *watches[COUNT];

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        watches[i] = watch(names[i]);
    }
    wire_up(&w, WAKEUPS);
    wire_commands(&w, WAKEUPS);
    for (int i = 0; i < COUNT; i++) {
        char channel[64];

        snprintf(channel, sizeof channel, "redisson_lock__channel:{n%d}", i);
        confirm(channel);
        wire_finished(&w, &watches[i]->request, HFI_DONE, HF_OK);
        message(channel);
        expect_woken(watches[i]);
    }
}

/* More than the buffer holds: in whole commands, one after the other. */
static void more_than_fit(void **state)
{
    enum { COUNT = 300 };
    static char names[COUNT][HF_NAME_MAX + 1];
    struct command command;
    int sent = 0;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        memset(names[i], 'n', HF_NAME_MAX);
        names[i][0] = (char)('a' + i % 20);
        names[i][1] = (char)('a' + i / 20);
        watch(names[i]);
    }
    wire_up(&w, WAKEUPS);
    for (; wire_read(&w, WAKEUPS, &command); sent++) {
        assert_int_equal(command.argc, 2);
        assert_int_equal(command.len[1], sizeof CHANNEL("") - 1 + HF_NAME_MAX);
    }
    assert_int_equal(sent, COUNT);
}

/* The lock is of another kind by now: the old channel is left, the new one joined. */
static void the_kind_changes(void **state)
{
    struct hfi_watch *l = watching("L", CHANNEL("L"));

    (void)state;
    l->topic = HFI_TOPIC_READ_WRITE;
    wire_submit(&w, &l->request, HFI_OP_WATCH);
    wire_nothing_finished(&w);
    assert_non_null(strstr(wire_commands(&w, WAKEUPS), "SUBSCRIBE redisson_rwlock:{L}\n"));
    assert_non_null(strstr(w.text, UNSUBSCRIBE("L")));
    message(CHANNEL("L"));
    expect_woken(NULL);
    confirm("redisson_rwlock:{L}");
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
    message("redisson_rwlock:{L}");
    expect_woken(l);
}

/* ------------------------------------------------------------------------------------------------
 * The connection ends
 */

/* All are subscribed again by themselves, and each wakes its waiters once when it is confirmed. */
static void resubscribed_after_a_loss(void **state)
{
    struct hfi_watch *l = watching("L", CHANNEL("L")), *m = watching("M", CHANNEL("M")),
                     *n = watch("N");

    (void)state;
    wire_lose(&w, WAKEUPS);
    wire_nothing_finished(&w);
    wire_up(&w, WAKEUPS); /* at once */
    assert_non_null(strstr(wire_commands(&w, WAKEUPS), SUBSCRIBE("L")));
    assert_non_null(strstr(w.text, SUBSCRIBE("M")));
    assert_non_null(strstr(w.text, SUBSCRIBE("N")));
    expect_woken(NULL);
    confirm(CHANNEL("M"));
    expect_woken(m);
    confirm(CHANNEL("N"));
    expect_woken(NULL);
    wire_finished(&w, &n->request, HFI_DONE, HF_OK); /* it was never in force before */
    confirm(CHANNEL("L"));
    expect_woken(l);
    wire_nothing_finished(&w);
}

/* What was given up meanwhile is not asked for again. */
static void left_during_a_loss(void **state)
{
    struct hfi_watch *l = watching("L", CHANNEL("L")), *m = watching("M", CHANNEL("M"));

    (void)state;
    wire_submit(&w, &l->request, HFI_OP_UNWATCH);
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
    wire_lose(&w, WAKEUPS); /* before the UNSUBSCRIBE was sent */
    wire_submit(&w, &m->request, HFI_OP_UNWATCH);
    wire_finished(&w, &m->request, HFI_DONE, HF_OK);
    assert_int_equal(w.class_->want(w.store, WAKEUPS, w.now), HFI_LINK_NONE);
    wire_pass(&w, 2000);
    assert_int_equal(w.class_->deadline(w.store), HF_TIME_NEVER);
}

/* It is refused: tried again after a pause; the command connection is not concerned. */
static void refused(void **state)
{
    struct hfi_watch *l = watch("L");

    (void)state;
    wire_connect(&w, WAKEUPS);
    wire_commands(&w, WAKEUPS);
    wire_say(&w, WAKEUPS, "-NOAUTH Authentication required.\r\n");
    assert_true(wire_drops(&w, WAKEUPS));
    assert_int_equal(w.class_->want(w.store, WAKEUPS, w.now), HFI_LINK_NONE);
    wire_nothing_finished(&w);
    wire_pass(&w, 20);
    assert_int_equal(wire_redis(&w)->link[WAKEUPS].state, HFI_LINK_DIALING);
    w.now += 2 * HFI_SEC;
    w.class_->tick(w.store, w.now);
    wire_finished(&w, &l->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
}

/* The server does not let us listen: said once, and the waiters go on without. Nothing stays behind, and a new
 * connection tries again. */
static void denied(void **state)
{
    struct hfi_watch *l = watch("L"), *m = watch("M");

    (void)state;
    wire_up(&w, WAKEUPS);
    wire_expect(&w, WAKEUPS, SUBSCRIBE("L") SUBSCRIBE("M"));
    wire_say(&w, WAKEUPS, "-NOPERM no permission to access channels\r\n");
    wire_finished(&w, &l->request, HFI_NOT_DONE, HF_ERR_PERMISSION);
    wire_nothing_finished(&w);
    assert_non_null(strstr(w.warnings, "does not let us listen"));
    w.warnings[0] = '\0';
    wire_say(&w, WAKEUPS, "-NOPERM no permission to access channels\r\n");
    wire_finished(&w, &m->request, HFI_NOT_DONE, HF_ERR_PERMISSION);
    assert_string_equal(w.warnings, "");
    assert_false(w.class_->expects(w.store, WAKEUPS));
    wire_submit(&w, &l->request, HFI_OP_UNWATCH);
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
    wire_expect(&w, WAKEUPS, ""); /* there is nothing to unsubscribe from */
    wire_submit(&w, &m->request, HFI_OP_WATCH);
    wire_finished(&w, &m->request, HFI_NOT_DONE, HF_ERR_PERMISSION);
    w.class_->lost(w.store, WAKEUPS, w.now, "gone");
    wire_up(&w, WAKEUPS);
    wire_expect(&w, WAKEUPS, SUBSCRIBE("M"));
    confirm(CHANNEL("M"));
    expect_woken(m);
    message(CHANNEL("M"));
    expect_woken(m);
}

/* ------------------------------------------------------------------------------------------------
 * Is it still alive?
 */

/* Silence: a PING, and when nothing comes, a new connection. */
static void silence(void **state)
{
    struct hfi_watch *l = watching("L", CHANNEL("L"));

    (void)state;
    (void)l;
    wire_pass(&w, 9999);
    wire_expect(&w, WAKEUPS, "");
    wire_pass(&w, 1);
    wire_expect(&w, WAKEUPS, "PING\n");
    wire_say(&w, WAKEUPS, "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    wire_pass(&w, 9999);
    wire_expect(&w, WAKEUPS, "");
    wire_pass(&w, 1);
    wire_expect(&w, WAKEUPS, "PING\n");
    wire_pass(&w, 1999);
    assert_false(wire_drops(&w, WAKEUPS));
    wire_pass(&w, 1);
    assert_true(wire_drops(&w, WAKEUPS));
    wire_up(&w, WAKEUPS);
    wire_expect(&w, WAKEUPS, SUBSCRIBE("L"));
}

/* Messages are signs of life. */
static void no_silence(void **state)
{
    (void)state;
    watching("L", CHANNEL("L"));
    for (int i = 0; i < 5; i++) {
        wire_pass(&w, 9000);
        message(CHANNEL("L"));
        wire_expect(&w, WAKEUPS, "");
    }
}

/* Nobody watched for an hour: the next watch is not taken for a sign that the server is silent. */
static void watched_after_a_long_time(void **state)
{
    struct hfi_watch *l = watching("L", CHANNEL("L"));

    (void)state;
    wire_submit(&w, &l->request, HFI_OP_UNWATCH);
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
    wire_expect(&w, WAKEUPS, UNSUBSCRIBE("L"));
    push("unsubscribe", CHANNEL("L"), ":0\r\n");
    wire_pass(&w, 3600 * 1000);
    wire_submit(&w, &l->request, HFI_OP_WATCH);
    wire_pass(&w, 1); /* the host keeps its time */
    assert_false(wire_drops(&w, WAKEUPS));
    assert_non_null(strstr(wire_commands(&w, WAKEUPS), SUBSCRIBE("L")));
    confirm(CHANNEL("L"));
    wire_finished(&w, &l->request, HFI_DONE, HF_OK);
}

/* ------------------------------------------------------------------------------------------------
 * The control channel
 */

#define CONTROL "holdfast:client:" WIRE_ID

/* After the first announcement we listen on a channel of our own; `break` tells us there. */
static void taken_away(void **state)
{
    static struct hfi_announcement announcement;

    (void)state;
    wire_submit(&w, &announcement.request, HFI_OP_ANNOUNCE);
    wire_up(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, ":0\r\n");
    wire_finished(&w, &announcement.request, HFI_DONE, HF_OK);
    assert_false(w.class_->restored(w.store));
    wire_up(&w, WAKEUPS);
    wire_expect(&w, WAKEUPS, "SUBSCRIBE " CONTROL "\n");
    confirm(CONTROL);
    assert_true(w.class_->restored(w.store)); /* nobody could tell us before */
    assert_false(w.class_->restored(w.store));
    push("message", CONTROL, "$1\r\nL\r\n");
    assert_true(w.class_->restored(w.store)); /* all holds are verified */
    assert_false(w.class_->restored(w.store));
    wire_lose(&w, WAKEUPS);
    assert_false(w.class_->restored(w.store));
    wire_up(&w, WAKEUPS);
    wire_commands(&w, WAKEUPS);
    confirm(CONTROL);
    assert_true(w.class_->restored(w.store)); /* a message may have been missed */
}

/* ------------------------------------------------------------------------------------------------
 * What a server could say
 */

static void strange_pushes(void **state)
{
    static const char *const STRANGE[] = {
        "+PONG\r\n",
        ":1\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*1\r\n$7\r\nmessage\r\n",
        "*2\r\n$4\r\npong\r\n$0\r\n\r\n",
        "*3\r\n$7\r\nmessage\r\n$-1\r\n$1\r\n0\r\n",
        "*3\r\n:1\r\n:2\r\n:3\r\n",
        "*3\r\n$7\r\nmessage\r\n*0\r\n$1\r\n0\r\n",
        "*3\r\n$7\r\nmessage\r\n$7\r\nunknown\r\n$1\r\n0\r\n",
        "*3\r\n$9\r\nsubscribe\r\n$7\r\nunknown\r\n:1\r\n",
        "*3\r\n$9\r\nsubscribe\r\n$26\r\nredisson_lock__channel:{L}\r\n:1\r\n", /* again */
        "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n",
        "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$26\r\nredisson_lock__channel:{L}\r\n$1\r\n0\r\n",
        "-ERR unknown command\r\n",
        "-NOPERM no\r\n",
    };
    struct hfi_watch *l = watching("L", CHANNEL("L"));

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(STRANGE); i++) {
        wire_say(&w, WAKEUPS, STRANGE[i]);
        if (w.class_->woken(w.store) || w.class_->finished(w.store) || w.class_->restored(w.store))
            fail_msg("%s had an effect", STRANGE[i]);
    }
    push("message", CHANNEL("L"), "$9\r\nnonsense!\r\n"); /* what it says does not matter */
    expect_woken(l);
}

/* Messages in any pieces. */
static void cut_anywhere(void **state)
{
    static const char BYTES[] =
        "*3\r\n$7\r\nmessage\r\n$26\r\nredisson_lock__channel:{L}\r\n$1\r\n0\r\n";
    struct hfi_watch *l = watching("L", CHANNEL("L"));

    (void)state;
    for (size_t cut = 1; cut < sizeof BYTES - 1; cut++) {
        wire_say_bytes(&w, WAKEUPS, BYTES, cut);
        expect_woken(NULL);
        wire_say_bytes(&w, WAKEUPS, BYTES + cut, sizeof BYTES - 1 - cut);
        expect_woken(l);
    }
}

#define OPEN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN(confirmed_and_woken),
        OPEN(unwatched_while_woken),
        OPEN(unwatched_before_it_was_sent),
        OPEN(unwatched_while_unconfirmed),
        OPEN(watched_again_while_unconfirmed),
        OPEN(watched_again_at_once),
        OPEN(watched_again_after_unsubscribe),
        OPEN(confirmed_too_late),
        OPEN(twin_names),
        OPEN(many),
        OPEN(more_than_fit),
        OPEN(the_kind_changes),
        OPEN(resubscribed_after_a_loss),
        OPEN(left_during_a_loss),
        OPEN(refused),
        OPEN(denied),
        OPEN(silence),
        OPEN(no_silence),
        OPEN(watched_after_a_long_time),
        OPEN(taken_away),
        OPEN(strange_pushes),
        OPEN(cut_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
