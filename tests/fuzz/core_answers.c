/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of requests as they leave, of answers as they come, and of what callers are told. */
#include "fuzz/core.h"

#include <utlist.h>

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
    if (request->op == HFI_OP_TRY) {
        check_try(core, (const struct hfi_hold *)request);
        core->lock[core_name(((const struct hfi_lease *)request)->name)].tried = ++core->count;
    }
    if (request->op == HFI_OP_RENEW)
        check_renewal(core, (const struct hfi_renewal *)request);
}

static void finish_try(struct core *core, const struct hfi_lease *lease)
{
    struct owner *owner = core_owner(core, lease->owner);

    if (lease->request.outcome == HFI_UNKNOWN)
        owner->retired = true;
    if (lease->request.outcome != HFI_DONE)
        return;
    /* It left after the clock was read, not before. */
    MUST(lease->request.sent_ns > 0 && lease->request.sent_ns <= owner->try_ns);
    if (lease->verdict != HFI_GRANTED)
        return;
    owner->kept_ns = lease->request.sent_ns;
    owner->first_token = lease->token;
    owner->last_token = lease->token + lease->tokens - 1;
}

/* What the server does not have is not ours, from then on. */
static void finish_renewal(struct core *core, const struct hfi_renewal *renewal)
{
    for (size_t i = 0; i < renewal->count; i++)
        if (!renewal->items[i].kept)
            core_owner(core, renewal->items[i].lease->owner)->gone = true;
        else if (renewal->items[i].ttl_ms > 0)
            core_owner(core, renewal->items[i].lease->owner)->kept_ns = renewal->request.sent_ns;
}

/* It is done when the server listens. */
static void finish_watch(struct core *core, const struct hfi_watch *watch)
{
    const struct conn *conn = &core->conn[HFI_REDIS_WAKEUPS];
    int name = core_name(watch->name);

    MUST(core->lied || (conn->up && conn->listens[name][watch->topic]));
    core->lock[name].watched = ++core->count;
}

void check_finished(struct core *core, const struct hfi_request *request)
{
    MUST(!is_on_its_way(request) && request->sent_ns <= core->now);
    MUST((request->outcome == HFI_DONE) == (request->error == HF_OK));
    MUST((request->outcome == HFI_UNKNOWN) == (request->error == HF_ERR_UNSURE));
    if (request->outcome == HFI_UNKNOWN &&
        !core->lied) /* not answered, and not by nonsense either */
        core->conn[HFI_REDIS_COMMANDS].forsaken = core->conn[HFI_REDIS_COMMANDS].up;
    if (request->op == HFI_OP_TRY)
        finish_try(core, (const struct hfi_lease *)request);
    if (request->op == HFI_OP_RENEW && request->outcome == HFI_DONE)
        finish_renewal(core, (const struct hfi_renewal *)request);
    if (request->op == HFI_OP_WATCH && request->outcome == HFI_DONE)
        finish_watch(core, (const struct hfi_watch *)request);
    core->heard = ++core->count;
}

/* ------------------------------------------------------------------------------------------------
 * Results
 */

/* A claim of its own, the first or a further one: its token is of the block that came with the hold. */
static void check_claim(const struct core *core, struct owner *owner,
                        const struct hfi_handle *handle)
{
    MUST(handle->token >= owner->first_token && handle->token <= owner->last_token);
    MUST(owner->claims == 0 || !handle->hold->fixed);
    MUST(owner->claims <= core->engine.config.pass_count);
    MUST(owner->claims == 0 || core->engine.now <= handle->hold->gate->pass_until_ns);
    owner->claims++;
}

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
    check_claim(core, core_owner(core, hold->lease.owner), handle);
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

/* Who tries once has it from a try that was sent after he came, or from what the process itself holds. */
static void check_busy(const struct core *core, const struct call *call)
{
    const struct hfi_gate *gate;

    check_failure(core, call);
    if (!call->waiter.once || core->lock[call->name].tried > call->begun)
        return;
    for (gate = core->engine.gates; gate; gate = gate->hh.next)
        if (core_name(gate->name) == call->name)
            MUST(gate->hold && is_held(gate->hold));
}

void check_result(struct core *core, const struct call *call)
{
    MUST(call->waiter.done);
    switch (call->waiter.result) {
    case HF_OK:
        check_success(core, call);
        break;
    case HF_ERR_BUSY:
        check_busy(core, call);
        break;
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
