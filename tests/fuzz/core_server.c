/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's connections: what it reads as commands, and what becomes of these when a connection ends. What the
 * bytes say of the client's owner ids is checked as they come.
 */
#include "fuzz/core.h"

#include <utlist.h>

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
        for (int kind = 0; kind < HFI_TOPIC_TURN; kind++) {
            char channel[HFI_CHANNEL_MAX];
            size_t len = hfi_channel_name(channel, CORE_NAMES[name], strlen(CORE_NAMES[name]),
                                          (enum hfi_topic)kind);

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

void server_answered(struct core *core, const struct order *order)
{
    if (order->refused || (order->kind != ORDER_TRY && order->kind != ORDER_RENEW))
        return;
    for (size_t i = 0; i < order->count; i++) {
        struct owner *owner = core_owner(core, order->item[i].owner);

        if (order->item[i].ttl_ms > 0)
            owner->answered_ns = hfi_time_max(owner->answered_ns, order->left_ns);
    }
}

static void trace_order(const struct core *core, const struct conn *conn, const struct order *order)
{
    static const char *const KINDS[] = { "TRY",      "RELEASE", "RENEW",     "ANNOUNCE",
                                         "FAREWELL", "ID",      "KILL",      "SERVER",
                                         "ROLE",     "MEMORY",  "SUBSCRIBE", "UNSUBSCRIBE",
                                         "OTHER" };

    core_trace(core, "connection %u gets %s", (unsigned)conn->id, KINDS[order->kind]);
    for (size_t i = 0; i < order->count; i++)
        core_trace(core, "    of %s for owner %u, ttl %u ms", CORE_NAMES[order->item[i].name],
                   (unsigned)order->item[i].owner, (unsigned)order->item[i].ttl_ms);
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
    trace_order(core, conn, order);
    for (size_t i = 0; i < order->count; i++)
        judge_item(core, order, &order->item[i]);
    if (conn->wild)
        server_answered(core, order); /* perhaps: who knows what its bytes are taken for */
    DL_APPEND(conn->orders, order);
}

void server_receive(struct core *core, unsigned link, const char *bytes, size_t count)
{
    struct conn *conn = &core->conn[link];
    bool begun = conn->stream.len > conn->stream.taken;
    struct command command;

    MUST(!conn->forsaken);
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
    conn->blocked = false; /* what was said of a connection that was none yet */
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
