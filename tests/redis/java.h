/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners of another make: what Redisson's scripts do to the data, step by step as its contract says, in our own
 * words. They take the test's clock for the time, as Redisson takes its client's.
 */
#ifndef REDIS_JAVA_H
#define REDIS_JAVA_H

#include "redis/support.h"

#define JAVA_TAKEN (-1000) /* what a try says that has succeeded; else it is the ttl */

/* All by the owner FOREIGN with another thread number. `name` has no braces. */
const char *java_owner(int thread);

long long java_fair_try(const char *name, int thread, long long wait_ms, long long lease_ms);
bool java_fair_unlock(const char *name, int thread);
void java_fair_give_up(const char *name, int thread, long long wait_ms);

long long java_read_try(const char *name, int thread, long long lease_ms);
bool java_read_unlock(const char *name, int thread);
long long java_write_try(const char *name, int thread, long long lease_ms);
bool java_write_unlock(const char *name, int thread);

/* `id`: 16 bytes of text. */
bool java_permit_try(const char *name, const char *id, long long lease_ms);
bool java_permit_release(const char *name, const char *id);

#endif
