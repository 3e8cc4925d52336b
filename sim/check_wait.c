/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting.
 *
 *   bounded   an acquire comes back when its time is over, one that tries once when it was answered or could not be
 *   sleeping  a process that waits, with nothing asked at the store, looks again within the poll cap
 *   woken     calm runs: a lock that is free does not stay so while somebody waits
 *   heard     calm runs: whoever begins to listen looks once more, since something may have come before
 *   queued    nobody stands in the store's queue who does not wait; calm runs: whoever sleeps stands there
 *   truthful  BUSY: somebody had it meanwhile; calm runs: nothing else but what was asked for
 */
#include "checks.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "library.h"
#include "store/redis/names.h"

#define SWEEP_NS (50 * HFI_MSEC)
#define CALM_NS  (120 * HFI_MSEC) /* a lock that is free is taken within, */
#define HEARD_NS (40 * HFI_MSEC)  /* and looked at after a change of who listens */

static struct sim_world *world_of(const struct sim_process *process)
{
    return &process->sim->world;
}

static bool is_calm(const struct sim *sim)
{
    return sim->plan.profile == SIM_CALM;
}

/* ------------------------------------------------------------------------------------------------
 * Locks, as the store has them
 */

/* Who has it, has it until then (true time) if nothing else comes; 0: nobody has it. */
void sim_check_lock_changed(struct sim_lock *lock, hfi_time until)
{
    hfi_time now = lock->sim->world.now;

    if (lock->held_until > now)
        lock->busy_until = now; /* so far */
    else
        lock->busy_until = hfi_time_max(lock->busy_until, lock->held_until);
    if (until <= now && lock->held_until > now)
        lock->free_since = now;
    else if (until <= now && lock->held_until <= now)
        lock->free_since = hfi_time_max(lock->free_since, lock->held_until);
    lock->held_until = until;
}

/* Did anybody have it while this call was waiting? After its last pass a process lets others go first for a
 * moment, and says BUSY to those whose time ends in it; how long ago it gave the lock back it cannot know. */
static bool was_busy(const struct sim_ask *ask)
{
    const struct sim *sim = ask->process->sim;
    const struct sim_lock *lock = &sim->lock[ask->lock];
    hfi_time before = 3 * HFI_MSEC + 4 * (sim->plan.base_ns + sim->plan.jitter_ns) +
                      (ask->before.kind == HFI_KIND_SPIN ? HFI_SPIN_MAX_NS : 0);

    if (ask->before.kind == HFI_KIND_FAIR || ask->before.kind == HFI_KIND_READ ||
        lock->theme == SIM_PERMITS || lock->theme == SIM_SEMAPHORE)
        return true; /* others may come first; or there was something, and not enough */
    if (sim->outside || sim->plan.drift_ppm > SIM_DRIFT_INSIDE ||
        (!ask->before.once && !is_calm(sim)))
        return true; /* what the store has lost, processes may still believe in */
    if (!ask->before.once && lock->busy_until + before >= ask->begun)
        return true;
    return lock->held_until >= ask->begun || lock->busy_until >= ask->begun;
}

/* ------------------------------------------------------------------------------------------------
 * Calls that come back
 */

static void check_bounded(const struct sim_ask *ask)
{
    const struct sim_process *process = ask->process;
    const struct sim_plan *plan = &process->sim->plan;
    hfi_time took = sim_process_now(process) - ask->begun_local;
    hfi_time slack = 4 * HFI_MSEC + took / 8 + process->stopped_ns - ask->stopped_before;
    hfi_time most = ask->before.wait_ns;

    if (ask->before.once)
        most = 3 * plan->op_timeout_ns + 2 * plan->connect_timeout_ns;
    if (plan->library || ask->kind != SIM_ASK_ACQUIRE || took <= hfi_time_add(most, slack))
        return;
    sim_violated(world_of(process), "bounded",
                 "p%u waited %.3f ms for %s instead of %.3f ms, with an excuse of %.3f ms",
                 process->index, (double)took / 1e6, process->sim->lock[ask->lock].name,
                 (double)most / 1e6, (double)slack / 1e6);
}

/* Whoever gives a time waits for so long. */
static void check_early(const struct sim_ask *ask)
{
    const struct sim_process *process = ask->process;
    bool gave_up = ask->result == HF_ERR_BUSY || ask->result == HF_ERR_UNSURE ||
                   ask->result == HF_ERR_UNREACHABLE;

    if (ask->result == HF_ERR_UNSURE && ask->before.kind == HFI_KIND_READ)
        return; /* what became of its write hold's owner id is not known */
    if (!ask->before.once && gave_up && sim_process_now(process) < ask->until_local)
        sim_violated(world_of(process), "bounded", "p%u gives %s up %.3f ms too soon",
                     process->index, process->sim->lock[ask->lock].name,
                     (double)(ask->until_local - sim_process_now(process)) / 1e6);
}

/* A lease that is over is no success. */
static void check_fresh(const struct sim_ask *ask)
{
    if (ask->result == HF_OK && ask->waited && ask->handle &&
        !sim_claim_is_valid(ask->handle->claim))
        sim_violated(world_of(ask->process), "unknown", "p%u is given %s, which is over",
                     ask->process->index, ask->process->sim->lock[ask->lock].name);
}

/* The owner is in its own way; or a latch was deleted (check_count.c). */
static bool is_of_kinds(const struct sim_ask *ask)
{
    return ask->result == HF_ERR_UPGRADE ||
           (ask->result == HF_ERR_REENTRY && ask->before.no_reentry) ||
           (ask->result == HF_ERR_NOT_FOUND && ask->before.kind == HFI_KIND_LATCH) ||
           (ask->result == HF_ERR_UNSURE && ask->before.kind == HFI_KIND_READ);
}

static void check_truth(const struct sim_ask *ask)
{
    const struct sim_process *process = ask->process;
    const struct sim_lock *lock = &process->sim->lock[ask->lock];
    bool closing = process->life != SIM_LIFE_RUNNING;

    if (ask->result == HF_ERR_BUSY && !was_busy(ask))
        sim_violated(world_of(process), "truthful",
                     "p%u is told after %.3f ms that %s is busy, and nobody had it since %.3f ms",
                     process->index, (double)(process->sim->world.now - ask->begun) / 1e6,
                     lock->name, (double)(process->sim->world.now - lock->busy_until) / 1e6);
    if ((ask->result == HF_ERR_UNSURE || ask->result == HF_ERR_UNREACHABLE) && !ask->before.once &&
        sim_process_now(process) >= ask->until_local)
        return; /* there was no time for an answer */
    if (!is_calm(process->sim) || ask->result == HF_OK || ask->result == HF_ERR_BUSY ||
        (ask->result == HF_ERR_CANCELLED && ask->was_cancelled) ||
        ((ask->result == HF_ERR_CLOSED || ask->result == HF_ERR_UNSURE) && closing))
        return;
    if (process->sim->plan.kinds && is_of_kinds(ask))
        return;
    sim_violated(world_of(process), "truthful", "p%u: acquiring %s fails without a fault: %s",
                 process->index, lock->name, hf_strerror(ask->result));
}

/* Of an object: it was done, and so it is. */
static bool is_answer(int result)
{
    return result == HF_ERR_EXISTS || result == HF_ERR_NOT_FOUND;
}

static void check_result(const struct sim_ask *ask)
{
    if (is_calm(ask->process->sim) && ask->process->life == SIM_LIFE_RUNNING &&
        ask->result != HF_OK && ask->result != HF_ERR_LOST &&
        (ask->kind != SIM_ASK_OBJECT || !is_answer(ask->result)))
        sim_violated(world_of(ask->process), "truthful", "p%u: a call fails without a fault: %s",
                     ask->process->index, hf_strerror(ask->result));
}

static void count(struct sim_counts *count, const struct sim_ask *ask)
{
    count->ops++;
    if (ask->kind == SIM_ASK_VERIFY)
        count->verified++;
    if (ask->kind != SIM_ASK_ACQUIRE)
        return;
    count->acquired += ask->result == HF_OK;
    count->busy += ask->result == HF_ERR_BUSY;
    count->unsure += ask->result == HF_ERR_UNSURE;
    count->cancelled += ask->result == HF_ERR_CANCELLED;
    count->failed += ask->result != HF_OK && ask->result != HF_ERR_BUSY &&
                     ask->result != HF_ERR_UNSURE && ask->result != HF_ERR_CANCELLED;
}

void sim_check_returned(struct sim_ask *ask)
{
    sim_mix(world_of(ask->process), (uint64_t)(uint32_t)ask->result ^ (uint64_t)ask->kind << 32);
    sim_say(world_of(ask->process), "p%u call %d (kind %u, owner %u:%llu) returns: %s",
            ask->process->index, ask->kind, ask->before.kind, ask->before.owner_kind,
            (unsigned long long)ask->before.owner, ask->result ? hf_strerror(ask->result) : "fine");
    count(&ask->process->sim->count, ask);
    if (ask->kind == SIM_ASK_ACQUIRE) {
        check_bounded(ask);
        check_early(ask);
        check_fresh(ask);
        check_truth(ask);
        if (ask->before.kind == HFI_KIND_LATCH)
            sim_check_awaited(ask);
    } else if (ask->kind != SIM_ASK_QUERY) {
        check_result(ask);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Sleeping
 */

static struct sim_gauge *gauge_of(struct sim_process *process, const struct hfi_request *request)
{
    const struct hfi_lease *lease = (const struct hfi_lease *)request;
    const struct hfi_watch *watch = (const struct hfi_watch *)request;
    const struct sim_lock *lock = NULL;

    if (request->op == HFI_OP_TRY || request->op == HFI_OP_RELEASE)
        lock = sim_lock_find(process->sim, process->service, lease->name, lease->name_len);
    else if (request->op == HFI_OP_WATCH || request->op == HFI_OP_UNWATCH ||
             request->op == HFI_OP_LEAVE)
        lock = sim_lock_find(process->sim, process->service, watch->name, watch->name_len);
    return lock ? &process->gauges[lock->index] : NULL;
}

void sim_check_asked(struct sim_process *process, hfi_time now, struct hfi_request *request, int by)
{
    struct sim_gauge *gauge = gauge_of(process, request);

    if (!gauge)
        return;
    gauge->pending += (unsigned)by;
    if (by > 0 && request->op == HFI_OP_TRY)
        gauge->tried_ns = now;
    gauge->active_ns = now;
    gauge->stopped_ns = sim_process_excuse_at(process, now);
}

const struct hfi_gate *sim_next_gate(const struct sim_process *process, const struct sim_lock *lock,
                                     const struct hfi_gate *gate)
{
    for (gate = gate ? gate->hh.next : process->engine.gates; gate; gate = gate->hh.next)
        if (gate->name_len == lock->len && memcmp(gate->name, lock->name, lock->len) == 0)
            return gate;
    return NULL;
}

static const struct hfi_gate *find_gate(const struct sim_process *process,
                                        const struct sim_lock *lock)
{
    const struct hfi_gate *gate;

    HASH_FIND(hh, process->engine.gates, lock->name, lock->len, gate);
    return gate;
}

static bool is_channel_of(const struct sim_arg *channel, const struct sim_lock *lock)
{
    for (int kind = 0; kind < HFI_TOPIC_TURN; kind++) {
        char name[HFI_CHANNEL_MAX];
        size_t len = hfi_channel_name(name, lock->name, lock->len, (enum hfi_topic)kind);

        if (len == channel->len && memcmp(name, channel->at, len) == 0)
            return true;
    }
    return false;
}

void sim_check_subscribed(struct sim_server *server, struct sim_conn *conn,
                          const struct sim_arg *channel)
{
    const struct sim_link *link = conn->peer;
    struct sim *sim = server->sim;
    struct sim_process *process = &sim->process[link->client];

    if (process->life_number != link->client_life)
        return;
    for (unsigned i = server->service; i < sim->plan.locks; i += sim->plan.services)
        if (is_channel_of(channel, &sim->lock[i]))
            process->gauges[i].listens_ns = sim_process_now(process);
}

/* Something may have come between its last look and its listening. */
static void check_heard(struct sim_process *process, const struct sim_lock *lock)
{
    const struct sim_gauge *gauge = &process->gauges[lock->index];
    const struct hfi_gate *gate = find_gate(process, lock);
    hfi_time now = sim_process_now(process);

    if (!is_calm(process->sim) || !gate || !gate->queue || gate->hold || gauge->pending > 0 ||
        gauge->listens_ns <= gauge->tried_ns ||
        now - hfi_time_max(gauge->listens_ns, gauge->active_ns) < HEARD_NS)
        return;
    sim_violated(world_of(process), "heard",
                 "p%u listens for releases of %s since %.3f ms and has not looked again",
                 process->index, lock->name, (double)(now - gauge->listens_ns) / 1e6);
}

/* Having let others go first does not count: it tries again by itself in a moment. */
static bool is_asleep(const struct hfi_gate *gate)
{
    return gate && gate->queue && !gate->hold && gate->wait &&
           gate->wait->phase == HFI_PHASE_SLEEPING && !gate->wait->yield_until_ns;
}

static bool is_gate_wanted(const struct sim_process *process, const struct sim_lock *lock,
                           uint8_t kind)
{
    const struct hfi_gate *gate = NULL;

    while ((gate = sim_next_gate(process, lock, gate)))
        if (gate->kind == kind && gate->queue)
            return true;
    return false;
}

void sim_check_queued(struct sim_process *process)
{
    struct sim *sim = process->sim;

    for (unsigned i = 0; i < sim->plan.locks; i++) {
        const struct sim_lock *lock = &sim->lock[i];
        const struct hfi_gate *gate = NULL;

        if (process->gauges[i].pending > 0)
            continue;
        if (sim_library_stands(process, lock, is_gate_wanted))
            sim_violated(world_of(process), "queued",
                         "p%u stands in the queue for %s, and does not wait", process->index,
                         lock->name);
        while (is_calm(sim) && (gate = sim_next_gate(process, lock, gate)))
            if (is_asleep(gate) && gate->kind != HFI_KIND_SPIN && gate->kind != HFI_KIND_LATCH &&
                !process->memory.refused && !sim_library_waits(process, lock, gate))
                sim_violated(world_of(process), "queued",
                             "p%u sleeps, and does not stand in the queue for %s", process->index,
                             lock->name);
    }
}

static void check_sleep(struct sim_process *process, const struct sim_lock *lock)
{
    struct sim_gauge *gauge = &process->gauges[lock->index];
    const struct hfi_gate *gate = find_gate(process, lock);
    hfi_time now = sim_process_now(process);
    hfi_time slack =
        4 * HFI_MSEC + (now - gauge->active_ns) / 8 + process->stopped_ns - gauge->stopped_ns;

    if (!gate || !gate->queue || gate->hold || gauge->pending > 0) {
        gauge->active_ns = now;
        gauge->stopped_ns = sim_process_excuse(process);
    } else if (now - gauge->active_ns > process->sim->plan.poll_ns + slack) {
        sim_violated(world_of(process), "sleeping",
                     "p%u waits for %s and has not looked for %.3f ms", process->index, lock->name,
                     (double)(now - gauge->active_ns) / 1e6);
    }
}

/* The gates of other kinds: something will come in time that leads to a try. */
static void check_gates(struct sim_process *process, const struct sim_lock *lock)
{
    hfi_time latest = process->engine.now + process->sim->plan.poll_ns;
    const struct hfi_gate *gate = NULL;

    while ((gate = sim_next_gate(process, lock, gate))) {
        const struct hfi_wait *wait = gate->wait;

        if (!gate->queue || gate->hold || gate->kind == HFI_KIND_MUTEX)
            continue;
        if (gate->kind == HFI_KIND_SPIN || gate->kind == HFI_KIND_LATCH) /* of their own accord */
            latest += hfi_time_max(HFI_SPIN_MAX_NS, HFI_LATCH_DOUBT_NS);
        if (!wait || wait->phase == HFI_PHASE_IDLE || wait->phase == HFI_PHASE_LINGERING ||
            (wait->phase != HFI_PHASE_YIELDING && wait->timer.expires_ns > latest))
            sim_violated(world_of(process), "sleeping",
                         "p%u waits for %s (kind %u), and will not look in time", process->index,
                         lock->name, gate->kind);
    }
}

void sim_check_waits(struct sim_process *process)
{
    const struct sim_plan *plan = &process->sim->plan;

    for (unsigned i = process->service; i < plan->locks; i += plan->services) {
        check_sleep(process, &process->sim->lock[i]);
        check_heard(process, &process->sim->lock[i]);
        if (plan->kinds)
            check_gates(process, &process->sim->lock[i]);
    }
}

/* ------------------------------------------------------------------------------------------------
 * From time to time
 */

/* Is there something for its first waiter? */
static bool is_missed(struct sim *sim, const struct sim_process *process,
                      const struct sim_lock *lock, const struct hfi_gate *gate)
{
    struct sim_server *server = sim_service_server(sim, lock->service);
    hfi_time late = lock->theme == SIM_LATCH ? 3 * CALM_NS : CALM_NS;
    const struct sim_key *key;

    if (!gate->queue || gate->kind == HFI_KIND_SPIN ||
        sim_process_now(process) - gate->queue->queued_ns <= late)
        return false;
    if (lock->theme != SIM_PERMITS && lock->theme != SIM_SEMAPHORE)
        return true;
    if (sim->plan.library)
        return false;
    key = sim_redis_find(&server->redis, sim->plan.db, lock->name, lock->len);
    return key && strtoll(key->value, NULL, 10) >= (long long)gate->permits;
}

static bool is_wanted(struct sim *sim, const struct sim_lock *lock)
{
    for (unsigned i = lock->service; i < sim->plan.processes; i += sim->plan.services) {
        const struct sim_process *process = &sim->process[i];
        const struct hfi_gate *gate = NULL;

        while (process->life == SIM_LIFE_RUNNING && (gate = sim_next_gate(process, lock, gate)))
            if (is_missed(sim, process, lock, gate))
                return true;
    }
    return false;
}

static void check_woken(struct sim *sim, const struct sim_lock *lock)
{
    hfi_time since = hfi_time_max(lock->free_since, lock->held_until);
    uint32_t fair = HFI_KIND_BIT(HFI_KIND_FAIR);

    if ((lock->kinds & fair) && lock->kinds != fair)
        return; /* whose turn it is, is told to nobody else */
    if (lock->theme == SIM_PERMITS || lock->theme == SIM_SEMAPHORE)
        since = lock->counted;
    else if (lock->held_until > sim->world.now)
        return;
    if (sim->world.now - since < (lock->theme == SIM_LATCH ? 3 * CALM_NS : CALM_NS) ||
        !is_wanted(sim, lock))
        return;
    sim_violated(&sim->world, "woken", "%s has been free for %.3f ms, and somebody waits for it",
                 lock->name, (double)(sim->world.now - since) / 1e6);
}

static void sweep(void *arg)
{
    struct sim *sim = arg;

    for (unsigned i = 0; i < sim->plan.processes; i++) {
        struct sim_process *process = &sim->process[i];

        if (process->life == SIM_LIFE_RUNNING && !sim_process_is_stopped(process))
            sim_check_waits(process);
    }
    for (unsigned i = 0; i < sim->plan.locks && is_calm(sim); i++)
        check_woken(sim, &sim->lock[i]);
    sim_after(&sim->world, &sim->checks->sweep, SWEEP_NS);
}

void sim_check_sweep_start(struct sim *sim)
{
    sim_timer_init(&sim->checks->sweep, sweep, sim);
    sim_after(&sim->world, &sim->checks->sweep, SWEEP_NS);
}
