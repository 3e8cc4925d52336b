# SPDX-License-Identifier: Apache-2.0
"""peer.py WHO PORT TTL_MS: redis-py's Lock or python-redis-lock, by the protocol of docs/benchmarks.md."""
import json
import sys
import threading
from time import monotonic_ns as now

import redis


def redis_py(client, ttl_ms):
    return lambda name: client.lock(name, timeout=ttl_ms / 1000)


def python_redis_lock(client, ttl_ms):
    import redis_lock

    return lambda name: redis_lock.Lock(client, name, expire=ttl_ms // 1000)


def work(make, name, end, counts, me, stamps):
    count = d = 0
    while d < end:
        a = now()
        lock = make(name)
        lock.acquire()
        b = now()
        lock.release()
        d = now()
        count += 1
        if stamps is not None:
            stamps += (a, b, b, d)
    counts[me] = count


def run(make, prefix, locks, threads, end, stamped):
    counts, stamps = [0] * threads, []
    crew = [
        threading.Thread(
            target=work,
            args=(make, f"{prefix}{i % locks}", end, counts, i, stamps if stamped else None),
        )
        for i in range(threads)
    ]
    start = now()
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    return {"took": now() - start, "counts": counts, "stamps": stamps}


def main():
    who, port, ttl_ms = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    client = redis.Redis(host="127.0.0.1", port=port)
    make = (redis_py if who == "redis-py" else python_redis_lock)(client, ttl_ms)
    for line in sys.stdin:
        word = line.split()
        if word[0] == "hold":
            keep = make(word[1])
            keep.acquire()
            out = {"at": now()}
        else:
            out = run(make, word[1], int(word[2]), int(word[3]), int(word[4]), word[5] == "1")
        print(json.dumps(out), flush=True)


main()
