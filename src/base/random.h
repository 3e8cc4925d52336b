/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers for jitter. The host gives the seed, so a run of the simulator can be repeated.
 * Not for secrets. Source: Blackman and Vigna, xoshiro256**; seeded by their splitmix64.
 */
#ifndef HFI_BASE_RANDOM_H
#define HFI_BASE_RANDOM_H

#include <stdint.h>

struct hfi_random {
    uint64_t s[4];
};

void hfi_random_init(struct hfi_random *random, uint64_t seed);
uint64_t hfi_random_next(struct hfi_random *random);
/* Evenly distributed in 0 … limit - 1; limit 0 gives 0. */
uint64_t hfi_random_below(struct hfi_random *random, uint64_t limit);

#endif
