#!/usr/bin/python3
"""redis-server of Debian under load: what its threads hold lies between bounds that it tells itself, before and after."""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "parity"))
import file_json
import harness

ROUNDS = 5
KEYS = 20_000
PAUSE = 0.02  # in seconds, after a hundred commands
NEWS = 0.5  # in seconds: how old at most what it tells of jemalloc may be; it asks ten times a second


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(harness.TIMEOUT)
        self.socket.connect(path)
        self.stream = self.socket.makefile("rb")

    def close(self):
        self.stream.close()
        self.socket.close()

    def send(self, *words):
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))

    def answer(self):
        line = self.stream.readline()
        if line[:1] != b"$" or line == b"$-1\r\n":
            return line
        return self.stream.read(int(line[1:]) + 2)

    def memory(self):
        """Bytes that it uses now, and that jemalloc said it handed out when it was last asked, not long ago."""
        self.send(b"INFO", b"memory")
        fields = dict(line.split(b":", 1) for line in self.answer().splitlines() if b":" in line)
        return int(fields[b"used_memory"]), int(fields[b"allocator_allocated"])


def fill(path, stop, done):
    """Sets keys to values that grow and never shrink, until told to stop; slower when all keys are there, so that bounds are close."""
    client, number = Client(path), 0
    while not stop.is_set():
        for _ in range(100):
            client.send(b"SET", b"key:%d" % (number % KEYS), b"v" * (1000 + number // 10))
            number += 1
        for _ in range(100):
            client.answer()
        done[0] = number
        if number > KEYS:
            time.sleep(PAUSE)
    client.close()


# The program is one for all its names, and of these redis-tools, which starts no service, has only some.
SERVER = shutil.which("redis-server") or shutil.which("redis-check-rdb")


@unittest.skipUnless(SERVER, "no redis-server and no redis-tools")
class Redis(unittest.TestCase):
    def setUp(self):
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)
        self.path = os.path.join(self.scratch.name, "redis")
        words = ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--dir", self.scratch.name, "--io-threads", "2"]
        self.server = subprocess.Popen(words, executable=SERVER, stdout=subprocess.DEVNULL)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        deadline = time.monotonic() + harness.TIMEOUT
        while not os.path.exists(self.path) and time.monotonic() < deadline:
            time.sleep(0.02)

    def held(self):
        path = os.path.join(self.scratch.name, "x.ctprof.zst")
        harness.capture(path, "--pid", str(self.server.pid), before=("--plugins=jemalloc-ptrace",))
        rows = file_json.load(path).threads.values()
        figures = [(row["allocated_bytes"], row["deallocated_bytes"]) for row in rows]
        self.assertTrue(all(isinstance(number, int) for pair in figures for number in pair), figures)
        self.assertGreater(len(figures), 3)
        return sum(allocated - freed for allocated, freed in figures)

    def test_between_its_own_bounds(self):
        client, stop, done = Client(self.path), threading.Event(), [0]
        load = threading.Thread(target=fill, args=(self.path, stop, done))
        load.start()
        try:
            while done[0] < KEYS:
                time.sleep(0.05)
            for _ in range(ROUNDS):
                before, began = client.memory()[0], done[0]
                held = self.held()
                time.sleep(NEWS)
                after, ended = client.memory()[1], done[0]
                print(f"{before} <= {held} <= {after}; {ended - began} commands")
                self.assertGreater(ended, began, "there was no load")
                self.assertLessEqual(before, held)
                self.assertLessEqual(held, after)
        finally:
            stop.set()
            load.join()
            client.close()


if __name__ == "__main__":
    harness.main()
