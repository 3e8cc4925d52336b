/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: what people are told, and the end. Each test is a trace (stage.h). */
#include "stage.h"

static struct stage s;

static int setup(void **state)
{
    (void)state;
    stage_init(&s);
    stage_open(&s);
    return 0;
}

static int setup_announcing(void **state)
{
    (void)state;
    stage_init(&s);
    s.config.announces = true;
    s.quiet = true;
    stage_open(&s);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stage_close(&s);
    return 0;
}

static void close_now(void)
{
    step(&s, &(struct hfi_input){ .kind = HFI_INPUT_CLOSE });
}

/* ------------------------------------------------------------------------------------------------
 * Close, whatever it is at
 */

static void closed_idle(void **state)
{
    (void)state;
    close_now();
    expect(&s, "");
    assert_true(hfi_engine_quiet(&s.engine));
    acquire(&s, 'A', "L", HOW());
    expect(&s, "A: CLOSED\n");
    close_now(); /* twice is nothing */
    expect(&s, "");
}

static void closed_while_trying(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW(.wait_ms = -1));
    hush(&s);
    close_now();
    expect(&s, "A: CLOSED\n"
               "B: CLOSED\n");
    assert_false(hfi_engine_quiet(&s.engine));
    granted(&s, "try L#1", 5, 1);
    expect(&s, "L#1 TRYING -> HELD\n"
               "L#1 HELD -> RELEASING\n"
               "release L#1\n");
    released(&s, "release L#1", 0);
    assert_true(hfi_engine_quiet(&s.engine));
    hush(&s);
}

static void closed_while_watching(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    hush(&s);
    close_now();
    expect(&s, "A: CLOSED\n");
    done(&s, "watch L");
    expect(&s, "");
    assert_true(hfi_engine_quiet(&s.engine));
}

static void closed_while_asleep(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy_with_ticket(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy_with_ticket(&s, "try L#1", 30000);
    hush(&s);
    close_now();
    expect(&s, "leave L\n" /* its place in the queue is given up */
               "A: CLOSED\n");
    wake(&s, "L");
    expect(&s, "");
    assert_false(hfi_engine_quiet(&s.engine)); /* the store is to hear of that */
    done(&s, "leave L");
    assert_true(hfi_engine_quiet(&s.engine));
    assert_int_equal(hfi_engine_deadline(&s.engine), HF_TIME_NEVER);
}

static void closed_while_holding(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 5, 1);
    acquire(&s, 'B', "L", HOW());
    hush(&s);
    close_now();
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n"
               "B: CLOSED\n");
    release(&s, 'A'); /* only frees the handle */
    expect(&s, "A released: CLOSED\n");
    assert_false(hfi_engine_quiet(&s.engine));
    released(&s, "release L#1", 0);
    expect(&s, "L#1 RELEASING -> GONE\n");
    assert_true(hfi_engine_quiet(&s.engine));
}

/* A handle that is let go after everything is over. */
static void released_after_close(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.owner = 77));
    granted(&s, "try L#1", 5, 1);
    acquire(&s, 'B', "L", HOW(.owner = 77));
    close_now();
    released(&s, "release L#1", 0);
    hush(&s);
    release(&s, 'B');
    expect(&s, "B released: LOST\n");
    release(&s, 'A');
    expect(&s, "A released: CLOSED\n");
    assert_int_equal(s.engine.hold_count, 0);
}

static void closed_while_lost(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 1000));
    granted(&s, "try L#1", 5, 1);
    leap(&s, 988);
    hush(&s);
    close_now();
    expect(&s, "L#1 LOST -> RELEASING\n"
               "release L#1\n");
    gone(&s, "release L#1");
    hush(&s);
    assert_true(hfi_engine_quiet(&s.engine));
}

static void closed_while_lost_at_the_store(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 1000));
    granted(&s, "try L#1", 5, 1);
    verify(&s, 'A');
    renewed(&s, "renew L#1", "L#1");
    hush(&s);
    close_now();
    expect(&s, "L#1 LOST -> GONE\n"); /* there is nothing to give back */
    assert_true(hfi_engine_quiet(&s.engine));
}

static void closed_while_parked(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW());
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    release(&s, 'A');
    hush(&s);
    close_now();
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n"
               "B: CLOSED\n");
}

static void closed_while_releasing(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 5, 1);
    release(&s, 'A');
    hush(&s);
    close_now();
    expect(&s, "");
    unknown(&s, "release L#1");
    expect(&s, "release L#1\n" /* it is not given up */
               "A released: UNSURE\n");
    assert_false(hfi_engine_quiet(&s.engine));
    gone(&s, "release L#1");
    hush(&s);
    assert_true(hfi_engine_quiet(&s.engine));
}

static void closed_while_paused(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    refused(&s, "try L#1", HF_ERR_UNREACHABLE);
    hush(&s);
    close_now();
    expect(&s, "A: CLOSED\n");
    assert_true(hfi_engine_quiet(&s.engine));
    assert_int_equal(hfi_engine_deadline(&s.engine), HF_TIME_NEVER);
}

static void closed_while_renewing(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000));
    granted(&s, "try L#1", 5, 1);
    pass(&s, 1000);
    hush(&s);
    close_now();
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n");
    released(&s, "release L#1", 0);
    assert_true(hfi_engine_quiet(&s.engine));
    renewed(&s, "renew L#1", "L#1");
    hush(&s);
}

/* ------------------------------------------------------------------------------------------------
 * What people are told
 */

/* Changes are collected for 200 ms; what comes and goes in between is never told. */
static void short_holds_are_not_announced(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 5, 1);
    pass(&s, 150);
    release(&s, 'A');
    released(&s, "release L#1", 0);
    hush(&s);
    assert_null(s.engine.gates);
    pass(&s, 60000);
    expect(&s, "");
}

static void a_hold_is_announced(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.label = "nightly run"));
    granted(&s, "try L#1", 5, 1);
    hush(&s);
    pass(&s, 199);
    expect(&s, "");
    pass(&s, 1);
    expect(&s, "announce L held #1 token 5 \"nightly run\"\n");
    assert_int_equal(hfi_request_announcement(s.pending[0])->items[0].held_since_ns, s.start);
    done(&s, "announce");
    release(&s, 'A');
    released(&s, "release L#1", 0);
    hush(&s);
    pass(&s, 999); /* once a second at most */
    expect(&s, "");
    pass(&s, 1);
    expect(&s, "announce L nothing\n");
    done(&s, "announce");
    assert_null(s.engine.gates);
    pass(&s, 60000);
    expect(&s, ""); /* no heartbeat when there is nothing to show */
}

static void a_heartbeat(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3600000));
    granted(&s, "try L#1", 5, 1);
    pass(&s, 200);
    hush(&s);
    done(&s, "announce");
    for (int i = 0; i < 5; i++) {
        pass(&s, 9999);
        expect(&s, "");
        pass(&s, 1);
        expect(&s, "announce\n");
        done(&s, "announce");
    }
}

/* The first waiter of a process, and how many there are. */
static void waiters_are_announced(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy(&s, "try L#1", 30000);
    hush(&s);
    pass(&s, 200);
    expect(&s, "announce L waiters 1 watching\n");
    done(&s, "announce");
    acquire(&s, 'B', "L", HOW());
    hush(&s);
    pass(&s, 1000);
    assert_non_null(strstr(s.log, "announce L waiters 2 watching\n"));
    hush(&s);
}

/* Who waits no longer, for whatever reason, is taken back. */
static void waiters_that_failed_are_taken_back(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy(&s, "try L#1", 30000);
    pass(&s, 200);
    done(&s, "announce L waiters 1 watching");
    wake(&s, "L");
    refused(&s, "try L#1", HF_ERR_WRONG_TYPE);
    hush(&s);
    pass(&s, 1000);
    assert_non_null(strstr(s.log, "announce L "));
    assert_null(strstr(s.log, "waiters"));
    hush(&s);
}

/* That it listens on for a moment is told, and then that it does no longer: nothing is left behind. */
static void the_end_of_listening_is_announced(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy(&s, "try L#1", 30000);
    pass(&s, 200);
    done(&s, "announce L waiters 1 watching");
    pass(&s, 200);
    cancel(&s, 'A'); /* at 400 ms */
    hush(&s);
    pass(&s, 800);
    expect(&s, "announce L watching\n");
    done(&s, "announce");
    pass(&s, 200);
    expect(&s, "unwatch L\n");
    done(&s, "unwatch L");
    hush(&s);
    pass(&s, 800);
    expect(&s, "announce L nothing\n");
    done(&s, "announce");
    assert_null(s.engine.gates);
}

/* Someone comes while people are still told that we listen: that he waits is told, too. */
static void a_waiter_after_the_last_one(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy(&s, "try L#1", 30000);
    pass(&s, 200);
    done(&s, "announce L waiters 1 watching");
    pass(&s, 200);
    cancel(&s, 'A');
    pass(&s, 800);
    done(&s, "announce L watching");
    acquire(&s, 'B', "L", HOW());
    busy(&s, "try L#2", 30000);
    hush(&s);
    pass(&s, 1000);
    assert_non_null(strstr(s.log, "announce L waiters 1 watching\n"));
    hush(&s);
}

/* An announcement that was not done is made again, the end of a hold too. */
static void a_failed_announcement_is_repeated(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 5, 1);
    pass(&s, 200);
    hush(&s);
    refused(&s, "announce L held #1 token 5", HF_ERR_UNREACHABLE);
    pass(&s, 1000);
    expect(&s, "announce L held #1 token 5\n");
    done(&s, "announce");
    release(&s, 'A');
    released(&s, "release L#1", 0);
    pass(&s, 1000);
    hush(&s);
    unknown(&s, "announce L nothing");
    pass(&s, 1000);
    expect(&s, "announce L nothing\n");
    refused(&s, "announce L nothing", HF_ERR_UNAVAILABLE);
    pass(&s, 1000);
    expect(&s, "announce L nothing\n");
    done(&s, "announce");
    assert_null(s.engine.gates);
}

/* The store has lost what it knew: everything is told again. */
static void told_again_when_forgotten(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 5, 1);
    acquire(&s, 'B', "M", HOW());
    granted(&s, "try M#2", 6, 1);
    pass(&s, 200);
    hush(&s);
    done(&s, "announce");
    pass(&s, 9900); /* renewals come in between */
    renewed(&s, "renew", NULL);
    pass(&s, 100);
    hush(&s);
    forgotten(&s, "announce");
    pass(&s, 1000);
    assert_non_null(strstr(s.log, "announce L held #1 token 5, M held #2 token 6\n"));
    hush(&s);
    done(&s, "announce");
    pass(&s, 10000);
    hush(&s);
    unknown(&s, "announce"); /* that may have been what the lost answer said */
    pass(&s, 1000);
    assert_non_null(strstr(s.log, "announce L held #1 token 5, M held #2 token 6\n"));
    hush(&s);
}

/* More than fit into one: the rest follows at once, in further ones. */
static void many_are_announced_in_turn(void **state)
{
    enum { NAMES = HFI_ANNOUNCEMENT_MAX * 2 + 5 };
    static struct crowd crowd[NAMES];
    size_t seen = 0;

    (void)state;
    crowd_acquire(&s, crowd, NAMES);
    pass(&s, 200);
    for (int part = 0; part < 3; part++) {
        const struct hfi_announcement *announcement = hfi_request_announcement(s.pending[0]);

        assert_int_equal(s.pending_count, 1);
        for (size_t i = 0; i < announcement->count; i++, seen++)
            assert_string_equal(announcement->items[i].name, crowd[seen].name); /* in order */
        hush(&s);
        done(&s, "announce");
        pass(&s, 0);
    }
    assert_int_equal(seen, NAMES);
    assert_int_equal(s.pending_count, 0);
    crowd_release(&s, crowd, NAMES);
}

/* With the last hold given back the client says farewell, and only then it is quiet. */
static void farewell(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 5, 1);
    hush(&s);
    close_now();
    expect(&s, "release L#1\n");
    released(&s, "release L#1", 0);
    expect(&s, "farewell\n");
    assert_false(hfi_engine_quiet(&s.engine));
    unknown(&s, "farewell"); /* once is enough: it ends by its ttl */
    expect(&s, "");
    assert_true(hfi_engine_quiet(&s.engine));
    pass(&s, 60000);
    expect(&s, "");
}

/* An announcement is still on its way when the client ends: it is not to come after the farewell. */
static void closed_while_announcing(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 5, 1);
    pass(&s, 200);
    hush(&s);
    close_now();
    expect(&s, "release L#1\n");
    released(&s, "release L#1", 0);
    expect(&s, "");
    assert_false(hfi_engine_quiet(&s.engine));
    forgotten(&s, "announce L held #1 token 5");
    expect(&s, "farewell\n");
    done(&s, "farewell");
    hush(&s);
    assert_true(hfi_engine_quiet(&s.engine));
    pass(&s, 60000);
    expect(&s, "");
}

/* ------------------------------------------------------------------------------------------------
 * News
 */

/* At most one a hold: a loss takes the place of a risk that was not told yet. */
static void one_news_a_hold(void **state)
{
    enum hfi_news news;

    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000));
    granted(&s, "try L#1", 5, 1);
    s.now += 2000 * HFI_MSEC;
    hfi_engine_step(&s.engine, s.now, &(struct hfi_input){ .kind = HFI_INPUT_TICK });
    assert_true(hfi_engine_has_news(&s.engine));
    s.now += 968 * HFI_MSEC;
    hfi_engine_step(&s.engine, s.now, &(struct hfi_input){ .kind = HFI_INPUT_TICK });
    assert_ptr_equal(hfi_engine_next_news(&s.engine, &news), &s.actor[0].handle);
    assert_int_equal(news, HFI_NEWS_LOST);
    assert_null(hfi_engine_next_news(&s.engine, &news));
    step(&s, &(struct hfi_input){ .kind = HFI_INPUT_TICK });
    hush(&s);
}

/* The outermost handle is the one that is named; when it is gone, the next. */
static void news_name_the_outermost_handle(void **state)
{
    enum hfi_news news;

    (void)state;
    acquire(&s, 'A', "L", HOW(.owner = 77, .ttl_ms = 3000));
    granted(&s, "try L#1", 5, 1);
    acquire(&s, 'B', "L", HOW(.owner = 77));
    acquire(&s, 'C', "L", HOW(.owner = 77));
    release(&s, 'A');
    s.now += 2968 * HFI_MSEC;
    hfi_engine_step(&s.engine, s.now, &(struct hfi_input){ .kind = HFI_INPUT_TICK });
    assert_true(hfi_engine_next_news(&s.engine, &news) == s.actor[1].handle.hold->handles);
    assert_int_equal(news, HFI_NEWS_LOST);
    hush(&s);
}

#define STAGED(test)    cmocka_unit_test_setup_teardown(test, setup, teardown)
#define ANNOUNCED(test) cmocka_unit_test_setup_teardown(test, setup_announcing, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGED(closed_idle),
        STAGED(closed_while_trying),
        STAGED(closed_while_watching),
        STAGED(closed_while_asleep),
        STAGED(closed_while_holding),
        STAGED(released_after_close),
        STAGED(closed_while_lost),
        STAGED(closed_while_lost_at_the_store),
        STAGED(closed_while_parked),
        STAGED(closed_while_releasing),
        STAGED(closed_while_paused),
        STAGED(closed_while_renewing),
        ANNOUNCED(short_holds_are_not_announced),
        ANNOUNCED(a_hold_is_announced),
        ANNOUNCED(a_heartbeat),
        ANNOUNCED(waiters_are_announced),
        ANNOUNCED(waiters_that_failed_are_taken_back),
        ANNOUNCED(the_end_of_listening_is_announced),
        ANNOUNCED(a_waiter_after_the_last_one),
        ANNOUNCED(a_failed_announcement_is_repeated),
        ANNOUNCED(told_again_when_forgotten),
        ANNOUNCED(many_are_announced_in_turn),
        ANNOUNCED(farewell),
        ANNOUNCED(closed_while_announcing),
        STAGED(one_news_a_hold),
        STAGED(news_name_the_outermost_handle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
