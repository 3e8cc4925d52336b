/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients: our row, and burying the dead. A client that has held or waited has a row and a locked file
 * (life.c).
 *
 * Invariants
 *   1. the file is there and locked before the row is committed, so a row without a locked file is dead;
 *   2. the dead stay dead: who comes back after its file was lost takes a new row, whose id was never used
 *      before (AUTOINCREMENT), and removes its old one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/sqlite/sqlite.h"

void hfi_sqlite_peer_read(const struct hfi_sqlite *s, sqlite3_stmt *statement, int column,
                          int64_t client, struct hfi_sqlite_peer *ret_peer)
{
    size_t uuid_len, boot_len;
    const char *uuid = hfi_sqlite_text(statement, column, &uuid_len);
    const char *boot = hfi_sqlite_text(statement, column + 1, &boot_len);
    bool ok = hfi_sqlite_uuid_ok(uuid, uuid_len);

    ret_peer->client = client;
    ret_peer->here = ok && boot_len == strlen(s->boot) && memcmp(boot, s->boot, boot_len) == 0;
    memcpy(ret_peer->uuid, uuid, ok ? uuid_len : 0);
    ret_peer->uuid[ok ? uuid_len : 0] = '\0';
}

void hfi_sqlite_forget(struct hfi_sqlite *s)
{
    s->client = 0;
    s->client_is_new = false;
    s->granted = s->ended = 0;
}

static int add_row(struct hfi_sqlite *s)
{
    const struct hfi_identity *me = s->identity;
    int changes = hfi_sqlite_run(
        s, hfi_sqlite_query(s, HFI_SQL_CLIENT_ADD, "ttttti", me->id, strlen(me->id), s->boot,
                            strlen(s->boot), me->host, strlen(me->host), me->user, strlen(me->user),
                            me->program, strlen(me->program), me->pid));

    if (changes < 0)
        return changes;
    s->client = sqlite3_last_insert_rowid(s->db);
    s->client_is_new = true;
    return HF_OK;
}

/* What an earlier row of ours has left: it ended when we lost it. */
static int remove_earlier(struct hfi_sqlite *s)
{
    struct hfi_sqlite_peer earlier = { .here = false };
    sqlite3_stmt *statement =
        hfi_sqlite_query(s, HFI_SQL_CLIENT_BY_UUID, "t", s->identity->id, strlen(s->identity->id));
    int row = hfi_sqlite_row(s, statement);

    if (row <= 0)
        return row;
    earlier.client = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return hfi_sqlite_bury(s, &earlier);
}

int hfi_sqlite_join(struct hfi_sqlite *s)
{
    int error;

    if (s->client)
        return HF_OK;
    error = hfi_sqlite_make_life(s);
    if (!error)
        error = remove_earlier(s);
    if (!error)
        error = add_row(s);
    if (!error && s->client % HFI_SQLITE_SWEEP_EVERY == 0) {
        error = hfi_sqlite_bury_all(s);
        hfi_sqlite_sweep(s);
    }
    return error;
}

/* ------------------------------------------------------------------------------------------------
 * The dead
 */

int hfi_sqlite_bury(struct hfi_sqlite *s, const struct hfi_sqlite_peer *peer)
{
    static const enum hfi_sqlite_sql removals[] = { HFI_SQL_HOLDS_FORGET, HFI_SQL_TICKETS_FORGET,
                                                    HFI_SQL_DONE_FORGET, HFI_SQL_CLIENT_DROP };

    for (size_t i = 0; i < sizeof removals / sizeof removals[0]; i++) {
        int changes = hfi_sqlite_run(s, hfi_sqlite_query(s, removals[i], "i", peer->client));

        if (changes < 0)
            return changes;
    }
    if (peer->here)
        hfi_sqlite_errand(s, peer->uuid, true);
    return HF_OK;
}

int hfi_sqlite_bury_all(struct hfi_sqlite *s)
{
    sqlite3_stmt *statement = hfi_sqlite_query(s, HFI_SQL_CLIENTS, "");
    struct hfi_sqlite_peer peer;
    int row, error;

    while ((row = hfi_sqlite_row(s, statement)) > 0) {
        hfi_sqlite_peer_read(s, statement, 1, sqlite3_column_int64(statement, 0), &peer);
        if (hfi_sqlite_alive(s, &peer))
            continue;
        error = hfi_sqlite_bury(s, &peer);
        if (error)
            return error;
    }
    return row;
}

/* ------------------------------------------------------------------------------------------------
 * Errands
 */

void hfi_sqlite_errand(struct hfi_sqlite *s, const char *uuid, bool bury)
{
    if (s->errands == s->errand_limit) {
        size_t limit = s->errand_limit * 2;
        struct hfi_sqlite_errand *moved = malloc(limit * sizeof *moved);

        if (!moved)
            return;
        memcpy(moved, s->errand, s->errands * sizeof *moved);
        if (s->errand != s->errand_room)
            free(s->errand);
        s->errand = moved;
        s->errand_limit = limit;
    }
    memcpy(s->errand[s->errands].uuid, uuid, HFI_SQLITE_UUID + 1);
    s->errand[s->errands++].bury = bury;
}

void hfi_sqlite_run_errands(struct hfi_sqlite *s)
{
    char path[HFI_SQLITE_PATH_ROOM];

    for (size_t i = 0; i < s->errands; i++) {
        hfi_sqlite_life_path(s, s->errand[i].uuid, path);
        if (s->errand[i].bury)
            hfi_sqlite_remove_unlocked(path);
        else if (utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) != 0 && errno != ENOENT)
            hfi_trace(&s->store.trace, HF_TRACE_DEBUG, "cannot wake a waiter by %s: %s", path,
                      strerror(errno));
    }
    s->errands = 0;
}
