/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that grow, and memory that is never refused: what the simulator itself needs. */
#ifndef SIM_TEXT_H
#define SIM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_text {
    char *at;
    size_t len, room;
};

/* Ends the program when there is no memory. */
void *sim_alloc(size_t size); /* zeroed */
void *sim_grow(void *array, size_t size);
char *sim_copy(const char *bytes, size_t len); /* with a final NUL */

void sim_text_add(struct sim_text *text, const char *bytes, size_t len);
void sim_text_say(struct sim_text *text, const char *words);
__attribute__((format(printf, 2, 3))) void sim_text_format(struct sim_text *text,
                                                           const char *format, ...);
/* Takes bytes away from the front. */
void sim_text_shift(struct sim_text *text, size_t count);
void sim_text_free(struct sim_text *text);

#endif
