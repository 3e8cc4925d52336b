/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several locks as one hold.
 *
 * Members are taken one after another, in the order of store and name. All programs keep that order, so of two
 * that want the same locks one has the first of them in common, and waits for nothing that the other holds: no
 * circle, and nobody has to give way. While later members are waited for, earlier ones are renewed like all
 * holds; if one was lost by then, everything is given back and taken anew, as long as there is time.
 *
 * Invariants
 *   - the members that are there are the first `next` of the order, but while they are given back
 *   - HELD: all are there, and were valid at one moment, the one that is told
 *   - FAILED: none is there
 *   - there is one end of the time for all members; who comes to it is tried once
 */
#include "core/multi.h"

#include <assert.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------
 * The order
 */

static int compare(const struct hfi_member *a, const struct hfi_member *b)
{
    int order = strcmp(a->store, b->store);

    return order ? order : strcmp(a->name, b->name);
}

/* Puts a place among those that are in order. */
static void insert(struct hfi_taking *taking, const struct hfi_member *members, size_t place)
{
    size_t at = place;

    for (; at > 0 && compare(&members[taking->order[at - 1]], &members[place]) > 0; at--)
        taking->order[at] = taking->order[at - 1];
    taking->order[at] = (uint8_t)place;
}

bool hfi_taking_init(struct hfi_taking *taking, const struct hfi_member *members, size_t count,
                     size_t *ret_place)
{
    assert(count >= 1 && count <= HF_MEMBERS_MAX);
    *taking = (struct hfi_taking){ .count = count };
    for (size_t place = 0; place < count; place++)
        insert(taking, members, place);
    for (size_t i = 1; i < count; i++)
        if (compare(&members[taking->order[i - 1]], &members[taking->order[i]]) == 0) {
            *ret_place = taking->order[i];
            return false;
        }
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * Taking
 */

void hfi_taking_begin(struct hfi_taking *taking, hfi_time now, bool once, hfi_time wait_ns)
{
    taking->once = once;
    taking->until = once ? HF_TIME_NEVER : hfi_time_add(now, wait_ns);
}

/* There is a time for all of them together: each has what is left of it. */
static void take(const struct hfi_taking *taking, hfi_time now, struct hfi_taking_step *step)
{
    step->act = HFI_TAKE;
    step->place = taking->order[taking->next];
    step->wait_ns =
        taking->until == HF_TIME_NEVER ? HF_TIME_NEVER : hfi_time_until(now, taking->until);
    step->once = taking->once || step->wait_ns == 0;
}

/* False: nothing is left to be given back. */
static bool give_back(struct hfi_taking *taking, struct hfi_taking_step *step)
{
    size_t place;

    if (taking->next == 0)
        return false;
    place = taking->order[--taking->next];
    step->act = HFI_GIVE_BACK;
    step->handle = taking->handle[place];
    taking->handle[place] = NULL;
    return true;
}

/* All are there: are they, still? */
static void look(struct hfi_taking *taking, hfi_time now)
{
    if (hfi_multi_deadline_of(taking->handle, taking->count, now) > now)
        return;
    taking->lost = taking->once || now >= taking->until;
    taking->anew = !taking->lost;
    taking->error = taking->lost ? HF_ERR_UNSURE : HF_OK;
}

void hfi_taking_next(struct hfi_taking *taking, hfi_time now, struct hfi_taking_step *ret_step)
{
    *ret_step = (struct hfi_taking_step){ .act = HFI_TAKING_HELD };
    if (taking->cancelled && !taking->error)
        taking->error = HF_ERR_CANCELLED;
    if (!taking->error && !taking->anew && taking->next == taking->count)
        look(taking, now);
    if ((taking->error || taking->anew) && give_back(taking, ret_step))
        return;
    taking->anew = false;
    if (taking->error) {
        ret_step->act = HFI_TAKING_FAILED;
        ret_step->error = taking->error;
        ret_step->lost = taking->lost;
    } else if (taking->next < taking->count) {
        take(taking, now, ret_step);
    }
}

void hfi_taking_taken(struct hfi_taking *taking, int error, struct hfi_handle *handle)
{
    assert(taking->next < taking->count && (error != HF_OK) == (handle == NULL));
    if (error)
        taking->error = error;
    else
        taking->handle[taking->order[taking->next++]] = handle;
}

void hfi_taking_cancel(struct hfi_taking *taking)
{
    taking->cancelled = true;
}

/* ------------------------------------------------------------------------------------------------
 * What they are worth
 */

int hfi_multi_state_of(struct hfi_handle *const *handles, size_t count, hfi_time now)
{
    int worst = HF_HELD;

    for (size_t i = 0; i < count; i++) {
        int state = hfi_hold_state_at(handles[i]->hold, now);

        if (state == HF_LOST)
            return state;
        if (state > worst)
            worst = state;
    }
    return worst;
}

hfi_time hfi_multi_deadline_of(struct hfi_handle *const *handles, size_t count, hfi_time now)
{
    hfi_time first = HF_TIME_NEVER;

    for (size_t i = 0; i < count; i++) {
        if (!hfi_hold_valid(handles[i]->hold, now))
            return 0;
        first = hfi_time_min(first, hfi_hold_deadline(handles[i]->hold));
    }
    return first;
}
