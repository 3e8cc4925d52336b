/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network in between that can be made bad: a thread that passes bytes on between clients and a server, and
 * can delay, cut, swallow, stop. What is set holds for connections of the named kind, old and new, until it
 * is set otherwise; a connection's kind is known by what it sends.
 */
#ifndef TEST_LIB_PROXY_H
#define TEST_LIB_PROXY_H

#include <pthread.h>
#include <stdatomic.h>

#include "lib/wait.h"

enum proxy_kind { PROXY_COMMANDS = 1, PROXY_WAKEUPS = 2, PROXY_ANY = 3 };

#define PROXY_LINKS 64

struct proxy_link;

struct proxy {
    int server_port, port;
    int listener, kick[2];
    pthread_t thread;
    atomic_bool stop;
    atomic_int kinds;        /* of which what follows is true */
    atomic_long delay_ms;    /* of what the server says */
    atomic_long delay_up_ms; /* of what the client says */
    atomic_int split; /* it passes at most so many bytes at a time, both ways; 0: any number */
    atomic_long
        cut_after;     /* bytes that the server may yet say, then the connection ends; -1: all */
    atomic_bool reset; /* it ends by RST */
    atomic_bool swallow_down; /* what the server says is read and lost */
    atomic_bool swallow_up;   /* what the client says likewise */
    atomic_bool stall;        /* nothing is read */
    atomic_bool half_close;   /* the server's side of each connection says that it is done */
    atomic_bool refuse;       /* new connections are closed at once */
    atomic_int accepted, cuts,
        cut_all;            /* connections; ended in the middle; times that all were ended */
    atomic_long bytes_down; /* passed on, of connections of these kinds */
    struct proxy_link *link[PROXY_LINKS];
};

void proxy_start(struct proxy *proxy, int server_port);
void proxy_stop(struct proxy *proxy);
/* Everything passes again. */
void proxy_clear(struct proxy *proxy);
/* Ends all connections now. */
void proxy_cut_all(struct proxy *proxy);
/* What was set is looked at now. */
void proxy_apply(struct proxy *proxy);
const char *proxy_uri(const struct proxy *proxy, char *to, size_t room);

#endif
