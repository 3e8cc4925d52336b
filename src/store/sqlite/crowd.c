/* SPDX-License-Identifier: Apache-2.0 */
/* Who has a row, and lives. */
#include "store/sqlite/crowd.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"

static int by_id(const void *a, const void *b)
{
    const struct hfi_sqlite_person *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

const struct hfi_sqlite_person *hfi_sqlite_crowd_find(const struct hfi_sqlite_crowd *crowd,
                                                      int64_t id)
{
    const struct hfi_sqlite_person key = { .id = id };

    return crowd->count ? bsearch(&key, crowd->person, crowd->count, sizeof key, by_id) : NULL;
}

static struct hfi_sqlite_person *add_person(struct hfi_sqlite_crowd *crowd)
{
    if (crowd->count == crowd->room) {
        size_t room = crowd->room ? crowd->room * 2 : 16;
        struct hfi_sqlite_person *moved = realloc(crowd->person, room * sizeof *moved);

        if (!moved)
            return NULL;
        crowd->person = moved;
        crowd->room = room;
    }
    return &crowd->person[crowd->count++];
}

int hfi_sqlite_crowd_read(struct hfi_sqlite *s, struct hfi_sqlite_crowd *crowd)
{
    sqlite3_stmt *statement = hfi_sqlite_query(s, HFI_SQL_CLIENTS, "");
    struct hfi_sqlite_peer peer;
    struct hfi_sqlite_person *person;
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
