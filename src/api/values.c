/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets and maps: the calls whose arguments and answers are bytes. As in objects.c. */
#include <stdlib.h>

#include "api/object.h"

#define NO_ANSWER ((struct hfi_answer){ 0 })

static void set_bytes(struct hfi_step *step, struct hfi_bytes *to, struct hf_value value,
                      bool may_be_none)
{
    if (step->result)
        return; /* the first that is wrong is told */
    if (value.len > HF_VALUE_MAX || (!value.bytes && (value.len > 0 || !may_be_none))) {
        step->result =
            hfi_fail(HF_ERR_INVALID, "a value or key is bytes that are there, at most %d of them",
                     HF_VALUE_MAX);
        return;
    }
    to->at = value.bytes;
    to->len = value.len;
}

static int read_options(struct hfi_object *object, const struct hf_value_options *given,
                        bool has_ttl)
{
    struct hf_value_options options;
    int error = hfi_options_copy(&options, sizeof options, given, "hf_value_options");

    if (error)
        return error;
    if (options.ttl_ms != 0 && !has_ttl)
        return hfi_fail(HF_ERR_INVALID, "only a bucket's value that is set has a ttl");
    if (options.ttl_ms < 0 || options.ttl_ms > HF_WAIT_MAX_MS)
        return hfi_fail(HF_ERR_INVALID, "a ttl is 0 to %lld ms", (long long)HF_WAIT_MAX_MS);
    if (options.token >= HFI_TOKEN_END)
        return hfi_fail(HF_ERR_INVALID, "a token is below 2^53");
    object->ttl_ms = options.ttl_ms;
    object->token = options.token;
    return HF_OK;
}

void hf_value_free(struct hf_value *value)
{
    if (!value)
        return;
    free((void *)(uintptr_t)value->bytes);
    *value = (struct hf_value){ 0 };
}

/* ------------------------------------------------------------------------------------------------
 * Buckets
 */

static struct hfi_step bucket_put(enum hfi_verb verb, struct hf_value value,
                                  const struct hf_value_options *options)
{
    struct hfi_step step = { .object.verb = (uint8_t)verb };

    step.result = read_options(&step.object, options, true);
    set_bytes(&step, &step.object.value, value, false);
    return step;
}

static struct hfi_step bucket_compare_and_set(struct hf_value expected, struct hf_value value,
                                              const struct hf_value_options *options)
{
    struct hfi_step step = bucket_put(HFI_BUCKET_COMPARE_SET, value, options);

    set_bytes(&step, &step.object.expected, expected, true);
    return step;
}

static struct hfi_step bucket_delete(const struct hf_value_options *options)
{
    struct hfi_step step = { .object.verb = HFI_BUCKET_DELETE };

    step.result = read_options(&step.object, options, false);
    return step;
}

/* A verb that is asked for nothing but so many numbers. */
static struct hfi_step plain(enum hfi_verb verb, unsigned numbers)
{
    return (struct hfi_step){ .object.verb = (uint8_t)verb, .numbers = (uint8_t)numbers };
}

/* For a call that makes no sense without a value. */
static int read_value(hf_client *client, const char *name, struct hfi_step step,
                      struct hf_value *ret_value)
{
    if (!ret_value)
        return hfi_fail(HF_ERR_INVALID, "this call needs somewhere to put the value");
    return hfi_object_run(client, name, step, (struct hfi_answer){ .value = ret_value });
}

int hf_bucket_get(hf_client *client, const char *name, struct hf_value *ret_value)
{
    return read_value(client, name, plain(HFI_BUCKET_GET, 0), ret_value);
}

int hf_bucket_get_start(hf_client *client, const char *name, void *cookie)
{
    return hfi_object_start(client, name, plain(HFI_BUCKET_GET, 0), cookie);
}

int hf_bucket_set(hf_client *client, const char *name, struct hf_value value,
                  const struct hf_value_options *options)
{
    return hfi_object_run(client, name, bucket_put(HFI_BUCKET_SET, value, options), NO_ANSWER);
}

int hf_bucket_set_start(hf_client *client, const char *name, struct hf_value value,
                        const struct hf_value_options *options, void *cookie)
{
    return hfi_object_start(client, name, bucket_put(HFI_BUCKET_SET, value, options), cookie);
}

int hf_bucket_set_if_absent(hf_client *client, const char *name, struct hf_value value,
                            const struct hf_value_options *options)
{
    return hfi_object_run(client, name, bucket_put(HFI_BUCKET_SET_ABSENT, value, options),
                          NO_ANSWER);
}

int hf_bucket_set_if_absent_start(hf_client *client, const char *name, struct hf_value value,
                                  const struct hf_value_options *options, void *cookie)
{
    return hfi_object_start(client, name, bucket_put(HFI_BUCKET_SET_ABSENT, value, options),
                            cookie);
}

int hf_bucket_compare_and_set(hf_client *client, const char *name, struct hf_value expected,
                              struct hf_value value, const struct hf_value_options *options)
{
    return hfi_object_run(client, name, bucket_compare_and_set(expected, value, options),
                          NO_ANSWER);
}

int hf_bucket_compare_and_set_start(hf_client *client, const char *name, struct hf_value expected,
                                    struct hf_value value, const struct hf_value_options *options,
                                    void *cookie)
{
    return hfi_object_start(client, name, bucket_compare_and_set(expected, value, options), cookie);
}

int hf_bucket_get_and_set(hf_client *client, const char *name, struct hf_value value,
                          const struct hf_value_options *options, struct hf_value *ret_before)
{
    return hfi_object_run(client, name, bucket_put(HFI_BUCKET_SWAP, value, options),
                          (struct hfi_answer){ .value = ret_before });
}

int hf_bucket_get_and_set_start(hf_client *client, const char *name, struct hf_value value,
                                const struct hf_value_options *options, void *cookie)
{
    return hfi_object_start(client, name, bucket_put(HFI_BUCKET_SWAP, value, options), cookie);
}

int hf_bucket_ttl(hf_client *client, const char *name, int64_t *ret_ms)
{
    return hfi_object_read(client, name, plain(HFI_BUCKET_TTL, 1), ret_ms);
}

int hf_bucket_ttl_start(hf_client *client, const char *name, void *cookie)
{
    return hfi_object_start(client, name, plain(HFI_BUCKET_TTL, 1), cookie);
}

int hf_bucket_delete(hf_client *client, const char *name, const struct hf_value_options *options)
{
    return hfi_object_run(client, name, bucket_delete(options), NO_ANSWER);
}

int hf_bucket_delete_start(hf_client *client, const char *name,
                           const struct hf_value_options *options, void *cookie)
{
    return hfi_object_start(client, name, bucket_delete(options), cookie);
}

/* ------------------------------------------------------------------------------------------------
 * Maps
 */

static struct hfi_step map_step(enum hfi_verb verb, struct hf_value key,
                                const struct hf_value_options *options)
{
    struct hfi_step step = { .object.verb = (uint8_t)verb };

    step.result = read_options(&step.object, options, false);
    set_bytes(&step, &step.object.key, key, false);
    return step;
}

static struct hfi_step map_put(enum hfi_verb verb, struct hf_value key, struct hf_value value,
                               const struct hf_value_options *options)
{
    struct hfi_step step = map_step(verb, key, options);

    set_bytes(&step, &step.object.value, value, false);
    return step;
}

int hf_map_put(hf_client *client, const char *name, struct hf_value key, struct hf_value value,
               const struct hf_value_options *options, struct hf_value *ret_before)
{
    return hfi_object_run(client, name, map_put(HFI_MAP_PUT, key, value, options),
                          (struct hfi_answer){ .value = ret_before });
}

int hf_map_put_start(hf_client *client, const char *name, struct hf_value key,
                     struct hf_value value, const struct hf_value_options *options, void *cookie)
{
    return hfi_object_start(client, name, map_put(HFI_MAP_PUT, key, value, options), cookie);
}

int hf_map_put_if_absent(hf_client *client, const char *name, struct hf_value key,
                         struct hf_value value, const struct hf_value_options *options)
{
    return hfi_object_run(client, name, map_put(HFI_MAP_PUT_ABSENT, key, value, options),
                          NO_ANSWER);
}

int hf_map_put_if_absent_start(hf_client *client, const char *name, struct hf_value key,
                               struct hf_value value, const struct hf_value_options *options,
                               void *cookie)
{
    return hfi_object_start(client, name, map_put(HFI_MAP_PUT_ABSENT, key, value, options), cookie);
}

int hf_map_get(hf_client *client, const char *name, struct hf_value key, struct hf_value *ret_value)
{
    return read_value(client, name, map_step(HFI_MAP_GET, key, NULL), ret_value);
}

int hf_map_get_start(hf_client *client, const char *name, struct hf_value key, void *cookie)
{
    return hfi_object_start(client, name, map_step(HFI_MAP_GET, key, NULL), cookie);
}

int hf_map_remove(hf_client *client, const char *name, struct hf_value key,
                  const struct hf_value_options *options, struct hf_value *ret_before)
{
    return hfi_object_run(client, name, map_step(HFI_MAP_REMOVE, key, options),
                          (struct hfi_answer){ .value = ret_before });
}

int hf_map_remove_start(hf_client *client, const char *name, struct hf_value key,
                        const struct hf_value_options *options, void *cookie)
{
    return hfi_object_start(client, name, map_step(HFI_MAP_REMOVE, key, options), cookie);
}

int hf_map_size(hf_client *client, const char *name, int64_t *ret_size)
{
    return hfi_object_read(client, name, plain(HFI_MAP_SIZE, 1), ret_size);
}

int hf_map_size_start(hf_client *client, const char *name, void *cookie)
{
    return hfi_object_start(client, name, plain(HFI_MAP_SIZE, 1), cookie);
}
