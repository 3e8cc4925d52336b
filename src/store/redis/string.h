/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that are strings: string.c, and compare.c for servers that compare by themselves. */
#ifndef HFI_REDIS_STRING_H
#define HFI_REDIS_STRING_H

#include "store/redis/redis.h"
#include "store/redis/script.h"

#define HFI_STRING_UNLOCKED "0" /* what is published: the same as Redisson does */

/* string.c: what there is not with this layout. */
void hfi_string_limit(struct hfi_store *store);
/* The encoding of TRY, RELEASE and RENEW; false: it is another request. */
bool hfi_string_encode(struct hfi_redis *redis, struct hfi_resp *resp, struct hfi_request *request);
void hfi_string_encode_inspect(struct hfi_resp *resp, const struct hfi_request *request,
                               struct hfi_text *const *names, size_t count);
void hfi_string_encode_break(struct hfi_redis *redis, struct hfi_resp *resp,
                             const struct hfi_request *request, const struct hfi_query *query);
/* A name of python-redis-lock's. */
bool hfi_string_is_signalled(struct hfi_mapped lock);
void hfi_string_put_channel(struct hfi_resp *resp, struct hfi_mapped lock);
void hfi_string_put_name(struct hfi_redis *redis, struct hfi_resp *resp,
                         const struct hfi_lease *lease);
void hfi_string_put_owner(struct hfi_redis *redis, struct hfi_resp *resp,
                          const struct hfi_lease *lease);

/* compare.c: false: it is to be done by a script. */
bool hfi_compare_encode(struct hfi_redis *redis, struct hfi_resp *resp,
                        struct hfi_request *request);
/* One of the replies to a request in HFI_STAGE_OWN, which was just taken out of `sent`. */
void hfi_compare_answer(struct hfi_redis *redis, struct hfi_request *request,
                        const redisReply *reply);
/* The reply to COMMAND INFO DELIFEQ DELEX. */
int hfi_compare_judge(struct hfi_redis *redis, const redisReply *reply);

#endif
