/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well this machine runs what wants to run. A thread that naps for a moment, again and again, sees when it
 * is not run for longer, and a second one writes to the disk and sees when that takes long: those are lines of
 * the history (STALL), and excuse what is late meanwhile. The first one also sees when somebody sets the wall
 * clock, by which servers count ttls: then a run proves nothing.
 *
 * Where nobody does anything to a server, a third one asks it again and again. When it has not answered for so long
 * that requests are given up, that is a FAULT like any other, also if nobody meant it: what was given up may have
 * been done, and hold a lock for nobody.
 */
#ifndef TEST_CHAOS_NOISE_H
#define TEST_CHAOS_NOISE_H

#include <pthread.h>

#include "history/record.h"

struct noise {
    struct hist_log *log;
    pthread_t thread, disk_thread, server_thread;
    int server_port; /* 0: no server is asked */
    int disk;        /* a file without a name; -1: none is looked at */
    bool syncs;      /* what is written there is waited for */
    atomic_bool stop;
    atomic_size_t stalls;
    atomic_ullong stalled_ns, longest_ns;
    atomic_size_t silences; /* of the server, for so long */
    int64_t clock_step_ms;  /* the largest */
};

/* The disk that this folder is on, and the server on this port of our own (0: none). */
void noise_start(struct noise *noise, struct hist_log *log, const char *folder, bool syncs,
                 int server_port);
void noise_stop(struct noise *noise);

#endif
