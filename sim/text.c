/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The code under test has its memory counted, and the simulator works in between (memory.h). */
__attribute__((weak)) struct sim_memory *sim_memory_switch(struct sim_memory *to)
{
    (void)to;
    return NULL;
}

static void *must(void *memory)
{
    if (memory)
        return memory;
    fputs("holdfast-sim: out of memory\n", stderr);
    exit(3);
}

void *sim_alloc(size_t size)
{
    struct sim_memory *before = sim_memory_switch(NULL);
    void *memory = must(calloc(1, size));

    sim_memory_switch(before);
    return memory;
}

void *sim_grow(void *array, size_t size)
{
    struct sim_memory *before = sim_memory_switch(NULL);
    void *memory = must(realloc(array, size));

    sim_memory_switch(before);
    return memory;
}

char *sim_copy(const char *bytes, size_t len)
{
    char *copy = sim_alloc(len + 1);

    if (len)
        memcpy(copy, bytes, len);
    return copy;
}

static void make_room(struct sim_text *text, size_t more)
{
    if (text->room - text->len > more)
        return;
    while (text->room - text->len <= more)
        text->room = text->room ? text->room * 2 : 256;
    text->at = sim_grow(text->at, text->room);
}

void sim_text_add(struct sim_text *text, const char *bytes, size_t len)
{
    make_room(text, len);
    if (len)
        memcpy(text->at + text->len, bytes, len);
    text->len += len;
    text->at[text->len] = '\0';
}

void sim_text_say(struct sim_text *text, const char *words)
{
    sim_text_add(text, words, strlen(words));
}

void sim_text_format(struct sim_text *text, const char *format, ...)
{
    va_list args;
    int n;

    make_room(text, 512);
    va_start(args, format);
    n = vsnprintf(text->at + text->len, text->room - text->len, format, args);
    va_end(args);
    if ((size_t)n >= text->room - text->len) {
        make_room(text, (size_t)n);
        va_start(args, format);
        vsnprintf(text->at + text->len, text->room - text->len, format, args);
        va_end(args);
    }
    text->len += (size_t)n;
}

void sim_text_shift(struct sim_text *text, size_t count)
{
    text->len -= count;
    if (text->len)
        memmove(text->at, text->at + count, text->len);
}

void sim_text_free(struct sim_text *text)
{
    free(text->at);
    *text = (struct sim_text){ 0 };
}
