/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's clock: it shows base_local at true time base_true, and runs (1,000,000 + ppm) / 1,000,000 times as
 * fast. Integers only, exact, and never back. Nothing in the simulator that a node decides by is true time.
 */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include "base/time.h"

#define SIM_CLOCK_MILLION INT64_C(1000000)

struct sim_clock {
    hfi_time base_true, base_local;
    int64_t ppm;
};

/* What it shows at true time `now`, which is not before base_true. */
static inline hfi_time sim_clock_read(const struct sim_clock *clock, hfi_time now)
{
    uint64_t rate = (uint64_t)(SIM_CLOCK_MILLION + clock->ppm), million = SIM_CLOCK_MILLION;
    uint64_t passed = now - clock->base_true;

    return clock->base_local + passed / million * rate + passed % million * rate / million;
}

/* The first moment of true time at which it shows `local` or more. */
static inline hfi_time sim_clock_when(const struct sim_clock *clock, hfi_time local)
{
    uint64_t rate = (uint64_t)(SIM_CLOCK_MILLION + clock->ppm), million = SIM_CLOCK_MILLION;
    uint64_t passed;

    if (local == HF_TIME_NEVER)
        return HF_TIME_NEVER;
    if (local <= clock->base_local)
        return clock->base_true;
    passed = local - clock->base_local;
    return clock->base_true + passed / rate * million + (passed % rate * million + rate - 1) / rate;
}

#endif
