/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast latch`, `sem` and `permits`. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/harness.h"

static struct h_process p, q, r;

#define LATCH(...)   H_RUN(&p, "holdfast", "latch", __VA_ARGS__)
#define SEM(...)     H_RUN(&p, "holdfast", "sem", __VA_ARGS__)
#define PERMITS(...) H_RUN(&p, "holdfast", "permits", __VA_ARGS__)

static void check_json(const char *member, int64_t number)
{
    json_error_t error;
    json_t *json = json_loads(p.out_text, 0, &error);

    if (!json)
        fail_msg("not JSON: %s: %s", error.text, p.out_text);
    assert_string_equal(json_string_value(json_object_get(json, "store")), h_store());
    assert_string_equal(json_string_value(json_object_get(json, "name")), "x");
    assert_int_equal(json_integer_value(json_object_get(json, member)), number);
    json_decref(json);
}

/* ------------------------------------------------------------------------------------------------
 * Latches
 */

static void a_latch_counts_down_and_lets_go(void **state)
{
    (void)state;
    assert_int_equal(LATCH("wait", "-n", "x"), 0); /* a name without count is at zero */
    assert_int_equal(LATCH("set", "x", "3"), 0);
    assert_string_equal(p.out_text, "");
    assert_int_equal(LATCH("show", "x"), 0);
    assert_string_equal(p.out_text, "3\n");
    assert_int_equal(LATCH("show", "--json", "x"), 0);
    check_json("count", 3);
    H_START(&q, 0, "holdfast", "latch", "wait", "-v", "x");
    h_expect_err(&q, "waiting for 'x', ");
    H_START(&r, 0, "holdfast", "latch", "wait", "--wait", "1m", "x");
    assert_int_equal(LATCH("down", "x"), 0);
    assert_string_equal(p.out_text, "2\n");
    assert_int_equal(LATCH("down", "x", "2"), 0);
    assert_string_equal(p.out_text, "0\n");
    assert_int_equal(h_finish(&q), 0);
    assert_int_equal(h_finish(&r), 0);
    assert_string_equal(r.err_text, "");
    assert_int_equal(LATCH("show", "x"), 0);
    assert_string_equal(p.out_text, "0\n");
    assert_int_equal(LATCH("down", "x", "5"), 0);
    assert_string_equal(p.out_text, "0\n");
}

static void a_latch_is_set_once(void **state)
{
    (void)state;
    assert_int_equal(LATCH("set", "x", "2"), 0);
    assert_int_equal(LATCH("set", "x", "9"), 75);
    assert_string_equal(p.err_text,
                        "holdfast: there is a latch 'x' already; it was left as it is\n");
    assert_int_equal(LATCH("show", "x"), 0);
    assert_string_equal(p.out_text, "2\n");
    assert_int_equal(LATCH("delete", "x"), 0);
    assert_int_equal(LATCH("delete", "x"), 1);
    assert_string_equal(p.err_text, "holdfast: there is no latch 'x'\n");
    assert_int_equal(LATCH("set", "x", "9"), 0);
}

static void who_waits_for_a_latch_gives_up_in_time(void **state)
{
    uint64_t began;

    (void)state;
    assert_int_equal(LATCH("set", "x", "2"), 0);
    assert_int_equal(LATCH("wait", "-n", "x"), 75);
    assert_string_equal(p.err_text, "holdfast: 'x' has count 2\n");
    began = h_now_ms();
    assert_int_equal(LATCH("wait", "--wait", "1.2s", "-E", "9", "x"), 9);
    assert_in_range(h_now_ms() - began, 1150, 5000);
    assert_string_equal(p.err_text, "holdfast: gave up after 1.2s: 'x' has count 2\n");
}

static void a_latch_that_is_deleted_ends_the_wait(void **state)
{
    (void)state;
    assert_int_equal(LATCH("set", "x", "2"), 0);
    H_START(&q, 0, "holdfast", "latch", "wait", "-v", "x");
    h_expect_err(&q, "waiting for 'x'");
    assert_int_equal(LATCH("delete", "x"), 0);
    assert_int_equal(h_finish(&q), 1);
    assert_non_null(strstr(q.err_text, "holdfast: the latch 'x' was deleted\n"));
}

static void signals_end_the_wait_for_a_latch(void **state)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };

    (void)state;
    assert_int_equal(LATCH("set", "x", "1"), 0);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        H_START(&q, 0, "holdfast", "latch", "wait", "-v", "x");
        h_expect_err(&q, "waiting for 'x'");
        kill(q.pid, numbers[i]);
        assert_int_equal(h_finish(&q), 128 + numbers[i]);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Semaphores
 */

static void permits_are_taken_and_given(void **state)
{
    (void)state;
    assert_int_equal(SEM("available", "x"), 0);
    assert_string_equal(p.out_text, "0\n");
    assert_int_equal(SEM("set", "x", "3"), 0);
    assert_int_equal(SEM("set", "x", "9"), 75);
    assert_string_equal(p.err_text,
                        "holdfast: there is a semaphore 'x' already; it was left as it is\n");
    assert_int_equal(SEM("acquire", "x"), 0);
    assert_string_equal(p.out_text, "");
    assert_int_equal(SEM("available", "--json", "x"), 0);
    check_json("available", 2);
    assert_int_equal(SEM("acquire", "-n", "x", "3"), 75);
    assert_string_equal(p.err_text, "holdfast: 'x' has 2 permits available\n");
    assert_int_equal(SEM("acquire", "-n", "x", "2"), 0);
    assert_int_equal(SEM("release", "x", "5"), 0); /* wherever they come from */
    assert_int_equal(SEM("drain", "x"), 0);
    assert_string_equal(p.out_text, "5\n");
    assert_int_equal(SEM("drain", "--json", "x"), 0);
    check_json("taken", 0);
    assert_int_equal(SEM("delete", "x"), 0);
    assert_int_equal(SEM("delete", "x"), 1);
    assert_int_equal(SEM("release", "x"), 1); /* makes none: it may be a name mistyped */
    assert_string_equal(p.err_text, "holdfast: there is no semaphore 'x'\n");
}

static void who_waits_for_permits_is_woken(void **state)
{
    (void)state;
    assert_int_equal(SEM("set", "x", "0"), 0);
    H_START(&q, 0, "holdfast", "sem", "acquire", "-v", "x", "2");
    h_expect_err(&q, "waiting for 'x', 0 permits available\n");
    assert_int_equal(SEM("release", "x"), 0);
    assert_int_equal(SEM("release", "x"), 0);
    assert_int_equal(h_finish(&q), 0);
    assert_int_equal(SEM("available", "x"), 0);
    assert_string_equal(p.out_text, "0\n");
    assert_int_equal(SEM("acquire", "--wait", "300ms", "-E", "8", "x"), 8);
    assert_string_equal(p.err_text, "holdfast: gave up after 300ms: 'x' has 0 permits available\n");
}

/* Whoever is ended by a signal has nothing, and has taken nothing away. */
static void a_signal_costs_no_permits(void **state)
{
    (void)state;
    assert_int_equal(SEM("set", "x", "0"), 0);
    H_START(&q, 0, "holdfast", "sem", "acquire", "-v", "x");
    h_expect_err(&q, "waiting for 'x'");
    kill(q.pid, SIGTERM);
    assert_int_equal(h_finish(&q), 143);
    for (int i = 0; i < 10; i++) { /* at the very moment when it is granted */
        int code;

        H_START(&q, 0, "holdfast", "sem", "acquire", "-v", "x");
        h_expect_err(&q, "waiting for 'x'");
        assert_int_equal(SEM("release", "x"), 0);
        kill(q.pid, SIGTERM);
        code = h_finish(&q);
        assert_true(code == 0 || code == 143);
        assert_int_equal(SEM("drain", "x"), 0);
        assert_string_equal(p.out_text, code == 0 ? "0\n" : "1\n");
    }
}

/* ------------------------------------------------------------------------------------------------
 * The number of permits
 */

static void the_number_of_permits_is_set_and_changed(void **state)
{
    (void)state;
    assert_int_equal(PERMITS("set", "x", "4"), 0);
    assert_int_equal(PERMITS("set", "x", "5"), 75);
    H_START(&q, 0, "holdfast", "run", "--permits", "3/4", "x", "--", HF_TEST_BIN "/cli_probe",
            "signals");
    h_expect(&q, "ready");
    assert_int_equal(PERMITS("show", "x"), 0);
    assert_string_equal(p.out_text, "available  1\ntotal      4\ntaken      3\n");
    assert_int_equal(PERMITS("resize", "x", "2"), 0);
    assert_int_equal(PERMITS("show", "--json", "x"), 0);
    check_json("available", -1);
    check_json("total", 2);
    check_json("taken", 3);
    kill(q.pid, SIGTERM);
    assert_int_equal(h_finish(&q), 40);
    assert_int_equal(PERMITS("show", "--json", "x"), 0);
    check_json("available", 2);
    assert_int_equal(PERMITS("delete", "x"), 0);
    assert_int_equal(PERMITS("delete", "x"), 1);
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

static void usage_errors_are_64(void **state)
{
    static const char *const cases[][8] = {
        { "holdfast", "latch" },
        { "holdfast", "latch", "nonsense", "x" },
        { "holdfast", "latch", "set", "x" },
        { "holdfast", "latch", "set", "x", "0" },
        { "holdfast", "latch", "set", "x", "1000000001" },
        { "holdfast", "latch", "set", "x", "-1" },
        { "holdfast", "latch", "set", "x", "1", "2" },
        { "holdfast", "latch", "down" },
        { "holdfast", "latch", "down", "x", "1001" },
        { "holdfast", "latch", "wait" },
        { "holdfast", "latch", "wait", "x", "1" },
        { "holdfast", "latch", "wait", "--wait", "soon", "x" },
        { "holdfast", "latch", "set", "--json", "x", "1" },
        { "holdfast", "latch", "set", "", "1" },
        { "holdfast", "sem" },
        { "holdfast", "sem", "acquire", "x", "0" },
        { "holdfast", "sem", "acquire", "x", "1001" },
        { "holdfast", "sem", "release", "--wait", "1s", "x" },
        { "holdfast", "sem", "set", "x", "" },
        { "holdfast", "permits", "set", "x" },
        { "holdfast", "permits", "show", "x", "1" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code = h_run(&p, cases[i]);

        if (code != 64 || strncmp(p.err_text, "holdfast: ", 10) != 0 ||
            strchr(p.err_text, '\n') != p.err_text + p.err_length - 1)
            fail_msg("case %zu: code %d: %s", i, code, p.err_text);
    }
}

static void something_else_under_the_name_is_told(void **state)
{
    static const char *const TOLD[] = {
        "holdfast: 'list': something else is stored under this name\n",
        "holdfast: 'text': something else is stored under this name\n",
    };

    (void)state;
    assert_int_equal(SEM("set", "x", "3"), 0);
    if (!h_is_redis())
        skip();
    h_redis("SET text abc");
    h_redis("RPUSH list 1");
    assert_int_equal(SEM("acquire", "-n", "list"), 69);
    assert_string_equal(p.err_text, "holdfast: 'list' was not acquired: "
                                    "something that is not a lock is stored under this name\n");
    assert_int_equal(LATCH("down", "list"), 69);
    assert_string_equal(p.err_text, TOLD[0]);
    assert_int_equal(LATCH("set", "text", "2"), 69);
    assert_string_equal(p.err_text, TOLD[1]);
    assert_int_equal(PERMITS("show", "text"), 69);
    assert_string_equal(p.err_text, TOLD[1]);
    assert_int_equal(H_RUN(&p, "holdfast", "run", "--permits", "1/2", "list", "--", "true"), 69);
    assert_string_equal(p.err_text, TOLD[0]);
}

static void an_unreachable_store_is_69(void **state)
{
    (void)state;
    assert_int_equal(LATCH("wait", "--store", "redis://127.0.0.1:1", "--wait", "100ms", "x"), 69);
    assert_int_equal(LATCH("show", "--store", "redis://127.0.0.1:1", "x"), 69);
    assert_int_equal(SEM("acquire", "--store", "redis://127.0.0.1:1", "-n", "x"), 69);
    assert_int_equal(PERMITS("show", "--store", "redis://127.0.0.1:1", "x"), 69);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, h_setup, h_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_latch_counts_down_and_lets_go),          TEST(a_latch_is_set_once),
        TEST(who_waits_for_a_latch_gives_up_in_time),   TEST(a_latch_that_is_deleted_ends_the_wait),
        TEST(signals_end_the_wait_for_a_latch),         TEST(permits_are_taken_and_given),
        TEST(who_waits_for_permits_is_woken),           TEST(a_signal_costs_no_permits),
        TEST(the_number_of_permits_is_set_and_changed), TEST(usage_errors_are_64),
        TEST(something_else_under_the_name_is_told),    TEST(an_unreachable_store_is_69),
    };
    int failed;

    if (!h_begin(argc > 1 ? argv[1] : "sqlite")) {
        puts("skipped: no server is installed");
        return 77;
    }
    failed = cmocka_run_group_tests_name("cli objects", tests, NULL, NULL);
    h_end();
    return failed;
}
