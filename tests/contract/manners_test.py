#!/usr/bin/python3
"""What becomes of plugins that print, change what all of a process have in common, or take over a metric of ours.

Environment: CTPROF, FIXTURES, BAD_PLUGINS; rude.py says what the plugin does. Captures are of a recorded tree.
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
from rude import KERNEL, PLACES, Rude  # noqa: E402


class Shared(Rude):
    """What all of a process have in common, which a plugin may use and change."""

    def test_what_a_plugin_prints_is_not_in_our_output(self):
        for place in (*PLACES, "destructor"):
            for deed in ("print", "flush"):
                with self.subTest(f"{place}:{deed}"):
                    done = self.capture(f"{place}:{deed}", to="-", text=False)
                    self.assertEqual(done.returncode, 0)
                    self.assertIn(b"printed by a plugin", done.stderr)
                    self.file.write_bytes(done.stdout)
                    self.assertEqual(file_json.load(self.file).faults(), [])

    def test_nor_in_what_other_verbs_print(self):
        for verb in (("metric-list", "--format", "json"), ("show", str(self.sound), "--format", "csv")):
            plain = self.run_rude("", *verb)
            for place in ("constructor", "add", "destructor"):
                self.assertEqual(self.run_rude(f"{place}:print", *verb).stdout, plain.stdout)

    def test_another_name_of_standard_output_is_standard_output(self):
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            done = self.capture("collect:print", to=name, text=False)
            self.file.write_bytes(done.stdout)
            self.assertEqual(file_json.load(self.file).faults(), [])

    def test_closed_descriptors_do_no_harm(self):
        words = self.command("--rootfs", harness.fixture(KERNEL), "capture", "-o", str(self.file))
        for closed in ("<&-", ">&-", "<&- >&- 2>&-"):
            self.file.unlink(missing_ok=True)
            subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *words], env=os.environ | {"RUDE": "collect:print"}, check=False,
                           capture_output=True, timeout=harness.TIMEOUT)
            self.assertEqual(file_json.load(self.file).faults(), [])

    def test_a_relative_name_means_what_it_meant(self):
        for place in PLACES:
            with self.subTest(place):
                here = self.here / f"from-{place}"
                here.mkdir()
                done = subprocess.run([harness.CTPROF, "--plugin-path", "../rude", "--plugin-path", "../outranks", "--rootfs",
                                       harness.fixture(KERNEL), "capture", "-o", "it"],
                                      env=os.environ | {"RUDE": f"{place}:chdir"}, cwd=here, capture_output=True, check=False, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(file_json.load(here / "it").faults(), [])
                self.assertIn("outranks.so", done.stderr)
        done = self.run_rude("constructor:chdir", "show", "sound.ctprof.zst", cwd=self.here)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_signals_get_through(self):
        """What is sent while a plugin has blocked all of them ends us when it returns."""
        for place in PLACES:
            with self.subTest(place):
                process = self.stopped(f"{place}:block", "capture", "-o", str(self.file), "--quiet")
                process.send_signal(signal.SIGTERM)
                process.send_signal(signal.SIGCONT)
                process.communicate(timeout=harness.TIMEOUT)
                self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_the_mask_stays(self):
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        modes = set()
        for rude in ("", *(f"{place}:umask" for place in PLACES)):
            self.file.unlink(missing_ok=True)
            self.assertEqual(self.capture(rude).returncode, 0)
            modes.add(self.file.stat().st_mode)
        self.assertEqual(len(modes), 1)

    def comma_locale(self):
        """LOCPATH of a locale that writes "1,5"."""
        path = self.here / "locales"
        if not path.exists():
            path.mkdir()
            made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(path / "ctprof_comma")], capture_output=True, check=False)
            if made.returncode != 0:
                shutil.rmtree(path)
                self.skipTest("needs localedef and the sources of de_DE (package locales)")
        return os.environ | {"LOCPATH": str(path)}

    def test_figures_have_points(self):
        locale = self.comma_locale()
        verbs = [("show", str(self.sound), "--limit", "0"), ("show", str(self.sound), "--format", "json")]
        for verb in verbs:
            plain = self.run_rude("", *verb).stdout
            for place in ("constructor", "add", "number"):
                done = self.run_rude(f"{place}:locale", *verb, env=locale | {"RUDE": f"{place}:locale"})
                self.assertEqual(done.stdout, plain, place)

    def test_a_capture_tells_its_time_with_a_point(self):
        locale = self.comma_locale()
        for place in PLACES:
            done = self.capture("", env=locale | {"RUDE": f"{place}:locale"})
            self.assertRegex(done.stdout, r"[0-9]\.[0-9]+ (ms|KiB)", place)
            self.assertNotRegex(done.stdout, r",[0-9]{1,2} (ms|KiB)", place)


class Outranked(Rude):
    def captured(self, *words):
        return subprocess.run(self.command(*words, "--rootfs", harness.fixture(KERNEL), "capture", "-o", str(self.file), plugin="outranks"), capture_output=True, check=True,
                              text=True, timeout=harness.TIMEOUT)

    def test_a_capture_says_who_took_over(self):
        said = [line for line in self.captured().stderr.splitlines() if "outranks.so" in line]
        self.assertEqual(said, [f"ctprof: {self.here / 'outranks' / 'outranks.so'}: plugin 'outranks', which is not ctprof's own, filled "
                                "1 metric in place of ctprof's sources: run_time_ns"])

    def test_the_file_and_its_reports_say_so(self):
        self.captured()
        self.assertEqual(file_json.load(self.file).document["ctprof"]["takeovers"], [{"plugin": "outranks", "metrics": ["run_time_ns"]}])
        words = "plugin 'outranks', which is not ctprof's own, filled 1 metric in place of ctprof's sources: run_time_ns"
        self.assertIn(f"snapshot: {words}\n", harness.run("show", str(self.file)).stdout)
        self.assertIn(f"candidate: {words}\n", harness.run("compare", "--lifetime", str(self.sound), str(self.file)).stdout)
        self.assertIn(words, harness.run("show", str(self.file), "--format", "csv").stderr)
        told = [{"plugin": "outranks", "metrics": ["run_time_ns"]}]
        self.assertEqual(json.loads(harness.run("show", str(self.file), "--format", "json").stdout)["snapshot"]["takeovers"], told)
        both = json.loads(harness.run("compare", "--lifetime", str(self.sound), str(self.file), "--format", "json").stdout)
        self.assertEqual((both["baseline"]["takeovers"], both["candidate"]["takeovers"]), ([], told))

    def test_without_a_rival_nobody_took_over(self):
        self.captured("--plugins=outranks")
        self.assertNotIn("takeovers", file_json.load(self.file).document["ctprof"])
        self.assertNotIn("takeovers", file_json.load(self.sound).document["ctprof"])


if __name__ == "__main__":
    harness.main()
