#!/usr/bin/python3
"""`symbolize`: adds names to a file that was recorded with stripped programs; debug files are found by build id.

Environment: CTPROF; SHARES, a program with known shares; SHARES_LIBRARY, a library that it opens and closes."""

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


def self_weights(path):
    """Returns a map function -> self weight of the program. A function without a name is identified by its module and offset."""
    finished = harness.run("show", path, "--sections", "stacks", "--format", "json", "--limit", "0")
    assert finished.returncode == 0, finished.stderr
    stacks = json.loads(finished.stdout)["stacks"]
    functions = [(one["name"], one["module"], one["offset"]) for one in stacks["functions"]]
    group = next(group for group in stacks["groups"] if group["group"] == "shares")
    return {functions[row["function"]]: row["self"][0] for row in group["functions"]}


def weights_by_name(path):
    return {name: weight for (name, _, _), weight in self_weights(path).items() if name}


def children(pid):
    try:
        return list(map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()))
    except OSError:
        return []


def waiting_tools(pid):
    """Returns the ctprof children of this process that have a helper which waits for the FUSE file system."""
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
            raise unittest.SkipTest("needs permission to sample")
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
        # A debug file with the right file name and the symbols of another file.
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
        """Records only the program: other processes of this host also have frames without names."""
        with harness.background_process(cls.program, "60", "49", "14", "7", "5", env=os.environ | {"SHARES_LIBRARY": str(library)}) as program:
            finished = run("-q", "-d", length, "-p", program.pid, "--recorders", "on-cpu", "--freq", "999", "--metrics", "run_time_ns", *words, "-o", path)
        assert finished.returncode == 0, finished.stderr

    def run_symbolize(self, *words):
        """Runs symbolize. Returns the new file and the output."""
        path = self.home / "run" / (self.id() + recording.SUFFIX)
        path.unlink(missing_ok=True)
        finished = harness.run("symbolize", self.recorded, "--no-sync", "-o", path, *words)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return path, finished.stdout

    def test_names_are_added_by_build_id_and_weights_are_unchanged(self):
        before = self_weights(self.recorded)
        self.assertEqual(NAMES & weights_by_name(self.recorded).keys(), {"twenty"})  # the library exports it
        path, messages = self.run_symbolize("--debug-dir", self.home / "debug")
        after = self_weights(path)
        self.assertLessEqual(NAMES, weights_by_name(path).keys())
        self.assertEqual(sum(before.values()), sum(after.values()))
        had_none = sum(name is None for name, _, _ in before)
        self.assertGreater(had_none, sum(name is None for name, _, _ in after))
        found = re.search(r"stripped.*: (\d+) frames of (\d+) without a name have one now", messages)
        self.assertTrue(found, messages)
        self.assertGreaterEqual(int(found[1]), 3, messages)

    def test_functions_without_a_name_are_reported_by_build_id(self):
        _, messages = self.run_symbolize()
        self.assertIn("0 frames of ", messages)
        self.assertRegex(messages, rf"\d+ frames? of {re.escape(str(self.program))}, build id {build_id(PROGRAM)}")

    def test_a_debug_file_of_another_build_is_not_used(self):
        path, _ = self.run_symbolize("--debug-dir", self.home / "wrong")
        self.assertEqual(self_weights(path), self_weights(self.recorded))

    def test_several_directories(self):
        path, _ = self.run_symbolize("--debug-dir", self.home / "wrong", "--debug-dir", self.home / "debug")
        self.assertLessEqual(NAMES, weights_by_name(path).keys())

    def test_inlined_functions(self):
        plain, _ = self.run_symbolize("--debug-dir", self.home / "debug")
        weights = weights_by_name(plain)
        path, messages = self.run_symbolize("--debug-dir", self.home / "debug", "--inlines")
        with_inlines = weights_by_name(path)
        self.assertNotIn("inlined", weights)
        for functions in (("around",), ("around", "inlined")):
            self.assertGreater(self.below(path, *functions), 0)
        self.assertEqual(self.below(path, "around"), self.below(plain, "around"))
        self.assertEqual(self.below(path, "around", "inlined"), self.below(path, "inlined"))
        self.assertLess(with_inlines["around"], weights["around"])
        self.assertEqual(sum(self_weights(path).values()), sum(self_weights(plain).values()))
        self.assertRegex(messages, r"; [1-9]\d* frames? of inlined functions added")

    @staticmethod
    def below(path, *functions):
        """Returns the weight of stacks that contain all of these functions."""
        finished = harness.run("export", path, "--to", "folded", "-o", "-")
        lines = [line.rsplit(" ", 1) for line in finished.stdout.splitlines()]
        return sum(int(weight) for stack, weight in lines if set(functions) <= set(stack.split(";")))

    def test_replaces_its_input(self):
        path = self.home / "run" / ("here" + recording.SUFFIX)
        shutil.copy(self.recorded, path)
        path.chmod(0o640)
        for expected in (r"\d+ frames of \d+ without a name have one now", r"all \d+ frames already had names"):
            inode = path.stat().st_ino
            finished = harness.run("symbolize", path, "--no-sync", "--debug-dir", self.home / "debug")
            self.assertEqual(finished.returncode, 0, finished.stderr)
            self.assertRegex(finished.stdout, expected)
            self.assertLessEqual(NAMES, weights_by_name(path).keys())
            self.assertNotEqual(path.stat().st_ino, inode, "overwritten, not replaced")
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        self.assertEqual(sorted(file.name for file in path.parent.iterdir() if file.name.startswith(".")), [])

    def beside_a_silent_mount(self, path, debug=None):
        """Starts symbolize in a mount namespace where the file system of the programs does not answer."""
        stuck_mount = pathlib.Path(__file__).parent.parent / "jemalloc" / "stuck_mount.py"
        content, programs = self.home / "content", self.home / "bin"
        content.touch()
        self.addCleanup(content.with_suffix(".stuck").unlink, missing_ok=True)
        script = 'ls "$1" >&2; : >"$2"; shift 2; exec "$@"'
        words = [sys.executable, stuck_mount, programs, content, "/bin/sh", "-c", script, "sh", programs, content.with_suffix(".stuck"),
                 harness.CTPROF, "symbolize", self.recorded, "--no-sync", "-o", path, "--debug-dir", debug or self.home / "debug"]
        return subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @unittest.skipUnless(os.path.exists("/dev/fuse"), "needs /dev/fuse")
    def test_a_file_system_that_does_not_answer(self):
        path = self.home / "run" / ("silent" + recording.SUFFIX)
        with self.beside_a_silent_mount(path) as process:
            _, messages = process.communicate(timeout=recording.TIMEOUT)
        self.assertEqual(process.returncode, 0, messages)
        self.assertRegex(messages, rf"cannot open files: '{re.escape(str(self.program))}'.*the file system does not answer")
        self.assertLessEqual(NAMES, weights_by_name(path).keys())

    @unittest.skipUnless(os.path.exists("/dev/fuse"), "needs /dev/fuse")
    def test_a_debug_directory_that_does_not_answer(self):
        debug, path = self.home / "bin" / "debug", self.home / "run" / ("refused" + recording.SUFFIX)
        with self.beside_a_silent_mount(path, debug) as process:
            _, messages = process.communicate(timeout=recording.TIMEOUT)
        self.assertFalse(path.exists())
        self.assertIn(f"looking for names in '{debug}': the file system does not answer", messages)

    @unittest.skipUnless(os.path.exists("/dev/fuse"), "needs /dev/fuse")
    def test_an_interrupt_writes_the_names_so_far(self):
        path = self.home / "run" / ("interrupted" + recording.SUFFIX)
        with self.beside_a_silent_mount(path) as process:
            self.assertTrue(recording.wait_for(lambda: waiting_tools(process.pid)))
            os.kill(waiting_tools(process.pid)[0], signal.SIGTERM)
            _, messages = process.communicate(timeout=recording.TIMEOUT)
        self.assertEqual(process.returncode, 0, messages)
        self.assertIn("interrupted while naming functions", messages)
        self.assertEqual(sum(self_weights(path).values()), sum(self_weights(self.recorded).values()))

    def test_when_recording(self):
        path = self.home / "run" / ("named" + recording.SUFFIX)
        self.record_to(path, self.home / "bin" / "library.so", "1s", "--debug-dir", self.home / "debug", "--inlines")
        self.assertLessEqual(NAMES - {"around"} | {"inlined"}, weights_by_name(path).keys())


if __name__ == "__main__":
    unittest.main()
