/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <utlist.h>

const char *const WORLD_NAMES[NAMES] = { "L", "M", "N" };

uint64_t draw(struct world *world, uint64_t below)
{
    return hfi_random_below(&world->random, below);
}

bool chance(struct world *world, unsigned in_a_thousand)
{
    return draw(world, 1000) < in_a_thousand;
}

struct held *some_held(struct world *world, const struct process *process)
{
    struct held *held;
    int count = 0;

    DL_COUNT(process->helds, held, count);
    if (count == 0)
        return NULL;
    held = process->helds;
    for (uint64_t i = draw(world, (uint64_t)count); i > 0; i--)
        held = held->next;
    return held;
}

/* The last lines are kept, and shown when something is wrong. */
void tell(struct world *world, const char *format, ...)
{
    char *line = world->line[world->lines++ % LOG_LINES];
    int n = snprintf(line, sizeof world->line[0], "%10.3f ms  ",
                     (double)(world->now - world->start) / 1e6);
    va_list args;

    va_start(args, format);
    vsnprintf(line + n, sizeof world->line[0] - (size_t)n, format, args);
    va_end(args);
    if (world->loud)
        fprintf(stderr, "%s\n", line);
}

_Noreturn void world_fail(struct world *world, const char *what, const char *file, int line)
{
    size_t first = world->lines > LOG_LINES ? world->lines - LOG_LINES : 0;

    for (size_t i = first; i < world->lines && !world->loud; i++)
        fprintf(stderr, "%s\n", world->line[i % LOG_LINES]);
    fprintf(stderr, "seed %llu: %s:%d: %s\n", (unsigned long long)world->seed, file, line, what);
    fflush(NULL);
    abort();
}

static void hear(void *arg, enum hf_trace_level level, const char *text)
{
    struct world *world = arg;

    MUST(world, strncmp(text, "internal error", 14) != 0);
    if (level == HF_TRACE_DEBUG)
        tell(world, "   %s", text);
}

/* ------------------------------------------------------------------------------------------------
 * What comes out of an engine
 */

static void take_result(struct world *world, struct process *process, struct hfi_waiter *waiter)
{
    struct call *call = waiter->cookie;

    MUST(world, !call->done);
    call->done = true;
    tell(world, "%d: call %llu of %s: %d", process->number, (unsigned long long)call->number,
         WORLD_NAMES[call->name], waiter->result);
    check_result(world, process, call);
    DL_DELETE(process->calls, call);
    if (waiter->result == HF_OK && waiter->kind != HFI_KIND_LATCH)
        DL_APPEND(process->helds, call->held);
    else
        free(call->held);
    free(waiter->label);
    free(call);
}

static void take_release(struct world *world, struct process *process,
                         struct hfi_releaser *releaser)
{
    struct held *held = (struct held *)((char *)releaser - offsetof(struct held, handle.releaser));

    MUST(world, held->releasing);
    if (releaser->result == HF_ERR_LOST && !world->truth[held->name].tampered &&
        held->kind != HFI_KIND_SEMAPHORE)
        MUST(world, held->told_lost || world->now >= held->deadline_ns);
    MUST(world, releaser->result == HF_OK || releaser->result == HF_ERR_LOST ||
                    releaser->result == HF_ERR_UNSURE ||
                    (releaser->result == HF_ERR_CLOSED && process->engine.closing));
    MUST(world, !(held->told_lost && releaser->result == HF_OK));
    tell(world, "%d: released %s: %d", process->number, WORLD_NAMES[held->name], releaser->result);
    free(held);
}

static void take_news(struct world *world, struct process *process)
{
    struct hfi_handle *handle;
    enum hfi_news news;

    while ((handle = hfi_engine_next_news(&process->engine, &news))) {
        const struct hfi_lease *lease = &handle->hold->lease;
        struct record *record = record_of(process, (enum hfi_kind)lease->kind, lease->owner);
        struct held *held = (struct held *)((char *)handle - offsetof(struct held, handle));

        MUST(world, !held->releasing);
        if (news == HFI_NEWS_AT_RISK) {
            MUST(world, !record->told_lost && !handle->hold->fixed);
            world->statistics->at_risk++;
            continue;
        }
        MUST(world, news == HFI_NEWS_LOST && record->told_lost++ == 0);
        MUST(world, hfi_hold_state_of(handle->hold) == HFI_HOLD_LOST);
        held->told_lost = true;
        world->statistics->lost++;
    }
}

static void take_all(struct world *world, struct process *process)
{
    struct hfi_request *request;
    struct hfi_waiter *waiter;
    struct hfi_releaser *releaser;

    while ((request = hfi_engine_next_request(&process->engine)))
        net_submit(world, process, request);
    while ((waiter = hfi_engine_next_done(&process->engine)))
        take_result(world, process, waiter);
    while ((waiter = hfi_engine_next_woken(&process->engine)))
        ((struct call *)waiter->cookie)->called = true;
    while ((releaser = hfi_engine_next_released(&process->engine)))
        take_release(world, process, releaser);
    take_news(world, process);
}

void world_input(struct world *world, struct process *process, const struct hfi_input *input)
{
    if (world->arm)
        world->arm(true);
    hfi_engine_step(&process->engine, world->now, input);
    if (world->arm)
        world->arm(false);
    take_all(world, process);
}

/* ------------------------------------------------------------------------------------------------
 * Beginning and end
 */

/* What each name is for, and which of the kinds are asked for: all that fit, or some. */
static void draw_kinds(struct world *world)
{
    static const uint32_t SETS[] = {
        HFI_KIND_BIT(HFI_KIND_READ) | HFI_KIND_BIT(HFI_KIND_WRITE),
        HFI_KIND_BIT(HFI_KIND_FAIR),
        HFI_KIND_BIT(HFI_KIND_MUTEX) | HFI_KIND_BIT(HFI_KIND_SPIN) | HFI_KIND_BIT(HFI_KIND_FENCED),
        HFI_KIND_BIT(HFI_KIND_FAIR) | HFI_KIND_BIT(HFI_KIND_READ) | HFI_KIND_BIT(HFI_KIND_WRITE),
        HFI_KIND_BIT(HFI_KIND_READ + 1) - 1,
    };
    static const enum hfi_kind COUNTED[THEMES] = {
        [PERMITS] = HFI_KIND_PERMITS, [SEMAPHORE] = HFI_KIND_SEMAPHORE, [LATCH] = HFI_KIND_LATCH
    };
    struct nature *nature = &world->nature;

    for (int i = 0; i < NAMES; i++) {
        enum theme theme = chance(world, 500) ? LOCKS : (enum theme)draw(world, THEMES);

        nature->theme[i] = theme;
        nature->kinds_of[i] =
            theme == LOCKS ? SETS[draw(world, UNIT_COUNT(SETS))] : HFI_KIND_BIT(COUNTED[theme]);
        if (theme == PERMITS || theme == SEMAPHORE)
            world->truth[i].total = world->truth[i].available = 1 + (int64_t)draw(world, 4);
        if (theme == LATCH)
            world->truth[i].available = (int64_t)draw(world, 3);
        nature->strangers |= theme == LATCH; /* who counts */
        world->truth[i].open_ns = world->now;
    }
}

static void draw_nature(struct world *world)
{
    static const uint32_t TTLS[] = { 100, 150, 300, 1000, 5000, 30000 };
    static const unsigned TROUBLE[] = { 0, 5, 20, 60 };
    struct nature *nature = &world->nature;

    nature->processes = 1 + (int)draw(world, PROCESSES);
    nature->names = 1 + (int)draw(world, NAMES);
    nature->two_lanes = chance(world, 500);
    nature->lines = chance(world, 400);
    nature->announces = chance(world, 500);
    nature->killing = chance(world, 600);
    nature->strangers = chance(world, 400);
    nature->tampering = chance(world, 200);
    for (int i = 0; i < 3; i++)
        nature->ttl_ms[i] = TTLS[draw(world, UNIT_COUNT(TTLS))];
    nature->trouble = TROUBLE[draw(world, UNIT_COUNT(TROUBLE))];
    for (int i = 0; i < NAMES; i++)
        nature->kinds_of[i] = HFI_KIND_BIT(HFI_KIND_MUTEX);
    if (nature->kinds)
        draw_kinds(world);
}

static void open_process(struct world *world, int number)
{
    struct process *process = &world->process[number];
    struct hfi_engine_config config = {
        .poll_ns = HFI_SEC,
        .pass_ns = chance(world, 200) ? 0 : 10 * HFI_MSEC,
        .pass_count = chance(world, 500) ? 3 : 1000,
        .op_timeout_ns = chance(world, 500) ? 2 * HFI_SEC : 300 * HFI_MSEC,
        .announces = world->nature.announces,
        .seed = draw(world, UINT64_MAX),
        .trace = { .hook = hear, .arg = world },
    };

    process->number = number;
    process->open = process->up = true;
    process->fresh = 1000;
    MUST(world, hfi_engine_init(&process->engine, world->now, &config) == HF_OK);
}

void world_open(struct world *world, uint64_t seed, bool kinds, struct statistics *statistics)
{
    memset(world, 0, sizeof *world);
    world->seed = seed;
    world->nature.kinds = kinds;
    world->statistics = statistics;
    world->loud = unit_number("HF_TEST_TRACE", 0) != 0;
    hfi_random_init(&world->random, seed);
    world->now = world->start = HFI_SEC + draw(world, UINT64_C(1) << 55);
    draw_nature(world);
    for (int i = 0; i < world->nature.processes; i++)
        open_process(world, i);
}

static void free_parcels(struct process *process)
{
    struct parcel *parcel, *tmp;
    struct ghost *ghost, *next;
    struct listener *listener, *other;

    DL_FOREACH_SAFE (process->listeners, listener, other) {
        free(listener);
    }
    for (int lane = 0; lane < 2; lane++)
        DL_FOREACH_SAFE (process->lane[lane], parcel, tmp) {
            free(parcel);
        }
    DL_FOREACH_SAFE (process->ghosts, ghost, next) {
        free(ghost);
    }
}

/* All handles that are still out live longer than their engine. */
static void close_process(struct world *world, struct process *process)
{
    struct held *held, *tmp;

    MUST(world, !process->calls && hfi_engine_quiet(&process->engine));
    hfi_engine_fini(&process->engine);
    DL_FOREACH_SAFE (process->helds, held, tmp) {
        hfi_engine_drop_handle(&held->handle);
        free(held);
    }
    free_parcels(process);
}

void world_close(struct world *world)
{
    for (int i = 0; i < world->nature.processes; i++)
        close_process(world, &world->process[i]);
    store_close(world);
}

/* ------------------------------------------------------------------------------------------------
 * What processes do
 */

/* Owners that the program did not name make one call at a time. */
static bool is_in_a_call(const struct process *process, uint8_t kind, uint64_t owner)
{
    const struct call *call;

    DL_FOREACH (process->calls, call) {
        if (call->waiter.owner_kind == kind && call->waiter.owner == owner)
            return kind != KIND_NAMED;
    }
    return false;
}

static bool draw_owner(struct world *world, struct process *process, struct hfi_waiter *waiter)
{
    waiter->owner_kind = (uint8_t)draw(world, 3);
    waiter->named = waiter->owner_kind == KIND_NAMED;
    waiter->direct = waiter->owner_kind == KIND_FRESH || (waiter->named && chance(world, 500));
    if (waiter->owner_kind == KIND_FRESH)
        waiter->owner = ++process->fresh;
    else
        waiter->owner = 1 + draw(world, waiter->named ? 2 : THREADS);
    return !is_in_a_call(process, waiter->owner_kind, waiter->owner);
}

static void draw_options(struct world *world, struct hfi_waiter *waiter)
{
    waiter->ttl_ms = world->nature.ttl_ms[chance(world, 700) ? 0 : draw(world, 3)];
    waiter->fixed = chance(world, 100);
    waiter->wait_ns = HF_TIME_NEVER;
    if (chance(world, 250))
        waiter->once = true;
    else if (chance(world, 400))
        waiter->wait_ns = 1 + draw(world, 3 * HFI_SEC);
    if (chance(world, 150))
        waiter->max_hold_ns = 1 + draw(world, 2 * waiter->ttl_ms * HFI_MSEC);
    if (chance(world, 300))
        waiter->label = strdup("why");
}

/* Who has something often asks for the same name again, in whatever kind. */
static int draw_name(struct world *world, const struct process *process, struct hfi_waiter *waiter)
{
    struct held *held =
        world->nature.kinds && chance(world, 250) ? some_held(world, process) : NULL;

    if (!held || is_in_a_call(process, held->handle.hold->owner_kind, held->handle.hold->owner))
        return (int)draw(world, (uint64_t)world->nature.names);
    waiter->owner = held->handle.hold->owner;
    waiter->owner_kind = held->handle.hold->owner_kind;
    waiter->named = waiter->owner_kind == KIND_NAMED;
    return held->name;
}

static void draw_kind(struct world *world, int name, struct hfi_waiter *waiter)
{
    const struct truth *truth = &world->truth[name];
    uint32_t kinds = world->nature.kinds_of[name];

    if (!world->nature.kinds)
        return;
    do
        waiter->kind = (uint8_t)draw(world, HFI_KIND_COUNT);
    while (!(kinds & HFI_KIND_BIT(waiter->kind)));
    waiter->no_reentry = waiter->kind <= HFI_KIND_READ && chance(world, 150);
    waiter->prefer = waiter->kind == HFI_KIND_WRITE && chance(world, 300);
    if (truth->total)
        waiter->permits = 1 + (uint32_t)draw(world, (uint64_t)truth->total);
    if (waiter->kind < HFI_KIND_SEMAPHORE)
        return;
    waiter->ttl_ms = 60000; /* as src/api asks for what is no lease */
    waiter->fixed = true;
    waiter->max_hold_ns = 0;
    free(waiter->label);
    waiter->label = NULL;
}

void world_acquire(struct world *world, struct process *process)
{
    struct call *call = calloc(1, sizeof *call);
    char name[2];

    if (!draw_owner(world, process, &call->waiter)) {
        free(call);
        return;
    }
    draw_options(world, &call->waiter);
    call->held = calloc(1, sizeof *call->held);
    call->number = ++world->calls;
    call->process = process->number;
    call->name = call->held->name = draw_name(world, process, &call->waiter);
    draw_kind(world, call->name, &call->waiter);
    call->held->kind = call->waiter.kind;
    call->start_ns = world->now;
    memcpy(name, WORLD_NAMES[call->name], 2); /* only read by the input that starts it */
    call->waiter.name = name;
    call->waiter.name_len = 1;
    call->waiter.handle = call->waiter.kind == HFI_KIND_LATCH ? NULL : &call->held->handle;
    call->waiter.cookie = call;
    DL_APPEND(process->calls, call);
    tell(world, "%d: call %llu acquires %s, kind %d %u, owner %d:%llu%s%s, ttl %u, wait %lld",
         process->number, (unsigned long long)call->number, name, call->waiter.kind,
         call->waiter.permits, call->waiter.owner_kind, (unsigned long long)call->waiter.owner,
         call->waiter.fixed ? ", fixed" : "", call->waiter.once ? ", once" : "",
         call->waiter.ttl_ms,
         call->waiter.wait_ns == HF_TIME_NEVER ? -1LL
                                               : (long long)(call->waiter.wait_ns / HFI_MSEC));
    world_input(world, process,
                &(struct hfi_input){ .kind = HFI_INPUT_ACQUIRE, .u.waiter = &call->waiter });
    memset(name, '!', sizeof name);
}

void world_release(struct world *world, struct process *process, struct held *held)
{
    struct check *check;

    DL_DELETE(process->helds, held);
    DL_FOREACH (process->checks, check) {
        if (check->held == held)
            check->held = NULL;
    }
    held->releasing = true;
    held->deadline_ns = hfi_hold_valid(held->handle.hold, world->now)
                            ? hfi_hold_deadline(held->handle.hold)
                            : world->now;
    tell(world, "%d: releases %s", process->number, WORLD_NAMES[held->name]);
    world_input(world, process,
                &(struct hfi_input){ .kind = HFI_INPUT_RELEASE, .u.handle = &held->handle });
}

void world_keep(struct world *world, struct process *process, struct held *held)
{
    struct given *given = &process->given[held->handle.hold->lease.owner];

    DL_DELETE(process->helds, held);
    tell(world, "%d: has permits of %s", process->number, WORLD_NAMES[held->name]);
    given->kept = true;
    store_give(world, held->name, given->permits);
    world_input(world, process,
                &(struct hfi_input){ .kind = HFI_INPUT_FORGET, .u.handle = &held->handle });
    free(held);
}

void world_cancel(struct world *world, struct process *process, struct call *call)
{
    tell(world, "%d: cancels call %llu", process->number, (unsigned long long)call->number);
    call->cancelled = true;
    world_input(world, process,
                &(struct hfi_input){ .kind = HFI_INPUT_CANCEL,
                                     .error = HF_ERR_CANCELLED,
                                     .u.waiter = &call->waiter });
}

void world_take(struct world *world, struct process *process, struct call *call)
{
    call->called = false;
    tell(world, "%d: call %llu comes", process->number, (unsigned long long)call->number);
    world_input(world, process,
                &(struct hfi_input){ .kind = HFI_INPUT_TAKE, .u.waiter = &call->waiter });
}

void world_verify(struct world *world, struct process *process, struct held *held)
{
    struct check *check = calloc(1, sizeof *check);

    check->held = held;
    check->item.lease = &held->handle.hold->lease;
    check->renewal.items = &check->item;
    check->renewal.count = 1;
    check->renewal.request.host = check;
    DL_APPEND(process->checks, check);
    world->statistics->verified++;
    world_input(world, process,
                &(struct hfi_input){ .kind = HFI_INPUT_VERIFY, .u.renewal = &check->renewal });
}

void world_shut(struct world *world, struct process *process)
{
    tell(world, "%d: closes", process->number);
    world_input(world, process, &(struct hfi_input){ .kind = HFI_INPUT_CLOSE });
    MUST(world, !process->calls); /* every acquire has its result at once */
}

/* ------------------------------------------------------------------------------------------------
 * Time
 */

void world_pass(struct world *world, hfi_time ns, bool lazy)
{
    world->now += ns;
    store_expire(world);
    for (int i = 0; i < world->nature.processes; i++) {
        struct process *process = &world->process[i];

        if (lazy && chance(world, 500))
            continue; /* it is not scheduled: answers may be read before it looks at the clock */
        net_tick(world, process);
        world_input(world, process, &(struct hfi_input){ .kind = HFI_INPUT_TICK });
        MUST(world, hfi_engine_deadline(&process->engine) > world->now);
    }
}
