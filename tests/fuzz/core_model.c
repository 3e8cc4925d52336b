/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a true server has, and does: the scripts of src/store/redis/scripts, on a model of three locks. One clock
 * for it and for the client: claims are compared with it while clocks agree.
 */
#include "fuzz/core.h"

#include <utlist.h>

void model_expire(struct core *core)
{
    for (int i = 0; i < NAMES; i++)
        if (core->lock[i].holder != NOBODY && core->now >= core->lock[i].expires_ns)
            core->lock[i].holder = NOBODY;
}

/* ------------------------------------------------------------------------------------------------
 * Scripts
 */

static void execute_try(struct core *core, struct conn *conn, const struct order *order)
{
    const struct order_item *item = &order->item[0];
    struct lock *lock = &core->lock[item->name];
    uint64_t now_us = core->now / HFI_USEC, last = core->token ? core->token : now_us;
    uint64_t count = order->tokens, upto = now_us;
    unsigned long long first;

    if (lock->holder == OURS && lock->owner == item->owner) {
        server_say(conn, "*1\r\n:2\r\n");
        return;
    }
    if (lock->holder != NOBODY) {
        server_say(conn, "*3\r\n:0\r\n:%llu\r\n:%d\r\n",
                   (unsigned long long)((lock->expires_ns - core->now) / HFI_MSEC),
                   lock->holder == STRANGER && lock->read_write);
        return;
    }
    if (last >= now_us) {
        count = 1;
        upto = last + 1;
    } else if (now_us - last < count) {
        count = now_us - last;
    }
    core->token = upto;
    lock->holder = OURS;
    lock->late = conn != &core->conn[HFI_REDIS_COMMANDS];
    lock->owner = item->owner;
    lock->expires_ns = core->now + item->ttl_ms * HFI_MSEC;
    first = upto - count + 1;
    server_say(conn, "*3\r\n:1\r\n:%llu\r\n:%llu\r\n", first, (unsigned long long)count);
}

/* To the client, if it listens; how many were told. */
static unsigned publish(struct core *core, int name, enum hfi_topic kind)
{
    struct conn *conn = &core->conn[HFI_REDIS_WAKEUPS];
    char channel[HFI_CHANNEL_MAX];
    size_t len = hfi_channel_name(channel, CORE_NAMES[name], strlen(CORE_NAMES[name]), kind);

    if (!conn->up || !conn->listens[name][kind])
        return 0;
    if (!conn->mute)
        server_say(conn, "*3\r\n$7\r\nmessage\r\n$%zu\r\n%.*s\r\n$1\r\n0\r\n", len, (int)len,
                   channel);
    return 1;
}

/* A release that follows a try which was not answered comes behind the end of that try's connection. */
static void check_order(const struct core *core, uint64_t owner)
{
    const struct conn *ghost;
    const struct order *order;

    if (core->lied || core->unkillable || !core->kills)
        return;
    LL_FOREACH (core->ghosts, ghost) {
        DL_FOREACH (ghost->orders, order) {
            MUST(order->kind != ORDER_TRY || order->item[0].owner != owner);
        }
    }
}

static void execute_release(struct core *core, struct conn *conn, const struct order *order)
{
    const struct order_item *item = &order->item[0];
    struct lock *lock = &core->lock[item->name];
    unsigned others = core->calm ? 0 : choose(core, 3);

    if (conn == &core->conn[HFI_REDIS_COMMANDS])
        check_order(core, item->owner);
    if (lock->holder != OURS || lock->owner != item->owner) {
        server_say(conn, ":-1\r\n");
        return;
    }
    lock->holder = NOBODY;
    others += publish(core, item->name, HFI_TOPIC_LOCK);
    server_say(conn, ":%u\r\n", others);
}

static void execute_renewal(struct core *core, struct conn *conn, const struct order *order)
{
    server_say(conn, "*%zu\r\n", order->count);
    for (size_t i = 0; i < order->count; i++) {
        const struct order_item *item = &order->item[i];
        struct lock *lock = &core->lock[item->name];
        bool kept = lock->holder == OURS && lock->owner == item->owner;

        if (kept && item->ttl_ms > 0)
            lock->expires_ns = core->now + item->ttl_ms * HFI_MSEC;
        server_say(conn, ":%d\r\n", kept);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Other commands
 */

static void say_bulk(struct conn *conn, const char *text)
{
    server_say(conn, "$%zu\r\n%s\r\n", strlen(text), text);
}

static void execute_subscription(struct core *core, struct conn *conn, const struct order *order)
{
    char channel[HFI_CHANNEL_MAX + 1] = HFI_CLIENT_PREFIX CLIENT_ID;
    bool on = order->kind == ORDER_SUBSCRIBE;

    (void)core;
    if (order->name < 0) {
        conn->listens_control = on;
    } else {
        const char *name = CORE_NAMES[order->name];
        size_t len = hfi_channel_name(channel, name, strlen(name), (enum hfi_topic)order->kind_of);

        channel[len] = '\0';
        conn->listens[order->name][order->kind_of] = on;
    }
    server_say(conn, "*3\r\n");
    say_bulk(conn, on ? "subscribe" : "unsubscribe");
    say_bulk(conn, channel);
    server_say(conn, ":1\r\n");
}

/* What a connection that was ended has not executed, it never will. */
void model_kill(struct core *core, uint64_t id)
{
    struct conn *conn;

    LL_FOREACH (core->ghosts, conn) {
        struct order *order, *tmp;

        if (conn->id != id)
            continue;
        DL_FOREACH_SAFE (conn->orders, order, tmp) {
            DL_DELETE(conn->orders, order);
            free(order);
        }
    }
}

static bool is_ghost(const struct core *core, uint64_t id)
{
    const struct conn *conn;

    LL_FOREACH (core->ghosts, conn) {
        if (conn->id == id)
            return true;
    }
    return false;
}

static void execute_kill(struct core *core, struct conn *conn, const struct order *order)
{
    if (!core->kills) {
        server_say(conn,
                   "-NOPERM this user has no permissions to run the 'client|kill' command\r\n");
        return;
    }
    if (!core->lied) /* its own old one, neither itself nor another client's */
        MUST(is_ghost(core, order->number));
    model_kill(core, order->number);
    server_say(conn, ":1\r\n");
}

void model_execute(struct core *core, struct conn *conn, const struct order *order)
{
    model_expire(core);
    switch (order->kind) {
    case ORDER_TRY:
        execute_try(core, conn, order);
        break;
    case ORDER_RELEASE:
        execute_release(core, conn, order);
        break;
    case ORDER_RENEW:
        execute_renewal(core, conn, order);
        break;
    case ORDER_ANNOUNCE:
        server_say(conn, ":%d\r\n", core->registered);
        core->registered = true;
        break;
    case ORDER_FAREWELL:
        core->registered = false;
        server_say(conn, ":1\r\n");
        break;
    case ORDER_ID:
        server_say(conn, ":%llu\r\n", (unsigned long long)conn->id);
        break;
    case ORDER_KILL:
        execute_kill(core, conn, order);
        break;
    case ORDER_SERVER:
        say_bulk(conn, "redis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:c0ffee\r\n");
        break;
    case ORDER_ROLE:
        say_bulk(conn, "role:master\r\n");
        break;
    case ORDER_MEMORY:
        say_bulk(conn, "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n");
        break;
    case ORDER_SUBSCRIBE:
    case ORDER_UNSUBSCRIBE:
        execute_subscription(core, conn, order);
        break;
    case ORDER_OTHER:
        server_say(conn, "+OK\r\n");
        break;
    }
}

/* ------------------------------------------------------------------------------------------------
 * Others
 */

static void tell_control(struct core *core)
{
    struct conn *conn = &core->conn[HFI_REDIS_WAKEUPS];

    if (conn->up && conn->listens_control && !conn->mute)
        server_say(conn, "*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$1\r\nx\r\n",
                   strlen(HFI_CLIENT_PREFIX CLIENT_ID), HFI_CLIENT_PREFIX CLIENT_ID);
}

/* Takes a lock, lets go of it, or takes it away from us by hand. */
void model_stranger(struct core *core)
{
    int name = (int)choose(core, NAMES);
    struct lock *lock = &core->lock[name];
    uint32_t how = choose(core, 8);

    model_expire(core);
    if (lock->holder == NOBODY) {
        lock->holder = STRANGER;
        lock->read_write = how & 1;
        lock->expires_ns = core->now + (how < 4 ? 200 * HFI_MSEC : 20 * HFI_SEC);
    } else if (lock->holder == STRANGER) {
        lock->holder = NOBODY;
        publish(core, name, lock->read_write ? HFI_TOPIC_READ_WRITE : HFI_TOPIC_LOCK);
    } else if (how == 7) {
        lock->holder = NOBODY;
        lock->tampered = true;
        publish(core, name, HFI_TOPIC_LOCK);
        tell_control(core);
    }
}
