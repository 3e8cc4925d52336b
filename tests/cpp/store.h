/* SPDX-License-Identifier: Apache-2.0 */
/* The store that a C++ test runs on, started as the C tests start theirs. */
#ifndef TESTS_CPP_STORE_H
#define TESTS_CPP_STORE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Starts a store of the kind "sqlite" or "redis", and returns its URI; NULL: there is none on this machine. */
const char *store_start(const char *kind);
void store_stop(void);
/* Can threads be cancelled, and processes with threads fork? The thread sanitizer cannot stand it. */
int store_can_cancel(void);

#ifdef __cplusplus
}
#endif

#endif
