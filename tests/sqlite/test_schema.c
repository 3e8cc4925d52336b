/* SPDX-License-Identifier: Apache-2.0 */
/* A file of version 1 becomes one of version 2, with what is in it. */
#include "support.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/sqlite/sqlite.h"

/* One connection to the file, as programs of version 1 had it. */
static sqlite3 *old_program(void)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    return db;
}

static int old_run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static void boot_id(char *boot)
{
    FILE *file = fopen(hfi_sqlite_boot_file, "r");

    assert_non_null(file);
    assert_int_equal(fread(boot, 1, HFI_SQLITE_UUID, file), HFI_SQLITE_UUID);
    boot[HFI_SQLITE_UUID] = '\0';
    fclose(file);
}

/* A client of version 1 that lives until its descriptor is closed. */
static int old_client(sqlite3 *db, int id)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    char name[256], boot[HFI_SQLITE_UUID + 1], sql[512];
    int fd;

    boot_id(boot);
    snprintf(sql, sizeof sql,
             "INSERT INTO client (id, uuid, boot, host, user, program, pid, started) VALUES"
             " (%d, '00000000-0000-4000-8000-%012d', '%s', 'h', 'u', 'p', 1, '')",
             id, id, boot);
    assert_int_equal(old_run(db, sql), SQLITE_OK);
    snprintf(name, sizeof name, "%s.d", path);
    mkdir(name, 0700);
    snprintf(name, sizeof name, "%s.d/00000000-0000-4000-8000-%012d", path, id);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0);
    return fd;
}

static sqlite3 *old_file(void)
{
    sqlite3 *db = old_program();
    char boot[HFI_SQLITE_UUID + 1], sql[128];

    assert_int_equal(old_run(db, "PRAGMA page_size = 1024; BEGIN;" SCHEMA_1 "COMMIT;"
                                 "PRAGMA journal_mode = WAL;"),
                     SQLITE_OK);
    boot_id(boot);
    snprintf(sql, sizeof sql, "UPDATE meta SET boot = '%s', epoch = 7, tokens = 99", boot);
    assert_int_equal(old_run(db, sql), SQLITE_OK);
    return db;
}

static void keeps_what_it_has(void **state)
{
    sqlite3 *db = old_file();
    int holder = old_client(db, 1), first = old_client(db, 2), second = old_client(db, 3);
    struct hfi_lease lease;
    struct client client;

    (void)state;
    assert_int_equal(
        old_run(db,
                "INSERT INTO hold (name, client, owner, token, expires_ns, since_ns, ttl_ms, label,"
                " threads) VALUES ('lock', 1, 5, 30064771171, 9000000000000000000, 1, 30000, 'why',"
                " 2);"
                "INSERT INTO waiter (ticket, name, client, since_ns, threads)"
                " VALUES (41, 'lock', 2, 1, 3), (42, 'lock', 3, 2, 1);"),
        SQLITE_OK);
    sqlite3_close(db);
    client_open(&client);
    assert_int_equal(sql_number("PRAGMA user_version"), 2);
    assert_int_equal(sql_number("SELECT count(*) FROM hold WHERE label = 'why' AND threads = 2 AND"
                                " kind = 0 AND class = 0 AND owner = 5 AND token = 30064771171"),
                     1);
    assert_int_equal(sql_number("SELECT count(*) FROM waiter WHERE threads IN (3, 1) AND family = 0"
                                " AND place = 0 AND kind = 0"),
                     2);
    assert_int_equal(sql_number("SELECT units FROM waiter WHERE ticket = 41"), HFI_SQLITE_ALL);
    assert_int_equal(sql_number("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND"
                                " name IN ('hold_1', 'waiter_1')"),
                     0);
    assert_int_equal(do_try(&client, "lock", 1, 30000, true).verdict, HFI_BUSY);
    assert_int_equal(sql_number("SELECT ticket FROM waiter ORDER BY ticket DESC"), 43);
    close(holder);
    assert_int_equal(do_try(&client, "lock", 1, 30000, true).verdict, HFI_BUSY);
    assert_true(sql_number("SELECT called_ns FROM waiter WHERE ticket = 41") > 0);
    close(first);
    close(second);
    lease = do_try(&client, "lock", 1, 30000, true);
    assert_int_equal(lease.verdict, HFI_GRANTED);
    assert_int_equal(lease.token, (UINT64_C(7) << 32) + 100);
    client_close(&client);
    client_open(&client); /* once more: nothing is left to do */
    assert_int_equal(do_try(&client, "lock", 1, 30000, true).verdict, HFI_GRANTED);
    client_close(&client);
}

/* Programs that have it open meanwhile cannot go on as before: each statement that grants, renews, waits
 * or looks fails. */
static void old_programs_fail(void **state)
{
    static const char grant[] = "INSERT OR REPLACE INTO hold (name, client, owner, token, "
                                "expires_ns, since_ns, ttl_ms) VALUES ('lock', 1, 1, 1, 1, 1, 1)";
    static const char *const statements[] = {
        "SELECT h.client, h.owner, h.token, h.expires_ns FROM hold h WHERE h.name = 'lock'",
        grant,
        "UPDATE hold SET expires_ns = 5, ttl_ms = 6 WHERE name = 'lock' AND client = 1",
        "INSERT OR IGNORE INTO waiter (name, client, since_ns) VALUES ('lock', 1, 1)",
        "SELECT name, client, since_ns, threads, ticket AS place FROM waiter",
    };
    sqlite3 *db = old_file();
    struct client client;

    (void)state;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        assert_int_equal(old_run(db, statements[i]), SQLITE_OK);
    client_open(&client);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        assert_int_not_equal(old_run(db, statements[i]), SQLITE_OK);
    sqlite3_close(db);
    client_close(&client);
}

/* Many open it at once: one of them changes it. */
static void all_at_once(void **state)
{
    enum { OPENERS = 8 };
    struct client client;
    pid_t pids[OPENERS];
    int gate[2], status;
    char byte;

    (void)state;
    sqlite3_close(old_file());
    assert_int_equal(pipe(gate), 0);
    for (int i = 0; i < OPENERS; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i])
            continue;
        close(gate[1]);
        if (read(gate[0], &byte, 1) != 0)
            _exit(2);
        client_open(&client);
        do_try(&client, "lock", 1, 30000, false);
        client_close(&client);
        _exit(0);
    }
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < OPENERS; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(sql_number("PRAGMA user_version"), 2);
    assert_int_equal(sql_number("SELECT count(*) FROM hold"), 0);
    assert_true(sql_number("SELECT tokens FROM meta") >= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(keeps_what_it_has),
        T(old_programs_fail),
        T(all_at_once),
#undef T
    };

    return cmocka_run_group_tests_name("sqlite schema", tests, NULL, NULL);
}
