/* SPDX-License-Identifier: Apache-2.0 */
#include "chaos/noise.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/wait.h"

#define NAP_MS   10
#define STALL_NS (100 * HIST_MSEC)

/* The wall clock, as seen from ours. */
static int64_t clock_offset_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 - (int64_t)(hist_now() / HIST_MSEC);
}

static void *run(void *arg)
{
    struct noise *noise = arg;
    struct hist_thread history;
    int64_t offset = clock_offset_ms();

    hist_thread_init(&history, noise->log, 0, 1);
    while (!atomic_load(&noise->stop)) {
        uint64_t from = hist_now(), took;
        int64_t step;

        nap_ms(NAP_MS);
        took = hist_now() - from;
        if (took > STALL_NS) {
            hist_note(&history, HIST_STALL, 0, "stall", from, from + took);
            noise->stalls++;
            noise->stalled_ns += took;
            noise->longest_ns = took > noise->longest_ns ? took : noise->longest_ns;
            continue; /* the two clocks may have been read far apart */
        }
        step = clock_offset_ms() - offset;
        offset += step;
        if (llabs(step) > llabs(noise->clock_step_ms))
            noise->clock_step_ms = step;
    }
    return NULL;
}

void noise_start(struct noise *noise, struct hist_log *log)
{
    memset(noise, 0, sizeof *noise);
    noise->log = log;
    assert_int_equal(pthread_create(&noise->thread, NULL, run, noise), 0);
}

void noise_stop(struct noise *noise)
{
    atomic_store(&noise->stop, true);
    pthread_join(noise->thread, NULL);
}
