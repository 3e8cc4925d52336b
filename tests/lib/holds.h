/* SPDX-License-Identifier: Apache-2.0 */
/* Holdfast in a test: calls that must succeed, threads that wait for locks, events that must come. */
#ifndef TEST_LIB_HOLDS_H
#define TEST_LIB_HOLDS_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "holdfast/holdfast.h"
#include "lib/wait.h"

/* A client of the store; fails the test when there is none to be had. */
hf_client *client_of(const char *uri, const struct hf_client_options *options);
/* Takes a lock at once, or fails the test. */
hf_hold *take(hf_client *client, const char *name, const struct hf_acquire_options *options);
void give(hf_hold *hold); /* HF_OK, or fails the test */
/* What a single attempt says; what it got is given back. */
int try_once(hf_client *client, const char *name);

/* A thread in hf_acquire(). */
struct taker {
    pthread_t thread;
    hf_client *client;
    const char *name;
    struct hf_acquire_options options;
    atomic_bool done;
    int error;
    hf_hold *hold;
};

void taker_start(struct taker *taker, hf_client *client, const char *name,
                 const struct hf_acquire_options *options);
/* Waits for its end, and returns the error. */
int taker_join(struct taker *taker);
bool taker_done(struct taker *taker);

/* How many wait for a name, as hf_inspect() counts; -1: there is nothing of that name. */
int64_t count_waiters(hf_client *client, const char *name);
/* Who holds it; "" when nobody does. In a static buffer. */
const struct hf_holder *holder_of(hf_client *client, const char *name);

/* The next event, waited for; fails the test when none comes. */
struct hf_event next_event(hf_client *client);
/* No event is there. */
void no_event(hf_client *client);

#endif
