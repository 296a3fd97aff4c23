"""The plugin bad/rude.cc, which is told by RUDE="PLACE:DEED" what to do, and what its tests share.

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

# Where rude.so is called during a capture, and what a sentence calls it.
PLACES = {
    "constructor": "its constructors",
    "probe": "probe of source 'manners'",
    "open_worker": "open_worker of source 'manners'",
    "collect": "collect of source 'manners'",
    "close_worker": "close_worker of source 'manners'",
    "summarise": "summarise of source 'manners'",
}


class Rude(unittest.TestCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        cls.scratch = harness.scratch()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.here = pathlib.Path(cls.scratch.name)
        for name in ("rude", "outranks"):
            (cls.here / name).mkdir()
            shutil.copy(pathlib.Path(os.environ["BAD_PLUGINS"]) / f"{name}.so", cls.here / name)
        cls.library = cls.here / "rude" / "rude.so"
        cls.file = cls.here / "file.ctprof.zst"
        cls.sound = cls.here / "sound.ctprof.zst"
        done = cls.run_rude("", "--rootfs", harness.fixture(KERNEL), "capture", "-o", str(cls.sound))
        assert done.returncode == 0, done.stderr

    @classmethod
    def command(cls, *words, plugin="rude"):
        return [harness.CTPROF, "--plugin-path", str(cls.here / plugin), *words]

    @classmethod
    def run_rude(cls, rude, *words, text=True, **more):
        """A finished run of ctprof with rude.so, told to be rude there."""
        more = {"env": os.environ | {"RUDE": rude}, "timeout": harness.TIMEOUT, **more}
        done = subprocess.run(cls.command(*words), capture_output=True, check=False, text=text, **more)
        if text and not rude.endswith(":slow"):
            done.stderr = harness.without_slowness(done.stderr)
        return done

    def capture(self, rude, *words, to=None, **more):
        """Of a recorded tree."""
        return self.run_rude(rude, "--rootfs", harness.fixture(KERNEL), "capture", "-o", str(to or self.file), *words, **more)

    def started(self, rude, *words):
        """The same, not yet finished."""
        return subprocess.Popen(self.command(*words), env=os.environ | {"RUDE": rude}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def stopped(self, rude, *words):
        """The same, stopped by rude.so, whose deed is `stop` or `block`."""
        process = self.started(rude, "--rootfs", harness.fixture(KERNEL), *words)
        state = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert state.si_code == os.CLD_STOPPED, process.communicate()[1]
        return process

    def assert_told(self, said, *words):
        """Standard error has one line about the plugin, which holds the words."""
        lines = [line for line in said.splitlines() if str(self.library) in line]
        self.assertEqual(len(lines), 1, f"not one line about rude.so:\n{said}")
        for word in words:
            self.assertIn(word, lines[0])
