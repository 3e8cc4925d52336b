/* SPDX-License-Identifier: Apache-2.0 */
/* One thread, poll(), and for each connection what was read and is not sent yet, with the time it is due. */
#include "lib/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER 65536

struct flow {
    char bytes[BUFFER];
    size_t count;
    int64_t due_ms; /* of what is in it; 0: at once */
    bool done;      /* the sender has ended, and the receiver was told */
};

struct proxy_link {
    int client, server;
    int kind; /* 0: not known yet */
    bool half_closed;
    struct flow up, down;
};

static int listen_on_loopback(int *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) != 0 || listen(fd, 64) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        fail_msg("no port for the proxy");
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static int connect_to(int port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void end(struct proxy *proxy, int i)
{
    struct proxy_link *link = proxy->link[i];
    struct linger hard = { .l_onoff = 1 };

    if (atomic_load(&proxy->reset))
        setsockopt(link->client, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(link->client);
    close(link->server);
    free(link);
    proxy->link[i] = NULL;
}

static void accept_one(struct proxy *proxy)
{
    int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct proxy_link *link;
    int server, i = 0;

    if (client < 0)
        return;
    server = atomic_load(&proxy->refuse) ? -1 : connect_to(proxy->server_port);
    while (i < PROXY_LINKS && proxy->link[i])
        i++;
    link = server >= 0 && i < PROXY_LINKS ? calloc(1, sizeof *link) : NULL;
    if (!link) {
        close(client);
        if (server >= 0)
            close(server);
        return;
    }
    link->client = client;
    link->server = server;
    proxy->link[i] = link;
    atomic_fetch_add(&proxy->accepted, 1);
}

static bool concerns(const struct proxy *proxy, const struct proxy_link *link)
{
    return (link->kind & atomic_load(&proxy->kinds)) != 0;
}

static void learn(struct proxy_link *link, const char *bytes, size_t count)
{
    if (link->kind)
        return;
    if (memmem(bytes, count, "INFO", 4))
        link->kind = PROXY_COMMANDS;
    else if (memmem(bytes, count, "SUBSCRIBE", 9))
        link->kind = PROXY_WAKEUPS;
}

/* False: the connection has failed. */
static bool pull(struct proxy *proxy, struct proxy_link *link, bool down)
{
    struct flow *flow = down ? &link->down : &link->up;
    ssize_t n = recv(down ? link->server : link->client, flow->bytes + flow->count,
                     BUFFER - flow->count, 0);
    long delay = atomic_load(down ? &proxy->delay_ms : &proxy->delay_up_ms);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    if (!down)
        learn(link, flow->bytes + flow->count, (size_t)n);
    if (concerns(proxy, link) && atomic_load(down ? &proxy->swallow_down : &proxy->swallow_up))
        return true;
    if (flow->count == 0)
        flow->due_ms = delay && concerns(proxy, link) ? now_ms() + delay : 0;
    flow->count += (size_t)n;
    return true;
}

/* How much may go; sets *ret_cut when the connection ends after that. */
static size_t allowance(struct proxy *proxy, const struct proxy_link *link, size_t count,
                        bool *ret_cut)
{
    long most = concerns(proxy, link) ? atomic_load(&proxy->cut_after) : -1;

    *ret_cut = most >= 0 && (size_t)most <= count;
    if (most < 0)
        return count;
    count = (size_t)most < count ? (size_t)most : count;
    atomic_fetch_sub(&proxy->cut_after, (long)count);
    return count;
}

static bool push(struct proxy *proxy, struct proxy_link *link, bool down)
{
    struct flow *flow = down ? &link->down : &link->up;
    bool cut = false;
    size_t count = flow->count, most = (size_t)atomic_load(&proxy->split);
    ssize_t n;

    if (count == 0 || now_ms() < flow->due_ms)
        return true;
    if (most && count > most && concerns(proxy, link))
        count = most;
    if (down)
        count = allowance(proxy, link, count, &cut);
    n = send(down ? link->client : link->server, flow->bytes, count, MSG_NOSIGNAL);
    if (cut) {
        atomic_fetch_add(&proxy->cuts, 1);
        atomic_store(&proxy->cut_after, -1);
        return false;
    }
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (down && concerns(proxy, link))
        atomic_fetch_add(&proxy->bytes_down, n);
    memmove(flow->bytes, flow->bytes + n, flow->count - (size_t)n);
    flow->count -= (size_t)n;
    flow->due_ms = 0;
    return true;
}

static void serve(struct proxy *proxy, int i, const struct pollfd *fds)
{
    struct proxy_link *link = proxy->link[i];
    short any = POLLIN | POLLHUP | POLLERR;
    bool ok = true;

    if (fds[0].revents & any)
        ok = pull(proxy, link, false);
    if (ok && (fds[1].revents & any))
        ok = pull(proxy, link, true);
    ok = ok && push(proxy, link, false) && push(proxy, link, true);
    if (ok && atomic_load(&proxy->half_close) && concerns(proxy, link) && !link->half_closed) {
        shutdown(link->client, SHUT_WR);
        link->half_closed = true;
    }
    if (!ok)
        end(proxy, i);
}

/* What to poll of a connection; returns how soon something is due. */
static int plan(const struct proxy *proxy, const struct proxy_link *link, struct pollfd *fds)
{
    bool stalled = link && concerns(proxy, link) && atomic_load(&proxy->stall);
    int64_t wait = 1000;

    fds[0] = fds[1] = (struct pollfd){ .fd = -1 };
    if (!link || stalled)
        return (int)wait;
    fds[0].fd = link->client;
    fds[1].fd = link->server;
    fds[0].events = link->up.count < BUFFER ? POLLIN : 0;
    fds[1].events = link->down.count < BUFFER ? POLLIN : 0;
    if (link->up.count || link->down.count)
        wait = 1;
    if (!link->up.count && link->down.due_ms > now_ms())
        wait = link->down.due_ms - now_ms();
    if (!link->down.count && link->up.due_ms > now_ms())
        wait = link->up.due_ms - now_ms();
    return (int)wait;
}

/* What the test's thread wants. */
static void obey(struct proxy *proxy)
{
    char wish[64];
    ssize_t count = read(proxy->kick[0], wish, sizeof wish);

    for (ssize_t n = 0; n < count; n++) {
        if (wish[n] != 'c')
            continue;
        for (int i = 0; i < PROXY_LINKS; i++)
            if (proxy->link[i])
                end(proxy, i);
        atomic_fetch_add(&proxy->cut_all, 1);
    }
}

static void *run(void *arg)
{
    struct proxy *proxy = arg;
    struct pollfd fds[2 * PROXY_LINKS + 2];

    while (!atomic_load(&proxy->stop)) {
        int wait = 1000;

        for (int i = 0; i < PROXY_LINKS; i++) {
            int soon = plan(proxy, proxy->link[i], fds + 2 * i);

            wait = soon < wait ? soon : wait;
        }
        fds[2 * PROXY_LINKS] = (struct pollfd){ .fd = proxy->listener, .events = POLLIN };
        fds[2 * PROXY_LINKS + 1] = (struct pollfd){ .fd = proxy->kick[0], .events = POLLIN };
        poll(fds, 2 * PROXY_LINKS + 2, wait);
        if (fds[2 * PROXY_LINKS + 1].revents)
            obey(proxy);
        for (int i = 0; i < PROXY_LINKS; i++)
            if (proxy->link[i] && fds[2 * i].fd == proxy->link[i]->client)
                serve(proxy, i, fds + 2 * i);
        if (fds[2 * PROXY_LINKS].revents)
            accept_one(proxy);
    }
    for (int i = 0; i < PROXY_LINKS; i++)
        if (proxy->link[i])
            end(proxy, i);
    return NULL;
}

void proxy_clear(struct proxy *proxy)
{
    atomic_store(&proxy->kinds, PROXY_ANY);
    atomic_store(&proxy->delay_ms, 0);
    atomic_store(&proxy->delay_up_ms, 0);
    atomic_store(&proxy->split, 0);
    atomic_store(&proxy->cut_after, -1);
    atomic_store(&proxy->reset, false);
    atomic_store(&proxy->swallow_down, false);
    atomic_store(&proxy->swallow_up, false);
    atomic_store(&proxy->stall, false);
    atomic_store(&proxy->half_close, false);
    atomic_store(&proxy->refuse, false);
    proxy_apply(proxy);
}

static void kick(struct proxy *proxy, char what)
{
    while (write(proxy->kick[1], &what, 1) < 0 && errno == EINTR)
        ;
}

void proxy_apply(struct proxy *proxy)
{
    kick(proxy, 'a');
}

void proxy_cut_all(struct proxy *proxy)
{
    int before = atomic_load(&proxy->cut_all);

    kick(proxy, 'c');
    AWAIT(atomic_load(&proxy->cut_all) > before);
}

void proxy_start(struct proxy *proxy, int server_port)
{
    sigset_t all, before;

    memset(proxy, 0, sizeof *proxy);
    proxy->server_port = server_port;
    proxy->listener = listen_on_loopback(&proxy->port);
    if (pipe2(proxy->kick, O_CLOEXEC | O_NONBLOCK) != 0)
        fail_msg("no pipe to be had");
    proxy_clear(proxy);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    assert_int_equal(pthread_create(&proxy->thread, NULL, run, proxy), 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void proxy_stop(struct proxy *proxy)
{
    atomic_store(&proxy->stop, true);
    proxy_apply(proxy);
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
    close(proxy->kick[0]);
    close(proxy->kick[1]);
}

const char *proxy_uri(const struct proxy *proxy, char *to, size_t room)
{
    snprintf(to, room, "redis://127.0.0.1:%d", proxy->port);
    return to;
}
