/* SPDX-License-Identifier: Apache-2.0 */
/* One round: a store, workers, faults in turns with calm, an end in order, and the checker. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/chaos.h"
#include "chaos/noise.h"
#include "chaos/storm.h"
#include "history/check.h"

#define RECORDS      2000000 /* a file with holes: what is not written takes no room */
#define STORM_MS     11000
#define CALM_MS      4000
#define OP_MS        400
#define CONNECT_MS   400
#define LONGEST_TTL  3000
#define ALLOWANCE_MS (TEST_SANITIZED ? 5000 : 2000)
#define STEP_MS      5 /* of the wall clock: more cannot be told from a lease that is too long */

struct round {
    const struct round_options *options;
    const struct scenario *scenario;
    char folder[64];
    struct server server;
    bool has_server, has_proxies;
    struct crew crew;
    struct storm storm;
    struct noise noise;
    bool is_stuck; /* workers did not end */
};

static struct round round_; /* of the process: what is left of it is cleared away at its exit */

/* ------------------------------------------------------------------------------------------------
 * Beginning and end
 */

static void remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL) {
        char below[512];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        if (unlink(below) != 0)
            remove_folder(below);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

/* Children of workers that are no more: they end by themselves, soon. */
static void await_orphans(void)
{
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        ;
}

static void clear_away(void)
{
    struct round *round = &round_;

    crew_end(&round->crew);
    if (round->has_server)
        server_stop(&round->server);
    round->has_server = false;
    if (round->folder[0])
        remove_folder(round->folder);
    round->folder[0] = '\0';
}

static void start_store(struct round *round)
{
    struct chaos_shared *shared = round->crew.shared;

    if (!round->scenario->server) {
        for (int slot = 0; slot < CHAOS_SLOTS; slot++)
            snprintf(shared->uri[slot], sizeof shared->uri[slot], "sqlite:%s/store", round->folder);
        return;
    }
    round->server.program = round->scenario->server;
    /* what was answered is in the file, if not on the disk: the machine does not crash here */
    round->server.config = "appendonly yes\nappendfsync no\n";
    round->has_server = true;
    server_start(&round->server);
    round->crew.server = &round->server;
    for (int slot = 0; slot < CHAOS_SLOTS; slot++) {
        proxy_start(&round->crew.member[slot].proxy, round->server.port);
        proxy_uri(&round->crew.member[slot].proxy, shared->uri[slot], sizeof shared->uri[slot]);
    }
    round->has_proxies = true;
}

static bool start(struct round *round)
{
    struct crew *crew = &round->crew;
    struct chaos_shared *shared;

    strcpy(round->folder, "/tmp/holdfast-chaos-XXXXXX");
    if (!mkdtemp(round->folder)) {
        round->folder[0] = '\0';
        return false;
    }
    snprintf(crew->log_path, sizeof crew->log_path, "%s/log", round->folder);
    crew->log = hist_log_create(crew->log_path, RECORDS, sizeof *shared);
    if (!crew->log)
        return false;
    shared = crew->shared = hist_log_data(crew->log);
    shared->seed = round->options->seed;
    shared->deeds = round->scenario->deeds;
    shared->op_timeout_ms = OP_MS;
    shared->connect_timeout_ms = CONNECT_MS;
    shared->poll_ms = round->scenario->poll_ms;
    if (round->options->trace) {
        strcpy(shared->traces, "/tmp/holdfast-traces-XXXXXX");
        if (!mkdtemp(shared->traces))
            return false;
        printf("traces are in %s\n", shared->traces);
    }
    crew->random = (uint32_t)round->options->seed * 7919u + 3;
    start_store(round);
    crew_init(crew);
    round->storm.crew = crew;
    round->storm.server = round->has_server ? &round->server : NULL;
    round->storm.forgets = round->scenario->forgets;
    storm_init(&round->storm, (uint32_t)round->options->seed * 2654435761u);
    noise_start(&round->noise, crew->log);
    return true;
}

static void finish(struct round *round)
{
    storm_end(&round->storm);
    round->is_stuck = !crew_finish(&round->crew);
    noise_stop(&round->noise);
    crew_end(&round->crew);
    if (round->has_proxies)
        for (int slot = 0; slot < CHAOS_SLOTS; slot++)
            proxy_stop(&round->crew.member[slot].proxy);
    if (round->has_server)
        server_stop(&round->server);
    round->has_server = false;
    await_orphans();
}

/* ------------------------------------------------------------------------------------------------
 * The course of a round
 */

static int seconds_of(const struct round_options *options)
{
    return options->seconds ? options->seconds : options->scenario->seconds;
}

static void run(struct round *round)
{
    int64_t begin = now_ms(), end = begin + 1000 * (int64_t)seconds_of(round->options);
    bool was_calm = false;

    while (now_ms() < end && !round->crew.is_bad) {
        bool is_calm = (now_ms() - begin) % (STORM_MS + CALM_MS) >= STORM_MS;

        crew_tend(&round->crew);
        if (round->scenario->is_calm && !round->has_server)
            storm_step_calm(&round->storm);
        else if (!round->scenario->is_calm && !is_calm)
            storm_step(&round->storm);
        else if (is_calm && !was_calm)
            storm_end(&round->storm);
        was_calm = is_calm;
        nap_ms(3);
    }
}

/* ------------------------------------------------------------------------------------------------
 * What came of it
 */

static void set_settings(const struct round *round, struct history *history)
{
    const struct scenario *scenario = round->scenario;

    history->settings = (struct hist_settings){
        .death_frees = scenario->server == NULL,
        .contract_broken = scenario->forgets,
        .busy_strict = scenario->busy_strict,
        .wake_ms = (uint64_t)scenario->wake_ms,
        .op_timeout_ms = OP_MS,
        .connect_timeout_ms = CONNECT_MS,
        .ttl_ms = LONGEST_TTL,
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

static bool check_file(const char *path, struct check_counts *counts)
{
    struct check_options options = { .out = stdout, .model = &LIN_FENCED };
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

static bool enough(const char *what, size_t got, size_t wanted)
{
    if (got >= wanted)
        return true;
    printf("too few %s: %zu, and %zu are expected\n", what, got, wanted);
    return false;
}

/* What must have happened is for the scenario's time. A sanitizer makes everything slower. */
static bool was_enough(const struct round *round, const struct check_counts *counts)
{
    const struct scenario *s = round->scenario;
    size_t part = (size_t)seconds_of(round->options),
           of = (size_t)s->seconds * (TEST_SANITIZED ? 5 : 1);
    bool good = true;

    good &= enough("operations", counts->operations, s->operations * part / of);
    good &= enough("hand-offs between processes", counts->handoffs, s->handoffs * part / of);
    good &= enough("expired leases", counts->expired, s->expired * part / of);
    good &= enough("losses", counts->lost, s->lost * part / of);
    good &= enough("faults", storm_total(&round->storm), s->faults * part / of);
    return good;
}

static bool judge(struct round *round)
{
    const struct noise *noise = &round->noise;
    struct check_counts counts = { 0 };
    char path[128], kept[64];
    bool good = write_history(round, path, sizeof path) && check_file(path, &counts);

    check_print_counts(&counts, stdout);
    storm_print(&round->storm, stdout);
    printf("this machine did not run a thread %zu times, for %.0f ms together, %.0f at the most\n",
           noise->stalls, check_ms(noise->stalled_ns), check_ms(noise->longest_ns));
    good &= was_enough(round, &counts);
    good &= !round->is_stuck && !round->crew.is_bad;
    if (atomic_load(&round->crew.shared->fouls)) {
        printf("%u things that must not be: see above\n", atomic_load(&round->crew.shared->fouls));
        good = false;
    }
    good &= enough("records", hist_log_missed(round->crew.log) == 0, 1);
    if (!good || round->options->keep) {
        snprintf(kept, sizeof kept, "/tmp/holdfast-history-%s-%" PRIu64, round->scenario->name,
                 round->options->seed);
        if (rename(path, kept) == 0)
            printf("the history is in %s\n", kept);
    }
    return good;
}

int round_run(const struct round_options *options)
{
    struct round *round = &round_;
    bool good;

    if (options->scenario->server && !server_exists(options->scenario->server)) {
        printf("skipped: there is no %s\n", options->scenario->server);
        return 77;
    }
    memset(round, 0, sizeof *round);
    round->options = options;
    round->scenario = options->scenario;
    printf("chaos %s --seed %" PRIu64 " --seconds %d\n", options->scenario->name, options->seed,
           seconds_of(options));
    fflush(stdout);
    atexit(clear_away);
    if (!start(round)) {
        printf("the round could not be started: %s\n", strerror(errno));
        return 2;
    }
    run(round);
    finish(round);
    good = judge(round);
    if (!good && llabs(round->noise.clock_step_ms) > STEP_MS)
        printf("somebody has set this machine's clock by %lld ms meanwhile: servers count by it\n",
               (long long)round->noise.clock_step_ms);
    hist_log_close(round->crew.log);
    clear_away();
    return good ? 0 : 1;
}
