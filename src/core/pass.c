/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passing a hold on inside the process, without a round trip.
 *
 * A hold whose claim ends while others here wait for it stays in the store under its owner id, and the next
 * claim gets the next token of the block that came with it. Who is next: as long as the first in the queue
 * is not late, the hold is parked, the first is woken, and whoever runs first takes it (a running thread
 * needs no context switch); once the first is late, the hold is handed to it directly.
 *
 * Invariants
 *   1. only a HELD, renewed hold of the plain exclusive kind whose release was never sent is passed, and
 *      only to a waiter that asked for the same ttl and mode; what it gets is the lease that remains;
 *   2. passing of one hold lasts for at most pass_ns from the first pass, and pass_count times; then the
 *      hold goes back to the store, and other processes that wait are let go first; so they are at the
 *      end of a turn (HFI_TURN_NS) where nothing is passed;
 *   3. a parked hold has a waiter in the queue, and either a waiter that was called or its timer set: it
 *      goes back to the store when nobody takes it by the end of pass_ns.
 * Source of the order: Go's sync.Mutex (normal and starvation mode, 1 ms).
 */
#include <assert.h>
#include <stdlib.h>

#include <utlist.h>

#include "core/engine.h"
#include "core/presence.h"

bool hfi_pass_parked(const struct hfi_hold *hold)
{
    enum hfi_hold_state state = hfi_hold_state_of(hold);

    return (state == HFI_HOLD_HELD || state == HFI_HOLD_AT_RISK) && !hold->handles;
}

bool hfi_pass_fits(const struct hfi_hold *hold, const struct hfi_waiter *waiter)
{
    return hold->lease.ttl_ms == waiter->ttl_ms && hold->fixed == waiter->fixed;
}

static bool has_time(const struct hfi_engine *engine, const struct hfi_gate *gate, hfi_time now)
{
    return gate->passes == 0 ? engine->config.pass_ns > 0 : now < gate->pass_until_ns;
}

static bool can_pass(const struct hfi_engine *engine, const struct hfi_hold *hold, hfi_time now)
{
    const struct hfi_gate *gate = hold->gate;

    return hfi_hold_state_of(hold) == HFI_HOLD_HELD && now < hfi_hold_deadline(hold) &&
           !hold->fixed && hold->lease.tokens > 0 && gate->passes < engine->config.pass_count &&
           has_time(engine, gate, now) && !engine->closing && !engine->broken;
}

void hfi_pass_claim(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold,
                    struct hfi_waiter *waiter)
{
    struct hfi_handle *handle = waiter->handle;
    struct hfi_waiter *other, *tmp;

    assert(!hold->handles);
    handle->next = NULL;
    handle->hold = hold;
    handle->token = hfi_kind_has_many((enum hfi_kind)hold->lease.kind) ? 0 : hold->lease.token;
    hold->lease.token++;
    hold->lease.tokens--;
    hold->handles = handle;
    hold->owner = waiter->owner;
    hold->owner_kind = waiter->owner_kind;
    hold->since_ns = now;
    hold->ceiling_ns = waiter->max_hold_ns ? hfi_time_add(now, waiter->max_hold_ns) : HF_TIME_NEVER;
    if (!hold->fixed && hold->renew_ns == HF_TIME_NEVER) /* a ceiling of the claim before */
        hfi_watchdog_confirmed(engine, hold, hold->lease.request.sent_ns, hfi_hold_ttl(hold));
    free(hold->lease.label);
    hold->lease.label = waiter->label;
    waiter->label = NULL;
    hfi_presence_mark(engine, now, hold->gate);
    hfi_watchdog_set(engine, hold);
    hfi_gate_finish(engine, waiter, HF_OK);
    if (hold->gate->named_len == 0 || hold->lease.kind == HFI_KIND_PERMITS ||
        hold->lease.kind == HFI_KIND_SEMAPHORE)
        return;
    DL_FOREACH_SAFE (hold->gate->queue, other, tmp) {
        if (hfi_gate_is_owner(hold, other))
            hfi_gate_reenter(engine, hold, other);
    }
}

/* A further claim on the same hold. */
static void pass_to(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold,
                    struct hfi_waiter *waiter)
{
    struct hfi_gate *gate = hold->gate;

    if (gate->passes++ == 0)
        gate->pass_until_ns = hfi_time_add(now, engine->config.pass_ns);
    hfi_pass_claim(engine, now, hold, waiter);
}

static void call(struct hfi_engine *engine, struct hfi_gate *gate, struct hfi_waiter *waiter)
{
    if (gate->called)
        return; /* it has not come yet, and will find whatever there is */
    gate->called = waiter;
    if (waiter->woken)
        return;
    waiter->woken = true;
    LL_APPEND2(engine->woken, waiter, next_woken);
}

/* Is the turn over? Where holds are passed on, the passes say so. */
static bool is_turn_over(const struct hfi_engine *engine, hfi_time now, const struct hfi_gate *gate)
{
    bool is_passed = hfi_kind_passes((enum hfi_kind)gate->kind) && engine->config.pass_ns > 0 &&
                     engine->config.pass_count > 0;

    return !is_passed && hfi_kind_is_raced_for((enum hfi_kind)gate->kind) &&
           now >= gate->one.turn_until_ns;
}

/* The hold had its share of passes, or the process its turn: others that wait at the store go first. */
static void yield(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate)
{
    if ((gate->passes == 0 && !is_turn_over(engine, now, gate)) || !gate->wait || !gate->queue)
        return;
    hfi_wheel_remove(&engine->wheel, &gate->wait->timer);
    gate->wait->phase = HFI_PHASE_YIELDING;
}

bool hfi_pass_on(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold)
{
    struct hfi_gate *gate = hold->gate;
    struct hfi_waiter *first = gate->queue;

    assert(!hold->handles);
    if (!first || !can_pass(engine, hold, now) || !hfi_pass_fits(hold, first)) {
        yield(engine, now, gate);
        return false;
    }
    if (first->direct || now - first->queued_ns > HFI_LATE_NS) {
        pass_to(engine, now, hold, first);
        return true;
    }
    if (gate->passes == 0) /* parking takes part in the time for passing */
        gate->pass_until_ns = hfi_time_add(now, engine->config.pass_ns);
    call(engine, gate, first);
    hfi_watchdog_set(engine, hold);
    return true;
}

void hfi_pass_again(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold)
{
    struct hfi_gate *gate = hold->gate;

    if (now < gate->pass_until_ns && hfi_pass_on(engine, now, hold))
        return;
    yield(engine, now, gate);
    hfi_hold_end(engine, now, hold, NULL);
    hfi_gate_drive(engine, now, gate);
}

bool hfi_pass_barge(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                    struct hfi_waiter *waiter)
{
    struct hfi_hold *hold = gate->hold;

    if (!can_pass(engine, hold, now) || !hfi_pass_fits(hold, waiter))
        return false;
    pass_to(engine, now, hold, waiter);
    return true;
}

void hfi_pass_take(struct hfi_engine *engine, hfi_time now, struct hfi_waiter *waiter)
{
    struct hfi_gate *gate = waiter->gate;
    struct hfi_hold *hold = gate->hold;

    if (gate->called == waiter)
        gate->called = NULL;
    if (!hold || !hfi_pass_parked(hold))
        return; /* somebody was faster: it will be woken again */
    if (can_pass(engine, hold, now) && hfi_pass_fits(hold, waiter) && gate->queue == waiter)
        pass_to(engine, now, hold, waiter);
    else
        hfi_pass_again(engine, now, hold);
}
