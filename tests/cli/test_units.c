/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the command that decide or format and do nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/duration.h"
#include "cli/group.h"
#include "cli/lease.h"
#include "cli/options.h"
#include "cli/store.h"
#include "cli/text.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------------------ */

static void durations_are_exact(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {
        { "0", 0 },
        { "250ms", 250 },
        { "5s", 5000 },
        { "5", 5000 },
        { "2m", 120000 },
        { "1h", 3600000 },
        { "0.1", 100 },
        { "0.1s", 100 },
        { "1.5m", 90000 },
        { "0.5ms", 1 },
        { "0.000000001", 1 },
        { "0.000000001ms", 1 },
        { "0.0", 0 },
        { "0.0h", 0 },
        { "007s", 7000 },
        { "8760h", CLI_DURATION_MAX_MS },
        { "31536000", CLI_DURATION_MAX_MS },
        { "0.29", 290 },
        { "1.999999999s", 2000 },
        { "31536000000ms", CLI_DURATION_MAX_MS },
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t ms = -1;

        assert_int_equal(hfi_cli_duration(good[i].text, &ms), CLI_DURATION_OK);
        assert_int_equal(ms, good[i].ms);
    }
}

static void durations_are_strict(void **state)
{
    static const char *const bad[] = { "",     " ",    "s",    "ms",          "-1",  "+1",  "1 s",
                                       " 1",   "1s ",  "1S",   "1d",          ".5",  "5.",  "1.s",
                                       "1e3",  "0x10", "1..2", "1.2.3",       "inf", "nan", "1m5s",
                                       "1mss", "١",    "1,5",  "1.0000000001" };
    static const char *const large[] = { "8761h",
                                         "8760.1h",
                                         "31536000001ms",
                                         "9223372036854775807",
                                         "9223372036854775808ms",
                                         "99999999999999999999999999999999h",
                                         "31536000.001",
                                         "525600.1m" };
    int64_t ms = 42;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(hfi_cli_duration(bad[i], &ms), CLI_DURATION_MALFORMED);
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
        assert_int_equal(hfi_cli_duration(large[i], &ms), CLI_DURATION_TOO_LONG);
    assert_int_equal(ms, 42);
}

/* ------------------------------------------------------------------------------------------------ */

static void text_is_made_harmless(void **state)
{
    static const struct {
        const char *from, *clean, *utf8;
    } cases[] = {
        { "plain", "plain", "plain" },
        { "a\033[2Jb", "a?[2Jb", "a\033[2Jb" },
        { "a\nb\tc\x7f", "a?b?c?", "a\nb\tc\x7f" },
        { "\xc2\x9b"
          "31m",
          "?31m",
          "\xc2\x9b"
          "31m" },
        { "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
        { "a\xff"
          "b",
          "a?b",
          "a\xef\xbf\xbd"
          "b" },
        { "\xc0\xaf", "??", "\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xed\xa0\x80", "???", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "end\xe2\x82", "end??", "end\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xe2\x80\xae"
          "evil",
          "?evil",
          "\xe2\x80\xae"
          "evil" },
        { "\xf4\x90\x80\x80", "????", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
    };
    char to[64];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hfi_cli_clean(to, sizeof to, cases[i].from);
        assert_string_equal(to, cases[i].clean);
        hfi_cli_utf8(to, sizeof to, cases[i].from);
        assert_string_equal(to, cases[i].utf8);
    }
}

static void text_is_cut_between_characters(void **state)
{
    char to[4];

    (void)state;
    assert_int_equal(hfi_cli_clean(to, sizeof to, "ab\xc3\xbc"), 2);
    assert_string_equal(to, "ab");
    assert_int_equal(hfi_cli_clean(to, sizeof to,
                                   "a\xc3\xbc"
                                   "b"),
                     3);
    assert_string_equal(to, "a\xc3\xbc");
    assert_int_equal(hfi_cli_utf8(to, sizeof to, "a\xff"), 1);
    assert_int_equal(hfi_cli_width("a\xc3\xbc\xe6\xbc\xa2"
                                   "e\xcc\x81"),
                     5);
    assert_int_equal(hfi_cli_fit("\xe6\xbc\xa2\xe6\xbc\xa2", 3), 3);
    assert_int_equal(hfi_cli_fit("abc", 9), 3);
}

static void ages_are_short(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = { { -1, "-" },          { 0, "0s" },
                  { 3999, "3s" },       { 59999, "59s" },
                  { 60000, "1m" },      { 12 * 60000, "12m" },
                  { 7500000, "2h05m" }, { 86399999, "23h59m" },
                  { 86400000, "1d00h" } };
    char to[CLI_AGE_ROOM];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(hfi_cli_age(to, cases[i].ms), cases[i].text);
}

static void spans_are_exact(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = { { 0, "0ms" },         { 999, "999ms" },   { 1000, "1s" },    { 1500, "1.5s" },
                  { 1050, "1.05s" },    { 1001, "1.001s" }, { 90000, "90s" },  { 120000, "2m" },
                  { 120500, "120.5s" }, { 7200000, "2h" },  { 5400000, "90m" } };
    char to[CLI_SPAN_ROOM];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(hfi_cli_span(to, cases[i].ms), cases[i].text);
}

static void holders_are_named_as_far_as_known(void **state)
{
    struct hf_holder holder = { .size = sizeof holder, .pid = -1, .age_ms = -1 };
    char text[CLI_HOLDER_ROOM], since[CLI_SINCE_ROOM];

    (void)state;
    assert_string_equal(hfi_cli_holder(text, &holder), "-");
    strcpy(holder.owner, "8743c9c0-0795-4907-87fd-6c719a6b4586:57");
    assert_string_equal(hfi_cli_holder(text, &holder), "8743c9c0-0795-4907-87fd-6c719a6b4586:57");
    strcpy(holder.host, "web1");
    holder.pid = 17;
    assert_string_equal(hfi_cli_holder(text, &holder), "@web1 pid 17");
    strcpy(holder.user, "alice");
    strcpy(holder.program, "settle\033.sh");
    holder.age_ms = 180000;
    strcpy(holder.label, "why\n");
    assert_string_equal(hfi_cli_holder(text, &holder), "alice@web1 pid 17 settle?.sh");
    assert_string_equal(hfi_cli_holder_since(since, &holder),
                        "alice@web1 pid 17 settle?.sh for 3m: \"why?\"");
}

/* ------------------------------------------------------------------------------------------------ */

static void passwords_are_hidden(void **state)
{
    static const char *const cases[][2] = {
        { "redis://user:secret@host:6379/0", "redis://user@host:6379/0" },
        { "redis://:secret@host", "redis://@host" },
        { "redis://user:se@cr/et@host/1", "redis://user@host/1" },
        { "redis://host:6379", "redis://host:6379" },
        { "redis+unix:///tmp/a@b:c?db=2", "redis+unix:///tmp/a@b:c?db=2" },
        { "sqlite:/tmp/a:b@c", "sqlite:/tmp/a:b@c" },
        { "sqlite:///tmp/x:y@z", "sqlite:///tmp/x:y@z" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char uri[64];
        size_t length = strlen(cases[i][0]);

        strcpy(uri, cases[i][0]);
        hfi_cli_hide_password(uri);
        assert_string_equal(uri, cases[i][1]);
        for (size_t at = strlen(uri); at <= length; at++)
            assert_int_equal(uri[at], 0); /* nothing of it is left behind */
    }
}

static int next_of(int argc, const char *const *argv, struct cli_options *options)
{
    static const struct cli_option table[] = { { 1, 'n', false, "try" },
                                               { 2, 'E', true, "busy-code" },
                                               { 3, 0, true, "wait" },
                                               { 0, 0, false, NULL } };

    if (!options->table)
        hfi_cli_options_init(options, "test", table, argc, (char **)(uintptr_t)argv);
    return hfi_cli_options_next(options);
}

static void options_are_read_in_all_their_forms(void **state)
{
    const char *argv[] = { "test", "-nE5", "--wait=3", "--wait", "4", "-E", "6", "--", "-n", NULL };
    struct cli_options options = { .table = NULL };

    (void)state;
    assert_int_equal(next_of(9, argv, &options), 1);
    assert_int_equal(next_of(9, argv, &options), 2);
    assert_string_equal(options.value, "5");
    assert_int_equal(next_of(9, argv, &options), 3);
    assert_string_equal(options.value, "3");
    assert_int_equal(next_of(9, argv, &options), 3);
    assert_string_equal(options.value, "4");
    assert_int_equal(next_of(9, argv, &options), 2);
    assert_string_equal(options.value, "6");
    assert_int_equal(next_of(9, argv, &options), CLI_OPTIONS_END);
    assert_int_equal(options.next, 8);
}

static void wrong_options_are_told(void **state)
{
    static const char *const cases[][3] = {
        { "test", "--wai=3", NULL }, { "test", "--try=3", NULL }, { "test", "-x", NULL },
        { "test", "--wait", NULL },  { "test", "-E", NULL },      { "test", "---", NULL },
        { "test", "-n=3", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cli_options options = { .table = NULL };

        assert_int_equal(next_of(2, cases[i], &options), CLI_OPTIONS_WRONG);
        if (i == 6)
            assert_string_equal(options.given, "-n"); /* and not -= */
    }
}

/* ------------------------------------------------------------------------------------------------ */

static int member(const char *stat, pid_t group)
{
    return hfi_cli_group_member(stat, strlen(stat), group);
}

static void group_members_are_recognised(void **state)
{
    (void)state;
    assert_int_equal(member("7 (sh) S 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 99", 7), 1);
    assert_int_equal(member("7 (sh) S 1 8 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 99", 7), 0);
    assert_int_equal(member("7 (sh) Z 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 99", 7), -1);
    /* the first thread has ended, others run */
    assert_int_equal(member("7 (sh) Z 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 99", 7), 1);
    /* a name made to deceive */
    assert_int_equal(member("7 (a) Z 1 9 (b) S 1 7 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 99", 7), 1);
    assert_int_equal(member("7 (sh", 7), 0);
    assert_int_equal(member("", 7), 0);
}

static void other_descriptors_are_closed(void **state)
{
    int ends[2], kept = -1;
    pid_t pid;
    int status;
    char byte = 0;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        kept = ends[1];
        hfi_cli_close_others(&kept, 1);
        byte = fcntl(0, F_GETFD) < 0 && fcntl(ends[0], F_GETFD) < 0 && fcntl(kept, F_GETFD) >= 0;
        _exit(write(kept, &byte, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    close(ends[0]);
    close(ends[1]);
}

/* ------------------------------------------------------------------------------------------------ */

#define S     (UINT64_C(1000) * CLI_MS)
#define START (100 * S)

static struct cli_lease lease_of(enum cli_on_lost on_lost, int64_t max_hold_ms)
{
    struct cli_lease lease;

    hfi_cli_lease_init(&lease, on_lost, 10000, 30000, max_hold_ms, START);
    assert_int_equal(hfi_cli_lease_step(&lease, START, true, 30000, false), CLI_DO_NOTHING);
    return lease;
}

static void a_healthy_hold_is_left_alone(void **state)
{
    struct cli_lease lease = lease_of(CLI_ON_LOST_TERM, 0);

    (void)state;
    for (uint64_t t = 0; t < 1000; t++)
        assert_int_equal(hfi_cli_lease_step(&lease, START + t * S, true,
                                            20001 + (int64_t)(t % 10) * 1000, false),
                         CLI_DO_NOTHING);
    assert_int_equal(lease.ending, CLI_ENDING_NONE);
}

static void term_comes_before_the_deadline_and_kill_at_it(void **state)
{
    struct cli_lease lease = lease_of(CLI_ON_LOST_TERM, 0);

    (void)state;
    assert_int_equal(hfi_cli_lease_step(&lease, START + 20 * S - 1, true, 10001, false),
                     CLI_DO_NOTHING);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 20 * S, true, 10000, false),
                     CLI_DO_SAY | CLI_DO_TERM);
    assert_int_equal(lease.ending, CLI_ENDING_AT_RISK);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 25 * S, true, 5000, false), CLI_DO_NOTHING);
    assert_int_equal(hfi_cli_lease_limit(&lease), START + 30 * S);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 30 * S, true, 0, false),
                     CLI_DO_SAY | CLI_DO_KILL);
    assert_int_equal(lease.ending, CLI_ENDING_EXPIRED);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 31 * S, false, 0, false), CLI_DO_KILL);
}

static void a_late_renewal_moves_the_kill_but_takes_nothing_back(void **state)
{
    struct cli_lease lease = lease_of(CLI_ON_LOST_TERM, 0);

    (void)state;
    assert_int_equal(hfi_cli_lease_step(&lease, START + 20 * S, true, 10000, false),
                     CLI_DO_SAY | CLI_DO_TERM);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 29 * S, true, 29000, false),
                     CLI_DO_NOTHING);
    assert_int_equal(hfi_cli_lease_limit(&lease), START + 58 * S);
    assert_int_equal(lease.ending, CLI_ENDING_AT_RISK);
    /* the command has ended, stragglers are left: they get K */
    assert_int_equal(hfi_cli_lease_step(&lease, START + 30 * S, true, 29000, true), CLI_DO_NOTHING);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 39 * S, true, 29000, true), CLI_DO_NOTHING);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 40 * S, true, 29000, true), CLI_DO_KILL);
}

static void a_hold_taken_away_ends_with_term_then_kill(void **state)
{
    struct cli_lease lease = lease_of(CLI_ON_LOST_TERM, 0);

    (void)state;
    assert_int_equal(hfi_cli_lease_step(&lease, START + 5 * S, false, 0, false),
                     CLI_DO_SAY | CLI_DO_TERM);
    assert_int_equal(lease.ending, CLI_ENDING_REMOVED);
    assert_int_equal(hfi_cli_lease_limit(&lease), START + 15 * S);
    assert_int_equal(hfi_cli_lease_next(&lease, START + 5 * S), START + 15 * S);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 15 * S - 1, false, 0, false),
                     CLI_DO_NOTHING);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 15 * S, false, 0, false), CLI_DO_KILL);
}

static void on_lost_kill_sends_no_term(void **state)
{
    struct cli_lease lease = lease_of(CLI_ON_LOST_KILL, 0);

    (void)state;
    assert_int_equal(hfi_cli_lease_step(&lease, START + 25 * S, true, 5000, false), CLI_DO_NOTHING);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 26 * S, false, 0, false),
                     CLI_DO_SAY | CLI_DO_KILL);
    assert_int_equal(lease.ending, CLI_ENDING_REMOVED);
}

static void on_lost_ignore_only_tells(void **state)
{
    struct cli_lease lease = lease_of(CLI_ON_LOST_IGNORE, 0);

    (void)state;
    assert_int_equal(hfi_cli_lease_limit(&lease), CLI_NEVER);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 25 * S, true, 5000, false), CLI_DO_NOTHING);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 30 * S, false, 0, false), CLI_DO_SAY);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 99 * S, false, 0, false), CLI_DO_NOTHING);
    assert_int_equal(hfi_cli_lease_next(&lease, START + 99 * S), CLI_NEVER);
    assert_int_equal(hfi_cli_lease_limit(&lease), CLI_NEVER);
    assert_int_equal(lease.ending, CLI_ENDING_EXPIRED);
}

static void max_hold_is_a_deadline_that_no_renewal_moves(void **state)
{
    struct cli_lease lease = lease_of(CLI_ON_LOST_TERM, 60000);

    (void)state;
    assert_int_equal(hfi_cli_lease_step(&lease, START + 49 * S, true, 30000, false),
                     CLI_DO_NOTHING);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 50 * S, true, 30000, false),
                     CLI_DO_SAY | CLI_DO_TERM);
    assert_int_equal(lease.ending, CLI_ENDING_MAX_HOLD);
    assert_int_equal(hfi_cli_lease_limit(&lease), START + 60 * S);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 60 * S, true, 30000, false), CLI_DO_KILL);
    assert_int_equal(lease.ending, CLI_ENDING_MAX_HOLD);
}

static void kill_after_is_cut_to_a_third(void **state)
{
    struct cli_lease lease;

    (void)state;
    hfi_cli_lease_init(&lease, CLI_ON_LOST_TERM, 10000, 3000, 0, START);
    assert_int_equal(lease.kill_after_ns, S);
    hfi_cli_lease_init(&lease, CLI_ON_LOST_TERM, 10000, 30000, 600, START);
    assert_int_equal(lease.kill_after_ns, 200 * CLI_MS);
    hfi_cli_lease_init(&lease, CLI_ON_LOST_TERM, 500, 30000, 0, START);
    assert_int_equal(lease.kill_after_ns, 500 * CLI_MS);
    /* soon after the boot, when a deadline is nearer to zero than kill-after is long */
    hfi_cli_lease_init(&lease, CLI_ON_LOST_TERM, 10000, 30000, 0, S);
    assert_true(hfi_cli_lease_next(&lease, S) <= S);
    assert_int_equal(hfi_cli_lease_step(&lease, S, true, 9000, false), CLI_DO_SAY | CLI_DO_TERM);
}

static void want_of_a_guard_ends_the_command_whatever_on_lost_says(void **state)
{
    struct cli_lease lease = lease_of(CLI_ON_LOST_IGNORE, 0);

    (void)state;
    hfi_cli_lease_end(&lease, START + S);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 10 * S, true, 29000, false),
                     CLI_DO_NOTHING);
    assert_int_equal(hfi_cli_lease_step(&lease, START + 11 * S, true, 29000, false), CLI_DO_KILL);
    assert_int_equal(lease.ending, CLI_ENDING_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_exact),
        cmocka_unit_test(durations_are_strict),
        cmocka_unit_test(text_is_made_harmless),
        cmocka_unit_test(text_is_cut_between_characters),
        cmocka_unit_test(ages_are_short),
        cmocka_unit_test(spans_are_exact),
        cmocka_unit_test(holders_are_named_as_far_as_known),
        cmocka_unit_test(passwords_are_hidden),
        cmocka_unit_test(options_are_read_in_all_their_forms),
        cmocka_unit_test(wrong_options_are_told),
        cmocka_unit_test(group_members_are_recognised),
        cmocka_unit_test(other_descriptors_are_closed),
        cmocka_unit_test(a_healthy_hold_is_left_alone),
        cmocka_unit_test(term_comes_before_the_deadline_and_kill_at_it),
        cmocka_unit_test(a_late_renewal_moves_the_kill_but_takes_nothing_back),
        cmocka_unit_test(a_hold_taken_away_ends_with_term_then_kill),
        cmocka_unit_test(on_lost_kill_sends_no_term),
        cmocka_unit_test(on_lost_ignore_only_tells),
        cmocka_unit_test(max_hold_is_a_deadline_that_no_renewal_moves),
        cmocka_unit_test(kill_after_is_cut_to_a_third),
        cmocka_unit_test(want_of_a_guard_ends_the_command_whatever_on_lost_says),
    };

    return cmocka_run_group_tests_name("cli units", tests, NULL, NULL);
}
