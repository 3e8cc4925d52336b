/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of events, and the descriptor that says there are some. It holds no memory of its own: events are
 * finished acquires, released handles, holds with news, and finished steps with objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utlist.h>

#include "runtime/step.h"

bool hfi_event_is_left(const hf_client *client)
{
    return client->events || client->released || client->steps_done;
}

static bool is_empty(const hf_client *client)
{
    return !hfi_event_is_left(client) && !hfi_engine_has_news(&client->engine);
}

void hfi_event_signal(hf_client *client)
{
    uint64_t one = 1;

    if (client->event_fd < 0 || client->event_signalled)
        return;
    client->event_signalled = true;
    hfi_no_cancel();
    while (write(client->event_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* Nothing is left: the descriptor is not readable any more. */
static void unsignal(hf_client *client)
{
    uint64_t count;

    if (!client->event_signalled || !is_empty(client))
        return;
    client->event_signalled = false;
    hfi_no_cancel();
    while (read(client->event_fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
}

int hf_fd(hf_client *client)
{
    int error, fd;

    if (!client)
        return hfi_fail(HF_ERR_INVALID, "hf_fd() needs a client");
    error = hfi_enter(client);
    if (error)
        return error;
    if (client->event_fd < 0) {
        client->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (client->event_fd >= 0 && !is_empty(client))
            hfi_event_signal(client);
    }
    fd = client->event_fd;
    hfi_leave(client);
    return fd >= 0 ? fd : hfi_fail(HF_ERR_SYSTEM, "no descriptor is left (ulimit -n)");
}

/* Returns the async if it is a part of something larger: that goes on without the lock. */
static struct hfi_async *take_acquire(hf_client *client, struct hf_event *event)
{
    struct hfi_async *async = client->events;
    bool is_hold = async->waiter.kind != HFI_KIND_SEMAPHORE && async->waiter.kind != HFI_KIND_LATCH;

    DL_DELETE(client->events, async);
    event->cookie = async->cookie;
    event->error = async->waiter.result;
    if (event->error)
        hfi_hold_free(client, async->hold);
    else if (is_hold)
        event->hold = async->hold;
    else
        event->error = hfi_hold_keep(client, async->hold);
    event->type = event->error ? HF_EVENT_FAILED : is_hold ? HF_EVENT_ACQUIRED : HF_EVENT_DONE;
    hfi_fail_store(client, event->error);
    free(async->waiter.label);
    async->waiter.label = NULL;
    if (async->whole) {
        atomic_store(&async->whole->at, NULL);
        return async;
    }
    free(async);
    return NULL;
}

static void take_release(hf_client *client, struct hf_event *event)
{
    struct hf_hold *hold = client->released;

    LL_DELETE(client->released, hold);
    event->type = HF_EVENT_RELEASED;
    event->cookie = hold->handle.cookie;
    event->error = hold->handle.releaser.result;
    hfi_hold_free(client, hold);
}

static bool take_news(hf_client *client, struct hf_event *event)
{
    enum hfi_news news;
    struct hfi_handle *handle = hfi_engine_next_news(&client->engine, &news);

    if (!handle)
        return false;
    event->type = news == HFI_NEWS_LOST ? HF_EVENT_LOST : HF_EVENT_AT_RISK;
    event->error = news == HFI_NEWS_LOST ? HF_ERR_LOST : HF_OK;
    event->hold = (struct hf_hold *)handle;
    event->cookie = handle->cookie;
    return true;
}

/* NULL: there is none yet, or no more. */
static struct hf_hold *whole_of(struct hfi_multi *multi)
{
    struct hf_hold *whole = atomic_load(&multi->whole);

    if (whole)
        return whole;
    atomic_store(&multi->missed, true); /* who makes it looks at this afterwards */
    return atomic_load(&multi->whole);
}

/* A part's news is the whole's; that it is lost is told once. */
static bool take_any_news(hf_client *client, struct hf_event *event)
{
    while (take_news(client, event)) {
        struct hfi_multi *multi = event->hold->multi;
        struct hf_hold *whole = multi ? whole_of(multi) : NULL;

        if (!multi)
            return true;
        if (!whole || atomic_load(&multi->lost_told))
            continue;
        if (event->type == HF_EVENT_LOST && atomic_exchange(&multi->lost_told, true))
            continue;
        event->hold = whole;
        return true;
    }
    return false;
}

static void tell_again(hf_client *client, struct hfi_hold *hold)
{
    enum hfi_hold_state state;

    hfi_lock(client);
    state = hfi_hold_state_of(hold);
    if (state == HFI_HOLD_LOST || state == HFI_HOLD_AT_RISK) {
        hfi_hold_set_news(&client->engine, hold,
                          state == HFI_HOLD_LOST ? HFI_NEWS_LOST : HFI_NEWS_AT_RISK);
        hfi_event_signal(client);
    }
    hfi_unlock(client);
}

void hfi_multi_tell_missed(struct hfi_multi *multi)
{
    if (!atomic_load(&multi->missed))
        return;
    for (size_t i = 0; i < multi->count; i++)
        tell_again(multi->hold[i]->client, multi->hold[i]->handle.hold);
}

/* What concerns holds goes first: acquired comes before lost, and released takes lost away. Returns the async if
 * it is a part of something larger. */
static struct hfi_async *take(hf_client *client, struct hf_event *event, bool *ret_any)
{
    *ret_any = true;
    if (client->events)
        return take_acquire(client, event);
    if (client->released)
        take_release(client, event);
    else
        *ret_any = take_any_news(client, event) || hfi_step_take(client, event);
    return NULL;
}

/* As much of it as the program's struct has room for. */
static void hand_over(struct hf_event *event, struct hf_event *ret_event)
{
    event->size = ret_event->size;
    if (event->size < sizeof *event)
        free((void *)(uintptr_t)event->value.bytes); /* it does not learn of it */
    memcpy(ret_event, event, event->size < sizeof *event ? event->size : sizeof *event);
}

int hf_next(hf_client *client, struct hf_event *ret_event)
{
    struct hf_event event = { 0 };
    struct hfi_async *part;
    bool any;
    int error;

    if (!client || !ret_event || ret_event->size < sizeof(size_t))
        return hfi_fail(HF_ERR_INVALID, "hf_next() needs a client and an event with its size set");
    do {
        event = (struct hf_event){ 0 };
        error = hfi_enter(client);
        if (error)
            return error;
        part = take(client, &event, &any);
        unsignal(client);
        if (hfi_event_is_left(client))
            client->corked = client->brisk;
        else
            hfi_uncork(client);
        hfi_leave(client);
        if (!any)
            return 0;
    } while (part && !part->whole->advance(part, &event));
    hand_over(&event, ret_event);
    return 1;
}
