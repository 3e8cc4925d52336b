/* SPDX-License-Identifier: Apache-2.0 */
/* Commands on connections, channels and the server. */
#include "redis.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

/* ------------------------------------------------------------------------------------------------
 * Connections
 */

static void run_ping(struct sim_call *call)
{
    if (call->argc > 2) {
        sim_reply_error(call->reply, "ERR wrong number of arguments for 'ping' command");
    } else if (call->conn && call->conn->subscriptions > 0) {
        sim_reply_array(call->reply, 2);
        sim_reply_bulk(call->reply, "pong", 4);
        sim_reply_bulk(call->reply, call->argc > 1 ? call->argv[1].at : "",
                       call->argc > 1 ? call->argv[1].len : 0);
    } else if (call->argc > 1) {
        sim_reply_bulk(call->reply, call->argv[1].at, call->argv[1].len);
    } else {
        sim_reply_status(call->reply, "PONG");
    }
}

static void run_auth(struct sim_call *call)
{
    const struct sim_arg *password = &call->argv[call->argc - 1];

    if (call->argc > 3) {
        sim_reply_error(call->reply, "ERR syntax error");
        return;
    }
    if (!call->redis->password && call->argc == 2) {
        sim_reply_error(call->reply,
                        "ERR AUTH <password> called without any password configured for the "
                        "default user. Are you sure your configuration is correct?");
        return;
    }
    if ((call->argc == 3 && !sim_arg_is(&call->argv[1], "default")) ||
        (call->redis->password && (strlen(call->redis->password) != password->len ||
                                   memcmp(call->redis->password, password->at, password->len)))) {
        sim_reply_error(call->reply,
                        "WRONGPASS invalid username-password pair or user is disabled.");
        return;
    }
    call->conn->authenticated = true;
    sim_reply_status(call->reply, "OK");
}

static void run_select(struct sim_call *call)
{
    long long db;

    if (!sim_arg_number(&call->argv[1], &db)) {
        sim_reply_error(call->reply, "ERR value is not an integer or out of range");
    } else if (db < 0 || db >= SIM_REDIS_DBS) {
        sim_reply_error(call->reply, "ERR DB index is out of range");
    } else {
        call->conn->db = (unsigned)db;
        sim_reply_status(call->reply, "OK");
    }
}

static void client_setname(struct sim_call *call)
{
    const struct sim_arg *name = &call->argv[2];

    for (size_t i = 0; i < name->len; i++) {
        if (name->at[i] < '!' || name->at[i] > '~') {
            sim_reply_error(call->reply, "ERR Client names cannot contain spaces, newlines or "
                                         "special characters.");
            return;
        }
    }
    snprintf(call->conn->name, sizeof call->conn->name, "%.*s", (int)name->len, name->at);
    sim_reply_status(call->reply, "OK");
}

static void client_kill(struct sim_call *call)
{
    struct sim_conn *conn, *next;
    long long id, killed = 0;

    if (call->redis->deny_kill) {
        sim_reply_error(call->reply, "NOPERM this user has no permissions to run the "
                                     "'client|kill' command");
        return;
    }
    if (!sim_arg_number(&call->argv[3], &id) || id <= 0) {
        sim_reply_error(call->reply, "ERR client-id should be greater than 0");
        return;
    }
    DL_FOREACH_SAFE (call->redis->conns, conn, next) {
        if (conn->id != (uint64_t)id || conn == call->conn || conn->killed)
            continue;
        conn->killed = true;
        killed++;
        if (call->redis->hooks.killed)
            call->redis->hooks.killed(call->redis->hooks.arg, call->conn, conn);
    }
    sim_reply_integer(call->reply, killed);
}

static void run_client(struct sim_call *call)
{
    if (sim_arg_is(&call->argv[1], "setname") && call->argc == 3) {
        client_setname(call);
    } else if (sim_arg_is(&call->argv[1], "getname") && call->argc == 2) {
        if (call->conn->name[0])
            sim_reply_bulk(call->reply, call->conn->name, strlen(call->conn->name));
        else
            sim_reply_nil(call->reply);
    } else if (sim_arg_is(&call->argv[1], "id") && call->argc == 2) {
        sim_reply_integer(call->reply, (long long)call->conn->id);
    } else if (sim_arg_is(&call->argv[1], "kill") && call->argc == 4 &&
               sim_arg_is(&call->argv[2], "id")) {
        client_kill(call);
    } else {
        sim_reply_error(call->reply, "ERR syntax error");
    }
}

/* ------------------------------------------------------------------------------------------------
 * Channels
 */

static struct sim_channel *find_channel(struct sim_redis *redis, const char *name, size_t len)
{
    struct sim_channel *channel;

    HASH_FIND(hh, redis->channels, name, len, channel);
    return channel;
}

static struct sim_channel *make_channel(struct sim_redis *redis, const char *name, size_t len)
{
    struct sim_channel *channel = sim_alloc(sizeof *channel + len + 1);

    memcpy(channel->name, name, len);
    channel->len = len;
    HASH_ADD_KEYPTR(hh, redis->channels, channel->name, len, channel);
    return channel;
}

static size_t place_in(const struct sim_channel *channel, const struct sim_conn *conn)
{
    size_t i = 0;

    while (i < channel->count && channel->conn[i] != conn)
        i++;
    return i;
}

static void subscribe(struct sim_conn *conn, const struct sim_arg *name)
{
    struct sim_channel *channel = find_channel(conn->redis, name->at, name->len);

    if (!channel)
        channel = make_channel(conn->redis, name->at, name->len);
    if (place_in(channel, conn) < channel->count)
        return;
    if (channel->count == channel->room) {
        channel->room = channel->room ? channel->room * 2 : 4;
        channel->conn = sim_grow(channel->conn, channel->room * sizeof(struct sim_conn *));
    }
    channel->conn[channel->count++] = conn;
    conn->subscriptions++;
}

static void leave(struct sim_conn *conn, struct sim_channel *channel)
{
    size_t i = place_in(channel, conn);

    if (i == channel->count)
        return;
    conn->subscriptions--;
    memmove(channel->conn + i, channel->conn + i + 1,
            (channel->count - i - 1) * sizeof(struct sim_conn *));
    if (--channel->count > 0)
        return;
    assert(conn->redis->channels);
    HASH_DEL(conn->redis->channels, channel);
    free(channel->conn);
    free(channel);
}

void sim_redis_unsubscribe_all(struct sim_conn *conn)
{
    struct sim_channel *channel, *next;

    if (conn->subscriptions == 0)
        return;
    HASH_ITER (hh, conn->redis->channels, channel, next) {
        leave(conn, channel);
    }
}

static void confirm(struct sim_call *call, const char *what, const struct sim_arg *channel)
{
    sim_reply_array(call->reply, 3);
    sim_reply_bulk(call->reply, what, strlen(what));
    if (channel)
        sim_reply_bulk(call->reply, channel->at, channel->len);
    else
        sim_reply_nil(call->reply);
    sim_reply_integer(call->reply, call->conn->subscriptions);
}

static void run_subscribe(struct sim_call *call)
{
    for (size_t i = 1; i < call->argc; i++) {
        subscribe(call->conn, &call->argv[i]);
        if (call->redis->hooks.subscribed)
            call->redis->hooks.subscribed(call->redis->hooks.arg, call->conn, &call->argv[i]);
        confirm(call, "subscribe", &call->argv[i]);
    }
}

static void run_unsubscribe(struct sim_call *call)
{
    if (call->argc == 1 && call->conn->subscriptions == 0)
        confirm(call, "unsubscribe", NULL);
    for (size_t i = 1; i < call->argc; i++) {
        struct sim_channel *channel =
            find_channel(call->redis, call->argv[i].at, call->argv[i].len);

        if (channel)
            leave(call->conn, channel);
        confirm(call, "unsubscribe", &call->argv[i]);
    }
}

long long sim_redis_publish(struct sim_redis *redis, const struct sim_arg *channel_name,
                            const struct sim_arg *message)
{
    const struct sim_channel *channel = find_channel(redis, channel_name->at, channel_name->len);

    for (size_t i = 0; channel && i < channel->count; i++) {
        struct sim_text *out = &channel->conn[i]->out;

        sim_reply_array(out, 3);
        sim_reply_bulk(out, "message", 7);
        sim_reply_bulk(out, channel_name->at, channel_name->len);
        sim_reply_bulk(out, message->at, message->len);
        sim_conn_mark(channel->conn[i]);
    }
    return channel ? (long long)channel->count : 0;
}

static void run_publish(struct sim_call *call)
{
    sim_reply_integer(call->reply, sim_redis_publish(call->redis, &call->argv[1], &call->argv[2]));
}

static void pubsub_channels(struct sim_call *call)
{
    struct sim_channel *channel, *next;
    struct sim_text found = { 0 };
    size_t count = 0;

    HASH_ITER (hh, call->redis->channels, channel, next) {
        if (call->argc > 2 &&
            !sim_glob(call->argv[2].at, call->argv[2].len, channel->name, channel->len))
            continue;
        sim_reply_bulk(&found, channel->name, channel->len);
        count++;
    }
    sim_reply_array(call->reply, count);
    sim_text_add(call->reply, found.at, found.len);
    sim_text_free(&found);
}

static void run_pubsub(struct sim_call *call)
{
    if (sim_arg_is(&call->argv[1], "channels") && call->argc <= 3) {
        pubsub_channels(call);
        return;
    }
    if (!sim_arg_is(&call->argv[1], "numsub")) {
        sim_reply_error(call->reply, "ERR syntax error");
        return;
    }
    sim_reply_array(call->reply, 2 * (call->argc - 2));
    for (size_t i = 2; i < call->argc; i++) {
        const struct sim_channel *channel =
            find_channel(call->redis, call->argv[i].at, call->argv[i].len);

        sim_reply_bulk(call->reply, call->argv[i].at, call->argv[i].len);
        sim_reply_integer(call->reply, channel ? (long long)channel->count : 0);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The server
 */

static void run_time(struct sim_call *call)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%lld", (long long)(call->redis->wall_us / 1000000));

    sim_reply_array(call->reply, 2);
    sim_reply_bulk(call->reply, text, (size_t)n);
    n = snprintf(text, sizeof text, "%lld", (long long)(call->redis->wall_us % 1000000));
    sim_reply_bulk(call->reply, text, (size_t)n);
}

static void run_info(struct sim_call *call)
{
    const struct sim_redis *redis = call->redis;
    bool all = call->argc == 1;
    struct sim_text text = { 0 };

    if (all || sim_arg_is(&call->argv[1], "server"))
        sim_text_format(&text,
                        "# Server\r\nredis_version:%s\r\nredis_mode:standalone\r\nrun_id:%s\r\n",
                        redis->version, redis->run_id);
    if (all || sim_arg_is(&call->argv[1], "memory"))
        sim_text_format(&text, "# Memory\r\nmaxmemory:%d\r\nmaxmemory_policy:%s\r\n",
                        redis->out_of_memory, redis->policy);
    if (all || sim_arg_is(&call->argv[1], "replication"))
        sim_text_format(&text, "# Replication\r\nrole:%s\r\n%s",
                        redis->is_replica ? "slave" : "master",
                        redis->is_replica ? "master_host:sim\r\nmaster_port:6379\r\n" : "");
    sim_reply_bulk(call->reply, text.at, text.len);
    sim_text_free(&text);
}

const struct sim_command sim_redis_admin[] = {
    { "time", 1, 0, run_time },
    { "publish", 3, 0, run_publish },
    { "ping", -1, SIM_COMMAND_LISTEN, run_ping },
    { "auth", -2, SIM_COMMAND_NOSCRIPT | SIM_COMMAND_HELLO, run_auth },
    { "select", 2, SIM_COMMAND_HELLO, run_select },
    { "client", -2, SIM_COMMAND_NOSCRIPT | SIM_COMMAND_HELLO, run_client },
    { "subscribe", -2, SIM_COMMAND_NOSCRIPT | SIM_COMMAND_LISTEN | SIM_COMMAND_HELLO,
      run_subscribe },
    { "unsubscribe", -1, SIM_COMMAND_NOSCRIPT | SIM_COMMAND_LISTEN | SIM_COMMAND_HELLO,
      run_unsubscribe },
    { "pubsub", -2, SIM_COMMAND_HELLO, run_pubsub },
    { "info", -1, SIM_COMMAND_HELLO, run_info },
    { 0 },
};
