/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entry: descriptors 0 to 2 are made sure of, and the subcommand is found in a table.
 *
 * Invariant: from here on no descriptor that we open has a number below 3. Where one of the three was
 * closed, /dev/null takes its place, close-on-exec, so that a command finds it closed as we did. In place of
 * standard output it can only be read: what we print then is not lost in silence, it cannot be written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/message.h"

static const struct cli_command *const commands[] = {
    &hfi_cli_run,     &hfi_cli_once, &hfi_cli_ls,    &hfi_cli_show,    &hfi_cli_break,
    &hfi_cli_permits, &hfi_cli_sem,  &hfi_cli_latch, &hfi_cli_version, &hfi_cli_help,
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

const struct cli_command *hfi_cli_command_at(unsigned i)
{
    return i < COMMAND_COUNT ? commands[i] : NULL;
}

const struct cli_command *hfi_cli_command(const char *name)
{
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

int hfi_cli_print_usage(const struct cli_command *command)
{
    fputs(command->usage, stdout);
    return hfi_cli_flush();
}

int hfi_cli_flush(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return CLI_EXIT_OK;
    hfi_cli_say("standard output cannot be written: %s", strerror(errno));
    return CLI_EXIT_OUTPUT;
}

/* open() takes the lowest free number, which is the hole; without /dev/null there is nothing to do. */
static void fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        int access = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;

        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", access | O_CLOEXEC) < 0)
            return;
    }
}

int main(int argc, char **argv)
{
    const struct cli_command *command;

    fill_standard_descriptors();
    hfi_cli_message_init(argc, argv);
    if (argc < 2) {
        hfi_cli_say("a subcommand is missing; 'holdfast help' lists them");
        return CLI_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return hfi_cli_help.main(1, argv + 1);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return hfi_cli_version.main(1, argv + 1);
    command = hfi_cli_command(argv[1]);
    if (!command) {
        hfi_cli_say("'%s' is not a subcommand; 'holdfast help' lists them", argv[1]);
        return CLI_EXIT_USAGE;
    }
    return command->main(argc - 1, argv + 1);
}
