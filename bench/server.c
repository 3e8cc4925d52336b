/* SPDX-License-Identifier: Apache-2.0 */
/* A server of our own, and what it counts. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "bench.h"

#define START_NS UINT64_C(10000000000)
#define STEP_NS  UINT64_C(10000000)

/* A port that nobody uses now. */
static int free_port(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        bench_die("no free port: %s", strerror(errno));
    close(fd);
    return ntohs(at.sin_port);
}

static redisContext *dial(int port)
{
    redisContext *redis = redisConnect("127.0.0.1", port);

    if (redis && !redis->err)
        return redis;
    if (redis)
        redisFree(redis);
    return NULL;
}

static bool answers(int port)
{
    redisContext *redis = dial(port);
    redisReply *reply = redis ? redisCommand(redis, "PING") : NULL;
    bool pong = reply && reply->type == REDIS_REPLY_STATUS;

    if (reply)
        freeReplyObject(reply);
    if (redis)
        redisFree(redis);
    return pong;
}

void bench_server_start(const struct bench *bench, struct bench_server *server)
{
    const char *program = getenv("HF_BENCH_SERVER");
    uint64_t until = bench_now() + START_NS;
    char port[12];

    server->port = free_port();
    snprintf(port, sizeof port, "%d", server->port);
    snprintf(server->uri, sizeof server->uri, "redis://127.0.0.1:%d", server->port);
    server->pid =
        bench_spawn((char *[]){ (char *)(program && *program ? program : "redis-server"), "--port",
                                port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                                "--dir", (char *)bench->folder, "--loglevel", "warning", NULL },
                    false);
    while (!answers(server->port)) {
        if (waitpid(server->pid, NULL, WNOHANG) != 0 || bench_now() > until)
            bench_die("the server did not start on port %s", port);
        bench_nap(STEP_NS);
    }
}

void bench_server_stop(struct bench_server *server)
{
    bench_kill(server->pid);
}

redisContext *bench_connect(const struct bench_server *server)
{
    redisContext *redis = dial(server->port);

    if (!redis)
        bench_die("cannot connect to %s", server->uri);
    return redis;
}

/* The number behind `key` and the separator in a text of lines; -1: none. */
static int64_t number_in(const char *text, const char *key, const char *separator)
{
    size_t len = strlen(key), more = strlen(separator);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, len) == 0 && strncmp(line + len, separator, more) == 0)
            return strtoll(line + len + more, NULL, 10);
    }
    return -1;
}

static int64_t ask(redisContext *redis, const char *section, const char *key, const char *separator)
{
    redisReply *reply = redisCommand(redis, "INFO %s", section);
    int64_t number;

    if (!reply || reply->type != REDIS_REPLY_STRING)
        bench_die("INFO %s failed: %s", section, redis->errstr);
    number = number_in(reply->str, key, separator);
    freeReplyObject(reply);
    return number;
}

int64_t bench_calls(redisContext *redis, const char *command)
{
    char key[64];
    int64_t calls;

    snprintf(key, sizeof key, "cmdstat_%s", command);
    calls = ask(redis, "commandstats", key, ":calls=");
    return calls < 0 ? 0 : calls;
}

int64_t bench_info(redisContext *redis, const char *section, const char *key)
{
    return ask(redis, section, key, ":");
}

/* With default options: a trace hook would cost the formatting of its lines. */
hf_client *bench_open(const char *uri)
{
    hf_client *client = NULL;

    bench_must(hf_open(uri, NULL, &client), "hf_open");
    return client;
}
