/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 100,000 locks held by one process: what renewing them costs, and how much memory they take.
 *
 * The program only sleeps meanwhile, so the process's time on processors is the library's: renewals
 * and the heartbeat of what people see. It is measured over one ttl at least, after all was
 * announced. Beside it, what bare hiredis uses to format and send the same renewals and to read the
 * answers.
 */
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "bench.h"

#define SEC    UINT64_C(1000000000)
#define BATCH  64  /* locks a renewal */
#define FLIGHT 256 /* acquires in progress at once */
#define NAMES  "bench:many:%zu"

struct many {
    size_t count;
    int64_t ttl_ms;
    hf_client *client;
    hf_hold **holds;
    int64_t heap, resident; /* bytes that came with the holds */
};

/* Bytes that are allocated now, in all arenas, what malloc adds to them included. */
static int64_t heap_in_use(void)
{
    char *text = NULL, *at, *total;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);
    int64_t use = 0;

    if (!file || malloc_info(0, file) != 0)
        bench_die("malloc_info() failed");
    fclose(file);
    total = strstr(text, "</heap>\n<total ");
    for (at = total; at && (at = strstr(at, "</heap>\n<total ")); at++)
        total = at;
    if (!total)
        bench_die("malloc_info() says something that is not understood");
    if ((at = strstr(total, "type=\"fast\"")) && (at = strstr(at, "size=\"")))
        use -= strtoll(at + 6, NULL, 10);
    if ((at = strstr(total, "type=\"rest\"")) && (at = strstr(at, "size=\"")))
        use -= strtoll(at + 6, NULL, 10);
    if ((at = strstr(total, "type=\"mmap\"")) && (at = strstr(at, "size=\"")))
        use += strtoll(at + 6, NULL, 10);
    if ((at = strstr(total, "<system type=\"current\"")) && (at = strstr(at, "size=\"")))
        use += strtoll(at + 6, NULL, 10);
    free(text);
    return use;
}

static int64_t resident(void)
{
    return 1024 * bench_proc_number("/proc/self/smaps_rollup", "Rss");
}

static void start_one(const struct many *many, size_t number)
{
    char name[BENCH_NAME_MAX];

    snprintf(name, sizeof name, NAMES, 100000 + number);
    bench_must(hf_acquire_start(many->client, name, HF_ACQUIRE(.ttl_ms = many->ttl_ms), NULL),
               "hf_acquire_start");
}

static void take_all(struct many *many)
{
    struct pollfd polled = { .fd = hf_fd(many->client), .events = POLLIN };
    struct hf_event event = { .size = sizeof event };
    size_t started = 0, done = 0;
    int any;

    while (done < many->count) {
        while (started < many->count && started - done < FLIGHT)
            start_one(many, started++);
        poll(&polled, 1, -1);
        while ((any = hf_next(many->client, &event)) == 1) {
            if (event.type != HF_EVENT_ACQUIRED)
                bench_die("a lock was not acquired: %s", hf_strerror(event.error));
            many->holds[done++] = event.hold;
        }
        bench_must(any, "hf_next");
    }
}

/* Memory before and after; what the first holds bring with them for good is not counted. */
static void fill(struct many *many)
{
    hf_hold *first = NULL;
    int64_t heap_before, resident_before;

    many->holds = malloc(many->count * sizeof(hf_hold *));
    if (!many->holds)
        bench_die("out of memory");
    memset(many->holds, 1, many->count * sizeof(hf_hold *));
    bench_must(hf_acquire(many->client, "bench:first", NULL, &first), "hf_acquire");
    bench_must(hf_release(first), "hf_release");
    heap_before = heap_in_use();
    resident_before = resident();
    take_all(many);
    many->heap = heap_in_use() - heap_before;
    many->resident = resident() - resident_before;
}

/* Announcements come after the holds, 32 at a time; they end when the calls become as many as
 * renewals are. */
static void await_quiet(const struct many *many, redisContext *redis)
{
    double renewals = (double)many->count / BATCH * 3000.0 / (double)many->ttl_ms;
    uint64_t until = bench_now() + 15 * SEC;
    double calls;

    do {
        int64_t before = bench_calls(redis, "evalsha");

        bench_nap(SEC);
        calls = (double)(bench_calls(redis, "evalsha") - before);
    } while (calls > 2 * renewals && bench_now() < until);
}

/* Nanoseconds of processor for each renewed lock, by hiredis alone. */
static double bare_cost(redisContext *redis)
{
    struct bench_renewal *renewal = bench_bare_renewal_new(BATCH);
    double costs[5];

    for (size_t i = 0; i < 5; i++) {
        uint64_t before;

        bench_bare_renew(redis, renewal);
        before = bench_cpu_now();
        for (int n = 0; n < 200; n++)
            bench_bare_renew(redis, renewal);
        costs[i] = (double)(bench_cpu_now() - before) / (200.0 * BATCH);
    }
    bench_bare_renewal_free(renewal);
    return bench_median(costs, 5);
}

static size_t still_held(const struct many *many)
{
    size_t held = 0;

    for (size_t i = 0; i < many->count; i++)
        held += hf_hold_state(many->holds[i]) == HF_HELD;
    return held;
}

static void report_cpu(const struct bench *bench, const struct many *many, redisContext *redis,
                       double used_ns, double passed_ns, double renewed)
{
    struct bench_result result = { .row = "many",
                                   .unit = "%",
                                   .sense = BENCH_AT_MOST,
                                   .target = 5,
                                   .value = 100 * used_ns / passed_ns };
    double bare = bare_cost(redis), each = used_ns / renewed;
    char what[100], note[300];

    snprintf(what, sizeof what, "%zu holds, ttl %lld s, Redis: processor", many->count,
             (long long)many->ttl_ms / 1000);
    snprintf(note, sizeof note,
             "of one core over %.0f s; %.0f renewals of a lock per s, %.0f ns each; bare hiredis: "
             "%.0f ns each, which would be %.2f %%",
             passed_ns / 1e9, renewed / passed_ns * 1e9, each, bare,
             100 * bare * renewed / passed_ns);
    result.what = what;
    result.note = note;
    bench_report(bench, &result,
                 json_pack("{sf sf sf sf}", "renewals_per_s", renewed / passed_ns * 1e9,
                           "ns_per_renewal", each, "ns_per_renewal_baseline", bare, "ratio",
                           each / bare));
}

static void report_memory(const struct bench *bench, const struct many *many)
{
    double heap = (double)many->heap / (double)many->count;
    double rss = (double)many->resident / (double)many->count;
    struct bench_result result = { .row = "many",
                                   .what = "memory a hold: heap, with malloc's own",
                                   .unit = "bytes",
                                   .sense = BENCH_AT_MOST,
                                   .target = 600,
                                   .value = heap };
    char note[100];

    snprintf(note, sizeof note, "resident memory grew by %.0f bytes a hold; names of 17 bytes",
             rss);
    result.note = note;
    bench_report(bench, &result, json_pack("{sfsf}", "heap", heap, "resident", rss));
}

void bench_many(const struct bench *bench)
{
    /* Quick: as many renewals a second, for less long. */
    struct many many = { .count = bench->quick ? 20000 : 100000,
                         .ttl_ms = bench->quick ? 6000 : 30000 };
    uint64_t watch_ns = (bench->quick ? 6 : 33) * SEC, from, used;
    struct bench_server server;
    redisContext *redis;
    int64_t renewed;

    bench_server_start(bench, &server);
    redis = bench_connect(&server);
    bench_load_scripts(redis);
    many.client = bench_open(server.uri);
    fill(&many);
    await_quiet(&many, redis);
    renewed = bench_calls(redis, "pexpire");
    from = bench_now();
    used = bench_cpu_now();
    bench_nap(watch_ns);
    used = bench_cpu_now() - used;
    from = bench_now() - from;
    renewed = bench_calls(redis, "pexpire") - renewed;
    if (still_held(&many) != many.count)
        bench_die("only %zu of %zu holds are still held", still_held(&many), many.count);
    report_cpu(bench, &many, redis, (double)used, (double)from, (double)renewed);
    report_memory(bench, &many);
    bench_server_stop(&server);
    exit(EXIT_SUCCESS); /* giving all of them back is not measured */
}
