/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants
 *   1. a hold that is HELD or AT_RISK has its timer set, at the latest at its deadline;
 *   2. a hold is in at most one batch at a time (`renewing`), and is not freed while it is in any (`pins`);
 *   3. only an answer that says "kept", and comes before the deadline, moves the deadline; the new one is
 *      counted from when that request was sent;
 *   4. nothing is allocated here but by hfi_watchdog_reserve().
 */
#include "core/watchdog.h"

#include <assert.h>
#include <stdlib.h>

#include <utlist.h>

#include "core/engine.h"
#include "core/lease.h"

int hfi_watchdog_reserve(struct hfi_engine *engine, size_t holds)
{
    struct hfi_watchdog *dog = &engine->watchdog;
    size_t wanted = holds / HFI_RENEWAL_MAX + 1;

    if (engine->other_gates > 0)
        wanted += HFI_RENEWAL_CLASSES - 1;

    while (dog->batch_count < wanted) {
        struct hfi_batch *batch = calloc(1, sizeof *batch);

        if (!batch)
            return HF_ERR_NO_MEMORY;
        batch->renewal.items = batch->items;
        LL_PREPEND(dog->free_, batch);
        LL_PREPEND2(dog->all, batch, next_all);
        dog->batch_count++;
    }
    return HF_OK;
}

void hfi_watchdog_fini(struct hfi_engine *engine)
{
    struct hfi_batch *batch, *tmp;

    LL_FOREACH_SAFE2(engine->watchdog.all, batch, tmp, next_all)
    {
        free(batch);
    }
}

/* ------------------------------------------------------------------------------------------------
 * When
 */

static bool is_renewed(const struct hfi_hold *hold)
{
    return hold->renew_ns != HF_TIME_NEVER;
}

/* When to ask the store next. */
static hfi_time asks_at(const struct hfi_hold *hold)
{
    return hold->renewing ? HF_TIME_NEVER : hfi_time_min(hold->renew_ns, hold->look_ns);
}

void hfi_watchdog_set(struct hfi_engine *engine, struct hfi_hold *hold)
{
    hfi_time at = hfi_hold_deadline(hold);

    if (at >= hold->ceiling_ns) {
        at = hold->ceiling_ns;
        hfi_hold_set_deadline(hold, at);
        hold->renew_ns = HF_TIME_NEVER; /* it would not help */
    }
    at = hfi_time_min(at, asks_at(hold));
    if (is_renewed(hold) && hfi_hold_state_of(hold) == HFI_HOLD_HELD)
        at = hfi_time_min(at, hfi_lease_risk(hold->lease.request.sent_ns, hfi_hold_ttl(hold)));
    if (hfi_pass_parked(hold))
        at = hfi_time_min(at, hold->gate->pass_until_ns);
    hfi_wheel_set(&engine->wheel, &hold->timer, at);
}

void hfi_watchdog_confirmed(struct hfi_engine *engine, struct hfi_hold *hold, hfi_time sent_ns,
                            hfi_time ttl_ns)
{
    hold->lease.request.sent_ns = sent_ns;
    hfi_hold_set_deadline(hold,
                          hfi_time_min(hfi_lease_deadline(sent_ns, ttl_ns), hold->ceiling_ns));
    hold->renew_ns =
        hold->fixed ? HF_TIME_NEVER : hfi_lease_renewal(sent_ns, ttl_ns, &engine->random);
}

static void at_risk(struct hfi_engine *engine, struct hfi_hold *hold)
{
    if (hfi_hold_state_of(hold) != HFI_HOLD_HELD)
        return;
    hfi_hold_move(engine, hold, HFI_HOLD_AT_RISK);
    if (hold->handles)
        hfi_hold_set_news(engine, hold, HFI_NEWS_AT_RISK);
}

/* ------------------------------------------------------------------------------------------------
 * Asking
 */

uint32_t hfi_watchdog_ttl_ms(const struct hfi_hold *hold)
{
    return is_renewed(hold) ? hold->lease.ttl_ms : 0;
}

static void submit(struct hfi_engine *engine, hfi_time now, struct hfi_batch *batch)
{
    hfi_time shortest = HF_TIME_NEVER;

    for (size_t i = 0; i < batch->renewal.count; i++)
        shortest = hfi_time_min(shortest, batch->items[i].lease->ttl_ms * HFI_MSEC);
    hfi_engine_submit(engine, now, &batch->renewal.request, HFI_OP_RENEW, shortest);
}

static unsigned class_of(const struct hfi_hold *hold)
{
    switch ((enum hfi_kind)hold->lease.kind) {
    case HFI_KIND_WRITE:
        return 1;
    case HFI_KIND_READ:
        return 2;
    case HFI_KIND_PERMITS:
        return 3;
    default:
        return 0;
    }
}

static void flush(struct hfi_engine *engine, hfi_time now, unsigned class_)
{
    struct hfi_batch *batch = engine->watchdog.open[class_];

    if (!batch)
        return;
    engine->watchdog.open[class_] = NULL;
    submit(engine, now, batch);
}

void hfi_watchdog_flush(struct hfi_engine *engine, hfi_time now)
{
    for (unsigned i = 0; i < HFI_RENEWAL_CLASSES; i++)
        flush(engine, now, i);
}

/* Puts a hold into the batch that leaves at the end of this step; false: none is free now. */
static bool add_to_batch(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold)
{
    struct hfi_watchdog *dog = &engine->watchdog;
    unsigned class_ = class_of(hold);
    struct hfi_batch *batch = dog->open[class_];

    if (!batch) {
        batch = dog->free_;
        if (!batch)
            return false;
        LL_DELETE(dog->free_, batch);
        batch->renewal.count = 0;
        dog->open[class_] = batch;
    }
    batch->items[batch->renewal.count++] =
        (struct hfi_renewal_item){ .lease = &hold->lease, .ttl_ms = hfi_watchdog_ttl_ms(hold) };
    hold->renewing = true;
    hold->look_ns = HF_TIME_NEVER;
    hold->pins++;
    if (batch->renewal.count == HFI_RENEWAL_MAX)
        flush(engine, now, class_);
    return true;
}

/* Asks now, or soon when no batch is free: whether it is still held, and for more time if it is renewed. */
static void ask(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold)
{
    if (add_to_batch(engine, now, hold))
        return;
    hold->look_ns = now + HFI_RENEW_RETRY_MIN;
    if (is_renewed(hold))
        hold->renew_ns = hfi_time_max(hold->renew_ns, hold->look_ns);
}

void hfi_watchdog_timer(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold)
{
    if (now >= hfi_hold_deadline(hold)) {
        hfi_hold_lose(engine, now, hold, true);
        return;
    }
    if (hfi_pass_parked(hold) && now >= hold->gate->pass_until_ns) {
        hfi_pass_again(engine, now, hold);
        return;
    }
    if (is_renewed(hold) && now >= hfi_lease_risk(hold->lease.request.sent_ns, hfi_hold_ttl(hold)))
        at_risk(engine, hold);
    if (now >= asks_at(hold))
        ask(engine, now, hold);
    hfi_watchdog_set(engine, hold);
}

void hfi_watchdog_verify_all(struct hfi_engine *engine, hfi_time now)
{
    struct hfi_hold *hold;

    DL_FOREACH (engine->holds, hold) {
        if (!hfi_hold_valid(hold, now) || hold->renewing)
            continue;
        if (hold->lease.kind == HFI_KIND_SEMAPHORE)
            continue; /* it is no hold */
        ask(engine, now, hold);
        hfi_watchdog_set(engine, hold);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 */

static void kept(struct hfi_engine *engine, struct hfi_hold *hold,
                 const struct hfi_renewal *renewal, uint32_t ttl_ms)
{
    if (ttl_ms == 0)
        return; /* only looked */
    hfi_watchdog_confirmed(engine, hold, renewal->request.sent_ns, ttl_ms * HFI_MSEC);
    if (hfi_hold_state_of(hold) == HFI_HOLD_AT_RISK) {
        hfi_hold_move(engine, hold, HFI_HOLD_HELD);
        hfi_hold_set_news(engine, hold, HFI_NEWS_NONE);
    }
}

static void failed(struct hfi_engine *engine, hfi_time now, struct hfi_hold *hold)
{
    hfi_time most = hfi_time_max(hfi_hold_ttl(hold) / HFI_RENEW_RETRY_PART, HFI_RENEW_RETRY_MIN);

    if (hold->renew_ns == HF_TIME_NEVER)
        return; /* it was only a look */
    at_risk(engine, hold);
    hold->renew_ns = now + HFI_RENEW_RETRY_MIN + hfi_random_below(&engine->random, most);
}

static void item_answered(struct hfi_engine *engine, hfi_time now,
                          const struct hfi_renewal *renewal, const struct hfi_renewal_item *item)
{
    struct hfi_hold *hold = (struct hfi_hold *)item->lease;
    enum hfi_hold_state state = hfi_hold_state_of(hold);

    assert(hold->pins > 0);
    hold->pins--;
    hold->doubtful |= renewal->request.outcome != HFI_DONE;
    if (!renewal->request.host)
        hold->renewing = false;
    if (state != HFI_HOLD_HELD && state != HFI_HOLD_AT_RISK) {
        hfi_hold_settle(engine, hold);
        return;
    }
    if (now >= hfi_hold_deadline(hold)) {
        hfi_hold_lose(engine, now, hold, true);
        return;
    }
    if (renewal->request.outcome == HFI_DONE && !item->kept) {
        hfi_hold_lose(engine, now, hold, false);
        return;
    }
    if (renewal->request.outcome == HFI_DONE)
        kept(engine, hold, renewal, item->ttl_ms);
    else
        failed(engine, now, hold);
    hfi_watchdog_set(engine, hold);
}

void hfi_watchdog_answered(struct hfi_engine *engine, hfi_time now, struct hfi_renewal *renewal)
{
    for (size_t i = 0; i < renewal->count; i++)
        item_answered(engine, now, renewal, &renewal->items[i]);
    if (!renewal->request.host)
        LL_PREPEND(engine->watchdog.free_, (struct hfi_batch *)renewal);
}
