"""ctprof live in a tmux terminal that tests control and read, and a process to display there.

Every step waits until the screen has the expected content. A frame is written in pieces, so a screen may have parts of two frames: conditions that belong
together must be checked in one `until`. If the condition does not become true in time, the error contains the screen.

Environment: CTPROF.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402

TIMEOUT = 60  # seconds, for a busy virtual machine
REVERSE = re.compile(r"\x1b\[(?:\d+;)*7(?:;\d+)*m")  # a sequence of attributes with reverse video, as tmux prints it
# A process with two threads that alternately compute and sleep, so that both CPU time and waits are visible.
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
    name(sys.argv[2].encode("latin-1"))
    work()
name(sys.argv[1].encode("latin-1"))
threading.Thread(target=second, daemon=True).start()
print("ready", flush=True)
work()
"""


def needs_terminal(case):
    """Decorates a class of tests: skips them without tmux or without `live`."""
    live_message = subprocess.run([harness.CTPROF, "live"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL).stderr
    for is_so, why in ((shutil.which("tmux"), "needs tmux"), ("built without" not in live_message, "built without ncurses")):
        if not is_so:
            return unittest.skip(why)(case)
    return case


def head(text):
    """Returns the lines that identify the window; the time alone may be the same for two windows."""
    return text.splitlines()[:2]


def clock(text):
    found = re.match(r"(\d\d:\d\d:\d\d)", text)
    return found.group(1) if found else None


def history(text):
    """Returns the displayed length of the history in seconds; -1 if there is none."""
    found = re.search(r"history (\d+):(\d\d)", text)
    return int(found.group(1)) * 60 + int(found.group(2)) if found else -1


def first_row(text, heading):
    """Returns the name in the first row of the table."""
    rows = text.partition("\n" + heading)[2].splitlines()[1:]
    return rows[0].split()[0] if rows and rows[0].split() else None


def own_name(word):
    """Returns a name that no other process of the host has, even in another run of this test. It has no digits, which are normalised in names."""
    letters, rest = "", os.getpid()
    while rest:
        letters, rest = chr(ord("a") + rest % 26) + letters, rest // 26
    return f"{word}-{letters}"


class Worker:
    """A process with two threads of these names; the first one is also the name of the process."""

    def __init__(self, name="worker", second="second"):
        self.process = subprocess.Popen([sys.executable, "-c", WORKER, name, second], stdout=subprocess.PIPE)
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
    """A shell in a tmux server of its own."""

    def __init__(self, columns=120, lines=30):
        self.scratch = tempfile.TemporaryDirectory(prefix="ctprof-live-")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
        self.environment = environment | {"TMUX_TMPDIR": self.scratch.name, "PS1": "$ ", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh", "ENV": ""}
        self.files = pathlib.Path(self.scratch.name) / "files"
        self.files.mkdir()
        self.tmux("-f", "/dev/null", "-u", "new-session", "-d", "-x", str(columns), "-y", str(lines), "-c", str(self.files), "exec /bin/sh")
        self.wait_until(lambda text: "$" in text)

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

    def wait_until(self, is_so):
        """Waits until is_so(screen), and returns the screen."""
        end = time.monotonic() + TIMEOUT
        while True:
            text = self.text()
            if is_so(text):
                return text
            if time.monotonic() > end:
                raise AssertionError("the screen never had the expected content:\n" + text)
            time.sleep(0.05)

    def wait_for_whole_frame(self, word, other_than=None):
        """Waits for a complete frame that contains the word, and returns the screen. For windows that stay on the screen: their frames differ only in the history.
        The frame is of another window than the screen `other_than`."""
        before = None

        def is_whole(text):
            nonlocal before
            last, before = before, text
            return word in text and last is not None and head(last) == head(text) and (other_than is None or head(text) != head(other_than))

        return self.wait_until(is_whole)

    def wait_for_text(self, *words):
        return self.wait_until(lambda text: all(word in text for word in words))

    def start(self, *options):
        self.type(f"clear; {harness.CTPROF} live {' '.join(options)}; echo status $?")
        self.keys("Enter")
        return self.wait_for_text("now   processes by name, by score", "q quit")

    def pid(self):
        """Returns the pid of ctprof."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        children = pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        return int(children[0])

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def filter(self, text):
        self.keys("/")
        self.wait_for_text("filter: _")
        self.type(text)
        self.wait_for_text(f"filter: {text}_")
        self.keys("Enter")
        return self.wait_until(lambda now: f"filter {text}" in now and "filter: " not in now)

    def press_until(self, key, word):
        """Presses the key again and again, each time after the window has changed, until the screen contains the word."""
        while True:
            before = head(self.text())
            self.keys(key)
            if word in self.wait_until(lambda now, before=before: word in now or head(now) != before):
                return

    @staticmethod
    def written_file(text, windows):
        """Returns the name of the file if the screen reports that it was written, else None."""
        found = re.search(rf"written: (\S+), {windows},", text)
        return found and found.group(1)

    def wait_for_written_file(self, windows):
        return self.written_file(self.wait_until(lambda now: self.written_file(now, windows)), windows)

    def wait_for_selected_line(self, is_so):
        """Waits until is_so(selected line) in two consecutive reads, and returns the line."""
        seen = [None]

        def is_found(_):
            seen.append(self.selected_line())
            return is_so(seen[-1]) and seen[-1] == seen[-2]

        try:
            self.wait_until(is_found)
        except AssertionError as why:
            raise AssertionError(f"{why}\nselected lines: {sorted(set(map(str, seen)))}") from why
        return seen[-1]

    def selected_line(self):
        """Returns the selected line, which is in reverse video."""
        for line in self.text("-e").splitlines():
            if REVERSE.search(line):
                return re.sub(r"\x1b\[[0-9;]*m", "", line).strip()
        return None

    def show_length(self, name):
        """Returns the length of the window in the file in seconds, as `show` prints it."""
        finished = subprocess.run([harness.CTPROF, "show", str(self.files / name)], capture_output=True, text=True, check=True, timeout=harness.TIMEOUT)
        return float(re.search(r"   ([0-9.]+) s ", finished.stdout).group(1))

    def check_exit(self, status="0"):
        return self.wait_for_text(f"status {status}")
