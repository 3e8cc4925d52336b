/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold, always: the rules are those of docs/internals and of the heads of src/core's files. */
#include "fuzz/core.h"

#include <utlist.h>

#include "core/lease.h"
#include "core/presence.h"

bool is_held(const struct hfi_hold *hold)
{
    enum hfi_hold_state state = hfi_hold_state_of(hold);

    return state == HFI_HOLD_HELD || state == HFI_HOLD_AT_RISK;
}

static bool is_on_its_way(const struct hfi_request *request)
{
    return request->outcome == HFI_PENDING;
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

/* It sleeps after a try that no news has overtaken: no wake-up, and no new subscription, which may have missed
 * one. Only others that were let go first are waited for whatever comes. */
static void check_sleep(const struct core *core, const struct hfi_wait *wait)
{
    const struct lock *lock = &core->lock[core_name(wait->gate->name)];

    if (wait->yield_until_ns > 0)
        return;
    MUST(wait->watched && !wait->watch_in_flight);
    MUST(lock->tried > lock->woken && lock->tried > lock->watched);
    MUST(core->lied || lock->tried > lock->confirmed[wait->watch.topic]);
}

/* With waiters and no hold, something will come by itself that leads to a try, and within the poll cap. */
static void check_phase(const struct core *core, const struct hfi_gate *gate)
{
    const struct hfi_wait *wait = gate->wait;

    MUST(wait);
    if (wait->phase == HFI_PHASE_SLEEPING)
        check_sleep(core, wait);
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
    MUST(!owner->told_lost && !owner->retired && !owner->released && !owner->gone);
    MUST(hfi_engine_deadline(&core->engine) <= deadline);
    MUST(hfi_timer_is_set(&hold->timer) && hold->timer.expires_ns <= deadline);
    MUST(core->ticked_ns < deadline); /* the loss is told at the deadline at the latest */
    MUST(hold->gate->hold == hold);
}

/* When renewals stay away, its user is told in time. */
static void check_risk(const struct core *core, const struct hfi_hold *hold)
{
    if (hold->renew_ns == HF_TIME_NEVER || core->ticked < core->heard)
        return;
    if (core->ticked_ns >= hfi_lease_risk(hold->lease.request.sent_ns, hfi_hold_ttl(hold)))
        MUST(hfi_hold_state_of(hold) == HFI_HOLD_AT_RISK);
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

    if (is_held(hold)) {
        check_lease(core, hold);
        check_risk(core, hold);
    } else {
        MUST(hold->gate->hold != hold || state == HFI_HOLD_TRYING);
    }
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

void check_given_back(const struct core *core)
{
    for (int i = 0; i < NAMES; i++)
        MUST(core->lied || core->lock[i].late || core->lock[i].holder != OURS);
}

void check_rest(struct core *core)
{
    MUST(!core->calls && !core->helds && !core->checks);
    MUST(!core->engine.gates && core->engine.hold_count == 0 && core->engine.watched == 0);
    MUST(hfi_engine_deadline(&core->engine) == HF_TIME_NEVER);
    for (int i = 0; i < NAMES; i++)
        MUST(core->lock[i].holder != OURS);
    for (int i = 0; i < NAMES; i++)
        for (int kind = 0; kind < HFI_TOPIC_COUNT; kind++)
            MUST(!core->conn[HFI_REDIS_WAKEUPS].listens[i][kind]);
}
