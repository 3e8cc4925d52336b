/* SPDX-License-Identifier: Apache-2.0 */
/* Who wants locks: threads and event loops, as src/api and src/runtime bring their wishes to the engine. */
#include "fuzz/core.h"

#include <utlist.h>

/* ------------------------------------------------------------------------------------------------
 * Wishes
 */

/* A thread is in one call at a time. */
static bool is_in_a_call(const struct core *core, uint64_t thread)
{
    const struct call *call;

    DL_FOREACH (core->calls, call) {
        if (call->waiter.owner_kind == KIND_THREAD && call->waiter.owner == thread)
            return true;
    }
    return false;
}

static bool choose_owner(struct core *core, struct hfi_waiter *waiter)
{
    uint32_t who = choose(core, 8);

    if (who < THREADS) {
        waiter->owner_kind = KIND_THREAD;
        waiter->owner = 1 + who;
        return !is_in_a_call(core, waiter->owner);
    }
    if (who < 6) { /* two named ones: one by threads, one by an event loop */
        waiter->owner_kind = KIND_NAMED;
        waiter->named = true;
        waiter->owner = 1 + who % 2;
        waiter->direct = who == 5;
        return true;
    }
    waiter->owner_kind = KIND_FRESH;
    waiter->owner = ++core->fresh;
    waiter->direct = true;
    return true;
}

static void choose_options(struct core *core, struct hfi_waiter *waiter)
{
    static const uint32_t TTLS[] = { 30000, 300, 100, 5000 };
    static const hfi_time WAITS[] = { HF_TIME_NEVER, HFI_MSEC, 300 * HFI_MSEC, 5 * HFI_SEC };
    uint32_t how = choose(core, 256);

    waiter->ttl_ms = TTLS[how & 3];
    waiter->wait_ns = WAITS[how >> 2 & 3];
    waiter->once = (how >> 4 & 3) == 3;
    waiter->fixed = (how >> 6 & 3) == 3;
    if ((how >> 6 & 3) == 2)
        waiter->max_hold_ns = 150 * HFI_MSEC;
    if ((how >> 6 & 3) == 1)
        waiter->label = strdup("why");
}

void users_acquire(struct core *core)
{
    struct call *call;

    if (core->call_count >= CALLS_MAX || core->held_count >= HELD_MAX)
        return;
    call = fuzz_alloc(sizeof *call);
    if (!choose_owner(core, &call->waiter)) {
        free(call);
        return;
    }
    call->name = (int)choose(core, NAMES);
    call->waiter.name = CORE_NAMES[call->name];
    call->waiter.name_len = strlen(call->waiter.name);
    choose_options(core, &call->waiter);
    call->held = fuzz_alloc(sizeof *call->held);
    call->held->name = call->name;
    call->waiter.handle = &call->held->handle;
    call->waiter.cookie = call;
    call->number = ++core->call_number;
    call->begun = ++core->count;
    call->start_ns = core->engine.now > core->now ? core->engine.now : core->now;
    DL_APPEND(core->calls, call);
    core->call_count++;
    host_input(core, &(struct hfi_input){ .kind = HFI_INPUT_ACQUIRE, .u.waiter = &call->waiter });
}

void users_cancel(struct core *core, struct call *call)
{
    call->cancelled = true;
    host_input(core, &(struct hfi_input){ .kind = HFI_INPUT_CANCEL,
                                          .error = HF_ERR_CANCELLED,
                                          .u.waiter = &call->waiter });
}

void users_take(struct core *core, struct call *call)
{
    call->called = false;
    host_input(core, &(struct hfi_input){ .kind = HFI_INPUT_TAKE, .u.waiter = &call->waiter });
}

void users_release(struct core *core, struct held *held)
{
    DL_DELETE(core->helds, held);
    held->releasing = true;
    host_input(core, &(struct hfi_input){ .kind = HFI_INPUT_RELEASE, .u.handle = &held->handle });
}

void users_verify(struct core *core, struct held *held)
{
    struct check *check;

    if (hfi_hold_state_of(held->handle.hold) == HFI_HOLD_LOST || core->closed ||
        core->check_count >= CHECKS_MAX)
        return;
    check = fuzz_alloc(sizeof *check);
    check->renewal.count = 1;
    check->renewal.items = &check->item;
    check->renewal.request.host = check;
    check->item.lease = &held->handle.hold->lease;
    DL_APPEND(core->checks, check);
    core->check_count++;
    host_input(core, &(struct hfi_input){ .kind = HFI_INPUT_VERIFY, .u.renewal = &check->renewal });
}

void users_checked(struct core *core, struct hfi_request *request)
{
    struct check *check = request->host;

    DL_DELETE(core->checks, check);
    core->check_count--;
    free(check);
}

struct held *users_some_held(struct core *core)
{
    struct held *held = core->helds;

    for (uint32_t i = choose(core, HELD_MAX); held && i > 0; i--)
        held = held->next ? held->next : core->helds;
    return held;
}

struct call *users_some_call(struct core *core, bool called)
{
    struct call *call, *found = NULL;
    uint32_t skip = choose(core, CALLS_MAX);

    DL_FOREACH (core->calls, call) {
        if (called && !call->called)
            continue;
        found = call;
        if (skip-- == 0)
            break;
    }
    return found;
}

/* ------------------------------------------------------------------------------------------------
 * What they are told
 */

static void take_result(struct core *core, struct hfi_waiter *waiter)
{
    struct call *call = waiter->cookie;

    check_result(core, call);
    DL_DELETE(core->calls, call);
    core->call_count--;
    if (waiter->result == HF_OK) {
        DL_APPEND(core->helds, call->held);
        core->held_count++;
    } else {
        free(call->held);
    }
    free(waiter->label); /* NULL when the hold has taken it */
    free(call);          /* a second result would be of memory that is gone */
}

static void take_release(struct core *core, struct hfi_releaser *releaser)
{
    struct held *held = (struct held *)((char *)releaser - offsetof(struct held, handle.releaser));

    MUST(held->releasing);
    MUST(releaser->result == HF_OK || releaser->result == HF_ERR_LOST ||
         releaser->result == HF_ERR_UNSURE ||
         (releaser->result == HF_ERR_CLOSED && core->engine.closing));
    MUST(!held->told_lost || releaser->result != HF_OK);
    core->held_count--;
    free(held);
}

/* The world is good since before it was last confirmed: nothing keeps it from being renewed. What is confirmed
 * in the moment in which the world becomes good can have run out just before. */
static bool is_kept_up(const struct core *core, const struct hfi_hold *hold,
                       const struct owner *owner)
{
    return core->calm && !core->lied && !core->lock[core_name(hold->gate->name)].tampered &&
           owner->kept_ns > core->calm_ns && !hold->fixed && hold->ceiling_ns == HF_TIME_NEVER;
}

static void take_news(struct core *core, const struct hfi_handle *handle, enum hfi_news news)
{
    struct held *held = (struct held *)((char *)handle - offsetof(struct held, handle));
    struct owner *owner = core_owner(core, handle->hold->lease.owner);

    MUST(!held->releasing && !owner->told_lost);
    if (news == HFI_NEWS_AT_RISK) {
        MUST(hfi_hold_state_of(handle->hold) == HFI_HOLD_AT_RISK && !handle->hold->fixed);
        return;
    }
    MUST(news == HFI_NEWS_LOST && hfi_hold_state_of(handle->hold) == HFI_HOLD_LOST);
    MUST(!is_kept_up(core, handle->hold, owner));
    owner->told_lost = true;
    held->told_lost = true;
}

void users_hear(struct core *core)
{
    struct hfi_waiter *waiter;
    struct hfi_releaser *releaser;
    const struct hfi_handle *handle;
    enum hfi_news news;

    while ((waiter = hfi_engine_next_done(&core->engine)))
        take_result(core, waiter);
    while ((waiter = hfi_engine_next_woken(&core->engine)))
        ((struct call *)waiter->cookie)->called = true;
    while ((releaser = hfi_engine_next_released(&core->engine)))
        take_release(core, releaser);
    while ((handle = hfi_engine_next_news(&core->engine, &news)))
        take_news(core, handle, news);
}

/* Handles that are still out live longer than their engine. */
void users_free(struct core *core)
{
    struct held *held, *tmp;

    MUST(!core->calls && !core->checks);
    DL_FOREACH_SAFE (core->helds, held, tmp) {
        MUST(hfi_hold_state_of(held->handle.hold) == HFI_HOLD_GONE);
        hfi_engine_drop_handle(&held->handle);
        free(held);
    }
}
