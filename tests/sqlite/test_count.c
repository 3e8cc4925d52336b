/* SPDX-License-Identifier: Apache-2.0 */
/* Permits, semaphores and latches: numbers, who waits for them, deaths and repetitions. */
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "store/sqlite/sqlite.h"

static void nap_ms(long ms)
{
    struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&nap, NULL);
}

static int verdict(struct client *client, int kind, uint64_t owner, uint32_t permits)
{
    return take_some(client, kind, "name", owner, permits).verdict;
}

static int64_t available(struct client *client)
{
    return step_ok(client, HFI_SEMAPHORE_AVAILABLE, "name", 0).number;
}

static void permits_are(struct client *client, int64_t left, int64_t taken)
{
    struct hfi_object object = step_ok(client, HFI_PERMITS_COUNT, "name", 0);

    assert_int_equal(object.number, left);
    assert_int_equal(object.number2, taken);
}

/* ------------------------------------------------------------------------------------------------
 * Permits
 */

static void permits_as_leases(void **state)
{
    struct client a, b;
    struct hfi_lease lease;

    (void)state;
    client_open(&a);
    client_open(&b);
    assert_int_equal(verdict(&a, HFI_KIND_PERMITS, 1, 1), HFI_BUSY); /* there are none */
    leave_line(&a, HFI_KIND_PERMITS, "name", 1);
    step_ok(&a, HFI_PERMITS_SET, "name", 5);
    lease = take_some(&a, HFI_KIND_PERMITS, "name", 1, 2);
    assert_int_equal(lease.verdict, HFI_GRANTED);
    assert_int_equal(lease.token, 0);
    assert_int_equal(lease.tokens, 1);
    assert_int_equal(verdict(&a, HFI_KIND_PERMITS, 1, 2), HFI_ALREADY);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 1, 3), HFI_GRANTED);
    permits_are(&b, 0, 5);
    assert_true(keep(&a, HFI_KIND_PERMITS, "name", 1, 30000));
    lease = take_some(&b, HFI_KIND_PERMITS, "name", 2, 1);
    assert_int_equal(lease.verdict, HFI_BUSY);
    assert_true(lease.hint_ns > 20 * HFI_SEC && lease.hint_ns <= 30 * HFI_SEC);
    assert_int_equal(give(&b, HFI_KIND_PERMITS, "name", 7).verdict, HFI_GONE);
    assert_int_equal(give(&a, HFI_KIND_PERMITS, "name", 1).verdict, HFI_RELEASED);
    assert_int_equal(give(&a, HFI_KIND_PERMITS, "name", 1).verdict, HFI_GONE);
    assert_false(keep(&a, HFI_KIND_PERMITS, "name", 1, 30000));
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 2, 1), HFI_GRANTED);
    permits_are(&a, 1, 4);
    client_close(&a);
    client_close(&b);
}

/* What is under one name in other families is something else. */
static void families(void **state)
{
    struct client a;

    (void)state;
    client_open(&a);
    step_ok(&a, HFI_PERMITS_SET, "name", 1);
    step_ok(&a, HFI_SEMAPHORE_SET, "name", 1);
    step_ok(&a, HFI_LATCH_SET, "name", 1);
    assert_int_equal(verdict(&a, HFI_KIND_MUTEX, 1, 0), HFI_GRANTED);
    assert_int_equal(verdict(&a, HFI_KIND_PERMITS, 1, 1), HFI_GRANTED);
    assert_int_equal(verdict(&a, HFI_KIND_SEMAPHORE, 2, 1), HFI_GRANTED);
    assert_int_equal(verdict(&a, HFI_KIND_LATCH, 3, 0), HFI_BUSY);
    assert_int_equal(verdict(&a, HFI_KIND_MUTEX, 4, 0), HFI_BUSY);
    assert_int_equal(give(&a, HFI_KIND_PERMITS, "name", 1).verdict, HFI_RELEASED);
    assert_true(keep(&a, HFI_KIND_MUTEX, "name", 1, 30000));
    client_close(&a);
}

/* Who wants many is not starved by those who want few; who fits beside it goes in with it. */
static void order_of_permits(void **state)
{
    static const uint32_t wanted[] = { 3, 1, 2, 1 };
    struct client holder, waiter[4];

    (void)state;
    client_open(&holder);
    step_ok(&holder, HFI_PERMITS_SET, "name", 4);
    assert_int_equal(verdict(&holder, HFI_KIND_PERMITS, 1, 2), HFI_GRANTED);
    assert_int_equal(verdict(&holder, HFI_KIND_PERMITS, 2, 2), HFI_GRANTED);
    for (int i = 0; i < 4; i++) {
        client_open(&waiter[i]);
        assert_int_equal(verdict(&waiter[i], HFI_KIND_PERMITS, 1, wanted[i]), HFI_BUSY);
        watch_line(&waiter[i], HFI_KIND_PERMITS, "name", 1);
    }
    give(&holder, HFI_KIND_PERMITS, "name", 1);
    for (int i = 0; i < 4; i++) {
        assert_false(wait_woken(&waiter[i], 20));
        assert_int_equal(verdict(&waiter[i], HFI_KIND_PERMITS, 1, wanted[i]), HFI_BUSY);
    }
    assert_int_equal(verdict(&holder, HFI_KIND_PERMITS, 3, 1), HFI_BUSY);
    leave_line(&holder, HFI_KIND_PERMITS, "name", 3);
    give(&holder, HFI_KIND_PERMITS, "name", 2);
    assert_true(wait_woken(&waiter[0], LONG_WAIT_MS));
    assert_true(wait_woken(&waiter[1], LONG_WAIT_MS));
    assert_int_equal(verdict(&waiter[1], HFI_KIND_PERMITS, 1, 1), HFI_GRANTED);
    assert_int_equal(verdict(&waiter[2], HFI_KIND_PERMITS, 1, 2), HFI_BUSY);
    assert_int_equal(verdict(&waiter[0], HFI_KIND_PERMITS, 1, 3), HFI_GRANTED);
    assert_false(wait_woken(&waiter[2], 20));
    give(&waiter[1], HFI_KIND_PERMITS, "name", 1);
    assert_false(wait_woken(&waiter[3], 20)); /* it would fit; one before it does not */
    give(&waiter[0], HFI_KIND_PERMITS, "name", 1);
    assert_true(wait_woken(&waiter[2], LONG_WAIT_MS));
    assert_true(wait_woken(&waiter[3], LONG_WAIT_MS));
    assert_int_equal(verdict(&waiter[2], HFI_KIND_PERMITS, 1, 2), HFI_GRANTED);
    assert_int_equal(verdict(&waiter[3], HFI_KIND_PERMITS, 1, 1), HFI_GRANTED);
    permits_are(&holder, 1, 3);
    for (int i = 0; i < 4; i++)
        client_close(&waiter[i]);
    client_close(&holder);
}

/* One client waits for several numbers: a place for each, given up by the owner that asked last. */
static void places_of_one_client(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    step_ok(&a, HFI_PERMITS_SET, "name", 3);
    verdict(&a, HFI_KIND_PERMITS, 1, 3);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 1, 2), HFI_BUSY);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 2, 1), HFI_BUSY);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 3, 1),
                     HFI_BUSY); /* in the place of the second */
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 2);
    assert_int_equal(sql_number("SELECT sum(units) FROM waiter"), 3);
    leave_line(&b, HFI_KIND_PERMITS, "name", 3);
    assert_int_equal(sql_number("SELECT sum(units) FROM waiter"), 2);
    verdict(&b, HFI_KIND_PERMITS, 4, 1);
    watch_line(&b, HFI_KIND_PERMITS, "name", 0);
    step_ok(&a, HFI_PERMITS_ADD, "name", 2);
    assert_true(wait_woken(&b, LONG_WAIT_MS)); /* that of the first is called */
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 4, 1), HFI_BUSY);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 1, 2), HFI_GRANTED);
    give(&a, HFI_KIND_PERMITS, "name", 1);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 4, 1), HFI_GRANTED);
    client_close(&a);
    client_close(&b);
}

/* Who wants more than there are in all does not keep the others waiting. */
static void more_than_there_are(void **state)
{
    struct client a, b, c;

    (void)state;
    client_open(&a);
    client_open(&b);
    client_open(&c);
    step_ok(&a, HFI_PERMITS_SET, "name", 2);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 1, 5), HFI_BUSY);
    assert_int_equal(verdict(&a, HFI_KIND_PERMITS, 1, 2), HFI_GRANTED);
    assert_int_equal(verdict(&c, HFI_KIND_PERMITS, 1, 1), HFI_BUSY);
    watch_line(&c, HFI_KIND_PERMITS, "name", 1);
    give(&a, HFI_KIND_PERMITS, "name", 1);
    assert_true(wait_woken(&c, LONG_WAIT_MS));
    assert_int_equal(verdict(&c, HFI_KIND_PERMITS, 1, 1), HFI_GRANTED);
    step_ok(&a, HFI_PERMITS_RESIZE, "name", 5); /* from now on it is the first */
    assert_int_equal(verdict(&a, HFI_KIND_PERMITS, 2, 1), HFI_BUSY);
    give(&c, HFI_KIND_PERMITS, "name", 1);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 1, 5), HFI_GRANTED);
    client_close(&a);
    client_close(&b);
    client_close(&c);
}

/* A place is given up whose owner the store does not know any more: none is left to block the line. */
static void leaving_as_somebody_else(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    step_ok(&a, HFI_SEMAPHORE_SET, "name", 1);
    assert_int_equal(verdict(&a, HFI_KIND_SEMAPHORE, 1, 3), HFI_BUSY);
    assert_int_equal(verdict(&a, HFI_KIND_SEMAPHORE, 2, 2), HFI_BUSY);
    watch_line(&a, HFI_KIND_SEMAPHORE, "name", 2);
    assert_int_equal(verdict(&b, HFI_KIND_SEMAPHORE, 1, 1), HFI_BUSY);
    watch_line(&b, HFI_KIND_SEMAPHORE, "name", 1);
    leave_line(&a, HFI_KIND_SEMAPHORE, "name", 99);
    assert_true(wait_woken(&a, LONG_WAIT_MS)); /* whoever waits on has to try again */
    assert_true(wait_woken(&b, LONG_WAIT_MS));
    assert_int_equal(verdict(&b, HFI_KIND_SEMAPHORE, 1, 1), HFI_GRANTED);
    client_close(&a);
    client_close(&b);
}

/* Called, and then the number was made smaller: the place is kept. */
static void called_too_early(void **state)
{
    struct client a, b, c;

    (void)state;
    client_open(&a);
    client_open(&b);
    client_open(&c);
    step_ok(&a, HFI_PERMITS_SET, "name", 3);
    assert_int_equal(verdict(&a, HFI_KIND_PERMITS, 1, 2), HFI_GRANTED);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 1, 2), HFI_BUSY);
    assert_int_equal(verdict(&c, HFI_KIND_PERMITS, 1, 1), HFI_BUSY);
    step_ok(&a, HFI_PERMITS_ADD, "name", 1);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter WHERE called_ns > 0"), 1);
    step_ok(&a, HFI_PERMITS_ADD, "name", -1);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 1, 2), HFI_BUSY);
    nap_ms((long)(HFI_SQLITE_GRACE / HFI_MSEC) + 50);
    assert_int_equal(verdict(&c, HFI_KIND_PERMITS, 1, 1), HFI_BUSY);
    step_ok(&a, HFI_PERMITS_ADD, "name", 1);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 1, 2), HFI_GRANTED);
    client_close(&a);
    client_close(&b);
    client_close(&c);
}

/* Of any holder's death the first in the line hears at once. */
static void holders_die(void **state)
{
    struct remote first = remote_start(), second = remote_start();
    struct client waiter;

    (void)state;
    client_open(&waiter);
    step_ok(&waiter, HFI_PERMITS_SET, "name", 4);
    remote_do_kind(&first, ORDER_TRY, HFI_KIND_PERMITS, "name", 1, 2);
    remote_do_kind(&second, ORDER_TRY, HFI_KIND_PERMITS, "name", 1, 1);
    remote_do_kind(&second, ORDER_TRY, HFI_KIND_PERMITS, "name", 2, 1);
    assert_int_equal(verdict(&waiter, HFI_KIND_PERMITS, 1, 3), HFI_BUSY);
    watch_line(&waiter, HFI_KIND_PERMITS, "name", 1);
    remote_kill(&second);
    assert_true(wait_woken(&waiter, LONG_WAIT_MS));
    assert_int_equal(verdict(&waiter, HFI_KIND_PERMITS, 1, 3), HFI_BUSY);
    assert_false(wait_woken(&waiter, 20));
    permits_are(&waiter, 2, 2);
    remote_kill(&first);
    assert_true(wait_woken(&waiter, LONG_WAIT_MS));
    assert_int_equal(verdict(&waiter, HFI_KIND_PERMITS, 1, 3), HFI_GRANTED);
    permits_are(&waiter, 1, 3);
    client_close(&waiter);
}

static void permits_expire(void **state)
{
    struct hfi_lease lease = lease_of_kind(HFI_KIND_PERMITS, "name", 1, 2);
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    step_ok(&a, HFI_PERMITS_SET, "name", 2);
    lease.request.op = HFI_OP_TRY;
    lease.ttl_ms = 1000;
    run(&a, &lease.request);
    assert_int_equal(lease.verdict, HFI_GRANTED);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 1, 2), HFI_BUSY);
    nap_ms(1020);
    permits_are(&b, 2, 0);
    assert_false(keep(&a, HFI_KIND_PERMITS, "name", 1, 30000));
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 1, 2), HFI_GRANTED);
    assert_int_equal(give(&a, HFI_KIND_PERMITS, "name", 1).verdict, HFI_GONE);
    client_close(&a);
    client_close(&b);
}

/* All holds are lost, and their clients hear of it. */
static void permits_deleted(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    step_ok(&a, HFI_PERMITS_SET, "name", 2);
    verdict(&a, HFI_KIND_PERMITS, 1, 1);
    verdict(&a, HFI_KIND_PERMITS, 2, 1);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 1, 1), HFI_BUSY);
    assert_false(wait_restored(&a, 200)); /* begins to listen */
    step_ok(&b, HFI_PERMITS_DELETE, "name", 0);
    assert_true(wait_restored(&a, LONG_WAIT_MS));
    assert_false(keep(&a, HFI_KIND_PERMITS, "name", 1, 30000));
    assert_false(keep(&a, HFI_KIND_PERMITS, "name", 2, 30000));
    assert_int_equal(step(&b, HFI_PERMITS_DELETE, "name", 0, 9).request.error, HF_ERR_NOT_FOUND);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 1, 1), HFI_BUSY);
    permits_are(&b, 0, 0);
    step_ok(&a, HFI_PERMITS_SET, "name", 1);
    assert_int_equal(verdict(&b, HFI_KIND_PERMITS, 1, 1), HFI_GRANTED);
    client_close(&a);
    client_close(&b);
}

/* ------------------------------------------------------------------------------------------------
 * Semaphores
 */

static void semaphore_tries(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    step_ok(&a, HFI_SEMAPHORE_SET, "name", 3);
    assert_int_equal(verdict(&a, HFI_KIND_SEMAPHORE, 1, 2), HFI_GRANTED);
    assert_int_equal(verdict(&a, HFI_KIND_SEMAPHORE, 1, 2), HFI_ALREADY);
    assert_int_equal(available(&b), 1);
    assert_int_equal(give(&b, HFI_KIND_SEMAPHORE, "name", 1).verdict, HFI_GONE); /* not its try */
    assert_int_equal(give(&a, HFI_KIND_SEMAPHORE, "name", 9).verdict, HFI_GONE);
    assert_int_equal(available(&b), 1);
    assert_int_equal(give(&a, HFI_KIND_SEMAPHORE, "name", 1).verdict, HFI_RELEASED);
    assert_int_equal(available(&b), 3);
    assert_int_equal(give(&a, HFI_KIND_SEMAPHORE, "name", 1).verdict, HFI_GONE); /* once */
    assert_int_equal(available(&b), 3);
    assert_int_equal(verdict(&a, HFI_KIND_SEMAPHORE, 2, 3), HFI_GRANTED);
    step_ok(&b, HFI_SEMAPHORE_DELETE, "name", 0);
    assert_int_equal(give(&a, HFI_KIND_SEMAPHORE, "name", 2).verdict, HFI_RELEASED);
    assert_int_equal(step(&b, HFI_SEMAPHORE_RETURN, "name", 1, 5).request.error, HF_ERR_NOT_FOUND);
    client_close(&a);
    client_close(&b);
}

/* What was taken is nobody's: it stays so when the taker dies, and a waiter that died is passed over. */
static void semaphore_and_death(void **state)
{
    struct remote taker = remote_start(), waiter = remote_start();
    struct client a;

    (void)state;
    client_open(&a);
    step_ok(&a, HFI_SEMAPHORE_SET, "name", 2);
    remote_do_kind(&taker, ORDER_TRY, HFI_KIND_SEMAPHORE, "name", 1, 2);
    remote_do_kind(&waiter, ORDER_TRY, HFI_KIND_SEMAPHORE, "name", 1, 2);
    assert_int_equal(verdict(&a, HFI_KIND_SEMAPHORE, 1, 1), HFI_BUSY);
    watch_line(&a, HFI_KIND_SEMAPHORE, "name", 1);
    remote_kill(&taker);
    assert_false(wait_woken(&a, 50));
    assert_int_equal(available(&a), 0);
    step_ok(&a, HFI_SEMAPHORE_RELEASE, "name", 1); /* too few for the first */
    assert_false(wait_woken(&a, 20));
    assert_int_equal(verdict(&a, HFI_KIND_SEMAPHORE, 1, 1), HFI_BUSY);
    remote_kill(&waiter);
    assert_true(wait_woken(&a, LONG_WAIT_MS));
    assert_int_equal(verdict(&a, HFI_KIND_SEMAPHORE, 1, 1), HFI_GRANTED);
    assert_int_equal(available(&a), 0);
    client_close(&a);
}

/* Every step that makes room wakes who fits, and nobody else. */
static void semaphore_steps_wake(void **state)
{
    static const int verbs[] = { HFI_SEMAPHORE_RELEASE, HFI_SEMAPHORE_RETURN, HFI_SEMAPHORE_ADD };
    struct client a, b, c;
    uint64_t owner = 1;

    (void)state;
    client_open(&a);
    client_open(&b);
    client_open(&c);
    step_ok(&a, HFI_SEMAPHORE_SET, "name", 0);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++, owner++) {
        assert_int_equal(verdict(&b, HFI_KIND_SEMAPHORE, owner, 2), HFI_BUSY);
        watch_line(&b, HFI_KIND_SEMAPHORE, "name", owner);
        assert_int_equal(verdict(&c, HFI_KIND_SEMAPHORE, owner, 1), HFI_BUSY);
        watch_line(&c, HFI_KIND_SEMAPHORE, "name", owner);
        step_ok(&a, (enum hfi_verb)verbs[i], "name", 1);
        assert_false(wait_woken(&b, 20));
        assert_false(wait_woken(&c, 20));
        step_ok(&a, (enum hfi_verb)verbs[i], "name", 1);
        assert_true(wait_woken(&b, LONG_WAIT_MS));
        assert_int_equal(verdict(&b, HFI_KIND_SEMAPHORE, owner, 2), HFI_GRANTED);
        assert_false(wait_woken(&c, 20));
        assert_int_equal(give(&b, HFI_KIND_SEMAPHORE, "name", owner).verdict, HFI_RELEASED);
        assert_true(wait_woken(&c, LONG_WAIT_MS)); /* what was taken back wakes as well */
        assert_int_equal(verdict(&c, HFI_KIND_SEMAPHORE, owner, 1), HFI_GRANTED);
        assert_int_equal(step_ok(&a, HFI_SEMAPHORE_DRAIN, "name", 0).number, 1);
    }
    client_close(&a);
    client_close(&b);
    client_close(&c);
}

/* Many threads of two processes; none is lost, none appears. */
static void conserved(void **state)
{
    struct remote remote[3];
    struct client a;

    (void)state;
    client_open(&a);
    step_ok(&a, HFI_SEMAPHORE_SET, "name", 2);
    for (int i = 0; i < 3; i++)
        remote[i] = remote_start();
    for (uint64_t owner = 1; owner <= 200; owner++) {
        int n = (int)(owner % 3);
        struct answer answer =
            remote_do_kind(&remote[n], ORDER_TRY, HFI_KIND_SEMAPHORE, "name", owner, 1);

        if (answer.verdict == HFI_GRANTED && owner % 2)
            remote_do_kind(&remote[n], ORDER_RELEASE, HFI_KIND_SEMAPHORE, "name", owner, 1);
        else if (answer.verdict == HFI_GRANTED)
            step_ok(&a, HFI_SEMAPHORE_RELEASE, "name", 1);
        else
            remote_do_kind(&remote[n], ORDER_LEAVE, HFI_KIND_SEMAPHORE, "name", owner, 1);
        assert_int_equal(available(&a), 2);
    }
    for (int i = 0; i < 3; i++)
        remote_quit(&remote[i]);
    assert_int_equal(available(&a), 2);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 0);
    client_close(&a);
}

/* ------------------------------------------------------------------------------------------------
 * Latches
 */

static void latch_opens(void **state)
{
    struct client a, waiter[3];

    (void)state;
    client_open(&a);
    assert_int_equal(verdict(&a, HFI_KIND_LATCH, 1, 0), HFI_GRANTED);
    assert_int_equal(step_ok(&a, HFI_LATCH_DOWN, "name", 0).number, 0);
    step_ok(&a, HFI_LATCH_SET, "name", 2);
    assert_int_equal(step(&a, HFI_LATCH_SET, "name", 3, 77).request.error, HF_ERR_EXISTS);
    for (int i = 0; i < 3; i++) {
        client_open(&waiter[i]);
        assert_int_equal(verdict(&waiter[i], HFI_KIND_LATCH, 1, 0), HFI_BUSY);
        watch_line(&waiter[i], HFI_KIND_LATCH, "name", 1);
    }
    leave_line(&waiter[2], HFI_KIND_LATCH, "name", 1);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 2);
    verdict(&waiter[2], HFI_KIND_LATCH, 1, 0);
    assert_int_equal(step_ok(&a, HFI_LATCH_DOWN, "name", 0).number, 1);
    assert_int_equal(step_ok(&a, HFI_LATCH_GET, "name", 0).number, 1);
    for (int i = 0; i < 3; i++)
        assert_false(wait_woken(&waiter[i], 20));
    assert_int_equal(step_ok(&a, HFI_LATCH_DOWN, "name", 0).number, 0);
    for (int i = 0; i < 3; i++) {
        assert_true(wait_woken(&waiter[i], LONG_WAIT_MS));
        assert_int_equal(verdict(&waiter[i], HFI_KIND_LATCH, 1, 0), HFI_GRANTED);
    }
    assert_int_equal(sql_number("SELECT (SELECT count(*) FROM waiter) + (SELECT count(*) FROM "
                                "tally)"),
                     0);
    for (int i = 0; i < 3; i++)
        client_close(&waiter[i]);
    client_close(&a);
}

static void latch_is_deleted(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    assert_int_equal(step(&a, HFI_LATCH_DELETE, "name", 0, 50).request.error, HF_ERR_NOT_FOUND);
    step_ok(&a, HFI_LATCH_SET, "name", 5);
    assert_int_equal(verdict(&b, HFI_KIND_LATCH, 1, 0), HFI_BUSY);
    watch_line(&b, HFI_KIND_LATCH, "name", 1);
    step_ok(&a, HFI_LATCH_DELETE, "name", 0);
    assert_int_equal(step(&a, HFI_LATCH_DELETE, "name", 0, 51).request.error, HF_ERR_NOT_FOUND);
    assert_true(wait_woken(&b, LONG_WAIT_MS));
    assert_int_equal(verdict(&b, HFI_KIND_LATCH, 1, 0), HFI_GONE);
    assert_int_equal(step_ok(&a, HFI_LATCH_GET, "name", 0).number, 0);
    assert_int_equal(step_ok(&a, HFI_LATCH_DOWN, "name", 0).number, 0);
    assert_int_equal(verdict(&b, HFI_KIND_LATCH, 1, 0), HFI_GONE);
    sql_number("UPDATE tally SET until_ns = 1"); /* a minute later */
    assert_int_equal(verdict(&b, HFI_KIND_LATCH, 1, 0), HFI_GRANTED);
    step_ok(&a, HFI_LATCH_SET, "name", 1);
    assert_int_equal(verdict(&b, HFI_KIND_LATCH, 1, 0), HFI_BUSY);
    step_ok(&a, HFI_LATCH_DELETE, "name", 0);
    step_ok(&a, HFI_LATCH_SET, "name", 1); /* a new one: the deletion is forgotten */
    assert_int_equal(verdict(&b, HFI_KIND_LATCH, 1, 0), HFI_BUSY);
    step_ok(&a, HFI_LATCH_DOWN, "name", 0);
    assert_int_equal(verdict(&b, HFI_KIND_LATCH, 1, 0), HFI_GRANTED);
    client_close(&a);
    client_close(&b);
}

/* Nothing is lost between a try that was busy and the watch. */
static void down_before_watch(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    for (int i = 0; i < 20; i++) {
        step_ok(&a, HFI_LATCH_SET, "name", 1);
        assert_int_equal(verdict(&b, HFI_KIND_LATCH, 1, 0), HFI_BUSY);
        step_ok(&a, HFI_LATCH_DOWN, "name", 0);
        watch_line(&b, HFI_KIND_LATCH, "name", 1);
        assert_true(wait_woken(&b, LONG_WAIT_MS));
        do_unwatch(&b);
        step_ok(&a, HFI_SEMAPHORE_SET, "name", 0);
        assert_int_equal(verdict(&b, HFI_KIND_SEMAPHORE, 100 + (uint64_t)i, 1), HFI_BUSY);
        step_ok(&a, HFI_SEMAPHORE_ADD, "name", 1);
        watch_line(&b, HFI_KIND_SEMAPHORE, "name", 1);
        assert_true(wait_woken(&b, LONG_WAIT_MS));
        assert_int_equal(verdict(&b, HFI_KIND_SEMAPHORE, 100 + (uint64_t)i, 1), HFI_GRANTED);
        do_unwatch(&b);
        step_ok(&a, HFI_SEMAPHORE_DELETE, "name", 0);
    }
    client_close(&a);
    client_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(permits_as_leases),
        T(families),
        T(order_of_permits),
        T(places_of_one_client),
        T(called_too_early),
        T(holders_die),
        T(permits_expire),
        T(permits_deleted),
        T(semaphore_tries),
        T(semaphore_and_death),
        T(conserved),
        T(semaphore_steps_wake),
        T(latch_opens),
        T(latch_is_deleted),
        T(down_before_watch),
        T(more_than_there_are),
        T(leaving_as_somebody_else),
#undef T
    };

    return cmocka_run_group_tests_name("sqlite count", tests, NULL, NULL);
}
