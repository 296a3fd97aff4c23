#!/usr/bin/env python3
"""What ctprof says of its fleet's verbs (help, completion, the manual, its page) is what the package takes: the two have a table each."""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.environ["FLEET"])

from ctprof_fleet import command  # noqa: E402

CTPROF = os.environ.get("CTPROF", "ctprof")
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "fleet.md"
MANY = {None: "{}", "?": "[{}]", "+": "{}...", "*": "[{}...]"}


def ctprof(*words):
    return subprocess.run([CTPROF, *words], capture_output=True, text=True, check=True, timeout=60).stdout


def arguments_of(verb):
    """As a line of help has them: options that must be there, and what is no option."""
    found = []
    for action in command.make_parser(verb)._actions:
        if action.required and action.option_strings:
            found.append(f"{action.option_strings[-1]} {action.metavar}")
        elif not action.option_strings:
            found.append(MANY[action.nargs].format(action.metavar))
    return " ".join(found)


def options_of(verb):
    return {option for action in command.make_parser(verb)._actions for option in action.option_strings}


class Verbs(unittest.TestCase):
    maxDiff = None

    def test_help_has_each_with_its_arguments(self):
        questions = re.search(r"^Subcommands:\n(.*?)\n\n", ctprof("fleet", "--help"), re.M | re.S)[1]
        told = [tuple(re.match(r"  (\S+) (.*?)  +(\S.*)$", line).groups()) for line in questions.splitlines()]
        self.assertEqual(told, [(verb, arguments_of(verb), what) for verb, what in command.SUBCOMMANDS.items()])

    def test_completion_offers_each(self):
        offered = [line.split("\t")[0] for line in ctprof("complete", "fleet", "").splitlines()]
        self.assertEqual([word for word in offered if re.fullmatch("[a-z]+", word)], list(command.SUBCOMMANDS))

    def test_each_has_a_module_and_help_of_its_own(self):
        self.assertEqual(set(command.ADD_OPTIONS), set(command.SUBCOMMANDS))
        for verb, what in command.SUBCOMMANDS.items():
            self.assertTrue((pathlib.Path(os.environ["FLEET"]) / "ctprof_fleet" / f"{verb}.py").exists(), verb)
            said = io.StringIO()
            with contextlib.redirect_stdout(said), self.assertRaises(SystemExit):
                command.dispatch([verb, "--help"])
            self.assertIn(what, " ".join(said.getvalue().split()))

    def test_the_page_names_what_there_is(self):
        """Behind a verb its own options; elsewhere those of any. What stands behind -- is for others."""
        page = PAGE.read_text(encoding="utf-8")
        everywhere = set().union(*map(options_of, command.SUBCOMMANDS))
        for verb, words in re.findall(r"ctprof fleet ([a-z]+)([^`\n\"]*)", page):
            self.assertIn(verb, command.SUBCOMMANDS)
            self.assertLessEqual(set(re.findall(r"(?<!\S)--[a-z-]+", words)), options_of(verb), verb)
        for piece in re.findall(r"`([a-z]* ?--[^`]*)`", page):
            self.assertLessEqual(set(re.findall(r"(?<!\S)--[a-z-]+", piece)), everywhere, piece)


if __name__ == "__main__":
    unittest.main()
