/* SPDX-License-Identifier: Apache-2.0 */
/* What `holdfast run` was asked to do. */
#ifndef HFI_CLI_RUN_OPTIONS_H
#define HFI_CLI_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/lease.h"

struct cli_run_options {
    char *store; /* as given; NULL: not given */
    const char *name;
    const char *label; /* NULL: none */
    char **command;    /* ends with NULL; at least one */
    int64_t wait_ms;   /* HF_WAIT_FOREVER, HF_TRY_ONCE, or how long */
    int64_t ttl_ms;
    int64_t max_hold_ms; /* 0: no maximum */
    int64_t kill_after_ms;
    enum cli_on_lost on_lost;
    int busy_code;
    bool verbose;
};

extern const char hfi_cli_run_usage[];

/* CLI_EXIT_OK; CLI_EXIT_USAGE after a message; -1 when help was asked for. */
int hfi_cli_run_parse(struct cli_run_options *options, int argc, char **argv);

#endif
