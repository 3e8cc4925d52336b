/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast-sim: docs/internals/simulation.md. Exit codes: 0 fine, 1 an invariant did not hold, 2 usage. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "campaign.h"
#include "fault.h"
#include "mutants.h"
#include "redis.h"
#include "sim_commit.h"

static void on_abort(int number)
{
    static const char HEAD[] = "holdfast-sim: aborted in ";
    ssize_t ignored = write(STDERR_FILENO, HEAD, sizeof HEAD - 1);

    ignored += write(STDERR_FILENO, sim_current_run, strlen(sim_current_run));
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* Of the processor: others may use the machine, too. */
static double seconds_worked(void)
{
    struct rusage self, jobs;

    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &jobs);
    return seconds_of(&self.ru_utime) + seconds_of(&self.ru_stime) + seconds_of(&jobs.ru_utime) +
           seconds_of(&jobs.ru_stime);
}

static void print_counts(const struct sim_counts *count)
{
    printf(
        "  %llu operations: %llu acquired (%llu of them passed on, %llu entered again), %llu busy, "
        "%llu unsure, %llu cancelled, %llu failed otherwise; %llu times several as one\n",
        (unsigned long long)count->ops, (unsigned long long)count->acquired,
        (unsigned long long)count->passed, (unsigned long long)count->reentered,
        (unsigned long long)count->busy, (unsigned long long)count->unsure,
        (unsigned long long)count->cancelled, (unsigned long long)count->failed,
        (unsigned long long)count->several);
    printf(
        "  %llu losses told, %llu faults; %llu writes at fenced resources, %llu of them refused; "
        "without a fence %llu would have been mixed\n",
        (unsigned long long)count->lost, (unsigned long long)count->faults,
        (unsigned long long)count->writes, (unsigned long long)count->refused_writes,
        (unsigned long long)count->mixed_writes);
}

/* ------------------------------------------------------------------------------------------------
 * One run
 */

/* The words of a run, one option a line, below what it came to. A seeded bug is named in the head alone: the
 * run without it is what must be fine. */
static void write_kept(FILE *file, struct sim_options *options, const struct sim *sim)
{
    const char *mutant = options->mutant;
    struct sim_text text = { 0 };

    fprintf(file, "# %s: %s\n", sim->world.invariant, sim->world.failure);
    if (mutant)
        fprintf(file, "# bug %s\n", mutant);
    options->mutant = NULL;
    sim_options_write(options, &text);
    options->mutant = mutant;
    for (char *at = text.at, *word; (word = strsep(&at, " "));)
        fprintf(file, "%s%s", strncmp(word, "--", 2) ? word : word + 2,
                at && strncmp(at, "--", 2) ? " " : "\n");
    sim_text_free(&text);
}

static void keep(struct sim_options *options, const struct sim *sim)
{
    char path[512];
    FILE *file;

    if (options->mutant)
        snprintf(path, sizeof path, "%s/%s.seed", options->keep, options->mutant);
    else
        snprintf(path, sizeof path, "%s/%s-%llu.seed", options->keep, sim->world.invariant,
                 (unsigned long long)options->seed);
    file = fopen(path, "we");
    if (!file) {
        fprintf(stderr, "holdfast-sim: %s cannot be written\n", path);
        return;
    }
    write_kept(file, options, sim);
    fclose(file);
    printf("kept as %s\n", path);
}

static void describe(const struct sim_options *options, const struct sim *sim)
{
    struct sim_text text = { 0 };

    sim_options_write(options, &text);
    printf("holdfast-sim %s at %s\n", text.at, SIM_COMMIT);
    text.len = 0;
    sim_plan_write(&sim->plan, &text);
    printf("  %s\n  %.3f simulated seconds, %llu steps, hash %016llx\n", text.at,
           (double)sim->world.now / 1e9, (unsigned long long)sim->world.steps,
           (unsigned long long)sim->world.hash);
    sim_text_free(&text);
}

/* With fewer faults it is easier to understand. */
static void make_smaller(struct sim *sim, struct sim_options *options, const char *invariant)
{
    struct sim_tally tally = { 0 };

    sim_shrink(sim, options, invariant);
    sim_one(sim, options, &tally);
    printf("with fewer faults:\n");
    describe(options, sim);
    printf("FAILED %s: %s\n", sim->world.invariant, sim->world.failure);
    sim_faults_write(sim, stdout);
    if (options->keep)
        keep(options, sim);
    sim_fini(sim);
}

static int run_one(struct sim_options *options)
{
    struct sim *sim = sim_alloc(sizeof *sim);
    struct sim_tally tally = { 0 };
    bool fine = sim_one(sim, options, &tally);

    describe(options, sim);
    print_counts(&sim->count);
    if (!fine) {
        printf("FAILED %s: %s\n", sim->world.invariant, sim->world.failure);
        sim_faults_write(sim, stdout);
    }
    sim_fini(sim);
    if (!fine && options->shrink)
        make_smaller(sim, options, tally.invariant);
    free(sim);
    return fine ? 0 : 1;
}

/* ------------------------------------------------------------------------------------------------
 * Many
 */

/* The first run of a campaign that failed. */
static void look_at_first(const struct sim_options *options, const struct sim_tally *tally)
{
    struct sim *sim = sim_alloc(sizeof *sim);
    struct sim_options first = *options;

    first.seed = tally->seed;
    first.profile = tally->profile;
    make_smaller(sim, &first, tally->invariant);
    free(sim);
}

static int run_many(const struct sim_options *options)
{
    struct sim_tally tally = { 0 };
    struct timespec start;
    double took, worked;
    bool fine;

    clock_gettime(CLOCK_MONOTONIC, &start);
    sim_campaign(options, options->mutant, &tally);
    took = seconds_since(&start);
    worked = seconds_worked();
    fine = tally.failed == 0;
    printf("%llu runs from seed %llu at %s: %llu failed\n", (unsigned long long)tally.runs,
           (unsigned long long)options->seed, SIM_COMMIT, (unsigned long long)tally.failed);
    print_counts(&tally.count);
    printf("  %.1f s, %.1f s of the processor: %.0f operations a second and core\n", took, worked,
           (double)tally.count.ops / worked);
    if (options->coverage && !sim_coverage_print(&tally.coverage, stdout)) {
        printf("FAILED coverage: something was never seen\n");
        fine = false;
    }
    if (tally.count.ops < options->least_ops) {
        printf("FAILED operations: %llu were asked for\n", (unsigned long long)options->least_ops);
        fine = false;
    }
    if (tally.failed && options->shrink && strcmp(tally.invariant, "died") != 0)
        look_at_first(options, &tally);
    return fine ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct sim_options options = { .seed = 1, .profile = SIM_MIXED };
    int code;

    if (!sim_options_read(&options, argc, argv))
        return 2;
    if (options.replay && !sim_options_load(&options, options.replay))
        return 2;
    if (options.mutant && !sim_mutant_turn_on(&options))
        return 2;
    sim_lua_rewrite = sim_mutant_script;
    signal(SIGABRT, on_abort);
    if (options.mutants)
        code = sim_mutants_run(&options) ? 0 : 1;
    else if (options.seeds || options.total_ops)
        code = run_many(&options);
    else
        code = run_one(&options);
    sim_lua_close();
    return code;
}
