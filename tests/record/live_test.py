#!/usr/bin/python3
"""ctprof live in a tmux terminal: each key does what the help says, at any width, and the terminal is restored afterwards.

Environment: CTPROF."""

import os
import re
import signal
import subprocess
import unittest

from live_screen import Screen, Worker, clock, first_row, harness, head, history, needs_terminal, own_name


@needs_terminal
class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.name, cls.second = own_name("Live"), own_name("two")
        cls.worker = Worker(cls.name, cls.second)
        cls.other = Worker("also-busy")  # so that there are two rows even on an idle host

    @classmethod
    def tearDownClass(cls):
        cls.worker.end()
        cls.other.end()

    def setUp(self):
        self.screen = Screen()
        self.addCleanup(self.screen.end)
        self.screen.start()

    def test_help_has_every_key(self):
        s = self.screen
        s.resize(120, 50)
        s.keys("?")
        keys = ("q ", "? h", "Enter", "Esc Backspace", "g ", "s ", "r ", "/ ", "Space", "[ Left", "] Right", "{ ", "} ", "a ", "b ", "c ", "w ", "f ", "K ", "+ ", "- ", "m ", "Up k", "Down j",
                "PgUp", "PgDn", "Home", "End", "Ctrl-L")
        s.until_says("ctprof live: the last window of this host", *("\n  " + key for key in keys))
        s.keys("?")
        s.until_says("processes by name")
        s.keys("q")
        s.ends()

    def test_grouping_and_sorting(self):
        s = self.screen
        for words in ("cgroups, by score", "threads by name, by score", "each process, by score", "processes by name, by score"):
            s.keys("g")
            s.until_says(words)
        for by in ("by name", "by %CPU", "by %wait"):
            s.keys("s")
            s.until(lambda now, by=by: by in now and "%wait" in now)
        s.keys("C-c")
        s.ends()

    def test_reverse_hide_and_interval(self):
        s = self.screen
        s.keys("r")
        s.until_says("by score, reversed")
        s.keys("r")
        s.until(lambda now: "reversed" not in now)
        s.keys("K")
        s.until_says("kernel threads are hidden")
        s.keys("+")
        s.until_says("every 2 s", "windows take 2 s from now on")
        s.until(lambda now: re.match(r"\d\d:\d\d:\d\d   [2-9]\.\d s ", now))
        s.keys("-", "-")
        s.until_says("every 0.5 s")
        s.until(lambda now: re.match(r"\d\d:\d\d:\d\d   0\.\d s ", now))
        s.keys("q")
        s.ends()

    def test_filter_enter_and_back(self):
        s = self.screen
        s.filter(self.name.lower())
        s.until(lambda now: first_row(now, "process ") == self.name and "also-busy" not in now)
        s.keys("Enter")
        pid = self.worker.process.pid
        s.until(lambda now: f"threads of {self.name}, by score" in now and self.second in now and re.search(rf"{self.name} +{pid} ", now))
        s.filter(self.name[:6].upper())
        s.until(lambda now: self.second not in now)
        s.keys("Enter")
        s.until_says(f"thread {pid} of process {pid}", "run_time_ns")
        s.until(lambda now: re.search(r"run_time_ns .*[▁▂▃▄▅▆▇█]{2}", now))
        s.filter("cpu_affinity")  # which is read only for the selected process
        s.until(lambda now: re.search(r"\ncpu_affinity +[0-9,-]+", now))
        s.keys("Escape")
        s.until_says(f"threads of {self.name}")
        s.keys("BSpace")
        s.until_says("processes by name")
        s.keys("/")
        s.type("no such name")
        s.until_says("no name of an active group contains the filter text")
        s.keys("BSpace")
        s.until_says("filter: no such nam_")
        s.keys("Escape")
        s.until(lambda now: "filter no" not in now and "quit" in now)

    def test_hold_step_mark_compare_and_write(self):
        s = self.screen
        s.until(lambda now: history(now) >= 3)
        s.keys("Space")
        held = s.until_whole("held, ")
        s.until(lambda now: history(now) > history(held) + 1 and head(now) == head(held))
        s.keys("b")
        s.until_says("this window is B", f"B {clock(held)}")
        s.keys("[")
        earlier = s.until_whole("held, ", other_than=held)
        s.keys("Left")
        first = s.until_whole("held, ", other_than=earlier)
        s.keys("a")
        s.until_says("this window is A", f"A {clock(first)}")
        s.keys("Right")
        s.until(lambda now: head(now) == head(earlier))
        s.press_until("{", "the history begins here")
        s.press_until("}", "this is the newest window")
        s.keys("w")
        seconds = s.shown(s.until_written("3 windows"))
        self.assertGreater(seconds, 1)  # after a delayed window the next one is shorter
        s.keys("c")
        s.until_says("A compared with B", "moved most", f"A: {clock(first)}", f"B: {clock(held)}")
        s.keys("c")
        s.until_says("held, ")
        s.keys("Space")
        s.until_says("now   processes")

    def test_writes_the_displayed_window(self):
        s = self.screen
        s.keys("c")
        s.until_says("mark two windows first")
        s.keys("w")
        first = s.until_written("1 window")
        self.assertLess(s.shown(first), 60)
        s.keys("w")
        s.until(lambda now: s.written(now, "1 window") not in (None, first))

    def click(self, column, line, button=0):
        """Sends a mouse click as a terminal with TERM=screen reports it: coordinates start at 1."""
        for code in (button, 3):
            self.screen.tmux("send-keys", "-H", "1b", "5b", "4d", *(f"{32 + n:x}" for n in (code, column + 1, line + 1)))

    def mouse(self):
        return self.screen.tmux("display-message", "-p", "#{mouse_any_flag}#{mouse_standard_flag}").strip()

    def test_mouse(self):
        s = self.screen
        s.keys("Space")
        text = s.until_whole("held, ")
        self.assertEqual(self.mouse()[-1], "1")
        lines = text.splitlines()
        heading = next(at for at, line in enumerate(lines) if line.startswith("process "))
        self.click(lines[heading].index("%CPU"), heading)
        s.until_says("by %CPU")
        self.click(lines[heading].index("%CPU"), heading)
        s.until_says("by %CPU, reversed")
        self.click(0, heading)
        text = s.until_says("by name ")
        row = text.splitlines()[heading + 2].split()[0]
        self.click(3, heading + 2)
        s.until_chosen(lambda line: line is not None and line.split()[0] == row)
        s.keys("?")
        s.until_says("ctprof live: the last window")
        self.click(3, 3, 65)  # the wheel
        s.until(lambda now: "ctprof live: the last window" not in now and "Ctrl-L" in now)
        s.keys("?", "m")
        s.until_says("the mouse is off")
        self.assertEqual(self.mouse()[-1], "0")
        s.keys("m")
        s.until_says("the mouse is on")
        s.keys("q")
        s.ends()
        self.assertEqual(self.mouse()[-1], "0")

    def test_cursor_keys(self):
        s = self.screen
        s.keys("Space")
        s.until_says("held, ")
        first = s.until_chosen(lambda row: row is not None)
        s.keys("Down")
        second = s.until_chosen(lambda row: row not in (None, first))
        s.keys("End")
        s.until_chosen(lambda row: row not in (None, first))
        s.keys("Home")
        s.until_chosen(lambda row: row == first)
        s.keys("j")
        s.until_chosen(lambda row: row == second)
        s.keys("k")
        s.until_chosen(lambda row: row == first)
        s.keys("NPage")
        s.until_chosen(lambda row: row not in (None, first))
        s.keys("PPage")
        s.until_chosen(lambda row: row == first)
        s.keys("C-l")
        s.until_says("held, ")


@needs_terminal
class Terminals(unittest.TestCase):
    def test_every_width(self):
        with Screen(80, 24) as s:
            s.start()
            for columns, lines in ((200, 50), (120, 30), (80, 24), (40, 10)):
                s.resize(columns, lines)
                s.until(lambda now, columns=columns, lines=lines: len(now.splitlines()) == lines and now.splitlines()[-1].startswith("q quit")
                        and all(len(line) <= columns for line in now.splitlines()))
            for _ in range(5):  # at arbitrary times: while it reads the host, or draws
                s.resize(39, 10)
                s.until_says("needs a terminal of 40")
                s.resize(120, 30)
                s.until_says("now   processes")
            s.keys("q")
            s.ends()

    def test_names_are_text(self):
        with Worker("\x1b[31ml\xe2\x80\xaeive") as _, Screen() as s:
            s.start()
            s.keys("/")
            s.type("ive")
            s.until_says(r"\x1b[31ml\u202eive")
            raw = s.text("-e")
            self.assertNotIn("\u202e", raw)
            self.assertNotIn("\x1b[31ml", raw)

    def test_is_restored_after_a_stop(self):
        with Screen() as s:
            s.type("set -m")
            s.keys("Enter")
            s.start()
            s.keys("C-z")
            s.until_says("Stopped")
            s.type("fg")
            s.keys("Enter")
            s.until_says("now   processes", "q quit")
            s.keys("q")
            s.until(lambda now: "now   processes" not in now)
            self.assertTrue(self.is_sane(s))

    def test_is_restored_after_signals(self):
        ends = {signal.SIGTERM: "0", signal.SIGQUIT: "131"}
        if not harness.is_sanitized():  # a sanitizer handles crashes itself, and does not restore the terminal
            ends[signal.SIGSEGV] = "139"
        for number, status in ends.items():
            with self.subTest(signal=number), Screen() as s:
                s.type("ulimit -c 0")
                s.keys("Enter")
                s.start()
                os.kill(s.pid(), number)
                s.ends(status)
                self.assertTrue(self.is_sane(s))

    @staticmethod
    def is_sane(s):
        s.type("stty -a | tr ' ' '\\n' | grep -xE 'icanon|echo' | wc -l | sed 's/^/modes /'")
        s.keys("Enter")
        s.until_says("modes 2")
        return s.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_standard_flag}").strip() == "0 1 0"

    def test_needs_a_terminal(self):
        done = subprocess.run([harness.CTPROF, "live"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Actprof: live requires a terminal; .*\n\Z")


if __name__ == "__main__":
    unittest.main()
