/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BREAK, CHECK. A hold is taken away from the owner that was seen, whatever else has changed; of several
 * holders, from that one. Who breaks is nobody in the file.
 */
#include <stdio.h>
#include <string.h>

#include "store/sqlite/sqlite.h"

/* The hold of the line that is this owner's: 1, 0 or an error. Of the others, the first
 * that still holds is written to `other`, if that is empty. */
static int find_owner(struct hfi_sqlite *s, const struct hfi_sqlite_line *line, const char *owner,
                      struct hfi_sqlite_holder *ret_holder, char *other)
{
    sqlite3_stmt *statement = hfi_sqlite_holders(s, line);
    hfi_time now = hfi_sqlite_now();
    char text[HF_OWNER_MAX + 1];
    int row;

    while ((row = hfi_sqlite_holder_next(s, statement, ret_holder)) > 0) {
        snprintf(text, sizeof text, "%s:%llu", ret_holder->peer.uuid,
                 (unsigned long long)ret_holder->owner);
        if (strcmp(text, owner) == 0) {
            sqlite3_reset(statement);
            return 1;
        }
        if (!other[0] && hfi_sqlite_holds(s, now, ret_holder))
            memcpy(other, text, sizeof text);
    }
    return row;
}

static int drop_hold(struct hfi_sqlite *s, const struct hfi_sqlite_line *line,
                     const struct hfi_sqlite_holder *holder)
{
    int changes = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_HOLD_DROP, "tiii", line->name,
                                                     line->len, (int64_t)holder->class_,
                                                     holder->peer.client, holder->owner));

    return changes < 0 ? changes : HF_OK;
}

/* All that this owner has of the line: who writes may also read. 1, 0 or an error. */
static int break_line(struct hfi_sqlite *s, const struct hfi_sqlite_line *line, const char *owner,
                      char *other)
{
    struct hfi_sqlite_holder holder;
    int found, changes, broken = 0;

    while ((found = find_owner(s, line, owner, &holder, other)) > 0) {
        found = drop_hold(s, line, &holder);
        if (found < 0)
            return found;
        if (broken++)
            continue;
        changes =
            hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_CLIENT_BREAK, "i", holder.peer.client));
        if (changes < 0)
            return changes;
        if (holder.peer.here)
            hfi_sqlite_errand(s, holder.peer.uuid, false);
    }
    if (found == 0 && broken)
        found = hfi_sqlite_line_call(s, hfi_sqlite_now(), line, false);
    return found < 0 ? found : broken > 0;
}

int hfi_sqlite_break(struct hfi_sqlite *s, struct hfi_request *request)
{
    const struct hfi_query *query = hfi_request_query(request);
    struct hfi_sqlite_line line = { .name = query->text, .len = strlen(query->text) };
    char other[HF_OWNER_MAX + 1] = "";
    int locks, permits = 0;

    line.family = HFI_SQLITE_LOCKS;
    locks = break_line(s, &line, query->owner, other);
    line.family = HFI_SQLITE_PERMITS;
    if (locks >= 0)
        permits = break_line(s, &line, query->owner, other);
    if (locks < 0 || permits < 0)
        return locks < 0 ? locks : permits;
    if (locks || permits)
        return HF_OK;
    if (other[0])
        return hfi_sqlite_complain(s, HF_ERR_CHANGED, "%.200s is held by %s now", query->text,
                                   other);
    return hfi_sqlite_complain(s, HF_ERR_NOT_FOUND, "nobody holds %.200s", query->text);
}

int hfi_sqlite_check(struct hfi_sqlite *s, struct hfi_request *request)
{
    int row = hfi_sqlite_row(s, hfi_sqlite_query(s, HFI_SQL_META, "it", INT64_C(0), "", (size_t)0));

    (void)request;
    return row < 0 ? row : HF_OK;
}
