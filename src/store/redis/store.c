/* SPDX-License-Identifier: Apache-2.0 */
/* The class: requests come in here, and go out finished. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis/objects.h"
#include "store/redis/string.h"

void hfi_redis_say(struct hfi_redis *redis, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(redis->store.detail, sizeof redis->store.detail, format, args);
    va_end(args);
    hfi_one_line(redis->store.detail);
}

void hfi_redis_say_why_down(struct hfi_redis *redis)
{
    if (redis->why_down[0])
        hfi_redis_say(redis, "%s", redis->why_down);
    else
        hfi_redis_say(redis, "%s does not answer", redis->uri.shown);
}

static bool is_job(const struct hfi_request *request)
{
    return request->op == HFI_OP_LIST || request->op == HFI_OP_INSPECT ||
           request->op == HFI_OP_BREAK;
}

void hfi_redis_finish(struct hfi_redis *redis, struct hfi_request *request,
                      enum hfi_outcome outcome, int error)
{
    if (is_job(request) && request->stage != HFI_STAGE_OVER) {
        hfi_redis_job_failed(redis, request, outcome, error);
        return;
    }
    hfi_request_finish(request, outcome, error);
    if (request->op == HFI_OP_OBJECT)
        hfi_redis_object_finished(redis, hfi_request_object(request));
    DL_APPEND(redis->finished, request);
}

void hfi_redis_queue(struct hfi_redis *redis, struct hfi_request *request)
{
    request->stage = HFI_STAGE_SHA;
    DL_APPEND(redis->pending, request);
    redis->pending_by = hfi_time_min(redis->pending_by, request->deadline_ns);
}

void hfi_redis_queue_again(struct hfi_redis *redis, struct hfi_request *request)
{
    DL_APPEND(redis->again, request);
    redis->pending_by = hfi_time_min(redis->pending_by, request->deadline_ns);
}

static struct hfi_redis *redis_of(struct hfi_store *store)
{
    return (struct hfi_redis *)store;
}

static void submit(struct hfi_store *store, hfi_time now, struct hfi_request *request)
{
    struct hfi_redis *redis = redis_of(store);

    if (redis->opened_ns == 0)
        redis->opened_ns = now;
    if (redis->abandoned) {
        request->stage = HFI_STAGE_OVER;
        hfi_redis_finish(redis, request, HFI_NOT_DONE, HF_ERR_CLOSED);
        return;
    }
    switch ((enum hfi_op)request->op) {
    case HFI_OP_WATCH:
        hfi_redis_watch(redis, hfi_request_watch(request));
        break;
    case HFI_OP_UNWATCH:
        hfi_redis_unwatch(redis, hfi_request_watch(request));
        break;
    case HFI_OP_LEAVE:
        if (hfi_redis_has_tickets((enum hfi_kind)hfi_request_watch(request)->kind))
            hfi_redis_queue(redis, request);
        else
            hfi_redis_finish(redis, request, HFI_DONE, HF_OK);
        break;
    case HFI_OP_FAREWELL:
        if (redis->registered)
            hfi_redis_queue(redis, request);
        else
            hfi_redis_finish(redis, request, HFI_DONE, HF_OK);
        break;
    case HFI_OP_LIST:
    case HFI_OP_INSPECT:
    case HFI_OP_BREAK:
        hfi_redis_ask(redis, hfi_request_query(request));
        break;
    case HFI_OP_OBJECT:
        hfi_redis_object(redis, hfi_request_object(request));
        break;
    default:
        hfi_redis_queue(redis, request);
    }
}

static struct hfi_request *finished(struct hfi_store *store)
{
    struct hfi_redis *redis = redis_of(store);
    struct hfi_request *request = redis->finished;

    if (request)
        DL_DELETE(redis->finished, request);
    return request;
}

void hfi_redis_forsake(struct hfi_redis *redis)
{
    struct hfi_request *request, *tmp, *list = redis->sent;

    if (list) {
        redis->kill_id = redis->server_id;
        memcpy(redis->kill_run_id, redis->run_id, sizeof redis->run_id);
    }
    redis->sent = NULL;
    redis->sent_count = 0;
    memset(&redis->head, 0, sizeof redis->head);
    redis->answer_by = HF_TIME_NEVER;
    DL_FOREACH_SAFE (list, request, tmp) {
        hfi_redis_finish(redis, request, HFI_UNKNOWN, HF_ERR_UNSURE);
    }
}

hfi_time hfi_redis_soonest(const struct hfi_request *list)
{
    const struct hfi_request *request;
    hfi_time at = HF_TIME_NEVER;

    DL_FOREACH (list, request) {
        at = hfi_time_min(at, request->deadline_ns);
    }
    return at;
}

/* Finishes those of a list that are due by then. */
static void refuse(struct hfi_redis *redis, struct hfi_request **list, hfi_time due, int error)
{
    struct hfi_request *request, *tmp;

    DL_FOREACH_SAFE (*list, request, tmp) {
        if (request->deadline_ns <= due) {
            DL_DELETE(*list, request);
            hfi_redis_finish(redis, request, HFI_NOT_DONE, error);
        } else {
            redis->pending_by = hfi_time_min(redis->pending_by, request->deadline_ns);
        }
    }
}

static void refuse_due(struct hfi_redis *redis, hfi_time due, int error)
{
    redis->pending_by = HF_TIME_NEVER;
    refuse(redis, &redis->again, due, error);
    refuse(redis, &redis->pending, due, error);
}

void hfi_redis_refuse_pending(struct hfi_redis *redis, int error)
{
    refuse_due(redis, HF_TIME_NEVER, error);
}

/* What was never sent is pending: only what was sent can be among those that are to be sent again. */
static void withdraw(struct hfi_store *store, struct hfi_request *request)
{
    struct hfi_redis *redis = redis_of(store);

    DL_DELETE(redis->pending, request);
    hfi_redis_finish(redis, request, HFI_NOT_DONE, HF_ERR_CANCELLED);
}

static void abandon(struct hfi_store *store)
{
    struct hfi_redis *redis = redis_of(store);

    redis->abandoned = true;
    hfi_redis_forsake(redis);
    hfi_redis_refuse_pending(redis, HF_ERR_CLOSED);
    hfi_redis_watch_tick(redis, HF_TIME_NEVER);
}

static bool restored(struct hfi_store *store)
{
    struct hfi_redis *redis = redis_of(store);
    bool told = redis->restored;

    redis->restored = false;
    return told;
}

static hfi_time deadline(struct hfi_store *store)
{
    struct hfi_redis *redis = redis_of(store);
    hfi_time at = hfi_time_min(redis->pending_by, redis->confirm_by);

    for (unsigned i = 0; i < HFI_REDIS_LINKS; i++)
        at = hfi_time_min(at, hfi_redis_link_deadline(redis, i));
    return at;
}

static void tick(struct hfi_store *store, hfi_time now)
{
    struct hfi_redis *redis = redis_of(store);

    for (unsigned i = 0; i < HFI_REDIS_LINKS; i++)
        hfi_redis_link_tick(redis, i, now);
    if (now >= redis->pending_by)
        redis->pending_by =
            hfi_time_min(hfi_redis_soonest(redis->again), hfi_redis_soonest(redis->pending));
    if (now >= redis->pending_by) {
        hfi_redis_say_why_down(redis);
        refuse_due(redis, now, HF_ERR_UNREACHABLE);
    }
    hfi_redis_watch_tick(redis, now);
}

static const struct hfi_address *address(struct hfi_store *store)
{
    return &redis_of(store)->address;
}

static const char *uri(struct hfi_store *store)
{
    return redis_of(store)->uri.shown;
}

static void free_store(struct hfi_store *store)
{
    struct hfi_redis *redis = redis_of(store);

    hfi_redis_watch_free(redis);
    hfi_redis_forsake(redis);
    hfi_redis_refuse_pending(redis, HF_ERR_CLOSED);
    for (unsigned i = 0; i < HFI_REDIS_LINKS; i++) {
        if (redis->link[i].reader)
            redisReaderFree(redis->link[i].reader);
        free(redis->link[i].out);
    }
    free(redis);
}

static const struct hfi_wire_class WIRE = {
    .links = HFI_REDIS_LINKS,
    .address = address,
    .submit = submit,
    .finished = finished,
    .woken = hfi_redis_woken,
    .restored = restored,
    .want = hfi_redis_want,
    .connected = hfi_redis_connected,
    .lost = hfi_redis_lost,
    .has_output = hfi_redis_has_output,
    .produce = hfi_redis_produce,
    .produced = hfi_redis_produced,
    .consume = hfi_redis_consume,
    .expects = hfi_redis_expects,
    .withdraw = withdraw,
    .abandon = abandon,
    .deadline = deadline,
    .tick = tick,
};

static const struct hfi_store_class CLASS = {
    .name = "redis",
    .announces = true,
    .wire = &WIRE,
    .uri = uri,
    .free = free_store,
};

static int open_redis(const char *scheme, const char *rest, const struct hfi_store_config *config,
                      struct hfi_store **ret_store, char *detail)
{
    struct hfi_redis *redis = calloc(1, sizeof *redis);
    int error;

    if (!redis)
        return HF_ERR_NO_MEMORY;
    error = hfi_redis_uri(scheme, rest, &redis->uri, detail);
    if (error) {
        free(redis);
        return error;
    }
    redis->store.class_ = &CLASS;
    redis->store.kinds = HFI_KIND_BIT(HFI_KIND_COUNT) - 1;
    redis->store.verbs = HFI_VERB_BIT(HFI_VERB_COUNT) - 1;
    if (redis->uri.layout == HFI_LAYOUT_STRING)
        hfi_string_limit(&redis->store);
    redis->store.trace = config->trace;
    redis->identity = config->identity;
    redis->op_timeout_ns = config->op_timeout_ns;
    redis->connect_timeout_ns = config->connect_timeout_ns;
    redis->address.host = redis->uri.path[0] ? NULL : redis->uri.host;
    redis->address.port = redis->uri.port;
    redis->address.path = redis->uri.path[0] ? redis->uri.path : NULL;
    redis->pending_by = redis->answer_by = redis->confirm_by = HF_TIME_NEVER;
    hfi_random_init(&redis->random, config->seed);
    hfi_tags_init(&redis->tags);
    hfi_redis_map_init(redis);
    *ret_store = &redis->store;
    return HF_OK;
}

const struct hfi_driver hfi_driver_redis = { .schemes = "redis redis+unix", .open = open_redis };
