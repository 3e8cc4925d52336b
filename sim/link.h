/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection between a client process and a server: two streams of bytes, as a program with sockets sees
 * them. What was sent arrives in order and in pieces, late or never; an end learns of the other's end only by
 * what arrives (the end of the stream, a reset), or does not learn of it at all.
 *
 * A path is the network between one process and one server. Faults act on paths, so they hit the connections
 * that are there and those that are made meanwhile.
 */
#ifndef SIM_LINK_H
#define SIM_LINK_H

#include "base/random.h"
#include "text.h"
#include "timer.h"

enum { SIM_CLIENT, SIM_SERVER, SIM_SIDES }; /* sides; a stream is named by the one that sends */

/* Bytes sent and not yet read: what two socket buffers hold. */
#define SIM_LINK_CAPACITY (8 * 1024)

struct sim_path {
    struct hfi_random random;
    hfi_time base_ns;                  /* each piece takes this long at least, */
    hfi_time jitter_ns;                /* and up to so much more; */
    uint32_t tail;                     /* so many in 65,536 take much longer, */
    hfi_time tail_ns;                  /* up to this */
    hfi_time blocked_until[SIM_SIDES]; /* nothing that this side sends arrives before */
    hfi_time refused_until;            /* connections are refused */
    hfi_time crumbled_until;           /* pieces are of a few bytes */
};

enum sim_link_event {
    SIM_LINK_CONNECTED, /* client: the connection is made; server: `open` says whether it is taken */
    SIM_LINK_REFUSED,   /* client */
    SIM_LINK_READABLE,  /* bytes, the end of the stream, or a reset */
    SIM_LINK_WRITABLE   /* there is room again */
};

enum sim_mark_kind { SIM_MARK_BYTES, SIM_MARK_SYN, SIM_MARK_SYN_ACK, SIM_MARK_FIN, SIM_MARK_RST };

struct sim_mark {
    hfi_time at;
    uint64_t upto; /* of the stream's bytes, when it has arrived */
    enum sim_mark_kind kind;
};

struct sim_link;

struct sim_stream {
    struct sim_link *link;
    struct sim_text bytes;        /* from `read` on */
    uint64_t sent, arrived, read; /* counted from the beginning */
    struct sim_mark *marks;       /* on their way, in order */
    size_t first, count, room;
    hfi_time last_at; /* nothing later arrives before */
    struct sim_timer timer;
};

struct sim_end {
    void *node;          /* NULL: it has vanished without a word */
    const bool *host_up; /* what is sent to a host that is down is sent again and again */
    void *owner;         /* the node's own: which channel, which connection */
    void (*event)(void *node, struct sim_link *link, enum sim_link_event event);
    bool open;  /* not closed by its node */
    bool ended; /* the other's end of stream has arrived */
    bool reset; /* a reset has arrived */
};

struct sim_link {
    struct sim_link *prev, *next;
    struct sim_world *world;
    struct sim_path *path;
    struct sim_stream stream[SIM_SIDES];
    struct sim_end end[SIM_SIDES];
    uint64_t number;
    bool connected;  /* the client knows */
    unsigned client; /* whose it is: the process, and which of its lives */
    uint64_t client_life;
};

/* Begins to connect. `client` hears CONNECTED or REFUSED, or nothing at all. */
struct sim_link *sim_link_dial(struct sim_world *world, struct sim_path *path,
                               struct sim_end client, struct sim_end server);
/* How many bytes were taken, or -1: the connection is no more. */
long sim_link_send(struct sim_link *link, unsigned side, const char *bytes, size_t count);
/* What can be read now. It stays until it is taken. */
size_t sim_link_peek(const struct sim_link *link, unsigned side, const char **ret_bytes);
void sim_link_take(struct sim_link *link, unsigned side, size_t count);
/* The end of the stream, or a reset, is all that is left to read. */
bool sim_link_is_over(const struct sim_link *link, unsigned side);
/* Closes one's end: what was sent still arrives, then the end of the stream. */
void sim_link_close(struct sim_link *link, unsigned side);
/* The node is gone and its host with it: the other side hears nothing, until it sends and the host is up. */
void sim_link_vanish(struct sim_link *link, unsigned side);
/* A child that had the vanished node's sockets ends. */
void sim_link_hang_up(struct sim_link *link, unsigned side);
/* Both ends see a reset; what is on its way is lost. */
void sim_link_break(struct sim_link *link);
/* The path has changed: look again at what is on its way. */
void sim_link_stir(struct sim_link *link);
void sim_link_free_all(struct sim_world *world);

#endif
