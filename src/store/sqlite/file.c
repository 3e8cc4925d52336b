/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file, and those that SQLite keeps beside it (-wal, -shm).
 *
 * A file that is taken away under us, or a part of it, is found by comparing what is at its path with what
 * we opened, before every request: SQLite itself would go on in the old one, where nobody meets us. What
 * was in it is gone then, for everybody.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sqlite/sqlite.h"

static void folder_of(const struct hfi_sqlite *s, char *folder)
{
    size_t len = (size_t)(strrchr(s->path, '/') - s->path);

    memcpy(folder, s->path, len + 1);
    folder[len ? len : 1] = '\0';
}

/* One thread at a time: a descriptor of a file that SQLite has open in this process must not be closed. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

int hfi_sqlite_make_file(struct hfi_sqlite *s)
{
    int fd, number;

    pthread_mutex_lock(&making);
    do
        fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, s->private_ ? 0600 : 0666);
    while (fd < 0 && errno == EINTR);
    number = errno;
    if (fd >= 0)
        close(fd);
    pthread_mutex_unlock(&making);
    if (fd >= 0 || number == EEXIST)
        return HF_OK;
    return hfi_sqlite_complain(s, hfi_sqlite_errno(number), "cannot make the file %s: %s",
                               hfi_sqlite_shown(s->path), strerror(number));
}

int hfi_sqlite_check_folder(struct hfi_sqlite *s)
{
    char folder[HFI_SQLITE_PATH_ROOM];

    folder_of(s, folder);
    return hfi_sqlite_fs_check(folder, s->store.detail, sizeof s->store.detail);
}

/* Before every request: no formatting here. */
static void beside(const struct hfi_sqlite *s, const char *suffix, char *path)
{
    size_t len = strlen(s->path);

    memcpy(path, s->path, len);
    memcpy(path + len, suffix, strlen(suffix) + 1);
}

static bool identify(const struct hfi_sqlite *s, const char *suffix,
                     struct hfi_sqlite_identity *ret_identity)
{
    char path[HFI_SQLITE_PATH_ROOM];
    struct stat status;

    beside(s, suffix, path);
    if (stat(path, &status) != 0)
        return false;
    ret_identity->dev = status.st_dev;
    ret_identity->ino = status.st_ino;
    return true;
}

static bool same(const struct hfi_sqlite *s, const char *suffix,
                 const struct hfi_sqlite_identity *known)
{
    struct hfi_sqlite_identity now;

    if (identify(s, suffix, &now))
        return now.dev == known->dev && now.ino == known->ino;
    return errno != ENOENT && errno != ENOTDIR; /* what cannot be seen is taken for unchanged */
}

/* What is left of a log whose file is gone belongs to no other file. */
static void clear_away(const struct hfi_sqlite *s, bool main_moved, bool log_moved)
{
    char path[HFI_SQLITE_PATH_ROOM];

    if (main_moved && same(s, "-wal", &s->log_file)) {
        beside(s, "-wal", path);
        unlink(path);
    }
    if ((main_moved || log_moved) && same(s, "-shm", &s->shared_file)) {
        beside(s, "-shm", path);
        unlink(path);
    }
}

int hfi_sqlite_note_file(struct hfi_sqlite *s)
{
    struct stat status;

    if (stat(s->path, &status) != 0)
        return hfi_sqlite_complain(s, hfi_sqlite_errno(errno), "%s: %s", hfi_sqlite_shown(s->path),
                                   strerror(errno));
    s->main_file.dev = status.st_dev;
    s->main_file.ino = status.st_ino;
    s->mode = status.st_mode;
    s->uid = status.st_uid;
    s->gid = status.st_gid;
    if (!hfi_sqlite_file_opened(status.st_dev, status.st_ino))
        return hfi_sqlite_complain(s, HF_ERR_NO_MEMORY, "out of memory");
    return HF_OK;
}

int hfi_sqlite_note_beside(struct hfi_sqlite *s)
{
    int moved = 1;

    if (identify(s, "-wal", &s->log_file) && identify(s, "-shm", &s->shared_file) &&
        same(s, "", &s->main_file))
        sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (!moved)
        return HF_OK;
    s->moved = true;
    return hfi_sqlite_complain(s, HF_ERR_UNAVAILABLE, "%s was removed while it was opened",
                               hfi_sqlite_shown(s->path));
}

bool hfi_sqlite_files_moved(const struct hfi_sqlite *s)
{
    bool main_moved = !same(s, "", &s->main_file);
    bool log_moved = !same(s, "-wal", &s->log_file);

    if (!main_moved && !log_moved && same(s, "-shm", &s->shared_file))
        return false;
    clear_away(s, main_moved, log_moved);
    return true;
}

/* What SQLite makes beside the file, it cannot make in a folder that may not be written. */
int hfi_sqlite_blame_folder(struct hfi_sqlite *s, int error)
{
    char folder[HFI_SQLITE_PATH_ROOM];

    if (error != HF_ERR_READ_ONLY && error != HF_ERR_PERMISSION && error != HF_ERR_SYSTEM)
        return error;
    folder_of(s, folder);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0)
        return error;
    return hfi_sqlite_complain(s, errno == EACCES ? HF_ERR_PERMISSION : HF_ERR_READ_ONLY,
                               "the folder %s cannot be written (%s): the store needs files beside "
                               "%s",
                               hfi_sqlite_shown(folder), strerror(errno),
                               hfi_sqlite_shown(s->path));
}
