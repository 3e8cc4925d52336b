/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule, on histories made by hand: good ones, and bad ones that it alone must find. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "history/check.h"

/* What is found in a history, as the rules' words in their order: "overlap linear"; "" for nothing. */
static const char *found_in(const char *text, const struct lin_model *model,
                            struct check_counts *ret_counts)
{
    static char found[256];
    struct check_options options = { .model = model };
    struct history history;
    char why[256];
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

    assert_non_null(file);
    hist_init(&history);
    if (!hist_read(&history, file, why, sizeof why))
        fail_msg("%s", why);
    fclose(file);
    check_history(&history, &options, ret_counts);
    hist_free(&history);
    found[0] = '\0';
    for (int i = 0; i < CHECK_RULE_COUNT; i++)
        if (ret_counts->found[i])
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", *found ? " " : "",
                     check_rule_word((enum check_rule)i));
    return found;
}

static void expect(const char *rules, const char *text)
{
    struct check_counts counts;

    assert_string_equal(found_in(text, &LIN_FENCED, &counts), rules);
}

/* ------------------------------------------------------------------------------------------------
 * Overlap
 */

static void claims(void **state)
{
    (void)state;
    /* one after the other, the second one having waited */
    expect("", "10 20 p1 t1 L a acquire ok token=1 until=100\n"
               "30 40 p1 t1 L a look ok token=1 until=130\n"
               "50 60 p1 t1 L a release ok token=1\n"
               "15 55 p2 t1 L b acquire ok token=2 until=200\n"
               "80 90 p2 t1 L b release ok token=2\n");
    /* the second one has it before the first one lets go */
    expect("overlap linear", "10 20 p1 t1 L a acquire ok token=1 until=100\n"
                             "50 60 p1 t1 L a release ok token=1\n"
                             "15 45 p2 t1 L b acquire ok token=2 until=200\n"
                             "80 90 p2 t1 L b release ok token=2\n");
    /* other locks are other locks */
    expect("", "10 20 p1 t1 L a acquire ok token=1 until=100\n"
               "50 60 p1 t1 L a release ok token=1\n"
               "15 45 p2 t1 M b acquire ok token=2 until=200\n");
}

static void deadlines(void **state)
{
    (void)state;
    /* the lease is over, the second one begins; a look that says lost changes nothing */
    expect("", "10 20 p1 t1 L a acquire ok token=1 until=100\n"
               "15 101 p2 t1 L b acquire ok token=2 until=200\n"
               "150 151 p1 t1 L a look fail token=1\n"
               "160 170 p1 t1 L a release fail token=1 error=LOST\n");
    expect("overlap linear", "10 20 p1 t1 L a acquire ok token=1 until=100\n"
                             "15 99 p2 t1 L b acquire ok token=2 until=200\n");
    /* a renewal was seen: the deadline is a later one */
    expect("overlap linear", "10 20 p1 t1 L a acquire ok token=1 until=100\n"
                             "90 91 p1 t1 L a look ok token=1 until=150\n"
                             "15 101 p2 t1 L b acquire ok token=2 until=200\n");
    /* what was over when it was had is no claim */
    expect("", "10 20 p1 t1 L a acquire ok token=1\n"
               "15 25 p2 t1 L b acquire ok token=2 until=200\n");
}

static void deaths(void **state)
{
    static const char LINES[] = "10 20 p1 t1 L a acquire ok token=1 until=100\n"
                                "30 35 p1 t0 - - kill ok\n"
                                "15 40 p2 t1 L b acquire ok token=2 until=200\n";
    char text[512];

    (void)state;
    expect("overlap linear", LINES);
    snprintf(text, sizeof text, "set death frees\n%s", LINES);
    expect("", text);
    /* not before it is dead */
    expect("overlap linear", "set death frees\n"
                             "10 20 p1 t1 L a acquire ok token=1 until=100\n"
                             "30 35 p1 t0 - - kill ok\n"
                             "15 29 p2 t1 L b acquire ok token=2 until=200\n");
}

static void reentry(void **state)
{
    (void)state;
    /* the claim lasts until the last handle is given back */
    expect("", "10 20 p1 t1 L a acquire ok token=1 until=200\n"
               "21 22 p1 t1 L a acquire ok token=1 until=200\n"
               "30 40 p1 t1 L a release ok token=1\n"
               "50 60 p1 t1 L a release ok token=1\n"
               "15 55 p2 t1 L b acquire ok token=2 until=200\n");
    expect("overlap linear", "10 20 p1 t1 L a acquire ok token=1 until=200\n"
                             "21 22 p1 t1 L a acquire ok token=1 until=200\n"
                             "30 40 p1 t1 L a release ok token=1\n"
                             "15 45 p2 t1 L b acquire ok token=2 until=200\n"
                             "50 60 p1 t1 L a release ok token=1\n");
}

static void broken_contract(void **state)
{
    struct check_counts counts;

    (void)state;
    assert_string_equal(found_in("set contract broken\n"
                                 "10 20 p1 t1 L a acquire ok owner=x:1 token=1 until=100\n"
                                 "15 45 p2 t1 L b acquire ok owner=y:1 token=2 until=200\n"
                                 "50 51 p1 t1 L a look fail token=1\n",
                                 &LIN_FENCED, &counts),
                        "");
    assert_int_equal(counts.overlaps, 1);
}

/* ------------------------------------------------------------------------------------------------
 * Tokens and the register
 */

static void tokens(void **state)
{
    (void)state;
    expect("token linear", "10 20 p1 t1 L a acquire ok token=7 until=30\n"
                           "40 50 p2 t1 L b acquire ok token=6 until=60\n");
    /* at the same time: any order will do */
    expect("", "10 60 p1 t1 L a acquire ok token=7 until=90\n"
               "20 30 p2 t1 L b acquire ok token=6 until=40\n");
    expect("token linear", "10 20 p1 t1 L a acquire ok token=7 until=30\n"
                           "40 50 p2 t1 L b acquire ok token=7 until=60\n");
    /* in another lock */
    expect("", "10 20 p1 t1 L a acquire ok token=7 until=30\n"
               "40 50 p2 t1 M b acquire ok token=6 until=60\n");
}

/* The store has lost its data: p2 was let in, and p1, who does not know, passes on what it had. */
static void tenures(void **state)
{
    static const char LINES[] = "10 20 p1 t1 L a acquire ok owner=x:1 token=1 until=30\n"
                                "21 22 p1 t1 L a release ok token=1\n"
                                "40 50 p2 t1 L b acquire ok owner=y:1 token=5 until=90\n"
                                "60 61 p1 t2 L c acquire ok owner=x:1 token=2 until=90\n";
    char text[512];

    (void)state;
    expect("overlap token linear", LINES);
    snprintf(text, sizeof text, "set contract broken\n%s", LINES);
    expect("", text);
    /* but the store must give larger ones all the same */
    expect("token", "set contract broken\n"
                    "10 20 p1 t1 L a acquire ok owner=x:1 token=5 until=30\n"
                    "40 50 p2 t1 L b acquire ok owner=y:1 token=4 until=90\n");
}

static void register_writes(void **state)
{
    (void)state;
    expect("", "10 20 p1 t1 L a acquire ok token=1 until=30\n"
               "40 50 p2 t1 L b acquire ok token=2 until=90\n"
               "51 52 p2 t1 L b write ok token=2\n"
               "60 61 p1 t1 L a write fail token=1 seen=2\n");
    /* not written yet: the old one may still write */
    expect("", "10 20 p1 t1 L a acquire ok token=1 until=30\n"
               "40 50 p2 t1 L b acquire ok token=2 until=90\n"
               "51 52 p1 t1 L a write ok token=1\n"
               "60 61 p2 t1 L b write ok token=2\n");
    expect("register linear", "10 20 p1 t1 L a acquire ok token=1 until=30\n"
                              "40 50 p2 t1 L b acquire ok token=2 until=90\n"
                              "51 52 p2 t1 L b write ok token=2\n"
                              "60 61 p1 t1 L a write ok token=1\n");
    /* in a broken contract, too */
    expect("register", "set contract broken\n"
                       "10 20 p1 t1 L a acquire ok owner=x:1 token=1 until=30\n"
                       "40 50 p2 t1 L b acquire ok owner=y:1 token=2 until=90\n"
                       "51 52 p2 t1 L b write ok token=2\n"
                       "60 61 p1 t1 L a write ok token=1\n");
    /* the holder finds a newer token */
    expect("register", "10 20 p1 t1 L a acquire ok token=1 until=90\n"
                       "40 - p2 t1 L b acquire unknown\n"
                       "41 100 p2 t1 L b write ok token=2\n"
                       "60 61 p1 t1 L a write fail token=1 seen=2\n");
    expect("linear", "10 20 p1 t1 L a acquire ok token=1 until=30\n"
                     "60 61 p1 t1 L a write fail token=1 seen=2\n");
}

/* ------------------------------------------------------------------------------------------------
 * What is told
 */

static void results(void **state)
{
    (void)state;
    expect("result", "10 20 p1 t1 L a acquire fail error=BUSY results=2\n");
    expect("result", "10 20 p1 t1 L a acquire fail error=BUSY results=0\n");
    expect("result", "10 - p1 t1 L a acquire unknown results=1\n");
    expect("", "10 - p1 t1 L a acquire unknown\n");
    /* all that it started has returned, it says */
    expect("result", "10 - p1 t1 L a acquire unknown\n"
                     "90 91 p1 t0 - - end ok\n");
}

static void losses(void **state)
{
    (void)state;
    expect("", "10 20 p1 t1 L a acquire ok token=1 until=30\n"
               "40 41 p1 t2 L a lost ok token=1\n"
               "50 60 p1 t1 L a release fail token=1 error=LOST\n");
    expect("told", "10 20 p1 t1 L a acquire ok token=1 until=30\n"
                   "40 41 p1 t2 L a lost ok token=1\n"
                   "42 43 p1 t2 L a lost ok token=1\n");
    expect("told", "10 20 p1 t1 L a acquire ok token=1 until=30\n"
                   "50 60 p1 t1 L a release fail token=1 error=LOST\n"
                   "70 71 p1 t2 L a lost ok token=1\n");
    /* lost, and had again */
    expect("told early linear", "10 20 p1 t1 L a acquire ok token=1 until=30\n"
                                "40 41 p1 t2 L a look fail token=1\n"
                                "42 43 p1 t2 L a look ok token=1 until=60\n");
    expect("told linear", "10 20 p1 t1 L a acquire ok token=1 until=30\n"
                          "40 41 p1 t2 L a look fail token=1\n"
                          "42 43 p1 t2 L a verify ok token=1\n");
    /* two looks at the same time: whichever was first */
    expect("", "10 20 p1 t1 L a acquire ok token=1 until=30\n"
               "40 45 p1 t2 L a look fail token=1\n"
               "41 42 p1 t3 L a look ok token=1 until=43\n");
}

static void early_losses(void **state)
{
    static const char LINES[] = "10 20 p1 t1 L a acquire ok token=1 until=90\n"
                                "40 41 p1 t2 L a look fail token=1\n";
    char text[512];

    (void)state;
    expect("early linear", LINES);
    snprintf(text, sizeof text, "set contract broken\n%s", LINES);
    expect("", text);
    expect("early linear", "10 20 p1 t1 L a acquire ok token=1 until=90\n"
                           "40 41 p1 t2 L a release fail token=1 error=LOST\n");
}

static void busy(void **state)
{
    (void)state;
    expect("busy", "10 20 p1 t1 L a acquire ok token=1 until=90\n"
                   "30 40 p1 t1 L a try fail wait=-1 error=BUSY\n"
                   "50 60 p1 t1 L a release ok token=1\n");
    expect("", "10 20 p1 t1 L a acquire ok token=1 until=90\n"
               "30 40 p2 t1 L b try fail wait=-1 error=BUSY\n"
               "50 60 p1 t1 L a release ok token=1\n");
    /* it was over in between */
    expect("", "10 20 p1 t1 L a acquire ok token=1 until=35\n"
               "30 40 p1 t1 L a try fail wait=-1 error=BUSY\n");
}

static void strict_busy(void **state)
{
    (void)state;
    expect("linear", "set busy strict\n"
                     "10 20 p1 t1 L a acquire ok token=1 until=25\n"
                     "22 23 p1 t1 L a release ok token=1\n"
                     "30 40 p2 t1 L b try fail wait=-1 error=BUSY\n");
    /* somebody may have it, for a while */
    expect("", "set busy strict\n"
               "10 20 p1 t1 L a acquire unknown error=UNSURE\n"
               "30 40 p2 t1 L b try fail wait=-1 error=BUSY\n");
    /* 100 ms later it cannot be any more: ttl and all */
    expect("linear", "set busy strict\nset ttl_ms 50\n"
                     "10 20 p1 t1 L a acquire unknown error=UNSURE\n"
                     "100000000 100000001 p3 t1 L c acquire ok token=4 until=100000050\n"
                     "100000010 100000011 p3 t1 L c release ok token=4\n"
                     "100000020 100000021 p2 t1 L b try fail wait=-1 error=BUSY\n"
                     "100000030 100000031 p2 t1 L b try fail wait=-1 error=BUSY\n");
}

/* ------------------------------------------------------------------------------------------------
 * Time. Milliseconds would be easier to read: 5000000000 is 5 s.
 */

#define TIMES                                                                                      \
    "set wake_ms 1000\nset allowance_ms 500\nset op_timeout_ms 200\n"                              \
    "set connect_timeout_ms 300\nset ttl_ms 1000\n"

static void late(void **state)
{
    (void)state;
    expect("", TIMES "1000000000 1900000000 p1 t1 L a try fail wait=-1 error=BUSY\n");
    expect("late", TIMES "1000000000 2100000000 p1 t1 L a try fail wait=-1 error=BUSY\n");
    expect("", TIMES "1000000000 2900000000 p1 t1 L a acquire fail wait=1000 error=BUSY\n");
    expect("late", TIMES "1000000000 3100000000 p1 t1 L a acquire fail wait=1000 error=BUSY\n");
    expect("", TIMES "1000000000 9000000000 p1 t1 L a acquire unknown error=CANCELLED\n");
    /* the machine did not run for a while; the process was stopped; another one was */
    expect("", TIMES "1000000000 2100000000 p1 t1 L a try fail wait=-1 error=BUSY\n"
                     "1100000000 1300000000 p0 t0 - - stall ok\n");
    expect("", TIMES "1000000000 2100000000 p1 t1 L a try fail wait=-1 error=BUSY\n"
                     "1100000000 1300000000 p1 t0 - - stop ok\n");
    expect("late", TIMES "1000000000 2100000000 p1 t1 L a try fail wait=-1 error=BUSY\n"
                         "1100000000 1300000000 p2 t0 - - stop ok\n");
    /* what overlaps counts once: here 0.4 s of 1.5, and there all of it */
    expect("late", TIMES "1000000000 2500000000 p1 t1 L a try fail wait=-1 error=BUSY\n"
                         "1100000000 1400000000 p0 t0 - - stall ok\n"
                         "1150000000 1350000000 p1 t0 - - stop ok\n"
                         "1200000000 1500000000 p0 t0 - disk stall ok\n");
    expect("", TIMES "1000000000 2500000000 p1 t1 L a try fail wait=-1 error=BUSY\n"
                     "900000000 2600000000 p0 t0 - - stall ok\n"
                     "900000000 2600000000 p0 t0 - disk stall ok\n");
}

static void asleep(void **state)
{
    (void)state;
    /* free since 1 s; it waits until 2.4 s, or 2.6 s */
    expect("", TIMES "100000000 200000000 p1 t1 L a acquire ok token=1 until=1100000000\n"
                     "900000000 1000000000 p1 t1 L a release ok token=1\n"
                     "500000000 2400000000 p2 t1 L b acquire ok token=2 until=9000000000\n");
    expect("wake", TIMES "100000000 200000000 p1 t1 L a acquire ok token=1 until=1100000000\n"
                         "900000000 1000000000 p1 t1 L a release ok token=1\n"
                         "500000000 2600000000 p2 t1 L b acquire ok token=2 until=9000000000\n");
    /* it never came back, and the history goes on */
    expect("wake", TIMES "100000000 200000000 p1 t1 L a acquire ok token=1 until=1100000000\n"
                         "900000000 1000000000 p1 t1 L a release ok token=1\n"
                         "500000000 - p2 t1 L b acquire unknown\n"
                         "5000000000 5000000001 p1 t1 M a try fail wait=-1 error=BUSY\n");
    /* an attempt without an outcome may have had it until 2.6 s */
    expect("", TIMES "100000000 200000000 p1 t1 L a acquire ok token=1 until=1100000000\n"
                     "900000000 1000000000 p1 t1 L a release ok token=1\n"
                     "1100000000 1300000000 p3 t1 L c try unknown wait=-1 error=UNSURE\n"
                     "500000000 2700000000 p2 t1 L b acquire ok token=2 until=9000000000\n");
    /* the way to the store was bad; the waiter was stopped; it was killed */
    expect("", TIMES "100000000 200000000 p1 t1 L a acquire ok token=1 until=1100000000\n"
                     "900000000 1000000000 p1 t1 L a release ok token=1\n"
                     "500000000 2600000000 p2 t1 L b acquire ok token=2 until=9000000000\n"
                     "1100000000 1200000000 p0 t0 - jam fault ok\n");
    expect("", TIMES "100000000 200000000 p1 t1 L a acquire ok token=1 until=1100000000\n"
                     "900000000 1000000000 p1 t1 L a release ok token=1\n"
                     "500000000 2600000000 p2 t1 L b acquire ok token=2 until=9000000000\n"
                     "1100000000 2500000000 p2 t0 - - stop ok\n");
    expect("", TIMES "100000000 200000000 p1 t1 L a acquire ok token=1 until=1100000000\n"
                     "900000000 1000000000 p1 t1 L a release ok token=1\n"
                     "500000000 - p2 t1 L b acquire unknown\n"
                     "1100000000 1200000000 p2 t0 - - kill ok\n"
                     "5000000000 5000000001 p1 t1 M a try fail wait=-1 error=BUSY\n");
}

/* ------------------------------------------------------------------------------------------------
 * Orders
 */

static void models(void **state)
{
    static const char AGAIN[] = "10 20 p1 t1 L a acquire ok token=1 until=200\n"
                                "21 22 p1 t1 L a acquire ok token=1 until=200\n";
    static const char BACK[] = "10 20 p1 t1 L a acquire ok token=2 until=200\n"
                               "30 40 p1 t1 L a release ok token=2\n"
                               "50 60 p1 t1 L a acquire ok token=1 until=200\n";
    struct check_counts counts;

    (void)state;
    assert_string_equal(found_in(AGAIN, &LIN_MUTEX, &counts), "linear");
    assert_string_equal(found_in(AGAIN, &LIN_REENTRANT, &counts), "");
    assert_string_equal(found_in(BACK, &LIN_REENTRANT, &counts), "token");
    assert_string_equal(found_in(BACK, &LIN_FENCED, &counts), "token linear");
    assert_ptr_equal(lin_model_of("mutex"), &LIN_MUTEX);
    assert_null(lin_model_of("queue"));
}

/* What was released and what was never had. */
static void releases(void **state)
{
    (void)state;
    expect("linear", "10 20 p1 t1 L a release ok token=1\n");
    expect("linear", "10 20 p1 t1 L a acquire ok token=1 until=200\n"
                     "30 40 p1 t1 L a release ok token=1\n"
                     "50 60 p1 t1 L a release ok token=1\n");
    /* a release without an answer may have been done, at once or late, or not */
    expect("", "10 20 p1 t1 L a acquire ok token=1 until=200\n"
               "30 40 p1 t1 L a release unknown token=1 error=UNSURE\n"
               "50 60 p2 t1 L b acquire ok token=2 until=90\n");
    expect("", "10 20 p1 t1 L a acquire ok token=1 until=200\n"
               "30 40 p1 t1 L a release unknown token=1 error=UNSURE\n"
               "250 260 p2 t1 L b acquire ok token=2 until=300\n");
}

static void budget(void **state)
{
    struct check_options options = { .model = &LIN_FENCED, .budget = 1 };
    struct check_counts counts;
    struct history history;
    char why[64];

    (void)state;
    hist_init(&history);
    assert_true(hist_read_line(&history, "1 2 p1 t1 L a acquire ok token=1 until=9", why, 64));
    assert_true(hist_read_line(&history, "3 4 p1 t1 L a release ok token=1", why, 64));
    assert_false(check_history(&history, &options, &counts));
    assert_int_equal(counts.found[CHECK_LINEAR], 1);
    hist_free(&history);
}

/* ------------------------------------------------------------------------------------------------
 * Reports and counts
 */

static void report(void **state)
{
    static const char LINES[] = "1 2 p3 t1 L c acquire ok token=1 until=9\n"
                                "3 4 p3 t1 L c release ok token=1\n"
                                "10 20 p1 t1 L a acquire ok token=2 until=100\n"
                                "22 23 p1 t1 L a look ok token=2 until=101\n"
                                "50 60 p1 t1 L a release ok token=2\n"
                                "15 45 p2 t1 L b acquire ok token=3 until=200\n"
                                "80 90 p2 t1 L b release ok token=3\n"
                                "110 120 p3 t1 L c acquire ok token=4 until=200\n";
    struct check_options options = { .model = &LIN_FENCED };
    struct check_counts counts;
    struct history history;
    char *text = NULL, why[64];
    size_t size;
    FILE *in = fmemopen((void *)(uintptr_t)LINES, sizeof LINES - 1, "r");

    (void)state;
    hist_init(&history);
    assert_true(hist_read(&history, in, why, sizeof why));
    fclose(in);
    options.out = open_memstream(&text, &size);
    assert_false(check_history(&history, &options, &counts));
    fclose(options.out);
    assert_non_null(strstr(text, "overlap: L was held twice for 0.000 ms, from 45 to 50"));
    /* what has to do with it is there, and what has not is not */
    assert_non_null(strstr(text, "linear: L: no order of these explains"));
    assert_non_null(strstr(text, "    15 45 p2 t1 L b acquire ok token=3 until=200\n"));
    assert_non_null(strstr(text, "    50 60 p1 t1 L a release ok token=2\n"));
    assert_null(strstr(text, "token=1"));
    assert_null(strstr(text, "token=4"));
    free(text);
    hist_free(&history);
}

static void counting(void **state)
{
    struct check_counts counts;

    (void)state;
    found_in(
        "10 20 p1 t1 L a acquire ok token=1 until=30\n"
        "15 41 p2 t1 L b acquire ok token=2 until=200\n" /* waited for it, and got it by time */
        "50 60 p1 t1 L a release fail token=1 error=LOST\n"
        "61 62 p1 t1 L a write fail token=1 seen=2\n"
        "63 64 p2 t1 L b write ok token=2\n"
        "70 80 p2 t1 L b release unknown token=2 error=UNSURE\n"
        "300 310 p1 t1 L a acquire ok token=3 until=320\n"
        "311 312 p1 t0 - - kill ok\n"
        "400 401 p2 t1 L b try fail wait=-1 error=BUSY\n",
        NULL, &counts);
    assert_int_equal(counts.lines, 9);
    assert_int_equal(counts.operations, 8);
    assert_int_equal(counts.acquired, 3);
    assert_int_equal(counts.holds, 3);
    assert_int_equal(counts.handoffs, 1);
    assert_int_equal(counts.expired, 2);
    assert_int_equal(counts.lost, 1);
    assert_int_equal(counts.unknown, 1);
    assert_int_equal(counts.refused, 1);
}

/* How long somebody waited for what was free: between 1000 and 1300 for one, to 1500 for another. */
static void waking(void **state)
{
    struct check_counts counts;

    (void)state;
    assert_string_equal(
        found_in(TIMES "100000000 200000000 p1 t1 L a acquire ok token=1 until=1100000000\n"
                       "900000000 1000000000 p1 t1 L a release ok token=1\n"
                       "500000000 1300000000 p2 t1 L b acquire ok token=2 until=2500000000\n"
                       "1400000000 1450000000 p2 t1 L b release ok token=2\n"
                       "600000000 1950000000 p3 t1 L c acquire ok token=3 until=9000000000\n",
                 &LIN_FENCED, &counts),
        "");
    assert_int_equal(counts.wake_ns, 500000000);
    assert_int_equal(counts.freed, 3);
    assert_int_equal(counts.freed_long, 0);
    assert_int_equal(counts.woken, 3); /* the first one found it free at once */
}

/* A waiter that is always late, but never so late that one time alone would be wrong. */
static const char *late_times(int times, unsigned long long late_ms)
{
    static char text[16384];
    size_t n = (size_t)snprintf(text, sizeof text, TIMES);
    unsigned long long ms = HIST_MSEC, at = 10000 * ms;

    for (int i = 1; i <= times; i++, at += 10000 * ms) {
        unsigned long long got = at + late_ms * ms;

        n += (size_t)snprintf(text + n, sizeof text - n,
                              "%llu %llu p2 t1 L b acquire ok token=%d until=%llu\n"
                              "%llu %llu p2 t1 L b release ok token=%d\n",
                              at, got, i, got + 500 * ms, got + ms, got + 2 * ms, i);
    }
    return text;
}

static void often_late(void **state)
{
    (void)state;
    expect("", late_times(19, 1200));
    expect("wake", late_times(20, 1200));
    expect("", late_times(30, 900));
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(claims),          cmocka_unit_test(deadlines),
        cmocka_unit_test(deaths),          cmocka_unit_test(reentry),
        cmocka_unit_test(broken_contract), cmocka_unit_test(tokens),
        cmocka_unit_test(tenures),         cmocka_unit_test(register_writes),
        cmocka_unit_test(results),         cmocka_unit_test(losses),
        cmocka_unit_test(early_losses),    cmocka_unit_test(busy),
        cmocka_unit_test(strict_busy),     cmocka_unit_test(late),
        cmocka_unit_test(asleep),          cmocka_unit_test(models),
        cmocka_unit_test(releases),        cmocka_unit_test(budget),
        cmocka_unit_test(report),          cmocka_unit_test(counting),
        cmocka_unit_test(waking),          cmocka_unit_test(often_late),
    };

    return cmocka_run_group_tests_name("rules", TESTS, NULL, NULL);
}
