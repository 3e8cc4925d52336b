/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that run a function of the test, with a pipe in each direction to keep step. They die with the
 * test. A child never uses cmocka's assertions, which would jump back into the parent's stack: it has CHECK().
 */
#ifndef TEST_LIB_PROCESS_H
#define TEST_LIB_PROCESS_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "lib/wait.h"

struct child {
    pid_t pid; /* 0: none */
    int to, from;
};

/* The child's side. */
struct parent {
    int in, out;
};

typedef int child_body(const struct parent *parent, void *arg);

/* Forks; the child exits with what the body returns. */
void child_start(struct child *child, child_body *body, void *arg);
void child_tell(const struct child *child, char what);
/* The next byte that the child says; fails the test when it ends instead. */
char child_hear(const struct child *child);
/* Is there a byte, or does one come in time? */
bool child_hears(const struct child *child, int ms, char *ret_what);
void child_read(const struct child *child, void *to, size_t size);
void child_expect(const struct child *child, char what);
/* Waits until it ends by itself, and returns its exit code; 128 + the signal that ended it. */
int child_join(struct child *child);
/* Ends it by SIGKILL, if it is there. */
void child_kill(struct child *child);

void parent_tell(const struct parent *parent, char what);
char parent_hear(const struct parent *parent); /* 0: it is gone */
void parent_write(const struct parent *parent, const void *from, size_t size);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "child %d: %s:%d: not true: %s\n", (int)getpid(), __FILE__, __LINE__,  \
                    #condition);                                                                   \
            _exit(99);                                                                             \
        }                                                                                          \
    } while (0)

#define CHECK_EQUAL(a, b)                                                                          \
    do {                                                                                           \
        long long check_a_ = (long long)(a), check_b_ = (long long)(b);                            \
        if (check_a_ != check_b_) {                                                                \
            fprintf(stderr, "child %d: %s:%d: %s is %lld, not %lld\n", (int)getpid(), __FILE__,    \
                    __LINE__, #a, check_a_, check_b_);                                             \
            _exit(99);                                                                             \
        }                                                                                          \
    } while (0)

#endif
