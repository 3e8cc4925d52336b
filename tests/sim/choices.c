/* SPDX-License-Identifier: Apache-2.0 */
#include "choices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HFI_SCRIPT_TEXTS
#include "redis_scripts.inc"
#undef HFI_SCRIPT_TEXTS

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct {
    const char *name, *sha, *text;
    size_t length;
} SCRIPTS[] = {
#define HFI_SCRIPT(name, sha, text, length) { #name, sha, text, length },
#include "redis_scripts.inc"
#undef HFI_SCRIPT
};

static const char *const KEYS[] = { "a", "b", "job:1", "with{tag}", "gegr\xc3\xbc\xc3\x9ft" };
static const char *const OWNERS[] = { "2f1c9a9e-0000-4000-8000-000000000001:1",
                                      "2f1c9a9e-0000-4000-8000-000000000001:2",
                                      "2f1c9a9e-0000-4000-8000-000000000002:1", "mode" };
static const char *const VALUES[] = { "1",    "0",
                                      "-1",   "42",
                                      "read", "write",
                                      "",     "007",
                                      "1e3",  "9223372036854775807",
                                      "x y",  "1700000000000123" };
static const char *const TTLS[] = { "30000", "100",  "1",        "0",
                                    "-1",    "2500", "nonsense", "9223372036854775807",
                                    "1.5" };
static const char *const CHANNELS[] = { "redisson_lock__channel:{a}", "redisson_lock__channel:{b}",
                                        "holdfast:client:2f1c9a9e", "other" };
static const char *const PERMITS[] = { "", "too short", "of fourteen 14", "of the sixteen16" };
static const char *const NOTES[] = { "holdfast_done:{a}:1", "holdfast_done:{a}:2", "a",
                                     "no:such:key" };
static const char *const COUNTS[] = { "1", "0", "5", "-3", "1000000000", "7" };
static const char *const PATTERNS[] = {
    "*", "a*", "?", "[ab]", "[^a]", "redisson*", "*{*", "\\a", "job:[0-9]", "holdfast:client:*"
};
/* What scripts may return, and how they may fail. */
static const char *const SMALL_SCRIPTS[] = {
    "return 1",
    "return 3.99",
    "return -3.99",
    "return 1700000000000123",
    "return 'text'",
    "return ''",
    "return true",
    "return false",
    "return nil",
    "return {}",
    "return {1, 'two', {3}, false, 5}",
    "return {1, nil, 3}",
    "return {ok='FINE'}",
    "return {err='BAD thing'}",
    "return {err='BAD\\nthing'}",
    "return KEYS[1]",
    "return ARGV[1]",
    "return #ARGV",
    "return redis.call('GET', KEYS[1])",
    "return redis.pcall('GET', KEYS[1])",
    "return redis.call('HGETALL', KEYS[1])",
    "return redis.call('TYPE', KEYS[1])",
    "return redis.call('TYPE', KEYS[1]).ok",
    "return redis.call('INCR', KEYS[1])",
    "return redis.call('HINCRBY', KEYS[1], ARGV[1], 1)",
    "return redis.call('SET', KEYS[1], 2^53)",
    "return redis.call('SET', KEYS[1], 12)",
    "return redis.call('SET', KEYS[1], 0.1)",
    "redis.call('SET', KEYS[1], ARGV[1]); redis.call('HSET', KEYS[1], 'a', 'b')",
    "return redis.call('NOSUCH', KEYS[1])",
    "return redis.call('GET')",
    "return redis.call('SUBSCRIBE', 'x')",
    "return redis.call()",
    "return redis.call('PEXPIRE', KEYS[1], ARGV[1])",
    "return redis.call('PTTL', KEYS[1])",
    "return redis.call('TIME')",
    "return redis.call('PUBLISH', 'other', ARGV[1])",
    "return redis.call('DEL', KEYS[1])",
    "return nothing.here",
    "error('on purpose')",
    "local t = {} ; return t.x.y",
    "return tonumber(ARGV[1])",
    "return string.format('%.0f', 2^53 + 1)",
    "return #redis.call('HGETALL', KEYS[1])",
    "this is no Lua",
    "return redis.pcall('HEXISTS', KEYS[1], ARGV[1]) == 1 and 1 or 0",
    "redis.call('SET', KEYS[1], 1)\nredis.call('HGET', KEYS[1], 'x')\nreturn 1",
};

#define PICK(random, array) ((array)[hfi_random_below(random, COUNT(array))])

void put_command(struct sim_text *command, const char *const *words, size_t count)
{
    sim_text_format(command, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++) {
        sim_text_format(command, "$%zu\r\n", strlen(words[i]));
        sim_text_say(command, words[i]);
        sim_text_say(command, "\r\n");
    }
}

/* ------------------------------------------------------------------------------------------------
 * Our scripts, as we call them
 */

struct words {
    const char *at[64];
    char room[64][24];
    size_t count;
};

static void add(struct words *words, const char *word)
{
    words->at[words->count++] = word;
}

static void add_number(struct words *words, unsigned long long number)
{
    snprintf(words->room[words->count], sizeof words->room[0], "%llu", number);
    add(words, words->room[words->count]);
}

static void add_renewals(struct words *words, struct hfi_random *random)
{
    size_t count = 1 + hfi_random_below(random, 4);

    add_number(words, count);
    for (size_t i = 0; i < count; i++)
        add(words, PICK(random, KEYS));
    for (size_t i = 0; i < count; i++) {
        add(words, hfi_random_below(random, 3) ? "30000" : "0");
        add(words, PICK(random, OWNERS));
    }
}

static void add_announcement(struct words *words, struct hfi_random *random)
{
    static const char *const FIXED[] = {
        "1", "holdfast:client:2f1c9a9e", "35000", "host", "me", "sim", "17", "0.1.0", "12345"
    };
    size_t count = hfi_random_below(random, 4);

    for (size_t i = 0; i < COUNT(FIXED); i++)
        add(words, FIXED[i]);
    for (size_t i = 0; i < count; i++) {
        add(words, PICK(random, KEYS));
        add(words, hfi_random_below(random, 2) ? "1" : "0");
        add_number(words, hfi_random_below(random, 100));
        add_number(words, hfi_random_below(random, 1000000));
        add_number(words, hfi_random_below(random, 100000));
        add(words, PICK(random, VALUES));
        add_number(words, hfi_random_below(random, 2));
        add_number(words, hfi_random_below(random, 5000));
        add(words, hfi_random_below(random, 2) ? "1" : "0");
        add(words, hfi_random_below(random, 2) ? "" : "/read");
    }
}

/* Scripts of objects: keys, the verb, and what follows it. */
static void add_object(struct words *words, struct hfi_random *random, const char *script)
{
    static const struct {
        const char *script, *verbs[8], *keys, *reading_keys;
        size_t verb_count, reading; /* from this verb on */
    } OBJECTS[] = {
        { "semaphore",
          { "set", "release", "return", "add", "drain", "delete", "available" },
          "4",
          "1",
          7,
          6 },
        { "permits", { "set", "resize", "add", "delete", "count" }, "5", "2", 5, 4 },
        { "latch", { "set", "down", "delete", "get" }, "5", "1", 4, 3 },
        { "bucket",
          { "set", "absent", "compare", "swap", "delete", "get", "ttl" },
          "4",
          "1",
          7,
          5 },
        { "map", { "put", "absent", "remove", "get", "size" }, "4", "1", 5, 3 },
        { "stamp", { "set", "delete", "get" }, "3", "1", 3, 2 },
    };
    size_t i = 0, verb;

    while (strcmp(OBJECTS[i].script, script) != 0)
        i++;
    verb = hfi_random_below(random, OBJECTS[i].verb_count);
    add(words, verb < OBJECTS[i].reading ? OBJECTS[i].keys : OBJECTS[i].reading_keys);
    add(words, PICK(random, KEYS));
    if (i == 1 && verb >= OBJECTS[i].reading)
        add(words, PICK(random, KEYS));
    if (verb < OBJECTS[i].reading) {
        add(words, PICK(random, NOTES));
        add(words, PICK(random, NOTES));
        if (i != 5)
            add(words, i > 2 ? PICK(random, NOTES) : PICK(random, CHANNELS));
        if (i == 1 || i == 2)
            add(words, PICK(random, KEYS));
    }
    add(words, OBJECTS[i].verbs[verb]);
    if (i == 3 || i == 4) {
        add(words, hfi_random_below(random, 2) ? "65536" : "2");
        add(words, "60000");
        add(words, PICK(random, VALUES));
        add(words, "86400000");
        add(words, i == 3 ? PICK(random, TTLS) : PICK(random, OWNERS));
        add(words, PICK(random, VALUES));
        if (i == 3 && hfi_random_below(random, 2))
            add(words, PICK(random, VALUES));
        return;
    }
    add(words, "60000");
    add(words, i == 5 ? PICK(random, TTLS) : PICK(random, COUNTS));
    if (i == 0)
        add(words, PICK(random, TTLS));
    if (i != 5)
        add(words, "1000000000");
}

/*
 * Scripts of kinds: how many keys there are, and a letter for each word. All are made of one name and one owner,
 * so that what one script leaves is what another finds.
 */
struct subject {
    const char *name, *owner;
};

static void add_derived(struct words *words, const char *head, const char *middle, const char *tail)
{
    static char room[16][160];
    static unsigned next;
    char *to = room[next++ % COUNT(room)];

    snprintf(to, sizeof room[0], "%s{%s}%s", head, middle, tail);
    add(words, to);
}

static void add_letter(struct words *words, struct hfi_random *random, struct subject subject,
                       char letter)
{
    static const char *const PREFIXES[] = {
        ['W'] = "holdfast_writer:",
        ['C'] = "redisson_rwlock:",
        ['L'] = "redisson_lock__channel:",
        ['Q'] = "redisson_lock_queue:",
        ['Z'] = "redisson_lock_timeout:",
        ['F'] = "holdfast_fair:",
        ['M'] = "redisson_sc:",
        ['X'] = "holdfast_deleted:",
        ['E'] = "redisson_lock_token:",
    };
    char tail[96];

    switch (letter) {
    case 'K':
        add(words, subject.name);
        return;
    case 'T':
        add(words, "holdfast:token:{hhhhhh}");
        return;
    case 'O':
        add(words, subject.owner);
        return;
    case 'D':
        add(words, PICK(random, TTLS));
        return;
    case 'd':
        add(words, hfi_random_below(random, 3) ? "30000" : "0");
        return;
    case 'N':
        add_number(words, hfi_random_below(random, 4) ? 1 : 1001);
        return;
    case 'n':
        add_number(words, 1 + hfi_random_below(random, 3));
        return;
    case 'w':
        add(words, hfi_random_below(random, 2) ? "300000" : "2000");
        return;
    case 'p':
        add(words, hfi_random_below(random, 2) ? "3000" : "0");
        return;
    case 'I':
        add(words, hfi_random_below(random, 2) ? "0123456789abcd" : "0123456789abce");
        return;
    case '0':
    case '1':
        add(words, letter == '0' ? "0" : "1");
        return;
    case 'q':
        add(words, hfi_random_below(random, 4) ? "1" : "0");
        return;
    case 'r':
        snprintf(tail, sizeof tail, ":%s:rwlock_timeout:1", subject.owner);
        add_derived(words, "", subject.name, tail);
        return;
    case 'R':
        add_derived(words, "", subject.name, "");
        return;
    case 'P':
        add_derived(words, "", subject.name, ":timeout");
        return;
    case 'S':
        snprintf(tail, sizeof tail, ":%s", subject.owner);
        add_derived(words, "holdfast_semaphore:", subject.name, tail);
        return;
    default:
        add_derived(words, PREFIXES[(unsigned char)letter], subject.name, "");
    }
}

static bool add_kind(struct words *words, struct hfi_random *random, const char *script)
{
    static const struct {
        const char *script, *keys, *letters;
    } KINDS[] = {
        { "acquire_write", "3", "KTWODNRp" },    { "release_write", "3", "KCWOR1" },
        { "acquire_read", "3", "KrWOD" },        { "release_read", "3", "KCrOR0" },
        { "leave_write", "2", "WCO1" },          { "renew_write", "1", "KdO" },
        { "renew_read", "2", "KrdO" },           { "acquire_fenced", "2", "KEOD" },
        { "acquire_fair", "6", "KQZFLTODNwq0" }, { "release_fair", "5", "KQZFLOw0" },
        { "leave_fair", "5", "KQZFLOw0" },       { "acquire_permits", "3", "KPMInD" },
        { "release_permits", "3", "KPMIn" },     { "renew_permits", "1", "PdIn" },
        { "acquire_semaphore", "2", "KSnD" },    { "release_semaphore", "3", "KMS" },
        { "acquire_latch", "2", "KX" },
    };
    struct subject subject = { KEYS[hfi_random_below(random, 2)], PICK(random, OWNERS) };

    for (size_t i = 0; i < COUNT(KINDS); i++) {
        if (strcmp(KINDS[i].script, script) != 0)
            continue;
        add(words, KINDS[i].keys);
        for (const char *letter = KINDS[i].letters; *letter; letter++)
            add_letter(words, random, subject, *letter);
        return true;
    }
    return false;
}

/* The keys of a queue and of permits are those that other commands make: of any type. */
static void add_break(struct words *words, struct hfi_random *random)
{
    add(words, "8");
    for (int i = 0; i < 4; i++)
        add(words, PICK(random, KEYS));
    add(words, PICK(random, CHANNELS));
    add(words, PICK(random, CHANNELS));
    add(words, PICK(random, KEYS));
    add(words, PICK(random, CHANNELS));
    add(words, PICK(random, OWNERS));
    add(words, "0");
    add(words, "1");
    add(words, PICK(random, KEYS));
    add(words, PICK(random, PERMITS));
    add(words, "3");
}

static void add_arguments(struct words *words, struct hfi_random *random, const char *script)
{
    size_t keys = 1 + hfi_random_below(random, 3);

    if (add_kind(words, random, script))
        return;
    if (strcmp(script, "acquire") == 0) {
        add(words, "2");
        add(words, PICK(random, KEYS));
        add(words, "holdfast:token:{hhhhhh}");
        add(words, PICK(random, OWNERS));
        add(words, PICK(random, TTLS));
        add_number(words, hfi_random_below(random, 4) ? 1 : 1001);
    } else if (strcmp(script, "break") == 0) {
        add_break(words, random);
    } else if (strcmp(script, "inspect") == 0) {
        add_number(words, keys);
        while (keys-- > 0)
            add(words, PICK(random, KEYS));
        add(words, hfi_random_below(random, 2) ? "64" : "1");
    } else if (strcmp(script, "release") == 0) {
        add(words, "2");
        add(words, PICK(random, KEYS));
        add(words, PICK(random, CHANNELS));
        add(words, PICK(random, OWNERS));
        add(words, "0");
    } else if (strcmp(script, "renew") == 0) {
        add_renewals(words, random);
    } else if (strcmp(script, "announce") == 0) {
        add_announcement(words, random);
    } else if (strstr(" semaphore permits latch bucket map stamp ", script)) {
        add_object(words, random, script);
    } else {
        add_number(words, keys);
        while (keys-- > 0)
            add(words, PICK(random, KEYS));
    }
}

static void choose_script(struct hfi_random *random, struct sim_text *command)
{
    size_t i = hfi_random_below(random, COUNT(SCRIPTS));
    bool by_text = hfi_random_below(random, 3) == 0;
    struct words words = { 0 };

    add(&words, by_text ? "EVAL" : "EVALSHA");
    add(&words, by_text ? SCRIPTS[i].text : SCRIPTS[i].sha);
    add_arguments(&words, random, SCRIPTS[i].name);
    put_command(command, words.at, words.count);
}

/* ------------------------------------------------------------------------------------------------
 * Anything
 */

static void choose_small_script(struct hfi_random *random, struct sim_text *command)
{
    if (hfi_random_below(random, 8) == 0)
        PUT(command, "EVAL", "return 1", hfi_random_below(random, 2) ? "7" : "-1", "x");
    else
        PUT(command, "EVAL", PICK(random, SMALL_SCRIPTS), "1", PICK(random, KEYS),
            PICK(random, VALUES));
}

static void choose_set(struct hfi_random *random, struct sim_text *command)
{
    const char *key = PICK(random, KEYS);

    switch (hfi_random_below(random, 4)) {
    case 0:
        PUT(command, "SET", key, PICK(random, VALUES));
        break;
    case 1:
        PUT(command, "SET", key, PICK(random, VALUES), "PX", PICK(random, TTLS));
        break;
    case 2:
        PUT(command, "SET", key, PICK(random, VALUES), "NX");
        break;
    default:
        PUT(command, "SET", key, PICK(random, VALUES), "XX", "EX", "7");
        break;
    }
}

static void choose_number_command(struct hfi_random *random, struct sim_text *command)
{
    const char *key = PICK(random, KEYS);

    switch (hfi_random_below(random, 5)) {
    case 0:
        PUT(command, "INCRBY", key, PICK(random, VALUES));
        break;
    case 1:
        PUT(command, "DECRBY", key, PICK(random, VALUES));
        break;
    case 2:
        PUT(command, "DECR", key);
        break;
    case 3:
        PUT(command, "STRLEN", key);
        break;
    default:
        PUT(command, "HSTRLEN", key, PICK(random, OWNERS));
        break;
    }
}

static void choose_key_command(struct hfi_random *random, struct sim_text *command)
{
    const char *key = PICK(random, KEYS), *owner = PICK(random, OWNERS);

    switch (hfi_random_below(random, 22)) {
    case 0:
        PUT(command, "GET", key);
        break;
    case 1:
    case 2:
    case 3:
    case 4:
        choose_set(random, command);
        break;
    case 5:
        PUT(command, "HSET", key, owner, PICK(random, VALUES));
        break;
    case 6:
        PUT(command, "HSET", key, owner, "1", "mode", "read");
        break;
    case 7:
        PUT(command, "HSET", key, owner);
        break;
    case 8:
        PUT(command, "HGET", key, owner);
        break;
    case 9:
        PUT(command, "HEXISTS", key, owner);
        break;
    case 10:
        PUT(command, "HDEL", key, owner, PICK(random, OWNERS));
        break;
    case 11:
        PUT(command, "HLEN", key);
        break;
    case 12:
        PUT(command, "HGETALL", key);
        break;
    case 13:
        PUT(command, "HINCRBY", key, owner, PICK(random, VALUES));
        break;
    case 14:
        PUT(command, "INCR", key);
        break;
    case 15:
        PUT(command, "DEL", key, PICK(random, KEYS));
        break;
    case 16:
        PUT(command, "EXISTS", key, PICK(random, KEYS));
        break;
    case 17:
        PUT(command, "PEXPIRE", key, PICK(random, TTLS));
        break;
    case 18:
        PUT(command, "EXPIRE", key, PICK(random, TTLS));
        break;
    case 19:
        PUT(command, "PTTL", key);
        break;
    case 20:
        PUT(command, "PERSIST", key);
        break;
    default:
        PUT(command, "TYPE", key);
        break;
    }
}

static const char *const SCORES[] = {
    "0",  "1",        "-5",  "1700000000000",  "1.5", "inf", "-inf",
    "(1", "nonsense", "nan", "922337203685477"
};
static const char *const INDICES[] = { "0", "1", "-1", "-3", "5", "x" };

static void choose_list_command(struct hfi_random *random, struct sim_text *command)
{
    const char *key = PICK(random, KEYS), *owner = PICK(random, OWNERS);

    switch (hfi_random_below(random, 9)) {
    case 8:
        PUT(command, "LPOS", key, owner);
        break;
    case 0:
    case 1:
        PUT(command, "RPUSH", key, owner, PICK(random, OWNERS));
        break;
    case 2:
        PUT(command, "LPUSH", key, owner, PICK(random, OWNERS));
        break;
    case 3:
        PUT(command, "LPOP", key);
        break;
    case 4:
        PUT(command, "LLEN", key);
        break;
    case 5:
        PUT(command, "LINDEX", key, PICK(random, INDICES));
        break;
    case 6:
        PUT(command, "LRANGE", key, PICK(random, INDICES), PICK(random, INDICES));
        break;
    default:
        PUT(command, "LREM", key, PICK(random, INDICES), owner);
        break;
    }
}

static void choose_zset_command(struct hfi_random *random, struct sim_text *command)
{
    const char *key = PICK(random, KEYS), *owner = PICK(random, OWNERS);
    const char *a = PICK(random, SCORES), *b = PICK(random, SCORES);

    switch (hfi_random_below(random, 12)) {
    case 0:
    case 1:
        PUT(command, "ZADD", key, a, owner, b, PICK(random, OWNERS));
        break;
    case 2:
        PUT(command, "ZADD", key, a, owner);
        break;
    case 3:
        PUT(command, "ZINCRBY", key, a, owner);
        break;
    case 4:
        PUT(command, "ZSCORE", key, owner);
        break;
    case 5:
        PUT(command, "ZREM", key, owner, PICK(random, OWNERS));
        break;
    case 6:
        PUT(command, "ZCARD", key);
        break;
    case 7:
        PUT(command, "ZCOUNT", key, a, b);
        break;
    case 8:
        PUT(command, "ZRANGE", key, PICK(random, INDICES), PICK(random, INDICES), "WITHSCORES");
        break;
    case 9:
        PUT(command, "ZRANGEBYSCORE", key, a, b, "WITHSCORES", "LIMIT", PICK(random, INDICES),
            PICK(random, INDICES));
        break;
    case 10:
        PUT(command, "ZRANGEBYSCORE", key, a, b);
        break;
    default:
        PUT(command, "ZREMRANGEBYSCORE", key, a, b);
        break;
    }
}

static void choose_other(struct hfi_random *random, struct sim_text *command)
{
    switch (hfi_random_below(random, 17)) {
    case 0:
        PUT(command, "PING");
        break;
    case 1:
        PUT(command, "PING", "hello");
        break;
    case 2:
        PUT(command, "TIME");
        break;
    case 3:
        PUT(command, "SELECT", hfi_random_below(random, 3) ? "0" : "3");
        break;
    case 4:
        PUT(command, "SELECT", hfi_random_below(random, 2) ? "99" : "x");
        break;
    case 5:
        PUT(command, "CLIENT", "SETNAME", "holdfast:sim@host:1");
        break;
    case 6:
        PUT(command, "CLIENT", "SETNAME", "with space");
        break;
    case 7:
        PUT(command, "CLIENT", "GETNAME");
        break;
    case 8:
        PUT(command, "CLIENT", "ID");
        break;
    case 9:
        PUT(command, "CLIENT", "KILL", "ID", "99999999");
        break;
    case 10:
        PUT(command, "PUBLISH", PICK(random, CHANNELS), PICK(random, VALUES));
        break;
    case 11:
        PUT(command, "PUBSUB", "CHANNELS", PICK(random, PATTERNS));
        break;
    case 12:
        PUT(command, "PUBSUB", "NUMSUB", CHANNELS[0], CHANNELS[1]);
        break;
    case 13:
        PUT(command, "SCAN", "0", "MATCH", PICK(random, PATTERNS), "COUNT", "1000");
        break;
    case 14:
        PUT(command, "SCAN", "0", "COUNT", "1000", "TYPE",
            hfi_random_below(random, 2) ? "hash" : "zset");
        break;
    case 15:
        PUT(command, "NOSUCH", "a", "b");
        break;
    default:
        PUT(command, "GET");
        break;
    }
}

void choose_command(struct hfi_random *random, struct sim_text *command)
{
    uint64_t kind = hfi_random_below(random, 100);

    if (kind < 45)
        choose_script(random, command);
    else if (kind < 60)
        choose_small_script(random, command);
    else if (kind < 74)
        choose_key_command(random, command);
    else if (kind < 77)
        choose_number_command(random, command);
    else if (kind < 81)
        choose_list_command(random, command);
    else if (kind < 85)
        choose_zset_command(random, command);
    else if (kind < 97)
        choose_other(random, command);
    else if (kind < 98)
        PUT(command, "FLUSHALL");
    else if (kind < 99)
        PUT(command, "SCRIPT", "FLUSH");
    else
        PUT(command, "SCRIPT", "LOAD", PICK(random, SMALL_SCRIPTS));
}

void choose_subscription(struct hfi_random *random, struct sim_text *command)
{
    switch (hfi_random_below(random, 8)) {
    case 0:
    case 1:
    case 2:
        PUT(command, "SUBSCRIBE", PICK(random, CHANNELS));
        break;
    case 3:
        PUT(command, "SUBSCRIBE", CHANNELS[0], CHANNELS[1]);
        break;
    case 4:
        PUT(command, "UNSUBSCRIBE", PICK(random, CHANNELS));
        break;
    case 5:
        PUT(command, "UNSUBSCRIBE", CHANNELS[0], "never");
        break;
    case 6:
        PUT(command, "PING");
        break;
    default:
        PUT(command, "GET", "a");
        break;
    }
}
