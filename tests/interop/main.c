/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interop CLASSPATH SECONDS [KIND...]: the library beside Redisson, whose player is in CLASSPATH: each scenario
 * of each kind, or of these, by its pairs, each on a server of its own. SECONDS is how long the counters run.
 */
#include <string.h>

#include "interop/stage.h"

#define TESTS_MAX 256

static const struct kind *const kinds[] = { &kind_mutex };

struct play {
    const struct scenario *scenario;
    enum make a, b;
    char name[128];
};

static struct play plays[TESTS_MAX];
static struct CMUnitTest tests[TESTS_MAX];
static size_t count;
static struct stage stage;
static int storm_ms;

void stage_sides(struct stage *on, int ttl_a_ms, int ttl_b_ms)
{
    side_start(&on->a, on->make_a, &on->server, ttl_a_ms);
    side_start(&on->b, on->make_b, &on->server, ttl_b_ms);
}

static void play(void **state)
{
    const struct play *what = *state;

    memset(&stage, 0, sizeof stage);
    stage.make_a = what->a;
    stage.make_b = what->b;
    stage.storm_ms = storm_ms;
    server_start(&stage.server);
    what->scenario->play(&stage);
}

static int end(void **state)
{
    (void)state;
    side_kill(&stage.a);
    side_kill(&stage.b);
    if (stage.ear)
        redisFree(stage.ear);
    stage.ear = NULL;
    server_stop(&stage.server);
    return 0;
}

static void add(const struct kind *kind, const struct scenario *scenario, enum make a, enum make b)
{
    struct play *what = &plays[count];

    assert_true(count < TESTS_MAX);
    *what = (struct play){ .scenario = scenario, .a = a, .b = b };
    snprintf(what->name, sizeof what->name, "%s, %s: %s, %s", kind->name, scenario->name,
             side_name(a), side_name(b));
    tests[count++] = (struct CMUnitTest){
        .name = what->name, .test_func = play, .teardown_func = end, .initial_state = what
    };
}

static void add_kind(const struct kind *kind)
{
    for (size_t i = 0; i < kind->count; i++) {
        const struct scenario *scenario = &kind->scenario[i];

        add(kind, scenario, MAKE_C, MAKE_JAVA);
        if (scenario->pairs != PAIRS_ONE)
            add(kind, scenario, MAKE_JAVA, MAKE_C);
        if (scenario->pairs == PAIRS_ALL) {
            add(kind, scenario, MAKE_C, MAKE_C);
            add(kind, scenario, MAKE_JAVA, MAKE_JAVA);
        }
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
    if (argc < 3 || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: interop CLASSPATH SECONDS [KIND...]\n");
        return 64;
    }
    side_classpath = argv[1];
    storm_ms = atoi(argv[2]) * 1000;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (argc == 3 || is_named(argv + 3, kinds[i]->name))
            add_kind(kinds[i]);
    if (count == 0) {
        fprintf(stderr, "interop: no kind is called so\n");
        return 64;
    }
    return _cmocka_run_group_tests("interop", tests, count, NULL, NULL);
}
