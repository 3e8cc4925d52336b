/* SPDX-License-Identifier: Apache-2.0 */
/* A client's beginning and end. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <utlist.h>

#include "runtime/clock.h"
#include "runtime/step.h"

static void init_fds(hf_client *client)
{
    client->thread_fd = client->timer_fd = client->event_fd = -1;
    client->wake_fd = client->liveness_fd = -1;
    client->collect_by = HF_TIME_NEVER;
    for (int number = 0; number < HFI_LINK_MAX; number++)
        client->channel[number].kick_fd = -1;
}

static void init_locks(hf_client *client)
{
    pthread_condattr_t attributes;
    pthread_mutexattr_t kind;

    /* It is held for less than a microsecond: a moment's spinning is cheaper than a sleep. */
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&client->lock, &kind);
    pthread_mutexattr_destroy(&kind);
    pthread_cond_init(&client->worker_cond, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&client->left, &attributes);
    pthread_condattr_destroy(&attributes);
}

static int open_store(hf_client *client, const struct hfi_driver *driver, const char *scheme,
                      const char *rest, const struct hfi_client_config *config)
{
    struct hfi_store_config store = {
        .identity = &client->identity,
        .trace = config->trace,
        .op_timeout_ns = config->op_timeout_ns,
        .connect_timeout_ns = config->connect_timeout_ns,
        .seed = hfi_random_seed(),
    };
    char detail[HFI_DETAIL_MAX] = "";
    int error = driver->open(scheme, rest, &store, &client->store, detail);

    if (error)
        return hfi_fail(error, "%s", detail[0] ? detail : hf_strerror(error));
    client->is_wire = client->store->class_->wire != NULL;
    return HF_OK;
}

static int init_engine(hf_client *client, const struct hfi_client_config *config)
{
    struct hfi_engine_config engine = {
        .poll_ns = config->poll_ns,
        .pass_ns = config->pass_ns,
        .pass_count = config->pass_count,
        .op_timeout_ns = config->op_timeout_ns,
        .announces = client->store->class_->announces,
        .seed = hfi_random_seed(),
        .trace = config->trace,
    };
    int error = hfi_engine_init(&client->engine, hfi_now(), &engine);

    if (!error)
        error = hfi_fork_register(client);
    return error ? hfi_fail(error, "%s", hf_strerror(error)) : HF_OK;
}

int hfi_client_new(const struct hfi_driver *driver, const char *scheme, const char *rest,
                   const struct hfi_client_config *config, hf_client **ret_client)
{
    hf_client *client = calloc(1, sizeof *client);
    int error;

    if (!client)
        return hfi_fail(HF_ERR_NO_MEMORY, "%s", hf_strerror(HF_ERR_NO_MEMORY));
    init_fds(client);
    client->timer_ns = HF_TIME_NEVER;
    hfi_identity_init(&client->identity, config->program);
    client->trace = config->trace;
    client->close_timeout_ns = config->close_timeout_ns;
    client->op_timeout_ns = config->op_timeout_ns;
    client->connect_timeout_ns = config->connect_timeout_ns;
    error = open_store(client, driver, scheme, rest, config);
    if (error) {
        free(client);
        return error;
    }
    init_locks(client);
    error = init_engine(client, config);
    if (error) {
        client->store->class_->free(client->store);
        hfi_engine_fini(&client->engine);
        free(client);
        return error;
    }
    *ret_client = client;
    return HF_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Handles
 */

struct hf_hold *hfi_hold_alloc(hf_client *client)
{
    struct hf_hold *hold = client->spare;

    if (hold) {
        client->spare = hold->next;
        client->spare_count--;
        *hold = (struct hf_hold){ .client = client };
    } else {
        hold = calloc(1, sizeof *hold);
        if (!hold)
            return NULL;
        hold->client = client;
    }
    client->handles++;
    return hold;
}

void hfi_hold_free(hf_client *client, struct hf_hold *hold)
{
    client->handles--;
    if (client->spare_count >= HFI_SPARE_HANDLES) {
        free(hold);
        return;
    }
    hold->next = client->spare;
    client->spare = hold;
    client->spare_count++;
}

int hfi_hold_keep(hf_client *client, struct hf_hold *hold)
{
    enum hfi_hold_state state = hold->handle.hold ? hfi_hold_state_of(hold->handle.hold)
                                                  : HFI_HOLD_HELD; /* a latch's is none */

    if (hold->handle.hold)
        hfi_feed(client, hfi_now(),
                 &(struct hfi_input){ .kind = HFI_INPUT_FORGET, .u.handle = &hold->handle });
    hfi_hold_free(client, hold);
    return state == HFI_HOLD_HELD || state == HFI_HOLD_LOST ? HF_OK : HF_ERR_CLOSED;
}

/* ------------------------------------------------------------------------------------------------
 * The end
 */

static void free_parkers(hf_client *client)
{
    struct hfi_parker *parker, *next;

    LL_FOREACH_SAFE (client->parkers, parker, next) {
        sem_destroy(&parker->semaphore);
        free(parker);
    }
}

/* Returns the asyncs that are parts of something larger, linked by next. */
static struct hfi_async *free_events(hf_client *client)
{
    struct hfi_async *async, *next_async, *parts = NULL;
    struct hf_hold *hold, *next;

    DL_FOREACH_SAFE (client->events, async, next_async) {
        if (async->whole) {
            LL_PREPEND(parts, async);
            continue;
        }
        if (async->waiter.result == HF_OK && async->hold->handle.hold)
            hfi_engine_drop_handle(&async->hold->handle); /* nobody will ever know of it */
        client->handles--;
        free(async->hold);
        free(async->waiter.label);
        free(async);
    }
    LL_FOREACH_SAFE (client->released, hold, next) {
        client->handles--;
        free(hold);
    }
    LL_FOREACH_SAFE (client->spare, hold, next) {
        free(hold);
    }
    client->spare = NULL;
    client->spare_count = 0;
    return parts;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void free_client(hf_client *client)
{
    while (atomic_load(&client->pins) > 0) /* a moment */
        sched_yield();
    pthread_mutex_destroy(&client->lock);
    pthread_cond_destroy(&client->left);
    pthread_cond_destroy(&client->worker_cond);
    free(client);
}

static struct timespec monotonic_in(hfi_time ns)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ns / HFI_SEC);
    t.tv_nsec += (long)(ns % HFI_SEC);
    if (t.tv_nsec >= (long)HFI_SEC) {
        t.tv_sec++;
        t.tv_nsec -= (long)HFI_SEC;
    }
    return t;
}

/* Waits until everything is given back, and what was started is done, but not for longer than was agreed. */
static void await_quiet(hf_client *client)
{
    struct timespec until = monotonic_in(client->close_timeout_ns);

    while ((!hfi_engine_quiet(&client->engine) || client->steps) && client->has_thread)
        if (hfi_await(client, &client->left, &until) == ETIMEDOUT)
            return;
}

/* What is still in the store's hands comes back: nothing more is sent. */
static void cut_off(hf_client *client)
{
    hfi_time now = hfi_now();

    if (!client->is_wire)
        return;
    for (int number = HFI_LINK_MAX - 1; number >= 0; number--) {
        hfi_channel_close(&client->channel[number]);
        client->store->class_->wire->lost(client->store, (unsigned)number, now, "the client ends");
    }
    client->store->class_->wire->abandon(client->store);
    hfi_pump(client, now);
}

void hfi_hold_drop(struct hf_hold *hold)
{
    hf_client *client = hold->client;
    bool last;

    pthread_mutex_lock(&client->lock);
    if (hold->handle.hold)
        hfi_engine_drop_handle(&hold->handle);
    last = --client->handles == 0;
    pthread_mutex_unlock(&client->lock);
    free(hold);
    if (last)
        free_client(client);
}

void hfi_tie(hf_client *client, struct hfi_tie *tie)
{
    if (hfi_is_forked(client))
        return;
    hfi_lock(client);
    tie->client = client;
    DL_APPEND(client->ties, tie);
    client->handles++;
    hfi_unlock(client);
}

static void leave_list(struct hfi_tie *tie)
{
    hf_client *client = tie->client;

    if (client && hfi_is_forked(client))
        tie->client = NULL; /* the parent's is another copy */
    if (!tie->client)
        return;
    hfi_lock(client);
    DL_DELETE(client->ties, tie);
    hfi_unlock(client);
}

static void give_up_memory(hf_client *client)
{
    bool last;

    hfi_lock(client);
    if (client->dissolving && !client->finished)
        hfi_await_finished(client);
    last = --client->handles == 0 && client->finished;
    hfi_unlock(client);
    if (last)
        free_client(client);
}

/* Whoever has found the whole in a list looks at its other clients with that list's lock: no memory goes before
 * all lists are left. */
void hfi_untie(struct hfi_tie *ties, size_t count)
{
    for (size_t i = 0; i < count; i++)
        leave_list(&ties[i]);
    for (size_t i = 0; i < count; i++)
        if (ties[i].client)
            give_up_memory(ties[i].client);
}

void hfi_await_finished(hf_client *client)
{
    int state;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    while (!client->finished)
        hfi_await(client, &client->left, NULL);
    pthread_setcancelstate(state, NULL);
}

void hfi_client_close(hf_client *client)
{
    struct hfi_async *part, *next;
    bool last;

    hfi_lock(client);
    client->closed = true;
    client->corked = false;
    hfi_feed(client, hfi_now(), &(struct hfi_input){ .kind = HFI_INPUT_CLOSE });
    hfi_hand_on(client);
    await_quiet(client);
    cut_off(client);
    while (atomic_load(&client->inside) > 0)
        hfi_await(client, &client->left, NULL);
    client->dissolving = true;
    hfi_unlock(client);
    hfi_threads_stop(client);
    while (atomic_load(&client->posting) > 0) /* a moment */
        sched_yield();
    hfi_fork_unregister(client);
    client->store->class_->free(client->store);
    hfi_engine_fini(&client->engine);
    part = free_events(client);
    hfi_steps_free(client);
    free_parkers(client);
    for (int number = 0; number < HFI_LINK_MAX; number++) {
        close_fd(client->channel[number].kick_fd);
        free(client->channel[number].input);
    }
    close_fd(client->thread_fd);
    close_fd(client->timer_fd);
    close_fd(client->event_fd);
    hfi_lock(client);
    client->finished = true;
    pthread_cond_broadcast(&client->left);
    last = client->handles == 0;
    pthread_mutex_unlock(&client->lock);
    if (last)
        free_client(client); /* then no part has a handle of it */
    for (; part; part = next) {
        next = part->next;
        part->whole->abandon(part);
    }
}
