/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static int begin(int fd, const struct sockaddr *to, socklen_t len, bool *ret_pending)
{
    int error;

    if (fd < 0)
        return -1;
    *ret_pending = false;
    if (connect(fd, to, len) == 0)
        return fd;
    if (errno == EINPROGRESS || errno == EINTR) {
        *ret_pending = true;
        return fd;
    }
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

int hfi_socket_connect(const struct addrinfo *to, bool *ret_pending)
{
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;

    if (fd >= 0) {
        /* Each request is one small segment that somebody waits for. */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    }
    return begin(fd, to->ai_addr, to->ai_addrlen, ret_pending);
}

int hfi_socket_connect_unix(const char *path, bool *ret_pending)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };

    if (strlen(path) >= sizeof to.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(to.sun_path, path, strlen(path) + 1);
    return begin(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                 (const struct sockaddr *)&to, sizeof to, ret_pending);
}

int hfi_socket_error(int fd)
{
    int error = 0;
    socklen_t len = sizeof error;

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        return errno;
    return error;
}

bool hfi_socket_is_stale(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, 0) > 0;
}
