/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine when one of its own invariants does not hold, in a release build: every hold counts as lost,
 * every acquire fails, nothing is renewed, and the program goes on. This program compiles the core by itself,
 * without assertions: with them such an engine stops the program.
 */
#include "stage.h"

#ifndef NDEBUG
#error "this program is about release builds"
#endif

static struct stage s;
static struct hfi_query query = { .request.op = HFI_OP_LIST };

static int setup(void **state)
{
    (void)state;
    stage_init(&s);
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

/* An answer to what the engine never asked. */
static void break_it(void)
{
    hfi_request_finish(&query.request, HFI_DONE, HF_OK);
    step(&s, &(struct hfi_input){ .kind = HFI_INPUT_ANSWER, .u.request = &query.request });
}

#define WARNING                                                                                    \
    "warning: internal error: an answer came to a request that is not the engine's; every hold "   \
    "of this client counts as lost, please report it\n"

static void all_holds_are_lost(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000));
    granted(&s, "try L#1", 5, 1);
    acquire(&s, 'B', "M", HOW(.fixed = true));
    granted(&s, "try M#2", 5, 1);
    hush(&s);
    break_it();
    expect(&s, WARNING "A: LOST\n"
                       "B: LOST\n");
    pass(&s, 60000);
    expect(&s, ""); /* nothing is renewed, nothing is told twice */
    release(&s, 'A');
    expect(&s, "release L#1\n");
    released(&s, "release L#1", 0);
    expect(&s, "A released: LOST\n");
}

static void all_acquires_fail(void **state)
{
    (void)state;
    acquire(&s, 'A', "asleep", HOW());
    busy(&s, "try asleep#1", 30000);
    done(&s, "watch asleep");
    busy(&s, "try asleep#1", 30000);
    acquire(&s, 'B', "paused", HOW());
    refused(&s, "try paused#2", HF_ERR_UNREACHABLE);
    acquire(&s, 'C', "trying", HOW());
    acquire(&s, 'D', "trying", HOW(.wait_ms = 1000));
    acquire(&s, 'E', "trying", HOW(.wait_ms = -1));
    hush(&s);
    break_it();
    expect(&s, WARNING "A: INTERNAL\n"
                       "B: INTERNAL\n"
                       "C: INTERNAL\n"
                       "D: INTERNAL\n"
                       "E: INTERNAL\n");
    acquire(&s, 'F', "new", HOW());
    expect(&s, "F: INTERNAL\n");
    granted(&s, "try trying#3", 5, 1); /* is given back */
    expect(&s, "release trying#3\n");
    pass(&s, 60000);
    assert_null(strstr(s.log, "try"));
    hush(&s);
}

static void a_parked_hold_is_given_back(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW());
    acquire(&s, 'B', "L", HOW());
    busy(&s, "try L#1", 1);
    done(&s, "watch L");
    granted(&s, "try L#1", 100, 1001);
    release(&s, 'A');
    hush(&s);
    break_it();
    expect(&s, WARNING "release L#1\n"
                       "B: INTERNAL\n");
}

/* Requests that are on their way are answered in peace. */
static void answers_still_come(void **state)
{
    (void)state;
    acquire(&s, 'A', "L", HOW(.ttl_ms = 3000));
    granted(&s, "try L#1", 5, 1);
    pass(&s, 1000);
    acquire(&s, 'B', "M", HOW());
    granted(&s, "try M#2", 5, 1);
    release(&s, 'B');
    break_it();
    hush(&s);
    renewed(&s, "renew L#1", NULL);
    expect(&s, "");
    unknown(&s, "release M#2");
    expect(&s, "B released: UNSURE\n"); /* not repeated: it ends by its ttl */
    break_it();                         /* said again, but told to nobody again */
    expect(&s, WARNING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_holds_are_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(all_acquires_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(a_parked_hold_is_given_back, setup, teardown),
        cmocka_unit_test_setup_teardown(answers_still_come, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
