/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HFT_FUZZ_REPLY_STORE_H
#define HFT_FUZZ_REPLY_STORE_H

#include "store/redis/redis.h"

/* Between two calls: the store's own invariants. */
void reply_check_store(const struct hfi_redis *redis);

#endif
