"""What the parity tests share: running ctprof, the helper programs, and where fixtures are.

The build passes: CTPROF, SLEEPERS, CHURN, POOLS (programs) and FIXTURES (the directory of recorded trees).
"""

import contextlib
import fcntl
import functools
import os
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from product_copy import product_copy

CTPROF = os.environ.get("CTPROF", "ctprof")
os.environ.pop("COLUMNS", None)  # output that is captured is as wide as it likes
TIMEOUT = 600  # seconds after which what does not answer never will, on the slowest machine

USER = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"]


def kernels():
    """Names of all recorded trees."""
    trees = os.environ["FIXTURES"]
    return sorted(name for name in os.listdir(trees) if os.path.isdir(os.path.join(trees, name, "proc")))


def fixture(kernel):
    return os.path.join(os.environ["FIXTURES"], kernel)


def scratch():
    """A directory of our own that any user may write to, removed at the end."""
    directory = tempfile.TemporaryDirectory(prefix="ctprof-test-")
    os.chmod(directory.name, 0o777)
    return directory


def closed_scratch():
    """The same where every directory on the way is root's alone, this one included: a ctprof with capabilities loads nothing from
    another. REQUIRES: root."""
    directory = tempfile.TemporaryDirectory(prefix="ctprof-test-", dir="/opt" if os.path.isdir("/opt") else "/usr")
    os.chmod(directory.name, 0o755)
    return directory


@functools.cache
def reachable():
    """A directory that lives as long as we do, and in it a ctprof that other users can run."""
    directory = scratch()
    return directory, product_copy(CTPROF, directory.name)


SLOW = re.compile(r"^ctprof: .* has been in \w+ for \d+ s\n", re.M)


def without_slowness(text):
    """The text without lines that name a source which takes long: on a busy machine any may."""
    return SLOW.sub("", text)


def run(*words, prefix=()):
    program = reachable()[1] if prefix else CTPROF
    done = subprocess.run([*prefix, program, *words], capture_output=True, timeout=TIMEOUT, check=False, text=True,
                          errors="surrogateescape")
    done.stderr = without_slowness(done.stderr)
    return done


@contextlib.contextmanager
def beside(*words, **more):
    """A process as long as the block lasts, however that ends: nobody waits for it once an assertion has failed."""
    with subprocess.Popen([*map(str, words)], **more) as process:
        try:
            yield process
        finally:
            process.kill()


def busy():
    """The same, of one that always computes."""
    return beside(sys.executable, "-c", "while True: pass")


def on_a_terminal(size, *words):
    """What ctprof writes, in bytes, to a terminal of so many lines and columns; no pager."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    with subprocess.Popen([CTPROF, *words, "--no-pager"], stdout=its, stdin=subprocess.DEVNULL) as process:
        os.close(its)
        pieces = []
        with contextlib.suppress(OSError):  # which is how a terminal says that its other end is closed
            while piece := os.read(ours, 1 << 16):
                pieces.append(piece)
        os.close(ours)
    assert process.returncode in (0, 1), words
    return b"".join(pieces).replace(b"\r\n", b"\n")


def is_sanitized():
    """Whether the product was built with a sanitizer, which handles crashes by itself."""
    with open(CTPROF, "rb") as file:
        program = file.read()
    return b"__asan_init" in program or b"__tsan_init" in program


def strace_works():
    try:
        return subprocess.run(["strace", "-o", os.devnull, "true"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def under_strace(test, options, *words, log=os.devnull):
    """A finished run of ctprof that strace looks at, with its log in a file; skips the test where there is no strace, or no leave to use it.
    A process that is traced cannot look for its own leaks."""
    if not strace_works():
        test.skipTest("needs strace, and leave to use it")
    environment = os.environ | {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    return subprocess.run(["strace", "-o", log, *options, CTPROF, *words], env=environment, check=True, capture_output=True, text=True,
                          timeout=TIMEOUT)


def capture(path, *words, before=(), prefix=()):
    """Captures into `path`; returns the finished run. `before` are options before the verb."""
    done = run(*before, "capture", "-o", path, *words, prefix=prefix)
    if done.returncode != 0:
        raise AssertionError(f"capture failed with {done.returncode}: {done.stderr}")
    return done


def capture_tree(kernel, path, *words):
    return capture(path, *words, before=("--rootfs", fixture(kernel)))


def can_become_user():
    """Whether we may run ctprof as somebody without rights."""
    if os.geteuid() != 0:
        return False
    return run("version", prefix=USER).returncode == 0


class Process:
    """A program that is ready when it says so, and ends when its input does."""

    def __init__(self, command, cwd=None):
        self.command = command
        self.cwd = cwd

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.cwd)
        readable, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
        if not readable or self.process.stdout.readline() != b"ready\n":
            self.process.kill()
            raise AssertionError(f"{self.command[0]} did not get ready")
        return self

    @property
    def pid(self):
        return self.process.pid

    def finish(self):
        """Ends it and returns what else it said."""
        said, _ = self.process.communicate(timeout=TIMEOUT)
        return said.decode()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.finish()


class Helper(Process):
    """One of our C programs."""

    def __init__(self, variable, *words, cwd=None):
        super().__init__([os.environ[variable], *words], cwd)


class Switch:
    """A sysctl, by its path, set as long as a test needs it. Others who do the same wait for each other."""

    def __init__(self, path, value):
        self.path = path
        self.value = value

    def __enter__(self):
        self.file = open(self.path, "r+", encoding="ascii")
        fcntl.flock(self.file, fcntl.LOCK_EX)
        self.before = self.file.read()
        self._write(self.value)

    def _write(self, value):
        self.file.seek(0)
        self.file.write(value)
        self.file.flush()

    def __exit__(self, *_):
        self._write(self.before)
        self.file.close()


def needs_namespaces(test, options):
    """Skips the test where one may not have them: without root, and in a chroot, whose root cannot be mounted anew."""
    may = subprocess.run(["unshare", *options, "true"], capture_output=True, check=False).returncode == 0
    if os.geteuid() != 0 or not may:
        test.skipTest(f"may not unshare {' '.join(options)}")


def sleeps(pid):
    """Whether every thread of the process does."""
    states = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stat", "rb") as file:
            states.append(file.read().rpartition(b")")[2].split()[0])
    return set(states) == {b"S"}


def settled(read, pid=None):
    """What `read()` gives once it gives the same twice in a row, and all threads of process `pid` sleep: on a busy machine one of
    low priority may wait for its turn meanwhile."""
    while pid and not sleeps(pid):
        time.sleep(0.02)
    last = read()
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        time.sleep(0.02)
        now = read()
        if now == last:
            return now
        last = now
    raise AssertionError("what should be asleep keeps changing")


def main():
    """Runs the tests of the calling file; 77, meson's word for skipped, if not one of them could run."""
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    if result.skipped and len(result.skipped) >= result.testsRun:  # a class that skips as a whole has run nothing
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
