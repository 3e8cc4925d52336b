/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the command when holdfast, or its guard, is killed or stopped. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/harness.h"

static struct h_process p, q;

static pid_t leader, child, grandchild;

static void start_family(const char *kind)
{
    H_START(&p, 0, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", kind);
    h_expect(&p, "complete");
    leader = (pid_t)h_number(&p, "leader ");
    child = (pid_t)h_number(&p, " child ");
    grandchild = (pid_t)h_number(&p, "grandchild ");
}

static void killing_holdfast_kills_the_whole_group(void **state)
{
    uint64_t began;
    pid_t guard;

    (void)state;
    start_family("family");
    guard = h_guard_of(p.pid);
    began = h_now_ms();
    kill(p.pid, SIGKILL);
    h_wait_state(leader, 'Z');
    h_wait_state(child, 'Z');
    h_wait_state(grandchild, 'Z');
    h_wait_state(guard, 'Z');
    assert_true(h_now_ms() - began < 5000);
    assert_int_equal(h_finish(&p), 137);
}

static void a_stopped_group_is_killed_too(void **state)
{
    (void)state;
    start_family("family");
    kill(-leader, SIGSTOP);
    h_wait_state(grandchild, 'T');
    kill(p.pid, SIGKILL);
    h_wait_state(leader, 'Z');
    h_wait_state(child, 'Z');
    h_wait_state(grandchild, 'Z');
    assert_int_equal(h_finish(&p), 137);
}

/* On purpose: holdfast(1), CAVEATS. */
static void who_leaves_the_group_is_not_killed(void **state)
{
    (void)state;
    start_family("escape");
    kill(p.pid, SIGKILL);
    h_wait_state(leader, 'Z');
    h_wait_state(child, 'Z');
    assert_true(h_state(grandchild) != '\0' && h_state(grandchild) != 'Z');
    kill(grandchild, SIGKILL);
    assert_int_equal(h_finish(&p), 137);
}

/* The whole process group that holdfast is in, as when a shell's job is killed: the guard is elsewhere. */
static void killing_the_group_of_holdfast_spares_the_guard(void **state)
{
    (void)state;
    H_START(&p, H_OWN_GROUP, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "family");
    h_expect(&p, "complete");
    leader = (pid_t)h_number(&p, "leader ");
    grandchild = (pid_t)h_number(&p, "grandchild ");
    h_guard_of(p.pid);
    kill(-p.pid, SIGKILL);
    h_wait_state(leader, 'Z');
    h_wait_state(grandchild, 'Z');
    assert_int_equal(h_finish(&p), 137);
}

/*
 * The guard is stopped, so the group lives on after holdfast's death (its leader apart, which the kernel
 * kills): on the embedded store nobody else gets the lock until the guard has done its work.
 */
static void the_embedded_lock_is_kept_until_the_group_is_gone(void **state)
{
    char group[16];
    pid_t guard;

    (void)state;
    if (h_is_redis())
        skip(); /* there it is the ttl that is waited for */
    start_family("family");
    guard = h_guard_of(p.pid);
    snprintf(group, sizeof group, "%d", (int)leader);
    kill(p.pid, SIGSTOP); /* else it would continue the guard at once */
    h_wait_state(p.pid, 'T');
    kill(guard, SIGSTOP);
    h_wait_state(guard, 'T');
    kill(p.pid, SIGKILL);
    assert_int_equal(h_finish(&p), 137);
    H_START(&q, 0, "holdfast", "run", "-v", "x", "--", HF_TEST_BIN "/cli_probe", "group", group);
    h_expect_err(&q, "waiting for 'x'");
    h_sleep_ms(500);
    assert_false(h_has_err(&q, "holding"));
    assert_true(h_state(grandchild) != '\0' && h_state(grandchild) != 'Z');
    kill(guard, SIGCONT);
    assert_int_equal(h_finish(&q), 0);
    assert_string_equal(q.out_text, "gone\n");
    h_wait_state(grandchild, 'Z');
}

/* Many times, without help: the waiter must never see anybody of the dead holder's group. */
static void a_waiter_never_meets_the_group_of_a_killed_holder(void **state)
{
    (void)state;
    if (h_is_redis())
        skip();
    for (int i = 0; i < 20; i++) {
        char group[16];

        start_family("family");
        snprintf(group, sizeof group, "%d", (int)leader);
        H_START(&q, 0, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "group", group);
        if (i % 2)
            h_sleep_ms(30);
        kill(p.pid, SIGKILL);
        assert_int_equal(h_finish(&p), 137);
        assert_int_equal(h_finish(&q), 0);
        assert_string_equal(q.out_text, "gone\n");
    }
}

static void a_killed_guard_is_noticed_and_replaced(void **state)
{
    pid_t first, second;

    (void)state;
    start_family("family");
    first = h_guard_of(p.pid);
    kill(first, SIGKILL);
    h_expect_err(&p, "the guard process was killed; starting another");
    second = h_guard_of(p.pid);
    assert_int_not_equal(first, second);
    kill(second, SIGKILL); /* said only once */
    h_wait_state(second, '\0');
    h_guard_of(p.pid);
    assert_null(strstr(p.err_text + p.err_seen, "guard"));
    kill(p.pid, SIGKILL); /* and the new one does its duty */
    h_wait_state(grandchild, 'Z');
    assert_int_equal(h_finish(&p), 137);
}

static void a_stopped_guard_is_continued(void **state)
{
    pid_t guard;

    (void)state;
    start_family("family");
    guard = h_guard_of(p.pid);
    kill(guard, SIGSTOP);
    h_wait_state(guard, 'S');
    kill(p.pid, SIGKILL);
    h_wait_state(grandchild, 'Z');
    assert_int_equal(h_finish(&p), 137);
}

static void without_a_guard_the_command_is_ended_with_71(void **state)
{
    (void)state;
    start_family("family");
    for (int i = 0; i < 20; i++) {
        pid_t guard = h_child_of(p.pid, "holdfast-guard");

        if (guard > 0) {
            kill(guard, SIGKILL);
            h_wait_state(guard, '\0');
        }
        if (h_has_err(&p, "no guard process can be had"))
            break;
        h_sleep_ms(5);
    }
    assert_int_equal(h_finish(&p), 71);
    assert_non_null(strstr(p.err_text, "no guard process can be had; ending the command"));
    h_wait_state(grandchild, 'Z');
    assert_int_equal(H_RUN(&q, "holdfast", "run", "-n", "x", "true"), 0);
}

static void the_guard_is_small_and_apart(void **state)
{
    char path[64], text[256] = "";
    pid_t guard;
    ssize_t count;

    (void)state;
    start_family("family");
    guard = h_guard_of(p.pid);
    assert_int_equal(getsid(guard), guard);
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)guard);
    count = readlink(path, text, sizeof text - 1);
    assert_int_equal(count, 1);
    assert_string_equal(text, "/");
    for (int fd = 0; fd <= 2; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)guard, fd);
        count = readlink(path, text, sizeof text - 1);
        text[count > 0 ? count : 0] = '\0';
        assert_true(count < 0 || strncmp(text, "anon_inode:", 11) == 0); /* its own alarm */
    }
    kill(p.pid, SIGTERM);
    assert_int_equal(h_finish(&p), 143);
    h_wait_state(guard, '\0');
}

static long long last_tick(const char *path)
{
    FILE *file = fopen(path, "re");
    long long ms = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lld", &ms), 1);
    fclose(file);
    return ms;
}

/* Holdfast stopped for longer than the ttl: its command does not run past the deadline. */
static void the_guard_keeps_the_deadline_when_holdfast_is_stopped(void **state)
{
    uint64_t stopped;
    pid_t command;

    (void)state;
    H_START(&p, 0, "holdfast", "run", "--ttl", "1s", "x", "--", HF_TEST_BIN "/cli_probe", "tick",
            h_path("ticks"));
    h_expect(&p, "ticking ");
    h_expect(&p, "\n");
    command = (pid_t)h_number(&p, "ticking ");
    kill(p.pid, SIGSTOP);
    h_wait_state(p.pid, 'T');
    stopped = h_now_ms();
    h_wait_state(command, 'Z');
    /* renewed before the stop at the latest, so the lease has ended a ttl after it; and some time to run */
    assert_true(last_tick(h_path("ticks")) <= (long long)stopped + 1000 + 100);
    kill(p.pid, SIGCONT);
    assert_int_equal(h_finish(&p), 76);
    assert_non_null(strstr(p.err_text, "was lost"));
}

static void a_short_stop_of_holdfast_does_no_harm(void **state)
{
    (void)state;
    H_START(&p, 0, "holdfast", "run", "--ttl", "5s", "x", "--", HF_TEST_BIN "/cli_probe",
            "signals");
    h_expect(&p, "ready");
    kill(p.pid, SIGSTOP);
    h_wait_state(p.pid, 'T');
    h_sleep_ms(500);
    kill(p.pid, SIGCONT);
    kill(p.pid, SIGTERM);
    assert_int_equal(h_finish(&p), 40);
    assert_string_equal(p.err_text, "");
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, h_setup, h_teardown)
    const struct CMUnitTest tests[] = {
        TEST(killing_holdfast_kills_the_whole_group),
        TEST(a_stopped_group_is_killed_too),
        TEST(who_leaves_the_group_is_not_killed),
        TEST(killing_the_group_of_holdfast_spares_the_guard),
        TEST(the_embedded_lock_is_kept_until_the_group_is_gone),
        TEST(a_waiter_never_meets_the_group_of_a_killed_holder),
        TEST(a_killed_guard_is_noticed_and_replaced),
        TEST(a_stopped_guard_is_continued),
        TEST(without_a_guard_the_command_is_ended_with_71),
        TEST(the_guard_is_small_and_apart),
        TEST(the_guard_keeps_the_deadline_when_holdfast_is_stopped),
        TEST(a_short_stop_of_holdfast_does_no_harm),
    };
    int failed;

    if (!h_begin(argc > 1 ? argv[1] : "sqlite")) {
        puts("skipped: no server is installed");
        return 77;
    }
    failed = cmocka_run_group_tests_name("cli guard", tests, NULL, NULL);
    h_end();
    return failed;
}
