/* SPDX-License-Identifier: Apache-2.0 */
/* Processes as a whole: their event loop, and their being closed and opened again. */
#include <stdlib.h>

#include "checks.h"
#include "workload.h"

static struct sim_program *program_of(const struct sim_process *process)
{
    return &process->sim->threads->program[process->index];
}

static unsigned threads_of(const struct sim_program *program)
{
    return program->process->sim->plan.threads;
}

/* ------------------------------------------------------------------------------------------------
 * The event loop
 */

static void run_loop(void *arg)
{
    struct sim_process *process = arg;
    struct sim_event event;
    hfi_time now;

    if (!sim_process_enter(process, &process->loop, &now))
        return;
    while (sim_next_event(process, &event))
        sim_thread_event(process, &event);
    sim_check_drained(process);
    sim_process_leave(process);
}

/* ------------------------------------------------------------------------------------------------
 * Closing and opening
 */

static bool is_at_rest(const struct sim_program *program)
{
    for (unsigned i = 0; i < threads_of(program); i++)
        if (program->thread[i].state != SIM_THREAD_DONE)
            return false;
    return program->process->out_count == 0;
}

static void plan_close(struct sim_program *program)
{
    struct sim *sim = program->process->sim;
    hfi_time window = sim_below(&program->random, sim->plan.windows) * sim->plan.window_ns;

    if (sim->plan.restless && !sim->threads->draining) /* often in the middle of work */
        sim_at(&sim->world, &program->timer,
               hfi_time_max(window, sim->world.now / sim->plan.window_ns * sim->plan.window_ns) +
                   sim_below(&program->random, sim_plan_busy(&sim->plan)));
}

static void closed(struct sim_ask *ask)
{
    struct sim_program *program = ask->arg;
    struct sim *sim = program->process->sim;

    for (unsigned i = 0; i < threads_of(program); i++)
        sim_after(&sim->world, &program->thread[i].timer,
                  sim_below(&program->random, sim->plan.hold_ns + HFI_USEC));
    sim_after(&sim->world, &program->timer, sim_below(&program->random, HFI_SEC));
}

static void close_it(struct sim_program *program)
{
    hfi_time now;

    if (!sim_process_enter(program->process, &program->timer, &now))
        return;
    sim_close(&program->ask, now);
    sim_process_leave(program->process);
}

static void run(void *arg)
{
    struct sim_program *program = arg;
    struct sim_process *process = program->process;

    if (process->life == SIM_LIFE_RUNNING) {
        close_it(program);
    } else if (process->life == SIM_LIFE_CLOSED && !is_at_rest(program)) {
        sim_after(&process->sim->world, &program->timer, 20 * HFI_MSEC);
    } else if (process->life == SIM_LIFE_CLOSED && !process->sim->threads->draining) {
        sim_process_start(process);
        sim_workload_started(process);
    }
}

void sim_workload_started(struct sim_process *process)
{
    struct sim_program *program = program_of(process);

    process->has_loop = process->sim->plan.loops && sim_below(&program->random, 3);
    sim_never(&process->sim->world, &program->timer);
    for (unsigned i = 0; i < threads_of(program); i++)
        sim_thread_start(&program->thread[i]);
    plan_close(program);
}

void sim_workload_crashed(struct sim_process *process)
{
    struct sim_program *program = program_of(process);

    for (unsigned i = 0; i < threads_of(program); i++)
        sim_thread_reset(&program->thread[i]);
    sim_never(&process->sim->world, &program->timer);
    sim_never(&process->sim->world, &program->ask.timer);
    program->ask.in_progress = false;
    sim_others_crashed(process);
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

void sim_workload_init(struct sim *sim)
{
    sim->threads = sim_alloc(sizeof *sim->threads);
    for (unsigned i = 0; i < sim->plan.processes; i++) {
        struct sim_program *program = &sim->threads->program[i];

        program->process = &sim->process[i];
        sim_random_init(&program->random, sim->plan.seed, 'm', i);
        sim_timer_init(&program->timer, run, program);
        sim_timer_init(&program->process->loop, run_loop, program->process);
        sim_ask_init(program->process, &program->ask, closed, program);
        for (unsigned t = 0; t < sim->plan.threads; t++)
            sim_thread_init(&program->thread[t], program->process, t);
    }
    sim_others_init(sim);
}

void sim_workload_fini(struct sim *sim)
{
    if (!sim->threads)
        return;
    sim_others_fini(sim);
    sim_writes_drop(sim);
    free(sim->threads);
    sim->threads = NULL;
}

void sim_workload_drain(struct sim *sim)
{
    sim->threads->draining = true;
    sim_others_stop(sim);
}

void sim_workload_describe(const struct sim *sim, struct sim_text *text)
{
    static const char *const STATES[] = { "rests", "is in a call", "holds", "is done" };

    for (unsigned i = 0; i < sim->plan.processes; i++) {
        const struct sim_program *program = &sim->threads->program[i];

        if (program->process->life == SIM_LIFE_NONE)
            continue;
        for (unsigned t = 0; t < threads_of(program); t++) {
            const struct sim_thread *thread = &program->thread[t];

            if (thread->state != SIM_THREAD_DONE)
                sim_text_format(text, "; p%u thread %u %s (%s%s, call %d, %s)", i, t,
                                STATES[thread->state], thread->async ? "async, " : "",
                                thread->ask.in_progress ? "in progress" : "no call",
                                thread->ask.kind, thread->lock ? thread->lock->name : "-");
        }
        if (program->process->out_count > 0)
            sim_text_format(text, "; p%u has %zu handles, life %d", i, program->process->out_count,
                            program->process->life);
    }
}

bool sim_workload_is_drained(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.processes; i++) {
        const struct sim_program *program = &sim->threads->program[i];

        if (program->process->life == SIM_LIFE_NONE)
            continue;
        if (program->process->life == SIM_LIFE_CLOSING || !is_at_rest(program))
            return false;
    }
    return sim_others_are_done(sim);
}

/* After the one that has read the clock, if there is such a one. */
static void hurry(struct sim *sim, struct sim_timer *timer)
{
    if (sim_timer_is_set(timer))
        sim_at(&sim->world, timer, sim->world.now + 1);
}

void sim_workload_hurry(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.processes; i++) {
        struct sim_program *program = &sim->threads->program[i];
        bool stopped = sim_process_is_stopped(program->process);

        for (unsigned t = 0; t < sim->plan.threads; t++) {
            hurry(sim, &program->thread[t].ask.timer);
            if (stopped)
                hurry(sim, &program->thread[t].timer);
        }
    }
}

void sim_workload_close_some(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.processes; i++) {
        struct sim_timer *timer = &sim->threads->program[i].timer;

        if (sim->process[i].life != SIM_LIFE_RUNNING)
            continue;
        if (i % 2 == 0)
            sim_after(&sim->world, timer, 0);
        else
            sim_never(&sim->world, timer); /* it stays as it is */
    }
}
