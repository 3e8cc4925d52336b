/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server as a connection shows it: it reads commands, and answers truly, untruly, with an error, with
 * nonsense, or never; what it answers arrives in pieces. What its bytes say of the client's owner ids is
 * checked as they come.
 */
#include "fuzz/core.h"

#include <stdarg.h>

#include <utlist.h>

void server_say(struct conn *conn, const char *format, ...)
{
    va_list args;
    int len;

    if (conn->out_room - conn->out_len < 4096) {
        conn->out_room = conn->out_len + 8192;
        conn->out = realloc(conn->out, conn->out_room);
        MUST(conn->out);
    }
    va_start(args, format);
    len = vsnprintf(conn->out + conn->out_len, conn->out_room - conn->out_len, format, args);
    va_end(args);
    MUST(len >= 0 && (size_t)len < conn->out_room - conn->out_len);
    conn->out_len += (size_t)len;
}

/* ------------------------------------------------------------------------------------------------
 * Reading commands
 */

static uint64_t number_of(const char *text)
{
    MUST(*text && strspn(text, "0123456789") == strlen(text));
    return strtoull(text, NULL, 10);
}

static uint64_t owner_of(const char *text)
{
    static const char PREFIX[] = CLIENT_ID ":";

    MUST(strncmp(text, PREFIX, sizeof PREFIX - 1) == 0);
    return number_of(text + sizeof PREFIX - 1);
}

static int lock_of(const char *text)
{
    int name = core_name(text);

    MUST(name >= 0);
    return name;
}

static void read_lease(struct order *order, const struct command *command)
{
    bool is_try = order->kind == ORDER_TRY;

    MUST(command->argc == (is_try ? 8 : 7));
    order->count = 1;
    order->item[0].name = lock_of(command->argv[3]);
    order->item[0].owner = owner_of(command->argv[5]);
    if (!is_try)
        return;
    order->item[0].ttl_ms = (uint32_t)number_of(command->argv[6]);
    order->tokens = (uint32_t)number_of(command->argv[7]);
}

static void read_renewal(struct order *order, const struct command *command)
{
    order->count = number_of(command->argv[2]);
    MUST(order->count >= 1 && order->count <= HFI_RENEWAL_MAX);
    MUST(command->argc == 3 + 3 * order->count);
    for (size_t i = 0; i < order->count; i++) {
        order->item[i].name = lock_of(command->argv[3 + i]);
        order->item[i].ttl_ms = (uint32_t)number_of(command->argv[3 + order->count + 2 * i]);
        order->item[i].owner = owner_of(command->argv[4 + order->count + 2 * i]);
    }
}

static void read_script(struct order *order, const struct command *command)
{
    order->by_hash = strcmp(command->argv[0], "EVALSHA") == 0;
    switch (command_script(command)) {
    case SCRIPT_acquire:
        order->kind = ORDER_TRY;
        read_lease(order, command);
        break;
    case SCRIPT_release:
        order->kind = ORDER_RELEASE;
        read_lease(order, command);
        break;
    case SCRIPT_renew:
        order->kind = ORDER_RENEW;
        read_renewal(order, command);
        break;
    case SCRIPT_announce:
        order->kind = ORDER_ANNOUNCE;
        break;
    default:
        fuzz_fail(__FILE__, __LINE__, "a script that nobody asked for");
    }
}

static void read_channel(struct order *order, const struct command *command)
{
    MUST(command->argc == 2);
    order->name = -1;
    for (int name = 0; name < NAMES; name++)
        for (int kind = 0; kind < HFI_KIND_COUNT; kind++) {
            char channel[HFI_CHANNEL_MAX];
            size_t len = hfi_channel_name(channel, CORE_NAMES[name], strlen(CORE_NAMES[name]),
                                          (enum hfi_kind)kind);

            if (len == command->len[1] && memcmp(channel, command->argv[1], len) == 0) {
                order->name = name;
                order->kind_of = kind;
            }
        }
    MUST(order->name >= 0 || strcmp(command->argv[1], HFI_CLIENT_PREFIX CLIENT_ID) == 0);
}

static enum order_kind kind_of(const struct command *command)
{
    if (command_is(command, "CLIENT", "ID"))
        return ORDER_ID;
    if (command_is(command, "CLIENT", "KILL"))
        return ORDER_KILL;
    if (command_is(command, "INFO", "server"))
        return ORDER_SERVER;
    if (command_is(command, "INFO", "replication"))
        return ORDER_ROLE;
    if (command_is(command, "INFO", "memory"))
        return ORDER_MEMORY;
    if (command_is(command, "SUBSCRIBE", NULL))
        return ORDER_SUBSCRIBE;
    if (command_is(command, "UNSUBSCRIBE", NULL))
        return ORDER_UNSUBSCRIBE;
    if (command_is(command, "DEL", HFI_CLIENT_PREFIX CLIENT_ID))
        return ORDER_FAREWELL;
    MUST(command_is(command, "PING", NULL) || command_is(command, "CLIENT", "SETNAME"));
    return ORDER_OTHER;
}

/* What is sent for an owner id, and what was before. */
static void judge_item(struct core *core, const struct order *order, const struct order_item *item)
{
    struct owner *owner = core_owner(core, item->owner);

    if (order->kind == ORDER_RELEASE) {
        owner->released = true;
        return;
    }
    if (order->kind == ORDER_RENEW && (item->ttl_ms == 0 || !order->by_hash))
        return; /* it only looks; or it is said again, and was first said before the release */
    MUST(!owner->retired && !owner->released);
    if (order->kind == ORDER_TRY)
        owner->try_ns = order->left_ns;
}

static void answered(struct core *core, const struct order *order)
{
    if (order->refused || (order->kind != ORDER_TRY && order->kind != ORDER_RENEW))
        return;
    for (size_t i = 0; i < order->count; i++) {
        struct owner *owner = core_owner(core, order->item[i].owner);

        if (order->item[i].ttl_ms > 0)
            owner->answered_ns = hfi_time_max(owner->answered_ns, order->left_ns);
    }
}

static void read_command(struct core *core, struct conn *conn, const struct command *command,
                         hfi_time left_ns)
{
    struct order *order = fuzz_alloc(sizeof *order);

    order->left_ns = left_ns;
    if (command_is(command, "EVALSHA", NULL) || command_is(command, "EVAL", NULL))
        read_script(order, command);
    else
        order->kind = kind_of(command);
    if (order->kind == ORDER_SUBSCRIBE || order->kind == ORDER_UNSUBSCRIBE)
        read_channel(order, command);
    if (order->kind == ORDER_KILL) {
        MUST(command->argc == 4);
        order->number = number_of(command->argv[3]);
    }
    for (size_t i = 0; i < order->count; i++)
        judge_item(core, order, &order->item[i]);
    if (conn->wild)
        answered(core, order); /* perhaps: who knows what its bytes are taken for */
    DL_APPEND(conn->orders, order);
}

void server_receive(struct core *core, unsigned link, const char *bytes, size_t count)
{
    struct conn *conn = &core->conn[link];
    bool begun = conn->stream.len > conn->stream.taken;
    struct command command;

    stream_add(&conn->stream, bytes, count);
    while (stream_take(&conn->stream, &command)) {
        read_command(core, conn, &command, begun ? conn->begun_ns : core->now);
        begun = false;
    }
    if (!begun)
        conn->begun_ns = core->now;
}

/* ------------------------------------------------------------------------------------------------
 * Connections
 */

void server_accept(struct core *core, unsigned link)
{
    struct conn *conn = &core->conn[link];

    MUST(!conn->up && !conn->orders);
    conn->up = true;
    conn->id = ++core->next_id;
}

static void free_conn(struct conn *conn)
{
    struct order *order, *tmp;

    DL_FOREACH_SAFE (conn->orders, order, tmp) {
        free(order);
    }
    stream_free(&conn->stream);
    free(conn->out);
    memset(conn, 0, sizeof *conn);
}

static void retire(struct core *core, const struct conn *conn)
{
    const struct order *order;

    if (conn->wild)
        return; /* it may have had its answer */
    DL_FOREACH (conn->orders, order) {
        if (order->kind == ORDER_TRY)
            core_owner(core, order->item[0].owner)->retired = true;
    }
}

/* What the server has read and not executed, it may still execute. */
void server_hang_up(struct core *core, unsigned link)
{
    struct conn *conn = &core->conn[link], *ghost;
    struct order *order, *tmp;

    if (!conn->up)
        return;
    retire(core, conn);
    ghost = fuzz_alloc(sizeof *ghost);
    ghost->id = conn->id;
    DL_FOREACH_SAFE (conn->orders, order, tmp) {
        if (order->executed || link == HFI_REDIS_WAKEUPS)
            continue;
        DL_DELETE(conn->orders, order);
        DL_APPEND(ghost->orders, order);
    }
    LL_PREPEND(core->ghosts, ghost);
    free_conn(conn);
}

void server_late(struct core *core)
{
    struct conn *ghost;
    uint32_t skip = choose(core, 4);

    LL_FOREACH (core->ghosts, ghost) {
        struct order *order = ghost->orders;

        if (!order || skip-- > 0)
            continue;
        model_execute(core, ghost, order);
        DL_DELETE(ghost->orders, order);
        free(order);
        ghost->out_len = 0; /* nobody will read it */
        return;
    }
}

void server_free(struct core *core)
{
    struct conn *ghost, *tmp;

    LL_FOREACH_SAFE (core->ghosts, ghost, tmp) {
        free_conn(ghost);
        free(ghost);
    }
    for (unsigned link = 0; link < HFI_REDIS_LINKS; link++)
        free_conn(&core->conn[link]);
}

/* ------------------------------------------------------------------------------------------------
 * Answering
 */

static void say_error(struct core *core, struct conn *conn, struct order *order)
{
    static const char *const ERRORS[] = {
        "OOM command not allowed",
        "LOADING Redis is loading",
        "NOPERM no permissions",
        "WRONGTYPE wrong kind",
        "NOAUTH Authentication req",
        "READONLY You can't write",
        "MOVED 1 h:1",
        "ERR something else",
    };

    order->refused = true;
    if (order->by_hash && choose(core, 2))
        server_say(conn, "-NOSCRIPT No matching script.\r\n");
    else
        server_say(conn, "-%s\r\n", ERRORS[choose(core, 8)]);
}

static void lie_about_try(struct core *core, struct conn *conn, const struct order *order)
{
    unsigned long long number = (unsigned long long)input_number(&core->input, 8);

    switch (choose(core, 4)) {
    case 0:
        server_say(conn, "*3\r\n:1\r\n:%llu\r\n:%u\r\n", number >> 10,
                   order->tokens > 1 ? 1 + choose(core, 256) : 1);
        break;
    case 1:
        server_say(conn, "*3\r\n:0\r\n:%lld\r\n:%u\r\n", (long long)number, choose(core, 3));
        break;
    default:
        server_say(conn, "*1\r\n:2\r\n");
    }
}

/* Well-formed, and not what is the case. */
static void lie(struct core *core, struct conn *conn, const struct order *order)
{
    core->lied = true;
    switch (order->kind) {
    case ORDER_TRY:
        lie_about_try(core, conn, order);
        break;
    case ORDER_RENEW:
        server_say(conn, "*%zu\r\n", order->count);
        for (size_t i = 0; i < order->count; i++)
            server_say(conn, ":%u\r\n", choose(core, 2));
        break;
    case ORDER_SUBSCRIBE:
        server_say(conn, "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n");
        break;
    default:
        server_say(conn, ":%lld\r\n", (long long)input_number(&core->input, 8));
    }
}

static void say_nonsense(struct core *core, struct conn *conn)
{
    char *text = input_string(&core->input, 0, 64);
    struct order *order;

    core->lied = true;
    conn->wild = true;
    server_say(conn, "%s", text);
    free(text);
    DL_FOREACH (conn->orders, order) {
        answered(core, order);
    }
}

bool server_execute(struct core *core, struct conn *conn)
{
    struct order *order;
    uint32_t how = core->calm ? 0 : choose(core, 16);

    DL_FOREACH (conn->orders, order) {
        if (!order->executed)
            break;
    }
    if (!order)
        return false;
    order->executed = true;
    if (how == 13)
        say_error(core, conn, order);
    else if (how == 14 && !core->honest)
        lie(core, conn, order);
    else if (how == 15 && !core->honest)
        say_nonsense(core, conn);
    else
        model_execute(core, conn, order);
    conn->mute |= how == 12;
    if (!conn->mute)
        order->end = conn->out_len;
    else
        conn->out_len = 0;
    return true;
}

void server_babble(struct core *core, unsigned link)
{
    struct conn *conn = &core->conn[link];

    if (core->honest || !conn->up || conn->mute)
        return;
    say_nonsense(core, conn);
}

/* Those whose replies end within what is delivered now. */
static void settle(struct core *core, struct conn *conn, size_t count)
{
    struct order *order, *tmp;

    DL_FOREACH_SAFE (conn->orders, order, tmp) {
        if (!order->executed || order->end == 0)
            break;
        if (order->end > count) {
            order->end -= count;
            continue;
        }
        answered(core, order);
        DL_DELETE(conn->orders, order);
        free(order);
    }
}

void server_answer(struct core *core, unsigned link, size_t most)
{
    struct conn *conn = &core->conn[link];
    size_t count = conn->out_len < most ? conn->out_len : most;
    char *exact;

    if (!conn->up || count == 0)
        return;
    settle(core, conn, count);
    exact = fuzz_alloc(count);
    memcpy(exact, conn->out, count);
    memmove(conn->out, conn->out + count, conn->out_len - count);
    conn->out_len -= count;
    core->wire->consume(core->store, link, core->now, exact, count);
    free(exact);
    host_pump(core);
}
