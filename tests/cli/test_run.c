/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast run`: exit codes, what the command gets, signals, messages. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/harness.h"

static struct h_process p, q;

/* ------------------------------------------------------------------------------------------------
 * Exit codes
 */

static void the_commands_own_code_is_passed_on(void **state)
{
    (void)state;
    assert_int_equal(H_RUN(&p, "holdfast", "run", "x", "--", "true"), 0);
    assert_string_equal(p.err_text, "");
    assert_int_equal(H_RUN(&p, "holdfast", "run", "x", "sh", "-c", "exit 7"), 7);
    assert_int_equal(H_RUN(&p, "holdfast", "run", "x", "--", "sh", "-c", "exit 255"), 255);
}

static void a_command_that_a_signal_ended_gives_128_and_its_number(void **state)
{
    (void)state;
    assert_int_equal(H_RUN(&p, "holdfast", "run", "x", "--", "sh", "-c", "kill -9 $$"), 137);
    assert_int_equal(H_RUN(&p, "holdfast", "run", "x", "--", "sh", "-c", "kill -SEGV $$"), 139);
}

static void what_cannot_be_executed_is_126_or_127(void **state)
{
    (void)state;
    assert_int_equal(H_RUN(&p, "holdfast", "run", "x", "--", "no-such-command"), 127);
    assert_string_equal(p.err_text, "holdfast: 'no-such-command': command not found\n");
    assert_int_equal(H_RUN(&p, "holdfast", "run", "x", "--", "/no/such/file"), 127);
    assert_int_equal(H_RUN(&p, "holdfast", "run", "x", "--", "/etc/passwd"), 126);
    assert_string_equal(p.err_text,
                        "holdfast: '/etc/passwd' cannot be executed: Permission denied\n");
    assert_int_equal(H_RUN(&p, "holdfast", "run", "x", "--", "/"), 126);
    /* and the lock is free again */
    assert_int_equal(H_RUN(&p, "holdfast", "run", "-n", "x", "--", "true"), 0);
}

static void usage_errors_are_64(void **state)
{
    static const char *const cases[][8] = {
        { "holdfast" },
        { "holdfast", "nonsense" },
        { "holdfast", "run" },
        { "holdfast", "run", "x" },
        { "holdfast", "run", "x", "--" },
        { "holdfast", "run", "--nonsense", "x", "true" },
        { "holdfast", "run", "--wait", "5x", "x", "true" },
        { "holdfast", "run", "--wait" },
        { "holdfast", "run", "--ttl", "99ms", "x", "true" },
        { "holdfast", "run", "--ttl", "25h", "x", "true" },
        { "holdfast", "run", "--max-hold", "0", "x", "true" },
        { "holdfast", "run", "--on-lost", "panic", "x", "true" },
        { "holdfast", "run", "-E", "256", "x", "true" },
        { "holdfast", "run", "-E", "", "x", "true" },
        { "holdfast", "run", "-E", "-1", "x", "true" },
        { "holdfast", "run", "-n=3", "x", "true" },
        { "holdfast", "run", "--store", "nonsense:x", "x", "true" },
        { "holdfast", "run", "", "true" },
        { "holdfast", "run", "a\nb", "true" },
        { "holdfast", "run", "a\xff", "true" },
        { "holdfast", "run", "--label", "a\033", "x", "true" },
        { "holdfast", "ls", "a", "b" },
        { "holdfast", "ls", "--json", "--names" },
        { "holdfast", "show" },
        { "holdfast", "show", "a", "b" },
        { "holdfast", "break" },
        { "holdfast", "version", "x" },
        { "holdfast", "help", "nonsense" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code = h_run(&p, cases[i]);

        if (code != 64 || strncmp(p.err_text, "holdfast: ", 10) != 0 ||
            strchr(p.err_text, '\n') != p.err_text + p.err_length - 1)
            fail_msg("case %zu: code %d: %s", i, code, p.err_text);
        assert_string_equal(p.out_text, "");
    }
}

static void names_and_labels_have_limits(void **state)
{
    char name[1026], label[258];

    (void)state;
    memset(name, 'n', sizeof name);
    memset(label, 'l', sizeof label);
    name[1025] = label[257] = '\0';
    assert_int_equal(H_RUN(&p, "holdfast", "run", name, "true"), 64);
    assert_int_equal(H_RUN(&p, "holdfast", "run", "--label", label, "x", "true"), 64);
    name[1024] = label[256] = '\0';
    assert_int_equal(H_RUN(&p, "holdfast", "run", "--label", label, name, "true"), 0);
}

static void an_unreachable_store_is_69(void **state)
{
    char uri[64];

    (void)state;
    assert_int_equal(H_RUN(&p, "holdfast", "run", "--store", "redis://127.0.0.1:1", "x", "true"),
                     69);
    assert_int_equal(strncmp(p.err_text, "holdfast: ", 10), 0);
    assert_ptr_equal(strchr(p.err_text, '\n'), p.err_text + p.err_length - 1);
    snprintf(uri, sizeof uri, "sqlite:/proc/no/such/folder/x");
    assert_int_equal(H_RUN(&p, "holdfast", "run", "--store", uri, "x", "true"), 69);
    assert_int_equal(H_RUN(&p, "holdfast", "ls", "--store", "redis://127.0.0.1:1"), 69);
    assert_int_equal(H_RUN(&p, "holdfast", "show", "--store", "redis://127.0.0.1:1", "x"), 69);
    assert_int_equal(H_RUN(&p, "holdfast", "break", "--store", "redis://127.0.0.1:1", "x"), 69);
}

static void output_that_cannot_be_written_is_74(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(H_RUN(&p, "sh", "-c", "exec \"$0\" ls > /dev/full", HF_TEST_COMMAND), 74);
    assert_int_equal(H_RUN(&p, "sh", "-c", "exec \"$0\" help > /dev/full", HF_TEST_COMMAND), 74);
    assert_int_equal(H_RUN(&p, "sh", "-c", "exec \"$0\" ls >&-", HF_TEST_COMMAND), 74);
    assert_string_equal(p.err_text,
                        "holdfast: standard output cannot be written: Bad file descriptor\n");
    assert_int_equal(H_RUN(&p, "sh", "-c", "exec \"$0\" version >&-", HF_TEST_COMMAND), 74);
    assert_int_equal(H_RUN(&p, "sh", "-c", "exec \"$0\" run x true >&-", HF_TEST_COMMAND), 0);
}

/* On a server people see a holder a little later. */
static bool is_told(void *arg)
{
    (void)arg;
    H_RUN(&p, "holdfast", "show", "job:x");
    return strstr(p.out_text, "the reason") != NULL;
}

static void busy_is_75_or_what_E_says_and_names_the_holder(void **state)
{
    char host[65] = "", expected[128];

    (void)state;
    gethostname(host, sizeof host - 1);
    H_START(&q, 0, "holdfast", "run", "--label", "the reason", "job:x", "--",
            HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&q, "ready");
    h_until(is_told, NULL, "the holder to be known");
    assert_int_equal(H_RUN(&p, "holdfast", "run", "-n", "job:x", "true"), 75);
    snprintf(expected, sizeof expected, "@%s pid %d cli_probe for ", host, (int)q.pid);
    assert_non_null(strstr(p.err_text, "holdfast: 'job:x' is held by "));
    assert_non_null(strstr(p.err_text, expected));
    assert_non_null(strstr(p.err_text, ": \"the reason\"\n"));
    assert_ptr_equal(strchr(p.err_text, '\n'), p.err_text + p.err_length - 1);
    assert_int_equal(H_RUN(&p, "holdfast", "run", "-nE9", "job:x", "true"), 9);
    assert_int_equal(H_RUN(&p, "holdfast", "run", "--wait", "0", "--busy-code=0", "job:x", "true"),
                     0);
    assert_int_equal(H_RUN(&p, "holdfast", "run", "--wait", "100ms", "job:x", "true"), 75);
    assert_non_null(strstr(p.err_text, "gave up after 100ms: 'job:x' is held by "));
    assert_int_equal(H_RUN(&p, "holdfast", "run", "--wait", "1.1s", "job:x", "true"), 75);
    assert_non_null(strstr(p.err_text, "gave up after 1.1s: "));
    kill(q.pid, SIGTERM);
    assert_int_equal(h_finish(&q), 40);
}

static void help_is_everywhere(void **state)
{
    static const char *const names[] = { "run", "ls", "show", "break", "version", "help" };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(H_RUN(&p, "holdfast", names[i], "--help"), 0);
        assert_int_equal(strncmp(p.out_text, "Usage: holdfast ", 16), 0);
        assert_int_equal(H_RUN(&q, "holdfast", "help", names[i]), 0);
        assert_string_equal(p.out_text, q.out_text);
        assert_int_equal(H_RUN(&q, "holdfast", "help"), 0);
        assert_non_null(strstr(q.out_text, names[i]));
    }
    assert_int_equal(H_RUN(&p, "holdfast", "--help"), 0);
    assert_string_equal(p.out_text, q.out_text);
    assert_int_equal(H_RUN(&p, "holdfast", "version"), 0);
    assert_int_equal(strncmp(p.out_text, "holdfast ", 9), 0);
    assert_int_equal(H_RUN(&q, "holdfast", "--version"), 0);
    assert_string_equal(p.out_text, q.out_text);
}

/* ------------------------------------------------------------------------------------------------
 * What the command gets
 */

static void the_command_knows_its_lock(void **state)
{
    long first, second;

    (void)state;
    assert_int_equal(H_RUN(&p, "holdfast", "run", "job:x", "--", "env"), 0);
    assert_non_null(strstr(p.out_text, "HOLDFAST_NAME=job:x\n"));
    assert_non_null(strstr(p.out_text, "HOLDFAST_STORE="));
    first = h_number(&p, "HOLDFAST_TOKEN=");
    assert_true(first > 0);
    assert_int_equal(H_RUN(&p, "holdfast", "run", "job:x", "--", "env"), 0);
    second = h_number(&p, "HOLDFAST_TOKEN=");
    assert_true(second > first);
    assert_non_null(strstr(p.out_text, "HOLDFAST_OWNER="));
}

static void the_owner_in_the_environment_is_the_one_in_the_store(void **state)
{
    char *owner, *end;

    (void)state;
    assert_int_equal(H_RUN(&p, "holdfast", "run", "x", "--", "sh", "-c",
                           "echo \"mine $HOLDFAST_OWNER.\"; \"$0\" show x", HF_TEST_COMMAND),
                     0);
    owner = strstr(p.out_text, "mine ");
    assert_non_null(owner);
    owner += 5;
    end = strchr(owner, '.');
    *end = '\0';
    assert_true(strlen(owner) > 36);
    assert_non_null(strstr(end + 1, owner));
}

static void arguments_behind_the_name_belong_to_the_command(void **state)
{
    (void)state;
    assert_int_equal(H_RUN(&p, "holdfast", "run", "-v", "x", "echo", "-v", "--wait", "--", "-n"),
                     0);
    assert_string_equal(p.out_text, "-v --wait -- -n\n");
    assert_int_equal(H_RUN(&p, "holdfast", "run", "x", "--", "echo", "--"), 0);
    assert_string_equal(p.out_text, "--\n");
    assert_int_equal(
        H_RUN(&p, "holdfast", "run", "--", "-x", "--", "sh", "-c", "echo $HOLDFAST_NAME"), 0);
    assert_string_equal(p.out_text, "-x\n");
}

static void standard_input_is_untouched(void **state)
{
    (void)state;
    H_START(&p, H_PIPE_IN, "holdfast", "run", "x", "--", "cat");
    h_type(&p, "through\n");
    h_expect(&p, "through");
    assert_int_equal(h_finish(&p), 0);
    assert_string_equal(p.out_text, "through\n");
}

static void closed_standard_descriptors_stay_closed(void **state)
{
    FILE *file;
    int open_ones = -1;

    (void)state;
    H_START(&p, H_CLOSE_STD, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "standard",
            h_path("standard"));
    assert_int_equal(h_finish(&p), 0);
    file = fopen(h_path("standard"), "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "open %d", &open_ones), 1);
    fclose(file);
    assert_int_equal(open_ones, 0);
}

/* They are others each time. */
static void hide_pipe_numbers(char *text)
{
    char *to = text;

    for (const char *from = text; *from;) {
        *to++ = *from;
        if (strncmp(from, "pipe:[", 6) == 0)
            from = strchr(from, ']');
        else
            from++;
    }
    *to = '\0';
}

/* What the test program itself leaves open, too, must come through, and nothing else. */
static void the_command_gets_no_descriptor_of_ours(void **state)
{
    (void)state;
    assert_int_equal(
        H_RUN(&q, "sh", "-c", "exec \"$0\" fds 2>&1 7</dev/null", HF_TEST_BIN "/cli_probe"), 0);
    assert_int_equal(H_RUN(&p, "sh", "-c", "exec \"$0\" run x -- \"$1\" fds 2>&1 7</dev/null",
                           HF_TEST_COMMAND, HF_TEST_BIN "/cli_probe"),
                     0);
    assert_non_null(strstr(p.out_text, "fd 7 /dev/null\n"));
    hide_pipe_numbers(p.out_text);
    hide_pipe_numbers(q.out_text);
    assert_string_equal(p.out_text, q.out_text);
}

static void the_command_gets_our_original_signals(void **state)
{
    (void)state;
    H_START(&q, H_IGNORE_HUP, "probe", "mask");
    assert_int_equal(h_finish(&q), 0);
    H_START(&p, H_IGNORE_HUP, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "mask");
    assert_int_equal(h_finish(&p), 0);
    assert_string_equal(p.out_text, q.out_text);
}

static void the_command_has_a_group_of_its_own(void **state)
{
    (void)state;
    H_START(&p, 0, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&p, "ready");
    assert_int_equal(h_number(&p, "pid "), h_number(&p, "group "));
    assert_int_not_equal(h_number(&p, "group "), getpgrp());
    kill(p.pid, SIGTERM);
    assert_int_equal(h_finish(&p), 40);
}

static bool file_is_written(void *arg)
{
    char text[4096] = "";
    FILE *file = fopen(arg, "re");
    size_t count;

    if (!file)
        return false;
    count = fread(text, 1, sizeof text - 1, file);
    text[count] = '\0';
    fclose(file);
    return strstr(text, "end of list") != NULL;
}

static void background_processes_survive_the_end_of_the_command(void **state)
{
    static const char *const kinds[] = { "background", "daemon" };

    (void)state;
    for (int i = 0; i < 2; i++) {
        char path[512];

        snprintf(path, sizeof path, "%s", h_path(kinds[i]));
        H_START(&p, 0, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", kinds[i], path);
        assert_int_equal(h_finish(&p), 0);
        h_until(file_is_written, path, "the list of the background process");
        /* it runs still, and the lock is free */
        assert_int_equal(H_RUN(&q, "holdfast", "run", "-n", "x", "--", "cat", path), 0);
        if (i == 1) /* a daemon has nothing but its own file */
            assert_string_equal(q.out_text, "end of list\n");
        unlink(path);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Signals
 */

static void signals_are_passed_on(void **state)
{
    static const int numbers[] = { SIGUSR1, SIGUSR2, SIGWINCH, SIGTERM, SIGINT, SIGHUP, SIGQUIT };

    (void)state;
    H_START(&p, 0, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "signals", "deaf");
    h_expect(&p, "ready");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[32];

        kill(p.pid, numbers[i]);
        snprintf(text, sizeof text, "signal %d\n", numbers[i]);
        h_expect(&p, text);
    }
    kill((pid_t)h_number(&p, "pid "), SIGKILL);
    assert_int_equal(h_finish(&p), 137);
}

static void term_ends_the_command_and_frees_the_lock(void **state)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        H_START(&p, 0, "holdfast", "run", "x", "--", "sh", "-c", "echo ready; exec sleep 1000");
        h_expect(&p, "ready");
        kill(p.pid, numbers[i]);
        assert_int_equal(h_finish(&p), 128 + numbers[i]);
        assert_int_equal(H_RUN(&q, "holdfast", "run", "-n", "x", "true"), 0);
    }
}

static void an_ignored_hup_stays_ignored(void **state)
{
    (void)state;
    H_START(&p, H_IGNORE_HUP, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "signals",
            "deaf");
    h_expect(&p, "ready");
    kill(p.pid, SIGHUP);
    kill(p.pid, SIGUSR1);
    h_expect(&p, "signal 10\n");
    assert_false(h_has(&p, "signal 1\n"));
    kill((pid_t)h_number(&p, "pid "), SIGKILL);
    assert_int_equal(h_finish(&p), 137);
}

/* The whole group gets it, and what is left of it keeps the lock for a while. */
static void term_waits_for_the_rest_of_the_group(void **state)
{
    pid_t child;

    (void)state;
    H_START(&p, 0, "holdfast", "run", "--ttl", "3s", "x", "--", "sh", "-c",
            "\"$0\" signals deaf & wait", HF_TEST_BIN "/cli_probe");
    h_expect(&p, "ready");
    child = (pid_t)h_number(&p, "pid ");
    kill(p.pid, SIGTERM);
    h_expect(&p, "signal 15\n");
    assert_int_equal(H_RUN(&q, "holdfast", "run", "-n", "x", "true"), 75);
    kill(child, SIGKILL);
    assert_int_equal(h_finish(&p), 143);
    assert_string_equal(p.err_text, "");
}

static void what_ignores_term_is_left_behind_after_kill_after(void **state)
{
    pid_t child;

    (void)state;
    H_START(&p, 0, "holdfast", "run", "--kill-after", "200ms", "x", "--", "sh", "-c",
            "\"$0\" signals deaf & wait", HF_TEST_BIN "/cli_probe");
    h_expect(&p, "ready");
    child = (pid_t)h_number(&p, "pid ");
    kill(p.pid, SIGTERM);
    assert_int_equal(h_finish(&p), 143);
    assert_non_null(strstr(p.err_text, "processes that the command started are left"));
    assert_true(h_state(child) != '\0' && h_state(child) != 'Z');
    kill(child, SIGKILL);
}

static void a_stopped_command_hears_term_too(void **state)
{
    pid_t command;

    (void)state;
    H_START(&p, 0, "holdfast", "run", "x", "--", "sh", "-c", "echo pid $$; exec sleep 1000");
    h_expect(&p, "pid ");
    h_expect(&p, "\n");
    command = (pid_t)h_number(&p, "pid ");
    kill(command, SIGSTOP);
    h_wait_state(command, 'T');
    h_expect_err(&p, "stopped");
    kill(p.pid, SIGTERM);
    assert_int_equal(h_finish(&p), 143);
}

static void signals_end_the_waiting(void **state)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };

    (void)state;
    H_START(&q, 0, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&q, "ready");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct h_process look;

        H_START(&p, 0, "holdfast", "run", "-v", "x", "--", "echo", "ran");
        h_expect_err(&p, "waiting for 'x'");
        kill(p.pid, SIGUSR1); /* nobody to pass it on to */
        kill(p.pid, numbers[i]);
        assert_int_equal(h_finish(&p), 128 + numbers[i]);
        assert_string_equal(p.out_text, "");
        H_RUN(&look, "holdfast", "show", "x");
        assert_non_null(strstr(look.out_text, "waiters    0\n")); /* it left the queue */
    }
    kill(q.pid, SIGTERM);
    assert_int_equal(h_finish(&q), 40);
}

/* However few there are: it works, or one line says why not, and nothing is left. */
static void want_of_descriptors_is_told(void **state)
{
    int worked = 0, told = 0;

    (void)state;
    for (int limit = 4; limit <= 40; limit++) {
        char command[64];
        int code;

        snprintf(command, sizeof command, "ulimit -n %d; exec \"$0\" run -n x true", limit);
        code = H_RUN(&p, "sh", "-c", command, HF_TEST_COMMAND);
        if (code == 0) {
            worked++;
        } else if (code == 69 || code == 71) {
            assert_non_null(strstr(p.err_text, "holdfast: "));
            told++;
        } else if (code != 127) { /* the dynamic linker needs one, too */
            fail_msg("%d descriptors: code %d: %s", limit, code, p.err_text);
        }
    }
    assert_true(worked > 0);
    assert_true(told > 0);
    assert_int_equal(H_RUN(&p, "holdfast", "run", "-n", "x", "true"), 0);
}

/* ------------------------------------------------------------------------------------------------
 * Messages
 */

static void verbose_tells_of_the_wait_and_the_hold(void **state)
{
    (void)state;
    H_START(&q, 0, "holdfast", "run", "x", "--", HF_TEST_BIN "/cli_probe", "signals");
    h_expect(&q, "ready");
    H_START(&p, 0, "holdfast", "run", "-v", "x", "--", "true");
    h_expect_err(&p, "holdfast: waiting for 'x'");
    kill(q.pid, SIGTERM);
    h_finish(&q);
    assert_int_equal(h_finish(&p), 0);
    assert_non_null(strstr(p.err_text, "holdfast: holding 'x', token "));
    /* and nothing without -v */
    assert_int_equal(H_RUN(&p, "holdfast", "run", "x", "true"), 0);
    assert_string_equal(p.err_text, "");
}

static bool everything_of(pid_t pid, const char *what, char *text, size_t room)
{
    char path[64];
    FILE *file;
    size_t count;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    file = fopen(path, "re");
    if (!file)
        return false;
    count = fread(text, 1, room - 1, file);
    fclose(file);
    for (size_t i = 0; i < count; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    text[count] = '\0';
    return true;
}

static void no_password_is_shown(const char *uri, bool by_option)
{
    static const char *const files[] = { "cmdline", "environ" };
    char text[65536];
    pid_t pids[3];

    if (by_option) {
        unsetenv("HOLDFAST_STORE");
        H_START(&p, 0, "holdfast", "run", "-v", "--store", uri, "x", "--", "sh", "-c",
                "env; \"$0\" signals", HF_TEST_BIN "/cli_probe");
    } else {
        setenv("HOLDFAST_STORE", uri, 1);
        H_START(&p, 0, "holdfast", "run", "-v", "x", "--", "sh", "-c", "env; \"$0\" signals",
                HF_TEST_BIN "/cli_probe");
    }
    h_expect(&p, "ready");
    pids[0] = p.pid;
    pids[1] = h_guard_of(p.pid);
    pids[2] = (pid_t)h_number(&p, "ready pid ");
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 2; j++) {
            assert_true(everything_of(pids[i], files[j], text, sizeof text));
            assert_null(strstr(text, "sesame"));
        }
    }
    kill(p.pid, SIGTERM);
    h_finish(&p);
    assert_non_null(strstr(p.out_text, "HOLDFAST_STORE=redis://"));
    assert_null(strstr(p.out_text, "sesame"));
    assert_null(strstr(p.err_text, "sesame"));
}

static void passwords_are_nowhere_to_be_seen(void **state)
{
    char uri[128];

    (void)state;
    /* one that does not work */
    assert_int_equal(
        H_RUN(&p, "holdfast", "run", "--store", "redis://me:sesame@127.0.0.1:1", "x", "true"), 69);
    assert_null(strstr(p.err_text, "sesame"));
    assert_int_equal(H_RUN(&p, "holdfast", "ls", "--store", "redis://me:sesame@127.0.0.1:nonsense"),
                     64);
    assert_null(strstr(p.err_text, "sesame"));
    if (!h_is_redis())
        skip();
    assert_non_null(strstr(h_redis("ACL SETUSER keeper on >sesame ~* &* +@all"), "OK"));
    snprintf(uri, sizeof uri, "redis://keeper:sesame@127.0.0.1:%d/0", h_port());
    no_password_is_shown(uri, true);
    no_password_is_shown(uri, false);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, h_setup, h_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_commands_own_code_is_passed_on),
        TEST(a_command_that_a_signal_ended_gives_128_and_its_number),
        TEST(what_cannot_be_executed_is_126_or_127),
        TEST(usage_errors_are_64),
        TEST(names_and_labels_have_limits),
        TEST(an_unreachable_store_is_69),
        TEST(output_that_cannot_be_written_is_74),
        TEST(busy_is_75_or_what_E_says_and_names_the_holder),
        TEST(help_is_everywhere),
        TEST(the_command_knows_its_lock),
        TEST(the_owner_in_the_environment_is_the_one_in_the_store),
        TEST(arguments_behind_the_name_belong_to_the_command),
        TEST(standard_input_is_untouched),
        TEST(closed_standard_descriptors_stay_closed),
        TEST(the_command_gets_no_descriptor_of_ours),
        TEST(the_command_gets_our_original_signals),
        TEST(the_command_has_a_group_of_its_own),
        TEST(background_processes_survive_the_end_of_the_command),
        TEST(signals_are_passed_on),
        TEST(term_ends_the_command_and_frees_the_lock),
        TEST(an_ignored_hup_stays_ignored),
        TEST(term_waits_for_the_rest_of_the_group),
        TEST(what_ignores_term_is_left_behind_after_kill_after),
        TEST(a_stopped_command_hears_term_too),
        TEST(signals_end_the_waiting),
        TEST(want_of_descriptors_is_told),
        TEST(verbose_tells_of_the_wait_and_the_hold),
        TEST(passwords_are_nowhere_to_be_seen),
    };
    int failed;

    if (!h_begin(argc > 1 ? argv[1] : "sqlite")) {
        puts("skipped: no server is installed");
        return 77;
    }
    failed = cmocka_run_group_tests_name("cli run", tests, NULL, NULL);
    h_end();
    return failed;
}
