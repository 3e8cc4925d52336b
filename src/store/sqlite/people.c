/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LIST, INSPECT, BREAK, CHECK: for people who look. Looking writes nothing and makes us nobody in the file.
 * Holds whose client is dead or whose lease is over are not shown as held, nor are the dead among waiters,
 * though their rows are there until somebody needs the lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/list.h"
#include "store/sqlite/sqlite.h"

/* Everybody who has a row, looked up once a query. */
struct person {
    int64_t id;
    bool alive;
    struct hf_holder holder; /* owner: only the UUID */
};

struct crowd {
    struct person *person; /* by id */
    size_t count, room;
};

/* ------------------------------------------------------------------------------------------------
 * The crowd
 */

static int by_id(const void *a, const void *b)
{
    const struct person *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static const struct person *look_up(const struct crowd *crowd, int64_t id)
{
    const struct person key = { .id = id };

    return crowd->count ? bsearch(&key, crowd->person, crowd->count, sizeof key, by_id) : NULL;
}

static struct person *add_person(struct crowd *crowd)
{
    if (crowd->count == crowd->room) {
        size_t room = crowd->room ? crowd->room * 2 : 16;
        struct person *moved = realloc(crowd->person, room * sizeof *moved);

        if (!moved)
            return NULL;
        crowd->person = moved;
        crowd->room = room;
    }
    return &crowd->person[crowd->count++];
}

static int read_crowd(struct hfi_sqlite *s, struct crowd *crowd)
{
    sqlite3_stmt *statement = hfi_sqlite_query(s, HFI_SQL_CLIENTS, "");
    struct hfi_sqlite_peer peer;
    struct person *person;
    const char *text;
    size_t len;
    int row;

    while ((row = hfi_sqlite_row(s, statement)) > 0) {
        person = add_person(crowd);
        if (!person)
            return hfi_sqlite_complain(s, HF_ERR_NO_MEMORY, "out of memory");
        person->id = sqlite3_column_int64(statement, 0);
        hfi_holder_init(&person->holder);
        hfi_sqlite_peer_read(s, statement, 1, person->id, &peer);
        person->alive = hfi_sqlite_alive(s, &peer);
        memcpy(person->holder.owner, peer.uuid, sizeof peer.uuid);
        text = hfi_sqlite_text(statement, 3, &len);
        hfi_holder_text(person->holder.host, sizeof person->holder.host, text, len);
        text = hfi_sqlite_text(statement, 4, &len);
        hfi_holder_text(person->holder.user, sizeof person->holder.user, text, len);
        text = hfi_sqlite_text(statement, 5, &len);
        hfi_holder_text(person->holder.program, sizeof person->holder.program, text, len);
        person->holder.pid = sqlite3_column_int64(statement, 6);
    }
    return row;
}

/* ------------------------------------------------------------------------------------------------
 * LIST, INSPECT
 */

/* Two queries that are sorted by name, read side by side. */
struct looking {
    struct hfi_sqlite *s;
    hfi_time now;
    struct crowd crowd;
    sqlite3_stmt *holds, *waiters;
    int hold, waiter; /* 1: at a row; 0: at the end */
    bool each;        /* waiters one by one */
    struct hf_list *list;
};

static int64_t milliseconds(hfi_time from, hfi_time until)
{
    return (int64_t)(hfi_time_until(from, until) / HFI_MSEC);
}

/* The name that comes first, of both; false: too long to be one of ours. */
static bool next_name(const struct looking *at, char *name, size_t *ret_len)
{
    size_t hold_len = 0, waiter_len = 0;
    const char *hold = at->hold ? hfi_sqlite_text(at->holds, 0, &hold_len) : "";
    const char *waiter = at->waiter ? hfi_sqlite_text(at->waiters, 0, &waiter_len) : "";
    int order = memcmp(hold, waiter, hold_len < waiter_len ? hold_len : waiter_len);
    bool hold_first = order ? order < 0 : hold_len <= waiter_len;

    if (at->hold && (hold_first || !at->waiter)) {
        waiter = hold;
        waiter_len = hold_len;
    }
    *ret_len = waiter_len;
    if (waiter_len > HF_NAME_MAX)
        return false;
    memcpy(name, waiter, waiter_len);
    return true;
}

static bool is_at(sqlite3_stmt *statement, int row, const char *name, size_t len)
{
    size_t count;
    const char *text = row > 0 ? hfi_sqlite_text(statement, 0, &count) : NULL;

    return text && count == len && memcmp(text, name, len) == 0;
}

/* Reads the hold that we are at into the lock, if it holds. */
static void read_hold(const struct looking *at, struct hfi_list_lock *lock)
{
    sqlite3_stmt *row = at->holds;
    const struct person *person = look_up(&at->crowd, sqlite3_column_int64(row, 1));
    hfi_time expires = (hfi_time)sqlite3_column_int64(row, 4);
    struct hf_holder *holder = &lock->holder;
    const char *label;
    size_t len;

    if (!person || !person->alive || expires <= at->now)
        return;
    lock->state = HFI_LOCK_HELD;
    *holder = person->holder;
    snprintf(holder->owner, sizeof holder->owner, "%.*s:%llu", HFI_SQLITE_UUID,
             person->holder.owner, (unsigned long long)sqlite3_column_int64(row, 2));
    holder->token = (uint64_t)sqlite3_column_int64(row, 3);
    holder->remaining_ms = milliseconds(at->now, expires);
    holder->age_ms = milliseconds((hfi_time)sqlite3_column_int64(row, 5), at->now);
    holder->count = 1;
    label = hfi_sqlite_text(row, 6, &len);
    hfi_holder_text(holder->label, sizeof holder->label, label, len);
}

static int read_waiter(const struct looking *at, struct hfi_list_lock *lock)
{
    const struct person *person = look_up(&at->crowd, sqlite3_column_int64(at->waiters, 1));
    struct hf_holder *waiter;

    if (!person || !person->alive)
        return HF_OK;
    lock->waiters++;
    if (!at->each)
        return HF_OK;
    waiter = hfi_list_add_waiter(lock);
    if (!waiter)
        return hfi_sqlite_complain(at->s, HF_ERR_NO_MEMORY, "out of memory");
    *waiter = person->holder;
    waiter->age_ms = milliseconds((hfi_time)sqlite3_column_int64(at->waiters, 2), at->now);
    waiter->count = sqlite3_column_int64(at->waiters, 3);
    return HF_OK;
}

/* Passes all rows of one name, and puts them into the list if anybody is there. */
static int look_at_name(struct looking *at, const char *name, size_t len, bool wanted)
{
    struct hfi_list_lock unseen = { .waiters = 0 };
    struct hfi_list_lock *lock = &unseen;
    int error = HF_OK;

    if (wanted)
        lock = hfi_list_add(at->list, name, len);
    if (!lock)
        return hfi_sqlite_complain(at->s, HF_ERR_NO_MEMORY, "out of memory");
    lock->state = HFI_LOCK_FREE;
    if (is_at(at->holds, at->hold, name, len)) {
        if (wanted)
            read_hold(at, lock);
        at->hold = hfi_sqlite_row(at->s, at->holds);
    }
    while (!error && is_at(at->waiters, at->waiter, name, len)) {
        if (wanted)
            error = read_waiter(at, lock);
        at->waiter = hfi_sqlite_row(at->s, at->waiters);
    }
    if (wanted && lock->state == HFI_LOCK_FREE && lock->waiters == 0) {
        free(lock->name); /* nobody: take it out again */
        free(lock->waiter);
        at->list->count--;
    }
    return error ? error : at->hold < 0 ? at->hold : at->waiter < 0 ? at->waiter : HF_OK;
}

static int look_at_all(struct looking *at, const char *pattern)
{
    char name[HF_NAME_MAX + 1];
    size_t len;
    int error = HF_OK;

    at->hold = hfi_sqlite_row(at->s, at->holds);
    at->waiter = at->hold < 0 ? at->hold : hfi_sqlite_row(at->s, at->waiters);
    if (at->waiter < 0)
        return at->waiter;
    while (!error && (at->hold || at->waiter)) {
        if (!next_name(at, name, &len))
            return hfi_sqlite_complain(at->s, HF_ERR_NOT_A_STORE,
                                       "%s is damaged (a name is too long): stop its users and "
                                       "remove it",
                                       hfi_sqlite_shown(at->s->path));
        name[len] = '\0';
        error = look_at_name(at, name, len, !pattern || hfi_glob_match(pattern, name));
    }
    return error;
}

int hfi_sqlite_list(struct hfi_sqlite *s, struct hfi_request *request)
{
    struct hfi_query *query = hfi_request_query(request);
    struct looking at = { .s = s, .now = hfi_sqlite_now(), .list = query->list };
    int error = read_crowd(s, &at.crowd);

    if (!error) {
        at.holds = hfi_sqlite_query(s, HFI_SQL_LIST_HOLDS, "");
        at.waiters = hfi_sqlite_query(s, HFI_SQL_LIST_WAITERS, "");
        error = look_at_all(&at, query->text);
    }
    free(at.crowd.person);
    query->cursor = 0;
    return error;
}

int hfi_sqlite_inspect(struct hfi_sqlite *s, struct hfi_request *request)
{
    struct hfi_query *query = hfi_request_query(request);
    struct looking at = { .s = s, .now = hfi_sqlite_now(), .list = query->list, .each = true };
    size_t before = query->list->count, len = strlen(query->text);
    int error = read_crowd(s, &at.crowd);

    if (!error) {
        at.holds = hfi_sqlite_query(s, HFI_SQL_SHOW_HOLDS, "t", query->text, len);
        at.waiters = hfi_sqlite_query(s, HFI_SQL_SHOW_WAITERS, "t", query->text, len);
        error = look_at_all(&at, NULL);
    }
    free(at.crowd.person);
    if (!error && query->list->count == before)
        return hfi_sqlite_complain(s, HF_ERR_NOT_FOUND, "nobody holds %.200s or waits for it",
                                   query->text);
    return error;
}

/* ------------------------------------------------------------------------------------------------
 * BREAK, CHECK
 */

int hfi_sqlite_break(struct hfi_sqlite *s, struct hfi_request *request)
{
    const struct hfi_query *query = hfi_request_query(request);
    size_t len = strlen(query->text);
    hfi_time now = hfi_sqlite_now();
    struct hfi_sqlite_holder holder;
    char owner[HF_OWNER_MAX + 1];
    int found = hfi_sqlite_holder(s, query->text, len, &holder);
    int error;

    if (found < 0)
        return found;
    snprintf(owner, sizeof owner, "%s:%llu", found ? holder.peer.uuid : "",
             found ? (unsigned long long)holder.owner : 0ULL);
    if (!found || strcmp(owner, query->owner) != 0) {
        if (found && hfi_sqlite_holds(s, now, &holder))
            return hfi_sqlite_complain(s, HF_ERR_CHANGED, "%.200s is held by %s now", query->text,
                                       owner);
        return hfi_sqlite_complain(s, HF_ERR_NOT_FOUND, "nobody holds %.200s", query->text);
    }
    error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_HOLD_DROP, "t", query->text, len));
    if (error >= 0)
        error =
            hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_CLIENT_BREAK, "i", holder.peer.client));
    if (error < 0)
        return error;
    if (holder.peer.here)
        hfi_sqlite_errand(s, holder.peer.uuid, false);
    return hfi_sqlite_line_call(s, now, query->text, len);
}

int hfi_sqlite_check(struct hfi_sqlite *s, struct hfi_request *request)
{
    int row = hfi_sqlite_row(s, hfi_sqlite_query(s, HFI_SQL_META, "it", INT64_C(0), "", (size_t)0));

    (void)request;
    return row < 0 ? row : HF_OK;
}
