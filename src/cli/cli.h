/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command: its exit codes, and the table of its subcommands.
 *
 * A subcommand is one file with one `struct cli_command`; main.c dispatches to it. Everything here uses
 * the public header and nothing else of the library.
 */
#ifndef HFI_CLI_CLI_H
#define HFI_CLI_CLI_H

/* Exit codes are part of what users rely on: holdfast(1), EXIT STATUS. */
enum cli_exit {
    CLI_EXIT_OK = 0,
    CLI_EXIT_NONE = 1,      /* nobody holds it; there is nothing of that name */
    CLI_EXIT_USAGE = 64,    /* EX_USAGE */
    CLI_EXIT_STORE = 69,    /* EX_UNAVAILABLE: the store cannot be reached or used */
    CLI_EXIT_INTERNAL = 70, /* EX_SOFTWARE */
    CLI_EXIT_SYSTEM = 71,   /* EX_OSERR: no process, descriptor or memory to be had */
    CLI_EXIT_OUTPUT = 74,   /* EX_IOERR: standard output could not be written */
    CLI_EXIT_BUSY = 75,     /* EX_TEMPFAIL: held by someone else, there already, not in time */
    CLI_EXIT_LOST = 76,     /* the hold was lost while the command ran */
    CLI_EXIT_NOT_EXECUTABLE = 126,
    CLI_EXIT_NOT_FOUND = 127,
    CLI_EXIT_SIGNAL = 128 /* + the signal's number */
};

struct cli_command {
    const char *name;
    const char *summary;                /* one line in `holdfast help` */
    const char *usage;                  /* what `holdfast help NAME` prints */
    int (*main)(int argc, char **argv); /* argv[0] is the subcommand's name */
};

extern const struct cli_command hfi_cli_run;
extern const struct cli_command hfi_cli_once;
extern const struct cli_command hfi_cli_ls;
extern const struct cli_command hfi_cli_show;
extern const struct cli_command hfi_cli_break;
extern const struct cli_command hfi_cli_permits;
extern const struct cli_command hfi_cli_sem;
extern const struct cli_command hfi_cli_latch;
extern const struct cli_command hfi_cli_version;
extern const struct cli_command hfi_cli_help;

/* The subcommand of that name, or NULL. */
const struct cli_command *hfi_cli_command(const char *name);
/* The i-th subcommand, or NULL past the last. */
const struct cli_command *hfi_cli_command_at(unsigned i);

/* Prints a subcommand's usage on standard output; the exit code. */
int hfi_cli_print_usage(const struct cli_command *command);
/* Flushes standard output: CLI_EXIT_OK, or says why not and returns CLI_EXIT_OUTPUT. */
int hfi_cli_flush(void);

#endif
