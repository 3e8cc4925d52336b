/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork() and SQLite.
 *
 * A child may open clients of its own while its parent has the same file open, and SQLite is not made for
 * that: its global mutexes may be held by a thread that the child does not have, and its table of open
 * files (which POSIX locks make necessary) tells the child that it holds locks which only the parent has.
 * So this file
 *   - keeps fork() waiting while a thread of ours is inside SQLite (briefly: sleeps are outside);
 *   - makes files that an ancestor had open look like other files to SQLite's table in the child, so that
 *     the child takes locks of its own. SQLite asks stat() and fstat() through a table that can be changed.
 * Connections of the parent are never touched in the child: their memory is left as it is.
 */
#ifndef HFI_STORE_SQLITE_FORK_H
#define HFI_STORE_SQLITE_FORK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/time.h"

/* How long fork() is kept waiting for threads inside SQLite. After that the child cannot use SQLite. */
#define HFI_SQLITE_FORK_WAIT (HFI_SEC)

/* To be called before anything else: HF_OK, NO_MEMORY, or UNSUPPORTED with a line in detail. */
int hfi_sqlite_fork_guard(char *detail, size_t room);
/* To be called inside, before a file is opened; errors as above. */
int hfi_sqlite_library_check(char *detail, size_t room);
/* How many forks lie between the process that loaded us and this one. */
unsigned hfi_sqlite_generation(void);

/* Around every use of SQLite; not nested. The thread cannot be cancelled meanwhile. */
struct hfi_sqlite_inside {
    int cancel;
};
void hfi_sqlite_enter(struct hfi_sqlite_inside *inside);
void hfi_sqlite_leave(const struct hfi_sqlite_inside *inside);
/* Sleeps, inside, without keeping fork() waiting. */
void hfi_sqlite_sleep(hfi_time ns);

/* SQLite has this file open in this process. False: out of memory. */
bool hfi_sqlite_file_opened(dev_t dev, ino_t ino);

#endif
