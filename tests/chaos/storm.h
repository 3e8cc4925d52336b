/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done to processes, server and network, and when. At any time at most one fault lasts for each
 * worker's process, one for each worker's network, and one for the server; each is a line of the history.
 */
#ifndef TEST_CHAOS_STORM_H
#define TEST_CHAOS_STORM_H

#include "chaos/crew.h"

#define FAULT_COUNT 18 /* kinds of them: fault.c */

struct storm_fault {
    int kind; /* -1: none */
    int64_t until_ms;
    uint64_t since_ns;
};

struct storm {
    struct crew *crew;
    struct server *server; /* NULL: the embedded store */
    bool forgets;
    uint32_t random;
    int64_t next_ms;
    struct storm_fault process[CHAOS_SLOTS], network[CHAOS_SLOTS], at_server;
    size_t count[FAULT_COUNT];
};

void storm_init(struct storm *storm, uint32_t seed);
/* Ends what is due, and begins something new now and then. */
void storm_step(struct storm *storm);
/* Only kills. */
void storm_step_calm(struct storm *storm);
/* Everything is well again. */
void storm_end(struct storm *storm);
size_t storm_total(const struct storm *storm);
/* Kinds that may happen here and have not. */
size_t storm_unseen(const struct storm *storm);
void storm_print(const struct storm *storm, FILE *file);

#endif
