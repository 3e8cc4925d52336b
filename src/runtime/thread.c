/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The background thread: keeps time, and drives the channels that no caller wants. It sleeps until the next
 * deadline of engine and store, by a timer that counts time asleep.
 *
 * `wakes_ns` is when it will wake by itself; 0 while it runs, or is about to: it will look by itself.
 *
 * While there are events that a program has not taken yet, it rests for a moment only. In that time what the
 * program starts as it takes them, one after another, is not sent at once but together (`corked`): by the last
 * hf_next(), by any call that waits, or when the moment is over.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "runtime/client.h"
#include "runtime/clock.h"

#define STACK_SIZE (256 * 1024)
#define MOMENT_MS  1 /* what is corked waits for so long at most */

void hfi_thread_kick(hf_client *client)
{
    uint64_t one = 1;

    if (client->wakes_ns == 0 || !client->has_thread)
        return;
    client->wakes_ns = 0;
    hfi_no_cancel();
    while (write(client->thread_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

void hfi_thread_wake_by(hf_client *client, hfi_time at)
{
    if (at < client->wakes_ns)
        hfi_thread_kick(client);
}

static void tick(hf_client *client, hfi_time now)
{
    client->corked = false;
    if (client->is_wire) {
        client->store->class_->wire->tick(client->store, now);
    } else if (now >= client->collect_by) {
        client->collect_by = HF_TIME_NEVER;
        client->collect_wanted = true;
    }
    hfi_engine_step(&client->engine, now, &(struct hfi_input){ .kind = HFI_INPUT_TICK });
    hfi_pump(client, now);
}

/* Those channels that somebody must drive, and no caller does or will. */
static void take_channels(hf_client *client, struct hfi_reading *reading, struct pollfd *fds)
{
    for (int number = 0; number < HFI_LINK_MAX; number++) {
        struct hfi_channel *channel = &client->channel[number];
        bool needed =
            hfi_channel_expects(client, number) || (number == 1 && hfi_now() >= client->listen_ns);

        fds[number] = (struct pollfd){ .fd = -1 };
        reading[number] = (struct hfi_reading){ .fd = -1 };
        if (channel->driver != HFI_NOBODY || !needed ||
            !hfi_channel_can_be_polled(client, number) || hfi_caller_wants(client, number))
            continue;
        channel->driver = HFI_BACKGROUND;
        hfi_reading_begin(client, number, &reading[number]);
        fds[number].fd = reading[number].fd;
        fds[number].events = reading[number].events;
    }
}

static void set_timer(int fd, hfi_time at)
{
    struct itimerspec when = { 0 };

    if (at != HF_TIME_NEVER) {
        at = at ? at : 1; /* 0 would turn it off */
        when.it_value.tv_sec = (time_t)(at / HFI_SEC);
        when.it_value.tv_nsec = (long)(at % HFI_SEC);
    }
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* A timer that goes off too early costs one wake-up in vain; setting it anew each time costs more. */
static void arm(hf_client *client)
{
    if (client->timer_ns <= client->wakes_ns && client->wakes_ns != HF_TIME_NEVER) {
        client->wakes_ns = client->timer_ns;
        return;
    }
    set_timer(client->timer_fd, client->wakes_ns);
    client->timer_ns = client->wakes_ns;
}

static void drain(int fd)
{
    uint64_t count;

    while (read(fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
}

static void leave_channels(hf_client *client, struct hfi_reading *reading)
{
    for (int number = 0; number < HFI_LINK_MAX; number++) {
        if (reading[number].fd < 0)
            continue;
        client->channel[number].driver = HFI_NOBODY;
        hfi_reading_end(client, number, hfi_now(), &reading[number]);
    }
}

/* When nobody listens to the wake-up channel and somebody should. */
static hfi_time listening_time(hf_client *client)
{
    bool left = client->channel[1].driver == HFI_NOBODY && hfi_channel_can_be_polled(client, 1) &&
                !hfi_caller_wants(client, 1);

    return left ? client->listen_ns : HF_TIME_NEVER;
}

/* Sleeps until something is to be done. With the lock, which it lets go of meanwhile. */
static void rest(hf_client *client)
{
    struct hfi_reading reading[HFI_LINK_MAX];
    struct pollfd fds[HFI_LINK_MAX + 2];
    bool brisk;

    hfi_hand_on(client);
    take_channels(client, reading, fds);
    fds[HFI_LINK_MAX] = (struct pollfd){ .fd = client->thread_fd, .events = POLLIN };
    fds[HFI_LINK_MAX + 1] = (struct pollfd){ .fd = client->timer_fd, .events = POLLIN };
    client->wakes_ns = hfi_time_min(hfi_next_time(client), listening_time(client));
    arm(client);
    client->brisk = client->is_wire && hfi_event_is_left(client);
    brisk = client->brisk;
    hfi_unlock(client);
    while (poll(fds, HFI_LINK_MAX + 2, brisk ? MOMENT_MS : -1) < 0 && errno == EINTR)
        ;
    drain(client->thread_fd);
    for (int number = 0; number < HFI_LINK_MAX; number++) {
        reading[number].revents = fds[number].revents;
        hfi_reading_read(client, number, &reading[number]);
    }
    hfi_lock(client);
    client->wakes_ns = 0;
    client->brisk = false;
    if (fds[HFI_LINK_MAX + 1].revents)
        client->timer_ns = HF_TIME_NEVER;
    leave_channels(client, reading);
}

static void *run(void *arg)
{
    hf_client *client = arg;

    pthread_setname_np(pthread_self(), "holdfast");
    hfi_lock(client);
    while (!client->stop) {
        tick(client, hfi_now());
        if (!client->stop) /* it lets go of the lock while it sends */
            rest(client);
    }
    hfi_unlock(client);
    return NULL;
}

static bool start(pthread_t *thread, void *(*body)(void *), hf_client *client)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, &attributes, body, client);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error == 0;
}

static bool open_fds(hf_client *client)
{
    if (client->thread_fd < 0)
        client->thread_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (client->timer_fd < 0)
        client->timer_fd = timerfd_create(hfi_clock_id(), TFD_CLOEXEC | TFD_NONBLOCK);
    for (int number = 0; number < HFI_LINK_MAX; number++)
        if (client->channel[number].kick_fd < 0)
            client->channel[number].kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return client->thread_fd >= 0 && client->timer_fd >= 0 && client->channel[0].kick_fd >= 0 &&
           client->channel[1].kick_fd >= 0;
}

int hfi_threads_start(hf_client *client)
{
    if (client->has_thread && (client->has_worker || client->is_wire))
        return HF_OK;
    if (!open_fds(client))
        return hfi_fail(HF_ERR_SYSTEM, "no descriptor is left for this client (ulimit -n)");
    if (!client->has_thread)
        client->has_thread = start(&client->thread, run, client);
    if (!client->has_worker && !client->is_wire)
        client->has_worker = start(&client->worker, hfi_worker_run, client);
    if (!client->has_thread || (!client->has_worker && !client->is_wire))
        return hfi_fail(HF_ERR_SYSTEM, "no thread can be started for this client (ulimit -u)");
    return HF_OK;
}

void hfi_threads_stop(hf_client *client)
{
    hfi_lock(client);
    client->stop = true;
    hfi_thread_kick(client);
    pthread_cond_broadcast(&client->worker_cond);
    hfi_unlock(client);
    if (client->has_thread)
        pthread_join(client->thread, NULL);
    if (client->has_worker)
        pthread_join(client->worker, NULL);
    client->has_thread = client->has_worker = false;
}
