/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets and maps, as text: the verbs of redisson/'s Values. "-" stands for none. */
#include <string.h>

#include "holdfast/objects.h"
#include "interop/player.h"

static struct hf_value value_of(const char *text)
{
    return strcmp(text, "-") == 0 ? (struct hf_value){ 0 }
                                  : (struct hf_value){ .bytes = text, .len = strlen(text) };
}

static void done(char *answer, int error)
{
    bool is_no = error == HF_ERR_EXISTS || error == HF_ERR_CHANGED || error == HF_ERR_NOT_FOUND;

    if (error && !is_no)
        player_fail(answer, error);
    else
        player_ok(answer, "done=%d", error == HF_OK);
}

/* Frees it. */
static void say(char *answer, int error, struct hf_value *value)
{
    if (error && error != HF_ERR_NOT_FOUND)
        player_fail(answer, error);
    else
        player_ok(answer, "value=%s", value->bytes ? (const char *)value->bytes : "-");
    hf_value_free(value);
}

static void ttl(hf_client *client, const char *name, char *answer)
{
    int64_t left = -2;
    int error = hf_bucket_ttl(client, name, &left);

    if (error && error != HF_ERR_NOT_FOUND)
        player_fail(answer, error);
    else
        player_ok(answer, "left=%lld", (long long)left);
}

bool player_bucket(struct player_thread *self, const struct player_command *command, char *answer)
{
    hf_client *client = self->player->client;
    const char *name = command->word[1];
    struct hf_value value = value_of(command->word[2]), before = { 0 };
    int error;

    if (player_is(command, "get")) {
        error = hf_bucket_get(client, name, &before);
        say(answer, error, &before);
    } else if (player_is(command, "set")) {
        done(answer,
             hf_bucket_set(client, name, value, HF_VALUE(.ttl_ms = player_number(command, 3))));
    } else if (player_is(command, "absent")) {
        done(answer, hf_bucket_set_if_absent(client, name, value, NULL));
    } else if (player_is(command, "compare")) {
        done(answer,
             hf_bucket_compare_and_set(client, name, value, value_of(command->word[3]), NULL));
    } else if (player_is(command, "swap")) {
        error = hf_bucket_get_and_set(client, name, value, NULL, &before);
        say(answer, error, &before);
    } else if (player_is(command, "ttl")) {
        ttl(client, name, answer);
    } else if (player_is(command, "delete")) {
        done(answer, hf_bucket_delete(client, name, NULL));
    } else {
        return false;
    }
    return true;
}

static void size(hf_client *client, const char *name, char *answer)
{
    int64_t count = 0;
    int error = hf_map_size(client, name, &count);

    if (error)
        player_fail(answer, error);
    else
        player_ok(answer, "count=%lld", (long long)count);
}

bool player_map(struct player_thread *self, const struct player_command *command, char *answer)
{
    hf_client *client = self->player->client;
    const char *name = command->word[1];
    struct hf_value key = value_of(command->word[2]), value = value_of(command->word[3]);
    struct hf_value before = { 0 };
    int error;

    if (player_is(command, "put")) {
        error = hf_map_put(client, name, key, value, NULL, &before);
        say(answer, error, &before);
    } else if (player_is(command, "absent")) {
        done(answer, hf_map_put_if_absent(client, name, key, value, NULL));
    } else if (player_is(command, "get")) {
        error = hf_map_get(client, name, key, &before);
        say(answer, error, &before);
    } else if (player_is(command, "remove")) {
        error = hf_map_remove(client, name, key, NULL, &before);
        say(answer, error, &before);
    } else if (player_is(command, "size")) {
        size(client, name, answer);
    } else {
        return false;
    }
    return true;
}
