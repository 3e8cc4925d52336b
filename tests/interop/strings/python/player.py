# SPDX-License-Identifier: Apache-2.0
"""player.py WHO PORT: redis-py's Lock or python-redis-lock, in the words of drive.py."""
import logging
import sys
import threading
import time

import redis


class RedisPy:
    """redis.lock.Lock: it polls ten times a second."""

    def __init__(self, client):
        self.client = client

    def make(self, name, ttl_ms):
        return self.client.lock(name, timeout=ttl_ms / 1000)

    def take(self, lock, wait):
        return lock.acquire(blocking=wait)

    def give(self, lock):
        try:
            lock.release()
        except redis.exceptions.LockNotOwnedError:
            return False
        return True

    def extend(self, lock, ttl_ms):
        try:
            lock.extend(ttl_ms / 1000, replace_ttl=True)
        except redis.exceptions.LockNotOwnedError:
            return False
        return True


class PythonRedisLock:
    """redis_lock.Lock: whole seconds; its waiters block on a list."""

    def __init__(self, client):
        import redis_lock

        self.library = redis_lock
        self.client = client

    def make(self, name, ttl_ms):
        return self.library.Lock(self.client, name, expire=(ttl_ms + 999) // 1000)

    def take(self, lock, wait):
        return lock.acquire(blocking=wait)

    def give(self, lock):
        try:
            lock.release()
        except self.library.NotAcquired:
            return False
        return True

    def extend(self, lock, ttl_ms):
        try:
            lock.extend((ttl_ms + 999) // 1000)
        except self.library.NotAcquired:
            return False
        return True


def count_up(peer, client, name, key, ttl_ms, until, counts):
    n = 0
    while time.monotonic() < until:
        lock = peer.make(name, ttl_ms)
        peer.take(lock, True)
        client.set(key, int(client.get(key) or 0) + 1)
        n += 1
        if not peer.give(lock):
            raise SystemExit("a lock was lost while counting")
    counts.append(n)


def count(peer, client, name, key, ttl_ms, threads, ms):
    counts, until = [], time.monotonic() + ms / 1000
    crew = [
        threading.Thread(target=count_up, args=(peer, client, name, key, ttl_ms, until, counts))
        for _ in range(threads)
    ]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    return f"ok {sum(counts)}" if len(counts) == threads else "error a thread has failed"


def act(peer, client, locks, word):
    verb, name = word[0], word[1]
    if verb == "take":
        lock = peer.make(name, int(word[2]))
        if not peer.take(lock, word[3] != "0"):
            return "busy"
        locks[name] = lock
        return "ok"
    if verb == "give":
        return "ok" if peer.give(locks.pop(name)) else "lost"
    if verb == "extend":
        return "ok" if peer.extend(locks[name], int(word[2])) else "lost"
    return count(peer, client, name, word[2], int(word[3]), int(word[4]), int(word[5]))


def main():
    logging.disable(logging.WARNING)  # that a lock is taken, among others
    client = redis.Redis(host="127.0.0.1", port=int(sys.argv[2]))
    peer = (RedisPy if sys.argv[1] == "redis-py" else PythonRedisLock)(client)
    locks = {}
    print("ok", flush=True)
    for line in sys.stdin:
        print(act(peer, client, locks, line.split()), flush=True)


main()
