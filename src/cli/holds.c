/* SPDX-License-Identifier: Apache-2.0 */
/* Several holds as one. See holds.h. */
#include <poll.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/holds.h"

#define RELEASE_MS 10000 /* the library answers much earlier */
#define POLL_MS    100

static bool is_valid(const hf_hold *hold)
{
    int state = hf_hold_state(hold);

    return state == HF_HELD || state == HF_AT_RISK;
}

bool hfi_cli_holds_are_valid(const struct cli_holds *holds)
{
    for (size_t i = 0; i < holds->count; i++)
        if (!is_valid(holds->hold[i]))
            return false;
    return true;
}

int64_t hfi_cli_holds_remaining_ms(const struct cli_holds *holds)
{
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < holds->count; i++) {
        int64_t ms = hf_hold_remaining_ms(holds->hold[i]);

        if (ms < least)
            least = ms;
    }
    return least;
}

const hf_hold *hfi_cli_holds_worst(const struct cli_holds *holds)
{
    const hf_hold *worst = NULL;
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < holds->count; i++) {
        int64_t ms = is_valid(holds->hold[i]) ? hf_hold_remaining_ms(holds->hold[i]) : -1;

        if (!worst || ms < least) {
            worst = holds->hold[i];
            least = ms;
        }
    }
    return worst;
}

const hf_hold *hfi_cli_holds_find(const struct cli_holds *holds, const char *name)
{
    for (size_t i = 0; i < holds->count; i++)
        if (strcmp(hf_hold_name(holds->hold[i]), name) == 0)
            return holds->hold[i];
    return NULL;
}

void hfi_cli_holds_verify(struct cli_holds *holds)
{
    for (size_t i = 0; i < holds->count; i++) {
        int result = hf_hold_verify(holds->hold[i]);

        if (result != HF_OK && result != HF_ERR_LOST)
            return;
    }
}

static int worse_of(int a, int b)
{
    return a == HF_OK || b == HF_ERR_LOST ? b : a;
}

/* Takes events until `left` releases are over. */
static int await_released(const struct cli_holds *holds, hf_client *client, size_t left)
{
    uint64_t until = cli_later(cli_now(), RELEASE_MS * CLI_MS);
    int worst = HF_OK;

    while (left > 0) {
        struct hf_event event = { .size = sizeof event };
        struct pollfd polled = { .fd = hf_fd(client), .events = POLLIN };
        int got = hf_next(client, &event);

        if (got < 0 || cli_now() >= until)
            return worse_of(worst, HF_ERR_UNSURE);
        if (got == 0) {
            poll(&polled, 1, POLL_MS);
        } else if (event.type == HF_EVENT_RELEASED && event.cookie == holds) {
            worst = worse_of(worst, event.error);
            left--;
        }
    }
    return worst;
}

int hfi_cli_holds_release(struct cli_holds *holds, hf_client *client)
{
    size_t started = 0;
    int worst = HF_OK;

    for (size_t i = 0; i < holds->count; i++) {
        int result = hf_release_start(holds->hold[i], holds);

        started += result == HF_OK;
        worst = worse_of(worst, result);
    }
    holds->count = 0;
    return worse_of(worst, await_released(holds, client, started));
}
