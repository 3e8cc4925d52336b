/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Redis store between a host and a server that do everything they may, at random: connections that cannot
 * be made, break, stay silent; replies in pieces, late or never; scripts forgotten; channels refused.
 *
 * What must hold: every request is finished once, and truly. What is "not done" was never executed. What is
 * "done" has the answer that was given to it and to no other. What is "unknown" was sent. An old connection is
 * ended before anything is asked on a new one. A watch that is in force misses no message. And the host never
 * has to spin.
 */
#include <utlist.h>

#include "wire.h"

enum { LEASES = 24, WATCHES = 5, STEPS = 1500, OUTPUT = 64 * 1024 };

enum fate { NEVER_SENT, SENT, EXECUTED };

/* A request that the store has, and what happened to it at the server. */
struct asked {
    bool busy;
    struct hfi_lease lease;
    struct hfi_renewal renewal;
    struct hfi_renewal_item item;
    struct hfi_request *request;
    enum fate fate;
    uint64_t token; /* the answer that it got, or will get */
    bool kept;
};

struct watcher {
    struct hfi_watch watch;
    char name[8], channel[48];
    bool submitted, in_force, leaving;
    bool left;     /* its LEAVE was executed */
    bool missed;   /* its connection ended: it is to be woken when it is in force again */
    bool expected; /* a message for it was delivered */
};

/* What the server has of one connection. */
struct connection {
    bool open;
    uint64_t id;
    char out[OUTPUT]; /* replies that were not delivered yet */
    size_t length;
    bool subscribed[WATCHES];
    struct { /* messages in `out`, by where they end */
        size_t end;
        int watcher;
        bool confirms; /* a subscription */
    } message[64];
    size_t messages;
};

static struct wire w;
static struct hfi_random dice;
static struct asked asked[LEASES];
static struct watcher watchers[WATCHES];
static struct connection connection[2];
static uint64_t next_id, next_owner, next_token;
static uint64_t unresolved, killed; /* the id of a connection that is to be ended first; that was */
static uint64_t granted, unknown, refused, woken;
static bool knows_scripts, calm;

static uint64_t draw(uint64_t below)
{
    return hfi_random_below(&dice, below);
}

static bool chance(unsigned in_a_thousand)
{
    return !calm && draw(1000) < in_a_thousand;
}

/* ------------------------------------------------------------------------------------------------
 * The server
 */

__attribute__((format(printf, 2, 3))) static void say(struct connection *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    c->length += (size_t)vsnprintf(c->out + c->length, OUTPUT - c->length, format, args);
    va_end(args);
    assert_true(c->length < OUTPUT);
}

static void say_bulk(struct connection *c, const char *text)
{
    say(c, "$%zu\r\n%s\r\n", strlen(text), text);
}

/* By the owner, which is one of the arguments. */
static struct asked *asked_by(const struct command *command)
{
    uint64_t number = 0;

    for (size_t i = 3; i < command->argc && number == 0; i++)
        if (strncmp(command->argv[i], WIRE_ID ":", sizeof WIRE_ID) == 0)
            number = strtoull(command->argv[i] + sizeof WIRE_ID, NULL, 10);
    for (size_t i = 0; i < LEASES; i++)
        if (asked[i].busy && asked[i].lease.owner == number)
            return &asked[i];
    return NULL; /* its time was over, and it was never sent: impossible */
}

/* A waiter gives up its place: its number is one of the watches'. */
static bool execute_leave(struct connection *c, const struct command *command)
{
    for (size_t i = 0; i < WATCHES; i++) {
        char owner[64];

        snprintf(owner, sizeof owner, WIRE_ID ":%llu", (unsigned long long)watchers[i].watch.owner);
        if (command->argc != 11 || strcmp(command->argv[8], owner) != 0)
            continue;
        assert_int_equal(watchers[i].watch.request.op, HFI_OP_LEAVE);
        assert_int_equal(watchers[i].watch.request.outcome, HFI_PENDING);
        watchers[i].left = knows_scripts || strcmp(command->argv[0], "EVAL") == 0;
        knows_scripts |= watchers[i].left;
        say(c, watchers[i].left ? ":1\r\n" : "-NOSCRIPT No matching script.\r\n");
        return true;
    }
    return false;
}

static void execute_script(struct connection *c, const struct command *command)
{
    struct asked *one;

    if (execute_leave(c, command))
        return;
    one = asked_by(command);
    assert_non_null(one); /* nothing that is finished is executed afterwards */
    assert_int_not_equal(one->fate, EXECUTED);
    one->fate = SENT;
    if (strcmp(command->argv[0], "EVALSHA") == 0 && !knows_scripts) {
        say(c, "-NOSCRIPT No matching script.\r\n");
        return;
    }
    knows_scripts = true;
    if (chance(30)) {
        say(c, "-OOM command not allowed\r\n");
        one->token = 0;
        return;
    }
    one->fate = EXECUTED;
    one->token = ++next_token;
    if (one->request->op == HFI_OP_RENEW)
        say(c, "*1\r\n:%d\r\n", one->kept = draw(2));
    else if (one->request->op == HFI_OP_RELEASE)
        say(c, ":%llu\r\n", (unsigned long long)one->token);
    else
        say(c, "*3\r\n:1\r\n:%llu\r\n:1\r\n", (unsigned long long)one->token);
}

static void note_message(struct connection *c, int i, bool confirms)
{
    assert_true(c->messages < UNIT_COUNT(c->message));
    c->message[c->messages].watcher = i;
    c->message[c->messages].confirms = confirms;
    c->message[c->messages++].end = c->length;
}

static int watcher_of(const char *channel)
{
    for (int i = 0; i < WATCHES; i++)
        if (strcmp(watchers[i].channel, channel) == 0)
            return i;
    fail_msg("a channel that nobody watches: %s", channel);
    return -1;
}

static void execute_subscription(struct connection *c, const struct command *command)
{
    bool on = strcmp(command->argv[0], "SUBSCRIBE") == 0;
    int i = watcher_of(command->argv[1]);

    if (on && chance(50)) {
        say(c, "-NOPERM channels\r\n");
        return;
    }
    c->subscribed[i] = on;
    say(c, "*3\r\n");
    say_bulk(c, on ? "subscribe" : "unsubscribe");
    say_bulk(c, command->argv[1]);
    say(c, ":1\r\n");
    if (on)
        note_message(c, i, true);
}

static void execute_greeting(struct connection *c, const struct command *command)
{
    const char *second = command->argc > 1 ? command->argv[1] : "";

    if (strcmp(second, "ID") == 0)
        say(c, ":%llu\r\n", (unsigned long long)c->id);
    else if (strcmp(second, "server") == 0)
        say_bulk(c, "redis_version:7.0.0\nrun_id:same\n");
    else if (strcmp(command->argv[0], "INFO") == 0 && chance(30))
        say(c, "-LOADING x\r\n");
    else if (strcmp(command->argv[0], "INFO") == 0)
        say_bulk(c, "role:master\n");
    else if (strcmp(second, "KILL") == 0) {
        uint64_t id = strtoull(command->argv[3], NULL, 10);

        assert_true(id == unresolved || id == killed); /* again, when its answer was lost */
        killed = id;
        unresolved = 0;
        say(c, ":0\r\n");
    } else {
        say(c, "+OK\r\n");
    }
}

static void execute(unsigned link, const struct command *command)
{
    struct connection *c = &connection[link];

    if (strncmp(command->argv[0], "EVAL", 4) == 0) {
        assert_int_equal(unresolved, 0); /* the old connection was ended before */
        execute_script(c, command);
    } else if (strstr(command->argv[0], "SUBSCRIBE")) {
        execute_subscription(c, command);
    } else if (strcmp(command->argv[0], "PING") == 0) {
        say(c, "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    } else {
        execute_greeting(c, command);
    }
}

/* Somebody gives a lock back. */
static void publish(void)
{
    struct connection *c = &connection[WAKEUPS];
    int i = (int)draw(WATCHES);

    if (!c->open || !c->subscribed[i] || c->messages > UNIT_COUNT(c->message) / 2)
        return;
    say(c, "*3\r\n$7\r\nmessage\r\n");
    say_bulk(c, watchers[i].channel);
    say(c, "$1\r\n0\r\n");
    note_message(c, i, false);
}

/* ------------------------------------------------------------------------------------------------
 * What comes out of the store
 */

static void check_done(struct asked *one)
{
    assert_int_equal(one->fate, EXECUTED);
    if (one->request->op == HFI_OP_TRY) {
        assert_int_equal(one->lease.verdict, HFI_GRANTED);
        assert_int_equal(one->lease.token, one->token);
        assert_true(one->lease.request.sent_ns > 0 && one->lease.request.sent_ns <= w.now);
        granted++;
    } else if (one->request->op == HFI_OP_RELEASE) {
        assert_int_equal(one->lease.others, one->token);
    } else {
        assert_int_equal(one->item.kept, one->kept);
    }
}

static void check_finished(struct asked *one)
{
    assert_true(one->busy);
    switch ((enum hfi_outcome)one->request->outcome) {
    case HFI_DONE:
        check_done(one);
        break;
    case HFI_NOT_DONE:
        assert_int_not_equal(one->fate, EXECUTED);
        refused++;
        break;
    case HFI_UNKNOWN:
        assert_true(one->request->sent_ns > 0);
        unknown++;
        break;
    case HFI_PENDING:
        fail();
    }
    one->busy = false;
}

static void watch_finished(struct watcher *watcher)
{
    assert_true(watcher->submitted);
    if (watcher->watch.request.op == HFI_OP_LEAVE) {
        assert_true(watcher->leaving);
        watcher->leaving = false;
        if (watcher->watch.request.outcome == HFI_DONE)
            assert_true(watcher->left);
        if (watcher->watch.request.outcome == HFI_NOT_DONE)
            assert_false(watcher->left);
    } else if (watcher->watch.request.op == HFI_OP_UNWATCH)
        watcher->submitted = watcher->in_force = watcher->expected = watcher->missed = false;
    else if (watcher->watch.request.outcome == HFI_DONE)
        watcher->in_force = true;
}

static void take_finished(void)
{
    struct hfi_request *request;
    struct hfi_watch *watch;

    while ((request = w.class_->finished(w.store))) {
        bool ours = false;

        for (size_t i = 0; i < LEASES && !ours; i++)
            if (asked[i].busy && asked[i].request == request)
                ours = true, check_finished(&asked[i]);
        for (size_t i = 0; i < WATCHES && !ours; i++)
            if (&watchers[i].watch.request == request)
                ours = true, watch_finished(&watchers[i]);
        assert_true(ours);
    }
    while ((watch = w.class_->woken(w.store))) {
        struct watcher *watcher = (struct watcher *)watch;

        assert_true(watcher->submitted); /* none after its UNWATCH */
        watcher->expected = false;
        woken++;
    }
    for (size_t i = 0; i < WATCHES; i++)
        assert_false(watchers[i].expected); /* none is missed */
    w.class_->restored(w.store);
}

/* ------------------------------------------------------------------------------------------------
 * The host
 */

static void lose(unsigned link)
{
    struct connection *c = &connection[link];

    if (link == COMMANDS && c->open && wire_redis(&w)->sent)
        unresolved = wire_redis(&w)->link[link].state == HFI_LINK_READY ? c->id : unresolved;
    c->open = false;
    for (size_t i = 0; i < WATCHES && link == WAKEUPS; i++)
        watchers[i].missed = watchers[i].in_force;
    wire_lose(&w, link);
    take_finished();
}

static void open_connection(unsigned link)
{
    struct connection *c = &connection[link];

    memset(c, 0, sizeof *c);
    c->open = true;
    c->id = ++next_id;
    w.length[link] = 0;
    w.class_->connected(w.store, link, w.now);
}

/* Does what the store wants of a connection; false: nothing. */
static bool service(unsigned link)
{
    switch (w.class_->want(w.store, link, w.now)) {
    case HFI_LINK_DROP:
        lose(link);
        return true;
    case HFI_LINK_DIAL:
        if (chance(150)) {
            w.class_->lost(w.store, link, w.now, "Connection refused");
            take_finished();
        } else {
            open_connection(link);
        }
        return true;
    default:
        return false;
    }
}

static void send_and_execute(unsigned link)
{
    struct command command;

    if (wire_redis(&w)->link[link].drop || !connection[link].open)
        return;
    for (uint64_t n = 1 + draw(6); n > 0 && wire_read(&w, link, &command); n--)
        execute(link, &command);
    for (size_t i = 0; i < LEASES; i++)
        if (asked[i].busy && asked[i].request->sent_ns && asked[i].fate == NEVER_SENT)
            asked[i].fate = SENT;
}

/* A piece of what the server said. */
static void deliver(unsigned link)
{
    struct connection *c = &connection[link];
    size_t n = calm ? c->length : (size_t)draw(c->length + 1), left = 0;

    if (!c->open || n == 0 || wire_redis(&w)->link[link].drop)
        return;
    for (size_t i = 0; i < c->messages; i++) {
        struct watcher *watcher = &watchers[c->message[i].watcher];

        if (c->message[i].end > n) {
            c->message[left] = c->message[i];
            c->message[left++].end -= n;
        } else if (watcher->in_force && (!c->message[i].confirms || watcher->missed)) {
            watcher->expected = true;
            watcher->missed = false;
        }
    }
    c->messages = left;
    wire_say_bytes(&w, link, c->out, n);
    c->length -= n;
    memmove(c->out, c->out + n, c->length);
    take_finished();
}

/* Time passes; the host does all that is due, and it comes to an end. */
static void tick(hfi_time ns)
{
    unsigned turns = 0;

    w.now += ns;
    w.class_->tick(w.store, w.now);
    take_finished();
    while (service(COMMANDS) || service(WAKEUPS) || w.class_->deadline(w.store) <= w.now) {
        assert_true(turns++ < 50);
        w.class_->tick(w.store, w.now);
        take_finished();
    }
}

/* ------------------------------------------------------------------------------------------------
 * What is asked
 */

static void ask_lease(void)
{
    static const enum hfi_op OPS[] = { HFI_OP_TRY, HFI_OP_RELEASE, HFI_OP_RENEW };
    struct asked *one = &asked[draw(LEASES)];
    enum hfi_op op = OPS[draw(3)];

    if (one->busy)
        return;
    memset(one, 0, sizeof *one);
    one->busy = true;
    one->lease = (struct hfi_lease){
        .name = "L", .name_len = 1, .owner = ++next_owner, .ttl_ms = 30000, .tokens = 1
    };
    one->lease.kind = (uint8_t)draw(HFI_KIND_PERMITS); /* those whose owners are in the command */
    one->item = (struct hfi_renewal_item){ .lease = &one->lease, .ttl_ms = 30000 };
    one->renewal = (struct hfi_renewal){ .count = 1, .items = &one->item };
    one->request = op == HFI_OP_RENEW ? &one->renewal.request : &one->lease.request;
    wire_submit(&w, one->request, op);
    take_finished();
}

static void ask_watch(void)
{
    struct watcher *watcher = &watchers[draw(WATCHES)];
    bool pending = watcher->submitted && watcher->watch.request.outcome == HFI_PENDING;

    if (pending || (watcher->submitted && !watcher->in_force && chance(500)))
        return;
    watcher->expected = false;
    if (watcher->submitted && chance(300)) {
        watcher->leaving = true;
        watcher->left = false;
        wire_submit(&w, &watcher->watch.request, HFI_OP_LEAVE);
    } else if (watcher->submitted) {
        wire_submit(&w, &watcher->watch.request, HFI_OP_UNWATCH);
    } else {
        watcher->submitted = true;
        wire_submit(&w, &watcher->watch.request, HFI_OP_WATCH);
    }
    take_finished();
}

static void random_step(void)
{
    switch (draw(12)) {
    case 0:
    case 1:
        ask_lease();
        break;
    case 2:
        ask_watch();
        break;
    case 3:
        publish();
        break;
    case 4:
        tick(draw(10) ? draw(100 * HFI_MSEC) : draw(3 * HFI_SEC));
        break;
    case 5:
        if (chance(100))
            knows_scripts = false;
        if (chance(60) && connection[draw(2)].open)
            lose(connection[COMMANDS].open ? COMMANDS : WAKEUPS);
        else if (chance(30) && connection[WAKEUPS].open)
            lose(WAKEUPS);
        break;
    case 6:
    case 7:
    case 8:
        send_and_execute(COMMANDS);
        send_and_execute(WAKEUPS);
        break;
    default:
        deliver((unsigned)draw(2));
        service(COMMANDS);
        service(WAKEUPS);
    }
}

/* ------------------------------------------------------------------------------------------------
 * A seed
 */

static void begin(uint64_t seed)
{
    static const char *const NAMES[WATCHES] = { "a", "b", "c", "d{t}", "e" };

    hfi_random_init(&dice, seed);
    wire_open(&w, "redis://h");
    memset(asked, 0, sizeof asked);
    memset(watchers, 0, sizeof watchers);
    memset(connection, 0, sizeof connection);
    next_id = 100;
    next_owner = next_token = unresolved = killed = 0;
    knows_scripts = draw(2);
    calm = false;
    for (int i = 0; i < WATCHES; i++) {
        snprintf(watchers[i].name, sizeof watchers[i].name, "%s", NAMES[i]);
        snprintf(watchers[i].channel, sizeof watchers[i].channel,
                 strchr(NAMES[i], '{') ? "redisson_lock__channel:%s"
                                       : "redisson_lock__channel:{%s}",
                 NAMES[i]);
        watchers[i].watch.name = watchers[i].name;
        watchers[i].watch.name_len = (uint16_t)strlen(NAMES[i]);
        watchers[i].watch.kind = HFI_KIND_FAIR;
        watchers[i].watch.owner = 1000000000 + (uint64_t)i;
    }
}

static bool all_are_finished(void)
{
    for (size_t i = 0; i < LEASES; i++)
        if (asked[i].busy)
            return false;
    for (size_t i = 0; i < WATCHES; i++)
        if (watchers[i].submitted && watchers[i].watch.request.outcome == HFI_PENDING)
            return false;
    return true;
}

/* The server is well: everything is answered before its time is over, and nothing is left. */
static void end(void)
{
    hfi_time latest = w.now + 3 * HFI_SEC;

    calm = true;
    while (!all_are_finished()) {
        assert_true(w.now < latest);
        for (unsigned link = 0; link < 2; link++) {
            send_and_execute(link);
            deliver(link);
        }
        tick(HFI_MSEC);
    }
    for (size_t i = 0; i < WATCHES; i++) {
        if (!watchers[i].submitted)
            continue;
        wire_submit(&w, &watchers[i].watch.request, HFI_OP_UNWATCH);
        take_finished();
    }
    for (int i = 0; i < 20; i++) {
        send_and_execute(WAKEUPS);
        deliver(WAKEUPS);
    }
    tick(3 * HFI_SEC);
    assert_null(wire_redis(&w)->subscriptions);
    assert_int_equal(w.class_->deadline(w.store), HF_TIME_NEVER);
    wire_close(&w);
}

static void anything_can_happen(void **state)
{
    (void)state;
    for (uint64_t seed = unit_first_seed(), last = seed + unit_seeds(1000); seed < last; seed++) {
        begin(seed);
        for (int i = 0; i < STEPS; i++)
            random_step();
        end();
    }
    print_message("granted %llu unknown %llu refused %llu woken %llu\n",
                  (unsigned long long)granted, (unsigned long long)unknown,
                  (unsigned long long)refused, (unsigned long long)woken);
    if (unit_seeds(1000) >= 1000)
        assert_true(granted > 1000 && unknown > 1000 && refused > 1000 && woken > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(anything_can_happen) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
