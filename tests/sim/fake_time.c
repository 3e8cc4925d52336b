/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded into a real server (LD_PRELOAD): its wall clock shows the number of microseconds that is in the file
 * which HF_FAKE_TIME names. So what depends on time can be compared with a model to the last digit.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shown;

__attribute__((constructor)) static void find_it(void)
{
    const char *path = getenv("HF_FAKE_TIME");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *shown, PROT_READ, MAP_SHARED, fd, 0);

    if (mapped == MAP_FAILED)
        abort();
    close(fd);
    shown = mapped;
}

/* The parameter is declared differently by one C library and the next. */
int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    int64_t us = shown ? *shown : 0;

    (void)zone;
    tv->tv_sec = (time_t)(us / 1000000);
    tv->tv_usec = (suseconds_t)(us % 1000000);
    return 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int64_t us = shown ? *shown : 0;

    if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)
        return (int)syscall(SYS_clock_gettime, id, ts);
    ts->tv_sec = (time_t)(us / 1000000);
    ts->tv_nsec = (long)(us % 1000000 * 1000);
    return 0;
}

time_t time(time_t *to)
{
    time_t seconds = (time_t)((shown ? *shown : 0) / 1000000);

    if (to)
        *to = seconds;
    return seconds;
}
