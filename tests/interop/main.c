/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interop [-j] CLASSPATH SECONDS PART [KIND...]: the library beside Redisson, whose player is in CLASSPATH: each
 * scenario of each kind, or of these, by its pairs. SECONDS is how long the counters run. PART: "asleep", those that
 * sleep most of the time; "awake", the others; "all". -j: Redisson beside itself, which tells whether a scenario
 * expects what it does.
 */
#include <string.h>

#include "interop/stage.h"

#define TESTS_MAX 256

static const struct kind *const kinds[] = {
    &kind_mutex,   &kind_fair,      &kind_write, &kind_fenced, &kind_spin,  &kind_multi,
    &kind_permits, &kind_semaphore, &kind_latch, &kind_once,   &kind_value, &kind_mapped,
};

struct play {
    const struct kind *kind;
    const struct scenario *scenario;
    enum make a, b;
    char name[128];
};

static struct play plays[TESTS_MAX];
static struct CMUnitTest tests[TESTS_MAX];
static size_t count;
static struct stage stage;
static int storm_ms;
static bool is_over; /* the scenario, with success */

enum role { ROLE_A, ROLE_B };
enum sort { SORT_USUAL, SORT_SOON, SORT_MAPPED };
static struct side troupe[2][2][3]; /* role, make, sort */

/* Who plays a or b, as C or Java. */
static struct side *side_for(enum role role, enum make make, enum sort sort)
{
    struct side *side = &troupe[role][make][sort];

    if (!side->child.pid)
        side_start(side, make, &stage.server, sort == SORT_SOON ? TTL_SOON_MS : TTL_MS,
                   sort == SORT_MAPPED ? PREFIX : NULL);
    assert_int_equal(side->answers, 0);
    return side;
}

void stage_sides(struct stage *on, int ttl_a_ms, int ttl_b_ms)
{
    on->a = side_for(ROLE_A, on->make_a, ttl_a_ms == TTL_SOON_MS ? SORT_SOON : SORT_USUAL);
    on->b = side_for(ROLE_B, on->make_b, ttl_b_ms == TTL_SOON_MS ? SORT_SOON : SORT_USUAL);
}

void stage_mapped_sides(struct stage *on)
{
    on->a = side_for(ROLE_A, on->make_a, SORT_MAPPED);
    on->b = side_for(ROLE_B, on->make_b, SORT_MAPPED);
}

void skip_if_old(const struct side *side, const char *why)
{
    if (side->make != MAKE_JAVA || side->version[0] != '3')
        return;
    printf("left out with Redisson %s: %s\n", side->version, why);
    is_over = true;
    skip();
}

static void play(void **state)
{
    const struct play *what = *state;

    is_over = false;
    stage.kind = what->kind;
    stage.make_a = what->a;
    stage.make_b = what->b;
    stage.storm_ms = storm_ms;
    if (!stage.server.pid)
        server_start(&stage.server);
    what->scenario->play(&stage);
    is_over = true;
}

static int end_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof troupe / sizeof(struct side); i++)
        side_kill((struct side *)troupe + i);
    if (stage.server.pid)
        server_stop(&stage.server);
    memset(&stage.server, 0, sizeof stage.server);
    return 0;
}

static int end(void **state)
{
    if (stage.ear)
        redisFree(stage.ear);
    stage.ear = NULL;
    if (!is_over)
        return end_all(state); /* who knows what they are doing */
    raw_do(&stage.server, "FLUSHALL");
    return 0;
}

static void add(const struct kind *kind, const struct scenario *scenario, enum make a, enum make b)
{
    struct play *what = &plays[count];

    assert_true(count < TESTS_MAX);
    *what = (struct play){ .kind = kind, .scenario = scenario, .a = a, .b = b };
    snprintf(what->name, sizeof what->name, "%s, %s: %s, %s", kind->name, scenario->name,
             side_name(a), side_name(b));
    tests[count++] = (struct CMUnitTest){
        .name = what->name, .test_func = play, .teardown_func = end, .initial_state = what
    };
}

static bool is_asleep(enum pairs pairs)
{
    return pairs == PAIRS_BOTH_ASLEEP || pairs == PAIRS_OURS_ASLEEP;
}

static void add_pairs(const struct kind *kind, const struct scenario *scenario, bool is_java_only)
{
    enum pairs pairs = scenario->pairs;
    bool is_ours = pairs == PAIRS_OURS || pairs == PAIRS_OURS_ASLEEP;

    if (is_java_only && !is_ours)
        add(kind, scenario, MAKE_JAVA, MAKE_JAVA);
    if (is_java_only)
        return;
    add(kind, scenario, MAKE_C, MAKE_JAVA);
    if (!is_ours && pairs != PAIRS_ONE)
        add(kind, scenario, MAKE_JAVA, MAKE_C);
    if (pairs == PAIRS_ALL) {
        add(kind, scenario, MAKE_C, MAKE_C);
        add(kind, scenario, MAKE_JAVA, MAKE_JAVA);
    }
}

static void add_kind(const struct kind *kind, const char *part, bool is_java_only)
{
    for (size_t i = 0; i < kind->count; i++) {
        const char *is = is_asleep(kind->scenario[i].pairs) ? "asleep" : "awake";

        if (strcmp(part, "all") == 0 || strcmp(part, is) == 0)
            add_pairs(kind, &kind->scenario[i], is_java_only);
    }
}

static bool is_named(char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    bool is_java_only = argc > 1 && strcmp(argv[1], "-j") == 0;
    size_t known = 0;

    argv += is_java_only;
    if (argc - is_java_only < 4 || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: interop [-j] CLASSPATH SECONDS all|asleep|awake [KIND...]\n");
        return 64;
    }
    side_classpath = argv[1];
    storm_ms = atoi(argv[2]) * 1000;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (argv[4] && !is_named(argv + 4, kinds[i]->name))
            continue;
        add_kind(kinds[i], argv[3], is_java_only);
        known++;
    }
    if (known == 0) {
        fprintf(stderr, "interop: no kind is called so\n");
        return 64;
    }
    return count ? _cmocka_run_group_tests("interop", tests, count, NULL, end_all) : 0;
}
