/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: locks of all kinds. Each test is a trace (stage.h). */
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

#define READ(...)  HOW(.kind = HFI_KIND_READ, __VA_ARGS__)
#define WRITE(...) HOW(.kind = HFI_KIND_WRITE, __VA_ARGS__)

/* ------------------------------------------------------------------------------------------------
 * Readers and writers
 */

/* Each reader has an owner id of its own, and they are tried one after the other. */
static void readers_hold_together(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", READ());
    acquire(&s, 'B', "L", READ());
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n");
    granted(&s, "try L#1", 9, 1);
    expect(&s, "L#1 TRYING -> HELD\n"
               "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n"
               "A: OK #1 token 0\n"); /* several owners: a token would mean nothing */
    granted(&s, "try L#2", 9, 1);
    expect(&s, "L#2 TRYING -> HELD\n"
               "B: OK #2 token 0\n");
    release(&s, 'A');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n");
    released(&s, "release L#1", 0);
    release(&s, 'B');
    released(&s, "release L#2", 0);
    assert_null(s.engine.gates);
}

static void a_reader_enters_again(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", READ());
    granted(&s, "try L#1", 9, 1);
    hush(&s);
    acquire(&s, 'B', "L", READ(.thread = 'A'));
    expect(&s, "B: OK #1 token 0\n");
    release(&s, 'A');
    expect(&s, "A released: OK\n");
    release(&s, 'B');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n");
}

/* An attempt of one reader says nothing of one that came while it was under way. */
static void readers_that_try_once(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", READ(.wait_ms = -1));
    acquire(&s, 'B', "L", READ(.wait_ms = -1));
    hush(&s);
    busy_kind(&s, "try L#1", HFI_TOPIC_READ_WRITE);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n"
               "A: BUSY\n");
    granted(&s, "try L#2", 9, 1);
    expect(&s, "L#2 TRYING -> HELD\n"
               "B: OK #2 token 0\n");
}

static void readers_wait_for_a_writer(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", READ());
    acquire(&s, 'B', "L", READ());
    busy_kind(&s, "try L#1", HFI_TOPIC_READ_WRITE);
    hush(&s);
    done(&s, "watch L rw");
    busy_kind(&s, "try L#1", HFI_TOPIC_READ_WRITE);
    hush(&s);
    wake(&s, "L");
    granted(&s, "try L#1", 1, 1);
    granted(&s, "try L#2", 1, 1);
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n"
               "L#1 TRYING -> HELD\n"
               "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n"
               "A: OK #1 token 0\n"
               "L#2 TRYING -> HELD\n"
               "B: OK #2 token 0\n");
}

/* The loss of one reader is nobody else's. */
static void one_reader_is_lost(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", READ());
    granted(&s, "try L#1", 1, 1);
    acquire(&s, 'B', "L", READ());
    granted(&s, "try L#2", 1, 1);
    hush(&s);
    restored(&s);
    expect(&s, "renew L#1 30000, L#2 30000\n");
    renewed(&s, "renew L#1", "L#1");
    expect(&s, "L#1 HELD -> LOST\n"
               "A: LOST\n");
    release(&s, 'A');
    expect(&s, "L#1 LOST -> GONE\n"
               "A released: LOST\n");
    acquire(&s, 'A', "L", READ()); /* the thread's next one is another */
    expect(&s, "L#3 IDLE -> TRYING\n"
               "try L#3 30000\n");
}

/* Who writes may read, under the same owner id, and before those who wait for the writer to end. */
static void the_writer_reads(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", WRITE());
    granted(&s, "try L#1", 7, 1);
    acquire(&s, 'B', "L", READ());
    busy_kind(&s, "try L#2", HFI_TOPIC_READ_WRITE);
    done(&s, "watch L rw");
    busy_kind(&s, "try L#2", HFI_TOPIC_READ_WRITE);
    hush(&s);
    acquire(&s, 'C', "L", READ(.thread = 'A'));
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n");
    granted(&s, "try L#1", 1, 1);
    expect(&s, "L#1 TRYING -> HELD\n"
               "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n"
               "C: OK #1 token 0\n");
    busy_kind(&s, "try L#2", HFI_TOPIC_READ_WRITE);
    hush(&s);
    release(&s, 'A'); /* downgrade */
    released(&s, "release L#1", 0);
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n"
               "L#1 RELEASING -> GONE\n"
               "A released: OK\n");
    acquire(&s, 'D', "L", READ(.thread = 'A')); /* still the reader */
    expect(&s, "D: OK #1 token 0\n");
    release(&s, 'D');
    release(&s, 'C');
    expect(&s, "D released: OK\n"
               "L#1 HELD -> RELEASING\n"
               "release L#1\n");
    released(&s, "release L#1", 0);
}

/* While the writer's read hold may be anywhere, its owner id is not used for another. */
static void a_borrowed_owner_id_is_not_used_twice(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", WRITE());
    granted(&s, "try L#1", 7, 1);
    acquire(&s, 'B', "L", READ(.thread = 'A'));
    hush(&s);
    unknown(&s, "try L#1");
    expect(&s, "L#1 TRYING -> RELEASING\n"
               "release L#1\n"
               "leave L\n" /* where there are places */
               "B: UNSURE\n");
    acquire(&s, 'B', "L", READ(.thread = 'A'));
    expect(&s, "B: UNSURE\n");
    gone(&s, "release L#1");
    hush(&s);
    acquire(&s, 'B', "L", READ(.thread = 'A'));
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n");
    cancel(&s, 'B'); /* and so it is for one that left */
    granted(&s, "try L#1", 1, 1);
    released(&s, "release L#1", 0);
    hush(&s);
    acquire(&s, 'B', "L", READ(.thread = 'A'));
    granted(&s, "try L#1", 1, 1);
    release(&s, 'A');
    release(&s, 'B');
}

static void a_reader_cannot_write(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", READ());
    granted(&s, "try L#1", 7, 1);
    hush(&s);
    acquire(&s, 'B', "L", WRITE(.thread = 'A'));
    expect(&s, "B: UPGRADE\n");
    acquire(&s, 'B', "L", WRITE(.thread = 'A', .wait_ms = -1));
    expect(&s, "B: UPGRADE\n");
    acquire(&s, 'B', "L", HOW(.thread = 'A')); /* in whatever kind */
    expect(&s, "B: UPGRADE\n");
    acquire(&s, 'B', "L", WRITE()); /* another one waits */
    expect(&s, "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n");
}

static void the_writer_enters_again_while_it_reads(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", WRITE());
    granted(&s, "try L#1", 7, 1);
    acquire(&s, 'B', "L", READ(.thread = 'A'));
    granted(&s, "try L#1", 1, 1);
    hush(&s);
    acquire(&s, 'C', "L", WRITE(.thread = 'A'));
    expect(&s, "C: OK #1 token 7\n");
}

/* A write hold is never passed on inside the process: readers elsewhere would never come. */
static void writers_are_not_passed(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", WRITE());
    acquire(&s, 'B', "L", WRITE());
    granted(&s, "try L#1", 7, 1);
    hush(&s);
    leap(&s, 5);
    release(&s, 'A');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 30000\n");
}

/* ------------------------------------------------------------------------------------------------
 * Fair
 */

#define FAIR(...) HOW(.kind = HFI_KIND_FAIR, __VA_ARGS__)

/* Each owner asks for itself, and has a place of its own. */
static void fair_waiters_have_places_of_their_own(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", FAIR());
    acquire(&s, 'B', "L", FAIR(.wait_ms = 9000));
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n"
               "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n");
    granted(&s, "try L#1", 7, 1);
    busy_turn(&s, "try L#2");
    expect(&s, "L#1 TRYING -> HELD\n"
               "A: OK #1 token 7\n"
               "L#2 TRYING -> IDLE\n"
               "watch L turn #2\n");
    done(&s, "watch L turn #2");
    busy_turn(&s, "try L#2");
    release(&s, 'A');
    released(&s, "release L#1", 0);
    hush(&s);
    wake(&s, "L");
    granted(&s, "try L#2", 8, 1);
    expect(&s, "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n"
               "L#2 TRYING -> HELD\n"
               "B: OK #2 token 8\n");
}

/* The first one has a place, listens to its turn, and gives up after 500 ms. */
static void listens_until_its_time_is_over(void)
{
    busy_turn(&s, "try L#1");
    done(&s, "watch L turn #1");
    busy_turn(&s, "try L#1");
    hush(&s);
    pass(&s, 500);
}

static void a_fair_waiter_that_leaves_gives_its_place_up(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", FAIR(.wait_ms = 500));
    listens_until_its_time_is_over();
    expect(&s, "leave L#1\n"
               "A: BUSY\n");
}

/* Of an owner that was made for one acquire nothing stays: its like does not come again. */
static void a_fair_waiter_that_never_comes_again(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", FAIR(.wait_ms = 500, .fresh = true));
    listens_until_its_time_is_over();
    expect(&s, "leave L#1\n"
               "unwatch L\n"
               "A: BUSY\n");
    done(&s, "leave L#1");
    done(&s, "unwatch L");
    assert_null(s.engine.gates);
}

/* Another call of the same owner does not keep it: it has a place of its own. */
static void a_fair_waiter_leaves_another_of_its_owner(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", FAIR(.owner = 7, .wait_ms = 500));
    acquire(&s, 'B', "L", FAIR(.owner = 7));
    listens_until_its_time_is_over();
    expect(&s, "A: BUSY\n");
    wake(&s, "L");
    expect(&s, "L#2 IDLE -> TRYING\n"
               "leave L#1\n"
               "try L#2 30000\n");
    busy_turn(&s, "try L#2");
    done(&s, "watch L turn #2");
    busy_turn(&s, "try L#2");
    hush(&s);
    cancel(&s, 'B'); /* while the first has not left yet */
    expect(&s, "B: CANCELLED\n");
    done(&s, "leave L#1");
    expect(&s, "leave L#2\n");
}

/* One place is remembered: while it cannot be given up, since an earlier one is on its way, no other is asked for. */
static void fair_waiters_leave_one_after_another(void **state)
{
    (void)state;
    for (char who = 'A'; who <= 'B'; who++) {
        acquire(&s, who, "L", FAIR(.owner = 7));
        busy_turn(&s, who == 'A' ? "try L#1" : "try L#2");
        hush(&s);
        cancel(&s, who);
    }
    expect(&s, "B: CANCELLED\n");
    acquire(&s, 'C', "L", FAIR(.owner = 7));
    expect(&s, "");
    done(&s, "leave L#1");
    expect(&s, "L#3 IDLE -> TRYING\n"
               "leave L#2\n"
               "try L#3 30000\n");
    busy_turn(&s, "try L#3");
    hush(&s);
    cancel(&s, 'C');
    acquire(&s, 'D', "L", FAIR(.owner = 7, .wait_ms = -1)); /* wants no place */
    expect(&s, "C: CANCELLED\n"
               "L#4 IDLE -> TRYING\n"
               "try L#4 30000\n");
}

/* Releasing gives the place up as well, so nothing else has to. */
static void a_fair_try_without_answer(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", FAIR());
    hush(&s);
    unknown(&s, "try L#1");
    expect(&s, "L#1 TRYING -> RELEASING\n"
               "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 30000\n");
    gone(&s, "release L#1");
    cancel(&s, 'A');
    hush(&s);
    refused(&s, "try L#2", HF_ERR_UNREACHABLE);
    expect(&s, "L#2 TRYING -> IDLE\n");
    assert_null(s.engine.gates);
}

/* Who asks again soon does so under its number, on whose channel it listens still; unless an answer was lost. */
static void a_fair_owner_keeps_its_number(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", FAIR());
    busy_turn(&s, "try L#1");
    done(&s, "watch L turn #1");
    granted(&s, "try L#1", 7, 1);
    release(&s, 'A');
    released(&s, "release L#1", 0);
    hush(&s);
    acquire(&s, 'A', "L", FAIR());
    busy_turn(&s, "try L#1");
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n"
               "L#1 TRYING -> IDLE\n"); /* it sleeps: nothing more is to be asked */
    wake(&s, "L");
    granted(&s, "try L#1", 8, 1);
    release(&s, 'A');
    unknown(&s, "release L#1");
    released(&s, "release L#1", 0);
    acquire(&s, 'A', "L", FAIR());
    unknown(&s, "try L#2");
    released(&s, "release L#2", 0);
    granted(&s, "try L#3", 9, 1);
    restored(&s);
    unknown(&s, "renew L#3");
    release(&s, 'A');
    released(&s, "release L#3", 0);
    hush(&s);
    acquire(&s, 'A', "L", FAIR());
    expect(&s, "L#4 IDLE -> TRYING\n"
               "try L#4 30000\n");
}

/* What a lost answer may have left is never met again: not even when the store has shown what it was. */
static void a_fair_try_without_answer_is_not_used_again(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", FAIR());
    unknown(&s, "try L#1");
    released(&s, "release L#1", 0); /* it had been executed */
    hush(&s);
    unknown(&s, "try L#2");
    pass(&s, 1000);
    expect(&s, "L#2 TRYING -> RELEASING\n"
               "release L#2\n"
               "L#3 IDLE -> TRYING\n"
               "try L#3 30000\n");
}

static void a_fair_owner_enters_again(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", FAIR());
    granted(&s, "try L#1", 7, 1);
    hush(&s);
    acquire(&s, 'B', "L", FAIR(.thread = 'A'));
    expect(&s, "B: OK #1 token 7\n");
}

/* ------------------------------------------------------------------------------------------------
 * The other locks
 */

static void non_reentrant(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 7, 1);
    hush(&s);
    acquire(&s, 'B', "L", HOW(.thread = 'A', .no_reentry = true));
    expect(&s, "B: REENTRY\n");
}

/* It listens to nothing, and looks again after 1 to 128 ms. */
static void spin(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.kind = HFI_KIND_SPIN));
    hush(&s);
    for (int i = 0; i < 50; i++) {
        hfi_time before = elapsed_ms(&s);

        busy(&s, "try L#1", 30000);
        expect(&s, "L#1 TRYING -> IDLE\n");
        pass(&s, 128);
        expect(&s, "L#1 IDLE -> TRYING\n"
                   "try L#1 30000\n");
        assert_true(elapsed_ms(&s) <= before + 129);
    }
    granted(&s, "try L#1", 1, 1);
}

static void fenced_holds_are_not_passed(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.kind = HFI_KIND_FENCED));
    acquire(&s, 'B', "L", HOW(.kind = HFI_KIND_FENCED));
    granted(&s, "try L#1", 1, 1);
    hush(&s);
    release(&s, 'A');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 30000\n");
}

/* ------------------------------------------------------------------------------------------------
 * Permits, semaphores, latches
 */

static void permits(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.kind = HFI_KIND_PERMITS, .permits = 2));
    granted(&s, "try L#1", 1, 1);
    acquire(&s, 'B', "L", HOW(.kind = HFI_KIND_PERMITS, .permits = 2, .thread = 'A'));
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n"
               "L#1 TRYING -> HELD\n"
               "A: OK #1 token 0\n"
               "L#2 IDLE -> TRYING\n" /* no re-entry: more */
               "try L#2 30000\n");
    busy_kind(&s, "try L#2", HFI_TOPIC_PERMITS);
    hush(&s);
    acquire(&s, 'C', "L", HOW(.kind = HFI_KIND_PERMITS, .permits = 1)); /* need not wait for more */
    expect(&s, "L#3 IDLE -> TRYING\n"
               "try L#3 30000\n");
    granted(&s, "try L#3", 1, 1);
    hush(&s);
    leap(&s, 10000);
    expect(&s, "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n"
               "renew L#3 30000, L#1 30000\n");
    renewed(&s, "renew L#3", NULL);
}

/* What was granted is the waiter's: nothing is renewed, nothing released. */
static void a_semaphore_grants_no_hold(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.kind = HFI_KIND_SEMAPHORE, .permits = 1));
    hush(&s);
    granted(&s, "try L#1", 1, 1);
    expect(&s, "L#1 TRYING -> HELD\n"
               "A: OK #1 token 0\n");
    restored(&s);
    expect(&s, "");
    forget(&s, 'A');
    expect(&s, "L#1 HELD -> GONE\n");
    assert_null(s.engine.gates);
}

/* Nobody came for it: it goes back. And so does what may have been taken. */
static void a_semaphore_that_nobody_wants_is_undone(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.kind = HFI_KIND_SEMAPHORE, .permits = 1));
    granted(&s, "try L#1", 1, 1);
    hush(&s);
    release(&s, 'A');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n");
    released(&s, "release L#1", 0);
    acquire(&s, 'B', "L", HOW(.kind = HFI_KIND_SEMAPHORE, .permits = 1));
    hush(&s);
    unknown(&s, "try L#2");
    expect(&s, "L#2 TRYING -> RELEASING\n"
               "L#3 IDLE -> TRYING\n"
               "release L#2\n"
               "try L#3 30000\n");
    gone(&s, "release L#2");
    cancel(&s, 'B');
    hush(&s);
    granted(&s, "try L#3", 1, 1);
    expect(&s, "L#3 TRYING -> HELD\n"
               "L#3 HELD -> RELEASING\n"
               "release L#3\n");
}

/* Its grant is no lease: it does not come too late. */
static void a_semaphore_grants_late(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.kind = HFI_KIND_SEMAPHORE, .permits = 1, .ttl_ms = 1000));
    hush(&s);
    s.now += 5 * HFI_SEC;
    granted(&s, "try L#1", 1, 1);
    expect(&s, "warning: a ttl of 1000 ms is less than 20 round trips to the store (5000000 us "
               "each): holds may be lost without need; use a longer ttl\n"
               "L#1 TRYING -> HELD\n"
               "A: OK #1 token 0\n");
    leap(&s, 1);
    hush(&s);
    forget(&s, 'A');
    expect(&s, "L#1 LOST -> GONE\n");
}

#define LATCH HOW(.kind = HFI_KIND_LATCH)

static void a_latch_opens_for_all(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", LATCH);
    acquire(&s, 'B', "L", LATCH);
    busy_kind(&s, "try L#1", HFI_TOPIC_LATCH);
    done(&s, "watch L");
    busy_kind(&s, "try L#1", HFI_TOPIC_LATCH);
    hush(&s);
    wake(&s, "L");
    acquire(&s, 'C', "L", LATCH); /* comes after that try was sent */
    hush(&s);
    granted(&s, "try L#1", 1, 1);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n"
               "A: OK\n"
               "B: OK\n");
    granted(&s, "try L#2", 1, 1);
    expect(&s, "L#2 TRYING -> IDLE\n"
               "C: OK\n");
}

/* Who waited for it is told; for who comes later, there is none, which is as good as open. */
static void a_latch_is_deleted(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", LATCH);
    busy_kind(&s, "try L#1", HFI_TOPIC_LATCH);
    done(&s, "watch L");
    gone(&s, "try L#1");
    hush(&s);
    acquire(&s, 'B', "L", LATCH);
    gone(&s, "try L#2");
    expect(&s, "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n"
               "L#2 TRYING -> IDLE\n"
               "B: OK\n");
}

/* Others' deletion is known by their message only. */
static void a_latch_is_deleted_by_others(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", LATCH);
    busy_kind(&s, "try L#1", HFI_TOPIC_LATCH);
    done(&s, "watch L");
    busy_kind(&s, "try L#1", HFI_TOPIC_LATCH);
    s.watch->deleted = true;
    wake(&s, "L");
    hush(&s);
    granted(&s, "try L#1", 1, 1);
    expect(&s,
           "L#1 TRYING -> IDLE\n"); /* or the one that it was set, and that of zero is to come */
    leap(&s, 100);
    granted(&s, "try L#1", 1, 1);
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n"
               "L#1 TRYING -> IDLE\n"
               "A: NOT_FOUND\n");
}

/* The message that it was set comes late, and that it reached zero later still. */
static void a_latch_is_set_and_opens(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", LATCH);
    busy_kind(&s, "try L#1", HFI_TOPIC_LATCH);
    done(&s, "watch L");
    busy_kind(&s, "try L#1", HFI_TOPIC_LATCH);
    s.watch->deleted = true;
    wake(&s, "L");
    hush(&s);
    granted(&s, "try L#1", 1, 1);
    acquire(&s, 'B', "L", LATCH); /* for whom there was none */
    hush(&s);
    pass(&s, 20);
    s.watch->deleted = false;
    wake(&s, "L");
    granted(&s, "try L#1", 1, 1);
    expect(&s, "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n"
               "L#1 TRYING -> IDLE\n"
               "A: OK\n"
               "B: OK\n");
}

/* It was seen after the message: that was no deletion, however late the one is that it reached zero. */
static void a_latch_is_set_and_seen(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", LATCH);
    busy_kind(&s, "try L#1", HFI_TOPIC_LATCH);
    done(&s, "watch L");
    s.watch->deleted = true;
    wake(&s, "L"); /* while the try is in flight: its answer may be older */
    busy_kind(&s, "try L#1", HFI_TOPIC_LATCH);
    assert_true(s.watch->deleted);
    busy_kind(&s, "try L#1", HFI_TOPIC_LATCH);
    assert_false(s.watch->deleted);
    leap(&s, 1000);
    hush(&s);
    granted(&s, "try L#1", 1, 1);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "A: OK\n");
}

/* A try that was not answered cannot have done anything. */
static void a_latch_without_answer(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", LATCH);
    hush(&s);
    unknown(&s, "try L#1");
    expect(&s, "L#1 TRYING -> IDLE\n"
               "L#1 IDLE -> TRYING\n"
               "try L#1 30000\n");
    granted(&s, "try L#1", 1, 1);
    expect(&s, "L#1 TRYING -> IDLE\n"
               "leave L\n"
               "A: OK\n");
}

/* ------------------------------------------------------------------------------------------------
 * Side by side
 */

/* What is renewed in one request is of one kind. */
static void renewals_go_out_by_class(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 7, 1);
    acquire(&s, 'B', "M", WRITE());
    granted(&s, "try M#2", 7, 1);
    acquire(&s, 'C', "N", READ());
    granted(&s, "try N#3", 7, 1);
    acquire(&s, 'D', "P", HOW(.kind = HFI_KIND_PERMITS, .permits = 1));
    granted(&s, "try P#4", 7, 1);
    acquire(&s, 'E', "Q", HOW(.kind = HFI_KIND_FAIR));
    granted(&s, "try Q#5", 7, 1);
    hush(&s);
    restored(&s);
    expect(&s, "renew L#1 30000, Q#5 30000\n"
               "renew M#2 30000\n"
               "renew N#3 30000\n"
               "renew P#4 30000\n");
}

/* ------------------------------------------------------------------------------------------------
 * Turns
 */

/* A and B want it, here; both have asked, and A has it. */
static void two_writers(void)
{
    acquire(&s, 'A', "L", WRITE());
    acquire(&s, 'B', "L", WRITE());
    busy_kind(&s, "try L#1", HFI_TOPIC_READ_WRITE);
    done(&s, "watch L rw");
    granted(&s, "try L#1", 7, 1);
    hush(&s);
}

/* What is not passed on goes to whoever asks first, and a process that need not be told is always first. So it
 * holds back after a while, when others listen. */
static void a_turn_ends(void **state)
{
    (void)state;
    two_writers();
    leap(&s, 9);
    release(&s, 'A');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "L#2 IDLE -> TRYING\n"
               "release L#1\n"
               "try L#2 30000\n");
    released(&s, "release L#1", 2);
    granted(&s, "try L#2", 8, 1);
    acquire(&s, 'A', "L", WRITE());
    leap(&s, 1);
    hush(&s);
    release(&s, 'B');
    expect(&s, "L#2 HELD -> RELEASING\n"
               "release L#2\n");
    released(&s, "release L#2", 2); /* we, and another one */
    wake(&s, "L");                  /* by our own release */
    leap(&s, 1);
    hush(&s);
    leap(&s, 1);
    expect(&s, "L#3 IDLE -> TRYING\n"
               "try L#3 30000\n");
    granted(&s, "try L#3", 9, 1); /* a turn of its own */
    acquire(&s, 'B', "L", WRITE());
    leap(&s, 9);
    hush(&s);
    release(&s, 'A');
    expect(&s, "L#3 HELD -> RELEASING\n"
               "L#4 IDLE -> TRYING\n"
               "release L#3\n"
               "try L#4 30000\n");
}

static void a_turn_ends_with_nobody_else(void **state)
{
    (void)state;
    two_writers();
    leap(&s, 10);
    release(&s, 'A');
    hush(&s);
    released(&s, "release L#1", 1);
    expect(&s, "L#1 RELEASING -> GONE\n"
               "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n"
               "A released: OK\n");
}

/* Readers of the same process are others, too. */
static void a_turn_ends_for_readers(void **state)
{
    (void)state;
    two_writers();
    acquire(&s, 'C', "L", READ());
    busy_kind(&s, "try L#2", HFI_TOPIC_READ_WRITE);
    done(&s, "watch L rw");
    busy_kind(&s, "try L#2", HFI_TOPIC_READ_WRITE);
    leap(&s, 10);
    release(&s, 'A');
    hush(&s);
    released(&s, "release L#1", 1);
    expect(&s, "L#1 RELEASING -> GONE\n"
               "A released: OK\n");
    wake(&s, "L");
    expect(&s, "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n");
    granted(&s, "try L#2", 1, 1);
    expect(&s, "L#2 TRYING -> HELD\n"
               "C: OK #2 token 0\n");
}

/* Kinds of one name meet at the store only. */
static void kinds_of_one_name(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 7, 1);
    hush(&s);
    acquire(&s, 'B', "L", READ());
    expect(&s, "L#2 IDLE -> TRYING\n"
               "try L#2 30000\n");
    busy(&s, "try L#2", 30000);
    expect(&s, "L#2 TRYING -> IDLE\n"
               "watch L\n"); /* the channel of what is in the way */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(readers_hold_together),
        TEST(a_reader_enters_again),
        TEST(readers_that_try_once),
        TEST(readers_wait_for_a_writer),
        TEST(one_reader_is_lost),
        TEST(the_writer_reads),
        TEST(a_borrowed_owner_id_is_not_used_twice),
        TEST(a_reader_cannot_write),
        TEST(the_writer_enters_again_while_it_reads),
        TEST(writers_are_not_passed),
        TEST(fair_waiters_have_places_of_their_own),
        TEST(a_fair_waiter_that_leaves_gives_its_place_up),
        TEST(a_fair_waiter_that_never_comes_again),
        TEST(a_fair_waiter_leaves_another_of_its_owner),
        TEST(fair_waiters_leave_one_after_another),
        TEST(a_fair_try_without_answer),
        TEST(a_fair_owner_keeps_its_number),
        TEST(a_fair_try_without_answer_is_not_used_again),
        TEST(a_fair_owner_enters_again),
        TEST(non_reentrant),
        TEST(spin),
        TEST(fenced_holds_are_not_passed),
        TEST(permits),
        TEST(a_semaphore_grants_no_hold),
        TEST(a_semaphore_that_nobody_wants_is_undone),
        TEST(a_semaphore_grants_late),
        TEST(a_latch_opens_for_all),
        TEST(a_latch_is_deleted),
        TEST(a_latch_is_deleted_by_others),
        TEST(a_latch_is_set_and_opens),
        TEST(a_latch_is_set_and_seen),
        TEST(a_latch_without_answer),
        TEST(renewals_go_out_by_class),
        TEST(a_turn_ends),
        TEST(a_turn_ends_with_nobody_else),
        TEST(a_turn_ends_for_readers),
        TEST(kinds_of_one_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
