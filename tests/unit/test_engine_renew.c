/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: renewing, losing and releasing holds. Each test is a trace (stage.h). */
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

/* A has L, with a ttl of 3 s: renewed by 1,000 ms, at risk at 2,000, lost at 2,968. */
static void held(void)
{
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000));
    granted(&s, "try L#1", 7, 1);
    hush(&s);
}

static struct hfi_hold *hold_of(char who)
{
    return s.actor[who - 'A'].handle.hold;
}

static hfi_time deadline_ms(char who)
{
    return (hfi_hold_deadline(hold_of(who)) - s.start) / HFI_MSEC;
}

/* ------------------------------------------------------------------------------------------------
 * Renewal
 */

static void renewed_every_third(void **state)
{
    hfi_time last = 0;

    (void)state;
    held();
    assert_int_equal(deadline_ms('A'), 2968);
    for (int i = 0; i < 20; i++) {
        while (!is_pending(&s, "renew L#1"))
            pass(&s, 1);
        expect(&s, "renew L#1 3000\n");
        assert_in_range(elapsed_ms(&s) - last, 1000 - 125 - 1, 1000 + 1);
        last = elapsed_ms(&s);
        renewed(&s, "renew L#1", NULL);
        assert_in_range(deadline_ms('A'), last + 2967, last + 2968); /* from when it was sent */
        expect(&s, "");
    }
}

/* The new deadline counts from when the renewal was sent, not from its answer. */
static void counted_from_sending(void **state)
{
    hfi_time sent;

    (void)state;
    held();
    while (!is_pending(&s, "renew L#1"))
        pass(&s, 1);
    sent = elapsed_ms(&s);
    leap(&s, 700);
    renewed(&s, "renew L#1", NULL);
    assert_in_range(deadline_ms('A'), sent + 2967, sent + 2968);
    hush(&s);
}

/* A renewal that is not answered moves nothing: at risk when two thirds are gone, lost at the deadline, and
 * the answer comes too late to bring it back. */
static void unanswered(void **state)
{
    (void)state;
    held();
    pass(&s, 1999);
    expect(&s, "renew L#1 3000\n");
    assert_int_equal(deadline_ms('A'), 2968);
    pass(&s, 1);
    expect(&s, "L#1 HELD -> AT_RISK\n"
               "A: AT_RISK\n");
    pass(&s, 967);
    expect(&s, "");
    assert_true(hfi_hold_valid(hold_of('A'), s.now));
    pass(&s, 1);
    expect(&s, "L#1 AT_RISK -> LOST\n"
               "A: LOST\n");
    assert_false(hfi_hold_valid(hold_of('A'), s.now));
    renewed(&s, "renew L#1", NULL);
    expect(&s, "");
    assert_int_equal(hfi_hold_state_of(hold_of('A')), HFI_HOLD_LOST);
    pass(&s, 60000);
    expect(&s, ""); /* told once; nothing is sent while its handle is out */
}

/* To the nanosecond, and whether or not there was a tick. */
static void lost_exactly_at_the_deadline(void **state)
{
    hfi_time deadline;

    (void)state;
    held();
    deadline = hfi_hold_deadline(hold_of('A'));
    s.now = deadline - 1;
    assert_true(hfi_hold_valid(hold_of('A'), s.now));
    leap(&s, 0);
    assert_null(strstr(s.log, "LOST"));
    s.now = deadline;
    assert_false(hfi_hold_valid(hold_of('A'), s.now));
    hush(&s);
    leap(&s, 0);
    expect(&s, "L#1 AT_RISK -> LOST\n"
               "A: LOST\n");
}

/* The answer comes after the deadline, and before the tick. */
static void answered_too_late(void **state)
{
    (void)state;
    held();
    pass(&s, 1000);
    hush(&s);
    s.now = hfi_hold_deadline(hold_of('A'));
    renewed(&s, "renew L#1", NULL);
    expect(&s, "L#1 HELD -> LOST\n"
               "A: LOST\n");
}

/* The process slept through everything: one event, and no renewal that would bring it back. */
static void slept_through(void **state)
{
    (void)state;
    held();
    leap(&s, 3600 * 1000);
    expect(&s, "L#1 HELD -> LOST\n"
               "A: LOST\n");
}

static void gone_at_the_store(void **state)
{
    (void)state;
    held();
    pass(&s, 1000);
    hush(&s);
    renewed(&s, "renew L#1", "L#1");
    expect(&s, "L#1 HELD -> LOST\n"
               "A: LOST\n");
    release(&s, 'A'); /* there is nothing to give back */
    expect(&s, "L#1 LOST -> GONE\n"
               "A released: LOST\n");
}

/* It fails: at risk at once, tried again soon, and held again when it works. */
static void failed_and_well_again(void **state)
{
    static const enum hfi_outcome OUTCOMES[] = { HFI_NOT_DONE, HFI_UNKNOWN };

    (void)state;
    held();
    for (size_t i = 0; i < UNIT_COUNT(OUTCOMES); i++) {
        hfi_time deadline;

        pass(&s, 1000);
        hush(&s);
        deadline = deadline_ms('A');
        if (OUTCOMES[i] == HFI_NOT_DONE)
            refused(&s, "renew L#1", HF_ERR_UNAVAILABLE);
        else
            unknown(&s, "renew L#1");
        expect(&s, "L#1 HELD -> AT_RISK\n"
                   "A: AT_RISK\n");
        assert_int_equal(deadline_ms('A'), deadline);
        pass(&s, 105); /* 5 ms and up to a thirtieth of the ttl */
        expect(&s, "renew L#1 3000\n");
        renewed(&s, "renew L#1", NULL);
        expect(&s, "L#1 AT_RISK -> HELD\n");
        assert_true(deadline_ms('A') > deadline);
    }
}

/* Fails until the end: many attempts, one AT_RISK, one LOST. */
static void fails_until_the_end(void **state)
{
    unsigned attempts = 0;

    (void)state;
    held();
    pass(&s, 1000);
    hush(&s);
    s.quiet = true;
    while (elapsed_ms(&s) < 2968) {
        if (is_pending(&s, "renew L#1")) {
            attempts++;
            refused(&s, "renew L#1", HF_ERR_UNREACHABLE);
        }
        pass(&s, 1);
    }
    assert_in_range(attempts, 15, 400);
    assert_non_null(strstr(s.log, "A: AT_RISK\n"));
    assert_null(strstr(strstr(s.log, "A: AT_RISK\n") + 1, "A: AT_RISK\n"));
    assert_non_null(strstr(s.log, "A: LOST\n"));
    hush(&s);
}

/* Who recovers before it was told is not told of the risk any more. */
static void risk_that_is_over_is_not_told(void **state)
{
    enum hfi_news news;

    (void)state;
    held();
    pass(&s, 1000);
    hush(&s);
    hfi_request_finish(s.pending[0], HFI_UNKNOWN, HF_ERR_UNSURE);
    hfi_engine_step(&s.engine, s.now,
                    &(struct hfi_input){ .kind = HFI_INPUT_ANSWER, .u.request = s.pending[0] });
    s.pending_count = 0;
    assert_true(hfi_engine_has_news(&s.engine)); /* and the host is slow */
    s.now += 105 * HFI_MSEC;
    hfi_engine_step(&s.engine, s.now, &(struct hfi_input){ .kind = HFI_INPUT_TICK });
    s.pending[s.pending_count++] = hfi_engine_next_request(&s.engine);
    s.pending[0]->sent_ns = s.now;
    hfi_request_renewal(s.pending[0])->items[0].kept = true;
    hfi_request_finish(s.pending[0], HFI_DONE, HF_OK);
    hfi_engine_step(&s.engine, s.now,
                    &(struct hfi_input){ .kind = HFI_INPUT_ANSWER, .u.request = s.pending[0] });
    s.pending_count = 0;
    assert_null(hfi_engine_next_news(&s.engine, &news));
    hush(&s);
}

static void answer_renewal(struct hfi_renewal *renewal)
{
    assert_int_equal(renewal->request.op, HFI_OP_RENEW);
    for (size_t i = 0; i < renewal->count; i++)
        renewal->items[i].kept = true;
    s.pending_count--;
    memmove(s.pending, s.pending + 1, s.pending_count * sizeof s.pending[0]);
    hfi_request_finish(&renewal->request, HFI_DONE, HF_OK);
    step(&s, &(struct hfi_input){ .kind = HFI_INPUT_ANSWER, .u.request = &renewal->request });
}

/* All holds at once: full requests of 64, and one for the rest; each hold is in one of them, once. */
static void in_batches(void **state)
{
    enum { HOLDS = 3 * HFI_RENEWAL_MAX + 5 };
    static struct crowd crowd[HOLDS];

    (void)state;
    crowd_acquire(&s, crowd, HOLDS);
    restored(&s);
    assert_int_equal(s.pending_count, 4);
    for (size_t i = 0; i < HOLDS; i++) {
        const struct hfi_renewal *renewal = hfi_request_renewal(s.pending[i / HFI_RENEWAL_MAX]);

        assert_ptr_equal(renewal->items[i % HFI_RENEWAL_MAX].lease, &crowd[i].handle.hold->lease);
    }
    assert_int_equal(hfi_request_renewal(s.pending[3])->count, 5);
    while (s.pending_count > 0)
        answer_renewal(hfi_request_renewal(s.pending[0]));
    hush(&s);
    crowd_release(&s, crowd, HOLDS);
}

/* By themselves they come spread over an eighth of the period, and on a grid: in few requests. */
static void spread(void **state)
{
    enum { HOLDS = 500 };
    static struct crowd crowd[HOLDS];
    unsigned requests = 0, most = 0;

    (void)state;
    crowd_acquire(&s, crowd, HOLDS);
    for (int i = 0; i < 10000; i++) {
        pass(&s, 1);
        hush(&s);
        for (; s.pending_count > 0; requests++) {
            most = s.pending_count > most ? (unsigned)s.pending_count : most;
            answer_renewal(hfi_request_renewal(s.pending[0]));
        }
    }
    assert_in_range(requests, HOLDS / HFI_RENEWAL_MAX, 30); /* 1,250 ms in steps of 67 ms, about */
    assert_in_range(most, 1, 2);
    for (size_t i = 0; i < HOLDS; i++)
        assert_true(hfi_hold_deadline(crowd[i].handle.hold) > s.now + 20 * HFI_SEC);
    hush(&s);
    crowd_release(&s, crowd, HOLDS);
}

/* ------------------------------------------------------------------------------------------------
 * Leases that are not renewed
 */

static void a_fixed_lease_is_never_renewed(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000, .fixed = true));
    granted(&s, "try L#1", 7, 1);
    hush(&s);
    pass(&s, 2967);
    expect(&s, ""); /* nor at risk: it knows when it ends */
    pass(&s, 1);
    expect(&s, "L#1 HELD -> LOST\n"
               "A: LOST\n");
}

/* After an interruption it is looked at, but not renewed, and not at risk because of that. */
static void a_fixed_lease_is_looked_at(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000, .fixed = true));
    granted(&s, "try L#1", 7, 1);
    hush(&s);
    pass(&s, 2500);
    restored(&s);
    expect(&s, "renew L#1 look\n");
    pass(&s, 100);
    expect(&s, "");
    renewed(&s, "renew L#1", NULL);
    expect(&s, "");
    assert_int_equal(deadline_ms('A'), 2968);
    restored(&s);
    hush(&s);
    refused(&s, "renew L#1", HF_ERR_UNREACHABLE);
    expect(&s, "");
    restored(&s);
    hush(&s);
    renewed(&s, "renew L#1", "L#1");
    expect(&s, "L#1 HELD -> LOST\n"
               "A: LOST\n");
}

/* Verified while it is being looked at anyway: still only a look. */
static void a_fixed_lease_is_verified(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000, .fixed = true));
    granted(&s, "try L#1", 7, 1);
    hush(&s);
    restored(&s);
    verify(&s, 'A');
    expect(&s, "renew L#1 look\n"
               "renew L#1 look\n");
    renewed(&s, "renew L#1", NULL);
    renewed(&s, "renew L#1", NULL);
    assert_int_equal(deadline_ms('A'), 2968);
}

/* More holds to look at than there are batches free: a fixed lease stays fixed. */
static void a_fixed_lease_without_a_batch(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000, .fixed = true));
    granted(&s, "try L#1", 7, 1);
    acquire(&s, 'B', "M", HOW(.ttl_ms = 3000));
    granted(&s, "try M#2", 7, 1);
    pass(&s, 1000); /* the only batch is on its way with M */
    assert_true(is_pending(&s, "renew M#2"));
    hush(&s);
    restored(&s);
    expect(&s, "");
    pass(&s, 10);
    renewed(&s, "renew M#2", NULL);
    expect(&s, "");
    pass(&s, 700);
    assert_null(strstr(s.log, "L#1 3000"));
    hush(&s);
    assert_int_equal(deadline_ms('A'), 2968);
}

/* A ceiling: renewed until then, never past it. */
static void a_ceiling(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000, .max_hold_ms = 5500));
    granted(&s, "try L#1", 7, 1);
    hush(&s);
    for (hfi_time ms = 0; ms < 5499; ms++) {
        pass(&s, 1);
        assert_true(hfi_hold_valid(hold_of('A'), s.now));
        assert_true(deadline_ms('A') <= 5500);
        if (is_pending(&s, "renew L#1"))
            renewed(&s, "renew L#1", NULL);
    }
    assert_int_equal(deadline_ms('A'), 5500);
    assert_null(strstr(s.log, "AT_RISK"));
    hush(&s);
    pass(&s, 1);
    expect(&s, "L#1 HELD -> LOST\n"
               "A: LOST\n");
}

/* Past two thirds of its last renewal, which was the last: not at risk, whoever looks. */
static void a_ceiling_is_looked_at(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000, .max_hold_ms = 2900));
    granted(&s, "try L#1", 7, 1);
    hush(&s);
    pass(&s, 2500);
    restored(&s);
    expect(&s, "renew L#1 look\n");
    pass(&s, 100);
    renewed(&s, "renew L#1", NULL);
    expect(&s, "");
    assert_int_equal(deadline_ms('A'), 2900);
}

/* ------------------------------------------------------------------------------------------------
 * Verify
 */

static void verified(void **state)
{
    (void)state;
    held();
    leap(&s, 500);
    verify(&s, 'A');
    expect(&s, "renew L#1 3000\n");
    renewed(&s, "renew L#1", NULL);
    expect(&s, "");
    assert_int_equal(deadline_ms('A'), 500 + 2968);
    verify(&s, 'A');
    hush(&s);
    renewed(&s, "renew L#1", "L#1");
    expect(&s, "L#1 HELD -> LOST\n"
               "A: LOST\n");
}

static void verified_while_renewing(void **state)
{
    (void)state;
    held();
    pass(&s, 1000);
    verify(&s, 'A');
    hush(&s);
    renewed(&s, "renew L#1", NULL);
    renewed(&s, "renew L#1", NULL);
    expect(&s, "");
    release(&s, 'A');
    hush(&s);
}

/* Released while it is verified: the hold stays until nothing points to it. */
static void released_while_verified(void **state)
{
    (void)state;
    held();
    verify(&s, 'A');
    release(&s, 'A');
    hush(&s);
    released(&s, "release L#1", 0);
    expect(&s, "L#1 RELEASING -> GONE\n"
               "A released: OK\n");
    renewed(&s, "renew L#1", "L#1");
    expect(&s, "");
    assert_int_equal(s.engine.hold_count, 0);
}

/* As many at once as a process has threads: more than a byte counts. */
static void verified_by_a_crowd(void **state)
{
    enum { CROWD = 300 };
    static struct hfi_renewal verification[CROWD];
    static struct hfi_renewal_item item[CROWD];

    (void)state;
    held();
    for (size_t i = 0; i < CROWD; i++) {
        item[i] = (struct hfi_renewal_item){ .lease = &hold_of('A')->lease };
        verification[i] = (struct hfi_renewal){ .request.host = &s, .count = 1, .items = &item[i] };
        hfi_engine_step(
            &s.engine, s.now,
            &(struct hfi_input){ .kind = HFI_INPUT_VERIFY, .u.renewal = &verification[i] });
        assert_ptr_equal(hfi_engine_next_request(&s.engine), &verification[i].request);
    }
    release(&s, 'A');
    released(&s, "release L#1", 0);
    hush(&s);
    for (size_t i = 0; i < CROWD; i++) {
        assert_int_equal(s.engine.hold_count, 1);
        hfi_request_finish(&verification[i].request, HFI_DONE, HF_OK);
        step(&s, &(struct hfi_input){ .kind = HFI_INPUT_ANSWER,
                                      .u.request = &verification[i].request });
    }
    assert_int_equal(s.engine.hold_count, 0);
}

/* After an interruption all holds are asked for, before any waiter tries. */
static void restored_verifies_first(void **state)
{
    (void)state;
    held();
    acquire(&s, 'B', "M", HOW());
    refused(&s, "try M#2", HF_ERR_UNREACHABLE);
    hush(&s);
    restored(&s);
    expect(&s, "M#2 IDLE -> TRYING\n"
               "renew L#1 3000\n"
               "try M#2 30000\n");
}

/* ------------------------------------------------------------------------------------------------
 * Lost
 */

/* The loser still has its handle: nothing is sent for it, others try; its release comes when it lets go. */
static void lost_with_a_handle(void **state)
{
    (void)state;
    held();
    acquire(&s, 'B', "L", HOW(.ttl_ms = 3000));
    pass(&s, 1000);
    hush(&s);
    unknown(&s, "renew L#1");
    leap(&s, 1968);
    expect(&s, "L#1 HELD -> AT_RISK\n"
               "A: AT_RISK\n"
               "L#1 AT_RISK -> LOST\n"
               "L#2 IDLE -> TRYING\n"
               "try L#2 3000\n"
               "A: LOST\n");
    release(&s, 'A');
    expect(&s, "L#1 LOST -> RELEASING\n"
               "release L#1\n");
    gone(&s, "release L#1");
    expect(&s, "L#1 RELEASING -> GONE\n"
               "A released: LOST\n");
}

/* Several handles: the loss is told once, each release says it, and the last one is sent. */
static void lost_with_several_handles(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.owner = 77, .ttl_ms = 3000));
    granted(&s, "try L#1", 7, 1);
    acquire(&s, 'B', "L", HOW(.owner = 77));
    acquire(&s, 'C', "L", HOW(.owner = 77));
    hush(&s);
    leap(&s, 2968);
    expect(&s, "L#1 HELD -> LOST\n"
               "A: LOST\n");
    release(&s, 'B');
    expect(&s, "B released: LOST\n");
    release(&s, 'A');
    expect(&s, "A released: LOST\n");
    release(&s, 'C');
    expect(&s, "L#1 LOST -> RELEASING\n"
               "release L#1\n");
    released(&s, "release L#1", 0); /* the store still had it: lost all the same */
    expect(&s, "L#1 RELEASING -> GONE\n"
               "C released: LOST\n");
}

/* The release takes a pending loss away. */
static void released_before_the_loss_was_told(void **state)
{
    enum hfi_news news;

    (void)state;
    held();
    s.now = hfi_hold_deadline(hold_of('A'));
    hfi_engine_step(&s.engine, s.now, &(struct hfi_input){ .kind = HFI_INPUT_TICK });
    assert_true(hfi_engine_has_news(&s.engine));
    release(&s, 'A');
    assert_null(strstr(s.log, "A: LOST"));
    assert_null(hfi_engine_next_news(&s.engine, &news));
    gone(&s, "release L#1");
    hush(&s);
}

/* Released past the deadline, before any tick: lost. */
static void released_too_late(void **state)
{
    (void)state;
    held();
    s.now = hfi_hold_deadline(hold_of('A'));
    release(&s, 'A');
    expect(&s, "L#1 HELD -> LOST\n"
               "L#1 LOST -> RELEASING\n"
               "release L#1\n");
    gone(&s, "release L#1");
    expect(&s, "L#1 RELEASING -> GONE\n"
               "A released: LOST\n");
}

/* A parked hold is lost: nobody is to be told, and the waiters try. */
static void a_parked_hold_is_lost(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000));
    acquire(&s, 'B', "L", HOW(.ttl_ms = 3000));
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    verify(&s, 'A');
    release(&s, 'A');
    hush(&s);
    renewed(&s, "renew L#1", "L#1");
    expect(&s, "L#1 HELD -> LOST\n"
               "L#1 LOST -> GONE\n"
               "L#2 IDLE -> TRYING\n"
               "try L#2 3000\n");
}

/* ------------------------------------------------------------------------------------------------
 * Release
 */

static void released_and_gone(void **state)
{
    (void)state;
    held();
    release(&s, 'A');
    hush(&s);
    gone(&s, "release L#1"); /* someone had taken it away */
    expect(&s, "L#1 RELEASING -> GONE\n"
               "A released: LOST\n");
}

/* Not answered: the caller hears UNSURE, the work goes on; a repeated release that finds nothing is well. */
static void release_unknown(void **state)
{
    (void)state;
    held();
    release(&s, 'A');
    hush(&s);
    unknown(&s, "release L#1");
    expect(&s, "release L#1\n"
               "A released: UNSURE\n");
    unknown(&s, "release L#1"); /* once more, but not without pause */
    expect(&s, "");
    pass(&s, 1020);
    expect(&s, "release L#1\n");
    gone(&s, "release L#1");
    expect(&s, "L#1 RELEASING -> GONE\n");
}

/* The store answers again: what is to be given back, others may be waiting for, however long a poll is. */
static void release_repeated_when_restored(void **state)
{
    (void)state;
    s.engine.config.poll_ns = 60 * HFI_SEC;
    acquire(&s, 'A', "L", HOW());
    granted(&s, "try L#1", 1, 1);
    release(&s, 'A');
    hush(&s);
    restored(&s);
    expect(&s, ""); /* it is on its way */
    unknown(&s, "release L#1");
    refused(&s, "release L#1", HF_ERR_UNREACHABLE);
    hush(&s);
    restored(&s);
    expect(&s, "release L#1\n");
    refused(&s, "release L#1", HF_ERR_UNREACHABLE);
    pass(&s, 1020);
    expect(&s, "release L#1\n");
    gone(&s, "release L#1");
    expect(&s, "L#1 RELEASING -> GONE\n");
}

/* Refused: repeated after a while, until the lease is over by itself. */
static void release_refused_until_expiry(void **state)
{
    unsigned attempts = 0;

    (void)state;
    held();
    release(&s, 'A');
    hush(&s);
    refused(&s, "release L#1", HF_ERR_UNREACHABLE);
    expect(&s, "A released: UNSURE\n");
    s.quiet = true;
    while (s.engine.hold_count > 0) {
        pass(&s, 1);
        if (is_pending(&s, "release L#1")) {
            attempts++;
            refused(&s, "release L#1", HF_ERR_UNREACHABLE);
        }
    }
    assert_in_range(attempts, 4, 200);
    assert_in_range(elapsed_ms(&s), 3000, 3000 + 2000); /* the ttl, and the time of a request */
    hush(&s);
    assert_int_equal(hfi_engine_deadline(&s.engine), HF_TIME_NEVER);
}

static void release_unknown_until_expiry(void **state)
{
    unsigned attempts = 0;

    (void)state;
    held();
    release(&s, 'A');
    while (s.engine.hold_count > 0) {
        if (is_pending(&s, "release L#1")) {
            attempts++;
            unknown(&s, "release L#1");
        }
        pass(&s, 1);
    }
    assert_in_range(elapsed_ms(&s), 3000 + 2000, 3000 + 2000 + 1);
    assert_in_range(attempts, 5, 200);
    hush(&s);
}

/* What a try without answer takes it may take later: its release outlasts a store that is out of reach for longer
 * than the ttl. But not for ever. */
static void release_of_a_delayed_try(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000));
    unknown(&s, "try L#1");
    refused(&s, "try L#2", HF_ERR_UNREACHABLE);
    cancel(&s, 'A');
    refused(&s, "release L#1", HF_ERR_UNREACHABLE);
    s.quiet = true;
    while (elapsed_ms(&s) < 60 * 1000) {
        pass(&s, 10);
        if (is_pending(&s, "release L#1"))
            refused(&s, "release L#1", HF_ERR_UNREACHABLE);
    }
    hush(&s);
    restored(&s);
    expect(&s, "release L#1\n");
    refused(&s, "release L#1", HF_ERR_UNREACHABLE);
    while (s.engine.hold_count > 0) {
        pass(&s, 10);
        if (is_pending(&s, "release L#1"))
            refused(&s, "release L#1", HF_ERR_UNREACHABLE);
    }
    assert_in_range(elapsed_ms(&s), 63000, 63000 + 2000 + 10);
    hush(&s);
}

/* A release waits for no renewal on its way, and the renewal's answer changes nothing any more. */
static void released_while_renewing(void **state)
{
    (void)state;
    held();
    pass(&s, 1000);
    hush(&s);
    release(&s, 'A');
    expect(&s, "L#1 HELD -> RELEASING\n"
               "release L#1\n");
    renewed(&s, "renew L#1", NULL);
    expect(&s, "");
    pass(&s, 1000);
    expect(&s, "");
    released(&s, "release L#1", 0);
    expect(&s, "L#1 RELEASING -> GONE\n"
               "A released: OK\n");
    assert_int_equal(s.engine.hold_count, 0);
}

/* The newcomer does not wait for the release's answer: requests take effect in order. */
static void acquired_behind_a_release(void **state)
{
    (void)state;
    held();
    release(&s, 'A');
    hush(&s);
    acquire(&s, 'B', "L", HOW(.ttl_ms = 3000));
    expect(&s, "L#2 IDLE -> TRYING\n"
               "try L#2 3000\n");
    released(&s, "release L#1", 0);
    granted(&s, "try L#2", 8, 1);
    hush(&s);
}

/* Requests are given no longer than a quarter of the ttl. */
static void patience(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000));
    assert_int_equal(s.pending[0]->deadline_ns, s.now + 750 * HFI_MSEC);
    granted(&s, "try L#1", 7, 1);
    acquire(&s, 'B', "M", HOW(.ttl_ms = 3600000));
    assert_int_equal(s.pending[0]->deadline_ns, s.now + 2 * HFI_SEC);
    granted(&s, "try M#2", 7, 1);
    verify(&s, 'A');
    assert_int_equal(s.pending[0]->deadline_ns, s.now + 750 * HFI_MSEC);
    renewed(&s, "renew L#1", NULL);
    release(&s, 'A');
    assert_int_equal(s.pending[0]->deadline_ns, s.now + 750 * HFI_MSEC);
    hush(&s);
}

#define STAGED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGED(renewed_every_third),
        STAGED(counted_from_sending),
        STAGED(unanswered),
        STAGED(lost_exactly_at_the_deadline),
        STAGED(answered_too_late),
        STAGED(slept_through),
        STAGED(gone_at_the_store),
        STAGED(failed_and_well_again),
        STAGED(fails_until_the_end),
        STAGED(risk_that_is_over_is_not_told),
        STAGED(in_batches),
        STAGED(spread),
        STAGED(a_fixed_lease_is_never_renewed),
        STAGED(a_fixed_lease_is_looked_at),
        STAGED(a_fixed_lease_is_verified),
        STAGED(a_fixed_lease_without_a_batch),
        STAGED(a_ceiling),
        STAGED(a_ceiling_is_looked_at),
        STAGED(verified),
        STAGED(verified_while_renewing),
        STAGED(released_while_verified),
        STAGED(verified_by_a_crowd),
        STAGED(restored_verifies_first),
        STAGED(lost_with_a_handle),
        STAGED(lost_with_several_handles),
        STAGED(released_before_the_loss_was_told),
        STAGED(released_too_late),
        STAGED(a_parked_hold_is_lost),
        STAGED(released_and_gone),
        STAGED(release_unknown),
        STAGED(release_repeated_when_restored),
        STAGED(release_refused_until_expiry),
        STAGED(release_unknown_until_expiry),
        STAGED(release_of_a_delayed_try),
        STAGED(released_while_renewing),
        STAGED(acquired_behind_a_release),
        STAGED(patience),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
