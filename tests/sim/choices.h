/* SPDX-License-Identifier: Apache-2.0 */
/* Random commands, as clients of ours and others might send them, and as nobody would. */
#ifndef TEST_SIM_CHOICES_H
#define TEST_SIM_CHOICES_H

#include "base/random.h"
#include "sim/redis.h"

/* Appends one command in RESP, with all its arguments. */
void choose_command(struct hfi_random *random, struct sim_text *command);
/* One of a connection that is subscribed. */
void choose_subscription(struct hfi_random *random, struct sim_text *command);
/* Appends the words as a command. */
void put_command(struct sim_text *command, const char *const *words, size_t count);

#define PUT(command, ...)                                                                          \
    put_command(command, (const char *const[]){ __VA_ARGS__ },                                     \
                sizeof(const char *[]){ __VA_ARGS__ } / sizeof(const char *))

#endif
