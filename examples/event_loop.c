/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop that waits for a mutex, for permits, for a latch and for a semaphore at once, and for what becomes of the
 * holds. Any loop will do that can wait for a descriptor: poll() here.
 *
 *     event_loop [STORE]
 */
#include <holdfast/objects.h>
#include <poll.h>
#include <stdio.h>

/* What is waited for; its address is the cookie that comes back with the event. */
struct task {
    const char *name;
};

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hf_last_error());
    return 1;
}

static int start(hf_client *client, struct task tasks[4])
{
    return hf_acquire_start(client, tasks[0].name, HF_ACQUIRE(.wait_ms = 5000), &tasks[0]) ||
           hf_acquire_start(client, tasks[1].name, HF_ACQUIRE(.mode = HF_PERMITS, .permits = 2),
                            &tasks[1]) ||
           hf_latch_await_start(client, tasks[2].name, NULL, &tasks[2]) ||
           hf_semaphore_acquire_start(client, tasks[3].name, 1, NULL, &tasks[3]);
}

/* Returns how many tasks this event has ended: 1, 0, or -1 after a failure. */
static int handle(const struct hf_event *event)
{
    struct task *task = event->cookie;

    switch (event->type) {
    case HF_EVENT_ACQUIRED:
        printf("%s: held\n", task->name);
        return hf_release_start(event->hold, task) ? -1 : 0;
    case HF_EVENT_RELEASED:
    case HF_EVENT_DONE:
        printf("%s: done\n", task->name);
        return 1;
    case HF_EVENT_FAILED:
        fprintf(stderr, "%s: %s\n", task->name, hf_strerror(event->error));
        return -1;
    case HF_EVENT_AT_RISK:
    case HF_EVENT_LOST:
        fprintf(stderr, "%s: stop\n", hf_hold_name(event->hold));
        return 0;
    }
    return 0;
}

static int run(hf_client *client, int tasks)
{
    struct pollfd p = { .fd = hf_fd(client), .events = POLLIN };
    struct hf_event event = { .size = sizeof event };

    while (tasks > 0) {
        if (poll(&p, 1, 10000) == 0)
            return -1;
        while (hf_next(client, &event) == 1) {
            int ended = handle(&event);

            if (ended < 0)
                return -1;
            tasks -= ended;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct task tasks[4] = { { "a mutex" }, { "some permits" }, { "a latch" }, { "a semaphore" } };
    hf_client *client;
    int error;

    if (hf_open(argc > 1 ? argv[1] : NULL, NULL, &client))
        return failed("open");
    error = hf_permits_set(client, tasks[1].name, 2);
    if (error && error != HF_ERR_EXISTS)
        return failed("permits");
    if (hf_semaphore_release(client, tasks[3].name, 1))
        return failed("semaphore");
    if (start(client, tasks))
        return failed("start");
    if (run(client, 4))
        return 1;
    hf_close(client);
    return 0;
}
