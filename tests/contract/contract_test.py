#!/usr/bin/python3
"""Tests how ctprof handles plugins that violate the contract, and what it guarantees to others.

Environment: CTPROF, FIXTURES; BAD_PLUGINS, FROZEN_PLUGIN and EXAMPLE_PLUGINS, the directories of the shared objects.

Tests that compare the cells of other plugins capture a recorded tree; tests of robustness capture this host.
"""

import json
import os
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import file_json  # noqa: E402
import harness  # noqa: E402
from file_json import Gap  # noqa: E402

KERNEL = "6.12"
FAILED = Gap("SourceFailed")

# Plugins that are refused, with words of the reason.
REFUSED = {
    "not_elf": "not an ELF",
    "empty": "not an ELF",
    "cut_short": "it is truncated",
    "undefined_symbol": "undefined symbol: undefined_function",
    "no_symbol": "no symbol 'ctprof_plugin'",
    "another_abi": "ABI 2, this ctprof uses 1",
    "small_plugin": "its table is of size 8",
    "wrong_table_size": "its table states size 4096, but has 152",
    "small_metric": "a metric is of size 16",
    "small_offers": "is of size 4, ",
    "null_collect": "NULL for collect",
    "null_metric": "a metric that is NULL",
    "labels_three": "metric 'labels_three_value' has the labels 'device,direction,queue': a metric has one or two labels",
    "labels_invalid": "has the labels 'Device': the name of a label is at most 32 lower case letters, digits and _, beginning with a letter",
    "labels_reserved": "has the labels 'device,le': key, le, quantile, job and instance are not names of labels",
    "labels_twice": "has the labels 'device,device': the two labels of a metric have different names",
    "labels_of_number": "metric 'labels_of_number_value' has labels, but its newtype 'GaugeCount' is not a map",
    "peak_summed": "a peak does not add up",
    "units_differ": "newtype and rule are about different units",
    "dead_reduced": "a dead counter never changes",
    "category_counted": "a category is a name, not a quantity",
    "unknown_rule": "the rule 'unknown_rule_mean'",
    "invalid_json_for_absent": "has '{]' as the text of a missing value, which is not JSON",
    "wrong_storage": "'wrong_storage_value' stores GaugeCount",
}

# Plugins that are loaded without one of their metrics or derived metrics.
METRIC_REFUSED = {
    "broken_expression": "reading expression 'broken_expression_value +'",
    "mixed_units": "'count' and 'ns' are units that cannot be combined",
    "unknown_input": "reads 'undeclared', which no loaded plugin declares",
    "derived_from_itself": "reads 'derived_from_itself_derived', which is derived itself",
    "claims_file_path": "claims the path 'threads[].run_time_ns'",
    "claims_table": "claims the path 'threads'",
    "clash": "its metric 'run_time_ns' is a thread's MonotonicCount",
    "many_unprefixed": "and 500 more faults like it",
    "unprefixed": "must begin with 'unprefixed_'",
}

# Plugins whose source fails: a check of a cell with the thread's id, and words of the message.
FAILS = {
    "wrong_rows": (lambda cell, tid: cell in (tid, FAILED), "rows of a batch of"),
    "fails_after_half": (lambda cell, tid: cell in (tid, FAILED), "the second half is missing"),
    "leaves_untouched": (lambda cell, tid: cell == FAILED, "without value or reason"),
    "gap_out_of_range": (lambda cell, tid: cell == FAILED, "without value or reason"),
    "row_out_of_range": (lambda cell, tid: cell in (b"astray", FAILED), "put a value into row"),
    "offer_out_of_range": (lambda cell, tid: cell == FAILED, "put a value into offer 1"),
    "put_wrong_kind": (lambda cell, tid: cell == FAILED, "put a string into 'put_wrong_kind_value'"),
    "claims_map": (lambda cell, tid: cell == FAILED, "without value or reason"),
    "claims_text": (lambda cell, tid: cell == FAILED, "without value or reason"),
    "open_worker_fails": (lambda cell, tid: cell == FAILED, "the device is on fire"),
    "tally_out_of_range": (lambda cell, tid: cell in (tid, FAILED), "counted in tally 5"),
    "throws": (lambda cell, tid: cell in (tid, FAILED), "thrown half way"),
    "throws_in_constructor": (lambda cell, tid: cell == FAILED, "an exception without a message"),
}

# Plugins whose sources do not run, or whose results are discarded, with words of the message.
EXCLUDED = {
    "lister_fails": "lost count",
    "lister_commits_too_many": "but the limit is",
}


class Plugins(unittest.TestCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        cls.scratch = harness.scratch()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.without = cls.capture_recorded_tree("without")[1]

    @classmethod
    def plugin_directory(cls, name):
        """Returns a directory that contains only that plugin."""
        plugin_directory = pathlib.Path(cls.scratch.name) / name
        library = plugin_directory / f"{name}.so"
        if not library.exists():
            plugin_directory.mkdir()
            broken = {"not_elf": b"just a text\n", "empty": b"", "cut_short": cls.build_path("sound").read_bytes()[:256]}
            if name in broken:
                library.write_bytes(broken[name])
            else:
                shutil.copy(cls.build_path(name), library)
        return plugin_directory

    @staticmethod
    def build_path(name):
        for variable in ("BAD_PLUGINS", "FROZEN_PLUGIN"):
            if (library := pathlib.Path(os.environ[variable]) / f"{name}.so").exists():
                return library
        raise AssertionError(f"no plugin {name} was built")

    @classmethod
    def capture_with_options(cls, name, *words, before=()):
        """Runs capture, and returns the process and its file."""
        path = os.path.join(cls.scratch.name, f"{name}.ctprof.zst")
        finished = harness.capture(path, *words, before=before)
        return finished, file_json.load(path)

    @classmethod
    def capture_recorded_tree(cls, name, *words, before=()):
        return cls.capture_with_options(name, *words, before=("--rootfs", harness.fixture(KERNEL), *before))

    def capture_with_plugin(self, name):
        return self.capture_recorded_tree(name, before=("--plugin-path", str(self.plugin_directory(name))))

    def assert_one_line(self, name, errors, words):
        """Checks that standard error has one line about the plugin, with its file and the reason."""
        lines = [line for line in errors.splitlines() if f"/{name}.so" in line]
        self.assertEqual(len(lines), 1, f"not exactly one line about {name}:\n{errors}")
        self.assertIn(words, lines[0])

    def assert_other_columns_unchanged(self, file, brought=""):
        """Checks that the file contains the cells of the capture without the plugin, plus columns that begin with `brought`."""
        self.assertEqual(file.faults(), [])
        self.assertEqual(list(file.threads), list(self.without.threads), "other threads")
        for key, row in self.without.threads.items():
            others = {column: cell for column, cell in file.threads[key].items() if not brought or not column.startswith(brought)}
            self.assertEqual(others, row, f"the row of {key}")


class RefusedPlugins(Plugins):
    def test_refused_plugin_is_one_line(self):
        for name, words in REFUSED.items():
            with self.subTest(name):
                finished, file = self.capture_with_plugin(name)
                self.assert_one_line(name, finished.stderr, words)
                self.assert_other_columns_unchanged(file)

    def test_refused_plugin_is_an_error_if_requested(self):
        for name, words in REFUSED.items():
            with self.subTest(name):
                target = os.path.join(self.scratch.name, "never")
                finished = harness.run("--plugin-path", str(self.plugin_directory(name)), f"--plugins={name}", "capture", "-o", target)
                self.assertEqual(finished.returncode, 2)
                self.assertFalse(os.path.exists(target))
                self.assert_one_line(name, finished.stderr, words)

    def test_refused_metric_keeps_its_plugin(self):
        for name, words in METRIC_REFUSED.items():
            with self.subTest(name):
                finished, file = self.capture_with_plugin(name)
                self.assert_one_line(name, finished.stderr, words)
                self.assert_other_columns_unchanged(file, f"{name}_")

    def test_reports_unsupported_parts_and_uses_the_rest(self):
        finished, file = self.capture_with_plugin("newer_abi_parts")
        # Two sources and two metrics, in one line.
        self.assert_one_line("newer_abi_parts", finished.stderr, "which this version of ctprof does not support; and 3 more faults like it")
        self.assert_other_columns_unchanged(file, "newer_abi_parts_")
        for (_, tid), row in file.threads.items():
            self.assertEqual(row["newer_abi_parts_value"], tid)

    def test_keeps_first_of_two_plugins_with_one_name(self):
        finished, file = self.capture_with_plugin("duplicate")
        self.assert_one_line("duplicate", finished.stderr, "'procfs-sched' is already loaded")
        self.assert_other_columns_unchanged(file)

    def test_plugins_and_doctor_report_refusals(self):
        for name, words in {**REFUSED, **METRIC_REFUSED}.items():
            with self.subTest(name):
                for command in ("plugins", "doctor"):
                    finished = harness.run("--plugin-path", str(self.plugin_directory(name)), command)
                    self.assertEqual(finished.returncode, 0, finished.stderr)
                    self.assertIn(f"{name}.so", finished.stdout + finished.stderr)
                    self.assertIn(words, " ".join((finished.stdout + finished.stderr).split()))


class FailingPlugins(Plugins):
    def test_correct_plugin_has_no_fault(self):
        finished, file = self.capture_with_plugin("sound")
        self.assertNotIn("sound.so", finished.stderr)
        self.assert_other_columns_unchanged(file, "sound_")
        for (_, tid), row in file.threads.items():
            self.assertEqual(row["sound_value"], tid)

    def test_failing_source_affects_only_its_cells(self):
        for name, (may_hold, words) in FAILS.items():
            with self.subTest(name):
                finished, file = self.capture_with_plugin(name)
                self.assert_one_line(name, finished.stderr, words)
                self.assert_other_columns_unchanged(file, f"{name}_")
                cells = {tid: row[f"{name}_value"] for (_, tid), row in file.threads.items()}
                self.assertEqual([(tid, cell) for tid, cell in cells.items() if not may_hold(cell, tid)], [])
                self.assertTrue(name in ("wrong_rows", "tally_out_of_range") or FAILED in cells.values())

    def test_keeps_cells_before_a_failure(self):
        for name in ("fails_after_half", "throws"):
            cells = [row[f"{name}_value"] for row in self.capture_with_plugin(name)[1].threads.values()]
            self.assertLess(0, cells.count(FAILED))
            self.assertLess(cells.count(FAILED), len(cells))

    def test_excluded_source_affects_only_its_columns(self):
        for name, words in EXCLUDED.items():
            with self.subTest(name):
                finished, file = self.capture_with_plugin(name)
                self.assert_one_line(name, finished.stderr, words)
                self.assert_other_columns_unchanged(file, f"{name}_")
                if name.startswith("lister_"):
                    self.assertEqual({row[f"{name}_value"] for row in file.threads.values()}, {FAILED})

    def test_reports_both_sources_of_a_cycle(self):
        finished, file = self.capture_with_plugin("read_cycle")
        lines = [line for line in finished.stderr.splitlines() if "/read_cycle.so" in line and "cycle of sources" in line]
        self.assertEqual([sum(half in line for line in lines) for half in ("'hen'", "'egg'")], [1, 1], finished.stderr)
        self.assert_other_columns_unchanged(file, "read_cycle_")

    def test_summary_cannot_replace_a_table(self):
        _, file = self.capture_with_plugin("claims_key")
        self.assert_other_columns_unchanged(file, "claims_key_")

    def test_exception_of_probe_is_the_reason(self):
        finished = harness.run("--plugin-path", str(self.plugin_directory("throws_in_probe")), "plugins", "--format", "json")
        plugin = next(p for p in json.loads(finished.stdout)["plugins"] if p["name"] == "throws_in_probe")
        self.assertIn("thrown while probing", json.dumps(plugin))
        _, file = self.capture_with_plugin("throws_in_probe")
        self.assert_other_columns_unchanged(file, "throws_in_probe_")

    def test_all_bad_plugins_together_on_this_host(self):
        names = [*REFUSED, *METRIC_REFUSED, *FAILS, *EXCLUDED, "read_cycle", "duplicate", "throws_in_probe", "claims_key", "sound"]
        before = [word for name in names for word in ("--plugin-path", str(self.plugin_directory(name)))]
        for jobs in ("1", "4"):
            finished, file = self.capture_with_options(f"host{jobs}", "--jobs", jobs, before=before)
            self.assertEqual(file.faults(), [])
            own = file.threads[(os.getpid(), os.getpid())]
            self.assertEqual(own["sound_value"], os.getpid())
            self.assertIsInstance(own["run_time_ns"], int)
            for name, (_, words) in FAILS.items():
                self.assert_one_line(name, finished.stderr, words)


class SlowPlugins(Plugins):
    """The skew includes the delay of a slow plugin."""

    PAUSE_NS = {"slow_thread": 200_000_000, "slow_process": 300_000_000}

    def capture_with_pause(self, name):
        options = ("--plugin-path", str(self.plugin_directory(name)), f"--plugins=procfs-sched,{name}", "--rootfs", harness.fixture(KERNEL))
        path = os.path.join(self.scratch.name, "slow.ctprof.zst")
        summary = json.loads(harness.run(*options, "capture", "--jobs=1", "-o", path, "--format", "json").stdout)
        line = harness.run(*options, "capture", "--jobs=1", "-o", path).stdout
        return summary, re.search(r", skew ([\d,.]+) ms(?: \(threads ([\d,.]+) ms\))?;", line)

    def test_thread_skew_includes_slow_source(self):
        summary, _ = self.capture_with_pause("slow_thread")
        self.assertGreaterEqual(summary["thread_skew_ns"], self.PAUSE_NS["slow_thread"])

    def test_skew_includes_slow_later_stage(self):
        summary, line = self.capture_with_pause("slow_process")
        self.assertGreaterEqual(summary["skew_ns"] - summary["thread_skew_ns"], self.PAUSE_NS["slow_process"])
        whole, of_threads = (float(figure.replace(",", "")) * 1e6 for figure in line.groups())
        rounded_ns = 100_000
        self.assertGreaterEqual(whole - of_threads, self.PAUSE_NS["slow_process"] - rounded_ns)


class FrozenPlugin(Plugins):
    def capture_frozen(self, *words):
        return self.capture_recorded_tree("frozen", *words, before=("--plugin-path", str(self.plugin_directory("frozen"))))

    def test_plugin_of_abi_1_works(self):
        finished, file = self.capture_frozen()
        self.assertNotIn("frozen", finished.stderr)
        self.assert_other_columns_unchanged(file, "frozen_")
        for (_, tid), row in file.threads.items():
            expected = {
                "frozen_number": tid,
                "frozen_signed": -tid,
                "frozen_text": f"thread {tid}".encode(),
                "frozen_flag": tid % 2 == 1,
                "frozen_set": [0, 2],
                "frozen_map": {"one": 1, "tid": tid},
                "frozen_odd": tid if tid % 2 else Gap("NotApplicable"),
            }
            self.assertEqual({name: row[name] for name in expected}, expected)
        rows = len(file.threads)
        self.assertEqual(file.document["frozen_summary"], {"rows": rows, "inner": {"listed": True, "nothing": None}})

    def test_may_put_values_that_were_not_requested(self):
        _, file = self.capture_frozen("--metrics", "frozen_number")
        self.assertEqual(file.faults(), [])
        self.assertEqual({row["frozen_number"] for row in file.threads.values()}, {tid for _, tid in file.threads})
        self.assertFalse(any("frozen_text" in row for row in file.threads.values()))

    def test_rule_and_derived_metric_work(self):
        _, file = self.capture_frozen()
        path = os.path.join(self.scratch.name, "frozen.ctprof.zst")
        finished = harness.run("--plugin-path", str(self.plugin_directory("frozen")), "show", path, "--format", "json", "--limit", "0")
        shown = [row for row in json.loads(finished.stdout)["rows"] if row["metric"] == "frozen_number"]
        self.assertEqual(sum(row["value"] for row in shown), sum(tid for _, tid in file.threads))
        self.assertIn("frozen_odd_part", {row["metric"] for row in json.loads(finished.stdout)["rows"]})

    def test_reports_sum_of_plugin_rule_as_sum(self):
        """Reports contain the shares of threads and the busiest thread. This requires a boot id, which recorded trees lack."""
        self.capture_with_options("adds_up", "-p", str(os.getpid()), before=("--plugin-path", str(self.plugin_directory("adds_up")), "--plugins", "adds_up"))
        path = os.path.join(self.scratch.name, "adds_up.ctprof.zst")
        report = harness.run("--plugin-path", str(self.plugin_directory("adds_up")), "compare", "--lifetime", path, path, "--format", "json")
        rows = [row for row in json.loads(report.stdout)["rows"] if row["metric"] == "adds_up_value"]
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual((row["delta_alive"], row["delta_new"], row["delta_gone"]), (0, 0, 0))
            self.assertLessEqual(row["busiest_candidate"]["tid"], row["candidate"])

    def test_doctor_lists_it_without_remedy(self):
        finished = harness.run("--plugin-path", str(self.plugin_directory("frozen")), "--rootfs", harness.fixture(KERNEL), "doctor", "--format", "json")
        plugin = next(p for p in json.loads(finished.stdout)["plugins"] if p["name"] == "frozen")
        self.assertEqual((plugin["refused"], plugin["findings"]), (0, []))
        self.assertGreater(plugin["fills"], 0)

    def test_cells_of_every_plugin_are_complete(self):
        """For plugins of ctprof, the examples and the frozen plugin, on each recorded tree and on this host."""
        before = ["--plugin-path", str(self.plugin_directory("frozen")), "--plugin-path", os.environ["EXAMPLE_PLUGINS"]]
        files = [self.capture_with_options("all", before=before)[1]]
        for kernel in harness.kernels():
            files.append(self.capture_with_options(kernel, before=("--rootfs", harness.fixture(kernel), *before))[1])
        for file in files:
            self.assertEqual(file.faults(), [])
            for name in ("example_wchan", "examplec_util_avg", "frozen_number"):
                self.assertTrue(all(name in row for row in file.threads.values()), name)


if __name__ == "__main__":
    harness.main()
