/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of the simulator: a plan drawn from the seed, the world made after it, and what happens there.
 *
 *   plan.c       how many of what, how fast, with which options
 *   process.c …  clients (process.h)          server.c   servers (server.h)
 *   library.c    the store of one host        link.c     the network
 *   workload.c   what programs do             fault.c    what befalls them
 *   check_*.c    what must hold (checks.h)    run.c      the two phases
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "options.h"
#include "process.h"
#include "server.h"
#include "world.h"

#define SIM_PROCESSES_MAX 64
#define SIM_SERVERS_MAX   7
#define SIM_THREADS_MAX   8
#define SIM_LOCKS_MAX     24

struct sim_plan {
    uint64_t seed;
    enum sim_profile profile;
    bool library;
    unsigned services, servers, hosts, processes, threads, locks;

    /* Clients */
    uint32_t ttl_ms; /* most holds have this one */
    hfi_time poll_ns, pass_ns, op_timeout_ns, connect_timeout_ns, close_timeout_ns;
    uint32_t pass_count;
    const char *password;
    unsigned db;

    /* Programs */
    hfi_time think_ns, hold_ns; /* up to */
    hfi_time window_ns;         /* all are busy at the beginning of each, and rest then */
    unsigned windows, quota;    /* how often a thread takes a lock in one */
    bool loops;                 /* some use an event loop */
    bool named_owners, foreigners, people, restless; /* close and open again; are cancelled */
    bool several;                                    /* some threads take several locks as one */
    bool kinds; /* locks of all kinds, and what is counted; else mutexes alone */

    /* Network and clocks */
    hfi_time base_ns, jitter_ns, tail_ns;
    uint32_t tail;
    hfi_time late_ns; /* threads run up to so late */
    bool slow_sends;
    int64_t drift_ppm; /* clocks run up to so much faster or slower */
    hfi_time wall_spread_ns;

    /* Servers */
    bool deny_kill;
    unsigned replicas;
    hfi_time lag_ns;

    hfi_time duration_ns; /* of the first phase, at most */
    uint64_t ops;         /* likewise */
    unsigned faults;
};

/* What a name is for. */
enum sim_theme { SIM_LOCKS, SIM_PERMITS, SIM_SEMAPHORE, SIM_LATCH, SIM_THEMES };

/* A lock, as far as everybody is concerned: a name of a service. */
struct sim_lock {
    unsigned index, service;
    char name[64];
    size_t len;
    uint32_t ttl_ms;
    enum sim_theme theme;
    uint32_t kinds; /* that are asked for, a bit each */
    struct sim *sim;
    struct sim_claim *claims; /* check_claim.c */
    uint64_t token[2]; /* of the latest claim; [1]: of the fenced kind, which counts by itself */
    uint64_t drawn[2]; /* the largest that the server has given for it */
    int64_t total;     /* permits; semaphore: that there were at first, */
    int64_t there;     /* and that must be there now, as the answers of the server say */
    bool uncounted;    /* a fault outside the contract has taken away what was counted */
    hfi_time counted;  /* when it was last changed (true time) */
    hfi_time opened;   /* latch: when it was last seen without a count, */
    hfi_time set, deleted;  /* and when it was set, and deleted (true time) */
    struct sim_turn *turns; /* check_turn.c */
    hfi_time held_until;    /* the store will have it for someone until then (true time) */
    hfi_time busy_until;    /* someone had it, at the latest then, before */
    hfi_time free_since;
    struct sim_process *before; /* who had it before its server lost something */
    uint64_t before_owner;
    hfi_time before_until;
    /* Resources outside, which are written to under this lock. */
    uint64_t fenced_token, fenced_claim;
    uint64_t unfenced_claim;
    hfi_time unfenced_until;
};

enum sim_phase { SIM_PHASE_FAULTS, SIM_PHASE_HEALED, SIM_PHASE_DRAIN, SIM_PHASE_QUIET };

struct sim_counts {
    uint64_t ops, acquired, busy, unsure, lost, failed, released, verified, cancelled;
    uint64_t several, passed, reentered, faults, writes, refused_writes, mixed_writes;
};

struct sim {
    struct sim_world world; /* first member */
    const struct sim_options *options;
    struct sim_plan plan;
    enum sim_phase phase;
    struct sim_service service[SIM_SERVERS_MAX];
    struct sim_server server[SIM_SERVERS_MAX];
    struct sim_host host[SIM_PROCESSES_MAX];
    struct sim_process process[SIM_PROCESSES_MAX];
    struct sim_path path[SIM_PROCESSES_MAX][SIM_SERVERS_MAX];
    struct sim_lock lock[SIM_LOCKS_MAX];
    struct sim_threads *threads; /* workload.c */
    struct sim_faults *faults;   /* fault.c */
    struct sim_library *library; /* library.c */
    struct sim_checks *checks;
    struct sim_counts count;
    uint64_t lives, claims;
    hfi_time stepped_ns; /* by how much clocks of servers went back */
    bool outside;        /* a fault outside the contract has come */
    bool arranging;      /* what is done by hand belongs to the workload */
};

/* plan.c */
void sim_plan_draw(struct sim_plan *plan, const struct sim_options *options);
void sim_plan_write(const struct sim_plan *plan, struct sim_text *text);
/* For how long there is work in a window, about. */
hfi_time sim_plan_busy(const struct sim_plan *plan);
int64_t sim_drift(struct hfi_random *random, const struct sim_plan *plan);

/* fault.c: a process makes a request. */
void sim_faults_notice(struct sim_process *process, const struct hfi_request *request);

/* run.c */

/* A whole run; false: an invariant did not hold (sim->world.invariant). sim_fini() follows either way. */
bool sim_run(struct sim *sim, const struct sim_options *options);
void sim_fini(struct sim *sim);

/* others.c */
/* So many more permits, by hand; or a latch is opened. */
void sim_others_count(struct sim_lock *lock, int64_t count);
void sim_others_help(struct sim *sim);

/* workload.c */
void sim_workload_init(struct sim *sim);
void sim_workload_fini(struct sim *sim);
void sim_workload_crashed(struct sim_process *process);
/* A thread that waits was called to take what is free now. */
void sim_workload_called(struct sim_ask *ask);
/* A process was started again: its threads begin anew. */
void sim_workload_started(struct sim_process *process);
/* No new calls any more, but what gives back. */
void sim_workload_drain(struct sim *sim);
bool sim_workload_is_drained(struct sim *sim);
/* Who is not done, for people. */
void sim_workload_describe(const struct sim *sim, struct sim_text *text);
/* Threads that are late, or of a process that is stopped, run now. */
void sim_workload_hurry(struct sim *sim);
/* Half of the processes are closed. */
void sim_workload_close_some(struct sim *sim);

static inline struct sim_server *sim_service_server(const struct sim *sim, unsigned service)
{
    return sim->service[service].primary;
}

static inline struct sim_path *sim_path(struct sim *sim, unsigned process, unsigned server)
{
    return &sim->path[process][server];
}

extern const struct hfi_driver hfi_driver_redis;

#endif
