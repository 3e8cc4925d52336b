/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left when nobody wants anything any more, and the longest ttl is over: nothing but the counters of
 * tokens. Half of the processes have closed their client, the others' is still open.
 */
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "checks.h"
#include "library.h"

/* A place of a client that is open. One that was short of memory may have forgotten it. */
static bool has_open_place(const struct sim_server *server, const struct sim_key *key)
{
    for (size_t i = 0; i < key->fields; i++) {
        uint64_t number;
        const struct sim_process *process =
            sim_owner_process(server->sim, key->field[i].name, key->field[i].name_len, &number);
        const struct sim_owner *owner =
            process ? sim_owner_find((struct sim_process *)process, number, HFI_KIND_FAIR) : NULL;

        if (owner && process->life == SIM_LIFE_RUNNING && !process->memory.refused &&
            (!owner->released || owner->answered)) {
            sim_say((struct sim_world *)&server->sim->world, "p%u has a place: owner %llu",
                    process->index, (unsigned long long)number);
            return true;
        }
    }
    return false;
}

/* Permits that have run out: who comes next collects them. */
static bool are_over(const struct sim_server *server, const struct sim_key *key)
{
    for (size_t i = 0; i < key->fields; i++)
        if (strtod(key->field[i].value, NULL) > (double)server->redis.wall_us / 1000)
            return false;
    return true;
}

/* Numbers, which are nobody's; the counter of fenced tokens; and a place in a fair lock's queue of one who has
 * died: who comes next passes over it. */
static bool stays(const struct sim_server *server, const struct sim_key *key)
{
    static const char *const KEPT[] = { "redisson_lock_token:", "redisson_lock_queue:",
                                        "redisson_lock_timeout:", "holdfast_fair:" };
    static const char TAKEN[] = ":timeout";
    const struct sim_lock *lock = sim_lock_find(server->sim, server->service, key->name, key->len);

    for (size_t i = 0; i < sizeof KEPT / sizeof KEPT[0]; i++)
        if (strncmp(key->name, KEPT[i], strlen(KEPT[i])) == 0)
            return i == 0 || server->lost_data || !has_open_place(server, key);
    if (key->type == SIM_REDIS_ZSET && key->len > strlen(TAKEN) &&
        strcmp(key->name + key->len - strlen(TAKEN), TAKEN) == 0)
        return are_over(server, key);
    if (strncmp(key->name, "holdfast_", strlen("holdfast_")) == 0 && key->type == SIM_REDIS_STRING)
        return key->expires_ms >= 0; /* a note of what was done lately */
    return lock && lock->theme != SIM_LOCKS;
}

static void check_keys(struct sim_server *server)
{
    static const char COUNTER[] = "holdfast:token:";

    sim_server_wall_us(server);
    for (unsigned db = 0; db < SIM_REDIS_DBS; db++) {
        struct sim_key *key, *next;

        HASH_ITER (hh, server->redis.keys[db], key, next) {
            if (!sim_redis_find(&server->redis, db, key->name, key->len) ||
                strncmp(key->name, COUNTER, sizeof COUNTER - 1) == 0 ||
                (server->sim->plan.kinds && stays(server, key)))
                continue;
            sim_violated(&server->sim->world, "left", "s%u still has the key %s", server->index,
                         key->name);
        }
    }
}

/* The process whose connection this is, if its client is open. */
static const struct sim_process *open_client_of(const struct sim_server *server,
                                                const struct sim_conn *conn)
{
    const struct sim_link *link = conn->peer;
    const struct sim_process *process = &server->sim->process[link->client];

    if (process->life != SIM_LIFE_RUNNING || process->life_number != link->client_life)
        return NULL;
    return process;
}

static void check_connections(struct sim_server *server)
{
    const struct sim_conn *conn;

    DL_FOREACH (server->redis.conns, conn) {
        const struct sim_link *link = conn->peer;

        if (link->end[SIM_CLIENT].node && !open_client_of(server, conn))
            sim_violated(&server->sim->world, "left", "s%u still has a connection of p%u",
                         server->index, link->client);
        if (open_client_of(server, conn) && conn->subscriptions > 1)
            sim_violated(&server->sim->world, "left", "s%u: p%u still listens to %u channels",
                         server->index, link->client, conn->subscriptions);
    }
}

/* A client that is open: it holds nothing and waits for nothing. */
static void check_idle(struct sim_process *process)
{
    struct sim_world *world = &process->sim->world;
    hfi_time at = hfi_engine_deadline(&process->engine);

    if (process->engine.gates)
        sim_violated(world, "left", "p%u still knows the lock %s", process->index,
                     process->engine.gates->name);
    if (process->engine.holds)
        sim_violated(world, "left", "p%u still has owner %llu in state %s", process->index,
                     (unsigned long long)process->engine.holds->lease.owner,
                     hfi_hold_state_name(hfi_hold_state_of(process->engine.holds)));
    if (at != HF_TIME_NEVER)
        sim_violated(world, "left", "p%u still has a timer", process->index);
}

static void check_closed(struct sim_process *process)
{
    if (process->memory.live || process->memory.blocks)
        sim_violated(&process->sim->world, "left", "p%u is closed and has %zu bytes in %zu blocks",
                     process->index, process->memory.live, process->memory.blocks);
}

void sim_check_quiet(struct sim *sim)
{
    char text[128];

    if (sim->plan.library && !sim_library_is_empty(sim, text, sizeof text))
        sim_violated(&sim->world, "left", "%s", text);
    for (unsigned i = 0; i < sim->plan.services && !sim->plan.library; i++) {
        check_keys(sim_service_server(sim, i));
        check_connections(sim_service_server(sim, i));
    }
    sim_check_counts_end(sim);
    for (unsigned i = 0; i < sim->plan.processes; i++) {
        struct sim_process *process = &sim->process[i];

        if (process->life == SIM_LIFE_RUNNING)
            check_idle(process);
        else if (process->life == SIM_LIFE_CLOSED)
            check_closed(process);
    }
}
