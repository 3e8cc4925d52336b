/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmarks share. docs/benchmarking.md says how to run them and how to read them.
 *
 *   main.c      options; each row in a process of its own
 *   report.c    a result as a line of JSON; all results as a table
 *   tools.c     time, statistics, processes
 *   server.c    a Redis server of our own, and its counters
 *   bare.c      the baseline: the same two scripts, sent by hiredis and nothing else
 *   crew.c      threads that do one thing over and over
 *   relay.c     threads that block, over one bare connection
 *   row_*.c     the rows
 *
 * Rules for a row: subject and baseline run in the same process and on the same server, in turns,
 * after a warm-up; connections of both are open all the time; the result is the median of the
 * rounds' ratios. No row fails because of a number: the number is reported.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "holdfast/holdfast.h"

struct bench {
    bool quick;         /* fewer and shorter rounds */
    const char *folder; /* for files; empty at first */
    char command[512];  /* the built `holdfast` */
    int out;            /* where results go, a line each */
};

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

typedef void bench_row(const struct bench *bench);

bench_row bench_pair, bench_parallel, bench_pass, bench_handoff, bench_crowd, bench_local,
    bench_many, bench_wheel, bench_command, bench_idle, bench_sqlite, bench_kinds;

/* ------------------------------------------------------------------------------------------------
 * tools.c
 */

uint64_t bench_now(void);     /* CLOCK_MONOTONIC, the same for all processes, in ns */
uint64_t bench_cpu_now(void); /* what this process has used of processors, in ns */
void bench_nap(uint64_t ns);
/* Says what is wrong and ends the row. */
void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Ends the row when a call of the library failed. */
void bench_must(int error, const char *what);

/* Sorts. 0 <= q <= 1. */
double bench_quantile(double *values, size_t count, double q);
double bench_median(double *values, size_t count);
/* Of a copy. */
double bench_median_of(const double *values, size_t count);

/* Memory that children of fork() share. */
void *bench_share(size_t size);
/* fork(); the child dies with its parent's thread. */
pid_t bench_fork(void);
/* As bench_fork() and exec, with input and output at /dev/null and, if `quiet`, errors too. */
pid_t bench_spawn(char *const *argv, bool quiet);
/* Waits; the exit code, or -1. */
int bench_wait(pid_t pid);
void bench_kill(pid_t pid);
/* A number of a "Key:  number" file such as /proc/PID/status; -1: not there. */
int64_t bench_proc_number(const char *path, const char *key);

/* A small generator for choices that must be quick. */
static inline uint64_t bench_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ------------------------------------------------------------------------------------------------
 * report.c
 */

enum bench_sense { BENCH_FOR_THE_RECORD, BENCH_AT_MOST, BENCH_AT_LEAST };

struct bench_result {
    const char *row;  /* short, for --json and the table */
    const char *what; /* one line */
    const char *unit; /* of value, low, high, target; "x": a ratio */
    enum bench_sense sense;
    double target;
    double value, low, high; /* low and high: over the rounds; both 0: there were none */
    const char *note;        /* one line more for people, or NULL */
};

/* Writes one result. `details` (or NULL) is taken over. */
void bench_report(const struct bench *bench, const struct bench_result *result, json_t *details);

#define BENCH_ROUNDS_MAX 64

/* What each round measured. */
struct bench_rounds {
    size_t count;
    double subject[BENCH_ROUNDS_MAX], baseline[BENCH_ROUNDS_MAX];
};

void bench_rounds_add(struct bench_rounds *rounds, double subject, double baseline);
/* The median of subject / baseline. `unit` is of the parts, `baseline` says what the baseline is;
 * of `result` only row, what, sense and target need to be set. */
void bench_report_ratio(const struct bench *bench, const struct bench_result *result,
                        const struct bench_rounds *rounds, const char *unit, const char *baseline,
                        json_t *details);
/* Likewise the median of subject - baseline, in `unit`. */
void bench_report_difference(const struct bench *bench, const struct bench_result *result,
                             const struct bench_rounds *rounds, const char *unit,
                             const char *baseline, json_t *details);
/* All results as a table. */
void bench_print_table(const json_t *results);
/* One result as it comes. */
void bench_print_line(const json_t *result);

/* ------------------------------------------------------------------------------------------------
 * server.c
 */

struct redisContext;

struct bench_server {
    pid_t pid;
    int port;
    char uri[64];
};

/* A redis-server (or what HF_BENCH_SERVER names) on a free port of the loopback interface, without
 * persistence. It dies with this process. */
void bench_server_start(const struct bench *bench, struct bench_server *server);
void bench_server_stop(struct bench_server *server);
struct redisContext *bench_connect(const struct bench_server *server);

/* How often the server executed a command, within scripts too. */
int64_t bench_calls(struct redisContext *redis, const char *command);
/* A number of INFO. */
int64_t bench_info(struct redisContext *redis, const char *section, const char *key);

hf_client *bench_open(const char *uri);

/* ------------------------------------------------------------------------------------------------
 * bare.c
 */

#define BENCH_NAME_MAX 48

/* The commands that take and give back one lock, as Holdfast sends them. */
struct bench_commands {
    char name[BENCH_NAME_MAX], token_key[32], channel[BENCH_NAME_MAX + 32], owner[64];
    const char *acquire[8], *release[7];
    size_t acquire_len[8], release_len[7];
};

#define BENCH_TTL_MS 30000

void bench_commands_init(struct bench_commands *commands, const char *name);
/* Makes the server know both scripts. */
void bench_load_scripts(struct redisContext *redis);
/* Blocking, each one round trip; false: not as it should be. */
bool bench_bare_acquire(struct redisContext *redis, const struct bench_commands *commands);
bool bench_bare_release(struct redisContext *redis, const struct bench_commands *commands);
/* Pairs done in so long, with `count` locks' pairs in flight: all acquires, then all releases.
 * Pairs per second. */
double bench_bare_batches(struct redisContext *redis, const struct bench_commands *commands,
                          size_t count, uint64_t ns);
/* The same, but each lock's next command is sent as soon as its last one was answered. */
double bench_bare_window(struct redisContext *redis, const struct bench_commands *commands,
                         size_t count, uint64_t ns);

/* Calls of the script that renews, for `count` locks each: what it costs hiredis to format and send
 * them and to read the answers. */
struct bench_renewal;

struct bench_renewal *bench_bare_renewal_new(size_t count);
void bench_bare_renew(struct redisContext *redis, const struct bench_renewal *renewal);
void bench_bare_renewal_free(struct bench_renewal *renewal);

/* ------------------------------------------------------------------------------------------------
 * crew.c
 */

struct bench_crew;

/* Once; `number` is the thread's. */
typedef void bench_task(void *arg, size_t number);

struct bench_crew *bench_crew_new(size_t threads, bench_task *task, void *arg);
/* Lets all threads do the task over and over for so long; how often per second. `ret_counts`, if
 * given, has room for one number a thread. */
double bench_crew_run(struct bench_crew *crew, uint64_t ns, uint64_t *ret_counts);
void bench_crew_free(struct bench_crew *crew);

/* ------------------------------------------------------------------------------------------------
 * relay.c
 */

#define BENCH_RELAY_MAX 64

/* Threads whose calls block, over one bare connection: the task bench_relay_pair() takes and gives
 * back the lock of the thread's number. */
struct bench_relay;

struct bench_relay *bench_relay_new(struct redisContext *redis,
                                    const struct bench_commands *commands, size_t count);
bench_task bench_relay_pair;
void bench_relay_free(struct bench_relay *relay);

/* ------------------------------------------------------------------------------------------------
 * row_handoff.c, for row_sqlite.c too
 */

/* Two processes hand a lock to and fro. Each call does so `count` times, an even number up to
 * BENCH_DUET_MAX, and writes how long each took, in us. */
struct bench_duet;

#define BENCH_DUET_MAX 40

struct bench_duet *bench_duet_new(const char *uri, const struct bench_server *server,
                                  enum hf_mode mode);
/* From the call of hf_release() in one process to the return of hf_acquire() in the other. */
void bench_duet_subject(struct bench_duet *duet, size_t count, double *took);
/* From PUBLISH in one to the end of an acquire script that the other sends when it hears of it; and
 * to when it hears of it. */
void bench_duet_baseline(struct bench_duet *duet, size_t count, double *took, double *delivery);
void bench_duet_free(struct bench_duet *duet);

#endif
