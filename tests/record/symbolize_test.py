#!/usr/bin/python3
"""`symbolize`: names that were stripped, given back by build id, to a file that was recorded without them.

Environment: CTPROF; SHARES, a program that knows its shares; SHARES_LIBRARY, which it opens and closes."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
from recording import harness, run  # noqa: E402

PROGRAM, LIBRARY = os.environ["SHARES"], os.environ["SHARES_LIBRARY"]
NAMES = {"seventy", "twenty", "ten", "around"}


def tool(*words):
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout


def build_id(path):
    return re.search(r"Build ID: (\w+)", tool("readelf", "-n", path))[1]


def place_of(identity):
    return pathlib.Path(".build-id", identity[:2], identity[2:] + ".debug")


def selves(path):
    """What each function of the program weighs by itself; one without a name is its module and place."""
    done = harness.run("show", path, "--sections", "stacks", "--format", "json", "--limit", "0")
    assert done.returncode == 0, done.stderr
    stacks = json.loads(done.stdout)["stacks"]
    functions = [(one["name"], one["module"], one["offset"]) for one in stacks["functions"]]
    group = next(group for group in stacks["groups"] if group["group"] == "shares")
    return {functions[row["function"]]: row["self"][0] for row in group["functions"]}


def by_name(path):
    return {name: weight for (name, _, _), weight in selves(path).items() if name}


def children(pid):
    try:
        return list(map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()))
    except OSError:
        return []


def waiting_tools(pid):
    """Processes of ctprof below this one that have a helper which waits for an answer."""
    def has(process, file, text):
        try:
            return text in pathlib.Path(f"/proc/{process}/{file}").read_text(encoding="ascii")
        except OSError:
            return False
    tools = [child for child in children(pid) if has(child, "comm", "ctprof")]
    return [tool for tool in tools if any(has(helper, "stack", "fuse") for helper in children(tool))]


@unittest.skipUnless(shutil.which("objcopy") and shutil.which("readelf"), "needs binutils")
class Symbolize(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs leave to sample")
        scratch = harness.scratch()
        cls.addClassCleanup(scratch.cleanup)
        cls.home = pathlib.Path(scratch.name)
        for name in ("bin", "debug", "wrong", "run"):
            (cls.home / name).mkdir()
        cls.program, library = cls.home / "bin" / "shares", cls.home / "bin" / "library.so"
        for whole, stripped in ((PROGRAM, cls.program), (LIBRARY, library)):
            tool("objcopy", "--strip-all", whole, stripped)
            debug = cls.home / "debug" / place_of(build_id(whole))
            debug.parent.mkdir(parents=True, exist_ok=True)
            tool("objcopy", "--only-keep-debug", whole, debug)
        # Of the right name, with the names of another file.
        wrong = cls.home / "wrong" / place_of(build_id(PROGRAM))
        wrong.parent.mkdir(parents=True)
        shutil.copy(cls.home / "debug" / place_of(build_id(LIBRARY)), wrong)
        cls.recorded = cls.record(library)

    @classmethod
    def record(cls, library):
        path = cls.home / "run" / ("stripped" + recording.SUFFIX)
        cls.record_to(path, library, "2s")
        return path

    @classmethod
    def record_to(cls, path, library, length, *words):
        """The program alone: others of this host have frames without names of their own."""
        with harness.beside(cls.program, "60", "49", "14", "7", "5", env=os.environ | {"SHARES_LIBRARY": str(library)}) as program:
            done = run("-q", "-d", length, "-p", program.pid, "--recorders", "on-cpu", "--freq", "999", "--metrics", "run_time_ns", *words, "-o", path)
        assert done.returncode == 0, done.stderr

    def symbolized(self, *words):
        """A file with more names, and what was said about them."""
        path = self.home / "run" / (self.id() + recording.SUFFIX)
        path.unlink(missing_ok=True)
        done = harness.run("symbolize", self.recorded, "--no-sync", "-o", path, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path, done.stdout

    def test_names_come_back_by_build_id_and_weights_stay(self):
        before = selves(self.recorded)
        self.assertEqual(NAMES & by_name(self.recorded).keys(), {"twenty"})  # which the library exports
        path, said = self.symbolized("--debug-dir", self.home / "debug")
        after = selves(path)
        self.assertLessEqual(NAMES, by_name(path).keys())
        self.assertEqual(sum(before.values()), sum(after.values()))
        had_none = sum(name is None for name, _, _ in before)
        self.assertGreater(had_none, sum(name is None for name, _, _ in after))
        found = re.search(r"stripped.*: (\d+) frames of (\d+) without a name have one now", said)
        self.assertTrue(found, said)
        self.assertGreaterEqual(int(found[1]), 3, said)

    def test_what_is_still_without_a_name_tells_its_build_id(self):
        _, said = self.symbolized()
        self.assertIn("0 frames of ", said)
        self.assertRegex(said, rf"\d+ frames? of {re.escape(str(self.program))}, build id {build_id(PROGRAM)}")

    def test_another_build_is_never_asked(self):
        path, _ = self.symbolized("--debug-dir", self.home / "wrong")
        self.assertEqual(selves(path), selves(self.recorded))

    def test_several_directories(self):
        path, _ = self.symbolized("--debug-dir", self.home / "wrong", "--debug-dir", self.home / "debug")
        self.assertLessEqual(NAMES, by_name(path).keys())

    def test_inlined_functions(self):
        plain, _ = self.symbolized("--debug-dir", self.home / "debug")
        weights = by_name(plain)
        path, said = self.symbolized("--debug-dir", self.home / "debug", "--inlines")
        with_inlines = by_name(path)
        self.assertNotIn("inlined", weights)
        for functions in (("around",), ("around", "inlined")):
            self.assertGreater(self.below(path, *functions), 0)
        self.assertEqual(self.below(path, "around"), self.below(plain, "around"))
        self.assertEqual(self.below(path, "around", "inlined"), self.below(path, "inlined"))
        self.assertLess(with_inlines["around"], weights["around"])
        self.assertEqual(sum(selves(path).values()), sum(selves(plain).values()))
        self.assertRegex(said, r"; [1-9]\d* frames? of inlined functions added")

    @staticmethod
    def below(path, *functions):
        """The weight of stacks that have all of these."""
        done = harness.run("export", path, "--to", "folded", "-o", "-")
        lines = [line.rsplit(" ", 1) for line in done.stdout.splitlines()]
        return sum(int(weight) for stack, weight in lines if set(functions) <= set(stack.split(";")))

    def test_in_its_own_place(self):
        path = self.home / "run" / ("here" + recording.SUFFIX)
        shutil.copy(self.recorded, path)
        path.chmod(0o640)
        for expected in (r"\d+ frames of \d+ without a name have one now", r"0 frames of |all of \d"):
            inode = path.stat().st_ino
            done = harness.run("symbolize", path, "--no-sync", "--debug-dir", self.home / "debug")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, expected)
            self.assertLessEqual(NAMES, by_name(path).keys())
            self.assertNotEqual(path.stat().st_ino, inode, "written over, not replaced")
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        self.assertEqual(sorted(file.name for file in path.parent.iterdir() if file.name.startswith(".")), [])

    def beside_a_silent_mount(self, path):
        """symbolize, in a namespace where the programs' directory takes requests and answers none."""
        stuck_mount = pathlib.Path(__file__).parent.parent / "jemalloc" / "stuck_mount.py"
        content, programs = self.home / "content", self.home / "bin"
        content.touch()
        self.addCleanup(content.with_suffix(".stuck").unlink, missing_ok=True)
        script = 'ls "$1" >&2; : >"$2"; shift 2; exec "$@"'
        words = [sys.executable, stuck_mount, programs, content, "/bin/sh", "-c", script, "sh", programs, content.with_suffix(".stuck"),
                 harness.CTPROF, "symbolize", self.recorded, "--no-sync", "-o", path, "--debug-dir", self.home / "debug"]
        return subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @unittest.skipUnless(os.path.exists("/dev/fuse"), "needs /dev/fuse")
    def test_names_what_it_can_where_a_file_system_does_not_answer(self):
        path = self.home / "run" / ("silent" + recording.SUFFIX)
        with self.beside_a_silent_mount(path) as process:
            _, said = process.communicate(timeout=recording.TIMEOUT)
        self.assertEqual(process.returncode, 0, said)
        self.assertRegex(said, rf"cannot open files: '{re.escape(str(self.program))}'.*the file system does not answer")
        self.assertLessEqual(NAMES, by_name(path).keys())

    @unittest.skipUnless(os.path.exists("/dev/fuse"), "needs /dev/fuse")
    def test_writes_what_is_known_when_it_is_interrupted(self):
        path = self.home / "run" / ("interrupted" + recording.SUFFIX)
        with self.beside_a_silent_mount(path) as process:
            self.assertTrue(recording.soon(lambda: waiting_tools(process.pid)))
            os.kill(waiting_tools(process.pid)[0], signal.SIGTERM)
            _, said = process.communicate(timeout=recording.TIMEOUT)
        self.assertEqual(process.returncode, 0, said)
        self.assertIn("interrupted while functions were named", said)
        self.assertEqual(sum(selves(path).values()), sum(selves(self.recorded).values()))

    def test_when_recording(self):
        path = self.home / "run" / ("named" + recording.SUFFIX)
        self.record_to(path, self.home / "bin" / "library.so", "1s", "--debug-dir", self.home / "debug", "--inlines")
        self.assertLessEqual(NAMES - {"around"} | {"inlined"}, by_name(path).keys())


if __name__ == "__main__":
    unittest.main()
