/* SPDX-License-Identifier: Apache-2.0 */
/* What a run is asked to be: from the command line, or from a kept seed's file. */
#ifndef SIM_OPTIONS_H
#define SIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "text.h"

#define SIM_FAULTS_MAX 256

enum sim_profile {
    SIM_CALM,    /* no faults: what must then never happen is checked as well */
    SIM_MIXED,   /* faults inside the contract */
    SIM_HOSTILE, /* and outside it */
    SIM_PROFILES
};

enum sim_store_kind { SIM_STORE_ANY, SIM_STORE_REDIS, SIM_STORE_LIBRARY };

struct sim_options {
    uint64_t seed;
    enum sim_profile profile;
    bool one_profile; /* it was asked for: a campaign has no other */
    enum sim_store_kind store;
    uint64_t ops;     /* lock operations of a run, at most; 0: the profile's own */
    unsigned seconds; /* of simulated time under faults, at most; 0: drawn */
    unsigned processes, threads, servers; /* 0: drawn */
    const char *mutant;                   /* NULL: none */
    bool trace;
    bool strict;                         /* faults outside the contract excuse nothing */
    bool drift;                          /* clocks run as differently as they can */
    int only_fault;                      /* one kind of fault, counted from 1; 0: all */
    uint8_t without[SIM_FAULTS_MAX / 8]; /* faults that are left out */

    /* Campaigns */
    uint64_t seeds;     /* runs, with one seed after the other */
    uint64_t total_ops; /* … until so many operations are done */
    uint64_t least_ops; /* fewer are a failure */
    unsigned jobs;      /* that many processes share the seeds */
    bool shrink;        /* a seed that fails is made smaller */
    bool coverage;      /* what was never seen is a failure */
    bool mutants;       /* run the table of seeded bugs */
    const char *keep;   /* where a failing seed is written to */
    const char *replay; /* a kept seed's file */
};

/* Fills them from arguments; false: a line was printed that says what is wrong. */
bool sim_options_read(struct sim_options *options, int argc, char **argv);
/* A kept seed's file: the same words, one a line; # begins a comment. */
bool sim_options_load(struct sim_options *options, const char *path);
/* The arguments that describe this run. */
void sim_options_write(const struct sim_options *options, struct sim_text *text);
const char *sim_profile_name(enum sim_profile profile);

static inline bool sim_is_without(const struct sim_options *options, unsigned fault)
{
    return options->without[fault / 8] >> fault % 8 & 1;
}

#endif
