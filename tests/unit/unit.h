/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every unit test includes. Random tests draw from one generator that is seeded by a number, so that a
 * failure can be repeated:
 *   HF_TEST_SEEDS=N   run N seeds instead of the few that are enough for every day
 *   HF_TEST_SEED=N    begin with seed N
 */
#ifndef HFT_UNIT_H
#define HFT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

static inline uint64_t unit_number(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* How many seeds to run, and the first of them. */
static inline uint64_t unit_seeds(uint64_t every_day)
{
    return unit_number("HF_TEST_SEEDS", every_day);
}

static inline uint64_t unit_first_seed(void)
{
    return unit_number("HF_TEST_SEED", 1);
}

#define UNIT_COUNT(array) (sizeof(array) / sizeof(array)[0])

#endif
