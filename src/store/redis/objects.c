/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step with an object: a script a family, a word a verb (scripts/ says what they do), and one text as the
 * answer (object_answers.c).
 *
 * The answer of a request that changes something is also kept by the server, as a note under the request's
 * serial number: a repetition gets it, and changes nothing. A note is needed as long as the request may be
 * repeated, or may be executed late: if it was answered at the first try, never again. Then the next request
 * for the same name takes it along; else it ends by its ttl.
 *
 * Invariant: a serial that was ever sent on a connection that did not answer is never settled. Serials grow,
 * so the largest of those is all there is to remember.
 */
#include "store/redis/objects.h"

#include <string.h>

#include "store/redis/script.h"

const struct hfi_verb_form hfi_verb_forms[HFI_VERB_COUNT] = {
    [HFI_SEMAPHORE_SET] = { "set", HFI_FAMILY_SEMAPHORE, HFI_SHAPE_COUNT, false },
    [HFI_SEMAPHORE_RELEASE] = { "release", HFI_FAMILY_SEMAPHORE, HFI_SHAPE_NUMBER, false },
    [HFI_SEMAPHORE_RETURN] = { "return", HFI_FAMILY_SEMAPHORE, HFI_SHAPE_NUMBER, false },
    [HFI_SEMAPHORE_ADD] = { "add", HFI_FAMILY_SEMAPHORE, HFI_SHAPE_NUMBER, false },
    [HFI_SEMAPHORE_DRAIN] = { "drain", HFI_FAMILY_SEMAPHORE, HFI_SHAPE_COUNT, false },
    [HFI_SEMAPHORE_AVAILABLE] = { "available", HFI_FAMILY_SEMAPHORE, HFI_SHAPE_NUMBER, true },
    [HFI_SEMAPHORE_DELETE] = { "delete", HFI_FAMILY_SEMAPHORE, HFI_SHAPE_COUNT, false },
    [HFI_PERMITS_SET] = { "set", HFI_FAMILY_PERMITS, HFI_SHAPE_COUNT, false },
    [HFI_PERMITS_RESIZE] = { "resize", HFI_FAMILY_PERMITS, HFI_SHAPE_NUMBER, false },
    [HFI_PERMITS_ADD] = { "add", HFI_FAMILY_PERMITS, HFI_SHAPE_NUMBER, false },
    [HFI_PERMITS_COUNT] = { "count", HFI_FAMILY_PERMITS, HFI_SHAPE_NUMBER, true },
    [HFI_PERMITS_DELETE] = { "delete", HFI_FAMILY_PERMITS, HFI_SHAPE_COUNT, false },
    [HFI_LATCH_SET] = { "set", HFI_FAMILY_LATCH, HFI_SHAPE_COUNT, false },
    [HFI_LATCH_DOWN] = { "down", HFI_FAMILY_LATCH, HFI_SHAPE_COUNT, false },
    [HFI_LATCH_GET] = { "get", HFI_FAMILY_LATCH, HFI_SHAPE_COUNT, true },
    [HFI_LATCH_DELETE] = { "delete", HFI_FAMILY_LATCH, HFI_SHAPE_COUNT, false },
    [HFI_BUCKET_GET] = { "get", HFI_FAMILY_BUCKET, HFI_SHAPE_BYTES, true },
    [HFI_BUCKET_SET] = { "set", HFI_FAMILY_BUCKET, HFI_SHAPE_COUNT, false },
    [HFI_BUCKET_SET_ABSENT] = { "absent", HFI_FAMILY_BUCKET, HFI_SHAPE_COUNT, false },
    [HFI_BUCKET_COMPARE_SET] = { "compare", HFI_FAMILY_BUCKET, HFI_SHAPE_COUNT, false },
    [HFI_BUCKET_SWAP] = { "swap", HFI_FAMILY_BUCKET, HFI_SHAPE_MAY_BYTES, false },
    [HFI_BUCKET_TTL] = { "ttl", HFI_FAMILY_BUCKET, HFI_SHAPE_TTL, true },
    [HFI_BUCKET_DELETE] = { "delete", HFI_FAMILY_BUCKET, HFI_SHAPE_COUNT, false },
    [HFI_MAP_PUT] = { "put", HFI_FAMILY_MAP, HFI_SHAPE_MAY_BYTES, false },
    [HFI_MAP_PUT_ABSENT] = { "absent", HFI_FAMILY_MAP, HFI_SHAPE_COUNT, false },
    [HFI_MAP_GET] = { "get", HFI_FAMILY_MAP, HFI_SHAPE_BYTES, true },
    [HFI_MAP_REMOVE] = { "remove", HFI_FAMILY_MAP, HFI_SHAPE_BYTES, false },
    [HFI_MAP_SIZE] = { "size", HFI_FAMILY_MAP, HFI_SHAPE_COUNT, true },
    [HFI_STAMP_SET] = { "set", HFI_FAMILY_STAMP, HFI_SHAPE_COUNT, false },
    [HFI_STAMP_GET] = { "get", HFI_FAMILY_STAMP, HFI_SHAPE_COUNT, true },
    [HFI_STAMP_DELETE] = { "delete", HFI_FAMILY_STAMP, HFI_SHAPE_COUNT, false },
};

/* ------------------------------------------------------------------------------------------------
 * Notes
 */

/* FNV-1a. Two names with one hash only cost a note that is not removed early. */
static uint64_t hash(const char *bytes, size_t len)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < len; i++)
        sum = (sum ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* A request for this name whose note can go; 0: none. */
static uint64_t take_settled(struct hfi_redis *redis, const struct hfi_object *object)
{
    uint64_t name = hash(object->name, object->name_len), serial = 0;

    for (size_t i = 0; i < HFI_REDIS_SETTLED && !serial; i++) {
        struct hfi_settled *settled = &redis->settled[i];

        if (settled->serial && settled->name == name) {
            serial = settled->serial;
            settled->serial = 0;
        }
    }
    return serial;
}

void hfi_redis_object_finished(struct hfi_redis *redis, const struct hfi_object *object)
{
    struct hfi_settled *settled = &redis->settled[redis->settled_at % HFI_REDIS_SETTLED];

    if (object->request.outcome == HFI_UNKNOWN) {
        if (object->serial > redis->doubted)
            redis->doubted = object->serial;
        return;
    }
    if (object->request.outcome != HFI_DONE || hfi_verb_forms[object->verb].reads ||
        object->serial <= redis->doubted)
        return;
    redis->settled_at++;
    settled->name = hash(object->name, object->name_len);
    settled->serial = object->serial;
}

/* ------------------------------------------------------------------------------------------------
 * Commands
 */

static void put_signed(struct hfi_resp *resp, int64_t number)
{
    char digits[24] = "-";
    uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    size_t sign = number < 0;

    hfi_resp_bytes(resp, digits, sign + hfi_decimal(digits + sign, size));
}

static void put_prefixed(struct hfi_resp *resp, const char *prefix, struct hfi_mapped name)
{
    char key[HFI_KEY_MAX];

    hfi_resp_bytes(resp, key, hfi_prefix_name(key, prefix, name.name, name.len));
}

static void put_note(struct hfi_redis *redis, struct hfi_resp *resp, struct hfi_mapped name,
                     uint64_t serial)
{
    const char *id = redis->identity->id;
    size_t id_len = strlen(id);
    char key[HFI_KEY_MAX];
    size_t n = hfi_prefix_name(key, HFI_NOTE_PREFIX, name.name, name.len);

    key[n++] = ':';
    memcpy(key + n, id, id_len);
    n += id_len;
    key[n++] = ':';
    hfi_resp_bytes(resp, key, n + hfi_decimal(key + n, serial));
}

static void put_channel(struct hfi_resp *resp, struct hfi_mapped name, enum hfi_topic topic)
{
    char key[HFI_CHANNEL_MAX];

    hfi_resp_bytes(resp, key, hfi_channel_name(key, name.name, name.len, topic));
}

static void put_permits(struct hfi_resp *resp, struct hfi_mapped name)
{
    char key[HFI_KEY_MAX];

    hfi_resp_bytes(resp, key, hfi_suffix_name(key, name.name, name.len, "timeout"));
}

static void put_bytes(struct hfi_resp *resp, struct hfi_bytes bytes)
{
    hfi_resp_bytes(resp, bytes.at ? bytes.at : "", bytes.at ? bytes.len : 0);
}

/* KEYS[1], and for what changes something KEYS[2] and KEYS[3]. */
static void put_keys(struct hfi_redis *redis, struct hfi_resp *resp,
                     const struct hfi_object *object, struct hfi_mapped name)
{
    const struct hfi_verb_form *verb = &hfi_verb_forms[object->verb];

    if (verb->family == HFI_FAMILY_STAMP)
        put_prefixed(resp, HFI_STAMP_PREFIX, name);
    else
        hfi_resp_bytes(resp, name.name, name.len);
    if (verb->reads)
        return;
    put_note(redis, resp, name, object->serial);
    put_note(redis, resp, name, take_settled(redis, object));
}

static void encode_semaphore(struct hfi_redis *redis, struct hfi_resp *resp,
                             const struct hfi_object *object, struct hfi_mapped name)
{
    const struct hfi_verb_form *verb = &hfi_verb_forms[object->verb];

    hfi_redis_call(resp, &object->request, HFI_SCRIPT_semaphore, verb->reads ? 1 : 4,
                   verb->reads ? 2 : 9);
    put_keys(redis, resp, object, name);
    if (!verb->reads)
        put_channel(resp, name, HFI_TOPIC_PERMITS);
    hfi_resp_text(resp, verb->word);
    if (verb->reads)
        return;
    hfi_resp_number(resp, HFI_SERIAL_MS);
    put_signed(resp, object->number);
    put_signed(resp, object->ttl_ms);
    hfi_resp_number(resp, HF_COUNT_MAX);
}

static void encode_permits(struct hfi_redis *redis, struct hfi_resp *resp,
                           const struct hfi_object *object, struct hfi_mapped name)
{
    const struct hfi_verb_form *verb = &hfi_verb_forms[object->verb];

    hfi_redis_call(resp, &object->request, HFI_SCRIPT_permits, verb->reads ? 2 : 5,
                   verb->reads ? 3 : 9);
    put_keys(redis, resp, object, name);
    if (!verb->reads)
        put_channel(resp, name, HFI_TOPIC_PERMITS);
    put_permits(resp, name);
    hfi_resp_text(resp, verb->word);
    if (verb->reads)
        return;
    hfi_resp_number(resp, HFI_SERIAL_MS);
    put_signed(resp, object->number);
    hfi_resp_number(resp, HF_COUNT_MAX);
}

static void encode_latch(struct hfi_redis *redis, struct hfi_resp *resp,
                         const struct hfi_object *object, struct hfi_mapped name)
{
    const struct hfi_verb_form *verb = &hfi_verb_forms[object->verb];

    hfi_redis_call(resp, &object->request, HFI_SCRIPT_latch, verb->reads ? 1 : 5,
                   verb->reads ? 2 : 9);
    put_keys(redis, resp, object, name);
    if (!verb->reads) {
        put_channel(resp, name, HFI_TOPIC_LATCH);
        put_prefixed(resp, HFI_DELETED_PREFIX, name);
    }
    hfi_resp_text(resp, verb->word);
    if (verb->reads)
        return;
    hfi_resp_number(resp, HFI_SERIAL_MS);
    put_signed(resp, object->number);
    hfi_resp_number(resp, HFI_DELETED_MS);
}

/* What buckets and maps have in common. */
static void encode_guarded(struct hfi_redis *redis, struct hfi_resp *resp,
                           const struct hfi_object *object, struct hfi_mapped name)
{
    const struct hfi_verb_form *verb = &hfi_verb_forms[object->verb];

    put_keys(redis, resp, object, name);
    if (!verb->reads)
        put_prefixed(resp, HFI_GUARD_PREFIX, name);
    hfi_resp_text(resp, verb->word);
    hfi_resp_number(resp, HF_VALUE_MAX);
    hfi_resp_number(resp, HFI_SERIAL_MS);
    hfi_resp_number(resp, object->token);
    hfi_resp_number(resp, HFI_GUARD_MS);
}

static void encode_bucket(struct hfi_redis *redis, struct hfi_resp *resp,
                          const struct hfi_object *object, struct hfi_mapped name)
{
    bool reads = hfi_verb_forms[object->verb].reads;
    bool expects = object->verb == HFI_BUCKET_COMPARE_SET && object->expected.at;
    size_t keys = reads ? 1 : 4;

    hfi_redis_call(resp, &object->request, HFI_SCRIPT_bucket, keys, keys + 7 + expects);
    encode_guarded(redis, resp, object, name);
    put_signed(resp, object->ttl_ms);
    put_bytes(resp, object->value);
    if (expects)
        put_bytes(resp, object->expected);
}

static void encode_map(struct hfi_redis *redis, struct hfi_resp *resp,
                       const struct hfi_object *object, struct hfi_mapped name)
{
    size_t keys = hfi_verb_forms[object->verb].reads ? 1 : 4;

    hfi_redis_call(resp, &object->request, HFI_SCRIPT_map, keys, keys + 7);
    encode_guarded(redis, resp, object, name);
    put_bytes(resp, object->key);
    put_bytes(resp, object->value);
}

static void encode_stamp(struct hfi_redis *redis, struct hfi_resp *resp,
                         const struct hfi_object *object, struct hfi_mapped name)
{
    size_t keys = hfi_verb_forms[object->verb].reads ? 1 : 3;

    hfi_redis_call(resp, &object->request, HFI_SCRIPT_stamp, keys, keys + 3);
    put_keys(redis, resp, object, name);
    hfi_resp_text(resp, hfi_verb_forms[object->verb].word);
    hfi_resp_number(resp, HFI_SERIAL_MS);
    put_signed(resp, object->ttl_ms);
}

void hfi_redis_encode_object(struct hfi_redis *redis, struct hfi_resp *resp,
                             const struct hfi_object *object)
{
    static void (*const ENCODE[])(struct hfi_redis *, struct hfi_resp *, const struct hfi_object *,
                                  struct hfi_mapped) = {
        [HFI_FAMILY_SEMAPHORE] = encode_semaphore,
        [HFI_FAMILY_PERMITS] = encode_permits,
        [HFI_FAMILY_LATCH] = encode_latch,
        [HFI_FAMILY_BUCKET] = encode_bucket,
        [HFI_FAMILY_MAP] = encode_map,
        [HFI_FAMILY_STAMP] = encode_stamp,
    };
    struct hfi_mapped name = hfi_redis_map(redis, object->name, object->name_len);

    ENCODE[hfi_verb_forms[object->verb].family](redis, resp, object, name);
}

/* Two values of the largest size go into one command, with everything else that a command has. */
_Static_assert(HFI_REDIS_OUT_SIZE >= 2 * HF_VALUE_MAX + 6 * HFI_KEY_MAX + 8192,
               "the largest command must fit");

void hfi_redis_object(struct hfi_redis *redis, struct hfi_object *object)
{
    struct hfi_request *request = &object->request;
    size_t most = object->key.len;

    most = object->value.len > most ? object->value.len : most;
    most = object->expected.len > most ? object->expected.len : most;
    if (object->verb >= HFI_VERB_COUNT) {
        hfi_redis_finish(redis, request, HFI_NOT_DONE, HF_ERR_UNSUPPORTED);
    } else if (most > HF_VALUE_MAX) {
        hfi_redis_say(redis, "a value or key of %zu bytes: at most %d are sent", most,
                      HF_VALUE_MAX);
        hfi_redis_finish(redis, request, HFI_NOT_DONE, HF_ERR_INVALID);
    } else {
        hfi_redis_queue(redis, request);
    }
}
