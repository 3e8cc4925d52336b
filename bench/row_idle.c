/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that has nothing to do must not wake up: how often its threads do, with nothing held and
 * with one hold (which must be renewed, and shown to people). And how much memory `holdfast run`
 * takes while it waits.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"

#define SEC       UINT64_C(1000000000)
#define SETTLE_NS (5 * SEC / 2)

/* Voluntary context switches of all threads but this one. */
static int64_t switches(void)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    int64_t sum = 0;

    if (!folder)
        bench_die("/proc/self/task cannot be read");
    while ((entry = readdir(folder))) {
        char path[300];

        if (entry->d_name[0] == '.' || strtol(entry->d_name, NULL, 10) == (long)getpid())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        sum += bench_proc_number(path, "voluntary_ctxt_switches");
    }
    closedir(folder);
    return sum;
}

static double wakeups(uint64_t ns)
{
    int64_t before = switches();
    uint64_t start = bench_now();

    bench_nap(ns);
    return (double)(switches() - before) * 1e9 / (double)(bench_now() - start);
}

static void report_wakeups(const struct bench *bench, const char *store, const char *when,
                           enum bench_sense sense, uint64_t ns)
{
    struct bench_result result = {
        .row = "idle", .unit = "a second", .sense = sense, .target = 0, .value = wakeups(ns)
    };
    char what[100], note[100];

    snprintf(what, sizeof what, "idle client, %s, %s: wake-ups", store, when);
    snprintf(note, sizeof note, "%.0f in %.0f s", result.value * (double)ns / 1e9,
             (double)ns / 1e9);
    result.what = what;
    result.note = note;
    bench_report(bench, &result, NULL);
}

/* A pair first, so that threads and connections are there; then what lingers may pass. The hold is
 * long enough for people to be told of it: what that leaves behind must not wake us either. */
static void idle_client(const struct bench *bench, const char *store, const char *uri)
{
    uint64_t ns = (bench->quick ? 2 : 21) * SEC;
    hf_client *client = bench_open(uri);
    hf_hold *hold = NULL;

    bench_must(hf_acquire(client, "bench:idle", NULL, &hold), "hf_acquire");
    bench_must(hf_release(hold), "hf_release");
    bench_nap(SETTLE_NS);
    report_wakeups(bench, store, "nothing held", BENCH_AT_MOST, ns / 3);
    bench_must(hf_acquire(client, "bench:idle", NULL, &hold), "hf_acquire");
    bench_nap(SETTLE_NS);
    report_wakeups(bench, store, "one hold", BENCH_FOR_THE_RECORD, ns);
    bench_must(hf_release(hold), "hf_release");
    bench_nap(SETTLE_NS);
    report_wakeups(bench, store, "nothing held any more", BENCH_AT_MOST, ns);
    hf_close(client);
}

/* ------------------------------------------------------------------------------------------------
 * The command
 */

static double memory_of(pid_t pid, const char *key)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    return (double)bench_proc_number(path, key) / 1024;
}

static void waiting_command(const struct bench *bench, const char *store, const char *uri)
{
    char *argv[] = { (char *)bench->command, "run", "--store", (char *)uri,
                     "bench:wait",           "--",  "true",    NULL };
    struct bench_result result = {
        .row = "idle", .unit = "MB", .sense = BENCH_AT_MOST, .target = 8
    };
    hf_client *client = bench_open(uri);
    char what[100], note[100];
    hf_hold *hold = NULL;
    double anon;
    pid_t pid;

    bench_must(hf_acquire(client, "bench:wait", NULL, &hold), "hf_acquire");
    pid = bench_spawn(argv, false);
    bench_nap(2 * SEC);
    result.value = memory_of(pid, "Rss");
    anon = memory_of(pid, "Anonymous");
    snprintf(what, sizeof what, "holdfast run while it waits, %s: resident", store);
    snprintf(note, sizeof note, "%.1f MB of its own, %.1f MB of files", anon, result.value - anon);
    result.what = what;
    result.note = note;
    bench_report(bench, &result,
                 json_pack("{sfsf}", "anonymous", anon, "file", result.value - anon));
    bench_must(hf_release(hold), "hf_release");
    if (bench_wait(pid) != 0)
        bench_die("the waiting command failed");
    hf_close(client);
}

static void measure(const struct bench *bench, const char *store, const char *uri)
{
    idle_client(bench, store, uri);
    waiting_command(bench, store, uri);
}

/* Both stores at the same time, in a process each. */
void bench_idle(const struct bench *bench)
{
    struct bench_server server;
    char uri[512];
    pid_t pid;

    bench_server_start(bench, &server);
    snprintf(uri, sizeof uri, "sqlite:%s/idle.db", bench->folder);
    pid = bench_fork();
    if (pid == 0) {
        measure(bench, "embedded", uri);
        exit(EXIT_SUCCESS);
    }
    measure(bench, "Redis", server.uri);
    if (bench_wait(pid) != 0)
        bench_die("the embedded store could not be measured");
    bench_server_stop(&server);
}
