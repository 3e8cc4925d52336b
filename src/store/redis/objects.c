/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step with an object: a script a family, a word a verb (scripts/ says what they do), and one text as the
 * answer, "<word> <number> <number> <bytes>".
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

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis/script.h"

enum family { SEMAPHORE, PERMITS, LATCH, BUCKET, MAP, STAMP };

/* What an answer must have behind "ok". */
enum shape {
    ANY_NUMBER, /* counts may be negative: they have been reduced */
    A_COUNT,
    A_TTL,    /* -1: none */
    BYTES,    /* there are some */
    MAY_BYTES /* there may be some */
};

static const struct verb {
    const char *word;
    uint8_t family; /* enum family */
    uint8_t shape;  /* enum shape */
    bool reads;     /* changes nothing: no note */
} VERBS[HFI_VERB_COUNT] = {
    [HFI_SEMAPHORE_SET] = { "set", SEMAPHORE, A_COUNT, false },
    [HFI_SEMAPHORE_RELEASE] = { "release", SEMAPHORE, ANY_NUMBER, false },
    [HFI_SEMAPHORE_RETURN] = { "return", SEMAPHORE, ANY_NUMBER, false },
    [HFI_SEMAPHORE_ADD] = { "add", SEMAPHORE, ANY_NUMBER, false },
    [HFI_SEMAPHORE_DRAIN] = { "drain", SEMAPHORE, A_COUNT, false },
    [HFI_SEMAPHORE_AVAILABLE] = { "available", SEMAPHORE, ANY_NUMBER, true },
    [HFI_SEMAPHORE_DELETE] = { "delete", SEMAPHORE, A_COUNT, false },
    [HFI_PERMITS_SET] = { "set", PERMITS, A_COUNT, false },
    [HFI_PERMITS_RESIZE] = { "resize", PERMITS, ANY_NUMBER, false },
    [HFI_PERMITS_ADD] = { "add", PERMITS, ANY_NUMBER, false },
    [HFI_PERMITS_COUNT] = { "count", PERMITS, ANY_NUMBER, true },
    [HFI_PERMITS_DELETE] = { "delete", PERMITS, A_COUNT, false },
    [HFI_LATCH_SET] = { "set", LATCH, A_COUNT, false },
    [HFI_LATCH_DOWN] = { "down", LATCH, A_COUNT, false },
    [HFI_LATCH_GET] = { "get", LATCH, A_COUNT, true },
    [HFI_LATCH_DELETE] = { "delete", LATCH, A_COUNT, false },
    [HFI_BUCKET_GET] = { "get", BUCKET, BYTES, true },
    [HFI_BUCKET_SET] = { "set", BUCKET, A_COUNT, false },
    [HFI_BUCKET_SET_ABSENT] = { "absent", BUCKET, A_COUNT, false },
    [HFI_BUCKET_COMPARE_SET] = { "compare", BUCKET, A_COUNT, false },
    [HFI_BUCKET_SWAP] = { "swap", BUCKET, MAY_BYTES, false },
    [HFI_BUCKET_TTL] = { "ttl", BUCKET, A_TTL, true },
    [HFI_BUCKET_DELETE] = { "delete", BUCKET, A_COUNT, false },
    [HFI_MAP_PUT] = { "put", MAP, MAY_BYTES, false },
    [HFI_MAP_PUT_ABSENT] = { "absent", MAP, A_COUNT, false },
    [HFI_MAP_GET] = { "get", MAP, BYTES, true },
    [HFI_MAP_REMOVE] = { "remove", MAP, BYTES, false },
    [HFI_MAP_SIZE] = { "size", MAP, A_COUNT, true },
    [HFI_STAMP_SET] = { "set", STAMP, A_COUNT, false },
    [HFI_STAMP_GET] = { "get", STAMP, A_COUNT, true },
    [HFI_STAMP_DELETE] = { "delete", STAMP, A_COUNT, false },
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
    if (object->request.outcome != HFI_DONE || VERBS[object->verb].reads ||
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
    const struct verb *verb = &VERBS[object->verb];

    if (verb->family == STAMP)
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
    const struct verb *verb = &VERBS[object->verb];

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
    const struct verb *verb = &VERBS[object->verb];

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
    const struct verb *verb = &VERBS[object->verb];

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
    const struct verb *verb = &VERBS[object->verb];

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
    bool reads = VERBS[object->verb].reads;
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
    size_t keys = VERBS[object->verb].reads ? 1 : 4;

    hfi_redis_call(resp, &object->request, HFI_SCRIPT_map, keys, keys + 7);
    encode_guarded(redis, resp, object, name);
    put_bytes(resp, object->key);
    put_bytes(resp, object->value);
}

static void encode_stamp(struct hfi_redis *redis, struct hfi_resp *resp,
                         const struct hfi_object *object, struct hfi_mapped name)
{
    size_t keys = VERBS[object->verb].reads ? 1 : 3;

    hfi_redis_call(resp, &object->request, HFI_SCRIPT_stamp, keys, keys + 3);
    put_keys(redis, resp, object, name);
    hfi_resp_text(resp, VERBS[object->verb].word);
    hfi_resp_number(resp, HFI_SERIAL_MS);
    put_signed(resp, object->ttl_ms);
}

void hfi_redis_encode_object(struct hfi_redis *redis, struct hfi_resp *resp,
                             const struct hfi_object *object)
{
    static void (*const ENCODE[])(struct hfi_redis *, struct hfi_resp *, const struct hfi_object *,
                                  struct hfi_mapped) = {
        [SEMAPHORE] = encode_semaphore, [PERMITS] = encode_permits, [LATCH] = encode_latch,
        [BUCKET] = encode_bucket,       [MAP] = encode_map,         [STAMP] = encode_stamp,
    };
    struct hfi_mapped name = hfi_redis_map(redis, object->name, object->name_len);

    ENCODE[VERBS[object->verb].family](redis, resp, object, name);
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

/* ------------------------------------------------------------------------------------------------
 * Answers
 */

/* A reply's words, read from the front. */
struct words {
    const char *at, *end;
};

static bool take_word(struct words *words, const char *word)
{
    size_t len = strlen(word), left = (size_t)(words->end - words->at);

    if (left < len || memcmp(words->at, word, len) != 0 || (left > len && words->at[len] != ' '))
        return false;
    words->at += len;
    return true;
}

/* " <number>" */
static bool take_number(struct words *words, int64_t *ret_number)
{
    const char *at = words->at;
    bool minus;
    int64_t number = 0;

    if (at == words->end || *at != ' ')
        return false;
    at++;
    minus = at < words->end && *at == '-';
    at += minus;
    if (at == words->end || *at == ' ')
        return false;
    for (; at < words->end && *at != ' '; at++) {
        int digit = *at - '0';

        if (digit < 0 || digit > 9 || number > (INT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *ret_number = minus ? -number : number;
    words->at = at;
    return true;
}

enum taken { TAKEN, NONSENSE, NO_ROOM };

/* " <bytes>", to the end. */
static enum taken take_bytes(struct hfi_object *object, struct words *words)
{
    size_t len = (size_t)(words->end - words->at);

    if (len == 0)
        return TAKEN;
    if (*words->at != ' ' || --len > HF_VALUE_MAX)
        return NONSENSE;
    object->data = malloc(len + 1);
    if (!object->data)
        return NO_ROOM;
    memcpy(object->data, words->at + 1, len);
    object->data[len] = '\0';
    object->data_len = len;
    object->found = true;
    return TAKEN;
}

/* What comes behind "ok". */
static enum taken take_answer(struct hfi_object *object, struct words *words)
{
    enum shape shape = (enum shape)VERBS[object->verb].shape;
    int64_t number = 0, number2 = 0;
    enum taken taken;

    if (!take_number(words, &number))
        return NONSENSE;
    if (words->at < words->end && !take_number(words, &number2))
        return NONSENSE;
    if (number2 < 0 || (number < 0 && shape != ANY_NUMBER && !(shape == A_TTL && number == -1)))
        return NONSENSE;
    if (shape != BYTES && shape != MAY_BYTES && words->at < words->end)
        return NONSENSE;
    if (shape == BYTES && words->at == words->end)
        return NONSENSE;
    taken = take_bytes(object, words);
    if (taken != TAKEN)
        return taken;
    object->number = number;
    object->number2 = number2;
    return TAKEN;
}

/* A definite answer: nothing was done. */
static void refuse(struct hfi_redis *redis, struct hfi_object *object, int error)
{
    redis->store.detail[0] = '\0';
    hfi_redis_finish(redis, &object->request, HFI_NOT_DONE, error);
}

/* The same, with a number that says why. */
static bool refuse_number(struct hfi_redis *redis, struct hfi_object *object, struct words words)
{
    bool range = take_word(&words, "range");
    int64_t number;

    if ((!range && !take_word(&words, "large")) || !take_number(&words, &number) ||
        words.at != words.end)
        return false;
    if (range)
        hfi_redis_say(redis, "there would be %" PRId64 ": at most %" PRId64 " either way", number,
                      (int64_t)HF_COUNT_MAX);
    else
        hfi_redis_say(redis, "the value that is there has %" PRId64 " bytes: at most %d are read",
                      number, HF_VALUE_MAX);
    hfi_redis_finish(redis, &object->request, HFI_NOT_DONE,
                     range ? HF_ERR_INVALID : HF_ERR_UNSUPPORTED);
    return true;
}

static bool refuse_word(struct hfi_redis *redis, struct hfi_object *object, struct words words)
{
    static const struct {
        const char *word;
        int error;
    } WORDS[] = { { "absent", HF_ERR_NOT_FOUND },
                  { "exists", HF_ERR_EXISTS },
                  { "changed", HF_ERR_CHANGED },
                  { "stale", HF_ERR_STALE } };

    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        if (!take_word(&words, WORDS[i].word) || words.at != words.end)
            continue;
        refuse(redis, object, WORDS[i].error);
        return true;
    }
    return refuse_number(redis, object, words);
}

void hfi_redis_answer_object(struct hfi_redis *redis, struct hfi_object *object,
                             const redisReply *reply)
{
    struct words words = { "", "" };
    enum taken taken = NONSENSE;

    object->found = false;
    object->data = NULL;
    object->data_len = 0;
    if (reply->type == REDIS_REPLY_STRING)
        words = (struct words){ reply->str, reply->str + reply->len };
    if (take_word(&words, "ok"))
        taken = take_answer(object, &words);
    else if (refuse_word(redis, object, words))
        return;
    if (taken == TAKEN) {
        hfi_redis_finish(redis, &object->request, HFI_DONE, HF_OK);
    } else if (taken == NO_ROOM && VERBS[object->verb].reads) {
        refuse(redis, object, HF_ERR_NO_MEMORY);
    } else if (taken == NO_ROOM) { /* it was done: a repetition is answered by the note */
        hfi_redis_say(redis, "out of memory for an answer of %s", redis->uri.shown);
        hfi_redis_finish(redis, &object->request, HFI_UNKNOWN, HF_ERR_UNSURE);
    } else {
        hfi_redis_unintelligible(redis, &object->request);
    }
}
