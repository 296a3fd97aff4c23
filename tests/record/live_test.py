#!/usr/bin/python3
"""ctprof live in a tmux terminal: each key works as the help describes, at any width, and the terminal is restored afterwards.

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
        s.wait_for_text("ctprof live: the last window of this host", *("\n  " + key for key in keys))
        s.keys("?")
        s.wait_for_text("processes by name")
        s.keys("q")
        s.check_exit()

    def test_grouping_and_sorting(self):
        s = self.screen
        for words in ("cgroups, by score", "threads by name, by score", "each process, by score", "processes by name, by score"):
            s.keys("g")
            s.wait_for_text(words)
        for by in ("by name", "by %CPU", "by %wait"):
            s.keys("s")
            s.wait_until(lambda now, by=by: by in now and "%wait" in now)
        s.keys("C-c")
        s.check_exit()

    def test_reverse_hide_and_interval(self):
        s = self.screen
        s.keys("r")
        s.wait_for_text("by score, reversed")
        s.keys("r")
        s.wait_until(lambda now: "reversed" not in now)
        s.keys("K")
        s.wait_for_text("kernel threads are hidden")
        s.keys("+")
        s.wait_for_text("every 2 s", "windows take 2 s from now on")
        s.wait_until(lambda now: re.match(r"\d\d:\d\d:\d\d   [2-9]\.\d s ", now))
        s.keys("-", "-")
        s.wait_for_text("every 0.5 s")
        s.wait_until(lambda now: re.match(r"\d\d:\d\d:\d\d   0\.\d s ", now))
        s.keys("q")
        s.check_exit()

    def test_filter_enter_and_back(self):
        s = self.screen
        s.filter(self.name.lower())
        s.wait_until(lambda now: first_row(now, "process ") == self.name and "also-busy" not in now)
        s.keys("Enter")
        pid = self.worker.process.pid
        s.wait_until(lambda now: f"threads of {self.name}, by score" in now and self.second in now and re.search(rf"{self.name} +{pid} ", now))
        s.filter(self.name[:6].upper())
        s.wait_until(lambda now: self.second not in now)
        s.keys("Enter")
        s.wait_for_text(f"thread {pid} of process {pid}", "run_time_ns")
        s.wait_until(lambda now: re.search(r"run_time_ns .*[▁▂▃▄▅▆▇█]{2}", now))
        s.filter("cpu_affinity")  # which is read only for the selected process
        s.wait_until(lambda now: re.search(r"\ncpu_affinity +[0-9,-]+", now))
        s.keys("Escape")
        s.wait_for_text(f"threads of {self.name}")
        s.keys("BSpace")
        s.wait_for_text("processes by name")
        s.keys("/")
        s.type("no such name")
        s.wait_for_text("no name of an active group contains the filter text")
        s.keys("BSpace")
        s.wait_for_text("filter: no such nam_")
        s.keys("Escape")
        s.wait_until(lambda now: "filter no" not in now and "quit" in now)

    def test_hold_step_mark_compare_and_write(self):
        s = self.screen
        s.wait_until(lambda now: history(now) >= 3)
        s.keys("Space")
        paused = s.wait_for_whole_frame("paused, ")
        s.wait_until(lambda now: history(now) > history(paused) + 1 and head(now) == head(paused))
        s.keys("b")
        s.wait_for_text("this window is B", f"B {clock(paused)}")
        s.keys("[")
        earlier = s.wait_for_whole_frame("paused, ", other_than=paused)
        s.keys("Left")
        first = s.wait_for_whole_frame("paused, ", other_than=earlier)
        s.keys("a")
        s.wait_for_text("this window is A", f"A {clock(first)}")
        s.keys("Right")
        s.wait_until(lambda now: head(now) == head(earlier))
        s.press_until("{", "the history begins here")
        s.press_until("}", "this is the newest window")
        s.keys("w")
        seconds = s.show_length(s.wait_for_written_file("3 windows"))
        self.assertGreater(seconds, 1)  # after a delayed window the next one is shorter
        s.keys("c")
        s.wait_for_text("A compared with B", "moved most", f"A: {clock(first)}", f"B: {clock(paused)}")
        s.keys("c")
        s.wait_for_text("paused, ")
        s.keys("Space")
        s.wait_for_text("now   processes")

    def test_writes_the_displayed_window(self):
        s = self.screen
        s.keys("c")
        s.wait_for_text("mark two windows first")
        s.keys("w")
        first = s.wait_for_written_file("1 window")
        self.assertLess(s.show_length(first), 60)
        s.keys("w")
        s.wait_until(lambda now: s.written_file(now, "1 window") not in (None, first))

    def click(self, column, line, button=0):
        """Sends a mouse click as a terminal with TERM=screen reports it: coordinates start at 1."""
        for code in (button, 3):
            self.screen.tmux("send-keys", "-H", "1b", "5b", "4d", *(f"{32 + n:x}" for n in (code, column + 1, line + 1)))

    def mouse(self):
        return self.screen.tmux("display-message", "-p", "#{mouse_any_flag}#{mouse_standard_flag}").strip()

    def test_mouse(self):
        s = self.screen
        s.keys("Space")
        text = s.wait_for_whole_frame("paused, ")
        self.assertEqual(self.mouse()[-1], "1")
        lines = text.splitlines()
        heading = next(at for at, line in enumerate(lines) if line.startswith("process "))
        self.click(lines[heading].index("%CPU"), heading)
        s.wait_for_text("by %CPU")
        self.click(lines[heading].index("%CPU"), heading)
        s.wait_for_text("by %CPU, reversed")
        self.click(0, heading)
        text = s.wait_for_text("by name ")
        row = text.splitlines()[heading + 2].split()[0]
        self.click(3, heading + 2)
        s.wait_for_selected_line(lambda line: line is not None and line.split()[0] == row)
        s.keys("?")
        s.wait_for_text("ctprof live: the last window")
        self.click(3, 3, 65)  # the wheel
        s.wait_until(lambda now: "ctprof live: the last window" not in now and "Ctrl-L" in now)
        s.keys("?", "m")
        s.wait_for_text("the mouse is off")
        self.assertEqual(self.mouse()[-1], "0")
        s.keys("m")
        s.wait_for_text("the mouse is on")
        s.keys("q")
        s.check_exit()
        self.assertEqual(self.mouse()[-1], "0")

    def test_cursor_keys(self):
        s = self.screen
        s.keys("Space")
        s.wait_for_text("paused, ")
        first = s.wait_for_selected_line(lambda row: row is not None)
        s.keys("Down")
        second = s.wait_for_selected_line(lambda row: row not in (None, first))
        s.keys("End")
        s.wait_for_selected_line(lambda row: row not in (None, first))
        s.keys("Home")
        s.wait_for_selected_line(lambda row: row == first)
        s.keys("j")
        s.wait_for_selected_line(lambda row: row == second)
        s.keys("k")
        s.wait_for_selected_line(lambda row: row == first)
        s.keys("NPage")
        s.wait_for_selected_line(lambda row: row not in (None, first))
        s.keys("PPage")
        s.wait_for_selected_line(lambda row: row == first)
        s.keys("C-l")
        s.wait_for_text("paused, ")


@needs_terminal
class Terminals(unittest.TestCase):
    def test_every_width(self):
        with Screen(80, 24) as s:
            s.start()
            for columns, lines in ((200, 50), (120, 30), (80, 24), (40, 10)):
                s.resize(columns, lines)
                s.wait_until(lambda now, columns=columns, lines=lines: len(now.splitlines()) == lines and now.splitlines()[-1].startswith("q quit")
                             and all(len(line) <= columns for line in now.splitlines()))
            for _ in range(5):  # at arbitrary times: while it reads the host, or draws
                s.resize(39, 10)
                s.wait_for_text("needs a terminal of 40")
                s.resize(120, 30)
                s.wait_for_text("now   processes")
            s.keys("q")
            s.check_exit()

    def test_names_are_text(self):
        with Worker("\x1b[31ml\xe2\x80\xaeive") as _, Screen() as s:
            s.start()
            s.keys("/")
            s.type("ive")
            s.wait_for_text(r"\x1b[31ml\u202eive")
            raw = s.text("-e")
            self.assertNotIn("\u202e", raw)
            self.assertNotIn("\x1b[31ml", raw)

    def test_is_restored_after_a_stop(self):
        with Screen() as s:
            s.type("set -m")
            s.keys("Enter")
            s.start()
            s.keys("C-z")
            s.wait_for_text("Stopped")
            s.type("fg")
            s.keys("Enter")
            s.wait_for_text("now   processes", "q quit")
            s.keys("q")
            s.wait_until(lambda now: "now   processes" not in now)
            self.assertTrue(self.is_sane(s))

    def test_is_restored_after_signals(self):
        status_by_signal = {signal.SIGTERM: "0", signal.SIGQUIT: "131"}
        if not harness.is_sanitized():  # a sanitizer handles crashes itself, and does not restore the terminal
            status_by_signal[signal.SIGSEGV] = "139"
        for number, status in status_by_signal.items():
            with self.subTest(signal=number), Screen() as s:
                s.type("ulimit -c 0")
                s.keys("Enter")
                s.start()
                os.kill(s.pid(), number)
                s.check_exit(status)
                self.assertTrue(self.is_sane(s))

    @staticmethod
    def is_sane(s):
        s.type("stty -a | tr ' ' '\\n' | grep -xE 'icanon|echo' | wc -l | sed 's/^/modes /'")
        s.keys("Enter")
        s.wait_for_text("modes 2")
        return s.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_standard_flag}").strip() == "0 1 0"

    def test_needs_a_terminal(self):
        finished = subprocess.run([harness.CTPROF, "live"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual((finished.returncode, finished.stdout), (2, ""))
        self.assertRegex(finished.stderr, r"\Actprof: live requires a terminal; .*\n\Z")


if __name__ == "__main__":
    unittest.main()
