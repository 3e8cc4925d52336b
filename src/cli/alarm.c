/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms: a descriptor that is readable from a time of the lease's clock on. All async-signal-safe. */
#include <sys/timerfd.h>
#include <unistd.h>

#include "cli/clock.h"

int hfi_cli_alarm_open(void)
{
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

void hfi_cli_alarm_set(int alarm, uint64_t when)
{
    struct itimerspec timer = { .it_value = { 0, 0 } };

    if (when != CLI_NEVER) {
        timer.it_value.tv_sec = (time_t)(when / (1000 * CLI_MS));
        timer.it_value.tv_nsec = (long)(when % (1000 * CLI_MS));
        if (when == 0)
            timer.it_value.tv_nsec = 1; /* 0 would turn it off */
    }
    timerfd_settime(alarm, TFD_TIMER_ABSTIME, &timer, NULL);
}

void hfi_cli_alarm_clear(int alarm)
{
    uint64_t times;
    ssize_t ignored = read(alarm, &times, sizeof times);

    (void)ignored;
}
