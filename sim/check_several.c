/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several locks as one hold.
 *
 *   order    members are asked for in the one order: nobody who has one waits for another that comes before it
 *   all      success: all members are held, and valid at that moment; together they are worth what the worst of
 *            them is, until the earliest deadline
 *   none     after a failure, and after the release, the program has none of them, nor has anybody it took them for
 *   bounded  there is one end of the time for all members, and no failure for want of time before it
 *   called   after hf_cancel() nothing more is asked for, and it does not succeed
 *
 * Who has what is seen from the claims, whatever the code under test keeps of it.
 */
#include <string.h>

#include <utlist.h>

#include "checks.h"
#include "workload.h"

static struct sim_world *world_of(const struct sim_thread *thread)
{
    return &thread->sim->world;
}

static const struct sim_claim *claim_of(const struct sim_thread *thread,
                                        const struct sim_lock *lock)
{
    const struct sim_claim *claim;

    DL_FOREACH (thread->process->claims, claim) {
        if (claim->handle->several == &thread->several && claim->lock == lock)
            return claim;
    }
    return NULL;
}

static void check_order(const struct sim_thread *thread, const struct sim_lock *wanted)
{
    const struct sim_claim *claim;

    DL_FOREACH (thread->process->claims, claim) {
        if (claim->handle->several == &thread->several &&
            strcmp(claim->lock->name, wanted->name) >= 0)
            sim_violated(world_of(thread), "in order", "p%u has %s of several, and waits for %s",
                         thread->process->index, claim->lock->name, wanted->name);
    }
}

void sim_check_several_takes(const struct sim_thread *thread, hfi_time now,
                             const struct hfi_taking_step *step)
{
    const struct sim_several *several = &thread->several;

    check_order(thread, several->lock[step->place]);
    if (several->cancelled)
        sim_violated(world_of(thread), "called", "p%u was to end, and asks for %s, too",
                     thread->process->index, several->lock[step->place]->name);
    if (!step->once && hfi_time_add(now, step->wait_ns) > several->until_local)
        sim_violated(world_of(thread), "bounded",
                     "p%u waits for %s beyond the end of the time for all by %.3f ms",
                     thread->process->index, several->lock[step->place]->name,
                     (double)(now + step->wait_ns - several->until_local) / 1e6);
}

static void check_all(const struct sim_thread *thread)
{
    const struct sim_several *several = &thread->several;

    if (several->cancelled)
        sim_violated(world_of(thread), "called", "p%u was to end, and has all of several",
                     thread->process->index);
    for (size_t i = 0; i < several->count; i++) {
        const struct sim_claim *claim = claim_of(thread, several->lock[i]);

        if (!claim || !sim_claim_is_valid(claim))
            sim_violated(world_of(thread), "all", "p%u has several as one, and %s %s",
                         thread->process->index, several->lock[i]->name,
                         claim ? "is over" : "is not among them");
    }
}

static void check_none(const struct sim_thread *thread)
{
    const struct sim_claim *claim;

    DL_FOREACH (thread->process->claims, claim) {
        if (claim->handle->several == &thread->several)
            sim_violated(world_of(thread), "none", "p%u still has %s of several, and no other",
                         thread->process->index, claim->lock->name);
    }
}

/* For want of time it fails when the time is over. */
static void check_early(const struct sim_thread *thread, hfi_time now, int error)
{
    const struct sim_several *several = &thread->several;
    bool gave_up = error == HF_ERR_BUSY || error == HF_ERR_UNSURE || error == HF_ERR_UNREACHABLE;

    if (error == HF_ERR_UNSURE && several->member[several->place].kind == HFI_KIND_READ)
        return; /* what became of its write hold's owner id is not known */
    if (gave_up && !several->once && now < several->until_local)
        sim_violated(world_of(thread), "bounded", "p%u gives several up %.3f ms too soon",
                     thread->process->index, (double)(several->until_local - now) / 1e6);
}

void sim_check_several_ended(const struct sim_thread *thread, hfi_time now,
                             const struct hfi_taking_step *step)
{
    bool held = step->act == HFI_TAKING_HELD;

    sim_mix(world_of(thread), (uint64_t)(uint32_t)step->error ^ (uint64_t)held << 40);
    sim_say(world_of(thread), "p%u %s %zu as one: %s", thread->process->index,
            held ? "has" : "does not get", thread->several.count,
            held ? "all" : hf_strerror(step->error));
    if (held) {
        check_all(thread);
        sim_check_several_worth(thread);
    } else {
        check_none(thread);
        check_early(thread, now, step->error);
    }
}

void sim_check_several_given(const struct sim_thread *thread)
{
    check_none(thread);
}

int sim_check_several_worth(const struct sim_thread *thread)
{
    const struct sim_several *several = &thread->several;
    hfi_time now = sim_process_now(thread->process), deadline, first = HF_TIME_NEVER;
    struct hfi_handle *handles[SIM_MEMBERS_MAX];
    int state, worst = HF_HELD;

    for (size_t i = 0; i < several->count; i++) {
        int one = sim_handle_state(several->handle[i]);

        handles[i] = &several->handle[i]->handle;
        if (worst != HF_LOST && (one == HF_LOST || one > worst))
            worst = one;
        first = hfi_time_min(first, hfi_hold_deadline(handles[i]->hold));
    }
    state = hfi_multi_state_of(handles, several->count, now);
    deadline = hfi_multi_deadline_of(handles, several->count, now);
    if (state != worst)
        sim_violated(world_of(thread), "all", "p%u: several are in state %d, and one in %d",
                     thread->process->index, state, worst);
    if (deadline != (worst == HF_HELD || worst == HF_AT_RISK ? first : 0))
        sim_violated(world_of(thread), "all", "p%u: several end %.3f ms after the first of them",
                     thread->process->index, (double)((int64_t)deadline - (int64_t)first) / 1e6);
    return state;
}
