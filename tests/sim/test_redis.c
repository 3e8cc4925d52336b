/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator's model of a server against a real one: the same random sequences of commands go to both, on
 * several connections, one of them subscribed, with time passing in between; every reply and every message
 * is compared byte for byte. (What has no order, such as the keys that SCAN finds, is sorted first.) The real
 * server's wall clock is in our hands (fake_time.c).
 */
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "choices.h"
#include "lib/raw.h"
#include "lib/server.h"

#define SEQUENCES   5000
#define STEPS_MOST  48
#define CONNECTIONS 3 /* the last one subscribes */
#define START_US    INT64_C(1750000000000123)

struct pair {
    int fd;
    struct sim_conn *conn;
};

static struct server server;
static struct sim_redis model;
static struct pair pair[CONNECTIONS];
static volatile int64_t *shown;
static char time_path[] = "/tmp/holdfast-fake-time-XXXXXX";
static struct sim_text command, real, expected;
static uint64_t sequence;
static unsigned step_number;

/* ------------------------------------------------------------------------------------------------
 * Beginning and end
 */

static void set_time(int64_t us)
{
    *shown = us;
    model.wall_us = us;
}

static int setup(void **state)
{
    int fd = mkstemp(time_path);

    (void)state;
    assert_true(fd >= 0 && ftruncate(fd, sizeof *shown) == 0);
    shown = mmap(NULL, sizeof *shown, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(shown != MAP_FAILED);
    close(fd);
    *shown = START_US;
    setenv("HF_FAKE_TIME", time_path, 1);
    setenv("LD_PRELOAD", SIM_FAKE_TIME, 1);
    server.config = "hash-max-listpack-entries 10000\nhash-max-listpack-value 10000\n";
    server_start(&server);
    unsetenv("LD_PRELOAD");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < CONNECTIONS; i++)
        close(pair[i].fd);
    server_stop(&server);
    unlink(time_path);
    sim_redis_free(&model);
    sim_lua_close();
    sim_text_free(&command);
    sim_text_free(&real);
    sim_text_free(&expected);
    return 0;
}

static int dial(void)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%s", server.socket);
    assert_true(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    return fd;
}

/* ------------------------------------------------------------------------------------------------
 * Replies of the real server
 */

/* Where the reply that begins at `at` ends; 0: it is not all there. */
static size_t reply_end(const struct sim_text *text, size_t at)
{
    const char *end = at < text->len ? memchr(text->at + at, '\n', text->len - at) : NULL;
    long long number;
    size_t next;

    if (!end)
        return 0;
    next = (size_t)(end + 1 - text->at);
    number = strtoll(text->at + at + 1, NULL, 10);
    if (text->at[at] == '$' && number >= 0)
        next += (size_t)number + 2;
    for (; text->at[at] == '*' && number > 0 && next > 0; number--)
        next = reply_end(text, next);
    return next <= text->len ? next : 0;
}

static void receive(int fd)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    char buffer[16384];
    ssize_t n;

    assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
    n = recv(fd, buffer, sizeof buffer, 0);
    assert_true(n > 0);
    sim_text_add(&real, buffer, (size_t)n);
}

static void send_all(int fd, const struct sim_text *bytes)
{
    assert_int_equal(send(fd, bytes->at, bytes->len, MSG_NOSIGNAL), (ssize_t)bytes->len);
}

/* What comes until the reply to a PING of ours, which is left out. */
static void receive_messages(int fd)
{
    static const char MARK[] = "END-OF-MESSAGES";
    struct sim_text ping = { 0 };

    PUT(&ping, "PING", MARK);
    send_all(fd, &ping);
    sim_text_free(&ping);
    real.len = 0;
    do
        receive(fd);
    while (real.len < sizeof MARK + 1 ||
           memcmp(real.at + real.len - sizeof MARK - 1, MARK, sizeof MARK - 1));
    /* The PING's is the last reply. */
    for (size_t at = 0, next; at < real.len; at = next) {
        next = reply_end(&real, at);
        if (next == real.len)
            real.len = at;
    }
}

static void receive_reply(int fd)
{
    real.len = 0;
    do
        receive(fd);
    while (reply_end(&real, 0) == 0);
    assert_int_equal(reply_end(&real, 0), real.len);
}

/* ------------------------------------------------------------------------------------------------
 * Comparing
 */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The elements of the last array in a reply that is a set, sorted. */
static void sort_reply(struct sim_text *reply)
{
    const char *last = strrchr(reply->at, '*');
    size_t at, count = (size_t)strtoll(last + 1, NULL, 10), next;
    char *element[64];

    if (count > 64 || count < 2)
        return;
    at = (size_t)(strchr(last, '\n') + 1 - reply->at);
    for (size_t i = 0, from = at; i < count; i++, from = next) {
        next = reply_end(reply, from);
        element[i] = sim_copy(reply->at + from, next - from);
    }
    qsort(element, count, sizeof *element, by_bytes);
    reply->len = at;
    for (size_t i = 0; i < count; i++) {
        sim_text_say(reply, element[i]);
        free(element[i]);
    }
}

static bool has_no_order(void)
{
    return strstr(command.at, "\nSCAN\r") || strstr(command.at, "\nCHANNELS\r");
}

static void compare(const struct pair *with)
{
    if (with->conn->out.len > 0) /* as bytes; the final NUL is there */
        sim_text_add(&expected, with->conn->out.at, with->conn->out.len);
    with->conn->out.len = 0;
    if (has_no_order() && real.len > 0 && expected.len > 0 && real.at[0] == '*' &&
        expected.at[0] == '*') {
        sort_reply(&real);
        sort_reply(&expected);
    }
    if (real.len != expected.len ||
        memcmp(real.at ? real.at : "", expected.at ? expected.at : "", real.len) != 0) {
        print_error("command:\n%.*s\n", (int)command.len, command.at);
        print_error("the server says:\n%.*s\n", (int)real.len, real.at ? real.at : "");
        print_error("the model says:\n%.*s\n", (int)expected.len, expected.at ? expected.at : "");
        fail_msg("they differ: sequence %llu, step %u", (unsigned long long)sequence, step_number);
    }
    expected.len = 0;
}

static void exchange(struct pair *with, bool messages)
{
    send_all(with->fd, &command);
    if (messages)
        receive_messages(with->fd);
    else
        receive_reply(with->fd);
    sim_conn_feed(with->conn, command.at, command.len);
    compare(with);
}

static void connect_all(void)
{
    for (int i = 0; i < CONNECTIONS; i++) {
        pair[i].fd = dial();
        pair[i].conn = sim_conn_new(&model, NULL);
        command.len = 0;
        PUT(&command, "CLIENT", "ID");
        if (i == 0) { /* from here on both count alike */
            send_all(pair[i].fd, &command);
            receive_reply(pair[i].fd);
            pair[i].conn->id = model.next_id = strtoull(real.at + 1, NULL, 10);
        }
        exchange(&pair[i], false);
    }
}

static void disconnect_all(void)
{
    for (int i = 0; i < CONNECTIONS; i++) {
        close(pair[i].fd);
        sim_conn_free(pair[i].conn);
    }
}

static void set_memory(bool full)
{
    raw_do(&server, "CONFIG SET maxmemory %s", full ? "1" : "0");
    model.out_of_memory = full;
}

static void set_replica(bool replica)
{
    raw_do(&server, replica ? "REPLICAOF 127.0.0.1 1" : "REPLICAOF NO ONE");
    model.is_replica = replica;
}

/* ------------------------------------------------------------------------------------------------
 * Sequences
 */

static void one_step(struct hfi_random *random)
{
    uint64_t dice = hfi_random_below(random, 100);
    struct pair *with = &pair[hfi_random_below(random, CONNECTIONS - 1)];

    command.len = 0;
    if (dice < 12)
        set_time(model.wall_us + (int64_t)hfi_random_below(random, UINT64_C(1) << (10 + dice * 2)));
    if (dice >= 98)
        set_memory(!model.out_of_memory);
    if (dice == 97)
        set_replica(!model.is_replica);
    if (dice >= 12 && dice < 22) {
        with = &pair[CONNECTIONS - 1];
        choose_subscription(random, &command);
        exchange(with, true);
        return;
    }
    choose_command(random, &command);
    exchange(with, false);
    receive_messages(pair[CONNECTIONS - 1].fd);
    compare(&pair[CONNECTIONS - 1]);
}

static void one_sequence(uint64_t seed)
{
    struct hfi_random random;

    hfi_random_init(&random, seed);
    connect_all();
    raw_do(&server, "FLUSHALL");
    raw_do(&server, "SCRIPT FLUSH");
    sim_redis_do(&model, NULL, "FLUSHALL");
    sim_redis_do(&model, NULL, "SCRIPT FLUSH");
    for (step_number = 0; step_number < 8 + seed % STEPS_MOST; step_number++)
        one_step(&random);
    if (model.out_of_memory)
        set_memory(false);
    if (model.is_replica)
        set_replica(false);
    disconnect_all();
}

static void random_sequences(void **state)
{
    const char *count = getenv("HF_SIM_SEQUENCES");

    (void)state;
    sim_redis_init(&model);
    set_time(START_US);
    for (sequence = 1; sequence <= (count ? strtoull(count, NULL, 10) : SEQUENCES); sequence++)
        one_sequence(sequence);
    print_message("%llu sequences compared\n", (unsigned long long)(sequence - 1));
}

/* ------------------------------------------------------------------------------------------------
 * What ends connections, and passwords
 */

static void exchange_words(struct pair *with, const char *const *words, size_t count)
{
    command.len = 0;
    put_command(&command, words, count);
    exchange(with, false);
}

#define EXCHANGE(with, ...)                                                                        \
    exchange_words(with, (const char *const[]){ __VA_ARGS__ },                                     \
                   sizeof(const char *[]){ __VA_ARGS__ } / sizeof(const char *))

static void assert_ended(const struct pair *with)
{
    char byte;

    assert_int_equal(recv(with->fd, &byte, 1, 0), 0);
    assert_true(with->conn->killed);
}

static void one_kills_another(void **state)
{
    char id[24];

    (void)state;
    connect_all();
    EXCHANGE(&pair[2], "SUBSCRIBE", "other");
    EXCHANGE(&pair[0], "PUBSUB", "NUMSUB", "other");
    snprintf(id, sizeof id, "%llu", (unsigned long long)pair[2].conn->id);
    EXCHANGE(&pair[0], "CLIENT", "KILL", "ID", id);
    assert_ended(&pair[2]);
    sim_redis_unsubscribe_all(pair[2].conn); /* the host of the model does this when it closes */
    EXCHANGE(&pair[0], "CLIENT", "KILL", "ID", id);
    EXCHANGE(&pair[0], "PUBSUB", "NUMSUB", "other");
    snprintf(id, sizeof id, "%llu", (unsigned long long)pair[0].conn->id);
    EXCHANGE(&pair[0], "CLIENT", "KILL", "ID", id); /* not oneself */
    EXCHANGE(&pair[0], "CLIENT", "KILL", "ID", "0");
    EXCHANGE(&pair[0], "PING");
    disconnect_all();
}

static void passwords(void **state)
{
    (void)state;
    connect_all();
    EXCHANGE(&pair[0], "AUTH", "wrong");
    disconnect_all();
    raw_do(&server, "CONFIG SET requirepass secret");
    model.password = "secret";
    for (int i = 0; i < CONNECTIONS; i++) {
        pair[i].fd = dial();
        pair[i].conn = sim_conn_new(&model, NULL);
    }
    EXCHANGE(&pair[0], "PING");
    EXCHANGE(&pair[0], "CLIENT", "SETNAME", "x");
    EXCHANGE(&pair[0], "AUTH", "wrong");
    EXCHANGE(&pair[0], "AUTH", "default", "secret");
    EXCHANGE(&pair[0], "PING");
    EXCHANGE(&pair[1], "AUTH", "nobody", "secret");
    EXCHANGE(&pair[1], "AUTH", "secret");
    EXCHANGE(&pair[1], "PING");
    raw_do(&server, "CONFIG SET requirepass \"\"");
    model.password = NULL;
    disconnect_all();
}

/* What the product reads of INFO. */
static void same_info(const char *section, const char *key)
{
    struct sim_text reply = { 0 }, line = { 0 };

    sim_redis_do(&model, &reply, "INFO %s", section);
    sim_text_format(&line, "\n%s:%s\r\n", key, raw_info(&server, section, key));
    if (!strstr(reply.at, line.at))
        fail_msg("the real one says %s, the model says %s", line.at, reply.at);
    sim_text_free(&reply);
    sim_text_free(&line);
}

static void what_is_read_of_info(void **state)
{
    (void)state;
    model.version = raw_info(&server, "server", "redis_version");
    same_info("server", "redis_version");
    model.version = "7.0.15";
    same_info("server", "redis_mode");
    same_info("replication", "role");
    same_info("memory", "maxmemory");
    same_info("memory", "maxmemory_policy");
    set_replica(true);
    same_info("replication", "role");
    set_replica(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sequences),
        cmocka_unit_test(one_kills_another),
        cmocka_unit_test(passwords),
        cmocka_unit_test(what_is_read_of_info),
    };

    if (!server_exists("redis-server")) {
        puts("skipped: there is no redis-server to compare with");
        return 77;
    }
    return cmocka_run_group_tests_name("redis model", tests, setup, teardown);
}
