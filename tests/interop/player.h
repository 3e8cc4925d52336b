/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C side of the interop tests: a program that does with the library what it is told, in the words of
 * the Java one (redisson/). A kind of lock is a function here and a row in player.c.
 */
#ifndef INTEROP_PLAYER_H
#define INTEROP_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "holdfast/holdfast.h"

#define PLAYER_WORDS 8
#define PLAYER_HOLDS 8    /* that one thread has at a time */
#define PLAYER_LINE  4096 /* bytes of a command or of an answer */

/* What all threads of the process share. */
struct player {
    hf_client *client;
    int64_t ttl_ms; /* of what is not a fixed lease */
    int port;
};

/* A thread's own: what it holds, the last one last. */
struct player_thread {
    const struct player *player;
    hf_hold *hold[PLAYER_HOLDS];
    size_t holds;
};

uint64_t player_now(void); /* CLOCK_MONOTONIC, in ns: all processes have the same */

/* Does one command. word[0] is the verb; word[1] the name. Writes "ok KEY=VALUE..." or "error WHAT". */
typedef void player_kind(struct player_thread *self, char *const *word, size_t words, char *answer,
                         size_t room);

player_kind player_mutex;

#endif
