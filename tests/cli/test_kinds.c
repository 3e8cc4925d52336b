/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `holdfast run` with other kinds of locks, and with several: --shared, --fair, --permits, --and. What it does for
 * a lock it does for each of them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/harness.h"

static struct h_process p, q, a, b, c;

#define PROBE    HF_TEST_BIN "/cli_probe"
#define RUN(...) H_RUN(&p, "holdfast", "run", __VA_ARGS__)

/* In a group of its own, which has us for a parent outside: an orphaned one could not be stopped by TSTP. */
static void hold(struct h_process *process, const char *const *options)
{
    const char *argv[24] = { "holdfast", "run" };
    int count = 2;

    while (*options)
        argv[count++] = *options++;
    argv[count++] = "--";
    argv[count++] = PROBE;
    argv[count] = "signals";
    h_start(process, H_OWN_GROUP, argv);
    h_expect(process, "ready");
}
#define HOLD(process, ...) hold(process, (const char *const[]){ __VA_ARGS__, NULL })

static void let_go(struct h_process *process)
{
    int code;

    kill(process->pid, SIGTERM);
    code = h_finish(process);
    if (code != 40)
        fail_msg("code %d: %s", code, process->err_text);
}

/* What `show` says of the name has the text: on a server people see what happened a little later. */
static bool is_shown(void *arg)
{
    const char *const *wanted = arg;

    H_RUN(&q, "holdfast", "show", wanted[0]);
    return strstr(q.out_text, wanted[1]) != NULL;
}

static void until_shown(const char *name, const struct h_process *process)
{
    char text[32];
    const char *wanted[2] = { name, text };

    snprintf(text, sizeof text, " pid %d ", (int)process->pid);
    h_until(is_shown, wanted, text);
}

/* So many wait for "x". */
static void until_waiting(int count)
{
    char text[32];
    const char *wanted[2] = { "x", text };

    snprintf(text, sizeof text, "waiters    %d\n", count);
    h_until(is_shown, wanted, text);
}

static void until_process_is_shown(const struct h_process *process)
{
    until_shown("x", process);
}

/* The options of each kind, each with a name of its own: all can be held at once. */
static const char *const kinds[][5] = {
    { "x" },
    { "--shared", "r" },
    { "--fair", "f" },
    { "--permits", "1/1", "p" },
    { "m", "--and", "n" },
    { "--shared", "v", "--and", "u" },
};
static const char *const name_of[] = { "x", "r", "f", "p", "m", "u" };
static const char *const second_of[] = { NULL, NULL, NULL, NULL, "n", "v" };

#define KINDS (sizeof kinds / sizeof kinds[0])

/* holdfast run OPTIONS KIND… */
static void hold_kind(struct h_process *process, size_t kind, const char *const *options)
{
    const char *all[16];
    int count = 0;

    while (*options)
        all[count++] = *options++;
    for (int i = 0; i < 5 && kinds[kind][i]; i++)
        all[count++] = kinds[kind][i];
    all[count] = NULL;
    hold(process, all);
}
#define HOLD_KIND(process, kind, ...)                                                              \
    hold_kind(process, kind, (const char *const[]){ __VA_ARGS__, NULL })

#define PERMITS 3 /* the index of --permits */

static void assert_is_free_within(size_t kind, const char *time)
{
    int code;

    if (kind == PERMITS)
        code = RUN("--wait", time, "--permits", "1/1", "p", "true");
    else if (second_of[kind])
        code = RUN("--wait", time, name_of[kind], "--and", second_of[kind], "true");
    else
        code = RUN("--wait", time, name_of[kind], "true");
    assert_int_equal(code, 0);
}

static void assert_is_free(size_t kind)
{
    assert_is_free_within(kind, "0");
}

/* ------------------------------------------------------------------------------------------------
 * Each kind
 */

static void readers_run_together_and_keep_writers_out(void **state)
{
    (void)state;
    HOLD(&a, "--shared", "x");
    HOLD(&b, "--shared", "x");
    until_process_is_shown(&a);
    until_process_is_shown(&b);
    assert_int_equal(RUN("-n", "x", "true"), 75);
    assert_non_null(strstr(p.err_text, "holdfast: 'x' has 2 readers, first "));
    H_START(&p, 0, "holdfast", "run", "-v", "x", "--", "echo", "wrote");
    h_expect_err(&p, "waiting for 'x'");
    h_expect_err(&p, ", 2 readers, first ");
    let_go(&a);
    h_sleep_ms(100);
    assert_false(h_has(&p, "wrote"));
    let_go(&b);
    assert_int_equal(h_finish(&p), 0);

    HOLD(&a, "x");
    until_process_is_shown(&a);
    assert_int_equal(RUN("-n", "--shared", "x", "true"), 75);
    assert_non_null(strstr(p.err_text, "'x' is held by "));
    H_START(&p, 0, "holdfast", "run", "-v", "--shared", "x", "--", "echo", "read");
    h_expect_err(&p, "waiting for 'x'");
    let_go(&a);
    assert_int_equal(h_finish(&p), 0);
}

static void fair_is_first_come_first_served(void **state)
{
    char script[600];
    FILE *file;
    char order[16] = "";

    (void)state;
    snprintf(script, sizeof script, "printf %%s \"$1\" >> '%s'", h_path("order"));
    for (int round = 0; round < 3; round++) {
        HOLD(&a, "--fair", "x");
        H_START(&b, 0, "holdfast", "run", "--fair", "x", "--", "sh", "-c", script, "sh", "1");
        until_waiting(1);
        H_START(&c, 0, "holdfast", "run", "--fair", "x", "--", "sh", "-c", script, "sh", "2");
        until_waiting(2);
        H_START(&p, 0, "holdfast", "run", "--fair", "x", "--", "sh", "-c", script, "sh", "3");
        until_waiting(3);
        let_go(&a);
        assert_int_equal(h_finish(&b), 0);
        assert_int_equal(h_finish(&c), 0);
        assert_int_equal(h_finish(&p), 0);
    }
    file = fopen(h_path("order"), "re");
    assert_non_null(file);
    assert_non_null(fgets(order, sizeof order, file));
    fclose(file);
    assert_string_equal(order, "123123123");
}

static void as_many_run_as_find_permits(void **state)
{
    (void)state;
    HOLD(&a, "--permits", "2/4", "x");
    HOLD(&b, "--permits=1/4", "x");
    until_process_is_shown(&a);
    until_process_is_shown(&b);
    assert_int_equal(RUN("-n", "--permits", "2/4", "x", "true"), 75);
    assert_non_null(strstr(p.err_text, "holdfast: 'x' has 1 permit available, 2 holders, first "));
    assert_int_equal(RUN("-n", "--permits", "1/4", "x", "true"), 0);
    H_START(&c, 0, "holdfast", "run", "-v", "--permits", "3/4", "x", "--", "true");
    h_expect_err(&c, "waiting for 'x'");
    h_expect_err(&c, ", 1 permit available, 2 holders, first ");
    let_go(&b);
    h_sleep_ms(100);
    assert_int_equal(H_RUN(&p, "holdfast", "permits", "show", "x"), 0);
    assert_string_equal(p.out_text, "available  2\ntotal      4\ntaken      2\n");
    let_go(&a);
    assert_int_equal(h_finish(&c), 0);
    assert_int_equal(H_RUN(&p, "holdfast", "permits", "show", "x"), 0);
    assert_string_equal(p.out_text, "available  4\ntotal      4\ntaken      0\n");
}

static void another_number_of_permits_is_refused(void **state)
{
    (void)state;
    HOLD(&a, "--permits", "1/4", "x");
    assert_int_equal(RUN("--permits", "1/5", "x", "echo", "ran"), 64);
    assert_string_equal(p.err_text,
                        "holdfast: 'x' has 4 permits in all, not 5: say --permits 1/4, or change "
                        "that by 'holdfast permits resize x 5'\n");
    assert_string_equal(p.out_text, "");
    assert_int_equal(H_RUN(&p, "holdfast", "permits", "resize", "x", "5"), 0);
    assert_int_equal(RUN("-n", "--permits", "4/5", "x", "true"), 0);
    let_go(&a);
}

static void permits_of_the_dead_come_back_by_the_ttl(void **state)
{
    uint64_t began;

    (void)state;
    HOLD(&a, "--ttl", "1s", "--permits", "2/2", "x");
    began = h_now_ms();
    kill(a.pid, SIGKILL);
    assert_int_equal(h_finish(&a), 137);
    assert_int_equal(RUN("--wait", "10s", "--permits", "2/2", "x", "true"), 0);
    assert_true(h_now_ms() - began < 5000);
}

static void what_several_hold_has_no_token(void **state)
{
    (void)state;
    setenv("HOLDFAST_TOKEN", "1", 1); /* of somebody else */
    setenv("HOLDFAST_TOKENS", "1", 1);
    assert_int_equal(RUN("--shared", "x", "env"), 0);
    assert_null(strstr(p.out_text, "HOLDFAST_TOKEN"));
    assert_int_equal(RUN("--permits", "1/1", "p", "env"), 0);
    assert_null(strstr(p.out_text, "HOLDFAST_TOKEN"));
    assert_int_equal(RUN("--fair", "x", "env"), 0);
    assert_true(h_number(&p, "HOLDFAST_TOKEN=") > 1);
    unsetenv("HOLDFAST_TOKEN");
    unsetenv("HOLDFAST_TOKENS");
}

/* ------------------------------------------------------------------------------------------------
 * Several locks
 */

static void all_are_held_or_none(void **state)
{
    (void)state;
    HOLD(&a, "x");
    assert_int_equal(RUN("-n", "a", "--and", "x", "--and=z", "--", "echo", "ran"), 75);
    assert_non_null(strstr(p.err_text, "holdfast: 'x' is held by "));
    assert_string_equal(p.out_text, "");
    assert_int_equal(RUN("-n", "a", "--and", "z", "true"), 0);
    assert_int_equal(RUN("--wait", "300ms", "a", "--and", "x", "true"), 75);
    assert_non_null(strstr(p.err_text, "gave up after 300ms: 'x' is held by "));
    assert_int_equal(RUN("-n", "a", "true"), 0);
    /* while it waits for one it holds those before it */
    H_START(&p, 0, "holdfast", "run", "-v", "--and", "z", "a", "--and", "x", "--", "echo", "ran");
    h_expect_err(&p, "waiting for 'x'");
    assert_int_equal(H_RUN(&q, "holdfast", "run", "-n", "a", "true"), 75);
    assert_int_equal(H_RUN(&q, "holdfast", "run", "-n", "z", "true"), 0);
    let_go(&a);
    assert_int_equal(h_finish(&p), 0);
    assert_string_equal(p.out_text, "ran\n");
    assert_non_null(strstr(p.err_text, "holding the locks 'a' and 2 others, after "));
    assert_int_equal(RUN("-n", "a", "--and", "x", "--and", "z", "true"), 0);
}

static void a_signal_ends_the_waiting_for_several(void **state)
{
    (void)state;
    HOLD(&a, "x");
    H_START(&p, 0, "holdfast", "run", "-v", "a", "--and", "x", "--", "echo", "ran");
    h_expect_err(&p, "waiting for 'x'");
    kill(p.pid, SIGTERM);
    assert_int_equal(h_finish(&p), 143);
    assert_int_equal(RUN("-n", "a", "true"), 0);
    let_go(&a);
}

static void the_command_knows_all_its_locks(void **state)
{
    long token;

    (void)state;
    assert_int_equal(RUN("--and", "z", "b", "--and", "a", "--", "sh", "-c",
                         "echo \"$HOLDFAST_NAME:$HOLDFAST_TOKEN:$HOLDFAST_OWNER:\"; echo "
                         "\"$HOLDFAST_NAMES\"; echo \"$HOLDFAST_TOKENS\" | wc -l; echo "
                         "\"$HOLDFAST_TOKENS\" | head -n 1; echo \"$HOLDFAST_OWNERS\" | head -n 1"),
                     0);
    token = h_number(&p, "b:");
    assert_true(token > 0);
    assert_non_null(strstr(p.out_text, "\nb\nz\na\n3\n")); /* as they were given: z came first */
    assert_int_equal(h_number(&p, "\n3\n"), token);
    assert_int_equal(RUN("x", "env"), 0);
    assert_non_null(strstr(p.out_text, "HOLDFAST_NAMES=x\n"));
    assert_int_equal(h_number(&p, "HOLDFAST_TOKENS="), h_number(&p, "HOLDFAST_TOKEN="));
}

/* Each adds one to a number under its locks, three of four in another order: none is lost, and nobody waits for ever. */
static void those_who_want_the_same_locks_never_wait_in_a_circle(void **state)
{
    static const char *const orders[4][3] = {
        { "a", "b", "c" }, { "c", "b", "a" }, { "b", "c", "d" }, { "d", "a", "b" }
    };
    struct h_process *many = calloc(4, sizeof *many);
    char script[2048];
    FILE *file;
    int count = 0;

    (void)state;
    assert_non_null(many);
    for (int i = 0; i < 4; i++) {
        snprintf(script, sizeof script,
                 "for i in 1 2 3 4 5 6 7 8 9 10; do \"$0\" run %s --and %s --and %s -- sh -c "
                 "'read -r n < \"$1\" || n=0; echo $((n + 1)) > \"$1\"' sh '%s' || exit; done",
                 orders[i][0], orders[i][1], orders[i][2], h_path("count"));
        if (i == 0) {
            file = fopen(h_path("count"), "we");
            fputs("0\n", file);
            fclose(file);
        }
        H_START(&many[i], 0, "sh", "-c", script, HF_TEST_COMMAND);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(h_finish(&many[i]), 0);
    file = fopen(h_path("count"), "re");
    assert_int_equal(fscanf(file, "%d", &count), 1);
    fclose(file);
    assert_int_equal(count, 40); /* "b" is in each */
    free(many);
}

static void all_are_lost_when_one_is(void **state)
{
    static const char *const taken[] = { "x", "y", "z" };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char expected[128];

        HOLD(&a, "--ttl", "10s", "x", "--and", "y", "--and", "z");
        assert_int_equal(H_RUN(&p, "holdfast", "break", taken[i]), 0);
        h_expect(&a, "signal 15\n");
        assert_int_equal(h_finish(&a), 76);
        snprintf(expected, sizeof expected,
                 "holdfast: the lock '%s' was lost, it was taken away; ending the command\n",
                 taken[i]);
        assert_string_equal(a.err_text, expected);
        assert_int_equal(RUN("-n", "x", "--and", "y", "--and", "z", "true"), 0);
    }
}

/* One that was taken first is taken away while the next is waited for: all over again, not half a hold. */
static void one_lost_while_waiting_is_taken_again(void **state)
{
    (void)state;
    HOLD(&a, "x");
    H_START(&b, 0, "holdfast", "run", "-v", "--ttl", "10s", "a", "--and", "x", "--", PROBE,
            "signals");
    h_expect_err(&b, "waiting for 'x'");
    assert_int_equal(H_RUN(&p, "holdfast", "break", "a"), 0);
    HOLD(&c, "a");
    let_go(&a);
    h_sleep_ms(300);
    assert_false(h_has(&b, "ready"));
    let_go(&c);
    h_expect(&b, "ready");
    assert_int_equal(RUN("-n", "a", "true"), 75);
    assert_int_equal(RUN("-n", "x", "true"), 75);
    let_go(&b);
}

static void max_hold_counts_from_when_all_are_held(void **state)
{
    uint64_t began;

    (void)state;
    HOLD(&a, "x");
    H_START(&b, 0, "holdfast", "run", "-v", "--max-hold", "2s", "a", "--and", "x", "--", PROBE,
            "signals", "deaf");
    h_expect_err(&b, "waiting for 'x'");
    h_sleep_ms(2500); /* longer than that */
    let_go(&a);
    began = h_now_ms();
    h_expect(&b, "ready");
    assert_int_equal(h_finish(&b), 76);
    assert_in_range(h_now_ms() - began, 1800, 8000);
    assert_non_null(strstr(b.err_text, "the locks 'a' and 'x' may be held for 2s and no longer"));
    assert_int_equal(RUN("-n", "a", "--and", "x", "true"), 0);
}

/* ------------------------------------------------------------------------------------------------
 * What holds for all kinds
 */

static void each_kind_is_renewed(void **state)
{
    static const char *const options[][7] = {
        { "--ttl", "3s", "--shared", "r" },   { "--ttl", "3s", "--shared", "r", "--and", "s" },
        { "--ttl", "3s", "--fair", "f" },     { "--ttl", "3s", "--permits", "2/4", "p" },
        { "--ttl", "3s", "m", "--and", "n" },
    };
    struct h_process *many = calloc(5, sizeof *many);

    (void)state;
    assert_non_null(many);
    for (int i = 0; i < 5; i++)
        hold(&many[i], options[i]);
    h_sleep_ms(7000);
    for (int i = 0; i < 5; i++)
        assert_false(h_has(&many[i], "signal"));
    for (int i = 0; i < 5; i++) {
        let_go(&many[i]);
        assert_string_equal(many[i].err_text, "");
    }
    free(many);
}

/* The guard ends the group of a holdfast that was killed, and the lock is free, at once or by its ttl. */
static void each_kind_is_guarded(void **state)
{
    struct h_process *holder = calloc(KINDS, sizeof *holder);

    (void)state;
    assert_non_null(holder);
    for (size_t kind = 0; kind < KINDS; kind++)
        HOLD_KIND(&holder[kind], kind, "--ttl", "1s");
    for (size_t kind = 0; kind < KINDS; kind++) {
        pid_t command = (pid_t)h_number(&holder[kind], "pid ");

        kill(holder[kind].pid, SIGKILL);
        assert_int_equal(h_finish(&holder[kind]), 137);
        h_wait_state(command, 'Z');
    }
    for (size_t kind = 0; kind < KINDS; kind++)
        assert_is_free_within(kind, "10s");
    free(holder);
}

/* Broken, by the owner that is shown: the command is ended, and what is left of a set given back. */
static void each_kind_is_told_of_its_loss(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        char owner[300] = "", expected[64];
        const char *at;

        HOLD_KIND(&a, kind, "--ttl", "10s");
        until_shown(name_of[kind], &a);
        assert_int_equal(H_RUN(&p, "holdfast", "show", name_of[kind]), 0);
        at = strstr(p.out_text, "owner      ");
        assert_non_null(at);
        assert_int_equal(sscanf(at, "owner %299s", owner), 1);
        assert_int_equal(H_RUN(&p, "holdfast", "break", "--owner", owner, name_of[kind]), 0);
        snprintf(expected, sizeof expected, " pid %d ", (int)a.pid);
        assert_non_null(strstr(p.out_text, expected));
        h_expect(&a, "signal 15\n");
        assert_int_equal(h_finish(&a), 76);
        snprintf(expected, sizeof expected, "the lock '%s' was lost, it was taken away",
                 name_of[kind]);
        assert_non_null(strstr(a.err_text, expected));
        assert_is_free(kind);
    }
}

/* Stopped, and taken away meanwhile: it is not resumed; and resumed when it is still ours. */
static void each_kind_is_verified_before_a_job_goes_on(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        pid_t command;

        HOLD_KIND(&a, kind, "--ttl", "20s");
        command = (pid_t)h_number(&a, "pid ");
        kill(a.pid, SIGTSTP);
        h_wait_state(command, 'T');
        h_wait_state(a.pid, 'T');
        kill(a.pid, SIGCONT);
        h_expect(&a, "signal 18\n");
        kill(a.pid, SIGTSTP);
        h_wait_state(command, 'T');
        h_wait_state(a.pid, 'T');
        assert_int_equal(H_RUN(&p, "holdfast", "break", name_of[kind]), 0);
        kill(a.pid, SIGCONT);
        h_expect(&a, "signal 15\n");
        assert_int_equal(h_finish(&a), 76);
        assert_is_free(kind);
    }
}

static void each_kind_is_ended_when_the_server_is_silent(void **state)
{
    struct h_process *holder;

    (void)state;
    if (!h_is_redis())
        skip();
    holder = calloc(KINDS, sizeof *holder);
    assert_non_null(holder);
    for (size_t kind = 0; kind < KINDS; kind++)
        HOLD_KIND(&holder[kind], kind, "--ttl", "2s");
    h_server_stop(true);
    for (size_t kind = 0; kind < KINDS; kind++) {
        h_expect(&holder[kind], "signal 15\n");
        assert_int_equal(h_finish(&holder[kind]), 76);
        assert_non_null(
            strstr(holder[kind].err_text, "could not be renewed and would soon be lost; ending"));
    }
    h_server_stop(false);
    for (size_t kind = 0; kind < KINDS; kind++)
        assert_is_free_within(kind, "10s");
    free(holder);
}

static void one_reader_of_several_is_broken(void **state)
{
    char owner[300] = "", line[64];
    const char *at;

    (void)state;
    HOLD(&a, "--ttl", "10s", "--shared", "x");
    HOLD(&b, "--ttl", "10s", "--shared", "x");
    until_process_is_shown(&a);
    until_process_is_shown(&b);
    assert_int_equal(H_RUN(&p, "holdfast", "break", "x"), 64); /* which? */
    assert_string_equal(p.err_text, "holdfast: 'x' has 2 holders: say which by --owner, as "
                                    "'holdfast show x' prints them\n");
    assert_int_equal(H_RUN(&p, "holdfast", "break", "--owner", "somebody", "x"), 75);
    assert_non_null(strstr(p.err_text, "owner somebody does not hold 'x', which has 2 readers"));
    assert_int_equal(H_RUN(&p, "holdfast", "show", "x"), 0);
    snprintf(line, sizeof line, " pid %d ", (int)b.pid);
    at = strstr(p.out_text, line);
    assert_non_null(at);
    assert_int_equal(sscanf(at, " pid %*d %*s %*s %*s %299s", owner),
                     1); /* program age remaining */
    assert_int_equal(H_RUN(&p, "holdfast", "break", "--owner", owner, "x"), 0);
    assert_int_equal(h_finish(&b), 76);
    assert_false(h_has(&a, "signal"));
    assert_int_equal(RUN("-n", "x", "true"), 75);
    let_go(&a);
}

static void deleted_permits_are_lost(void **state)
{
    (void)state;
    HOLD(&a, "--ttl", "900ms", "--permits", "1/2", "x");
    assert_int_equal(H_RUN(&p, "holdfast", "permits", "delete", "x"), 0);
    assert_int_equal(h_finish(&a), 76);
}

static void usage_errors_are_64(void **state)
{
    static const char *const cases[][9] = {
        { "holdfast", "run", "--shared", "--fair", "x", "true" },
        { "holdfast", "run", "--permits", "1/2", "--shared", "x", "true" },
        { "holdfast", "run", "--permits", "1", "x", "true" },
        { "holdfast", "run", "--permits", "0/4", "x", "true" },
        { "holdfast", "run", "--permits", "5/4", "x", "true" },
        { "holdfast", "run", "--permits", "1001/2000", "x", "true" },
        { "holdfast", "run", "--permits", "1/1000000001", "x", "true" },
        { "holdfast", "run", "--permits", "1/4x", "x", "true" },
        { "holdfast", "run", "--permits", "/4", "x", "true" },
        { "holdfast", "run", "x", "--and" },
        { "holdfast", "run", "x", "--and", "y" },
        { "holdfast", "run", "x", "--and", "x", "true" },
        { "holdfast", "run", "--and", "x", "x", "true" },
        { "holdfast", "run", "x", "--and", "y", "--and", "y", "true" },
        { "holdfast", "run", "x", "--and", "", "true" },
        { "holdfast", "run", "x", "--and", "y", "--shared", "true" },
    };
    const char *argv[6 + 2 * 64] = { "holdfast", "run", "n0" };
    char names[64][16];
    int count = 3;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code = h_run(&p, cases[i]);

        if (code != 64 || strncmp(p.err_text, "holdfast: ", 10) != 0 ||
            strchr(p.err_text, '\n') != p.err_text + p.err_length - 1)
            fail_msg("case %zu: code %d: %s", i, code, p.err_text);
    }
    for (int i = 1; i <= 64; i++) {
        snprintf(names[i - 1], sizeof names[0], "n%d", i);
        argv[count++] = "--and";
        argv[count++] = names[i - 1];
    }
    argv[count] = "true";
    assert_int_equal(h_run(&p, argv), 64);
    assert_string_equal(p.err_text, "holdfast: run: more than 64 names\n");
    argv[count - 2] = "true";
    argv[count - 1] = NULL;
    assert_int_equal(h_run(&p, argv), 0);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, h_setup, h_teardown)
    const struct CMUnitTest tests[] = {
        TEST(readers_run_together_and_keep_writers_out),
        TEST(fair_is_first_come_first_served),
        TEST(as_many_run_as_find_permits),
        TEST(another_number_of_permits_is_refused),
        TEST(permits_of_the_dead_come_back_by_the_ttl),
        TEST(what_several_hold_has_no_token),
        TEST(all_are_held_or_none),
        TEST(a_signal_ends_the_waiting_for_several),
        TEST(the_command_knows_all_its_locks),
        TEST(those_who_want_the_same_locks_never_wait_in_a_circle),
        TEST(all_are_lost_when_one_is),
        TEST(one_lost_while_waiting_is_taken_again),
        TEST(max_hold_counts_from_when_all_are_held),
        TEST(each_kind_is_renewed),
        TEST(each_kind_is_guarded),
        TEST(each_kind_is_told_of_its_loss),
        TEST(each_kind_is_verified_before_a_job_goes_on),
        TEST(each_kind_is_ended_when_the_server_is_silent),
        TEST(one_reader_of_several_is_broken),
        TEST(deleted_permits_are_lost),
        TEST(usage_errors_are_64),
    };
    int failed;

    if (!h_begin(argc > 1 ? argv[1] : "sqlite")) {
        puts("skipped: no server is installed");
        return 77;
    }
    failed = cmocka_run_group_tests_name("cli kinds", tests, NULL, NULL);
    h_end();
    return failed;
}
