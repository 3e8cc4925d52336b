/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs do: threads that take locks, work, and give them back; event loops; processes that close and
 * open again; people who look and break; and clients of another make, which share the locks.
 *
 *   workload.c   one thread                writes.c    the resources outside that locks protect
 *   several.c    one that takes several locks as one
 *   programs.c   processes as a whole      others.c    people, and clients of another make
 */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include "core/multi.h"
#include "sim.h"

#define SIM_DEPTH_MAX   3 /* handles of one thread at once */
#define SIM_MEMBERS_MAX 3 /* locks that are taken as one */

enum sim_thread_state {
    SIM_THREAD_RESTING,
    SIM_THREAD_CALLING, /* in a call, or waits for its event */
    SIM_THREAD_HOLDING,
    SIM_THREAD_DONE /* wants no more */
};

enum sim_several_state {
    SIM_SEVERAL_NONE,
    SIM_SEVERAL_TAKING,
    SIM_SEVERAL_HELD,
    SIM_SEVERAL_GIVING
};

/* Several locks as one: what is wanted, what came of it. */
struct sim_several {
    enum sim_several_state state;
    struct hfi_taking taking;
    size_t count, place; /* place: of the member that is asked for, or was last */
    struct sim_lock *lock[SIM_MEMBERS_MAX]; /* as the program names them */
    struct hfi_waiter member[SIM_MEMBERS_MAX];
    struct sim_handle *handle[SIM_MEMBERS_MAX]; /* what came back and did not go back */
    bool once, cancelled;
    hfi_time wait_ns, until_local;
    size_t left; /* releases that are not done, with events */
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
    struct sim_several several;
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

/* For several.c: a thread runs again; rests; how it wants a lock, in its ask; for how long it holds; and it may be
 * cancelled. */
void sim_thread_run_after(struct sim_thread *thread, hfi_time delay);
void sim_thread_rest(struct sim_thread *thread);
void sim_thread_choose(struct sim_thread *thread, struct sim_lock *lock);
hfi_time sim_thread_hold_time(struct sim_thread *thread);
void sim_thread_plan_cancel(struct sim_thread *thread);

/* several.c */
/* True: this time it is several. */
bool sim_several_begin(struct sim_thread *thread, hfi_time now);
/* A member's call has come back. */
void sim_several_acquired(struct sim_thread *thread);
/* hf_cancel(): at any moment. */
void sim_several_cancel(struct sim_thread *thread);
/* Some call has come back. */
void sim_several_look(struct sim_thread *thread, hfi_time now);
void sim_several_work(struct sim_thread *thread, hfi_time now);
/* The client was closed: handles are only freed. Its process died: nothing is left. */
void sim_several_drop(struct sim_thread *thread);
void sim_several_reset(struct sim_thread *thread);

/* check_several.c */
void sim_check_several_takes(const struct sim_thread *thread, hfi_time now,
                             const struct hfi_taking_step *step);
void sim_check_several_ended(const struct sim_thread *thread, hfi_time now,
                             const struct hfi_taking_step *step);
void sim_check_several_given(const struct sim_thread *thread);
/* HF_HELD …, as the program would be told of the whole. */
int sim_check_several_worth(const struct sim_thread *thread);

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
