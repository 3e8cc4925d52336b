/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wake-ups: how a waiter learns that it is its turn, and a holder that its hold was taken away.
 *
 * A client watches its own liveness file: whoever has news for it touches that file (IN_ATTRIB) after the
 * commit. A waiter also watches the file of the one directly before it in the line, or of the holders when
 * it is the first, for being closed (IN_CLOSE_WRITE): the kernel does that when its process dies, whatever
 * the reason. One descriptor, from open to free, tells the host that there is something to collect.
 */
#ifndef HFI_STORE_SQLITE_WAKE_H
#define HFI_STORE_SQLITE_WAKE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/request.h"

struct hfi_sqlite;
struct hfi_sqlite_waiting; /* watch.h */

/* Clients before us that are watched for their death, of all names together; and holders of one name. Of
 * more a waiter is told, or it polls. */
#define HFI_SQLITE_WATCHES_MAX 1024
#define HFI_SQLITE_BEFORE_MAX  64
/* The kernel closes a file just before it drops its lock: so often is the lock looked at again, after 1,
 * 2, 4 … ms. */
#define HFI_SQLITE_LOOKS 10
/* When there was no inotify to be had: time to the next try. */
#define HFI_SQLITE_REARM (HFI_SEC)
/* A hold older than this has its client listen for a break. Closing an inotify descriptor takes
 * milliseconds in the kernel: short holds never have one. */
#define HFI_SQLITE_LISTEN_AFTER (50 * HFI_MSEC)

struct hfi_sqlite_wake {
    int epoll, inotify, self; /* the last: the watch descriptor of our own file; -1: none */
    struct hfi_sqlite_waiting *waiting; /* one a WATCH */
    size_t watched;                     /* guards of these, with a watch */
    hfi_time rearm_ns, listen_ns;
    int64_t broken; /* how many of our holds had been taken away when we last looked */
    bool poked, overflow, complained;
    _Atomic hfi_time deadline_ns;

    pthread_mutex_t lock; /* what the host asks for while another thread may be in execute() */
    struct hfi_watch *woken;
    bool restored;
};

/* HF_OK, NO_MEMORY or SYSTEM. */
int hfi_sqlite_wake_init(struct hfi_sqlite *s);
void hfi_sqlite_wake_fini(struct hfi_sqlite *s);
/* Closes the descriptors: async-signal-safe. */
void hfi_sqlite_wake_close(struct hfi_sqlite *s);

/* Bodies of WATCH and UNWATCH; they begin a transaction if they need one. */
int hfi_sqlite_watch(struct hfi_sqlite *s, struct hfi_request *request);
int hfi_sqlite_unwatch(struct hfi_sqlite *s, struct hfi_request *request);
void hfi_sqlite_collect(struct hfi_sqlite *s, hfi_time now);

/* A TRY is committed. */
void hfi_sqlite_wake_tried(struct hfi_sqlite *s, const struct hfi_lease *lease);
/* We have a new row. */
void hfi_sqlite_wake_joined(struct hfi_sqlite *s);
/* Our holds are gone, or may be: the host verifies them, and all waiters look again. */
void hfi_sqlite_wake_lost(struct hfi_sqlite *s);
/* How many watches there are of this name in this kind (fair: for this owner): 0 or 1. */
uint32_t hfi_sqlite_wake_watches(const struct hfi_sqlite *s, const struct hfi_lease *lease);
/* To be called before execute() and collect() return. */
void hfi_sqlite_wake_plan(struct hfi_sqlite *s);

/* The next watch with news, or NULL; was something restored since the last call? Any thread. */
struct hfi_watch *hfi_sqlite_woken(struct hfi_sqlite *s);
bool hfi_sqlite_restored(struct hfi_sqlite *s);

#endif
