"""The internal subcommands: figures of captures equal those of `show --details`, statistics equal those of `compare`, expressions become
trees; and damaged, foreign and missing files are reported in one line each."""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(os.environ["RECORDED"]).parent))
import recorded  # noqa: E402

CTPROF, MAKE_FLEET, RECORDED = (os.environ[name] for name in ("CTPROF", "MAKE_FLEET", "RECORDED"))


def ctprof(*words, stdin=b""):
    return subprocess.run([CTPROF, *words], input=stdin, capture_output=True, check=False)


def lines_of(run):
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def read(paths, *options):
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    return lines_of(ctprof("fleet", "read", *options, stdin=stdin))


def captures_in(lines):
    """Returns the captures with their totals by name."""
    defined = {line["registry"]: line["metrics"] for line in lines if "metrics" in line}
    return [line | {"totals": totals_by_name(line, defined[line["registry"]])} for line in lines if "capture" in line]


def totals_by_name(line, metrics):
    totals = {metric["name"]: total for metric, total in zip(metrics, line["totals"], strict=True)}
    assert line["headlines"] == [totals[metric["name"]] for metric in metrics if metric["headline"]]
    return totals


def unpack(kind, into):
    recorded.unpack(pathlib.Path(RECORDED) / f"{kind}.tar.xz", into)
    return into


def read_shown_rows(path, *options):
    """Returns the rows of show --details, by metric and group."""
    report = json.loads(ctprof("show", str(path), "--details", "--format", "json", *options).stdout)
    return {(row["metric"], row["group"]): row for row in report["rows"]}


def resolution(definition, seconds):
    """Returns the smallest difference of two figures that compare assumes."""
    if definition.get("derived"):
        return 0
    counts_up = definition.get("adds_up")
    unit = {"ns": 1000, "bytes": 1 if counts_up else 4096}.get(definition.get("unit"), 1)
    return unit / seconds if counts_up else unit


class Test(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="fleet-plumbing-")
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)

    def window(self):
        """Returns the file of one recorded run."""
        return sorted((unpack("work", self.place / "work") / "a").iterdir())[0]

    def fleet(self, hosts, *options):
        subprocess.run([MAKE_FLEET, self.window(), "--hosts", str(hosts), "--threads", "30:80", "-o", self.place / "fleet", *options], check=True)
        return sorted((self.place / "fleet").iterdir())


class Figures(Test):
    def check(self, path):
        lines = read([path])
        metrics = {metric["name"]: metric for metric in next(line for line in lines if "metrics" in line)["metrics"]}
        [line] = captures_in(lines)
        rows = read_shown_rows(path)
        checked = 0
        for name, total in line["totals"].items():
            parts = [row["value"] for (metric, _), row in rows.items() if metric == name and isinstance(row["value"], (int, float))]
            if metrics[name]["derived"] or metrics[name]["entity"] == "cgroup":
                continue
            if metrics[name]["is_sum"] or metrics[name]["entity"] == "host":
                self.assertEqual(total, sum(parts) if parts else None, name)
            elif "Max" in metrics[name]["rule"]:
                self.assertEqual(total, max(parts, default=None), name)
            else:
                continue
            checked += total is not None
        self.assertGreater(checked, 5)
        groups = line["groups"]
        self.assertEqual(sorted(groups["group"]), sorted({group for metric, group in rows if metric == "thread_count"}))
        self.assertEqual(line["totals"]["thread_count"], sum(groups["threads"]))
        compared_figures = 0
        for metric in groups.keys() - {"group", "pattern", "threads", "own"}:
            for group, figure in zip(groups["group"], groups[metric]):
                row = rows.get((metric, group), {"value": None, "coverage": {"rows": 0}})
                absent = row["coverage"]["rows"] == 0 and figure == 0
                self.assertTrue(absent or figure == row["value"], (metric, group, figure, row))
                compared_figures += figure is not None and not absent
        self.assertGreater(compared_figures, 20)
        for name, (values, of_rows) in line["coverage"].items():
            self.assertLess(values, of_rows, name)
        return line

    def test_a_recorded_window(self):
        line = self.check(self.window())
        self.assertEqual((line["kind"], line["captures"]), ("window", 1))
        self.assertGreater(line["seconds"], 0.5)

    def test_derived_totals_are_computed_from_totals(self):
        [line] = captures_in(read([self.window()]))
        parts = [line["totals"][name] for name in ("run_time_ns", "wait_time_ns")]
        self.assertAlmostEqual(line["totals"]["cpu_efficiency"], parts[0] / sum(parts), places=12)

    def test_simulated_hosts(self):
        for path in self.fleet(3):
            self.check(path)

    def test_other_axes(self):
        path = self.window()
        for axis in ("comm", "cgroup", "pid"):
            rows = read_shown_rows(path, "--group-by", axis)
            [line] = captures_in(read([path], "--group-by", axis))
            self.assertEqual(sorted(line["groups"]["group"]), sorted({group for metric, group in rows if metric == "thread_count"}))
        self.assertEqual(ctprof("fleet", "read", "--group-by", "nothing.text", stdin=os.fsencode(path) + b"\0").returncode, 0)

    def test_a_snapshot_of_this_host(self):
        path = self.place / "now.ctprof.zst"
        self.assertEqual(ctprof("capture", "-q", "--level", "fast", "--layout", "columns", "-o", str(path)).returncode, 0)
        line = self.check(path)
        self.assertEqual((line["kind"], line["seconds"]), ("snapshot", None))
        self.assertEqual(line["facts"]["kernel_release"], os.uname().release)
        self.assertEqual(line["opened_at_ns"], line["captured_at_ns"])

    def test_reads_the_rows_layout(self):
        path = self.place / "rows.ctprof.zst"
        self.assertEqual(ctprof("capture", "-q", "--level", "fast", "-o", str(path)).returncode, 0)
        self.check(path)

    def test_jobs_do_not_change_the_output(self):
        paths = self.fleet(6)
        self.assertEqual(len([line for line in read(paths) if "metrics" in line]), 1)
        one, two = (sorted(map(json.dumps, captures_in(read(paths, "--jobs", jobs)))) for jobs in ("1", "2"))
        self.assertEqual(one, two)

    def test_make_fleet_applies_shifts(self):
        plain = self.fleet(2, "--kernel", "6.1=1")
        before = captures_in(read(plain, "--jobs", "1"))
        shifted = self.fleet(2, "--kernel", "6.1=1", "--shift", "run_time_ns=1.5@6.1")
        for was, line in zip(before, captures_in(read(shifted, "--jobs", "1"))):
            self.assertEqual(line["facts"]["kernel_release"], "6.1")
            self.assertAlmostEqual(line["totals"]["run_time_ns"] / was["totals"]["run_time_ns"], 1.5, places=3)
            self.assertEqual(line["totals"]["voluntary_csw"], was["totals"]["voluntary_csw"])


class Files(Test):
    def lines_about(self, lines, index):
        mine = [line for line in lines if line.get("index") == index]
        self.assertTrue(mine[-1].get("done"), mine)
        return mine[:-1]

    def test_reports_unreadable_files(self):
        good = self.window()
        data = good.read_bytes()
        bad = {
            "cut": (data[:-20], "it is truncated"),
            "damaged": (data[:400] + b"\0\1\2\3" + data[404:], "reading"),
            "foreign": (b"#!/bin/sh\n", "it is not a ctprof file"),
            "empty": (b"", "empty"),
        }
        for name, (content, _) in bad.items():
            (self.place / name).write_bytes(content)
        newer = subprocess.run(["zstd", "-q"], input=b'{"kind":"header","format":99}\n', capture_output=True, check=True).stdout
        (self.place / "newer").write_bytes(newer)
        os.mkfifo(self.place / "pipe")
        sentences = {**{name: why for name, (_, why) in bad.items()}, "newer": "", "gone": "No such file", "pipe": "not a regular file", ".": "not a regular file"}
        if os.geteuid() != 0:
            (self.place / "closed").write_bytes(data)
            (self.place / "closed").chmod(0)
            sentences["closed"] = "Permission denied"
        names = list(sentences)
        lines = read([*(self.place / name for name in names), good])
        for index, name in enumerate(names):
            [line] = self.lines_about(lines, index)
            self.assertIn(sentences[name], line["error"])
            self.assertIn(str(self.place), line["file"])
        self.assertEqual(len(self.lines_about(lines, len(names))), 1)
        self.assertEqual(len(captures_in(lines)), 1)

    def test_file_with_several_captures_and_a_truncated_one(self):
        runs = sorted((unpack("work", self.place / "work") / "a").iterdir())[:2]
        data = [run.read_bytes() for run in runs]
        both, torn = self.place / "both", self.place / "torn"
        both.write_bytes(b"".join(data))
        torn.write_bytes(b"".join(data)[:-30])
        lines = read([both, torn, *runs])
        whole = [line for line in captures_in(lines) if line["index"] == 0]
        self.assertEqual([(line["capture"], line["captures"]) for line in whole], [(1, 2), (2, 2)])
        for line, alone in zip(whole, (next(line for line in captures_in(lines) if line["index"] == index) for index in (2, 3))):
            self.assertEqual(line["totals"], alone["totals"])
        capture, message = self.lines_about(lines, 1)
        self.assertEqual(capture["captures"], 1)
        self.assertIn("incomplete", message["told"])

    def test_hostile_names(self):
        names = ["\x1b[31m red", "line\nbreak", "quote\"\\", "\u202eright", "<script>", "-", "é#2"]
        paths = [*(os.fsencode(self.place / name) for name in names), os.fsencode(self.place) + b"/\xff\xfe"]
        content = self.window().read_bytes()
        for path in paths:
            with open(path, "wb") as file:
                file.write(content)
        stdin = b"".join(path + b"\0" for path in paths)
        run = ctprof("fleet", "read", stdin=stdin)
        self.assertNotIn(b"\x1b", run.stdout)
        run.stdout.decode("utf-8")
        lines = lines_of(run)
        self.assertEqual(sorted(line["index"] for line in captures_in(lines)), list(range(len(paths))))
        for line in captures_in(lines)[:len(names)]:
            if line["index"] < len(names):
                self.assertEqual(line["file"], str(self.place / names[line["index"]]))

    def test_dash_names_a_file(self):
        (self.place / "-").write_bytes(self.window().read_bytes())
        run = subprocess.run([CTPROF, "fleet", "read"], input=b"-\0", cwd=self.place, capture_output=True, check=True)
        self.assertEqual(len(captures_in(lines_of(run))), 1)

    def test_no_paths(self):
        self.assertEqual(read([]), [])

    def test_closed_pipe_prints_no_error(self):
        stdin = os.fsencode(self.window()) + b"\0"
        with subprocess.Popen([CTPROF, "fleet", "read"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            process.stdin.write(stdin * 200)
            process.stdin.close()
            self.assertEqual(process.stderr.read(), b"")

    def test_errors_are_sentences(self):
        for words, why in ((["--jobs", "0"], b"--jobs"), (["--jobs"], b"missing"), (["--group-by", "nonsense"], b"--group-by"), (["x"], b"takes")):
            run = ctprof("fleet", "read", *words)
            self.assertEqual(run.returncode, 2)
            self.assertIn(why, run.stderr)
            self.assertEqual(run.stderr.count(b"\n"), 1)


def figures_by_row(files, definitions):
    """Returns the rates of groups as a report joins them by pattern, {(group, metric): [rate or None]}, and the headlines."""
    headlines = {metric["name"]: metric for metric in definitions["metrics"] if metric["headline"]}
    patterns, names, own = {}, {}, {}
    for line in files:
        groups = line["groups"]
        for pattern, name, is_own in zip(groups["pattern"], groups["group"], groups["own"]):
            patterns[pattern] = None
            names.setdefault(pattern, set()).add(name)
            own.setdefault(pattern, []).append(is_own)
    called = {pattern: next(iter(found)) if len(found) == 1 else pattern for pattern, found in names.items()}
    rows = {}
    for pattern in patterns:
        if sum(own[pattern]) * 2 > len(own[pattern]):
            continue  # Like compare, excludes a group if most runs mark it as the recorder itself.
        for name, metric in headlines.items():
            figures = []
            for line in files:
                groups = line["groups"]
                if pattern in groups["pattern"]:
                    figure = groups[name][groups["pattern"].index(pattern)]
                else:
                    figure = 0 if (metric["adds_up"] or metric["is_sum"]) and line["totals"][name] is not None else None
                figures.append(figure / line["seconds"] if figure is not None and metric["adds_up"] else figure)
            rows[called[pattern], name] = figures
    return rows, headlines


class Judge(Test):
    def request(self, baseline, candidate, **more):
        return json.dumps({"alpha": 0.05, "min_shift": 0, "baseline": baseline, "candidate": candidate, **more})

    def judge(self, *lines):
        stdin = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        return ctprof("fleet", "judge", stdin=stdin.encode())

    def test_judge_equals_compare(self):
        before = sorted((unpack("work", self.place / "work") / "a").iterdir())
        after = sorted((unpack("equal", self.place / "equal") / "b").iterdir())
        files = [*before, *after]
        lines = read(files)
        captures = sorted(captures_in(lines), key=lambda line: line["index"])
        rows, headlines = figures_by_row(captures, next(line for line in lines if "metrics" in line))
        shortest = min(line["seconds"] for line in captures)
        answers = lines_of(self.judge(self.request(len(before), len(after)),
                                      *({"group": group, "metric": metric, "floor": headlines[metric]["headline"]["floor"],
                                         "resolution": resolution(headlines[metric], shortest),
                                         "entry": headlines[metric]["headline"]["entry"], "figures": figures}
                                        for (group, metric), figures in rows.items())))
        head, judged = answers[0], {(row["group"], row["metric"]): row for row in answers[1:]}
        words = [str(self.place / "work" / "a"), "--vs", str(self.place / "equal" / "b")]
        report = json.loads(ctprof("compare", *words, "--format", "json").stdout)
        columns = [column["metric"] for column in report["screen"]["headlines"]]
        compared = {(row["group"], metric): figures[1] for row in report["screen"]["rows"] for metric, figures in zip(columns, row["figures"])
                    if figures[1]["p"] is not None}
        self.assertGreater(len(compared), 10)
        self.assertTrue(any(figure["proven"] for figure in compared.values()))
        for key, figure in compared.items():
            for part in ("shift", "low", "high", "p"):
                if figure[part] is None:
                    self.assertIsNone(judged[key][part])
                else:
                    self.assertTrue(math.isclose(judged[key][part], figure[part], rel_tol=1e-9, abs_tol=1e-12), (key, part))
            self.assertEqual(judged[key]["proven"], figure["proven"])
        evidence = report["evidence"][0]
        self.assertEqual([head[key] for key in ("rows", "labellings", "all", "smallest_p", "enough_runs")],
                         [evidence[key] for key in ("headline_rows", "labellings", "all_labellings", "smallest_p", "enough_runs")])

    def test_gaps_and_floors(self):
        rows = [{"group": "g", "metric": "m", "floor": 1, "entry": "mean", "figures": [10, 11, 12, 13, None, 20, 21, 22, 23, 24]},
                {"group": "quiet", "metric": "m", "floor": 1, "entry": "mean", "figures": [0.1] * 10},
                {"group": "g", "metric": "level", "floor": 1000, "entry": "group", "figures": [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]},
                {"group": "one side", "metric": "m", "floor": 1, "entry": "mean", "figures": [None] * 5 + [3] * 5}]
        head, *judged = lines_of(self.judge(self.request(5, 5), *rows))
        self.assertEqual([(row["group"], row["metric"]) for row in judged], [("g", "m"), ("g", "level")])
        self.assertEqual([judged[0][key] for key in ("with_baseline", "with_candidate", "baseline", "candidate")], [4, 5, 11.5, 22])
        self.assertTrue(judged[0]["proven"])
        bare = judged[0]["without_floor"]
        self.assertGreater(bare["shift"], judged[0]["shift"])
        least = lambda shift: lines_of(self.judge(self.request(5, 5, min_shift=shift), *rows))[1]["proven"]
        self.assertTrue(least(bare["low"] * 0.999))
        self.assertFalse(least(bare["low"] * 1.001))
        self.assertEqual(head, {"rows": 2, "labellings": 252, "all": True, "smallest_p": 2 / 252, "enough_runs": 4})

    def test_many_hosts(self):
        hosts = [100 + (at * 7919 % 101) for at in range(600)]
        shifted = [figure * 1.1 for figure in hosts[:60]]
        row = {"group": "g", "metric": "m", "floor": 1, "entry": "mean", "figures": hosts + shifted}
        head, row = lines_of(self.judge(self.request(600, 60), row))
        self.assertEqual((head["labellings"], head["all"]), (5000, False))
        self.assertTrue(row["proven"] and row["low"] < 0.1 < row["high"], row)

    def test_errors_are_sentences(self):
        good = {"group": "g", "metric": "m", "floor": 1, "entry": "mean", "figures": [1, 2]}
        for lines, why in (((), "is empty"), (("{",), "not a JSON object"), ((self.request(0, 1),), "baseline"), ((self.request(1, 1, alpha=2),), "alpha"),
                           ((self.request(1, 1), {**good, "figures": [1]}), "2 figures"),
                           ((self.request(1, 1), {**good, "figures": [1, "x"]}), "neither"),
                           ((self.request(1, 1), {**good, "floor": -1}), "floor"), ((self.request(1, 1), {**good, "entry": "x"}), "entry"),
                           ((self.request(1, 1), {**good, "group": 1}), "group"), ((self.request(1, 1), good, good), "twice"),
                           ((self.request(1, 1), " " * 200_000), "long"), ((self.request(10 ** 9, 1),), "baseline")):
            run = self.judge(*lines)
            self.assertEqual(run.returncode, 2, why)
            self.assertIn(why, run.stderr.decode())
            self.assertEqual(run.stderr.count(b"\n"), 1)


class Parse(unittest.TestCase):
    def parse(self, text):
        [tree] = lines_of(ctprof("fleet", "parse", text))
        return tree

    def test_trees(self):
        metric = lambda name, optional=False: {"metric": name, "optional": optional}  # noqa: E731
        self.assertEqual(self.parse("a - b - c"), {"expression": {"op": "-", "of": [metric("a"), metric("b"), metric("c")]},
                                                   "metrics": ["a", "b", "c"]})
        self.assertEqual(self.parse("max(a, b?, 2) / -a"), {"expression": {"op": "/", "of": [
            {"op": "max", "of": [metric("a"), metric("b", True), {"number": 2}]}, {"op": "-", "of": [metric("a")]}]}, "metrics": ["a", "b"]})
        self.assertEqual(self.parse("a - (b - c)")["expression"]["of"][1]["op"], "-")
        self.assertEqual(self.parse("process.smaps_rollup[Rss] * 0.5")["metrics"], ["process.smaps_rollup[Rss]"])

    def test_long_sums_are_flat(self):
        self.assertEqual(len(self.parse("+".join(["a"] * 2000))["expression"]["of"]), 2000)

    def test_errors_are_sentences(self):
        for words, why in ((["a +"], "character 4"), ([""], "character 1"), ([], "one expression"), (["a", "b"], "one expression"),
                           (["a < b"], "operator")):
            run = ctprof("fleet", "parse", *words)
            self.assertEqual(run.returncode, 2)
            self.assertIn(why, run.stderr.decode())


class Help(unittest.TestCase):
    def test_help_needs_no_package(self):
        for words in (["fleet"], ["fleet", "--help"], ["help", "fleet"]):
            finished = ctprof(*words)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            self.assertIn(b"compare --by FACT", finished.stdout)

    def test_options_follow_fleet(self):
        finished = ctprof("-q", "fleet", "rank")
        self.assertEqual(finished.returncode, 2)
        self.assertIn(b"ctprof fleet rank", finished.stderr)


unittest.main()
