/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people see of a wait (wait.h): who or what is in the way, our place, and why it was in vain.
 *
 * Invariant: asking who holds the lock blocks for a round trip; it is done for people only, and the slower the
 * store answers, the more seldom.
 */
#include <stdio.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/message.h"
#include "cli/wait.h"

#define DRAW_MS     CLI_WAIT_DRAW_MS
#define LOOK_FACTOR 20 /* at most this part of our time is spent on asking for people */
#define PLACE_ROOM  40

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

void hfi_cli_wait_show(struct cli_wait *wait, uint64_t now)
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
