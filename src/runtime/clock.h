/* SPDX-License-Identifier: Apache-2.0 */
/* The one place where production code reads a clock. */
#ifndef HFI_RUNTIME_CLOCK_H
#define HFI_RUNTIME_CLOCK_H

#include "base/time.h"

/* CLOCK_BOOTTIME: it counts time asleep, and is never set. Where it is absent, CLOCK_MONOTONIC. */
hfi_time hfi_now(void);
/* The clock that hfi_now() reads, for timers. */
int hfi_clock_id(void);

#endif
