/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owner ids: what is asked for them, and what that comes to in the store.
 *
 *   retired   after a try that was not answered, or a release, nothing is sent for an owner id but its release
 *   fixed     a fixed lease is never renewed, and neither is a hold that was lost
 *   done      what is said to be done was done; what is said not to be done was not
 *   in time   a request is finished by its deadline
 *   repeated  a release is repeated until it is answered, or its lease is over
 *   expires   no lock is left without a time to live
 *   others    no process removes another one's hold, but by `break`; or ends another one's connection
 */
#include "checks.h"
#include "library.h"
#include "store/redis/names.h"

#include <stdlib.h>
#include <string.h>

static struct sim_world *world_of(const struct sim_process *process)
{
    return &process->sim->world;
}

/* ------------------------------------------------------------------------------------------------
 * Who is who
 */

static struct sim_owner *slot(struct sim_owners *owners, uint64_t number, enum hfi_kind kind)
{
    return &owners->at[2 * number + (kind == HFI_KIND_READ)];
}

struct sim_owner *sim_owner_find(struct sim_process *process, uint64_t number, enum hfi_kind kind)
{
    struct sim_owners *owners = process->owners;

    return number <= owners->highest && number > 0 ? slot(owners, number, kind) : NULL;
}

static struct sim_owner *make_owner(struct sim_process *process, uint64_t number,
                                    enum hfi_kind kind)
{
    struct sim_owners *owners = process->owners;

    while (number >= owners->room) {
        uint64_t more = owners->room ? owners->room * 2 : 64;

        owners->at = sim_grow(owners->at, 2 * more * sizeof *owners->at);
        memset(owners->at + 2 * owners->room, 0, 2 * (more - owners->room) * sizeof *owners->at);
        owners->room = more;
    }
    if (number > owners->highest)
        owners->highest = number;
    return slot(owners, number, kind);
}

struct sim_owner *sim_owner_make(struct sim_process *process, uint64_t number)
{
    return make_owner(process, number, HFI_KIND_MUTEX);
}

/* Client ids of the simulator end in the process' number and that of its life, in hexadecimal. */
struct sim_process *sim_owner_process(struct sim *sim, const char *text, size_t len,
                                      uint64_t *ret_number)
{
    struct sim_process *process;
    unsigned long index;

    if (len < 38 || text[36] != ':')
        return NULL;
    index = strtoul(text + 24, NULL, 16) >> 32;
    if (index >= sim->plan.processes)
        return NULL;
    process = &sim->process[index];
    if (memcmp(process->identity.id, text, 36) != 0 || process->life == SIM_LIFE_NONE)
        return NULL;
    *ret_number = strtoull(text + 37, NULL, 10);
    return process;
}

struct sim_process *sim_owner_of_permits(struct sim *sim, const char *id, size_t len,
                                         uint64_t *ret_number)
{
    char whole[HFI_PERMIT_ID] = { 0 }, client[HFI_PERMIT_ID_CLIENT + 1];
    unsigned which;

    if (len < HFI_PERMIT_ID_OWNER)
        return NULL;
    memcpy(whole, id, HFI_PERMIT_ID_OWNER);
    hfi_permit_id_parse(whole, client, ret_number, &which);
    for (unsigned i = 0; i < sim->plan.processes; i++)
        if (sim->process[i].life != SIM_LIFE_NONE &&
            memcmp(sim->process[i].identity.id, client, HFI_PERMIT_ID_CLIENT) == 0)
            return &sim->process[i];
    return NULL;
}

struct sim_lock *sim_lock_find(struct sim *sim, unsigned service, const char *name, size_t len)
{
    for (unsigned i = service; i < sim->plan.locks; i += sim->plan.services)
        if (sim->lock[i].len == len && memcmp(sim->lock[i].name, name, len) == 0)
            return &sim->lock[i];
    return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * What the engine asks for
 */

static bool is_over(const struct sim_owner *owner)
{
    return owner && (owner->retired || owner->released);
}

/* One read hold after the other uses the owner id of a write hold: each begins anew. */
static void submit_borrowed(struct sim_process *process, const struct hfi_hold *hold,
                            struct sim_owner *owner)
{
    const struct hfi_hold *other;

    for (other = process->engine.holds; other; other = other->next)
        if (other != hold && other->lease.kind == HFI_KIND_READ &&
            other->lease.owner == hold->lease.owner && hfi_hold_state_of(other) != HFI_HOLD_GONE)
            sim_violated(world_of(process), "borrowed",
                         "p%u uses owner %llu for two read holds at once", process->index,
                         (unsigned long long)hold->lease.owner);
    if (hold->lease.owner != hold->lender->lease.owner)
        sim_violated(world_of(process), "borrowed",
                     "p%u writes as owner %llu, and reads as owner %llu", process->index,
                     (unsigned long long)hold->lender->lease.owner,
                     (unsigned long long)hold->lease.owner);
    if (owner->granted || (owner->released && owner->answered)) /* the one before */
        memset(owner, 0, sizeof *owner);
}

static void submit_try(struct sim_process *process, const struct hfi_hold *hold)
{
    enum hfi_kind kind = (enum hfi_kind)hold->lease.kind;
    struct sim_owner *owner = make_owner(process, hold->lease.owner, kind);
    struct sim_lock *lock =
        sim_lock_find(process->sim, process->service, hold->lease.name, hold->lease.name_len);

    if (hold->lender)
        submit_borrowed(process, hold, owner);
    if (kind == HFI_KIND_FAIR && owner->answered && !owner->doubt)
        memset(owner, 0, sizeof *owner); /* nothing is left of it: it goes on under that number */
    if (is_over(owner) && kind != HFI_KIND_LATCH)
        sim_violated(world_of(process), "retired", "p%u tries again with owner %llu, which is over",
                     process->index, (unsigned long long)hold->lease.owner);
    owner->tried = true;
    owner->in_flight++;
    owner->ttl_ms = hold->lease.ttl_ms;
    owner->fixed = hold->fixed;
    owner->kind = (uint8_t)kind;
    owner->lock = lock ? lock->index : 0;
}

static void submit_release(struct sim_process *process, const struct hfi_lease *lease)
{
    make_owner(process, lease->owner, (enum hfi_kind)lease->kind)->released = true;
}

static void submit_renewal(struct sim_process *process, const struct hfi_renewal *renewal)
{
    for (size_t i = 0; i < renewal->count; i++) {
        const struct hfi_hold *hold = (const struct hfi_hold *)renewal->items[i].lease;
        const struct sim_owner *owner =
            sim_owner_find(process, hold->lease.owner, (enum hfi_kind)hold->lease.kind);
        enum hfi_hold_state state = hfi_hold_state_of(hold);
        bool only_look = renewal->items[i].ttl_ms == 0;

        if (is_over(owner) || !owner || !owner->granted)
            sim_violated(world_of(process), "retired", "p%u renews owner %llu, which is over",
                         process->index, (unsigned long long)hold->lease.owner);
        if (!only_look && (owner->fixed || (state != HFI_HOLD_HELD && state != HFI_HOLD_AT_RISK)))
            sim_violated(world_of(process), "fixed", "p%u renews owner %llu, which is %s",
                         process->index, (unsigned long long)hold->lease.owner,
                         owner->fixed ? "a fixed lease" : hfi_hold_state_name(state));
    }
}

/* When a request was asked for, and what excuse there was then. */
static void note_pending(struct sim_process *process, hfi_time now,
                         const struct hfi_request *request)
{
    for (unsigned i = 0; i < SIM_PENDING_MAX; i++) {
        if (process->pending[i].request)
            continue;
        process->pending[i].request = request;
        process->pending[i].excuse = sim_process_excuse_at(process, now);
        return;
    }
}

void sim_check_submitted(struct sim_process *process, hfi_time now, struct hfi_request *request)
{
    sim_mix(world_of(process), request->op ^ now);
    if (request->op == HFI_OP_LEAVE)
        sim_say(world_of(process), "p%u gives up the place of owner %llu", process->index,
                (unsigned long long)hfi_request_watch(request)->owner);
    if (request->op == HFI_OP_TRY)
        submit_try(process, (const struct hfi_hold *)request);
    else if (request->op == HFI_OP_RELEASE)
        submit_release(process, hfi_request_lease(request));
    else if (request->op == HFI_OP_RENEW)
        submit_renewal(process, hfi_request_renewal(request));
    note_pending(process, now, request);
    sim_check_asked(process, now, request, 1);
}

void sim_check_sent(struct sim_process *process)
{
    if (process->life != SIM_LIFE_RUNNING && process->life != SIM_LIFE_CLOSING)
        sim_violated(world_of(process), "retired", "p%u sends something after its end",
                     process->index);
}

/* A hold is forgotten when its release was answered, or when the store has forgotten it by itself. */
void sim_check_moved(struct sim_process *process, const struct sim_move *move)
{
    const struct sim_owner *reader = sim_owner_find(process, move->owner, HFI_KIND_READ);
    struct sim_owner *owner = sim_owner_find(process, move->owner, HFI_KIND_MUTEX);

    sim_mix(world_of(process), (uint64_t)move->to << 8 ^ process->index ^ move->owner << 16);
    if (!owner)
        return; /* nothing was asked for it yet */
    if (reader->tried && owner->tried)
        return; /* which of the two it is, is not said */
    if (reader->tried)
        owner = sim_owner_find(process, move->owner, HFI_KIND_READ);
    if (move->to == HFI_HOLD_RELEASING)
        owner->released_ns = process->engine.now;
    if (move->from != HFI_HOLD_RELEASING || move->to != HFI_HOLD_GONE || owner->answered ||
        process->engine.broken)
        return;
    if (process->engine.now < owner->released_ns + owner->ttl_ms * HFI_MSEC)
        sim_violated(world_of(process), "repeated",
                     "p%u gives up the release of owner %llu, which the store has not answered",
                     process->index, (unsigned long long)move->owner);
}

/* ------------------------------------------------------------------------------------------------
 * What it is told
 */

/* Until when an answered request lets a claim be believed in: by its sending, and by nothing else. */
static void bound(struct sim_owner *owner, hfi_time sent_ns, uint32_t ttl_ms)
{
    hfi_time ttl = ttl_ms * HFI_MSEC, until = sent_ns + ttl - ttl / 100 - 2 * HFI_MSEC;

    owner->bound_ns = hfi_time_max(owner->bound_ns, until);
}

static void try_finished(struct sim_process *process, const struct hfi_lease *lease)
{
    struct sim_owner *owner = sim_owner_find(process, lease->owner, (enum hfi_kind)lease->kind);
    enum hfi_outcome outcome = (enum hfi_outcome)lease->request.outcome;
    bool granted = outcome == HFI_DONE && lease->verdict == HFI_GRANTED;

    owner->in_flight--;
    if (lease->kind == HFI_KIND_LATCH)
        return; /* there is nothing to have */
    if (granted) {
        owner->granted = true;
        owner->token_first = lease->token;
        owner->token_last = lease->token + lease->tokens - 1;
        bound(owner, lease->request.sent_ns, lease->ttl_ms);
    } else if (outcome == HFI_UNKNOWN || (outcome == HFI_DONE && lease->verdict == HFI_ALREADY)) {
        owner->retired = true;
    }
    if (granted && !owner->granted_there)
        sim_violated(world_of(process), "done", "p%u: owner %llu is granted, and the store did not",
                     process->index, (unsigned long long)lease->owner);
    if (outcome == HFI_NOT_DONE && owner->granted_there && !owner->replayed)
        sim_violated(world_of(process), "done", "p%u: the try of owner %llu was not done, and was",
                     process->index, (unsigned long long)lease->owner);
}

static void renewal_finished(struct sim_process *process, const struct hfi_renewal *renewal)
{
    if (renewal->request.outcome != HFI_DONE)
        return;
    for (size_t i = 0; i < renewal->count; i++) {
        const struct hfi_renewal_item *item = &renewal->items[i];

        if (item->kept && item->ttl_ms)
            bound(sim_owner_find(process, item->lease->owner, (enum hfi_kind)item->lease->kind),
                  renewal->request.sent_ns, item->ttl_ms);
    }
}

/* For how long the process was kept from running since; a long time, when that is not known. */
static hfi_time excuse_since(struct sim_process *process, const struct hfi_request *request)
{
    for (unsigned i = 0; i < SIM_PENDING_MAX; i++) {
        if (process->pending[i].request != request)
            continue;
        process->pending[i].request = NULL;
        return process->stopped_ns - process->pending[i].excuse;
    }
    return 3600 * HFI_SEC;
}

static void check_in_time(struct sim_process *process, hfi_time now,
                          const struct hfi_request *request)
{
    hfi_time slack = excuse_since(process, request);

    slack += slack / 8 + 4 * HFI_MSEC;

    if (!process->is_wire || request->deadline_ns == HF_TIME_NEVER || request->op >= HFI_OP_LIST)
        return; /* what people ask for has more time with each of its steps */
    if (now > hfi_time_add(request->deadline_ns, slack))
        sim_violated(&process->sim->world, "in time",
                     "p%u: a request (%u) is finished %.3f ms after its deadline", process->index,
                     request->op, (double)(now - request->deadline_ns) / 1e6);
}

/* Whose request it was that nobody answered. */
static void note_doubt(struct sim_process *process, const struct hfi_request *request)
{
    const struct hfi_lease *lease = (const struct hfi_lease *)request;
    const struct hfi_renewal *renewal = (const struct hfi_renewal *)request;
    bool renews = request->op == HFI_OP_RENEW;

    if (request->outcome != HFI_UNKNOWN ||
        (!renews && request->op != HFI_OP_TRY && request->op != HFI_OP_RELEASE))
        return;
    for (size_t i = 0; i < (renews ? renewal->count : 1); i++) {
        const struct hfi_lease *one = renews ? renewal->items[i].lease : lease;
        struct sim_owner *owner = sim_owner_find(process, one->owner, (enum hfi_kind)one->kind);

        if (owner)
            owner->doubt = true;
    }
}

void sim_check_finished(struct sim_process *process, hfi_time now, struct hfi_request *request)
{
    note_doubt(process, request);
    sim_mix(world_of(process), (uint64_t)request->op << 8 ^ request->outcome ^ now << 16);
    if (request->op == HFI_OP_TRY)
        try_finished(process, hfi_request_lease(request));
    else if (request->op == HFI_OP_RENEW)
        renewal_finished(process, hfi_request_renewal(request));
    else if (request->op == HFI_OP_RELEASE && request->outcome == HFI_DONE)
        sim_owner_find(process, hfi_request_lease(request)->owner,
                       (enum hfi_kind)hfi_request_lease(request)->kind)
            ->answered = true;
    if (request->sent_ns > now && request->outcome != HFI_NOT_DONE)
        sim_violated(world_of(process), "answered",
                     "p%u: a request was answered before it was sent", process->index);
    check_in_time(process, now, request);
    sim_check_asked(process, now, request, -1);
}

/* ------------------------------------------------------------------------------------------------
 * What it comes to at the server
 */

/* When all permits of an owner have run out. */
static bool permits_until(const struct sim_server *server, const struct sim_lock *lock,
                          const struct sim_process *process, uint64_t number, hfi_time *ret_until)
{
    char name[HFI_KEY_MAX], id[HFI_PERMIT_ID];
    size_t len = hfi_suffix_name(name, lock->name, lock->len, "timeout");
    struct sim_key *key =
        sim_redis_find((struct sim_redis *)&server->redis, server->sim->plan.db, name, len);
    const struct sim_field *field;

    hfi_permit_id(id, process->identity.id, number, 0);
    field = key && key->type == SIM_REDIS_ZSET ? sim_key_field(key, id, sizeof id) : NULL;
    if (field) /* over when the clock shows it, not after that */
        *ret_until = sim_server_when(server, (int64_t)strtod(field->value, NULL) - 1);
    return field && *ret_until > server->sim->world.now;
}

static bool reader_until(const struct sim_server *server, const struct sim_lock *lock,
                         const struct sim_process *process, uint64_t number, hfi_time *ret_until)
{
    char name[HFI_KEY_MAX];
    size_t len = hfi_reader_key(name, lock->name, lock->len, process->identity.id, number);
    const struct sim_key *key =
        sim_redis_find((struct sim_redis *)&server->redis, server->sim->plan.db, name, len);

    if (key)
        *ret_until = hfi_time_min(*ret_until, sim_server_when(server, key->expires_ms));
    return key != NULL;
}

bool sim_store_has(struct sim *sim, const struct sim_lock *lock, struct sim_process *process,
                   uint64_t number, enum hfi_kind kind, hfi_time *ret_until)
{
    struct sim_server *server = sim_service_server(sim, lock->service);
    char field[HFI_OWNER_TEXT_MAX + sizeof ":write"];
    const struct sim_key *key;
    size_t len;

    if (sim->plan.library)
        return sim_library_has(sim, lock, process, number, kind, ret_until);
    sim_server_wall_us(server);
    if (kind == HFI_KIND_PERMITS)
        return permits_until(server, lock, process, number, ret_until);
    key = sim_redis_find(&server->redis, sim->plan.db, lock->name, lock->len);
    if (!key || key->type != SIM_REDIS_HASH)
        return false;
    *ret_until = sim_server_when(server, key->expires_ms);
    len = (size_t)snprintf(field, sizeof field, "%s:%llu%s", process->identity.id,
                           (unsigned long long)number, kind == HFI_KIND_WRITE ? ":write" : "");
    if (!sim_key_field(key, field, len) || (sim_key_field(key, "mode", 4) != NULL) !=
                                               (kind == HFI_KIND_READ || kind == HFI_KIND_WRITE))
        return false;
    return kind != HFI_KIND_READ || reader_until(server, lock, process, number, ret_until);
}

bool sim_store_holder(struct sim *sim, const struct sim_lock *lock,
                      struct sim_process **ret_process, uint64_t *ret_owner, hfi_time *ret_until)
{
    struct sim_server *server = sim_service_server(sim, lock->service);
    const struct sim_key *key;

    if (sim->plan.library)
        return false;
    sim_server_wall_us(server);
    key = sim_redis_find(&server->redis, sim->plan.db, lock->name, lock->len);
    if (!key)
        return false;
    *ret_until = sim_server_when(server, key->expires_ms);
    *ret_process = NULL;
    if (key->type == SIM_REDIS_HASH && key->fields > 0)
        *ret_process =
            sim_owner_process(sim, key->field[0].name, key->field[0].name_len, ret_owner);
    return true;
}

/* The process whose connection it is, if it still lives. */
static struct sim_process *process_of(struct sim *sim, const struct sim_conn *conn)
{
    const struct sim_link *link = conn ? conn->peer : NULL;
    struct sim_process *process = link ? &sim->process[link->client] : NULL;

    return process && process->life_number == link->client_life ? process : NULL;
}

static bool is_write(const struct sim_field *field)
{
    static const char TAIL[] = ":write";
    size_t len = sizeof TAIL - 1;

    return field->name_len > len && memcmp(field->name + field->name_len - len, TAIL, len) == 0;
}

static void check_removal(struct sim_server *server, struct sim_conn *conn,
                          const struct sim_lock *lock, const struct sim_field *field, bool reads)
{
    uint64_t number;
    struct sim_process *of = sim_owner_process(server->sim, field->name, field->name_len, &number);
    const struct sim_process *by = process_of(server->sim, conn);
    enum hfi_kind kind = reads && !is_write(field) ? HFI_KIND_READ : HFI_KIND_WRITE;
    const struct sim_owner *owner = of ? sim_owner_find(of, number, kind) : NULL;
    hfi_time until = HF_TIME_NEVER;

    if (!of)
        return;
    if (kind == HFI_KIND_READ && conn &&
        (!reader_until(server, lock, of, number, &until) ||
         until <= server->sim->world.now + 2 * HFI_MSEC))
        return; /* it was dead, or is in this very millisecond */
    if (!conn || server->breaking) {
        server->sim->outside |= server->breaking;
        sim_check_excuse(of, number); /* by hand */
    } else if (by && (by != of || !owner->released)) {
        sim_violated(&server->sim->world, "others", "p%u removes p%u's hold of %s (owner %llu)",
                     by->index, of->index, lock->name, (unsigned long long)number);
    }
}

void sim_check_changed(struct sim_server *server, struct sim_conn *conn, unsigned db,
                       const struct sim_key *before, const struct sim_key *after)
{
    const struct sim_key *key = after ? after : before;
    struct sim_lock *lock = db == server->sim->plan.db
                                ? sim_lock_find(server->sim, server->service, key->name, key->len)
                                : NULL;

    if (!lock)
        return;
    for (size_t i = 0; before && i < before->fields; i++)
        if (!after || after->type != SIM_REDIS_HASH ||
            !sim_key_field(after, before->field[i].name, before->field[i].name_len))
            check_removal(server, conn, lock, &before->field[i],
                          sim_key_field(before, "mode", 4) != NULL);
    if (after && after->expires_ms < 0 && after->type == SIM_REDIS_HASH && conn)
        sim_violated(&server->sim->world, "expires", "s%u: %s is held for ever", server->index,
                     lock->name);
    if (!conn && !server->sim->arranging)
        lock->uncounted = true;
    lock->counted = server->sim->world.now;
    if (lock->theme == SIM_LATCH)
        sim_check_latch(lock, !after);
    sim_check_lock_changed(lock, after ? sim_server_when(server, after->expires_ms) : 0);
}

void sim_check_killed(struct sim_server *server, struct sim_conn *by, struct sim_conn *conn)
{
    const struct sim_link *killer = by->peer, *killed = conn->peer;

    if (killer->client != killed->client)
        sim_violated(&server->sim->world, "others",
                     "p%u ends a connection of p%u at s%u (number %llu)", killer->client,
                     killed->client, server->index, (unsigned long long)conn->id);
}

/* ------------------------------------------------------------------------------------------------
 * A server that loses data
 */

static void for_each_lock(struct sim_server *server,
                          void (*visit)(struct sim *sim, struct sim_lock *lock))
{
    struct sim *sim = server->sim;

    for (unsigned i = server->service; i < sim->plan.locks; i += sim->plan.services)
        visit(sim, &sim->lock[i]);
}

/* Where there can be many, all that have it, and those that may. */
static void excuse_all(struct sim *sim, struct sim_lock *lock)
{
    lock->uncounted = true;
    for (unsigned i = lock->service; i < sim->plan.processes; i += sim->plan.services) {
        struct sim_process *process = &sim->process[i];

        for (uint64_t number = 1; number <= process->owners->highest; number++)
            for (int k = 0; k < 2; k++) {
                const struct sim_owner *owner = &process->owners->at[2 * number + (unsigned)k];

                if (owner->granted_there && !owner->released_there && owner->lock == lock->index)
                    sim_check_excuse(process, number);
            }
    }
}

static void remember(struct sim *sim, struct sim_lock *lock)
{
    if (sim->plan.kinds) {
        excuse_all(sim, lock);
        return;
    }
    lock->before = NULL;
    if (!sim_store_holder(sim, lock, &lock->before, &lock->before_owner, &lock->before_until))
        lock->before = NULL;
}

static void compare(struct sim *sim, struct sim_lock *lock)
{
    struct sim_process *now = NULL;
    uint64_t owner = 0;
    hfi_time until = 0;

    if (!sim_store_holder(sim, lock, &now, &owner, &until))
        now = NULL;
    /* A renewal can be lost, too. */
    if (lock->before && !sim->plan.kinds &&
        (lock->before != now || lock->before_owner != owner || until < lock->before_until))
        sim_check_excuse(lock->before, lock->before_owner);
    sim_check_lock_changed(lock, until);
}

static void excuse(struct sim *sim, struct sim_lock *lock)
{
    remember(sim, lock);
    if (lock->before && !sim->plan.kinds)
        sim_check_excuse(lock->before, lock->before_owner);
}

void sim_check_losing(struct sim_server *server)
{
    for_each_lock(server, remember);
}

void sim_check_lost(struct sim_server *server)
{
    for_each_lock(server, compare);
}

void sim_check_excuse_all(struct sim_server *server)
{
    for_each_lock(server, excuse);
}
