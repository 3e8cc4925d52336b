/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store that the suite runs on. Each program of the suite takes its name as an argument; a further store
 * joins by an entry in the table in store.c and its name in CMakeLists.txt.
 */
#ifndef CONFORMANCE_STORE_H
#define CONFORMANCE_STORE_H

#include <string.h>

#include "lib/holds.h"
#include "lib/leaks.h"
#include "lib/process.h"

struct store {
    const char *name;
    bool fifo;          /* waiting processes are served in the order in which they came */
    bool death_at_once; /* what a dead process held is free at once, not after the ttl */
    bool (*exists)(void);
    void (*start)(void);
    void (*stop)(void);
    const char *(*uri)(void);
    void (*check_clean)(void); /* nothing of ours is left, all clients being closed */
    void (*bury)(void);        /* removes what stands for a dead process until it runs out */
    void (*freeze)(void);      /* it answers nobody … */
    void (*thaw)(void);        /* … until now */
    bool one_by_one;           /* a call is not begun before the one before it is done */
};

extern const struct store *store;

/* Skips the program where the store is not to be had. */
int suite_main(int argc, char **argv, const char *name, const struct CMUnitTest *tests,
               size_t count);
/* Before and after each test: what it must not leave behind. */
int test_begin(void **state);
int test_end(void **state);

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_begin, test_end)
#define SUITE_MAIN(name, tests)                                                                    \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return suite_main(argc, argv, name, tests, sizeof(tests) / sizeof(tests)[0]);              \
    }

/* A client of the store; fails the test when there is none to be had. */
hf_client *client_open(void);
hf_client *client_open_with(const struct hf_client_options *options);
/* Likewise for a child. */
hf_client *child_client(void);

#endif
