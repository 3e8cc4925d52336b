/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, and the checks that come before one runs, in a server's order. */
#include "redis.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool sim_arg_is(const struct sim_arg *arg, const char *word)
{
    return strlen(word) == arg->len && strncasecmp(arg->at, word, arg->len) == 0;
}

/* As the server's string2ll(): no spaces, no plus, no zeros in front. */
bool sim_arg_number(const struct sim_arg *arg, long long *ret_number)
{
    char text[24], again[24];
    long long number;

    if (arg->len == 0 || arg->len >= sizeof text)
        return false;
    memcpy(text, arg->at, arg->len);
    text[arg->len] = '\0';
    number = strtoll(text, NULL, 10);
    snprintf(again, sizeof again, "%lld", number);
    if (strcmp(text, again) != 0)
        return false;
    *ret_number = number;
    return true;
}

static const struct sim_command *look(const struct sim_command *table, const struct sim_arg *name)
{
    for (; table->name; table++)
        if (sim_arg_is(name, table->name))
            return table;
    return NULL;
}

const struct sim_command *sim_command_find(const struct sim_arg *name)
{
    static const struct sim_command *const TABLES[] = { sim_redis_eval, sim_redis_keys,
                                                        sim_redis_lists, sim_redis_zsets,
                                                        sim_redis_admin };
    const struct sim_command *command = NULL;

    for (size_t i = 0; i < sizeof TABLES / sizeof TABLES[0] && !command; i++)
        command = look(TABLES[i], name);
    return command;
}

bool sim_command_arity_ok(const struct sim_command *command, size_t argc)
{
    return command->arity >= 0 ? argc == (size_t)command->arity : argc >= (size_t)-command->arity;
}

/* ------------------------------------------------------------------------------------------------
 * Refusals
 */

static void refuse_unknown(struct sim_call *call)
{
    struct sim_text text = { 0 };

    sim_text_format(&text, "ERR unknown command '%.*s', with args beginning with: ",
                    (int)call->argv[0].len, call->argv[0].at);
    for (size_t i = 1; i < call->argc && text.len < 128; i++)
        sim_text_format(&text, "'%.*s' ", (int)call->argv[i].len, call->argv[i].at);
    sim_reply_error(call->reply, text.at);
    sim_text_free(&text);
}

static void refuse_arity(struct sim_call *call, const struct sim_command *command)
{
    char text[128];

    snprintf(text, sizeof text, "ERR wrong number of arguments for '%s' command", command->name);
    sim_reply_error(call->reply, text);
}

static void refuse_context(struct sim_call *call, const struct sim_command *command)
{
    char text[256];

    snprintf(text, sizeof text,
             "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
             "RESET are allowed in this context",
             command->name);
    sim_reply_error(call->reply, text);
}

static bool is_refused(struct sim_call *call, const struct sim_command *command)
{
    const struct sim_redis *redis = call->redis;
    unsigned flags = command->flags;

    if (call->conn && !call->conn->authenticated && !sim_arg_is(&call->argv[0], "auth")) {
        sim_reply_error(call->reply, "NOAUTH Authentication required.");
    } else if (redis->is_replica && (flags & SIM_COMMAND_WRITE)) {
        sim_reply_error(call->reply, "READONLY You can't write against a read only replica.");
    } else if (redis->out_of_memory && !redis->is_replica && (flags & SIM_COMMAND_GROW)) {
        sim_reply_error(call->reply, "OOM command not allowed when used memory > 'maxmemory'.");
    } else if (call->conn && call->conn->subscriptions > 0 && !(flags & SIM_COMMAND_LISTEN)) {
        refuse_context(call, command);
    } else if (redis->failing && !(flags & SIM_COMMAND_HELLO)) {
        sim_reply_error(call->reply, redis->failing);
    } else {
        return false;
    }
    return true;
}

static void run(struct sim_call *call, const struct sim_command *command)
{
    static const char *const GARBAGE[] = { "+WHAT\r\n",     "$-1\r\n",
                                           "*0\r\n",        "*1\r\n+OK\r\n",
                                           "$3\r\nyes\r\n", "*3\r\n:1\r\n:0\r\n+1\r\n" };
    const struct sim_redis_hooks *hooks = &call->redis->hooks;
    size_t at = call->reply->len;
    bool runs = true, garbles = hooks->garbles && hooks->garbles(hooks->arg, call, &runs);

    if (runs)
        command->run(call);
    if (!garbles)
        return;
    call->reply->len = at;
    sim_text_say(call->reply, GARBAGE[call->redis->command % (sizeof GARBAGE / sizeof GARBAGE[0])]);
}

void sim_redis_run(struct sim_call *call)
{
    const struct sim_command *command = sim_command_find(&call->argv[0]);

    if (!command) {
        refuse_unknown(call);
    } else if (!sim_command_arity_ok(command, call->argc)) {
        refuse_arity(call, command);
    } else if (!is_refused(call, command)) {
        call->redis->command++;
        call->redis->wrote = call->redis->writes = false;
        run(call, command);
        sim_redis_commit(call->redis, call->conn);
    }
}

/* ------------------------------------------------------------------------------------------------
 * By hand
 */

void sim_redis_do(struct sim_redis *redis, struct sim_text *reply, const char *format, ...)
{
    struct sim_arg argv[16];
    struct sim_text own = { 0 };
    struct sim_call call = { .redis = redis, .argv = argv, .reply = reply ? reply : &own };
    char line[2048], *at = line;
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    while (at && call.argc < 16) {
        char *word = strsep(&at, " ");

        argv[call.argc++] = (struct sim_arg){ word, strlen(word) };
    }
    sim_redis_run(&call);
    sim_text_free(&own);
}

void sim_redis_init(struct sim_redis *redis)
{
    memset(redis, 0, sizeof *redis);
    redis->version = "7.0.15";
    redis->policy = "noeviction";
}

void sim_redis_free(struct sim_redis *redis)
{
    struct sim_script *script, *next;

    while (redis->conns)
        sim_conn_free(redis->conns);
    sim_redis_clear(redis);
    HASH_ITER (hh, redis->scripts, script, next) {
        HASH_DEL(redis->scripts, script);
        free(script);
    }
}
