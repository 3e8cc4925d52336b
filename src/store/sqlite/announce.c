/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ANNOUNCE and FAREWELL. A hold that is passed on inside the process needs no request; what people may see
 * of it (token, label, since when) and how many threads wait follow here, where they differ from the rows.
 */
#include <string.h>

#include "store/sqlite/sqlite.h"

/* The row says when the transaction ran, the announcement when it was over: so much apart is the same. */
#define SINCE_TOLERANCE ((int64_t)(100 * HFI_MSEC))

static int announce_one(struct hfi_sqlite *s, hfi_time now,
                        const struct hfi_announcement_item *item)
{
    const char *label = item->label[0] ? item->label : NULL;
    int changes = 0;

    if (item->held)
        changes = hfi_sqlite_run(
            s, hfi_sqlite_query(s, HFI_SQL_HOLD_ANNOUNCE, "tiiiiiitiii", item->name,
                                (size_t)item->name_len, (int64_t)hfi_sqlite_class_of(item->kind),
                                s->client, (int64_t)item->owner, (int64_t)now, (int64_t)item->token,
                                (int64_t)item->held_since_ns, label, strlen(item->label),
                                SINCE_TOLERANCE, (int64_t)item->waiters,
                                (int64_t)item->waiting_since_ns));
    if (changes >= 0 && item->waiters > 0)
        changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TICKET_ANNOUNCE, "itiii", s->client,
                                                     item->name, (size_t)item->name_len,
                                                     (int64_t)item->kind, (int64_t)item->permits,
                                                     (int64_t)item->waiters));
    return changes < 0 ? changes : HF_OK;
}

int hfi_sqlite_announce(struct hfi_sqlite *s, struct hfi_request *request)
{
    const struct hfi_announcement *announcement = hfi_request_announcement(request);
    hfi_time now = hfi_sqlite_now();
    int error = HF_OK;

    for (size_t i = 0; i < announcement->count && s->client && !error; i++)
        error = announce_one(s, now, &announcement->items[i]);
    return error;
}

/* ------------------------------------------------------------------------------------------------ */

/* The name in the row that the statement is at. */
static int read_name(struct hfi_sqlite *s, sqlite3_stmt *statement, char *name, size_t *ret_len)
{
    size_t len;
    const char *text = hfi_sqlite_text(statement, 0, &len);

    if (len > HF_NAME_MAX)
        return hfi_sqlite_complain(s, HF_ERR_NOT_A_STORE,
                                   "%s is damaged (a name is too long): stop its users and remove "
                                   "it",
                                   hfi_sqlite_shown(s->path));
    memmove(name, text, len);
    *ret_len = len;
    return HF_OK;
}

static int drop_tickets(struct hfi_sqlite *s, hfi_time now)
{
    char name[HF_NAME_MAX];
    struct hfi_sqlite_line line = { .name = name };
    int row, error = HF_OK;

    do {
        sqlite3_stmt *statement = hfi_sqlite_query(s, HFI_SQL_TICKETS_OF, "i", s->client);
        int64_t ticket;

        row = hfi_sqlite_row(s, statement);
        if (row <= 0)
            return row;
        line.family = (enum hfi_sqlite_family)sqlite3_column_int(statement, 1);
        ticket = sqlite3_column_int64(statement, 2);
        error = read_name(s, statement, name, &line.len);
        sqlite3_reset(statement);
        if (!error)
            error = hfi_sqlite_line_remove(s, now, &line, ticket);
    } while (!error);
    return error;
}

/* Those of one name, and whoever waits for it is called. */
static int give_holds(struct hfi_sqlite *s, hfi_time now, struct hfi_sqlite_line line)
{
    int error = hfi_sqlite_run(
        s, hfi_sqlite_query(s, HFI_SQL_HOLDS_GIVE, "ti", line.name, line.len, s->client));

    line.family = HFI_SQLITE_LOCKS;
    if (error >= 0)
        error = hfi_sqlite_line_call(s, now, &line, false);
    line.family = HFI_SQLITE_PERMITS;
    if (error >= 0)
        error = hfi_sqlite_line_call(s, now, &line, false);
    return error;
}

static int drop_holds(struct hfi_sqlite *s, hfi_time now)
{
    char name[HF_NAME_MAX];
    struct hfi_sqlite_line line = { .name = name };
    int row, error = HF_OK;

    if (s->granted <= s->ended)
        return HF_OK; /* the usual end; the search reads the whole table */
    do {
        sqlite3_stmt *statement =
            hfi_sqlite_query(s, HFI_SQL_HOLDS_OF, "it", s->client, name, line.len);

        row = hfi_sqlite_row(s, statement);
        if (row <= 0)
            return row;
        error = read_name(s, statement, name, &line.len);
        sqlite3_reset(statement);
        if (!error)
            error = give_holds(s, now, line);
    } while (!error);
    return error;
}

int hfi_sqlite_farewell(struct hfi_sqlite *s, struct hfi_request *request)
{
    hfi_time now = hfi_sqlite_now();
    int error;

    (void)request;
    if (!s->client)
        return HF_OK;
    error = drop_tickets(s, now);
    if (!error)
        error = drop_holds(s, now);
    if (!error)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_DONE_FORGET, "i", s->client));
    if (error >= 0)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_CLIENT_DROP, "i", s->client));
    return error < 0 ? error : HF_OK;
}
