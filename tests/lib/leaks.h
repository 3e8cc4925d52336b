/* SPDX-License-Identifier: Apache-2.0 */
/* What must not be left after a test. */
#ifndef TEST_LIB_LEAKS_H
#define TEST_LIB_LEAKS_H

#include "lib/server.h"

/* Descriptors, threads, children. */
struct leaks {
    int descriptors;
};

int count_descriptors(void);
int count_threads(void);
void leaks_note(struct leaks *leaks);
/* As many descriptors as then, one thread more than `threads`, and no child but the server. */
void leaks_check(const struct leaks *leaks);
/* On the server: no key but counters of tokens, no subscription. Waits until that is so. */
void server_check_clean(struct server *server);
/* Keys that are not counters of tokens. */
int server_count_keys(struct server *server);

#endif
