"""Live measurements: values of real threads, whose distance from the expected value depends on the load of the host.

Such a test allows for the noise of its own run, runs a second time if it fails, and prints every value. Only one such test runs on a host at a time:

    @measurement.run_twice_at_most
    class Shares(unittest.TestCase):
        def test_share(self):
            measurement.check(self, "share of f", share, expected=70, allowed=measurement.sampling_error(samples, 0.7))

The same arithmetic is checked exactly, on recorded input, in tests/recorded and tests/unit.
"""

import contextlib
import fcntl
import functools
import math
import os
import sys
import tempfile
import threading
import time

STANDARD_ERRORS = 4  # allowed for a random deviation; one value in 16,000 is further away
PROBE_SECONDS = 0.001
# The lock of measurements. Its file names the holder.
LOCK_DIRECTORY = "/run/lock" if os.path.isdir("/run/lock") else tempfile.gettempdir()
LOCK = os.path.join(LOCK_DIRECTORY, "ctprof-measurement")


def report(text):
    print(f"measured: {text}", file=sys.stderr, flush=True)


def check(test, name, figure, expected, allowed):
    """Prints the value, and fails if it differs from the expected one by more than is allowed."""
    line = f"{test.id().rpartition('.')[2]}: {name}: {figure:.6g}, expected {expected:.6g} ± {allowed:.3g}"
    report(line)
    test.assertLessEqual(abs(figure - expected), allowed, line)


def sampling_error(samples, share):
    """Returns the error that is allowed for a share that is estimated from this number of samples."""
    return STANDARD_ERRORS * math.sqrt(max(share * (1 - share), 1 / samples) / samples)


class Delays:
    """Measures, during a block, by how much the host delays a thread that wakes up once per millisecond."""

    def __enter__(self):
        self.longest = 0.0
        self._done = threading.Event()
        self._probe = threading.Thread(target=self._measure)
        self._probe.start()
        return self

    def _measure(self):
        last = time.monotonic()
        while not self._done.wait(PROBE_SECONDS):
            now = time.monotonic()
            self.longest = max(self.longest, now - last - PROBE_SECONDS)
            last = now

    def __exit__(self, *_):
        self._done.set()
        self._probe.join()


def _open_lock(path):
    """Opens the file of the lock. Any user may have created it: in a directory of all users, O_CREAT on the file of another user may fail."""
    try:
        number = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        number = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_CREAT, 0o666)
        os.fchmod(number, 0o666)
    return os.fdopen(number, "r+", encoding="utf-8")


@contextlib.contextmanager
def quiet_host(name, path=LOCK):
    """Waits until no other measurement runs on this host, and keeps others waiting during the block, also those of other test runs."""
    with _open_lock(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = file.read().strip() or "another test"
            print(f"{name} waits for {holder}: both need a quiet host", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        _write_holder(file, f"{name} (process {os.getpid()})")
        try:
            yield
        finally:
            _write_holder(file, "")


def _write_holder(file, text):
    file.seek(0)
    file.truncate()
    file.write(text)
    file.flush()


def needs_quiet_host(case):
    """Class decorator: the tests of the case run while no other measurement runs on this host."""
    original = case.setUpClass

    def set_up_class(cls):
        cls.enterClassContext(quiet_host(f"{os.path.basename(sys.argv[0])} {cls.__name__}"))
        original()

    case.setUpClass = classmethod(set_up_class)
    return case


def _run_again_after_failure(test):
    @functools.wraps(test)
    def attempt(self):
        try:
            test(self)
        except AssertionError as failure:
            report(f"{self.id()}: first attempt failed, second attempt follows: {failure}")
        else:
            return
        self.tearDown()
        self.doCleanups()
        self.setUp()
        test(self)

    return attempt


def run_twice_at_most(case):
    """Class decorator of a measurement: each test of the case passes if one of two attempts passes, and needs a quiet host. REQUIRES: failures
    propagate out of the test method, so the test does not use subTest."""
    for name in [name for name in dir(case) if name.startswith("test")]:
        setattr(case, name, _run_again_after_failure(getattr(case, name)))
    return needs_quiet_host(case)
