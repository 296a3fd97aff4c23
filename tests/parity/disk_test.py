#!/usr/bin/python3
"""Checks the rows of the entity `disk` against an independent reader of /proc/diskstats, on a recorded tree: in snapshots, in windows, and
in every format that other tools read.
"""

import itertools
import json
import os
import shutil
import subprocess
import unittest
import unittest.mock

import harness
from entity_case import EntityCase

SECTOR = 512
MS = 1_000_000  # in ns

# Device: numbers after the name, before and after. Of sdb, the kernel has no discards and flushes. sdc exists only at the end, vdx only at
# the beginning; loop0 is never used.
BEFORE = {
    "sda": [1000, 10, 80000, 4000, 500, 20, 40000, 6000, 3, 5000, 10000, 7, 0, 800, 9, 30, 60],
    "sdb": [10, 0, 80, 40, 50, 0, 400, 60, 0, 50, 100],
    "vdx": [5, 0, 40, 5, 0, 0, 0, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0],
    "loop0": [0] * 17,
}
AFTER = {
    "sda": [1600, 10, 92800, 4900, 700, 20, 90000, 9000, 8, 5600, 13900, 9, 0, 900, 11, 34, 80],
    "sdb": [10, 0, 80, 40, 50, 0, 400, 60, 1, 50, 100],
    "sdc": [4, 0, 64, 8, 2, 0, 16, 3, 0, 9, 11, 0, 0, 0, 0, 0, 0],
    "loop0": [0] * 17,
}
POSITION = {"disk_reads": (0, 1), "disk_read_bytes": (2, SECTOR), "disk_read_time_ns": (3, MS), "disk_writes": (4, 1), "disk_written_bytes": (6, SECTOR),
            "disk_write_time_ns": (7, MS), "disk_busy_ns": (9, MS), "disk_queue_time_ns": (10, MS), "disk_discards": (11, 1), "disk_flushes": (15, 1),
            "disk_flush_time_ns": (16, MS)}
LATENCIES = {"disk_read_latency_ns": ("disk_read_time_ns", "disk_reads"), "disk_write_latency_ns": ("disk_write_time_ns", "disk_writes"),
             "disk_flush_latency_ns": ("disk_flush_time_ns", "disk_flushes"), "disk_requests_in_progress": ("disk_queue_time_ns", "disk_busy_ns")}


def number(text):
    """Returns the number that a brief text such as "1.23K" represents."""
    scale = {"K": 1e3, "M": 1e6, "G": 1e9}.get(text[-1])
    return float(text[:-1]) * scale if scale else float(text)


def counters(numbers):
    return {metric: numbers[at] * unit for metric, (at, unit) in POSITION.items() if at < len(numbers)}


def with_latencies(counts):
    quotients = {name: counts[a] / counts[b] for name, (a, b) in LATENCIES.items() if counts.get(b)}
    return counts | quotients


def expected_snapshot(disks):
    """Returns the values of each used device; a count in progress is a level."""
    return {name: with_latencies(counters(numbers)) | {"disk_in_flight": numbers[8]} for name, numbers in disks.items() if any(numbers)}


def expected_window():
    """Returns the difference of each counter; a device that appeared began at zero."""
    rows = {}
    for name, numbers in AFTER.items():
        if not any(numbers):
            continue
        before = counters(BEFORE.get(name, [0] * len(numbers)))
        rows[name] = with_latencies({metric: value - before[metric] for metric, value in counters(numbers).items()}) | {"disk_in_flight": numbers[8]}
    return rows


class Disk(EntityCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        scratch = harness.scratch()
        cls.addClassCleanup(scratch.cleanup)
        cls.directory = scratch.name
        cls.before, cls.after = (cls.capture(name, disks) for name, disks in (("before", BEFORE), ("after", AFTER)))

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory, name)

    @classmethod
    def capture(cls, name, disks):
        root, file = cls.path(name), cls.path(f"{name}.ctprof.zst")
        shutil.copytree(harness.fixture("6.18"), root)
        with open(os.path.join(root, "proc/diskstats"), "w", encoding="utf-8") as text:
            for minor, (device, numbers) in enumerate(disks.items()):
                text.write(f"{8:4}{minor:8} {device} {' '.join(map(str, numbers))}\n")
        os.makedirs(os.path.join(root, "proc/sys/kernel/random"), exist_ok=True)
        with open(os.path.join(root, "proc/sys/kernel/random/boot_id"), "w", encoding="utf-8") as text:
            text.write("7b8e1c9a-0000-4000-8000-000000000001\n")
        harness.capture(file, before=("--rootfs", root))
        return file

    def test_snapshot_has_the_numbers_of_the_file(self):
        self.assert_same(self.values("disk", self.before), expected_snapshot(BEFORE))

    def test_window_has_differences(self):
        self.assert_same(self.values("disk", f"{self.before}..{self.after}"), expected_window())

    def test_condition_selects_a_device(self):
        self.assertEqual(list(self.values("disk", self.after, "--where", 'device == "sda"')), ["sda"])
        self.assertEqual(set(self.values("disk", self.after, "--where", 'disk.device =~ "^sd[ab]"')), {"sda", "sdb"})
        self.assertEqual(list(self.values("disk", self.after, "--where", "disk_in_flight > 1")), ["sda"])

    def test_comparison_of_lifetimes(self):
        report = self.report("disk", "compare", "--lifetime", self.before, self.after)
        rows = {(row["group"], row["metric"]): row for row in report["rows"]}
        self.assertEqual(set(group for group, _ in rows), {"sda", "sdb"})
        reads = rows["sda", "disk_reads"]
        self.assertEqual((reads["baseline"], reads["candidate"], reads["delta"]), (1000, 1600, 600))

    def screen(self, *words):
        """Returns the table of the objects: name -> header -> text."""
        with unittest.mock.patch.dict(os.environ, {"COLUMNS": "400"}):
            finished = harness.run(*words, "--entity", "disk")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        lines = iter(finished.stdout.splitlines())
        headers = next(line for line in lines if line.startswith("disk ")).split()
        rows = itertools.takewhile(lambda line: len(line.split()) == len(headers), lines)
        return [dict(zip(headers, line.split())) for line in rows]

    def test_screen_of_a_snapshot_has_totals(self):
        sda = self.screen("show", self.before)[0]
        self.assertEqual([sda[name] for name in ("disk", "reads", "read", "busy", "in_flight")], ["sda", "1.00K", "39.1Mi", "5.00s", "3"])

    def test_screen_of_a_window_has_rates(self):
        """Times are percentages of the window; the device with the largest share of a column is first."""
        window = f"{self.before}..{self.after}"
        seconds = self.report("disk", "show", window)["snapshot"]["window"]["length_ns"] / 1e9
        rows = self.screen("show", window)
        self.assertEqual([row["disk"] for row in rows], ["sda", "sdb", "sdc"])
        share = 100 * 600 * MS / 1e9 / seconds
        self.assertAlmostEqual(number(rows[0]["%busy"]), share, delta=share / 100)
        self.assertAlmostEqual(number(rows[0]["reads/s"]), 600 / seconds, delta=6 / seconds)
        self.assertEqual(rows[0]["in_flight"], "8")

    def test_screen_of_a_comparison_has_both_sides(self):
        sda = self.screen("compare", "--lifetime", self.before, self.after)[0]
        self.assertEqual([sda[name] for name in ("disk", "reads", "in_flight")], ["sda", "1.00→1.60K", "3→8"])

    def test_requested_metrics_have_rows_of_their_own(self):
        finished = harness.run("show", self.before, "--entity", "disk", "--metrics", "disk_reads")
        self.assertIn("sda    disk_reads", finished.stdout)

    def test_tables_have_the_same_values(self):
        for layout in ("rows", "columns"):
            with self.subTest(layout):
                harness.run("export", self.after, "--to", "columns" if layout == "columns" else "ktstr", "-o", self.path(layout), "--force")
                finished = harness.run("export", self.path(layout), "--to", "ndjson", "--entity", "disk", "-o", "-")
                self.assertEqual(finished.returncode, 0, finished.stderr)
                rows = {row["id"]: row for row in map(json.loads, finished.stdout.splitlines())}
                self.assertEqual(list(rows), ["sda", "sdb", "sdc"])
                for device, row in rows.items():
                    self.assertEqual(row["disk.device"], device)
                    for metric, value in counters(AFTER[device]).items():
                        self.assertEqual(row[metric], value)
                self.assertIsNone(rows["sdb"]["disk_flushes"])

    def test_prometheus_labels_are_identity_columns(self):
        finished = harness.run("export", self.after, "--to", "prometheus", "--entity", "disk", "-o", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        lines = [line for line in finished.stdout.splitlines() if "disk_reads" in line and not line.startswith("#")]
        self.assertEqual([line.split("{")[1].split("}")[0] for line in lines], [f'device="{name}"' for name in ("sda", "sdb", "sdc")])
        self.assertEqual([float(line.split()[-1]) for line in lines], [1600, 10, 4])

    def test_redaction_replaces_devices(self):
        target = self.path("redacted.ctprof.zst")
        finished = harness.run("export", self.after, "--to", "columns", "--redact", "-o", target, "--force")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        text = subprocess.run(["zstd", "-dcq", target], check=True, capture_output=True).stdout
        for device in AFTER:
            self.assertNotIn(f'"{device}"'.encode(), text)
        figures = sorted(row["disk_reads"] for row in self.values("disk", target).values())
        self.assertEqual(figures, [4, 10, 1600])

    def test_tree_without_disks_reports_the_reason(self):
        finished = harness.run("--rootfs", harness.fixture("6.18"), "plugins")
        self.assertIn("there is no /proc/diskstats", " ".join(finished.stdout.split()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
