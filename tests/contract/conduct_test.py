#!/usr/bin/python3
"""What becomes of plugins that misbehave while they run: they crash, end the process, hang, or throw.

Environment: CTPROF, FIXTURES, BAD_PLUGINS. The plugin is bad/rude.cc, which is told by RUDE="PLACE:DEED" what to do; each test asks for one
line that names its file and function, and for a status. TEST_ROUNDS repeats the captures that workers crash in. Captures are of a recorded tree.
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
from rude import KERNEL, PLACES, Rude  # noqa: E402

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


class Crashes(Rude):
    def setUp(self):
        if harness.is_sanitized():
            self.skipTest("a sanitizer has handlers of its own")

    def test_every_place_is_named(self):
        for place, words in PLACES.items():
            with self.subTest(place):
                done = self.capture(f"{place}:segv")
                self.assertEqual(done.returncode, -signal.SIGSEGV)
                self.assert_told(done.stderr, words, "crashed: signal 11 (segmentation fault)")

    def test_every_signal_is_named_and_ends_us(self):
        for deed, (number, name) in CRASHES.items():
            with self.subTest(deed):
                done = self.capture(f"collect:{deed}")
                self.assertEqual(done.returncode, -number)
                self.assert_told(done.stderr, PLACES["collect"], f"signal {number.value} ({name})")

    def test_of_a_worker_too(self):
        for _ in range(ROUNDS):
            for deed in ("segv", "overflow"):
                done = self.capture(f"collect:{deed}", "--jobs", "4")
                self.assertEqual(done.returncode, -signal.SIGSEGV)
                self.assert_told(done.stderr, PLACES["collect"])

    def test_other_verbs_name_it(self):
        for verb in (("metric-list",), ("plugins",), ("doctor",)):
            done = self.run_rude("constructor:segv", *verb)
            self.assertEqual(done.returncode, -signal.SIGSEGV)
            self.assert_told(done.stderr, PLACES["constructor"])

    def test_a_rule_is_named(self):
        for place in ("add", "number"):
            done = self.run_rude(f"{place}:segv", "show", str(self.sound))
            self.assertEqual(done.returncode, -signal.SIGSEGV)
            self.assert_told(done.stderr, f"{place} of rule 'rude_sum'")

    def test_at_the_end_all_is_written_and_it_is_named(self):
        done = self.capture("destructor:segv")
        self.assertEqual(done.returncode, -signal.SIGSEGV)
        self.assert_told(done.stderr, "about to end")
        self.assertEqual(file_json.load(self.file).faults(), [])

    def test_a_signal_from_outside_blames_nobody(self):
        process = self.stopped("collect:stop", "capture", "-o", str(self.file))
        process.send_signal(signal.SIGSEGV)
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate(timeout=harness.TIMEOUT)
        self.assertEqual(process.returncode, -signal.SIGSEGV)
        self.assertNotIn("rude.so", said)

    def test_a_name_with_an_escape_code_is_plain(self):
        place = self.here / "odd\x1b[31mname"
        place.mkdir(exist_ok=True)
        shutil.copy(self.library, place)
        done = subprocess.run(self.command("metric-list", plugin=place.name), env=os.environ | {"RUDE": "constructor:segv"},
                              capture_output=True, check=False, timeout=harness.TIMEOUT)
        self.assertIn(rb"odd\x1b[31mname/rude.so: its constructors crashed", done.stderr)
        self.assertNotIn(b"\x1b", done.stderr)


class Ends(Rude):
    def test_who_calls_exit_is_named(self):
        for place, words in PLACES.items():
            for deed in ("exit", "quick_exit"):
                with self.subTest(f"{place}:{deed}"):
                    done = self.capture(f"{place}:{deed}")
                    self.assertEqual(done.returncode, 2)
                    self.assert_told(done.stderr, words, "called exit()")

    def test_who_ends_a_thread_of_ours_is_named(self):
        for jobs in ("1", "4"):
            done = self.capture("collect:pthread_exit", "--jobs", jobs)
            self.assertEqual(done.returncode, 2)
            self.assert_told(done.stderr, PLACES["collect"], "terminated a thread")

    def test_a_child_may_exit(self):
        for place in ("constructor", "collect"):
            done = self.capture(f"{place}:child")
            self.assertEqual(done.returncode, 0)
            self.assertNotIn("rude.so", done.stderr)


class Hangs(Rude):
    def test_it_ends_us_with_a_sentence(self):
        """All wait for the limit at once. A destructor does not change the status."""
        hanging = {"constructor": (["metric-list"], 2, PLACES["constructor"]),
                   "probe": (["--rootfs", harness.fixture(KERNEL), "plugins"], 2, PLACES["probe"]),
                   "destructor": (["show", str(self.sound)], 0, "its exit handler")}
        processes = {place: self.started(f"{place}:hang", *words) for place, (words, _, _) in hanging.items()}
        for place, process in processes.items():
            _, status, words = hanging[place]
            _, said = process.communicate(timeout=harness.TIMEOUT)
            with self.subTest(place):
                self.assertEqual(process.returncode, status, said)
                self.assert_told(said, "within 5 s", words)

    def test_it_needs_no_thread(self):
        if not harness.can_become_user():
            self.skipTest("needs to become another user, whose threads can be limited")
        nobody_else = 20000 + os.getpid() % 40000  # has no other process, not even of another run of this test
        user = ["prlimit", "--nproc=1", "setpriv", f"--reuid={nobody_else}", f"--regid={nobody_else}", "--clear-groups"]
        os.chmod(self.here, 0o755)
        done = subprocess.run([*user, harness.reachable()[1], "--plugin-path", str(self.here / "rude"), "metric-list"], check=False,
                              env=os.environ | {"RUDE": "constructor:hang"}, capture_output=True, text=True, timeout=harness.TIMEOUT)
        self.assertEqual(done.returncode, 2)
        self.assert_told(done.stderr, "within 5 s")


class Interrupted(Rude):
    """Of two interrupts while a window is opened or processed, the second ends the program. The plugin stops it at both places."""

    def stopped_recording(self, stops, *words):
        """A recording of this process that was stopped so many times."""
        process = self.started("summarise:stop", "record", "--plugins", "rude", "-p", str(os.getpid()), "-d", "10ms", *words)
        for stop in range(stops):
            if stop > 0:
                process.send_signal(signal.SIGCONT)
            state = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            self.assertEqual(state.si_code, os.CLD_STOPPED, "it did not stop")
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        return process

    def interrupt(self, process, *signals):
        """Two signals of one number would be one. Returns standard error."""
        for number in (*signals, signal.SIGCONT):
            process.send_signal(number)
        said = process.communicate(timeout=harness.TIMEOUT)[1]
        self.assertEqual(process.returncode in (-signal.SIGINT, -signal.SIGTERM), len(signals) > 1, (process.returncode, said))
        return said

    def test_the_second_one_says_that_nothing_was_written(self):
        path = self.here / "un\x1bwritten.ctprof.zst"
        for stops in (1, 2):
            with self.subTest(stops=stops):
                said = self.interrupt(self.stopped_recording(stops, "-o", str(path)), signal.SIGINT, signal.SIGTERM)
                last = said.splitlines()[-1]
                self.assertEqual(last, f"ctprof: interrupted again: nothing was written to '{self.here}/un\\x1bwritten.ctprof.zst'")
                self.assertFalse(path.exists())

    def test_the_first_one_writes_the_file(self):
        process = self.stopped_recording(2, "-o", str(self.file), "--force")
        said = self.interrupt(process, signal.SIGINT)
        self.assertEqual(process.returncode, 0, said)
        self.assertNotIn("interrupted again", said)
        shown = self.run_rude("", "show", str(self.file))
        self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_names_the_window_of_several(self):
        windows = self.here / "windows"
        said = self.interrupt(self.stopped_recording(3, "--repeat", "3", "-o", str(windows)), signal.SIGINT, signal.SIGTERM)
        self.assertIn(f"interrupted again: nothing was written to '{windows}/02.ctprof.zst'", said)
        self.assertEqual([path.name for path in windows.iterdir()], ["01.ctprof.zst"])

    def test_says_so_of_standard_output(self):
        said = self.interrupt(self.stopped_recording(2, "-o", "-"), signal.SIGINT, signal.SIGTERM)
        self.assertIn("interrupted again: nothing was written to standard output", said)


class Throws(Rude):
    def test_what_probe_throws_is_one_sentence(self):
        for verb in (("plugins",), ("doctor",)):
            done = self.run_rude("probe:throw", "--rootfs", harness.fixture(KERNEL), *verb)
            self.assertEqual(done.returncode, 0)
            self.assert_told(done.stderr, "source 'manners': probe threw an exception: thrown by a plugin")
        done = self.capture("probe:throw")
        self.assertEqual(done.returncode, 0)
        self.assert_told(done.stderr, "source 'manners': probe threw an exception: thrown by a plugin")
        self.assertEqual(file_json.load(self.file).faults(), [])

    def test_what_is_thrown_elsewhere_costs_the_source_its_cells(self):
        for place in ("open_worker", "collect", "close_worker", "summarise"):
            for deed, words in (("throw", "thrown by a plugin"), ("throw_int", "an exception without a message")):
                with self.subTest(f"{place}:{deed}"):
                    done = self.capture(f"{place}:{deed}")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assert_told(done.stderr, "source 'manners'", place, words)
                    self.assertEqual(file_json.load(self.file).faults(), [])

    def test_a_constructor_that_throws_ends_us_with_a_sentence(self):
        done = self.run_rude("constructor:throw", "metric-list")
        self.assertIn(done.returncode, (2, -signal.SIGABRT))
        self.assert_told(done.stderr, "its constructors")

    def test_a_rule_that_throws_ends_us_with_a_sentence(self):
        done = self.run_rude("number:throw", "show", str(self.sound))
        self.assertEqual(done.returncode, 2)
        self.assert_told(done.stderr, "rule 'rude_sum'", "number threw an exception: thrown by a plugin")


    def test_so_does_one_of_the_second_side(self):
        for place, words in (("add_elsewhere", "add threw"), ("number", "number threw")):
            done = self.run_rude(f"{place}:throw", "compare", "--lifetime", str(self.sound), str(self.sound))
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assert_told(done.stderr, "rule 'rude_sum'", f"{words} an exception: thrown by a plugin")
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    harness.main()
