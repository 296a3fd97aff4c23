"""Shared functions of the parity tests: running ctprof and the helper programs, and finding fixtures.

The build passes CTPROF, SLEEPERS, CHURN, POOLS (programs) and FIXTURES (the directory of recorded trees).
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
os.environ.pop("COLUMNS", None)  # captured output must not depend on a terminal width
TIMEOUT = 600  # seconds; a program that takes longer hangs, even on the slowest machine

USER = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"]


def kernels():
    """Returns the names of all recorded trees."""
    trees = os.environ["FIXTURES"]
    return sorted(name for name in os.listdir(trees) if os.path.isdir(os.path.join(trees, name, "proc")))


def fixture(kernel):
    return os.path.join(os.environ["FIXTURES"], kernel)


def scratch():
    """Returns a new directory that any user may write to. Its cleanup() removes it."""
    directory = tempfile.TemporaryDirectory(prefix="ctprof-test-")
    os.chmod(directory.name, 0o777)
    return directory


def root_only_scratch():
    """Returns a new directory below directories that only root can change; so is the directory itself. A ctprof with capabilities loads
    nothing from any other place. REQUIRES: root."""
    directory = tempfile.TemporaryDirectory(prefix="ctprof-test-", dir="/opt" if os.path.isdir("/opt") else "/usr")
    os.chmod(directory.name, 0o755)
    return directory


@functools.cache
def reachable_copy():
    """Returns a directory that exists until the test program exits, and the path of a ctprof in it that other users can run."""
    directory = scratch()
    return directory, product_copy(CTPROF, directory.name)


SLOW = re.compile(r"^ctprof: .* has been in \w+ for \d+ s\n", re.M)


def remove_slowness(text):
    """Removes the lines that name a slow source: on a busy machine any source may be slow."""
    return SLOW.sub("", text)


def run(*words, prefix=()):
    program = reachable_copy()[1] if prefix else CTPROF
    process = subprocess.run([*prefix, program, *words], capture_output=True, timeout=TIMEOUT, check=False, text=True,
                             errors="surrogateescape")
    process.stderr = remove_slowness(process.stderr)
    return process


@contextlib.contextmanager
def background_process(*words, **more):
    """Runs a process during the block and kills it at the end, even if an assertion fails."""
    with subprocess.Popen([*map(str, words)], **more) as process:
        try:
            yield process
        finally:
            process.kill()


def busy_process():
    """Runs a process that computes all the time during the block."""
    return background_process(sys.executable, "-c", "while True: pass")


def on_a_terminal(size, *words):
    """Returns the output of ctprof, in bytes, on a terminal of this size, without a pager."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    with subprocess.Popen([CTPROF, *words, "--no-pager"], stdout=its, stdin=subprocess.DEVNULL) as process:
        os.close(its)
        pieces = []
        with contextlib.suppress(OSError):  # a terminal reports by an error that its other end is closed
            while piece := os.read(ours, 1 << 16):
                pieces.append(piece)
        os.close(ours)
    assert process.returncode in (0, 1), words
    return b"".join(pieces).replace(b"\r\n", b"\n")


def is_sanitized():
    """Returns whether the product was built with a sanitizer, which handles crashes by itself."""
    with open(CTPROF, "rb") as file:
        program = file.read()
    return b"__asan_init" in program or b"__tsan_init" in program


def strace_works():
    try:
        return subprocess.run(["strace", "-o", os.devnull, "true"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def under_strace(test, options, *words, log=os.devnull):
    """Runs ctprof under strace, with its log in a file, and returns the finished run. Skips the test if strace is missing or not permitted.
    A traced process cannot check itself for leaks."""
    if not strace_works():
        test.skipTest("needs strace, and permission to use it")
    environment = os.environ | {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    return subprocess.run(["strace", "-o", log, *options, CTPROF, *words], env=environment, check=True, capture_output=True, text=True,
                          timeout=TIMEOUT)


def capture(path, *words, before=(), prefix=()):
    """Captures into `path` and returns the finished run. `before` are options before the command."""
    process = run(*before, "capture", "-o", path, *words, prefix=prefix)
    if process.returncode != 0:
        raise AssertionError(f"capture failed with {process.returncode}: {process.stderr}")
    return process


def capture_tree(kernel, path, *words):
    return capture(path, *words, before=("--rootfs", fixture(kernel)))


def can_become_user():
    """Returns whether the test can run ctprof as an unprivileged user."""
    if os.geteuid() != 0:
        return False
    return run("version", prefix=USER).returncode == 0


class Process:
    """A program that prints "ready" when it is ready, and exits at the end of its input."""

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
        """Ends the program and returns the rest of its output."""
        output, _ = self.process.communicate(timeout=TIMEOUT)
        return output.decode()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.finish()


class Helper(Process):
    """One of the C programs of the tests."""

    def __init__(self, variable, *words, cwd=None):
        super().__init__([os.environ[variable], *words], cwd)


class Switch:
    """Sets a sysctl, given by its path, during a block. Concurrent users of the same sysctl wait for each other."""

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
    """Skips the test where namespaces are not permitted: without root, and in a chroot, because its root cannot be mounted again."""
    may = subprocess.run(["unshare", *options, "true"], capture_output=True, check=False).returncode == 0
    if os.geteuid() != 0 or not may:
        test.skipTest(f"may not unshare {' '.join(options)}")


def do_all_threads_sleep(pid):
    """Returns whether every thread of the process sleeps."""
    states = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stat", "rb") as file:
            states.append(file.read().rpartition(b")")[2].split()[0])
    return set(states) == {b"S"}


def read_until_stable(read, pid=None):
    """Returns the result of `read()` once it is equal twice in a row and all threads of process `pid` sleep. On a busy machine a thread of
    low priority may have to wait for its turn."""
    while pid and not do_all_threads_sleep(pid):
        time.sleep(0.02)
    last = read()
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        time.sleep(0.02)
        now = read()
        if now == last:
            return now
        last = now
    raise AssertionError("threads that should sleep keep changing")


class CaptureCase(unittest.TestCase):
    """A test with a directory for captures."""

    longMessage = False

    def setUp(self):
        directory = scratch()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, f"{name}.ctprof.zst")

    def assert_none(self, wrong):
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong[:20]))


def main():
    """Runs the tests of the calling file. The exit status is 77 (meson's value for skipped) if none of them could run."""
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    if result.skipped and len(result.skipped) >= result.testsRun:  # a class that is skipped as a whole has run no test
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
