#!/usr/bin/python3
"""Counters of TCP in a window, and the findings about lost segments and failed connections.

The receiver of a connection drops a tenth of its segments by a filter of its socket (SO_ATTACH_FILTER), so the sender repeats them."""

import contextlib
import ctypes
import json
import os
import socket
import struct
import threading
import unittest

import harness

METRICS = ("host.tcp.sent_segments", "host.tcp.retransmitted_segments")
LOAD_RANDOM, MODULO, JUMP_IF_EQUAL, RETURN = 0x20, 0x94, 0x15, 0x06
RANDOM = 0xFFFFF000 + 56  # SKF_AD_OFF + SKF_AD_RANDOM
# Returns 0, which drops the segment, for each tenth random number.
DROP_A_TENTH = [(LOAD_RANDOM, 0, 0, RANDOM), (MODULO, 0, 0, 10), (JUMP_IF_EQUAL, 0, 1, 0), (RETURN, 0, 0, 0), (RETURN, 0, 0, 0xFFFFFFFF)]
SO_ATTACH_FILTER = 26


def attach_filter(receiver, program):
    instructions = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in program))
    receiver.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(program), ctypes.addressof(instructions)))


@contextlib.contextmanager
def transfer(connections, program=None):
    """Sends data over local connections, whose receivers have the filter."""
    must_stop = threading.Event()

    def receive(receiver):
        with contextlib.suppress(OSError):
            while receiver.recv(65536):
                pass

    def send(sender):
        with contextlib.suppress(OSError):
            while not must_stop.wait(0.001):
                sender.send(b"x" * 512)

    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        threads = []
        for _ in range(connections):
            sender = stack.enter_context(socket.create_connection(listener.getsockname()))
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            receiver = stack.enter_context(listener.accept()[0])
            if program:
                attach_filter(receiver, program)
            threads += [threading.Thread(target=receive, args=(receiver,)), threading.Thread(target=send, args=(sender,))]
            stack.callback(sender.shutdown, socket.SHUT_RDWR)
        for thread in threads:
            thread.start()
        stack.callback(must_stop.set)
        yield


@contextlib.contextmanager
def retried_connections():
    """Connects again and again to a port of this host on which nothing listens."""
    must_stop = threading.Event()
    reserved = socket.socket()
    reserved.bind(("127.0.0.1", 0))  # does not listen

    def connect():
        while not must_stop.is_set():
            with socket.socket() as sender, contextlib.suppress(ConnectionRefusedError):
                sender.connect(reserved.getsockname())

    thread = threading.Thread(target=connect)
    with reserved:
        thread.start()
        yield
        must_stop.set()
        thread.join()


def read_counters():
    """Returns (sent, sent again) by /proc/net/snmp."""
    with open("/proc/net/snmp", encoding="ascii") as file:
        names, numbers = (line.split() for line in file if line.startswith("Tcp:"))
    return int(numbers[names.index("OutSegs")]), int(numbers[names.index("RetransSegs")])


class Tcp(unittest.TestCase):
    longMessage = False

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.file = os.path.join(scratch.name, "run.ctprof.zst")

    def record(self):
        finished = harness.run("record", "-d", "3s", "-o", self.file)
        self.assertEqual(finished.returncode, 0, finished.stderr)

    def counters(self):
        shown = harness.run("show", self.file, "--metrics", ",".join(METRICS), "--format", "json")
        values = {row["metric"]: row["value"] for row in json.loads(shown.stdout)["rows"]}
        return tuple(values[metric] for metric in METRICS)

    def findings(self):
        shown = harness.run("show", self.file, "--format", "json")
        return {finding["rule"]: finding["what"] for finding in json.loads(shown.stdout)["screen"]["findings"]}

    def test_lost_segments_are_a_finding(self):
        with transfer(20, DROP_A_TENTH):
            before = read_counters()
            self.record()
            after = read_counters()
        most = tuple(end - begin for begin, end in zip(before, after))
        counters = self.counters()
        self.assertTrue(all(0 < count <= limit for count, limit in zip(counters, most)), f"{counters} in a window, {most} around it")
        findings = self.findings()
        self.assertRegex(findings.get("host.tcp.excess_retransmits", ""), r"^sent \S+ TCP segments again, beside \S+ new ones", findings)

    def test_connections_that_are_refused_are_a_finding(self):
        with retried_connections():
            self.record()
        findings = self.findings()
        self.assertRegex(findings.get("host.tcp.excess_failed_opens", ""), r"^failed to open \S+ TCP connections, of \S+ attempts", findings)

    def test_a_transfer_without_losses_is_none(self):
        with transfer(20):
            self.record()
        self.assertNotIn("host.tcp.excess_retransmits", self.findings())
        self.assertNotIn("host.tcp.excess_failed_opens", self.findings())


if __name__ == "__main__":
    unittest.main(verbosity=2)
