/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that waits in a blocking call, and who drives which channel.
 *
 * Invariant: whenever the lock is let go for long (to sleep, to poll, to leave), each channel that needs a
 * driver has one, or somebody was woken to become it: hfi_hand_on() is called before.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <utlist.h>

#include "base/clear.h"
#include "runtime/client.h"
#include "runtime/clock.h"

/* What the program had set before the call that this thread is in, if the call has changed it. */
static _Thread_local int cancel_state;
static _Thread_local bool cancel_is_off;

void hfi_no_cancel(void)
{
    if (cancel_is_off)
        return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    cancel_is_off = true;
}

static void restore_cancel(void)
{
    if (!cancel_is_off)
        return;
    cancel_is_off = false;
    pthread_setcancelstate(cancel_state, NULL);
}

static void begin(const hf_client *client)
{
    if (client->trace.hook)
        hfi_no_cancel(); /* who knows what it calls */
}

void hfi_enter_locked(hf_client *client)
{
    atomic_fetch_add(&client->inside, 1);
    begin(client);
}

int hfi_enter(hf_client *client)
{
    if (hfi_is_forked(client))
        return hfi_fail(HF_ERR_FORKED,
                        "this client was opened before fork(): open one in the child");
    /* From here on the client is not freed: neither while this thread waits for the lock. */
    atomic_fetch_add(&client->inside, 1);
    hfi_lock(client);
    if (client->closed) {
        atomic_fetch_sub(&client->inside, 1);
        pthread_cond_broadcast(&client->left);
        hfi_unlock(client);
        return hfi_fail(HF_ERR_CLOSED, "the client is closed");
    }
    begin(client);
    return HF_OK;
}

void hfi_leave(hf_client *client)
{
    atomic_fetch_sub(&client->inside, 1);
    if (client->unsettled)
        hfi_hand_on(client);
    if (client->closed)
        pthread_cond_broadcast(&client->left);
    hfi_unlock(client);
    restore_cancel();
}

int hfi_enter_started(hf_client *client)
{
    int error = hfi_enter(client);

    if (error)
        return error;
    error = hfi_threads_start(client);
    if (error)
        hfi_leave(client);
    return error;
}

/* ------------------------------------------------------------------------------------------------
 * Calls
 */

static struct hfi_parker *take_parker(hf_client *client)
{
    struct hfi_parker *parker = client->parkers;

    if (parker) {
        LL_DELETE(client->parkers, parker);
        return parker;
    }
    parker = calloc(1, sizeof *parker);
    if (parker)
        sem_init(&parker->semaphore, 0, 0);
    return parker;
}

static void give_parker(hf_client *client, struct hfi_call *call)
{
    if (call->parker)
        LL_PREPEND(client->parkers, call->parker);
    call->parker = NULL;
}

void hfi_call_init(struct hfi_call *call, enum hfi_call_kind kind)
{
    hfi_clear(call, sizeof *call);
    call->kind = kind;
    call->driving = -1;
}

static void kick(hf_client *client, int number)
{
    uint64_t one = 1;

    hfi_no_cancel();
    while (write(client->channel[number].kick_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* It is no longer among those that sleep, whenever it comes to run. */
static void wake_sleeper(hf_client *client, struct hfi_call *call)
{
    DL_DELETE(client->sleepers, call);
    call->sleeping = false;
    if (!call->parker)
        return; /* it looks by itself */
    if (client->posts < HFI_POSTS_MAX)
        client->post[client->posts++] = call->parker;
    else
        sem_post(&call->parker->semaphore);
}

void hfi_call_wake(hf_client *client, struct hfi_call *call)
{
    if (call->driving >= 0)
        kick(client, call->driving);
    else if (call->sleeping)
        wake_sleeper(client, call);
    /* else it runs, and will see */
}

/* ------------------------------------------------------------------------------------------------
 * Who drives what
 */

/* Is the store being asked on behalf of this acquire? */
static bool is_tried(const struct hfi_call *call)
{
    const struct hfi_gate *gate = call->waiter.gate;

    return gate && gate->hold && hfi_hold_state_of(gate->hold) == HFI_HOLD_TRYING;
}

static bool wants_commands(hf_client *client, const struct hfi_call *call)
{
    if (!hfi_channel_expects(client, 0))
        return false;
    return call->kind != HFI_CALL_ACQUIRE || is_tried(call) || client->collect_wanted;
}

static bool wants_wakeups(hf_client *client, const struct hfi_call *call)
{
    const struct hfi_gate *gate = call->waiter.gate;

    return call->kind == HFI_CALL_ACQUIRE && gate && !gate->hold && gate->wait &&
           gate->wait->watched && hfi_channel_can_be_polled(client, 1);
}

static bool wants(hf_client *client, const struct hfi_call *call, int number)
{
    if (call->done)
        return false;
    return number == 0 ? wants_commands(client, call) : wants_wakeups(client, call);
}

static struct hfi_call *sleeper_for(hf_client *client, int number)
{
    struct hfi_call *call;

    if (number == 1 && client->engine.watched == 0)
        return NULL;
    DL_FOREACH (client->sleepers, call) {
        if (wants(client, call, number))
            return call;
    }
    return NULL;
}

bool hfi_caller_wants(hf_client *client, int number)
{
    return client->channel[number].called || sleeper_for(client, number);
}

static void hand_on(hf_client *client, int number)
{
    struct hfi_channel *channel = &client->channel[number];
    bool expects = hfi_channel_expects(client, number);
    struct hfi_call *call;

    if (!expects && !(number == 1 && hfi_channel_can_be_polled(client, 1)))
        return;
    if (channel->driver == HFI_CALLER || (channel->driver == HFI_BACKGROUND && number == 0))
        return;
    if (channel->called)
        return; /* somebody is on the way */
    call = sleeper_for(client, number);
    if (channel->driver == HFI_BACKGROUND) {
        if (call)
            hfi_thread_kick(client); /* it leaves the channel to the caller */
    } else if (call) {
        channel->called = call;
        hfi_call_wake(client, call);
    } else if (!client->is_wire && number == 0) {
        pthread_cond_signal(&client->worker_cond);
    } else if (expects) {
        hfi_thread_kick(client);
    } else {
        hfi_thread_wake_by(client, client->listen_ns);
    }
}

void hfi_hand_on(hf_client *client)
{
    client->unsettled = false;
    hand_on(client, 0);
    hand_on(client, 1);
}

/* ------------------------------------------------------------------------------------------------
 * Waiting
 */

/* What is to be undone when a thread is cancelled while it waits. */
struct waiting {
    hf_client *client;
    struct hfi_call *call;
    int number; /* of the channel that it drives; -1: it sleeps */
    struct hfi_reading reading;
};

static void stop_waiting(struct waiting *waiting)
{
    hf_client *client = waiting->client;
    struct hfi_call *call = waiting->call;

    client->unsettled = true;
    if (waiting->number >= 0) {
        client->channel[waiting->number].driver = HFI_NOBODY;
        call->driving = -1;
    }
    if (waiting->number == 1)
        client->listen_ns = hfi_now() + HFI_ORPHAN_NS;
    if (call->sleeping) {
        /* The first has a next unless it is alone. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
        DL_DELETE(client->sleepers, call);
    }
    call->sleeping = false;
    for (int number = 0; number < HFI_LINK_MAX; number++)
        if (client->channel[number].called == call)
            client->channel[number].called = NULL;
}

/* The thread is being cancelled: the acquire is abandoned, and what it got meanwhile is given back. */
static void abandon(void *arg)
{
    struct waiting *waiting = arg;
    hf_client *client = waiting->client;
    struct hfi_call *call = waiting->call;
    struct hf_hold *hold = (struct hf_hold *)call->waiter.handle;
    hfi_time now = hfi_now();

    hfi_lock(client);
    stop_waiting(waiting);
    if (waiting->number >= 0) {
        waiting->reading.revents = 0;
        hfi_reading_end(client, waiting->number, now, &waiting->reading);
    }
    if (!call->done)
        hfi_feed(client, now,
                 &(struct hfi_input){ .kind = HFI_INPUT_CANCEL,
                                      .error = HF_ERR_CANCELLED,
                                      .u.waiter = &call->waiter });
    if (call->waiter.result == HF_OK && hold->handle.hold) {
        hold->handle.releaser.discarded = true;
        hfi_feed(client, now,
                 &(struct hfi_input){ .kind = HFI_INPUT_RELEASE, .u.handle = &hold->handle });
    } else {
        hfi_hold_free(client, hold);
    }
    free(call->waiter.label);
    give_parker(client, call);
    hfi_leave(client);
}

/* Only a thread that waits for a lock can be cancelled, and only while it has nothing in its hands. */
static void let_cancel(const struct hfi_call *call)
{
    if (call->kind == HFI_CALL_ACQUIRE)
        pthread_setcancelstate(cancel_state, NULL);
}

static void forbid_cancel(const struct hfi_call *call)
{
    if (call->kind == HFI_CALL_ACQUIRE)
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

/* Without memory for a parker (a release must work all the same) it looks again after a moment. */
static void park(struct hfi_parker *parker)
{
    static const struct timespec MOMENT = { .tv_nsec = 1000 * 1000 };

    if (!parker) {
        nanosleep(&MOMENT, NULL);
        return;
    }
    while (sem_wait(&parker->semaphore) != 0 && errno == EINTR)
        ;
}

static void sleep_on(hf_client *client, struct hfi_call *call)
{
    struct waiting waiting = { .client = client, .call = call, .number = -1 };

    call->sleeping = true;
    DL_APPEND(client->sleepers, call);
    hfi_hand_on(client);
    hfi_unlock(client);
    pthread_cleanup_push(abandon, &waiting);
    let_cancel(call);
    park(call->parker);
    forbid_cancel(call);
    pthread_cleanup_pop(0);
    hfi_lock(client);
    stop_waiting(&waiting);
}

static void drain(int fd)
{
    uint64_t count;

    while (read(fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
}

/* Polls a channel for itself and everybody else. */
static void drive(hf_client *client, struct hfi_call *call, int number)
{
    struct waiting waiting = { .client = client, .call = call, .number = number };
    struct hfi_channel *channel = &client->channel[number];
    struct pollfd fds[2] = { { .fd = channel->kick_fd, .events = POLLIN } };

    channel->driver = HFI_CALLER;
    call->driving = number;
    hfi_reading_begin(client, number, &waiting.reading);
    fds[1] = (struct pollfd){ .fd = waiting.reading.fd, .events = waiting.reading.events };
    hfi_hand_on(client);
    hfi_unlock(client);
    pthread_cleanup_push(abandon, &waiting);
    let_cancel(call);
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        ;
    forbid_cancel(call);
    pthread_cleanup_pop(0);
    if (fds[0].revents)
        drain(fds[0].fd);
    waiting.reading.revents = fds[1].revents;
    hfi_reading_read(client, number, &waiting.reading);
    hfi_lock(client);
    stop_waiting(&waiting);
    hfi_reading_end(client, number, hfi_now(), &waiting.reading);
    hfi_pump(client, hfi_now());
}

/* A channel that nobody drives and this call wants; -1: none. */
static int channel_for(hf_client *client, const struct hfi_call *call)
{
    for (int number = 0; number < HFI_LINK_MAX; number++) {
        const struct hfi_channel *channel = &client->channel[number];
        bool executes = number == 0 && !client->is_wire;

        if (channel->driver != HFI_NOBODY || !wants(client, call, number))
            continue;
        if (executes || hfi_channel_can_be_polled(client, number))
            return number;
    }
    return -1;
}

static void execute(hf_client *client, struct hfi_call *call)
{
    client->channel[0].driver = HFI_CALLER;
    hfi_execute(client, call);
    client->channel[0].driver = HFI_NOBODY;
    client->unsettled = true;
}

void hfi_call_wait(hf_client *client, struct hfi_call *call)
{
    if (call->done)
        return;
    hfi_uncork(client);
    hfi_no_cancel();
    call->parker = take_parker(client);
    call->waited = true;
    while (!call->done) {
        int number = channel_for(client, call);

        if (call->called) {
            call->called = false;
            hfi_feed(client, hfi_now(),
                     &(struct hfi_input){ .kind = HFI_INPUT_TAKE, .u.waiter = &call->waiter });
        } else if (number == 0 && !client->is_wire) {
            execute(client, call);
        } else if (number >= 0) {
            drive(client, call, number);
        } else {
            sleep_on(client, call);
        }
    }
    give_parker(client, call);
}
