/* SPDX-License-Identifier: Apache-2.0 */
/* Commands on keys: strings, hashes, their time to live. */
#include "redis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRONG_TYPE "WRONGTYPE Operation against a key holding the wrong kind of value"

unsigned sim_call_db(const struct sim_call *call)
{
    return call->conn ? call->conn->db : call->redis->hand_db;
}

struct sim_key *sim_call_find(const struct sim_call *call, size_t i)
{
    return sim_redis_find(call->redis, sim_call_db(call), call->argv[i].at, call->argv[i].len);
}

bool sim_call_typed(const struct sim_call *call, enum sim_redis_type type, struct sim_key **ret_key)
{
    *ret_key = sim_call_find(call, 1);
    if (!*ret_key || (*ret_key)->type == type)
        return true;
    sim_reply_error(call->reply, WRONG_TYPE);
    return false;
}

void sim_call_touch(const struct sim_call *call, size_t i)
{
    sim_redis_touch(call->redis, sim_call_db(call), call->argv[i].at, call->argv[i].len);
}

struct sim_key *sim_call_make(const struct sim_call *call, enum sim_redis_type type)
{
    return sim_redis_make(call->redis, sim_call_db(call), call->argv[1].at, call->argv[1].len,
                          type);
}

void sim_call_drop_empty(const struct sim_call *call, struct sim_key *key)
{
    if (key && key->fields == 0)
        sim_redis_remove(call->redis, sim_call_db(call), key);
}

static long long now_ms(const struct sim_call *call)
{
    return call->redis->wall_us / 1000;
}

/* ------------------------------------------------------------------------------------------------
 * Any key
 */

static void run_exists(struct sim_call *call)
{
    long long found = 0;

    for (size_t i = 1; i < call->argc; i++)
        found += sim_call_find(call, i) != NULL;
    sim_reply_integer(call->reply, found);
}

static void run_del(struct sim_call *call)
{
    long long removed = 0;

    for (size_t i = 1; i < call->argc; i++) {
        struct sim_key *key = sim_call_find(call, i);

        if (!key)
            continue;
        sim_call_touch(call, i);
        sim_redis_remove(call->redis, sim_call_db(call), key);
        removed++;
    }
    sim_reply_integer(call->reply, removed);
}

static const char *const TYPE[SIM_REDIS_TYPES] = { "string", "hash", "list", "zset" };

static void run_type(struct sim_call *call)
{
    const struct sim_key *key = sim_call_find(call, 1);

    sim_reply_status(call->reply, key ? TYPE[key->type] : "none");
}

static void run_pttl(struct sim_call *call)
{
    const struct sim_key *key = sim_call_find(call, 1);
    long long left = key ? key->expires_ms - now_ms(call) : -2;

    if (key && key->expires_ms < 0)
        left = -1;
    else if (key && left < 0)
        left = 0;
    sim_reply_integer(call->reply, left);
}

static void expire(struct sim_call *call, long long unit)
{
    struct sim_key *key;
    long long ttl;
    char text[64];

    if (!sim_arg_number(&call->argv[2], &ttl)) {
        sim_reply_error(call->reply, SIM_NOT_INTEGER);
        return;
    }
    if (ttl > (INT64_MAX - now_ms(call)) / unit || ttl < INT64_MIN / unit) {
        snprintf(text, sizeof text, "ERR invalid expire time in '%s' command",
                 unit == 1 ? "pexpire" : "expire");
        sim_reply_error(call->reply, text);
        return;
    }
    key = sim_call_find(call, 1);
    sim_reply_integer(call->reply, key != NULL);
    if (!key)
        return;
    sim_call_touch(call, 1);
    if (ttl <= 0)
        sim_redis_remove(call->redis, sim_call_db(call), key);
    else
        key->expires_ms = now_ms(call) + ttl * unit;
}

static void run_pexpire(struct sim_call *call)
{
    expire(call, 1);
}

static void run_expire(struct sim_call *call)
{
    expire(call, 1000);
}

static void run_persist(struct sim_call *call)
{
    struct sim_key *key = sim_call_find(call, 1);
    bool had = key && key->expires_ms >= 0;

    if (had) {
        sim_call_touch(call, 1);
        key->expires_ms = -1;
    }
    sim_reply_integer(call->reply, had);
}

/* ------------------------------------------------------------------------------------------------
 * Strings
 */

static void run_get(struct sim_call *call)
{
    struct sim_key *key;

    if (!sim_call_typed(call, SIM_REDIS_STRING, &key))
        return;
    if (key)
        sim_reply_bulk(call->reply, key->value, key->value_len);
    else
        sim_reply_nil(call->reply);
}

/* SET's options; false: not understood, and that was said. */
static bool set_options(struct sim_call *call, bool *if_new, bool *if_there, long long *px)
{
    for (size_t i = 3; i < call->argc; i++) {
        bool seconds = sim_arg_is(&call->argv[i], "ex");

        if (sim_arg_is(&call->argv[i], "nx")) {
            *if_new = true;
        } else if (sim_arg_is(&call->argv[i], "xx")) {
            *if_there = true;
        } else if ((seconds || sim_arg_is(&call->argv[i], "px")) && i + 1 < call->argc) {
            if (!sim_arg_number(&call->argv[++i], px)) {
                sim_reply_error(call->reply, SIM_NOT_INTEGER);
                return false;
            }
            if (*px <= 0 || *px > (INT64_MAX - now_ms(call)) / (seconds ? 1000 : 1)) {
                sim_reply_error(call->reply, "ERR invalid expire time in 'set' command");
                return false;
            }
            *px *= seconds ? 1000 : 1;
        } else {
            sim_reply_error(call->reply, "ERR syntax error");
            return false;
        }
    }
    return true;
}

static void run_set(struct sim_call *call)
{
    bool if_new = false, if_there = false;
    long long px = -1;
    struct sim_key *key;

    if (!set_options(call, &if_new, &if_there, &px))
        return;
    key = sim_call_find(call, 1);
    if ((if_new && key) || (if_there && !key)) {
        sim_reply_nil(call->reply);
        return;
    }
    sim_call_touch(call, 1);
    if (key)
        sim_redis_remove(call->redis, sim_call_db(call), key);
    key = sim_call_make(call, SIM_REDIS_STRING);
    sim_key_set(key, call->argv[2].at, call->argv[2].len);
    if (px > 0)
        key->expires_ms = now_ms(call) + px;
    sim_reply_status(call->reply, "OK");
}

/* Adds to a number in text; false: it cannot be, and that was said. */
static bool add(struct sim_call *call, const char *text, size_t len, long long by,
                const char *not_integer, long long *ret_sum)
{
    struct sim_arg arg = { text, len };

    if (!sim_arg_number(&arg, ret_sum))
        sim_reply_error(call->reply, not_integer);
    else if (__builtin_add_overflow(*ret_sum, by, ret_sum))
        sim_reply_error(call->reply, "ERR increment or decrement would overflow");
    else
        return true;
    return false;
}

static void change(struct sim_call *call, long long by)
{
    long long sum = by;
    struct sim_key *key;
    char text[24];
    int n;

    if (!sim_call_typed(call, SIM_REDIS_STRING, &key))
        return;
    if (key && !add(call, key->value, key->value_len, by, SIM_NOT_INTEGER, &sum))
        return;
    sim_call_touch(call, 1);
    if (!key)
        key = sim_call_make(call, SIM_REDIS_STRING);
    n = snprintf(text, sizeof text, "%lld", sum);
    sim_key_set(key, text, (size_t)n);
    sim_reply_integer(call->reply, sum);
}

static void run_incr(struct sim_call *call)
{
    change(call, 1);
}

static void run_decr(struct sim_call *call)
{
    change(call, -1);
}

static void run_incrby(struct sim_call *call)
{
    long long by;

    if (sim_arg_number(&call->argv[2], &by))
        change(call, by);
    else
        sim_reply_error(call->reply, SIM_NOT_INTEGER);
}

static void run_decrby(struct sim_call *call)
{
    long long by;

    if (!sim_arg_number(&call->argv[2], &by))
        sim_reply_error(call->reply, SIM_NOT_INTEGER);
    else if (by == INT64_MIN)
        sim_reply_error(call->reply, "ERR decrement would overflow");
    else
        change(call, -by);
}

static void run_strlen(struct sim_call *call)
{
    struct sim_key *key;

    if (sim_call_typed(call, SIM_REDIS_STRING, &key))
        sim_reply_integer(call->reply, key ? (long long)key->value_len : 0);
}

/* ------------------------------------------------------------------------------------------------
 * Hashes
 */

static void run_hset(struct sim_call *call)
{
    long long added = 0;
    struct sim_key *key;

    if (call->argc % 2 == 1) {
        sim_reply_error(call->reply, "ERR wrong number of arguments for 'hset' command");
        return;
    }
    if (!sim_call_typed(call, SIM_REDIS_HASH, &key))
        return;
    sim_call_touch(call, 1);
    if (!key)
        key = sim_call_make(call, SIM_REDIS_HASH);
    for (size_t i = 2; i + 1 < call->argc; i += 2)
        added += sim_key_put(key, call->argv[i].at, call->argv[i].len, call->argv[i + 1].at,
                             call->argv[i + 1].len);
    sim_reply_integer(call->reply, added);
}

static void run_hget(struct sim_call *call)
{
    const struct sim_field *field;
    struct sim_key *key;

    if (!sim_call_typed(call, SIM_REDIS_HASH, &key))
        return;
    field = key ? sim_key_field(key, call->argv[2].at, call->argv[2].len) : NULL;
    if (field)
        sim_reply_bulk(call->reply, field->value, field->value_len);
    else
        sim_reply_nil(call->reply);
}

static void run_hstrlen(struct sim_call *call)
{
    const struct sim_field *field;
    struct sim_key *key;

    if (!sim_call_typed(call, SIM_REDIS_HASH, &key))
        return;
    field = key ? sim_key_field(key, call->argv[2].at, call->argv[2].len) : NULL;
    sim_reply_integer(call->reply, field ? (long long)field->value_len : 0);
}

static void run_hexists(struct sim_call *call)
{
    struct sim_key *key;

    if (!sim_call_typed(call, SIM_REDIS_HASH, &key))
        return;
    sim_reply_integer(call->reply, key && sim_key_field(key, call->argv[2].at, call->argv[2].len));
}

static void run_hlen(struct sim_call *call)
{
    struct sim_key *key;

    if (sim_call_typed(call, SIM_REDIS_HASH, &key))
        sim_reply_integer(call->reply, key ? (long long)key->fields : 0);
}

static void run_hgetall(struct sim_call *call)
{
    struct sim_key *key;

    if (!sim_call_typed(call, SIM_REDIS_HASH, &key))
        return;
    sim_reply_array(call->reply, key ? 2 * key->fields : 0);
    for (size_t i = 0; key && i < key->fields; i++) {
        sim_reply_bulk(call->reply, key->field[i].name, key->field[i].name_len);
        sim_reply_bulk(call->reply, key->field[i].value, key->field[i].value_len);
    }
}

static void run_hdel(struct sim_call *call)
{
    long long removed = 0;
    struct sim_key *key;

    if (!sim_call_typed(call, SIM_REDIS_HASH, &key))
        return;
    for (size_t i = 2; key && i < call->argc; i++) {
        struct sim_field *field = sim_key_field(key, call->argv[i].at, call->argv[i].len);

        if (!field)
            continue;
        sim_call_touch(call, 1);
        sim_key_drop(key, field);
        removed++;
        if (key->fields > 0)
            continue;
        sim_redis_remove(call->redis, sim_call_db(call), key);
        key = NULL;
    }
    sim_reply_integer(call->reply, removed);
}

static void run_hincrby(struct sim_call *call)
{
    const struct sim_field *field;
    struct sim_key *key;
    long long by, sum;
    char text[24];
    int n;

    if (!sim_arg_number(&call->argv[3], &by)) {
        sim_reply_error(call->reply, SIM_NOT_INTEGER);
        return;
    }
    if (!sim_call_typed(call, SIM_REDIS_HASH, &key))
        return;
    field = key ? sim_key_field(key, call->argv[2].at, call->argv[2].len) : NULL;
    sum = by;
    if (field &&
        !add(call, field->value, field->value_len, by, "ERR hash value is not an integer", &sum))
        return;
    sim_call_touch(call, 1);
    if (!key)
        key = sim_call_make(call, SIM_REDIS_HASH);
    n = snprintf(text, sizeof text, "%lld", sum);
    sim_key_put(key, call->argv[2].at, call->argv[2].len, text, (size_t)n);
    sim_reply_integer(call->reply, sum);
}

/* ------------------------------------------------------------------------------------------------
 * All keys
 */

struct scan {
    const struct sim_arg *match;
    int type; /* -1: any */
};

/* False: not understood, and that was said. */
static bool scan_options(struct sim_call *call, struct scan *scan)
{
    long long number;

    for (size_t i = 2; i < call->argc; i += 2) {
        const struct sim_arg *value = &call->argv[i + 1];

        if (i + 1 == call->argc) {
            sim_reply_error(call->reply, "ERR syntax error");
            return false;
        }
        if (sim_arg_is(&call->argv[i], "match")) {
            scan->match = value;
        } else if (sim_arg_is(&call->argv[i], "type")) {
            scan->type = SIM_REDIS_TYPES - 1;
            while (scan->type >= 0 && !sim_arg_is(value, TYPE[scan->type]))
                scan->type--;
            scan->type = scan->type < 0 ? -2 : scan->type;
        } else if (!sim_arg_is(&call->argv[i], "count") || !sim_arg_number(value, &number)) {
            sim_reply_error(call->reply, "ERR syntax error");
            return false;
        }
    }
    return true;
}

static bool is_scanned(const struct scan *scan, const struct sim_key *key)
{
    return (scan->type == -1 || scan->type == (int)key->type) &&
           (!scan->match || sim_glob(scan->match->at, scan->match->len, key->name, key->len));
}

/* All of them in one page. */
static void run_scan(struct sim_call *call)
{
    struct scan scan = { .type = -1 };
    struct sim_text found = { 0 };
    struct sim_key *key, *next;
    size_t count = 0;

    if (!scan_options(call, &scan))
        return;
    HASH_ITER (hh, call->redis->keys[sim_call_db(call)], key, next) {
        if (!sim_redis_find(call->redis, sim_call_db(call), key->name, key->len) ||
            !is_scanned(&scan, key))
            continue;
        sim_reply_bulk(&found, key->name, key->len);
        count++;
    }
    sim_reply_array(call->reply, 2);
    sim_reply_bulk(call->reply, "0", 1);
    sim_reply_array(call->reply, count);
    sim_text_add(call->reply, found.at, found.len);
    sim_text_free(&found);
}

static void run_flushall(struct sim_call *call)
{
    for (unsigned db = 0; db < SIM_REDIS_DBS; db++) {
        struct sim_key *key, *next;

        HASH_ITER (hh, call->redis->keys[db], key, next) {
            if (!sim_redis_find(call->redis, db, key->name, key->len))
                continue; /* it was over, and is gone now */
            sim_redis_touch(call->redis, db, key->name, key->len);
            sim_redis_remove(call->redis, db, key);
        }
    }
    sim_reply_status(call->reply, "OK");
}

const struct sim_command sim_redis_keys[] = {
    { "exists", -2, 0, run_exists },
    { "hexists", 3, 0, run_hexists },
    { "pttl", 2, 0, run_pttl },
    { "get", 2, 0, run_get },
    { "hset", -4, SIM_COMMAND_WRITE | SIM_COMMAND_GROW, run_hset },
    { "pexpire", 3, SIM_COMMAND_WRITE, run_pexpire },
    { "set", -3, SIM_COMMAND_WRITE | SIM_COMMAND_GROW, run_set },
    { "hdel", -3, SIM_COMMAND_WRITE, run_hdel },
    { "del", -2, SIM_COMMAND_WRITE, run_del },
    { "hget", 3, 0, run_hget },
    { "hlen", 2, 0, run_hlen },
    { "hgetall", 2, 0, run_hgetall },
    { "hincrby", 4, SIM_COMMAND_WRITE | SIM_COMMAND_GROW, run_hincrby },
    { "incr", 2, SIM_COMMAND_WRITE | SIM_COMMAND_GROW, run_incr },
    { "incrby", 3, SIM_COMMAND_WRITE | SIM_COMMAND_GROW, run_incrby },
    { "decr", 2, SIM_COMMAND_WRITE | SIM_COMMAND_GROW, run_decr },
    { "decrby", 3, SIM_COMMAND_WRITE | SIM_COMMAND_GROW, run_decrby },
    { "strlen", 2, 0, run_strlen },
    { "hstrlen", 3, 0, run_hstrlen },
    { "expire", 3, SIM_COMMAND_WRITE, run_expire },
    { "persist", 2, SIM_COMMAND_WRITE, run_persist },
    { "type", 2, 0, run_type },
    { "scan", -2, 0, run_scan },
    { "flushall", -1, SIM_COMMAND_WRITE, run_flushall },
    { 0 },
};
