/* SPDX-License-Identifier: Apache-2.0 */
package org.holdfast.interop;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;

import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Whatever is an RLock. Times are System.nanoTime(), which on Linux is CLOCK_MONOTONIC, for all processes the same. */
final class Locks implements Player.Kind {
    /** The lock of a name. */
    interface Maker {
        RLock make(String name) throws Exception;
    }

    private final RedissonClient redisson;
    private final Maker kind;

    private Locks(RedissonClient redisson, Maker kind) {
        this.redisson = redisson;
        this.kind = kind;
    }

    static Locks of(RedissonClient redisson, Maker kind) {
        return new Locks(redisson, kind);
    }

    /** Several names, "one+two", as one lock. */
    static RLock multi(RedissonClient redisson, String names) {
        return redisson.getMultiLock(Arrays.stream(names.split("\\+")).map(redisson::getLock).toArray(RLock[]::new));
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

    /** Adds one to a number, under the lock. */
    private void step(RLock lock, Counter counter) {
        lock.lock();
        try {
            counter.add();
        } finally {
            lock.unlock();
        }
    }

    /** Reads two numbers that are equal whenever nobody writes. */
    private void look(RLock lock, Counter one, Counter two) {
        lock.lock();
        try {
            if (one.get() != two.get()) {
                throw new IllegalStateException("a reader saw a writer at work");
            }
        } finally {
            lock.unlock();
        }
    }

    /** Takes what is a token's, if there are tokens. */
    private String token(RLock lock) {
        long token = ((RFencedLock) lock).lockAndGetToken();
        return taken(true) + owner() + " token=" + token;
    }

    @Override
    public String act(String verb, String[] arguments) throws Exception {
        RLock lock = kind.make(arguments[0]);
        switch (verb) {
            case "lock":
                lock.lock();
                return taken(true) + owner();
            case "lease":
                lock.lock(Long.parseLong(arguments[1]), TimeUnit.MILLISECONDS);
                return taken(true) + owner();
            case "token":
                return token(lock);
            case "try":
                return taken(lock.tryLock()) + owner();
            case "timed":
                return taken(lock.tryLock(Long.parseLong(arguments[1]), TimeUnit.MILLISECONDS)) + owner();
            case "unlock":
                return unlock(lock);
            case "force":
                return "done=" + (lock.forceUnlock() ? 1 : 0);
            case "held":
                return "held=" + (lock.isHeldByCurrentThread() ? 1 : 0);
            case "count":
                return "count=" + lock.getHoldCount();
            case "look":
                return "locked=" + (lock.isLocked() ? 1 : 0) + " left=" + lock.remainTimeToLive();
            case "storm":
                return Storm.run(Integer.parseInt(arguments[2]), Long.parseLong(arguments[3]),
                        () -> step(lock, new Counter(redisson, arguments[1])));
            case "write-storm":
                return Storm.run(Integer.parseInt(arguments[2]), Long.parseLong(arguments[3]), () -> {
                    lock.lock();
                    try {
                        new Counter(redisson, arguments[1]).add();
                        new Counter(redisson, arguments[1] + "-copy").add();
                    } finally {
                        lock.unlock();
                    }
                });
            case "look-storm":
                return Storm.run(Integer.parseInt(arguments[2]), Long.parseLong(arguments[3]), () -> look(lock,
                        new Counter(redisson, arguments[1]), new Counter(redisson, arguments[1] + "-copy")));
            default:
                throw new IllegalArgumentException("no verb " + verb);
        }
    }
}
