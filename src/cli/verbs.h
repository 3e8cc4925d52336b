/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subcommands with verbs, `holdfast latch wait NAME` and the like: arguments, the store, waiting. Each has a table
 * of verbs, of one function each.
 */
#ifndef HFI_CLI_VERBS_H
#define HFI_CLI_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"
#include "cli/store.h"
#include "cli/wait.h"
#include "holdfast/objects.h"

/* What a verb was called with. */
struct cli_call {
    const struct cli_command *command;
    const char *noun; /* "latch": for messages */
    const char *name;
    int64_t number; /* as given, or the least that the verb allows */
    int64_t wait_ms;
    int busy_code;
    bool json;
    bool verbose;
    struct cli_store store;
    struct cli_wait wait;
};

enum cli_verb_number { CLI_NUMBER_NONE, CLI_NUMBER_MAY, CLI_NUMBER_MUST };

struct cli_verb {
    const char *name;
    enum cli_verb_number number;
    int64_t least, most;                /* of the number */
    bool waits;                         /* --wait, -n, -E, -v */
    bool shows;                         /* --json */
    int (*main)(struct cli_call *call); /* an exit code */
};

struct cli_verbs {
    const struct cli_command *command;
    const char *noun;
    const struct cli_verb *verb;
    size_t count;
};

/* All of the subcommand's main. */
int hfi_cli_verbs_main(const struct cli_verbs *verbs, int argc, char **argv);

/* Waits for what `start` starts, as the options say; `done`, `start` and `look` are as in struct cli_wait, whose `arg` is the
 * call. CLI_EXIT_OK, or an exit code after a message. */
int hfi_cli_call_wait(struct cli_call *call, const char *done,
                      int (*start)(struct cli_wait *wait, int64_t wait_ms),
                      int (*look)(struct cli_wait *wait));
/* An error of the library: says what it means here, and returns the exit code. */
int hfi_cli_call_failed(const struct cli_call *call, int error);
/* Prints a number on a line of its own, or as JSON: an object with store, name, and `member`. */
int hfi_cli_call_print(const struct cli_call *call, const char *member, int64_t number);

#endif
