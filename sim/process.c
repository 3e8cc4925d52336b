/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "checks.h"
#include "library.h"
#include "sim.h"

/* ------------------------------------------------------------------------------------------------
 * Time
 */

hfi_time sim_process_now(const struct sim_process *process)
{
    return sim_clock_read(&process->host->clock, process->sim->world.now);
}

static hfi_time stopped_until(const struct sim_process *process)
{
    return hfi_time_max(process->stopped_until, process->host->stopped_until);
}

bool sim_process_is_stopped(const struct sim_process *process)
{
    return process->sim->world.now < stopped_until(process);
}

void sim_process_stop(struct sim_process *process, hfi_time duration)
{
    struct sim_world *world = &process->sim->world;
    hfi_time until = world->now + duration;

    sim_say(world, "p%u stopped for %.3f ms", process->index, (double)duration / 1e6);
    if (until <= stopped_until(process))
        return;
    process->stopped_ns += until - world->now;
    process->stopped_until = until;
}

static hfi_time lateness(struct sim_process *process)
{
    struct hfi_random *random = &process->random;
    uint64_t dice = sim_below(random, 64);

    if (dice < 40)
        return 0;
    if (dice < 63)
        return sim_below(random, 60 * HFI_USEC);
    return sim_below(random, process->late_ns + 1);
}

hfi_time sim_process_late(struct sim_process *process, hfi_time at)
{
    hfi_time late = lateness(process);

    if (late > 100 * HFI_USEC) {
        process->stopped_ns += late;
        process->late_until = hfi_time_max(process->late_until, at + late);
    }
    return at + late;
}

hfi_time sim_process_slow(struct sim_process *process, hfi_time at)
{
    hfi_time late = sim_below(&process->random, process->late_ns + 1);

    process->stopped_ns += late;
    process->late_until = hfi_time_max(process->late_until, at + late);
    return at + late;
}

hfi_time sim_process_excuse_at(const struct sim_process *process, hfi_time now)
{
    return sim_process_excuse(process) - (sim_process_now(process) - now);
}

void sim_process_hurry(struct sim_process *process)
{
    struct sim_world *world = &process->sim->world;
    struct sim_timer *timers[] = { &process->wake,           &process->loop,
                                   &process->work,           &process->socket[0].read,
                                   &process->socket[1].read, &process->socket[0].write,
                                   &process->socket[1].write };

    process->stop_armed = 0;
    process->stopped_until = hfi_time_min(process->stopped_until, world->now);
    process->late_until = world->now;
    process->late_ns = HFI_MSEC;
    if (process->stale)
        sim_at(world, process->stale, world->now);
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++)
        if (timers[i] != process->stale && sim_timer_is_set(timers[i]))
            sim_at(world, timers[i], world->now + 1);
}

hfi_time sim_process_excuse(const struct sim_process *process)
{
    hfi_time now = process->sim->world.now;

    return process->stopped_ns -
           hfi_time_until(now, hfi_time_max(process->late_until, stopped_until(process)));
}

/* It is stopped now, perhaps after it has read the clock and before it acts on what it has read. */
static void stop_here(struct sim_process *process, struct sim_timer *timer)
{
    hfi_time duration = process->stop_armed;

    process->stop_armed = 0;
    if (sim_below(&process->random, 2)) {
        process->stale = timer;
        process->stale_now = sim_process_now(process);
        for (unsigned i = 0; i < HFI_LINK_MAX; i++) {
            struct sim_socket *socket = &process->socket[i];
            const char *bytes;

            if (timer == &socket->read && socket->link)
                socket->readable = sim_link_peek(socket->link, SIM_CLIENT, &bytes);
        }
    }
    sim_process_stop(process, duration);
}

bool sim_process_enter(struct sim_process *process, struct sim_timer *timer, hfi_time *ret_now)
{
    struct sim_world *world = &process->sim->world;

    if (process->life == SIM_LIFE_NONE || process->life == SIM_LIFE_CLOSED)
        return false;
    if (process->stop_armed && !sim_process_is_stopped(process) &&
        sim_below(&process->random, 3) == 0)
        stop_here(process, timer);
    if (sim_process_is_stopped(process)) {
        /* The one that has read the clock has the client's lock: it goes on first. */
        sim_at(world, timer,
               stopped_until(process) +
                   (process->stale == timer ? 0 : 1 + sim_below(&process->random, 20 * HFI_USEC)));
        return false;
    }
    *ret_now = sim_process_now(process);
    if (process->stale == timer) {
        *ret_now = process->stale_now;
        process->stale = NULL;
    }
    sim_memory_switch(&process->memory);
    return true;
}

void sim_process_leave(struct sim_process *process)
{
    sim_memory_switch(NULL);
    sim_check_step(process);
    if (process->life == SIM_LIFE_CLOSING && process->closer &&
        (hfi_engine_quiet(&process->engine) || process->inside == 0))
        sim_ask_wake(process->closer);
}

/* ------------------------------------------------------------------------------------------------
 * The background thread
 */

static void tick(void *arg)
{
    struct sim_process *process = arg;
    hfi_time now;

    if (!sim_process_enter(process, &process->wake, &now))
        return;
    process->wakes_ns = 0;
    if (process->is_wire) {
        process->store->class_->wire->tick(process->store, now);
    } else if (now >= process->collect_by) {
        process->collect_by = HF_TIME_NEVER;
        process->collect_wanted = true;
    }
    hfi_engine_step(&process->engine, now, &(struct hfi_input){ .kind = HFI_INPUT_TICK });
    sim_check_ticked(process, now);
    sim_pump(process, now);
    process->wakes_ns = HF_TIME_NEVER;
    sim_rearm(process);
    sim_process_leave(process);
}

/* ------------------------------------------------------------------------------------------------
 * The beginning
 */

static void make_identity(struct sim_process *process)
{
    static const char DIGITS[] = "0123456789abcdef";
    struct hfi_identity *who = &process->identity;

    for (unsigned i = 0; i < 36; i++)
        who->id[i] =
            i == 8 || i == 13 || i == 18 || i == 23 ? '-' : DIGITS[sim_below(&process->random, 16)];
    /* The end tells the checks whose it is. */
    snprintf(who->id + 24, 13, "%04x%08x", process->index, (unsigned)process->life_number);
    snprintf(who->host, sizeof who->host, "host%u", process->host->index);
    snprintf(who->user, sizeof who->user, "sim");
    snprintf(who->program, sizeof who->program, "p%u", process->index);
    who->pid = 1000 + (int64_t)process->index;
}

static void open_store(struct sim_process *process)
{
    const struct sim_plan *plan = &process->sim->plan;
    struct hfi_store_config config = { .identity = &process->identity,
                                       .trace = { sim_check_trace, process },
                                       .op_timeout_ns = plan->op_timeout_ns,
                                       .connect_timeout_ns = plan->connect_timeout_ns,
                                       .seed = hfi_random_next(&process->random) };
    char rest[128], detail[HFI_DETAIL_MAX];
    int error;

    snprintf(rest, sizeof rest, "//%sservice%u:6379/%u", plan->password ? ":secret@" : "",
             process->service, plan->db);
    error = plan->library ? sim_library_open(process, &config, &process->store)
                          : hfi_driver_redis.open("redis", rest, &config, &process->store, detail);
    if (error)
        sim_violated(&process->sim->world, "opens", "p%u: hf_open() says %s", process->index,
                     hf_strerror(error));
}

static void open_engine(struct sim_process *process)
{
    const struct sim_plan *plan = &process->sim->plan;
    struct hfi_engine_config config = { .poll_ns = plan->poll_ns,
                                        .pass_ns = plan->pass_ns,
                                        .pass_count = plan->pass_count,
                                        .op_timeout_ns = plan->op_timeout_ns,
                                        .announces = process->store->class_->announces,
                                        .seed = hfi_random_next(&process->random),
                                        .trace = { sim_check_trace, process } };

    if (hfi_engine_init(&process->engine, sim_process_now(process), &config) != HF_OK)
        sim_violated(&process->sim->world, "opens", "p%u: hf_open() fails", process->index);
}

void sim_process_start(struct sim_process *process)
{
    uint32_t refusing = process->memory.refusing;

    process->life = SIM_LIFE_RUNNING;
    process->life_number = ++process->sim->lives;
    make_identity(process);
    sim_say(&process->sim->world, "p%u starts as %s", process->index, process->identity.id);
    process->memory = (struct sim_memory){ .dice = process->memory.dice };
    sim_memory_switch(&process->memory);
    open_store(process);
    process->is_wire = process->store->class_->wire != NULL;
    open_engine(process);
    sim_memory_switch(NULL);
    process->memory.refusing = refusing;
    process->wakes_ns = HF_TIME_NEVER;
    process->collect_by = HF_TIME_NEVER;
    process->checking = true;
    sim_check_started(process);
}

void sim_process_init(struct sim *sim, unsigned index)
{
    struct sim_process *process = &sim->process[index];

    process->sim = sim;
    process->index = index;
    sim_random_init(&process->random, sim->plan.seed, 'p', index);
    process->host = &sim->host[index % sim->plan.hosts];
    process->service = index % sim->plan.services;
    process->late_ns = sim->plan.late_ns;
    sim_timer_init(&process->wake, tick, process);
    for (unsigned i = 0; i < HFI_LINK_MAX; i++)
        sim_socket_init(process, i);
    sim_worker_init(process);
    sim_check_init(process);
}

/* ------------------------------------------------------------------------------------------------
 * The end
 */

static void clear_timers(struct sim_process *process)
{
    struct sim_world *world = &process->sim->world;

    sim_never(world, &process->wake);
    sim_never(world, &process->work);
    sim_never(world, &process->loop);
    for (unsigned i = 0; i < HFI_LINK_MAX; i++) {
        sim_never(world, &process->socket[i].read);
        sim_never(world, &process->socket[i].write);
        process->socket[i].writing = false;
        sim_text_free(&process->socket[i].hands);
    }
    process->stale = NULL;
    process->stop_armed = 0;
}

static void reset(struct sim_process *process)
{
    process->store = NULL;
    process->queue = process->executing = NULL;
    process->asyncs = process->events = NULL;
    process->released = NULL;
    process->collect_wanted = process->executed = false;
    process->inside = 0;
    process->closer = NULL;
    process->has_loop = false;
}

static void drop_handles(struct sim_process *process)
{
    struct sim_handle *handle, *next;

    DL_FOREACH_SAFE2(process->out, handle, next, next_out)
    {
        if (handle->handle.hold)
            hfi_engine_drop_handle(&handle->handle);
        sim_handle_free(handle);
    }
}

/* Frees what the product has; nothing of it gets out. */
static void drop_everything(struct sim_process *process)
{
    struct hfi_waiter *waiter;

    sim_memory_switch(&process->memory);
    hfi_engine_step(&process->engine, process->engine.now,
                    &(struct hfi_input){ .kind = HFI_INPUT_CLOSE });
    while ((waiter = hfi_engine_next_done(&process->engine))) {
        free(waiter->label);
        waiter->label = NULL;
    }
    process->store->class_->free(process->store);
    hfi_engine_fini(&process->engine);
    drop_handles(process);
    sim_memory_switch(NULL);
    reset(process);
}

void sim_process_crash(struct sim_process *process, bool with_host)
{
    struct sim_world *world = &process->sim->world;

    if (process->life == SIM_LIFE_NONE)
        return;
    sim_say(world, "p%u crashes%s", process->index, with_host ? " with its host" : "");
    sim_check_ended(process, true);
    process->checking = false;
    for (unsigned i = 0; i < HFI_LINK_MAX; i++) {
        struct sim_socket *socket = &process->socket[i];

        if (socket->link && (with_host || world->now < process->forked_until))
            sim_link_vanish(socket->link, SIM_CLIENT);
        else if (socket->link)
            sim_link_close(socket->link, SIM_CLIENT);
        socket->link = NULL;
    }
    clear_timers(process);
    sim_workload_crashed(process);
    if (process->life == SIM_LIFE_CLOSED)
        drop_handles(process); /* all that is left of it */
    else
        drop_everything(process);
    process->life = SIM_LIFE_NONE;
}

/* Events that nobody will take. */
static void free_events(struct sim_process *process)
{
    struct sim_handle *handle, *next_handle;
    struct sim_ask *ask, *next;

    DL_FOREACH_SAFE (process->events, ask, next) {
        DL_DELETE(process->events, ask);
        if (ask->waiter.result == HF_OK && ask->handle->handle.hold) {
            sim_check_discarded(ask->handle);
            hfi_engine_drop_handle(&ask->handle->handle);
        }
        sim_handle_free(ask->handle);
        ask->handle = NULL;
        free(ask->waiter.label);
        ask->waiter.label = NULL;
        ask->result = HF_ERR_CLOSED;
        ask->in_progress = false;
    }
    LL_FOREACH_SAFE (process->released, handle, next_handle) {
        sim_handle_free(handle);
    }
    /* Releases that a store that blocks has never got to. */
    DL_FOREACH_SAFE2(process->out, handle, next_handle, next_out)
    {
        if (!handle->handle.hold)
            sim_handle_free(handle);
    }
}

void sim_process_finish(struct sim_process *process)
{
    sim_say(&process->sim->world, "p%u is closed", process->index);
    process->store->class_->free(process->store);
    hfi_engine_fini(&process->engine);
    process->checking = false;
    free_events(process);
    clear_timers(process);
    reset(process);
    process->life = SIM_LIFE_CLOSED;
    sim_check_ended(process, false);
}

void sim_process_fini(struct sim_process *process)
{
    if (process->life != SIM_LIFE_NONE)
        sim_process_crash(process, true);
    clear_timers(process);
    sim_check_fini(process);
}
