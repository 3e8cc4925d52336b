/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/host.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LINK 0 /* commands; nothing here listens */

extern const struct hfi_driver hfi_driver_redis;

static hfi_time now_ns(void)
{
    return (hfi_time)now_us() * 1000;
}

void host_open(struct host *host, const char *user, const char *options)
{
    struct hfi_store_config config = { .identity = &host->identity,
                                       .op_timeout_ns = 20 * HFI_SEC,
                                       .connect_timeout_ns = 20 * HFI_SEC,
                                       .seed = 1 };
    char uri[512], detail[HFI_DETAIL_MAX] = "";

    memset(host, 0, sizeof *host);
    host->identity = (struct hfi_identity){ .id = "0f8fad5b-d9cb-469f-a165-70867728950e",
                                            .host = "host",
                                            .user = "user",
                                            .program = "test",
                                            .pid = 4711 };
    host->fd = -1;
    snprintf(uri, sizeof uri, "//%s127.0.0.1:%d/0%s", user, server.port, options);
    if (hfi_driver_redis.open("redis", uri, &config, &host->store, detail) != HF_OK)
        fail_msg("%s: %s", uri, detail);
    host->wire = host->store->class_->wire;
}

static void hang_up(struct host *host)
{
    if (host->fd >= 0)
        close(host->fd);
    host->fd = -1;
}

void host_close(struct host *host)
{
    host->store->class_->free(host->store);
    hang_up(host);
}

static void dial(struct host *host)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };

    host->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", server.socket);
    assert_true(host->fd >= 0);
    assert_int_equal(connect(host->fd, (struct sockaddr *)&at, sizeof at), 0);
    host->wire->connected(host->store, LINK, now_ns());
}

static void lose(struct host *host)
{
    hang_up(host);
    host->wire->lost(host->store, LINK, now_ns(), "the test says so");
}

static void settle(struct host *host)
{
    host->wire->tick(host->store, now_ns());
    switch (host->wire->want(host->store, LINK, now_ns())) {
    case HFI_LINK_DIAL:
        dial(host);
        break;
    case HFI_LINK_DROP:
        lose(host);
        break;
    default:
        break;
    }
}

static void write_out(struct host *host)
{
    const char *bytes;
    size_t count;

    while (host->fd >= 0 && host->wire->has_output(host->store, LINK)) {
        count = host->wire->produce(host->store, LINK, now_ns(), &bytes);
        assert_true(count > 0); /* what is to be sent fits */
        assert_int_equal(send(host->fd, bytes, count, MSG_NOSIGNAL), (ssize_t)count);
        host->wire->produced(host->store, LINK, count);
    }
}

static void read_in(struct host *host)
{
    struct pollfd ready = { .fd = host->fd, .events = POLLIN };
    static char buffer[65536];
    ssize_t n;

    if (host->fd < 0 || poll(&ready, 1, 10) != 1)
        return;
    n = recv(host->fd, buffer, sizeof buffer, 0);
    if (n > 0)
        host->wire->consume(host->store, LINK, now_ns(), buffer, (size_t)n);
    else
        lose(host);
}

static void submit(struct host *host, struct hfi_request *request, enum hfi_op op)
{
    request->op = (uint8_t)op;
    request->outcome = HFI_PENDING;
    request->deadline_ns = now_ns() + 20 * HFI_SEC;
    host->wire->submit(host->store, now_ns(), request);
}

int host_ask(struct host *host, struct hfi_request *request, enum hfi_op op)
{
    struct hfi_request *finished;
    int64_t until = now_ms() + PATIENCE_MS;

    submit(host, request, op);
    while (!(finished = host->wire->finished(host->store))) {
        assert_true(now_ms() < until);
        settle(host);
        write_out(host);
        read_in(host);
    }
    assert_ptr_equal(finished, request);
    assert_true((request->outcome == HFI_DONE) == (request->error == HF_OK));
    return request->error;
}

/* The connection is up, from an earlier request. Its bytes are with the server when it has closed it. */
void host_ask_in_vain(struct host *host, struct hfi_request *request, enum hfi_op op)
{
    char byte;

    assert_true(host->fd >= 0);
    submit(host, request, op);
    write_out(host);
    shutdown(host->fd, SHUT_WR);
    while (recv(host->fd, &byte, 1, 0) > 0)
        ;
    lose(host);
    assert_ptr_equal(host->wire->finished(host->store), request);
    assert_int_equal(request->outcome, HFI_UNKNOWN);
}
