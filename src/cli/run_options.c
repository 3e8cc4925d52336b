/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the arguments of `holdfast run` and `holdfast once`: options, names, the command. */
#include <string.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/run_options.h"

#define KILL_AFTER_DEFAULT_MS 10000

static const struct cli_option run_table[] = {
    { CLI_RUN_STORE, 0, true, "store" },       { CLI_RUN_WAIT, 0, true, "wait" },
    { CLI_RUN_TRY, 'n', false, "try" },        { CLI_RUN_SHARED, 0, false, "shared" },
    { CLI_RUN_FAIR, 0, false, "fair" },        { CLI_RUN_PERMITS, 0, true, "permits" },
    { CLI_RUN_AND, 0, true, "and" },           { CLI_RUN_TTL, 0, true, "ttl" },
    { CLI_RUN_MAX_HOLD, 0, true, "max-hold" }, { CLI_RUN_LABEL, 0, true, "label" },
    { CLI_RUN_ON_LOST, 0, true, "on-lost" },   { CLI_RUN_KILL_AFTER, 0, true, "kill-after" },
    { CLI_RUN_CODE, 'E', true, "busy-code" },  { CLI_RUN_VERBOSE, 'v', false, "verbose" },
    { CLI_RUN_HELP, 'h', false, "help" },      { 0, 0, false, NULL },
};

static const struct cli_option once_table[] = {
    { CLI_RUN_FOR, 0, true, "for" },           { CLI_RUN_STORE, 0, true, "store" },
    { CLI_RUN_WAIT, 0, true, "wait" },         { CLI_RUN_TTL, 0, true, "ttl" },
    { CLI_RUN_MAX_HOLD, 0, true, "max-hold" }, { CLI_RUN_LABEL, 0, true, "label" },
    { CLI_RUN_ON_LOST, 0, true, "on-lost" },   { CLI_RUN_KILL_AFTER, 0, true, "kill-after" },
    { CLI_RUN_CODE, 'E', true, "skip-code" },  { CLI_RUN_RETRY_FAILED, 0, false, "retry-failed" },
    { CLI_RUN_QUIET, 'q', false, "quiet" },    { CLI_RUN_VERBOSE, 'v', false, "verbose" },
    { CLI_RUN_HELP, 'h', false, "help" },      { 0, 0, false, NULL },
};

const char hfi_cli_run_usage[] =
    "Usage: holdfast run [options] NAME [--and NAME]... [--] COMMAND [ARG...]\n"
    "Takes the lock NAME, runs the command, gives the lock back.\n"
    "\n"
    "  --store URI            the store: sqlite:PATH, redis://[user[:password]@]host[:port][/db],\n"
    "                         redis+unix:///path[?db=N]; else HOLDFAST_STORE; else the embedded "
    "store\n"
    "  --wait DURATION        how long to wait for the lock (default: for ever; 0: try once)\n"
    "  -n, --try              the same as --wait 0\n"
    "  --shared               together with others that say --shared, and with nobody else\n"
    "  --fair                 first come, first served, among those of all hosts that say --fair\n"
    "  --permits N/M          N of the M permits of NAME: as many run at once as find permits.\n"
    "                         When NAME has no number of permits yet, it gets M\n"
    "  --and NAME             this lock too, all of them or none; may be repeated, to 64 names\n"
    "  --ttl DURATION         how long the lock outlives us if we die (default 30s; 100ms to "
    "24h);\n"
    "                         it is renewed every third of it\n"
    "  --max-hold DURATION    hold the lock for at most so long: TERM to the command --kill-after\n"
    "                         before, KILL then\n"
    "  --label TEXT           why, for people who look\n"
    "  --on-lost term|kill|ignore\n"
    "                         what becomes of the command when the lock is lost (default term)\n"
    "  --kill-after DURATION  time between TERM and KILL then (default 10s, at most a third of the "
    "ttl)\n"
    "  -E, --busy-code CODE   exit code when the lock is busy (default 75)\n"
    "  -v, --verbose          say when we wait, and when we have the lock\n"
    "  -h, --help             this text\n"
    "\n"
    "Durations: 250ms, 5s, 1.5m, 1h; a bare number is seconds.\n"
    "Exit: the command's own code, 128+N if signal N ended it; 75 busy; 76 the lock was lost;\n"
    "69 store; 64 usage; 126 not executable; 127 not found. More in holdfast(1).\n";

/* name[0] is kept free for the first name, which comes after an --and that stands in front of it. */
static void set_defaults(struct cli_run_options *options, bool once)
{
    memset(options, 0, sizeof *options);
    options->name_count = 1;
    options->wait_ms = once ? HF_TRY_ONCE : HF_WAIT_FOREVER;
    options->ttl_ms = HF_TTL_DEFAULT_MS;
    options->kill_after_ms = KILL_AFTER_DEFAULT_MS;
    options->busy_code = once ? CLI_EXIT_OK : CLI_EXIT_BUSY;
}

static bool is_and(const char *argument)
{
    return strcmp(argument, "--and") == 0 || strncmp(argument, "--and=", 6) == 0;
}

/* Behind the first name `--and NAME` is an option still, and nothing else is. */
static int parse_names(struct cli_run_options *options, struct cli_options *parser, bool once)
{
    if (parser->next >= parser->argc)
        return hfi_cli_usage_error(parser->command, "the lock's name is missing", NULL);
    options->name[0] = parser->argv[parser->next++];
    for (size_t i = 1; i < options->name_count; i++)
        if (strcmp(options->name[i], options->name[0]) == 0)
            return hfi_cli_usage_error(parser->command, "there twice is", options->name[0]);
    while (!once && parser->next < parser->argc && is_and(parser->argv[parser->next]))
        if (hfi_cli_options_next(parser) == CLI_OPTIONS_WRONG ||
            !hfi_cli_run_add_name(options, parser->command, parser->value))
            return CLI_EXIT_USAGE;
    return CLI_EXIT_OK;
}

static int parse_command(struct cli_run_options *options, const struct cli_options *parser)
{
    char **at = parser->argv + parser->next, **end = parser->argv + parser->argc;

    if (at < end && strcmp(*at, "--") == 0)
        at++;
    else if (at < end && **at == '-')
        return hfi_cli_usage_error(parser->command,
                                   "options stand before the name, and -- before a command "
                                   "that begins with -, here",
                                   *at);
    if (at >= end)
        return hfi_cli_usage_error(parser->command, "a command is missing behind the name",
                                   options->name[options->name_count - 1]);
    options->command = at;
    return CLI_EXIT_OK;
}

int hfi_cli_run_parse(struct cli_run_options *options, const char *command, int argc, char **argv)
{
    bool once = strcmp(command, "once") == 0;
    struct cli_options parser;
    int id, code;

    set_defaults(options, once);
    hfi_cli_options_init(&parser, command, once ? once_table : run_table, argc, argv);
    while ((id = hfi_cli_options_next(&parser)) > 0) {
        if (id == CLI_RUN_HELP)
            return -1;
        if (!hfi_cli_run_set(options, id, &parser))
            return CLI_EXIT_USAGE;
    }
    if (id == CLI_OPTIONS_WRONG)
        return CLI_EXIT_USAGE;
    if (once && options->for_ms == 0)
        return hfi_cli_usage_error(command, "--for DURATION is missing", NULL);
    code = parse_names(options, &parser, once);
    return code == CLI_EXIT_OK ? parse_command(options, &parser) : code;
}
