/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the arguments of `holdfast run`: its options, the lock's name, the command. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "holdfast/holdfast.h"

#define KILL_AFTER_DEFAULT_MS 10000

enum { STORE = 1, WAIT, TRY, TTL, MAX_HOLD, LABEL, ON_LOST, KILL_AFTER, BUSY_CODE, VERBOSE, HELP };

static const struct cli_option table[] = {
    { STORE, 0, true, "store" },
    { WAIT, 0, true, "wait" },
    { TRY, 'n', false, "try" },
    { TTL, 0, true, "ttl" },
    { MAX_HOLD, 0, true, "max-hold" },
    { LABEL, 0, true, "label" },
    { ON_LOST, 0, true, "on-lost" },
    { KILL_AFTER, 0, true, "kill-after" },
    { BUSY_CODE, 'E', true, "busy-code" },
    { VERBOSE, 'v', false, "verbose" },
    { HELP, 'h', false, "help" },
    { 0, 0, false, NULL },
};

const char hfi_cli_run_usage[] =
    "Usage: holdfast run [options] NAME [--] COMMAND [ARG...]\n"
    "Takes the lock NAME, runs the command, gives the lock back.\n"
    "\n"
    "  --store URI            the store: sqlite:PATH, redis://[user[:password]@]host[:port][/db],\n"
    "                         redis+unix:///path[?db=N]; else HOLDFAST_STORE; else the embedded "
    "store\n"
    "  --wait DURATION        how long to wait for the lock (default: for ever; 0: try once)\n"
    "  -n, --try              the same as --wait 0\n"
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

static bool duration_between(const struct cli_options *parser, int64_t least, int64_t most,
                             const char *range, int64_t *ret_ms)
{
    int64_t ms;

    if (!hfi_cli_option_duration(parser, &ms))
        return false;
    if (ms < least || ms > most) {
        hfi_cli_say("run: %s '%s' is not %s", parser->given, parser->value, range);
        return false;
    }
    *ret_ms = ms;
    return true;
}

static bool set_wait(struct cli_run_options *options, const struct cli_options *parser)
{
    if (!duration_between(parser, 0, HF_WAIT_MAX_MS, "at most 365 days", &options->wait_ms))
        return false;
    if (options->wait_ms == 0)
        options->wait_ms = HF_TRY_ONCE;
    return true;
}

static bool set_on_lost(struct cli_run_options *options, const struct cli_options *parser)
{
    static const char *const words[] = { "term", "kill", "ignore" };

    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(parser->value, words[i]) == 0) {
            options->on_lost = (enum cli_on_lost)i;
            return true;
        }
    }
    hfi_cli_say("run: %s '%s' is none of term, kill, ignore", parser->given, parser->value);
    return false;
}

static bool set_busy_code(struct cli_run_options *options, const struct cli_options *parser)
{
    int code = 0;

    for (const char *s = parser->value; *s; s++) {
        if (*s < '0' || *s > '9' || code > 255) {
            code = 256;
            break;
        }
        code = code * 10 + (*s - '0');
    }
    if (!*parser->value || code > 255) {
        hfi_cli_say("run: %s '%s' is not a number from 0 to 255", parser->given, parser->value);
        return false;
    }
    options->busy_code = code;
    return true;
}

static bool set_label(struct cli_run_options *options, const struct cli_options *parser)
{
    if (strlen(parser->value) > HF_LABEL_MAX) {
        hfi_cli_say("run: the label is longer than %d bytes", HF_LABEL_MAX);
        return false;
    }
    options->label = parser->value;
    return true;
}

static bool set(struct cli_run_options *options, int id, const struct cli_options *parser)
{
    switch (id) {
    case STORE:
        options->store = parser->value;
        return true;
    case WAIT:
        return set_wait(options, parser);
    case TRY:
        options->wait_ms = HF_TRY_ONCE;
        return true;
    case TTL:
        return duration_between(parser, HF_TTL_MIN_MS, HF_TTL_MAX_MS, "from 100ms to 24h",
                                &options->ttl_ms);
    case MAX_HOLD:
        return duration_between(parser, HF_TTL_MIN_MS, HF_WAIT_MAX_MS, "from 100ms to 365 days",
                                &options->max_hold_ms);
    case LABEL:
        return set_label(options, parser);
    case ON_LOST:
        return set_on_lost(options, parser);
    case KILL_AFTER:
        return duration_between(parser, 0, HF_WAIT_MAX_MS, "a time", &options->kill_after_ms);
    case BUSY_CODE:
        return set_busy_code(options, parser);
    case VERBOSE:
        options->verbose = true;
        return true;
    default:
        return false;
    }
}

int hfi_cli_run_parse(struct cli_run_options *options, int argc, char **argv)
{
    struct cli_options parser;
    int id;

    memset(options, 0, sizeof *options);
    options->wait_ms = HF_WAIT_FOREVER;
    options->ttl_ms = HF_TTL_DEFAULT_MS;
    options->kill_after_ms = KILL_AFTER_DEFAULT_MS;
    options->busy_code = CLI_EXIT_BUSY;
    hfi_cli_options_init(&parser, "run", table, argc, argv);
    while ((id = hfi_cli_options_next(&parser)) > 0) {
        if (id == HELP)
            return -1;
        if (!set(options, id, &parser))
            return CLI_EXIT_USAGE;
    }
    if (id == CLI_OPTIONS_WRONG)
        return CLI_EXIT_USAGE;
    if (parser.next >= argc)
        return hfi_cli_usage_error("run", "the lock's name is missing", NULL);
    options->name = argv[parser.next++];
    if (parser.next < argc && strcmp(argv[parser.next], "--") == 0)
        parser.next++;
    else if (parser.next < argc && argv[parser.next][0] == '-')
        return hfi_cli_usage_error("run",
                                   "options stand before the name, and -- before a command "
                                   "that begins with -, here",
                                   argv[parser.next]);
    if (parser.next >= argc)
        return hfi_cli_usage_error("run", "a command is missing behind the name", options->name);
    options->command = argv + parser.next;
    return CLI_EXIT_OK;
}
