#!/usr/bin/python3
"""Checks where a capture is written: modes, long names, and signals while it is written."""

import os
import pathlib
import resource
import signal
import stat
import subprocess
import tempfile
import unittest

import harness

# In most of these tests the existing file is not a snapshot.
CAPTURE = ["-q", "--plugins=procfs-sched", "--rootfs", harness.fixture("6.12"), "capture", "--jobs=1", "--force", "-o"]
# Signals that end a program and can be caught. Crash signals are added below.
FATAL_SIGNALS = ["HUP", "INT", "QUIT", "PIPE", "ALRM", "TERM", "USR1", "USR2", "XCPU", "XFSZ", "PROF", "POLL", "VTALRM", "PWR", "SYS", "TRAP", "RTMIN",
          "RTMAX"]
if not harness.is_sanitized():  # a sanitizer handles crashes and ends the program in its own way
    FATAL_SIGNALS += ["SEGV", "BUS", "ILL", "FPE", "ABRT"]

# A shell in the background, or nohup, ignores some of them, and programs inherit ignored signals.
for _name in FATAL_SIGNALS:
    _number = getattr(signal, "SIG" + _name)
    if signal.getsignal(_number) is signal.SIG_IGN and _name != "PIPE":
        signal.signal(_number, signal.SIG_DFL)


def capture(path, **options):
    return subprocess.run([harness.CTPROF, *CAPTURE, path], capture_output=True, text=True, timeout=harness.TIMEOUT, check=False, **options)


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


class Case(unittest.TestCase):
    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.at = pathlib.Path(scratch.name)

    def names(self):
        return sorted(path.name for path in self.at.iterdir())

    def assert_refused(self, finished, *words):
        self.assertEqual(finished.returncode, 2, finished.stderr)
        self.assertEqual(finished.stderr.count("\n"), 1, finished.stderr)
        for word in words:
            self.assertIn(word, finished.stderr)


class NamedOutput(Case):
    def setUp(self):
        super().setUp()
        self.out = self.at / "a"

    def test_new_file_is_private_to_its_owner(self):
        self.assertEqual(capture(self.out, umask=0).returncode, 0)
        self.assertEqual(mode(self.out), 0o600)

    def test_mode_of_a_replaced_file_is_kept(self):
        self.out.write_text("old")
        self.out.chmod(0o640)
        self.assertEqual(capture(self.out, umask=0o077).returncode, 0)
        self.assertNotEqual(self.out.read_bytes(), b"old")
        self.assertEqual(mode(self.out), 0o640)

    def test_read_only_file_is_not_replaced(self):
        if not harness.can_become_user():
            self.skipTest("needs root, to become an unprivileged user")
        self.out.write_text("old")
        self.assertEqual(harness.run(*CAPTURE, str(self.out), prefix=harness.USER).returncode, 2)
        self.assertEqual(self.out.read_text(), "old")

    def test_the_longest_name(self):
        longest = self.at / ("n" * 255)
        self.assertEqual(capture(longest).stderr, "")
        self.assert_refused(capture(self.at / ("n" * 256)), "File name too long")
        self.assertEqual(self.names(), [longest.name])

    def test_dangling_link_is_refused(self):
        self.out.symlink_to("nothing")
        self.assert_refused(capture(self.out), "symbolic link")
        self.assertEqual(self.names(), ["a"])

    def test_path_of_a_descriptor(self):
        with open(self.out, "wb") as file:
            self.assertEqual(capture(f"/dev/fd/{file.fileno()}", pass_fds=[file.fileno()]).returncode, 0)
        self.assertGreater(self.out.stat().st_size, 1000)
        self.assertEqual(self.names(), ["a"])

    def test_unlinked_file_is_refused(self):
        with open(self.out, "wb") as file:
            self.out.unlink()
            self.assert_refused(capture(f"/dev/fd/{file.fileno()}", pass_fds=[file.fileno()]))
        self.assertEqual(self.names(), [])

    def test_renamed_directory_receives_the_file(self):
        """The directory is renamed during the capture, and another directory gets its name."""
        if not harness.strace_works():
            self.skipTest("needs strace, and permission to use it")
        (self.at / "d").mkdir()
        with StoppedCapture(self.at / "d" / "a"):
            (self.at / "d").rename(self.at / "before")
            (self.at / "d").mkdir()
        self.assertEqual([path.name for path in self.at.glob("*/*")], ["a"])
        self.assertTrue((self.at / "before" / "a").exists())


class StoppedCapture:
    """A capture that strace stops after its first fsync: all data is written, but no file has its final name yet. `inject` can add faults."""

    def __init__(self, out, inject=(), ignored=None):
        self.out = out
        self.inject = inject
        self.ignored = ignored

    def __enter__(self):
        def ignore():
            if self.ignored:
                signal.signal(self.ignored, signal.SIG_IGN)

        stop = ["-e", "trace=openat,fsync", "-e", "inject=fsync:signal=SIGSTOP:when=1"]
        log, end = os.pipe()
        self.process = subprocess.Popen(["strace", "-o", f"/dev/fd/{end}", *stop, *self.inject, harness.CTPROF, *CAPTURE, self.out], pass_fds=[end],
                                        env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}, preexec_fn=ignore, stderr=subprocess.PIPE)
        os.close(end)
        self.log = os.fdopen(log)
        if not any("--- stopped by SIGSTOP ---" in line for line in iter(self.log.readline, "")):
            raise AssertionError("the capture never came to fsync: " + self.process.stderr.read().decode())
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as children:
            self.pid = int(children.read())
        return self

    def finish(self, number=None):
        """Sends a signal to the capture, resumes it, and returns its exit status, which is also strace's."""
        if number:
            os.kill(self.pid, number)
        if number != signal.SIGKILL:
            os.kill(self.pid, signal.SIGCONT)
        self.log.read()
        return self.process.wait(harness.TIMEOUT)

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.finish()
        self.log.close()
        self.process.stderr.close()


class Signals(Case):
    def setUp(self):
        super().setUp()
        if not harness.strace_works():
            self.skipTest("needs strace, and permission to use it")
        self.out = self.at / "a"

    def fail_nameless_files(self):
        """Makes strace fail the last open that requests a file without a name, as on file systems without O_TMPFILE."""
        with tempfile.NamedTemporaryFile() as log:
            harness.under_strace(self, ["-e", "trace=openat"], *CAPTURE, str(self.out), log=log.name)
            opens = log.read().decode().splitlines()
        self.out.unlink()
        asking = [number for number, line in enumerate(opens, 1) if "O_TMPFILE" in line]
        self.assertGreaterEqual(len(asking), 1, "no file without a name was requested")
        return ("-e", f"inject=openat:error=EOPNOTSUPP:when={asking[-1]}")

    def assert_nothing_left(self, signals, inject=()):
        for name in signals:
            number = getattr(signal, "SIG" + name)
            with StoppedCapture(self.out, inject) as stopped:
                temporary = self.names()
                status = stopped.finish(number)
            # strace itself fails if SIGKILL removes the process while strace handles its stop.
            if number != signal.SIGKILL:
                self.assertEqual(status, -number, name)
            self.assertEqual(len(temporary), 1 if inject else 0, temporary)
            self.assertEqual(self.names(), [], name)

    def test_nameless_file_disappears_after_any_signal(self):
        self.assert_nothing_left(["HUP", "INT", "TERM", "KILL"])

    def test_named_file_is_removed_after_signals_that_can_be_caught(self):
        self.assert_nothing_left(FATAL_SIGNALS, self.fail_nameless_files())

    def test_named_file_replaces_the_old_one_after_success(self):
        with StoppedCapture(self.out, self.fail_nameless_files()) as stopped:
            self.assertEqual(stopped.finish(), 0)
        self.assertEqual((self.names(), mode(self.out)), (["a"], 0o600))

    def test_ignored_signals_stay_ignored(self):
        for inject in [(), self.fail_nameless_files()]:
            with StoppedCapture(self.out, inject, ignored=signal.SIGHUP) as stopped:
                self.assertEqual(stopped.finish(signal.SIGHUP), 0)
            self.assertEqual(self.names(), ["a"])
            self.out.unlink()

    def test_a_limit_on_the_size_of_files(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))  # noqa: E731
        self.out.write_text("old")
        self.assertEqual(capture(self.out, preexec_fn=limit).returncode, -signal.SIGXFSZ)
        self.assertEqual((self.names(), self.out.read_text()), (["a"], "old"))


if __name__ == "__main__":
    harness.main()
