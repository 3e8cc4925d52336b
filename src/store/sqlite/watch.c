/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WATCH and UNWATCH: whose death each of our waiters must hear of. That is the one directly before it in the
 * line, or, when it is the first, everybody who has a part of the name: of several readers, the last to go
 * makes room for a writer, and nobody knows which that will be.
 *
 * The file of one before us is watched before its life is looked at: its death is seen by one of the two.
 * The kernel tells that the file was closed a moment before it drops the lock, so the lock is looked at again
 * a few times.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include <utlist.h>

#include "store/sqlite/watch.h"

/* ------------------------------------------------------------------------------------------------
 * Guards
 */

static bool is_watched(const struct hfi_sqlite *s, int descriptor)
{
    const struct hfi_sqlite_waiting *waiting;
    const struct hfi_sqlite_guard *guard;

    DL_FOREACH (s->wake.waiting, waiting)
        LL_FOREACH (waiting->before, guard)
            if (guard->descriptor == descriptor)
                return true;
    return false;
}

static void drop_guard(struct hfi_sqlite *s, struct hfi_sqlite_waiting *waiting,
                       struct hfi_sqlite_guard *guard)
{
    int descriptor = guard->descriptor;

    LL_DELETE(waiting->before, guard);
    free(guard);
    if (descriptor < 0)
        return;
    s->wake.watched--;
    if (!is_watched(s, descriptor))
        inotify_rm_watch(s->wake.inotify, descriptor);
}

void hfi_sqlite_let_go(struct hfi_sqlite *s, struct hfi_sqlite_waiting *waiting)
{
    while (waiting->before)
        drop_guard(s, waiting, waiting->before);
}

/* False: it has died meanwhile. What cannot be watched is heard of otherwise, or by polling. */
static bool add_guard(struct hfi_sqlite *s, struct hfi_sqlite_waiting *waiting,
                      const struct hfi_sqlite_peer *peer)
{
    struct hfi_sqlite_guard *guard;
    char path[HFI_SQLITE_PATH_ROOM];

    if (s->wake.inotify < 0 || s->wake.watched >= HFI_SQLITE_WATCHES_MAX)
        return true;
    guard = calloc(1, sizeof *guard);
    if (!guard)
        return true;
    guard->peer = *peer;
    guard->look_ns = HF_TIME_NEVER;
    hfi_sqlite_life_path(s, peer->uuid, path);
    guard->descriptor =
        inotify_add_watch(s->wake.inotify, path, IN_CLOSE_WRITE | IN_DELETE_SELF | IN_DONT_FOLLOW);
    s->wake.watched += guard->descriptor >= 0;
    LL_PREPEND(waiting->before, guard);
    return hfi_sqlite_alive(s, peer);
}

static struct hfi_sqlite_guard *find_guard(const struct hfi_sqlite_waiting *waiting, int64_t client)
{
    struct hfi_sqlite_guard *guard;

    LL_FOREACH (waiting->before, guard)
        if (guard->peer.client == client)
            return guard;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Those before
 */

struct crowd {
    size_t count;
    bool clear; /* nobody is before us, or somebody who was has ended: it is worth a try */
    struct hfi_sqlite_peer peer[HFI_SQLITE_BEFORE_MAX];
};

static bool is_among(const struct crowd *crowd, int64_t client)
{
    for (size_t i = 0; i < crowd->count; i++)
        if (crowd->peer[i].client == client)
            return true;
    return false;
}

/* Watches these and nobody else. False: one has died meanwhile. */
static bool keep_watch(struct hfi_sqlite *s, struct hfi_sqlite_waiting *waiting,
                       const struct crowd *crowd)
{
    struct hfi_sqlite_guard *guard, *next;
    bool ok = true;

    LL_FOREACH_SAFE (waiting->before, guard, next)
        if (guard->descriptor < 0 || !is_among(crowd, guard->peer.client))
            drop_guard(s, waiting, guard);
    for (size_t i = 0; i < crowd->count && ok; i++)
        if (!find_guard(waiting, crowd->peer[i].client))
            ok = add_guard(s, waiting, &crowd->peer[i]);
    return ok;
}

hfi_time hfi_sqlite_look_time(const struct hfi_sqlite_waiting *waiting)
{
    const struct hfi_sqlite_guard *guard;
    hfi_time first = HF_TIME_NEVER;

    LL_FOREACH (waiting->before, guard)
        first = hfi_time_min(first, guard->look_ns);
    return first;
}

/* The lock may be dropped a moment after the file was closed. */
void hfi_sqlite_look_again(struct hfi_sqlite *s, hfi_time now, struct hfi_sqlite_waiting *waiting)
{
    struct hfi_sqlite_guard *guard;

    LL_FOREACH (waiting->before, guard) {
        if (now < guard->look_ns)
            continue;
        if (!hfi_sqlite_alive(s, &guard->peer)) {
            hfi_sqlite_let_go(s, waiting);
            hfi_sqlite_wake_up(s, waiting);
            return;
        }
        guard->look_ns =
            guard->looks < HFI_SQLITE_LOOKS ? now + (HFI_MSEC << guard->looks) : HF_TIME_NEVER;
        guard->looks++;
    }
}

/* Those who have a part of the name. Our own death we need not hear of. */
static int find_holders(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                        struct crowd *crowd)
{
    sqlite3_stmt *statement = hfi_sqlite_holders(s, line);
    struct hfi_sqlite_holder holder;
    bool held = false;
    int row = 1;

    while (crowd->count < HFI_SQLITE_BEFORE_MAX &&
           (row = hfi_sqlite_holder_next(s, statement, &holder)) > 0) {
        if (!hfi_sqlite_holds(s, now, &holder)) {
            crowd->clear |= line->family != HFI_SQLITE_LOCKS;
            continue;
        }
        held = true;
        if (holder.peer.client != s->client && !is_among(crowd, holder.peer.client))
            crowd->peer[crowd->count++] = holder.peer;
    }
    if (row > 0)
        sqlite3_reset(statement);
    crowd->clear |= !held && line->family == HFI_SQLITE_LOCKS;
    return row < 0 ? row : HF_OK;
}

/* The nearest before us in the line that lives, or the holders. */
static int find_before(struct hfi_sqlite *s, hfi_time now, const struct hfi_sqlite_line *line,
                       int64_t ticket, struct crowd *crowd)
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
            crowd->peer[crowd->count++] = other.peer;
        return HF_OK;
    }
    if (found < 0 || line->family == HFI_SQLITE_SEMAPHORES)
        return found; /* what is taken of a semaphore is nobody's */
    return find_holders(s, now, line, crowd);
}

/* In a read transaction: is it our turn, and if not, whose death must we hear of? */
static int examine(struct hfi_sqlite *s, hfi_time now, struct hfi_sqlite_waiting *waiting)
{
    const struct hfi_watch *watch = waiting->watch;
    struct hfi_sqlite_line line = hfi_sqlite_line_of(watch->name, watch->name_len, waiting->kind);
    struct crowd crowd = { .count = 0 };
    int64_t ticket;
    bool called;
    int found = hfi_sqlite_line_mine(s, watch->name, watch->name_len, waiting->kind, waiting->owner,
                                     &ticket, &called);

    if (found > 0 && !called && line.family != HFI_SQLITE_LATCHES)
        found = find_before(s, now, &line, ticket, &crowd) < 0 ? s->failure : 1;
    if (found < 0)
        return found;
    if (found == 0 || called || crowd.clear) { /* no ticket any more, or our turn */
        hfi_sqlite_let_go(s, waiting);
        hfi_sqlite_wake_up(s, waiting);
        return HF_OK;
    }
    if (!keep_watch(s, waiting, &crowd))
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
