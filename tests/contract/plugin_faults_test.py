#!/usr/bin/python3
"""Tests plugins that crash, exit the process, hang or throw.

Environment: CTPROF, FIXTURES, BAD_PLUGINS. MISBEHAVE="PLACE:ACTION" selects the behaviour of the plugin `misbehaving`. Each test expects a
status, and one line that names the file and the function. TEST_ROUNDS: repetitions of captures with crashing workers. Captures read a recorded tree.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import file_json  # noqa: E402
import harness  # noqa: E402
from misbehaving import KERNEL, PLACES, MisbehavingPlugin  # noqa: E402

ROUNDS = int(os.environ.get("TEST_ROUNDS", "3"))

CRASHES = {
    "segv": (signal.SIGSEGV, "segmentation fault"),
    "bus": (signal.SIGBUS, "bus error"),
    "fpe": (signal.SIGFPE, "arithmetic exception"),
    "ill": (signal.SIGILL, "illegal instruction"),
    "trap": (signal.SIGTRAP, "trap"),
    "abort": (signal.SIGABRT, "abort"),
    "overflow": (signal.SIGSEGV, "segmentation fault"),
}


class Crashes(MisbehavingPlugin):
    def setUp(self):
        if harness.is_sanitized():
            self.skipTest("a sanitizer has handlers of its own")

    def test_names_function_that_crashes(self):
        for place, words in PLACES.items():
            with self.subTest(place):
                finished = self.capture(f"{place}:segv")
                self.assertEqual(finished.returncode, -signal.SIGSEGV)
                self.assert_one_line_about_plugin(finished.stderr, words, "crashed: signal 11 (segmentation fault)")

    def test_names_signal_and_exits_with_it(self):
        for action, (number, name) in CRASHES.items():
            with self.subTest(action):
                finished = self.capture(f"collect:{action}")
                self.assertEqual(finished.returncode, -number)
                self.assert_one_line_about_plugin(finished.stderr, PLACES["collect"], f"signal {number.value} ({name})")

    def test_names_crashes_in_workers(self):
        for _ in range(ROUNDS):
            for action in ("segv", "overflow"):
                finished = self.capture(f"collect:{action}", "--jobs", "4")
                self.assertEqual(finished.returncode, -signal.SIGSEGV)
                self.assert_one_line_about_plugin(finished.stderr, PLACES["collect"])

    def test_other_commands_name_crashes(self):
        for command in (("metric-list",), ("plugins",), ("doctor",)):
            finished = self.run_misbehaving("constructor:segv", *command)
            self.assertEqual(finished.returncode, -signal.SIGSEGV)
            self.assert_one_line_about_plugin(finished.stderr, PLACES["constructor"])

    def test_names_rule_that_crashes(self):
        for place in ("add", "number"):
            finished = self.run_misbehaving(f"{place}:segv", "show", str(self.sound))
            self.assertEqual(finished.returncode, -signal.SIGSEGV)
            self.assert_one_line_about_plugin(finished.stderr, f"{place} of rule 'misbehaving_sum'")

    def test_crash_in_destructor_keeps_the_file(self):
        finished = self.capture("destructor:segv")
        self.assertEqual(finished.returncode, -signal.SIGSEGV)
        self.assert_one_line_about_plugin(finished.stderr, "while ctprof was exiting")
        self.assertEqual(file_json.load(self.file).faults(), [])

    def test_external_signal_names_no_plugin(self):
        process = self.start_until_stopped("collect:stop", "capture", "-o", str(self.file))
        process.send_signal(signal.SIGSEGV)
        process.send_signal(signal.SIGCONT)
        _, error_output = process.communicate(timeout=harness.TIMEOUT)
        self.assertEqual(process.returncode, -signal.SIGSEGV)
        self.assertNotIn("misbehaving.so", error_output)

    def test_escapes_plugin_path_in_crash_message(self):
        place = self.here / "odd\x1b[31mname"
        place.mkdir(exist_ok=True)
        shutil.copy(self.library, place)
        finished = subprocess.run(self.command("metric-list", plugin=place.name), env=os.environ | {"MISBEHAVE": "constructor:segv"},
                                  capture_output=True, check=False, timeout=harness.TIMEOUT)
        self.assertIn(rb"odd\x1b[31mname/misbehaving.so: its constructors crashed", finished.stderr)
        self.assertNotIn(b"\x1b", finished.stderr)


class Exits(MisbehavingPlugin):
    def test_names_function_that_calls_exit(self):
        for place, words in PLACES.items():
            for action in ("exit", "quick_exit"):
                with self.subTest(f"{place}:{action}"):
                    finished = self.capture(f"{place}:{action}")
                    self.assertEqual(finished.returncode, 2)
                    self.assert_one_line_about_plugin(finished.stderr, words, "called exit()")

    def test_names_function_that_terminates_a_thread(self):
        for jobs in ("1", "4"):
            finished = self.capture("collect:pthread_exit", "--jobs", jobs)
            self.assertEqual(finished.returncode, 2)
            self.assert_one_line_about_plugin(finished.stderr, PLACES["collect"], "terminated a thread")

    def test_allows_exit_of_child_process(self):
        for place in ("constructor", "collect"):
            finished = self.capture(f"{place}:child")
            self.assertEqual(finished.returncode, 0)
            self.assertNotIn("misbehaving.so", finished.stderr)


class HangingPlugin(MisbehavingPlugin):
    def test_hang_exits_with_message(self):
        """All processes wait for the limit concurrently. A destructor does not change the status."""
        hanging = {"constructor": (["metric-list"], 2, PLACES["constructor"]),
                   "probe": (["--rootfs", harness.fixture(KERNEL), "plugins"], 2, PLACES["probe"]),
                   "destructor": (["show", str(self.sound)], 0, "its exit handler")}
        processes = {place: self.start_misbehaving(f"{place}:hang", *words) for place, (words, _, _) in hanging.items()}
        for place, process in processes.items():
            _, status, words = hanging[place]
            _, error_output = process.communicate(timeout=harness.TIMEOUT)
            with self.subTest(place):
                self.assertEqual(process.returncode, status, error_output)
                self.assert_one_line_about_plugin(error_output, "within 5 s", words)

    def test_time_limit_needs_no_thread(self):
        if not harness.can_become_user():
            self.skipTest("needs to become another user, whose threads can be limited")
        unused_uid = 20000 + os.getpid() % 40000  # a user without other processes, even of another run of this test
        user = ["prlimit", "--nproc=1", "setpriv", f"--reuid={unused_uid}", f"--regid={unused_uid}", "--clear-groups"]
        os.chmod(self.here, 0o755)
        finished = subprocess.run([*user, harness.reachable_copy()[1], "--plugin-path", str(self.here / "misbehaving"), "metric-list"], check=False,
                                  env=os.environ | {"MISBEHAVE": "constructor:hang"}, capture_output=True, text=True, timeout=harness.TIMEOUT)
        self.assertEqual(finished.returncode, 2)
        self.assert_one_line_about_plugin(finished.stderr, "within 5 s")


class InterruptedCaptures(MisbehavingPlugin):
    """A second interrupt while a window is opened or processed ends the program. The plugin stops the program in both phases."""

    def start_stopped_recording(self, stops, *words):
        """Starts a recording of this process, and continues it until the plugin has stopped it `stops` times."""
        process = self.start_misbehaving("summarise:stop", "record", "--plugins", "misbehaving", "-p", str(os.getpid()), "-d", "10ms", *words)
        for stop in range(stops):
            if stop > 0:
                process.send_signal(signal.SIGCONT)
            state = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            self.assertEqual(state.si_code, os.CLD_STOPPED, "it did not stop")
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        return process

    def interrupt(self, process, *signals):
        """Sends signals, which must differ because equal pending signals are merged. Returns standard error."""
        for number in (*signals, signal.SIGCONT):
            process.send_signal(number)
        error_output = process.communicate(timeout=harness.TIMEOUT)[1]
        self.assertEqual(process.returncode in (-signal.SIGINT, -signal.SIGTERM), len(signals) > 1, (process.returncode, error_output))
        return error_output

    def test_second_interrupt_reports_missing_file(self):
        path = self.here / "un\x1bwritten.ctprof.zst"
        for stops in (1, 2):
            with self.subTest(stops=stops):
                error_output = self.interrupt(self.start_stopped_recording(stops, "-o", str(path)), signal.SIGINT, signal.SIGTERM)
                last = error_output.splitlines()[-1]
                self.assertEqual(last, f"ctprof: interrupted again: nothing was written to '{self.here}/un\\x1bwritten.ctprof.zst'")
                self.assertFalse(path.exists())

    def test_first_interrupt_writes_the_file(self):
        process = self.start_stopped_recording(2, "-o", str(self.file), "--force")
        error_output = self.interrupt(process, signal.SIGINT)
        self.assertEqual(process.returncode, 0, error_output)
        self.assertNotIn("interrupted again", error_output)
        shown = self.run_misbehaving("", "show", str(self.file))
        self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_second_interrupt_names_missing_window(self):
        windows = self.here / "windows"
        error_output = self.interrupt(self.start_stopped_recording(3, "--repeat", "3", "-o", str(windows)), signal.SIGINT, signal.SIGTERM)
        self.assertIn(f"interrupted again: nothing was written to '{windows}/02.ctprof.zst'", error_output)
        self.assertEqual([path.name for path in windows.iterdir()], ["01.ctprof.zst"])

    def test_second_interrupt_names_standard_output(self):
        error_output = self.interrupt(self.start_stopped_recording(2, "-o", "-"), signal.SIGINT, signal.SIGTERM)
        self.assertIn("interrupted again: nothing was written to standard output", error_output)


class ThrowingPlugin(MisbehavingPlugin):
    def test_exception_of_probe_is_one_message(self):
        for command in (("plugins",), ("doctor",)):
            finished = self.run_misbehaving("probe:throw", "--rootfs", harness.fixture(KERNEL), *command)
            self.assertEqual(finished.returncode, 0)
            self.assert_one_line_about_plugin(finished.stderr, "source 'actor': probe threw an exception: thrown by a plugin")
        finished = self.capture("probe:throw")
        self.assertEqual(finished.returncode, 0)
        self.assert_one_line_about_plugin(finished.stderr, "source 'actor': probe threw an exception: thrown by a plugin")
        self.assertEqual(file_json.load(self.file).faults(), [])

    def test_exception_turns_cells_of_source_into_gaps(self):
        for place in ("open_worker", "collect", "close_worker", "summarise"):
            for action, words in (("throw", "thrown by a plugin"), ("throw_int", "an exception without a message")):
                with self.subTest(f"{place}:{action}"):
                    finished = self.capture(f"{place}:{action}")
                    self.assertEqual(finished.returncode, 0, finished.stderr)
                    self.assert_one_line_about_plugin(finished.stderr, "source 'actor'", place, words)
                    self.assertEqual(file_json.load(self.file).faults(), [])

    def test_exception_of_constructor_exits_with_message(self):
        finished = self.run_misbehaving("constructor:throw", "metric-list")
        self.assertIn(finished.returncode, (2, -signal.SIGABRT))
        self.assert_one_line_about_plugin(finished.stderr, "its constructors")

    def test_exception_of_rule_exits_with_message(self):
        finished = self.run_misbehaving("number:throw", "show", str(self.sound))
        self.assertEqual(finished.returncode, 2)
        self.assert_one_line_about_plugin(finished.stderr, "rule 'misbehaving_sum'", "number threw an exception: thrown by a plugin")


    def test_exception_of_rule_in_candidate_exits_with_message(self):
        for place, words in (("add_elsewhere", "add threw"), ("number", "number threw")):
            finished = self.run_misbehaving(f"{place}:throw", "compare", "--lifetime", str(self.sound), str(self.sound))
            self.assertEqual((finished.returncode, finished.stdout), (2, ""))
            self.assert_one_line_about_plugin(finished.stderr, "rule 'misbehaving_sum'", f"{words} an exception: thrown by a plugin")
            self.assertEqual(len(finished.stderr.splitlines()), 1, finished.stderr)


if __name__ == "__main__":
    harness.main()
