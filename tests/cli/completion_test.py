#!/usr/bin/python3
"""Tests the completions of ctprof in bash, zsh and fish, with the installed files.

Environment: CTPROF."""

import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402

# Options without completions: numbers, times, expressions, names of this host.
FREE = {"duration", "repeat", "interleave", "freq", "sleepers-freq", "offcpu-period", "budget", "max-depth", "stack-bytes", "ring", "pid", "cgroup",
        "jobs", "set", "history", "every", "keep", "max-size", "since", "until", "cgroup-flatten", "where", "derive", "fail-on", "about", "shift", "alpha", "min-shift", "limit",
        "max-series", "listen"}

VALUED = re.compile(r"^  (?:-\w \[ )?--([a-z-]+)(?: \])? [A-Z|a-z]", re.M)


def ctprof(*words):
    return subprocess.run([harness.CTPROF, *words], capture_output=True, text=True, timeout=harness.TIMEOUT, check=False)


def list_completions(*words):
    """Returns the output of `ctprof complete` without descriptions."""
    return [line.split("\t")[0] for line in ctprof("complete", *words).stdout.splitlines()]


class Words(unittest.TestCase):
    def test_options_with_known_values_have_completions(self):
        requested = set()
        for command in list_completions(""):
            for name in VALUED.findall(ctprof(command, "--help").stdout if command != "help" else ""):
                requested.add(name)
                if name not in FREE:
                    self.assertTrue(list_completions(command, "--" + name, ""), f"{command} --{name}")
        self.assertGreater(len(requested), 40)
        self.assertLessEqual(FREE, requested)

    def test_options_have_one_description_in_all_commands(self):
        descriptions = {}
        for verb in list_completions(""):
            for line in ctprof("complete", verb, "-").stdout.splitlines():
                descriptions.setdefault(line.split("\t")[0], set()).add(line)
        self.assertGreater(len(descriptions), 80)
        self.assertEqual([lines for lines in descriptions.values() if len(lines) > 1], [])

    def test_completes_all_options_before_the_command(self):
        self.assertLessEqual({"--recorders", "--build", "--token-file", "--version"}, set(list_completions("--")))

    def test_completes_lists_after_a_comma(self):
        self.assertEqual(list_completions("show", "--metrics", "nice,run_time"), ["nice,run_time_ns"])
        self.assertEqual(list_completions("show", "--metrics=nice,run_time"), ["--metrics=nice,run_time_ns"])

    def test_completes_recorders_with_the_plugins_that_record(self):
        plugins = set(list_completions("--plugins", ""))
        self.assertLessEqual({"cgroup", "host", "procfs-sched", "psi"}, plugins)
        self.assertEqual(set(list_completions("record", "--recorders", "")), plugins & {"off-cpu", "on-cpu", "sleepers"})

    def test_completes_options_before_the_command(self):
        self.assertEqual(list_completions("--plugins", "host", "sho"), ["show"])

    def test_ignores_errors_in_other_arguments(self):
        broken = subprocess.run([harness.CTPROF, "complete", "sho"], env=os.environ | {"CTPROF_JSON_SCHEMA": "x", "CTPROF_QUIET": "perhaps"},
                                capture_output=True, text=True, check=True)
        self.assertEqual((broken.stdout.split("\t")[0], broken.stderr), ("show", ""))


class Shell(unittest.TestCase):
    """Base of the tests of one shell, in a directory with these files and with ctprof on the PATH."""

    PROGRAM = None

    @classmethod
    def setUpClass(cls):
        if cls.PROGRAM is None:
            raise unittest.SkipTest("no shell")
        if not shutil.which(cls.PROGRAM):
            raise unittest.SkipTest(f"needs {cls.PROGRAM}")
        scratch = harness.scratch()
        cls.addClassCleanup(scratch.cleanup)
        cls.here = pathlib.Path(scratch.name)
        for name in ("a b.zst", "other.zst"):
            (cls.here / name).touch()
        (cls.here / "runs").mkdir()
        cls.script = cls.here / ("ctprof." + cls.PROGRAM)
        cls.script.write_text(ctprof("completion", cls.PROGRAM).stdout)
        cls.environment = {"PATH": os.path.dirname(harness.CTPROF) + ":" + os.environ["PATH"], "HOME": scratch.name, "TERM": "dumb", "LC_ALL": "C.UTF-8"}

    def complete_in_shell(self, *command):
        finished = subprocess.run([self.PROGRAM, *command], cwd=self.here, env=self.environment, capture_output=True, text=True,
                                  timeout=harness.TIMEOUT, check=False)
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        return finished.stdout.splitlines()

    def check(self):
        self.assertEqual(self.complete_line("ctprof comp"), ["compare", "completion"])
        self.assertEqual(self.complete_line("ctprof show --metrics run_time"), ["run_time_ns"])
        self.assertEqual(self.complete_line("ctprof record --recorders on"), ["on-cpu"])
        self.assertEqual(self.complete_line("ctprof show oth"), ["other.zst"])
        self.assertEqual(self.complete_line("ctprof help sym"), ["symbolize"])
        self.assertEqual(self.complete_line("ctprof fleet ra"), ["rank"])
        self.assertIn("--group-by", self.complete_line("ctprof show --gr"))


class Bash(Shell):
    PROGRAM = "bash"

    def complete_line(self, line):
        text = '. ./ctprof.bash; COMP_LINE=$1; COMP_POINT=${#1}; compopt() { :; }; _ctprof ctprof; [ ${#COMPREPLY[@]} = 0 ] || printf "%s\\n" "${COMPREPLY[@]}"'
        return self.complete_in_shell("--norc", "-c", text, "bash", line)

    def test_completes_words(self):
        self.check()
        self.assertEqual(self.complete_line("ctprof capture --layout=co"), ["columns"])  # readline completes the rest
        self.assertCountEqual(self.complete_line("ctprof show "), ["a b.zst", "other.zst", "runs", "ctprof.bash"])
        self.assertEqual(self.complete_line("ctprof symbolize --debug-dir r"), ["runs"])

    def test_is_registered(self):
        self.assertEqual(self.complete_in_shell("--norc", "-c", ". ./ctprof.bash; complete -p ctprof"), ["complete -F _ctprof ctprof"])


class Fish(Shell):
    PROGRAM = "fish"

    def complete_line(self, line):
        return [word.split("\t")[0] for word in self.complete_in_shell("--no-config", "-c", f"source ctprof.fish; complete -C '{line}'")]

    def test_completes_words(self):
        self.check()
        self.assertEqual(self.complete_line("ctprof capture --layout=co"), ["--layout=columns"])
        self.assertEqual(self.complete_line("ctprof symbolize --debug-dir r"), ["runs/"])


class Zsh(Shell):
    PROGRAM = "zsh"

    def appears_after_line(self, rest, line, tabs=1):
        """Checks that the text appears on the terminal after the line: zsh completes only interactively."""
        (self.here / ".zshrc").write_text("PS1='> '\nautoload -Uz compinit && compinit -u -D\n. ./ctprof.zsh\necho ready\n")
        ours, its = os.openpty()
        with subprocess.Popen(["zsh", "-i"], cwd=self.here, env=self.environment | {"ZDOTDIR": str(self.here)}, stdin=its, stdout=its, stderr=its,
                              start_new_session=True) as shell:
            os.close(its)
            started = self.read(ours, lambda text: "> " in text.partition("ready")[2])
            self.assertIn("ready", started)
            os.write(ours, line.encode() + b"\t" * tabs)
            text = self.read(ours, lambda text: rest in text)
            shell.kill()
        os.close(ours)
        self.assertIn(rest, text)

    @staticmethod
    def read(ours, is_enough):
        text, end = "", time.monotonic() + harness.TIMEOUT
        while not is_enough(text) and time.monotonic() < end:
            if select.select([ours], [], [], 1)[0]:
                text += os.read(ours, 1 << 16).decode(errors="replace")
        return text

    def test_completes_words(self):
        for line, rest in (("ctprof show --metrics run_time", "run_time_ns"), ("ctprof record --recorders on", "on-cpu"),
                           ("ctprof show oth", "other.zst"), ("ctprof capture --layout=co", "--layout=columns"),
                           ("ctprof symbolize --debug-dir r", "runs/"), ("ctprof help sym", "symbolize")):
            with self.subTest(line):
                self.appears_after_line(rest, line)
        self.appears_after_line("completion  -- print the", "ctprof comp", tabs=2)


if __name__ == "__main__":
    harness.main()
