#!/usr/bin/python3
"""Runs the examples of docs/tables.md unchanged, and compares their results with `show`."""

import json
import os
import re

import constructed_files
from case import Case, chdb, duckdb, harness, main_with_duckdb, needs_chdb, needs_duckdb, needs_pandas

PAGE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "docs", "tables.md")


def blocks(tool):
    """Returns the examples of the page for a tool, in order."""
    with open(PAGE, encoding="utf-8") as file:
        return [text for text in re.findall(r"^```(?:sql|python)\n(.*?)^```$", file.read(), re.M | re.S) if re.match(rf"(--|#) {tool}\n", text)]


class Page(Case):
    def setUp(self):
        super().setUp()
        self.lines = constructed_files.capture("run.ctprof.zst")
        for out, *words in (("run.ndjson",), ("threads.csv", "--rows", "threads"), ("threads.parquet", "--rows", "threads"), ("cgroups.parquet", "--rows", "cgroups"),
                            ("cgroups.csv", "--rows", "cgroups"), ("long.ndjson", "--rows", "long")):
            finished = harness.run("export", "run.ctprof.zst", "--to", out.rsplit(".", 1)[1], *words, "-o", out)
            self.assertEqual(finished.returncode, 0, finished.stderr)
        report = json.loads(harness.run("show", "run.ctprof.zst", "--metrics", "run_time_ns", "--no-thread-normalize", "--limit", "0", "--format", "json").stdout)
        self.sums = {row["group"]: row["value"] for row in report["rows"]}
        self.read = {row["group"]: row["coverage"]["values"] for row in report["rows"]}
        self.assertGreater(len(self.sums), 5)

    @needs_duckdb
    def test_duckdb(self):
        names, parquet, text, figures = (duckdb.sql(query).fetchall() for query in blocks("DuckDB"))
        self.assertEqual({name: total for name, _, total, _ in names if total is not None}, self.sums)
        self.assertEqual({name: read for name, _, _, read in names if read}, self.read)
        cgroups = constructed_files.tables(self.lines, "cgroup")[0]["columns"]
        self.assertEqual(len(parquet), len(cgroups["cgroup.path"]))
        self.assertIn(None, [row[2] for row in parquet], "a limit that is none")
        anon = sorted((dict(keys)["anon"] if keys else None for keys in cgroups["cgroup.memory.stat"]), key=repr)
        self.assertEqual(sorted((row[3] for row in parquet), key=repr), anon)
        self.assertEqual(sorted((row[2] for row in text), key=repr), anon)
        self.assertRegex(text[0][1], r"\.\d{9}Z$")
        totals = {metric: (total, read, gaps) for metric, total, read, gaps, _ in figures}
        self.assertEqual(totals["run_time_ns"][:2], (sum(self.sums.values()), sum(self.read.values())))

    @needs_pandas
    def test_pandas(self):
        for code in blocks("pandas"):
            space = {}
            exec(code, space)  # the example itself
            self.assertEqual({name: int(total) for name, total in space["by_name"].items()}, self.sums)

    @needs_chdb
    def test_clickhouse(self):
        queries = blocks("ClickHouse")
        self.assertEqual(len(queries), 3)
        for query in queries:
            rows = [json.loads(line) for line in chdb.query(query.rstrip().rstrip(";"), "JSONEachRow").data().splitlines()]
            self.assertEqual({row["pcomm"]: int(row["ran_ns"]) for row in rows if row["ran_ns"] is not None}, self.sums, query)
            if "until" in rows[0]:
                self.assertRegex(rows[0]["until"], r"\.\d{9}$")


if __name__ == "__main__":
    main_with_duckdb()
