/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores that block. Requests are executed one at a time, in order, by whoever drives the command channel: a
 * caller that waits for one of them, else the client's worker thread. (Not the background thread: that one
 * keeps time, and must not wait for a disk.)
 */
#include <pthread.h>
#include <string.h>

#include <utlist.h>

#include "runtime/client.h"
#include "runtime/clock.h"

bool hfi_work_is_waiting(const hf_client *client)
{
    return client->queue != NULL || client->collect_wanted;
}

/* What the store has to say after it was at work. With the lock. */
static void harvest(hf_client *client, hfi_time now)
{
    const struct hfi_library_class *library = client->store->class_->library;
    struct hfi_watch *watch;

    while ((watch = library->woken(client->store)))
        hfi_engine_step(&client->engine, now,
                        &(struct hfi_input){ .kind = HFI_INPUT_WAKE, .u.watch = watch });
    if (library->restored(client->store))
        hfi_engine_step(&client->engine, now, &(struct hfi_input){ .kind = HFI_INPUT_RESTORED });
    client->wake_fd = library->wake_fd(client->store);
    client->liveness_fd = library->liveness_fd(client->store);
    client->collect_by = library->deadline(client->store);
    hfi_pump(client, now);
}

static void collect(hf_client *client)
{
    client->collect_wanted = false;
    hfi_unlock(client);
    client->store->class_->library->collect(client->store, hfi_now());
    hfi_lock(client);
}

static void execute_first(hf_client *client)
{
    struct hfi_request *request = client->queue;
    hfi_time now = hfi_now();

    DL_DELETE(client->queue, request);
    request->sent_ns = now; /* with the lock: the engine looks at it meanwhile */
    hfi_unlock(client);
    client->store->class_->library->execute(client->store, now, request);
    hfi_lock(client);
    memcpy(client->detail, client->store->detail, strlen(client->store->detail) + 1);
    hfi_answered(client, hfi_now(), request);
}

void hfi_execute(hf_client *client, struct hfi_call *call)
{
    while (hfi_work_is_waiting(client) && !(call && call->done)) {
        if (client->collect_wanted)
            collect(client);
        else
            execute_first(client);
        harvest(client, hfi_now());
    }
}

void *hfi_worker_run(void *arg)
{
    hf_client *client = arg;

    hfi_lock(client);
    while (!client->stop) {
        if (client->channel[0].driver != HFI_NOBODY || !hfi_work_is_waiting(client)) {
            hfi_await(client, &client->worker_cond, NULL);
            continue;
        }
        client->channel[0].driver = HFI_BACKGROUND;
        hfi_execute(client, NULL);
        client->channel[0].driver = HFI_NOBODY;
        hfi_hand_on(client);
    }
    hfi_unlock(client);
    return NULL;
}
