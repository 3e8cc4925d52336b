/* SPDX-License-Identifier: Apache-2.0 */
/* One server for a program's tests, clients of it that note what they trace, and owners of another make. */
#ifndef REDIS_SUPPORT_H
#define REDIS_SUPPORT_H

#include "lib/holds.h"
#include "lib/leaks.h"
#include "lib/proxy.h"
#include "lib/raw.h"

extern struct server server; /* runs while a test does, and is clean before and after it */

/* Arguments: a server's program other than redis-server, and the name of a test other than all. */
int suite_main(int argc, char **argv, const char *name, const struct CMUnitTest *tests,
               size_t count);
int test_begin(void **state);
int test_end(void **state);

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_begin, test_end)
#define TESTS_MAIN(name, tests)                                                                    \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return suite_main(argc, argv, name, tests, sizeof(tests) / sizeof(tests)[0]);              \
    }

/* What was traced, by all clients made here, since the beginning of the test. */
bool traced(const char *text);
void trace_note(void *arg, enum hf_trace_level level, const char *text);
void trace_forget(void);

#define TRACED(...) HF_CLIENT(.trace = trace_note, __VA_ARGS__)

hf_client *client_open(void);
hf_client *client_open_with(const struct hf_client_options *options);

/* Between clients and the server, while a NET() test runs. */
extern struct proxy proxy;

int proxy_begin(void **state);
int proxy_end(void **state);

#define NET(f) cmocka_unit_test_setup_teardown(f, proxy_begin, proxy_end)

hf_client *client_behind(const struct hf_client_options *options);

/* An owner as Redisson writes it. */
#define FOREIGN "01234567-89ab-4cde-8f01-23456789abcd:42"

void foreign_take(const char *name, long ttl_ms);
/* As Redisson's unlock: 1 when it was its own. */
long long foreign_give(const char *name);

#endif
