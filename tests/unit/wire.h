/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Redis store without sockets: the test is the host and the server. It connects, reads what the store wants
 * to send as commands, and answers with bytes.
 *
 * Commands are compared as text: their arguments with spaces in between; a script is called by its name, as in
 * "EVALSHA release 2 L redisson_lock__channel:{L} … 0".
 */
#ifndef HFT_WIRE_H
#define HFT_WIRE_H

#include "unit.h"

#include "base/list.h"
#include "store/redis/redis.h"

#define WIRE_ID  "0f8fad5b-d9cb-469f-a165-70867728950e"
#define OWNER(n) WIRE_ID ":" #n

#define WIRE_ARGS_MAX 1024

enum { COMMANDS = HFI_REDIS_COMMANDS, WAKEUPS = HFI_REDIS_WAKEUPS };

/* One command, as the server reads it. */
struct command {
    size_t argc;
    const char *argv[WIRE_ARGS_MAX];
    size_t len[WIRE_ARGS_MAX];
};

struct wire {
    struct hfi_store *store;
    const struct hfi_wire_class *class_;
    struct hfi_identity identity;
    hfi_time now;
    char *bytes[2]; /* sent, and not read by the test */
    size_t length[2];
    char text[256 * 1024];
    char warnings[4096];
    unsigned client_id;   /* what CLIENT ID says next */
    const char *run_id;   /* of the server */
    const char *commands; /* its answer to COMMAND INFO; NULL: it knows none of those */
    struct wire_memory *memory;
};

void wire_open(struct wire *wire, const char *uri);
/* Ends it, whatever it is at: nothing may be left. */
void wire_close(struct wire *wire);

/* The host */
void wire_connect(struct wire *wire, unsigned link); /* the store must want it */
void wire_lose(struct wire *wire, unsigned link);
/* If it wants to, as a host does after each thing that it told the store. */
bool wire_drops(struct wire *wire, unsigned link);
void wire_pass(struct wire *wire, hfi_time ms);
void wire_submit(struct wire *wire, struct hfi_request *request, enum hfi_op op);
/* The next finished request must be this one. */
void wire_finished(struct wire *wire, const struct hfi_request *request, enum hfi_outcome outcome,
                   int error);
void wire_nothing_finished(struct wire *wire);

/* The server */
bool wire_read(struct wire *wire, unsigned link, struct command *command); /* false: nothing more */
/* All commands that were sent since, one a line. */
const char *wire_commands(struct wire *wire, unsigned link);
void wire_expect(struct wire *wire, unsigned link, const char *text);
void wire_say(struct wire *wire, unsigned link, const char *bytes);
void wire_say_bytes(struct wire *wire, unsigned link, const char *bytes, size_t count);
/* Reads the greeting and answers as a good server does. */
void wire_greet(struct wire *wire, unsigned link);
/* Connect and greet. */
void wire_up(struct wire *wire, unsigned link);

/* Requests of a test; they live as long as the wire */
struct hfi_lease *wire_lease(struct wire *wire, const char *name, uint64_t owner);
struct hfi_watch *wire_watch(struct wire *wire, const char *name);

#define INFO_SERVER_OK      "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:%s\r\n"
#define INFO_REPLICATION_OK "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
#define INFO_MEMORY_OK      "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"

static inline struct hfi_redis *wire_redis(struct wire *wire)
{
    return (struct hfi_redis *)wire->store;
}

#endif
