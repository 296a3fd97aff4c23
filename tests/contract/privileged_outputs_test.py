#!/usr/bin/python3
"""Tests output plugins of a ctprof with file capabilities: it loads only those that only root can change, and they have no capabilities.

Environment: CTPROF; OUTPUTS, a directory of output plugins.
"""

import os
import shutil
import sys
import unittest

from privileged_loading_test import USER, PrivilegedLoading

OUTPUTS = os.environ["OUTPUTS"]


class Outputs(PrivilegedLoading):
    def setUp(self):
        super().setUp()
        self.program = self.install_product("root")
        self.assertEqual(self.capture_this_process(self.program).returncode, 0)

    def install_output(self):
        directory = self.path("root", "plugins", "outputs")
        os.makedirs(directory)
        return shutil.copy(f"{OUTPUTS}/awkward.so", directory)

    def export(self, *words):
        return self.run_program(self.program, "export", "out", "-q", "--to", "awkward", "-o", "-", *words)

    def test_output_of_root_has_no_capabilities(self):
        self.install_output()
        finished = self.export("--set", "awkward.mode=rights-put")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        rights = dict(line.split(":\t", 1) for line in finished.stdout.splitlines())
        self.assertEqual([int(rights[kind], 16) for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb")], [0] * 4)
        self.assertEqual(rights["Memory"], "private")

    def test_ignores_directories_of_the_user(self):
        for options in ({}, {"env": {**os.environ, "CTPROF_PLUGIN_PATH": OUTPUTS}}):
            finished = self.run_program(self.program, "--plugin-path", OUTPUTS, "export", "out", "--to", "awkward", **options)
            self.assertEqual(finished.returncode, 2)
            self.assertIn("invalid --to 'awkward'", finished.stderr)

    def test_refuses_output_that_a_user_can_change(self):
        file = self.install_output()
        os.chown(file, USER, USER)
        finished = self.export()
        self.assertEqual((finished.returncode, finished.stdout), (2, ""))
        self.assertIn(f"loading '{file}': it belongs to user {USER}", finished.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
