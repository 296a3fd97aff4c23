#!/usr/bin/python3
"""ctprof accepts each command line of docs/*.md and README.md. check.py describes how a line is checked.

Environment: CTPROF."""

import pathlib
import tempfile
import unittest

import check
import pages

# Lines that the check must refuse; a check that accepts everything would otherwise pass.
WRONG = (
    "ctprof shwo run.ctprof.zst",
    "ctprof show run.ctprof.zst --since-when 15:00",
    "ctprof show run.ctprof.zst --limit many",
    "ctprof show run.ctprof.zst --metrics run_time",
    "ctprof show run.ctprof.zst --fail-on 'run_time_ns.pct > 5'",
    "ctprof compare run.ctprof.zst --rate",
    "ctprof record --keep 7d -o /var/log/ctprof",
    "ctprof record --freq 99 -d 10s -o run.ctprof.zst",
    "ctprof record -d ten -o run.ctprof.zst",
    "ctprof record --recorders on-gpu -d 10s -o run.ctprof.zst",
    "ctprof capture --metrics run_time -o now.ctprof.zst",
    "ctprof capture --every 60s -o now.ctprof.zst",
    "ctprof live --history 3",
    "ctprof export run.ctprof.zst --to pdf -o run.pdf",
    "ctprof export --to prometheus --listen 127.0.0.1:port",
    "ctprof export --to folded --listen 9101",
    "ctprof help run_time",
    "ctprof show run.ctprof.zst --where 'nice < 0",
    "ctprof fleet rank --cohorts kernel",
    "ctprof fleet group",
    "cd runs && ctprof show . --wide",
    "./tools/dev deploy",
    "./tools/dev test --slow",
)


class Documentation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="ctprof-docs-")
        cls.checker = check.Checker(pathlib.Path(cls.place.name))

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_commands_are_accepted(self):
        for path in pages.list_pages():
            text, page = path.read_text(encoding="utf-8"), self.checker.page(path.stem)
            for number, words in pages.commands_of(text):
                with self.subTest(f"{path.name}:{number}: {' '.join(words)}"):
                    self.assertIsNone(self.checker.problem_of(list(words), page))

    def test_code_spans_name_existing_commands_and_options(self):
        for path in pages.list_pages():
            for number, words in pages.spans_of(path.read_text(encoding="utf-8")):
                with self.subTest(f"{path.name}:{number}: {' '.join(words)}"):
                    self.assertIsNone(self.checker.problem_of_span(words))

    def test_wrong_commands_are_refused(self):
        page = self.checker.page("wrong")
        for line in WRONG:
            with self.subTest(line):
                (_, words), = pages.commands_of("    " + line)
                self.assertIsNotNone(self.checker.problem_of(words, page))

    def test_wrong_code_spans_are_refused(self):
        for line in ("`ctprof shwo FILE`", "`ctprof show FILE --wide`"):
            (_, words), = pages.spans_of(line)
            self.assertIsNotNone(self.checker.problem_of_span(words))

    def test_finds_commands_of_all_kinds_of_blocks(self):
        text = "```sh\nctprof show a \\\n  b # why\n```\n```text\nctprof 5\n```\n\n    $ ctprof show c; ctprof show d\n    ctprof   7 +1\n"
        self.assertEqual([words[2:] for _, words in pages.commands_of(text)], [["a", "b"], ["c"], ["d"]])

    def test_lines_of_output_are_no_commands(self):
        self.assertEqual(list(pages.commands_of("    ctprof: 'a': it's missing\n    5 threads of ctprof aren't shown\n")), [])


if __name__ == "__main__":
    unittest.main()
