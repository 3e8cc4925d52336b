/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EVAL, EVALSHA, SCRIPT: scripts run as a server runs them, by Lua 5.1, with redis.call() and redis.pcall().
 * One interpreter serves all servers of the program: scripts leave nothing behind in it, and each server has
 * its own list of those that it knows.
 */
#include "redis.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <lua5.1/lualib.h>

/* A script that was compiled, whichever server it was for. */
struct compiled {
    UT_hash_handle hh;
    int function; /* a reference into the registry */
    char sha[41];
};

const char *(*sim_lua_rewrite)(const char *sha, const char *text, size_t *len);

static lua_State *lua;
static struct compiled *compiled;
static struct sim_call *running; /* the EVAL */
static const char *running_sha;

/* ------------------------------------------------------------------------------------------------
 * From replies to Lua
 */

/* "<kind><number>\r\n", which is well-formed: we made it. */
static const char *number_at(const char *at, long long *ret_number)
{
    char *end;

    *ret_number = strtoll(at + 1, &end, 10);
    return end + 2;
}

static const char *push_line(const char *at, const char *field)
{
    const char *end = strchr(at, '\r');

    lua_newtable(lua);
    lua_pushlstring(lua, at + 1, (size_t)(end - at - 1));
    lua_setfield(lua, -2, field);
    return end + 2;
}

static const char *push_reply(const char *at)
{
    long long number;

    switch (*at) {
    case '+':
        return push_line(at, "ok");
    case '-':
        return push_line(at, "err");
    case ':':
        at = number_at(at, &number);
        lua_pushnumber(lua, (lua_Number)number);
        return at;
    case '$':
        at = number_at(at, &number);
        if (number < 0) {
            lua_pushboolean(lua, 0);
            return at;
        }
        lua_pushlstring(lua, at, (size_t)number);
        return at + number + 2;
    default:
        at = number_at(at, &number);
        lua_createtable(lua, (int)number, 0);
        for (long long i = 1; i <= number; i++) {
            at = push_reply(at);
            lua_rawseti(lua, -2, (int)i);
        }
        return at;
    }
}

/* ------------------------------------------------------------------------------------------------
 * From Lua to replies
 */

static bool reply_field(struct sim_text *reply, const char *field)
{
    bool found;

    lua_getfield(lua, -1, field);
    found = lua_type(lua, -1) == LUA_TSTRING;
    if (found && field[0] == 'e')
        sim_reply_error(reply, lua_tostring(lua, -1));
    else if (found)
        sim_reply_status(reply, lua_tostring(lua, -1));
    lua_pop(lua, 1);
    return found;
}

static void reply_value(struct sim_text *reply);

static void reply_table(struct sim_text *reply)
{
    struct sim_text items = { 0 };
    size_t count = 0;

    if (reply_field(reply, "err") || reply_field(reply, "ok"))
        return;
    for (;; count++) {
        lua_rawgeti(lua, -1, (int)count + 1);
        if (lua_isnil(lua, -1))
            break;
        reply_value(&items);
    }
    lua_pop(lua, 1);
    sim_reply_array(reply, count);
    sim_text_add(reply, items.at, items.len);
    sim_text_free(&items);
}

/* The value on top, which is taken off. */
static void reply_value(struct sim_text *reply)
{
    const char *bytes;
    size_t len;

    switch (lua_type(lua, -1)) {
    case LUA_TSTRING:
        bytes = lua_tolstring(lua, -1, &len);
        sim_reply_bulk(reply, bytes, len);
        break;
    case LUA_TNUMBER:
        sim_reply_integer(reply, (long long)lua_tonumber(lua, -1));
        break;
    case LUA_TBOOLEAN:
        if (lua_toboolean(lua, -1))
            sim_reply_integer(reply, 1);
        else
            sim_reply_nil(reply);
        break;
    case LUA_TTABLE:
        reply_table(reply);
        break;
    default:
        sim_reply_nil(reply);
    }
    lua_pop(lua, 1);
}

/* ------------------------------------------------------------------------------------------------
 * redis.call
 */

/* Numbers are written as the server writes them. */
static void read_arguments(struct sim_arg *argv, char (*digits)[32], int count)
{
    for (int i = 0; i < count; i++) {
        if (lua_type(lua, i + 1) == LUA_TNUMBER) {
            int n = snprintf(digits[i], sizeof digits[i], "%.17g", lua_tonumber(lua, i + 1));

            argv[i] = (struct sim_arg){ digits[i], (size_t)n };
        } else {
            argv[i].at = lua_tolstring(lua, i + 1, &argv[i].len);
        }
    }
}

/* Why the command may not run; NULL: it may. */
static const char *objection(const struct sim_command *command, size_t argc)
{
    const struct sim_redis *redis = running->redis;

    if (!command)
        return "ERR Unknown Redis command called from script";
    if (!sim_command_arity_ok(command, argc))
        return "ERR Wrong number of args calling Redis command from script";
    if (command->flags & SIM_COMMAND_NOSCRIPT)
        return "ERR This Redis command is not allowed from script";
    if (redis->is_replica && (command->flags & SIM_COMMAND_WRITE))
        return "READONLY You can't write against a read only replica.";
    if (redis->out_of_memory && !redis->writes && (command->flags & SIM_COMMAND_GROW))
        return "OOM command not allowed when used memory > 'maxmemory'.";
    return NULL;
}

static void run_inside(const struct sim_arg *argv, size_t argc, struct sim_text *reply)
{
    const struct sim_command *command = sim_command_find(&argv[0]);
    const char *why = objection(command, argc);
    struct sim_call call = { .redis = running->redis,
                             .conn = running->conn,
                             .argv = argv,
                             .argc = argc,
                             .reply = reply,
                             .in_script = true };

    if (why) {
        sim_reply_error(reply, why);
        return;
    }
    running->redis->writes |= (command->flags & SIM_COMMAND_WRITE) != 0;
    command->run(&call);
}

#define ARGUMENTS_MAX 256

static int call_redis(bool raise)
{
    static struct sim_text reply;
    struct sim_arg argv[ARGUMENTS_MAX];
    char digits[ARGUMENTS_MAX][32];
    int count = lua_gettop(lua);

    reply.len = 0;
    if (count == 0) {
        sim_reply_error(&reply, "ERR Please specify at least one argument for this redis lib call");
    } else if (count > ARGUMENTS_MAX) {
        sim_reply_error(&reply, "ERR more arguments than the model takes");
    } else {
        read_arguments(argv, digits, count);
        bool strings = true;

        for (int i = 0; i < count; i++)
            strings = strings && argv[i].at;
        if (strings)
            run_inside(argv, (size_t)count, &reply);
        else
            sim_reply_error(&reply, "ERR Lua redis lib command arguments must be strings or "
                                    "integers");
    }
    push_reply(reply.at);
    return raise && reply.at[0] == '-' ? lua_error(lua) : 1;
}

static int lua_redis_call(lua_State *state)
{
    (void)state;
    return call_redis(true);
}

static int lua_redis_pcall(lua_State *state)
{
    (void)state;
    return call_redis(false);
}

/* An error becomes a table that says where it was raised. */
static int handle_error(lua_State *state)
{
    lua_Debug where;

    if (!lua_istable(state, -1)) {
        lua_pushfstring(state, "ERR %s", lua_tostring(state, -1));
        lua_newtable(state);
        lua_insert(state, -2);
        lua_setfield(state, -2, "err");
    }
    for (int level = 1; level <= 2 && lua_getstack(state, level, &where); level++) {
        lua_getinfo(state, "Sl", &where);
        if (level == 1 && where.what[0] == 'C')
            continue;
        lua_pushstring(state, where.source);
        lua_setfield(state, -2, "source");
        lua_pushinteger(state, where.currentline);
        lua_setfield(state, -2, "line");
        break;
    }
    return 1;
}

static void reply_failure(struct sim_text *reply)
{
    struct sim_text text = { 0 };

    lua_getfield(lua, -1, "err");
    lua_getfield(lua, -2, "source");
    lua_getfield(lua, -3, "line");
    sim_text_format(&text, "%s", lua_tostring(lua, -3));
    if (!lua_isnil(lua, -1) && !lua_isnil(lua, -2))
        sim_text_format(&text, " script: %s, on %s:%d.", running_sha, lua_tostring(lua, -2),
                        (int)lua_tointeger(lua, -1));
    sim_reply_error(reply, text.at);
    sim_text_free(&text);
    lua_pop(lua, 4);
}

/* ------------------------------------------------------------------------------------------------
 * Scripts
 */

static int no_such_global(lua_State *state)
{
    return luaL_error(state, "Script attempted to access nonexistent global variable '%s'",
                      lua_tostring(state, -1));
}

static int no_new_global(lua_State *state)
{
    return luaL_error(state, "Attempt to modify a readonly table");
}

static void protect_globals(void)
{
    lua_newtable(lua);
    lua_pushcfunction(lua, no_such_global);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, no_new_global);
    lua_setfield(lua, -2, "__newindex");
    lua_setmetatable(lua, LUA_GLOBALSINDEX);
}

static void open_lua(void)
{
    static const luaL_Reg LIBRARIES[] = { { "", luaopen_base },
                                          { LUA_TABLIBNAME, luaopen_table },
                                          { LUA_STRLIBNAME, luaopen_string },
                                          { LUA_MATHLIBNAME, luaopen_math } };
    static const luaL_Reg FUNCTIONS[] = { { "call", lua_redis_call },
                                          { "pcall", lua_redis_pcall },
                                          { NULL, NULL } };

    lua = luaL_newstate();
    for (size_t i = 0; i < sizeof LIBRARIES / sizeof LIBRARIES[0]; i++) {
        lua_pushcfunction(lua, LIBRARIES[i].func);
        lua_pushstring(lua, LIBRARIES[i].name);
        lua_call(lua, 1, 0);
    }
    luaL_register(lua, "redis", FUNCTIONS);
    lua_settop(lua, 0);
    protect_globals();
}

void sim_lua_close(void)
{
    struct compiled *script, *next;

    if (!lua)
        return;
    HASH_ITER (hh, compiled, script, next) {
        HASH_DEL(compiled, script);
        free(script);
    }
    lua_close(lua);
    lua = NULL;
}

static bool knows(struct sim_redis *redis, const char *sha)
{
    struct sim_script *script;

    HASH_FIND(hh, redis->scripts, sha, 40, script);
    return script != NULL;
}

static void learn(struct sim_redis *redis, const char *sha)
{
    struct sim_script *script;

    if (knows(redis, sha))
        return;
    script = sim_alloc(sizeof *script);
    memcpy(script->sha, sha, 41);
    HASH_ADD(hh, redis->scripts, sha, 40, script);
}

/* False: it is no Lua, and that was said. */
static bool compile(struct sim_call *call, const char *sha, const struct sim_arg *text)
{
    const char *source = text->at;
    size_t len = text->len;
    struct compiled *script;
    char message[512];

    if (!lua)
        open_lua();
    HASH_FIND(hh, compiled, sha, 40, script);
    if (script)
        return true;
    if (sim_lua_rewrite)
        source = sim_lua_rewrite(sha, text->at, &len);
    if (luaL_loadbuffer(lua, source, len, "@user_script") != 0) {
        snprintf(message, sizeof message, "ERR Error compiling script (new function): %s",
                 lua_tostring(lua, -1));
        lua_pop(lua, 1);
        sim_reply_error(call->reply, message);
        return false;
    }
    script = sim_alloc(sizeof *script);
    memcpy(script->sha, sha, 41);
    script->function = luaL_ref(lua, LUA_REGISTRYINDEX);
    HASH_ADD(hh, compiled, sha, 40, script);
    return true;
}

static void set_global(const char *name, const struct sim_arg *argv, size_t count)
{
    lua_pushstring(lua, name);
    lua_createtable(lua, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_pushlstring(lua, argv[i].at, argv[i].len);
        lua_rawseti(lua, -2, (int)i + 1);
    }
    lua_rawset(lua, LUA_GLOBALSINDEX);
}

static void run(struct sim_call *call, const char *sha, size_t keys)
{
    size_t reply_at = call->reply->len;
    struct compiled *script;

    HASH_FIND(hh, compiled, sha, 40, script);
    assert(script); /* the server knows it */
    set_global("KEYS", call->argv + 3, keys);
    set_global("ARGV", call->argv + 3 + keys, call->argc - 3 - keys);
    running = call;
    running_sha = sha;
    lua_pushcfunction(lua, handle_error);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, script->function);
    if (lua_pcall(lua, 0, 1, 1) != 0)
        reply_failure(call->reply);
    else
        reply_value(call->reply);
    lua_settop(lua, 0);
    running = NULL;
    if (call->redis->hooks.ran)
        call->redis->hooks.ran(call->redis->hooks.arg, call, sha, reply_at);
}

static bool read_keys(struct sim_call *call, size_t *ret_keys)
{
    long long keys;

    if (!sim_arg_number(&call->argv[2], &keys))
        sim_reply_error(call->reply, "ERR value is not an integer or out of range");
    else if (keys > (long long)call->argc - 3)
        sim_reply_error(call->reply, "ERR Number of keys can't be greater than number of args");
    else if (keys < 0)
        sim_reply_error(call->reply, "ERR Number of keys can't be negative");
    else
        *ret_keys = (size_t)keys;
    return keys >= 0 && keys <= (long long)call->argc - 3;
}

static void run_evalsha(struct sim_call *call)
{
    char sha[41] = "";
    size_t keys;

    if (call->argv[1].len == 40)
        for (size_t i = 0; i < 40; i++) /* in any case of letters */
            sha[i] = (char)(call->argv[1].at[i] | (call->argv[1].at[i] >= 'A' ? 0x20 : 0));
    if (!read_keys(call, &keys))
        return;
    if (!knows(call->redis, sha))
        sim_reply_error(call->reply, "NOSCRIPT No matching script. Please use EVAL.");
    else
        run(call, sha, keys);
}

static void run_eval(struct sim_call *call)
{
    char sha[41];
    size_t keys;

    if (!read_keys(call, &keys))
        return;
    sim_sha1(call->argv[1].at, call->argv[1].len, sha);
    if (!knows(call->redis, sha)) {
        if (!compile(call, sha, &call->argv[1]))
            return;
        learn(call->redis, sha);
    }
    run(call, sha, keys);
}

static void flush(struct sim_redis *redis)
{
    struct sim_script *script, *next;

    HASH_ITER (hh, redis->scripts, script, next) {
        HASH_DEL(redis->scripts, script);
        free(script);
    }
}

static void run_script(struct sim_call *call)
{
    char sha[41];

    if (sim_arg_is(&call->argv[1], "flush") && call->argc == 2) {
        flush(call->redis);
        sim_reply_status(call->reply, "OK");
    } else if (sim_arg_is(&call->argv[1], "load") && call->argc == 3) {
        sim_sha1(call->argv[2].at, call->argv[2].len, sha);
        if (!compile(call, sha, &call->argv[2]))
            return;
        learn(call->redis, sha);
        sim_reply_bulk(call->reply, sha, 40);
    } else {
        sim_reply_error(call->reply, "ERR syntax error");
    }
}

const struct sim_command sim_redis_eval[] = {
    { "evalsha", -3, SIM_COMMAND_NOSCRIPT, run_evalsha },
    { "eval", -3, SIM_COMMAND_NOSCRIPT, run_eval },
    { "script", -2, SIM_COMMAND_NOSCRIPT, run_script },
    { 0 },
};
