/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth: who holds what at the store. With nature.lines it keeps one queue a name, as the embedded store
 * does; else, as Redis, only fair owners have places, and writers for whom new readers wait.
 */
#include "world.h"

#include <utlist.h>

#define GRACE    (2 * HFI_SEC)  /* whose turn it is comes within, or loses its place */
#define SILENCE  (5 * HFI_SEC)  /* who has a place without a queue tries again within */
#define PREFERS  (3 * HFI_SEC)  /* readers wait for a writer that tried since */
#define REMEMBER (60 * HFI_SEC) /* what a semaphore gave */

static bool is_lock(uint8_t kind)
{
    return kind <= HFI_KIND_READ;
}

static enum hfi_topic topic_of(uint8_t kind)
{
    switch (kind) {
    case HFI_KIND_WRITE:
    case HFI_KIND_READ:
        return HFI_TOPIC_READ_WRITE;
    case HFI_KIND_PERMITS:
    case HFI_KIND_SEMAPHORE:
        return HFI_TOPIC_PERMITS;
    case HFI_KIND_LATCH:
        return HFI_TOPIC_LATCH;
    default:
        return HFI_TOPIC_LOCK;
    }
}

/* Tells all who listen, to that topic where there is no queue; how many there are. `of`: the one process that a
 * turn is told to, and its owner. */
static uint32_t publish(struct world *world, int name, enum hfi_topic topic,
                        const struct ticket *of)
{
    uint32_t count = 0;

    for (int i = 0; i < world->nature.processes; i++) {
        struct process *process = &world->process[i];
        struct listener *listener;
        bool any = false;

        if (!process->open || (of && of->process != i))
            continue;
        DL_FOREACH (process->listeners, listener) {
            if (!listener->active || listener->name != name)
                continue;
            if (!world->nature.lines &&
                (listener->topic != topic || (of && listener->owner != of->owner)))
                continue;
            listener->woken = any = true;
        }
        count += any;
    }
    return count;
}

/* ------------------------------------------------------------------------------------------------
 * What is there
 */

struct stored *store_find(const struct truth *truth, int process, uint64_t owner,
                          enum hfi_kind kind)
{
    struct stored *stored;

    DL_FOREACH (truth->held, stored) {
        if (stored->process == process && stored->owner == owner && stored->kind == kind)
            return stored;
    }
    return NULL;
}

struct stored *store_put(struct world *world, int name, int process, enum hfi_kind kind,
                         uint64_t owner, uint32_t permits, hfi_time expires_ns)
{
    struct truth *truth = &world->truth[name];
    struct stored *stored = calloc(1, sizeof *stored);

    stored->process = process;
    stored->kind = (uint8_t)kind;
    stored->owner = owner;
    stored->permits = permits;
    stored->expires_ns = expires_ns;
    DL_APPEND(truth->held, stored);
    truth->held_ns = world->now;
    truth->available -= permits;
    return stored;
}

static void forget(struct world *world, int name, struct stored *stored)
{
    struct truth *truth = &world->truth[name];

    if (stored->kind == HFI_KIND_PERMITS)
        truth->available += stored->permits;
    else if (stored->kind == HFI_KIND_SEMAPHORE && stored->process != STRANGER)
        world->process[stored->process].given[stored->owner].forgotten = true;
    DL_DELETE(truth->held, stored);
    free(stored);
}

static struct ticket *first_of(struct world *world, int name, uint8_t kind);

/* Somebody else may have it now. How many were told. */
static uint32_t tell_released(struct world *world, int name, uint8_t kind)
{
    const struct ticket *first =
        kind == HFI_KIND_FAIR && !world->nature.lines ? first_of(world, name, HFI_KIND_FAIR) : NULL;

    return publish(world, name, first ? HFI_TOPIC_TURN : topic_of(kind), first);
}

void store_remove(struct world *world, int name, struct stored *stored)
{
    uint8_t kind = stored->kind;

    world->truth[name].held_ns = world->now;
    forget(world, name, stored);
    tell_released(world, name, kind);
}

void store_give(struct world *world, int name, uint32_t permits)
{
    world->truth[name].available += permits;
    publish(world, name, HFI_TOPIC_PERMITS, NULL);
}

void store_count(struct world *world, int name, int64_t count, bool deleted)
{
    struct truth *truth = &world->truth[name];

    if (truth->available == 0)
        truth->open_ns = world->now; /* up to now */
    if (deleted)
        truth->deleted_ns = world->now;
    truth->available = count;
    if (count == 0)
        truth->open_ns = world->now;
    publish(world, name, HFI_TOPIC_LATCH, NULL);
}

bool store_is_open(const struct world *world, int name)
{
    return world->truth[name].available == 0;
}

void store_expire(struct world *world)
{
    for (int name = 0; name < NAMES; name++) {
        struct truth *truth = &world->truth[name];
        struct stored *stored, *tmp;

        DL_FOREACH_SAFE (truth->held, stored, tmp) {
            truth->held_ns =
                hfi_time_max(truth->held_ns, hfi_time_min(world->now, stored->expires_ns));
            if (world->now < stored->expires_ns)
                continue;
            tell(world, "%s of %d#%llu expires", WORLD_NAMES[name], stored->process,
                 (unsigned long long)stored->owner);
            forget(world, name, stored);
        }
    }
}

void store_close(struct world *world)
{
    struct stored *stored, *tmp;

    for (int name = 0; name < NAMES; name++)
        DL_FOREACH_SAFE (world->truth[name].held, stored, tmp) {
            free(stored);
        }
}

/* ------------------------------------------------------------------------------------------------
 * Places
 */

static uint64_t place_owner(const struct world *world, uint8_t kind, uint64_t owner)
{
    return kind == HFI_KIND_FAIR || (kind == HFI_KIND_WRITE && !world->nature.lines) ? owner : 0;
}

static int place_of(const struct world *world, const struct truth *truth, const struct deed *deed)
{
    for (int i = 0; i < truth->line_length; i++) {
        const struct ticket *at = &truth->line[i];

        if (at->process == deed->process && at->kind == deed->kind &&
            at->owner == place_owner(world, deed->kind, deed->owner))
            return i;
    }
    return -1;
}

static void drop_ticket(struct truth *truth, int place)
{
    truth->line_length--;
    for (int i = place; i < truth->line_length; i++)
        truth->line[i] = truth->line[i + 1];
}

static void leave_line(struct world *world, const struct deed *deed)
{
    struct truth *truth = &world->truth[deed->name];
    int place = place_of(world, truth, deed);
    const struct ticket *first;

    if (place < 0)
        return;
    drop_ticket(truth, place);
    if (world->nature.lines || deed->kind == HFI_KIND_WRITE) {
        publish(world, deed->name, HFI_TOPIC_READ_WRITE, NULL); /* the next one may go */
        return;
    }
    first = first_of(world, deed->name, HFI_KIND_FAIR);
    if (first && !truth->held)
        publish(world, deed->name, HFI_TOPIC_TURN, first);
}

static bool is_over(const struct world *world, const struct ticket *ticket)
{
    if (world->nature.lines)
        return ticket->called_ns && world->now - ticket->called_ns > GRACE;
    return world->now - ticket->tried_ns > (ticket->kind == HFI_KIND_WRITE ? PREFERS : SILENCE);
}

/* The first of the queue (where there is one: of any kind); those that do not come are taken out. */
static struct ticket *first_of(struct world *world, int name, uint8_t kind)
{
    struct truth *truth = &world->truth[name];

    for (int i = 0; i < truth->line_length;) {
        struct ticket *at = &truth->line[i];

        if (is_over(world, at)) {
            drop_ticket(truth, i);
            i = 0;
        } else if (world->nature.lines || at->kind == kind) {
            return at;
        } else {
            i++;
        }
    }
    return NULL;
}

static void take_place(struct world *world, const struct deed *deed)
{
    struct truth *truth = &world->truth[deed->name];
    int place = place_of(world, truth, deed);

    if (place < 0) {
        MUST(world, truth->line_length < LINE);
        place = truth->line_length++;
        truth->line[place] =
            (struct ticket){ .process = deed->process,
                             .kind = deed->kind,
                             .owner = place_owner(world, deed->kind, deed->owner) };
    }
    truth->line[place].tried_ns = world->now;
}

static bool has_places(const struct world *world, const struct deed *deed)
{
    if (deed->kind == HFI_KIND_LATCH)
        return false;
    if (world->nature.lines)
        return deed->queue;
    return (deed->kind == HFI_KIND_FAIR && deed->queue) ||
           (deed->kind == HFI_KIND_WRITE && deed->prefer);
}

/* Whoever is before this one, and could go now. */
static struct ticket *whose_turn(struct world *world, const struct deed *deed)
{
    struct ticket *first;
    uint8_t kind = deed->kind == HFI_KIND_READ ? HFI_KIND_WRITE : HFI_KIND_FAIR;

    if (!world->nature.lines && deed->kind != HFI_KIND_FAIR && deed->kind != HFI_KIND_READ)
        return NULL;
    first = first_of(world, deed->name, kind);
    if (!first || (first->process == deed->process && first->kind == deed->kind &&
                   first->owner == place_owner(world, deed->kind, deed->owner)))
        return NULL;
    return first;
}

/* ------------------------------------------------------------------------------------------------
 * TRY
 */

/* What keeps it out; NULL: nothing. */
static const struct stored *in_the_way(const struct truth *truth, const struct deed *deed)
{
    const struct stored *stored;

    if (!is_lock(deed->kind))
        return NULL;
    DL_FOREACH (truth->held, stored) {
        bool own = stored->process == deed->process && stored->owner == deed->owner;

        if (deed->kind == HFI_KIND_READ &&
            (stored->kind == HFI_KIND_READ || (own && stored->kind == HFI_KIND_WRITE)))
            continue;
        return stored;
    }
    return NULL;
}

static void be_busy(struct world *world, const struct deed *deed, const struct stored *stored,
                    struct verdict *verdict)
{
    struct truth *truth = &world->truth[deed->name];

    verdict->said = HFI_BUSY;
    verdict->topic = (uint8_t)topic_of(stored ? stored->kind : deed->kind);
    if (deed->kind == HFI_KIND_FAIR && verdict->topic == HFI_TOPIC_LOCK)
        verdict->topic = HFI_TOPIC_TURN;
    if (is_lock(deed->kind) && chance(world, 20))
        verdict->topic = HFI_TOPIC_READ_WRITE;
    verdict->hint_ns = stored ? hfi_time_until(world->now, stored->expires_ns) : HFI_SEC;
    truth->held_ns = world->now;
    if (has_places(world, deed))
        take_place(world, deed);
    verdict->ticket = place_of(world, truth, deed) >= 0;
}

static bool has_room(const struct truth *truth, const struct deed *deed)
{
    return deed->permits == 0 || truth->available >= (int64_t)deed->permits;
}

static void grant(struct world *world, const struct deed *deed, struct verdict *verdict)
{
    struct truth *truth = &world->truth[deed->name];
    bool fenced = deed->kind == HFI_KIND_FENCED;
    hfi_time ttl = deed->kind == HFI_KIND_SEMAPHORE ? REMEMBER : deed->ttl_ms * HFI_MSEC;

    leave_line(world, deed);
    store_put(world, deed->name, deed->process, (enum hfi_kind)deed->kind, deed->owner,
              deed->permits, world->now + ttl);
    if (deed->kind == HFI_KIND_SEMAPHORE) {
        struct given *given = &world->process[deed->process].given[deed->owner];

        given->permits = deed->permits;
        given->late = given->released;
        given->undone = given->forgotten = false;
    }
    verdict->said = HFI_GRANTED;
    verdict->token = truth->token[fenced] + 1 + draw(world, 3);
    verdict->tokens = 1 + (uint32_t)draw(world, deed->tokens);
    truth->token[fenced] = verdict->token + verdict->tokens - 1;
}

static void try_latch(struct world *world, const struct deed *deed, struct verdict *verdict)
{
    const struct truth *truth = &world->truth[deed->name];

    if (truth->available > 0)
        be_busy(world, deed, NULL, verdict);
    else if (truth->deleted_ns && world->now - truth->deleted_ns < REMEMBER &&
             truth->open_ns == truth->deleted_ns)
        verdict->said = HFI_GONE;
    else
        verdict->said = HFI_GRANTED;
}

static void execute_try(struct world *world, const struct deed *deed, struct verdict *verdict)
{
    struct truth *truth = &world->truth[deed->name];
    const struct stored *stored;
    struct ticket *first;

    if (deed->kind == HFI_KIND_LATCH) {
        try_latch(world, deed, verdict);
        return;
    }
    if (store_find(truth, deed->process, deed->owner, (enum hfi_kind)deed->kind)) {
        verdict->said = HFI_ALREADY;
        return;
    }
    stored = in_the_way(truth, deed);
    if (stored || !has_room(truth, deed)) {
        be_busy(world, deed, stored, verdict);
        return;
    }
    first = whose_turn(world, deed);
    if (first && !store_find(truth, deed->process, deed->owner, HFI_KIND_WRITE)) {
        first->called_ns = first->called_ns ? first->called_ns : world->now;
        be_busy(world, deed, NULL, verdict);
        return;
    }
    grant(world, deed, verdict);
}

/* ------------------------------------------------------------------------------------------------
 * The rest
 */

static void execute_release(struct world *world, const struct deed *deed, struct verdict *verdict)
{
    struct truth *truth = &world->truth[deed->name];
    struct stored *stored =
        store_find(truth, deed->process, deed->owner, (enum hfi_kind)deed->kind);

    MUST(world, deed->kind != HFI_KIND_LATCH);
    verdict->said = HFI_GONE;
    if (deed->kind == HFI_KIND_SEMAPHORE)
        world->process[deed->process].given[deed->owner].released = true;
    if (deed->kind == HFI_KIND_FAIR || (deed->kind == HFI_KIND_WRITE && !world->nature.lines))
        leave_line(world, deed);
    if (!stored)
        return;
    if (deed->kind == HFI_KIND_SEMAPHORE) {
        world->process[deed->process].given[deed->owner].undone = true;
        truth->available += stored->permits;
    }
    truth->held_ns = world->now;
    forget(world, deed->name, stored);
    verdict->said = HFI_RELEASED;
    verdict->others = tell_released(world, deed->name, deed->kind);
}

static void execute_renewal(struct world *world, const struct deed *deed, struct verdict *verdict)
{
    for (size_t i = 0; i < deed->count; i++) {
        struct truth *truth = &world->truth[deed->item[i].name];
        struct stored *stored = store_find(truth, deed->process, deed->item[i].owner,
                                           (enum hfi_kind)deed->item[i].kind);

        verdict->kept[i] = stored != NULL;
        if (stored && deed->item[i].ttl_ms)
            stored->expires_ns = world->now + deed->item[i].ttl_ms * HFI_MSEC;
    }
}

static void execute_announcement(struct world *world, const struct deed *deed,
                                 struct verdict *verdict)
{
    struct process *process = &world->process[deed->process];

    verdict->forgotten = !process->known;
    process->known = true;
    for (size_t i = 0; i < deed->count; i++) {
        uint8_t kind = deed->item[i].kind;
        struct registered *seen = &process->registry[deed->item[i].name][kind];

        if (kind == HFI_KIND_FAIR && !deed->item[i].held && seen->owner != deed->item[i].owner)
            continue; /* another owner has it by now */
        seen->held = deed->item[i].held;
        seen->owner = deed->item[i].owner;
        seen->token = deed->item[i].token;
        seen->waiters = deed->item[i].waiters;
        seen->field = deed->item[i].held || deed->item[i].waiters || deed->item[i].watching;
    }
}

void store_execute(struct world *world, const struct deed *deed, struct verdict *verdict)
{
    memset(verdict, 0, sizeof *verdict);
    store_expire(world);
    switch ((enum hfi_op)deed->op) {
    case HFI_OP_TRY:
        execute_try(world, deed, verdict);
        break;
    case HFI_OP_RELEASE:
        execute_release(world, deed, verdict);
        break;
    case HFI_OP_RENEW:
        execute_renewal(world, deed, verdict);
        break;
    case HFI_OP_LEAVE:
        leave_line(world, deed);
        break;
    case HFI_OP_ANNOUNCE:
        execute_announcement(world, deed, verdict);
        break;
    case HFI_OP_FAREWELL:
        world->process[deed->process].known = false;
        memset(world->process[deed->process].registry, 0,
               sizeof world->process[deed->process].registry);
        break;
    default:
        break; /* watches: world_net.c */
    }
}
