/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-peer WHO PORT TTL_MS FOLDER: Holdfast and the floors, as docs/benchmarks.md describes the protocol.
 *
 *   holdfast         the library, with default options
 *   holdfast-fair    its fair kind
 *   holdfast-events  one thread that starts acquires and releases and takes their events: as many are under way
 *                    at once as there would be threads
 *   bare      Holdfast's two scripts by hiredis, and nothing else
 *   bare-set  SET NX PX and a script that compares and deletes, by hiredis: the least a lock can be
 *   flock     flock() on a file
 */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "../../bench.h"

#define THREADS_MAX 1000
#define HOLDS_MAX   100000
#define STAMPS      4 /* before and after the acquire, before and after the release */

struct lock {
    char name[BENCH_NAME_MAX];
    hf_hold *hold;
    redisContext *redis;
    struct bench_commands commands;
    int file;
};

struct worker {
    struct lock lock;
    pthread_t thread;
    uint64_t end, count;
    bool stamped;
    uint64_t *stamps;
    size_t room;
};

struct kind {
    const char *name;
    void (*prepare)(struct lock *lock);
    void (*acquire)(struct lock *lock);
    void (*release)(struct lock *lock);
};

static const char DELETE[] = "if redis.call('get',KEYS[1])==ARGV[1] then "
                             "return redis.call('del',KEYS[1]) else return 0 end";
static struct bench_server server;
static const char *folder;
static int64_t ttl_ms;
static hf_client *client;
static enum hf_mode mode;
static char delete_sha[64];

static void expect(redisReply *reply, bool good)
{
    if (!reply || !good)
        bench_die("the server answered something else than was expected");
    freeReplyObject(reply);
}

static void holdfast_prepare(struct lock *lock)
{
    (void)lock;
    if (!client)
        client = bench_open(server.uri);
}

static void holdfast_acquire(struct lock *lock)
{
    bench_must(
        hf_acquire(client, lock->name, HF_ACQUIRE(.ttl_ms = ttl_ms, .mode = mode), &lock->hold),
        "hf_acquire");
}

static void holdfast_release(struct lock *lock)
{
    bench_must(hf_release(lock->hold), "hf_release");
}

static void bare_prepare(struct lock *lock)
{
    lock->redis = bench_connect(&server);
    bench_load_scripts(lock->redis);
    bench_commands_init(&lock->commands, lock->name);
}

static void bare_acquire(struct lock *lock)
{
    if (!bench_bare_acquire(lock->redis, &lock->commands))
        bench_die("the floor found its lock taken");
}

static void bare_release(struct lock *lock)
{
    bench_bare_release(lock->redis, &lock->commands);
}

static void set_prepare(struct lock *lock)
{
    redisReply *reply;

    lock->redis = bench_connect(&server);
    reply = redisCommand(lock->redis, "SCRIPT LOAD %s", DELETE);
    if (reply && reply->type == REDIS_REPLY_STRING)
        snprintf(delete_sha, sizeof delete_sha, "%s", reply->str);
    expect(reply, reply && reply->type == REDIS_REPLY_STRING);
}

static void set_acquire(struct lock *lock)
{
    redisReply *reply =
        redisCommand(lock->redis, "SET %s 0123456789abcdef0123 NX PX 30000", lock->name);

    expect(reply, reply && reply->type == REDIS_REPLY_STATUS);
}

static void set_release(struct lock *lock)
{
    redisReply *reply =
        redisCommand(lock->redis, "EVALSHA %s 1 %s 0123456789abcdef0123", delete_sha, lock->name);

    expect(reply, reply && reply->type == REDIS_REPLY_INTEGER && reply->integer == 1);
}

static void flock_prepare(struct lock *lock)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s.lock", folder, lock->name);
    lock->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock->file < 0)
        bench_die("cannot open %s", path);
}

static void flock_acquire(struct lock *lock)
{
    if (flock(lock->file, LOCK_EX) != 0)
        bench_die("flock failed");
}

static void flock_release(struct lock *lock)
{
    flock(lock->file, LOCK_UN);
}

static const struct kind kinds[] = {
    { "holdfast", holdfast_prepare, holdfast_acquire, holdfast_release },
    { "holdfast-fair", holdfast_prepare, holdfast_acquire, holdfast_release },
    { "holdfast-events", holdfast_prepare, holdfast_acquire, holdfast_release },
    { "bare", bare_prepare, bare_acquire, bare_release },
    { "bare-set", set_prepare, set_acquire, set_release },
    { "flock", flock_prepare, flock_acquire, flock_release },
};
static const struct kind *kind;

static void stamp(struct worker *w, const uint64_t *at)
{
    size_t used = (size_t)w->count * STAMPS;

    if (used + STAMPS > w->room) {
        w->room = w->room ? 2 * w->room : 1 << 16;
        w->stamps = realloc(w->stamps, w->room * sizeof *w->stamps);
        if (!w->stamps)
            bench_die("out of memory");
    }
    memcpy(w->stamps + used, at, STAMPS * sizeof *at);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    uint64_t at[STAMPS];

    for (at[3] = 0; at[3] < w->end; w->count++) {
        at[0] = bench_now();
        kind->acquire(&w->lock);
        at[1] = bench_now();
        at[2] = at[1];
        kind->release(&w->lock);
        at[3] = bench_now();
        if (w->stamped)
            stamp(w, at);
    }
    return NULL;
}

static void print(const struct worker *w, int threads, uint64_t took)
{
    printf("{\"took\":%" PRIu64 ",\"counts\":[", took);
    for (int i = 0; i < threads; i++)
        printf("%s%" PRIu64, i ? "," : "", w[i].count);
    printf("],\"stamps\":[");
    for (uint64_t i = 0; w[0].stamps && i < w[0].count * STAMPS; i++)
        printf("%s%" PRIu64, i ? "," : "", w[0].stamps[i]);
    printf("]}\n");
}

/* A floor keeps all its pairs in flight on one connection: the faster of two ways counts. */
static void run_in_flight(const char *prefix, int count, uint64_t end)
{
    struct bench_commands *commands = calloc((size_t)count, sizeof *commands);
    redisContext *redis = bench_connect(&server);
    uint64_t start = bench_now(), half = (end - start) / 2;
    double batches, window;

    if (!commands)
        bench_die("out of memory");
    bench_load_scripts(redis);
    for (int i = 0; i < count; i++) {
        char name[BENCH_NAME_MAX];

        snprintf(name, sizeof name, "%s%d", prefix, i);
        bench_commands_init(&commands[i], name);
    }
    batches = bench_bare_batches(redis, commands, (size_t)count, half);
    window = bench_bare_window(redis, commands, (size_t)count, half);
    printf("{\"took\":%" PRIu64 ",\"counts\":[%.0f],\"stamps\":[]}\n", 2 * half,
           (batches > window ? batches : window) * 2 * (double)half / 1e9);
    redisFree(redis);
    free(commands);
}

static void set_append(redisContext *redis, const char *prefix, int i, bool acquire)
{
    if (acquire)
        redisAppendCommand(redis, "SET %s%d 0123456789abcdef0123 NX PX 30000", prefix, i);
    else
        redisAppendCommand(redis, "EVALSHA %s 1 %s%d 0123456789abcdef0123", delete_sha, prefix, i);
}

/* As the batches above: all locks are taken, then all are given back. */
static void run_sets_in_flight(const char *prefix, int count, uint64_t end)
{
    struct lock lock = { .name = "" };
    uint64_t start, pairs = 0;

    set_prepare(&lock);
    for (start = bench_now(); bench_now() < end; pairs += (uint64_t)count) {
        for (int step = 0; step < 2; step++) {
            for (int i = 0; i < count; i++)
                set_append(lock.redis, prefix, i, step == 0);
            for (int i = 0; i < count; i++) {
                redisReply *reply = NULL;

                redisGetReply(lock.redis, (void **)&reply);
                expect(reply, reply && (step == 0 ? reply->type == REDIS_REPLY_STATUS
                                                  : reply->integer == 1));
            }
        }
    }
    printf("{\"took\":%" PRIu64 ",\"counts\":[%" PRIu64 "],\"stamps\":[]}\n", bench_now() - start,
           pairs);
    redisFree(lock.redis);
}

/* Each task takes and gives back its lock over and over, and all are served by one thread. */
static void run_events(const char *prefix, int count, uint64_t end)
{
    struct worker *w = calloc((size_t)count, sizeof *w);
    struct pollfd p = { .events = POLLIN };
    uint64_t start = bench_now();
    int working = count;

    if (!w)
        bench_die("out of memory");
    holdfast_prepare(&w[0].lock);
    p.fd = hf_fd(client);
    for (int i = 0; i < count; i++) {
        snprintf(w[i].lock.name, sizeof w[i].lock.name, "%s%d", prefix, i);
        bench_must(hf_acquire_start(client, w[i].lock.name, NULL, &w[i]), "hf_acquire_start");
    }
    while (working > 0) {
        struct hf_event event = { .size = sizeof event };
        struct worker *done;

        if (hf_next(client, &event) == 0) {
            poll(&p, 1, -1);
            continue;
        }
        done = event.cookie;
        bench_must(event.error, "an event");
        if (event.type == HF_EVENT_ACQUIRED) {
            bench_must(hf_release_start(event.hold, done), "hf_release_start");
        } else if (event.type == HF_EVENT_RELEASED) {
            done->count++;
            if (bench_now() < end)
                bench_must(hf_acquire_start(client, done->lock.name, NULL, done),
                           "hf_acquire_start");
            else
                working--;
        }
    }
    print(w, count, bench_now() - start);
    free(w);
}

static void run(const char *prefix, int locks, int threads, uint64_t end, bool stamped)
{
    struct worker *w = calloc((size_t)threads, sizeof *w);
    uint64_t start;

    if (!w)
        bench_die("out of memory");
    for (int i = 0; i < threads; i++) {
        w[i].end = end;
        w[i].stamped = stamped;
        snprintf(w[i].lock.name, sizeof w[i].lock.name, "%s%d", prefix, i % locks);
        kind->prepare(&w[i].lock);
    }
    start = bench_now();
    for (int i = 0; i < threads; i++)
        if (pthread_create(&w[i].thread, NULL, work, &w[i]) != 0)
            bench_die("no thread to be had");
    for (int i = 0; i < threads; i++)
        pthread_join(w[i].thread, NULL);
    print(w, threads, bench_now() - start);
    for (int i = 0; i < threads; i++) {
        free(w[i].stamps);
        if (w[i].lock.redis)
            redisFree(w[i].lock.redis);
        if (w[i].lock.file > 0)
            close(w[i].lock.file);
    }
    free(w);
}

static void hold(const char *name)
{
    static struct lock lock;

    snprintf(lock.name, sizeof lock.name, "%s", name);
    kind->prepare(&lock);
    kind->acquire(&lock);
    printf("{\"at\":%" PRIu64 "}\n", bench_now());
}

/* So many locks, taken one after another and kept. */
static void keep(const char *prefix, int count)
{
    struct lock *lock = calloc((size_t)count, sizeof *lock);

    if (!lock)
        bench_die("out of memory");
    for (int i = 0; i < count; i++) {
        snprintf(lock[i].name, sizeof lock[i].name, "%s%d", prefix, i);
        kind->prepare(&lock[i]);
        kind->acquire(&lock[i]);
    }
    free(lock);
    printf("{\"at\":%" PRIu64 "}\n", bench_now());
}

static int64_t number(char **at)
{
    char *end;
    long long n = strtoll(*at, &end, 10);

    if (end == *at)
        bench_die("a number was expected before \"%s\"", *at);
    *at = end;
    return n;
}

static void obey(char *line)
{
    char *verb = strtok_r(line, " \n", &line), *prefix = strtok_r(NULL, " \n", &line);
    int locks, threads;
    uint64_t end;

    if (!verb || !prefix)
        bench_die("a line has at least two words");
    if (strcmp(verb, "hold") == 0) {
        hold(prefix);
        fflush(stdout);
        return;
    }
    locks = (int)number(&line);
    if (strcmp(verb, "keep") == 0) {
        if (locks < 1 || locks > HOLDS_MAX)
            bench_die("too many holds, or too few: %d", locks);
        keep(prefix, locks);
        fflush(stdout);
        return;
    }
    threads = (int)number(&line);
    end = (uint64_t)number(&line);
    if (threads < 1 || threads > THREADS_MAX || locks < 1)
        bench_die("too many threads, or too few: %d", threads);
    if (threads > 1 && strcmp(kind->name, "bare") == 0)
        run_in_flight(prefix, threads, end);
    else if (threads > 1 && strcmp(kind->name, "bare-set") == 0)
        run_sets_in_flight(prefix, threads, end);
    else if (strcmp(kind->name, "holdfast-events") == 0 && locks == threads)
        run_events(prefix, threads, end);
    else
        run(prefix, locks, threads, end, number(&line) != 0);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char line[256];

    if (argc != 5)
        bench_die("usage: bench-peer WHO PORT TTL_MS FOLDER");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, argv[1]) == 0)
            kind = &kinds[i];
    if (!kind)
        bench_die("nothing is called %s", argv[1]);
    mode = strcmp(kind->name, "holdfast-fair") == 0 ? HF_FAIR : HF_EXCLUSIVE;
    server.port = (int)number(&argv[2]);
    snprintf(server.uri, sizeof server.uri, "redis://127.0.0.1:%d", server.port);
    ttl_ms = number(&argv[3]);
    folder = argv[4];
    while (fgets(line, sizeof line, stdin))
        obey(line);
    return 0;
}
