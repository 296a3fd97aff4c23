#!/usr/bin/python3
"""Compares captures of cgroups that the test creates on the live host: hostile names, cgroups that disappear, namespaces, switches and rights."""

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

STAY_SECONDS = *[0] * 20, *[0.003] * 10, 0.1
ROUNDS = 100  # captures while cgroups come and go
PLUGINS = ("--plugins=cgroup,psi",)

# Each cgroup is a child of the one before. The kernel refuses a name that is only a newline.
HOSTILE = [b"two  words ", b'quo"ted\'', b"back\\slash\\x2d\\040", b"tab\tbell\a\x1b[31m", b"\xc3\xa9\xff", b"not (deleted)", b"..x", b"-", b"%s{}$HOME*"]


# A second thread moves into a threaded cgroup. Both threads stay until the input ends.
SPLIT_PROCESS = """
import sys, threading
def go():
    with open(sys.argv[1] + "/cgroup.threads", "w") as file:
        file.write(str(threading.get_native_id()))
    print("ready", flush=True)
    sys.stdin.read()
threading.Thread(target=go).start()
"""


def find_hierarchy():
    return plain_cgroups.Cgroups("/").mount


@contextlib.contextmanager
def cgroup():
    """Creates a test cgroup under the root, and removes it with all its descendants at the end."""
    top = tempfile.mkdtemp(prefix=b"ctprof-test-", dir=find_hierarchy())
    try:
        yield top
    finally:
        for directory, _, _ in list(os.walk(top, topdown=False)):
            remove(directory)


def remove(directory):
    harness.read_until_stable(lambda: plain_cgroups.read(directory + b"/cgroup.procs"))
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(directory)


def join(directory):
    """Moves the calling process into the cgroup."""
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
    if os.geteuid() != 0 or not find_hierarchy():
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
            self.skipTest("needs root, and a cgroup v2 hierarchy in which cgroups can be created")
        self.cleanup = contextlib.ExitStack()
        self.addCleanup(self.cleanup.close)
        self.scratch = self.cleanup.enter_context(harness.scratch())
        self.path = os.path.join(self.scratch, "cgroups.ctprof.zst")
        self.top = self.cleanup.enter_context(cgroup())
        self.name = b"/" + os.path.basename(self.top)

    def capture_with_plugins(self, *words, **options):
        harness.capture(self.path, *words, before=PLUGINS, **options)
        file = file_json.load(self.path)
        self.assertEqual(file.faults(), [])
        return file

    def make(self, name):
        directory = os.path.join(self.top, name)
        os.makedirs(directory, exist_ok=True)
        return directory

    def assert_equals_plain(self, file, paths, plugins=("cgroup", "psi")):
        """Compares the rows of idle cgroups with the files, which are read before and after the capture."""
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
        harness.read_until_stable(lambda: [plain_cgroups.Cgroups("/").row(path, "cgroup") for path in paths])
        file = self.capture_with_plugins()
        self.assert_equals_plain(file, paths)
        self.assertEqual({row["cgroup"] for row in file.threads.values()} & set(paths), set(paths[1:]), "threads' own paths")

    def test_no_newline(self):
        """A newline in a cgroup's name cannot make a thread's cgroup file look like two lines."""
        with self.assertRaises(OSError):
            self.make(b"two\nlines")

    def test_cgroup_removed_while_a_zombie_is_in_it(self):
        directory = self.make(b"short-lived")
        zombie = subprocess.Popen(["true"], preexec_fn=lambda: join(directory))
        self.addCleanup(zombie.wait)
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        remove(directory)
        path = self.name + b"/short-lived (deleted)"
        row = self.capture_with_plugins().cgroups_by_path()[path]
        reasons = {cell for name, cell in row.items() if name in ("cgroup.cpu.usage_usec", "cgroup.cgroup.stat", "cgroup.psi.cpu.some.avg10")}
        self.assertEqual(reasons, {Gap("ThreadGone")})

    def test_name_that_ends_like_a_deleted_cgroup(self):
        directory = self.make(b"alive (deleted)")
        self.cleanup.enter_context(sleeper(directory))
        path = self.name + b"/alive (deleted)"
        harness.read_until_stable(lambda: plain_cgroups.Cgroups("/").row(path, "cgroup"))
        self.assert_equals_plain(self.capture_with_plugins(), [path])

    def move_between_cgroups(self, pid, stop):
        """Moves a process from one new cgroup to the next, and removes each cgroup that it left. The length of its stay varies, so that some
        captures still find the cgroup and others do not, independent of their speed."""
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
            stop.wait(STAY_SECONDS[number % len(STAY_SECONDS)])

    def captures_during(self, moving_process):
        """Returns the rows of the given cgroups from many captures that run while `moving_process` moves."""
        stop = threading.Event()
        mover = threading.Thread(target=self.move_between_cgroups, args=(moving_process.pid, stop))
        mover.start()
        try:
            for _ in range(ROUNDS):
                yield from (row for path, row in self.capture_with_plugins().cgroups_by_path().items() if path.startswith(self.name + b"/"))
        finally:
            stop.set()
            mover.join()

    def test_cgroups_created_and_removed_during_captures(self):
        with sleeper(self.top) as moving_process:
            rows = list(self.captures_during(moving_process))
        kinds = {cell.name for row in rows for cell in row.values() if isinstance(cell, Gap)}
        self.assertLessEqual(kinds, {"ThreadGone", "Unsupported", "NotApplicable"})
        removed_before = [row for row in rows if row["cgroup.cpu.usage_usec"] == Gap("ThreadGone")]
        removed_while_read = [row for row in rows if len({row[name] == Gap("ThreadGone") for name in ("cgroup.cpu.usage_usec", "cgroup.cgroup.stat")}) > 1]
        print(f"{len(rows)} cgroups seen, {len(removed_before)} removed before they were read, {len(removed_while_read)} meanwhile")
        self.assertGreater(len(removed_before), 0, "no cgroup was removed during a capture: nothing was tested")
        self.assertLess(len(removed_before), len(rows), "no cgroup was ever read")

    def capture_in_namespace(self, options, *script):
        """Captures in a namespace whose root is <top>/a/b, which has three descendants."""
        harness.needs_namespaces(self, options)
        inner = self.make(b"a/b")
        for name in (b"1", b"2", b"3"):
            self.make(b"a/b/" + name)
        self.cleanup.enter_context(sleeper(os.path.join(inner, b"1")))
        self.cleanup.enter_context(sleeper(os.path.join(self.top, b"a")))
        lines = "\n".join([*script, f"{harness.CTPROF} -q --plugins=cgroup,psi capture -o {self.path}"])
        finished = subprocess.run(["unshare", *options, "sh", "-ec", lines], preexec_fn=lambda: join(inner), capture_output=True, text=True, check=False)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        file = file_json.load(self.path)
        self.assertEqual(file.faults(), [])
        return file

    def descendants(self, file, path):
        cell = file.cgroups_by_path()[path]["cgroup.cgroup.stat"]
        return cell if isinstance(cell, Gap) else cell["nr_descendants"]

    def test_own_namespace_with_a_mount_of_the_whole_hierarchy(self):
        file = self.capture_in_namespace(["-C"])
        self.assertEqual(file.document["ctprof"]["cgroup_root"], "/../../..")
        self.assertEqual([self.descendants(file, path) for path in (b"/", b"/1", b"/..", b"/../..")], [3, 0, 4, 5])
        self.assertGreaterEqual(self.descendants(file, b"/../../.."), 6)

    def test_process_with_threads_in_different_cgroups_in_a_namespace(self):
        """One thread of the process is in a threaded cgroup, and the root of the mount is not the root of the namespace."""
        directory = self.make(b"a/b/1")
        with open(directory + b"/cgroup.type", "wb") as file:
            file.write(b"threaded")
        process = subprocess.Popen([sys.executable, "-c", SPLIT_PROCESS, directory], preexec_fn=lambda: join(os.path.dirname(directory)),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        file = self.capture_in_namespace(["-C"])
        self.assertEqual({row["cgroup"] for (tgid, _), row in file.threads.items() if tgid == process.pid}, {b"/", b"/1"})
        process.communicate()

    def assert_contains_only_itself(self, file):
        self.assertEqual(file.document["ctprof"]["cgroup_root"], "/")
        self.assertEqual([self.descendants(file, path) for path in (b"/", b"/1")], [3, 0])
        self.assertEqual(self.descendants(file, b"/.."), Gap("Unsupported"), "outside of what is mounted")

    def test_own_namespace_with_its_own_mount(self):
        mounts = "sed -n 's/ - cgroup2 .*//p' /proc/self/mountinfo | cut -d' ' -f5 | xargs -n1 umount"
        self.assert_contains_only_itself(self.capture_in_namespace(["-Cm"], mounts, f"mount -t cgroup2 none {os.fsdecode(find_hierarchy())}"))

    def test_own_namespace_with_a_mount_over_the_old_one(self):
        inner, mount = os.fsdecode(self.top + b"/a/b"), os.fsdecode(find_hierarchy())
        self.assert_contains_only_itself(self.capture_in_namespace(["-Cm"], f"mount --bind {inner} {mount}"))

    def test_pressure_disabled_for_one_cgroup(self):
        directory = self.make(b"quiet")
        switch = directory + b"/cgroup.pressure"
        if not os.path.exists(switch):
            self.skipTest("this kernel has no cgroup.pressure")
        self.cleanup.enter_context(sleeper(directory))
        with open(switch, "wb") as file:
            file.write(b"0")
        row = self.capture_with_plugins().cgroups_by_path()[self.name + b"/quiet"]
        self.assertEqual(row["cgroup.psi.cpu.some.total_usec"], Gap("SwitchedOff"))

    def test_denied(self):
        if not harness.can_become_user():
            self.skipTest("needs root, to become an unprivileged user")
        directory = self.make(b"secret")
        self.cleanup.enter_context(sleeper(directory))
        os.chmod(directory, 0)
        row = self.capture_with_plugins(prefix=harness.USER).cgroups_by_path()[self.name + b"/secret"]
        self.assertEqual(row["cgroup.cpu.usage_usec"], Gap("Denied"))
        self.assertEqual(row["cgroup.psi.io.full.avg10"], Gap("Denied"))


if __name__ == "__main__":
    harness.main()
