/* SPDX-License-Identifier: Apache-2.0 */
package org.holdfast.interop;

import java.util.concurrent.TimeUnit;

import org.redisson.api.RBucket;
import org.redisson.api.RMap;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/** RBucket and RMap, as text. "-" stands for none. */
final class Values {
    private Values() {
    }

    private static String done(boolean is) {
        return "done=" + (is ? 1 : 0);
    }

    private static String value(String what) {
        return "value=" + (what == null ? "-" : what);
    }

    private static String set(RBucket<String> bucket, String[] arguments) {
        if (arguments.length > 2) {
            bucket.set(arguments[1], Long.parseLong(arguments[2]), TimeUnit.MILLISECONDS);
        } else {
            bucket.set(arguments[1]);
        }
        return done(true);
    }

    private static String compareAndSet(RBucket<String> bucket, String[] arguments) {
        return done(bucket.compareAndSet(arguments[1].equals("-") ? null : arguments[1], arguments[2]));
    }

    static Player.Kind buckets(RedissonClient redisson) {
        return (verb, arguments) -> {
            RBucket<String> bucket = redisson.getBucket(arguments[0], StringCodec.INSTANCE);
            switch (verb) {
                case "get":
                    return value(bucket.get());
                case "set":
                    return set(bucket, arguments);
                case "absent":
                    return done(bucket.setIfAbsent(arguments[1]));
                case "compare":
                    return compareAndSet(bucket, arguments);
                case "swap":
                    return value(bucket.getAndSet(arguments[1]));
                case "ttl":
                    return "left=" + bucket.remainTimeToLive();
                case "delete":
                    return done(bucket.delete());
                default:
                    throw new IllegalArgumentException("no verb " + verb);
            }
        };
    }

    static Player.Kind maps(RedissonClient redisson) {
        return (verb, arguments) -> {
            RMap<String, String> map = redisson.getMap(arguments[0], StringCodec.INSTANCE);
            switch (verb) {
                case "put":
                    return value(map.put(arguments[1], arguments[2]));
                case "absent":
                    return done(map.putIfAbsent(arguments[1], arguments[2]) == null);
                case "get":
                    return value(map.get(arguments[1]));
                case "remove":
                    return value(map.remove(arguments[1]));
                case "size":
                    return "count=" + map.size();
                default:
                    throw new IllegalArgumentException("no verb " + verb);
            }
        };
    }
}
