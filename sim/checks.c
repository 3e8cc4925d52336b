/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks keep of each process, and what is looked at after each of its steps. */
#include "checks.h"

#include <stdlib.h>
#include <string.h>

#include "coverage.h"

/* What a client may take: two buffers of 256 KiB, so much for each thread and lock, and for owner ids of tries that
 * were not answered: a lock has one in each op_timeout, until its lease is over, and that is known. */
#define MEMORY_FIXED  (640 * 1024)
#define MEMORY_THREAD (4 * 1024)
#define MEMORY_LOCK   (4 * 1024)
#define MEMORY_OWNER  640
/* The names and answers of one who lists, of up to 64 clients. */
#define MEMORY_PEOPLE ((size_t)128 * 1024)

static struct sim_world *world_of(const struct sim_process *process)
{
    return &process->sim->world;
}

void sim_check_init(struct sim_process *process)
{
    process->owners = sim_alloc(sizeof *process->owners);
    process->gauges = sim_alloc(process->sim->plan.locks * sizeof *process->gauges);
}

void sim_check_fini(struct sim_process *process)
{
    free(process->owners->at);
    free(process->owners);
    free(process->gauges);
}

void sim_check_started(struct sim_process *process)
{
    struct sim_owners *owners = process->owners;

    if (owners->room)
        memset(owners->at, 0, 2 * owners->room * sizeof *owners->at);
    owners->highest = 0;
    memset(process->pending, 0, sizeof process->pending);
    memset(process->gauges, 0, process->sim->plan.locks * sizeof *process->gauges);
}

void sim_check_closing(struct sim_process *process)
{
    sim_check_drop_claims(process); /* what is held is given back from here on */
}

static bool has_any(struct sim_process *process, const struct sim_lock *lock)
{
    hfi_time until;

    for (uint64_t number = 1; number <= process->owners->highest; number++)
        for (int k = 0; k < 2; k++) {
            const struct sim_owner *owner = &process->owners->at[2 * number + (unsigned)k];

            if (owner->granted_there && owner->lock == lock->index &&
                owner->kind < HFI_KIND_SEMAPHORE &&
                sim_store_has(process->sim, lock, process, number, (enum hfi_kind)owner->kind,
                              &until))
                return true;
        }
    return false;
}

/* Without a fault hf_close() has time to give everything back, and to say farewell. */
static void check_calm_close(struct sim_process *process)
{
    struct sim *sim = process->sim;
    struct sim_server *server = sim_service_server(sim, process->service);
    char key[64];

    for (unsigned i = process->service; i < sim->plan.locks; i += sim->plan.services) {
        if (has_any(process, &sim->lock[i]))
            sim_violated(&sim->world, "left", "p%u is closed and still has %s", process->index,
                         sim->lock[i].name);
    }
    snprintf(key, sizeof key, "holdfast:client:%s", process->identity.id);
    if (!sim->plan.library && sim_redis_find(&server->redis, sim->plan.db, key, strlen(key)))
        sim_violated(&sim->world, "left", "p%u is closed and still announced", process->index);
}

void sim_check_ended(struct sim_process *process, bool crashed)
{
    if (!crashed && process->sim->plan.profile == SIM_CALM)
        check_calm_close(process);
    sim_check_drop_claims(process);
    if (crashed || !process->checking)
        sim_say(world_of(process), "p%u has ended", process->index);
}

static size_t memory_most(const struct sim_plan *plan)
{
    hfi_time ttl = plan->ttl_ms * HFI_MSEC;
    hfi_time owners =
        (ttl + plan->op_timeout_ns) / hfi_time_min(plan->op_timeout_ns, ttl / HFI_OP_TTL_DIVISOR) +
        1;

    return MEMORY_FIXED + (plan->people ? MEMORY_PEOPLE : 0) + plan->threads * MEMORY_THREAD +
           plan->locks * (plan->kinds ? plan->threads + 4 : 1) *
               (MEMORY_LOCK + (size_t)owners * MEMORY_OWNER);
}

void sim_check_step(struct sim_process *process)
{
    const struct sim_plan *plan = &process->sim->plan;

    if (!process->checking)
        return;
    sim_check_claims(process);
    if (plan->library && process->life == SIM_LIFE_RUNNING)
        sim_check_queued(process);
    if (process->engine.broken)
        sim_violated(world_of(process), "sound",
                     "p%u: the engine found an invariant of its own broken", process->index);
    if (process->memory.live > memory_most(plan))
        sim_violated(world_of(process), "memory",
                     "p%u takes %zu bytes of at most %zu in %zu blocks, for %zu holds and %u gates",
                     process->index, process->memory.live, memory_most(plan),
                     process->memory.blocks, process->engine.hold_count,
                     HASH_COUNT(process->engine.gates));
}

void sim_check_trace(void *arg, enum hf_trace_level level, const char *text)
{
    struct sim_process *process = arg;
    struct sim_memory *before = sim_memory_switch(NULL);
    struct sim_move move;

    if (process->checking) {
        sim_say(world_of(process), "p%u: %s", process->index, text);
        if (level == HF_TRACE_DEBUG && sim_cover_move(text, &move))
            sim_check_moved(process, &move);
        else
            sim_mix_bytes(world_of(process), text, strlen(text));
    }
    sim_memory_switch(before);
}
