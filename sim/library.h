/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store like the embedded one, at the level of operations: one file of one host, requests that block, tickets
 * in order, owners that are known to be dead at once, wake-ups that can be lost. Each request is done, not done,
 * or unknown, and faults choose which.
 */
#ifndef SIM_LIBRARY_H
#define SIM_LIBRARY_H

#include "core/engine.h"
#include "store/store.h"

struct sim;
struct sim_lock;
struct sim_process;

int sim_library_open(struct sim_process *process, const struct hfi_store_config *config,
                     struct hfi_store **ret_store);
/* How long a request of this process waits for the file. */
hfi_time sim_library_delay(struct sim_process *process);
bool sim_library_has(struct sim *sim, const struct sim_lock *lock, struct sim_process *process,
                     uint64_t number, enum hfi_kind kind, hfi_time *ret_until);
/* So many more permits, by hand; or a latch is opened. */
void sim_library_count(struct sim_lock *lock, int64_t count);
void sim_library_init(struct sim *sim);
void sim_library_fini(struct sim *sim);
/* For so long some requests fail, and of some it is not known. */
void sim_library_trouble(struct sim *sim, hfi_time until);
/* Has this gate a place in the queue? */
bool sim_library_waits(const struct sim_process *process, const struct sim_lock *lock,
                       const struct hfi_gate *gate);
/* Has it one that nobody wants? False when it may not know of it: after trouble, or out of memory. */
bool sim_library_stands(const struct sim_process *process, const struct sim_lock *lock,
                        bool (*is_wanted)(const struct sim_process *process,
                                          const struct sim_lock *lock, uint8_t kind));
/* The process is dead: whatever it had is free. */
void sim_library_died(struct sim_process *process);
/* Anything left? For people: in text. */
bool sim_library_is_empty(struct sim *sim, char *text, size_t room);

#endif
