/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: first faults and safety; then all faults are off, and everybody must be served; then nobody wants
 * anything any more, and nothing may be left.
 */
#include <string.h>

#include "checks.h"
#include "fault.h"
#include "library.h"
#include "sim.h"

#define CHUNK_NS  (20 * HFI_MSEC)
#define HEALED_NS (2 * HFI_SEC)
#define QUIET_NS  (60 * HFI_SEC) /* longer than any announcement stands */
#define DRAIN_NS  (120 * HFI_SEC)

/* What a name is for: each set of kinds that have to do with each other. */
static void draw_kinds(struct sim_lock *lock)
{
    static const uint32_t SETS[] = {
        HFI_KIND_BIT(HFI_KIND_READ) | HFI_KIND_BIT(HFI_KIND_WRITE),
        HFI_KIND_BIT(HFI_KIND_FAIR),
        HFI_KIND_BIT(HFI_KIND_MUTEX) | HFI_KIND_BIT(HFI_KIND_SPIN) | HFI_KIND_BIT(HFI_KIND_FENCED),
        HFI_KIND_BIT(HFI_KIND_MUTEX) | HFI_KIND_BIT(HFI_KIND_READ) | HFI_KIND_BIT(HFI_KIND_WRITE),
        HFI_KIND_BIT(HFI_KIND_READ + 1) - 1,
    };
    static const enum hfi_kind COUNTED[SIM_THEMES] = { [SIM_PERMITS] = HFI_KIND_PERMITS,
                                                       [SIM_SEMAPHORE] = HFI_KIND_SEMAPHORE,
                                                       [SIM_LATCH] = HFI_KIND_LATCH };
    static const uint8_t DICE[] = { 0, 0, 1, 1, 2, 3, 4, 5, 5, 6, 6, 7 };
    struct hfi_random random;
    unsigned dice;

    sim_random_init(&random, lock->sim->plan.seed, 'k', 1 + lock->index);
    dice = DICE[sim_below(&random, sizeof DICE)];
    if (dice < sizeof SETS / sizeof SETS[0]) {
        lock->kinds = SETS[dice];
        return;
    }
    lock->theme = (enum sim_theme)(dice - 4);
    lock->kinds = HFI_KIND_BIT(COUNTED[lock->theme]);
    if (lock->theme != SIM_LATCH)
        lock->total = 1 + (int64_t)sim_below(&random, 4);
}

static void make_locks(struct sim *sim)
{
    static const char *const NAMES[] = { "a", "job:settlement", "shop{eu}:7" };

    for (unsigned i = 0; i < sim->plan.locks; i++) {
        struct sim_lock *lock = &sim->lock[i];
        const char *name = NAMES[i / sim->plan.services % 3];

        lock->sim = sim;
        lock->index = i;
        lock->service = i % sim->plan.services;
        snprintf(lock->name, sizeof lock->name, "%s", name);
        lock->len = strlen(lock->name);
        lock->ttl_ms = sim->plan.ttl_ms;
        lock->kinds = HFI_KIND_BIT(HFI_KIND_MUTEX);
        if (sim->plan.kinds)
            draw_kinds(lock);
    }
}

/* Somebody has made what is counted. */
static void make_counts(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.locks; i++)
        sim_others_count(&sim->lock[i], sim->lock[i].total);
}

static void make_paths(struct sim *sim)
{
    for (unsigned p = 0; p < sim->plan.processes; p++)
        for (unsigned s = 0; s < sim->plan.servers; s++) {
            struct sim_path *path = &sim->path[p][s];

            sim_random_init(&path->random, sim->plan.seed, 'l', p * SIM_SERVERS_MAX + s);
            path->base_ns = sim->plan.base_ns;
            path->jitter_ns = sim->plan.jitter_ns;
            path->tail = sim->plan.tail;
            path->tail_ns = sim->plan.tail_ns;
        }
}

static void make_hosts(struct sim *sim)
{
    struct hfi_random random;

    sim_random_init(&random, sim->plan.seed, 'h', 0);
    for (unsigned i = 0; i < sim->plan.hosts; i++) {
        sim->host[i].index = i;
        sim->host[i].up = true;
        sim->host[i].clock.base_local = HFI_SEC + sim_below(&random, 1000000 * HFI_SEC);
        sim->host[i].clock.ppm = sim_drift(&random, &sim->plan);
    }
}

static void make_servers(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.servers; i++)
        sim_server_init(sim, i);
    for (unsigned i = 0; i < sim->plan.servers; i++) {
        struct sim_server *server = &sim->server[i];

        server->service = i % sim->plan.services;
        if (i < sim->plan.services) {
            sim->service[i].primary = server;
        } else {
            sim->service[server->service].primary->replica = server;
            server->redis.is_replica = true;
            server->clock.base_local = sim->server[server->service].clock.base_local +
                                       sim_below(&server->random, 100 * HFI_MSEC);
        }
    }
}

static void begin(struct sim *sim, const struct sim_options *options)
{
    sim->options = options;
    if (options->trace)
        sim->world.trace = stdout;
    sim_plan_draw(&sim->plan, options);
    sim->checks = sim_alloc(sizeof *sim->checks);
    make_locks(sim);
    make_paths(sim);
    make_hosts(sim);
    make_servers(sim);
    sim_library_init(sim);
    for (unsigned i = 0; i < sim->plan.processes; i++)
        sim_process_init(sim, i);
    sim_workload_init(sim);
    make_counts(sim);
    for (unsigned i = 0; i < sim->plan.processes; i++) {
        sim_process_start(&sim->process[i]);
        sim_workload_started(&sim->process[i]);
    }
    sim_check_sweep_start(sim);
    sim_faults_init(sim);
}

static bool run_for(struct sim *sim, hfi_time duration)
{
    return sim_run_until(&sim->world, sim->world.now + duration);
}

/* Until enough was done. */
static bool run_faults(struct sim *sim)
{
    sim->phase = SIM_PHASE_FAULTS;
    while (sim->world.now < sim->plan.duration_ns && sim->count.ops < sim->plan.ops)
        if (!run_for(sim, CHUNK_NS))
            return false;
    return true;
}

static bool run_healed(struct sim *sim)
{
    hfi_time limit;

    sim->phase = SIM_PHASE_HEALED;
    sim_faults_heal(sim);
    if (!run_for(sim, HEALED_NS))
        return false;
    sim->phase = SIM_PHASE_DRAIN;
    sim_workload_drain(sim);
    limit = sim->world.now + DRAIN_NS + sim->stepped_ns + 4 * (hfi_time)sim->plan.ttl_ms * HFI_MSEC;
    while (!sim_workload_is_drained(sim)) {
        sim_others_help(sim);
        if (!run_for(sim, CHUNK_NS))
            return false;
        if (sim->world.now > limit) {
            struct sim_text text = { 0 };

            sim_workload_describe(sim, &text);
            sim_violated(&sim->world, "served", "somebody still waits long after the last fault%s",
                         text.at ? text.at : "");
            sim_text_free(&text);
            return false;
        }
    }
    return true;
}

static bool run_quiet(struct sim *sim)
{
    sim->phase = SIM_PHASE_QUIET;
    sim_workload_close_some(sim);
    if (!run_for(sim, QUIET_NS + sim->stepped_ns + 2 * (hfi_time)sim->plan.ttl_ms * HFI_MSEC))
        return false;
    sim_check_quiet(sim);
    return !sim->world.failed;
}

bool sim_run(struct sim *sim, const struct sim_options *options)
{
    memset(sim, 0, sizeof *sim);
    begin(sim, options);
    return run_faults(sim) && run_healed(sim) && run_quiet(sim);
}

void sim_fini(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.processes; i++)
        sim_process_fini(&sim->process[i]);
    sim_queue_clear(&sim->world.queue); /* whose timers are freed below */
    sim_workload_fini(sim);
    sim_faults_fini(sim);
    for (unsigned i = 0; i < sim->plan.servers; i++)
        sim_server_fini(&sim->server[i]);
    for (unsigned i = 0; i < sim->plan.locks; i++)
        sim_check_turns_forget(&sim->lock[i]);
    sim_library_fini(sim);
    sim_link_free_all(&sim->world);
    sim_queue_free(&sim->world.queue);
    free(sim->checks);
}
