#!/usr/bin/python3
"""Tests that exported tables equal the output of `show`, for DuckDB, pandas and ClickHouse (chdb): sums are equal, gaps are NULL, names are text."""

import csv
import datetime
import json
import math
import os
import random
import subprocess
import unittest

import constructed_files
from case import Case, chdb, duckdb, harness, main_with_duckdb, needs_duckdb, needs_pandas, pandas

UNLIMITED = (1 << 64) - 1
FORMATS = ("ndjson", "csv", "parquet")
COMMON_FIELDS = ("capture", "captured_at", "host", "window_ns", "entity", "id", "born", "ended")
HOSTILE = ("a,b", 'say "x"', "two\nlines", "cr\r\nlf", "\t", " blank ", "", "null", "NULL", "NA", "nan", "\\N", "'", "#", "=1+1", "\x1b[31m", "\u202eevil", "\\", "{\"a\":1}",
           "é\U0001f600", "<script>", "x" * 4096, "[1]", "true", "0x1F", "1e5", "-", "\u2028", "a\x00b", "\ufffd")


class Tables(Case):
    def export(self, path, form, *words, status=0):
        out = f"{path}{''.join(words).replace('/', '')}.{form}"
        finished = harness.run("export", path, "--to", form, *words, "-o", out)
        self.assertEqual(finished.returncode, status, finished.stderr)
        return out if status == 0 else finished

    def query(self, text):
        connection = duckdb.connect()
        self.addCleanup(connection.close)
        return connection.sql(text)

    @staticmethod
    def source(path, rows):
        """Returns a file for FROM, with types where a text reader would have to guess."""
        if path.endswith(".parquet"):
            return f"'{path}'"
        if path.endswith(".csv"):
            return f"(SELECT * FROM read_csv('{path}', header = true, all_varchar = true, allow_quoted_nulls = false, max_line_size = 10000000))"
        return f"(SELECT * FROM read_json('{path}', format = 'newline_delimited') WHERE entity = '{rows}')"


def show(path, *words):
    return json.loads(harness.run("show", path, "--details", "--limit", "0", "--format", "json", *words).stdout)


def objects(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [json.loads(line, parse_constant=lambda word: unittest.TestCase().fail(word)) for line in file.read().split("\n") if line]


@needs_duckdb
class Sums(Tables):
    """Sums of groups, by SQL and by `show`."""

    def sums(self, path, entity, axis, keys):
        report = show(path, "--group-by", axis, "--no-thread-normalize", "--no-cg-normalize")
        return {(row["group"], row["metric"]): row for row in report["rows"] if row["metric"] in keys}

    def check(self, path, kernel=""):
        header = constructed_files.lines_of(path)[0]["registry"]["metrics"]
        summed = [m["name"] for m in header if m["entity"] == "thread" and m["storage"] == "u64" and m["rule"] in ("SumCount", "SumNs", "SumBytes", "SumTicks")]
        expected = self.sums(path, "thread", "pcomm", summed)
        self.assertGreater(len(expected), 50, kernel)
        for form in FORMATS:
            out = self.export(path, form)
            exported_columns = {column for column, *_ in self.query(f"DESCRIBE SELECT * FROM {self.source(out, 'thread')}").fetchall()}
            for metric in summed:
                if metric not in exported_columns:
                    self.assertFalse([key for key in expected if key[1] == metric], metric)
                    continue
                found = self.query(f'SELECT pcomm, sum("{metric}"::UBIGINT), count("{metric}"), count(*) FROM {self.source(out, "thread")} GROUP BY pcomm').fetchall()
                for group, total, values, rows in found:
                    row = expected.get((group, metric))
                    figure = row and row["value"]
                    self.assertEqual(figure, None if total is None else int(total), f"{kernel} {form}: {metric} of {group}")
                    if row:
                        self.assertEqual([row["coverage"]["values"], row["coverage"]["rows"]], [values, rows], f"{kernel} {form}: {metric} of {group}")

    def test_sums_of_recorded_trees(self):
        for kernel in ("5.10", "6.18"):
            with self.subTest(kernel):
                constructed_files.capture("a.ctprof.zst", kernel)
                self.check("a.ctprof.zst", kernel)

    def test_sums_of_window(self):
        harness.run("record", "-q", "-d", "500ms", "-o", "w.ctprof.zst")
        self.check("w.ctprof.zst", "a window")
        rows = [row for row in objects(self.export("w.ctprof.zst", "ndjson")) if row["entity"] == "thread"]
        window = next(line for line in constructed_files.lines_of("w.ctprof.zst") if line["kind"] == "window")
        self.assertEqual(sum(not row["ended"] for row in rows), window["living"])
        self.assertTrue(all(400e6 < row["window_ns"] < 5e9 for row in rows))

    def test_sums_of_long_form(self):
        constructed_files.capture("a.ctprof.zst")
        wide = {row["id"]: row for row in objects(self.export("a.ctprof.zst", "ndjson")) if row["entity"] == "thread"}
        for form in FORMATS:
            out = self.export("a.ctprof.zst", form, "--rows", "long,threads")
            found = self.query(f"SELECT metric, sum(exact::UBIGINT), sum(value::DOUBLE), count(gap), count(*) FROM {self.source(out, 'thread')} GROUP BY metric").fetchall()
            self.assertGreater(len(found), 60)
            for metric, exact, value, gaps, rows in found:
                cells = [row[metric] for row in wide.values()]
                self.assertEqual(rows, len(cells))
                self.assertEqual(gaps, sum(cell is None for cell in cells), metric)
                numbers = [cell for cell in cells if isinstance(cell, (int, float))]
                if numbers and all(number >= 0 for number in numbers):
                    self.assertEqual(int(exact), sum(numbers), f"{form}: {metric}")
                    self.assertAlmostEqual(value, float(sum(numbers)), delta=abs(value) * 1e-9 + 1e-9)


class Cells(Tables):
    """Gaps, limits, large numbers, maps."""

    def large(self):
        """Writes a file in which one thread has a run time of 2^64-2, one has none, and a cgroup has no limit."""
        lines = constructed_files.capture("a.ctprof.zst")
        threads, cgroups = constructed_files.tables(lines, "thread")[0]["columns"], constructed_files.tables(lines, "cgroup")[0]["columns"]
        threads["run_time_ns"][0], threads["run_time_ns"][2] = UNLIMITED - 1, (1 << 53) + 1
        bound = next(row for row, most in enumerate(cgroups["cgroup.memory.max"]) if most is not None)
        cgroups["cgroup.memory.max"][bound] = UNLIMITED
        constructed_files.write("large.ctprof.zst", lines)
        return threads, cgroups

    @needs_duckdb
    def test_large_numbers_survive(self):
        threads, cgroups = self.large()
        for form in FORMATS:
            source = self.source(self.export("large.ctprof.zst", form), "thread")
            found = dict(self.query(f"SELECT tid::UBIGINT, run_time_ns::UBIGINT FROM {source}").fetchall())
            self.assertEqual(found, dict(zip(threads["tid"], threads["run_time_ns"])), form)
            source = self.source(self.export("large.ctprof.zst", form, "--rows", "cgroups"), "cgroup")
            found = dict(self.query(f'SELECT "cgroup.path", "cgroup.memory.max"::UBIGINT FROM {source}').fetchall())
            self.assertEqual(found, dict(zip(cgroups["cgroup.path"], cgroups["cgroup.memory.max"])), form)
            self.assertIn(UNLIMITED, found.values())
            source = self.source(self.export("large.ctprof.zst", form, "--rows", "long"), "thread")
            found = self.query(f"SELECT max(exact::UBIGINT) FROM {source} WHERE metric = 'run_time_ns'").fetchall()
            self.assertEqual(found, [(UNLIMITED - 1,)], form)

    @needs_pandas
    def test_large_numbers_survive_pandas(self):
        threads, _ = self.large()
        expected = dict(zip(threads["tid"], threads["run_time_ns"]))
        frame = pandas.read_csv(self.export("large.ctprof.zst", "csv"), dtype={"run_time_ns": "UInt64"}, keep_default_na=False, na_values=[""])
        self.assertEqual(dict(zip(frame["tid"], frame["run_time_ns"])), expected)
        if duckdb:
            frame = pandas.read_parquet(self.export("large.ctprof.zst", "parquet"), dtype_backend="pyarrow")
            self.assertEqual(dict(zip(frame["tid"], frame["run_time_ns"])), expected)

    @needs_duckdb
    def test_gaps_are_null(self):
        constructed_files.capture("a.ctprof.zst")
        lines = constructed_files.lines_of("a.ctprof.zst")
        columns = constructed_files.tables(lines, "thread")[0]["columns"]
        for form in FORMATS:
            source = self.source(self.export("a.ctprof.zst", form), "thread")
            some = False
            for metric, values in columns.items():
                if metric == "read_at":
                    continue
                found = self.query(f'SELECT count(*) - count("{metric}") FROM {source}').fetchall()[0][0]
                self.assertEqual(found, sum(value is None for value in values), f"{form}: {metric}")
                some |= found > 0
            self.assertTrue(some, "the capture has gaps")
            nan = self.query(f"SELECT * EXCLUDE (captured_at) FROM {source}").fetchall()
            self.assertFalse([cell for row in nan for cell in row if isinstance(cell, float) and not math.isfinite(cell)])
        for form in ("ndjson", "csv"):
            with open(self.export("a.ctprof.zst", form), encoding="utf-8") as file:
                self.assertNotRegex(file.read(), r"(?i)[:,](nan|inf|-inf|infinity)\b")

    def test_long_form_names_gaps(self):
        constructed_files.capture("a.ctprof.zst")
        rows = objects(self.export("a.ctprof.zst", "ndjson", "--rows", "long"))
        self.assertEqual(list(rows[0]), [*COMMON_FIELDS, "metric", "key", "value", "exact", "text", "raw", "gap"])
        names = constructed_files.lines_of("a.ctprof.zst")[0]["gap_names"]
        for row in rows:
            filled = [row["value"] is not None, row["text"] is not None, row["gap"] is not None]
            self.assertEqual(sum(filled), 1, row)
            self.assertIn(row["gap"], [None, *names[1:]])
        self.assertEqual({row["entity"] for row in rows}, {"thread", "process", "cgroup", "host"})
        keys = {row["key"] for row in rows if row["metric"] == "cgroup.memory.stat"}
        self.assertIn("anon", keys)

    @needs_duckdb
    def test_parquet_is_typed(self):
        moment = constructed_files.capture("a.ctprof.zst")[0]["ctprof"]["start"]["wall_unix_ns"]
        kinds = dict(row[:2] for row in self.query(f"DESCRIBE SELECT * FROM '{self.export('a.ctprof.zst', 'parquet')}'").fetchall())
        self.assertEqual([kinds[name] for name in ("captured_at", "window_ns", "born", "tid", "pcomm", "nice", "cpu_affinity", "raw")],
                         ["TIMESTAMPTZ_NS", "UBIGINT", "BOOLEAN", "UBIGINT", "VARCHAR", "BIGINT", "VARCHAR", "MAP(VARCHAR, VARCHAR)"])
        times_by_zone = [self.query(f"SET TimeZone = '{zone}'; SELECT DISTINCT epoch_us(captured_at::TIMESTAMPTZ) FROM 'a.ctprof.zst.parquet'").fetchall() for zone in ("Asia/Tokyo", "UTC")]
        self.assertEqual(times_by_zone[0], times_by_zone[1])
        (time,), = times_by_zone[0]  # DuckDB may round to microseconds
        self.assertLess(abs(1000 * time - moment), 1000)
        out = self.export("a.ctprof.zst", "parquet", "--rows", "cgroups")
        kinds = dict(row[:2] for row in self.query(f"DESCRIBE SELECT * FROM '{out}'").fetchall())
        self.assertEqual(kinds["cgroup.memory.stat"], "MAP(VARCHAR, UBIGINT)")
        packed = {row[0] for row in self.query(f"SELECT compression FROM parquet_metadata('{out}')").fetchall()}
        self.assertEqual(packed, {"ZSTD"})

    def test_times_are_utc_to_the_nanosecond(self):
        lines = constructed_files.capture("a.ctprof.zst")
        moment = lines[0]["ctprof"]["start"]["wall_unix_ns"]
        text = objects(self.export("a.ctprof.zst", "ndjson"))[0]["captured_at"]
        whole = datetime.datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.timezone.utc)
        self.assertEqual(int(whole.timestamp()) * 10**9 + int(text[20:29]), moment)
        self.assertTrue(text.endswith("Z"))
        for form in FORMATS if duckdb else ():
            source = self.source(self.export("a.ctprof.zst", form), "thread").replace("newline_delimited'", "newline_delimited', columns = {captured_at: 'VARCHAR', entity: 'VARCHAR'}")
            self.assertEqual(self.query(f"SELECT DISTINCT epoch_ns(captured_at::TIMESTAMP_NS) FROM {source}").fetchall(), [(moment,)], form)
        if pandas:
            self.assertEqual(pandas.to_datetime(text).value, moment)
        if chdb:
            self.assertEqual(chdb.query(f"SELECT toUnixTimestamp64Nano(parseDateTime64BestEffort('{text}', 9, 'UTC'))").data().strip().strip('"'), str(moment))


@needs_duckdb
class Names(Tables):
    """Names are unchanged after quoting and escaping."""

    def hostile_file(self, names):
        constructed_files.hostile("hostile.ctprof.zst", names)
        finished = harness.run("show", "-q", "hostile.ctprof.zst", "--format", "json")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        columns = constructed_files.tables(constructed_files.lines_of("hostile.ctprof.zst"), "thread")[0]["columns"]
        return dict(zip(columns["tid"], columns["comm"]))

    def check(self, names):
        expected = self.hostile_file(names)
        for form in FORMATS:
            out = self.export("hostile.ctprof.zst", form)
            found = dict(self.query(f"SELECT tid::UBIGINT, comm FROM {self.source(out, 'thread')}").fetchall())
            self.assertEqual(found, expected, form)
        with open(self.export("hostile.ctprof.zst", "csv"), encoding="utf-8", newline="") as file:
            self.assertEqual({int(row["tid"]): row["comm"] for row in csv.DictReader(file)}, expected)
        self.assertEqual({row["tid"]: row["comm"] for row in objects(self.export("hostile.ctprof.zst", "ndjson")) if row["entity"] == "thread"}, expected)
        if pandas:
            frame = pandas.read_csv("hostile.ctprof.zst.csv", dtype={"comm": str}, keep_default_na=False, na_values=[])
            self.assertEqual(dict(zip(frame["tid"], frame["comm"])), expected)
        if chdb:
            output = chdb.query("SELECT tid, comm FROM file('hostile.ctprof.zst.csv', CSVWithNames, 'tid UInt64, comm String') SETTINGS input_format_skip_unknown_fields = 1, "
                              "output_format_json_quote_64bit_integers = 0", "JSONEachRow").data()
            self.assertEqual({row["tid"]: row["comm"] for row in map(json.loads, output.splitlines())}, expected)

    def test_hostile_names(self):
        for start in range(0, len(HOSTILE), 8):
            self.check(HOSTILE[start:start + 8])

    def test_random_names(self):
        rng = random.Random(20)
        letters = [chr(code) for code in range(1, 128)] + list(",\"'\n\r\t\\{}[]:;|#") * 4 + ["é", "\u2029", "\ufeff", "\U0001f4a9", "\u0301"]
        for _ in range(3):
            self.check(["".join(rng.choice(letters) for _ in range(rng.randrange(0, 12))) for _ in range(24)])

    def test_names_that_are_not_utf8(self):
        """A thread of this tree has such a name."""
        constructed_files.capture("a.ctprof.zst")
        rows = {row["tid"]: row for row in objects(self.export("a.ctprof.zst", "ndjson")) if row["entity"] == "thread"}
        self.assertEqual((rows[180]["comm"], rows[180]["raw"]), ("é\ufffd", {"comm": "c3a9ff"}))
        self.assertEqual([tid for tid, row in rows.items() if row["raw"] is not None], [180])
        raw_rows = [row for row in objects(self.export("a.ctprof.zst", "ndjson", "--rows", "long,threads")) if row["raw"] is not None]
        self.assertEqual([(row["metric"], row["text"], row["raw"]) for row in raw_rows], [("comm", "é\ufffd", "c3a9ff")])
        self.assertEqual(self.query(f"SELECT raw['comm'] FROM '{self.export('a.ctprof.zst', 'parquet')}' WHERE tid = 180").fetchall(), [("c3a9ff",)])

    def test_metrics_with_similar_names(self):
        lines = constructed_files.capture("a.ctprof.zst")
        known = lines[0]["registry"]["metrics"]
        similar = ["MINFLT", "raw", "metric.raw", "Capture", "q\"'),"]
        for name in similar:
            known.append({**next(metric for metric in known if metric["name"] == "minflt"), "name": name})
            for table in constructed_files.tables(lines, "thread"):
                table["columns"][name] = [7] * len(table["columns"]["tid"])
        constructed_files.write("similar.ctprof.zst", lines)
        with open(self.export("similar.ctprof.zst", "ndjson", "--rows", "threads"), encoding="utf-8") as file:
            pairs = json.loads(file.readline(), object_pairs_hook=lambda pairs: pairs)
        names = [name for name, _ in pairs]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({"MINFLT", "metric.raw", "metric.metric.raw", "Capture", "q\"'),"}, set(names))
        if duckdb:
            out = self.export("similar.ctprof.zst", "parquet", "--rows", "threads")
            found = self.query(f"SELECT DISTINCT \"metric.raw\", \"metric.metric.raw\", count(minflt) > 0 FROM '{out}' GROUP BY ALL").fetchall()
            self.assertEqual(found, [(7, 7, True)])

    def test_keys_of_maps_are_text(self):
        self.hostile_file(HOSTILE[:12])
        row = next(row for row in objects(self.export("hostile.ctprof.zst", "ndjson")) if row["entity"] == "cgroup")
        out = self.export("hostile.ctprof.zst", "parquet", "--rows", "cgroups")
        (found,) = self.query(f"SELECT \"cgroup.memory.stat\" FROM '{out}' WHERE id = $${row['id']}$$").fetchall()[0]
        self.assertEqual(found, row["cgroup.memory.stat"])
        self.assertGreater(len(found), 8)


class Captures(Tables):
    """Several captures, and damaged ones."""

    def windows(self):
        finished = harness.run("record", "-q", "-d", "300ms", "--repeat", "2", "-o", "runs")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return sorted(os.listdir("runs"))

    def test_directory(self):
        files = self.windows()
        rows = objects(self.export("runs", "ndjson"))
        self.assertEqual(len({row["capture"] for row in rows}), 2)
        each = [objects(self.export(f"runs/{name}", "ndjson")) for name in files]
        self.assertEqual([{key: row[key] for key in (*COMMON_FIELDS, "tid")} for row in rows if row["entity"] == "thread"],
                         [{key: row[key] for key in (*COMMON_FIELDS, "tid")} for part in each for row in part if row["entity"] == "thread"])

    def test_reports_damaged_and_duplicate_files_of_directory(self):
        first, second = self.windows()
        with open(f"runs/{second}", "r+b") as file:
            file.truncate(os.path.getsize(f"runs/{second}") // 2)
        subprocess.run(["cp", f"runs/{first}", "runs/zz.ctprof.zst"], check=True)
        finished = harness.run("export", "runs", "--to", "ndjson", "-o", "out.ndjson")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(len({row["capture"] for row in objects("out.ndjson")}), 1)
        self.assertRegex(finished.stderr, rf"(?m)^ctprof: reading '.*{second}'.*; it is left out$")
        self.assertRegex(finished.stderr, r"(?m)^ctprof: capture .* is a duplicate; it is skipped$")

    def test_file_with_several_captures(self):
        constructed_files.capture("a.ctprof.zst")
        constructed_files.capture("b.ctprof.zst", "6.12")
        with open("two.ctprof.zst", "wb") as two:
            for name in ("a", "b"):
                with open(f"{name}.ctprof.zst", "rb") as one:
                    two.write(one.read())
        a, b, two = (objects(self.export(f"{name}.ctprof.zst", "ndjson", "--rows", "threads")) for name in ("a", "b", "two"))
        self.assertEqual([row["tid"] for row in two], [row["tid"] for row in a + b])
        second = objects(self.export("two.ctprof.zst#2", "ndjson", "--rows", "threads"))
        self.assertEqual([row["tid"] for row in second], [row["tid"] for row in b])
        with open("two.ctprof.zst", "rb") as file:
            finished = subprocess.run([harness.CTPROF, "export", "-", "--to", "ndjson", "--rows", "threads", "-o", "-"], stdin=file, capture_output=True, check=True)
        self.assertEqual(len(finished.stdout.splitlines()), len(two))

    def test_damaged_file_is_error_without_output(self):
        constructed_files.capture("a.ctprof.zst")
        with open("a.ctprof.zst", "r+b") as file:
            file.seek(os.path.getsize("a.ctprof.zst") // 2)
            file.write(b"\xff" * 64)
        for form in FORMATS + ("prometheus",):
            if form == "parquet" and not duckdb:
                continue
            finished = self.export("a.ctprof.zst", form, status=2)
            self.assertRegex(finished.stderr.splitlines()[-1], r"^ctprof: reading 'a\.ctprof\.zst': ")
            self.assertFalse(os.path.exists(f"a.ctprof.zst.{form}"))

    def test_redacts_captures_consistently(self):
        self.windows()
        rows = objects(self.export("runs", "ndjson", "--redact"))
        names = [{row["pcomm"] for row in rows if row["capture"] == capture and row["entity"] == "thread"} for capture in {row["capture"] for row in rows}]
        self.assertEqual(len(names), 2)
        self.assertGreater(len(names[0] & names[1]), 3, "the same names in both")
        self.assertNotIn("systemd", names[0] | names[1])

    def test_some_metrics(self):
        constructed_files.capture("a.ctprof.zst")
        row = objects(self.export("a.ctprof.zst", "ndjson", "--metrics", "run_time_ns", "--rows", "threads"))[0]
        self.assertIn("run_time_ns", row)
        self.assertIn("pcomm", row)
        self.assertNotIn("wait_time_ns", row)
        finished = self.export("a.ctprof.zst", "csv", "--metrics", "run_time", status=2)
        self.assertIn("did you mean 'run_time_ns'?", finished.stderr)

    def test_rejects_invalid_option_combinations(self):
        constructed_files.capture("a.ctprof.zst")
        for words, message in ((("csv", "--rows", "threads,cgroups"), "holds one table"), (("csv", "--rows", "rows"), "invalid --rows 'rows'"), (("ktstr", "--rows", "long"), "--rows requires --to ndjson"),
                            (("folded", "--metrics", "run_time_ns"), "--metrics requires --to with one of"), (("ndjson", "--listen", "1"), "--listen requires --to prometheus")):
            finished = harness.run("export", "a.ctprof.zst", "--to", *words, "-o", "x")
            self.assertEqual(finished.returncode, 2, words)
            self.assertIn(message, finished.stderr)
            self.assertEqual(len(finished.stderr.splitlines()), 1)


class Python(Tables):
    """Without Python or DuckDB, a message states how to install it."""

    def test_missing_python_or_duckdb(self):
        constructed_files.capture("a.ctprof.zst")
        for path, message in (("/nowhere", "PATH has no python3"), (None, "/bin/pip install duckdb")):
            environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            if path:
                environment["PATH"] = path
            else:
                os.mkdir("bin")
                os.symlink("/usr/bin/python3", "bin/python3")
                environment["PATH"] = os.path.realpath("bin") + ":/usr/bin:/bin"
                if subprocess.run(["python3", "-c", "import duckdb"], env=environment, capture_output=True, check=False).returncode == 0:
                    self.skipTest("the system's Python has DuckDB")
                with open("duckdb.py", "w", encoding="utf-8") as file:
                    file.write("raise SystemExit(3)\n")
            finished = subprocess.run([harness.CTPROF, "export", "a.ctprof.zst", "--to", "parquet", "-o", "x.parquet"], env=environment, capture_output=True, text=True, check=False)
            self.assertEqual(finished.returncode, 2, finished.stderr)
            self.assertIn(message, finished.stderr)
            self.assertFalse(os.path.exists("x.parquet"))


if __name__ == "__main__":
    main_with_duckdb()
