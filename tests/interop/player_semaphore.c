/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores: the verbs of redisson/'s Semaphores. */
#include <unistd.h>

#include "holdfast/objects.h"
#include "interop/player.h"

static void done(char *answer, int error)
{
    if (error && error != HF_ERR_EXISTS && error != HF_ERR_NOT_FOUND)
        player_fail(answer, error);
    else
        player_ok(answer, "done=%d", error == HF_OK);
}

static void number_or(char *answer, int error, int64_t number)
{
    if (error)
        player_fail(answer, error);
    else
        player_ok(answer, "count=%lld", (long long)number);
}

static void give(hf_client *client, const char *name, int64_t permits, char *answer)
{
    unsigned long long from = player_now();
    int error = hf_semaphore_release(client, name, permits);

    if (error)
        player_fail(answer, error);
    else
        player_ok(answer, "from=%llu at=%llu", from, (unsigned long long)player_now());
}

/* Some are inside: never more than there are permits for. */
static int step(struct storm *storm)
{
    const struct player_command *command = storm->command;
    hf_client *client = storm->player->client;
    int64_t permits = player_number(command, 2), inside;
    int error = hf_semaphore_acquire(client, command->word[1], permits, NULL);

    if (error)
        return error;
    inside = storm_add(storm, command->word[3], permits);
    storm_add(storm, command->word[3], -permits);
    error = hf_semaphore_release(client, command->word[1], permits);
    return inside >= permits && inside <= player_number(command, 4) ? error : HF_ERR_INTERNAL;
}

/* Takes all that there are, and gives them back. */
static int drain_step(struct storm *storm)
{
    const struct player_command *command = storm->command;
    hf_client *client = storm->player->client;
    int64_t taken = 0, inside;
    int error = HF_OK;

    while (error == HF_OK && taken == 0) {
        error = hf_semaphore_drain(client, command->word[1], &taken);
        if (taken == 0)
            usleep(1000);
    }
    if (error)
        return error;
    inside = storm_add(storm, command->word[3], taken);
    storm_add(storm, command->word[3], -taken);
    error = hf_semaphore_release(client, command->word[1], taken);
    return inside >= taken && inside <= player_number(command, 4) ? error : HF_ERR_INTERNAL;
}

static bool take(hf_client *client, const struct player_command *command, char *answer)
{
    struct hf_wait_options options = { .size = sizeof options };

    if (player_is(command, "try"))
        options.wait_ms = HF_TRY_ONCE;
    else if (player_is(command, "timed"))
        options.wait_ms = player_number(command, 3);
    else if (!player_is(command, "lock"))
        return false;
    player_got(answer,
               hf_semaphore_acquire(client, command->word[1], player_number(command, 2), &options));
    return true;
}

bool player_semaphore(struct player_thread *self, const struct player_command *command,
                      char *answer)
{
    hf_client *client = self->player->client;
    const char *name = command->word[1];
    int64_t number = player_number(command, 2), ret = 0;
    int error;

    if (player_is(command, "set")) {
        done(answer, hf_semaphore_set(client, name, number, player_number(command, 3)));
    } else if (player_is(command, "return")) {
        done(answer, hf_semaphore_release_if_exists(client, name, number));
    } else if (player_is(command, "delete")) {
        done(answer, hf_semaphore_delete(client, name));
    } else if (player_is(command, "add")) {
        done(answer, hf_semaphore_add(client, name, number));
    } else if (player_is(command, "drain")) {
        error = hf_semaphore_drain(client, name, &ret);
        number_or(answer, error, ret);
    } else if (player_is(command, "count")) {
        error = hf_semaphore_available(client, name, &ret);
        number_or(answer, error, ret);
    } else if (player_is(command, "unlock")) {
        give(client, name, number, answer);
    } else if (player_is(command, "storm")) {
        player_storm(self->player, command, 5, step, answer);
    } else if (player_is(command, "drain-storm")) {
        player_storm(self->player, command, 5, drain_step, answer);
    } else {
        return take(client, command, answer);
    }
    return true;
}
