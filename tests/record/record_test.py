#!/usr/bin/python3
"""The end of a recording: exit statuses, signals, unwritable outputs, the display of progress, and notes about the host.

Environment: CTPROF, CLOCKS (clocks.c, a library)."""

import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
from recording import Recorder, Window, harness, run, wait_for  # noqa: E402

KINDS = (signal.SIGINT, signal.SIGTERM)


class Case(recording.RecordingCase):
    def length(self, path=None):
        """Returns the length of the window in seconds."""
        window = Window(path or self.file)
        return (window.end["end"]["monotonic_ns"] - window.head["opened"]["monotonic_ns"]) / 1e9


class EndOfRecording(Case):
    def test_ctprof_returns_the_status_of_the_command(self):
        for script, status in (("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)):
            with self.subTest(script):
                finished = run("-o", self.file, "--", "sh", "-c", script)
                self.assertEqual(finished.returncode, status, finished.stderr)
                Window(self.file)

    def test_a_command_that_does_not_exist(self):
        finished = run("-o", self.file, "--", "/no/such/command")
        self.assertEqual(finished.returncode, 2)
        self.assertIn("running '/no/such/command'", finished.stderr)
        self.assertEqual(recording.files_in(self.here), [])

    def test_the_command_ends_before_the_duration(self):
        finished = run("-d", "50s", "-o", self.file, "--", "sh", "-c", "sleep 0.3; exit 3")
        self.assertEqual(finished.returncode, 3, finished.stderr)
        self.assertLess(self.length(), 30)

    def test_the_duration_ends_before_the_command(self):
        finished = run("-d", "300ms", "-o", self.file, "--", "sh", "-c", "exec sleep 30 >/dev/null 2>&1")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        pid = int(re.search(r"the command continues as process (\d+)", finished.stderr)[1])
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            self.assertIn(b"sleep", file.read())
        os.kill(pid, signal.SIGKILL)
        Window(self.file)

    def test_one_signal_ends_the_window(self):
        for kind in KINDS:
            with self.subTest(kind), Recorder("-o", self.file) as recorder:
                time.sleep(0.5)
                recorder.signal(kind)
                status, messages = recorder.finish()
                self.assertEqual(status, 0, messages)
                self.assertLess(self.length(), 30)

    def test_a_signal_before_the_window_has_opened(self):
        with Recorder("-o", self.file) as recorder:
            recorder.signal(signal.SIGINT)
            status, messages = recorder.finish()
            self.assertEqual(status, 0, messages)
            Window(self.file)

    @unittest.skipIf(harness.is_sanitized(), "a sanitizer delays signals")
    def test_two_signals_discard_the_window(self):
        for first in KINDS:
            for second in KINDS:
                with self.subTest(f"{first}, {second}"), Recorder("-o", self.file) as recorder:
                    recorder.signal(first)
                    while recording.is_pending(recorder.process.pid, first):  # equal pending signals are delivered once
                        pass
                    recorder.signal(second)
                    status, messages = recorder.finish()
                    self.assertIn(status, (-first, -second), messages)  # threads of ctprof may handle them in another order
                    self.assertEqual(recording.files_in(self.here), [])

    def test_ctrl_c_ends_the_command(self):
        """Ctrl-C signals the whole process group: the command exits, and ctprof returns its status."""
        with Recorder("-o", self.file, "--", "sh", "-c", "trap 'exit 9' INT; while :; do sleep 0.05; done",
                      start_new_session=True) as recorder:
            self.assertTrue(wait_for(lambda: subprocess.run(["pgrep", "-P", str(recorder.process.pid)], check=False,
                                                            capture_output=True).returncode == 0))
            time.sleep(0.3)
            os.killpg(recorder.process.pid, signal.SIGINT)
            status, messages = recorder.finish()
            self.assertEqual(status, 9, messages)
            Window(self.file)


class Cgroups(Case):
    """Only living and exited threads of a cgroup, or of those below it."""

    def setUp(self):
        super().setUp()
        mounts = pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
        root = next((line.split()[1] for line in mounts if line.split()[2] == "cgroup2"), None)
        self.cgroup = pathlib.Path(root or "/nowhere") / f"ctprof-record-{os.getpid()}"
        try:
            (self.cgroup / "below").mkdir(parents=True)
        except OSError as error:
            self.skipTest(f"needs permission to make cgroups: {error}")
        self.addCleanup(self.remove)

    def remove(self):
        for path in (self.cgroup / "below", self.cgroup):
            self.assertTrue(wait_for(lambda path=path: not (path / "cgroup.procs").read_text(encoding="ascii")))
            path.rmdir()

    def sleeper(self, *below):
        process = subprocess.Popen(["sh", "-c", "read it; while read it; do true & wait; done"], stdin=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        (self.cgroup.joinpath(*below) / "cgroup.procs").write_text(str(process.pid), encoding="ascii")
        return process

    def start_children(self, process):
        process.stdin.write("\n" * 5)
        process.stdin.flush()

    def assert_only(self, window, processes, exited_count):
        living = {row.values["cgroup"] for row in window.living.values()}
        self.assertEqual({name[0] for name in window.living}, {process.pid for process in processes})
        self.assertTrue(all(path.startswith(f"/{self.cgroup.name}") for path in living), living)
        self.assertEqual(len(window.ended), exited_count)

    def test_only_the_cgroup_is_recorded(self):
        both = self.sleeper(), self.sleeper("below")
        begun = self.here / "begun"
        script = f"touch {begun}; while test -e {begun}; do sleep 0.1; done"  # it and its children run in another cgroup
        with Recorder("--cgroup", f"/{self.cgroup.name}/", "-o", self.file, "--", "sh", "-c", script) as recorder:
            self.assertTrue(wait_for(begun.exists))
            for process in both:
                self.start_children(process)
            time.sleep(0.5)
            begun.unlink()
            status, messages = recorder.finish()
        self.assertEqual(status, 0, messages)
        self.assert_only(Window(self.file), both, 2 * 4)

    def test_living_threads_without_bpf(self):
        both = self.sleeper(), self.sleeper("below")
        finished = run("--cgroup", f"/{self.cgroup.name}", "--plugins", "procfs-sched", "-d", "300ms", "-o", self.file)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assert_only(Window(self.file), both, 0)

    def test_captures(self):
        both = self.sleeper(), self.sleeper("below")
        finished = harness.run("capture", "--layout", "columns", "--cgroup", f"/{self.cgroup.name}/below", "-o", str(self.file))
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertRegex(finished.stdout, r"^1 thread of 1 process,")
        self.assertEqual(both[1].poll(), None)

    def test_an_empty_cgroup(self):
        finished = run("--cgroup", f"/{self.cgroup.name}", "-d", "100ms", "-o", self.file)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assert_only(Window(self.file), (), 0)

    def test_a_cgroup_that_does_not_exist(self):
        finished = run("--cgroup", "/no/such", "-d", "100ms", "-o", self.file)
        self.assertEqual((finished.returncode, finished.stderr), (2, "ctprof: looking for cgroup '/no/such': No such file or directory\n"))


class Host(Case):
    def setUp(self):
        super().setUp()
        if harness.is_sanitized():
            self.skipTest("a sanitizer must be loaded first")

    def notes(self, sets_clocks):
        """Records a command that may set the clocks. Returns the notes of the window, except those about cgroups, and the output."""
        mark = self.here / "set"
        finished = run("-o", self.file, "--", *(["touch", mark] if sets_clocks else ["true"]),
                       env=os.environ | {"LD_PRELOAD": os.environ["CLOCKS"], "CLOCKS_SET": str(mark)})
        self.assertEqual(finished.returncode, 0, finished.stderr)
        notes = [note for note in Window(self.file).head["notes"] if "cgroup" not in note]
        return notes, finished.stderr

    def test_changed_clocks_are_reported(self):
        notes, messages = self.notes(True)
        self.assertEqual([re.sub(r"\.\d+ s", " s", note) for note in notes],
                         ["the clock was set forward by 3600 s", "the host was suspended for 60 s"])
        for note in notes:
            self.assertIn(f"ctprof: {note}\n", messages)

    def test_unchanged_clocks(self):
        self.assertEqual(self.notes(False)[0], [])


class Places(Case):
    def test_a_directory_that_does_not_exist(self):
        finished = run("-d", "1s", "-o", self.here / "none" / "it.zst")
        self.assertEqual(finished.returncode, 2)
        self.assertEqual(len(finished.stderr.splitlines()), 1)

    def test_a_full_disk(self):
        place = self.here / "full"
        place.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", str(place)], check=False, capture_output=True).returncode != 0:
            self.skipTest("needs permission to mount")
        self.addCleanup(subprocess.run, ["umount", str(place)], check=True)
        finished = run("-d", "200ms", "-o", place / "it.zst")
        self.assertEqual(finished.returncode, 2)
        self.assertIn("No space left on device", finished.stderr)
        self.assertEqual(recording.files_in(place), [])
        finished = run("-d", "200ms", "--repeat", "3", "-o", place)
        self.assertEqual(finished.returncode, 2)
        self.assertEqual(recording.files_in(place), [])

    def test_without_a_name_one_is_generated_and_reported(self):
        finished = run("-d", "100ms", cwd=self.here)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        name, = recording.files_in(self.here)
        self.assertRegex(name, re.escape(os.uname().nodename) + r"-\d{8}-\d{6}\.ctprof\.zst$")
        self.assertIn(name, finished.stderr)


class Progress(Case):
    def shown_on(self, terminal, *words):
        """Returns what a recording of 1.2 s writes to a terminal, which is its standard error if `terminal` is true."""
        terminal_fd, stderr_fd = pty.openpty()
        try:
            process = subprocess.Popen(recording.command("-d", "1200ms", "-o", self.file, *words), stderr=stderr_fd if terminal else subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL)
            os.close(stderr_fd)
            text = b""
            while True:
                try:
                    more = os.read(terminal_fd, 4096)
                except OSError:  # the other end is closed
                    break
                if not more:
                    break
                text += more
            self.assertEqual(process.wait(recording.TIMEOUT), 0)
            return text.decode()
        finally:
            os.close(terminal_fd)

    def test_a_terminal_has_one_line_of_progress(self):
        text = self.shown_on(True)
        shown = re.findall(r"\r\x1b\[Krecording (\d+\.\d) s, (\d+) threads?, (\d+) exited, (\d+) lost", text)
        self.assertGreaterEqual(len(shown), 2, text)
        self.assertGreater(int(shown[0][1]), 1)
        last = text.rindex("recording ")
        self.assertIn("\r\x1b[K", text[last:], "the line remains")

    def test_windows_have_numbers(self):
        self.file = self.here / "many"
        text = self.shown_on(True, "--repeat", "2")
        self.assertIn("recording 1 of 2: 0.0 s", text)
        self.assertIn("recording 2 of 2: ", text)

    def test_quiet(self):
        self.assertEqual(self.shown_on(True, "--quiet"), "")

    def test_without_a_terminal_no_progress(self):
        finished = run("-d", "700ms", "-o", self.file)
        self.assertNotIn("recording", finished.stderr)
        self.assertNotIn("\x1b", finished.stderr)


if __name__ == "__main__":
    harness.main()
