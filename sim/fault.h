/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults. All of a run are drawn at its beginning, each with its own randomness, so that leaving one out changes
 * nothing else: that is how a failing run is made smaller. fault_kinds.inc lists them, and says which are inside
 * the contract of the store; what they do to whom is in fault_do.c.
 */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "coverage.h"
#include "sim.h"

/* What a fault waits for, so that moments that are rare are hit as well. */
enum sim_seek {
    SIM_SEEK_NOTHING,
    SIM_SEEK_AT_RISK, /* it looks for these from time to time; */
    SIM_SEEK_LOST,
    SIM_SEEK_SLEEPING,
    SIM_SEEK_TRY, /* and is told of these requests when they are made */
    SIM_SEEK_RENEW,
    SIM_SEEK_RELEASE,
    SIM_SEEK_WATCH
};

struct sim_fault {
    struct sim *sim;
    unsigned index;
    enum sim_fault_kind kind;
    hfi_time at, duration;
    enum sim_seek seek;
    bool armed;     /* it waits for a request to be made */
    unsigned looks; /* how often it has looked for what it seeks */
    struct hfi_random random;
    struct sim_timer timer;
    bool begun, ended;
    /* What it has found: whom it is to hit. */
    struct sim_process *found;
    struct sim_lock *found_lock;
    uint64_t found_owner;
    /* Whom it hit */
    struct sim_process *process;
    struct sim_server *server;
    struct sim_lock *lock;
    unsigned mask; /* directions */
    uint64_t life;
};

struct sim_faults {
    unsigned count;
    unsigned armed; /* of them */
    struct sim_fault fault[SIM_FAULTS_MAX];
};

void sim_faults_init(struct sim *sim);
void sim_faults_fini(struct sim *sim);
/* Ends all of them, for good. */
void sim_faults_heal(struct sim *sim);
/* Those that have come, for people: a line each. */
void sim_faults_write(const struct sim *sim, FILE *out);
const char *sim_fault_name(enum sim_fault_kind kind);
bool sim_fault_is_inside(enum sim_fault_kind kind);

/* fault_do.c */
void sim_fault_begin(struct sim_fault *fault);
void sim_fault_end(struct sim_fault *fault);

#endif
