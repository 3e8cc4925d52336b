/* SPDX-License-Identifier: Apache-2.0 */
/* Steps with objects: tried, waited for, cancelled, told. */
#include "runtime/step.h"

#include <stdlib.h>

#include <utlist.h>

#include "runtime/clock.h"

static void submit(hf_client *client, hfi_time now, struct hfi_step *step)
{
    step->object.request.host = step;
    hfi_engine_submit(&client->engine, now, &step->object.request, HFI_OP_OBJECT, HF_TIME_NEVER);
}

static void begin(hf_client *client, struct hfi_step *step)
{
    hfi_time now = hfi_now();

    step->object.serial = ++client->engine.last_owner;
    submit(client, now, step);
    hfi_pump(client, now);
}

int hfi_step_run(hf_client *client, struct hfi_step *step)
{
    struct hfi_call call;

    hfi_call_init(&call, HFI_CALL_REQUEST);
    step->call = &call;
    begin(client, step);
    hfi_call_wait(client, &call);
    return step->result;
}

void hfi_step_start(hf_client *client, struct hfi_step *step)
{
    DL_APPEND(client->steps, step);
    begin(client, step);
}

/* Whoever waits is woken, or an event is there. */
static void tell(hf_client *client, struct hfi_step *step)
{
    if (step->call) {
        step->call->done = true;
        hfi_call_wake(client, step->call);
        return;
    }
    DL_DELETE(client->steps, step);
    DL_APPEND(client->steps_done, step);
    hfi_event_signal(client);
}

void hfi_step_answered(hf_client *client, hfi_time now, struct hfi_step *step)
{
    int error = step->object.request.error;

    if (hfi_tries_again(&step->tries, error)) {
        submit(client, now, step); /* the pump that brought this answer takes it */
        return;
    }
    step->result = hfi_tries_result(&step->tries, error);
    tell(client, step);
}

/* ------------------------------------------------------------------------------------------------
 * Started ones
 */

/* Takes a request back that is in the store's hands, or will be in a moment, if it was not sent yet. */
static void withdraw(hf_client *client, hfi_time now, struct hfi_request *request)
{
    if (request->sent_ns || request->outcome != HFI_PENDING)
        return; /* in this order: while a store that blocks executes it, the rest is not ours to see */
    if (client->is_wire) {
        client->store->class_->wire->withdraw(client->store, request);
        return;
    }
    DL_DELETE(client->queue, request);
    hfi_request_finish(request, HFI_NOT_DONE, HF_ERR_CANCELLED);
    hfi_answered(client, now, request);
}

bool hfi_steps_cancel(hf_client *client, const void *cookie)
{
    struct hfi_step *step, *next;
    hfi_time now = hfi_now();
    bool any = false;

    DL_FOREACH_SAFE (client->steps, step, next) {
        if (step->cookie != cookie)
            continue;
        any = true;
        step->tries.last = true;
        withdraw(client, now, &step->object.request);
    }
    if (any)
        hfi_pump(client, now);
    return any;
}

bool hfi_step_take(hf_client *client, struct hf_event *event)
{
    struct hfi_step *step = client->steps_done;
    struct hfi_object *object;

    if (!step)
        return false;
    DL_DELETE(client->steps_done, step);
    object = &step->object;
    event->cookie = step->cookie;
    event->error = hfi_fail_store(client, step->result);
    event->type = event->error ? HF_EVENT_FAILED : HF_EVENT_DONE;
    if (event->error) {
        free(object->data);
    } else {
        event->number[0] = step->numbers > 0 ? object->number : 0;
        event->number[1] = step->numbers > 1 ? object->number2 : 0;
        event->value.bytes = object->data;
        event->value.len = object->data ? object->data_len : 0;
    }
    free(step);
    return true;
}

static void free_all(struct hfi_step *steps)
{
    struct hfi_step *step, *next;

    DL_FOREACH_SAFE (steps, step, next) {
        free(step->object.data);
        free(step);
    }
}

void hfi_steps_free(hf_client *client)
{
    free_all(client->steps);
    free_all(client->steps_done);
    client->steps = client->steps_done = NULL;
}
