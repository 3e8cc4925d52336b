/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs do: threads that take locks, work, and give them back; event loops; processes that close and
 * open again; people who look and break; and clients of another make, which share the locks.
 *
 *   workload.c   one thread                writes.c    the resources outside that locks protect
 *   programs.c   processes as a whole      others.c    people, and clients of another make
 */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include "sim.h"

#define SIM_DEPTH_MAX 3 /* handles of one thread at once */

enum sim_thread_state {
    SIM_THREAD_RESTING,
    SIM_THREAD_CALLING, /* in a call, or waits for its event */
    SIM_THREAD_HOLDING,
    SIM_THREAD_DONE /* wants no more */
};

struct sim_thread {
    struct sim *sim;
    struct sim_process *process;
    struct hfi_random random;
    enum sim_thread_state state;
    bool async;  /* its calls are an event loop's */
    bool is_new; /* its call has come back, and it has not looked yet */
    bool told;   /* that what it holds is lost */
    struct sim_timer timer, canceller;
    struct sim_ask ask;
    struct sim_handle *handle[SIM_DEPTH_MAX];
    unsigned depth;
    uint32_t permits; /* that it has of a semaphore */
    unsigned taken;   /* in this window */
    struct sim_lock *lock;
    hfi_time hold_until;
    uint64_t owner; /* no other thread of the run ever has it */
    char label[32];
};

/* A process as its program sees it. */
struct sim_program {
    struct sim_process *process;
    struct hfi_random random;
    struct sim_timer timer; /* closes it, opens it again */
    struct sim_ask ask;     /* hf_close() */
    struct sim_thread thread[SIM_THREADS_MAX];
};

struct sim_threads {
    struct sim_program program[SIM_PROCESSES_MAX];
    uint64_t last_owner;
    bool draining;
    struct sim_write *writes; /* on their way */
    struct sim_others *others;
};

/* workload.c */
void sim_thread_init(struct sim_thread *thread, struct sim_process *process, unsigned index);
void sim_thread_start(struct sim_thread *thread);
/* Its process died: nothing is left of what it was at. */
void sim_thread_reset(struct sim_thread *thread);
/* An event of its process' loop. */
void sim_thread_event(struct sim_process *process, const struct sim_event *event);

/* writes.c */
void sim_write(struct sim_thread *thread, const struct sim_handle *handle);
void sim_writes_drop(struct sim *sim);

/* others.c */
void sim_others_init(struct sim *sim);
void sim_others_fini(struct sim *sim);
void sim_others_stop(struct sim *sim);
void sim_others_crashed(struct sim_process *process);
bool sim_others_are_done(const struct sim *sim);

#endif
