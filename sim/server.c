/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <utlist.h>

#include "checks.h"
#include "sim.h"

#define EPOCH_NS UINT64_C(1750000000000000000) /* what wall clocks show at first, more or less */

/* ------------------------------------------------------------------------------------------------
 * Time
 */

int64_t sim_server_wall_us(struct sim_server *server)
{
    server->redis.wall_us =
        (int64_t)(sim_clock_read(&server->clock, server->sim->world.now) / HFI_USEC);
    return server->redis.wall_us;
}

hfi_time sim_server_when(const struct sim_server *server, int64_t expires_ms)
{
    if (expires_ms < 0)
        return HF_TIME_NEVER;
    return sim_clock_when(&server->clock, (hfi_time)(expires_ms + 1) * HFI_MSEC);
}

void sim_server_step_clock(struct sim_server *server, int64_t by_ns)
{
    hfi_time now = server->sim->world.now;

    sim_say(&server->sim->world, "s%u clock steps by %.3f ms", server->index, (double)by_ns / 1e6);
    server->clock.base_local = sim_clock_read(&server->clock, now) + (hfi_time)by_ns;
    server->clock.base_true = now;
    server->stepped_back |= by_ns < 0;
}

bool sim_server_is_stopped(const struct sim_server *server)
{
    return !server->up || server->sim->world.now < server->stopped_until;
}

/* ------------------------------------------------------------------------------------------------
 * Connections
 */

static struct sim_link *link_of(const struct sim_conn *conn)
{
    return conn->peer;
}

static void end_connection(struct sim_conn *conn)
{
    struct sim_link *link = link_of(conn);

    link->end[SIM_SERVER].owner = NULL;
    sim_link_close(link, SIM_SERVER);
    sim_conn_free(conn);
}

static void send_output(struct sim_server *server, struct sim_conn *conn)
{
    long sent;

    if (conn->out.len == 0)
        return;
    sent = sim_link_send(link_of(conn), SIM_SERVER, conn->out.at, conn->out.len);
    if (sent < 0)
        conn->killed = true;
    else
        sim_text_shift(&conn->out, (size_t)sent);
    if (conn->subscriptions > 0 && conn->out.len > server->output_limit) {
        sim_say(&server->sim->world, "s%u ends connection %llu: its output grows", server->index,
                (unsigned long long)conn->id);
        conn->killed = true;
    }
}

void sim_server_flush(struct sim_server *server)
{
    struct sim_conn *conn, *next;

    DL_FOREACH_SAFE (server->redis.conns, conn, next) {
        if (conn->dirty && !conn->killed)
            send_output(server, conn);
        conn->dirty = false;
        if (conn->killed)
            end_connection(conn);
    }
}

static void serve(struct sim_server *server, struct sim_conn *conn)
{
    struct sim_link *link = link_of(conn);
    const char *bytes;
    size_t count = sim_link_peek(link, SIM_SERVER, &bytes);

    if (count > 0) {
        sim_server_wall_us(server);
        sim_conn_feed(conn, bytes, count);
        sim_link_take(link, SIM_SERVER, count);
        sim_server_flush(server);
    }
    conn = link->end[SIM_SERVER].owner; /* NULL: it was ended in between */
    if (conn && sim_link_is_over(link, SIM_SERVER))
        end_connection(conn);
}

static void accept_link(struct sim_server *server, struct sim_link *link)
{
    if (!server->up) {
        link->end[SIM_SERVER].open = false;
        return;
    }
    link->end[SIM_SERVER].owner = sim_conn_new(&server->redis, link);
}

static void heard(void *node, struct sim_link *link, enum sim_link_event event)
{
    struct sim_server *server = node;
    struct sim_conn *conn = link->end[SIM_SERVER].owner;

    if (event == SIM_LINK_CONNECTED)
        accept_link(server, link); /* the kernel does, even when the program is stopped */
    else if (!conn || sim_server_is_stopped(server))
        return;
    else if (event == SIM_LINK_READABLE)
        serve(server, conn);
    else if (event == SIM_LINK_WRITABLE) {
        sim_conn_mark(conn);
        sim_server_flush(server);
    }
}

struct sim_end sim_server_end(struct sim_server *server)
{
    return (struct sim_end){ .node = server, .host_up = &server->host_up, .event = heard };
}

/* It runs again: what has come meanwhile is served, connection by connection. */
static void resume(void *arg)
{
    struct sim_server *server = arg;

    if (sim_server_is_stopped(server))
        return;
    for (struct sim_conn *at = server->redis.conns; at;) {
        uint64_t id = at->id;

        serve(server, at);
        DL_FOREACH (server->redis.conns, at) { /* some may have been ended meanwhile */
            if (at->id > id)
                break;
        }
    }
}

void sim_server_stop(struct sim_server *server, hfi_time duration)
{
    hfi_time until = server->sim->world.now + duration;

    sim_say(&server->sim->world, "s%u stopped for %.3f ms", server->index, (double)duration / 1e6);
    server->stopped_until = hfi_time_max(server->stopped_until, until);
    sim_at(&server->sim->world, &server->resume, server->stopped_until);
}

void sim_server_hurry(struct sim_server *server)
{
    if (server->stopped_until <= server->sim->world.now)
        return;
    server->stopped_until = server->sim->world.now;
    sim_at(&server->sim->world, &server->resume, server->stopped_until);
}

void sim_server_cut(struct sim_server *server, bool subscribers_only)
{
    struct sim_conn *conn, *next;

    DL_FOREACH_SAFE (server->redis.conns, conn, next) {
        if (!subscribers_only || conn->subscriptions > 0)
            end_connection(conn);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Down and up
 */

void sim_server_kill(struct sim_server *server, bool with_host)
{
    struct sim_conn *conn, *next;

    sim_say(&server->sim->world, "s%u is killed%s", server->index,
            with_host ? " with its machine" : "");
    server->up = false;
    server->host_up = !with_host;
    DL_FOREACH_SAFE (server->redis.conns, conn, next) {
        struct sim_link *link = link_of(conn);

        link->end[SIM_SERVER].owner = NULL;
        if (with_host)
            sim_link_vanish(link, SIM_SERVER);
        else
            sim_link_close(link, SIM_SERVER);
        sim_conn_free(conn);
    }
    sim_never(&server->sim->world, &server->resume);
}

static void name_run(struct sim_server *server)
{
    snprintf(server->redis.run_id, sizeof server->redis.run_id, "%020u%020llu", server->index,
             (unsigned long long)server->starts);
}

void sim_server_start(struct sim_server *server, enum sim_loss loss, size_t commands)
{
    sim_say(&server->sim->world, "s%u starts again%s", server->index,
            loss == SIM_LOSS_ALL    ? " without its data"
            : loss == SIM_LOSS_SOME ? " without the last of its data"
                                    : "");
    sim_server_wall_us(server);
    if (loss != SIM_LOSS_NONE)
        sim_check_losing(server);
    if (loss == SIM_LOSS_ALL)
        sim_redis_clear(&server->redis);
    else if (loss == SIM_LOSS_SOME)
        sim_redis_undo(&server->redis, commands);
    server->lost_data |= loss != SIM_LOSS_NONE;
    if (loss != SIM_LOSS_NONE)
        sim_check_lost(server);
    sim_redis_do(&server->redis, NULL, "SCRIPT FLUSH");
    server->redis.next_id = 0;
    server->starts++;
    name_run(server);
    server->stopped_until = server->sim->world.now;
    server->up = server->host_up = true;
}

/* ------------------------------------------------------------------------------------------------
 * Replication
 */

static void free_change(struct sim_change *change)
{
    sim_key_free(change->key);
    free(change);
}

static void replicate(void *arg)
{
    struct sim_server *server = arg;
    struct sim_change *change;

    while ((change = server->log) && change->at <= server->sim->world.now) {
        LL_DELETE(server->log, change);
        if (server->replica)
            sim_redis_replace(&server->replica->redis, change->db, change->name, change->len,
                              change->key);
        free_change(change);
    }
    if (server->log)
        sim_at(&server->sim->world, &server->replicate, server->log->at);
    else
        server->last = NULL;
}

static void log_change(struct sim_server *server, unsigned db, const char *name, size_t len,
                       const struct sim_key *key)
{
    struct sim_change *change = sim_alloc(sizeof *change + len + 1);

    change->at = server->sim->world.now + sim_below(&server->random, server->lag_ns + 1);
    if (server->last)
        change->at = hfi_time_max(change->at, server->last->at);
    change->db = db;
    change->len = len;
    memcpy(change->name, name, len);
    change->key = sim_key_copy(key);
    if (server->last)
        server->last->next = change;
    else
        server->log = change;
    server->last = change;
    if (!sim_timer_is_set(&server->replicate))
        sim_at(&server->sim->world, &server->replicate, server->log->at);
}

static void drop_log(struct sim_server *server)
{
    struct sim_change *change, *next;

    LL_FOREACH_SAFE (server->log, change, next) {
        free_change(change);
    }
    server->log = server->last = NULL;
    sim_never(&server->sim->world, &server->replicate);
}

/* A new replica begins with all that there is. */
static void copy_all(struct sim_server *from, struct sim_server *to)
{
    sim_redis_clear(&to->redis);
    for (unsigned db = 0; db < SIM_REDIS_DBS; db++) {
        struct sim_key *key, *next;

        HASH_ITER (hh, from->redis.keys[db], key, next) {
            sim_redis_replace(&to->redis, db, key->name, key->len, key);
        }
    }
}

void sim_server_fail_over(struct sim_server *server)
{
    struct sim_server *heir = server->replica;

    sim_say(&server->sim->world, "s%u takes over from s%u", heir->index, server->index);
    sim_check_excuse_all(
        server); /* its clock shows another time: leases end sooner there, or later */
    sim_check_losing(server);
    drop_log(server);
    sim_server_cut(server, false);
    sim_server_cut(heir, false);
    server->sim->service[server->service].primary = heir;
    heir->redis.is_replica = false;
    heir->lost_data = true;
    if (sim_server_wall_us(heir) < sim_server_wall_us(server)) /* leases last longer */
        server->sim->stepped_ns +=
            (hfi_time)(server->redis.wall_us - heir->redis.wall_us) * HFI_USEC;
    heir->stepped_back |=
        server->stepped_back || sim_server_wall_us(heir) < sim_server_wall_us(server);
    server->replica = NULL;
    heir->replica = server;
    server->redis.is_replica = true;
    copy_all(heir, server);
    sim_check_lost(heir);
}

/* ------------------------------------------------------------------------------------------------
 * What the model tells
 */

static void changed(void *arg, struct sim_conn *conn, unsigned db, const struct sim_key *before,
                    const struct sim_key *after)
{
    struct sim_server *server = arg;
    const struct sim_key *key = after ? after : before;

    if (!key)
        return;
    if (server->replica)
        log_change(server, db, key->name, key->len, after);
    sim_check_changed(server, conn, db, before, after);
}

static void ran(void *arg, const struct sim_call *call, const char *sha, size_t reply_at)
{
    sim_check_ran(arg, call, sha, reply_at);
}

/* Replies of scripts: a greeting that makes no sense would leave us without what we must know of a connection. */
static bool garbles(void *arg, const struct sim_call *call, bool *ret_run)
{
    struct sim_server *server = arg;

    if (!server->garbles || !call->conn || server->replaying ||
        strncasecmp(call->argv[0].at, "eval", 4) != 0 || sim_below(&server->random, 4))
        return false;
    *ret_run = sim_below(&server->random, 2);
    return true;
}

static void killed(void *arg, struct sim_conn *by, struct sim_conn *conn)
{
    sim_check_killed(arg, by, conn);
}

static void subscribed(void *arg, struct sim_conn *conn, const struct sim_arg *channel)
{
    sim_check_subscribed(arg, conn, channel);
}

void sim_server_init(struct sim *sim, unsigned index)
{
    struct sim_server *server = &sim->server[index];
    const struct sim_plan *plan = &sim->plan;

    server->sim = sim;
    server->index = index;
    sim_random_init(&server->random, plan->seed, 's', index);
    sim_redis_init(&server->redis);
    server->redis.hooks = (struct sim_redis_hooks){
        .arg = server,
        .changed = changed,
        .ran = ran,
        .garbles = garbles,
        .killed = killed,
        .subscribed = subscribed,
    };
    server->redis.password = plan->password;
    server->redis.deny_kill = plan->deny_kill;
    server->redis.hand_db = plan->db;
    name_run(server);
    server->clock.base_local = EPOCH_NS + sim_below(&server->random, plan->wall_spread_ns + 1);
    server->clock.ppm = sim_drift(&server->random, plan);
    server->host_up = server->up = true;
    server->output_limit = 1024;
    server->lag_ns = plan->lag_ns;
    sim_timer_init(&server->resume, resume, server);
    sim_timer_init(&server->replicate, replicate, server);
}

void sim_server_fini(struct sim_server *server)
{
    drop_log(server);
    sim_never(&server->sim->world, &server->resume);
    server->redis.hooks = (struct sim_redis_hooks){ 0 };
    sim_redis_free(&server->redis);
}
