/* SPDX-License-Identifier: Apache-2.0 */
/* What no object of base may do; selftest.sh wants to see it caught. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "purity/samples.h"

int hfi_sample_base(void)
{
    struct timespec now;

    memset(&now, 0, sizeof now);
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0 || getenv("HOLDFAST_STORE"))
        return -1;
    return hfi_sample_core((int)now.tv_sec);
}
