/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments: a scenario to run; or, for its workers, the log and their place. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chaos/chaos.h"

static int usage(void)
{
    fputs("usage: chaos [--seed N] [--seconds N] [--keep] [--trace] SCENARIO\n"
          "Drives real processes against a real store, with faults, and checks what they saw. 0: "
          "nothing is wrong.\n"
          "Scenarios:",
          stderr);
    for (size_t i = 0; i < SCENARIO_COUNT; i++)
        fprintf(stderr, " %s", SCENARIOS[i].name);
    fputc('\n', stderr);
    return 2;
}

static const struct scenario *scenario_of(const char *name)
{
    for (size_t i = 0; i < SCENARIO_COUNT; i++)
        if (strcmp(SCENARIOS[i].name, name) == 0)
            return &SCENARIOS[i];
    return NULL;
}

int main(int argc, char **argv)
{
    struct round_options options = { .seed = (uint64_t)time(NULL) };
    int i = 1;

    if (argc == 4 && strcmp(argv[1], "--worker") == 0)
        return worker_main(argv[2], atoi(argv[3]));
    for (; i < argc && argv[i][0] == '-'; i++) {
        bool has_value = i + 1 < argc;

        if (strcmp(argv[i], "--seed") == 0 && has_value)
            options.seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seconds") == 0 && has_value)
            options.seconds = atoi(argv[++i]);
        else if (strcmp(argv[i], "--keep") == 0)
            options.keep = true;
        else if (strcmp(argv[i], "--trace") == 0)
            options.trace = true;
        else
            return usage();
    }
    options.scenario = i + 1 == argc ? scenario_of(argv[i]) : NULL;
    if (!options.scenario || options.seconds < 0)
        return usage();
    return round_run(&options);
}
