#!/usr/bin/python3
"""A program of unit tests whose plugins are not built fails immediately with one sentence.

Environment: PROGRAM, the tests of BPF plugins.
"""

import os
import subprocess
import unittest

HANG_SECONDS = 300  # nothing but a program that hangs takes this long


class MissingPlugin(unittest.TestCase):
    def test_fails_with_one_sentence(self):
        finished = subprocess.run([os.environ["PROGRAM"], "--run_test=taskstats_plugin_test"], env=os.environ | {"CTPROF_PLUGIN_BUILD_DIR": "/missing"},
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=HANG_SECONDS)
        self.assertEqual((finished.returncode, finished.stderr),
                         (1, "cannot load plugin: /missing/taskstats.so: cannot open shared object file: No such file or directory; "
                             "build the target 'product'\n"))


if __name__ == "__main__":
    unittest.main()
