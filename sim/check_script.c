/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What scripts come to at a server.
 *
 *   replayed   a script that is run again at once changes nothing, and says so
 *   orphans    where CLIENT KILL is permitted, no try is executed after its owner id's release
 *   renewed    nothing is renewed for an owner id that is over, on one and the same connection
 *   drawn      tokens grow as the server gives them
 */
#include "checks.h"

#include <stdlib.h>
#include <string.h>

#define REPLAY_EACH 16 /* one script in so many is run again */

/* How the reply of a granted try begins; the first token and how many there are follow. */
#define GRANTED "*3\r\n:1\r\n"
#define NEXT    "\r\n:"

enum script {
#define HFI_SCRIPT(name, sha, text, length) SCRIPT_##name,
#include "redis_scripts.inc"
#undef HFI_SCRIPT
    SCRIPT_UNKNOWN
};

static const char *const SHAS[] = {
#define HFI_SCRIPT(name, sha, text, length) sha,
#include "redis_scripts.inc"
#undef HFI_SCRIPT
};

static const char *sha_of(enum script script)
{
    return SHAS[script];
}

static enum script script_of(const char *sha)
{
    enum script script = 0;

    while (script < SCRIPT_UNKNOWN && memcmp(SHAS[script], sha, 40) != 0)
        script++;
    return script;
}

/* The owner of a call's argument, if its process lives and this is one of its connections. */
static struct sim_owner *owner_of(struct sim_server *server, const struct sim_arg *arg,
                                  struct sim_process **ret_process, uint64_t *ret_number)
{
    *ret_process = sim_owner_process(server->sim, arg->at, arg->len, ret_number);
    return *ret_process ? sim_owner_find(*ret_process, *ret_number) : NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Replays
 */

static void replay(struct sim_server *server, const struct sim_call *call, enum script script,
                   const char *expected)
{
    struct sim_text reply = { 0 };
    struct sim_call again = *call;

    server->replaying = true;
    again.reply = &reply;
    sim_redis_run(&again);
    server->replaying = false;
    if (server->redis.wrote && reply.len)
        sim_violated(&server->sim->world, "replayed",
                     "s%u: script %d, run again, changes something", server->index, script);
    if (expected &&
        (reply.len < strlen(expected) || memcmp(reply.at, expected, strlen(expected)) != 0))
        sim_violated(&server->sim->world, "replayed", "s%u: script %d, run again, says %s",
                     server->index, script, reply.at);
    sim_text_free(&reply);
}

/* ------------------------------------------------------------------------------------------------
 * Each script
 */

/* Released before, on this connection? Then what came after was sent after. */
static bool is_after_release(const struct sim_server *server, const struct sim_owner *owner,
                             const struct sim_conn *conn)
{
    return owner->released_there && owner->released_by == conn->id &&
           owner->released_starts == server->starts;
}

static void check_drawn(struct sim_server *server, const struct sim_arg *name, const char *reply)
{
    struct sim_lock *lock = sim_lock_find(server->sim, server->service, name->at, name->len);
    unsigned long long first, count;
    char *end;

    first = strtoull(reply + strlen(GRANTED ":"), &end, 10);
    if (!lock || strncmp(end, NEXT, strlen(NEXT)) != 0)
        return;
    count = strtoull(end + strlen(NEXT), NULL, 10);
    if (first <= lock->drawn &&
        !(server->lost_data && server->stepped_back && !server->sim->options->strict))
        sim_violated(&server->sim->world, "drawn", "s%u gives token %llu after token %llu for %s",
                     server->index, first, (unsigned long long)lock->drawn, lock->name);
    lock->drawn = first + count - 1;
}

static void ran_acquire(struct sim_server *server, const struct sim_call *call, const char *reply)
{
    struct sim_process *process;
    uint64_t number;
    struct sim_owner *owner = owner_of(server, &call->argv[5], &process, &number);
    bool granted = strncmp(reply, GRANTED, strlen(GRANTED)) == 0;

    if (granted)
        check_drawn(server, &call->argv[3], reply);
    if (granted && owner) {
        owner->granted_there = true;
        if (owner->released_there && !owner->replayed && !server->redis.deny_kill &&
            !owner->excused && owner->released_starts == server->starts)
            sim_violated(&server->sim->world, "orphans",
                         "s%u gives %.*s to owner %llu of p%u after its release", server->index,
                         (int)call->argv[3].len, call->argv[3].at, (unsigned long long)number,
                         process->index);
    }
    if (sim_below(&server->random, REPLAY_EACH) == 0 && reply[0] == '*')
        replay(server, call, SCRIPT_acquire, granted ? "*1\r\n:2\r\n" : NULL);
}

static void ran_release(struct sim_server *server, const struct sim_call *call, const char *reply)
{
    struct sim_process *process;
    uint64_t number;
    struct sim_owner *owner = owner_of(server, &call->argv[5], &process, &number);

    if (owner && reply[0] == ':') {
        owner->released_there = true;
        owner->released_by = call->conn->id;
        owner->released_starts = server->starts;
    }
    if (sim_below(&server->random, REPLAY_EACH) == 0 && reply[0] == ':')
        replay(server, call, SCRIPT_release, ":-1\r\n");
}

/* Is the i-th element of an array of numbers 1? */
static bool kept(const char *reply, size_t i)
{
    for (const char *at = strchr(reply, ':'); at; at = strchr(at + 1, ':'))
        if (i-- == 0)
            return at[1] == '1';
    return false;
}

static bool is_holder(struct sim_server *server, const struct sim_arg *name,
                      const struct sim_arg *owner)
{
    const struct sim_key *key =
        sim_redis_find(&server->redis, server->sim->plan.db, name->at, name->len);

    return key && key->type == SIM_REDIS_HASH && sim_key_field(key, owner->at, owner->len);
}

static void ran_renew(struct sim_server *server, const struct sim_call *call, const char *reply)
{
    size_t keys = (call->argc - 3) / 3;

    for (size_t i = 0; i < keys; i++) {
        const struct sim_arg *ttl = &call->argv[3 + keys + 2 * i];
        struct sim_process *process;
        uint64_t number;
        const struct sim_owner *owner = owner_of(server, ttl + 1, &process, &number);

        if (kept(reply, i) && !is_holder(server, &call->argv[3 + i], ttl + 1))
            sim_violated(&server->sim->world, "renewed",
                         "s%u says that %.*s is kept, and it is not", server->index,
                         (int)ttl[1].len, ttl[1].at);
        if (!owner || sim_arg_is(ttl, "0"))
            continue;
        if (owner->fixed || (kept(reply, i) && is_after_release(server, owner, call->conn)))
            sim_violated(&server->sim->world, "renewed",
                         "s%u renews owner %llu of p%u, which is %s", server->index,
                         (unsigned long long)number, process->index,
                         owner->fixed ? "fixed" : "released");
    }
}

void sim_check_ran(struct sim_server *server, const struct sim_call *call, const char *sha,
                   size_t reply_at)
{
    const char *reply = call->reply->at + reply_at;
    enum script script = script_of(sha);

    if (server->replaying || !call->conn)
        return;
    server->breaking = script == SCRIPT_break;
    sim_mix(&server->sim->world, server->index ^ (uint64_t)script << 8);
    sim_say(&server->sim->world, "s%u runs %.*s (connection %llu, argument %.*s): %.24s",
            server->index, (int)call->argv[3].len, call->argv[3].at,
            (unsigned long long)call->conn->id, (int)call->argv[call->argc > 5 ? 5 : 3].len,
            call->argv[call->argc > 5 ? 5 : 3].at, reply);
    if (script == SCRIPT_acquire)
        ran_acquire(server, call, reply);
    else if (script == SCRIPT_release)
        ran_release(server, call, reply);
    else if (script == SCRIPT_renew)
        ran_renew(server, call, reply);
}

/* The holder's changes nothing. Another one's may take the lock, if it is free, for one ttl. */
void sim_check_replayed(struct sim_server *server, struct sim_lock *lock,
                        struct sim_process *process, uint64_t number)
{
    struct sim_owner *owner = sim_owner_find(process, number);
    struct sim_process *holder = NULL;
    struct sim_text reply = { 0 };
    uint64_t held_by = 0;
    hfi_time until;
    bool is_holder = sim_store_holder(server->sim, lock, &holder, &held_by, &until) &&
                     holder == process && held_by == number;

    owner->replayed = true;
    sim_redis_do(&server->redis, &reply, "EVALSHA %s 2 %s holdfast:token:{replay} %s:%llu %u 1",
                 sha_of(SCRIPT_acquire), lock->name, process->identity.id,
                 (unsigned long long)number, owner->ttl_ms);
    sim_say(&server->sim->world, "the try of p%u's owner %llu for %s comes again: %.24s",
            process->index, (unsigned long long)number, lock->name, reply.at);
    if (strncmp(reply.at, "*3\r\n:1\r\n", 8) == 0)
        owner->granted_there = true;
    if (is_holder && !owner->released && reply.at[0] == '*' &&
        (server->redis.wrote || strncmp(reply.at, "*1\r\n:2", 6)))
        sim_violated(&server->sim->world, "replayed",
                     "s%u: the holder's try, sent again, is answered by %s", server->index,
                     reply.at);
    sim_text_free(&reply);
}
