/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What faults do, and to whom. To add one: a line in fault_kinds.inc, a function here, and a line in DO (what it
 * does, and what ends it).
 */
#include <string.h>

#include "checks.h"
#include "fault.h"
#include "library.h"

static hfi_time end_of(const struct sim_fault *fault)
{
    return fault->sim->world.now + fault->duration;
}

/* ------------------------------------------------------------------------------------------------
 * Whom it hits
 */

static void choose_process(struct sim_fault *fault)
{
    struct sim *sim = fault->sim;

    fault->process = fault->found;
    if (!fault->process)
        fault->process = &sim->process[sim_below(&fault->random, sim->plan.processes)];
    fault->life = fault->process->life_number;
}

static void choose_server(struct sim_fault *fault)
{
    struct sim *sim = fault->sim;

    fault->server = sim_service_server(
        sim, fault->found ? fault->found->service
                          : (unsigned)sim_below(&fault->random, sim->plan.services));
}

static void choose_lock(struct sim_fault *fault)
{
    struct sim *sim = fault->sim;

    fault->lock = fault->found_lock;
    if (!fault->lock)
        fault->lock = &sim->lock[sim_below(&fault->random, sim->plan.locks)];
    fault->server = sim_service_server(sim, fault->lock->service);
    sim_server_wall_us(fault->server);
}

/* In which states are the holds of those that it hits? */
static void cover(const struct sim_fault *fault, const struct sim_process *process)
{
    const struct hfi_hold *hold;

    if (process->life != SIM_LIFE_RUNNING && process->life != SIM_LIFE_CLOSING)
        return;
    for (hold = process->engine.holds; hold; hold = hold->next)
        sim_coverage.met[fault->kind][hfi_hold_state_of(hold)]++;
}

static void cover_all(const struct sim_fault *fault)
{
    struct sim *sim = fault->sim;

    sim_coverage.faults[fault->kind]++;
    for (unsigned i = 0; i < sim->plan.processes; i++) {
        const struct sim_process *process = &sim->process[i];

        if (fault->process ? process == fault->process
                           : !fault->server || process->service == fault->server->service)
            cover(fault, process);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The network
 */

/* One process is hit, or all. */
static void choose_paths(struct sim_fault *fault)
{
    if (fault->found || sim_below(&fault->random, 3))
        choose_process(fault);
    fault->mask = 1u << sim_below(&fault->random, SIM_SIDES);
}

static void for_paths(struct sim_fault *fault,
                      void (*change)(struct sim_fault *fault, struct sim_path *path))
{
    struct sim *sim = fault->sim;

    for (unsigned p = 0; p < sim->plan.processes; p++)
        for (unsigned s = 0; s < sim->plan.servers; s++)
            if (!fault->process || fault->process->index == p)
                change(fault, &sim->path[p][s]);
}

static void block(struct sim_fault *fault, struct sim_path *path)
{
    for (unsigned side = 0; side < SIM_SIDES; side++)
        if (fault->mask >> side & 1)
            path->blocked_until[side] = hfi_time_max(path->blocked_until[side], end_of(fault));
}

static void do_stall(struct sim_fault *fault)
{
    choose_paths(fault);
    for_paths(fault, block);
}

static void do_partition(struct sim_fault *fault)
{
    choose_paths(fault);
    fault->mask = 3;
    for_paths(fault, block);
}

static void refuse(struct sim_fault *fault, struct sim_path *path)
{
    path->refused_until = hfi_time_max(path->refused_until, end_of(fault));
}

static void do_reset(struct sim_fault *fault)
{
    struct sim_link *link, *next;

    choose_paths(fault);
    for (link = fault->sim->world.links; link; link = next) {
        next = link->next;
        if ((!fault->process || link->client == fault->process->index) &&
            (link->end[SIM_CLIENT].open || link->end[SIM_SERVER].open) &&
            (fault->mask == 1 || sim_below(&fault->random, 2)))
            sim_link_break(link);
    }
}

static void do_refuse(struct sim_fault *fault)
{
    choose_paths(fault);
    for_paths(fault, refuse);
    if (sim_below(&fault->random, 2))
        do_reset(fault);
}

static void crumble(struct sim_fault *fault, struct sim_path *path)
{
    path->crumbled_until = hfi_time_max(path->crumbled_until, end_of(fault));
}

static void do_crumble(struct sim_fault *fault)
{
    choose_paths(fault);
    for_paths(fault, crumble);
}

/* ------------------------------------------------------------------------------------------------
 * Processes and hosts
 */

static void do_stop_process(struct sim_fault *fault)
{
    choose_process(fault);
    fault->process->stop_armed = fault->duration;
}

static void for_host(struct sim_fault *fault,
                     void (*change)(struct sim_fault *fault, struct sim_process *process))
{
    struct sim *sim = fault->sim;

    for (unsigned i = 0; i < sim->plan.processes; i++)
        if (sim->process[i].host == fault->process->host)
            change(fault, &sim->process[i]);
}

static void stop(struct sim_fault *fault, struct sim_process *process)
{
    sim_process_stop(process, fault->duration);
}

static void do_stop_host(struct sim_fault *fault)
{
    choose_process(fault);
    for_host(fault, stop);
}

static void do_crash(struct sim_fault *fault)
{
    choose_process(fault);
    cover_all(fault);
    sim_process_crash(fault->process, false);
}

static void start(struct sim_fault *fault, struct sim_process *process)
{
    (void)fault;
    if (process->life != SIM_LIFE_NONE)
        return;
    sim_process_start(process);
    sim_workload_started(process);
}

static void end_crash(struct sim_fault *fault)
{
    if (fault->process->host->up)
        start(fault, fault->process);
}

static void crash_with_host(struct sim_fault *fault, struct sim_process *process)
{
    (void)fault;
    sim_process_crash(process, true);
}

static void do_crash_host(struct sim_fault *fault)
{
    choose_process(fault);
    if (!fault->process->host->up) {
        fault->ended = true;
        return;
    }
    cover_all(fault);
    fault->process->host->up = false;
    for_host(fault, crash_with_host);
}

static void end_crash_host(struct sim_fault *fault)
{
    fault->process->host->up = true;
    for_host(fault, start);
}

/* A child that was not made by the C library's fork() has the sockets until it ends. Often the parent dies. */
static void do_fork(struct sim_fault *fault)
{
    choose_process(fault);
    fault->process->forked_until = end_of(fault);
    cover_all(fault);
    if (sim_below(&fault->random, 2))
        sim_process_crash(fault->process, false);
}

static void end_fork(struct sim_fault *fault)
{
    struct sim_link *link;

    fault->process->forked_until = 0;
    for (link = fault->sim->world.links; link; link = link->next)
        if (link->client == fault->process->index && link->client_life == fault->life)
            sim_link_hang_up(link, SIM_CLIENT);
    end_crash(fault);
}

static void do_no_memory(struct sim_fault *fault)
{
    choose_process(fault);
    fault->process->memory.refusing = 20 + (uint32_t)sim_below(&fault->random, 300);
    fault->process->memory.dice = hfi_random_next(&fault->random);
}

static void end_no_memory(struct sim_fault *fault)
{
    fault->process->memory.refusing = 0;
}

static void do_late(struct sim_fault *fault)
{
    choose_process(fault);
    fault->process->late_ns = fault->sim->plan.ttl_ms * HFI_MSEC;
}

static void end_late(struct sim_fault *fault)
{
    fault->process->late_ns = fault->sim->plan.late_ns;
}

/* ------------------------------------------------------------------------------------------------
 * Servers, inside the contract
 */

static void do_stop_server(struct sim_fault *fault)
{
    choose_server(fault);
    sim_server_stop(fault->server, fault->duration);
}

static void kill_server(struct sim_fault *fault)
{
    choose_server(fault);
    fault->duration += 20 * HFI_MSEC; /* no server starts sooner */
    if (fault->server->up)
        sim_server_kill(fault->server, sim_below(&fault->random, 3) == 0);
    else
        fault->ended = true;
}

static void end_restart(struct sim_fault *fault)
{
    sim_server_start(fault->server, SIM_LOSS_NONE, 0);
}

static void do_flush_scripts(struct sim_fault *fault)
{
    choose_server(fault);
    sim_redis_do(&fault->server->redis, NULL, "SCRIPT FLUSH");
}

static void do_full(struct sim_fault *fault)
{
    choose_server(fault);
    fault->server->redis.out_of_memory = true;
}

static void end_full(struct sim_fault *fault)
{
    fault->server->redis.out_of_memory = false;
}

static void do_failing(struct sim_fault *fault)
{
    static const char *const ERRORS[] = {
        "LOADING Redis is loading the dataset in memory",
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    };

    choose_server(fault);
    fault->server->redis.failing =
        ERRORS[sim_below(&fault->random, sizeof ERRORS / sizeof ERRORS[0])];
}

static void end_failing(struct sim_fault *fault)
{
    fault->server->redis.failing = NULL;
}

static void do_garble(struct sim_fault *fault)
{
    choose_server(fault);
    fault->server->garbles = true;
}

static void end_garble(struct sim_fault *fault)
{
    fault->server->garbles = false;
}

static void do_cut(struct sim_fault *fault)
{
    choose_server(fault);
    sim_server_cut(fault->server, false);
}

static void do_cut_subscribers(struct sim_fault *fault)
{
    choose_server(fault);
    sim_server_cut(fault->server, true);
}

static void do_step_back(struct sim_fault *fault)
{
    hfi_time by;

    choose_server(fault);
    by = hfi_time_min(fault->duration, 3 * (hfi_time)fault->sim->plan.ttl_ms * HFI_MSEC) + 1;
    fault->sim->stepped_ns += by; /* leases last longer */
    sim_server_step_clock(fault->server, -(int64_t)by);
    sim_check_lost(fault->server);
}

/* Some proxy, say, sends an old try again. */
static void do_replay(struct sim_fault *fault)
{
    struct sim_owner *owner;
    uint64_t number;

    choose_process(fault);
    if (fault->process->owners->highest == 0 || fault->process->life != SIM_LIFE_RUNNING)
        return;
    /* Half of the time one of the last few. */
    number = fault->process->owners->highest;
    number = 1 + (sim_below(&fault->random, 2) || number < 4
                      ? sim_below(&fault->random, number)
                      : number - 1 - sim_below(&fault->random, 3));
    if (fault->found_owner && fault->found_owner <= fault->process->owners->highest)
        number = fault->found_owner;
    owner = sim_owner_find(fault->process, number, HFI_KIND_MUTEX);
    fault->server = sim_service_server(fault->sim, fault->process->service);
    if (!owner->tried || !fault->server->up || owner->lock >= fault->sim->plan.locks ||
        owner->kind > HFI_KIND_SPIN)
        return;
    fault->lock = &fault->sim->lock[owner->lock];
    sim_server_wall_us(fault->server);
    sim_check_replayed(fault->server, fault->lock, fault->process, number);
}

static void do_disk(struct sim_fault *fault)
{
    sim_library_trouble(fault->sim, end_of(fault));
}

/* ------------------------------------------------------------------------------------------------
 * Servers, outside the contract
 */

static void do_step_forward(struct sim_fault *fault)
{
    choose_server(fault);
    sim_check_excuse_all(fault->server);
    sim_server_step_clock(fault->server, (int64_t)(1 + fault->duration));
    sim_check_lost(fault->server);
}

static void end_lose_all(struct sim_fault *fault)
{
    sim_server_start(fault->server, SIM_LOSS_ALL, 0);
}

static void end_lose_some(struct sim_fault *fault)
{
    sim_server_start(fault->server, SIM_LOSS_SOME, 1 + sim_below(&fault->random, 20));
}

static void do_flush_all(struct sim_fault *fault)
{
    choose_server(fault);
    fault->server->lost_data = true;
    if (fault->sim->plan.kinds) /* what holds are kept in besides the lock */
        sim_check_excuse_all(fault->server);
    sim_redis_do(&fault->server->redis, NULL, "FLUSHALL");
}

static void do_delete(struct sim_fault *fault)
{
    choose_lock(fault);
    sim_redis_do(&fault->server->redis, NULL, "DEL %s", fault->lock->name);
}

static void do_overwrite(struct sim_fault *fault)
{
    choose_lock(fault);
    sim_redis_do(&fault->server->redis, NULL, "SET %s something", fault->lock->name);
}

static void end_overwrite(struct sim_fault *fault)
{
    const char *failing;

    fault->server = sim_service_server(fault->sim, fault->lock->service);
    sim_server_wall_us(fault->server);
    failing = fault->server->redis.failing;
    fault->server->redis.failing = NULL; /* whoever did it cleans up, sooner or later */
    sim_redis_do(&fault->server->redis, NULL, "DEL %s", fault->lock->name);
    fault->server->redis.failing = failing;
}

static void do_evict(struct sim_fault *fault)
{
    struct sim_key *key, *next;

    choose_server(fault);
    fault->server->lost_data = true;
    sim_server_wall_us(fault->server);
    if (fault->sim->plan.kinds)
        sim_check_excuse_all(fault->server);
    HASH_ITER (hh, fault->server->redis.keys[fault->sim->plan.db], key, next) {
        if (sim_below(&fault->random, 2))
            sim_redis_do(&fault->server->redis, NULL, "DEL %s", key->name);
    }
}

static void do_fail_over(struct sim_fault *fault)
{
    fault->server = sim_service_server(fault->sim, 0);
    if (fault->server->replica)
        sim_server_fail_over(fault->server);
}

/* ------------------------------------------------------------------------------------------------
 * The table
 */

static const struct {
    void (*begin)(struct sim_fault *fault);
    void (*end)(struct sim_fault *fault);
} DO[SIM_FAULT_KINDS] = {
    [SIM_FAULT_RESET] = { do_reset, NULL },
    [SIM_FAULT_STALL] = { do_stall, NULL },
    [SIM_FAULT_PARTITION] = { do_partition, NULL },
    [SIM_FAULT_REFUSE] = { do_refuse, NULL },
    [SIM_FAULT_CRUMBLE] = { do_crumble, NULL },
    [SIM_FAULT_STOP_PROCESS] = { do_stop_process, NULL },
    [SIM_FAULT_STOP_HOST] = { do_stop_host, NULL },
    [SIM_FAULT_CRASH] = { do_crash, end_crash },
    [SIM_FAULT_CRASH_HOST] = { do_crash_host, end_crash_host },
    [SIM_FAULT_FORK] = { do_fork, end_fork },
    [SIM_FAULT_NO_MEMORY] = { do_no_memory, end_no_memory },
    [SIM_FAULT_LATE] = { do_late, end_late },
    [SIM_FAULT_STOP_SERVER] = { do_stop_server, NULL },
    [SIM_FAULT_RESTART] = { kill_server, end_restart },
    [SIM_FAULT_FLUSH_SCRIPTS] = { do_flush_scripts, NULL },
    [SIM_FAULT_FULL] = { do_full, end_full },
    [SIM_FAULT_FAILING] = { do_failing, end_failing },
    [SIM_FAULT_GARBLE] = { do_garble, end_garble },
    [SIM_FAULT_CUT] = { do_cut, NULL },
    [SIM_FAULT_CUT_SUBSCRIBERS] = { do_cut_subscribers, NULL },
    [SIM_FAULT_STEP_BACK] = { do_step_back, NULL },
    [SIM_FAULT_REPLAY] = { do_replay, NULL },
    [SIM_FAULT_DISK] = { do_disk, NULL },
    [SIM_FAULT_STEP_FORWARD] = { do_step_forward, NULL },
    [SIM_FAULT_LOSE_ALL] = { kill_server, end_lose_all },
    [SIM_FAULT_LOSE_SOME] = { kill_server, end_lose_some },
    [SIM_FAULT_FLUSH_ALL] = { do_flush_all, NULL },
    [SIM_FAULT_DELETE] = { do_delete, NULL },
    [SIM_FAULT_OVERWRITE] = { do_overwrite, end_overwrite },
    [SIM_FAULT_EVICT] = { do_evict, NULL },
    [SIM_FAULT_FAIL_OVER] = { do_fail_over, NULL },
};

/* Those that end the processes are counted before they do. */
static bool counts_itself(enum sim_fault_kind kind)
{
    return kind == SIM_FAULT_CRASH || kind == SIM_FAULT_CRASH_HOST || kind == SIM_FAULT_FORK;
}

void sim_fault_begin(struct sim_fault *fault)
{
    sim_say(&fault->sim->world, "fault %u: %s for %.3f ms", fault->index,
            sim_fault_name(fault->kind), (double)fault->duration / 1e6);
    fault->sim->outside |= !sim_fault_is_inside(fault->kind);
    DO[fault->kind].begin(fault);
    if (fault->server && fault->server->up)
        sim_server_flush(fault->server);
    if (!counts_itself(fault->kind))
        cover_all(fault);
}

void sim_fault_end(struct sim_fault *fault)
{
    sim_say(&fault->sim->world, "fault %u ends: %s", fault->index, sim_fault_name(fault->kind));
    if (DO[fault->kind].end)
        DO[fault->kind].end(fault);
}
