/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores: the one interface by which they meet the core.
 *
 * A store is a folder here. It offers one driver (how to open it from a URI) and one class, in one of two
 * forms: a *wire* store is bytes in, bytes out, and the host owns the sockets; a *library* store has a
 * library below it that blocks. Both take the same requests (core/request.h) and finish each exactly once.
 *
 * What a store promises the core
 *   - try is idempotent for an owner: repeated, it changes nothing and says HFI_ALREADY;
 *   - release is repeatable, removes only its own owner, and wakes whoever should look next;
 *   - exclusive and shared kinds of one name keep each other out; a try that is busy says which topic tells
 *     of the release of what is in its way;
 *   - an owner that has a name for writing gets it for reading too, under the same owner id, and the other
 *     way it is busy;
 *   - requests take effect in the order in which they were submitted, as long as none ends UNKNOWN;
 *   - after UNKNOWN, what was submitted before it cannot take effect any more once a later request is
 *     DONE (the store ends the old connection first), or the store's page says when it still can;
 *   - a wake-up is a hint and never the truth; none is lost between a WATCH that is DONE and its UNWATCH
 *     unless the store says so by waking the watch when it works again.
 */
#ifndef HFI_STORE_STORE_H
#define HFI_STORE_STORE_H

#include "base/trace.h"
#include "core/request.h"

/* Who we are, for people who look. */
struct hfi_identity {
    char id[37]; /* UUID in text: the first part of our owner ids */
    char host[65];
    char user[33];
    char program[33];
    int64_t pid;
};

struct hfi_store_config {
    const struct hfi_identity *identity; /* outlives the store */
    struct hfi_trace trace;
    hfi_time op_timeout_ns;
    hfi_time connect_timeout_ns;
    uint64_t seed; /* for jitter */
};

#define HFI_DETAIL_MAX 512

struct hfi_store_class;

/* The head of every store. */
struct hfi_store {
    const struct hfi_store_class *class_;
    struct hfi_trace trace;
    uint32_t kinds;              /* which of enum hfi_kind it has, a bit each */
    uint64_t verbs;              /* which of enum hfi_verb */
    char detail[HFI_DETAIL_MAX]; /* one line: what was wrong with the last request that failed */
};

#define HFI_KIND_BIT(kind) (UINT32_C(1) << (kind))
#define HFI_VERB_BIT(verb) (UINT64_C(1) << (verb))

/* ------------------------------------------------------------------------------------------------
 * Wire stores. All calls come under the client's lock and do not block; time is given.
 */

enum hfi_link_want {
    HFI_LINK_NONE, /* no connection is wanted now */
    HFI_LINK_DIAL, /* connect now */
    HFI_LINK_KEEP, /* the connection is in use */
    HFI_LINK_DROP  /* end the connection, then call lost() */
};

struct hfi_address {
    const char *host; /* a name, or an address in text; NULL: a unix socket */
    const char *port; /* decimal */
    const char *path; /* unix socket */
};

#define HFI_LINK_MAX 2 /* 0: commands; 1: wake-ups */

struct hfi_wire_class {
    unsigned links;
    const struct hfi_address *(*address)(struct hfi_store *store);
    void (*submit)(struct hfi_store *store, hfi_time now, struct hfi_request *request);
    /* The next finished request, or NULL. */
    struct hfi_request *(*finished)(struct hfi_store *store);
    /* The next watch whose name has news, or NULL. */
    struct hfi_watch *(*woken)(struct hfi_store *store);
    /* True once after each time that the command connection has come to work again: holds should be
     * verified, and waiters look again. Also when someone took one of our holds away. */
    bool (*restored)(struct hfi_store *store);
    enum hfi_link_want (*want)(struct hfi_store *store, unsigned link, hfi_time now);
    void (*connected)(struct hfi_store *store, unsigned link, hfi_time now);
    /* The connection ended, or could not be made: why, for people. */
    void (*lost)(struct hfi_store *store, unsigned link, hfi_time now, const char *why);
    /* Would produce() have something? */
    bool (*has_output)(struct hfi_store *store, unsigned link);
    /* Bytes to send now; they stay valid until produced() says how many were sent. */
    size_t (*produce)(struct hfi_store *store, unsigned link, hfi_time now, const char **ret_bytes);
    void (*produced)(struct hfi_store *store, unsigned link, size_t count);
    /* Bytes that came. */
    void (*consume)(struct hfi_store *store, unsigned link, hfi_time now, const char *bytes,
                    size_t count);
    /* Is something to be read soon: a reply, a greeting? (Wake-ups do not count.) */
    bool (*expects)(struct hfi_store *store, unsigned link);
    /* Takes back a request of OBJECT that is not finished, and was not sent yet (sent_ns is 0): it is finished,
     * NOT_DONE with HF_ERR_CANCELLED. */
    void (*withdraw)(struct hfi_store *store, struct hfi_request *request);
    /* The client ends: finishes everything with HF_ERR_CLOSED, now and from now on. */
    void (*abandon)(struct hfi_store *store);
    /* When tick() wants to be called at the latest. */
    hfi_time (*deadline)(struct hfi_store *store);
    void (*tick)(struct hfi_store *store, hfi_time now);
};

/* ------------------------------------------------------------------------------------------------
 * Library stores. execute() and collect() may block; one thread at a time is in either, without the
 * client's lock. What they touch in a request or watch nobody else touches meanwhile.
 */
struct hfi_library_class {
    /* Does the request and finishes it. `now` was read just before. */
    void (*execute)(struct hfi_store *store, hfi_time now, struct hfi_request *request);
    /* Readable when collect() should be called; -1: none. */
    int (*wake_fd)(struct hfi_store *store);
    /* Reads what is there, puts woken watches in the list that woken() empties. */
    void (*collect)(struct hfi_store *store, hfi_time now);
    struct hfi_watch *(*woken)(struct hfi_store *store);
    /* When collect() wants to be called at the latest, readable or not. */
    hfi_time (*deadline)(struct hfi_store *store);
    /* As in struct hfi_wire_class. */
    bool (*restored)(struct hfi_store *store);
    /* The descriptor whose lock says that this client lives; -1 while it has none. */
    int (*liveness_fd)(struct hfi_store *store);
    /* In a forked child, which shares descriptors with its parent: close them, do nothing else. Only
     * async-signal-safe functions. */
    void (*forked)(struct hfi_store *store);
};

struct hfi_store_class {
    const char *name;
    bool announces;                    /* wants HFI_OP_ANNOUNCE and HFI_OP_FAREWELL */
    const struct hfi_wire_class *wire; /* one of the two */
    const struct hfi_library_class *library;
    /* The store's URI without its password, for people. */
    const char *(*uri)(struct hfi_store *store);
    void (*free)(struct hfi_store *store);
};

struct hfi_driver {
    const char *schemes; /* space-separated: "redis redis+unix" */
    /* `rest` is the URI behind "<scheme>:". On an error detail (HFI_DETAIL_MAX) has one line for people. */
    int (*open)(const char *scheme, const char *rest, const struct hfi_store_config *config,
                struct hfi_store **ret_store, char *detail);
};

#endif
