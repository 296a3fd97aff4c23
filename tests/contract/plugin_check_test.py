#!/usr/bin/python3
"""`ctprof plugin check`: one message for each fault of a bad plugin, none for correct plugins.

Environment: CTPROF, FIXTURES, BAD_PLUGINS, EXAMPLE_PLUGINS. Checks use a recorded tree.
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402
import entities_test  # noqa: E402
from contract_test import EXCLUDED, FAILS, KERNEL, METRIC_REFUSED, REFUSED  # noqa: E402

BAD = pathlib.Path(os.environ["BAD_PLUGINS"])
NOT_BUILT = {"not_elf", "empty", "cut_short"}  # contract_test.py makes these
WORDS = {name: words for table in (REFUSED, METRIC_REFUSED) for name, words in table.items() if name not in NOT_BUILT}
WORDS |= {name: words for name, (_, words) in FAILS.items()} | EXCLUDED
WORDS |= {
    "read_cycle": "a cycle of sources that read each other's columns",
    "duplicate": "a plugin named 'procfs-sched' is already loaded",
    "throws_in_probe": "probe fails: thrown while probing",
    "newer_abi_parts": "which this version of ctprof does not support",
    "leaks_descriptors": "it leaks 1 descriptor per capture",
    "leaks_memory": "more bytes of memory after each capture",
    "counts_down": "counter 'counts_down_value' went backwards",
    "is_negative": "a value of 'is_negative_value' is a negative number, stored as unsigned",
    "above_100_percent": "a value of 'above_100_percent_value' is above 100 percent",
    "is_date": "a value of 'is_date_value' is longer than ten years: its unit is not ns, or it is a date",
    "buckets_down": "a bucket of histogram 'buckets_down_value' went backwards",
    "keys_down": "a key of map 'keys_down_value' went backwards",
    "peak_falls": "peak 'peak_falls_value' fell, but it is the largest value so far",
    "leaks_threads": "it leaks 1 thread per capture",
    "leaks_mappings": "it maps 1048576 more bytes of memory in each capture",
    "leaks_blocks": "more bytes of memory after each capture",
    "handles_signal": "it changes the action of signal 10, which belongs to ctprof",
    "starts_timer": "it starts a timer that sends signals to ctprof",
    "changes_environment": "it changes the environment of the process, which other threads read",
    "changes_limit": "it changes a resource limit of the process (number 3 of setrlimit)",
    "closes_descriptor": "it closes descriptor 0, which it did not open",
    "executes_program": "it ends ctprof with status 0",
    "prints_warning": "it prints: a warning of a plugin",
    "blocks": "source 'blocks' blocks: in each capture it waits for more than a second",
    "exhausts_descriptors": "descriptors open",
}
WORDS |= entities_test.REFUSED | entities_test.SOURCE_REFUSED | entities_test.FAILS
# Plugins of the same directory in which `plugin check` finds no fault.
HARMLESS = {
    "sound", "adds_up", "histogram", "labels", "entity_sound", "misbehaving",
    "outranks", "inconsistent_record", "reports_window", "secret_reader",  # recorders, and a higher rank: notes
    "slow_thread", "slow_process",  # only in their first batch
    "claims_key", "searches_tmp", "shows_process",
}
MISBEHAVE = {
    "constructor:hang": "its constructors did not return within 5 s",
    "probe:hang": "probe of source 'actor' did not return within 5 s",
    "collect:pthread_exit": "terminated a thread",
    "collect:overflow": "collect of source 'actor' crashed: signal 11",
    "close_worker:quick_exit": "close_worker of source 'actor' called exit()",
    "collect:flush": "it prints: printed by a plugin",
    "constructor:segv": "its constructors crashed: signal 11",
    "probe:throw": "probe threw an exception: thrown by a plugin",
    "collect:segv": "collect of source 'actor' crashed: signal 11",
    "collect:abort": "signal 6",
    "collect:exit": "called exit()",
    "collect:print": "it prints: printed by a plugin",
    "collect:child": "it leaves child processes behind",
    "open_worker:segv": "open_worker of source 'actor' crashed",
    "summarise:exit": "summarise of source 'actor' called exit()",
}
NOTES = {"outranks": "it fills 'run_time_ns' instead of", "inconsistent_record": "it is probed, not run"}


def check(library, **more):
    """Returns the exit status and the report."""
    words = [harness.CTPROF, "plugin", "check", str(library), "--as-root", "--rootfs", harness.fixture(KERNEL), "--format", "json"]
    finished = subprocess.run(words, capture_output=True, text=True, check=False, timeout=harness.TIMEOUT, **more)
    return finished.returncode, json.loads(finished.stdout)


class PluginCheck(unittest.TestCase):
    longMessage = False

    def assert_fault(self, library, words, **more):
        status, report = check(library, **more)
        self.assertEqual(status, 1, report)
        self.assertTrue(any(words in fault for fault in report["faults"]), f"not {words!r}: {report['faults']}")

    def test_names_fault_of_each_bad_plugin(self):
        for name, words in WORDS.items():
            with self.subTest(name):
                self.assert_fault(BAD / f"{name}.so", words)

    def test_reports_a_repeated_message_once(self):
        _, report = check(BAD / "prints_warning.so")
        self.assertEqual(report["faults"], ["it prints: a warning of a plugin"])

    def test_each_bad_plugin_is_checked(self):
        built = {path.stem for path in BAD.glob("*.so")}
        self.assertEqual(built, set(WORDS) | HARMLESS)

    def test_names_file_and_function_of_misbehaviour(self):
        if harness.is_sanitized():
            self.skipTest("a sanitizer has handlers of its own")
        for behaviour, words in MISBEHAVE.items():
            with self.subTest(behaviour):
                self.assert_fault(BAD / "misbehaving.so", words, env=os.environ | {"MISBEHAVE": behaviour})

    @unittest.skipUnless(os.geteuid() == 0, "needs root, whose things the plugin must not have")
    def test_plugin_has_nothing_of_root(self):
        """It prints what it has, which the report names as faults."""
        if harness.is_sanitized():
            self.skipTest("a sanitizer opens files of its own")
        ours, its = os.pipe()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, its)
        finished = subprocess.run([harness.reachable_copy()[1], "plugin", "check", BAD / "shows_process.so", "--format", "json"], check=False,
                                  input="typed\n", capture_output=True, text=True, env=os.environ | {"TOKEN": "secret"}, pass_fds=[its])
        shown = {fault.removeprefix("it prints: ") for fault in json.loads(finished.stdout)["faults"]}
        self.assertIn("process:", shown, finished.stdout)
        self.assertEqual(shown & {"has TOKEN", f"has descriptor {its}", "reads typed", "is in the session of its parent", "may gain rights"}, set())

    def test_leaves_no_process_behind(self):
        """The process that the plugin starts has a copy of a pipe, so the end of the pipe shows that it was killed."""
        if harness.is_sanitized():
            self.skipTest("a sanitizer has handlers of its own")
        ours, its = os.pipe()
        self.addCleanup(os.close, ours)
        os.set_blocking(ours, False)
        check(BAD / "misbehaving.so", env=os.environ | {"MISBEHAVE": "collect:daemon"}, pass_fds=[its])
        os.close(its)
        self.assertEqual(os.read(ours, 1), b"")

    def test_ends_plugin_that_leaves_its_group(self):
        if harness.is_sanitized():
            self.skipTest("a sanitizer has handlers of its own")
        self.assert_fault(BAD / "misbehaving.so", "signal 9", env=os.environ | {"MISBEHAVE": "collect:regroup"})

    def test_reports_allowed_behaviour_as_note(self):
        for name, words in NOTES.items():
            status, report = check(BAD / f"{name}.so")
            self.assertEqual((status, report["faults"]), (0, []))
            self.assertTrue(any(words in note for note in report["notes"]), report)

    def test_sound_plugins_have_no_fault(self):
        own = sorted(pathlib.Path(harness.CTPROF).resolve().parent.parent.parent.joinpath("plugins").glob("*.so"))
        self.assertGreater(len(own), 5)
        sound = [BAD / "sound.so", BAD / "adds_up.so", *sorted(pathlib.Path(os.environ["EXAMPLE_PLUGINS"]).glob("*.so")), *own]
        for library in sound:
            with self.subTest(library.name):
                status, report = check(library)
                self.assertEqual((status, report["faults"]), (0, []))

    def test_costs_are_reported_by_source(self):
        _, report = check(BAD / "sound.so")
        self.assertRegex(report["costs"][0], r"source 'sound' takes as long per row as reading \d+\.\d small files of /proc \(\d+ rows\)")

    def test_root_runs_the_plugin_as_nobody(self):
        """The tree is readable only by root: the user nobody cannot open it, root with --as-root can."""
        if not harness.can_become_user():
            self.skipTest("needs root")
        with harness.scratch() as directory:
            os.mkdir(os.path.join(directory, "proc"))
            os.chmod(directory, 0o700)
            words = [harness.reachable_copy()[1], "plugin", "check", str(BAD / "sound.so"), "--rootfs", directory]
            as_nobody, as_root = (subprocess.run([*words, *more], capture_output=True, text=True, check=False).stdout
                                  for more in ((), ("--as-root",)))
        self.assertIn("Permission denied", as_nobody)
        self.assertNotIn("Permission denied", as_root)

    def test_invalid_arguments_are_one_message(self):
        for words, expected_message in {(): "missing FILE", ("nothing.so",): "No such file", ("text.txt",): "ends in .so"}.items():
            finished = subprocess.run([harness.CTPROF, "plugin", "check", *words], capture_output=True, text=True, check=False)
            self.assertEqual((finished.returncode, finished.stderr.count("\n")), (2, 1))
            self.assertIn(expected_message, finished.stderr)


if __name__ == "__main__":
    harness.main()
