/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The production host of engine and store: one lock, the threads that call, and one thread of our own.
 *
 *   client.c    beginning and end            fork.c      what a child of fork() has of it
 *   pump.c      requests to the store, answers to the engine, results to whoever waits
 *   call.c      a thread that waits: asleep, or by driving a channel
 *   channel.c   sockets: dialing, sending, reading     worker.c   stores that block: executing
 *   thread.c    the background: time, and whatever no caller does
 *   step.c      one-step requests of objects, waited for or started     events.c    hf_fd() and hf_next()
 *
 * Who does what
 *   - Engine and store are touched under `lock` only. It is never held over a system call that can block.
 *   - A channel has at most one driver at a time: the thread that polls it and reads (or, for a store that
 *     blocks, executes requests). A caller that waits for something on it drives it if nobody does; else it
 *     sleeps, and the driver completes its request when the reply comes. A driver whose
 *     own wait is over hands the role on. What no caller waits for is driven by the background thread.
 *   - A channel has at most one writer at a time; others leave their bytes to it.
 *   - Only the background thread keeps time. It is woken only when its next time becomes earlier.
 *   - A thread that drives is woken through the channel's eventfd, one that sleeps through its semaphore;
 *     semaphores are posted after the lock was let go.
 */
#ifndef HFI_RUNTIME_CLIENT_H
#define HFI_RUNTIME_CLIENT_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "core/engine.h"
#include "holdfast/holdfast.h"
#include "store/store.h"
#include "transport/socket.h"

#define HFI_INPUT_SIZE (16 * 1024) /* bytes read at once */

/* How many handles a client keeps for the next acquire. */
#define HFI_SPARE_HANDLES 64

/* Threads woken at once without the lock; further ones are woken with it. */
#define HFI_POSTS_MAX 64

/* When a caller has left the wake-up channel, the background listens to it after so long: often the next
 * caller is there before. */
#define HFI_ORPHAN_NS (50 * HFI_MSEC)

/* A connection unused for so long is looked at before it is used: servers close idle ones. */
#define HFI_IDLE_NS HFI_SEC

/* Several holds as one (src/api/multi.c). */
struct hfi_multi {
    size_t count;
    _Atomic(struct hf_hold *)
        whole;         /* the handle that the program has; NULL: it has none (yet): no news */
    atomic_uint left;  /* releases that are not done yet */
    atomic_int result; /* of the others */
    atomic_bool lost_told;
    atomic_bool missed;     /* news of a part came when there was no whole */
    struct hf_hold *hold[]; /* as the program named them; NULL: not taken */
};

/* A public handle. */
struct hf_hold {
    struct hfi_handle handle; /* first member */
    hf_client *client;
    struct hfi_multi
        *multi; /* what it is made of, if it has no hold of its own; or what it is a part of */
    union {
        struct hf_hold *next;      /* spare ones; or RELEASED events */
        struct hfi_call *releaser; /* who waits in hf_release(); NULL: an event follows */
    };
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct hf_hold) <= 72,
               "a handle has grown"); /* see hold.h */

enum hfi_call_kind {
    HFI_CALL_ACQUIRE, /* waiter */
    HFI_CALL_RELEASE,
    HFI_CALL_REQUEST /* a request of the host's own */
};

/* What a thread sleeps on. They belong to the client and are never freed before it, since they are posted
 * after the lock was let go, when the sleeper may be gone already: at worst the next one wakes in vain. */
struct hfi_parker {
    sem_t semaphore;
    struct hfi_parker *next; /* the free ones */
};

/* A thread that waits in a blocking call. On its stack. */
struct hfi_call {
    struct hfi_call *prev, *next; /* those that sleep */
    enum hfi_call_kind kind;
    bool done;
    bool waited;   /* it was not done at once */
    bool called;   /* the engine woke the waiter to take a hold */
    bool sleeping; /* is in the list of those that sleep */
    int driving;   /* a channel's number; -1: none */
    struct hfi_parker *parker;
    struct hfi_multi
        *multi; /* ACQUIRE: the hold is to be a part of it; NULL: it is one by itself */
    struct hfi_waiter waiter;
};

struct hfi_async;
struct hfi_step;

/* Something larger, whose parts are acquires of event loops, one after another and perhaps of several clients. */
struct hfi_whole {
    struct hfi_multi *multi; /* what the parts are of: their news is not the program's */
    struct hfi_tie *ties;
    size_t tie_count;
    /* A part is done, with this event: what is to be told instead; false: nothing yet. Without the lock. */
    bool (*advance)(struct hfi_async *async, struct hf_event *event);
    /* Its client was closed, and nobody took its event: the handle is a closed client's. Likewise. */
    void (*abandon)(struct hfi_async *async);
    atomic_bool
        cancelled; /* no further part is begun: looked at with the lock of the client it would be at */
    _Atomic(hf_client *)
        at; /* whose the part in progress is, its event included; NULL: there is none */
};

/* What a client that a part may come to knows of the whole, for hf_cancel(). It keeps the client's memory, as a
 * handle does. */
struct hfi_tie {
    struct hfi_tie *prev, *next; /* of the client */
    hf_client *client;           /* NULL: it is not tied */
    struct hfi_whole *whole;
    const void *cookie;
    atomic_bool
        asked; /* hf_cancel() was here when no part was: who looks elsewhere now need not come again */
};

/* An acquire of an event loop. */
struct hfi_async {
    struct hfi_waiter waiter; /* first member */
    struct hf_hold *hold;
    struct hfi_async *prev, *next; /* all in progress; then events */
    struct hfi_whole *whole;       /* NULL: it is one by itself */
    void *cookie;
    bool cancelled; /* of a whole: hf_cancel() found it before its event was taken */
};

/* A socket, and who still uses it: it is closed when nobody does. */
struct hfi_socket {
    int fd;
    unsigned users;
};

enum { HFI_NOBODY = 0, HFI_CALLER, HFI_BACKGROUND };

struct hfi_channel {
    struct hfi_socket *socket; /* NULL: none */
    bool connecting;
    bool writing;
    bool blocked;            /* the socket takes no more: poll for POLLOUT */
    int driver;              /* HFI_NOBODY, HFI_CALLER, HFI_BACKGROUND */
    struct hfi_call *called; /* a sleeper that was woken to drive it, and has not run yet */
    int kick_fd;             /* wakes a caller that drives; -1 until it is needed */
    hfi_time used_ns;        /* last sign of life */
    struct hfi_lookup *lookup;
    const struct addrinfo *address; /* the one that is tried, or the next */
    char *input;
};

struct hf_client {
    pthread_mutex_t lock;
    uint64_t fork_mark;            /* hfi_fork_mark() when it was opened */
    struct hf_client *prev, *next; /* all clients of the process */
    struct hfi_engine engine;
    struct hfi_store *store;
    bool is_wire; /* bytes in, bytes out; else it blocks */
    char detail
        [HFI_DETAIL_MAX]; /* a copy of the store's, if it blocks: it writes its own without the lock */
    struct hfi_identity identity;
    struct hfi_trace trace;
    hfi_time close_timeout_ns;
    hfi_time op_timeout_ns, connect_timeout_ns;

    struct hfi_channel channel[HFI_LINK_MAX];
    struct hfi_request *queue; /* for a store that blocks: to be executed */
    bool collect_wanted;       /* likewise: its wake-ups are to be collected */
    hfi_time collect_by; /* what the store said after it was last at work: when at the latest, */
    int wake_fd, liveness_fd; /* and these */

    struct hfi_call *sleepers;
    struct hfi_parker *parkers;             /* free */
    struct hfi_parker *post[HFI_POSTS_MAX]; /* to be posted when the lock is let go */
    unsigned posts;
    bool unsettled;   /* what channels need, or who drives them, may have changed */
    atomic_uint pins; /* who is about to enter it from another client: it is not freed meanwhile */
    atomic_uint inside;  /* threads in calls, or about to take the lock for one */
    unsigned handles;    /* not yet freed, and ties; they keep the memory of a closed client */
    pthread_cond_t left; /* closing: `inside` went down, or the engine became quiet */
    bool closed;         /* hf_close() has been called */
    bool dissolving; /* and nobody is inside any more: late releases wait until it is finished */
    bool finished;   /* and is done: only handles keep the memory */
    atomic_uint posting; /* threads that let go of the lock and are yet to post */

    pthread_t thread, worker;
    bool has_thread, has_worker, stop;
    int thread_fd; /* wakes the background thread */
    int timer_fd;
    pthread_cond_t worker_cond;
    hfi_time listen_ns; /* when it listens to the wake-up channel, if no caller does until then */
    hfi_time wakes_ns;  /* when the background thread wakes by itself, at the latest */
    hfi_time timer_ns;  /* what its timer is set to */
    bool brisk;         /* it rests for a moment only, since there are events to be taken */
    bool
        corked; /* and what event handlers send waits for the last of them, or for that moment's end */

    struct hfi_async *asyncs;            /* in progress */
    struct hfi_async *events;            /* done, not yet taken */
    struct hfi_tie *ties;                /* of what such a one may be a part of */
    struct hf_hold *released;            /* likewise */
    struct hfi_step *steps, *steps_done; /* the same of steps with objects (step.h) */
    int event_fd;
    bool event_signalled;
    uint64_t fresh_owner;

    struct hf_hold *spare;
    unsigned spare_count;
};

/* pump.c */

void hfi_lock(hf_client *client);
/* Lets go of the lock, and wakes whoever is to be woken. */
void hfi_unlock(hf_client *client);
/* Waits for a condition, which lets go of the lock as well. `until` may be NULL. As pthread_cond_timedwait(). */
int hfi_await(hf_client *client, pthread_cond_t *cond, const struct timespec *until);
/* One input to the engine, and all that follows from it: of the store only if it is asked for something. Called with the lock; may let go of it to send. */
void hfi_feed(hf_client *client, hfi_time now, const struct hfi_input *input);
/* A request of the host's own. */
void hfi_submit(hf_client *client, hfi_time now, struct hfi_request *request, enum hfi_op op,
                struct hfi_call *call);
/* What waited to be sent together goes out. */
void hfi_uncork(hf_client *client);
/* When time must be looked at again. */
hfi_time hfi_next_time(hf_client *client);
/* A request that was executed by a store that blocks. */
void hfi_answered(hf_client *client, hfi_time now, struct hfi_request *request);
/* All that is to be done now: requests, answers, wake-ups, results, connections, output. */
void hfi_pump(hf_client *client, hfi_time now);

/* channel.c */

/* Connects, closes and sends as the store wants it. May let go of the lock. True: the store may have
 * something new. */
bool hfi_channels_service(hf_client *client, hfi_time now);
/* There is a socket, or a look-up's end, to wait for. */
bool hfi_channel_can_be_polled(hf_client *client, int number);
/* Someone must poll it soon, for more than wake-ups. */
bool hfi_channel_expects(hf_client *client, int number);
void hfi_channel_close(struct hfi_channel *channel);

/* One's own reference to a channel's socket, what to poll it for, and what came of that. */
struct hfi_reading {
    struct hfi_socket *socket; /* NULL: a descriptor that is not a socket */
    int fd;
    short events, revents;
    long count; /* bytes read; 0: the end; -1: see error */
    int error;
};

/* With the lock, by the driver. */
void hfi_reading_begin(hf_client *client, int number, struct hfi_reading *reading);
/* Without the lock: reads what is there, if poll() said so in revents. */
void hfi_reading_read(hf_client *client, int number, struct hfi_reading *reading);
/* With the lock: hands it to the store. */
void hfi_reading_end(hf_client *client, int number, hfi_time now, struct hfi_reading *reading);

/* worker.c */

/* Executes what is queued, until `call` is done (NULL: until nothing is left). With the lock, by the driver
 * of the command channel; lets go of it meanwhile. */
void hfi_execute(hf_client *client, struct hfi_call *call);
bool hfi_work_is_waiting(const hf_client *client);
void *hfi_worker_run(void *client);

/* call.c */

void hfi_call_init(struct hfi_call *call, enum hfi_call_kind kind);
/* Waits until the call is done. With the lock, which it lets go of meanwhile. */
void hfi_call_wait(hf_client *client, struct hfi_call *call);
/* Wakes the thread that waits in a call. */
void hfi_call_wake(hf_client *client, struct hfi_call *call);
/* Finds somebody for each channel that needs a driver: a caller that sleeps, else the background. */
void hfi_hand_on(hf_client *client);
/* Some caller wants to drive it: one that sleeps, or was woken for it. */
bool hfi_caller_wants(hf_client *client, int number);
/* Every call begins and ends with these; in between a thread can only be cancelled while an acquire sleeps or
 * polls. HF_OK with the lock taken; or HF_ERR_FORKED, HF_ERR_CLOSED. */
int hfi_enter(hf_client *client);
/* The same, and the client's threads run; or SYSTEM. */
int hfi_enter_started(hf_client *client);
void hfi_enter_locked(
    hf_client *client); /* likewise, with the lock, and whatever the client is at */
void hfi_leave(hf_client *client);
/* Turns cancellation off for the rest of the call. It costs as much as a lock, so calls that make no system
 * call do without: to be called before any cancellation point. */
void hfi_no_cancel(void);

/* thread.c */

/* Starts the threads of the client, if they do not run. HF_OK or HF_ERR_SYSTEM. With the lock. */
int hfi_threads_start(hf_client *client);
/* Without the lock, when nobody else is inside. */
void hfi_threads_stop(hf_client *client);
/* The background thread is to look again now; or by then at the latest. With the lock. */
void hfi_thread_kick(hf_client *client);
void hfi_thread_wake_by(hf_client *client, hfi_time at);

/* events.c */
void hfi_event_signal(hf_client *client);
/* Is something finished of which nobody has taken the event? */
bool hfi_event_is_left(const hf_client *client);
/* The whole is there: what became of its parts meanwhile is told of it. Without the lock. */
void hfi_multi_tell_missed(struct hfi_multi *multi);

/* fork.c */
uint64_t hfi_fork_mark(void);
int hfi_fork_register(hf_client *client);
void hfi_fork_unregister(hf_client *client);
bool hfi_is_forked(const hf_client *client);

/* identity.c */
void hfi_identity_init(struct hfi_identity *identity, const char *program);
uint64_t hfi_random_seed(void);
/* A number for the calling thread that no other thread of the process ever has. */
uint64_t hfi_thread_owner(void);

/* client.c */

struct hfi_client_config {
    struct hfi_trace trace;
    const char *program; /* may be NULL */
    hfi_time op_timeout_ns, connect_timeout_ns, close_timeout_ns, poll_ns, pass_ns;
    uint32_t pass_count;
};

/* Opens the store by its driver. HF_OK; HF_ERR_NO_MEMORY, HF_ERR_SYSTEM, or what the driver says. */
int hfi_client_new(const struct hfi_driver *driver, const char *scheme, const char *rest,
                   const struct hfi_client_config *config, hf_client **ret_client);
void hfi_client_close(hf_client *client);
/* Waits until a client that is being closed is finished. With the lock; no cancellation point. */
void hfi_await_finished(hf_client *client);
/* A handle for an acquire; NULL: out of memory. With the lock. */
struct hf_hold *hfi_hold_alloc(hf_client *client);
/* A handle that is not linked to a hold. With the lock. */
void hfi_hold_free(hf_client *client, struct hf_hold *hold);
/* A handle of a closed client; without the lock. The last one frees the client. */
void hfi_hold_drop(struct hf_hold *hold);
/* Of a client that is open, or a forked one, which is left alone. Without its lock. */
void hfi_tie(hf_client *client, struct hfi_tie *tie);
/* Whatever the clients are at; without their locks. */
void hfi_untie(struct hfi_tie *ties, size_t count);
/* What a semaphore granted is the program's now, and the handle not needed any more. With the lock. HF_OK; or
 * CLOSED, when it was given back meanwhile. */
int hfi_hold_keep(hf_client *client, struct hf_hold *hold);

/* Of two results of releasing parts: which is to be told? */
static inline bool hfi_is_worse(int error, int than)
{
    return than == HF_OK || (error == HF_ERR_LOST && than != HF_ERR_LOST);
}

static inline void hfi_multi_add_result(struct hfi_multi *multi, int error)
{
    int before = atomic_load(&multi->result);

    while (error && hfi_is_worse(error, before) &&
           !atomic_compare_exchange_weak(&multi->result, &before, error))
        ;
}

static inline bool hfi_is_multi(const struct hf_hold *hold)
{
    return hold->multi && hold->multi->whole == hold;
}

/* error.c: notes details for hf_last_error(), and returns the error */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int hfi_fail(int error, const char *format, ...);
/* Details from the store, if it has any, else the error's text. With the lock. */
int hfi_fail_store(hf_client *client, int error);

#endif
