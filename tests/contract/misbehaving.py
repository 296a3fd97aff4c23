"""Helpers for tests of the plugin `misbehaving` (bad/), whose behaviour MISBEHAVE="PLACE:ACTION" selects.

Environment: CTPROF, FIXTURES, BAD_PLUGINS.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402

KERNEL = "6.12"

# Functions of misbehaving.so that a capture calls, and their names in messages.
PLACES = {
    "constructor": "its constructors",
    "probe": "probe of source 'actor'",
    "open_worker": "open_worker of source 'actor'",
    "collect": "collect of source 'actor'",
    "close_worker": "close_worker of source 'actor'",
    "summarise": "summarise of source 'actor'",
}


class MisbehavingPlugin(unittest.TestCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        cls.scratch = harness.scratch()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.here = pathlib.Path(cls.scratch.name)
        for name in ("misbehaving", "outranks"):
            (cls.here / name).mkdir()
            shutil.copy(pathlib.Path(os.environ["BAD_PLUGINS"]) / f"{name}.so", cls.here / name)
        cls.library = cls.here / "misbehaving" / "misbehaving.so"
        cls.file = cls.here / "file.ctprof.zst"
        cls.sound = cls.here / "sound.ctprof.zst"
        finished = cls.run_misbehaving("", "--rootfs", harness.fixture(KERNEL), "capture", "-o", str(cls.sound))
        assert finished.returncode == 0, finished.stderr

    @classmethod
    def command(cls, *words, plugin="misbehaving"):
        return [harness.CTPROF, "--plugin-path", str(cls.here / plugin), *words]

    @classmethod
    def run_misbehaving(cls, behaviour, *words, text=True, **more):
        """Runs ctprof with misbehaving.so and the specified misbehaviour."""
        more = {"env": os.environ | {"MISBEHAVE": behaviour}, "timeout": harness.TIMEOUT, **more}
        finished = subprocess.run(cls.command(*words), capture_output=True, check=False, text=text, **more)
        if text and not behaviour.endswith(":slow"):
            finished.stderr = harness.remove_slowness(finished.stderr)
        return finished

    def capture(self, behaviour, *words, to=None, **more):
        """Captures a recorded tree."""
        return self.run_misbehaving(behaviour, "--rootfs", harness.fixture(KERNEL), "capture", "-o", str(to or self.file), *words, **more)

    def start_misbehaving(self, behaviour, *words):
        """Starts ctprof and does not wait for it."""
        return subprocess.Popen(self.command(*words), env=os.environ | {"MISBEHAVE": behaviour}, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)

    def start_until_stopped(self, behaviour, *words):
        """Starts ctprof and waits until misbehaving.so has stopped it (actions `stop` and `block`)."""
        process = self.start_misbehaving(behaviour, "--rootfs", harness.fixture(KERNEL), *words)
        state = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert state.si_code == os.CLD_STOPPED, process.communicate()[1]
        return process

    def assert_one_line_about_plugin(self, error_output, *words):
        """Checks that standard error has one line about the plugin, which contains the words."""
        lines = [line for line in error_output.splitlines() if str(self.library) in line]
        self.assertEqual(len(lines), 1, f"not exactly one line about misbehaving.so:\n{error_output}")
        for word in words:
            self.assertIn(word, lines[0])
