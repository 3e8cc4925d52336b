/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs keep beside their locks: semaphores and latches, and small values.
 *
 * The conventions of holdfast.h hold here too. On Redis and Valkey the data are those of Redisson's
 * RSemaphore, RPermitExpirableSemaphore, RCountDownLatch, RBucket and RMap (the last two with StringCodec).
 * The embedded store has semaphores, permits, latches and stamps; buckets and maps are UNSUPPORTED there.
 *
 * Functions that never wait take one round trip, at most op_timeout_ms for each of a few tries. What changes
 * something has a serial number, by which the store knows it again: a try whose answer was lost is repeated,
 * and counts once. UNSURE: no answer came to any of them, or none that tells.
 *
 * Each has a form for event loops, whose name ends in _start: it starts the same call and returns, with HF_OK
 * or an error as hf_acquire_start() (and UNSUPPORTED). All arguments are copied, names and bytes too. Exactly one
 * event with the cookie follows, from hf_next(): DONE, or FAILED with the error that the blocking form returns. With
 * DONE, what that one returns by pointers to numbers is in event.number, in their order, and what it returns in an
 * hf_value is in event.value, which is the program's to free by hf_value_free(). Any thread may start and any take
 * the event. What is started one after another on one client is done in that order, but what has to be tried
 * again, since its answer was lost or the server did not know its script, is done later: wait for the event
 * where the order matters. hf_cancel() says what can be called back.
 * hf_close() lets what was started come to its end, within close_timeout_ms; then, as in a forked child, no event
 * follows, and what had no answer may have been done or not.
 *
 * Errors of every function here: NAME, INVALID, UNSUPPORTED (this store does not have it), UNSURE,
 * UNREACHABLE, UNAVAILABLE, STORE_FULL, AUTH, PERMISSION, WRONG_TYPE (something else is stored under the
 * name), READ_ONLY, CLUSTER, PROTOCOL, NO_MEMORY, SYSTEM, CLOSED, FORKED, INTERNAL; besides what is said at
 * each. The embedded store's also NOT_A_STORE, NEWER_STORE, NETWORK_FS.
 */
#ifndef HOLDFAST_OBJECTS_H
#define HOLDFAST_OBJECTS_H

#include <holdfast/holdfast.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_wait_options {
    size_t size;     /* sizeof this struct; filled by HF_WAIT() */
    int64_t wait_ms; /* HF_WAIT_FOREVER, HF_TRY_ONCE, or 1 to HF_WAIT_MAX_MS */
};

#define HF_WAIT(...)                                                                               \
    (&(const struct hf_wait_options){ .size = sizeof(struct hf_wait_options), __VA_ARGS__ })

/* ------------------------------------------------------------------------------------------------
 * Semaphores: a number of permits that belong to nobody. Who takes some and dies has taken them for good;
 * holds of the mode HF_PERMITS come back by themselves. A name that was never set has no permits.
 */

/* Takes `permits` (1 to HF_PERMITS_MAX) at once, or waits. Waiters look again at least every poll_ms. BUSY: not
 * in the time given. UNSURE: not taken; if it was executed, it is undone behind the scenes. */
HF_API int hf_semaphore_acquire(hf_client *client, const char *name, int64_t permits,
                                const struct hf_wait_options *options);
/* Starts it: one event DONE or FAILED follows; hf_cancel() ends it. Errors as hf_acquire_start(). */
HF_API int hf_semaphore_acquire_start(hf_client *client, const char *name, int64_t permits,
                                      const struct hf_wait_options *options, void *cookie);
/* Gives `permits` (1 to HF_COUNT_MAX), wherever they come from; makes the semaphore if there is none. */
HF_API int hf_semaphore_release(hf_client *client, const char *name, int64_t permits);
HF_API int hf_semaphore_release_start(hf_client *client, const char *name, int64_t permits,
                                      void *cookie);
/* The same, but NOT_FOUND when there is none. */
HF_API int hf_semaphore_release_if_exists(hf_client *client, const char *name, int64_t permits);
HF_API int hf_semaphore_release_if_exists_start(hf_client *client, const char *name,
                                                int64_t permits, void *cookie);
/* Makes a semaphore with so many permits (0 to HF_COUNT_MAX). EXISTS: there is one. ttl_ms: it vanishes after
 * so long, whoever has permits; 0: never. */
HF_API int hf_semaphore_set(hf_client *client, const char *name, int64_t permits, int64_t ttl_ms);
HF_API int hf_semaphore_set_start(hf_client *client, const char *name, int64_t permits,
                                  int64_t ttl_ms, void *cookie);
/* More permits, or fewer (negative): then there can be less than none until some come back. */
HF_API int hf_semaphore_add(hf_client *client, const char *name, int64_t change);
HF_API int hf_semaphore_add_start(hf_client *client, const char *name, int64_t change,
                                  void *cookie);
/* Takes all that are there. */
HF_API int hf_semaphore_drain(hf_client *client, const char *name, int64_t *ret_permits);
HF_API int hf_semaphore_drain_start(hf_client *client, const char *name, void *cookie);
/* How many are there now: 0 when there is no semaphore. */
HF_API int hf_semaphore_available(hf_client *client, const char *name, int64_t *ret_permits);
HF_API int hf_semaphore_available_start(hf_client *client, const char *name, void *cookie);
/* NOT_FOUND: there is none. */
HF_API int hf_semaphore_delete(hf_client *client, const char *name);
HF_API int hf_semaphore_delete_start(hf_client *client, const char *name, void *cookie);

/* ------------------------------------------------------------------------------------------------
 * The number of permits that holds of the mode HF_PERMITS share.
 */

/* So many, unless the name has some: EXISTS. 0 to HF_COUNT_MAX. */
HF_API int hf_permits_set(hf_client *client, const char *name, int64_t permits);
HF_API int hf_permits_set_start(hf_client *client, const char *name, int64_t permits, void *cookie);
/* So many, whatever there was; holds stay, so there can be less than none available for a while. */
HF_API int hf_permits_resize(hf_client *client, const char *name, int64_t permits);
HF_API int hf_permits_resize_start(hf_client *client, const char *name, int64_t permits,
                                   void *cookie);
HF_API int hf_permits_add(hf_client *client, const char *name, int64_t change);
HF_API int hf_permits_add_start(hf_client *client, const char *name, int64_t change, void *cookie);
/* Either pointer may be NULL. Those of holds that have expired count as available. */
HF_API int hf_permits_count(hf_client *client, const char *name, int64_t *ret_available,
                            int64_t *ret_taken);
HF_API int hf_permits_count_start(hf_client *client, const char *name, void *cookie);
/* Every hold of it is lost. NOT_FOUND: there is none. */
HF_API int hf_permits_delete(hf_client *client, const char *name);
HF_API int hf_permits_delete_start(hf_client *client, const char *name, void *cookie);

/* ------------------------------------------------------------------------------------------------
 * Latches: a count that goes down to zero, and those who wait for it. A name without count is at zero.
 */

/* A count of 1 to HF_COUNT_MAX. EXISTS: it has one, which stays. */
HF_API int hf_latch_set(hf_client *client, const char *name, int64_t count);
HF_API int hf_latch_set_start(hf_client *client, const char *name, int64_t count, void *cookie);
/* One less; at zero it is gone, and who waits goes on. ret_left may be NULL. */
HF_API int hf_latch_down(hf_client *client, const char *name, int64_t *ret_left);
HF_API int hf_latch_down_start(hf_client *client, const char *name, void *cookie);
HF_API int hf_latch_count(hf_client *client, const char *name, int64_t *ret_count);
HF_API int hf_latch_count_start(hf_client *client, const char *name, void *cookie);
/* Away with it: who waits gets NOT_FOUND. NOT_FOUND: there is none. */
HF_API int hf_latch_delete(hf_client *client, const char *name);
HF_API int hf_latch_delete_start(hf_client *client, const char *name, void *cookie);
/* Waits until the count is zero. Looks again at least every poll_ms. BUSY: it was not in the time given;
 * NOT_FOUND: it was deleted meanwhile. */
HF_API int hf_latch_await(hf_client *client, const char *name,
                          const struct hf_wait_options *options);
/* Starts it: one event DONE or FAILED follows; hf_cancel() ends it. Errors as hf_acquire_start(). */
HF_API int hf_latch_await_start(hf_client *client, const char *name,
                                const struct hf_wait_options *options, void *cookie);

/* ------------------------------------------------------------------------------------------------
 * Buckets and maps: small values, as bytes of any kind.
 *
 * A token guards a value against a holder that was paused: with one given, the change is made only if no
 * larger one was used for this object before: else STALE, and nothing is changed.
 */

#define HF_VALUE_MAX (64 * 1024) /* bytes of a value, or of a key of a map */

struct hf_value_options {
    size_t size;
    int64_t ttl_ms; /* buckets: it vanishes after so long; 0: never. Not kept by a later set */
    uint64_t token; /* hf_hold_token() of the lock that guards it; 0: none */
};

#define HF_VALUE(...)                                                                              \
    (&(const struct hf_value_options){ .size = sizeof(struct hf_value_options), __VA_ARGS__ })

/* struct hf_value and hf_value_free() are in holdfast.h. */

/* *ret_value gets a copy with a NUL behind its end, for hf_value_free(). NOT_FOUND: there is none. */
HF_API int hf_bucket_get(hf_client *client, const char *name, struct hf_value *ret_value);
HF_API int hf_bucket_get_start(hf_client *client, const char *name, void *cookie);
/* options may be NULL, here and below. STALE. */
HF_API int hf_bucket_set(hf_client *client, const char *name, struct hf_value value,
                         const struct hf_value_options *options);
HF_API int hf_bucket_set_start(hf_client *client, const char *name, struct hf_value value,
                               const struct hf_value_options *options, void *cookie);
/* EXISTS, STALE. */
HF_API int hf_bucket_set_if_absent(hf_client *client, const char *name, struct hf_value value,
                                   const struct hf_value_options *options);
HF_API int hf_bucket_set_if_absent_start(hf_client *client, const char *name, struct hf_value value,
                                         const struct hf_value_options *options, void *cookie);
/* Only if it is `expected` now (NULL bytes: only if there is none). CHANGED: it is not; STALE. */
HF_API int hf_bucket_compare_and_set(hf_client *client, const char *name, struct hf_value expected,
                                     struct hf_value value, const struct hf_value_options *options);
HF_API int hf_bucket_compare_and_set_start(hf_client *client, const char *name,
                                           struct hf_value expected, struct hf_value value,
                                           const struct hf_value_options *options, void *cookie);
/* Sets, and returns what was there before (NULL bytes: nothing). STALE. */
HF_API int hf_bucket_get_and_set(hf_client *client, const char *name, struct hf_value value,
                                 const struct hf_value_options *options,
                                 struct hf_value *ret_before);
HF_API int hf_bucket_get_and_set_start(hf_client *client, const char *name, struct hf_value value,
                                       const struct hf_value_options *options, void *cookie);
/* Until it vanishes; -1: never. NOT_FOUND. */
HF_API int hf_bucket_ttl(hf_client *client, const char *name, int64_t *ret_ms);
HF_API int hf_bucket_ttl_start(hf_client *client, const char *name, void *cookie);
/* NOT_FOUND, STALE. */
HF_API int hf_bucket_delete(hf_client *client, const char *name,
                            const struct hf_value_options *options);
HF_API int hf_bucket_delete_start(hf_client *client, const char *name,
                                  const struct hf_value_options *options, void *cookie);

/* ret_before may be NULL; NULL bytes: there was none. STALE. */
HF_API int hf_map_put(hf_client *client, const char *name, struct hf_value key,
                      struct hf_value value, const struct hf_value_options *options,
                      struct hf_value *ret_before);
HF_API int hf_map_put_start(hf_client *client, const char *name, struct hf_value key,
                            struct hf_value value, const struct hf_value_options *options,
                            void *cookie);
/* EXISTS, STALE. */
HF_API int hf_map_put_if_absent(hf_client *client, const char *name, struct hf_value key,
                                struct hf_value value, const struct hf_value_options *options);
HF_API int hf_map_put_if_absent_start(hf_client *client, const char *name, struct hf_value key,
                                      struct hf_value value, const struct hf_value_options *options,
                                      void *cookie);
/* NOT_FOUND. */
HF_API int hf_map_get(hf_client *client, const char *name, struct hf_value key,
                      struct hf_value *ret_value);
HF_API int hf_map_get_start(hf_client *client, const char *name, struct hf_value key, void *cookie);
/* ret_before may be NULL. NOT_FOUND, STALE. */
HF_API int hf_map_remove(hf_client *client, const char *name, struct hf_value key,
                         const struct hf_value_options *options, struct hf_value *ret_before);
HF_API int hf_map_remove_start(hf_client *client, const char *name, struct hf_value key,
                               const struct hf_value_options *options, void *cookie);
HF_API int hf_map_size(hf_client *client, const char *name, int64_t *ret_size);
HF_API int hf_map_size_start(hf_client *client, const char *name, void *cookie);

/* ------------------------------------------------------------------------------------------------
 * Stamps: a note that something was done, which is forgotten after a while, also when its writer has died.
 * The embedded store keeps it over a reboot, by the wall clock.
 */

/* 1 ms to HF_WAIT_MAX_MS from now. Replaces an older one. */
HF_API int hf_stamp_set(hf_client *client, const char *name, int64_t for_ms);
HF_API int hf_stamp_set_start(hf_client *client, const char *name, int64_t for_ms, void *cookie);
/* How long ago it was made, and how long it stays; either pointer may be NULL. NOT_FOUND: there is none. */
HF_API int hf_stamp_get(hf_client *client, const char *name, int64_t *ret_age_ms,
                        int64_t *ret_remaining_ms);
HF_API int hf_stamp_get_start(hf_client *client, const char *name, void *cookie);
/* NOT_FOUND: there is none. */
HF_API int hf_stamp_delete(hf_client *client, const char *name);
HF_API int hf_stamp_delete_start(hf_client *client, const char *name, void *cookie);

#ifdef __cplusplus
}
#endif

#endif
