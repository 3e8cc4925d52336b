/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real server of the test's own: redis-server or valkey-server, on a free loopback port and on a socket in
 * a folder of its own. It dies with the test.
 */
#ifndef TEST_LIB_SERVER_H
#define TEST_LIB_SERVER_H

#include <hiredis/hiredis.h>

#include "lib/process.h"

struct server {
    const char *program;         /* "redis-server", "valkey-server" */
    const char *config;          /* further lines of its configuration; NULL: none */
    const char *user, *password; /* of the test's own connection; NULL: none */
    pid_t pid;
    int port;
    char folder[64];
    char socket[108]; /* in the folder */
    redisContext *own;
};

/* Is such a program installed, of a version that is supported? */
bool server_exists(const char *program);
/* Starts it, with program and config as set (NULL: redis-server), and waits until it answers. */
void server_start(struct server *server);
/* Ends it and removes its folder. */
void server_stop(struct server *server);

void server_kill(struct server *server); /* as kill -9; the folder stays */
void server_pause(const struct server *server);
void server_continue(const struct server *server);
/* Starts a killed one again, on the same port and socket, with the data that it has written, or none. */
void server_restart(struct server *server, bool keep_data);
/* As server_restart(), but does not wait until it answers. */
void server_launch(struct server *server);
void server_await(struct server *server);

/* "redis://127.0.0.1:PORT/", "redis+unix://SOCKET" */
const char *server_uri(const struct server *server, char *to, size_t room);
const char *server_uri_unix(const struct server *server, char *to, size_t room);

#endif
