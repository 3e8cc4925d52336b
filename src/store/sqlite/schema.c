/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables (sql.h): made in an empty file, or brought from an older version to ours.
 *
 * Either is one transaction, which begins by looking at the version again, since others may be doing the
 * same. A file keeps its holds and waiters; programs of the older version that have it open fail from then on
 * with what SQLite says of tables they do not know, and when they open it again, by its version.
 */
#include "store/sqlite/sqlite.h"

int hfi_sqlite_version(struct hfi_sqlite *s, int64_t *ret_version)
{
    int error = hfi_sqlite_number(s, "PRAGMA user_version", ret_version);

    if (!error && *ret_version > HFI_SQLITE_SCHEMA_VERSION)
        return hfi_sqlite_complain(s, HF_ERR_NEWER_STORE,
                                   "%s was written by a newer Holdfast (its version is %lld, this "
                                   "one knows %d): use that",
                                   hfi_sqlite_shown(s->path), (long long)*ret_version,
                                   HFI_SQLITE_SCHEMA_VERSION);
    return error;
}

static int make_tables(struct hfi_sqlite *s, int64_t from)
{
    if (from == HFI_SQLITE_SCHEMA_VERSION)
        return HF_OK; /* another process was faster */
    return hfi_sqlite_exec(s, from == 0 ? HFI_SQLITE_SCHEMA : HFI_SQLITE_SCHEMA_FROM_1);
}

/* What is left undone by an error ends with the connection. */
int hfi_sqlite_make_schema(struct hfi_sqlite *s)
{
    int64_t found = 0;
    int error = hfi_sqlite_exec(s, "PRAGMA page_size = " HFI_SQLITE_TEXT(HFI_SQLITE_PAGE_SIZE));

    if (!error)
        error = hfi_sqlite_exec(s, "PRAGMA synchronous = FULL");
    if (!error)
        error = hfi_sqlite_exec(s, "BEGIN IMMEDIATE");
    if (!error)
        error = hfi_sqlite_version(s, &found);
    if (!error)
        error = make_tables(s, found);
    if (!error)
        error = hfi_sqlite_exec(s, "COMMIT");
    if (!error)
        error = hfi_sqlite_exec(s, "PRAGMA synchronous = NORMAL");
    return error;
}
