/* SPDX-License-Identifier: Apache-2.0 */
/* Who keeps whom out, and in what order kinds of all sorts get a name: readers, writers, fair owners. */
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#include "store/sqlite/sqlite.h"

#define KINDS 6 /* MUTEX to READ: those of a lock */

static void nap_ms(long ms)
{
    struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&nap, NULL);
}

static int try_once(struct client *client, int kind, const char *name, uint64_t owner)
{
    struct hfi_lease lease = lease_of_kind(kind, name, owner, 0);

    lease.request.op = HFI_OP_TRY;
    run(client, &lease.request);
    assert_int_equal(lease.request.outcome, HFI_DONE);
    return lease.verdict;
}

/* Every kind against every kind, of another client and of another owner of the same one. */
static void exclusion(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    for (int first = 0; first < KINDS; first++) {
        for (int second = 0; second < KINDS; second++) {
            bool both = first == HFI_KIND_READ && second == HFI_KIND_READ;
            int expected = both ? HFI_GRANTED : HFI_BUSY;

            assert_int_equal(try_once(&a, first, "lock", 1), HFI_GRANTED);
            assert_int_equal(try_once(&b, second, "lock", 1), expected);
            assert_int_equal(try_once(&a, second, "lock", 2), expected);
            assert_int_equal(give(&b, second, "lock", 2).verdict, HFI_GONE);
            assert_int_equal(give(&b, second, "lock", 1).verdict, both ? HFI_RELEASED : HFI_GONE);
            assert_int_equal(give(&a, second, "lock", 2).verdict, both ? HFI_RELEASED : HFI_GONE);
            assert_true(keep(&a, first, "lock", 1, 30000));
            assert_int_equal(try_once(&a, first, "lock", 1), HFI_ALREADY);
            assert_int_equal(give(&a, first, "lock", 1).verdict, HFI_RELEASED);
            assert_int_equal(sql_number("SELECT count(*) FROM hold"), 0);
        }
    }
    client_close(&a);
    client_close(&b);
}

/* Exclusive kinds draw tokens that grow from one kind to the next; readers have none. */
static void tokens(void **state)
{
    struct client a;
    uint64_t last = 0;

    (void)state;
    client_open(&a);
    for (int kind = 0; kind < KINDS; kind++) {
        struct hfi_lease lease = lease_of_kind(kind, "lock", 1, 0);

        lease.request.op = HFI_OP_TRY;
        lease.tokens = 10;
        run(&a, &lease.request);
        assert_int_equal(lease.verdict, HFI_GRANTED);
        if (kind == HFI_KIND_READ) {
            assert_int_equal(lease.token, 0);
            assert_int_equal(lease.tokens, 1);
        } else {
            assert_true(lease.token > last);
            assert_int_equal(lease.tokens, 10);
            last = lease.token + 9;
        }
        give(&a, kind, "lock", 1);
    }
    client_close(&a);
}

static void many_readers(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    for (uint64_t owner = 1; owner <= 100; owner++) {
        assert_int_equal(try_once(&a, HFI_KIND_READ, "lock", owner), HFI_GRANTED);
        assert_int_equal(try_once(&b, HFI_KIND_READ, "lock", owner), HFI_GRANTED);
    }
    assert_int_equal(try_once(&b, HFI_KIND_READ, "lock", 50), HFI_ALREADY);
    assert_int_equal(sql_number("SELECT count(*) FROM hold"), 200);
    for (uint64_t owner = 1; owner <= 100; owner++) {
        assert_int_equal(try_once(&b, HFI_KIND_MUTEX, "lock", 1000), HFI_BUSY);
        assert_true(keep(&a, HFI_KIND_READ, "lock", owner, 30000));
        assert_int_equal(give(&a, HFI_KIND_READ, "lock", owner).verdict, HFI_RELEASED);
        assert_false(keep(&a, HFI_KIND_READ, "lock", owner, 30000));
        assert_int_equal(try_once(&a, HFI_KIND_MUTEX, "lock", 1000), HFI_BUSY);
        assert_int_equal(give(&b, HFI_KIND_READ, "lock", owner).verdict, HFI_RELEASED);
    }
    assert_int_equal(try_once(&b, HFI_KIND_MUTEX, "lock", 1000), HFI_GRANTED);
    client_close(&a);
    client_close(&b);
}

/* Who writes may read; then either may be given back first. */
static void writer_reads(void **state)
{
    struct client a, b, c;

    (void)state;
    client_open(&a);
    client_open(&b);
    client_open(&c);
    assert_int_equal(take(&a, HFI_KIND_WRITE, "lock", 1).verdict, HFI_GRANTED);
    assert_true(take(&b, HFI_KIND_READ, "lock", 1).ticket);
    watch_line(&b, HFI_KIND_READ, "lock", 1);
    assert_true(take(&c, HFI_KIND_WRITE, "lock", 1).ticket);
    watch_line(&c, HFI_KIND_WRITE, "lock", 1);
    assert_int_equal(take(&a, HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED); /* past the line */
    assert_int_equal(take(&a, HFI_KIND_READ, "lock", 1).verdict, HFI_ALREADY);
    assert_int_equal(try_once(&a, HFI_KIND_READ, "lock", 2), HFI_BUSY); /* another owner */
    assert_true(keep(&a, HFI_KIND_READ, "lock", 1, 30000));
    assert_true(keep(&a, HFI_KIND_WRITE, "lock", 1, 30000));
    assert_int_equal(take(&b, HFI_KIND_READ, "lock", 1).verdict, HFI_BUSY);
    assert_int_equal(give(&a, HFI_KIND_WRITE, "lock", 1).verdict, HFI_RELEASED); /* it reads on */
    assert_true(wait_woken(&b, LONG_WAIT_MS));
    assert_int_equal(take(&b, HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    assert_int_equal(take(&c, HFI_KIND_WRITE, "lock", 1).verdict, HFI_BUSY);
    assert_int_equal(try_once(&a, HFI_KIND_WRITE, "lock", 1), HFI_BUSY); /* no way back up */
    assert_false(wait_woken(&c, 50));
    give(&a, HFI_KIND_READ, "lock", 1);
    assert_false(wait_woken(&c, 50));
    give(&b, HFI_KIND_READ, "lock", 1);
    assert_true(wait_woken(&c, LONG_WAIT_MS));
    assert_int_equal(take(&c, HFI_KIND_WRITE, "lock", 1).verdict, HFI_GRANTED);
    assert_int_equal(take(&c, HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    assert_int_equal(give(&c, HFI_KIND_READ, "lock", 1).verdict, HFI_RELEASED);
    assert_int_equal(try_once(&a, HFI_KIND_READ, "lock", 1), HFI_BUSY); /* it writes on */
    client_close(&a);
    client_close(&b);
    client_close(&c);
}

/* Only a write hold does that. */
static void mutex_does_not_read(void **state)
{
    struct client a;

    (void)state;
    client_open(&a);
    for (int kind = HFI_KIND_MUTEX; kind < HFI_KIND_WRITE; kind++) {
        assert_int_equal(try_once(&a, kind, "lock", 1), HFI_GRANTED);
        assert_int_equal(try_once(&a, HFI_KIND_READ, "lock", 1), HFI_BUSY);
        give(&a, kind, "lock", 1);
    }
    client_close(&a);
}

/* ------------------------------------------------------------------------------------------------
 * Order
 */

/* R R W R M, behind a mutex: two readers together, the writer, the reader, the mutex. */
static void one_order(void **state)
{
    static const int kinds[] = { HFI_KIND_READ, HFI_KIND_READ, HFI_KIND_WRITE, HFI_KIND_READ,
                                 HFI_KIND_MUTEX };
    struct client holder, waiter[5];

    (void)state;
    client_open(&holder);
    take(&holder, HFI_KIND_MUTEX, "lock", 1);
    for (int i = 0; i < 5; i++) {
        client_open(&waiter[i]);
        assert_true(take(&waiter[i], kinds[i], "lock", 1).ticket);
        watch_line(&waiter[i], kinds[i], "lock", 1);
    }
    give(&holder, HFI_KIND_MUTEX, "lock", 1);
    assert_true(wait_woken(&waiter[0], LONG_WAIT_MS));
    assert_true(wait_woken(&waiter[1], LONG_WAIT_MS));
    for (int i = 2; i < 5; i++)
        assert_false(wait_woken(&waiter[i], 20));
    for (int i = 4; i >= 2; i--)
        assert_int_equal(take(&waiter[i], kinds[i], "lock", 1).verdict, HFI_BUSY);
    assert_int_equal(take(&waiter[1], HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    assert_int_equal(try_once(&holder, HFI_KIND_READ, "lock", 1), HFI_BUSY); /* behind the writer */
    assert_int_equal(take(&waiter[0], HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    give(&waiter[0], HFI_KIND_READ, "lock", 1);
    assert_false(wait_woken(&waiter[2], 20));
    give(&waiter[1], HFI_KIND_READ, "lock", 1);
    for (int i = 2; i < 5; i++) {
        assert_true(wait_woken(&waiter[i], LONG_WAIT_MS));
        assert_int_equal(take(&waiter[i], kinds[i], "lock", 1).verdict, HFI_GRANTED);
        assert_int_equal(give(&waiter[i], kinds[i], "lock", 1).others, 5 - i);
    }
    for (int i = 0; i < 5; i++)
        client_close(&waiter[i]);
    client_close(&holder);
}

/* Readers that come one after another do not keep a writer out. */
static void writer_is_not_starved(void **state)
{
    struct client a, b, writer;

    (void)state;
    client_open(&a);
    client_open(&b);
    client_open(&writer);
    take(&a, HFI_KIND_READ, "lock", 1);
    assert_true(take(&writer, HFI_KIND_WRITE, "lock", 1).ticket);
    assert_true(take(&b, HFI_KIND_READ, "lock", 1).ticket);
    assert_int_equal(take(&a, HFI_KIND_READ, "lock", 2).verdict, HFI_BUSY);
    give(&a, HFI_KIND_READ, "lock", 1);
    assert_int_equal(take(&b, HFI_KIND_READ, "lock", 1).verdict, HFI_BUSY);
    assert_int_equal(take(&writer, HFI_KIND_WRITE, "lock", 1).verdict, HFI_GRANTED);
    give(&writer, HFI_KIND_WRITE, "lock", 1);
    assert_int_equal(take(&a, HFI_KIND_READ, "lock", 2).verdict, HFI_GRANTED);
    assert_int_equal(take(&b, HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    client_close(&a);
    client_close(&b);
    client_close(&writer);
}

/* The threads of one process share a place: its readers follow the first, for a moment. */
static void readers_of_one_process(void **state)
{
    struct client a, b, writer;

    (void)state;
    client_open(&a);
    client_open(&b);
    client_open(&writer);
    take(&writer, HFI_KIND_WRITE, "lock", 1);
    take(&a, HFI_KIND_READ, "lock", 1);
    take(&b, HFI_KIND_WRITE, "lock", 1);
    give(&writer, HFI_KIND_WRITE, "lock", 1);
    assert_int_equal(take(&a, HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    sql_number(
        "UPDATE hold SET since_ns = since_ns + 60000000000"); /* a slow machine is no failure */
    assert_int_equal(take(&a, HFI_KIND_READ, "lock", 2).verdict, HFI_GRANTED);
    assert_int_equal(take(&a, HFI_KIND_READ, "lock", 3).verdict, HFI_GRANTED);
    assert_int_equal(take(&writer, HFI_KIND_READ, "lock", 1).verdict, HFI_BUSY);
    sql_number("UPDATE hold SET since_ns = since_ns - 60000000000");
    nap_ms((long)(HFI_SQLITE_FOLLOW / HFI_MSEC) + 1); /* those who followed are not followed */
    assert_int_equal(take(&a, HFI_KIND_READ, "lock", 4).verdict, HFI_BUSY);
    for (uint64_t owner = 1; owner <= 3; owner++)
        give(&a, HFI_KIND_READ, "lock", owner);
    assert_int_equal(take(&b, HFI_KIND_WRITE, "lock", 1).verdict, HFI_GRANTED);
    client_close(&a);
    client_close(&b);
    client_close(&writer);
}

/* A writer in front gives up: the readers behind it go in beside those that read. */
static void writer_gives_up(void **state)
{
    struct client a, b, c, writer;

    (void)state;
    client_open(&a);
    client_open(&b);
    client_open(&c);
    client_open(&writer);
    take(&a, HFI_KIND_READ, "lock", 1);
    take(&writer, HFI_KIND_WRITE, "lock", 1);
    take(&b, HFI_KIND_READ, "lock", 1);
    watch_line(&b, HFI_KIND_READ, "lock", 1);
    take(&c, HFI_KIND_READ, "lock", 1);
    watch_line(&c, HFI_KIND_READ, "lock", 1);
    leave_line(&writer, HFI_KIND_WRITE, "lock", 1);
    assert_true(wait_woken(&b, LONG_WAIT_MS));
    assert_true(wait_woken(&c, LONG_WAIT_MS));
    assert_int_equal(take(&c, HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    assert_int_equal(take(&b, HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    client_close(&a);
    client_close(&b);
    client_close(&c);
    client_close(&writer);
}

/* A place for each owner, in one client too; none overtakes, and RELEASE gives it up. */
static void fair_owners(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    take(&a, HFI_KIND_FAIR, "lock", 1);
    for (uint64_t owner = 2; owner <= 5; owner++)
        assert_true(take(owner % 2 ? &a : &b, HFI_KIND_FAIR, "lock", owner).ticket);
    assert_true(take(&a, HFI_KIND_FAIR, "lock", 5).ticket);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 4);
    assert_int_equal(give(&b, HFI_KIND_FAIR, "lock", 4).verdict, HFI_GONE); /* gives up its place */
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 3);
    leave_line(&a, HFI_KIND_FAIR, "lock", 77);
    leave_line(&a, HFI_KIND_FAIR, "lock", 3);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 2);
    watch_line(&a, HFI_KIND_FAIR, "lock", 5);
    give(&a, HFI_KIND_FAIR, "lock", 1);
    assert_int_equal(take(&a, HFI_KIND_FAIR, "lock", 5).verdict, HFI_BUSY);
    assert_int_equal(take(&a, HFI_KIND_MUTEX, "lock", 9).verdict, HFI_BUSY);
    assert_int_equal(take(&b, HFI_KIND_FAIR, "lock", 6).verdict,
                     HFI_BUSY); /* not its owner's turn */
    assert_int_equal(take(&b, HFI_KIND_FAIR, "lock", 2).verdict, HFI_GRANTED);
    assert_false(wait_woken(&a, 50));
    give(&b, HFI_KIND_FAIR, "lock", 2);
    assert_true(wait_woken(&a, LONG_WAIT_MS));
    assert_int_equal(take(&a, HFI_KIND_FAIR, "lock", 5).verdict, HFI_GRANTED);
    client_close(&a);
    client_close(&b);
}

/* One client waits in several kinds: a place in each, and each watch hears of its own turn alone. */
static void kinds_of_one_client(void **state)
{
    struct hfi_watch mutex = { .request.op = HFI_OP_WATCH, .name = "lock", .name_len = 4 };
    struct hfi_watch read = mutex;
    struct client a, b;
    hfi_time until = clock_now() + LONG_WAIT_MS * HFI_MSEC;
    struct hfi_watch *woken = NULL;

    (void)state;
    read.kind = HFI_KIND_READ;
    client_open(&a);
    client_open(&b);
    take(&a, HFI_KIND_WRITE, "lock", 1);
    take(&b, HFI_KIND_READ, "lock", 1);
    take(&b, HFI_KIND_MUTEX, "lock", 2);
    run(&b, &mutex.request);
    run(&b, &read.request);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 2);
    assert_int_equal(give(&a, HFI_KIND_WRITE, "lock", 1).others, 2);
    while (!woken && clock_now() < until) {
        b.store->class_->library->collect(b.store, clock_now());
        woken = b.store->class_->library->woken(b.store);
    }
    assert_ptr_equal(woken, &read);
    assert_null(b.store->class_->library->woken(b.store));
    assert_int_equal(take(&b, HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    leave_line(&b, HFI_KIND_READ, "lock", 1); /* no place any more: the mutex keeps its own */
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 1);
    assert_int_equal(give(&b, HFI_KIND_READ, "lock", 1).others, 2); /* one place, one watch */
    assert_int_equal(take(&b, HFI_KIND_MUTEX, "lock", 2).verdict, HFI_GRANTED);
    mutex.request.op = read.request.op = HFI_OP_UNWATCH;
    run(&b, &mutex.request);
    run(&b, &read.request);
    client_close(&a);
    client_close(&b);
}

/* ------------------------------------------------------------------------------------------------
 * Death and time
 */

/* A writer hears of the last of its readers, whichever that is, and however it goes. */
static void readers_die(void **state)
{
    struct remote reader[3];
    struct client writer;

    (void)state;
    client_open(&writer);
    for (int round = 0; round < 6; round++) {
        static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                          { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

        for (int i = 0; i < 3; i++) {
            reader[i] = remote_start();
            remote_do_kind(&reader[i], ORDER_TRY, HFI_KIND_READ, "lock", 1, 0);
        }
        assert_int_equal(take(&writer, HFI_KIND_WRITE, "lock", 1).verdict, HFI_BUSY);
        watch_line(&writer, HFI_KIND_WRITE, "lock", 1);
        for (int i = 0; i < 3; i++) {
            struct remote *one = &reader[orders[round][i]];

            if (i == 1) {
                remote_do_kind(one, ORDER_RELEASE, HFI_KIND_READ, "lock", 1, 0);
                assert_false(wait_woken(&writer, 20));
                continue;
            }
            remote_kill(one);
            assert_true(wait_woken(&writer, LONG_WAIT_MS));
            assert_int_equal(take(&writer, HFI_KIND_WRITE, "lock", 1).verdict,
                             i == 2 ? HFI_GRANTED : HFI_BUSY);
        }
        do_unwatch(&writer);
        give(&writer, HFI_KIND_WRITE, "lock", 1);
        remote_quit(&reader[orders[round][1]]);
    }
    client_close(&writer);
}

/* A reader that was let in while a writer waited as the next is watched from then on. */
static void late_reader_dies(void **state)
{
    struct remote holder = remote_start(), late = remote_start();
    struct client first, writer;

    (void)state;
    client_open(&first);
    client_open(&writer);
    remote_do(&holder, ORDER_TRY, "lock", 1);
    take(&first, HFI_KIND_READ, "lock", 1);
    remote_do_kind(&late, ORDER_TRY, HFI_KIND_READ, "lock", 1, 0);
    take(&writer, HFI_KIND_WRITE, "lock", 1);
    watch_line(&writer, HFI_KIND_WRITE, "lock", 1); /* watches the late one, as the one before it */
    remote_do(&holder, ORDER_RELEASE, "lock", 1);
    assert_int_equal(remote_do_kind(&late, ORDER_TRY, HFI_KIND_READ, "lock", 1, 0).verdict,
                     HFI_GRANTED);
    assert_int_equal(take(&first, HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    assert_false(wait_woken(&writer, 50)); /* told of both, and not its turn */
    give(&first, HFI_KIND_READ, "lock", 1);
    assert_false(wait_woken(&writer, 50));
    remote_kill(&late);
    assert_true(wait_woken(&writer, LONG_WAIT_MS));
    assert_int_equal(take(&writer, HFI_KIND_WRITE, "lock", 1).verdict, HFI_GRANTED);
    remote_quit(&holder);
    client_close(&first);
    client_close(&writer);
}

/* Of two readers that were let in before a writer the one that it did not stand behind is the last to go. */
static void earlier_reader_dies(void **state)
{
    struct remote early = remote_start();
    struct client holder, reader, writer;

    (void)state;
    client_open(&holder);
    client_open(&reader);
    client_open(&writer);
    take(&holder, HFI_KIND_MUTEX, "lock", 1);
    remote_do_kind(&early, ORDER_TRY, HFI_KIND_READ, "lock", 1, 0);
    take(&reader, HFI_KIND_READ, "lock", 1);
    take(&writer, HFI_KIND_WRITE, "lock", 1);
    watch_line(&writer, HFI_KIND_WRITE, "lock", 1);
    give(&holder, HFI_KIND_MUTEX, "lock", 1);
    assert_int_equal(remote_do_kind(&early, ORDER_TRY, HFI_KIND_READ, "lock", 1, 0).verdict,
                     HFI_GRANTED);
    assert_int_equal(take(&reader, HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    assert_false(wait_woken(&writer, 50));
    give(&reader, HFI_KIND_READ, "lock", 1);
    assert_false(wait_woken(&writer, 50));
    remote_kill(&early);
    assert_true(wait_woken(&writer, LONG_WAIT_MS));
    assert_int_equal(take(&writer, HFI_KIND_WRITE, "lock", 1).verdict, HFI_GRANTED);
    client_close(&holder);
    client_close(&reader);
    client_close(&writer);
}

/* A holder dies between the try and the watch. */
static void death_before_watch(void **state)
{
    static const int kinds[] = { HFI_KIND_MUTEX, HFI_KIND_READ, HFI_KIND_PERMITS };
    struct client waiter;

    (void)state;
    client_open(&waiter);
    step_ok(&waiter, HFI_PERMITS_SET, "lock", 2);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int kind = kinds[i] == HFI_KIND_READ ? HFI_KIND_WRITE : kinds[i];
        struct remote holder = remote_start();

        remote_do_kind(&holder, ORDER_TRY, kinds[i], "lock", 1, 2);
        assert_int_equal(take_some(&waiter, kind, "lock", 1, 1).verdict, HFI_BUSY);
        remote_kill(&holder);
        watch_line(&waiter, kind, "lock", 1);
        assert_true(wait_woken(&waiter, LONG_WAIT_MS));
        do_unwatch(&waiter);
        assert_int_equal(take_some(&waiter, kind, "lock", 1, 1).verdict, HFI_GRANTED);
        give(&waiter, kind, "lock", 1);
    }
    client_close(&waiter);
}

/* The writer between them dies: the reader behind it goes in at once. */
static void waiting_writer_dies(void **state)
{
    struct remote writer = remote_start();
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    take(&a, HFI_KIND_READ, "lock", 1);
    remote_do_kind(&writer, ORDER_TRY, HFI_KIND_WRITE, "lock", 1, 0);
    take(&b, HFI_KIND_READ, "lock", 1);
    watch_line(&b, HFI_KIND_READ, "lock", 1);
    assert_false(wait_woken(&b, 20));
    remote_kill(&writer);
    assert_true(wait_woken(&b, LONG_WAIT_MS));
    assert_int_equal(take(&b, HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    client_close(&a);
    client_close(&b);
}

/* A called reader that is stopped keeps the writer behind it waiting for the grace, not the readers. */
static void stopped_reader(void **state)
{
    struct remote stopped = remote_start();
    struct client holder, reader, writer;
    hfi_time began;
    int verdict;

    (void)state;
    client_open(&holder);
    client_open(&reader);
    client_open(&writer);
    take(&holder, HFI_KIND_MUTEX, "lock", 1);
    remote_do_kind(&stopped, ORDER_TRY, HFI_KIND_READ, "lock", 1, 0);
    take(&reader, HFI_KIND_READ, "lock", 1);
    take(&writer, HFI_KIND_WRITE, "lock", 1);
    kill(stopped.pid, SIGSTOP);
    waitpid(stopped.pid, NULL, WUNTRACED);
    give(&holder, HFI_KIND_MUTEX, "lock", 1);
    began = clock_now();
    assert_int_equal(take(&reader, HFI_KIND_READ, "lock", 1).verdict, HFI_GRANTED);
    give(&reader, HFI_KIND_READ, "lock", 1);
    do {
        struct hfi_lease lease = take(&writer, HFI_KIND_WRITE, "lock", 1);

        verdict = lease.verdict;
        if (verdict == HFI_BUSY) {
            assert_true(lease.hint_ns <= HFI_SQLITE_GRACE + 1);
            nap_ms((long)(lease.hint_ns / HFI_MSEC) + 1);
        }
    } while (verdict == HFI_BUSY);
    assert_true(clock_now() - began >= HFI_SQLITE_GRACE - 50 * HFI_MSEC);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 0);
    kill(stopped.pid, SIGCONT);
    remote_quit(&stopped);
    client_close(&holder);
    client_close(&reader);
    client_close(&writer);
}

/* Leases of readers end one by one. */
static void readers_expire(void **state)
{
    struct client a, b, writer;
    struct hfi_lease lease = lease_of_kind(HFI_KIND_READ, "lock", 1, 0);

    (void)state;
    client_open(&a);
    client_open(&b);
    client_open(&writer);
    lease.request.op = HFI_OP_TRY;
    lease.ttl_ms = 100;
    run(&a, &lease.request);
    take(&b, HFI_KIND_READ, "lock", 1);
    nap_ms(120);
    assert_false(keep(&a, HFI_KIND_READ, "lock", 1, 30000));
    assert_int_equal(sql_number("SELECT count(*) FROM hold"), 2);
    assert_int_equal(take(&writer, HFI_KIND_WRITE, "lock", 1).verdict, HFI_BUSY);
    assert_int_equal(sql_number("SELECT count(*) FROM hold"), 1);
    give(&b, HFI_KIND_READ, "lock", 1);
    assert_int_equal(take(&writer, HFI_KIND_WRITE, "lock", 1).verdict, HFI_GRANTED);
    assert_int_equal(give(&a, HFI_KIND_READ, "lock", 1).verdict, HFI_GONE);
    client_close(&a);
    client_close(&b);
    client_close(&writer);
}

/* Of more holders than are watched one by one, the rest is found by looking; none is missed for long. */
static void more_readers_than_are_watched(void **state)
{
    enum { READERS = HFI_SQLITE_BEFORE_MAX + 2 };
    static struct client reader[READERS];
    struct client writer;
    struct hfi_sqlite *s;

    (void)state;
    client_open(&writer);
    for (int i = 0; i < READERS; i++) {
        client_open(&reader[i]);
        take(&reader[i], HFI_KIND_READ, "lock", 1);
    }
    take(&writer, HFI_KIND_WRITE, "lock", 1);
    watch_line(&writer, HFI_KIND_WRITE, "lock", 1);
    s = hfi_sqlite_of(writer.store);
    assert_int_equal(s->wake.watched, HFI_SQLITE_BEFORE_MAX);
    for (int i = 0; i < READERS; i++) {
        assert_null(writer.store->class_->library->woken(writer.store));
        give(&reader[i], HFI_KIND_READ, "lock", 1);
        client_close(&reader[i]);
    }
    assert_true(wait_woken(&writer, LONG_WAIT_MS));
    assert_int_equal(take(&writer, HFI_KIND_WRITE, "lock", 1).verdict, HFI_GRANTED);
    do_unwatch(&writer);
    assert_int_equal(s->wake.watched, 0);
    client_close(&writer);
}

/* Readers and writers say farewell: whoever is next is called. */
static void farewells(void **state)
{
    struct client a, b, c;

    (void)state;
    client_open(&a);
    client_open(&b);
    client_open(&c);
    take(&a, HFI_KIND_WRITE, "lock", 1);
    take(&a, HFI_KIND_READ, "lock", 1);
    take(&a, HFI_KIND_READ, "other", 1);
    take(&b, HFI_KIND_FAIR, "lock", 1);
    watch_line(&b, HFI_KIND_FAIR, "lock", 1);
    take(&c, HFI_KIND_WRITE, "other", 1);
    watch_line(&c, HFI_KIND_WRITE, "other", 1);
    do_farewell(&a);
    assert_true(wait_woken(&b, LONG_WAIT_MS));
    assert_true(wait_woken(&c, LONG_WAIT_MS));
    assert_int_equal(sql_number("SELECT count(*) FROM hold"), 0);
    assert_int_equal(take(&b, HFI_KIND_FAIR, "lock", 1).verdict, HFI_GRANTED);
    assert_int_equal(take(&c, HFI_KIND_WRITE, "other", 1).verdict, HFI_GRANTED);
    client_close(&a);
    client_close(&b);
    client_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(exclusion),           T(tokens),
        T(many_readers),        T(writer_reads),
        T(mutex_does_not_read), T(one_order),
        T(fair_owners),         T(writer_is_not_starved),
        T(writer_gives_up),     T(kinds_of_one_client),
        T(readers_die),         T(late_reader_dies),
        T(waiting_writer_dies), T(stopped_reader),
        T(readers_expire),      T(more_readers_than_are_watched),
        T(death_before_watch),  T(earlier_reader_dies),
        T(farewells),           T(readers_of_one_process),
#undef T
    };

    return cmocka_run_group_tests_name("sqlite share", tests, NULL, NULL);
}
