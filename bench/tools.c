/* SPDX-License-Identifier: Apache-2.0 */
/* Time, statistics, processes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define SEC UINT64_C(1000000000)

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * SEC + (uint64_t)t.tv_nsec;
}

uint64_t bench_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t bench_cpu_now(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void bench_nap(uint64_t ns)
{
    struct timespec t = { .tv_sec = (time_t)(ns / SEC), .tv_nsec = (long)(ns % SEC) };

    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

void bench_die(const char *format, ...)
{
    va_list args;

    fputs("bench: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

void bench_must(int error, const char *what)
{
    if (error < 0)
        bench_die("%s: %s: %s", what, hf_strerror(error), hf_last_error());
}

/* ------------------------------------------------------------------------------------------------
 * Statistics
 */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t count, double q)
{
    double place = q * (double)(count - 1);
    size_t below = (size_t)place;
    double part = place - (double)below;

    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, compare);
    if (below + 1 >= count)
        return values[count - 1];
    return values[below] * (1 - part) + values[below + 1] * part;
}

double bench_median(double *values, size_t count)
{
    return bench_quantile(values, count, 0.5);
}

double bench_median_of(const double *values, size_t count)
{
    double *copy = calloc(count ? count : 1, sizeof *copy);
    double median;

    if (!copy)
        bench_die("out of memory");
    memcpy(copy, values, count * sizeof *copy);
    median = bench_median(copy, count);
    free(copy);
    return median;
}

/* ------------------------------------------------------------------------------------------------
 * Processes
 */

void *bench_share(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        bench_die("mmap: %s", strerror(errno));
    return at;
}

pid_t bench_fork(void)
{
    pid_t parent = getpid(), pid;

    fflush(NULL);
    pid = fork();
    if (pid < 0)
        bench_die("fork: %s", strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(EXIT_FAILURE);
    }
    return pid;
}

pid_t bench_spawn(char *const *argv, bool quiet)
{
    pid_t pid = bench_fork();
    int null;

    if (pid > 0)
        return pid;
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (quiet)
        dup2(null, STDERR_FILENO);
    execvp(argv[0], argv);
    fprintf(stderr, "bench: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

int bench_wait(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void bench_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    bench_wait(pid);
}

int64_t bench_proc_number(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    size_t len = strlen(key);
    int64_t number = -1;
    char line[256];

    if (!file)
        return -1;
    while (number < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, len) == 0 && line[len] == ':')
            number = strtoll(line + len + 1, NULL, 10);
    fclose(file);
    return number;
}
