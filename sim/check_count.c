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

#define REMEMBERED_NS (59 * HFI_SEC) /* what a semaphore gave can be undone for so long */

/* ------------------------------------------------------------------------------------------------
 * In the store
 */

void sim_check_counted(const struct sim_lock *lock, int64_t there)
{
    int64_t wanted = lock->theme == SIM_PERMITS ? lock->total : lock->there;

    if (lock->uncounted || sim_service_server(lock->sim, lock->service)->lost_data)
        return;
    if (there != wanted)
        sim_violated(&lock->sim->world, "conserved", "%s comes to %lld, and should to %lld",
                     lock->name, (long long)there, (long long)wanted);
}

static void note_change(struct sim_lock *lock, enum hfi_verb verb, int64_t number)
{
    if (verb == HFI_SEMAPHORE_RELEASE)
        lock->there += number;
    else if (verb == HFI_LATCH_SET)
        lock->there = number;
    else if (verb == HFI_LATCH_DOWN)
        lock->there -= lock->there > 0;
    else if (verb == HFI_LATCH_DELETE)
        lock->there = 0;
}

void sim_check_stepped(struct sim_lock *lock, struct sim_process *process, uint64_t serial,
                       enum hfi_verb verb, int64_t number)
{
    struct sim_owner *owner = process ? sim_owner_find(process, serial, HFI_KIND_SEMAPHORE) : NULL;

    if (owner && owner->counted)
        return;
    if (!owner && process)
        owner = sim_owner_make(process, serial);
    if (owner)
        owner->counted = true;
    note_change(lock, verb, number);
}

/* ------------------------------------------------------------------------------------------------
 * What a semaphore gave
 */

void sim_check_gave(struct sim_lock *lock, struct sim_owner *owner, uint32_t permits)
{
    lock->there -= permits;
    if (!owner)
        return;
    owner->taken = permits;
    owner->undone = false;
    owner->granted_at = lock->sim->world.now;
}

void sim_check_took_back(struct sim_lock *lock, struct sim_owner *owner)
{
    if (!owner) {
        lock->uncounted = true; /* of a process that is no more */
        return;
    }
    if (!owner->undone)
        lock->there += owner->taken;
    owner->undone = true;
    if (owner->kept)
        sim_violated(&lock->sim->world, "given",
                     "%u permits of %s are taken back, and were the caller's", owner->taken,
                     lock->name);
}

void sim_check_kept(struct sim_process *process, const struct hfi_hold *hold, bool kept)
{
    struct sim_owner *owner = sim_owner_find(process, hold->lease.owner, HFI_KIND_SEMAPHORE);

    if (!kept)
        return;
    if (!owner || !owner->taken)
        sim_violated(&process->sim->world, "given", "p%u has permits of %s, which it was not given",
                     process->index, hold->lease.name);
    else if (owner->undone || owner->released)
        sim_violated(&process->sim->world, "given", "p%u has permits of %s, and gives them back",
                     process->index, hold->lease.name);
    if (owner)
        owner->kept = true;
}

/* It was asked for, and came to nothing: the store was out of reach for longer than it remembers. */
static bool is_too_late(const struct sim_owner *owner)
{
    return owner->released &&
           (!owner->released_there || owner->released_at - owner->granted_at >= REMEMBERED_NS);
}

static bool is_in_doubt(const struct sim *sim, const struct sim_owner *owner)
{
    const struct sim_lock *lock = &sim->lock[owner->lock];

    return owner->excused || lock->uncounted || owner->replayed || is_too_late(owner) ||
           sim_service_server(sim, lock->service)->lost_data ||
           (sim->plan.deny_kill && !sim->plan.library) ||
           sim->world.now - owner->granted_at < REMEMBERED_NS / 2; /* it is still in progress */
}

/* All is quiet: what nobody has came back. */
static void check_given(const struct sim_process *process)
{
    const struct sim *sim = process->sim;

    for (uint64_t number = 1; number <= process->owners->highest; number++) {
        const struct sim_owner *owner = &process->owners->at[2 * number];

        if (!owner->taken || owner->undone || owner->kept || is_in_doubt(sim, owner))
            continue;
        sim_violated((struct sim_world *)&sim->world, "given",
                     "%u permits of %s were given to p%u (owner %llu), and nobody has them",
                     owner->taken, sim->lock[owner->lock].name, process->index,
                     (unsigned long long)number);
    }
}

void sim_check_counts_end(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.processes; i++)
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
