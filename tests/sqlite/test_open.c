/* SPDX-License-Identifier: Apache-2.0 */
/* Opening: paths, what is refused and how, making the file together, files that are taken away. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/sqlite/sqlite.h"

/* ------------------------------------------------------------------------------------------------
 * What is refused
 */

static void write_file(const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static size_t read_file(const char *name, char *bytes, size_t room)
{
    FILE *file = fopen(name, "r");
    size_t count;

    assert_non_null(file);
    count = fread(bytes, 1, room, file);
    fclose(file);
    return count;
}

/* Opening fails with this error and these words in one line. */
static void refused(const char *rest, int error, const char *words)
{
    char detail[HFI_DETAIL_MAX] = "";
    struct client client;
    int result = client_open_at(&client, rest, detail);

    if (result != error || !strstr(detail, words))
        fail_msg("%s: %s: %s", rest, hf_strerror(result), detail);
    assert_null(strchr(detail, '\n'));
}

/* … and leaves the file as it is, and nothing beside it. */
static void refused_untouched(int error, const char *words)
{
    static const char *const beside[] = { "-wal", "-shm", "-journal", ".d" };
    static char before[100000], after[100000];
    size_t count = read_file(path, before, sizeof before);
    struct stat was, is;
    char name[192];

    assert_int_equal(stat(path, &was), 0);
    refused(path, error, words);
    assert_int_equal(read_file(path, after, sizeof after), count);
    assert_memory_equal(before, after, count);
    assert_int_equal(stat(path, &is), 0);
    assert_memory_equal(&was.st_mtim, &is.st_mtim, sizeof was.st_mtim);
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        assert_int_equal(access(name, F_OK), -1);
    }
}

static void sql_run(const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void not_a_database(void **state)
{
    char zeros[4096] = "";

    (void)state;
    write_file(path, "hello\n", 6);
    refused_untouched(HF_ERR_NOT_A_STORE, "not a Holdfast store");
    write_file(path, zeros, sizeof zeros);
    refused_untouched(HF_ERR_NOT_A_STORE, "not a Holdfast store");
}

static void another_database(void **state)
{
    (void)state;
    sql_run("CREATE TABLE person (name)");
    refused_untouched(HF_ERR_NOT_A_STORE, "of another program");
    sql_run("PRAGMA application_id = 1234");
    refused_untouched(HF_ERR_NOT_A_STORE, "of another program");
    unlink(path);
    sql_run("PRAGMA journal_mode = WAL; CREATE TABLE person (name)");
    refused_untouched(HF_ERR_NOT_A_STORE, "of another program");
}

static void newer_schema(void **state)
{
    struct client client;

    (void)state;
    client_open(&client);
    client_close(&client);
    sql_run("PRAGMA user_version = 3");
    refused(path, HF_ERR_NEWER_STORE, "newer Holdfast");
}

/* An empty file is nobody's yet: mktemp(1) makes such. */
static void empty_file(void **state)
{
    struct client client;

    (void)state;
    write_file(path, "", 0);
    client_open(&client);
    assert_int_equal(do_try(&client, "lock", 1, 1000, false).verdict, HFI_GRANTED);
    client_close(&client);
}

/* A table is gone, the file ends in the middle, its pages are overwritten. */
static void damaged(void **state)
{
    struct hfi_lease lease = lease_of("lock", 1, 1000);
    struct client client;

    (void)state;
    client_open(&client);
    sql_number("DROP TABLE hold");
    lease.request.op = HFI_OP_TRY;
    run(&client, &lease.request);
    assert_int_equal(lease.request.outcome, HFI_NOT_DONE);
    assert_int_equal(lease.request.error, HF_ERR_NOT_A_STORE);
    assert_non_null(strstr(client.store->detail, "damaged"));
    assert_non_null(strstr(client.store->detail, "remove it"));
    client_close(&client);
    sql_run("PRAGMA wal_checkpoint(TRUNCATE)");
    assert_int_equal(truncate(path, 1500), 0);
    refused(path, HF_ERR_NOT_A_STORE, "damaged");
}

static void folders_and_paths(void **state)
{
    char name[1200], long_name[600];

    (void)state;
    refused(folder, HF_ERR_NOT_A_STORE, "not a file");
    snprintf(name, sizeof name, "%s/missing/locks.db", folder);
    refused(name, HF_ERR_SYSTEM, "make it first");
    snprintf(name, sizeof name, "%s/", folder);
    refused(name, HF_ERR_URI, "is a folder");
    refused("//host/path", HF_ERR_URI, "names a host");
    refused("/tmp/a\nb", HF_ERR_URI, "control character");
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    for (int i = 1; i < 6; i++)
        long_name[i * 100] = '/';
    snprintf(name, sizeof name, "%s/%s", folder, long_name);
    refused(name, HF_ERR_SYSTEM, "No such file");
    snprintf(name, sizeof name, "%s/fifo", folder);
    assert_int_equal(mkfifo(name, 0600), 0);
    refused(name, HF_ERR_NOT_A_STORE, "not a file");
}

static void longest_path(void **state)
{
    char name[700], detail[HFI_DETAIL_MAX];
    struct client client;
    size_t len = strlen(folder);

    (void)state;
    snprintf(name, sizeof name, "%s", folder);
    while (len < 400) {
        memcpy(name + len, "/yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy", 49);
        len += 48;
        assert_int_equal(mkdir(name, 0700), 0);
    }
    name[len] = '/';
    memset(name + len + 1, 'z', sizeof name - len - 1);
    name[HFI_SQLITE_PATH_MAX] = '\0';
    assert_int_equal(client_open_at(&client, name, detail), HF_OK);
    assert_int_equal(do_try(&client, "lock", 1, 1000, false).verdict, HFI_GRANTED);
    do_try(&client, "lock", 2, 1000, true);
    do_watch(&client, "lock");
    client_close(&client);
    name[HFI_SQLITE_PATH_MAX] = 'z';
    name[HFI_SQLITE_PATH_MAX + 1] = '\0';
    refused(name, HF_ERR_URI, "longer than 480 bytes");
}

/* ------------------------------------------------------------------------------------------------
 * Other names for the same file, and the usual place
 */

static void same_store(const char *rest)
{
    char detail[HFI_DETAIL_MAX] = "", uri[200];
    struct client client;

    if (client_open_at(&client, rest, detail) != HF_OK)
        fail_msg("%s: %s", rest, detail);
    snprintf(uri, sizeof uri, "sqlite:%s", path);
    assert_string_equal(client.store->class_->uri(client.store), uri);
    assert_int_equal(do_try(&client, "lock", 1, 1000, false).verdict, HFI_BUSY);
    client_close(&client);
}

static void names_of_one_file(void **state)
{
    char name[400], here[300];
    struct client client;

    (void)state;
    client_open(&client);
    do_try(&client, "lock", 1, 30000, false);
    snprintf(name, sizeof name, "//%s", path);
    same_store(name);
    snprintf(name, sizeof name, "%s/link", folder);
    assert_int_equal(symlink(path, name), 0);
    same_store(name);
    snprintf(name, sizeof name, "%s/../%s/locks.db", folder, strrchr(folder, '/') + 1);
    same_store(name);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    same_store("locks.db");
    same_store("./locks.db");
    assert_int_equal(chdir(here), 0);
    client_close(&client);
}

static void percent_is_a_character(void **state)
{
    char name[200], detail[HFI_DETAIL_MAX];
    struct client client;

    (void)state;
    snprintf(name, sizeof name, "%s/a%%20b?c#d.db", folder);
    assert_int_equal(client_open_at(&client, name, detail), HF_OK);
    assert_int_equal(access(name, F_OK), 0);
    client_close(&client);
}

/* Runs a body as another user in a child process; the child's exit code is its result. */
static void as_user(int (*body)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        clients_forked();
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(100);
        _exit(body());
    }
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int usual_place(void)
{
    char expected[300], detail[HFI_DETAIL_MAX] = "";
    struct client client;
    struct stat status;

    setenv("XDG_STATE_HOME", "relative/is/ignored", 1);
    setenv("HOME", folder, 1);
    if (client_open_at(&client, "", detail) != HF_OK)
        return 1;
    snprintf(expected, sizeof expected, "sqlite:%s/.local/state/holdfast/holdfast.db", folder);
    if (strcmp(client.store->class_->uri(client.store), expected) != 0)
        return 2;
    if (stat(expected + 7, &status) != 0 || (status.st_mode & 07777) != 0600)
        return 3;
    *strrchr(expected, '/') = '\0';
    if (stat(expected + 7, &status) != 0 || (status.st_mode & 07777) != 0700)
        return 4;
    if (do_try(&client, "lock", 1, 1000, false).verdict != HFI_GRANTED)
        return 5;
    client_close(&client);
    snprintf(expected, sizeof expected, "%s/state", folder);
    setenv("XDG_STATE_HOME", expected, 1);
    if (client_open_at(&client, "", detail) != HF_OK)
        return 6;
    snprintf(expected, sizeof expected, "sqlite:%s/state/holdfast/holdfast.db", folder);
    if (strcmp(client.store->class_->uri(client.store), expected) != 0)
        return 7;
    client_close(&client);
    return 0;
}

static void usual_place_of_a_user(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(folder, 65534, 65534), 0);
    as_user(usual_place);
}

/* ------------------------------------------------------------------------------------------------
 * Permissions
 */

static int expect(int error, const char *words)
{
    char detail[HFI_DETAIL_MAX] = "";
    struct client client;
    int result = client_open_at(&client, path, detail);

    if (result == error && strstr(detail, words))
        return 0;
    fprintf(stderr, "%d: %s\n", result, detail);
    return 1;
}

static int read_only_file(void)
{
    return expect(HF_ERR_READ_ONLY, "can only be read");
}

static int unreadable_file(void)
{
    return expect(HF_ERR_PERMISSION, "Permission denied");
}

static int unwritable_folder(void)
{
    return expect(HF_ERR_PERMISSION, "cannot be written");
}

static int cannot_make(void)
{
    return expect(HF_ERR_PERMISSION, "cannot make the file");
}

static void permissions(void **state)
{
    struct client client;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(folder, 0755), 0);
    as_user(cannot_make);
    client_open(&client);
    assert_int_equal(chmod(path, 0644), 0);
    as_user(read_only_file);
    assert_int_equal(chmod(path, 0600), 0);
    as_user(unreadable_file);
    client_close(&client);
    assert_int_equal(chmod(path, 0666), 0);
    sql_run("PRAGMA journal_mode = DELETE"); /* takes away what lies beside it */
    as_user(unwritable_folder);
}

/* Several users: who may write the file may use what is made beside it. */
static int another_user(void)
{
    char detail[HFI_DETAIL_MAX] = "";
    struct client client;

    if (client_open_at(&client, path, detail) != HF_OK)
        return 1;
    if (do_try(&client, "lock", 1, 30000, true).verdict != HFI_BUSY)
        return 2;
    do_watch(&client, "lock");
    if (!wait_woken(&client, LONG_WAIT_MS)) /* touched by root */
        return 3;
    if (do_try(&client, "lock", 1, 30000, true).verdict != HFI_GRANTED)
        return 4;
    if (do_release(&client, "lock", 1).others != 2)
        return 5;
    client_close(&client);
    return 0;
}

static void several_users(void **state)
{
    struct client root;
    struct stat status;
    char name[192];
    mode_t mask = umask(0);
    pid_t pid;
    int code = -1;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(folder, 0777), 0);
    client_open(&root);
    umask(mask);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0666);
    do_try(&root, "lock", 1, 30000, false);
    snprintf(name, sizeof name, "%s.d", path);
    assert_int_equal(stat(name, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0777);
    pid = fork();
    if (pid == 0) {
        clients_forked();
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(100);
        _exit(another_user());
    }
    while (sql_number("SELECT count(*) FROM waiter") == 0)
        usleep(1000);
    do_try(&root, "lock", 2, 30000, true); /* behind the user */
    do_watch(&root, "lock");
    do_release(&root, "lock", 1);
    assert_true(wait_woken(&root, LONG_WAIT_MS)); /* touched by the user */
    assert_int_equal(waitpid(pid, &code, 0), pid);
    assert_int_equal(WEXITSTATUS(code), 0);
    client_close(&root);
}

static void honours_umask(void **state)
{
    mode_t mask = umask(077);
    struct client client;
    struct stat status;
    char name[192];

    (void)state;
    client_open(&client);
    do_try(&client, "lock", 1, 1000, false);
    umask(mask);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    snprintf(name, sizeof name, "%s.d", path);
    assert_int_equal(stat(name, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    client_close(&client);
}

/* ------------------------------------------------------------------------------------------------
 * File systems
 */

static unsigned long pretended;

static int pretend(const char *name, struct statfs *ret_status)
{
    int result = statfs(name, ret_status);

    ret_status->f_type = (__typeof__(ret_status->f_type))pretended;
    return result;
}

static int pretend_failure(const char *name, struct statfs *ret_status)
{
    (void)name;
    (void)ret_status;
    errno = EIO;
    return -1;
}

static void shared_file_systems(void **state)
{
    static const unsigned long local[] = { 0xef53 /* ext4 */,        0x58465342 /* xfs */,
                                           0x9123683e /* btrfs */,   0x01021994 /* tmpfs */,
                                           0x794c7630 /* overlay */, 0x2fc12fc1 /* zfs */,
                                           0xf2f52010 /* f2fs */,    0xca451a4e /* bcachefs */ };

    (void)state;
    assert_string_equal(hfi_sqlite_shared_fs(0x6969), "NFS");
    assert_string_equal(hfi_sqlite_shared_fs(0xffffffffff534d42), "CIFS"); /* sign-extended */
    assert_non_null(hfi_sqlite_shared_fs(0x65735546));
    assert_non_null(hfi_sqlite_shared_fs(0x01021997));
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
        assert_null(hfi_sqlite_shared_fs(local[i]));
    hfi_sqlite_statfs = pretend;
    pretended = 0x6969;
    refused(path, HF_ERR_NETWORK_FS, "(NFS)");
    assert_int_equal(access(path, F_OK), -1); /* nothing was made there */
    pretended = 0x58465342;
    hfi_sqlite_statfs = pretend_failure;
    refused(path, HF_ERR_SYSTEM, "file system");
    hfi_sqlite_statfs = statfs;
}

static void read_only_file_system(void **state)
{
    struct hfi_lease lease = lease_of("lock", 1, 1000);
    struct client client;
    char mounted[160], detail[HFI_DETAIL_MAX];

    (void)state;
    snprintf(mounted, sizeof mounted, "%s/mounted", folder);
    assert_int_equal(mkdir(mounted, 0700), 0);
    if (mount("holdfast-test", mounted, "tmpfs", 0, "size=1m") != 0)
        skip();
    snprintf(path, sizeof path, "%.128s/mounted/locks.db", folder);
    client_open(&client);
    assert_int_equal(do_try(&client, "lock", 1, 1000, false).verdict, HFI_GRANTED);
    client_close(&client);
    assert_int_equal(mount("", mounted, "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
    refused(path, HF_ERR_READ_ONLY, "Read-only file system");
    snprintf(detail, sizeof detail, "%s2", path);
    refused(detail, HF_ERR_READ_ONLY, "Read-only file system");
    assert_int_equal(mount("", mounted, "tmpfs", MS_REMOUNT, ""), 0);
    client_open(&client);
    lease.request.op = HFI_OP_TRY;
    /* A file that is open for writing keeps a file system from being made read-only. */
    assert_int_equal(mount("", mounted, "tmpfs", MS_REMOUNT | MS_RDONLY, ""), -1);
    run(&client, &lease.request);
    assert_int_equal(lease.verdict, HFI_GRANTED);
    client_close(&client);
    assert_int_equal(umount(mounted), 0);
}

/* ------------------------------------------------------------------------------------------------
 * Together
 */

#define MAKERS 10

static void made_together(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        pid_t pids[MAKERS];
        int gate[2], status;
        char byte;

        assert_int_equal(pipe(gate), 0);
        for (int i = 0; i < MAKERS; i++) {
            pids[i] = fork();
            if (pids[i] == 0) {
                struct client client;

                close(gate[1]);
                if (read(gate[0], &byte, 1) != 0)
                    _exit(1);
                client_open(&client);
                while (do_try(&client, "lock", 1, 30000, false).verdict != HFI_GRANTED)
                    usleep(100);
                do_release(&client, "lock", 1);
                client_close(&client);
                _exit(0);
            }
        }
        close(gate[0]);
        close(gate[1]);
        for (int i = 0; i < MAKERS; i++) {
            assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
            assert_int_equal(status, 0);
        }
        assert_int_equal(sql_number("SELECT epoch FROM meta"), 1);
        assert_int_equal(sql_number("SELECT tokens FROM meta"), MAKERS);
        assert_int_equal(sql_number("SELECT count(*) FROM client"), 0);
        assert_int_equal(life_files(), 0);
        folder_teardown(NULL);
        folder_setup(NULL);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Taken away
 */

static void file_is_deleted(void **state)
{
    static const char *const beside[] = { "", "-wal", "-shm", ".d" };
    struct client a, b;
    char name[192];

    (void)state;
    client_open(&a);
    client_open(&b);
    do_try(&a, "lock", 1, 30000, false);
    do_try(&b, "lock", 1, 30000, true);
    do_watch(&b, "lock");
    assert_int_equal(unlink(path), 0);
    assert_false(do_renew(&a, "lock", 1, 30000));
    assert_true(a.store->class_->library->restored(a.store));
    assert_int_equal(do_release(&a, "lock", 1).verdict, HFI_GONE);
    assert_int_equal(do_try(&a, "lock", 2, 30000, false).verdict, HFI_GRANTED);
    assert_int_equal(do_try(&b, "lock", 1, 30000, true).verdict, HFI_BUSY); /* they meet again */
    assert_true(wait_woken(&b, LONG_WAIT_MS));
    do_release(&a, "lock", 2);
    assert_true(wait_granted(&b, "lock", 1, 30000, LONG_WAIT_MS));
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        remove_tree(name);
    }
    assert_false(do_renew(&b, "lock", 1, 30000));
    assert_int_equal(do_try(&b, "lock", 1, 30000, false).verdict, HFI_GRANTED);
    assert_int_equal(do_try(&a, "lock", 1, 30000, false).verdict, HFI_BUSY);
    client_close(&a);
    client_close(&b);
}

static void file_is_replaced(void **state)
{
    struct client a, b;
    char other[192];

    (void)state;
    client_open(&a);
    do_try(&a, "lock", 1, 30000, false);
    snprintf(other, sizeof other, "%s.other", path);
    write_file(other, "not a store\n", 12);
    assert_int_equal(rename(other, path), 0);
    {
        struct hfi_lease lease = lease_of("lock", 1, 1000);
        struct hfi_renewal_item item = { .lease = &lease, .ttl_ms = 1000, .kept = true };
        struct hfi_renewal renewal = { .request.op = HFI_OP_RENEW, .count = 1, .items = &item };

        run(&a, &renewal.request);
        assert_int_equal(renewal.request.outcome, HFI_NOT_DONE);
        assert_int_equal(renewal.request.error, HF_ERR_NOT_A_STORE);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(do_try(&a, "lock", 2, 30000, false).verdict, HFI_GRANTED);
    client_open(&b);
    assert_int_equal(do_try(&b, "lock", 1, 30000, false).verdict, HFI_BUSY);
    client_close(&a);
    client_close(&b);
}

/* The files beside it are deleted: never are two told that they hold it. */
static void beside_is_deleted(void **state)
{
    static const char *const beside[] = { "-wal", "-shm" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct remote a = remote_start();
        struct client b;
        char name[192];
        bool kept;

        client_open(&b);
        remote_do(&a, ORDER_TRY, "lock", 1);
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        assert_int_equal(unlink(name), 0);
        kept = do_try(&b, "lock", 1, 30000, false).verdict == HFI_BUSY;
        assert_int_equal(remote_do(&a, ORDER_RENEW, "lock", 1).yes, kept);
        assert_int_equal(do_try(&b, "lock", 2, 30000, false).verdict, HFI_BUSY);
        remote_quit(&a);
        client_close(&b);
        assert_int_equal(sql_number("SELECT count(*) FROM hold"), 0);
    }
}

/* Likewise, with two clients in one process, which share what SQLite has open: errors, until both have
 * noticed. */
static void beside_is_deleted_in_one_process(void **state)
{
    static const char *const beside[] = { "-wal", "-shm" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct hfi_lease lease = lease_of("lock", 2, 30000);
        struct client a, b;
        char name[192];

        client_open(&a);
        client_open(&b);
        do_try(&a, "lock", 1, 30000, false);
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        assert_int_equal(unlink(name), 0);
        lease.request.op = HFI_OP_TRY;
        run(&b, &lease.request);
        if (lease.request.outcome == HFI_DONE)
            assert_int_equal(do_renew(&a, "lock", 1, 30000), lease.verdict == HFI_BUSY);
        else
            assert_int_equal(hf_classify(lease.request.error), HF_CLASS_RETRY);
        do_renew(&a, "lock", 1, 30000);
        do_try(&b, "lock", 3, 30000, false);
        assert_int_equal(do_try(&b, "lock", 4, 30000, false).verdict, HFI_BUSY);
        client_close(&a);
        client_close(&b);
    }
}

/* All descriptors are close-on-exec. */
static void close_on_exec(void **state)
{
    struct client client;

    (void)state;
    client_open(&client);
    do_try(&client, "lock", 1, 30000, false);
    do_try(&client, "lock", 2, 30000, true);
    do_watch(&client, "lock");
    for (int fd = 3; fd < 1000; fd++) {
        char link[64], target[200] = "";

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (readlink(link, target, sizeof target - 1) < 0)
            continue;
        if (strstr(target, folder) || strstr(target, "inotify") || strstr(target, "eventpoll"))
            assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
    client_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(not_a_database),
        T(another_database),
        T(newer_schema),
        T(empty_file),
        T(damaged),
        T(folders_and_paths),
        T(longest_path),
        T(names_of_one_file),
        T(percent_is_a_character),
        T(usual_place_of_a_user),
        T(permissions),
        T(several_users),
        T(honours_umask),
        T(shared_file_systems),
        T(read_only_file_system),
        T(made_together),
        T(file_is_deleted),
        T(file_is_replaced),
        T(beside_is_deleted),
        T(beside_is_deleted_in_one_process),
        T(close_on_exec),
#undef T
    };

    return cmocka_run_group_tests_name("sqlite open", tests, NULL, NULL);
}
