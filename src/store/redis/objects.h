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

/* Queues it, or refuses what is too large to be sent. */
void hfi_redis_object(struct hfi_redis *redis, struct hfi_object *object);
void hfi_redis_encode_object(struct hfi_redis *redis, struct hfi_resp *resp,
                             const struct hfi_object *object);
void hfi_redis_answer_object(struct hfi_redis *redis, struct hfi_object *object,
                             const redisReply *reply);
/* It was finished: may it be repeated, or can its note be removed? */
void hfi_redis_object_finished(struct hfi_redis *redis, const struct hfi_object *object);

#endif
