/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a round: its history is written to a file, and the file is checked, as hf-check would. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/round.h"

#define ALLOWANCE_MS (TEST_SANITIZED ? 5000 : 2000)
#define STEP_MS      5 /* of the wall clock: more cannot be told from a lease that is too long */

static void set_settings(const struct round *round, struct history *history)
{
    const struct scenario *scenario = round->scenario;

    history->settings = (struct hist_settings){
        .death_frees = scenario->server == NULL,
        .contract_broken = scenario->forgets,
        .busy_strict = scenario->busy_strict,
        .wake_ms = (uint64_t)scenario->wake_ms,
        .op_timeout_ms = CHAOS_OP_MS,
        .connect_timeout_ms = CHAOS_CONNECT_MS,
        .ttl_ms = CHAOS_LONGEST_TTL,
        .allowance_ms = ALLOWANCE_MS,
    };
}

/* The history as a file, so that what is checked can be kept, and is what hf-check would see. */
static bool write_history(struct round *round, char *path, size_t room)
{
    struct history history;
    FILE *file;

    snprintf(path, room, "%s/history", round->folder);
    file = fopen(path, "we");
    if (!file)
        return false;
    hist_init(&history);
    hist_log_collect(round->crew.log, &history);
    set_settings(round, &history);
    fprintf(file, "# scenario %s seed %" PRIu64 "\n", round->scenario->name, round->options->seed);
    hist_write_settings(&history, file);
    for (size_t i = 0; i < history.count; i++)
        hist_write_line(&history, &history.ops[i], file);
    hist_free(&history);
    return fclose(file) == 0;
}

static bool check_file(const struct round *round, const char *path, struct check_counts *counts)
{
    struct check_options options = { .out = round->options->broken ? NULL : stdout,
                                     .model = round->scenario->model };
    struct history history;
    char why[128];
    bool good = false;
    FILE *file = fopen(path, "re");

    if (!file)
        return false;
    hist_init(&history);
    if (hist_read(&history, file, why, sizeof why))
        good = check_history(&history, &options, counts);
    else
        printf("%s\n", why);
    hist_free(&history);
    fclose(file);
    return good;
}

/* ------------------------------------------------------------------------------------------------
 * What there was
 */

static bool enough(const char *what, size_t got, size_t wanted)
{
    if (got >= wanted)
        return true;
    printf("too few %s: %zu, and %zu are expected\n", what, got, wanted);
    return false;
}

static bool was_enough(const struct round *round, const struct check_counts *counts)
{
    const struct scenario *s = round->scenario;
    bool good = true;

    good &= enough("operations", counts->operations, round_least(round, s->operations));
    good &=
        enough("hand-offs between processes", counts->handoffs, round_least(round, s->handoffs));
    good &= enough("waiters woken", counts->woken, round_least(round, s->woken));
    good &= enough("expired leases", counts->expired, round_least(round, s->expired));
    good &= enough("losses", counts->lost, round_least(round, s->losses));
    good &= enough("faults", storm_total(&round->storm), round_least(round, s->faults));
    if (round_unseen(round))
        printf("%zu kinds of fault never happened\n", round_unseen(round));
    return good && !round_unseen(round);
}

static void print_round(const struct round *round, const struct check_counts *counts)
{
    const struct noise *noise = &round->noise;

    fputs("  ", stdout);
    check_print_counts(counts, stdout);
    storm_print(&round->storm, stdout);
    if (atomic_load(&noise->stalls))
        printf(
            "  this machine did not run a thread, or write, or let the server answer, %zu times, "
            "for %.0f ms together, %.0f at the most\n",
            atomic_load(&noise->stalls), check_ms(atomic_load(&noise->stalled_ns)),
            check_ms(atomic_load(&noise->longest_ns)));
    if (atomic_load(&noise->silences))
        printf("  the server was silent %zu times, for longer than is waited for an answer\n",
               atomic_load(&noise->silences));
}

/* What went wrong besides the history. */
static bool went_well(const struct round *round)
{
    unsigned fouls = atomic_load(&round->crew.shared->fouls);
    size_t missed = hist_log_missed(round->crew.log);

    if (fouls)
        printf("%u things that must not be: see above\n", fouls);
    if (missed)
        printf("the log was full: %zu lines are missing\n", missed);
    return !fouls && !missed && !round->is_stuck && !round->crew.is_bad;
}

/* What is in memory goes to the disk. */
static bool copy(const char *from, const char *to)
{
    char bytes[65536];
    size_t n;
    FILE *in = fopen(from, "re"), *out = fopen(to, "we");
    bool good = in && out;

    while (good && (n = fread(bytes, 1, sizeof bytes, in)) > 0)
        good = fwrite(bytes, 1, n, out) == n;
    if (in)
        fclose(in);
    return out && fclose(out) == 0 && good;
}

static void keep(const struct round *round, const char *path)
{
    char kept[128];

    snprintf(kept, sizeof kept, "/tmp/holdfast-history-%s-%" PRIu64, round->scenario->name,
             round->options->seed);
    if (copy(path, kept))
        printf("the history is in %s: check it again by\n  " HF_TEST_BIN
               "/hf-check --model %s %s\n",
               kept, round->scenario->model->name, kept);
}

bool round_judge(struct round *round, struct check_counts *ret_counts)
{
    char path[128];
    bool good = write_history(round, path, sizeof path) && check_file(round, path, ret_counts);

    if (round->options->broken)
        return good;
    print_round(round, ret_counts);
    good &= was_enough(round, ret_counts);
    good &= went_well(round);
    if (!good && llabs(round->noise.clock_step_ms) > STEP_MS)
        printf("somebody has set this machine's clock by %lld ms meanwhile: servers count by it\n",
               (long long)round->noise.clock_step_ms);
    if (!good || round->options->keep)
        keep(round, path);
    return good;
}
