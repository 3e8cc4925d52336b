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
            s, hfi_sqlite_query(s, HFI_SQL_HOLD_ANNOUNCE, "tiiiiitiii", item->name,
                                (size_t)item->name_len, s->client, (int64_t)item->owner,
                                (int64_t)now, (int64_t)item->token, (int64_t)item->held_since_ns,
                                label, strlen(item->label), SINCE_TOLERANCE, (int64_t)item->waiters,
                                (int64_t)item->waiting_since_ns));
    if (changes >= 0 && item->waiters > 0)
        changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TICKET_ANNOUNCE, "iti", s->client,
                                                     item->name, (size_t)item->name_len,
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

/* The next name of ours after `name`, which is replaced: 1, 0 or an error. */
static int next_of(struct hfi_sqlite *s, enum hfi_sqlite_sql which, char *name, size_t *len,
                   int64_t *ret_ticket)
{
    sqlite3_stmt *statement = hfi_sqlite_query(s, which, "it", s->client, name, *len);
    int row = hfi_sqlite_row(s, statement);
    const char *text;
    size_t count;

    if (row <= 0)
        return row;
    text = hfi_sqlite_text(statement, 0, &count);
    if (count > HF_NAME_MAX)
        return hfi_sqlite_complain(s, HF_ERR_NOT_A_STORE,
                                   "%s is damaged (a name is too long): stop its users and remove "
                                   "it",
                                   hfi_sqlite_shown(s->path));
    if (ret_ticket)
        *ret_ticket = sqlite3_column_int64(statement, 1);
    memmove(name, text, count);
    *len = count;
    sqlite3_reset(statement);
    return 1;
}

static int drop_tickets(struct hfi_sqlite *s, hfi_time now)
{
    char name[HF_NAME_MAX];
    size_t len = 0;
    int64_t ticket;
    int found, error = HF_OK;

    while (!error && (found = next_of(s, HFI_SQL_TICKETS_OF, name, &len, &ticket)) != 0)
        error = found < 0 ? found : hfi_sqlite_line_remove(s, now, name, len, ticket);
    return error;
}

static int drop_holds(struct hfi_sqlite *s, hfi_time now)
{
    char name[HF_NAME_MAX];
    size_t len = 0;
    int found, error = HF_OK;

    if (s->granted <= s->ended)
        return HF_OK; /* the usual end; the search reads the whole table */
    while (!error && (found = next_of(s, HFI_SQL_HOLDS_OF, name, &len, NULL)) != 0)
        error = found < 0 ? found : hfi_sqlite_line_call(s, now, name, len);
    if (!error)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_HOLDS_FORGET, "i", s->client));
    return error < 0 ? error : HF_OK;
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
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_CLIENT_DROP, "i", s->client));
    return error < 0 ? error : HF_OK;
}
