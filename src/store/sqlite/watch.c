/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WATCH and UNWATCH: whose death each of our waiters must hear of. That is the one directly before it in the
 * line, or, when it is the first, everybody who has a part of the name: of several readers, the last to go
 * makes room for a writer, and nobody knows which that will be.
 */
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "store/sqlite/watch.h"

/* ------------------------------------------------------------------------------------------------
 * Those before
 */

/* Those who have a part of the name. Our own death we need not hear of. */
static int find_holders(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                        struct hfi_sqlite_before *before)
{
    sqlite3_stmt *statement = hfi_sqlite_holders(s, line);
    struct hfi_sqlite_holder holder;
    bool held = false;
    int row = 1;

    while (before->count < HFI_SQLITE_BEFORE_MAX &&
           (row = hfi_sqlite_holder_next(s, statement, &holder)) > 0) {
        bool known = holder.until_ns > now && hfi_sqlite_is_before(before, holder.peer.client);

        if (!known && !hfi_sqlite_holds(s, now, &holder)) {
            before->clear |= line->family != HFI_SQLITE_LOCKS;
            continue;
        }
        held = true;
        if (!known && holder.peer.client != s->client)
            before->peer[before->count++] = holder.peer;
    }
    if (row > 0)
        sqlite3_reset(statement);
    before->clear |= !held && line->family == HFI_SQLITE_LOCKS;
    return row < 0 ? row : HF_OK;
}

/* The nearest before us in the line that lives, or the holders. */
static int find_before(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                       int64_t ticket, struct hfi_sqlite_before *before)
{
    struct hfi_sqlite_ticket other;
    int found;

    for (other.ticket = ticket;;) {
        found = hfi_sqlite_line_beside(s, HFI_SQL_TICKET_BEFORE, line, other.ticket, &other);
        if (found <= 0)
            break;
        if (!hfi_sqlite_alive(s, &other.peer))
            continue;
        if (other.peer.client != s->client)
            before->peer[before->count++] = other.peer;
        return HF_OK;
    }
    if (found < 0 || line->family == HFI_SQLITE_SEMAPHORES)
        return found; /* what is taken of a semaphore is nobody's */
    return find_holders(s, now, line, before);
}

/* In a read transaction: is it our turn, and if not, whose death must we hear of? */
static int examine(struct hfi_sqlite *s, hfi_time now, struct hfi_sqlite_waiting *waiting)
{
    const struct hfi_watch *watch = waiting->watch;
    struct hfi_sqlite_line line = hfi_sqlite_line_of(watch->name, watch->name_len, waiting->kind);
    struct hfi_sqlite_before before = { .count = 0 };
    int64_t ticket;
    bool called;
    int found = hfi_sqlite_line_mine(s, watch->name, watch->name_len, waiting->kind, waiting->owner,
                                     &ticket, &called);

    if (found > 0 && !called && line.family != HFI_SQLITE_LATCHES)
        found = find_before(s, now, &line, ticket, &before) < 0 ? s->failure : 1;
    if (found < 0)
        return found;
    if (found == 0 || called || before.clear) { /* no ticket any more, or our turn */
        hfi_sqlite_let_go(s, waiting);
        hfi_sqlite_wake_up(s, waiting);
        return HF_OK;
    }
    if (!hfi_sqlite_keep_watch(s, waiting, &before))
        hfi_sqlite_wake_up(s, waiting);
    return HF_OK;
}

/* One of them, or all (NULL). */
void hfi_sqlite_examine(struct hfi_sqlite *s, hfi_time now, struct hfi_sqlite_waiting *one)
{
    struct hfi_sqlite_waiting *waiting;
    int error = s->db ? hfi_sqlite_begin(s, false) : HF_ERR_UNAVAILABLE;

    if (one) {
        if (!error)
            error = examine(s, now, one);
        if (error)
            hfi_sqlite_wake_up(s, one);
    } else {
        DL_FOREACH (s->wake.waiting, waiting) {
            if (!error)
                error = examine(s, now, waiting);
            if (error)
                hfi_sqlite_wake_up(s, waiting);
        }
    }
    hfi_sqlite_rollback(s); /* it has written nothing */
}

/* ------------------------------------------------------------------------------------------------
 * WATCH, UNWATCH
 */

bool hfi_sqlite_waits_for(const struct hfi_sqlite_waiting *waiting, const struct hfi_lease *lease)
{
    return waiting->kind == lease->kind &&
           (waiting->kind != HFI_KIND_FAIR || waiting->owner == lease->owner) &&
           waiting->watch->name_len == lease->name_len &&
           memcmp(waiting->watch->name, lease->name, lease->name_len) == 0;
}

uint32_t hfi_sqlite_wake_watches(const struct hfi_sqlite *s, const struct hfi_lease *lease)
{
    const struct hfi_sqlite_waiting *waiting;

    DL_FOREACH (s->wake.waiting, waiting)
        if (hfi_sqlite_waits_for(waiting, lease))
            return 1;
    return 0;
}

int hfi_sqlite_watch(struct hfi_sqlite *s, struct hfi_request *request)
{
    struct hfi_watch *watch = hfi_request_watch(request);
    struct hfi_sqlite_waiting *waiting = watch->store_data;

    if (!waiting) {
        waiting = calloc(1, sizeof *waiting);
        if (!waiting)
            return hfi_sqlite_complain(s, HF_ERR_NO_MEMORY, "out of memory");
        waiting->watch = watch;
        watch->store_data = waiting;
        watch->woken = false;
        DL_APPEND(s->wake.waiting, waiting);
    }
    waiting->kind = watch->kind;
    waiting->owner = watch->owner;
    if (!hfi_sqlite_listen(s) || !s->db) {
        s->wake.rearm_ns = hfi_sqlite_now() + HFI_SQLITE_REARM;
        return s->failure;
    }
    hfi_sqlite_examine(s, hfi_sqlite_now(), waiting);
    return HF_OK;
}

int hfi_sqlite_unwatch(struct hfi_sqlite *s, struct hfi_request *request)
{
    struct hfi_watch *watch = hfi_request_watch(request);
    struct hfi_sqlite_waiting *waiting = watch->store_data;

    if (!waiting)
        return HF_OK;
    pthread_mutex_lock(&s->wake.lock);
    if (watch->woken)
        LL_DELETE2(s->wake.woken, watch, next_woken);
    watch->woken = false;
    pthread_mutex_unlock(&s->wake.lock);
    hfi_sqlite_let_go(s, waiting);
    DL_DELETE(s->wake.waiting, waiting);
    watch->store_data = NULL;
    free(waiting);
    return HF_OK;
}
