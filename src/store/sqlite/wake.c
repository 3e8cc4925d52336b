/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns: the epoll and inotify descriptors, the list of woken watches.
 *
 * Invariants
 *   1. we listen to our own file before we look who is before us in the line (watch.c): what changes after
 *      the look is told (line.c), so from a WATCH that is DONE on nothing is missed;
 *   2. a wake-up is a hint. Where something cannot be found out, everybody is woken.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <utlist.h>

#include "store/sqlite/watch.h"

int hfi_sqlite_wake_init(struct hfi_sqlite *s)
{
    struct hfi_sqlite_wake *wake = &s->wake;

    wake->inotify = wake->self = -1;
    wake->rearm_ns = wake->listen_ns = HF_TIME_NEVER;
    atomic_store(&wake->deadline_ns, HF_TIME_NEVER);
    wake->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (wake->epoll < 0)
        return hfi_sqlite_complain(s, hfi_sqlite_errno(errno), "cannot make an epoll: %s",
                                   strerror(errno));
    if (pthread_mutex_init(&wake->lock, NULL) == 0)
        return HF_OK;
    close(wake->epoll);
    return hfi_sqlite_complain(s, HF_ERR_NO_MEMORY, "out of memory");
}

void hfi_sqlite_wake_close(struct hfi_sqlite *s)
{
    if (s->wake.inotify >= 0)
        close(s->wake.inotify);
    if (s->wake.epoll >= 0)
        close(s->wake.epoll);
    s->wake.inotify = s->wake.epoll = s->wake.self = -1;
}

void hfi_sqlite_wake_fini(struct hfi_sqlite *s)
{
    struct hfi_sqlite_waiting *waiting, *tmp;

    hfi_sqlite_wake_close(s);
    DL_FOREACH_SAFE (s->wake.waiting, waiting, tmp) {
        hfi_sqlite_let_go(s, waiting);
        DL_DELETE(s->wake.waiting, waiting);
        free(waiting);
    }
    pthread_mutex_destroy(&s->wake.lock);
}

/* ------------------------------------------------------------------------------------------------
 * Woken
 */

void hfi_sqlite_wake_up(struct hfi_sqlite *s, struct hfi_sqlite_waiting *waiting)
{
    pthread_mutex_lock(&s->wake.lock);
    if (!waiting->watch->woken) {
        waiting->watch->woken = true;
        LL_APPEND2(s->wake.woken, waiting->watch, next_woken);
    }
    pthread_mutex_unlock(&s->wake.lock);
}

static void wake_all(struct hfi_sqlite *s)
{
    struct hfi_sqlite_waiting *waiting;

    DL_FOREACH (s->wake.waiting, waiting)
        hfi_sqlite_wake_up(s, waiting);
}

struct hfi_watch *hfi_sqlite_woken(struct hfi_sqlite *s)
{
    struct hfi_watch *watch;

    pthread_mutex_lock(&s->wake.lock);
    watch = s->wake.woken;
    if (watch) {
        LL_DELETE2(s->wake.woken, watch, next_woken);
        watch->woken = false;
    }
    pthread_mutex_unlock(&s->wake.lock);
    return watch;
}

static void set_restored(struct hfi_sqlite *s)
{
    pthread_mutex_lock(&s->wake.lock);
    s->wake.restored = true;
    pthread_mutex_unlock(&s->wake.lock);
}

bool hfi_sqlite_restored(struct hfi_sqlite *s)
{
    bool restored;

    pthread_mutex_lock(&s->wake.lock);
    restored = s->wake.restored;
    s->wake.restored = false;
    pthread_mutex_unlock(&s->wake.lock);
    return restored;
}

/* ------------------------------------------------------------------------------------------------
 * Listening
 */

static bool open_inotify(struct hfi_sqlite *s)
{
    struct epoll_event event = { .events = EPOLLIN };

    if (s->wake.inotify >= 0)
        return true;
    s->wake.inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (s->wake.inotify < 0)
        return false;
    if (epoll_ctl(s->wake.epoll, EPOLL_CTL_ADD, s->wake.inotify, &event) == 0)
        return true;
    close(s->wake.inotify);
    s->wake.inotify = -1;
    return false;
}

/* Listens to our own file. True: pokes reach us from now on, or will as soon as there is a file. */
bool hfi_sqlite_listen(struct hfi_sqlite *s)
{
    char path[HFI_SQLITE_PATH_ROOM];

    if (open_inotify(s) && (s->wake.self >= 0 || atomic_load(&s->liveness) < 0))
        return true;
    if (s->wake.inotify >= 0) {
        hfi_sqlite_life_path(s, s->identity->id, path);
        s->wake.self = inotify_add_watch(s->wake.inotify, path, IN_ATTRIB | IN_DONT_FOLLOW);
        if (s->wake.self >= 0)
            return true;
    }
    hfi_sqlite_complain(s, HF_ERR_SYSTEM,
                        "no inotify watch to be had (%s): waiters look once in a while instead; "
                        "see fs.inotify in sysctl(8)",
                        strerror(errno));
    if (!s->wake.complained)
        hfi_trace(&s->store.trace, HF_TRACE_WARNING, "%s", s->store.detail);
    s->wake.complained = true;
    return false;
}

/* ------------------------------------------------------------------------------------------------
 * What happened to us
 */

void hfi_sqlite_wake_joined(struct hfi_sqlite *s)
{
    s->wake.broken = 0;
    if (s->wake.waiting)
        hfi_sqlite_listen(s);
}

void hfi_sqlite_wake_tried(struct hfi_sqlite *s, const struct hfi_lease *lease)
{
    struct hfi_sqlite_waiting *waiting;

    if (lease->verdict == HFI_GRANTED && s->wake.self < 0 && s->wake.listen_ns == HF_TIME_NEVER)
        s->wake.listen_ns = hfi_sqlite_now() + HFI_SQLITE_LISTEN_AFTER;
    if (lease->verdict != HFI_BUSY || !lease->ticket)
        return;
    DL_FOREACH (s->wake.waiting, waiting)
        if (hfi_sqlite_waits_for(waiting, lease) && hfi_sqlite_listen(s))
            hfi_sqlite_examine(s, hfi_sqlite_now(), waiting);
}

void hfi_sqlite_wake_lost(struct hfi_sqlite *s)
{
    struct hfi_sqlite_waiting *waiting;

    DL_FOREACH (s->wake.waiting, waiting)
        hfi_sqlite_let_go(s, waiting);
    wake_all(s);
    set_restored(s);
}

/* ------------------------------------------------------------------------------------------------
 * Collecting
 */

/* A file of somebody before one of ours was closed, or is gone. */
static void on_closed(struct hfi_sqlite *s, hfi_time now, const struct inotify_event *event)
{
    struct hfi_sqlite_waiting *waiting;
    struct hfi_sqlite_guard *guard;

    DL_FOREACH (s->wake.waiting, waiting) {
        LL_FOREACH (waiting->before, guard) {
            if (guard->descriptor != event->wd)
                continue;
            guard->look_ns = now;
            guard->looks = 0;
            if (event->mask & IN_IGNORED) {
                guard->descriptor = -1;
                s->wake.watched--;
            }
        }
    }
}

static void on_event(struct hfi_sqlite *s, hfi_time now, const struct inotify_event *event)
{
    if (event->mask & IN_Q_OVERFLOW)
        s->wake.overflow = true;
    if (event->wd == s->wake.self) {
        s->wake.poked = true;
        if (event->mask & IN_IGNORED)
            s->wake.self = -1;
    } else if (event->wd >= 0) {
        on_closed(s, now, event);
    }
}

static void drain(struct hfi_sqlite *s, hfi_time now)
{
    _Alignas(struct inotify_event) char buffer[4096];
    ssize_t count;

    while (s->wake.inotify >= 0 && ((count = read(s->wake.inotify, buffer, sizeof buffer)) > 0 ||
                                    (count < 0 && errno == EINTR))) {
        for (ssize_t at = 0; at < count;) {
            const struct inotify_event *event = (const void *)(buffer + at);

            on_event(s, now, event);
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
}

/* Was a hold of ours taken away, or are we taken for dead? */
static void look_for_break(struct hfi_sqlite *s)
{
    sqlite3_stmt *statement;
    int row;

    if (!s->client)
        return;
    statement = hfi_sqlite_query(s, HFI_SQL_CLIENT_BROKEN, "it", s->client, s->identity->id,
                                 strlen(s->identity->id));
    row = hfi_sqlite_row(s, statement);
    if (row > 0 && sqlite3_column_int64(statement, 0) == s->wake.broken)
        return;
    if (row > 0)
        s->wake.broken = sqlite3_column_int64(statement, 0);
    set_restored(s);
}

static void on_poke(struct hfi_sqlite *s, hfi_time now)
{
    int error;

    s->give_up_ns = now + s->op_timeout_ns;
    error = hfi_sqlite_ready(s);
    if (!error)
        error = hfi_sqlite_begin(s, false);
    if (error) {
        wake_all(s);
        set_restored(s);
    } else {
        look_for_break(s);
        hfi_sqlite_rollback(s);
        hfi_sqlite_examine(s, now, NULL);
    }
    if (s->drop && s->db)
        hfi_sqlite_disconnect(s);
}

void hfi_sqlite_collect(struct hfi_sqlite *s, hfi_time now)
{
    struct hfi_sqlite_waiting *waiting;

    drain(s, now);
    if (now >= s->wake.rearm_ns) {
        /* From now on they hear; of what was before, they did not. */
        s->wake.overflow = hfi_sqlite_listen(s);
        s->wake.rearm_ns = s->wake.overflow ? HF_TIME_NEVER : now + HFI_SQLITE_REARM;
    }
    if (now >= s->wake.listen_ns) {
        s->wake.listen_ns = HF_TIME_NEVER;
        if (s->granted > s->ended && hfi_sqlite_listen(s))
            s->wake.poked = true;
    }
    if (s->wake.overflow) {
        wake_all(s);
        s->wake.poked = true;
    }
    if (s->wake.poked)
        on_poke(s, now);
    s->wake.poked = s->wake.overflow = false;
    DL_FOREACH (s->wake.waiting, waiting)
        hfi_sqlite_look_again(s, now, waiting);
}

void hfi_sqlite_wake_plan(struct hfi_sqlite *s)
{
    struct hfi_sqlite_waiting *waiting;
    hfi_time deadline = hfi_time_min(s->wake.listen_ns, s->wake.rearm_ns);

    if (!s->wake.waiting)
        s->wake.rearm_ns = HF_TIME_NEVER;
    DL_FOREACH (s->wake.waiting, waiting)
        deadline = hfi_time_min(deadline, hfi_sqlite_look_time(waiting));
    atomic_store(&s->wake.deadline_ns, deadline);
}
