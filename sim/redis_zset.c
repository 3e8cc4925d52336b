/* SPDX-License-Identifier: Apache-2.0 */
/* Commands on sorted sets. */
#include "redis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static double score_at(const struct sim_key *key, size_t i)
{
    return strtod(key->field[i].value, NULL);
}

/* As the server's own: all of it, and not "nan". */
static bool read_double(const char *at, size_t len, double *ret_number)
{
    char text[64], *end;

    if (len == 0 || len >= sizeof text || strchr(" \t\n\v\f\r", at[0]))
        return false;
    memcpy(text, at, len);
    text[len] = '\0';
    *ret_number = strtod(text, &end);
    return *end == '\0' && !isnan(*ret_number);
}

static bool score_arg(const struct sim_call *call, size_t i, double *ret_score)
{
    if (read_double(call->argv[i].at, call->argv[i].len, ret_score))
        return true;
    sim_reply_error(call->reply, "ERR value is not a valid float");
    return false;
}

static size_t print_score(char *to, size_t room, double score)
{
    if (isinf(score))
        return (size_t)snprintf(to, room, score > 0 ? "inf" : "-inf");
    return (size_t)snprintf(to, room, "%.17g", score);
}

static void reply_score(struct sim_text *reply, double score)
{
    char text[40];

    sim_reply_bulk(reply, text, print_score(text, sizeof text, score));
}

/* ------------------------------------------------------------------------------------------------
 * One member
 */

/* Where a member of this score belongs. */
static size_t place(const struct sim_key *key, double score, const struct sim_arg *member)
{
    size_t at = 0;

    for (; at < key->fields; at++) {
        const struct sim_field *field = &key->field[at];
        double there = score_at(key, at);
        size_t len = field->name_len < member->len ? field->name_len : member->len;
        int order = memcmp(field->name, member->at, len);

        if (there > score)
            break;
        if (there == score && (order > 0 || (order == 0 && field->name_len > member->len)))
            break;
    }
    return at;
}

/* True: it is new. */
static bool put_member(struct sim_key *key, double score, const struct sim_arg *member)
{
    struct sim_field *field = sim_key_field(key, member->at, member->len);
    bool is_new = field == NULL;
    char text[40];
    size_t len = print_score(text, sizeof text, score);

    if (field)
        sim_key_drop(key, field);
    sim_key_insert(key, place(key, score, member), member->at, member->len, text, len);
    return is_new;
}

/* Pairs of score and member; no options. */
static void run_zadd(struct sim_call *call)
{
    long long added = 0;
    struct sim_key *key;
    double score;

    if (call->argc % 2 == 1) {
        sim_reply_error(call->reply, "ERR syntax error");
        return;
    }
    for (size_t i = 2; i < call->argc; i += 2)
        if (!score_arg(call, i, &score))
            return;
    if (!sim_call_typed(call, SIM_REDIS_ZSET, &key))
        return;
    sim_call_touch(call, 1);
    if (!key)
        key = sim_call_make(call, SIM_REDIS_ZSET);
    for (size_t i = 2; i < call->argc; i += 2) {
        read_double(call->argv[i].at, call->argv[i].len, &score);
        added += put_member(key, score, &call->argv[i + 1]);
    }
    sim_reply_integer(call->reply, added);
}

static void run_zincrby(struct sim_call *call)
{
    const struct sim_field *field;
    struct sim_key *key;
    double by;

    if (!score_arg(call, 2, &by) || !sim_call_typed(call, SIM_REDIS_ZSET, &key))
        return;
    field = key ? sim_key_field(key, call->argv[3].at, call->argv[3].len) : NULL;
    if (field)
        by += strtod(field->value, NULL);
    if (isnan(by)) {
        sim_reply_error(call->reply, "ERR resulting score is not a number (NaN)");
        return;
    }
    sim_call_touch(call, 1);
    if (!key)
        key = sim_call_make(call, SIM_REDIS_ZSET);
    put_member(key, by, &call->argv[3]);
    reply_score(call->reply, by);
}

static void run_zscore(struct sim_call *call)
{
    const struct sim_field *field;
    struct sim_key *key;

    if (!sim_call_typed(call, SIM_REDIS_ZSET, &key))
        return;
    field = key ? sim_key_field(key, call->argv[2].at, call->argv[2].len) : NULL;
    if (field)
        reply_score(call->reply, strtod(field->value, NULL));
    else
        sim_reply_nil(call->reply);
}

static void run_zrem(struct sim_call *call)
{
    long long removed = 0;
    struct sim_key *key;

    if (!sim_call_typed(call, SIM_REDIS_ZSET, &key))
        return;
    for (size_t i = 2; key && i < call->argc; i++) {
        struct sim_field *field = sim_key_field(key, call->argv[i].at, call->argv[i].len);

        if (!field)
            continue;
        if (removed++ == 0)
            sim_call_touch(call, 1);
        sim_key_drop(key, field);
    }
    sim_call_drop_empty(call, key);
    sim_reply_integer(call->reply, removed);
}

static void run_zcard(struct sim_call *call)
{
    struct sim_key *key;

    if (sim_call_typed(call, SIM_REDIS_ZSET, &key))
        sim_reply_integer(call->reply, key ? (long long)key->fields : 0);
}

/* ------------------------------------------------------------------------------------------------
 * Many
 */

struct range {
    double least, most;
    bool above, below; /* the end itself is not meant */
};

static bool read_end(const struct sim_arg *arg, double *ret_end, bool *ret_without)
{
    *ret_without = arg->len > 0 && arg->at[0] == '(';
    return read_double(arg->at + *ret_without, arg->len - *ret_without, ret_end);
}

static bool read_range(const struct sim_call *call, struct range *range)
{
    if (read_end(&call->argv[2], &range->least, &range->above) &&
        read_end(&call->argv[3], &range->most, &range->below))
        return true;
    sim_reply_error(call->reply, "ERR min or max is not a float");
    return false;
}

/* The members in a range: from *ret_first on, so many. */
static size_t in_range(const struct sim_key *key, const struct range *range, size_t *ret_first)
{
    size_t count = 0;

    *ret_first = 0;
    for (size_t i = 0; key && i < key->fields; i++) {
        double score = score_at(key, i);

        if (score < range->least || (range->above && score == range->least))
            *ret_first = i + 1;
        else if (score < range->most || (!range->below && score == range->most))
            count++;
    }
    return count;
}

static void reply_members(struct sim_call *call, const struct sim_key *key, size_t first,
                          size_t count, bool scores)
{
    sim_reply_array(call->reply, scores ? 2 * count : count);
    for (size_t i = first; key && i < first + count; i++) {
        sim_reply_bulk(call->reply, key->field[i].name, key->field[i].name_len);
        if (scores)
            reply_score(call->reply, score_at(key, i));
    }
}

static void run_zcount(struct sim_call *call)
{
    struct range range;
    struct sim_key *key;
    size_t first;

    if (read_range(call, &range) && sim_call_typed(call, SIM_REDIS_ZSET, &key))
        sim_reply_integer(call->reply, (long long)in_range(key, &range, &first));
}

/* WITHSCORES, and LIMIT where there may be one. */
static bool range_options(struct sim_call *call, bool *scores, long long *skip, long long *limit)
{
    for (size_t i = 4; i < call->argc; i++) {
        if (sim_arg_is(&call->argv[i], "withscores")) {
            *scores = true;
        } else if (limit && sim_arg_is(&call->argv[i], "limit") && i + 2 < call->argc) {
            if (!sim_arg_number(&call->argv[i + 1], skip) ||
                !sim_arg_number(&call->argv[i + 2], limit)) {
                sim_reply_error(call->reply, SIM_NOT_INTEGER);
                return false;
            }
            i += 2;
        } else {
            sim_reply_error(call->reply, "ERR syntax error");
            return false;
        }
    }
    return true;
}

static void run_zrangebyscore(struct sim_call *call)
{
    long long skip = 0, limit = -1;
    bool scores = false;
    struct range range;
    struct sim_key *key;
    size_t first, count;

    if (!range_options(call, &scores, &skip, &limit) || !read_range(call, &range) ||
        !sim_call_typed(call, SIM_REDIS_ZSET, &key))
        return;
    count = in_range(key, &range, &first);
    if (skip < 0 || skip > (long long)count)
        skip = (long long)count;
    first += (size_t)skip;
    count -= (size_t)skip;
    if (limit >= 0 && limit < (long long)count)
        count = (size_t)limit;
    reply_members(call, key, first, count, scores);
}

static void run_zrange(struct sim_call *call)
{
    struct sim_slice slice;
    bool scores = false;
    struct sim_key *key;
    size_t count;

    if (!range_options(call, &scores, NULL, NULL) || !sim_call_slice(call, &slice) ||
        !sim_call_typed(call, SIM_REDIS_ZSET, &key))
        return;
    count = sim_slice_fit(&slice, key ? key->fields : 0);
    reply_members(call, key, (size_t)slice.first, count, scores);
}

static void run_zremrangebyscore(struct sim_call *call)
{
    struct range range;
    struct sim_key *key;
    size_t first, count;

    if (!read_range(call, &range) || !sim_call_typed(call, SIM_REDIS_ZSET, &key))
        return;
    count = in_range(key, &range, &first);
    if (count > 0)
        sim_call_touch(call, 1);
    for (size_t i = 0; i < count; i++)
        sim_key_drop(key, &key->field[first]);
    sim_call_drop_empty(call, key);
    sim_reply_integer(call->reply, (long long)count);
}

const struct sim_command sim_redis_zsets[] = {
    { "zadd", -4, SIM_COMMAND_WRITE | SIM_COMMAND_GROW, run_zadd },
    { "zincrby", 4, SIM_COMMAND_WRITE | SIM_COMMAND_GROW, run_zincrby },
    { "zscore", 3, 0, run_zscore },
    { "zrem", -3, SIM_COMMAND_WRITE, run_zrem },
    { "zcard", 2, 0, run_zcard },
    { "zcount", 4, 0, run_zcount },
    { "zrange", -4, 0, run_zrange },
    { "zrangebyscore", -4, 0, run_zrangebyscore },
    { "zremrangebyscore", 4, SIM_COMMAND_WRITE, run_zremrangebyscore },
    { 0 },
};
