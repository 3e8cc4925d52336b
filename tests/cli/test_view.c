/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast ls`, `show`, `break`: what they print, as text and as JSON. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/harness.h"

static struct h_process p, holder, other, first, second;

/* On a server people see a holder a little later. */
static bool is_known(void *arg)
{
    H_RUN(&p, "holdfast", "show", arg);
    return strstr(p.out_text, "the reason") != NULL;
}

static void hold(const char *name)
{
    H_START(&holder, 0, "holdfast", "run", "--label", "the reason", name, "--",
            HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&holder, "ready");
    h_until(is_known, (void *)(uintptr_t)name, "the holder to be known");
}

static void let_go(struct h_process *process)
{
    kill(process->pid, SIGTERM);
    h_finish(process);
}

/* Listed one by one: on a server the number of those that listen is known before who they are. */
static bool is_in_line(void *arg)
{
    char text[32];

    snprintf(text, sizeof text, " pid %d ", (int)((const struct h_process *)arg)->pid);
    H_RUN(&p, "holdfast", "show", "job:a");
    return strstr(p.out_text, text) != NULL;
}

static void wait_for_job_a(struct h_process *process)
{
    H_START(process, 0, "holdfast", "run", "job:a", "--", "true");
    h_until(is_in_line, process, "a waiter in line");
}

static bool is_listed(void *arg)
{
    H_RUN(&p, "holdfast", "ls");
    return strstr(p.out_text, arg) != NULL;
}

static void ls_shows_a_line_a_lock(void **state)
{
    char host[65] = "", expected[128];
    const char *line;

    (void)state;
    gethostname(host, sizeof host - 1);
    assert_int_equal(H_RUN(&p, "holdfast", "ls"), 0);
    assert_string_equal(p.out_text,
                        "NAME  KIND  STATE  HOLDERS  AGE  REMAINING  TOKEN  LABEL  WAITERS\n");
    hold("job:a");
    wait_for_job_a(&first);
    h_until(is_listed, "the reason", "the holder in the list");
    line = strstr(p.out_text, "\njob:a  mutex  held   ");
    assert_non_null(line);
    snprintf(expected, sizeof expected, "@%s pid %d cli_probe ", host, (int)holder.pid);
    assert_non_null(strstr(line, expected));
    assert_non_null(strstr(line, "  the reason  1\n"));
    assert_null(strstr(line, " \n")); /* no blanks at the ends */
    let_go(&holder);
    assert_int_equal(h_finish(&first), 0);
    assert_int_equal(H_RUN(&p, "holdfast", "ls"), 0);
    assert_null(strstr(p.out_text, "job:a"));
}

static void ls_matches_patterns(void **state)
{
    (void)state;
    H_START(&other, 0, "holdfast", "run", "other", "--", HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&other, "ready");
    hold("job:a");
    assert_int_equal(H_RUN(&p, "holdfast", "ls", "--names", "job:*"), 0);
    assert_string_equal(p.out_text, "job:a\n");
    assert_int_equal(H_RUN(&p, "holdfast", "ls", "--names", "?ther"), 0);
    assert_string_equal(p.out_text, "other\n");
    assert_int_equal(H_RUN(&p, "holdfast", "ls", "--names", "nothing*"), 0);
    assert_string_equal(p.out_text, "");
    let_go(&other);
    let_go(&holder);
}

static json_t *parse(void)
{
    json_error_t error;
    json_t *json = json_loads(p.out_text, 0, &error);

    if (!json)
        fail_msg("not JSON: %s: %s", error.text, p.out_text);
    return json;
}

static void check_holder(const json_t *json, pid_t pid, const char *label)
{
    static const char *const members[] = { "owner", "host",   "user",         "program", "pid",
                                           "label", "age_ms", "remaining_ms", "token",   "count" };

    assert_true(json_is_object(json));
    assert_int_equal(json_object_size(json), sizeof members / sizeof members[0]);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        assert_non_null(json_object_get(json, members[i]));
    assert_int_equal(json_integer_value(json_object_get(json, "pid")), pid);
    if (label)
        assert_string_equal(json_string_value(json_object_get(json, "label")), label);
    assert_true(json_integer_value(json_object_get(json, "age_ms")) >= 0);
    assert_true(strlen(json_string_value(json_object_get(json, "owner"))) >= 36);
}

static void json_has_every_member(void **state)
{
    json_t *json, *lock, *waiters;

    (void)state;
    hold("job:a");
    wait_for_job_a(&first);
    wait_for_job_a(&second);
    h_until(is_listed, "the reason", "the holder in the list");

    assert_int_equal(H_RUN(&p, "holdfast", "ls", "--json"), 0);
    json = parse();
    assert_string_equal(json_string_value(json_object_get(json, "store")), h_store());
    assert_int_equal(json_array_size(json_object_get(json, "locks")), 1);
    lock = json_array_get(json_object_get(json, "locks"), 0);
    assert_string_equal(json_string_value(json_object_get(lock, "name")), "job:a");
    assert_string_equal(json_string_value(json_object_get(lock, "state")), "held");
    assert_string_equal(json_string_value(json_object_get(lock, "kind")), "mutex");
    assert_int_equal(json_integer_value(json_object_get(lock, "holder_count")), 1);
    assert_int_equal(json_array_size(json_object_get(lock, "holders")), 1);
    assert_true(json_is_null(json_object_get(lock, "available")));
    assert_int_equal(json_integer_value(json_object_get(lock, "waiter_count")), 2);
    check_holder(json_object_get(lock, "holder"), holder.pid, "the reason");
    json_decref(json);

    assert_int_equal(H_RUN(&p, "holdfast", "show", "--json", "job:a"), 0);
    json = parse();
    assert_string_equal(json_string_value(json_object_get(json, "name")), "job:a");
    check_holder(json_object_get(json, "holder"), holder.pid, "the reason");
    waiters = json_object_get(json, "waiters");
    assert_int_equal(json_array_size(waiters), 2);
    check_holder(json_array_get(waiters, 0), first.pid, NULL);
    check_holder(json_array_get(waiters, 1), second.pid, NULL);
    assert_true(json_is_null(json_object_get(json_array_get(waiters, 0), "remaining_ms")));
    assert_true(json_integer_value(json_object_get(json_object_get(json, "holder"), "token")) > 0);
    json_decref(json);

    let_go(&holder);
    assert_int_equal(h_finish(&first), 0);
    assert_int_equal(h_finish(&second), 0);
}

static json_t *shown(const char *name)
{
    assert_int_equal(H_RUN(&p, "holdfast", "show", "--json", name), 0);
    return parse();
}

static void check_kind(const json_t *json, const char *kind, const char *state, int holders)
{
    assert_string_equal(json_string_value(json_object_get(json, "kind")), kind);
    assert_string_equal(json_string_value(json_object_get(json, "state")), state);
    assert_int_equal(json_integer_value(json_object_get(json, "holder_count")), holders);
    assert_int_equal(json_array_size(json_object_get(json, "holders")), holders);
}

static bool both_are_shown(void *arg)
{
    char one[32], two[32];

    snprintf(one, sizeof one, " pid %d ", (int)holder.pid);
    snprintf(two, sizeof two, " pid %d ", (int)other.pid);
    H_RUN(&p, "holdfast", "show", arg);
    return strstr(p.out_text, one) && strstr(p.out_text, two);
}

static void hold_two(const char *name, const char *option, const char *value)
{
    struct h_process *const two[] = { &holder, &other };

    for (int i = 0; i < 2; i++) {
        H_START(two[i], 0, "holdfast", "run", option, value, "--label", i ? "second" : "first",
                name, "--", HF_TEST_BIN "/cli_probe", "signals");
        h_expect(two[i], "ready");
    }
    h_until(both_are_shown, (void *)(uintptr_t)name, "both holders");
}

static void check_both(const json_t *json)
{
    const json_t *holders = json_object_get(json, "holders");
    bool swapped =
        json_integer_value(json_object_get(json_array_get(holders, 0), "pid")) != holder.pid;

    check_holder(json_array_get(holders, swapped ? 1 : 0), holder.pid, "first");
    check_holder(json_array_get(holders, swapped ? 0 : 1), other.pid, "second");
    assert_true(json_equal(json_object_get(json, "holder"), json_array_get(holders, 0)));
}

static void several_holders_are_all_shown(void **state)
{
    static const char *const heads[] = { "HOLDER ", "AGE ",   "REMAINING ",
                                         "OWNER ",  "COUNT ", "LABEL" };
    json_t *json;
    const char *at;

    (void)state;
    hold_two("job:r", "--shared", "--ttl=20s");
    H_RUN(&p, "holdfast", "show", "job:r");
    assert_non_null(strstr(p.out_text, "kind       read\nstate      held\nholders    2\n"));
    at = p.out_text;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        at = strstr(at, heads[i]);
        assert_non_null(at);
    }
    assert_int_equal(H_RUN(&p, "holdfast", "ls"), 0);
    assert_non_null(strstr(p.out_text, "\njob:r  read  held   2, first "));
    json = shown("job:r");
    check_kind(json, "read", "held", 2);
    assert_true(json_is_null(json_object_get(json, "available")));
    check_both(json);
    json_decref(json);
    let_go(&holder);
    let_go(&other);

    hold_two("job:p", "--permits", "1/5");
    json = shown("job:p");
    check_kind(json, "permits", "held", 2);
    assert_int_equal(json_integer_value(json_object_get(json, "available")), 3);
    check_both(json);
    json_decref(json);
    assert_int_equal(H_RUN(&p, "holdfast", "ls"), 0);
    assert_non_null(strstr(p.out_text, "\njob:p  permits  held   3 available; 2, first "));
    let_go(&holder);
    let_go(&other);
}

static bool one_waits_for(void *arg)
{
    H_RUN(&p, "holdfast", "show", arg);
    return strstr(p.out_text, "waiters    1\n") != NULL;
}

static void what_is_no_lock_is_shown_too(void **state)
{
    json_t *json;

    (void)state;
    assert_int_equal(H_RUN(&p, "holdfast", "sem", "set", "s", "3"), 0);
    json = shown("s");
    check_kind(json, "semaphore", "free", 0);
    assert_int_equal(json_integer_value(json_object_get(json, "available")), 3);
    json_decref(json);
    assert_int_equal(H_RUN(&p, "holdfast", "show", "s"), 0);
    assert_non_null(strstr(p.out_text, "\navailable  3\n"));
    assert_int_equal(H_RUN(&p, "holdfast", "break", "s"), 1);
    assert_string_equal(p.err_text, "holdfast: nobody holds 's'\n");

    assert_int_equal(H_RUN(&p, "holdfast", "latch", "set", "l", "2"), 0);
    H_START(&first, 0, "holdfast", "latch", "wait", "l");
    h_until(one_waits_for, "l", "a latch that is waited for"); /* a number alone says less */
    json = shown("l");
    check_kind(json, "latch", "free", 0);
    assert_int_equal(json_integer_value(json_object_get(json, "available")), 2);
    assert_int_equal(json_integer_value(json_object_get(json, "waiter_count")), 1);
    json_decref(json);
    assert_int_equal(H_RUN(&p, "holdfast", "show", "l"), 0);
    assert_non_null(strstr(p.out_text, "\ncount      2\n"));
    assert_int_equal(H_RUN(&p, "holdfast", "latch", "down", "l", "2"), 0);
    assert_int_equal(h_finish(&first), 0);
}

static void show_tells_everything_in_order(void **state)
{
    static const char *const keys[] = {
        "name       job:a\n", "kind       mutex\n", "state      held\n",
        "holder     ",        "owner      ",        "age        ",
        "remaining  ",        "token      ",        "label      the reason\n",
        "waiters    2\n"
    };
    char expected[32];
    const char *at, *line_one, *line_two;

    (void)state;
    hold("job:a");
    wait_for_job_a(&first);
    wait_for_job_a(&second);
    assert_int_equal(H_RUN(&p, "holdfast", "show", "job:a"), 0);
    at = p.out_text;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        at = strstr(at, keys[i]);
        assert_non_null(at);
    }
    snprintf(expected, sizeof expected, "pid %d ", (int)first.pid);
    line_one = strstr(at, expected);
    snprintf(expected, sizeof expected, "pid %d ", (int)second.pid);
    line_two = strstr(at, expected);
    assert_non_null(line_one);
    assert_non_null(line_two);
    assert_true(line_one < line_two);
    let_go(&holder);
    assert_int_equal(h_finish(&first), 0);
    assert_int_equal(h_finish(&second), 0);
}

static void nothing_to_show_is_1(void **state)
{
    json_t *json;

    (void)state;
    assert_int_equal(H_RUN(&p, "holdfast", "show", "nothing"), 1);
    assert_string_equal(p.out_text, "");
    assert_string_equal(p.err_text, "holdfast: nobody holds 'nothing' or waits for it\n");
    assert_int_equal(H_RUN(&p, "holdfast", "show", "--json", "nothing"), 1);
    json = parse();
    assert_string_equal(json_string_value(json_object_get(json, "state")), "free");
    assert_true(json_is_null(json_object_get(json, "holder")));
    assert_int_equal(json_array_size(json_object_get(json, "waiters")), 0);
    json_decref(json);
    assert_int_equal(H_RUN(&p, "holdfast", "break", "nothing"), 1);
    assert_string_equal(p.err_text, "holdfast: nobody holds 'nothing'\n");
}

static void break_removes_the_holder_that_it_shows(void **state)
{
    char expected[64];

    (void)state;
    hold("job:a");
    wait_for_job_a(&first);
    assert_int_equal(H_RUN(&p, "holdfast", "break", "job:a"), 0);
    snprintf(expected, sizeof expected, " pid %d cli_probe for ", (int)holder.pid);
    assert_int_equal(strncmp(p.out_text, "'job:a' is held by ", 19), 0);
    assert_non_null(strstr(p.out_text, expected));
    assert_non_null(strstr(p.out_text, "\ntaken away\n"));
    assert_int_equal(h_finish(&first), 0); /* the waiter goes on */
    assert_int_equal(h_finish(&holder), 76);
}

static void break_changes_nothing_when_the_owner_is_another(void **state)
{
    char owner[300] = "", expected[400];
    const char *at;

    (void)state;
    hold("job:a");
    assert_int_equal(H_RUN(&p, "holdfast", "show", "job:a"), 0);
    at = strstr(p.out_text, "owner      ");
    assert_int_equal(sscanf(at, "owner %299s", owner), 1);
    let_go(&holder);
    hold("job:a");
    assert_int_equal(H_RUN(&p, "holdfast", "break", "--owner", owner, "job:a"), 75);
    snprintf(expected, sizeof expected,
             "holdfast: owner %s does not hold 'job:a', which is held by ", owner);
    assert_int_equal(strncmp(p.err_text, expected, strlen(expected)), 0);
    assert_non_null(strstr(p.err_text, "; nothing was removed\n"));
    assert_string_equal(p.out_text, "");
    assert_int_equal(H_RUN(&p, "holdfast", "run", "-n", "job:a", "true"),
                     75); /* it is held still */
    let_go(&holder);
}

/* The lock changes hands all the time: a break removes the one it showed, or nobody. */
static void break_in_a_race_hits_the_holder_shown_or_nobody(void **state)
{
    int broken = 0;

    (void)state;
    for (int i = 0; i < 20; i++) {
        struct h_process one, two;
        int codes[2], code;

        H_START(&one, 0, "holdfast", "run", "--ttl", "3s", "race", "--", "sleep", "0.02");
        H_START(&two, 0, "holdfast", "run", "--ttl", "3s", "race", "--", "sleep", "0.02");
        h_sleep_ms(5 + i);
        code = H_RUN(&p, "holdfast", "break", "race");
        codes[0] = h_finish(&one);
        codes[1] = h_finish(&two);
        if (code ==
            0) { /* it may have ended by itself before it knew; nobody but the one shown has lost */
            pid_t shown = 0;
            const char *at = strstr(p.out_text, " pid ");

            broken++;
            if (at) {
                shown = (pid_t)strtol(at + 5, NULL, 10);
                assert_true(shown == one.pid || shown == two.pid);
                assert_int_equal(codes[shown == one.pid ? 1 : 0], 0);
            } else { /* a server tells of so short a hold only the owner */
                assert_true(codes[0] == 0 || codes[1] == 0);
            }
        } else {
            assert_true(code == 1 || code == 75);
            assert_int_equal(codes[0], 0);
            assert_int_equal(codes[1], 0);
        }
    }
    print_message("%d of 20 were broken\n", broken);
}

/* What another client may have stored is harmless here, and valid JSON all the same. */
static void foreign_text_is_harmless(void **state)
{
    json_t *json;

    (void)state;
    if (!h_is_redis())
        skip();
    h_redis("HSET \"evil\\x1b[2J\\xff\" 8743c9c0-0795-4907-87fd-6c719a6b4586:5 1");
    h_redis("PEXPIRE \"evil\\x1b[2J\\xff\" 30000");
    assert_int_equal(H_RUN(&p, "holdfast", "ls"), 0);
    assert_null(strchr(p.out_text, '\033'));
    assert_null(strchr(p.out_text, '\377'));
    assert_int_equal(H_RUN(&p, "holdfast", "ls", "--json"), 0);
    json = parse();
    json_decref(json);
}

static void what_is_not_a_lock_is_told(void **state)
{
    static const char *const names[] = { "text", "list", "hash" };
    char expected[128];

    (void)state;
    if (!h_is_redis())
        skip();
    h_redis("SET text abc");
    h_redis("RPUSH list 1");
    h_redis("HSET hash a b");
    for (int i = 0; i < 3; i++) {
        snprintf(expected, sizeof expected,
                 "holdfast: '%s': something that is not a lock is stored under this name\n",
                 names[i]);
        assert_int_equal(H_RUN(&p, "holdfast", "show", names[i]), 69);
        assert_string_equal(p.err_text, expected);
        assert_int_equal(H_RUN(&p, "holdfast", "show", "--json", names[i]), 69);
        assert_string_equal(p.out_text, "");
        assert_int_equal(H_RUN(&p, "holdfast", "break", names[i]), 69);
        assert_string_equal(p.err_text, expected);
    }
    assert_int_equal(H_RUN(&p, "holdfast", "run", "-n", "text", "true"), 69);
    assert_int_equal(H_RUN(&p, "holdfast", "ls"), 0); /* it is none of ours */
    assert_null(strstr(p.out_text, "text"));
}

static void show_a_lock_of_redisson(void **state)
{
    json_t *json;

    (void)state;
    if (!h_is_redis())
        skip();
    h_redis("HSET java 8743c9c0-0795-4907-87fd-6c719a6b4586:57 1");
    h_redis("PEXPIRE java 30000");
    assert_int_equal(H_RUN(&p, "holdfast", "ls"), 0);
    assert_non_null(
        strstr(p.out_text, "\njava  mutex  held   8743c9c0-0795-4907-87fd-6c719a6b4586:57  -"));
    assert_int_equal(H_RUN(&p, "holdfast", "show", "--json", "java"), 0);
    json = parse();
    assert_true(json_is_null(json_object_get(json_object_get(json, "holder"), "host")));
    assert_true(
        json_integer_value(json_object_get(json_object_get(json, "holder"), "remaining_ms")) > 0);
    json_decref(json);
    assert_int_equal(H_RUN(&p, "holdfast", "run", "-n", "java", "true"), 75);
    assert_non_null(strstr(p.err_text, "held by 8743c9c0-0795-4907-87fd-6c719a6b4586:57"));
    assert_int_equal(H_RUN(&p, "holdfast", "break", "java"), 0);
    assert_int_equal(H_RUN(&p, "holdfast", "run", "-n", "java", "true"), 0);
}

static void a_table_fits_the_terminal(void **state)
{
    char label[201];
    size_t longest = 0;

    (void)state;
    memset(label, 'l', 200);
    label[200] = '\0';
    H_START(&holder, 0, "holdfast", "run", "--label", label, "job:a", "--",
            HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&holder, "ready");
    h_until(is_listed, label, "the holder in the list"); /* in full where it is no terminal */
    H_START(&p, H_TERMINAL, "holdfast", "ls");
    assert_int_equal(h_finish(&p), 0);
    assert_non_null(strstr(p.out_text, "job:a"));
    for (const char *line = p.out_text; *line;) {
        size_t length = strcspn(line, "\r\n"), columns = 0;

        for (size_t i = 0; i < length; i++)
            columns += (line[i] & 0xc0) != 0x80;
        longest = columns > longest ? columns : longest;
        line += length + strspn(line + length, "\r\n");
    }
    assert_true(longest <= 100);
    assert_non_null(strstr(p.out_text, "ll\xe2\x80\xa6"));
    let_go(&holder);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, h_setup, h_teardown)
    const struct CMUnitTest tests[] = {
        TEST(ls_shows_a_line_a_lock),
        TEST(ls_matches_patterns),
        TEST(json_has_every_member),
        TEST(several_holders_are_all_shown),
        TEST(what_is_no_lock_is_shown_too),
        TEST(show_tells_everything_in_order),
        TEST(nothing_to_show_is_1),
        TEST(break_removes_the_holder_that_it_shows),
        TEST(break_changes_nothing_when_the_owner_is_another),
        TEST(break_in_a_race_hits_the_holder_shown_or_nobody),
        TEST(foreign_text_is_harmless),
        TEST(what_is_not_a_lock_is_told),
        TEST(show_a_lock_of_redisson),
        TEST(a_table_fits_the_terminal),
    };
    int failed;

    if (!h_begin(argc > 1 ? argv[1] : "sqlite")) {
        puts("skipped: no server is installed");
        return 77;
    }
    failed = cmocka_run_group_tests_name("cli view", tests, NULL, NULL);
    h_end();
    return failed;
}
