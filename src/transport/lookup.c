/* SPDX-License-Identifier: Apache-2.0 */
/* A look-up is owned by two: whoever started it, and its thread. The last one frees it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

#include "transport/socket.h"

#define STACK_SIZE (256 * 1024)

struct hfi_lookup {
    atomic_int owners;
    atomic_bool done;
    int notify_fd; /* a copy of our own; -1: nobody is to be told */
    struct addrinfo *result;
    char why[HFI_WHY_MAX];
    char host[256], port[8];
};

static void disown(struct hfi_lookup *lookup)
{
    if (atomic_fetch_sub(&lookup->owners, 1) > 1)
        return;
    if (lookup->result)
        freeaddrinfo(lookup->result);
    if (lookup->notify_fd >= 0)
        close(lookup->notify_fd);
    free(lookup);
}

static void look_up(struct hfi_lookup *lookup, int flags)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags };
    int error = getaddrinfo(lookup->host, lookup->port, &hints, &lookup->result);

    if (error) {
        lookup->result = NULL;
        snprintf(lookup->why, sizeof lookup->why, "the host's name cannot be resolved: %s",
                 error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
    }
}

static void *run(void *arg)
{
    struct hfi_lookup *lookup = arg;
    uint64_t one = 1;

    look_up(lookup, AI_ADDRCONFIG);
    atomic_store(&lookup->done, true);
    while (write(lookup->notify_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    disown(lookup);
    return NULL;
}

static bool start_thread(struct hfi_lookup *lookup)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;
    int error;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, &attributes, run, lookup);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error == 0;
}

struct hfi_lookup *hfi_lookup_start(const struct hfi_address *address, int notify_fd)
{
    struct hfi_lookup *lookup = calloc(1, sizeof *lookup);

    if (!lookup)
        return NULL;
    atomic_init(&lookup->owners, 1);
    lookup->notify_fd = -1;
    snprintf(lookup->host, sizeof lookup->host, "%s", address->host);
    snprintf(lookup->port, sizeof lookup->port, "%s", address->port);
    look_up(lookup, AI_NUMERICHOST);
    if (lookup->result) {
        atomic_store(&lookup->done, true);
        return lookup;
    }
    lookup->notify_fd = fcntl(notify_fd, F_DUPFD_CLOEXEC, 0);
    atomic_store(&lookup->owners, 2);
    if (lookup->notify_fd < 0 || !start_thread(lookup)) {
        atomic_store(&lookup->owners, 1);
        disown(lookup);
        return NULL;
    }
    return lookup;
}

bool hfi_lookup_done(struct hfi_lookup *lookup)
{
    return atomic_load(&lookup->done);
}

const struct addrinfo *hfi_lookup_result(struct hfi_lookup *lookup, const char **ret_why)
{
    *ret_why = lookup->why;
    return lookup->result;
}

struct hfi_lookup *hfi_lookup_end(struct hfi_lookup *lookup)
{
    if (lookup)
        disown(lookup);
    return NULL;
}
