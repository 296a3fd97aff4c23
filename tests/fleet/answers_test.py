#!/usr/bin/env python3
"""The answers of queries as text, CSV and JSON: each figure is in its own column and sentence. Results of the database are fixed values that
all differ; SQL that SQLite understands, too, is executed there."""

import argparse
import csv
import datetime
import io
import json
import os
import sqlite3
import sys
import unittest

sys.path.insert(0, os.environ["FLEET"])

from ctprof_fleet import cohorts, compare, metrics, output, query, rank, top  # noqa: E402

CPU = {"name": "run_time_ns", "unit": "ns", "family": "cumulative", "headline": {"label": "%CPU", "order": 1, "shown": "percent", "floor": 1e7}}
MEMORY = {"name": "rss_bytes", "unit": "bytes", "family": "gauge", "headline": {"label": "rss", "order": 2, "shown": "level"}}
SCOPE = {"hosts": 9, "captures": 12, "without_host": 2, "first": "2026-11-01 10:00:00", "last": "2026-11-02 11:30:00", "left_out": 3}


class FakeQuery:
    """A query whose table answers with fixed rows, by a part of the SQL."""

    def __init__(self, answers=(), scope=SCOPE):
        self.scope, self.condition, self.table, self.answers = scope, "true", self, dict(answers)
        self.index_dir = argparse.Namespace(base="/fleet")

    def fetch_rows(self, sql, _=None):
        return next(rows for part, rows in self.answers.items() if part in sql)

    def fetch_one(self, sql, values=None):
        return self.fetch_rows(sql, values)[0]

    heading = query.Query.heading
    write_captures_without_host = query.Query.write_captures_without_host


def written(form, write):
    """Returns what `write` writes in a format: lines, rows of CSV, or the value of JSON."""
    stream = io.StringIO()
    out = output.Output(form, stream)
    out.columns = 160
    write(out)
    text = stream.getvalue()
    if form == "csv":
        return list(csv.reader(io.StringIO(text, newline="")))
    return json.loads(text) if form == "json" else [" ".join(line.split()) for line in text.splitlines()]


class Rank(unittest.TestCase):
    FIGURES = [metrics.Figure("%CPU", "percent", "sql", metrics.Metric(CPU)), metrics.Figure("rss", "bytes", "sql", metrics.Metric(MEMORY))]
    ROWS = [("web7", "6.1", 0, 187.0, 23.5, 9.25, 4), ("db1", "6.6", 1, 3 << 30, 1 << 30, None, 2)]
    ANSWERS = {"FROM wide WHERE": [(5, 3)], "FROM cohorts WHERE": [("6.6",)]}

    def answer(self, form, rows=None):
        return written(form, lambda out: rank.write_answer(FakeQuery(self.ANSWERS), out, self.FIGURES, "kernel_release", rows or self.ROWS, ["a note"]))

    def test_text(self):
        self.assertEqual(self.answer("text"), [
            "/fleet 9 hosts 12 captures 2026-11-01 10:00:00Z to 2026-11-02 11:30:00Z 3 files left out",
            "host unusual in cohort figure median z captures",
            "web7 %CPU 6.1 187 23.5 +9.2 4",
            "db1 rss 6.6 3.00Gi 1.00Gi - 2",
            "not shown: 2 more hosts (--limit)",
            "no value: 5 hosts (3 with only snapshots, which contain lifetime totals, 2 with a gap)",
            "no z score in cohorts of fewer than 3 hosts: 6.6",
            "2 captures have no host name",
            "a note"])

    def test_csv_and_json(self):
        self.assertEqual(self.answer("csv"), [["host", "cohort", "figure", "value", "median", "z", "captures"],
                                              ["web7", "6.1", "run_time_ns", "187.0", "23.5", "9.25", "4"],
                                              ["db1", "6.6", "rss_bytes", str(3 << 30), str(1 << 30), "", "2"]])
        self.assertEqual(self.answer("json"), {
            "schema": 1, "scope": SCOPE, "cohort": "kernel_release", "without_value": 5, "notes": ["a note"], "rows": [
                {"host": "web7", "cohort": "6.1", "figure": "run_time_ns", "unit": "percent", "value": 187.0, "median": 23.5, "z": 9.25, "captures": 4},
                {"host": "db1", "cohort": "6.6", "figure": "rss_bytes", "unit": "bytes", "value": 3 << 30, "median": 1 << 30, "z": None, "captures": 2}]})


class Top(unittest.TestCase):
    ROWS = [("6.1", 40, "web", 17, 250.0, 0.625, 12.5, 3), ("6.1", 40, "db", 9, 100.0, 0.25, 3.5, 3), ("6.6", 8, "db", 7, 80.0, None, 2.5, 1)]

    def answer(self, form):
        return written(form, lambda out: top.write_answer(FakeQuery(), out, metrics.Metric(CPU), "kernel_release", self.ROWS, []))

    def test_text(self):
        self.assertEqual(self.answer("text")[1:], [
            "kernel_release 6.1: 40 hosts", "group hosts %CPU share median of a host", "web 17 250 62.5 % 12.5", "db 9 100 25.0 % 3.5",
            "not shown: 1 more group (--limit)",
            "kernel_release 6.6: 8 hosts", "group hosts %CPU share median of a host", "db 7 80.0 - 2.5",
            "2 captures have no host name"])

    def test_csv_and_json(self):
        self.assertEqual(self.answer("csv")[:2], [["cohort", "hosts", "group", "on_hosts", "total", "share", "median"],
                                                  ["6.1", "40", "web", "17", "250.0", "0.625", "12.5"]])
        answer = self.answer("json")
        self.assertEqual((answer["metric"], answer["unit"], answer["by"]), ("run_time_ns", "percent", "kernel_release"))
        self.assertEqual(answer["rows"][0], {"cohort": "6.1", "hosts": 40, "group": "web", "on_hosts": 17, "total": 250.0, "share": 0.625,
                                             "median": 12.5})


class SqliteTable:
    """Hosts, their sides and the times of their captures in SQLite, whose strftime has the arguments of DuckDB's here."""

    def __init__(self, hosts):
        self.connection = sqlite3.connect(":memory:")
        self.connection.create_function("strftime", 2, lambda time, form: datetime.datetime.fromisoformat(time).strftime(form))
        self.connection.execute("CREATE TABLE counted (host TEXT, captured_at TEXT)")
        self.connection.execute("CREATE TABLE side_of (host TEXT, side TEXT)")
        for host, (side, *times) in hosts.items():
            self.connection.execute("INSERT INTO side_of VALUES (?, ?)", (host, side))
            self.connection.executemany("INSERT INTO counted VALUES (?, ?)", [(host, time) for time in times])

    def fetch_rows(self, sql, values=()):
        return self.connection.execute(sql, values).fetchall()


def make_cohorts(table=None, differing=()):
    """Returns sides of which 6.6 is the baseline, and 6.1 the only candidate."""
    made = cohorts.Cohorts.__new__(cohorts.Cohorts)
    made.fact, made.baseline, made.candidates = "kernel_release", "6.6", ["6.1"]
    made.sizes = {"6.6": 1200, "6.1": 40, "5.10": 2, "5.4": 1, "4.19": 30}
    made.small_sides, made.extra_sides, made.unknown = ["5.10", "5.4"], ["4.19"], 7
    made.table, made.index_query = table, argparse.Namespace(condition="true")
    made.differing_facts = lambda _: list(differing)
    return made


class Compare(unittest.TestCase):
    maxDiff = None
    TABLE = {"a": ("6.6", "2026-11-01 10:00", "2026-11-01 12:00"), "b": ("6.6", "2026-11-01 09:30"), "c": ("6.1", "2026-11-03 08:00", "2026-11-03 08:20"),
             "d": ("5.4", "2026-01-01 00:00")}
    ROW = {"group": "web", "metric": "run_time_ns", "shift": 0.5, "low": 0.25, "high": 0.75, "p": 0.012, "p_alone": 0.001, "proven": True,
           "baseline": 20.0, "candidate": 30.5, "with_baseline": 90, "with_candidate": 39,
           "without_floor": {"shift": 0.45, "low": 0.2, "high": 0.7}}
    OTHER = ROW | {"group": "db", "metric": "rss_bytes", "p": 0.5, "proven": False, "baseline": 1 << 30, "candidate": 3 << 29,
                   "without_floor": {"shift": None, "low": None, "high": None}, "shift": -0.05, "low": -0.0625, "high": 0.125}
    FAMILY = {"smallest_p": 0.001, "labellings": 1999, "all": False}
    FACTS = [("cpu_model", 0.9, "X", "Y")]

    def answer(self, form):
        options = argparse.Namespace(about=None, alpha=0.05, min_shift=0.1, limit=1)
        sides = make_cohorts(SqliteTable(self.TABLE), self.FACTS)
        headlines = {one["name"]: metrics.Metric(one) for one in (CPU, MEMORY)}
        answer = compare.Answer(FakeQuery(), options, sides, [("6.1", self.FAMILY, [self.OTHER, self.ROW], [])], headlines, sides.notes(), [])
        return written(form, answer.write)

    def test_text(self):
        self.assertEqual(self.answer("text")[1:], [
            "kernel_release 6.1 (40 hosts) against 6.6 (1200 hosts): 1 of 2 rows significant",
            "group baseline candidate shift interval p hosts",
            "web %CPU 20.0 30.5 +45% +20 to +70 0.012 90+39",
            "~: not significant with 1000 + 40 hosts at 0.05 for a shift of 10% or more (1999 random labellings; p is adjusted for 2 rows, the "
            "95% intervals are not)",
            "not shown: 1 more row (--limit)",
            "these hosts also differ in cpu_model X → Y: each of these may be the reason",
            "they were captured at different times (2026-11-01 09:30 to 2026-11-01 12:00, and 2026-11-03 08:00 to 2026-11-03 08:20 UTC), which may "
            "also be the reason",
            "left out: 3 hosts of 2 sides with fewer than 3 (5.10, 5.4)",
            "left out: 1 more side, only the largest are compared (4.19)",
            "left out: 7 hosts without kernel_release",
            "only a sample of 1000 of 1200 hosts with 6.6 is tested",
            "2 captures have no host name"])

    def test_csv_and_json(self):
        head, first, second = self.answer("csv")
        self.assertEqual(dict(zip(head, first)), {
            "baseline": "6.6", "candidate": "6.1", "group": "web", "metric": "run_time_ns", "shift": "0.5", "low": "0.25", "high": "0.75", "p": "0.012",
            "proven": "True", "baseline_median": "20.0", "candidate_median": "30.5", "with_baseline": "90", "with_candidate": "39"})
        self.assertEqual(second[2], "db")
        answer = self.answer("json")
        self.assertEqual((answer["by"], answer["baseline"]), ("kernel_release", {"value": "6.6", "hosts": 1200}))
        side, = answer["candidates"]
        self.assertEqual((side["value"], side["hosts"], side["family"]), ("6.1", 40, self.FAMILY))
        self.assertEqual(side["along"], [{"fact": "cpu_model", "apart": 0.9, "baseline": "X", "candidate": "Y"}])

    def test_time_spans_begin_with_the_baseline(self):
        for order in (1, -1):  # The order of rows and of names does not matter.
            table = SqliteTable(dict(list(self.TABLE.items())[::order]))
            self.assertEqual(make_cohorts(table).time_spans("6.1"), [("2026-11-01 09:30", "2026-11-01 12:00"), ("2026-11-03 08:00", "2026-11-03 08:20")])


if __name__ == "__main__":
    unittest.main()
