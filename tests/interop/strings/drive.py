#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""drive.py [-t SECONDS] -b BUILD SERVER PEER...: locks that are strings, ours beside each peer's.

A side is a process that does what it is told, a line a command, and says what came of it (player.c has the words;
peers' locks are never renewed by themselves, and have "extend" instead). Each scenario is played on an empty server
by new processes; peers have servers of their own, and play at the same time. Exit code: 0, all came true; 1, not.
"""
import argparse
import concurrent.futures
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 20  # seconds, for what must come
TTL = 20000  # of what does not run out in a test

# Name, command, what its keys have before the name, and how soon its waiters see that a lock is free, in seconds:
# those that poll in some rounds of their delays, the one that blocks on a list at once.
PEERS = {
    "redis-py": (["{built}/python/bin/python", f"{HERE}/python/player.py", "redis-py", "{port}"], "", 1.0),
    "python3-redis": (["/usr/bin/python3", "-I", f"{HERE}/python/player.py", "redis-py", "{port}"], "", 1.0),
    "python-redis-lock": (
        ["{built}/python/bin/python", f"{HERE}/python/player.py", "python-redis-lock", "{port}"], "lock:", 0.5),
    "redlock": (["node", f"{HERE}/node/player.mjs", "{port}", "{built}/node"], "", 1.5),
    "redsync": (["{built}/go/player", "{port}"], "", 1.5),
}
OURS_SEE = 1.0  # ten looks a second, and a machine that is busy


class Failed(Exception):
    """Something did not come true."""


def must(truth, what):
    if not truth:
        raise Failed(what)


class Server:
    """A server of the driver's own on a free port of the loopback interface."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(prefix="holdfast-strings-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder.name],
            stdout=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", self.port))
                break
            except OSError:
                must(time.monotonic() < until, f"{program} does not start")
                time.sleep(0.02)
        self.file = self.socket.makefile("rb")

    def read(self):
        head = self.file.readline().rstrip()
        if head[:1] == b"*":
            return [self.read() for _ in range(int(head[1:]))]
        if head[:1] == b"$":
            return self.file.read(int(head[1:]) + 2)[:-2].decode() if head != b"$-1" else None
        must(head[:1] != b"-", f"the server says {head}")
        return int(head[1:]) if head[:1] == b":" else head[1:].decode()

    def ask(self, *words):
        parts = [str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        return self.read()

    def compares(self):
        return any(self.ask("COMMAND", "INFO", "DELIFEQ", "DELEX"))

    def stop(self):
        self.socket.close()
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


class Side:
    """A player."""

    def __init__(self, name, command):
        self.name = name
        self.rest = b""
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        must(self.hear() == "ok", f"{name} does not start")

    def tell(self, *words):
        self.process.stdin.write((" ".join(str(w) for w in words) + "\n").encode())
        self.process.stdin.flush()

    def has(self, seconds):
        """Is there an answer within so many seconds?"""
        until = time.monotonic() + seconds
        while b"\n" not in self.rest:
            left = until - time.monotonic()
            if not select.select([self.process.stdout], [], [], max(0, left))[0]:
                return False
            got = os.read(self.process.stdout.fileno(), 4096)
            must(got, f"{self.name} has ended")
            self.rest += got
        return True

    def hear(self, seconds=PATIENCE):
        must(self.has(seconds), f"{self.name} says nothing for {seconds} s")
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def ask(self, *words):
        self.tell(*words)
        return self.hear()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Stage:
    """What a scenario has: the server, our side, the peer, and how names and keys are called."""

    def __init__(self, server, options, peer):
        self.server = server
        self.command, self.head, self.sees = PEERS[peer]
        self.seconds = options.seconds
        self.figures = []
        self.server.ask("FLUSHALL")
        self.c = Side("c", [f"{options.build}/bin/interop_string_player", str(server.port),
                            f"layout=string&prefix={self.head}"])
        built = f"{options.build}/interop/strings"
        self.peer = Side(peer, [w.format(built=built, port=server.port) for w in self.command])

    def key(self, name):
        return self.head + name

    def value(self, name):
        return self.server.ask("GET", self.key(name))

    def expect(self, side, answer, *words):
        got = side.ask(*words)
        must(got == answer, f"{side.name}: {' '.join(map(str, words))}: {got} instead of {answer}")

    def end(self):
        self.c.kill()
        self.peer.kill()


# What follows are the scenarios. Each leaves no lock behind, or has a reason.


def bytes_on_the_server(s):
    """Each refuses the other's lock, and removes its own."""
    for name in ("job", "a{b}c", "x"):
        s.expect(s.c, "ok", "take", name, TTL, 0)
        must(s.value(name) == s.c.ask("owner", name).split()[1], "the value is our owner id")
        must(TTL - 2000 < s.server.ask("PTTL", s.key(name)) <= TTL, "the ttl is ours")
        s.expect(s.peer, "busy", "take", name, TTL, 0)
        s.expect(s.c, "ok", "give", name)
        must(s.value(name) is None, "we removed the key")
        s.expect(s.peer, "ok", "take", name, TTL, 0)
        must(s.server.ask("TYPE", s.key(name)) == "string", "the peer keeps a string")
        s.expect(s.c, "busy", "take", name, TTL, 0)
        s.expect(s.peer, "ok", "give", name)
        must(s.value(name) is None, "the peer removed the key")


def hand_off(s, giver, taker, bound):
    took = []
    for i in range(7):
        s.expect(giver, "ok", "take", "job", TTL, 0)
        taker.tell("take", "job", TTL, 60000)
        must(not taker.has(0.25 + i / 40), f"{taker.name} got in too early")
        start = time.monotonic()
        s.expect(giver, "ok", "give", "job")
        must(taker.hear() == "ok", f"{taker.name} did not get it")
        took.append(time.monotonic() - start)
        s.expect(taker, "ok", "give", "job")
    took.sort()
    s.figures.append(f"median {took[len(took) // 2] * 1000:.0f} ms, most {took[-1] * 1000:.0f} ms")
    must(took[len(took) // 2] < bound, f"half of the hand-offs took longer than {bound} s: {took}")


def ours_then_theirs(s):
    """We hold, the peer waits, and gets it after the release as soon as its way of waiting lets it."""
    hand_off(s, s.c, s.peer, s.sees)


def theirs_then_ours(s):
    """The peer holds, we wait."""
    hand_off(s, s.peer, s.c, OURS_SEE)


def our_death(s):
    """Our process is killed: the peer gets in when the ttl is over, not before."""
    s.expect(s.c, "ok", "take", "job", 2000, 0)
    start = time.monotonic()
    s.c.kill()
    s.peer.tell("take", "job", 2000, 60000)
    must(s.peer.hear() == "ok", "the peer did not get in")
    must(1.3 < time.monotonic() - start < 8, f"after {time.monotonic() - start} s")


def their_death(s):
    """The peer's process is killed: we get in when the ttl is over, not before."""
    s.expect(s.peer, "ok", "take", "job", 2000, 0)
    start = time.monotonic()
    s.peer.kill()
    s.expect(s.c, "ok", "take", "job", TTL, 60000)
    must(1.5 < time.monotonic() - start < 5, f"after {time.monotonic() - start} s")
    s.expect(s.c, "ok", "give", "job")


def our_late_release(s):
    """Our lease has run out and the peer holds it: our release says so and takes nothing away."""
    s.expect(s.c, "ok", "lease", "job", 1000, 0)
    until = time.monotonic() + PATIENCE
    while s.peer.ask("take", "job", TTL, 0) != "ok":
        must(time.monotonic() < until, "the peer did not get in")
        time.sleep(0.05)
    theirs = s.value("job")
    s.expect(s.c, "lost", "check", "job")
    s.expect(s.c, "lost", "give", "job")
    must(s.value("job") == theirs, "the peer's lock is untouched")
    must(s.server.ask("PTTL", s.key("job")) > TTL - 5000, "and so is its ttl")
    s.expect(s.c, "busy", "take", "job", TTL, 0)
    s.expect(s.peer, "ok", "give", "job")


def their_late_release(s):
    """The peer's lock has run out and we hold it: its release and its extension leave ours alone."""
    for verb in ("give", "extend"):
        s.expect(s.peer, "ok", "take", "job", 1000, 0)
        s.expect(s.c, "ok", "take", "job", TTL, 60000)
        ours = s.value("job")
        s.expect(s.peer, "lost", verb, "job", *([1000] if verb == "extend" else []))
        must(s.value("job") == ours, "our lock is untouched")
        must(s.server.ask("PTTL", s.key("job")) > TTL - 5000, "and so is its ttl")
        s.expect(s.c, "ok", "check", "job")
        s.expect(s.c, "ok", "give", "job")


def our_renewal(s):
    """A hold of 1.8 s is kept for 4 s: the peer never gets in."""
    s.expect(s.c, "ok", "take", "job", 1800, 0)
    until = time.monotonic() + 4
    while time.monotonic() < until:
        s.expect(s.peer, "busy", "take", "job", TTL, 0)
        time.sleep(0.05)
    s.expect(s.c, "ok", "check", "job")
    s.expect(s.c, "ok", "give", "job")


def their_extension(s):
    """The peer extends a lock of 2 s: we wait on, and get in when it gives it back."""
    s.expect(s.peer, "ok", "take", "job", 2000, 0)
    s.c.tell("take", "job", TTL, 60000)
    for _ in range(4):
        must(not s.c.has(1), "we got in while the lock was extended")
        s.expect(s.peer, "ok", "extend", "job", 2000)
    s.expect(s.peer, "ok", "give", "job")
    must(s.c.hear() == "ok", "we did not get in")
    s.expect(s.c, "ok", "give", "job")


def counter(s):
    """Threads of both read a number and write the next one under the lock: none is lost."""
    ms = int(s.seconds * 1000)
    s.server.ask("CONFIG", "RESETSTAT")
    for side in (s.c, s.peer):
        side.tell("count", "job", "number", 5000, 3, ms)
    counts = [int(side.hear(s.seconds + 60).split()[1]) for side in (s.c, s.peer)]
    number = int(s.server.ask("GET", "number"))
    s.figures.append(f"ours {counts[0]}, theirs {counts[1]}")
    must(number == sum(counts), f"{number} instead of {counts[0]} + {counts[1]}: some were lost")
    must(counts[0] > 0 and counts[1] > 0, f"one side never got in: {counts}")
    stats = s.server.ask("INFO", "commandstats")
    own = "cmdstat_delifeq:" in stats or "cmdstat_delex:" in stats
    must(own == (s.server.compares() and not s.head), "releases use the server's own command where it has one")


SCENARIOS = [bytes_on_the_server, ours_then_theirs, theirs_then_ours, our_death, their_death, our_late_release,
             their_late_release, our_renewal, their_extension, counter]


def play(scenario, server, options, peer):
    """Says what came of it, in one write: peers play at the same time."""
    name = f"{peer}: {scenario.__name__.replace('_', ' ')}"
    stage, wrong = None, None
    try:
        stage = Stage(server, options, peer)
        scenario(stage)
    except (Failed, OSError, ValueError, IndexError) as failure:
        wrong = f"{type(failure).__name__}: {failure}"
    if stage:
        stage.end()
    figures = f" ({'; '.join(stage.figures)})" if stage and stage.figures else ""
    because = f"\n    {wrong}" if wrong else ""
    sys.stdout.write(f"[ {'FAILED' if wrong else '  OK  '} ] {name}{figures}{because}\n")
    sys.stdout.flush()
    return not wrong


def play_all(options, peer):
    server = Server(options.server)
    try:
        return [play(scenario, server, options, peer) for scenario in SCENARIOS if options.only in scenario.__name__]
    finally:
        server.stop()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("-t", dest="seconds", type=float, default=5)
    arguments.add_argument("-b", dest="build", required=True)
    arguments.add_argument("-o", dest="only", default="")
    arguments.add_argument("server")
    arguments.add_argument("peer", nargs="+", choices=sorted(PEERS))
    options = arguments.parse_args()
    with concurrent.futures.ThreadPoolExecutor(len(options.peer)) as crew:
        results = sum(crew.map(lambda peer: play_all(options, peer), options.peer), [])
    print(f"interop: strings on {options.server}: {results.count(True)} passed, {results.count(False)} failed")
    sys.exit(0 if all(results) else 1)


main()
