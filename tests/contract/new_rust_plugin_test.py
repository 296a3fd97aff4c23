#!/usr/bin/python3
"""`ctprof plugin new --lang rust`: each kind of source compiles with rustc and with cargo, and passes its generated tests.

    new_rust_plugin_test.py CTPROF SDK_DIR
"""
import sys
import unittest

import new_plugin_test
import rust_compiler


class NewRustPlugin(new_plugin_test.PluginCase):
    def test_generated_plugins_in_rust_pass_their_tests(self):
        """One cargo build shares the crate; rustc compiles the other kinds of source with it."""
        library = None
        for source in new_plugin_test.SOURCES:
            with self.subTest(source=source):
                name = f"rusty_{source}"
                self.assertEqual(self.run_new(name, "--lang", "rust", "--source", source).returncode, 0)
                place = self.here / name
                (place / "build").mkdir()
                library = library or rust_compiler.compile_crate(place / "ctprof-sdk", self.here)
                finished = rust_compiler.compile_plugin(place / "src/lib.rs", library, place / f"build/lib{name}.so")
                self.assertEqual((finished.returncode, finished.stderr), (0, ""))
                self.assert_test_passes(name, place, "build")

    def test_cargo_builds_plugin_in_rust(self):
        self.run_new("cargo_built", "--lang", "rust")
        place = self.here / "cargo_built"
        finished = rust_compiler.run(rust_compiler.CARGO, "build", "--offline", "--release", "--quiet", cwd=place)
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        self.assert_test_passes("cargo_built", place, "target/release")
        finished = rust_compiler.run(rust_compiler.CARGO, "test", "--offline", "--quiet", cwd=place)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIn("1 passed", finished.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
