#!/usr/bin/python3
"""Runs the commands that `ctprof doctor` suggests on this host exactly as printed, and checks that the missing values are available then.

An unprivileged user runs `doctor`, root runs the suggested setcap on a copy of the product in a directory with blanks and quotes in its
name, and the user captures again. Sysctls are not changed here: tests/vm runs those commands on a kernel of its own.
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import file_json
import harness
from doctor_test import read_report, check_numbers, remedies
from file_json import Gap
from json_schema import Validator
from product_copy import product_copy

PLACE = "it's here"


def setcap_commands(report):
    return [command["command"] for command in report["commands"] if command["command"].startswith("setcap ")]


def capabilities_in(command):
    return set(command.split()[1].removesuffix("+ep").split(","))


def as_root(command):
    subprocess.run(["sh", "-c", command], check=True)


class ReportOfThisHost(unittest.TestCase):

    def test_json_fits_its_schema(self):
        schema = Validator(json.loads(harness.run("doctor", "--json-schema").stdout))
        self.assertEqual(schema.problems(read_report(harness.CTPROF)), [])

    def test_pid_namespace_refers_to_the_host(self):
        """In the namespace, process 1 is the namespace's own init, so a command that uses process 1 cannot reach the host."""
        options = ["-pf", "--mount-proc"]
        harness.needs_namespaces(self, options)
        report_text = json.dumps(read_report(harness.CTPROF, prefix=["unshare", *options]))
        self.assertNotIn("nsenter -t 1 -p", report_text)
        if '"task-iter"' in report_text:
            self.assertIn("start ctprof on the host", report_text)
        self.assertNotIn("cgroup_no_v1", report_text)

    def test_numbers_agree_with_plugins(self):
        check_numbers(self)


@unittest.skipUnless(harness.can_become_user() and shutil.which("setcap"), "needs root, and setcap")
class SuggestedCommands(unittest.TestCase):
    longMessage = False

    def setUp(self):
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)
        closed = harness.root_only_scratch()
        self.addCleanup(closed.cleanup)
        self.home = os.path.join(closed.name, PLACE)
        os.mkdir(self.home)
        self.program = product_copy(harness.CTPROF, self.home)

    def path(self, *names):
        return os.path.join(self.scratch.name, *names)

    def ask_as_user(self):
        return read_report(self.program, prefix=harness.USER)

    def capture_as_user(self, name):
        """Captures as the user, and returns the cells of a sleeping process of root's."""
        path = self.path(name)
        with harness.Helper("SLEEPERS") as sleepers:
            subprocess.run([*harness.USER, self.program, "-q", "capture", "-o", path], check=True, capture_output=True, timeout=harness.TIMEOUT)
            file = file_json.load(path)
            self.assertEqual(file.faults(), [])
            return file.threads[(sleepers.pid, sleepers.pid)] | file.processes[sleepers.pid]

    def suggested_setcap(self):
        report = self.ask_as_user()
        commands = setcap_commands(report)
        if not commands:
            self.skipTest(f"capabilities of a file would have no effect here: {report['notes']}")
        self.assertEqual(len(commands), 1, commands)
        return report, commands[0]

    def test_denied_values_are_filled(self):
        report, command = self.suggested_setcap()
        before = self.capture_as_user("before")
        denied = {name for name, cell in before.items() if cell == Gap("Denied")}
        self.assertLess({"rchar", "process.smaps_rollup", "cpu_delay_count"}, denied)
        self.assertLess({"cap_net_admin", "cap_dac_read_search", "cap_sys_ptrace"}, capabilities_in(command))
        as_root(command)
        after = self.capture_as_user("after")
        self.assertEqual({name for name in denied if after[name] == Gap("Denied")}, set())
        for name in ("rchar", "process.smaps_rollup", "cpu_delay_count"):
            self.assertNotIsInstance(after[name], Gap, name)
        later_report = self.ask_as_user()
        self.assertEqual((remedies(later_report, "capabilities"), setcap_commands(later_report)), (set(), []))
        # A program that gets its rights from file capabilities still may not be traced.
        findings = [finding for plugin in later_report["plugins"] for finding in plugin["findings"] if "AT_SECURE" not in finding["reason"]]
        self.assertNotIn("Denied", {finding["state"] for finding in findings})
        self.assertNotEqual(remedies(report, "capabilities"), set())

    def test_existing_capabilities_of_the_file_are_kept(self):
        as_root(f"setcap cap_net_admin,cap_wake_alarm+ep {json.dumps(self.program)}")
        report, command = self.suggested_setcap()
        self.assertNotIn("cap_net_admin", {name for what in remedies(report, "capabilities") for name in what.split(",")})
        self.assertLess({"cap_net_admin", "cap_wake_alarm", "cap_sys_ptrace"}, capabilities_in(command))
        as_root(command)
        self.assertEqual(setcap_commands(self.ask_as_user()), [])

    def test_with_capabilities_rootfs_is_refused(self):
        """A link in a user's own tree could expose any file of the host."""
        _, command = self.suggested_setcap()
        as_root(command)
        finished = subprocess.run([*harness.USER, self.program, "--rootfs", harness.fixture("6.12"), "doctor"], capture_output=True, check=False)
        self.assertEqual((finished.returncode, finished.stdout), (2, b""))
        self.assertIn(b"--rootfs", finished.stderr)

    def closed_directory(self):
        """Creates a directory of root's with a snapshot that only root may read, and a subdirectory."""
        closed = self.path("closed")
        os.mkdir(closed, 0o700)
        os.mkdir(os.path.join(closed, "inner"))
        snapshot = os.path.join(closed, "root.ctprof.zst")
        subprocess.run([self.program, "-q", "capture", "-o", snapshot], check=True, timeout=harness.TIMEOUT)
        os.chmod(snapshot, 0o600)
        return closed, snapshot

    def as_user(self, *words):
        return subprocess.run([*harness.USER, self.program, *words], capture_output=True, timeout=harness.TIMEOUT, check=False, text=True)

    def test_with_capabilities_snapshots_need_access_of_the_user(self):
        """The capabilities are for reading threads, not for opening files that the user names."""
        _, command = self.suggested_setcap()
        _, snapshot = self.closed_directory()
        os.chmod(os.path.dirname(snapshot), 0o755)
        as_root(command)
        for words in (["show", snapshot], ["compare", "--lifetime", snapshot, snapshot], ["show", snapshot, "--format", "json"]):
            finished = self.as_user(*words)
            self.assertEqual((finished.returncode, finished.stdout), (2, ""), words)
            self.assertIn("Permission denied", finished.stderr)
        for words in (["metric-list"], ["version"], ["help"], ["help", "nice"], ["show", "--help"], ["--version"]):
            self.assertEqual(self.as_user(*words).returncode, 0, words)

    def test_with_capabilities_commands_need_access_of_the_user(self):
        """The capabilities are also not for finding the command of `record`."""
        _, command = self.suggested_setcap()
        closed, _ = self.closed_directory()
        program = os.path.join(closed, "program")
        shutil.copy("/bin/true", program)
        os.chmod(program, 0o755)
        as_root(command)
        with tempfile.TemporaryDirectory() as own:
            os.chmod(own, 0o777)
            finished = self.as_user("record", "-o", os.path.join(own, "x"), "--", program)
        self.assertEqual(finished.returncode, 2, finished.stderr)
        self.assertIn(f"running '{program}': Permission denied", finished.stderr)

    def test_with_capabilities_outputs_need_access_of_the_user(self):
        """This also holds when cap_dac_override was granted by mistake."""
        _, command = self.suggested_setcap()
        closed, snapshot = self.closed_directory()
        link = self.path("link.ctprof.zst")
        os.symlink(snapshot, link)
        with open(snapshot, "rb") as file:
            before = file.read()
        as_root(command.replace("setcap ", "setcap cap_dac_override,", 1))
        outputs = {self.as_user("-q", "capture", "-o", path).stderr.replace(path, "PATH")
                for path in (snapshot, os.path.join(closed, "inner"), os.path.join(closed, "none"))}
        self.assertEqual(outputs, {"ctprof: writing 'PATH': Permission denied\n"})
        self.as_user("-q", "capture", "-o", link)  # the link belongs to the user, who may replace it
        with open(snapshot, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(sorted(os.listdir(closed)), ["inner", "root.ctprof.zst"])
        own = self.path("own.ctprof.zst")
        self.assertEqual(self.as_user("-q", "capture", "-o", own).returncode, 0)
        self.assertEqual(os.stat(own).st_uid, 1000)
        to_pipe = [*harness.USER, self.program, "-q", "capture", "-o", "-"]
        piped = subprocess.run(to_pipe, capture_output=True, timeout=harness.TIMEOUT, check=False)
        self.assertEqual((piped.returncode, piped.stderr), (0, b""))

    def test_unavailable_capabilities_are_left_out(self):
        """A file with capabilities beyond the bounding set could not be executed."""
        bounded = ["setpriv", "--bounding-set=-sys_ptrace", *harness.USER[1:]]
        report = read_report(self.program, prefix=bounded)
        self.assertEqual([name for command in setcap_commands(report) for name in capabilities_in(command) if name == "cap_sys_ptrace"], [])
        self.assertTrue(any(note.startswith("cap_sys_ptrace: not available here") for note in report["notes"]), report["notes"])
        for command in setcap_commands(report):
            as_root(command)
        read_report(self.program, prefix=bounded)

    def test_processes_that_proc_hides(self):
        """The first process of the namespace is a shell of root's."""
        options = ["-pf", "--mount"]
        harness.needs_namespaces(self, options)
        hidden = ["unshare", *options, "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && "$0" "$@"; exit $?', *harness.USER]
        findings = [finding for plugin in read_report(self.program, prefix=hidden)["plugins"] for finding in plugin["findings"]]
        lacks = [finding["remedy"] for finding in findings if "hidepid" in finding["reason"]]
        self.assertEqual(lacks, [{"kind": "capabilities", "what": "cap_sys_ptrace"}])
        commands = setcap_commands(read_report(self.program, prefix=hidden))
        self.assertLess({"cap_dac_read_search", "cap_sys_ptrace"}, capabilities_in(commands[0]))
        as_root(commands[0])
        again = read_report(self.program, prefix=hidden)
        self.assertEqual((remedies(again, "capabilities"), setcap_commands(again)), (set(), []))
        self.assertNotIn("hidepid", json.dumps(again))

    def test_setcap_without_effect_is_not_suggested(self):
        report = read_report(self.program, prefix=["setpriv", "--no-new-privs", *harness.USER[1:]])
        self.assertEqual(setcap_commands(report), [])
        self.assertIn("no_new_privs", " ".join(report["notes"]))
        plugins = os.path.join(self.home, "plugins")
        for closed in (plugins, os.path.join(plugins, "psi.so"), os.path.dirname(self.home), os.path.dirname(self.program)):
            os.chown(closed, 1000, 1000)
            report = self.ask_as_user()
            os.chown(closed, 0, 0)
            self.assertEqual(setcap_commands(report), [])
            self.assertIn(f"only root can change, but '{closed}' belongs to user 1000", " ".join(report["notes"]))
        self.suggested_setcap()

    def test_path_with_a_newline(self):
        os.rename(self.home, self.home.replace(PLACE, "new\nline"))
        program = self.program.replace(PLACE, "new\nline")
        report = read_report(program, prefix=harness.USER)
        self.assertEqual(setcap_commands(report), [])
        self.assertTrue(report["notes"][0].endswith(f"cannot print a setcap command for it: {program}"), report["notes"])

    def test_restrictions_of_capabilities_are_reported(self):
        report, _ = self.suggested_setcap()
        self.assertTrue(any("--rootfs" in note and "CTPROF_PLUGIN_PATH" in note for note in report["notes"]), report["notes"])

    def test_plugins_that_setcap_would_disable_are_not_counted(self):
        """The capability is still missing, and root has it."""
        elsewhere = self.path("elsewhere")
        os.mkdir(elsewhere)
        os.rename(os.path.join(self.home, "plugins", "procfs-sched.so"), os.path.join(elsewhere, "procfs-sched.so"))
        report = read_report(self.program, "--plugin-path", elsewhere, prefix=harness.USER)
        self.assertIn("cap_dac_read_search,cap_sys_ptrace", remedies(report, "capabilities"))
        for command in setcap_commands(report):
            self.assertNotIn("cap_dac_read_search", capabilities_in(command))
        gains = [gain for command in report["commands"] for gain in command["gains"] if gain["remedy"]["kind"] == "capabilities"]
        self.assertFalse([gain for gain in gains if "procfs-sched" in gain["plugins"]])


if __name__ == "__main__":
    harness.main()
