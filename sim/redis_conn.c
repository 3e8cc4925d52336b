/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: commands are read as they come, in pieces of any size, and run one after the other. */
#include "redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#define ARGUMENTS_MAX 65536

struct sim_conn *sim_conn_new(struct sim_redis *redis, void *peer)
{
    struct sim_conn *conn = sim_alloc(sizeof *conn);

    conn->redis = redis;
    conn->id = ++redis->next_id;
    conn->authenticated = redis->password == NULL;
    conn->peer = peer;
    DL_APPEND(redis->conns, conn);
    return conn;
}

void sim_conn_free(struct sim_conn *conn)
{
    sim_redis_unsubscribe_all(conn);
    DL_DELETE(conn->redis->conns, conn);
    sim_text_free(&conn->in);
    sim_text_free(&conn->out);
    free(conn->argv);
    free(conn);
}

void sim_conn_mark(struct sim_conn *conn)
{
    conn->dirty = true;
}

/* ------------------------------------------------------------------------------------------------
 * Replies
 */

void sim_reply_status(struct sim_text *reply, const char *text)
{
    sim_text_format(reply, "+%s\r\n", text);
}

/* Line breaks would end it early. */
void sim_reply_error(struct sim_text *reply, const char *text)
{
    size_t at = reply->len + 1;

    sim_text_format(reply, "-%s", text);
    for (; at < reply->len; at++)
        if (reply->at[at] == '\r' || reply->at[at] == '\n')
            reply->at[at] = ' ';
    sim_text_add(reply, "\r\n", 2);
}

/* By hand: this is where most of a model's time would go. */
static void put_number(struct sim_text *reply, char kind, long long number)
{
    char digits[24];
    size_t at = sizeof digits;
    unsigned long long left =
        number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number;

    digits[--at] = '\n';
    digits[--at] = '\r';
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (number < 0)
        digits[--at] = '-';
    digits[--at] = kind;
    sim_text_add(reply, digits + at, sizeof digits - at);
}

void sim_reply_integer(struct sim_text *reply, long long number)
{
    put_number(reply, ':', number);
}

void sim_reply_bulk(struct sim_text *reply, const char *bytes, size_t len)
{
    put_number(reply, '$', (long long)len);
    sim_text_add(reply, bytes, len);
    sim_text_add(reply, "\r\n", 2);
}

void sim_reply_nil(struct sim_text *reply)
{
    sim_text_say(reply, "$-1\r\n");
}

void sim_reply_array(struct sim_text *reply, size_t count)
{
    put_number(reply, '*', (long long)count);
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

/* "<kind><number>\r\n": moves *at behind it. False: it is not all there, or (with *ret_bad) no such thing. */
static bool read_head(const struct sim_text *in, size_t *at, char kind, size_t *ret_number,
                      bool *ret_bad)
{
    const char *end = memchr(in->at + *at, '\n', in->len - *at);
    size_t number = 0, i = *at + 1;

    if (!end || in->at[*at] != kind) {
        *ret_bad = *at < in->len && in->at[*at] != kind;
        return false;
    }
    for (; in->at[i] >= '0' && in->at[i] <= '9'; i++)
        number = number * 10 + (size_t)(in->at[i] - '0');
    *at = (size_t)(end + 1 - in->at);
    *ret_number = number;
    return true;
}

static void set_arg(struct sim_conn *conn, size_t i, const char *at, size_t len)
{
    if (i >= conn->arg_room) {
        conn->arg_room = i + 16;
        conn->argv = sim_grow(conn->argv, conn->arg_room * sizeof *conn->argv);
    }
    conn->argv[i] = (struct sim_arg){ at, len };
}

/* How many bytes the first command takes; 0: it is not complete. */
static size_t read_command(struct sim_conn *conn, bool *ret_bad)
{
    const struct sim_text *in = &conn->in;
    size_t at = 0, count, len;

    *ret_bad = false;
    if (in->len == 0 || !read_head(in, &at, '*', &count, ret_bad))
        return 0;
    if (count > ARGUMENTS_MAX) {
        *ret_bad = true;
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (at >= in->len || !read_head(in, &at, '$', &len, ret_bad) || in->len - at < len + 2)
            return 0;
        set_arg(conn, i, in->at + at, len);
        at += len + 2;
    }
    conn->argc = count;
    return at;
}

void sim_conn_feed(struct sim_conn *conn, const char *bytes, size_t count)
{
    size_t used;
    bool bad = false;

    sim_text_add(&conn->in, bytes, count);
    while (!conn->killed && (used = read_command(conn, &bad)) > 0) {
        struct sim_call call = { .redis = conn->redis,
                                 .conn = conn,
                                 .argv = conn->argv,
                                 .argc = conn->argc,
                                 .reply = &conn->out };

        if (conn->argc > 0)
            sim_redis_run(&call);
        sim_conn_mark(conn);
        sim_text_shift(&conn->in, used);
    }
    if (bad) {
        sim_reply_error(&conn->out, "ERR Protocol error: expected '$', got something else");
        conn->killed = true;
        sim_conn_mark(conn);
    }
}
