/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast run NAME -- true` against `flock FILE true`, in turns, from start to end of the
 * process. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#define BLOCK 12 /* runs a round */

static double run_once(char *const *argv)
{
    uint64_t start = bench_now();
    int code = bench_wait(bench_spawn(argv, false));

    if (code != 0)
        bench_die("%s ended with %d", argv[0], code);
    return (double)(bench_now() - start) / 1e6;
}

static void measure(const struct bench *bench, char *const *mine, char *const *other,
                    const struct bench_result *result, const char *baseline)
{
    size_t rounds = bench->quick ? 5 : 25;
    struct bench_rounds measured = { 0 };

    run_once(mine);
    run_once(other);
    for (size_t i = 0; i < rounds; i++) {
        double left[BLOCK], right[BLOCK];

        for (size_t k = 0; k < BLOCK; k++) {
            left[k] = run_once(mine);
            right[k] = run_once(other);
        }
        bench_rounds_add(&measured, bench_median(left, BLOCK), bench_median(right, BLOCK));
    }
    bench_report_difference(bench, result, &measured, "ms", baseline, NULL);
}

void bench_command(const struct bench *bench)
{
    char store[512], file[512];
    char *command = (char *)bench->command;
    char *mine[] = { command, "run", "--store", store, "bench", "--", "true", NULL };
    char *start[] = { command, "version", NULL };
    char *flock[] = { "flock", file, "true", NULL };

    snprintf(store, sizeof store, "sqlite:%s/command.db", bench->folder);
    snprintf(file, sizeof file, "%s/flock", bench->folder);
    measure(bench, mine, flock,
            &(struct bench_result){ .row = "command",
                                    .what = "holdfast run NAME -- true, embedded store: more",
                                    .sense = BENCH_AT_MOST,
                                    .target = 5 },
            "flock FILE true");
    measure(bench, start, flock,
            &(struct bench_result){ .row = "command",
                                    .what = "of that: holdfast version, which takes no lock" },
            "flock FILE true");
}
