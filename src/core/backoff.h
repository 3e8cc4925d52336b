/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long to wait before the next attempt: full jitter, a random time up to a bound that doubles.
 * Source: Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
 */
#ifndef HFI_CORE_BACKOFF_H
#define HFI_CORE_BACKOFF_H

#include <limits.h>

#include "base/random.h"
#include "base/time.h"

struct hfi_backoff {
    unsigned failures;
};

static inline void hfi_backoff_reset(struct hfi_backoff *backoff)
{
    backoff->failures = 0;
}

/* The next wait: in (0, min(first * 2^failures, most)]. */
static inline hfi_time hfi_backoff_next(struct hfi_backoff *backoff, struct hfi_random *random,
                                        hfi_time first, hfi_time most)
{
    hfi_time bound = first;

    for (unsigned i = 0; i < backoff->failures && bound < most; i++)
        bound *= 2;
    if (bound > most)
        bound = most;
    if (backoff->failures < UINT_MAX)
        backoff->failures++;
    return 1 + hfi_random_below(random, bound);
}

#endif
