/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File systems that are refused. The store's shared memory, file locks and inotify work among processes of
 * one kernel only; on a file system that another kernel may write too, two hosts would both be granted a
 * lock. What FUSE and virtiofs do cannot be known, so they are refused as well.
 */
#include "store/sqlite/fs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "holdfast/holdfast.h"

#define SHOWN_MAX 160

struct fs_kind {
    unsigned long type; /* f_type of statfs(2), 32 bits */
    const char *name;
};

static const struct fs_kind SHARED[] = {
    { 0x00006969, "NFS" },      { 0x0000517b, "SMB" },
    { 0xff534d42, "CIFS" },     { 0xfe534d42, "SMB2" },
    { 0x01021997, "9p" },       { 0x65735546, "FUSE or virtiofs" },
    { 0x5346414f, "OpenAFS" },  { 0x6b414653, "AFS" },
    { 0x00c36400, "Ceph" },     { 0x0bd00bd0, "Lustre" },
    { 0x01161970, "GFS2" },     { 0x7461636f, "OCFS2" },
    { 0x47504653, "GPFS" },     { 0x73757245, "Coda" },
    { 0x0000564c, "NCP" },      { 0x786f4256, "vboxsf" },
    { 0xbacbacbc, "vmhgfs" },   { 0x7c7c6673, "Parallels shared folders" },
    { 0x19830326, "BeeGFS" },   { 0x20030528, "OrangeFS" },
    { 0xaad7aaea, "PanFS" },    { 0x61636673, "ACFS" },
    { 0xbeefdead, "StorNext" }, { 0x013111a8, "IBRIX" },
    { 0x00c0ffee, "hostfs" },
};

int (*hfi_sqlite_statfs)(const char *path, struct statfs *ret_status) = statfs;

const char *hfi_sqlite_shared_fs(unsigned long type)
{
    for (size_t i = 0; i < sizeof SHARED / sizeof SHARED[0]; i++)
        if (SHARED[i].type == (type & 0xffffffffUL))
            return SHARED[i].name;
    return NULL;
}

const char *hfi_sqlite_shown(const char *path)
{
    size_t len = strlen(path);

    return len > SHOWN_MAX ? path + len - SHOWN_MAX : path;
}

int hfi_sqlite_fs_check(const char *path, char *detail, size_t room)
{
    struct statfs status;
    const char *name;

    while (hfi_sqlite_statfs(path, &status) != 0) {
        int number = errno;

        if (number == EINTR)
            continue;
        snprintf(detail, room, "%s: cannot tell its file system: %s", hfi_sqlite_shown(path),
                 strerror(number));
        return hfi_sqlite_errno(number);
    }
    name = hfi_sqlite_shared_fs((unsigned long)status.f_type);
    if (!name)
        return HF_OK;
    snprintf(detail, room,
             "%s is on a file system that other hosts may share (%s): choose a path on a local "
             "disk, or use a server",
             hfi_sqlite_shown(path), name);
    return HF_ERR_NETWORK_FS;
}

int hfi_sqlite_errno(int number)
{
    switch (number) {
    case EACCES:
    case EPERM:
        return HF_ERR_PERMISSION;
    case EROFS:
        return HF_ERR_READ_ONLY;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return HF_ERR_STORE_FULL;
    case ENOMEM:
        return HF_ERR_NO_MEMORY;
    default:
        return HF_ERR_SYSTEM;
    }
}
