/* SPDX-License-Identifier: Apache-2.0 */
/* Our waiters, one a WATCH: between wake.c, which hears, and watch.c, which knows what it means. */
#ifndef HFI_STORE_SQLITE_WATCH_H
#define HFI_STORE_SQLITE_WATCH_H

#include "store/sqlite/sqlite.h"

struct hfi_sqlite_waiting {
    struct hfi_sqlite_waiting *prev, *next;
    struct hfi_watch *watch;
    struct hfi_sqlite_peer before; /* whose file is watched; client 0: nobody's */
    int descriptor;                /* of that watch, or -1 */
    unsigned looks;                /* at its lock, since its file was closed */
    hfi_time look_ns;              /* the next one */
};

/* wake.c */

void hfi_sqlite_wake_up(struct hfi_sqlite *s, struct hfi_sqlite_waiting *waiting);
/* Listens to our own file. True: pokes reach us from now on, or will as soon as there is a file. */
bool hfi_sqlite_listen(struct hfi_sqlite *s);

/* watch.c */

struct hfi_sqlite_waiting *hfi_sqlite_find_waiting(const struct hfi_sqlite *s, const char *name,
                                                   size_t len);
/* Is it our turn, and if not, who is before us? One of them, or all (NULL). */
void hfi_sqlite_examine(struct hfi_sqlite *s, hfi_time now, struct hfi_sqlite_waiting *one);
/* The file of the one before was closed, or is gone: is it dead? */
void hfi_sqlite_look_again(struct hfi_sqlite *s, hfi_time now, struct hfi_sqlite_waiting *waiting);
/* Watches nobody's death for it any more. */
void hfi_sqlite_let_go(struct hfi_sqlite *s, struct hfi_sqlite_waiting *waiting);

#endif
