/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const PROFILES[SIM_PROFILES] = { "calm", "mixed", "hostile" };

const char *sim_profile_name(enum sim_profile profile)
{
    return PROFILES[profile];
}

static bool wrong(const char *word, const char *why)
{
    fprintf(stderr, "holdfast-sim: %s: %s; --help lists the options\n", word, why);
    return false;
}

static void help(void)
{
    puts("holdfast-sim: runs clients and servers under a virtual clock, with faults drawn from a "
         "seed\n"
         "\n"
         "  --seed N            the run, or the first of a campaign (1)\n"
         "  --profile NAME      calm, mixed or hostile (of a campaign: all in turns)\n"
         "  --store NAME        redis or library (drawn)\n"
         "  --ops N             lock operations of a run, at most (3000)\n"
         "  --seconds N         simulated seconds of a run, at most (drawn)\n"
         "  --processes N, --threads N, --servers N   instead of what is drawn\n"
         "  --trace             a line for all that happens\n"
         "  --without N,N,…     leaves faults out, by their numbers\n"
         "  --strict            faults outside the contract excuse nothing\n"
         "  --mutant NAME       with a seeded bug (holdfast-sim-mutants)\n"
         "\n"
         "  --seeds N           a campaign of so many runs\n"
         "  --total-ops N       a campaign of so many operations\n"
         "  --least-ops N       fails when there were fewer\n"
         "  --jobs N            in so many processes (1)\n"
         "  --coverage          fails when a move or a fault was never seen\n"
         "  --mutants           runs the table of seeded bugs (holdfast-sim-mutants)\n"
         "  --shrink            leaves faults out of a run that fails (of a campaign: the first), "
         "as\n"
         "                      long as it still does\n"
         "  --keep FOLDER       writes runs that fail there\n"
         "  --replay FILE       runs a kept one");
}

static bool read_number(const char *text, uint64_t *ret_number)
{
    char *end;

    *ret_number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

static bool read_without(struct sim_options *options, const char *text)
{
    char *end;

    for (; *text; text = *end == ',' ? end + 1 : end) {
        unsigned long fault = strtoul(text, &end, 10);

        if (end == text || fault >= SIM_FAULTS_MAX || (*end && *end != ','))
            return wrong(text, "is no list of faults");
        options->without[fault / 8] |= (uint8_t)(1u << fault % 8);
    }
    return true;
}

static bool read_profile(struct sim_options *options, const char *text)
{
    for (int i = 0; i < SIM_PROFILES; i++) {
        if (strcmp(text, PROFILES[i]) != 0)
            continue;
        options->profile = (enum sim_profile)i;
        options->one_profile = true;
        return true;
    }
    return wrong(text, "is no profile");
}

static bool read_store(struct sim_options *options, const char *text)
{
    if (strcmp(text, "redis") != 0 && strcmp(text, "library") != 0)
        return wrong(text, "is no store of the simulator's");
    options->store = text[0] == 'r' ? SIM_STORE_REDIS : SIM_STORE_LIBRARY;
    return true;
}

/* Words that stand alone. */
static bool read_flag(struct sim_options *options, const char *name)
{
    const struct {
        const char *name;
        bool *flag;
    } FLAGS[] = {
        { "trace", &options->trace },     { "strict", &options->strict },
        { "shrink", &options->shrink },   { "coverage", &options->coverage },
        { "mutants", &options->mutants },
    };

    for (size_t i = 0; i < sizeof FLAGS / sizeof FLAGS[0]; i++) {
        if (strcmp(name, FLAGS[i].name) != 0)
            continue;
        *FLAGS[i].flag = true;
        return true;
    }
    return false;
}

static bool read_count(struct sim_options *options, const char *name, const char *value)
{
    const struct {
        const char *name;
        uint64_t *wide;
        unsigned *narrow;
        uint64_t most;
    } COUNTS[] = {
        { "seed", &options->seed, NULL, UINT64_MAX },
        { "ops", &options->ops, NULL, UINT64_MAX },
        { "seeds", &options->seeds, NULL, UINT64_MAX },
        { "total-ops", &options->total_ops, NULL, UINT64_MAX },
        { "least-ops", &options->least_ops, NULL, UINT64_MAX },
        { "seconds", NULL, &options->seconds, 100000 },
        { "processes", NULL, &options->processes, 64 },
        { "threads", NULL, &options->threads, 8 },
        { "servers", NULL, &options->servers, 7 },
        { "jobs", NULL, &options->jobs, 64 },
    };
    uint64_t number;

    for (size_t i = 0; i < sizeof COUNTS / sizeof COUNTS[0]; i++) {
        if (strcmp(name, COUNTS[i].name) != 0)
            continue;
        if (!read_number(value, &number) || number > COUNTS[i].most)
            return wrong(value, "is no number that is possible here");
        if (COUNTS[i].wide)
            *COUNTS[i].wide = number;
        if (COUNTS[i].narrow)
            *COUNTS[i].narrow = (unsigned)number;
        return true;
    }
    return wrong(name, "is not known");
}

static bool read_word(struct sim_options *options, const char *name, const char *value)
{
    if (strcmp(name, "profile") == 0)
        return read_profile(options, value);
    if (strcmp(name, "store") == 0)
        return read_store(options, value);
    if (strcmp(name, "without") == 0)
        return read_without(options, value);
    if (strcmp(name, "mutant") == 0)
        options->mutant = value;
    else if (strcmp(name, "keep") == 0)
        options->keep = value;
    else if (strcmp(name, "replay") == 0)
        options->replay = value;
    else
        return read_count(options, name, value);
    return true;
}

bool sim_options_read(struct sim_options *options, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i] + 2;

        if (strncmp(argv[i], "--", 2) != 0)
            return wrong(argv[i], "is not an option");
        if (strcmp(name, "help") == 0) {
            help();
            exit(0);
        }
        if (read_flag(options, name))
            continue;
        if (i + 1 == argc)
            return wrong(argv[i], "lacks its value");
        if (!read_word(options, name, argv[++i]))
            return false;
    }
    return true;
}

bool sim_options_load(struct sim_options *options, const char *path)
{
    FILE *file = fopen(path, "re");
    static char value[4096];
    char line[4096], name[32];
    bool fine = true;

    if (!file)
        return wrong(path, "cannot be read");
    while (fine && fgets(line, sizeof line, file)) {
        int words = sscanf(line, "%31s %4095s", name, value);

        if (words < 1 || name[0] == '#')
            continue;
        fine = words == 1 ? read_flag(options, name) : read_word(options, name, value);
    }
    fclose(file);
    return fine;
}

void sim_options_write(const struct sim_options *options, struct sim_text *text)
{
    const char *comma = " --without ";

    sim_text_format(text, "--seed %llu --profile %s", (unsigned long long)options->seed,
                    PROFILES[options->profile]);
    if (options->store)
        sim_text_format(text, " --store %s",
                        options->store == SIM_STORE_REDIS ? "redis" : "library");
    if (options->ops)
        sim_text_format(text, " --ops %llu", (unsigned long long)options->ops);
    if (options->seconds)
        sim_text_format(text, " --seconds %u", options->seconds);
    if (options->processes)
        sim_text_format(text, " --processes %u", options->processes);
    if (options->threads)
        sim_text_format(text, " --threads %u", options->threads);
    if (options->servers)
        sim_text_format(text, " --servers %u", options->servers);
    if (options->strict)
        sim_text_say(text, " --strict");
    if (options->mutant)
        sim_text_format(text, " --mutant %s", options->mutant);
    for (unsigned i = 0; i < SIM_FAULTS_MAX; i++) {
        if (!sim_is_without(options, i))
            continue;
        sim_text_format(text, "%s%u", comma, i);
        comma = ",";
    }
}
