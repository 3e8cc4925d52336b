/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants
 *   1. a timer with tick t >= wheel->tick is on the level of the highest 6-bit group in which t and
 *      wheel->tick differ (0 when they are equal), in the slot that this group of t names;
 *   2. so on each level occupied slots lie at or after the current one, and everything on a level is
 *      earlier than everything on the levels above;
 *   3. a timer with t < wheel->tick is in the due list;
 *   4. a bit of `occupied` is set exactly if that slot's list is not empty.
 */
#include "core/wheel.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <utlist.h>

#define DUE       (HFI_WHEEL_LEVELS * HFI_WHEEL_SLOTS)
#define SLOT_MASK (HFI_WHEEL_SLOTS - 1)
#define SPAN_BITS (HFI_WHEEL_LEVELS * HFI_WHEEL_SLOT_BITS)
#define SCAN_MAX  16 /* timers of a slot above level 0 looked at to find the soonest */

static unsigned highest_bit(uint64_t x)
{
    return 63u - (unsigned)__builtin_clzll(x);
}

static unsigned lowest_bit(uint64_t x)
{
    return (unsigned)__builtin_ctzll(x);
}

static uint64_t tick_of(hfi_time t)
{
    return t >> HFI_WHEEL_TICK_SHIFT;
}

/* Invariant 1. */
static unsigned list_for(const struct hfi_wheel *wheel, hfi_time expires_ns)
{
    uint64_t tick = tick_of(expires_ns);
    uint64_t last = wheel->tick | ((UINT64_C(1) << SPAN_BITS) - 1);
    unsigned level;

    if (tick < wheel->tick)
        return DUE;
    if (tick > last)
        tick = last;
    level = highest_bit((tick ^ wheel->tick) | 1) / HFI_WHEEL_SLOT_BITS;
    return level * HFI_WHEEL_SLOTS +
           (unsigned)((tick >> (level * HFI_WHEEL_SLOT_BITS)) & SLOT_MASK);
}

static void put(struct hfi_wheel *wheel, struct hfi_timer *timer)
{
    unsigned n = list_for(wheel, timer->expires_ns);

    DL_APPEND(wheel->list[n], timer);
    timer->place = (uint16_t)(n + 1);
    if (n != DUE)
        wheel->occupied[n / HFI_WHEEL_SLOTS] |= UINT64_C(1) << (n & SLOT_MASK);
}

static void take(struct hfi_wheel *wheel, struct hfi_timer *timer)
{
    unsigned n = timer->place - 1u;

    DL_DELETE(wheel->list[n], timer);
    timer->place = 0;
    if (n != DUE && !wheel->list[n])
        wheel->occupied[n / HFI_WHEEL_SLOTS] &= ~(UINT64_C(1) << (n & SLOT_MASK));
}

void hfi_wheel_init(struct hfi_wheel *wheel, hfi_time now)
{
    memset(wheel, 0, sizeof *wheel);
    wheel->tick = tick_of(now);
    wheel->next_ns = HF_TIME_NEVER;
    wheel->next_known = true;
}

void hfi_wheel_set(struct hfi_wheel *wheel, struct hfi_timer *timer, hfi_time expires_ns)
{
    if (timer->place)
        hfi_wheel_remove(wheel, timer);
    if (expires_ns == HF_TIME_NEVER)
        return;
    timer->expires_ns = expires_ns;
    put(wheel, timer);
    if (wheel->next_known && expires_ns < wheel->next_ns)
        wheel->next_ns = expires_ns;
}

void hfi_wheel_remove(struct hfi_wheel *wheel, struct hfi_timer *timer)
{
    if (!timer->place)
        return;
    take(wheel, timer);
    if (timer->expires_ns <= wheel->next_ns)
        wheel->next_known = false;
}

/* The lowest level that has a timer; HFI_WHEEL_LEVELS when there is none. */
static unsigned lowest_level(const struct hfi_wheel *wheel)
{
    unsigned level = 0;

    while (level < HFI_WHEEL_LEVELS && !wheel->occupied[level])
        level++;
    return level;
}

/* The first tick of the first occupied slot of a level. */
static uint64_t slot_start(const struct hfi_wheel *wheel, unsigned level)
{
    unsigned shift = level * HFI_WHEEL_SLOT_BITS;
    uint64_t rotation = (UINT64_C(1) << (shift + HFI_WHEEL_SLOT_BITS)) - 1;

    return (wheel->tick & ~rotation) | ((uint64_t)lowest_bit(wheel->occupied[level]) << shift);
}

/* Empties a slot, placing each timer anew: to a lower level or the due list. */
static void cascade(struct hfi_wheel *wheel, unsigned level)
{
    unsigned slot = lowest_bit(wheel->occupied[level]);
    unsigned n = level * HFI_WHEEL_SLOTS + slot;
    struct hfi_timer *timer, *tmp, *list = wheel->list[n];

    wheel->list[n] = NULL;
    wheel->occupied[level] &= ~(UINT64_C(1) << slot);
    DL_FOREACH_SAFE (list, timer, tmp) {
        put(wheel, timer);
    }
}

/* Goes to the tick of `now`; timers of earlier ticks come into the due list. */
static void advance(struct hfi_wheel *wheel, uint64_t target)
{
    while (wheel->tick < target) {
        unsigned level = lowest_level(wheel);
        uint64_t start = level < HFI_WHEEL_LEVELS ? slot_start(wheel, level) : HF_TIME_NEVER;

        if (start > target) {
            wheel->tick = target;
            return;
        }
        assert(start >= wheel->tick);
        wheel->tick = start;
        if (level > 0) {
            cascade(wheel, level);
        } else if (start < target) {
            wheel->tick = start + 1; /* so that all of this slot are in the past */
            cascade(wheel, 0);
            /* The step may have entered a slot of a level above: keep invariant 1. */
            for (unsigned up = 1; up < HFI_WHEEL_LEVELS; up++)
                if (wheel->occupied[up] && slot_start(wheel, up) == wheel->tick)
                    cascade(wheel, up);
        }
    }
}

/* Those of the current tick that are due already. */
static void sort_out_current(struct hfi_wheel *wheel, hfi_time now)
{
    unsigned n = wheel->tick & SLOT_MASK;
    struct hfi_timer *timer, *tmp;

    DL_FOREACH_SAFE (wheel->list[n], timer, tmp) {
        if (timer->expires_ns > now)
            continue;
        take(wheel, timer);
        DL_APPEND(wheel->list[DUE], timer);
        timer->place = DUE + 1;
    }
}

struct hfi_timer *hfi_wheel_pop(struct hfi_wheel *wheel, hfi_time now)
{
    struct hfi_timer *timer;

    if (wheel->next_known && now < wheel->next_ns)
        return NULL;
    if (!wheel->list[DUE]) {
        advance(wheel, tick_of(now));
        sort_out_current(wheel, now);
        wheel->next_known = false;
    }
    timer = wheel->list[DUE];
    if (timer)
        hfi_wheel_remove(wheel, timer);
    return timer;
}

static hfi_time soonest_of(const struct hfi_wheel *wheel, unsigned level)
{
    unsigned n = level * HFI_WHEEL_SLOTS + lowest_bit(wheel->occupied[level]);
    hfi_time soonest = HF_TIME_NEVER;
    unsigned seen = 0;
    const struct hfi_timer *timer;

    DL_FOREACH (wheel->list[n], timer) {
        if (level > 0 && ++seen > SCAN_MAX)
            return slot_start(wheel, level) << HFI_WHEEL_TICK_SHIFT;
        soonest = hfi_time_min(soonest, timer->expires_ns);
    }
    return soonest;
}

hfi_time hfi_wheel_next(struct hfi_wheel *wheel)
{
    unsigned level;

    if (wheel->next_known)
        return wheel->next_ns;
    level = lowest_level(wheel);
    if (wheel->list[DUE])
        wheel->next_ns = 0;
    else
        wheel->next_ns = level < HFI_WHEEL_LEVELS ? soonest_of(wheel, level) : HF_TIME_NEVER;
    wheel->next_known = true;
    return wheel->next_ns;
}
