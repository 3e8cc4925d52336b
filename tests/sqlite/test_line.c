/* SPDX-License-Identifier: Apache-2.0 */
/* The line of waiters: order, calling, giving up, being overdue. */
#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/sqlite/sqlite.h"

#define WAITERS 5

/* Waiters in processes of their own are served in the order in which they came. */
static void five_in_order(void **state)
{
    struct client holder;
    struct remote waiters[WAITERS];
    uint64_t last;

    (void)state;
    client_open(&holder);
    last = do_try(&holder, "lock", 1, 30000, false).token;
    for (int i = 0; i < WAITERS; i++) {
        struct answer answer;

        waiters[i] = remote_start();
        answer = remote_do(&waiters[i], ORDER_TRY, "lock", 1);
        assert_int_equal(answer.verdict, HFI_BUSY);
        assert_true(answer.ticket);
        remote_do(&waiters[i], ORDER_WATCH, "lock", 0);
    }
    assert_int_equal(do_release(&holder, "lock", 1).others, WAITERS);
    for (int i = 0; i < WAITERS; i++) {
        struct answer answer;

        assert_true(remote_do(&waiters[i], ORDER_WAIT_WOKEN, "", 0).yes);
        answer = remote_do(&waiters[i], ORDER_TRY, "lock", 1);
        assert_int_equal(answer.verdict, HFI_GRANTED);
        assert_true(answer.token > last);
        last = answer.token;
        answer = remote_do(&waiters[i], ORDER_RELEASE, "lock", 1);
        assert_int_equal(answer.others, WAITERS - 1 - i + 1); /* and itself: it watches */
    }
    for (int i = 0; i < WAITERS; i++)
        remote_quit(&waiters[i]);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 0);
    client_close(&holder);
}

/* A free lock with a line is for its head alone. */
static void nobody_overtakes(void **state)
{
    struct client holder, first, second, newcomer;
    struct hfi_lease lease;

    (void)state;
    client_open(&holder);
    client_open(&first);
    client_open(&second);
    client_open(&newcomer);
    do_try(&holder, "lock", 1, 30000, false);
    do_try(&first, "lock", 1, 30000, true);
    do_try(&second, "lock", 1, 30000, true);
    do_release(&holder, "lock", 1);
    lease = do_try(&newcomer, "lock", 1, 30000, false);
    assert_int_equal(lease.verdict, HFI_BUSY);
    assert_true(lease.hint_ns <= HFI_SQLITE_GRACE + 1);
    assert_int_equal(do_try(&holder, "lock", 1, 30000, false).verdict, HFI_BUSY);
    assert_int_equal(do_try(&second, "lock", 1, 30000, true).verdict, HFI_BUSY);
    assert_int_equal(do_try(&first, "lock", 9, 30000, true).verdict, HFI_GRANTED);
    assert_int_equal(do_release(&first, "lock", 9).others, 1);
    assert_int_equal(do_try(&second, "lock", 1, 30000, true).verdict, HFI_GRANTED);
    assert_int_equal(do_release(&second, "lock", 1).others, 0);
    client_close(&holder);
    client_close(&first);
    client_close(&second);
    client_close(&newcomer);
}

static void one_ticket_a_client(void **state)
{
    struct client holder, waiter;

    (void)state;
    client_open(&holder);
    client_open(&waiter);
    do_try(&holder, "lock", 1, 30000, false);
    for (uint64_t owner = 1; owner < 5; owner++)
        assert_true(do_try(&waiter, "lock", owner, 30000, true).ticket);
    do_try(&waiter, "lock", 6, 30000, false);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 1);
    do_leave(&waiter, "lock");
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 0);
    do_leave(&waiter, "lock");
    client_close(&holder);
    client_close(&waiter);
}

/* The head gives up after it was called: the next one is called at once. */
static void head_leaves(void **state)
{
    struct client holder, first, second;

    (void)state;
    client_open(&holder);
    client_open(&first);
    client_open(&second);
    do_try(&holder, "lock", 1, 30000, false);
    do_try(&first, "lock", 1, 30000, true);
    do_try(&second, "lock", 1, 30000, true);
    do_watch(&second, "lock");
    do_release(&holder, "lock", 1);
    assert_false(wait_woken(&second, 50));
    do_leave(&first, "lock");
    assert_true(wait_woken(&second, LONG_WAIT_MS));
    assert_int_equal(do_try(&second, "lock", 1, 30000, true).verdict, HFI_GRANTED);
    client_close(&holder);
    client_close(&first);
    client_close(&second);
}

/* One in the middle gives up: the one behind it must learn who is before it now. */
static void middle_leaves(void **state)
{
    struct client third;
    struct remote holder, first, second;

    (void)state;
    holder = remote_start();
    first = remote_start();
    second = remote_start();
    client_open(&third);
    remote_do(&holder, ORDER_TRY, "lock", 1);
    remote_do(&first, ORDER_TRY, "lock", 1);
    remote_do(&second, ORDER_TRY, "lock", 1);
    do_try(&third, "lock", 1, 30000, true);
    do_watch(&third, "lock");
    remote_do(&second, ORDER_LEAVE, "lock", 0);
    assert_false(wait_woken(&third, 50)); /* told, but it is not its turn */
    remote_kill(&first);
    assert_true(wait_woken(&third, LONG_WAIT_MS)); /* because it watches the first now … */
    assert_int_equal(do_try(&third, "lock", 1, 30000, true).verdict, HFI_BUSY);
    remote_kill(&holder);
    assert_true(wait_woken(&third, LONG_WAIT_MS)); /* … and now the holder */
    assert_int_equal(do_try(&third, "lock", 1, 30000, true).verdict, HFI_GRANTED);
    remote_quit(&second);
    client_close(&third);
}

/* A stopped process does not keep the line waiting for longer than the grace. */
static void stopped_head_is_passed_over(void **state)
{
    struct client holder, second;
    struct remote first = remote_start();
    hfi_time began, took;

    (void)state;
    client_open(&holder);
    client_open(&second);
    do_try(&holder, "lock", 1, 30000, false);
    remote_do(&first, ORDER_TRY, "lock", 1);
    do_try(&second, "lock", 1, 30000, true);
    kill(first.pid, SIGSTOP);
    waitpid(first.pid, NULL, WUNTRACED);
    do_release(&holder, "lock", 1);
    began = clock_now();
    assert_int_equal(do_try(&second, "lock", 1, 30000, true).verdict, HFI_BUSY);
    assert_true(wait_granted(&second, "lock", 1, 30000, LONG_WAIT_MS));
    took = clock_now() - began;
    assert_true(took >= HFI_SQLITE_GRACE - 50 * HFI_MSEC);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 0);
    kill(first.pid, SIGCONT);
    assert_int_equal(remote_do(&first, ORDER_TRY, "lock", 1).verdict, HFI_BUSY);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 1); /* at the end of the line */
    do_release(&second, "lock", 1);
    assert_true(remote_do(&first, ORDER_WAIT_GRANTED, "lock", 1).yes);
    remote_quit(&first);
    client_close(&holder);
    client_close(&second);
}

/* A lease that nobody renews: whoever looks calls the head. */
static void line_behind_an_expired_hold(void **state)
{
    struct client holder, first, second;

    (void)state;
    client_open(&holder);
    client_open(&first);
    client_open(&second);
    do_try(&holder, "lock", 1, 200, false);
    do_try(&first, "lock", 1, 30000, true);
    do_watch(&first, "lock");
    do_try(&second, "lock", 1, 30000, true);
    while (wait_woken(&first, 250))
        assert_int_equal(do_try(&first, "lock", 1, 30000, true).verdict, HFI_BUSY);
    assert_int_equal(do_try(&second, "lock", 1, 30000, true).verdict, HFI_BUSY);
    assert_int_equal(sql_number("SELECT count(*) FROM hold"), 0);
    assert_true(wait_woken(&first, LONG_WAIT_MS)); /* the second has called it */
    assert_int_equal(do_try(&first, "lock", 1, 30000, true).verdict, HFI_GRANTED);
    client_close(&holder);
    client_close(&first);
    client_close(&second);
}

/* A client that holds and whose next thread waits has a ticket before or behind others, like anyone. */
static void own_ticket(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    do_try(&a, "lock", 1, 30000, false);
    assert_true(do_try(&b, "lock", 1, 30000, true).ticket);
    assert_true(do_try(&a, "lock", 2, 30000, true).ticket);
    do_watch(&a, "lock");
    assert_int_equal(do_release(&a, "lock", 1).others, 2); /* b, and a itself, which watches */
    assert_int_equal(do_try(&a, "lock", 2, 30000, true).verdict, HFI_BUSY);
    assert_int_equal(do_try(&b, "lock", 1, 30000, true).verdict, HFI_GRANTED);
    do_release(&b, "lock", 1);
    assert_true(wait_woken(&a, LONG_WAIT_MS));
    assert_int_equal(do_try(&a, "lock", 2, 30000, true).verdict, HFI_GRANTED);
    client_close(&a);
    client_close(&b);
}

/* A client says farewell with holds and tickets: the next ones are called. */
static void farewell(void **state)
{
    struct client a, b, c;

    (void)state;
    client_open(&a);
    client_open(&b);
    client_open(&c);
    do_try(&a, "held", 1, 30000, false);
    do_try(&b, "held", 1, 30000, true);
    do_watch(&b, "held");
    do_try(&c, "other", 1, 30000, false);
    do_try(&a, "other", 1, 30000, true);
    do_farewell(&a);
    assert_true(wait_woken(&b, LONG_WAIT_MS));
    assert_int_equal(do_try(&b, "held", 1, 30000, true).verdict, HFI_GRANTED);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 0);
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 2);
    assert_int_equal(life_files(), 2);
    assert_int_equal(a.store->class_->library->liveness_fd(a.store), -1);
    do_release(&c, "other", 1);
    assert_int_equal(do_try(&a, "other", 1, 30000, true).verdict, HFI_GRANTED); /* a new start */
    assert_int_equal(life_files(), 3);
    client_close(&a);
    client_close(&b);
    client_close(&c);
}

/* Nothing is lost between a try that was busy and the watch. */
static void release_before_watch(void **state)
{
    struct client holder, waiter;

    (void)state;
    client_open(&holder);
    client_open(&waiter);
    for (int i = 0; i < 50; i++) {
        do_try(&holder, "lock", 1, 30000, false);
        do_try(&waiter, "lock", 1, 30000, true);
        do_release(&holder, "lock", 1);
        do_watch(&waiter, "lock");
        assert_true(wait_woken(&waiter, LONG_WAIT_MS));
        assert_int_equal(do_try(&waiter, "lock", 1, 30000, true).verdict, HFI_GRANTED);
        do_release(&waiter, "lock", 1);
        do_unwatch(&waiter);
    }
    client_close(&holder);
    client_close(&waiter);
}

static long most_events(void)
{
    FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    char line[32] = "";

    if (!file || !fgets(line, sizeof line, file))
        line[0] = '\0';
    if (file)
        fclose(file);
    return strtol(line, NULL, 10);
}

/* More events than the kernel keeps: it says so, and everybody looks. */
static void events_are_lost(void **state)
{
    struct remote holder = remote_start();
    struct client waiter;
    char own[HFI_SQLITE_PATH_ROOM], other[HFI_SQLITE_PATH_ROOM];
    long count = most_events();

    (void)state;
    if (count < 1 || count > 100000)
        skip();
    client_open(&waiter);
    remote_do(&holder, ORDER_TRY, "lock", 1);
    do_try(&waiter, "lock", 1, 30000, true);
    do_watch(&waiter, "lock");
    hfi_sqlite_life_path(hfi_sqlite_of(waiter.store), waiter.identity.id, own);
    other_life_file(&waiter, other, sizeof other);
    for (long i = 0; i < count / 2 + 10; i++) { /* by turns: the same twice counts once */
        close(open(other, O_WRONLY | O_CLOEXEC));
        utimensat(AT_FDCWD, own, NULL, 0);
    }
    assert_null(waiter.store->class_->library->woken(waiter.store));
    assert_true(wait_woken(&waiter, LONG_WAIT_MS));
    assert_int_equal(do_try(&waiter, "lock", 1, 30000, true).verdict, HFI_BUSY);
    remote_do(&holder, ORDER_RELEASE, "lock", 1);
    assert_true(wait_woken(&waiter, LONG_WAIT_MS));
    assert_int_equal(do_try(&waiter, "lock", 1, 30000, true).verdict, HFI_GRANTED);
    remote_quit(&holder);
    client_close(&waiter);
}

#define NAMES (HFI_SQLITE_WATCHES_MAX + 2)

/* So many names are waited for at once; of the last two, the holder's death is not heard. */
static void most_watches(void **state)
{
    static struct hfi_watch watches[NAMES];
    static char names[NAMES][24];
    struct remote holder = remote_start();
    struct client waiter;
    hfi_time until;
    int woken = 0;

    (void)state;
    client_open(&waiter);
    for (int i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], "lock-%d", i);
        remote_do(&holder, ORDER_TRY, names[i], 1);
        assert_true(do_try(&waiter, names[i], 1, 30000, true).ticket);
        watches[i] = (struct hfi_watch){ .request.op = HFI_OP_WATCH,
                                         .name = names[i],
                                         .name_len = (uint16_t)strlen(names[i]) };
        run(&waiter, &watches[i].request);
        assert_int_equal(watches[i].request.outcome, HFI_DONE);
    }
    remote_kill(&holder);
    until = clock_now() + LONG_WAIT_MS * HFI_MSEC;
    while (woken < HFI_SQLITE_WATCHES_MAX && clock_now() < until) {
        waiter.store->class_->library->collect(waiter.store, clock_now());
        while (waiter.store->class_->library->woken(waiter.store))
            woken++;
    }
    assert_int_equal(woken, HFI_SQLITE_WATCHES_MAX);
    for (int i = 0; i < NAMES; i++)
        assert_int_equal(do_try(&waiter, names[i], 1, 30000, true).verdict, HFI_GRANTED);
    client_close(&waiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(five_in_order),
        T(nobody_overtakes),
        T(one_ticket_a_client),
        T(head_leaves),
        T(middle_leaves),
        T(stopped_head_is_passed_over),
        T(line_behind_an_expired_hold),
        T(own_ticket),
        T(farewell),
        T(release_before_watch),
        T(events_are_lost),
        T(most_watches),
#undef T
    };

    return cmocka_run_group_tests_name("sqlite line", tests, NULL, NULL);
}
