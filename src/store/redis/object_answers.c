/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripts of objects answer by one text, "<word> <number> <number> <bytes>", so that it can be kept as a note
 * and said again as it is. Nothing in it is trusted.
 */
#include "store/redis/objects.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    enum hfi_shape shape = (enum hfi_shape)hfi_verb_forms[object->verb].shape;
    int64_t number = 0, number2 = 0;
    enum taken taken;

    if (!take_number(words, &number))
        return NONSENSE;
    if (words->at < words->end && !take_number(words, &number2))
        return NONSENSE;
    if (number2 < 0 ||
        (number < 0 && shape != HFI_SHAPE_NUMBER && !(shape == HFI_SHAPE_TTL && number == -1)))
        return NONSENSE;
    if (shape != HFI_SHAPE_BYTES && shape != HFI_SHAPE_MAY_BYTES && words->at < words->end)
        return NONSENSE;
    if (shape == HFI_SHAPE_BYTES && words->at == words->end)
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
    } else if (taken == NO_ROOM && hfi_verb_forms[object->verb].reads) {
        refuse(redis, object, HF_ERR_NO_MEMORY);
    } else if (taken == NO_ROOM) { /* it was done: a repetition is answered by the note */
        hfi_redis_say(redis, "out of memory for an answer of %s", redis->uri.shown);
        hfi_redis_finish(redis, &object->request, HFI_UNKNOWN, HF_ERR_UNSURE);
    } else {
        hfi_redis_unintelligible(redis, &object->request);
    }
}
