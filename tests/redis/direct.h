/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Redis store on a real server, asked request by request: the test is the core, without deadlines of its own.
 */
#ifndef REDIS_DIRECT_H
#define REDIS_DIRECT_H

#include "redis/support.h"
#include "store/store.h"

struct direct {
    struct hfi_store *store;
    const struct hfi_wire_class *class_;
    struct hfi_identity identity;
    int fd[HFI_LINK_MAX];
};

/* `digit` tells its client id from others'. `user` and `query`: as in a URI, "user:password@", "?prefix=x:". */
void direct_open(struct direct *direct, char digit, const char *user, const char *query);
void direct_close(struct direct *direct);

/* Submits it, and waits until it is finished. Returns its error. */
int direct_ask(struct direct *direct, struct hfi_request *request, enum hfi_op op);

/* Sends it, and loses the connection before an answer can come: the server has executed it. The connection is
 * there already, from an earlier request. */
void direct_ask_in_vain(struct direct *direct, struct hfi_request *request, enum hfi_op op);

/* These fail the test when the request is not DONE. */
enum hfi_verdict direct_try(struct direct *direct, struct hfi_lease *lease);
enum hfi_verdict direct_release(struct direct *direct, struct hfi_lease *lease);
/* Is it kept? ttl_ms 0: only look. */
bool direct_renew(struct direct *direct, struct hfi_lease *lease, uint32_t ttl_ms);
void direct_leave(struct direct *direct, const struct hfi_lease *lease);
void direct_watch(struct direct *direct, struct hfi_watch *watch);
void direct_unwatch(struct direct *direct, struct hfi_watch *watch);
/* Is it woken in time? */
bool direct_woken(struct direct *direct, const struct hfi_watch *watch, int ms);

struct hfi_lease direct_lease(enum hfi_kind kind, const char *name, uint64_t owner);
struct hfi_watch direct_watch_of(const struct hfi_lease *lease, enum hfi_topic topic);
/* "<client id>:<owner>", in one of a few static buffers. */
const char *direct_owner(const struct direct *direct, uint64_t owner);

#endif
