/* SPDX-License-Identifier: Apache-2.0 */
/* How many of what, how fast, and with which options: drawn from the seed, and from nothing else. */
#include <string.h>

#include "sim.h"

#define PICK(random, ...)                                                                          \
    (((const uint64_t[]){                                                                          \
        __VA_ARGS__ })[sim_below(random, sizeof(uint64_t[]){ __VA_ARGS__ } / sizeof(uint64_t))])

#define DRIFT_INSIDE  INT64_C(4900) /* of two clocks: within one in a hundred of each other */
#define DRIFT_OUTSIDE INT64_C(100000)

int64_t sim_drift(struct hfi_random *random, const struct sim_plan *plan)
{
    int64_t most = plan->drift_ppm;

    /* The ends are where it matters. */
    switch (sim_below(random, 3)) {
    case 0:
        return most;
    case 1:
        return -most;
    default:
        return (int64_t)sim_below(random, 2 * (uint64_t)most + 1) - most;
    }
}

static void draw_sizes(struct sim_plan *plan, struct hfi_random *random,
                       const struct sim_options *options)
{
    plan->library = options->store == SIM_STORE_LIBRARY ||
                    (options->store == SIM_STORE_ANY && sim_below(random, 5) == 0);
    plan->processes = (unsigned)PICK(random, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8, 12, 64);
    plan->threads = (unsigned)PICK(random, 1, 1, 2, 2, 3, 4, 8);
    plan->servers = (unsigned)PICK(random, 1, 1, 1, 1, 2, 3, 7);
    if (options->processes)
        plan->processes = options->processes;
    if (options->threads)
        plan->threads = options->threads;
    if (options->servers)
        plan->servers = options->servers;
    if (plan->processes > 16)
        plan->threads = plan->threads > 2 ? 2 : plan->threads;
    plan->hosts = plan->library ? 1 : 1 + (unsigned)sim_below(random, plan->processes);
    if (plan->library)
        plan->servers = 1;
    if (plan->profile == SIM_HOSTILE && plan->servers > 1)
        plan->replicas = 1; /* of the first */
    plan->services = plan->servers - plan->replicas;
    if (plan->services > plan->processes)
        plan->services = plan->processes;
    plan->servers = plan->services + plan->replicas;
    plan->locks = plan->services * (unsigned)PICK(random, 1, 1, 1, 2, 3);
}

static void draw_client(struct sim_plan *plan, struct hfi_random *random)
{
    plan->ttl_ms = (uint32_t)PICK(random, 100, 200, 300, 500, 1000, 1000, 3000, 10000, 30000);
    plan->poll_ns = PICK(random, 1000, 1000, 1000, 250, 50) * HFI_MSEC;
    plan->pass_ns = PICK(random, 10, 10, 1, 100, 0) * HFI_MSEC;
    plan->pass_count = (uint32_t)PICK(random, 1000, 1000, 20, 3, 0);
    plan->op_timeout_ns = PICK(random, 2000, 2000, 500, 100) * HFI_MSEC;
    plan->connect_timeout_ns = PICK(random, 2000, 500, 100) * HFI_MSEC;
    plan->close_timeout_ns = PICK(random, 2000, 2000, 200) * HFI_MSEC;
    plan->password = sim_below(random, 8) ? NULL : "secret";
    plan->db = sim_below(random, 8) ? 0 : 3;
}

static void draw_programs(struct sim_plan *plan, struct hfi_random *random)
{
    hfi_time ttl = plan->ttl_ms * HFI_MSEC;

    plan->think_ns = PICK(random, 0, 200, 2000, 20000) * HFI_USEC;
    plan->hold_ns = PICK(random, 0, 100, 1000, 1000, 10000) * HFI_USEC;
    if (sim_below(random, 8) == 0)
        plan->hold_ns = ttl / 4;
    plan->loops = sim_below(random, 2);
    plan->named_owners = sim_below(random, 4) == 0;
    plan->restless = sim_below(random, 2);
    if (!plan->library)
        plan->faults = (unsigned)PICK(random, 0, 10, 60);
}

static void draw_network(struct sim_plan *plan, struct hfi_random *random)
{
    hfi_time ttl = plan->ttl_ms * HFI_MSEC;

    plan->base_ns = PICK(random, 5, 20, 50, 200, 1000) * HFI_USEC;
    if (plan->profile == SIM_CALM) /* else a request may not be answered in time without a fault */
        plan->base_ns = hfi_time_min(plan->base_ns, ttl / 1000);
    plan->jitter_ns = plan->base_ns * PICK(random, 0, 1, 4);
    plan->late_ns = HFI_MSEC;
    plan->drift_ppm = DRIFT_INSIDE;
    plan->wall_spread_ns = 3600 * HFI_SEC;
    plan->lag_ns = PICK(random, 1, 10, 500) * HFI_MSEC;
}

/* What makes a run less than calm, apart from faults at one time or another. */
static void draw_trouble(struct sim_plan *plan, struct hfi_random *random)
{
    hfi_time ttl = plan->ttl_ms * HFI_MSEC;

    plan->tail = (uint32_t)PICK(random, 0, 20, 200);
    plan->tail_ns = PICK(random, ttl / 2, ttl, 2 * ttl, 10 * HFI_MSEC);
    plan->late_ns = PICK(random, HFI_MSEC, 20 * HFI_MSEC, ttl);
    plan->slow_sends = sim_below(random, 2);
    plan->foreigners = sim_below(random, 4) == 0;
    plan->people = sim_below(random, 4) == 0;
    plan->deny_kill = sim_below(random, 6) == 0;
    plan->faults = (unsigned)PICK(random, 4, 12, 30, 60);
}

static void draw_outside(struct sim_plan *plan, struct hfi_random *random,
                         const struct sim_options *options)
{
    if (sim_below(random, 8) == 0)
        plan->drift_ppm = DRIFT_OUTSIDE;
    if (options->only_fault)
        plan->drift_ppm = options->drift ? DRIFT_OUTSIDE : DRIFT_INSIDE;
}

/* Time passes in windows: with their beginnings come a burst of work, and most faults. */
static void draw_length(struct sim_plan *plan, struct hfi_random *random,
                        const struct sim_options *options)
{
    hfi_time ttl = plan->ttl_ms * HFI_MSEC;

    plan->ops = options->ops ? options->ops : 3000;
    plan->window_ns = hfi_time_max(PICK(random, ttl / 2, ttl, 2 * ttl), 100 * HFI_MSEC);
    plan->windows = (unsigned)PICK(random, 10, 20, 40);
    if (options->seconds)
        plan->windows = 1 + (unsigned)(options->seconds * HFI_SEC / plan->window_ns);
    plan->duration_ns = plan->windows * plan->window_ns;
    plan->quota = 1 + (unsigned)(plan->ops / 2 / plan->windows / plan->processes / plan->threads);
}

hfi_time sim_plan_busy(const struct sim_plan *plan)
{
    return hfi_time_min(plan->window_ns,
                        plan->quota * (plan->think_ns + plan->hold_ns + 4 * HFI_MSEC));
}

void sim_plan_draw(struct sim_plan *plan, const struct sim_options *options)
{
    struct hfi_random random;

    memset(plan, 0, sizeof *plan);
    plan->seed = options->seed * SIM_PROFILES + options->profile;
    plan->profile = options->profile;
    sim_random_init(&random, plan->seed, 'P', 0);
    draw_sizes(plan, &random, options);
    draw_client(plan, &random);
    draw_programs(plan, &random);
    draw_network(plan, &random);
    if (plan->profile != SIM_CALM)
        draw_trouble(plan, &random);
    if (plan->profile == SIM_HOSTILE)
        draw_outside(plan, &random, options);
    draw_length(plan, &random, options);
    sim_random_init(&random, plan->seed, 'u', 0); /* likewise */
    plan->several = plan->locks / plan->services > 1 && sim_below(&random, 2);
    sim_random_init(&random, plan->seed, 'k', 0); /* beside the rest, which stays what it is */
    plan->kinds = sim_below(&random, 3) == 0;
    if (!plan->kinds)
        return;
    plan->windows /= 2; /* most of it is waiting: as much is done in less time */
    plan->duration_ns /= 2;
    plan->quota *= 2;
}

void sim_plan_write(const struct sim_plan *plan, struct sim_text *text)
{
    sim_text_format(text,
                    "%s: %u processes x %u threads on %u hosts, %u services of %u servers, "
                    "%u locks%s, ttl %u ms, poll %u ms, op timeout %u ms",
                    plan->library ? "library store" : "redis", plan->processes, plan->threads,
                    plan->hosts, plan->services, plan->servers, plan->locks,
                    plan->kinds ? " of all kinds" : "", plan->ttl_ms,
                    (unsigned)(plan->poll_ns / HFI_MSEC),
                    (unsigned)(plan->op_timeout_ns / HFI_MSEC));
}
