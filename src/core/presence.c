/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants
 *   1. a gate is in the dirty list exactly if it changed since it was last put into an announcement;
 *   2. while a gate is announced, or is in the announcement in flight, it is not freed;
 *   3. with dirty gates, or announced ones, the timer is set or an announcement is in flight.
 */
#include "core/presence.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "core/engine.h"

int hfi_presence_init(struct hfi_engine *engine)
{
    struct hfi_presence *presence;

    if (!engine->config.announces)
        return HF_OK;
    presence = calloc(1, sizeof *presence);
    if (!presence)
        return HF_ERR_NO_MEMORY;
    presence->timer.kind = HFI_TIMER_PRESENCE;
    presence->announcement.ttl_ns = HFI_ANNOUNCE_TTL;
    engine->presence = presence;
    return HF_OK;
}

void hfi_presence_fini(struct hfi_engine *engine)
{
    free(engine->presence);
    engine->presence = NULL;
}

static void add_dirty(struct hfi_presence *presence, struct hfi_gate *gate)
{
    if (gate->dirty)
        return;
    gate->dirty = true;
    DL_APPEND2(presence->dirty, gate, dirty_prev, dirty_next);
}

static void remove_dirty(struct hfi_presence *presence, struct hfi_gate *gate)
{
    if (!gate->dirty)
        return;
    gate->dirty = false;
    DL_DELETE2(presence->dirty, gate, dirty_prev, dirty_next);
}

void hfi_presence_mark(struct hfi_engine *engine, hfi_time now, struct hfi_gate *gate)
{
    struct hfi_presence *presence = engine->presence;
    hfi_time due;

    if (!presence || engine->closing)
        return;
    add_dirty(presence, gate);
    if (presence->in_flight)
        return;
    due = hfi_time_max(now + HFI_ANNOUNCE_DELAY, presence->next_ns);
    if (!hfi_timer_is_set(&presence->timer) || presence->timer.expires_ns > due)
        hfi_wheel_set(&engine->wheel, &presence->timer, due);
}

bool hfi_presence_forget(struct hfi_engine *engine, struct hfi_gate *gate)
{
    struct hfi_presence *presence = engine->presence;

    if (!presence)
        return true;
    if (gate->announced && !engine->closing)
        return false; /* it goes when people have been told */
    remove_dirty(presence, gate);
    return true;
}

/* Is there something to tell? That it only listens matters where something was told before; for a fair lock
 * nobody listens but to its own turn, and the store's queue shows who waits, but not who that is. */
static bool is_shown(const struct hfi_announcement_item *item, bool was_announced)
{
    if (item->kind == HFI_KIND_FAIR)
        return item->held || item->waiters > 0;
    return item->held || item->waiters > 0 || (was_announced && item->watching);
}

/* What people are to see of a gate's holds: the only one, or the oldest; NULL: none. */
static const struct hfi_hold *shown(const struct hfi_gate *gate)
{
    if (gate->kind == HFI_KIND_SEMAPHORE)
        return NULL; /* it is no hold */
    if (hfi_gate_got(gate))
        return &hfi_gate_got(gate)->hold;
    return gate->hold && hfi_hold_state_of(gate->hold) != HFI_HOLD_TRYING ? gate->hold : NULL;
}

static void describe(struct hfi_gate *gate, struct hfi_announcement_item *item)
{
    const struct hfi_hold *hold = shown(gate);

    memset(item, 0, sizeof *item);
    item->name = gate->name;
    item->name_len = gate->name_len;
    item->kind = gate->kind;
    item->permits = gate->permits;
    item->owner = gate->shown;
    item->waiters = gate->queue_len;
    item->watching = gate->wait && gate->wait->watched;
    if (gate->queue)
        item->waiting_since_ns = gate->queue->queued_ns;
    if (!hold)
        return;
    item->held = true;
    item->holds = hfi_gate_got(gate) ? gate->many.got_len : 1;
    item->owner = gate->shown = hold->lease.owner;
    item->token = hold->handles ? hold->handles->token : hold->lease.token;
    item->held_since_ns = hold->since_ns;
    if (hold->lease.label)
        strncpy(item->label, hold->lease.label, sizeof item->label - 1);
}

static void fill(struct hfi_engine *engine)
{
    struct hfi_presence *presence = engine->presence;
    struct hfi_announcement *announcement = &presence->announcement;
    struct hfi_gate *gate, *tmp;

    announcement->count = 0;
    DL_FOREACH_SAFE2(presence->dirty, gate, tmp, dirty_next)
    {
        struct hfi_announcement_item *item = &announcement->items[announcement->count];
        bool was_announced = gate->announced;

        if (announcement->count == HFI_ANNOUNCEMENT_MAX)
            return;
        describe(gate, item);
        remove_dirty(presence, gate);
        gate->announced = is_shown(item, was_announced);
        if (!was_announced && !gate->announced) {
            hfi_gate_settle(engine, gate); /* it came and went unseen */
            continue;
        }
        presence->announced += gate->announced;
        presence->announced -= was_announced;
        gate->refs++;
        presence->sent[announcement->count++] = gate;
    }
}

void hfi_presence_timer(struct hfi_engine *engine, hfi_time now)
{
    struct hfi_presence *presence = engine->presence;

    if (presence->in_flight || engine->closing)
        return;
    fill(engine);
    if (presence->announcement.count == 0 && presence->announced == 0)
        return; /* nothing to show, nothing to repeat */
    presence->in_flight = true;
    presence->next_ns = now + HFI_ANNOUNCE_PERIOD;
    hfi_engine_submit(engine, now, &presence->announcement.request, HFI_OP_ANNOUNCE, HF_TIME_NEVER);
}

/* What was in it is to be said again: also that there is nothing any more, since people may see it still. */
static void repeat(struct hfi_engine *engine)
{
    struct hfi_presence *presence = engine->presence;

    for (size_t i = 0; i < presence->announcement.count; i++) {
        struct hfi_gate *gate = presence->sent[i];

        presence->announced += !gate->announced;
        gate->announced = true;
        add_dirty(presence, gate);
    }
}

/* The store had nothing of us: say everything again. */
static void repeat_all(struct hfi_engine *engine)
{
    struct hfi_gate *gate, *tmp;

    HASH_ITER (hh, engine->gates, gate, tmp) {
        if (gate->announced)
            add_dirty(engine->presence, gate);
    }
}

void hfi_presence_answered(struct hfi_engine *engine, hfi_time now, struct hfi_request *request)
{
    struct hfi_presence *presence = engine->presence;
    bool done = request->outcome == HFI_DONE;

    if (request == &presence->farewell) {
        presence->farewell_done = true;
        return;
    }
    presence->in_flight = false;
    if (!done)
        repeat(engine);
    /* Without an answer it may have been told that all is forgotten, and only once. */
    if (done ? presence->announcement.forgotten : request->outcome == HFI_UNKNOWN)
        repeat_all(engine);
    for (size_t i = 0; i < presence->announcement.count; i++) {
        struct hfi_gate *gate = presence->sent[i];

        gate->refs--;
        hfi_gate_settle(engine, gate);
    }
    if (presence->dirty) /* a full one has more behind it */
        hfi_wheel_set(&engine->wheel, &presence->timer,
                      done && presence->announcement.count == HFI_ANNOUNCEMENT_MAX
                          ? now
                          : hfi_time_max(now, presence->next_ns));
    else if (presence->announced > 0)
        hfi_wheel_set(&engine->wheel, &presence->timer, now + HFI_HEARTBEAT);
}

void hfi_presence_close(struct hfi_engine *engine, hfi_time now)
{
    struct hfi_presence *presence = engine->presence;

    if (!presence || presence->farewell_sent || presence->in_flight)
        return; /* an announcement may be sent again, and is not to come after it */
    presence->farewell_sent = true;
    hfi_engine_submit(engine, now, &presence->farewell, HFI_OP_FAREWELL, HF_TIME_NEVER);
}

bool hfi_presence_quiet(const struct hfi_engine *engine)
{
    return !engine->presence || engine->presence->farewell_done;
}
