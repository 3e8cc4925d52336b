/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wait.h"

#include <errno.h>
#include <time.h>

int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t now_ms(void)
{
    return now_us() / 1000;
}

void nap_us(long us)
{
    struct timespec nap = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

    while (nanosleep(&nap, &nap) != 0 && errno == EINTR)
        ;
}

/* Marsaglia's xorshift, 32 bits. */
uint32_t random_next(uint32_t *state)
{
    uint32_t x = *state ? *state : 1;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}
