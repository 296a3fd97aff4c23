#!/usr/bin/python3
"""The first screens that the pages show have the lines and columns that ctprof prints now.

A screen is compared with that of a recorded capture: the labels of the columns, and the line about the load of the host (memory,
pressure, iowait). A line `...` in a page represents any lines that the page leaves out.

Environment: CTPROF."""

import pathlib
import re
import tempfile
import unittest

import check
import pages

COLUMNS = re.compile(r"process +threads .*")
HEADING = re.compile(r"CPU \d+ % of \d+ %: ")


def screens_of(text):
    """Yields (line number, lines) of each output of show that begins with a heading and contains a table of the first screen."""
    for first, lines in pages.blocks_of(text):
        starts = [at for at, line in enumerate(lines) if line.startswith("$ ")] + [len(lines)]
        for at, end in zip(starts, starts[1:]):
            output = lines[at + 1:end]
            if re.match(r"\$ ctprof show ", lines[at]) and any(map(HEADING.match, output)) and any(map(COLUMNS.match, output)):
                yield first + at, output


def labels_of(lines):
    """Returns the labels of the columns of a screen, without the name of the groups."""
    return next(line for line in lines if COLUMNS.match(line)).split()[1:]


class Samples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="ctprof-samples-")
        checker = check.Checker(pathlib.Path(cls.place.name))
        page = checker.page("screen")
        cls.screen = checker.run(["show", page.input(f"full{check.SUFFIX}"), "--limit", "0"], page.directory).stdout.splitlines()

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def problem_of(self, output):
        """Returns how a screen differs from those that ctprof prints, or None."""
        if labels_of(output) != labels_of(self.screen):
            return f"columns {labels_of(output)} instead of {labels_of(self.screen)}"
        after = output[next(at for at, line in enumerate(output) if HEADING.match(line)) + 1:]
        if after[0] != "..." and "iowait " not in after[0]:
            return "no line about the load of the host"
        return None

    def test_recorded_screen_has_all_lines(self):
        self.assertIsNone(self.problem_of(self.screen))

    def test_screens_of_pages_are_current(self):
        count = 0
        for path in pages.list_pages():
            for number, output in screens_of(path.read_text(encoding="utf-8")):
                count += 1
                with self.subTest(f"{path.name}:{number}"):
                    self.assertIsNone(self.problem_of(output))
        self.assertGreater(count, 2)

    def test_reports_old_screens(self):
        at = next(at for at, line in enumerate(self.screen) if COLUMNS.match(line))
        self.assertIn("columns", self.problem_of([*self.screen[:at], self.screen[at].replace("%wait", "wait"), *self.screen[at + 1:]]))
        self.assertIn("load", self.problem_of([line for line in self.screen if "iowait " not in line]))


if __name__ == "__main__":
    unittest.main()
