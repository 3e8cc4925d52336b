/* SPDX-License-Identifier: Apache-2.0 */
/* Who lives and who does not: killed processes, copies of the descriptor, forked children, lost files. */
#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/sqlite/sqlite.h"

/* No ttl has to pass: 30 seconds are far longer than this test. */
static void killed_holder(void **state)
{
    struct remote holder = remote_start();
    struct client other;
    uint64_t token;

    (void)state;
    client_open(&other);
    token = remote_do(&holder, ORDER_TRY, "lock", 1).token;
    assert_int_equal(do_try(&other, "lock", 1, 30000, false).verdict, HFI_BUSY);
    remote_kill(&holder);
    assert_true(do_try(&other, "lock", 1, 30000, false).token > token);
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 1);
    assert_int_equal(life_files(), 1);
    client_close(&other);
}

/* The waiter is woken by the death itself. */
static void killed_holder_wakes(void **state)
{
    struct client waiter;

    (void)state;
    client_open(&waiter);
    for (int i = 0; i < 20; i++) {
        struct remote holder = remote_start();

        remote_do(&holder, ORDER_TRY, "lock", 1);
        assert_int_equal(do_try(&waiter, "lock", 1, 30000, true).verdict, HFI_BUSY);
        do_watch(&waiter, "lock");
        assert_int_equal(do_try(&waiter, "lock", 1, 30000, true).verdict, HFI_BUSY);
        assert_null(waiter.store->class_->library->woken(waiter.store));
        remote_kill(&holder);
        assert_true(wait_woken(&waiter, LONG_WAIT_MS));
        assert_int_equal(do_try(&waiter, "lock", 1, 30000, true).verdict, HFI_GRANTED);
        do_unwatch(&waiter);
        do_release(&waiter, "lock", 1);
    }
    assert_int_equal(life_files(), 1);
    client_close(&waiter);
}

/* Its file is closed by someone else: it is looked at a few times, and that is all. */
static void closed_but_alive(void **state)
{
    struct remote holder = remote_start();
    const struct hfi_library_class *library;
    struct client waiter;
    char name[HFI_SQLITE_PATH_ROOM];
    hfi_time began, at;
    int looks = 0;

    (void)state;
    client_open(&waiter);
    library = waiter.store->class_->library;
    remote_do(&holder, ORDER_TRY, "lock", 1);
    do_try(&waiter, "lock", 1, 30000, true);
    do_watch(&waiter, "lock");
    assert_int_equal(library->deadline(waiter.store), HF_TIME_NEVER);
    other_life_file(&waiter, name, sizeof name);
    close(open(name, O_WRONLY | O_CLOEXEC));
    began = clock_now();
    for (library->collect(waiter.store, clock_now());
         (at = library->deadline(waiter.store)) != HF_TIME_NEVER; looks++) {
        while (clock_now() < at)
            usleep(200);
        library->collect(waiter.store, clock_now());
    }
    assert_int_equal(looks, HFI_SQLITE_LOOKS);
    assert_true(clock_now() - began > HFI_SEC / 2);
    assert_null(library->woken(waiter.store));
    remote_kill(&holder);
    assert_true(wait_woken(&waiter, LONG_WAIT_MS));
    client_close(&waiter);
}

/* The second in the line need not be told that the first holds it now: it watches it already. */
static void killed_after_its_turn_came(void **state)
{
    struct client holder, second;
    struct remote first = remote_start();

    (void)state;
    client_open(&holder);
    client_open(&second);
    do_try(&holder, "lock", 1, 30000, false);
    remote_do(&first, ORDER_TRY, "lock", 1);
    do_try(&second, "lock", 1, 30000, true);
    do_watch(&second, "lock");
    do_release(&holder, "lock", 1);
    assert_int_equal(remote_do(&first, ORDER_TRY, "lock", 1).verdict, HFI_GRANTED);
    assert_false(wait_woken(&second, 50));
    remote_kill(&first);
    assert_true(wait_woken(&second, LONG_WAIT_MS));
    assert_int_equal(do_try(&second, "lock", 1, 30000, true).verdict, HFI_GRANTED);
    client_close(&holder);
    client_close(&second);
}

/* The head dies after it was called, and one in the middle before: the line goes on. */
static void killed_waiters(void **state)
{
    struct client holder;
    struct remote waiters[4];

    (void)state;
    client_open(&holder);
    do_try(&holder, "lock", 1, 30000, false);
    for (int i = 0; i < 4; i++) {
        waiters[i] = remote_start();
        remote_do(&waiters[i], ORDER_TRY, "lock", 1);
        remote_do(&waiters[i], ORDER_WATCH, "lock", 0);
    }
    remote_kill(&waiters[1]);
    do_release(&holder, "lock", 1);
    assert_true(remote_do(&waiters[0], ORDER_WAIT_WOKEN, "", 0).yes);
    remote_kill(&waiters[0]);
    assert_true(remote_do(&waiters[2], ORDER_WAIT_WOKEN, "", 0).yes);
    assert_int_equal(remote_do(&waiters[2], ORDER_TRY, "lock", 1).verdict, HFI_GRANTED);
    assert_int_equal(remote_do(&waiters[2], ORDER_RELEASE, "lock", 1).others, 2);
    assert_true(remote_do(&waiters[3], ORDER_WAIT_WOKEN, "", 0).yes);
    assert_int_equal(remote_do(&waiters[3], ORDER_TRY, "lock", 1).verdict, HFI_GRANTED);
    remote_quit(&waiters[2]);
    remote_quit(&waiters[3]);
    client_close(&holder);
    assert_int_equal(sql_number("SELECT (SELECT count(*) FROM client) + (SELECT count(*) FROM "
                                "hold) + (SELECT count(*) FROM waiter)"),
                     0);
    assert_int_equal(life_files(), 0);
}

/* Holds and then is killed, leaving a process behind that has a copy of the descriptor: a guard. */
static pid_t start_guarded(int *ret_guard_end)
{
    int guard[2], ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(guard), 0);
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        struct client client;
        int copy;

        clients_forked();
        client_open(&client);
        do_try(&client, "lock", 1, 30000, false);
        copy = dup(client.store->class_->library->liveness_fd(client.store));
        if (copy >= 0 && fork() == 0) {
            clients_forked();
            close(guard[1]);
            close(ready[0]);
            close(ready[1]);
            if (read(guard[0], &byte, 1) >= 0) /* until the test closes its end */
                close(copy);
            _exit(0);
        }
        if (write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    close(guard[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    *ret_guard_end = guard[1];
    return pid;
}

static void guard_keeps_it(void **state)
{
    int guard_end;
    pid_t pid = start_guarded(&guard_end);
    struct client other;

    (void)state;
    client_open(&other);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(do_try(&other, "lock", 1, 30000, true).verdict, HFI_BUSY);
    do_watch(&other, "lock");
    assert_false(wait_woken(&other, 100));
    assert_int_equal(do_try(&other, "lock", 1, 30000, true).verdict, HFI_BUSY);
    close(guard_end);
    assert_true(wait_woken(&other, LONG_WAIT_MS));
    assert_int_equal(do_try(&other, "lock", 1, 30000, true).verdict, HFI_GRANTED);
    client_close(&other);
}

/* A child that runs on after its parent's death keeps nothing, once the runtime has told the store. */
static void forked_child_keeps_nothing(void **state)
{
    int ready[2];
    pid_t child, pid;
    struct client other;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        struct client client;

        clients_forked();
        client_open(&client);
        do_try(&client, "lock", 1, 30000, false);
        do_try(&client, "lock", 2, 30000, true);
        do_watch(&client, "lock"); /* has an inotify as well */
        child = fork();
        if (child == 0)
            clients_forked();
        if (child == 0 && write(ready[1], &(pid_t){ getpid() }, sizeof(pid_t)) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &child, sizeof child), sizeof child);
    client_open(&other);
    assert_int_equal(do_try(&other, "lock", 1, 30000, false).verdict, HFI_BUSY);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(kill(child, 0), 0);
    assert_int_equal(do_try(&other, "lock", 1, 30000, false).verdict, HFI_GRANTED);
    kill(child, SIGKILL);
    close(ready[0]);
    close(ready[1]);
    client_close(&other);
}

/* Looking at the life of others neither ends it nor hinders them. */
static void looking_harms_nobody(void **state)
{
    struct client a, b;
    char name[HFI_SQLITE_PATH_ROOM];

    (void)state;
    client_open(&a);
    client_open(&b);
    do_try(&a, "lock", 1, 30000, false);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(do_try(&b, "lock", 1, 30000, true).verdict, HFI_BUSY);
        hfi_sqlite_sweep(hfi_sqlite_of(b.store));
        assert_true(do_renew(&a, "lock", 1, 30000));
    }
    hfi_sqlite_life_path(hfi_sqlite_of(a.store), a.identity.id, name);
    hfi_sqlite_remove_unlocked(name);
    assert_int_equal(life_files(), 2);
    client_close(&a);
    client_close(&b);
}

/* Someone removes a living client's file: others take it for dead, so it must not believe in its holds. */
static void file_removed_by_hand(void **state)
{
    struct client a, b;
    char name[HFI_SQLITE_PATH_ROOM];

    (void)state;
    client_open(&a);
    client_open(&b);
    do_try(&a, "lock", 1, 30000, false);
    hfi_sqlite_life_path(hfi_sqlite_of(a.store), a.identity.id, name);
    assert_int_equal(unlink(name), 0);
    assert_false(do_renew(&a, "lock", 1, 30000));
    assert_true(a.store->class_->library->restored(a.store));
    assert_false(a.store->class_->library->restored(a.store));
    assert_int_equal(do_try(&b, "lock", 1, 30000, false).verdict, HFI_GRANTED);
    assert_int_equal(do_release(&a, "lock", 1).verdict, HFI_GONE);
    assert_int_equal(do_try(&a, "other", 1, 30000, false).verdict, HFI_GRANTED);
    assert_true(do_renew(&a, "other", 1, 30000));
    assert_int_equal(life_files(), 2);
    client_close(&a);
    client_close(&b);
}

/* Its row is removed instead: the same. */
static void row_removed_by_hand(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a);
    client_open(&b);
    do_try(&a, "lock", 1, 30000, false);
    sql_number("DELETE FROM client");
    assert_false(do_renew(&a, "lock", 1, 30000));
    assert_false(do_renew(&a, "lock", 1, 0));
    assert_int_equal(do_try(&b, "lock", 1, 30000, false).verdict, HFI_GRANTED);
    assert_false(do_renew(&a, "lock", 1, 30000));
    assert_int_equal(do_try(&a, "other", 1, 30000, false).verdict, HFI_GRANTED);
    assert_true(a.store->class_->library->restored(a.store));
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 2);
    assert_int_equal(do_try(&b, "other", 1, 30000, false).verdict, HFI_BUSY);
    client_close(&a);
    client_close(&b);
}

/* Text from the file that is no UUID names no file. */
static void strange_rows(void **state)
{
    struct client a;

    (void)state;
    client_open(&a);
    do_try(&a, "mine", 1, 30000, false);
    sql_number(
        "INSERT INTO client SELECT 77, '../../../../../etc/passwd', boot, '', '', '', 1, 0, '' "
        "FROM client");
    sql_number("INSERT INTO hold (name, class, client, owner, kind, permits, token, until_ns,"
               " since_ns, ttl_ms, called)"
               " VALUES ('lock', 0, 77, 1, 0, 0, 1, 9000000000000000000, 1, 1, 0)");
    sql_number("INSERT INTO waiter (name, family, client, kind, place, owner, units, from_ns)"
               " VALUES ('lock', 0, 77, 0, 0, 0, 1 << 40, 1)");
    sql_number("INSERT INTO waiter (name, family, client, kind, place, owner, units, from_ns)"
               " VALUES ('lock', 0, 78, 0, 0, 0, 1 << 40, 1)");
    assert_int_equal(do_try(&a, "lock", 1, 30000, false).verdict, HFI_GRANTED);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 0);
    assert_int_equal(access("/etc/passwd", F_OK), 0);
    client_close(&a);
}

/* What dead clients left is looked for now and then, even if nobody needs their locks. */
static void the_dead_are_found(void **state)
{
    struct client last;
    char name[224];
    int fd;

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct remote remote = remote_start();

        remote_do(&remote, ORDER_TRY, "never asked for again", (uint64_t)i);
        remote_kill(&remote);
    }
    snprintf(name, sizeof name, "%s.d/12345678-1234-4123-8123-123456789abc", path);
    fd =
        open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); /* as left by a death before the commit */
    close(fd);
    snprintf(name, sizeof name, "%s.d/README", path);
    fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(fd);
    for (int i = 0; i < HFI_SQLITE_SWEEP_EVERY; i++) {
        struct client client;

        client_open(&client);
        do_try(&client, "lock", 1, 30000, false);
        client_close(&client);
    }
    client_open(&last);
    do_try(&last, "lock", 1, 30000, false);
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 1);
    assert_int_equal(sql_number("SELECT count(*) FROM hold"), 1);
    assert_int_equal(life_files(), 2); /* the last one's, and what is not ours */
    client_close(&last);
}

/* Killed at any moment, a client leaves nothing that outlives the next look. */
static void killed_at_random(void **state)
{
    struct hfi_random random;
    struct client other;

    (void)state;
    client_open(&other);
    do_try(&other, "mine", 1, 30000, false);
    hfi_random_init(&random, 1);
    for (int i = 0; i < 60; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            struct client client;

            clients_forked();
            client_open(&client);
            for (uint64_t owner = 1;; owner++) {
                do_try(&client, "lock", owner, 30000, true);
                do_release(&client, "lock", owner);
                do_leave(&client, "lock");
                if (owner % 5 == 0)
                    do_farewell(&client);
            }
        }
        usleep((unsigned)hfi_random_below(&random, 8000));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        assert_int_equal(do_try(&other, "lock", 100, 30000, false).verdict, HFI_GRANTED);
        assert_int_equal(do_release(&other, "lock", 100).verdict, HFI_RELEASED);
    }
    hfi_sqlite_begin(hfi_sqlite_of(other.store), true);
    assert_int_equal(hfi_sqlite_bury_all(hfi_sqlite_of(other.store)), HF_OK);
    assert_int_equal(hfi_sqlite_commit(hfi_sqlite_of(other.store)), HF_OK);
    hfi_sqlite_run_errands(hfi_sqlite_of(other.store));
    hfi_sqlite_sweep(hfi_sqlite_of(other.store));
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 1);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 0);
    assert_int_equal(sql_number("SELECT count(*) FROM hold"), 1);
    assert_int_equal(life_files(), 1);
    client_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(killed_holder),
        T(killed_holder_wakes),
        T(closed_but_alive),
        T(killed_after_its_turn_came),
        T(killed_waiters),
        T(guard_keeps_it),
        T(forked_child_keeps_nothing),
        T(looking_harms_nobody),
        T(file_removed_by_hand),
        T(row_removed_by_hand),
        T(strange_rows),
        T(the_dead_are_found),
        T(killed_at_random),
#undef T
    };

    return cmocka_run_group_tests_name("sqlite death", tests, NULL, NULL);
}
