/* SPDX-License-Identifier: Apache-2.0 */
/* One step with an object, as a public call: checked, and done or started. */
#include "api/object.h"

#include <stdlib.h>
#include <string.h>

static const char *family(enum hfi_verb verb)
{
    if (verb <= HFI_SEMAPHORE_DELETE)
        return "semaphores";
    if (verb <= HFI_PERMITS_DELETE)
        return "permits";
    if (verb <= HFI_LATCH_DELETE)
        return "latches";
    if (verb <= HFI_BUCKET_DELETE)
        return "buckets";
    return verb <= HFI_MAP_SIZE ? "maps" : "stamps";
}

/* What can be said at once; notes the name. */
static int check(hf_client *client, const char *name, struct hfi_step *step)
{
    struct hfi_object *object = &step->object;
    size_t len = 0;
    int error = step->result;

    if (error)
        return error;
    if (!client)
        return hfi_fail(HF_ERR_INVALID, "this call needs a client");
    error = hfi_check_name(name, "a name", &len);
    if (error)
        return error;
    object->name = name;
    object->name_len = (uint16_t)len;
    if (client->store->verbs & HFI_VERB_BIT(object->verb))
        return HF_OK;
    return hfi_fail(HF_ERR_UNSUPPORTED, "%s has no %s", client->store->class_->uri(client->store),
                    family((enum hfi_verb)object->verb));
}

/* Hands over what came. */
static void answer_with(const struct hfi_object *object, struct hfi_answer answer)
{
    if (answer.number)
        *answer.number = object->number;
    if (answer.number2)
        *answer.number2 = object->number2;
    if (answer.value) {
        answer.value->bytes = object->data;
        answer.value->len = object->data ? object->data_len : 0;
    } else {
        free(object->data);
    }
}

int hfi_object_run(hf_client *client, const char *name, struct hfi_step step,
                   struct hfi_answer answer)
{
    int error = check(client, name, &step);

    if (!error)
        error = hfi_enter_started(client);
    if (error)
        return error;
    error = hfi_fail_store(client, hfi_step_run(client, &step));
    hfi_leave(client);
    if (error)
        free(step.object.data);
    else
        answer_with(&step.object, answer);
    return error;
}

int hfi_object_read(hf_client *client, const char *name, struct hfi_step step, int64_t *ret_number)
{
    if (!ret_number)
        return hfi_fail(HF_ERR_INVALID, "this call needs somewhere to put the answer");
    return hfi_object_run(client, name, step, (struct hfi_answer){ .number = ret_number });
}

/* Puts a copy there, and returns where it ends. */
static char *copy_bytes(char *to, struct hfi_bytes *bytes)
{
    if (!bytes->at)
        return to;
    memcpy(to, bytes->at, bytes->len);
    bytes->at = to;
    return to + bytes->len;
}

/* The step, with all that it was given behind it; NULL: out of memory. */
static struct hfi_step *copy_of(const struct hfi_step *step)
{
    const struct hfi_object *object = &step->object;
    size_t name_len = object->name_len;
    struct hfi_step *copy = malloc(sizeof *copy + name_len + 1 + object->key.len +
                                   object->value.len + object->expected.len);
    char *to;

    if (!copy)
        return NULL;
    to = (char *)(copy + 1);
    *copy = *step;
    memcpy(to, object->name, name_len + 1);
    copy->object.name = to;
    to = copy_bytes(to + name_len + 1, &copy->object.key);
    to = copy_bytes(to, &copy->object.value);
    copy_bytes(to, &copy->object.expected);
    return copy;
}

int hfi_object_start(hf_client *client, const char *name, struct hfi_step step, void *cookie)
{
    struct hfi_step *copy;
    int error = check(client, name, &step);

    if (error)
        return error;
    step.cookie = cookie;
    copy = copy_of(&step);
    if (!copy)
        return hfi_no_memory();
    error = hfi_enter_started(client);
    if (error) {
        free(copy);
        return error;
    }
    hfi_step_start(client, copy);
    hfi_leave(client);
    return HF_OK;
}
