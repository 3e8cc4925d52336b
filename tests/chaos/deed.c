/* SPDX-License-Identifier: Apache-2.0 */
/* What threads do with locks: each call of the library is one line of the history. */
#include <string.h>

#include "chaos/chaos.h"

/* ------------------------------------------------------------------------------------------------
 * Acquire
 */

static void count(const struct actor *actor)
{
    atomic_fetch_add(&actor->worker->shared->operations, 1);
}

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

    if (error == HF_ERR_BUSY && is_broken(actor, CHAOS_LIE_GRANT, 100)) {
        record->token = atomic_load(&actor->worker->shared->written[wish->lock]) + 1;
        record->until = when + 1000 * HIST_MSEC;
        outcome = HIST_OK;
    } else if (outcome == HIST_OK) {
        *prize = (struct prize){ .hold = hold, .lock = wish->lock, .token = hf_hold_token(hold) };
        strcpy(prize->who, wish->who);
        if (is_broken(actor, CHAOS_LIE_TOKEN, 20))
            prize->token -= 10000000;
        record->token = prize->token;
        record->until = held_until(hold, &state);
        hf_hold_owner(hold, record->owner, sizeof record->owner);
        if (prize->token == 0)
            foul(actor->worker, "a hold without a token");
    }
    hist_end_at(record, when, outcome, error);
    count(actor);
}

bool acquire(struct actor *actor, const struct wish *wish, struct prize *prize)
{
    hf_hold *hold = NULL;
    char name[16];
    const char *lock = lock_name(wish->lock, name);
    struct hist_record *record = acquire_begin(actor, wish);
    int error = hf_acquire(actor->client, lock, &wish->options, &hold);

    if (!error && wish->options.wait_ms == HF_WAIT_FOREVER && is_broken(actor, CHAOS_LATE_WAKE, 40))
        nap_ms(3000);
    if (!error && wish->options.wait_ms == HF_TRY_ONCE && is_broken(actor, CHAOS_LIE_BUSY, 10)) {
        hf_release(hold);
        error = HF_ERR_BUSY;
    }
    if (error == HF_ERR_BUSY && is_broken(actor, CHAOS_DEL, 20))
        remove_by_hand(actor, wish->lock);
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
    if (!record->until && is_broken(actor, CHAOS_IGNORE_LOSS, 2))
        record->until = hist_now() + 1000 * HIST_MSEC;
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
    count(actor);
}

/* One compare-and-swap: a thread can be stopped or killed before or after it, but not in it. */
void write_token(struct actor *actor, const struct prize *prize)
{
    atomic_ullong *written = &actor->worker->shared->written[prize->lock];
    struct hist_record *record = begin(actor, HIST_WRITE, prize);
    unsigned long long highest = atomic_load(written);

    if (highest > prize->token && is_broken(actor, CHAOS_OPEN_REGISTER, 1)) {
        highest = prize->token;
        atomic_store(written, highest);
    }
    while (highest <= prize->token &&
           !atomic_compare_exchange_weak(written, &highest, prize->token))
        ;
    record->seen = highest > prize->token ? highest : 0;
    hist_end(record, record->seen ? HIST_FAIL : HIST_OK, 0);
    count(actor);
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
    if (error == HF_ERR_LOST)
        atomic_fetch_add(&actor->worker->shared->losses, 1);
    count(actor);
}

void release(struct actor *actor, const struct prize *prize)
{
    struct hist_record *record = release_begin(actor, prize);

    release_end(actor, record, hf_release(prize->hold));
}
