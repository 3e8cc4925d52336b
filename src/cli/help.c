/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast help [SUBCOMMAND]`. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/options.h"

static const char usage[] =
    "Usage: holdfast help [SUBCOMMAND]\n"
    "Lists the subcommands, or explains one; also: holdfast SUBCOMMAND --help.\n";

static int overview(void)
{
    const struct cli_command *command;

    puts("Usage: holdfast SUBCOMMAND [options] [arguments]\n"
         "Locks that many processes on many machines share.\n");
    for (unsigned i = 0; (command = hfi_cli_command_at(i)) != NULL; i++)
        printf("  %-8s %s\n", command->name, command->summary);
    puts("\n'holdfast help SUBCOMMAND' explains one. More in holdfast(1) and holdfast(7).");
    return hfi_cli_flush();
}

static int help_main(int argc, char **argv)
{
    const struct cli_command *command;

    if (argc < 2)
        return overview();
    if (argc > 2)
        return hfi_cli_usage_error("help", "too many arguments, the second is", argv[2]);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return hfi_cli_print_usage(&hfi_cli_help);
    command = hfi_cli_command(argv[1]);
    if (command)
        return hfi_cli_print_usage(command);
    hfi_cli_say("'%s' is not a subcommand; 'holdfast help' lists them", argv[1]);
    return CLI_EXIT_USAGE;
}

const struct cli_command hfi_cli_help = {
    .name = "help",
    .summary = "explain a subcommand",
    .usage = usage,
    .main = help_main,
};
