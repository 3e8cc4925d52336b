/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that start together, do one thing over and over, and stop together. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench.h"

#define CREW_STACK_SIZE (256 * 1024)

struct member {
    struct bench_crew *crew;
    pthread_t thread;
    uint64_t count;
    char apart[64]; /* each counts in a cache line of its own */
};

struct bench_crew {
    pthread_barrier_t start, end;
    atomic_bool rest, quit;
    bench_task *task;
    void *arg;
    size_t threads;
    struct member members[];
};

static void *work(void *arg)
{
    struct member *member = arg;
    struct bench_crew *crew = member->crew;
    size_t number = (size_t)(member - crew->members);

    for (;;) {
        pthread_barrier_wait(&crew->start);
        if (atomic_load(&crew->quit))
            return NULL;
        while (!atomic_load_explicit(&crew->rest, memory_order_relaxed)) {
            crew->task(crew->arg, number);
            member->count++;
        }
        pthread_barrier_wait(&crew->end);
    }
}

struct bench_crew *bench_crew_new(size_t threads, bench_task *task, void *arg)
{
    struct bench_crew *crew = calloc(1, sizeof *crew + threads * sizeof crew->members[0]);
    pthread_attr_t attributes;

    if (!crew)
        bench_die("out of memory");
    pthread_barrier_init(&crew->start, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&crew->end, NULL, (unsigned)threads + 1);
    crew->task = task;
    crew->arg = arg;
    crew->threads = threads;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, CREW_STACK_SIZE);
    for (size_t i = 0; i < threads; i++) {
        crew->members[i].crew = crew;
        if (pthread_create(&crew->members[i].thread, &attributes, work, &crew->members[i]) != 0)
            bench_die("no thread can be started");
    }
    pthread_attr_destroy(&attributes);
    return crew;
}

double bench_crew_run(struct bench_crew *crew, uint64_t ns, uint64_t *ret_counts)
{
    uint64_t start, end, sum = 0;

    for (size_t i = 0; i < crew->threads; i++)
        crew->members[i].count = 0;
    atomic_store(&crew->rest, false);
    start = bench_now();
    pthread_barrier_wait(&crew->start);
    bench_nap(ns);
    atomic_store(&crew->rest, true);
    pthread_barrier_wait(&crew->end);
    end = bench_now();
    for (size_t i = 0; i < crew->threads; i++) {
        sum += crew->members[i].count;
        if (ret_counts)
            ret_counts[i] = crew->members[i].count;
    }
    return (double)sum * 1e9 / (double)(end - start);
}

void bench_crew_free(struct bench_crew *crew)
{
    atomic_store(&crew->quit, true);
    pthread_barrier_wait(&crew->start);
    for (size_t i = 0; i < crew->threads; i++)
        pthread_join(crew->members[i].thread, NULL);
    pthread_barrier_destroy(&crew->start);
    pthread_barrier_destroy(&crew->end);
    free(crew);
}
