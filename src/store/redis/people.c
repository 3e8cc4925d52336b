/* SPDX-License-Identifier: Apache-2.0 */
/*
 * List, inspect and break: for people, so they may take several commands, one after the other, and allocate.
 *
 *   LIST, INSPECT   which clients are there (PUBSUB CHANNELS) -> each one's registry key (HGETALL)
 *                   -> the keys (SCAN for hashes; or the one name) -> are they locks (inspect.lua)
 *                   -> how many listen (PUBSUB NUMSUB) -> more keys … -> permits (SCAN for sorted sets)
 *                   -> what is listened for (PUBSUB CHANNELS) -> the list
 *   BREAK           break.lua -> tell the holder's client (PUBLISH)
 *
 * A job owns its request, which goes through the command link like any other; the query that it works for
 * is finished when the job is over.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "store/redis/people.h"

#define KEYS_AT_ONCE 64

static struct hfi_job *job_of(const struct hfi_request *request)
{
    return (struct hfi_job *)request;
}

static void finish(struct hfi_redis *redis, struct hfi_job *job, enum hfi_outcome outcome,
                   int error)
{
    struct hfi_request *request = &job->query->request;

    request->stage = HFI_STAGE_OVER;
    hfi_redis_finish(redis, request, outcome, error);
    hfi_job_free(job);
}

/* A lock that was broken is broken, whether or not its client could be told. */
void hfi_redis_job_failed(struct hfi_redis *redis, struct hfi_request *request,
                          enum hfi_outcome outcome, int error)
{
    struct hfi_job *job = job_of(request);

    if (job->step == HFI_JOB_TELL)
        finish(redis, job, HFI_DONE, HF_OK);
    else
        finish(redis, job, outcome, error);
}

void hfi_redis_ask(struct hfi_redis *redis, struct hfi_query *query)
{
    struct hfi_job *job = calloc(1, sizeof *job);

    if (!job) {
        query->request.stage = HFI_STAGE_OVER;
        hfi_redis_finish(redis, &query->request, HFI_NOT_DONE, HF_ERR_NO_MEMORY);
        return;
    }
    job->redis = redis;
    job->query = query;
    job->request.op = query->request.op;
    job->request.deadline_ns = query->request.deadline_ns;
    job->step = query->request.op == HFI_OP_BREAK ? HFI_JOB_BREAK : HFI_JOB_CHANNELS;
    strcpy(job->cursor, "0");
    hfi_redis_queue(redis, &job->request);
}

/* ------------------------------------------------------------------------------------------------
 * The commands
 */

static void encode_channels(struct hfi_resp *resp, const char *pattern)
{
    hfi_resp_command(resp, 3);
    hfi_resp_text(resp, "PUBSUB");
    hfi_resp_text(resp, "CHANNELS");
    hfi_resp_text(resp, pattern);
}

static void encode_client(struct hfi_resp *resp, const struct hfi_job *job)
{
    const char *id = job->client_at->id;

    hfi_resp_command(resp, 2);
    hfi_resp_text(resp, "HGETALL");
    hfi_resp_joined(resp, HFI_CLIENT_PREFIX, id, strlen(id));
}

/* Our patterns know only * and ?; the server's know more, and a ? of theirs is a byte, ours a character. What
 * the server finds is looked at again, so it may be more; for a pattern of no sane length it is everything. */
static size_t server_pattern(const struct hfi_job *job, char *to, size_t room)
{
    const char *pattern = job->query->text ? job->query->text : "*";
    size_t n = 0, head;

    for (const char *at = job->redis->uri.prefix; *at; at++) {
        if (strchr("*?[]^\\", *at))
            to[n++] = '\\';
        to[n++] = *at;
    }
    head = n;
    for (; *pattern && n + 2 < room; pattern++) {
        if (strchr("[]^\\", *pattern))
            to[n++] = '\\';
        to[n++] = *pattern == '?' ? '*' : *pattern;
    }
    if (!*pattern)
        return n;
    to[head] = '*';
    return head + 1;
}

static void encode_scan(struct hfi_resp *resp, const struct hfi_job *job)
{
    char pattern[2 * HFI_MAPPED_MAX + 1]; /* each byte escaped */

    hfi_resp_command(resp, 8);
    hfi_resp_text(resp, "SCAN");
    hfi_resp_text(resp, job->cursor);
    hfi_resp_text(resp, "MATCH");
    if (job->scan == HFI_SCAN_PERMITS)
        hfi_resp_text(resp, "*:timeout");
    else
        hfi_resp_bytes(resp, pattern, server_pattern(job, pattern, sizeof pattern));
    hfi_resp_text(resp, "COUNT");
    hfi_resp_text(resp, "1000");
    hfi_resp_text(resp, "TYPE");
    hfi_resp_text(resp, job->scan == HFI_SCAN_PERMITS                 ? "zset"
                        : job->redis->uri.layout == HFI_LAYOUT_STRING ? "string"
                                                                      : "hash");
}

/* How many channels are asked for in one go. */
static size_t topics_now(const struct hfi_job *job)
{
    enum hfi_topic topics[2];
    size_t count = 0;

    for (size_t i = job->found_at; i < job->found_count; i++)
        count += hfi_found_topics(&job->found[i], topics);
    return count;
}

static void encode_numsub(struct hfi_resp *resp, const struct hfi_job *job)
{
    char channel[HFI_CHANNEL_MAX];
    enum hfi_topic topics[2];

    hfi_resp_command(resp, 2 + topics_now(job));
    hfi_resp_text(resp, "PUBSUB");
    hfi_resp_text(resp, "NUMSUB");
    for (size_t i = job->found_at; i < job->found_count; i++) {
        const struct hfi_text *name = job->found[i].name;
        size_t count = hfi_found_topics(&job->found[i], topics);

        for (size_t k = 0; k < count; k++)
            hfi_resp_bytes(resp, channel,
                           hfi_channel_name(channel, name->bytes, name->len, topics[k]));
    }
}

static void encode_tell(struct hfi_redis *redis, struct hfi_resp *resp, const struct hfi_job *job)
{
    const char *owner = job->query->owner, *text = job->query->text;
    struct hfi_mapped lock = hfi_redis_map(redis, text, strlen(text));

    hfi_resp_command(resp, 3);
    hfi_resp_text(resp, "PUBLISH");
    hfi_resp_joined(resp, HFI_CLIENT_PREFIX, owner, strcspn(owner, ":"));
    hfi_resp_bytes(resp, lock.name, lock.len);
}

static size_t keys_now(const struct hfi_job *job)
{
    size_t left = job->key_count - job->key_at;

    return left < KEYS_AT_ONCE ? left : KEYS_AT_ONCE;
}

void hfi_redis_encode_job(struct hfi_redis *redis, const struct hfi_request *request,
                          struct hfi_resp *resp)
{
    const struct hfi_job *job = job_of(request);

    switch (job->step) {
    case HFI_JOB_CHANNELS:
        encode_channels(resp, HFI_CLIENT_PREFIX "*");
        break;
    case HFI_JOB_CLIENT:
        encode_client(resp, job);
        break;
    case HFI_JOB_SCAN:
        encode_scan(resp, job);
        break;
    case HFI_JOB_TOPICS:
        encode_channels(resp, "redisson_*");
        break;
    case HFI_JOB_INSPECT:
        hfi_redis_encode_inspect(redis, resp, request, job->key + job->key_at, keys_now(job));
        break;
    case HFI_JOB_NUMSUB:
        encode_numsub(resp, job);
        break;
    case HFI_JOB_BREAK:
        hfi_redis_encode_break(redis, resp, request, job->query);
        break;
    case HFI_JOB_TELL:
        encode_tell(redis, resp, job);
        break;
    }
}

/* ------------------------------------------------------------------------------------------------
 * The answers: each takes what it wants, and names the next step
 */

static bool is_text(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING;
}

static bool take_channels(struct hfi_job *job, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY)
        return true;
    for (size_t i = 0; i < reply->elements; i++) {
        const char *channel = reply->element[i]->str;
        size_t head = sizeof HFI_CLIENT_PREFIX - 1;

        if (is_text(reply->element[i]) && strlen(channel) > head &&
            !hfi_job_add_client(job, channel + head, strlen(channel) - head))
            return false;
    }
    return true;
}

static bool take_topics(struct hfi_job *job, const redisReply *reply)
{
    job->topics_asked = true;
    if (reply->type != REDIS_REPLY_ARRAY)
        return true;
    for (size_t i = 0; i < reply->elements; i++)
        if (is_text(reply->element[i]) &&
            !hfi_job_add_topic(job, reply->element[i]->str, (size_t)reply->element[i]->len))
            return false;
    return true;
}

static bool take_key(struct hfi_job *job, const redisReply *key)
{
    size_t len = (size_t)key->len;

    if (job->scan == HFI_SCAN_PERMITS)
        return hfi_job_add_permits(job, key->str, len);
    return !hfi_job_wants(job, key->str, len) || hfi_job_add_key(job, key->str, len);
}

static bool take_keys(struct hfi_job *job, const redisReply *reply)
{
    const redisReply *keys;

    strcpy(job->cursor, "0"); /* the end, unless it says otherwise */
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || !is_text(reply->element[0]) ||
        reply->element[1]->type != REDIS_REPLY_ARRAY)
        return true;
    snprintf(job->cursor, sizeof job->cursor, "%s", reply->element[0]->str);
    keys = reply->element[1];
    for (size_t i = 0; i < keys->elements; i++)
        if (is_text(keys->element[i]) && !take_key(job, keys->element[i]))
            return false;
    return true;
}

/* What is searched for next. */
static void end_scan(struct hfi_job *job)
{
    if (strcmp(job->cursor, "0") != 0)
        return;
    job->scan = job->scan == HFI_SCAN_LOCKS && job->redis->uri.layout != HFI_LAYOUT_STRING
                    ? HFI_SCAN_PERMITS
                    : HFI_SCAN_OVER;
}

static bool take_inspected(struct hfi_job *job, const redisReply *reply)
{
    size_t count = keys_now(job);

    size_t first = job->key_at;

    job->found_at = job->found_count;
    job->key_at += count;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != count + 1)
        return true;
    if (reply->element[count]->type == REDIS_REPLY_INTEGER)
        job->server_ms = reply->element[count]->integer;
    for (size_t i = 0; i < count; i++)
        if (!hfi_job_add_found(job, job->key[first + i], reply->element[i]))
            return false;
    return true;
}

static void take_numsub(struct hfi_job *job, const redisReply *reply)
{
    enum hfi_topic topics[2];
    size_t at = 1;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 * topics_now(job))
        return;
    for (size_t i = job->found_at; i < job->found_count; i++) {
        struct hfi_found *found = &job->found[i];
        size_t count = hfi_found_topics(found, topics);

        for (size_t k = 0; k < count; k++, at += 2) {
            long long listeners =
                reply->element[at]->type == REDIS_REPLY_INTEGER && reply->element[at]->integer > 0
                    ? reply->element[at]->integer
                    : 0;

            if (topics[k] == HFI_TOPIC_LATCH)
                found->latch_listeners = listeners;
            else
                found->listeners = listeners;
        }
    }
}

/* What to ask next; false: nothing. */
static bool next_step(struct hfi_job *job)
{
    bool one = job->query->request.op == HFI_OP_INSPECT;

    struct hfi_announcer *client = job->client_at ? job->client_at : job->client;

    while (client && client->asked)
        client = client->next;
    if (client)
        job->client_at = client;
    if (job->step == HFI_JOB_INSPECT && job->found_at < job->found_count)
        job->step = HFI_JOB_NUMSUB;
    else if (client)
        job->step = HFI_JOB_CLIENT;
    else if (job->key_at < job->key_count)
        job->step = HFI_JOB_INSPECT;
    else if (!one && job->scan != HFI_SCAN_OVER)
        job->step = HFI_JOB_SCAN;
    else if (!one && !job->topics_asked && job->redis->uri.layout != HFI_LAYOUT_STRING)
        job->step = HFI_JOB_TOPICS;
    else
        return false;
    return true;
}

/* The one key that is inspected. */
static bool add_asked(struct hfi_redis *redis, struct hfi_job *job)
{
    const char *name = job->query->text;
    struct hfi_mapped lock;

    if (job->query->request.op != HFI_OP_INSPECT)
        return true;
    lock = hfi_redis_map(redis, name, strlen(name));
    return hfi_job_add_key(job, lock.name, lock.len);
}

static bool take(struct hfi_redis *redis, struct hfi_job *job, const redisReply *reply)
{
    switch (job->step) {
    case HFI_JOB_CHANNELS:
        return take_channels(job, reply) && add_asked(redis, job);
    case HFI_JOB_CLIENT:
        return hfi_job_add_registry(job, reply);
    case HFI_JOB_SCAN:
        if (!take_keys(job, reply))
            return false;
        end_scan(job);
        return true;
    case HFI_JOB_TOPICS:
        return take_topics(job, reply);
    case HFI_JOB_INSPECT:
        return take_inspected(job, reply);
    default:
        take_numsub(job, reply);
        return true;
    }
}

static void broken(struct hfi_redis *redis, struct hfi_job *job, const redisReply *reply)
{
    static const int ERRORS[] = { HF_ERR_UNSUPPORTED, HF_ERR_NOT_FOUND, HF_ERR_CHANGED }; /* -2 … */
    long long said = reply->type == REDIS_REPLY_INTEGER ? reply->integer : LLONG_MAX;

    if (job->step == HFI_JOB_TELL) {
        finish(redis, job, HFI_DONE, HF_OK);
        return;
    }
    if (said < -2 || said > 1) {
        finish(redis, job, HFI_UNKNOWN, HF_ERR_UNSURE);
    } else if (said < 1) {
        redis->store.detail[0] = '\0';
        finish(redis, job, HFI_NOT_DONE, ERRORS[said + 2]);
    } else {
        job->step = HFI_JOB_TELL;
        hfi_redis_queue(redis, &job->request);
    }
}

void hfi_redis_job_answered(struct hfi_redis *redis, hfi_time now, struct hfi_request *request,
                            const redisReply *reply)
{
    struct hfi_job *job = job_of(request);
    int error;

    if (request->op == HFI_OP_BREAK) {
        broken(redis, job, reply);
        return;
    }
    if (!take(redis, job, reply)) {
        finish(redis, job, HFI_NOT_DONE, HF_ERR_NO_MEMORY);
        return;
    }
    if (next_step(job)) {
        request->deadline_ns = now + redis->op_timeout_ns;
        hfi_redis_queue(redis, request);
        return;
    }
    error = hfi_job_fill_list(job);
    finish(redis, job, error ? HFI_NOT_DONE : HFI_DONE, error);
}
