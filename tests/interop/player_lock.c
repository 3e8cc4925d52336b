/* SPDX-License-Identifier: Apache-2.0 */
/* What hf_acquire() takes: the verbs of redisson/'s Locks; those that a hold of permits has, too. */
#include <string.h>

#include "interop/player.h"

#define MEMBERS 4

static int acquire_multi(const struct player *player, const char *names,
                         const struct hf_acquire_options *options, hf_hold **ret_hold)
{
    struct hf_member member[MEMBERS];
    char copy[256], *rest = NULL;
    size_t count = 0;

    strncpy(copy, names, sizeof copy - 1);
    copy[sizeof copy - 1] = '\0';
    for (char *name = strtok_r(copy, "+", &rest); name && count < MEMBERS;
         name = strtok_r(NULL, "+", &rest))
        member[count++] =
            (struct hf_member){ .size = sizeof member[0], .client = player->client, .name = name };
    return hf_multi_acquire(member, count, options, ret_hold);
}

int player_acquire(const struct player *player, const struct player_command *command,
                   int64_t wait_ms, int64_t lease_ms, int64_t permits, hf_hold **ret_hold)
{
    struct hf_acquire_options options = {
        .size = sizeof options,
        .wait_ms = wait_ms,
        .ttl_ms = lease_ms ? 0 : player->ttl_ms,
        .lease_ms = lease_ms,
        .mode = command->mode,
        .permits = permits,
        .reentry = command->is_once ? HF_OFF : 0,
    };

    if (command->is_multi)
        return acquire_multi(player, command->word[1], &options, ret_hold);
    return hf_acquire(player->client, command->word[1], &options, ret_hold);
}

static void take(struct player_thread *self, const struct player_command *command, int64_t wait_ms,
                 int64_t lease_ms, int64_t permits, char *answer)
{
    struct player_hold *mine = &self->hold[self->holds];
    char owner[HF_OWNER_MAX + 1];

    if (self->holds == PLAYER_HOLDS) {
        strcpy(answer, "error too many holds");
        return;
    }
    if (!player_got(answer,
                    player_acquire(self->player, command, wait_ms, lease_ms, permits, &mine->hold)))
        return;
    mine->mode = command->mode;
    mine->is_multi = command->is_multi;
    strncpy(mine->name, command->word[1], sizeof mine->name - 1);
    self->holds++;
    for (size_t i = 0; i < MEMBERS; i++) {
        const hf_hold *hold = mine->is_multi ? hf_multi_hold(mine->hold, i) : mine->hold;

        if (!hold || (i > 0 && !mine->is_multi))
            break;
        hf_hold_owner(hold, owner, sizeof owner);
        player_more(answer, i == 0 ? " owner=%s" : " owner2=%s", owner);
    }
    player_more(answer, " token=%llu", (unsigned long long)hf_hold_token(mine->hold));
}

/* The last hold of that kind and name; PLAYER_HOLDS: there is none. */
static size_t find(const struct player_thread *self, const struct player_command *command)
{
    for (size_t i = self->holds; i > 0; i--) {
        const struct player_hold *mine = &self->hold[i - 1];

        if (mine->mode == command->mode && mine->is_multi == command->is_multi &&
            strcmp(mine->name, command->word[1]) == 0)
            return i - 1;
    }
    return PLAYER_HOLDS;
}

static void give(struct player_thread *self, size_t at, char *answer)
{
    unsigned long long from = player_now();
    int error = hf_release(self->hold[at].hold);

    memmove(&self->hold[at], &self->hold[at + 1], (self->holds - at - 1) * sizeof self->hold[0]);
    self->holds--;
    if (error)
        player_fail(answer, error);
    else
        player_ok(answer, "from=%llu at=%llu", from, (unsigned long long)player_now());
}

static void is_held(const struct player_thread *self, size_t at, char *answer)
{
    int state = at == PLAYER_HOLDS ? HF_RELEASED : hf_hold_state(self->hold[at].hold);

    player_ok(answer, "held=%d", state == HF_HELD || state == HF_AT_RISK);
}

/* How often the thread has it. */
static void count(const struct player_thread *self, const struct player_command *command,
                  char *answer)
{
    int count = 0;

    for (size_t i = 0; i < self->holds; i++)
        count += self->hold[i].mode == command->mode &&
                 strcmp(self->hold[i].name, command->word[1]) == 0;
    player_ok(answer, "count=%d", count);
}

/* What people see of it. */
static void look(hf_client *client, const char *name, char *answer)
{
    struct hf_lock lock = { .size = sizeof lock };
    hf_list *list = NULL;
    int error = hf_inspect(client, name, &list);

    if (error == HF_ERR_NOT_FOUND) {
        player_ok(answer, "locked=0");
        return;
    }
    if (error || (error = hf_list_get(list, 0, &lock)) != HF_OK)
        player_fail(answer, error);
    else
        player_ok(answer, "locked=%d left=%lld kind=%s owner=%s", strcmp(lock.state, "held") == 0,
                  (long long)lock.holder.remaining_ms, lock.kind, lock.holder.owner);
    hf_list_free(list);
}

static bool storm(const struct player *player, const struct player_command *command, char *answer)
{
    storm_step *step = player_is(command, "storm")         ? storm_count
                       : player_is(command, "write-storm") ? storm_write
                       : player_is(command, "look-storm")  ? storm_look
                                                           : NULL;

    if (step)
        player_storm(player, command, 3, step, answer);
    return step != NULL;
}

bool player_lock(struct player_thread *self, const struct player_command *command, char *answer)
{
    size_t at = find(self, command);
    int64_t number = player_number(command, 2);

    if (player_is(command, "lock") || player_is(command, "token"))
        take(self, command, HF_WAIT_FOREVER, 0, number, answer);
    else if (player_is(command, "lease"))
        take(self, command, HF_WAIT_FOREVER, number, 0, answer);
    else if (player_is(command, "try"))
        take(self, command, HF_TRY_ONCE, 0, number, answer);
    else if (player_is(command, "timed"))
        take(self, command, number, 0, 0, answer);
    else if (player_is(command, "unlock") && at < PLAYER_HOLDS)
        give(self, at, answer);
    else if (player_is(command, "held"))
        is_held(self, at, answer);
    else if (player_is(command, "count"))
        count(self, command, answer);
    else if (player_is(command, "look"))
        look(self->player->client, command->word[1], answer);
    else
        return storm(self->player, command, answer);
    return true;
}
