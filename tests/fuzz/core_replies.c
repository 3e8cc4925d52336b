/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the server answers: truly, untruly, with an error, with nonsense, or never; and what it answers arrives in
 * pieces.
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
    core->unkillable |=
        order->kind == ORDER_ID || order->kind == ORDER_SERVER || order->kind == ORDER_KILL;
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

/* What is of the wrong shape is no answer: nothing may come of it. */
static void lie_about_renewal(struct core *core, struct conn *conn, struct order *order)
{
    static const char *const SHAPES[] = { "*0\r\n", ":1\r\n", "*1\r\n$1\r\n1\r\n",
                                          "*2\r\n:1\r\n*1\r\n:1\r\n" };
    uint32_t shape = choose(core, 8);

    if (shape >= 4) {
        order->refused = true;
        server_say(conn, "%s", SHAPES[shape - 4]);
        return;
    }
    server_say(conn, "*%zu\r\n", order->count);
    for (size_t i = 0; i < order->count; i++)
        server_say(conn, ":%u\r\n", choose(core, 2));
}

/* Well-formed, and not what is the case. */
static void lie(struct core *core, struct conn *conn, struct order *order)
{
    core->lied = true;
    switch (order->kind) {
    case ORDER_TRY:
        lie_about_try(core, conn, order);
        break;
    case ORDER_RENEW:
        lie_about_renewal(core, conn, order);
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
        server_answered(core, order);
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
    core_trace(core, "connection %u: executed", (unsigned)conn->id);
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
        server_answered(core, order);
        if (order->kind == ORDER_SUBSCRIBE && !order->refused && order->name >= 0)
            core->lock[order->name].confirmed[order->kind_of] = ++core->count;
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
    core_trace(core, "connection %u says: %.*s", (unsigned)conn->id, (int)count, conn->out);
    settle(core, conn, count);
    exact = fuzz_alloc(count);
    memcpy(exact, conn->out, count);
    memmove(conn->out, conn->out + count, conn->out_len - count);
    conn->out_len -= count;
    core->wire->consume(core->store, link, core->now, exact, count);
    free(exact);
    host_pump(core);
}
