/* SPDX-License-Identifier: Apache-2.0 */
#include "chaos/noise.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "lib/wait.h"

#define NAP_MS      10
#define DISK_NAP_MS 50
#define PAGES       64
#define STALL_NS    (100 * HIST_MSEC)
#define PATIENCE_S  60

/* For the shortest ttl, of a second, an answer is awaited for 250 ms. */
#define SILENCE_NS (200 * HIST_MSEC)

/* The wall clock, as seen from ours. */
static int64_t clock_offset_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 - (int64_t)(hist_now() / HIST_MSEC);
}

static void stall(struct noise *noise, struct hist_thread *history, const char *what, uint64_t from,
                  uint64_t to)
{
    hist_note(history, HIST_STALL, 0, what, from, to);
    atomic_fetch_add(&noise->stalls, 1);
    atomic_fetch_add(&noise->stalled_ns, to - from);
    if (to - from > atomic_load(&noise->longest_ns))
        atomic_store(&noise->longest_ns, to - from);
}

static void *watch_time(void *arg)
{
    struct noise *noise = arg;
    struct hist_thread history;
    int64_t offset = clock_offset_ms();

    hist_thread_init(&history, noise->log, 0, 1);
    while (!atomic_load(&noise->stop)) {
        uint64_t from = hist_now(), to;
        int64_t step;

        nap_ms(NAP_MS);
        to = hist_now();
        if (to - from > STALL_NS) {
            stall(noise, &history, "stall", from, to);
            continue; /* the two clocks may have been read far apart */
        }
        step = clock_offset_ms() - offset;
        offset += step;
        if (llabs(step) > llabs(noise->clock_step_ms))
            noise->clock_step_ms = step;
    }
    return NULL;
}

/* Whatever else is written there must wait as long. What makes the file longer needs more than what is only
 * written over, so it is begun anew now and then. */
static void *watch_disk(void *arg)
{
    static const char PAGE[4096];
    struct noise *noise = arg;
    struct hist_thread history;

    hist_thread_init(&history, noise->log, 0, 2);
    for (int pages = 0; !atomic_load(&noise->stop); pages = (pages + 1) % PAGES) {
        uint64_t from = hist_now(), to;

        if (pages == 0 && ftruncate(noise->disk, 0) != 0)
            break;
        if (pwrite(noise->disk, PAGE, sizeof PAGE, pages * (off_t)sizeof PAGE) < 0)
            break;
        if (noise->syncs && fdatasync(noise->disk) != 0)
            break;
        to = hist_now();
        if (to - from > STALL_NS)
            stall(noise, &history, "disk", from, to);
        nap_ms(DISK_NAP_MS);
    }
    return NULL;
}

/* From one answer to the next: so it is seen, too, when nothing at all was run meanwhile. */
static void note_silence(struct noise *noise, struct hist_thread *history, uint64_t from,
                         uint64_t to)
{
    if (to - from > STALL_NS)
        stall(noise, history, "server", from, to);
    if (to - from <= SILENCE_NS)
        return;
    hist_note(history, HIST_FAULT, 0, "silence", from, to);
    atomic_fetch_add(&noise->silences, 1);
}

static void *watch_server(void *arg)
{
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    struct noise *noise = arg;
    struct hist_thread history;
    uint64_t from = hist_now();
    redisContext *redis = redisConnectWithTimeout("127.0.0.1", noise->server_port, patience);

    hist_thread_init(&history, noise->log, 0, 3);
    if (redis && !redis->err)
        redisSetTimeout(redis, patience);
    while (redis && !redis->err && !atomic_load(&noise->stop)) {
        uint64_t to;

        freeReplyObject(redisCommand(redis, "PING"));
        to = hist_now();
        note_silence(noise, &history, from, to);
        from = to;
        nap_ms(NAP_MS);
    }
    if (redis)
        redisFree(redis);
    return NULL;
}

void noise_start(struct noise *noise, struct hist_log *log, const char *folder, bool syncs,
                 int server_port)
{
    memset(noise, 0, sizeof *noise);
    noise->log = log;
    noise->syncs = syncs;
    noise->server_port = server_port;
    noise->disk = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    assert_int_equal(pthread_create(&noise->thread, NULL, watch_time, noise), 0);
    if (noise->disk >= 0)
        assert_int_equal(pthread_create(&noise->disk_thread, NULL, watch_disk, noise), 0);
    if (server_port)
        assert_int_equal(pthread_create(&noise->server_thread, NULL, watch_server, noise), 0);
}

void noise_stop(struct noise *noise)
{
    atomic_store(&noise->stop, true);
    pthread_join(noise->thread, NULL);
    if (noise->server_port)
        pthread_join(noise->server_thread, NULL);
    if (noise->disk < 0)
        return;
    pthread_join(noise->disk_thread, NULL);
    close(noise->disk);
}
