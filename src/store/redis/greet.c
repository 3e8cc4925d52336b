/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The greeting: what is sent on a new connection before anything else, in one go (but for the end of an old
 * connection, which needs to know first whether the server is still the same). Each command has a function
 * that judges its reply, in the same order. What a server must be: not a replica, not a node of a cluster,
 * new enough, and it should not throw locks away when memory is short.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "store/redis/string.h"

/* ------------------------------------------------------------------------------------------------
 * Error replies
 */

struct known_error {
    const char *word;
    int error;
};

static const struct known_error KNOWN[] = {
    { "NOAUTH", HF_ERR_AUTH },
    { "WRONGPASS", HF_ERR_AUTH },
    { "NOPERM", HF_ERR_PERMISSION },
    { "WRONGTYPE", HF_ERR_WRONG_TYPE },
    { "OOM", HF_ERR_STORE_FULL },
    { "READONLY", HF_ERR_READ_ONLY },
    { "LOADING", HF_ERR_UNAVAILABLE },
    { "BUSY", HF_ERR_UNAVAILABLE },
    { "MASTERDOWN", HF_ERR_UNAVAILABLE },
    { "MISCONF", HF_ERR_UNAVAILABLE },
    { "NOREPLICAS", HF_ERR_UNAVAILABLE },
    { "UNKILLABLE", HF_ERR_UNAVAILABLE },
    { "CLUSTERDOWN", HF_ERR_CLUSTER },
    { "MOVED", HF_ERR_CLUSTER },
    { "ASK", HF_ERR_CLUSTER },
    { "CROSSSLOT", HF_ERR_CLUSTER },
};

static int known(const char *text)
{
    for (size_t i = 0; i < sizeof KNOWN / sizeof KNOWN[0]; i++) {
        size_t n = strlen(KNOWN[i].word);

        if (strncmp(text, KNOWN[i].word, n) == 0 && (text[n] == ' ' || text[n] == '\0'))
            return KNOWN[i].error;
    }
    return HF_OK;
}

int hfi_redis_error(const redisReply *reply)
{
    const char *text = reply->str;
    int error = known(text);

    if (error)
        return error;
    /* Before Redis 7 an error inside a script is wrapped: "ERR Error running script (…): …: -OOM …". */
    for (const char *dash = strchr(text, '-'); dash; dash = strchr(dash + 1, '-')) {
        error = known(dash + 1);
        if (error)
            return error;
    }
    if (strstr(text, "WRONGTYPE"))
        return HF_ERR_WRONG_TYPE;
    /* A command in a script that the user may not run, or not on that key. */
    if (strstr(text, "user executing the script can't"))
        return HF_ERR_PERMISSION;
    if (strstr(text, "invalid password") || strstr(text, "invalid username-password") ||
        strstr(text, "without any password configured"))
        return HF_ERR_AUTH;
    if (strstr(text, "max number of clients"))
        return HF_ERR_UNAVAILABLE;
    return HF_ERR_PROTOCOL;
}

static int refuse(struct hfi_redis *redis, const redisReply *reply, const char *what)
{
    int error = hfi_redis_error(reply);

    hfi_redis_say(redis, "%s: %s: %s", redis->uri.shown, what, reply->str);
    return error;
}

/* ------------------------------------------------------------------------------------------------
 * Judging the replies
 */

static bool is_error(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR;
}

static int judge_auth(struct hfi_redis *redis, const redisReply *reply)
{
    if (!is_error(reply))
        return HF_OK;
    if (hfi_redis_error(reply) == HF_ERR_UNAVAILABLE)
        return refuse(redis, reply, "the server cannot serve now");
    hfi_redis_say(redis, "%s refused the user or password: %s", redis->uri.shown, reply->str);
    return HF_ERR_AUTH;
}

static int judge_select(struct hfi_redis *redis, const redisReply *reply)
{
    return is_error(reply) ? refuse(redis, reply, "the database cannot be selected") : HF_OK;
}

/* Only for people: it does not matter when it is denied. But it may be the first to need a password. */
static int judge_name(struct hfi_redis *redis, const redisReply *reply)
{
    int error = is_error(reply) ? hfi_redis_error(reply) : HF_OK;

    if (error == HF_ERR_UNAVAILABLE)
        return refuse(redis, reply, "the server cannot serve now");
    if (error != HF_ERR_AUTH)
        return HF_OK;
    hfi_redis_say(redis,
                  "%s wants a password: put it into the URI, "
                  "redis://user:password@host:port/db",
                  redis->uri.shown);
    return HF_ERR_AUTH;
}

static int judge_id(struct hfi_redis *redis, const redisReply *reply)
{
    redis->server_id =
        reply->type == REDIS_REPLY_INTEGER && reply->integer > 0 ? (uint64_t)reply->integer : 0;
    return HF_OK;
}

static int judge_kill(struct hfi_redis *redis, const redisReply *reply)
{
    /* "No such client": it had ended already. Denied: a delayed request may still be executed once. */
    if (is_error(reply) && hfi_redis_error(reply) == HF_ERR_PERMISSION)
        hfi_trace(
            &redis->store.trace, HF_TRACE_INFO,
            "CLIENT KILL is denied: an attempt that was not answered may leave a lock behind for "
            "one ttl");
    redis->kill_id = 0;
    return HF_OK;
}

/* The value of a line "key:value" of INFO, copied; "" when it is not there. */
static void info(const redisReply *reply, const char *key, char *to, size_t room)
{
    size_t len = strlen(key);
    const char *line = reply->str;

    to[0] = '\0';
    while (line && !(strncmp(line, key, len) == 0 && line[len] == ':')) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!line)
        return;
    line += len + 1;
    len = strcspn(line, "\r\n");
    if (len >= room)
        len = room - 1;
    memcpy(to, line, len);
    to[len] = '\0';
}

/* INFO is denied, or the server is still loading. */
static int judge_info(struct hfi_redis *redis, const redisReply *reply)
{
    int error = is_error(reply) ? hfi_redis_error(reply) : HF_OK;

    if (error == HF_OK || error == HF_ERR_PERMISSION || error == HF_ERR_PROTOCOL)
        return HF_OK;
    return refuse(redis, reply, "the server cannot serve now");
}

/* "7.0.15": 700; 0: it does not look like a version. */
static unsigned version_number(const char *text)
{
    char *end;
    unsigned long long major = strtoull(text, &end, 10), minor;

    if (end == text || *end != '.' || major > 999)
        return 0;
    minor = strtoull(end + 1, NULL, 10);
    return (unsigned)(major * 100 + (minor < 99 ? minor : 99));
}

static int judge_server(struct hfi_redis *redis, const redisReply *reply)
{
    char version[32], mode[32];
    int error = judge_info(redis, reply);

    redis->run_id[0] = '\0';
    if (error || reply->type != REDIS_REPLY_STRING)
        return error;
    info(reply, "run_id", redis->run_id, sizeof redis->run_id);
    info(reply, "redis_version", version, sizeof version);
    info(reply, "redis_mode", mode, sizeof mode);
    if (!mode[0]) /* Valkey's own name for it; older ones have both */
        info(reply, "server_mode", mode, sizeof mode);
    redis->version = version_number(version);
    if (redis->version && redis->version < HFI_REDIS_VERSION_MIN) {
        hfi_redis_say(redis, "%s is Redis %s: at least 6.2 is needed", redis->uri.shown, version);
        return HF_ERR_UNSUPPORTED;
    }
    if (strcmp(mode, "cluster") == 0) {
        hfi_redis_say(
            redis,
            "%s is a node of a cluster, which this version does not support: name a server "
            "that stands alone",
            redis->uri.shown);
        return HF_ERR_CLUSTER;
    }
    return HF_OK;
}

static int judge_replication(struct hfi_redis *redis, const redisReply *reply)
{
    char role[16], host[256], port[16];
    int error = judge_info(redis, reply);

    if (error || reply->type != REDIS_REPLY_STRING)
        return error;
    info(reply, "role", role, sizeof role);
    if (strcmp(role, "slave") != 0)
        return HF_OK;
    info(reply, "master_host", host, sizeof host);
    info(reply, "master_port", port, sizeof port);
    hfi_redis_say(redis, "%s is a read-only replica: name its primary, %s port %s",
                  redis->uri.shown, host, port);
    return HF_ERR_READ_ONLY;
}

static int judge_memory(struct hfi_redis *redis, const redisReply *reply)
{
    char most[32], policy[32];
    int error = judge_info(redis, reply);

    if (error || reply->type != REDIS_REPLY_STRING)
        return error;
    info(reply, "maxmemory", most, sizeof most);
    info(reply, "maxmemory_policy", policy, sizeof policy);
    if (policy[0] && strcmp(policy, "noeviction") != 0 && strtoull(most, NULL, 10) > 0 &&
        !redis->was_up)
        hfi_trace(
            &redis->store.trace, HF_TRACE_WARNING,
            "%s may throw locks away when its memory is full (maxmemory-policy %s): set it to "
            "noeviction",
            redis->uri.shown, policy);
    return HF_OK;
}

/* ------------------------------------------------------------------------------------------------
 * The commands
 */

static void expect(struct hfi_redis_link *link, hfi_greeter *judge)
{
    link->greeting[link->greetings++] = judge;
}

static void say(struct hfi_redis_link *link, struct hfi_resp *resp, hfi_greeter *judge,
                size_t count, const char *const *words)
{
    hfi_resp_command(resp, count);
    for (size_t i = 0; i < count; i++)
        hfi_resp_text(resp, words[i]);
    expect(link, judge);
}

#define SAY(judge, ...)                                                                            \
    say(link, resp, judge, sizeof(const char *[]){ __VA_ARGS__ } / sizeof(const char *),           \
        (const char *const[]){ __VA_ARGS__ })

/* "holdfast:<program>@<host>:<pid>", as CLIENT LIST shows it; without what is not allowed there. */
static void client_name(const struct hfi_redis *redis, char *to, size_t room)
{
    const struct hfi_identity *who = redis->identity;

    snprintf(to, room, "holdfast:%s@%s:%lld", who->program, who->host, (long long)who->pid);
    for (; *to; to++)
        if (*to <= ' ' || *to > '~')
            *to = '_';
}

void hfi_redis_greet(struct hfi_redis *redis, unsigned number, struct hfi_resp *resp)
{
    struct hfi_redis_link *link = &redis->link[number];
    const struct hfi_redis_uri *uri = &redis->uri;
    char text[256];

    link->greetings = link->greeted = 0;
    if (uri->password[0] && uri->user[0])
        SAY(judge_auth, "AUTH", uri->user, uri->password);
    else if (uri->password[0])
        SAY(judge_auth, "AUTH", uri->password);
    client_name(redis, text, sizeof text);
    SAY(judge_name, "CLIENT", "SETNAME", text);
    if (number == HFI_REDIS_WAKEUPS)
        return;
    text[hfi_decimal(text, uri->db)] = '\0';
    if (uri->db)
        SAY(judge_select, "SELECT", text);
    SAY(judge_id, "CLIENT", "ID");
    SAY(judge_server, "INFO", "server");
    SAY(judge_replication, "INFO", "replication");
    SAY(judge_memory, "INFO", "memory");
    if (uri->layout == HFI_LAYOUT_STRING)
        SAY(hfi_compare_judge, "COMMAND", "INFO", "DELIFEQ", "DELEX");
}

/* A server that was started again counts its connections from the beginning: the number may be another client's
 * by now, and ours is gone anyway. (Where INFO is denied both are "", and we take it for the same.) */
bool hfi_redis_greet_again(struct hfi_redis *redis, struct hfi_resp *resp)
{
    struct hfi_redis_link *link = &redis->link[HFI_REDIS_COMMANDS];
    char text[24];

    if (strcmp(redis->kill_run_id, redis->run_id) != 0)
        redis->kill_id = 0;
    if (!redis->kill_id)
        return false;
    text[hfi_decimal(text, redis->kill_id)] = '\0';
    SAY(judge_kill, "CLIENT", "KILL", "ID", text);
    return true;
}

int hfi_redis_greeted(struct hfi_redis *redis, unsigned number, const redisReply *reply)
{
    struct hfi_redis_link *link = &redis->link[number];

    return link->greeting[link->greeted++](redis, reply);
}
