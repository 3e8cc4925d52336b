/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/reply_requests.h"

#include "base/glob.h"
#include "base/list.h"
#include "base/name.h"
#include "holdfast/objects.h"
#include "store/redis/redis.h"

#define CLIENT_ID "22222222-2222-4222-8222-222222222222"

/* One as long as a name may be: the largest commands are made of it. */
static const char *name_of(struct input *input)
{
    static const char *const NAMES[] = { "L", "M", "{x}N", "\xc3\xa9", NULL };
    static char longest[HF_NAME_MAX + 1];
    const char *name = NAMES[input_below(input, 5)];

    if (!longest[0])
        memset(longest, 'n', HF_NAME_MAX);
    return name ? name : longest;
}

/* ------------------------------------------------------------------------------------------------
 * Asking
 */

static struct hfi_lease *new_lease(struct requests *requests, struct input *input)
{
    struct hfi_lease *lease = fuzz_alloc(sizeof *lease);

    lease->name = name_of(input);
    lease->name_len = (uint16_t)strlen(lease->name);
    lease->owner = ++requests->owner;
    lease->ttl_ms = 30000;
    lease->tokens = input_below(input, 2) ? 1001 : 1;
    lease->kind = (uint8_t)input_below(input, HFI_KIND_COUNT);
    if (!(requests->store->kinds & HFI_KIND_BIT(lease->kind)))
        lease->kind = HFI_KIND_MUTEX;
    lease->permits = HF_PERMITS_MAX;
    lease->queue = lease->prefer = input_below(input, 2);
    return lease;
}

static void make_renewal(struct requests *requests, struct input *input, struct asked *asked)
{
    static const uint32_t COUNTS[] = { 1, 2, 3, HFI_RENEWAL_MAX };
    struct hfi_renewal *renewal = fuzz_alloc(sizeof *renewal);

    renewal->count = COUNTS[input_below(input, 4)];
    asked->items = renewal->items = fuzz_alloc(renewal->count * sizeof *renewal->items);
    asked->wanted = (uint32_t)renewal->count;
    for (size_t i = 0; i < renewal->count; i++) {
        renewal->items[i].lease = new_lease(requests, input);
        renewal->items[i].lease->kind = renewal->items[0].lease->kind;
        renewal->items[i].ttl_ms = input_below(input, 2) ? 0 : 30000;
    }
    asked->request = &renewal->request;
}

static void make_announcement(struct requests *requests, struct input *input, struct asked *asked)
{
    static const uint32_t COUNTS[] = { 0, 1, 2, HFI_ANNOUNCEMENT_MAX };
    struct hfi_announcement *announcement = fuzz_alloc(sizeof *announcement);

    announcement->count = COUNTS[input_below(input, 4)];
    announcement->ttl_ns = 35 * HFI_SEC;
    for (size_t i = 0; i < announcement->count; i++) {
        struct hfi_announcement_item *item = &announcement->items[i];

        item->name = name_of(input);
        item->name_len = (uint16_t)strlen(item->name);
        item->held = input_below(input, 2);
        item->owner = ++requests->owner;
        item->waiters = input_below(input, 3);
        memset(item->label, 'l', sizeof item->label - 1);
    }
    asked->request = &announcement->request;
}

static void make_query(struct input *input, struct asked *asked, enum hfi_op op)
{
    static const char *const PATTERNS[] = { NULL, "*", "L?", "[a]\\*", "" };
    static const char *const OWNERS[] = { CLIENT_ID ":1", ":", "no colon" };
    struct hfi_query *query = fuzz_alloc(sizeof *query);

    query->text = op == HFI_OP_LIST ? PATTERNS[input_below(input, 5)] : name_of(input);
    query->owner = OWNERS[input_below(input, 3)];
    if (op != HFI_OP_BREAK)
        query->list = hfi_list_new();
    asked->request = &query->request;
}

static void make_object(struct requests *requests, struct input *input, struct asked *asked)
{
    static char longest[HF_VALUE_MAX];
    static const struct hfi_bytes BYTES[] = {
        { NULL, 0 }, { "", 0 }, { "v", 1 }, { longest, sizeof longest }
    };
    struct hfi_object *object = fuzz_alloc(sizeof *object);

    object->verb = (uint8_t)input_below(input, HFI_VERB_COUNT);
    object->name = name_of(input);
    object->name_len = (uint16_t)strlen(object->name);
    object->serial = ++requests->owner;
    object->number = (int64_t)input_below(input, 3) - 1;
    object->value = BYTES[input_below(input, 4)];
    object->key = BYTES[input_below(input, 4)];
    object->expected = BYTES[input_below(input, 4)];
    asked->request = &object->request;
}

static void make(struct requests *requests, struct input *input, struct asked *asked,
                 enum hfi_op op)
{
    switch (op) {
    case HFI_OP_TRY:
    case HFI_OP_RELEASE: {
        struct hfi_lease *lease = new_lease(requests, input);

        asked->wanted = lease->tokens;
        asked->request = &lease->request;
        break;
    }
    case HFI_OP_RENEW:
        make_renewal(requests, input, asked);
        break;
    case HFI_OP_ANNOUNCE:
        make_announcement(requests, input, asked);
        break;
    case HFI_OP_LIST:
    case HFI_OP_INSPECT:
    case HFI_OP_BREAK:
        make_query(input, asked, op);
        break;
    case HFI_OP_OBJECT:
        make_object(requests, input, asked);
        break;
    default:
        asked->request = fuzz_alloc(sizeof *asked->request);
    }
}

static void submit(struct requests *requests, struct hfi_request *request, enum hfi_op op,
                   hfi_time now)
{
    request->op = (uint8_t)op;
    request->outcome = HFI_PENDING;
    request->error = HF_OK;
    request->sent_ns = 0;
    request->stage = 0;
    request->deadline_ns = now + 2 * HFI_SEC;
    requests->wire->submit(requests->store, now, request);
}

void requests_submit(struct requests *requests, struct input *input, hfi_time now)
{
    static const enum hfi_op OPS[] = { HFI_OP_TRY,   HFI_OP_RELEASE,  HFI_OP_RENEW,
                                       HFI_OP_LIST,  HFI_OP_ANNOUNCE, HFI_OP_FAREWELL,
                                       HFI_OP_CHECK, HFI_OP_INSPECT,  HFI_OP_BREAK,
                                       HFI_OP_OBJECT };
    enum hfi_op op = OPS[input_below(input, 10)];

    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        struct asked *asked = &requests->asked[i];

        if (asked->request)
            continue;
        make(requests, input, asked, op);
        submit(requests, asked->request, op, now);
        return;
    }
}

void requests_watch(struct requests *requests, struct input *input, hfi_time now)
{
    static const enum hfi_op OPS[] = { HFI_OP_WATCH, HFI_OP_UNWATCH, HFI_OP_LEAVE };
    uint32_t number = input_below(input, WATCHES_MAX);
    struct hfi_watch *watch = requests->watch[number];
    enum hfi_op op = OPS[input_below(input, 3)];

    if (!watch) {
        watch = requests->watch[number] = fuzz_alloc(sizeof *watch);
        watch->name = name_of(input);
        watch->name_len = (uint16_t)strlen(watch->name);
    }
    if (requests->pending[number])
        return;
    if (op == HFI_OP_WATCH)
        watch->topic = (uint8_t)input_below(input, HFI_TOPIC_COUNT);
    watch->kind = (uint8_t)input_below(input, HFI_KIND_COUNT);
    requests->pending[number] = true;
    submit(requests, &watch->request, op, now);
}

/* ------------------------------------------------------------------------------------------------
 * Judging
 */

static void judge_lease(const struct hfi_lease *lease, uint32_t wanted)
{
    if (lease->request.op == HFI_OP_RELEASE) {
        MUST(lease->verdict == HFI_RELEASED || lease->verdict == HFI_GONE);
        return;
    }
    MUST(lease->verdict == HFI_GRANTED || lease->verdict == HFI_BUSY ||
         lease->verdict == HFI_ALREADY ||
         (lease->verdict == HFI_GONE && lease->kind == HFI_KIND_LATCH));
    if (lease->verdict == HFI_BUSY)
        MUST(lease->topic < HFI_TOPIC_COUNT && (!lease->ticket || lease->kind > HFI_KIND_FENCED));
    if (lease->verdict != HFI_GRANTED)
        return;
    MUST(lease->tokens >= 1 && lease->tokens <= wanted);
    MUST(lease->token > 0 && lease->token + lease->tokens - 1 < UINT64_C(1) << 53);
}

static void judge_holder(const struct hf_holder *holder)
{
    MUST(hfi_text_ok(holder->owner, strlen(holder->owner)));
    MUST(hfi_text_ok(holder->host, strlen(holder->host)));
    MUST(hfi_text_ok(holder->user, strlen(holder->user)));
    MUST(hfi_text_ok(holder->program, strlen(holder->program)));
    MUST(hfi_text_ok(holder->label, strlen(holder->label)));
    MUST(holder->age_ms >= -1 && holder->remaining_ms >= -1 && holder->count >= -1);
}

static void judge_list(const struct hfi_query *query)
{
    struct hf_lock lock = { .size = sizeof lock };
    struct hf_holder waiter = { .size = sizeof waiter };
    size_t count = hf_list_count(query->list);

    if (query->request.op == HFI_OP_INSPECT)
        MUST(count == 1);
    for (size_t i = 0; i < count; i++) {
        MUST(hf_list_get(query->list, i, &lock) == HF_OK);
        if (query->request.op == HFI_OP_INSPECT)
            MUST(strcmp(lock.name, query->text) == 0);
        else if (query->text)
            MUST(hfi_glob_match(query->text, lock.name));
        MUST(strlen(lock.name) <= HF_NAME_MAX && lock.waiters >= 0);
        judge_holder(&lock.holder);
        MUST(lock.holders >= 0 && strcmp(lock.kind, "") != 0);
        MUST((lock.holders > 0) == (strcmp(lock.state, "held") == 0));
        for (size_t k = 0; hf_list_holder(query->list, i, k, &waiter) == HF_OK; k++)
            judge_holder(&waiter);
        for (size_t k = 0; hf_list_waiter(query->list, i, k, &waiter) == HF_OK; k++)
            judge_holder(&waiter);
    }
}

static void judge_object(const struct hfi_object *object)
{
    bool bytes = object->verb == HFI_BUCKET_GET || object->verb == HFI_MAP_GET ||
                 object->verb == HFI_MAP_REMOVE;

    MUST(object->found == (object->data != NULL));
    if (object->found)
        MUST(object->data_len <= HF_VALUE_MAX && object->data[object->data_len] == '\0');
    if (object->request.outcome != HFI_DONE)
        MUST(!object->found);
    else
        MUST((object->found || !bytes) && object->number2 >= 0);
}

static void judge(const struct asked *asked, hfi_time now)
{
    const struct hfi_request *request = asked->request;

    MUST(request->outcome != HFI_PENDING && request->sent_ns <= now);
    MUST((request->outcome == HFI_DONE) == (request->error == HF_OK));
    MUST((request->outcome == HFI_UNKNOWN) == (request->error == HF_ERR_UNSURE));
    MUST(hf_classify(request->error) != HF_CLASS_USAGE || request->error == HF_ERR_UNSUPPORTED ||
         (request->error == HF_ERR_INVALID && request->op == HFI_OP_OBJECT));
    if (request->op == HFI_OP_OBJECT)
        judge_object((const struct hfi_object *)request);
    if (request->outcome != HFI_DONE)
        return;
    if (request->op == HFI_OP_TRY || request->op == HFI_OP_RELEASE)
        judge_lease((const struct hfi_lease *)request, asked->wanted);
    if (request->op <= HFI_OP_RENEW || request->op == HFI_OP_CHECK)
        MUST(request->sent_ns > 0);
    if (request->op == HFI_OP_LIST || request->op == HFI_OP_INSPECT)
        judge_list((const struct hfi_query *)request);
}

static void free_asked(struct asked *asked)
{
    if (asked->request && asked->request->op == HFI_OP_RENEW)
        for (uint32_t i = 0; i < asked->wanted; i++)
            free(((struct hfi_renewal_item *)asked->items)[i].lease);
    if (asked->request &&
        (asked->request->op == HFI_OP_LIST || asked->request->op == HFI_OP_INSPECT))
        hf_list_free(((struct hfi_query *)asked->request)->list);
    if (asked->request && asked->request->op == HFI_OP_OBJECT)
        free(((struct hfi_object *)asked->request)->data);
    free(asked->items);
    free(asked->request);
    *asked = (struct asked){ 0 };
}

static void take_one(struct requests *requests, struct hfi_request *request, hfi_time now)
{
    for (unsigned i = 0; i < WATCHES_MAX; i++) {
        struct asked asked = { .request = request };

        if (requests->watch[i] && request == &requests->watch[i]->request) {
            MUST(requests->pending[i]);
            requests->pending[i] = false;
            judge(&asked, now);
            return;
        }
    }
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        if (requests->asked[i].request == request) {
            judge(&requests->asked[i], now);
            free_asked(&requests->asked[i]);
            return;
        }
    }
    fuzz_fail(__FILE__, __LINE__, "what is finished was asked for, and is finished once");
}

void requests_take(struct requests *requests, hfi_time now)
{
    struct hfi_request *request;
    struct hfi_watch *watch;

    while ((request = requests->wire->finished(requests->store)))
        take_one(requests, request, now);
    while ((watch = requests->wire->woken(requests->store))) {
        unsigned i = 0;

        while (i < WATCHES_MAX && requests->watch[i] != watch)
            i++;
        MUST(i < WATCHES_MAX);
        MUST(watch->request.op != HFI_OP_UNWATCH); /* it is no longer listened for */
    }
    requests->wire->restored(requests->store);
}

bool requests_are_done(const struct requests *requests)
{
    for (unsigned i = 0; i < REQUESTS_MAX; i++)
        if (requests->asked[i].request)
            return false;
    for (unsigned i = 0; i < WATCHES_MAX; i++)
        if (requests->pending[i])
            return false;
    return true;
}

void requests_free(struct requests *requests)
{
    for (unsigned i = 0; i < REQUESTS_MAX; i++)
        free_asked(&requests->asked[i]);
    for (unsigned i = 0; i < WATCHES_MAX; i++)
        free(requests->watch[i]);
}
