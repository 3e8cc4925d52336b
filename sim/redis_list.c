/* SPDX-License-Identifier: Apache-2.0 */
/* Commands on lists. */
#include "redis.h"

#include <string.h>

static void push(struct sim_call *call, bool front)
{
    struct sim_key *key;

    if (!sim_call_typed(call, SIM_REDIS_LIST, &key))
        return;
    sim_call_touch(call, 1);
    if (!key)
        key = sim_call_make(call, SIM_REDIS_LIST);
    for (size_t i = 2; i < call->argc; i++)
        sim_key_insert(key, front ? 0 : key->fields, call->argv[i].at, call->argv[i].len, "", 0);
    sim_reply_integer(call->reply, (long long)key->fields);
}

static void run_rpush(struct sim_call *call)
{
    push(call, false);
}

static void run_lpush(struct sim_call *call)
{
    push(call, true);
}

/* Without a count. */
static void run_lpop(struct sim_call *call)
{
    struct sim_key *key;

    if (!sim_call_typed(call, SIM_REDIS_LIST, &key))
        return;
    if (!key) {
        sim_reply_nil(call->reply);
        return;
    }
    sim_call_touch(call, 1);
    sim_reply_bulk(call->reply, key->field[0].name, key->field[0].name_len);
    sim_key_drop(key, &key->field[0]);
    sim_call_drop_empty(call, key);
}

static void run_llen(struct sim_call *call)
{
    struct sim_key *key;

    if (sim_call_typed(call, SIM_REDIS_LIST, &key))
        sim_reply_integer(call->reply, key ? (long long)key->fields : 0);
}

static void run_lindex(struct sim_call *call)
{
    struct sim_key *key;
    long long at;

    if (!sim_call_typed(call, SIM_REDIS_LIST, &key))
        return;
    if (!key) {
        sim_reply_nil(call->reply);
        return;
    }
    if (!sim_arg_number(&call->argv[2], &at)) {
        sim_reply_error(call->reply, SIM_NOT_INTEGER);
        return;
    }
    if (at < 0)
        at += (long long)key->fields;
    if (at < 0 || at >= (long long)key->fields)
        sim_reply_nil(call->reply);
    else
        sim_reply_bulk(call->reply, key->field[at].name, key->field[at].name_len);
}

bool sim_call_slice(const struct sim_call *call, struct sim_slice *slice)
{
    if (sim_arg_number(&call->argv[2], &slice->first) &&
        sim_arg_number(&call->argv[3], &slice->last))
        return true;
    sim_reply_error(call->reply, SIM_NOT_INTEGER);
    return false;
}

size_t sim_slice_fit(struct sim_slice *slice, size_t count)
{
    long long n = (long long)count;

    if (slice->first < 0)
        slice->first += n;
    if (slice->last < 0)
        slice->last += n;
    if (slice->first < 0)
        slice->first = 0;
    if (slice->last >= n)
        slice->last = n - 1;
    return slice->first <= slice->last ? (size_t)(slice->last - slice->first + 1) : 0;
}

static void run_lrange(struct sim_call *call)
{
    struct sim_slice slice;
    struct sim_key *key;
    size_t count;

    if (!sim_call_slice(call, &slice) || !sim_call_typed(call, SIM_REDIS_LIST, &key))
        return;
    count = sim_slice_fit(&slice, key ? key->fields : 0);
    sim_reply_array(call->reply, count);
    for (size_t i = (size_t)slice.first; key && count > 0; count--, i++)
        sim_reply_bulk(call->reply, key->field[i].name, key->field[i].name_len);
}

static bool is_element(const struct sim_field *field, const struct sim_arg *arg)
{
    return field->name_len == arg->len && memcmp(field->name, arg->at, arg->len) == 0;
}

/* Count 0: all; negative: from the end. */
static void run_lrem(struct sim_call *call)
{
    long long count, removed = 0;
    struct sim_key *key;

    if (!sim_arg_number(&call->argv[2], &count)) {
        sim_reply_error(call->reply, SIM_NOT_INTEGER);
        return;
    }
    if (!sim_call_typed(call, SIM_REDIS_LIST, &key))
        return;
    for (size_t n = key ? key->fields : 0, i = 0; i < n; i++) {
        size_t at = count < 0 ? n - 1 - i : i - (size_t)removed;

        if (!is_element(&key->field[at], &call->argv[3]))
            continue;
        if (removed++ == 0)
            sim_call_touch(call, 1);
        sim_key_drop(key, &key->field[at]);
        if (removed == (count < 0 ? -count : count))
            break;
    }
    sim_call_drop_empty(call, key);
    sim_reply_integer(call->reply, removed);
}

/* Without options: the first one. */
static void run_lpos(struct sim_call *call)
{
    struct sim_key *key;

    if (!sim_call_typed(call, SIM_REDIS_LIST, &key))
        return;
    for (size_t i = 0; key && i < key->fields; i++) {
        if (is_element(&key->field[i], &call->argv[2])) {
            sim_reply_integer(call->reply, (long long)i);
            return;
        }
    }
    sim_reply_nil(call->reply);
}

const struct sim_command sim_redis_lists[] = {
    { "rpush", -3, SIM_COMMAND_WRITE | SIM_COMMAND_GROW, run_rpush },
    { "lpush", -3, SIM_COMMAND_WRITE | SIM_COMMAND_GROW, run_lpush },
    { "lpop", 2, SIM_COMMAND_WRITE, run_lpop },
    { "llen", 2, 0, run_llen },
    { "lindex", 3, 0, run_lindex },
    { "lrange", 4, 0, run_lrange },
    { "lpos", 3, 0, run_lpos },
    { "lrem", 4, SIM_COMMAND_WRITE, run_lrem },
    { 0 },
};
