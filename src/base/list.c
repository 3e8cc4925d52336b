/* SPDX-License-Identifier: Apache-2.0 */
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

#include "base/name.h"

#define HFI_LIST_GROWTH 16

/* Makes room for one more element; the array is left as it was when there is no memory. */
static void *grown(void *array, size_t count, size_t *room, size_t size)
{
    size_t more = *room ? *room * 2 : HFI_LIST_GROWTH;
    void *moved;

    if (count < *room)
        return array;
    moved = realloc(array, more * size);
    if (moved)
        *room = more;
    return moved;
}

hf_list *hfi_list_new(void)
{
    return calloc(1, sizeof(struct hf_list));
}

struct hfi_list_lock *hfi_list_add(hf_list *list, const char *name, size_t name_len)
{
    struct hfi_list_lock *array = grown(list->lock, list->count, &list->room, sizeof *array);
    struct hfi_list_lock *lock;
    char *copy;

    if (!array)
        return NULL;
    list->lock = array;
    copy = malloc(name_len + 1);
    if (!copy)
        return NULL;
    memcpy(copy, name, name_len);
    copy[name_len] = '\0';
    lock = &list->lock[list->count++];
    memset(lock, 0, sizeof *lock);
    lock->name = copy;
    lock->kind = "";
    lock->available = -1;
    hfi_holder_init(&lock->holder);
    return lock;
}

static struct hf_holder *add_person(struct hf_holder **array, size_t *count, size_t *room)
{
    struct hf_holder *moved = grown(*array, *count, room, sizeof *moved);

    if (!moved)
        return NULL;
    *array = moved;
    hfi_holder_init(&moved[*count]);
    return &moved[(*count)++];
}

struct hf_holder *hfi_list_add_holder(struct hfi_list_lock *lock)
{
    return add_person(&lock->other, &lock->other_count, &lock->other_room);
}

struct hf_holder *hfi_list_add_waiter(struct hfi_list_lock *lock)
{
    return add_person(&lock->waiter, &lock->waiter_count, &lock->waiter_room);
}

void hfi_holder_init(struct hf_holder *holder)
{
    memset(holder, 0, sizeof *holder);
    holder->size = sizeof *holder;
    holder->pid = holder->age_ms = holder->remaining_ms = holder->count = -1;
}

void hfi_holder_text(char *to, size_t room, const char *from, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len;) {
        size_t step = hfi_utf8_length(from + i, len - i);
        bool ok = step > 0 && hfi_text_ok(from + i, step);
        size_t width = ok ? step : 1;

        if (n + width >= room)
            break;
        if (ok)
            memcpy(to + n, from + i, step);
        else
            to[n] = '?';
        n += width;
        i += step ? step : 1;
    }
    to[n] = '\0';
}

size_t hf_list_count(const hf_list *list)
{
    return list ? list->count : 0;
}

/* Older programs have a shorter struct: fill what they know, no more. */
static int copy_sized(void *to, size_t to_size, const void *from, size_t from_size)
{
    if (to_size < sizeof(size_t))
        return HF_ERR_INVALID;
    memcpy(to, from, to_size < from_size ? to_size : from_size);
    memcpy(to, &to_size, sizeof to_size);
    return HF_OK;
}

int hf_list_get(const hf_list *list, size_t i, struct hf_lock *ret_lock)
{
    static const char *const STATES[] = { "free", "held", "foreign" };
    struct hf_lock lock = { .size = sizeof lock };

    if (!list || i >= list->count || !ret_lock)
        return HF_ERR_INVALID;
    lock.name = list->lock[i].name;
    lock.state = STATES[list->lock[i].state];
    lock.waiters = list->lock[i].waiters;
    lock.kind = list->lock[i].kind;
    lock.holder = list->lock[i].holder;
    lock.holders = list->lock[i].holders;
    lock.available = list->lock[i].available;
    return copy_sized(ret_lock, ret_lock->size, &lock, sizeof lock);
}

int hf_list_holder(const hf_list *list, size_t i, size_t j, struct hf_holder *ret_holder)
{
    const struct hfi_list_lock *lock = list && i < list->count ? &list->lock[i] : NULL;

    if (!lock || lock->state == HFI_LOCK_FREE || j > lock->other_count || !ret_holder)
        return HF_ERR_INVALID;
    return copy_sized(ret_holder, ret_holder->size, j == 0 ? &lock->holder : &lock->other[j - 1],
                      sizeof lock->holder);
}

int hf_list_waiter(const hf_list *list, size_t i, size_t j, struct hf_holder *ret_waiter)
{
    if (!list || i >= list->count || j >= list->lock[i].waiter_count || !ret_waiter)
        return HF_ERR_INVALID;
    return copy_sized(ret_waiter, ret_waiter->size, &list->lock[i].waiter[j],
                      sizeof list->lock[i].waiter[j]);
}

hf_list *hf_list_free(hf_list *list)
{
    if (!list)
        return NULL;
    for (size_t i = 0; i < list->count; i++) {
        free(list->lock[i].name);
        free(list->lock[i].other);
        free(list->lock[i].waiter);
    }
    free(list->lock);
    free(list);
    return NULL;
}
