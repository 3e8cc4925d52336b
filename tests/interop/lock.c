/* SPDX-License-Identifier: Apache-2.0 */
/* Locks with one owner, of whatever kind. */
#include "interop/lock.h"

#include <string.h>

#define THREADS 4 /* of a storm, at most */
/* What half of the hand-offs must not exceed. Fair waiters of ours look again after 1.5 s, message or not. */
#define USUAL_US 100000

void lock(struct side *side, const char *kind, const char *what, char *owner)
{
    const char *answer = side_do(side, "t", "%s lock %s", kind, what);

    if (!owner)
        return;
    snprintf(owner, OWNER_ROOM, "%s", answer_text(answer, "owner"));
    assert_int_equal(strncmp(owner, side->client, strlen(side->client)), 0);
}

void unlock(struct side *side, const char *kind, const char *what)
{
    side_do(side, "t", "%s unlock %s", kind, what);
}

bool can_take(struct side *side, const char *kind, const char *what)
{
    bool got = answer_number(side_do(side, "t", "%s try %s", kind, what), "got") == 1;

    if (got)
        unlock(side, kind, what);
    return got;
}

void expect_held(struct side *side, const char *kind, const char *what, bool is)
{
    assert_int_equal(answer_number(side_do(side, "t", "%s held %s", kind, what), "held"), is);
}

void expect_refused(struct side *side, const char *thread, const char *what)
{
    const char *answer = side_ask(side, thread, "%s", what);

    if (strncmp(answer, "error", 5) != 0)
        fail_msg("thread %s of the %s side: %s: %s, and no error", thread, side_name(side->make),
                 what, answer);
}

/* A writer's release of Redisson's wakes the threads that sleep at that moment; one that has looked, and does not
 * sleep yet, misses it. So its waiters must sleep before another of its own lets go. */
void begin_wait(struct stage *stage, const char *kind, enum topic topic, const char *what,
                const char *key)
{
    long long looks = stage->b->make == MAKE_JAVA || topic == TOPIC_NONE ? 2 : 1;
    long long before = count_looks(&stage->server);

    side_tell(stage->b, "w", "%s lock %s", kind, what);
    AWAIT((topic == TOPIC_NONE || count_subscribers(stage, topic, key) >= 1) &&
          count_looks(&stage->server) >= before + looks);
    if (stage->make_a == MAKE_JAVA && stage->make_b == MAKE_JAVA && topic == TOPIC_READ_WRITE)
        AWAIT(answer_number(side_do(stage->b, "x", "thread asleep w"), "asleep") == 1);
}

void end_wait(struct side *side, const char *kind, const char *what, char *owner)
{
    const char *answer = side_hear_well(side, "w");

    if (owner)
        snprintf(owner, OWNER_ROOM, "%s", answer_text(answer, "owner"));
    side_do(side, "w", "%s unlock %s", kind, what);
}

/* ------------------------------------------------------------------------------------------------
 * Hand-offs
 */

long long took_us(long long from_ns, long long at_ns)
{
    if ((at_ns - from_ns) / 1000000 > WOKEN_MS)
        fail_msg("a lost wake-up: it took %lld ms", (at_ns - from_ns) / 1000000);
    return (at_ns - from_ns) / 1000;
}

static int compare(const void *a, const void *b)
{
    long long x = *(const long long *)a, y = *(const long long *)b;

    return (x > y) - (x < y);
}

/* Of sorted µs. */
static double ms_of(const long long *took, int percent)
{
    int at = HANDOFFS * percent / 100;

    return (double)took[at < HANDOFFS ? at : HANDOFFS - 1] / 1e3;
}

void print_figures(struct stage *stage, const char *what, long long *took)
{
    qsort(took, HANDOFFS, sizeof took[0], compare);
    printf("%s, %s to %s: p50 %.2f ms, p99 %.2f ms, most %.2f ms, of %d\n", what,
           side_name(stage->make_a), side_name(stage->make_b), ms_of(took, 50), ms_of(took, 99),
           ms_of(took, 100), HANDOFFS);
    if (took[HANDOFFS / 2] > USUAL_US)
        fail_msg("waiters are not woken but look again after a while");
}

/* Lets go, and returns how long it took until the waiter had it, in µs. */
static long long hand_off(struct stage *stage, const char *kind_a, const char *kind_b)
{
    const struct kind *kind = stage->kind;
    long long from, at;

    lock(stage->a, kind_a, kind->lock, NULL);
    begin_wait(stage, kind_b, kind->topic, kind->lock, kind->key);
    from = answer_number(side_do(stage->a, "t", "%s unlock %s", kind_a, kind->lock), "from");
    at = answer_number(side_hear_well(stage->b, "w"), "at");
    side_do(stage->b, "w", "%s unlock %s", kind_b, kind->lock);
    return took_us(from, at);
}

void measure_handoffs(struct stage *stage, const char *kind_a, const char *kind_b)
{
    long long took[HANDOFFS];
    char what[64];

    for (int i = 0; i < WARM + HANDOFFS; i++)
        took[i < WARM ? 0 : i - WARM] = hand_off(stage, kind_a, kind_b);
    snprintf(what, sizeof what, strcmp(kind_a, kind_b) == 0 ? "%s" : "%s to %s", kind_a, kind_b);
    print_figures(stage, what, took);
}

void play_handoff(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    measure_handoffs(stage, stage->kind->name, stage->kind->name);
}

/* ------------------------------------------------------------------------------------------------
 * A counter
 */

void check_storm(struct stage *stage, const char *counter)
{
    long long a, b, sum;

    nap_ms(stage->storm_ms); /* they are at work; then they have the usual time to end */
    a = answer_number(side_hear_well(stage->a, "t"), "done");
    b = answer_number(side_hear_well(stage->b, "t"), "done");
    printf("%s, %d ms: %s %lld, %s %lld\n", stage->kind->name, stage->storm_ms,
           side_name(stage->make_a), a, side_name(stage->make_b), b);
    assert_true(a > THREADS &&
                b > THREADS); /* and not only at the end, when the others had stopped */
    if (!counter)
        return;
    sum = atoll(raw_text(&stage->server, "GET %s", counter));
    assert_int_equal(sum, a + b);
}

void play_storm(struct stage *stage)
{
    const struct kind *kind = stage->kind;

    stage_sides(stage, TTL_MS, TTL_MS);
    side_tell(stage->a, "t", "%s storm %s counter 4 %d", kind->name, kind->lock, stage->storm_ms);
    side_tell(stage->b, "t", "%s storm %s counter 4 %d", kind->name, kind->lock, stage->storm_ms);
    check_storm(stage, "counter");
    assert_int_equal(raw_integer(&stage->server, "EXISTS %s", kind->key), 0);
}

/* ------------------------------------------------------------------------------------------------
 * Leases
 */

void kill_holder(struct stage *stage, const char *kind_a, const char *kind_b, const char *key)
{
    const struct kind *kind = stage->kind;
    long long left, took;
    int64_t from;

    lock(stage->a, kind_a, kind->lock, NULL);
    begin_wait(stage, kind_b, kind->topic, kind->lock, kind->key);
    side_kill(stage->a);
    from = now_ms();
    left = raw_integer(&stage->server, "PTTL %s", key);
    assert_true(left > 0);
    end_wait(stage->b, kind_b, kind->lock, NULL);
    took = now_ms() - from;
    if (took < left - 5 || took > left + WOKEN_MS)
        fail_msg("its lease had %lld ms left, and the waiter took %lld", left, took);
}

void play_killed(struct stage *stage)
{
    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    kill_holder(stage, stage->kind->name, stage->kind->name, stage->kind->key);
}

void watch_renewal(struct stage *stage, const char *kind_a, const char *kind_b, const char *key)
{
    const struct kind *kind = stage->kind;
    long long last = TTL_SOON_MS, ttl;
    int64_t until;
    int rises = 0;

    for (int i = 0; i < 2; i++) /* of what another thread had, more than once, nothing is left */
        side_do(stage->a, "v", "%s lock %s", kind_a, kind->lock);
    for (int i = 0; i < 2; i++)
        side_do(stage->a, "v", "%s unlock %s", kind_a, kind->lock);
    lock(stage->a, kind_a, kind->lock, NULL);
    until = now_ms() +
            TTL_SOON_MS * 3 / 2; /* longer than the ttl; on a busy machine, as long as it takes */
    for (; now_ms() < until || (rises < 2 && now_ms() < until + PATIENCE_MS); last = ttl) {
        assert_false(can_take(stage->b, kind_b, kind->lock));
        ttl = raw_integer(&stage->server, "PTTL %s", key);
        rises += ttl > last + TTL_SOON_MS / 10;
        nap_ms(20);
    }
    assert_true(rises >= 2);
    expect_held(stage->a, kind_a, kind->lock, true);
    unlock(stage->a, kind_a, kind->lock);
    assert_true(can_take(stage->b, kind_b, kind->lock));
}

void play_renewed(struct stage *stage)
{
    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    watch_renewal(stage, stage->kind->name, stage->kind->name, stage->kind->key);
}

/* ------------------------------------------------------------------------------------------------
 * For people
 */

void look_at_holder(struct stage *stage, const char *kind_a, const char *is_called)
{
    const char *what = stage->kind->lock, *answer;
    char owner[OWNER_ROOM], give[64];

    lock(stage->a, kind_a, what, owner);
    expect_held(stage->a, kind_a, what, true);
    assert_int_equal(answer_number(side_do(stage->a, "v", "%s held %s", kind_a, what), "held"), 0);
    expect_held(stage->b, kind_a, what, false);
    answer = side_do(stage->b, "t", "%s look %s", kind_a, what);
    assert_int_equal(answer_number(answer, "locked"), 1);
    assert_in_range(answer_number(answer, "left"), TTL_MS - WOKEN_MS, TTL_MS);
    if (stage->make_b == MAKE_C) {
        assert_string_equal(answer_text(answer, "owner"), owner);
        assert_string_equal(answer_text(answer, "kind"), is_called);
    }
    if (stage->make_b ==
        MAKE_JAVA) { /* with ours there is nothing that a stranger could give back */
        snprintf(give, sizeof give, "%s unlock %s", kind_a, what);
        expect_refused(stage->b, "t", give);
        expect_held(stage->a, kind_a, what, true);
    }
    unlock(stage->a, kind_a, what);
    assert_int_equal(answer_number(side_do(stage->b, "t", "%s look %s", kind_a, what), "locked"),
                     0);
}

void play_seen(struct stage *stage)
{
    const char *kind = stage->kind->name;
    bool is_mutex = strcmp(kind, "fenced") == 0 || strcmp(kind, "spin") == 0;

    stage_sides(stage, TTL_MS, TTL_MS);
    look_at_holder(stage, kind, is_mutex ? "mutex" : kind);
}
