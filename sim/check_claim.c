/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims.
 *
 *   overlap   no two claims of a lock are valid at the same true time, but readers', and a writer's with its own
 *             reading; and of permits, no more than there are
 *   backed    while a claim can be valid, the store has the lock for it: its deadline, in true time, is not
 *             after the moment at which the store forgets it (so a claim that is too long is found without a
 *             rival who happens to come by)
 *   answered  its deadline is what an answered request says, and no more
 *   ceiling   nor is it after what max_hold or a fixed lease allow
 *   ended     what was once over is never valid again
 *   told      a loss is told once, at the latest at the deadline, and never taken back
 *   kept      calm runs: what is renewed is not lost
 *   risk      a hold whose renewals fail is AT_RISK in time
 *   passed    only what is HELD, and renewed, is passed on inside a process, for so long and so often
 *   parked    a hold that nobody has is taken, or goes back, before the time for passing is over
 *   entered   only its owner enters a hold again
 *   tokens    each claim's token is larger than all before, and of the block that the store gave
 *   unknown   no claim without an answer that gave it
 */
#include "checks.h"

#include <stdlib.h>

#include <utlist.h>

#define CALM_LATE_NS (5 * HFI_MSEC)

static struct sim_world *world_of(const struct sim_process *process)
{
    return &process->sim->world;
}

static bool is_excused(const struct sim_claim *claim)
{
    return claim->excused && !claim->process->sim->options->strict;
}

/* Clocks run so differently that nothing is promised. */
static bool time_is_excused(const struct sim *sim)
{
    return sim->plan.drift_ppm > SIM_DRIFT_INSIDE && !sim->options->strict;
}

bool sim_claim_is_valid(const struct sim_claim *claim)
{
    return hfi_hold_valid(claim->hold, sim_process_now(claim->process));
}

static struct sim_owner *owner_of(const struct sim_claim *claim)
{
    return sim_owner_find(claim->process, claim->owner, (enum hfi_kind)claim->kind);
}

uint64_t sim_check_claim_of(const struct sim_handle *handle)
{
    return handle->claim->number;
}

/* ------------------------------------------------------------------------------------------------
 * A claim that is valid
 */

/* Readers beside each other, and beside the write hold whose owner id one of them has. */
static bool are_compatible(const struct sim_claim *a, const struct sim_claim *b)
{
    bool same = a->process == b->process && a->owner == b->owner;

    if (a->kind == HFI_KIND_PERMITS || b->kind == HFI_KIND_PERMITS)
        return true; /* check_permits() */
    if (a->kind == HFI_KIND_READ && b->kind == HFI_KIND_READ)
        return !same;
    return same && a->kind + b->kind == HFI_KIND_READ + HFI_KIND_WRITE;
}

static void check_permits(const struct sim_claim *claim)
{
    const struct sim_lock *lock = claim->lock;
    const struct sim_claim *other;
    int64_t taken = 0;

    if (claim->kind != HFI_KIND_PERMITS || lock->uncounted || time_is_excused(claim->process->sim))
        return;
    DL_FOREACH2(lock->claims, other, lock_next)
    {
        if (!is_excused(other) && sim_claim_is_valid(other))
            taken += other->permits;
    }
    if (taken > lock->total)
        sim_violated(world_of(claim->process), "overlap", "%lld of the %lld permits of %s are held",
                     (long long)taken, (long long)lock->total, lock->name);
}

static void check_overlap(const struct sim_claim *claim)
{
    const struct sim_claim *other;

    if (time_is_excused(claim->process->sim))
        return;
    DL_FOREACH2(claim->lock->claims, other, lock_next)
    {
        if (other->hold == claim->hold || is_excused(other) || is_excused(claim) ||
            !sim_claim_is_valid(other) || are_compatible(claim, other))
            continue;
        sim_violated(world_of(claim->process), "overlap",
                     "%s is held by p%u (owner %llu, token %llu) and by p%u (owner %llu, token "
                     "%llu)",
                     claim->lock->name, other->process->index, (unsigned long long)other->owner,
                     (unsigned long long)other->token, claim->process->index,
                     (unsigned long long)claim->owner, (unsigned long long)claim->token);
    }
}

static void check_backed(const struct sim_claim *claim)
{
    struct sim *sim = claim->process->sim;
    hfi_time ends = sim_clock_when(&claim->process->host->clock, claim->deadline_ns), until;

    if (is_excused(claim) || time_is_excused(sim))
        return;
    if (!sim_store_has(sim, claim->lock, claim->process, claim->owner, (enum hfi_kind)claim->kind,
                       &until))
        sim_violated(&sim->world, "backed",
                     "p%u claims %s (owner %llu), which the store does not know",
                     claim->process->index, claim->lock->name, (unsigned long long)claim->owner);
    else if (ends > until)
        sim_violated(&sim->world, "backed",
                     "p%u claims %s (owner %llu) for %.3f ms longer than the store has it",
                     claim->process->index, claim->lock->name, (unsigned long long)claim->owner,
                     (double)(ends - until) / 1e6);
}

static void check_deadline(const struct sim_claim *claim)
{
    const struct sim_owner *owner = owner_of(claim);

    if (claim->deadline_ns > owner->bound_ns)
        sim_violated(world_of(claim->process), "answered",
                     "p%u claims %s (owner %llu) for %.3f ms longer than any answer allows",
                     claim->process->index, claim->lock->name, (unsigned long long)claim->owner,
                     (double)(claim->deadline_ns - owner->bound_ns) / 1e6);
    if (claim->deadline_ns > claim->ceiling_ns)
        sim_violated(world_of(claim->process), "ceiling", "p%u claims %s beyond what it asked for",
                     claim->process->index, claim->lock->name);
}

/* Without a fault a hold ends only because it was to end, and that is told in time. */
static void check_calm_end(const struct sim_claim *claim)
{
    const struct sim_owner *owner = owner_of(claim);
    hfi_time now = sim_process_now(claim->process);
    bool is_late = now > claim->deadline_ns + CALM_LATE_NS;

    if (!owner->fixed && claim->ceiling_ns == HF_TIME_NEVER)
        sim_violated(world_of(claim->process), "kept", "p%u loses %s without a fault",
                     claim->process->index, claim->lock->name);
    if (is_late && hfi_hold_state_of(claim->hold) != HFI_HOLD_LOST)
        sim_violated(world_of(claim->process), "told",
                     "p%u: %s is over since %.3f ms, and not LOST", claim->process->index,
                     claim->lock->name, (double)(now - claim->deadline_ns) / 1e6);
}

static void check_one(struct sim_claim *claim)
{
    hfi_time deadline = hfi_hold_deadline(claim->hold), before = claim->deadline_ns;
    bool moved = deadline != before;

    claim->lost |= hfi_hold_state_of(claim->hold) == HFI_HOLD_LOST;
    if (!sim_claim_is_valid(claim)) {
        if (!claim->over && claim->process->sim->plan.profile == SIM_CALM)
            check_calm_end(claim);
        claim->over = true;
        return;
    }
    if (claim->over || claim->lost ||
        (moved && before && claim->process->engine.now >= before)) /* nobody had looked meanwhile */
        sim_violated(world_of(claim->process), "ended",
                     "p%u: what it had of %s was over, and is valid again", claim->process->index,
                     claim->lock->name);
    if (!moved)
        return;
    claim->deadline_ns = deadline;
    check_deadline(claim);
    check_backed(claim);
    check_overlap(claim);
    check_permits(claim);
}

void sim_check_claims(struct sim_process *process)
{
    struct sim_claim *claim;

    DL_FOREACH (process->claims, claim) {
        if (!claim->inner)
            check_one(claim);
    }
}

/* Two thirds of the ttl have passed since the last answer, and the hold would be renewed. */
static void check_risk(const struct sim_claim *claim, hfi_time now)
{
    const struct sim_owner *owner = owner_of(claim);
    hfi_time ttl = owner->ttl_ms * HFI_MSEC,
             sent = owner->bound_ns - ttl + ttl / 100 + 2 * HFI_MSEC;

    if (owner->fixed || claim->ceiling_ns <= owner->bound_ns || now < sent + ttl / 3 * 2)
        return;
    sim_violated(world_of(claim->process), "risk",
                 "p%u: %s was not renewed for %.3f ms and is HELD", claim->process->index,
                 claim->lock->name, (double)(now - sent) / 1e6);
}

static void check_parked(struct sim_process *process, hfi_time now)
{
    const struct hfi_hold *hold;

    for (hold = process->engine.holds; hold; hold = hold->next)
        if (hfi_pass_parked(hold) && now >= hold->gate->pass_until_ns)
            sim_violated(world_of(process), "parked",
                         "p%u: %s is parked after the time for passing", process->index,
                         hold->gate->name);
}

void sim_check_ticked(struct sim_process *process, hfi_time now)
{
    const struct sim_claim *claim;

    DL_FOREACH (process->claims, claim) {
        enum hfi_hold_state state = hfi_hold_state_of(claim->hold);

        if ((state == HFI_HOLD_HELD || state == HFI_HOLD_AT_RISK) &&
            now >= hfi_hold_deadline(claim->hold))
            sim_violated(world_of(process), "told", "p%u: %s is past its deadline and not LOST",
                         process->index, claim->lock->name);
        if (state == HFI_HOLD_HELD && !claim->inner)
            check_risk(claim, now);
    }
    check_parked(process, now);
}

/* ------------------------------------------------------------------------------------------------
 * A new claim
 */

static struct sim_claim *claim_of_hold(const struct sim_process *process,
                                       const struct hfi_hold *hold)
{
    struct sim_claim *claim;

    DL_FOREACH (process->claims, claim) {
        if (claim->hold == hold)
            return claim;
    }
    return NULL;
}

/* The store has lost its counters, and its clock went back: nothing is promised of tokens. */
static bool may_shrink(const struct sim *sim, const struct sim_lock *lock)
{
    const struct sim_server *server = sim_service_server(sim, lock->service);

    return !sim->plan.library && server->lost_data && server->stepped_back && !sim->options->strict;
}

static void check_token(struct sim_claim *claim)
{
    struct sim *sim = claim->process->sim;
    bool excused = may_shrink(sim, claim->lock);
    uint64_t *last = &claim->lock->token[claim->kind == HFI_KIND_FENCED];

    if (hfi_kind_has_many((enum hfi_kind)claim->kind)) {
        if (claim->token)
            sim_violated(&sim->world, "tokens", "p%u has a token with its part of %s",
                         claim->process->index, claim->lock->name);
        return;
    }
    if (claim->kind == HFI_KIND_FENCED && sim_service_server(sim, claim->lock->service)->lost_data)
        excused = true; /* Redisson's counter knows no clock */
    if (claim->token <= *last && !is_excused(claim) && !excused)
        sim_violated(&sim->world, "tokens", "p%u has %s with token %llu after token %llu",
                     claim->process->index, claim->lock->name, (unsigned long long)claim->token,
                     (unsigned long long)*last);
    if (claim->token > *last || excused)
        *last = claim->token;
}

/* Only a hold in good order is passed on inside a process, and not for longer than others can be asked to wait. */
static void check_passed(const struct sim_claim *claim, struct sim_owner *owner)
{
    const struct sim_plan *plan = &claim->process->sim->plan;
    enum hfi_hold_state state = hfi_hold_state_of(claim->hold);
    hfi_time now = claim->process->engine.now;

    claim->process->sim->count.passed++;
    if (state != HFI_HOLD_HELD || owner->fixed || !hfi_kind_passes((enum hfi_kind)claim->kind))
        sim_violated(world_of(claim->process), "passed", "p%u passes %s on, which is %s",
                     claim->process->index, claim->lock->name,
                     owner->fixed ? "a fixed lease" : hfi_hold_state_name(state));
    if (owner->passes++ == 0)
        owner->passed_ns = now;
    if (owner->passes > plan->pass_count || now >= hfi_time_add(owner->passed_ns, plan->pass_ns))
        sim_violated(world_of(claim->process), "passed",
                     "p%u passes %s on %u times in %.3f ms, and keeps others waiting",
                     claim->process->index, claim->lock->name, (unsigned)owner->passes,
                     (double)(now - owner->passed_ns) / 1e6);
}

static void check_grant(const struct sim_claim *claim)
{
    const struct sim_owner *owner = owner_of(claim);

    if (claim->process->engine.now >= hfi_hold_deadline(claim->hold))
        sim_violated(world_of(claim->process), "unknown", "p%u is given %s after its deadline",
                     claim->process->index, claim->lock->name);
    if (!owner || !owner->granted || owner->retired || owner->released)
        sim_violated(world_of(claim->process), "unknown",
                     "p%u is given %s (owner %llu), which no answer has given it",
                     claim->process->index, claim->lock->name, (unsigned long long)claim->owner);
    else if (!hfi_kind_has_many((enum hfi_kind)claim->kind) &&
             (claim->token < owner->token_first || claim->token > owner->token_last))
        sim_violated(world_of(claim->process), "tokens",
                     "p%u has %s with token %llu, which was not given to owner %llu",
                     claim->process->index, claim->lock->name, (unsigned long long)claim->token,
                     (unsigned long long)claim->owner);
}

static struct sim_claim *new_claim(struct sim_process *process, const struct sim_ask *ask)
{
    struct sim_claim *claim = sim_alloc(sizeof *claim);
    hfi_time most = ask->waiter.max_hold_ns ? ask->waiter.max_hold_ns : HF_TIME_NEVER;

    claim->process = process;
    claim->lock = &process->sim->lock[ask->lock];
    claim->handle = ask->handle;
    claim->hold = ask->handle->handle.hold;
    claim->number = ++process->sim->claims;
    claim->owner = claim->hold->lease.owner;
    claim->token = ask->handle->handle.token;
    claim->kind = ask->waiter.kind;
    claim->permits = ask->waiter.permits;
    claim->since = process->sim->world.now;
    claim->ceiling_ns = hfi_time_add(process->engine.now, most);
    claim->entered_by = ask->waiter.owner;
    claim->entered_kind = ask->waiter.owner_kind;
    ask->handle->claim = claim;
    return claim;
}

static void reentered(struct sim_claim *claim, const struct sim_claim *outer)
{
    claim->inner = true;
    claim->number = outer->number;
    claim->excused = outer->excused;
    claim->process->sim->count.reentered++;
    if (claim->kind == HFI_KIND_PERMITS)
        sim_violated(world_of(claim->process), "entered", "p%u: permits of %s were given twice",
                     claim->process->index, claim->lock->name);
    if (claim->entered_by != outer->entered_by || claim->entered_kind != outer->entered_kind)
        sim_violated(world_of(claim->process), "entered",
                     "p%u: owner %llu entered %s, which owner %llu holds", claim->process->index,
                     (unsigned long long)claim->entered_by, claim->lock->name,
                     (unsigned long long)outer->entered_by);
    if (claim->token != outer->token)
        sim_violated(world_of(claim->process), "tokens",
                     "p%u: entering %s again gave another token", claim->process->index,
                     claim->lock->name);
}

void sim_check_granted(struct sim_process *process, struct sim_ask *ask)
{
    struct sim_claim *claim = new_claim(process, ask);
    const struct sim_claim *outer = claim_of_hold(process, claim->hold);
    struct sim_owner *owner = owner_of(claim);

    sim_mix(world_of(process), claim->token ^ (uint64_t)process->index << 56);
    sim_say(world_of(process), "p%u has %s: owner %llu token %llu%s", process->index,
            claim->lock->name, (unsigned long long)claim->owner, (unsigned long long)claim->token,
            outer ? ", entered again" : "");
    if (outer) {
        reentered(claim, outer);
    } else {
        claim->excused = owner && owner->excused;
        check_grant(claim);
        if (owner && claim->token > owner->token_first &&
            !hfi_kind_has_many((enum hfi_kind)claim->kind))
            check_passed(claim, owner);
    }
    DL_APPEND(process->claims, claim);
    DL_APPEND2(claim->lock->claims, claim, lock_prev, lock_next);
    if (outer)
        return;
    if (sim_claim_is_valid(claim))
        check_token(claim); /* else it came too late to be of use, and will be given back */
    check_one(claim);
}

/* ------------------------------------------------------------------------------------------------
 * The end of a claim
 */

void sim_check_told(struct sim_process *process, struct sim_handle *handle, enum hfi_news news)
{
    const struct hfi_hold *hold = handle->handle.hold;
    enum hfi_hold_state state = hfi_hold_state_of(hold);
    struct sim_claim *claim;

    if (news == HFI_NEWS_AT_RISK) {
        if (state != HFI_HOLD_AT_RISK || !handle->claim)
            sim_violated(world_of(process), "told", "p%u is told that %s is at risk, and it is %s",
                         process->index, hold->lease.name, hfi_hold_state_name(state));
        return;
    }
    if (!handle->claim)
        return; /* a semaphore's: what it gave is no lease */
    process->sim->count.lost++;
    if (state != HFI_HOLD_LOST || handle->claim->told)
        sim_violated(world_of(process), "told", "p%u is told of the loss of %s %s", process->index,
                     handle->claim->lock->name,
                     handle->claim->told ? "twice" : "and has not lost it");
    DL_FOREACH (process->claims, claim) {
        if (claim->hold == hold)
            claim->told = true;
    }
}

/* The program has read all events. */
void sim_check_drained(struct sim_process *process)
{
    const struct sim_claim *claim;

    DL_FOREACH (process->claims, claim) {
        if (hfi_hold_state_of(claim->hold) == HFI_HOLD_LOST && !claim->told)
            sim_violated(world_of(process), "told", "p%u was not told of the loss of %s",
                         process->index, claim->lock->name);
    }
}

static void take_out(struct sim_claim *claim)
{
    if (claim->out)
        return;
    claim->out = true;
    DL_DELETE(claim->process->claims, claim);
    DL_DELETE2(claim->lock->claims, claim, lock_prev, lock_next);
}

void sim_check_releasing(struct sim_handle *handle)
{
    struct sim_claim *claim = handle->claim, *other;

    if (!claim)
        return;
    claim->over |= !sim_claim_is_valid(claim);
    claim->lost |= hfi_hold_state_of(claim->hold) == HFI_HOLD_LOST;
    sim_say(world_of(claim->process), "p%u gives %s back%s", claim->process->index,
            claim->lock->name, claim->over ? ", which is over" : "");
    take_out(claim);
    if (claim->inner)
        return;
    other = claim_of_hold(claim->process, claim->hold);
    if (!other)
        return;
    other->inner = false; /* the outermost goes first: the next one stands for the hold */
    other->over = claim->over;
    other->deadline_ns = claim->deadline_ns;
    other->ceiling_ns = claim->ceiling_ns;
}

void sim_check_released(struct sim_process *process, struct sim_handle *handle, int result)
{
    const struct sim_claim *claim = handle->claim;
    const struct sim_owner *owner;

    if (!claim)
        return;
    owner = owner_of(claim);
    sim_mix(world_of(process), (uint64_t)(uint32_t)result ^ claim->token << 8);
    if (result != HF_OK)
        return;
    process->sim->count.released++;
    if (claim->lost)
        sim_violated(world_of(process), "released", "p%u: giving %s back was fine, but it was lost",
                     process->index, claim->lock->name);
    if (!claim->inner && owner->released && !owner->released_there && !process->sim->plan.library)
        sim_violated(world_of(process), "released",
                     "p%u: %s was given back, and the store has not seen it", process->index,
                     claim->lock->name);
}

/* An event that nobody took before the client was closed. */
void sim_check_discarded(struct sim_handle *handle)
{
    if (handle->claim)
        take_out(handle->claim);
}

void sim_check_handle_freed(struct sim_handle *handle)
{
    free(handle->claim);
    handle->claim = NULL;
}

/* The process is no more, or its client is closed. */
void sim_check_drop_claims(struct sim_process *process)
{
    while (process->claims)
        take_out(process->claims);
}

void sim_check_excuse(struct sim_process *process, uint64_t number)
{
    struct sim_claim *claim;

    for (int k = 0; k < 2; k++) {
        struct sim_owner *owner =
            sim_owner_find(process, number, k ? HFI_KIND_READ : HFI_KIND_MUTEX);

        if (owner)
            owner->excused = true;
    }
    DL_FOREACH (process->claims, claim) {
        if (claim->owner == number)
            claim->excused = true;
    }
}

void sim_check_write(struct sim *sim, struct sim_lock *lock, uint64_t token, uint64_t claim)
{
    if (token == lock->fenced_token && claim != lock->fenced_claim && lock->fenced_claim &&
        !may_shrink(sim, lock))
        sim_violated(&sim->world, "fence", "%s: writes of two claims came with the same token %llu",
                     lock->name, (unsigned long long)token);
}
