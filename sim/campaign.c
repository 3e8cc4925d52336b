/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void sim_counts_add(struct sim_counts *to, const struct sim_counts *from)
{
    const uint64_t *more = (const uint64_t *)from;
    uint64_t *sum = (uint64_t *)to;

    for (size_t i = 0; i < sizeof *to / sizeof *sum; i++)
        sum[i] += more[i];
}

char sim_current_run[512];

static void note_run(const struct sim_options *options)
{
    struct sim_text text = { 0 };

    sim_options_write(options, &text);
    snprintf(sim_current_run, sizeof sim_current_run, "%s\n", text.at);
    sim_text_free(&text);
}

bool sim_one(struct sim *sim, const struct sim_options *options, struct sim_tally *tally)
{
    bool fine;

    note_run(options);
    memset(&sim_coverage, 0, sizeof sim_coverage);
    fine = sim_run(sim, options);
    sim_counts_add(&tally->count, &sim->count);
    sim_coverage_add(&tally->coverage, &sim_coverage);
    tally->runs++;
    tally->steps += sim->world.steps;
    if (fine)
        return true;
    if (tally->failed++ == 0) {
        tally->seed = options->seed;
        tally->profile = options->profile;
        snprintf(tally->invariant, sizeof tally->invariant, "%s", sim->world.invariant);
        snprintf(tally->failure, sizeof tally->failure, "%s", sim->world.failure);
    }
    return false;
}

/* Calm runs are the cheaper ones to learn nothing from. */
enum sim_profile sim_profile_of(const struct sim_options *options, uint64_t seed)
{
    static const enum sim_profile TURNS[] = { SIM_CALM, SIM_MIXED, SIM_HOSTILE, SIM_MIXED,
                                              SIM_HOSTILE };

    return options->one_profile ? options->profile : TURNS[seed % 5];
}

static void say_failure(const struct sim *sim, const struct sim_options *options)
{
    struct sim_text text = { 0 };

    sim_options_write(options, &text);
    printf("FAILED %s\n  %s: %s\n", text.at, sim->world.invariant, sim->world.failure);
    fflush(stdout);
    sim_text_free(&text);
}

/* Every jobs-th seed. */
static void run_share(const struct sim_options *options, unsigned job, bool stop,
                      struct sim_tally *tally)
{
    struct sim *sim = sim_alloc(sizeof *sim);
    unsigned jobs = options->jobs ? options->jobs : 1;

    for (uint64_t i = job; options->seeds == 0 || i < options->seeds; i += jobs) {
        struct sim_options one = *options;
        bool fine;

        if (options->total_ops && tally->count.ops >= options->total_ops / jobs)
            break;
        one.seed = options->seed + i;
        one.profile = sim_profile_of(options, one.seed);
        fine = sim_one(sim, &one, tally);
        if (!fine && !options->mutant)
            say_failure(sim, &one);
        sim_fini(sim);
        if (!fine && stop)
            break;
    }
    free(sim);
}

static void add(struct sim_tally *to, const struct sim_tally *from)
{
    if (from->failed && (!to->failed || from->seed < to->seed)) {
        to->seed = from->seed;
        to->profile = from->profile;
        memcpy(to->invariant, from->invariant, sizeof to->invariant);
        memcpy(to->failure, from->failure, sizeof to->failure);
    }
    sim_counts_add(&to->count, &from->count);
    sim_coverage_add(&to->coverage, &from->coverage);
    to->runs += from->runs;
    to->failed += from->failed;
    to->steps += from->steps;
}

/* A process for each share; what came of it comes through a pipe. -1: it could not be started. */
static int start_job(const struct sim_options *options, unsigned job, bool stop)
{
    int ends[2];
    pid_t child;

    if (pipe(ends) != 0)
        return -1;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        struct sim_tally tally = { 0 };
        const char *at = (const char *)&tally;

        close(ends[0]);
        run_share(options, job, stop, &tally);
        for (size_t left = sizeof tally; left > 0;) {
            ssize_t n = write(ends[1], at, left);

            if (n <= 0)
                _exit(4);
            at += n;
            left -= (size_t)n;
        }
        fflush(stdout);
        _exit(0);
    }
    close(ends[1]);
    if (child < 0)
        close(ends[0]);
    return child < 0 ? -1 : ends[0];
}

static bool read_job(int fd, struct sim_tally *tally)
{
    size_t have = 0;
    ssize_t n = 1;

    while (have < sizeof *tally && n > 0) {
        n = read(fd, (char *)tally + have, sizeof *tally - have);
        if (n > 0)
            have += (size_t)n;
    }
    close(fd);
    return have == sizeof *tally;
}

void sim_campaign(const struct sim_options *options, bool stop, struct sim_tally *tally)
{
    int fds[64];

    if (options->jobs <= 1) {
        run_share(options, 0, stop, tally);
        return;
    }
    for (unsigned job = 0; job < options->jobs; job++)
        fds[job] = start_job(options, job, stop);
    for (unsigned job = 0; job < options->jobs; job++) {
        struct sim_tally part = { 0 };

        if (fds[job] >= 0 && read_job(fds[job], &part)) {
            add(tally, &part);
            continue;
        }
        part.failed = 1;
        snprintf(part.invariant, sizeof part.invariant, "died");
        snprintf(part.failure, sizeof part.failure, "job %u ended without a result", job);
        add(tally, &part);
    }
    while (wait(NULL) > 0)
        ;
}
