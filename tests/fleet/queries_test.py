#!/usr/bin/env python3
"""Queries over a fleet: each figure equals that of `ctprof show` for the file, and derived values are recomputed."""

import csv
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

import fleets
from fleets import CTPROF, Fleet

SHIFTED = "6.12.0"
QUERY_OF_KERNELS = "SELECT value, count(*) FROM facts WHERE fact = 'kernel_release' GROUP BY value"
QUERY_OF_RUN_TIMES = "SELECT value / seconds * 1e-7 FROM totals WHERE metric = 'run_time_ns'"


def read_screen(path):
    report = json.loads(subprocess.run([CTPROF, "show", path, "--format", "json", "--limit", "0"], capture_output=True, check=True).stdout)
    return report["screen"]


def read_totals(path, *metrics):
    """Returns sums over all groups that `show` prints for these metrics; None for a metric without values."""
    report = json.loads(subprocess.run([CTPROF, "show", path, "--format", "json", "--limit", "0", "--metrics", ",".join(metrics)],
                                       capture_output=True, check=True).stdout)
    values = {metric: [row["value"] for row in report["rows"] if row["metric"] == metric and row["value"] is not None] for metric in metrics}
    return {metric: sum(of_groups) if of_groups else None for metric, of_groups in values.items()}


def compute_z_scores(figures):
    """Returns z scores by host, as docs/fleet.md defines them."""
    middle = statistics.median(figures.values())
    away = {host: value - middle for host, value in figures.items()}
    mad = 1.4826 * statistics.median(map(abs, away.values()))
    return {host: 0 if far == 0 else far / (mad or 1.2533 * statistics.fmean(map(abs, away.values()))) for host, far in away.items()}


class Queries(Fleet):
    hosts = 40

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        subprocess.run([CTPROF, "fleet", "index", "."], cwd=cls.top, check=True, capture_output=True, env=fleets.environment())

    def hosts_and_files(self):
        return dict(self.sql("SELECT host, file FROM captures"))

    def test_rank_equals_show(self):
        scales = {"run_time_ns": 1e-7, "rss_bytes": None, "voluntary_csw": 1}
        seconds = dict(self.sql("SELECT host, seconds FROM captures"))
        figures = {host: read_totals(self.top / file, *scales) for host, file in self.hosts_and_files().items()}
        for metric, scale in scales.items():
            answer = self.run_json("rank", metric, "--limit", 0)
            by_host = {row["host"]: row["value"] for row in answer["rows"]}
            z = compute_z_scores(by_host)
            with self.subTest(metric):
                self.assertGreater(len(by_host), 30)
                for host, figure in figures.items():
                    shown_value = figure[metric] or 0  # `show` prints a gap as an empty sum.
                    wanted = shown_value if scale is None else shown_value * scale / seconds[host]
                    self.assertAlmostEqual(by_host.get(host, 0), wanted, delta=1e-9 * wanted)
                for row in answer["rows"]:
                    self.assertAlmostEqual(row["z"], z[row["host"]], 4)
                self.assertEqual([abs(row["z"]) for row in answer["rows"]], sorted((abs(row["z"]) for row in answer["rows"]), reverse=True))

    def test_rank_of_a_group_equals_show(self):
        host, file = next(iter(self.hosts_and_files().items()))
        screen = read_screen(self.top / file)
        headlines = [one["metric"] for one in screen["headlines"]]
        # `show` prints the name of a group that has only one name; the index has its pattern.
        patterns = {group for group, in self.sql(f"SELECT DISTINCT \"group\" FROM groups WHERE host = '{host}'")}
        checked = 0
        for row in screen["rows"][:4]:
            for metric in ("run_time_ns", "voluntary_csw"):
                shown_value = row["figures"][headlines.index(metric)][0]["value"]
                if row["group"] not in patterns:
                    continue
                answer = {one["host"]: one["value"] for one in self.run_json("rank", metric, "--group", row["group"], "--limit", 0)["rows"]}
                if shown_value is not None and host in answer:
                    self.assertAlmostEqual(answer[host], shown_value, 6 if shown_value == 0 else 4)
                    checked += 1
        self.assertGreater(checked, 2)

    def test_cohorts_have_separate_medians(self):
        kernels = dict(self.sql("SELECT host, value FROM facts WHERE fact = 'kernel_release'"))
        everybody = {row["host"]: row["value"] for row in self.run_json("rank", "run_time_ns", "--limit", 0)["rows"]}
        for row in self.run_json("rank", "run_time_ns", "--cohort", "kernel", "--limit", 0)["rows"]:
            peers = {host: value for host, value in everybody.items() if kernels[host] == kernels[row["host"]]}
            self.assertEqual(row["cohort"], kernels[row["host"]])
            self.assertAlmostEqual(row["median"], statistics.median(peers.values()))
            self.assertAlmostEqual(row["z"], compute_z_scores(peers)[row["host"]], 4)

    def test_rank_without_metric_selects_the_most_unusual(self):
        rows = {row["host"]: row for row in self.run_json("rank", "--limit", 0)["rows"]}
        self.assertEqual(len(rows), 40)
        floors = dict(self.sql("SELECT metric, floor * CASE shown WHEN 'percent' THEN 1e-7 ELSE 1 END FROM metrics WHERE label IS NOT NULL"))
        most = {}
        for metric, floor in floors.items():
            for row in self.run_json("rank", metric, "--limit", 0)["rows"]:
                z = row["z"] if abs(row["value"] - row["median"]) >= floor else 0
                if abs(z) > abs(most.get(row["host"], (0, None))[0]):
                    most[row["host"]] = (z, metric)
        for host, (z, metric) in most.items():
            self.assertAlmostEqual(rows[host]["z"], z, 6)
            self.assertEqual(rows[host]["figure"], metric)

    def test_expressions(self):
        both = {metric: {row["host"]: row["value"] for row in self.run_json("rank", metric, "--limit", 0)["rows"]}
                for metric in ("run_time_ns", "voluntary_csw")}
        for row in self.run_json("rank", "run_time_ns / voluntary_csw", "--limit", 0)["rows"]:
            self.assertAlmostEqual(row["value"], both["run_time_ns"][row["host"]] * 1e7 / both["voluntary_csw"][row["host"]], 3)
        self.assertEqual(len(self.run_json("rank", "max(run_time_ns, 1) * 2", "--limit", 3)["rows"]), 3)
        for words, why in ((["run_time_ns", "--group", "slep"], "no capture has a group 'slep'; did you mean"),
                           (["--group", "*" * 40], "ctprof fleet top lists the groups")):
            self.assertIn(why, self.run_fleet("rank", *words, status=2).stderr)
        for expression, why in (("run_time", "did you mean run_time_ns"), ("run_time_ns /", "run_time_ns /"),
                                ("nosuch + 1", "no capture has a metric 'nosuch'")):
            self.assertIn(why, self.run_fleet("rank", expression, status=2).stderr)

    def test_selects_time_spans(self):
        first, last = self.sql("SELECT min(captured_at), max(captured_at) FROM captures")[0]
        self.assertEqual(self.run_json("rank", "--until", "2001-01-01")["scope"]["captures"], 0)
        self.assertEqual(self.run_json("rank", "--since", "2001-01-01")["scope"]["captures"], 40)
        self.assertIn("not a valid time", self.run_fleet("rank", "--since", "soon", status=2).stderr)
        middle = self.sql("SELECT strftime(median(captured_at::TIMESTAMP), '%Y-%m-%d %H:%M:%SZ') FROM captures")[0][0]
        earlier, later = (self.run_json("top", word, middle)["scope"]["captures"] for word in ("--until", "--since"))
        self.assertGreaterEqual(earlier + later, 40)
        self.assertLessEqual(first, last)

    def test_top_adds_up(self):
        answer = self.run_json("top", "--limit", 0)
        wanted = dict(self.sql("SELECT \"group\", sum(value / seconds) * 1e-7 FROM groups WHERE metric = 'run_time_ns' GROUP BY \"group\""))
        self.assertEqual(answer["metric"], "run_time_ns")
        self.assertEqual({row["group"] for row in answer["rows"]}, set(wanted))
        for row in answer["rows"]:
            self.assertAlmostEqual(row["total"], wanted[row["group"]], 6)
        self.assertAlmostEqual(sum(row["share"] for row in answer["rows"]), 1)
        everybody = self.run_json("rank", "run_time_ns", "--limit", 0)["rows"]
        self.assertAlmostEqual(sum(row["total"] for row in answer["rows"]), sum(row["value"] for row in everybody), 4)
        by_kernel = self.run_json("top", "--by", "kernel", "--limit", 0)["rows"]
        self.assertEqual({(row["cohort"], row["hosts"]) for row in by_kernel}, set(self.sql(QUERY_OF_KERNELS)))
        self.assertAlmostEqual(sum(row["total"] for row in by_kernel), sum(row["total"] for row in answer["rows"]), 4)

    def test_show_opens_the_file(self):
        host, file = next(iter(self.hosts_and_files().items()))
        self.assertEqual(self.run_fleet("show", host, "--path").stdout, f"{self.top / file}\n")
        plain = subprocess.run([CTPROF, "show", self.top / file, "--limit", "3"], capture_output=True, text=True, env=fleets.environment())
        self.assertEqual(self.run_fleet("show", host, "--", "--limit", "3").stdout, plain.stdout)
        self.assertIn("did you mean", self.run_fleet("show", host + "x", status=2).stderr)
        self.assertIn("no capture of", self.run_fleet("show", host, "--at", "2001-01-01", status=2).stderr)

    def test_sql_reads_only_the_index(self):
        secret = self.top / "secret.csv"
        secret.write_text("a\n1\n")
        self.addCleanup(secret.unlink)
        for query in (f"FROM read_csv('{secret}')", "COPY (SELECT 1) TO 'out.csv'", "SET memory_limit = '9GB'", "INSTALL httpfs", "ATTACH 'x.db'",
                      "CREATE TABLE x AS SELECT 1", "SELECT 1; SELECT 2", "SELECT nosuch FROM captures", "DROP VIEW captures", "SELEC", ""):
            with self.subTest(query):
                self.assertRegex(self.run_fleet("sql", query, status=2).stderr, r"\Actprof: .*\n\Z")
        self.assertFalse((self.top / "out.csv").exists())
        self.assertEqual(self.run_fleet("sql", input="SELECT 1 AS one, NULL AS nothing, 'x' AS word").stdout, "one  nothing  word\n1    -        x\n")
        self.assertEqual(self.run_fleet("sql", "SELECT [1, NULL] AS a, {'k': 'v'} AS b", "--format", "csv").stdout,
                         'a,b\n"[1, null]","{""k"": ""v""}"\n')
        self.assertEqual(self.run_fleet("sql", "SELECT '=1+1' AS a", "--format", "csv", "--csv-safe").stdout, "a\n'=1+1\n")
        self.assertIn("--csv-safe requires --format csv", self.run_fleet("sql", "SELECT 1", "--csv-safe", status=2).stderr)
        self.assertEqual(self.sql("SELECT 'nan'::DOUBLE, 1e308 * 10"), [(None, None)])

    def test_explain_runs_only_queries(self):
        bucket = self.top / fleets.INDEX / "buckets" / "000000-00.parquet"
        for explain in ("EXPLAIN ANALYZE", "EXPLAIN", "explain (analyze)", "EXPLAIN /* */ ANALYZE"):
            self.run_fleet("sql", f"{explain} COPY (SELECT 1) TO '{bucket}'", status=2)
            self.assertFalse(bucket.exists())
        for query in ("EXPLAIN FROM files", "EXPLAIN ANALYZE SELECT 1", "EXPLAIN (ANALYZE, FORMAT json) SELECT 1", "EXPLAIN ANALYZE (SELECT 1)"):
            self.run_fleet("sql", query)

    def test_output_formats(self):
        for words in (["rank"], ["rank", "run_time_ns"], ["top"], ["compare", "--by", "kernel"]):
            rows = list(csv.reader(io.StringIO(self.run_fleet(*words, "--format", "csv").stdout)))
            self.assertGreater(len(rows), 1)
            self.assertEqual({len(row) for row in rows}, {len(rows[0])})
            for columns in (80, 120):
                text = self.run_fleet(*words, env=fleets.environment(COLUMNS=str(columns))).stdout
                self.assertLessEqual(max(len(line) for line in text.splitlines()[1:]), columns, text)
                self.assertIn("40 hosts   40 captures", text)

    def test_errors_are_sentences(self):
        for words, why in ((["rnk"], "did you mean rank"), (["rank", "--bogus"], "--bogus"), (["compare"], "--by"),
                           (["compare", "--by", "kernal"], "fact"), (["top", "nr_threads_of_moon"], "no capture has"),
                           (["compare", "--by", "kernel", "--baseline", "5.0"], "no host has kernel_release 5.0"),
                           (["compare", "--by", "kernel", "--alpha", "7"], "--alpha"), (["rank", "--limit", "-1"], "--limit"),
                           (["index"], "DIR|GLOB|FILE")):
            with self.subTest(words):
                self.assertIn(why, self.run_fleet(*words, status=2).stderr)

    def test_closed_pipe_prints_no_error(self):
        finished = subprocess.run(f'"{CTPROF}" fleet sql "SELECT * FROM totals, range(50)" --format csv | head -1', shell=True, cwd=self.top,
                                  capture_output=True, text=True, env=fleets.environment(), check=False)
        self.assertEqual((finished.stdout.count("\n"), finished.stderr), (1, ""))

    def test_several_captures_of_a_host(self):
        """The median of the captures of a host counts."""
        with tempfile.TemporaryDirectory(prefix="fleet-several-") as place:
            files = sorted(self.top.glob("*.ctprof.zst"))[:3]
            for number, file in enumerate(files):
                text = subprocess.run(["zstd", "-dcq", file], capture_output=True, check=True).stdout
                lines = [json.loads(line) for line in text.splitlines()]
                lines[0]["ctprof"]["hostname"] = "one\nhost"
                write(lines, f"{place}/{number}.ctprof.zst")
            self.assertEqual(self.run_json("index", place)["captures"], 3)
            row, = self.run_json("rank", "run_time_ns", "--index", place)["rows"]
            run_times = [value for value, in self.run_json("sql", QUERY_OF_RUN_TIMES, "--index", place)["rows"]]
            self.assertEqual((row["host"], row["captures"], row["z"]), ("one\nhost", 3, None))
            self.assertAlmostEqual(row["value"], statistics.median(run_times), 4)
            self.assertIn("one\\u{a}host", self.run_fleet("rank", "run_time_ns", "--index", place).stdout)

    def test_reports_gaps(self):
        with tempfile.TemporaryDirectory(prefix="fleet-gaps-") as place:
            subprocess.run([CTPROF, "capture", "--level", "fast", "--layout", "columns", "-o", f"{place}/snapshot.ctprof.zst"], check=True,
                           capture_output=True)
            for file in sorted(self.top.glob("*.ctprof.zst"))[:3]:
                shutil.copy(file, place)
            self.run_json("index", place)
            text = self.run_fleet("rank", "run_time_ns", "--index", place).stdout
            self.assertIn("no value: 1 host (1 with only snapshots, which contain lifetime totals)", text)
            self.assertEqual(len(self.run_json("rank", "rss_bytes", "--index", place)["rows"]), 4)


def write(lines, path):
    """Writes a columns file: each line is a frame, and the last contains the number of bytes before it."""
    import recorded
    body = b"".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" for line in lines[:-1])
    lines[-1]["bytes"] = len(body)
    recorded.write_frames(body + json.dumps(lines[-1], separators=(",", ":")).encode() + b"\n", path)


class ComparedHosts(Fleet):
    """A shift in the hosts of one kernel is found, and no shift is found without one."""

    def compare_fleets(self, shift):
        place = tempfile.TemporaryDirectory(prefix="fleet-compared-")
        self.addCleanup(place.cleanup)
        fleets.make(place.name, 120, kernels={"6.1.0": 0.8, SHIFTED: 0.2}, shift=shift, threads="100:200", seed=7)
        self.run_json("index", place.name)
        answer = self.run_json("compare", "--by", "kernel", "--index", place.name)
        text = self.run_fleet("compare", "--by", "kernel", "--index", place.name).stdout
        self.assertEqual((answer["by"], answer["baseline"]["value"]), ("kernel_release", "6.1.0"))
        candidate, = answer["candidates"]
        self.assertEqual(candidate["value"], SHIFTED)
        proven = [row for row in candidate["rows"] if row["proven"]]
        self.run_fleet("compare", "--by", "kernel", "--index", place.name, "--fail-on-proven", status=1 if proven else 0)
        return proven, text

    def test_finds_a_shift(self):
        proven, text = self.compare_fleets(f"run_time_ns=1.6@{SHIFTED}")
        self.assertTrue(proven)
        self.assertEqual({row["metric"] for row in proven}, {"run_time_ns"})
        for row in proven:
            self.assertGreater(row["shift"], 0.3)
        self.assertRegex(text, r"[0-9]\s+of\s+[0-9,]+\s+rows\s+significant")

    def test_about_tests_groups_that_are_otherwise_excluded(self):
        """A copy of the package tests only one group; --about selects another."""
        with tempfile.TemporaryDirectory(prefix="fleet-about-") as place:
            fleets.make(place, 40, kernels={"6.1.0": 0.5, SHIFTED: 0.5}, threads="100:200", seed=7)
            self.run_json("index", place)
            question = ["compare", "--by", "kernel", "--index", place]
            rows = self.run_json(*question)["candidates"][0]["rows"]
            few = shutil.copytree(fleets.PACKAGE, f"{place}/few")
            module = f"{few}/ctprof_fleet/significance.py"
            with open(module, encoding="utf-8") as file:
                text = file.read()
            with open(module, "w", encoding="utf-8") as file:
                file.write(text.replace("MAX_GROUPS = 400", "MAX_GROUPS = 1"))

            def run_copy(*words):
                finished = subprocess.run([sys.executable, few, *question, *words], capture_output=True, text=True, check=True,
                                          env=fleets.environment(CTPROF=CTPROF))
                return finished.stdout, finished.stderr

            alone, = json.loads(run_copy("--format", "json")[0])["candidates"]
            judged = {row["group"] for row in alone["rows"]}
            self.assertEqual(len(judged), 1)
            other = next(row["group"] for row in rows if row["group"] not in judged)
            beside, = json.loads(run_copy("--format", "json", "--about", other)[0])["candidates"]
            self.assertEqual((beside["rows"], beside["family"]), (alone["rows"], alone["family"]))
            self.assertEqual({row["group"] for row in beside["about"]}, {other})
            self.assertIn("use --format json", run_copy("--format", "csv", "--about", other)[1])
            for form in ("text", "json"):
                self.assertIn("no tested group matches --about absent", run_copy("--format", form, "--about", "absent")[0])
            self.assertIn("no tested group matches --about absent", run_copy("--format", "csv", "--about", "absent")[1])

    def test_finds_no_shift_without_one(self):
        proven, text = self.compare_fleets(None)
        self.assertEqual(proven, [])
        self.assertRegex(text, r"none\s+of\s+[0-9,]+\s+rows\s+significant")

    def test_reports_small_sides(self):
        with tempfile.TemporaryDirectory(prefix="fleet-few-") as place:
            fleets.make(place, 12, kernels={"6.1.0": 0.9, "6.9.9": 0.1}, seed=3)
            self.run_json("index", place)
            answer = self.run_json("compare", "--by", "kernel", "--index", place)
            sides = dict(self.run_json("sql", QUERY_OF_KERNELS, "--index", place)["rows"])
            self.assertEqual(len(answer["candidates"]), sum(1 for side, hosts in sides.items() if hosts >= 3) - 1)
            if sides.get("6.9.9", 0) in (1, 2):
                self.assertIn("with fewer than 3", answer["notes"][0])


class WithoutDuckDb(unittest.TestCase):
    def test_explains_how_to_install_it(self):
        with tempfile.TemporaryDirectory(prefix="fleet-without-") as place:
            (os.makedirs(f"{place}/none/duckdb"))
            with open(f"{place}/none/duckdb/__init__.py", "w", encoding="utf-8") as module:
                module.write("raise ImportError('not here')\n")
            finished = subprocess.run([sys.executable, fleets.PACKAGE, "index", place], capture_output=True, text=True,
                                      env=fleets.environment(PYTHONPATH=f"{place}/none", CTPROF=CTPROF))
        self.assertEqual(finished.returncode, 2)
        self.assertRegex(finished.stderr, r"\Actprof: .*pip install duckdb.*\n\Z")


if __name__ == "__main__":
    fleets.need_duckdb()
    unittest.main()
