/* SPDX-License-Identifier: Apache-2.0 */
/* The values of the options of `holdfast run` and `holdfast once`. */
#include <string.h>

#include "cli/message.h"
#include "cli/number.h"
#include "cli/options.h"
#include "cli/run_options.h"

static bool duration_between(const struct cli_options *parser, int64_t least, int64_t most,
                             const char *range, int64_t *ret_ms)
{
    int64_t ms;

    if (!hfi_cli_option_duration(parser, &ms))
        return false;
    if (ms < least || ms > most) {
        hfi_cli_say("%s: %s '%s' is not %s", parser->command, parser->given, parser->value, range);
        return false;
    }
    *ret_ms = ms;
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
    hfi_cli_say("%s: %s '%s' is none of term, kill, ignore", parser->command, parser->given,
                parser->value);
    return false;
}

static bool set_label(struct cli_run_options *options, const struct cli_options *parser)
{
    if (strlen(parser->value) > HF_LABEL_MAX) {
        hfi_cli_say("%s: the label is longer than %d bytes", parser->command, HF_LABEL_MAX);
        return false;
    }
    options->label = parser->value;
    return true;
}

/* Each of --shared, --fair, --permits says how the lock is taken. */
static bool set_mode(struct cli_run_options *options, const struct cli_options *parser,
                     enum hf_mode mode)
{
    if (options->mode != HF_EXCLUSIVE && options->mode != mode) {
        hfi_cli_usage_error(parser->command,
                            "only one of --shared, --fair and --permits can be, and not also",
                            parser->given);
        return false;
    }
    options->mode = mode;
    return true;
}

static bool set_permits(struct cli_run_options *options, const struct cli_options *parser)
{
    const char *slash = strchr(parser->value, '/');
    int64_t permits, total;

    if (!slash ||
        !hfi_cli_number(parser->value, (size_t)(slash - parser->value), 1, HF_PERMITS_MAX,
                        &permits) ||
        !hfi_cli_number(slash + 1, strlen(slash + 1), permits, HF_COUNT_MAX, &total)) {
        hfi_cli_say("%s: %s '%s' is not N/M such as 1/4, N from 1 to %d and M at least N",
                    parser->command, parser->given, parser->value, HF_PERMITS_MAX);
        return false;
    }
    options->permits = permits;
    options->total = total;
    return set_mode(options, parser, HF_PERMITS);
}

bool hfi_cli_run_add_name(struct cli_run_options *options, const char *command, const char *name)
{
    if (options->name_count == HF_MEMBERS_MAX) {
        hfi_cli_say("%s: more than %d names", command, HF_MEMBERS_MAX);
        return false;
    }
    for (size_t i = 0; i < options->name_count; i++) {
        if (options->name[i] && strcmp(options->name[i], name) == 0) {
            hfi_cli_usage_error(command, "there twice is", name);
            return false;
        }
    }
    options->name[options->name_count++] = name;
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

static bool set_duration(struct cli_run_options *options, int id, const struct cli_options *parser)
{
    switch (id) {
    case CLI_RUN_WAIT:
        return set_wait(options, parser);
    case CLI_RUN_TTL:
        return duration_between(parser, HF_TTL_MIN_MS, HF_TTL_MAX_MS, "from 100ms to 24h",
                                &options->ttl_ms);
    case CLI_RUN_MAX_HOLD:
        return duration_between(parser, HF_TTL_MIN_MS, HF_WAIT_MAX_MS, "from 100ms to 365 days",
                                &options->max_hold_ms);
    case CLI_RUN_KILL_AFTER:
        return duration_between(parser, 0, HF_WAIT_MAX_MS, "a time", &options->kill_after_ms);
    default: /* CLI_RUN_FOR */
        return duration_between(parser, 1, HF_WAIT_MAX_MS, "from 1ms to 365 days",
                                &options->for_ms);
    }
}

static bool set_flag(struct cli_run_options *options, int id, const struct cli_options *parser)
{
    switch (id) {
    case CLI_RUN_TRY:
        options->wait_ms = HF_TRY_ONCE;
        return true;
    case CLI_RUN_VERBOSE:
        options->verbose = true;
        return true;
    case CLI_RUN_QUIET:
        options->quiet = true;
        return true;
    case CLI_RUN_RETRY_FAILED:
        options->retry_failed = true;
        return true;
    case CLI_RUN_SHARED:
        return set_mode(options, parser, HF_SHARED);
    default: /* CLI_RUN_FAIR */
        return set_mode(options, parser, HF_FAIR);
    }
}

bool hfi_cli_run_set(struct cli_run_options *options, int id, const struct cli_options *parser)
{
    switch (id) {
    case CLI_RUN_STORE:
        options->store = parser->value;
        return true;
    case CLI_RUN_WAIT:
    case CLI_RUN_TTL:
    case CLI_RUN_MAX_HOLD:
    case CLI_RUN_KILL_AFTER:
    case CLI_RUN_FOR:
        return set_duration(options, id, parser);
    case CLI_RUN_LABEL:
        return set_label(options, parser);
    case CLI_RUN_ON_LOST:
        return set_on_lost(options, parser);
    case CLI_RUN_CODE:
        return hfi_cli_option_code(parser, &options->busy_code);
    case CLI_RUN_PERMITS:
        return set_permits(options, parser);
    case CLI_RUN_AND:
        return hfi_cli_run_add_name(options, parser->command, parser->value);
    default:
        return set_flag(options, id, parser);
    }
}
