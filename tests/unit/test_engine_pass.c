/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: passing a hold on inside the process. Each test is a trace (stage.h). */
#include "stage.h"

static struct stage s;

static int setup(void **state)
{
    (void)state;
    stage_init(&s);
    stage_open(&s);
    return 0;
}

static int setup_without_passing(void **state)
{
    (void)state;
    stage_init(&s);
    s.config.pass_count = 0;
    stage_open(&s);
    return 0;
}

static int setup_two_passes(void **state)
{
    (void)state;
    stage_init(&s);
    s.config.pass_count = 2;
    stage_open(&s);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stage_close(&s);
    return 0;
}

/* `first` holds L with a block of tokens from 100 on, since `others` wait behind it. */
static void held_with_waiters(const char *others)
{
    acquire(&s, 'A', "L", HOW());
    for (; *others; others++)
        acquire(&s, *others, "L", HOW());
    hush(&s);
    if (s.engine.gates->queue_len > 1 && !s.pending[0]->sent_ns)
        fail();
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, hfi_request_lease(s.pending[0])->tokens);
    hush(&s);
}

/* ------------------------------------------------------------------------------------------------
 * Who is next
 */

/* The first in the queue is not late: its thread is woken, and takes the hold when it comes. */
static void the_first_is_called(void **state)
{
    (void)state;
    held_with_waiters("BC");
    release(&s, 'A');
    expect(&s, "wake B\n"
               "A released: OK\n"); /* and nothing is sent */
    take(&s, 'B');
    expect(&s, "B: OK #1 token 101\n");
    release(&s, 'B');
    expect(&s, "wake C\n"
               "B released: OK\n");
    take(&s, 'C');
    expect(&s, "C: OK #1 token 102\n");
    release(&s, 'C'); /* nobody waits any more */
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n");
    released(&s, "release L#1", 0);
    expect(&s, "L#1 RELEASING -> GONE\n"
               "C released: OK\n");
}

/* A thread that runs takes the free hold before the one that was called: normal mode. */
static void a_runner_barges_in(void **state)
{
    (void)state;
    held_with_waiters("B");
    release(&s, 'A');
    hush(&s);
    acquire(&s, 'C', "L", HOW());
    expect(&s, "C: OK #1 token 101\n");
    take(&s, 'B'); /* it comes in vain, */
    expect(&s, "");
    release(&s, 'C');
    expect(&s, "wake B\n" /* and is called again */
               "C released: OK\n");
    take(&s, 'B');
    expect(&s, "B: OK #1 token 102\n");
}

/* The one that was called has not come yet, and the hold was taken and freed again: it is called once. */
static void nobody_is_called_twice(void **state)
{
    (void)state;
    held_with_waiters("B");
    release(&s, 'A');
    acquire(&s, 'C', "L", HOW());
    hush(&s);
    release(&s, 'C');
    expect(&s, "C released: OK\n");
    take(&s, 'B');
    expect(&s, "B: OK #1 token 102\n");
}

/* Once the first is late (1 ms), the hold is handed to it: starvation mode, in order. */
static void the_late_are_served_in_order(void **state)
{
    (void)state;
    held_with_waiters("BC");
    leap(&s, 2);
    acquire(&s, 'D', "L", HOW());
    hush(&s);
    release(&s, 'A');
    expect(&s, "B: OK #1 token 101\n"
               "A released: OK\n");
    release(&s, 'B');
    expect(&s, "C: OK #1 token 102\n"
               "B released: OK\n");
    release(&s, 'C'); /* D is not late */
    expect(&s, "wake D\n"
               "C released: OK\n");
}

/* An acquire of an event loop has no thread to wake: it gets the hold as it is. */
static void event_loops_are_handed_the_hold(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW(.fresh = true));
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    hush(&s);
    release(&s, 'A');
    expect(&s, "B: OK #1 token 101\n"
               "A released: OK\n");
}

/* One attempt takes a parked hold, too. */
static void one_attempt_barges_in(void **state)
{
    (void)state;
    held_with_waiters("B");
    release(&s, 'A');
    hush(&s);
    acquire(&s, 'C', "L", HOW(.wait_ms = -1));
    expect(&s, "C: OK #1 token 101\n");
}

/* … and is refused at once when the parked hold is not for it. */
static void one_attempt_with_another_ttl(void **state)
{
    (void)state;
    held_with_waiters("B");
    release(&s, 'A');
    hush(&s);
    acquire(&s, 'C', "L", HOW(.wait_ms = -1, .ttl_ms = 5000));
    expect(&s, "C: BUSY\n");
}

/* The lease ends while the hold is parked: who comes then, before any tick, gets nothing of it. */
static void the_lease_ends_while_parked(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 100));
    acquire(&s, 'B', "L", HOW(.ttl_ms = 100));
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    s.now += 96 * HFI_MSEC;
    s.actor['B' - 'A'].waiter.queued_ns = s.now; /* not late */
    release(&s, 'A');
    hush(&s);
    s.now += HFI_MSEC;
    take(&s, 'B');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 100\n");
}

/* ------------------------------------------------------------------------------------------------
 * The one who was called does not come
 */

static void the_called_one_is_cancelled(void **state)
{
    (void)state;
    held_with_waiters("BC");
    release(&s, 'A');
    hush(&s);
    cancel(&s, 'B');
    expect(&s, "B: CANCELLED\n"
               "wake C\n");
    take(&s, 'C');
    expect(&s, "C: OK #1 token 101\n");
}

static void all_who_waited_are_cancelled(void **state)
{
    (void)state;
    held_with_waiters("BC");
    release(&s, 'A');
    cancel(&s, 'C');
    hush(&s);
    cancel(&s, 'B');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n"
               "B: CANCELLED\n");
}

/* Its time for passing is over: the hold goes back, and the waiter tries as all others do. */
static void the_called_one_sleeps_too_long(void **state)
{
    (void)state;
    held_with_waiters("B");
    release(&s, 'A');
    hush(&s);
    leap(&s, 9);
    expect(&s, "");
    leap(&s, 1);
    expect(&s, "L#1 HELD -> RELEASING\n"
               "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 30000\n");
    take(&s, 'B'); /* here at last: there is nothing to take */
    expect(&s, "");
    granted(&s, "try L#2", 2000, 1);
    expect(&s, "L#2 TRYING -> HELD\n"
               "B: OK #2 token 2000\n");
}

static void the_called_one_runs_out_of_time(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW(.wait_ms = 5));
    acquire(&s, 'C', "L", HOW());
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    release(&s, 'A');
    hush(&s);
    pass(&s, 5);
    expect(&s, "B: BUSY\n"
               "C: OK #1 token 101\n"); /* late by now */
}

/* ------------------------------------------------------------------------------------------------
 * When a hold is not passed
 */

static void off(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW());
    busy(&s, "try L#1", 30000);
    hush(&s);
    done(&s, "watch L");
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n"); /* no block of tokens */
    granted(&s, "try L#1", 100, 1);
    hush(&s);
    release(&s, 'A');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 30000\n");
}

/* Tokens only came for itself: the first waiter came after the try. */
static void no_token_is_left(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW());
    granted(&s, "try L#1", 100, 1);
    hush(&s);
    release(&s, 'A');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 30000\n");
}

static void tokens_run_out(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW(.fresh = true));
    acquire(&s, 'C', "L", HOW(.fresh = true));
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 2);
    release(&s, 'A');
    hush(&s);
    release(&s, 'B');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n");
    released(&s, "release L#1", 1); /* only we listen */
    expect(&s, "L#1 RELEASING -> GONE\n"
               "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n"
               "B released: OK\n");
}

static void another_ttl(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW(.ttl_ms = 10000));
    acquire(&s, 'C', "L", HOW());
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    hush(&s);
    release(&s, 'A'); /* B is first, and cannot have it */
    expect(&s, "L#1 HELD -> RELEASING\n"
               "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 10000 x1001\n");
}

static void a_fixed_lease(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.fixed = true));
    acquire(&s, 'B', "L", HOW(.fixed = true));
    busy(&s, "try L#1", 1);
    hush(&s);
    done(&s, "watch L");
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n"); /* wants no tokens for others */
    granted(&s, "try L#1", 100, 1);
    hush(&s);
    release(&s, 'A');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 30000\n");
}

/* A hold at risk is not passed: its receiver would begin with less than it knows. */
static void a_hold_at_risk(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000));
    acquire(&s, 'B', "L", HOW(.ttl_ms = 3000, .fresh = true));
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    pass(&s, 1000);
    refused(&s, "renew L#1", HF_ERR_UNREACHABLE);
    hush(&s);
    release(&s, 'A');
    expect(&s, "L#1 AT_RISK -> RELEASING\n"
               "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 3000\n");
}

/* ------------------------------------------------------------------------------------------------
 * Others go first
 */

/* So many passes, then the store has it back; when other processes wait, they are let go first. */
static void after_so_many_passes(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    for (char c = 'B'; c <= 'E'; c++)
        acquire(&s, c, "L", HOW(.fresh = true));
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 3);
    release(&s, 'A');
    release(&s, 'B');
    hush(&s);
    release(&s, 'C');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n");    /* and no try yet */
    released(&s, "release L#1", 2); /* we, and another one */
    expect(&s, "L#1 RELEASING -> GONE\n"
               "C released: OK\n");
    wake(&s, "L"); /* our own release's message */
    expect(&s, "");
    leap(&s, 1);
    expect(&s, "");
    leap(&s, 1);
    expect(&s, "L#2 IDLE -> TRYING\n"
               "try L#2 30000 x3\n");
}

/* Who spins is not told, and not counted: it may always be there. */
static void after_so_many_passes_of_a_spin_lock(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.kind = HFI_KIND_SPIN));
    for (char c = 'B'; c <= 'E'; c++)
        acquire(&s, c, "L", HOW(.kind = HFI_KIND_SPIN, .fresh = true));
    busy(&s, "try L#1", 1);
    pass(&s, 128);
    granted(&s, "try L#1", 100, 3);
    release(&s, 'A');
    release(&s, 'B');
    hush(&s);
    release(&s, 'C');
    released(&s, "release L#1", 0);
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n"
               "L#1 RELEASING -> GONE\n"
               "C released: OK\n");
    leap(&s, 1);
    expect(&s, "");
    leap(&s, 1);
    expect(&s, "L#2 IDLE -> TRYING\n"
               "try L#2 30000 x3\n");
}

/* Nobody else waits: there is no reason to hesitate. */
static void nobody_else_waits(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    for (char c = 'B'; c <= 'E'; c++)
        acquire(&s, c, "L", HOW(.fresh = true));
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 3);
    release(&s, 'A');
    release(&s, 'B');
    release(&s, 'C');
    hush(&s);
    released(&s, "release L#1", 1);
    expect(&s, "L#1 RELEASING -> GONE\n"
               "L#2 IDLE -> TRYING\n"
               "try L#2 30000 x3\n"
               "C released: OK\n");
}

/* The release of the last pass is not answered: the waiters do not wait for it for ever. */
static void the_yielding_release_is_unknown(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    for (char c = 'B'; c <= 'E'; c++)
        acquire(&s, c, "L", HOW(.fresh = true));
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 3);
    release(&s, 'A');
    release(&s, 'B');
    release(&s, 'C');
    hush(&s);
    unknown(&s, "release L#1");
    expect(&s, "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 30000 x3\n"
               "C released: UNSURE\n");
}

/* The time for passing is over: it counts from the first pass, not from the grant. */
static void after_so_much_time(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    for (char c = 'B'; c <= 'E'; c++)
        acquire(&s, c, "L", HOW(.fresh = true));
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    leap(&s, 500);
    release(&s, 'A');
    leap(&s, 9);
    hush(&s);
    release(&s, 'B');
    expect(&s, "C: OK #1 token 102\n"
               "B released: OK\n");
    leap(&s, 1);
    release(&s, 'C');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n");
}

/* A waiter whose time is over while others go first: somebody else had it, so it was busy. */
static void time_over_while_yielding(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW(.fresh = true));
    acquire(&s, 'C', "L", HOW(.fresh = true));
    acquire(&s, 'D', "L", HOW(.wait_ms = 20));
    acquire(&s, 'E', "L", HOW());
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 3);
    release(&s, 'A');
    release(&s, 'B');
    release(&s, 'C');
    hush(&s);
    leap(&s, 20);
    expect(&s, "D: BUSY\n");
    released(&s, "release L#1", 3);
    hush(&s);
}

/* ------------------------------------------------------------------------------------------------
 * Claims
 */

/* Each claim has its label, its since and its ceiling; not those of the one before. */
static void a_claim_brings_its_own_label(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.label = "first"));
    acquire(&s, 'B', "L", HOW(.fresh = true, .label = "second"));
    acquire(&s, 'C', "L", HOW(.fresh = true));
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    assert_string_equal(s.actor[0].handle.hold->lease.label, "first");
    leap(&s, 3);
    release(&s, 'A');
    assert_string_equal(s.actor[1].handle.hold->lease.label, "second");
    assert_int_equal(s.actor[1].handle.hold->since_ns, s.now);
    release(&s, 'B');
    assert_null(s.actor[2].handle.hold->lease.label);
    hush(&s);
}

/* The first claim wanted a ceiling, the second none: it is renewed as any other hold. */
static void a_ceiling_ends_with_its_claim(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.max_hold_ms = 5000));
    acquire(&s, 'B', "L", HOW(.fresh = true));
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    assert_int_equal(hfi_hold_deadline(s.actor[0].handle.hold), s.now + 5 * HFI_SEC);
    release(&s, 'A');
    assert_int_equal(hfi_hold_deadline(s.actor[1].handle.hold), s.now + 29698 * HFI_MSEC);
    pass(&s, 5000);
    hush(&s);
    pass(&s, 5000);
    expect(&s, "renew L#1 30000\n");
    renewed(&s, "renew L#1", NULL);
    pass(&s, 5000);
    assert_true(hfi_hold_valid(s.actor[1].handle.hold, s.now));
    hush(&s);
}

/* And the other way round: the ceiling counts from its own claim. */
static void a_ceiling_begins_with_its_claim(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW(.fresh = true, .max_hold_ms = 5000));
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    pass(&s, 1000);
    release(&s, 'A');
    hush(&s);
    assert_int_equal(hfi_hold_deadline(s.actor[1].handle.hold), s.now + 5 * HFI_SEC);
    pass(&s, 4999);
    hush(&s);
    pass(&s, 1);
    expect(&s, "L#1 HELD -> LOST\n"
               "B: LOST\n");
}

/* A barging named owner takes its other waiters along, the one that was called among them; nothing of that
 * one is left behind that could be called. */
static void the_called_one_enters_with_its_owner(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW(.owner = 77));
    acquire(&s, 'C', "L", HOW());
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    release(&s, 'A');
    hush(&s);
    acquire(&s, 'D', "L", HOW(.owner = 77));
    expect(&s, "D: OK #1 token 101\n"
               "B: OK #1 token 101\n");
    release(&s, 'D');
    hush(&s);
    release(&s, 'B');
    expect(&s, "wake C\n"
               "B released: OK\n");
}

#define STAGED(test)     cmocka_unit_test_setup_teardown(test, setup, teardown)
#define TWO_PASSES(test) cmocka_unit_test_setup_teardown(test, setup_two_passes, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGED(the_first_is_called),
        STAGED(a_runner_barges_in),
        STAGED(nobody_is_called_twice),
        STAGED(the_late_are_served_in_order),
        STAGED(event_loops_are_handed_the_hold),
        STAGED(one_attempt_barges_in),
        STAGED(one_attempt_with_another_ttl),
        STAGED(the_lease_ends_while_parked),
        STAGED(the_called_one_is_cancelled),
        STAGED(all_who_waited_are_cancelled),
        STAGED(the_called_one_sleeps_too_long),
        STAGED(the_called_one_runs_out_of_time),
        cmocka_unit_test_setup_teardown(off, setup_without_passing, teardown),
        STAGED(no_token_is_left),
        STAGED(tokens_run_out),
        STAGED(another_ttl),
        STAGED(a_fixed_lease),
        STAGED(a_hold_at_risk),
        TWO_PASSES(after_so_many_passes),
        TWO_PASSES(after_so_many_passes_of_a_spin_lock),
        TWO_PASSES(nobody_else_waits),
        TWO_PASSES(the_yielding_release_is_unknown),
        STAGED(after_so_much_time),
        TWO_PASSES(time_over_while_yielding),
        STAGED(a_claim_brings_its_own_label),
        STAGED(a_ceiling_ends_with_its_claim),
        STAGED(a_ceiling_begins_with_its_claim),
        STAGED(the_called_one_enters_with_its_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
