/* SPDX-License-Identifier: Apache-2.0 */
/* A failing run with as few faults as it needs: first halves are left out, then one after the other. */
#include <string.h>

#include "campaign.h"
#include "fault.h"

static void leave_out(struct sim_options *options, unsigned fault)
{
    options->without[fault / 8] |= (uint8_t)(1u << fault % 8);
}

static bool still_fails(struct sim *sim, const struct sim_options *options, const char *invariant)
{
    bool fails = !sim_run(sim, options) && strcmp(sim->world.invariant, invariant) == 0;

    sim_fini(sim);
    return fails;
}

/* Tries without `size` faults at a time. */
static void leave_out_blocks(struct sim *sim, struct sim_options *options, const char *invariant,
                             unsigned count, unsigned size)
{
    for (unsigned from = 0; from < count; from += size) {
        struct sim_options fewer = *options;

        for (unsigned i = from; i < from + size && i < count; i++)
            leave_out(&fewer, i);
        if (memcmp(fewer.without, options->without, sizeof fewer.without) != 0 &&
            still_fails(sim, &fewer, invariant))
            *options = fewer;
    }
}

void sim_shrink(struct sim *sim, struct sim_options *options, const char *invariant)
{
    struct sim_plan plan;

    options->trace = false;
    sim_plan_draw(&plan, options);
    for (unsigned size = plan.faults; size > 0; size /= 2)
        leave_out_blocks(sim, options, invariant, plan.faults, size);
    leave_out_blocks(sim, options, invariant, plan.faults, 1);
}
