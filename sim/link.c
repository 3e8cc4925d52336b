/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "world.h"

#define RESEND_NS (200 * HFI_MSEC) /* a host that is down is tried again after so long */
#define CRUMB     7                /* bytes of a piece on a crumbled path, at most */

static unsigned side_of(const struct sim_stream *stream)
{
    return stream == &stream->link->stream[SIM_CLIENT] ? SIM_CLIENT : SIM_SERVER;
}

/* ------------------------------------------------------------------------------------------------
 * On the way
 */

static hfi_time latency(struct sim_path *path)
{
    hfi_time t = path->base_ns + sim_below(&path->random, path->jitter_ns + 1);

    if (path->tail && sim_below(&path->random, 65536) < path->tail)
        t += sim_below(&path->random, path->tail_ns >> sim_below(&path->random, 8));
    return t;
}

static void arm(struct sim_stream *stream)
{
    struct sim_link *link = stream->link;

    if (stream->count == 0)
        sim_never(link->world, &stream->timer);
    else
        sim_at(link->world, &stream->timer,
               hfi_time_max(stream->marks[stream->first].at,
                            link->path->blocked_until[side_of(stream)]));
}

static void add_mark(struct sim_stream *stream, enum sim_mark_kind kind)
{
    struct sim_link *link = stream->link;
    hfi_time at = hfi_time_max(stream->last_at, link->world->now + latency(link->path));

    if (stream->first > 0 && stream->first + stream->count == stream->room) {
        memmove(stream->marks, stream->marks + stream->first,
                stream->count * sizeof *stream->marks);
        stream->first = 0;
    }
    if (stream->count == stream->room) {
        stream->room = stream->room ? stream->room * 2 : 8;
        stream->marks = sim_grow(stream->marks, stream->room * sizeof *stream->marks);
    }
    stream->last_at = at;
    stream->marks[stream->first + stream->count++] =
        (struct sim_mark){ .at = at, .upto = stream->sent, .kind = kind };
    if (stream->count == 1)
        arm(stream);
}

static void tell(struct sim_link *link, unsigned side, enum sim_link_event event)
{
    struct sim_end *end = &link->end[side];

    if (end->open && end->node)
        end->event(end->node, link, event);
}

static void syn_arrived(struct sim_link *link)
{
    struct sim_end *server = &link->end[SIM_SERVER];

    server->open = server->node && link->world->now >= link->path->refused_until;
    tell(link, SIM_SERVER, SIM_LINK_CONNECTED);
    add_mark(&link->stream[SIM_SERVER], server->open ? SIM_MARK_SYN_ACK : SIM_MARK_RST);
}

static void deliver(struct sim_link *link, unsigned from, const struct sim_mark *mark)
{
    unsigned to = SIM_SERVER - from;
    struct sim_end *end = &link->end[to];
    bool was_reset = end->reset;

    sim_mix(link->world, link->number << 8 ^ from << 4 ^ (uint64_t)mark->kind);
    sim_mix(link->world, link->world->now ^ mark->upto << 40);
    link->stream[from].arrived = mark->upto;
    switch (mark->kind) {
    case SIM_MARK_SYN:
        syn_arrived(link);
        return;
    case SIM_MARK_SYN_ACK:
        link->connected = true;
        tell(link, to, SIM_LINK_CONNECTED);
        return;
    case SIM_MARK_RST:
        end->reset = true;
        if (!was_reset)
            tell(link, to, link->connected ? SIM_LINK_READABLE : SIM_LINK_REFUSED);
        return;
    case SIM_MARK_FIN:
        end->ended = true;
        break;
    case SIM_MARK_BYTES:
        break;
    }
    if (end->open && end->node)
        tell(link, to, SIM_LINK_READABLE);
    else if (!end->reset && mark->kind == SIM_MARK_BYTES)
        add_mark(&link->stream[to], SIM_MARK_RST); /* nothing listens here any more */
}

static void arrive(void *arg)
{
    struct sim_stream *stream = arg;
    struct sim_link *link = stream->link;
    unsigned from = side_of(stream), to = SIM_SERVER - from;
    struct sim_mark mark;

    if (link->world->now < link->path->blocked_until[from]) {
        arm(stream);
        return;
    }
    if (!*link->end[to].host_up) {
        sim_after(link->world, &stream->timer, RESEND_NS);
        return;
    }
    mark = stream->marks[stream->first++];
    if (--stream->count == 0)
        stream->first = 0;
    arm(stream);
    deliver(link, from, &mark);
}

void sim_link_stir(struct sim_link *link)
{
    arm(&link->stream[SIM_CLIENT]);
    arm(&link->stream[SIM_SERVER]);
}

/* ------------------------------------------------------------------------------------------------
 * What nodes do
 */

struct sim_link *sim_link_dial(struct sim_world *world, struct sim_path *path,
                               struct sim_end client, struct sim_end server)
{
    struct sim_link *link = sim_alloc(sizeof *link);

    link->world = world;
    link->path = path;
    link->number = ++world->link_count;
    link->end[SIM_CLIENT] = client;
    link->end[SIM_CLIENT].open = true;
    link->end[SIM_SERVER] = server;
    for (unsigned side = 0; side < SIM_SIDES; side++) {
        link->stream[side].link = link;
        sim_timer_init(&link->stream[side].timer, arrive, &link->stream[side]);
    }
    DL_APPEND(world->links, link);
    add_mark(&link->stream[SIM_CLIENT], SIM_MARK_SYN);
    return link;
}

/* Now and then one call's bytes come in several pieces, as segments do. */
static size_t piece(struct sim_path *path, hfi_time now, size_t left)
{
    if (now < path->crumbled_until)
        return 1 + sim_below(&path->random, left < CRUMB ? left : CRUMB);
    return sim_below(&path->random, 16) ? left : 1 + sim_below(&path->random, left);
}

long sim_link_send(struct sim_link *link, unsigned side, const char *bytes, size_t count)
{
    struct sim_stream *stream = &link->stream[side];
    size_t room = SIM_LINK_CAPACITY - (size_t)(stream->sent - stream->read);
    size_t taken = count < room ? count : room;

    if (!link->end[side].open || link->end[side].reset)
        return -1;
    sim_text_add(&stream->bytes, bytes, taken);
    for (size_t left = taken; left > 0;) {
        size_t part = piece(link->path, link->world->now, left);

        stream->sent += part;
        left -= part;
        add_mark(stream, SIM_MARK_BYTES);
    }
    return (long)taken;
}

size_t sim_link_peek(const struct sim_link *link, unsigned side, const char **ret_bytes)
{
    const struct sim_stream *stream = &link->stream[SIM_SERVER - side];

    *ret_bytes = stream->bytes.at;
    return (size_t)(stream->arrived - stream->read);
}

void sim_link_take(struct sim_link *link, unsigned side, size_t count)
{
    struct sim_stream *stream = &link->stream[SIM_SERVER - side];
    bool was_full = stream->sent - stream->read >= SIM_LINK_CAPACITY;

    sim_text_shift(&stream->bytes, count);
    stream->read += count;
    if (was_full && count > 0)
        tell(link, SIM_SERVER - side, SIM_LINK_WRITABLE);
}

bool sim_link_is_over(const struct sim_link *link, unsigned side)
{
    const struct sim_stream *stream = &link->stream[SIM_SERVER - side];

    return link->end[side].reset || (link->end[side].ended && stream->arrived == stream->read);
}

void sim_link_close(struct sim_link *link, unsigned side)
{
    if (!link->end[side].open)
        return;
    link->end[side].open = false;
    if (!link->end[side].reset)
        add_mark(&link->stream[side], SIM_MARK_FIN);
}

void sim_link_vanish(struct sim_link *link, unsigned side)
{
    link->end[side].node = NULL;
    link->end[side].open = false;
}

void sim_link_hang_up(struct sim_link *link, unsigned side)
{
    if (!link->end[side].node && !link->end[side].reset)
        add_mark(&link->stream[side], SIM_MARK_FIN);
}

void sim_link_break(struct sim_link *link)
{
    for (unsigned side = 0; side < SIM_SIDES; side++) {
        struct sim_stream *stream = &link->stream[side];

        stream->first = stream->count = 0;
        arm(stream);
    }
    for (unsigned side = 0; side < SIM_SIDES; side++) {
        if (link->end[side].reset)
            continue;
        link->end[side].reset = true;
        tell(link, side, SIM_LINK_READABLE);
    }
}

void sim_link_free_all(struct sim_world *world)
{
    struct sim_link *link, *next;

    DL_FOREACH_SAFE (world->links, link, next) {
        for (unsigned side = 0; side < SIM_SIDES; side++) {
            sim_never(world, &link->stream[side].timer);
            sim_text_free(&link->stream[side].bytes);
            free(link->stream[side].marks);
        }
        free(link);
    }
    world->links = NULL;
}
