/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that works by events: several acquires at once, some cancelled, some holds kept until the loss is
 * told. Cookies are places in a table. Each acquire's record is completed by its event; a second one would
 * count a second result.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "chaos/chaos.h"

enum stage { FREE, ASKED, HELD, RETURNING };

struct place {
    enum stage stage;
    struct wish wish;
    struct prize prize;
    struct hist_record *record; /* of what it waits for */
    bool told;                  /* its loss */
    int64_t due_ms;             /* HELD: when to do something */
};

enum { PLACES = 6 };

struct juggler {
    struct actor *actor;
    struct place place[PLACES];
    int fd;
};

/* ------------------------------------------------------------------------------------------------
 * Beginning and ending
 */

static void ask(struct juggler *juggler, struct place *place)
{
    struct actor *actor = juggler->actor;
    struct worker *worker = actor->worker;
    char name[16];
    int error;

    memset(place, 0, sizeof *place);
    wish_for(actor, &place->wish);
    if (!place->wish.options.owner) /* a new owner each time */
        snprintf(place->wish.who, sizeof place->wish.who, "%u/f%u", (unsigned)worker->process,
                 atomic_fetch_add(&worker->fresh, 1));
    lock_name(place->wish.lock, name);
    place->record = acquire_begin(actor, &place->wish);
    place->stage = ASKED;
    error = hf_acquire_start(actor->client, name, &place->wish.options, place);
    if (!error)
        return;
    foul(worker, "acquire_start: %s", hf_last_error());
    place->stage = FREE;
}

static void give_back(struct juggler *juggler, struct place *place)
{
    int error;

    place->record = release_begin(juggler->actor, &place->prize);
    place->stage = RETURNING;
    error = hf_release_start(place->prize.hold, place);
    if (error)
        foul(juggler->actor->worker, "release_start: %s", hf_last_error());
}

static void cancel(struct juggler *juggler, struct place *place)
{
    int error = hf_cancel(juggler->actor->client, place);

    /* NOT_FOUND: the event is there already */
    if (error && error != HF_ERR_NOT_FOUND)
        foul(juggler->actor->worker, "cancel: %s", hf_last_error());
}

/* ------------------------------------------------------------------------------------------------
 * Events
 */

static void on_granted(struct juggler *juggler, struct place *place, const struct hf_event *event)
{
    struct actor *actor = juggler->actor;
    bool granted = event->type == HF_EVENT_ACQUIRED;

    acquire_end(actor, place->record, hist_now(), &place->wish, granted ? HF_OK : event->error,
                event->hold, &place->prize);
    place->stage = granted ? HELD : FREE;
    if (!granted)
        return;
    write_token(actor, &place->prize);
    place->due_ms = now_ms() + (actor_pick(actor, 3) ? 0 : (int64_t)actor_pick(actor, 30));
}

static void write_loss(struct actor *actor, const struct place *place, uint64_t since)
{
    char name[16];
    struct hist_record *record = hist_prepare(&actor->history, HIST_LOST,
                                              lock_name(place->prize.lock, name), place->prize.who);

    record->token = place->prize.token;
    atomic_store(&record->invoked, since);
    hist_end(record, HIST_OK, 0);
}

static void on_lost(struct juggler *juggler, struct place *place, uint64_t since)
{
    struct actor *actor = juggler->actor;

    write_loss(actor, place, since);
    if (is_broken(actor, CHAOS_LOSS_TWICE, 1))
        write_loss(actor, place, since);
    if (place->told)
        foul(actor->worker, "a loss was told twice");
    place->told = true;
    place->due_ms = now_ms() + (int64_t)actor_pick(actor, 60);
}

static void on_event(struct juggler *juggler, const struct hf_event *event, uint64_t since)
{
    struct place *place = event->cookie;
    struct worker *worker = juggler->actor->worker;
    bool is_end = event->type == HF_EVENT_ACQUIRED || event->type == HF_EVENT_FAILED;

    if (!place) /* of a hold of a blocking thread, which has it under its eyes */
        return;
    if (is_end && place->stage == ASKED) {
        on_granted(juggler, place, event);
    } else if (event->type == HF_EVENT_RELEASED && place->stage == RETURNING) {
        release_end(juggler->actor, place->record, event->error);
        place->stage = FREE;
    } else if (event->type == HF_EVENT_LOST && place->stage == HELD &&
               event->hold == place->prize.hold) {
        on_lost(juggler, place, since);
    } else if (event->type != HF_EVENT_AT_RISK || place->stage != HELD || place->told) {
        foul(worker, "an event %d in stage %d%s", (int)event->type, (int)place->stage,
             place->told ? ", after the loss" : "");
    }
}

static void take_events(struct juggler *juggler)
{
    for (;;) {
        struct hf_event event = { .size = sizeof event };
        uint64_t since = hist_now();
        int any = hf_next(juggler->actor->client, &event);

        if (any < 0)
            foul(juggler->actor->worker, "next: %s", hf_last_error());
        if (any <= 0)
            return;
        on_event(juggler, &event, since);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Turns
 */

static void tend(struct juggler *juggler, struct place *place, bool stopping)
{
    struct actor *actor = juggler->actor;
    bool held = look(actor, &place->prize);

    if (!held || actor_pick(actor, 4) == 0)
        write_token(actor, &place->prize);
    if (held && place->wish.keeps && !stopping)
        place->due_ms = now_ms() + 20 + (int64_t)actor_pick(actor, 100);
    else if (!held && !place->told && actor_pick(actor, 2) && !stopping)
        place->due_ms = now_ms() + 20; /* the event must be on its way */
    else
        give_back(juggler, place);
}

static void attend(struct juggler *juggler, struct place *place, bool stopping)
{
    struct actor *actor = juggler->actor;

    switch (place->stage) {
    case FREE:
        if (!stopping && actor_pick(actor, 3) == 0)
            ask(juggler, place);
        break;
    case ASKED:
        if (actor_may(actor, CHAOS_CANCEL) && (stopping || actor_pick(actor, 60) == 0))
            cancel(juggler, place);
        break;
    case HELD:
        if (stopping || now_ms() >= place->due_ms)
            tend(juggler, place, stopping);
        break;
    case RETURNING:
        break;
    }
}

static bool is_idle(const struct juggler *juggler)
{
    for (int i = 0; i < PLACES; i++)
        if (juggler->place[i].stage != FREE)
            return false;
    return true;
}

void *event_run(void *arg)
{
    struct actor *actor = arg;
    struct juggler juggler = { .actor = actor, .fd = hf_fd(actor->client) };
    bool stopping = false;

    if (juggler.fd < 0)
        foul(actor->worker, "fd: %s", hf_last_error());
    while (!stopping || !is_idle(&juggler)) {
        struct pollfd p = { .fd = juggler.fd, .events = POLLIN };

        stopping = worker_is_to_stop(actor->worker);
        for (int i = 0; i < PLACES; i++)
            attend(&juggler, &juggler.place[i], stopping);
        poll(&p, 1, 10);
        take_events(&juggler);
    }
    return NULL;
}
