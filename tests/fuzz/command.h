/* SPDX-License-Identifier: Apache-2.0 */
/* What a server reads: bytes of a connection, as commands. The store must never send anything else. */
#ifndef HFT_FUZZ_COMMAND_H
#define HFT_FUZZ_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#define COMMAND_ARGS_MAX 512

struct command {
    size_t argc;
    const char *argv[COMMAND_ARGS_MAX]; /* each ends with a NUL besides */
    size_t len[COMMAND_ARGS_MAX];
};

/* SCRIPT_acquire, and so on. */
enum script {
    SCRIPT_none,
#define HFI_SCRIPT(name, sha, text, length) SCRIPT_##name,
#include "redis_scripts.inc"
#undef HFI_SCRIPT
};

struct stream {
    char *bytes;
    size_t len, room;
    size_t taken; /* of these, what earlier commands were */
};

void stream_add(struct stream *stream, const char *bytes, size_t count);
/* The next whole command, valid until the next call; false: there is none yet. */
bool stream_take(struct stream *stream, struct command *command);
/* A new connection: forgets what is left. */
void stream_reset(struct stream *stream);
void stream_free(struct stream *stream);

/* Which script is called: by its hash, which must be one of ours, or by its text. */
enum script command_script(const struct command *command);
/* Is it this word, or these two? */
bool command_is(const struct command *command, const char *first, const char *second);

#endif
