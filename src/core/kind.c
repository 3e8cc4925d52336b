/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds: what a gate is found by, what an owner's holds of one name have to do with each other, and the
 * holds of gates that have many.
 *
 * An owner that has a name for writing reads under the same owner id, for the store to know it by; one read
 * hold at a time does. That hold keeps the write hold's memory (its pin) until it is freed, and while it is
 * there, even if only to be released, no other may use the id: a late release would end that one too.
 */
#include <assert.h>
#include <string.h>

#include <utlist.h>

#include "core/engine.h"

/* ------------------------------------------------------------------------------------------------
 * Keys
 */

static void put_number(char *to, uint64_t number)
{
    memcpy(to, &number, sizeof number);
}

/* Kinds that keep each other out. */
static const enum hfi_kind LOCKS[] = { HFI_KIND_MUTEX, HFI_KIND_SPIN,  HFI_KIND_FENCED,
                                       HFI_KIND_FAIR,  HFI_KIND_WRITE, HFI_KIND_READ };
#define LOCK_COUNT (sizeof LOCKS / sizeof LOCKS[0])

void hfi_kind_key(const struct hfi_waiter *waiter, enum hfi_kind kind, struct hfi_gate_key *key)
{
    char *tail = key->room + waiter->name_len;

    key->at = waiter->name;
    key->len = waiter->name_len;
    if (kind == HFI_KIND_MUTEX)
        return;
    memcpy(key->room, waiter->name, waiter->name_len);
    memset(tail, 0, HFI_GATE_KEY_TAIL);
    tail[1] = (char)kind;
    if (kind == HFI_KIND_FAIR) {
        tail[2] = (char)waiter->owner_kind;
        put_number(tail + 3, waiter->owner);
    } else if (kind == HFI_KIND_PERMITS || kind == HFI_KIND_SEMAPHORE) {
        put_number(tail + 3, waiter->permits);
    }
    key->at = key->room;
    key->len += HFI_GATE_KEY_TAIL;
}

/* ------------------------------------------------------------------------------------------------
 * What an owner has already
 */

struct hfi_hold *hfi_kind_entered(const struct hfi_gate *gate, hfi_time now,
                                  const struct hfi_waiter *waiter)
{
    struct hfi_many_hold *many;
    struct hfi_hold *hold;

    if (gate->kind == HFI_KIND_PERMITS || gate->kind == HFI_KIND_SEMAPHORE)
        return NULL; /* each call takes more */
    hold = gate->hold;
    if (hold && hold->handles && hfi_gate_is_owner(hold, waiter) && hfi_hold_valid(hold, now))
        return hold;
    DL_FOREACH2(hfi_gate_got(gate), many, got_next)
    {
        hold = &many->hold;
        if (hold->handles && hfi_gate_is_owner(hold, waiter) && hfi_hold_valid(hold, now))
            return hold;
    }
    return NULL;
}

/* The owner's valid hold of the name in another kind; NULL: none. */
static struct hfi_hold *owned(struct hfi_engine *engine, hfi_time now,
                              const struct hfi_waiter *waiter, enum hfi_kind kind)
{
    struct hfi_gate_key key;
    struct hfi_gate *gate;

    hfi_kind_key(waiter, kind, &key);
    HASH_FIND(hh, engine->gates, key.at, key.len, gate);
    return gate ? hfi_kind_entered(gate, now, waiter) : NULL;
}

static int borrow(struct hfi_waiter *waiter, struct hfi_hold *write)
{
    if (write->lent)
        return HF_ERR_UNSURE; /* an earlier read hold of this owner is still being released */
    write->lent = true;
    write->pins++;
    waiter->lender = write;
    return HF_OK;
}

int hfi_kind_admit(struct hfi_engine *engine, hfi_time now, struct hfi_waiter *waiter)
{
    if (waiter->kind > HFI_KIND_READ || hfi_kind_entered(waiter->gate, now, waiter))
        return HF_OK;
    for (size_t i = 0; i < LOCK_COUNT; i++) {
        struct hfi_hold *hold =
            LOCKS[i] == waiter->kind ? NULL : owned(engine, now, waiter, LOCKS[i]);

        if (hold && LOCKS[i] == HFI_KIND_WRITE && waiter->kind == HFI_KIND_READ)
            return borrow(waiter, hold);
        if (hold)
            return HF_ERR_UPGRADE;
    }
    return HF_OK;
}

void hfi_kind_return(struct hfi_engine *engine, struct hfi_hold **lender)
{
    struct hfi_hold *hold = *lender;

    if (!hold)
        return;
    *lender = NULL;
    assert(hold->lent && hold->pins > 0);
    hold->lent = false;
    hold->pins--;
    hfi_hold_settle(engine, hold);
}

/* A fair owner's gate is found by its owner too, and not looked for: it waits in the store's queue, where it is
 * told by itself. */
bool hfi_kind_is_rivalled(struct hfi_engine *engine, const struct hfi_gate *gate)
{
    struct hfi_waiter like = { .name = gate->name, .name_len = gate->name_len };
    struct hfi_gate_key key;
    struct hfi_gate *other;

    for (size_t i = 0; i < LOCK_COUNT; i++) {
        if (LOCKS[i] == (enum hfi_kind)gate->kind || LOCKS[i] == HFI_KIND_FAIR)
            continue;
        hfi_kind_key(&like, LOCKS[i], &key);
        HASH_FIND(hh, engine->gates, key.at, key.len, other);
        if (other && other->queue)
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------
 * Gates that have many
 */

void hfi_kind_keep(struct hfi_gate *gate, struct hfi_hold *hold)
{
    struct hfi_many_hold *many = (struct hfi_many_hold *)hold;

    assert(gate->hold == hold && !hold->got && hfi_kind_has_many((enum hfi_kind)gate->kind));
    gate->hold = NULL;
    hold->got = true;
    DL_APPEND2(gate->many.got, many, got_prev, got_next);
    gate->many.got_len++;
}

void hfi_kind_drop(struct hfi_gate *gate, struct hfi_hold *hold)
{
    struct hfi_many_hold *many = (struct hfi_many_hold *)hold;

    if (!hold->got)
        return;
    hold->got = false;
    DL_DELETE2(gate->many.got, many, got_prev, got_next);
    gate->many.got_len--;
}

void hfi_kind_open(struct hfi_engine *engine, struct hfi_gate *gate, int error)
{
    struct hfi_waiter *waiter, *tmp;

    gate->refs++;
    DL_FOREACH_SAFE (gate->queue, waiter, tmp) {
        if (waiter->tries_before < gate->tries && !(waiter->closed && error == HF_ERR_BUSY))
            hfi_gate_finish(engine, waiter, waiter->closed ? error : HF_OK);
    }
    gate->refs--;
}
