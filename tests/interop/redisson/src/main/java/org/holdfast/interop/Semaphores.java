/* SPDX-License-Identifier: Apache-2.0 */
package org.holdfast.interop;

import java.util.concurrent.TimeUnit;

import org.redisson.api.RAtomicLong;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** RSemaphore. */
final class Semaphores implements Player.Kind {
    private final RedissonClient redisson;

    Semaphores(RedissonClient redisson) {
        this.redisson = redisson;
    }

    private static String taken(boolean got) {
        return "got=" + (got ? 1 : 0) + " at=" + System.nanoTime();
    }

    private static String release(RSemaphore semaphore, int permits) {
        long from = System.nanoTime();
        semaphore.release(permits);
        return "from=" + from + " at=" + System.nanoTime();
    }

    private static String change(RSemaphore semaphore, int permits) {
        semaphore.addPermits(permits);
        return "done=1";
    }

    /** Some are inside: never more than there are permits for. */
    private static void step(RSemaphore semaphore, RAtomicLong inside, int permits, long most) throws Exception {
        semaphore.acquire(permits);
        if (inside.addAndGet(permits) > most) {
            throw new IllegalStateException("more than " + most + " inside");
        }
        inside.addAndGet(-permits);
        semaphore.release(permits);
    }

    /** Takes all that there are, and gives them back. */
    private static void drain(RSemaphore semaphore, RAtomicLong inside, long most) throws Exception {
        int taken = semaphore.drainPermits();
        for (; taken == 0; taken = semaphore.drainPermits()) {
            Thread.sleep(1);
        }
        if (inside.addAndGet(taken) > most) {
            throw new IllegalStateException("more than " + most + " inside");
        }
        inside.addAndGet(-taken);
        semaphore.release(taken);
    }

    private static String set(RSemaphore semaphore, int permits, String[] arguments) throws Exception {
        boolean is = arguments.length > 2 ? Newer.trySetPermits(semaphore, permits, Long.parseLong(arguments[2]))
                : semaphore.trySetPermits(permits);
        return "done=" + (is ? 1 : 0);
    }

    @Override
    public String act(String verb, String[] arguments) throws Exception {
        RSemaphore semaphore = redisson.getSemaphore(arguments[0]);
        int permits = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 1;
        switch (verb) {
            case "set":
                return set(semaphore, permits, arguments);
            case "add":
                return change(semaphore, permits);
            case "drain":
                return "count=" + semaphore.drainPermits();
            case "count":
                return "count=" + semaphore.availablePermits();
            case "lock":
                semaphore.acquire(permits);
                return taken(true);
            case "try":
                return taken(semaphore.tryAcquire(permits));
            case "timed":
                return taken(semaphore.tryAcquire(permits, Long.parseLong(arguments[2]), TimeUnit.MILLISECONDS));
            case "unlock":
                return release(semaphore, permits);
            case "return":
                return "done=" + (Newer.releaseIfExists(semaphore, permits) ? 1 : 0);
            case "delete":
                return "done=" + (semaphore.delete() ? 1 : 0);
            case "storm":
            case "drain-storm": {
                RAtomicLong inside = redisson.getAtomicLong(arguments[2]);
                long most = Long.parseLong(arguments[3]);
                Storm.Step step = verb.equals("storm") ? () -> step(semaphore, inside, permits, most)
                        : () -> drain(semaphore, inside, most);
                return Storm.run(Integer.parseInt(arguments[4]), Long.parseLong(arguments[5]), step);
            }
            default:
                throw new IllegalArgumentException("no verb " + verb);
        }
    }
}
