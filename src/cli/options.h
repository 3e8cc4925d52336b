/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a subcommand, from a table. Long names are exact (no abbreviations: a later option must not
 * change what a script means); --name=VALUE and --name VALUE, -xVALUE and -x VALUE, -nv for -n -v. Options
 * end at "--" or at the first argument that is none: what follows belongs to the command that is run.
 */
#ifndef HFI_CLI_OPTIONS_H
#define HFI_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct cli_option {
    int id;      /* above 0 */
    char letter; /* 0: none */
    bool takes_value;
    const char *name; /* NULL ends the table */
};

struct cli_options {
    const char *command; /* the subcommand's name, for messages */
    const struct cli_option *table;
    int argc;
    char **argv;
    int next;          /* index of the next argument; afterwards, of the first operand */
    const char *rest;  /* letters left of an argument such as -nv */
    const char *given; /* the option as people know it, for messages */
    char *value;       /* of the option just returned: a part of argv */
    char letters[3];
    char spelled[64];
};

#define CLI_OPTIONS_END   0
#define CLI_OPTIONS_WRONG (-1)

void hfi_cli_options_init(struct cli_options *options, const char *command,
                          const struct cli_option *table, int argc, char **argv);
/* The next option's id, CLI_OPTIONS_END, or CLI_OPTIONS_WRONG after a message. */
int hfi_cli_options_next(struct cli_options *options);

/* The value of the option just returned as a duration. False after a message. */
bool hfi_cli_option_duration(const struct cli_options *options, int64_t *ret_ms);

/* The value of the option just returned as an exit code, 0 to 255. False after a message. */
bool hfi_cli_option_code(const struct cli_options *options, int *ret_code);

/* A message about the subcommand's arguments; returns CLI_EXIT_USAGE. */
int hfi_cli_usage_error(const char *command, const char *what, const char *about);

#endif
