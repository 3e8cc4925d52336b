/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch of inputs and timers; beginning and end. See engine.h for how a host uses it. */
#include "core/engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "core/presence.h"

int hfi_engine_init(struct hfi_engine *engine, hfi_time now, const struct hfi_engine_config *config)
{
    memset(engine, 0, sizeof *engine);
    engine->config = *config;
    hfi_random_init(&engine->random, config->seed);
    hfi_wheel_init(&engine->wheel, now);
    return hfi_presence_init(engine);
}

void hfi_engine_submit(struct hfi_engine *engine, hfi_time now, struct hfi_request *request,
                       enum hfi_op op, hfi_time ttl_ns)
{
    hfi_time patience = hfi_time_min(engine->config.op_timeout_ns, ttl_ns / HFI_OP_TTL_DIVISOR);

    request->op = (uint8_t)op;
    request->outcome = HFI_PENDING;
    request->error = HF_OK;
    request->sent_ns = 0;
    request->stage = 0;
    request->deadline_ns = hfi_time_add(now, patience);
    DL_APPEND(engine->requests, request);
}

/* ------------------------------------------------------------------------------------------------
 * Release
 */

static void finish_at_once(struct hfi_engine *engine, struct hfi_handle *handle, int result)
{
    handle->releaser.result = result;
    LL_APPEND(engine->released, &handle->releaser);
}

static void release(struct hfi_engine *engine, hfi_time now, struct hfi_handle *handle)
{
    struct hfi_hold *hold = handle->hold;
    struct hfi_gate *gate = hold->gate;
    enum hfi_hold_state state = hfi_hold_state_of(hold);
    bool held = state == HFI_HOLD_HELD || state == HFI_HOLD_AT_RISK;

    if (held && now >= hfi_hold_deadline(hold)) {
        hfi_hold_lose(engine, now, hold, true); /* the timer is about to say so */
        state = HFI_HOLD_LOST;
        held = false;
    }
    LL_DELETE(hold->handles, handle);
    handle->next = NULL;
    handle->hold = NULL;
    if (hold->handles) {
        finish_at_once(engine, handle, held ? HF_OK : HF_ERR_LOST);
        return;
    }
    if (!held && state != HFI_HOLD_LOST) {
        finish_at_once(engine, handle, HF_ERR_CLOSED); /* given back by CLOSE */
        hfi_hold_settle(engine, hold);
        return;
    }
    gate->refs++;
    hfi_hold_set_news(engine, hold, HFI_NEWS_NONE);
    if (held && hfi_pass_on(engine, now, hold))
        finish_at_once(engine, handle, HF_OK);
    else
        hfi_hold_end(engine, now, hold, &handle->releaser);
    hfi_gate_drive(engine, now, gate);
    gate->refs--;
    hfi_gate_settle(engine, gate);
}

static void forget(struct hfi_engine *engine, hfi_time now, struct hfi_handle *handle)
{
    struct hfi_hold *hold = handle->hold;
    enum hfi_hold_state state = hfi_hold_state_of(hold);

    LL_DELETE(hold->handles, handle);
    handle->next = NULL;
    handle->hold = NULL;
    if (state == HFI_HOLD_HELD || state == HFI_HOLD_LOST)
        hfi_hold_forget(engine, now, hold);
    else
        hfi_hold_settle(engine, hold); /* given back by CLOSE */
}

static void verify(struct hfi_engine *engine, hfi_time now, struct hfi_renewal *renewal)
{
    hfi_time shortest = HF_TIME_NEVER;

    for (size_t i = 0; i < renewal->count; i++) {
        struct hfi_renewal_item *item = &renewal->items[i];
        struct hfi_hold *hold = (struct hfi_hold *)item->lease;

        hold->pins++;
        item->kept = false;
        item->ttl_ms = hfi_hold_valid(hold, now) ? hfi_watchdog_ttl_ms(hold) : 0;
        shortest = hfi_time_min(shortest, hfi_hold_ttl(hold));
    }
    assert(renewal->request.host);
    hfi_engine_submit(engine, now, &renewal->request, HFI_OP_RENEW, shortest);
}

/* ------------------------------------------------------------------------------------------------
 * Inputs
 */

static void answer(struct hfi_engine *engine, hfi_time now, struct hfi_request *request)
{
    assert(request->outcome != HFI_PENDING);
    switch ((enum hfi_op)request->op) {
    case HFI_OP_TRY:
        hfi_gate_try_answered(engine, now, (struct hfi_hold *)request);
        break;
    case HFI_OP_RELEASE:
        hfi_hold_release_answered(engine, now, (struct hfi_hold *)request);
        break;
    case HFI_OP_RENEW:
        hfi_watchdog_answered(engine, now, hfi_request_renewal(request));
        break;
    case HFI_OP_WATCH:
    case HFI_OP_UNWATCH:
    case HFI_OP_LEAVE:
        hfi_gate_watch_answered(engine, now, hfi_request_watch(request));
        break;
    case HFI_OP_ANNOUNCE:
    case HFI_OP_FAREWELL:
        hfi_presence_answered(engine, now, request);
        break;
    default:
        hfi_engine_break(engine, "an answer came to a request that is not the engine's");
    }
}

static void restored(struct hfi_engine *engine, hfi_time now)
{
    struct hfi_gate *gate, *tmp;
    struct hfi_hold *hold, *next;

    hfi_watchdog_verify_all(engine, now);
    hfi_watchdog_flush(engine, now); /* before any waiter's try */
    DL_FOREACH_SAFE (engine->holds, hold, next) {
        hfi_hold_restored(engine, now, hold);
    }
    HASH_ITER (hh, engine->gates, gate, tmp) {
        hfi_gate_restored(engine, now, gate);
    }
}

static void expel_all(struct hfi_engine *engine, hfi_time now, int error)
{
    struct hfi_gate *gate, *tmp;

    HASH_ITER (hh, engine->gates, gate, tmp) {
        gate->refs++;
        while (gate->queue)
            hfi_gate_expel(engine, now, gate->queue, error);
        gate->refs--;
        hfi_gate_settle(engine, gate);
    }
}

static void close_all(struct hfi_engine *engine, hfi_time now)
{
    struct hfi_hold *hold, *tmp;

    if (engine->closing)
        return;
    engine->closing = true;
    expel_all(engine, now, HF_ERR_CLOSED);
    DL_FOREACH_SAFE (engine->holds, hold, tmp) {
        enum hfi_hold_state state = hfi_hold_state_of(hold);

        if (state == HFI_HOLD_HELD || state == HFI_HOLD_AT_RISK || state == HFI_HOLD_LOST)
            hfi_hold_end(engine, now, hold, NULL);
    }
}

/* Time */

static struct hfi_hold *hold_of(struct hfi_timer *timer)
{
    return (struct hfi_hold *)((char *)timer - offsetof(struct hfi_hold, timer));
}

static struct hfi_waiter *waiter_of(struct hfi_timer *timer)
{
    return (struct hfi_waiter *)((char *)timer - offsetof(struct hfi_waiter, timer));
}

static struct hfi_wait *wait_of(struct hfi_timer *timer)
{
    return (struct hfi_wait *)((char *)timer - offsetof(struct hfi_wait, timer));
}

static void run_timers(struct hfi_engine *engine, hfi_time now)
{
    struct hfi_timer *timer;

    while ((timer = hfi_wheel_pop(&engine->wheel, now))) {
        switch ((enum hfi_timer_kind)timer->kind) {
        case HFI_TIMER_HOLD:
            hfi_hold_timer(engine, now, hold_of(timer));
            break;
        case HFI_TIMER_WAITER:
            hfi_gate_waiter_timer(engine, now, waiter_of(timer));
            break;
        case HFI_TIMER_GATE:
            hfi_gate_timer(engine, now, wait_of(timer));
            break;
        case HFI_TIMER_PRESENCE:
            hfi_presence_timer(engine, now);
            break;
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * The step
 */

void hfi_engine_break(struct hfi_engine *engine, const char *what)
{
    hfi_trace(&engine->config.trace, HF_TRACE_WARNING,
              "internal error: %s; every hold of this client counts as lost, please report it",
              what);
    engine->broken = true;
    assert(!engine->broken);
}

/* Tells everybody, once, outside whatever step found the invariant broken. */
static void shut(struct hfi_engine *engine, hfi_time now)
{
    struct hfi_hold *hold, *tmp;

    engine->shut = true;
    expel_all(engine, now, HF_ERR_INTERNAL);
    DL_FOREACH_SAFE (engine->holds, hold, tmp) {
        enum hfi_hold_state state = hfi_hold_state_of(hold);

        if (state == HFI_HOLD_HELD || state == HFI_HOLD_AT_RISK)
            hfi_hold_lose(engine, now, hold, true);
    }
}

static void dispatch(struct hfi_engine *engine, hfi_time now, const struct hfi_input *input)
{
    switch (input->kind) {
    case HFI_INPUT_ACQUIRE:
        hfi_gate_enter(engine, now, input->u.waiter);
        break;
    case HFI_INPUT_TAKE:
        hfi_pass_take(engine, now, input->u.waiter);
        break;
    case HFI_INPUT_CANCEL:
        hfi_gate_expel(engine, now, input->u.waiter, input->error);
        break;
    case HFI_INPUT_RELEASE:
        release(engine, now, input->u.handle);
        break;
    case HFI_INPUT_FORGET:
        forget(engine, now, input->u.handle);
        break;
    case HFI_INPUT_VERIFY:
        verify(engine, now, input->u.renewal);
        break;
    case HFI_INPUT_ANSWER:
        answer(engine, now, input->u.request);
        break;
    case HFI_INPUT_WAKE:
        hfi_gate_woken(engine, now, input->u.watch);
        break;
    case HFI_INPUT_RESTORED:
        restored(engine, now);
        break;
    case HFI_INPUT_TICK:
        run_timers(engine, now);
        break;
    case HFI_INPUT_CLOSE:
        close_all(engine, now);
        break;
    }
}

void hfi_engine_step(struct hfi_engine *engine, hfi_time now, const struct hfi_input *input)
{
    /* Two threads can read the clock in one order and get the lock in the other. */
    now = hfi_time_max(now, engine->now);
    engine->now = now;
    dispatch(engine, now, input);
    if (engine->broken && !engine->shut)
        shut(engine, now);
    hfi_watchdog_flush(engine, now);
    if (engine->closing && engine->active == 0)
        hfi_presence_close(engine, now);
}

hfi_time hfi_engine_deadline(struct hfi_engine *engine)
{
    return hfi_wheel_next(&engine->wheel);
}

bool hfi_engine_quiet(const struct hfi_engine *engine)
{
    return engine->closing && engine->active == 0 && engine->leaving == 0 &&
           hfi_presence_quiet(engine);
}

/* ------------------------------------------------------------------------------------------------
 * What comes out
 */

struct hfi_request *hfi_engine_next_request(struct hfi_engine *engine)
{
    struct hfi_request *request = engine->requests;

    if (request)
        DL_DELETE(engine->requests, request);
    return request;
}

struct hfi_waiter *hfi_engine_next_done(struct hfi_engine *engine)
{
    struct hfi_waiter *waiter = engine->done;

    if (waiter)
        DL_DELETE(engine->done, waiter);
    return waiter;
}

struct hfi_waiter *hfi_engine_next_woken(struct hfi_engine *engine)
{
    struct hfi_waiter *waiter = engine->woken;

    if (!waiter)
        return NULL;
    engine->woken = waiter->next_woken;
    waiter->next_woken = NULL;
    waiter->woken = false;
    return waiter;
}

struct hfi_releaser *hfi_engine_next_released(struct hfi_engine *engine)
{
    struct hfi_releaser *releaser = engine->released;

    if (releaser)
        LL_DELETE(engine->released, releaser);
    return releaser;
}

bool hfi_engine_has_news(const struct hfi_engine *engine)
{
    return engine->news != NULL;
}

struct hfi_handle *hfi_engine_next_news(struct hfi_engine *engine, enum hfi_news *ret_news)
{
    struct hfi_hold *hold = (struct hfi_hold *)engine->news;

    if (!hold)
        return NULL;
    *ret_news = (enum hfi_news)hold->news;
    hfi_hold_set_news(engine, hold, HFI_NEWS_NONE);
    return hold->handles;
}

/* ------------------------------------------------------------------------------------------------
 * The end
 */

/* Gates whose names are still needed by the handles of a closed client live on, outside the map. */
static void free_gates(struct hfi_engine *engine)
{
    struct hfi_gate *gate, *next;

    HASH_ITER (hh, engine->gates, gate, next) {
        assert(!gate->queue);
        HASH_DEL(engine->gates, gate);
        free(gate->wait);
        gate->wait = NULL;
        if (gate->refs == 0)
            free(gate);
    }
}

void hfi_engine_fini(struct hfi_engine *engine)
{
    struct hfi_hold *hold, *next_hold;
    struct hfi_gate *gate, *next_gate;

    HASH_ITER (hh, engine->gates, gate, next_gate) {
        gate->refs = 0; /* from here on: the holds with handles that need its name */
    }
    DL_FOREACH_SAFE (engine->holds, hold, next_hold) {
        if (hold->handles) {
            atomic_store_explicit(&hold->state, HFI_HOLD_GONE, memory_order_relaxed);
            hold->gate->refs++;
            continue;
        }
        free(hold->lease.label);
        free(hold);
    }
    engine->holds = NULL;
    free_gates(engine);
    hfi_watchdog_fini(engine);
    hfi_presence_fini(engine);
}

void hfi_engine_drop_handle(struct hfi_handle *handle)
{
    struct hfi_hold *hold = handle->hold;
    struct hfi_gate *gate = hold->gate;

    LL_DELETE(hold->handles, handle);
    if (hold->handles)
        return;
    free(hold->lease.label);
    free(hold);
    if (--gate->refs == 0)
        free(gate);
}
