#!/usr/bin/python3
"""Tests that long text on a terminal is shown in a pager, as in git, and that no pager runs elsewhere or if it cannot be started."""

import fcntl
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402

LINES, COLUMNS = 24, 60
PIPE_CAPACITY = 1 << 16  # bytes that a pipe accepts without a reader
OUTPUT_VARIABLES = ("CTPROF_PAGER", "PAGER", "LESS", "LV", "NO_COLOR", "CLICOLOR_FORCE")
PAGED = {"CTPROF_PAGER": "sed 's/^/paged: /'"}
SNAPSHOT = pathlib.Path(__file__).parent / "snapshot.py"
TERMINAL_CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07")


class OnTerminal:
    """A ctprof process on a pseudo-terminal that the test controls."""

    def __init__(self, *words, prefix=(), program=harness.CTPROF, size=(LINES, COLUMNS), **environment):
        kept = {name: value for name, value in os.environ.items() if name not in OUTPUT_VARIABLES}
        self.ours, its = os.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.process = subprocess.Popen([*prefix, program, *map(str, words)], stdin=its, stdout=its, stderr=its, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), env=kept | {"TERM": "xterm"} | environment)
        os.close(its)
        self.text = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.ours)

    def read_until(self, is_enough, seconds=harness.TIMEOUT):
        """Reads until the condition holds for the entire output, or the terminal is closed; returns whether it holds."""
        end = time.monotonic() + seconds
        while not is_enough(self.text) and time.monotonic() < end:
            if not select.select([self.ours], [], [], 1)[0]:
                continue
            try:
                self.text += os.read(self.ours, 1 << 16).decode()
            except OSError:  # the other end is closed
                break
        return is_enough(self.text)

    def press(self, keys):
        os.write(self.ours, keys)

    def finish(self):
        """Waits for the exit status; `text` then contains the entire output."""
        self.read_until(lambda text: False)
        return self.process.wait(harness.TIMEOUT)

    def lines(self):
        return TERMINAL_CODE.sub("", self.text.replace("\r", "")).splitlines()


def run_on_terminal(*words, **environment):
    """Returns the terminal output of a ctprof that exits without input, and its status."""
    with OnTerminal(*words, **environment) as run:
        status = run.finish()
        return run.text.replace("\r", ""), status


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = harness.scratch()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.file = os.path.join(cls.scratch.name, "a.ctprof.zst")
        harness.capture_tree("6.12", cls.file)
        os.chmod(cls.file, 0o644)
        cls.show_words = ("show", "-q", cls.file, "--limit", "0")  # without the progress messages of a slow machine

    def plain(self, *words):
        return run_on_terminal(*words, "--no-pager")[0]


class Programs(Case):
    def test_commands_that_use_the_pager(self):
        for words in (self.show_words, ("compare", "-q", self.file, self.file, "--lifetime"), ("metric-list",), ("help", "run_time_ns"), ("help", "show"),
                      ("show", "--help"), ("--help",), ("plugins",), ("doctor",)):
            text, status = run_on_terminal(*words, **PAGED)
            self.assertEqual(status, 0, words)
            self.assertEqual({line[:7] for line in text.splitlines()}, {"paged: "}, words)

    def test_ctprof_pager_has_priority(self):
        self.assertRegex(run_on_terminal("--help", PAGER="echo mine; cat")[0], "^mine\n")
        self.assertRegex(run_on_terminal("--help", CTPROF_PAGER="echo its; cat", PAGER="echo mine; cat")[0], "^its\n")

    def test_pager_can_be_disabled(self):
        plain = self.plain(*self.show_words)
        self.assertGreater(plain.count("\n"), LINES)
        for environment in ({"CTPROF_PAGER": ""}, {"CTPROF_PAGER": "cat"}, {"PAGER": ""}, {"CTPROF_PAGER": "", "PAGER": "echo mine"}):
            self.assertEqual(run_on_terminal(*self.show_words, **environment), (plain, 0), environment)
        self.assertEqual(run_on_terminal(*self.show_words, "--no-pager", **PAGED), (plain, 0))

    def test_no_pager_without_a_terminal(self):
        environment = os.environ | PAGED
        piped = subprocess.run([harness.CTPROF, *self.show_words], env=environment, check=True, capture_output=True, text=True)
        self.assertNotIn("paged", piped.stdout)

    def test_json_is_not_paged(self):
        self.assertEqual(run_on_terminal("metric-list", "--format", "json", **PAGED)[0][:1], "{")

    def test_prints_directly_if_pager_fails(self):
        plain = self.plain(*self.show_words)
        for pager in ("no-such-pager", "/dev/null", "kill -9 $$", "false", "exit 3"):
            self.assertEqual(run_on_terminal(*self.show_words, CTPROF_PAGER=pager), (plain, 0), pager)
        text, status = run_on_terminal(*self.show_words, CTPROF_PAGER="no-such-pager with words")
        self.assertEqual((text[text.index("\n") + 1:], status), (plain, 0))  # after the message of sh

    def test_quitting_the_pager_ends_ctprof(self):
        self.assertEqual(run_on_terminal(*self.show_words, CTPROF_PAGER="head -1")[0].count("\n"), 1)
        many = os.path.join(self.scratch.name, "many.ctprof.zst")
        subprocess.run([SNAPSHOT, many.removesuffix(".ctprof.zst"), "times=1000 run_time_ns=5"], check=True)
        more = ("show", "-q", many, "--limit", "0", "--group-by", "pid")
        self.assertGreater(len(harness.run(*more).stdout), PIPE_CAPACITY)
        self.assertEqual(run_on_terminal(*more, CTPROF_PAGER="true"), ("", 0))

    def test_status_is_that_of_ctprof(self):
        self.assertEqual(run_on_terminal(*self.show_words, "--fail-on", "thread_count > 0", **PAGED)[1], 1)
        self.assertEqual(run_on_terminal("show", "/absent", **PAGED), ("ctprof: reading '/absent': No such file or directory\n", 2))

    def test_sets_options_of_less(self):
        settings = {"CTPROF_PAGER": 'cat >/dev/null; echo "$LESS $LV"'}
        self.assertEqual(run_on_terminal("--help", **settings)[0], "FRX -c\n")
        self.assertEqual(run_on_terminal("--help", LESS="S", LV="-a", **settings)[0], "S -a\n")

    def test_uses_width_and_colours_of_terminal(self):
        text = run_on_terminal(*self.show_words, CTPROF_PAGER="cat -v")[0].replace("\r", "")
        self.assertIn("^[[36m", text)
        cut = [line for line in re.sub(r"\^\[\[[0-9;]*m", "", text).splitlines() if "M-" not in line]
        self.assertGreater(max(map(len, cut)), COLUMNS // 2)
        self.assertLessEqual(max(map(len, cut)), COLUMNS)


@unittest.skipUnless(shutil.which("less"), "needs less")
class Less(Case):
    def test_short_text_is_not_paged(self):
        text, status = run_on_terminal("version", "--no-pager")
        with OnTerminal("config") as run:
            self.assertEqual(run.finish(), 0)
            self.assertIn("  environment: read", run.lines())
        self.assertEqual(status, 0, text)


@unittest.skipUnless(harness.can_become_user() and shutil.which("setcap"), "needs root, and setcap")
class PrivilegedPager(Case):
    def test_pager_can_be_disabled(self):
        closed = harness.root_only_scratch()
        self.addCleanup(closed.cleanup)
        program = harness.product_copy(harness.CTPROF, closed.name)
        # show and help drop capabilities immediately, so only the file capabilities matter.
        subprocess.run(["setcap", "cap_dac_read_search+ep", program], check=True)
        for words in (self.show_words, ("metric-list",), ("doctor",)):
            with OnTerminal(*words, program=program, prefix=harness.USER, **PAGED) as run:
                self.assertTrue(run.read_until(lambda text: "\n" in text))
                self.assertEqual(run.finish(), 0, words)
                self.assertGreater(len(run.lines()), LINES, words)
                self.assertNotIn("paged", run.text, words)


if __name__ == "__main__":
    harness.main()
