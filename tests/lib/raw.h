/* SPDX-License-Identifier: Apache-2.0 */
/* The server seen without the library: commands over hiredis' own sockets. */
#ifndef TEST_LIB_RAW_H
#define TEST_LIB_RAW_H

#include "lib/server.h"

/* A further connection, for those that subscribe or must not disturb: close it by redisFree(). */
redisContext *raw_open(const struct server *server);
/* Ends the server's own one, if there is one. */
void raw_close(struct server *server);

/* A command over the test's own connection, which is made when needed. The reply is never NULL; an error
 * reply fails the test in all but raw_reply(). Formats are hiredis'. */
redisReply *raw_reply(struct server *server, const char *format, ...);
long long raw_integer(struct server *server, const char *format, ...);
void raw_do(struct server *server, const char *format, ...);
/* The text of a reply, "" for none; in a static buffer. */
const char *raw_text(struct server *server, const char *format, ...);
/* "key:value" of INFO's section; in a static buffer. */
const char *raw_info(struct server *server, const char *section, const char *key);

/* Sends a command over a connection of one's own; no answer is read. */
void raw_send(redisContext *raw, const char *format, ...);
/* The next reply, or NULL when none comes in time. */
redisReply *raw_next(redisContext *raw, int ms);

/* How many connections have a name that begins so. */
int raw_count_clients(struct server *server, const char *name);
/* Calls of a command since CONFIG RESETSTAT, as INFO commandstats counts them. */
long long raw_calls(struct server *server, const char *command);

#endif
