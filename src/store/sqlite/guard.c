/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards: the files of those before our waiters that are watched.
 *
 * A file is watched before its client's life is looked at: its death is seen by one of the two. The kernel
 * tells that a file was closed a moment before it drops the lock, so the lock is looked at again a few times.
 * Several guards may share one of the kernel's watches, which goes with the last of them.
 */
#include <stdlib.h>
#include <sys/inotify.h>

#include <utlist.h>

#include "store/sqlite/watch.h"

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

bool hfi_sqlite_is_before(const struct hfi_sqlite_before *before, int64_t client)
{
    for (size_t i = 0; i < before->count; i++)
        if (before->peer[i].client == client)
            return true;
    return false;
}

/* Watches these and nobody else. False: one has died meanwhile. */
bool hfi_sqlite_keep_watch(struct hfi_sqlite *s, struct hfi_sqlite_waiting *waiting,
                           const struct hfi_sqlite_before *before)
{
    struct hfi_sqlite_guard *guard, *next;
    bool ok = true;

    LL_FOREACH_SAFE (waiting->before, guard, next)
        if (guard->descriptor < 0 || !hfi_sqlite_is_before(before, guard->peer.client))
            drop_guard(s, waiting, guard);
    for (size_t i = 0; i < before->count && ok; i++)
        if (!find_guard(waiting, before->peer[i].client))
            ok = add_guard(s, waiting, &before->peer[i]);
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
