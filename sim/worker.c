/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As src/runtime/worker.c: a store that blocks executes requests one at a time. Each takes three steps: the
 * clock is read; then it waits for the file, and is done; then the thread comes back with the answer.
 */
#include "process.h"

#include <utlist.h>

#include "checks.h"
#include "library.h"
#include "sim.h"

static const struct hfi_library_class *library_of(const struct sim_process *process)
{
    return process->store->class_->library;
}

bool sim_worker_is_idle(const struct sim_process *process)
{
    return !process->executing && !process->executed;
}

void sim_worker_kick(struct sim_process *process)
{
    if ((!process->queue && !process->collect_wanted) || !sim_worker_is_idle(process) ||
        sim_timer_is_set(&process->work))
        return;
    sim_at(&process->sim->world, &process->work,
           sim_process_late(process, process->sim->world.now));
}

static void harvest(struct sim_process *process, hfi_time now)
{
    const struct hfi_library_class *library = library_of(process);
    struct hfi_watch *watch;

    while ((watch = library->woken(process->store)))
        hfi_engine_step(&process->engine, now,
                        &(struct hfi_input){ .kind = HFI_INPUT_WAKE, .u.watch = watch });
    if (library->restored(process->store))
        hfi_engine_step(&process->engine, now, &(struct hfi_input){ .kind = HFI_INPUT_RESTORED });
    process->collect_by = library->deadline(process->store);
    sim_pump(process, now);
}

static void begin(struct sim_process *process, hfi_time now)
{
    if (process->collect_wanted) {
        process->collect_wanted = false;
        library_of(process)->collect(process->store, now);
        harvest(process, sim_process_now(process));
        sim_worker_kick(process);
        return;
    }
    if (!process->queue)
        return;
    process->executing = process->queue;
    DL_DELETE(process->queue, process->executing);
    process->work_now = now;
    sim_after(&process->sim->world, &process->work, sim_library_delay(process));
}

static void execute(struct sim_process *process)
{
    process->executed = true;
    sim_check_sent(process);
    library_of(process)->execute(process->store, process->work_now, process->executing);
    sim_at(&process->sim->world, &process->work,
           sim_process_late(process,
                            process->sim->world.now + sim_below(&process->random, 30 * HFI_USEC)));
}

static void work(void *arg)
{
    struct sim_process *process = arg;
    hfi_time now;

    if (!sim_process_enter(process, &process->work, &now))
        return;
    if (process->executing && !process->executed) {
        execute(process);
    } else if (process->executing) {
        struct hfi_request *request = process->executing;

        process->executing = NULL;
        process->executed = false;
        sim_answer(process, now, request);
        harvest(process, sim_process_now(process));
        sim_worker_kick(process);
    } else {
        begin(process, now);
    }
    sim_process_leave(process);
}

void sim_worker_init(struct sim_process *process)
{
    sim_timer_init(&process->work, work, process);
}
