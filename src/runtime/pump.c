/* SPDX-License-Identifier: Apache-2.0 */
/* Between engine, store and whoever waits. Everything here is under the client's lock. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <utlist.h>

#include "runtime/client.h"
#include "runtime/clock.h"
#include "runtime/step.h"

void hfi_lock(hf_client *client)
{
    pthread_mutex_lock(&client->lock);
}

int hfi_await(hf_client *client, pthread_cond_t *cond, const struct timespec *until)
{
    for (unsigned i = 0; i < client->posts; i++)
        sem_post(&client->post[i]->semaphore);
    client->posts = 0;
    return until ? pthread_cond_timedwait(cond, &client->lock, until)
                 : pthread_cond_wait(cond, &client->lock);
}

void hfi_unlock(hf_client *client)
{
    struct hfi_parker *post[HFI_POSTS_MAX];
    unsigned posts = client->posts;

    for (unsigned i = 0; i < posts; i++)
        post[i] = client->post[i];
    client->posts = 0;
    if (posts > 0)
        atomic_fetch_add(&client->posting, 1); /* hf_close() must not free them before */
    pthread_mutex_unlock(&client->lock);
    for (unsigned i = 0; i < posts; i++)
        sem_post(&post[i]->semaphore);
    if (posts > 0)
        atomic_fetch_sub(&client->posting, 1);
}

/* ------------------------------------------------------------------------------------------------
 * Results
 */

static void deliver_acquire(hf_client *client, struct hfi_waiter *waiter)
{
    if (waiter->direct) {
        struct hfi_async *async = (struct hfi_async *)waiter;

        DL_DELETE(client->asyncs, async);
        DL_APPEND(client->events, async);
        hfi_event_signal(client);
    } else {
        struct hfi_call *call = waiter->cookie;

        call->done = true;
        hfi_call_wake(client, call);
    }
}

/* A part of a multi hold was released in the background; false: others are to come, and it is freed. */
static bool is_last_part(hf_client *client, struct hf_hold *hold)
{
    struct hfi_multi *multi = hold->multi;

    hold->multi = NULL;
    hfi_multi_add_result(multi, hold->handle.releaser.result);
    if (atomic_fetch_sub(&multi->left, 1) > 1) {
        hfi_hold_free(client, hold);
        return false;
    }
    hold->handle.releaser.result = atomic_load(&multi->result);
    free(multi);
    return true;
}

static void deliver_release(hf_client *client, struct hfi_releaser *releaser)
{
    struct hf_hold *hold =
        (struct hf_hold *)((char *)releaser - offsetof(struct hf_hold, handle.releaser));

    if (hold->multi && !releaser->discarded && !hold->releaser && !is_last_part(client, hold))
        return;
    if (releaser->discarded) {
        hfi_hold_free(client, hold);
    } else if (hold->releaser) {
        hold->releaser->done = true;
        hfi_call_wake(client, hold->releaser);
    } else {
        LL_APPEND(client->released, hold);
        hfi_event_signal(client);
    }
}

static void deliver(hf_client *client)
{
    struct hfi_waiter *waiter;
    struct hfi_releaser *releaser;

    while ((waiter = hfi_engine_next_done(&client->engine)))
        deliver_acquire(client, waiter);
    while ((waiter = hfi_engine_next_woken(&client->engine))) {
        struct hfi_call *call = waiter->cookie;

        call->called = true;
        hfi_call_wake(client, call);
    }
    while ((releaser = hfi_engine_next_released(&client->engine)))
        deliver_release(client, releaser);
    if (hfi_engine_has_news(&client->engine))
        hfi_event_signal(client);
    if (client->closed)
        pthread_cond_broadcast(&client->left);
}

/* ------------------------------------------------------------------------------------------------
 * Requests and answers
 */

static void answer(hf_client *client, hfi_time now, struct hfi_request *request)
{
    struct hfi_input input = { .kind = HFI_INPUT_ANSWER, .u.request = request };
    struct hfi_call *call = request->host;

    if (request->op == HFI_OP_OBJECT) {
        hfi_step_answered(client, now, request->host);
        return;
    }
    if (!call || request->op == HFI_OP_RENEW)
        hfi_engine_step(&client->engine, now, &input);
    if (!call)
        return;
    call->done = true;
    hfi_call_wake(client, call);
}

static bool pump_wire(hf_client *client, hfi_time now)
{
    const struct hfi_wire_class *wire = client->store->class_->wire;
    struct hfi_request *request;
    struct hfi_watch *watch;
    bool any = false;

    for (; (request = hfi_engine_next_request(&client->engine)); any = true)
        wire->submit(client->store, now, request);
    for (; (request = wire->finished(client->store)); any = true)
        answer(client, now, request);
    for (; (watch = wire->woken(client->store)); any = true)
        hfi_engine_step(&client->engine, now,
                        &(struct hfi_input){ .kind = HFI_INPUT_WAKE, .u.watch = watch });
    if (wire->restored(client->store)) {
        hfi_engine_step(&client->engine, now, &(struct hfi_input){ .kind = HFI_INPUT_RESTORED });
        any = true;
    }
    return any;
}

static void pump_library(hf_client *client)
{
    struct hfi_request *request;

    while ((request = hfi_engine_next_request(&client->engine)))
        DL_APPEND(client->queue, request);
}

hfi_time hfi_next_time(hf_client *client)
{
    const struct hfi_store_class *class_ = client->store->class_;
    hfi_time at = hfi_engine_deadline(&client->engine);

    if (class_->wire)
        return hfi_time_min(at, class_->wire->deadline(client->store));
    return client->collect_wanted ? at : hfi_time_min(at, client->collect_by);
}

void hfi_pump(hf_client *client, hfi_time now)
{
    bool again;

    hfi_no_cancel();
    client->unsettled = true;
    do {
        if (client->is_wire) {
            while (pump_wire(client, now))
                ;
            deliver(client);
            again = hfi_channels_service(client, now);
        } else {
            pump_library(client);
            deliver(client);
            again = false;
        }
    } while (again);
    hfi_thread_wake_by(client, hfi_next_time(client));
}

void hfi_uncork(hf_client *client)
{
    if (!client->corked)
        return;
    client->corked = false;
    hfi_pump(client, hfi_now());
}

void hfi_feed(hf_client *client, hfi_time now, const struct hfi_input *input)
{
    hfi_engine_step(&client->engine, now, input);
    if (client->engine.requests) {
        hfi_pump(client, now);
        return;
    }
    deliver(client); /* re-entry and passing inside the process end here */
    hfi_thread_wake_by(client, hfi_engine_deadline(&client->engine));
}

void hfi_answered(hf_client *client, hfi_time now, struct hfi_request *request)
{
    answer(client, now, request);
}

void hfi_submit(hf_client *client, hfi_time now, struct hfi_request *request, enum hfi_op op,
                struct hfi_call *call)
{
    request->host = call;
    hfi_engine_submit(&client->engine, now, request, op, HF_TIME_NEVER);
    hfi_pump(client, now);
}
