/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kind of lock is in the file. Everything under a name belongs to one of five families, which do not
 * know of each other: a lock, a number of permits, a semaphore, a latch and a stamp of one name are five
 * things. In a family, what is held and what is wanted is counted in units (room.c).
 *
 * The numbers of kinds, families and classes are in files: they never change.
 */
#ifndef HFI_STORE_SQLITE_KIND_H
#define HFI_STORE_SQLITE_KIND_H

#include "core/request.h"

enum hfi_sqlite_family {
    HFI_SQLITE_LOCKS = 0,
    HFI_SQLITE_PERMITS = 1,
    HFI_SQLITE_SEMAPHORES = 2,
    HFI_SQLITE_LATCHES = 3,
    HFI_SQLITE_STAMPS = 4
};

/* Of a hold. In this order they are found. */
enum hfi_sqlite_class {
    HFI_SQLITE_ALONE = 0,  /* a lock, with no other owner beside it */
    HFI_SQLITE_SHARED = 1, /* a lock, for reading */
    HFI_SQLITE_PART = 2    /* some permits */
};

_Static_assert(HFI_KIND_MUTEX == 0 && HFI_KIND_SPIN == 1 && HFI_KIND_FENCED == 2 &&
                   HFI_KIND_FAIR == 3 && HFI_KIND_WRITE == 4 && HFI_KIND_READ == 5 &&
                   HFI_KIND_PERMITS == 6 && HFI_KIND_SEMAPHORE == 7 && HFI_KIND_LATCH == 8,
               "these numbers are in files");

/* All of a lock: whoever wants so many units is alone. More than any count (HF_COUNT_MAX) can come to. */
#define HFI_SQLITE_ALL (INT64_C(1) << 40)

static inline enum hfi_sqlite_family hfi_sqlite_family_of(uint8_t kind)
{
    switch (kind) {
    case HFI_KIND_PERMITS:
        return HFI_SQLITE_PERMITS;
    case HFI_KIND_SEMAPHORE:
        return HFI_SQLITE_SEMAPHORES;
    case HFI_KIND_LATCH:
        return HFI_SQLITE_LATCHES;
    default:
        return HFI_SQLITE_LOCKS;
    }
}

static inline enum hfi_sqlite_class hfi_sqlite_class_of(uint8_t kind)
{
    switch (kind) {
    case HFI_KIND_READ:
        return HFI_SQLITE_SHARED;
    case HFI_KIND_PERMITS:
        return HFI_SQLITE_PART;
    default:
        return HFI_SQLITE_ALONE;
    }
}

/* Is a grant a hold, which has a row, a lease and an end? */
static inline bool hfi_sqlite_is_hold(uint8_t kind)
{
    return kind != HFI_KIND_SEMAPHORE && kind != HFI_KIND_LATCH;
}

static inline int64_t hfi_sqlite_units_of(const struct hfi_lease *lease)
{
    switch (lease->kind) {
    case HFI_KIND_READ:
        return 1;
    case HFI_KIND_PERMITS:
    case HFI_KIND_SEMAPHORE:
        return lease->permits ? lease->permits : 1;
    case HFI_KIND_LATCH:
        return 0;
    default:
        return HFI_SQLITE_ALL;
    }
}

/* Can one client have places for several numbers of units in the line? */
static inline bool hfi_sqlite_has_places(uint8_t kind)
{
    return kind == HFI_KIND_PERMITS || kind == HFI_KIND_SEMAPHORE;
}

/* Of several places in the line that one client has in one kind: each fair owner has its own, and so has each
 * number of permits. (The engine has a gate for each of them.) */
static inline int64_t hfi_sqlite_place_of(const struct hfi_lease *lease)
{
    switch (lease->kind) {
    case HFI_KIND_FAIR:
        return (int64_t)lease->owner;
    case HFI_KIND_PERMITS:
    case HFI_KIND_SEMAPHORE:
        return hfi_sqlite_units_of(lease);
    default:
        return 0;
    }
}

#endif
