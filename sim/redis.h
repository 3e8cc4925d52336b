/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of one Redis server: what clients can see of the commands that we, our scripts, Redisson and the
 * tests use. Bytes in, bytes out; time comes in. It runs our scripts as they are, with Lua 5.1.
 *
 *   redis_data.c      keys, expiry, what can be undone     redis_conn.c   connections: parsing, replying
 *   redis_command.c   the table, and who may run what      redis_keys.c   strings, hashes, keys
 *   redis_list.c      lists                                redis_zset.c   sorted sets
 *   redis_admin.c     connections, channels, the server    redis_lua.c    EVAL and what scripts call
 *
 * It is compared with a real server, reply by reply (tests/sim/test_redis.c); it is Redis 7.0 where versions
 * differ. What it does not model: eviction by size, active expiry (a key that is over is gone when it is
 * looked at, which nobody can tell apart), more than one page of SCAN, RESP3.
 */
#ifndef SIM_REDIS_H
#define SIM_REDIS_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "text.h"

#undef uthash_malloc
#define uthash_malloc(size) sim_alloc(size)

#define SIM_REDIS_DBS       16
#define SIM_REDIS_UNDO      512 /* commands that can be undone */
#define SIM_REDIS_TOUCH_MAX 512 /* keys that one command changes */

struct sim_redis;

struct sim_arg {
    const char *at;
    size_t len;
};

/* ------------------------------------------------------------------------------------------------
 * Data
 */

enum sim_redis_type {
    SIM_REDIS_STRING,
    SIM_REDIS_HASH,
    SIM_REDIS_LIST, /* fields without values, in order; the same name may be there more than once */
    SIM_REDIS_ZSET, /* fields whose values are scores in text, in the order of scores and names */
    SIM_REDIS_TYPES
};

struct sim_field {
    char *name, *value;
    size_t name_len, value_len;
};

struct sim_key {
    UT_hash_handle hh;
    enum sim_redis_type type;
    int64_t expires_ms; /* by the server's wall clock; -1: never */
    char *value;
    size_t value_len;
    struct sim_field *field; /* hash: in the order in which they came */
    size_t fields, room;
    size_t len;
    char name[];
};

/* A key as it was before a command changed it. */
struct sim_touch {
    uint64_t command;
    unsigned db;
    char *name;
    size_t len;
    struct sim_key *before; /* NULL: it was not there */
};

/* ------------------------------------------------------------------------------------------------
 * Connections
 */

struct sim_conn {
    struct sim_conn *prev, *next;
    struct sim_redis *redis;
    uint64_t id;
    unsigned db;
    bool authenticated;
    bool killed; /* nothing is read or written any more */
    bool dirty;  /* has something to send */
    unsigned subscriptions;
    struct sim_text in, out;
    struct sim_arg *argv; /* the command that is being read */
    size_t argc, arg_room;
    char name[128];
    void *peer; /* the host's own */
};

struct sim_channel {
    UT_hash_handle hh;
    struct sim_conn **conn; /* in the order in which they subscribed */
    size_t count, room;
    size_t len;
    char name[];
};

struct sim_script {
    UT_hash_handle hh;
    char sha[41];
};

/* One command being run. */
struct sim_call {
    struct sim_redis *redis;
    struct sim_conn *conn;
    const struct sim_arg *argv;
    size_t argc;
    struct sim_text *reply;
    bool in_script;
};

/* ------------------------------------------------------------------------------------------------
 * The server
 */

struct sim_redis_hooks {
    void *arg;
    /* A command has changed a key. `conn` NULL: not a client's command. */
    void (*changed)(void *arg, struct sim_conn *conn, unsigned db, const struct sim_key *before,
                    const struct sim_key *after);
    /* A script has run; its reply is what call->reply has from `reply_at` on. */
    void (*ran)(void *arg, const struct sim_call *call, const char *sha, size_t reply_at);
    /* Before a command runs: its reply will make no sense. *ret_run: it is run all the same. */
    bool (*garbles)(void *arg, const struct sim_call *call, bool *ret_run);
    /* CLIENT KILL. */
    void (*killed)(void *arg, struct sim_conn *by, struct sim_conn *conn);
    /* SUBSCRIBE: from here on it hears of this channel. */
    void (*subscribed)(void *arg, struct sim_conn *conn, const struct sim_arg *channel);
};

struct sim_redis {
    const char *version, *password, *policy;
    char run_id[41];    /* each start has another one */
    bool deny_kill;     /* CLIENT KILL is not permitted */
    bool out_of_memory; /* and nothing can be evicted */
    bool is_replica;
    const char *failing; /* every command but those of the connection fails with this error */
    int64_t wall_us;     /* the wall clock now; the host sets it before it calls */
    unsigned hand_db;    /* where commands by hand go */
    struct sim_redis_hooks hooks;

    struct sim_key *keys[SIM_REDIS_DBS];
    struct sim_conn *conns;
    uint64_t next_id;
    struct sim_channel *channels;
    struct sim_script *scripts;
    uint64_t command; /* their number */
    bool wrote;       /* the script that runs has changed something */
    bool writes;      /* it has begun to: it has run a command that could */
    struct sim_touch undo[SIM_REDIS_UNDO * 2];
    size_t undo_first, undo_count;
    size_t touched; /* of these: by the command that runs */
};

void sim_redis_init(struct sim_redis *redis);
void sim_redis_free(struct sim_redis *redis);

/* redis_data.c */

/* The key, if it is there now. */
struct sim_key *sim_redis_find(struct sim_redis *redis, unsigned db, const char *name, size_t len);
/* Must be called before a key is changed, made or removed. */
void sim_redis_touch(struct sim_redis *redis, unsigned db, const char *name, size_t len);
struct sim_key *sim_redis_make(struct sim_redis *redis, unsigned db, const char *name, size_t len,
                               enum sim_redis_type type);
void sim_redis_remove(struct sim_redis *redis, unsigned db, struct sim_key *key);
struct sim_key *sim_key_copy(const struct sim_key *key);
void sim_key_free(struct sim_key *key);
void sim_key_set(struct sim_key *key, const char *bytes, size_t len);
struct sim_field *sim_key_field(const struct sim_key *key, const char *name, size_t len);
/* True: it is new. */
bool sim_key_put(struct sim_key *key, const char *name, size_t name_len, const char *value,
                 size_t value_len);
/* One more field before the one at `at`, whatever there is. */
void sim_key_insert(struct sim_key *key, size_t at, const char *name, size_t name_len,
                    const char *value, size_t value_len);
void sim_key_drop(struct sim_key *key, struct sim_field *field);
/* Tells the hooks what the command has changed. */
void sim_redis_commit(struct sim_redis *redis, struct sim_conn *conn);
/* As if so many of the last commands that changed something had never been. */
void sim_redis_undo(struct sim_redis *redis, size_t commands);
void sim_redis_clear(struct sim_redis *redis);
/* Another server's data becomes a copy of a key's. */
void sim_redis_replace(struct sim_redis *redis, unsigned db, const char *name, size_t len,
                       const struct sim_key *key);

/* redis_conn.c */

struct sim_conn *sim_conn_new(struct sim_redis *redis, void *peer);
void sim_conn_free(struct sim_conn *conn);
/* Takes bytes, and runs the commands that are complete. */
void sim_conn_feed(struct sim_conn *conn, const char *bytes, size_t count);
/* Something was appended to conn->out by somebody else's command. */
void sim_conn_mark(struct sim_conn *conn);

void sim_reply_status(struct sim_text *reply, const char *text);
void sim_reply_error(struct sim_text *reply, const char *text);
void sim_reply_integer(struct sim_text *reply, long long number);
void sim_reply_bulk(struct sim_text *reply, const char *bytes, size_t len);
void sim_reply_nil(struct sim_text *reply);
void sim_reply_array(struct sim_text *reply, size_t count);

/* redis_command.c */

/* Runs a command and appends its reply. */
void sim_redis_run(struct sim_call *call);
/* By hand, as with redis-cli: "DEL key". Words are separated by single spaces. */
void sim_redis_do(struct sim_redis *redis, struct sim_text *reply, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool sim_arg_is(const struct sim_arg *arg, const char *word);
bool sim_arg_number(const struct sim_arg *arg, long long *ret_number);

enum {
    SIM_COMMAND_WRITE = 1, /* not on a replica */
    SIM_COMMAND_GROW = 2,  /* not when out of memory */
    SIM_COMMAND_NOSCRIPT = 4,
    SIM_COMMAND_LISTEN = 8, /* also on a connection that is subscribed */
    SIM_COMMAND_HELLO = 16  /* also before AUTH, and while loading */
};

struct sim_command {
    const char *name;
    int arity; /* the name included; negative: at least */
    unsigned flags;
    void (*run)(struct sim_call *call);
};

extern const struct sim_command sim_redis_keys[], sim_redis_lists[], sim_redis_zsets[],
    sim_redis_admin[], sim_redis_eval[];

const struct sim_command *sim_command_find(const struct sim_arg *name);
bool sim_command_arity_ok(const struct sim_command *command, size_t argc);

/* redis_keys.c: of the command that runs: the key in an argument, and what may be done with it. */
unsigned sim_call_db(const struct sim_call *call);
struct sim_key *sim_call_find(const struct sim_call *call, size_t i);
/* The key in argument 1 of that type, or NULL when there is none; false: it is of another type, and that was
 * said. */
bool sim_call_typed(const struct sim_call *call, enum sim_redis_type type,
                    struct sim_key **ret_key);
void sim_call_touch(const struct sim_call *call, size_t i);
struct sim_key *sim_call_make(const struct sim_call *call, enum sim_redis_type type);
void sim_call_drop_empty(const struct sim_call *call, struct sim_key *key);

#define SIM_NOT_INTEGER "ERR value is not an integer or out of range"

/* redis_list.c: two indices, from the end where they are negative. */
struct sim_slice {
    long long first, last;
};

/* From arguments 2 and 3; false: they are none, and that was said. */
bool sim_call_slice(const struct sim_call *call, struct sim_slice *slice);
/* Cuts it to what there is; how many that are. */
size_t sim_slice_fit(struct sim_slice *slice, size_t count);

/* redis_admin.c */
long long sim_redis_publish(struct sim_redis *redis, const struct sim_arg *channel,
                            const struct sim_arg *message);
void sim_redis_unsubscribe_all(struct sim_conn *conn);
bool sim_glob(const char *pattern, size_t pattern_len, const char *text, size_t len);

/* redis_lua.c */
void sim_lua_close(void);
/* What a server makes of a script: itself, unless it is to have a bug (mutants.h). */
extern const char *(*sim_lua_rewrite)(const char *sha, const char *text, size_t *len);

/* sha1.c */
void sim_sha1(const char *bytes, size_t count, char hex[41]);

#endif
