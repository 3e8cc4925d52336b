/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OBJECT: steps with numbers, and stamps. Each is one transaction.
 *
 * A change is noted by its serial (tally.c) in the transaction that makes it; made again, it finds the note
 * and gives the same answer. What is refused has changed nothing, and is not noted.
 *
 * A change that leaves more than there was calls those who wait (line.c). A stamp is for what must not be done
 * again too soon, by whomever: its transactions wait for the disk.
 */
#include "store/sqlite/sqlite.h"

/* What a verb is at. The request's `number` stays what was asked until all is committed: it may have to be
 * done again. */
struct step {
    const struct hfi_object *object;
    hfi_time now;
    struct hfi_sqlite_line line;
    struct hfi_sqlite_tally tally; /* number 0 if there is none */
    bool there;
    int64_t answer, answer2;
};

static int exists(struct hfi_sqlite *s, const struct step *step)
{
    return hfi_sqlite_complain(
        s, HF_ERR_EXISTS, "%.200s has a number already: it was left as it is", step->line.name);
}

static int not_found(struct hfi_sqlite *s, const struct step *step)
{
    return hfi_sqlite_complain(s, HF_ERR_NOT_FOUND, "there is nothing of the name %.200s",
                               step->line.name);
}

/* Makes the number `number`, with the end that it has, and calls whom it lets in. */
static int set_number(struct hfi_sqlite *s, struct step *step, int64_t number)
{
    int error;

    step->answer = number;
    if (number > HF_COUNT_MAX || number < -HF_COUNT_MAX)
        return hfi_sqlite_complain(s, HF_ERR_INVALID,
                                   "%.200s would come to %lld: a number is at most %lld",
                                   step->line.name, (long long)number, (long long)HF_COUNT_MAX);
    if (step->there)
        error = hfi_sqlite_tally_set(s, &step->line, number);
    else
        error = hfi_sqlite_tally_put(s, step->now, &step->line, number, step->object->ttl_ms);
    if (error || number <= step->tally.number)
        return error;
    return hfi_sqlite_line_call(s, step->now, &step->line, false);
}

/* ------------------------------------------------------------------------------------------------
 * Semaphores
 */

static int set(struct hfi_sqlite *s, struct step *step)
{
    return step->there ? exists(s, step) : set_number(s, step, step->object->number);
}

static int add(struct hfi_sqlite *s, struct step *step)
{
    return set_number(s, step, step->tally.number + step->object->number);
}

static int add_to(struct hfi_sqlite *s, struct step *step)
{
    return step->there ? add(s, step) : not_found(s, step);
}

/* Fewer than none have been lent: they are not forgiven. */
static int drain(struct hfi_sqlite *s, struct step *step)
{
    step->answer = step->tally.number > 0 ? step->tally.number : 0;
    return step->answer ? hfi_sqlite_tally_set(s, &step->line, 0) : HF_OK;
}

static int get(struct hfi_sqlite *s, struct step *step)
{
    (void)s;
    step->answer = step->tally.number;
    return HF_OK;
}

static int drop(struct hfi_sqlite *s, struct step *step)
{
    return step->there ? hfi_sqlite_tally_drop(s, &step->line) : not_found(s, step);
}

/* ------------------------------------------------------------------------------------------------
 * Permits: the number is their total, whoever has them
 */

static int count_permits(struct hfi_sqlite *s, struct step *step)
{
    struct hfi_sqlite_room room;
    int error = hfi_sqlite_permits_seen(s, step->now, &step->line, &room);

    if (error)
        return error;
    step->answer = room.left;
    step->answer2 = step->tally.number - room.left;
    return HF_OK;
}

static int resize_permits(struct hfi_sqlite *s, struct step *step)
{
    return set_number(s, step, step->object->number);
}

/* Their holders look, and find their holds lost. */
static int tell_holders(struct hfi_sqlite *s, const struct hfi_sqlite_line *line)
{
    sqlite3_stmt *statement = hfi_sqlite_query(s, HFI_SQL_PARTS_OWNERS, "t", line->name, line->len);
    struct hfi_sqlite_peer peer;
    int row;

    while ((row = hfi_sqlite_row(s, statement)) > 0) {
        hfi_sqlite_peer_read(s, statement, 1, sqlite3_column_int64(statement, 0), &peer);
        if (peer.here)
            hfi_sqlite_errand(s, peer.uuid, false);
    }
    return row;
}

static int drop_permits(struct hfi_sqlite *s, struct step *step)
{
    static const enum hfi_sqlite_sql REMOVALS[] = { HFI_SQL_PARTS_BREAK, HFI_SQL_PARTS_DROP };
    int error = step->there ? tell_holders(s, &step->line) : not_found(s, step);

    for (size_t i = 0; i < sizeof REMOVALS / sizeof REMOVALS[0] && error >= 0; i++)
        error = hfi_sqlite_run(
            s, hfi_sqlite_query(s, REMOVALS[i], "t", step->line.name, step->line.len));
    return error < 0 ? error : hfi_sqlite_tally_drop(s, &step->line);
}

/* ------------------------------------------------------------------------------------------------
 * Latches: a number of 0 is what is left of one that was deleted
 */

static int set_latch(struct hfi_sqlite *s, struct step *step)
{
    if (step->tally.number > 0)
        return exists(s, step);
    step->answer = step->object->number;
    return hfi_sqlite_tally_put(s, step->now, &step->line, step->answer, 0);
}

static int down(struct hfi_sqlite *s, struct step *step)
{
    int error;

    step->answer = step->tally.number > 0 ? step->tally.number - 1 : 0;
    if (step->tally.number == 0)
        return HF_OK;
    if (step->answer > 0)
        return hfi_sqlite_tally_set(s, &step->line, step->answer);
    error = hfi_sqlite_tally_drop(s, &step->line);
    return error ? error : hfi_sqlite_latch_open(s, &step->line);
}

static int drop_latch(struct hfi_sqlite *s, struct step *step)
{
    int error;

    if (step->tally.number == 0)
        return not_found(s, step);
    error = hfi_sqlite_tally_put(s, step->now, &step->line, 0, HFI_SQLITE_DELETED_MS);
    return error ? error : hfi_sqlite_latch_open(s, &step->line);
}

/* ------------------------------------------------------------------------------------------------
 * Stamps
 */

static int set_stamp(struct hfi_sqlite *s, struct step *step)
{
    return hfi_sqlite_tally_put(s, step->now, &step->line, 0, step->object->ttl_ms);
}

static int get_stamp(struct hfi_sqlite *s, struct step *step)
{
    if (!step->there)
        return not_found(s, step);
    step->answer = ((int64_t)step->now - step->tally.made_ns) / (int64_t)HFI_MSEC;
    step->answer2 = (int64_t)(step->tally.until_ns - step->now) / (int64_t)HFI_MSEC;
    return HF_OK;
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

struct verb {
    int (*body)(struct hfi_sqlite *s, struct step *step);
    enum hfi_sqlite_family family;
    bool changes, durable;
};

static const struct verb VERBS[HFI_VERB_COUNT] = {
    [HFI_SEMAPHORE_SET] = { set, HFI_SQLITE_SEMAPHORES, true, false },
    [HFI_SEMAPHORE_RELEASE] = { add, HFI_SQLITE_SEMAPHORES, true, false },
    [HFI_SEMAPHORE_RETURN] = { add_to, HFI_SQLITE_SEMAPHORES, true, false },
    [HFI_SEMAPHORE_ADD] = { add, HFI_SQLITE_SEMAPHORES, true, false },
    [HFI_SEMAPHORE_DRAIN] = { drain, HFI_SQLITE_SEMAPHORES, true, false },
    [HFI_SEMAPHORE_AVAILABLE] = { get, HFI_SQLITE_SEMAPHORES, false, false },
    [HFI_SEMAPHORE_DELETE] = { drop, HFI_SQLITE_SEMAPHORES, true, false },
    [HFI_PERMITS_SET] = { set, HFI_SQLITE_PERMITS, true, false },
    [HFI_PERMITS_RESIZE] = { resize_permits, HFI_SQLITE_PERMITS, true, false },
    [HFI_PERMITS_ADD] = { add, HFI_SQLITE_PERMITS, true, false },
    [HFI_PERMITS_COUNT] = { count_permits, HFI_SQLITE_PERMITS, false, false },
    [HFI_PERMITS_DELETE] = { drop_permits, HFI_SQLITE_PERMITS, true, false },
    [HFI_LATCH_SET] = { set_latch, HFI_SQLITE_LATCHES, true, false },
    [HFI_LATCH_DOWN] = { down, HFI_SQLITE_LATCHES, true, false },
    [HFI_LATCH_GET] = { get, HFI_SQLITE_LATCHES, false, false },
    [HFI_LATCH_DELETE] = { drop_latch, HFI_SQLITE_LATCHES, true, false },
    [HFI_STAMP_SET] = { set_stamp, HFI_SQLITE_STAMPS, true, true },
    [HFI_STAMP_GET] = { get_stamp, HFI_SQLITE_STAMPS, false, false },
    [HFI_STAMP_DELETE] = { drop, HFI_SQLITE_STAMPS, true, true },
};

uint64_t hfi_sqlite_verbs(void)
{
    uint64_t verbs = 0;

    for (int i = 0; i < HFI_VERB_COUNT; i++)
        if (VERBS[i].body)
            verbs |= HFI_VERB_BIT(i);
    return verbs;
}

bool hfi_sqlite_is_durable(const struct hfi_request *request)
{
    const struct hfi_object *object = (const struct hfi_object *)request;

    return request->op == HFI_OP_OBJECT && object->verb < HFI_VERB_COUNT &&
           VERBS[object->verb].durable;
}

/* Makes the change, unless it was made before. */
static int change(struct hfi_sqlite *s, const struct verb *verb, struct step *step)
{
    uint64_t serial = step->object->serial;
    int found, error = hfi_sqlite_join(s);

    if (error)
        return error;
    found = serial ? hfi_sqlite_noted(s, serial, &step->answer) : 0;
    if (found != 0)
        return found < 0 ? found : HF_OK;
    error = verb->body(s, step);
    if (error || !serial)
        return error;
    return hfi_sqlite_note(s, step->now, serial, step->answer);
}

int hfi_sqlite_object(struct hfi_sqlite *s, struct hfi_request *request)
{
    const struct hfi_object *object = hfi_request_object(request);
    struct step step = { .object = object, .now = hfi_sqlite_now() };
    const struct verb *verb = object->verb < HFI_VERB_COUNT ? &VERBS[object->verb] : NULL;
    int found, error;

    if (!verb || !verb->body)
        return hfi_sqlite_complain(s, HF_ERR_UNSUPPORTED,
                                   "a store of the kind sqlite has no buckets and no maps");
    error = hfi_sqlite_check_boot(s);
    if (error)
        return error;
    step.line = (struct hfi_sqlite_line){ .name = object->name,
                                          .len = object->name_len,
                                          .family = verb->family };
    found = hfi_sqlite_tally(s, step.now, &step.line, &step.tally);
    if (found < 0)
        return found;
    step.there = found > 0;
    error = verb->changes ? change(s, verb, &step) : verb->body(s, &step);
    s->answer = step.answer;
    s->answer2 = step.answer2;
    return error;
}

void hfi_sqlite_object_done(const struct hfi_sqlite *s, struct hfi_object *object)
{
    object->number = s->answer;
    object->number2 = s->answer2;
}
