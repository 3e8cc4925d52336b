/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to a try, and whom of a gate's waiters it concerns. Invariants are in front.c. */
#include "core/gate.h"

#include <assert.h>

#include <utlist.h>

#include "core/engine.h"
#include "core/lease.h"
#include "core/presence.h"

/* Those that make one attempt, and came before try number `tries`; or all, if it is 0. */
static void fail_once(struct hfi_engine *engine, struct hfi_gate *gate, uint64_t tries, int error)
{
    struct hfi_waiter *waiter, *tmp;

    if (gate->once_len == 0)
        return;
    DL_FOREACH_SAFE (gate->queue, waiter, tmp) {
        if (waiter->once && (tries == 0 || waiter->tries_before < tries))
            hfi_gate_finish(engine, waiter, error);
    }
}

static void fail_all(struct hfi_engine *engine, struct hfi_gate *gate, int error)
{
    while (gate->queue)
        hfi_gate_finish(engine, gate->queue, error);
}

/* The name is free for the next try; the one who tried keeps its owner id for it. */
static void take_back(struct hfi_engine *engine, struct hfi_gate *gate, struct hfi_hold *hold)
{
    struct hfi_waiter *waiter = hold->waiter;

    hold->waiter = NULL;
    gate->hold = NULL;
    hfi_hold_move(engine, hold, HFI_HOLD_IDLE);
    if (waiter)
        waiter->hold = hold;
    else
        hfi_hold_settle(engine, hold);
}

/* An owner id that may be anywhere: it is never used again, and released behind the scenes. */
static void retire(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                   struct hfi_hold *hold)
{
    hold->waiter = NULL;
    gate->hold = NULL;
    hfi_hold_end(engine, now, hold, NULL);
}

static void measure(struct hfi_engine *engine, hfi_time now, const struct hfi_hold *hold)
{
    hfi_time trip = now - hold->lease.request.sent_ns;
    hfi_time ttl = hfi_hold_ttl(hold);

    if (engine->round_trip_ns == 0 || trip < engine->round_trip_ns)
        engine->round_trip_ns = trip;
    if (ttl < engine->round_trip_ns * HFI_TTL_ROUND_TRIPS && ttl > engine->warned_ttl_ns) {
        engine->warned_ttl_ns = ttl;
        hfi_trace(
            &engine->config.trace, HF_TRACE_WARNING,
            "a ttl of %u ms is less than %d round trips to the store (%llu us each): holds may "
            "be lost without need; use a longer ttl",
            (unsigned)hold->lease.ttl_ms, HFI_TTL_ROUND_TRIPS,
            (unsigned long long)(engine->round_trip_ns / HFI_USEC));
    }
}

static struct hfi_waiter *first_that_fits(const struct hfi_gate *gate, const struct hfi_hold *hold)
{
    struct hfi_waiter *waiter;

    DL_FOREACH (gate->queue, waiter) {
        if (hfi_pass_fits(hold, waiter) && !hold->lender && !waiter->lender)
            return waiter;
    }
    return NULL;
}

static void granted(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                    struct hfi_hold *hold)
{
    struct hfi_waiter *waiter = hold->waiter;
    hfi_time deadline = hfi_lease_deadline(hold->lease.request.sent_ns, hfi_hold_ttl(hold));

    hold->waiter = NULL;
    hold->lease.ticket = false;
    gate->passes = 0;
    if (!hfi_kind_has_many((enum hfi_kind)gate->kind) && now >= gate->one.turn_until_ns)
        gate->one.turn_until_ns = now + HFI_TURN_NS;
    hold->ceiling_ns = HF_TIME_NEVER;
    hfi_hold_set_deadline(hold, deadline);
    hfi_hold_move(engine, hold, HFI_HOLD_HELD);
    if (gate->wait) {
        hfi_backoff_reset(&gate->wait->backoff);
        gate->wait->ticket = false;
    }
    if (!waiter)
        waiter = first_that_fits(gate, hold);
    if (!waiter || (now >= deadline && gate->kind != HFI_KIND_SEMAPHORE) || engine->closing ||
        engine->broken) {
        retire(engine, now, gate, hold); /* nobody wants it, or it came too late to be of use */
        if (now >= deadline)
            fail_once(engine, gate, gate->tries, HF_ERR_UNSURE);
        return;
    }
    hfi_watchdog_confirmed(engine, hold, hold->lease.request.sent_ns, hfi_hold_ttl(hold));
    hfi_pass_claim(engine, now, hold, waiter);
    if (hfi_kind_has_many((enum hfi_kind)gate->kind))
        hfi_kind_keep(gate, hold);
    else
        fail_once(engine, gate, 0, HF_ERR_BUSY);
}

/* Those who go on waiting need the part of the gate for it. */
static bool stays(struct hfi_engine *engine, struct hfi_gate *gate)
{
    if (gate->queue_len == gate->once_len)
        return false;
    if (hfi_gate_make_wait(gate) == HF_OK)
        return true;
    fail_all(engine, gate, HF_ERR_NO_MEMORY);
    return false;
}

static void note_ticket(struct hfi_wait *wait, const struct hfi_lease *answer)
{
    wait->ticket = answer->ticket || (wait->ticket && !answer->queue);
    if (answer->ticket)
        hfi_gate_ticket(wait, answer->owner, answer->wait_ms);
}

static void note_closed(struct hfi_gate *gate)
{
    struct hfi_wait *wait = gate->wait;
    struct hfi_waiter *waiter;

    wait->doubt_until_ns = 0;
    /* A message that was heard before this try was sent told of this count: a deletion has another one. */
    if (!wait->wake_pending && !wait->watch.woken)
        wait->watch.deleted = false;
    DL_FOREACH (gate->queue, waiter) {
        waiter->closed |=
            waiter->tries_before < gate->tries; /* else it may have been before it came */
    }
}

static void busy(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                 struct hfi_hold *hold)
{
    struct hfi_lease answer = hold->lease;

    gate->answered = gate->tries;
    gate->answer = HF_ERR_BUSY;
    take_back(engine, gate, hold);
    if (gate->wait || (answer.ticket && hfi_gate_make_wait(gate) == HF_OK))
        note_ticket(gate->wait, &answer);
    fail_once(engine, gate, gate->tries, HF_ERR_BUSY);
    if (!stays(engine, gate))
        return;
    if (!gate->announced)
        hfi_presence_mark(engine, now, gate); /* the first one of the process to wait */
    if (gate->kind != HFI_KIND_SPIN)
        hfi_backoff_reset(&gate->wait->backoff);
    if (gate->kind == HFI_KIND_LATCH)
        note_closed(gate);
    hfi_gate_wait_more(engine, now, gate, &answer);
}

/* What is known of a latch without count: a message that it was set or deleted may be older than the one that
 * it reached zero, which is still on its way. BUSY: nothing yet. */
static int how_it_ended(struct hfi_gate *gate, hfi_time now, enum hfi_verdict verdict)
{
    struct hfi_wait *wait = gate->wait;

    if (verdict == HFI_GONE)
        return HF_ERR_NOT_FOUND;
    if (!wait || !wait->watch.deleted)
        return HF_OK;
    if (!wait->doubt_until_ns)
        wait->doubt_until_ns = now + HFI_LATCH_DOUBT_NS;
    return now < wait->doubt_until_ns ? HF_ERR_BUSY : HF_ERR_NOT_FOUND;
}

/* A latch has no count: there is nothing to wait for, and nothing to hold. */
static void opened(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                   struct hfi_hold *hold)
{
    int error = how_it_ended(gate, now, (enum hfi_verdict)hold->lease.verdict);

    take_back(engine, gate, hold);
    hfi_kind_open(engine, gate, error);
    if (error == HF_ERR_BUSY && gate->queue)
        hfi_gate_doubt(engine, gate);
    else if (gate->wait)
        gate->wait->doubt_until_ns = 0;
}

/* What passes by itself at the store; a lack of our own is told at once. */
static bool is_waited_out(int error)
{
    return error == HF_ERR_UNREACHABLE || error == HF_ERR_UNAVAILABLE || error == HF_ERR_STORE_FULL;
}

static void refused(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                    struct hfi_hold *hold)
{
    int error = hold->lease.request.error;

    gate->answered = gate->tries;
    gate->answer = error;
    take_back(engine, gate, hold);
    if (!is_waited_out(error)) {
        fail_all(engine, gate, error);
        return;
    }
    fail_once(engine, gate, gate->tries, error);
    if (!stays(engine, gate))
        return;
    if (gate->wait->backoff.failures == 0)
        hfi_trace(&engine->config.trace, HF_TRACE_WARNING, "waiting for '%.*s' goes on although %s",
                  (int)gate->name_len, gate->name, hf_strerror(error));
    hfi_gate_pause(engine, now, gate);
}

/* Once, the next try leaves at once. A store of which nothing is ever known is not asked without pause: each
 * try leaves an owner id behind that has to be released. */
static void unsure(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                   struct hfi_hold *hold)
{
    struct hfi_waiter *borrower = hold->lender ? hold->waiter : NULL;

    hold->doubtful = true;
    hold->lease.ticket = true; /* or it has got no further than into the queue */
    /* There may be a ticket: it is to be given up at the end. Releasing gives up a fair one. */
    if (gate->kind != HFI_KIND_FAIR && hold->lease.queue && hfi_gate_make_wait(gate) == HF_OK)
        hfi_gate_ticket(gate->wait, hold->lease.owner, hold->lease.wait_ms);
    else if (gate->kind == HFI_KIND_FAIR && gate->wait)
        gate->wait->ticket &= gate->wait->ticket_owner != hold->lease.owner;
    if (gate->kind == HFI_KIND_LATCH)
        take_back(engine, gate, hold); /* nothing can have come of it */
    else
        retire(engine, now, gate, hold);
    if (borrower) /* its owner id cannot be replaced by another, nor be used before that is released */
        hfi_gate_finish(engine, borrower, HF_ERR_UNSURE);
    fail_once(engine, gate, gate->tries, HF_ERR_UNSURE);
    if (!gate->unsure || !stays(engine, gate))
        return;
    gate->answer = HF_ERR_UNSURE;
    hfi_gate_pause(engine, now, gate);
}

void hfi_gate_try_answered(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold)
{
    struct hfi_gate *gate = hold->gate;
    enum hfi_outcome outcome = (enum hfi_outcome)hold->lease.request.outcome;
    uint32_t waiters = gate->queue_len;

    assert(hfi_hold_state_of(hold) == HFI_HOLD_TRYING && gate->hold == hold);
    gate->refs++;
    if (outcome == HFI_DONE)
        measure(engine, now, hold);
    if (outcome == HFI_DONE && gate->kind == HFI_KIND_LATCH && hold->lease.verdict != HFI_BUSY) {
        opened(engine, now, gate, hold);
    } else if (outcome == HFI_DONE && hold->lease.verdict == HFI_GRANTED) {
        granted(engine, now, gate, hold);
    } else if (outcome == HFI_DONE && hold->lease.verdict == HFI_BUSY) {
        busy(engine, now, gate, hold);
    } else if (outcome == HFI_NOT_DONE) {
        refused(engine, now, gate, hold);
    } else {
        unsure(engine, now, gate, hold);
    }
    gate->unsure = outcome == HFI_UNKNOWN;
    if (gate->announced && gate->queue_len != waiters)
        hfi_presence_mark(engine, now, gate);
    hfi_gate_drive(engine, now, gate);
    gate->refs--;
    hfi_gate_settle(engine, gate);
}
