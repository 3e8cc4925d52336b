/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "checks.h"
#include "sim.h"

#define GRACE_NS (100 * HFI_MSEC) /* a head that was called and does not come is overdue */
#define TRUTH_NS (120 * HFI_USEC) /* a request's own time */

/* A client of a process' life: what dies with it. */
struct peer {
    struct sim_process *process;
    uint64_t life;
};

struct ticket {
    struct peer peer;
    hfi_time called_ns;
};

struct row {
    bool held;
    struct peer peer;
    uint64_t owner, token;
    hfi_time expires_ns; /* by the host's clock */
    struct ticket line[SIM_PROCESSES_MAX];
    unsigned waiting;
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

static bool is_held(const struct row *row, hfi_time now)
{
    return row->held && row->expires_ns > now && is_alive(row->peer);
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
 * The line
 */

static void drop_ticket(struct row *row, unsigned at)
{
    memmove(row->line + at, row->line + at + 1, (row->waiting - at - 1) * sizeof row->line[0]);
    row->waiting--;
}

static int place_of(const struct row *row, struct peer peer)
{
    for (unsigned i = 0; i < row->waiting; i++)
        if (is_same(row->line[i].peer, peer))
            return (int)i;
    return -1;
}

/* The first one that lives and is not overdue; NULL: nobody waits. */
static struct ticket *head_of(struct row *row, hfi_time now, struct peer self)
{
    while (row->waiting > 0) {
        const struct ticket *head = &row->line[0];
        bool is_overdue = head->called_ns && now > head->called_ns + GRACE_NS;

        if (is_alive(head->peer) && (is_same(head->peer, self) || !is_overdue))
            return &row->line[0];
        drop_ticket(row, 0);
    }
    return NULL;
}

static void call_head(const struct sim_lock *lock, struct row *row, hfi_time now, struct peer self)
{
    struct ticket *head = head_of(row, now, self);

    if (!head || head->called_ns)
        return;
    head->called_ns = now;
    sim_say(&self.process->sim->world, "p%u is called for %s", head->peer.process->index,
            lock->name);
    wake(head->peer, lock);
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 */

/* The checks are told who has it. */
static void report(const struct library_store *store, struct sim_lock *lock)
{
    const struct row *row = &library_of(store)->row[lock->index];

    sim_check_lock_changed(
        lock, row->held ? sim_clock_when(&store->process->host->clock, row->expires_ns) : 0);
}

static void grant(struct library_store *store, hfi_time now, struct sim_lock *lock,
                  struct hfi_lease *lease)
{
    struct sim_library *library = library_of(store);
    struct row *row = &library->row[lock->index];
    struct sim_owner *owner = sim_owner_find(store->process, lease->owner);
    int place = place_of(row, peer_of(store));

    if (place >= 0)
        drop_ticket(row, (unsigned)place);
    row->held = true;
    row->peer = peer_of(store);
    row->owner = lease->owner;
    row->token = library->token + 1;
    row->expires_ns = now + lease->ttl_ms * HFI_MSEC;
    library->token += lease->tokens;
    lease->verdict = HFI_GRANTED;
    lease->token = row->token;
    owner->granted_there = true;
    report(store, lock);
}

static void busy(struct library_store *store, hfi_time now, struct row *row, hfi_time until,
                 struct hfi_lease *lease)
{
    lease->verdict = HFI_BUSY;
    lease->topic = HFI_TOPIC_LOCK;
    lease->hint_ns = hfi_time_until(now, until);
    lease->ticket = false;
    if (!lease->queue)
        return;
    if (place_of(row, peer_of(store)) < 0)
        row->line[row->waiting++] = (struct ticket){ .peer = peer_of(store) };
    lease->ticket = true;
}

static void try(struct library_store *store, hfi_time now, struct hfi_lease *lease)
{
    struct sim_lock *lock = lock_of(store, lease->name, lease->name_len);
    struct row *row = &library_of(store)->row[lock->index];
    const struct ticket *head;

    if (is_held(row, now) && is_same(row->peer, peer_of(store)) && row->owner == lease->owner) {
        lease->verdict = HFI_ALREADY;
        lease->token = row->token;
        lease->tokens = 1;
        return;
    }
    if (is_held(row, now)) {
        busy(store, now, row, row->expires_ns, lease);
        return;
    }
    head = head_of(row, now, peer_of(store));
    if (!head || is_same(head->peer, peer_of(store))) {
        grant(store, now, lock, lease);
        return;
    }
    row->held = false;
    call_head(lock, row, now, peer_of(store));
    sim_check_lock_changed(
        lock, sim_clock_when(&store->process->host->clock, row->line[0].called_ns + GRACE_NS));
    busy(store, now, row, row->line[0].called_ns + GRACE_NS + 1, lease);
}

static bool is_ours(const struct library_store *store, const struct row *row, uint64_t owner)
{
    return row->held && is_same(row->peer, peer_of(store)) && row->owner == owner;
}

static void release(struct library_store *store, hfi_time now, struct hfi_lease *lease)
{
    struct sim_lock *lock = lock_of(store, lease->name, lease->name_len);
    struct row *row = &library_of(store)->row[lock->index];
    struct sim_owner *owner = sim_owner_find(store->process, lease->owner);
    bool listens = false;
    struct hfi_watch *watch;

    owner->released_there = true;
    lease->others = 0;
    lease->verdict = HFI_GONE;
    if (!is_ours(store, row, lease->owner))
        return;
    row->held = false;
    lease->verdict = HFI_RELEASED;
    report(store, lock);
    call_head(lock, row, now, peer_of(store));
    DL_FOREACH (store->watches, watch) {
        listens |= lock_of(store, watch->name, watch->name_len) == lock;
    }
    lease->others = row->waiting - (place_of(row, peer_of(store)) >= 0) + listens;
}

static void renew(struct library_store *store, hfi_time now, struct hfi_renewal *renewal)
{
    for (size_t i = 0; i < renewal->count; i++) {
        struct hfi_renewal_item *item = &renewal->items[i];
        struct sim_lock *lock = lock_of(store, item->lease->name, item->lease->name_len);
        struct row *row = &library_of(store)->row[lock->index];

        item->kept = is_ours(store, row, item->lease->owner) && row->expires_ns > now;
        if (!item->kept || !item->ttl_ms)
            continue;
        row->expires_ns = now + item->ttl_ms * HFI_MSEC;
        report(store, lock);
    }
}

/* Is it our turn already? Then the watch is woken at once. */
static void watch(struct library_store *store, hfi_time now, struct hfi_watch *watch)
{
    struct sim_lock *lock = lock_of(store, watch->name, watch->name_len);
    struct row *row = &library_of(store)->row[lock->index];
    int place = place_of(row, peer_of(store));

    if (!watch->store_data)
        DL_APPEND(store->watches, watch);
    watch->store_data = store;
    if (place < 0 || row->line[place].called_ns || (place == 0 && !is_held(row, now)))
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
    int place = place_of(row, peer_of(store));

    if (place < 0)
        return;
    drop_ticket(row, (unsigned)place);
    if (!is_held(row, now))
        call_head(lock, row, now, peer_of(store));
}

static void perform(struct library_store *store, hfi_time now, struct hfi_request *request)
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
    default:
        break;
    }
}

/* An input or output error before COMMIT is "not done", at COMMIT unknown. */
static void execute(struct hfi_store *hfi_store, hfi_time now, struct hfi_request *request)
{
    struct library_store *store = store_of(hfi_store);
    struct sim_library *library = library_of(store);
    bool trouble = store->process->sim->world.now < library->trouble_until &&
                   request->op != HFI_OP_WATCH && request->op != HFI_OP_UNWATCH;
    uint64_t dice = trouble ? sim_below(&library->random, 8) : 7;

    request->sent_ns = now;
    if (dice == 0) {
        hfi_request_finish(request, HFI_NOT_DONE,
                           sim_below(&library->random, 2) ? HF_ERR_UNAVAILABLE : HF_ERR_STORE_FULL);
        return;
    }
    if (dice != 1)
        perform(store, sim_process_now(store->process), request);
    if (dice <= 2)
        hfi_request_finish(request, HFI_UNKNOWN, HF_ERR_UNSURE);
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

bool sim_library_holder(struct sim *sim, const struct sim_lock *lock,
                        struct sim_process **ret_process, uint64_t *ret_owner, hfi_time *ret_until)
{
    const struct row *row = &sim->library->row[lock->index];
    const struct sim_clock *clock = &sim->host[0].clock;

    if (!is_held(row, sim_clock_read(clock, sim->world.now)))
        return false;
    *ret_process = row->peer.process;
    *ret_owner = row->owner;
    *ret_until = sim_clock_when(clock, row->expires_ns);
    return true;
}

bool sim_library_waits(const struct sim_process *process, const struct sim_lock *lock)
{
    const struct sim_library *library = process->sim->library;
    struct peer peer = { (struct sim_process *)process, process->life_number };

    if (library->trouble_until || process->memory.refused)
        return false;
    return place_of(&library->row[lock->index], peer) >= 0;
}

/* Whoever waits behind a dead one hears of it at once. */
void sim_library_died(struct sim_process *process)
{
    struct sim *sim = process->sim;
    struct peer peer = { process, process->life_number };
    hfi_time now = sim_process_now(process);

    for (unsigned i = 0; i < sim->plan.locks; i++) {
        struct row *row = &sim->library->row[i];
        int place = place_of(row, peer);

        if (place >= 0)
            drop_ticket(row, (unsigned)place);
        if (row->held && is_same(row->peer, peer)) {
            row->held = false;
            sim_check_lock_changed(&sim->lock[i], 0);
        }
        if (!is_held(row, now))
            call_head(&sim->lock[i], row, now, peer);
    }
}

void sim_library_trouble(struct sim *sim, hfi_time until)
{
    sim->library->trouble_until = until;
}

bool sim_library_is_empty(struct sim *sim, char *text, size_t room)
{
    for (unsigned i = 0; i < sim->plan.locks; i++) {
        const struct row *row = &sim->library->row[i];

        if (!row->held && row->waiting == 0)
            continue;
        if (row->held && row->expires_ns <= sim_clock_read(&sim->host[0].clock, sim->world.now) &&
            row->waiting == 0)
            continue; /* a lease that is over, of an attempt that was not answered */
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
    free(sim->library);
    sim->library = NULL;
}
