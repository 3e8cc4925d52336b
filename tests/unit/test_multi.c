/* SPDX-License-Identifier: Apache-2.0 */
/* Several locks as one hold: what is done next, whatever comes of the members. */
#include "unit.h"

#include "core/multi.h"

#define MEMBERS 4

/* Handles with holds, in the place of members; the clock; what is out. */
struct stage {
    struct hfi_hold hold[MEMBERS];
    struct hfi_handle handle[MEMBERS];
    bool out[MEMBERS];
    struct hfi_taking taking;
    struct hfi_taking_step step;
    hfi_time now;
};

static const struct hfi_member FOUR[MEMBERS] = {
    { "redis://b", "one" }, { "redis://a", "two" }, { "redis://b", "four" }, { "redis://a", "one" }
};
static const size_t ORDER[MEMBERS] = { 3, 1, 2, 0 };

static void set(struct hfi_hold *hold, enum hfi_hold_state state, hfi_time deadline)
{
    atomic_store(&hold->state, (uint8_t)state);
    hfi_hold_set_deadline(hold, deadline);
}

static void begin(struct stage *stage, bool once, hfi_time wait)
{
    size_t twice;

    memset(stage, 0, sizeof *stage);
    stage->now = 1000;
    assert_true(hfi_taking_init(&stage->taking, FOUR, MEMBERS, &twice));
    hfi_taking_begin(&stage->taking, stage->now, once, wait);
}

static enum hfi_taking_act next(struct stage *stage)
{
    hfi_taking_next(&stage->taking, stage->now, &stage->step);
    if (stage->step.act != HFI_GIVE_BACK)
        return stage->step.act;
    for (size_t i = 0; i < MEMBERS; i++)
        if (stage->step.handle == &stage->handle[i]) {
            assert_true(stage->out[i]); /* each goes back once */
            stage->out[i] = false;
        }
    return HFI_GIVE_BACK;
}

static void taken(struct stage *stage, hfi_time deadline)
{
    size_t place = stage->step.place;

    stage->out[place] = true;
    stage->handle[place].hold = &stage->hold[place];
    set(&stage->hold[place], HFI_HOLD_HELD, deadline);
    hfi_taking_taken(&stage->taking, HF_OK, &stage->handle[place]);
}

/* The first `count` of the order are taken. */
static void take(struct stage *stage, size_t count, hfi_time deadline)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(next(stage), HFI_TAKE);
        assert_int_equal(stage->step.place, ORDER[i]);
        taken(stage, deadline);
    }
}

/* So many go back, then it has failed with this. */
static void assert_failed(struct stage *stage, size_t back, int error)
{
    for (size_t i = 0; i < back; i++)
        assert_int_equal(next(stage), HFI_GIVE_BACK);
    assert_int_equal(next(stage), HFI_TAKING_FAILED);
    assert_int_equal(stage->step.error, error);
    for (size_t i = 0; i < MEMBERS; i++)
        assert_false(stage->out[i]);
}

static void one_order(void **state)
{
    struct hfi_member members[MEMBERS] = { { "s", "b" }, { "s", "a" }, { "s", "b" }, { "t", "b" } };
    struct hfi_taking taking;
    size_t twice = MEMBERS;
    struct stage stage;

    (void)state;
    assert_false(hfi_taking_init(&taking, members, MEMBERS, &twice));
    assert_true(twice == 0 || twice == 2);
    members[2].name = "aa"; /* byte by byte: before "b" */
    assert_true(hfi_taking_init(&taking, members, MEMBERS, &twice));
    assert_int_equal(taking.order[0], 1);
    assert_int_equal(taking.order[1], 2);
    assert_int_equal(taking.order[2], 0);
    assert_int_equal(taking.order[3], 3);
    begin(&stage, false, HF_TIME_NEVER);
    take(&stage, MEMBERS, 5000);
    assert_int_equal(next(&stage), HFI_TAKING_HELD);
}

static void one_time_for_all(void **state)
{
    struct stage stage;

    (void)state;
    begin(&stage, false, 100);
    assert_int_equal(next(&stage), HFI_TAKE);
    assert_int_equal(stage.step.wait_ns, 100);
    assert_false(stage.step.once);
    taken(&stage, 5000);
    stage.now += 60;
    assert_int_equal(next(&stage), HFI_TAKE);
    assert_int_equal(stage.step.wait_ns, 40);
    taken(&stage, 5000);
    stage.now += 50; /* late: what is left is tried once */
    assert_int_equal(next(&stage), HFI_TAKE);
    assert_true(stage.step.once);
    hfi_taking_taken(&stage.taking, HF_ERR_BUSY, NULL);
    assert_failed(&stage, 2, HF_ERR_BUSY);
    begin(&stage, true, HF_TIME_NEVER);
    assert_int_equal(next(&stage), HFI_TAKE);
    assert_true(stage.step.once);
    begin(&stage, false, HF_TIME_NEVER);
    assert_int_equal(next(&stage), HFI_TAKE);
    assert_int_equal(stage.step.wait_ns, HF_TIME_NEVER);
    assert_false(stage.step.once);
}

/* After any number of members, any end. */
static void all_go_back(void **state)
{
    (void)state;
    for (size_t count = 0; count < MEMBERS; count++) {
        struct stage stage;

        begin(&stage, false, HF_TIME_NEVER);
        take(&stage, count, 5000);
        assert_int_equal(next(&stage), HFI_TAKE);
        hfi_taking_taken(&stage.taking, HF_ERR_UNREACHABLE, NULL);
        assert_failed(&stage, count, HF_ERR_UNREACHABLE);
        assert_false(stage.step.lost);
    }
}

static void cancelled(void **state)
{
    (void)state;
    for (size_t count = 0; count <= MEMBERS; count++) { /* between two members */
        struct stage stage;

        begin(&stage, false, HF_TIME_NEVER);
        take(&stage, count, 5000);
        hfi_taking_cancel(&stage.taking);
        assert_failed(&stage, count, HF_ERR_CANCELLED);
    }
    for (size_t count = 0; count < MEMBERS;
         count++) { /* while one was waited for, and was granted */
        struct stage stage;

        begin(&stage, false, HF_TIME_NEVER);
        take(&stage, count, 5000);
        assert_int_equal(next(&stage), HFI_TAKE);
        hfi_taking_cancel(&stage.taking);
        taken(&stage, 5000);
        assert_failed(&stage, count + 1, HF_ERR_CANCELLED);
    }
}

/* The first is over when the last is there. */
static void lost_under_way(void **state)
{
    struct stage stage;

    (void)state;
    begin(&stage, false, 1000);
    take(&stage, 1, 1500);
    stage.now = 1500;
    for (size_t i = 1; i < MEMBERS; i++) {
        assert_int_equal(next(&stage), HFI_TAKE);
        taken(&stage, 5000);
    }
    for (size_t i = 0; i < MEMBERS; i++)
        assert_int_equal(next(&stage), HFI_GIVE_BACK);
    take(&stage, MEMBERS, 1700); /* there was time: all anew */
    stage.now = 2000;
    assert_failed(&stage, MEMBERS, HF_ERR_UNSURE);
    assert_true(stage.step.lost);
    begin(&stage, true, 0);
    take(&stage, MEMBERS, 5000);
    set(&stage.hold[2], HFI_HOLD_LOST, 5000);
    assert_failed(&stage, MEMBERS, HF_ERR_UNSURE);
    assert_true(stage.step.lost);
}

static void together(void **state)
{
    struct hfi_handle *handles[3];
    struct stage stage;

    (void)state;
    begin(&stage, true, 0);
    for (size_t i = 0; i < 3; i++) {
        handles[i] = &stage.handle[i];
        handles[i]->hold = &stage.hold[i];
        set(&stage.hold[i], HFI_HOLD_HELD, 3000 - 100 * (i == 1));
    }
    assert_int_equal(hfi_multi_state_of(handles, 3, 1000), HF_HELD);
    assert_int_equal(hfi_multi_deadline_of(handles, 3, 1000), 2900);
    assert_int_equal(hfi_multi_state_of(handles, 3, 2900), HF_LOST);
    assert_int_equal(hfi_multi_deadline_of(handles, 3, 2900), 0);
    set(&stage.hold[0], HFI_HOLD_AT_RISK, 3000);
    assert_int_equal(hfi_multi_state_of(handles, 3, 1000), HF_AT_RISK);
    assert_int_equal(hfi_multi_deadline_of(handles, 3, 1000), 2900);
    set(&stage.hold[1], HFI_HOLD_GONE, 3000); /* its client was closed */
    assert_int_equal(hfi_multi_state_of(handles, 3, 1000), HF_RELEASED);
    set(&stage.hold[2], HFI_HOLD_LOST, 3000);
    assert_int_equal(hfi_multi_state_of(handles, 3, 1000), HF_LOST);
    assert_int_equal(hfi_multi_deadline_of(handles, 3, 1000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_order),      cmocka_unit_test(one_time_for_all),
        cmocka_unit_test(all_go_back),    cmocka_unit_test(cancelled),
        cmocka_unit_test(lost_under_way), cmocka_unit_test(together),
    };

    return cmocka_run_group_tests_name("multi", tests, NULL, NULL);
}
