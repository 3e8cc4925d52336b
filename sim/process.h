/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client process: the host of one engine and one store, as src/runtime is in production, under virtual time.
 *
 *   process.c   beginning, end, death; its clock, and when it is stopped
 *   pump.c      requests to the store, answers to the engine, results to whoever waits
 *   socket.c    its two connections              worker.c   a store that blocks
 *   ask.c       what its threads ask for: the public calls, as src/api makes them
 *
 * What happens to a process are steps: something was received, time has come, a thread runs. In each step the
 * process reads its own clock, feeds the engine, and pumps. A process can be stopped before any step, or
 * between the reading of the clock and what follows from it (sim_process_enter()); it then goes on with what it
 * read. Bytes can stay in its hands between produce() and the socket. Threads run late.
 */
#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

#include "clock.h"
#include "core/engine.h"
#include "core/tries.h"
#include "link.h"
#include "memory.h"
#include "store/store.h"
#include "world.h"

struct sim;
struct sim_process;
struct sim_server;
struct sim_lock;

/* A machine: its clock, and whether it runs. */
struct sim_host {
    unsigned index;
    struct sim_clock clock;
    bool up;
    hfi_time stopped_until; /* true time */
};

enum sim_life {
    SIM_LIFE_NONE, /* not yet, or crashed */
    SIM_LIFE_RUNNING,
    SIM_LIFE_CLOSING, /* hf_close() is at work */
    SIM_LIFE_CLOSED   /* handles may still be out */
};

/* ------------------------------------------------------------------------------------------------
 * Calls
 */

enum sim_ask_kind {
    SIM_ASK_ACQUIRE,
    SIM_ASK_RELEASE,
    SIM_ASK_VERIFY,
    SIM_ASK_CLOSE,
    SIM_ASK_OBJECT,
    SIM_ASK_QUERY
};

/* A public handle. */
struct sim_handle {
    struct hfi_handle handle; /* first member */
    struct sim_process *process;
    uint64_t life_number; /* of the process when it was made */
    struct sim_ask *releaser;
    bool discarded;
    struct sim_handle *next; /* RELEASED events; or all that are out, see prev_out */
    struct sim_handle *prev_out, *next_out;
    struct sim_claim *claim;
    const void *several; /* what it is a part of */
    void *cookie;
};

/* A call of a thread that waits, or an acquire of an event loop. */
struct sim_ask {
    struct hfi_waiter waiter; /* first member */
    struct sim_process *process;
    enum sim_ask_kind kind;
    bool done, waited, called;
    bool in_progress; /* it has been made and has not come back */
    bool was_cancelled;
    int result;
    struct sim_handle *handle;
    struct hfi_renewal renewal; /* VERIFY */
    struct hfi_renewal_item item;
    struct hfi_query *query;
    struct hfi_object object; /* OBJECT */
    struct hfi_tries tries;   /* of it */
    hfi_time until_local;     /* ACQUIRE: the end of its wait */
    hfi_time begun, begun_local, stopped_before;
    unsigned lock;
    struct hfi_waiter before; /* as it was asked for: for another attempt */
    const char *label;
    struct sim_timer timer;      /* its thread is to run */
    struct sim_ask *prev, *next; /* asynchronous ones: in progress, then events */
    void (*returned)(struct sim_ask *ask);
    void *arg;
};

enum { SIM_OWNER_THREAD = 1, SIM_OWNER_NAMED, SIM_OWNER_FRESH };

enum sim_event_type { SIM_EVENT_NONE, SIM_EVENT_ACQUIRE, SIM_EVENT_RELEASED, SIM_EVENT_NEWS };

struct sim_event {
    enum sim_event_type type;
    struct sim_ask *ask;
    struct sim_handle *handle;
    enum hfi_news news;
    int result;
};

/* ------------------------------------------------------------------------------------------------
 * The process
 */

struct sim_socket {
    struct sim_process *process;
    unsigned number;
    struct sim_link *link; /* NULL: none */
    bool connecting, blocked;
    bool writing;          /* a thread is in send(): others leave their bytes to it */
    struct sim_text hands; /* what it has in its hands */
    struct sim_link *hands_for;
    size_t readable; /* a reader that was stopped has read so much; SIZE_MAX: whatever is there */
    hfi_time used_ns;
    struct sim_timer read, write;
};

#define SIM_PENDING_MAX 64

/* A request at the store, for check_owner.c. */
struct sim_pending {
    const struct hfi_request *request;
    hfi_time excuse;
};

struct sim_process {
    struct sim *sim;
    unsigned index, service;
    struct sim_host *host;
    enum sim_life life;
    uint64_t life_number; /* each start is another one */
    struct hfi_random random;
    struct hfi_identity identity;
    struct hfi_engine engine;
    struct hfi_store *store;
    bool is_wire;
    struct sim_memory memory;
    struct sim_socket socket[HFI_LINK_MAX];
    struct sim_timer wake; /* the background thread */
    hfi_time wakes_ns;     /* by its clock */

    /* Stopping */
    hfi_time stopped_until;  /* true time */
    hfi_time stopped_ns;     /* all in all, and how late threads were */
    hfi_time late_until;     /* some thread that was late runs then */
    hfi_time stop_armed;     /* it will be stopped for so long in one of the next steps */
    struct sim_timer *stale; /* the step that read the clock before it was stopped */
    hfi_time stale_now;
    hfi_time late_ns; /* its threads run up to so late at present */

    /* Calls */
    unsigned inside;             /* calls that have not come back */
    struct sim_ask *asyncs;      /* in progress */
    struct sim_ask *events;      /* done, not yet taken */
    struct sim_handle *released; /* likewise */
    struct sim_handle *out;      /* handles that are out */
    size_t out_count;
    struct sim_timer loop; /* the event loop's thread */
    bool has_loop;
    uint64_t fresh_owner;
    struct sim_ask *closer;
    hfi_time close_by;     /* by its clock */
    hfi_time forked_until; /* a child has its sockets; true time */

    /* A store that blocks */
    struct hfi_request *queue, *executing;
    bool collect_wanted, executed;
    hfi_time collect_by, work_now;
    struct sim_timer work;

    struct sim_owners *owners; /* check_owner.c */
    struct sim_pending pending[SIM_PENDING_MAX];
    struct sim_claim *claims; /* check_claim.c */
    struct sim_gauge *gauges; /* check_wait.c: one for each lock */
    bool checking;            /* it is being ended by the simulator: nothing is checked */
};

/* process.c */
void sim_process_init(struct sim *sim, unsigned index);
void sim_process_fini(struct sim_process *process);
void sim_process_start(struct sim_process *process);
/* As kill -9: sockets are closed by the kernel, unless the host goes down with it. */
void sim_process_crash(struct sim_process *process, bool with_host);
/* The end of hf_close(). */
void sim_process_finish(struct sim_process *process);
bool sim_process_is_stopped(const struct sim_process *process);
void sim_process_stop(struct sim_process *process, hfi_time duration);
hfi_time sim_process_now(const struct sim_process *process);
/* The beginning of a step: false when the process is not to do it now (the timer was set anew if it is to do it
 * later). From here on memory is taken on its account, until sim_process_leave(). */
bool sim_process_enter(struct sim_process *process, struct sim_timer *timer, hfi_time *ret_now);
void sim_process_leave(struct sim_process *process);
/* When a thread runs that is to run at `at`. */
hfi_time sim_process_late(struct sim_process *process, hfi_time at);
/* Likewise, of one that is slow. */
hfi_time sim_process_slow(struct sim_process *process, hfi_time at);
/* A measure of how long the process was kept from running: what took longer than it should have since an earlier
 * time has the difference as an excuse. */
hfi_time sim_process_excuse(const struct sim_process *process);
/* Likewise, for a step that reads `now`. */
hfi_time sim_process_excuse_at(const struct sim_process *process, hfi_time now);
/* Whatever kept it from running is over. */
void sim_process_hurry(struct sim_process *process);

/* pump.c */
void sim_feed(struct sim_process *process, hfi_time now, const struct hfi_input *input);
void sim_pump(struct sim_process *process, hfi_time now);
void sim_submit(struct sim_process *process, hfi_time now, struct hfi_request *request,
                enum hfi_op op, struct sim_ask *ask);
void sim_answer(struct sim_process *process, hfi_time now, struct hfi_request *request);
void sim_rearm(struct sim_process *process);
/* hf_next(): false when there is nothing. */
bool sim_next_event(struct sim_process *process, struct sim_event *ret_event);

/* socket.c */
void sim_socket_init(struct sim_process *process, unsigned number);
bool sim_sockets_service(struct sim_process *process, hfi_time now);
void sim_socket_close(struct sim_socket *socket);
void sim_socket_cut_off(struct sim_process *process, hfi_time now);

/* worker.c */
void sim_worker_init(struct sim_process *process);
void sim_worker_kick(struct sim_process *process);
bool sim_worker_is_idle(const struct sim_process *process);

/* ask.c: each returns true when it has come back at once; else ask->returned() is called. */
void sim_ask_init(struct sim_process *process, struct sim_ask *ask,
                  void (*returned)(struct sim_ask *ask), void *arg);
bool sim_acquire(struct sim_ask *ask, hfi_time now);
void sim_acquire_start(struct sim_ask *ask, hfi_time now);
/* hf_cancel() of one; or pthread_cancel() of the thread that waits in it. */
void sim_cancel(struct sim_ask *ask, hfi_time now);
bool sim_release(struct sim_ask *ask, hfi_time now, struct sim_handle *handle);
void sim_release_start(struct sim_process *process, hfi_time now, struct sim_handle *handle);
/* Quietly, in the background. */
void sim_discard(struct sim_handle *handle);
bool sim_verify(struct sim_ask *ask, hfi_time now, struct sim_handle *handle);
void sim_close(struct sim_ask *ask, hfi_time now);
/* A step with something that is counted. */
bool sim_object(struct sim_ask *ask, hfi_time now, const struct sim_lock *lock, enum hfi_verb verb,
                int64_t number);
/* What was granted and is no hold is the caller's: HF_OK, or HF_ERR_CLOSED. */
int sim_keep(struct sim_ask *ask, hfi_time now);
void sim_query(struct sim_ask *ask, hfi_time now, enum hfi_op op, struct hfi_query *query);
/* HF_HELD …, as hf_hold_state() says it now. */
int sim_handle_state(const struct sim_handle *handle);
void sim_handle_free(struct sim_handle *handle);
void sim_ask_wake(struct sim_ask *ask);
void sim_close_look(struct sim_process *process, hfi_time now);

#endif
