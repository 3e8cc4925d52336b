/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several locks as one hold: the calls. What is done next, and what the members are worth together, says
 * core/multi.c.
 *
 * The handle that the program gets has no hold of its own: it points to its parts, and each part to it.
 */
#include "core/multi.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/options.h"
#include "runtime/clock.h"

/* ------------------------------------------------------------------------------------------------
 * What is asked for
 */

static int read_member(const char *at, size_t size, struct hf_member *member)
{
    size_t len;

    memcpy(member, at, size < sizeof *member ? size : sizeof *member);
    if (!member->client)
        return hfi_fail(HF_ERR_INVALID, "each member of a multi hold needs a client");
    return hfi_check_name(member->name, "a lock's name", &len);
}

static int read_members(const struct hf_member *members, size_t count, struct hf_member *wanted,
                        struct hfi_taking *taking)
{
    struct hfi_member keys[HF_MEMBERS_MAX];
    const char *at = (const char *)members;
    size_t size, place = 0;

    for (size_t i = 0; i < count; i++, at += size) {
        int error;

        memcpy(&size, at, sizeof size);
        if (size < sizeof size || size > 4096)
            return hfi_fail(HF_ERR_INVALID, "hf_member: set the size member of each to the size of "
                                            "the struct");
        error = read_member(at, size, &wanted[i]);
        if (error)
            return error;
        keys[i].store = hf_client_store(wanted[i].client);
        keys[i].name = wanted[i].name;
    }
    if (!hfi_taking_init(taking, keys, count, &place))
        return hfi_fail(HF_ERR_INVALID, "'%s' is named twice in one multi hold",
                        wanted[place].name);
    return HF_OK;
}

static int check_count(const struct hf_member *members, size_t count)
{
    if (members && count >= 1 && count <= HF_MEMBERS_MAX)
        return HF_OK;
    return hfi_fail(HF_ERR_INVALID, "a multi hold has 1 to %d members", HF_MEMBERS_MAX);
}

static struct hfi_multi *make(size_t count)
{
    struct hfi_multi *multi = calloc(1, sizeof *multi + count * sizeof multi->hold[0]);

    if (multi)
        multi->count = count;
    return multi;
}

/* The options for the member that is next, with what is left of the time. */
static struct hf_acquire_options options_for(const struct hf_acquire_options *given,
                                             const struct hf_member *member,
                                             const struct hfi_taking_step *step)
{
    struct hf_acquire_options options = *given;

    options.size = sizeof options;
    options.mode = member->mode;
    options.permits = member->permits;
    options.busy = NULL;
    if (step->once)
        options.wait_ms = HF_TRY_ONCE;
    else if (step->wait_ns != HF_TIME_NEVER)
        options.wait_ms = (int64_t)((step->wait_ns + HFI_MSEC - 1) / HFI_MSEC);
    return options;
}

/* What is no time is for the first member to complain of. */
static void begin(struct hfi_taking *taking, const struct hf_acquire_options *options)
{
    int64_t ms = options->wait_ms;
    bool timed = ms > 0 && ms <= HF_WAIT_MAX_MS;

    hfi_taking_begin(taking, hfi_now(), ms == HF_TRY_ONCE,
                     timed ? (hfi_time)ms * HFI_MSEC : HF_TIME_NEVER);
}

/* It has failed: what was said of the last member stands, but of what the members came to together. */
static int tell_failure(const struct hfi_taking_step *step)
{
    if (step->lost)
        return hfi_fail(HF_ERR_UNSURE, "a member was lost while others were waited for");
    if (step->error == HF_ERR_CANCELLED)
        return hfi_fail(HF_ERR_CANCELLED, "%s", hf_strerror(HF_ERR_CANCELLED));
    return step->error;
}

/* ------------------------------------------------------------------------------------------------
 * The whole and its parts
 */

static void discard_parts(struct hfi_taking *taking)
{
    for (size_t i = 0; i < taking->count; i++) {
        if (!taking->handle[i])
            continue;
        hfi_hold_discard((struct hf_hold *)taking->handle[i]);
        taking->handle[i] = NULL;
    }
}

/* All are there. NULL: out of memory. */
static struct hf_hold *whole_of(struct hfi_multi *multi, const struct hfi_taking *taking,
                                void *cookie)
{
    struct hf_hold *whole = hfi_handle_new(((struct hf_hold *)taking->handle[0])->client);

    if (!whole)
        return NULL;
    whole->multi = multi;
    whole->handle.cookie = cookie;
    for (size_t i = 0; i < multi->count; i++)
        multi->hold[i] = (struct hf_hold *)taking->handle[i];
    atomic_store(&multi->whole, whole);
    hfi_multi_tell_missed(multi);
    return whole;
}

int hfi_multi_state(const struct hfi_multi *multi)
{
    struct hfi_handle *handles[HF_MEMBERS_MAX];

    for (size_t i = 0; i < multi->count; i++) {
        if (hfi_is_forked(multi->hold[i]->client))
            return HF_ERR_FORKED;
        handles[i] = &multi->hold[i]->handle;
    }
    return hfi_multi_state_of(handles, multi->count, hfi_now());
}

int64_t hfi_multi_remaining_ms(const struct hfi_multi *multi)
{
    struct hfi_handle *handles[HF_MEMBERS_MAX];
    hfi_time now = hfi_now();

    for (size_t i = 0; i < multi->count; i++)
        handles[i] = &multi->hold[i]->handle;
    return (int64_t)(hfi_time_until(now, hfi_multi_deadline_of(handles, multi->count, now)) /
                     HFI_MSEC);
}

int hfi_multi_verify(struct hfi_multi *multi)
{
    int worst = HF_OK;

    for (size_t i = 0; i < multi->count && worst != HF_ERR_LOST; i++) {
        int error = hf_hold_verify(multi->hold[i]);

        if (error && hfi_is_worse(error, worst))
            worst = error;
    }
    return worst ? hfi_fail(worst, "%s", hf_strerror(worst)) : HF_OK;
}

int hfi_multi_release(struct hf_hold *whole)
{
    struct hfi_multi *multi = whole->multi;
    int worst = HF_OK;

    atomic_store(&multi->whole, NULL); /* no news of it any more */
    for (size_t i = multi->count; i-- > 0;) {
        int error;

        multi->hold[i]->multi = NULL;
        error = hf_release(multi->hold[i]);
        if (error && hfi_is_worse(error, worst))
            worst = error;
    }
    whole->multi = NULL;
    free(multi);
    hfi_handle_free(whole);
    return worst ? hfi_fail(worst, "%s", hf_strerror(worst)) : HF_OK;
}

int hfi_multi_release_start(struct hf_hold *whole, void *cookie)
{
    struct hfi_multi *multi = whole->multi;
    int result;

    whole->multi = NULL;
    atomic_store(&multi->whole, NULL);
    atomic_store(&multi->left, (unsigned)multi->count + 1); /* one more: this call */
    for (size_t i = 0; i < multi->count; i++) {
        int error = hfi_part_release_start(multi->hold[i], cookie);

        if (!error)
            continue;
        hfi_multi_add_result(multi, error);
        atomic_fetch_sub(&multi->left, 1);
    }
    if (atomic_fetch_sub(&multi->left, 1) > 1) {
        hfi_handle_free(whole); /* the last part will tell */
        return HF_OK;
    }
    result = atomic_load(&multi->result);
    free(multi);
    return hfi_handle_tell(whole, cookie, result);
}

const hf_hold *hf_multi_hold(const hf_hold *hold, size_t i)
{
    if (!hold)
        return NULL;
    if (!hfi_is_multi(hold))
        return i == 0 ? hold : NULL;
    return i < hold->multi->count ? hold->multi->hold[i] : NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Blocking
 */

struct blocking {
    struct hf_member wanted[HF_MEMBERS_MAX];
    struct hfi_taking taking;
    struct hfi_multi *multi;
};

static void cancelled(void *arg)
{
    struct blocking *blocking = arg;

    discard_parts(&blocking->taking);
    free(blocking->multi);
}

static void take_one(struct blocking *blocking, const struct hf_acquire_options *given,
                     const struct hfi_taking_step *step)
{
    const struct hf_member *member = &blocking->wanted[step->place];
    struct hf_acquire_options options = options_for(given, member, step);
    hf_hold *hold = NULL;
    int error = hfi_acquire(member->client, member->name, &options, blocking->multi, &hold);

    hfi_taking_taken(&blocking->taking, error, error ? NULL : &hold->handle);
}

static int take(struct blocking *blocking, const struct hf_acquire_options *given)
{
    struct hfi_taking_step step;

    begin(&blocking->taking, given);
    for (;;) {
        hfi_taking_next(&blocking->taking, hfi_now(), &step);
        if (step.act == HFI_TAKING_HELD)
            return HF_OK;
        if (step.act == HFI_TAKING_FAILED)
            return tell_failure(&step);
        if (step.act == HFI_GIVE_BACK)
            hfi_hold_discard((struct hf_hold *)step.handle);
        else
            take_one(blocking, given, &step);
    }
}

int hf_multi_acquire(const struct hf_member *members, size_t count,
                     const struct hf_acquire_options *given, hf_hold **ret_hold)
{
    struct blocking blocking;
    struct hf_acquire_options options;
    struct hf_hold *whole;
    int error;

    if (!ret_hold)
        return hfi_fail(HF_ERR_INVALID, "hf_multi_acquire() needs somewhere to put the hold");
    error = check_count(members, count);
    if (!error)
        error = hfi_options_copy(&options, sizeof options, given, "hf_acquire_options");
    if (!error)
        error = read_members(members, count, blocking.wanted, &blocking.taking);
    if (error)
        return error;
    blocking.multi = make(count);
    if (!blocking.multi)
        return hfi_no_memory();
    pthread_cleanup_push(cancelled, &blocking);
    error = take(&blocking, &options);
    pthread_cleanup_pop(0);
    whole = error ? NULL : whole_of(blocking.multi, &blocking.taking, NULL);
    if (whole) {
        *ret_hold = whole;
        return HF_OK;
    }
    discard_parts(&blocking.taking);
    free(blocking.multi);
    return error ? error : hfi_no_memory();
}

/* ------------------------------------------------------------------------------------------------
 * Event loops
 */

/* A multi acquire in progress: the copy of what is wanted, and what there is of it. */
struct start {
    struct hfi_whole whole; /* first member */
    struct hfi_taking taking;
    struct hf_acquire_options options;
    struct hfi_multi *multi;
    void *cookie;
    struct hfi_tie *ties; /* behind the members */
    struct hf_member wanted[];
};

static void free_start(struct start *start)
{
    if (!start)
        return;
    hfi_untie(start->ties, start->taking.count);
    for (size_t i = 0; i < start->taking.count; i++)
        free((char *)start->wanted[i].name);
    free((char *)start->options.label);
    free(start->multi);
    free(start);
}

/* NULL: out of memory, or there is nothing. */
static char *copy_of(const char *text)
{
    return text ? strdup(text) : NULL;
}

static struct start *copy_start(const struct hf_member *wanted, const struct hfi_taking *taking,
                                const struct hf_acquire_options *options, void *cookie)
{
    size_t count = taking->count;
    struct start *start =
        calloc(1, sizeof *start + count * (sizeof start->wanted[0] + sizeof start->ties[0]));
    bool ok = true;

    if (!start)
        return NULL;
    start->taking = *taking;
    start->ties = (struct hfi_tie *)(start->wanted + count);
    start->options = *options;
    start->cookie = cookie;
    start->options.label = copy_of(options->label);
    ok = !options->label || start->options.label;
    for (size_t i = 0; i < count; i++) {
        start->wanted[i] = wanted[i];
        start->wanted[i].name = copy_of(wanted[i].name);
        ok = ok && start->wanted[i].name;
    }
    start->multi = make(count);
    if (ok && start->multi)
        return start;
    free_start(start);
    return NULL;
}

static void tie(struct start *start)
{
    start->whole.multi = start->multi;
    start->whole.ties = start->ties;
    start->whole.tie_count = start->taking.count;
    for (size_t i = 0; i < start->taking.count; i++) {
        start->ties[i].whole = &start->whole;
        start->ties[i].cookie = start->cookie;
        hfi_tie(start->wanted[i].client, &start->ties[i]);
    }
}

static int begin_next(struct start *start, const struct hfi_taking_step *step)
{
    const struct hf_member *member = &start->wanted[step->place];
    struct hf_acquire_options options = options_for(&start->options, member, step);
    struct hfi_waiter waiter = { 0 };
    int error = hfi_acquire_options(member->name, &options, &waiter);

    waiter.cookie = start;
    return error ? error : hfi_start(member->client, &waiter, &start->whole, start->cookie);
}

static bool fail(struct start *start, int error, struct hf_event *event)
{
    discard_parts(&start->taking);
    free_start(start);
    event->type = HF_EVENT_FAILED;
    event->error = error;
    event->hold = NULL;
    return true;
}

static bool succeed(struct start *start, struct hf_event *event)
{
    struct hf_hold *whole = whole_of(start->multi, &start->taking, start->cookie);

    if (!whole)
        return fail(start, hfi_no_memory(), event);
    event->hold = whole;
    start->multi = NULL;
    free_start(start);
    return true;
}

/* Goes on until a member is waited for (false), or to the end. */
static bool go_on(struct start *start, struct hf_event *event)
{
    struct hfi_taking_step step;
    int error;

    for (;;) {
        if (atomic_load(&start->whole.cancelled))
            hfi_taking_cancel(&start->taking);
        hfi_taking_next(&start->taking, hfi_now(), &step);
        if (step.act == HFI_TAKING_HELD)
            return succeed(start, event);
        if (step.act == HFI_TAKING_FAILED)
            return fail(start, tell_failure(&step), event);
        if (step.act == HFI_GIVE_BACK) {
            hfi_hold_discard((struct hf_hold *)step.handle);
            continue;
        }
        error = begin_next(start, &step);
        if (!error)
            return false;
        hfi_taking_taken(&start->taking, error, NULL);
    }
}

static bool advance(struct hfi_async *async, struct hf_event *event)
{
    struct start *start = async->waiter.cookie;
    bool acquired = event->type == HF_EVENT_ACQUIRED;

    free(async);
    hfi_taking_taken(&start->taking, acquired ? HF_OK : event->error,
                     acquired ? &event->hold->handle : NULL);
    return go_on(start, event);
}

static void abandon(struct hfi_async *async)
{
    struct start *start = async->waiter.cookie;

    hfi_hold_drop(async->hold);
    free(async->waiter.label);
    free(async);
    discard_parts(&start->taking);
    free_start(start);
}

int hf_multi_acquire_start(const struct hf_member *members, size_t count,
                           const struct hf_acquire_options *given, void *cookie)
{
    struct hf_member wanted[HF_MEMBERS_MAX];
    struct hfi_taking taking;
    struct hf_acquire_options options;
    struct hfi_taking_step step;
    struct start *start;
    int error = check_count(members, count);

    if (!error)
        error = hfi_options_copy(&options, sizeof options, given, "hf_acquire_options");
    if (!error)
        error = read_members(members, count, wanted, &taking);
    if (error)
        return error;
    start = copy_start(wanted, &taking, &options, cookie);
    if (!start)
        return hfi_no_memory();
    start->whole.advance = advance;
    start->whole.abandon = abandon;
    tie(start);
    begin(&start->taking, &options);
    hfi_taking_next(&start->taking, hfi_now(), &step); /* the first member */
    error = begin_next(start, &step);
    if (error)
        free_start(start);
    return error;
}
