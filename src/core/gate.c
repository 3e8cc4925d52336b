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
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "core/engine.h"
#include "core/lease.h"
#include "core/presence.h"

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(gate) ((gate)->name_len = 0) /* a mark: it is not in the map */

/* ------------------------------------------------------------------------------------------------
 * Gates come and go
 */

static struct hfi_gate *find(struct hfi_engine *engine, const char *name, size_t len)
{
    struct hfi_gate *gate;

    HASH_FIND(hh, engine->gates, name, len, gate);
    return gate;
}

static struct hfi_gate *make(struct hfi_engine *engine, const char *name, size_t len)
{
    struct hfi_gate *gate = calloc(1, sizeof *gate + len + 1);

    if (!gate)
        return NULL;
    memcpy(gate->name, name, len);
    gate->name_len = (uint16_t)len;
    HASH_ADD_KEYPTR(hh, engine->gates, gate->name, len, gate);
    if (gate->name_len == 0) {
        free(gate);
        return NULL;
    }
    return gate;
}

/* The part that waiting needs: taken before the first wait, so that later steps cannot fail for it. */
static int make_wait(struct hfi_gate *gate)
{
    struct hfi_wait *wait;

    if (gate->wait)
        return HF_OK;
    wait = calloc(1, sizeof *wait);
    if (!wait)
        return HF_ERR_NO_MEMORY;
    wait->watch.name = wait->leave.name = gate->name;
    wait->watch.name_len = wait->leave.name_len = gate->name_len;
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
    free(wait);
    free(gate);
}

/* ------------------------------------------------------------------------------------------------
 * What the front does next
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

/* Nobody here stands in the store's queue any more. */
static void leave(struct hfi_engine *engine, hfi_time now, struct hfi_wait *wait)
{
    if (!wait->ticket || wait->leave_in_flight || wait->gate->hold)
        return;
    wait->ticket = false;
    wait->leave_in_flight = true;
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
        set_phase(engine, wait, HFI_PHASE_LINGERING, now + HFI_LINGER_NS);
    else
        set_phase(engine, wait, HFI_PHASE_IDLE, HF_TIME_NEVER);
}

/* A block of tokens is asked for only when there is someone here to pass the hold on to. */
static uint32_t tokens_wanted(const struct hfi_engine *engine, const struct hfi_gate *gate)
{
    bool passing = engine->config.pass_count > 0 && engine->config.pass_ns > 0;

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
    if (waiter->label && !hold->label)
        hold->label = strdup(waiter->label);
    return waiter->label && !hold->label ? NULL : hold;
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
    hold->lease.label = hold->label;
    hold->lease.tokens = tokens_wanted(engine, gate);
    hold->lease.queue = gate->queue_len > gate->once_len;
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
    if (is_waiting(gate) && gate->once_len == 0)
        return;
    gate->refs++; /* the last waiter's owner id must not take the gate with it */
    while (gate->queue && !start_try(engine, now, gate)) {
        hfi_presence_mark(engine, now, gate);
        hfi_gate_finish(engine, gate->queue, HF_ERR_NO_MEMORY);
    }
    gate->refs--;
    if (!gate->queue)
        rest(engine, now, gate);
}

/* The last try was busy: watch, try again, sleep. */
static void wait_more(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                      const struct hfi_lease *answer)
{
    struct hfi_wait *wait = gate->wait;
    hfi_time poll = engine->config.poll_ns;
    hfi_time nap = poll - hfi_random_below(&engine->random, poll / 4 + 1);

    if (wait->watch_in_flight) {
        set_phase(engine, wait, HFI_PHASE_WATCHING, now + nap);
    } else if (!wait->watched || wait->watch.kind != answer->kind) {
        wait->watch.kind = answer->kind;
        submit_watch(engine, now, wait, HFI_OP_WATCH);
        set_phase(engine, wait, HFI_PHASE_WATCHING, now + nap);
    } else if (wait->wake_pending || !answer->queue) {
        hfi_gate_drive(engine, now, gate); /* news; or the try left no ticket for who came since */
    } else {
        set_phase(engine, wait, HFI_PHASE_SLEEPING,
                  now + hfi_time_min(hfi_time_max(answer->hint_ns, HFI_MSEC), nap));
    }
}

static void pause(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate)
{
    struct hfi_wait *wait = gate->wait;

    set_phase(engine, wait, HFI_PHASE_PAUSED,
              now + hfi_backoff_next(&wait->backoff, &engine->random, HFI_PAUSE_MIN_NS,
                                     engine->config.poll_ns));
}

/* ------------------------------------------------------------------------------------------------
 * Waiters
 */

void hfi_gate_finish(struct hfi_engine *engine, struct hfi_waiter *waiter, int result)
{
    struct hfi_gate *gate = waiter->gate;
    struct hfi_hold *spare = waiter->hold;

    assert(!waiter->done);
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
    if (spare)
        hfi_hold_settle(engine, spare);
}

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
    struct hfi_hold *hold = gate->hold;

    if (!hold || !hfi_hold_valid(hold, now))
        return false;
    if (hold->handles && hfi_gate_is_owner(hold, waiter)) {
        hfi_gate_reenter(engine, hold, waiter);
        return true;
    }
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
    struct hfi_gate *gate = find(engine, waiter->name, waiter->name_len);
    struct hfi_hold *hold;

    if (!gate)
        gate = make(engine, waiter->name, waiter->name_len);
    if (!gate)
        return HF_ERR_NO_MEMORY;
    waiter->gate = gate;
    hold = gate->hold;
    if (!waiter->once && hold && make_wait(gate) != HF_OK)
        return HF_ERR_NO_MEMORY;
    if (hold && hfi_hold_state_of(hold) != HFI_HOLD_TRYING && !hfi_hold_valid(hold, now))
        hfi_hold_lose(engine, now, hold, true); /* the timer is about to say so */
    return HF_OK;
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
    if (gate->queue_len > 1 || gate->hold || gate->announced)
        hfi_presence_mark(engine, now, gate);
    hfi_gate_drive(engine, now, gate);
    hfi_gate_settle(engine, gate);
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 */

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
        if (hfi_pass_fits(hold, waiter))
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
    gate->passes = 0;
    hold->ceiling_ns = HF_TIME_NEVER;
    hfi_hold_set_deadline(hold, deadline);
    hfi_hold_move(engine, hold, HFI_HOLD_HELD);
    if (gate->wait) {
        hfi_backoff_reset(&gate->wait->backoff);
        gate->wait->ticket = false;
    }
    if (!waiter)
        waiter = first_that_fits(gate, hold);
    if (!waiter || now >= deadline || engine->closing || engine->broken) {
        retire(engine, now, gate, hold); /* nobody wants it, or it came too late to be of use */
        if (now >= deadline)
            fail_once(engine, gate, gate->tries, HF_ERR_UNSURE);
        return;
    }
    hfi_watchdog_confirmed(engine, hold, hold->lease.request.sent_ns, hfi_hold_ttl(hold));
    hfi_pass_claim(engine, now, hold, waiter);
    fail_once(engine, gate, 0, HF_ERR_BUSY);
}

/* Those who go on waiting need the part of the gate for it. */
static bool stays(struct hfi_engine *engine, struct hfi_gate *gate)
{
    if (gate->queue_len == gate->once_len)
        return false;
    if (make_wait(gate) == HF_OK)
        return true;
    fail_all(engine, gate, HF_ERR_NO_MEMORY);
    return false;
}

static void busy(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                 struct hfi_hold *hold)
{
    struct hfi_lease answer = hold->lease;

    gate->answered = gate->tries;
    gate->answer = HF_ERR_BUSY;
    take_back(engine, gate, hold);
    if (gate->wait || (answer.ticket && make_wait(gate) == HF_OK))
        gate->wait->ticket = answer.ticket || (gate->wait->ticket && !answer.queue);
    fail_once(engine, gate, gate->tries, HF_ERR_BUSY);
    if (!stays(engine, gate))
        return;
    if (!gate->announced)
        hfi_presence_mark(engine, now, gate); /* the first one of the process to wait */
    hfi_backoff_reset(&gate->wait->backoff);
    wait_more(engine, now, gate, &answer);
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
    pause(engine, now, gate);
}

/* Once, the next try leaves at once. A store of which nothing is ever known is not asked without pause: each
 * try leaves an owner id behind that has to be released. */
static void unsure(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate,
                   struct hfi_hold *hold)
{
    if (hold->lease.queue && make_wait(gate) == HF_OK)
        gate->wait->ticket = true; /* there may be one: it is to be given up at the end */
    retire(engine, now, gate, hold);
    fail_once(engine, gate, gate->tries, HF_ERR_UNSURE);
    if (!gate->unsure || !stays(engine, gate))
        return;
    gate->answer = HF_ERR_UNSURE;
    pause(engine, now, gate);
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
    if (outcome == HFI_DONE && hold->lease.verdict == HFI_GRANTED) {
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

/* What could not be given up is given up later, unless somebody needs it by then. */
static void left(struct hfi_engine *engine, hfi_time now, struct hfi_wait *wait)
{
    struct hfi_gate *gate = wait->gate;

    wait->leave_in_flight = false;
    if (wait->leave.request.outcome != HFI_DONE && !engine->closing) {
        wait->ticket = true;
        if (!gate->queue)
            set_phase(engine, wait, HFI_PHASE_LINGERING, now + HFI_LINGER_NS);
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
    if (others > (uint32_t)wait->watched) {
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
