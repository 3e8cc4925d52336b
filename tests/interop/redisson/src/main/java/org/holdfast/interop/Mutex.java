/* SPDX-License-Identifier: Apache-2.0 */
package org.holdfast.interop;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/** RLock. Times are System.nanoTime(), which on Linux is CLOCK_MONOTONIC, for all processes the same. */
final class Mutex implements Player.Kind {
    private final RedissonClient redisson;

    Mutex(RedissonClient redisson) {
        this.redisson = redisson;
    }

    private String owner() {
        return " owner=" + redisson.getId() + ":" + Thread.currentThread().getId();
    }

    private static String taken(boolean got) {
        return "got=" + (got ? 1 : 0) + " at=" + System.nanoTime();
    }

    private static String unlock(RLock lock) {
        long from = System.nanoTime();
        lock.unlock();
        return "from=" + from + " at=" + System.nanoTime();
    }

    /** Reads a number and writes the next, under the lock, until the time is over. */
    private long count(RLock lock, String counter, long until) {
        RBucket<String> bucket = redisson.getBucket(counter, StringCodec.INSTANCE);
        long done = 0;
        while (System.nanoTime() < until) {
            lock.lock();
            try {
                String now = bucket.get();
                bucket.set(Long.toString((now == null ? 0 : Long.parseLong(now)) + 1));
                done++;
            } finally {
                lock.unlock();
            }
        }
        return done;
    }

    /** So many threads at once. */
    private String storm(RLock lock, String counter, int count, long ms) throws Exception {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        Thread[] threads = new Thread[count];
        AtomicLong done = new AtomicLong();
        AtomicReference<RuntimeException> wrong = new AtomicReference<>();
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(() -> {
                try {
                    done.addAndGet(count(lock, counter, until));
                } catch (RuntimeException error) {
                    wrong.set(error);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (wrong.get() != null) {
            throw wrong.get();
        }
        return "done=" + done;
    }

    @Override
    public String act(String verb, String[] arguments) throws Exception {
        RLock lock = redisson.getLock(arguments[0]);
        switch (verb) {
            case "lock":
                lock.lock();
                return taken(true) + owner();
            case "lease":
                lock.lock(Long.parseLong(arguments[1]), TimeUnit.MILLISECONDS);
                return taken(true) + owner();
            case "try":
                return taken(lock.tryLock());
            case "timed":
                return taken(lock.tryLock(Long.parseLong(arguments[1]), TimeUnit.MILLISECONDS));
            case "unlock":
                return unlock(lock);
            case "force":
                return "done=" + (lock.forceUnlock() ? 1 : 0);
            case "held":
                return "held=" + (lock.isHeldByCurrentThread() ? 1 : 0);
            case "count":
                return "count=" + lock.getHoldCount();
            case "storm":
                return storm(lock, arguments[1], Integer.parseInt(arguments[2]), Long.parseLong(arguments[3]));
            default:
                throw new IllegalArgumentException("no verb " + verb);
        }
    }
}
