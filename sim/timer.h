/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop's queue: what happens when. The smallest (time, order) comes first; order is the order in which
 * timers were set, so a run depends on nothing but its seed.
 */
#ifndef SIM_TIMER_H
#define SIM_TIMER_H

#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>

struct sim_timer {
    hfi_time at;
    uint64_t order;
    size_t place; /* in the heap, counted from 1; 0: not set */
    void (*run)(void *arg);
    void *arg;
};

struct sim_queue {
    struct sim_timer **heap;
    size_t count, room;
    uint64_t order;
};

static inline void sim_timer_init(struct sim_timer *timer, void (*run)(void *arg), void *arg)
{
    *timer = (struct sim_timer){ .run = run, .arg = arg };
}

static inline bool sim_timer_is_set(const struct sim_timer *timer)
{
    return timer->place != 0;
}

/* Sets, or moves; HF_TIME_NEVER takes it out. */
void sim_timer_set(struct sim_queue *queue, struct sim_timer *timer, hfi_time at);
void sim_timer_clear(struct sim_queue *queue, struct sim_timer *timer);
/* Takes the first out; NULL: the queue is empty. */
struct sim_timer *sim_queue_pop(struct sim_queue *queue);
/* Takes all out. */
void sim_queue_clear(struct sim_queue *queue);
void sim_queue_free(struct sim_queue *queue);

#endif
