/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder: writes down what a process does before it does it, and what came of it.
 *
 * A log is a file that all processes of a run have mapped. A record is filled in there, without a system
 * call, and stays when its process is killed at any moment: the page belongs to the kernel. So nothing that
 * was invoked is lost, and what has not returned by then never will.
 * A thread takes records in blocks, so that threads meet rarely.
 */
#ifndef TEST_HISTORY_RECORD_H
#define TEST_HISTORY_RECORD_H

#include <stdatomic.h>

#include "history/history.h"

struct hist_record {
    atomic_ullong invoked;  /* 0: this record is not used; written last */
    atomic_ullong returned; /* 0: not yet; written last */
    uint32_t process, thread;
    int32_t error;
    uint32_t ttl_ms;
    int64_t wait_ms;
    uint64_t token, until, seen;
    uint8_t kind;
    _Atomic uint8_t outcome;
    atomic_ushort results;
    char lock[16], who[16], owner[48]; /* longer ones are cut */
};

struct hist_log;

/* Who writes: a thread of a process. */
struct hist_thread {
    struct hist_log *log;
    uint32_t process, thread;
    uint32_t next, end;       /* its block */
    struct hist_record spare; /* for when the log is full */
};

/* Makes a log with room for so many records, and for the program's own data. NULL: errno says why. */
struct hist_log *hist_log_create(const char *path, size_t records, size_t data_size);
struct hist_log *hist_log_open(const char *path);
void hist_log_close(struct hist_log *log);
/* The program's own data: shared by all, zero at first. */
void *hist_log_data(struct hist_log *log);
/* A process number that nobody had before; 0 is the one that made the log. */
uint32_t hist_log_process(struct hist_log *log);
size_t hist_log_used(const struct hist_log *log);
/* Records that there was no room for. */
size_t hist_log_missed(const struct hist_log *log);
/* Adds what was recorded to a history, in the order of invocation. */
void hist_log_collect(struct hist_log *log, struct history *history);

void hist_thread_init(struct hist_thread *thread, struct hist_log *log, uint32_t process,
                      uint32_t number);
/* An operation is invoked now. The record can be completed by any thread of the process. */
struct hist_record *hist_begin(struct hist_thread *thread, enum hist_kind kind, const char *lock,
                               const char *who);
/* What is known before it is invoked is written between these two. */
struct hist_record *hist_prepare(struct hist_thread *thread, enum hist_kind kind, const char *lock,
                                 const char *who);
void hist_invoke(struct hist_record *record);
/* It has returned now. */
void hist_end(struct hist_record *record, enum hist_outcome outcome, int error);
/* Likewise, when it returned is known. */
void hist_end_at(struct hist_record *record, uint64_t when, enum hist_outcome outcome, int error);
/* What happened to a process, or to the world (process 0), between two times. */
void hist_note(struct hist_thread *thread, enum hist_kind kind, uint32_t process, const char *what,
               uint64_t from, uint64_t to);
uint64_t hist_now(void);

#endif
