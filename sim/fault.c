/* SPDX-License-Identifier: Apache-2.0 */
/* Which faults, when, for how long. */
#include "fault.h"

#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "store/redis/names.h"

#define LOOKS          256 /* for what a fault seeks; then it comes all the same */
#define LOOKS_EACH_TTL 64

enum { GENTLE, INSIDE, OUTSIDE };

struct kind {
    const char *name, *text;
    int where;
};

static const struct kind KINDS[SIM_FAULT_KINDS] = {
#define SIM_FAULT(name, kind, text) { #name, text, kind },
#include "fault_kinds.inc"
#undef SIM_FAULT
};

const char *sim_fault_name(enum sim_fault_kind kind)
{
    return KINDS[kind].name;
}

bool sim_fault_is_inside(enum sim_fault_kind kind)
{
    return KINDS[kind].where != OUTSIDE;
}

/* ------------------------------------------------------------------------------------------------
 * Drawing
 */

static bool is_for_processes(enum sim_fault_kind kind)
{
    switch (kind) {
    case SIM_FAULT_STOP_PROCESS:
    case SIM_FAULT_STOP_HOST:
    case SIM_FAULT_CRASH:
    case SIM_FAULT_NO_MEMORY:
    case SIM_FAULT_LATE:
        return true;
    default:
        return false;
    }
}

/* Does it make sense in this run? */
static bool is_possible(const struct sim *sim, enum sim_fault_kind kind)
{
    if (KINDS[kind].where > (int)sim->plan.profile)
        return false;
    if (sim->plan.library)
        return kind == SIM_FAULT_DISK || is_for_processes(kind);
    return kind != SIM_FAULT_DISK && (kind != SIM_FAULT_FAIL_OVER || sim->plan.replicas > 0);
}

static hfi_time draw_duration(const struct sim *sim, struct hfi_random *random)
{
    hfi_time ttl = sim->plan.ttl_ms * HFI_MSEC;

    switch (sim_below(random, 8)) {
    case 0:
        return sim_below(random, 2 * HFI_MSEC);
    case 1:
    case 2:
        return sim_below(random, 50 * HFI_MSEC);
    case 3:
    case 4:
        return sim_below(random, ttl);
    case 5:
        return ttl - sim_below(random, ttl / 20); /* about as long as a lease */
    case 6:
        return sim_below(random, 3 * ttl);
    default:
        return sim_below(random, 10 * ttl);
    }
}

/* Most come while there is work. */
static hfi_time draw_time(const struct sim *sim, struct hfi_random *random)
{
    hfi_time window = sim_below(random, sim->plan.windows) * sim->plan.window_ns;
    hfi_time busy = sim_plan_busy(&sim->plan);

    return window + sim_below(random, sim_below(random, 4) ? busy : sim->plan.window_ns);
}

/* ------------------------------------------------------------------------------------------------
 * Seeking
 */

static enum sim_seek draw_seek(struct hfi_random *random, enum sim_fault_kind kind)
{
    static const enum sim_seek
        SEEKS
            [20] = {
                SIM_SEEK_AT_RISK, SIM_SEEK_AT_RISK,  SIM_SEEK_LOST,
                SIM_SEEK_LOST,    SIM_SEEK_SLEEPING, SIM_SEEK_TRY,
                SIM_SEEK_RENEW,   SIM_SEEK_RELEASE,  SIM_SEEK_WATCH /* the others: nothing */
            };

    if (kind == SIM_FAULT_REPLAY && sim_below(random, 2)) /* where it does most */
        return SIM_SEEK_TRY;
    if (kind == SIM_FAULT_STOP_HOST && sim_below(random, 2))
        return SIM_SEEK_RENEW;
    return SEEKS[sim_below(random, sizeof SEEKS / sizeof SEEKS[0])];
}

static void found(struct sim_fault *fault, struct sim_process *process, const struct hfi_gate *gate,
                  uint64_t owner)
{
    fault->found = process;
    fault->found_owner = owner;
    if (gate)
        fault->found_lock = sim_lock_find(fault->sim, process->service, gate->name, gate->name_len);
}

static void look_at_holds(struct sim_fault *fault, struct sim_process *process)
{
    enum hfi_hold_state wanted = fault->seek == SIM_SEEK_LOST ? HFI_HOLD_LOST : HFI_HOLD_AT_RISK;
    const struct hfi_hold *hold;

    for (hold = process->engine.holds; hold && !fault->found; hold = hold->next)
        if (hfi_hold_state_of(hold) == wanted)
            found(fault, process, hold->gate, hold->lease.owner);
}

static void look_at_gates(struct sim_fault *fault, struct sim_process *process)
{
    const struct hfi_gate *gate;

    for (gate = process->engine.gates; gate && !fault->found; gate = gate->hh.next)
        if (gate->queue && gate->wait && gate->wait->phase == HFI_PHASE_SLEEPING)
            found(fault, process, gate, 0);
}

static void look(struct sim_fault *fault)
{
    struct sim *sim = fault->sim;

    fault->looks++;
    for (unsigned i = 0; i < sim->plan.processes && !fault->found; i++) {
        if (sim->process[i].life != SIM_LIFE_RUNNING)
            continue;
        if (fault->seek == SIM_SEEK_SLEEPING)
            look_at_gates(fault, &sim->process[i]);
        else
            look_at_holds(fault, &sim->process[i]);
    }
}

static bool is_sought(enum sim_seek seek, const struct hfi_request *request)
{
    switch ((enum hfi_op)request->op) {
    case HFI_OP_TRY:
        return seek == SIM_SEEK_TRY;
    case HFI_OP_RENEW:
        return seek == SIM_SEEK_RENEW && !request->host; /* not what a program verifies */
    case HFI_OP_RELEASE:
        return seek == SIM_SEEK_RELEASE;
    case HFI_OP_WATCH:
        return seek == SIM_SEEK_WATCH;
    default:
        return false;
    }
}

/* It comes while the request is on its way, or a little later. */
static void notice(struct sim_fault *fault, struct sim_process *process,
                   const struct hfi_request *request)
{
    const struct sim_plan *plan = &fault->sim->plan;
    const struct hfi_hold *hold = (const struct hfi_hold *)request;
    hfi_time ttl = plan->ttl_ms * HFI_MSEC;

    if (request->op == HFI_OP_RENEW && sim_below(&fault->random, 2)) /* about what is left */
        fault->duration = ttl - sim_below(&fault->random, ttl / 2);
    fault->armed = false;
    fault->sim->faults->armed--;
    if (request->op == HFI_OP_TRY || request->op == HFI_OP_RELEASE)
        found(fault, process, hold->gate, hold->lease.owner);
    else
        found(fault, process, NULL, 0);
    sim_after(&fault->sim->world, &fault->timer,
              sim_below(&fault->random, 4 * (plan->base_ns + plan->jitter_ns)));
}

void sim_faults_notice(struct sim_process *process, const struct hfi_request *request)
{
    struct sim_faults *faults = process->sim->faults;

    for (unsigned i = 0; faults && faults->armed > 0 && i < faults->count; i++)
        if (faults->fault[i].armed && is_sought(faults->fault[i].seek, request))
            notice(&faults->fault[i], process, request);
}

/* True: it is not time yet. */
static bool seeks(struct sim_fault *fault)
{
    struct sim *sim = fault->sim;
    hfi_time ttl = sim->plan.ttl_ms * HFI_MSEC;

    if (fault->seek == SIM_SEEK_NOTHING || fault->found || fault->looks == LOOKS)
        return false;
    if (fault->seek >= SIM_SEEK_TRY) {
        fault->looks = LOOKS; /* when the timer comes before the request, it comes by itself */
        fault->armed = true;
        sim->faults->armed++;
        sim_after(&sim->world, &fault->timer, LOOKS / LOOKS_EACH_TTL * ttl);
        return true;
    }
    look(fault);
    if (!fault->found)
        sim_after(&sim->world, &fault->timer, ttl / LOOKS_EACH_TTL);
    return !fault->found;
}

/* ------------------------------------------------------------------------------------------------
 * Beginning and end
 */

static void run(void *arg)
{
    struct sim_fault *fault = arg;

    if (!fault->begun) {
        if (seeks(fault))
            return;
        fault->begun = true;
        fault->sim->faults->armed -= fault->armed;
        fault->armed = false;
        fault->sim->count.faults++;
        sim_mix(&fault->sim->world, fault->index);
        sim_fault_begin(fault);
        if (!fault->ended)
            sim_after(&fault->sim->world, &fault->timer, fault->duration);
    } else if (!fault->ended) {
        fault->ended = true;
        sim_fault_end(fault);
    }
}

static void draw(struct sim *sim, unsigned index)
{
    struct sim_fault *fault = &sim->faults->fault[index];

    fault->sim = sim;
    fault->index = index;
    sim_random_init(&fault->random, sim->plan.seed, 'f', index);
    do
        fault->kind = (enum sim_fault_kind)sim_below(&fault->random, SIM_FAULT_KINDS);
    while (!is_possible(sim, fault->kind));
    if (is_possible(sim, SIM_FAULT_FAIL_OVER) && sim_below(&fault->random, 12) == 0)
        fault->kind = SIM_FAULT_FAIL_OVER; /* few runs can have one */
    if (sim->options->only_fault)
        fault->kind = (enum sim_fault_kind)(sim->options->only_fault - 1);
    fault->at = draw_time(sim, &fault->random);
    fault->duration = draw_duration(sim, &fault->random);
    fault->seek = draw_seek(&fault->random, fault->kind);
    sim_timer_init(&fault->timer, run, fault);
    if (!sim_is_without(sim->options, index))
        sim_at(&sim->world, &fault->timer, fault->at);
}

void sim_faults_init(struct sim *sim)
{
    sim->faults = sim_alloc(sizeof *sim->faults);
    sim->faults->count = sim->plan.faults;
    for (unsigned i = 0; i < sim->faults->count; i++)
        draw(sim, i);
}

void sim_faults_fini(struct sim *sim)
{
    free(sim->faults);
    sim->faults = NULL;
}

/* ------------------------------------------------------------------------------------------------
 * The end of all
 */

static void heal_network(struct sim *sim)
{
    struct sim_link *link;

    for (unsigned p = 0; p < sim->plan.processes; p++)
        for (unsigned s = 0; s < sim->plan.servers; s++) {
            struct sim_path *path = &sim->path[p][s];

            path->blocked_until[0] = path->blocked_until[1] = 0;
            path->refused_until = path->crumbled_until = 0;
            path->tail = 0;
        }
    for (link = sim->world.links; link; link = link->next)
        sim_link_stir(link);
}

static void heal_processes(struct sim *sim)
{
    sim_workload_hurry(sim);
    for (unsigned i = 0; i < sim->plan.processes; i++) {
        sim_process_hurry(&sim->process[i]);
        sim->process[i].memory.refusing = 0;
    }
    sim->plan.slow_sends = false;
}

/* What tells that a waiter was one of ours may be lost, and its place not: it is then kept for five minutes. */
static void clean_queue(struct sim_server *server, const struct sim_lock *lock)
{
    static const char *const PREFIXES[] = { "redisson_lock_queue", "redisson_lock_timeout",
                                            HFI_FAIR_PREFIX };
    char key[HFI_KEY_MAX + 1];

    for (size_t i = 0; i < sizeof PREFIXES / sizeof PREFIXES[0]; i++) {
        key[hfi_prefix_name(key, PREFIXES[i], lock->name, lock->len)] = '\0';
        sim_redis_do(&server->redis, NULL, "DEL %s", key);
    }
}

void sim_faults_heal(struct sim *sim)
{
    sim_say(&sim->world, "all faults end");
    sim->faults->armed = 0;
    for (unsigned i = 0; i < sim->faults->count; i++) {
        struct sim_fault *fault = &sim->faults->fault[i];

        sim_never(&sim->world, &fault->timer);
        fault->armed = false;
        if (!fault->begun || fault->ended)
            continue;
        fault->ended = true;
        sim_fault_end(fault);
    }
    for (unsigned i = 0; i < sim->plan.locks && !sim->plan.library; i++) {
        struct sim_server *server = sim_service_server(sim, sim->lock[i].service);
        struct sim_lock *lock = &sim->lock[i];
        const struct sim_key *key =
            sim_redis_find(&server->redis, sim->plan.db, lock->name, lock->len);
        bool counts = lock->theme == SIM_PERMITS || lock->theme == SIM_SEMAPHORE;

        if (key && key->type == SIM_REDIS_STRING &&
            (lock->theme == SIM_LOCKS || key->value[0] == 's'))
            sim_redis_do(&server->redis, NULL, "DEL %s",
                         lock->name); /* a loss has brought it back */
        if (server->lost_data)
            clean_queue(server, lock);
        if (counts && (lock->uncounted || !key))
            sim_redis_do(&server->redis, NULL, "SET %s %lld", lock->name, (long long)lock->total);
    }
    heal_network(sim);
    for (unsigned i = 0; i < sim->plan.servers; i++)
        sim_server_hurry(&sim->server[i]);
    heal_processes(sim);
}

void sim_faults_write(const struct sim *sim, FILE *out)
{
    for (unsigned i = 0; sim->faults && i < sim->faults->count; i++) {
        const struct sim_fault *fault = &sim->faults->fault[i];

        if (!fault->begun)
            continue;
        fprintf(out, "  fault %u at %.6f s for %.3f ms: %s", fault->index, (double)fault->at / 1e9,
                (double)fault->duration / 1e6, KINDS[fault->kind].text);
        if (fault->process)
            fprintf(out, ", p%u", fault->process->index);
        if (fault->server)
            fprintf(out, ", s%u", fault->server->index);
        if (fault->lock)
            fprintf(out, ", %s", fault->lock->name);
        fprintf(out, "\n");
    }
}
