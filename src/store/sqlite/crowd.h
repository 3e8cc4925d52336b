/* SPDX-License-Identifier: Apache-2.0 */
/* The clients that have a row, for people who look: looked up once a query. */
#ifndef HFI_STORE_SQLITE_CROWD_H
#define HFI_STORE_SQLITE_CROWD_H

#include "store/sqlite/sqlite.h"

struct hfi_sqlite_person {
    int64_t id;
    bool alive;
    struct hf_holder holder; /* owner: only the UUID */
};

struct hfi_sqlite_crowd {
    struct hfi_sqlite_person *person; /* by id */
    size_t count, room;
};

/* In a transaction. The caller frees crowd->person, also after an error. */
int hfi_sqlite_crowd_read(struct hfi_sqlite *s, struct hfi_sqlite_crowd *crowd);
const struct hfi_sqlite_person *hfi_sqlite_crowd_find(const struct hfi_sqlite_crowd *crowd,
                                                      int64_t id);

#endif
