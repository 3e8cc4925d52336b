/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hashed hierarchical timing wheel, passive: it reads no clock and calls nobody.
 *
 * Timers keep their exact times. One that is due at t is never popped before t, and is popped by the first
 * call with now >= t. Adding and removing are O(1) whatever the number of timers; a timer moves down a
 * level at most HFI_WHEEL_LEVELS - 1 times in its life.
 *
 * Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (1987), scheme 7; the level of a
 * timer is the highest group of bits in which its tick differs from the current one.
 */
#ifndef HFI_CORE_WHEEL_H
#define HFI_CORE_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

#define HFI_WHEEL_TICK_SHIFT 20 /* a tick is 2^20 ns, about a millisecond */
#define HFI_WHEEL_SLOT_BITS  6
#define HFI_WHEEL_SLOTS      (1 << HFI_WHEEL_SLOT_BITS)
#define HFI_WHEEL_LEVELS     6 /* 2^36 ticks: two years; what is later waits in the last slot */

struct hfi_timer {
    struct hfi_timer *prev, *next;
    hfi_time expires_ns;
    uint16_t place; /* where it is: 0 nowhere, else the list's number + 1 */
    uint16_t kind;  /* the owner's: what to do */
};

struct hfi_wheel {
    uint64_t tick; /* the current one; everything before it is in the due list */
    uint64_t occupied[HFI_WHEEL_LEVELS];
    hfi_time next_ns; /* the soonest time, if next_known */
    bool next_known;
    struct hfi_timer *list[HFI_WHEEL_LEVELS * HFI_WHEEL_SLOTS + 1]; /* the last one: due */
};

void hfi_wheel_init(struct hfi_wheel *wheel, hfi_time now);
/* Sets the time of a timer that was zeroed before its first use; HF_TIME_NEVER removes it. */
void hfi_wheel_set(struct hfi_wheel *wheel, struct hfi_timer *timer, hfi_time expires_ns);
/* Nothing when it is not set. */
void hfi_wheel_remove(struct hfi_wheel *wheel, struct hfi_timer *timer);
/* Takes out a timer that is due at `now`, or NULL. `now` must not go back. */
struct hfi_timer *hfi_wheel_pop(struct hfi_wheel *wheel, hfi_time now);
/* When to call hfi_wheel_pop() at the latest: never later than the soonest timer; earlier only to move a
 * crowded slot down a level. HF_TIME_NEVER when there is none. */
hfi_time hfi_wheel_next(struct hfi_wheel *wheel);

static inline bool hfi_timer_is_set(const struct hfi_timer *timer)
{
    return timer->place != 0;
}

#endif
