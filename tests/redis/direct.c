/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/direct.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

extern const struct hfi_driver hfi_driver_redis;

static hfi_time now(void)
{
    return (hfi_time)now_ms() * HFI_MSEC;
}

void direct_open(struct direct *direct, char digit, const char *user, const char *query)
{
    struct hfi_store_config config = { .identity = &direct->identity,
                                       .trace = { .hook = trace_note },
                                       .op_timeout_ns = 5 * HFI_SEC,
                                       .connect_timeout_ns = 5 * HFI_SEC,
                                       .seed = (uint64_t)digit };
    char rest[256], detail[HFI_DETAIL_MAX] = "";

    memset(direct, 0, sizeof *direct);
    direct->identity = (struct hfi_identity){
        .id = "0f8fad5b-d9cb-469f-a165-70867728950_", .host = "h", .user = "u", .program = "p"
    };
    direct->identity.id[35] = digit;
    direct->fd[0] = direct->fd[1] = -1;
    snprintf(rest, sizeof rest, "//%s%s%s", user, server.socket, query);
    if (hfi_driver_redis.open("redis+unix", rest, &config, &direct->store, detail) != HF_OK)
        fail_msg("%s: %s", rest, detail);
    direct->class_ = direct->store->class_->wire;
}

void direct_close(struct direct *direct)
{
    for (unsigned link = 0; link < HFI_LINK_MAX; link++)
        if (direct->fd[link] >= 0)
            close(direct->fd[link]);
    direct->store->class_->free(direct->store);
}

/* ------------------------------------------------------------------------------------------------
 * The host
 */

static int dial(void)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%s", server.socket);
    assert_true(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    return fd;
}

static void end(struct direct *direct, unsigned link, const char *why)
{
    close(direct->fd[link]);
    direct->fd[link] = -1;
    direct->class_->lost(direct->store, link, now(), why);
}

static void send_output(struct direct *direct, unsigned link)
{
    const char *bytes;
    size_t count;

    while (direct->fd[link] >= 0 && direct->class_->has_output(direct->store, link) &&
           (count = direct->class_->produce(direct->store, link, now(), &bytes)) > 0) {
        ssize_t n = send(direct->fd[link], bytes, count, MSG_NOSIGNAL);

        if (n < 0)
            end(direct, link, "it could not be sent");
        else
            direct->class_->produced(direct->store, link, (size_t)n);
    }
}

static void receive(struct direct *direct, unsigned link)
{
    char bytes[16384];
    ssize_t n = recv(direct->fd[link], bytes, sizeof bytes, MSG_DONTWAIT);

    if (n > 0)
        direct->class_->consume(direct->store, link, now(), bytes, (size_t)n);
    else if (n == 0)
        end(direct, link, "the server ended it");
}

static void one_turn(struct direct *direct, int ms)
{
    struct pollfd ready[HFI_LINK_MAX];

    for (unsigned link = 0; link < HFI_LINK_MAX; link++) {
        enum hfi_link_want want = direct->class_->want(direct->store, link, now());

        if (want == HFI_LINK_DROP) {
            end(direct, link, "it is given up");
        } else if (want == HFI_LINK_DIAL) {
            direct->fd[link] = dial();
            direct->class_->connected(direct->store, link, now());
        }
        send_output(direct, link);
        ready[link] = (struct pollfd){ .fd = direct->fd[link], .events = POLLIN };
    }
    poll(ready, HFI_LINK_MAX, ms);
    for (unsigned link = 0; link < HFI_LINK_MAX; link++)
        if (direct->fd[link] >= 0 && ready[link].revents)
            receive(direct, link);
    direct->class_->tick(direct->store, now());
}

static void submit(struct direct *direct, struct hfi_request *request, enum hfi_op op)
{
    request->op = (uint8_t)op;
    request->outcome = HFI_PENDING;
    request->error = HF_OK;
    request->deadline_ns = now() + 10 * HFI_SEC;
    direct->class_->submit(direct->store, now(), request);
}

int direct_ask(struct direct *direct, struct hfi_request *request, enum hfi_op op)
{
    const struct hfi_request *finished = NULL;
    int64_t start = now_ms();

    submit(direct, request, op);
    while (!(finished = direct->class_->finished(direct->store))) {
        assert_true(now_ms() - start < PATIENCE_MS);
        one_turn(direct, 10);
    }
    assert_ptr_equal(finished, request);
    return request->error;
}

void direct_ask_in_vain(struct direct *direct, struct hfi_request *request, enum hfi_op op)
{
    char byte;

    assert_true(direct->fd[0] >= 0);
    submit(direct, request, op);
    send_output(direct, 0);
    shutdown(direct->fd[0], SHUT_WR); /* the server reads all there is, and then the end */
    while (recv(direct->fd[0], &byte, 1, 0) > 0)
        ;
    end(direct, 0, "its answer is lost");
    assert_ptr_equal(direct->class_->finished(direct->store), request);
    assert_int_equal(request->outcome, HFI_UNKNOWN);
}

static void must(struct direct *direct, struct hfi_request *request, enum hfi_op op)
{
    if (direct_ask(direct, request, op) != HF_OK)
        fail_msg("%s: %s", hf_strerror(request->error), direct->store->detail);
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 */

enum hfi_verdict direct_try(struct direct *direct, struct hfi_lease *lease)
{
    must(direct, &lease->request, HFI_OP_TRY);
    return (enum hfi_verdict)lease->verdict;
}

enum hfi_verdict direct_release(struct direct *direct, struct hfi_lease *lease)
{
    must(direct, &lease->request, HFI_OP_RELEASE);
    return (enum hfi_verdict)lease->verdict;
}

bool direct_renew(struct direct *direct, struct hfi_lease *lease, uint32_t ttl_ms)
{
    struct hfi_renewal_item item = { .lease = lease, .ttl_ms = ttl_ms };
    struct hfi_renewal renewal = { .count = 1, .items = &item };

    must(direct, &renewal.request, HFI_OP_RENEW);
    return item.kept;
}

void direct_leave(struct direct *direct, const struct hfi_lease *lease)
{
    struct hfi_watch watch = direct_watch_of(lease, HFI_TOPIC_LOCK);

    must(direct, &watch.request, HFI_OP_LEAVE);
}

void direct_watch(struct direct *direct, struct hfi_watch *watch)
{
    must(direct, &watch->request, HFI_OP_WATCH);
}

void direct_unwatch(struct direct *direct, struct hfi_watch *watch)
{
    must(direct, &watch->request, HFI_OP_UNWATCH);
}

bool direct_woken(struct direct *direct, const struct hfi_watch *watch, int ms)
{
    int64_t start = now_ms();
    const struct hfi_watch *woken;

    do {
        while ((woken = direct->class_->woken(direct->store)))
            if (woken == watch)
                return true;
        one_turn(direct, 5);
    } while (now_ms() - start < ms);
    return false;
}

struct hfi_lease direct_lease(enum hfi_kind kind, const char *name, uint64_t owner)
{
    return (struct hfi_lease){ .name = name,
                               .name_len = (uint16_t)strlen(name),
                               .kind = (uint8_t)kind,
                               .owner = owner,
                               .ttl_ms = 30000,
                               .tokens = 1,
                               .queue = true,
                               .permits = 1 };
}

struct hfi_watch direct_watch_of(const struct hfi_lease *lease, enum hfi_topic topic)
{
    return (struct hfi_watch){ .name = lease->name,
                               .name_len = lease->name_len,
                               .owner = lease->owner,
                               .kind = lease->kind,
                               .wait_ms = lease->wait_ms,
                               .topic = (uint8_t)topic };
}

const char *direct_owner(const struct direct *direct, uint64_t owner)
{
    static char text[8][64];
    static unsigned next;
    char *to = text[next++ % 8];

    snprintf(to, sizeof text[0], "%s:%llu", direct->identity.id, (unsigned long long)owner);
    return to;
}
