/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the living: <path>.d/<uuid>, which a client keeps locked by a lock of the open file
 * description (fcntl(2), F_OFD_SETLK). The kernel drops it with the last copy of the descriptor, be that
 * ours at our death or that of a guard process. Others ask with F_OFD_GETLK, which takes nothing and so
 * disturbs nobody.
 *
 * Invariants
 *   1. a file is locked by one descriptor in its life: once unlocked it stays so;
 *   2. it is only removed by its owner, or by someone who found it unlocked and holds the lock meanwhile;
 *   3. what cannot be found out (no descriptor left, no permission) is taken for life.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sqlite/sqlite.h"

#define JOIN_TRIES 8

/* What comes from the file becomes part of a path: nothing but a UUID may. */
bool hfi_sqlite_uuid_ok(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? text[i] != '-' : !strchr("0123456789abcdefABCDEF", text[i]) || !text[i])
            return false;
    }
    return len == HFI_SQLITE_UUID;
}

void hfi_sqlite_life_path(const struct hfi_sqlite *s, const char *uuid, char *path)
{
    size_t len = strlen(s->folder), uuid_len = strnlen(uuid, HFI_SQLITE_UUID);

    memcpy(path, s->folder, len); /* before every request: no formatting */
    path[len] = '/';
    memcpy(path + len + 1, uuid, uuid_len);
    path[len + 1 + uuid_len] = '\0';
}

enum lock { LOCK_TAKEN, LOCK_FREE, LOCK_MISSING };

static enum lock look(const char *path)
{
    struct flock query = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd, result;

    do
        fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? LOCK_MISSING : LOCK_TAKEN;
    result = fcntl(fd, F_OFD_GETLK, &query);
    close(fd);
    return result == 0 && query.l_type == F_UNLCK ? LOCK_FREE : LOCK_TAKEN;
}

bool hfi_sqlite_alive(const struct hfi_sqlite *s, const struct hfi_sqlite_peer *peer)
{
    char path[HFI_SQLITE_PATH_ROOM];

    if (!peer->here)
        return false;
    if (s->client && peer->client == s->client)
        return true;
    hfi_sqlite_life_path(s, peer->uuid, path);
    return look(path) == LOCK_TAKEN;
}

/* ------------------------------------------------------------------------------------------------
 * Ours
 */

/* Whoever may use the database may use what is made beside it, as SQLite's own files. */
static void give_access(const struct hfi_sqlite *s, int fd, mode_t mode)
{
    uid_t uid = geteuid() == 0 ? s->uid : (uid_t)-1;

    if (fchown(fd, uid, s->gid) != 0)
        hfi_trace(&s->store.trace, HF_TRACE_DEBUG, "%s: cannot give a file to the group of %s: %s",
                  s->folder, hfi_sqlite_shown(s->path), strerror(errno));
    if (fchmod(fd, mode) != 0)
        hfi_trace(&s->store.trace, HF_TRACE_DEBUG, "%s: cannot set a mode: %s", s->folder,
                  strerror(errno));
}

static int make_folder(struct hfi_sqlite *s)
{
    mode_t mode = (s->mode & 0666) | (s->mode & 0444) >> 2;
    int fd;

    if (mkdir(s->folder, mode | 0700) != 0) {
        if (errno == EEXIST)
            return HF_OK;
        return hfi_sqlite_complain(s, hfi_sqlite_errno(errno), "cannot make the folder %s: %s",
                                   s->folder, strerror(errno));
    }
    fd = open(s->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        give_access(s, fd, mode | 0700);
        close(fd);
    }
    return HF_OK;
}

/* One try: HF_OK with the descriptor of a new, locked file; 1: someone is removing it, try again. */
static int make_life_once(struct hfi_sqlite *s, const char *path, int *ret_fd)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct stat status;
    int number, fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return errno == EINTR
                   ? 1
                   : hfi_sqlite_complain(s, hfi_sqlite_errno(errno), "cannot make the file %s: %s",
                                         path, strerror(errno));
    if (fcntl(fd, F_OFD_SETLK, &whole) != 0) {
        number = errno;
        close(fd);
        if (number == EAGAIN || number == EACCES)
            return 1;
        return hfi_sqlite_complain(s, HF_ERR_SYSTEM, "cannot lock %s: %s", hfi_sqlite_shown(path),
                                   strerror(number));
    }
    if (fstat(fd, &status) != 0 || status.st_nlink == 0) {
        close(fd);
        return 1;
    }
    give_access(s, fd, s->mode & 0666);
    s->liveness_file.dev = status.st_dev;
    s->liveness_file.ino = status.st_ino;
    *ret_fd = fd;
    return HF_OK;
}

int hfi_sqlite_make_life(struct hfi_sqlite *s)
{
    char path[HFI_SQLITE_PATH_ROOM];
    int fd, error;

    if (atomic_load(&s->liveness) >= 0)
        return HF_OK;
    error = make_folder(s);
    hfi_sqlite_life_path(s, s->identity->id, path);
    for (int i = 0; i < JOIN_TRIES && !error; i++) {
        error = make_life_once(s, path, &fd);
        if (error == HF_OK) {
            atomic_store(&s->liveness, fd);
            return HF_OK;
        }
        if (error == 1)
            error = HF_OK;
    }
    return error ? error
                 : hfi_sqlite_complain(s, HF_ERR_UNAVAILABLE,
                                       "%s is locked by another process: two clients with one id?",
                                       hfi_sqlite_shown(path));
}

bool hfi_sqlite_exposed(const struct hfi_sqlite *s)
{
    char path[HFI_SQLITE_PATH_ROOM];
    struct stat status;

    hfi_sqlite_life_path(s, s->identity->id, path);
    if (lstat(path, &status) != 0)
        return errno == ENOENT || errno == ENOTDIR;
    return status.st_dev != s->liveness_file.dev || status.st_ino != s->liveness_file.ino;
}

void hfi_sqlite_leave_life(struct hfi_sqlite *s)
{
    char path[HFI_SQLITE_PATH_ROOM];
    int fd = atomic_exchange(&s->liveness, -1);

    if (fd < 0)
        return;
    hfi_sqlite_life_path(s, s->identity->id, path);
    if (!hfi_sqlite_exposed(s))
        unlink(path);
    close(fd);
}

/* ------------------------------------------------------------------------------------------------
 * Of the dead
 */

/* Removes a file that nobody has locked: takes the lock, so that nobody else can meanwhile. */
void hfi_sqlite_remove_unlocked(const char *path)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct stat status;
    int fd;

    if (look(path) != LOCK_FREE)
        return;
    fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fcntl(fd, F_OFD_SETLK, &whole) == 0 && fstat(fd, &status) == 0 && status.st_nlink > 0)
        unlink(path);
    close(fd);
}

void hfi_sqlite_sweep(const struct hfi_sqlite *s)
{
    DIR *folder = opendir(s->folder);
    char path[HFI_SQLITE_PATH_ROOM];
    struct dirent *entry;

    if (!folder)
        return;
    while ((entry = readdir(folder)) != NULL) {
        if (!hfi_sqlite_uuid_ok(entry->d_name, strlen(entry->d_name)))
            continue;
        hfi_sqlite_life_path(s, entry->d_name, path);
        hfi_sqlite_remove_unlocked(path);
    }
    closedir(folder);
}
