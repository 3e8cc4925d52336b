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

#include "store/redis/names.h"

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

/* ------------------------------------------------------------------------------------------------
 * Whose call it is
 */

/* Where a script's owner stands: in an argument; behind the last colons of a key; in a permit's id. */
enum where { ARGUMENT, KEY, PERMIT };

struct way {
    enum script script;
    enum hfi_kind kind;
    enum where where;
    unsigned at; /* argument, or key, from 0 */
};

static const struct way ACQUIRES[] = {
    { SCRIPT_acquire, HFI_KIND_MUTEX, ARGUMENT, 0 },
    { SCRIPT_acquire_fenced, HFI_KIND_FENCED, ARGUMENT, 0 },
    { SCRIPT_acquire_fair, HFI_KIND_FAIR, ARGUMENT, 0 },
    { SCRIPT_acquire_write, HFI_KIND_WRITE, ARGUMENT, 0 },
    { SCRIPT_acquire_read, HFI_KIND_READ, ARGUMENT, 0 },
    { SCRIPT_acquire_permits, HFI_KIND_PERMITS, PERMIT, 0 },
    { SCRIPT_acquire_semaphore, HFI_KIND_SEMAPHORE, KEY, 1 },
};

static const struct way RELEASES[] = {
    { SCRIPT_release, HFI_KIND_MUTEX, ARGUMENT, 0 },
    { SCRIPT_release_fair, HFI_KIND_FAIR, ARGUMENT, 0 },
    { SCRIPT_release_write, HFI_KIND_WRITE, ARGUMENT, 0 },
    { SCRIPT_release_read, HFI_KIND_READ, ARGUMENT, 0 },
    { SCRIPT_release_permits, HFI_KIND_PERMITS, PERMIT, 0 },
    { SCRIPT_release_semaphore, HFI_KIND_SEMAPHORE, KEY, 2 },
};

static const struct way *way_of(const struct way *ways, size_t count, enum script script)
{
    for (size_t i = 0; i < count; i++)
        if (ways[i].script == script)
            return &ways[i];
    return NULL;
}

static size_t keys_of(const struct sim_call *call)
{
    return (size_t)strtoul(call->argv[2].at, NULL, 10);
}

/* The i-th argument of the script. */
static const struct sim_arg *argument(const struct sim_call *call, size_t i)
{
    return &call->argv[3 + keys_of(call) + i];
}

/* The owner of a call, if its process lives. */
static struct sim_owner *owner_of(struct sim_server *server, const struct sim_call *call,
                                  const struct way *way, struct sim_process **ret_process,
                                  uint64_t *ret_number)
{
    const struct sim_arg *arg =
        way->where == KEY ? &call->argv[3 + way->at] : argument(call, way->at);
    size_t skip = 0;

    if (way->where == PERMIT) {
        *ret_process = sim_owner_of_permits(server->sim, arg->at, arg->len, ret_number);
    } else {
        for (unsigned colons = 0; way->where == KEY && colons < 2; colons += arg->at[skip] == ':')
            for (skip = skip ? skip : arg->len; skip > 0 && arg->at[--skip] != ':';)
                ;
        skip += way->where == KEY;
        *ret_process = sim_owner_process(server->sim, arg->at + skip, arg->len - skip, ret_number);
    }
    return *ret_process ? sim_owner_find(*ret_process, *ret_number, way->kind) : NULL;
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

static void check_drawn(struct sim_server *server, const struct sim_arg *name, bool fenced,
                        const char *reply)
{
    struct sim_lock *lock = sim_lock_find(server->sim, server->service, name->at, name->len);
    unsigned long long first, count;
    char *end;

    first = strtoull(reply + strlen(GRANTED ":"), &end, 10);
    if (!lock || strncmp(end, NEXT, strlen(NEXT)) != 0)
        return;
    count = strtoull(end + strlen(NEXT), NULL, 10);
    if (first <= lock->drawn[fenced] &&
        !(server->lost_data && (fenced || server->stepped_back) && !server->sim->options->strict))
        sim_violated(&server->sim->world, "drawn", "s%u gives token %llu after token %llu for %s",
                     server->index, first, (unsigned long long)lock->drawn[fenced], lock->name);
    lock->drawn[fenced] = first + count - 1;
}

static void check_orphan(struct sim_server *server, const struct sim_call *call,
                         const struct sim_owner *owner, const struct sim_process *process,
                         uint64_t number)
{
    if (owner->released_there && !owner->replayed && !server->redis.deny_kill && !owner->excused &&
        owner->released_starts == server->starts)
        sim_violated(&server->sim->world, "orphans",
                     "s%u gives %.*s to owner %llu of p%u after its release", server->index,
                     (int)call->argv[3].len, call->argv[3].at, (unsigned long long)number,
                     process->index);
}

static struct sim_lock *lock_of(const struct sim_server *server, const struct sim_call *call)
{
    return sim_lock_find(server->sim, server->service, call->argv[3].at, call->argv[3].len);
}

/* One that may be passed over has a place; one that waits for its answer only has none. */
static void check_turn(const struct sim_server *server, const struct sim_call *call, bool granted)
{
    struct sim_lock *lock = lock_of(server, call);

    if (lock && granted)
        sim_check_turn_granted(lock, argument(call, 0), 1, 1);
    else if (lock && sim_arg_is(argument(call, 4), "1"))
        sim_check_turn_waits(lock, argument(call, 0), 1);
}

static void ran_acquire(struct sim_server *server, const struct sim_call *call,
                        const struct way *way, const char *reply)
{
    struct sim_process *process;
    uint64_t number;
    struct sim_owner *owner = owner_of(server, call, way, &process, &number);
    bool granted = strncmp(reply, GRANTED, strlen(GRANTED)) == 0;

    if (granted && !hfi_kind_has_many(way->kind))
        check_drawn(server, &call->argv[3], way->kind == HFI_KIND_FENCED, reply);
    if (granted && owner) {
        owner->granted_there = true;
        check_orphan(server, call, owner, process, number);
    }
    if (granted && way->kind == HFI_KIND_SEMAPHORE && lock_of(server, call))
        sim_check_gave(lock_of(server, call), owner,
                       (uint32_t)strtoul(argument(call, 0)->at, NULL, 10));
    if (way->kind == HFI_KIND_FAIR && reply[0] == '*' && strncmp(reply, "*1", 2) != 0)
        check_turn(server, call, granted);
    /* One that is busy may leave a sign that it waits. */
    if (sim_below(&server->random, REPLAY_EACH) == 0 && reply[0] == '*' &&
        (granted || way->kind == HFI_KIND_MUTEX))
        replay(server, call, way->script, granted ? "*1\r\n:2\r\n" : NULL);
}

static void ran_release(struct sim_server *server, const struct sim_call *call,
                        const struct way *way, const char *reply)
{
    struct sim_process *process;
    uint64_t number;
    struct sim_owner *owner = owner_of(server, call, way, &process, &number);
    struct sim_lock *lock = lock_of(server, call);

    if (!owner && way->script == SCRIPT_release && process)
        owner = sim_owner_find(process, number, HFI_KIND_FENCED);
    if (owner && reply[0] == ':') {
        sim_check_released_there(server->sim, owner);
        owner->released_by = call->conn->id;
        owner->released_starts = server->starts;
    }
    if (way->kind == HFI_KIND_FAIR && lock && reply[0] == ':')
        sim_check_turn_left(lock, argument(call, 0));
    if (way->kind == HFI_KIND_SEMAPHORE && lock && reply[0] == ':' && reply[1] != '-')
        sim_check_took_back(lock, owner);
    if (sim_below(&server->random, REPLAY_EACH) == 0 && reply[0] == ':')
        replay(server, call, way->script, ":-1\r\n");
}

/* Is the i-th element of an array of numbers 1? */
static bool kept(const char *reply, size_t i)
{
    for (const char *at = strchr(reply, ':'); at; at = strchr(at + 1, ':'))
        if (i-- == 0)
            return at[1] == '1';
    return false;
}

/* How the scripts that renew count: arguments and keys for each item, and where its ttl and owner stand. */
static const struct renewing {
    enum script script;
    enum hfi_kind kind;
    enum where where;
    unsigned keys, arguments;
} RENEWALS[] = {
    { SCRIPT_renew, HFI_KIND_MUTEX, ARGUMENT, 1, 2 },
    { SCRIPT_renew_write, HFI_KIND_WRITE, ARGUMENT, 1, 2 },
    { SCRIPT_renew_read, HFI_KIND_READ, ARGUMENT, 2, 2 },
    { SCRIPT_renew_permits, HFI_KIND_PERMITS, PERMIT, 1, 3 },
};

static void check_renewed(struct sim_server *server, const struct sim_call *call,
                          const struct sim_arg *ttl, const struct sim_owner *owner, bool is_kept)
{
    if (sim_arg_is(ttl, "0"))
        return;
    if (owner->fixed || (is_kept && is_after_release(server, owner, call->conn)))
        sim_violated(&server->sim->world, "renewed", "s%u renews an owner that is %s",
                     server->index, owner->fixed ? "fixed" : "released");
}

static void ran_renew(struct sim_server *server, const struct sim_call *call,
                      const struct renewing *how, const char *reply)
{
    size_t count = keys_of(call) / how->keys;

    for (size_t i = 0; i < count; i++) {
        const struct sim_arg *ttl = argument(call, i * how->arguments);
        struct way way = { how->script, how->kind, how->where, (unsigned)(i * how->arguments + 1) };
        struct sim_process *process;
        uint64_t number;
        const struct sim_owner *owner = owner_of(server, call, &way, &process, &number);
        hfi_time until;

        if (!owner)
            continue;
        if (kept(reply, i) && !sim_store_has(server->sim, &server->sim->lock[owner->lock], process,
                                             number, (enum hfi_kind)owner->kind, &until))
            sim_violated(&server->sim->world, "renewed",
                         "s%u says that owner %llu of p%u is kept, and it is not", server->index,
                         (unsigned long long)number, process->index);
        check_renewed(server, call, ttl, owner, kept(reply, i));
    }
}

static enum hfi_verb verb_of(const struct sim_arg *word)
{
    static const struct {
        const char *word;
        enum hfi_verb verb;
    } WORDS[] = { { "release", HFI_SEMAPHORE_RELEASE },
                  { "set", HFI_LATCH_SET },
                  { "down", HFI_LATCH_DOWN },
                  { "delete", HFI_LATCH_DELETE } };

    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++)
        if (sim_arg_is(word, WORDS[i].word))
            return WORDS[i].verb;
    return HFI_SEMAPHORE_AVAILABLE;
}

/* Steps with objects: what they come to, each counted once. */
static void ran_object(struct sim_server *server, const struct sim_call *call, enum script script,
                       const char *reply)
{
    static const struct way NOTE = { SCRIPT_UNKNOWN, HFI_KIND_SEMAPHORE, KEY, 1 };
    struct sim_lock *lock = lock_of(server, call);
    const struct sim_arg *verb = argument(call, 0);
    struct sim_process *process = NULL;
    uint64_t serial = 0;

    if (!lock || !strstr(reply, "ok "))
        return;
    if (script == SCRIPT_latch && sim_arg_is(verb, "set"))
        lock->set = server->sim->world.now;
    if (script == SCRIPT_latch && sim_arg_is(verb, "delete"))
        lock->deleted = server->sim->world.now;
    if (!server->redis.wrote)
        return;
    owner_of(server, call, &NOTE, &process, &serial);
    sim_check_stepped(lock, process, serial, verb_of(verb),
                      strtol(argument(call, 2)->at, NULL, 10));
}

static size_t held(struct sim_server *server, const struct sim_lock *lock)
{
    char name[HFI_KEY_MAX];
    const struct sim_key *key =
        sim_redis_find(&server->redis, server->sim->plan.db, name,
                       hfi_suffix_name(name, lock->name, lock->len, "timeout"));

    return key && key->type == SIM_REDIS_ZSET ? key->fields : 0;
}

static void check_counted(struct sim_server *server, const struct sim_lock *lock)
{
    const struct sim_key *key =
        sim_redis_find(&server->redis, server->sim->plan.db, lock->name, lock->len);
    int64_t there = key && key->type == SIM_REDIS_STRING ? strtoll(key->value, NULL, 10) : 0;

    if (lock->theme == SIM_LOCKS ||
        (key ? key->type != SIM_REDIS_STRING : lock->theme != SIM_LATCH))
        return;
    if (lock->theme == SIM_PERMITS)
        there += (int64_t)held(server, lock);
    sim_check_counted(lock, there);
}

static void ran_kind(struct sim_server *server, const struct sim_call *call, enum script script,
                     const char *reply)
{
    const struct way *acquire = way_of(ACQUIRES, sizeof ACQUIRES / sizeof ACQUIRES[0], script);
    const struct way *release = way_of(RELEASES, sizeof RELEASES / sizeof RELEASES[0], script);
    struct sim_lock *lock;

    if (acquire)
        ran_acquire(server, call, acquire, reply);
    if (release)
        ran_release(server, call, release, reply);
    for (size_t i = 0; i < sizeof RENEWALS / sizeof RENEWALS[0]; i++)
        if (RENEWALS[i].script == script)
            ran_renew(server, call, &RENEWALS[i], reply);
    if (script == SCRIPT_semaphore || script == SCRIPT_latch || script == SCRIPT_permits)
        ran_object(server, call, script, reply);
    if (script == SCRIPT_leave_fair) {
        lock = lock_of(server, call);
        if (lock && reply[0] == ':')
            sim_check_turn_left(lock, argument(call, 0));
    }
    lock = keys_of(call) ? lock_of(server, call) : NULL;
    if (lock)
        check_counted(server, lock);
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
    ran_kind(server, call, script, reply);
}

/* The holder's changes nothing. Another one's may take the lock, if it is free, for one ttl. */
void sim_check_replayed(struct sim_server *server, struct sim_lock *lock,
                        struct sim_process *process, uint64_t number)
{
    struct sim_owner *owner = sim_owner_find(process, number, HFI_KIND_MUTEX);
    struct sim_text reply = { 0 };
    hfi_time until;
    bool is_holder = sim_store_has(server->sim, lock, process, number, HFI_KIND_MUTEX, &until);

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
