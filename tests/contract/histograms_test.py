#!/usr/bin/python3
"""Tests the histogram of a plugin in C: in files of both layouts, reports, tables and Prometheus, and in a file that an older version reads.
All values are computed a second time from the thread ids of the recorded tree.

Environment: CTPROF, FIXTURES; BAD_PLUGINS, the directory of the shared objects.
"""

import collections
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402

KERNEL = "6.12"
PLUGIN = "histogram"
METRIC = "histogram_value"


def largest_in_bucket(value):
    """Returns the largest value of the bucket: there are two buckets for each power of two."""
    if value < 4:
        return value
    power = 1 << (value.bit_length() - 1)
    return power * 3 // 2 - 1 if value < power * 3 // 2 else power * 2 - 1


def parts_of(values):
    ordered = sorted(values)
    rank = {"p50": -(-len(ordered) // 2), "p99": len(ordered) - len(ordered) // 100, "p99.9": len(ordered) - len(ordered) // 1000}
    parts = {name: largest_in_bucket(ordered[at - 1]) for name, at in rank.items()}
    return {"count": len(ordered), "max": largest_in_bucket(ordered[-1]), **parts}


def buckets_of(values):
    counts = collections.Counter()
    for value in values:
        largest = largest_in_bucket(value)
        counts[largest] += 1
    return counts


class Histograms(unittest.TestCase):
    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.here = pathlib.Path(scratch.name)
        (self.here / "plugins").mkdir()
        (self.here / "plugins" / f"{PLUGIN}.so").symlink_to(pathlib.Path(os.environ["BAD_PLUGINS"]) / f"{PLUGIN}.so")

    def capture(self, *words):
        file = str(self.here / "file.ctprof.zst")
        finished = harness.capture(file, "--force", *words, before=("--plugin-path", str(self.here / "plugins"), "--rootfs", harness.fixture(KERNEL)))
        self.assertNotIn(f"{PLUGIN}.so", finished.stderr)
        return file

    def run_tool(self, *words):
        finished = harness.run(*words)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished.stdout

    def rows(self, *words):
        return {row["group"]: row for row in json.loads(self.run_tool(*words, "--format", "json"))["rows"] if row["metric"] == METRIC}

    def values_by_process(self, file):
        """Returns what the plugin counted, by process name."""
        values = collections.defaultdict(list)
        for row in csv.DictReader(io.StringIO(self.run_tool("export", file, "--to", "csv", "-o", "-", "--metrics", METRIC))):
            values[row["pcomm"]] += [5, 5, int(row["tid"])]
        self.assertGreater(len(values), 3)
        return values

    def show(self, file):
        return self.rows("show", file, "--metrics", METRIC, "--limit", "0", "--no-thread-normalize")

    def test_show_has_parts_and_buckets(self):
        for layout in ("rows", "columns"):
            with self.subTest(layout):
                file = self.capture("--layout", layout)
                shown = self.show(file)
                for process, values in self.values_by_process(file).items():
                    row = shown[process]
                    self.assertEqual(row["value"], parts_of(values))
                    counts = {largest_in_bucket(smallest): count for smallest, count in row["extras"]["buckets"]}
                    self.assertEqual(counts, buckets_of(values))
                    self.assertEqual(row["coverage"], {"values": len(values) // 3, "rows": len(values) // 3})

    def test_other_layouts_have_equal_figures(self):
        file = self.capture("--layout", "columns")
        rows, again = str(self.here / "rows.ctprof.zst"), str(self.here / "again.ctprof.zst")
        self.run_tool("export", file, "--to", "ktstr", "-o", rows)
        self.run_tool("export", rows, "--to", "columns", "-o", again)
        self.assertEqual(self.show(rows), self.show(file))
        self.assertEqual(self.show(again), self.show(file))

    def test_tables_have_buckets_and_parts_of_each_thread(self):
        file = self.capture()
        for row in csv.DictReader(io.StringIO(self.run_tool("export", file, "--to", "csv", "-o", "-", "--metrics", METRIC))):
            expected = parts_of([5, 5, int(row["tid"])])
            self.assertEqual({name: int(row[f"{METRIC}[{name}]"]) for name in expected}, expected)
            self.assertEqual(sum(json.loads(row[METRIC])), 3)
        long = self.run_tool("export", file, "--to", "csv", "-o", "-", "--rows", "long,threads", "--metrics", METRIC)
        parts = [(row["key"], row["value"]) for row in csv.DictReader(io.StringIO(long)) if row["metric"] == METRIC]
        self.assertEqual({key for key, _ in parts}, {"count", "max", "p50", "p99", "p99.9"})
        self.assertEqual({value for key, value in parts if key == "count"}, {"3"})

    def test_prometheus_has_cumulative_buckets(self):
        file = self.capture()
        text = self.run_tool("export", file, "--to", "prometheus", "-o", "-", "--metrics", METRIC, "--no-thread-normalize", "--max-series", "0")
        family = "ctprof_lifetime_histogram_value"
        self.assertIn(f"# TYPE {family} histogram", text)
        series = collections.defaultdict(dict)
        for process, limit, count in re.findall(rf'^{family}_bucket{{pcomm="([^"]*)",le="([^"]*)"}} (\S+)$', text, re.M):
            series[process][float(limit)] = float(count)
        for process, values in self.values_by_process(file).items():
            limits = series[process]
            self.assertEqual(limits[float("inf")], len(values))
            self.assertIn(f'\n{family}_count{{pcomm="{process}"}} {len(values)}\n', text)
            self.assertEqual(len(limits), 20)
            for limit, count in limits.items():
                self.assertEqual(count, sum(value <= limit for value in values), (process, limit))
        self.assertNotIn("_sum", text)

    def test_compare_has_the_change_of_each_part(self):
        file = self.capture()
        row = next(iter(self.rows("compare", file, file, "--metrics", METRIC).values()))
        self.assertEqual(row["delta"], {"count": 0, "max": 0, "p50": 0, "p99": 0, "p99.9": 0})
        lines = list(csv.DictReader(io.StringIO(self.run_tool("compare", file, file, "--metrics", METRIC, "--format", "csv"))))
        self.assertEqual({line["key"] for line in lines}, {"count", "max", "p50", "p99", "p99.9"})

    def test_part_is_a_number_in_conditions(self):
        file = self.capture()
        for limit, status in ((1 << 40, 0), (5, 1)):
            finished = harness.run("show", file, "--fail-on", f"{METRIC}[max] > {limit}")
            self.assertEqual(finished.returncode, status, finished.stderr)

    def test_older_version_sees_an_unknown_newtype(self):
        """An older version keeps metrics of unknown newtypes (file_unknown_test.cc): here, the file has another newtype in place of the histogram's."""
        file = self.capture("--layout", "columns")
        lines = subprocess.run(["zstd", "-dcq", file], check=True, capture_output=True).stdout.splitlines()
        definition = next(metric for metric in json.loads(lines[0])["registry"]["metrics"] if metric["name"] == METRIC)
        self.assertEqual((definition["newtype"], definition["rule"], definition["storage"], definition["unit"]),
                         ("HistogramCount", "HistogramMerge", "array", "count"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
