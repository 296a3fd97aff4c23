#!/usr/bin/python3
"""What becomes of plugins that misbehave while they run: they crash, end the process, hang, throw, print, or change what all share.

Environment: CTPROF, FIXTURES, BAD_PLUGINS. The plugin is bad/rude.cc, which is told by RUDE="PLACE:DEED" what to do; each test asks for one
line that names its file and function, and for a status. CTPROF_ROUNDS repeats the captures that workers crash in.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import file_json  # noqa: E402
import harness  # noqa: E402

KERNEL = "6.12"
ROUNDS = int(os.environ.get("CTPROF_ROUNDS", "3"))
LIMIT = 5  # seconds that a constructor or probe may take

# Where rude.so is called during a capture, and what a sentence calls it.
PLACES = {
    "constructor": "its constructors",
    "probe": "probe of source 'manners'",
    "open_worker": "open_worker of source 'manners'",
    "collect": "collect of source 'manners'",
    "close_worker": "close_worker of source 'manners'",
    "summarise": "summarise of source 'manners'",
}
CRASHES = {
    "segv": (signal.SIGSEGV, "segmentation fault"),
    "bus": (signal.SIGBUS, "bus error"),
    "fpe": (signal.SIGFPE, "arithmetic exception"),
    "ill": (signal.SIGILL, "illegal instruction"),
    "trap": (signal.SIGTRAP, "trap"),
    "abort": (signal.SIGABRT, "abort"),
    "overflow": (signal.SIGSEGV, "segmentation fault"),
}


class Rude(unittest.TestCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        cls.scratch = harness.scratch()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.here = pathlib.Path(cls.scratch.name)
        for name in ("rude", "outranks"):
            (cls.here / name).mkdir()
            shutil.copy(pathlib.Path(os.environ["BAD_PLUGINS"]) / f"{name}.so", cls.here / name)
        cls.library = cls.here / "rude" / "rude.so"
        cls.file = cls.here / "file.ctprof.zst"
        cls.sound = cls.here / "sound.ctprof.zst"
        done = cls.run_rude("", "--rootfs", harness.fixture(KERNEL), "capture", "-o", str(cls.sound))
        assert done.returncode == 0, done.stderr

    @classmethod
    def command(cls, *words, plugin="rude"):
        return [harness.CTPROF, "--plugin-path", str(cls.here / plugin), *words]

    @classmethod
    def run_rude(cls, rude, *words, text=True, **more):
        """A finished run of ctprof with rude.so, told to be rude there."""
        more = {"env": os.environ | {"RUDE": rude}, "timeout": harness.TIMEOUT, **more}
        return subprocess.run(cls.command(*words), capture_output=True, check=False, text=text, **more)

    def capture(self, rude, *words, **more):
        return self.run_rude(rude, "capture", "-o", str(self.file), *words, **more)

    def capture_tree(self, rude, *words, **more):
        return self.run_rude(rude, "--rootfs", harness.fixture(KERNEL), "capture", "-o", str(self.file), *words, **more)

    def assert_told(self, said, *words):
        """Standard error has one line about the plugin, which holds the words."""
        lines = [line for line in said.splitlines() if str(self.library) in line]
        self.assertEqual(len(lines), 1, f"not one line about rude.so:\n{said}")
        for word in words:
            self.assertIn(word, lines[0])


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
            self.assert_told(done.stderr, "code of it crashed that nobody called")

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
            done = self.run_rude(f"{place}:throw", "compare", str(self.sound), str(self.sound))
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assert_told(done.stderr, "rule 'rude_sum'", f"{words} an exception: thrown by a plugin")
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


class Shared(Rude):
    """What all of a process have in common, which a plugin may use and change."""

    def test_what_a_plugin_prints_is_not_in_our_output(self):
        for place in (*PLACES, "destructor"):
            for deed in ("print", "flush"):
                with self.subTest(f"{place}:{deed}"):
                    done = self.run_rude(f"{place}:{deed}", "capture", "-o", "-", text=False)
                    self.assertEqual(done.returncode, 0)
                    self.assertIn(b"printed by a plugin", done.stderr)
                    self.file.write_bytes(done.stdout)
                    self.assertEqual(file_json.load(self.file).faults(), [])

    def test_nor_in_what_other_verbs_print(self):
        for verb in (("metric-list", "--format", "json"), ("show", str(self.sound), "--format", "csv")):
            plain = self.run_rude("", *verb)
            for place in ("constructor", "add", "destructor"):
                self.assertEqual(self.run_rude(f"{place}:print", *verb).stdout, plain.stdout)

    def test_another_name_of_standard_output_is_standard_output(self):
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            done = self.run_rude("collect:print", "capture", "-o", name, text=False)
            self.file.write_bytes(done.stdout)
            self.assertEqual(file_json.load(self.file).faults(), [])

    def test_closed_descriptors_do_no_harm(self):
        words = self.command("capture", "-o", str(self.file))
        for closed in ("<&-", ">&-", "<&- >&- 2>&-"):
            self.file.unlink(missing_ok=True)
            subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *words], env=os.environ | {"RUDE": "collect:print"}, check=False,
                           capture_output=True, timeout=harness.TIMEOUT)
            self.assertEqual(file_json.load(self.file).faults(), [])

    def test_a_relative_name_means_what_it_meant(self):
        for place in PLACES:
            with self.subTest(place):
                here = self.here / f"from-{place}"
                here.mkdir()
                done = subprocess.run([harness.CTPROF, "--plugin-path", "../rude", "--plugin-path", "../outranks", "capture", "-o", "it"],
                                      env=os.environ | {"RUDE": f"{place}:chdir"}, cwd=here, capture_output=True, check=False, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(file_json.load(here / "it").faults(), [])
                self.assertIn("outranks.so", done.stderr)
        done = self.run_rude("constructor:chdir", "show", "sound.ctprof.zst", cwd=self.here)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_signals_get_through(self):
        """Nobody reads from the pipe: whoever opens it waits until a signal comes."""
        pipe = self.here / "pipe"
        os.mkfifo(pipe)
        for place in PLACES:
            with self.subTest(place):
                process = subprocess.Popen(self.command("capture", "-o", str(pipe), "--quiet"), env=os.environ | {"RUDE": f"{place}:block"})
                time.sleep(2)
                process.send_signal(signal.SIGTERM)
                try:
                    self.assertEqual(process.wait(5), -signal.SIGTERM)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    self.fail("the signal did not get through")

    def test_the_mask_stays(self):
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        modes = set()
        for rude in ("", *(f"{place}:umask" for place in PLACES)):
            self.file.unlink(missing_ok=True)
            self.assertEqual(self.capture(rude).returncode, 0)
            modes.add(self.file.stat().st_mode)
        self.assertEqual(len(modes), 1)

    def comma_locale(self):
        """LOCPATH of a locale that writes "1,5"."""
        path = self.here / "locales"
        if not path.exists():
            path.mkdir()
            made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(path / "ctprof_comma")], capture_output=True, check=False)
            if made.returncode != 0:
                shutil.rmtree(path)
                self.skipTest("needs localedef and the sources of de_DE (package locales)")
        return os.environ | {"LOCPATH": str(path)}

    def test_figures_have_points(self):
        locale = self.comma_locale()
        verbs = [("show", str(self.sound), "--limit", "0"), ("show", str(self.sound), "--format", "json")]
        for verb in verbs:
            plain = self.run_rude("", *verb).stdout
            for place in ("constructor", "add", "number"):
                done = self.run_rude(f"{place}:locale", *verb, env=locale | {"RUDE": f"{place}:locale"})
                self.assertEqual(done.stdout, plain, place)

    def test_a_capture_tells_its_time_with_a_point(self):
        locale = self.comma_locale()
        for place in PLACES:
            done = self.capture("", env=locale | {"RUDE": f"{place}:locale"})
            self.assertRegex(done.stdout, r"[0-9]\.[0-9] ms \(", place)
            self.assertNotRegex(done.stdout, r",[0-9] (ms|KiB)", place)


class Outranked(Rude):
    def captured(self, *words):
        return subprocess.run(self.command(*words, "capture", "-o", str(self.file), plugin="outranks"), capture_output=True, check=True,
                              text=True, timeout=harness.TIMEOUT)

    def test_a_capture_says_who_took_over(self):
        said = [line for line in self.captured().stderr.splitlines() if "outranks.so" in line]
        self.assertEqual(said, [f"ctprof: {self.here / 'outranks' / 'outranks.so'}: plugin 'outranks', which is not ctprof's own, filled "
                                "1 metric in place of ctprof's sources: run_time_ns"])

    def test_the_file_and_its_reports_say_so(self):
        self.captured()
        self.assertEqual(file_json.load(self.file).document["ctprof"]["takeovers"], [{"plugin": "outranks", "metrics": ["run_time_ns"]}])
        words = "plugin 'outranks', which is not ctprof's own, filled 1 metric in place of ctprof's sources: run_time_ns"
        self.assertIn(f"snapshot: {words}\n", harness.run("show", str(self.file)).stdout)
        self.assertIn(f"candidate: {words}\n", harness.run("compare", str(self.sound), str(self.file)).stdout)
        self.assertIn(words, harness.run("show", str(self.file), "--format", "csv").stderr)
        told = [{"plugin": "outranks", "metrics": ["run_time_ns"]}]
        self.assertEqual(json.loads(harness.run("show", str(self.file), "--format", "json").stdout)["snapshot"]["takeovers"], told)
        both = json.loads(harness.run("compare", str(self.sound), str(self.file), "--format", "json").stdout)
        self.assertEqual((both["baseline"]["takeovers"], both["candidate"]["takeovers"]), ([], told))

    def test_without_a_rival_nobody_took_over(self):
        self.captured("--plugins=outranks")
        self.assertNotIn("takeovers", file_json.load(self.file).document["ctprof"])
        self.assertNotIn("takeovers", file_json.load(self.sound).document["ctprof"])


if __name__ == "__main__":
    harness.main()
