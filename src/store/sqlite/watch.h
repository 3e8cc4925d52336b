/* SPDX-License-Identifier: Apache-2.0 */
/* Our waiters, one a WATCH: between wake.c, which hears, and watch.c, which knows what it means. */
#ifndef HFI_STORE_SQLITE_WATCH_H
#define HFI_STORE_SQLITE_WATCH_H

#include "store/sqlite/sqlite.h"

/* Someone before us, whose death we must hear of. */
struct hfi_sqlite_guard {
    struct hfi_sqlite_guard *next;
    struct hfi_sqlite_peer peer; /* whose file is watched */
    int descriptor;              /* of that watch, or -1 */
    unsigned looks;              /* at its lock, since its file was closed */
    hfi_time look_ns;            /* the next one */
};

struct hfi_sqlite_waiting {
    struct hfi_sqlite_waiting *prev, *next;
    struct hfi_watch *watch;
    uint64_t
        owner; /* as the watch said when it was made: it may be changed before the next WATCH */
    uint8_t kind;
    struct hfi_sqlite_guard *before;
};

/* Who is before one of our waiters. */
struct hfi_sqlite_before {
    size_t count;
    bool clear; /* nobody is before us, or somebody who was has ended: it is worth a try */
    struct hfi_sqlite_peer peer[HFI_SQLITE_BEFORE_MAX];
};

/* wake.c */

void hfi_sqlite_wake_up(struct hfi_sqlite *s, struct hfi_sqlite_waiting *waiting);
/* Listens to our own file. True: pokes reach us from now on, or will as soon as there is a file. */
bool hfi_sqlite_listen(struct hfi_sqlite *s);

/* watch.c */

/* Is this one for the name and kind of the lease, and (fair) for its owner? */
bool hfi_sqlite_waits_for(const struct hfi_sqlite_waiting *waiting, const struct hfi_lease *lease);
/* Is it our turn, and if not, who is before us? One of them, or all (NULL). */
void hfi_sqlite_examine(struct hfi_sqlite *s, hfi_time now, struct hfi_sqlite_waiting *one);

/* guard.c */

bool hfi_sqlite_is_before(const struct hfi_sqlite_before *before, int64_t client);
/* Watches these and nobody else. False: one has died meanwhile. */
bool hfi_sqlite_keep_watch(struct hfi_sqlite *s, struct hfi_sqlite_waiting *waiting,
                           const struct hfi_sqlite_before *before);
/* The files of those before that were closed, or are gone: are they dead? */
void hfi_sqlite_look_again(struct hfi_sqlite *s, hfi_time now, struct hfi_sqlite_waiting *waiting);
/* When that is to be done. */
hfi_time hfi_sqlite_look_time(const struct hfi_sqlite_waiting *waiting);
/* Watches nobody's death for it any more. */
void hfi_sqlite_let_go(struct hfi_sqlite *s, struct hfi_sqlite_waiting *waiting);

#endif
