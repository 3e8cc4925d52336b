/* SPDX-License-Identifier: Apache-2.0 */
/* Gates come and go, and waiters with them. Invariants are in front.c. */
#include "core/gate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "core/engine.h"
#include "core/presence.h"

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(gate) ((gate)->name_len = 0) /* a mark: it is not in the map */

/* ------------------------------------------------------------------------------------------------
 * Gates come and go
 */

static struct hfi_gate *make(struct hfi_engine *engine, const struct hfi_waiter *waiter,
                             const struct hfi_gate_key *key)
{
    /* Not sizeof: the name begins before the end of the struct, where it was rounded up. */
    struct hfi_gate *gate = calloc(1, offsetof(struct hfi_gate, name) + key->len + 1);

    if (!gate)
        return NULL;
    memcpy(gate->name, key->at, key->len);
    gate->name_len = (uint16_t)waiter->name_len;
    gate->kind = waiter->kind;
    gate->permits = (uint16_t)waiter->permits;
    gate->fleeting = gate->kind == HFI_KIND_FAIR && waiter->direct && !waiter->named;
    HASH_ADD_KEYPTR(hh, engine->gates, gate->name, key->len, gate);
    if (gate->name_len == 0) {
        free(gate);
        return NULL;
    }
    engine->other_gates += gate->kind != HFI_KIND_MUTEX;
    return gate;
}

/* The waiter's gate, made if need be; NULL: out of memory. */
static struct hfi_gate *gate_of(struct hfi_engine *engine, const struct hfi_waiter *waiter)
{
    struct hfi_gate_key key;
    struct hfi_gate *gate;

    hfi_kind_key(waiter, (enum hfi_kind)waiter->kind, &key);
    HASH_FIND(hh, engine->gates, key.at, key.len, gate);
    return gate ? gate : make(engine, waiter, &key);
}

int hfi_gate_make_wait(struct hfi_gate *gate)
{
    struct hfi_wait *wait;

    if (gate->wait)
        return HF_OK;
    wait = calloc(1, sizeof *wait);
    if (!wait)
        return HF_ERR_NO_MEMORY;
    wait->watch.name = wait->leave.name = gate->name;
    wait->watch.name_len = wait->leave.name_len = gate->name_len;
    wait->watch.kind = wait->leave.kind = gate->kind;
    wait->watch.permits = wait->leave.permits = gate->permits;
    wait->timer.kind = HFI_TIMER_GATE;
    wait->gate = gate;
    gate->wait = wait;
    return HF_OK;
}

void hfi_gate_settle(struct hfi_engine *engine, struct hfi_gate *gate)
{
    struct hfi_wait *wait = gate->wait;

    if (gate->queue || gate->hold || gate->refs)
        return;
    if (wait && (wait->watched || wait->watch_in_flight || wait->leave_in_flight))
        return;
    if (wait && wait->ticket && !engine->closing)
        return;
    if (!hfi_presence_forget(engine, gate))
        return;
    if (wait)
        hfi_wheel_remove(&engine->wheel, &wait->timer);
    HASH_DEL(engine->gates, gate);
    engine->other_gates -= gate->kind != HFI_KIND_MUTEX;
    free(wait);
    free(gate);
}

/* ------------------------------------------------------------------------------------------------
 * Waiters
 */

void hfi_gate_finish(struct hfi_engine *engine, struct hfi_waiter *waiter, int result)
{
    struct hfi_gate *gate = waiter->gate;
    struct hfi_hold *spare = waiter->hold;

    assert(!waiter->done);
    /* The first has a next unless it is alone. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    DL_DELETE(gate->queue, waiter);
    gate->queue_len--;
    gate->once_len -= waiter->once;
    gate->named_len -= waiter->named;
    hfi_wheel_remove(&engine->wheel, &waiter->timer);
    if (waiter->woken)
        LL_DELETE2(engine->woken, waiter, next_woken);
    waiter->woken = false;
    if (gate->called == waiter)
        gate->called = NULL;
    waiter->hold = NULL;
    waiter->result = result;
    waiter->done = true;
    DL_APPEND(engine->done, waiter);
    gate->refs++; /* what is freed here must not take the gate with it */
    hfi_kind_return(engine, &waiter->lender);
    if (spare)
        hfi_hold_settle(engine, spare);
    gate->refs--;
}

void hfi_gate_expel(struct hfi_engine *engine, hfi_time now, struct hfi_waiter *waiter, int result)
{
    struct hfi_gate *gate = waiter->gate;
    struct hfi_hold *hold = gate->hold;
    bool called = gate->called == waiter;

    gate->refs++;
    if (hold && hold->waiter == waiter)
        hold->waiter = NULL; /* its answer will find somebody else, or be given back */
    hfi_gate_finish(engine, waiter, result);
    hfi_presence_mark(engine, now, gate);
    if (called && hold && hfi_pass_parked(hold))
        hfi_pass_again(engine, now, hold);
    hfi_gate_drive(engine, now, gate);
    gate->refs--;
    hfi_gate_settle(engine, gate);
}

/* The time of a waiter is over: what does it know? */
static int verdict_for(const struct hfi_gate *gate, const struct hfi_waiter *waiter)
{
    const struct hfi_hold *hold = gate->hold;
    bool trying = hold && hfi_hold_state_of(hold) == HFI_HOLD_TRYING;

    if (!trying) /* the gate waits for somebody else's release, or for a store that refused */
        return gate->wait && gate->wait->phase == HFI_PHASE_PAUSED ? gate->answer : HF_ERR_BUSY;
    if (gate->answered > waiter->tries_before)
        return gate->answer;
    return hold->lease.request.sent_ns ? HF_ERR_UNSURE : HF_ERR_UNREACHABLE;
}

void hfi_gate_waiter_timer(struct hfi_engine *engine, hfi_time now, struct hfi_waiter *waiter)
{
    hfi_gate_expel(engine, now, waiter, verdict_for(waiter->gate, waiter));
}

static void enqueue(struct hfi_engine *engine, hfi_time now, struct hfi_waiter *waiter)
{
    struct hfi_gate *gate = waiter->gate;

    waiter->queued_ns = now;
    waiter->tries_before = gate->tries;
    waiter->timer.kind = HFI_TIMER_WAITER;
    if (waiter->lender)
        DL_PREPEND(gate->queue, waiter); /* those before it may wait for its own write hold */
    else
        DL_APPEND(gate->queue, waiter);
    gate->queue_len++;
    gate->once_len += waiter->once;
    gate->named_len += waiter->named;
    if (!waiter->once)
        hfi_wheel_set(&engine->wheel, &waiter->timer, hfi_time_add(now, waiter->wait_ns));
}

/* An owner that holds the name enters again, at memory speed. */
void hfi_gate_reenter(struct hfi_engine *engine, struct hfi_hold *hold, struct hfi_waiter *waiter)
{
    struct hfi_handle *outer = hold->handles;

    if (waiter->no_reentry) {
        hfi_gate_finish(engine, waiter, HF_ERR_REENTRY);
        return;
    }
    waiter->handle->hold = hold;
    waiter->handle->token = outer->token;
    waiter->handle->next = outer->next;
    outer->next = waiter->handle; /* the outermost stays first: it is the one that news name */
    hfi_gate_finish(engine, waiter, HF_OK);
}

/* What the process itself has settles it; false: the store must be asked, or waited for. */
static bool settle_inside(struct hfi_engine *engine, hfi_time now, struct hfi_waiter *waiter)
{
    struct hfi_gate *gate = waiter->gate;
    struct hfi_hold *hold = hfi_kind_entered(gate, now, waiter);

    if (hold) {
        hfi_gate_reenter(engine, hold, waiter);
        return true;
    }
    hold = gate->hold;
    if (!hold || !hfi_hold_valid(hold, now))
        return false;
    if (!hold->handles && hfi_pass_barge(engine, now, gate, waiter))
        return true;
    if (waiter->once && gate->hold == hold) {
        hfi_gate_finish(engine, waiter, HF_ERR_BUSY);
        return true;
    }
    return false;
}

static int admit(struct hfi_engine *engine, hfi_time now, struct hfi_waiter *waiter)
{
    struct hfi_gate *gate = gate_of(engine, waiter);
    struct hfi_hold *hold;

    if (!gate)
        return HF_ERR_NO_MEMORY;
    waiter->gate = gate;
    hold = gate->hold;
    if (!waiter->once && hold && hfi_gate_make_wait(gate) != HF_OK)
        return HF_ERR_NO_MEMORY;
    if (hold && hfi_hold_state_of(hold) != HFI_HOLD_TRYING && !hfi_hold_valid(hold, now))
        hfi_hold_lose(engine, now, hold, true); /* the timer is about to say so */
    return engine->other_gates > 0 ? hfi_kind_admit(engine, now, waiter) : HF_OK;
}

void hfi_gate_enter(struct hfi_engine *engine, hfi_time now, struct hfi_waiter *waiter)
{
    int error = engine->broken ? HF_ERR_INTERNAL : engine->closing ? HF_ERR_CLOSED : HF_OK;
    struct hfi_gate *gate;

    if (!error)
        error = admit(engine, now, waiter);
    if (error) {
        if (waiter->gate)
            hfi_gate_settle(engine, waiter->gate);
        waiter->result = error;
        waiter->done = true;
        DL_APPEND(engine->done, waiter);
        return;
    }
    gate = waiter->gate;
    enqueue(engine, now, waiter);
    if (settle_inside(engine, now, waiter))
        return;
    if (gate->queue_len > 1 || gate->hold || hfi_gate_got(gate) || gate->announced)
        hfi_presence_mark(engine, now, gate);
    hfi_gate_drive(engine, now, gate);
    hfi_gate_settle(engine, gate);
}
