// SPDX-License-Identifier: Apache-2.0
// Peer PORT TTL_MS: Redisson's RLock, by the protocol of docs/benchmarks.md. Without a lease time of its own
// lock() is renewed by the watchdog, as Redisson's documentation has it.
package org.holdfast.peers;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public final class Peer {
    private static RedissonClient redisson;

    private static long[] stamps = new long[1 << 16];
    private static int used;

    private static void stamp(long a, long b, long c, long d) {
        if (used + 4 > stamps.length) {
            stamps = Arrays.copyOf(stamps, 2 * stamps.length);
        }
        stamps[used++] = a;
        stamps[used++] = b;
        stamps[used++] = c;
        stamps[used++] = d;
    }

    private static long work(String name, long end, boolean stamped) {
        RLock lock = redisson.getLock(name);
        long count = 0;
        for (long d = 0; d < end; count++) {
            long a = System.nanoTime();
            lock.lock();
            long b = System.nanoTime();
            lock.unlock();
            d = System.nanoTime();
            if (stamped) {
                stamp(a, b, b, d);
            }
        }
        return count;
    }

    private static void run(String prefix, int locks, int threads, long end, boolean stamped)
            throws InterruptedException {
        long[] counts = new long[threads];
        Thread[] crew = new Thread[threads];
        used = 0;
        long start = System.nanoTime();
        for (int i = 0; i < threads; i++) {
            int me = i;
            crew[i] = new Thread(() -> counts[me] = work(prefix + me % locks, end, stamped));
            crew[i].start();
        }
        for (Thread thread : crew) {
            thread.join();
        }
        long took = System.nanoTime() - start;
        StringBuilder out = new StringBuilder("{\"took\":" + took + ",\"counts\":");
        out.append(Arrays.toString(counts)).append(",\"stamps\":");
        out.append(Arrays.toString(Arrays.copyOf(stamps, used))).append('}');
        System.out.println(out);
    }

    // Each lock by a thread id of its own, as any number of threads would; heap: what is in use after a collection.
    private static long heap() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    private static void keep(String prefix, int count) throws Exception {
        long before = heap();
        for (int i = 0; i < count; i++) {
            redisson.getLock(prefix + i).lockAsync(i + 1).get();
        }
        long used = heap() - before;
        System.out.println("{\"at\":" + System.nanoTime() + ",\"heap\":" + used + "}");
    }

    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.setLockWatchdogTimeout(Long.parseLong(args[1]));
        config.useSingleServer().setAddress("redis://127.0.0.1:" + args[0]);
        redisson = Redisson.create(config);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] w = line.split(" ");
            if (w[0].equals("hold")) {
                redisson.getLock(w[1]).lock();
                System.out.println("{\"at\":" + System.nanoTime() + "}");
            } else if (w[0].equals("keep")) {
                keep(w[1], Integer.parseInt(w[2]));
            } else {
                run(w[1], Integer.parseInt(w[2]), Integer.parseInt(w[3]), Long.parseLong(w[4]),
                    w[5].equals("1"));
            }
        }
        System.exit(0);
    }
}
