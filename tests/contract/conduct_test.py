#!/usr/bin/python3
"""What becomes of plugins that misbehave while they run: they crash, end the process, hang, or throw.

Environment: CTPROF, FIXTURES, BAD_PLUGINS. The plugin is bad/rude.cc, which is told by RUDE="PLACE:DEED" what to do; each test asks for one
line that names its file and function, and for a status. TEST_ROUNDS repeats the captures that workers crash in.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import file_json  # noqa: E402
import harness  # noqa: E402
from rude import PLACES, Rude  # noqa: E402

ROUNDS = int(os.environ.get("TEST_ROUNDS", "3"))
LIMIT = 5  # seconds that a constructor or probe may take

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
        process = subprocess.Popen(self.command("capture", "-o", str(self.file)), env=os.environ | {"RUDE": "collect:hang"},
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        process.send_signal(signal.SIGSEGV)
        _, said = process.communicate(timeout=harness.TIMEOUT)
        self.assertEqual(process.returncode, -signal.SIGSEGV)
        self.assertNotIn("rude.so", said)

    def test_a_handler_that_interrupts_another_plugin_is_named(self):
        (self.here / "slow").mkdir(exist_ok=True)
        shutil.copy(pathlib.Path(os.environ["BAD_PLUGINS"]) / "slow_thread.so", self.here / "slow")
        for _ in range(ROUNDS):
            done = self.run_rude("open_worker:alarm", "--plugin-path", str(self.here / "slow"), "capture", "-o", str(self.file))
            self.assertEqual(done.returncode, -signal.SIGSEGV)
            self.assert_told(done.stderr, "its code crashed outside of any call")

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
            self.assert_told(done.stderr, PLACES["collect"], "ended a thread")

    def test_a_child_may_exit(self):
        for place in ("constructor", "collect"):
            done = self.capture(f"{place}:child")
            self.assertEqual(done.returncode, 0)
            self.assertNotIn("rude.so", done.stderr)


class Hangs(Rude):
    def assert_ends_in_time(self, rude, verb, status, *words):
        start = time.monotonic()
        done = self.run_rude(rude, *verb)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertLess(LIMIT - 1, time.monotonic() - start)
        self.assertLess(time.monotonic() - start, LIMIT + 10)
        self.assert_told(done.stderr, "within 5 s", *words)

    def test_a_constructor_ends_us_with_a_sentence(self):
        self.assert_ends_in_time("constructor:hang", ["metric-list"], 2, PLACES["constructor"])

    def test_so_does_probe(self):
        self.assert_ends_in_time("probe:hang", ["plugins"], 2, PLACES["probe"])

    def test_a_destructor_does_not_change_the_status(self):
        self.assert_ends_in_time("destructor:hang", ["show", str(self.sound)], 0, "when ctprof ends")

    def test_it_needs_no_thread(self):
        if not harness.can_become_user():
            self.skipTest("needs to become another user, whose threads can be limited")
        nobody_else = ["--reuid=64321", "--regid=64321", "--clear-groups"]
        user = ["prlimit", "--nproc=1", "setpriv", *nobody_else]
        os.chmod(self.here, 0o755)
        done = subprocess.run([*user, harness.reachable()[1], "--plugin-path", str(self.here / "rude"), "metric-list"], check=False,
                              env=os.environ | {"RUDE": "constructor:hang"}, capture_output=True, text=True, timeout=harness.TIMEOUT)
        self.assertEqual(done.returncode, 2)
        self.assert_told(done.stderr, "within 5 s")

    def test_time_while_stopped_does_not_count(self):
        process = subprocess.Popen(self.command("metric-list"), env=os.environ | {"RUDE": "constructor:three"},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        process.send_signal(signal.SIGSTOP)
        time.sleep(LIMIT + 1)
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate(timeout=harness.TIMEOUT)
        self.assertEqual((process.returncode, said), (0, ""))


    def test_time_without_a_cpu_does_not_count(self):
        """Beside somebody who is far more important, 100 ms take more than 5 s."""
        if harness.is_sanitized():
            self.skipTest("a sanitizer's own start would take a minute")
        cpu = str(min(os.sched_getaffinity(0)))
        with harness.beside("taskset", "-c", cpu, sys.executable, "-c", "while True: pass"):
            start = time.monotonic()
            done = subprocess.run(["taskset", "-c", cpu, "nice", "-n", "19", *self.command("metric-list")], check=False, text=True,
                                  env=os.environ | {"RUDE": "constructor:compute"}, capture_output=True, timeout=harness.TIMEOUT)
            lasted = time.monotonic() - start
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertGreater(lasted, LIMIT)

    def test_time_that_a_disk_takes_does_not_count(self):
        with tempfile.NamedTemporaryFile(dir=pathlib.Path(harness.CTPROF).parent) as file:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            try:
                os.close(os.open(file.name, os.O_RDONLY | os.O_DIRECT))
            except OSError:
                self.skipTest("this file system has no way past the page cache")
            done = self.run_rude("constructor:read", "metric-list", env=os.environ | {"RUDE": "constructor:read", "RUDE_FILE": file.name})
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Slow(Rude):
    def test_who_is_slow_is_named_while_it_lasts(self):
        done = subprocess.run(["timeout", "-s", "KILL", "7", *self.command("capture", "-o", str(self.file))], check=False, text=True,
                              env=os.environ | {"RUDE": "collect:hang"}, stderr=subprocess.PIPE, timeout=harness.TIMEOUT)
        words = f"ctprof: {self.library}: source 'manners' has been in collect for"
        self.assertEqual([line for line in done.stderr.splitlines() if "rude.so" in line], [f"{words} 2 s", f"{words} 4 s"])

    def test_the_capture_is_whole(self):
        done = self.capture("collect:slow")
        self.assertEqual(done.returncode, 0)
        self.assert_told(done.stderr, "has been in collect for 2 s")
        self.assertEqual(file_json.load(self.file).faults(), [])

    def test_nothing_is_said_when_quiet(self):
        done = self.run_rude("collect:slow", "-q", "capture", "-o", str(self.file))
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Throws(Rude):
    def test_what_probe_throws_is_one_sentence(self):
        for verb in (("plugins",), ("doctor",)):
            done = self.run_rude("probe:throw", *verb)
            self.assertEqual(done.returncode, 0)
            self.assert_told(done.stderr, "source 'manners': probe threw an exception: thrown by a plugin")
        done = self.capture_tree("probe:throw")
        self.assertEqual(done.returncode, 0)
        self.assert_told(done.stderr, "source 'manners': probe threw an exception: thrown by a plugin")
        self.assertEqual(file_json.load(self.file).faults(), [])

    def test_what_is_thrown_elsewhere_costs_the_source_its_cells(self):
        for place in ("open_worker", "collect", "close_worker", "summarise"):
            for deed, words in (("throw", "thrown by a plugin"), ("throw_int", "an exception without words")):
                with self.subTest(f"{place}:{deed}"):
                    done = self.capture_tree(f"{place}:{deed}")
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
