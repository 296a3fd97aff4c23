#!/usr/bin/python3
"""Checks the output for programs: the JSON of each command fits its schema, and CSV equals JSON.

The files are captures of recorded trees, the same with hostile names, and recorded windows (tests/statistics/recorded). With ALL_AXES each
file is grouped in every way, and every comparison is validated.
"""

import collections
import copy
import csv
import io
import json
import os
import pathlib
import re
import sys
import unittest

import harness
from hostile_names_test import BYTES, pack, unpack
from json_schema import Validator

sys.path += [os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", folder) for folder in ("record", "statistics")]
import recorded  # noqa: E402
from recording import Window  # noqa: E402

AXES = ["pcomm", "cgroup", "comm", "comm-exact", "all"]
# Checking so much text takes minutes, so by default only some files are checked under some groupings.
AXES_BY_FILE = {"named": AXES, "a": ["pcomm"], "window": ["cgroup", "all"]}
ALL_AXES = "ALL_AXES" in os.environ
if ALL_AXES:
    AXES_BY_FILE = dict.fromkeys(AXES_BY_FILE, AXES)
KEYS_OF_ALL = ["cgroup", "pcomm", "comm"]


def set_hostile_names(document):
    """Returns the same capture with a known boot, whose threads have names that are unsafe on a terminal."""
    document = copy.deepcopy(document)
    document["ctprof"]["boot_id"] = "one"
    names = [name.decode() for name in BYTES if is_utf8(name)]
    document["raw"]["thread"] = {}
    for thread, name in zip(document["threads"], names):
        thread["comm"] = name
    document["threads"][-1]["pcomm"] = names[0]
    return document


def make_later_capture(document):
    """Returns a later capture of the same host: threads have run, one has exited, and one has started."""
    second = 10**9
    document["captured_at_unix_ns"] += second
    for moment in document["ctprof"]["start"], document["ctprof"]["end"]:
        moment["wall_unix_ns"] += second
        moment["monotonic_ns"] += second
    for number, thread in enumerate(document["threads"]):
        thread["run_time_ns"] += number * 1000
    last = document["threads"][-1]
    last["tid"] = last["tgid"] = last["tid"] + 1
    last["start_time_clock_ticks"] += 100
    return document


def is_utf8(name):
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def output_of(*words):
    finished = harness.run(*words)
    if finished.returncode not in (0, 1):  # 1: a condition of --fail-on was met
        raise AssertionError(f"{words}: {finished.stderr}")
    return finished.stdout


def run_json(*words):
    return json.loads(output_of(*words, "--format", "json"))


def run_csv(*words):
    return list(csv.DictReader(io.StringIO(output_of(*words, "--format", "csv", "--limit", "0"), newline=""), strict=True))


def schema_of(command):
    return Validator(json.loads(output_of(command, "--json-schema")))


def group_of_csv(row):
    return tuple(row[key] for key in KEYS_OF_ALL) if "cgroup" in row else row["group"]


def group_of_json(row, axis):
    """Returns the group as in CSV, where the host has an empty process and thread."""
    if axis != "all":
        return row["group"]
    return tuple(row["group"]) if isinstance(row["group"], list) else (row["group"], "", "")


def is_plain(group):
    """Returns whether a name is the same in CSV and JSON. CSV escapes other names."""
    return all(part.isascii() and part.isprintable() and "\\" not in part for part in ([group] if isinstance(group, str) else group))


def is_map(value):
    return isinstance(value, dict) and not value.keys() & {"min", "total"}


# Numeric columns, each with the column for values that are not numbers.
NUMBER = r"(-?\d+(\.\d+)?([eE][-+]?\d+)?)?"
TEXT_OF = {"value": "text", "baseline": "text_baseline", "candidate": "text_candidate", "delta": "text_delta"}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def fields_of(name, value):
    """Returns the columns of a value and their contents."""
    if name not in TEXT_OF:
        return {name: value}
    return {name: value, TEXT_OF[name]: None} if is_number(value) else {name: None, TEXT_OF[name]: value}


def is_equal(text, value):
    """Returns whether a field of CSV equals the JSON. For objects, which CSV contains as text, checks only that the field is not empty."""
    if isinstance(value, dict):
        return text != ""
    if isinstance(value, bool) or value is None:
        return text == {True: "true", False: "false", None: ""}[value]
    return float(text) == float(value) if isinstance(value, (int, float)) else text == value


def figures_of_map(fields, values):
    """Returns {key: fields}. Columns with a value for each key contain the value of that key. Returns one entry with an empty key if there are none."""
    keys = {key for value in values if value for key in value} or {""}
    fields_by_key = [name for name in ("value", "baseline", "candidate", "delta", "rate", "change") if name in fields]
    kept = {name: value for name, value in fields.items() if name not in ("unit", "pct")}  # JSON has these only for the whole map
    return {key: kept | {name: (fields[name] or {}).get(key) for name in fields_by_key} for key in keys}


def lines_of(row, fields, maps):
    """Returns [(key, fields)]: the expected CSV lines of one row of JSON."""
    sides = [fields.get(name) for name in ("value", "baseline", "candidate")]
    return figures_of_map(fields, sides).items() if row["metric"] in maps else [("", fields)]


def coverage_fields(row, suffix=""):
    coverage = row["coverage" + suffix]
    parts = row["parts" + suffix] or {"present": None, "of": None}
    return {"values" + suffix: coverage["values"], "rows" + suffix: coverage["rows"],
            "parts" + suffix: parts["present"], "parts_of" + suffix: parts["of"]}


def expected_of_show(report):
    for row in report["rows"]:
        change = {"change": row["change"]} if "change" in row else {}  # of a window
        failed = {"failed": place(row) in map(place, report["failed"])} if "failed" in report else {}
        runs = {"runs": row["runs"]} if "runs" in report["snapshot"] else {}
        yield row, {"unit": row["unit"], "value": row["value"], "threads": row["threads"]} | change | failed | runs | coverage_fields(row)


def place(row):
    return row["section"], str(row["group"]), row["metric"]


def expected_of_compare(report):
    failed = {place(row) for row in report.get("failed", [])}
    boots = {report[side]["boot_id"] for side in ("baseline", "candidate")}
    is_of_lives = len(boots) == 2 and "" not in boots and "window" not in report["baseline"]
    lives = ("per_life_baseline", "per_life_candidate") if is_of_lives else ()
    for row in report["rows"]:
        names = ("unit", "baseline", "candidate", "delta", "pct", "threads_baseline", "threads_candidate", "delta_alive", "delta_new",
                 "delta_gone", "threads_alive", "threads_new", "threads_gone")
        fields = {"side": "both"} | {name: row[name] for name in (*names, *lives, *(["rate"] if "rate" in row else []))}
        if "failed" in report:
            fields["failed"] = place(row) in failed
        yield row, fields | coverage_fields(row, "_baseline") | coverage_fields(row, "_candidate")
    for side in ("baseline", "candidate"):
        for group in report[f"only_{side}"]:
            for value in group["values"]:
                fields = {"side": side, "unit": value["unit"], side: value["value"], f"threads_{side}": group["threads"]}
                yield value | {"group": group["group"]}, fields


def fields_by_place(rows, axis):
    """Returns {(section, group, metric, key): fields}."""
    maps = {row["metric"] for row, fields in rows for name in ("value", "baseline", "candidate") if is_map(fields.get(name))}
    return {(row["section"], group_of_json(row, axis), row["metric"], key): fields
            for row, its in rows for key, fields in lines_of(row, its, maps)}


class MachineFormats(unittest.TestCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        """Makes captures of two recorded kernels, two files of the same boot with hostile names, and windows."""
        scratch = harness.scratch()
        cls.addClassCleanup(scratch.cleanup)
        cls.directory = scratch.name
        harness.capture_tree("6.12", cls.path("a"))
        harness.capture_tree("6.18", cls.path("b"))
        cls.make_files()

    @classmethod
    def make_files(cls):
        first = unpack(cls.path("b"))
        for name, document in (("named", set_hostile_names(first)), ("later", make_later_capture(set_hostile_names(first)))):
            pack(cls.path(name), document)
        windows = pathlib.Path(cls.directory) / "windows"
        recorded.unpack(pathlib.Path(os.environ["RECORDED"]) / "equal.tar.xz", windows)
        one, *others = sorted((windows / "a").iterdir())
        one.rename(cls.path("window"))
        os.mkdir(cls.runs())
        for file in others[:3]:
            file.rename(os.path.join(cls.runs(), file.name))

    @classmethod
    def runs(cls):
        """Returns a directory of windows."""
        return os.path.join(cls.directory, "runs")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory, f"{name}.ctprof.zst")

    def assert_none(self, wrong):
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong[:20]))

    # ---- schemas

    def test_validator_refuses_invalid_json(self):
        validator = schema_of("show")
        report = run_json("show", self.path("a"), "--limit", "5")
        self.assert_none(validator.problems(report))

        def problems_after(edit):
            other = copy.deepcopy(report)
            edit(other)
            return validator.problems(other)

        self.assertTrue(problems_after(lambda r: r.pop("rows")))
        self.assertTrue(problems_after(lambda r: r["rows"][0].pop("unit")))
        self.assertTrue(problems_after(lambda r: r["rows"][0].update(extra=1)))
        self.assertTrue(problems_after(lambda r: r["rows"][0].update(threads=-1)))
        self.assertTrue(problems_after(lambda r: r["rows"][0].update(group=["a", "b"])))
        self.assertTrue(problems_after(lambda r: r["rows"][0].update(value=[1])))
        self.assertTrue(problems_after(lambda r: r.update(schema="1")))

    def test_show(self):
        schema = schema_of("show")
        for name, axes in AXES_BY_FILE.items():
            for axis in axes:
                self.assert_none(schema.problems(run_json("show", self.path(name), "--group-by", axis)))
        for axis in AXES if ALL_AXES else ["all"]:
            self.assert_none(schema.problems(run_json("show", self.runs(), "--group-by", axis)))
            self.assert_none(schema.problems(run_json("compare", self.path("named"), self.path("later"), "--group-by", axis)))

    def test_compare(self):
        schema = schema_of("compare")
        for axis in AXES if ALL_AXES else ["cgroup", "all"]:
            pair = ("compare", self.path("a"), self.path("named"), "--group-by", axis)
            self.assert_none(schema.problems(run_json(*pair)))
            self.assert_none(schema.problems(run_json(*pair, "--limit", "3", "--rate")))
        for axis in AXES if ALL_AXES else ["pcomm"]:
            self.assert_none(schema.problems(run_json("compare", self.runs(), self.path("window"), "--group-by", axis)))
            three = run_json("compare", self.path("a"), self.path("b"), self.path("named"), "--group-by", axis, "--rate")
            self.assertIn("delta_2", three["rows"][0])
            self.assert_none(schema.problems(three))

    def test_other_verbs(self):
        capture = harness.run("--rootfs", harness.fixture("6.12"), "capture", "-o", self.path("c"), "--format", "json")
        self.assert_none(schema_of("capture").problems(json.loads(capture.stdout)))
        self.assert_none(schema_of("metric-list").problems(run_json("metric-list")))
        self.assert_none(schema_of("plugins").problems(run_json("plugins")))
        for metric in ("tid", "nr_wakeups_affine", "nr_threads", "cpu_efficiency", "cgroup.memory.current"):
            self.assert_none(schema_of("help").problems(run_json("help", metric)))
        self.assert_none(schema_of("plugins").problems(run_json("--rootfs", harness.fixture("6.12"), "plugins")))

    # ---- CSV

    def errors_in_csv(self, axis, expected, *words):
        report = run_json(*words, "--group-by", axis)
        lines = run_csv(*words, "--group-by", axis)
        places = fields_by_place(list(expected(report)), axis)
        found = {(line["section"], group_of_csv(line), line["metric"], line["key"]): line for line in lines}
        if len(found) != len(lines):
            yield f"{len(lines) - len(found)} lines are repeated"
        for place in {p for p in places if is_plain(p[1])} ^ {p for p in found if is_plain(p[1])}:
            yield f"{place} is only in one of them"
        for place in places.keys() & found.keys():
            expected_fields = {column: field for name, value in places[place].items() for column, field in fields_of(name, value).items()}
            yield from (f"{place}: {name} is {found[place][name]!r}, not {value!r}" for name, value in expected_fields.items()
                        if not is_equal(found[place][name], value))
        for name in TEXT_OF.keys() & lines[0].keys():
            yield from (f"{name} holds {line[name]!r}, which is no number" for line in lines if not re.fullmatch(NUMBER, line[name]))

    def test_csv_of_show(self):
        for name, axes in AXES_BY_FILE.items():
            for axis in axes:
                with self.subTest(file=name, axis=axis):
                    self.assert_none(list(self.errors_in_csv(axis, expected_of_show, "show", self.path(name))))

    def test_the_screen_of_a_window_with_itself(self):
        report = run_json("compare", self.path("window"), self.path("window"))
        self.assert_none(schema_of("compare").problems(report))
        self.assertEqual([row for row in report["screen"]["rows"] if row["score"] != 0], [])

    def test_csv_of_runs(self):
        """Checks the median of several windows, and comparisons with a set of windows."""
        for axis in AXES if ALL_AXES else ["comm", "all"]:
            with self.subTest(axis=axis):
                self.assert_none(list(self.errors_in_csv(axis, expected_of_show, "show", self.runs())))
                self.assert_none(list(self.errors_in_csv(axis, expected_of_compare, "compare", self.path("window"), self.runs())))

    def test_windows_are_marked(self):
        self.assertIn("window", run_json("show", self.path("window"))["snapshot"])
        self.assertNotIn("window", run_json("show", self.path("named"))["snapshot"])
        self.assertIn("window", run_json("compare", self.path("named"), self.path("later"))["snapshot"])
        self.assertEqual(len(run_json("show", self.runs())["snapshot"]["runs"]), 3)

    def test_fail_on_of_show(self):
        words = ("show", self.path("window"), "--fail-on", "thread_count > 1", "--metrics", "run_time_ns")
        finished = harness.run(*words, "--format", "json")
        report = json.loads(finished.stdout)
        self.assertEqual(finished.returncode, 1)
        self.assert_none(schema_of("show").problems(report))
        self.assertTrue(report["failed"])
        failed = [line for line in run_csv(*words) if line["failed"] == "true"]
        self.assertEqual({(line["group"], line["value"]) for line in failed}, {(row["group"], str(row["value"])) for row in report["failed"]})

    def test_conditions_of_a_window_use_differences(self):
        """Conditions, sort order and --metrics use differences, like the rows."""
        words = ("show", self.path("window"), "--metrics", "run_time_ns", "--group-by", "comm-exact")
        rows = run_json(*words, "--sort-by", "run_time_ns")["rows"]
        values = [row["value"] for row in rows if row["value"] is not None]
        self.assertEqual(values, sorted(values, reverse=True))
        self.assertGreater(len(values), 0)
        window, differences, lifetimes = Window(self.path("window")), collections.Counter(), collections.Counter()
        for thread in [*window.living.values(), *window.ended.values()]:
            differences[thread.values["comm"]] += thread.difference("run_time_ns") or 0
            lifetimes[thread.values["comm"]] += thread.values["run_time_ns"] or 0
        shown = {row["group"]: row["value"] for row in rows if row["value"] is not None}
        self.assertEqual(shown, {name: differences[name] for name in shown})
        self.assertTrue(any(value < lifetimes[name] for name, value in shown.items()))
        ran = run_json(*words, "--where", "run_time_ns > 0")["rows"]
        self.assertTrue(ran)
        self.assertTrue(all(row["value"] > 0 for row in ran))
        self.assertGreater(len(rows), len(ran))

    def test_csv_of_compare(self):
        for axis in AXES:
            with self.subTest(axis=axis):
                self.assert_none(list(self.errors_in_csv(axis, expected_of_compare, "compare", self.path("a"), self.path("named"))))

    def test_csv_of_one_boot(self):
        """Checks threads that started and exited, rates, and conditions of --fail-on."""
        words = ("compare", "--lifetime", self.path("named"), self.path("later"), "--rate", "--fail-on", "run_time_ns.delta > 0", "--fail-on",
                 "thread_count.candidate > 1")
        report = harness.run(*words, "--format", "json")
        self.assertEqual(report.returncode, 1)
        rows = json.loads(report.stdout)["rows"]
        self.assertTrue(any(row["delta_alive"] for row in rows) and any(row["rate"] for row in rows))
        for axis in AXES if ALL_AXES else ["comm", "all"]:
            with self.subTest(axis=axis):
                self.assert_none(list(self.errors_in_csv(axis, expected_of_compare, *words)))

    def test_fail_on_rows_are_in_csv(self):
        """This also holds for rows that are not shown, and for a group that exists on one side only."""
        words = ("compare", self.path("a"), self.path("named"), "--fail-on", "thread_count.candidate > 0", "--fail-on", "nice.baseline <= 0")
        lines = run_csv(*words, "--metrics", "run_time_ns")
        failed = json.loads(harness.run(*words, "--metrics", "run_time_ns", "--format", "json").stdout)["failed"]
        self.assertEqual({line["metric"] for line in lines if line["failed"] == "true"}, {"thread_count", "nice"})
        self.assertEqual({line["failed"] for line in lines if line["metric"] == "run_time_ns"}, {"false"})
        self.assertEqual(sum(line["failed"] == "true" for line in lines), len(failed))
        self.assertEqual({line["side"] for line in lines if line["failed"] == "true"}, {"both", "baseline", "candidate"})

    def test_csv_is_safe(self):
        """Whatever names contain, the output is UTF-8, one line per row, and safe on a terminal."""
        text = output_of("show", self.path("named"), "--group-by", "comm-exact", "--format", "csv")
        text.encode()
        self.assertTrue(all(c == "\n" or c.isprintable() for c in text), [c for c in text if not c.isprintable()][:5])
        self.assertIn("\\x1b", text)


if __name__ == "__main__":
    harness.main()
