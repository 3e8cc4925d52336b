/* SPDX-License-Identifier: Apache-2.0 */
/* An object of core that keeps the rules. */
#include "purity/samples.h"

int hfi_sample_core(int depth)
{
    return depth > 1000 ? hfi_sample_base() : 0;
}
