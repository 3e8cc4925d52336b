/* SPDX-License-Identifier: Apache-2.0 */
/* One round: a store, workers, faults in turns with calm, an end in order, and the checker. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/round.h"

#define MEMORY      (UINT64_C(512) << 20)
#define RECORDS     2000000 /* a file with holes: what is not written takes no room */
#define STORM_MS    11000
#define CALM_MS     8000 /* longer than the consequences of a fault */
#define STRETCH     3    /* times as long, if there was not enough */
#define PROGRESS_MS 10000

static volatile sig_atomic_t interrupted;
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
    hist_log_close(round->crew.log);
    round->crew.log = NULL;
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
    shared->server_port = round->server.port;
    round->crew.server = &round->server;
    for (int slot = 0; slot < CHAOS_SLOTS; slot++) {
        proxy_start(&round->crew.member[slot].proxy, round->server.port);
        proxy_uri(&round->crew.member[slot].proxy, shared->uri[slot], sizeof shared->uri[slot]);
    }
    round->has_proxies = true;
}

/* In memory where there is enough of it: this is not about disks, and a busy one stops processes for seconds. */
static bool make_folder(struct round *round)
{
    struct statvfs memory;

    round->in_memory = statvfs("/dev/shm", &memory) == 0 && access("/dev/shm", W_OK) == 0 &&
                       (uint64_t)memory.f_bavail * memory.f_frsize >= MEMORY;
    snprintf(round->folder, sizeof round->folder, "%s/holdfast-chaos-XXXXXX",
             round->in_memory ? "/dev/shm" : "/tmp");
    if (mkdtemp(round->folder))
        return true;
    round->folder[0] = '\0';
    return false;
}

static bool start(struct round *round)
{
    struct crew *crew = &round->crew;
    struct chaos_shared *shared;

    if (!make_folder(round))
        return false;
    snprintf(crew->log_path, sizeof crew->log_path, "%s/log", round->folder);
    crew->log = hist_log_create(crew->log_path, RECORDS, sizeof *shared);
    if (!crew->log)
        return false;
    shared = crew->shared = hist_log_data(crew->log);
    shared->seed = round->options->seed;
    shared->deeds = round->scenario->deeds;
    shared->broken = round->options->broken;
    shared->runner = getpid();
    shared->op_timeout_ms = CHAOS_OP_MS;
    shared->connect_timeout_ms = CHAOS_CONNECT_MS;
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
    /* servers write to the disk, and do not wait for it */
    noise_start(&round->noise, crew->log, round->has_server ? "/tmp" : round->folder,
                !round->has_server && !round->in_memory);
    return true;
}

static void finish(struct round *round)
{
    storm_end(&round->storm);
    round->is_stuck = !interrupted && !crew_finish(&round->crew);
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
    return ran_ms >= STRETCH * least_ms || (ran_ms >= least_ms && is_enough(round));
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
    if (!start(round)) {
        printf("the round could not be started: %s\n", strerror(errno));
        clear_away();
        return ROUND_NOT_RUN;
    }
    run(round);
    finish(round);
    if (interrupted) {
        clear_away();
        return ROUND_NOT_RUN;
    }
    good = round_judge(round, ret_counts);
    *ret_faults = storm_total(&round->storm);
    clear_away();
    return good ? ROUND_GOOD : ROUND_BAD;
}
