/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front of a gate: what it asks the store for, and when.
 *
 *    try -> busy -> watch -> try again -> busy -> sleep -> woken, or time -> try ...
 *
 * Invariants
 *   1. at most one try a gate is in flight, for the waiter at the head of the queue (or nobody, when that
 *      one has left since: then its outcome goes to whoever is next, or is given back);
 *   2. with waiters and no hold, exactly one of these is true: a try is in flight; or the phase names
 *      something that will certainly come (an answer, a timer) and lead to a try. So no waiter sleeps
 *      longer than the poll cap, whatever messages are lost;
 *   3. the gate only sleeps after a try that was sent when the watch was in force, that asked for a place in
 *      the store's queue, and that no wake-up overtook;
 *   4. a waiter that makes one attempt is answered by a try that was sent after it came.
 */
#include "core/gate.h"

#include <assert.h>
#include <string.h>

#include "core/engine.h"
#include "core/presence.h"

/* ------------------------------------------------------------------------------------------------
 * What is next
 */

static void set_phase(struct hfi_engine *engine, struct hfi_wait *wait, enum hfi_phase phase,
                      hfi_time until)
{
    wait->phase = (uint8_t)phase;
    hfi_wheel_set(&engine->wheel, &wait->timer, until);
}

static void submit_watch(struct hfi_engine *engine, hfi_time now, struct hfi_wait *wait,
                         enum hfi_op op)
{
    assert(!wait->watch_in_flight);
    wait->watch_in_flight = true;
    engine->watched -= wait->watched;
    wait->watched = op == HFI_OP_WATCH;
    engine->watched += wait->watched;
    if (wait->gate->announced)
        hfi_presence_mark(engine, now, wait->gate);
    hfi_engine_submit(engine, now, &wait->watch.request, op, HF_TIME_NEVER);
}

void hfi_gate_ticket(struct hfi_wait *wait, uint64_t owner, uint32_t wait_ms)
{
    wait->ticket = true;
    wait->ticket_owner = owner;
    wait->ticket_wait_ms = wait_ms;
}

/* Nobody here stands in the store's queue any more. */
static void leave(struct hfi_engine *engine, hfi_time now, struct hfi_wait *wait)
{
    if (!wait->ticket || wait->leave_in_flight || wait->gate->hold)
        return;
    wait->ticket = false;
    wait->leave_in_flight = true;
    engine->leaving++;
    wait->leave.owner = wait->ticket_owner;
    wait->leave.wait_ms = wait->ticket_wait_ms;
    hfi_engine_submit(engine, now, &wait->leave.request, HFI_OP_LEAVE, HF_TIME_NEVER);
}

/* Nobody waits any more. */
static void rest(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate)
{
    struct hfi_wait *wait = gate->wait;

    if (!wait)
        return;
    leave(engine, now, wait);
    if (wait->phase == HFI_PHASE_LINGERING)
        return;
    if (wait->watched && !engine->closing)
        set_phase(engine, wait, HFI_PHASE_LINGERING, now + (gate->fleeting ? 0 : HFI_LINGER_NS));
    else
        set_phase(engine, wait, HFI_PHASE_IDLE, HF_TIME_NEVER);
}

/* A block of tokens is asked for only when there is someone here to pass the hold on to. */
static uint32_t tokens_wanted(const struct hfi_engine *engine, const struct hfi_gate *gate)
{
    bool passing = engine->config.pass_count > 0 && engine->config.pass_ns > 0 &&
                   hfi_kind_passes((enum hfi_kind)gate->kind);

    return passing && gate->queue_len > 1 && !gate->queue->fixed ? engine->config.pass_count + 1
                                                                 : 1;
}

/* The owner id that a waiter tries with: the one it had before, or a new one. It has its own copy of the
 * label, since the waiter can leave while the store reads it. NULL: out of memory. */
static struct hfi_hold *owner_id_of(struct hfi_engine *engine, struct hfi_waiter *waiter)
{
    struct hfi_hold *hold = waiter->hold;

    if (!hold)
        hold = waiter->hold = hfi_hold_new(engine, waiter->gate);
    if (!hold)
        return NULL;
    if (waiter->lender && !hold->lender) {
        hold->lender = waiter->lender; /* the pin is the hold's from now on */
        hold->lease.owner = hold->lender->lease.owner;
        waiter->lender = NULL;
    }
    if (waiter->label && !hold->lease.label)
        hold->lease.label = strdup(waiter->label);
    return waiter->label && !hold->lease.label ? NULL : hold;
}

/* How long it is ready to wait in all; 0: for ever, or longer than can be said. */
static uint32_t wait_ms_of(const struct hfi_waiter *waiter)
{
    hfi_time ms = waiter->wait_ns / HFI_MSEC;

    return waiter->once || ms > UINT32_MAX ? 0 : (uint32_t)ms;
}

/* Only one place in the store's queue is remembered: a try that may get another one waits until this one, of a fair
 * waiter that has left, can be given up. */
static bool is_leaving(const struct hfi_gate *gate)
{
    const struct hfi_wait *wait = gate->wait;
    const struct hfi_hold *hold = gate->queue->hold;

    return gate->kind == HFI_KIND_FAIR && wait && wait->ticket && wait->leave_in_flight &&
           gate->queue_len > gate->once_len && (!hold || hold->lease.owner != wait->ticket_owner);
}

/* False: out of memory. */
static bool start_try(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate)
{
    struct hfi_waiter *waiter = gate->queue;
    struct hfi_hold *hold = owner_id_of(engine, waiter);

    if (!hold)
        return false;
    waiter->hold = NULL;
    hold->waiter = waiter;
    hold->fixed = waiter->fixed;
    hold->lease.ttl_ms = waiter->ttl_ms;
    hold->lease.tokens = tokens_wanted(engine, gate);
    hold->lease.queue = gate->queue_len > gate->once_len;
    hold->lease.prefer = waiter->prefer && !waiter->once;
    hold->lease.wait_ms = wait_ms_of(waiter);
    if (gate->kind == HFI_KIND_FAIR && gate->wait && gate->wait->ticket_owner != hold->lease.owner)
        leave(engine, now, gate->wait); /* the place of one who has left */
    gate->hold = hold;
    gate->tries++;
    if (gate->wait) {
        set_phase(engine, gate->wait, HFI_PHASE_IDLE, HF_TIME_NEVER);
        gate->wait->wake_pending = false;
        gate->wait->yield_until_ns = 0;
    }
    hfi_hold_move(engine, hold, HFI_HOLD_TRYING);
    hfi_engine_submit(engine, now, &hold->lease.request, HFI_OP_TRY, hfi_hold_ttl(hold));
    return true;
}

/* In these phases something will come by itself. */
static bool is_waiting(const struct hfi_gate *gate)
{
    return gate->wait && gate->wait->phase != HFI_PHASE_IDLE &&
           gate->wait->phase != HFI_PHASE_LINGERING;
}

void hfi_gate_drive(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate)
{
    if (!gate->queue) {
        rest(engine, now, gate);
        return;
    }
    if (gate->hold || engine->closing || engine->broken)
        return;
    if (is_waiting(gate) && gate->once_len == 0 && !gate->queue->lender)
        return;
    if (is_leaving(gate)) {
        set_phase(engine, gate->wait, HFI_PHASE_PAUSED, now + engine->config.poll_ns);
        return;
    }
    gate->refs++; /* the last waiter's owner id must not take the gate with it */
    while (gate->queue && !start_try(engine, now, gate)) {
        hfi_presence_mark(engine, now, gate);
        hfi_gate_finish(engine, gate->queue, HF_ERR_NO_MEMORY);
    }
    gate->refs--;
    if (!gate->queue)
        rest(engine, now, gate);
}

void hfi_gate_wait_more(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                        const struct hfi_lease *answer)
{
    struct hfi_wait *wait = gate->wait;
    hfi_time poll = engine->config.poll_ns;
    hfi_time nap = poll - hfi_random_below(&engine->random, poll / 4 + 1);
    uint64_t owner = answer->topic == HFI_TOPIC_TURN ? answer->owner : 0;

    if (gate->kind == HFI_KIND_SPIN) {
        set_phase(engine, wait, HFI_PHASE_SLEEPING,
                  now + hfi_backoff_next(&wait->backoff, &engine->random, HFI_SPIN_MIN_NS,
                                         HFI_SPIN_MAX_NS));
    } else if (wait->watch_in_flight) {
        set_phase(engine, wait, HFI_PHASE_WATCHING, now + nap);
    } else if (!wait->watched || wait->watch.topic != answer->topic || wait->watch.owner != owner) {
        wait->watch.topic = answer->topic;
        wait->watch.owner = owner;
        submit_watch(engine, now, wait, HFI_OP_WATCH);
        set_phase(engine, wait, HFI_PHASE_WATCHING, now + nap);
    } else if (wait->wake_pending || !answer->queue) {
        hfi_gate_drive(engine, now, gate); /* news; or the try left no ticket for who came since */
    } else {
        set_phase(engine, wait, HFI_PHASE_SLEEPING,
                  now + hfi_time_min(hfi_time_max(answer->hint_ns, HFI_MSEC), nap));
    }
}

void hfi_gate_doubt(struct hfi_engine *engine, struct hfi_gate *gate)
{
    set_phase(engine, gate->wait, HFI_PHASE_SLEEPING, gate->wait->doubt_until_ns);
}

void hfi_gate_pause(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate)
{
    struct hfi_wait *wait = gate->wait;

    set_phase(engine, wait, HFI_PHASE_PAUSED,
              now + hfi_backoff_next(&wait->backoff, &engine->random, HFI_PAUSE_MIN_NS,
                                     engine->config.poll_ns));
}

/* ------------------------------------------------------------------------------------------------
 * What comes
 */

/* What could not be given up is given up later, unless somebody needs it by then. */
static void left(struct hfi_engine *engine, hfi_time now, struct hfi_wait *wait)
{
    struct hfi_gate *gate = wait->gate;

    wait->leave_in_flight = false;
    engine->leaving--;
    if (wait->leave.request.outcome != HFI_DONE && !engine->closing) {
        if (!wait->ticket)
            hfi_gate_ticket(wait, wait->leave.owner, wait->leave.wait_ms);
        if (!gate->queue)
            set_phase(engine, wait, HFI_PHASE_LINGERING, now + HFI_LINGER_NS);
    } else if (!gate->queue) {
        leave(engine, now, wait); /* the place of one who came and left meanwhile */
    }
    if (wait->phase == HFI_PHASE_PAUSED) { /* perhaps for this: is_leaving() */
        hfi_gate_restored(engine, now, gate);
        return;
    }
    hfi_gate_settle(engine, gate);
}

/* WATCH, UNWATCH or LEAVE. */
void hfi_gate_watch_answered(struct hfi_engine *engine, hfi_time now, struct hfi_watch *watch)
{
    struct hfi_gate *gate;
    struct hfi_wait *wait;

    if (watch->request.op == HFI_OP_LEAVE) {
        left(engine, now, (struct hfi_wait *)((char *)watch - offsetof(struct hfi_wait, leave)));
        return;
    }
    wait = (struct hfi_wait *)watch;
    gate = wait->gate;
    wait->watch_in_flight = false;
    if (gate->hold) {
        wait->wake_pending = true; /* the try in flight may be older than the watch */
    } else if (gate->queue && wait->phase == HFI_PHASE_WATCHING) {
        if (watch->request.op == HFI_OP_UNWATCH)
            submit_watch(engine, now, wait, HFI_OP_WATCH);
        else
            set_phase(engine, wait, HFI_PHASE_IDLE, HF_TIME_NEVER);
    }
    hfi_gate_drive(engine, now, gate);
    hfi_gate_settle(engine, gate);
}

void hfi_gate_woken(struct hfi_engine *engine, hfi_time now, struct hfi_watch *watch)
{
    struct hfi_wait *wait = (struct hfi_wait *)watch;
    struct hfi_gate *gate = wait->gate;

    if (gate->hold)
        wait->wake_pending = true;
    else if (now >= wait->yield_until_ns)
        hfi_gate_restored(engine, now, gate);
}

void hfi_gate_restored(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate)
{
    struct hfi_wait *wait = gate->wait;

    if (!wait || (wait->phase != HFI_PHASE_SLEEPING && wait->phase != HFI_PHASE_PAUSED))
        return;
    set_phase(engine, wait, HFI_PHASE_IDLE, HF_TIME_NEVER);
    hfi_gate_drive(engine, now, gate);
    hfi_gate_settle(engine, gate);
}

void hfi_gate_yielded(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                      uint32_t others)
{
    struct hfi_wait *wait = gate->wait;

    if (!wait || wait->phase != HFI_PHASE_YIELDING)
        return;
    if (others > (uint32_t)wait->watched ||
        gate->kind == HFI_KIND_SPIN || /* they listen to nothing */
        hfi_kind_is_rivalled(engine, gate)) {
        wait->yield_until_ns = now + HFI_YIELD_NS;
        set_phase(engine, wait, HFI_PHASE_SLEEPING, wait->yield_until_ns);
        return;
    }
    set_phase(engine, wait, HFI_PHASE_IDLE, HF_TIME_NEVER);
    hfi_gate_drive(engine, now, gate);
}

void hfi_gate_timer(struct hfi_engine *engine, hfi_time now, struct hfi_wait *wait)
{
    struct hfi_gate *gate = wait->gate;

    if (wait->phase == HFI_PHASE_LINGERING) {
        wait->phase = HFI_PHASE_IDLE;
        leave(engine, now, wait);
        if (wait->watched && !wait->watch_in_flight)
            submit_watch(engine, now, wait, HFI_OP_UNWATCH);
        return;
    }
    wait->phase = HFI_PHASE_IDLE;
    hfi_gate_drive(engine, now, gate);
    hfi_gate_settle(engine, gate);
}
