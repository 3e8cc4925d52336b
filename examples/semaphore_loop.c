/* SPDX-License-Identifier: Apache-2.0 */
/*
 * semaphore.c in one thread: permits are given, taken and counted by an event loop, and nothing blocks. The cookie
 * of each call says which function goes on when it is done; the event has what the call returns.
 *
 *     semaphore_loop [STORE]
 */
#include <holdfast/objects.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#define PIECES 3

/* What is under way; its address is the cookie that comes back with the event. */
struct call {
    int (*then)(hf_client *client, const struct hf_event *event);
};

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hf_last_error());
    return -1;
}

static int is_deleted(hf_client *client, const struct hf_event *event);
static int is_counted(hf_client *client, const struct hf_event *event);
static int is_taken(hf_client *client, const struct hf_event *event);
static int is_given(hf_client *client, const struct hf_event *event);

static struct call given = { is_given }, taken = { is_taken }, counted = { is_counted },
                   deleted = { is_deleted };

/* Each returns what starting the next call returned; 1 at the end. */
static int is_given(hf_client *client, const struct hf_event *event)
{
    (void)event;
    return hf_semaphore_acquire_start(client, "work", 1, NULL, &taken);
}

static int is_taken(hf_client *client, const struct hf_event *event)
{
    static int pieces;

    (void)event;
    printf("piece %d\n", ++pieces);
    if (pieces < PIECES)
        return hf_semaphore_acquire_start(client, "work", 1, NULL, &taken);
    return hf_semaphore_available_start(client, "work", &counted);
}

static int is_counted(hf_client *client, const struct hf_event *event)
{
    printf("%" PRId64 " left\n", event->number[0]);
    return hf_semaphore_delete_start(client, "work", &deleted);
}

static int is_deleted(hf_client *client, const struct hf_event *event)
{
    (void)client;
    (void)event;
    return 1;
}

/* Takes all events that are there. 0: more will come; 1: the last was there; negative: an error. */
static int take_events(hf_client *client)
{
    struct hf_event event = { .size = sizeof event };
    int result = 0;

    while (result == 0 && hf_next(client, &event) == 1) {
        const struct call *call = event.cookie;

        if (event.type != HF_EVENT_DONE)
            return failed("event");
        result = call->then(client, &event);
    }
    return result < 0 ? failed("start") : result;
}

int main(int argc, char **argv)
{
    struct pollfd p = { .events = POLLIN };
    hf_client *client;
    int result = 0;

    if (hf_open(argc > 1 ? argv[1] : NULL, NULL, &client))
        return failed("open") != 0;
    p.fd = hf_fd(client);
    if (p.fd < 0 || hf_semaphore_release_start(client, "work", PIECES, &given))
        return failed("start") != 0;
    while (result == 0 && poll(&p, 1, 10000) > 0)
        result = take_events(client);
    hf_close(client);
    return result != 1;
}
