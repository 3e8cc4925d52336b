/* SPDX-License-Identifier: Apache-2.0 */
/* Many processes at once: nobody meets another inside, tokens grow, nothing is left. */
#include "support.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/sqlite/sqlite.h"

#define PROCESSES 50

struct shared {
    atomic_int inside;
    atomic_int overlaps;
    _Atomic uint64_t token;
    atomic_long rounds;
};

static struct shared *shared;

static void share(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
}

/* What a holder does: looks whether anybody else is here. */
static void work(uint64_t token)
{
    if (atomic_fetch_add(&shared->inside, 1) != 0 || token <= atomic_load(&shared->token))
        atomic_fetch_add(&shared->overlaps, 1);
    atomic_store(&shared->token, token);
    atomic_fetch_add(&shared->rounds, 1);
    atomic_fetch_sub(&shared->inside, 1);
}

static void nothing_is_left(void)
{
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 0);
    assert_int_equal(sql_number("SELECT count(*) FROM hold"), 0);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 0);
    assert_int_equal(life_files(), 0);
}

static void start(pid_t *pids, int count, void (*body)(struct client *client, int number))
{
    for (int i = 0; i < count; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            struct client client;

            prctl(PR_SET_PDEATHSIG, SIGKILL); /* no test that fails leaves it behind */
            clients_forked();
            client_open(&client);
            body(&client, i);
            client_close(&client);
            _exit(0);
        }
    }
}

static void join(const pid_t *pids, int count)
{
    for (int i = 0; i < count; i++) {
        int status = -1;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
}

/* Attempts without waiting, on one lock and on one's own. */
static void try_often(struct client *client, int number)
{
    char own[32];

    snprintf(own, sizeof own, "own-%d", number);
    for (uint64_t owner = 1; owner <= 200; owner++) {
        struct hfi_lease lease = do_try(client, "lock", owner, 30000, false);

        if (lease.verdict == HFI_GRANTED) {
            work(lease.token);
            if (do_release(client, "lock", owner).verdict != HFI_RELEASED)
                _exit(2);
        }
        if (do_try(client, own, owner, 30000, false).verdict != HFI_GRANTED ||
            !do_renew(client, own, owner, 30000) ||
            do_release(client, own, owner).verdict != HFI_RELEASED)
            _exit(3);
    }
}

static void many_try(void **state)
{
    pid_t pids[PROCESSES];
    struct stat status;
    char name[192];

    (void)state;
    share();
    start(pids, PROCESSES, try_often);
    join(pids, PROCESSES);
    assert_int_equal(atomic_load(&shared->overlaps), 0);
    assert_true(atomic_load(&shared->rounds) > 0);
    nothing_is_left();
    snprintf(name, sizeof name, "%s-wal", path);
    assert_int_equal(stat(name, &status), 0);
    /* Usually 5 times; without checkpoints 44 times. How far it gets depends on who is kept waiting. */
    assert_true(status.st_size < 22 * HFI_SQLITE_CHECKPOINT * (HFI_SQLITE_PAGE_SIZE + 24));
}

static void wait_often(struct client *client, int number)
{
    (void)number;
    for (uint64_t owner = 1; owner <= 10; owner++) {
        if (!wait_granted(client, "lock", owner, 30000, 100000))
            _exit(2);
        work((uint64_t)sql_number("SELECT token FROM hold"));
        if (do_release(client, "lock", owner).verdict != HFI_RELEASED)
            _exit(3);
    }
}

static void many_wait(void **state)
{
    pid_t pids[PROCESSES];

    (void)state;
    share();
    start(pids, PROCESSES, wait_often);
    join(pids, PROCESSES);
    assert_int_equal(atomic_load(&shared->overlaps), 0);
    assert_int_equal(atomic_load(&shared->rounds), PROCESSES * 10);
    nothing_is_left();
}

/* Holds for a moment, and is killed while it does, or while it waits. A killed holder cannot say that it
 * has left, so only those who live count. */
static void wait_for_ever(struct client *client, int number)
{
    struct hfi_random random;

    hfi_random_init(&random, (uint64_t)number);
    for (uint64_t owner = 1;; owner++) {
        if (!wait_granted(client, "lock", owner, 30000, 100000))
            _exit(2);
        usleep((unsigned)hfi_random_below(&random, 500));
        do_release(client, "lock", owner);
        if (hfi_random_below(&random, 3) == 0)
            do_leave(client, "lock");
    }
}

/* However they are killed, the others go on, soon. */
static void killed_among_many(void **state)
{
    struct hfi_random random;
    struct client client;
    pid_t pids[8];

    (void)state;
    client_open(&client);
    start(pids, 8, wait_for_ever);
    hfi_random_init(&random, 7);
    for (int i = 0; i < 100; i++) {
        int victim = (int)hfi_random_below(&random, 8);

        usleep((unsigned)hfi_random_below(&random, 5000));
        kill(pids[victim], SIGKILL);
        waitpid(pids[victim], NULL, 0);
        start(&pids[victim], 1, wait_for_ever);
        assert_true(wait_granted(&client, "lock", (uint64_t)i + 1, 30000, LONG_WAIT_MS));
        do_release(&client, "lock", (uint64_t)i + 1);
    }
    for (int i = 0; i < 8; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    assert_true(wait_granted(&client, "lock", 1000, 30000, LONG_WAIT_MS));
    do_release(&client, "lock", 1000);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter"), 0);
    hfi_sqlite_begin(hfi_sqlite_of(client.store), true);
    assert_int_equal(hfi_sqlite_bury_all(hfi_sqlite_of(client.store)), HF_OK);
    hfi_sqlite_commit(hfi_sqlite_of(client.store));
    hfi_sqlite_run_errands(hfi_sqlite_of(client.store));
    hfi_sqlite_sweep(hfi_sqlite_of(client.store));
    client_close(&client);
    nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(many_try),
        T(many_wait),
        T(killed_among_many),
#undef T
    };

    return cmocka_run_group_tests_name("sqlite stress", tests, NULL, NULL);
}
