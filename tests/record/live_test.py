#!/usr/bin/python3
"""ctprof live, in a terminal of tmux's: each key does what its help says, at any width, and the terminal is whole afterwards.

Nothing here waits for a time: every step waits until the screen shows what it should. Run by tools/dev soak. Environment: CTPROF; TEST_SECONDS: how long
`Endures` goes on, a few seconds unless told."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402

SECONDS = int(os.environ.get("TEST_SECONDS", "4"))
PATIENCE = 60  # seconds, on a machine whose CPUs are taken away
RED = "\x1b[7m"  # reverse, as tmux tells it
# A process of two threads: they compute a little and sleep a little, so that either their time or their waiting is seen.
WORKER = r"""
import sys, threading, time
def name(text):
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "wb") as comm:
        comm.write(text)
def work():
    while True:
        sum(range(200000))
        time.sleep(0.02)
def second():
    name(b"live-two")
    work()
name(sys.argv[1].encode("latin-1"))
threading.Thread(target=second, daemon=True).start()
print("ready", flush=True)
work()
"""


def tmux_is_there():
    return shutil.which("tmux") is not None


def has_live():
    done = subprocess.run([harness.CTPROF, "live"], capture_output=True, text=True, check=False)
    return "built without" not in done.stderr


class Worker:
    def __init__(self, name="live-one"):
        self.process = subprocess.Popen([sys.executable, "-c", WORKER, name], stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Screen:
    """A shell in tmux, with a server of its own."""

    def __init__(self, columns=120, lines=30):
        self.scratch = tempfile.TemporaryDirectory(prefix="ctprof-live-")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
        self.environment = environment | {"TMUX_TMPDIR": self.scratch.name, "PS1": "$ ", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh", "ENV": ""}
        self.files = pathlib.Path(self.scratch.name) / "files"
        self.files.mkdir()
        self.tmux("-f", "/dev/null", "-u", "new-session", "-d", "-x", str(columns), "-y", str(lines), "-c", str(self.files), "exec /bin/sh")
        self.until(lambda text: "$" in text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        subprocess.run(["tmux", "kill-server"], env=self.environment, capture_output=True, check=False)
        self.scratch.cleanup()

    def tmux(self, *words):
        return subprocess.run(["tmux", *words], env=self.environment, capture_output=True, text=True, check=True).stdout

    def text(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def until(self, is_so):
        """Waits until the screen is so, and returns it."""
        end = time.monotonic() + PATIENCE
        while True:
            text = self.text()
            if is_so(text):
                return text
            if time.monotonic() > end:
                raise AssertionError("the screen did not become so:\n" + text)
            time.sleep(0.05)

    def until_says(self, *words):
        return self.until(lambda text: all(word in text for word in words))

    def start(self, *options):
        self.type(f"clear; {harness.CTPROF} live {' '.join(options)}; echo status $?")
        self.keys("Enter")
        return self.until_says("now   processes by name, by score", "q quit")

    def pid(self):
        """That of ctprof."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        children = pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        return int(children[0])

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def filter(self, text):
        self.keys("/")
        self.until_says("filter: _")
        self.type(text)
        self.until_says(f"filter: {text}_")
        self.keys("Enter")
        return self.until(lambda now: f"filter {text}" in now and "filter: " not in now)

    def chosen(self):
        """The line in reverse."""
        for line in self.text("-e").splitlines():
            if RED in line:
                return re.sub(r"\x1b\[[0-9;]*m", "", line).strip()
        return None

    def shown(self, name):
        """How long the window in that file is, as `show` tells it."""
        done = subprocess.run([harness.CTPROF, "show", str(self.files / name)], capture_output=True, text=True, check=True, timeout=harness.TIMEOUT)
        return float(re.search(r"   ([0-9.]+) s ", done.stdout).group(1))

    def ends(self, status="0"):
        return self.until_says(f"status {status}")


def head(text):
    """Which window it is: two may have ended in the same second."""
    return text.splitlines()[:2]


def clock(text):
    found = re.match(r"(\d\d:\d\d:\d\d)", text)
    return found.group(1) if found else None


def history(text):
    found = re.search(r"history (\d+):(\d\d)", text)
    return int(found.group(1)) * 60 + int(found.group(2))


@unittest.skipUnless(tmux_is_there(), "needs tmux")
@unittest.skipUnless(has_live(), "built without ncurses")
class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.worker = Worker()
        cls.other = Worker("also-busy")  # so that there are two rows, however quiet the host

    @classmethod
    def tearDownClass(cls):
        cls.worker.end()
        cls.other.end()

    def setUp(self):
        self.screen = Screen()
        self.screen.start()

    def tearDown(self):
        self.screen.end()

    def test_help_has_every_key(self):
        s = self.screen
        s.resize(120, 50)
        s.keys("?")
        keys = ("q ", "? h", "Enter", "Esc Backspace", "g ", "s ", "/ ", "Space", "[ Left", "] Right", "{ ", "} ", "a ", "b ", "c ", "w ", "Up k", "Down j",
                "PgUp", "PgDn", "Home", "End", "Ctrl-L")
        s.until_says("ctprof live: what happened", *("\n  " + key for key in keys))
        s.keys("?")
        s.until_says("processes by name")
        s.keys("q")
        s.ends()

    def test_groups_by_each_key_and_sorts(self):
        s = self.screen
        for words in ("cgroups, by score", "threads by name, by score", "each process, by score", "processes by name, by score"):
            s.keys("g")
            s.until_says(words)
        for by in ("by name", "by %CPU", "by %wait"):
            s.keys("s")
            text = s.until_says(by)
        self.assertIn("%wait", text)
        s.keys("C-c")
        s.ends()

    def test_filters_descends_and_comes_back(self):
        s = self.screen
        s.filter("LIVE-o")
        text = s.until_says("live-one")
        rows = text.split("process ", 1)[1].splitlines()[1:]
        self.assertEqual(rows[0].split()[0], "live-one")
        self.assertNotIn("also-busy", text)
        s.keys("Enter")
        text = s.until_says("threads of live-one, by score", "live-two")
        pid = self.worker.process.pid
        self.assertRegex(text, rf"live-one +{pid} ")
        s.filter("one")
        s.until(lambda now: "live-two" not in now)
        s.keys("Enter")
        s.until_says(f"thread {pid} of process {pid}", "run_time_ns")
        text = s.until(lambda now: re.search(r"run_time_ns .*[▁▂▃▄▅▆▇█]{2}", now))
        s.filter("cpu_affinity")  # what only a window of the process has
        s.until(lambda now: re.search(r"\ncpu_affinity +[0-9,-]+", now))
        s.keys("Escape")
        s.until_says("threads of live-one")
        s.keys("BSpace")
        s.until_says("processes by name")
        s.keys("/")
        s.type("no such name")
        s.until_says("no group that does something")
        s.keys("BSpace")
        s.until_says("filter: no such nam_")
        s.keys("Escape")
        s.until(lambda now: "filter no" not in now and "quit" in now)

    def test_holds_steps_marks_compares_and_writes(self):
        s = self.screen
        s.until(lambda now: history(now) >= 3)
        s.keys("Space")
        held = s.until_says("held, ")
        s.until(lambda now: history(now) > history(held) + 1)
        self.assertEqual(clock(s.text()), clock(held))
        s.keys("b")
        s.until_says("this window is B", f"B {clock(held)}")
        s.keys("[")
        earlier = s.until(lambda now: head(now) != head(held))
        s.keys("Left")
        first = s.until(lambda now: head(now) != head(earlier))
        s.keys("a")
        s.until_says("this window is A", f"A {clock(first)}")
        s.keys("Right")
        s.until(lambda now: head(now) == head(earlier))
        s.keys("{")
        s.until_says("the history begins here")
        s.keys("}")
        s.until_says("this is the newest window")
        s.keys("w")
        text = s.until_says("written: ")
        name = re.search(r"written: (\S+), 3 windows", text).group(1)
        seconds = s.shown(name)
        self.assertGreater(seconds, 1)  # a late window makes the next one shorter
        s.keys("c")
        s.until_says("A compared with B", "moved most", f"A: {clock(first)}", f"B: {clock(held)}")
        s.keys("c")
        s.until_says("held, ")
        s.keys("Space")
        s.until_says("now   processes")

    def test_writes_what_is_shown(self):
        s = self.screen
        s.keys("c")
        s.until_says("mark two windows first")
        s.keys("w")
        text = s.until_says("written: ", "1 window,")
        self.assertLess(s.shown(re.search(r"written: (\S+),", text).group(1)), 60)
        s.keys("w")
        s.until_says("written: ")

    def test_moves(self):
        s = self.screen
        s.keys("Space")
        s.until_says("held, ")
        first = s.chosen()
        s.keys("Down")
        s.until(lambda _: s.chosen() not in (None, first))
        second = s.chosen()
        s.keys("End")
        s.until(lambda _: s.chosen() not in (None, first))
        s.keys("Home")
        s.until(lambda _: s.chosen() == first)
        s.keys("j")
        s.until(lambda _: s.chosen() == second)
        s.keys("k")
        s.until(lambda _: s.chosen() == first)
        s.keys("NPage")
        s.until(lambda _: s.chosen() not in (None, first))
        s.keys("PPage")
        s.until(lambda _: s.chosen() == first)
        s.keys("C-l")
        s.until_says("held, ")


@unittest.skipUnless(tmux_is_there(), "needs tmux")
@unittest.skipUnless(has_live(), "built without ncurses")
class Terminals(unittest.TestCase):
    def test_every_width(self):
        with Screen(80, 24) as s:
            s.start()
            for columns, lines in ((200, 50), (120, 30), (80, 24), (40, 10)):
                s.resize(columns, lines)
                s.until(lambda now: len(now.splitlines()) == lines and now.splitlines()[-1].startswith("q quit"))
                self.assertTrue(all(len(line) <= columns for line in s.text().splitlines()))
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

    def test_is_whole_after_it_was_stopped(self):
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

    def test_is_whole_after_signals(self):
        ends = {signal.SIGTERM: "0", signal.SIGQUIT: "131"}
        if not harness.is_sanitized():  # a sanitizer takes crashes itself, and knows no terminal
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
        return s.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").strip() == "0 1"

    def test_needs_a_terminal(self):
        done = subprocess.run([harness.CTPROF, "live"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Actprof: live needs a terminal .*\n\Z")


@unittest.skipUnless(tmux_is_there(), "needs tmux")
@unittest.skipUnless(has_live(), "built without ncurses")
class Endures(unittest.TestCase):
    """Beside programs that come and go; TEST_SECONDS=600 is the long form."""

    def rss(self, pid):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))

    def test_neither_ends_nor_grows(self):
        churn = subprocess.Popen(["/bin/sh", "-c", "while :; do /bin/true; done"])
        try:
            with Worker(), Screen() as s:
                s.start("--history", "1M")
                pid = s.pid()
                begin, first = time.monotonic(), None
                widths = [(80, 24), (120, 30), (200, 50)]
                rounds = 0
                while time.monotonic() - begin < SECONDS:
                    s.resize(*widths[rounds % 3])
                    for key in ("g", "s", "Enter", "Enter", "Down", "Escape", "Escape", "a", "[", "[", "b", "c", "c", "Space"):
                        s.keys(key)
                    s.keys("Escape", "Escape", "Escape", "?")
                    s.until_says("ctprof live: what happened")  # all keys before were served
                    s.keys("?")
                    s.until(lambda now: "what happened" not in now and "history" in now)
                    rounds += 1
                    if rounds == 10:
                        first = self.rss(pid)
                if first and SECONDS >= 300:
                    self.assertLess(self.rss(pid), first * 1.5 + 20_000)
                s.keys("Escape", "Escape", "Escape", "q")
                s.ends()
        finally:
            churn.kill()
            churn.wait()


if __name__ == "__main__":
    unittest.main()
