#!/usr/bin/python3
"""Where a capture goes: links that somebody planted, modes, long names, and signals in the middle of writing.

TEST_ROUNDS: how many captures meet a signal at a random moment, or somebody who plants links all the time (default 10).
"""

import os
import pathlib
import random
import resource
import signal
import stat
import subprocess
import tempfile
import threading
import time
import unittest

import harness

# What stands in the place is no snapshot in most of these.
CAPTURE = ["-q", "--plugins=procfs-sched", "--rootfs", harness.fixture("6.12"), "capture", "--jobs=1", "--force", "-o"]
USER = 1000
ROUNDS = int(os.environ.get("TEST_ROUNDS", "10"))
LINKS, FILES = "/proc/sys/fs/protected_symlinks", "/proc/sys/fs/protected_regular"
# Those that end a program and can be caught, but crashes.
ENDING = ["HUP", "INT", "QUIT", "PIPE", "ALRM", "TERM", "USR1", "USR2", "XCPU", "XFSZ", "PROF", "POLL", "VTALRM", "PWR", "SYS", "TRAP", "RTMIN",
          "RTMAX"]
if not harness.is_sanitized():  # a sanitizer handles crashes, and ends us as it likes
    ENDING += ["SEGV", "BUS", "ILL", "FPE", "ABRT"]
DELAY_S = 1  # of a system call that strace holds up

# Who starts this in the background, or under nohup, has some of them ignored, and what is ignored is inherited.
for _name in ENDING:
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

    def assert_refused(self, done, *words):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


@unittest.skipUnless(os.geteuid() == 0, "needs root, to be attacked by a user")
class Planted(Case):
    """What a user plants in a directory like /tmp, before root captures there."""

    def setUp(self):
        super().setUp()
        self.shared = self.at / "shared"
        self.shared.mkdir()
        os.chmod(self.shared, 0o1777)
        self.victim = self.at / "victim"
        self.victim.write_text("precious")
        self.out = self.shared / "a.ctprof.zst"

    def plant(self, target, name="a.ctprof.zst"):
        (self.shared / name).symlink_to(target)
        os.lchown(self.shared / name, USER, USER)

    def test_a_link_is_not_followed(self):
        self.plant(self.victim)
        with harness.Switch(LINKS, "1"):
            self.assert_refused(capture(self.out), "Permission denied", "fs.protected_symlinks", "a.ctprof.zst")
        self.assertEqual(self.victim.read_bytes(), b"precious")
        self.assertTrue(self.out.is_symlink())

    def test_a_link_to_a_link_is_not_followed(self):
        self.plant(self.victim)
        ours = self.at / "ours"
        ours.symlink_to(self.out)
        with harness.Switch(LINKS, "1"):
            self.assert_refused(capture(ours), "Permission denied")
        self.assertEqual(self.victim.read_bytes(), b"precious")

    def test_a_link_to_a_directory_is_not_followed(self):
        self.plant(self.at, "directory")
        with harness.Switch(LINKS, "1"):
            self.assert_refused(capture(self.shared / "directory" / "victim"), "Permission denied")
        self.assertEqual(self.victim.read_bytes(), b"precious")

    def test_without_the_switch_the_kernel_follows(self):
        self.plant(self.victim)
        with harness.Switch(LINKS, "0"):
            self.assertEqual(capture(self.out).returncode, 0)
        self.assertNotEqual(self.victim.read_bytes(), b"precious")
        self.assertTrue(self.out.is_symlink())

    def test_a_link_of_our_own_is_followed(self):
        self.out.symlink_to(self.victim)
        with harness.Switch(LINKS, "1"):
            self.assertEqual(capture(self.out).returncode, 0)
        self.assertNotEqual(self.victim.read_bytes(), b"precious")
        self.assertTrue(self.out.is_symlink())

    def test_a_link_that_comes_and_goes(self):
        """Now it is ours, now a link of somebody's, now nothing: whatever the capture meets, it never writes through the link."""
        spare, stop = self.shared / "spare", threading.Event()

        def plant():
            while not stop.is_set():
                self.plant(self.victim, "spare")
                spare.rename(self.out)
                spare.write_text("ours")
                spare.rename(self.out)
                self.out.unlink(missing_ok=True)

        planter = threading.Thread(target=plant)
        with harness.Switch(LINKS, "1"):
            planter.start()
            try:
                statuses = {capture(self.out).returncode for _ in range(ROUNDS)}
            finally:
                stop.set()
                planter.join()
        self.assertLessEqual(statuses, {0, 2})
        self.assertEqual(self.victim.read_bytes(), b"precious")
        self.assertLessEqual(set(path.name for path in self.shared.iterdir()), {"a.ctprof.zst", "spare"})

    def test_somebody_elses_file_is_refused_as_the_kernel_does(self):
        self.out.write_text("planted")
        os.chown(self.out, USER, USER)
        with harness.Switch(FILES, "2"):
            self.assert_refused(capture(self.out), "Permission denied", "fs.protected_regular")
        self.assertEqual(self.out.read_text(), "planted")

    def test_somebody_elses_file_does_not_give_its_mode(self):
        self.out.write_text("planted")
        self.out.chmod(0o666)
        os.chown(self.out, USER, USER)
        with harness.Switch(FILES, "0"):
            self.assertEqual(capture(self.out).returncode, 0)
        self.assertEqual((mode(self.out), self.out.stat().st_uid), (0o600, 0))

    def test_a_hard_link_loses_the_name_and_nothing_else(self):
        os.link(self.victim, self.out)
        self.victim.chmod(0o644)
        self.assertEqual(capture(self.out).returncode, 0)
        self.assertEqual((self.victim.read_text(), mode(self.victim), mode(self.out)), ("precious", 0o644, 0o600))


class Named(Case):
    def setUp(self):
        super().setUp()
        self.out = self.at / "a"

    def test_a_new_file_is_its_owners_alone(self):
        self.assertEqual(capture(self.out, umask=0).returncode, 0)
        self.assertEqual(mode(self.out), 0o600)

    def test_a_replaced_one_gives_its_mode(self):
        self.out.write_text("old")
        self.out.chmod(0o640)
        self.assertEqual(capture(self.out, umask=0o077).returncode, 0)
        self.assertNotEqual(self.out.read_bytes(), b"old")
        self.assertEqual(mode(self.out), 0o640)

    def test_a_file_that_is_read_only_stays(self):
        if not harness.can_become_user():
            self.skipTest("needs root, to become somebody without rights")
        self.out.write_text("old")
        self.assertEqual(harness.run(*CAPTURE, str(self.out), prefix=harness.USER).returncode, 2)
        self.assertEqual(self.out.read_text(), "old")

    def test_the_longest_name(self):
        longest = self.at / ("n" * 255)
        self.assertEqual(capture(longest).stderr, "")
        self.assert_refused(capture(self.at / ("n" * 256)), "File name too long")
        self.assertEqual(self.names(), [longest.name])

    def test_a_link_to_nothing_is_told(self):
        self.out.symlink_to("nothing")
        self.assert_refused(capture(self.out), "symbolic link")
        self.assertEqual(self.names(), ["a"])

    def test_what_a_descriptor_leads_to(self):
        with open(self.out, "wb") as file:
            self.assertEqual(capture(f"/dev/fd/{file.fileno()}", pass_fds=[file.fileno()]).returncode, 0)
        self.assertGreater(self.out.stat().st_size, 1000)
        self.assertEqual(self.names(), ["a"])

    def test_a_file_that_has_lost_its_name(self):
        with open(self.out, "wb") as file:
            self.out.unlink()
            self.assert_refused(capture(f"/dev/fd/{file.fileno()}", pass_fds=[file.fileno()]))
        self.assertEqual(self.names(), [])

    def test_the_directory_that_was_asked_is_written(self):
        """It is renamed in mid-capture, and another one gets its name."""
        if not harness.strace_works():
            self.skipTest("needs strace, and leave to use it")
        (self.at / "d").mkdir()
        with Held(self.at / "d" / "a"):
            (self.at / "d").rename(self.at / "before")
            (self.at / "d").mkdir()
        self.assertEqual([path.name for path in self.at.glob("*/*")], ["a"])
        self.assertTrue((self.at / "before" / "a").exists())


class Held:
    """A capture that strace holds in its first fsync: all is written, and nothing has its name yet. Other faults may be injected."""

    def __init__(self, out, inject=(), ignored=None):
        self.out = out
        self.inject = inject
        self.ignored = ignored

    def __enter__(self):
        def ignore():
            if self.ignored:
                signal.signal(self.ignored, signal.SIG_IGN)

        held = f"inject=fsync:delay_enter={int(DELAY_S * 1000000)}"
        self.process = subprocess.Popen(["strace", "-D", "-o", os.devnull, "-e", held, *self.inject, harness.CTPROF, *CAPTURE, self.out],
                                        env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}, preexec_fn=ignore, stderr=subprocess.PIPE)
        deadline = time.monotonic() + harness.TIMEOUT
        while time.monotonic() < deadline and self.process.poll() is None:
            if self.is_written():
                return self
            time.sleep(0.005)
        raise AssertionError("the capture never came to fsync: " + self.process.stderr.read().decode())

    def is_written(self):
        """A small file is written at once, when it is complete."""
        for path in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                if self.is_ours(os.readlink(path)) and path.stat().st_size > 0:
                    return True
            except OSError:
                pass
        return False

    def is_ours(self, name):
        """Whether it is the file under construction, with a name or without."""
        return os.path.dirname(name) == str(self.out.parent)

    def __exit__(self, *_):
        self.process.wait(harness.TIMEOUT)
        self.process.stderr.close()


class Signals(Case):
    def setUp(self):
        super().setUp()
        if not harness.strace_works():
            self.skipTest("needs strace, and leave to use it")
        self.out = self.at / "a"

    def without_nameless_files(self):
        """Makes strace refuse the last opening that asks for a file without a name, as file systems do that have none."""
        with tempfile.NamedTemporaryFile() as log:
            harness.under_strace(self, ["-e", "trace=openat"], *CAPTURE, str(self.out), log=log.name)
            opens = log.read().decode().splitlines()
        self.out.unlink()
        asking = [number for number, line in enumerate(opens, 1) if "O_TMPFILE" in line]
        self.assertGreaterEqual(len(asking), 1, "no file without a name is asked for")
        return ("-e", f"inject=openat:error=EOPNOTSUPP:when={asking[-1]}")

    def assert_nothing_left(self, signals, inject=()):
        for name in signals:
            number = getattr(signal, "SIG" + name)
            with Held(self.out, inject) as held:
                temporary = self.names()
                held.process.send_signal(number)
                self.assertEqual(held.process.wait(harness.TIMEOUT), -number, name)
            self.assertEqual(len(temporary), 1 if inject else 0, temporary)
            self.assertEqual(self.names(), [], name)

    def test_a_file_without_a_name_goes_whatever_ends_it(self):
        self.assert_nothing_left(["HUP", "INT", "TERM", "KILL"])

    def test_a_file_with_one_goes_with_what_can_be_caught(self):
        self.assert_nothing_left(ENDING, self.without_nameless_files())

    def test_a_file_with_one_takes_its_own_in_the_end(self):
        with Held(self.out, self.without_nameless_files()) as held:
            self.assertEqual(held.process.wait(harness.TIMEOUT), 0)
        self.assertEqual((self.names(), mode(self.out)), (["a"], 0o600))

    def test_what_is_ignored_stays_ignored(self):
        for inject in [(), self.without_nameless_files()]:
            with Held(self.out, inject, ignored=signal.SIGHUP) as held:
                held.process.send_signal(signal.SIGHUP)
                self.assertEqual(held.process.wait(harness.TIMEOUT), 0)
            self.assertEqual(self.names(), ["a"])
            self.out.unlink()

    def test_a_limit_on_the_size_of_files(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))  # noqa: E731
        self.out.write_text("old")
        self.assertEqual(capture(self.out, preexec_fn=limit).returncode, -signal.SIGXFSZ)
        self.assertEqual((self.names(), self.out.read_text()), (["a"], "old"))

    def test_at_any_moment(self):
        for _ in range(ROUNDS):
            number = getattr(signal, "SIG" + random.choice(ENDING))
            process = subprocess.Popen([harness.CTPROF, *CAPTURE, self.out], stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, 0.03))
            process.send_signal(number)
            self.assertIn(process.wait(harness.TIMEOUT), [0, -number])
            self.assertIn(self.names(), [[], ["a"]])


if __name__ == "__main__":
    harness.main()
