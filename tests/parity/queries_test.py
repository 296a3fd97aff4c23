#!/usr/bin/python3
"""Runs the documented queries (core/file/queries.md) with DuckDB on files in the columns layout. They must find the same as `ctprof show`, and
NULL for each gap."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import file_json
import harness

try:
    import duckdb
except ImportError:
    duckdb = None

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
PAGE = os.path.join(ROOT, "core", "file", "queries.md")
STACKS_SEED = os.path.join(ROOT, "tests", "fuzz", "seeds", "fuzz_columns", "stacks")  # lines of a window
KERNELS = ("6.12", "6.18", "5.10")
COPIED_KERNEL = "6.18"  # the recorded tree from which files are removed


def blocks():
    """Returns the statements of the page: the macros, then the queries in their order."""
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
        self.queries = [block for block in blocks() if not block.startswith("CREATE")]
        self.connection = duckdb.connect()
        self.addCleanup(self.connection.close)
        for macros in (block for block in blocks() if block.startswith("CREATE")):
            for statement in macros.split(";"):
                if statement.strip():
                    self.connection.execute(statement)

    def capture(self, root):
        for name in ("before", "after"):
            harness.capture(f"{name}.ctprof.zst", "--layout", "columns", before=("--rootfs", root))
        harness.run("export", "before.ctprof.zst", "--to", "ktstr", "-o", "rows.ctprof.zst")
        return file_json.load("rows.ctprof.zst")

    def rows(self, number):
        return self.connection.sql(self.queries[number]).fetchall()

    def read_shown(self, metric, *words):
        """Returns a map group -> its row of `show`."""
        report = json.loads(harness.run("show", "before.ctprof.zst", "--metrics", metric, "--no-thread-normalize", "--no-cg-normalize", "--limit", "0",
                                        "--format", "json", *words).stdout)
        return {row["group"]: row for row in report["rows"] if row["metric"] == metric}

    def test_on_recorded_trees(self):
        for kernel in KERNELS:
            with self.subTest(kernel):
                self.check(self.capture(harness.fixture(kernel)))

    def test_on_a_tree_with_missing_files(self):
        """The file has rows without a reading, and groups and maps without any value."""
        file = self.capture(self.tree_with_missing_files())
        self.check(file)
        self.assertIn(None, [row[3] for row in self.rows(0)])
        self.assertIn(None, [row[2] for row in self.rows(1)])
        self.assertIn(0, [row[3] for row in self.rows(1)])
        self.assertIn(None, [row[2] for row in self.rows(2)])
        self.assertIn(None, [row[1] for row in self.rows(3)])
        self.assertIn(None, [row[3] for row in self.rows(3)])
        self.assertLess({row[0] for row in self.rows(4)}, {format_cell(row["pcomm"]) for row in file.threads.values()})

    def tree_with_missing_files(self):
        """Copies a recorded tree. Removes the times of one process, those of another's leader, and the files of a cgroup. Kernel threads have no memory."""
        root = os.path.join(self.directory, "root")
        shutil.copytree(harness.fixture(COPIED_KERNEL), root)
        first, *_, last = sorted((name for name in os.listdir(f"{root}/proc") if name.isdigit()), key=lambda pid: len(os.listdir(f"{root}/proc/{pid}/task")))
        for pid, tids in ((first, os.listdir(f"{root}/proc/{first}/task")), (last, [last])):
            for tid in tids:
                for name in ("schedstat", "sched"):
                    self.remove(f"{root}/proc/{pid}/task/{tid}/{name}")
        cgroup = next(path for path, _, names in os.walk(f"{root}/sys/fs/cgroup") if path.count("/") > f"{root}/sys/fs/cgroup".count("/") and "cpu.stat" in names)
        for name in ("cpu.stat", "memory.stat"):
            self.remove(f"{cgroup}/{name}")
        return root

    @staticmethod
    def remove(path):
        if os.path.exists(path):
            os.remove(path)

    def test_on_stacks(self):
        parts = self.stacks()
        own = {}
        for node, weight in zip(parts["weights"]["node"], parts["weights"]["weight"]):
            function = self.function_of(parts, parts["nodes"]["frame"][node - 1])
            own[function] = own.get(function, 0) + weight
        self.assertEqual(self.rows(5), sorted(own.items(), key=lambda item: (-item[1], item[0])))
        self.assertEqual({"main", "work"} - own.keys(), set())

    def stacks(self):
        """Makes a file with stacks. Returns a map part -> list -> its items, from all lines."""
        with open(STACKS_SEED, "rb") as seed:
            *lines, _ = seed.read().splitlines(keepends=True)
        lines.append(b'{"kind":"end","lines":%d,"bytes":%d}\n' % (len(lines) + 1, len(b"".join(lines))))
        with open("made.ctprof.zst", "wb") as file:
            for line in lines:
                file.write(subprocess.run(["zstd", "-q", f"--stream-size={len(line)}"], input=line, capture_output=True, check=True).stdout)
        harness.run("export", "made.ctprof.zst", "--to", "columns", "-o", "run.ctprof.zst")
        parts = {}
        for line in subprocess.run(["zstd", "-dcq", "run.ctprof.zst"], capture_output=True, check=True).stdout.splitlines():
            line = json.loads(line)
            if line["kind"] == "stacks":
                for key, items in line.items():
                    if isinstance(items, list):
                        parts.setdefault(line["part"], {}).setdefault(key, []).extend(items)
        return parts

    @staticmethod
    def function_of(parts, frame):
        if frame == 0:
            return "[truncated]"
        frames, strings = parts["frames"], parts["strings"]["text"]
        path = strings[parts["modules"]["path"][frames["module"][frame - 1]]]
        return strings[frames["name"][frame - 1]] or f"{path}+{frames['offset'][frame - 1]:#x}"

    def check(self, file):
        self.check_threads(file)
        self.check_groups()
        self.check_joined(file)
        self.check_cgroups(file)
        self.check_maps()
        self.check_gaps(file)

    def check_threads(self, file):
        """Compares all threads, although the query on the page is limited to ten."""
        found = self.connection.sql(self.queries[0].replace("LIMIT 10", "")).fetchall()
        expected = [tuple(format_cell(row[name]) for name in ("pcomm", "comm", "tid", "run_time_ns", "wait_time_ns")) for row in file.threads.values()]
        self.assertEqual(sorted(found, key=repr), sorted(expected, key=repr))
        self.assertEqual(len(self.rows(0)), min(10, len(file.threads)))

    def check_groups(self):
        sums, counts = self.read_shown("run_time_ns"), self.read_shown("thread_count")
        self.assertEqual({pcomm: total for pcomm, _, total, _ in self.rows(1)},
                         {pcomm: sums[pcomm]["value"] if pcomm in sums else None for pcomm in counts})
        self.assertEqual({pcomm: count for pcomm, count, _, _ in self.rows(1)}, {pcomm: line["value"] for pcomm, line in counts.items()})
        self.assertEqual({pcomm: count for pcomm, _, _, count in self.rows(1)},
                         {pcomm: sums[pcomm]["coverage"]["values"] if pcomm in sums else 0 for pcomm in counts})

    def check_joined(self, file):
        rows = self.rows(2)
        expected = {row["tid"]: None if isinstance(row["run_time_ns"], file_json.Gap) else 0 for row in file.threads.values()}
        self.assertEqual(len(rows), len(file.threads))
        self.assertEqual({tid: ran for _, tid, ran in rows}, expected)

    def check_cgroups(self, file):
        rows = self.rows(3)
        self.assertEqual([row[0] for row in rows], sorted(file.document["cgroup_stats"]))
        usage = self.read_shown("cgroup.cpu.usage_usec", "--group-by", "cgroup")
        self.assertEqual({path: usec for path, usec, _, _ in rows if usec is not None},
                         {path: line["value"] for path, line in usage.items() if line["value"] is not None})
        for path, _, most, anon in rows:
            memory = file.document["cgroup_stats"][path]["memory"]
            self.assertEqual(anon, (memory["stat"] or {}).get("anon"))
            self.assertIn(most, (memory["max"], None))

    def check_maps(self):
        kib = {}
        for pcomm, kind, total in self.rows(4):
            kib.setdefault(pcomm, {})[kind] = total
        self.assertEqual(kib, self.shown_maps())

    def shown_maps(self):
        """Returns the maps by process name. Without normalization `show` lists each process separately, as NAME[PID]."""
        sums = {}
        for group, line in self.read_shown("process.smaps_rollup").items():
            name = re.sub(r"\[\d+\]$", "", group)
            for key, kib in (line["value"] or {}).items():
                sums.setdefault(name, {}).setdefault(key, 0)
                sums[name][key] += kib
        return sums

    def check_gaps(self, file):
        """There are as many NULLs as gaps in the file."""
        for metric in ("wait_max", "nice", "run_time_ns"):
            known = self.connection.sql(f"SELECT count({metric}) FROM threads('before.ctprof.zst')").fetchall()[0][0]
            self.assertEqual(known, sum(not isinstance(row[metric], file_json.Gap) for row in file.threads.values()), metric)


def format_cell(cell):
    """Returns the cell as DuckDB represents it."""
    if isinstance(cell, file_json.Gap):
        return None
    return cell.decode(errors="replace") if isinstance(cell, bytes) else cell


if __name__ == "__main__":
    harness.main()
