/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting: one operation in progress, and signals. See wait.h; look.c has what people see meanwhile.
 *
 * Invariant: at most one operation is in progress, and exactly one event ends it.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/message.h"
#include "cli/wait.h"

#define ANNOUNCE_MS 50 /* a wait shorter than this is not worth a line */
#define CANCEL_MS   5000

/* ------------------------------------------------------------------------------------------------
 * The operation
 */

/* What is left of the time to wait, as the library wants it. */
static int64_t left_ms(const struct cli_wait *wait)
{
    int64_t waited_ms;

    if (wait->wait_ms == HF_WAIT_FOREVER || wait->wait_ms == HF_TRY_ONCE)
        return wait->wait_ms;
    waited_ms = (int64_t)((cli_now() - wait->began_ns) / CLI_MS);
    return waited_ms < wait->wait_ms ? wait->wait_ms - waited_ms : HF_TRY_ONCE;
}

static void fail(struct cli_wait *wait, int error)
{
    wait->over = true;
    wait->error = error;
}

static void start(struct cli_wait *wait)
{
    int result = wait->start(wait, left_ms(wait));

    if (result == HF_OK)
        return;
    wait->unstarted = true;
    fail(wait, result);
}

/* A hold that was granted while we were stopped may be over already. */
static void acquired(struct cli_wait *wait, hf_hold *hold)
{
    int state = hf_hold_state(hold);

    if (!wait->ended_by && state != HF_HELD && state != HF_AT_RISK) {
        hf_release(hold);
        start(wait);
        return;
    }
    wait->over = true;
    if (wait->ended_by)
        hf_release(hold);
    else
        wait->hold = hold;
}

static void events(struct cli_wait *wait)
{
    struct hf_event event = { .size = sizeof event };
    int result;

    while (!wait->over && (result = hf_next(wait->store->client, &event)) != 0) {
        if (result < 0) {
            wait->unstarted = true;
            fail(wait, result);
        } else if (event.cookie != wait) { /* of a hold that we have */
            continue;
        } else if (event.type == HF_EVENT_ACQUIRED) {
            acquired(wait, event.hold);
        } else if (event.type == HF_EVENT_DONE) {
            wait->over = wait->done_first = true;
        } else if (event.type == HF_EVENT_FAILED) {
            fail(wait, event.error);
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Signals
 */

/* The second one does not wait for the store any more. */
static void ending_signal(struct cli_wait *wait, const struct cli_signal *signal)
{
    bool again = wait->ended_by != 0;

    if (hfi_cli_signal_is_key(signal))
        wait->key = signal->number;
    wait->ended_by = signal->number;
    if (again) {
        wait->over = true;
        return;
    }
    wait->announce_ns = wait->draw_ns = CLI_NEVER;
    wait->give_up_ns = cli_now() + CANCEL_MS * CLI_MS;
    hfi_cli_clear();
    hf_cancel(wait->store->client, wait);
}

/* There is no command yet: USR1, USR2 and WINCH have nobody to go to. */
static void signals(struct cli_wait *wait)
{
    struct cli_signal signal;

    while (hfi_cli_signals_next(&wait->signals, &signal)) {
        if (hfi_cli_signal_ends(signal.number))
            ending_signal(wait, &signal);
        else if (signal.number == SIGTSTP)
            hfi_cli_stop_self(SIGTSTP, false);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The loop
 */

static void sleep_until_something(struct cli_wait *wait)
{
    struct pollfd polled[] = { { .fd = hf_fd(wait->store->client), .events = POLLIN },
                               { .fd = wait->signals.fd, .events = POLLIN },
                               { .fd = wait->store->warnings, .events = POLLIN },
                               { .fd = wait->alarm, .events = POLLIN } };

    hfi_cli_alarm_set(wait->alarm,
                      cli_earlier(cli_earlier(wait->announce_ns, wait->draw_ns), wait->give_up_ns));
    if (poll(polled, sizeof polled / sizeof polled[0], -1) > 0 && polled[3].revents)
        hfi_cli_alarm_clear(wait->alarm);
}

int hfi_cli_wait_open(struct cli_wait *wait, struct cli_store *store)
{
    int fd;

    wait->store = store;
    if (!hfi_cli_signals_init(&wait->signals) || (wait->alarm = hfi_cli_alarm_open()) < 0) {
        hfi_cli_say("cannot start: %s", strerror(errno));
        return CLI_EXIT_SYSTEM;
    }
    fd = hf_fd(store->client);
    if (fd < 0)
        return hfi_cli_store_failed(fd);
    wait->began_ns = cli_now();
    return CLI_EXIT_OK;
}

static void begin(struct cli_wait *wait)
{
    bool patient = wait->wait_ms != HF_TRY_ONCE;
    uint64_t now = cli_now();

    wait->hold = NULL;
    wait->error = HF_OK;
    wait->over = wait->unstarted = wait->done_first = false;
    wait->announce_ns = wait->verbose && patient ? now + ANNOUNCE_MS * CLI_MS : CLI_NEVER;
    wait->draw_ns = patient && hfi_cli_can_draw() ? now + CLI_WAIT_DRAW_MS * CLI_MS : CLI_NEVER;
    wait->look_ns = 0;
    wait->give_up_ns = CLI_NEVER;
    start(wait);
}

enum cli_waited hfi_cli_wait(struct cli_wait *wait)
{
    uint64_t now;

    begin(wait);
    while (!wait->over) {
        sleep_until_something(wait);
        signals(wait);
        events(wait);
        hfi_cli_store_warnings(wait->store);
        now = cli_now();
        if (!wait->over)
            hfi_cli_wait_show(wait, now);
        if (!wait->over && now >= wait->give_up_ns)
            wait->over = true;
    }
    hfi_cli_clear();
    if (wait->ended_by)
        return CLI_WAITED_SIGNAL;
    return wait->error == HF_OK ? CLI_WAITED_DONE : CLI_WAITED_FAILED;
}
