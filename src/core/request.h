/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: what the core asks of a store, and the answers.
 *
 * A request is memory of whoever made it (a hold, a gate, a call); the store borrows it from submit until
 * it is finished, and writes the answer into it. Every request is finished exactly once, with one of
 *   HFI_DONE      it was executed; the answer members are valid
 *   HFI_NOT_DONE  it was definitely not executed; `error` says why
 *   HFI_UNKNOWN   it may have been executed, or may be later; `error` is HF_ERR_UNSURE
 * Invariants: a request is in at most one list; `sent_ns` is a clock reading from before its first byte
 * left (or before the first statement ran); names, labels and items outlive the request.
 */
#ifndef HFI_CORE_REQUEST_H
#define HFI_CORE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "holdfast/holdfast.h"

enum hfi_op {
    HFI_OP_TRY,      /* struct hfi_lease: take the lock for an owner */
    HFI_OP_RELEASE,  /* struct hfi_lease: give it back; repeatable; removes only this owner */
    HFI_OP_RENEW,    /* struct hfi_renewal: many holds at once */
    HFI_OP_WATCH,    /* struct hfi_watch: report wake-ups of a name from now on */
    HFI_OP_UNWATCH,  /* struct hfi_watch: no longer */
    HFI_OP_LEAVE,    /* struct hfi_watch: give up this client's place in the queue of a name */
    HFI_OP_ANNOUNCE, /* struct hfi_announcement: what people may see of holds and waits */
    HFI_OP_FAREWELL, /* struct hfi_request: the client ends; remove what it announced */
    HFI_OP_CHECK,    /* struct hfi_request: is the store usable? */
    HFI_OP_LIST,     /* struct hfi_query */
    HFI_OP_INSPECT,  /* struct hfi_query */
    HFI_OP_BREAK,    /* struct hfi_query */
    HFI_OP_OBJECT,   /* struct hfi_object: a semaphore, latch, bucket or map is read or changed */
    HFI_OP_COUNT
};

enum hfi_outcome { HFI_PENDING, HFI_DONE, HFI_NOT_DONE, HFI_UNKNOWN };

struct hfi_request {
    struct hfi_request *prev, *next; /* the list that it is in now */
    hfi_time deadline_ns; /* unanswered by then: NOT_DONE if nothing was sent, else UNKNOWN */
    hfi_time sent_ns;
    int error; /* HF_OK when DONE */
    uint8_t op;
    uint8_t outcome;
    uint8_t stage; /* the store's own */
    void *host;    /* the host's own, for a request that it made; NULL: the engine's */
};

/* ------------------------------------------------------------------------------------------------
 * TRY and RELEASE
 */

/* What is asked for under a name. */
enum hfi_kind {
    HFI_KIND_MUTEX,   /* one owner */
    HFI_KIND_SPIN,    /* the same data; its waiters listen to nothing */
    HFI_KIND_FENCED,  /* the same data; tokens from a counter of its own */
    HFI_KIND_FAIR,    /* one owner, the waiters in the order in which they came */
    HFI_KIND_WRITE,   /* one owner, and no reader but itself */
    HFI_KIND_READ,    /* any number of owners, and no other writer */
    HFI_KIND_PERMITS, /* `permits` of a number, as a lease */
    HFI_KIND_SEMAPHORE, /* `permits` of a number, without owner: a grant is no hold, and ends with itself */
    HFI_KIND_LATCH, /* nothing: granted when a count is zero, or is not there */
    HFI_KIND_COUNT
};

/* Where a waiter is told to look again. */
enum hfi_topic {
    HFI_TOPIC_LOCK,       /* a lock with one owner was given back */
    HFI_TOPIC_READ_WRITE, /* a hold of a read-write lock was */
    HFI_TOPIC_TURN,       /* it is the turn of one owner in the queue of a fair lock */
    HFI_TOPIC_PERMITS,    /* permits have come back */
    HFI_TOPIC_LATCH,      /* a count was set, reached zero, or was deleted */
    HFI_TOPIC_COUNT
};

enum hfi_verdict {
    HFI_GRANTED, /* TRY: token, tokens */
    HFI_BUSY,    /* TRY: hint_ns, topic, ticket */
    HFI_ALREADY, /* TRY: this owner holds it already (a request was repeated); nothing was changed */
    HFI_RELEASED, /* RELEASE: it was ours; others */
    HFI_GONE      /* RELEASE: it was not, or no longer, ours. TRY of a latch: it was deleted */
};

/*
 * A lock given to an owner, as the store sees it. The owner's text is "<client id>:<owner>".
 *   SEMAPHORE: RELEASE takes back a TRY whose outcome is not known, and only that: GONE when it was not
 *              executed. Permits that were granted are given back by an object's operation.
 *   LATCH:     there is no RELEASE.
 *   FAIR:      RELEASE also gives up the owner's place in the queue; `ticket`: it may have one.
 *   WRITE:     a ticket says that readers are kept waiting for us (`prefer`).
 */
struct hfi_lease {
    struct hfi_request request; /* TRY, then RELEASE; first member */
    const char *name;
    char *label; /* may be NULL; only read by the store */
    uint64_t owner;
    uint64_t token; /* answer of TRY: the first of `tokens` consecutive ones, all new */
    /* No answer has both. */
    union {
        hfi_time hint_ns; /* TRY: BUSY: trying again before so long is not worthwhile */
        uint32_t others;  /* RELEASE: waiting processes told, this one included where it watches */
    };
    uint32_t ttl_ms;
    uint32_t tokens;  /* TRY: how many are wanted; answer: how many there are, at least 1 */
    uint32_t permits; /* PERMITS, SEMAPHORE: how many; else 0 */
    uint32_t wait_ms; /* TRY of a fair lock: how long its place in the queue is wanted; 0: no end */
    uint16_t name_len;
    uint8_t kind;    /* enum hfi_kind */
    uint8_t verdict; /* enum hfi_verdict */
    uint8_t topic;   /* answer of TRY: enum hfi_topic */
    bool queue;      /* TRY: leave a ticket when busy, if the store has a queue */
    bool ticket;     /* answer of TRY: there is a ticket; LEAVE gives it up */
    bool prefer;     /* TRY of a writer that waits: new readers are to wait for it */
};

/* ------------------------------------------------------------------------------------------------
 * RENEW
 */

/* Per request: bounds what a server does in one go, and the bytes of one request. */
#define HFI_RENEWAL_MAX 64

struct hfi_renewal_item {
    struct hfi_lease *lease; /* stays valid until the request is finished */
    uint32_t ttl_ms;         /* from now; 0: only look */
    bool kept;               /* answer: still this owner's, and renewed */
};

/* All items are of one kind; mutex, spin, fenced and fair count as one. */
struct hfi_renewal {
    struct hfi_request request; /* first member */
    size_t count;
    struct hfi_renewal_item *items;
};

/* ------------------------------------------------------------------------------------------------
 * WATCH, UNWATCH, LEAVE
 *
 * WATCH is DONE when wake-ups are certain from now on, as long as the store's connection lasts. When it is
 * finished otherwise, the store goes on trying until UNWATCH, and reports a wake-up when it succeeds. So
 * it does for every watch after an interruption.
 */
struct hfi_watch {
    struct hfi_request request; /* first member */
    const char *name;
    uint64_t
        owner; /* TURN: whose; LEAVE of a fair lock: whose place. They may change with a new WATCH */
    uint32_t wait_ms; /* LEAVE of a fair lock: as in the lease */
    uint32_t permits; /* PERMITS, SEMAPHORE: how many the gate asks for */
    uint16_t name_len;
    uint8_t topic; /* enum hfi_topic; may change with a new WATCH */
    uint8_t kind;  /* enum hfi_kind of the gate */
    bool deleted;  /* the store's: LATCH: the last message may mean that it was deleted */
    bool woken;    /* the store's: it is in the list of woken ones */
    struct hfi_watch *prev, *next; /* the store's */
    struct hfi_watch *next_woken;  /* the store's */
    void *store_data;              /* the store's; NULL at first */
};

/* ------------------------------------------------------------------------------------------------
 * ANNOUNCE
 */

#define HFI_ANNOUNCEMENT_MAX 32

/* What this client has to do with one name now. */
struct hfi_announcement_item {
    const char *name; /* stays valid until the request is finished */
    uint16_t name_len;
    bool held;
    bool watching; /* listens for wake-ups, waiting or not */
    uint8_t kind;  /* enum hfi_kind */
    uint32_t
        holds; /* how many of this kind (READ, PERMITS); the members below are the oldest one's */
    uint32_t
        permits; /* PERMITS, SEMAPHORE: how many at once; one name can have items of each number */
    uint32_t waiters;
    uint64_t owner; /* whose hold it is, or was when it was last announced */
    uint64_t token;
    hfi_time held_since_ns;
    hfi_time waiting_since_ns; /* if waiters > 0 */
    char label[HF_LABEL_MAX + 1];
};

struct hfi_announcement {
    struct hfi_request request; /* first member */
    hfi_time ttl_ns;            /* how long it stands if not repeated */
    bool forgotten;             /* answer: the store had nothing of this client before */
    size_t count;               /* may be 0: only to be repeated */
    struct hfi_announcement_item items[HFI_ANNOUNCEMENT_MAX];
};

/* ------------------------------------------------------------------------------------------------
 * LIST, INSPECT, BREAK: for people
 */

/* (BREAK of one of many holders removes that one.) */
struct hf_list;

struct hfi_query {
    struct hfi_request request; /* first member */
    const char *text;           /* LIST: a pattern or NULL; INSPECT, BREAK: a name */
    const char *owner;          /* BREAK: whom to remove */
    struct hf_list *list;       /* LIST, INSPECT: the store appends to it (base/list.h) */
    uint64_t cursor;            /* LIST: 0 at first; 0 again when there is no more */
};

/* ------------------------------------------------------------------------------------------------
 * OBJECT: one step, which never waits
 */

enum hfi_verb {
    HFI_SEMAPHORE_SET,       /* number: permits, unless there are some; ttl_ms may be 0. EXISTS */
    HFI_SEMAPHORE_RELEASE,   /* number: how many come back; makes it if there is none */
    HFI_SEMAPHORE_RETURN,    /* the same, but NOT_FOUND if there is none */
    HFI_SEMAPHORE_ADD,       /* number: more, or fewer */
    HFI_SEMAPHORE_DRAIN,     /* answer: number taken */
    HFI_SEMAPHORE_AVAILABLE, /* answer: number */
    HFI_SEMAPHORE_DELETE,    /* NOT_FOUND */
    HFI_PERMITS_SET,         /* number: the total, unless there is one. EXISTS */
    HFI_PERMITS_RESIZE,      /* number: the new total */
    HFI_PERMITS_ADD,         /* number: more, or fewer */
    HFI_PERMITS_COUNT,       /* answer: number: available; number2: taken */
    HFI_PERMITS_DELETE,      /* NOT_FOUND */
    HFI_LATCH_SET,           /* number: the count, unless there is one. EXISTS */
    HFI_LATCH_DOWN,          /* answer: number: what is left */
    HFI_LATCH_GET,           /* answer: number */
    HFI_LATCH_DELETE,        /* wakes the waiters. NOT_FOUND */
    HFI_BUCKET_GET,          /* answer: data. NOT_FOUND */
    HFI_BUCKET_SET,          /* value, ttl_ms, token */
    HFI_BUCKET_SET_ABSENT,   /* likewise. EXISTS */
    HFI_BUCKET_COMPARE_SET,  /* likewise, if it is `expected` (NULL: is absent). CHANGED */
    HFI_BUCKET_SWAP,         /* likewise; answer: data as it was, found */
    HFI_BUCKET_TTL,          /* answer: number: ms, or -1. NOT_FOUND */
    HFI_BUCKET_DELETE,       /* token. NOT_FOUND */
    HFI_MAP_PUT,             /* key, value, token; answer: data as it was, found */
    HFI_MAP_PUT_ABSENT,      /* likewise. EXISTS */
    HFI_MAP_GET,             /* key; answer: data. NOT_FOUND */
    HFI_MAP_REMOVE,          /* key, token; answer: data as it was. NOT_FOUND */
    HFI_MAP_SIZE,            /* answer: number */
    HFI_STAMP_SET,           /* ttl_ms: a note that something was done, forgotten after so long */
    HFI_STAMP_GET,           /* answer: number: ms since it was made; number2: ms left. NOT_FOUND */
    HFI_STAMP_DELETE,        /* NOT_FOUND */
    HFI_VERB_COUNT
};

struct hfi_bytes {
    const char *at; /* NULL: none */
    size_t len;
};

/*
 * NOT_DONE with the error named above is a definite answer. What changes a number is repeatable: `number`
 * counts once, however often the same `serial` of this client is executed, as long as the store remembers it
 * (HFI_SERIAL_MS). A token that is not 0 guards a value: the change is refused with STALE when a larger one
 * was used before for the same object, and remembered else.
 */
#define HFI_SERIAL_MS (60 * 1000)

struct hfi_object {
    struct hfi_request request; /* first member */
    const char *name;
    uint16_t name_len;
    uint8_t verb;    /* enum hfi_verb */
    uint64_t serial; /* of this request and its repetitions; drawn with the owners' numbers */
    int64_t number;  /* in and out */
    int64_t number2; /* out */
    int64_t ttl_ms;  /* 0: none */
    uint64_t token;  /* 0: no guard */
    struct hfi_bytes key, value, expected;
    bool found; /* out */
    char *data; /* out: allocated by the store, with a NUL behind; the host's to free */
    size_t data_len;
};

/* The list itself as a request's container, for those whose first member it is. */
static inline struct hfi_lease *hfi_request_lease(struct hfi_request *request)
{
    return (struct hfi_lease *)request;
}

static inline struct hfi_renewal *hfi_request_renewal(struct hfi_request *request)
{
    return (struct hfi_renewal *)request;
}

static inline struct hfi_watch *hfi_request_watch(struct hfi_request *request)
{
    return (struct hfi_watch *)request;
}

static inline struct hfi_announcement *hfi_request_announcement(struct hfi_request *request)
{
    return (struct hfi_announcement *)request;
}

static inline struct hfi_query *hfi_request_query(struct hfi_request *request)
{
    return (struct hfi_query *)request;
}

static inline struct hfi_object *hfi_request_object(struct hfi_request *request)
{
    return (struct hfi_object *)request;
}

/* Writes the answer's fate. The answer members must be filled before. */
static inline void hfi_request_finish(struct hfi_request *request, enum hfi_outcome outcome,
                                      int error)
{
    request->outcome = (uint8_t)outcome;
    request->error = error;
}

#endif
