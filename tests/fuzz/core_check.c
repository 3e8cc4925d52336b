/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold, always: the rules are those of docs/internals and of the heads of src/core's files. */
#include "fuzz/core.h"

#include <utlist.h>

#include "core/lease.h"
#include "core/presence.h"

static bool is_held(const struct hfi_hold *hold)
{
    enum hfi_hold_state state = hfi_hold_state_of(hold);

    return state == HFI_HOLD_HELD || state == HFI_HOLD_AT_RISK;
}

static bool is_on_its_way(const struct hfi_request *request)
{
    return request->outcome == HFI_PENDING;
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 */

/* An acquire keeps its owner id until a try goes unanswered; an id that was given up is not tried again. */
static void check_try(struct core *core, const struct hfi_hold *hold)
{
    struct owner *owner = core_owner(core, hold->lease.owner);
    const struct call *call;

    MUST(!owner->retired && !owner->released && !core->closed);
    MUST(hold->gate->hold == hold && hfi_hold_state_of(hold) == HFI_HOLD_TRYING);
    if (!hold->waiter)
        return; /* its time ended in the same step */
    call = hold->waiter->cookie;
    MUST(hold->gate->queue == hold->waiter);
    MUST(owner->caller == 0 || owner->caller == call->number);
    owner->caller = call->number;
}

static void check_renewal(struct core *core, const struct hfi_renewal *renewal)
{
    MUST(renewal->count >= 1 && renewal->count <= HFI_RENEWAL_MAX);
    for (size_t i = 0; i < renewal->count; i++) {
        const struct hfi_hold *hold = (const struct hfi_hold *)renewal->items[i].lease;
        const struct owner *owner = core_owner(core, hold->lease.owner);

        if (renewal->items[i].ttl_ms == 0)
            continue; /* only a look */
        MUST(!owner->retired && !owner->released && !owner->told_lost);
        MUST(hfi_hold_valid(hold, core->engine.now) && !hold->fixed);
        MUST(renewal->items[i].ttl_ms == hold->lease.ttl_ms);
    }
}

void check_submitted(struct core *core, const struct hfi_request *request)
{
    MUST(is_on_its_way(request) && request->sent_ns == 0);
    MUST(request->deadline_ns > core->engine.now);
    if (request->op == HFI_OP_TRY)
        check_try(core, (const struct hfi_hold *)request);
    if (request->op == HFI_OP_RENEW)
        check_renewal(core, (const struct hfi_renewal *)request);
}

void check_finished(struct core *core, const struct hfi_request *request)
{
    MUST(!is_on_its_way(request) && request->sent_ns <= core->now);
    MUST((request->outcome == HFI_DONE) == (request->error == HF_OK));
    MUST((request->outcome == HFI_UNKNOWN) == (request->error == HF_ERR_UNSURE));
    if (request->op == HFI_OP_TRY) {
        struct owner *owner = core_owner(core, ((const struct hfi_lease *)request)->owner);

        if (request->outcome == HFI_UNKNOWN)
            owner->retired = true;
        if (request->outcome == HFI_DONE) /* it left after the clock was read, not before */
            MUST(request->sent_ns > 0 && request->sent_ns <= owner->try_ns);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Results
 */

static void check_success(struct core *core, const struct call *call)
{
    const struct hfi_handle *handle = &call->held->handle;
    const struct hfi_hold *hold = handle->hold;
    struct lock *lock = &core->lock[call->name];
    const struct held *other;

    MUST(hfi_hold_valid(hold, core->now));
    MUST(hold->owner == call->waiter.owner && hold->owner_kind == call->waiter.owner_kind);
    MUST(strcmp(hold->gate->name, CORE_NAMES[call->name]) == 0);
    MUST(handle->token > 0 && handle->token < UINT64_C(1) << 53);
    DL_FOREACH (core->helds, other) {
        if (other->handle.hold == hold) {
            MUST(handle->token == other->handle.token);
            return;
        }
    }
    MUST(hold->handles == handle); /* the outermost is told first */
    MUST(hold->fixed == call->waiter.fixed && hold->lease.ttl_ms == call->waiter.ttl_ms);
    if (!core->lied)
        MUST(handle->token > lock->promised);
    lock->promised = hfi_time_max(lock->promised, handle->token);
}

/* Those that end a wait only where it was bounded, and not before its time. */
static void check_failure(const struct core *core, const struct call *call)
{
    MUST(call->waiter.once || call->waiter.wait_ns != HF_TIME_NEVER);
    if (!call->waiter.once)
        MUST(core->now >= call->start_ns + call->waiter.wait_ns);
}

void check_result(struct core *core, const struct call *call)
{
    MUST(call->waiter.done);
    switch (call->waiter.result) {
    case HF_OK:
        check_success(core, call);
        break;
    case HF_ERR_BUSY:
    case HF_ERR_UNSURE:
    case HF_ERR_UNREACHABLE:
    case HF_ERR_UNAVAILABLE:
    case HF_ERR_STORE_FULL:
        check_failure(core, call);
        break;
    case HF_ERR_CANCELLED:
        MUST(call->cancelled);
        break;
    case HF_ERR_CLOSED:
        MUST(core->closed);
        break;
    case HF_ERR_AUTH:
    case HF_ERR_PERMISSION:
    case HF_ERR_WRONG_TYPE:
    case HF_ERR_READ_ONLY:
    case HF_ERR_CLUSTER:
    case HF_ERR_PROTOCOL:
    case HF_ERR_UNSUPPORTED:
        break; /* the server says so */
    default:
        fuzz_fail(__FILE__, __LINE__, "a result that nothing explains");
    }
}

/* ------------------------------------------------------------------------------------------------
 * Gates
 */

static void check_queue(const struct core *core, const struct hfi_gate *gate)
{
    const struct hfi_waiter *waiter;
    uint32_t all = 0, once = 0, named = 0;
    bool called = false;

    DL_FOREACH (gate->queue, waiter) {
        const struct call *call = waiter->cookie;

        MUST(!waiter->done && waiter->gate == gate);
        if (!waiter->once && waiter->wait_ns != HF_TIME_NEVER)
            MUST(core->ticked_ns < call->start_ns + waiter->wait_ns);
        all++;
        once += waiter->once;
        named += waiter->named;
        called |= waiter == gate->called;
    }
    MUST(all == gate->queue_len && once == gate->once_len && named == gate->named_len);
    MUST(called || !gate->called);
}

static bool is_releasing(const struct core *core, const struct hfi_gate *gate)
{
    const struct hfi_hold *hold;

    DL_FOREACH (core->engine.holds, hold) {
        if (hold->gate == gate && hfi_hold_state_of(hold) == HFI_HOLD_RELEASING)
            return true;
    }
    return false;
}

/* With waiters and no hold, something will come by itself that leads to a try, and within the poll cap. */
static void check_phase(const struct core *core, const struct hfi_gate *gate)
{
    const struct hfi_wait *wait = gate->wait;

    MUST(wait);
    switch ((enum hfi_phase)wait->phase) {
    case HFI_PHASE_WATCHING:
        MUST(wait->watch_in_flight);
        /* fall through */
    case HFI_PHASE_SLEEPING:
    case HFI_PHASE_PAUSED:
        MUST(hfi_timer_is_set(&wait->timer));
        MUST(wait->timer.expires_ns <= core->engine.now + core->engine.config.poll_ns);
        break;
    case HFI_PHASE_YIELDING:
        MUST(is_releasing(core, gate));
        break;
    case HFI_PHASE_IDLE:
    case HFI_PHASE_LINGERING:
        fuzz_fail(__FILE__, __LINE__, "a gate with waiters waits for nothing");
    }
}

static void check_gate(const struct core *core, const struct hfi_gate *gate)
{
    const struct hfi_hold *hold = gate->hold;
    bool trying = hold && hfi_hold_state_of(hold) == HFI_HOLD_TRYING;

    check_queue(core, gate);
    MUST(!hold || trying || is_held(hold));
    MUST(!trying || is_on_its_way(&hold->lease.request));
    if (gate->queue && !hold)
        check_phase(core, gate);
    if (hold && hfi_pass_parked(hold)) {
        MUST(gate->queue && gate->called);
        MUST(hold->timer.expires_ns <= gate->pass_until_ns);
    }
    MUST(!core->closed || !gate->queue);
}

/* ------------------------------------------------------------------------------------------------
 * Holds
 */

/* The deadline comes from requests that were answered, counted from before their first byte. */
static void check_lease(struct core *core, const struct hfi_hold *hold)
{
    const struct owner *owner = core_owner(core, hold->lease.owner);
    hfi_time deadline = hfi_hold_deadline(hold);

    MUST(owner->answered_ns > 0);
    MUST(deadline <= hfi_lease_deadline(owner->answered_ns, hfi_hold_ttl(hold)));
    MUST(!hold->handles || deadline <= hold->ceiling_ns);
    MUST(!owner->told_lost && !owner->retired && !owner->released);
    MUST(hfi_timer_is_set(&hold->timer) && hold->timer.expires_ns <= deadline);
    MUST(core->ticked_ns < deadline); /* the loss is told at the deadline at the latest */
    MUST(hold->gate->hold == hold);
}

/* As long as the server has not lied: it has what we claim, and for longer. */
static void check_truth(const struct core *core, const struct hfi_hold *hold)
{
    int name = core_name(hold->gate->name);
    const struct lock *lock = &core->lock[name];

    if (core->lied || lock->tampered || !hfi_hold_valid(hold, core->now))
        return;
    MUST(lock->holder == OURS && lock->owner == hold->lease.owner);
    MUST(lock->expires_ns > hfi_hold_deadline(hold));
}

static void check_hold(struct core *core, const struct hfi_hold *hold)
{
    enum hfi_hold_state state = hfi_hold_state_of(hold);

    if (is_held(hold))
        check_lease(core, hold);
    else
        MUST(hold->gate->hold != hold || state == HFI_HOLD_TRYING);
    check_truth(core, hold);
    if (state == HFI_HOLD_LOST)
        MUST(hold->handles && core_owner(core, hold->lease.owner)->told_lost);
    if (state == HFI_HOLD_RELEASING)
        MUST(hfi_timer_is_set(&hold->timer) || is_on_its_way(&hold->lease.request));
    if (state == HFI_HOLD_IDLE)
        MUST(!hold->handles && !hfi_timer_is_set(&hold->timer));
}

/* What was over once is never held again, whoever asks. */
static void check_held(const struct core *core, struct held *held)
{
    const struct hfi_hold *hold = held->handle.hold;
    bool valid = hfi_hold_valid(hold, core->now);

    MUST(!(held->over && valid));
    held->over |= !valid;
}

void check_core(struct core *core)
{
    const struct hfi_gate *gate;
    const struct hfi_hold *hold;
    struct held *held;
    size_t active = 0, count = 0;

    model_expire(core);
    for (gate = core->engine.gates; gate; gate = gate->hh.next)
        check_gate(core, gate);
    DL_FOREACH (core->engine.holds, hold) {
        enum hfi_hold_state state = hfi_hold_state_of(hold);

        check_hold(core, hold);
        active += state != HFI_HOLD_IDLE && state != HFI_HOLD_GONE;
        count++;
    }
    DL_FOREACH (core->helds, held) {
        check_held(core, held);
    }
    MUST(active == core->engine.active && count == core->engine.hold_count);
    MUST(!core->engine.broken);
}

void check_rest(struct core *core)
{
    MUST(!core->calls && !core->helds && !core->checks);
    MUST(!core->engine.gates && core->engine.hold_count == 0 && core->engine.watched == 0);
    MUST(hfi_engine_deadline(&core->engine) == HF_TIME_NEVER);
    for (int i = 0; i < NAMES; i++)
        MUST(core->lock[i].holder != OURS);
    for (int i = 0; i < NAMES; i++)
        for (int kind = 0; kind < HFI_KIND_COUNT; kind++)
            MUST(!core->conn[HFI_REDIS_WAKEUPS].listens[i][kind]);
}
