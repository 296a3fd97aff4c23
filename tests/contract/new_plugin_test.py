#!/usr/bin/python3
"""`ctprof plugin new`: each language with each kind of source compiles without a warning, and passes its generated tests.

    new_plugin_test.py CTPROF SDK_DIR
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CTPROF, SDK = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
INCLUDE = f"{SDK}/include"
os.environ["PYTHONPATH"] = f"{SDK}/python"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
LANGUAGES = {"c++": ("cc", [shutil.which("g++") or "c++", "-std=c++20"]), "c": ("c", [shutil.which("gcc") or "cc", "-std=gnu11"])}
SOURCES = ("thread", "process", "cgroup", "host")
VENDORED = "ctprof-sdk/"  # the directory of the crate in a plugin in Rust


def run(*words, cwd):
    return subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)


class PluginCase(unittest.TestCase):
    """Makes plugins in a temporary directory."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.here = pathlib.Path(directory.name)

    def run_new(self, *words):
        return run(CTPROF, "plugin", "new", *words, cwd=self.here)

    def compile_plugin(self, name, language):
        """Compiles the plugin and returns its directory."""
        extension, compiler = LANGUAGES[language]
        place = self.here / name
        (place / "build").mkdir()
        finished = run(*compiler, *WARNINGS, "-fPIC", "-shared", "-fvisibility=hidden", "-I", INCLUDE, "-o", f"build/{name}.so",
                       f"{name}.{extension}", cwd=place)
        self.assertEqual(finished.stderr, "")
        return place

    def assert_test_passes(self, name, place, plugins):
        finished = run(sys.executable, f"test_{name}.py", CTPROF, plugins, cwd=place)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIn("Ran 2 tests", finished.stderr)

    def assert_unit_test_passes(self, name, place):
        finished = run(*LANGUAGES["c++"][1], *WARNINGS, "-I", INCLUDE, "-o", "build/unit_test", f"test_{name}.cc", cwd=place)
        self.assertEqual(finished.stderr, "")
        finished = run("build/unit_test", cwd=place)
        self.assertEqual(finished.returncode, 0)
        self.assertRegex(finished.stderr, r"^[34] checks, 0 failures\n$")


class NewPlugin(PluginCase):
    def test_generated_plugins_pass_their_tests(self):
        for number, (language, source) in enumerate((language, source) for language in LANGUAGES for source in SOURCES):
            with self.subTest(language=language, source=source):
                name = f"new{number}"
                self.assertEqual(self.run_new(name, "--lang", language, "--source", source).returncode, 0)
                place = self.compile_plugin(name, language)
                self.assert_test_passes(name, place, "build")
                if language == "c++":
                    self.assert_unit_test_passes(name, place)

    def test_generated_entities_pass_their_tests(self):
        for number, language in enumerate(LANGUAGES):
            with self.subTest(language=language):
                name = f"rows{number}"
                self.assertEqual(self.run_new(name, "--lang", language, "--source", "entity").returncode, 0)
                self.assert_test_passes(name, self.compile_plugin(name, language), "build")

    def test_generated_test_of_entity_detects_wrong_plugin(self):
        self.run_new("wrong", "--lang", "c", "--source", "entity")
        source = self.here / "wrong" / "wrong.c"
        source.write_text(source.read_text().replace("strtoull(colon + 1, &end, 10);", "1 + strtoull(colon + 1, &end, 10);"))
        finished = run(sys.executable, "test_wrong.py", CTPROF, "build", cwd=self.compile_plugin("wrong", "c"))
        self.assertIn("FAIL: test_values", finished.stderr)

    def test_plugin_check_accepts_each_generated_plugin(self):
        """Recorders are only probed."""
        for number, (language, source) in enumerate((language, source) for language in LANGUAGES for source in ("entity", "record")):
            with self.subTest(language=language, source=source):
                name = f"checked{number}"
                self.run_new(name, "--lang", language, "--source", source)
                finished = run(CTPROF, "plugin", "check", "--as-root", f"build/{name}.so", cwd=self.compile_plugin(name, language))
                self.assertEqual((finished.returncode, finished.stdout.splitlines()[0]), (0, f"build/{name}.so: 0 faults"), finished.stdout)

    def test_generated_output_plugins_pass_their_tests(self):
        for number, language in enumerate(LANGUAGES):
            with self.subTest(language=language):
                name = f"out{number}"
                self.assertEqual(self.run_new(name, "--lang", language, "--source", "output").returncode, 0)
                finished = run(sys.executable, f"test_{name}.py", CTPROF, "build", cwd=self.compile_plugin(name, language))
                self.assertEqual(finished.returncode, 0, finished.stderr)
                self.assertIn("Ran 3 tests", finished.stderr)

    def test_generated_output_test_detects_wrong_plugin(self):
        self.run_new("wrong", "--lang", "c", "--source", "output")
        source = self.here / "wrong" / "wrong.c"
        source.write_text(source.read_text().replace('"gap"', '"0"'))
        finished = run(sys.executable, "test_wrong.py", CTPROF, "build", cwd=self.compile_plugin("wrong", "c"))
        self.assertIn("FAIL: test_a_gap_is_no_number", finished.stderr)

    def test_plugin_in_rust_contains_the_crate(self):
        self.run_new("crated", "--lang", "rust")
        copied = self.here / "crated" / VENDORED
        for path in [path for path in copied.rglob("*") if path.is_file()]:
            self.assertEqual(path.read_text(), pathlib.Path(SDK, "rust", path.relative_to(copied)).read_text())
        sources = {str(path.relative_to(f"{SDK}/rust")) for path in pathlib.Path(SDK, "rust").rglob("*.rs")}
        self.assertEqual(sources - {str(path.relative_to(copied)) for path in copied.rglob("*.rs")}, set())

    def test_generated_files_contain_no_placeholder(self):
        for name, language in {"leftcc": "c++", "leftc": "c", "leftrs": "rust"}.items():
            self.run_new(name, "--lang", language)
        for source in ("entity", "record", "output"):
            self.run_new(f"left{source}", "--source", source)
        texts = {path: path.read_text() for path in self.here.rglob("*") if path.is_file() and VENDORED not in str(path)}
        self.assertEqual(len(texts), 7 + 6 + 5 + 3 * 6)
        self.assertEqual([path for path, text in texts.items() if "@" in text.replace("actions/checkout@v4", "")], [])

    def test_generated_test_detects_wrong_plugin(self):
        self.run_new("wrong", "--lang", "c")
        source = self.here / "wrong" / "wrong.c"
        source.write_text(source.read_text().replace("? CTPROF_MALFORMED : CTPROF_VALUE;", "? CTPROF_MALFORMED : (++*value, CTPROF_VALUE);"))
        finished = run(sys.executable, "test_wrong.py", CTPROF, "build", cwd=self.compile_plugin("wrong", "c"))
        self.assertIn("FAIL: test_values", finished.stderr)

    def test_printed_steps_end_with_the_new_metric_on_the_screen(self):
        steps = self.run_new("steps").stdout.splitlines()
        self.assertEqual(steps[-2:], ["ctprof --plugin-path build record -d 5s -o run.ctprof.zst", "ctprof show run.ctprof.zst"])
        self.assertIn("\n".join(f"    {step}" for step in steps[1:]), (self.here / "steps" / "README.md").read_text())
        self.assertEqual(self.run_new("rows", "--source", "entity").stdout.splitlines()[-1], "ctprof show run.ctprof.zst --entity rows_interface")
        self.assertEqual(self.run_new("stacks", "--source", "record").stdout.splitlines()[-1],
                         "ctprof flame run.ctprof.zst --metric stacks_fault_stacks -o run.svg")

    def test_columns_of_templates_have_other_names_than_those_of_ctprof(self):
        for source in SOURCES:
            self.run_new(source, "--lang", "c", "--source", source)
            label = re.search(r'\.label = "([^"]+)"', (self.here / source / f"{source}.c").read_text())
            self.assertFalse(label and label[1] == "threads", source)

    def test_generated_unit_test_detects_wrong_plugin(self):
        self.run_new("wrong")
        source = self.here / "wrong" / "wrong.cc"
        source.write_text(source.read_text().replace("voluntary_ctxt_switches\">", "Threads\">"))
        place = self.compile_plugin("wrong", "c++")
        run(*LANGUAGES["c++"][1], "-I", INCLUDE, "-o", "build/unit_test", "test_wrong.cc", cwd=place)
        finished = run("build/unit_test", cwd=place)
        self.assertEqual(finished.returncode, 1)
        self.assertIn("FAIL: 'wrong_switches' of '7/7' is 2, expected 40", finished.stderr)

    def test_keeps_existing_directory(self):
        (self.here / "here").mkdir()
        finished = self.run_new("here")
        self.assertEqual((finished.returncode, os.listdir(self.here / "here")), (2, []))
        self.assertEqual(finished.stderr, "ctprof: creating 'here': it exists; choose another name, or remove it\n")

    def test_invalid_arguments_are_one_message(self):
        for words, message in {("new",): "missing NAME", ("new", "Upper"): "invalid NAME 'Upper'", ("new", "../x"): "invalid NAME '../x'",
                               ("new", "a" * 33): "at most 32 characters", ("new", "a", "--lang", "cobol"): "invalid --lang 'cobol'",
                               ("new", "a", "--source", "disk"): "invalid --source 'disk'",
                               ("new", "a", "--source", "output", "--lang", "rust"): "a plugin with '--source output' is written in C or C++",
                               ("new", "a", "--source", "entity", "--lang", "rust"): "a plugin with '--source entity' is written in C or C++",
                               (): "missing subcommand",
                               ("old",): "unknown subcommand 'old'"}.items():
            with self.subTest(words):
                finished = run(CTPROF, "plugin", *words, cwd=self.here)
                self.assertEqual(finished.returncode, 2)
                self.assertIn(message, finished.stderr)
                self.assertEqual(finished.stderr.count("\n"), 1)
        self.assertEqual(os.listdir(self.here), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
