#!/usr/bin/python3
"""The rows of disks, network interfaces, CPUs and NUMA nodes, and the segments of TCP, agree with iostat, vmstat, ip, nstat, sar and numastat.

Each tool reads its counters before and after both captures of a window, so each total of ctprof lies between two totals of the tool, and each
difference in the window between the smallest and the largest difference of the tool. These bounds hold at any load. Meanwhile, a process writes to
the disk, sends packets to itself and uses a CPU, so that counters grow.

PEERS is the directory into which tools/dev unpacks sysstat and numactl.
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

import harness
from entity_case import EntityCase

PEERS = pathlib.Path(os.environ["PEERS"], "usr")
SADC, SADF, IOSTAT, NUMASTAT = PEERS / "lib/sysstat/sadc", PEERS / "bin/sadf", PEERS / "bin/iostat", PEERS / "bin/numastat"
ENGLISH = os.environ | {"LC_ALL": "C", "S_TIME_FORMAT": "ISO"}
SECTOR, KIB, MS, SECOND = 512, 1024, 10**6, 10**9
WINDOW_SECONDS = 3
TICKS = os.sysconf("SC_CLK_TCK")

WORK = """
import os, socket, sys, time
page, data = b"x" * 4096, b"y" * 1000
with open(sys.argv[1], "wb", buffering=0) as file, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours, socket.create_server(("127.0.0.1", 0)) as server:
    ours.bind(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    other = server.accept()[0]
    while True:
        file.seek(0)
        file.write(64 * page)
        os.fsync(file.fileno())
        ours.sendto(data, ours.getsockname())
        client.send(data)
        other.recv(len(data))
        end = time.monotonic() + 0.02
        while time.monotonic() < end:
            pass
"""


def run(*words):
    return subprocess.run([*map(str, words)], check=True, capture_output=True, text=True, env=ENGLISH).stdout


def find_member(document, key):
    """Returns the first member of that name anywhere in a document."""
    if isinstance(document, dict):
        if key in document:
            return document[key]
        document = document.values()
    elif not isinstance(document, list):
        return None
    return next((found for found in (find_member(item, key) for item in document) if found is not None), None)


def read_iostat():
    """iostat rounds down to KiB."""
    disks = find_member(json.loads(run(IOSTAT, "-d", "-k", "-o", "JSON")), "disk")
    return {disk["disk_device"]: {"disk_read_bytes": (disk["kB_read"] * KIB, KIB), "disk_written_bytes": (disk["kB_wrtn"] * KIB, KIB)} for disk in disks}


def read_vmstat():
    rows = {}
    for line in run("vmstat", "-d", "-n").splitlines()[2:]:
        name, *words = line.split()
        reads, _, sectors_read, read_ms, writes, _, sectors_written, write_ms, _, busy_s = map(int, words)
        rows[name] = {"disk_reads": (reads, 1), "disk_read_bytes": (sectors_read * SECTOR, 1), "disk_read_time_ns": (read_ms * MS, 1),
                      "disk_writes": (writes, 1), "disk_written_bytes": (sectors_written * SECTOR, 1), "disk_write_time_ns": (write_ms * MS, 1),
                      "disk_busy_ns": (busy_s * SECOND, SECOND)}
    return rows


def read_ip():
    rows = {}
    for link in json.loads(run("ip", "-s", "-j", "link")):
        received, sent = link["stats64"]["rx"], link["stats64"]["tx"]
        rows[link["ifname"]] = {"net_received_bytes": (received["bytes"], 1), "net_received_packets": (received["packets"], 1),
                                "net_receive_errors": (received["errors"], 1), "net_sent_bytes": (sent["bytes"], 1),
                                "net_sent_packets": (sent["packets"], 1), "net_send_errors": (sent["errors"], 1), "net_send_drops": (sent["dropped"], 1)}
    return rows


def read_nstat():
    counters = json.loads(run("nstat", "-a", "-s", "-z", "-j"))["kernel"]
    return {"host": {"host.tcp.received_segments": (counters["TcpInSegs"], 1), "host.tcp.sent_segments": (counters["TcpOutSegs"], 1),
                     "host.tcp.retransmitted_segments": (counters["TcpRetransSegs"], 1)}}


def read_numastat():
    heading, *lines = run(NUMASTAT).splitlines()
    metrics = {"numa_hit": "numa_hit", "numa_miss": "numa_miss", "numa_foreign": "numa_foreign", "interleave_hit": "numa_interleave_hit",
               "local_node": "numa_local", "other_node": "numa_other"}
    rows = {}
    for word, *numbers in map(str.split, lines):
        for node, number in zip(heading.split(), numbers):
            rows.setdefault(node.removeprefix("node"), {})[metrics[word]] = (int(number), 1)
    return rows


# A tool, and the entity whose rows it reads.
READERS = {"iostat": ("disk", read_iostat), "vmstat": ("disk", read_vmstat), "ip": ("net", read_ip), "nstat": ("host", read_nstat),
           "numastat": ("numa", read_numastat)}


class Interval:
    """An interval of sar: sadc adds the counters of all CPUs to a file at both ends."""

    def __init__(self, file):
        self.file = file
        self.times = []

    def read(self):
        begin = time.monotonic()
        run(SADC, "1", "1", self.file)
        self.times.append((begin, time.monotonic()))

    def bounds_in_ticks(self):
        """Returns the minimum and maximum length."""
        (first_begin, first_end), (last_begin, last_end) = self.times
        return TICKS * (last_begin - first_end), TICKS * (last_end - first_begin)

    def shares(self):
        """Returns the share of each state by CPU. user and nice include the time of guests, as in /proc/stat."""
        loads = find_member(json.loads(run(SADF, "-j", self.file, "--", "-P", "ALL", "-u", "ALL")), "cpu-load")
        return {load["cpu"]: {"cpu_user_ticks": (load["usr"] + load["guest"]) / 100, "cpu_nice_ticks": (load["nice"] + load["gnice"]) / 100,
                              "cpu_system_ticks": load["sys"] / 100, "cpu_idle_ticks": load["idle"] / 100, "cpu_iowait_ticks": load["iowait"] / 100,
                              "cpu_irq_ticks": load["irq"] / 100, "cpu_softirq_ticks": load["soft"] / 100, "cpu_steal_ticks": load["steal"] / 100}
                for load in loads if load["cpu"] != "all"}


def read_tools():
    return {tool: read() for tool, (_, read) in READERS.items()}


@unittest.skipUnless(SADC.exists() and NUMASTAT.exists(), "needs sysstat and numactl, Debian packages that tools/dev unpacks")
class SystemTools(EntityCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        scratch = harness.scratch()
        cls.addClassCleanup(scratch.cleanup)
        cls.files = [os.path.join(scratch.name, f"{name}.ctprof.zst") for name in ("opening", "end")]
        cls.readings = []  # before and after the opening, before and after the end
        cls.inner, cls.outer = (Interval(os.path.join(scratch.name, name)) for name in ("inner", "outer"))
        with harness.background_process(sys.executable, "-c", WORK, os.path.join(scratch.name, "data")):
            cls.capture_between(cls.files[0], cls.outer, cls.inner)
            time.sleep(WINDOW_SECONDS)
            cls.capture_between(cls.files[1], cls.inner, cls.outer)

    @classmethod
    def capture_between(cls, file, first, last):
        first.read()
        cls.readings.append(read_tools())
        harness.capture(file)
        cls.readings.append(read_tools())
        last.read()

    def rows_of(self, entity, argument):
        if entity != "host":
            return self.values(entity, argument)
        shown = json.loads(harness.run("show", argument, "--metrics", ",".join(read_nstat()["host"]), "--format", "json").stdout)["rows"]
        return {"host": {row["metric"]: row["value"] for row in shown}}

    def assert_between(self, tool, rows, least, most):
        """Each value lies between the numbers of the tool. Returns the sum of all of them."""
        count = total = 0
        for name in least.keys() & most.keys() & rows.keys():
            for metric, (low, _) in least[name].items():
                high, rounding = most[name][metric]
                value = rows[name][metric]
                self.assertTrue(low <= value <= high + rounding - 1, f"{tool}: {metric} of {name}: {value}, not between {low} and {high + rounding - 1}")
                count, total = count + 1, total + value
        self.assertGreater(count, 0, f"{tool}: no row in common: {sorted(least)} and {sorted(rows)}")
        return total

    def test_totals_are_between_those_of_the_tools(self):
        for tool, (entity, _) in READERS.items():
            for file, (before, after) in zip(self.files, (self.readings[:2], self.readings[2:])):
                with self.subTest(tool, file=file):
                    self.assert_between(tool, self.rows_of(entity, file), before[tool], after[tool])

    def test_differences_in_a_window_are_between_those_of_the_tools(self):
        def subtract(later, earlier, rounding_down):
            """Returns bounds of the differences: the number of a tool may be rounded down by less than `rounding`."""
            return {name: {metric: (later[name][metric][0] - earlier[name][metric][0] - (rounding - 1 if rounding_down else 0), rounding)
                           for metric, (_, rounding) in later[name].items()} for name in later.keys() & earlier.keys()}

        first, opened, ends, last = self.readings
        for tool, (entity, _) in READERS.items():
            with self.subTest(tool):
                grown = self.assert_between(tool, self.rows_of(entity, "..".join(self.files)), subtract(ends[tool], opened[tool], True),
                                            subtract(last[tool], first[tool], False))
                self.assertGreater(grown, 0)

    def test_states_of_cpus_agree_with_sar(self):
        """sar rounds shares to 0.01 %. A CPU may account for one tick more or less at each end of an interval, and a virtual one for 2 % less."""
        rounding, ticks, accounting = 0.0001, 3, 0.02
        rows = self.values("cpu", "..".join(self.files))
        inner, outer = self.inner.shares(), self.outer.shares()
        shortest, longest = self.inner.bounds_in_ticks()[0], self.outer.bounds_in_ticks()[1]
        self.assertEqual(set(rows), set(inner))
        for cpu, states in inner.items():
            for metric, share in states.items():
                low = (share - rounding) * shortest * (1 - accounting) - ticks
                high = (outer[cpu][metric] + rounding) * longest * (1 + accounting) + ticks
                value = rows[cpu][metric]
                self.assertTrue(low <= value <= high, f"{metric} of CPU {cpu}: {value} ticks, not between {low:.1f} and {high:.1f}")
        self.assertGreater(sum(states["cpu_user_ticks"] + states["cpu_nice_ticks"] for states in rows.values()), 0)


if __name__ == "__main__":
    harness.main()
