/* SPDX-License-Identifier: Apache-2.0 */
/* fork(): inert clients in the child, and clients of the child's own, with locks of its own. */
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/wait.h"
#include "store/sqlite/sqlite.h"

static void expect_success(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int open_descriptors(const char *what)
{
    int count = 0;

    for (int fd = 3; fd < 256; fd++) {
        char link[64], target[256] = "";

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (readlink(link, target, sizeof target - 1) > 0 && strstr(target, what))
            count++;
    }
    return count;
}

static int use_inert_client(struct client *client)
{
    const struct hfi_library_class *library = client->store->class_->library;
    struct hfi_lease lease = lease_of("lock", 1, 1000);

    library->forked(client->store);
    if (open_descriptors(".d/") != 0 || open_descriptors("inotify") != 0 ||
        open_descriptors("eventpoll") != 0)
        return 1;
    if (library->liveness_fd(client->store) != -1 || library->wake_fd(client->store) != -1)
        return 2;
    lease.request.op = HFI_OP_RELEASE;
    lease.request.deadline_ns = HF_TIME_NEVER;
    library->execute(client->store, clock_now(), &lease.request);
    if (lease.request.outcome != HFI_NOT_DONE || lease.request.error != HF_ERR_FORKED)
        return 3;
    library->collect(client->store, clock_now());
    client->store->class_->free(client->store);
    return 0;
}

static void inert_in_the_child(void **state)
{
    struct client client, other;
    pid_t pid;

    (void)state;
    client_open(&client);
    client_open(&other);
    do_try(&client, "lock", 1, 30000, false);
    do_try(&client, "lock", 2, 30000, true);
    do_watch(&client, "lock");
    pid = fork();
    if (pid == 0) {
        other.store->class_->library->forked(other.store);
        _exit(use_inert_client(&client));
    }
    expect_success(pid);
    assert_true(do_renew(&client, "lock", 1, 30000));
    assert_int_equal(do_try(&other, "lock", 1, 30000, false).verdict, HFI_BUSY);
    assert_int_equal(life_files(), 1);
    client_close(&client);
    client_close(&other);
}

/* Is this line of /proc/locks a POSIX lock of the process on the file? It is like
 *   1: POSIX  ADVISORY  READ 5433 08:01:7864448 128 128 */
static bool is_lock(char *line, pid_t pid, ino_t ino)
{
    char *rest = line, *field[6];

    for (int i = 0; i < 6; i++)
        if (!(field[i] = strtok_r(i ? NULL : line, " ", &rest)))
            return false;
    return strcmp(field[1], "POSIX") == 0 && strtol(field[4], NULL, 10) == pid &&
           strtoul(strrchr(field[5], ':') + 1, NULL, 10) == ino;
}

/* Has the process a POSIX lock on this file? The kernel's list may miss some while it changes. */
static bool has_lock(pid_t pid, ino_t ino)
{
    char line[256];
    bool found = false;

    for (int i = 0; i < 100 && !found; i++) {
        FILE *file = fopen("/proc/locks", "r");

        while (file && !found && fgets(line, sizeof line, file))
            found = is_lock(line, pid, ino);
        if (file)
            fclose(file);
    }
    return found;
}

/* On how many of the two: the database, and the shared memory beside it? */
static int locks_of(pid_t pid)
{
    static const char *const suffixes[] = { "", "-shm" };
    char name[192];
    struct stat status;
    int count = 0;

    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        if (stat(name, &status) != 0)
            return -1;
        count += has_lock(pid, status.st_ino);
    }
    return count;
}

static int own_client(int depth)
{
    struct client client;
    char detail[HFI_DETAIL_MAX] = "";
    int status = 0;

    clients_forked();
    if (client_open_at(&client, path, detail) != HF_OK) {
        fprintf(stderr, "%s\n", detail);
        return 1;
    }
    if (do_try(&client, "lock", 1, 30000, false).verdict != HFI_BUSY)
        return 2;
    if (do_try(&client, "mine", 1, 30000, false).verdict != HFI_GRANTED)
        return 3;
    if (locks_of(getpid()) != 2) /* else others could take the files for unused */
        return 4;
    if (depth > 0) {
        pid_t pid = fork();

        if (pid == 0) {
            clients_forked();
            if (client_open_at(&client, path, detail) != HF_OK ||
                do_try(&client, "mine", 1, 30000, false).verdict != HFI_BUSY)
                _exit(10);
            _exit(locks_of(getpid()) == 2 ? 0 : 11);
        }
        waitpid(pid, &status, 0);
        if (status != 0)
            return 5;
    }
    do_release(&client, "mine", 1);
    client_close(&client);
    return 0;
}

static void own_client_in_the_child(void **state)
{
    struct client client;
    pid_t pid;

    (void)state;
    client_open(&client);
    do_try(&client, "lock", 1, 30000, false);
    assert_int_equal(locks_of(getpid()), 2);
    for (int i = 0; i < 3; i++) {
        pid = fork();
        if (pid == 0)
            _exit(own_client(2));
        expect_success(pid);
        assert_int_equal(locks_of(getpid()), 2);
        assert_true(do_renew(&client, "lock", 1, 30000));
    }
    client_close(&client);
}

/* The parent goes, the child's own client stays; then others come. Without locks of its own the child's
 * shared memory would be made anew under it. */
static void child_outlives_parent(void **state)
{
    int ready[2], go[2];
    struct client other;
    char byte = 0;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    pid = fork();
    if (pid == 0) {
        struct client parent, child;

        client_open(&parent);
        do_try(&parent, "lock", 1, 30000, false);
        if (fork() != 0)
            _exit(0);
        clients_forked();
        client_open(&child);
        close(go[1]);
        byte = do_try(&child, "child", 1, 30000, false).verdict == HFI_GRANTED;
        if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 0)
            _exit(1);
        byte = do_renew(&child, "child", 1, 30000) &&
               do_try(&child, "others", 1, 30000, false).verdict == HFI_BUSY;
        do_release(&child, "child", 1);
        client_close(&child);
        _exit(write(ready[1], &byte, 1) == 1 ? 0 : 1);
    }
    close(ready[1]);
    close(go[0]);
    expect_success(pid);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    client_open(&other);
    assert_int_equal(do_try(&other, "lock", 1, 30000, false).verdict, HFI_GRANTED);
    assert_int_equal(do_try(&other, "child", 1, 30000, false).verdict, HFI_BUSY);
    for (uint64_t i = 2; i < 500; i++) {
        do_try(&other, "x", i, 30000, false);
        do_release(&other, "x", i);
    }
    do_try(&other, "others", 1, 30000, false);
    close(go[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    while (do_try(&other, "child", 2, 30000, false).verdict != HFI_GRANTED)
        usleep(1000);
    close(ready[0]);
    client_close(&other);
}

static atomic_bool stop;

static void *worker(void *arg)
{
    struct client *client = arg;

    for (uint64_t owner = 1; !atomic_load(&stop); owner++) {
        do_try(client, client->identity.id, owner, 30000, false);
        do_release(client, client->identity.id, owner);
    }
    return NULL;
}

/* fork() while other threads are at work inside: children find everything unlocked. */
static void forked_while_busy(void **state)
{
    struct client clients[3];
    pthread_t threads[3];

    (void)state;
    if (!TEST_CAN_FORK_BUSY)
        skip();
    atomic_store(&stop, false);
    for (int i = 0; i < 3; i++) {
        client_open(&clients[i]);
        pthread_create(&threads[i], NULL, worker, &clients[i]);
    }
    for (int i = 0; i < 100; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            struct client client;
            char detail[HFI_DETAIL_MAX];

            alarm(60);
            if (client_open_at(&client, path, detail) != HF_OK)
                _exit(1);
            if (do_try(&client, "child", 1, 30000, false).verdict != HFI_GRANTED)
                _exit(2);
            client.store->class_->free(client.store);
            _exit(0);
        }
        expect_success(pid);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        client_close(&clients[i]);
    }
    assert_int_equal(life_files(), 0);
}

static atomic_int seen;

static void *stuck(void *arg)
{
    struct hfi_sqlite_inside inside;

    (void)arg;
    hfi_sqlite_enter(&inside);
    atomic_store(&seen, 1);
    while (atomic_load(&seen) == 1)
        usleep(1000);
    hfi_sqlite_leave(&inside);
    return NULL;
}

/* A thread that stays inside for long delays fork() for a second; the child then says why it cannot. */
static void forked_in_the_middle(void **state)
{
    char detail[HFI_DETAIL_MAX] = "";
    struct client client;
    pthread_t thread;
    pid_t pid;

    (void)state;
    client_open(&client);
    pthread_create(&thread, NULL, stuck, NULL);
    while (atomic_load(&seen) == 0)
        usleep(1000);
    pid = fork();
    if (pid == 0) {
        struct client own;

        if (client_open_at(&own, path, detail) != HF_ERR_UNSUPPORTED)
            _exit(1);
        _exit(strstr(detail, "after exec") ? 0 : 2);
    }
    expect_success(pid);
    atomic_store(&seen, 2);
    pthread_join(thread, NULL);
    assert_int_equal(do_try(&client, "lock", 1, 30000, false).verdict, HFI_GRANTED);
    client_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(inert_in_the_child), T(own_client_in_the_child), T(child_outlives_parent),
        T(forked_while_busy),  T(forked_in_the_middle),
#undef T
    };

    return cmocka_run_group_tests_name("sqlite fork", tests, NULL, NULL);
}
