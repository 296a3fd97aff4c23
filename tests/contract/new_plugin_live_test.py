#!/usr/bin/python3
"""`ctprof plugin new --source record`: the recorder in each language counts the page faults of a program on this host.

    new_plugin_live_test.py CTPROF SDK_DIR
"""
import sys
import unittest

import new_plugin_test


class NewRecorder(new_plugin_test.PluginCase):
    def test_generated_recorders_pass_their_tests(self):
        for number, language in enumerate(new_plugin_test.LANGUAGES):
            with self.subTest(language=language):
                name = f"stacks{number}"
                self.assertEqual(self.run_new(name, "--lang", language, "--source", "record").returncode, 0)
                place = self.compile_plugin(name, language)
                finished = new_plugin_test.run(sys.executable, f"test_{name}.py", new_plugin_test.CTPROF, "build", cwd=place)
                self.assertEqual(finished.returncode, 0, finished.stderr)
                if "OK (skipped=1)" in finished.stderr:
                    self.skipTest("needs the permission to open events of perf")
                self.assertIn("Ran 1 test", finished.stderr)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result
    sys.exit(77 if result.skipped else not result.wasSuccessful())
