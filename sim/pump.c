/* SPDX-License-Identifier: Apache-2.0 */
/* As src/runtime/pump.c and events.c: between engine, store and whoever waits. */
#include "process.h"

#include <utlist.h>

#include "checks.h"
#include "sim.h"

/* ------------------------------------------------------------------------------------------------
 * Results
 */

static void signal_loop(struct sim_process *process)
{
    if (process->has_loop && !sim_timer_is_set(&process->loop))
        sim_at(&process->sim->world, &process->loop,
               sim_process_late(process, process->sim->world.now));
}

static void deliver_acquire(struct sim_process *process, struct hfi_waiter *waiter)
{
    struct sim_ask *ask = (struct sim_ask *)waiter;

    if (waiter->result == HF_OK && waiter->kind < HFI_KIND_SEMAPHORE)
        sim_check_granted(process, ask);
    if (waiter->direct) {
        DL_DELETE(process->asyncs, ask);
        DL_APPEND(process->events, ask);
        signal_loop(process);
        return;
    }
    ask->done = true;
    sim_ask_wake(ask);
}

static void deliver_release(struct sim_process *process, struct hfi_releaser *releaser)
{
    struct sim_handle *handle =
        (struct sim_handle *)((char *)releaser - offsetof(struct sim_handle, handle.releaser));

    sim_check_released(process, handle, releaser->result);
    if (handle->discarded) {
        sim_handle_free(handle);
    } else if (handle->releaser) {
        handle->releaser->done = true;
        sim_ask_wake(handle->releaser);
    } else {
        LL_APPEND(process->released, handle);
        signal_loop(process);
    }
}

static void deliver(struct sim_process *process)
{
    struct hfi_waiter *waiter;
    struct hfi_releaser *releaser;

    while ((waiter = hfi_engine_next_done(&process->engine)))
        deliver_acquire(process, waiter);
    while ((waiter = hfi_engine_next_woken(&process->engine))) {
        struct sim_ask *ask = (struct sim_ask *)waiter;

        ask->called = true;
        sim_ask_wake(ask);
        sim_workload_called(ask);
    }
    while ((releaser = hfi_engine_next_released(&process->engine)))
        deliver_release(process, releaser);
    if (hfi_engine_has_news(&process->engine))
        signal_loop(process);
}

bool sim_next_event(struct sim_process *process, struct sim_event *ret_event)
{
    struct hfi_handle *handle;

    *ret_event = (struct sim_event){ 0 };
    if (process->events) {
        ret_event->type = SIM_EVENT_ACQUIRE;
        ret_event->ask = process->events;
        DL_DELETE(process->events, ret_event->ask);
    } else if (process->released) {
        ret_event->type = SIM_EVENT_RELEASED;
        ret_event->handle = process->released;
        ret_event->result = process->released->handle.releaser.result;
        LL_DELETE(process->released, ret_event->handle);
    } else if ((handle = hfi_engine_next_news(&process->engine, &ret_event->news))) {
        ret_event->type = SIM_EVENT_NEWS;
        ret_event->handle = (struct sim_handle *)handle;
        sim_check_told(process, ret_event->handle, ret_event->news);
    }
    return ret_event->type != SIM_EVENT_NONE;
}

/* ------------------------------------------------------------------------------------------------
 * Requests and answers
 */

void sim_answer(struct sim_process *process, hfi_time now, struct hfi_request *request)
{
    struct hfi_input input = { .kind = HFI_INPUT_ANSWER, .u.request = request };
    struct sim_ask *ask = request->host;

    sim_check_finished(process, now, request);
    if (!ask || request->op == HFI_OP_RENEW)
        hfi_engine_step(&process->engine, now, &input);
    if (!ask)
        return;
    ask->done = true;
    sim_ask_wake(ask);
}

static bool pump_wire(struct sim_process *process, hfi_time now)
{
    const struct hfi_wire_class *wire = process->store->class_->wire;
    struct hfi_request *request;
    struct hfi_watch *watch;
    bool any = false;

    for (; (request = hfi_engine_next_request(&process->engine)); any = true) {
        sim_check_submitted(process, now, request);
        sim_faults_notice(process, request);
        wire->submit(process->store, now, request);
    }
    for (; (request = wire->finished(process->store)); any = true)
        sim_answer(process, now, request);
    for (; (watch = wire->woken(process->store)); any = true)
        hfi_engine_step(&process->engine, now,
                        &(struct hfi_input){ .kind = HFI_INPUT_WAKE, .u.watch = watch });
    if (wire->restored(process->store)) {
        hfi_engine_step(&process->engine, now, &(struct hfi_input){ .kind = HFI_INPUT_RESTORED });
        any = true;
    }
    return any;
}

static void pump_library(struct sim_process *process, hfi_time now)
{
    struct hfi_request *request;

    while ((request = hfi_engine_next_request(&process->engine))) {
        sim_check_submitted(process, now, request);
        sim_faults_notice(process, request);
        DL_APPEND(process->queue, request);
    }
    sim_worker_kick(process);
}

static hfi_time next_time(struct sim_process *process)
{
    hfi_time at = hfi_engine_deadline(&process->engine);

    if (process->is_wire)
        return hfi_time_min(at, process->store->class_->wire->deadline(process->store));
    return process->collect_wanted ? at : hfi_time_min(at, process->collect_by);
}

/* Wakes the background thread earlier, if need be. While it runs, it will look by itself. */
void sim_rearm(struct sim_process *process)
{
    hfi_time at;

    if (process->wakes_ns == 0)
        return;
    at = next_time(process);
    if (at >= process->wakes_ns)
        return;
    process->wakes_ns = at;
    sim_at(&process->sim->world, &process->wake,
           sim_process_late(process, sim_clock_when(&process->host->clock, at)));
}

void sim_pump(struct sim_process *process, hfi_time now)
{
    bool again;

    do {
        if (process->is_wire) {
            while (pump_wire(process, now))
                ;
            deliver(process);
            again = sim_sockets_service(process, now);
        } else {
            pump_library(process, now);
            deliver(process);
            again = false;
        }
    } while (again);
    sim_rearm(process);
}

void sim_feed(struct sim_process *process, hfi_time now, const struct hfi_input *input)
{
    hfi_engine_step(&process->engine, now, input);
    if (process->engine.requests) {
        sim_pump(process, now);
        return;
    }
    deliver(process);
    sim_rearm(process);
}

void sim_submit(struct sim_process *process, hfi_time now, struct hfi_request *request,
                enum hfi_op op, struct sim_ask *ask)
{
    request->host = ask;
    hfi_engine_submit(&process->engine, now, request, op, HF_TIME_NEVER);
    sim_pump(process, now);
}
