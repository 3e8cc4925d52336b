/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semaphores, permits, latches, stamps. Each call but those that wait is one step (api/object.h): a function that
 * describes it, and the public ones that have it done or start it.
 */
#include "api/object.h"

/* The ttl of a semaphore's try: as long as the store remembers it, it can be undone. */
#define SEMAPHORE_TTL_MS HFI_SERIAL_MS

#define NO_ANSWER ((struct hfi_answer){ 0 })

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

static int check_change(int64_t change)
{
    if (change >= -HF_COUNT_MAX && change <= HF_COUNT_MAX)
        return HF_OK;
    return hfi_fail(HF_ERR_INVALID, "a change is at most %lld", (long long)HF_COUNT_MAX);
}

/* A verb with a number to go with it; `error`: of the number. */
static struct hfi_step with_number(enum hfi_verb verb, int64_t number, int error)
{
    return (
        struct hfi_step){ .object.verb = (uint8_t)verb, .object.number = number, .result = error };
}

/* A verb that is asked for nothing but so many numbers. */
static struct hfi_step plain(enum hfi_verb verb, unsigned numbers)
{
    return (struct hfi_step){ .object.verb = (uint8_t)verb, .numbers = (uint8_t)numbers };
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

static struct hfi_step semaphore_release(int64_t permits)
{
    return with_number(HFI_SEMAPHORE_RELEASE, permits,
                       check_number(permits, 1, "the number of permits"));
}

int hf_semaphore_release(hf_client *client, const char *name, int64_t permits)
{
    return hfi_object_run(client, name, semaphore_release(permits), NO_ANSWER);
}

int hf_semaphore_release_start(hf_client *client, const char *name, int64_t permits, void *cookie)
{
    return hfi_object_start(client, name, semaphore_release(permits), cookie);
}

static struct hfi_step semaphore_release_if_exists(int64_t permits)
{
    return with_number(HFI_SEMAPHORE_RETURN, permits,
                       check_number(permits, 1, "the number of permits"));
}

int hf_semaphore_release_if_exists(hf_client *client, const char *name, int64_t permits)
{
    return hfi_object_run(client, name, semaphore_release_if_exists(permits), NO_ANSWER);
}

int hf_semaphore_release_if_exists_start(hf_client *client, const char *name, int64_t permits,
                                         void *cookie)
{
    return hfi_object_start(client, name, semaphore_release_if_exists(permits), cookie);
}

static struct hfi_step semaphore_set(int64_t permits, int64_t ttl_ms)
{
    int error = check_number(permits, 0, "the number of permits");
    struct hfi_step step =
        with_number(HFI_SEMAPHORE_SET, permits, error ? error : check_time(ttl_ms, 0, "the ttl"));

    step.object.ttl_ms = ttl_ms;
    return step;
}

int hf_semaphore_set(hf_client *client, const char *name, int64_t permits, int64_t ttl_ms)
{
    return hfi_object_run(client, name, semaphore_set(permits, ttl_ms), NO_ANSWER);
}

int hf_semaphore_set_start(hf_client *client, const char *name, int64_t permits, int64_t ttl_ms,
                           void *cookie)
{
    return hfi_object_start(client, name, semaphore_set(permits, ttl_ms), cookie);
}

static struct hfi_step semaphore_add(int64_t change)
{
    return with_number(HFI_SEMAPHORE_ADD, change, check_change(change));
}

int hf_semaphore_add(hf_client *client, const char *name, int64_t change)
{
    return hfi_object_run(client, name, semaphore_add(change), NO_ANSWER);
}

int hf_semaphore_add_start(hf_client *client, const char *name, int64_t change, void *cookie)
{
    return hfi_object_start(client, name, semaphore_add(change), cookie);
}

int hf_semaphore_drain(hf_client *client, const char *name, int64_t *ret_permits)
{
    return hfi_object_read(client, name, plain(HFI_SEMAPHORE_DRAIN, 1), ret_permits);
}

int hf_semaphore_drain_start(hf_client *client, const char *name, void *cookie)
{
    return hfi_object_start(client, name, plain(HFI_SEMAPHORE_DRAIN, 1), cookie);
}

int hf_semaphore_available(hf_client *client, const char *name, int64_t *ret_permits)
{
    return hfi_object_read(client, name, plain(HFI_SEMAPHORE_AVAILABLE, 1), ret_permits);
}

int hf_semaphore_available_start(hf_client *client, const char *name, void *cookie)
{
    return hfi_object_start(client, name, plain(HFI_SEMAPHORE_AVAILABLE, 1), cookie);
}

int hf_semaphore_delete(hf_client *client, const char *name)
{
    return hfi_object_run(client, name, plain(HFI_SEMAPHORE_DELETE, 0), NO_ANSWER);
}

int hf_semaphore_delete_start(hf_client *client, const char *name, void *cookie)
{
    return hfi_object_start(client, name, plain(HFI_SEMAPHORE_DELETE, 0), cookie);
}

/* ------------------------------------------------------------------------------------------------
 * Permits
 */

static struct hfi_step permits_set(int64_t permits)
{
    return with_number(HFI_PERMITS_SET, permits, check_number(permits, 0, "the number of permits"));
}

int hf_permits_set(hf_client *client, const char *name, int64_t permits)
{
    return hfi_object_run(client, name, permits_set(permits), NO_ANSWER);
}

int hf_permits_set_start(hf_client *client, const char *name, int64_t permits, void *cookie)
{
    return hfi_object_start(client, name, permits_set(permits), cookie);
}

static struct hfi_step permits_resize(int64_t permits)
{
    return with_number(HFI_PERMITS_RESIZE, permits,
                       check_number(permits, 0, "the number of permits"));
}

int hf_permits_resize(hf_client *client, const char *name, int64_t permits)
{
    return hfi_object_run(client, name, permits_resize(permits), NO_ANSWER);
}

int hf_permits_resize_start(hf_client *client, const char *name, int64_t permits, void *cookie)
{
    return hfi_object_start(client, name, permits_resize(permits), cookie);
}

static struct hfi_step permits_add(int64_t change)
{
    return with_number(HFI_PERMITS_ADD, change, check_change(change));
}

int hf_permits_add(hf_client *client, const char *name, int64_t change)
{
    return hfi_object_run(client, name, permits_add(change), NO_ANSWER);
}

int hf_permits_add_start(hf_client *client, const char *name, int64_t change, void *cookie)
{
    return hfi_object_start(client, name, permits_add(change), cookie);
}

int hf_permits_count(hf_client *client, const char *name, int64_t *ret_available,
                     int64_t *ret_taken)
{
    return hfi_object_run(client, name, plain(HFI_PERMITS_COUNT, 2),
                          (struct hfi_answer){ .number = ret_available, .number2 = ret_taken });
}

int hf_permits_count_start(hf_client *client, const char *name, void *cookie)
{
    return hfi_object_start(client, name, plain(HFI_PERMITS_COUNT, 2), cookie);
}

int hf_permits_delete(hf_client *client, const char *name)
{
    return hfi_object_run(client, name, plain(HFI_PERMITS_DELETE, 0), NO_ANSWER);
}

int hf_permits_delete_start(hf_client *client, const char *name, void *cookie)
{
    return hfi_object_start(client, name, plain(HFI_PERMITS_DELETE, 0), cookie);
}

/* ------------------------------------------------------------------------------------------------
 * Latches
 */

static struct hfi_step latch_set(int64_t count)
{
    return with_number(HFI_LATCH_SET, count, check_number(count, 1, "a latch's count"));
}

int hf_latch_set(hf_client *client, const char *name, int64_t count)
{
    return hfi_object_run(client, name, latch_set(count), NO_ANSWER);
}

int hf_latch_set_start(hf_client *client, const char *name, int64_t count, void *cookie)
{
    return hfi_object_start(client, name, latch_set(count), cookie);
}

int hf_latch_down(hf_client *client, const char *name, int64_t *ret_left)
{
    return hfi_object_run(client, name, plain(HFI_LATCH_DOWN, 1),
                          (struct hfi_answer){ .number = ret_left });
}

int hf_latch_down_start(hf_client *client, const char *name, void *cookie)
{
    return hfi_object_start(client, name, plain(HFI_LATCH_DOWN, 1), cookie);
}

int hf_latch_count(hf_client *client, const char *name, int64_t *ret_count)
{
    return hfi_object_read(client, name, plain(HFI_LATCH_GET, 1), ret_count);
}

int hf_latch_count_start(hf_client *client, const char *name, void *cookie)
{
    return hfi_object_start(client, name, plain(HFI_LATCH_GET, 1), cookie);
}

int hf_latch_delete(hf_client *client, const char *name)
{
    return hfi_object_run(client, name, plain(HFI_LATCH_DELETE, 0), NO_ANSWER);
}

int hf_latch_delete_start(hf_client *client, const char *name, void *cookie)
{
    return hfi_object_start(client, name, plain(HFI_LATCH_DELETE, 0), cookie);
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

static struct hfi_step stamp_set(int64_t for_ms)
{
    return (struct hfi_step){ .object.verb = HFI_STAMP_SET,
                              .object.ttl_ms = for_ms,
                              .result = check_time(for_ms, 1, "the time of a stamp") };
}

int hf_stamp_set(hf_client *client, const char *name, int64_t for_ms)
{
    return hfi_object_run(client, name, stamp_set(for_ms), NO_ANSWER);
}

int hf_stamp_set_start(hf_client *client, const char *name, int64_t for_ms, void *cookie)
{
    return hfi_object_start(client, name, stamp_set(for_ms), cookie);
}

int hf_stamp_get(hf_client *client, const char *name, int64_t *ret_age_ms,
                 int64_t *ret_remaining_ms)
{
    return hfi_object_run(client, name, plain(HFI_STAMP_GET, 2),
                          (struct hfi_answer){ .number = ret_age_ms, .number2 = ret_remaining_ms });
}

int hf_stamp_get_start(hf_client *client, const char *name, void *cookie)
{
    return hfi_object_start(client, name, plain(HFI_STAMP_GET, 2), cookie);
}

int hf_stamp_delete(hf_client *client, const char *name)
{
    return hfi_object_run(client, name, plain(HFI_STAMP_DELETE, 0), NO_ANSWER);
}

int hf_stamp_delete_start(hf_client *client, const char *name, void *cookie)
{
    return hfi_object_start(client, name, plain(HFI_STAMP_DELETE, 0), cookie);
}
