/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/store.h"

#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "lib/folder.h"
#include "lib/raw.h"

const struct store *store;

static struct server server;
static char folder[64], uri[256];
static struct leaks leaks;

static const char *get_uri(void)
{
    return uri;
}

/* ------------------------------------------------------------------------------------------------
 * sqlite
 */

static bool always(void)
{
    return true;
}

static void sqlite_start(void)
{
    strcpy(folder, "/tmp/holdfast-suite-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(uri, sizeof uri, "sqlite:%s/store", folder);
}

static void sqlite_stop(void)
{
    folder_remove(folder);
}

static int count_rows(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    int count;

    sqlite3_busy_timeout(db, PATIENCE_MS);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return count;
}

/* What the dead have left is removed by whoever comes next; so somebody comes. */
static void sqlite_check_clean(void)
{
    char path[128];
    sqlite3 *db;

    snprintf(path, sizeof path, "%s/store", folder);
    if (access(path, F_OK) != 0)
        return;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(count_rows(db, "SELECT count(*) FROM hold"), 0);
    assert_int_equal(count_rows(db, "SELECT count(*) FROM waiter"), 0);
    assert_int_equal(count_rows(db, "SELECT count(*) FROM client"), 0);
    sqlite3_close(db);
    snprintf(path, sizeof path, "%s/store.d", folder);
    assert_int_equal(folder_count(path), 0);
}

static sqlite3 *frozen;

static void sqlite_freeze(void)
{
    char path[128];

    snprintf(path, sizeof path, "%s/store", folder);
    assert_int_equal(sqlite3_open_v2(path, &frozen, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(frozen, PATIENCE_MS);
    assert_int_equal(sqlite3_exec(frozen, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
}

static void sqlite_thaw(void)
{
    assert_int_equal(sqlite3_exec(frozen, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(frozen);
}

/* Whoever needs the lock buries the dead. */
static void sqlite_bury(void)
{
}

/* ------------------------------------------------------------------------------------------------
 * Servers
 */

static bool redis_exists(void)
{
    return server_exists("redis-server");
}

static bool valkey_exists(void)
{
    return server_exists("valkey-server");
}

static void redis_start(void)
{
    server.program = "redis-server";
    server_start(&server);
    server_uri(&server, uri, sizeof uri);
}

static void redis_unix_start(void)
{
    server.program = "redis-server";
    server_start(&server);
    server_uri_unix(&server, uri, sizeof uri);
}

/* The prefix has half a tag, and a tag may follow in a name. */
static void redis_prefix_start(void)
{
    redis_start();
    strcat(uri, "/0?prefix=app:{");
}

static void redis_string_start(void)
{
    redis_start();
    strcat(uri, "/0?layout=string");
}

static void valkey_start(void)
{
    server.program = "valkey-server";
    server_start(&server);
    server_uri(&server, uri, sizeof uri);
}

/* Where Valkey has commands that compare and delete, they are used. */
static void valkey_string_start(void)
{
    valkey_start();
    strcat(uri, "/0?layout=string");
}

static void redis_stop(void)
{
    server_stop(&server);
}

static void redis_check_clean(void)
{
    server_check_clean(&server);
}

/* The dead have no ttl left to renew: their registry keys go by themselves, and have no other reason to. */
static void redis_bury(void)
{
    redisReply *keys = raw_reply(&server, "KEYS holdfast:client:*");

    for (size_t i = 0; i < keys->elements; i++) {
        long long ttl = raw_integer(&server, "PTTL %s", keys->element[i]->str);

        assert_true(ttl <= 35000 && ttl != -1);
        raw_do(&server, "DEL %s", keys->element[i]->str);
    }
    freeReplyObject(keys);
    raw_close(&server);
}

static void redis_freeze(void)
{
    server_pause(&server);
}

static void redis_thaw(void)
{
    server_continue(&server);
}

#define REDIS redis_stop, get_uri, redis_check_clean, redis_bury, redis_freeze, redis_thaw, false

static const struct store STORES[] = {
    { "sqlite", true, true, always, sqlite_start, sqlite_stop, get_uri, sqlite_check_clean,
      sqlite_bury, sqlite_freeze, sqlite_thaw, true },
    { "redis", false, false, redis_exists, redis_start, REDIS },
    { "redis-unix", false, false, redis_exists, redis_unix_start, REDIS },
    { "redis-prefix", false, false, redis_exists, redis_prefix_start, REDIS },
    { "redis-string", false, false, redis_exists, redis_string_start, REDIS },
    { "valkey", false, false, valkey_exists, valkey_start, REDIS },
    { "valkey-string", false, false, valkey_exists, valkey_string_start, REDIS },
};

/* ------------------------------------------------------------------------------------------------
 * Running
 */

static int group_begin(void **state)
{
    (void)state;
    store->start();
    return 0;
}

static int group_end(void **state)
{
    (void)state;
    store->stop();
    return 0;
}

int test_begin(void **state)
{
    (void)state;
    leaks_note(&leaks);
    return 0;
}

int test_end(void **state)
{
    (void)state;
    store->check_clean();
    leaks_check(&leaks);
    return 0;
}

int suite_main(int argc, char **argv, const char *name, const struct CMUnitTest *tests,
               size_t count)
{
    char group[64];

    for (size_t i = 0; argc > 1 && i < sizeof STORES / sizeof STORES[0]; i++)
        if (strcmp(argv[1], STORES[i].name) == 0)
            store = &STORES[i];
    if (!store) {
        fprintf(stderr, "usage: %s STORE [TEST], with a store of CMakeLists.txt\n", argv[0]);
        return 2;
    }
    if (!store->exists()) {
        printf("skipped: there is no server of the kind %s\n", store->name);
        return 77;
    }
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    snprintf(group, sizeof group, "%s on %s", name, store->name);
    return _cmocka_run_group_tests(group, tests, count, group_begin, group_end);
}

/* ------------------------------------------------------------------------------------------------
 * Small things
 */

hf_client *client_open_with(const struct hf_client_options *options)
{
    return client_of(store->uri(), options);
}

hf_client *client_open(void)
{
    return client_open_with(NULL);
}

hf_client *child_client(void)
{
    hf_client *client = NULL;
    int error = hf_open(store->uri(), NULL, &client);

    if (error)
        fprintf(stderr, "hf_open: %s\n", hf_last_error());
    CHECK_EQUAL(error, HF_OK);
    return client;
}
