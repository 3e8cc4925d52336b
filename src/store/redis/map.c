/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names under a prefix: what Redisson calls a name mapper. The mapped name is prefix + name, and it is what
 * the server and other clients know: keys, channels, slots, and names in the registry are made of it. Only
 * users, and people who look, see names without the prefix.
 *
 * Names are mapped when a request is encoded or answered, into one buffer that already begins with the
 * prefix: nothing is allocated, and without a prefix nothing is copied.
 */
#include <string.h>

#include "store/redis/redis.h"

void hfi_redis_map_init(struct hfi_redis *redis)
{
    redis->prefix_len = strlen(redis->uri.prefix);
    memcpy(redis->mapped, redis->uri.prefix, redis->prefix_len);
}

struct hfi_mapped hfi_redis_map(struct hfi_redis *redis, const char *name, size_t len)
{
    if (redis->prefix_len == 0)
        return (struct hfi_mapped){ name, len };
    memcpy(redis->mapped + redis->prefix_len, name, len);
    return (struct hfi_mapped){ redis->mapped, redis->prefix_len + len };
}

const char *hfi_redis_unmap(const struct hfi_redis *redis, const char *mapped, size_t len)
{
    size_t head = redis->prefix_len;

    if (len <= head || len - head > HF_NAME_MAX || memcmp(mapped, redis->uri.prefix, head) != 0)
        return NULL;
    return mapped + head;
}
