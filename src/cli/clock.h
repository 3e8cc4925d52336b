/* SPDX-License-Identifier: Apache-2.0 */
/* The clock that leases run by: time suspended counts. */
#ifndef HFI_CLI_CLOCK_H
#define HFI_CLI_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLI_NEVER UINT64_MAX
#define CLI_MS    UINT64_C(1000000) /* nanoseconds */

/* Async-signal-safe. */
static inline uint64_t cli_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 * CLI_MS + (uint64_t)now.tv_nsec;
}

/* a + b, or CLI_NEVER where that is past the end of time. */
static inline uint64_t cli_later(uint64_t a, uint64_t b)
{
    return a > CLI_NEVER - b ? CLI_NEVER : a + b;
}

static inline uint64_t cli_earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* timerfd_settime() to an absolute time of this clock: in alarm.c. */
int hfi_cli_alarm_open(void);
void hfi_cli_alarm_set(int alarm, uint64_t when);
/* Empties it after it fired. */
void hfi_cli_alarm_clear(int alarm);

#endif
