/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Good histories of all that can happen to a lock, made by playing it; and the same with one thing changed,
 * each of which must be found, by the rule whose business it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "history/check.h"
#include "holdfast/holdfast.h"

enum { HOLDS = 60, SEEDS = 40, TTL_MS = 100 };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* ------------------------------------------------------------------------------------------------
 * A lock at play
 */

enum fate { RELEASED, EXPIRED, UNSURE, KILLED, FATES };

/* What is known of each hold, for those who change it. */
struct played {
    enum fate fate;
    size_t acquire, look, write, end; /* operations; of EXPIRED: end is the release that says so */
    size_t event, late_write;         /* of EXPIRED */
};

struct play {
    struct history history;
    struct played hold[HOLDS];
    uint32_t seed;
    uint64_t now;          /* the lock is free */
    struct played *zombie; /* does not know that it is lost */
    uint32_t last_process;
};

static uint64_t some(struct play *play, uint64_t most_us)
{
    return 1000 + next_random(&play->seed) % (uint32_t)(most_us * 1000);
}

static size_t add(struct play *play, const struct hist_op *like, enum hist_kind kind,
                  enum hist_outcome outcome, uint64_t invoked, uint64_t returned)
{
    struct hist_op op = *like;

    op.kind = (uint8_t)kind;
    op.outcome = (uint8_t)outcome;
    op.invoked = invoked;
    op.returned = returned;
    op.results = returned != HIST_NEVER;
    op.until = 0;
    op.line = (uint32_t)play->history.count + 1;
    hist_add(&play->history, &op);
    return play->history.count - 1;
}

/* It is lost by time, and the holder told; but it goes on working. */
static void expire(struct play *play, struct played *hold, const struct hist_op *like,
                   uint64_t until)
{
    hold->event = add(play, like, HIST_LOST, HIST_OK, until + 100, until + 200);
    play->now = until + some(play, 500);
    play->zombie = hold;
}

/* Somebody else has been at work meanwhile. */
static void wake_zombie(struct play *play, uint64_t seen)
{
    struct played *hold = play->zombie;
    struct hist_op like, write;

    play->zombie = NULL;
    if (!hold)
        return;
    like = write = play->history.ops[hold->acquire];
    write.seen = seen;
    hold->late_write = add(play, &write, HIST_WRITE, HIST_FAIL, play->now, play->now + 100);
    hold->end = add(play, &like, HIST_RELEASE, HIST_FAIL, play->now + 200, play->now + 300);
    play->now += 400;
}

static void play_end(struct play *play, struct played *hold, const struct hist_op *like,
                     uint64_t until)
{
    uint64_t at = play->now, takes = some(play, 100);

    switch (hold->fate) {
    case EXPIRED:
        expire(play, hold, like, until);
        return;
    case UNSURE: /* it has been done after all, a while later */
        hold->end = add(play, like, HIST_RELEASE, HIST_UNKNOWN, at, at + takes);
        play->now += 2 * takes;
        return;
    case KILLED:
        hold->end = add(play, like, HIST_KILL, HIST_OK, at, at + takes);
        play->now = until + some(play, 500);
        return;
    default:
        hold->end = add(play, like, HIST_RELEASE, HIST_OK, at, at + 2 * takes);
        play->now += takes;
    }
}

static void play_hold(struct play *play, int i)
{
    struct played *hold = &play->hold[i];
    uint64_t granted = play->now + some(play, 100), until = granted + 100000000, waited;
    struct hist_op like = { .process = ++play->last_process,
                            .lock = hist_name(&play->history, "L"),
                            .token = (uint64_t)i + 1 };
    char who[16];

    snprintf(who, sizeof who, "w%d", i);
    like.who = hist_name(&play->history, who);
    hold->fate = i == HOLDS - 1 ? RELEASED : (enum fate)(next_random(&play->seed) % FATES);
    waited = next_random(&play->seed) % 2 ? some(play, 3000) : 0;
    hold->acquire = add(play, &like, HIST_ACQUIRE, HIST_OK, granted - waited, granted + 500);
    play->history.ops[hold->acquire].until = until;
    play->now = granted + some(play, 200);
    hold->write = add(play, &like, HIST_WRITE, HIST_OK, play->now, play->now + 500);
    play->now += 500 + some(play, 200);
    wake_zombie(play, like.token);
    hold->look = add(play, &like, HIST_LOOK, HIST_OK, play->now, play->now + 500);
    until += 30000000; /* it had been renewed */
    play->history.ops[hold->look].until = until;
    play->now += some(play, 200);
    play_end(play, hold, &like, until);
}

/* Somebody who comes in vain meanwhile. */
static void play_try(struct play *play, int i)
{
    const struct hist_op *acquire = &play->history.ops[play->hold[i].acquire];
    struct hist_op like = { .process = ++play->last_process,
                            .lock = acquire->lock,
                            .who = hist_name(&play->history, "passer-by"),
                            .wait_ms = -1,
                            .error = HF_ERR_BUSY };

    add(play, &like, HIST_TRY, HIST_FAIL, acquire->returned + 1, acquire->returned + 100);
}

static void play_all(struct play *play, uint32_t seed)
{
    memset(play, 0, sizeof *play);
    hist_init(&play->history);
    play->history.settings.ttl_ms = TTL_MS + 30;
    play->history.settings.wake_ms = 100;
    play->history.settings.allowance_ms = 100;
    play->seed = seed;
    play->now = UINT64_C(1000000000);
    for (int i = 0; i < HOLDS; i++) {
        play_hold(play, i);
        if (i % 5 == 0)
            play_try(play, i);
    }
    /* somebody else's end says how long the history is */
    add(play, &(struct hist_op){ .process = ++play->last_process }, HIST_END, HIST_OK,
        play->now + 10000000000, play->now + 10000000001);
}

/* ------------------------------------------------------------------------------------------------
 * Changes. Each says which hold it can be done to.
 */

static struct hist_op *op_of(struct play *play, size_t i)
{
    return &play->history.ops[i];
}

static bool acquired_too_soon(struct play *play, int i)
{
    struct hist_op *op = op_of(play, play->hold[i].acquire);
    const struct hist_op *look = op_of(play, play->hold[i - 1].look);

    op->returned = look->invoked;
    op->invoked = look->invoked - 1000;
    return true;
}

static bool renewed_too_long(struct play *play, int i)
{
    op_of(play, play->hold[i - 1].look)->until = op_of(play, play->hold[i].look)->invoked;
    return play->hold[i - 1].fate == KILLED;
}

static bool token_is_old(struct play *play, int i)
{
    uint64_t token = op_of(play, play->hold[i].acquire)->token;

    for (size_t n = 0; n < play->history.count; n++) /* the two change their tokens */
        if (op_of(play, n)->token == token || op_of(play, n)->token == token - 2)
            op_of(play, n)->token = 2 * token - 2 - op_of(play, n)->token;
    return i >= 3;
}

static bool token_is_given_twice(struct play *play, int i)
{
    op_of(play, play->hold[i].acquire)->token--;
    return true;
}

static bool old_write_is_taken(struct play *play, int i)
{
    if (play->hold[i - 1].fate != EXPIRED)
        return false;
    op_of(play, play->hold[i - 1].late_write)->outcome = HIST_OK;
    return true;
}

static bool holder_is_refused(struct play *play, int i)
{
    struct hist_op *write = op_of(play, play->hold[i].write);

    write->outcome = HIST_FAIL;
    write->seen = write->token + 1;
    return true;
}

static bool told_twice(struct play *play, int i)
{
    op_of(play, play->hold[i].acquire)->results = 2;
    return true;
}

static bool never_told(struct play *play, int i)
{
    op_of(play, play->hold[i].acquire)->results = 0;
    return true;
}

static bool lost_twice(struct play *play, int i)
{
    struct hist_op event;

    if (play->hold[i].fate != EXPIRED)
        return false;
    event = *op_of(play, play->hold[i].event);
    event.invoked++;
    hist_add(&play->history, &event);
    return true;
}

static bool had_again(struct play *play, int i)
{
    struct hist_op look;

    if (play->hold[i].fate != EXPIRED)
        return false;
    look = *op_of(play, play->hold[i].look);
    look.invoked = op_of(play, play->hold[i].event)->returned + 1;
    look.returned = look.invoked + 1;
    look.until = 0;
    hist_add(&play->history, &look);
    return true;
}

static bool lost_too_soon(struct play *play, int i)
{
    struct hist_op *event;

    if (play->hold[i].fate != EXPIRED)
        return false;
    event = op_of(play, play->hold[i].event);
    event->invoked = op_of(play, play->hold[i].look)->returned + 1;
    event->returned = event->invoked + 1;
    return true;
}

static bool busy_for_its_holder(struct play *play, int i)
{
    struct hist_op try = *op_of(play, play->hold[i].look);

    try.kind = HIST_TRY;
    try.outcome = HIST_FAIL;
    try.error = HF_ERR_BUSY;
    try.token = 0;
    try.until = 0;
    hist_add(&play->history, &try);
    return true;
}

static bool release_takes_too_long(struct play *play, int i)
{
    if (play->hold[i].fate != UNSURE)
        return false;
    op_of(play, play->hold[i].end)->returned += 5000 * HIST_MSEC;
    return true;
}

/* After the last hold the lock is free. */
static bool nobody_is_woken(struct play *play, int i)
{
    struct hist_op op = *op_of(play, play->hold[i].acquire);

    op.token = 0;
    op.until = 0;
    op.outcome = HIST_UNKNOWN;
    op.invoked = play->now;
    op.returned = HIST_NEVER;
    op.results = 0;
    op.process = play->last_process;
    hist_add(&play->history, &op);
    return true;
}

static bool never_released(struct play *play, int i)
{
    struct hist_op *release = op_of(play, play->hold[i - 1].end);

    if (play->hold[i - 1].fate != RELEASED)
        return false;
    *release = *op_of(play, play->hold[i - 1].look); /* one more look instead */
    release->invoked = release->returned = op_of(play, play->hold[i].look)->returned;
    return true;
}

static bool looked_when_gone(struct play *play, int i)
{
    struct hist_op look = *op_of(play, play->hold[i].look);

    if (play->hold[i].fate != RELEASED || i == HOLDS - 1)
        return false;
    look.invoked = op_of(play, play->hold[i + 1].look)->invoked;
    look.returned = look.invoked + 1;
    look.until = 0;
    hist_add(&play->history, &look);
    return true;
}

static const struct {
    const char *name;
    bool (*change)(struct play *play, int i);
    enum check_rule rule;
} CHANGES[] = {
    { "acquired too soon", acquired_too_soon, CHECK_OVERLAP },
    { "acquired too soon", acquired_too_soon, CHECK_LINEAR },
    { "renewed too long", renewed_too_long, CHECK_OVERLAP },
    { "token is old", token_is_old, CHECK_TOKEN },
    { "token is old", token_is_old, CHECK_LINEAR },
    { "token is given twice", token_is_given_twice, CHECK_TOKEN },
    { "old write is taken", old_write_is_taken, CHECK_REGISTER },
    { "old write is taken", old_write_is_taken, CHECK_LINEAR },
    { "holder is refused", holder_is_refused, CHECK_REGISTER },
    { "holder is refused", holder_is_refused, CHECK_LINEAR },
    { "told twice", told_twice, CHECK_RESULT },
    { "never told", never_told, CHECK_RESULT },
    { "lost twice", lost_twice, CHECK_TOLD },
    { "had again", had_again, CHECK_TOLD },
    { "lost too soon", lost_too_soon, CHECK_EARLY },
    { "lost too soon", lost_too_soon, CHECK_LINEAR },
    { "busy for its holder", busy_for_its_holder, CHECK_BUSY },
    { "release takes too long", release_takes_too_long, CHECK_LATE },
    { "nobody is woken", nobody_is_woken, CHECK_WAKE },
    { "never released", never_released, CHECK_OVERLAP },
    { "never released", never_released, CHECK_LINEAR },
    { "looked when gone", looked_when_gone, CHECK_LINEAR },
};

/* ------------------------------------------------------------------------------------------------
 * Tests
 */

static bool check_play(struct play *play, struct check_counts *counts, FILE *out)
{
    struct check_options options = { .out = out, .model = &LIN_FENCED };

    hist_sort(&play->history);
    return check_history(&play->history, &options, counts);
}

static void good_ones(void **state)
{
    static struct play play;
    struct check_counts counts;

    (void)state;
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        play_all(&play, seed);
        if (!check_play(&play, &counts, stdout))
            fail_msg("seed %u: a good history is said to be bad", (unsigned)seed);
        assert_true(counts.expired > 5);
        hist_free(&play.history);
    }
}

static void changed_ones(void **state)
{
    static struct play play;
    struct check_counts counts;

    (void)state;
    for (size_t n = 0; n < sizeof CHANGES / sizeof CHANGES[0]; n++) {
        int changed = 0;

        for (uint32_t seed = 1; seed <= SEEDS; seed++) {
            int i = 1 + (int)(seed * 7 % (HOLDS - 1));

            play_all(&play, seed);
            if (!CHANGES[n].change(&play, i)) {
                hist_free(&play.history);
                continue;
            }
            changed++;
            check_play(&play, &counts, NULL);
            if (!counts.found[CHANGES[n].rule])
                fail_msg("seed %u, hold %d: %s is not found by %s", (unsigned)seed, i,
                         CHANGES[n].name, check_rule_word(CHANGES[n].rule));
            hist_free(&play.history);
        }
        assert_true(changed >= 3);
    }
}

/* Lines are read as they were written. */
static void lines(void **state)
{
    static struct play play;
    struct history copy;
    char *text = NULL, *again = NULL, why[128];
    size_t size, size_again;
    FILE *file;

    (void)state;
    play_all(&play, 1);
    hist_sort(&play.history);
    file = open_memstream(&text, &size);
    hist_write_settings(&play.history, file);
    for (size_t i = 0; i < play.history.count; i++)
        hist_write_line(&play.history, op_of(&play, i), file);
    fclose(file);

    hist_init(&copy);
    file = fmemopen(text, size, "r");
    assert_true(hist_read(&copy, file, why, sizeof why));
    fclose(file);
    assert_int_equal(copy.count, play.history.count);
    file = open_memstream(&again, &size_again);
    hist_write_settings(&copy, file);
    for (size_t i = 0; i < copy.count; i++)
        hist_write_line(&copy, &copy.ops[i], file);
    fclose(file);
    assert_string_equal(again, text);
    hist_free(&copy);
    hist_free(&play.history);
    free(text);
    free(again);
}

static void bad_lines(void **state)
{
    static const char *const BAD[] = {
        "10",
        "10 20 p1 t1 L a acquire",
        "10 5 p1 t1 L a acquire ok",
        "x 20 p1 t1 L a acquire ok",
        "10 20 q1 t1 L a acquire ok",
        "10 20 p1 1 L a acquire ok",
        "10 20 p1 t1 L a swallow ok",
        "10 20 p1 t1 L a acquire perhaps",
        "10 20 p1 t1 - a acquire ok",
        "10 - p1 t1 L a acquire ok",
        "10 20 p1 t1 L a acquire ok token=",
        "10 20 p1 t1 L a acquire ok token=-1",
        "10 20 p1 t1 L a acquire ok error=WRONG",
        "10 20 p1 t1 L a acquire ok wait=-2",
        "10 20 p1 t1 L a acquire ok word",
        "10 20 p1 t1 L a acquire ok token=99999999999999999999",
        "10 20 p1 t1 L a acquire ok results=65536",
        "set death often",
        "set nothing 1",
        "set ttl_ms",
        "set ttl_ms 1 2",
    };
    char why[128], text[2000] = "10 20 p1 t1 L a acquire ok token=";
    struct history history;

    (void)state;
    hist_init(&history);
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        if (hist_read_line(&history, BAD[i], why, sizeof why))
            fail_msg("\"%s\" was read", BAD[i]);
    memset(text + strlen(text), '1', HIST_LINE_MAX);
    assert_false(hist_read_line(&history, text, why, sizeof why));
    assert_int_equal(history.count, 0);
    assert_true(hist_read_line(&history, "# a remark", why, sizeof why));
    assert_true(hist_read_line(&history, "", why, sizeof why));
    hist_free(&history);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(good_ones),
        cmocka_unit_test(changed_ones),
        cmocka_unit_test(lines),
        cmocka_unit_test(bad_lines),
    };

    return cmocka_run_group_tests_name("mutations", TESTS, NULL, NULL);
}
