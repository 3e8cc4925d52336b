/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/folder.h"
#include "lib/raw.h"

static int free_port(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        fail_msg("no free port");
    close(fd);
    return ntohs(at.sin_port);
}

/* Nothing older than Redis 6.2 is supported. "Redis server v=7.0.15 sha=…"; Valkey is never that old. */
static bool is_recent(const char *path)
{
    char command[600], line[256] = "";
    unsigned long major, minor;
    FILE *pipe;
    char *end;

    snprintf(command, sizeof command, "'%s' --version", path);
    pipe = popen(command, "re"); /* NOLINT(cert-env33-c): of our own PATH */
    if (!pipe)
        return false;
    if (!fgets(line, sizeof line, pipe))
        line[0] = '\0';
    pclose(pipe);
    end = strstr(line, "v=");
    if (!end)
        return false;
    major = strtoul(end + 2, &end, 10);
    minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major > 6 || (major == 6 && minor >= 2);
}

bool server_exists(const char *program)
{
    const char *path = getenv("PATH");
    char candidate[512];

    while (path && *path) {
        size_t n = strcspn(path, ":");

        snprintf(candidate, sizeof candidate, "%.*s/%s", (int)n, path, program);
        if (access(candidate, X_OK) == 0)
            return is_recent(candidate);
        path += n + (path[n] == ':');
    }
    return false;
}

static void write_config(const struct server *server)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/conf", server->folder);
    file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file,
            "port %d\nbind 127.0.0.1\nunixsocket %s\ndir %s\nlogfile %s/log\nsave \"\"\n"
            "daemonize no\nmaxclients 4000\n%s\n",
            server->port, server->socket, server->folder, server->folder,
            server->config ? server->config : "");
    fclose(file);
}

void server_launch(struct server *server)
{
    char path[128];
    pid_t test = getpid();

    write_config(server);
    snprintf(path, sizeof path, "%s/conf", server->folder);
    server->pid = fork();
    assert_true(server->pid >= 0);
    if (server->pid > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != test)
        _exit(98);
    execlp(server->program, server->program, path, (char *)NULL);
    _exit(127);
}

/* False: the process has ended, as when its port was taken meanwhile. */
static bool answers(struct server *server)
{
    int64_t until = now_ms() + PATIENCE_MS;

    while (now_ms() < until) {
        redisContext *raw = redisConnect("127.0.0.1", server->port);
        redisReply *reply = raw && !raw->err ? redisCommand(raw, "PING") : NULL;
        bool is_there = reply != NULL;

        if (reply)
            freeReplyObject(reply);
        if (raw)
            redisFree(raw);
        if (waitpid(server->pid, NULL, WNOHANG) == server->pid)
            return false;
        if (is_there)
            return true;
        nap_us(2000);
    }
    return false;
}

void server_await(struct server *server)
{
    if (!answers(server))
        fail_msg("%s does not start: see %s/log", server->program, server->folder);
}

void server_start(struct server *server)
{
    if (!server->program)
        server->program = "redis-server";
    server->own = NULL;
    strcpy(server->folder, "/tmp/holdfast-server-XXXXXX");
    if (!mkdtemp(server->folder))
        fail_msg("no folder to be had");
    snprintf(server->socket, sizeof server->socket, "%s/socket", server->folder);
    for (int tries = 0; tries < 5; tries++) {
        server->port = free_port();
        server_launch(server);
        if (answers(server))
            return;
    }
    fail_msg("%s does not start: see %s/log", server->program, server->folder);
}

void server_kill(struct server *server)
{
    raw_close(server);
    if (server->pid <= 0)
        return;
    kill(server->pid, SIGCONT);
    kill(server->pid, SIGKILL);
    while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    server->pid = 0;
}

void server_stop(struct server *server)
{
    server_kill(server);
    if (server->folder[0])
        folder_remove(server->folder);
    server->folder[0] = '\0';
}

void server_pause(const struct server *server)
{
    kill(server->pid, SIGSTOP);
}

void server_continue(const struct server *server)
{
    kill(server->pid, SIGCONT);
}

void server_restart(struct server *server, bool keep_data)
{
    char path[128];

    server_kill(server);
    if (!keep_data) {
        snprintf(path, sizeof path, "%s/appendonlydir", server->folder);
        folder_remove(path);
        snprintf(path, sizeof path, "%s/appendonly.aof", server->folder);
        unlink(path);
    }
    server_launch(server);
    server_await(server);
}

const char *server_uri(const struct server *server, char *to, size_t room)
{
    snprintf(to, room, "redis://127.0.0.1:%d", server->port);
    return to;
}

const char *server_uri_unix(const struct server *server, char *to, size_t room)
{
    snprintf(to, room, "redis+unix://%s", server->socket);
    return to;
}
