#!/usr/bin/python3
"""Runs `ctprof doctor` on recorded trees: its JSON fits the schema, and its numbers equal those of `ctprof plugins`."""

import json
import os
import shutil
import subprocess
import unittest

import harness
from json_schema import Validator
from product_copy import product_copy


def read_report(program, *words, prefix=()):
    finished = subprocess.run([*prefix, program, "doctor", "--format", "json", *words], capture_output=True, timeout=harness.TIMEOUT, check=False)
    if finished.returncode != 0:
        raise AssertionError(finished.stderr.decode(errors="replace"))
    return json.loads(finished.stdout)


def remedies(report, kind):
    """Returns all remedies of this kind in the report."""
    findings = [finding for plugin in report["plugins"] for finding in plugin["findings"]]
    gains = [gain for command in report["commands"] for gain in command["gains"]]
    return {each["remedy"]["what"] for each in findings + gains if each["remedy"] and each["remedy"]["kind"] == kind}


def check_numbers(test, *words):
    """Checks that `doctor` counts the metrics that `plugins` lists."""
    report = json.loads(harness.run("plugins", *words, "--format", "json").stdout)
    offers = {plugin["name"]: plugin["offers"] for plugin in report["plugins"]}
    for plugin in read_report(harness.CTPROF, *words)["plugins"]:
        states = [offer["state"] for offer in offers[plugin["name"]]]
        second = states.count("also available")
        test.assertEqual(plugin["fills"], states.count("fills"))
        test.assertEqual(plugin["second"], second)
        test.assertEqual(plugin["refused"], len(states) - second - states.count("fills"))
        listed = [metric for finding in plugin["findings"] if finding["state"] != "in part" for metric in finding["metrics"]]
        test.assertEqual(len(listed), plugin["refused"])


class DoctorOnRecordedHosts(unittest.TestCase):

    def test_json_fits_its_schema(self):
        schema = Validator(json.loads(harness.run("doctor", "--json-schema").stdout))
        reports = [read_report(harness.CTPROF, "--rootfs", harness.fixture(kernel)) for kernel in harness.kernels()]
        for report in reports:
            self.assertEqual(schema.problems(report), [])
        reports[0]["plugins"][0]["fills"] = "many"
        self.assertNotEqual(schema.problems(reports[0]), [])

    def test_recorded_tree_has_no_commands(self):
        report = read_report(harness.CTPROF, "--rootfs", harness.fixture("6.18-schedstats-off"))
        self.assertFalse(report["live"])
        self.assertEqual((report["commands"], report["notes"]), ([], []))
        self.assertEqual(remedies(report, "command"), {"sysctl -w kernel.sched_schedstats=1"})
        self.assertEqual(remedies(report, "capabilities"), set())

    def test_numbers_agree_with_plugins(self):
        for kernel in harness.kernels():
            with self.subTest(kernel=kernel):
                check_numbers(self, "--rootfs", harness.fixture(kernel))


class DoctorWithoutPlugins(unittest.TestCase):

    def test_reports_why_all_plugins_are_refused(self):
        with harness.scratch() as place:
            program = product_copy(harness.CTPROF, place)
            plugins = os.path.join(place, "plugins")
            shutil.rmtree(plugins)
            os.mkdir(plugins)
            with open(os.path.join(plugins, "odd.so"), "w", encoding="ascii") as file:
                file.write("no library")
            finished = subprocess.run([program, "doctor"], capture_output=True, timeout=harness.TIMEOUT, check=False, text=True)
            refused = f"refused: {os.path.join(os.path.realpath(plugins), 'odd.so')}: it is not an ELF shared object\n"
            self.assertEqual((finished.returncode, finished.stdout), (0, refused + "no plugin is loaded\n"))


if __name__ == "__main__":
    harness.main()
