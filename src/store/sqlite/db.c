/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements and transactions, and what an error of SQLite means.
 *
 * Durability. `synchronous` is NORMAL: a commit waits for no disk, only writing the log back into the file
 * does (after HFI_SQLITE_CHECKPOINT frames). A crash of the machine may so lose the last commits, which are
 * worth nothing after a reboot anyway: all holds end with the boot. OFF would save those few waits too, but
 * a crash in the middle of writing back could then leave a damaged file behind, and every lock unusable.
 * What must outlive a crash, the epoch of tokens (epoch.c) and stamps (object.c), is committed under FULL.
 *
 * Outcome. A transaction that fails before its COMMIT was not done. At the COMMIT it is unknown, with two
 * exceptions: BUSY, and FULL, where SQLite says that the frame that would have made it valid could not be
 * written. After either kind of failure frames may lie behind the end of the log, harmless as long as they
 * are overwritten before the log is next read from its start; so the next transaction is made to write.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "store/sqlite/sqlite.h"

static const char *const SQL[] = {
#define X(name, text) text,
    HFI_SQLITE_STATEMENTS(X)
#undef X
};

hfi_time hfi_sqlite_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (hfi_time)now.tv_sec * HFI_SEC + (hfi_time)now.tv_nsec;
}

/* ------------------------------------------------------------------------------------------------
 * Errors
 */

int hfi_sqlite_complain(struct hfi_sqlite *s, int error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(s->store.detail, sizeof s->store.detail, format, args);
    va_end(args);
    s->failure = error;
    return error;
}

/* The system refused a file operation. */
static int failed_system(struct hfi_sqlite *s, int code)
{
    int number = sqlite3_system_errno(s->db);
    int error = hfi_sqlite_errno(number);

    s->drop = true;
    if (code == SQLITE_IOERR_NOMEM)
        error = HF_ERR_NO_MEMORY;
    return hfi_sqlite_complain(s, error, "%s: %s: %s (%d)", hfi_sqlite_shown(s->path),
                               sqlite3_errmsg(s->db), number ? strerror(number) : "SQLite", code);
}

static int failed_busy(struct hfi_sqlite *s)
{
    return hfi_sqlite_complain(s, HF_ERR_UNAVAILABLE,
                               "%s: another process keeps the file locked for too long; is one "
                               "stopped in the middle of a transaction?",
                               hfi_sqlite_shown(s->path));
}

int hfi_sqlite_failed(struct hfi_sqlite *s, int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return failed_busy(s);
    case SQLITE_FULL:
        return hfi_sqlite_complain(s, HF_ERR_STORE_FULL, "%s: the disk is full: make room on it",
                                   hfi_sqlite_shown(s->path));
    case SQLITE_NOMEM:
        return hfi_sqlite_complain(s, HF_ERR_NO_MEMORY, "%s: out of memory",
                                   hfi_sqlite_shown(s->path));
    case SQLITE_READONLY:
        s->drop = true;
        s->moved = code == SQLITE_READONLY_DBMOVED;
        return hfi_sqlite_complain(s, HF_ERR_READ_ONLY, "%s can only be read: %s",
                                   hfi_sqlite_shown(s->path), sqlite3_errmsg(s->db));
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return hfi_sqlite_complain(s, HF_ERR_PERMISSION, "%s: %s", hfi_sqlite_shown(s->path),
                                   sqlite3_errmsg(s->db));
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return failed_system(s, code);
    default: /* CORRUPT, NOTADB, a table that is missing … */
        s->drop = true;
        return hfi_sqlite_complain(s, HF_ERR_NOT_A_STORE,
                                   "%s is damaged (%s): stop its users and remove it",
                                   hfi_sqlite_shown(s->path), sqlite3_errmsg(s->db));
    }
}

bool hfi_sqlite_wait(struct hfi_sqlite *s, int tries)
{
    hfi_time now = hfi_sqlite_now();
    hfi_time longest =
        hfi_time_min(HFI_SQLITE_NAP_MIN << (tries < 8 ? tries : 8), HFI_SQLITE_NAP_MAX);

    if (now >= s->give_up_ns)
        return false;
    hfi_sqlite_sleep(hfi_time_min(HFI_SQLITE_NAP_MIN / 2 + hfi_random_below(&s->random, longest),
                                  s->give_up_ns - now));
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * Statements
 */

static int bind_all(sqlite3_stmt *statement, const char *types, va_list args)
{
    int code = SQLITE_OK;

    for (int i = 0; types[i] && code == SQLITE_OK; i++) {
        if (types[i] == 't') {
            const char *text = va_arg(args, const char *);
            size_t len = va_arg(args, size_t);

            code = text ? sqlite3_bind_text(statement, i + 1, text, (int)len, SQLITE_STATIC)
                        : sqlite3_bind_null(statement, i + 1);
        } else {
            code = sqlite3_bind_int64(statement, i + 1, va_arg(args, int64_t));
        }
    }
    return code;
}

sqlite3_stmt *hfi_sqlite_query(struct hfi_sqlite *s, enum hfi_sqlite_sql id, const char *types, ...)
{
    int code = SQLITE_OK;
    va_list args;

    if (!s->statement[id])
        code = sqlite3_prepare_v3(s->db, SQL[id], -1, SQLITE_PREPARE_PERSISTENT, &s->statement[id],
                                  NULL);
    if (code == SQLITE_OK) {
        sqlite3_reset(s->statement[id]);
        va_start(args, types);
        code = bind_all(s->statement[id], types, args);
        va_end(args);
    }
    if (code == SQLITE_OK)
        return s->statement[id];
    hfi_sqlite_failed(s, code);
    return NULL;
}

int hfi_sqlite_row(struct hfi_sqlite *s, sqlite3_stmt *statement)
{
    int code = statement ? sqlite3_step(statement) : SQLITE_OK;

    if (!statement)
        return s->failure;
    if (code == SQLITE_ROW)
        return 1;
    if (code == SQLITE_DONE) {
        sqlite3_reset(statement);
        return 0;
    }
    hfi_sqlite_failed(s, code);
    sqlite3_reset(statement);
    return s->failure;
}

int hfi_sqlite_run(struct hfi_sqlite *s, sqlite3_stmt *statement)
{
    int row = hfi_sqlite_row(s, statement);

    return row < 0 ? row : sqlite3_changes(s->db);
}

const char *hfi_sqlite_text(sqlite3_stmt *statement, int column, size_t *ret_len)
{
    /* As a blob: what asks for text may need memory for a final NUL, and have none. */
    const char *text = sqlite3_column_blob(statement, column);

    *ret_len = text ? (size_t)sqlite3_column_bytes(statement, column) : 0;
    return text ? text : "";
}

int hfi_sqlite_prepare_ends(struct hfi_sqlite *s)
{
    static const enum hfi_sqlite_sql ends[] = { HFI_SQL_BEGIN_READ, HFI_SQL_BEGIN_WRITE,
                                                HFI_SQL_COMMIT, HFI_SQL_ROLLBACK };

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (!hfi_sqlite_query(s, ends[i], ""))
            return s->failure;
    return HF_OK;
}

int hfi_sqlite_exec(struct hfi_sqlite *s, const char *sql)
{
    int code;

    for (int tries = 0;; tries++) {
        code = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
        if ((code & 0xff) != SQLITE_BUSY || !hfi_sqlite_wait(s, tries))
            break;
    }
    return code == SQLITE_OK ? HF_OK : hfi_sqlite_failed(s, code);
}

/* What cannot be set back would make every commit wait: the connection is not used again. */
int hfi_sqlite_sync(struct hfi_sqlite *s, bool full)
{
    int error =
        hfi_sqlite_exec(s, full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");

    s->drop |= error != HF_OK;
    return error;
}

/* Without the waiting, processes that never stop writing could make the log grow for ever. */
void hfi_sqlite_shorten_log(struct hfi_sqlite *s)
{
    int frames = s->frames;
    bool wait = frames >= HFI_SQLITE_CHECKPOINT_WAIT;

    s->frames = 0;
    if (frames < HFI_SQLITE_CHECKPOINT) {
        s->checkpoint_at = HFI_SQLITE_CHECKPOINT;
    } else if (frames >= s->checkpoint_at) {
        s->checkpoint_at = frames + HFI_SQLITE_CHECKPOINT_AGAIN;
        sqlite3_wal_checkpoint_v2(
            s->db, NULL, wait ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
}

void hfi_sqlite_finalize(struct hfi_sqlite *s)
{
    for (int i = 0; i < HFI_SQL_COUNT; i++) {
        sqlite3_finalize(s->statement[i]);
        s->statement[i] = NULL;
    }
}

/* ------------------------------------------------------------------------------------------------
 * Transactions
 */

/* An open cursor would keep the transaction's locks. */
static void reset_all(struct hfi_sqlite *s)
{
    for (int i = 0; i < HFI_SQL_COUNT; i++)
        if (s->statement[i] && sqlite3_stmt_busy(s->statement[i]))
            sqlite3_reset(s->statement[i]);
}

int hfi_sqlite_begin(struct hfi_sqlite *s, bool write)
{
    int error;

    s->unknown = false;
    for (int tries = 0;; tries++) {
        error = hfi_sqlite_row(
            s, hfi_sqlite_query(s, write ? HFI_SQL_BEGIN_WRITE : HFI_SQL_BEGIN_READ, ""));
        if (error != HF_ERR_UNAVAILABLE || !hfi_sqlite_wait(s, tries))
            break;
    }
    s->in_transaction = error == HF_OK;
    s->writing = write;
    return error;
}

void hfi_sqlite_rollback(struct hfi_sqlite *s)
{
    if (!s->db)
        return;
    reset_all(s);
    if (!sqlite3_get_autocommit(s->db)) {
        sqlite3_step(s->statement[HFI_SQL_ROLLBACK]);
        sqlite3_reset(s->statement[HFI_SQL_ROLLBACK]);
        s->drop |= !sqlite3_get_autocommit(s->db); /* closing it rolls back as well */
    }
    s->in_transaction = false;
}

int hfi_sqlite_commit(struct hfi_sqlite *s)
{
    int error = HF_OK;

    if (s->writing && s->overwrite)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TOKENS_SKIP, ""));
    if (error >= 0) {
        reset_all(s);
        error = hfi_sqlite_row(s, hfi_sqlite_query(s, HFI_SQL_COMMIT, ""));
        s->unknown =
            error && s->writing && error != HF_ERR_UNAVAILABLE && error != HF_ERR_STORE_FULL;
    }
    if (s->writing)
        s->overwrite = error != HF_OK;
    if (error) {
        hfi_sqlite_rollback(s);
        return error;
    }
    s->in_transaction = false;
    return HF_OK;
}
