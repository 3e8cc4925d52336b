/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resources outside. A thread looks whether it still holds the lock and sends a write, which takes its time:
 * nothing that a lock can do keeps a late write from a resource that does not look at tokens (they are
 * counted). One that does never takes an older token's write after a newer one's.
 */
#include <stdlib.h>

#include <utlist.h>

#include "checks.h"
#include "workload.h"

struct sim_write {
    struct sim_write *prev, *next; /* all that are on their way */
    struct sim_timer timer;
    struct sim *sim;
    struct sim_lock *lock;
    uint64_t token, claim;
};

static void arrive_fenced(struct sim_write *write)
{
    struct sim_lock *lock = write->lock;

    write->sim->count.writes++;
    if (write->token < lock->fenced_token) {
        write->sim->count.refused_writes++;
        return;
    }
    sim_check_write(write->sim, lock, write->token, write->claim);
    lock->fenced_token = write->token;
    lock->fenced_claim = write->claim;
}

/* It takes everything: were there writes of two claims in turns? */
static void arrive_unfenced(struct sim_write *write)
{
    struct sim_lock *lock = write->lock;

    if (write->claim < lock->unfenced_claim)
        write->sim->count.mixed_writes++;
    else
        lock->unfenced_claim = write->claim;
}

static void arrive(void *arg)
{
    struct sim_write *write = arg;

    arrive_fenced(write);
    arrive_unfenced(write);
    DL_DELETE(write->sim->threads->writes, write);
    free(write);
}

void sim_writes_drop(struct sim *sim)
{
    struct sim_write *write, *next;

    DL_FOREACH_SAFE (sim->threads->writes, write, next) {
        sim_never(&sim->world, &write->timer);
        free(write);
    }
    sim->threads->writes = NULL;
}

void sim_write(struct sim_thread *thread, const struct sim_handle *handle)
{
    struct sim *sim = thread->sim;
    hfi_time ttl = sim->plan.ttl_ms * HFI_MSEC;
    bool slow = sim->plan.profile != SIM_CALM && sim_below(&thread->random, 32) == 0;
    struct sim_write *write;
    int state = sim_handle_state(handle);

    if (state != HF_HELD && state != HF_AT_RISK)
        return;
    if (handle->handle.token == 0 || handle->handle.hold->lease.kind == HFI_KIND_FENCED)
        return; /* of several owners; or of another counter than the other kinds' tokens */
    write = sim_alloc(sizeof *write);
    write->sim = sim;
    write->lock = thread->lock;
    write->token = handle->handle.token;
    write->claim = sim_check_claim_of(handle);
    DL_APPEND(sim->threads->writes, write);
    sim_timer_init(&write->timer, arrive, write);
    sim_after(&sim->world, &write->timer,
              sim->plan.base_ns + sim_below(&thread->random, slow ? 3 * ttl : sim->plan.base_ns));
}
