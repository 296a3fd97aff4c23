#!/usr/bin/env python3
"""Modules of the fleet package that need neither captures nor DuckDB: times, text, finding files, planning work."""

import argparse
import contextlib
import csv
import datetime
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.environ["FLEET"])

from ctprof_fleet import command, compare, index, index_directory, output, printable, tasks, times, walk  # noqa: E402
from ctprof_fleet.errors import FleetError  # noqa: E402


class Times(unittest.TestCase):
    def test_asks_ctprof_for_points_in_time(self):
        self.assertEqual(times.parse_time("2026-11-01 15:00Z").isoformat(), "2026-11-01T15:00:00+00:00")
        self.assertEqual(times.parse_time("@1790000000").timestamp(), 1790000000)
        local_time = datetime.datetime(2026, 11, 1, 15, 0, 30).astimezone()
        self.assertEqual(times.parse_time("2026-11-01T15:00:30"), local_time)
        before = datetime.datetime.now().astimezone()
        self.assertGreaterEqual(times.parse_time("now") + datetime.timedelta(microseconds=1), before)

    def test_makes_conditions_of_both_ends(self):
        options = argparse.Namespace(since="2026-11-01 15:00:30Z", until=None)
        self.assertEqual(times.time_condition(options), "captured_at >= TIMESTAMP '2026-11-01 15:00:30.000000'")
        options.until = "@1790000000"
        self.assertTrue(times.time_condition(options).endswith(" AND captured_at <= TIMESTAMP '2026-09-21 14:13:20.000000'"))

    def test_refuses_invalid_times(self):
        for written_time in ("", "soon", "25:00", "2026-13-01", "10 parsecs ago", "@x", "2026-11-01Z", "9" * 400 + " d ago"):
            with self.subTest(written_time), self.assertRaisesRegex(FleetError, "is not a valid time"):
                times.parse_time(written_time)


class Text(unittest.TestCase):
    def test_escapes_hidden_characters(self):
        self.assertEqual(printable.escape_hidden("a\nb\x1b[31m\u202e\u200bc"), "a\\u{a}b\\u{1b}[31m\\u{202e}\\u{200b}c")
        self.assertEqual(printable.escape_hidden("日本 ü"), "日本 ü")

    def test_formats_numbers(self):
        for value, unit, wanted in ((0, "", "0"), (7, "", "7"), (999, "", "999"), (1820, "", "1.82K"), (147, "", "147"), (12345678, "", "12.3M"),
                                    (812 << 20, "bytes", "812Mi"), (9.95 * 1024, "bytes", "9.95Ki"), (46.72, "percent", "46.7"),
                                    (376.31, "percent", "376"),
                                    (None, "", "-"),
                                    (float("nan"), "", "-"), (float("inf"), "percent", "-"), (0.00123, "", "0.0012"),
                                    (-1820, "", "-1.82K"), (999.7, "", "1.00K")):
            with self.subTest(value=value, unit=unit):
                self.assertEqual(printable.format_number(value, unit), wanted)

    def test_json_and_csv_are_parseable(self):
        written = io.StringIO()
        out = output.Output("json", written)
        out.write_csv(["a\rb", "c"], [("d\re", 1.5), ('f"g', None)])
        self.assertEqual(written.getvalue(), '"a\rb",c\n"d\re",1.5\n"f""g",\n')
        written.truncate(0)
        written.seek(0)
        value = {"h": "\x1b[31m \x7f \x9b \u202e \U000e0001 ü日", "i": [1.5, float("inf"), (float("nan"),)]}
        out.write_json(value)
        self.assertEqual(json.loads(written.getvalue()), {"schema": 1, "h": value["h"], "i": [1.5, None, [None]]})
        self.assertFalse(set(written.getvalue()) & set("\x1b\x7f\x9b\u202e\U000e0001"))
        self.assertIn("ü日", written.getvalue())

    def test_marks_formulas_for_spreadsheets(self):
        texts = ["=1+1", "+1", "-1", "@A1", "  =1", "\t=1", "\r=1", "a=1", "", "svc"]
        for is_csv_safe, marked in ((False, 0), (True, 7)):
            written = io.StringIO()
            output.Output("csv", written, is_csv_safe=is_csv_safe).write_csv(["=host", "n"], [(text, -1) for text in texts])
            rows = list(csv.reader(io.StringIO(written.getvalue(), newline="")))
            self.assertEqual(rows[0], ["'=host" if is_csv_safe else "=host", "n"])
            self.assertEqual([row[0] for row in rows[1:]], ["'" + text if at < marked else text for at, text in enumerate(texts)])
            self.assertEqual({row[1] for row in rows[1:]}, {"-1"})  # numbers are not marked

    def test_error_is_one_line(self):
        with contextlib.redirect_stderr(io.StringIO()) as error_output:
            self.assertEqual(command.fail("no\n\x1b]0;x\x07"), 2)
        self.assertEqual(error_output.getvalue(), "ctprof: no\\u{a}\\u{1b}]0;x\\u{7}\n")

    def test_tables_fit_the_width(self):
        for columns in (50, 80, 120):
            table = printable.Table(["group", "kernel", "one", "two", "three"], texts=2)
            table.add("x" * 4096, "日本語" * 20, "1.82K", "46.7", "812Mi")
            table.add("short", "6.1", "1", "2", "3")
            lines, omitted = table.layout(columns)
            with self.subTest(columns):
                self.assertEqual(omitted, [])
                self.assertEqual(len(lines), 3)
                self.assertLessEqual(max(map(printable.display_width, lines)), columns)
                self.assertTrue(lines[1].endswith("1.82K  46.7  812Mi"))

    def test_lists_omitted_columns(self):
        table = printable.Table(["host", *[f"figure{n}" for n in range(10)]])
        table.add("a", *["123"] * 10)
        lines, omitted = table.layout(40)
        self.assertLessEqual(max(map(printable.display_width, lines)), 40)
        self.assertEqual(omitted[-1], "figure9")
        self.assertIn("figure0", lines[0])


class Files(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="fleet-walk-")
        self.addCleanup(directory.cleanup)
        self.top = pathlib.Path(directory.name)

    def make(self, *names):
        for name in names:
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")

    def find_files_below(self, *arguments):
        return walk.find_files(arguments or [str(self.top)], str(self.top), str(self.top / index_directory.NAME))

    def test_finds_files(self):
        self.make("a.ctprof.zst", "deep/er/b.ctprof.zst", "other.txt", ".hidden.ctprof.zst", ".partial/c.ctprof.zst", ".ctprof-fleet/d.ctprof.zst",
                  "new\nline 'quoted\" [x]*.ctprof.zst")
        self.assertEqual(sorted(self.find_files_below().files), ["a.ctprof.zst", "deep/er/b.ctprof.zst", "new\nline 'quoted\" [x]*.ctprof.zst"])
        self.assertEqual(list(self.find_files_below(str(self.top / "other.txt")).files), ["other.txt"])
        self.assertEqual(sorted(self.find_files_below(str(self.top / "**/*.zst")).files), ["a.ctprof.zst", "deep/er/b.ctprof.zst",
                                                                               "new\nline 'quoted\" [x]*.ctprof.zst"])
        with self.assertRaisesRegex(FleetError, "no file matches"):
            self.find_files_below(str(self.top / "*.none"))
        with self.assertRaisesRegex(FleetError, "No such file"):
            self.find_files_below(str(self.top / "none"))

    def test_reports_special_files(self):
        self.make("real.ctprof.zst")
        os.mkfifo(self.top / "pipe.ctprof.zst")
        os.symlink("/etc/passwd", self.top / "link.ctprof.zst")
        os.symlink("/", self.top / "root")
        os.mkdir(self.top / "dir.ctprof.zst")
        (pathlib.Path(os.fsdecode(os.fsencode(self.top) + b"/\xff.ctprof.zst"))).write_text("x")
        found = self.find_files_below()
        self.assertEqual(list(found.files), ["real.ctprof.zst"])
        why = dict(found.excluded)
        self.assertEqual(why["pipe.ctprof.zst"], "a pipe, not a file")
        self.assertEqual(why["link.ctprof.zst"], "a symbolic link, not a file")
        self.assertEqual([reason for name, reason in found.excluded if "\udcff" in name], ["its name is not UTF-8, which the index cannot store"])
        self.assertEqual(len(found.excluded), 3)

    def test_patterns_follow_no_links(self):
        self.make("a/b/c.ctprof.zst", "d[x]/e.ctprof.zst")
        os.symlink(".", self.top / "one")
        os.symlink(".", self.top / "two")
        for pattern, wanted in (("**/*.zst", ["a/b/c.ctprof.zst", "d[x]/e.ctprof.zst"]), ("a/**/*.zst", ["a/b/c.ctprof.zst"]),
                                ("**/b/**/*.zst", ["a/b/c.ctprof.zst"]), ("*/*.zst", ["d[x]/e.ctprof.zst"])):
            self.assertEqual(sorted(set(map(os.path.realpath, walk.glob_matches(str(self.top / pattern))))),
                             [os.path.realpath(self.top / name) for name in wanted], pattern)
        with contextlib.chdir(self.top):
            self.assertEqual(sorted(walk.glob_matches("**/*.zst")), ["a/b/c.ctprof.zst", "d[x]/e.ctprof.zst"])

    def test_limits_depth(self):
        self.make("/".join(["d"] * (walk.MAX_DEPTH + 1)) + "/a.ctprof.zst", "b.ctprof.zst")
        found = self.find_files_below()
        self.assertEqual(list(found.files), ["b.ctprof.zst"])
        self.assertIn("directories deep", found.excluded[0][1])


class Index(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="fleet-place-")
        self.addCleanup(directory.cleanup)
        self.top = pathlib.Path(directory.name)
        self.other = self.top / "other"
        (self.other / "buckets").mkdir(parents=True)
        (self.other / "locks").mkdir()
        self.kept = self.other / "buckets" / "letter.parquet"
        self.kept.write_text("content")

    def test_does_not_change_a_replaced_directory(self):
        opened = index_directory.IndexDirectory(self.top / "index")
        opened.create()
        (self.top / "index").rename(self.top / "aside")
        os.symlink(self.other, self.top / "index")
        opened.write_about({"schema": 0})
        with opened.locked(exclusive=True):
            opened.remove_contents()
        opened.write_about({"schema": 1})
        self.assertEqual(sorted(str(path.relative_to(self.other)) for path in self.other.rglob("*")), ["buckets", "buckets/letter.parquet", "locks"])
        self.assertEqual(opened.read_about(), {"schema": 1})
        self.assertRegex((self.top / "aside" / "about.json").read_text(), "1")
        with self.assertRaisesRegex(FleetError, "is not a directory"):
            index_directory.IndexDirectory(self.top / "index").create()

    def test_does_not_change_other_directories(self):
        (self.other / "locks").rmdir()
        (self.other / "about.json").write_text('{"schema": "of another program"}')
        self.assertEqual(index.choose_directory(["."], str(self.other)).path, str(self.other / index_directory.NAME))
        mine = index_directory.IndexDirectory(self.top / "mine")
        mine.create()
        (self.top / "mine" / "buckets" / "notes.txt").write_text("mine")
        (self.top / "mine" / "buckets" / "000000-00.parquet").write_text("")
        mine.remove_contents()
        self.assertEqual(os.listdir(mine.buckets), ["notes.txt"])
        self.assertEqual(index.choose_directory(["."], str(self.top / "mine")).path, str(self.top / "mine"))

    @unittest.skipIf(os.geteuid() == 0, "root may read all directories")
    def test_ignores_unreadable_directories(self):
        (self.other / index_directory.NAME).mkdir(mode=0)
        with self.assertRaisesRegex(FleetError, "there is no index"):
            index_directory.find_index(str(self.other))


class Work(unittest.TestCase):
    """Plans the work on a slot from the indexed and the existing files."""

    def test_each_file_once(self):
        with tempfile.TemporaryDirectory(prefix="fleet-parts-") as base:
            (pathlib.Path(base) / "elsewhere").write_text("x")
            old = 86_400 * 10 ** 9 * 5
            wanted = {"same": (1, old, 7), "changed": (2, old * 2, 8), "new": (3, old, 9)}
            known = [("000005-01", "same", 1, old, 7), ("000005-01", "changed", 1, old, 8), ("000005-01", "gone", 1, old, 1),
                     ("000005-01", "elsewhere", 1, old, 2)]
            todo, removed = tasks.plan_tasks("slot", known, wanted, base)
        self.assertEqual(removed, ["gone"])
        forgotten, *read = [(task.name[:6], task.removed_files, list(task.file_states)) for task in todo]
        self.assertEqual(forgotten, ("000005", ["changed", "gone"], []))
        self.assertEqual(sorted(read), sorted((tasks.bucket_of(file, wanted[file][1])[:6], [], [file]) for file in ("new", "changed")))

    def test_tasks_are_small(self):
        todo = tasks.plan_reading("slot", {f"{n:04d}": (1, 1, n) for n in range(1000)})
        self.assertLessEqual(max(len(task.file_states) for task in todo), tasks.TASK_FILES)
        self.assertEqual(sorted(file for task in todo for file in task.file_states), [f"{n:04d}" for n in range(1000)])


class SignificanceNotes(unittest.TestCase):
    def make_note(self, min_shift, *rows):
        answer = compare.Answer.__new__(compare.Answer)
        answer.options = argparse.Namespace(alpha=0.1, min_shift=min_shift)
        answer.cohorts = argparse.Namespace(baseline="a", count_drawn=lambda side: {"a": 7, "b": 5}[side])
        return answer.significance_note({"smallest_p": 0.01, "labellings": 792, "all": True}, "b", [{"p": p, "proven": proven} for p, proven in rows])

    def test_note_describes_the_test(self):
        self.assertEqual(self.make_note(0, (0.05, True), (0.5, False)),
                         "~: not significant with 7 + 5 hosts at 0.1 (all 792 labellings; p is adjusted for 2 rows, the 90% intervals are not)")

    def test_note_counts_rows_that_min_shift_hides(self):
        note = self.make_note(0.05, (0.05, True), (0.05, False), (0.1, False), (0.5, False))
        self.assertIn(" at 0.1 for a shift of 5% or more (", note)
        self.assertTrue(note.endswith("; 2 rows with p of at most 0.1 are not significant only because of --min-shift 5%"), note)


if __name__ == "__main__":
    unittest.main()
