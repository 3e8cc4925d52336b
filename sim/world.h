/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world of one run: true time, the queue of what happens, the hash and the trace of it, and the first
 * invariant that did not hold. What lives in it: servers, paths, hosts, processes, locks, faults.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdio.h>

#include "base/random.h"
#include "timer.h"

#define SIM_TRACE_KEPT 256 /* lines before a violation that are shown with it */

struct sim_link;
struct sim_ring;

struct sim_world {
    hfi_time now; /* true time */
    struct sim_queue queue;
    struct hfi_random random;
    uint64_t hash;
    uint64_t steps;         /* timers that ran */
    hfi_time since;         /* when the last of them ran, */
    uint64_t steps_at_once; /* and how many at that time */
    FILE *trace;            /* NULL: none is wanted */
    bool failed;
    const char *invariant; /* the first that did not hold */
    char failure[512];
    struct sim_link *links;
    uint64_t link_count;
};

/* Streams of random numbers that do not disturb each other: one for each node, path, thread. */
void sim_random_init(struct hfi_random *random, uint64_t seed, uint64_t kind, uint64_t index);
static inline uint64_t sim_below(struct hfi_random *random, uint64_t limit)
{
    return hfi_random_below(random, limit);
}
/* low … high, both included */
uint64_t sim_between(struct hfi_random *random, uint64_t low, uint64_t high);
bool sim_chance(struct hfi_random *random, uint32_t in_thousand);

/* Something that happened becomes part of the run's hash. */
static inline void sim_mix(struct sim_world *world, uint64_t what)
{
    uint64_t h = (world->hash ^ what) * UINT64_C(0x9e3779b97f4a7c15);

    world->hash = h ^ (h >> 29);
}
void sim_mix_bytes(struct sim_world *world, const char *bytes, size_t count);

/* A line of the trace, if one is wanted. */
#define sim_say(world, ...)                                                                        \
    do {                                                                                           \
        if ((world)->trace)                                                                        \
            sim_say_now((world), __VA_ARGS__);                                                     \
    } while (0)
__attribute__((format(printf, 2, 3))) void sim_say_now(struct sim_world *world, const char *format,
                                                       ...);
/* An invariant does not hold. The first one counts and ends the run. */
__attribute__((format(printf, 3, 4))) void
sim_violated(struct sim_world *world, const char *invariant, const char *format, ...);

static inline void sim_at(struct sim_world *world, struct sim_timer *timer, hfi_time at)
{
    sim_timer_set(&world->queue, timer, hfi_time_max(at, world->now));
}

static inline void sim_after(struct sim_world *world, struct sim_timer *timer, hfi_time delay)
{
    sim_timer_set(&world->queue, timer, hfi_time_add(world->now, delay));
}

static inline void sim_never(struct sim_world *world, struct sim_timer *timer)
{
    sim_timer_clear(&world->queue, timer);
}

/* Runs what is due, up to `until`; false: the run has failed. */
bool sim_run_until(struct sim_world *world, hfi_time until);

#endif
