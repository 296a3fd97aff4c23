#!/usr/bin/python3
"""Tests plugins that print, change the state of the process, or take over a metric of ctprof.

Environment: CTPROF, FIXTURES, BAD_PLUGINS; misbehaving.py describes the plugin. Captures read a recorded tree.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import file_json  # noqa: E402
import harness  # noqa: E402
from misbehaving import KERNEL, PLACES, MisbehavingPlugin  # noqa: E402


class ProcessState(MisbehavingPlugin):
    """State of the process that a plugin may use and change."""

    def test_output_of_plugin_goes_to_standard_error(self):
        for place in (*PLACES, "destructor"):
            for action in ("print", "flush"):
                with self.subTest(f"{place}:{action}"):
                    finished = self.capture(f"{place}:{action}", to="-", text=False)
                    self.assertEqual(finished.returncode, 0)
                    self.assertIn(b"printed by a plugin", finished.stderr)
                    self.file.write_bytes(finished.stdout)
                    self.assertEqual(file_json.load(self.file).faults(), [])

    def test_other_commands_exclude_output_of_plugin(self):
        for command in (("metric-list", "--format", "json"), ("show", str(self.sound), "--format", "csv")):
            plain = self.run_misbehaving("", *command)
            for place in ("constructor", "add", "destructor"):
                self.assertEqual(self.run_misbehaving(f"{place}:print", *command).stdout, plain.stdout)

    def test_recognizes_paths_of_standard_output(self):
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            finished = self.capture("collect:print", to=name, text=False)
            self.file.write_bytes(finished.stdout)
            self.assertEqual(file_json.load(self.file).faults(), [])

    def test_survives_closed_standard_descriptors(self):
        words = self.command("--rootfs", harness.fixture(KERNEL), "capture", "-o", str(self.file))
        for closed in ("<&-", ">&-", "<&- >&- 2>&-"):
            self.file.unlink(missing_ok=True)
            subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *words], env=os.environ | {"MISBEHAVE": "collect:print"}, check=False,
                           capture_output=True, timeout=harness.TIMEOUT)
            self.assertEqual(file_json.load(self.file).faults(), [])

    def test_restores_working_directory(self):
        for place in PLACES:
            with self.subTest(place):
                here = self.here / f"from-{place}"
                here.mkdir()
                finished = subprocess.run([harness.CTPROF, "--plugin-path", "../misbehaving", "--plugin-path", "../outranks", "--rootfs",
                                           harness.fixture(KERNEL), "capture", "-o", "it"],
                                          env=os.environ | {"MISBEHAVE": f"{place}:chdir"}, cwd=here, capture_output=True, check=False, text=True)
                self.assertEqual(finished.returncode, 0, finished.stderr)
                self.assertEqual(file_json.load(here / "it").faults(), [])
                self.assertIn("outranks.so", finished.stderr)
        finished = self.run_misbehaving("constructor:chdir", "show", "sound.ctprof.zst", cwd=self.here)
        self.assertEqual(finished.returncode, 0, finished.stderr)

    def test_restores_signal_mask(self):
        """A signal that arrives while a plugin blocks all signals ends ctprof when the plugin returns."""
        for place in PLACES:
            with self.subTest(place):
                process = self.start_until_stopped(f"{place}:block", "capture", "-o", str(self.file), "--quiet")
                process.send_signal(signal.SIGTERM)
                process.send_signal(signal.SIGCONT)
                process.communicate(timeout=harness.TIMEOUT)
                self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_restores_file_mode_mask(self):
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        modes = set()
        for behaviour in ("", *(f"{place}:umask" for place in PLACES)):
            self.file.unlink(missing_ok=True)
            self.assertEqual(self.capture(behaviour).returncode, 0)
            modes.add(self.file.stat().st_mode)
        self.assertEqual(len(modes), 1)

    def comma_locale(self):
        """Returns an environment with the LOCPATH of a locale that writes "1,5"."""
        path = self.here / "locales"
        if not path.exists():
            path.mkdir()
            made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(path / "ctprof_comma")], capture_output=True, check=False)
            if made.returncode != 0:
                shutil.rmtree(path)
                self.skipTest("needs localedef and the sources of de_DE (package locales)")
        return os.environ | {"LOCPATH": str(path)}

    def test_numbers_ignore_locale_of_plugin(self):
        locale = self.comma_locale()
        commands = [("show", str(self.sound), "--limit", "0"), ("show", str(self.sound), "--format", "json")]
        for command in commands:
            plain = self.run_misbehaving("", *command).stdout
            for place in ("constructor", "add", "number"):
                finished = self.run_misbehaving(f"{place}:locale", *command, env=locale | {"MISBEHAVE": f"{place}:locale"})
                self.assertEqual(finished.stdout, plain, place)

    def test_capture_summary_ignores_locale_of_plugin(self):
        locale = self.comma_locale()
        for place in PLACES:
            finished = self.capture("", env=locale | {"MISBEHAVE": f"{place}:locale"})
            self.assertRegex(finished.stdout, r"[0-9]\.[0-9]+ (ms|KiB)", place)
            self.assertNotRegex(finished.stdout, r",[0-9]{1,2} (ms|KiB)", place)


class OutrankedPlugin(MisbehavingPlugin):
    def run_capture(self, *words):
        return subprocess.run(self.command(*words, "--rootfs", harness.fixture(KERNEL), "capture", "-o", str(self.file), plugin="outranks"),
                              capture_output=True, check=True, text=True, timeout=harness.TIMEOUT)

    def test_capture_reports_takeover(self):
        lines = [line for line in self.run_capture().stderr.splitlines() if "outranks.so" in line]
        self.assertEqual(lines, [f"ctprof: {self.here / 'outranks' / 'outranks.so'}: plugin 'outranks', which is not ctprof's own, filled "
                                 "1 metric in place of ctprof's sources: run_time_ns"])

    def test_file_and_reports_contain_takeover(self):
        self.run_capture()
        self.assertEqual(file_json.load(self.file).document["ctprof"]["takeovers"], [{"plugin": "outranks", "metrics": ["run_time_ns"]}])
        words = "plugin 'outranks', which is not ctprof's own, filled 1 metric in place of ctprof's sources: run_time_ns"
        self.assertIn(f"snapshot: {words}\n", harness.run("show", str(self.file)).stdout)
        self.assertIn(f"candidate: {words}\n", harness.run("compare", "--lifetime", str(self.sound), str(self.file)).stdout)
        self.assertIn(words, harness.run("show", str(self.file), "--format", "csv").stderr)
        expected = [{"plugin": "outranks", "metrics": ["run_time_ns"]}]
        self.assertEqual(json.loads(harness.run("show", str(self.file), "--format", "json").stdout)["snapshot"]["takeovers"], expected)
        both = json.loads(harness.run("compare", "--lifetime", str(self.sound), str(self.file), "--format", "json").stdout)
        self.assertEqual((both["baseline"]["takeovers"], both["candidate"]["takeovers"]), ([], expected))

    def test_no_takeover_without_another_source(self):
        self.run_capture("--plugins=outranks")
        self.assertNotIn("takeovers", file_json.load(self.file).document["ctprof"])
        self.assertNotIn("takeovers", file_json.load(self.sound).document["ctprof"])


if __name__ == "__main__":
    harness.main()
