/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

char folder[128], path[160];

static struct client *clients;
static unsigned client_count;

/* ------------------------------------------------------------------------------------------------
 * Folders
 */

/* In a child, a failed assertion would go on with the parent's other tests. */
static void fail_at_once(void)
{
    setenv("CMOCKA_TEST_ABORT", "1", 1);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, fail_at_once);
}

int folder_setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/holdfast-sqlite-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/locks.db", folder);
    return 0;
}

static int remove_one(const char *name, const struct stat *status, int flag, struct FTW *where)
{
    (void)status;
    (void)flag;
    (void)where;
    return remove(name);
}

void remove_tree(const char *root)
{
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int folder_teardown(void **state)
{
    char mounted[160];
    bool left = clients != NULL; /* after a test that failed they are no longer there */

    (void)state;
    clients = NULL;
    snprintf(mounted, sizeof mounted, "%.128s/mounted", folder);
    umount2(mounted, MNT_DETACH); /* after a test that failed */
    remove_tree(folder);
    return left ? -1 : 0;
}

/* ------------------------------------------------------------------------------------------------
 * Clients
 */

hfi_time clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (hfi_time)now.tv_sec * HFI_SEC + (hfi_time)now.tv_nsec;
}

static void on_trace(void *arg, enum hf_trace_level level, const char *text)
{
    (void)arg;
    if (getenv("TRACE"))
        fprintf(stderr, "[%d] %d: %s\n", (int)getpid(), (int)level, text);
}

int client_open_at(struct client *client, const char *rest, char *detail)
{
    struct hfi_store_config config = { .trace = { .hook = on_trace },
                                       .op_timeout_ns = 5 * HFI_SEC };
    int error;

    memset(client, 0, sizeof *client);
    snprintf(client->identity.id, sizeof client->identity.id, "%08x-0000-4000-8000-%012x",
             (unsigned)getpid(), ++client_count);
    snprintf(client->identity.host, sizeof client->identity.host, "host");
    snprintf(client->identity.user, sizeof client->identity.user, "user");
    snprintf(client->identity.program, sizeof client->identity.program, "program");
    client->identity.pid = getpid();
    config.identity = &client->identity;
    config.seed = (uint64_t)getpid() << 20 | client_count;
    error = hfi_driver_sqlite.open("sqlite", rest, &config, &client->store, detail);
    if (!error) {
        client->next = clients;
        clients = client;
    }
    return error;
}

void client_open(struct client *client)
{
    char detail[HFI_DETAIL_MAX] = "";

    if (client_open_at(client, path, detail) != HF_OK)
        fail_msg("cannot open %s: %s", path, detail);
}

void client_close(struct client *client)
{
    struct client **at = &clients;

    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    client->store->class_->free(client->store);
    client->store = NULL;
}

void clients_forked(void)
{
    for (struct client *client = clients; client; client = client->next)
        client->store->class_->library->forked(client->store);
    clients = NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 */

void run(struct client *client, struct hfi_request *request)
{
    request->outcome = HFI_PENDING;
    if (request->deadline_ns == 0)
        request->deadline_ns = HF_TIME_NEVER;
    client->store->class_->library->execute(client->store, clock_now(), request);
    assert_int_not_equal(request->outcome, HFI_PENDING);
    assert_int_not_equal(request->sent_ns, 0);
}

static void run_done(struct client *client, struct hfi_request *request)
{
    run(client, request);
    if (request->outcome != HFI_DONE)
        fail_msg("operation %d: outcome %d, %s: %s", request->op, request->outcome,
                 hf_strerror(request->error), client->store->detail);
}

struct hfi_lease lease_of(const char *name, uint64_t owner, uint32_t ttl_ms)
{
    struct hfi_lease lease = { .name = name,
                               .name_len = (uint16_t)strlen(name),
                               .owner = owner,
                               .ttl_ms = ttl_ms,
                               .tokens = 1 };

    return lease;
}

struct hfi_lease lease_of_kind(int kind, const char *name, uint64_t owner, uint32_t permits)
{
    struct hfi_lease lease = lease_of(name, owner, 30000);

    lease.kind = (uint8_t)kind;
    lease.permits = permits;
    return lease;
}

static struct hfi_lease run_lease(struct client *client, enum hfi_op op, struct hfi_lease lease)
{
    lease.request.op = (uint8_t)op;
    run_done(client, &lease.request);
    return lease;
}

struct hfi_lease do_try(struct client *client, const char *name, uint64_t owner, uint32_t ttl_ms,
                        bool queue)
{
    struct hfi_lease lease = lease_of(name, owner, ttl_ms);

    lease.queue = queue;
    return run_lease(client, HFI_OP_TRY, lease);
}

struct hfi_lease take_some(struct client *client, int kind, const char *name, uint64_t owner,
                           uint32_t permits)
{
    struct hfi_lease lease = lease_of_kind(kind, name, owner, permits);

    lease.queue = true;
    return run_lease(client, HFI_OP_TRY, lease);
}

struct hfi_lease take(struct client *client, int kind, const char *name, uint64_t owner)
{
    return take_some(client, kind, name, owner, 0);
}

struct hfi_lease do_release(struct client *client, const char *name, uint64_t owner)
{
    return run_lease(client, HFI_OP_RELEASE, lease_of(name, owner, 1000));
}

struct hfi_lease give(struct client *client, int kind, const char *name, uint64_t owner)
{
    return run_lease(client, HFI_OP_RELEASE, lease_of_kind(kind, name, owner, 0));
}

bool keep(struct client *client, int kind, const char *name, uint64_t owner, uint32_t ttl_ms)
{
    struct hfi_lease lease = lease_of_kind(kind, name, owner, 0);
    struct hfi_renewal_item item = { .lease = &lease, .ttl_ms = ttl_ms };
    struct hfi_renewal renewal = { .request.op = HFI_OP_RENEW, .count = 1, .items = &item };

    run_done(client, &renewal.request);
    return item.kept;
}

bool do_renew(struct client *client, const char *name, uint64_t owner, uint32_t ttl_ms)
{
    return keep(client, HFI_KIND_MUTEX, name, owner, ttl_ms);
}

struct hfi_object step(struct client *client, enum hfi_verb verb, const char *name, int64_t number,
                       uint64_t serial)
{
    struct hfi_object object = { .request.op = HFI_OP_OBJECT,
                                 .name = name,
                                 .name_len = (uint16_t)strlen(name),
                                 .verb = (uint8_t)verb,
                                 .serial = serial,
                                 .number = number };

    if (verb == HFI_STAMP_SET)
        object.ttl_ms = number;
    run(client, &object.request);
    return object;
}

struct hfi_object step_ok(struct client *client, enum hfi_verb verb, const char *name,
                          int64_t number)
{
    static uint64_t serial = 1000000;
    struct hfi_object object = step(client, verb, name, number, ++serial);

    if (object.request.outcome != HFI_DONE)
        fail_msg("verb %d: outcome %d, %s: %s", verb, object.request.outcome,
                 hf_strerror(object.request.error), client->store->detail);
    return object;
}

static void do_line(struct client *client, struct hfi_watch *watch, const char *name, int op)
{
    watch->name = name;
    watch->name_len = (uint16_t)strlen(name);
    watch->request.op = (uint8_t)op;
    run_done(client, &watch->request);
}

void leave_line(struct client *client, int kind, const char *name, uint64_t owner)
{
    struct hfi_watch watch = { .kind = (uint8_t)kind, .owner = owner };

    do_line(client, &watch, name, HFI_OP_LEAVE);
}

void do_leave(struct client *client, const char *name)
{
    leave_line(client, HFI_KIND_MUTEX, name, 0);
}

void watch_line(struct client *client, int kind, const char *name, uint64_t owner)
{
    client->watch.kind = (uint8_t)kind;
    client->watch.owner = owner;
    snprintf(client->watched, sizeof client->watched, "%s", name);
    do_line(client, &client->watch, client->watched, HFI_OP_WATCH);
}

void do_watch(struct client *client, const char *name)
{
    watch_line(client, HFI_KIND_MUTEX, name, 0);
}

void do_unwatch(struct client *client)
{
    do_line(client, &client->watch, client->watched, HFI_OP_UNWATCH);
}

void do_farewell(struct client *client)
{
    struct hfi_request request = { .op = HFI_OP_FAREWELL };

    run_done(client, &request);
}

/* ------------------------------------------------------------------------------------------------
 * Waiting
 */

/* Until something can be collected, or `until`; false: it is past. */
static bool collect_once(struct client *client, hfi_time until)
{
    const struct hfi_library_class *library = client->store->class_->library;
    struct pollfd pollfd = { .fd = library->wake_fd(client->store), .events = POLLIN };
    hfi_time now = clock_now();
    hfi_time next = hfi_time_min(until, library->deadline(client->store));
    int ms = next > now ? (int)((next - now) / HFI_MSEC) + 1 : 0;

    if (now >= until)
        return false;
    poll(&pollfd, 1, ms);
    library->collect(client->store, clock_now());
    return true;
}

bool wait_woken(struct client *client, int timeout_ms)
{
    hfi_time until = clock_now() + (hfi_time)timeout_ms * HFI_MSEC;

    do {
        struct hfi_watch *watch = client->store->class_->library->woken(client->store);

        if (watch) {
            assert_ptr_equal(watch, &client->watch);
            return true;
        }
    } while (collect_once(client, until));
    return false;
}

bool wait_restored(struct client *client, int timeout_ms)
{
    hfi_time until = clock_now() + (hfi_time)timeout_ms * HFI_MSEC;

    do
        if (client->store->class_->library->restored(client->store))
            return true;
    while (collect_once(client, until));
    return false;
}

bool wait_granted(struct client *client, const char *name, uint64_t owner, uint32_t ttl_ms,
                  int timeout_ms)
{
    hfi_time until = clock_now() + (hfi_time)timeout_ms * HFI_MSEC;
    bool granted = false, watched = false;

    while (clock_now() < until) {
        struct hfi_lease lease = do_try(client, name, owner, ttl_ms, true);
        hfi_time sleep = hfi_time_min(lease.hint_ns, HFI_SEC);

        granted = lease.verdict == HFI_GRANTED;
        if (granted)
            break;
        if (!watched)
            do_watch(client, name);
        else
            wait_woken(client, (int)(sleep / HFI_MSEC) + 1);
        watched = true;
    }
    if (watched)
        do_unwatch(client);
    return granted;
}

bool wait_kind(struct client *client, int kind, const char *name, uint64_t owner, uint32_t permits,
               int timeout_ms)
{
    hfi_time until = clock_now() + (hfi_time)timeout_ms * HFI_MSEC;
    bool granted = false, watched = false;

    while (!granted && clock_now() < until) {
        struct hfi_lease lease = take_some(client, kind, name, owner, permits);
        hfi_time sleep = hfi_time_min(lease.hint_ns, hfi_time_until(clock_now(), until));

        granted = lease.verdict == HFI_GRANTED;
        if (!granted && watched)
            wait_woken(client, (int)(sleep / HFI_MSEC) + 1);
        else if (!granted)
            watch_line(client, kind, name, owner);
        watched |= !granted;
    }
    if (watched)
        do_unwatch(client);
    return granted;
}

/* ------------------------------------------------------------------------------------------------
 * Remote clients
 */

static struct answer obey(struct client *client, const struct order *order)
{
    struct answer answer = { .yes = true };
    struct hfi_lease lease = lease_of_kind(order->lock, order->name, order->owner, order->permits);

    lease.ttl_ms = order->ttl_ms;
    lease.queue = order->queue;
    switch (order->kind) {
    case ORDER_TRY:
        lease = run_lease(client, HFI_OP_TRY, lease);
        break;
    case ORDER_RELEASE:
        lease = run_lease(client, HFI_OP_RELEASE, lease);
        break;
    case ORDER_RENEW:
        answer.yes = keep(client, order->lock, order->name, order->owner, order->ttl_ms);
        break;
    case ORDER_LEAVE:
        leave_line(client, order->lock, order->name, order->owner);
        break;
    case ORDER_WATCH:
        watch_line(client, order->lock, order->name, order->owner);
        break;
    case ORDER_WAIT_WOKEN:
        answer.yes = wait_woken(client, order->number);
        break;
    case ORDER_WAIT_GRANTED:
        answer.yes = wait_granted(client, order->name, order->owner, order->ttl_ms, order->number);
        break;
    case ORDER_QUIT:
        client_close(client);
        break;
    }
    answer.verdict = lease.verdict;
    answer.outcome = lease.request.outcome;
    answer.token = lease.token;
    answer.ticket = lease.ticket;
    answer.others = lease.others;
    return answer;
}

static void remote_main(int socket)
{
    struct client client;
    struct order order = { .kind = ORDER_TRY };

    client_open(&client);
    while (order.kind != ORDER_QUIT &&
           recv(socket, &order, sizeof order, MSG_WAITALL) == (ssize_t)sizeof order) {
        struct answer answer = obey(&client, &order);

        if (send(socket, &answer, sizeof answer, MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(order.kind == ORDER_QUIT ? 0 : 1);
}

struct remote remote_start(void)
{
    struct remote remote;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    remote.socket = pair[0];
    remote.pid = fork();
    assert_true(remote.pid >= 0);
    if (remote.pid == 0) {
        clients_forked();
        close(pair[0]);
        remote_main(pair[1]);
    }
    close(pair[1]);
    return remote;
}

void remote_send(const struct remote *remote, const struct order *order)
{
    assert_int_equal(send(remote->socket, order, sizeof *order, MSG_NOSIGNAL), sizeof *order);
}

struct answer remote_receive(const struct remote *remote)
{
    struct answer answer;

    assert_int_equal(recv(remote->socket, &answer, sizeof answer, MSG_WAITALL), sizeof answer);
    return answer;
}

struct answer remote_do_kind(const struct remote *remote, enum order_kind kind, int lock,
                             const char *name, uint64_t owner, uint32_t permits)
{
    struct order order = { .kind = kind,
                           .owner = owner,
                           .ttl_ms = 30000,
                           .queue = true,
                           .number = LONG_WAIT_MS,
                           .lock = lock,
                           .permits = permits };

    snprintf(order.name, sizeof order.name, "%s", name);
    remote_send(remote, &order);
    return remote_receive(remote);
}

struct answer remote_do(const struct remote *remote, enum order_kind kind, const char *name,
                        uint64_t owner)
{
    return remote_do_kind(remote, kind, HFI_KIND_MUTEX, name, owner, 0);
}

void remote_kill(struct remote *remote)
{
    kill(remote->pid, SIGKILL);
    waitpid(remote->pid, NULL, 0);
    close(remote->socket);
}

void remote_quit(struct remote *remote)
{
    int status = -1;

    remote_do(remote, ORDER_QUIT, "", 0);
    assert_int_equal(waitpid(remote->pid, &status, 0), remote->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(remote->socket);
}

/* ------------------------------------------------------------------------------------------------
 * Looking inside
 */

int64_t sql_number(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    sqlite3 *db = NULL;
    int64_t number = -1;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    if (sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return number;
}

void other_life_file(const struct client *client, char *name, size_t room)
{
    char dir_name[192];
    struct dirent *entry;
    DIR *dir;

    snprintf(dir_name, sizeof dir_name, "%s.d", path);
    dir = opendir(dir_name);
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, client->identity.id) != 0)
            snprintf(name, room, "%s/%.40s", dir_name, entry->d_name);
    closedir(dir);
}

int life_files(void)
{
    char name[192];
    struct dirent *entry;
    int count = 0;
    DIR *dir;

    snprintf(name, sizeof name, "%s.d", path);
    dir = opendir(name);
    if (!dir)
        return 0;
    while ((entry = readdir(dir)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}
