/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdarg.h>
#include <string.h>

void sim_random_init(struct hfi_random *random, uint64_t seed, uint64_t kind, uint64_t index)
{
    uint64_t mixed = seed * UINT64_C(0x9e3779b97f4a7c15) ^ kind * UINT64_C(0xbf58476d1ce4e5b9) ^
                     index * UINT64_C(0x94d049bb133111eb);

    hfi_random_init(random, mixed);
}

uint64_t sim_between(struct hfi_random *random, uint64_t low, uint64_t high)
{
    return low + hfi_random_below(random, high - low + 1);
}

bool sim_chance(struct hfi_random *random, uint32_t in_thousand)
{
    return hfi_random_below(random, 1000) < in_thousand;
}

void sim_mix_bytes(struct sim_world *world, const char *bytes, size_t count)
{
    uint64_t word;

    for (; count >= sizeof word; bytes += sizeof word, count -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        sim_mix(world, word);
    }
    word = count;
    memcpy(&word, bytes, count);
    sim_mix(world, word ^ (uint64_t)count << 56);
}

void sim_say_now(struct sim_world *world, const char *format, ...)
{
    va_list args;

    fprintf(world->trace, "%12.6f ", (double)world->now / 1e9);
    va_start(args, format);
    vfprintf(world->trace, format, args);
    va_end(args);
    fputc('\n', world->trace);
}

void sim_violated(struct sim_world *world, const char *invariant, const char *format, ...)
{
    va_list args;

    if (world->failed)
        return;
    world->failed = true;
    world->invariant = invariant;
    va_start(args, format);
    vsnprintf(world->failure, sizeof world->failure, format, args);
    va_end(args);
    sim_say(world, "VIOLATED %s: %s", invariant, world->failure);
}

#define STEPS_AT_ONCE 1000000

/* Does time still pass? */
static void check_progress(struct sim_world *world)
{
    if (world->now != world->since) {
        world->since = world->now;
        world->steps_at_once = 0;
    } else if (++world->steps_at_once > STEPS_AT_ONCE) {
        sim_violated(world, "stuck", "something is done again and again, and no time passes");
    }
}

bool sim_run_until(struct sim_world *world, hfi_time until)
{
    while (!world->failed && world->queue.count > 0 && world->queue.heap[0]->at <= until) {
        struct sim_timer *timer = sim_queue_pop(&world->queue);

        world->now = timer->at;
        world->steps++;
        check_progress(world);
        timer->run(timer->arg);
    }
    if (!world->failed && until != HF_TIME_NEVER)
        world->now = until;
    return !world->failed;
}
