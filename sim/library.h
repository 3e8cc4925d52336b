/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store like the embedded one, at the level of operations: one file of one host, requests that block, tickets
 * in order, owners that are known to be dead at once, wake-ups that can be lost. Each request is done, not done,
 * or unknown, and faults choose which.
 */
#ifndef SIM_LIBRARY_H
#define SIM_LIBRARY_H

#include "store/store.h"

struct sim;
struct sim_lock;
struct sim_process;

int sim_library_open(struct sim_process *process, const struct hfi_store_config *config,
                     struct hfi_store **ret_store);
/* How long a request of this process waits for the file. */
hfi_time sim_library_delay(struct sim_process *process);
bool sim_library_holder(struct sim *sim, const struct sim_lock *lock,
                        struct sim_process **ret_process, uint64_t *ret_owner, hfi_time *ret_until);
void sim_library_init(struct sim *sim);
void sim_library_fini(struct sim *sim);
/* For so long some requests fail, and of some it is not known. */
void sim_library_trouble(struct sim *sim, hfi_time until);
/* Has it a place in the queue? False when it may not know of one: after trouble, or out of memory. */
bool sim_library_waits(const struct sim_process *process, const struct sim_lock *lock);
/* The process is dead: whatever it had is free. */
void sim_library_died(struct sim_process *process);
/* Anything left? For people: in text. */
bool sim_library_is_empty(struct sim *sim, char *text, size_t room);

#endif
