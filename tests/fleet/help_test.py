#!/usr/bin/env python3
"""The help, completion, man page and page of ctprof list the subcommands that the package accepts; both have a table."""

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


def arguments_of(subcommand):
    """Returns required options and positional arguments as a line of the help shows them."""
    found = []
    for action in command.make_parser(subcommand)._actions:
        if action.required and action.option_strings:
            found.append(f"{action.option_strings[-1]} {action.metavar}")
        elif not action.option_strings:
            found.append(MANY[action.nargs].format(action.metavar))
    return " ".join(found)


def options_of(subcommand):
    return {option for action in command.make_parser(subcommand)._actions for option in action.option_strings}


class Subcommands(unittest.TestCase):
    maxDiff = None

    def test_help_lists_subcommands_with_arguments(self):
        subcommands = re.search(r"^Subcommands:\n(.*?)\n\n", ctprof("fleet", "--help"), re.M | re.S)[1]
        listed = [tuple(re.match(r"  (\S+) (.*?)  +(\S.*)$", line).groups()) for line in subcommands.splitlines()]
        self.assertEqual(listed, [(subcommand, arguments_of(subcommand), what) for subcommand, what in command.SUBCOMMANDS.items()])

    def test_completion_offers_subcommands(self):
        offered = [line.split("\t")[0] for line in ctprof("complete", "fleet", "").splitlines()]
        self.assertEqual([word for word in offered if re.fullmatch("[a-z]+", word)], list(command.SUBCOMMANDS))

    def test_each_has_a_module_and_help(self):
        self.assertEqual(set(command.ADD_OPTIONS), set(command.SUBCOMMANDS))
        for subcommand, what in command.SUBCOMMANDS.items():
            self.assertTrue((pathlib.Path(os.environ["FLEET"]) / "ctprof_fleet" / f"{subcommand}.py").exists(), subcommand)
            help_text = io.StringIO()
            with contextlib.redirect_stdout(help_text), self.assertRaises(SystemExit):
                command.dispatch([subcommand, "--help"])
            self.assertIn(what, " ".join(help_text.getvalue().split()))

    def test_page_uses_existing_options(self):
        """After a subcommand only its own options are valid; elsewhere those of any. Words after -- are for other programs."""
        page = PAGE.read_text(encoding="utf-8")
        everywhere = set().union(*map(options_of, command.SUBCOMMANDS))
        for subcommand, words in re.findall(r"ctprof fleet ([a-z]+)([^`\n\"]*)", page):
            self.assertIn(subcommand, command.SUBCOMMANDS)
            self.assertLessEqual(set(re.findall(r"(?<!\S)--[a-z-]+", words)), options_of(subcommand), subcommand)
        for piece in re.findall(r"`([a-z]* ?--[^`]*)`", page):
            self.assertLessEqual(set(re.findall(r"(?<!\S)--[a-z-]+", piece)), everywhere, piece)


if __name__ == "__main__":
    unittest.main()
