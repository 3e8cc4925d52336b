/* SPDX-License-Identifier: Apache-2.0 */
package org.holdfast.interop;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/** Many threads that do the same thing again and again until the time is over. */
final class Storm {
    /** One step. Whatever it throws ends the storm. */
    interface Step {
        void run() throws Exception;
    }

    private Storm() {
    }

    private static long repeat(Step step, long until, AtomicReference<Exception> wrong) {
        long done = 0;
        try {
            while (System.nanoTime() < until && wrong.get() == null) {
                step.run();
                done++;
            }
        } catch (Exception error) {
            wrong.set(error);
        }
        return done;
    }

    static String run(int count, long ms, Step step) throws Exception {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        Thread[] threads = new Thread[count];
        AtomicLong done = new AtomicLong();
        AtomicReference<Exception> wrong = new AtomicReference<>();
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(() -> done.addAndGet(repeat(step, until, wrong)));
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
}
