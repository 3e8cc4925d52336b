/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

static uint64_t rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void hfi_random_init(struct hfi_random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        random->s[i] = splitmix(&seed);
}

uint64_t hfi_random_next(struct hfi_random *random)
{
    uint64_t *s = random->s;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t hfi_random_below(struct hfi_random *random, uint64_t limit)
{
    uint64_t threshold, x;

    if (limit == 0)
        return 0;
    threshold = (0 - limit) % limit; /* rejecting the first 2^64 mod limit leaves no bias */
    do
        x = hfi_random_next(random);
    while (x < threshold);
    return x % limit;
}
