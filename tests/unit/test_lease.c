/* SPDX-License-Identifier: Apache-2.0 */
/* What an answered request says about time: leases and back-off. */
#include "unit.h"

#include "core/backoff.h"
#include "core/lease.h"
#include "holdfast/holdfast.h"

#define SENT (12345 * HFI_SEC + 678)

static const hfi_time TTLS[] = {
    HF_TTL_MIN_MS * HFI_MSEC,
    101 * HFI_MSEC,
    250 * HFI_MSEC,
    HFI_SEC,
    4999 * HFI_MSEC,
    5 * HFI_SEC,
    30 * HFI_SEC,
    60 * HFI_SEC,
    3600 * HFI_SEC,
    12345678 * HFI_MSEC,
    HF_TTL_MAX_MS *HFI_MSEC,
};

static void exact_values(void **state)
{
    (void)state;
    assert_int_equal(hfi_lease_drift(100 * HFI_MSEC), 3 * HFI_MSEC);
    assert_int_equal(hfi_lease_drift(HFI_SEC), 12 * HFI_MSEC);
    assert_int_equal(hfi_lease_drift(30 * HFI_SEC), 302 * HFI_MSEC);
    assert_int_equal(hfi_lease_drift(24 * 3600 * HFI_SEC), 864002 * HFI_MSEC);
    assert_int_equal(hfi_lease_deadline(SENT, 100 * HFI_MSEC), SENT + 97 * HFI_MSEC);
    assert_int_equal(hfi_lease_deadline(SENT, HFI_SEC), SENT + 988 * HFI_MSEC);
    assert_int_equal(hfi_lease_deadline(SENT, 30 * HFI_SEC), SENT + 29698 * HFI_MSEC);
    assert_int_equal(hfi_lease_risk(SENT, 30 * HFI_SEC), SENT + 20 * HFI_SEC);
    assert_int_equal(hfi_lease_risk(SENT, 3 * HFI_SEC), SENT + 2 * HFI_SEC);
}

/* sent < renewal < risk < deadline < sent + ttl, for every ttl there can be. */
static void order_of_times(void **state)
{
    struct hfi_random random;

    (void)state;
    hfi_random_init(&random, unit_first_seed());
    for (int i = 0; i < 20000; i++) {
        hfi_time ttl =
            i < (int)UNIT_COUNT(TTLS)
                ? TTLS[i]
                : (HF_TTL_MIN_MS + hfi_random_below(&random, HF_TTL_MAX_MS - HF_TTL_MIN_MS + 1)) *
                      HFI_MSEC;
        hfi_time sent = hfi_random_below(&random, UINT64_C(1) << 60);
        hfi_time renewal = hfi_lease_renewal(sent, ttl, &random);
        hfi_time risk = hfi_lease_risk(sent, ttl), deadline = hfi_lease_deadline(sent, ttl);

        assert_true(sent < renewal && renewal < risk && risk < deadline && deadline < sent + ttl);
        assert_true(renewal <= sent + ttl / 3);            /* never later than a third */
        assert_true(renewal >= sent + ttl / 3 - ttl / 24 - /* nor much sooner */
                                   (ttl >= 5 * HFI_SEC ? HFI_RENEW_GRID : 0));
        assert_true(sent + ttl - deadline >= ttl / 100 + 2 * HFI_MSEC);
    }
}

/* Renewals of long leases fall on a grid, so that many go together, and are spread over it. */
static void renewals_are_spread(void **state)
{
    struct hfi_random random;
    hfi_time first = HF_TIME_NEVER, last = 0;

    (void)state;
    hfi_random_init(&random, 3);
    for (int i = 0; i < 1000; i++) {
        hfi_time at = hfi_lease_renewal(SENT, 30 * HFI_SEC, &random);

        assert_int_equal(at % HFI_RENEW_GRID, 0);
        first = hfi_time_min(first, at);
        last = hfi_time_max(last, at);
    }
    assert_true(last - first > HFI_SEC);
}

static void backoff_is_bounded(void **state)
{
    struct hfi_random random;

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct hfi_backoff backoff = { 0 };
        hfi_time bound = 20 * HFI_MSEC;

        hfi_random_init(&random, seed);
        for (int i = 0; i < 100; i++) {
            hfi_time wait = hfi_backoff_next(&backoff, &random, 20 * HFI_MSEC, 2 * HFI_SEC);

            assert_in_range(wait, 1, bound);
            bound = hfi_time_min(bound * 2, 2 * HFI_SEC);
        }
    }
}

/* It does grow, it uses its whole range, and it is reset. */
static void backoff_grows(void **state)
{
    struct hfi_random random;
    hfi_time most[3] = { 0, 0, 0 }, least = HF_TIME_NEVER;

    (void)state;
    hfi_random_init(&random, 9);
    for (int i = 0; i < 500; i++) {
        struct hfi_backoff backoff = { 0 };

        most[0] =
            hfi_time_max(most[0], hfi_backoff_next(&backoff, &random, 20 * HFI_MSEC, HFI_SEC));
        for (int k = 0; k < 3; k++)
            hfi_backoff_next(&backoff, &random, 20 * HFI_MSEC, HFI_SEC);
        least = hfi_time_min(least, hfi_backoff_next(&backoff, &random, 20 * HFI_MSEC, HFI_SEC));
        for (int k = 0; k < 10; k++)
            most[1] =
                hfi_time_max(most[1], hfi_backoff_next(&backoff, &random, 20 * HFI_MSEC, HFI_SEC));
        hfi_backoff_reset(&backoff);
        most[2] =
            hfi_time_max(most[2], hfi_backoff_next(&backoff, &random, 20 * HFI_MSEC, HFI_SEC));
    }
    assert_in_range(most[0], 18 * HFI_MSEC, 20 * HFI_MSEC);
    assert_in_range(most[1], 950 * HFI_MSEC, HFI_SEC);
    assert_in_range(most[2], 18 * HFI_MSEC, 20 * HFI_MSEC);
    assert_true(least <
                20 * HFI_MSEC); /* full jitter: the bound grows, the wait may still be short */
}

/* The first wait may be longer than the most: the most wins. And nothing runs over after years. */
static void backoff_at_its_limits(void **state)
{
    struct hfi_backoff backoff = { 0 }, other = { 0 };
    struct hfi_random random, same;

    (void)state;
    hfi_random_init(&random, 4);
    hfi_random_init(&same, 4);
    for (int i = 0; i < 100000; i++) {
        hfi_time wait = hfi_backoff_next(&backoff, &random, HFI_SEC, HFI_MSEC);

        assert_in_range(wait, 1, HFI_MSEC);
        assert_int_equal(wait, hfi_backoff_next(&other, &same, HFI_SEC, HFI_MSEC));
    }
    backoff.failures = 0;
    for (int i = 0; i < 300; i++)
        assert_true(hfi_backoff_next(&backoff, &random, 1, HF_TIME_NEVER / 4) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_values),        cmocka_unit_test(order_of_times),
        cmocka_unit_test(renewals_are_spread), cmocka_unit_test(backoff_is_bounded),
        cmocka_unit_test(backoff_grows),       cmocka_unit_test(backoff_at_its_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
