/* SPDX-License-Identifier: Apache-2.0 */
package org.holdfast.interop;

import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

import org.redisson.api.RAtomicLong;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;

/** RPermitExpirableSemaphore. What a thread has taken it gives back last first. */
final class Permits implements Player.Kind {
    private final RedissonClient redisson;
    private final Map<String, Deque<List<String>>> mine = new ConcurrentHashMap<>();

    Permits(RedissonClient redisson) {
        this.redisson = redisson;
    }

    private Deque<List<String>> mine(String name) {
        return mine.computeIfAbsent(Thread.currentThread().getId() + " " + name, key -> new ArrayDeque<>());
    }

    private String taken(String name, List<String> ids) {
        boolean got = ids != null && !ids.isEmpty() && ids.get(0) != null;
        if (got) {
            mine(name).push(ids);
        }
        return "got=" + (got ? 1 : 0) + " at=" + System.nanoTime() + (got ? " id=" + ids.get(0) : "");
    }

    /** Release says by an exception that a permit had expired. */
    private String release(RPermitExpirableSemaphore semaphore) {
        List<String> ids = mine(semaphore.getName()).pop();
        long from = System.nanoTime();
        if (ids.size() == 1) {
            semaphore.release(ids.get(0));
        } else {
            semaphore.release(ids);
        }
        return "from=" + from + " at=" + System.nanoTime();
    }

    private static String change(RPermitExpirableSemaphore semaphore, int permits) {
        semaphore.addPermits(permits);
        return "done=1";
    }

    private static String count(RPermitExpirableSemaphore semaphore) {
        return "count=" + semaphore.availablePermits() + " taken=" + semaphore.acquiredPermits();
    }

    /** Some are inside: never more than there are permits for. A lease of a minute outlives the test. */
    private static void step(RPermitExpirableSemaphore semaphore, RAtomicLong inside, long most) throws Exception {
        String id = semaphore.acquire(60, TimeUnit.SECONDS);
        if (inside.incrementAndGet() > most) {
            throw new IllegalStateException("more than " + most + " inside");
        }
        inside.decrementAndGet();
        semaphore.release(id);
    }

    @Override
    public String act(String verb, String[] arguments) throws Exception {
        RPermitExpirableSemaphore semaphore = redisson.getPermitExpirableSemaphore(arguments[0]);
        int permits = arguments.length > 1 && !verb.equals("force") ? Integer.parseInt(arguments[1]) : 1;
        switch (verb) {
            case "set":
                return "done=" + (semaphore.trySetPermits(permits) ? 1 : 0);
            case "resize":
                semaphore.setPermits(permits);
                return "done=1";
            case "delete":
                return "done=" + (semaphore.delete() ? 1 : 0);
            case "force":
                semaphore.release(arguments[1]);
                return "done=1";
            case "prolong":
                return "done=" + (semaphore.updateLeaseTime(mine(arguments[0]).peek().get(0), permits,
                        TimeUnit.MILLISECONDS) ? 1 : 0);
            case "add":
                return change(semaphore, permits);
            case "count":
                return count(semaphore);
            case "lock":
                return taken(arguments[0], permits == 1 ? Collections.singletonList(semaphore.acquire())
                        : semaphore.acquire(permits));
            case "lease":
                return taken(arguments[0],
                        Collections.singletonList(semaphore.acquire(permits, TimeUnit.MILLISECONDS)));
            case "try":
                return taken(arguments[0], permits == 1 ? Collections.singletonList(semaphore.tryAcquire())
                        : semaphore.tryAcquire(permits));
            case "timed":
                return taken(arguments[0], Collections.singletonList(
                        semaphore.tryAcquire(Long.parseLong(arguments[1]), TimeUnit.MILLISECONDS)));
            case "unlock":
                return release(semaphore);
            case "storm": {
                RAtomicLong inside = redisson.getAtomicLong(arguments[2]);
                long most = Long.parseLong(arguments[3]);
                return Storm.run(Integer.parseInt(arguments[4]), Long.parseLong(arguments[5]),
                        () -> step(semaphore, inside, most));
            }
            default:
                throw new IllegalArgumentException("no verb " + verb);
        }
    }
}
