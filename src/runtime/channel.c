/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets. One is closed when it is out of its channel and neither a driver nor a writer uses it any more;
 * whoever takes it out shuts it down first, which wakes those that poll it.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/client.h"
#include "runtime/clock.h"

static const struct hfi_wire_class *wire_of(const hf_client *client)
{
    return client->store->class_->wire;
}

static void put_socket(struct hfi_socket *socket)
{
    if (--socket->users > 0)
        return;
    close(socket->fd);
    free(socket);
}

void hfi_channel_close(struct hfi_channel *channel)
{
    struct hfi_socket *socket = channel->socket;

    channel->lookup = hfi_lookup_end(channel->lookup);
    channel->address = NULL;
    channel->connecting = channel->blocked = false;
    channel->socket = NULL;
    if (!socket)
        return;
    shutdown(socket->fd, SHUT_RDWR);
    put_socket(socket);
}

static void lose(hf_client *client, int number, hfi_time now, const char *why)
{
    hfi_channel_close(&client->channel[number]);
    wire_of(client)->lost(client->store, (unsigned)number, now, why);
}

/* ------------------------------------------------------------------------------------------------
 * Connecting
 */

static bool adopt(struct hfi_channel *channel, int fd, bool pending)
{
    struct hfi_socket *socket = malloc(sizeof *socket);

    if (!channel->input)
        channel->input = malloc(HFI_INPUT_SIZE);
    if (!socket || !channel->input) {
        free(socket);
        close(fd);
        errno = ENOMEM;
        return false;
    }
    socket->fd = fd;
    socket->users = 1;
    channel->socket = socket;
    channel->connecting = pending;
    return true;
}

static void is_connected(hf_client *client, int number, hfi_time now)
{
    client->channel[number].connecting = false;
    client->channel[number].used_ns = now;
    wire_of(client)->connected(client->store, (unsigned)number, now);
}

/* Tries one address after the other, from channel->address on. */
static void connect_next(hf_client *client, int number, hfi_time now, int error)
{
    struct hfi_channel *channel = &client->channel[number];

    while (channel->address) {
        bool pending;
        int fd = hfi_socket_connect(channel->address, &pending);

        channel->address = channel->address->ai_next;
        if (fd >= 0 && adopt(channel, fd, pending)) {
            if (!pending)
                is_connected(client, number, now);
            return;
        }
        error = errno;
    }
    lose(client, number, now, strerror(error));
}

static void looked_up(hf_client *client, int number, hfi_time now)
{
    struct hfi_channel *channel = &client->channel[number];
    char copy[HFI_WHY_MAX]; /* the look-up ends with the channel */
    const char *why;

    channel->address = hfi_lookup_result(channel->lookup, &why);
    if (channel->address) {
        connect_next(client, number, now, 0);
        return;
    }
    snprintf(copy, sizeof copy, "%s", why);
    lose(client, number, now, copy);
}

static void dial(hf_client *client, int number, hfi_time now)
{
    const struct hfi_address *address = wire_of(client)->address(client->store);
    struct hfi_channel *channel = &client->channel[number];
    bool pending;
    int fd;

    if (!address->path) {
        channel->lookup = hfi_lookup_start(address, client->thread_fd);
        if (!channel->lookup)
            lose(client, number, now, "no thread or memory to look up the host's name");
        return;
    }
    fd = hfi_socket_connect_unix(address->path, &pending);
    if (fd < 0 || !adopt(channel, fd, pending))
        lose(client, number, now, strerror(errno));
    else if (!pending)
        is_connected(client, number, now);
}

/* poll() says that a connection is made, or failed. */
static void connected_or_not(hf_client *client, int number, hfi_time now)
{
    struct hfi_channel *channel = &client->channel[number];
    int error = hfi_socket_error(channel->socket->fd);
    const struct addrinfo *next = channel->address;
    struct hfi_lookup *lookup = channel->lookup;

    if (error == 0) {
        is_connected(client, number, now);
        return;
    }
    channel->lookup = NULL; /* keep it for the next address */
    hfi_channel_close(channel);
    channel->lookup = lookup;
    channel->address = next;
    connect_next(client, number, now, error);
}

/* ------------------------------------------------------------------------------------------------
 * Sending
 */

/* Sends what there is: 0, or the error by which the connection failed. Lets go of the lock while it sends;
 * if the socket is another one after that, what was sent is of no interest any more. */
static int send_all(hf_client *client, int number, hfi_time now)
{
    struct hfi_channel *channel = &client->channel[number];
    struct hfi_socket *socket = channel->socket;
    const char *bytes;
    size_t count;
    int error = 0;

    channel->writing = true;
    socket->users++;
    while (!error && channel->socket == socket && !channel->blocked &&
           (count = wire_of(client)->produce(client->store, (unsigned)number, now, &bytes)) > 0) {
        ssize_t sent;

        hfi_unlock(client);
        do
            sent = send(socket->fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        while (sent < 0 && errno == EINTR);
        error = sent < 0 ? errno : 0;
        hfi_lock(client);
        client->unsettled = true; /* others may have settled it meanwhile, with less to expect */
        if (channel->socket != socket)
            break; /* it was lost meanwhile, and what it owed with it */
        if (error == EAGAIN || error == EWOULDBLOCK) {
            channel->blocked = true;
            error = 0;
        } else if (!error) {
            wire_of(client)->produced(client->store, (unsigned)number, (size_t)sent);
            channel->used_ns = now;
        }
        now = hfi_now(); /* what comes next is sent later */
    }
    if (channel->socket != socket)
        error = 0;
    channel->writing = false;
    put_socket(socket);
    return error;
}

/* A server closes idle connections; a request must not be sent into one that is closed already. */
static bool is_stale(hf_client *client, int number, hfi_time now)
{
    struct hfi_channel *channel = &client->channel[number];

    return number == 0 && channel->driver == HFI_NOBODY && now - channel->used_ns > HFI_IDLE_NS &&
           now > channel->used_ns && !wire_of(client)->expects(client->store, 0) &&
           hfi_socket_is_stale(channel->socket->fd);
}

static bool service(hf_client *client, int number, hfi_time now)
{
    struct hfi_channel *channel = &client->channel[number];
    const struct hfi_socket *socket;
    int error;

    if (channel->writing && !channel->socket)
        return false; /* the store's bytes are still being read; that writer comes here again */
    switch (wire_of(client)->want(client->store, (unsigned)number, now)) {
    case HFI_LINK_DROP:
        lose(client, number, now, "the connection was given up");
        return true;
    case HFI_LINK_DIAL:
        dial(client, number, now);
        return true;
    case HFI_LINK_NONE:
        return false;
    case HFI_LINK_KEEP:
        break;
    }
    if (!channel->socket && channel->lookup && hfi_lookup_done(channel->lookup)) {
        looked_up(client, number, now);
        return true;
    }
    if (!channel->socket || channel->connecting || channel->writing || channel->blocked ||
        client->corked || !wire_of(client)->has_output(client->store, (unsigned)number))
        return false;
    if (is_stale(client, number, now)) {
        lose(client, number, now, "the server has closed the idle connection");
        return true;
    }
    socket = channel->socket;
    error = send_all(client, number, now);
    if (error)
        lose(client, number, hfi_now(), strerror(error));
    return channel->socket != socket;
}

bool hfi_channels_service(hf_client *client, hfi_time now)
{
    bool any = false;

    for (int number = 0; number < (int)wire_of(client)->links; number++)
        any |= service(client, number, now);
    return any;
}

/* ------------------------------------------------------------------------------------------------
 * Driving
 */

bool hfi_channel_can_be_polled(hf_client *client, int number)
{
    const struct hfi_library_class *library = client->store->class_->library;

    if (!library)
        return client->channel[number].socket != NULL;
    return number == 1 && !client->collect_wanted && client->wake_fd >= 0;
}

bool hfi_channel_expects(hf_client *client, int number)
{
    const struct hfi_channel *channel = &client->channel[number];

    if (!client->is_wire)
        return number == 0 && hfi_work_is_waiting(client);
    return channel->socket && (channel->connecting || channel->blocked ||
                               wire_of(client)->expects(client->store, (unsigned)number));
}

void hfi_reading_begin(hf_client *client, int number, struct hfi_reading *reading)
{
    struct hfi_channel *channel = &client->channel[number];

    *reading = (struct hfi_reading){ .fd = -1, .events = POLLIN };
    if (!client->is_wire) {
        reading->fd = client->wake_fd;
        return;
    }
    reading->socket = channel->socket;
    reading->socket->users++;
    reading->fd = reading->socket->fd;
    if (channel->connecting)
        reading->events = POLLOUT;
    else if (channel->blocked)
        reading->events = POLLIN | POLLOUT;
}

void hfi_reading_read(hf_client *client, int number, struct hfi_reading *reading)
{
    ssize_t count;

    if (!reading->socket || !(reading->revents & (POLLIN | POLLHUP | POLLERR)) ||
        !(reading->events & POLLIN))
        return;
    do
        count = recv(reading->fd, client->channel[number].input, HFI_INPUT_SIZE, MSG_DONTWAIT);
    while (count < 0 && errno == EINTR);
    reading->error = errno;
    reading->count = count;
}

static void take_input(hf_client *client, int number, hfi_time now,
                       const struct hfi_reading *reading)
{
    struct hfi_channel *channel = &client->channel[number];

    if (reading->revents & POLLOUT)
        channel->blocked = false;
    if (!(reading->revents & (POLLIN | POLLHUP | POLLERR)))
        return;
    if (reading->count > 0) {
        channel->used_ns = now;
        wire_of(client)->consume(client->store, (unsigned)number, now, channel->input,
                                 (size_t)reading->count);
    } else if (reading->count == 0) {
        lose(client, number, now, "the server has closed the connection");
    } else if (reading->error != EAGAIN && reading->error != EWOULDBLOCK) {
        lose(client, number, now, strerror(reading->error));
    }
}

void hfi_reading_end(hf_client *client, int number, hfi_time now, struct hfi_reading *reading)
{
    struct hfi_channel *channel = &client->channel[number];

    if (!reading->socket) {
        if (reading->revents)
            client->collect_wanted = true;
        return;
    }
    if (reading->revents && channel->socket == reading->socket) {
        if (channel->connecting)
            connected_or_not(client, number, now);
        else
            take_input(client, number, now, reading);
    }
    put_socket(reading->socket);
    reading->socket = NULL;
}
