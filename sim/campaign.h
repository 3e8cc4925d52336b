/* SPDX-License-Identifier: Apache-2.0 */
/* Many runs, in one process or several. */
#ifndef SIM_CAMPAIGN_H
#define SIM_CAMPAIGN_H

#include "coverage.h"
#include "fault.h"
#include "sim.h"

struct sim_tally {
    struct sim_counts count;
    uint64_t runs, failed;
    uint64_t steps;
    uint64_t seed; /* the first that failed, */
    enum sim_profile profile;
    char invariant[16], failure[512]; /* and how */
    struct sim_coverage coverage;
};

/* The run, for whoever reads of an assertion that failed. */
extern char sim_current_run[512];

/* One run; false: it failed, and sim->world says how. What it did is added to the tally. */
bool sim_one(struct sim *sim, const struct sim_options *options, struct sim_tally *tally);
/* Seeds one after the other, until enough is done. With `stop`: until one fails. */
void sim_campaign(const struct sim_options *options, bool stop, struct sim_tally *tally);
/* Which profile's turn it is. */
enum sim_profile sim_profile_of(const struct sim_options *options, uint64_t seed);
void sim_counts_add(struct sim_counts *to, const struct sim_counts *from);
/* Leaves faults out of a run that fails, as long as it fails with the same invariant. */
void sim_shrink(struct sim *sim, struct sim_options *options, const char *invariant);

#endif
