/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TRY, RELEASE, RENEW of what is held: each is one transaction.
 *
 * The clock is read once the file is locked for writing, so what the rows say (room.c) and what the clock
 * says belong together, however long the lock was waited for.
 *
 * Invariants
 *   1. a grant of a lock to one owner alone draws new tokens in the same transaction, so they grow in the
 *      order of the grants;
 *   2. what a grant gives was left of the name, and would have been left had all those before it in the line
 *      been served first (line.c). Past the line come an owner that writes, and wants to read: the line waits
 *      for its write hold; and for a moment the other readers of a process whose turn has come;
 *   3. a lease that is over is never renewed, even if the row is still there: another may have looked at it;
 *   4. a name has at most one hold that is alone, and then readers only of that hold's owner.
 */
#include <string.h>

#include "store/sqlite/sqlite.h"

static bool is_alone(const struct hfi_lease *lease)
{
    return hfi_sqlite_units_of(lease) == HFI_SQLITE_ALL;
}

/* ------------------------------------------------------------------------------------------------
 * TRY
 */

/* What a TRY has found. */
struct attempt {
    hfi_time now;
    struct hfi_sqlite_line line;
    struct hfi_sqlite_room room;
    struct hfi_sqlite_turn turn;
    uint64_t token; /* the first of new ones */
    int64_t used;   /* meta.tokens, once they are drawn */
};

/* Where the engine listens; here any wake-up of a name will do. */
static uint8_t topic_of(uint8_t kind)
{
    switch (kind) {
    case HFI_KIND_FAIR:
        return HFI_TOPIC_TURN;
    case HFI_KIND_WRITE:
    case HFI_KIND_READ:
        return HFI_TOPIC_READ_WRITE;
    case HFI_KIND_PERMITS:
    case HFI_KIND_SEMAPHORE:
        return HFI_TOPIC_PERMITS;
    case HFI_KIND_LATCH:
        return HFI_TOPIC_LATCH;
    default:
        return HFI_TOPIC_LOCK;
    }
}

int hfi_sqlite_busy(struct hfi_sqlite *s, hfi_time now, hfi_time until, struct hfi_lease *lease)
{
    int error = HF_OK;

    lease->verdict = HFI_BUSY;
    lease->topic = topic_of(lease->kind);
    lease->hint_ns = hfi_time_until(now, until);
    lease->ticket = lease->queue;
    if (lease->queue)
        error = hfi_sqlite_join(s);
    if (lease->queue && !error)
        error = hfi_sqlite_line_join(s, now, lease);
    return error;
}

/* Others before us fit, and may not know it yet: what had ended was removed just now. */
static int refuse(struct hfi_sqlite *s, const struct attempt *at, struct hfi_lease *lease)
{
    bool fits = at->room.left >= hfi_sqlite_units_of(lease);
    int error = HF_OK;

    if (fits || (at->room.changed && at->room.left > 0))
        error = hfi_sqlite_line_call(s, at->now, &at->line, false);
    if (error)
        return error;
    return hfi_sqlite_busy(s, at->now, fits ? at->turn.until_ns : at->room.until_ns, lease);
}

static int put_hold(struct hfi_sqlite *s, const struct attempt *at, const struct hfi_lease *lease)
{
    int64_t expires = (int64_t)hfi_time_add(at->now, lease->ttl_ms * HFI_MSEC);
    int changes = hfi_sqlite_run(
        s, hfi_sqlite_query(
               s, HFI_SQL_HOLD_PUT, "tiiiiiiiiiti", lease->name, (size_t)lease->name_len,
               (int64_t)hfi_sqlite_class_of(lease->kind), s->client, (int64_t)lease->owner,
               (int64_t)lease->kind, (int64_t)lease->permits, (int64_t)lease->token, expires,
               (int64_t)at->now, (int64_t)lease->ttl_ms, lease->label,
               lease->label ? strlen(lease->label) : (size_t)0, (int64_t)(at->turn.ticket != 0)));

    return changes < 0 ? changes : HF_OK;
}

/* It has the room, and the line has been served. Who gets a part leaves the rest to the next ones. */
static int grant(struct hfi_sqlite *s, const struct attempt *at, struct hfi_lease *lease)
{
    bool alone = is_alone(lease);
    int error = hfi_sqlite_join(s);

    lease->token = alone ? at->token : 0;
    if (!error && at->turn.ticket)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TICKET_DROP, "i", at->turn.ticket));
    if (error >= 0 && alone)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TOKENS_SET, "i", at->used));
    if (error >= 0)
        error = lease->kind == HFI_KIND_SEMAPHORE ? hfi_sqlite_take(s, at->now, lease)
                                                  : put_hold(s, at, lease);
    if (error >= 0 && !alone && !at->room.within)
        error = hfi_sqlite_line_call(s, at->now, &at->line, true);
    if (error < 0)
        return error;
    lease->verdict = HFI_GRANTED;
    return HF_OK;
}

/* A process has one place, however many of its threads wait: when that has come, its other readers go in
 * with the first, past whoever waits behind it, if they come at once. */
static int follow(struct hfi_sqlite *s, struct attempt *at, const struct hfi_lease *lease)
{
    int64_t since = (int64_t)at->now - (int64_t)HFI_SQLITE_FOLLOW;
    int row = 0;

    if (lease->kind == HFI_KIND_READ && at->room.left > 0 && s->client)
        row = hfi_sqlite_row(s, hfi_sqlite_query(s, HFI_SQL_HOLD_FOLLOW, "tiii", lease->name,
                                                 (size_t)lease->name_len, s->client, since,
                                                 (int64_t)at->now));
    at->turn.come = row > 0;
    at->turn.ticket = 0;
    return row < 0 ? row : HF_OK;
}

/* Anything but a latch. */
static int try_units(struct hfi_sqlite *s, struct hfi_lease *lease)
{
    uint32_t wanted = !is_alone(lease) || lease->tokens < 1   ? 1
                      : lease->tokens > HFI_SQLITE_TOKENS_MAX ? HFI_SQLITE_TOKENS_MAX
                                                              : lease->tokens;
    struct attempt at = { .now = hfi_sqlite_now(),
                          .line = hfi_sqlite_line_of(lease->name, lease->name_len, lease->kind) };
    int error = hfi_sqlite_tokens(s, wanted, &at.token, &at.used);

    if (!error)
        error = hfi_sqlite_room(s, at.now, &at.line, lease, &at.room);
    if (error)
        return error;
    if (at.room.ours) {
        lease->verdict = HFI_ALREADY;
        lease->tokens = 1;
        lease->token = (uint64_t)at.room.token;
        return HF_OK;
    }
    at.turn.come = at.room.within;
    if (!at.room.within)
        error = hfi_sqlite_line_turn(s, at.now, lease, &at.room, &at.turn);
    if (!error && !at.turn.come)
        error = follow(s, &at, lease);
    if (error)
        return error;
    if (!at.turn.come)
        return refuse(s, &at, lease);
    lease->tokens = wanted;
    return grant(s, &at, lease);
}

int hfi_sqlite_try(struct hfi_sqlite *s, struct hfi_request *request)
{
    struct hfi_lease *lease = hfi_request_lease(request);

    return lease->kind == HFI_KIND_LATCH ? hfi_sqlite_try_latch(s, lease) : try_units(s, lease);
}

/* ------------------------------------------------------------------------------------------------
 * RELEASE, RENEW
 */

/* Other processes that wait, and ours if it watches (core/request.h). */
static int count_others(struct hfi_sqlite *s, const struct hfi_sqlite_line *line,
                        struct hfi_lease *lease)
{
    sqlite3_stmt *statement =
        hfi_sqlite_query(s, HFI_SQL_TICKETS_OTHERS, "tiii", line->name, line->len,
                         (int64_t)line->family, s->client, (int64_t)lease->kind);
    int row = hfi_sqlite_row(s, statement);

    if (row < 0)
        return row;
    lease->others =
        (uint32_t)sqlite3_column_int64(statement, 0) + hfi_sqlite_wake_watches(s, lease);
    return HF_OK;
}

static int release_hold(struct hfi_sqlite *s, struct hfi_lease *lease)
{
    struct hfi_sqlite_line line = hfi_sqlite_line_of(lease->name, lease->name_len, lease->kind);
    int changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_HOLD_DROP, "tiii", lease->name,
                                                     (size_t)lease->name_len,
                                                     (int64_t)hfi_sqlite_class_of(lease->kind),
                                                     s->client, (int64_t)lease->owner));
    int error;

    if (changes <= 0)
        return changes;
    lease->verdict = HFI_RELEASED;
    error = hfi_sqlite_line_call(s, hfi_sqlite_now(), &line, false);
    return error ? error : count_others(s, &line, lease);
}

int hfi_sqlite_release(struct hfi_sqlite *s, struct hfi_request *request)
{
    struct hfi_lease *lease = hfi_request_lease(request);
    int error = HF_OK;

    lease->others = 0;
    lease->verdict = HFI_GONE;
    if (!s->client || lease->kind == HFI_KIND_LATCH)
        return HF_OK;
    if (lease->kind == HFI_KIND_SEMAPHORE)
        return hfi_sqlite_take_back(s, lease);
    if (lease->kind == HFI_KIND_FAIR) /* its place in the line, too */
        error = hfi_sqlite_line_leave(s, lease->name, lease->name_len, lease->kind, lease->owner);
    return error ? error : release_hold(s, lease);
}

static int renew_one(struct hfi_sqlite *s, hfi_time now, struct hfi_renewal_item *item)
{
    const struct hfi_lease *lease = item->lease;
    int64_t class_ = (int64_t)hfi_sqlite_class_of(lease->kind);
    hfi_time expires = hfi_time_add(now, item->ttl_ms * HFI_MSEC);
    int kept;

    if (item->ttl_ms)
        kept = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_HOLD_RENEW, "tiiiiii", lease->name,
                                                  (size_t)lease->name_len, class_, s->client,
                                                  (int64_t)lease->owner, (int64_t)now,
                                                  (int64_t)expires, (int64_t)item->ttl_ms));
    else
        kept = hfi_sqlite_row(s, hfi_sqlite_query(s, HFI_SQL_HOLD_LOOK, "tiiii", lease->name,
                                                  (size_t)lease->name_len, class_, s->client,
                                                  (int64_t)lease->owner, (int64_t)now));
    item->kept = kept > 0;
    return kept < 0 ? kept : HF_OK;
}

int hfi_sqlite_renew(struct hfi_sqlite *s, struct hfi_request *request)
{
    struct hfi_renewal *renewal = hfi_request_renewal(request);
    hfi_time now = hfi_sqlite_now();
    int error = HF_OK;

    for (size_t i = 0; i < renewal->count && !error; i++) {
        renewal->items[i].kept = false;
        if (s->client)
            error = renew_one(s, now, &renewal->items[i]);
    }
    return error;
}
