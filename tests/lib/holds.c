/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/holds.h"

#include <poll.h>

hf_client *client_of(const char *uri, const struct hf_client_options *options)
{
    hf_client *client = NULL;

    if (hf_open(uri, options, &client) != HF_OK)
        fail_msg("hf_open: %s", hf_last_error());
    return client;
}

hf_hold *take(hf_client *client, const char *name, const struct hf_acquire_options *options)
{
    struct hf_acquire_options bounded = { .size = sizeof bounded };
    hf_hold *hold = NULL;
    int error;

    if (options)
        bounded = *options;
    if (bounded.wait_ms == HF_WAIT_FOREVER)
        bounded.wait_ms = PATIENCE_MS; /* a test that fails must not hang those after it */
    error = hf_acquire(client, name, &bounded, &hold);
    if (error)
        fail_msg("hf_acquire %s: %s: %s", name, hf_strerror(error), hf_last_error());
    assert_non_null(hold);
    return hold;
}

void give(hf_hold *hold)
{
    int error = hf_release(hold);

    if (error)
        fail_msg("hf_release: %s: %s", hf_strerror(error), hf_last_error());
}

int try_once(hf_client *client, const char *name)
{
    hf_hold *hold = NULL;
    int error = hf_acquire(client, name, HF_ACQUIRE(.wait_ms = HF_TRY_ONCE), &hold);

    if (error == HF_OK)
        give(hold);
    return error;
}

static void *run_taker(void *arg)
{
    struct taker *taker = arg;

    taker->error = hf_acquire(taker->client, taker->name, &taker->options, &taker->hold);
    atomic_store(&taker->done, true);
    return NULL;
}

void taker_start(struct taker *taker, hf_client *client, const char *name,
                 const struct hf_acquire_options *options)
{
    memset(taker, 0, sizeof *taker);
    taker->client = client;
    taker->name = name;
    taker->options = options ? *options : (struct hf_acquire_options){ .size = sizeof *options };
    assert_int_equal(pthread_create(&taker->thread, NULL, run_taker, taker), 0);
}

bool taker_done(struct taker *taker)
{
    return atomic_load(&taker->done);
}

int taker_join(struct taker *taker)
{
    AWAIT(taker_done(taker));
    pthread_join(taker->thread, NULL);
    return taker->error;
}

static int look(hf_client *client, const char *name, struct hf_lock *lock)
{
    hf_list *list = NULL;
    int error = hf_inspect(client, name, &list);

    *lock = (struct hf_lock){ .size = sizeof *lock, .holder.size = sizeof lock->holder };
    if (error == HF_OK)
        error = hf_list_get(list, 0, lock);
    hf_list_free(list);
    if (error && error != HF_ERR_NOT_FOUND)
        fail_msg("hf_inspect: %s: %s", hf_strerror(error), hf_last_error());
    return error;
}

int64_t count_waiters(hf_client *client, const char *name)
{
    struct hf_lock lock;

    return look(client, name, &lock) ? -1 : lock.waiters;
}

const struct hf_holder *holder_of(hf_client *client, const char *name)
{
    static struct hf_lock lock;

    if (look(client, name, &lock))
        memset(&lock, 0, sizeof lock);
    return &lock.holder;
}

struct hf_event next_event(hf_client *client)
{
    struct hf_event event = { .size = sizeof event };
    struct pollfd p = { .fd = hf_fd(client), .events = POLLIN };
    int64_t until = now_ms() + PATIENCE_MS;
    int got;

    assert_true(p.fd >= 0);
    while ((got = hf_next(client, &event)) == 0 && now_ms() < until)
        poll(&p, 1, 1000);
    if (got != 1)
        fail_msg("no event: %d", got);
    return event;
}

void no_event(hf_client *client)
{
    struct hf_event event = { .size = sizeof event };
    struct pollfd p = { .fd = hf_fd(client), .events = POLLIN };

    assert_int_equal(hf_next(client, &event), 0);
    assert_int_equal(poll(&p, 1, 0), 0);
}
