/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast run` on a terminal: the keyboard, job control under an interactive shell, the status line. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/harness.h"

#define PROMPT "ready> "

static struct h_process p, q;

/* An interactive bash on a terminal, with $H and $P for the programs. */
static void start_shell(void)
{
    setenv("PS1", PROMPT, 1);
    setenv("H", HF_TEST_COMMAND, 1);
    setenv("P", HF_TEST_BIN "/cli_probe", 1);
    setenv("HISTFILE", "/dev/null", 1);
    H_START(&p, H_TERMINAL, "bash", "--norc", "--noprofile", "-i");
    h_expect(&p, PROMPT);
    h_type(&p, "stty -echo; bind 'set enable-bracketed-paste off'\n");
    h_expect(&p, PROMPT);
}

/* Types a line; what is echoed of it is not mistaken for output, as there is no echo. */
static void type(const char *line)
{
    h_type(&p, line);
    h_type(&p, "\n");
}

static void expect_code(const char *code)
{
    h_expect(&p, PROMPT);
    type("echo code=$?.");
    h_expect(&p, code);
    h_expect(&p, PROMPT);
}

static void leave_shell(void)
{
    type("exit 3");
    assert_int_equal(h_finish(&p), 3);
}

static void the_command_reads_the_keyboard(void **state)
{
    (void)state;
    start_shell();
    type("$H run x -- sed -u s/^/got:/");
    type("hello");
    h_expect(&p, "got:hello");
    type("again");
    h_expect(&p, "got:again");
    h_type(&p, "\004");
    expect_code("code=0.");
    leave_shell();
}

static int count(const char *text)
{
    int times = 0;

    for (const char *at = p.out_text; (at = strstr(at, text)) != NULL; at++)
        times++;
    return times;
}

static void a_key_reaches_the_command_once(void **state)
{
    (void)state;
    start_shell();
    type("$H run x -- $P signals");
    h_expect(&p, "ready pid");
    h_type(&p, "\003");
    expect_code("code=40.");
    assert_int_equal(count("signal 2"), 1);
    type("$H run x -- sleep 1000");
    h_sleep_ms(100);
    h_type(&p, "\003");
    expect_code("code=130.");
    /* also where the keyboard stays with our group, for the sake of what is behind the pipe */
    type("$H run x -- $P signals | (trap '' INT; cat); echo code=${PIPESTATUS[0]}.");
    h_expect(&p, "ready pid");
    h_type(&p, "\003");
    h_expect(&p, "signal 2");
    h_expect(&p, PROMPT);
    assert_int_equal(count("signal 2"), 2);
    leave_shell();
}

static void a_key_ends_the_loop_and_the_script_around_it(void **state)
{
    (void)state;
    start_shell();
    type("for i in 1 2 3; do $H run x -- sh -c 'echo begun-$((1+1)); exec sleep 1000'; echo "
         "again-$((2+2)); done");
    h_expect(&p, "begun-2");
    h_type(&p, "\003");
    expect_code("code=130.");
    assert_false(h_has(&p, "again-4"));
    type("bash -c '$H run x -- sh -c \"echo begun-3; exec sleep 1000\"; echo survived-$((2+2))'");
    h_expect(&p, "begun-3");
    h_type(&p, "\003");
    expect_code("code=130.");
    assert_false(h_has(&p, "survived-4"));
    /* also while it waits */
    H_START(&q, 0, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&q, "ready");
    type("for i in 1 2 3; do $H run -v x -- true; echo again-$((2+2)); done");
    h_expect(&p, "waiting for 'x'");
    h_type(&p, "\003");
    expect_code("code=130.");
    assert_false(h_has(&p, "again-4"));
    kill(q.pid, SIGTERM);
    h_finish(&q);
    leave_shell();
}

static void a_lock_inside_a_lock_is_stopped_and_continued(void **state)
{
    (void)state;
    start_shell();
    type("$H run outer -- $H run inner -- sed -u s/^/got:/");
    type("one");
    h_expect(&p, "got:one");
    for (int i = 0; i < 2; i++) {
        h_type(&p, "\032");
        h_expect(&p, "Stopped");
        h_expect(&p, PROMPT);
        type("fg");
        type("two");
        h_expect(&p, "got:two");
    }
    h_type(&p, "\003");
    expect_code("code=130.");
    leave_shell();
}

static void a_job_is_stopped_and_continued(void **state)
{
    (void)state;
    start_shell();
    type("$H run x -- sed -u s/^/got:/");
    type("one");
    h_expect(&p, "got:one");
    for (int i = 0; i < 3; i++) {
        h_type(&p, "\032");
        h_expect(&p, "Stopped");
        h_expect(&p, PROMPT);
        type("jobs");
        h_expect(&p, "Stopped");
        h_expect(&p, PROMPT);
        type("fg");
        type("two");
        h_expect(&p, "got:two");
    }
    h_type(&p, "\004");
    expect_code("code=0.");
    leave_shell();
}

static void a_stopped_job_goes_on_in_the_background(void **state)
{
    (void)state;
    start_shell();
    type(
        "$H run x -- bash -c 'echo begun; sleep 0.3; echo done-$((40+2))'"); /* dash: vfork() and TSTP hang */
    h_expect(&p, "begun");
    h_type(&p, "\032");
    h_expect(&p, "Stopped");
    h_expect(&p, PROMPT);
    type("bg");
    h_expect(&p, PROMPT);
    h_expect(&p, "done-42");
    type("wait; echo waited-$?");
    h_expect(&p, "waited-0");
    h_expect(&p, PROMPT);
    leave_shell();
}

static void a_background_start_leaves_the_terminal_alone(void **state)
{
    (void)state;
    start_shell();
    type("$H run x -- sleep 1000 &");
    h_expect(&p, PROMPT);
    for (int i = 0; i < 5; i++) {
        type("echo still-$((20+2))");
        h_expect(&p, "still-22");
        h_expect(&p, PROMPT);
    }
    type("kill %1; wait %1; echo code=$?.");
    h_expect(&p, "code=143.");
    h_expect(&p, PROMPT);
    leave_shell();
}

static void a_background_job_that_reads_stops_until_it_is_in_front(void **state)
{
    (void)state;
    start_shell();
    type("$H run x -- sed -u s/^/got:/ &");
    h_expect(&p, PROMPT);
    type("until jobs | grep Stopped; do sleep 0.02; done");
    h_expect(&p, "Stopped");
    h_expect(&p, PROMPT);
    type("fg");
    type("front");
    h_expect(&p, "got:front");
    h_type(&p, "\004");
    expect_code("code=0.");
    leave_shell();
}

static void an_interactive_shell_works_inside(void **state)
{
    (void)state;
    start_shell();
    type("PS1='inner> ' $H run x -- bash --norc --noprofile -i");
    h_expect(&p, "inner> ");
    type("echo sum=$((20+3))");
    h_expect(&p, "sum=23");
    h_expect(&p, "inner> ");
    type("sleep 1000");
    h_sleep_ms(100);
    h_type(&p, "\003");
    h_expect(&p, "inner> ");
    type("sleep 1000");
    h_sleep_ms(100);
    h_type(&p, "\032");
    h_expect(&p, "Stopped");
    h_expect(&p, "inner> ");
    type("kill %1; suspend"); /* the inner shell stops itself: the outer one has the terminal */
    h_expect(&p, PROMPT);
    type("fg");
    type("echo back-$((40+4))");
    h_expect(&p, "back-44");
    type("exit 5");
    expect_code("code=5.");
    leave_shell();
}

static void what_is_behind_a_pipe_keeps_the_keyboard(void **state)
{
    (void)state;
    if (H_RUN(&q, "sh", "-c", "command -v less") != 0)
        skip();
    start_shell();
    type("$H run x -- seq 1 500 | less");
    h_expect(&p, "20");
    h_type(&p, "q");
    h_expect(&p, PROMPT);
    /* and in front of one */
    type("seq 1 500 | $H run x -- less");
    h_expect(&p, "20");
    h_type(&p, "q");
    expect_code("code=0.");
    leave_shell();
}

static void a_command_before_a_pipe_gets_the_keyboard_when_it_asks(void **state)
{
    (void)state;
    start_shell();
    type("$H run x -- sed -u s/^/got:/ | cat");
    type("hello");
    h_expect(&p, "got:hello");
    h_type(&p, "\032");
    h_expect(&p, "Stopped");
    h_expect(&p, PROMPT);
    type("fg");
    type("again");
    h_expect(&p, "got:again");
    h_type(&p, "\004");
    expect_code("code=0.");
    leave_shell();
}

static void a_lock_lost_while_the_job_was_stopped_ends_it(void **state)
{
    (void)state;
    start_shell();
    type("$H run --ttl 20s x -- sed -u s/^/got:/");
    type("one");
    h_expect(&p, "got:one");
    h_type(&p, "\032");
    h_expect(&p, "Stopped");
    h_expect(&p, PROMPT);
    assert_int_equal(H_RUN(&q, "holdfast", "break", "x"), 0);
    type("fg");
    h_expect(&p, "the lock 'x' was lost");
    expect_code("code=76.");
    leave_shell();
}

static void a_killed_command_leaves_the_terminal_as_it_was(void **state)
{
    struct termios modes;

    (void)state;
    start_shell();
    type("stty echo");
    h_expect(&p, PROMPT);
    type("$H run --on-lost kill x -- sh -c 'stty raw -echo; echo raw-$((40+2)); exec sleep 1000'");
    h_expect(&p, "raw-42");
    assert_int_equal(tcgetattr(p.out, &modes), 0);
    assert_false(modes.c_lflag & ECHO);
    assert_int_equal(H_RUN(&q, "holdfast", "break", "x"), 0);
    h_expect(&p, PROMPT);
    type("stty -a");
    h_expect(&p, " icanon");
    h_expect(&p, " echo ");
    h_expect(&p, PROMPT);
    leave_shell();
}

/* As in a container: no shell there to continue us, so nothing may stay stopped. */
static void without_a_shell_nothing_stays_stopped(void **state)
{
    (void)state;
    H_START(&p, H_TERMINAL, "holdfast", "run", "x", "--", "sed", "-u", "s/^/got:/");
    type("one");
    h_expect(&p, "got:one");
    h_type(&p, "\032");
    type("two");
    h_expect(&p, "got:two");
    h_type(&p, "\004");
    assert_int_equal(h_finish(&p), 0);
}

static void who_holds_it_is_drawn_while_we_wait(void **state)
{
    (void)state;
    H_START(&q, 0, "holdfast", "run", "--label", "the reason", "x", "--", HF_TEST_BIN "/cli_probe",
            "signals");
    h_expect(&q, "ready");
    H_START(&p, H_TERMINAL, "holdfast", "run", "x", "--", "echo", "ran");
    h_expect(&p, "\r\033[Kholdfast: 1s for 'x'");
    /* a server keeps no order among those who wait */
    h_expect(&p, h_is_redis() ? ", held by " : " (number 1 in line), held by ");
    h_expect(&p, "cli_probe");
    h_expect(&p, "\r\033[Kholdfast: 2s for 'x'");
    h_type(&p, "\003");
    assert_int_equal(h_finish(&p), 130);
    H_START(&p, H_TERMINAL, "holdfast", "run", "x", "--", "echo", "ran");
    h_expect(&p, "holdfast: 1s for 'x'");
    kill(q.pid, SIGTERM);
    h_finish(&q);
    h_expect(&p, "\r\033[Kran\r\n"); /* cleared before anything else */
    assert_int_equal(h_finish(&p), 0);
}

static void nothing_is_drawn_from_the_background(void **state)
{
    (void)state;
    H_START(&q, 0, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&q, "ready");
    start_shell();
    type("$H run x -- echo ran-$((40+2)) &");
    h_expect(&p, PROMPT);
    h_sleep_ms(1300);
    assert_false(h_has(&p, "for 'x'"));
    kill(q.pid, SIGTERM);
    h_finish(&q);
    h_expect(&p, "ran-42");
    leave_shell();
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, h_setup, h_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_command_reads_the_keyboard),
        TEST(a_key_reaches_the_command_once),
        TEST(a_key_ends_the_loop_and_the_script_around_it),
        TEST(a_lock_inside_a_lock_is_stopped_and_continued),
        TEST(a_job_is_stopped_and_continued),
        TEST(a_stopped_job_goes_on_in_the_background),
        TEST(a_background_start_leaves_the_terminal_alone),
        TEST(a_background_job_that_reads_stops_until_it_is_in_front),
        TEST(an_interactive_shell_works_inside),
        TEST(what_is_behind_a_pipe_keeps_the_keyboard),
        TEST(a_command_before_a_pipe_gets_the_keyboard_when_it_asks),
        TEST(a_lock_lost_while_the_job_was_stopped_ends_it),
        TEST(a_killed_command_leaves_the_terminal_as_it_was),
        TEST(without_a_shell_nothing_stays_stopped),
        TEST(who_holds_it_is_drawn_while_we_wait),
        TEST(nothing_is_drawn_from_the_background),
    };
    int failed;

    if (!h_begin(argc > 1 ? argv[1] : "sqlite")) {
        puts("skipped: no server is installed");
        return 77;
    }
    failed = cmocka_run_group_tests_name("cli tty", tests, NULL, NULL);
    h_end();
    return failed;
}
