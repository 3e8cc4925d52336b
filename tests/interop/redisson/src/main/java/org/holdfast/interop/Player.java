/* SPDX-License-Identifier: Apache-2.0 */
package org.holdfast.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.SingleServerConfig;

/**
 * The Java side of the interop tests. It does what it is told on its standard input, one line a command
 * ("THREAD KIND VERB ARGUMENT..."), each on a thread of that name, and says on its standard output what
 * came of it ("THREAD ok KEY=VALUE..." or "THREAD error WHAT"), one line a command. It first says
 * "- ok client=ID version=VERSION". It ends at once, and leaves its locks to their ttl, when its input does.
 *
 * <p>A kind is a line in the constructor, with a class that implements Kind where none does yet.
 */
public final class Player {
    /** One command of one kind, on the thread that was named. Returns "KEY=VALUE...". */
    interface Kind {
        String act(String verb, String[] arguments) throws Exception;
    }

    private final Map<String, Kind> kinds = new HashMap<>();
    private final Map<String, ExecutorService> threads = new HashMap<>();
    private final Map<String, Thread> named = new ConcurrentHashMap<>();

    private Player(RedissonClient redisson) {
        kinds.put("mutex", Locks.of(redisson, redisson::getLock));
        kinds.put("fair", Locks.of(redisson, redisson::getFairLock));
        kinds.put("read", Locks.of(redisson, name -> redisson.getReadWriteLock(name).readLock()));
        kinds.put("write", Locks.of(redisson, name -> redisson.getReadWriteLock(name).writeLock()));
        kinds.put("fenced", Locks.of(redisson, redisson::getFencedLock));
        kinds.put("spin", Locks.of(redisson, redisson::getSpinLock));
        kinds.put("once", Locks.of(redisson, name -> Newer.once(redisson, name, false)));
        kinds.put("fair-once", Locks.of(redisson, name -> Newer.once(redisson, name, true)));
        kinds.put("multi", Locks.of(redisson, names -> Locks.multi(redisson, names)));
        kinds.put("semaphore", new Semaphores(redisson));
        kinds.put("permits", new Permits(redisson));
        kinds.put("latch", new Latches(redisson));
        kinds.put("bucket", Values.buckets(redisson));
        kinds.put("map", Values.maps(redisson));
        kinds.put("thread", (verb, arguments) -> "asleep=" + (isAsleep(named.get(arguments[0])) ? 1 : 0));
    }

    private static synchronized void say(String thread, String what) {
        System.out.println(thread + " " + what);
        System.out.flush();
    }

    /** What kind of error: the first class from the end of the chain of causes. */
    private static String wrong(Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause.getClass().getSimpleName() + " " + String.valueOf(cause.getMessage()).replace('\n', ' ');
    }

    private void act(String[] words) {
        String[] arguments = new String[words.length - 3];
        System.arraycopy(words, 3, arguments, 0, arguments.length);
        try {
            say(words[0], "ok " + kinds.get(words[1]).act(words[2], arguments));
        } catch (Throwable error) { // whatever it is, the driver is to know
            say(words[0], "error " + wrong(error));
        }
    }

    /** Redisson's waiters sleep in a Semaphore. */
    private static boolean isAsleep(Thread thread) {
        Thread.State state = thread.getState();
        return (state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING)
                && Arrays.stream(thread.getStackTrace()).anyMatch(at -> at.getClassName().endsWith(".Semaphore"));
    }

    private ExecutorService start(String name) {
        return Executors.newSingleThreadExecutor(what -> {
            Thread thread = new Thread(what, name);
            named.put(name, thread);
            return thread;
        });
    }

    private void play() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            threads.computeIfAbsent(words[0], this::start).execute(() -> act(words));
        }
    }

    /** Arguments: redis://HOST:PORT, the watchdog's timeout in ms, and what a name mapper puts before names. */
    public static void main(String[] arguments) throws Exception {
        Config config = new Config();
        config.setLockWatchdogTimeout(Long.parseLong(arguments[1]));
        SingleServerConfig server = config.useSingleServer().setAddress(arguments[0])
                .setConnectionMinimumIdleSize(2).setConnectionPoolSize(16);
        if (arguments.length > 2) {
            Newer.setPrefix(config, server, arguments[2]);
        }
        RedissonClient redisson = Redisson.create(config);
        say("-", "ok client=" + redisson.getId() + " version="
                + Redisson.class.getPackage().getImplementationVersion());
        new Player(redisson).play();
        Runtime.getRuntime().halt(0);
    }
}
