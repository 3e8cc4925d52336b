/* SPDX-License-Identifier: Apache-2.0 */
/* What can be done with a handle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "api/options.h"
#include "runtime/clock.h"

/* ------------------------------------------------------------------------------------------------
 * Local: no lock, no I/O
 */

static hfi_time deadline_of(const hf_hold *hold)
{
    return hfi_hold_deadline(hold->handle.hold);
}

int hf_hold_state(const hf_hold *hold)
{
    if (hfi_is_forked(hold->client))
        return HF_ERR_FORKED;
    if (hfi_is_multi(hold))
        return hfi_multi_state(hold->multi);
    return hfi_hold_state_at(hold->handle.hold, hfi_now());
}

int64_t hf_hold_remaining_ms(const hf_hold *hold)
{
    int state = hf_hold_state(hold);

    if (state != HF_HELD && state != HF_AT_RISK)
        return 0;
    if (hfi_is_multi(hold))
        return hfi_multi_remaining_ms(hold->multi);
    return (int64_t)(hfi_time_until(hfi_now(), deadline_of(hold)) / HFI_MSEC);
}

uint64_t hf_hold_token(const hf_hold *hold)
{
    return hold->handle.token;
}

const char *hf_hold_name(const hf_hold *hold)
{
    if (hfi_is_multi(hold))
        hold = hold->multi->hold[0];
    return hold->handle.hold->lease.name;
}

size_t hf_hold_owner(const hf_hold *hold, char *buf, size_t len)
{
    char text[sizeof hold->client->identity.id + 24];
    int n;

    if (hfi_is_multi(hold))
        hold = hold->multi->hold[0];
    n = snprintf(text, sizeof text, "%s:%llu", hold->client->identity.id,
                 (unsigned long long)hold->handle.hold->lease.owner);

    if (len > 0) {
        size_t fits = (size_t)n < len ? (size_t)n : len - 1;

        memcpy(buf, text, fits);
        buf[fits] = '\0';
    }
    return (size_t)n;
}

/* ------------------------------------------------------------------------------------------------
 * Release
 */

/* A closed client still takes its handles back. HF_OK with the lock taken; else what to return. */
static int enter(hf_hold *hold)
{
    hf_client *client = hold->client;

    if (hfi_is_forked(client)) {
        free(hold); /* the parent's is another copy */
        return hfi_fail(HF_ERR_FORKED, "this hold belongs to the parent process");
    }
    hfi_lock(client);
    if (client->dissolving && !client->finished)
        hfi_await_finished(client);
    if (!client->finished) {
        hfi_enter_locked(client);
        return HF_OK;
    }
    hfi_unlock(client);
    hfi_hold_drop(hold);
    return hfi_fail(HF_ERR_CLOSED, "the client was closed before: the hold was given back then");
}

static void feed_release(hf_client *client, hf_hold *hold)
{
    hfi_feed(client, hfi_now(),
             &(struct hfi_input){ .kind = HFI_INPUT_RELEASE, .u.handle = &hold->handle });
}

int hf_release(hf_hold *hold)
{
    struct hfi_call call;
    hf_client *client;
    int error;

    if (!hold)
        return HF_OK;
    if (hfi_is_multi(hold))
        return hfi_multi_release(hold);
    client = hold->client;
    error = enter(hold);
    if (error)
        return error;
    hfi_call_init(&call, HFI_CALL_RELEASE);
    hold->releaser = &call;
    feed_release(client, hold);
    hfi_call_wait(client, &call);
    error = hfi_fail_store(client, hold->handle.releaser.result);
    hfi_hold_free(client, hold);
    hfi_leave(client);
    return error;
}

void hfi_hold_discard(hf_hold *hold)
{
    hf_client *client = hold->client;

    if (enter(hold) != HF_OK)
        return;
    hold->handle.releaser.discarded = true;
    hold->multi = NULL;
    feed_release(client, hold);
    hfi_leave(client);
}

struct hf_hold *hfi_handle_new(hf_client *client)
{
    struct hf_hold *hold;

    hfi_lock(client);
    hold = hfi_hold_alloc(client);
    hfi_unlock(client);
    return hold;
}

void hfi_handle_free(struct hf_hold *hold)
{
    hf_client *client = hold->client;

    if (enter(hold) != HF_OK)
        return;
    hfi_hold_free(client, hold);
    hfi_leave(client);
}

int hfi_handle_tell(struct hf_hold *hold, void *cookie, int result)
{
    hf_client *client = hold->client;
    int error = enter(hold);

    if (error)
        return error;
    hold->multi = NULL;
    hold->handle.cookie = cookie;
    hold->handle.releaser.result = result;
    LL_APPEND(client->released, hold);
    hfi_event_signal(client);
    hfi_leave(client);
    return HF_OK;
}

int hfi_part_release_start(hf_hold *hold, void *cookie)
{
    hf_client *client = hold->client;
    int error = enter(hold);

    if (error)
        return error;
    hold->handle.cookie = cookie;
    feed_release(client, hold);
    hfi_leave(client);
    return HF_OK;
}

int hf_release_start(hf_hold *hold, void *cookie)
{
    if (!hold)
        return hfi_fail(HF_ERR_INVALID, "hf_release_start() needs a hold");
    return hfi_is_multi(hold) ? hfi_multi_release_start(hold, cookie)
                              : hfi_part_release_start(hold, cookie);
}

/* ------------------------------------------------------------------------------------------------
 * Verify
 */

static int result_of(const struct hfi_renewal *renewal, const struct hfi_renewal_item *item)
{
    if (renewal->request.outcome != HFI_DONE)
        return renewal->request.error;
    return item->kept ? HF_OK : HF_ERR_LOST;
}

int hf_hold_verify(hf_hold *hold)
{
    struct hfi_renewal_item item = { 0 };
    struct hfi_renewal renewal = { .count = 1, .items = &item };
    struct hfi_call call;
    hf_client *client;
    int error;

    if (!hold)
        return hfi_fail(HF_ERR_INVALID, "hf_hold_verify() needs a hold");
    if (hfi_is_multi(hold))
        return hfi_multi_verify(hold->multi);
    client = hold->client;
    error = hfi_enter(client);
    if (error)
        return error;
    if (hf_hold_state(hold) == HF_LOST) {
        hfi_leave(client);
        return hfi_fail(HF_ERR_LOST, "%s", hf_strerror(HF_ERR_LOST));
    }
    hfi_call_init(&call, HFI_CALL_REQUEST);
    item.lease = &hold->handle.hold->lease;
    renewal.request.host = &call;
    hfi_feed(client, hfi_now(),
             &(struct hfi_input){ .kind = HFI_INPUT_VERIFY, .u.renewal = &renewal });
    hfi_call_wait(client, &call);
    error = result_of(&renewal, &item);
    if (!error && hf_hold_state(hold) == HF_LOST)
        error = HF_ERR_LOST; /* the answer came after the deadline */
    error = hfi_fail_store(client, error);
    hfi_leave(client);
    return error;
}
