/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to requests on their way, and to wake-ups. */
#include "world.h"

#include <utlist.h>

#include "core/lease.h"

static int name_of(const char *name)
{
    for (int i = 0; i < NAMES; i++)
        if (strcmp(name, WORLD_NAMES[i]) == 0)
            return i;
    fail_msg("a request for \"%s\"", name);
    return -1;
}

static bool is_watch(unsigned op)
{
    return op == HFI_OP_WATCH || op == HFI_OP_UNWATCH || op == HFI_OP_LEAVE;
}

static void note_items(struct deed *deed, struct hfi_request *request)
{
    const struct hfi_renewal *renewal = hfi_request_renewal(request);
    const struct hfi_announcement *announcement = hfi_request_announcement(request);

    deed->count = request->op == HFI_OP_RENEW ? renewal->count : announcement->count;
    for (size_t i = 0; i < deed->count; i++) {
        if (request->op == HFI_OP_RENEW) {
            deed->item[i].name = name_of(renewal->items[i].lease->name);
            deed->item[i].kind = renewal->items[i].lease->kind;
            deed->item[i].owner = renewal->items[i].lease->owner;
            deed->item[i].ttl_ms = renewal->items[i].ttl_ms;
        } else {
            deed->item[i].name = name_of(announcement->items[i].name);
            deed->item[i].kind = announcement->items[i].kind;
            deed->item[i].owner = announcement->items[i].owner;
            deed->item[i].token = announcement->items[i].token;
            deed->item[i].held = announcement->items[i].held;
            deed->item[i].waiters = announcement->items[i].waiters;
            deed->item[i].watching = announcement->items[i].watching;
        }
    }
}

static void note_deed(const struct process *process, struct deed *deed, struct hfi_request *request)
{
    const struct hfi_lease *lease = hfi_request_lease(request);

    deed->op = request->op;
    deed->process = process->number;
    if (is_watch(request->op)) {
        deed->name = name_of(hfi_request_watch(request)->name);
        deed->kind = hfi_request_watch(request)->kind;
        deed->owner = hfi_request_watch(request)->owner;
    } else if (request->op == HFI_OP_TRY || request->op == HFI_OP_RELEASE) {
        deed->name = name_of(lease->name);
        deed->owner = lease->owner;
        deed->kind = lease->kind;
        deed->permits = lease->permits;
        deed->prefer = lease->prefer;
        deed->ttl_ms = lease->ttl_ms;
        deed->tokens = lease->tokens;
        deed->queue = lease->queue;
    } else if (request->op == HFI_OP_RENEW || request->op == HFI_OP_ANNOUNCE) {
        note_items(deed, request);
    }
}

static int lane_of(const struct world *world, uint8_t op)
{
    return world->nature.two_lanes && (op == HFI_OP_WATCH || op == HFI_OP_UNWATCH);
}

void net_submit(struct world *world, struct process *process, struct hfi_request *request)
{
    struct parcel *parcel = calloc(1, sizeof *parcel);
    int lane = lane_of(world, request->op);

    check_request(world, process, request);
    parcel->request = request;
    note_deed(process, &parcel->deed, request);
    DL_APPEND(process->lane[lane], parcel);
}

size_t net_count(const struct process *process, enum hfi_op op, int name)
{
    const struct parcel *parcel;
    size_t count = 0;

    for (int lane = 0; lane < 2; lane++)
        DL_FOREACH (process->lane[lane], parcel) {
            if (parcel->deed.op == op && (is_watch(op) || op == HFI_OP_TRY || op == HFI_OP_RELEASE
                                              ? parcel->deed.name == name
                                              : true))
                count++;
        }
    return count;
}

static bool is_of(const struct hfi_request *request, const struct hfi_gate *gate)
{
    if (is_watch(request->op))
        return gate->wait &&
               (request == &gate->wait->watch.request || request == &gate->wait->leave.request);
    return (request->op == HFI_OP_TRY || request->op == HFI_OP_RELEASE) &&
           ((const struct hfi_hold *)request)->gate == gate;
}

size_t net_count_of(const struct process *process, enum hfi_op op, const struct hfi_gate *gate)
{
    const struct parcel *parcel;
    size_t count = 0;

    for (int lane = 0; lane < 2; lane++)
        DL_FOREACH (process->lane[lane], parcel) {
            count += parcel->deed.op == op && is_of(parcel->request, gate);
        }
    return count;
}

struct listener *net_listener(const struct process *process, const struct hfi_watch *watch)
{
    struct listener *listener;

    DL_FOREACH (process->listeners, listener) {
        if (listener->watch == watch)
            return listener;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * The end of a request
 */

static void note_doubt(struct process *process, const struct parcel *parcel)
{
    const struct deed *deed = &parcel->deed;

    if (deed->op == HFI_OP_TRY || deed->op == HFI_OP_RELEASE)
        record_of(process, (enum hfi_kind)deed->kind, deed->owner)->doubt = true;
    for (size_t i = 0; deed->op == HFI_OP_RENEW && i < deed->count; i++) {
        const struct hfi_lease *lease = hfi_request_renewal(parcel->request)->items[i].lease;

        record_of(process, (enum hfi_kind)lease->kind, lease->owner)->doubt = true;
    }
}

static void note_outcome(struct world *world, struct process *process, const struct parcel *parcel,
                         enum hfi_outcome outcome, int error)
{
    const struct deed *deed = &parcel->deed;

    if (deed->op == HFI_OP_TRY && outcome == HFI_UNKNOWN)
        process->unsure_ns[deed->name] = world->now;
    if (outcome == HFI_UNKNOWN)
        note_doubt(process, parcel);
    if (deed->op == HFI_OP_TRY && outcome == HFI_UNKNOWN && deed->kind != HFI_KIND_LATCH)
        record_of(process, (enum hfi_kind)deed->kind, deed->owner)->ended = true;
    if (deed->op == HFI_OP_TRY && outcome == HFI_NOT_DONE) {
        process->refused_ns[deed->name] = world->now;
        process->refusal[deed->name] = error;
        process->refusals[deed->name] |= UINT64_C(1) << -error;
    }
    if (outcome == HFI_UNKNOWN)
        world->statistics->unknown++;
}

static void write_lease(struct world *world, struct process *process, struct parcel *parcel)
{
    struct hfi_lease *lease = hfi_request_lease(parcel->request);
    const struct verdict *verdict = &parcel->verdict;
    struct record *record = record_of(process, (enum hfi_kind)lease->kind, lease->owner);

    record->answered |= parcel->deed.op == HFI_OP_RELEASE;
    lease->verdict = verdict->said;
    lease->topic = verdict->topic;
    lease->ticket = verdict->ticket;
    if (parcel->deed.op == HFI_OP_TRY)
        lease->hint_ns = verdict->hint_ns;
    else
        lease->others = verdict->others;
    if (parcel->deed.op == HFI_OP_TRY && verdict->said == HFI_BUSY)
        process->busy_ns[parcel->deed.name] = world->now;
    if (parcel->deed.op != HFI_OP_TRY || verdict->said != HFI_GRANTED)
        return;
    lease->token = verdict->token;
    lease->tokens = verdict->tokens;
    record->confirmed = parcel->request->sent_ns;
    record->first_token = verdict->token;
    if (world->now >= hfi_lease_deadline(parcel->request->sent_ns, lease->ttl_ms * HFI_MSEC))
        process->unsure_ns[parcel->deed.name] = world->now; /* too late to be of use */
}

static void write_answer(struct world *world, struct process *process, struct parcel *parcel)
{
    struct hfi_request *request = parcel->request;

    if (request->op == HFI_OP_TRY || request->op == HFI_OP_RELEASE)
        write_lease(world, process, parcel);
    if (request->op == HFI_OP_ANNOUNCE)
        hfi_request_announcement(request)->forgotten = parcel->verdict.forgotten;
    if (request->op != HFI_OP_RENEW)
        return;
    for (size_t i = 0; i < parcel->deed.count; i++) {
        struct record *record = record_of(process, (enum hfi_kind)parcel->deed.item[i].kind,
                                          parcel->deed.item[i].owner);

        hfi_request_renewal(request)->items[i].kept = parcel->verdict.kept[i];
        if (parcel->verdict.kept[i] && parcel->deed.item[i].ttl_ms)
            record->confirmed = hfi_time_max(record->confirmed, request->sent_ns);
    }
}

static void listen(struct process *process, const struct parcel *parcel, bool active)
{
    struct hfi_watch *watch = hfi_request_watch(parcel->request);
    struct listener *listener = net_listener(process, watch);

    if (!listener) {
        listener = calloc(1, sizeof *listener);
        listener->watch = watch;
        DL_APPEND(process->listeners, listener);
    }
    listener->name = parcel->deed.name;
    listener->topic = watch->topic;
    listener->owner = watch->owner;
    listener->active |= active;
}

static void unlisten(struct process *process, const struct parcel *parcel)
{
    struct listener *listener = net_listener(process, hfi_request_watch(parcel->request));

    if (!listener)
        return;
    DL_DELETE(process->listeners, listener);
    free(listener);
}

/* A watch that was not confirmed is tried again by the store, until UNWATCH, which ends it in any case. */
static void keep_watch(struct process *process, const struct parcel *parcel)
{
    if (parcel->deed.op == HFI_OP_WATCH)
        listen(process, parcel, false);
    if (parcel->deed.op == HFI_OP_UNWATCH)
        unlisten(process, parcel);
}

static void end_check(struct process *process, struct hfi_request *request)
{
    struct check *check = (struct check *)request->host;

    DL_DELETE(process->checks, check);
    free(check);
}

/* Out of the lane, and back to the engine. */
static void finish(struct world *world, struct process *process, int lane, struct parcel *parcel,
                   enum hfi_outcome outcome, int error)
{
    struct hfi_request *request = parcel->request;
    void *host = request->host;

    DL_DELETE(process->lane[lane], parcel);
    note_outcome(world, process, parcel, outcome, error);
    if (outcome == HFI_DONE)
        write_answer(world, process, parcel);
    else if (is_watch(parcel->deed.op))
        keep_watch(process, parcel);
    tell(world, "%d: %s of op %d %s#%llu: %d", process->number,
         outcome == HFI_DONE      ? "answer"
         : outcome == HFI_UNKNOWN ? "UNKNOWN"
                                  : "refusal",
         parcel->deed.op, WORLD_NAMES[parcel->deed.name], (unsigned long long)parcel->deed.owner,
         error);
    free(parcel);
    hfi_request_finish(request, outcome, error);
    world_input(world, process,
                &(struct hfi_input){ .kind = HFI_INPUT_ANSWER, .u.request = request });
    if (host)
        end_check(process, request);
}

/* ------------------------------------------------------------------------------------------------
 * On its way
 */

static void execute_watch(struct process *process, const struct parcel *parcel)
{
    if (parcel->deed.op == HFI_OP_WATCH)
        listen(process, parcel, true);
    else if (parcel->deed.op == HFI_OP_UNWATCH)
        unlisten(process, parcel);
}

/* Before something later is executed, what the old connection left is done, or never. */
static void settle_ghosts(struct world *world, struct process *process)
{
    struct ghost *ghost, *tmp;

    if (!world->nature.killing)
        return;
    net_ghosts(world, process, true);
    DL_FOREACH_SAFE (process->ghosts, ghost, tmp) {
        DL_DELETE(process->ghosts, ghost);
        free(ghost);
    }
}

static void execute(struct world *world, struct process *process, struct parcel *parcel)
{
    settle_ghosts(world, process);
    tell(world, "%d: op %d of %s#%llu is executed", process->number, parcel->deed.op,
         WORLD_NAMES[parcel->deed.name], (unsigned long long)parcel->deed.owner);
    store_execute(world, &parcel->deed, &parcel->verdict);
    if (is_watch(parcel->deed.op))
        execute_watch(process, parcel);
    parcel->stage = EXECUTED;
}

static struct parcel *first_of(struct parcel *lane, enum parcel_stage stage)
{
    struct parcel *parcel;

    DL_FOREACH (lane, parcel) {
        if (parcel->stage == stage)
            return parcel;
    }
    return NULL;
}

/* Requests are sent, executed and answered in order; which of the three happens next is open. */
bool net_move(struct world *world, struct process *process, int lane)
{
    struct parcel *list = process->lane[lane];
    struct parcel *queued = first_of(list, QUEUED), *sent = first_of(list, SENT);
    uint64_t turn = draw(world, 3);

    if (!list)
        return false;
    if (lane == 0 && !process->up) {
        net_connect(world, process);
        return true;
    }
    if (queued && (turn == 0 || list->stage == QUEUED)) {
        queued->request->sent_ns = world->now;
        queued->stage = SENT;
    } else if (sent && (turn == 1 || list->stage == SENT)) {
        if (sent->deed.op == HFI_OP_TRY && chance(world, 2))
            finish(world, process, lane, sent, HFI_NOT_DONE, HF_ERR_WRONG_TYPE);
        else
            execute(world, process, sent);
    } else if (list->stage == EXECUTED) {
        finish(world, process, lane, list, HFI_DONE, HF_OK);
    }
    return true;
}

static void make_ghost(const struct world *world, struct process *process,
                       const struct parcel *parcel)
{
    struct ghost *ghost;
    uint8_t op = parcel->deed.op;

    if (op == HFI_OP_WATCH || op == HFI_OP_UNWATCH ||
        (!world->nature.killing && (op == HFI_OP_ANNOUNCE || op == HFI_OP_FAREWELL)))
        return; /* what people see may be old then */
    ghost = calloc(1, sizeof *ghost);
    ghost->deed = parcel->deed;
    DL_APPEND(process->ghosts, ghost);
}

/* Where the server side of an old connection is ended first, nothing is executed there after something later. */
static void drop_before(struct world *world, struct process *process, const struct ghost *upto)
{
    while (world->nature.killing && process->ghosts != upto) {
        struct ghost *ghost = process->ghosts;

        DL_DELETE(process->ghosts, ghost);
        free(ghost);
    }
}

/* Does what was left on broken connections: some of it, or each with an even chance. */
void net_ghosts(struct world *world, struct process *process, bool all)
{
    struct ghost *ghost, *tmp;
    struct verdict verdict;

    DL_FOREACH_SAFE (process->ghosts, ghost, tmp) {
        if (!all && !chance(world, 300))
            continue;
        if (chance(world, 500)) {
            drop_before(world, process, ghost);
            tell(world, "%d: late, op %d of %s#%llu", process->number, ghost->deed.op,
                 WORLD_NAMES[ghost->deed.name], (unsigned long long)ghost->deed.owner);
            store_execute(world, &ghost->deed, &verdict);
            world->statistics->ghosts++;
        }
        DL_DELETE(process->ghosts, ghost);
        free(ghost);
    }
}

/* What was sent is unknown; what was not waits for the next connection. Watches that are not confirmed are
 * asked for again by the store itself. */
void net_break(struct world *world, struct process *process, int lane)
{
    struct parcel *parcel, *tmp, *lost = NULL;
    struct listener *listener;

    tell(world, "%d: connection %d breaks", process->number, lane);
    if (lane == 0)
        process->up = false;
    DL_FOREACH (process->listeners, listener) {
        if (lane == 1 || !world->nature.two_lanes)
            listener->active = false;
    }
    DL_FOREACH_SAFE (process->lane[lane], parcel, tmp) {
        if (parcel->stage == QUEUED)
            continue;
        if (world->nature.two_lanes && lane == 1) {
            parcel->stage = QUEUED;
            continue;
        }
        DL_DELETE(process->lane[lane], parcel);
        DL_APPEND(lost, parcel);
    }
    DL_FOREACH_SAFE (lost, parcel, tmp) {
        DL_DELETE(lost, parcel);
        if (parcel->stage == SENT)
            make_ghost(world, process, parcel);
        DL_PREPEND(process->lane[lane], parcel);
        finish(world, process, lane, parcel, HFI_UNKNOWN, HF_ERR_UNSURE);
    }
}

void net_connect(struct world *world, struct process *process)
{
    if (process->up)
        return;
    tell(world, "%d: connects", process->number);
    process->up = true;
    process->restored = true;
}

/* The server cannot serve, or cannot be reached: what was not sent is refused. */
void net_refuse(struct world *world, struct process *process)
{
    static const int ERRORS[] = { HF_ERR_UNREACHABLE, HF_ERR_UNAVAILABLE, HF_ERR_STORE_FULL };
    int error = ERRORS[draw(world, UNIT_COUNT(ERRORS))];
    struct parcel *parcel, *tmp, *refused = NULL;

    DL_FOREACH_SAFE (process->lane[0], parcel, tmp) {
        if (parcel->stage == QUEUED) {
            DL_DELETE(process->lane[0], parcel);
            DL_APPEND(refused, parcel);
        }
    }
    DL_FOREACH_SAFE (refused, parcel, tmp) {
        DL_DELETE(refused, parcel);
        DL_PREPEND(process->lane[0], parcel);
        finish(world, process, 0, parcel, HFI_NOT_DONE, error);
    }
}

static struct parcel *overdue(const struct world *world, struct parcel *lane)
{
    struct parcel *parcel;

    DL_FOREACH (lane, parcel) {
        if (parcel->request->deadline_ns <= world->now)
            return parcel;
    }
    return NULL;
}

void net_tick(struct world *world, struct process *process)
{
    struct parcel *parcel;

    for (int lane = 0; lane < 2; lane++)
        while ((parcel = overdue(world, process->lane[lane]))) {
            if (parcel->stage == QUEUED)
                finish(world, process, lane, parcel, HFI_NOT_DONE, HF_ERR_UNREACHABLE);
            else
                net_break(world, process, lane);
        }
}

/* ------------------------------------------------------------------------------------------------
 * Wake-ups
 */

static struct listener *woken_one(const struct process *process)
{
    struct listener *listener;

    DL_FOREACH (process->listeners, listener) {
        if (listener->woken)
            return listener;
    }
    return NULL;
}

void net_wake(struct world *world, struct process *process)
{
    struct listener *listener;

    while ((listener = woken_one(process))) {
        listener->woken = false;
        tell(world, "%d: %s wakes", process->number, WORLD_NAMES[listener->name]);
        world_input(world, process,
                    &(struct hfi_input){ .kind = HFI_INPUT_WAKE, .u.watch = listener->watch });
    }
}

static bool is_being_changed(const struct process *process, const struct hfi_watch *watch)
{
    const struct parcel *parcel;

    for (int lane = 0; lane < 2; lane++)
        DL_FOREACH (process->lane[lane], parcel) {
            if (parcel->request == &watch->request)
                return true;
        }
    return false;
}

/* Watches that are in force again wake whoever waits. */
void net_resubscribe(struct world *world, struct process *process)
{
    struct listener *listener;

    (void)world;
    DL_FOREACH (process->listeners, listener) {
        if (listener->active || is_being_changed(process, listener->watch))
            continue;
        listener->active = true;
        listener->woken = true;
    }
}
