/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

#include <utlist.h>

const char *unit_error_name(int error)
{
    static const struct {
        int value;
        const char *name;
    } NAMES[] = {
#define X(name, value, class_, text) { value, #name },
        HF_ERRORS(X)
#undef X
    };

    for (size_t i = 0; i < UNIT_COUNT(NAMES); i++)
        if (NAMES[i].value == error)
            return NAMES[i].name + strlen("HF_ERR_");
    return error == HF_OK ? "OK" : "?";
}

__attribute__((format(printf, 2, 3))) static void note(struct stage *stage, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(stage->log + stage->length, STAGE_LOG - stage->length, format, args);
    va_end(args);
    stage->length += (size_t)n;
    assert_true(stage->length < STAGE_LOG);
}

static void hear(void *arg, enum hf_trace_level level, const char *text)
{
    struct stage *stage = arg;
    const char *owner = strstr(text, " owner "), *colon = owner ? strchr(owner, ':') : NULL;

    if (level == HF_TRACE_WARNING && !stage->deaf)
        note(stage, "warning: %s\n", text);
    else if (colon && !stage->quiet)
        note(stage, "%.*s#%.*s%s\n", (int)(owner - text), text, (int)(colon - owner - 7), owner + 7,
             colon + 1);
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 */

static void note_announced(struct stage *stage, const struct hfi_announcement *announcement)
{
    note(stage, "announce");
    for (size_t i = 0; i < announcement->count; i++) {
        const struct hfi_announcement_item *item = &announcement->items[i];

        note(stage, "%s %s", i ? "," : "", item->name);
        if (item->held)
            note(stage, " held #%llu token %llu", (unsigned long long)item->owner,
                 (unsigned long long)item->token);
        if (item->held && item->label[0])
            note(stage, " \"%s\"", item->label);
        if (item->waiters)
            note(stage, " waiters %u", item->waiters);
        if (item->watching)
            note(stage, " watching");
        if (!item->held && !item->waiters && !item->watching)
            note(stage, " nothing");
    }
}

static void note_lease(struct stage *stage, const char *verb, const struct hfi_lease *lease)
{
    note(stage, "%s %s#%llu", verb, lease->name, (unsigned long long)lease->owner);
}

/* What a request is written down as. */
static void note_request(struct stage *stage, struct hfi_request *request)
{
    const struct hfi_lease *lease = hfi_request_lease(request);
    const struct hfi_watch *watch = hfi_request_watch(request);
    const struct hfi_renewal *renewal = hfi_request_renewal(request);

    switch ((enum hfi_op)request->op) {
    case HFI_OP_TRY:
        note_lease(stage, "try", lease);
        note(stage, " %u", lease->ttl_ms);
        if (lease->tokens > 1)
            note(stage, " x%u", lease->tokens);
        break;
    case HFI_OP_RELEASE:
        note_lease(stage, "release", lease);
        break;
    case HFI_OP_RENEW:
        for (size_t i = 0; i < renewal->count; i++) {
            note_lease(stage, i ? "," : "renew", renewal->items[i].lease);
            if (renewal->items[i].ttl_ms)
                note(stage, " %u", renewal->items[i].ttl_ms);
            else
                note(stage, " look");
        }
        break;
    case HFI_OP_WATCH:
        note(stage, "watch %s%s", watch->name, watch->topic == HFI_TOPIC_READ_WRITE ? " rw" : "");
        if (watch->topic == HFI_TOPIC_TURN)
            note(stage, " turn #%llu", (unsigned long long)watch->owner);
        break;
    case HFI_OP_UNWATCH:
        note(stage, "unwatch %s", watch->name);
        break;
    case HFI_OP_LEAVE:
        note(stage, "leave %s", watch->name);
        if (watch->kind == HFI_KIND_FAIR)
            note(stage, "#%llu", (unsigned long long)watch->owner);
        break;
    case HFI_OP_ANNOUNCE:
        note_announced(stage, hfi_request_announcement(request));
        break;
    case HFI_OP_FAREWELL:
        note(stage, "farewell");
        break;
    default:
        fail_msg("the engine asks for %d", request->op);
    }
    note(stage, "\n");
}

static bool is_named(struct stage *stage, struct hfi_request *request, const char *which)
{
    size_t at = stage->length, len = strlen(which);
    bool same;

    note_request(stage, request);
    same = strncmp(stage->log + at, which, len) == 0 && strchr(" ,\n", stage->log[at + len]);
    stage->length = at;
    stage->log[at] = '\0';
    return same;
}

static struct hfi_request *find(struct stage *stage, const char *which)
{
    for (size_t i = 0; i < stage->pending_count; i++)
        if (is_named(stage, stage->pending[i], which))
            return stage->pending[i];
    return NULL;
}

bool is_pending(struct stage *stage, const char *which)
{
    return find(stage, which) != NULL;
}

static void accept_request(struct stage *stage, struct hfi_request *request)
{
    for (size_t i = 0; i < stage->pending_count; i++)
        assert_ptr_not_equal(stage->pending[i], request); /* submitted twice at once */
    assert_in_range(stage->pending_count, 0, STAGE_PENDING - 1);
    assert_int_equal(request->outcome, HFI_PENDING);
    stage->pending[stage->pending_count++] = request;
    if (!stage->offline)
        request->sent_ns = stage->now;
    if (request->op == HFI_OP_WATCH)
        stage->watch = hfi_request_watch(request);
    note_request(stage, request);
}

/* ------------------------------------------------------------------------------------------------
 * What comes out
 */

static char letter_of(struct stage *stage, const struct actor *actor)
{
    return (char)('A' + (actor - stage->actor));
}

static void accept_done(struct stage *stage, struct hfi_waiter *waiter)
{
    struct actor *actor = waiter->cookie;

    assert_true(actor->waiting);
    actor->waiting = false;
    actor->holding = waiter->result == HF_OK && waiter->kind != HFI_KIND_LATCH;
    note(stage, "%c: %s", letter_of(stage, actor), unit_error_name(waiter->result));
    if (actor->holding)
        note(stage, " #%llu token %llu", (unsigned long long)actor->handle.hold->lease.owner,
             (unsigned long long)actor->handle.token);
    note(stage, "\n");
    free(waiter->label);
    waiter->label = NULL;
}

static void accept_news(struct stage *stage)
{
    enum hfi_news news;
    struct hfi_handle *handle;

    while ((handle = hfi_engine_next_news(&stage->engine, &news))) {
        struct actor *actor = handle->cookie;

        assert_true(actor->holding);
        note(stage, "%c: %s\n", letter_of(stage, actor),
             news == HFI_NEWS_LOST ? "LOST" : "AT_RISK");
    }
    assert_false(hfi_engine_has_news(&stage->engine));
}

static void accept_all(struct stage *stage)
{
    struct hfi_request *request;
    struct hfi_waiter *waiter;
    struct hfi_releaser *releaser;

    while ((request = hfi_engine_next_request(&stage->engine)))
        accept_request(stage, request);
    while ((waiter = hfi_engine_next_done(&stage->engine)))
        accept_done(stage, waiter);
    while ((waiter = hfi_engine_next_woken(&stage->engine)))
        note(stage, "wake %c\n", letter_of(stage, waiter->cookie));
    while ((releaser = hfi_engine_next_released(&stage->engine))) {
        struct actor *actor =
            (struct actor *)((char *)releaser - offsetof(struct actor, handle.releaser));

        assert_false(actor->holding);
        note(stage, "%c released: %s\n", letter_of(stage, actor),
             unit_error_name(releaser->result));
    }
    accept_news(stage);
}

void step(struct stage *stage, const struct hfi_input *input)
{
    if (stage->arm)
        stage->arm(true);
    hfi_engine_step(&stage->engine, stage->now, input);
    if (stage->arm)
        stage->arm(false);
    accept_all(stage);
    if (input->kind == HFI_INPUT_TICK)
        assert_true(hfi_engine_deadline(&stage->engine) > stage->now);
}

/* ------------------------------------------------------------------------------------------------
 * Beginning and end
 */

void stage_init(struct stage *stage)
{
    memset(stage, 0, sizeof *stage);
    stage->start = stage->now = 1000 * HFI_SEC;
    stage->config = (struct hfi_engine_config){ .poll_ns = HFI_SEC,
                                                .pass_ns = 10 * HFI_MSEC,
                                                .pass_count = 1000,
                                                .op_timeout_ns = 2 * HFI_SEC,
                                                .seed = 1,
                                                .trace = { .hook = hear, .arg = stage } };
}

void stage_open(struct stage *stage)
{
    assert_int_equal(hfi_engine_init(&stage->engine, stage->now, &stage->config), HF_OK);
}

static void answer_whatever(struct stage *stage)
{
    struct hfi_request *request = stage->pending[0];

    if (request->op == HFI_OP_TRY)
        hfi_request_lease(request)->verdict = HFI_BUSY;
    if (request->op == HFI_OP_RELEASE)
        hfi_request_lease(request)->verdict = HFI_RELEASED;
    memmove(stage->pending, stage->pending + 1, --stage->pending_count * sizeof request);
    hfi_request_finish(request, HFI_DONE, HF_OK);
    step(stage, &(struct hfi_input){ .kind = HFI_INPUT_ANSWER, .u.request = request });
}

void stage_close(struct stage *stage)
{
    step(stage, &(struct hfi_input){ .kind = HFI_INPUT_CLOSE });
    while (stage->pending_count > 0)
        answer_whatever(stage);
    assert_true(hfi_engine_quiet(&stage->engine));
    for (size_t i = 0; i < UNIT_COUNT(stage->actor); i++)
        assert_false(stage->actor[i].waiting);
    hfi_engine_fini(&stage->engine);
    for (size_t i = 0; i < UNIT_COUNT(stage->actor); i++)
        if (stage->actor[i].holding)
            hfi_engine_drop_handle(&stage->actor[i].handle);
}

/* ------------------------------------------------------------------------------------------------
 * Inputs
 */

void acquire(struct stage *stage, char who, const char *name, struct how how)
{
    struct actor *actor = &stage->actor[who - 'A'];

    assert_false(actor->waiting || actor->holding);
    memset(actor, 0, sizeof *actor);
    actor->waiting = true;
    actor->handle.cookie = actor;
    actor->waiter = (struct hfi_waiter){
        .name = name,
        .name_len = strlen(name),
        .owner = how.owner ? how.owner : (uint64_t)((how.thread ? how.thread : who) - 'A' + 1),
        .owner_kind = how.owner   ? OWNER_NAMED
                      : how.fresh ? OWNER_FRESH
                                  : OWNER_THREAD,
        .named = how.owner != 0,
        .direct = how.fresh,
        .ttl_ms = how.ttl_ms ? how.ttl_ms : 30000,
        .fixed = how.fixed || how.kind == HFI_KIND_SEMAPHORE,
        .kind = (uint8_t)how.kind,
        .permits = how.permits,
        .no_reentry = how.no_reentry,
        .prefer = how.prefer,
        .once = how.wait_ms<0, .wait_ns = how.wait_ms> 0 ? (hfi_time)how.wait_ms * HFI_MSEC
                                                         : HF_TIME_NEVER,
        .max_hold_ns = how.max_hold_ms * HFI_MSEC,
        .label = how.label ? strdup(how.label) : NULL,
        .handle = &actor->handle,
        .cookie = actor,
    };
    step(stage, &(struct hfi_input){ .kind = HFI_INPUT_ACQUIRE, .u.waiter = &actor->waiter });
}

void take(struct stage *stage, char who)
{
    assert_true(actor(stage, who)->waiting);
    step(stage,
         &(struct hfi_input){ .kind = HFI_INPUT_TAKE, .u.waiter = &actor(stage, who)->waiter });
}

void cancel(struct stage *stage, char who)
{
    assert_true(actor(stage, who)->waiting);
    step(stage, &(struct hfi_input){ .kind = HFI_INPUT_CANCEL,
                                     .error = HF_ERR_CANCELLED,
                                     .u.waiter = &actor(stage, who)->waiter });
}

void release(struct stage *stage, char who)
{
    assert_true(actor(stage, who)->holding);
    actor(stage, who)->holding = false;
    step(stage,
         &(struct hfi_input){ .kind = HFI_INPUT_RELEASE, .u.handle = &actor(stage, who)->handle });
}

void forget(struct stage *stage, char who)
{
    assert_true(actor(stage, who)->holding);
    actor(stage, who)->holding = false;
    step(stage,
         &(struct hfi_input){ .kind = HFI_INPUT_FORGET, .u.handle = &actor(stage, who)->handle });
}

void verify(struct stage *stage, char who)
{
    struct hfi_hold *hold = actor(stage, who)->handle.hold;

    stage->verified = (struct hfi_renewal_item){ .lease = &hold->lease };
    stage->verification =
        (struct hfi_renewal){ .request.host = stage, .count = 1, .items = &stage->verified };
    step(stage, &(struct hfi_input){ .kind = HFI_INPUT_VERIFY, .u.renewal = &stage->verification });
}

void wake(struct stage *stage, const char *name)
{
    assert_string_equal(stage->watch->name, name);
    step(stage, &(struct hfi_input){ .kind = HFI_INPUT_WAKE, .u.watch = stage->watch });
}

void restored(struct stage *stage)
{
    step(stage, &(struct hfi_input){ .kind = HFI_INPUT_RESTORED });
}

void leap(struct stage *stage, hfi_time ms)
{
    stage->now += ms * HFI_MSEC;
    step(stage, &(struct hfi_input){ .kind = HFI_INPUT_TICK });
}

void pass(struct stage *stage, hfi_time ms)
{
    hfi_time end = stage->now + ms * HFI_MSEC, next;

    while ((next = hfi_engine_deadline(&stage->engine)) <= end) {
        stage->now = hfi_time_max(stage->now, next);
        step(stage, &(struct hfi_input){ .kind = HFI_INPUT_TICK });
    }
    stage->now = end;
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 */

static struct hfi_request *take_out(struct stage *stage, const char *which)
{
    struct hfi_request *request = find(stage, which);
    size_t i = 0;

    if (!request)
        fail_msg("there is no \"%s\" to be answered", which);
    while (stage->pending[i] != request)
        i++;
    stage->pending_count--;
    memmove(stage->pending + i, stage->pending + i + 1,
            (stage->pending_count - i) * sizeof request);
    return request;
}

static void answer(struct stage *stage, struct hfi_request *request, enum hfi_outcome outcome,
                   int error)
{
    hfi_request_finish(request, outcome, error);
    step(stage, &(struct hfi_input){ .kind = HFI_INPUT_ANSWER, .u.request = request });
}

void granted(struct stage *stage, const char *which, uint64_t token, uint32_t tokens)
{
    struct hfi_lease *lease = hfi_request_lease(take_out(stage, which));

    assert_true(tokens <= lease->tokens);
    lease->verdict = HFI_GRANTED;
    lease->token = token;
    lease->tokens = tokens;
    lease->ticket = false;
    answer(stage, &lease->request, HFI_DONE, HF_OK);
}

static void busy_as(struct stage *stage, const char *which, hfi_time hint_ms, enum hfi_topic kind,
                    bool ticket)
{
    struct hfi_lease *lease = hfi_request_lease(take_out(stage, which));

    lease->verdict = HFI_BUSY;
    lease->hint_ns = hint_ms * HFI_MSEC;
    lease->topic = (uint8_t)kind;
    lease->ticket = ticket;
    answer(stage, &lease->request, HFI_DONE, HF_OK);
}

void busy(struct stage *stage, const char *which, hfi_time hint_ms)
{
    busy_as(stage, which, hint_ms, HFI_TOPIC_LOCK, false);
}

void busy_with_ticket(struct stage *stage, const char *which, hfi_time hint_ms)
{
    busy_as(stage, which, hint_ms, HFI_TOPIC_LOCK, true);
}

void busy_kind(struct stage *stage, const char *which, enum hfi_topic kind)
{
    busy_as(stage, which, 30000, kind, false);
}

void busy_turn(struct stage *stage, const char *which)
{
    busy_as(stage, which, 30000, HFI_TOPIC_TURN, true);
}

static void verdict(struct stage *stage, const char *which, enum hfi_verdict said, uint32_t others)
{
    struct hfi_lease *lease = hfi_request_lease(take_out(stage, which));

    lease->verdict = (uint8_t)said;
    lease->others = others;
    answer(stage, &lease->request, HFI_DONE, HF_OK);
}

void already(struct stage *stage, const char *which)
{
    verdict(stage, which, HFI_ALREADY, 0);
}

void released(struct stage *stage, const char *which, uint32_t others)
{
    verdict(stage, which, HFI_RELEASED, others);
}

void gone(struct stage *stage, const char *which)
{
    verdict(stage, which, HFI_GONE, 0);
}

void renewed(struct stage *stage, const char *which, const char *lost)
{
    struct hfi_renewal *renewal = hfi_request_renewal(take_out(stage, which));

    for (size_t i = 0; i < renewal->count; i++) {
        const struct hfi_lease *lease = renewal->items[i].lease;
        char name[64];

        snprintf(name, sizeof name, "%s#%llu", lease->name, (unsigned long long)lease->owner);
        renewal->items[i].kept = !lost || strcmp(name, lost) != 0;
    }
    answer(stage, &renewal->request, HFI_DONE, HF_OK);
}

void done(struct stage *stage, const char *which)
{
    struct hfi_request *request = take_out(stage, which);

    if (request->op == HFI_OP_ANNOUNCE)
        hfi_request_announcement(request)->forgotten = false;
    answer(stage, request, HFI_DONE, HF_OK);
}

void forgotten(struct stage *stage, const char *which)
{
    struct hfi_request *request = take_out(stage, which);

    hfi_request_announcement(request)->forgotten = true;
    answer(stage, request, HFI_DONE, HF_OK);
}

void refused(struct stage *stage, const char *which, int error)
{
    answer(stage, take_out(stage, which), HFI_NOT_DONE, error);
}

void unknown(struct stage *stage, const char *which)
{
    answer(stage, take_out(stage, which), HFI_UNKNOWN, HF_ERR_UNSURE);
}

/* ------------------------------------------------------------------------------------------------
 * Crowds
 */

/* One input whose only request is answered at once. */
static void crowd_step(struct stage *stage, const struct hfi_input *input, enum hfi_verdict said,
                       uint64_t token)
{
    struct hfi_request *request;

    hfi_engine_step(&stage->engine, stage->now, input);
    request = hfi_engine_next_request(&stage->engine);
    request->sent_ns = stage->now;
    hfi_request_lease(request)->verdict = (uint8_t)said;
    hfi_request_lease(request)->token = token;
    hfi_request_finish(request, HFI_DONE, HF_OK);
    hfi_engine_step(&stage->engine, stage->now,
                    &(struct hfi_input){ .kind = HFI_INPUT_ANSWER, .u.request = request });
}

void crowd_acquire(struct stage *stage, struct crowd *crowd, size_t count)
{
    bool quiet = stage->quiet;

    stage->quiet = true;
    for (size_t i = 0; i < count; i++) {
        snprintf(crowd[i].name, sizeof crowd[i].name, "n%u", (unsigned)i % 10000);
        crowd[i].waiter = (struct hfi_waiter){ .name = crowd[i].name,
                                               .name_len = strlen(crowd[i].name),
                                               .owner = i + 1,
                                               .ttl_ms = 30000,
                                               .wait_ns = HF_TIME_NEVER,
                                               .handle = &crowd[i].handle };
        crowd_step(stage,
                   &(struct hfi_input){ .kind = HFI_INPUT_ACQUIRE, .u.waiter = &crowd[i].waiter },
                   HFI_GRANTED, i + 1);
        assert_ptr_equal(hfi_engine_next_done(&stage->engine), &crowd[i].waiter);
        assert_int_equal(crowd[i].waiter.result, HF_OK);
    }
    stage->quiet = quiet;
}

void crowd_release(struct stage *stage, struct crowd *crowd, size_t count)
{
    bool quiet = stage->quiet;

    stage->quiet = true;
    for (size_t i = 0; i < count; i++) {
        crowd_step(stage,
                   &(struct hfi_input){ .kind = HFI_INPUT_RELEASE, .u.handle = &crowd[i].handle },
                   HFI_RELEASED, 0);
        assert_ptr_equal(hfi_engine_next_released(&stage->engine), &crowd[i].handle.releaser);
    }
    stage->quiet = quiet;
}

/* ------------------------------------------------------------------------------------------------
 * What is expected
 */

void hush(struct stage *stage)
{
    stage->length = 0;
    stage->log[0] = '\0';
}

void expect(struct stage *stage, const char *text)
{
    if (strcmp(stage->log, text) != 0) {
        fprintf(stderr, "came out:\n%sexpected:\n%s", stage->log, text);
        fail();
    }
    hush(stage);
}

hfi_time elapsed_ms(const struct stage *stage)
{
    return (stage->now - stage->start) / HFI_MSEC;
}

void expect_tick(struct stage *stage, hfi_time from_ms, hfi_time to_ms)
{
    hfi_time at = (hfi_engine_deadline(&stage->engine) - stage->start) / HFI_MSEC;

    if (at < from_ms || at > to_ms)
        fail_msg("the next tick is due at %llu ms, not between %llu and %llu",
                 (unsigned long long)at, (unsigned long long)from_ms, (unsigned long long)to_ms);
}
