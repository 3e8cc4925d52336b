/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the process is short of descriptors or of memory, and when its wall clock jumps. This program stands
 * in for malloc() and its kin, and for clock_gettime(), for the libraries too.
 */
#include "conformance/store.h"
#include "holdfast/objects.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#define LONG HF_ACQUIRE(.ttl_ms = 60000)
#define OURS __attribute__((visibility("default")))

/* ------------------------------------------------------------------------------------------------
 * Memory
 */

static atomic_long allocations = -1; /* until the one that fails; negative: none fails */
static atomic_bool all_fail;         /* and all after it */
static atomic_long failed;

#if !TEST_SANITIZED
/* Is this the one? */
static bool fails(void)
{
    long left = atomic_load(&allocations);

    if (left < 0)
        return false;
    if (left > 0) {
        atomic_fetch_sub(&allocations, 1);
        return false;
    }
    if (!atomic_load(&all_fail))
        atomic_store(&allocations, -1);
    atomic_fetch_add(&failed, 1);
    errno = ENOMEM;
    return true;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

OURS void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

OURS void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

OURS void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}
#endif

static void arm(long nth, bool all)
{
    atomic_store(&failed, 0);
    atomic_store(&all_fail, all);
    atomic_store(&allocations, nth);
}

/* True when an allocation was made to fail meanwhile. */
static bool disarm(void)
{
    atomic_store(&allocations, -1);
    return atomic_load(&failed) > 0;
}

static bool is_defined(int error)
{
    return error == HF_OK || hf_classify(error) == HF_CLASS_RETRY || error == HF_ERR_UNSURE ||
           error == HF_ERR_BUSY;
}

/* What came of it; the client works again, and nothing is held that we do not know of. */
static void recovers(hf_client *client, const char *name)
{
    hf_hold *hold = take(client, name, HF_ACQUIRE(.ttl_ms = 5000, .wait_ms = 15000));

    assert_int_equal(hf_hold_verify(hold), HF_OK);
    give(hold);
}

enum { ALLOCATIONS_MAX = 3000 };

/* One round: the nth allocation of an acquire fails. False when there are not so many. */
static bool fail_nth(long nth, bool all, const struct hf_acquire_options *options, bool contended)
{
    hf_client *a = client_open(), *b = contended ? client_open() : NULL;
    hf_hold *hold = NULL, *other = b ? take(b, "lock", LONG) : NULL;
    bool any;
    int error;

    arm(nth, all);
    error = hf_acquire(a, "lock", options, &hold);
    any = disarm();
    if (!is_defined(error))
        fail_msg("allocation %ld: %d %s: %s", nth, error, hf_strerror(error), hf_last_error());
    assert_true((error == HF_OK) == (hold != NULL));
    if (hold)
        give(hold);
    if (other)
        give(other);
    recovers(a, "lock");
    hf_close(a);
    hf_close(b);
    return any;
}

static void each_allocation(const struct hf_acquire_options *options, bool contended)
{
    long nth = 0;

    while (nth < ALLOCATIONS_MAX && fail_nth(nth, false, options, contended))
        nth++;
    assert_in_range(nth, 5, ALLOCATIONS_MAX - 1);
    print_message("%ld allocations failed in turn\n", nth);
}

static void memory_of_an_acquire(void **state)
{
    (void)state;
    each_allocation(HF_ACQUIRE(.ttl_ms = 5000, .wait_ms = 3000, .label = "short"), false);
}

static void memory_of_a_wait(void **state)
{
    (void)state;
    each_allocation(HF_ACQUIRE(.ttl_ms = 5000, .wait_ms = 5), true);
}

/* None at all from a certain moment on: of the acquire, and then of the release too. */
static void no_memory_any_more(void **state)
{
    (void)state;
    for (long nth = 0; nth < 60; nth += 3)
        fail_nth(nth, true, HF_ACQUIRE(.ttl_ms = 5000, .wait_ms = 100), false);
}

/* What is held is renewed, and given back, without a byte of ours. What libraries below need may fail: then
 * the outcome is unknown, no worse. */
static void releasing_without_memory(void **state)
{
    hf_client *a, *b;
    hf_hold *hold;
    int error;

    (void)state;
    a = client_open();
    b = client_open();
    hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = 1500));
    arm(0, true);
    error = hf_release(hold);
    disarm();
    assert_true(error == HF_OK || error == HF_ERR_UNSURE);
    AWAIT_MS(try_once(b, "lock") == HF_OK, 10000);
    recovers(a, "lock");
    hf_close(a);
    hf_close(b);
}

static void events_without_memory(void **state)
{
    (void)state;
    for (long nth = 0; nth < 40; nth++) {
        hf_client *a = client_open();
        int cookie, error;

        assert_true(hf_fd(a) >= 0);
        arm(nth, false);
        error = hf_acquire_start(a, "lock", HF_ACQUIRE(.ttl_ms = 5000, .wait_ms = 3000), &cookie);
        if (error == HF_OK) {
            struct hf_event event = next_event(a);

            disarm();
            assert_ptr_equal(event.cookie, &cookie);
            assert_true(is_defined(event.error));
            if (event.type == HF_EVENT_ACQUIRED)
                give(event.hold);
            no_event(a);
        } else {
            disarm();
            assert_true(hf_classify(error) == HF_CLASS_RETRY);
            no_event(a);
        }
        recovers(a, "lock");
        hf_close(a);
    }
}

/* A call that was started is done, or said not to be; also the one that takes its event lacks nothing. */
static void calls_without_memory(void **state)
{
    (void)state;
    for (long nth = 0; nth < 40; nth++) {
        hf_client *a = client_open();
        int64_t n = -1;
        int error;

        assert_true(hf_fd(a) >= 0);
        arm(nth, false);
        error = hf_semaphore_release_start(a, "s", 1, a);
        if (error == HF_OK) {
            struct hf_event event = next_event(a);

            disarm();
            assert_ptr_equal(event.cookie, a);
            error = event.error;
        }
        disarm();
        no_event(a);
        if (error != HF_ERR_UNSUPPORTED) {
            assert_true(is_defined(error));
            assert_int_equal(hf_semaphore_available(a, "s", &n), HF_OK);
            if (error != HF_ERR_UNSURE)
                assert_int_equal(n, error == HF_OK);
            assert_in_range(n, 0, 1);
            hf_semaphore_delete(a, "s");
        }
        hf_close(a);
    }
}

static void not_here(void **state)
{
    (void)state;
    skip(); /* sanitizers have an allocator of their own */
}

/* ------------------------------------------------------------------------------------------------
 * Descriptors
 */

/* With so many more than there are now. */
static void with_descriptors(int more)
{
    struct rlimit before, now;
    hf_client *a = client_open();
    hf_hold *hold = NULL;
    int error;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    now = before;
    now.rlim_cur = (rlim_t)count_descriptors() + (rlim_t)more;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
    error = hf_acquire(a, "lock", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE, .ttl_ms = 5000), &hold);
    if (error) {
        assert_true(hf_classify(error) == HF_CLASS_RETRY);
        assert_true(strstr(hf_last_error(), "descriptor") ||
                    strstr(hf_last_error(), "open files") ||
                    strstr(hf_last_error(), "unable to open"));
        assert_null(hold);
    } else {
        assert_int_equal(hf_release(hold), HF_OK);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    recovers(a, "lock");
    hf_close(a);
}

static void descriptors(void **state)
{
    (void)state;
    for (int more = 0; more < 12; more++)
        with_descriptors(more);
}

static void descriptors_of_a_client(void **state)
{
    struct rlimit before, now;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int more = 0; more < 6; more++) {
        hf_client *a = NULL;
        int error;

        now = before;
        now.rlim_cur = (rlim_t)count_descriptors() + (rlim_t)more;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
        error = hf_open(store->uri(), NULL, &a);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (error)
            assert_true(hf_classify(error) == HF_CLASS_RETRY);
        else
            recovers(a, "lock");
        hf_close(a);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The wall clock
 */

static atomic_llong shift_s;

OURS int clock_gettime(clockid_t id, struct timespec *ret)
{
    int result = (int)syscall(SYS_clock_gettime, id, ret);

    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
        ret->tv_sec += (time_t)atomic_load(&shift_s);
    return result;
}

OURS int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    struct timespec t;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    ret->tv_sec = t.tv_sec;
    ret->tv_usec = (suseconds_t)(t.tv_nsec / 1000);
    return 0;
}

OURS time_t time(time_t *ret)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    if (ret)
        *ret = t.tv_sec;
    return t.tv_sec;
}

/* Steps of an hour, back and forth: nothing is lost, nothing lasts longer or shorter, waiters wake. */
static void the_wall_clock(void **state)
{
    static const long long STEPS[] = { 3600, -3600, 7200, 0 };
    const int64_t ttl = TEST_SANITIZED ? 2000 : 800;
    hf_client *a = client_open(), *b = client_open();
    hf_hold *hold = take(a, "lock", HF_ACQUIRE(.ttl_ms = ttl));
    hf_hold *fixed = take(a, "fixed", HF_ACQUIRE(.lease_ms = 2 * ttl));
    int64_t start = now_ms(), until;
    struct taker taker;

    (void)state;
    taker_start(&taker, b, "fixed", HF_ACQUIRE(.ttl_ms = 5000));
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) {
        atomic_store(&shift_s, STEPS[i]);
        for (until = now_ms() + ttl * 2 / 3; now_ms() < until; nap_ms(5)) {
            assert_int_not_equal(hf_hold_state(hold), HF_LOST);
            assert_true(hf_hold_remaining_ms(hold) <= ttl);
            if (now_ms() - start < 2 * ttl - 100)
                assert_int_equal(hf_hold_state(fixed), HF_HELD);
        }
        assert_int_equal(hf_hold_verify(hold), HF_OK);
        assert_int_equal(try_once(b, "lock"), HF_ERR_BUSY);
    }
    assert_int_equal(taker_join(&taker), HF_OK);
    assert_true(now_ms() - start >= 2 * ttl - 100);
    assert_int_equal(hf_release(fixed), HF_ERR_LOST);
    give(taker.hold);
    give(hold);
    hf_close(a);
    hf_close(b);
}

#define MEMORY_TEST(f)                                                                             \
    {                                                                                              \
#f, TEST_SANITIZED ? not_here : f, test_begin, test_end, NULL                              \
    }

static const struct CMUnitTest TESTS[] = {
    MEMORY_TEST(memory_of_an_acquire),
    MEMORY_TEST(memory_of_a_wait),
    MEMORY_TEST(no_memory_any_more),
    MEMORY_TEST(releasing_without_memory),
    MEMORY_TEST(events_without_memory),
    MEMORY_TEST(calls_without_memory),
    TEST(descriptors),
    TEST(descriptors_of_a_client),
    TEST(the_wall_clock),
};

SUITE_MAIN("scarce", TESTS)
