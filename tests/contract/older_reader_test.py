#!/usr/bin/python3
"""Reads files with an entity, maps with two labels and a histogram of a plugin by a ctprof from before these existed, which shows all the rest and
writes the file again, and then by this ctprof: reports, comparisons, Parquet, Prometheus and pages have the figures of the first file.

Environment: CTPROF, FIXTURES, BAD_PLUGINS; OLDER_CTPROF, the older program, which tools/dev builds from the history of git; PYTHONPATH, with duckdb.
"""

import csv
import io
import json
import os
import subprocess
import sys

import labels_test
from labels_test import ENTITY, LEFT, MOVED, PARTS, RIGHT

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "parity"))
import harness  # noqa: E402

try:
    import duckdb
except ImportError:
    duckdb = None

OLDER = os.environ["OLDER_CTPROF"]
WAITS = "labels_wait_ns"
NO_OLDER = "skipped: no ctprof of the commit before entities (tools/dev test --readers builds it; in a shallow clone, run 'git fetch --unshallow' first)"


def run_older(*words):
    finished = subprocess.run([OLDER, *words], capture_output=True, text=True, check=False, timeout=harness.TIMEOUT)
    if finished.returncode != 0:
        raise AssertionError(f"{words}: status {finished.returncode}: {finished.stderr}")
    return finished.stdout


class OlderReader(labels_test.Labels):
    def files(self):
        """A snapshot in each layout, and a recording of this host, each as this ctprof and as the older one writes it."""
        recorded = str(self.here / "window.ctprof.zst")
        self.run_tool("--plugin-path", str(self.here / "plugins"), "--set", "labels.step=1", "record", "-q", "-d", "1s", "-o", recorded)
        for name, file in {"rows": self.capture("--layout", "rows", name="rows"), "columns": self.capture("--layout", "columns", name="columns"),
                           "window": recorded}.items():
            again = str(self.here / f"{name}.again.ctprof.zst")
            run_older("export", file, "--to", "columns", "-o", again)
            yield name, file, again

    def port_rows(self, file):
        """Returns what `show` prints about the rows of the entity."""
        return json.loads(self.run_tool("show", file, "--entity", ENTITY, "--format", "json"))["rows"]

    def table_rows(self, file):
        text = self.run_tool("export", file, "--to", "csv", "-o", "-", "--entity", ENTITY, "--rows", "long")
        return list(csv.DictReader(io.StringIO(text)))

    def series(self, file, *words):
        text = self.run_tool("export", file, "--to", "prometheus", "-o", "-", *words)
        return [line for line in text.splitlines() if line.startswith("ctprof_") and "labels" in line]

    def test_older_reader_shows_all_the_rest(self):
        for name, file, _ in self.files():
            with self.subTest(name):
                words = ("show", file, "--details", "--limit", "0", "--format", "json")
                ours, theirs = ({(row["group"], row["metric"]): row["value"] for row in json.loads(text)["rows"]}
                                for text in (self.run_tool(*words), run_older(*words)))
                rest = {key for key, value in ours.items() if not isinstance(value, dict)}
                self.assertGreater(len(rest), 500)
                self.assertEqual({key: theirs.get(key) for key in rest}, {key: ours[key] for key in rest})

    def test_rows_of_the_entity_survive(self):
        for name, file, again in self.files():
            with self.subTest(name):
                rows = self.port_rows(file)
                self.assertEqual({row["metric"] for row in rows}, {MOVED, WAITS, "labels_links"})
                self.assertEqual(self.port_rows(again), rows)
                if name == "window":
                    moved = next(row["value"] for row in rows if (row["group"], row["metric"]) == ("left", MOVED))
                    self.assertEqual(moved["sda,read"] * LEFT["sda,write"], moved["sda,write"] * LEFT["sda,read"])
                    self.assertGreater(moved["sda,read"], 0)
                else:
                    self.assert_ports(again)

    def test_comparison_with_the_first_file_finds_no_change(self):
        for name, file, again in self.files():
            with self.subTest(name):
                rows = json.loads(self.run_tool("compare", file, again, "--entity", ENTITY, "--format", "json"))["rows"]
                self.assertGreater(len(rows), 3)
                for row in rows:
                    deltas = row["delta"].values() if isinstance(row["delta"], dict) else [row["delta"]]
                    self.assertEqual(set(deltas) - {0, None}, set(), row)

    def test_tables_survive(self):
        for name, file, again in self.files():
            with self.subTest(name):
                rows = self.table_rows(file)
                self.assertEqual({row["key"] for row in rows if row["metric"] == WAITS}, {"count", "max", "p50", "p99", "p99.9"})
                self.assertEqual(self.table_rows(again), rows)

    def test_parquet_survives(self):
        if duckdb is None:
            self.skipTest("needs duckdb, a Python package")
        for name, _, again in self.files():
            if name == "window":
                continue
            with self.subTest(name):
                file = str(self.here / f"{name}.parquet")
                self.run_tool("export", again, "--to", "parquet", "-o", file, "--entity", ENTITY, "--rows", "long")
                rows = duckdb.sql(f"""SELECT id, key, "label.device", "label.direction", exact FROM '{file}' WHERE metric = '{MOVED}'""").fetchall()
                expected = {(port, key, *PARTS[key], value) for port, keys in (("left", LEFT), ("right", RIGHT)) for key, value in keys.items()}
                self.assertEqual(set(rows), expected)
                counts = duckdb.sql(f"SELECT id, exact FROM '{file}' WHERE metric = '{WAITS}' AND key = 'count'").fetchall()
                self.assertEqual(set(counts), {("left", 4), ("right", 5)})

    def test_prometheus_survives(self):
        for name, file, again in self.files():
            with self.subTest(name):
                series = self.series(file, "--entity", ENTITY) + self.series(file, "--metrics", "labels_calls,labels_events")
                for words in ('key_device="sda",direction="read"', 'le="+Inf"', 'call="read",result="ok"', 'kind="c"'):
                    self.assertTrue(any(words in line for line in series), words)
                self.assertEqual(self.series(again, "--entity", ENTITY) + self.series(again, "--metrics", "labels_calls,labels_events"), series)

    def test_page_names_the_labels(self):
        changed = self.capture("--set", "labels.scale=3", name="changed")
        for name, _, again in self.files():
            if name == "window":
                continue
            with self.subTest(name):
                page = self.here / f"{name}.html"
                self.run_tool("report", again, "--vs", changed, "--metrics", "labels_calls", "-o", str(page))
                self.assertTrue("call=read result=error" in page.read_text())


if __name__ == "__main__":
    if not os.path.exists(OLDER):
        print(NO_OLDER, file=sys.stderr)
        sys.exit(77)
    harness.main()
