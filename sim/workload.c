/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread: rest -> acquire -> hold: write, verify, enter again -> release -> rest …
 * An event loop's "thread" is one of the things that it does at a time; its calls come back as events.
 */
#include "workload.h"

#include <stdlib.h>
#include <string.h>

#include "checks.h"

void sim_thread_run_after(struct sim_thread *thread, hfi_time delay)
{
    sim_after(&thread->sim->world, &thread->timer, delay);
}

void sim_thread_rest(struct sim_thread *thread)
{
    const struct sim_plan *plan = &thread->sim->plan;
    hfi_time think = plan->think_ns;

    thread->state = SIM_THREAD_RESTING;
    thread->lock = NULL;
    sim_never(&thread->sim->world, &thread->canceller);
    if (thread->process->life != SIM_LIFE_RUNNING)
        think += 10 * HFI_MSEC;
    think = sim_below(&thread->random, think + HFI_USEC);
    if (++thread->taken >= plan->quota) {
        thread->taken = 0; /* until the next window */
        think += plan->window_ns - thread->sim->world.now % plan->window_ns;
    }
    sim_thread_run_after(thread, think);
}

/* ------------------------------------------------------------------------------------------------
 * Acquire
 */

static struct sim_lock *choose_lock(struct sim_thread *thread)
{
    struct sim *sim = thread->sim;
    unsigned services = sim->plan.services, own = sim->plan.locks / services;

    return &sim->lock[thread->process->service + services * sim_below(&thread->random, own)];
}

static void choose_kind(struct sim_thread *thread, struct hfi_waiter *waiter)
{
    const struct sim_lock *lock = thread->lock;

    if (!thread->sim->plan.kinds)
        return;
    do
        waiter->kind = (uint8_t)sim_below(&thread->random, HFI_KIND_COUNT);
    while (!(lock->kinds & HFI_KIND_BIT(waiter->kind)));
    waiter->no_reentry = waiter->kind <= HFI_KIND_READ && sim_below(&thread->random, 16) == 0;
    waiter->prefer = waiter->kind == HFI_KIND_WRITE && sim_below(&thread->random, 4) == 0;
    if (lock->total)
        waiter->permits = 1 + (uint32_t)sim_below(&thread->random, (uint64_t)lock->total);
}

static bool is_hold(const struct hfi_waiter *waiter)
{
    return waiter->kind < HFI_KIND_SEMAPHORE;
}

static void choose_wait(struct sim_thread *thread, struct hfi_waiter *waiter)
{
    hfi_time ttl = thread->sim->plan.ttl_ms * HFI_MSEC;
    uint64_t dice = sim_below(&thread->random, 100);

    waiter->wait_ns = HF_TIME_NEVER;
    if (dice < 25)
        waiter->once = true;
    else if (dice < 60)
        waiter->wait_ns = 1 + sim_below(&thread->random, dice < 45 ? 5 * HFI_MSEC : 3 * ttl);
}

static void choose_lease(struct sim_thread *thread, struct hfi_waiter *waiter)
{
    uint64_t dice = sim_below(&thread->random, 100);

    waiter->ttl_ms = thread->lock->ttl_ms;
    if (dice < 4)
        waiter->ttl_ms = 100 + (uint32_t)sim_below(&thread->random, 2 * waiter->ttl_ms);
    else if (dice < 12)
        waiter->fixed = true;
    else if (dice < 17)
        waiter->max_hold_ns = (100 + sim_below(&thread->random, 2 * waiter->ttl_ms)) * HFI_MSEC;
}

static void choose_owner(struct sim_thread *thread, struct hfi_waiter *waiter)
{
    waiter->owner = thread->owner;
    waiter->owner_kind = SIM_OWNER_THREAD;
    if (!thread->sim->plan.named_owners || sim_below(&thread->random, 3))
        return;
    waiter->named = true;
    waiter->owner = 1 + sim_below(&thread->random, 2);
    waiter->owner_kind = SIM_OWNER_NAMED;
}

static void choose_how(struct sim_thread *thread)
{
    struct hfi_waiter *waiter = &thread->ask.waiter;

    memset(waiter, 0, sizeof *waiter);
    waiter->name = thread->lock->name;
    waiter->name_len = thread->lock->len;
    choose_kind(thread, waiter);
    choose_wait(thread, waiter);
    choose_lease(thread, waiter);
    choose_owner(thread, waiter);
    thread->ask.lock = thread->lock->index;
    thread->ask.label = NULL;
    if (!is_hold(waiter)) { /* as src/api/objects.c */
        waiter->ttl_ms = HFI_SERIAL_MS;
        waiter->fixed = true;
        waiter->max_hold_ns = 0;
        waiter->named = false;
        waiter->owner = thread->owner;
        waiter->owner_kind = SIM_OWNER_THREAD;
        return;
    }
    if (sim_below(&thread->random, 3) == 0) {
        snprintf(thread->label, sizeof thread->label, "why %u",
                 (unsigned)sim_below(&thread->random, 1000));
        thread->ask.label = thread->label;
    }
}

void sim_thread_choose(struct sim_thread *thread, struct sim_lock *lock)
{
    thread->lock = lock;
    choose_how(thread);
}

void sim_thread_plan_cancel(struct sim_thread *thread)
{
    const struct sim_plan *plan = &thread->sim->plan;
    hfi_time within = sim_below(&thread->random, 2) ? HFI_MSEC : plan->ttl_ms * HFI_MSEC;

    if (plan->restless && !thread->ask.waiter.once && sim_below(&thread->random, 8) == 0)
        sim_after(&thread->sim->world, &thread->canceller, sim_below(&thread->random, within));
}

hfi_time sim_thread_hold_time(struct sim_thread *thread)
{
    const struct sim_plan *plan = &thread->sim->plan;
    hfi_time ttl = plan->ttl_ms * HFI_MSEC, most = plan->hold_ns;
    bool calm = plan->profile == SIM_CALM;
    uint64_t dice = sim_below(&thread->random, calm ? 1024 : 128);

    if (thread->sim->threads->draining)
        most = hfi_time_min(most, HFI_MSEC);
    else if (thread->sim->phase != SIM_PHASE_FAULTS)
        most = hfi_time_min(most, ttl / 4);
    else if (dice < 4)
        most = 3 * ttl;
    else if (dice < 12)
        most = ttl / 2;
    return sim_below(&thread->random, most + 1);
}

static void acquired(struct sim_thread *thread)
{
    struct sim_ask *ask = &thread->ask;

    sim_never(&thread->sim->world, &thread->canceller);
    if (thread->several.state == SIM_SEVERAL_TAKING) {
        sim_several_acquired(thread);
        return;
    }
    if (ask->result == HF_OK && !is_hold(&ask->waiter)) {
        thread->permits = ask->waiter.permits;
        if (thread->permits) {
            thread->hold_until = thread->sim->world.now + sim_thread_hold_time(thread);
            thread->state = SIM_THREAD_HOLDING;
            sim_thread_run_after(thread,
                                 hfi_time_until(thread->sim->world.now, thread->hold_until));
            return;
        }
    } else if (ask->result == HF_OK) {
        thread->handle[thread->depth++] = ask->handle;
        ask->handle->cookie = thread;
        if (thread->depth == 1) {
            thread->told = false;
            thread->hold_until = thread->sim->world.now + sim_thread_hold_time(thread);
        }
    }
    if (thread->depth == 0) {
        sim_thread_rest(thread);
        return;
    }
    thread->state = SIM_THREAD_HOLDING;
    sim_thread_run_after(thread, 0);
}

/* A latch is set, counted down, or deleted. True: that is what is done this time. */
static bool count(struct sim_thread *thread, hfi_time now)
{
    enum hfi_verb verb = HFI_LATCH_DOWN;
    uint64_t dice = sim_below(&thread->random, 100);

    if (thread->lock->theme != SIM_LATCH || dice < 40)
        return false;
    if (dice < 60)
        verb = HFI_LATCH_SET;
    else if (dice < 65)
        verb = HFI_LATCH_DELETE;
    thread->state = SIM_THREAD_CALLING;
    thread->is_new = false;
    if (sim_object(&thread->ask, now, thread->lock, verb,
                   1 + (int64_t)sim_below(&thread->random, 3)))
        sim_thread_rest(thread);
    return true;
}

static void acquire(struct sim_thread *thread, hfi_time now)
{
    if (thread->depth == 0 && sim_several_begin(thread, now))
        return;
    if (thread->depth == 0)
        thread->lock = choose_lock(thread);
    if (count(thread, now))
        return;
    choose_how(thread);
    thread->state = SIM_THREAD_CALLING;
    thread->is_new = false;
    if (thread->async) {
        sim_acquire_start(&thread->ask, now);
        if (!thread->ask.in_progress) {
            acquired(thread);
            return;
        }
    } else if (sim_acquire(&thread->ask, now)) {
        acquired(thread);
        return;
    }
    sim_thread_plan_cancel(thread);
}

/* The owner that holds the lock enters it again. */
static void reenter(struct sim_thread *thread, hfi_time now)
{
    const struct hfi_hold *hold = thread->handle[0]->handle.hold;
    uint64_t owner = hold->owner;
    uint8_t kind = hold->owner_kind;

    choose_how(thread);
    if (sim_below(&thread->random, 2)) /* else in another kind, if there are any */
        thread->ask.waiter.kind = hold->lease.kind;
    thread->ask.waiter.owner = owner;
    thread->ask.waiter.owner_kind = kind;
    thread->ask.waiter.named = kind == SIM_OWNER_NAMED;
    if (!thread->ask.waiter.once && thread->ask.waiter.wait_ns == HF_TIME_NEVER)
        thread->ask.waiter.wait_ns = thread->sim->plan.ttl_ms * HFI_MSEC;
    if (thread->lock->theme == SIM_PERMITS) /* who has some and waits for more is in its own way */
        thread->ask.waiter.wait_ns = 5 * HFI_MSEC;
    thread->state = SIM_THREAD_CALLING;
    thread->is_new = false;
    if (sim_acquire(&thread->ask, now))
        acquired(thread);
}

/* ------------------------------------------------------------------------------------------------
 * Release
 */

static void released(struct sim_thread *thread)
{
    if (thread->depth == 0) {
        sim_thread_rest(thread);
        return;
    }
    thread->state = SIM_THREAD_HOLDING;
    sim_thread_run_after(thread, 0);
}

/* What a semaphore gave. */
static void give_permits(struct sim_thread *thread, hfi_time now)
{
    uint32_t permits = thread->permits;

    thread->permits = 0;
    thread->state = SIM_THREAD_CALLING;
    thread->is_new = false;
    if (sim_object(&thread->ask, now, thread->lock, HFI_SEMAPHORE_RELEASE, permits))
        sim_thread_rest(thread);
}

static void release(struct sim_thread *thread, hfi_time now)
{
    struct sim_handle *handle = thread->handle[--thread->depth];

    /* A writer that reads may give either back first. */
    if (thread->depth == 1 && thread->sim->plan.kinds && sim_below(&thread->random, 2)) {
        struct sim_handle *other = thread->handle[0];

        thread->handle[0] = handle;
        handle = other;
    }

    thread->state = SIM_THREAD_CALLING;
    thread->is_new = false;
    if (thread->async)
        sim_release_start(thread->process, now, handle);
    else if (sim_release(&thread->ask, now, handle))
        released(thread);
}

/* The client was closed: handles are only freed. */
static void drop_handles(struct sim_thread *thread)
{
    const struct sim_ask *ask = &thread->ask;

    if (thread->state == SIM_THREAD_CALLING && thread->is_new && ask->kind == SIM_ASK_ACQUIRE &&
        ask->result == HF_OK && ask->handle)
        thread->handle[thread->depth++] = ask->handle; /* it had just come back */
    thread->is_new = false;
    thread->permits = 0;
    sim_several_drop(thread);
    while (thread->depth > 0) {
        struct sim_handle *handle = thread->handle[--thread->depth];

        if (thread->async)
            sim_release_start(thread->process, 0, handle);
        else
            sim_release(&thread->ask, 0, handle);
    }
}

/* ------------------------------------------------------------------------------------------------
 * At work
 */

static void work_with(struct sim_thread *thread, hfi_time now, struct sim_handle *handle)
{
    bool lost = sim_handle_state(handle) == HF_LOST;
    uint64_t dice = sim_below(&thread->random, 100);
    hfi_time left = hfi_time_until(thread->sim->world.now, thread->hold_until);

    if (left == 0 || ((lost || thread->told) && dice < 60)) {
        release(thread, now);
        return;
    }
    if (dice < 50) {
        sim_write(thread, handle);
    } else if (dice < 58) {
        thread->state = SIM_THREAD_CALLING;
        thread->is_new = false;
        if (!thread->async && !sim_verify(&thread->ask, now, handle))
            return;
        thread->state = SIM_THREAD_HOLDING;
    } else if (dice < 66 && thread->depth < SIM_DEPTH_MAX && !thread->async && !lost) {
        reenter(thread, now);
        return;
    }
    sim_thread_run_after(thread, 1 + sim_below(&thread->random, left));
}

static void work(struct sim_thread *thread, hfi_time now)
{
    if (thread->several.state == SIM_SEVERAL_HELD)
        sim_several_work(thread, now);
    else if (thread->permits)
        give_permits(thread, now);
    else
        work_with(thread, now, thread->handle[thread->depth - 1]);
}

/* Its call has come back. */
static void look(struct sim_thread *thread, hfi_time now)
{
    thread->is_new = false;
    if (thread->several.state != SIM_SEVERAL_NONE) {
        sim_several_look(thread, now);
        return;
    }
    switch (thread->ask.kind) {
    case SIM_ASK_ACQUIRE:
        acquired(thread);
        break;
    case SIM_ASK_RELEASE:
        released(thread);
        break;
    case SIM_ASK_OBJECT:
        sim_thread_rest(thread);
        break;
    default:
        thread->state = SIM_THREAD_HOLDING;
        sim_thread_run_after(thread, 0);
    }
}

static void run(void *arg)
{
    struct sim_thread *thread = arg;
    struct sim_process *process = thread->process;
    hfi_time now;

    if (process->life == SIM_LIFE_CLOSED) {
        drop_handles(thread);
        thread->state = SIM_THREAD_DONE;
        return;
    }
    if (!sim_process_enter(process, &thread->timer, &now))
        return;
    if (thread->state == SIM_THREAD_CALLING && thread->is_new)
        look(thread, now);
    else if (thread->state == SIM_THREAD_RESTING && thread->sim->threads->draining)
        thread->state = SIM_THREAD_DONE;
    else if (thread->state == SIM_THREAD_RESTING)
        acquire(thread, now);
    else if (thread->state == SIM_THREAD_HOLDING)
        work(thread, now);
    sim_process_leave(process);
}

/* A moment between two members, in which it may be cancelled. */
static void wait_between(struct sim_thread *thread)
{
    sim_thread_run_after(thread, sim_below(&thread->random, 20 * HFI_USEC));
    if (thread->sim->plan.restless && sim_below(&thread->random, 8) == 0)
        sim_after(&thread->sim->world, &thread->canceller,
                  sim_below(&thread->random, 20 * HFI_USEC));
}

static void returned(struct sim_ask *ask)
{
    struct sim_thread *thread = ask->arg;

    thread->is_new = true;
    sim_thread_run_after(thread, 0);
    if (thread->several.state == SIM_SEVERAL_TAKING && thread->async)
        wait_between(thread);
}

/* hf_cancel(); or the thread is cancelled while it waits, and another one takes its place. */
static void cancel(void *arg)
{
    struct sim_thread *thread = arg;
    bool several = thread->async && thread->several.state == SIM_SEVERAL_TAKING;
    hfi_time now;

    if (thread->state != SIM_THREAD_CALLING || thread->ask.kind != SIM_ASK_ACQUIRE ||
        (!thread->ask.in_progress && !several) ||
        !sim_process_enter(thread->process, &thread->canceller, &now))
        return;
    sim_never(&thread->sim->world, &thread->canceller);
    if (several)
        sim_several_cancel(thread);
    if (!thread->ask.in_progress ||
        (thread->async ? thread->ask.waiter.done : thread->ask.done && !thread->ask.waited)) {
        sim_process_leave(thread->process);
        return;
    }
    sim_cancel(&thread->ask, now);
    if (!thread->async) {
        thread->owner = ++thread->sim->threads->last_owner;
        acquired(thread);
    }
    sim_process_leave(thread->process);
}

/* Of all moments to be cancelled in, this one is the worst. */
void sim_workload_called(struct sim_ask *ask)
{
    struct sim_thread *thread = ask->arg;
    struct sim_world *world = &thread->sim->world;

    if (!thread->sim->plan.restless || sim_below(&thread->random, 16))
        return;
    if (ask->waited)
        sim_at(world, &ask->timer, sim_process_slow(thread->process, world->now));
    sim_after(world, &thread->canceller, sim_below(&thread->random, 60 * HFI_USEC));
}

/* ------------------------------------------------------------------------------------------------
 * Events
 */

static void acquire_event(const struct sim_event *event)
{
    struct sim_ask *ask = event->ask;

    free(ask->waiter.label);
    ask->waiter.label = NULL;
    ask->in_progress = false;
    ask->result = ask->waiter.result;
    if (ask->result == HF_OK && !is_hold(&ask->waiter)) {
        ask->result = sim_keep(ask, sim_process_now(ask->process));
    } else if (ask->result != HF_OK) {
        sim_handle_free(ask->handle);
        ask->handle = NULL;
    }
    sim_check_returned(ask);
    returned(ask);
}

void sim_thread_event(struct sim_process *process, const struct sim_event *event)
{
    struct sim_thread *thread;

    if (event->type == SIM_EVENT_ACQUIRE) {
        acquire_event(event);
        return;
    }
    thread = event->handle->cookie;
    if (event->type == SIM_EVENT_RELEASED) {
        process->sim->count.ops++;
        sim_handle_free(event->handle);
        if (thread->several.left > 0)
            thread->several.left--;
        thread->ask.kind = SIM_ASK_RELEASE;
        thread->is_new = true;
    } else if (event->news == HFI_NEWS_LOST) {
        thread->told = true;
    }
    if (thread->state == SIM_THREAD_HOLDING || event->type == SIM_EVENT_RELEASED)
        sim_thread_run_after(thread, 0);
}

/* ------------------------------------------------------------------------------------------------
 * Beginning and end
 */

void sim_thread_init(struct sim_thread *thread, struct sim_process *process, unsigned index)
{
    struct sim *sim = process->sim;

    thread->sim = sim;
    thread->process = process;
    sim_random_init(&thread->random, sim->plan.seed, 't', process->index * SIM_THREADS_MAX + index);
    thread->state = SIM_THREAD_DONE;
    sim_timer_init(&thread->timer, run, thread);
    sim_timer_init(&thread->canceller, cancel, thread);
    sim_ask_init(process, &thread->ask, returned, thread);
}

void sim_thread_start(struct sim_thread *thread)
{
    thread->owner = ++thread->sim->threads->last_owner;
    thread->async = thread->process->has_loop && sim_below(&thread->random, 2);
    thread->depth = 0;
    thread->permits = 0;
    sim_several_reset(thread);
    sim_thread_rest(thread);
}

void sim_thread_reset(struct sim_thread *thread)
{
    struct sim_ask *ask = &thread->ask;

    sim_never(&thread->sim->world, &thread->timer);
    sim_never(&thread->sim->world, &thread->canceller);
    sim_never(&thread->sim->world, &ask->timer);
    if (ask->in_progress && ask->kind == SIM_ASK_ACQUIRE && ask->waiter.done) {
        free(ask->waiter.label);
        ask->waiter.label = NULL;
    }
    ask->in_progress = false;
    thread->depth = 0;
    thread->permits = 0;
    sim_several_reset(thread);
    thread->state = SIM_THREAD_DONE;
}
