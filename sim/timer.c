/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap of timers that know their places. */
#include "timer.h"

#include <stdlib.h>

#include "text.h"

static bool is_before(const struct sim_timer *a, const struct sim_timer *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void put(struct sim_queue *queue, size_t place, struct sim_timer *timer)
{
    queue->heap[place - 1] = timer;
    timer->place = place;
}

static void rise(struct sim_queue *queue, size_t place, struct sim_timer *timer)
{
    while (place > 1 && is_before(timer, queue->heap[place / 2 - 1])) {
        put(queue, place, queue->heap[place / 2 - 1]);
        place /= 2;
    }
    put(queue, place, timer);
}

static void sink(struct sim_queue *queue, size_t place, struct sim_timer *timer)
{
    for (size_t child = 2 * place; child <= queue->count; child = 2 * place) {
        if (child < queue->count && is_before(queue->heap[child], queue->heap[child - 1]))
            child++;
        if (!is_before(queue->heap[child - 1], timer))
            break;
        put(queue, place, queue->heap[child - 1]);
        place = child;
    }
    put(queue, place, timer);
}

void sim_timer_set(struct sim_queue *queue, struct sim_timer *timer, hfi_time at)
{
    sim_timer_clear(queue, timer);
    if (at == HF_TIME_NEVER)
        return;
    if (queue->count == queue->room) {
        queue->room = queue->room ? queue->room * 2 : 64;
        queue->heap = sim_grow(queue->heap, queue->room * sizeof(struct sim_timer *));
    }
    timer->at = at;
    timer->order = ++queue->order;
    rise(queue, ++queue->count, timer);
}

void sim_timer_clear(struct sim_queue *queue, struct sim_timer *timer)
{
    size_t place = timer->place;
    struct sim_timer *last;

    if (place == 0)
        return;
    timer->place = 0;
    last = queue->heap[--queue->count];
    if (last == timer)
        return;
    if (place > 1 && is_before(last, queue->heap[place / 2 - 1]))
        rise(queue, place, last);
    else
        sink(queue, place, last);
}

struct sim_timer *sim_queue_pop(struct sim_queue *queue)
{
    struct sim_timer *first;

    if (queue->count == 0)
        return NULL;
    first = queue->heap[0];
    sim_timer_clear(queue, first);
    return first;
}

void sim_queue_clear(struct sim_queue *queue)
{
    while (queue->count > 0)
        queue->heap[--queue->count]->place = 0;
}

void sim_queue_free(struct sim_queue *queue)
{
    free(queue->heap);
    *queue = (struct sim_queue){ 0 };
}
