/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that are kept under a name, and notes of what was done to them.
 *
 * A tally is data: it outlives its clients, and, where nothing else is said (stamps), the boot, though a crash
 * of the machine may lose its last changes. Some have an end. In the boot in which it was made it is
 * CLOCK_BOOTTIME that tells how old one is; over a reboot the wall clock does, once, and from then on it is
 * this boot's clock again. A wall clock that went backwards meanwhile makes it no older than it was made.
 *
 * A note says what came of a change, by the serial of the request, so that one of which the outcome was not
 * known can be repeated, or taken back. It goes with its client, after HFI_SERIAL_MS, or when
 * HFI_SQLITE_NOTES_MAX newer ones were made; each new note sees to the two oldest.
 */
#include <time.h>

#include "store/sqlite/sqlite.h"

static int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int hfi_sqlite_tally(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                     struct hfi_sqlite_tally *ret_tally)
{
    sqlite3_stmt *statement = hfi_sqlite_query(s, HFI_SQL_TALLY, "tii", line->name, line->len,
                                               (int64_t)line->family, (int64_t)now);
    int row = hfi_sqlite_row(s, statement);

    if (row <= 0)
        return row;
    ret_tally->number = sqlite3_column_int64(statement, 0);
    ret_tally->until_ns = sqlite3_column_type(statement, 1) == SQLITE_NULL
                              ? HF_TIME_NEVER
                              : (hfi_time)sqlite3_column_int64(statement, 1);
    ret_tally->made_ns = sqlite3_column_int64(statement, 2);
    sqlite3_reset(statement);
    return 1;
}

int hfi_sqlite_tally_put(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                         int64_t number, int64_t ttl_ms)
{
    int64_t until = ttl_ms ? (int64_t)hfi_time_add(now, (hfi_time)ttl_ms * HFI_MSEC) : 0;
    int changes = 0;

    if (ttl_ms) /* whoever makes one that ends removes those that have */
        changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TALLIES_OVER, "i", (int64_t)now));
    if (changes >= 0)
        changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TALLY_PUT, "tiiiii", line->name,
                                                     line->len, (int64_t)line->family, number,
                                                     (int64_t)now, wall_ms(), until));
    return changes < 0 ? changes : HF_OK;
}

int hfi_sqlite_tally_set(struct hfi_sqlite *s, const struct hfi_sqlite_line *line, int64_t number)
{
    int changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TALLY_SET, "tii", line->name,
                                                     line->len, (int64_t)line->family, number));

    return changes < 0 ? changes : HF_OK;
}

int hfi_sqlite_tally_drop(struct hfi_sqlite *s, const struct hfi_sqlite_line *line)
{
    int changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TALLY_DROP, "ti", line->name,
                                                     line->len, (int64_t)line->family));

    return changes < 0 ? changes : HF_OK;
}

int hfi_sqlite_tallies_move(struct hfi_sqlite *s)
{
    int64_t now = (int64_t)hfi_sqlite_now();
    int changes =
        hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TALLIES_MOVE, "ii", now, wall_ms()));

    if (changes >= 0)
        changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TALLIES_OVER, "i", now));
    return changes < 0 ? changes : HF_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Notes
 */

int hfi_sqlite_noted(struct hfi_sqlite *s, uint64_t serial, int64_t *ret_number)
{
    sqlite3_stmt *statement;
    int row;

    if (!s->client)
        return 0;
    statement = hfi_sqlite_query(s, HFI_SQL_DONE, "ii", s->client, (int64_t)serial);
    row = hfi_sqlite_row(s, statement);
    if (row <= 0)
        return row;
    *ret_number = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return 1;
}

int hfi_sqlite_note(struct hfi_sqlite *s, hfi_time now, uint64_t serial, int64_t number)
{
    int64_t until = (int64_t)hfi_time_add(now, HFI_SERIAL_MS * HFI_MSEC);
    int changes =
        hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_DONE_TRIM, "iii", s->client, (int64_t)now,
                                           (int64_t)serial - HFI_SQLITE_NOTES_MAX));

    if (changes >= 0)
        changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_DONE_NOTE, "iiii", s->client,
                                                     (int64_t)serial, number, until));
    return changes < 0 ? changes : HF_OK;
}

int hfi_sqlite_note_drop(struct hfi_sqlite *s, uint64_t serial)
{
    int changes =
        hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_DONE_DROP, "ii", s->client, (int64_t)serial));

    return changes < 0 ? changes : HF_OK;
}
