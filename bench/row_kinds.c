/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread takes and gives back a lock of each kind that nobody else wants. Baseline: the very commands
 * that Holdfast sent for it, as the server's MONITOR showed them, sent again by hiredis and nothing else, with
 * the numbers of owners counted on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "bench.h"
#include "holdfast/objects.h"

#define TURN         50 /* pairs */
#define TURNS_MAX    20
#define COMMANDS_MAX 4
#define ARGS_MAX     16
#define ARG_MAX      256
#define COUNTER      1000000 /* replayed owners' numbers begin here, all with as many digits */

/* ------------------------------------------------------------------------------------------------
 * The kinds
 */

static void pair_of(hf_client *client, const char *name, enum hf_mode mode)
{
    hf_hold *hold = NULL;

    bench_must(hf_acquire(client, name, HF_ACQUIRE(.mode = mode), &hold), "hf_acquire");
    bench_must(hf_release(hold), "hf_release");
}

static void fair(hf_client *client, const char *name)
{
    pair_of(client, name, HF_FAIR);
}

static void read_(hf_client *client, const char *name)
{
    pair_of(client, name, HF_SHARED);
}

static void write_(hf_client *client, const char *name)
{
    pair_of(client, name, HF_WRITE);
}

static void fenced(hf_client *client, const char *name)
{
    pair_of(client, name, HF_FENCED);
}

static void permits(hf_client *client, const char *name)
{
    pair_of(client, name, HF_PERMITS);
}

static void semaphore(hf_client *client, const char *name)
{
    bench_must(hf_semaphore_acquire(client, name, 1, NULL), "hf_semaphore_acquire");
    bench_must(hf_semaphore_release(client, name, 1), "hf_semaphore_release");
}

static const struct kind {
    const char *row, *what;
    void (*pair)(hf_client *client, const char *name);
} KINDS[] = {
    { "fair", "uncontended fair acquire + release: p50", fair },
    { "read", "uncontended shared acquire + release: p50", read_ },
    { "write", "uncontended write acquire + release: p50", write_ },
    { "fenced", "uncontended fenced acquire + release: p50", fenced },
    { "permits", "one permit of many, taken and given back: p50", permits },
    { "semaphore", "uncontended semaphore acquire + release: p50", semaphore },
};

/* ------------------------------------------------------------------------------------------------
 * What was sent
 */

struct command {
    int argc;
    char arg[ARGS_MAX][ARG_MAX];
    size_t len[ARGS_MAX];
};

struct recording {
    int count;
    struct command command[COMMANDS_MAX];
};

static int hex(char c)
{
    return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

/* A quoted argument of a line of MONITOR; returns what follows it. */
static const char *read_argument(const char *at, struct command *command)
{
    static const char PLAIN[] = "nrtab", MEANT[] = "\n\r\t\a\b";
    size_t n = 0;

    if (command->argc == ARGS_MAX)
        bench_die("a command has too many arguments");
    for (at++; *at != '"'; at++) {
        char c = *at;

        if (c == '\0' || n == ARG_MAX - 1)
            bench_die("a line of MONITOR cannot be read");
        if (c == '\\' && at[1] == 'x') {
            c = (char)(hex(at[2]) << 4 | hex(at[3]));
            at += 3;
        } else if (c == '\\') {
            const char *found = strchr(PLAIN, *++at);

            c = found ? MEANT[found - PLAIN] : *at;
        }
        command->arg[command->argc][n++] = c;
    }
    command->len[command->argc++] = n;
    return at + 1;
}

/* `owner`: "<client id>:"; what follows it is replaced by a number of fixed width, for replay. */
static void widen(struct command *command, int i, const char *owner)
{
    char *found = strstr(command->arg[i], owner), *rest;
    char wide[ARG_MAX];

    if (!found || strlen(command->arg[i]) != command->len[i])
        return;
    rest = found + strlen(owner);
    rest += strspn(rest, "0123456789");
    snprintf(wide, sizeof wide, "%.*s%d%s", (int)(found + strlen(owner) - command->arg[i]),
             command->arg[i], COUNTER, rest);
    command->len[i] = strlen(wide);
    memcpy(command->arg[i], wide, command->len[i] + 1);
}

static void add_line(struct recording *recording, const char *line, const char *owner)
{
    struct command *command = &recording->command[recording->count];
    const char *at = strchr(line, ']');

    if (!at || strstr(line, " lua] "))
        return;
    if (recording->count == COMMANDS_MAX)
        bench_die("a pair is more commands than expected");
    memset(command, 0, sizeof *command);
    while ((at = strchr(at, '"')))
        at = read_argument(at, command);
    for (int i = 0; i < command->argc; i++)
        widen(command, i, owner);
    recording->count++;
}

/* The commands of one pair. */
static void record(hf_client *client, const struct bench_server *server, redisContext *other,
                   const struct kind *kind, const char *name, struct recording *recording)
{
    redisContext *monitor = bench_connect(server);
    redisReply *reply = redisCommand(monitor, "MONITOR");
    char owner[64];
    bool over = false;

    snprintf(owner, sizeof owner, "%s:", hf_client_id(client));
    freeReplyObject(reply);
    recording->count = 0;
    kind->pair(client, name);
    freeReplyObject(redisCommand(other, "ECHO over"));
    while (!over) {
        if (redisGetReply(monitor, (void **)&reply) != REDIS_OK)
            bench_die("MONITOR ended");
        over = strstr(reply->str, "\"ECHO\" \"over\"") != NULL;
        if (!over && strstr(reply->str, name))
            add_line(recording, reply->str, owner);
        freeReplyObject(reply);
    }
    redisFree(monitor);
    if (recording->count != 2)
        bench_die("%s: a pair is %d commands, not 2", kind->row, recording->count);
}

/* ------------------------------------------------------------------------------------------------
 * Sent again
 */

static void count_on(struct command *command, const char *owner, unsigned number)
{
    char digits[16];

    snprintf(digits, sizeof digits, "%u", COUNTER + number % COUNTER);
    for (int i = 0; i < command->argc; i++) {
        char *found = strstr(command->arg[i], owner);

        if (found && strlen(command->arg[i]) == command->len[i])
            memcpy(found + strlen(owner), digits, strlen(digits));
    }
}

static void replay(redisContext *redis, struct recording *recording, const char *owner)
{
    static unsigned number;

    number++;
    for (int i = 0; i < recording->count; i++) {
        struct command *command = &recording->command[i];
        const char *argv[ARGS_MAX];
        redisReply *reply;

        count_on(command, owner, number);
        for (int j = 0; j < command->argc; j++)
            argv[j] = command->arg[j];
        reply = redisCommandArgv(redis, command->argc, argv, command->len);
        if (!reply || reply->type == REDIS_REPLY_ERROR)
            bench_die("the baseline's command failed: %s", reply ? reply->str : redis->errstr);
        freeReplyObject(reply);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Rounds
 */

struct setting {
    hf_client *client;
    redisContext *redis;
    const struct kind *kind;
    struct recording recording;
    char owner[64];
    const char *name;
    size_t turns;
};

static void play_round(struct setting *s, struct bench_rounds *rounds)
{
    static double mine[TURN * TURNS_MAX], bare[TURN * TURNS_MAX];

    for (size_t turn = 0; turn < s->turns; turn++) {
        for (size_t i = 0; i < TURN; i++) {
            uint64_t start = bench_now();

            s->kind->pair(s->client, s->name);
            mine[turn * TURN + i] = (double)(bench_now() - start) / 1e3;
        }
        for (size_t i = 0; i < TURN; i++) {
            uint64_t start = bench_now();

            replay(s->redis, &s->recording, s->owner);
            bare[turn * TURN + i] = (double)(bench_now() - start) / 1e3;
        }
    }
    bench_rounds_add(rounds, bench_median(mine, s->turns * TURN),
                     bench_median(bare, s->turns * TURN));
}

static void play(const struct bench *bench, struct setting *s)
{
    size_t rounds = bench->quick ? 5 : 15;
    struct bench_result result = {
        .row = s->kind->row, .what = s->kind->what, .sense = BENCH_AT_MOST, .target = 1.15
    };
    struct bench_rounds measured = { 0 }, warm_up = { 0 };

    play_round(s, &warm_up);
    for (size_t i = 0; i < rounds; i++)
        play_round(s, &measured);
    bench_report_ratio(bench, &result, &measured, "us", "the same commands by bare hiredis", NULL);
}

void bench_kinds(const struct bench *bench)
{
    struct bench_server server;
    redisContext *other;

    bench_server_start(bench, &server);
    other = bench_connect(&server);
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        struct setting s = { .kind = &KINDS[i], .turns = bench->quick ? 6 : TURNS_MAX };
        char name[BENCH_NAME_MAX];

        snprintf(name, sizeof name, "bench:kind:%s", KINDS[i].row);
        s.name = name;
        s.client = bench_open(server.uri);
        s.redis = bench_connect(&server);
        snprintf(s.owner, sizeof s.owner, "%s:", hf_client_id(s.client));
        if (KINDS[i].pair == permits)
            bench_must(hf_permits_set(s.client, name, 100), "hf_permits_set");
        if (KINDS[i].pair == semaphore)
            bench_must(hf_semaphore_set(s.client, name, 100, 0), "hf_semaphore_set");
        KINDS[i].pair(s.client, name); /* makes the server know the scripts */
        record(s.client, &server, other, &KINDS[i], name, &s.recording);
        play(bench, &s);
        redisFree(s.redis);
        hf_close(s.client);
    }
    redisFree(other);
    bench_server_stop(&server);
}
