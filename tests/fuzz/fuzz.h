/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets share. A target is one function from bytes to nothing: it must not crash, and what it
 * finds wrong by itself it says by MUST(). It keeps nothing from one call to the next, so that an input does
 * the same again. docs/internals/fuzzing.md.
 */
#ifndef HFT_FUZZ_H
#define HFT_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): a target checks in builds without asserts, too. */
#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what))                                                                               \
            fuzz_fail(__FILE__, __LINE__, #what);                                                  \
    } while (0)

static inline _Noreturn void fuzz_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: this must hold: %s\n", file, line, what);
    abort();
}

static inline void *fuzz_alloc(size_t size)
{
    void *memory = calloc(1, size ? size : 1);

    MUST(memory);
    return memory;
}

/* ------------------------------------------------------------------------------------------------
 * Reading the input: choices from its front. When it is at its end, every choice is 0.
 */

struct input {
    const uint8_t *at, *end;
};

static inline size_t input_left(const struct input *input)
{
    return (size_t)(input->end - input->at);
}

static inline uint8_t input_byte(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

/* 0 … limit - 1, from one byte where that is enough. */
static inline uint32_t input_below(struct input *input, uint32_t limit)
{
    uint32_t value = input_byte(input);

    if (limit > 256)
        value = value << 8 | input_byte(input);
    return limit ? value % limit : 0;
}

static inline uint64_t input_number(struct input *input, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | input_byte(input);
    return value;
}

/* Bytes up to `end` (which is taken, too) or the input's end, at most `most` of them, as a string of its own
 * size: so the address sanitizer sees its end. NUL cannot be part of it. Freed by the caller. */
static inline char *input_string(struct input *input, uint8_t end, size_t most)
{
    size_t len = 0;
    char *text;

    while (len < most && len < input_left(input) && input->at[len] != end && input->at[len] != 0)
        len++;
    text = fuzz_alloc(len + 1);
    memcpy(text, input->at, len);
    input->at += len;
    if (input_left(input) > 0 && (*input->at == end || *input->at == 0))
        input->at++;
    return text;
}

#endif
