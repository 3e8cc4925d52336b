/* SPDX-License-Identifier: Apache-2.0 */
/* The store by itself on a real server: the test is its host, and asks one request at a time. */
#ifndef REDIS_HOST_H
#define REDIS_HOST_H

#include "redis/support.h"

#include "holdfast/objects.h"
#include "store/store.h"

struct host {
    struct hfi_store *store;
    const struct hfi_wire_class *wire;
    struct hfi_identity identity;
    int fd; /* of the command connection; -1: none */
    uint64_t serial;
};

/* Of the URI: "user:password@" or "", and "?options" or "". */
void host_open(struct host *host, const char *user, const char *options);
void host_close(struct host *host);
/* Submits it, and serves the connection until it is finished. Returns HF_OK when it is DONE, else the error. */
int host_ask(struct host *host, struct hfi_request *request, enum hfi_op op);
/* Sends it, and loses the connection before an answer can come: the server has executed it. */
void host_ask_in_vain(struct host *host, struct hfi_request *request, enum hfi_op op);

#endif
