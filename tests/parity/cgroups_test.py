#!/usr/bin/python3
"""Cgroups of the live host, made for it: hostile names, cgroups that go, namespaces, switches and rights."""

import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import file_json
import harness
import plain_cgroups
from compare_rows import row_differences
from file_json import Gap

STAYS = *[0] * 20, *[0.003] * 10, 0.1  # seconds
ROUNDS = 100  # captures while cgroups come and go
PLUGINS = ("--plugins=cgroup,psi",)

# Nested, each below the one before. The kernel refuses a newline alone.
HOSTILE = [b"two  words ", b'quo"ted\'', b"back\\slash\\x2d\\040", b"tab\tbell\a\x1b[31m", b"\xc3\xa9\xff", b"not (deleted)", b"..x", b"-", b"%s{}$HOME*"]


# A second thread moves into a threaded cgroup, and both stay until the input ends.
TWO_WAYS = """
import sys, threading
def go():
    with open(sys.argv[1] + "/cgroup.threads", "w") as file:
        file.write(str(threading.get_native_id()))
    print("ready", flush=True)
    sys.stdin.read()
threading.Thread(target=go).start()
"""


def hierarchy():
    return plain_cgroups.Cgroups("/").mount


@contextlib.contextmanager
def cgroup():
    """A cgroup of our own under the root, removed with all that is in it."""
    top = tempfile.mkdtemp(prefix=b"ctprof-test-", dir=hierarchy())
    try:
        yield top
    finally:
        for directory, _, _ in list(os.walk(top, topdown=False)):
            remove(directory)


def remove(directory):
    harness.settled(lambda: plain_cgroups.read(directory + b"/cgroup.procs"))
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(directory)


def join(directory):
    """Moves the calling process there."""
    with open(directory + b"/cgroup.procs", "wb") as file:
        file.write(b"0")


@contextlib.contextmanager
def sleeper(directory):
    process = subprocess.Popen(["sleep", "600"], preexec_fn=lambda: join(directory))
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def may_make_cgroups():
    if os.geteuid() != 0 or not hierarchy():
        return False
    try:
        with cgroup() as top, sleeper(top):
            return True
    except (OSError, subprocess.SubprocessError):
        return False


class Live(unittest.TestCase):
    longMessage = False

    def setUp(self):
        if not may_make_cgroups():
            self.skipTest("needs root, and a cgroup v2 hierarchy to make cgroups in")
        self.cleanup = contextlib.ExitStack()
        self.addCleanup(self.cleanup.close)
        self.scratch = self.cleanup.enter_context(harness.scratch())
        self.path = os.path.join(self.scratch, "cgroups.ctprof.zst")
        self.top = self.cleanup.enter_context(cgroup())
        self.name = b"/" + os.path.basename(self.top)

    def captured(self, *words, **options):
        harness.capture(self.path, *words, before=PLUGINS, **options)
        file = file_json.load(self.path)
        self.assertEqual(file.faults(), [])
        return file

    def make(self, name):
        directory = os.path.join(self.top, name)
        os.makedirs(directory, exist_ok=True)
        return directory

    def assert_equals_plain(self, file, paths, plugins=("cgroup", "psi")):
        """The rows of quiet cgroups are what the files say, before and after."""
        cgroups = plain_cgroups.Cgroups("/")
        differences = []
        for path, plugin in itertools.product(paths, plugins):
            self.assertIn(path, file.cgroups_by_path())
            differences += row_differences(path, cgroups.row(path, plugin), file.cgroups_by_path()[path])
        self.assertEqual(differences, [], "\n" + "\n".join(differences[:20]))

    def test_hostile_names(self):
        path = self.name
        paths = [path]
        for name in HOSTILE:
            path += b"/" + name
            paths.append(path)
            self.cleanup.enter_context(sleeper(self.make(path.removeprefix(self.name + b"/"))))
        harness.settled(lambda: [plain_cgroups.Cgroups("/").row(path, "cgroup") for path in paths])
        file = self.captured()
        self.assert_equals_plain(file, paths)
        self.assertEqual({row["cgroup"] for row in file.threads.values()} & set(paths), set(paths[1:]), "threads' own paths")

    def test_no_newline(self):
        """No name can make two lines of a thread's cgroup file."""
        with self.assertRaises(OSError):
            self.make(b"two\nlines")

    def test_a_cgroup_removed_under_a_zombie(self):
        directory = self.make(b"short-lived")
        zombie = subprocess.Popen(["true"], preexec_fn=lambda: join(directory))
        self.addCleanup(zombie.wait)
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        remove(directory)
        path = self.name + b"/short-lived (deleted)"
        row = self.captured().cgroups_by_path()[path]
        reasons = {cell for name, cell in row.items() if name in ("cgroup.cpu.usage_usec", "cgroup.cgroup.stat", "cgroup.psi.cpu.some.avg10")}
        self.assertEqual(reasons, {Gap("ThreadGone")})

    def test_a_name_that_only_looks_deleted(self):
        directory = self.make(b"alive (deleted)")
        self.cleanup.enter_context(sleeper(directory))
        path = self.name + b"/alive (deleted)"
        harness.settled(lambda: plain_cgroups.Cgroups("/").row(path, "cgroup"))
        self.assert_equals_plain(self.captured(), [path])

    def wander(self, pid, stop):
        """Moves a process from one new cgroup to the next, and removes the one that it left. It stays for so different times that some captures
        find it where it was and others do not, however fast they are."""
        left = None
        for number in itertools.count():
            if stop.is_set():
                return
            directory = self.make(b"%d/below" % number)
            with open(directory + b"/cgroup.procs", "wb") as file:
                file.write(b"%d" % pid)
            if left:
                os.rmdir(left)
                os.rmdir(os.path.dirname(left))
            left = directory
            stop.wait(STAYS[number % len(STAYS)])

    def captures_beside(self, wanderer):
        """Rows of wanted cgroups, from many captures."""
        stop = threading.Event()
        mover = threading.Thread(target=self.wander, args=(wanderer.pid, stop))
        mover.start()
        try:
            for _ in range(ROUNDS):
                yield from (row for path, row in self.captured().cgroups_by_path().items() if path.startswith(self.name + b"/"))
        finally:
            stop.set()
            mover.join()

    def test_cgroups_that_come_and_go(self):
        with sleeper(self.top) as wanderer:
            rows = list(self.captures_beside(wanderer))
        kinds = {cell.name for row in rows for cell in row.values() if isinstance(cell, Gap)}
        self.assertLessEqual(kinds, {"ThreadGone", "Unsupported", "NotApplicable"})
        gone = [row for row in rows if row["cgroup.cpu.usage_usec"] == Gap("ThreadGone")]
        torn = [row for row in rows if len({row[name] == Gap("ThreadGone") for name in ("cgroup.cpu.usage_usec", "cgroup.cgroup.stat")}) > 1]
        print(f"{len(rows)} cgroups seen, {len(gone)} gone before and {len(torn)} while they were read")
        self.assertGreater(len(gone), 0, "no cgroup went away during a capture: nothing was tested")
        self.assertLess(len(gone), len(rows), "no cgroup was ever read")

    def in_namespace(self, options, *script):
        """Captures from a namespace whose root is <top>/a/b, which has three cgroups below it."""
        harness.needs_namespaces(self, options)
        inner = self.make(b"a/b")
        for name in (b"1", b"2", b"3"):
            self.make(b"a/b/" + name)
        self.cleanup.enter_context(sleeper(os.path.join(inner, b"1")))
        self.cleanup.enter_context(sleeper(os.path.join(self.top, b"a")))
        lines = "\n".join([*script, f"{harness.CTPROF} -q --plugins=cgroup,psi capture -o {self.path}"])
        done = subprocess.run(["unshare", *options, "sh", "-ec", lines], preexec_fn=lambda: join(inner), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        file = file_json.load(self.path)
        self.assertEqual(file.faults(), [])
        return file

    def descendants(self, file, path):
        cell = file.cgroups_by_path()[path]["cgroup.cgroup.stat"]
        return cell if isinstance(cell, Gap) else cell["nr_descendants"]

    def test_own_namespace_and_a_mount_of_all(self):
        file = self.in_namespace(["-C"])
        self.assertEqual(file.document["ctprof"]["cgroup_root"], "/../../..")
        self.assertEqual([self.descendants(file, path) for path in (b"/", b"/1", b"/..", b"/../..")], [3, 0, 4, 5])
        self.assertGreaterEqual(self.descendants(file, b"/../../.."), 6)

    def test_threads_that_went_different_ways_in_a_namespace(self):
        """One thread of a process is in a threaded cgroup, and the mount does not begin where the namespace does."""
        directory = self.make(b"a/b/1")
        with open(directory + b"/cgroup.type", "wb") as file:
            file.write(b"threaded")
        process = subprocess.Popen([sys.executable, "-c", TWO_WAYS, directory], preexec_fn=lambda: join(os.path.dirname(directory)),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        file = self.in_namespace(["-C"])
        self.assertEqual({row["cgroup"] for (tgid, _), row in file.threads.items() if tgid == process.pid}, {b"/", b"/1"})
        process.communicate()

    def assert_sees_itself_alone(self, file):
        self.assertEqual(file.document["ctprof"]["cgroup_root"], "/")
        self.assertEqual([self.descendants(file, path) for path in (b"/", b"/1")], [3, 0])
        self.assertEqual(self.descendants(file, b"/.."), Gap("Unsupported"), "outside of what is mounted")

    def test_own_namespace_and_a_mount_of_its_own(self):
        mounts = "sed -n 's/ - cgroup2 .*//p' /proc/self/mountinfo | cut -d' ' -f5 | xargs -n1 umount"
        self.assert_sees_itself_alone(self.in_namespace(["-Cm"], mounts, f"mount -t cgroup2 none {os.fsdecode(hierarchy())}"))

    def test_own_namespace_and_a_mount_on_top(self):
        inner, mount = os.fsdecode(self.top + b"/a/b"), os.fsdecode(hierarchy())
        self.assert_sees_itself_alone(self.in_namespace(["-Cm"], f"mount --bind {inner} {mount}"))

    def test_pressure_switched_off_for_one(self):
        directory = self.make(b"quiet")
        switch = directory + b"/cgroup.pressure"
        if not os.path.exists(switch):
            self.skipTest("this kernel has no cgroup.pressure")
        self.cleanup.enter_context(sleeper(directory))
        with open(switch, "wb") as file:
            file.write(b"0")
        row = self.captured().cgroups_by_path()[self.name + b"/quiet"]
        self.assertEqual(row["cgroup.psi.cpu.some.total_usec"], Gap("SwitchedOff"))

    def test_denied(self):
        if not harness.can_become_user():
            self.skipTest("needs root, to become somebody without rights")
        directory = self.make(b"secret")
        self.cleanup.enter_context(sleeper(directory))
        os.chmod(directory, 0)
        row = self.captured(prefix=harness.USER).cgroups_by_path()[self.name + b"/secret"]
        self.assertEqual(row["cgroup.cpu.usage_usec"], Gap("Denied"))
        self.assertEqual(row["cgroup.psi.io.full.avg10"], Gap("Denied"))


if __name__ == "__main__":
    harness.main()
