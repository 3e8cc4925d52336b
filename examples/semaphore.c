/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that is handed over: one side gives a permit for each piece, another takes one before it fetches a piece. Such
 * permits belong to nobody, and do not come back when a process dies; permits.c shows those that do.
 *
 *     semaphore [STORE]
 */
#include <holdfast/objects.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#define PIECES 3

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hf_last_error());
    return 1;
}

static void *produce(void *arg)
{
    for (int i = 0; i < PIECES; i++)
        if (hf_semaphore_release(arg, "pieces", 1))
            failed("release");
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t producer;
    hf_client *client;
    int64_t left;

    if (hf_open(argc > 1 ? argv[1] : NULL, NULL, &client))
        return failed("open");
    if (pthread_create(&producer, NULL, produce, client))
        return 1;
    for (int i = 0; i < PIECES; i++) {
        if (hf_semaphore_acquire(client, "pieces", 1, HF_WAIT(.wait_ms = 5000)))
            return failed("acquire");
        printf("piece %d\n", i + 1);
    }
    pthread_join(producer, NULL);
    if (hf_semaphore_available(client, "pieces", &left))
        return failed("available");
    printf("%" PRId64 " left\n", left);
    if (hf_semaphore_delete(client, "pieces"))
        return failed("delete");
    hf_close(client);
    return 0;
}
