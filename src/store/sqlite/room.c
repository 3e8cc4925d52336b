/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room: what is left of a name, in units.
 *
 * A lock has HFI_SQLITE_ALL of them. Whoever is to be alone wants all, a reader wants one, and permits and
 * semaphores have as many as their number says; so one rule serves every kind, here and in the line (line.c):
 * who comes first gets what it wants when so much is left. (What readers have is not counted: while there is
 * one, one unit is missing, and that says enough.)
 *
 * A hold has its part while its row is there, its client lives, and its lease is not over. Rows of holds that
 * have ended are removed here, by whoever is in need of the room.
 */
#include <string.h>

#include "store/sqlite/sqlite.h"

sqlite3_stmt *hfi_sqlite_holders(struct hfi_sqlite *s, const struct hfi_sqlite_line *line)
{
    bool part = line->family == HFI_SQLITE_PERMITS;

    return hfi_sqlite_query(s, HFI_SQL_HOLDS, "tii", line->name, line->len,
                            (int64_t)(part ? HFI_SQLITE_PART : HFI_SQLITE_ALONE),
                            (int64_t)(part ? HFI_SQLITE_PART : HFI_SQLITE_SHARED));
}

int hfi_sqlite_holder_next(struct hfi_sqlite *s, sqlite3_stmt *statement,
                           struct hfi_sqlite_holder *ret_holder)
{
    int row = hfi_sqlite_row(s, statement);

    if (row <= 0)
        return row;
    hfi_sqlite_peer_read(s, statement, 6, sqlite3_column_int64(statement, 0), &ret_holder->peer);
    ret_holder->owner = sqlite3_column_int64(statement, 1);
    ret_holder->token = sqlite3_column_int64(statement, 2);
    ret_holder->until_ns = (hfi_time)sqlite3_column_int64(statement, 3);
    ret_holder->class_ = (uint8_t)sqlite3_column_int(statement, 4);
    ret_holder->kind = (uint8_t)sqlite3_column_int(statement, 5);
    return 1;
}

bool hfi_sqlite_holds(const struct hfi_sqlite *s, hfi_time now,
                      const struct hfi_sqlite_holder *holder)
{
    return holder->until_ns > now && hfi_sqlite_alive(s, &holder->peer);
}

int hfi_sqlite_remove_ended(struct hfi_sqlite *s, const struct hfi_sqlite_line *line,
                            const struct hfi_sqlite_holder *holder)
{
    int changes;

    if (!hfi_sqlite_alive(s, &holder->peer))
        return hfi_sqlite_bury(s, &holder->peer);
    changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_HOLD_DROP, "tiii", line->name,
                                                 line->len, (int64_t)holder->class_,
                                                 holder->peer.client, holder->owner));
    return changes < 0 ? changes : HF_OK;
}

int hfi_sqlite_has_hold(struct hfi_sqlite *s, hfi_time now, const struct hfi_lease *lease)
{
    sqlite3_stmt *statement;
    int row;

    if (!s->client)
        return 0;
    statement = hfi_sqlite_query(s, HFI_SQL_HOLD_LOOK, "tiiii", lease->name,
                                 (size_t)lease->name_len, (int64_t)hfi_sqlite_class_of(lease->kind),
                                 s->client, (int64_t)lease->owner, (int64_t)now);
    row = hfi_sqlite_row(s, statement);
    if (row > 0)
        sqlite3_reset(statement);
    return row;
}

/* ------------------------------------------------------------------------------------------------
 * Locks
 */

static bool is_owner(const struct hfi_sqlite *s, const struct hfi_sqlite_holder *holder,
                     const struct hfi_lease *lease)
{
    return lease && s->client && holder->peer.client == s->client &&
           holder->owner == (int64_t)lease->owner;
}

/* What a hold means for the lease. False: the ones behind it matter too. */
static bool judge(const struct hfi_sqlite *s, const struct hfi_sqlite_holder *holder,
                  const struct hfi_lease *lease, struct hfi_sqlite_room *room)
{
    bool owner = is_owner(s, holder, lease);

    if (owner && holder->class_ == hfi_sqlite_class_of(lease->kind)) {
        room->ours = true;
        room->token = holder->token;
        return true;
    }
    if (owner && holder->kind == HFI_KIND_WRITE && lease->kind == HFI_KIND_READ) {
        room->within = true;
        return false;
    }
    room->until_ns = holder->until_ns;
    room->left = holder->class_ == HFI_SQLITE_ALONE ? 0 : HFI_SQLITE_ALL - 1;
    return true;
}

/* Up to the first hold that settles it. 1: one that had ended was removed; look again. */
static int look_at_lock(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                        const struct hfi_lease *lease, struct hfi_sqlite_room *room)
{
    sqlite3_stmt *statement = hfi_sqlite_holders(s, line);
    struct hfi_sqlite_holder holder;
    bool settled = false;
    int row, error;

    room->left = HFI_SQLITE_ALL;
    while (!settled && (row = hfi_sqlite_holder_next(s, statement, &holder)) != 0) {
        if (row < 0)
            return row;
        if (!hfi_sqlite_holds(s, now, &holder)) {
            sqlite3_reset(statement);
            error = hfi_sqlite_remove_ended(s, line, &holder);
            room->changed = true;
            return error ? error : 1;
        }
        settled = judge(s, &holder, lease, room);
    }
    if (settled)
        sqlite3_reset(statement);
    return HF_OK;
}

static int lock_room(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                     const struct hfi_lease *lease, struct hfi_sqlite_room *room)
{
    int error;

    do {
        room->within = false;
        error = look_at_lock(s, now, line, lease, room);
    } while (error > 0);
    if (!error && lease && lease->kind == HFI_KIND_READ && !room->ours &&
        room->left == HFI_SQLITE_ALL - 1) { /* one of many */
        error = hfi_sqlite_has_hold(s, now, lease);
        room->ours = error > 0;
    }
    return error < 0 ? error : HF_OK;
}

/* ------------------------------------------------------------------------------------------------ */

int hfi_sqlite_room(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                    const struct hfi_lease *lease, struct hfi_sqlite_room *ret_room)
{
    memset(ret_room, 0, sizeof *ret_room);
    ret_room->until_ns = HF_TIME_NEVER;
    ret_room->most = INT64_MAX;
    return line->family == HFI_SQLITE_LOCKS ? lock_room(s, now, line, lease, ret_room)
                                            : hfi_sqlite_count_room(s, now, line, lease, ret_room);
}
