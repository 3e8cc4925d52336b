/* SPDX-License-Identifier: Apache-2.0 */
#include "mutants.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "campaign.h"

#define SEEDS_MOST   1500 /* a bug must be found in so many runs, */
#define SECONDS_MOST 60   /* and in this time of the processor: one can also make a run hang */
#define JOBS_MAX     8

struct mutant {
    const char *name, *kind, *what;
};

static const struct mutant MUTANTS[SIM_MUTANTS] = {
#define SIM_MUTANT(name, kind, what) [SIM_MUTANT_##name] = { #name, kind, what },
#include "mutants.inc"
#undef SIM_MUTANT
};

enum sim_mutant_id sim_mutant;

/* ------------------------------------------------------------------------------------------------
 * Turning one on
 */

static enum sim_mutant_id find(const char *name)
{
    for (int id = 1; id < SIM_MUTANTS; id++)
        if (strcmp(MUTANTS[id].name, name) == 0)
            return (enum sim_mutant_id)id;
    return SIM_MUTANT_NONE;
}

/* "env drift", or "env KIND" of fault. */
static void make_world_worse(struct sim_options *options, const char *what)
{
    options->strict = true;
    options->profile = SIM_HOSTILE;
    options->one_profile = true;
    options->store = SIM_STORE_REDIS;
    options->servers = 2;
    if (strcmp(what, "drift") == 0) {
        options->drift = true;
        options->only_fault = SIM_FAULT_STOP_PROCESS + 1;
        return;
    }
    for (int kind = 0; kind < SIM_FAULT_KINDS; kind++)
        if (strcmp(sim_fault_name((enum sim_fault_kind)kind), what) == 0)
            options->only_fault = kind + 1;
}

bool sim_mutant_turn_on(struct sim_options *options)
{
    enum sim_mutant_id id = find(options->mutant);
    const char *kind = MUTANTS[id].kind;

    if (id == SIM_MUTANT_NONE || (strcmp(kind, "product") == 0 && !sim_product_has_mutants)) {
        fprintf(stderr, "holdfast-sim: %s: this program has no such bug%s\n", options->mutant,
                id ? "; holdfast-sim-mutants has" : "");
        return false;
    }
    sim_mutant = id;
    if (strcmp(kind, "host library") == 0)
        options->store = SIM_STORE_LIBRARY;
    if (strncmp(kind, "env ", 4) == 0)
        make_world_worse(options, kind + 4);
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * Scripts
 */

struct script {
    enum sim_mutant_id id;
    const char *name, *old, *new;
};

static const struct script SCRIPTS[] = {
#define SIM_SCRIPT_MUTANT(name, script, old, new) { SIM_MUTANT_##name, script, old, new },
#include "mutant_scripts.inc"
#undef SIM_SCRIPT_MUTANT
};

static const char *name_of(const char *sha)
{
    static const struct {
        const char *name, *sha;
    } KNOWN[] = {
#define HFI_SCRIPT(name, sha, text, length) { #name, sha },
#include "redis_scripts.inc"
#undef HFI_SCRIPT
    };

    for (size_t i = 0; i < sizeof KNOWN / sizeof KNOWN[0]; i++)
        if (strcmp(KNOWN[i].sha, sha) == 0)
            return KNOWN[i].name;
    return "";
}

const char *sim_mutant_script(const char *sha, const char *text, size_t *len)
{
    static char changed[16384];

    for (size_t i = 0; i < sizeof SCRIPTS / sizeof SCRIPTS[0]; i++) {
        const struct script *script = &SCRIPTS[i];
        const char *at;

        if (script->id != sim_mutant || strcmp(script->name, name_of(sha)) != 0)
            continue;
        at = memmem(text, *len, script->old, strlen(script->old));
        *len = (size_t)snprintf(
            changed, sizeof changed, "%.*s%s%.*s", (int)(at - text), text, script->new,
            (int)(*len - (size_t)(at - text) - strlen(script->old)), at + strlen(script->old));
        return changed;
    }
    return text;
}

/* ------------------------------------------------------------------------------------------------
 * The table
 */

/* Written by the process that looks for a bug, read by the one that counts, also when the first dies. */
struct search {
    uint64_t runs;
    char invariant[16];
    bool ended;
};

static void search(const struct sim_options *options, enum sim_mutant_id id, struct search *search)
{
    struct sim_options one = *options;
    struct sim *sim = sim_alloc(sizeof *sim);

    one.mutant = MUTANTS[id].name;
    if (!sim_mutant_turn_on(&one))
        _exit(2);
    setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = SECONDS_MOST }, NULL);
    while (search->runs < SEEDS_MOST && !search->invariant[0]) {
        struct sim_tally tally = { 0 };

        one.seed = options->seed + search->runs++;
        one.profile = sim_profile_of(&one, one.seed);
        if (!sim_one(sim, &one, &tally))
            snprintf(search->invariant, sizeof search->invariant, "%s", tally.invariant);
        sim_fini(sim);
    }
    search->ended = true;
    _exit(0);
}

static void judge(struct search *search, int status)
{
    if (search->ended || search->invariant[0])
        return;
    if (WIFSIGNALED(status))
        snprintf(search->invariant, sizeof search->invariant, "%s",
                 WTERMSIG(status) == SIGABRT   ? "assert"
                 : WTERMSIG(status) == SIGPROF ? "hangs"
                                               : "crashes");
    else
        snprintf(search->invariant, sizeof search->invariant, "dies");
}

static bool print(enum sim_mutant_id id, const struct search *search)
{
    bool found = search->invariant[0];

    printf("| `%s` | %s | %s | %llu |\n", MUTANTS[id].name, MUTANTS[id].what,
           found ? search->invariant : "**not found**", (unsigned long long)search->runs);
    fflush(stdout);
    return found;
}

static pid_t start(const struct sim_options *options, enum sim_mutant_id id, struct search *one)
{
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        search(options, id, one);
    return child;
}

bool sim_mutants_run(const struct sim_options *options)
{
    unsigned jobs = options->jobs ? options->jobs : 1, running = 0, missed = 0;
    size_t size = SIM_MUTANTS * sizeof(struct search);
    struct search *all =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[SIM_MUTANTS] = { 0 };
    int status;

    if (all == MAP_FAILED)
        return false;
    for (int id = 1; id < SIM_MUTANTS || running > 0;) {
        if (id < SIM_MUTANTS && running < jobs) {
            pids[id] = start(options, (enum sim_mutant_id)id, &all[id]);
            running++;
            id++;
            continue;
        }
        pid_t ended = wait(&status);

        running--;
        for (int i = 1; i < SIM_MUTANTS; i++)
            if (pids[i] == ended)
                judge(&all[i], status);
    }
    printf("| bug | what | found by | after runs |\n|---|---|---|---|\n");
    for (int id = 1; id < SIM_MUTANTS; id++)
        missed += !print((enum sim_mutant_id)id, &all[id]);
    munmap(all, size);
    printf("\n%d seeded bugs, %u not found\n", SIM_MUTANTS - 1, missed);
    return missed == 0;
}
