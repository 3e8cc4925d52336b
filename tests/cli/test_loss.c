/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the command when its hold is lost, is at risk, or has been had for long enough. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/harness.h"

static struct h_process p, q;

static void break_x(void)
{
    assert_int_equal(H_RUN(&q, "holdfast", "break", "x"), 0);
}

static void a_broken_lock_ends_the_group_with_76(void **state)
{
    pid_t grandchild;

    (void)state;
    H_START(&p, 0, "holdfast", "run", "--ttl", "3s", "x", "--", HF_TEST_BIN "/cli_probe", "family");
    h_expect(&p, "complete");
    grandchild = (pid_t)h_number(&p, "grandchild ");
    break_x();
    assert_int_equal(h_finish(&p), 76);
    assert_non_null(strstr(
        p.err_text, "holdfast: the lock 'x' was lost, it was taken away; ending the command\n"));
    h_wait_state(grandchild, 'Z');
}

/* TERM comes first, and what ends by it in time is not killed; its own code is not ours. */
static void a_command_that_hears_term_may_end_by_itself(void **state)
{
    (void)state;
    H_START(&p, 0, "holdfast", "run", "--ttl", "10s", "x", "--", HF_TEST_BIN "/cli_probe",
            "signals");
    h_expect(&p, "ready");
    break_x();
    h_expect(&p, "signal 15\n");
    assert_int_equal(h_finish(&p), 76);
}

/* Its leader ends by TERM, another ignores it: KILL comes after kill-after, and we exit only then. */
static void who_ignores_term_is_killed_after_kill_after(void **state)
{
    uint64_t began;
    pid_t deaf;

    (void)state;
    H_START(&p, 0, "holdfast", "run", "--ttl", "10s", "--kill-after", "700ms", "x", "--", "sh",
            "-c", "\"$0\" signals deaf & wait", HF_TEST_BIN "/cli_probe");
    h_expect(&p, "ready");
    deaf = (pid_t)h_number(&p, "pid ");
    break_x();
    h_expect(&p, "signal 15\n");
    began = h_now_ms();
    assert_int_equal(h_finish(&p), 76);
    assert_true(h_now_ms() - began >= 500);
    assert_true(h_state(deaf) == '\0' || h_state(deaf) == 'Z');
}

static void on_lost_kill_kills_at_once(void **state)
{
    (void)state;
    H_START(&p, 0, "holdfast", "run", "--ttl", "10s", "--on-lost", "kill", "x", "--",
            HF_TEST_BIN "/cli_probe", "signals", "deaf");
    h_expect(&p, "ready");
    break_x();
    assert_int_equal(h_finish(&p), 76);
    assert_false(h_has(&p, "signal 15"));
    assert_non_null(strstr(p.err_text, "killing the command"));
}

static void on_lost_ignore_lets_it_run_and_says_so(void **state)
{
    (void)state;
    H_START(&p, 0, "holdfast", "run", "--ttl", "3s", "--on-lost", "ignore", "x", "--",
            HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&p, "ready");
    break_x();
    h_expect_err(
        &p, "was lost, it was taken away; the command runs on without it (--on-lost ignore)\n");
    assert_false(h_has(&p, "signal"));
    kill((pid_t)h_number(&p, "pid "), SIGTERM);
    assert_int_equal(h_finish(&p), 76);
    assert_null(strstr(p.err_text + p.err_seen, "holdfast:")); /* once */
}

static void max_hold_ends_the_command_with_76(void **state)
{
    uint64_t began, took;

    (void)state;
    began = h_now_ms();
    H_START(&p, 0, "holdfast", "run", "--ttl", "2s", "--max-hold", "1500ms", "x", "--",
            HF_TEST_BIN "/cli_probe", "signals", "deaf");
    h_expect(&p, "ready");
    h_expect(&p, "signal 15\n"); /* at two thirds */
    took = h_now_ms() - began;
    assert_true(took >= 900);
    assert_int_equal(h_finish(&p), 76);
    took = h_now_ms() - began;
    assert_true(took >= 1400 && took < 10000);
    assert_non_null(strstr(p.err_text, "the lock 'x' may be held for 1.5s and no longer "
                                       "(--max-hold); ending the command\n"));
    assert_int_equal(H_RUN(&q, "holdfast", "run", "-n", "x", "true"), 0);
}

static void renewals_keep_the_hold_for_many_ttls(void **state)
{
    (void)state;
    assert_int_equal(H_RUN(&p, "holdfast", "run", "--ttl", "2s", "x", "--", "sleep", "7"), 0);
    assert_string_equal(p.err_text, "");
}

/* The server answers no more: TERM a third of the ttl before the deadline, and KILL at the deadline. */
static void a_server_that_is_silent_ends_the_command_in_time(void **state)
{
    uint64_t silent;
    long long last = 0;
    FILE *file;

    (void)state;
    if (!h_is_redis())
        skip();
    H_START(&p, 0, "holdfast", "run", "--ttl", "3s", "x", "--", HF_TEST_BIN "/cli_probe",
            "signals");
    h_expect(&p, "ready");
    h_server_stop(true);
    h_expect(&p, "signal 15\n");
    assert_int_equal(h_finish(&p), 76);
    assert_non_null(
        strstr(p.err_text, "the lock 'x' could not be renewed and would soon be lost; ending"));
    h_server_stop(false);

    H_START(&p, 0, "holdfast", "run", "--ttl", "2s", "y", "--", "sh", "-c",
            "trap '' TERM; exec \"$0\" tick \"$1\"", HF_TEST_BIN "/cli_probe", h_path("ticks"));
    h_expect(&p, "ticking");
    h_server_stop(true);
    silent = h_now_ms();
    assert_int_equal(h_finish(&p), 76);
    file = fopen(h_path("ticks"), "re");
    assert_int_equal(fscanf(file, "%lld", &last), 1);
    fclose(file);
    assert_true(last <= (long long)silent + 2000); /* no later than the lease in the server */
    h_server_stop(false);
}

static void a_server_that_is_back_in_time_does_no_harm(void **state)
{
    (void)state;
    if (!h_is_redis())
        skip();
    H_START(&p, 0, "holdfast", "run", "--ttl", "10s", "x", "--", HF_TEST_BIN "/cli_probe",
            "signals");
    h_expect(&p, "ready");
    h_server_stop(true);
    h_sleep_ms(1500);
    h_server_stop(false);
    h_sleep_ms(500);
    assert_false(h_has(&p, "signal"));
    kill(p.pid, SIGTERM);
    assert_int_equal(h_finish(&p), 40);
}

static void waiting_outlives_a_silent_server(void **state)
{
    uint64_t began;

    (void)state;
    if (!h_is_redis())
        skip();
    H_START(&q, 0, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&q, "ready");
    H_START(&p, 0, "holdfast", "run", "-v", "x", "--", "echo", "ran");
    h_expect_err(&p, "waiting for 'x'");
    h_server_stop(true);
    h_sleep_ms(3000);
    h_server_stop(false);
    kill(q.pid, SIGTERM);
    assert_int_equal(h_finish(&q), 40);
    assert_int_equal(h_finish(&p), 0);
    assert_string_equal(p.out_text, "ran\n");
    /* but not for longer than we may wait */
    H_START(&q, 0, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&q, "ready");
    H_START(&p, 0, "holdfast", "run", "-v", "--wait", "2s", "x", "--", "echo", "ran");
    h_expect_err(&p, "waiting for 'x'");
    began = h_now_ms();
    h_server_stop(true);
    assert_int_equal(h_finish(&p), 69); /* whatever was known before: the store is not there now */
    assert_in_range(h_now_ms() - began, 1500, 2000 + 3000 + 500);
    h_server_stop(false);
    kill(q.pid, SIGTERM);
    assert_int_equal(h_finish(&q), 40);
}

/* A job that was stopped, by TSTP to holdfast, for longer than the ttl: ended, not resumed. */
static void a_job_stopped_for_longer_than_the_ttl_is_not_resumed(void **state)
{
    pid_t command;

    (void)state;
    H_START(&p, H_OWN_GROUP, "holdfast", "run", "--ttl", "1s", "x", "--", HF_TEST_BIN "/cli_probe",
            "signals", "deaf");
    h_expect(&p, "ready");
    command = (pid_t)h_number(&p, "pid ");
    kill(p.pid, SIGTSTP);
    h_wait_state(command, 'T');
    h_wait_state(p.pid, 'T');
    h_wait_state(command, 'Z'); /* at its deadline, by the guard */
    kill(p.pid, SIGCONT);
    assert_int_equal(h_finish(&p), 76);
    assert_false(h_has(&p, "signal"));
}

static void a_job_stopped_for_a_while_goes_on(void **state)
{
    pid_t command;

    (void)state;
    H_START(&p, H_OWN_GROUP, "holdfast", "run", "--ttl", "20s", "x", "--", HF_TEST_BIN "/cli_probe",
            "signals");
    h_expect(&p, "ready");
    command = (pid_t)h_number(&p, "pid ");
    for (int i = 0; i < 3; i++) {
        kill(p.pid, SIGTSTP);
        h_wait_state(command, 'T');
        h_wait_state(p.pid, 'T');
        kill(p.pid, SIGCONT);
        h_expect(&p, "signal 18\n");
    }
    kill(p.pid, SIGTERM);
    assert_int_equal(h_finish(&p), 40);
    assert_string_equal(p.err_text, "");
}

/* While it was stopped somebody took its lock: TERM, CONT so that it can act on it, and 76. */
static void a_stopped_job_that_lost_its_lock_is_ended(void **state)
{
    pid_t command;

    (void)state;
    H_START(&p, H_OWN_GROUP, "holdfast", "run", "--ttl", "20s", "x", "--", HF_TEST_BIN "/cli_probe",
            "signals");
    h_expect(&p, "ready");
    command = (pid_t)h_number(&p, "pid ");
    kill(p.pid, SIGTSTP);
    h_wait_state(command, 'T');
    h_wait_state(p.pid, 'T');
    break_x();
    kill(p.pid, SIGCONT);
    h_expect(&p, "signal 15\n");
    assert_int_equal(h_finish(&p), 76);
}

static void a_waiter_that_was_stopped_goes_on_waiting(void **state)
{
    (void)state;
    H_START(&q, 0, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&q, "ready");
    H_START(&p, H_OWN_GROUP, "holdfast", "run", "-v", "x", "--", "echo", "ran");
    h_expect_err(&p, "waiting for 'x'");
    kill(p.pid, SIGTSTP);
    h_wait_state(p.pid, 'T');
    kill(p.pid, SIGCONT);
    h_wait_state(p.pid, 'S');
    kill(q.pid, SIGTERM);
    h_finish(&q);
    assert_int_equal(h_finish(&p), 0);
    assert_string_equal(p.out_text, "ran\n");
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, h_setup, h_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_broken_lock_ends_the_group_with_76),
        TEST(a_command_that_hears_term_may_end_by_itself),
        TEST(who_ignores_term_is_killed_after_kill_after),
        TEST(on_lost_kill_kills_at_once),
        TEST(on_lost_ignore_lets_it_run_and_says_so),
        TEST(max_hold_ends_the_command_with_76),
        TEST(renewals_keep_the_hold_for_many_ttls),
        TEST(a_server_that_is_silent_ends_the_command_in_time),
        TEST(a_server_that_is_back_in_time_does_no_harm),
        TEST(waiting_outlives_a_silent_server),
        TEST(a_job_stopped_for_longer_than_the_ttl_is_not_resumed),
        TEST(a_job_stopped_for_a_while_goes_on),
        TEST(a_stopped_job_that_lost_its_lock_is_ended),
        TEST(a_waiter_that_was_stopped_goes_on_waiting),
    };
    int failed;

    if (!h_begin(argc > 1 ? argv[1] : "sqlite")) {
        puts("skipped: no server is installed");
        return 77;
    }
    failed = cmocka_run_group_tests_name("cli loss", tests, NULL, NULL);
    h_end();
    return failed;
}
