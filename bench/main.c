/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast-bench [--quick] [--json FILE] [--folder FOLDER] [--list] [ROW...]
 *
 * Each row runs in a process of its own, so that none finds the memory, threads and connections of
 * another. Its results come through a pipe, a line of JSON each. A row that cannot be measured is
 * said to be so and makes the exit code 1; a number never does.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

struct row {
    const char *name;
    bench_row *run;
    const char *what;
};

static const struct row ROWS[] = {
    { "pair", bench_pair, "uncontended acquire and release, Redis, one thread" },
    { "kinds", bench_kinds, "one thread takes and gives back a lock of each kind, Redis" },
    { "parallel", bench_parallel, "64 threads on 64 locks, one client, Redis" },
    { "pass", bench_pass, "16 threads on one lock, one client, Redis" },
    { "handoff", bench_handoff, "two processes hand one lock to and fro, Redis" },
    { "crowd", bench_crowd, "100 waiting processes, one lock, Redis: commands a hand-off" },
    { "local", bench_local, "re-entry, and asking for a hold's state" },
    { "many", bench_many, "100,000 holds: processor time and memory" },
    { "wheel", bench_wheel, "timing wheel: add and remove among 1,000,000" },
    { "command", bench_command, "holdfast run against flock" },
    { "idle", bench_idle, "wake-ups of an idle client; memory of a waiting command" },
    { "sqlite", bench_sqlite, "embedded store: pair, hand-off, open" },
};

#define ROW_COUNT (sizeof ROWS / sizeof ROWS[0])

#define ROW_LIMIT_S 180 /* a row that takes longer hangs */

static int usage(void)
{
    fputs("usage: holdfast-bench [--quick] [--json FILE] [--folder FOLDER] [--list] [ROW...]\n",
          stderr);
    return 2;
}

static const struct row *find_row(const char *name)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (strcmp(ROWS[i].name, name) == 0)
            return &ROWS[i];
    return NULL;
}

/* The command that was built with us. */
static void find_command(struct bench *bench)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    if (len < 0)
        bench_die("/proc/self/exe: %s", strerror(errno));
    self[len] = '\0';
    if (snprintf(bench->command, sizeof bench->command, "%s/holdfast", dirname(self)) >=
        (int)sizeof bench->command)
        bench_die("the path of the build folder is too long: %s", self);
}

/* ------------------------------------------------------------------------------------------------
 * Running a row
 */

static void take_result(json_t *results, FILE *json, const char *line)
{
    json_t *result = json_loads(line, 0, NULL);

    if (!result)
        bench_die("a row wrote a line that is no JSON: %s", line);
    if (json)
        fputs(line, json);
    bench_print_line(result);
    json_array_append_new(results, result);
}

/* False: the row could not be measured. */
static bool run_row(struct bench *bench, const struct row *row, json_t *results, FILE *json)
{
    char *line = NULL;
    size_t room = 0;
    int ends[2];
    FILE *in;
    pid_t pid;

    if (pipe(ends) != 0)
        bench_die("pipe: %s", strerror(errno));
    pid = bench_fork();
    if (pid == 0) {
        close(ends[0]);
        bench->out = ends[1];
        alarm(ROW_LIMIT_S);
        row->run(bench);
        exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    in = fdopen(ends[0], "r");
    while (in && getline(&line, &room, in) >= 0)
        take_result(results, json, line);
    free(line);
    if (in)
        fclose(in);
    if (bench_wait(pid) == 0)
        return true;
    fprintf(stderr, "bench: %s: could not be measured\n", row->name);
    return false;
}

/* ------------------------------------------------------------------------------------------------
 * Options
 */

struct plan {
    bool quick;
    const char *json, *folder;
    const struct row *rows[ROW_COUNT];
    size_t count;
};

static void list_rows(void)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        printf("%-10s %s\n", ROWS[i].name, ROWS[i].what);
}

/* 0: go on; else the exit code plus one. */
static int parse(struct plan *plan, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const struct row *row = find_row(argv[i]);

        if (strcmp(argv[i], "--quick") == 0) {
            plan->quick = true;
        } else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            plan->json = argv[++i];
        } else if (strcmp(argv[i], "--folder") == 0 && i + 1 < argc) {
            plan->folder = argv[++i];
        } else if (strcmp(argv[i], "--list") == 0) {
            list_rows();
            return 1;
        } else if (row && plan->count < ROW_COUNT) {
            plan->rows[plan->count++] = row;
        } else {
            return 1 + usage();
        }
    }
    if (plan->count == 0)
        for (; plan->count < ROW_COUNT; plan->count++)
            plan->rows[plan->count] = &ROWS[plan->count];
    return 0;
}

int main(int argc, char **argv)
{
    struct bench bench = { 0 };
    struct plan plan = { .folder = "." };
    json_t *results = json_array();
    int failed = 0, code = parse(&plan, argc, argv);
    FILE *json = NULL;

    if (code)
        return code - 1;
    bench.quick = plan.quick;
    if (plan.json && !(json = fopen(plan.json, "we")))
        bench_die("%s: %s", plan.json, strerror(errno));
    unsetenv("HOLDFAST_STORE");
    find_command(&bench);
    bench.folder = plan.folder;
    for (size_t i = 0; i < plan.count; i++)
        failed += !run_row(&bench, plan.rows[i], results, json);
    bench_print_table(results);
    json_decref(results);
    if (json && fclose(json) != 0)
        bench_die("%s: %s", plan.json, strerror(errno));
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
