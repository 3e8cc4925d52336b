/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the embedded store share: clients driven at the level of the store's driver, in this
 * process or in others, and the loop in which a host waits for them.
 */
#ifndef TESTS_SQLITE_SUPPORT_H
#define TESTS_SQLITE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/types.h>

#include "store/store.h"

extern const struct hfi_driver hfi_driver_sqlite;

#define LONG_WAIT_MS 20000 /* for what must come soon: a slow machine is no failure */

/* A folder of its own for every test: test_folder() is its path, folder_setup() and _teardown() are for
 * cmocka. Teardown removes it and fails if a client was left behind in it. */
extern char folder[128];
extern char path[160]; /* folder/locks.db */
int folder_setup(void **state);
int folder_teardown(void **state);
void remove_tree(const char *root);

struct client {
    struct hfi_identity identity;
    struct hfi_store *store;
    struct hfi_watch watch; /* of one name */
    char watched[64];
    struct client *next; /* all that are open in this process */
};

hfi_time clock_now(void);
/* The driver's open() for `rest`, with an identity of its own. */
int client_open_at(struct client *client, const char *rest, char *detail);
/* Opens `path`, and fails the test if that fails. */
void client_open(struct client *client);
void client_close(struct client *client);
/* In a child of fork(): as the runtime does. */
void clients_forked(void);

void run(struct client *client, struct hfi_request *request);
struct hfi_lease lease_of(const char *name, uint64_t owner, uint32_t ttl_ms);
/* Each is one request; the answer. */
struct hfi_lease do_try(struct client *client, const char *name, uint64_t owner, uint32_t ttl_ms,
                        bool queue);
struct hfi_lease do_release(struct client *client, const char *name, uint64_t owner);
bool do_renew(struct client *client, const char *name, uint64_t owner, uint32_t ttl_ms);
void do_leave(struct client *client, const char *name);
void do_watch(struct client *client, const char *name);
void do_unwatch(struct client *client);
void do_farewell(struct client *client);
/* The same for kinds other than mutexes, with a ttl of 30 s. */
struct hfi_lease lease_of_kind(int kind, const char *name, uint64_t owner, uint32_t permits);
struct hfi_lease take(struct client *client, int kind, const char *name, uint64_t owner);
/* Takes so many, and leaves a ticket when that is busy. */
struct hfi_lease take_some(struct client *client, int kind, const char *name, uint64_t owner,
                           uint32_t permits);
struct hfi_lease give(struct client *client, int kind, const char *name, uint64_t owner);
bool keep(struct client *client, int kind, const char *name, uint64_t owner, uint32_t ttl_ms);
void leave_line(struct client *client, int kind, const char *name, uint64_t owner);
void watch_line(struct client *client, int kind, const char *name, uint64_t owner);
/* A step with an object, under this serial; the answer, which may be a refusal. */
struct hfi_object step(struct client *client, enum hfi_verb verb, const char *name, int64_t number,
                       uint64_t serial);
/* The same that must succeed, under a serial of its own. A stamp's `number` is its ttl in ms. */
struct hfi_object step_ok(struct client *client, enum hfi_verb verb, const char *name,
                          int64_t number);
/* Waits as a host does until the watch is woken; false after so long. */
bool wait_woken(struct client *client, int timeout_ms);
/* Waits likewise until restored(). */
bool wait_restored(struct client *client, int timeout_ms);
/* Tries, watches, sleeps, tries … until granted; false after so long. */
bool wait_granted(struct client *client, const char *name, uint64_t owner, uint32_t ttl_ms,
                  int timeout_ms);

/* The same for any kind, without looking by itself: only when it is woken, or the hint says so. */
bool wait_kind(struct client *client, int kind, const char *name, uint64_t owner, uint32_t permits,
               int timeout_ms);

/* A client in another process, which does what it is told. */
struct remote {
    pid_t pid;
    int socket;
};

enum order_kind {
    ORDER_TRY,
    ORDER_RELEASE,
    ORDER_RENEW,
    ORDER_LEAVE,
    ORDER_WATCH,
    ORDER_WAIT_WOKEN,   /* number: timeout in ms */
    ORDER_WAIT_GRANTED, /* mutexes only. number: timeout in ms */
    ORDER_QUIT          /* closes the client and exits */
};

struct order {
    enum order_kind kind;
    char name[64];
    uint64_t owner;
    uint32_t ttl_ms;
    bool queue;
    int number;
    int lock; /* enum hfi_kind */
    uint32_t permits;
};

struct answer {
    int outcome, error, verdict;
    uint64_t token;
    uint32_t others;
    bool ticket, yes;
};

struct remote remote_start(void);
void remote_send(const struct remote *remote, const struct order *order);
struct answer remote_receive(const struct remote *remote);
struct answer remote_do(const struct remote *remote, enum order_kind kind, const char *name,
                        uint64_t owner);
/* The same for any kind of lock. */
struct answer remote_do_kind(const struct remote *remote, enum order_kind kind, int lock,
                             const char *name, uint64_t owner, uint32_t permits);
/* Kills and reaps. */
void remote_kill(struct remote *remote);
/* Has it quit, and checks that it did so in order. */
void remote_quit(struct remote *remote);

/* The tables of version 1, as its programs made them. */
#define SCHEMA_1                                                                                   \
    "CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), boot TEXT NOT NULL,"                \
    " epoch INTEGER NOT NULL, tokens INTEGER NOT NULL);"                                           \
    "INSERT INTO meta VALUES (1, '', 0, 0);"                                                       \
    "CREATE TABLE client (id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE,"        \
    " boot TEXT NOT NULL, host TEXT NOT NULL, user TEXT NOT NULL, program TEXT NOT NULL,"          \
    " pid INTEGER NOT NULL, broken INTEGER NOT NULL DEFAULT 0, started TEXT NOT NULL);"            \
    "CREATE TABLE hold (name TEXT PRIMARY KEY, client INTEGER NOT NULL, owner INTEGER NOT NULL,"   \
    " token INTEGER NOT NULL, expires_ns INTEGER NOT NULL, since_ns INTEGER NOT NULL,"             \
    " ttl_ms INTEGER NOT NULL, label TEXT, threads INTEGER NOT NULL DEFAULT 0,"                    \
    " threads_ns INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;"                                       \
    "CREATE TABLE waiter (ticket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,"           \
    " client INTEGER NOT NULL, since_ns INTEGER NOT NULL, called_ns INTEGER NOT NULL DEFAULT 0,"   \
    " threads INTEGER NOT NULL DEFAULT 1, UNIQUE (client, name));"                                 \
    "CREATE INDEX waiter_line ON waiter (name, ticket, client);"                                   \
    "PRAGMA application_id = 0x48464c4b;"                                                          \
    "PRAGMA user_version = 1;"

/* Runs an SQL statement on the file, as a person with the sqlite3 shell would; the first column of the
 * first row as a number, or -1. */
int64_t sql_number(const char *sql);
/* How many liveness files there are. */
int life_files(void);
/* The path of one that is not this client's. */
void other_life_file(const struct client *client, char *name, size_t room);

#endif
