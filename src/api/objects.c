/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semaphores, permits, latches, buckets, maps, stamps: each call is one request, which is repeated under the
 * same serial number while it is not known whether it was executed, and while the store cannot be reached.
 */
#include "api/object.h"

/* How often a request is made whose outcome stays unknown. */
#define TRIES 3
/* The ttl of a semaphore's try: as long as the store remembers it, it can be undone. */
#define SEMAPHORE_TTL_MS HFI_SERIAL_MS

/* ------------------------------------------------------------------------------------------------
 * One request
 */

static int set_name(struct hfi_object *object, const char *name)
{
    size_t len = 0;
    int error = hfi_check_name(name, "a name", &len);

    object->name = name;
    object->name_len = (uint16_t)len;
    return error;
}

/* With the lock. */
static int perform(hf_client *client, struct hfi_object *object)
{
    int error = hfi_threads_start(client);
    bool unsure = false;

    if (error)
        return error;
    object->serial = ++client->engine.last_owner;
    for (int tries = 0; tries < TRIES; tries++) {
        error = hfi_ask(client, &object->request, HFI_OP_OBJECT);
        if (error == HF_ERR_UNSURE)
            unsure = true;
        else if (error != HF_ERR_UNREACHABLE || !unsure)
            break;
    }
    return hfi_fail_store(client, unsure && error == HF_ERR_UNREACHABLE ? HF_ERR_UNSURE : error);
}

int hfi_object_run(hf_client *client, const char *name, struct hfi_object *object, const char *what)
{
    int error;

    if (!client)
        return hfi_fail(HF_ERR_INVALID, "this call needs a client");
    error = set_name(object, name);
    if (error)
        return error;
    if (!(client->store->verbs & HFI_VERB_BIT(object->verb)))
        return hfi_fail(HF_ERR_UNSUPPORTED, "%s has no %s",
                        client->store->class_->uri(client->store), what);
    error = hfi_enter(client);
    if (error)
        return error;
    error = perform(client, object);
    hfi_leave(client);
    return error;
}

static int check_number(int64_t number, int64_t least, const char *what)
{
    if (number >= least && number <= HF_COUNT_MAX)
        return HF_OK;
    return hfi_fail(HF_ERR_INVALID, "%s is %lld to %lld", what, (long long)least,
                    (long long)HF_COUNT_MAX);
}

static int check_time(int64_t ms, int64_t least, const char *what)
{
    if (ms >= least && ms <= HF_WAIT_MAX_MS)
        return HF_OK;
    return hfi_fail(HF_ERR_INVALID, "%s is %lld to %lld ms", what, (long long)least,
                    (long long)HF_WAIT_MAX_MS);
}

/* A verb with one number that may be of use to the caller afterwards. */
static int run_number(hf_client *client, const char *name, enum hfi_verb verb, int64_t number,
                      int64_t *ret_number, const char *what)
{
    struct hfi_object object = { .verb = (uint8_t)verb, .number = number };
    int error = hfi_object_run(client, name, &object, what);

    if (!error && ret_number)
        *ret_number = object.number;
    return error;
}

static int needs_place(const void *place)
{
    return place ? HF_OK : hfi_fail(HF_ERR_INVALID, "this call needs somewhere to put the answer");
}

/* ------------------------------------------------------------------------------------------------
 * Semaphores
 */

static int semaphore_waiter(const char *name, int64_t permits,
                            const struct hf_wait_options *options, struct hfi_waiter *waiter)
{
    if (permits < 1 || permits > HF_PERMITS_MAX)
        return hfi_fail(HF_ERR_INVALID, "1 to %d permits can be taken at once", HF_PERMITS_MAX);
    *waiter = (struct hfi_waiter){ .kind = HFI_KIND_SEMAPHORE,
                                   .permits = (uint32_t)permits,
                                   .ttl_ms = SEMAPHORE_TTL_MS,
                                   .fixed = true };
    return hfi_wait_options(name, options, waiter);
}

int hf_semaphore_acquire(hf_client *client, const char *name, int64_t permits,
                         const struct hf_wait_options *options)
{
    struct hfi_waiter waiter;
    int error;

    if (!client)
        return hfi_fail(HF_ERR_INVALID, "hf_semaphore_acquire() needs a client");
    error = semaphore_waiter(name, permits, options, &waiter);
    return error ? error : hfi_wait_for(client, &waiter);
}

int hf_semaphore_acquire_start(hf_client *client, const char *name, int64_t permits,
                               const struct hf_wait_options *options, void *cookie)
{
    struct hfi_waiter waiter;
    int error;

    if (!client)
        return hfi_fail(HF_ERR_INVALID, "hf_semaphore_acquire_start() needs a client");
    error = semaphore_waiter(name, permits, options, &waiter);
    return error ? error : hfi_start(client, &waiter, NULL, cookie);
}

static const char SEMAPHORES[] = "semaphores";

int hf_semaphore_release(hf_client *client, const char *name, int64_t permits)
{
    int error = check_number(permits, 1, "the number of permits");

    return error ? error
                 : run_number(client, name, HFI_SEMAPHORE_RELEASE, permits, NULL, SEMAPHORES);
}

int hf_semaphore_release_if_exists(hf_client *client, const char *name, int64_t permits)
{
    int error = check_number(permits, 1, "the number of permits");

    return error ? error
                 : run_number(client, name, HFI_SEMAPHORE_RETURN, permits, NULL, SEMAPHORES);
}

int hf_semaphore_set(hf_client *client, const char *name, int64_t permits, int64_t ttl_ms)
{
    struct hfi_object object = { .verb = HFI_SEMAPHORE_SET, .number = permits, .ttl_ms = ttl_ms };
    int error = check_number(permits, 0, "the number of permits");

    if (!error)
        error = check_time(ttl_ms, 0, "the ttl");
    return error ? error : hfi_object_run(client, name, &object, SEMAPHORES);
}

static int check_change(int64_t change)
{
    if (change >= -HF_COUNT_MAX && change <= HF_COUNT_MAX)
        return HF_OK;
    return hfi_fail(HF_ERR_INVALID, "a change is at most %lld", (long long)HF_COUNT_MAX);
}

int hf_semaphore_add(hf_client *client, const char *name, int64_t change)
{
    int error = check_change(change);

    return error ? error : run_number(client, name, HFI_SEMAPHORE_ADD, change, NULL, SEMAPHORES);
}

int hf_semaphore_drain(hf_client *client, const char *name, int64_t *ret_permits)
{
    int error = needs_place(ret_permits);

    return error ? error
                 : run_number(client, name, HFI_SEMAPHORE_DRAIN, 0, ret_permits, SEMAPHORES);
}

int hf_semaphore_available(hf_client *client, const char *name, int64_t *ret_permits)
{
    int error = needs_place(ret_permits);

    return error ? error
                 : run_number(client, name, HFI_SEMAPHORE_AVAILABLE, 0, ret_permits, SEMAPHORES);
}

int hf_semaphore_delete(hf_client *client, const char *name)
{
    return run_number(client, name, HFI_SEMAPHORE_DELETE, 0, NULL, SEMAPHORES);
}

/* ------------------------------------------------------------------------------------------------
 * Permits
 */

static const char PERMITS[] = "permits";

int hf_permits_set(hf_client *client, const char *name, int64_t permits)
{
    int error = check_number(permits, 0, "the number of permits");

    return error ? error : run_number(client, name, HFI_PERMITS_SET, permits, NULL, PERMITS);
}

int hf_permits_resize(hf_client *client, const char *name, int64_t permits)
{
    int error = check_number(permits, 0, "the number of permits");

    return error ? error : run_number(client, name, HFI_PERMITS_RESIZE, permits, NULL, PERMITS);
}

int hf_permits_add(hf_client *client, const char *name, int64_t change)
{
    int error = check_change(change);

    return error ? error : run_number(client, name, HFI_PERMITS_ADD, change, NULL, PERMITS);
}

int hf_permits_count(hf_client *client, const char *name, int64_t *ret_available,
                     int64_t *ret_taken)
{
    struct hfi_object object = { .verb = HFI_PERMITS_COUNT };
    int error = hfi_object_run(client, name, &object, PERMITS);

    if (!error && ret_available)
        *ret_available = object.number;
    if (!error && ret_taken)
        *ret_taken = object.number2;
    return error;
}

int hf_permits_delete(hf_client *client, const char *name)
{
    return run_number(client, name, HFI_PERMITS_DELETE, 0, NULL, PERMITS);
}

/* ------------------------------------------------------------------------------------------------
 * Latches
 */

static const char LATCHES[] = "latches";

int hf_latch_set(hf_client *client, const char *name, int64_t count)
{
    int error = check_number(count, 1, "a latch's count");

    return error ? error : run_number(client, name, HFI_LATCH_SET, count, NULL, LATCHES);
}

int hf_latch_down(hf_client *client, const char *name, int64_t *ret_left)
{
    return run_number(client, name, HFI_LATCH_DOWN, 0, ret_left, LATCHES);
}

int hf_latch_count(hf_client *client, const char *name, int64_t *ret_count)
{
    int error = needs_place(ret_count);

    return error ? error : run_number(client, name, HFI_LATCH_GET, 0, ret_count, LATCHES);
}

int hf_latch_delete(hf_client *client, const char *name)
{
    return run_number(client, name, HFI_LATCH_DELETE, 0, NULL, LATCHES);
}

static int latch_waiter(const char *name, const struct hf_wait_options *options,
                        struct hfi_waiter *waiter)
{
    *waiter =
        (struct hfi_waiter){ .kind = HFI_KIND_LATCH, .ttl_ms = SEMAPHORE_TTL_MS, .fixed = true };
    return hfi_wait_options(name, options, waiter);
}

int hf_latch_await(hf_client *client, const char *name, const struct hf_wait_options *options)
{
    struct hfi_waiter waiter;
    int error;

    if (!client)
        return hfi_fail(HF_ERR_INVALID, "hf_latch_await() needs a client");
    error = latch_waiter(name, options, &waiter);
    return error ? error : hfi_wait_for(client, &waiter);
}

int hf_latch_await_start(hf_client *client, const char *name, const struct hf_wait_options *options,
                         void *cookie)
{
    struct hfi_waiter waiter;
    int error;

    if (!client)
        return hfi_fail(HF_ERR_INVALID, "hf_latch_await_start() needs a client");
    error = latch_waiter(name, options, &waiter);
    return error ? error : hfi_start(client, &waiter, NULL, cookie);
}

/* ------------------------------------------------------------------------------------------------
 * Stamps
 */

static const char STAMPS[] = "stamps";

int hf_stamp_set(hf_client *client, const char *name, int64_t for_ms)
{
    struct hfi_object object = { .verb = HFI_STAMP_SET, .ttl_ms = for_ms };
    int error = check_time(for_ms, 1, "the time of a stamp");

    return error ? error : hfi_object_run(client, name, &object, STAMPS);
}

int hf_stamp_get(hf_client *client, const char *name, int64_t *ret_age_ms,
                 int64_t *ret_remaining_ms)
{
    struct hfi_object object = { .verb = HFI_STAMP_GET };
    int error = hfi_object_run(client, name, &object, STAMPS);

    if (!error && ret_age_ms)
        *ret_age_ms = object.number;
    if (!error && ret_remaining_ms)
        *ret_remaining_ms = object.number2;
    return error;
}

int hf_stamp_delete(hf_client *client, const char *name)
{
    return run_number(client, name, HFI_STAMP_DELETE, 0, NULL, STAMPS);
}
