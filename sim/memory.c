/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* In front of each block; as large as malloc()'s alignment. */
struct head {
    struct sim_memory *owner;
    size_t size;
};

void *__real_malloc(size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void __wrap_free(void *block);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);

static struct sim_memory *running;

struct sim_memory *sim_memory_switch(struct sim_memory *to)
{
    struct sim_memory *from = running;

    running = to;
    return from;
}

static bool is_refused(struct sim_memory *memory)
{
    memory->taken++;
    if (!memory->refusing)
        return false;
    memory->dice = memory->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    if ((memory->dice >> 33) % 1000 >= memory->refusing)
        return false;
    memory->refused++;
    return true;
}

static void count(struct head *head, size_t size)
{
    head->size = size;
    if (!head->owner)
        return;
    head->owner->live += size;
    head->owner->blocks++;
    if (head->owner->live > head->owner->most)
        head->owner->most = head->owner->live;
}

static void uncount(const struct head *head)
{
    if (!head->owner)
        return;
    head->owner->live -= head->size;
    head->owner->blocks--;
}

void *__wrap_malloc(size_t size)
{
    struct head *head;

    if (running && is_refused(running))
        return NULL;
    head = __real_malloc(sizeof *head + size);
    if (!head)
        return NULL;
    head->owner = running;
    count(head, size);
    return head + 1;
}

void *__wrap_calloc(size_t number, size_t size)
{
    void *block = size && number > SIZE_MAX / 2 / size ? NULL : __wrap_malloc(number * size);

    return block ? memset(block, 0, number * size) : NULL;
}

void __wrap_free(void *block)
{
    struct head *head = block;

    if (!block)
        return;
    uncount(--head);
    __real_free(head);
}

void *__wrap_realloc(void *block, size_t size)
{
    struct head *head = block, *moved;

    if (!block)
        return __wrap_malloc(size);
    head--;
    if (head->owner && is_refused(head->owner))
        return NULL;
    uncount(head);
    moved = __real_realloc(head, sizeof *head + size);
    if (!moved) {
        count(head, head->size);
        return NULL;
    }
    count(moved, size);
    return moved + 1;
}

char *__wrap_strndup(const char *text, size_t most)
{
    size_t len = strnlen(text, most);
    char *copy = __wrap_malloc(len + 1);

    if (!copy)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, strlen(text));
}
