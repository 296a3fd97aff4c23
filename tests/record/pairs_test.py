#!/usr/bin/python3
"""Combines each recorder, and all of them together, with every feature that reads their files: fleet indexes, archives, redaction, tables, HTML pages,
flame graphs, later symbolization, comparisons of several runs, and `live`. No command fails, and all report the same weights of stacks.

Environment: CTPROF. The same with a synthetic file: tests/cli/pairs.case.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import recording  # noqa: E402
from pager_test import OnTerminal  # noqa: E402
from recording import harness, run, wait_for  # noqa: E402

RECORDERS = recording.STACK_METRICS
SETS = [*([name] for name in RECORDERS), list(RECORDERS)]
# Processes that compute, wait for a pipe and sleep, and exit.
COMMAND = ["sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; echo x | cat; sleep 0.3"]


def ctprof(*words, stdin=None, statuses=(0,)):
    finished = subprocess.run([harness.CTPROF, *map(str, words)], input=stdin, capture_output=True, timeout=recording.TIMEOUT, check=False)
    assert finished.returncode in statuses, f"{words}: {finished.returncode}\n{finished.stderr.decode()}"
    assert b"internal error of ctprof" not in finished.stderr, finished.stderr.decode()
    return finished.stdout.decode("utf-8", "surrogateescape")


def totals_by_index(*paths):
    """Returns the totals of `fleet read` for each file: metric -> total."""
    lines = [json.loads(line) for line in ctprof("fleet", "read", stdin=b"".join(os.fsencode(path) + b"\0" for path in paths)).splitlines()]
    metrics = {line["registry"]: [metric["name"] for metric in line["metrics"]] for line in lines if "metrics" in line}
    captures = [line for line in lines if "totals" in line]
    assert len(captures) >= len(paths), lines
    return [dict(zip(metrics[line["registry"]], line["totals"], strict=True)) for line in captures]


def folded_total(path, metric):
    return sum(int(line.rpartition(" ")[2]) for line in ctprof("export", "-q", path, "--to", "folded", "--metric", metric, "-o", "-").splitlines())


def shown_total(path, metric, *words):
    report = json.loads(ctprof("show", path, "--metrics", metric, "--format", "json", *words))
    return sum(row["value"] or 0 for row in report["rows"])


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Pairs(unittest.TestCase):
    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.place = pathlib.Path(scratch.name)

    def run_with_each_set(self, test):
        for recorders in SETS:
            with self.subTest(recorders=recorders):
                place = self.place / "+".join(recorders)
                place.mkdir()
                test(place, recorders, ["--recorders", ",".join(recorders)])

    def record(self, *words):
        finished = run("-q", *words)
        self.assertEqual(finished.returncode, 0, finished.stderr)

    def one_window(self, place, options):
        path = place / "one.ctprof.zst"
        self.record("-o", path, *options, "--", *COMMAND)
        return path

    def check_readers(self, path, place):
        for number, words in enumerate([["show", path], ["show", path, "--details"], ["show", path, "--format", "csv"], ["compare", path, path],
                                        ["compare", path, "--lifetime"]]):
            ctprof(*words)
            self.assertTrue(path.exists(), number)
        ctprof("report", "-q", path, "-o", place / "page.html", "--force")
        ctprof("flame", "-q", path, "-o", place / "flame.svg", "--force")
        ctprof("symbolize", "-q", path, "-o", place / "named.ctprof.zst", "--force")
        for form in ("ndjson", "csv", "prometheus", "pprof", "speedscope", "perfetto", "columns", "ktstr"):
            ctprof("export", "-q", path, "--to", form, "-o", place / "out", "--force")
            (place / "out").unlink()

    def test_one_window(self):
        def check(place, recorders, options):
            path = self.one_window(place, options)
            self.check_readers(path, place)
            [totals] = totals_by_index(path)
            for name in recorders:
                metric = RECORDERS[name]
                self.assertEqual(folded_total(path, metric), shown_total(path, metric))
                self.assertEqual(totals[metric], shown_total(path, metric))
                self.assertGreater(totals[metric], 0)
        self.run_with_each_set(check)

    def test_redacted(self):
        def check(place, recorders, options):
            path, redacted = self.one_window(place, options), place / "redacted.ctprof.zst"
            ctprof("export", "-q", path, "--redact", "-o", redacted)
            self.check_readers(redacted, place)
            for name in recorders:
                self.assertEqual(folded_total(redacted, RECORDERS[name]), folded_total(path, RECORDERS[name]))
            self.assertEqual(totals_by_index(redacted)[0][RECORDERS[recorders[0]]], totals_by_index(path)[0][RECORDERS[recorders[0]]])
        self.run_with_each_set(check)

    def test_several_runs(self):
        def check(place, recorders, options):
            runs, turns = place / "runs", place / "turns"
            self.record("-d", "300ms", "--repeat", "4", "-o", runs, *options)
            self.record("-d", "200ms", "--interleave", "true", "true", "--repeat", "2", "-o", turns, *options)
            files = sorted(runs.iterdir())
            self.assertEqual(len(totals_by_index(*files)), 4)
            for words in [["show", runs], ["compare", runs, "--vs", runs], ["compare", turns, "--details"], ["noise", runs],
                          ["compare", files[0], "--vs", *files[1:]]]:
                ctprof(*words)
            ctprof("report", "-q", turns, "-o", place / "page.html")
            ctprof("flame", "-q", turns, "-o", place / "flame.svg")
            rows = ctprof("export", "-q", turns, "--to", "csv", "--rows", "host", "-o", "-").splitlines()
            self.assertEqual(len({row.partition(",")[0] for row in rows[1:]}), 4)
        self.run_with_each_set(check)

    def test_an_archive(self):
        def check(place, recorders, options):
            log, index = place / "log", place / "log" / "index.tsv"
            with recording.Recorder("--every", "1s", "-o", log, *options) as recorder:
                self.assertTrue(wait_for(lambda: index.exists() and index.read_text().count("\n") >= 2, 120))
                recorder.signal(signal.SIGTERM)
                status, messages = recorder.finish()
            self.assertEqual(status, 0, messages)
            totals = totals_by_index(*sorted(log.glob("*.zst")))
            self.assertEqual(len(totals), index.read_text().count("\n"))
            for words in (["show", log], ["compare", log, log], ["report", "-q", log, "-o", place / "page.html"]):
                ctprof(*words)
            one = place / "whole.ctprof.zst"
            ctprof("export", "-q", log, "--to", "columns", "-o", one, statuses=(0, 2))
            if not one.exists():
                self.skipTest("this host was too busy for windows back to back")
            self.check_readers(one, place)
            for name in recorders:
                self.assertEqual(folded_total(one, RECORDERS[name]), sum(each[RECORDERS[name]] for each in totals))
        self.run_with_each_set(check)

    def test_live(self):
        def check(place, recorders, options):
            with OnTerminal("live", *options) as screen:
                self.assertTrue(screen.read_until(lambda text: "CPU" in text and "%" in text), screen.text)
                for key in (b"\r", b"\r", b"s", b"q"):
                    screen.press(key)
                screen.press(b"q")
                screen.read_until(lambda _: screen.process.poll() is not None, 60)
                self.assertEqual(screen.process.wait(harness.TIMEOUT), 0, screen.text)
        self.run_with_each_set(check)


if __name__ == "__main__":
    harness.main()
