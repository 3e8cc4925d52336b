/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a hold.
 *
 *              TRY sent               granted                 renewal failed or late
 *      IDLE ------------> TRYING ----------------> HELD <===========================> AT_RISK
 *          <------------    |                       |   renewed                          |
 *           busy, not done  |                       +-----------------+------------------+
 *                           | outcome unknown,      |                 | deadline passed, or
 *                           | nobody wants it       | released        | the store says not ours
 *                           v                       v                 v
 *                       RELEASING <-----------------+------------- LOST
 *                           | the store answered,       released     |
 *                           v or has forgotten it                    | released, and the store
 *                         GONE <-------------------------------------+ has nothing of it
 *
 * An IDLE one that nobody needs is freed as it is. What a semaphore granted goes from HELD to GONE when its
 * waiter has come for it: permits belong to nobody. What a latch "granted" goes back to IDLE: it is nothing.
 *
 * Invariants
 *   1. only HELD and AT_RISK count as held, and only before deadline_ns: whoever asks compares clocks;
 *   2. deadline_ns comes from sent_ns of an answered request, never from an unanswered one;
 *   3. LOST never becomes HELD again; only its release is ever sent for it, and that only after its
 *      handles are gone: a rival must not be let in sooner than the ttl does while the loser still works;
 *   4. RELEASING is left only by an answer of the store or when the store has forgotten the lease by
 *      itself; a release is repeated until then;
 *   5. gate->hold points to at most one hold, in TRYING, HELD or AT_RISK; of kinds with many owners only in
 *      TRYING, and those in HELD or AT_RISK are in gate->many.got; in other states a hold is detached;
 *   6. news is at most one, LOST replaces AT_RISK, and a released hold has none.
 */
#include "core/hold.h"

#include <assert.h>
#include <stdlib.h>

#include <utlist.h>

#include "core/engine.h"
#include "core/lease.h"
#include "core/presence.h"

#define MOVE(state) (1u << HFI_HOLD_##state)

static const uint8_t PERMITTED[HFI_HOLD_STATES] = {
    [HFI_HOLD_IDLE] = MOVE(TRYING),
    [HFI_HOLD_TRYING] = MOVE(IDLE) | MOVE(HELD) | MOVE(RELEASING),
    [HFI_HOLD_HELD] = MOVE(AT_RISK) | MOVE(LOST) | MOVE(RELEASING) | MOVE(GONE),
    [HFI_HOLD_AT_RISK] = MOVE(HELD) | MOVE(LOST) | MOVE(RELEASING),
    [HFI_HOLD_LOST] = MOVE(RELEASING) | MOVE(GONE),
    [HFI_HOLD_RELEASING] = MOVE(GONE),
    [HFI_HOLD_GONE] = 0,
};

const char *hfi_hold_state_name(enum hfi_hold_state state)
{
    static const char *const NAMES[HFI_HOLD_STATES] = { "IDLE", "TRYING",    "HELD", "AT_RISK",
                                                        "LOST", "RELEASING", "GONE" };

    return NAMES[state];
}

/* The store may have something of it. */
static bool is_active(enum hfi_hold_state state)
{
    return state != HFI_HOLD_IDLE && state != HFI_HOLD_GONE;
}

/* The number of a new owner id, or one that a fair gate may use again. */
static uint64_t draw_owner(struct hfi_engine *engine, struct hfi_gate *gate)
{
    uint64_t reuse = gate->kind == HFI_KIND_FAIR ? gate->one.reuse : 0;

    if (!reuse)
        return ++engine->last_owner;
    gate->one.reuse = 0;
    return reuse;
}

struct hfi_hold *hfi_hold_new(struct hfi_engine *engine, struct hfi_gate *gate)
{
    size_t size = hfi_kind_has_many((enum hfi_kind)gate->kind) ? sizeof(struct hfi_many_hold)
                                                               : sizeof(struct hfi_hold);
    struct hfi_hold *hold;

    if (hfi_watchdog_reserve(engine, engine->hold_count + 1) != HF_OK)
        return NULL;
    hold = calloc(1, size);
    if (!hold)
        return NULL;
    hold->lease.name = gate->name;
    hold->lease.name_len = gate->name_len;
    hold->lease.kind = gate->kind;
    hold->lease.permits = gate->permits;
    hold->lease.owner = draw_owner(engine, gate);
    hold->renew_ns = hold->look_ns = HF_TIME_NEVER;
    hold->timer.kind = HFI_TIMER_HOLD;
    hold->gate = gate;
    gate->refs++;
    DL_APPEND(engine->holds, hold);
    engine->hold_count++;
    return hold;
}

void hfi_hold_move(struct hfi_engine *engine, struct hfi_hold *hold, enum hfi_hold_state to)
{
    enum hfi_hold_state from = hfi_hold_state_of(hold);

    hfi_trace(&engine->config.trace, HF_TRACE_DEBUG, "%.*s owner %llu: %s -> %s",
              (int)hold->lease.name_len, hold->lease.name, (unsigned long long)hold->lease.owner,
              hfi_hold_state_name(from), hfi_hold_state_name(to));
    if (!(PERMITTED[from] & (1u << to)))
        hfi_engine_break(engine, "a hold made a move that is not permitted");
    engine->active -= is_active(from);
    engine->active += is_active(to);
    atomic_store_explicit(&hold->state, (uint8_t)to, memory_order_relaxed);
}

bool hfi_hold_valid(const struct hfi_hold *hold, hfi_time now)
{
    enum hfi_hold_state state = hfi_hold_state_of(hold);

    return (state == HFI_HOLD_HELD || state == HFI_HOLD_AT_RISK) && now < hfi_hold_deadline(hold);
}

int hfi_hold_state_at(const struct hfi_hold *hold, hfi_time now)
{
    switch (hfi_hold_state_of(hold)) {
    case HFI_HOLD_HELD:
        return now < hfi_hold_deadline(hold) ? HF_HELD : HF_LOST;
    case HFI_HOLD_AT_RISK:
        return now < hfi_hold_deadline(hold) ? HF_AT_RISK : HF_LOST;
    case HFI_HOLD_LOST:
        return HF_LOST;
    default:
        return HF_RELEASED;
    }
}

void hfi_hold_set_news(struct hfi_engine *engine, struct hfi_hold *hold, enum hfi_news news)
{
    if (hold->news && !news)
        DL_DELETE(engine->news, &hold->lease.request);
    if (!hold->news && news)
        DL_APPEND(engine->news, &hold->lease.request);
    hold->news = (uint8_t)news;
}

/* Out of the gate: the next one may come. */
static void detach(struct hfi_hold *hold)
{
    struct hfi_gate *gate = hold->gate;

    if (gate->hold == hold) {
        gate->hold = NULL;
        gate->called = NULL;
    }
    hfi_kind_drop(gate, hold);
}

void hfi_hold_settle(struct hfi_engine *engine, struct hfi_hold *hold)
{
    enum hfi_hold_state state = hfi_hold_state_of(hold);
    struct hfi_gate *gate = hold->gate;

    if (state != HFI_HOLD_IDLE && state != HFI_HOLD_GONE)
        return;
    if (hold->handles || hold->pins || hold->releaser) /* or waiter */
        return;
    assert(gate->hold != hold && !hold->got);
    hfi_wheel_remove(&engine->wheel, &hold->timer);
    hfi_hold_set_news(engine, hold, HFI_NEWS_NONE);
    DL_DELETE(engine->holds, hold);
    engine->hold_count--;
    hfi_kind_return(engine, &hold->lender);
    free(hold->lease.label);
    free(hold);
    gate->refs--;
    hfi_gate_settle(engine, gate);
}

void hfi_hold_lose(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold, bool store_knows)
{
    struct hfi_gate *gate = hold->gate;

    assert(hfi_hold_state_of(hold) == HFI_HOLD_HELD || hfi_hold_state_of(hold) == HFI_HOLD_AT_RISK);
    hfi_wheel_remove(&engine->wheel, &hold->timer);
    hold->store_knows = store_knows;
    detach(hold);
    hfi_hold_move(engine, hold, HFI_HOLD_LOST);
    hfi_presence_mark(engine, now, gate);
    if (hold->handles)
        hfi_hold_set_news(engine, hold, HFI_NEWS_LOST);
    else
        hfi_hold_end(engine, now, hold, NULL); /* it was parked: nobody to tell */
    hfi_gate_drive(engine, now, gate);
}

static void finish_release(struct hfi_engine *engine, struct hfi_hold *hold, int result)
{
    struct hfi_releaser *releaser = hold->releaser;

    if (!releaser)
        return;
    hold->releaser = NULL;
    releaser->result = releaser->lost ? HF_ERR_LOST : result;
    LL_APPEND(engine->released, releaser);
}

/* When the store has forgotten a lease by itself that was not renewed after now. The lease of a try that was not
 * answered may not have begun yet. */
static hfi_time expires_at(const struct hfi_engine *engine, hfi_time now,
                           const struct hfi_hold *hold)
{
    return now + hfi_hold_ttl(hold) + engine->config.op_timeout_ns +
           (hold->doubtful ? HFI_DELAYED_NS : 0);
}

static void send_release(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold)
{
    hfi_wheel_remove(&engine->wheel, &hold->timer);
    hold->lease.others = 0; /* it was the hint of a try: not every answer says how many */
    hfi_engine_submit(engine, now, &hold->lease.request, HFI_OP_RELEASE, hfi_hold_ttl(hold));
}

void hfi_hold_end(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold,
                  struct hfi_releaser *releaser)
{
    bool lost = hfi_hold_state_of(hold) == HFI_HOLD_LOST;

    assert(!hold->releaser);
    hfi_wheel_remove(&engine->wheel, &hold->timer);
    hfi_hold_set_news(engine, hold, HFI_NEWS_NONE);
    detach(hold);
    hold->releaser = releaser;
    if (releaser)
        releaser->lost = lost;
    hfi_presence_mark(engine, now, hold->gate);
    if (lost && !hold->store_knows) {
        hfi_hold_move(engine, hold, HFI_HOLD_GONE);
        finish_release(engine, hold, HF_ERR_LOST);
        hfi_hold_settle(engine, hold);
        return;
    }
    hfi_hold_move(engine, hold, HFI_HOLD_RELEASING);
    hold->expiry_ns = expires_at(engine, now, hold);
    send_release(engine, now, hold);
}

static void gone(struct hfi_engine *engine, struct hfi_hold *hold)
{
    hfi_wheel_remove(&engine->wheel, &hold->timer);
    hfi_hold_move(engine, hold, HFI_HOLD_GONE);
    hfi_hold_settle(engine, hold);
}

void hfi_hold_forget(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold)
{
    struct hfi_gate *gate = hold->gate;

    assert(!hold->releaser && hfi_kind_has_many((enum hfi_kind)hold->lease.kind));
    hfi_hold_set_news(engine, hold, HFI_NEWS_NONE);
    detach(hold);
    gate->refs++;
    gone(engine, hold);
    hfi_gate_drive(engine, now, gate);
    gate->refs--;
    hfi_gate_settle(engine, gate);
}

/* A fair owner's channel has its number in it: under the same one, no other needs to be listened to when it asks
 * again soon. That is for owners whose every request was answered; what a lost answer has left is never met. */
static bool is_reusable(const struct hfi_hold *hold)
{
    return hold->lease.kind == HFI_KIND_FAIR && hold->lease.verdict == HFI_RELEASED &&
           !hold->repeated && !hold->doubtful && hold->pins == 0;
}

/* The store has answered a release, or has not. The gate may have waited for it (HFI_PHASE_YIELDING). */
void hfi_hold_release_answered(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold)
{
    struct hfi_request *request = &hold->lease.request;
    struct hfi_gate *gate = hold->gate;
    bool done = request->outcome == HFI_DONE;
    uint32_t others = done ? hold->lease.others : 0;

    gate->refs++; /* keeps it until the end of this function */
    if (done) {
        /* A repeated release that finds nothing may have been done by the one before. */
        bool ours = hold->lease.verdict == HFI_RELEASED || hold->repeated;

        finish_release(engine, hold, ours ? HF_OK : HF_ERR_LOST);
        if (is_reusable(hold))
            gate->one.reuse = hold->lease.owner;
        gone(engine, hold);
    } else {
        bool first = request->outcome == HFI_UNKNOWN && !hold->repeated;

        finish_release(engine, hold, HF_ERR_UNSURE);
        hold->repeated |= first;
        if (first) /* up to now a renewal that left before it could be executed */
            hold->expiry_ns = expires_at(engine, now, hold);
        if (now >= hold->expiry_ns || engine->broken)
            gone(engine, hold);
        else if (first)
            send_release(engine, now, hold); /* leaves when there is a connection again */
        else
            hfi_wheel_set(
                &engine->wheel, &hold->timer,
                hfi_time_min(hold->expiry_ns,
                             now + HFI_PAUSE_MIN_NS +
                                 hfi_random_below(&engine->random, HFI_RELEASE_AGAIN_NS)));
    }
    hfi_gate_yielded(engine, now, gate, others);
    gate->refs--;
    hfi_gate_settle(engine, gate);
}

void hfi_hold_restored(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold)
{
    if (hfi_hold_state_of(hold) == HFI_HOLD_RELEASING && hfi_timer_is_set(&hold->timer))
        send_release(engine, now, hold);
}

void hfi_hold_timer(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold)
{
    switch (hfi_hold_state_of(hold)) {
    case HFI_HOLD_HELD:
    case HFI_HOLD_AT_RISK:
        hfi_watchdog_timer(engine, now, hold);
        break;
    case HFI_HOLD_RELEASING:
        if (now >= hold->expiry_ns)
            gone(engine, hold);
        else
            send_release(engine, now, hold);
        break;
    default:
        hfi_engine_break(engine, "a timer ran for a hold that waits for nothing");
    }
}
