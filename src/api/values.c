/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets and maps: the calls whose arguments and answers are bytes. */
#include <stdlib.h>
#include <string.h>

#include "api/object.h"

static const char BUCKETS[] = "buckets";
static const char MAPS[] = "maps";

static bool set_bytes(struct hfi_bytes *to, struct hf_value value, bool may_be_none)
{
    if (value.len > HF_VALUE_MAX || (!value.bytes && (value.len > 0 || !may_be_none)))
        return false;
    to->at = value.bytes;
    to->len = value.len;
    return true;
}

static int bad_value(void)
{
    return hfi_fail(HF_ERR_INVALID, "a value or key is bytes that are there, at most %d of them",
                    HF_VALUE_MAX);
}

static int set_options(struct hfi_object *object, const struct hf_value_options *given,
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

/* Hands over what came, or frees it. */
static int take_data(struct hfi_object *object, int error, struct hf_value *ret_value)
{
    if (error || !ret_value) {
        free(object->data);
        return error;
    }
    ret_value->bytes = object->data;
    ret_value->len = object->data ? object->data_len : 0;
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

int hf_bucket_get(hf_client *client, const char *name, struct hf_value *ret_value)
{
    struct hfi_object object = { .verb = HFI_BUCKET_GET };

    if (!ret_value)
        return hfi_fail(HF_ERR_INVALID, "hf_bucket_get() needs somewhere to put the value");
    return take_data(&object, hfi_object_run(client, name, &object, BUCKETS), ret_value);
}

static int bucket_put(hf_client *client, const char *name, struct hfi_object *object,
                      struct hf_value value, const struct hf_value_options *options)
{
    int error = set_options(object, options, true);

    if (error)
        return error;
    if (!set_bytes(&object->value, value, false))
        return bad_value();
    return hfi_object_run(client, name, object, BUCKETS);
}

int hf_bucket_set(hf_client *client, const char *name, struct hf_value value,
                  const struct hf_value_options *options)
{
    return bucket_put(client, name, &(struct hfi_object){ .verb = HFI_BUCKET_SET }, value, options);
}

int hf_bucket_set_if_absent(hf_client *client, const char *name, struct hf_value value,
                            const struct hf_value_options *options)
{
    return bucket_put(client, name, &(struct hfi_object){ .verb = HFI_BUCKET_SET_ABSENT }, value,
                      options);
}

int hf_bucket_compare_and_set(hf_client *client, const char *name, struct hf_value expected,
                              struct hf_value value, const struct hf_value_options *options)
{
    struct hfi_object object = { .verb = HFI_BUCKET_COMPARE_SET };

    if (!set_bytes(&object.expected, expected, true))
        return bad_value();
    return bucket_put(client, name, &object, value, options);
}

int hf_bucket_get_and_set(hf_client *client, const char *name, struct hf_value value,
                          const struct hf_value_options *options, struct hf_value *ret_before)
{
    struct hfi_object object = { .verb = HFI_BUCKET_SWAP };

    return take_data(&object, bucket_put(client, name, &object, value, options), ret_before);
}

int hf_bucket_ttl(hf_client *client, const char *name, int64_t *ret_ms)
{
    struct hfi_object object = { .verb = HFI_BUCKET_TTL };
    int error;

    if (!ret_ms)
        return hfi_fail(HF_ERR_INVALID, "hf_bucket_ttl() needs somewhere to put the time");
    error = hfi_object_run(client, name, &object, BUCKETS);
    if (!error)
        *ret_ms = object.number;
    return error;
}

int hf_bucket_delete(hf_client *client, const char *name, const struct hf_value_options *options)
{
    struct hfi_object object = { .verb = HFI_BUCKET_DELETE };
    int error = set_options(&object, options, false);

    return error ? error : hfi_object_run(client, name, &object, BUCKETS);
}

/* ------------------------------------------------------------------------------------------------
 * Maps
 */

static int map_run(hf_client *client, const char *name, struct hfi_object *object,
                   struct hf_value key, const struct hf_value_options *options)
{
    int error = set_options(object, options, false);

    if (error)
        return error;
    if (!set_bytes(&object->key, key, false))
        return bad_value();
    return hfi_object_run(client, name, object, MAPS);
}

int hf_map_put(hf_client *client, const char *name, struct hf_value key, struct hf_value value,
               const struct hf_value_options *options, struct hf_value *ret_before)
{
    struct hfi_object object = { .verb = HFI_MAP_PUT };

    if (!set_bytes(&object.value, value, false))
        return bad_value();
    return take_data(&object, map_run(client, name, &object, key, options), ret_before);
}

int hf_map_put_if_absent(hf_client *client, const char *name, struct hf_value key,
                         struct hf_value value, const struct hf_value_options *options)
{
    struct hfi_object object = { .verb = HFI_MAP_PUT_ABSENT };

    if (!set_bytes(&object.value, value, false))
        return bad_value();
    return map_run(client, name, &object, key, options);
}

int hf_map_get(hf_client *client, const char *name, struct hf_value key, struct hf_value *ret_value)
{
    struct hfi_object object = { .verb = HFI_MAP_GET };

    if (!ret_value)
        return hfi_fail(HF_ERR_INVALID, "hf_map_get() needs somewhere to put the value");
    return take_data(&object, map_run(client, name, &object, key, NULL), ret_value);
}

int hf_map_remove(hf_client *client, const char *name, struct hf_value key,
                  const struct hf_value_options *options, struct hf_value *ret_before)
{
    struct hfi_object object = { .verb = HFI_MAP_REMOVE };

    return take_data(&object, map_run(client, name, &object, key, options), ret_before);
}

int hf_map_size(hf_client *client, const char *name, int64_t *ret_size)
{
    struct hfi_object object = { .verb = HFI_MAP_SIZE };
    int error;

    if (!ret_size)
        return hfi_fail(HF_ERR_INVALID, "hf_map_size() needs somewhere to put the size");
    error = hfi_object_run(client, name, &object, MAPS);
    if (!error)
        *ret_size = object.number;
    return error;
}
