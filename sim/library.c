/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "checks.h"
#include "sim.h"
#include "sim_mutant.h"

#define GRACE_NS (100 * HFI_MSEC) /* a head that was called and does not come is overdue */
#define TRUTH_NS (120 * HFI_USEC) /* a request's own time */

/* A client of a process' life: what dies with it. */
struct peer {
    struct sim_process *process;
    uint64_t life;
};

/* A place in the line: of a client and kind; of fair owners, and of numbers of permits, each its own. */
struct ticket {
    struct peer peer;
    uint8_t kind;
    uint64_t place;
    int64_t units;
    hfi_time called_ns;
};

struct hold {
    struct peer peer;
    uint8_t kind;
    uint64_t owner, token;
    int64_t units;
    hfi_time expires_ns; /* by the host's clock */
};

/* Something that was done once, and is not done again: what a semaphore gave an owner, a step with a number. */
struct done {
    struct done *next;
    struct peer peer;
    uint64_t serial;
    int64_t units; /* 0: an object's, or taken back */
};

#define TICKETS 2048
#define HOLDS   1024

struct row {
    struct hold hold[HOLDS];
    unsigned held;
    struct ticket line[TICKETS];
    unsigned waiting;
    int64_t number; /* semaphore: there; latch: the count */
    hfi_time deleted_ns;
    struct done *done;
};

struct sim_library {
    struct hfi_random random;
    struct row row[SIM_LOCKS_MAX];
    uint64_t token;
    hfi_time trouble_until; /* true time */
};

struct library_store {
    struct hfi_store store; /* first member */
    struct sim_process *process;
    struct hfi_watch *watches; /* in force */
    struct hfi_watch *woken;
    bool news[SIM_LOCKS_MAX]; /* a wake-up that was not collected yet */
};

static struct library_store *store_of(struct hfi_store *store)
{
    return (struct library_store *)store;
}

static struct sim_library *library_of(const struct library_store *store)
{
    return store->process->sim->library;
}

static struct sim_lock *lock_of(const struct library_store *store, const char *name, size_t len)
{
    return sim_lock_find(store->process->sim, 0, name, len);
}

/* ------------------------------------------------------------------------------------------------
 * Peers
 */

static struct peer peer_of(const struct library_store *store)
{
    return (struct peer){ store->process, store->process->life_number };
}

static bool is_same(struct peer a, struct peer b)
{
    return a.process == b.process && a.life == b.life;
}

static bool is_alive(struct peer peer)
{
    return peer.process->life_number == peer.life && peer.process->life != SIM_LIFE_NONE &&
           peer.process->life != SIM_LIFE_CLOSED;
}

static void wake(struct peer peer, const struct sim_lock *lock)
{
    struct sim *sim = peer.process->sim;
    bool is_lost = sim->plan.profile != SIM_CALM && sim_below(&sim->library->random, 64) == 0;

    if (!is_alive(peer) || is_lost)
        return;
    store_of(peer.process->store)->news[lock->index] = true;
    peer.process->collect_wanted = true;
    sim_worker_kick(peer.process);
}

/* ------------------------------------------------------------------------------------------------
 * What is held
 */

#define ALL (INT64_C(1) << 40) /* of a lock: more than all permits */

static int64_t units_of(const struct hfi_lease *lease)
{
    switch (lease->kind) {
    case HFI_KIND_READ:
        return 1;
    case HFI_KIND_PERMITS:
    case HFI_KIND_SEMAPHORE:
        return lease->permits;
    default:
        return ALL;
    }
}

static struct hold *find_hold(struct row *row, struct peer peer, uint64_t owner, bool reads)
{
    for (unsigned i = 0; i < row->held; i++)
        if (is_same(row->hold[i].peer, peer) && row->hold[i].owner == owner &&
            (row->hold[i].kind == HFI_KIND_READ) == reads)
            return &row->hold[i];
    return NULL;
}

static void drop_hold(struct row *row, struct hold *hold)
{
    *hold = row->hold[--row->held];
}

/* Those that are over, or whose client is dead, go. */
static void clear(struct row *row, hfi_time now)
{
    for (unsigned i = 0; i < row->held;) {
        if (row->hold[i].expires_ns > now && is_alive(row->hold[i].peer))
            i++;
        else
            drop_hold(row, &row->hold[i]);
    }
}

static int64_t all_of(const struct sim_lock *lock)
{
    return lock->theme == SIM_LOCKS ? ALL : lock->total;
}

/* How much is left. */
static int64_t left_of(const struct sim_lock *lock, struct row *row, hfi_time now)
{
    int64_t left = all_of(lock);

    clear(row, now);
    if (lock->theme == SIM_SEMAPHORE)
        return row->number;
    for (unsigned i = 0; i < row->held; i++)
        left -= row->hold[i].units;
    return left + (lock->theme == SIM_PERMITS && MUTANT(library_beyond));
}

/* When the first of them ends. */
static hfi_time first_end(const struct row *row)
{
    hfi_time first = HF_TIME_NEVER;

    for (unsigned i = 0; i < row->held; i++)
        first = hfi_time_min(first, row->hold[i].expires_ns);
    return first;
}

/* The checks are told until when somebody has it. */
static void report(const struct sim_library *library, struct sim_lock *lock)
{
    const struct row *row = &library->row[lock->index];
    hfi_time last = 0;

    for (unsigned i = 0; i < row->held; i++)
        last = hfi_time_max(last, row->hold[i].expires_ns);
    if (lock->theme == SIM_LATCH)
        last = row->number > 0 ? HF_TIME_NEVER : 0;
    if (lock->theme == SIM_LATCH)
        sim_check_latch(lock, row->number == 0);
    lock->counted = lock->sim->world.now;
    sim_check_lock_changed(lock, last && last != HF_TIME_NEVER
                                     ? sim_clock_when(&lock->sim->host[0].clock, last)
                                     : last);
}

/* ------------------------------------------------------------------------------------------------
 * The line
 */

static uint64_t place_in(const struct hfi_lease *lease)
{
    if (lease->kind == HFI_KIND_FAIR)
        return lease->owner;
    return lease->kind == HFI_KIND_PERMITS || lease->kind == HFI_KIND_SEMAPHORE ? lease->permits
                                                                                : 0;
}

/* How the checks know one that waits. */
struct waiter_text {
    char text[64];
    struct sim_arg arg;
};

static const struct sim_arg *text_of(struct waiter_text *text, const struct ticket *ticket)
{
    text->arg.at = text->text;
    text->arg.len = (size_t)snprintf(
        text->text, sizeof text->text, "p%u.%llu:%u:%llu", ticket->peer.process->index,
        (unsigned long long)ticket->peer.life, ticket->kind, (unsigned long long)ticket->place);
    return &text->arg;
}

static void drop_ticket(struct row *row, unsigned at)
{
    memmove(row->line + at, row->line + at + 1, (row->waiting - at - 1) * sizeof row->line[0]);
    row->waiting--;
}

static int place_of(const struct row *row, struct peer peer, uint8_t kind, uint64_t place)
{
    for (unsigned i = 0; i < row->waiting; i++)
        if (is_same(row->line[i].peer, peer) && row->line[i].kind == kind &&
            row->line[i].place == place)
            return (int)i;
    return -1;
}

/* Those that are dead, or were called and do not come, go; but not `mine`. */
static void clear_line(struct row *row, hfi_time now, const struct ticket *mine)
{
    for (unsigned i = 0; i < row->waiting;) {
        const struct ticket *at = &row->line[i];
        bool same = mine && is_same(at->peer, mine->peer) && at->kind == mine->kind &&
                    at->place == mine->place;
        bool is_overdue = at->called_ns && now > at->called_ns + GRACE_NS;

        if (is_alive(at->peer) && (same || !is_overdue))
            i++;
        else
            drop_ticket(row, i);
    }
}

/* All at the head that fit into what is left have their turn. */
static void call_heads(struct sim_lock *lock, struct row *row, hfi_time now)
{
    int64_t left = left_of(lock, row, now);

    clear_line(row, now, NULL);
    for (unsigned i = 0; i < row->waiting && row->line[i].units <= left; i++) {
        struct ticket *at = &row->line[i];
        struct waiter_text text;

        left -= at->units;
        if (at->called_ns)
            continue;
        at->called_ns = now;
        sim_check_turn_called(lock, text_of(&text, at));
        sim_say(&lock->sim->world, "p%u is called for %s", at->peer.process->index, lock->name);
        wake(at->peer, lock);
    }
}

/* Is there something for this one, when all before it are served? Else *ret_until is when to look again. */
static bool is_its_turn(struct row *row, hfi_time now, const struct ticket *mine, int64_t left,
                        hfi_time *ret_until)
{
    clear_line(row, now, mine);
    for (unsigned i = 0; i < row->waiting && left >= mine->units; i++) {
        const struct ticket *at = &row->line[i];

        if (is_same(at->peer, mine->peer) && at->kind == mine->kind && at->place == mine->place)
            break;
        left -= at->units;
        *ret_until = hfi_time_min(*ret_until, (at->called_ns ? at->called_ns : now) + GRACE_NS + 1);
    }
    return left >= mine->units || MUTANT(library_newcomer);
}

/* ------------------------------------------------------------------------------------------------
 * TRY, RELEASE, RENEW
 */

static struct done *find_done(const struct row *row, struct peer peer, uint64_t serial)
{
    struct done *done;

    LL_FOREACH (row->done, done) {
        if (is_same(done->peer, peer) && done->serial == serial)
            return done;
    }
    return NULL;
}

static struct done *note_done(struct row *row, struct peer peer, uint64_t serial, int64_t units)
{
    struct done *done = sim_alloc(sizeof *done);

    *done = (struct done){ .peer = peer, .serial = serial, .units = units };
    LL_PREPEND(row->done, done);
    return done;
}

/* The checks are told what there is now, as often as it changes. */
static void tell_count(struct sim_lock *lock, const struct row *row)
{
    int64_t there = row->number;

    if (lock->theme == SIM_LOCKS)
        return;
    for (unsigned i = 0; i < row->held && lock->theme == SIM_PERMITS; i++)
        there += row->hold[i].units;
    if (lock->theme == SIM_PERMITS && there < lock->total)
        there = lock->total; /* the rest is there: nothing else says how much */
    sim_check_counted(lock, there);
}

static void put(struct library_store *store, hfi_time now, struct sim_lock *lock,
                const struct hfi_lease *lease)
{
    struct row *row = &library_of(store)->row[lock->index];
    struct sim_owner *owner =
        sim_owner_find(store->process, lease->owner, (enum hfi_kind)lease->kind);

    owner->granted_there = true;
    if (lease->kind == HFI_KIND_SEMAPHORE) {
        row->number -= lease->permits;
        note_done(row, peer_of(store), lease->owner, lease->permits);
        sim_check_gave(lock, owner, lease->permits);
        return;
    }
    assert(row->held < HOLDS);
    row->hold[row->held++] = (struct hold){ .peer = peer_of(store),
                                            .kind = lease->kind,
                                            .owner = lease->owner,
                                            .token = lease->token,
                                            .units = units_of(lease),
                                            .expires_ns = now + lease->ttl_ms * HFI_MSEC };
}

static void grant(struct library_store *store, hfi_time now, struct sim_lock *lock,
                  struct hfi_lease *lease)
{
    struct sim_library *library = library_of(store);
    struct row *row = &library->row[lock->index];
    int place = place_of(row, peer_of(store), lease->kind, place_in(lease));

    if (place >= 0)
        drop_ticket(row, (unsigned)place);
    lease->verdict = HFI_GRANTED;
    lease->token = library->token + 1;
    library->token += lease->tokens;
    put(store, now, lock, lease);
    tell_count(lock, row);
    report(library, lock);
}

static void busy(struct library_store *store, hfi_time now, struct sim_lock *lock, hfi_time until,
                 struct hfi_lease *lease)
{
    static const enum hfi_topic TOPICS[HFI_KIND_COUNT] = {
        [HFI_KIND_FAIR] = HFI_TOPIC_TURN,         [HFI_KIND_WRITE] = HFI_TOPIC_READ_WRITE,
        [HFI_KIND_READ] = HFI_TOPIC_READ_WRITE,   [HFI_KIND_PERMITS] = HFI_TOPIC_PERMITS,
        [HFI_KIND_SEMAPHORE] = HFI_TOPIC_PERMITS, [HFI_KIND_LATCH] = HFI_TOPIC_LATCH,
    };
    struct row *row = &library_of(store)->row[lock->index];
    struct ticket mine = { .peer = peer_of(store),
                           .kind = lease->kind,
                           .place = place_in(lease),
                           .units = units_of(lease) };
    struct waiter_text text;

    lease->verdict = HFI_BUSY;
    lease->topic = (uint8_t)TOPICS[lease->kind];
    lease->hint_ns = hfi_time_until(now, until);
    lease->ticket = lease->queue && lease->kind != HFI_KIND_LATCH;
    if (lease->ticket)
        sim_check_turn_waits(lock, text_of(&text, &mine), mine.units);
    if (!lease->ticket || place_of(row, mine.peer, mine.kind, mine.place) >= 0)
        return;
    assert(row->waiting < TICKETS);
    row->line[row->waiting++] = mine;
}

static bool has_it(struct row *row, struct peer peer, const struct hfi_lease *lease)
{
    const struct done *done =
        lease->kind == HFI_KIND_SEMAPHORE ? find_done(row, peer, lease->owner) : NULL;

    return done || find_hold(row, peer, lease->owner, lease->kind == HFI_KIND_READ);
}

static void try_latch(struct row *row, hfi_time now, struct hfi_lease *lease)
{
    if (row->number > 0)
        lease->verdict = HFI_BUSY;
    else
        lease->verdict = row->deleted_ns && now - row->deleted_ns < HFI_SERIAL_MS * HFI_MSEC
                             ? HFI_GONE
                             : HFI_GRANTED;
    lease->topic = HFI_TOPIC_LATCH;
    lease->hint_ns = HF_TIME_NEVER;
    lease->ticket = false;
    lease->token = lease->tokens = 1;
}

static void try(struct library_store *store, hfi_time now, struct hfi_lease *lease)
{
    struct sim_lock *lock = lock_of(store, lease->name, lease->name_len);
    struct row *row = &library_of(store)->row[lock->index];
    struct peer peer = peer_of(store);
    struct ticket mine = {
        .peer = peer, .kind = lease->kind, .place = place_in(lease), .units = units_of(lease)
    };
    int64_t left = left_of(lock, row, now);
    bool writes = lease->kind == HFI_KIND_READ && find_hold(row, peer, lease->owner, false);
    hfi_time until = HF_TIME_NEVER, until_true;
    struct waiter_text text;

    if (lease->kind == HFI_KIND_LATCH) {
        try_latch(row, now, lease);
    } else if (has_it(row, peer, lease)) {
        lease->verdict = HFI_ALREADY;
        lease->tokens = 1;
    } else if (!writes && left < mine.units) {
        busy(store, now, lock, first_end(row), lease);
    } else if (writes) {
        sim_check_turn_left(lock, text_of(&text, &mine));
        grant(store, now, lock, lease);
    } else if (is_its_turn(row, now, &mine, left, &until)) {
        sim_check_turn_granted(lock, text_of(&text, &mine), mine.units, left);
        grant(store, now, lock, lease);
    } else {
        call_heads(lock, row, now);
        until_true = sim_clock_when(&store->process->host->clock, until);
        if (until_true > lock->held_until) /* readers may have it for longer */
            sim_check_lock_changed(lock, until_true);
        busy(store, now, lock, until, lease);
    }
}

/* One gives up its place. */
static void leave_line(struct sim_lock *lock, struct row *row, unsigned place)
{
    struct waiter_text text;

    sim_check_turn_left(lock, text_of(&text, &row->line[place]));
    drop_ticket(row, place);
}

/* What a semaphore gave is taken back, or forbidden. */
static bool undo(struct row *row, struct peer peer, uint64_t owner)
{
    struct done *done = find_done(row, peer, owner);
    int64_t units = done && !MUTANT(library_kept_back) ? done->units : 0;

    if (!done)
        note_done(row, peer, owner, 0);
    else if (!MUTANT(library_undone_twice))
        done->units = 0;
    row->number += units;
    return units > 0;
}

static bool listens(const struct library_store *store, const struct sim_lock *lock)
{
    const struct hfi_watch *watch;

    DL_FOREACH (store->watches, watch) {
        if (lock_of(store, watch->name, watch->name_len) == lock)
            return true;
    }
    return false;
}

static void release(struct library_store *store, hfi_time now, struct hfi_lease *lease)
{
    struct sim_lock *lock = lock_of(store, lease->name, lease->name_len);
    struct row *row = &library_of(store)->row[lock->index];
    struct peer peer = peer_of(store);
    struct hold *hold = find_hold(row, peer, lease->owner, lease->kind == HFI_KIND_READ);
    int place = place_of(row, peer, lease->kind, place_in(lease));
    struct sim_owner *owner =
        sim_owner_find(store->process, lease->owner, (enum hfi_kind)lease->kind);

    sim_check_released_there(lock->sim, owner);
    lease->others = 0;
    lease->verdict = HFI_GONE;
    if (lease->kind == HFI_KIND_FAIR && place >= 0)
        leave_line(lock, row, (unsigned)place);
    if (lease->kind == HFI_KIND_SEMAPHORE ? undo(row, peer, lease->owner) : hold != NULL)
        lease->verdict = HFI_RELEASED;
    if (lease->kind == HFI_KIND_SEMAPHORE && lease->verdict == HFI_RELEASED)
        sim_check_took_back(lock, owner);
    if (hold)
        drop_hold(row, hold);
    tell_count(lock, row);
    report(library_of(store), lock);
    call_heads(lock, row, now);
    place = place_of(row, peer, lease->kind, place_in(lease));
    if (lease->verdict == HFI_RELEASED)
        lease->others = row->waiting - (place >= 0) + listens(store, lock);
}

static void renew(struct library_store *store, hfi_time now, struct hfi_renewal *renewal)
{
    for (size_t i = 0; i < renewal->count; i++) {
        struct hfi_renewal_item *item = &renewal->items[i];
        struct sim_lock *lock = lock_of(store, item->lease->name, item->lease->name_len);
        struct row *row = &library_of(store)->row[lock->index];
        struct hold *hold =
            find_hold(row, peer_of(store), item->lease->owner, item->lease->kind == HFI_KIND_READ);

        item->kept = hold && hold->expires_ns > now;
        if (!item->kept || !item->ttl_ms)
            continue;
        hold->expires_ns = now + item->ttl_ms * HFI_MSEC;
        report(library_of(store), lock);
    }
}

/* ------------------------------------------------------------------------------------------------
 * WATCH, LEAVE, OBJECT
 */

/* Is it the turn of one of ours already? Then the watch is woken at once. */
static void watch(struct library_store *store, hfi_time now, struct hfi_watch *watch)
{
    struct sim_lock *lock = lock_of(store, watch->name, watch->name_len);
    struct row *row = &library_of(store)->row[lock->index];
    bool any = false, called = false;

    if (!watch->store_data)
        DL_APPEND(store->watches, watch);
    watch->store_data = store;
    for (unsigned i = 0; i < row->waiting; i++) {
        bool is_ours = is_same(row->line[i].peer, peer_of(store));

        any |= is_ours;
        called |= is_ours && (row->line[i].called_ns || (i == 0 && left_of(lock, row, now) > 0));
    }
    if (!any || called)
        wake(peer_of(store), lock);
}

static void unwatch(struct library_store *store, struct hfi_watch *watch)
{
    if (watch->woken)
        LL_DELETE2(store->woken, watch, next_woken);
    watch->woken = false;
    if (watch->store_data)
        DL_DELETE(store->watches, watch);
    watch->store_data = NULL;
}

static void leave(struct library_store *store, hfi_time now, const struct hfi_watch *watch)
{
    struct sim_lock *lock = lock_of(store, watch->name, watch->name_len);
    struct row *row = &library_of(store)->row[lock->index];
    struct hfi_lease lease = { .kind = watch->kind,
                               .owner = watch->owner,
                               .permits = watch->permits };
    int place = place_of(row, peer_of(store), watch->kind, place_in(&lease));

    if (place < 0)
        return;
    leave_line(lock, row, (unsigned)place);
    call_heads(lock, row, now);
}

/* Everybody who listens. */
static void wake_all(struct sim_lock *lock)
{
    struct sim *sim = lock->sim;

    for (unsigned i = 0; i < sim->plan.processes; i++)
        if (sim->process[i].store)
            wake((struct peer){ &sim->process[i], sim->process[i].life_number }, lock);
}

static int change_latch(struct sim_lock *lock, struct row *row, hfi_time now,
                        struct hfi_object *object)
{
    if (object->verb == HFI_LATCH_SET && row->number > 0)
        return HF_ERR_EXISTS;
    if (object->verb == HFI_LATCH_DELETE && row->number == 0)
        return HF_ERR_NOT_FOUND;
    if (object->verb == HFI_LATCH_SET) {
        row->number = object->number;
        row->deleted_ns = 0;
    } else if (object->verb == HFI_LATCH_DOWN) {
        row->number -= row->number > 0;
    } else {
        row->number = 0;
        row->deleted_ns = now;
        lock->deleted = lock->sim->world.now;
    }
    if (row->number == 0)
        wake_all(lock);
    return HF_OK;
}

static int change(struct library_store *store, hfi_time now, struct hfi_object *object)
{
    struct sim_lock *lock = lock_of(store, object->name, object->name_len);
    struct row *row = &library_of(store)->row[lock->index];
    int error = HF_OK;

    if (find_done(row, peer_of(store), object->serial))
        return HF_OK;
    if (lock->theme == SIM_LATCH)
        error = change_latch(lock, row, now, object);
    else
        row->number += object->number;
    if (!error && !MUTANT(library_not_noted))
        note_done(row, peer_of(store), object->serial, 0);
    if (!error)
        sim_check_stepped(lock, store->process, object->serial, (enum hfi_verb)object->verb,
                          object->number);
    tell_count(lock, row);
    report(library_of(store), lock);
    if (lock->theme != SIM_LATCH)
        call_heads(lock, row, now);
    return error;
}

static int perform(struct library_store *store, hfi_time now, struct hfi_request *request)
{
    switch ((enum hfi_op)request->op) {
    case HFI_OP_TRY:
        try(store, now, hfi_request_lease(request));
        break;
    case HFI_OP_RELEASE:
        release(store, now, hfi_request_lease(request));
        break;
    case HFI_OP_RENEW:
        renew(store, now, hfi_request_renewal(request));
        break;
    case HFI_OP_WATCH:
        watch(store, now, hfi_request_watch(request));
        break;
    case HFI_OP_UNWATCH:
        unwatch(store, hfi_request_watch(request));
        break;
    case HFI_OP_LEAVE:
        leave(store, now, hfi_request_watch(request));
        break;
    case HFI_OP_ANNOUNCE:
        hfi_request_announcement(request)->forgotten = false;
        break;
    case HFI_OP_OBJECT:
        return change(store, now, hfi_request_object(request));
    default:
        break;
    }
    return HF_OK;
}

/* An input or output error before COMMIT is "not done", at COMMIT unknown. */
static void execute(struct hfi_store *hfi_store, hfi_time now, struct hfi_request *request)
{
    struct library_store *store = store_of(hfi_store);
    struct sim_library *library = library_of(store);
    bool trouble = store->process->sim->world.now < library->trouble_until &&
                   request->op != HFI_OP_WATCH && request->op != HFI_OP_UNWATCH;
    int error = HF_OK;
    uint64_t dice = trouble ? sim_below(&library->random, 8) : 7;

    request->sent_ns = now;
    if (dice == 0) {
        hfi_request_finish(request, HFI_NOT_DONE,
                           sim_below(&library->random, 2) ? HF_ERR_UNAVAILABLE : HF_ERR_STORE_FULL);
        return;
    }
    if (dice != 1)
        error = perform(store, sim_process_now(store->process), request);
    if (dice <= 2)
        hfi_request_finish(request, HFI_UNKNOWN, HF_ERR_UNSURE);
    else if (error)
        hfi_request_finish(request, HFI_NOT_DONE, error);
    else
        hfi_request_finish(request, HFI_DONE, HF_OK);
}

/* ------------------------------------------------------------------------------------------------
 * The class
 */

static void collect(struct hfi_store *hfi_store, hfi_time now)
{
    struct library_store *store = store_of(hfi_store);
    struct hfi_watch *watch;

    (void)now;
    DL_FOREACH (store->watches, watch) {
        const struct sim_lock *lock = lock_of(store, watch->name, watch->name_len);

        if (!store->news[lock->index] || watch->woken)
            continue;
        watch->woken = true;
        LL_APPEND2(store->woken, watch, next_woken);
    }
    memset(store->news, 0, sizeof store->news);
}

static struct hfi_watch *woken(struct hfi_store *hfi_store)
{
    struct library_store *store = store_of(hfi_store);
    struct hfi_watch *watch = store->woken;

    if (!watch)
        return NULL;
    store->woken = watch->next_woken;
    watch->next_woken = NULL;
    watch->woken = false;
    return watch;
}

static int no_fd(struct hfi_store *store)
{
    (void)store;
    return -1;
}

static hfi_time deadline(struct hfi_store *store)
{
    (void)store;
    return HF_TIME_NEVER;
}

static bool restored(struct hfi_store *store)
{
    (void)store;
    return false;
}

static void forked(struct hfi_store *store)
{
    (void)store;
}

static const char *uri(struct hfi_store *store)
{
    (void)store;
    return "library:";
}

static void free_store(struct hfi_store *hfi_store)
{
    sim_library_died(store_of(hfi_store)->process);
    free(hfi_store);
}

static const struct hfi_library_class LIBRARY = {
    .execute = execute,
    .wake_fd = no_fd,
    .collect = collect,
    .woken = woken,
    .deadline = deadline,
    .restored = restored,
    .liveness_fd = no_fd,
    .forked = forked,
};

static const struct hfi_store_class CLASS = {
    .name = "library",
    .announces = true,
    .library = &LIBRARY,
    .uri = uri,
    .free = free_store,
};

/* ------------------------------------------------------------------------------------------------
 * For the simulator
 */

int sim_library_open(struct sim_process *process, const struct hfi_store_config *config,
                     struct hfi_store **ret_store)
{
    struct library_store *store = sim_alloc(sizeof *store);

    store->store.class_ = &CLASS;
    store->store.trace = config->trace;
    store->store.kinds = HFI_KIND_BIT(HFI_KIND_COUNT) - 1;
    store->process = process;
    *ret_store = &store->store;
    return HF_OK;
}

hfi_time sim_library_delay(struct sim_process *process)
{
    struct sim *sim = process->sim;
    hfi_time t = sim_below(&sim->library->random, 2 * TRUTH_NS);

    if (sim->world.now < sim->library->trouble_until && sim_below(&sim->library->random, 16) == 0)
        t += sim_below(&sim->library->random, sim->plan.op_timeout_ns);
    return t;
}

bool sim_library_has(struct sim *sim, const struct sim_lock *lock, struct sim_process *process,
                     uint64_t number, enum hfi_kind kind, hfi_time *ret_until)
{
    struct row *row = &sim->library->row[lock->index];
    const struct sim_clock *clock = &sim->host[0].clock;
    struct peer peer = { process, process->life_number };
    const struct hold *hold = find_hold(row, peer, number, kind == HFI_KIND_READ);

    if (!hold || !is_alive(peer) || hold->expires_ns <= sim_clock_read(clock, sim->world.now))
        return false;
    *ret_until = sim_clock_when(clock, hold->expires_ns);
    return true;
}

/* May it not know of a place? After trouble, or out of memory. */
static bool is_vague(const struct sim_process *process)
{
    return process->sim->library->trouble_until || process->memory.refused;
}

bool sim_library_waits(const struct sim_process *process, const struct sim_lock *lock,
                       const struct hfi_gate *gate)
{
    const struct row *row = &process->sim->library->row[lock->index];
    struct peer peer = { (struct sim_process *)process, process->life_number };

    for (unsigned i = 0; i < row->waiting; i++)
        if (is_same(row->line[i].peer, peer) && row->line[i].kind == gate->kind &&
            (gate->kind != HFI_KIND_FAIR ||
             (gate->wait && gate->wait->ticket_owner == row->line[i].place)) &&
            (!gate->permits || row->line[i].place == gate->permits))
            return true;
    return false;
}

bool sim_library_stands(const struct sim_process *process, const struct sim_lock *lock,
                        bool (*is_wanted)(const struct sim_process *process,
                                          const struct sim_lock *lock, uint8_t kind))
{
    const struct row *row = &process->sim->library->row[lock->index];
    struct peer peer = { (struct sim_process *)process, process->life_number };

    for (unsigned i = 0; i < row->waiting && !is_vague(process); i++)
        if (is_same(row->line[i].peer, peer) && !is_wanted(process, lock, row->line[i].kind))
            return true;
    return false;
}

void sim_library_count(struct sim_lock *lock, int64_t count)
{
    struct row *row = &lock->sim->library->row[lock->index];

    if (lock->theme == SIM_SEMAPHORE)
        row->number += count;
    if (lock->theme == SIM_LATCH)
        row->number = 0;
    tell_count(lock, row);
    report(lock->sim->library, lock);
    if (lock->theme == SIM_LATCH)
        wake_all(lock);
    else
        call_heads(lock, row, sim_clock_read(&lock->sim->host[0].clock, lock->sim->world.now));
}

/* Whoever waits behind a dead one hears of it at once. */
void sim_library_died(struct sim_process *process)
{
    struct sim *sim = process->sim;
    struct peer peer = { process, process->life_number };
    hfi_time now = sim_process_now(process);
    char text[64];
    size_t len = (size_t)snprintf(text, sizeof text, "p%u.%llu:", process->index,
                                  (unsigned long long)peer.life);

    for (unsigned i = 0; i < sim->plan.locks; i++) {
        struct row *row = &sim->library->row[i];

        sim_check_turns_end(&sim->lock[i], &(struct sim_arg){ text, len });
        for (unsigned k = 0; k < row->waiting;)
            if (is_same(row->line[k].peer, peer))
                drop_ticket(row, k);
            else
                k++;
        for (unsigned k = 0; k < row->held;)
            if (is_same(row->hold[k].peer, peer))
                drop_hold(row, &row->hold[k]);
            else
                k++;
        report(sim->library, &sim->lock[i]);
        call_heads(&sim->lock[i], row, now);
    }
}

void sim_library_trouble(struct sim *sim, hfi_time until)
{
    sim->library->trouble_until = until;
}

bool sim_library_is_empty(struct sim *sim, char *text, size_t room)
{
    hfi_time now = sim_clock_read(&sim->host[0].clock, sim->world.now);

    for (unsigned i = 0; i < sim->plan.locks; i++) {
        struct row *row = &sim->library->row[i];

        clear(row, now); /* leases that are over, of attempts that were not answered */
        clear_line(row, now, NULL);
        if (row->held == 0 && (row->waiting == 0 || is_vague(row->line[0].peer.process)))
            continue;
        snprintf(text, room, "%s is still %s", sim->lock[i].name,
                 row->held ? "held" : "waited for");
        return false;
    }
    return true;
}

void sim_library_init(struct sim *sim)
{
    sim->library = sim_alloc(sizeof *sim->library);
    sim_random_init(&sim->library->random, sim->plan.seed, 'L', 0);
}

void sim_library_fini(struct sim *sim)
{
    struct done *done, *next;

    for (unsigned i = 0; i < sim->plan.locks; i++)
        LL_FOREACH_SAFE (sim->library->row[i].done, done, next) {
            free(done);
        }
    free(sim->library);
    sim->library = NULL;
}
