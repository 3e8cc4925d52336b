/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sides: starting them, and their lines. Invariant: side->answer has whole lines, in the order in which they
 * came; a thread of a player has at most one there.
 */
#include "interop/side.h"

#include <poll.h>
#include <stdarg.h>
#include <string.h>

#define HEAP "-Xmx256m"

const char *side_classpath;

struct start {
    enum make make;
    int port, ttl_ms;
    const char *prefix;
};

const char *side_name(enum make make)
{
    return make == MAKE_C ? "c" : "java";
}

/* In the child. What is said on stderr goes to the driver's. */
static int become_player(const struct parent *parent, void *arg)
{
    const struct start *start = arg;
    char port[16], ttl[16], uri[64];

    snprintf(port, sizeof port, "%d", start->port);
    snprintf(ttl, sizeof ttl, "%d", start->ttl_ms);
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d", start->port);
    if (dup2(parent->in, STDIN_FILENO) < 0 || dup2(parent->out, STDOUT_FILENO) < 0)
        return 98;
    if (start->make == MAKE_C)
        execl(HF_TEST_BIN "/interop_player", "interop_player", port, ttl, start->prefix,
              (char *)NULL);
    else
        execlp("java", "java", "-XX:+UseSerialGC", HEAP,
               "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", side_classpath,
               "org.holdfast.interop.Player", uri, ttl, start->prefix, (char *)NULL);
    return 127;
}

void side_start(struct side *side, enum make make, const struct server *server, int ttl_ms,
                const char *prefix)
{
    struct start start = { .make = make, .port = server->port, .ttl_ms = ttl_ms, .prefix = prefix };
    const char *hello;

    memset(side, 0, sizeof *side);
    side->make = make;
    child_start(&side->child, become_player, &start);
    hello = side_hear_well(side, "-");
    snprintf(side->client, sizeof side->client, "%s", answer_text(hello, "client"));
    snprintf(side->version, sizeof side->version, "%s", answer_text(hello, "version"));
}

void side_kill(struct side *side)
{
    child_kill(&side->child);
    side->answers = 0;
    side->len = 0;
}

/* ------------------------------------------------------------------------------------------------
 * Lines
 */

__attribute__((format(printf, 3, 0))) static void send_line(struct side *side, const char *thread,
                                                            const char *format, va_list args)
{
    char line[SIDE_LINE];
    int len = snprintf(line, sizeof line, "%s ", thread);

    len += vsnprintf(line + len, sizeof line - (size_t)len, format, args);
    assert_true((size_t)len < sizeof line);
    line[len++] = '\n'; /* in the place of the NUL */
    assert_int_equal(write(side->child.to, line, (size_t)len), len);
}

void side_tell(struct side *side, const char *thread, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    send_line(side, thread, format, args);
    va_end(args);
}

static void keep_line(struct side *side, const char *line, size_t len)
{
    assert_true(side->answers < SIDE_ANSWERS);
    snprintf(side->answer[side->answers++], SIDE_LINE, "%.*s", (int)len, line);
}

/* Reads what there is, or comes in time. */
static void read_lines(struct side *side, int ms)
{
    struct pollfd p = { .fd = side->child.from, .events = POLLIN };
    char *end;
    ssize_t n;

    if (poll(&p, 1, ms) <= 0)
        return;
    n = read(side->child.from, side->part + side->len, sizeof side->part - side->len);
    if (n <= 0)
        fail_msg("the %s side has ended", side_name(side->make));
    side->len += (size_t)n;
    while ((end = memchr(side->part, '\n', side->len)) != NULL) {
        size_t len = (size_t)(end - side->part);

        keep_line(side, side->part, len);
        side->len -= len + 1;
        memmove(side->part, end + 1, side->len);
    }
}

/* The place of a thread's answer; SIDE_ANSWERS: it has said nothing. */
static size_t find(const struct side *side, const char *thread)
{
    size_t len = strlen(thread);

    for (size_t i = 0; i < side->answers; i++)
        if (strncmp(side->answer[i], thread, len) == 0 && side->answer[i][len] == ' ')
            return i;
    return SIDE_ANSWERS;
}

bool side_has(struct side *side, const char *thread)
{
    read_lines(side, 0);
    return find(side, thread) < SIDE_ANSWERS;
}

const char *side_hear(struct side *side, const char *thread)
{
    static char heard[SIDE_LINE];
    int64_t until = now_ms() + 2 * PATIENCE_MS;
    size_t at;

    while ((at = find(side, thread)) == SIDE_ANSWERS && now_ms() < until)
        read_lines(side, 100);
    if (at == SIDE_ANSWERS)
        fail_msg("thread %s of the %s side does not answer", thread, side_name(side->make));
    snprintf(heard, sizeof heard, "%s", side->answer[at] + strlen(thread) + 1);
    side->answers--;
    memmove(side->answer[at], side->answer[at + 1], (side->answers - at) * SIDE_LINE);
    return heard;
}

const char *side_hear_well(struct side *side, const char *thread)
{
    const char *answer = side_hear(side, thread);

    if (strncmp(answer, "ok ", 3) != 0)
        fail_msg("thread %s of the %s side: %s", thread, side_name(side->make), answer);
    return answer;
}

const char *side_ask(struct side *side, const char *thread, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    send_line(side, thread, format, args);
    va_end(args);
    return side_hear(side, thread);
}

const char *side_do(struct side *side, const char *thread, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    send_line(side, thread, format, args);
    va_end(args);
    return side_hear_well(side, thread);
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 */

const char *answer_text(const char *answer, const char *key)
{
    static char value[SIDE_LINE];
    char head[64];
    const char *at;

    snprintf(head, sizeof head, " %s=", key);
    at = strstr(answer, head);
    if (!at) {
        fail_msg("no %s in: %s", key, answer);
        return "";
    }
    at += strlen(head);
    snprintf(value, sizeof value, "%.*s", (int)strcspn(at, " "), at);
    return value;
}

long long answer_number(const char *answer, const char *key)
{
    return atoll(answer_text(answer, key));
}
