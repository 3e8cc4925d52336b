/* SPDX-License-Identifier: Apache-2.0 */
package org.holdfast.interop;

import org.redisson.api.RBucket;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/** A number that only a lock protects: it is read, and the next one is written. */
final class Counter {
    private final RBucket<String> bucket;

    Counter(RedissonClient redisson, String name) {
        bucket = redisson.getBucket(name, StringCodec.INSTANCE);
    }

    long get() {
        String now = bucket.get();
        return now == null ? 0 : Long.parseLong(now);
    }

    void add() {
        bucket.set(Long.toString(get() + 1));
    }
}
