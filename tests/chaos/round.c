/* SPDX-License-Identifier: Apache-2.0 */
/* One round: a store, workers, faults in turns with calm, an end in order, and the checker. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/round.h"

#define STORM_MS    11000
#define CALM_MS     8000 /* longer than the consequences of a fault */
#define STRETCH     3    /* times as long, if there was not enough */
#define PROGRESS_MS 10000

static volatile sig_atomic_t interrupted;
static struct round round_; /* of the process: what is left of it is cleared away at its exit */

/* ------------------------------------------------------------------------------------------------
 * How long
 */

static int seconds_of(const struct round_options *options)
{
    return options->seconds ? options->seconds : options->scenario->seconds;
}

size_t round_least(const struct round *round, size_t in_scenario)
{
    return in_scenario * (size_t)seconds_of(round->options) / (size_t)round->scenario->seconds /
           (TEST_SANITIZED ? 5 : 1);
}

size_t round_unseen(const struct round *round)
{
    bool is_whole = seconds_of(round->options) >= round->scenario->seconds;

    return round->scenario->is_calm || !is_whole ? 0 : storm_unseen(&round->storm);
}

/* As far as is known without the checker. */
static bool is_enough(const struct round *round)
{
    const struct scenario *s = round->scenario;
    struct chaos_shared *shared = round->crew.shared;

    return atomic_load(&shared->operations) >= round_least(round, s->operations) &&
           atomic_load(&shared->losses) >= round_least(round, s->losses) &&
           storm_total(&round->storm) >= round_least(round, s->faults) && !round_unseen(round);
}

static bool is_over(const struct round *round, int64_t ran_ms)
{
    int64_t least_ms = 1000 * (int64_t)seconds_of(round->options);

    if (round->crew.is_bad || interrupted)
        return true;
    if (ran_ms < least_ms)
        return false;
    return round->options->broken || ran_ms >= STRETCH * least_ms || is_enough(round);
}

static void print_progress(const struct round *round, int64_t ran_ms)
{
    struct chaos_shared *shared = round->crew.shared;

    printf("  %3d s: %lu operations, %lu losses, %zu faults\n", (int)(ran_ms / 1000),
           atomic_load(&shared->operations), atomic_load(&shared->losses),
           storm_total(&round->storm));
    fflush(stdout);
}

static void run(struct round *round)
{
    int64_t begin = now_ms(), print_ms = PROGRESS_MS;
    bool was_calm = false;

    for (int64_t ran = 0; !is_over(round, ran); ran = now_ms() - begin) {
        bool is_calm = ran % (STORM_MS + CALM_MS) >= STORM_MS;

        crew_tend(&round->crew);
        if (round->scenario->is_calm && !round->has_server)
            storm_step_calm(&round->storm);
        else if (!round->scenario->is_calm && !is_calm)
            storm_step(&round->storm);
        else if (is_calm && !was_calm)
            storm_end(&round->storm);
        was_calm = is_calm;
        if (ran >= print_ms && !round->options->broken) {
            print_progress(round, ran);
            print_ms += PROGRESS_MS;
        }
        nap_ms(3);
    }
}

/* ------------------------------------------------------------------------------------------------
 * From outside
 */

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

bool round_is_interrupted(void)
{
    return interrupted != 0;
}

static void clear_away(void)
{
    round_clear_away(&round_);
}

static void prepare_process(void)
{
    static bool done;
    struct sigaction on = { .sa_handler = on_signal };

    if (done)
        return;
    done = true;
    atexit(clear_away);
    sigaction(SIGINT, &on, NULL);
    sigaction(SIGTERM, &on, NULL);
    sigaction(SIGHUP, &on, NULL);
}

static bool can_run(const struct round_options *options)
{
    const char *server = options->scenario->server;

    if (!server || server_exists(server))
        return true;
    printf("chaos %s: skipped, there is no %s\n", options->scenario->name, server);
    return false;
}

enum round_verdict round_run(const struct round_options *options, struct check_counts *ret_counts,
                             size_t *ret_faults)
{
    struct round *round = &round_;
    bool good;

    if (!can_run(options))
        return ROUND_NO_SERVER;
    memset(round, 0, sizeof *round);
    round->options = options;
    round->scenario = options->scenario;
    prepare_process();
    if (!options->broken)
        printf("chaos %s --seed %" PRIu64 " --seconds %d\n", options->scenario->name, options->seed,
               seconds_of(options));
    fflush(stdout);
    if (!round_start(round)) {
        printf("the round could not be started: %s\n", strerror(errno));
        clear_away();
        return ROUND_NOT_RUN;
    }
    run(round);
    round_finish(round, !interrupted);
    if (interrupted) {
        clear_away();
        return ROUND_NOT_RUN;
    }
    good = round_judge(round, ret_counts);
    *ret_faults = storm_total(&round->storm);
    clear_away();
    return good ? ROUND_GOOD : ROUND_BAD;
}
