/* SPDX-License-Identifier: Apache-2.0 */
/* Taking locks: blocking, and for event loops. */
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "api/options.h"
#include "runtime/clock.h"
#include "runtime/step.h"

enum { OWNER_THREAD = 1, OWNER_NAMED, OWNER_FRESH };

static void feed_waiter(hf_client *client, hfi_time now, enum hfi_input_kind kind,
                        struct hfi_waiter *waiter, int error)
{
    hfi_feed(client, now, &(struct hfi_input){ .kind = kind, .error = error, .u.waiter = waiter });
}

/* ------------------------------------------------------------------------------------------------
 * Blocking
 */

/* Is the hold worth having? The thread may have been stopped since it was granted. */
static bool is_still_valid(const struct hf_hold *hold)
{
    return hfi_hold_valid(hold->handle.hold, hfi_now());
}

/* Gives back what came too late: quietly, it is LOST for the engine. */
static void give_back(hf_client *client, struct hf_hold *hold)
{
    hold->handle.releaser.discarded = true;
    hfi_feed(client, hfi_now(),
             &(struct hfi_input){ .kind = HFI_INPUT_RELEASE, .u.handle = &hold->handle });
}

/* One acquire, from beginning to end. With the lock. */
static int acquire(hf_client *client, struct hfi_call *call, struct hf_hold **ret_hold)
{
    struct hfi_waiter *waiter = &call->waiter;
    struct hf_hold *hold = hfi_hold_alloc(client);

    if (!hold) {
        free(waiter->label);
        return HF_ERR_NO_MEMORY;
    }
    hold->multi = call->multi;
    waiter->handle = &hold->handle;
    waiter->cookie = call;
    call->done = false;
    feed_waiter(client, hfi_now(), HFI_INPUT_ACQUIRE, waiter, 0);
    hfi_call_wait(client, call);
    free(waiter->label); /* NULL when the hold has taken it */
    waiter->label = NULL;
    if (waiter->result)
        hfi_hold_free(client, hold);
    else
        *ret_hold = hold;
    return waiter->result;
}

/* What was granted is over before we could say so: once more, in the time that is left. */
static int acquire_again(hf_client *client, const char *name,
                         const struct hf_acquire_options *options, struct hfi_call *call,
                         hfi_time until, struct hf_hold **ret_hold)
{
    struct hfi_waiter before = call->waiter;
    struct hfi_multi *multi = call->multi;
    int error = HF_OK;

    while (!error && !is_still_valid(*ret_hold)) {
        hfi_time now = hfi_now();

        give_back(client, *ret_hold);
        if (before.once || now >= until)
            return HF_ERR_UNSURE;
        hfi_call_init(call, HFI_CALL_ACQUIRE);
        call->multi = multi;
        error = hfi_acquire_options(name, options, &call->waiter);
        if (error)
            return error;
        call->waiter.owner = before.owner;
        call->waiter.owner_kind = before.owner_kind;
        if (until != HF_TIME_NEVER)
            call->waiter.wait_ns = until - now;
        error = acquire(client, call, ret_hold);
    }
    return error;
}

/* Success is only said of a lease whose deadline still lies ahead. */
static int acquire_valid(hf_client *client, const char *name,
                         const struct hf_acquire_options *options, struct hfi_call *call,
                         struct hf_hold **ret_hold)
{
    hfi_time wait_ns = call->waiter.wait_ns;
    hfi_time until = wait_ns == HF_TIME_NEVER ? HF_TIME_NEVER : hfi_now() + wait_ns;
    int error = acquire(client, call, ret_hold);

    if (error || !call->waited)
        return error;
    return acquire_again(client, name, options, call, until, ret_hold);
}

static void describe_busy(hf_client *client, const char *name, struct hf_holder *busy)
{
    hf_list *list = NULL;
    struct hf_lock lock = { .size = sizeof lock };
    struct hf_holder unknown = {
        .size = sizeof unknown, .pid = -1, .age_ms = -1, .remaining_ms = -1, .count = -1
    };
    const struct hf_holder *holder = &unknown;
    size_t size = busy->size;

    if (hf_inspect(client, name, &list) == HF_OK && hf_list_get(list, 0, &lock) == HF_OK)
        holder = &lock.holder;
    if (size >= sizeof size)
        memcpy(busy, holder, size < sizeof *holder ? size : sizeof *holder);
    busy->size = size;
    hf_list_free(list);
    hfi_fail(HF_ERR_BUSY, "%s", hf_strerror(HF_ERR_BUSY));
}

/* Does the store have what is asked for? */
static int check_kind(const hf_client *client, const struct hfi_waiter *waiter)
{
    if (client->store->kinds & HFI_KIND_BIT(waiter->kind))
        return HF_OK;
    return hfi_fail(HF_ERR_UNSUPPORTED, "%s has no locks of this mode",
                    client->store->class_->uri(client->store));
}

/* Begins a blocking call: with the lock taken, or an error, and the label freed. */
static int enter(hf_client *client, struct hfi_waiter *waiter)
{
    int error = check_kind(client, waiter);

    if (!error)
        error = hfi_enter_started(client);
    if (error)
        free(waiter->label);
    return error;
}

int hfi_acquire(hf_client *client, const char *name, const struct hf_acquire_options *options,
                struct hfi_multi *multi, hf_hold **ret_hold)
{
    struct hf_hold *hold = NULL;
    struct hfi_call call;
    int error;

    hfi_call_init(&call, HFI_CALL_ACQUIRE);
    call.multi = multi;
    error = hfi_acquire_options(name, options, &call.waiter);
    if (error)
        return error;
    error = enter(client, &call.waiter);
    if (error)
        return error;
    call.waiter.owner_kind = call.waiter.named ? OWNER_NAMED : OWNER_THREAD;
    if (!call.waiter.named)
        call.waiter.owner = hfi_thread_owner();
    error = hfi_fail_store(client, acquire_valid(client, name, options, &call, &hold));
    hfi_leave(client);
    if (error == HF_OK)
        *ret_hold = hold;
    else if (error == HF_ERR_BUSY && options->busy)
        describe_busy(client, name, options->busy);
    return error;
}

#define MODE_AS_GIVEN (-1)

static int acquire_in(hf_client *client, const char *name, const struct hf_acquire_options *given,
                      int mode, int64_t permits, hf_hold **ret_hold)
{
    struct hf_acquire_options options;
    int error;

    if (!client || !ret_hold)
        return hfi_fail(HF_ERR_INVALID, "an acquire needs a client and somewhere to put the hold");
    error = hfi_options_copy(&options, sizeof options, given, "hf_acquire_options");
    if (error)
        return error;
    if (mode != MODE_AS_GIVEN) {
        options.mode = (enum hf_mode)mode;
        options.permits = permits;
    }
    return hfi_acquire(client, name, &options, NULL, ret_hold);
}

int hf_acquire(hf_client *client, const char *name, const struct hf_acquire_options *options,
               hf_hold **ret_hold)
{
    return acquire_in(client, name, options, MODE_AS_GIVEN, 0, ret_hold);
}

int hf_shared_acquire(hf_client *client, const char *name, const struct hf_acquire_options *options,
                      hf_hold **ret_hold)
{
    return acquire_in(client, name, options, HF_SHARED, 0, ret_hold);
}

int hf_write_acquire(hf_client *client, const char *name, const struct hf_acquire_options *options,
                     hf_hold **ret_hold)
{
    return acquire_in(client, name, options, HF_WRITE, 0, ret_hold);
}

int hf_fair_acquire(hf_client *client, const char *name, const struct hf_acquire_options *options,
                    hf_hold **ret_hold)
{
    return acquire_in(client, name, options, HF_FAIR, 0, ret_hold);
}

int hf_fenced_acquire(hf_client *client, const char *name, const struct hf_acquire_options *options,
                      hf_hold **ret_hold)
{
    return acquire_in(client, name, options, HF_FENCED, 0, ret_hold);
}

int hf_spin_acquire(hf_client *client, const char *name, const struct hf_acquire_options *options,
                    hf_hold **ret_hold)
{
    return acquire_in(client, name, options, HF_SPIN, 0, ret_hold);
}

int hf_permits_acquire(hf_client *client, const char *name, int64_t permits,
                       const struct hf_acquire_options *options, hf_hold **ret_hold)
{
    if (permits < 1)
        return hfi_fail(HF_ERR_INVALID, "a hold has 1 to %d permits", HF_PERMITS_MAX);
    return acquire_in(client, name, options, HF_PERMITS, permits, ret_hold);
}

/* What is granted here is no hold: nobody loses it because time passes. */
int hfi_wait_for(hf_client *client, struct hfi_waiter *waiter)
{
    struct hf_hold *hold = NULL;
    struct hfi_call call;
    int error = enter(client, waiter);

    if (error)
        return error;
    hfi_call_init(&call, HFI_CALL_ACQUIRE);
    call.waiter = *waiter;
    call.waiter.owner_kind = OWNER_THREAD;
    call.waiter.owner = hfi_thread_owner();
    error = acquire(client, &call, &hold);
    if (!error)
        error = hfi_hold_keep(client, hold);
    error = hfi_fail_store(client, error);
    hfi_leave(client);
    return error;
}

/* ------------------------------------------------------------------------------------------------
 * Event loops
 */

/* The next part of something larger, or its first. With the lock: who cancels it now finds it at this client. */
static int begin_part(hf_client *client, struct hfi_whole *whole)
{
    atomic_store(&whole->at, client);
    if (!atomic_load(&whole->cancelled))
        return HF_OK;
    return hfi_fail(HF_ERR_CANCELLED, "%s", hf_strerror(HF_ERR_CANCELLED));
}

/* With the lock. */
static int start(hf_client *client, struct hfi_async *async)
{
    int error = hfi_threads_start(client);

    if (!error && async->whole)
        error = begin_part(client, async->whole);
    if (error)
        return error;
    async->hold = hfi_hold_alloc(client);
    if (!async->hold)
        return hfi_no_memory();
    async->hold->handle.cookie = async->cookie;
    async->hold->multi = async->whole ? async->whole->multi : NULL;
    async->waiter.handle = &async->hold->handle;
    async->waiter.direct = true;
    async->waiter.owner_kind = async->waiter.named ? OWNER_NAMED : OWNER_FRESH;
    if (!async->waiter.named)
        async->waiter.owner = ++client->fresh_owner;
    DL_APPEND(client->asyncs, async);
    feed_waiter(client, hfi_now(), HFI_INPUT_ACQUIRE, &async->waiter, 0);
    return HF_OK;
}

int hfi_start(hf_client *client, const struct hfi_waiter *waiter, struct hfi_whole *whole,
              void *cookie)
{
    struct hfi_async *async = calloc(1, sizeof *async);
    int error;

    if (!async) {
        free(waiter->label);
        return hfi_no_memory();
    }
    async->waiter = *waiter;
    async->whole = whole;
    async->cookie = cookie;
    error = check_kind(client, waiter);
    if (!error)
        error = hfi_enter(client);
    if (!error) {
        error = start(client, async);
        hfi_leave(client);
    }
    if (error) {
        free(waiter->label);
        free(async);
    }
    return error;
}

int hf_acquire_start(hf_client *client, const char *name, const struct hf_acquire_options *given,
                     void *cookie)
{
    struct hf_acquire_options options;
    struct hfi_waiter waiter = { 0 };
    int error;

    if (!client)
        return hfi_fail(HF_ERR_INVALID, "hf_acquire_start() needs a client");
    error = hfi_options_copy(&options, sizeof options, given, "hf_acquire_options");
    if (!error)
        error = hfi_acquire_options(name, &options, &waiter);
    return error ? error : hfi_start(client, &waiter, NULL, cookie);
}

static struct hfi_async *find_async(hf_client *client, const void *cookie)
{
    struct hfi_async *async;

    DL_FOREACH (client->asyncs, async) {
        if (async->cookie == cookie)
            return async;
    }
    return NULL;
}

static struct hfi_async *find_marked(hf_client *client, const void *cookie)
{
    struct hfi_async *async;

    DL_FOREACH (client->asyncs, async) {
        if (async->cookie == cookie && async->whole && atomic_load(&async->whole->cancelled))
            return async;
    }
    return NULL;
}

static bool was_asked(const struct hfi_whole *whole, const hf_client *client)
{
    for (size_t i = 0; i < whole->tie_count; i++)
        if (whole->ties[i].client == client && atomic_load(&whole->ties[i].asked))
            return true;
    return false;
}

/*
 * What may come to this client, and has no part here.
 *   between two parts: it goes on no further
 *   its part is at a client that was asked before it came there: nobody may ask again, so *ret_elsewhere is
 *       that client, pinned
 *   at a client that was not asked yet: that will be found there
 */
static bool cancel_tied(hf_client *client, const void *cookie, hf_client **ret_elsewhere)
{
    struct hfi_tie *tie;
    bool any = false;

    DL_FOREACH (client->ties, tie) {
        hf_client *at = atomic_load(&tie->whole->at);

        if (tie->cookie != cookie || at == client || *ret_elsewhere)
            continue;
        if (at && !was_asked(tie->whole, at)) {
            atomic_store(&tie->asked, true);
            continue;
        }
        if (atomic_exchange(&tie->whole->cancelled, true))
            continue;
        any = true;
        at = atomic_load(&tie->whole->at); /* a part that is begun from now on sees the mark */
        if (at)
            atomic_fetch_add(&at->pins, 1);
        *ret_elsewhere = at;
    }
    return any;
}

/* A part that is there, and whose event nobody has taken yet: the whole would go on with the next one. */
static bool cancel_whole(const hf_client *client, const void *cookie)
{
    struct hfi_async *async;
    bool any = false;

    DL_FOREACH (client->events, async) {
        if (!async->whole || async->cookie != cookie || async->waiter.result || async->cancelled)
            continue;
        any = async->cancelled = true;
        atomic_store(&async->whole->cancelled, true);
    }
    return any;
}

/* With the lock. */
static bool cancel_here(hf_client *client, const void *cookie)
{
    struct hfi_async *async;
    bool any = cancel_whole(client, cookie);

    if (hfi_steps_cancel(client, cookie))
        any = true;
    for (; (async = find_async(client, cookie)); any = true) /* the list changes meanwhile */
        feed_waiter(client, hfi_now(), HFI_INPUT_CANCEL, &async->waiter, HF_ERR_CANCELLED);
    return any;
}

/* One that was marked: if it has gone on from there, it has seen that. */
static void cancel_elsewhere(hf_client *client, const void *cookie)
{
    struct hfi_async *async;

    if (hfi_enter(client) == HF_OK) {
        while ((async = find_marked(client, cookie)))
            feed_waiter(client, hfi_now(), HFI_INPUT_CANCEL, &async->waiter, HF_ERR_CANCELLED);
        hfi_leave(client);
    }
    atomic_fetch_sub(&client->pins, 1);
}

int hf_cancel(hf_client *client, void *cookie)
{
    hf_client *elsewhere;
    bool any = false;
    int error;

    if (!client)
        return hfi_fail(HF_ERR_INVALID, "hf_cancel() needs a client");
    do {
        elsewhere = NULL;
        error = hfi_enter(client);
        if (error)
            return error;
        any |= cancel_tied(client, cookie, &elsewhere);
        any |= cancel_here(client, cookie);
        hfi_leave(client);
        if (elsewhere)
            cancel_elsewhere(elsewhere, cookie);
    } while (elsewhere);
    return any ? HF_OK : hfi_fail(HF_ERR_NOT_FOUND, "nothing with this cookie is in progress");
}
