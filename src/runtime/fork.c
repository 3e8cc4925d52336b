/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a child of fork() has of the parent's clients: nothing that acts. A page that the kernel wipes in
 * children carries a number; a client remembers the number of its time, and is inert where it differs. (This
 * also holds for children made without the C library's knowledge.) In children that fork() makes, descriptors
 * are closed at once, first of all those by which a store sees that the parent lives.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utlist.h>

#include "runtime/client.h"
#include "runtime/clock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hf_client *clients;
static uint64_t *page; /* of its own, and wiped by fork() */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool usable;

static void before_fork(void)
{
    hf_client *client;

    pthread_mutex_lock(&lock);
    DL_FOREACH (clients, client) {
        pthread_mutex_lock(&client->lock);
    }
}

static void in_parent(void)
{
    hf_client *client;

    DL_FOREACH (clients, client) {
        pthread_mutex_unlock(&client->lock);
    }
    pthread_mutex_unlock(&lock);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void let_go(hf_client *client)
{
    const struct hfi_library_class *library = client->store->class_->library;

    if (library)
        library->forked(client->store);
    for (int number = 0; number < HFI_LINK_MAX; number++) {
        if (client->channel[number].socket)
            close(client->channel[number].socket->fd);
        close_fd(&client->channel[number].kick_fd);
    }
    close_fd(&client->thread_fd);
    close_fd(&client->timer_fd);
    close_fd(&client->event_fd);
}

static void in_child(void)
{
    hf_client *client;

    *page = 0;
    DL_FOREACH (clients, client) {
        let_go(client);
        pthread_mutex_unlock(&client->lock);
    }
    clients = NULL;
    pthread_mutex_unlock(&lock);
}

static void prepare(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mapped == MAP_FAILED)
        return;
#ifdef MADV_WIPEONFORK
    madvise(mapped, size, MADV_WIPEONFORK); /* before Linux 4.14: in_child() does it alone */
#endif
    page = mapped;
    usable = pthread_atfork(before_fork, in_parent, in_child) == 0;
}

uint64_t hfi_fork_mark(void)
{
    return *page;
}

bool hfi_is_forked(const hf_client *client)
{
    return client->fork_mark != *page;
}

int hfi_fork_register(hf_client *client)
{
    pthread_once(&once, prepare);
    if (!usable)
        return HF_ERR_NO_MEMORY;
    pthread_mutex_lock(&lock);
    if (*page == 0)
        *page = hfi_random_seed() | 1;
    client->fork_mark = *page;
    DL_APPEND(clients, client);
    pthread_mutex_unlock(&lock);
    return HF_OK;
}

void hfi_fork_unregister(hf_client *client)
{
    pthread_mutex_lock(&lock);
    DL_DELETE(clients, client);
    pthread_mutex_unlock(&lock);
}
