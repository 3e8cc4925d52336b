/* SPDX-License-Identifier: Apache-2.0 */
/* Reads options from a table. See options.h. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/duration.h"
#include "cli/message.h"
#include "cli/number.h"
#include "cli/options.h"

void hfi_cli_options_init(struct cli_options *options, const char *command,
                          const struct cli_option *table, int argc, char **argv)
{
    memset(options, 0, sizeof *options);
    options->command = command;
    options->table = table;
    options->argc = argc;
    options->argv = argv;
    options->next = 1;
}

int hfi_cli_usage_error(const char *command, const char *what, const char *about)
{
    if (about)
        hfi_cli_say("%s: %s '%s'; see 'holdfast help %s'", command, what, about, command);
    else
        hfi_cli_say("%s: %s; see 'holdfast help %s'", command, what, command);
    return CLI_EXIT_USAGE;
}

static int wrong(const struct cli_options *options, const char *what, const char *about)
{
    hfi_cli_usage_error(options->command, what, about);
    return CLI_OPTIONS_WRONG;
}

/* The argument behind the current one becomes the value. */
static int value_follows(struct cli_options *options, const struct cli_option *option)
{
    if (options->next >= options->argc)
        return wrong(options, "a value is missing behind", options->given);
    options->value = options->argv[options->next++];
    return option->id;
}

static int long_option(struct cli_options *options, char *text)
{
    char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);

    snprintf(options->spelled, sizeof options->spelled, "--%.*s", (int)(length < 40 ? length : 40),
             text);
    options->given = options->spelled;
    for (const struct cli_option *option = options->table; option->name; option++) {
        if (strlen(option->name) != length || memcmp(option->name, text, length) != 0)
            continue;
        if (!option->takes_value)
            return equals ? wrong(options, "no value belongs to", options->given) : option->id;
        if (!equals)
            return value_follows(options, option);
        options->value = equals + 1;
        return option->id;
    }
    return wrong(options, "unknown option", options->given);
}

static int letter_option(struct cli_options *options)
{
    char letter = *options->rest++;

    options->letters[0] = '-';
    options->letters[1] = letter;
    options->given = options->letters;
    for (const struct cli_option *option = options->table; option->name; option++) {
        if (option->letter != letter)
            continue;
        if (!option->takes_value) {
            if (*options->rest == '=')
                return wrong(options, "no value belongs to", options->given);
            if (!*options->rest)
                options->rest = NULL;
            return option->id;
        }
        if (!*options->rest) {
            options->rest = NULL;
            return value_follows(options, option);
        }
        /* rest points into the argument just passed */
        options->value =
            options->argv[options->next - 1] + (options->rest - options->argv[options->next - 1]);
        options->rest = NULL;
        return option->id;
    }
    return wrong(options, "unknown option", options->given);
}

int hfi_cli_options_next(struct cli_options *options)
{
    char *argument;

    options->value = NULL;
    if (options->rest)
        return letter_option(options);
    if (options->next >= options->argc)
        return CLI_OPTIONS_END;
    argument = options->argv[options->next];
    if (argument[0] != '-' || argument[1] == '\0')
        return CLI_OPTIONS_END;
    options->next++;
    if (argument[1] != '-') {
        options->rest = argument + 1;
        return letter_option(options);
    }
    return argument[2] == '\0' ? CLI_OPTIONS_END : long_option(options, argument + 2);
}

bool hfi_cli_option_duration(const struct cli_options *options, int64_t *ret_ms)
{
    switch (hfi_cli_duration(options->value, ret_ms)) {
    case CLI_DURATION_OK:
        return true;
    case CLI_DURATION_TOO_LONG:
        hfi_cli_say("%s: %s '%s' is longer than 365 days", options->command, options->given,
                    options->value);
        return false;
    case CLI_DURATION_MALFORMED:
        break;
    }
    hfi_cli_say("%s: %s '%s' is not a duration such as 250ms, 5s, 1.5m or 1h", options->command,
                options->given, options->value);
    return false;
}

bool hfi_cli_option_code(const struct cli_options *options, int *ret_code)
{
    int64_t code;

    if (!hfi_cli_number(options->value, strlen(options->value), 0, 255, &code)) {
        hfi_cli_say("%s: %s '%s' is not a number from 0 to 255", options->command, options->given,
                    options->value);
        return false;
    }
    *ret_code = (int)code;
    return true;
}
