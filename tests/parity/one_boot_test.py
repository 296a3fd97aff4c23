#!/usr/bin/python3
"""Compares two captures of the live host: which threads stayed, started and exited, how much each contributed to every sum, rates, and the
largest thread.

Between the captures a process of the test ends threads, starts others and keeps some. The test checks every row of every group by plain
arithmetic on the rows of the two files.
"""

import os
import subprocess
import sys
import unittest

import file_json
import harness
from file_json import Gap
from aggregation_test import AXES, LARGEST, group_of, key_of, patterns_of, report_of, format_cell

HERE = os.path.dirname(os.path.realpath(__file__))
NAME = "ctp-turnover"
PARTS = ["delta_alive", "delta_new", "delta_gone"]
COUNTS = ["threads_alive", "threads_new", "threads_gone"]
NO_VALUES = [None, None, None]


class Side:
    """The threads of a file by group: (tid, start) -> (row, time when it was read). Keeps all threads with an unknown start time."""

    def __init__(self, file, axis, keys):
        self.file = file
        start_ns = file.document["ctprof"]["start"]["monotonic_ns"]
        self.start_ns = start_ns
        self.groups = {}
        for ((_, tid), row), at in zip(file.threads.items(), file.document["read_at"]):
            names = tuple(keys[key] for key in key_of(axis, row))
            group = names if axis == "all" else names[0]
            self.groups.setdefault(group, []).append((tid, row["start_time_clock_ticks"], row, start_ns + at))

    def ids(self, group):
        return {(tid, start) for tid, start, _, _ in self.groups.get(group, [])}

    def mean_read_at(self, group):
        times = [at for _, _, _, at in self.groups[group]]
        return sum(times) / len(times)


def largest(members, metric):
    best = None
    for tid, _, row, _ in members:
        cell = row.get(metric, Gap("no column"))
        if not isinstance(cell, Gap) and cell > 0 and (best is None or cell > best[0]):
            best = (cell, {"tid": tid, "comm": "" if isinstance(row["comm"], Gap) else format_cell(row["comm"])})
    return best and best[1]


class Pair:
    """The expected comparison of two files of the same boot."""

    def __init__(self, paths, axis):
        files = [file_json.load(path) for path in paths]
        keys = patterns_of(axis, [row for file in files for row in file.threads.values()], [path for file in files for path in file.cgroups])
        self.rules = {name: metric["rule"] for name, metric in files[0].metrics.items() if metric["entity"] == "thread"}
        self.rules["thread_count"] = "SumCount"  # not a column of the file
        self.families = {name: metric["family"] for name, metric in files[0].metrics.items()}
        self.entities = {name: metric["entity"] for name, metric in files[0].metrics.items()}
        self.sides = [Side(file, axis, keys) for file in files]

    def turnover(self, group):
        before, after = (side.ids(group) for side in self.sides)
        if any(isinstance(start, Gap) for _, start in before | after):
            return NO_VALUES
        return [len(before & after), len(after - before), len(before - after)]

    def parts(self, group, metric):
        if not self.rules.get(metric, "").startswith("Sum"):
            return NO_VALUES
        stay, sums = self.sides[0].ids(group) & self.sides[1].ids(group), []
        for side in self.sides:
            cells = [(start, (tid, start) in stay, 1 if metric == "thread_count" else row.get(metric, Gap("no column")))
                     for tid, start, row, _ in side.groups[group]]
            cells = [cell for cell in cells if not isinstance(cell[2], Gap)]
            if not cells or any(isinstance(start, Gap) for start, _, _ in cells) or sum(value for _, _, value in cells) > LARGEST:
                return NO_VALUES
            sums.append([sum(value for _, stays, value in cells if stays == wanted) for wanted in (True, False)])
        (old_stay, old_turn), (new_stay, new_turn) = sums
        return [new_stay - old_stay, new_turn, -old_turn]

    def rate(self, row):
        """Returns the rate, or None if there is none. Derived metrics are not in a file, and are not checked here."""
        if self.families.get(row["metric"]) != "cumulative" or not isinstance(row["delta"], (int, float)):
            return None
        if self.entities[row["metric"]] == "thread":
            first, second = (side.mean_read_at(group_of(row)) for side in self.sides)
        else:
            first, second = (side.start_ns for side in self.sides)
        return row["delta"] / abs(second - first) * 1e9

    def busiest(self, side, row):
        rule = self.rules.get(row["metric"], "")
        return largest(self.sides[side].groups[group_of(row)], row["metric"]) if rule.startswith(("Sum", "Max")) else None

    def extras(self, side, row):
        if self.rules.get(row["metric"]) != "MaxPeak":
            return None
        cells = [member[2].get(row["metric"], Gap("no column")) for member in self.sides[side].groups[group_of(row)]]
        cells = [cell for cell in cells if not isinstance(cell, Gap)]
        return {"min_nonzero": min((cell for cell in cells if cell > 0), default=None)} if cells else None

    def find_errors(self, row):
        """Returns one sentence per error in a row of threads."""
        group, metric = group_of(row), row["metric"]
        expected = dict(zip(PARTS, self.parts(group, metric))) | dict(zip(COUNTS, self.turnover(group)))
        for number, side in enumerate(("baseline", "candidate")):
            expected["busiest_" + side] = self.busiest(number, row)
            expected["extras_" + side] = self.extras(number, row)
        for name, value in expected.items():
            if row[name] != value:
                yield f"{group}: {metric}: {name} is {row[name]}, not {value}"
        if row["delta_alive"] is not None and sum(row[part] for part in PARTS) != row["delta"]:
            yield f"{group}: {metric}: the parts do not add up to {row['delta']}"
        rate = self.rate(row)
        if metric in self.families and (rate is None) != (row["rate"] is None):
            yield f"{group}: {metric}: the rate is {row['rate']}, not {rate}"
        if rate is not None and abs(row["rate"] - rate) > abs(rate) * 1e-6:
            yield f"{group}: {metric}: the rate is {row['rate']}, not {rate}"


def negate(value):
    if isinstance(value, dict):
        return {key: negate(part) for key, part in value.items()}
    return value if value is None or isinstance(value, str) else -value


def swap_row(row):
    """Returns the row that is expected when the files are exchanged, without its percentage."""
    other = {key.replace("baseline", "@").replace("candidate", "baseline").replace("@", "candidate"): value for key, value in row.items()}
    new, exited_part = negate(row["delta_gone"]), negate(row["delta_new"])
    return other | {"delta": negate(row["delta"]), "delta_alive": negate(row["delta_alive"]), "delta_new": new, "delta_gone": exited_part,
                    "rate": negate(row["rate"]), "threads_new": row["threads_gone"], "threads_gone": row["threads_new"], "pct": None}


def is_zero(delta):
    return delta in (0, None, "same") or isinstance(delta, dict) and all(part == 0 for part in delta.values())


class OneBoot(unittest.TestCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        cls.scratch = harness.scratch()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.paths = [os.path.join(cls.scratch.name, f"{side}.ctprof.zst") for side in "ab"]
        command = [sys.executable, os.path.join(HERE, "turnover.py"), NAME]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            harness.capture(cls.paths[0])
            print("turn", file=process.stdin, flush=True)
            assert process.stdout.readline() == "turned\n"
            harness.capture(cls.paths[1])
            process.stdin.close()

    def assert_none(self, wrong):
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong[:20]))

    def test_expected_turnover(self):
        rows = {row["metric"]: row for row in report_of("compare", "--lifetime", *self.paths)["rows"] if row["group"] == NAME}
        row = rows["run_time_ns"]
        self.assertEqual([row[name] for name in COUNTS], [3, 3, 2])  # the first thread of the process stays too
        self.assertGreater(row["delta_alive"], 50e6)
        self.assertGreater(row["delta_new"], 80e6)
        self.assertLess(row["delta_gone"], -50e6)
        self.assertEqual([rows["thread_count"][name] for name in PARTS], [0, 3, -2])
        finished = harness.run("compare", "--lifetime", *self.paths, "--metrics", "run_time_ns", "--rate")
        line = next(line for line in finished.stdout.splitlines() if line.startswith(NAME))
        self.assertRegex(line, r"/s  \+[0-9.]+ms new, -[0-9.]+ms gone$")

    def test_every_row(self):
        for axis in AXES:
            with self.subTest(axis=axis):
                pair = Pair(self.paths, axis)
                rows = report_of("compare", "--lifetime", *self.paths, "--group-by", axis, "--rate")["rows"]
                rows = [row for row in rows if all(group_of(row) in side.groups for side in pair.sides)]
                self.assertGreater(sum(row["delta_alive"] is not None for row in rows), 0)
                self.assert_none([wrong for row in rows for wrong in pair.find_errors(row)])

    def test_a_file_against_itself(self):
        for axis in AXES:
            with self.subTest(axis=axis):
                report = report_of("compare", "--lifetime", self.paths[0], self.paths[0], "--group-by", axis, "--rate")
                names = ["delta", *PARTS, "rate", "threads_new", "threads_gone"]
                self.assertGreater(len(report["rows"]), 0)
                self.assert_none([f"{row['group']}: {row['metric']}: {name} is {row[name]}" for row in report["rows"] for name in names
                                  if not is_zero(row[name])])
                self.assertEqual((report["only_baseline"], report["only_candidate"], report["host_diff"]), ([], [], []))

    def test_files_exchanged(self):
        for axis in AXES:
            with self.subTest(axis=axis):
                there = report_of("compare", "--lifetime", *self.paths, "--group-by", axis, "--rate")
                back = report_of("compare", "--lifetime", *reversed(self.paths), "--group-by", axis, "--rate")
                self.assertEqual(len(there["rows"]), len(back["rows"]))
                self.assert_none([f"{row['group']}: {row['metric']}: {swap_row(row)}\n is {other}" for row, other
                                  in zip(there["rows"], back["rows"]) if swap_row(row) != other | {"pct": None}])
                self.assertEqual((there["only_baseline"], there["only_candidate"]), (back["only_candidate"], back["only_baseline"]))


if __name__ == "__main__":
    harness.main()
