/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `holdfast run` until the lock is ours: one acquire in progress, signals, and what people see meanwhile.
 *
 * Invariants: at most one acquire is in progress, and exactly one event ends it. Asking who holds the lock
 * blocks for a round trip; it is done for people only, and the slower the store answers, the more seldom.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/message.h"
#include "cli/run.h"
#include "cli/text.h"

#define ANNOUNCE_MS 50   /* a wait shorter than this is not worth a line */
#define DRAW_MS     1000 /* first after so long, and then as often */
#define LOOK_FACTOR 20   /* at most this part of our time is spent on asking for people */
#define CANCEL_MS   5000
#define PLACE_ROOM  40

struct waiting {
    struct cli_run *run;
    uint64_t announce_ns;          /* CLI_NEVER: done, or not wanted */
    uint64_t draw_ns;              /* CLI_NEVER: standard error is no terminal */
    uint64_t look_ns;              /* not earlier: ask who holds it */
    uint64_t give_up_ns;           /* after a cancel: no event came */
    char who[CLI_SINCE_ROOM + 64]; /* "held by …" */
    int place;                     /* among those who wait; 0: not known */
    int ended_by;                  /* a signal; 0: none */
    bool over;
    int code;
};

/* Who holds it, and our place in the line, as well as it can be found out now; or why it cannot. */
static int describe(struct waiting *waiting)
{
    struct cli_run *run = waiting->run;
    struct hf_lock lock = { .size = sizeof lock };
    struct hf_holder waiter = { .size = sizeof waiter };
    const char *id = hf_client_id(run->store.client);
    char since[CLI_SINCE_ROOM];
    hf_list *list = NULL;
    int result = hf_inspect(run->store.client, run->options.name, &list);

    waiting->place = 0;
    snprintf(waiting->who, sizeof waiting->who, "held by someone else");
    if (result != HF_OK)
        return result;
    if (hf_list_get(list, 0, &lock) == HF_OK && (lock.holder.owner[0] || lock.holder.pid > 0))
        snprintf(waiting->who, sizeof waiting->who, "held by %s",
                 hfi_cli_holder_since(since, &lock.holder));
    for (size_t i = 0; hf_list_waiter(list, 0, i, &waiter) == HF_OK; i++)
        if (strncmp(waiter.owner, id, strlen(id)) == 0)
            waiting->place = (int)i + 1;
    hf_list_free(list);
    return HF_OK;
}

static void look(struct waiting *waiting, uint64_t now)
{
    uint64_t took;

    if (now < waiting->look_ns)
        return;
    describe(waiting);
    took = cli_now() - now;
    waiting->look_ns = now + (took * LOOK_FACTOR > DRAW_MS * CLI_MS / 2 ? took * LOOK_FACTOR
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
static void show(struct waiting *waiting, uint64_t now)
{
    const char *name = waiting->run->options.name;
    char line[CLI_MESSAGE_MAX], age[CLI_AGE_ROOM], place[PLACE_ROOM];

    if (now >= waiting->announce_ns) {
        waiting->announce_ns = CLI_NEVER;
        look(waiting, now);
        hfi_cli_say("waiting for '%s'%s, %s", name, place_text(place, waiting->place),
                    waiting->who);
    }
    if (now >= waiting->draw_ns) {
        waiting->draw_ns = now + DRAW_MS * CLI_MS;
        if (!hfi_cli_can_draw()) { /* we are in the background for now */
            hfi_cli_clear();
            return;
        }
        look(waiting, now);
        snprintf(line, sizeof line, "holdfast: %s for '%s'%s, %s",
                 hfi_cli_age(age, (int64_t)((now - waiting->run->began_ns) / CLI_MS)), name,
                 place_text(place, waiting->place), waiting->who);
        hfi_cli_draw(line);
    }
}

/* Is it the store that is not there, as far as a look for people can tell? */
static bool is_away(int error)
{
    return hf_classify(error) == HF_CLASS_UNSURE || hf_classify(error) == HF_CLASS_RETRY;
}

/* What was known last is that somebody else has it. When the store cannot be asked any more, that is said. */
static int busy(struct waiting *waiting)
{
    const struct cli_run_options *options = &waiting->run->options;
    int error = describe(waiting);
    char before[CLI_SPAN_ROOM + 32] = "", span[CLI_SPAN_ROOM];

    if (options->wait_ms != HF_TRY_ONCE)
        snprintf(before, sizeof before, "gave up after %s: ", hfi_cli_span(span, options->wait_ms));
    if (is_away(error)) {
        hfi_cli_say("%s'%s' was held by someone else, and now: %s", before, options->name,
                    hf_strerror(error));
        return hfi_cli_store_exit(error);
    }
    hfi_cli_say("%s'%s' is %s", before, options->name, waiting->who);
    return options->busy_code;
}

static int failed(struct waiting *waiting, int error)
{
    const char *name = waiting->run->options.name;

    hfi_cli_clear();
    if (waiting->ended_by)
        return CLI_EXIT_SIGNAL + waiting->ended_by;
    if (error == HF_ERR_BUSY)
        return busy(waiting);
    hfi_cli_say("'%s' was not acquired: %s", name, hf_strerror(error));
    return hfi_cli_store_exit(error);
}

/* What is left of the time to wait, as the library wants it. */
static int64_t wait_left_ms(const struct cli_run *run)
{
    int64_t wait_ms = run->options.wait_ms, waited_ms;

    if (wait_ms == HF_WAIT_FOREVER || wait_ms == HF_TRY_ONCE)
        return wait_ms;
    waited_ms = (int64_t)((cli_now() - run->began_ns) / CLI_MS);
    return waited_ms < wait_ms ? wait_ms - waited_ms : HF_TRY_ONCE;
}

static void start(struct waiting *waiting)
{
    struct cli_run *run = waiting->run;
    const struct cli_run_options *options = &run->options;
    int result =
        hf_acquire_start(run->store.client, options->name,
                         HF_ACQUIRE(.wait_ms = wait_left_ms(run), .ttl_ms = options->ttl_ms,
                                    .max_hold_ms = options->max_hold_ms, .label = options->label),
                         waiting);

    if (result == HF_OK)
        return;
    waiting->over = true;
    waiting->code = hfi_cli_store_failed(result);
}

/* A hold that was granted while we were stopped may be over already. */
static void acquired(struct waiting *waiting, hf_hold *hold)
{
    struct cli_run *run = waiting->run;
    char age[CLI_AGE_ROOM];
    int state = hf_hold_state(hold);

    if (waiting->ended_by) {
        hf_release(hold);
        waiting->over = true;
        waiting->code = CLI_EXIT_SIGNAL + waiting->ended_by;
        return;
    }
    if (state != HF_HELD && state != HF_AT_RISK) {
        hf_release(hold);
        start(waiting);
        return;
    }
    run->hold = hold;
    waiting->over = true;
    waiting->code = CLI_EXIT_OK;
    if (run->options.verbose)
        hfi_cli_say("holding '%s', token %llu, after %s", run->options.name,
                    (unsigned long long)hf_hold_token(hold),
                    hfi_cli_age(age, (int64_t)((cli_now() - run->began_ns) / CLI_MS)));
}

static void events(struct waiting *waiting)
{
    struct hf_event event = { .size = sizeof event };
    int result;

    while (!waiting->over && (result = hf_next(waiting->run->store.client, &event)) != 0) {
        if (result < 0) {
            waiting->over = true;
            waiting->code = hfi_cli_store_failed(result);
        } else if (event.type == HF_EVENT_ACQUIRED) {
            acquired(waiting, event.hold);
        } else if (event.type == HF_EVENT_FAILED) {
            waiting->over = true;
            waiting->code = failed(waiting, event.error);
        }
    }
}

/* The second one does not wait for the store any more. */
static void ending_signal(struct waiting *waiting, const struct cli_signal *signal)
{
    int number = signal->number;

    if (hfi_cli_signal_is_key(signal))
        waiting->run->key = number;
    if (waiting->ended_by) {
        waiting->over = true;
        waiting->code = CLI_EXIT_SIGNAL + number;
        return;
    }
    waiting->ended_by = number;
    waiting->announce_ns = waiting->draw_ns = CLI_NEVER;
    waiting->give_up_ns = cli_now() + CANCEL_MS * CLI_MS;
    hfi_cli_clear();
    hf_cancel(waiting->run->store.client, waiting);
}

/* There is no command yet: USR1, USR2 and WINCH have nobody to go to. */
static void signals(struct waiting *waiting)
{
    struct cli_signal signal;

    while (hfi_cli_signals_next(&waiting->run->signals, &signal)) {
        if (hfi_cli_signal_ends(signal.number))
            ending_signal(waiting, &signal);
        else if (signal.number == SIGTSTP)
            hfi_cli_stop_self(SIGTSTP, false);
    }
}

static void sleep_until_something(struct waiting *waiting)
{
    struct cli_run *run = waiting->run;
    struct pollfd polled[] = { { .fd = hf_fd(run->store.client), .events = POLLIN },
                               { .fd = run->signals.fd, .events = POLLIN },
                               { .fd = run->store.warnings, .events = POLLIN },
                               { .fd = run->alarm, .events = POLLIN } };

    hfi_cli_alarm_set(run->alarm, cli_earlier(cli_earlier(waiting->announce_ns, waiting->draw_ns),
                                              waiting->give_up_ns));
    if (poll(polled, sizeof polled / sizeof polled[0], -1) > 0 && polled[3].revents)
        hfi_cli_alarm_clear(run->alarm);
}

int hfi_cli_wait(struct cli_run *run)
{
    uint64_t now = run->began_ns;
    struct waiting waiting = { .run = run };
    bool patient = run->options.wait_ms != HF_TRY_ONCE;

    waiting.announce_ns = run->options.verbose && patient ? now + ANNOUNCE_MS * CLI_MS : CLI_NEVER;
    waiting.draw_ns = patient && hfi_cli_can_draw() ? now + DRAW_MS * CLI_MS : CLI_NEVER;
    waiting.give_up_ns = CLI_NEVER;
    start(&waiting);
    while (!waiting.over) {
        sleep_until_something(&waiting);
        signals(&waiting);
        events(&waiting);
        hfi_cli_store_warnings(&run->store);
        now = cli_now();
        if (!waiting.over)
            show(&waiting, now);
        if (!waiting.over && now >= waiting.give_up_ns) {
            waiting.over = true;
            waiting.code = CLI_EXIT_SIGNAL + waiting.ended_by;
        }
    }
    hfi_cli_clear();
    return waiting.code;
}
