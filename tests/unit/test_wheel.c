/* SPDX-License-Identifier: Apache-2.0 */
/* The timing wheel against a model that looks at every timer every time. */
#include "unit.h"

#include "core/wheel.h"

#define TICK (UINT64_C(1) << HFI_WHEEL_TICK_SHIFT)
#define HOUR (3600 * HFI_SEC)
#define DAY  (24 * HOUR)
#define YEAR (365 * DAY)

#define TIMERS 400
#define OPS    20000 /* a seed */

/* The model: a timer is set or not, and when it is due. Everything else is found by looking at all. */
struct model {
    struct hfi_wheel wheel;
    struct hfi_timer timer[TIMERS];
    hfi_time expires[TIMERS]; /* HF_TIME_NEVER: not set */
    hfi_time now;
    size_t popped;
};

static void model_init(struct model *model, hfi_time now)
{
    memset(model, 0, sizeof *model);
    hfi_wheel_init(&model->wheel, now);
    model->now = now;
    for (size_t i = 0; i < TIMERS; i++)
        model->expires[i] = HF_TIME_NEVER;
}

static hfi_time model_soonest(const struct model *model)
{
    hfi_time soonest = HF_TIME_NEVER;

    for (size_t i = 0; i < TIMERS; i++)
        soonest = hfi_time_min(soonest, model->expires[i]);
    return soonest;
}

static void model_set(struct model *model, size_t i, hfi_time at)
{
    hfi_wheel_set(&model->wheel, &model->timer[i], at);
    model->expires[i] = at;
    assert_int_equal(hfi_timer_is_set(&model->timer[i]), at != HF_TIME_NEVER);
}

static void model_remove(struct model *model, size_t i)
{
    hfi_wheel_remove(&model->wheel, &model->timer[i]);
    model->expires[i] = HF_TIME_NEVER;
    assert_false(hfi_timer_is_set(&model->timer[i]));
}

/* Takes out one timer: it must be one that is set, and due. */
static bool model_pop(struct model *model)
{
    struct hfi_timer *timer = hfi_wheel_pop(&model->wheel, model->now);
    size_t i;

    if (!timer)
        return false;
    i = (size_t)(timer - model->timer);
    assert_in_range(i, 0, TIMERS - 1);
    assert_true(model->expires[i] != HF_TIME_NEVER); /* neither twice nor after its removal */
    assert_true(model->expires[i] <= model->now);    /* not early */
    assert_int_equal(timer->expires_ns, model->expires[i]);
    assert_false(hfi_timer_is_set(timer));
    model->expires[i] = HF_TIME_NEVER;
    model->popped++;
    return true;
}

/* Takes out all that are due: none is left that is. */
static void model_drain(struct model *model)
{
    while (model_pop(model))
        ;
    assert_true(model_soonest(model) > model->now);
}

/* The wheel's own idea of its next time, against the model's. `drained`: nothing due is left. */
static void model_check_next(struct model *model, bool drained)
{
    hfi_time soonest = model_soonest(model), next = hfi_wheel_next(&model->wheel);

    assert_true(next <= soonest);
    assert_int_equal(next == HF_TIME_NEVER, soonest == HF_TIME_NEVER);
    if (drained)
        assert_true(next > model->now); /* a caller that sleeps until then does not spin */
    assert_int_equal(hfi_wheel_next(&model->wheel), next);
}

/* ------------------------------------------------------------------------------------------------
 * Random operations
 */

/* A distance in time, of any order of magnitude, often at the very edge of a slot. */
static hfi_time some_time(struct hfi_random *random)
{
    unsigned bits = (unsigned)hfi_random_below(random, 62);
    hfi_time base = UINT64_C(1) << bits;

    switch (hfi_random_below(random, 6)) {
    case 0:
        return hfi_random_below(random, 3);
    case 1:
        return hfi_random_below(random, TICK * 3);
    case 2:
        return hfi_random_below(random, 120 * HFI_SEC);
    case 3:
        return base - 1 + hfi_random_below(random, 3);
    default:
        return base + hfi_random_below(random, base);
    }
}

static hfi_time some_expiry(struct model *model, struct hfi_random *random)
{
    switch (hfi_random_below(random, 12)) {
    case 0:
        return HF_TIME_NEVER;
    case 1: /* past */
        return model->now - hfi_random_below(random, hfi_time_min(model->now, HFI_SEC) + 1);
    case 2: /* just like another */
        return model->expires[hfi_random_below(random, TIMERS)];
    case 3: /* now, or in the same tick */
        return model->now + hfi_random_below(random, 2);
    case 4:
        return HF_TIME_NEVER - 1 - hfi_random_below(random, 3);
    case 5: /* at the edge of a slot */
        return hfi_time_add(model->now, some_time(random)) & ~(TICK - 1);
    default:
        return hfi_time_add(model->now, some_time(random));
    }
}

static hfi_time some_step(struct model *model, struct hfi_random *random)
{
    hfi_time soonest = model_soonest(model);

    switch (hfi_random_below(random, 16)) {
    case 0: /* now and then years */
        return hfi_random_below(random, UINT64_C(1) << (hfi_random_below(random, 40) ? 40 : 58));
    case 1:
        return some_time(random) % (UINT64_C(1) << 45);
    case 2:
    case 3: /* exactly to the next, or one before */
        if (soonest == HF_TIME_NEVER || soonest <= model->now)
            return 0;
        return soonest - model->now - hfi_random_below(random, 2);
    case 4:
        return 0;
    default:
        return hfi_random_below(random, 40 * HFI_MSEC);
    }
}

static void advance(struct model *model, hfi_time step)
{
    if (model->now < HF_TIME_NEVER / 2)
        model->now = hfi_time_min(hfi_time_add(model->now, step), HF_TIME_NEVER / 2);
}

static void random_operation(struct model *model, struct hfi_random *random)
{
    size_t i = (size_t)hfi_random_below(random, TIMERS);

    switch (hfi_random_below(random, 10)) {
    case 0:
    case 1:
    case 2:
    case 3:
        model_set(model, i, some_expiry(model, random));
        break;
    case 4:
        model_remove(model, i);
        break;
    case 5: /* some of those that are due stay for later */
        advance(model, some_step(model, random));
        for (uint64_t n = hfi_random_below(random, 4); n > 0; n--)
            model_pop(model);
        break;
    case 6:
        model_check_next(model, false);
        break;
    default:
        advance(model, some_step(model, random));
        model_drain(model);
        model_check_next(model, true);
    }
}

static void random_operations(void **state)
{
    static struct model model;
    size_t popped = 0;

    (void)state;
    for (uint64_t seed = unit_first_seed(), end = seed + unit_seeds(12); seed < end; seed++) {
        struct hfi_random random;

        hfi_random_init(&random, seed);
        model_init(&model, some_time(&random) % (UINT64_C(1) << 58));
        for (int op = 0; op < OPS; op++)
            random_operation(&model, &random);
        popped += model.popped;
    }
    assert_true(popped > OPS); /* the test did test something */
}

/* As a host does it: sleep until next(), pop, set the popped ones again. Everything is popped exactly at its
 * time, and there are few wake-ups for nothing. */
static void sleeping_until_next(void **state)
{
    static struct model model;
    struct hfi_random random;
    size_t wakeups = 0;

    (void)state;
    hfi_random_init(&random, 7);
    model_init(&model, 123456789);
    for (size_t i = 0; i < TIMERS; i++)
        model_set(&model, i, model.now + 1 + hfi_random_below(&random, UINT64_C(1) << 38));
    for (; model.popped < 50 * TIMERS; wakeups++) {
        hfi_time next = hfi_wheel_next(&model.wheel);

        assert_true(next > model.now && next <= model_soonest(&model));
        model.now = next;
        while (model_pop(&model))
            ;
        for (size_t i = 0; i < TIMERS; i++)
            if (model.expires[i] == HF_TIME_NEVER)
                model_set(&model, i, model.now + 1 + hfi_random_below(&random, UINT64_C(1) << 38));
    }
    assert_true(wakeups <= 2 * model.popped);
}

/* With few timers, next() is not early either: whatever is set, set anew or removed. */
static void exact_with_few(void **state)
{
    static struct model model;
    struct hfi_random random;

    (void)state;
    hfi_random_init(&random, 11);
    model_init(&model, 99 * HFI_SEC);
    for (int op = 0; op < OPS; op++) {
        size_t i = (size_t)hfi_random_below(&random, 16);

        if (hfi_random_below(&random, 4) == 0)
            model_remove(&model, i);
        else
            model_set(&model, i, model.now + 1 + hfi_random_below(&random, UINT64_C(1) << 40));
        if (hfi_random_below(&random, 3) == 0) {
            advance(&model, hfi_random_below(&random, 40 * HFI_SEC));
            model_drain(&model);
        }
        assert_int_equal(hfi_wheel_next(&model.wheel), model_soonest(&model));
    }
}

/* ------------------------------------------------------------------------------------------------
 * Particular cases
 */

static void empty_wheel(void **state)
{
    static struct hfi_wheel wheel;

    (void)state;
    hfi_wheel_init(&wheel, 5 * HFI_SEC);
    assert_int_equal(hfi_wheel_next(&wheel), HF_TIME_NEVER);
    assert_null(hfi_wheel_pop(&wheel, 5 * HFI_SEC));
    assert_null(hfi_wheel_pop(&wheel, HF_TIME_NEVER / 2));
    assert_int_equal(hfi_wheel_next(&wheel), HF_TIME_NEVER);
}

/* To the nanosecond, though a tick is a million of them. */
static void exact_to_the_nanosecond(void **state)
{
    static struct hfi_wheel wheel;
    struct hfi_timer timer = { 0 };
    static const hfi_time DELAYS[] = { 1,        2,         TICK - 1,  TICK,
                                       TICK + 1, 64 * TICK, 65 * TICK, 64 * 64 * TICK,
                                       HOUR,     DAY,       YEAR,      5 * YEAR };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(DELAYS); i++) {
        hfi_time start = 1000 * HFI_SEC + 777, at = start + DELAYS[i];

        hfi_wheel_init(&wheel, start);
        hfi_wheel_set(&wheel, &timer, at);
        assert_int_equal(hfi_wheel_next(&wheel), at);
        assert_null(hfi_wheel_pop(&wheel, at - 1));
        assert_true(hfi_wheel_next(&wheel) > at - 1);
        assert_ptr_equal(hfi_wheel_pop(&wheel, at), &timer);
        assert_null(hfi_wheel_pop(&wheel, at));
        assert_int_equal(hfi_wheel_next(&wheel), HF_TIME_NEVER);
    }
}

static void never_removes(void **state)
{
    static struct hfi_wheel wheel;
    struct hfi_timer timer = { 0 };

    (void)state;
    hfi_wheel_init(&wheel, 0);
    hfi_wheel_set(&wheel, &timer, HFI_SEC);
    assert_true(hfi_timer_is_set(&timer));
    hfi_wheel_set(&wheel, &timer, HF_TIME_NEVER);
    assert_false(hfi_timer_is_set(&timer));
    hfi_wheel_remove(&wheel, &timer); /* twice is nothing */
    assert_null(hfi_wheel_pop(&wheel, DAY));
}

/* A timer in the past is due at once, and next() says so. */
static void past_is_due(void **state)
{
    static struct hfi_wheel wheel;
    struct hfi_timer timer = { 0 };

    (void)state;
    hfi_wheel_init(&wheel, DAY);
    hfi_wheel_set(&wheel, &timer, 3);
    assert_true(hfi_wheel_next(&wheel) <= DAY);
    assert_ptr_equal(hfi_wheel_pop(&wheel, DAY), &timer);
    assert_null(hfi_wheel_pop(&wheel, DAY));
}

/* Many at one instant, years ahead: all come, in one go, none before. */
static void a_crowd_years_ahead(void **state)
{
    static struct model model;
    hfi_time at = 9 * YEAR + 12345;
    size_t wakeups = 0;

    (void)state;
    model_init(&model, 42);
    for (size_t i = 0; i < TIMERS; i++)
        model_set(&model, i, at);
    while (model.popped == 0) {
        hfi_time next = hfi_wheel_next(&model.wheel);

        assert_true(next > model.now && next <= at);
        model.now = next;
        while (model_pop(&model))
            ;
        assert_true(++wakeups < 100);
    }
    assert_int_equal(model.now, at);
    assert_int_equal(model.popped, TIMERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_wheel),         cmocka_unit_test(exact_to_the_nanosecond),
        cmocka_unit_test(never_removes),       cmocka_unit_test(past_is_due),
        cmocka_unit_test(a_crowd_years_ahead), cmocka_unit_test(sleeping_until_next),
        cmocka_unit_test(exact_with_few),      cmocka_unit_test(random_operations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
