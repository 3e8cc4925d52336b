/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A start that waits until everybody is ready: the count goes down by one for each, and who waits goes on at zero.
 * Here the workers are threads; they could be on other hosts.
 *
 *     latch [STORE]
 */
#include <holdfast/objects.h>
#include <pthread.h>
#include <stdio.h>

#define WORKERS 3

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hf_last_error());
    return 1;
}

static void *get_ready(void *arg)
{
    int64_t left;

    if (hf_latch_down(arg, "start", &left))
        failed("down");
    else
        printf("ready; %d to go\n", (int)left);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t workers[WORKERS];
    hf_client *client;
    int error;

    if (hf_open(argc > 1 ? argv[1] : NULL, NULL, &client))
        return failed("open");
    error = hf_latch_set(client, "start", WORKERS);
    if (error == HF_ERR_EXISTS)
        fprintf(stderr, "a start is under way already\n");
    if (error)
        return failed("set");
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&workers[i], NULL, get_ready, client))
            return 1;
    if (hf_latch_await(client, "start", HF_WAIT(.wait_ms = 5000)))
        return failed("await");
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    printf("go\n");
    hf_close(client);
    return 0;
}
