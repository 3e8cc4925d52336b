/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores, permits, latches, buckets, maps and stamps: one step each, as a command and its answer. */
#ifndef HFI_REDIS_OBJECTS_H
#define HFI_REDIS_OBJECTS_H

#include "holdfast/objects.h"
#include "store/redis/redis.h"

/* Our keys beside an object, by the rule of prefixName(); what a note's name ends with is ":<uuid>:<serial>". */
#define HFI_NOTE_PREFIX    "holdfast_done"    /* that a request was executed, and its answer */
#define HFI_GUARD_PREFIX   "holdfast_guard"   /* the largest token used */
#define HFI_DELETED_PREFIX "holdfast_deleted" /* that a latch was deleted */
#define HFI_STAMP_PREFIX   "holdfast:stamp"

/* How long a guard stands from its last use. A holder that was paused for longer is not refused. */
#define HFI_GUARD_MS (INT64_C(30) * 24 * 3600 * 1000)
/* How long it is known that a latch was deleted: its waiters look every second or so. */
#define HFI_DELETED_MS (60 * 1000)

enum hfi_family {
    HFI_FAMILY_SEMAPHORE,
    HFI_FAMILY_PERMITS,
    HFI_FAMILY_LATCH,
    HFI_FAMILY_BUCKET,
    HFI_FAMILY_MAP,
    HFI_FAMILY_STAMP
};

/* What an answer must have behind "ok". */
enum hfi_shape {
    HFI_SHAPE_NUMBER, /* counts may be negative: they have been reduced */
    HFI_SHAPE_COUNT,
    HFI_SHAPE_TTL,      /* -1: none */
    HFI_SHAPE_BYTES,    /* there are some */
    HFI_SHAPE_MAY_BYTES /* there may be some */
};

/* A verb as the scripts know it. */
struct hfi_verb_form {
    const char *word;
    uint8_t family; /* enum hfi_family */
    uint8_t shape;  /* enum hfi_shape */
    bool reads;     /* changes nothing: no note */
};

extern const struct hfi_verb_form hfi_verb_forms[HFI_VERB_COUNT];

/* objects.c. Queues it, or refuses what is too large to be sent. */
void hfi_redis_object(struct hfi_redis *redis, struct hfi_object *object);
void hfi_redis_encode_object(struct hfi_redis *redis, struct hfi_resp *resp,
                             const struct hfi_object *object);
/* object_answers.c */
void hfi_redis_answer_object(struct hfi_redis *redis, struct hfi_object *object,
                             const redisReply *reply);
/* It was finished: may it be repeated, or can its note be removed? */
void hfi_redis_object_finished(struct hfi_redis *redis, const struct hfi_object *object);

#endif
