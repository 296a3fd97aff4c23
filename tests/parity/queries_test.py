#!/usr/bin/python3
"""The documented queries (core/file/queries.md), run by DuckDB on files in columns, find what `ctprof show` finds, and NULL where there is a gap."""

import json
import os
import re
import sys
import unittest

import file_json
import harness

try:
    import duckdb
except ImportError:
    duckdb = None

PAGE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "core", "file", "queries.md")
KERNELS = ("6.12", "6.18", "5.10")


def blocks():
    """The page's statements: the macros, then the queries in their order."""
    with open(PAGE, encoding="utf-8") as file:
        return re.findall(r"^```sql\n(.*?)^```$", file.read(), re.M | re.S)


@unittest.skipUnless(duckdb, "needs duckdb, a Python package")
class Queries(unittest.TestCase):
    longMessage = True

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.directory)
        macros, *self.queries = blocks()
        self.connection = duckdb.connect()
        self.addCleanup(self.connection.close)
        for statement in macros.split(";"):
            if statement.strip():
                self.connection.execute(statement)

    def capture(self, kernel):
        for name in ("before", "after"):
            harness.capture(f"{name}.ctprof.zst", "--layout", "columns", before=("--rootfs", harness.fixture(kernel)))
        harness.run("export", "before.ctprof.zst", "--to", "ktstr", "-o", "rows.ctprof.zst")
        return file_json.load("rows.ctprof.zst")

    def rows(self, number):
        return self.connection.sql(self.queries[number]).fetchall()

    def shown(self, metric, *words):
        told = json.loads(harness.run("show", "before.ctprof.zst", "--metrics", metric, "--no-thread-normalize", "--no-cg-normalize", "--limit", "0",
                                      "--format", "json", *words).stdout)
        return {row["group"]: row["value"] for row in told["rows"] if row["metric"] == metric}

    def test_on_recorded_trees(self):
        for kernel in KERNELS:
            with self.subTest(kernel):
                file = self.capture(kernel)
                self.check_threads(file)
                self.check_groups()
                self.check_joined(file)
                self.check_cgroups(file)
                self.check_maps(file)
                self.check_gaps(file)

    def check_threads(self, file):
        rows = self.rows(0)
        self.assertEqual(len(rows), min(10, len(file.threads)))
        waits = sorted((row["wait_time_ns"] for row in file.threads.values()), reverse=True)
        self.assertEqual([row[4] for row in rows], waits[:len(rows)])

    def check_groups(self):
        self.assertEqual({pcomm: total for pcomm, _, total, _ in self.rows(1)}, self.shown("run_time_ns"))
        self.assertEqual({pcomm: count for pcomm, count, _, _ in self.rows(1)}, self.shown("thread_count"))

    def check_joined(self, file):
        rows = self.rows(2)
        self.assertEqual(len(rows), len(file.threads))
        self.assertEqual({row[2] for row in rows}, {0})

    def check_cgroups(self, file):
        rows = self.rows(3)
        self.assertEqual([row[0] for row in rows], sorted(file.document["cgroup_stats"]))
        usage = self.shown("cgroup.cpu.usage_usec", "--group-by", "cgroup")
        self.assertEqual({path: usec for path, usec, _, _ in rows if usec is not None}, {path: usec for path, usec in usage.items() if usec is not None})
        for path, _, _, anon in rows:
            self.assertEqual(anon, (file.document["cgroup_stats"][path]["memory"]["stat"] or {}).get("anon"))

    def check_maps(self, file):
        kib = {}
        for pcomm, kind, total in self.rows(4):
            kib.setdefault(pcomm, {})[kind] = total
        self.assertEqual(kib, {pcomm: dict(value) for pcomm, value in self.shown("process.smaps_rollup").items() if value})

    def check_gaps(self, file):
        """As many NULLs as the file has gaps."""
        for metric in ("wait_max", "nice", "run_time_ns"):
            known = self.connection.sql(f"SELECT count({metric}) FROM threads('before.ctprof.zst')").fetchall()[0][0]
            self.assertEqual(known, sum(not isinstance(row[metric], file_json.Gap) for row in file.threads.values()), metric)


if __name__ == "__main__":
    harness.main()
