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

/* One read hold at a time uses the owner id of a write hold, and any number one after the other. */
static void check_borrowed(struct world *world, struct process *process,
                           const struct hfi_hold *hold)
{
    struct record *record = record_of(process, HFI_KIND_READ, hold->lease.owner);
    const struct hfi_hold *other;

    MUST(world, hold->lender->lent && hold->lender->pins > 0);
    MUST(world, hold->lender->lease.owner == hold->lease.owner);
    DL_FOREACH (process->engine.holds, other) {
        MUST(world, other == hold || other->lease.kind != HFI_KIND_READ ||
                        other->lease.owner != hold->lease.owner ||
                        hfi_hold_state_of(other) == HFI_HOLD_GONE);
    }
    if (record->ended)
        *record = (struct record){ 0 }; /* the one before */
    world->statistics->borrowed++;
}

/* A fair owner may ask again under its number, if all that it had asked before was answered. */
static void check_reused(struct world *world, struct record *record)
{
    MUST(world, record->answered && !record->doubt);
    *record = (struct record){ 0 };
    world->statistics->reused++;
}

/* Rule 5: an acquire keeps its owner id until a try goes unanswered; an id that was ended is never used. */
static void check_try(struct world *world, struct process *process, const struct hfi_hold *hold)
{
    uint64_t owner = hold->lease.owner;
    struct record *record = record_of(process, (enum hfi_kind)hold->lease.kind, owner);
    const struct call *call;

    MUST(world, owner < OWNERS && owner > 0);
    if (hold->lender)
        check_borrowed(world, process, hold);
    if (hold->lease.kind == HFI_KIND_FAIR && record->ended)
        check_reused(world, record);
    MUST(world, !record->ended);
    MUST(world, !process->engine.closing);
    if (!hold->waiter)
        return; /* its time ended in the same step */
    call = hold->waiter->cookie;
    MUST(world, !call->done && hold->gate->queue == hold->waiter);
    MUST(world,
         hold->lease.kind == call->waiter.kind && hold->lease.permits == call->waiter.permits);
    MUST(world, record->caller == 0 || record->caller == call->number || hold->lender);
    record->caller = call->number;
}

static void check_renewal(struct world *world, struct process *process,
                          const struct hfi_renewal *renewal)
{
    MUST(world, renewal->count >= 1 && renewal->count <= HFI_RENEWAL_MAX);
    for (size_t i = 0; i < renewal->count; i++) {
        const struct hfi_hold *hold = (const struct hfi_hold *)renewal->items[i].lease;

        if (renewal->items[i].ttl_ms == 0)
            continue; /* only a look */
        MUST(world, !record_of(process, (enum hfi_kind)hold->lease.kind, hold->lease.owner)->ended);
        MUST(world, hold->lease.kind < HFI_KIND_SEMAPHORE); /* those are no holds */
        MUST(world, hfi_hold_valid(hold, world->now));      /* rule 3 */
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
        record_of(process, (enum hfi_kind)hfi_request_lease(request)->kind,
                  hfi_request_lease(request)->owner)
            ->ended = true;
    if (request->op == HFI_OP_RENEW)
        check_renewal(world, process, hfi_request_renewal(request));
}

/* ------------------------------------------------------------------------------------------------
 * Results, when they are given
 */

static bool is_token_of_kind(enum hfi_kind kind, uint64_t token)
{
    return hfi_kind_has_many(kind) == (token == 0);
}

static void check_token(struct world *world, struct process *process, const struct call *call)
{
    const struct hfi_handle *handle = &call->held->handle;
    enum hfi_kind kind = (enum hfi_kind)call->waiter.kind;
    struct truth *truth = &world->truth[call->name];
    uint64_t *promised = &truth->promised[kind == HFI_KIND_FENCED];

    MUST(world, is_token_of_kind(kind, handle->token));
    if (hfi_kind_has_many(kind))
        return;
    if (handle->token > record_of(process, kind, handle->hold->lease.owner)->first_token) {
        MUST(world, hfi_kind_passes(kind));
        world->statistics->passed++;
    }
    if (!truth->tampered)
        MUST(world, handle->token > *promised); /* rule 8 */
    *promised = hfi_time_max(*promised, handle->token);
}

/* True: it entered a hold that it had. */
static bool check_reentry(struct world *world, const struct process *process,
                          const struct call *call)
{
    const struct hfi_handle *handle = &call->held->handle;
    const struct held *other;

    DL_FOREACH (process->helds, other) {
        if (other->handle.hold != handle->hold)
            continue;
        MUST(world, handle->token == other->handle.token); /* rule 7 */
        MUST(world, call->waiter.kind <= HFI_KIND_READ && !call->waiter.no_reentry);
        world->statistics->reentered++;
        return true;
    }
    return false;
}

static void check_latch(struct world *world, const struct call *call, bool deleted)
{
    const struct truth *truth = &world->truth[call->name];

    if (deleted) {
        MUST(world, truth->deleted_ns >= call->start_ns);
        world->statistics->deleted++;
        return;
    }
    MUST(world, store_is_open(world, call->name) || truth->open_ns >= call->start_ns);
    world->statistics->opened++;
}

static void check_success(struct world *world, struct process *process, struct call *call)
{
    struct hfi_handle *handle = &call->held->handle;
    const struct hfi_hold *hold = handle->hold;
    bool no_lease = call->waiter.kind == HFI_KIND_SEMAPHORE;

    if (call->waiter.kind == HFI_KIND_LATCH) {
        check_latch(world, call, false);
        return;
    }
    MUST(world, no_lease || hfi_hold_valid(hold, world->now)); /* rule 4 */
    MUST(world, hold->lease.kind == call->waiter.kind);
    MUST(world, hold->lease.permits == call->waiter.permits);
    MUST(world, hold->owner == call->waiter.owner && hold->owner_kind == call->waiter.owner_kind);
    if (check_reentry(world, process, call))
        return;
    world->statistics->acquired++;
    world->statistics->of_kind[call->waiter.kind]++;
    MUST(world, hold->ceiling_ns == hfi_time_add(world->now, call->waiter.max_hold_ns
                                                                 ? call->waiter.max_hold_ns
                                                                 : HF_TIME_NEVER));
    MUST(world, hold->fixed == call->waiter.fixed && hold->lease.ttl_ms == call->waiter.ttl_ms);
    check_token(world, process, call);
}

/* The owner's own hold of the name: of the same kind, or of another. */
static void check_own(struct world *world, const struct process *process, const struct call *call,
                      bool same)
{
    const struct held *held;

    DL_FOREACH (process->helds, held) {
        const struct hfi_hold *hold = held->handle.hold;

        if (held->name == call->name && hold->owner == call->waiter.owner &&
            hold->owner_kind == call->waiter.owner_kind &&
            (held->kind == call->waiter.kind) == same && hfi_hold_valid(hold, world->now))
            return;
    }
    world_fail(world, "an owner is told that it is in its own way, and is not", __FILE__, __LINE__);
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

/* A reader who has the name for writing: its owner id is in use, by another call, or by what is being released. */
static bool is_borrower(const struct process *process, const struct call *call)
{
    const struct hfi_waiter *waiter = &call->waiter;
    const struct hfi_hold *hold;

    if (waiter->kind != HFI_KIND_READ)
        return false;
    DL_FOREACH (process->engine.holds, hold) {
        if (hold->lent && hfi_gate_is_owner(hold, waiter))
            return true;
    }
    return false;
}

/* What was said last; a name with several gates has something said to each. */
static bool was_refused(const struct world *world, const struct process *process,
                        const struct call *call)
{
    uint64_t refusals = process->refusals[call->name];

    if (world->nature.kinds && refusals >> -call->waiter.result & 1)
        return true;
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
        MUST(world, is_borrower(process, call) || (timed && is_unsure(process, call)));
        break;
    case HF_ERR_UPGRADE:
        world->statistics->upgrades++;
        check_own(world, process, call, false);
        break;
    case HF_ERR_REENTRY:
        world->statistics->reentries++;
        MUST(world, call->waiter.no_reentry);
        check_own(world, process, call, true);
        break;
    case HF_ERR_NOT_FOUND:
        MUST(world, call->waiter.kind == HFI_KIND_LATCH);
        check_latch(world, call, true);
        break;
    case HF_ERR_UNREACHABLE:
    case HF_ERR_UNAVAILABLE:
    case HF_ERR_STORE_FULL:
        world->statistics->refused++;
        MUST(world, timed && was_refused(world, process, call));
        break;
    case HF_ERR_WRONG_TYPE:
        MUST(world, was_refused(world, process, call));
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
                        const struct hfi_gate *gate)
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
        MUST(world, net_count_of(process, HFI_OP_RELEASE, gate) > 0);
        break;
    case HFI_PHASE_IDLE:
    case HFI_PHASE_LINGERING:
        world_fail(world, "a gate with waiters waits for nothing", __FILE__, __LINE__);
    }
}

static void check_wait(struct world *world, const struct process *process,
                       const struct hfi_gate *gate)
{
    const struct hfi_wait *wait = gate->wait;
    size_t watches = net_count_of(process, HFI_OP_WATCH, gate),
           unwatches = net_count_of(process, HFI_OP_UNWATCH, gate);

    MUST(world, watches + unwatches == wait->watch_in_flight);
    MUST(world, net_count_of(process, HFI_OP_LEAVE, gate) == wait->leave_in_flight);
    if (!wait->watch_in_flight)
        MUST(world, wait->watched == (net_listener(process, &wait->watch) != NULL));
    MUST(world, gate->kind != HFI_KIND_SPIN || !wait->watched);
}

/* hold.c, 5: of kinds with many owners, those that are held. */
static void check_got(struct world *world, const struct hfi_gate *gate)
{
    const struct hfi_many_hold *many;
    uint32_t count = 0;

    DL_FOREACH2(hfi_gate_got(gate), many, got_next)
    {
        const struct hfi_hold *hold = &many->hold;

        MUST(world, hold->got && hold->gate == gate && is_held(hold) && hold->handles);
        count++;
    }
    MUST(world, !hfi_kind_has_many((enum hfi_kind)gate->kind) || count == gate->many.got_len);
    world->statistics->shared += count > 1 && gate->kind == HFI_KIND_READ;
}

static void check_gate(struct world *world, const struct process *process,
                       const struct hfi_gate *gate)
{
    const struct hfi_hold *hold = gate->hold;
    bool trying = hold && hfi_hold_state_of(hold) == HFI_HOLD_TRYING;

    check_queue(world, gate);
    check_got(world, gate);
    MUST(world, !hold || trying || is_held(hold)); /* hold.c, 5 */
    MUST(world, !hold || trying || !hfi_kind_has_many((enum hfi_kind)gate->kind));
    MUST(world, net_count_of(process, HFI_OP_TRY, gate) == trying); /* front.c, 1 */
    MUST(world, !trying || !hold->waiter || is_queued(gate, hold->waiter));
    if (gate->wait)
        check_wait(world, process, gate);
    if (gate->queue && !hold)
        check_phase(world, process, gate);
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
    struct record *record = record_of(process, (enum hfi_kind)hold->lease.kind, hold->lease.owner);
    hfi_time deadline = hfi_hold_deadline(hold);
    hfi_time *seen = &record->deadline;

    MUST(world, !record->told_lost); /* rule 3 */
    MUST(world, !record->ended);
    MUST(world, deadline <= hfi_lease_deadline(record->confirmed, hfi_hold_ttl(hold))); /* rule 1 */
    MUST(world, !hold->handles || deadline <= hold->ceiling_ns);
    /* Rule 3: what was over at some time does not come back. */
    MUST(world, deadline <= *seen || *seen == 0 || world->now < *seen);
    *seen = deadline;
    MUST(world, hfi_timer_is_set(&hold->timer) && hold->timer.expires_ns <= deadline);
    MUST(world, hold->got || hold->gate->hold == hold);
}

/* Who has lent its owner id is there as long as the one who borrowed it. */
static void check_lender(struct world *world, const struct process *process,
                         const struct hfi_hold *hold)
{
    const struct hfi_hold *other;
    uint32_t borrowers = 0;

    DL_FOREACH (process->engine.holds, other) {
        borrowers += other->lender == hold;
    }
    for (const struct call *call = process->calls; call; call = call->next)
        borrowers += !call->waiter.done && call->waiter.lender == hold;
    MUST(world, borrowers == hold->lent);
    MUST(world, !hold->lent || (hold->lease.kind == HFI_KIND_WRITE && hold->pins > 0));
}

static void check_hold(struct world *world, struct process *process, const struct hfi_hold *hold)
{
    enum hfi_hold_state state = hfi_hold_state_of(hold);

    MUST(world, hold->pins == count_pins(process, hold) + hold->lent);
    check_lender(world, process, hold);
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

#define CLAIMS 64

/* All valid claims of all processes. */
struct claims {
    struct claim {
        int name, process;
        const struct hfi_hold *hold;
    } at[CLAIMS];
    size_t count;
};

/* A valid claim is true: the store has it, and will have it until its deadline at least. */
static void check_truth(struct world *world, const struct process *process,
                        const struct hfi_hold *hold, struct claims *claims)
{
    int name = name_of(world, hold->gate);
    const struct truth *truth = &world->truth[name];
    const struct stored *stored;

    if (!hfi_hold_valid(hold, world->now) || truth->tampered ||
        hold->lease.kind == HFI_KIND_SEMAPHORE)
        return;
    stored = store_find(truth, process->number, hold->lease.owner, (enum hfi_kind)hold->lease.kind);
    MUST(world, stored && stored->permits == hold->lease.permits);
    MUST(world, stored->expires_ns > hfi_hold_deadline(hold));
    if (!hold->handles)
        return;
    MUST(world, claims->count < CLAIMS);
    claims->at[claims->count++] = (struct claim){ name, process->number, hold };
}

/* Readers beside each other, and beside the writer whose owner id they have. */
static bool are_compatible(const struct claim *one, const struct claim *other)
{
    uint8_t kinds[2] = { one->hold->lease.kind, other->hold->lease.kind };
    bool same = one->process == other->process && one->hold->owner == other->hold->owner &&
                one->hold->owner_kind == other->hold->owner_kind;

    if (kinds[0] == HFI_KIND_PERMITS && kinds[1] == HFI_KIND_PERMITS)
        return true;
    if (kinds[0] == HFI_KIND_READ && kinds[1] == HFI_KIND_READ)
        return !same;
    return same && kinds[0] + kinds[1] == HFI_KIND_READ + HFI_KIND_WRITE &&
           one->hold->lease.owner == other->hold->lease.owner;
}

static void check_claims(struct world *world, const struct claims *claims)
{
    int64_t taken[NAMES] = { 0 };

    for (size_t i = 0; i < claims->count; i++) {
        const struct claim *one = &claims->at[i];

        taken[one->name] += one->hold->lease.permits;
        MUST(world, taken[one->name] <= world->truth[one->name].total);
        for (size_t k = i + 1; k < claims->count; k++)
            MUST(world, claims->at[k].name != one->name || are_compatible(one, &claims->at[k]));
    }
}

static void check_engine(struct world *world, struct process *process, struct claims *claims)
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
    static struct claims claims;

    claims.count = 0;
    store_expire(world);
    for (int i = 0; i < world->nature.processes; i++)
        check_engine(world, &world->process[i], &claims);
    check_claims(world, &claims);
}

/* ------------------------------------------------------------------------------------------------
 * What people see
 */

/* Whose several gates of one name tell of themselves, one after the other. */
static bool has_gates_beside(enum hfi_kind kind)
{
    return kind == HFI_KIND_FAIR || kind == HFI_KIND_PERMITS || kind == HFI_KIND_SEMAPHORE;
}

static void check_seen_gate(struct world *world, const struct process *process,
                            const struct hfi_gate *gate)
{
    const struct registered *seen = &process->registry[name_of(world, gate)][gate->kind];
    const struct hfi_hold *hold = hfi_gate_got(gate) ? &hfi_gate_got(gate)->hold : gate->hold;
    bool held = hold && is_held(hold);

    if (gate->dirty || (hold && !held) || has_gates_beside((enum hfi_kind)gate->kind))
        return; /* it is about to be told, or changes just now */
    MUST(world, seen->held == held);
    MUST(world, seen->waiters == gate->queue_len);
    if (held)
        MUST(world, seen->owner == hold->lease.owner &&
                        seen->token == (hold->handles ? hold->handles->token : hold->lease.token));
}

void check_seen(struct world *world, const struct process *process)
{
    bool there[NAMES][HFI_KIND_COUNT] = { { false } };
    const struct hfi_gate *gate;

    if (!world->nature.announces || process->engine.closing || process->engine.presence->in_flight)
        return;
    for (gate = process->engine.gates; gate; gate = gate->hh.next) {
        there[name_of(world, gate)][gate->kind] = true;
        check_seen_gate(world, process, gate);
    }
    for (int name = 0; name < NAMES; name++)
        for (int kind = 0; kind < HFI_KIND_COUNT; kind++)
            MUST(world, there[name][kind] || !process->registry[name][kind].field ||
                            has_gates_beside((enum hfi_kind)kind));
}

/* ------------------------------------------------------------------------------------------------
 * At rest
 */

/* What a semaphore gave came back, or a caller has it; not both. */
static void check_given(struct world *world, const struct process *process)
{
    for (uint64_t owner = 1; owner <= process->engine.last_owner; owner++) {
        const struct given *given = &process->given[owner];

        if (!given->permits)
            continue;
        MUST(world, !given->undone || !given->kept || given->late);
        MUST(world, given->undone || given->kept || given->forgotten);
        MUST(world, !given->late || !world->nature.killing);
        world->statistics->undone += given->undone;
    }
}

/* That readers wait for a writer ends by itself. A release that is given up, since the lease is over, leaves a
 * fair owner's place: the store passes over it. */
static bool is_passed_over(struct process *process, const struct ticket *ticket)
{
    const struct record *record = record_of(process, (enum hfi_kind)ticket->kind, ticket->owner);

    return ticket->owner &&
           (ticket->kind == HFI_KIND_WRITE || (record->ended && !record->answered));
}

static void check_nothing_there(struct world *world, struct process *process, int name)
{
    const struct truth *truth = &world->truth[name];
    const struct stored *stored;

    for (int i = 0; i < truth->line_length; i++)
        MUST(world, truth->line[i].process != process->number || !world->nature.killing ||
                        world->short_of_memory || is_passed_over(process, &truth->line[i]));
    DL_FOREACH (truth->held, stored) {
        MUST(world, stored->process != process->number || !world->nature.killing ||
                        stored->kind == HFI_KIND_SEMAPHORE);
    }
}

void check_rest(struct world *world, struct process *process)
{
    MUST(world, !process->calls && !process->helds && !process->lane[0] && !process->lane[1]);
    MUST(world, !process->engine.gates && process->engine.other_gates == 0);
    MUST(world, process->engine.hold_count == 0);
    MUST(world, hfi_engine_deadline(&process->engine) == HF_TIME_NEVER);
    MUST(world, !process->listeners);
    for (int name = 0; name < NAMES; name++) {
        for (int kind = 0; kind < HFI_KIND_COUNT; kind++) /* people see nothing of it any more */
            MUST(world,
                 !process->registry[name][kind].field || has_gates_beside((enum hfi_kind)kind));
        check_nothing_there(world, process, name);
    }
    check_given(world, process);
}
