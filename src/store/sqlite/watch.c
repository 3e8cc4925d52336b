/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WATCH and UNWATCH: whose death each of our waiters must hear of. That is the one directly before it in the
 * line, or the holder when it is the first.
 *
 * The file of the one before us is watched before its life is looked at: its death is seen by one of the
 * two. The kernel tells that the file was closed a moment before it drops the lock, so the lock is looked
 * at again a few times.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include <utlist.h>

#include "store/sqlite/watch.h"

/* ------------------------------------------------------------------------------------------------
 * The one before
 */

void hfi_sqlite_let_go(struct hfi_sqlite *s, struct hfi_sqlite_waiting *waiting)
{
    struct hfi_sqlite_waiting *other;
    int descriptor = waiting->descriptor;

    waiting->before.client = 0;
    waiting->look_ns = HF_TIME_NEVER;
    waiting->looks = 0;
    waiting->descriptor = -1;
    if (descriptor < 0)
        return;
    s->wake.watched--;
    DL_FOREACH (s->wake.waiting, other) {
        if (other->descriptor == descriptor)
            return;
    }
    inotify_rm_watch(s->wake.inotify, descriptor);
}

/* False: it has died meanwhile. */
static bool keep_watch(struct hfi_sqlite *s, struct hfi_sqlite_waiting *waiting,
                       const struct hfi_sqlite_peer *peer)
{
    char path[HFI_SQLITE_PATH_ROOM];

    if (waiting->before.client == peer->client && waiting->descriptor >= 0)
        return true;
    hfi_sqlite_let_go(s, waiting);
    if (s->wake.inotify < 0 || s->wake.watched >= HFI_SQLITE_WATCHES_MAX)
        return true;
    waiting->before = *peer;
    hfi_sqlite_life_path(s, peer->uuid, path);
    waiting->descriptor =
        inotify_add_watch(s->wake.inotify, path, IN_CLOSE_WRITE | IN_DELETE_SELF | IN_DONT_FOLLOW);
    if (waiting->descriptor >= 0)
        s->wake.watched++;
    return hfi_sqlite_alive(s, peer);
}

/* Its file was closed, or is gone: is it dead? The lock may be dropped a moment after. */
void hfi_sqlite_look_again(struct hfi_sqlite *s, hfi_time now, struct hfi_sqlite_waiting *waiting)
{
    if (!hfi_sqlite_alive(s, &waiting->before)) {
        hfi_sqlite_let_go(s, waiting);
        hfi_sqlite_wake_up(s, waiting);
        return;
    }
    waiting->look_ns =
        waiting->looks < HFI_SQLITE_LOOKS ? now + (HFI_MSEC << waiting->looks) : HF_TIME_NEVER;
    waiting->looks++;
}

/* The nearest before us that lives: another waiter, or the holder. 0: nobody, the name is free. */
static int find_before(struct hfi_sqlite *s, hfi_time now, const struct hfi_watch *watch,
                       int64_t ticket, struct hfi_sqlite_peer *ret_peer)
{
    struct hfi_sqlite_ticket other;
    struct hfi_sqlite_holder holder;
    int found;

    for (other.ticket = ticket;;) {
        found = hfi_sqlite_line_beside(s, HFI_SQL_TICKET_BEFORE, watch->name, watch->name_len,
                                       other.ticket, &other);
        if (found <= 0)
            break;
        if (hfi_sqlite_alive(s, &other.peer)) {
            *ret_peer = other.peer;
            return 1;
        }
    }
    if (found == 0)
        found = hfi_sqlite_holder(s, watch->name, watch->name_len, &holder);
    if (found <= 0 || !hfi_sqlite_holds(s, now, &holder))
        return found < 0 ? found : 0;
    *ret_peer = holder.peer;
    return 1;
}

/* In a read transaction: is it our turn, and if not, whose death must we hear of? */
static int examine(struct hfi_sqlite *s, hfi_time now, struct hfi_sqlite_waiting *waiting)
{
    const struct hfi_watch *watch = waiting->watch;
    sqlite3_stmt *statement = hfi_sqlite_query(s, HFI_SQL_TICKET_MINE, "it", s->client, watch->name,
                                               (size_t)watch->name_len);
    int found = hfi_sqlite_row(s, statement);
    struct hfi_sqlite_peer peer;
    bool called = found > 0 && sqlite3_column_int64(statement, 1) != 0;
    int64_t ticket = found > 0 ? sqlite3_column_int64(statement, 0) : 0;

    if (found > 0)
        sqlite3_reset(statement);
    if (found > 0 && !called)
        found = find_before(s, now, watch, ticket, &peer);
    if (found < 0)
        return found;
    if (called || found == 0) { /* our turn, no ticket any more, or nobody before us */
        hfi_sqlite_let_go(s, waiting);
        hfi_sqlite_wake_up(s, waiting);
        return HF_OK;
    }
    if (peer.client == s->client) {
        hfi_sqlite_let_go(s, waiting); /* we hold it ourselves */
        return HF_OK;
    }
    if (!keep_watch(s, waiting, &peer))
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

struct hfi_sqlite_waiting *hfi_sqlite_find_waiting(const struct hfi_sqlite *s, const char *name,
                                                   size_t len)
{
    struct hfi_sqlite_waiting *waiting;

    DL_FOREACH (s->wake.waiting, waiting) {
        if (waiting->watch->name_len == len && memcmp(waiting->watch->name, name, len) == 0)
            return waiting;
    }
    return NULL;
}

uint32_t hfi_sqlite_wake_watches(const struct hfi_sqlite *s, const char *name, size_t len)
{
    return hfi_sqlite_find_waiting(s, name, len) ? 1 : 0;
}

int hfi_sqlite_watch(struct hfi_sqlite *s, struct hfi_request *request)
{
    struct hfi_watch *watch = hfi_request_watch(request);
    struct hfi_sqlite_waiting *waiting = hfi_sqlite_find_waiting(s, watch->name, watch->name_len);

    if (!waiting) {
        waiting = calloc(1, sizeof *waiting);
        if (!waiting)
            return hfi_sqlite_complain(s, HF_ERR_NO_MEMORY, "out of memory");
        waiting->descriptor = -1;
        waiting->look_ns = HF_TIME_NEVER;
        watch->woken = false;
        DL_APPEND(s->wake.waiting, waiting);
    }
    waiting->watch = watch;
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
    struct hfi_sqlite_waiting *waiting = hfi_sqlite_find_waiting(s, watch->name, watch->name_len);

    if (!waiting)
        return HF_OK;
    pthread_mutex_lock(&s->wake.lock);
    if (waiting->watch->woken)
        LL_DELETE2(s->wake.woken, waiting->watch, next_woken);
    waiting->watch->woken = false;
    pthread_mutex_unlock(&s->wake.lock);
    hfi_sqlite_let_go(s, waiting);
    DL_DELETE(s->wake.waiting, waiting);
    free(waiting);
    return HF_OK;
}
