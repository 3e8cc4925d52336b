/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: getting a lock, and waiting for it. Each test is a trace (stage.h). */
#include "stage.h"

static struct stage s;

static int setup(void **state)
{
    (void)state;
    stage_init(&s);
    stage_open(&s);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stage_close(&s);
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Alone
 */

static void uncontended(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n");
    granted(&s, "try L#1", 70, 1);
    expect(&s, "L#1 TRYING -> HELD\n"
               "A: OK #1 token 70\n");
    release(&s, 'A');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n");
    released(&s, "release L#1", 0);
    expect(&s, "L#1 RELEASING -> GONE\n"
               "A released: OK\n");
    assert_null(s.engine.gates); /* and nothing is left of the name */
    assert_int_equal(hfi_engine_deadline(&s.engine), HF_TIME_NEVER);
}

/* Each acquire call has an owner id of its own. */
static void every_acquire_has_a_new_owner_id(void **state)
{
    (void)state;
    for (int i = 1; i <= 3; i++) {
        char label[32];

        acquire(&s, 'A', "L", HOW());
        snprintf(label, sizeof label, "try L#%d", i);
        granted(&s, label, (uint64_t)i, 1);
        release(&s, 'A');
        snprintf(label, sizeof label, "release L#%d", i);
        released(&s, label, 0);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Held by another process
 */

/* try -> busy -> watch -> try again -> busy -> sleep -> woken -> try -> granted. */
static void waits_for_another_process(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    hush(&s);
    busy(&s, "try L#1", 30000);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "watch L\n");
    expect_tick(&s, 750, 1000); /* even if that is never answered */
    done(&s, "watch L");
    expect(&s, "L#1 IDLE -> TRYING\n" /* the same owner id */
               "try L#1 30000\n");
    busy(&s, "try L#1", 30000);
    expect(&s, "L#1 TRYING -> IDLE\n");
    expect_tick(&s, 750, 1000); /* the poll cap, with jitter */
    wake(&s, "L");
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n");
    granted(&s, "try L#1", 5, 1);
    expect(&s, "L#1 TRYING -> HELD\n"
               "A: OK #1 token 5\n");
}

/* No message comes: the waiter looks again by itself, each time within the poll cap. */
static void lost_wakeups_cost_a_poll(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    for (int i = 0; i < 5; i++) {
        hfi_time before = elapsed_ms(&s);

        busy(&s, "try L#1", 30000);
        hush(&s);
        pass(&s, 1000);
        expect(&s, "L#1 IDLE -> TRYING\n"
                   "try L#1 30000\n");
        assert_true(elapsed_ms(&s) - before <= 1000);
    }
    granted(&s, "try L#1", 9, 1);
}

/* The store says after what time looking again is worthwhile: the sleep is no longer, and never too short. */
static void the_hint_bounds_the_sleep(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy(&s, "try L#1", 40);
    expect_tick(&s, 40, 40);
    leap(&s, 40);
    busy(&s, "try L#1", 0);
    expect_tick(&s, 41, 41);
    leap(&s, 1);
    busy(&s, "try L#1", 60 * 60 * 1000);
    expect_tick(&s, 41 + 750, 41 + 1000);
    hush(&s);
}

/* A message overtakes the answer of a try: the answer may be older, so the waiter does not sleep. */
static void woken_while_trying(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    hush(&s);
    wake(&s, "L");
    wake(&s, "L");
    expect(&s, "");
    busy(&s, "try L#1", 30000);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n");
    busy(&s, "try L#1", 30000); /* once is enough */
    expect(&s, "L#1 TRYING -> IDLE\n");
}

/* A try that was on its way when the watch came into force is no reason to sleep either. */
static void watch_confirmed_while_trying(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    acquire(&s, 'B', "L", HOW(.wait_ms = -1)); /* starts a try of its own */
    hush(&s);
    done(&s, "watch L");
    expect(&s, "");
    busy(&s, "try L#1", 30000);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n"
               "B: BUSY\n");
    busy(&s, "try L#1", 30000);
    expect(&s, "L#1 TRYING -> IDLE\n");
    expect_tick(&s, 750, 1000);
}

/* The watch is not answered for long: no waiter sleeps longer than the poll cap because of that. */
static void watch_unanswered(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    for (int i = 0; i < 3; i++) {
        busy(&s, "try L#1", 30000);
        hush(&s);
        pass(&s, 1000);
        expect(&s, "L#1 IDLE -> TRYING\n"
                   "try L#1 30000\n");
    }
    done(&s, "watch L"); /* while a try is on its way: one more after it */
    hush(&s);
    busy(&s, "try L#1", 30000);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n");
}

/* The watch cannot be had: the waiters go on without it, on the poll cap. */
static void watch_refused(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    hush(&s);
    refused(&s, "watch L", HF_ERR_UNREACHABLE);
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n");
    busy(&s, "try L#1", 30000);
    expect_tick(&s, 750, 1000);
    hush(&s);
    wake(&s, "L"); /* it works after all */
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n");
}

/* The lock is of another kind by now: its releases are told on another channel. */
static void the_kind_of_lock_changes(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    hush(&s);
    busy_kind(&s, "try L#1", HFI_TOPIC_READ_WRITE);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "watch L rw\n");
    done(&s, "watch L rw");
    hush(&s);
    busy_kind(&s, "try L#1", HFI_TOPIC_READ_WRITE);
    expect(&s, "L#1 TRYING -> IDLE\n");
    expect_tick(&s, 750, 1000);
}

/* Many local waiters: one of them talks to the store, for all. */
static void one_try_for_all(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW());
    acquire(&s, 'C', "L", HOW());
    hush(&s);
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy(&s, "try L#1", 30000);
    hush(&s);
    wake(&s, "L");
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000 x1001\n"); /* with tokens for the others */
}

/* ------------------------------------------------------------------------------------------------
 * One attempt
 */

static void once_alone(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.wait_ms = -1));
    hush(&s);
    busy(&s, "try L#1", 30000);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "A: BUSY\n");
    assert_null(s.engine.gates);
}

/* With waiters asleep it makes an attempt of its own, at once, and nobody else's is disturbed. */
static void once_with_waiters(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy(&s, "try L#1", 30000);
    hush(&s);
    acquire(&s, 'B', "L", HOW(.wait_ms = -1));
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000 x1001\n");
    busy(&s, "try L#1", 30000);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "B: BUSY\n");
    expect_tick(&s, 750, 1000);
}

/* It is granted to the one who waits longer; the one attempt was made, and lost. */
static void once_loses_to_a_waiter(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW(.wait_ms = -1));
    hush(&s);
    granted(&s, "try L#1", 5, 1);
    expect(&s, "L#1 TRYING -> HELD\n"
               "A: OK #1 token 5\n"
               "B: BUSY\n");
}

/* A try that left before it came says nothing about its own attempt. */
static void once_while_another_try_is_in_flight(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.wait_ms = -1));
    acquire(&s, 'B', "L", HOW(.wait_ms = -1));
    hush(&s);
    busy(&s, "try L#1", 30000);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n"
               "A: BUSY\n");
    busy(&s, "try L#2", 30000);
    expect(&s, "L#2 TRYING -> IDLE\n"
               "B: BUSY\n");
}

static void once_while_another_thread_holds(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 5, 1);
    hush(&s);
    acquire(&s, 'B', "L", HOW(.wait_ms = -1));
    expect(&s, "B: BUSY\n"); /* no round trip */
}

static void once_with_unknown_outcome(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.wait_ms = -1));
    hush(&s);
    unknown(&s, "try L#1");
    expect(&s, "L#1 TRYING -> RELEASING\n"
               "release L#1\n"
               "A: UNSURE\n");
    gone(&s, "release L#1");
    expect(&s, "L#1 RELEASING -> GONE\n");
    assert_null(s.engine.gates);
}

/* ------------------------------------------------------------------------------------------------
 * Time is over
 */

static void time_over_while_asleep(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.wait_ms = 500));
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy(&s, "try L#1", 30000);
    hush(&s);
    pass(&s, 499);
    expect(&s, "");
    pass(&s, 1);
    expect(&s, "A: BUSY\n");
}

/* A second waiter came while the first one slept. No try was sent since, yet what is known is: busy. */
static void time_over_before_the_next_look(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy(&s, "try L#1", 30000);
    acquire(&s, 'B', "L", HOW(.wait_ms = 5));
    hush(&s);
    pass(&s, 5);
    expect(&s, "B: BUSY\n");
}

static void time_over_while_watching(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    acquire(&s, 'B', "L", HOW(.wait_ms = 5));
    hush(&s);
    pass(&s, 5);
    expect(&s, "B: BUSY\n");
}

static void time_over_behind_another_thread(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 5, 1);
    acquire(&s, 'B', "L", HOW(.wait_ms = 5));
    hush(&s);
    pass(&s, 5);
    expect(&s, "B: BUSY\n");
}

/* The store says why it cannot serve: so does the acquire. */
static void time_over_while_the_store_is_down(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.wait_ms = 50));
    refused(&s, "try L#1", HF_ERR_STORE_FULL);
    acquire(&s, 'B', "L", HOW(.wait_ms = 3));
    hush(&s);
    s.offline = true;
    leap(&s, 3);
    expect(&s, "B: STORE_FULL\n");
    hush(&s);
    pass(&s, 47);
    assert_non_null(strstr(s.log, "A: STORE_FULL\n"));
    hush(&s);
}

/* It could not even be sent. */
static void time_over_before_anything_was_sent(void **state)
{
    (void)state;
    s.offline = true;
    acquire(&s, 'A', "L", HOW(.wait_ms = 50));
    hush(&s);
    pass(&s, 50);
    expect(&s, "A: UNREACHABLE\n");
    s.offline = false;
}

/* The time is over while a try is in flight: its grant comes to nobody, and is given back. */
static void time_over_while_trying_then_granted(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.wait_ms = 50));
    hush(&s);
    pass(&s, 50);
    expect(&s, "A: UNSURE\n");
    granted(&s, "try L#1", 5, 1);
    expect(&s, "L#1 TRYING -> HELD\n"
               "L#1 HELD -> RELEASING\n"
               "release L#1\n");
    released(&s, "release L#1", 0);
    expect(&s, "L#1 RELEASING -> GONE\n");
}

/* … or to whoever is next and asked for the same. */
static void time_over_while_trying_then_the_next_has_it(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.wait_ms = 50));
    acquire(&s, 'B', "L", HOW(.ttl_ms = 10000));
    acquire(&s, 'C', "L", HOW());
    pass(&s, 50);
    hush(&s);
    granted(&s, "try L#1", 5, 1);
    expect(&s, "L#1 TRYING -> HELD\n"
               "C: OK #1 token 5\n");
}

/* ------------------------------------------------------------------------------------------------
 * Cancelled
 */

static void cancelled_while_trying(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    hush(&s);
    cancel(&s, 'A');
    expect(&s, "A: CANCELLED\n");
    busy(&s, "try L#1", 30000);
    expect(&s, "L#1 TRYING -> IDLE\n");
    assert_null(s.engine.gates);
}

static void cancelled_while_watching(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    hush(&s);
    cancel(&s, 'A');
    expect(&s, "A: CANCELLED\n");
    done(&s, "watch L");
    expect(&s, "");
    pass(&s, 1500); /* it is listened to for a moment: somebody may come */
    expect(&s, "unwatch L\n");
    done(&s, "unwatch L");
    assert_null(s.engine.gates);
}

static void cancelled_while_asleep(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy(&s, "try L#1", 30000);
    hush(&s);
    cancel(&s, 'A');
    expect(&s, "A: CANCELLED\n");
    wake(&s, "L"); /* nobody is there */
    expect(&s, "");
    pass(&s, 999);
    expect(&s, "");
    pass(&s, 1);
    expect(&s, "unwatch L\n");
    wake(&s, "L"); /* still on its way */
    done(&s, "unwatch L");
    expect(&s, "");
    assert_null(s.engine.gates);
}

static void cancelled_while_paused(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    refused(&s, "try L#1", HF_ERR_UNAVAILABLE);
    hush(&s);
    cancel(&s, 'A');
    expect(&s, "A: CANCELLED\n");
    assert_null(s.engine.gates);
    assert_int_equal(hfi_engine_deadline(&s.engine), HF_TIME_NEVER);
}

/* The one that the try was sent for leaves: the others go on, with owner ids of their own. */
static void cancelled_before_others(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW());
    hush(&s);
    cancel(&s, 'A');
    expect(&s, "A: CANCELLED\n");
    busy(&s, "try L#1", 30000);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "watch L\n");
    done(&s, "watch L");
    expect(&s, "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n");
}

/* A lingering watch is used by the next who waits. */
static void a_lingering_watch_is_used(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy(&s, "try L#1", 30000);
    cancel(&s, 'A');
    pass(&s, 900);
    hush(&s);
    acquire(&s, 'B', "L", HOW());
    busy(&s, "try L#2", 30000);
    expect(&s, "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n"
               "L#2 TRYING -> IDLE\n");
    expect_tick(&s, 900 + 750, 900 + 1000);
}

/* Someone comes while the watch is being given up: it is asked for again, and then tried again. */
static void comes_while_unwatching(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy(&s, "try L#1", 30000);
    cancel(&s, 'A');
    pass(&s, 1000);
    acquire(&s, 'B', "L", HOW());
    hush(&s);
    busy(&s, "try L#2", 30000);
    expect(&s, "L#2 TRYING -> IDLE\n");
    done(&s, "unwatch L");
    expect(&s, "watch L\n");
    done(&s, "watch L");
    expect(&s, "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n");
}

/* A ticket in the store's queue is given up with the last waiter. */
static void a_ticket_is_given_up(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    assert_true(hfi_request_lease(s.pending[0])->queue);
    busy_with_ticket(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy_with_ticket(&s, "try L#1", 30000);
    hush(&s);
    cancel(&s, 'A');
    expect(&s, "leave L\n"
               "A: CANCELLED\n");
    acquire(&s, 'B', "L", HOW(.wait_ms = -1));
    assert_false(hfi_request_lease(s.pending[1])->queue); /* one attempt wants no ticket */
    hush(&s);
}

/* The grant has used it up. */
static void a_ticket_is_used_up(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy_with_ticket(&s, "try L#1", 30000);
    done(&s, "watch L");
    granted(&s, "try L#1", 5, 1);
    release(&s, 'A');
    hush(&s);
    released(&s, "release L#1", 0);
    expect(&s, "L#1 RELEASING -> GONE\n"
               "A released: OK\n");
    assert_false(is_pending(&s, "leave L"));
}

/* It could not be given up: tried again later. */
static void a_ticket_is_given_up_again(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy_with_ticket(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy_with_ticket(&s, "try L#1", 30000);
    cancel(&s, 'A');
    hush(&s);
    for (int i = 0; i < 3; i++) {
        refused(&s, "leave L", HF_ERR_UNAVAILABLE);
        expect(&s, "");
        if (is_pending(&s, "unwatch L"))
            done(&s, "unwatch L");
        pass(&s, 1000);
        assert_non_null(strstr(s.log, "leave L\n"));
        hush(&s);
    }
    done(&s, "leave L");
    assert_null(s.engine.gates);
}

/* A try that was not answered may have left a ticket. */
static void a_ticket_that_may_be_there_is_given_up(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    unknown(&s, "try L#1");
    cancel(&s, 'A');
    gone(&s, "release L#1");
    hush(&s);
    busy(&s, "try L#2", 30000); /* for nobody; and the store says that there is none */
    expect(&s, "L#2 TRYING -> IDLE\n");
    assert_null(s.engine.gates);
    acquire(&s, 'A', "L", HOW());
    cancel(&s, 'A');
    hush(&s);
    unknown(&s, "try L#3");
    expect(&s, "L#3 TRYING -> RELEASING\n"
               "release L#3\n"
               "leave L\n");
}

/* ------------------------------------------------------------------------------------------------
 * Outcomes that are not known, and refusals
 */

/* The owner id may be anywhere: it is released, first; and the next try has another. */
static void unknown_retires_the_owner_id(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    hush(&s);
    unknown(&s, "try L#1");
    expect(&s, "L#1 TRYING -> RELEASING\n"
               "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 30000\n");
    released(&s, "release L#1", 0); /* it had been executed */
    expect(&s, "L#1 RELEASING -> GONE\n");
    granted(&s, "try L#2", 6, 1);
    expect(&s, "L#2 TRYING -> HELD\n"
               "A: OK #2 token 6\n");
}

/* Nothing is ever known: after the first time there are pauses, and they grow. */
static void unknown_again_and_again(void **state)
{
    unsigned tries = 0;

    (void)state;
    s.quiet = s.deaf = true;
    acquire(&s, 'A', "L", HOW());
    unknown(&s, "try L#1");
    assert_true(is_pending(&s, "try L#2")); /* at once */
    for (uint64_t owner = 2; elapsed_ms(&s) < 20000; owner++) {
        char label[32];

        snprintf(label, sizeof label, "release L#%u", (unsigned)owner - 1);
        gone(&s, label);
        snprintf(label, sizeof label, "try L#%u", (unsigned)owner);
        unknown(&s, label);
        tries++;
        snprintf(label, sizeof label, "try L#%u", (unsigned)owner + 1);
        assert_false(is_pending(&s, label));
        while (!is_pending(&s, label))
            pass(&s, 1);
        hush(&s);
    }
    assert_in_range(tries, 20, 80);
    cancel(&s, 'A');
    hush(&s);
}

/* What is said when the time is over meanwhile; and one answer ends the pauses. */
static void unknown_twice(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW(.wait_ms = 1));
    unknown(&s, "try L#1");
    unknown(&s, "try L#2");
    hush(&s);
    leap(&s, 1);
    assert_non_null(strstr(s.log, "B: UNSURE\n"));
    restored(&s); /* the store works again */
    assert_true(is_pending(&s, "try L#3"));
    busy(&s, "try L#3", 30000);
    done(&s, "watch L");
    hush(&s);
    unknown(&s, "try L#3");
    assert_true(is_pending(&s, "try L#4"));
    hush(&s);
}

/* "This owner has it already" is no grant: how long ago it was given is not known. */
static void already_is_no_grant(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    hush(&s);
    already(&s, "try L#1");
    expect(&s, "L#1 TRYING -> RELEASING\n"
               "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 30000\n");
}

/* A grant whose deadline has passed when it comes is of no use. */
static void granted_too_late(void **state)
{
    (void)state;
    acquire(&s, 'Z', "M", HOW());
    s.now += HFI_MSEC; /* how far the store is */
    granted(&s, "try M#1", 4, 1);
    acquire(&s, 'A', "L", HOW(.ttl_ms = 1000));
    leap(&s, 988); /* 1 s less 1 % less 2 ms */
    hush(&s);
    granted(&s, "try L#2", 5, 1);
    expect(&s, "L#2 TRYING -> HELD\n"
               "L#2 HELD -> RELEASING\n"
               "L#3 IDLE -> TRYING\n"
               "release L#2\n"
               "try L#3 1000\n");
    leap(&s, 987);
    granted(&s, "try L#3", 6, 1); /* with a millisecond left */
    expect(&s, "L#3 TRYING -> HELD\n"
               "A: OK #3 token 6\n");
}

/* Refusals that pass: tried again after pauses that grow, with jitter, up to the poll cap. */
static void refusals_are_waited_out(void **state)
{
    hfi_time longest = 0;

    (void)state;
    s.deaf = true;
    acquire(&s, 'A', "L", HOW());
    for (int i = 0; i < 40; i++) {
        hfi_time before = s.now;

        hush(&s);
        refused(&s, "try L#1", i % 2 ? HF_ERR_UNREACHABLE : HF_ERR_UNAVAILABLE);
        expect(&s, "L#1 TRYING -> IDLE\n");
        pass(&s, 1000);
        expect(&s, "L#1 IDLE -> TRYING\n"
                   "try L#1 30000\n");
        longest = hfi_time_max(longest, hfi_request_lease(s.pending[0])->request.sent_ns - before);
    }
    assert_in_range(longest, 800 * HFI_MSEC, 1000 * HFI_MSEC);
    busy(&s, "try L#1", 30000);
}

/* People hear that it is waited for, once, until the store has answered again. */
static void told_once_that_it_is_waited_for(void **state)
{
    (void)state;
    s.engine.config.poll_ns = 10 * HFI_MSEC; /* shorter than the first pause, too */
    acquire(&s, 'A', "L", HOW());
    for (int i = 0; i < 2; i++) {
        hush(&s);
        refused(&s, "try L#1", HF_ERR_STORE_FULL);
        expect(&s, "L#1 TRYING -> IDLE\n"
                   "warning: waiting for 'L' goes on although the store is out of memory or disk "
                   "space\n");
        for (int k = 0; k < 5; k++) {
            pass(&s, 10);
            hush(&s);
            refused(&s, "try L#1", HF_ERR_UNREACHABLE);
            expect(&s, "L#1 TRYING -> IDLE\n");
        }
        pass(&s, 10);
        busy(&s, "try L#1", 30000);
        if (is_pending(&s, "watch L"))
            done(&s, "watch L");
        else
            pass(&s, 10);
    }
}

/* What this process lacks is told at once. */
static void a_lack_of_our_own(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    hush(&s);
    refused(&s, "try L#1", HF_ERR_NO_MEMORY);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "A: NO_MEMORY\n");
    acquire(&s, 'A', "L", HOW());
    hush(&s);
    refused(&s, "try L#2", HF_ERR_SYSTEM);
    expect(&s, "L#2 TRYING -> IDLE\n"
               "A: SYSTEM\n");
}

/* A waiter joins a try that takes no ticket: it does not sleep without one. */
static void joins_a_try_without_a_ticket(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    busy_with_ticket(&s, "try L#1", 30000);
    done(&s, "watch L");
    busy_with_ticket(&s, "try L#1", 30000);
    cancel(&s, 'A'); /* the watch lingers */
    done(&s, "leave L");
    acquire(&s, 'B', "L", HOW(.wait_ms = -1));
    assert_false(hfi_request_lease(s.pending[0])->queue);
    acquire(&s, 'C', "L", HOW());
    hush(&s);
    busy(&s, "try L#2", 30000);
    expect(&s, "L#2 TRYING -> IDLE\n"
               "L#3 IDLE -> TRYING\n"
               "try L#3 30000\n"
               "B: BUSY\n");
    assert_true(hfi_request_lease(s.pending[0])->queue);
}

/* The store works again: who pauses tries at once. */
static void restored_ends_the_pause(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    refused(&s, "try L#1", HF_ERR_UNREACHABLE);
    hush(&s);
    restored(&s);
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n");
}

/* Refusals that a person must do something about, or that are a lack of our own, end all acquires of the
 * name, now. */
static void fatal_refusals_end_all(void **state)
{
    static const int FATAL[] = { HF_ERR_AUTH,      HF_ERR_PERMISSION, HF_ERR_WRONG_TYPE,
                                 HF_ERR_READ_ONLY, HF_ERR_CLUSTER,    HF_ERR_PROTOCOL,
                                 HF_ERR_SYSTEM,    HF_ERR_NO_MEMORY };
    char expected[128];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(FATAL); i++) {
        char label[32];

        acquire(&s, 'A', "L", HOW());
        acquire(&s, 'B', "L", HOW(.wait_ms = 1000));
        acquire(&s, 'C', "L", HOW(.wait_ms = -1));
        hush(&s);
        snprintf(label, sizeof label, "try L#%zu", i + 1);
        refused(&s, label, FATAL[i]);
        snprintf(expected, sizeof expected, "L#%zu TRYING -> IDLE\nA: %s\nB: %s\nC: %s\n", i + 1,
                 unit_error_name(FATAL[i]), unit_error_name(FATAL[i]), unit_error_name(FATAL[i]));
        expect(&s, expected);
        assert_null(s.engine.gates);
    }
}

/* One attempt ends with the first refusal; those that wait go on. */
static void once_is_refused(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.wait_ms = -1));
    acquire(&s, 'B', "L", HOW());
    hush(&s);
    refused(&s, "try L#1", HF_ERR_UNREACHABLE);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "warning: waiting for 'L' goes on although the store cannot be reached\n"
               "A: UNREACHABLE\n");
    pass(&s, 20);
    expect(&s, "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n");
}

/* ------------------------------------------------------------------------------------------------
 * Re-entry
 */

static void a_thread_enters_again(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 5, 1);
    hush(&s);
    acquire(&s, 'B', "L", HOW(.thread = 'A', .wait_ms = -1));
    expect(&s, "B: OK #1 token 5\n");
    acquire(&s, 'C', "L", HOW(.wait_ms = -1)); /* another thread */
    expect(&s, "C: BUSY\n");
}

static void a_named_owner_enters_again(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.owner = 77));
    granted(&s, "try L#1", 5, 1);
    hush(&s);
    acquire(&s, 'B', "L", HOW(.owner = 77, .ttl_ms = 100, .label = "not used"));
    expect(&s, "B: OK #1 token 5\n");
    acquire(&s, 'C', "L", HOW(.owner = 77, .wait_ms = -1));
    expect(&s, "C: OK #1 token 5\n");
    release(&s, 'A'); /* the store is told when the last handle is gone, whichever that is */
    expect(&s, "A released: OK\n");
    release(&s, 'C');
    expect(&s, "C released: OK\n");
    release(&s, 'B');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n");
}

/* Numbers of different kinds are different owners. */
static void kinds_of_owners_do_not_meet(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW()); /* thread 1 */
    granted(&s, "try L#1", 5, 1);
    hush(&s);
    acquire(&s, 'B', "L", HOW(.owner = 1, .wait_ms = -1)); /* named 1 */
    expect(&s, "B: BUSY\n");
}

/* Two acquires of one named owner wait together: the first grant serves both. */
static void a_named_owner_waits_twice(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.owner = 77));
    acquire(&s, 'B', "L", HOW());
    acquire(&s, 'C', "L", HOW(.owner = 77));
    hush(&s);
    granted(&s, "try L#1", 5, 1);
    expect(&s, "L#1 TRYING -> HELD\n"
               "A: OK #1 token 5\n"
               "C: OK #1 token 5\n");
}

/* A lease that is over is entered by nobody; its loss is told first. */
static void no_entry_after_the_deadline(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.owner = 77, .ttl_ms = 1000));
    granted(&s, "try L#1", 5, 1);
    hush(&s);
    s.now += 988 * HFI_MSEC; /* and no tick yet */
    acquire(&s, 'B', "L", HOW(.owner = 77, .ttl_ms = 1000));
    expect(&s, "L#1 HELD -> LOST\n"
               "L#2 IDLE -> TRYING\n"
               "try L#2 1000\n"
               "A: LOST\n");
}

/* A ttl that the store's distance makes useless is warned about, once a ttl. */
static void short_ttls_are_warned_about(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 100));
    s.now += 6 * HFI_MSEC;
    hush(&s);
    granted(&s, "try L#1", 5, 1);
    assert_non_null(strstr(s.log,
                           "warning: a ttl of 100 ms is less than 20 round trips to the store "
                           "(6000 us each)"));
    hush(&s);
    acquire(&s, 'B', "M", HOW(.ttl_ms = 100));
    s.now += 6 * HFI_MSEC;
    granted(&s, "try M#2", 5, 1);
    assert_null(strstr(s.log, "warning"));
    hush(&s);
}

#define STAGED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGED(uncontended),
        STAGED(every_acquire_has_a_new_owner_id),
        STAGED(waits_for_another_process),
        STAGED(lost_wakeups_cost_a_poll),
        STAGED(the_hint_bounds_the_sleep),
        STAGED(woken_while_trying),
        STAGED(watch_confirmed_while_trying),
        STAGED(watch_unanswered),
        STAGED(watch_refused),
        STAGED(the_kind_of_lock_changes),
        STAGED(one_try_for_all),
        STAGED(once_alone),
        STAGED(once_with_waiters),
        STAGED(once_loses_to_a_waiter),
        STAGED(once_while_another_try_is_in_flight),
        STAGED(once_while_another_thread_holds),
        STAGED(once_with_unknown_outcome),
        STAGED(time_over_while_asleep),
        STAGED(time_over_before_the_next_look),
        STAGED(time_over_while_watching),
        STAGED(time_over_behind_another_thread),
        STAGED(time_over_while_the_store_is_down),
        STAGED(time_over_before_anything_was_sent),
        STAGED(time_over_while_trying_then_granted),
        STAGED(time_over_while_trying_then_the_next_has_it),
        STAGED(cancelled_while_trying),
        STAGED(cancelled_while_watching),
        STAGED(cancelled_while_asleep),
        STAGED(cancelled_while_paused),
        STAGED(cancelled_before_others),
        STAGED(a_lingering_watch_is_used),
        STAGED(comes_while_unwatching),
        STAGED(a_ticket_is_given_up),
        STAGED(a_ticket_is_used_up),
        STAGED(a_ticket_is_given_up_again),
        STAGED(a_ticket_that_may_be_there_is_given_up),
        STAGED(unknown_retires_the_owner_id),
        STAGED(unknown_again_and_again),
        STAGED(unknown_twice),
        STAGED(already_is_no_grant),
        STAGED(granted_too_late),
        STAGED(refusals_are_waited_out),
        STAGED(told_once_that_it_is_waited_for),
        STAGED(a_lack_of_our_own),
        STAGED(joins_a_try_without_a_ticket),
        STAGED(restored_ends_the_pause),
        STAGED(fatal_refusals_end_all),
        STAGED(once_is_refused),
        STAGED(a_thread_enters_again),
        STAGED(a_named_owner_enters_again),
        STAGED(kinds_of_owners_do_not_meet),
        STAGED(a_named_owner_waits_twice),
        STAGED(no_entry_after_the_deadline),
        STAGED(short_ttls_are_warned_about),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
