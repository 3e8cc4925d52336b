/* SPDX-License-Identifier: Apache-2.0 */
/* Stream sockets, non-blocking and close-on-exec: name resolution on a thread of its own, connecting. */
#ifndef HFI_TRANSPORT_SOCKET_H
#define HFI_TRANSPORT_SOCKET_H

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "store/store.h"

/* ------------------------------------------------------------------------------------------------
 * Look-up: from a host's name to addresses, without blocking
 */

/* A look-up in progress or done. The resolver of the C library blocks and cannot be called off, so it runs
 * on a thread that outlives whoever lost interest. */
struct hfi_lookup;

#define HFI_WHY_MAX 160 /* bytes of why it failed */

/* Starts one; `notify_fd` (an eventfd, copied) is written to when it is done. Addresses in text are done
 * at once. NULL: no memory, descriptor or thread to be had. */
struct hfi_lookup *hfi_lookup_start(const struct hfi_address *address, int notify_fd);
bool hfi_lookup_done(struct hfi_lookup *lookup);
/* When done: the addresses, or NULL and why not. Valid until the end. */
const struct addrinfo *hfi_lookup_result(struct hfi_lookup *lookup, const char **ret_why);
/* Loses interest. NULL is allowed; returns NULL. */
struct hfi_lookup *hfi_lookup_end(struct hfi_lookup *lookup);

/* ------------------------------------------------------------------------------------------------
 * Connecting
 */

/* Starts to connect. A descriptor, with *ret_pending when it is not connected yet (poll for POLLOUT, then
 * ask hfi_socket_error()), or -1 with errno. */
int hfi_socket_connect(const struct addrinfo *to, bool *ret_pending);
int hfi_socket_connect_unix(const char *path, bool *ret_pending);
/* The pending error of a socket: 0 when it is connected. */
int hfi_socket_error(int fd);
/* Has the other end closed it, or is there anything unexpected to read? Does not block. */
bool hfi_socket_is_stale(int fd);

#endif
