/* SPDX-License-Identifier: Apache-2.0 */
/* What `holdfast run`, or `holdfast once`, was asked to do. */
#ifndef HFI_CLI_RUN_OPTIONS_H
#define HFI_CLI_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/lease.h"
#include "cli/options.h"
#include "holdfast/holdfast.h"

struct cli_run_options {
    char *store;                      /* as given; NULL: not given */
    const char *name[HF_MEMBERS_MAX]; /* as they were given; none is there twice */
    size_t name_count;                /* at least 1 */
    enum hf_mode mode;                /* of each */
    int64_t permits;                  /* HF_PERMITS: how many, of … */
    int64_t total;                    /* … so many */
    const char *label;                /* NULL: none */
    char **command;                   /* ends with NULL; at least one */
    int64_t wait_ms;                  /* HF_WAIT_FOREVER, HF_TRY_ONCE, or how long */
    int64_t ttl_ms;
    int64_t max_hold_ms; /* 0: no maximum */
    int64_t kill_after_ms;
    enum cli_on_lost on_lost;
    int busy_code; /* once: when skipped */
    bool verbose;
    int64_t for_ms; /* once: not again for so long; run: 0 */
    bool quiet;
    bool retry_failed;
};

/* The options' ids. */
enum cli_run_option {
    CLI_RUN_STORE = 1,
    CLI_RUN_WAIT,
    CLI_RUN_TRY,
    CLI_RUN_TTL,
    CLI_RUN_MAX_HOLD,
    CLI_RUN_LABEL,
    CLI_RUN_ON_LOST,
    CLI_RUN_KILL_AFTER,
    CLI_RUN_CODE,
    CLI_RUN_VERBOSE,
    CLI_RUN_SHARED,
    CLI_RUN_FAIR,
    CLI_RUN_PERMITS,
    CLI_RUN_AND,
    CLI_RUN_FOR,
    CLI_RUN_RETRY_FAILED,
    CLI_RUN_QUIET,
    CLI_RUN_HELP
};

extern const char hfi_cli_run_usage[];

/* `command` is "run" or "once". CLI_EXIT_OK; CLI_EXIT_USAGE after a message; -1 when help was asked for. */
int hfi_cli_run_parse(struct cli_run_options *options, const char *command, int argc, char **argv);

/* run_values.c: one option, as the parser has just returned it. False after a message. */
bool hfi_cli_run_set(struct cli_run_options *options, int id, const struct cli_options *parser);
/* A further name. False after a message. */
bool hfi_cli_run_add_name(struct cli_run_options *options, const char *command, const char *name);

#endif
