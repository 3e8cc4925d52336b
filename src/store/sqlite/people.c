/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LIST, INSPECT: for people who look. Looking writes nothing and makes us nobody in the file. Holds whose
 * client is dead or whose lease is over are not shown as held, nor are the dead among waiters, though their
 * rows are there until somebody needs the room.
 *
 * What is under one name in several families (kind.h) is shown as so many locks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/list.h"
#include "store/sqlite/crowd.h"

/* Three queries that are sorted by name and family, read side by side. */
enum { HOLDS, TALLIES, WAITERS, STREAMS };

struct stream {
    sqlite3_stmt *statement;
    int row; /* 1: at a row; 0: at the end */
};

struct key {
    char name[HF_NAME_MAX + 1];
    size_t len;
    int family;
};

struct looking {
    struct hfi_sqlite *s;
    hfi_time now;
    struct hfi_sqlite_crowd crowd;
    struct stream stream[STREAMS];
    bool each; /* waiters one by one */
    struct hf_list *list;
};

static int64_t milliseconds(hfi_time from, hfi_time until)
{
    return (int64_t)(hfi_time_until(from, until) / HFI_MSEC);
}

static int step(const struct looking *at, struct stream *stream)
{
    stream->row = hfi_sqlite_row(at->s, stream->statement);
    return stream->row < 0 ? stream->row : HF_OK;
}

/* Where the row that the stream is at stands to the key: below 0, 0, above. */
static int compare(const struct stream *stream, const struct key *key)
{
    size_t len;
    const char *text = hfi_sqlite_text(stream->statement, 0, &len);
    int order = memcmp(text, key->name, len < key->len ? len : key->len);

    if (!order)
        order = (len > key->len) - (len < key->len);
    return order ? order : sqlite3_column_int(stream->statement, 1) - key->family;
}

/* False: too long to be one of ours. */
static bool take_key(const struct stream *stream, struct key *key)
{
    size_t len;
    const char *text = hfi_sqlite_text(stream->statement, 0, &len);

    if (len > HF_NAME_MAX)
        return false;
    memcpy(key->name, text, len);
    key->name[len] = '\0';
    key->len = len;
    key->family = sqlite3_column_int(stream->statement, 1);
    return true;
}

/* The key that comes first: 1, 0 at the end, or an error. */
static int next_key(const struct looking *at, struct key *key)
{
    bool any = false, ok = true;

    for (int i = 0; i < STREAMS && ok; i++) {
        if (at->stream[i].row <= 0 || (any && compare(&at->stream[i], key) >= 0))
            continue;
        ok = take_key(&at->stream[i], key);
        any = true;
    }
    return ok ? any
              : hfi_sqlite_complain(at->s, HF_ERR_NOT_A_STORE,
                                    "%s is damaged (a name is too long): stop its users and "
                                    "remove it",
                                    hfi_sqlite_shown(at->s->path));
}

static bool is_at(const struct stream *stream, const struct key *key)
{
    return stream->row > 0 && compare(stream, key) == 0;
}

/* ------------------------------------------------------------------------------------------------
 * What is in a row
 */

static const char *kind_name(int kind)
{
    static const char *const NAMES[HFI_KIND_COUNT] = {
        [HFI_KIND_MUTEX] = "mutex",     [HFI_KIND_SPIN] = "mutex",
        [HFI_KIND_FENCED] = "mutex",    [HFI_KIND_FAIR] = "fair",
        [HFI_KIND_WRITE] = "write",     [HFI_KIND_READ] = "read",
        [HFI_KIND_PERMITS] = "permits", [HFI_KIND_SEMAPHORE] = "semaphore",
        [HFI_KIND_LATCH] = "latch",
    };

    return kind >= 0 && kind < HFI_KIND_COUNT ? NAMES[kind] : "";
}

static void describe_holder(const struct looking *at, const struct hfi_sqlite_person *person,
                            struct hf_holder *holder)
{
    sqlite3_stmt *row = at->stream[HOLDS].statement;
    const char *label;
    size_t len;

    *holder = person->holder;
    snprintf(holder->owner, sizeof holder->owner, "%.*s:%llu", HFI_SQLITE_UUID,
             person->holder.owner, (unsigned long long)sqlite3_column_int64(row, 3));
    holder->token = (uint64_t)sqlite3_column_int64(row, 6);
    holder->remaining_ms = milliseconds(at->now, (hfi_time)sqlite3_column_int64(row, 7));
    holder->age_ms = milliseconds((hfi_time)sqlite3_column_int64(row, 8), at->now);
    holder->count =
        sqlite3_column_int64(row, 5) > 0 ? sqlite3_column_int64(row, 5) : 1; /* permits */
    label = hfi_sqlite_text(row, 9, &len);
    hfi_holder_text(holder->label, sizeof holder->label, label, len);
}

/* Reads the hold that we are at into the lock, if it holds. What the owner of a write hold reads beside it is
 * not another holder's. */
static int read_hold(const struct looking *at, struct hfi_list_lock *lock, int64_t *taken)
{
    sqlite3_stmt *row = at->stream[HOLDS].statement;
    const struct hfi_sqlite_person *person =
        hfi_sqlite_crowd_find(&at->crowd, sqlite3_column_int64(row, 2));
    struct hf_holder reader, *holder = &lock->holder;

    if (!person || !person->alive || (hfi_time)sqlite3_column_int64(row, 7) <= at->now)
        return HF_OK;
    *taken += sqlite3_column_int64(row, 5);
    if (lock->state == HFI_LOCK_HELD) {
        describe_holder(at, person, &reader);
        if (strcmp(lock->kind, "write") == 0 && strcmp(reader.owner, lock->holder.owner) == 0)
            return HF_OK;
        holder = hfi_list_add_holder(lock);
        if (!holder)
            return hfi_sqlite_complain(at->s, HF_ERR_NO_MEMORY, "out of memory");
    } else {
        lock->kind = kind_name(sqlite3_column_int(row, 4));
        lock->state = HFI_LOCK_HELD;
    }
    describe_holder(at, person, holder);
    lock->holders++;
    return HF_OK;
}

/* A number of permits, of a semaphore or of a latch, unless its time is over. */
static bool read_tally(const struct looking *at, struct hfi_list_lock *lock, int64_t taken)
{
    static const uint8_t KINDS[] = { HFI_KIND_MUTEX, HFI_KIND_PERMITS, HFI_KIND_SEMAPHORE,
                                     HFI_KIND_LATCH };
    sqlite3_stmt *row = at->stream[TALLIES].statement;

    if (sqlite3_column_type(row, 3) != SQLITE_NULL &&
        sqlite3_column_int64(row, 3) <= (int64_t)at->now)
        return false;
    lock->available = sqlite3_column_int64(row, 2) - taken;
    lock->kind = kind_name(KINDS[sqlite3_column_int(row, 1) & 3]);
    return true;
}

static int read_waiter(const struct looking *at, struct hfi_list_lock *lock)
{
    sqlite3_stmt *row = at->stream[WAITERS].statement;
    const struct hfi_sqlite_person *person =
        hfi_sqlite_crowd_find(&at->crowd, sqlite3_column_int64(row, 2));
    struct hf_holder *waiter;

    if (!person || !person->alive)
        return HF_OK;
    lock->waiters++;
    if (!lock->kind[0])
        lock->kind = kind_name(sqlite3_column_int(row, 5));
    if (!at->each)
        return HF_OK;
    waiter = hfi_list_add_waiter(lock);
    if (!waiter)
        return hfi_sqlite_complain(at->s, HF_ERR_NO_MEMORY, "out of memory");
    *waiter = person->holder;
    waiter->age_ms = milliseconds((hfi_time)sqlite3_column_int64(row, 3), at->now);
    waiter->count = sqlite3_column_int64(row, 4);
    return HF_OK;
}

/* Reads all rows of one key; without a lock, passes them. False in *ret_there: nobody and nothing is there. */
static int read_rows(struct looking *at, const struct key *key, struct hfi_list_lock *lock,
                     bool *ret_there)
{
    int64_t taken = 0;
    int error = HF_OK;

    *ret_there = false;
    for (int i = 0; i < STREAMS; i++) {
        while (!error && is_at(&at->stream[i], key)) {
            if (lock && i == HOLDS)
                error = read_hold(at, lock, &taken);
            else if (lock && i == TALLIES)
                *ret_there |= read_tally(at, lock, taken);
            else if (lock)
                error = read_waiter(at, lock);
            if (!error)
                error = step(at, &at->stream[i]);
        }
    }
    *ret_there |= lock && (lock->state == HFI_LOCK_HELD || lock->waiters > 0);
    return error;
}

static int look_at_key(struct looking *at, const struct key *key, bool wanted)
{
    struct hfi_list_lock *lock = NULL;
    bool there;
    int error;

    if (wanted) {
        lock = hfi_list_add(at->list, key->name, key->len);
        if (!lock)
            return hfi_sqlite_complain(at->s, HF_ERR_NO_MEMORY, "out of memory");
        lock->state = HFI_LOCK_FREE;
    }
    error = read_rows(at, key, lock, &there);
    if (lock && !there) { /* take it out again */
        free(lock->name);
        free(lock->other);
        free(lock->waiter);
        at->list->count--;
    }
    return error;
}

static int look_at_all(struct looking *at, const char *pattern)
{
    struct key key;
    int found = 0, error = HF_OK;

    for (int i = 0; i < STREAMS && !error; i++)
        error = step(at, &at->stream[i]);
    while (!error && (found = next_key(at, &key)) > 0)
        error = look_at_key(at, &key, !pattern || hfi_glob_match(pattern, key.name));
    return error ? error : found;
}

int hfi_sqlite_list(struct hfi_sqlite *s, struct hfi_request *request)
{
    struct hfi_query *query = hfi_request_query(request);
    struct looking at = { .s = s, .now = hfi_sqlite_now(), .list = query->list };
    int error = hfi_sqlite_crowd_read(s, &at.crowd);

    if (!error) {
        at.stream[HOLDS].statement = hfi_sqlite_query(s, HFI_SQL_LIST_HOLDS, "");
        at.stream[TALLIES].statement = hfi_sqlite_query(s, HFI_SQL_LIST_TALLIES, "");
        at.stream[WAITERS].statement = hfi_sqlite_query(s, HFI_SQL_LIST_WAITERS, "");
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
    int error = hfi_sqlite_crowd_read(s, &at.crowd);

    if (!error) {
        at.stream[HOLDS].statement = hfi_sqlite_query(s, HFI_SQL_SHOW_HOLDS, "t", query->text, len);
        at.stream[TALLIES].statement =
            hfi_sqlite_query(s, HFI_SQL_SHOW_TALLIES, "t", query->text, len);
        at.stream[WAITERS].statement =
            hfi_sqlite_query(s, HFI_SQL_SHOW_WAITERS, "t", query->text, len);
        error = look_at_all(&at, NULL);
    }
    free(at.crowd.person);
    if (!error && query->list->count == before)
        return hfi_sqlite_complain(s, HF_ERR_NOT_FOUND, "nobody holds %.200s or waits for it",
                                   query->text);
    return error;
}
