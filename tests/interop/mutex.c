/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes beside RLock. In each scenario a holds; b waits, looks, or takes it away. */
#include <string.h>

#include "interop/stage.h"

#define HANDOFFS 200

static const char *channel_of(const char *name)
{
    static char channel[256];

    snprintf(channel, sizeof channel,
             strchr(name, '{') ? "redisson_lock__channel:%s" : "redisson_lock__channel:{%s}", name);
    return channel;
}

static void lock(struct side *side, const char *name, char *owner)
{
    strcpy(owner, answer_text(side_do(side, "t", "mutex lock %s", name), "owner"));
    assert_int_equal(strncmp(owner, side->client, strlen(side->client)), 0);
}

static bool can_take(struct side *side, const char *name)
{
    bool got = answer_number(side_do(side, "t", "mutex try %s", name), "got") == 1;

    if (got)
        side_do(side, "t", "mutex unlock %s", name);
    return got;
}

static void is_held(struct side *side, const char *name, bool is)
{
    assert_int_equal(answer_number(side_do(side, "t", "mutex held %s", name), "held"), is);
}

/* Tells a thread to lock, and waits until it has asked, listens, and has looked again. */
static void begin_wait(struct stage *stage, const char *name)
{
    long long looks = stage->b.make == MAKE_JAVA ? 2 : 1, before = count_scripts(&stage->server);

    side_tell(&stage->b, "w", "mutex lock %s", name);
    AWAIT(count_subscribers(stage, channel_of(name)) >= 1 &&
          count_scripts(&stage->server) >= before + looks);
}

/* Lets go, and returns how long it took until the waiter had it, in µs. */
static long long hand_off(struct stage *stage, const char *name)
{
    long long from, at;

    begin_wait(stage, name);
    from = answer_number(side_do(&stage->a, "t", "mutex unlock %s", name), "from");
    at = answer_number(side_hear_well(&stage->b, "w"), "at");
    side_do(&stage->b, "w", "mutex unlock %s", name);
    if ((at - from) / 1000000 > WOKEN_MS)
        fail_msg("a lost wake-up: it took %lld ms", (at - from) / 1000000);
    return (at - from) / 1000;
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

static void play_handoff(struct stage *stage)
{
    long long took[HANDOFFS];
    char owner[256];

    stage_sides(stage, TTL_MS, TTL_MS);
    for (int i = 0; i < 20 + HANDOFFS; i++) { /* the first are to get warm */
        lock(&stage->a, "job", owner);
        took[i < 20 ? 0 : i - 20] = hand_off(stage, "job");
    }
    qsort(took, HANDOFFS, sizeof took[0], compare);
    printf("hand-off %s to %s: p50 %.2f ms, p99 %.2f ms, most %.2f ms, of %d\n",
           side_name(stage->make_a), side_name(stage->make_b), ms_of(took, 50), ms_of(took, 99),
           ms_of(took, 100), HANDOFFS);
}

static void check_data(struct stage *stage, const char *name)
{
    bool is_java = stage->make_a == MAKE_JAVA;
    char owner[256];

    lock(&stage->a, name, owner);
    expect_hash(stage, name, owner, "1", TTL_MS - WOKEN_MS, TTL_MS);
    assert_false(can_take(&stage->b, name));
    lock(&stage->a, name, owner); /* again: Redisson counts in the hash, the library in itself */
    expect_hash(stage, name, owner, is_java ? "2" : "1", TTL_MS - WOKEN_MS, TTL_MS);
    side_do(&stage->a, "t", "mutex unlock %s", name);
    expect_hash(stage, name, owner, "1", TTL_MS - WOKEN_MS, TTL_MS);
    assert_false(can_take(&stage->b, name));
    expect_no_other_keys(stage, name);
    expect_no_message(stage);
    side_do(&stage->a, "t", "mutex unlock %s", name);
    expect_none(stage, name);
    expect_message(stage, channel_of(name), "0");
    expect_no_message(stage);
    assert_true(can_take(&stage->b, name));
    expect_message(stage, channel_of(name), "0");
    expect_none(stage, name);
    expect_no_other_keys(stage, name);
}

static void play_data(struct stage *stage)
{
    stage_sides(stage, TTL_MS, TTL_MS);
    listen_all(stage);
    check_data(stage, "job");
    check_data(stage, "job{tag}x");
    check_data(stage, "a{b");
}

static void play_storm(struct stage *stage)
{
    long long a, b, counter;

    stage_sides(stage, TTL_MS, TTL_MS);
    side_tell(&stage->a, "t", "mutex storm job counter 4 %d", stage->storm_ms);
    side_tell(&stage->b, "t", "mutex storm job counter 4 %d", stage->storm_ms);
    nap_ms(stage->storm_ms); /* they are at work; then they have the usual time to end */
    a = answer_number(side_hear_well(&stage->a, "t"), "done");
    b = answer_number(side_hear_well(&stage->b, "t"), "done");
    counter = atoll(raw_text(&stage->server, "GET counter"));
    printf("counter, %d ms: %s %lld, %s %lld, in all %lld\n", stage->storm_ms,
           side_name(stage->make_a), a, side_name(stage->make_b), b, counter);
    assert_true(a > 0 && b > 0);
    assert_int_equal(counter, a + b);
    expect_none(stage, "job");
}

static void play_killed(struct stage *stage)
{
    long long left, took;
    int64_t from;
    char owner[256];

    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    lock(&stage->a, "job", owner);
    begin_wait(stage, "job");
    side_kill(&stage->a);
    from = now_ms();
    left = raw_integer(&stage->server, "PTTL job");
    side_hear_well(&stage->b, "w");
    took = now_ms() - from;
    if (took < left - 5 || took > left + WOKEN_MS)
        fail_msg("its lease had %lld ms left, and the waiter took %lld", left, took);
}

static void play_renewed(struct stage *stage)
{
    long long last = TTL_SOON_MS, ttl;
    int64_t until;
    int rises = 0;
    char owner[256];

    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    lock(&stage->a, "job", owner);
    for (until = now_ms() + 2 * TTL_SOON_MS; now_ms() < until; last = ttl) {
        assert_false(can_take(&stage->b, "job"));
        ttl = raw_integer(&stage->server, "PTTL job");
        rises += ttl > last + TTL_SOON_MS / 10;
        nap_ms(20);
    }
    assert_true(rises >= 2);
    is_held(&stage->a, "job", true);
    side_do(&stage->a, "t", "mutex unlock job");
    assert_true(can_take(&stage->b, "job"));
}

/* `holdfast break`, for a side that is ours. */
static int run_break(const struct parent *parent, void *arg)
{
    const struct server *server = arg;
    char uri[64];

    dup2(parent->out, STDOUT_FILENO);
    execl(HF_TEST_COMMAND, "holdfast", "break", "--store", server_uri(server, uri, sizeof uri),
          "job", (char *)NULL);
    return 127;
}

static void play_forced(struct stage *stage)
{
    struct child child;
    int64_t from;
    char owner[256];

    stage_sides(stage, TTL_SOON_MS, TTL_MS);
    lock(&stage->a, "job", owner);
    begin_wait(stage, "job");
    from = now_ms();
    if (stage->make_b == MAKE_JAVA) {
        assert_int_equal(answer_number(side_do(&stage->b, "t", "mutex force job"), "done"), 1);
    } else {
        child_start(&child, run_break, &stage->server);
        assert_int_equal(child_join(&child), 0);
    }
    side_hear_well(&stage->b, "w"); /* the waiter is let in */
    AWAIT(answer_number(side_do(&stage->a, "t", "mutex held job"), "held") == 0);
    assert_true(now_ms() - from < WOKEN_MS);
    assert_int_equal(strncmp(side_ask(&stage->a, "t", "mutex unlock job"), "error", 5), 0);
    side_do(&stage->b, "w", "mutex unlock job"); /* the late unlock took nothing away */
}

static const struct scenario scenarios[] = {
    { "data", PAIRS_BOTH, play_data },       { "hand-off", PAIRS_ALL, play_handoff },
    { "counter", PAIRS_ONE, play_storm },    { "killed holder", PAIRS_BOTH, play_killed },
    { "renewal", PAIRS_BOTH, play_renewed }, { "forced unlock", PAIRS_BOTH, play_forced },
};

const struct kind kind_mutex = { "mutex", scenarios, sizeof scenarios / sizeof scenarios[0] };
