/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the file: what is checked before it is used, and how it is set up.
 *
 * A file that is not ours is left as it is, to the byte: its header is read through SQLite's own descriptor
 * (closing one of our own would drop the locks that other connections of this process have on the file)
 * before SQLite looks at it. So that the header alone can tell, the schema is committed in SQLite's
 * rollback mode, which writes our application id into the file itself, and WAL is switched on after that.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "store/sqlite/sqlite.h"

#define HEADER_SIZE        100
#define HEADER_MAGIC       "SQLite format 3"
#define HEADER_APPLICATION 68 /* big-endian, 4 bytes */

/* ------------------------------------------------------------------------------------------------
 * Checks
 */

static int check_writable(struct hfi_sqlite *s)
{
    int number;

    if (sqlite3_db_readonly(s->db, "main") != 1)
        return HF_OK;
    number = faccessat(AT_FDCWD, s->path, W_OK, AT_EACCESS) == 0 ? 0 : errno;
    return hfi_sqlite_complain(
        s, HF_ERR_READ_ONLY, "%s can only be read (%s): locks need a file that can be written",
        hfi_sqlite_shown(s->path), number ? strerror(number) : "it was opened so");
}

static uint32_t big_endian(const unsigned char *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* Nothing has been read, locked or repaired by SQLite yet. */
static int check_header(struct hfi_sqlite *s)
{
    unsigned char header[HEADER_SIZE] = { 0 };
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    int code = sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);

    if (code == SQLITE_OK)
        code = file->pMethods->xFileSize(file, &size);
    if (code == SQLITE_OK && size >= HEADER_SIZE)
        code = file->pMethods->xRead(file, header, HEADER_SIZE, 0);
    if (code != SQLITE_OK)
        return hfi_sqlite_failed(s, code);
    if (size == 0)
        return HF_OK;
    if (memcmp(header, HEADER_MAGIC, sizeof HEADER_MAGIC) != 0)
        return hfi_sqlite_complain(s, HF_ERR_NOT_A_STORE,
                                   "%s is not a Holdfast store, nor any SQLite database: name "
                                   "another path",
                                   hfi_sqlite_shown(s->path));
    if (big_endian(header + HEADER_APPLICATION) != HFI_SQLITE_APPLICATION)
        return hfi_sqlite_complain(s, HF_ERR_NOT_A_STORE,
                                   "%s is an SQLite database of another program: name another path",
                                   hfi_sqlite_shown(s->path));
    return HF_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Settings
 */

int hfi_sqlite_number(struct hfi_sqlite *s, const char *sql, int64_t *ret_number)
{
    sqlite3_stmt *statement = NULL;
    int code = SQLITE_OK, row = 0;

    for (int tries = 0;; tries++) {
        code = sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_step(statement);
        row = code == SQLITE_ROW;
        if (row)
            *ret_number = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        if ((code & 0xff) != SQLITE_BUSY || !hfi_sqlite_wait(s, tries))
            break;
    }
    return row ? HF_OK : hfi_sqlite_failed(s, code);
}

static int on_commit(void *arg, sqlite3 *db, const char *name, int frames)
{
    struct hfi_sqlite *s = arg;

    (void)db;
    (void)name;
    s->frames = frames;
    return SQLITE_OK;
}

static int settle(struct hfi_sqlite *s)
{
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); /* closing costs no sync */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_wal_hook(s->db, on_commit, s);
    return hfi_sqlite_exec(s, "PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;"
                              "PRAGMA cache_size = -1024;");
}

static int use_wal(struct hfi_sqlite *s)
{
    sqlite3_stmt *statement = NULL;
    bool wal = false;
    int code = SQLITE_OK;

    for (int tries = 0;; tries++) {
        code = sqlite3_prepare_v2(s->db, "PRAGMA journal_mode = WAL", -1, &statement, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_step(statement);
        if (code == SQLITE_ROW)
            wal = strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0;
        sqlite3_finalize(statement);
        if (((code & 0xff) != SQLITE_BUSY && (code & 0xff) != SQLITE_LOCKED) ||
            !hfi_sqlite_wait(s, tries))
            break;
    }
    if (code == SQLITE_ROW && !wal)
        return hfi_sqlite_complain(s, HF_ERR_UNSUPPORTED,
                                   "%s: its file system has no shared memory for SQLite's log: "
                                   "choose a path on a local disk",
                                   hfi_sqlite_shown(s->path));
    return wal ? HF_OK : hfi_sqlite_failed(s, code);
}

/* ------------------------------------------------------------------------------------------------
 * Open and close
 */

static int on_busy(void *arg, int tries)
{
    return hfi_sqlite_wait(arg, tries);
}

static int open_database(struct hfi_sqlite *s)
{
    int code =
        sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "unix");

    if (!s->db)
        return hfi_sqlite_complain(s, HF_ERR_NO_MEMORY, "out of memory");
    if (code != SQLITE_OK)
        return hfi_sqlite_failed(s, code);
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_handler(s->db, on_busy, s);
    return HF_OK;
}

static int set_up(struct hfi_sqlite *s)
{
    int64_t found = 0;
    int error = settle(s);

    if (!error)
        error = hfi_sqlite_version(s, &found);
    if (!error && found != HFI_SQLITE_SCHEMA_VERSION)
        error = hfi_sqlite_make_schema(s);
    if (!error)
        error = use_wal(s);
    if (!error)
        error = hfi_sqlite_prepare_ends(s);
    if (!error &&
        hfi_sqlite_row(s, hfi_sqlite_query(s, HFI_SQL_META, "it", INT64_C(0), "", (size_t)0)) < 0)
        error = s->failure;
    if (!error)
        error = hfi_sqlite_note_beside(s);
    hfi_sqlite_rollback(s);
    return error;
}

static int connect_once(struct hfi_sqlite *s)
{
    int error = hfi_sqlite_check_folder(s);

    s->drop = s->moved = false;
    if (!error)
        error = hfi_sqlite_make_file(s);
    if (!error)
        error = hfi_sqlite_fs_check(s->path, s->store.detail, sizeof s->store.detail);
    if (!error)
        error = hfi_sqlite_library_check(s->store.detail, sizeof s->store.detail);
    if (!error)
        error = hfi_sqlite_note_file(s);
    if (!error)
        error = open_database(s);
    if (!error)
        error = check_writable(s);
    if (!error)
        error = check_header(s);
    if (!error) {
        error = set_up(s);
        if (error)
            error = hfi_sqlite_blame_folder(s, error);
    }
    if (error)
        hfi_sqlite_disconnect(s);
    return error;
}

int hfi_sqlite_connect(struct hfi_sqlite *s)
{
    int error = connect_once(s);

    if (error && s->moved)
        error = connect_once(s);
    return error;
}

void hfi_sqlite_disconnect(struct hfi_sqlite *s)
{
    hfi_sqlite_finalize(s);
    sqlite3_close_v2(s->db);
    s->db = NULL;
    s->drop = false;
    s->stranger = true;
}

/* Is our row in the file that is there now? */
static int recognise(struct hfi_sqlite *s)
{
    sqlite3_stmt *statement;
    int row;

    if (!s->client) {
        s->stranger = false;
        return HF_OK;
    }
    statement = hfi_sqlite_query(s, HFI_SQL_CLIENT_BROKEN, "it", s->client, s->identity->id,
                                 strlen(s->identity->id));
    row = hfi_sqlite_row(s, statement);
    if (row < 0)
        return row;
    if (row > 0)
        sqlite3_reset(statement);
    else
        hfi_sqlite_forget(s);
    s->stranger = false;
    hfi_sqlite_wake_lost(s);
    return HF_OK;
}

int hfi_sqlite_ready(struct hfi_sqlite *s)
{
    int error = HF_OK;

    if (s->db && hfi_sqlite_files_moved(s)) {
        hfi_trace(&s->store.trace, HF_TRACE_WARNING,
                  "%s or a file beside it was removed or replaced: holds in it may be gone",
                  hfi_sqlite_shown(s->path));
        hfi_sqlite_disconnect(s);
    }
    if (atomic_load(&s->liveness) >= 0 && hfi_sqlite_exposed(s)) {
        hfi_trace(&s->store.trace, HF_TRACE_WARNING,
                  "the file of this client in %s was removed: its holds are gone",
                  hfi_sqlite_shown(s->folder));
        hfi_sqlite_leave_life(s);
        hfi_sqlite_forget(s);
        hfi_sqlite_wake_lost(s);
    }
    if (!s->db)
        error = hfi_sqlite_connect(s);
    if (!error && s->stranger)
        error = recognise(s);
    if (error)
        s->failure = error;
    return error;
}
