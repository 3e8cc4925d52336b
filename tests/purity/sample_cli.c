/* SPDX-License-Identifier: Apache-2.0 */
/* A command that reaches past the public header; selftest.sh wants to see it caught. */
#include "holdfast/holdfast.h"
#include "purity/samples.h"

int hfi_sample_cli(void)
{
    return hf_version() ? hfi_sample_core(0) : 0;
}
