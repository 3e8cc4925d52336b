/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TRY and RELEASE of what is a number.
 *
 * Permits are holds (hold.c); what is left of their number is what unexpired holds do not have. Only who finds
 * too little left looks for dead holders, which takes a look at each one's file. A semaphore's number is what
 * is left of it: what was taken is nobody's, and comes back by an object's operation alone; a note of each try
 * lets its RELEASE give back just what that took, once. A latch is open when it has no number.
 *
 * Who waits for permits or a semaphore stands in a line like any other, so that who wants many is not starved
 * by those who want few. Who waits for a latch has a ticket too, but for being called only: all go at once.
 */
#include "store/sqlite/sqlite.h"

/* ------------------------------------------------------------------------------------------------
 * Room
 */

static int number_of(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                     int64_t *ret_number)
{
    struct hfi_sqlite_tally tally = { .number = 0 };
    int found = hfi_sqlite_tally(s, now, line, &tally);

    *ret_number = tally.number;
    return found < 0 ? found : HF_OK;
}

static int permits_left(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                        int64_t total, struct hfi_sqlite_room *room)
{
    sqlite3_stmt *statement =
        hfi_sqlite_query(s, HFI_SQL_PARTS_TAKEN, "ti", line->name, line->len, (int64_t)now);
    int row = hfi_sqlite_row(s, statement);

    if (row < 0)
        return row;
    room->left = total - sqlite3_column_int64(statement, 0);
    if (sqlite3_column_type(statement, 1) != SQLITE_NULL)
        room->until_ns = (hfi_time)sqlite3_column_int64(statement, 1);
    sqlite3_reset(statement);
    return HF_OK;
}

/* Removes holds that have ended, one or, with its client, more: 1 if there was one, 0 or an error. */
static int reap(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line)
{
    sqlite3_stmt *statement = hfi_sqlite_holders(s, line);
    struct hfi_sqlite_holder holder;
    int64_t alive = 0; /* a client's holds come one after another: one look at its file will do */
    int row, error;

    while ((row = hfi_sqlite_holder_next(s, statement, &holder)) > 0) {
        bool known = holder.until_ns > now && holder.peer.client == alive;

        if (known || hfi_sqlite_holds(s, now, &holder)) {
            alive = holder.peer.client;
            continue;
        }
        sqlite3_reset(statement);
        error = hfi_sqlite_remove_ended(s, line, &holder);
        return error ? error : 1;
    }
    return row;
}

int hfi_sqlite_permits_seen(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                            struct hfi_sqlite_room *ret_room)
{
    int64_t total;
    int found, error = number_of(s, now, line, &total);

    do
        found = error ? error : reap(s, now, line);
    while (found > 0);
    return found < 0 ? found : permits_left(s, now, line, total, ret_room);
}

static int permits_room(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                        const struct hfi_lease *lease, struct hfi_sqlite_room *room)
{
    int64_t total;
    int found = 0, error = number_of(s, now, line, &total);

    room->most = total;
    if (!error)
        error = permits_left(s, now, line, total, room);
    if (!error && lease)
        found = hfi_sqlite_has_hold(s, now, lease);
    room->ours = found > 0;
    if (error || found < 0 || !lease || room->ours || room->left >= hfi_sqlite_units_of(lease))
        return error ? error : found < 0 ? found : HF_OK;
    while ((found = reap(s, now, line)) > 0)
        room->changed = true;
    if (found < 0 || !room->changed)
        return found;
    return permits_left(s, now, line, total, room);
}

int hfi_sqlite_count_room(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                          const struct hfi_lease *lease, struct hfi_sqlite_room *room)
{
    int64_t taken;
    int found, error;

    if (line->family == HFI_SQLITE_PERMITS)
        return permits_room(s, now, line, lease, room);
    error = number_of(s, now, line, &room->left);
    if (error || !lease)
        return error;
    found = hfi_sqlite_noted(s, lease->owner, &taken);
    room->ours = found > 0;
    return found < 0 ? found : HF_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Semaphores
 */

int hfi_sqlite_take(struct hfi_sqlite *s, hfi_time now, const struct hfi_lease *lease)
{
    struct hfi_sqlite_line line = hfi_sqlite_line_of(lease->name, lease->name_len, lease->kind);
    int64_t number, units = hfi_sqlite_units_of(lease);
    int error = number_of(s, now, &line, &number);

    if (!error)
        error = hfi_sqlite_tally_set(s, &line, number - units);
    return error ? error : hfi_sqlite_note(s, now, lease->owner, units);
}

/* What was deleted meanwhile is not made again. */
int hfi_sqlite_take_back(struct hfi_sqlite *s, struct hfi_lease *lease)
{
    struct hfi_sqlite_line line = hfi_sqlite_line_of(lease->name, lease->name_len, lease->kind);
    hfi_time now = hfi_sqlite_now();
    struct hfi_sqlite_tally tally;
    int64_t taken;
    int found = hfi_sqlite_noted(s, lease->owner, &taken);
    int error = found > 0 ? hfi_sqlite_note_drop(s, lease->owner) : found;

    if (error || found == 0)
        return error;
    lease->verdict = HFI_RELEASED;
    found = hfi_sqlite_tally(s, now, &line, &tally);
    if (found <= 0)
        return found;
    error = hfi_sqlite_tally_set(s, &line, tally.number + taken);
    return error ? error : hfi_sqlite_line_call(s, now, &line, false);
}

/* ------------------------------------------------------------------------------------------------
 * Latches
 */

int hfi_sqlite_try_latch(struct hfi_sqlite *s, struct hfi_lease *lease)
{
    struct hfi_sqlite_line line = hfi_sqlite_line_of(lease->name, lease->name_len, lease->kind);
    struct hfi_sqlite_tally tally;
    hfi_time now = hfi_sqlite_now();
    int found, error = hfi_sqlite_check_boot(s);

    if (error)
        return error;
    found = hfi_sqlite_tally(s, now, &line, &tally);
    if (found < 0)
        return found;
    lease->token = 0;
    lease->tokens = 1;
    if (found && tally.number > 0)
        return hfi_sqlite_busy(s, now, HF_TIME_NEVER, lease);
    lease->verdict = found ? HFI_GONE : HFI_GRANTED;
    return HF_OK;
}

int hfi_sqlite_latch_open(struct hfi_sqlite *s, const struct hfi_sqlite_line *line)
{
    sqlite3_stmt *statement = hfi_sqlite_query(s, HFI_SQL_TICKETS_LINE, "ti", line->name, line->len,
                                               (int64_t)line->family);
    struct hfi_sqlite_peer peer;
    int row, changes;

    while ((row = hfi_sqlite_row(s, statement)) > 0) {
        hfi_sqlite_peer_read(s, statement, 0, 0, &peer);
        if (peer.here)
            hfi_sqlite_errand(s, peer.uuid, false);
    }
    if (row < 0)
        return row;
    changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TICKETS_END, "ti", line->name,
                                                 line->len, (int64_t)line->family));
    return changes < 0 ? changes : HF_OK;
}
