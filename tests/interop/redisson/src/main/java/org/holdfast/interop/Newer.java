/* SPDX-License-Identifier: Apache-2.0 */
package org.holdfast.interop;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

import org.redisson.api.RLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.SingleServerConfig;

/** What not every version that is tested has, or has elsewhere: found by name when it is wanted. */
final class Newer {
    private Newer() {
    }

    /** Its own exceptions come out as they are; NoSuchMethodException: this version does not have it. */
    private static Object call(Class<?> type, Object on, String method, Class<?>[] types, Object... arguments)
            throws Exception {
        Method found = type.getMethod(method, types);
        try {
            return found.invoke(on, arguments);
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof Exception) {
                throw (Exception) error.getCause();
            }
            throw error;
        }
    }

    /** A lock that is not reentrant, fair or not. */
    static RLock once(RedissonClient redisson, String name, boolean isFair) throws Exception {
        String method = isFair ? "getNonReentrantFairLock" : "getNonReentrantLock";
        return (RLock) call(RedissonClient.class, redisson, method, new Class<?>[] { String.class }, name);
    }

    static boolean trySetPermits(RSemaphore semaphore, int permits, long ttlMs) throws Exception {
        return (Boolean) call(RSemaphore.class, semaphore, "trySetPermits",
                new Class<?>[] { int.class, java.time.Duration.class }, permits, java.time.Duration.ofMillis(ttlMs));
    }

    static boolean releaseIfExists(RSemaphore semaphore, int permits) throws Exception {
        return (Boolean) call(RSemaphore.class, semaphore, "releaseIfExists", new Class<?>[] { int.class }, permits);
    }

    private static Object mapped(Method method, Object[] arguments, String prefix) {
        String name = (String) arguments[0];
        if (method.getName().equals("map")) {
            return prefix + name;
        }
        return name.startsWith(prefix) ? name.substring(prefix.length()) : name;
    }

    /** Puts this before all names. The interface moved, and so did where it is set. */
    static void setPrefix(Config config, SingleServerConfig server, String prefix) throws Exception {
        InvocationHandler handler = (proxy, method, arguments) -> mapped(method, arguments, prefix);
        boolean isOld = false;
        Class<?> type;
        try {
            type = Class.forName("org.redisson.config.NameMapper");
        } catch (ClassNotFoundException old) {
            type = Class.forName("org.redisson.api.NameMapper");
            isOld = true;
        }
        Object mapper = Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type }, handler);
        call(isOld ? SingleServerConfig.class : Config.class, isOld ? server : config, "setNameMapper",
                new Class<?>[] { type }, mapper);
    }
}
