/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line: who waits for a name, in order, whatever the kind.
 *
 * A client has one ticket for a name in each kind, whatever the number of its threads, or one for each fair
 * owner, or each number of permits (kind.h). Each wants some units of the name (room.c), and gets them in order: those at the
 * head that fit into what is left, all together, have their turn. So readers that come one after another go
 * in together, a writer behind them waits for them, and readers behind a waiting writer wait. (Whoever wants
 * more permits than there are in all is passed over.)
 *
 * When room comes to be, whoever made it so *calls* those whose turn it is: writes down when, and wakes them.
 * Nobody else is granted the room then. One that has not come within HFI_SQLITE_GRACE is overdue (its process
 * may be stopped): the first to notice removes its ticket and calls the next one; it gets a new one when it
 * tries again.
 *
 * Each waiter is told, by an errand, of what happens directly before it: it is called, or the one before it
 * has left, so that it must watch another one for its death (watch.c). When the one before it is granted
 * the whole name, it is the same client that must be watched, so nothing is told: the end of a hold wakes one
 * process, however many wait. When it is granted a part, the first who does not fit has further holders
 * before it, and is told.
 */
#include "store/sqlite/sqlite.h"

static int read_ticket(struct hfi_sqlite *s, sqlite3_stmt *statement,
                       struct hfi_sqlite_ticket *ret_ticket)
{
    int row = hfi_sqlite_row(s, statement);

    if (row <= 0)
        return row;
    ret_ticket->ticket = sqlite3_column_int64(statement, 0);
    ret_ticket->kind = (uint8_t)sqlite3_column_int(statement, 2);
    ret_ticket->place = sqlite3_column_int64(statement, 3);
    ret_ticket->units = sqlite3_column_int64(statement, 4);
    ret_ticket->called_ns = (hfi_time)sqlite3_column_int64(statement, 5);
    hfi_sqlite_peer_read(s, statement, 6, sqlite3_column_int64(statement, 1), &ret_ticket->peer);
    sqlite3_reset(statement);
    return 1;
}

int hfi_sqlite_line_beside(struct hfi_sqlite *s, enum hfi_sqlite_sql which,
                           const struct hfi_sqlite_line *line, int64_t ticket,
                           struct hfi_sqlite_ticket *ret_ticket)
{
    sqlite3_stmt *statement =
        hfi_sqlite_query(s, which, "tii", line->name, line->len, (int64_t)line->family, ticket);

    return read_ticket(s, statement, ret_ticket);
}

static bool is_overdue(hfi_time now, const struct hfi_sqlite_ticket *ticket)
{
    return ticket->called_ns != 0 && now > hfi_time_add(ticket->called_ns, HFI_SQLITE_GRACE);
}

static bool is_for(const struct hfi_sqlite *s, const struct hfi_sqlite_ticket *ticket,
                   const struct hfi_lease *lease)
{
    return lease && s->client && ticket->peer.client == s->client && ticket->kind == lease->kind &&
           ticket->place == hfi_sqlite_place_of(lease);
}

/* The next ticket behind *at (0: the first) that is this lease's, or whose client lives and that is not
 * overdue; others before it are removed. */
static int next_alive(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                      const struct hfi_lease *lease, struct hfi_sqlite_ticket *at)
{
    for (;;) {
        int error = hfi_sqlite_line_beside(s, HFI_SQL_TICKET_AFTER, line, at->ticket, at);

        if (error <= 0)
            return error;
        if (is_for(s, at, lease))
            return 1;
        if (!hfi_sqlite_alive(s, &at->peer))
            error = hfi_sqlite_bury(s, &at->peer);
        else if (is_overdue(now, at))
            error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TICKET_DROP, "i", at->ticket));
        else
            return 1;
        if (error < 0)
            return error;
    }
}

/* ------------------------------------------------------------------------------------------------
 * Turns
 */

int hfi_sqlite_line_turn(struct hfi_sqlite *s, hfi_time now, const struct hfi_lease *lease,
                         const struct hfi_sqlite_room *room, struct hfi_sqlite_turn *ret_turn)
{
    struct hfi_sqlite_line line = hfi_sqlite_line_of(lease->name, lease->name_len, lease->kind);
    int64_t left = room->left, units = hfi_sqlite_units_of(lease);
    struct hfi_sqlite_ticket at = { .ticket = 0 };
    int found;

    ret_turn->come = left >= units;
    ret_turn->ticket = 0;
    ret_turn->until_ns = HF_TIME_NEVER;
    while (ret_turn->come && (found = next_alive(s, now, &line, lease, &at)) != 0) {
        if (found < 0)
            return found;
        if (is_for(s, &at, lease)) {
            ret_turn->ticket = at.ticket;
            break;
        }
        if (at.units > room->most)
            continue;
        ret_turn->until_ns =
            hfi_time_min(ret_turn->until_ns,
                         hfi_time_add(at.called_ns ? at.called_ns : now, HFI_SQLITE_GRACE) + 1);
        left -= at.units;
        ret_turn->come = left >= units;
    }
    return HF_OK;
}

static int call(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_ticket *ticket)
{
    int changes;

    if (ticket->called_ns)
        return HF_OK;
    changes = hfi_sqlite_run(
        s, hfi_sqlite_query(s, HFI_SQL_TICKET_CALL, "ii", ticket->ticket, (int64_t)now));
    if (changes < 0)
        return changes;
    hfi_sqlite_errand(s, ticket->peer.uuid, false);
    return HF_OK;
}

int hfi_sqlite_line_call(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                         bool tell)
{
    struct hfi_sqlite_ticket at = { .ticket = 0 };
    struct hfi_sqlite_room room;
    int found = next_alive(s, now, line, NULL, &at);
    int error = found > 0 ? hfi_sqlite_room(s, now, line, NULL, &room) : found;

    while (!error && found > 0 && (at.units <= room.left || at.units > room.most)) {
        if (at.units <= room.most) {
            room.left -= at.units;
            error = call(s, now, &at);
        }
        if (!error)
            found = next_alive(s, now, line, NULL, &at);
    }
    if (!error && found > 0 && tell)
        hfi_sqlite_errand(s, at.peer.uuid, false);
    return error ? error : found < 0 ? found : HF_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Coming and going
 */

int hfi_sqlite_line_join(struct hfi_sqlite *s, hfi_time now, const struct hfi_lease *lease)
{
    size_t len = lease->name_len;
    enum hfi_sqlite_family family = hfi_sqlite_family_of(lease->kind);
    int64_t kind = lease->kind, place = hfi_sqlite_place_of(lease), owner = (int64_t)lease->owner;
    int changes =
        hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TICKET_ADD, "itiiiiii", s->client,
                                           lease->name, len, kind, place, owner, (int64_t)family,
                                           hfi_sqlite_units_of(lease), (int64_t)now));

    if (changes == 0 && hfi_sqlite_has_places(lease->kind))
        changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TICKET_AGAIN, "itiii", s->client,
                                                     lease->name, len, kind, place, owner));
    return changes < 0 ? changes : HF_OK;
}

int hfi_sqlite_line_mine(struct hfi_sqlite *s, const char *name, size_t len, uint8_t kind,
                         uint64_t owner, int64_t *ret_ticket, bool *ret_called)
{
    sqlite3_stmt *statement;
    int row;

    if (hfi_sqlite_has_places(kind))
        statement =
            hfi_sqlite_query(s, HFI_SQL_TICKET_ANY, "iti", s->client, name, len, (int64_t)kind);
    else
        statement = hfi_sqlite_query(s, HFI_SQL_TICKET_MINE, "itii", s->client, name, len,
                                     (int64_t)kind, kind == HFI_KIND_FAIR ? (int64_t)owner : 0);
    row = hfi_sqlite_row(s, statement);
    if (row <= 0)
        return row;
    *ret_ticket = sqlite3_column_int64(statement, 0);
    *ret_called = sqlite3_column_int64(statement, 1) != 0;
    sqlite3_reset(statement);
    return 1;
}

int hfi_sqlite_line_remove(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                           int64_t ticket)
{
    struct hfi_sqlite_ticket next;
    int after = hfi_sqlite_line_beside(s, HFI_SQL_TICKET_AFTER, line, ticket, &next);
    int error = after;

    if (error >= 0)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TICKET_DROP, "i", ticket));
    if (error < 0 || after == 0 || line->family == HFI_SQLITE_LATCHES)
        return error < 0 ? error : HF_OK;
    if (next.peer.here)
        hfi_sqlite_errand(s, next.peer.uuid, false);
    return hfi_sqlite_line_call(s, now, line, false);
}

int hfi_sqlite_line_leave(struct hfi_sqlite *s, const char *name, size_t len, uint8_t kind,
                          uint64_t owner)
{
    struct hfi_sqlite_line line = hfi_sqlite_line_of(name, len, kind);
    int64_t ticket;
    bool called;
    int found = s->client ? hfi_sqlite_line_mine(s, name, len, kind, owner, &ticket, &called) : 0;

    return found <= 0 ? found : hfi_sqlite_line_remove(s, hfi_sqlite_now(), &line, ticket);
}

/* The next of our places in a line that has several: of this owner, or (0) of any. 1, 0 or an error. */
static int remove_one(struct hfi_sqlite *s, const struct hfi_sqlite_line *line, uint8_t kind,
                      uint64_t owner)
{
    sqlite3_stmt *statement =
        hfi_sqlite_query(s, HFI_SQL_TICKET_LAST, "itii", s->client, line->name, line->len,
                         (int64_t)kind, (int64_t)owner);
    int row = hfi_sqlite_row(s, statement);
    int64_t ticket;
    int error;

    if (row <= 0)
        return row;
    ticket = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    error = hfi_sqlite_line_remove(s, hfi_sqlite_now(), line, ticket);
    return error ? error : 1;
}

/* The request does not say for how many permits the place is, but whose try was last told that it is busy. If
 * that was another's meanwhile, all go: a place that nobody wants would keep the line waiting. Our waiters
 * that have lost theirs so are told, and join again. */
static int leave_counted(struct hfi_sqlite *s, const struct hfi_watch *watch)
{
    struct hfi_sqlite_line line = hfi_sqlite_line_of(watch->name, watch->name_len, watch->kind);
    int found = s->client ? remove_one(s, &line, watch->kind, watch->owner) : 1;

    if (found != 0)
        return found < 0 ? found : HF_OK;
    while ((found = remove_one(s, &line, watch->kind, 0)) > 0)
        hfi_sqlite_errand(s, s->identity->id, false);
    return found;
}

int hfi_sqlite_leave_line(struct hfi_sqlite *s, struct hfi_request *request)
{
    const struct hfi_watch *watch = hfi_request_watch(request);

    if (hfi_sqlite_has_places(watch->kind))
        return leave_counted(s, watch);
    return hfi_sqlite_line_leave(s, watch->name, watch->name_len, watch->kind, watch->owner);
}
