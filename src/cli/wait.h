/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for one thing: a lock, permits, a latch. One operation of the library in progress, signals, and what
 * people see meanwhile.
 */
#ifndef HFI_CLI_WAIT_H
#define HFI_CLI_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/signals.h"
#include "cli/store.h"
#include "cli/text.h"
#include "holdfast/holdfast.h"

#define CLI_WAIT_DRAW_MS 1000 /* the line on a terminal: first after so long, and then as often */

struct cli_wait {
    /* The caller's, who fills it with hfi_cli_wait_open() and what follows. */
    struct cli_store *store;
    struct cli_signals signals; /* blocked from then on */
    int alarm;
    int64_t wait_ms;   /* HF_WAIT_FOREVER, HF_TRY_ONCE, or how long */
    uint64_t began_ns; /* … from then on */
    bool verbose;
    bool fair;           /* who waits has a place in a line, in whatever store */
    const char *name;    /* what is waited for now */
    const char *done;    /* "acquired": for messages */
    const char *unknown; /* as hfi_cli_who() says it, when nothing else is known */
    /* The library's …_start(), with `wait` as its cookie. */
    int (*start)(struct cli_wait *wait, int64_t wait_ms);
    /* Writes `who`: HF_OK, or why not. NULL: by hf_inspect(). */
    int (*look)(struct cli_wait *wait);
    const void *arg; /* theirs */

    /* What came of it. */
    hf_hold *hold;   /* the event said ACQUIRED; the caller takes it away */
    int error;       /* FAILED: why */
    bool unstarted;  /* FAILED: not even begun; hf_last_error() is about it */
    bool done_first; /* the event said DONE: also when a signal came, but too late to cancel it */
    int ended_by;    /* SIGNAL: which */
    int key;         /* INT or QUIT, from the terminal: we end by it, too */
    char who[CLI_WHO_ROOM]; /* after a look: who or what is in the way */

    /* Its own. */
    uint64_t announce_ns; /* CLI_NEVER: done, or not wanted */
    uint64_t draw_ns;     /* CLI_NEVER: standard error is no terminal */
    uint64_t look_ns;     /* not earlier: ask who holds it */
    uint64_t give_up_ns;  /* after a cancel: no event came */
    int place;            /* among those who wait; 0: not known */
    int look_error;       /* of the last look */
    bool over;
};

enum cli_waited { CLI_WAITED_DONE, CLI_WAITED_FAILED, CLI_WAITED_SIGNAL };

/* Blocks the signals, opens the alarm, begins to count the time. An exit code, after a message. */
int hfi_cli_wait_open(struct cli_wait *wait, struct cli_store *store);
/* Waits. */
enum cli_waited hfi_cli_wait(struct cli_wait *wait);

/* look.c. The lines for people that are due now. */
void hfi_cli_wait_show(struct cli_wait *wait, uint64_t now);
/* After FAILED with HF_ERR_BUSY: finds out `who`. Blocks for a round trip. */
void hfi_cli_wait_look(struct cli_wait *wait);
/* After a look that failed: is it the store that is not there? Then says so; else returns 0. The exit code. */
int hfi_cli_wait_away(const struct cli_wait *wait);
/* After FAILED: says why. The exit code; `busy_code` is that for HF_ERR_BUSY. */
int hfi_cli_wait_failed(struct cli_wait *wait, int busy_code);

#endif
