/* SPDX-License-Identifier: Apache-2.0 */
package org.holdfast.interop;

import java.util.concurrent.TimeUnit;

import org.redisson.api.RCountDownLatch;
import org.redisson.api.RedissonClient;

/** RCountDownLatch. */
final class Latches implements Player.Kind {
    private final RedissonClient redisson;

    Latches(RedissonClient redisson) {
        this.redisson = redisson;
    }

    private static String passed(boolean is) {
        return "got=" + (is ? 1 : 0) + " at=" + System.nanoTime();
    }

    private static String down(RCountDownLatch latch) {
        long from = System.nanoTime();
        latch.countDown();
        return "from=" + from + " at=" + System.nanoTime();
    }

    @Override
    public String act(String verb, String[] arguments) throws Exception {
        RCountDownLatch latch = redisson.getCountDownLatch(arguments[0]);
        switch (verb) {
            case "set":
                return "done=" + (latch.trySetCount(Long.parseLong(arguments[1])) ? 1 : 0);
            case "count":
                return "count=" + latch.getCount();
            case "unlock":
                return down(latch);
            case "lock":
                latch.await();
                return passed(true);
            case "timed":
                return passed(latch.await(Long.parseLong(arguments[1]), TimeUnit.MILLISECONDS));
            case "delete":
                return "done=" + (latch.delete() ? 1 : 0);
            default:
                throw new IllegalArgumentException("no verb " + verb);
        }
    }
}
