/* SPDX-License-Identifier: Apache-2.0 */
/* The log's file: a head, the program's data, and the records. */
#include "history/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x68662d6c6f67)
#define BLOCK 64 /* records */
#define PAGE  4096

struct head {
    uint64_t magic;
    uint64_t records, data_size, size;
    atomic_ullong next; /* record that no thread has */
    atomic_ullong missed;
    atomic_uint processes;
};

struct hist_log {
    struct head *head;
    char *data;
    struct hist_record *records;
};

static size_t whole_pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

static struct hist_log *map(int fd, size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct hist_log *log = at == MAP_FAILED ? NULL : calloc(1, sizeof *log);

    if (!log) {
        if (at != MAP_FAILED)
            munmap(at, size);
        return NULL;
    }
    log->head = at;
    log->data = (char *)at + PAGE;
    return log;
}

struct hist_log *hist_log_create(const char *path, size_t records, size_t data_size)
{
    size_t data = whole_pages(data_size);
    size_t size = PAGE + data + whole_pages(records * sizeof(struct hist_record));
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct hist_log *log = NULL;

    if (fd < 0)
        return NULL;
    if (ftruncate(fd, (off_t)size) == 0)
        log = map(fd, size);
    close(fd);
    if (!log)
        return NULL;
    log->records = (struct hist_record *)(void *)(log->data + data);
    log->head->records = records;
    log->head->data_size = data;
    log->head->size = size;
    log->head->magic = MAGIC;
    return log;
}

struct hist_log *hist_log_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct hist_log *log = NULL;
    struct stat st;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && st.st_size >= PAGE)
        log = map(fd, (size_t)st.st_size);
    close(fd);
    if (!log)
        return NULL;
    if (log->head->magic != MAGIC || log->head->size != (uint64_t)st.st_size) {
        munmap(log->head, (size_t)st.st_size);
        free(log);
        errno = EINVAL;
        return NULL;
    }
    log->records = (struct hist_record *)(void *)(log->data + log->head->data_size);
    return log;
}

void hist_log_close(struct hist_log *log)
{
    if (!log)
        return;
    munmap(log->head, log->head->size);
    free(log);
}

void *hist_log_data(struct hist_log *log)
{
    return log->data;
}

uint32_t hist_log_process(struct hist_log *log)
{
    return atomic_fetch_add(&log->head->processes, 1) + 1;
}

size_t hist_log_used(const struct hist_log *log)
{
    size_t next = (size_t)atomic_load(&log->head->next);

    return next < log->head->records ? next : log->head->records;
}

size_t hist_log_missed(const struct hist_log *log)
{
    return (size_t)atomic_load(&log->head->missed);
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

uint64_t hist_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

void hist_thread_init(struct hist_thread *thread, struct hist_log *log, uint32_t process,
                      uint32_t number)
{
    memset(thread, 0, sizeof *thread);
    thread->log = log;
    thread->process = process;
    thread->thread = number;
}

static struct hist_record *take(struct hist_thread *thread)
{
    struct head *head = thread->log->head;

    if (thread->next == thread->end) {
        uint64_t first = atomic_fetch_add(&head->next, BLOCK);

        if (first + BLOCK > head->records) {
            atomic_fetch_add(&head->missed, 1);
            memset(&thread->spare, 0, sizeof thread->spare);
            return &thread->spare;
        }
        thread->next = (uint32_t)first;
        thread->end = (uint32_t)first + BLOCK;
    }
    return &thread->log->records[thread->next++];
}

struct hist_record *hist_prepare(struct hist_thread *thread, enum hist_kind kind, const char *lock,
                                 const char *who)
{
    struct hist_record *record = take(thread);

    record->process = thread->process;
    record->thread = thread->thread;
    record->kind = (uint8_t)kind;
    snprintf(record->lock, sizeof record->lock, "%s", lock);
    snprintf(record->who, sizeof record->who, "%s", who);
    return record;
}

void hist_invoke(struct hist_record *record)
{
    atomic_store_explicit(&record->invoked, hist_now(), memory_order_release);
}

struct hist_record *hist_begin(struct hist_thread *thread, enum hist_kind kind, const char *lock,
                               const char *who)
{
    struct hist_record *record = hist_prepare(thread, kind, lock, who);

    hist_invoke(record);
    return record;
}

void hist_end_at(struct hist_record *record, uint64_t when, enum hist_outcome outcome, int error)
{
    record->error = error;
    atomic_store_explicit(&record->outcome, (uint8_t)outcome, memory_order_relaxed);
    atomic_fetch_add_explicit(&record->results, 1, memory_order_relaxed);
    atomic_store_explicit(&record->returned, when, memory_order_release);
}

void hist_end(struct hist_record *record, enum hist_outcome outcome, int error)
{
    hist_end_at(record, hist_now(), outcome, error);
}

void hist_note(struct hist_thread *thread, enum hist_kind kind, uint32_t process, const char *what,
               uint64_t from, uint64_t to)
{
    struct hist_record *record = hist_prepare(thread, kind, "", what);

    record->process = process;
    atomic_store_explicit(&record->invoked, from, memory_order_release);
    hist_end_at(record, to, HIST_OK, 0);
}

/* ------------------------------------------------------------------------------------------------
 * Collecting
 */

static void add(struct history *history, const struct hist_record *record)
{
    uint64_t returned = atomic_load_explicit(&record->returned, memory_order_acquire);
    bool done = returned != 0;
    struct hist_op op = {
        .invoked = atomic_load_explicit(&record->invoked, memory_order_acquire),
        .returned = done ? returned : HIST_NEVER,
        .process = record->process,
        .thread = record->thread,
        .lock = hist_name(history, record->lock),
        .who = hist_name(history, record->who),
        .owner = hist_name(history, record->owner),
        .kind = record->kind,
        .outcome = done ? record->outcome : HIST_UNKNOWN,
        .results = record->results,
        .error = done ? record->error : 0,
        .ttl_ms = record->ttl_ms,
        .wait_ms = record->wait_ms,
        .token = record->token,
        .until = done ? record->until : 0,
        .seen = done ? record->seen : 0,
        .line = (uint32_t)history->count + 1,
    };

    hist_add(history, &op);
}

void hist_log_collect(struct hist_log *log, struct history *history)
{
    size_t used = hist_log_used(log);

    for (size_t i = 0; i < used; i++)
        if (atomic_load_explicit(&log->records[i].invoked, memory_order_acquire))
            add(history, &log->records[i]);
    hist_sort(history);
}
