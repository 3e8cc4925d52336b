/* SPDX-License-Identifier: Apache-2.0 */
/* Permits that are held, and their number: the verbs of redisson/'s Permits. */
#include "holdfast/objects.h"
#include "interop/player.h"

/* Some are inside: never more than there are permits for. */
static int step(struct storm *storm)
{
    const struct player_command *command = storm->command;
    int64_t inside;
    hf_hold *hold;
    int error = player_acquire(storm->player, command, HF_WAIT_FOREVER, 0, 1, &hold);

    if (error)
        return error;
    inside = storm_add(storm, command->word[3], 1);
    storm_add(storm, command->word[3], -1);
    error = hf_release(hold);
    return inside >= 1 && inside <= player_number(command, 4) ? error : HF_ERR_INTERNAL;
}

static void done(char *answer, int error)
{
    if (error && error != HF_ERR_EXISTS)
        player_fail(answer, error);
    else
        player_ok(answer, "done=%d", error == HF_OK);
}

static void count(hf_client *client, const char *name, char *answer)
{
    int64_t available, taken;
    int error = hf_permits_count(client, name, &available, &taken);

    if (error)
        player_fail(answer, error);
    else
        player_ok(answer, "count=%lld taken=%lld", (long long)available, (long long)taken);
}

bool player_permits(struct player_thread *self, const struct player_command *command, char *answer)
{
    hf_client *client = self->player->client;
    const char *name = command->word[1];
    int64_t number = player_number(command, 2);

    if (player_is(command, "set"))
        done(answer, hf_permits_set(client, name, number));
    else if (player_is(command, "resize"))
        done(answer, hf_permits_resize(client, name, number));
    else if (player_is(command, "delete"))
        done(answer, hf_permits_delete(client, name));
    else if (player_is(command, "add"))
        done(answer, hf_permits_add(client, name, number));
    else if (player_is(command, "count"))
        count(client, name, answer);
    else if (player_is(command, "storm"))
        player_storm(self->player, command, 5, step, answer);
    else
        return player_lock(self, command, answer);
    return true;
}
