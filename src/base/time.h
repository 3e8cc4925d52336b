/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time: unsigned nanoseconds of the host's clock (CLOCK_BOOTTIME in production, the virtual clock in
 * the simulator). It enters as an argument; nothing below the runtime reads a clock.
 */
#ifndef HFI_BASE_TIME_H
#define HFI_BASE_TIME_H

#include <stdint.h>

typedef uint64_t hfi_time;

#define HF_TIME_NEVER UINT64_MAX

#define HFI_USEC UINT64_C(1000)
#define HFI_MSEC UINT64_C(1000000)
#define HFI_SEC  UINT64_C(1000000000)

/* a + b, or HF_TIME_NEVER where that is past the end of time. */
static inline hfi_time hfi_time_add(hfi_time a, hfi_time b)
{
    return a > HF_TIME_NEVER - b ? HF_TIME_NEVER : a + b;
}

/* How long from `now` until `then`; 0 when it is past. */
static inline hfi_time hfi_time_until(hfi_time now, hfi_time then)
{
    return then > now ? then - now : 0;
}

static inline hfi_time hfi_time_min(hfi_time a, hfi_time b)
{
    return a < b ? a : b;
}

static inline hfi_time hfi_time_max(hfi_time a, hfi_time b)
{
    return a > b ? a : b;
}

#endif
