/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TRY, RELEASE, RENEW: each is one transaction.
 *
 * A hold keeps others out while its row is there, its client lives, and its lease is not over. The clock is
 * read once the file is locked for writing, so what the row says and what the clock says belong together,
 * however long the lock was waited for.
 *
 * Invariants
 *   1. a grant draws new tokens in the same transaction, so they grow in the order of the grants;
 *   2. a name with a line is granted to nobody but the head of the line (line.c);
 *   3. a lease that is over is never renewed, even if the row is still there: another may have looked at it.
 */
#include <string.h>

#include "store/sqlite/sqlite.h"

int hfi_sqlite_holder(struct hfi_sqlite *s, const char *name, size_t len,
                      struct hfi_sqlite_holder *ret_holder)
{
    sqlite3_stmt *statement = hfi_sqlite_query(s, HFI_SQL_HOLD, "t", name, len);
    int row = hfi_sqlite_row(s, statement);

    if (row <= 0)
        return row;
    hfi_sqlite_peer_read(s, statement, 4, sqlite3_column_int64(statement, 0), &ret_holder->peer);
    ret_holder->owner = sqlite3_column_int64(statement, 1);
    ret_holder->token = sqlite3_column_int64(statement, 2);
    ret_holder->expires_ns = (hfi_time)sqlite3_column_int64(statement, 3);
    sqlite3_reset(statement);
    return 1;
}

bool hfi_sqlite_holds(const struct hfi_sqlite *s, hfi_time now,
                      const struct hfi_sqlite_holder *holder)
{
    return holder->expires_ns > now && hfi_sqlite_alive(s, &holder->peer);
}

static bool is_ours(const struct hfi_sqlite *s, const struct hfi_sqlite_holder *holder,
                    const struct hfi_lease *lease)
{
    return s->client && holder->peer.client == s->client && holder->owner == (int64_t)lease->owner;
}

/* ------------------------------------------------------------------------------------------------
 * TRY
 */

static int busy(struct hfi_sqlite *s, hfi_time now, hfi_time until, struct hfi_lease *lease)
{
    int changes;

    lease->verdict = HFI_BUSY;
    lease->topic = HFI_TOPIC_LOCK;
    lease->hint_ns = hfi_time_until(now, until);
    lease->ticket = false;
    if (!lease->queue)
        return HF_OK;
    changes = hfi_sqlite_join(s);
    if (!changes)
        changes =
            hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TICKET_ADD, "tii", lease->name,
                                               (size_t)lease->name_len, s->client, (int64_t)now));
    if (changes < 0)
        return changes;
    lease->ticket = true;
    return HF_OK;
}

static int grant(struct hfi_sqlite *s, hfi_time now, uint64_t token, int64_t used,
                 const struct hfi_sqlite_ticket *ticket, struct hfi_lease *lease)
{
    int64_t expires = (int64_t)hfi_time_add(now, lease->ttl_ms * HFI_MSEC);
    int error = hfi_sqlite_join(s);

    if (!error && ticket)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TICKET_DROP, "i", ticket->ticket));
    if (error >= 0)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_TOKENS_SET, "i", used));
    if (error >= 0)
        error = hfi_sqlite_run(
            s, hfi_sqlite_query(s, HFI_SQL_HOLD_PUT, "tiiiiiit", lease->name,
                                (size_t)lease->name_len, s->client, (int64_t)lease->owner,
                                (int64_t)token, expires, (int64_t)now, (int64_t)lease->ttl_ms,
                                lease->label, lease->label ? strlen(lease->label) : (size_t)0));
    if (error < 0)
        return error;
    lease->verdict = HFI_GRANTED;
    lease->token = token;
    return HF_OK;
}

/* Nobody holds it: it is for the head of the line, if there is a line. `left` is the row of a hold that has
 * ended and is still there. */
static int try_free(struct hfi_sqlite *s, hfi_time now, uint64_t token, int64_t used, bool left,
                    struct hfi_lease *lease)
{
    struct hfi_sqlite_ticket head;
    int found = hfi_sqlite_line_head(s, now, lease->name, lease->name_len, &head);
    int error;

    if (found < 0)
        return found;
    if (found == 0)
        return grant(s, now, token, used, NULL, lease);
    if (s->client && head.peer.client == s->client)
        return grant(s, now, token, used, &head, lease);
    error = hfi_sqlite_line_call_head(s, now, &head);
    if (!error && left)
        error = hfi_sqlite_run(
            s, hfi_sqlite_query(s, HFI_SQL_HOLD_DROP, "t", lease->name, (size_t)lease->name_len));
    if (error < 0)
        return error;
    return busy(s, now, hfi_time_add(head.called_ns, HFI_SQLITE_GRACE) + 1, lease);
}

int hfi_sqlite_try(struct hfi_sqlite *s, struct hfi_request *request)
{
    struct hfi_lease *lease = hfi_request_lease(request);
    hfi_time now = hfi_sqlite_now();
    uint32_t wanted = lease->tokens < 1                       ? 1
                      : lease->tokens > HFI_SQLITE_TOKENS_MAX ? HFI_SQLITE_TOKENS_MAX
                                                              : lease->tokens;
    struct hfi_sqlite_holder holder;
    uint64_t token;
    int64_t used;
    int error = hfi_sqlite_tokens(s, wanted, &token, &used);
    int found = error ? error : hfi_sqlite_holder(s, lease->name, lease->name_len, &holder);

    if (error || found < 0)
        return found;
    if (found && hfi_sqlite_holds(s, now, &holder)) {
        if (!is_ours(s, &holder, lease))
            return busy(s, now, holder.expires_ns, lease);
        lease->verdict = HFI_ALREADY;
        lease->token = (uint64_t)holder.token;
        lease->tokens = 1;
        return HF_OK;
    }
    if (found && !hfi_sqlite_alive(s, &holder.peer)) {
        error = hfi_sqlite_bury(s, &holder.peer);
        found = 0;
    }
    if (!error)
        error = try_free(s, now, token, used, found > 0, lease);
    if (!error && lease->verdict == HFI_GRANTED)
        lease->tokens = wanted;
    return error;
}

/* ------------------------------------------------------------------------------------------------
 * RELEASE, RENEW
 */

/* Other processes that wait, and ours if it watches (core/request.h). */
static int count_others(struct hfi_sqlite *s, struct hfi_lease *lease)
{
    sqlite3_stmt *statement = hfi_sqlite_query(s, HFI_SQL_TICKETS_OTHERS, "ti", lease->name,
                                               (size_t)lease->name_len, s->client);
    int row = hfi_sqlite_row(s, statement);

    if (row < 0)
        return row;
    lease->others = (uint32_t)sqlite3_column_int64(statement, 0) +
                    hfi_sqlite_wake_watches(s, lease->name, lease->name_len);
    return HF_OK;
}

int hfi_sqlite_release(struct hfi_sqlite *s, struct hfi_request *request)
{
    struct hfi_lease *lease = hfi_request_lease(request);
    int changes = 0, error;

    lease->others = 0;
    lease->verdict = HFI_GONE;
    if (s->client)
        changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_HOLD_RELEASE, "tii", lease->name,
                                                     (size_t)lease->name_len, s->client,
                                                     (int64_t)lease->owner));
    if (changes <= 0)
        return changes;
    lease->verdict = HFI_RELEASED;
    error = hfi_sqlite_line_call(s, hfi_sqlite_now(), lease->name, lease->name_len);
    return error ? error : count_others(s, lease);
}

static int renew_one(struct hfi_sqlite *s, hfi_time now, struct hfi_renewal_item *item)
{
    const struct hfi_lease *lease = item->lease;
    hfi_time expires = hfi_time_add(now, item->ttl_ms * HFI_MSEC);
    int kept;

    if (item->ttl_ms)
        kept = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_HOLD_RENEW, "tiiiii", lease->name,
                                                  (size_t)lease->name_len, s->client,
                                                  (int64_t)lease->owner, (int64_t)now,
                                                  (int64_t)expires, (int64_t)item->ttl_ms));
    else
        kept = hfi_sqlite_row(s, hfi_sqlite_query(s, HFI_SQL_HOLD_LOOK, "tiii", lease->name,
                                                  (size_t)lease->name_len, s->client,
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
