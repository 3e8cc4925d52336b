/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holdfast: distributed locks that are honest about what they know.
 *
 * A hold is a lease: the store gives a lock to one owner for `ttl_ms`, the library renews it as long
 * as the owner keeps it, and says so at once when it no longer can. See holdfast(7) for the promises
 * of each store, and hf_hold_state() for what a program may do in each state.
 *
 * Conventions of this header
 *   Errors     Every function that can fail returns HF_OK (0) or one of the negative HF_ERR_ values
 *              listed at its declaration. hf_strerror() names it, hf_classify() says what to do now,
 *              hf_last_error() gives the details of this thread's last failed call.
 *   Arguments  Pointers must not be NULL unless it is said that they may.
 *   Time       Milliseconds in `_ms` members. 0 means "the default" in every option.
 *   Threads    A client may be used by any number of threads at once. A handle (hf_hold) belongs to
 *              whoever acquired it; it may be passed to another thread, but two threads must not
 *              release the same handle.
 *   fork       In a child of fork() the parent's clients and handles are inert: calls return
 *              HF_ERR_FORKED and send nothing. The child may open clients of its own.
 *   Signals    No call returns early because of a signal; SIGPIPE is never raised; the library's own
 *              thread has all signals blocked.
 *   Cancelling A thread that waits in hf_acquire() may be cancelled (pthread_cancel, deferred type):
 *              the acquire is then abandoned and cleaned up. No other call is a cancellation point.
 */
#ifndef HOLDFAST_HOLDFAST_H
#define HOLDFAST_HOLDFAST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HF_API __attribute__((visibility("default")))
#else
#define HF_API
#endif

#define HF_VERSION_MAJOR 0
#define HF_VERSION_MINOR 1
#define HF_VERSION_PATCH 0
#define HF_VERSION       "0.1.0"

/* The version of the library that the program runs with, as "0.1.0". Never fails. */
HF_API const char *hf_version(void);

/* ------------------------------------------------------------------------------------------------
 * Limits
 */

#define HF_NAME_MAX       1024               /* bytes of a lock's name, without the final NUL */
#define HF_LABEL_MAX      256                /* bytes of a label, without the final NUL */
#define HF_TTL_MIN_MS     100                /* also for lease_ms */
#define HF_TTL_MAX_MS     (24 * 3600 * 1000) /* also for lease_ms */
#define HF_TTL_DEFAULT_MS (30 * 1000)        /* Redisson's lockWatchdogTimeout */
#define HF_WAIT_MAX_MS    (INT64_C(365) * 24 * 3600 * 1000)
#define HF_PERMITS_MAX    1000 /* permits of one hold, or of one semaphore's acquire */
#define HF_COUNT_MAX      INT64_C(1000000000) /* of a semaphore, of a latch */
#define HF_MEMBERS_MAX    64                  /* locks of one multi hold */

/* ------------------------------------------------------------------------------------------------
 * Errors
 *
 * X(name, value, class, text). Values never change; new ones are appended.
 */
#define HF_ERRORS(X)                                                                               \
    X(HF_ERR_BUSY, -1, BUSY, "the lock is held by someone else")                                   \
    X(HF_ERR_UNSURE, -2, UNSURE, "no answer came: whether it was done is unknown")                 \
    X(HF_ERR_UNREACHABLE, -3, RETRY, "the store cannot be reached")                                \
    X(HF_ERR_UNAVAILABLE, -4, RETRY, "the store answers but cannot serve now")                     \
    X(HF_ERR_STORE_FULL, -5, RETRY, "the store is out of memory or disk space")                    \
    X(HF_ERR_NO_MEMORY, -6, RETRY, "this process is out of memory")                                \
    X(HF_ERR_SYSTEM, -7, RETRY, "the system refused a descriptor, a thread or a file operation")   \
    X(HF_ERR_LOST, -8, LOST, "the hold was lost")                                                  \
    X(HF_ERR_CHANGED, -9, LOST, "the holder has changed in between: nothing was removed")          \
    X(HF_ERR_CANCELLED, -10, CANCEL, "it was cancelled")                                           \
    X(HF_ERR_CLOSED, -11, CANCEL, "the client is closed")                                          \
    X(HF_ERR_FORKED, -12, USAGE, "this client belongs to the parent process")                      \
    X(HF_ERR_INVALID, -13, USAGE, "an argument is not valid")                                      \
    X(HF_ERR_NAME, -14, USAGE, "the lock name is not valid")                                       \
    X(HF_ERR_TTL, -15, USAGE, "the ttl or lease is out of range")                                  \
    X(HF_ERR_LABEL, -16, USAGE, "the label is not valid")                                          \
    X(HF_ERR_URI, -17, USAGE, "the store URI is not valid")                                        \
    X(HF_ERR_UNSUPPORTED, -18, USAGE, "not supported")                                             \
    X(HF_ERR_AUTH, -19, FATAL, "the store refused the user or password")                           \
    X(HF_ERR_PERMISSION, -20, FATAL, "the store or file system denies this operation")             \
    X(HF_ERR_WRONG_TYPE, -21, FATAL, "something that is not a lock is stored under this name")     \
    X(HF_ERR_READ_ONLY, -22, FATAL, "the store can only be read")                                  \
    X(HF_ERR_CLUSTER, -23, FATAL, "the server is a node of a cluster")                             \
    X(HF_ERR_NOT_A_STORE, -24, FATAL, "this is not a Holdfast store")                              \
    X(HF_ERR_NEWER_STORE, -25, FATAL, "the store was written by a newer Holdfast")                 \
    X(HF_ERR_NETWORK_FS, -26, FATAL, "the embedded store must not be on a shared file system")     \
    X(HF_ERR_PROTOCOL, -27, FATAL, "the server's answer makes no sense")                           \
    X(HF_ERR_INTERNAL, -28, FATAL, "an internal invariant is broken: this client is out of use")   \
    X(HF_ERR_NOT_FOUND, -29, LOST, "there is nothing of that name")                                \
    X(HF_ERR_EXISTS, -30, BUSY, "there is something of that name already: it was left as it is")   \
    X(HF_ERR_REENTRY, -31, USAGE, "this owner holds the lock already")                             \
    X(HF_ERR_UPGRADE, -32, USAGE,                                                                  \
      "this owner holds the name in another mode, and would wait for itself")                      \
    X(HF_ERR_STALE, -33, LOST, "a newer token was used here before: nothing was changed")

/* What a caller should do now. */
enum hf_class {
    HF_CLASS_OK,     /* nothing: it worked */
    HF_CLASS_BUSY,   /* wait or do something else */
    HF_CLASS_UNSURE, /* treat it as not done; the library cleans up behind you */
    HF_CLASS_RETRY,  /* nothing was done: try again later */
    HF_CLASS_LOST,   /* stop the work that the lock protected */
    HF_CLASS_CANCEL, /* you asked for it */
    HF_CLASS_USAGE,  /* correct the call */
    HF_CLASS_FATAL   /* a person must change something first; hf_last_error() says what */
};

enum hf_error {
    HF_OK = 0,
#define HF_X(name, value, class_, text) name = value,
    HF_ERRORS(HF_X)
#undef HF_X
};

/* One line in English, static storage; "unknown error" for a number that is none of ours. */
HF_API const char *hf_strerror(int error);
/* The class of an error; HF_CLASS_OK for 0, HF_CLASS_FATAL for a number that is none of ours. */
HF_API enum hf_class hf_classify(int error);
/* Details of the last call that failed on this thread: one line that says what is wrong and what to
 * do, without passwords. Valid until the thread's next call. Never NULL. */
HF_API const char *hf_last_error(void);

/* ------------------------------------------------------------------------------------------------
 * Clients
 */

typedef struct hf_client hf_client; /* a connection to one store, with its own owner ids */
typedef struct hf_hold hf_hold;     /* a handle on a hold */

/* Turns an option off where 0 means its default. */
#define HF_OFF (-1)

enum hf_trace_level { HF_TRACE_WARNING = 1, HF_TRACE_INFO = 2, HF_TRACE_DEBUG = 3 };

struct hf_client_options {
    size_t size;                /* sizeof this struct; filled by HF_CLIENT() */
    int64_t op_timeout_ms;      /* a request unanswered for so long has an unknown outcome, and its
                               connection is ended; default 2000, never more than a quarter of the
                               ttl of the lock concerned */
    int64_t connect_timeout_ms; /* for one attempt to connect; default 2000 */
    int64_t close_timeout_ms;   /* what hf_close() may take for releasing; default 2000 */
    int64_t poll_ms;            /* a waiter looks again after at most so long, wake-ups or not;
                               default 1000 */
    int64_t pass_ms;            /* a lock is passed on inside the process for at most so long before
                               other processes get their turn; default 10; HF_OFF: never */
    int64_t pass_count;         /* … and at most so many times; default 1000 */
    const char *program;        /* shown to people; default: the name of the executable */
    /* Called with warnings, and with notes for debugging, one line each, without passwords. It may
     * be called from any thread that uses the client, and from the library's own, with locks of the
     * library held: it must not block, nor call the library. */
    void (*trace)(void *trace_arg, enum hf_trace_level level, const char *text);
    void *trace_arg;
};

/* Options in C: hf_open(uri, HF_CLIENT(.op_timeout_ms = 500), &client). C++ fills a variable. */
#define HF_CLIENT(...)                                                                             \
    (&(const struct hf_client_options){ .size = sizeof(struct hf_client_options), __VA_ARGS__ })

/*
 * Makes a client of the store that `uri` names. Stores:
 *   sqlite:PATH                                  the embedded store: one host, no server
 *   redis://[user[:password]@]host[:port][/db]   Redis or Valkey, one server
 *   redis+unix:///path[?db=N]
 * For a server, options follow a ?: prefix=TEXT is put before every name, layout=string keeps locks as
 * plain strings, beside redis-py and its like (holdfast(7)). A NULL or empty `uri` means the embedded
 * store in its usual place (holdfast(7)). Both strings are copied. For a server, nothing is sent before
 * the first call that needs it; a file is opened and checked at once. May block on the file system, not on
 * the network.
 *
 * Errors: INVALID, URI, UNSUPPORTED, NO_MEMORY, SYSTEM; for a file also PERMISSION, READ_ONLY,
 * NOT_A_STORE, NEWER_STORE, NETWORK_FS, STORE_FULL, UNAVAILABLE.
 */
HF_API int hf_open(const char *uri, const struct hf_client_options *options,
                   hf_client **ret_client);

/*
 * Ends a client: acquires in progress return HF_ERR_CLOSED, what is held is released, within
 * close_timeout_ms together; what could not be released ends by its ttl. Handles that are still open
 * become inert: hf_release() only frees them, and their state is HF_RELEASED. NULL is allowed. In a
 * forked child it does nothing (fork() has closed the descriptors). Blocks until calls on other threads
 * have left; once it has returned, no call may be given the client any more. Returns NULL.
 */
HF_API hf_client *hf_close(hf_client *client);

/*
 * One round trip: can this store be used? Blocks for at most connect_timeout_ms + op_timeout_ms.
 * Errors: UNREACHABLE, UNAVAILABLE, UNSURE (no answer in time), AUTH, PERMISSION, READ_ONLY, CLUSTER,
 * PROTOCOL, CLOSED, FORKED, NO_MEMORY, SYSTEM, INTERNAL.
 */
HF_API int hf_check(hf_client *client);

/* The store's URI without its password; valid as long as the client. */
HF_API const char *hf_client_store(const hf_client *client);
/* This client's own id, a UUID in text: the first part of its owner ids. Valid as long as it. */
HF_API const char *hf_client_id(const hf_client *client);

/* ------------------------------------------------------------------------------------------------
 * Holders, as far as they are known
 */

#define HF_OWNER_MAX 256 /* bytes of an owner id in text, without the final NUL; longer is cut */

/* Who holds a lock or waits for it. Text is "" and numbers are -1 (token: 0) when not known: a client
 * of another make, such as Redisson, says only its owner id. */
struct hf_holder {
    size_t size;
    char owner[HF_OWNER_MAX + 1]; /* "<client id>:<number>" */
    char host[65];
    char user[33];
    char program[33];
    char label[HF_LABEL_MAX + 1];
    int64_t pid;
    int64_t age_ms;       /* since it got the lock, or began to wait */
    int64_t remaining_ms; /* until the lease runs out if it is not renewed; a waiter: -1 */
    uint64_t token;
    int64_t count; /* how many threads of that process (waiters), how often entered (holders) */
};

/* ------------------------------------------------------------------------------------------------
 * Acquire and release
 */

#define HF_WAIT_FOREVER INT64_C(0) /* the default */
#define HF_TRY_ONCE     INT64_C(-1)

/*
 * What is taken. Each has functions of its own below that set the mode, such as hf_fair_acquire(). On one
 * name, exclusive holds of whatever mode and shared ones keep each other out; the order of the fair mode is
 * kept among those that use it.
 *
 *   HF_EXCLUSIVE  one owner; inside a process it is passed on at memory speed. Redisson's RLock
 *   HF_SHARED     any number of owners, as long as nobody has an exclusive hold. RReadWriteLock's readLock()
 *   HF_WRITE      one owner, that may also read. RReadWriteLock's writeLock(). On the embedded store, and
 *                 among programs that use Holdfast only, the same as HF_EXCLUSIVE but for passing
 *   HF_FAIR       one owner; waiters of all processes are served in the order in which they came, and a
 *                 waiter that has died is passed over within seconds. RFairLock
 *   HF_FENCED     one owner; tokens come from the name's own counter, which Redisson's RFencedLock shares
 *                 (others: from one of ours)
 *   HF_SPIN       one owner; waiters listen to nothing and look again and again, with pauses of 1 to 128 ms:
 *                 for users who may not subscribe. RSpinLock
 *   HF_PERMITS    `permits` of the number that hf_permits_set() gave the name. RPermitExpirableSemaphore,
 *                 with holds that are renewed
 */
enum hf_mode {
    HF_EXCLUSIVE = 0,
    HF_SHARED = 1,
    HF_WRITE = 2,
    HF_FAIR = 3,
    HF_FENCED = 4,
    HF_SPIN = 5,
    HF_PERMITS = 6
};

struct hf_acquire_options {
    size_t size;      /* sizeof this struct; filled by HF_ACQUIRE() */
    int64_t wait_ms;  /* HF_WAIT_FOREVER, HF_TRY_ONCE, or 1 to HF_WAIT_MAX_MS */
    int64_t ttl_ms;   /* how long the lock outlives a holder that died; renewed every third of it;
                            HF_TTL_MIN_MS to HF_TTL_MAX_MS, default HF_TTL_DEFAULT_MS. At least 20
                            times the round trip to the store, or a warning is traced. */
    int64_t lease_ms; /* instead of ttl_ms: a fixed lease that is never renewed */
    int64_t max_hold_ms; /* renewal ends so long after the acquire; default: never */
    uint64_t owner;    /* who asks: an owner that holds a lock enters it again at once. Default: in
                            hf_acquire() the calling thread, in hf_acquire_start() a new owner each
                            time. A value of your own names an owner of this client. */
    const char *label; /* why, shown to people who look; up to HF_LABEL_MAX bytes of UTF-8 */
    enum hf_mode mode;
    struct hf_holder
        *busy;       /* hf_acquire() only: filled when HF_ERR_BUSY is returned (one more round
                               trip); set its size member first */
    int64_t permits; /* HF_PERMITS: how many, 1 to HF_PERMITS_MAX; default 1 */
    int64_t
        reentry; /* HF_OFF: an owner that holds the lock gets HF_ERR_REENTRY, not a further handle */
    int64_t
        prefer; /* HF_WRITE: 1: while this waits, new readers wait too (Holdfast's, not Redisson's).
                        Readers that come one after another can else keep a writer out for ever */
};

/* Options in C: hf_acquire(client, name, HF_ACQUIRE(.wait_ms = 5000), &hold). C++ fills a variable. */
#define HF_ACQUIRE(...)                                                                            \
    (&(const struct hf_acquire_options){ .size = sizeof(struct hf_acquire_options), __VA_ARGS__ })

/*
 * Takes the lock `name`: 1 to HF_NAME_MAX bytes of UTF-8 without control characters. `options` may be
 * NULL. Blocks as wait_ms says, and never much longer: an attempt whose answer does not come within
 * op_timeout_ms ends it.
 *
 * On success *ret_hold is a handle that the caller releases by hf_release(); the lease was confirmed by
 * the store and its deadline lies ahead. On any error nothing is held: an attempt whose outcome is
 * unknown is released behind the scenes, and its remains in the store end by their ttl at the latest.
 *
 * Re-entry: when `owner` holds the name already and its lease is valid, the call returns at once with
 * a further handle of the same hold (same token, same lease; ttl, lease, label and max_hold of this
 * call are not used). The store is told of the release when the last handle is released. A thread that
 * waits for a lock that it holds under another owner value waits for itself. Permits are never entered
 * again: each call takes more. An owner that has the write hold of a name may take a shared one: both are
 * holds of their own; when the write hold is released first, others may read. The reverse, asking for the
 * write hold while reading, would wait for itself: HF_ERR_UPGRADE.
 *
 * Errors
 *   BUSY         not acquired in the time given; someone else holds it
 *   UNSURE       not acquired in the time given; the last attempt was not answered
 *   UNREACHABLE, UNAVAILABLE, STORE_FULL   not acquired in the time given, for this reason; with
 *                wait_ms = HF_WAIT_FOREVER these are waited out
 *   AUTH, PERMISSION, WRONG_TYPE, READ_ONLY, CLUSTER, PROTOCOL   at once, whatever wait_ms says; on the
 *                embedded store, when its file was replaced or damaged, NOT_A_STORE, NEWER_STORE, NETWORK_FS
 *   NAME, TTL, LABEL, INVALID, UNSUPPORTED   the arguments, or a mode that this store does not have
 *   REENTRY, UPGRADE   the owner itself is in the way
 *   NO_MEMORY, SYSTEM   at once
 *   CLOSED, FORKED, INTERNAL
 */
HF_API int hf_acquire(hf_client *client, const char *name, const struct hf_acquire_options *options,
                      hf_hold **ret_hold);

/* hf_acquire() in one mode each, whatever options->mode says. */
HF_API int hf_shared_acquire(hf_client *client, const char *name,
                             const struct hf_acquire_options *options, hf_hold **ret_hold);
HF_API int hf_write_acquire(hf_client *client, const char *name,
                            const struct hf_acquire_options *options, hf_hold **ret_hold);
HF_API int hf_fair_acquire(hf_client *client, const char *name,
                           const struct hf_acquire_options *options, hf_hold **ret_hold);
HF_API int hf_fenced_acquire(hf_client *client, const char *name,
                             const struct hf_acquire_options *options, hf_hold **ret_hold);
HF_API int hf_spin_acquire(hf_client *client, const char *name,
                           const struct hf_acquire_options *options, hf_hold **ret_hold);
HF_API int hf_permits_acquire(hf_client *client, const char *name, int64_t permits,
                              const struct hf_acquire_options *options, hf_hold **ret_hold);

/* A lock of a multi hold. */
struct hf_member {
    size_t size; /* sizeof this struct, in each member */
    hf_client *client;
    const char *name;
    enum hf_mode mode;
    int64_t permits; /* HF_PERMITS: as in struct hf_acquire_options */
};

/*
 * Takes several locks, of any modes and stores, as one hold: all or none. They are taken one after another
 * in an order that all programs share (store, name, mode), so two such calls never wait for each other in a
 * circle, nor give way to each other for ever; what was taken is given back when the time is over. The
 * options' wait_ms is for all of them together; ttl, lease, label and max_hold are each one's; mode, permits
 * and `busy` are not used. The same lock twice is INVALID.
 *
 * The hold is released as one. Its state is the worst of its members', its deadline the earliest, and it has
 * no token of its own (0): hf_multi_hold() has each member's. Blocks as hf_acquire() does, with the same
 * errors. All clients must outlive the handle's release.
 */
HF_API int hf_multi_acquire(const struct hf_member *members, size_t count,
                            const struct hf_acquire_options *options, hf_hold **ret_hold);
/* The hold of members[i], valid as long as the multi hold, and not to be released by itself. NULL: there is
 * no such member, or this is not a multi hold (i is 0: the hold itself). */
HF_API const hf_hold *hf_multi_hold(const hf_hold *hold, size_t i);

/*
 * Gives a hold back and frees its handle, whatever is returned. NULL is allowed (HF_OK). Not a
 * cancellation point, and not cut short by a signal; blocks for at most op_timeout_ms.
 *
 * Errors
 *   LOST         the hold was already lost: other owners may have been at work since
 *   UNSURE       the store has not answered: the library goes on trying until it has, or the ttl is over
 *   FORKED, CLOSED   only the handle was freed
 *   INTERNAL
 */
HF_API int hf_release(hf_hold *hold);

enum hf_state {
    HF_HELD = 1,    /* the store confirmed us and the deadline lies ahead: work */
    HF_AT_RISK = 2, /* the last renewal failed or is late; still before the deadline: finish */
    HF_LOST = 3,    /* past the deadline, or the store says that it is not ours: stop */
    HF_RELEASED = 4 /* given back (only seen after hf_close()) */
};

/* The state now, by comparing the deadline with the clock: no I/O, does not block. HF_LOST stays
 * HF_LOST. In a forked child: HF_ERR_FORKED. */
HF_API int hf_hold_state(const hf_hold *hold);
/* Milliseconds to the deadline, rounded down; 0 when lost, released or forked. As above. */
HF_API int64_t hf_hold_remaining_ms(const hf_hold *hold);
/* The fencing token, larger than every earlier one of this name (holdfast(7) says for how long); below
 * 2^53. Pass it along with each write to what the lock protects. 0 only for what can have several owners:
 * shared holds, permits, and multi holds. */
HF_API uint64_t hf_hold_token(const hf_hold *hold);
/* The owner id as the store has it, "<client id>:<number>", into buf (cut to len). Returns its length. */
HF_API size_t hf_hold_owner(const hf_hold *hold, char *buf, size_t len);
/* The lock's name; valid as long as the handle. */
HF_API const char *hf_hold_name(const hf_hold *hold);
/*
 * Asks the store whether the hold is still ours, and renews it if it is (a fixed lease: only asks).
 * Blocks for one round trip, at most op_timeout_ms. HF_OK: it is. Errors: LOST; UNSURE, UNREACHABLE,
 * UNAVAILABLE (the hold's state tells what is known without the store); FORKED, CLOSED, INTERNAL.
 */
HF_API int hf_hold_verify(hf_hold *hold);

/*
 * For supervisors. On a store of this host a holder that dies loses its locks at once. A process that
 * keeps a copy (dup(), then fork()) of this descriptor open keeps them until it closes it or the ttl is
 * over: a guard can so end the dead holder's children first. The descriptor belongs to the client, is
 * close-on-exec, and is closed in forked children; the copy is yours. Valid once something was held.
 * Errors: UNSUPPORTED (a server: holds there end by their ttl), NOT_FOUND (nothing held yet), FORKED,
 * CLOSED.
 */
HF_API int hf_guard_fd(hf_client *client);

/* ------------------------------------------------------------------------------------------------
 * Event loops
 *
 * Nothing here blocks. Poll hf_fd() for POLLIN and then call hf_next() until it returns 0. No callback
 * ever runs. Events of blocking calls' holds (AT_RISK, LOST) come here too; there is at most one
 * pending event a hold, and hf_release() takes it away, so a program that never calls hf_next() loses
 * no memory.
 */

enum hf_event_type {
    HF_EVENT_ACQUIRED = 1, /* hold: yours to release */
    HF_EVENT_FAILED = 2,   /* error: why; HF_ERR_CANCELLED after hf_cancel() */
    HF_EVENT_AT_RISK = 3,  /* hold: a renewal failed or is late */
    HF_EVENT_LOST = 4,     /* hold: lost; told once; release it all the same */
    HF_EVENT_RELEASED = 5, /* error: what hf_release() would have returned; hold: NULL */
    HF_EVENT_DONE =
        6 /* a wait or a call that yields no hold (holdfast/objects.h) is over: it succeeded */
};

/* Bytes of any kind, as buckets and maps have them. */
struct hf_value {
    const void *bytes; /* NULL: there is none */
    size_t len;
};

/* What a function or an event has put into an hf_value of yours. NULL, and NULL bytes, are allowed. */
HF_API void hf_value_free(struct hf_value *value);

struct hf_event {
    size_t size; /* set by the caller: sizeof this struct */
    enum hf_event_type type;
    int error;
    hf_hold *hold;
    void *cookie; /* as given to hf_acquire_start(), or to hf_release_start() for RELEASED; NULL for
                     holds of blocking calls */
    /* DONE of a call of holdfast/objects.h: what its blocking form returns by pointers, in their order. Else 0 */
    int64_t number[2];
    struct hf_value
        value; /* yours, for hf_value_free(). If `size` leaves no room for it, it is freed */
};

/*
 * Starts an acquire with the meaning of hf_acquire(), and returns. Exactly one event ACQUIRED or FAILED
 * with this cookie follows. Errors, when none follows: NAME, TTL, LABEL, INVALID, UNSUPPORTED,
 * NO_MEMORY, SYSTEM, CLOSED, FORKED, INTERNAL.
 */
HF_API int hf_acquire_start(hf_client *client, const char *name,
                            const struct hf_acquire_options *options, void *cookie);
/*
 * Starts hf_multi_acquire(). It goes on as its clients' events are taken: every client of a member must be
 * polled, and hf_next() called for it. The one event with this cookie comes from the client whose member was
 * the last; hf_cancel() is to be tried with each client. Without `owner`, each member's is a new one. The
 * arguments are copied. Errors as hf_acquire_start().
 */
HF_API int hf_multi_acquire_start(const struct hf_member *members, size_t count,
                                  const struct hf_acquire_options *options, void *cookie);
/*
 * Ends the acquires, waits and calls in progress with this cookie. Each still yields exactly one event: FAILED with
 * HF_ERR_CANCELLED; or ACQUIRED or DONE, when it was granted first. A call of holdfast/objects.h takes no time to
 * be granted: if it was sent, it cannot be called back, and its event is that of its outcome, which may be UNSURE
 * since no further try is made; if not, it was not done. HF_OK, or NOT_FOUND when there is none. Also FORKED, CLOSED.
 */
HF_API int hf_cancel(hf_client *client, void *cookie);
/* Starts hf_release(): the handle is gone, an event RELEASED with the cookie follows (of a multi hold: from
 * the client of the member that was released last). NULL is refused
 * with INVALID. Errors, when no event follows: INVALID; FORKED, CLOSED (the handle was freed). */
HF_API int hf_release_start(hf_hold *hold, void *cookie);
/* A descriptor that is readable when hf_next() has something; owned by the client, close-on-exec.
 * Negative: SYSTEM (no descriptor to be had), FORKED, CLOSED. */
HF_API int hf_fd(hf_client *client);
/* Takes the next event: 1, or 0 when there is none. After FAILED, hf_last_error() has the details. Errors:
 * INVALID, FORKED, CLOSED. */
HF_API int hf_next(hf_client *client, struct hf_event *ret_event);

/* ------------------------------------------------------------------------------------------------
 * For people: who holds what
 *
 * What these say may lag the store by a second; it is for looking, not for deciding.
 */

typedef struct hf_list hf_list; /* what was found; freed by hf_list_free() */

struct hf_lock {
    size_t size;      /* set by the caller: sizeof this struct */
    const char *name; /* as long as the list */
    const char
        *state; /* "held", "free" (only waiters, or a semaphore or latch that nobody holds), or
                          "foreign": a lock of a kind that this version does not know */
    struct hf_holder holder;
    int64_t waiters; /* processes, and threads of other makes' processes, that wait */
    const char *
        kind; /* "mutex", "fair", "read", "write", "permits", "semaphore", "latch", or "" when that is
                         not known; a mutex is also what the fenced and spin modes take */
    int64_t holders;   /* owners that hold it (read, permits); else 0 or 1 */
    int64_t available; /* permits, semaphore: what is left; latch: the count; else -1 */
};

/* The locks whose names match `pattern` (* and ? as in file names; NULL: all). Blocks: on a server it
 * looks at every key, in small steps that do not hold up others.
 * Errors: INVALID, UNSURE, UNREACHABLE, UNAVAILABLE, AUTH, PERMISSION, READ_ONLY, CLUSTER, PROTOCOL,
 * CLOSED, FORKED, NO_MEMORY, SYSTEM, INTERNAL. */
HF_API int hf_list_locks(hf_client *client, const char *pattern, hf_list **ret_list);
/* One lock, with its waiters. As above, and NAME; NOT_FOUND when nobody holds it or waits for it. */
HF_API int hf_inspect(hf_client *client, const char *name, hf_list **ret_list);
HF_API size_t hf_list_count(const hf_list *list);
/* Fills *ret_lock; HF_OK, or INVALID when i is not below the count. */
HF_API int hf_list_get(const hf_list *list, size_t i, struct hf_lock *ret_lock);
/* The j-th waiter, in order, of the i-th lock (only after hf_inspect()); INVALID past the last. */
HF_API int hf_list_waiter(const hf_list *list, size_t i, size_t j, struct hf_holder *ret_waiter);
/* The j-th holder of the i-th lock, 0 being the one in struct hf_lock; INVALID past the last. */
HF_API int hf_list_holder(const hf_list *list, size_t i, size_t j, struct hf_holder *ret_holder);
/* Frees; NULL is allowed. Returns NULL. */
HF_API hf_list *hf_list_free(hf_list *list);

/*
 * Takes a lock away from the owner (its id as hf_inspect() showed it) and wakes the waiters; the holder
 * is told. Changes nothing when someone else holds it by now: CHANGED, or NOT_FOUND when nobody does.
 * A lock that is taken away can be granted to a rival before its holder knows. Blocks for a round trip.
 * Errors: as hf_inspect().
 */
HF_API int hf_break(hf_client *client, const char *name, const char *owner);

#ifdef __cplusplus
}
#endif

#endif
