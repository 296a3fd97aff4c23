#!/usr/bin/python3
"""Tests the installed man pages: they are valid, complete and agree with --help.

Environment: CTPROF; MANUAL, the directory of the pages."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402

PAGES = sorted(page for page in pathlib.Path(os.environ["MANUAL"]).iterdir() if re.fullmatch(r"ctprof.*\.[1-7]", page.name))


def ctprof(*words):
    return subprocess.run([harness.CTPROF, *words], capture_output=True, text=True, timeout=harness.TIMEOUT, check=True).stdout


def read(page):
    """Returns a page as a terminal shows it, without bold markup."""
    finished = subprocess.run(["man", "-l", "--warnings", "-E", "UTF-8", page], capture_output=True, text=True, timeout=harness.TIMEOUT, check=False,
                              env=os.environ | {"LC_ALL": "C.UTF-8", "MANWIDTH": "1000", "MAN_KEEP_FORMATTING": "", "MANPAGER": "cat"})
    return re.sub(r".\x08|\x1b\[[0-9;]*m", "", finished.stdout), finished.stderr


def with_single_blanks(text):
    return re.sub(r"\s+", " ", text.replace("‐", "-").replace("−", "-"))


class ValidPages(unittest.TestCase):
    @unittest.skipUnless(shutil.which("man"), "needs man")
    def test_man_accepts_pages(self):
        for page in PAGES:
            self.assertEqual(read(page)[1], "", page.name)

    @unittest.skipUnless(shutil.which("mandoc"), "needs mandoc")
    def test_mandoc_accepts_pages(self):
        finished = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *PAGES], capture_output=True, text=True, check=False)
        self.assertEqual((finished.returncode, finished.stdout), (0, ""))

    @unittest.skipUnless(shutil.which("lexgrog"), "needs lexgrog")
    def test_whatis_finds_pages(self):
        finished = subprocess.run(["lexgrog", "-m", *PAGES], capture_output=True, text=True, check=False)
        self.assertEqual(finished.returncode, 0, finished.stdout)


class CompletePages(unittest.TestCase):
    def test_every_command_has_a_page(self):
        commands = {line.split("\t")[0] for line in ctprof("complete", "").splitlines()} - {"help"}
        pages = {f"ctprof-{command}.1" for command in commands} | {"ctprof.1", "ctprof-metrics.7", "ctprof-file.5", "ctprof-sdk.3"}
        self.assertEqual({page.name for page in PAGES}, pages)

    @unittest.skipUnless(shutil.which("man"), "needs man")
    def test_pages_have_the_options_of_help(self):
        for page in PAGES:
            command = page.stem.removeprefix("ctprof-")
            if page.suffix != ".1" or command == "ctprof":
                continue
            text = with_single_blanks(read(page)[0])
            # For fleet, its subcommands; their options are documented separately.
            pattern = r"^  ([a-z]+) .*  " if command == "fleet" else r"^  (?:-\w \[ )?(--[a-z-]+)"
            options = re.findall(pattern, ctprof(command, "--help"), re.M)
            self.assertGreater(len(options), 4)
            for option in options:
                self.assertRegex(text, rf"{option}\b", page.name)

    @unittest.skipUnless(shutil.which("man"), "needs man")
    def test_pages_list_every_metric(self):
        text = with_single_blanks(read(next(page for page in PAGES if page.name == "ctprof-metrics.7"))[0])
        missing = [line.split("\t")[0] for line in ctprof("complete", "help", "").splitlines()
                   if "_" in line.split("\t")[0] and f" {line.split(chr(9))[0]} " not in text]
        self.assertEqual(missing, [])

    @unittest.skipUnless(shutil.which("man"), "needs man")
    def test_escapes_lines_that_look_like_requests(self):
        text = with_single_blanks(read(next(page for page in PAGES if page.name == "ctprof-symbolize.1"))[0])
        self.assertIn("DIR/.build-id/ab/cdef.debug or DIR", text)
        text = with_single_blanks(read(next(page for page in PAGES if page.name == "ctprof-show.1"))[0])
        self.assertIn('METRIC["KEY"] if the key has brackets or quotes; write a quote as \\"', text)


if __name__ == "__main__":
    harness.main()
