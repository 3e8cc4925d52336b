/* SPDX-License-Identifier: Apache-2.0 */
/* As src/runtime/channel.c: connecting, sending and reading as the store wants it. */
#include "process.h"

#include "checks.h"
#include "server.h"
#include "sim.h"

#define INPUT_SIZE ((size_t)16 * 1024) /* bytes read at once */
#define IDLE_NS    HFI_SEC

static const struct hfi_wire_class *wire_of(const struct sim_process *process)
{
    return process->store->class_->wire;
}

void sim_socket_close(struct sim_socket *socket)
{
    struct sim_link *link = socket->link;

    socket->link = NULL;
    socket->connecting = socket->blocked = false;
    socket->readable = SIZE_MAX;
    if (link)
        sim_link_close(link, SIM_CLIENT);
}

static void lose(struct sim_process *process, unsigned number, hfi_time now, const char *why)
{
    sim_say(&process->sim->world, "p%u link %u lost: %s", process->index, number, why);
    sim_socket_close(&process->socket[number]);
    wire_of(process)->lost(process->store, number, now, why);
}

static void heard(void *node, struct sim_link *link, enum sim_link_event event)
{
    struct sim_socket *socket = node;
    struct sim_process *process = socket->process;

    if (socket->link != link)
        return;
    if (event == SIM_LINK_WRITABLE)
        socket->blocked = false;
    if (!sim_timer_is_set(&socket->read))
        sim_at(&process->sim->world, &socket->read,
               sim_process_late(process, process->sim->world.now));
}

static void dial(struct sim_process *process, unsigned number)
{
    struct sim_socket *socket = &process->socket[number];
    struct sim_server *server = sim_service_server(process->sim, process->service);
    struct sim_end client = { .node = socket, .host_up = &process->host->up, .event = heard };

    socket->connecting = true;
    socket->readable = SIZE_MAX;
    socket->link =
        sim_link_dial(&process->sim->world, sim_path(process->sim, process->index, server->index),
                      client, sim_server_end(server));
    socket->link->client = process->index;
    socket->link->client_life = process->life_number;
}

/* ------------------------------------------------------------------------------------------------
 * Sending
 */

/* A call of send() with what is in one's hands. False: the connection failed. */
static bool send_hands(struct sim_socket *socket)
{
    struct sim_process *process = socket->process;
    long sent;

    socket->writing = false;
    if (socket->link != socket->hands_for)
        return true; /* it was lost meanwhile, and what it owed with it */
    sim_check_sent(process);
    sent = sim_link_send(socket->link, SIM_CLIENT, socket->hands.at, socket->hands.len);
    if (sent < 0)
        return false;
    if (sent == 0) {
        socket->blocked = true;
        return true;
    }
    wire_of(process)->produced(process->store, socket->number, (size_t)sent);
    socket->used_ns = sim_process_now(process);
    return true;
}

/* Some threads are slow between having bytes to send and sending them. */
static bool is_slow(struct sim_process *process)
{
    return process->sim->plan.slow_sends && sim_below(&process->random, 100) == 0;
}

/* Sends what there is. False: the connection failed. */
static bool send_all(struct sim_process *process, unsigned number, hfi_time now)
{
    struct sim_socket *socket = &process->socket[number];
    struct sim_link *link = socket->link;
    const char *bytes;
    size_t count;

    while (socket->link == link && !socket->blocked &&
           (count = wire_of(process)->produce(process->store, number, now, &bytes)) > 0) {
        socket->hands.len = 0;
        sim_text_add(&socket->hands, bytes, count);
        socket->hands_for = link;
        if (is_slow(process)) {
            socket->writing = true;
            sim_at(&process->sim->world, &socket->write,
                   sim_process_slow(process, process->sim->world.now));
            return true;
        }
        if (!send_hands(socket))
            return false;
        now = sim_process_now(process);
    }
    return true;
}

/* The slow thread gets to it. */
static void send_late(void *arg)
{
    struct sim_socket *socket = arg;
    struct sim_process *process = socket->process;
    hfi_time now;

    if (!sim_process_enter(process, &socket->write, &now))
        return;
    if (!socket->writing) {
        sim_process_leave(process);
        return;
    }
    if (!send_hands(socket))
        lose(process, socket->number, now, "connection reset");
    sim_pump(process, sim_process_now(process));
    sim_process_leave(process);
}

/* A server closes idle connections; a request must not be sent into one that is closed already. */
static bool is_stale(struct sim_process *process, unsigned number, hfi_time now)
{
    const struct sim_socket *socket = &process->socket[number];

    return number == 0 && now > socket->used_ns && now - socket->used_ns > IDLE_NS &&
           !wire_of(process)->expects(process->store, 0) &&
           sim_link_is_over(socket->link, SIM_CLIENT);
}

static bool service(struct sim_process *process, unsigned number, hfi_time now)
{
    struct sim_socket *socket = &process->socket[number];
    const struct sim_link *link;

    switch (wire_of(process)->want(process->store, number, now)) {
    case HFI_LINK_DROP:
        lose(process, number, now, "the connection was given up");
        return true;
    case HFI_LINK_DIAL:
        dial(process, number);
        return true;
    case HFI_LINK_NONE:
        return false;
    case HFI_LINK_KEEP:
        break;
    }
    if (!socket->link || socket->connecting || socket->writing || socket->blocked ||
        !wire_of(process)->has_output(process->store, number))
        return false;
    if (is_stale(process, number, now)) {
        lose(process, number, now, "the server has closed the idle connection");
        return true;
    }
    link = socket->link;
    if (!send_all(process, number, now))
        lose(process, number, sim_process_now(process), "connection reset");
    return socket->link != link;
}

bool sim_sockets_service(struct sim_process *process, hfi_time now)
{
    bool any = false;

    for (unsigned number = 0; number < wire_of(process)->links; number++)
        any |= service(process, number, now);
    return any;
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

static void take_bytes(struct sim_process *process, unsigned number, hfi_time now)
{
    struct sim_socket *socket = &process->socket[number];
    struct sim_link *link = socket->link;
    const char *bytes;
    size_t count = sim_link_peek(link, SIM_CLIENT, &bytes);

    if (count > socket->readable)
        count = socket->readable;
    if (count > INPUT_SIZE)
        count = INPUT_SIZE;
    socket->readable = SIZE_MAX;
    if (count > 0) {
        socket->used_ns = now;
        wire_of(process)->consume(process->store, number, now, bytes, count);
        sim_link_take(link, SIM_CLIENT, count);
        if (sim_link_peek(link, SIM_CLIENT, &bytes) > 0 || sim_link_is_over(link, SIM_CLIENT))
            heard(socket, link, SIM_LINK_READABLE);
    } else if (sim_link_is_over(link, SIM_CLIENT)) {
        lose(process, number, now,
             link->end[SIM_CLIENT].reset ? "connection reset"
                                         : "the server has closed the connection");
    }
}

static void read_socket(void *arg)
{
    struct sim_socket *socket = arg;
    struct sim_process *process = socket->process;
    hfi_time now;

    if (!sim_process_enter(process, &socket->read, &now))
        return;
    if (socket->link && socket->connecting) {
        if (socket->link->connected) {
            socket->connecting = false;
            socket->used_ns = now;
            wire_of(process)->connected(process->store, socket->number, now);
        } else {
            lose(process, socket->number, now, "connection refused");
        }
    } else if (socket->link) {
        take_bytes(process, socket->number, now);
    }
    sim_pump(process, sim_process_now(process));
    sim_process_leave(process);
}

void sim_socket_init(struct sim_process *process, unsigned number)
{
    struct sim_socket *socket = &process->socket[number];

    socket->process = process;
    socket->number = number;
    socket->readable = SIZE_MAX;
    sim_timer_init(&socket->read, read_socket, socket);
    sim_timer_init(&socket->write, send_late, socket);
}

void sim_socket_cut_off(struct sim_process *process, hfi_time now)
{
    for (unsigned number = HFI_LINK_MAX; number-- > 0;) {
        sim_socket_close(&process->socket[number]);
        wire_of(process)->lost(process->store, number, now, "the client ends");
    }
    wire_of(process)->abandon(process->store);
    sim_pump(process, now);
}
