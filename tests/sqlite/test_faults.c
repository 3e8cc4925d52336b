/* SPDX-License-Identifier: Apache-2.0 */
/* What the store says when the system fails it, and that this is the truth. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "store/sqlite/sqlite.h"

/* ------------------------------------------------------------------------------------------------
 * Faults: the n-th call from now fails (0: none)
 */

static int write_countdown, write_errno;
static int sync_countdown, syncs;
static bool no_inotify;
static long memory_countdown;
static bool memory_failed;

static ssize_t faulty_pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    if (write_countdown > 0 && --write_countdown == 0) {
        errno = write_errno;
        return -1;
    }
    return pwrite(fd, bytes, count, offset);
}

/* Called by SQLite, in the place of the C library's. */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
    syncs++;
    if (sync_countdown > 0 && --sync_countdown == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

int inotify_init1(int flags)
{
    if (no_inotify) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_inotify_init1, flags);
}

static sqlite3_mem_methods real_memory;

static bool memory_fails(void)
{
    if (memory_countdown <= 0 || --memory_countdown > 0)
        return false;
    memory_failed = true;
    return true;
}

static void *faulty_malloc(int size)
{
    return memory_fails() ? NULL : real_memory.xMalloc(size);
}

static void *faulty_realloc(void *old, int size)
{
    return memory_fails() ? NULL : real_memory.xRealloc(old, size);
}

static void install_faults(void)
{
    sqlite3_mem_methods methods;
    sqlite3_vfs *vfs;

    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    methods = real_memory;
    methods.xMalloc = faulty_malloc;
    methods.xRealloc = faulty_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    vfs = sqlite3_vfs_find("unix");
    vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)faulty_pwrite);
    vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)faulty_pwrite);
}

/* ------------------------------------------------------------------------------------------------
 * Disks
 */

static struct hfi_lease attempt(struct client *client, int op, uint64_t owner)
{
    struct hfi_lease lease = lease_of("lock", owner, 30000);

    lease.request.op = (uint8_t)op;
    run(client, &lease.request);
    return lease;
}

static bool held(void)
{
    return sql_number("SELECT count(*) FROM hold") == 1;
}

/* Every write of a TRY fails in turn. */
static void write_errors(void **state)
{
    struct client client;
    bool unknown = false;
    int n = 1;

    (void)state;
    client_open(&client);
    do_try(&client, "warm", 1, 30000, false);
    do_release(&client, "warm", 1);
    for (;; n++) {
        struct hfi_lease lease;
        uint64_t owner = (uint64_t)n;
        int64_t tokens = sql_number("SELECT tokens FROM meta");

        write_errno = EIO;
        write_countdown = n;
        lease = attempt(&client, HFI_OP_TRY, owner);
        if (write_countdown > 0) {
            write_countdown = 0;
            assert_int_equal(lease.verdict, HFI_GRANTED);
            break;
        }
        assert_int_not_equal(lease.request.outcome, HFI_DONE);
        if (lease.request.outcome == HFI_NOT_DONE)
            assert_false(held());
        else
            assert_int_equal(lease.request.error, HF_ERR_UNSURE);
        unknown |= lease.request.outcome == HFI_UNKNOWN;
        /* Behind it, a release makes sure. */
        assert_int_equal(attempt(&client, HFI_OP_RELEASE, owner).request.outcome, HFI_DONE);
        assert_false(held());
        /* It has written, over whatever the failed one left in the log, though it found nothing. */
        if (lease.request.outcome == HFI_UNKNOWN)
            assert_true(sql_number("SELECT tokens FROM meta") > tokens);
    }
    assert_true(n > 3 && unknown);
    client_close(&client);
}

static void full_disk_at_every_write(void **state)
{
    struct client client;
    int n = 1, full = 0;

    (void)state;
    client_open(&client);
    do_try(&client, "warm", 1, 30000, false);
    for (;; n++) {
        struct hfi_lease lease;

        write_errno = ENOSPC;
        write_countdown = n;
        lease = attempt(&client, HFI_OP_TRY, (uint64_t)n);
        if (write_countdown > 0)
            break;
        assert_int_not_equal(lease.request.outcome, HFI_UNKNOWN);
        if (lease.request.outcome == HFI_NOT_DONE) {
            full++;
            assert_int_equal(lease.request.error, HF_ERR_STORE_FULL);
            assert_false(sql_number("SELECT count(*) FROM hold WHERE name = 'lock'"));
        } else {
            assert_int_equal(lease.verdict, HFI_GRANTED); /* after writing the log back */
            do_release(&client, "lock", (uint64_t)n);
        }
    }
    write_countdown = 0;
    assert_true(n > 3);
    assert_true(do_renew(&client, "warm", 1, 30000));
    client_close(&client);
}

static const int KINDS[] = { HFI_KIND_READ, HFI_KIND_WRITE, HFI_KIND_FAIR, HFI_KIND_PERMITS,
                             HFI_KIND_SEMAPHORE };
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

/* As a host does it: until it is done. */
static void take_back(struct client *client, int kind, uint64_t owner)
{
    struct hfi_lease lease;

    do {
        lease = lease_of_kind(kind, "lock", owner, 2);
        lease.request.op = HFI_OP_RELEASE;
        run(client, &lease.request);
    } while (lease.request.outcome != HFI_DONE);
}

static bool nothing_is_taken(struct client *client)
{
    return sql_number("SELECT count(*) FROM hold") == 0 &&
           step_ok(client, HFI_SEMAPHORE_AVAILABLE, "lock", 0).number == 3;
}

/* Every write of a TRY of each kind fails in turn; a release behind it makes sure. */
static void write_errors_of_kinds(void **state)
{
    struct client client;
    uint64_t owner = 1;

    (void)state;
    client_open(&client);
    step_ok(&client, HFI_SEMAPHORE_SET, "lock", 3);
    step_ok(&client, HFI_PERMITS_SET, "lock", 3);
    for (int i = 0; i < KIND_COUNT; i++) {
        bool unknown = false;

        for (int n = 1;; n++, owner++) {
            struct hfi_lease lease = lease_of_kind(KINDS[i], "lock", owner, 2);

            write_errno = EIO;
            write_countdown = n;
            lease.request.op = HFI_OP_TRY;
            run(&client, &lease.request);
            if (write_countdown > 0)
                break;
            assert_int_not_equal(lease.request.outcome, HFI_DONE);
            if (lease.request.outcome == HFI_NOT_DONE)
                assert_true(nothing_is_taken(&client));
            unknown |= lease.request.outcome == HFI_UNKNOWN;
            take_back(&client, KINDS[i], owner);
            assert_true(nothing_is_taken(&client));
        }
        write_countdown = 0;
        assert_true(unknown);
        assert_false(nothing_is_taken(&client));
        take_back(&client, KINDS[i], owner++);
    }
    client_close(&client);
}

/* Every write of a step fails in turn; repeated under its serial until it is done, it counts once. */
static void write_errors_of_steps(void **state)
{
    static const enum hfi_verb verbs[] = { HFI_SEMAPHORE_RELEASE, HFI_PERMITS_ADD, HFI_LATCH_DOWN };
    static const int64_t change[] = { 2, 2, -1 };
    struct client client;
    uint64_t serial = 1;

    (void)state;
    client_open(&client);
    step_ok(&client, HFI_SEMAPHORE_SET, "lock", 1000);
    step_ok(&client, HFI_PERMITS_SET, "lock", 1000);
    step_ok(&client, HFI_LATCH_SET, "lock", 1000);
    for (int i = 0; i < 3; i++) {
        int64_t expected = 1000;
        bool unknown = false, failed = true;

        for (int n = 1; failed; n++, serial++) {
            struct hfi_object object;

            write_errno = n % 2 ? EIO : ENOSPC;
            write_countdown = n;
            expected += change[i];
            do {
                object = step(&client, verbs[i], "lock", 2, serial);
                unknown |= object.request.outcome == HFI_UNKNOWN;
            } while (object.request.outcome != HFI_DONE);
            assert_int_equal(object.number, expected);
            assert_int_equal(step(&client, verbs[i], "lock", 2, serial).number, expected);
            failed = write_countdown == 0;
        }
        write_countdown = 0;
        assert_true(unknown);
    }
    client_close(&client);
}

/* A real file system without room. */
static void full_file_system(void **state)
{
    char mounted[160], name[200], block[4096] = "";
    struct client client, other;
    struct hfi_lease lease;
    int fd, failed = 0;

    (void)state;
    snprintf(mounted, sizeof mounted, "%s/mounted", folder);
    assert_int_equal(mkdir(mounted, 0700), 0);
    if (mount("holdfast-test", mounted, "tmpfs", 0, "size=1m") != 0)
        skip();
    snprintf(path, sizeof path, "%.128s/mounted/locks.db", folder);
    client_open(&client);
    client_open(&other);
    assert_int_equal(do_try(&client, "lock", 1, 30000, false).verdict, HFI_GRANTED);
    snprintf(name, sizeof name, "%s/filler", mounted);
    fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    while (write(fd, block, sizeof block) > 0)
        ;
    /* Definitely done, or definitely not. */
    for (uint64_t owner = 1; owner < 300; owner++) {
        char label[200];

        memset(label, 'x', sizeof label - 1);
        label[sizeof label - 1] = '\0';
        snprintf(name, sizeof name, "other-%d", (int)owner);
        lease = lease_of(name, owner, 30000);
        lease.label = label;
        lease.request.op = HFI_OP_TRY;
        run(&other, &lease.request);
        if (lease.request.outcome == HFI_DONE)
            continue;
        failed++;
        assert_int_equal(lease.request.outcome, HFI_NOT_DONE);
        assert_int_equal(lease.request.error, HF_ERR_STORE_FULL);
        assert_non_null(strstr(other.store->detail, "disk is full"));
    }
    assert_true(failed > 0);
    assert_int_equal(ftruncate(fd, 0), 0);
    close(fd);
    assert_true(do_renew(&client, "lock", 1, 30000));
    assert_int_equal(do_release(&client, "lock", 1).verdict, HFI_RELEASED);
    assert_int_equal(attempt(&other, HFI_OP_TRY, 1).verdict, HFI_GRANTED);
    client_close(&client);
    client_close(&other);
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 0);
    assert_int_equal(umount(mounted), 0);
}

/* Less and less room for a new store, until it fits. */
static void no_room_for_a_new_file(void **state)
{
    char mounted[160], name[200], detail[HFI_DETAIL_MAX] = "", block[4096] = "";
    struct client client;
    int fd, error, full = 0;

    (void)state;
    snprintf(mounted, sizeof mounted, "%s/mounted", folder);
    assert_int_equal(mkdir(mounted, 0700), 0);
    if (mount("holdfast-test", mounted, "tmpfs", 0, "size=256k") != 0)
        skip();
    snprintf(path, sizeof path, "%.128s/mounted/locks.db", folder);
    snprintf(name, sizeof name, "%s/filler", mounted);
    fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    while (write(fd, block, sizeof block) > 0)
        ;
    for (off_t size = lseek(fd, 0, SEEK_END); size >= 0; size -= 4096) {
        assert_int_equal(ftruncate(fd, size), 0);
        error = client_open_at(&client, path, detail);
        if (!error)
            break;
        full++;
        if (error != HF_ERR_STORE_FULL)
            fail_msg("%s: %s", hf_strerror(error), detail);
    }
    assert_int_equal(error, HF_OK);
    assert_true(full > 3);
    assert_int_equal(ftruncate(fd, 0), 0);
    close(fd);
    assert_int_equal(do_try(&client, "lock", 1, 30000, false).verdict, HFI_GRANTED);
    client_close(&client);
    assert_int_equal(umount(mounted), 0);
}

/* A file of version 1 is changed as a whole, or stays what it was. */
static void old_file_at_every_write(void **state)
{
    char detail[HFI_DETAIL_MAX];
    struct client client;
    int n, error;

    (void)state;
    assert_int_equal(sql_number("SELECT 1"), 1);
    for (n = 1;; n++) {
        sqlite3 *db = NULL;

        unlink(path);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db,
                                      "PRAGMA page_size = 1024; BEGIN;" SCHEMA_1 "COMMIT;"
                                      "PRAGMA journal_mode = WAL; INSERT INTO hold (name, client,"
                                      " owner, token, expires_ns, since_ns, ttl_ms)"
                                      " VALUES ('lock', 1, 1, 1, 1, 1, 1)",
                                      NULL, NULL, NULL),
                         SQLITE_OK);
        sqlite3_close(db);
        write_errno = n % 2 ? EIO : ENOSPC;
        write_countdown = n;
        error = client_open_at(&client, path, detail);
        if (write_countdown > 0)
            break;
        assert_int_not_equal(error, HF_OK);
        error = sql_number("PRAGMA user_version") == 1
                    ? (int)sql_number("SELECT count(expires_ns) FROM hold")
                    : (int)sql_number("SELECT count(until_ns) FROM hold");
        assert_int_equal(error, 1);
        client_open(&client);
        assert_int_equal(do_try(&client, "lock", 1, 30000, false).verdict, HFI_GRANTED);
        client_close(&client);
    }
    write_countdown = 0;
    assert_int_equal(error, HF_OK);
    assert_true(n > 3);
    client_close(&client);
}

/* The epoch is on the disk before its first token is drawn, and so are stamps when they are answered; the rest
 * waits for no disk. */
static void what_is_synced(void **state)
{
    const char *real = hfi_sqlite_boot_file;
    struct hfi_lease lease;
    struct client client;
    char boot[160];
    FILE *file;

    (void)state;
    client_open(&client);
    syncs = 0;
    lease = attempt(&client, HFI_OP_TRY, 1);
    assert_true(syncs >= 1);
    syncs = 0;
    for (uint64_t owner = 2; owner < 20; owner++) {
        do_release(&client, "lock", owner - 1);
        do_try(&client, "lock", owner, 30000, false);
        do_renew(&client, "lock", owner, 30000);
        step_ok(&client, HFI_SEMAPHORE_RELEASE, "lock", 1);
        take(&client, HFI_KIND_SEMAPHORE, "lock", owner + 1000);
    }
    assert_int_equal(syncs, 0);
    step_ok(&client, HFI_STAMP_SET, "lock", 1000);
    assert_true(syncs > 0);
    syncs = 0;
    step_ok(&client, HFI_STAMP_GET, "lock", 0);
    step_ok(&client, HFI_SEMAPHORE_RELEASE, "lock", 1);
    assert_int_equal(syncs, 0);
    step_ok(&client, HFI_STAMP_DELETE, "lock", 0);
    assert_true(syncs > 0);
    syncs = 0;
    sync_countdown = 1;
    assert_int_equal(step(&client, HFI_STAMP_SET, "lock", 1000, 7).request.outcome, HFI_UNKNOWN);
    assert_int_equal(step(&client, HFI_STAMP_SET, "lock", 1000, 7).request.outcome, HFI_DONE);
    syncs = 0;
    client_close(&client);
    assert_int_equal(syncs, 0);
    snprintf(boot, sizeof boot, "%s/boot", folder);
    file = fopen(boot, "w");
    fprintf(file, "20000000-0000-0000-0000-000000000000");
    fclose(file);
    hfi_sqlite_boot_file = boot;
    client_open(&client);
    sync_countdown = 1;
    assert_int_equal(attempt(&client, HFI_OP_TRY, 1).request.outcome, HFI_NOT_DONE);
    assert_int_equal(sync_countdown, 0);
    assert_true(attempt(&client, HFI_OP_TRY, 1).token >> 32 > lease.token >> 32);
    hfi_sqlite_boot_file = real;
    client_close(&client);
}

/* ------------------------------------------------------------------------------------------------
 * Locked by others
 */

static void locked_for_too_long(void **state)
{
    struct hfi_lease lease = lease_of("lock", 1, 30000);
    struct client client;
    sqlite3 *db = NULL;
    hfi_time began;

    (void)state;
    client_open(&client);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    began = clock_now();
    lease.request.op = HFI_OP_TRY;
    lease.request.deadline_ns = began + 100 * HFI_MSEC;
    run(&client, &lease.request);
    assert_int_equal(lease.request.outcome, HFI_NOT_DONE);
    assert_int_equal(lease.request.error, HF_ERR_UNAVAILABLE);
    assert_non_null(strstr(client.store->detail, "locked for too long"));
    assert_true(clock_now() - began >= 100 * HFI_MSEC && clock_now() - began < 5 * HFI_SEC);
    lease.request.deadline_ns = 1; /* long past: one attempt */
    run(&client, &lease.request);
    assert_int_equal(lease.request.error, HF_ERR_UNAVAILABLE);
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    run(&client, &lease.request);
    assert_int_equal(lease.verdict, HFI_GRANTED);
    sqlite3_close(db);
    client_close(&client);
}

static void *hold_file(void *arg)
{
    struct timespec nap = { .tv_nsec = 600000000 };
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    sem_post(arg);
    nanosleep(&nap, NULL);
    sqlite3_close(db);
    return NULL;
}

/* The clock is read when the lock is had, not before: a lease that ran out meanwhile stays over. */
static void waiting_revives_nothing(void **state)
{
    struct client client;
    pthread_t thread;
    sem_t locked;

    (void)state;
    client_open(&client);
    do_try(&client, "lock", 1, 300, false);
    sem_init(&locked, 0, 0);
    pthread_create(&thread, NULL, hold_file, &locked);
    sem_wait(&locked);
    assert_false(do_renew(&client, "lock", 1, 30000));
    pthread_join(thread, NULL);
    sem_destroy(&locked);
    client_close(&client);
}

/* ------------------------------------------------------------------------------------------------
 * Descriptors, inotify, memory
 */

static void no_inotify_to_be_had(void **state)
{
    struct hfi_watch watch = { .request.op = HFI_OP_WATCH, .name = "lock", .name_len = 4 };
    struct client holder, waiter;

    (void)state;
    client_open(&holder);
    client_open(&waiter);
    do_try(&holder, "lock", 1, 30000, false);
    do_try(&waiter, "lock", 1, 30000, true);
    no_inotify = true;
    waiter.watch = watch;
    run(&waiter, &waiter.watch.request);
    assert_int_equal(waiter.watch.request.outcome, HFI_NOT_DONE);
    assert_int_equal(waiter.watch.request.error, HF_ERR_SYSTEM);
    assert_non_null(strstr(waiter.store->detail, "inotify"));
    assert_int_equal(do_try(&waiter, "lock", 1, 30000, true).verdict,
                     HFI_BUSY); /* polling goes on */
    assert_false(wait_woken(&waiter, 1500));
    no_inotify = false;
    assert_true(wait_woken(&waiter, LONG_WAIT_MS)); /* it works again */
    assert_int_equal(do_try(&waiter, "lock", 1, 30000, true).verdict, HFI_BUSY);
    do_release(&holder, "lock", 1);
    assert_true(wait_woken(&waiter, LONG_WAIT_MS));
    assert_int_equal(do_try(&waiter, "lock", 1, 30000, true).verdict, HFI_GRANTED);
    client_close(&holder);
    client_close(&waiter);
}

static int out_of_descriptors(void)
{
    struct rlimit limit;
    struct client holder, other, third;
    char detail[HFI_DETAIL_MAX] = "";
    int next;

    client_open(&holder);
    client_open(&other);
    do_try(&holder, "lock", 1, 30000, false);
    getrlimit(RLIMIT_NOFILE, &limit);
    next = dup(0);
    close(next);
    limit.rlim_cur = (rlim_t)next;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (client_open_at(&third, path, detail) != HF_ERR_SYSTEM)
        return 1;
    if (attempt(&other, HFI_OP_TRY, 1).verdict != HFI_BUSY) /* cannot look: takes it for alive */
        return 2;
    do_release(&holder, "lock", 1);
    if (attempt(&other, HFI_OP_TRY, 1).request.error != HF_ERR_SYSTEM) /* cannot make its file */
        return 3;
    if (attempt(&holder, HFI_OP_TRY, 2).verdict != HFI_GRANTED)
        return 4;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    do_release(&holder, "lock", 2);
    if (attempt(&other, HFI_OP_TRY, 1).verdict != HFI_GRANTED)
        return 5;
    client_close(&holder);
    client_close(&other);
    return life_files();
}

static void no_descriptors_left(void **state)
{
    int status = -1;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(out_of_descriptors());
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Every allocation of SQLite fails in turn, once, in a client's whole life: what it says is the truth. */
static void life_with_faulty_memory(long n)
{
    char detail[HFI_DETAIL_MAX] = "";
    struct hf_list *list = hfi_list_new();
    struct hfi_query query = { .request.op = HFI_OP_LIST, .list = list };
    struct client client;
    struct hfi_lease lease;
    int error;

    memory_failed = false;
    memory_countdown = n;
    error = client_open_at(&client, path, detail);
    if (error) {
        assert_int_equal(error, HF_ERR_NO_MEMORY);
        hf_list_free(list);
        return;
    }
    lease = attempt(&client, HFI_OP_TRY, 1);
    if (lease.request.outcome == HFI_DONE)
        assert_int_equal(lease.verdict, HFI_GRANTED);
    else
        assert_true(lease.request.outcome == HFI_UNKNOWN ||
                    lease.request.error == HF_ERR_NO_MEMORY);
    run(&client, &query.request);
    if (query.request.outcome == HFI_DONE && lease.request.outcome != HFI_UNKNOWN)
        assert_int_equal(hf_list_count(list), lease.request.outcome == HFI_DONE);
    hf_list_free(list);
    do
        lease = attempt(&client, HFI_OP_RELEASE, 1);
    while (lease.request.outcome != HFI_DONE);
    client_close(&client);
}

static void out_of_memory(void **state)
{
    struct client client;
    long n = 0;

    (void)state;
    client_open(&client); /* the file, and its epoch */
    do_try(&client, "lock", 1, 30000, false);
    client_close(&client);
    do
        life_with_faulty_memory(++n);
    while (memory_failed);
    memory_countdown = 0;
    assert_true(n > 50);
    assert_false(held());
    client_open(&client);
    hfi_sqlite_begin(hfi_sqlite_of(client.store), true);
    assert_int_equal(hfi_sqlite_bury_all(hfi_sqlite_of(client.store)), HF_OK);
    hfi_sqlite_commit(hfi_sqlite_of(client.store));
    hfi_sqlite_run_errands(hfi_sqlite_of(client.store));
    client_close(&client);
    assert_int_equal(sql_number("SELECT count(*) FROM client"), 0);
    assert_int_equal(life_files(), 0);
}

/* As above, with what else can be had than a mutex. */
static void kinds_with_faulty_memory(long n)
{
    char detail[HFI_DETAIL_MAX] = "";
    struct hfi_object object;
    struct client client;

    memory_failed = false;
    memory_countdown = n;
    if (client_open_at(&client, path, detail) != HF_OK)
        return;
    for (int i = 0; i < KIND_COUNT; i++) {
        struct hfi_lease lease = lease_of_kind(KINDS[i], "lock", (uint64_t)i + 1, 2);

        lease.request.op = HFI_OP_TRY;
        lease.queue = true;
        run(&client, &lease.request);
        assert_true(lease.request.outcome != HFI_NOT_DONE ||
                    lease.request.error == HF_ERR_NO_MEMORY);
        take_back(&client, KINDS[i], (uint64_t)i + 1);
    }
    for (int number = 1; number >= -1; number -= 2) {
        do
            object = step(&client, HFI_SEMAPHORE_ADD, "lock", number, 100 + (uint64_t)number);
        while (object.request.outcome != HFI_DONE);
    }
    client_close(&client);
}

static void kinds_out_of_memory(void **state)
{
    struct client client;
    long n = 0;

    (void)state;
    client_open(&client);
    step_ok(&client, HFI_SEMAPHORE_SET, "lock", 3);
    step_ok(&client, HFI_PERMITS_SET, "lock", 3);
    client_close(&client);
    do
        kinds_with_faulty_memory(++n);
    while (memory_failed);
    memory_countdown = 0;
    assert_true(n > 100);
    client_open(&client);
    assert_true(nothing_is_taken(&client));
    client_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(write_errors),
        T(write_errors_of_kinds),
        T(write_errors_of_steps),
        T(full_disk_at_every_write),
        T(full_file_system),
        T(no_room_for_a_new_file),
        T(old_file_at_every_write),
        T(what_is_synced),
        T(locked_for_too_long),
        T(waiting_revives_nothing),
        T(no_inotify_to_be_had),
        T(no_descriptors_left),
        T(out_of_memory),
        T(kinds_out_of_memory),
#undef T
    };

    install_faults();
    return cmocka_run_group_tests_name("sqlite faults", tests, NULL, NULL);
}
