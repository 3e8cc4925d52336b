/* SPDX-License-Identifier: Apache-2.0 */
/* Where the store's file is, and whether it may be there. */
#ifndef HFI_STORE_SQLITE_FS_H
#define HFI_STORE_SQLITE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/vfs.h>

/* Bytes of the store's path, without the final NUL. SQLite's own limit is 512, less what is added to it. */
#define HFI_SQLITE_PATH_MAX 480
/* Room for that path with what is added: "-wal", ".d/" and a UUID. */
#define HFI_SQLITE_PATH_ROOM (HFI_SQLITE_PATH_MAX + 48)

/* Of a long path, what people are shown in a line that has to say more: its end. */
const char *hfi_sqlite_shown(const char *path);
/* The name of a kind of file system that several hosts may share, by its f_type; NULL: it is none. */
const char *hfi_sqlite_shared_fs(unsigned long type);
/* HF_OK, or HF_ERR_NETWORK_FS or HF_ERR_SYSTEM with a line in detail. */
int hfi_sqlite_fs_check(const char *path, char *detail, size_t room);
/* Asks what is under a path; tests put another in its place. */
extern int (*hfi_sqlite_statfs)(const char *path, struct statfs *ret_status);

/*
 * The absolute path, free of symbolic links, that the URI behind "sqlite:" means, into `path`
 * (HFI_SQLITE_PATH_ROOM). Empty: the usual place, whose folders are made; *ret_private then says that the
 * file is for its owner alone. HF_OK, or URI, SYSTEM, PERMISSION, READ_ONLY, NOT_A_STORE, STORE_FULL with a
 * line in detail.
 */
int hfi_sqlite_path(const char *rest, char *path, bool *ret_private, char *detail, size_t room);
/* What an errno of a file operation means, as one of our errors. */
int hfi_sqlite_errno(int number);

#endif
