/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C side of the interop tests: a program that does with the library what it is told, in the words of the
 * Java one (redisson/). A kind is a row in player.c, and a function here where none of these does.
 */
#ifndef INTEROP_PLAYER_H
#define INTEROP_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "holdfast/holdfast.h"

#define PLAYER_WORDS 10
#define PLAYER_HOLDS 8    /* that one thread has at a time */
#define PLAYER_LINE  4096 /* bytes of a command or of an answer */

/* What all threads of the process share. */
struct player {
    hf_client *client;
    int64_t ttl_ms; /* of what is not a fixed lease */
    int port;
};

/* A thread's own: what it holds, the last one last. */
struct player_hold {
    hf_hold *hold;
    enum hf_mode mode;
    bool is_multi;
    char name[256];
};

struct player_thread {
    const struct player *player;
    struct player_hold hold[PLAYER_HOLDS];
    size_t holds;
};

/* One command: word[0] is the verb, word[1] the name; those that are not there are "". */
struct player_command {
    enum hf_mode mode;
    bool is_multi; /* the name is several, "one+two" */
    bool is_once;  /* its owner cannot take it again */
    const char *word[PLAYER_WORDS];
};

uint64_t player_now(void); /* CLOCK_MONOTONIC, in ns: all processes have the same */
bool player_is(const struct player_command *command, const char *verb);
int64_t player_number(const struct player_command *command, size_t word);

/* "ok KEY=VALUE...", "error NUMBER WHAT"; an answer is PLAYER_LINE bytes. */
void player_ok(char *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void player_more(char *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void player_fail(char *answer, int error);
/* Of what waits: "ok got=1 at=...", "ok got=0 ..." when BUSY, or as player_fail(). True: got. */
bool player_got(char *answer, int error);

/* Takes and gives, as a command says; used by locks and by storms. */
int player_acquire(const struct player *player, const struct player_command *command,
                   int64_t wait_ms, int64_t lease_ms, int64_t permits, hf_hold **ret_hold);

/* Does a command and writes its answer; false: no such verb. */
typedef bool player_act(struct player_thread *self, const struct player_command *command,
                        char *answer);

player_act player_lock, player_permits, player_semaphore, player_latch, player_bucket, player_map;

/* ------------------------------------------------------------------------------------------------
 * Storms: many threads that do the same thing again and again until the time is over (player_storm.c)
 */

struct storm {
    const struct player *player;
    const struct player_command *command;
    redisContext *raw; /* the thread's own */
};

/* One step; HF_OK goes on. */
typedef int storm_step(struct storm *storm);

/* word[at] threads for word[at + 1] ms; answers "ok done=COUNT". */
void player_storm(const struct player *player, const struct player_command *command, size_t at,
                  storm_step *step, char *answer);
/* A number on the server, read and changed in one command; INT64_MIN: no answer. */
int64_t storm_add(struct storm *storm, const char *counter, int64_t change);

storm_step storm_count, storm_write, storm_look;

#endif
