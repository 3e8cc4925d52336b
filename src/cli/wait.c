/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting: one operation in progress, signals, and what people see meanwhile. See wait.h.
 *
 * Invariants: at most one operation is in progress, and exactly one event ends it. Asking who holds the lock
 * blocks for a round trip; it is done for people only, and the slower the store answers, the more seldom.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/message.h"
#include "cli/wait.h"

#define ANNOUNCE_MS 50   /* a wait shorter than this is not worth a line */
#define DRAW_MS     1000 /* first after so long, and then as often */
#define LOOK_FACTOR 20   /* at most this part of our time is spent on asking for people */
#define CANCEL_MS   5000
#define PLACE_ROOM  40

/* ------------------------------------------------------------------------------------------------
 * What people see
 */

/* Only where there is an order: in the embedded store, and for those who are fair. */
static int place_in_line(const struct cli_wait *wait, const hf_list *list)
{
    static const char embedded[] = "sqlite:";
    hf_client *client = wait->store->client;
    const char *id = hf_client_id(client);
    struct hf_holder waiter = { .size = sizeof waiter };

    if (!wait->fair && strncmp(hf_client_store(client), embedded, sizeof embedded - 1) != 0)
        return 0;
    for (size_t i = 0; hf_list_waiter(list, 0, i, &waiter) == HF_OK; i++)
        if (strncmp(waiter.owner, id, strlen(id)) == 0)
            return (int)i + 1;
    return 0;
}

static bool is_known(const struct hf_lock *lock)
{
    return hfi_cli_is_somebody(&lock->holder) || hfi_cli_has_number(lock) || lock->holders > 0;
}

static int inspect(struct cli_wait *wait)
{
    struct hf_lock lock = { .size = sizeof lock };
    hf_list *list = NULL;
    int result = hf_inspect(wait->store->client, wait->name, &list);

    if (result != HF_OK)
        return result;
    if (hf_list_get(list, 0, &lock) == HF_OK && is_known(&lock))
        hfi_cli_who(wait->who, &lock);
    wait->place = place_in_line(wait, list);
    hf_list_free(list);
    return HF_OK;
}

void hfi_cli_wait_look(struct cli_wait *wait)
{
    wait->place = 0;
    snprintf(wait->who, sizeof wait->who, "%s", wait->unknown);
    wait->look_error = wait->look ? wait->look(wait) : inspect(wait);
}

static void look(struct cli_wait *wait, uint64_t now)
{
    uint64_t took;

    if (now < wait->look_ns)
        return;
    hfi_cli_wait_look(wait);
    took = cli_now() - now;
    wait->look_ns = now + (took * LOOK_FACTOR > DRAW_MS * CLI_MS / 2 ? took * LOOK_FACTOR
                                                                     : DRAW_MS * CLI_MS / 2);
}

/* Before the holder, whose label may fill the line. */
static const char *place_text(char *to, int place)
{
    to[0] = '\0';
    if (place > 0)
        snprintf(to, PLACE_ROOM, " (number %d in line)", place);
    return to;
}

/* Lines for people that are due now. */
static void show(struct cli_wait *wait, uint64_t now)
{
    char line[CLI_MESSAGE_MAX], age[CLI_AGE_ROOM], place[PLACE_ROOM];

    if (now >= wait->announce_ns) {
        wait->announce_ns = CLI_NEVER;
        look(wait, now);
        hfi_cli_say("waiting for '%s'%s, %s", wait->name, place_text(place, wait->place),
                    wait->who);
    }
    if (now >= wait->draw_ns) {
        wait->draw_ns = now + DRAW_MS * CLI_MS;
        if (!hfi_cli_can_draw()) { /* we are in the background for now */
            hfi_cli_clear();
            return;
        }
        look(wait, now);
        snprintf(line, sizeof line, "holdfast: %s for '%s'%s, %s",
                 hfi_cli_age(age, (int64_t)((now - wait->began_ns) / CLI_MS)), wait->name,
                 place_text(place, wait->place), wait->who);
        hfi_cli_draw(line);
    }
}

static const char *gave_up(char *to, size_t room, const struct cli_wait *wait)
{
    char span[CLI_SPAN_ROOM];

    to[0] = '\0';
    if (wait->wait_ms != HF_TRY_ONCE)
        snprintf(to, room, "gave up after %s: ", hfi_cli_span(span, wait->wait_ms));
    return to;
}

int hfi_cli_wait_away(const struct cli_wait *wait)
{
    enum hf_class class_ = hf_classify(wait->look_error);
    char before[CLI_SPAN_ROOM + 32];

    if (class_ != HF_CLASS_UNSURE && class_ != HF_CLASS_RETRY)
        return 0;
    hfi_cli_say("%s'%s' was not to be had, and now: %s", gave_up(before, sizeof before, wait),
                wait->name, hf_strerror(wait->look_error));
    return hfi_cli_store_exit(wait->look_error);
}

/* What was known last is that somebody else has it. When the store cannot be asked any more, that is said. */
static int busy(struct cli_wait *wait, int busy_code)
{
    char before[CLI_SPAN_ROOM + 32];
    int away;

    hfi_cli_wait_look(wait);
    away = hfi_cli_wait_away(wait);
    if (away)
        return away;
    hfi_cli_say("%s'%s' %s %s", gave_up(before, sizeof before, wait), wait->name,
                hfi_cli_is_or_has(wait->who), wait->who);
    return busy_code;
}

int hfi_cli_wait_failed(struct cli_wait *wait, int busy_code)
{
    hfi_cli_clear();
    if (wait->unstarted)
        return hfi_cli_store_failed(wait->error);
    if (wait->error == HF_ERR_BUSY)
        return busy(wait, busy_code);
    hfi_cli_say("'%s' was not %s: %s", wait->name, wait->done, hf_strerror(wait->error));
    return hfi_cli_store_exit(wait->error);
}

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
    wait->draw_ns = patient && hfi_cli_can_draw() ? now + DRAW_MS * CLI_MS : CLI_NEVER;
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
            show(wait, now);
        if (!wait->over && now >= wait->give_up_ns)
            wait->over = true;
    }
    hfi_cli_clear();
    if (wait->ended_by)
        return CLI_WAITED_SIGNAL;
    return wait->error == HF_OK ? CLI_WAITED_DONE : CLI_WAITED_FAILED;
}
