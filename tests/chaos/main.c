/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments: what is to be run; or, for the workers, the log and their place. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chaos/chaos.h"
#include "history/check.h"

static int usage(void)
{
    fputs(
        "usage: chaos [--seed N] [--seconds N] [--keep] [--trace] SCENARIO...\n"
        "       chaos [--seed N] all | broken | broken-quick\n"
        "Drives real processes against a real store, with faults, and checks what they saw. all: "
        "every scenario,\nuntil there was enough. broken: processes that are broken on purpose. 0: "
        "nothing is wrong.\nScenarios:",
        stderr);
    for (size_t i = 0; i < SCENARIO_COUNT; i++)
        fprintf(stderr, " %s", SCENARIOS[i].name);
    fputc('\n', stderr);
    return 2;
}

/* Some scenarios, one after the other; what is worst of them. Those that cannot be run are no fault, unless
 * there is no other. */
static int run_scenarios(struct round_options *options, int count, char **names)
{
    int result = ROUND_NO_SERVER;

    for (int i = 0; i < count; i++)
        if (!scenario_of(names[i]))
            return usage();
    for (int i = 0; i < count; i++) {
        struct check_counts counts = { 0 };
        size_t faults;
        enum round_verdict verdict;

        options->scenario = scenario_of(names[i]);
        verdict = round_run(options, &counts, &faults);
        if (verdict == ROUND_NO_SERVER)
            continue;
        if (verdict != ROUND_GOOD)
            return (int)verdict;
        result = ROUND_GOOD;
    }
    return result;
}

/* Returns how many arguments were options; -1: some are none. */
static int read_options(int argc, char **argv, struct round_options *options)
{
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        bool has_value = i + 1 < argc;

        if (strcmp(argv[i], "--seed") == 0 && has_value)
            options->seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seconds") == 0 && has_value)
            options->seconds = atoi(argv[++i]);
        else if (strcmp(argv[i], "--keep") == 0)
            options->keep = true;
        else if (strcmp(argv[i], "--trace") == 0)
            options->trace = true;
        else
            return -1;
    }
    return options->seconds < 0 ? -1 : i;
}

int main(int argc, char **argv)
{
    struct round_options options = { .seed = (uint64_t)time(NULL) };
    int i;

    if (argc == 4 && strcmp(argv[1], "--worker") == 0)
        return worker_main(argv[2], atoi(argv[3]));
    i = read_options(argc, argv, &options);
    if (i < 0 || i >= argc)
        return usage();
    if (i + 1 == argc && strcmp(argv[i], "all") == 0)
        return campaign_run(options.seed);
    if (i + 1 == argc && strncmp(argv[i], "broken", 6) == 0)
        return prove_run(options.seed, strcmp(argv[i], "broken-quick") == 0);
    return run_scenarios(&options, argc - i, argv + i);
}
