/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for what is to happen: never a fixed time, always with a bound that only a failure reaches. */
#ifndef TEST_LIB_WAIT_H
#define TEST_LIB_WAIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* How long a test waits for what will certainly come. */
#define PATIENCE_MS 30000

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

/* The thread sanitizer loses count of locks when a thread is cancelled inside a call that it intercepts, and
 * cannot start threads in a child of a process that has some. */
#if defined(__SANITIZE_THREAD__)
#define TEST_CAN_CANCEL 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_CAN_CANCEL 0
#endif
#endif
#ifndef TEST_CAN_CANCEL
#define TEST_CAN_CANCEL 1
#endif
#define TEST_CAN_FORK TEST_CAN_CANCEL
/* Under the other one, the address sanitizer, the allocator may be locked for ever in a child of a process whose
 * threads were at work. */
#define TEST_CAN_FORK_BUSY (!TEST_SANITIZED || !TEST_CAN_CANCEL)

int64_t now_ms(void); /* CLOCK_BOOTTIME, as the library counts */
int64_t now_us(void);
void nap_us(long us);
static inline void nap_ms(long ms)
{
    nap_us(ms * 1000);
}

/* Looks at a condition again and again; fails the test when it does not come true in time. */
#define AWAIT_MS(condition, patience_ms)                                                           \
    do {                                                                                           \
        int64_t await_until_ = now_ms() + (patience_ms);                                           \
        while (!(condition)) {                                                                     \
            if (now_ms() > await_until_)                                                           \
                fail_msg("not within %d ms: %s", (int)(patience_ms), #condition);                  \
            nap_us(500);                                                                           \
        }                                                                                          \
    } while (0)
#define AWAIT(condition) AWAIT_MS(condition, PATIENCE_MS)

/* A small generator for tests that try many times: seeded, and printed when one fails. */
uint32_t random_next(uint32_t *state);

#endif
