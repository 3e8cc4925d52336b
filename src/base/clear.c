/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clear.h"

#include <string.h>

void hfi_clear(void *at, size_t size)
{
    memset(at, 0, size);
}
