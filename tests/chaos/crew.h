/* SPDX-License-Identifier: Apache-2.0 */
/* The workers, as the runner has them: one a slot, each with a network of its own. */
#ifndef TEST_CHAOS_CREW_H
#define TEST_CHAOS_CREW_H

#include "chaos/chaos.h"
#include "lib/proxy.h"
#include "lib/server.h"

struct member {
    pid_t pid;           /* 0: none */
    int64_t start_ms;    /* when the next one comes */
    uint64_t stopped_ns; /* since when it is stopped; 0: it is not */
    bool leaving;        /* was asked to end */
    struct proxy proxy;
};

struct crew {
    struct hist_log *log;
    struct chaos_shared *shared;
    struct hist_thread history; /* the runner's own lines */
    char log_path[128];
    uint32_t random;
    const struct server *server; /* NULL: none */
    struct member member[CHAOS_SLOTS];
    uint64_t seen_ns; /* all were there that had not ended */
    bool is_bad;      /* a worker ended as it must not */
};

/* The runner adopts the children of workers that were killed. */
void crew_init(struct crew *crew);
/* Starts who is due, and sees who has ended. */
void crew_tend(struct crew *crew);
void crew_kill(struct crew *crew, int slot);
void crew_stop(struct crew *crew, int slot);
void crew_continue(struct crew *crew, int slot);
void crew_dismiss(struct crew *crew, int slot); /* to end in order */
/* Lets all end in order; false: some did not in time. */
bool crew_finish(struct crew *crew);
/* Kills all, whatever they are at. */
void crew_end(struct crew *crew);

#endif
