/* SPDX-License-Identifier: Apache-2.0 */
/* What threads do with locks: each call of the library is one line of the history. */
#include <string.h>

#include "chaos/chaos.h"

const char *lock_name(int lock, char *to)
{
    snprintf(to, 16, "chaos:%d", lock);
    return to;
}

uint32_t actor_pick(struct actor *actor, uint32_t below)
{
    return random_next(&actor->random) % below;
}

bool actor_may(const struct actor *actor, unsigned deed)
{
    return (actor->worker->shared->deeds & deed) != 0;
}

/* ------------------------------------------------------------------------------------------------
 * Wishes
 */

/* Lasts that are not the usual of the lock keep it from being passed on, so most are. */
static void choose_ttl(struct actor *actor, struct wish *wish)
{
    static const int64_t TTLS[] = { 1000, 1500, 2000, 3000 };
    struct hf_acquire_options *options = &wish->options;
    bool is_hot = wish->lock < CHAOS_HOT;

    options->ttl_ms = TTLS[wish->lock % 4];
    if (actor_pick(actor, 8) == 0)
        options->ttl_ms = TTLS[actor_pick(actor, 4)];
    if (!actor_may(actor, CHAOS_EXPIRE))
        return;
    switch (actor_pick(actor, is_hot ? 16 : 5)) {
    case 0:
        options->ttl_ms = 0;
        options->lease_ms = 1000 + (int64_t)actor_pick(actor, 500);
        break;
    case 1:
        options->max_hold_ms = 1000 + (int64_t)actor_pick(actor, 800);
        break;
    default:
        return;
    }
    wish->keeps = actor_pick(actor, is_hot ? 12 : 2) == 0;
}

static void choose_wait(struct actor *actor, struct wish *wish)
{
    uint32_t choice = actor_pick(actor, 10);

    wish->options.wait_ms = HF_WAIT_FOREVER;
    if (choice < 3)
        wish->options.wait_ms = HF_TRY_ONCE;
    else if (choice < 7 && actor_may(actor, CHAOS_BOUNDED))
        wish->options.wait_ms = 1 + (int64_t)actor_pick(actor, choice < 4 ? 10 : 1500);
}

static void choose_owner(struct actor *actor, struct wish *wish)
{
    struct worker *worker = actor->worker;

    snprintf(wish->who, sizeof wish->who, "%u/t%u", (unsigned)worker->process,
             (unsigned)actor->history.thread);
    if (!actor_may(actor, CHAOS_NAMED) || actor_pick(actor, 8) != 0)
        return;
    wish->options.owner = 1 + actor_pick(actor, 2);
    snprintf(wish->who, sizeof wish->who, "%u/%c%u", (unsigned)worker->process, actor->letter,
             (unsigned)wish->options.owner);
}

void wish_for(struct actor *actor, struct wish *wish)
{
    *wish = (struct wish){ .options = { .size = sizeof wish->options } };
    wish->lock = (int)actor_pick(actor, actor_pick(actor, 2) ? CHAOS_HOT : CHAOS_LOCKS);
    choose_ttl(actor, wish);
    choose_wait(actor, wish);
    choose_owner(actor, wish);
    if (actor_pick(actor, 4) == 0)
        wish->options.label = "chaos";
}

/* ------------------------------------------------------------------------------------------------
 * Acquire
 */

static enum hist_outcome outcome_of(struct worker *worker, const char *what, int error)
{
    switch (error) {
    case HF_OK:
        return HIST_OK;
    case HF_ERR_BUSY:
    case HF_ERR_LOST:
    case HF_ERR_UNREACHABLE:
    case HF_ERR_UNAVAILABLE:
        return HIST_FAIL;
    case HF_ERR_UNSURE:
    case HF_ERR_CANCELLED:
    case HF_ERR_CLOSED:
        return HIST_UNKNOWN;
    default:
        foul(worker, "%s: %s: %s", what, hf_strerror(error), hf_last_error());
        return HIST_UNKNOWN;
    }
}

struct hist_record *acquire_begin(struct actor *actor, const struct wish *wish)
{
    const struct hf_acquire_options *options = &wish->options;
    bool once = options->wait_ms == HF_TRY_ONCE;
    char name[16];
    struct hist_record *record = hist_prepare(&actor->history, once ? HIST_TRY : HIST_ACQUIRE,
                                              lock_name(wish->lock, name), wish->who);

    record->wait_ms = options->wait_ms;
    record->ttl_ms = (uint32_t)(options->lease_ms ? options->lease_ms : options->ttl_ms);
    hist_invoke(record);
    return record;
}

/* How long it is held at least, as a look says that began at `from`; 0: it is not. */
static uint64_t held_until(const hf_hold *hold, int *ret_state)
{
    uint64_t from = hist_now();
    int state = hf_hold_state(hold);
    int64_t left = hf_hold_remaining_ms(hold);

    *ret_state = state;
    return state == HF_HELD || state == HF_AT_RISK ? from + (uint64_t)left * HIST_MSEC : 0;
}

void acquire_end(struct actor *actor, struct hist_record *record, uint64_t when,
                 const struct wish *wish, int error, hf_hold *hold, struct prize *prize)
{
    enum hist_outcome outcome = outcome_of(actor->worker, "acquire", error);
    int state;

    if (outcome == HIST_OK) {
        *prize = (struct prize){ .hold = hold, .lock = wish->lock, .token = hf_hold_token(hold) };
        strcpy(prize->who, wish->who);
        record->token = prize->token;
        record->until = held_until(hold, &state);
        hf_hold_owner(hold, record->owner, sizeof record->owner);
        if (prize->token == 0)
            foul(actor->worker, "a hold without a token");
    }
    hist_end_at(record, when, outcome, error);
}

bool acquire(struct actor *actor, const struct wish *wish, struct prize *prize)
{
    hf_hold *hold = NULL;
    char name[16];
    const char *lock = lock_name(wish->lock, name);
    struct hist_record *record = acquire_begin(actor, wish);
    int error = hf_acquire(actor->client, lock, &wish->options, &hold);

    acquire_end(actor, record, hist_now(), wish, error, hold, prize);
    return error == HF_OK;
}

/* ------------------------------------------------------------------------------------------------
 * With a hold
 */

static struct hist_record *begin(struct actor *actor, enum hist_kind kind,
                                 const struct prize *prize)
{
    char name[16];
    struct hist_record *record =
        hist_prepare(&actor->history, kind, lock_name(prize->lock, name), prize->who);

    record->token = prize->token;
    hist_invoke(record);
    return record;
}

bool look(struct actor *actor, const struct prize *prize)
{
    struct hist_record *record = begin(actor, HIST_LOOK, prize);
    int state;

    record->until = held_until(prize->hold, &state);
    if (state != HF_HELD && state != HF_AT_RISK && state != HF_LOST)
        foul(actor->worker, "the state of a hold is %d", state);
    hist_end(record, record->until ? HIST_OK : HIST_FAIL, 0);
    return record->until != 0;
}

void verify(struct actor *actor, const struct prize *prize)
{
    struct hist_record *record = begin(actor, HIST_VERIFY, prize);
    int error = hf_hold_verify(prize->hold);
    enum hist_outcome outcome = outcome_of(actor->worker, "verify", error);

    if (outcome == HIST_FAIL && error != HF_ERR_LOST)
        outcome = HIST_UNKNOWN; /* the store did not answer */
    hist_end(record, outcome, error);
}

/* One compare-and-swap: a thread can be stopped or killed before or after it, but not in it. */
void write_token(struct actor *actor, const struct prize *prize)
{
    atomic_ullong *written = &actor->worker->shared->written[prize->lock];
    struct hist_record *record = begin(actor, HIST_WRITE, prize);
    unsigned long long highest = atomic_load(written);

    while (highest <= prize->token &&
           !atomic_compare_exchange_weak(written, &highest, prize->token))
        ;
    record->seen = highest > prize->token ? highest : 0;
    hist_end(record, record->seen ? HIST_FAIL : HIST_OK, 0);
}

struct hist_record *release_begin(struct actor *actor, const struct prize *prize)
{
    return begin(actor, HIST_RELEASE, prize);
}

void release_end(struct actor *actor, struct hist_record *record, int error)
{
    enum hist_outcome outcome = outcome_of(actor->worker, "release", error);

    if (outcome == HIST_FAIL && error != HF_ERR_LOST)
        foul(actor->worker, "release: %s", hf_strerror(error));
    hist_end(record, outcome, error);
}

void release(struct actor *actor, const struct prize *prize)
{
    struct hist_record *record = release_begin(actor, prize);

    release_end(actor, record, hf_release(prize->hold));
}
