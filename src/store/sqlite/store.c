/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The class of the embedded store: opening, and what surrounds each request.
 *
 * A request is one transaction: checked connection, BEGIN, body, COMMIT, then errands (wake-ups, files of
 * the dead). Its outcome follows from where it failed (db.c). Three failures are repaired here and the
 * request is run again: a new boot or used-up tokens (epoch.c), a file that was replaced (open.c), and a
 * full disk, where writing the log back makes its blocks free for use again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/sqlite/sqlite.h"

/* ALONE: the body begins a transaction if it needs one. OURS: nothing to write when we have no row. */
enum mode { MODE_ALONE, MODE_READ, MODE_WRITE, MODE_OURS };

struct job {
    int (*body)(struct hfi_sqlite *s, struct hfi_request *request);
    enum mode mode;
};

static const struct job JOBS[HFI_OP_COUNT] = {
    [HFI_OP_TRY] = { hfi_sqlite_try, MODE_WRITE },
    [HFI_OP_RELEASE] = { hfi_sqlite_release, MODE_OURS },
    [HFI_OP_RENEW] = { hfi_sqlite_renew, MODE_OURS },
    [HFI_OP_WATCH] = { hfi_sqlite_watch, MODE_ALONE },
    [HFI_OP_UNWATCH] = { hfi_sqlite_unwatch, MODE_ALONE },
    [HFI_OP_LEAVE] = { hfi_sqlite_leave_line, MODE_OURS },
    [HFI_OP_ANNOUNCE] = { hfi_sqlite_announce, MODE_OURS },
    [HFI_OP_FAREWELL] = { hfi_sqlite_farewell, MODE_OURS },
    [HFI_OP_CHECK] = { hfi_sqlite_check, MODE_READ },
    [HFI_OP_LIST] = { hfi_sqlite_list, MODE_READ },
    [HFI_OP_INSPECT] = { hfi_sqlite_inspect, MODE_READ },
    [HFI_OP_BREAK] = { hfi_sqlite_break, MODE_WRITE },
    [HFI_OP_OBJECT] = { hfi_sqlite_object, MODE_WRITE },
};

/* ------------------------------------------------------------------------------------------------
 * One request
 */

/* Nothing was written, whatever the body has noted. */
static void undo(struct hfi_sqlite *s)
{
    hfi_sqlite_rollback(s);
    s->errands = 0;
    if (s->client_is_new)
        hfi_sqlite_forget(s);
}

/* An announcement that only repeats that we live: the lock on our file says that. */
static bool says_nothing(struct hfi_request *request)
{
    return request->op == HFI_OP_ANNOUNCE && hfi_request_announcement(request)->count == 0;
}

static int transact(struct hfi_sqlite *s, const struct job *job, struct hfi_request *request)
{
    bool durable = hfi_sqlite_is_durable(request);
    int error = durable ? hfi_sqlite_sync(s, true) : HF_OK;

    if (!error)
        error = hfi_sqlite_begin(s, job->mode != MODE_READ);
    if (!error) {
        error = job->body(s, request);
        if (!error)
            error = hfi_sqlite_commit(s);
        if (error)
            undo(s);
    }
    if (durable && s->db && !s->drop)
        hfi_sqlite_sync(s, false); /* its failure ends the connection, not what is committed */
    return error;
}

static int run_once(struct hfi_sqlite *s, const struct job *job, struct hfi_request *request)
{
    int error;

    s->unknown = false;
    error = hfi_sqlite_ready(s);
    if (job->mode == MODE_ALONE)
        return job->body(s, request);
    if (error)
        return error;
    if (job->mode == MODE_OURS && (!s->client || says_nothing(request)))
        return job->body(s, request);
    return transact(s, job, request);
}

/* A full disk: the log's blocks can be used again once it is written back. */
static void write_back(struct hfi_sqlite *s)
{
    if (s->db)
        sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

static int run(struct hfi_sqlite *s, const struct job *job, struct hfi_request *request)
{
    bool written_back = false, reopened = false, new_epoch = false;

    for (;;) {
        int error = run_once(s, job, request);

        if (error == HFI_SQLITE_NEW_EPOCH) {
            error = new_epoch ? hfi_sqlite_two_boots(s) : hfi_sqlite_new_epoch(s);
            new_epoch = true;
            if (error == HF_OK)
                continue;
        }
        if (error == HF_ERR_STORE_FULL && !s->unknown && !written_back && !s->drop) {
            written_back = true;
            write_back(s);
            continue;
        }
        if (error && s->moved && !s->unknown && !reopened) {
            reopened = true;
            hfi_sqlite_disconnect(s);
            s->moved = false;
            continue;
        }
        return error;
    }
}

/* It is committed. */
static void conclude(struct hfi_sqlite *s, struct hfi_request *request)
{
    const struct hfi_lease *lease = hfi_request_lease(request);

    if (s->client_is_new) {
        s->client_is_new = false;
        hfi_sqlite_wake_joined(s);
    }
    hfi_sqlite_run_errands(s);
    if (request->op == HFI_OP_TRY) {
        s->granted += lease->verdict == HFI_GRANTED && hfi_sqlite_is_hold(lease->kind);
        hfi_sqlite_wake_tried(s, lease);
    } else if (request->op == HFI_OP_RELEASE) {
        s->ended += lease->verdict == HFI_RELEASED && hfi_sqlite_is_hold(lease->kind);
    } else if (request->op == HFI_OP_OBJECT) {
        hfi_sqlite_object_done(s, hfi_request_object(request));
    } else if (request->op == HFI_OP_FAREWELL) {
        hfi_sqlite_leave_life(s);
        hfi_sqlite_forget(s);
    }
}

static void perform(struct hfi_sqlite *s, hfi_time now, struct hfi_request *request)
{
    int error;

    s->give_up_ns = hfi_time_min(request->deadline_ns, hfi_time_add(now, s->op_timeout_ns));
    s->store.detail[0] = '\0';
    error = run(s, &JOBS[request->op], request);
    if (!error) {
        conclude(s, request);
        hfi_request_finish(request, HFI_DONE, HF_OK);
        if (s->frames && !s->drop)
            hfi_sqlite_shorten_log(s);
    } else if (s->unknown) {
        s->granted +=
            request->op == HFI_OP_TRY && hfi_sqlite_is_hold(hfi_request_lease(request)->kind);
        hfi_request_finish(request, HFI_UNKNOWN, HF_ERR_UNSURE);
    } else {
        hfi_request_finish(request, HFI_NOT_DONE, error);
    }
    if (s->drop && s->db)
        hfi_sqlite_disconnect(s);
    hfi_sqlite_wake_plan(s);
}

/* ------------------------------------------------------------------------------------------------
 * The class
 */

static bool is_forked(const struct hfi_sqlite *s)
{
    return s->generation != hfi_sqlite_generation();
}

static void execute(struct hfi_store *store, hfi_time now, struct hfi_request *request)
{
    struct hfi_sqlite *s = hfi_sqlite_of(store);
    struct hfi_sqlite_inside inside;

    if (!request->sent_ns) /* the host may have done so, under its lock */
        request->sent_ns = now;
    if (is_forked(s)) {
        hfi_request_finish(request, HFI_NOT_DONE, HF_ERR_FORKED);
        return;
    }
    hfi_sqlite_enter(&inside);
    perform(s, now, request);
    hfi_sqlite_leave(&inside);
}

static void collect(struct hfi_store *store, hfi_time now)
{
    struct hfi_sqlite *s = hfi_sqlite_of(store);
    struct hfi_sqlite_inside inside;

    if (is_forked(s))
        return;
    hfi_sqlite_enter(&inside);
    hfi_sqlite_collect(s, now);
    hfi_sqlite_wake_plan(s);
    hfi_sqlite_leave(&inside);
}

static int wake_fd(struct hfi_store *store)
{
    return hfi_sqlite_of(store)->wake.epoll;
}

static struct hfi_watch *woken(struct hfi_store *store)
{
    return hfi_sqlite_woken(hfi_sqlite_of(store));
}

static hfi_time deadline(struct hfi_store *store)
{
    return atomic_load(&hfi_sqlite_of(store)->wake.deadline_ns);
}

static bool restored(struct hfi_store *store)
{
    return hfi_sqlite_restored(hfi_sqlite_of(store));
}

static int liveness_fd(struct hfi_store *store)
{
    return atomic_load(&hfi_sqlite_of(store)->liveness);
}

static void forked(struct hfi_store *store)
{
    struct hfi_sqlite *s = hfi_sqlite_of(store);
    int fd = atomic_exchange(&s->liveness, -1);

    if (fd >= 0)
        close(fd);
    hfi_sqlite_wake_close(s);
}

static const char *uri(struct hfi_store *store)
{
    return hfi_sqlite_of(store)->uri;
}

/* In a forked child nothing of SQLite is touched: its memory stays as it is. */
static void free_store(struct hfi_store *store)
{
    struct hfi_sqlite *s = hfi_sqlite_of(store);
    struct hfi_request farewell = { .op = HFI_OP_FAREWELL, .deadline_ns = HF_TIME_NEVER };
    struct hfi_sqlite_inside inside;

    if (is_forked(s)) {
        forked(store);
    } else {
        if (s->client)
            execute(store, hfi_sqlite_now(), &farewell);
        hfi_sqlite_enter(&inside);
        hfi_sqlite_leave_life(s);
        hfi_sqlite_disconnect(s);
        hfi_sqlite_leave(&inside);
    }
    hfi_sqlite_wake_fini(s);
    if (s->errand != s->errand_room)
        free(s->errand);
    free(s);
}

static const struct hfi_library_class LIBRARY = {
    .execute = execute,
    .wake_fd = wake_fd,
    .collect = collect,
    .woken = woken,
    .deadline = deadline,
    .restored = restored,
    .liveness_fd = liveness_fd,
    .forked = forked,
};

static const struct hfi_store_class CLASS = {
    .name = "sqlite",
    .announces = true,
    .library = &LIBRARY,
    .uri = uri,
    .free = free_store,
};

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

static int open_inside(struct hfi_sqlite *s, const char *rest)
{
    int error =
        hfi_sqlite_path(rest, s->path, &s->private_, s->store.detail, sizeof s->store.detail);

    if (error)
        return error;
    snprintf(s->folder, sizeof s->folder, "%.*s.d", HFI_SQLITE_PATH_MAX, s->path);
    snprintf(s->uri, sizeof s->uri, "sqlite:%.*s", HFI_SQLITE_PATH_MAX, s->path);
    s->give_up_ns = hfi_time_add(hfi_sqlite_now(), s->op_timeout_ns);
    error = hfi_sqlite_read_boot(s);
    return error ? error : hfi_sqlite_connect(s);
}

static struct hfi_sqlite *make(const struct hfi_store_config *config)
{
    struct hfi_sqlite *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->store.class_ = &CLASS;
    s->store.kinds = HFI_KIND_BIT(HFI_KIND_COUNT) - 1;
    s->store.verbs = hfi_sqlite_verbs();
    s->store.trace = config->trace;
    s->identity = config->identity;
    s->op_timeout_ns = config->op_timeout_ns ? config->op_timeout_ns : HFI_SQLITE_TIMEOUT;
    hfi_random_init(&s->random, config->seed);
    s->generation = hfi_sqlite_generation();
    s->errand = s->errand_room;
    s->errand_limit = HFI_SQLITE_ERRANDS;
    atomic_store(&s->liveness, -1);
    return s;
}

static int open_store(const char *scheme, const char *rest, const struct hfi_store_config *config,
                      struct hfi_store **ret_store, char *detail)
{
    struct hfi_sqlite_inside inside;
    struct hfi_sqlite *s;
    int error = hfi_sqlite_fork_guard(detail, HFI_DETAIL_MAX);

    (void)scheme;
    if (error)
        return error;
    s = make(config);
    if (!s) {
        snprintf(detail, HFI_DETAIL_MAX, "out of memory");
        return HF_ERR_NO_MEMORY;
    }
    hfi_sqlite_enter(&inside);
    error = hfi_sqlite_wake_init(s);
    if (!error) {
        error = open_inside(s, rest);
        if (error)
            hfi_sqlite_wake_fini(s);
    }
    hfi_sqlite_leave(&inside);
    if (error) {
        memcpy(detail, s->store.detail, HFI_DETAIL_MAX);
        free(s);
        return error;
    }
    *ret_store = &s->store;
    return HF_OK;
}

const struct hfi_driver hfi_driver_sqlite = { .schemes = "sqlite", .open = open_store };
