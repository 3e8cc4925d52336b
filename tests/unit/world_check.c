/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold, always; each with the rule that it comes from (the design's section 1, and the heads of the
 * core's files). */
#include "world.h"

#include <utlist.h>

#include "core/lease.h"

static bool is_held(const struct hfi_hold *hold)
{
    enum hfi_hold_state state = hfi_hold_state_of(hold);

    return state == HFI_HOLD_HELD || state == HFI_HOLD_AT_RISK;
}

static int name_of(struct world *world, const struct hfi_gate *gate)
{
    for (int i = 0; i < NAMES; i++)
        if (strcmp(gate->name, WORLD_NAMES[i]) == 0)
            return i;
    world_fail(world, "a gate of an unknown name", __FILE__, __LINE__);
}

/* ------------------------------------------------------------------------------------------------
 * Requests, when they are submitted
 */

static bool is_on_its_way(const struct process *process, const struct hfi_request *request)
{
    const struct parcel *parcel;

    for (int lane = 0; lane < 2; lane++)
        DL_FOREACH (process->lane[lane], parcel) {
            if (parcel->request == request)
                return true;
        }
    return false;
}

/* Rule 5: an acquire keeps its owner id until a try goes unanswered; an id that was ended is never used. */
static void check_try(struct world *world, struct process *process, const struct hfi_hold *hold)
{
    uint64_t owner = hold->lease.owner;
    const struct call *call;

    MUST(world, owner < OWNERS && owner > 0);
    MUST(world, !process->ended[owner]);
    MUST(world, !process->engine.closing);
    if (!hold->waiter)
        return; /* its time ended in the same step */
    call = hold->waiter->cookie;
    MUST(world, !call->done && hold->gate->queue == hold->waiter);
    MUST(world, process->caller[owner] == 0 || process->caller[owner] == call->number);
    process->caller[owner] = call->number;
}

static void check_renewal(struct world *world, struct process *process,
                          const struct hfi_renewal *renewal)
{
    MUST(world, renewal->count >= 1 && renewal->count <= HFI_RENEWAL_MAX);
    for (size_t i = 0; i < renewal->count; i++) {
        const struct hfi_hold *hold = (const struct hfi_hold *)renewal->items[i].lease;

        if (renewal->items[i].ttl_ms == 0)
            continue; /* only a look */
        MUST(world, !process->ended[hold->lease.owner]);
        MUST(world, hfi_hold_valid(hold, world->now)); /* rule 3 */
        MUST(world, !hold->fixed);
        MUST(world, renewal->items[i].ttl_ms == hold->lease.ttl_ms);
    }
}

void check_request(struct world *world, struct process *process, struct hfi_request *request)
{
    MUST(world, !is_on_its_way(process, request)); /* submitted twice at once */
    MUST(world, request->outcome == HFI_PENDING && request->sent_ns == 0);
    MUST(world, request->deadline_ns > world->now);
    if (request->op == HFI_OP_TRY)
        check_try(world, process, (struct hfi_hold *)request);
    if (request->op == HFI_OP_RELEASE)
        process->ended[hfi_request_lease(request)->owner] = true;
    if (request->op == HFI_OP_RENEW)
        check_renewal(world, process, hfi_request_renewal(request));
}

/* ------------------------------------------------------------------------------------------------
 * Results, when they are given
 */

static void check_success(struct world *world, struct process *process, struct call *call)
{
    struct hfi_handle *handle = &call->held->handle;
    const struct hfi_hold *hold = handle->hold;
    struct truth *truth = &world->truth[call->name];
    const struct held *other;

    MUST(world, hfi_hold_valid(hold, world->now)); /* rule 4 */
    MUST(world, hold->owner == call->waiter.owner && hold->owner_kind == call->waiter.owner_kind);
    DL_FOREACH (process->helds, other) {
        if (other->handle.hold != hold)
            continue;
        MUST(world, handle->token == other->handle.token); /* rule 7 */
        world->statistics->reentered++;
        return;
    }
    world->statistics->acquired++;
    world->statistics->passed += handle->token > process->first_token[hold->lease.owner];
    MUST(world, hold->ceiling_ns == hfi_time_add(world->now, call->waiter.max_hold_ns
                                                                 ? call->waiter.max_hold_ns
                                                                 : HF_TIME_NEVER));
    MUST(world, hold->fixed == call->waiter.fixed && hold->lease.ttl_ms == call->waiter.ttl_ms);
    if (!truth->tampered)
        MUST(world, handle->token > truth->promised); /* rule 8 */
    truth->promised = hfi_time_max(truth->promised, handle->token);
}

/* Somebody had it at some moment of the call; who waits may also go by what his gate saw last. */
static bool was_busy(struct world *world, const struct process *process, const struct call *call)
{
    const struct truth *truth = &world->truth[call->name];
    hfi_time old = process->engine.config.poll_ns + process->engine.config.op_timeout_ns;

    store_expire(world);
    if (!call->waiter.once && process->busy_ns[call->name] + old >= call->start_ns)
        return true;
    if (net_count(process, HFI_OP_RELEASE, call->name) > 0)
        return true; /* by one of us, as far as is known */
    return truth->held_ns >= call->start_ns || truth->tampered; /* its loser may not know yet */
}

static bool has_unsent_try(const struct process *process, int name)
{
    const struct parcel *parcel;

    DL_FOREACH (process->lane[0], parcel) {
        if (parcel->deed.op == HFI_OP_TRY && parcel->deed.name == name && parcel->stage == QUEUED)
            return true;
    }
    return false;
}

static bool is_unsure(const struct process *process, const struct call *call)
{
    hfi_time old =
        call->waiter.once ? 0 : process->engine.config.poll_ns; /* as the gate saw last */

    return process->unsure_ns[call->name] + old >= call->start_ns ||
           net_count(process, HFI_OP_TRY, call->name) > 0;
}

static bool was_refused(const struct process *process, const struct call *call)
{
    return process->refusal[call->name] == call->waiter.result ||
           (call->waiter.result == HF_ERR_UNREACHABLE && has_unsent_try(process, call->name));
}

/* Every acquire has one result, and it is true. */
void check_result(struct world *world, struct process *process, struct call *call)
{
    bool timed = call->waiter.once || call->waiter.wait_ns != HF_TIME_NEVER;

    switch (call->waiter.result) {
    case HF_OK:
        check_success(world, process, call);
        break;
    case HF_ERR_BUSY:
        world->statistics->busy++;
        MUST(world, timed && was_busy(world, process, call));
        break;
    case HF_ERR_UNSURE:
        world->statistics->unsure++;
        MUST(world, timed && is_unsure(process, call));
        break;
    case HF_ERR_UNREACHABLE:
    case HF_ERR_UNAVAILABLE:
    case HF_ERR_STORE_FULL:
        world->statistics->refused++;
        MUST(world, timed && was_refused(process, call));
        break;
    case HF_ERR_WRONG_TYPE:
        MUST(world, was_refused(process, call));
        break;
    case HF_ERR_CANCELLED:
        MUST(world, call->cancelled);
        break;
    case HF_ERR_NO_MEMORY:
        world->statistics->no_memory++;
        world->short_of_memory = true;
        MUST(world, world->arm);
        break;
    case HF_ERR_CLOSED:
        MUST(world, process->engine.closing);
        break;
    default:
        world_fail(world, "a result that nothing explains", __FILE__, __LINE__);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Gates
 */

static bool is_queued(const struct hfi_gate *gate, const struct hfi_waiter *wanted)
{
    const struct hfi_waiter *waiter;

    DL_FOREACH (gate->queue, waiter) {
        if (waiter == wanted)
            return true;
    }
    return false;
}

static void check_queue(struct world *world, const struct hfi_gate *gate)
{
    const struct hfi_waiter *waiter;
    uint32_t all = 0, once = 0, named = 0;

    DL_FOREACH (gate->queue, waiter) {
        MUST(world, !waiter->done && waiter->gate == gate);
        if (!waiter->once && waiter->wait_ns != HF_TIME_NEVER)
            MUST(world, hfi_timer_is_set(&waiter->timer));
        all++;
        once += waiter->once;
        named += waiter->named;
    }
    MUST(world, all == gate->queue_len && once == gate->once_len && named == gate->named_len);
    MUST(world, !gate->called || is_queued(gate, gate->called));
}

/* front.c, 2: with waiters and no hold, the phase names something that will come, soon. */
static void check_phase(struct world *world, const struct process *process,
                        const struct hfi_gate *gate, int name)
{
    const struct hfi_wait *wait = gate->wait;
    hfi_time latest = world->now + process->engine.config.poll_ns;

    MUST(world, wait);
    MUST(world,
         gate->once_len == 0 || wait->phase == HFI_PHASE_YIELDING); /* they are tried for at once */
    switch ((enum hfi_phase)wait->phase) {
    case HFI_PHASE_WATCHING:
        MUST(world, wait->watch_in_flight);
        /* fall through */
    case HFI_PHASE_SLEEPING:
    case HFI_PHASE_PAUSED:
        MUST(world, hfi_timer_is_set(&wait->timer) && wait->timer.expires_ns <= latest);
        MUST(world, wait->phase != HFI_PHASE_SLEEPING || !wait->wake_pending ||
                        wait->timer.expires_ns == wait->yield_until_ns);
        break;
    case HFI_PHASE_YIELDING:
        MUST(world, net_count(process, HFI_OP_RELEASE, name) > 0);
        break;
    case HFI_PHASE_IDLE:
    case HFI_PHASE_LINGERING:
        world_fail(world, "a gate with waiters waits for nothing", __FILE__, __LINE__);
    }
}

static void check_wait(struct world *world, const struct process *process,
                       const struct hfi_gate *gate, int name)
{
    const struct hfi_wait *wait = gate->wait;
    size_t watches = net_count(process, HFI_OP_WATCH, name),
           unwatches = net_count(process, HFI_OP_UNWATCH, name);

    MUST(world, watches + unwatches == wait->watch_in_flight);
    MUST(world, net_count(process, HFI_OP_LEAVE, name) == wait->leave_in_flight);
    if (!wait->watch_in_flight)
        MUST(world, wait->watched == (process->watch[name] != NULL));
}

static void check_gate(struct world *world, const struct process *process,
                       const struct hfi_gate *gate)
{
    const struct hfi_hold *hold = gate->hold;
    bool trying = hold && hfi_hold_state_of(hold) == HFI_HOLD_TRYING;
    int name = name_of(world, gate);

    check_queue(world, gate);
    MUST(world, !hold || trying || is_held(hold));               /* hold.c, 5 */
    MUST(world, net_count(process, HFI_OP_TRY, name) == trying); /* front.c, 1 */
    MUST(world, !trying || !hold->waiter || is_queued(gate, hold->waiter));
    if (gate->wait)
        check_wait(world, process, gate, name);
    if (gate->queue && !hold)
        check_phase(world, process, gate, name);
    if (hold && hfi_pass_parked(hold)) { /* pass.c, 3 */
        MUST(world, gate->queue && gate->called);
        MUST(world, hold->timer.expires_ns <= gate->pass_until_ns);
    }
    if (process->engine.closing)
        MUST(world, !gate->queue);
}

/* ------------------------------------------------------------------------------------------------
 * Holds
 */

static uint32_t count_pins(const struct process *process, const struct hfi_hold *hold)
{
    const struct parcel *parcel;
    uint32_t pins = 0;

    DL_FOREACH (process->lane[0], parcel) {
        if (parcel->deed.op != HFI_OP_RENEW)
            continue;
        for (size_t i = 0; i < parcel->deed.count; i++)
            pins += hfi_request_renewal(parcel->request)->items[i].lease == &hold->lease;
    }
    return pins;
}

static void check_lease(struct world *world, struct process *process, const struct hfi_hold *hold)
{
    hfi_time deadline = hfi_hold_deadline(hold), confirmed = process->confirmed[hold->lease.owner];
    hfi_time *seen = &process->deadline[hold->lease.owner];

    MUST(world, !process->told_lost[hold->lease.owner]); /* rule 3 */
    MUST(world, !process->ended[hold->lease.owner]);
    MUST(world, deadline <= hfi_lease_deadline(confirmed, hfi_hold_ttl(hold))); /* rule 1 */
    MUST(world, !hold->handles || deadline <= hold->ceiling_ns);
    /* Rule 3: what was over at some time does not come back. */
    MUST(world, deadline <= *seen || *seen == 0 || world->now < *seen);
    *seen = deadline;
    MUST(world, hfi_timer_is_set(&hold->timer) && hold->timer.expires_ns <= deadline);
    MUST(world, hold->gate->hold == hold);
}

static void check_hold(struct world *world, struct process *process, const struct hfi_hold *hold)
{
    enum hfi_hold_state state = hfi_hold_state_of(hold);

    MUST(world, hold->pins == count_pins(process, hold));
    if (is_held(hold))
        check_lease(world, process, hold);
    else
        MUST(world, hold->gate->hold != hold || state == HFI_HOLD_TRYING);
    if (state == HFI_HOLD_LOST)
        MUST(world, hold->handles);
    if (state == HFI_HOLD_RELEASING)
        MUST(world, hfi_timer_is_set(&hold->timer) || is_on_its_way(process, &hold->lease.request));
    if (state == HFI_HOLD_IDLE)
        MUST(world, !hold->handles && !hfi_timer_is_set(&hold->timer));
}

/* A valid claim is true: the store has it, and will have it until its deadline at least. */
static void check_truth(struct world *world, const struct process *process,
                        const struct hfi_hold *hold, int *claims)
{
    int name = name_of(world, hold->gate);
    const struct truth *truth = &world->truth[name];

    if (!hfi_hold_valid(hold, world->now) || truth->tampered)
        return;
    MUST(world, truth->holder == process->number && truth->owner == hold->lease.owner);
    MUST(world, truth->expires_ns > hfi_hold_deadline(hold));
    if (hold->handles)
        MUST(world, claims[name]++ == 0);
}

static void check_engine(struct world *world, struct process *process, int *claims)
{
    const struct hfi_engine *engine = &process->engine;
    const struct hfi_gate *gate;
    const struct hfi_hold *hold;
    size_t active = 0, count = 0;

    for (gate = engine->gates; gate; gate = gate->hh.next)
        check_gate(world, process, gate);
    DL_FOREACH (engine->holds, hold) {
        enum hfi_hold_state state = hfi_hold_state_of(hold);

        check_hold(world, process, hold);
        check_truth(world, process, hold, claims);
        active += state != HFI_HOLD_IDLE && state != HFI_HOLD_GONE;
        count++;
    }
    MUST(world, active == engine->active && count == engine->hold_count);
    MUST(world, !engine->news && !engine->requests && !engine->done && !engine->released);
}

void check_world(struct world *world)
{
    int claims[NAMES] = { 0 };

    store_expire(world);
    for (int i = 0; i < world->nature.processes; i++)
        check_engine(world, &world->process[i], claims);
}

/* ------------------------------------------------------------------------------------------------
 * What people see
 */

static void check_seen_gate(struct world *world, const struct process *process,
                            const struct hfi_gate *gate)
{
    const struct registered *seen = &process->registry[name_of(world, gate)];
    const struct hfi_hold *hold = gate->hold;
    bool held = hold && is_held(hold);

    if (gate->dirty || (hold && !held))
        return; /* it is about to be told, or changes just now */
    MUST(world, seen->held == held);
    MUST(world, seen->waiters == gate->queue_len);
    if (held)
        MUST(world, seen->owner == hold->lease.owner &&
                        seen->token == (hold->handles ? hold->handles->token : hold->lease.token));
}

void check_seen(struct world *world, const struct process *process)
{
    bool there[NAMES] = { false };
    const struct hfi_gate *gate;

    if (!world->nature.announces || process->engine.closing || process->engine.presence->in_flight)
        return;
    for (gate = process->engine.gates; gate; gate = gate->hh.next) {
        there[name_of(world, gate)] = true;
        check_seen_gate(world, process, gate);
    }
    for (int name = 0; name < NAMES; name++)
        MUST(world, there[name] || !process->registry[name].field);
}

/* ------------------------------------------------------------------------------------------------
 * At rest
 */

void check_rest(struct world *world, struct process *process)
{
    MUST(world, !process->calls && !process->helds && !process->lane[0] && !process->lane[1]);
    MUST(world, !process->engine.gates);
    MUST(world, process->engine.hold_count == 0);
    MUST(world, hfi_engine_deadline(&process->engine) == HF_TIME_NEVER);
    for (int name = 0; name < NAMES; name++) {
        MUST(world, !process->registry[name].field); /* people see nothing of it any more */
        MUST(world, !process->watch[name]);
        for (int i = 0; i < world->truth[name].line_length; i++) /* none is left */
            MUST(world, world->truth[name].line[i] != process->number || !world->nature.killing ||
                            world->short_of_memory);
        MUST(world, world->truth[name].holder != process->number || !world->nature.killing);
    }
}
