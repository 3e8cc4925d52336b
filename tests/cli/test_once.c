/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast once`: what was run not long ago, or runs now, is skipped. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/harness.h"

static struct h_process p, q;

/* How often a command ran that appends a line to the file "ran". */
static int times_run(void)
{
    FILE *file = fopen(h_path("ran"), "re");
    int lines = 0, c;

    if (!file)
        return 0;
    while ((c = fgetc(file)) != EOF)
        lines += c == '\n';
    fclose(file);
    return lines;
}

static const char *append(const char *then)
{
    static char script[700];

    snprintf(script, sizeof script, "echo run >> '%s'; %s", h_path("ran"), then);
    return script;
}

#define ONCE(...) H_RUN(&p, "holdfast", "once", __VA_ARGS__)

static void a_second_run_is_skipped_until_the_time_is_over(void **state)
{
    uint64_t began;

    (void)state;
    assert_int_equal(ONCE("--for", "4s", "job", "--", "sh", "-c", append("exit 7")), 7);
    began = h_now_ms(); /* it was stamped before */
    assert_string_equal(p.err_text, "");
    assert_int_equal(ONCE("--for", "4s", "job", "--", "sh", "-c", append("exit 7")), 0);
    assert_non_null(strstr(p.err_text, "holdfast: skipped: 'job' was run "));
    assert_non_null(strstr(p.err_text, "s ago, and is due in "));
    assert_ptr_equal(strchr(p.err_text, '\n'), p.err_text + p.err_length - 1);
    assert_int_equal(times_run(), 1);
    /* the lock itself is free meanwhile */
    assert_int_equal(H_RUN(&p, "holdfast", "run", "-n", "job", "true"), 0);
    while (h_now_ms() - began < 4100)
        h_sleep_ms(20);
    assert_int_equal(ONCE("--for", "4s", "job", "--", "sh", "-c", append("exit 7")), 7);
    assert_int_equal(times_run(), 2);
}

static void names_have_stamps_of_their_own(void **state)
{
    (void)state;
    assert_int_equal(ONCE("--for", "1h", "a", "--", "sh", "-c", append("")), 0);
    assert_int_equal(ONCE("--for", "1h", "b", "--", "sh", "-c", append("")), 0);
    assert_int_equal(ONCE("--for", "1h", "a", "--", "sh", "-c", append("")), 0);
    assert_int_equal(times_run(), 2);
}

static void the_shorter_time_counts(void **state)
{
    (void)state;
    assert_int_equal(ONCE("--for", "1h", "job", "--", "sh", "-c", append("")), 0);
    h_sleep_ms(50);
    assert_int_equal(ONCE("--for", "30ms", "job", "--", "sh", "-c", append("")), 0);
    assert_int_equal(times_run(), 2);
    h_sleep_ms(50);
    assert_int_equal(ONCE("--for", "1h", "job", "--", "sh", "-c", append("")), 0);
    assert_int_equal(times_run(), 3); /* the stamp of the second is gone */
}

static void skipping_is_told_as_it_is_asked_for(void **state)
{
    (void)state;
    assert_int_equal(ONCE("--for", "1h", "job", "--", "true"), 0);
    assert_int_equal(ONCE("--for", "1h", "-q", "job", "--", "echo", "ran"), 0);
    assert_string_equal(p.err_text, "");
    assert_string_equal(p.out_text, "");
    assert_int_equal(ONCE("--for=1h", "-E", "5", "job", "echo", "ran"), 5);
    assert_int_equal(ONCE("--for=1h", "--skip-code=75", "--quiet", "job", "echo", "ran"), 75);
    assert_string_equal(p.err_text, "");
}

static void what_runs_elsewhere_is_skipped(void **state)
{
    char expected[32];

    (void)state;
    H_START(&q, 0, "holdfast", "once", "--for", "10ms", "job", "--", HF_TEST_BIN "/cli_probe",
            "signals");
    h_expect(&q, "ready");
    h_sleep_ms(30); /* the time is over, and it runs still */
    assert_int_equal(ONCE("--for", "10ms", "-E", "9", "job", "--", "sh", "-c", append("")), 9);
    assert_non_null(strstr(p.err_text, "holdfast: skipped: 'job' is running, held by "));
    snprintf(expected, sizeof expected, "pid %d ", (int)q.pid);
    if (!h_is_redis()) /* on a server people see a holder a little later */
        assert_non_null(strstr(p.err_text, expected));
    assert_int_equal(times_run(), 0);
    kill(q.pid, SIGTERM);
    assert_int_equal(h_finish(&q), 40);
}

static void a_run_elsewhere_can_be_waited_for(void **state)
{
    (void)state;
    H_START(&q, 0, "holdfast", "once", "--for", "10ms", "job", "--", HF_TEST_BIN "/cli_probe",
            "signals");
    h_expect(&q, "ready");
    h_sleep_ms(30);
    assert_int_equal(ONCE("--for", "1h", "--wait", "200ms", "job", "--", "sh", "-c", append("")),
                     0);
    assert_non_null(strstr(p.err_text, "skipped: 'job' is running, held by "));
    H_START(&p, 0, "holdfast", "once", "-v", "--for", "1ms", "--wait", "1m", "job", "--", "sh",
            "-c", append(""));
    h_expect_err(&p, "waiting for 'job'");
    kill(q.pid, SIGTERM);
    assert_int_equal(h_finish(&q), 40);
    assert_int_equal(h_finish(&p), 0);
    assert_int_equal(times_run(), 1);
    /* and what it did meanwhile counts */
    H_START(&q, 0, "holdfast", "once", "--for", "1h", "other", "--", HF_TEST_BIN "/cli_probe",
            "signals");
    h_expect(&q, "ready");
    assert_int_equal(ONCE("--for", "1h", "--wait", "1m", "other", "--", "sh", "-c", append("")), 0);
    assert_non_null(strstr(p.err_text, "skipped: 'other' was run "));
    kill(q.pid, SIGTERM);
    assert_int_equal(h_finish(&q), 40);
    assert_int_equal(times_run(), 1);
}

static void one_of_many_runs(void **state)
{
    struct h_process *many = calloc(8, sizeof *many);

    (void)state;
    assert_non_null(many);
    for (int i = 0; i < 8; i++)
        H_START(&many[i], 0, "holdfast", "once", "-q", "--for", "1h", "job", "--", "sh", "-c",
                append(""));
    for (int i = 0; i < 8; i++)
        assert_int_equal(h_finish(&many[i]), 0);
    assert_int_equal(times_run(), 1);
    free(many);
}

static void a_failure_counts_unless_it_is_to_be_tried_again(void **state)
{
    (void)state;
    assert_int_equal(
        ONCE("--for", "1h", "--retry-failed", "job", "--", "sh", "-c", append("exit 3")), 3);
    assert_int_equal(
        ONCE("--for", "1h", "--retry-failed", "job", "--", "sh", "-c", append("kill -9 $$")), 137);
    assert_int_equal(ONCE("--for", "1h", "--retry-failed", "job", "--", "sh", "-c", append("")), 0);
    assert_string_equal(p.err_text, "");
    assert_int_equal(times_run(), 3);
    assert_int_equal(ONCE("--for", "1h", "-E9", "job", "--", "sh", "-c", append("")), 9);
    assert_int_equal(ONCE("--for", "1h", "other", "--", "sh", "-c", append("exit 3")), 3);
    assert_int_equal(ONCE("--for", "1h", "-E9", "other", "--", "sh", "-c", append("")), 9);
    assert_int_equal(times_run(), 4);
}

static void what_could_not_be_executed_was_not_run(void **state)
{
    (void)state;
    assert_int_equal(ONCE("--for", "1h", "job", "--", "no-such-command"), 127);
    assert_int_equal(ONCE("--for", "1h", "job", "--", "/etc/passwd"), 126);
    assert_int_equal(ONCE("--for", "1h", "job", "--", "sh", "-c", append("exit 127")), 127);
    assert_int_equal(ONCE("--for", "1h", "-E9", "job", "--", "sh", "-c", append("")), 9);
    assert_int_equal(times_run(), 1);
}

static void a_run_that_was_killed_or_lost_counts(void **state)
{
    (void)state;
    H_START(&q, 0, "holdfast", "once", "--for", "1h", "--retry-failed", "--ttl", "1s", "job", "--",
            HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&q, "ready");
    kill(q.pid, SIGKILL);
    assert_int_equal(h_finish(&q), 137);
    assert_int_equal(ONCE("--for", "1h", "-E9", "job", "--", "true"), 9);
    assert_non_null(strstr(p.err_text, "was run"));

    H_START(&q, 0, "holdfast", "once", "--for", "1h", "--retry-failed", "--ttl", "3s", "other",
            "--", HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&q, "ready");
    assert_int_equal(H_RUN(&p, "holdfast", "break", "other"), 0);
    assert_int_equal(h_finish(&q), 76);
    assert_non_null(strstr(q.err_text, "'other' counts as run all the same, as the lock was lost"));
    assert_int_equal(ONCE("--for", "1h", "-E9", "other", "--", "true"), 9);
}

static void max_hold_ends_it(void **state)
{
    (void)state;
    H_START(&q, 0, "holdfast", "once", "--for", "1h", "--max-hold", "3s", "job", "--",
            HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&q, "ready");
    assert_int_equal(h_finish(&q), 76);
    assert_non_null(strstr(q.err_text, "the lock 'job' may be held for 3s and no longer"));
    assert_int_equal(ONCE("--for", "1h", "-E9", "job", "--", "true"), 9);
}

static void the_command_knows_its_lock(void **state)
{
    (void)state;
    assert_int_equal(ONCE("--for", "1h", "--label", "why", "job", "--", "env"), 0);
    assert_non_null(strstr(p.out_text, "HOLDFAST_NAME=job\n"));
    assert_true(h_number(&p, "HOLDFAST_TOKEN=") > 0);
}

static void usage_errors_are_64(void **state)
{
    static const char *const cases[][9] = {
        { "holdfast", "once" },
        { "holdfast", "once", "job", "true" },
        { "holdfast", "once", "--for", "1h" },
        { "holdfast", "once", "--for", "1h", "job" },
        { "holdfast", "once", "--for", "0", "job", "true" },
        { "holdfast", "once", "--for", "8761h", "job", "true" },
        { "holdfast", "once", "--for", "1h", "-E", "256", "job", "true" },
        { "holdfast", "once", "--for", "1h", "--shared", "job", "true" },
        { "holdfast", "once", "--for", "1h", "job", "--and", "other", "true" },
        { "holdfast", "once", "--for", "1h", "", "true" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code = h_run(&p, cases[i]);

        if (code != 64 || strncmp(p.err_text, "holdfast: ", 10) != 0 ||
            strchr(p.err_text, '\n') != p.err_text + p.err_length - 1)
            fail_msg("case %zu: code %d: %s", i, code, p.err_text);
    }
    assert_int_equal(ONCE("--store", "redis://127.0.0.1:1", "--for", "1h", "job", "true"), 69);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, h_setup, h_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_second_run_is_skipped_until_the_time_is_over),
        TEST(names_have_stamps_of_their_own),
        TEST(the_shorter_time_counts),
        TEST(skipping_is_told_as_it_is_asked_for),
        TEST(what_runs_elsewhere_is_skipped),
        TEST(a_run_elsewhere_can_be_waited_for),
        TEST(one_of_many_runs),
        TEST(a_failure_counts_unless_it_is_to_be_tried_again),
        TEST(what_could_not_be_executed_was_not_run),
        TEST(a_run_that_was_killed_or_lost_counts),
        TEST(max_hold_ends_it),
        TEST(the_command_knows_its_lock),
        TEST(usage_errors_are_64),
    };
    int failed;

    if (!h_begin(argc > 1 ? argv[1] : "sqlite")) {
        puts("skipped: no server is installed");
        return 77;
    }
    failed = cmocka_run_group_tests_name("cli once", tests, NULL, NULL);
    h_end();
    return failed;
}
