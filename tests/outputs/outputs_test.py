#!/usr/bin/python3
"""Output plugins on the command line: their list, exports, errors, and the rights of their process.

    CTPROF=... OUTPUTS=DIRECTORY PYTHON_MODULE=sdk/python outputs_test.py
"""
import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest

CTPROF, OUTPUTS = os.environ["CTPROF"], os.environ["OUTPUTS"]
sys.path.append(os.environ["PYTHON_MODULE"])
import ctprof_testing as testing  # noqa: E402

TREE = testing.make_tree({(7, 7): {"schedstat": "4000 300 2\n"}, (7, 8): {"schedstat": "1000 20 1\n"}})


class OutputCase(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.here = pathlib.Path(directory.name)
        self.file = self.here / "test.ctprof.zst"

    def run_ctprof(self, *words, **variables):
        return subprocess.run([CTPROF, "--plugin-path", OUTPUTS, *map(str, words)], cwd=self.here, capture_output=True, text=True, check=False,
                              env=os.environ | variables)

    def capture(self):
        with testing.Tree(TREE) as tree:
            testing.run("--rootfs", tree.path, "capture", "-q", "--layout", "columns", "-o", self.file)

    def export(self, mode, *words, **variables):
        return self.run_ctprof("export", self.file, "--to", "awkward", "--set", f"awkward.mode={mode}", *words, **variables)


class Exports(OutputCase):
    def setUp(self):
        super().setUp()
        self.capture()

    def test_bytes_of_the_plugin_are_the_file(self):
        finished = self.export("good", "-o", "out")
        self.assertEqual((finished.returncode, (self.here / "out").read_text()), (0, "window, 0 dropped before\n"), finished.stderr)

    def test_without_a_file(self):
        finished = self.export("good")
        self.assertEqual((finished.returncode, finished.stderr), (0, "ctprof: passed to output 'awkward'\n"))

    def test_standard_output(self):
        self.assertEqual(self.export("good", "-q", "-o", "-").stdout, "window, 0 dropped before\n")

    def test_existing_file_of_another_kind_stays(self):
        (self.here / "out").write_text("mine")
        finished = self.export("good", "-o", "out")
        self.assertEqual((finished.returncode, (self.here / "out").read_text()), (2, "mine"))
        self.assertIn("--force replaces it", finished.stderr)

    def test_failures_are_one_message_and_leave_no_file(self):
        for mode, message in {"crash-put": "its process ended with signal 6", "exit-put": "its process ended with status 7",
                              "fail-put": "the server is closed", "silent-put": "put failed with status 5 and no message",
                              "fail-close": "the last line is missing"}.items():
            with self.subTest(mode):
                finished = self.export(mode, "-o", "out")
                self.assertEqual((finished.returncode, finished.stderr), (2, f"ctprof: exporting to 'awkward': {message}\n"))
                self.assertFalse((self.here / "out").exists())

    def test_failures_at_the_start(self):
        path = f"{OUTPUTS}/awkward.so"
        for mode, message in {"refuse-open": "mode: refused", "crash-open": "its process ended with signal 6"}.items():
            with self.subTest(mode):
                finished = self.export(mode)
                self.assertEqual((finished.returncode, finished.stderr), (2, f"ctprof: starting output 'awkward': '{path}': {message}\n"))

    def test_lines_of_the_plugin_are_messages(self):
        finished = self.export("print-put", "-o", "-")
        self.assertEqual((finished.stdout, finished.stderr), ("", "standard output, 0 B\nctprof: output 'awkward' prints: a stray line\n"))

    def test_lines_of_the_plugin_cannot_control_a_terminal(self):
        self.assertIn("prints: \\x1b]0;title\\x07\n", self.export("print-controls-put", "-o", "-").stderr)

    def test_lines_of_the_plugin_are_limited(self):
        lines = [line for line in self.export("print-much-put").stderr.splitlines() if " prints: " in line]
        self.assertEqual((len(lines), lines[-1]), (101, "ctprof: output 'awkward' prints: more lines, which are not shown"))

    def test_process_cannot_change_the_file_of_messages(self):
        log = self.here / "log"
        with log.open("w+") as file:
            file.write("earlier\n")
            file.flush()
            subprocess.run([CTPROF, "--plugin-path", OUTPUTS, "export", self.file, "--to", "awkward", "--set", "awkward.mode=truncate-put"], check=True,
                           stderr=file)
        self.assertTrue(log.read_text().startswith("earlier\n"))

    def test_process_has_no_rights(self):
        finished = self.export("rights-put", "-q", "-o", "-")
        rights = dict(line.split(":\t", 1) for line in finished.stdout.splitlines())
        user = "65534" if os.geteuid() == 0 else str(os.geteuid())
        self.assertEqual(rights["Uid"].split("\t"), [user] * 4)
        self.assertEqual((rights["NoNewPrivs"], rights["Memory"]), ("1", "private"))
        for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(rights[kind], 16), 0, kind)
        if os.geteuid() == 0:
            self.assertEqual(rights["Groups"].strip(), "")

    def test_process_has_no_descriptor_of_ctprof(self):
        """Besides the standard ones: two of the connection, the plugin's file, the file for its bytes, and the window."""
        self.assertEqual(len(self.export("descriptors-put", "-q", "-o", "-").stdout.splitlines()), 3 + 4 + 1)

    def export_on_terminal(self, mode):
        """Exports to the file `out` in a session of its own, on a terminal of its own."""
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.here)
            os.execv(CTPROF, [CTPROF, "--plugin-path", OUTPUTS, "export", str(self.file), "--to", "awkward", "--set", f"awkward.mode={mode}", "-o", "out"])
        with contextlib.suppress(OSError):  # a terminal reports by an error that its other end is closed
            while os.read(terminal, 4096):
                pass
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), 0)
        return (self.here / "out").read_text().splitlines()

    def test_process_has_no_terminal(self):
        self.assertEqual(self.export_on_terminal("session-put")[:2], ["no terminal", "messages in a pipe"])

    def test_process_has_no_keys_of_the_session(self):
        libc = ctypes.CDLL(None, use_errno=True)
        add_key, keyctl, join_session, session = 248, 250, 1, -3
        if os.uname().machine != "x86_64" or libc.syscall(keyctl, join_session, None) < 0:
            self.skipTest("needs keys of the kernel")
        self.assertGreater(libc.syscall(add_key, b"user", b"ctprof-test", b"secret", 6, session), 0)
        self.assertIn("no key", self.export("session-put", "-q", "-o", "-").stdout.splitlines())

    def test_process_has_only_harmless_variables(self):
        variables = {"TZ": "UTC", "LC_TIME": "C", "https_proxy": "http://proxy", "TOKEN": "x", "PATH": os.environ["PATH"]}
        passed = self.export("environment-put", "-q", "-o", "-", "--set", "awkward.environment=https_proxy,NO_SUCH", **variables)
        names = {line.split("=", 1)[0] for line in passed.stdout.splitlines()}
        self.assertLessEqual({"TZ", "LC_TIME", "https_proxy", "PATH"}, names)
        self.assertLessEqual({name for name in names if not name.startswith("LC_")}, {"PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "https_proxy"})

    @unittest.skipIf("asan" in CTPROF, "AddressSanitizer maps memory that cannot be searched in time")
    def test_process_has_no_memory_of_ctprof(self):
        """Such as the environment, and the settings of other outputs."""
        found = self.export("memory-put", "-q", "-o", "-", "--set", "bad_put.token=PRIVATE-TEXT", TOKEN="PRIVATE-TEXT")
        self.assertEqual(found.stdout, "0 private texts\n", found.stderr)

    def test_process_cannot_signal_others_of_its_user(self):
        landlock_create_ruleset, get_version, first_with_scopes = 444, 1, 6
        if ctypes.CDLL(None).syscall(landlock_create_ruleset, None, 0, get_version) < first_with_scopes:
            self.skipTest("needs Landlock of Linux 6.12")
        with subprocess.Popen(["sleep", "600"], user=65534 if os.geteuid() == 0 else None) as other:
            self.addCleanup(other.kill)
            sent = self.export(f"signal-put:{other.pid}", "-q", "-o", "-").stdout
            self.assertEqual((sent, other.poll()), ("refused\n", None))
            other.kill()

    def test_name_of_the_process(self):
        self.assertIn("ctprof\n", self.export("name-put", "-q", "-o", "-").stdout)

    def test_processes_that_the_plugin_starts_end_with_it(self):
        """They have a lock on a file, whose release shows that none is left."""
        lock = self.here / "lock"
        lock.touch()
        os.chmod(self.here, 0o755)
        os.chmod(lock, 0o666)
        finished = self.export("fork-put")
        self.assertIn("passed to output", finished.stderr)
        with lock.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)

    def test_settings(self):
        finished = self.run_ctprof("export", self.file, "--to", "awkward", "--set", "awkward.moed=x")
        self.assertEqual(finished.returncode, 2)
        self.assertIn("it has no option 'moed' (did you mean 'mode'?); it has mode", finished.stderr)

    def test_settings_that_are_too_long(self):
        finished = self.export("x" * 70000)
        self.assertEqual((finished.returncode, finished.stderr), (2, "ctprof: starting output 'awkward': its settings are too long\n"))

    def test_word_of_the_process_is_no_command(self):
        finished = subprocess.run([CTPROF, "output-child"], capture_output=True, text=True, check=False)
        self.assertEqual(finished.returncode, 2)
        self.assertIn("unknown command 'output-child'", finished.stderr)

    def test_unknown_form_names_outputs(self):
        finished = self.run_ctprof("export", self.file, "--to", "akward", "-o", "out")
        self.assertIn("(did you mean 'awkward'?)", finished.stderr)

    def test_pseudonyms_of_a_redacted_file(self):
        self.assertEqual(self.run_ctprof("export", self.file, "--redact", "-q", "-o", "public.ctprof.zst").returncode, 0)
        finished = self.export("good", "--redact")
        self.assertEqual(finished.returncode, 2)
        self.assertIn("redact the file first", finished.stderr)


class KeysWithLabels(OutputCase):
    """The plugin `labels` of tests/contract has maps with one and two labels."""

    def test_output_that_was_built_earlier_gets_whole_keys(self):
        (self.here / "labels.so").symlink_to(pathlib.Path(os.environ["BAD_PLUGINS"], "labels.so"))
        with testing.Tree(TREE) as tree:
            testing.run("--rootfs", tree.path, "--plugin-path", self.here, "capture", "-q", "-o", self.file)
        finished = self.run_ctprof("export", self.file, "--to", "frozen_output", "-q", "-o", "-", "--entity", "labels_port", "--metrics", "labels_moved_bytes")
        expected = ["left;labels_moved_bytes;sda,read;100", "left;labels_moved_bytes;sda,write;20", "right;labels_moved_bytes;a%2Cb,100%25;3",
                    "right;labels_moved_bytes;sda,read;101", "right;labels_moved_bytes;sda,write;21"]
        self.assertEqual(sorted(line for line in finished.stdout.splitlines() if line != "left;labels_moved_bytes;a%2Cb,100%25;0"), expected, finished.stderr)


class OutputLists(OutputCase):
    def test_plugins_lists_outputs(self):
        finished = self.run_ctprof("plugins")
        self.assertIn(f"output awkward 1  {OUTPUTS}/awkward.so\n  Misbehaves.\n  --set awkward.mode=good  What it does.\n", finished.stdout)
        self.assertNotIn("awkward", finished.stderr)

    def test_wrong_tables_are_refused_with_a_reason(self):
        listed = {item["name"]: item for item in json.loads(self.run_ctprof("plugins", "--format", "json").stdout)["outputs"]}
        for name, reason in {"bad_abi": "it is built for version 2 of the output interface, this ctprof for version 1",
                             "bad_size": "its table states a size of 8 bytes, which is less than that of version 1",
                             "bad_name": "its name is 'other', which differs from that of its file",
                             "bad_put": "its table has no function 'put'"}.items():
            self.assertEqual((listed[name]["state"], listed[name]["reason"]),
                             ("refused", f"starting output '{name}': '{OUTPUTS}/{name}.so': {reason}"))
        self.assertEqual((listed["awkward"]["state"], listed["awkward"]["reason"]), ("available", ""))

    def test_plugin_check_reports_faults_of_the_table(self):
        good, bad = (subprocess.run([CTPROF, "plugin", "check", f"{OUTPUTS}/{name}.so"], capture_output=True, text=True, check=False)
                     for name in ("awkward", "bad_name"))
        self.assertEqual((good.returncode, bad.returncode), (0, 1))
        self.assertIn("its name is 'other'", bad.stdout)

    def test_outputs_are_no_sources_of_metrics(self):
        finished = self.run_ctprof("plugins", "--plugins", "awkward")
        self.assertEqual(finished.returncode, 2)
        self.capture()
        self.assertEqual(self.run_ctprof("metric-list").stderr, "")


class Arguments(OutputCase):
    def test_emit_requires_windows(self):
        finished = self.run_ctprof("record", "-d", "1s", "--emit", "awkward", "-o", "x.ctprof.zst")
        self.assertEqual((finished.returncode, finished.stderr), (2, "ctprof: --emit requires --every, such as --every 60s\n"))

    def test_unknown_output(self):
        finished = self.run_ctprof("record", "--every", "1s", "-d", "1s", "--emit", "awkwrd", "-o", "x.ctprof.zst")
        self.assertEqual((finished.returncode, finished.stderr), (2, "ctprof: no output plugin 'awkwrd' was found (did you mean 'awkward'?)\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
