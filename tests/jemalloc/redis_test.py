#!/usr/bin/python3
"""Tests redis-server under load: the allocated bytes of its threads are between values that it reports before and after."""

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
STATISTICS_AGE = 0.5  # in seconds: maximum age of the statistics of jemalloc, which redis-server updates ten times per second


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
        """Returns the bytes in use now, and the allocated bytes of jemalloc at its last update."""
        self.send(b"INFO", b"memory")
        fields = dict(line.split(b":", 1) for line in self.answer().splitlines() if b":" in line)
        return int(fields[b"used_memory"]), int(fields[b"allocator_allocated"])


def fill(path, stop, finished):
    """Sets keys to growing values until `stop` is set. Becomes slower when all keys exist, so that the bounds are close."""
    client, number = Client(path), 0
    while not stop.is_set():
        for _ in range(100):
            client.send(b"SET", b"key:%d" % (number % KEYS), b"v" * (1000 + number // 10))
            number += 1
        for _ in range(100):
            client.answer()
        finished[0] = number
        if number > KEYS:
            time.sleep(PAUSE)
    client.close()


# All redis programs are one file. The package redis-tools, which starts no service, contains only some of its names.
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

    def capture_allocated_bytes(self):
        path = os.path.join(self.scratch.name, "x.ctprof.zst")
        harness.capture(path, "--pid", str(self.server.pid), before=("--plugins=jemalloc-ptrace",))
        rows = file_json.load(path).threads.values()
        figures = [(row["allocated_bytes"], row["deallocated_bytes"]) for row in rows]
        self.assertTrue(all(isinstance(number, int) for pair in figures for number in pair), figures)
        self.assertGreater(len(figures), 3)
        return sum(allocated - freed for allocated, freed in figures)

    def test_allocated_bytes_are_between_reported_values(self):
        client, stop, finished = Client(self.path), threading.Event(), [0]
        load = threading.Thread(target=fill, args=(self.path, stop, finished))
        load.start()
        try:
            while finished[0] < KEYS:
                time.sleep(0.05)
            for _ in range(ROUNDS):
                before, first_command = client.memory()[0], finished[0]
                allocated = self.capture_allocated_bytes()
                time.sleep(STATISTICS_AGE)
                after, last_command = client.memory()[1], finished[0]
                print(f"{before} <= {allocated} <= {after}; {last_command - first_command} commands")
                self.assertGreater(last_command, first_command, "there was no load")
                self.assertLessEqual(before, allocated)
                self.assertLessEqual(allocated, after)
        finally:
            stop.set()
            load.join()
            client.close()


if __name__ == "__main__":
    harness.main()
