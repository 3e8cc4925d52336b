/* SPDX-License-Identifier: Apache-2.0 */
/* The Redis store: connections come and go. What was sent is unknown, what was not waits or is refused. */
#include "wire.h"

static struct wire w;

/* Replies to the greeting of a server that is the same as before. */
#define SAME_SERVER "+OK\r\n:71\r\n$15\r\nrun_id:c0ffee\r\n\r\n$-1\r\n$-1\r\n"

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

/* Until the next connection may be tried. */
static void await_retry(void)
{
    w.now = hfi_time_max(w.now, wire_redis(&w)->link[COMMANDS].retry_ns);
}

static struct hfi_lease *send_try(const char *name, uint64_t owner)
{
    struct hfi_lease *lease = wire_lease(&w, name, owner);

    wire_submit(&w, &lease->request, HFI_OP_TRY);
    return lease;
}

/* ------------------------------------------------------------------------------------------------
 * When a connection is wanted
 */

/* None before there is something to do; and no clock runs. */
static void idle(void **state)
{
    (void)state;
    assert_int_equal(w.class_->want(w.store, COMMANDS, w.now), HFI_LINK_NONE);
    assert_int_equal(w.class_->want(w.store, WAKEUPS, w.now), HFI_LINK_NONE);
    assert_int_equal(w.class_->deadline(w.store), HF_TIME_NEVER);
    assert_false(w.class_->expects(w.store, COMMANDS));
    assert_false(w.class_->has_output(w.store, COMMANDS));
    assert_null(w.class_->finished(w.store));
    assert_null(w.class_->woken(w.store));
    assert_false(w.class_->restored(w.store));
}

static void addresses(void **state)
{
    const struct hfi_address *address = w.class_->address(w.store);

    (void)state;
    assert_string_equal(address->host, "h");
    assert_string_equal(address->port, "6379");
    assert_null(address->path);
    wire_close(&w);
    wire_open(&w, "redis+unix:///run/r.sock");
    address = w.class_->address(w.store);
    assert_null(address->host);
    assert_string_equal(address->path, "/run/r.sock");
}

/* It is kept when there is nothing to do any more, without a clock. */
static void kept_when_idle(void **state)
{
    struct hfi_lease *lease = send_try("L", 1);

    (void)state;
    wire_up(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "*1\r\n:2\r\n");
    wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
    assert_int_equal(w.class_->deadline(w.store), HF_TIME_NEVER);
    wire_pass(&w, 3600 * 1000);
    assert_int_equal(w.class_->want(w.store, COMMANDS, w.now), HFI_LINK_KEEP);
}

/* ------------------------------------------------------------------------------------------------
 * It cannot be made
 */

/* What waits is refused with the reason; nothing is dialled before a pause that grows. */
static void dialling_fails(void **state)
{
    hfi_time longest = 0;

    (void)state;
    for (int i = 0; i < 40; i++) {
        struct hfi_lease *lease = send_try("L", 1);
        hfi_time before = w.now;

        while (w.class_->want(w.store, COMMANDS, w.now) != HFI_LINK_DIAL) {
            hfi_time at = w.class_->deadline(w.store);

            assert_true(at > w.now && at != HF_TIME_NEVER);
            w.now = at;
            w.class_->tick(w.store, w.now);
        }
        longest = hfi_time_max(longest, w.now - before);
        w.class_->lost(w.store, COMMANDS, w.now, "Connection refused");
        if (!w.class_->finished(w.store))
            fail();
        if (lease->request.outcome == HFI_NOT_DONE)
            assert_int_equal(lease->request.error, HF_ERR_UNREACHABLE);
        assert_string_equal(w.store->detail, "redis://h:6379/0: Connection refused");
    }
    assert_in_range(longest, HFI_SEC, 2 * HFI_SEC);
}

/* The request's own time ends before the pause does: not done, and why. */
static void time_ends_while_pausing(void **state)
{
    struct hfi_lease *first = send_try("L", 1), *second;

    (void)state;
    assert_int_equal(w.class_->want(w.store, COMMANDS, w.now), HFI_LINK_DIAL);
    w.class_->lost(w.store, COMMANDS, w.now, "Connection refused");
    wire_finished(&w, &first->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
    second = wire_lease(&w, "L", 2);
    wire_submit(&w, &second->request, HFI_OP_TRY);
    second->request.deadline_ns = w.now + 1;
    wire_redis(&w)->pending_by = second->request.deadline_ns;
    w.now += 1;
    w.class_->tick(w.store, w.now);
    wire_finished(&w, &second->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
    assert_string_equal(w.store->detail, "redis://h:6379/0: Connection refused");
}

/* Of several that wait, those whose time is over are refused, and no others. */
static void only_the_due_are_refused(void **state)
{
    static const hfi_time TIMES[] = { 900, 300, 600 };
    struct hfi_lease *leases[UNIT_COUNT(TIMES)];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(TIMES); i++) {
        leases[i] = wire_lease(&w, "L", i);
        wire_submit(&w, &leases[i]->request, HFI_OP_TRY);
        leases[i]->request.deadline_ns = w.now + TIMES[i] * HFI_MSEC;
    }
    assert_int_equal(w.class_->want(w.store, COMMANDS, w.now), HFI_LINK_DIAL);
    w.now += 300 * HFI_MSEC;
    wire_redis(&w)->pending_by = w.now; /* as it is when a deadline is there from the start */
    w.class_->tick(w.store, w.now);
    wire_finished(&w, &leases[1]->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
    wire_nothing_finished(&w);
    assert_int_equal(w.class_->deadline(w.store), w.now + 300 * HFI_MSEC);
    w.now += 600 * HFI_MSEC;
    w.class_->tick(w.store, w.now);
    wire_finished(&w, &leases[0]->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
    wire_finished(&w, &leases[2]->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
}

/* The host takes too long to connect, or the server to greet. */
static void neither_connected_nor_greeted(void **state)
{
    struct hfi_lease *lease = send_try("L", 1);

    (void)state;
    assert_int_equal(w.class_->want(w.store, COMMANDS, w.now), HFI_LINK_DIAL);
    lease->request.deadline_ns = HF_TIME_NEVER - 1;
    wire_pass(&w, 1999);
    assert_false(wire_drops(&w, COMMANDS));
    w.now += 2 * HFI_MSEC;
    w.class_->tick(w.store, w.now);
    assert_true(wire_drops(&w, COMMANDS));
    wire_finished(&w, &lease->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
    assert_string_equal(w.store->detail, "redis://h:6379/0 does not answer");

    lease = send_try("L", 2);
    lease->request.deadline_ns = HF_TIME_NEVER - 1;
    w.now += 2 * HFI_SEC;
    wire_connect(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    w.now += 2 * HFI_SEC;
    w.class_->tick(w.store, w.now);
    assert_true(wire_drops(&w, COMMANDS));
    wire_finished(&w, &lease->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
}

/* ------------------------------------------------------------------------------------------------
 * It ends
 */

/* What was sent is unknown, in order; what was not waits; the next one first ends the old one's server side. */
static void lost_with_requests_in_flight(void **state)
{
    struct hfi_lease *a = send_try("A", 1), *b = send_try("B", 2), *c = send_try("C", 3), *d;

    (void)state;
    wire_up(&w, COMMANDS); /* client 70 */
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "*1\r\n:2\r\n*3\r\n:1\r\n:5"); /* one and a half */
    d = send_try("D", 4);
    wire_lose(&w, COMMANDS);
    wire_finished(&w, &a->request, HFI_DONE, HF_OK);
    wire_finished(&w, &b->request, HFI_UNKNOWN, HF_ERR_UNSURE);
    wire_finished(&w, &c->request, HFI_UNKNOWN, HF_ERR_UNSURE);
    wire_nothing_finished(&w);
    assert_int_equal(d->request.outcome, HFI_PENDING);
    assert_int_not_equal(b->verdict, HFI_BUSY + 100);

    wire_connect(&w, COMMANDS); /* at once */
    wire_expect(&w, COMMANDS,
                "CLIENT SETNAME holdfast:prog@host:4711\nCLIENT ID\n"
                "INFO server\nINFO replication\nINFO memory\n");
    wire_say(&w, COMMANDS, SAME_SERVER);
    wire_expect(&w, COMMANDS, "CLIENT KILL ID 70\n"); /* and nothing before it is answered */
    wire_say(&w, COMMANDS, ":1\r\n");
    assert_non_null(strstr(wire_commands(&w, COMMANDS), "EVALSHA acquire 2 D "));
    assert_true(w.class_->restored(w.store));
    assert_false(w.class_->restored(w.store));          /* told once */
    wire_say(&w, COMMANDS, "*3\r\n:1\r\n:5\r\n:1\r\n"); /* nothing of the old one's is left */
    wire_finished(&w, &d->request, HFI_DONE, HF_OK);
    assert_int_equal(d->verdict, HFI_GRANTED);
}

/* Nothing was unanswered: there is nobody to kill. */
static void lost_when_idle(void **state)
{
    struct hfi_lease *lease = send_try("L", 1);

    (void)state;
    wire_up(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "*1\r\n:2\r\n");
    wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
    wire_lose(&w, COMMANDS);
    assert_int_equal(w.class_->want(w.store, COMMANDS, w.now), HFI_LINK_NONE);
    assert_int_equal(w.class_->deadline(w.store), HF_TIME_NEVER);
    send_try("L", 2);
    wire_connect(&w, COMMANDS);
    wire_expect(&w, COMMANDS,
                "CLIENT SETNAME holdfast:prog@host:4711\nCLIENT ID\n"
                "INFO server\nINFO replication\nINFO memory\n");
}

/* The greeting that kills is lost itself: the next one kills the same, until one is through. */
static void the_kill_is_repeated(void **state)
{
    struct hfi_lease *lease = send_try("L", 1);

    (void)state;
    wire_up(&w, COMMANDS); /* client 70 */
    wire_commands(&w, COMMANDS);
    wire_lose(&w, COMMANDS);
    wire_finished(&w, &lease->request, HFI_UNKNOWN, HF_ERR_UNSURE);
    for (int i = 0; i < 3; i++) {
        lease = send_try("L", 2);
        await_retry();
        wire_connect(&w, COMMANDS);
        wire_commands(&w, COMMANDS);
        wire_say(&w, COMMANDS, SAME_SERVER);
        wire_expect(&w, COMMANDS, "CLIENT KILL ID 70\n"); /* and no answer */
        wire_lose(&w, COMMANDS);
        wire_finished(&w, &lease->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
    }
    send_try("L", 3);
    await_retry();
    wire_up(&w, COMMANDS);
    assert_int_equal(wire_redis(&w)->kill_id, 0);
}

/* The server was started again: its old connections are gone, and their numbers may be other clients' now. */
static void nobody_else_is_killed(void **state)
{
    struct hfi_lease *lease = send_try("L", 1);

    (void)state;
    wire_up(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    wire_lose(&w, COMMANDS);
    wire_finished(&w, &lease->request, HFI_UNKNOWN, HF_ERR_UNSURE);
    send_try("L", 2);
    wire_connect(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "+OK\r\n:71\r\n$14\r\nrun_id:decaf\r\n\r\n$-1\r\n$-1\r\n");
    wire_expect(&w, COMMANDS, "EVALSHA acquire 2 L holdfast:token:{ohholh} " OWNER(2) " 30000 1\n");
    assert_int_equal(wire_redis(&w)->kill_id, 0);
}

/* Killing is denied, or there is nobody any more: it goes on. */
static void the_kill_is_denied(void **state)
{
    static const char *const REPLIES[] = {
        "-NOPERM no\r\n",
        "-ERR No such client ID\r\n",
        ":0\r\n",
    };
    struct hfi_lease *lease;

    (void)state;
    lease = send_try("L", 1);
    wire_up(&w, COMMANDS);
    for (size_t i = 0; i < UNIT_COUNT(REPLIES); i++) {
        wire_commands(&w, COMMANDS);
        wire_lose(&w, COMMANDS);
        wire_finished(&w, &lease->request, HFI_UNKNOWN, HF_ERR_UNSURE);
        lease = send_try("L", i + 2);
        await_retry();
        wire_connect(&w, COMMANDS);
        wire_commands(&w, COMMANDS);
        wire_say(&w, COMMANDS, SAME_SERVER);
        wire_commands(&w, COMMANDS);
        wire_say(&w, COMMANDS, REPLIES[i]);
        assert_non_null(strstr(wire_commands(&w, COMMANDS), "EVALSHA acquire"));
    }
}

/* Half of a command was sent when it ended: the next connection begins with whole ones. */
static void lost_in_the_middle_of_a_command(void **state)
{
    struct hfi_lease *lease = send_try("L", 1);
    const char *bytes;
    size_t count;

    (void)state;
    wire_up(&w, COMMANDS);
    count = w.class_->produce(w.store, COMMANDS, w.now, &bytes);
    assert_true(count > 10);
    w.class_->produced(w.store, COMMANDS, 10);
    wire_lose(&w, COMMANDS);
    wire_finished(&w, &lease->request, HFI_UNKNOWN, HF_ERR_UNSURE);
    send_try("L", 2);
    wire_up(&w, COMMANDS);
    assert_non_null(strstr(wire_commands(&w, COMMANDS), "EVALSHA acquire 2 L "));
}

/* A request that is to be sent again by its text was certainly not executed: it waits, it is not unknown. */
static void lost_after_noscript(void **state)
{
    struct hfi_lease *lease = send_try("L", 1);

    (void)state;
    wire_up(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "-NOSCRIPT x\r\n");
    wire_lose(&w, COMMANDS);
    wire_nothing_finished(&w);
    wire_up(&w, COMMANDS);
    assert_non_null(strstr(wire_commands(&w, COMMANDS), "EVAL acquire 2 L "));
    wire_say(&w, COMMANDS, "*3\r\n:1\r\n:5\r\n:1\r\n");
    wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
}

/* It works, and ends again and again: that is no reason to wait. */
static void reconnects_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct hfi_lease *one = send_try("L", 1), *two = send_try("L", 2);

        wire_up(&w, COMMANDS);
        wire_commands(&w, COMMANDS);
        wire_say(&w, COMMANDS, "*1\r\n:2\r\n");
        wire_finished(&w, &one->request, HFI_DONE, HF_OK);
        wire_lose(&w, COMMANDS);
        wire_finished(&w, &two->request, HFI_UNKNOWN, HF_ERR_UNSURE);
    }
}

/* Every connection ends as soon as something is asked: after the first time there are pauses, and they grow. */
static void a_server_that_hangs_up(void **state)
{
    unsigned connections = 0;
    hfi_time end = w.now + 20 * HFI_SEC;

    (void)state;
    while (w.now < end) {
        struct hfi_lease *lease = send_try("L", connections);
        hfi_time before = w.now;

        await_retry();
        assert_true(connections > 1 || w.now == before);
        wire_up(&w, COMMANDS);
        wire_commands(&w, COMMANDS);
        wire_lose(&w, COMMANDS);
        wire_finished(&w, &lease->request, HFI_UNKNOWN, HF_ERR_UNSURE);
        connections++;
    }
    assert_in_range(connections, 10, 60);
    send_try("L", 1000); /* it answers one: all is well again */
    await_retry();
    wire_up(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "*1\r\n:2\r\n");
    wire_lose(&w, COMMANDS);
    assert_true(wire_redis(&w)->link[COMMANDS].retry_ns <= w.now);
    assert_non_null(w.class_->finished(w.store));
}

/* A connection that was of use says nothing about the next one, which cannot be made. */
static void dialling_fails_after_success(void **state)
{
    struct hfi_lease *lease = send_try("L", 1);

    (void)state;
    wire_up(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "*1\r\n:2\r\n");
    wire_finished(&w, &lease->request, HFI_DONE, HF_OK);
    wire_lose(&w, COMMANDS);
    lease = send_try("L", 2);
    assert_int_equal(w.class_->want(w.store, COMMANDS, w.now), HFI_LINK_DIAL);
    w.class_->lost(w.store, COMMANDS, w.now, "Connection refused");
    wire_finished(&w, &lease->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
    send_try("L", 3);
    assert_int_equal(w.class_->want(w.store, COMMANDS, w.now), HFI_LINK_NONE);
}

/* ------------------------------------------------------------------------------------------------
 * No answer
 */

/* The first request's time is over: the whole connection is of no use, all on it are unknown. */
static void a_reply_does_not_come(void **state)
{
    struct hfi_lease *a = send_try("A", 1), *b;

    (void)state;
    wire_up(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    wire_pass(&w, 1000);
    b = send_try("B", 2);
    wire_commands(&w, COMMANDS);
    wire_pass(&w, 999);
    wire_nothing_finished(&w);
    wire_pass(&w, 2);
    assert_true(wire_drops(&w, COMMANDS));
    assert_string_equal(w.store->detail, "redis://h:6379/0 does not answer");
    wire_finished(&w, &a->request, HFI_UNKNOWN, HF_ERR_UNSURE);
    wire_finished(&w, &b->request, HFI_UNKNOWN, HF_ERR_UNSURE);
}

/* Answers in time move the clock on to the next one, and never leave it behind. */
static void replies_in_time(void **state)
{
    struct hfi_lease *a = send_try("A", 1), *b;

    (void)state;
    wire_up(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    wire_pass(&w, 1500);
    b = send_try("B", 2);
    wire_commands(&w, COMMANDS);
    wire_say(&w, COMMANDS, "*1\r\n:2\r\n");
    wire_finished(&w, &a->request, HFI_DONE, HF_OK);
    wire_pass(&w, 1000); /* past the first one's time */
    assert_false(wire_drops(&w, COMMANDS));
    wire_say(&w, COMMANDS, "*1\r\n:2\r\n");
    wire_finished(&w, &b->request, HFI_DONE, HF_OK);
    wire_pass(&w, 100000);
    assert_false(wire_drops(&w, COMMANDS));
}

/* A request of a short ttl has a shorter time than one that was sent before. */
static void the_soonest_counts(void **state)
{
    struct hfi_lease *a = send_try("A", 1), *b = wire_lease(&w, "B", 2);

    (void)state;
    wire_up(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    wire_submit(&w, &b->request, HFI_OP_TRY);
    b->request.deadline_ns = w.now + 25 * HFI_MSEC;
    wire_commands(&w, COMMANDS);
    assert_int_equal(w.class_->deadline(w.store), w.now + 25 * HFI_MSEC);
    wire_pass(&w, 25);
    assert_true(wire_drops(&w, COMMANDS));
    wire_finished(&w, &a->request, HFI_UNKNOWN, HF_ERR_UNSURE);
    wire_finished(&w, &b->request, HFI_UNKNOWN, HF_ERR_UNSURE);
}

/* The socket takes nothing: what waits behind is not done when its time is over. */
static void the_output_is_stuck(void **state)
{
    struct hfi_lease *a = send_try("A", 1), *b;

    (void)state;
    wire_up(&w, COMMANDS);
    wire_commands(&w, COMMANDS);
    b = send_try("B", 2); /* the host does not ask for it */
    wire_pass(&w, 1999);
    w.now += 2 * HFI_MSEC;
    w.class_->tick(w.store, w.now);
    assert_true(wire_drops(&w, COMMANDS));
    wire_finished(&w, &b->request, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
    wire_finished(&w, &a->request, HFI_UNKNOWN, HF_ERR_UNSURE);
}

/* ------------------------------------------------------------------------------------------------
 * The end
 */

/* The client ends: everything is finished, also what comes later, and nothing is wanted any more. */
static void abandoned(void **state)
{
    struct hfi_lease *sent = send_try("A", 1), *waiting, *later;
    struct hfi_watch *watch = wire_watch(&w, "L"), *other = wire_watch(&w, "M");
    struct hfi_query query = { .text = "*" };

    (void)state;
    wire_submit(&w, &watch->request, HFI_OP_WATCH);
    wire_up(&w, COMMANDS);
    wire_up(&w, WAKEUPS);
    wire_commands(&w, COMMANDS);
    waiting = send_try("B", 2);
    query.list = hfi_list_new();
    wire_submit(&w, &query.request, HFI_OP_LIST);
    wire_lose(&w, WAKEUPS);
    wire_lose(&w, COMMANDS);
    w.class_->abandon(w.store);
    wire_finished(&w, &sent->request, HFI_UNKNOWN, HF_ERR_UNSURE);
    wire_finished(&w, &waiting->request, HFI_NOT_DONE, HF_ERR_CLOSED);
    wire_finished(&w, &query.request, HFI_NOT_DONE, HF_ERR_CLOSED);
    wire_finished(&w, &watch->request, HFI_NOT_DONE, HF_ERR_CLOSED);
    later = send_try("C", 3);
    wire_finished(&w, &later->request, HFI_NOT_DONE, HF_ERR_CLOSED);
    wire_submit(&w, &other->request, HFI_OP_WATCH);
    wire_finished(&w, &other->request, HFI_NOT_DONE, HF_ERR_CLOSED);
    for (unsigned link = 0; link < 2; link++)
        assert_int_equal(w.class_->want(w.store, link, w.now), HFI_LINK_NONE);
    assert_int_equal(w.class_->deadline(w.store), HF_TIME_NEVER); /* nobody is woken for nothing */
    hf_list_free(query.list);
}

/* Freed at every stage: what is left is finished, and no memory is lost (the address sanitizer counts). */
static void freed_at_every_stage(void **state)
{
    (void)state;
    for (int stage = 0; stage < 8; stage++) {
        struct hfi_watch *watch = wire_watch(&w, "L");
        struct hfi_query query = { .text = "*" };

        query.list = hfi_list_new();
        if (stage > 0)
            send_try("L", 1);
        if (stage > 1)
            wire_submit(&w, &watch->request, HFI_OP_WATCH);
        if (stage > 2)
            wire_connect(&w, COMMANDS);
        if (stage > 3)
            wire_greet(&w, COMMANDS);
        if (stage > 4)
            wire_up(&w, WAKEUPS);
        if (stage > 5) {
            wire_submit(&w, &query.request, HFI_OP_LIST);
            wire_commands(&w, COMMANDS);
            wire_commands(&w, WAKEUPS);
        }
        if (stage > 6)
            wire_say(&w, COMMANDS, "*3\r\n:1\r\n:5\r\n"); /* a reply in the middle */
        wire_close(&w);
        hf_list_free(query.list);
        wire_open(&w, "redis://h");
    }
}

#define OPEN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN(idle),
        OPEN(addresses),
        OPEN(kept_when_idle),
        OPEN(dialling_fails),
        OPEN(time_ends_while_pausing),
        OPEN(only_the_due_are_refused),
        OPEN(neither_connected_nor_greeted),
        OPEN(lost_with_requests_in_flight),
        OPEN(lost_when_idle),
        OPEN(the_kill_is_repeated),
        OPEN(nobody_else_is_killed),
        OPEN(the_kill_is_denied),
        OPEN(lost_in_the_middle_of_a_command),
        OPEN(lost_after_noscript),
        OPEN(reconnects_at_once),
        OPEN(a_server_that_hangs_up),
        OPEN(dialling_fails_after_success),
        OPEN(a_reply_does_not_come),
        OPEN(replies_in_time),
        OPEN(the_soonest_counts),
        OPEN(the_output_is_stuck),
        OPEN(abandoned),
        OPEN(freed_at_every_stage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
