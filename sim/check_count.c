/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is counted.
 *
 *   conserved  permits that are there and those that are held are all there are; of a semaphore, what the server
 *              gave, took back and was given comes to what there is; a latch counts each step once
 *   given      what a semaphore gave is its caller's, or came back; never both
 *   latch      who waited for a latch goes on after it was open, and is told of a deletion when there was one
 */
#include "checks.h"

#include <stdlib.h>
#include <string.h>

#include "store/redis/names.h"

#define REMEMBERED_NS (59 * HFI_SEC) /* what a semaphore gave can be undone for so long */

/* ------------------------------------------------------------------------------------------------
 * At the server
 */

static size_t held(struct sim_server *server, const struct sim_lock *lock)
{
    char name[HFI_KEY_MAX];
    const struct sim_key *key =
        sim_redis_find(&server->redis, server->sim->plan.db, name,
                       hfi_suffix_name(name, lock->name, lock->len, "timeout"));

    return key && key->type == SIM_REDIS_ZSET ? key->fields : 0;
}

void sim_check_counted(struct sim_server *server, const struct sim_lock *lock)
{
    const struct sim_key *key;
    int64_t there, wanted = lock->there;

    if (lock->theme == SIM_LOCKS || lock->uncounted || server->lost_data)
        return;
    key = sim_redis_find(&server->redis, server->sim->plan.db, lock->name, lock->len);
    if (key ? key->type != SIM_REDIS_STRING : lock->theme != SIM_LATCH)
        return;
    there = key ? strtoll(key->value, NULL, 10) : 0;
    if (lock->theme == SIM_PERMITS) {
        there += (int64_t)held(server, lock);
        wanted = lock->total;
    }
    if (there != wanted)
        sim_violated(&server->sim->world, "conserved", "s%u: %s comes to %lld, and should to %lld",
                     server->index, lock->name, (long long)there, (long long)wanted);
}

/* ------------------------------------------------------------------------------------------------
 * What a semaphore gave
 */

void sim_check_kept(struct sim_process *process, const struct hfi_hold *hold, bool kept)
{
    struct sim_owner *owner = sim_owner_find(process, hold->lease.owner, HFI_KIND_SEMAPHORE);

    if (!kept)
        return;
    if (!owner || (!owner->taken && !process->sim->plan.library))
        sim_violated(&process->sim->world, "given", "p%u has permits of %s, which it was not given",
                     process->index, hold->lease.name);
    else if (owner->undone || owner->released)
        sim_violated(&process->sim->world, "given", "p%u has permits of %s, and gives them back",
                     process->index, hold->lease.name);
    if (owner)
        owner->kept = true;
}

/* All is quiet: what nobody has came back, unless that was asked for too late. */
static void check_given(const struct sim_process *process)
{
    const struct sim *sim = process->sim;

    for (uint64_t number = 1; number <= process->owners->highest; number++) {
        const struct sim_owner *owner = &process->owners->at[2 * number];
        const struct sim_lock *lock = &sim->lock[owner->lock];

        if (!owner->taken || owner->undone || owner->kept || owner->excused || lock->uncounted)
            continue;
        if (sim_service_server(sim, lock->service)->lost_data || sim->plan.deny_kill ||
            owner->replayed ||
            sim->world.now - owner->granted_at < REMEMBERED_NS / 2) /* it is still in progress */
            continue;
        sim_violated((struct sim_world *)&sim->world, "given",
                     "%u permits of %s were given to p%u (owner %llu), and nobody has them",
                     owner->taken, lock->name, process->index, (unsigned long long)number);
    }
}

void sim_check_counts_end(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.processes && !sim->plan.library; i++)
        if (sim->process[i].life == SIM_LIFE_RUNNING)
            check_given(&sim->process[i]);
}

/* ------------------------------------------------------------------------------------------------
 * Latches
 */

/* Up to now it was what it was before. */
void sim_check_latch(struct sim_lock *lock, bool open)
{
    if (open || lock->held_until <= lock->sim->world.now)
        lock->opened = lock->sim->world.now;
}

void sim_check_awaited(const struct sim_ask *ask)
{
    struct sim *sim = ask->process->sim;
    const struct sim_lock *lock = &sim->lock[ask->lock];
    bool open = lock->held_until <= sim->world.now;

    if (lock->uncounted || sim_service_server(sim, lock->service)->lost_data)
        return;
    if (ask->result == HF_OK && !open && lock->opened < ask->begun)
        sim_violated(&sim->world, "latch", "p%u goes on, and %s was not open since %.3f ms",
                     ask->process->index, lock->name,
                     (double)(sim->world.now - lock->opened) / 1e6);
    if (sim->plan.profile != SIM_CALM && lock->set >= ask->begun)
        return; /* Redisson's message says the same of both, and what followed may be late */
    if (ask->result == HF_ERR_NOT_FOUND && lock->deleted < ask->begun)
        sim_violated(&sim->world, "latch", "p%u is told that %s was deleted, and it was not",
                     ask->process->index, lock->name);
}
