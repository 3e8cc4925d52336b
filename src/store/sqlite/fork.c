/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns: the count of threads inside SQLite, the list of files that were ever open in this process.
 *
 * Invariants
 *   1. fork() runs while no thread of ours is inside SQLite, or the child knows that one was;
 *   2. a file of an ancestor's list has in this process' table of SQLite a key that no ancestor gave it;
 *   3. nodes of the list are never changed or freed: they can be read without a lock.
 */
#include "store/sqlite/fork.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "holdfast/holdfast.h"

struct known_file {
    struct known_file *next;
    dev_t dev;
    ino_t ino;
    unsigned generation; /* of the process that added it */
};

/* The bits of st_dev that tell generations apart; device numbers of the kernel have 32. */
#define KEY_SHIFT 32

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static unsigned inside_count;
static bool forking, fork_was_late;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;
static bool cut_off; /* this process was forked while a thread was inside SQLite */
static atomic_uint generation;
static _Atomic(struct known_file *) known;

/* ------------------------------------------------------------------------------------------------
 * Files
 */

static struct known_file *find(dev_t dev, ino_t ino)
{
    struct known_file *file = atomic_load(&known);

    while (file && (file->dev != dev || file->ino != ino))
        file = file->next;
    return file;
}

static void disguise(struct stat *status)
{
    unsigned now = atomic_load(&generation);
    const struct known_file *file = find(status->st_dev, status->st_ino);

    if (file && file->generation < now)
        status->st_dev ^= (dev_t)now << KEY_SHIFT;
}

static int stat_disguised(const char *path, struct stat *status)
{
    int result = stat(path, status);

    if (result == 0)
        disguise(status);
    return result;
}

static int fstat_disguised(int fd, struct stat *status)
{
    int result = fstat(fd, status);

    if (result == 0)
        disguise(status);
    return result;
}

bool hfi_sqlite_file_opened(dev_t dev, ino_t ino)
{
    struct known_file *file = NULL;
    bool ok;

    pthread_mutex_lock(&lock);
    ok = find(dev, ino) != NULL;
    if (!ok)
        file = malloc(sizeof *file);
    if (file) {
        file->dev = dev;
        file->ino = ino;
        file->generation = atomic_load(&generation);
        file->next = atomic_load(&known);
        atomic_store(&known, file);
        ok = true;
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

/* ------------------------------------------------------------------------------------------------
 * Threads inside
 */

void hfi_sqlite_enter(struct hfi_sqlite_inside *inside)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &inside->cancel);
    pthread_mutex_lock(&lock);
    while (forking)
        pthread_cond_wait(&changed, &lock);
    inside_count++;
    pthread_mutex_unlock(&lock);
}

static void step_out(void)
{
    pthread_mutex_lock(&lock);
    if (--inside_count == 0 && forking)
        pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void hfi_sqlite_leave(const struct hfi_sqlite_inside *inside)
{
    step_out();
    pthread_setcancelstate(inside->cancel, NULL);
}

void hfi_sqlite_sleep(hfi_time ns)
{
    struct timespec nap = { .tv_sec = (time_t)(ns / HFI_SEC), .tv_nsec = (long)(ns % HFI_SEC) };
    struct hfi_sqlite_inside again;

    step_out();
    nanosleep(&nap, NULL);
    hfi_sqlite_enter(&again); /* the caller keeps what it had as its cancel state */
}

/* ------------------------------------------------------------------------------------------------
 * fork()
 */

static void before_fork(void)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(HFI_SQLITE_FORK_WAIT / HFI_SEC);
    pthread_mutex_lock(&lock);
    forking = true;
    while (inside_count > 0 && pthread_cond_timedwait(&changed, &lock, &until) != ETIMEDOUT)
        ;
    fork_was_late = inside_count > 0;
}

static void after_fork_parent(void)
{
    forking = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static int make_condition(void)
{
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);

    if (error)
        return error;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    error = pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return error;
}

static void after_fork_child(void)
{
    cut_off |= fork_was_late;
    forking = fork_was_late = false;
    inside_count = 0;
    make_condition(); /* threads that waited for the old one are not here */
    atomic_fetch_add(&generation, 1);
    pthread_mutex_unlock(&lock);
}

static void set_up(void)
{
    ready = make_condition() == 0 &&
            pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
}

int hfi_sqlite_fork_guard(char *detail, size_t room)
{
    pthread_once(&once, set_up);
    if (!ready) {
        snprintf(detail, room, "out of memory");
        return HF_ERR_NO_MEMORY;
    }
    if (!cut_off)
        return HF_OK;
    snprintf(detail, room,
             "this process was forked while a thread of its parent was at work on a store of the "
             "kind sqlite: use such a store only after exec");
    return HF_ERR_UNSUPPORTED;
}

int hfi_sqlite_library_check(char *detail, size_t room)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    bool usable = vfs && vfs->iVersion >= 3 && sqlite3_threadsafe() != 0;

    if (usable && atomic_load(&generation) > 0)
        usable =
            vfs->xSetSystemCall(vfs, "stat", (sqlite3_syscall_ptr)stat_disguised) == SQLITE_OK &&
            vfs->xSetSystemCall(vfs, "fstat", (sqlite3_syscall_ptr)fstat_disguised) == SQLITE_OK;
    if (usable)
        return HF_OK;
    snprintf(detail, room,
             "this SQLite was built without threads or without its unix files: the store sqlite "
             "cannot be used with it");
    return HF_ERR_UNSUPPORTED;
}

unsigned hfi_sqlite_generation(void)
{
    return atomic_load(&generation);
}
