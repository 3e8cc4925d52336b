/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several locks as one hold.
 *
 * Members are taken one after another, in the order of store, name and mode. All programs keep that order, so
 * of two that want the same locks one has the first of them in common, and waits for nothing that the other
 * holds: no circle, and nobody has to give way. While later members are waited for, earlier ones are renewed
 * like all holds; if one was lost by then, everything is given back and taken anew, as long as there is time.
 *
 * The handle that the program gets has no hold of its own: it points to its parts, and each part to it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/options.h"
#include "runtime/clock.h"

/* What is wanted, in the order in which it is taken. */
struct wanted {
    struct hf_member member;
    size_t place; /* as the program named it */
};

/* ------------------------------------------------------------------------------------------------
 * What is asked for
 */

static int compare_members(const struct hf_member *a, const struct hf_member *b)
{
    int order = strcmp(hf_client_store(a->client), hf_client_store(b->client));

    return order ? order : strcmp(a->name, b->name);
}

static int compare(const void *a, const void *b)
{
    return compare_members(&((const struct wanted *)a)->member,
                           &((const struct wanted *)b)->member);
}

static int read_members(const struct hf_member *members, size_t count, struct wanted *wanted)
{
    const char *at = (const char *)members;

    for (size_t i = 0; i < count; i++) {
        struct hf_member *member = &wanted[i].member;
        size_t size, len;
        int error;

        memcpy(&size, at, sizeof size);
        if (size < sizeof size || size > 4096)
            return hfi_fail(HF_ERR_INVALID, "hf_member: set the size member of each to the size of "
                                            "the struct");
        memcpy(member, at, size < sizeof *member ? size : sizeof *member);
        at += size;
        if (!member->client)
            return hfi_fail(HF_ERR_INVALID, "each member of a multi hold needs a client");
        error = hfi_check_name(member->name, "a lock's name", &len);
        if (error)
            return error;
        wanted[i].place = i;
    }
    qsort(wanted, count, sizeof *wanted, compare);
    for (size_t i = 1; i < count; i++)
        if (compare_members(&wanted[i - 1].member, &wanted[i].member) == 0)
            return hfi_fail(HF_ERR_INVALID, "'%s' is named twice in one multi hold",
                            wanted[i].member.name);
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

/* The options for the next member, with what is left of the time. */
static struct hf_acquire_options options_for(const struct hf_acquire_options *given,
                                             const struct hf_member *member, hfi_time until)
{
    struct hf_acquire_options options = *given;
    hfi_time now = hfi_now();

    options.size = sizeof options;
    options.mode = member->mode;
    options.permits = member->permits;
    options.busy = NULL;
    if (given->wait_ms > 0)
        options.wait_ms =
            until > now ? (int64_t)((until - now + HFI_MSEC - 1) / HFI_MSEC) : HF_TRY_ONCE;
    return options;
}

static hfi_time until_of(const struct hf_acquire_options *options)
{
    if (options->wait_ms <= 0 || options->wait_ms > HF_WAIT_MAX_MS)
        return HF_TIME_NEVER;
    return hfi_now() + (hfi_time)options->wait_ms * HFI_MSEC;
}

/* ------------------------------------------------------------------------------------------------
 * The whole and its parts
 */

static void discard_parts(struct hfi_multi *multi)
{
    for (size_t i = 0; i < multi->count; i++) {
        if (!multi->hold[i])
            continue;
        multi->hold[i]->multi = NULL;
        hfi_hold_discard(multi->hold[i]);
        multi->hold[i] = NULL;
    }
}

static bool all_valid(const struct hfi_multi *multi)
{
    int state = hfi_multi_state(multi);

    return state == HF_HELD || state == HF_AT_RISK;
}

/* NULL: out of memory. */
static struct hf_hold *whole_of(struct hfi_multi *multi, void *cookie)
{
    struct hf_hold *whole = hfi_handle_new(multi->hold[0]->client);

    if (!whole)
        return NULL;
    whole->multi = multi;
    whole->handle.cookie = cookie;
    multi->whole = whole;
    for (size_t i = 0; i < multi->count; i++)
        multi->hold[i]->multi = multi;
    return whole;
}

int hfi_multi_state(const struct hfi_multi *multi)
{
    int worst = HF_HELD;

    for (size_t i = 0; i < multi->count; i++) {
        int state = hf_hold_state(multi->hold[i]);

        if (state < 0 || state == HF_LOST)
            return state;
        if (state > worst)
            worst = state;
    }
    return worst;
}

int64_t hfi_multi_remaining_ms(const struct hfi_multi *multi)
{
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < multi->count; i++) {
        int64_t remaining = hf_hold_remaining_ms(multi->hold[i]);

        if (remaining < least)
            least = remaining;
    }
    return least;
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

    multi->whole = NULL; /* no news of it any more */
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
    multi->whole = NULL;
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

static void cancelled(void *arg)
{
    struct hfi_multi *multi = arg;

    discard_parts(multi);
    free(multi);
}

static int take_all(const struct wanted *wanted, const struct hf_acquire_options *given,
                    hfi_time until, struct hfi_multi *multi)
{
    for (size_t i = 0; i < multi->count; i++) {
        const struct hf_member *member = &wanted[i].member;
        struct hf_acquire_options options = options_for(given, member, until);
        int error =
            hf_acquire(member->client, member->name, &options, &multi->hold[wanted[i].place]);

        if (error)
            return error;
    }
    return HF_OK;
}

static int take(const struct wanted *wanted, const struct hf_acquire_options *given,
                struct hfi_multi *multi)
{
    hfi_time until = until_of(given);

    for (;;) {
        int error = take_all(wanted, given, until, multi);

        if (!error && all_valid(multi))
            return HF_OK;
        discard_parts(multi);
        if (error)
            return error;
        if (given->wait_ms == HF_TRY_ONCE || hfi_now() >= until)
            return hfi_fail(HF_ERR_UNSURE, "a member was lost while others were waited for");
    }
}

int hf_multi_acquire(const struct hf_member *members, size_t count,
                     const struct hf_acquire_options *given, hf_hold **ret_hold)
{
    struct wanted wanted[HF_MEMBERS_MAX] = { 0 };
    struct hf_acquire_options options;
    struct hfi_multi *multi;
    struct hf_hold *whole;
    int error;

    if (!ret_hold)
        return hfi_fail(HF_ERR_INVALID, "hf_multi_acquire() needs somewhere to put the hold");
    error = check_count(members, count);
    if (!error)
        error = hfi_options_copy(&options, sizeof options, given, "hf_acquire_options");
    if (!error)
        error = read_members(members, count, wanted);
    if (error)
        return error;
    multi = make(count);
    if (!multi)
        return hfi_no_memory();
    pthread_cleanup_push(cancelled, multi);
    error = take(wanted, &options, multi);
    pthread_cleanup_pop(0);
    whole = error ? NULL : whole_of(multi, NULL);
    if (whole) {
        *ret_hold = whole;
        return HF_OK;
    }
    discard_parts(multi);
    free(multi);
    return error ? error : hfi_no_memory();
}

/* ------------------------------------------------------------------------------------------------
 * Event loops
 */

/* A multi acquire in progress: the copy of what is wanted, and what there is of it. */
struct start {
    size_t count, next; /* taken so far, the one in progress not counted */
    hfi_time until;
    struct hf_acquire_options options;
    struct hfi_multi *multi;
    void *cookie;
    struct wanted wanted[];
};

static void free_start(struct start *start)
{
    if (!start)
        return;
    for (size_t i = 0; i < start->count; i++)
        free((char *)start->wanted[i].member.name);
    free((char *)start->options.label);
    free(start->multi);
    free(start);
}

/* NULL: out of memory, or there is nothing. */
static char *copy_of(const char *text)
{
    return text ? strdup(text) : NULL;
}

static struct start *copy_start(const struct wanted *wanted, size_t count,
                                const struct hf_acquire_options *options, void *cookie)
{
    struct start *start = calloc(1, sizeof *start + count * sizeof start->wanted[0]);
    bool ok = true;

    if (!start)
        return NULL;
    start->count = count;
    start->options = *options;
    start->cookie = cookie;
    start->options.label = copy_of(options->label);
    ok = !options->label || start->options.label;
    for (size_t i = 0; i < count; i++) {
        start->wanted[i] = wanted[i];
        start->wanted[i].member.name = copy_of(wanted[i].member.name);
        ok = ok && start->wanted[i].member.name;
    }
    start->multi = make(count);
    if (ok && start->multi)
        return start;
    free_start(start);
    return NULL;
}

static const struct hfi_whole WHOLE;

static int begin_next(struct start *start)
{
    const struct hf_member *member = &start->wanted[start->next].member;
    struct hf_acquire_options options = options_for(&start->options, member, start->until);
    struct hfi_waiter waiter = { 0 };
    int error = hfi_acquire_options(member->name, &options, &waiter);

    waiter.cookie = start;
    return error ? error : hfi_start(member->client, &waiter, &WHOLE, start->cookie);
}

static bool fail(struct start *start, int error, struct hf_event *event)
{
    discard_parts(start->multi);
    free_start(start);
    event->type = HF_EVENT_FAILED;
    event->error = error;
    event->hold = NULL;
    return true;
}

static bool succeed(struct start *start, struct hf_event *event)
{
    struct hf_hold *whole = whole_of(start->multi, start->cookie);

    if (!whole)
        return fail(start, HF_ERR_NO_MEMORY, event);
    event->hold = whole;
    start->multi = NULL;
    free_start(start);
    return true;
}

/* The last one is there: are the others, still? */
static bool conclude(struct start *start, struct hf_event *event)
{
    int error;

    if (all_valid(start->multi))
        return succeed(start, event);
    if (start->options.wait_ms == HF_TRY_ONCE || hfi_now() >= start->until)
        return fail(start, HF_ERR_UNSURE, event);
    discard_parts(start->multi);
    start->next = 0;
    error = begin_next(start);
    return error ? fail(start, error, event) : false;
}

static bool advance(struct hfi_async *async, struct hf_event *event)
{
    struct start *start = async->waiter.cookie;
    bool cancelled = async->cancelled;
    int error;

    free(async);
    if (event->type != HF_EVENT_ACQUIRED)
        return fail(start, event->error, event);
    start->multi->hold[start->wanted[start->next].place] = event->hold;
    if (cancelled)
        return fail(start, hfi_fail(HF_ERR_CANCELLED, "%s", hf_strerror(HF_ERR_CANCELLED)), event);
    if (++start->next == start->count)
        return conclude(start, event);
    error = begin_next(start);
    return error ? fail(start, error, event) : false;
}

static void abandon(struct hfi_async *async)
{
    struct start *start = async->waiter.cookie;

    hfi_hold_drop(async->hold);
    free(async->waiter.label);
    free(async);
    discard_parts(start->multi);
    free_start(start);
}

static const struct hfi_whole WHOLE = { .advance = advance, .abandon = abandon };

int hf_multi_acquire_start(const struct hf_member *members, size_t count,
                           const struct hf_acquire_options *given, void *cookie)
{
    struct wanted wanted[HF_MEMBERS_MAX] = { 0 };
    struct hf_acquire_options options;
    struct start *start;
    int error = check_count(members, count);

    if (!error)
        error = hfi_options_copy(&options, sizeof options, given, "hf_acquire_options");
    if (!error)
        error = read_members(members, count, wanted);
    if (error)
        return error;
    start = copy_start(wanted, count, &options, cookie);
    if (!start)
        return hfi_no_memory();
    start->until = until_of(&options);
    error = begin_next(start);
    if (error)
        free_start(start);
    return error;
}
