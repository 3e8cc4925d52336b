/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that takes several locks as one hold, works, and gives them back together: the host of core/multi.c,
 * as src/api/multi.c is in production. Between two members its thread, or its event loop, runs late like all
 * others: it can be cancelled there, its process can be stopped or die.
 */
#include "workload.h"

#include <string.h>

#include "checks.h"

static struct sim_world *world_of(const struct sim_thread *thread)
{
    return &thread->sim->world;
}

static void give_up(struct sim_several *several)
{
    memset(several->handle, 0, sizeof several->handle);
    several->state = SIM_SEVERAL_NONE;
}

/* ------------------------------------------------------------------------------------------------
 * What is wanted
 */

static bool can_be_member(const struct sim_lock *lock)
{
    return lock->theme == SIM_LOCKS || lock->theme == SIM_PERMITS;
}

/* Two or three, in any order. */
static bool choose_locks(struct sim_thread *thread)
{
    struct sim *sim = thread->sim;
    struct sim_several *several = &thread->several;
    struct sim_lock *lock[SIM_LOCKS_MAX];
    size_t there = 0;

    for (unsigned i = thread->process->service; i < sim->plan.locks; i += sim->plan.services)
        if (can_be_member(&sim->lock[i]))
            lock[there++] = &sim->lock[i];
    if (there < 2)
        return false;
    several->count = 2 + sim_below(&thread->random, there < SIM_MEMBERS_MAX ? there - 1 : 2);
    for (size_t i = 0; i < several->count; i++) {
        size_t k = i + sim_below(&thread->random, there - i);

        several->lock[i] = lock[k];
        lock[k] = lock[i];
    }
    return true;
}

/* Each has a kind of its own; the rest is said once for all of them. */
static void choose_members(struct sim_thread *thread)
{
    struct sim_several *several = &thread->several;
    struct hfi_waiter *waiter = &thread->ask.waiter;

    for (size_t i = 0; i < several->count; i++) {
        struct hfi_waiter *member = &several->member[i], *first = &several->member[0];

        sim_thread_choose(thread, several->lock[i]);
        *member = *waiter;
        member->ttl_ms = first->ttl_ms;
        member->fixed = first->fixed;
        member->max_hold_ns = first->max_hold_ns;
        member->named = first->named;
        member->owner = first->owner;
        member->owner_kind = first->owner_kind;
    }
    several->once = several->member[0].once;
    several->wait_ns = several->member[0].wait_ns;
}

static void order(struct sim_several *several)
{
    struct hfi_member members[SIM_MEMBERS_MAX];
    size_t twice;

    for (size_t i = 0; i < several->count; i++)
        members[i] = (struct hfi_member){ .store = "service", .name = several->lock[i]->name };
    hfi_taking_init(&several->taking, members, several->count, &twice);
}

/* ------------------------------------------------------------------------------------------------
 * Taking
 */

/* What came of a member. */
static void took(struct sim_thread *thread)
{
    struct sim_several *several = &thread->several;
    struct sim_ask *ask = &thread->ask;
    struct sim_handle *handle = ask->result == HF_OK ? ask->handle : NULL;

    if (handle) {
        handle->cookie = thread;
        handle->several = several;
        several->handle[several->place] = handle;
    }
    hfi_taking_taken(&several->taking, ask->result, handle ? &handle->handle : NULL);
}

/* True: it came back at once. */
static bool take(struct sim_thread *thread, hfi_time now, const struct hfi_taking_step *step)
{
    struct sim_several *several = &thread->several;
    struct sim_ask *ask = &thread->ask;

    sim_check_several_takes(thread, now, step);
    thread->lock = several->lock[step->place];
    thread->state = SIM_THREAD_CALLING;
    thread->is_new = false;
    several->place = step->place;
    ask->lock = thread->lock->index;
    ask->waiter = several->member[step->place];
    ask->waiter.once = step->once;
    ask->waiter.wait_ns = step->once ? HF_TIME_NEVER : step->wait_ns;
    if (thread->async)
        sim_acquire_start(ask, now);
    else
        sim_acquire(ask, now);
    if (!ask->in_progress)
        return true;
    sim_thread_plan_cancel(thread);
    return false;
}

static void give_back(struct sim_several *several, struct hfi_handle *given)
{
    struct sim_handle *handle = (struct sim_handle *)given;

    for (size_t i = 0; i < several->count; i++)
        if (several->handle[i] == handle)
            several->handle[i] = NULL;
    sim_discard(handle);
}

static void ended(struct sim_thread *thread, hfi_time now, const struct hfi_taking_step *step)
{
    struct sim_several *several = &thread->several;
    bool held = step->act == HFI_TAKING_HELD;

    sim_never(world_of(thread), &thread->canceller);
    sim_check_several_ended(thread, now, step);
    thread->sim->count.several += held;
    if (!held) {
        give_up(several);
        sim_thread_rest(thread);
        return;
    }
    several->state = SIM_SEVERAL_HELD;
    thread->told = false;
    thread->hold_until = world_of(thread)->now + sim_thread_hold_time(thread);
    thread->state = SIM_THREAD_HOLDING;
    sim_thread_run_after(thread, 0);
}

/* Until a member is waited for, or to the end. */
static void go_on(struct sim_thread *thread)
{
    struct sim_several *several = &thread->several;
    struct hfi_taking_step step;

    for (;;) {
        hfi_time now = sim_process_now(thread->process);

        hfi_taking_next(&several->taking, now, &step);
        if (step.act == HFI_TAKING_HELD || step.act == HFI_TAKING_FAILED) {
            ended(thread, now, &step);
            return;
        }
        if (step.act == HFI_GIVE_BACK) {
            give_back(several, step.handle);
            continue;
        }
        if (!take(thread, now, &step))
            return;
        took(thread);
    }
}

bool sim_several_begin(struct sim_thread *thread, hfi_time now)
{
    struct sim_several *several = &thread->several;

    if (!thread->sim->plan.several || sim_below(&thread->random, 3) || !choose_locks(thread))
        return false;
    choose_members(thread);
    order(several);
    several->state = SIM_SEVERAL_TAKING;
    several->cancelled = false;
    several->until_local = several->once ? HF_TIME_NEVER : hfi_time_add(now, several->wait_ns);
    hfi_taking_begin(&several->taking, now, several->once, several->wait_ns);
    go_on(thread);
    return true;
}

void sim_several_acquired(struct sim_thread *thread)
{
    took(thread);
    go_on(thread);
}

void sim_several_cancel(struct sim_thread *thread)
{
    thread->several.cancelled = true;
    hfi_taking_cancel(&thread->several.taking);
}

/* ------------------------------------------------------------------------------------------------
 * At work, and the end
 */

static bool is_left(const struct sim_several *several)
{
    for (size_t i = 0; i < several->count; i++)
        if (several->handle[i])
            return true;
    return several->left > 0;
}

/* Blocking: one after another; with events: all at once. */
static void release(struct sim_thread *thread, hfi_time now)
{
    struct sim_several *several = &thread->several;

    thread->state = SIM_THREAD_CALLING;
    thread->is_new = false;
    several->state = SIM_SEVERAL_GIVING;
    for (size_t i = several->count; i-- > 0;) {
        struct sim_handle *handle = several->handle[i];

        if (!handle)
            continue;
        several->handle[i] = NULL;
        if (thread->async) {
            several->left++;
            sim_release_start(thread->process, now, handle);
        } else if (!sim_release(&thread->ask, now, handle)) {
            return;
        }
    }
    if (is_left(several))
        return;
    sim_check_several_given(thread);
    give_up(several);
    sim_thread_rest(thread);
}

void sim_several_look(struct sim_thread *thread, hfi_time now)
{
    struct sim_several *several = &thread->several;

    if (several->state == SIM_SEVERAL_TAKING) {
        sim_several_acquired(thread);
    } else if (several->state == SIM_SEVERAL_GIVING) {
        release(thread, now);
    } else {
        thread->state = SIM_THREAD_HOLDING;
        sim_thread_run_after(thread, 0);
    }
}

static void write(struct sim_thread *thread)
{
    struct sim_several *several = &thread->several;

    for (size_t i = 0; i < several->count; i++) {
        thread->lock = several->lock[i];
        sim_write(thread, several->handle[i]);
    }
}

void sim_several_work(struct sim_thread *thread, hfi_time now)
{
    struct sim_several *several = &thread->several;
    hfi_time left = hfi_time_until(world_of(thread)->now, thread->hold_until);
    uint64_t dice = sim_below(&thread->random, 100);
    size_t one = sim_below(&thread->random, several->count);
    bool lost = sim_check_several_worth(thread) == HF_LOST;

    if (left == 0 || ((lost || thread->told) && dice < 60)) {
        release(thread, now);
        return;
    }
    if (dice < 50 && !lost)
        write(thread);
    if (dice >= 92 && !thread->async) {
        thread->state = SIM_THREAD_CALLING;
        thread->is_new = false;
        if (!sim_verify(&thread->ask, now, several->handle[one]))
            return;
        thread->state = SIM_THREAD_HOLDING;
    }
    sim_thread_run_after(thread, 1 + sim_below(&thread->random, left));
}

void sim_several_drop(struct sim_thread *thread)
{
    struct sim_several *several = &thread->several;

    for (size_t i = 0; i < several->count && several->state != SIM_SEVERAL_NONE; i++) {
        if (!several->handle[i])
            continue;
        if (thread->async)
            sim_release_start(thread->process, 0, several->handle[i]);
        else
            sim_release(&thread->ask, 0, several->handle[i]);
    }
    sim_several_reset(thread);
}

void sim_several_reset(struct sim_thread *thread)
{
    thread->several.left = 0;
    give_up(&thread->several);
}
