/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the target `reply`: made as the engine and the library's calls make them, and judged when they
 * are finished. Each is memory of its own, freed when it is finished. */
#ifndef HFT_FUZZ_REPLY_REQUESTS_H
#define HFT_FUZZ_REPLY_REQUESTS_H

#include "fuzz/fuzz.h"

#include "store/store.h"

#define REQUESTS_MAX 24
#define WATCHES_MAX  6

struct asked {
    struct hfi_request *request;
    void *items; /* what else belongs to it */
    uint32_t wanted;
};

struct requests {
    struct hfi_store *store;
    const struct hfi_wire_class *wire;
    struct asked asked[REQUESTS_MAX];
    struct hfi_watch *watch[WATCHES_MAX];
    bool pending[WATCHES_MAX]; /* a request of this watch is on its way */
    uint64_t owner;
};

/* One more, as the input says; nothing when there are too many. */
void requests_submit(struct requests *requests, struct input *input, hfi_time now);
/* A watch: WATCH, UNWATCH, or LEAVE. */
void requests_watch(struct requests *requests, struct input *input, hfi_time now);
/* Takes what is finished, and what was woken. */
void requests_take(struct requests *requests, hfi_time now);
bool requests_are_done(const struct requests *requests);
void requests_free(struct requests *requests);

#endif
