/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well this machine runs what wants to run. A thread that naps for a moment, again and again, sees when it
 * is not run for longer: those are lines of the history (STALL), and excuse what is late meanwhile. It also
 * sees when somebody sets the wall clock, by which servers count ttls: then a run proves nothing.
 */
#ifndef TEST_CHAOS_NOISE_H
#define TEST_CHAOS_NOISE_H

#include <pthread.h>

#include "history/record.h"

struct noise {
    struct hist_log *log;
    pthread_t thread;
    atomic_bool stop;
    size_t stalls;
    uint64_t stalled_ns, longest_ns;
    int64_t clock_step_ms; /* the largest */
};

void noise_start(struct noise *noise, struct hist_log *log);
void noise_stop(struct noise *noise);

#endif
