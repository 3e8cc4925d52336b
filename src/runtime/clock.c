/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/clock.h"

#include <time.h>

int hfi_clock_id(void)
{
    static int id = -1; /* any thread may find out first: they all find the same */
    struct timespec t;
    int known = __atomic_load_n(&id, __ATOMIC_RELAXED);

    if (known >= 0)
        return known;
    known = clock_gettime(CLOCK_BOOTTIME, &t) == 0 ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
    __atomic_store_n(&id, known, __ATOMIC_RELAXED);
    return known;
}

hfi_time hfi_now(void)
{
    struct timespec t;

    clock_gettime(hfi_clock_id(), &t);
    return (hfi_time)t.tv_sec * HFI_SEC + (hfi_time)t.tv_nsec;
}
