/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boots and tokens. A token is epoch * 2^32 + n. The epoch is raised durably before a token of it is drawn:
 * once a boot, by whoever is first to try, and again when n is used up. n is counted in ordinary
 * transactions: a crash of the machine may lose the last of them, but then a new boot begins, and with it
 * a larger epoch.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "store/sqlite/sqlite.h"

#define EPOCH_TOKENS ((INT64_C(1) << HFI_SQLITE_EPOCH_BITS) - 1)

const char *hfi_sqlite_boot_file = "/proc/sys/kernel/random/boot_id";

int hfi_sqlite_read_boot(struct hfi_sqlite *s)
{
    int fd = open(hfi_sqlite_boot_file, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : read(fd, s->boot, HFI_SQLITE_UUID);
    int number = errno;

    if (fd >= 0)
        close(fd);
    if (count == HFI_SQLITE_UUID)
        return HF_OK;
    return hfi_sqlite_complain(s, HF_ERR_SYSTEM, "cannot read the id of this boot from %s: %s",
                               hfi_sqlite_boot_file,
                               count < 0 ? strerror(number) : "it is too short");
}

struct meta {
    bool this_boot, registered;
    int64_t epoch, tokens;
};

static int read_meta(struct hfi_sqlite *s, struct meta *ret_meta)
{
    sqlite3_stmt *statement = hfi_sqlite_query(s, HFI_SQL_META, "it", s->client, s->identity->id,
                                               strlen(s->identity->id));
    int row = hfi_sqlite_row(s, statement);
    const char *boot;
    size_t len;

    if (row < 0)
        return row;
    if (row == 0)
        return hfi_sqlite_complain(s, HF_ERR_NOT_A_STORE,
                                   "%s is damaged (its table meta is empty): stop its users and "
                                   "remove it",
                                   hfi_sqlite_shown(s->path));
    boot = hfi_sqlite_text(statement, 0, &len);
    ret_meta->this_boot = len == strlen(s->boot) && memcmp(boot, s->boot, len) == 0;
    ret_meta->epoch = sqlite3_column_int64(statement, 1);
    ret_meta->tokens = sqlite3_column_int64(statement, 2);
    ret_meta->registered = sqlite3_column_int(statement, 3) != 0;
    sqlite3_reset(statement);
    return HF_OK;
}

int hfi_sqlite_tokens(struct hfi_sqlite *s, uint32_t wanted, uint64_t *ret_first, int64_t *ret_used)
{
    struct meta meta;
    int error = read_meta(s, &meta);

    if (error)
        return error;
    if (!meta.this_boot || meta.tokens > EPOCH_TOKENS - (int64_t)wanted)
        return HFI_SQLITE_NEW_EPOCH;
    if (s->client && !meta.registered) {
        hfi_sqlite_forget(s); /* someone took us for dead, or removed the row by hand */
        hfi_sqlite_wake_lost(s);
    }
    *ret_first = ((uint64_t)meta.epoch << HFI_SQLITE_EPOCH_BITS) + (uint64_t)meta.tokens + 1;
    *ret_used = meta.tokens + (int64_t)wanted;
    return HF_OK;
}

int hfi_sqlite_check_boot(struct hfi_sqlite *s)
{
    uint64_t first;
    int64_t used;

    return hfi_sqlite_tokens(s, 0, &first, &used);
}

static int remove_old_boots(struct hfi_sqlite *s)
{
    int error =
        hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_CLIENTS_OLD, "t", s->boot, strlen(s->boot)));

    if (error >= 0)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_HOLDS_ORPHAN, ""));
    if (error >= 0)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_WAITERS_ORPHAN, ""));
    if (error >= 0)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_DONE_ORPHAN, ""));
    return error < 0 ? error : HF_OK;
}

/* In a write transaction under FULL. */
static int raise_epoch(struct hfi_sqlite *s)
{
    struct meta meta;
    int error = read_meta(s, &meta);

    if (error)
        return error;
    if (meta.this_boot && meta.tokens <= EPOCH_TOKENS - (int64_t)HFI_SQLITE_TOKENS_MAX)
        return HF_OK; /* another process was faster */
    if (meta.epoch < 0 || meta.epoch >= HFI_SQLITE_EPOCH_MAX)
        return hfi_sqlite_complain(s, HF_ERR_NOT_A_STORE,
                                   "%s has no tokens left: stop its users and begin a new file",
                                   hfi_sqlite_shown(s->path));
    if (!meta.this_boot)
        error = remove_old_boots(s);
    if (!error && !meta.this_boot)
        error = hfi_sqlite_tallies_move(s);
    if (!error)
        error = hfi_sqlite_run(s, hfi_sqlite_query(s, HFI_SQL_EPOCH_SET, "ti", s->boot,
                                                   strlen(s->boot), meta.epoch + 1));
    return error < 0 ? error : HF_OK;
}

int hfi_sqlite_new_epoch(struct hfi_sqlite *s)
{
    int error = hfi_sqlite_exec(s, "PRAGMA synchronous = FULL");

    if (!error)
        error = hfi_sqlite_begin(s, true);
    if (!error) {
        error = raise_epoch(s);
        if (error)
            hfi_sqlite_rollback(s);
        else
            error = hfi_sqlite_commit(s);
    }
    s->unknown = false; /* an epoch that may or may not have been raised does no harm */
    if (!error) {
        error = hfi_sqlite_exec(s, "PRAGMA synchronous = NORMAL");
        hfi_sqlite_sweep(s);
    }
    s->drop |= error != HF_OK; /* its settings may be half changed */
    return error;
}

int hfi_sqlite_two_boots(struct hfi_sqlite *s)
{
    return hfi_sqlite_complain(s, HF_ERR_UNAVAILABLE,
                               "%s is used from two running systems at once: a store of this kind "
                               "is for one host",
                               hfi_sqlite_shown(s->path));
}
