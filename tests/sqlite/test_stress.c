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
    atomic_int readers, permits, taken, most_readers, most_permits;
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

/* ------------------------------------------------------------------------------------------------
 * All kinds on one name
 */

#define MIXED  12
#define ROUNDS 40
#define UNITS  4 /* permits that there are, and what the semaphore has */

static void note_most(atomic_int *most, int now)
{
    int seen = atomic_load(most);

    while (now > seen && !atomic_compare_exchange_weak(most, &seen, now))
        ;
}

/* What a holder of some kind does: looks whether somebody is here who must not be. */
static void work_beside(int kind, int units, unsigned pause_us)
{
    int count;

    if (kind == HFI_KIND_PERMITS || kind == HFI_KIND_SEMAPHORE) {
        atomic_int *taken = kind == HFI_KIND_PERMITS ? &shared->permits : &shared->taken;

        count = atomic_fetch_add(taken, units) + units;
        atomic_fetch_add(&shared->overlaps, count > UNITS);
        note_most(&shared->most_permits, count);
        usleep(pause_us);
        atomic_fetch_sub(taken, units);
    } else if (kind == HFI_KIND_READ) {
        count = atomic_fetch_add(&shared->readers, 1) + 1;
        note_most(&shared->most_readers, count);
        usleep(pause_us);
        atomic_fetch_add(&shared->overlaps, atomic_load(&shared->inside) != 0);
        atomic_fetch_sub(&shared->readers, 1);
    } else {
        atomic_fetch_add(&shared->overlaps, atomic_fetch_add(&shared->inside, 1) != 0);
        usleep(pause_us);
        atomic_fetch_add(&shared->overlaps, atomic_load(&shared->readers) != 0);
        atomic_fetch_sub(&shared->inside, 1);
    }
    atomic_fetch_add(&shared->rounds, 1);
}

static void give_back(struct client *client, int kind, uint64_t owner, int units)
{
    if (kind == HFI_KIND_SEMAPHORE && owner % 2)
        step_ok(client, HFI_SEMAPHORE_RELEASE, "lock", units);
    else if (give(client, kind, "lock", owner).verdict != HFI_RELEASED)
        _exit(3);
}

static void mix(struct client *client, int number)
{
    static const int kinds[] = { HFI_KIND_READ, HFI_KIND_READ,    HFI_KIND_WRITE,
                                 HFI_KIND_FAIR, HFI_KIND_PERMITS, HFI_KIND_SEMAPHORE };
    struct hfi_random random;

    hfi_random_init(&random, (uint64_t)number);
    for (uint64_t owner = 1; owner <= ROUNDS; owner++) {
        int kind = kinds[hfi_random_below(&random, sizeof kinds / sizeof *kinds)];
        int units = (int)hfi_random_below(&random, UNITS) + 1;

        if (!wait_kind(client, kind, "lock", owner, (uint32_t)units, 100000))
            _exit(2);
        work_beside(kind, units, (unsigned)hfi_random_below(&random, 1000));
        give_back(client, kind, owner, units);
    }
}

/* Nobody meets whom it must not meet, and nobody waits for ever though nobody looks by itself. */
static void kinds_mixed(void **state)
{
    struct client client;
    pid_t pids[MIXED];

    (void)state;
    share();
    client_open(&client);
    step_ok(&client, HFI_PERMITS_SET, "lock", UNITS);
    step_ok(&client, HFI_SEMAPHORE_SET, "lock", UNITS);
    start(pids, MIXED, mix);
    join(pids, MIXED);
    assert_int_equal(atomic_load(&shared->overlaps), 0);
    assert_int_equal(atomic_load(&shared->rounds), MIXED * ROUNDS);
    assert_true(atomic_load(&shared->most_readers) > 1 && atomic_load(&shared->most_permits) > 1);
    assert_int_equal(step_ok(&client, HFI_SEMAPHORE_AVAILABLE, "lock", 0).number, UNITS);
    assert_int_equal(step_ok(&client, HFI_PERMITS_COUNT, "lock", 0).number, UNITS);
    client_close(&client);
    nothing_is_left();
}

static const int DEADLY[] = { HFI_KIND_READ, HFI_KIND_READ, HFI_KIND_WRITE, HFI_KIND_PERMITS };

static void mix_for_ever(struct client *client, int number)
{
    struct hfi_random random;

    hfi_random_init(&random, (uint64_t)number + (uint64_t)getpid());
    for (uint64_t owner = 1;; owner++) {
        int kind = DEADLY[hfi_random_below(&random, sizeof DEADLY / sizeof *DEADLY)];
        int units = (int)hfi_random_below(&random, UNITS) + 1;

        if (!wait_kind(client, kind, "lock", owner, (uint32_t)units, 100000))
            _exit(2);
        usleep((unsigned)hfi_random_below(&random, 500));
        give(client, kind, "lock", owner);
    }
}

/* However they are killed, the others go on, woken by that. */
static void killed_among_kinds(void **state)
{
    struct hfi_random random;
    struct client client;
    pid_t pids[6];

    (void)state;
    client_open(&client);
    step_ok(&client, HFI_PERMITS_SET, "lock", UNITS);
    start(pids, 6, mix_for_ever);
    hfi_random_init(&random, 11);
    for (int i = 0; i < 80; i++) {
        int victim = (int)hfi_random_below(&random, 6);
        int kind = DEADLY[i % (int)(sizeof DEADLY / sizeof *DEADLY)];
        uint64_t owner = (uint64_t)i + 1;

        usleep((unsigned)hfi_random_below(&random, 5000));
        kill(pids[victim], SIGKILL);
        waitpid(pids[victim], NULL, 0);
        start(&pids[victim], 1, mix_for_ever);
        assert_true(wait_kind(&client, kind, "lock", owner, UNITS, LONG_WAIT_MS));
        assert_int_equal(give(&client, kind, "lock", owner).verdict, HFI_RELEASED);
    }
    for (int i = 0; i < 6; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    assert_true(wait_kind(&client, HFI_KIND_WRITE, "lock", 1000, 0, LONG_WAIT_MS));
    assert_true(wait_kind(&client, HFI_KIND_PERMITS, "lock", 1001, UNITS, LONG_WAIT_MS));
    client_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(many_try), T(many_wait), T(killed_among_many), T(kinds_mixed), T(killed_among_kinds),
#undef T
    };

    return cmocka_run_group_tests_name("sqlite stress", tests, NULL, NULL);
}
