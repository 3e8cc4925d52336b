/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the code under test. The linker sends its malloc() and free() here (-Wl,--wrap), where they are
 * counted for the process that runs, and now and then refused. What hiredis and Lua take is their own.
 */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_memory {
    size_t live, most; /* bytes now, and the most there were */
    size_t blocks;     /* now */
    uint64_t taken;    /* times asked for */
    uint64_t refused;
    uint32_t refusing; /* so many in a thousand are refused */
    uint64_t dice;
};

/* Whose code runs now; NULL: the simulator's own. Returns whose it was. */
struct sim_memory *sim_memory_switch(struct sim_memory *to);

#endif
