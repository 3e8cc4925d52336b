/* SPDX-License-Identifier: Apache-2.0 */
/* What inspect.lua says of a name. Nothing in a reply is trusted: what has not its shape is not there. */
#include <stdlib.h>
#include <string.h>

#include "store/redis/people.h"

/* A row that tells more than that an owner has a lock. */
enum { KIND, REMAINING, AVAILABLE, HOLDERS, HOLDER_ROWS, WAITERS, WAITER_ROWS, ROW_LENGTH };
/* Of each holder. */
enum { OWNER, OWNER_MS, OWNER_COUNT, OWNER_LENGTH };

static const char *const KINDS[] = {
    [HFI_FOUND_FAIR] = "fair",       [HFI_FOUND_READ] = "read",     [HFI_FOUND_WRITE] = "write",
    [HFI_FOUND_PERMITS] = "permits", [HFI_FOUND_NUMBER] = "number",
};

static bool is_text(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING;
}

static bool is_number(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_INTEGER;
}

/* What people cannot be told is not known. */
static long long known(long long number)
{
    return number < -1 ? -1 : number;
}

static struct hfi_found *new_found(struct hfi_job *job, const struct hfi_text *name)
{
    void *array = job->found;
    struct hfi_found *found;

    if (!hfi_job_grow(&array, job->found_count, &job->found_room, sizeof *job->found))
        return NULL;
    job->found = array;
    found = &job->found[job->found_count++];
    memset(found, 0, sizeof *found);
    found->name = name;
    found->available = -1;
    return found;
}

static bool make_persons(struct hfi_found *found, size_t holders, size_t waiters)
{
    if (holders + waiters == 0)
        return true;
    found->person = calloc(holders + waiters, sizeof *found->person);
    if (!found->person)
        return false;
    found->holder_count = holders;
    found->person_count = holders + waiters;
    return true;
}

/* The owner, and that its client may have announced something. */
static bool set_owner(struct hfi_job *job, struct hfi_person *person, const redisReply *text)
{
    hfi_holder_text(person->owner, sizeof person->owner, text->str, (size_t)text->len);
    return hfi_job_add_client(job, text->str, strcspn(text->str, ":"));
}

static void set_permit(struct hfi_person *person, const redisReply *text)
{
    static const char DIGITS[] = "0123456789abcdef";
    size_t len = (size_t)text->len < HFI_PERMIT_ID ? (size_t)text->len : HFI_PERMIT_ID;

    memcpy(person->permit, text->str, len);
    for (size_t i = 0; i < len; i++) {
        person->owner[2 * i] = DIGITS[(unsigned char)text->str[i] >> 4];
        person->owner[2 * i + 1] = DIGITS[text->str[i] & 0x0f];
    }
}

/* ------------------------------------------------------------------------------------------------
 * A row of three: one owner; of a read-write lock that is in the way, only that it is one
 */

static bool add_short(struct hfi_job *job, const struct hfi_text *name, const redisReply *row)
{
    struct hfi_found *found;
    struct hfi_person *person;

    if (!is_number(row->element[0]) || !is_text(row->element[1]) || !is_text(row->element[2]))
        return true;
    found = new_found(job, name);
    if (!found || !make_persons(found, 1, 0))
        return false;
    person = found->person;
    person->remaining_ms = known(row->element[0]->integer);
    person->count = known(strtoll(row->element[2]->str, NULL, 10));
    found->foreign = strcmp(row->element[1]->str, "mode") == 0;
    found->holders = !found->foreign;
    if (!found->foreign)
        return set_owner(job, person, row->element[1]);
    found->kind = strcmp(row->element[2]->str, "read") == 0 ? HFI_FOUND_READ : HFI_FOUND_WRITE;
    person->count = -1;
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * A long row
 */

static int row_kind(const redisReply *text)
{
    int count = sizeof KINDS / sizeof KINDS[0];

    for (int kind = HFI_FOUND_FAIR; is_text(text) && kind < count; kind++)
        if (strcmp(text->str, KINDS[kind]) == 0)
            return kind;
    return -1;
}

static bool are_holders(const redisReply *rows, long long count)
{
    if (rows->type != REDIS_REPLY_ARRAY || rows->elements % OWNER_LENGTH != 0 || count < 0 ||
        rows->elements / OWNER_LENGTH > (size_t)count || (count > 0 && rows->elements == 0))
        return false;
    for (size_t i = 0; i < rows->elements; i += OWNER_LENGTH)
        if (!is_text(rows->element[i + OWNER]) || !is_number(rows->element[i + OWNER_MS]) ||
            !is_number(rows->element[i + OWNER_COUNT]))
            return false;
    return true;
}

static bool are_waiters(const redisReply *rows, long long count)
{
    if (rows->type != REDIS_REPLY_ARRAY || count < 0 || rows->elements > (size_t)count)
        return false;
    for (size_t i = 0; i < rows->elements; i++)
        if (!is_text(rows->element[i]))
            return false;
    return true;
}

static bool is_long(const redisReply *row)
{
    return row_kind(row->element[KIND]) >= 0 && is_number(row->element[REMAINING]) &&
           is_number(row->element[AVAILABLE]) && is_number(row->element[HOLDERS]) &&
           are_holders(row->element[HOLDER_ROWS], row->element[HOLDERS]->integer) &&
           is_number(row->element[WAITERS]) &&
           are_waiters(row->element[WAITER_ROWS], row->element[WAITERS]->integer);
}

static bool add_persons(struct hfi_job *job, struct hfi_found *found, const redisReply *holders,
                        const redisReply *waiters)
{
    for (size_t i = 0; i < found->holder_count; i++) {
        redisReply *const *row = holders->element + i * OWNER_LENGTH;
        struct hfi_person *person = &found->person[i];

        person->remaining_ms = known(row[OWNER_MS]->integer);
        person->count = known(row[OWNER_COUNT]->integer);
        if (found->kind == HFI_FOUND_PERMITS)
            set_permit(person, row[OWNER]);
        else if (!set_owner(job, person, row[OWNER]))
            return false;
    }
    for (size_t i = found->holder_count; i < found->person_count; i++) {
        found->person[i].remaining_ms = -1;
        found->person[i].count = 1;
        if (!set_owner(job, &found->person[i], waiters->element[i - found->holder_count]))
            return false;
    }
    return true;
}

static bool add_long(struct hfi_job *job, const struct hfi_text *name, const redisReply *row)
{
    const redisReply *holders = row->element[HOLDER_ROWS], *waiters = row->element[WAITER_ROWS];
    struct hfi_found *found;

    if (!is_long(row))
        return true;
    found = new_found(job, name);
    if (!found || !make_persons(found, holders->elements / OWNER_LENGTH, waiters->elements))
        return false;
    found->kind = (uint8_t)row_kind(row->element[KIND]);
    found->holders = row->element[HOLDERS]->integer;
    found->waiting = row->element[WAITERS]->integer;
    if (found->kind == HFI_FOUND_PERMITS || found->kind == HFI_FOUND_NUMBER)
        found->available = row->element[AVAILABLE]->integer;
    return add_persons(job, found, holders, waiters);
}

bool hfi_job_add_found(struct hfi_job *job, const struct hfi_text *name, const redisReply *row)
{
    if (row->type != REDIS_REPLY_ARRAY)
        return true;
    if (row->elements == ROW_LENGTH)
        return add_long(job, name, row);
    return row->elements == 3 ? add_short(job, name, row) : true;
}

size_t hfi_found_topics(const struct hfi_found *found, enum hfi_topic topics[2])
{
    topics[1] = HFI_TOPIC_LATCH;
    switch ((enum hfi_found_kind)found->kind) {
    case HFI_FOUND_READ:
    case HFI_FOUND_WRITE:
        topics[0] = HFI_TOPIC_READ_WRITE;
        break;
    case HFI_FOUND_PERMITS:
    case HFI_FOUND_NUMBER:
        topics[0] = HFI_TOPIC_PERMITS;
        break;
    default:
        topics[0] = HFI_TOPIC_LOCK;
    }
    return found->kind == HFI_FOUND_NUMBER ? 2 : 1;
}
