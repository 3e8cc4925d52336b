/* SPDX-License-Identifier: Apache-2.0 */
/* Latches: the verbs of redisson/'s Latches. */
#include "holdfast/objects.h"
#include "interop/player.h"

static void done(char *answer, int error)
{
    if (error && error != HF_ERR_EXISTS && error != HF_ERR_NOT_FOUND)
        player_fail(answer, error);
    else
        player_ok(answer, "done=%d", error == HF_OK);
}

static void down(hf_client *client, const char *name, char *answer)
{
    unsigned long long from = player_now();
    int error = hf_latch_down(client, name, NULL);

    if (error)
        player_fail(answer, error);
    else
        player_ok(answer, "from=%llu at=%llu", from, (unsigned long long)player_now());
}

static void count(hf_client *client, const char *name, char *answer)
{
    int64_t number;
    int error = hf_latch_count(client, name, &number);

    if (error)
        player_fail(answer, error);
    else
        player_ok(answer, "count=%lld", (long long)number);
}

bool player_latch(struct player_thread *self, const struct player_command *command, char *answer)
{
    hf_client *client = self->player->client;
    const char *name = command->word[1];
    int64_t number = player_number(command, 2);

    if (player_is(command, "set"))
        done(answer, hf_latch_set(client, name, number));
    else if (player_is(command, "delete"))
        done(answer, hf_latch_delete(client, name));
    else if (player_is(command, "count"))
        count(client, name, answer);
    else if (player_is(command, "unlock"))
        down(client, name, answer);
    else if (player_is(command, "lock"))
        player_got(answer, hf_latch_await(client, name, NULL));
    else if (player_is(command, "timed"))
        player_got(answer, hf_latch_await(client, name, HF_WAIT(.wait_ms = number)));
    else
        return false;
    return true;
}
