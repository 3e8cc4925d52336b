/* SPDX-License-Identifier: Apache-2.0 */
/* What a fault is. To add one: a line in fault.c, and FAULT_COUNT in storm.h. */
#ifndef TEST_CHAOS_FAULT_H
#define TEST_CHAOS_FAULT_H

#include "chaos/storm.h"

enum where { ON_PROCESS, ON_NETWORK, ON_SERVER };

struct fault {
    const char *name;
    enum where where;
    unsigned weight;       /* how often, compared with the others */
    int least_ms, most_ms; /* it lasts; 0: it is done at once */
    void (*begin)(struct storm *storm, int slot);
    void (*end)(struct storm *storm, int slot); /* NULL: nothing is to be ended */
    bool loses_data;
};

#define FAULT_KILL 0 /* the first one */

extern const struct fault FAULTS[];

static inline uint32_t storm_pick(struct storm *storm, uint32_t below)
{
    return random_next(&storm->random) % below;
}

#endif
