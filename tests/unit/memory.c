/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

static bool watching, all_after, failed;
static size_t count, fail_at;
static unsigned chance;
static struct hfi_random dice;
static size_t blocks;

void memory_watch(size_t nth, bool on)
{
    count = 0;
    fail_at = nth;
    all_after = on;
    chance = 0;
    failed = false;
    watching = true;
}

void memory_watch_random(unsigned in_a_thousand)
{
    if (dice.s[0] == 0)
        hfi_random_init(&dice, 1);
    memory_watch(0, false);
    chance = in_a_thousand;
}

void memory_arm(bool on)
{
    watching = on;
}

size_t memory_rest(void)
{
    watching = false;
    return count;
}

bool memory_failed(void)
{
    return failed;
}

size_t memory_blocks(void)
{
    return blocks;
}

static bool fails(void)
{
    if (!watching)
        return false;
    count++;
    if (count == fail_at || (all_after && fail_at && count > fail_at) ||
        (chance && hfi_random_below(&dice, 1000) < chance))
        failed = true;
    else
        return false;
    return true;
}

#ifdef MEMORY_INTERPOSED

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t number, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *old);

static void *counted(void *block)
{
    blocks += block != NULL;
    return block;
}

void *malloc(size_t size)
{
    return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t number, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(number, size));
}

void *realloc(void *old, size_t size)
{
    void *block = fails() ? NULL : __libc_realloc(old, size);

    return old ? block : counted(block);
}

char *strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);

    return copy ? memcpy(copy, text, size) : NULL;
}

void free(void *old)
{
    blocks -= old != NULL;
    __libc_free(old);
}

#else

void *__real_malloc(size_t size);
void *__real_calloc(size_t number, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t number, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t number, size_t size)
{
    return fails() ? NULL : __real_calloc(number, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

#endif
