/* SPDX-License-Identifier: Apache-2.0 */
/* As src/api and src/runtime/call.c: the public calls, and threads that wait in them. */
#include "process.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "checks.h"
#include "sim.h"
#include "sim_mutant.h"

void sim_ask_wake(struct sim_ask *ask)
{
    struct sim_process *process = ask->process;
    hfi_time at;

    if (!ask->waited)
        return; /* it runs, or looks by itself */
    at = sim_process_late(process, process->sim->world.now);
    if (!sim_timer_is_set(&ask->timer) || at < ask->timer.at)
        sim_at(&process->sim->world, &ask->timer, at);
}

static void come_back(struct sim_ask *ask, int result)
{
    ask->result = result;
    ask->in_progress = false;
    ask->process->inside--;
    sim_never(&ask->process->sim->world, &ask->timer);
    sim_check_returned(ask);
}

static void begin(struct sim_ask *ask, enum sim_ask_kind kind)
{
    ask->kind = kind;
    ask->done = ask->waited = ask->called = ask->was_cancelled = false;
    ask->in_progress = true;
    ask->begun = ask->process->sim->world.now;
    ask->begun_local = sim_process_now(ask->process);
    ask->stopped_before = sim_process_excuse(ask->process);
    ask->process->inside++;
}

/* ------------------------------------------------------------------------------------------------
 * Handles
 */

static struct sim_handle *new_handle(struct sim_process *process)
{
    struct sim_handle *handle = sim_alloc(sizeof *handle);

    handle->process = process;
    handle->life_number = process->life_number;
    DL_APPEND2(process->out, handle, prev_out, next_out);
    process->out_count++;
    return handle;
}

void sim_handle_free(struct sim_handle *handle)
{
    struct sim_memory *before = sim_memory_switch(NULL);

    sim_check_handle_freed(handle);
    DL_DELETE2(handle->process->out, handle, prev_out, next_out);
    handle->process->out_count--;
    free(handle);
    sim_memory_switch(before);
}

int sim_handle_state(const struct sim_handle *handle)
{
    return hfi_hold_state_at(handle->handle.hold, sim_process_now(handle->process));
}

/* ------------------------------------------------------------------------------------------------
 * Acquire
 */

static bool take_label(struct sim_ask *ask)
{
    ask->waiter.label = ask->label ? strdup(ask->label) : NULL;
    return ask->waiter.label || !ask->label;
}

static void drop_label(struct sim_ask *ask)
{
    free(ask->waiter.label);
    ask->waiter.label = NULL;
}

/* One attempt from beginning to end; may leave it waiting. */
static void acquire_once(struct sim_ask *ask, hfi_time now)
{
    ask->handle = new_handle(ask->process);
    ask->handle->cookie = ask->arg;
    ask->waiter.handle = ask->waiter.kind == HFI_KIND_LATCH ? NULL : &ask->handle->handle;
    ask->waiter.cookie = ask;
    ask->done = ask->called = false;
    sim_feed(ask->process, now,
             &(struct hfi_input){ .kind = HFI_INPUT_ACQUIRE, .u.waiter = &ask->waiter });
}

static bool is_hold(const struct sim_ask *ask)
{
    return ask->waiter.kind != HFI_KIND_SEMAPHORE && ask->waiter.kind != HFI_KIND_LATCH;
}

int sim_keep(struct sim_ask *ask, hfi_time now)
{
    struct sim_handle *handle = ask->handle;
    struct hfi_hold *hold = handle->handle.hold;
    enum hfi_hold_state state = hold ? hfi_hold_state_of(hold) : HFI_HOLD_HELD;
    bool kept = state == HFI_HOLD_HELD || state == HFI_HOLD_LOST;

    if (hold) {
        sim_check_kept(ask->process, hold, kept);
        sim_feed(ask->process, now,
                 &(struct hfi_input){ .kind = HFI_INPUT_FORGET, .u.handle = &handle->handle });
    }
    ask->handle = NULL;
    sim_handle_free(handle);
    return kept ? HF_OK : HF_ERR_CLOSED;
}

/* What was granted is over before we could say so: given back quietly. */
static void give_back(struct sim_ask *ask)
{
    if (!ask->waiter.handle) { /* a latch's is none */
        sim_handle_free(ask->handle);
        ask->handle = NULL;
        return;
    }
    sim_discard(ask->handle);
    ask->handle = NULL;
}

/* The attempt is done. False: another one was begun. */
static bool acquired(struct sim_ask *ask)
{
    hfi_time now = sim_process_now(ask->process);

    drop_label(ask);
    if (ask->waiter.result != HF_OK) {
        sim_handle_free(ask->handle);
        ask->handle = NULL;
        come_back(ask, ask->waiter.result);
        return true;
    }
    if (!is_hold(ask)) {
        come_back(ask, sim_keep(ask, now));
        return true;
    }
    if (!ask->waited || MUTANT(host_unchecked) || hfi_hold_valid(ask->handle->handle.hold, now)) {
        come_back(ask, HF_OK);
        return true;
    }
    give_back(ask);
    if (ask->before.once || now >= ask->until_local) {
        come_back(ask, HF_ERR_UNSURE);
        return true;
    }
    ask->waiter = ask->before;
    if (ask->until_local != HF_TIME_NEVER)
        ask->waiter.wait_ns = ask->until_local - now;
    if (!take_label(ask)) {
        come_back(ask, HF_ERR_NO_MEMORY);
        return true;
    }
    acquire_once(ask, now);
    return ask->done ? acquired(ask) : false;
}

/* It began when the clock was read: the process may have been stopped since. */
static void since(struct sim_ask *ask, hfi_time now)
{
    const struct sim_clock *clock = &ask->process->host->clock;

    ask->before = ask->waiter;
    ask->begun = hfi_time_min(ask->begun, sim_clock_when(clock, now));
    ask->until_local = hfi_time_add(now, ask->waiter.wait_ns);
}

bool sim_acquire(struct sim_ask *ask, hfi_time now)
{
    struct sim_process *process = ask->process;

    begin(ask, SIM_ASK_ACQUIRE);
    if (process->life != SIM_LIFE_RUNNING) {
        come_back(ask, HF_ERR_CLOSED);
        return true;
    }
    since(ask, now);
    if (!take_label(ask)) {
        come_back(ask, HF_ERR_NO_MEMORY);
        return true;
    }
    acquire_once(ask, now);
    if (ask->done)
        return acquired(ask);
    ask->waited = true;
    if (ask->called)
        sim_ask_wake(ask);
    return false;
}

void sim_acquire_start(struct sim_ask *ask, hfi_time now)
{
    struct sim_process *process = ask->process;

    ask->kind = SIM_ASK_ACQUIRE;
    ask->begun = process->sim->world.now;
    ask->begun_local = sim_process_now(ask->process);
    ask->stopped_before = sim_process_excuse(process);
    ask->was_cancelled = ask->waited = ask->done = ask->called = false;
    if (process->life != SIM_LIFE_RUNNING || !take_label(ask)) {
        ask->result = HF_ERR_CLOSED;
        return;
    }
    ask->in_progress = true;
    since(ask, now);
    ask->waiter.direct = true;
    if (!ask->waiter.named) {
        ask->waiter.owner = ++process->fresh_owner;
        ask->waiter.owner_kind = SIM_OWNER_FRESH;
    }
    DL_APPEND(process->asyncs, ask);
    acquire_once(ask, now);
}

void sim_cancel(struct sim_ask *ask, hfi_time now)
{
    ask->was_cancelled = true;
    if (!ask->waiter.done)
        sim_feed(ask->process, now,
                 &(struct hfi_input){ .kind = HFI_INPUT_CANCEL,
                                      .error = HF_ERR_CANCELLED,
                                      .u.waiter = &ask->waiter });
    if (ask->waiter.direct)
        return;
    if (ask->waiter.result == HF_OK) { /* the thread is gone: what it got meanwhile is given back */
        give_back(ask);
    } else {
        sim_handle_free(ask->handle);
        ask->handle = NULL;
    }
    drop_label(ask);
    come_back(ask, HF_ERR_CANCELLED);
}

/* ------------------------------------------------------------------------------------------------
 * Release
 */

void sim_discard(struct sim_handle *handle)
{
    struct sim_process *process = handle->process;

    handle->discarded = true;
    sim_check_releasing(handle);
    sim_feed(process, sim_process_now(process),
             &(struct hfi_input){ .kind = HFI_INPUT_RELEASE, .u.handle = &handle->handle });
}

/* A client that is closed still takes its handles back. */
static int drop(struct sim_handle *handle)
{
    hfi_engine_drop_handle(&handle->handle);
    sim_handle_free(handle);
    return HF_ERR_CLOSED;
}

static void feed_release(struct sim_process *process, hfi_time now, struct sim_handle *handle)
{
    sim_check_releasing(handle);
    sim_feed(process, now,
             &(struct hfi_input){ .kind = HFI_INPUT_RELEASE, .u.handle = &handle->handle });
}

bool sim_release(struct sim_ask *ask, hfi_time now, struct sim_handle *handle)
{
    struct sim_process *process = ask->process;

    begin(ask, SIM_ASK_RELEASE);
    ask->handle = handle;
    if (process->life == SIM_LIFE_CLOSED) {
        come_back(ask, drop(handle));
        return true;
    }
    handle->releaser = ask;
    feed_release(process, now, handle);
    if (!ask->done) {
        ask->waited = true;
        return false;
    }
    come_back(ask, handle->handle.releaser.result);
    sim_handle_free(handle);
    return true;
}

void sim_release_start(struct sim_process *process, hfi_time now, struct sim_handle *handle)
{
    if (process->life == SIM_LIFE_CLOSED)
        drop(handle);
    else
        feed_release(process, now, handle);
}

/* ------------------------------------------------------------------------------------------------
 * Verify, and what people ask
 */

static int verified(struct sim_ask *ask)
{
    if (ask->renewal.request.outcome != HFI_DONE)
        return ask->renewal.request.error;
    if (!ask->item.kept || sim_handle_state(ask->handle) == HF_LOST)
        return HF_ERR_LOST;
    return HF_OK;
}

bool sim_verify(struct sim_ask *ask, hfi_time now, struct sim_handle *handle)
{
    struct sim_process *process = ask->process;

    begin(ask, SIM_ASK_VERIFY);
    ask->handle = handle;
    if (process->life != SIM_LIFE_RUNNING || sim_handle_state(handle) == HF_LOST) {
        come_back(ask, process->life == SIM_LIFE_RUNNING ? HF_ERR_LOST : HF_ERR_CLOSED);
        return true;
    }
    memset(&ask->renewal, 0, sizeof ask->renewal);
    memset(&ask->item, 0, sizeof ask->item);
    ask->renewal.count = 1;
    ask->renewal.items = &ask->item;
    ask->renewal.request.host = ask;
    ask->item.lease = &handle->handle.hold->lease;
    sim_feed(process, now,
             &(struct hfi_input){ .kind = HFI_INPUT_VERIFY, .u.renewal = &ask->renewal });
    if (ask->done)
        come_back(ask, verified(ask));
    ask->waited = !ask->done;
    return ask->done;
}

static void submit_object(struct sim_ask *ask, hfi_time now)
{
    ask->done = false;
    ask->waited = true;
    sim_submit(ask->process, now, &ask->object.request, HFI_OP_OBJECT, ask);
}

static bool object_goes_on(struct sim_ask *ask, hfi_time now)
{
    int error = ask->object.request.error;

    free(ask->object.data);
    ask->object.data = NULL;
    ask->tries.last = ask->process->life != SIM_LIFE_RUNNING;
    if (hfi_tries_again(&ask->tries, error)) {
        submit_object(ask, now);
        return true;
    }
    come_back(ask, hfi_tries_result(&ask->tries, error));
    return false;
}

bool sim_object(struct sim_ask *ask, hfi_time now, const struct sim_lock *lock, enum hfi_verb verb,
                int64_t number)
{
    begin(ask, SIM_ASK_OBJECT);
    if (ask->process->life != SIM_LIFE_RUNNING) {
        come_back(ask, HF_ERR_CLOSED);
        return true;
    }
    memset(&ask->object, 0, sizeof ask->object);
    ask->object.name = lock->name;
    ask->object.name_len = (uint16_t)lock->len;
    ask->object.verb = (uint8_t)verb;
    ask->object.number = number;
    ask->object.serial = ++ask->process->engine.last_owner;
    ask->lock = lock->index;
    ask->tries = (struct hfi_tries){ 0 };
    submit_object(ask, now);
    return false;
}

void sim_query(struct sim_ask *ask, hfi_time now, enum hfi_op op, struct hfi_query *query)
{
    begin(ask, SIM_ASK_QUERY);
    ask->query = query;
    ask->waited = true;
    if (ask->process->life != SIM_LIFE_RUNNING) {
        query->request.outcome = HFI_NOT_DONE;
        query->request.error = HF_ERR_CLOSED;
        ask->done = true;
        sim_ask_wake(ask);
        return;
    }
    sim_submit(ask->process, now, &query->request, op, ask);
}

/* ------------------------------------------------------------------------------------------------
 * Close
 */

void sim_close(struct sim_ask *ask, hfi_time now)
{
    struct sim_process *process = ask->process;

    begin(ask, SIM_ASK_CLOSE);
    ask->waited = true;
    process->life = SIM_LIFE_CLOSING;
    process->closer = ask;
    process->close_by = now + process->sim->plan.close_timeout_ns;
    if (MUTANT(host_closes_early))
        process->close_by = now;
    sim_check_closing(process);
    sim_feed(process, now, &(struct hfi_input){ .kind = HFI_INPUT_CLOSE });
    sim_at(&process->sim->world, &ask->timer,
           sim_clock_when(&process->host->clock, process->close_by));
}

static bool close_goes_on(struct sim_ask *ask, hfi_time now)
{
    struct sim_process *process = ask->process;

    if (!ask->called && !hfi_engine_quiet(&process->engine) && now < process->close_by)
        return true;
    if (!ask->called && process->is_wire)
        sim_socket_cut_off(process, now);
    ask->called = true; /* it was cut off */
    return process->inside > 1 || !sim_worker_is_idle(process);
}

/* ------------------------------------------------------------------------------------------------
 * Threads that wait
 */

static void run_close(struct sim_ask *ask, hfi_time now)
{
    struct sim_process *process = ask->process;

    if (close_goes_on(ask, now)) {
        if (!ask->called)
            sim_at(&process->sim->world, &ask->timer,
                   sim_clock_when(&process->host->clock, process->close_by));
        else
            sim_after(&process->sim->world, &ask->timer, HFI_MSEC); /* others are to leave first */
        sim_process_leave(process);
        return;
    }
    sim_process_finish(process);
    sim_memory_switch(NULL);
    ask->result = HF_OK;
    ask->in_progress = false;
    sim_never(&process->sim->world, &ask->timer);
    ask->returned(ask);
}

/* Has the call come back? */
static bool go_on(struct sim_ask *ask, hfi_time now)
{
    switch (ask->kind) {
    case SIM_ASK_ACQUIRE:
        if (!ask->done && ask->called) {
            ask->called = false;
            sim_feed(ask->process, now,
                     &(struct hfi_input){ .kind = HFI_INPUT_TAKE, .u.waiter = &ask->waiter });
        }
        return ask->done && acquired(ask);
    case SIM_ASK_RELEASE:
        if (!ask->done)
            return false;
        come_back(ask, ask->handle->handle.releaser.result);
        sim_handle_free(ask->handle);
        return true;
    case SIM_ASK_VERIFY:
        if (ask->done)
            come_back(ask, verified(ask));
        return ask->done;
    case SIM_ASK_OBJECT:
        return ask->done && !object_goes_on(ask, now);
    default:
        if (ask->done)
            come_back(ask, ask->query->request.error);
        return ask->done;
    }
}

static void run_ask(void *arg)
{
    struct sim_ask *ask = arg;
    hfi_time now;

    if (!ask->in_progress || !sim_process_enter(ask->process, &ask->timer, &now))
        return;
    if (ask->kind == SIM_ASK_CLOSE) {
        run_close(ask, now);
        return;
    }
    if (go_on(ask, now)) {
        sim_memory_switch(NULL);
        ask->returned(ask);
    }
    sim_process_leave(ask->process);
}

void sim_ask_init(struct sim_process *process, struct sim_ask *ask,
                  void (*returned)(struct sim_ask *ask), void *arg)
{
    memset(ask, 0, sizeof *ask);
    ask->process = process;
    ask->returned = returned;
    ask->arg = arg;
    sim_timer_init(&ask->timer, run_ask, ask);
}
