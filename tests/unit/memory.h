/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations that fail when a test says so. Two ways to get between, and the program says by which it is
 * linked (CMakeLists.txt):
 *   wrapped     only the calls of our own objects (ld --wrap); the address sanitizer counts what is lost
 *   interposed  those of the libraries, too; what is lost is counted here. Not under sanitizers
 */
#ifndef HFT_MEMORY_H
#define HFT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* From now on, the nth allocation fails, and with `on` all after it; 0: none does, they are counted. */
void memory_watch(size_t nth, bool on);
/* Each allocation fails with this chance in a thousand. */
void memory_watch_random(unsigned in_a_thousand);
/* Off and on again, for what a test allocates itself in between. */
void memory_arm(bool on);
/* No longer. How many allocations there were since memory_watch(). */
size_t memory_rest(void);
/* Did one fail since memory_watch()? */
bool memory_failed(void);
/* Blocks that are allocated now, where that is counted; else 0. */
size_t memory_blocks(void);

#endif
