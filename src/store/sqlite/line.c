/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line: who waits for a name, in order.
 *
 * A client has at most one ticket a name, whatever the number of its threads. When the name becomes free,
 * whoever made it so *calls* the head: writes down when, and wakes it. Nobody else is granted the name
 * then. A head that has not come within HFI_SQLITE_GRACE is overdue (its process may be stopped): the first
 * to notice removes its ticket and calls the next one; it gets a new one when it tries again.
 *
 * Each waiter is told of what happens directly before it, by an errand: it is called, or the one before it
 * has left, so that it must watch another one for its death (watch.c). When the one before it is granted
 * the name, it is the same client that must be watched, so nothing is told: the end of a hold wakes one
 * process, however many wait.
 */
#include "store/sqlite/sqlite.h"

static int read_ticket(struct hfi_sqlite *s, sqlite3_stmt *statement,
                       struct hfi_sqlite_ticket *ret_ticket)
{
    int row = hfi_sqlite_row(s, statement);

    if (row <= 0)
        return row;
    ret_ticket->ticket = sqlite3_column_int64(statement, 0);
    ret_ticket->called_ns = (hfi_time)sqlite3_column_int64(statement, 2);
    hfi_sqlite_peer_read(s, statement, 3, sqlite3_column_int64(statement, 1), &ret_ticket->peer);
    sqlite3_reset(statement);
    return 1;
}

int hfi_sqlite_line_beside(struct hfi_sqlite *s, enum hfi_sqlite_sql which, const char *name,
                           size_t len, int64_t ticket, struct hfi_sqlite_ticket *ret_ticket)
{
    return read_ticket(s, hfi_sqlite_query(s, which, "ti", name, len, ticket), ret_ticket);
}

static bool is_overdue(hfi_time now, const struct hfi_sqlite_ticket *ticket)
{
    return ticket->called_ns != 0 && now > hfi_time_add(ticket->called_ns, HFI_SQLITE_GRACE);
}

int hfi_sqlite_line_head(struct hfi_sqlite *s, hfi_time now, const char *name, size_t len,
                         struct hfi_sqlite_ticket *ret_head)
{
    for (;;) {
        int error =
            read_ticket(s, hfi_sqlite_query(s, HFI_SQL_TICKET_FIRST, "t", name, len), ret_head);

        if (error <= 0)
            return error;
        if (s->client && ret_head->peer.client == s->client)
            return 1;
        if (!hfi_sqlite_alive(s, &ret_head->peer))
            error = hfi_sqlite_bury(s, &ret_head->peer);
        else if (is_overdue(now, ret_head))
            error =
                hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TICKET_DROP, "i", ret_head->ticket));
        else
            return 1;
        if (error < 0)
            return error;
    }
}

int hfi_sqlite_line_call_head(struct hfi_sqlite *s, hfi_time now, struct hfi_sqlite_ticket *head)
{
    int changes;

    if (head->called_ns)
        return HF_OK;
    head->called_ns = now;
    changes = hfi_sqlite_run(
        s, hfi_sqlite_query(s, HFI_SQL_TICKET_CALL, "ii", head->ticket, (int64_t)now));
    if (changes < 0)
        return changes;
    hfi_sqlite_errand(s, head->peer.uuid, false);
    return HF_OK;
}

int hfi_sqlite_line_call(struct hfi_sqlite *s, hfi_time now, const char *name, size_t len)
{
    struct hfi_sqlite_ticket head;
    int found = hfi_sqlite_line_head(s, now, name, len, &head);

    return found <= 0 ? found : hfi_sqlite_line_call_head(s, now, &head);
}

int hfi_sqlite_line_remove(struct hfi_sqlite *s, hfi_time now, const char *name, size_t len,
                           int64_t ticket)
{
    struct hfi_sqlite_holder holder;
    struct hfi_sqlite_ticket next;
    int after = hfi_sqlite_line_beside(s, HFI_SQL_TICKET_AFTER, name, len, ticket, &next);
    int error = after;

    if (error >= 0)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TICKET_DROP, "i", ticket));
    if (error < 0 || after == 0)
        return error < 0 ? error : HF_OK;
    error = hfi_sqlite_holder(s, name, len, &holder);
    if (error < 0)
        return error;
    if (error == 0 || !hfi_sqlite_holds(s, now, &holder))
        return hfi_sqlite_line_call(s, now, name, len);
    if (next.peer.here)
        hfi_sqlite_errand(s, next.peer.uuid, false);
    return HF_OK;
}

int hfi_sqlite_leave_line(struct hfi_sqlite *s, struct hfi_request *request)
{
    const struct hfi_watch *watch = hfi_request_watch(request);
    sqlite3_stmt *statement;
    int64_t ticket;
    int row;

    if (!s->client)
        return HF_OK;
    statement = hfi_sqlite_query(s, HFI_SQL_TICKET_MINE, "it", s->client, watch->name,
                                 (size_t)watch->name_len);
    row = hfi_sqlite_row(s, statement);
    if (row <= 0)
        return row;
    ticket = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return hfi_sqlite_line_remove(s, hfi_sqlite_now(), watch->name, watch->name_len, ticket);
}
